//! P4 programs as elements of graphs: what the switch around a program does with a packet, the
//! element does, on every engine; and what it refuses.

use netvm::application::{Application, Host, Settings, Stream};
use netvm::io::{LinkType, Timestamp, WriteOptions, Writer};
use netvm::p4::{self, Switch, stf};
use netvm::{Error, engines};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

struct Quiet;

impl Host for Quiet {
    fn write(&mut self, _: Stream, _: &[u8]) {}
}

/// Packets with their times, by egress port.
type Sent = BTreeMap<u16, Vec<(u64, Vec<u8>)>>;

/// Ports of arrival, and egress ports.
const PORTS: u16 = 4;

/// Headers of two kinds, a stack, a table of each kind, registers, counters, groups, time.
const PROGRAM: &str = "
#include <v1model.p4>
header a_t { bit<8> kind; bit<4> high; bit<4> low; bit<16> sum; }
header b_t { bit<3> x; bit<13> y; bit<48> mac; }
header c_t { bit<1> more; bit<7> label; }
struct H { a_t a; b_t b; c_t[3] c; }
struct M { bit<8> seen; bit<48> time; }
parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) {
    state start { p.extract(h.a); transition select(h.a.kind) { 0 .. 99: b; 100 .. 199: stack; default: accept; } }
    state b { p.extract(h.b); transition accept; }
    state stack { p.extract(h.c.next); transition select(h.c.last.more) { 1: stack; default: accept; } }
}
control V(inout H h, inout M m) { apply { verify_checksum(true, { h.a.kind, h.a.high, h.a.low }, h.a.sum, HashAlgorithm.csum16); } }
control I(inout H h, inout M m, inout standard_metadata_t s) {
    register<bit<8>>(16) last;
    counter(16, CounterType.packets_and_bytes) counts;
    action to(bit<9> port) { s.egress_spec = port; }
    action group(bit<16> number) { s.mcast_grp = number; }
    action drop() { mark_to_drop(s); }
    table kinds { key = { h.a.kind: range; h.a.low: ternary; } actions = { to; group; drop; } default_action = to(1); }
    table macs { key = { h.b.mac: lpm; } actions = { to; NoAction; } default_action = NoAction(); }
    table marks { key = { h.a.high: exact; s.ingress_port: exact; } actions = { drop; NoAction; } default_action = NoAction(); }
    apply {
        last.read(m.seen, (bit<32>) h.a.low);
        last.write((bit<32>) h.a.low, h.a.kind);
        counts.count((bit<32>) h.a.high);
        m.time = s.ingress_global_timestamp;
        kinds.apply();
        if (h.b.isValid()) { macs.apply(); h.b.y = h.b.y + 1; }
        marks.apply();
    }
}
control E(inout H h, inout M m, inout standard_metadata_t s) {
    apply {
        h.a.low = h.a.low + (bit<4>) s.egress_rid;
        if (h.c[0].isValid()) { h.c.pop_front(1); }
        if (s.egress_port == 2 && m.seen == 7) { mark_to_drop(s); }
        if (h.b.isValid()) { h.b.mac = m.time; }
    }
}
control U(inout H h, inout M m) { apply { update_checksum(h.a.kind != 9, { h.a.kind, h.a.high, h.a.low }, h.a.sum, HashAlgorithm.csum16); } }
control D(packet_out p, in H h) { apply { p.emit(h.a); p.emit(h.b); p.emit(h.c); } }
V1Switch(P(), V(), I(), E(), U(), D()) main;";

const ENTRIES: &str = "
add kinds 10 h.a.kind:0->20 h.a.low:0b***1 to(port:2)
add kinds 20 h.a.kind:10->150 h.a.low:0b0*** group(number:1)
add kinds 5 h.a.kind:0->255 h.a.low:0b11** drop()
add kinds 1 h.a.kind:200->255 group(number:2)
add macs h.b.mac:0x000000000000/1 to(port:3)
add macs h.b.mac:0xffffff000000/24 to(port:0)
add marks h.a.high:3 s.ingress_port:1 drop()
register_write last 5 7
mc_mgrp_create 1
mc_node_create 3 0 1
mc_node_create 4 3
mc_node_associate 1 0
mc_node_associate 1 1
setdefault macs to(port:2)
";

