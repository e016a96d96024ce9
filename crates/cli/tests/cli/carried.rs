//! What packets are said to carry (`-T`), and small things that lines show: made-up packets, beside
//! tcpdump where it knows them.

use super::print::tcpdump_is_there;
use super::tools::{Dir, run};
use netvm::io::{LinkType, Timestamp};
use std::process::Command;

pub(super) fn bytes(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16).expect("hexadecimal");
    digits.chunks(2).map(byte).collect()
}

/// A packet of IPv4 from 192.0.2.1 to 192.0.2.2, its checksum wrong.
pub(super) fn ip(protocol: u8, ttl: u8, payload: &[u8]) -> Vec<u8> {
    let len = (20 + payload.len()) as u16;
    let mut header = vec![0x45, 0];
    header.extend(len.to_be_bytes());
    header.extend([0, 1, 0, 0, ttl, protocol, 0x12, 0x34, 192, 0, 2, 1, 192, 0, 2, 2]);
    [header, payload.to_vec()].concat()
}

pub(super) fn udp(port: u16, payload: &[u8]) -> Vec<u8> {
    let len = (8 + payload.len()) as u16;
    let header = [5000u16.to_be_bytes(), port.to_be_bytes(), len.to_be_bytes(), [0xab, 0xcd]].concat();
    ip(17, 64, &[header, payload.to_vec()].concat())
}

fn tcp(port: u16, payload: &[u8]) -> Vec<u8> {
    let header = [&5000u16.to_be_bytes()[..], &port.to_be_bytes(), &[0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x18, 1, 0, 0xab, 0xcd, 0, 0]].concat();
    ip(6, 64, &[header, payload.to_vec()].concat())
}

/// A datagram over IPv6, its checksum as given.
fn udp6(sum: [u8; 2]) -> Vec<u8> {
    let mut packet = bytes("60000000 0009 11 40 20010db8000000000000000000000001 20010db8000000000000000000000002 1388 1389 0009");
    packet.extend(sum);
    packet.push(7);
    packet
}

fn frame(ethertype: u16, payload: &[u8]) -> Vec<u8> {
    [&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1][..], &ethertype.to_be_bytes(), payload].concat()
}

fn ours(dir: &Dir, options: &str, link: LinkType, packet: Vec<u8>) -> (String, String) {
    let capture = dir.capture("one.pcap", link, &[(Timestamp { secs: 1, ..Timestamp::default() }, packet)]);
    (run(&format!("filter -t {options} -r {capture}")).good(), capture)
}

/// Holds our text against tcpdump's, if that is there; the text.
fn same(dir: &Dir, options: &str, link: LinkType, packet: Vec<u8>) -> String {
    let (text, capture) = ours(dir, options, link, packet);
    if tcpdump_is_there() {
        let output = Command::new("tcpdump").args(["-n", "-t"]).args(options.split_whitespace()).args(["-r", &capture]).output();
        assert_eq!(text, String::from_utf8_lossy(&output.expect("it runs").stdout), "{options}");
    }
    text
}

