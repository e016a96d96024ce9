//! Figures computed by hand, tunnels, tables that overflow held against a naive count, rubbish.

use super::*;
use crate::io::synth;
use std::collections::HashMap;

const SECOND: i64 = 1_000_000_000;

fn stats(rows: usize) -> Stats {
    Stats::new(Interval::Fitting, Limits { rows }, 7)
}

fn ethernet(from: u8, to: u8, ethertype: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, to, 2, 0, 0, 0, 0, from];
    frame.extend(ethertype.to_be_bytes());
    frame.extend(payload);
    frame
}

fn ipv4(from: u8, to: u8, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let total = (20 + payload.len() as u16).to_be_bytes();
    let mut packet = vec![0x45, 0, total[0], total[1], 0, 0, 0, 0, 64, protocol, 0, 0, 10, 0, 0, from, 10, 0, 0, to];
    packet.extend(payload);
    packet
}

fn udp(from: u16, to: u16, payload: &[u8]) -> Vec<u8> {
    let words = [from, to, 8 + payload.len() as u16, 0];
    words.iter().flat_map(|word| word.to_be_bytes()).chain(payload.iter().copied()).collect()
}

fn count(stats: &mut Stats, frame: &[u8], nanos: i64) {
    stats.packet(LinkType::EN10MB, false, frame, frame.len() as u32, nanos);
}

fn tree(report: &Report) -> String {
    report.protocols.iter().map(|n| format!("{}{} {} {}\n", " ".repeat(n.depth), n.name, n.amount.packets, n.amount.bytes)).collect()
}

