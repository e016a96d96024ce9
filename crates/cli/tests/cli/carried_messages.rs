//! Messages that only `-T`, `-v` or an IP protocol number shows: LMP, PGM, RPC, the whiteboard,
//! M3UA. Made-up ones, whole and cut at every length, beside tcpdump.

use super::carried::{bytes, ip, udp};
use super::print::tcpdump_is_there;
use super::tools::{Dir, run};
use netvm::io::{LinkType, Timestamp};
use std::process::Command;

/// Our lines for the packets, held against tcpdump's, if that is there.
fn same(dir: &Dir, options: &str, packets: Vec<Vec<u8>>) -> String {
    let packets: Vec<_> = packets.into_iter().map(|packet| (Timestamp { secs: 1, ..Timestamp::default() }, packet)).collect();
    let capture = dir.capture("all.pcap", LinkType::RAW, &packets);
    let text = run(&format!("filter -t {options} -r {capture}")).good();
    if tcpdump_is_there() {
        let output = Command::new("tcpdump").args(["-n", "-t"]).args(options.split_whitespace()).args(["-r", &capture]).output();
        let wanted = String::from_utf8_lossy(&output.expect("it runs").stdout).into_owned();
        let differs = text.lines().zip(wanted.lines()).find(|(ours, theirs)| ours != theirs);
        assert_eq!(differs, None, "{options}");
        assert_eq!(text.lines().count(), wanted.lines().count(), "{options}");
    }
    text
}

/// A payload, and all that it begins with.
fn cut(payload: &[u8]) -> impl Iterator<Item = &[u8]> {
    (0..=payload.len()).rev().map(|length| &payload[..length])
}

fn datagrams<'p>(payloads: impl IntoIterator<Item = &'p str>) -> Vec<Vec<u8>> {
    payloads.into_iter().flat_map(|payload| cut(&bytes(payload)).map(|part| udp(4000, part)).collect::<Vec<_>>()).collect()
}

/// A message of PGM: its type, and what is behind the header.
fn pgm(kind: u8, options: bool, rest: &str) -> String {
    format!("1388 0fa0 {kind:02x}{:02x} 0000 010203040506 000a {rest}", u8::from(options))
}

fn pgm_messages() -> Vec<String> {
    let v6 = "20010db8000000000000000000000009";
    vec![
        pgm(0, false, "00000001 00000002 00000003 0001 0000 c0000201"),
        pgm(0, false, &format!("00000001 00000002 00000003 0002 0000 {v6}")),
        pgm(0, false, "00000001 00000002 00000003 0009 0000 c0000201"),
        pgm(1, false, "00000001 0002 0000 0001 0000 c0000201 00000005 00000006 00000007"),
        pgm(1, false, &format!("00000001 0002 0000 0002 0000 {v6} 00000005 00000006 00000007")),
        pgm(2, false, "00000001 0002 0000"),
        pgm(4, false, "00000001 00000002 0000 05016162 6364"),
        pgm(5, false, "00000001 00000002 0003 616263 05016162"),
        pgm(4, false, "00000001 00000002 ffff 6162636465666768"),
        pgm(4, false, "00000001 00000002 00f0 6162636465666768"),
        pgm(8, false, "00000001 0001 0000 c0000205 0001 0000 e0000001"),
        pgm(9, false, "00000001 0001 0000 c0000205 0001 0000 00010203"),
        pgm(10, false, &format!("00000001 0002 0000 {v6} 0001 0000 00010203")),
        pgm(11, false, "00000001 00000002"),
        pgm(12, false, ""),
        pgm(7, false, "01"),
        pgm(12, true, "0004 0008 0d040000"),
        pgm(7, true, "0004 0008 0d040000"),
    ]
}

