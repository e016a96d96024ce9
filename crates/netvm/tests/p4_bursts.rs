//! A P4 switch that takes several packets at once does what it does with one after the other: what
//! leaves and in which order, digests, registers, counters. The programs have all combinations of
//! what makes a difference: state in either half and in both, clones before and behind egress,
//! packets that come round, random numbers.

use netvm::p4::{self, Arrived, Departures, Reading, Sent, Switch, stf};
use netvm::{Settings, engines};
use std::path::Path;

/// Macros of the program, each of which adds something.
const PARTS: [&str; 8] = ["IN_STATE", "OUT_STATE", "BETWEEN", "IN_CLONES", "OUT_CLONES", "ROUNDS", "RANDOM", "GROUPS"];

/// Those that run on all engines: clones and groups before egress and behind it; state in both
/// halves.
const COMPILED: [usize; 2] = [0b1001_1000, 0b0000_0110];

const PROGRAM: &str = "#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> kind; bit<8> port; bit<32> first; bit<32> second; }
struct H { h_t h; }
struct M { @field_list(1) bit<8> round; }
struct told_t { bit<8> kind; bit<32> first; }
register<bit<32>>(1) common;
parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) { state start { p.extract(h.h); transition accept; } }
control N(inout H h, inout M m) { apply {} }
control I(inout H h, inout M m, inout standard_metadata_t s) {
    counter(16, CounterType.packets) arrived;
    register<bit<32>>(1) seen;
    apply {
        arrived.count((bit<32>) h.h.port);
        bit<32> n = 0;
#ifdef IN_STATE
        seen.read(n, 0);
        n = n + 1;
        seen.write(0, n);
        digest<told_t>(1, { h.h.kind, n });
#endif
#ifdef BETWEEN
        common.read(n, 0);
        n = n + 3;
        common.write(0, n);
#endif
#ifdef RANDOM
        random(n, 0, 1000000);
#endif
        h.h.first = n;
        s.egress_spec = (bit<9>) h.h.port;
#ifdef GROUPS
        if (h.h.kind[2:2] == 1) { s.mcast_grp = 1; }
#endif
        if (h.h.kind[5:5] == 1) { mark_to_drop(s); }
#ifdef IN_CLONES
        if (h.h.kind[0:0] == 1 && m.round == 0) { clone_preserving_field_list(CloneType.I2E, 5, 1); }
#endif
#ifdef ROUNDS
        if (h.h.kind[1:1] == 1 && m.round == 0) {
            m.round = 1;
            resubmit_preserving_field_list(1);
        }
#endif
    }
}
control E(inout H h, inout M m, inout standard_metadata_t s) {
    counter(16, CounterType.packets) left;
    register<bit<32>>(1) sent;
    apply {
        left.count((bit<32>) h.h.port);
        bit<32> n = 0;
#ifdef OUT_STATE
        sent.read(n, 0);
        n = n + 1;
        sent.write(0, n);
#endif
#ifdef BETWEEN
        common.read(n, 0);
#endif
        h.h.second = n;
#ifdef OUT_CLONES
        if (h.h.kind[3:3] == 1 && s.instance_type != 2) { clone_preserving_field_list(CloneType.E2E, 5, 1); }
        // The clone leaves alone.
        if (h.h.kind[4:3] == 3 && s.instance_type != 2) { mark_to_drop(s); }
#endif
#ifdef ROUNDS
        if (h.h.kind[4:4] == 1 && m.round < 2) {
            m.round = 2;
            recirculate_preserving_field_list(1);
        }
#endif
    }
}
control D(packet_out p, in H h) { apply { p.emit(h); } }
V1Switch(P(), N(), I(), E(), N(), D()) main;";

const ENTRIES: &str = "mirroring_add 5 9\nmc_mgrp_create 1\nmc_node_create 7 3 4\nmc_node_associate 1 0\n";

fn pipeline(parts: &[&str]) -> p4::Pipeline {
    let defines: Vec<(String, String)> = parts.iter().map(|part| ((*part).to_owned(), "1".to_owned())).collect();
    let reading = Reading { folders: &[], defines: &defines, load: &|_| None, marks: false, without: &[] };
    ::p4::compile(Path::new("t.p4"), PROGRAM, reading).unwrap_or_else(|refused| panic!("{}", refused.render(false)))
}

fn started(pipeline: p4::Pipeline, engine: &engines::EngineInfo) -> Switch {
    let mut switch = Switch::start(pipeline, engine, Settings::default()).unwrap();
    stf::configure(&mut switch, ENTRIES).unwrap();
    switch
}