#[test]
fn a_question_and_its_answer() {
    let mut stats = stats(100);
    let question = ethernet(2, 1, 0x0800, &ipv4(9, 1, 17, &udp(40_000, 53, &[0; 20])));
    let answer = ethernet(1, 2, 0x0800, &ipv4(1, 9, 17, &udp(53, 40_000, &[0; 50])));
    count(&mut stats, &question, SECOND);
    count(&mut stats, &answer, 3 * SECOND);
    count(&mut stats, &ethernet(2, 255, 0x0806, &[0; 28]), 4 * SECOND);
    let report = stats.report();
    // 14 + 20 + 8 of headers; ARP has 42 bytes.
    assert_eq!(tree(&report), "eth 3 196\n ip 2 154\n  udp 2 154\n   dns 2 154\n arp 1 42\n");
    let names: Vec<_> = report.layers.iter().map(|layer| layer.kind.name()).collect();
    assert_eq!(names, ["Ethernet", "IPv4", "UDP"]);
    let [talk] = &report.layers[2].conversations[..] else { panic!("one conversation") };
    assert_eq!((talk.sides.0.to_string(), talk.sides.1.to_string()), ("10.0.0.9:40000".into(), "10.0.0.1:53".into()));
    assert_eq!((talk.there, talk.back), (Amount { packets: 1, bytes: 62 }, Amount { packets: 1, bytes: 92 }));
    assert_eq!((talk.span, report.span), ((SECOND, 3 * SECOND), Some((SECOND, 4 * SECOND))));
    let station = |side: Side| report.layers[0].endpoints.iter().find(|e| e.side == side).map(|e| (e.sent, e.received));
    let expected = (Amount { packets: 2, bytes: 104 }, Amount { packets: 1, bytes: 92 });
    assert_eq!(station(Side::Ethernet([2, 0, 0, 0, 0, 2])), Some(expected));
    assert_eq!(report.ports, [Port { kind: LayerKind::Udp, port: 53, amount: Amount { packets: 2, bytes: 154 } }]);
    let sizes: Vec<u64> = report.sizes.iter().map(|size| size.amount.packets).collect();
    assert_eq!(sizes, [0, 0, 2, 1, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn tunnels_have_flows_within() {
    let inner = ethernet(7, 8, 0x0800, &ipv4(70, 80, 17, &udp(1000, 2000, b"x")));
    let vxlan = [&[8, 0, 0, 0, 0, 0, 1, 0][..], &inner].concat();
    let mut stats = stats(100);
    count(&mut stats, &ethernet(1, 2, 0x0800, &ipv4(1, 2, 17, &udp(5000, 4789, &vxlan))), 0);
    count(&mut stats, &ethernet(1, 2, 0x0800, &ipv4(1, 2, 47, &[&[0, 0, 8, 0][..], &ipv4(3, 4, 1, &[8, 0])].concat())), 0);
    let report = stats.report();
    assert!(tree(&report).contains("vxlan 1 93\n    eth 1 93\n     ip 1 93\n      udp 1 93\n       data 1 93\n"), "{}", tree(&report));
    assert!(tree(&report).contains("gre 1 60\n   ip 1 60\n    icmp 1 60\n"), "{}", tree(&report));
    let pairs = |at: usize| report.layers[at].conversations.iter().map(|c| format!("{}-{}", c.sides.0, c.sides.1)).collect::<Vec<_>>();
    assert_eq!(pairs(1), ["10.0.0.1-10.0.0.2", "10.0.0.70-10.0.0.80", "10.0.0.3-10.0.0.4"]);
    assert_eq!(pairs(2), ["10.0.0.1:5000-10.0.0.2:4789", "10.0.0.70:1000-10.0.0.80:2000"]);
}

#[test]
fn addresses_of_both_versions_with_one_number_stay_apart() {
    let mut stats = stats(100);
    count(&mut stats, &ethernet(1, 2, 0x0800, &ipv4(1, 2, 17, &udp(1, 2, b"x"))), 0);
    let mut six = vec![0x60, 0, 0, 0, 0, 9, 17, 64];
    six.extend([&[0; 12][..], &[10, 0, 0, 1], &[0; 12], &[10, 0, 0, 2]].concat());
    count(&mut stats, &ethernet(1, 2, 0x86dd, &[six, udp(1, 2, b"x")].concat()), 0);
    let report = stats.report();
    let udp = report.layers.iter().find(|layer| layer.kind == LayerKind::Udp).unwrap();
    assert_eq!(udp.conversations.len(), 2);
    assert_eq!(udp.conversations[0].sides.0.to_string(), "[::a00:1]:1");
}

#[test]
fn tables_that_overflow_keep_the_largest_and_lose_no_packet() {
    let mut stats = stats(8);
    let mut naive: HashMap<u8, u64> = HashMap::new();
    for round in 0..2000u32 {
        // Host 200 in every second packet, the others once or twice each.
        let from = if round % 2 == 0 { 200 } else { (round / 2 % 150) as u8 };
        *naive.entry(from).or_default() += 1;
        count(&mut stats, &ethernet(1, 2, 0x0800, &ipv4(from, 250, 17, &udp(round as u16, 53, b"x"))), i64::from(round));
    }
    let report = stats.report();
    let layer = report.layers.iter().find(|layer| layer.kind == LayerKind::Ipv4).unwrap();
    assert!(layer.conversations.len() < 16 && layer.endpoints.len() < 16);
    let first = layer.conversations[0];
    assert_eq!((first.sides.0.to_string(), first.amount().packets), ("10.0.0.200".into(), naive[&200]));
    let packets: u64 = layer.conversations.iter().map(|c| c.amount().packets).sum();
    assert_eq!(packets + layer.other_conversations.packets, 2000);
    let ends: u64 = layer.endpoints.iter().map(|e| e.amount().packets).sum();
    assert_eq!(ends + layer.other_endpoints.packets, 4000);
    assert_eq!(report.ports.iter().map(|port| port.amount.packets).sum::<u64>(), 2000);
}

#[test]
fn what_is_cut_or_rubbish_is_counted() {
    let mut random: u64 = 3;
    let mut next = move |below: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % below
    };
    let mut stats = stats(16);
    for link in [0, 1, 9, 50, 101, 105, 108, 113, 127, 147, 228, 229, 276] {
        for (time, mut packet) in synth::mixed_trace(u64::from(link), 300) {
            packet.truncate(next(packet.len()) + 1);
            for _ in 0..next(8) {
                let at = next(packet.len().min(80));
                packet[at] = [0, 1, 4, 6, 17, 41, 47, 0x45, 0x60, 0x81, 0x88, 0xff][next(12)];
            }
            stats.packet(LinkType::from_file(link), next(2) == 1, &packet, packet.len() as u32, time.as_nanos());
        }
    }
    let report = stats.report();
    let top: u64 = report.protocols.iter().filter(|node| node.depth == 0).map(|node| node.amount.packets).sum();
    assert_eq!((report.total.packets, top), (13 * 300, 13 * 300));
    assert!(report.protocols.iter().all(|node| node.depth < MAX_DEPTH && !node.name.is_empty()));
}