/// Options behind an acknowledgement, each with those lengths that are right and some that are not.
fn pgm_options() -> Vec<String> {
    let with = |options: &str| {
        let length = 4 + bytes(options).len();
        pgm(11, true, &format!("00000001 00000002 0004 {length:04x} {options}"))
    };
    let numbers = "00000001 00000002 00000003";
    let mut all: Vec<String> = [
        (0x00, 4),
        (0x01, 16),
        (0x03, 8),
        (0x04, 12),
        (0x05, 12),
        (0x08, 8),
        (0x09, 8),
        (0x0a, 8),
        (0x0b, 4),
        (0x0d, 4),
        (0x0e, 4),
        (0x0f, 4),
        (0x11, 4),
    ]
    .iter()
    .flat_map(|(kind, length)| {
        let value = &bytes(numbers)[..length - 4];
        let digits: String = value.iter().map(|byte| format!("{byte:02x}")).collect();
        [
            with(&format!("{kind:02x}{length:02x} 0000 {digits} 8d04 0000")),
            with(&format!("{:02x}{length:02x} 0000 {digits} 0d04 0000", kind | 0x80)),
            with(&format!("{kind:02x}{:02x} 0000 {digits} 00000000", length + 4)),
        ]
    })
    .collect();
    let others = [
        "0210 0000 00000001 00000002 00000003 0d04 0000 0d04 0000",
        "0206 0000 0001 0d04 0000",
        "070c 0000 0001 0000 c0000201 0d04 0000",
        "0718 0000 0002 0000 20010db8000000000000000000000009",
        "0718 0000 0001 0000 20010db8000000000000000000000009",
        "0708 0000 0009 0000",
        "0706 0000 0001",
        "0c08 0000 c0000201 0000 0d04 0000",
        "1006 0000 c000 0000 0d04 0000",
        "1210 0000 00000005 0001 0000 c0000201 0d04 0000",
        "121c 0000 00000005 0002 0000 20010db8000000000000000000000009",
        "1310 0000 00000005 0001 0000 c0000201 0d04 0000",
        "1308 0000 00000005",
        "1208 0000 00000005",
        "1f06 0000 0102 0000 0d04 0000",
        "0d03 00",
        "0d02 0000",
        "0d40 0000",
    ];
    all.extend(others.iter().map(|options| with(options)));
    for first in ["0104 0008 0d040000", "0005 0008 0d040000", "0004 0003 0d040000", "0004 0006 0d04", "0004 0004"] {
        all.push(pgm(11, true, &format!("00000001 00000002 {first}")));
    }
    all
}

#[test]
fn pragmatic_general_multicast_is_as_in_tcpdump() {
    let dir = Dir::new("pgm");
    let payloads: Vec<String> = [pgm_messages(), pgm_options()].concat();
    let over_udp = || datagrams(payloads.iter().map(String::as_str));
    for options in ["-T pgm", "-T pgm -v", "-T pgm_zmtp1 -v", "-T pgm_zmtp1 -vv"] {
        same(&dir, options, over_udp());
    }
    let over_ip = || payloads.iter().flat_map(|text| cut(&bytes(text)).map(|part| ip(113, 4, part)).collect::<Vec<_>>()).collect();
    for options in ["", "-v", "-T pgm_zmtp1 -v"] {
        same(&dir, options, over_ip());
    }
    let text = same(&dir, "-v", vec![ip(113, 4, &bytes(&payloads[0]))]);
    let line = "192.0.2.1.5000 > 192.0.2.2.4000: PGM, length 10 0x010203040506 SPM seq 1 trail 2 lead 3 nla 192.0.2.1 [36]\n";
    assert!(text.ends_with(line), "{text}");
}

/// A message of LMP with these objects: class, type, value.
fn lmp(objects: &[(u8, u8, &str)]) -> String {
    let mut all = String::new();
    for (class, kind, value) in objects {
        all += &format!("{kind:02x}{class:02x}{:04x}{value}", 4 + bytes(value).len());
    }
    format!("1000 03 01 {:04x} 0000 {all}", 8 + bytes(&all).len())
}