#[test]
fn what_udp_is_said_to_carry_is_as_in_tcpdump() {
    let dir = Dir::new("carried");
    let report = "00000007 01000002 00000003 00000004 00050000 00068000";
    let cases = [
        ("rtp", "8010 0007 00000100 deadbeef 0011223344"),
        ("rtp", "909f 0007 00000100 deadbeef beef0001 00000000 a1b2c3d4"),
        ("rtp", "9010 0007 00000100 deadbeef beef0009 00000000"),
        ("rtp", "60c5 0007 00000100 00010000 80010000"),
        ("rtp", "8010 0007 00"),
        ("rtp", "8010 0007 00000100"),
        ("rtcp", &format!("81c8 000c 00000001 00000002 80000000 00000003 00000004 00000005 {report} 81ca 0002 00000001 01020304")),
        ("rtcp", &format!("82c9 000d 00000001 {report} {report} 81cb 0001 00000001 80cc 0000")),
        ("rtcp", "81c9 000d 00000001 00"),
        ("vat", "0041 0007 00000100 01"),
        ("vat", "8041 0007 00000100 01"),
        ("vat", "0f9f 0007 00000100 01"),
        ("vat", "00"),
        ("someip", "0001 8002 00000009 00030004 01020207 0a"),
        ("someip", "0001 0002 00000009 00030004 01028077 0a"),
        ("someip", "0001"),
        ("aodv", "f9 00 00 07 0000000a c0000205 00000001 c0000207 00000002"),
        ("aodv", "01 00 00 07 0000000a c0000205 00000001 c0000207 00000002 01 04 00000bb8"),
        ("aodv", "01 00 00 07 0000000a c0000205 00000001 c0000207 00000002 02 09 00"),
        ("aodv", "01 00 00 07 0000000a c0000205 00000001 c0000207 00000002 01 03 000000"),
        ("aodv", "02 c0 05 03 c0000205 00000001 c0000207 00001770"),
        ("aodv", "02 c0 05 03 c0000205 00000001 c0000207"),
        ("aodv", "03 80 00 02 c0000205 00000001 c0000207 00000002"),
        ("aodv", "03 00 00 02 c0000205 00000001 c00002"),
        ("aodv", "04 00"),
        ("aodv", "09 00 00"),
        ("aodv", "01 00 00 07 0000000a c0000205 00000001 c0000207 00000002 01 03 00000000"),
        ("aodv", "03 00"),
        ("cnfp", "0009 0001"),
        ("cnfp", "0005 0001 0001e240 3b9aca00"),
        ("snmp", "3026 02 01 01 04 06 7075626c6963 a1 19 02 04 6a 8f 11 0c 02 01 00 02 01 00 30 0b 30 09 06 05 2b 06 01 02 01 05 00"),
        ("tftp", "0001 612e747874 00 6f63746574 00"),
    ];
    for (kind, payload) in cases {
        for verbose in ["", "-v"] {
            same(&dir, &format!("-T {kind} {verbose}"), LinkType::RAW, udp(4000, &bytes(payload)));
        }
    }
    // What is not over UDP says nothing of it; tcpdump prints a line that ends behind `IP`.
    for kind in ["resp", "carp", "tls"] {
        assert!(ours(&dir, &format!("-T {kind}"), LinkType::RAW, udp(4000, b"+OK")).0.ends_with(".4000: UDP, length 3\n"));
    }
}

#[test]
fn what_tcp_and_ip_are_said_to_carry_is_as_in_tcpdump() {
    let dir = Dir::new("carried-tcp");
    for kind in ["resp", "radius", "rtp", "domain", "carp", "snmp"] {
        same(&dir, &format!("-T {kind}"), LinkType::RAW, tcp(4000, b"+OK\r\n"));
        same(&dir, &format!("-T {kind}"), LinkType::RAW, tcp(80, b"GET / HTTP/1.1\r\n\r\n"));
    }
    for payload in ["01ff 00 05016162 6364 ff000000000000000401616263", "0900616263", "ff00000000000001f401", "ffffffffffffffffff7f6162"] {
        for verbose in ["", "-v", "-vv"] {
            same(&dir, &format!("-T zmtp1 {verbose}"), LinkType::RAW, tcp(4000, &bytes(payload)));
        }
    }
    // tcpdump 4.99.3 takes the number of records from four bytes, and records of version 5 for 52.
    let records = format!(
        "0005 0002 0001e240 3b9aca00 0000002a 00000007 00 00 0000 {0} {0}",
        "c0000205 c0000207 c00002fe 0001 0002 00000003 000004d2 00000bb8 00001389 01bb 1388 00 12 11 08 0007 0009 18 10 0000"
    );
    let text = ours(&dir, "-T cnfp", LinkType::RAW, udp(2055, &bytes(&records))).0;
    let record =
        "\n  started 3.000, last 5.001\n    192.0.2.5/24:7:443 > 192.0.2.7/16:9:5000 >> 192.0.2.254\n    17 tos 8, 3 (1234 octets)";
    assert!(text.ends_with(&format!(": NetFlow v5, 123.456 uptime, 1000000000.000000042, #7,  2 recs{record}{record}\n")), "{text}");
    let carp = bytes("21 07 64 07 00 01 1234 0000000000000009 1111111111111111111111111111111111111111");
    for options in ["-T carp", "-T carp -v"] {
        let text = same(&dir, options, LinkType::RAW, ip(112, 255, &carp));
        assert!(text.contains("CARPv2-advertise 36: vhid=7 advbase=1 advskew=100 authlen=7 "), "{text}");
        same(&dir, options, LinkType::RAW, ip(112, 9, &carp[..20]));
        same(&dir, options, LinkType::RAW, ip(112, 255, &[0x33; 20]));
    }
}

