//! P4 programs of the folder `tests/p4` with their STF files, on every engine that is quick to
//! make; and what is refused.

use netvm::p4::{self, Switch, stf};
use netvm::{Settings, engines};
use std::path::{Path, PathBuf};

const PROGRAMS: [&str; 16] = [
    "generic",
    "priorities",
    "nested",
    "numbers",
    "cross",
    "forward",
    "state",
    "meters",
    "profiles",
    "sets",
    "learn",
    "shorter",
    "dropped",
    "psa_paths",
    "psa_objects",
    "bmv2_psa",
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/p4")
}

fn switch(program: &str, engine: &engines::EngineInfo) -> Switch {
    let pipeline = p4::load(&folder().join(program), &[], &[]).unwrap_or_else(|e| panic!("{}", e.render(false)));
    Switch::start(pipeline, engine, Settings::default()).unwrap()
}

fn wrong(program: &str, test: &str) -> Vec<String> {
    let quick = engines::ALL.iter().filter(|e| e.quick);
    quick.flat_map(|engine| stf::run(&mut switch(program, engine), test).wrong).collect()
}

#[test]
fn programs_do_what_their_tests_say() {
    for name in PROGRAMS {
        let test = std::fs::read_to_string(folder().join(format!("{name}.stf"))).unwrap();
        assert_eq!(wrong(&format!("{name}.p4"), &test), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn what_is_not_as_expected_is_told() {
    let told = |test: &str| wrong("state.p4", test).len();
    assert_eq!(told("packet 0 01 05 0000\nexpect 1 01 05 0001 $"), 0);
    assert!(told("packet 0 01 05 0000\nexpect 1 01 05 0002 $") > 0, "another byte");
    assert!(told("packet 0 01 05 0000 aa\nexpect 1 01 05 0001 $") > 0, "longer");
    assert!(told("packet 1 01 05 0000") > 0, "a port that should be silent");
    assert!(told("expect 1 01") > 0, "no packet");
    assert!(told("add nothing x:1 drop()") > 0 && told("frobnicate") > 0 && told("packet 0 0") > 0);
}

/// The first message about a program whose ingress does that.
fn refusal(ingress: &str) -> String {
    let program = format!(
        "#include <v1model.p4>
header h_t {{ bit<8> a; }} struct H {{ h_t h; }} struct M {{ bit<4> b; }}
parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) {{ state start {{ p.extract(h.h); transition accept; }} }}
control N(inout H h, inout M m) {{ apply {{}} }}
control I(inout H h, inout M m, inout standard_metadata_t s) {{ {ingress} }}
control E(inout H h, inout M m, inout standard_metadata_t s) {{ apply {{}} }}
control D(packet_out p, in H h) {{ apply {{ p.emit(h); }} }}
V1Switch(P(), N(), I(), E(), N(), D()) main;"
    );
    let path = std::env::temp_dir().join(format!("netvm-p4-{}-{:?}.p4", std::process::id(), std::thread::current().id()));
    std::fs::write(&path, program).unwrap();
    let result = p4::load(&path, &[], &[]);
    std::fs::remove_file(path).unwrap();
    result.map_or_else(|e| e.to_string(), |_| String::new())
}

#[test]
fn faults_are_told_with_what_is_wrong() {
    assert_eq!(refusal("apply { h.h.a = 1; }"), "");
    assert_eq!(refusal("apply { h.h.a = m.b; }"), "this is bit<4>, and bit<8> is wanted");
    assert_eq!(refusal("apply { h.h.c = 1; }"), "h_t has no member `c`");
    assert_eq!(refusal("apply { x = 1; }"), "nothing is called `x` here");
    assert_eq!(refusal("table t { key = { h.h.a: exact; } } apply {}"), "the table `t` has no actions");
    assert_eq!(refusal("action a(in bit<8> x) { x = 1; } apply {}"), "`x` cannot be written to");
    assert_eq!(refusal("apply { if (h.h.a) {} }"), "this is bit<8>, and bool is wanted");
    assert_eq!(refusal("apply { h.h.a = h.h.a / 0; }"), "division by zero");
    let entries = |before: &str, entries: &str| {
        let table = format!("key = {{ h.h.a: ternary; }} actions = {{ NoAction; }} {before} entries = {{ {entries} }}");
        refusal(&format!("table t {{ {table} }} apply {{ t.apply(); }}"))
    };
    assert_eq!(entries("", "priority = 3: 1: NoAction(); 2: NoAction();"), "");
    assert_eq!(entries("", "1: NoAction(); priority = 3: 2: NoAction();"), "the first entry has a priority, as another one has");
    assert_eq!(
        entries("priority_delta = 4;", "priority = 3: 1: NoAction(); 2: NoAction();"),
        "the priority of this entry would be -1; priorities have 31 bits"
    );
    assert_eq!(entries("const", "priority = 3: 1: NoAction();"), "constant entries have the priority of their order");
}

/// An entry with a range is several entries of the module: of one that does not fit, none is left.
#[test]
fn an_entry_that_does_not_fit_leaves_nothing() {
    let text = "#include <v1model.p4>
header h_t { bit<8> a; } struct H { h_t h; } struct M { }
parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) { state start { p.extract(h.h); transition accept; } }
control N(inout H h, inout M m) { apply {} }
control I(inout H h, inout M m, inout standard_metadata_t s) {
    action to(bit<9> port) { s.egress_spec = port; }
    table t { key = { h.h.a: range; } actions = { to; } default_action = to(0); size = 1; }
    apply { t.apply(); }
}
control E(inout H h, inout M m, inout standard_metadata_t s) { apply {} }
control D(packet_out p, in H h) { apply { p.emit(h); } }
V1Switch(P(), N(), I(), E(), N(), D()) main;";
    let reading = p4::Reading { folders: &[], defines: &[], load: &|_| None, marks: false, without: &[] };
    let pipeline = ::p4::compile(Path::new("t.p4"), text, reading).unwrap();
    let mut switch = Switch::start(pipeline, &engines::ALL[0], Settings::default()).unwrap();
    let mut add = |priority: u32, low: u32, high: u32| {
        let key = [p4::KeyMatch::Range(low.into(), high.into())];
        switch.add("t", &key, priority, "to", &[("port".to_owned(), priority.into())]).is_ok()
    };
    assert!(add(1, 1, 254) && add(2, 1, 254), "14 entries of the module each, of 32");
    assert!(!add(3, 1, 254));
    assert!((4..8).all(|n| add(n, n, n)), "there is room for four");
    assert!(!add(8, 8, 8));
    assert_eq!(switch.receive(0, &[1], 0)[0].port, 2, "the one that was refused is not found");
}

#[test]
fn a_packet_that_goes_round_for_ever_ends() {
    let text = std::fs::read_to_string(folder().join("state.p4")).unwrap();
    let round = text.replace("m.seen = h.kind.value;", "resubmit_preserving_field_list(1);");
    let path = std::env::temp_dir().join(format!("netvm-p4-round-{}.p4", std::process::id()));
    std::fs::write(&path, round).unwrap();
    let pipeline = p4::load(&path, &[], &[]);
    std::fs::remove_file(path).unwrap();
    let mut switch = Switch::start(pipeline.unwrap(), &engines::ALL[0], Settings::default()).unwrap();
    assert!(switch.receive(0, &[3, 0, 0, 0], 0).is_empty());
}

/// Tests for hardware expect the frame check sequence of each packet in counters of bytes.
#[test]
fn counters_have_the_frame_check_sequence_where_a_test_expects_it() {
    let text = std::fs::read_to_string(folder().join("forward.stf")).unwrap();
    let (before, behind) = ("check_counter sent(2) bytes == 38", "check_counter sent(2) bytes == 42");
    let wrong = |text: &str| {
        let mut switch = switch("forward.p4", &engines::ALL[0]);
        stf::run_with_overhead(&mut switch, text, stf::FRAME_CHECK).wrong
    };
    assert_eq!(wrong(&text).len(), 1);
    assert_eq!(wrong(&text.replace(before, behind)), Vec::<String>::new());
}

/// Digests, registers and counters of one run.
#[test]
fn the_control_plane_reads_what_the_program_keeps() {
    let text = std::fs::read_to_string(folder().join("learn.stf")).unwrap();
    let mut switch = switch("learn.p4", &engines::ALL[0]);
    assert!(stf::run(&mut switch, &text).wrong.is_empty());
    let digests = switch.digests();
    let seen = [("src".to_owned(), 3.into()), ("port".to_owned(), 3.into())];
    assert_eq!(digests.len(), 1, "the other address is known: {digests:?}");
    assert_eq!((digests[0].name.as_str(), digests[0].values.as_slice()), ("seen_t", &seen[..]));
    assert!(switch.digests().is_empty(), "they are told once");
    let mut tell = |command: &str| p4::commands::run(&mut switch, command).map_err(String::from);
    assert_eq!(tell("register_read sums"), Ok(vec!["sums = 0, 0, 30, 0".to_owned()]));
    assert_eq!(tell("register_write In.sums 1 0x11"), Ok(vec![]));
    assert_eq!(tell("register_read sums 1"), Ok(vec!["sums[1] = 17".to_owned()]));
    assert!(tell("register_read sums 4").is_err() && tell("register_write sums 0 0x100000000").is_err());
    assert_eq!(tell("table_add known NoAction 00:00:00:00:00:03 =>"), Ok(vec!["Entry has been added with handle 1".to_owned()]));
    assert!(tell("table_add known learn 00:00:00:00:00:03 =>").unwrap_err().contains("has an entry of these keys, with handle 1"));
    assert_eq!(tell("table_delete known 1"), Ok(vec![]));
    assert!(tell("table_delete known 1").is_err() && tell("table_modify known learn 1").is_err());
    assert_eq!(tell("table_modify known learn 0"), Ok(vec![]));
}

#[test]
fn a_digest_of_psa_has_the_name_of_its_object() {
    let mut switch = switch("psa_objects.p4", &engines::ALL[0]);
    let text = std::fs::read_to_string(folder().join("psa_objects.stf")).unwrap();
    assert!(stf::run(&mut switch, &text).wrong.is_empty());
    let digests = switch.digests();
    let values = [("op".to_owned(), 15.into()), ("a".to_owned(), 1.into())];
    assert_eq!(digests.iter().map(|d| (d.name.as_str(), d.values.as_slice())).collect::<Vec<_>>(), [("InDeparser.seen", &values[..])]);
}

#[test]
fn what_cannot_be_done_is_refused() {
    let mut switch = switch("profiles.p4", &engines::ALL[0]);
    let mut refused = |command: &str| p4::commands::run(&mut switch, command).map_err(String::from).expect_err(command);
    assert!(refused("add routes route:1 to(port:1)").contains("names a member or a group"));
    assert_eq!(refused("add routes route:1 group(0)"), "In.ways has no group 0");
    assert_eq!(refused("act_prof_create_group marks"), "In.marks is no action selector, and has no groups");
    assert!(refused("act_prof_create_member ways too 1").starts_with("there is no action of In.ways `too`"));
    assert!(refused("act_prof_create_member ways to").contains("needs `port`"));
    assert!(refused("meter_set_rates m 0 1:1").starts_with("expected RATE:BURST"));
    let mut sets = self::switch("sets.p4", &engines::ALL[0]);
    let mut refused_set = |command: &str| p4::commands::run(&mut sets, command).map_err(String::from).expect_err(command);
    assert_eq!(refused_set("pvs_add kinds 0x100"), "Read.kinds: 0x100 does not fit a part of 8 bits");
    assert_eq!(refused_set("pvs_add pairs 1 2 3"), "a member of Read.pairs has 2 parts, not 3");
    assert!(refused_set("pvs_add pairs 1 -1").contains("does not fit") && refused_set("pvs_add pairs 1 x").contains("is no number"));
    assert!(refused("pvs_add s 1").starts_with("there is no value set"));
    assert!(refused("set_crc16_parameters calc 1 2 3 True False").starts_with("there is no calculation"));
    let mut done = |command: &str| p4::commands::run(&mut switch, command).map_err(String::from).unwrap();
    (0..4).for_each(|_| drop(done("act_prof_create_member marks NoAction")));
    assert!(p4::commands::run(&mut switch, "act_prof_create_member marks NoAction").is_err(), "the profile is full");
}

/// What commands of simple_switch_CLI ask and take back.
#[test]
fn commands_of_bmv2_ask_and_take_back() {
    let mut sets = self::switch("sets.p4", &engines::ALL[0]);
    let mut set = |command: &str| p4::commands::run(&mut sets, command).map_err(String::from);
    assert_eq!(set("show_pvs").unwrap(), ["Read.kinds", "Read.pairs"]);
    set("pvs_add pairs 0x02 0x10&&&0xf0").unwrap();
    assert_eq!(set("pvs_get pairs").unwrap(), ["0x210&&&0xfff0"]);
    let mut forward = self::switch("forward.p4", &engines::ALL[0]);
    let mut done = |command: &str| p4::commands::run(&mut forward, command).map_err(String::from);
    assert!(done("show_tables").unwrap().iter().any(|line| line.starts_with("In.routes\t0\t")));
    for n in 0..3 {
        done(&format!("add routes h.ip.dst:10.{n}.0.0/16 to(mac:1, port:{n})")).unwrap();
    }
    done("setdefault routes to(mac:1, port:2)").unwrap();
    done("table_reset_default routes").unwrap();
    assert_eq!(done("table_dump routes").unwrap().last().unwrap(), "setdefault In.routes In.drop()");
    assert_eq!(done("table_num_entries routes").unwrap(), ["3"]);
    assert_eq!(done("table_dump_entry routes 1").unwrap(), ["add In.routes h.ip.dst:0xa010000/16 In.to(mac:0x1, port:0x1) # handle 1"]);
    assert!(done("table_dump_entry routes 7").is_err());
    assert_eq!(done("table_show_actions routes").unwrap(), ["In.to(mac:48, port:9)", "In.drop()"]);
    assert_eq!(done("table_info routes").unwrap()[0], "In.routes: h.ip.dst:32 bits, lpm");
    done("mc_mgrp_create 3").unwrap();
    done("mc_node_create 7 1 2").unwrap();
    done("mc_node_associate 3 0").unwrap();
    assert_eq!(done("mc_dump").unwrap(), ["group 3: port 1 (node 7), port 2 (node 7)"]);
    done("mc_node_destroy 0").unwrap();
    assert_eq!(done("mc_dump").unwrap(), ["group 3: "]);
    assert_eq!(done("mirroring_add 1 512").unwrap_err(), "there is no port 512: the last one is 510");
    assert_eq!(done("mc_node_create 1 3 600").unwrap_err(), "there is no port 600: the last one is 510");
    assert!(done("set_queue_rate 5").unwrap_err().contains("ports have no queues"));
    assert!(done("updates { type: INSERT }").unwrap_err().contains("protobuf text of P4Runtime"));
    assert!(done("remove").unwrap_err().contains("remove all"));
    assert_eq!(done("register_read nothing").unwrap_err(), "there is no register `nothing`: the program has none");
    let wrong = done("add routes h.ip.dst:10.0.0.0/8 drop() x").unwrap_err();
    assert_eq!(wrong, "nothing stands behind the action, and here is `x`");
    assert_eq!(done("add routes h.ip.dst:1 h.ip.dst:2 drop()").unwrap_err(), "the key `h.ip.dst` is given twice");
    assert_eq!(done("add routes h.ip.dst:1 drop(").unwrap_err(), "expected `)` behind the arguments");
    assert!(done("add routes h.ip.dst:1\u{2028}é drop\u{2028}(\u{2028})").is_err(), "blanks of several bytes");
    done("reset_state").unwrap();
    assert_eq!(done("table_num_entries routes").unwrap(), ["0"]);
    assert_eq!(done("mc_dump").unwrap(), [""; 0]);
}

/// With marks a program does what it does without them, on every engine, and tells it.
#[test]
fn a_traced_program_does_the_same() {
    for name in PROGRAMS {
        let test = std::fs::read_to_string(folder().join(format!("{name}.stf"))).unwrap();
        for engine in engines::ALL.iter().filter(|e| e.quick) {
            let program = folder().join(format!("{name}.p4"));
            let pipeline = p4::load_traced(&program, &[], &[]).unwrap_or_else(|e| panic!("{}", e.render(false)));
            let mut traced = Switch::start(pipeline, engine, Settings::default()).unwrap();
            let plain = stf::run(&mut switch(&format!("{name}.p4"), engine), &test);
            let report = stf::run(&mut traced, &test);
            assert_eq!((report.wrong, report.sent), (plain.wrong, plain.sent), "{name}");
        }
    }
}

#[test]
fn a_packet_is_followed() {
    let pipeline = p4::load_traced(&folder().join("forward.p4"), &[], &[]).unwrap_or_else(|e| panic!("{}", e.render(false)));
    let mut switch = Switch::start(pipeline, &engines::ALL[0], Settings::default()).unwrap();
    p4::commands::run(&mut switch, "add routes ip.dst:10.0.0.0/8 to(mac:02:00:00:00:00:01, port:3)").unwrap();
    let mut packet = vec![0; 34];
    packet[12..15].copy_from_slice(&[8, 0, 0x45]);
    packet[22] = 64;
    packet[30..34].copy_from_slice(&[10, 1, 2, 3]);
    let words: u32 = packet[14..34].chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(w[1])).sum();
    packet[24..26].copy_from_slice(&(!((words >> 16) + (words & 0xffff)) as u16).to_be_bytes());
    let (_, passes) = switch.follow(7, 1, &packet, 0);
    let told: Vec<String> = passes.iter().flat_map(|p| &p.events).map(|e| format!("{:?} {} {}", e.kind, e.name, e.detail)).collect();
    for wanted in ["Enter parser Read ", "State ip ", "Extract h.ip ", "Action In.to ", "Hit In.routes h.ip.dst: 0xa000000/8"] {
        assert!(told.iter().any(|line| line == wanted), "{wanted}: {told:#?}");
    }
    let ttl = passes.iter().flat_map(|p| &p.events).flat_map(|e| &e.changes).find(|c| c.0 == "h.ip.ttl");
    assert_eq!(ttl.map(|c| (c.1.as_str(), c.2.as_str())), Some(("0x40", "0x3f")));
    assert_eq!(passes[0].packet, "7");
    assert_eq!(passes.last().map(|p| p.end.as_str()), Some("sent by port 3, 34 bytes"));
}