fn lmp_messages() -> Vec<String> {
    let v6 = "20010db8000000000000000000000009";
    let switching = "010c 9601 49742400 4cbebc20";
    vec![
        lmp(&[(1, 0x81, "0000000a"), (1, 2, "0000000b"), (2, 1, "c0000201"), (2, 2, "c0000202"), (1, 3, "00"), (2, 1, "0000000000000000")]),
        lmp(&[
            (3, 1, "c0000201"),
            (3, 3, v6),
            (4, 5, "00000009"),
            (4, 7, "00000009"),
            (3, 3, "00000000"),
            (5, 1, "00000001"),
            (5, 2, "00000001"),
        ]),
        lmp(&[
            (6, 1, "00960190"),
            (7, 1, "0000000100000002"),
            (6, 2, "00000000"),
            (8, 1, "0003 000a 00000002 05 00 1fff 4cbebc20 00000007"),
        ]),
        lmp(&[(9, 1, "00010002"), (10, 1, "00000005"), (11, 1, "03000000 c0000201 c0000202"), (11, 2, &format!("01000000 {v6} {v6}"))]),
        lmp(&[(11, 3, "00000000 00000001 00000002"), (12, 1, &format!("05000000 c0000201 c0000202 {switching}"))]),
        lmp(&[(12, 2, &format!("02000000 {v6} {v6} 0208 0000 00000005")), (12, 3, "00000000 00000001 00000002 0304 0000")]),
        lmp(&[(12, 3, "00000000 00000001 00000002 0102 0000"), (12, 3, "00000000 00000001 00000002 0106 0000"), (12, 1, "00000000")]),
        lmp(&[
            (12, 3, "00000000 00000001 00000002 0210 0000"),
            (13, 1, "c0000201 80000001 c0000202 40000002"),
            (13, 3, "00000001 00000009"),
        ]),
        lmp(&[(13, 2, &format!("{v6} c0000003")), (14, 1, "c0000201 c0000202"), (14, 2, v6), (14, 3, "00000007"), (14, 4, "00000007")]),
        lmp(&[(20, 1, "0000001f"), (20, 2, "00000031"), (20, 1, "00000000"), (51, 1, "03010000"), (51, 3, "00000003 00000001")]),
        lmp(&[
            (51, 2, "05 06 07 01 0001 0002 0003 0004 c0000201"),
            (51, 2, "06 07 00 00 0001 0002 0003 0004 c0000201"),
            (51, 4, "00000007"),
        ]),
        lmp(&[(51, 2, "09 07 00 00 0001 0002 0003 0004 c0000201"), (99, 1, "0102030405060708"), (51, 5, "00000000")]),
        "2000 00 01 0008 0000".to_owned(),
        "1000 00 63 0004 0000".to_owned(),
        "1000 00 63 0040 0000 0101 0008 00000001".to_owned(),
        "1000 00 04 0010 0000 0101 0003 00000001".to_owned(),
        "1000 00 04 0010 0000 0101 0006 00000001".to_owned(),
        "1000 00 04 000c 0000 0101 0008 00000001".to_owned(),
    ]
}

#[test]
fn link_management_is_as_in_tcpdump() {
    let dir = Dir::new("lmp");
    let messages = lmp_messages();
    for options in ["-T lmp", "-T lmp -v", "-T lmp -vv"] {
        same(&dir, options, datagrams(messages.iter().map(String::as_str)));
    }
    let text = same(&dir, "", vec![udp(701, &bytes(&messages[0]))]);
    assert!(text.ends_with("192.0.2.2.701: LMPv1 Config Message, length: 57\n"), "{text}");
}

#[test]
fn remote_procedure_calls_are_as_in_tcpdump() {
    let dir = Dir::new("rpc");
    let call =
        |procedure: u32, version: u32| format!("0000abcd 00000000 {version:08x} 000186a0 00000002 {procedure:08x} 00000000 00000000");
    let mut all: Vec<String> = (0..8).map(|procedure| call(procedure, 2)).collect();
    all.extend([call(3, 3), "0000abcd 00000001 00000000 00000000".to_owned(), "0000abcd 00000001 00000002 00000000".to_owned()]);
    for rejected in ["00000000 00000002 00000003", "00000001 00000001", "00000001 00000009", "00000007 00000001"] {
        all.push(format!("0000abcd 00000001 00000001 {rejected}"));
    }
    let text = same(&dir, "-T rpc", datagrams(all.iter().map(String::as_str)));
    assert!(text.starts_with("IP 192.0.2.1.0xabcd > 192.0.2.2.0x6f: 32 null\n"), "{text}");
    assert!(text.contains("IP 192.0.2.1.2049 > 192.0.2.2.43981: reply ERR 24: RPC Version mismatch (2-3)\n"), "{text}");
}

