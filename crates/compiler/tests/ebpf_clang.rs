//! Our eBPF against clang's for the same function: instructions of filters, counted.
//!
//! clang gets each filter in C as people write XDP (ebpf_clang/hand.c). What is counted is
//! instructions that are executed for a packet, on the same packets, and those of the program; both
//! give the interpreter's verdicts. `cargo test -p netvm-compiler --test ebpf_clang -- --nocapture`
//! prints the table of docs/targets.md. Executed are they by a small machine here, which has what
//! filters need: no calls, no maps, no stack.

#[path = "ebpf_clang/machine.rs"]
mod machine;
#[path = "../../../tests/needs.rs"]
mod needs;

use frontends::pcap_filter::{self, LinkType};
use netil::exec::{Packets, Selection, State};
use netil::{Interpreter, Verified, verify};
use netvm_compiler::backends::ebpf;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

const FILTERS: &[&str] = &[
    "ip",
    "ip src 10.1.1.1",
    "ip and tcp",
    "tcp port 80",
    "udp",
    "host 10.1.2.3 and not port 22",
    "tcp[13] & 7 != 0",
    "icmp or icmp6",
    "src net 10.0.0.0/8 and dst port 53",
    "ip6 host fe80::1",
    "arp or rarp",
    "len > 100 and udp",
    "tcp port 80 or tcp port 443 or udp port 53",
    "vlan and ip",
    "ip[8] < 5",
    "portrange 6000-6010",
];

/// Filters whose programs are longer than by hand, because what follows the IPv4 and the IPv6
/// header is two pieces of code: fewer instructions are executed so.
const LONGER: [&str; 3] = ["tcp port 80", "tcp port 80 or tcp port 443 or udp port 53", "portrange 6000-6010"];

/// Instructions of the filter that clang makes of hand.c; none where there is no clang.
fn clang(number: usize) -> Option<Vec<[u8; 8]>> {
    let object = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("hand-{number}-{}.o", std::process::id()));
    let text = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ebpf_clang/hand.c");
    let mut command = Command::new("clang");
    command.args([
        "-target",
        "bpf",
        "-mcpu=v3",
        "-O2",
        "-Wall",
        "-Wno-unused-function",
        "-Werror",
        "-c",
        &format!("-DFILTER={number}"),
        "-o",
    ]);
    let out = command.arg(&object).arg(text).output().ok()?;
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let insts = machine::section(&std::fs::read(&object).unwrap(), "xdp");
    std::fs::remove_file(object).unwrap();
    Some(insts)
}

/// Packets that filters take and that they do not take, at each of their tests, one of five cut
/// anywhere.
fn traffic() -> Vec<Vec<u8>> {
    let mut state = 5u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let mut all: Vec<Vec<u8>> = (0..2000).map(|_| packet(&mut random)).collect();
    all.iter_mut().step_by(5).for_each(|packet| packet.truncate(1 + random(80)));
    all
}

fn packet(random: &mut impl FnMut(usize) -> usize) -> Vec<u8> {
    let addresses = [[10, 1, 1, 1], [10, 1, 2, 3], [10, 9, 9, 9], [192, 168, 1, 1]];
    let mut port = || [22_u16, 53, 80, 443, 6000, 6005, 6011, 1234][random(8)].to_be_bytes();
    let mut rest = [port(), port()].concat();
    rest.extend([[0; 9].as_slice(), &[[2, 16, 24][random(3)]], &vec![0; 20 + random(80)]].concat());
    let (options, fragment, protocol) = (4 * (random(4) / 3), [0, 0, 0, 7][random(4)], [1, 6, 6, 6, 17, 17, 132, 2][random(8)]);
    let mut ip = vec![0x45 + options as u8 / 4, 0, 0, 94, 0, 1, 0, fragment, [3, 64][random(2)], protocol, 0, 0];
    ip.extend([&addresses[random(4)][..], &addresses[random(4)], &vec![0; options], &rest].concat());
    let mut ip6 = vec![0x60, 0, 0, 0, 0, 94, [6, 17, 44, 58, 132][random(5)], 64];
    for _ in 0..2 {
        ip6.extend([[0xfe, 0x80].as_slice(), &[0; 13], &[random(2) as u8]].concat());
    }
    // What is behind a fragment's header begins with the next protocol.
    rest[0] = if ip6[6] == 44 { [17, 58, 6][random(3)] } else { rest[0] };
    ip6.extend(rest);
    let arp = [[0, 1, 8, 0, 6, 4, 0, 1].as_slice(), &[2; 6], &addresses[random(4)], &[2; 6], &addresses[random(4)], &[0; 18]].concat();
    let ethernet =
        |kinds: &[u16], rest: &[u8]| [&[2; 12][..], &kinds.iter().flat_map(|kind| kind.to_be_bytes()).collect::<Vec<_>>(), rest].concat();
    match random(20) {
        0..13 => ethernet(&[0x0800], &ip),
        13..17 => ethernet(&[0x86dd], &ip6),
        17 => ethernet(&[0x0806], &arp),
        18 => ethernet(&[0x8035], &arp),
        _ => ethernet(&[0x8100, 5, 0x0800], &ip),
    }
}

