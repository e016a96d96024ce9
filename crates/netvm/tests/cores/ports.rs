//! Translators whose state is divided by ports: whatever the number of replicas, each flow gets
//! what the interpreter gives it on one thread.

use super::graphs::{Found, capture, run};
use super::{PlacementMode, engines_there, folder, run_on};
use netil::digest::internet_checksum;
use netvm::application::{Application, Placement, Policies, Policy};
use netvm::engines;
use std::collections::BTreeMap;

const EXTERNAL: [u8; 4] = [198, 51, 100, 7];
const SERVER: [u8; 4] = [203, 0, 113, 80];

/// A capture of Ethernet frames, with their times in microseconds.
fn written(packets: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut file = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 1].map(u32::to_le_bytes).concat();
    for (micros, ip) in packets {
        let length = ip.len() as u32 + 14;
        file.extend([(micros / 1_000_000) as u32, (micros % 1_000_000) as u32, length, length].map(u32::to_le_bytes).concat());
        file.extend([&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0], &ip[..]].concat());
    }
    file
}

/// An IPv4 packet; `bits` are flags and offset.
fn ip(protocol: u8, [from, to]: [[u8; 4]; 2], (id, bits): (u16, u16), payload: &[u8]) -> Vec<u8> {
    let mut ip = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, protocol, 0, 0];
    ip.extend([from, to].concat());
    ip[2..4].copy_from_slice(&(20 + payload.len() as u16).to_be_bytes());
    ip[4..6].copy_from_slice(&id.to_be_bytes());
    ip[6..8].copy_from_slice(&bits.to_be_bytes());
    let sum = internet_checksum(&ip).to_be_bytes();
    ip[10..12].copy_from_slice(&sum);
    [&ip, payload].concat()
}

/// A transport header without a checksum, which UDP may have, and the number of the packet.
fn transport(protocol: u8, [from, to]: [u16; 2], number: u32, answers: bool) -> Vec<u8> {
    let ports = [from.to_be_bytes(), to.to_be_bytes()].concat();
    let mut header = match protocol {
        17 => [&ports[..], &[0, 12, 0, 0]].concat(),
        6 => [&ports[..], &[0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x10, 1, 0, 0, 0, 0, 0]].concat(),
        // An echo, whose identifier is the port inside.
        _ => [&[if answers { 0 } else { 8 }, 0, 0, 0][..], &if answers { to } else { from }.to_be_bytes(), &[0, 0]].concat(),
    };
    header.extend(number.to_be_bytes());
    if protocol == 1 {
        let sum = internet_checksum(&header).to_be_bytes();
        header[2..4].copy_from_slice(&sum);
    }
    header
}

/// The ports of a packet or of what it quotes, its identifier, or that of the datagram whose
/// fragment it is.
fn ports(ip: &[u8]) -> &[u8] {
    match (u16::from_be_bytes([ip[6], ip[7]]) & 0x3fff, ip[9], ip.get(20)) {
        (1.., ..) => &ip[4..6],
        (_, 1, Some(3 | 11)) => ip.get(28..).filter(|quoted| quoted.len() >= 28).map_or(&[], ports),
        (_, 1, _) => ip.get(24..26).unwrap_or_default(),
        _ => ip.get(20..24).unwrap_or_default(),
    }
}

/// By fields that are the same for all packets of a flow: its packets in their order.
pub fn flows(capture: &Option<Vec<u8>>) -> BTreeMap<Vec<u8>, Vec<Vec<u8>>> {
    let mut flows = BTreeMap::<_, Vec<_>>::new();
    let mut capture = runtime::io::Capture::from_bytes(capture.clone().unwrap()).unwrap();
    while let Some(burst) = capture.next_burst(64).unwrap() {
        for record in burst.records() {
            let (ip, time) = (&record.data[14..], record.timestamp().as_nanos().to_be_bytes());
            flows.entry([&ip[9..10], &ip[12..20], ports(ip)].concat()).or_default().push([&time[..], record.data].concat());
        }
    }
    flows
}

pub fn assert_same_flows(found: &Found, wanted: &Found, name: &str) {
    assert_eq!(found.counts, wanted.counts, "{name}");
    assert_eq!(found.nodes, wanted.nodes, "{name}");
    for (found, wanted) in found.captures[..2].iter().zip(&wanted.captures) {
        let (found, wanted) = (flows(found), flows(wanted));
        let differs = wanted.iter().find(|(flow, packets)| found.get(*flow) != Some(packets));
        assert!(found.len() == wanted.len() && differs.is_none(), "{name}: {} flows, not {}; {differs:?}", found.len(), wanted.len());
    }
}