#[test]
fn the_whiteboard_is_as_in_tcpdump() {
    let dir = Dir::new("wb");
    let header = |kind: u8, flags: u8| format!("c0000201 00000001 0001 {kind:02x}{flags:02x}");
    let range = "c0000203 00000005 00000001 00000003";
    let operations = "00000009 0004 00 02 aabbccdd 00000002 0000 00 0e 00000009 0000 00 21";
    let all = [
        format!(
            "{} 00000009 c0000203 00000005 00000001 c0000204 00000006 0002 0000 c0000205 00000001 c0000206 00000002 61620063",
            header(1, 0)
        ),
        format!("{} 00000009 c0000203 00000005 00000001 c0000204 00000006 0000 0000 6162", header(1, 1)),
        format!("{} c0000205 {range}", header(2, 0)),
        format!("{} c0000205 {range} {operations}", header(3, 0)),
        format!("{} {range} {operations}", header(0, 0)),
        format!("{} c0000203 00000005 00000003 00000001 00000000 0000 00 0e", header(0, 0)),
        header(4, 0),
        format!("{} c0000203 00000005 00000001 00000003", header(5, 0)),
        format!("{} 00000001 00000007 c0000203 00000005 0200 0000 c0000205 00000001 c0000206 00000002", header(7, 1)),
        format!("{} 00000000", header(7, 1)),
        format!("{} 00000000", header(9, 0)),
    ];
    for options in ["-T wb", "-T wb -v"] {
        let text = same(&dir, options, datagrams(all.iter().map(String::as_str)));
        assert!(text.contains("4000:  wb-rreq: please repair 192.0.2.5 192.0.2.3:5<1:3>"), "{text}");
    }
}

#[test]
fn messages_of_m3ua_are_as_in_tcpdump() {
    let dir = Dir::new("m3ua");
    let message = |class: u8, kind: u8, rest: &str| format!("0100{class:02x}{kind:02x}{:08x}{rest}", 8 + bytes(rest).len());
    let mut all: Vec<String> =
        [(0, 1), (1, 1), (2, 3), (3, 6), (4, 4), (9, 1), (9, 7), (5, 1)].iter().map(|(class, kind)| message(*class, *kind, "")).collect();
    all.extend([
        message(1, 1, "0200 0008 00000005 0006 0006 0001 0000 0210 000b 01020304050607 00"),
        message(1, 1, "0200 0005 00 000000 0004 0002 0000"),
        message(1, 1, "0004 0008 01020304 00"),
        message(1, 1, "7777 0008 01020304"),
        "0100 0101 00000020".to_owned(),
        "0200 0101 00000008".to_owned(),
    ]);
    let packet = |payload: &[u8]| {
        let header = bytes("0b59 0b59 00000001 00000000");
        let length = (16 + payload.len()) as u16;
        let chunk = [&[0, 3][..], &length.to_be_bytes(), &bytes("00000007 0001 0002 00000003"), payload].concat();
        ip(132, 64, &[header, chunk, vec![0; (4 - payload.len() % 4) % 4]].concat())
    };
    for options in ["", "-v", "-vv"] {
        same(&dir, options, all.iter().map(|text| packet(&bytes(text))).collect());
    }
    let text = same(&dir, "-vv", vec![packet(&bytes(&all[8]))]);
    assert!(text.contains("\n\t\tTransfer Data Message\n\t\t\tNetwork Appearance: 0x02000008\n"), "{text}");
}