fn interpreted(program: &Arc<Verified>, packets: &[Vec<u8>]) -> Vec<bool> {
    let frames: Vec<&[u8]> = packets.iter().map(Vec::as_slice).collect();
    let wire_len: Vec<u32> = frames.iter().map(|frame| frame.len() as u32).collect();
    let (mut state, mut out) = (State::plain(program).unwrap(), Selection::default());
    let burst = Packets { frames: &frames, wire_len: &wire_len, time_ns: &vec![0; frames.len()] };
    Interpreter::new(Arc::clone(program)).select(&burst, &mut state, &mut out);
    (0..packets.len()).map(|n| out.get(n)).collect()
}

/// Instructions for a packet on average; verdicts must be those.
fn executed(what: &str, insts: &[[u8; 8]], packets: &[Vec<u8>], wanted: &[bool]) -> f64 {
    let mut sum = 0;
    for (packet, wanted) in packets.iter().zip(wanted) {
        let (verdict, count) = machine::run(insts, packet);
        assert_eq!(verdict == 2, *wanted, "{what}: {packet:02x?}");
        sum += count;
    }
    sum as f64 / packets.len() as f64
}

#[test]
fn filters_are_as_short_as_clangs() {
    let (packets, mut sums) = (traffic(), [0.0; 4]);
    for (number, filter) in FILTERS.iter().enumerate() {
        let module = pcap_filter::compile(filter, LinkType::ETHERNET, &pcap_filter::Options::default()).unwrap();
        let program = Arc::new(verify(module).unwrap());
        let Some(theirs) = clang(number) else {
            needs::missing("clang");
            return;
        };
        let ours = ebpf::compile(&program, &ebpf::Options::default()).unwrap().insts;
        let wanted = interpreted(&program, &packets);
        assert!(wanted.contains(&true) && wanted.contains(&false), "{filter} takes all packets or none");
        let [own, best] =
            [("ours", &ours), ("by hand", &theirs)].map(|(who, insts)| executed(&format!("{filter}, {who}"), insts, &packets, &wanted));
        told(filter, [own, best, ours.len() as f64, theirs.len() as f64], &mut sums);
        assert!(own <= 1.1 * best, "`{filter}`: {own:.1} instructions for a packet, by hand {best:.1}");
        let (size, other) = (ours.len(), theirs.len());
        assert!(size * 10 <= other * 11 || LONGER.contains(filter), "`{filter}`: {size} instructions, by hand {other}");
    }
    let [own, best, size, other] = sums;
    told("all", sums, &mut [0.0; 4]);
    assert!(own <= best && size <= 1.15 * other, "{sums:?}");
}

fn told(filter: &str, counts: [f64; 4], sums: &mut [f64; 4]) {
    let [own, best, size, other] = counts;
    println!("| `{filter}` | {own:.1} | {best:.1} | {:.2} | {size} | {other} | {:.2} |", own / best, size / other);
    sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
}