fn check(name: &str, text: &str, reads: &[&str], folder: &std::path::Path) {
    let input = folder.join("in.pcap");
    let wanted = run(text, reads, engines::find("interp").unwrap(), folder, &input);
    for engine in engines_there() {
        for replicas in if *engine == "aot" { &[2][..] } else { &[1, 2, 3, 8] } {
            let place = (PlacementMode::Flow(Policy::Lock), *replicas);
            let (found, _, shown) = run_on(text, reads, place, engine, &[], folder, &input);
            assert!(shown.contains(": each replica has the state of some ports"), "{shown}");
            assert_same_flows(&found, &wanted, &format!("{name}, {replicas} replicas, {engine}"));
        }
    }
}

/// Hosts with the same ports, whose packets come back to them whatever ports they get outside.
#[test]
fn answers_find_the_replica_that_gave_out_their_port() {
    let folder = folder("mirrored");
    let hosts = (0..40_u8).flat_map(|host| [17, 6].map(|protocol| (host, protocol)));
    let packets = hosts.flat_map(|(host, protocol)| {
        [5000, 5001, 53]
            .map(|port| ip(protocol, [[10, 0, 0, host + 1], SERVER], (7, 0), &transport(protocol, [port, 53], port.into(), false)))
    });
    let packets: Vec<_> = packets.collect();
    let often = (0..4).flat_map(|_| packets.clone()).zip(0..).map(|(packet, n)| (1_000_000 + 10 * n, packet)).collect::<Vec<_>>();
    let few = written(&often);
    for (class, counts) in
        [("Nat(198.51.100.0/24)", &["nat.created", "nat.no_mapping", "c.count"][..]), ("Napt(198.51.100.0/24)", &["c.count"])]
    {
        let text = format!(
            "FromDump(IN, STOP true) -> Strip(14) -> CheckIPHeader -> [0] nat :: {class}; nat[0] -> IPMirror -> [1] nat;
             nat[1] -> c :: Counter -> EtherEncap(0x0800, 2:0:0:0:0:1, 2:0:0:0:0:2) -> Queue(100000) -> ToDump(OUT0, SNAPLEN 0); Idle -> Queue -> ToDump(OUT1, SNAPLEN 0);"
        );
        for (kind, input) in [("few ports", &few), ("mixed traffic", &capture())] {
            std::fs::write(folder.join("in.pcap"), input).unwrap();
            check(&format!("{class}, {kind}"), &text, counts, &folder);
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// The packets of both sides: flows there and back, in fragments and not, with errors about them;
/// at the end hosts inside talk to each other by their external endpoints.
fn sides() -> [Vec<(u64, Vec<u8>)>; 2] {
    let (mut inside, mut outside, mut number) = (Vec::new(), Vec::new(), 0);
    let host = |flow: u16| [10, 0, 0, (flow % 50) as u8 + 1];
    for (round, flow) in (0..60).flat_map(|round| (0..180_u16).map(move |flow| (round, flow))) {
        let (protocol, port, time) = ([17, 6, 1][flow as usize % 3], 2000 + flow, 1_000_000 + 100 * u64::from(number));
        number += 1;
        let id = number as u16;
        let bits = if flow % 15 == 0 { 0x2000 } else { 0 };
        let there = transport(protocol, [port, 53], number, false);
        inside.push((time, ip(protocol, [host(flow), SERVER], (id, bits), &there)));
        outside.push((time + 30, ip(protocol, [SERVER, EXTERNAL], (id, bits), &transport(protocol, [53, port], number, true))));
        if bits != 0 {
            inside.push((time + 1, ip(protocol, [host(flow), SERVER], (id, 3), &number.to_be_bytes())));
            outside.push((time + 31, ip(protocol, [SERVER, EXTERNAL], (id, 3), &number.to_be_bytes())));
        }
        if flow % 7 == 0 {
            let mut error = [&[11, 0, 0, 0, 0, 0, 0, 0], &ip(protocol, [EXTERNAL, SERVER], (id, 0), &there)[..]].concat();
            let sum = internet_checksum(&error).to_be_bytes();
            error[2..4].copy_from_slice(&sum);
            outside.push((time + 40, ip(1, [[192, 0, 2, 1], EXTERNAL], (id, 0), &error)));
        }
        if round == 59 && protocol != 1 {
            let to = 2000 + (flow + 3) % 180;
            inside.push((time + 50, ip(protocol, [host(flow), EXTERNAL], (9, 0), &transport(protocol, [port, to], number, false))));
            // One that nobody has.
            inside.push((time + 51, ip(protocol, [host(flow), EXTERNAL], (9, 0), &transport(protocol, [port, 9000], number, false))));
        }
    }
    [inside, outside]
}

#[test]
fn flows_there_and_back_with_errors_fragments_and_hairpins_are_those_of_one_thread() {
    let folder = folder("sides");
    let [inside, outside] = sides();
    std::fs::write(folder.join("in.pcap"), written(&inside)).unwrap();
    std::fs::write(folder.join("out.pcap"), written(&outside)).unwrap();
    let text = format!(
        "FromDump(IN, STOP false) -> Strip(14) -> CheckIPHeader -> [0] nat :: Nat(198.51.100.7); FromDump({}, STOP false) -> Strip(14) -> CheckIPHeader -> [1] nat;
         nat[0] -> rt :: StaticIPLookup(0.0.0.0/0 0, 198.51.100.7/32 1) -> EtherEncap(0x0800, 2:0:0:0:0:1, 2:0:0:0:0:2) -> Queue(100000) -> ToDump(OUT0, SNAPLEN 0);
         rt[1] -> [1] nat; nat[1] -> EtherEncap(0x0800, 2:0:0:0:0:3, 2:0:0:0:0:4) -> Queue(100000) -> ToDump(OUT1, SNAPLEN 0);",
        folder.join("out.pcap").display()
    );
    check("both sides", &text, &["nat.created", "nat.no_mapping", "nat.no_room"], &folder);
    std::fs::remove_dir_all(folder).unwrap();
}

/// What a promise by ports says of keys is looked at: with the port of the source on the only input
/// it is shown, and of addresses alone it does not hold.
#[test]
fn promises_by_ports_are_shown_or_refused() {
    let folder = folder("ports-promised");
    let class = |name: &str, members: &str, fill: &str| {
        let text = format!(
            "/*\n * {name} -- counts packets\n */\n#include <netvm.h>\n#include \"click.h\"\n#include \"share.h\"\nELEMENT({name}, \"1/1\", \"a/a\");\nstruct key {{ {members} }};\n\
             TABLE_EXACT(counts, struct key, u32, 1024, 0);\nstatic struct key key;\nstatic struct share share;\nFLOW_STATE(PORTS, share, SOURCE);\nvoid packet(int port)\n{{\n    \
             u32 at = network_offset();\n    const struct ip *ip = header(struct ip, at);\n    u32 *count;\n\n    {fill}\n    count = table_insert(counts, &key);\n    if (count) {{\n        \
             *count += 1;\n        info(paint) = (u8) *count;\n    }}\n    emit(0);\n}}\n"
        );
        std::fs::write(folder.join(format!("{name}.c")), text).unwrap();
    };
    class("ByHost", "be32 src;", "key.src = ip->src;");
    class("ByPort", "be32 src; be16 port;", "key.src = ip->src;\n    key.port = header(struct udp, at + ip_header_length(ip))->sport;");
    let explained = |class: &str| {
        let text = format!("FromDump(in.pcap) -> Strip(14) -> CheckIPHeader -> f :: {class} -> PaintSwitch -> Discard;");
        let reading = netvm::application::Reading { elements: vec![folder.clone()], ..Default::default() };
        let application = Application::read("test.click", &text, &reading).unwrap_or_else(|error| panic!("{}", error.render(false)));
        Placement::by_flow(application.application(), &[], &Policies::default()).unwrap().explain(application.application(), Some(2))
    };
    let told = explained("ByPort");
    assert!(told.contains("f :: ByPort: each replica has the state of some ports (FLOW_STATE promised, shown)"), "{told}");
    let told = explained("ByHost");
    assert!(told.contains("FLOW_STATE does not hold: the keys of table `counts` are the source address (line "), "{told}");
    std::fs::remove_dir_all(folder).unwrap();
}