fn dir(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("netvm-p4-elements-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

/// Packets with the ports that they come in by, a millisecond and a bit apart.
fn packets(count: u64) -> Vec<(u16, u64, Vec<u8>)> {
    let mut state = 1_u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u32
    };
    let packet = |n: u64| {
        let len = random() % 24 + 3;
        let bytes = (0..len).map(|_| random() as u8 & if random() % 3 == 0 { 0x0f } else { 0xff }).collect();
        ((random() % 3) as u16, 1_700_000_000_000_000_000 + n * 1_000_700, bytes)
    };
    (0..count).map(packet).collect()
}

fn write(path: &Path, packets: impl Iterator<Item = (u64, Vec<u8>)>) {
    let plan = WriteOptions { link_type: LinkType::EN10MB, precision: netvm::io::Precision::Nano, ..WriteOptions::for_output(path, &[]) };
    let mut writer = Writer::create(path, &plan).unwrap();
    for (time, bytes) in packets {
        let time = Timestamp::from_nanos((time / 1_000_000_000) as i64, (time % 1_000_000_000) as u32);
        writer.write_packet(LinkType::EN10MB, time, bytes.len() as u32, &bytes).unwrap();
    }
    writer.finish().unwrap();
}

/// What a graph with the program in it sends, by port, and what a command tells at the end;
/// commands are run before the first packet.
fn of_graph(dir: &Path, engine: &engines::EngineInfo, packets: &[(u16, u64, Vec<u8>)], commands: [&str; 2]) -> (Sent, String) {
    let (program, entries) = (dir.join("p.p4"), dir.join("e.txt"));
    let mut text = format!("p :: P4({}, ENTRIES {});\n", program.display(), entries.display());
    for port in 0..PORTS {
        let (input, output) = (dir.join(format!("in{port}.pcap")), dir.join(format!("out{port}.pcap")));
        write(&input, packets.iter().filter(|(at, ..)| *at == port).map(|(_, time, bytes)| (*time, bytes.clone())));
        let _ = writeln!(text, "FromDump({}) -> [{port}] p; p [{port}] -> ToDump({}, SNAPLEN 0);", input.display(), output.display());
    }
    let application = Application::read("p4.click", &text, &Default::default()).unwrap_or_else(|error| panic!("{}", error.render(false)));
    let mut graph = application.start(engine, Default::default(), Settings::default(), Box::new(Quiet)).unwrap();
    graph.write("p.command", commands[0], None).unwrap();
    graph.start();
    while graph.turn() {}
    assert_eq!(graph.finish(), []);
    let told = graph.read("p.command", commands[1], None).unwrap();
    let read = |port: u16| {
        let mut capture = netvm::io::Capture::open(dir.join(format!("out{port}.pcap"))).unwrap();
        let mut all = Vec::new();
        while let Some(burst) = capture.next_burst(256).unwrap() {
            all.extend((0..burst.len()).map(|i| (burst.timestamp(i).as_nanos() as u64, burst.packets()[i].to_vec())));
        }
        (port, all)
    };
    ((0..PORTS).map(read).collect(), told)
}

/// What the switch sends and tells.
fn of_switch(dir: &Path, packets: &[(u16, u64, Vec<u8>)], commands: [&str; 2]) -> (Sent, String) {
    let pipeline = p4::load(&dir.join("p.p4"), &[], &[]).unwrap_or_else(|error| panic!("{}", error.render(false)));
    let mut switch = Switch::start(pipeline, &engines::ALL[0], Default::default()).unwrap();
    stf::configure(&mut switch, &std::fs::read_to_string(dir.join("e.txt")).unwrap()).unwrap();
    stf::configure(&mut switch, commands[0]).unwrap();
    let mut sent: Sent = (0..PORTS).map(|port| (port, Vec::new())).collect();
    for (port, time, bytes) in packets {
        for out in switch.receive(u32::from(*port), bytes, *time) {
            sent.entry(out.port as u16).or_default().push((*time, out.bytes));
        }
    }
    let told = stf::configure(&mut switch, commands[1]).unwrap();
    (sent, told.into_iter().map(|line| line + "\n").collect())
}

#[test]
fn an_element_does_what_the_switch_does() {
    let dir = dir("equal");
    std::fs::write(dir.join("p.p4"), PROGRAM).unwrap();
    std::fs::write(dir.join("e.txt"), ENTRIES).unwrap();
    let packets = packets(3000);
    let later = "add marks h.a.high:5 s.ingress_port:2 drop()\nmc_node_update 1 3 2 1\ntable_delete macs 1\nregister_write last 6 1\nsetdefault kinds to(port:3)";
    for before in ["", later] {
        let commands = [before, "register_read last\ncounter_read counts 3"];
        let wanted = of_switch(&dir, &packets, commands);
        let counts: Vec<usize> = wanted.0.values().map(Vec::len).collect();
        assert!(counts.iter().all(|sent| *sent > 100), "{counts:?}");
        for engine in engines::ALL.iter().chain([&engines::AUTO]) {
            assert!(of_graph(&dir, engine, &packets, commands) == wanted, "{} {before}", engine.name);
        }
    }
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn tables_and_mistakes_of_a_control_plane_are_told() {
    let dir = dir("plane");
    std::fs::write(dir.join("p.p4"), PROGRAM).unwrap();
    let text = format!("Idle -> p :: P4({}) -> Discard; Idle -> q :: Counter -> Discard;", dir.join("p.p4").display());
    let application = Application::read("p4.click", &text, &Default::default()).unwrap();
    let mut graph = application.start(&engines::ALL[0], Default::default(), Settings::default(), Box::new(Quiet)).unwrap();
    graph.write("p.command", "add macs h.b.mac:0x000000000000/1 to(port:3)\nadd macs h.b.mac:0xff0000000000/8 NoAction()", None).unwrap();
    let tables = graph.read("p.tables", "", None).unwrap();
    assert!(tables.contains("I.macs\t2\th.b.mac:lpm\tI.to NoAction\n") && tables.lines().count() == 3, "{tables}");
    let unknown = graph.read("p.nothing", "", None).unwrap_err();
    assert!(unknown.text().starts_with("no handler named 'p.nothing'; there are tables, command, "), "{unknown}");
    assert!(
        graph.write("p.command", "add nothing x:1 to(port:1)", None).unwrap_err().text().starts_with("line 1: there is no table `nothing`")
    );
    assert!(graph.write("p.command", "mirroring_add 5 2", None).unwrap_err().text().contains("mirroring sessions"));
    assert_eq!(graph.write("p.command", "register_write last 1 1", None), Ok(()), "what was refused is forgotten");
    let many: String =
        (0..17).map(|n| format!("mc_mgrp_create {n}\nmc_node_create {n} {}\nmc_node_associate {n} {n}\n", "1 ".repeat(256))).collect();
    assert!(graph.write("p.command", &many, None).unwrap_err().text().contains("multicast groups: "), "more than 4,096 members");
    assert_eq!(graph.write("p.command", "mc_mgrp_destroy 1", None), Ok(()));
    assert!(graph.write("q.command", "x", None).is_err() && graph.write("p.tables", "x", None).is_err());
    std::fs::remove_dir_all(dir).unwrap();
}

/// Why a configuration with that element is refused.
fn refusal(element: &str) -> String {
    match Application::read("p4.click", &format!("Idle -> {element} -> Discard;"), &Default::default()) {
        Ok(_) => String::new(),
        Err(Error::Configuration(faults)) => faults.to_string(),
        Err(other) => other.to_string(),
    }
}

#[test]
fn what_an_element_cannot_do_is_refused_with_the_place() {
    let dir = dir("refused");
    let (program, entries) = (dir.join("p.p4"), dir.join("e.txt"));
    let element = || refusal(&format!("P4({}, ENTRIES {})", program.display(), entries.display()));
    std::fs::write(&program, PROGRAM).unwrap();
    std::fs::write(&entries, ENTRIES).unwrap();
    assert_eq!(element(), "");
    std::fs::write(&entries, "add kinds 1 h.a.kind:1->2 fly(port:2)").unwrap();
    assert!(element().contains("e.txt: line 1: "), "{}", element());
    std::fs::write(&entries, "mirroring_add 5 2").unwrap();
    assert!(element().contains("mirroring sessions"), "{}", element());
    std::fs::write(&program, PROGRAM.replace("m.time = s.ingress", "clone(CloneType.I2E, 5); m.time = s.ingress")).unwrap();
    assert!(element().contains("`clone` needs the switch around a program") && element().contains("p.p4:"), "{}", element());
    std::fs::write(&program, PROGRAM.replace("s.mcast_grp = number;", "")).unwrap();
    std::fs::write(&entries, ENTRIES).unwrap();
    assert!(element().contains("no use for multicast groups"), "{}", element());
    std::fs::write(&program, "x").unwrap();
    assert!(element().contains("p.p4"), "{}", element());
    assert!(refusal("P4(/nonexistent.p4)").contains("/nonexistent.p4: No such file"));
    assert!(refusal("P4").contains("the file with the program is missing"));
    assert!(refusal("P4(/dev/zero)").contains("/dev/zero: it is no regular file"));
    assert!(refusal(&format!("P4({}, ENTRIES /dev/zero)", program.display())).contains("p.p4"), "the program is read first");
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn netil_programs_are_elements() {
    let dir = dir("netil");
    let file = dir.join("a.netil");
    let element = |text: &str, ports: &str| {
        std::fs::write(&file, text).unwrap();
        refusal(&format!("{}NetIL({}){}", ports, file.display(), ""))
    };
    let program = "segment .ports\n  push_input in\n  push_output out\nends\nsegment .push\n  .locals 0\n  .maxstacksize 2\n  pop\n  pkt.send out\nends\n";
    assert_eq!(element(program, ""), "");
    assert!(element(&program.replace("push_output out", "push_output out\n  push_output more"), "").contains("2 outputs"));
    assert!(element("nonsense", "").contains("a.netil"));
    assert!(refusal("NetIL(a, b)").contains("one argument"));
    assert!(refusal("NetIL(/dev/zero)").contains("no regular one"));
    std::fs::remove_dir_all(dir).unwrap();
}