#[test]
fn telnet_loopback_and_data_of_sctp_are_as_in_tcpdump() {
    let dir = Dir::new("small-parts");
    for payload in [
        "ff fd 18 ff fb 01 ff fc 03 ff fe 63",
        "ff fa 18 00 78 74 65 72 6d ff f0 68 69",
        "ff fa 25 01 02 0a ff f0 ff fa 26 00 05 ff f0",
        "ff ff ff f1 ff 01",
        "ff fa 18 00",
        "ff fd",
        "6869",
    ] {
        same(&dir, "", LinkType::RAW, tcp(23, &bytes(payload)));
    }
    assert!(same(&dir, "", LinkType::RAW, tcp(23, &bytes("ff fd 18 ff fb 01"))).ends_with(" [telnet DO TERMINAL TYPE, WILL ECHO]\n"));
    for payload in
        ["0000 0100 0700 aabb", "0000 0200 020000000009 aabb", "0800 0011223344556677 0100 0700", "0900 00", "0000 0300 aa", "00", "0000"]
    {
        same(&dir, "", LinkType::EN10MB, frame(0x9000, &bytes(payload)));
    }
    let chunk = |protocol: &str, data: &str| {
        bytes(&format!("1388 1389 00000001 00000000 00 03 {:04x} 00000001 0002 0003 {protocol} {data}", 16 + bytes(data).len()))
    };
    // But for ForCES, of which only the kind is shown.
    for protocol in (0..21).chain(24..30) {
        same(&dir, "", LinkType::RAW, ip(132, 64, &chunk(&format!("{protocol:08x}"), &"00".repeat(32))));
    }
    for options in ["", "-v", "-vv", "-vv -x", "-vv -A"] {
        for (protocol, data) in [("00000000", "6869206e6574776f 726b2021"), ("0000002e", ""), ("00000012", "00112233")] {
            same(&dir, options, LinkType::RAW, ip(132, 64, &chunk(protocol, data)));
        }
    }
}

#[test]
fn checksums_and_bytes_are_shown_where_tcpdump_shows_them() {
    let dir = Dir::new("checksums");
    for options in ["-v", "-vv", "-Kv", "-Kvv", "-qv", "-Kqvv", "-qvv"] {
        same(&dir, options, LinkType::RAW, tcp(4000, b"abc"));
        same(&dir, options, LinkType::RAW, udp(4000, b"abc"));
        same(&dir, options, LinkType::RAW, udp6([0x12, 0x34]));
    }
    let (without, _) = ours(&dir, "-Kvv", LinkType::RAW, udp(4000, b"abc"));
    assert!(!without.contains("cksum"), "{without}");
    assert!(ours(&dir, "-qv", LinkType::RAW, udp6([0x12, 0x34])).0.contains("[bad udp cksum 0x1234"));
    // Bytes of what has no printer, also beside text.
    for options in ["", "-A", "-AA", "-x", "-X", "-XX", "-A -x"] {
        same(&dir, options, LinkType::EN10MB, frame(0x9999, b"0123456789abcdefgh"));
    }
}

/// A record of TLS with a handshake message.
fn hello(kind: u8, body: &[u8]) -> Vec<u8> {
    let message = [&[kind, 0][..], &(body.len() as u16).to_be_bytes(), body].concat();
    [&[22, 3, 1][..], &(message.len() as u16).to_be_bytes(), &message].concat()
}

/// Extensions of a client's hello: name, protocols, versions.
const OFFER: &str = "0000 0010 000e 00 000b 6578616d706c652e6e6574 \
                     0010 000e 000c 02 6832 08 687474702f312e31 \
                     002b 0007 06 3a3a 0304 0303";