/// Entries that a file with a higher priority, or the program, takes all packets from.
#[test]
fn entries_that_never_match_are_told() {
    let program = "#include <v1model.p4>
header h_t { bit<16> a; bit<8> b; } struct H { h_t h; } struct M {}
parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) { state start { p.extract(h.h); transition accept; } }
control N(inout H h, inout M m) { apply {} }
control I(inout H h, inout M m, inout standard_metadata_t s) {
    action to(bit<9> port) { s.egress_spec = port; }
    table t { key = { h.h.a: ternary; h.h.b: range; } actions = { to; } entries = { priority = 900: (0xff00 &&& 0xff00, _): to(1); } largest_priority_wins = true; default_action = to(0); }
    table u { key = { h.h.a: lpm; } actions = { to; } default_action = to(0); }
    apply { t.apply(); u.apply(); }
}
control E(inout H h, inout M m, inout standard_metadata_t s) { apply {} }
control D(packet_out p, in H h) { apply { p.emit(h); } }
V1Switch(P(), N(), I(), E(), N(), D()) main;";
    let path = std::env::temp_dir().join(format!("netvm-p4-shadowed-{}.p4", std::process::id()));
    std::fs::write(&path, program).unwrap();
    let pipeline = p4::load(&path, &[], &[]);
    std::fs::remove_file(path).unwrap();
    let pipeline = pipeline.unwrap_or_else(|e| panic!("{}", e.render(false)));
    let told = |entries: &str| -> Result<Vec<(u32, u32, String)>, String> {
        let mut switch = Switch::start(pipeline.clone(), &engines::ALL[0], Settings::default()).unwrap();
        let warnings = p4::shadowed::check(&mut switch, "e.txt", entries)?;
        assert!(warnings.list().all(|(file, ..)| file == "e.txt"));
        Ok(warnings.list().map(|(_, line, column, message)| (line, column, message.to_owned())).collect())
    };
    let never = |line: u32, column: u32| (line, column, "this entry of I.t never matches".to_owned());
    let add = |priority: u32, a: &str, b: &str| format!("add t {priority} h.h.a:{a} h.h.b:{b} to(port:1)\n");
    assert_eq!(told(&(add(5, "0x0***", "1->9") + &add(4, "0x00**", "3->9"))), Ok(vec![never(2, 1)]));
    assert_eq!(told(&(add(4, "0x0***", "1->9") + &add(5, "0x00**", "3->9"))), Ok(vec![]), "the lower priority is wider");
    assert_eq!(told(&(add(5, "0x0***", "1->9") + &add(4, "0x00**", "3->10"))), Ok(vec![]), "a part is left");
    assert_eq!(told(&(add(5, "0x0001", "7->7") + "\n  # nothing\n  " + &add(4, "0x0001", "7->7"))), Ok(vec![never(4, 3)]));
    assert_eq!(told(&add(800, "0xff01", "1->2")), Ok(vec![never(1, 1)]), "the program's entry goes first");
    assert_eq!(told("add u h.h.a:0x0100/8 to(port:1)\nadd u h.h.a:0x0100/16 to(port:2)"), Ok(vec![]), "longer prefixes go first");
    assert_eq!(told("add t 1 nothing:1 to(port:1)").unwrap_err().split(':').next(), Some("line 1"));
    let many: String = (0..3000).map(|n| add(n + 1, &format!("{:#06x}", n % 0xff00), "0->255")).collect();
    assert_eq!(told(&many), Ok(vec![]));
}