/// Packets of all kinds; some are too short. Of forty in a row ingress sends each to one port, or
/// drops it.
fn packets(count: u32) -> Vec<Vec<u8>> {
    let packet = |n: u32| {
        let kind = n.wrapping_mul(0x9e37_79b9) >> 26 & if n / 40 % 2 == 1 { 0x38 } else { 0x3f };
        let whole = [&[kind as u8, (n % 3) as u8][..], &[0; 8], &n.to_be_bytes()].concat();
        if n % 17 == 5 { whole[..4].to_vec() } else { whole }
    };
    (0..count).map(packet).collect()
}

/// What a switch kept, in words.
fn kept(switch: &mut Switch) -> Vec<String> {
    let asked = "register_read common\nregister_read seen\nregister_read sent\ncounter_read arrived 1\ncounter_read left 2\n";
    let told: Vec<String> = asked.lines().flat_map(|line| stf::configure(switch, line).unwrap_or_default()).collect();
    told.into_iter().chain(switch.digests().iter().map(|digest| format!("{digest:?}"))).collect()
}

/// What left for each packet, and what was kept: one after the other, and in bursts of so many.
fn both_ways(pipeline: &p4::Pipeline, engine: &engines::EngineInfo, burst: usize) -> [(Vec<Vec<Sent>>, Vec<String>); 2] {
    let all = packets(200);
    let arrived = |(n, bytes): (usize, &'_ Vec<u8>)| (n as u32 % 4, bytes.clone(), 1_000 * n as u64);
    let all: Vec<(u32, Vec<u8>, u64)> = all.iter().enumerate().map(arrived).collect();
    let packets: Vec<Arrived<'_>> = all.iter().map(|(port, bytes, time_ns)| Arrived { port: *port, bytes, time_ns: *time_ns }).collect();
    let (mut one, mut many) = (started(pipeline.clone(), engine), started(pipeline.clone(), engine));
    let by_one = packets.iter().map(|packet| one.receive(packet.port, packet.bytes, packet.time_ns)).collect();
    let mut left = Departures::default();
    let mut at_once = Vec::new();
    for packets in packets.chunks(burst) {
        many.receive_all(packets, &mut left);
        let first = at_once.len();
        at_once.resize_with(first + packets.len(), Vec::new);
        left.iter().for_each(|sent| at_once[first + sent.of].push(Sent { port: sent.port, bytes: sent.bytes.to_vec() }));
        assert_eq!(left.packets(), at_once[first..].iter().filter(|sent| !sent.is_empty()).count());
    }
    [(by_one, kept(&mut one)), (at_once, kept(&mut many))]
}

#[test]
fn packets_at_once_are_packets_one_after_the_other() {
    let (mut at_once, mut all_at_once, mut straight) = (0, 0, 0);
    for chosen in 0..1 << PARTS.len() {
        let parts: Vec<&str> = PARTS.iter().enumerate().filter(|(n, _)| chosen >> n & 1 == 1).map(|(_, part)| *part).collect();
        let pipeline = pipeline(&parts);
        at_once += usize::from(pipeline.order.ingress_at_once());
        all_at_once += usize::from(pipeline.order.egress_at_once());
        straight += usize::from(pipeline.order.straight_at_once());
        // Machine code for some of them.
        let engines =
            engines::ALL.iter().filter(|engine| engine.name == "interp" || engine.quick && chosen % 16 == 15 || COMPILED.contains(&chosen));
        for engine in engines {
            let [one, many] = both_ways(&pipeline, engine, if chosen % 2 == 0 { 16 } else { 7 });
            assert_eq!(one, many, "{parts:?}, {}", engine.name);
        }
    }
    // Neither BETWEEN nor RANDOM; with ROUNDS no state; with clones of egress no state there.
    assert_eq!([at_once, all_at_once], [2 * (4 * 4 + 4), 2 * (4 * 4 + 4 - 4)]);
    // Without RANDOM all that nothing waits for, and all in which what waits finds nothing changed.
    assert_eq!(straight, 27);
}

/// Each packet finds what the one before left in the other half.
#[test]
fn what_both_halves_look_at_goes_packet_by_packet() {
    let [one, _] = both_ways(&pipeline(&["BETWEEN", "GROUPS"]), &engines::ALL[0], 64);
    let numbers = one.0.iter().flatten().filter(|sent| sent.bytes.len() > 10).map(|sent| [&sent.bytes[2..6], &sent.bytes[6..10]]);
    assert!(numbers.clone().count() > 100 && numbers.into_iter().all(|[first, second]| first == second));
}

#[test]
fn the_order_is_kept_where_programs_would_see_another_one() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/p4");
    for (program, at_once) in
        [("psa_paths.p4", true), ("psa_objects.p4", false), ("state.p4", true), ("cross.p4", true), ("forward.p4", true)]
    {
        let order = p4::load(&folder.join(program), &[], &[]).unwrap().order;
        assert_eq!(order.ingress_at_once(), at_once, "{program}: {order:?}");
    }
}