#[test]
fn hellos_of_tls_say_whom_they_are_for() {
    let dir = Dir::new("tls");
    let random = [7; 32];
    let offer = bytes(OFFER);
    let client = [&[3, 3][..], &random, &[0], &[0, 4, 0x13, 1, 0x13, 2], &[1, 0], &(offer.len() as u16).to_be_bytes(), &offer].concat();
    let text = |payload: &[u8]| {
        let (text, _) = ours(&dir, "-T tls", LinkType::RAW, tcp(8443, payload));
        text.split_once(", length ").and_then(|(_, rest)| rest.split_once(": ")).map_or(String::new(), |(_, tls)| tls.trim_end().to_owned())
    };
    let whole = hello(1, &client);
    let said = "TLS ClientHello, 2 cipher suites, versions 1.3 1.2, server name example.net, protocols h2 http/1.1";
    assert_eq!(text(&whole), said);
    // In two segments: what is there is said.
    assert_eq!(
        text(&whole[..whole.len() - 9]),
        "TLS ClientHello, 2 cipher suites, version 1.2, server name example.net, protocols h2 http/1.1 ..."
    );
    let server = [&[3, 3][..], &random, &[0], &[0x13, 1, 0], &[0, 6], &bytes("002b 0002 0304")].concat();
    let records = [hello(2, &server), vec![20, 3, 3, 0, 1, 1], vec![23, 3, 3, 0, 3, 9, 9, 9], vec![21, 3, 3, 0, 2, 2, 40]].concat();
    assert_eq!(
        text(&records),
        "TLS ServerHello, cipher suite 0x1301, version 1.3; ChangeCipherSpec; data, length 3; Alert fatal handshake_failure"
    );
    for nothing in [&b"GET / HTTP/1.1\r\n"[..], &[22, 3, 1, 0, 0], &[22, 9, 1, 0, 9], &[]] {
        assert_eq!(text(nothing), "", "{nothing:?}");
    }
    // Nothing that a hello says harms a terminal, and a damaged one ends.
    for at in 0..whole.len() {
        for value in [0, 1, 0x1b, 0xff] {
            let mut bad = whole.clone();
            bad[at] = value;
            assert!(text(&bad).bytes().all(|b| (b' '..=b'~').contains(&b)));
        }
    }
}

#[test]
fn gtp_shows_what_is_inside() {
    let dir = Dir::new("gtp");
    let text = |payload: &[u8]| {
        let (text, _) = ours(&dir, "-T gtp", LinkType::RAW, udp(2152, payload));
        text.trim_end().strip_prefix("IP 192.0.2.1.5000 > 192.0.2.2.2152: ").expect("addresses").to_owned()
    };
    let inner = udp(9, b"abc");
    let with = |flags: u8, kind: u8, options: &[u8], inner: &[u8]| {
        let len = (options.len() + inner.len()) as u16;
        [&[flags, kind][..], &len.to_be_bytes(), &[0, 0, 0, 7], options, inner].concat()
    };
    let said = "IP 192.0.2.1.5000 > 192.0.2.2.9: UDP, length 3";
    assert_eq!(text(&with(0x30, 255, &[], &inner)), format!("GTPv1 data, TEID 0x00000007: {said}"));
    assert_eq!(text(&with(0x32, 255, &[0, 5, 0, 0], &inner)), format!("GTPv1 data, TEID 0x00000007, seq 5: {said}"));
    let extended = [0, 0, 0, 0x85, 1, 0, 9, 0];
    assert_eq!(text(&with(0x34, 255, &extended, &inner)), format!("GTPv1 data, TEID 0x00000007, extension 0x85: {said}"));
    assert_eq!(text(&with(0x32, 1, &[0, 5, 0, 0], &[])), "GTPv1 Echo Request, TEID 0x00000007, seq 5, length 0");
    assert_eq!(text(&bytes("48 20 0008 00000007 000009 00")), "GTPv2 Create Session Request, TEID 0x00000007, seq 9, length 8");
    assert_eq!(
        text(&with(0x34, 255, &[0, 0, 0, 0x85, 0, 0, 0, 0], &inner)),
        "GTPv1 data, TEID 0x00000007, extension 0x85 (invalid), length 0"
    );
    assert!(text(&bytes("30 ff 00ff 00000007 45")).ends_with("bad length 255 (invalid)"));
    // A tunnel in a tunnel in a tunnel ends.
    let deep = (0..40).fold(inner, |inner, _| udp(2152, &with(0x30, 255, &[], &inner)));
    assert!(ours(&dir, "-T gtp", LinkType::RAW, deep).0.contains("[nested too deep]"));
}