/// What `table_dump` prints enters the same again.
#[test]
fn tables_are_dumped_as_commands() {
    let text = "#include <v1model.p4>
header h_t { bit<8> a; bit<8> b; bit<16> c; } struct H { h_t h; } struct M { }
parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) { state start { p.extract(h.h); transition accept; } }
control N(inout H h, inout M m) { apply {} }
control I(inout H h, inout M m, inout standard_metadata_t s) {
    direct_counter(CounterType.packets) seen;
    action to(bit<9> port, bit<8> b) { s.egress_spec = port; h.h.b = b; }
    action drop() { mark_to_drop(s); }
    table t {
        key = { h.h.a: range; h.h.b: ternary; h.h.c: optional; } actions = { to; drop; } default_action = to(0, 0);
        counters = seen; size = 16;
    }
    table u { key = { h.h.c: lpm; h.h.a: exact; } actions = { to; drop; } const default_action = drop(); }
    apply { if (h.h.c == 7) { u.apply(); } else { t.apply(); } }
}
control E(inout H h, inout M m, inout standard_metadata_t s) { apply {} }
control D(packet_out p, in H h) { apply { p.emit(h); } }
V1Switch(P(), N(), I(), E(), N(), D()) main;";
    let start = || {
        let reading = p4::Reading { folders: &[], defines: &[], load: &|_| None, marks: false, without: &[] };
        Switch::start(::p4::compile(Path::new("t.p4"), text, reading).unwrap(), &engines::ALL[0], Settings::default()).unwrap()
    };
    let mut switch = start();
    let entered = "add t 5 h.h.a:3->9 h.h.b:0x10&&&0xf0 h.h.c:4 to(port:2, b:9)\nadd t 2 to(port:3, b:1)\nadd u h.h.c:0/8 h.h.a:1 to(port:1, b:2)\n\
                   table_modify t to 1 4 1\nsetdefault t drop()";
    stf::configure(&mut switch, entered).unwrap();
    assert_eq!(switch.receive(0, &[4, 0x11, 0, 4], 0)[0].port, 2);
    let dump = switch.dump(None).unwrap();
    let lines = [
        "add I.u h.h.c:0x0/8 h.h.a:0x1 I.to(port:0x1, b:0x2) # handle 0",
        "setdefault I.u I.drop()",
        "add I.t 5 h.h.a:0x3->0x9 h.h.b:0x10&&&0xf0 h.h.c:0x4 I.to(port:0x2, b:0x9) # handle 0, 1 packets, 4 bytes",
        "add I.t 2 I.to(port:0x4, b:0x1) # handle 1, 0 packets, 0 bytes",
        "setdefault I.t I.drop()",
    ];
    assert_eq!(dump, lines);
    let mut again = start();
    stf::configure(&mut again, &dump.join("\n")).unwrap();
    let counted = |line: &String| line.split(',').next().unwrap_or("").to_owned();
    assert_eq!(again.dump(None).unwrap().iter().map(counted).collect::<Vec<_>>(), dump.iter().map(counted).collect::<Vec<_>>());
    for packet in [[4, 0x11, 0, 4], [4, 0x21, 0, 4], [1, 0, 0, 7], [2, 0, 0, 7]] {
        assert_eq!(again.receive(0, &packet, 0), switch.receive(0, &packet, 0), "{packet:?}");
    }
    assert_eq!(again.dump(Some("u")).unwrap().len(), 2);
    assert!(again.dump(Some("x")).unwrap_err().text().contains("there is no table `x`"));
    let refused = stf::configure(&mut again, "setdefault u to(port:1, b:1)").unwrap_err();
    assert!(refused.text().contains("the default action of table I.u is constant"), "{refused}");
}

/// Of a group only members are chosen whose port is up, if they watch one.
#[test]
fn members_that_watch_a_port_are_chosen_while_it_is_up() {
    let text = "#include <v1model.p4>
header h_t { bit<8> a; } struct H { h_t h; } struct M { }
parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) { state start { p.extract(h.h); transition accept; } }
control N(inout H h, inout M m) { apply {} }
control I(inout H h, inout M m, inout standard_metadata_t s) {
    action_selector(HashAlgorithm.crc16, 32w16, 32w16) sel;
    action to(bit<9> port) { s.egress_spec = port; }
    table t {
        key = { h.h.a: selector; s.ingress_port: exact; } actions = { to; }
        implementation = sel;
    }
    apply { t.apply(); }
}
control E(inout H h, inout M m, inout standard_metadata_t s) { apply {} }
control D(packet_out p, in H h) { apply { p.emit(h); } }
V1Switch(P(), N(), I(), E(), N(), D()) main;";
    let reading = p4::Reading { folders: &[], defines: &[], load: &|_| None, marks: false, without: &[] };
    let pipeline = ::p4::compile(Path::new("t.p4"), text, reading).unwrap();
    let mut switch = Switch::start(pipeline, &engines::ALL[0], Settings::default()).unwrap();
    let profile = "I.sel".to_owned();
    let group = switch.group_new(&profile).unwrap();
    let member = |switch: &mut Switch, port: u32| switch.member_create(&profile, "to", &[("port".to_owned(), port.into())]).unwrap();
    let members = [5, 6, 7].map(|port| member(&mut switch, port));
    switch.group_members(&profile, group, &members.map(|member| (member, 1))).unwrap();
    switch.group_watch(&profile, group, &[(members[0], 5), (members[1], 6)]).unwrap();
    switch.add_indirect("t", &[p4::KeyMatch::Value(0.into())], 1, p4::Indirect::Group(group)).unwrap();
    let chosen = |switch: &mut Switch| {
        let ports = (0..64).flat_map(|a| switch.receive(0, &[a], 0)).map(|sent| sent.port);
        ports.collect::<std::collections::BTreeSet<u32>>().into_iter().collect::<Vec<u32>>()
    };
    assert_eq!(chosen(&mut switch), [5, 6, 7]);
    switch.port_is_up(5, false).unwrap();
    assert_eq!(chosen(&mut switch), [6, 7]);
    // A port that nobody watches.
    switch.port_is_up(7, false).unwrap();
    switch.port_is_up(6, false).unwrap();
    assert_eq!(chosen(&mut switch), [7]);
    switch.port_is_up(5, true).unwrap();
    assert_eq!(chosen(&mut switch), [5, 7]);
    switch.group_watch(&profile, group, &[]).unwrap();
    assert_eq!(chosen(&mut switch), [5, 6, 7]);
}
