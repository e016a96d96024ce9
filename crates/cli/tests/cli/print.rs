//! Lines held against tcpdump's, on real captures: how many packets have the same text.
//! `make compare-print` tells which differ.

#[path = "../../../../xtask/src/lines.rs"]
mod lines;

use super::tools::{Dir, netvm, real_captures};
use netvm::io::{LinkType, synth};
use netvm_cli::print::{Dump, Packet, Printer, Style, Zone};
use std::path::Path;
use std::process::Command;

/// The share of packets whose text is tcpdump's, of a hundred.
const LEAST: [(&[&str], usize); 5] = [(&["-n"], 99), (&["-nn", "-q"], 99), (&["-nn", "-e"], 98), (&["-n", "-v"], 99), (&["-n", "-vv"], 99)];

pub(super) fn tcpdump_is_there() -> bool {
    Command::new("tcpdump").arg("--version").output().is_ok_and(|o| {
        String::from_utf8_lossy(&o.stdout).contains("tcpdump version 4.99")
            || String::from_utf8_lossy(&o.stderr).contains("tcpdump version 4.99")
    })
}

#[test]
fn lines_are_those_of_tcpdump() {
    let Some(dir) = real_captures() else { return println!("skipped: no captures (set NETVM_PCAPS)") };
    if !tcpdump_is_there() {
        return super::needs::missing("tcpdump 4.99");
    }
    for (flags, least) in LEAST {
        let shares = lines::compare(Path::new(env!("CARGO_BIN_EXE_netvm")), &dir, flags).expect("tcpdump and netvm run");
        let (same, all) = lines::total(&shares);
        assert!(all > 1000, "only {all} packets compared");
        assert!(same * 100 >= all * least, "{flags:?}: less than {least} %\n{}", lines::report(&shares));
    }
}

/// Numbers of link types in capture files.
const LINKS: [u32; 14] = [1, 0, 108, 101, 113, 276, 9, 50, 229, 105, 119, 127, 163, 192];

fn printers() -> Vec<Printer> {
    let style = |verbose, link, dump| Style { verbose, link, dump, ..Style::default() };
    let styles = [style(0, false, Dump::None), style(2, true, Dump::Both { link: false }), style(1, false, Dump::Text { link: true })];
    styles.into_iter().map(|style| Printer::new(style, Zone::utc())).collect()
}

#[test]
fn packets_cut_anywhere_are_printed() {
    let mut printers = printers();
    for (number, (time, packet)) in (1..).zip(synth::mixed_trace(5, 150)) {
        for cut in 1..packet.len().min(130) {
            for printer in &mut printers {
                let wire_len = packet.len() as u32;
                let text = printer.print(&Packet { bytes: &packet[..cut], wire_len, link: LinkType::EN10MB, time, number });
                assert!(text.ends_with('\n') && text.len() > 16, "{text}");
            }
        }
    }
}

#[test]
fn rubbish_is_printed() {
    let mut printers = printers();
    let mut random: u64 = 1;
    let mut next = move |below: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % below
    };
    for (time, packet) in synth::mixed_trace(9, 4000) {
        let mut bytes = packet[..next(packet.len()) + 1].to_vec();
        for _ in 0..next(6) {
            let at = next(bytes.len().min(90));
            bytes[at] = [0, 1, 2, 0x45, 0x60, 0x7f, 0x80, 0xff][next(8)] ^ next(2) as u8;
        }
        let packet = Packet {
            bytes: &bytes,
            wire_len: (bytes.len() + next(50)) as u32,
            link: LinkType::from_file(LINKS[next(LINKS.len())]),
            time,
            number: 1,
        };
        for printer in &mut printers {
            assert!(printer.print(&packet).ends_with('\n'));
        }
    }
}

/// Ports that announce something; 0 stands for a protocol number of its own.
#[rustfmt::skip]
const PORTS: [u16; 33] = [
    69, 520, 6379, 319, 6633, 6696, 49_152, 21, 22, 25, 43, 53, 67, 80, 123, 179, 500, 514, 546, 554, 1812, 1985, 3784, 4500, 4784, 4789, 5060, 5353, 6081, 6784, 8080, 8472, 0,
];
const PROTOCOLS: [u8; 9] = [6, 17, 17, 33, 88, 112, 132, 47, 50];

/// An IPv4 packet of that protocol and destination port.
fn ip_packet(protocol: u8, port: u16, payload: &[u8]) -> Vec<u8> {
    let mut transport = [0x12, 0x34, (port >> 8) as u8, port as u8].to_vec();
    match protocol {
        6 => transport.extend([0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x18, 1, 0, 0, 0, 0, 0]),
        17 => transport.extend([((payload.len() + 8) >> 8) as u8, (payload.len() + 8) as u8, 0, 0]),
        _ => transport.clear(),
    }
    transport.extend(payload);
    let total = ((transport.len() + 20) as u16).to_be_bytes();
    let mut packet = vec![0x45, 0, total[0], total[1], 0, 0, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    packet.extend(transport);
    packet
}

#[test]
fn rubbish_behind_every_port_is_printed_without_control_characters() {
    let mut printers: Vec<Printer> =
        (0..4).map(|verbose| Printer::new(Style { verbose, link: verbose == 3, ..Style::default() }, Zone::utc())).collect();
    let mut random: u64 = 7;
    let mut next = move |below: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % below
    };
    for _ in 0..20_000 {
        // Small numbers are counts and lengths, and lead deep into what reads them.
        let payload: Vec<u8> = (0..next(120)).map(|_| [0, 1, 2, 4, 8, 0x1b, 0x45, 0xc0, 0xff, next(256) as u8][next(10)]).collect();
        let bytes = ip_packet(PROTOCOLS[next(PROTOCOLS.len())], PORTS[next(PORTS.len())], &payload);
        let captured = bytes.len() - next(2) * next(payload.len() + 1);
        let (wire_len, time) = (bytes.len() as u32, netvm::io::Timestamp::default());
        for printer in &mut printers {
            let text = printer.print(&Packet { bytes: &bytes[..captured], wire_len, link: LinkType::RAW, time, number: 1 });
            assert!(text.bytes().all(|b| matches!(b, b'\n' | b'\t' | b' '..=b'~')), "{text:?}");
        }
    }
}

#[test]
fn names_that_lead_round_in_circles_take_no_time() {
    // A message full of pointers, each to the one before; every question begins at the last.
    let mut message = vec![0, 1, 1, 0, 0xff, 0xff, 0, 0, 0, 0, 0, 0];
    while message.len() < 16_000 {
        message.extend([0xc0 | ((message.len() - 2) >> 8) as u8, (message.len() - 2) as u8]);
    }
    message.extend([0xfe, 0x7e].repeat(22_000));
    let bytes = ip_packet(17, 53, &message);
    let mut printer = Printer::new(Style { verbose: 3, ..Style::default() }, Zone::utc());
    let start = std::time::Instant::now();
    let (wire_len, time) = (bytes.len() as u32, netvm::io::Timestamp::default());
    printer.print(&Packet { bytes: &bytes, wire_len, link: LinkType::RAW, time, number: 1 });
    assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
    // A pointer to itself.
    let bytes = ip_packet(17, 53, &[0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0xc0, 12, 0, 1, 0, 1]);
    let text = printer.print(&Packet { bytes: &bytes, wire_len: bytes.len() as u32, link: LinkType::RAW, time, number: 1 });
    assert!(text.ends_with("A? <BAD PTR> [|domain]\n"), "{text}");
}

#[test]
fn packets_within_packets_end_somewhere() {
    // IPv4 in IPv4, as often as fits.
    let layers = 3000;
    let header = |left: usize| {
        let total = ((left * 20) as u16).to_be_bytes();
        [0x45, 0, total[0], total[1], 0, 0, 0, 0, 64, 4, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]
    };
    let bytes: Vec<u8> = (0..layers).rev().flat_map(|left| header(left + 1)).collect();
    let mut printer = Printer::new(Style::default(), Zone::utc());
    let time = netvm::io::Timestamp::default();
    let text = printer.print(&Packet { bytes: &bytes, wire_len: bytes.len() as u32, link: LinkType::RAW, time, number: 1 }).to_owned();
    assert!(text.ends_with("[nested too deep]\n") && text.len() < 1000, "{text}");
}

/// The text of one packet, without the time before it.
fn line(link: LinkType, bytes: &[u8]) -> String {
    let mut printer = Printer::new(Style::default(), Zone::utc());
    let (wire_len, time) = (bytes.len() as u32, netvm::io::Timestamp::default());
    let text = printer.print(&Packet { bytes, wire_len, link, time, number: 1 });
    text.trim_end().get(16..).unwrap_or_default().to_owned()
}

/// The texts are what tcpdump 4.99.3 prints of these packets.
#[test]
fn protocols_that_real_captures_lack_have_the_lines_of_tcpdump() {
    let raw = |protocol, port, payload: &[u8]| line(LinkType::RAW, &ip_packet(protocol, port, payload));
    let babel = [42, 2, 0, 15, 4, 1, 0, 8, 10, 0, 0xc0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(raw(17, 6696, &babel), "IP 10.0.0.1.4660 > 10.0.0.2.6696: babel 2 (15) hello update/prefix/id | pad1");
    let mut sync = vec![0, 2, 0, 44, 7, 0, 2, 0];
    sync.extend([0; 36]);
    sync[33] = 1;
    sync[39] = 9;
    let text = "PTPv2, v1 compat : no, msg type : sync msg, length : 44, domain : 7, reserved1 : 0, Flags [two step], NS correction : 0, sub NS \
                correction : 0, reserved2 : 0, clock identity : 0x0, port id : 0, seq id : 0, control : 0 (Sync), log message interval : 1, \
                originTimeStamp : 9 seconds, 0 nanoseconds";
    assert_eq!(raw(17, 319, &sync), format!("IP 10.0.0.1.4660 > 10.0.0.2.319: {text}"));
    let flow = raw(6, 6633, &[1, 0, 0, 8, 0, 0, 0, 1, 4, 18, 0, 16, 0, 0, 0, 2]);
    let messages = ": OpenFlow\n\tversion 1.0, type HELLO, length 8, xid 0x00000001\n\tversion 1.3, type MULTIPART_REQUEST, length 16, xid 0x00000002 [|openflow]";
    assert!(flow.ends_with(messages), "{flow}");
    let slarp = [0x8f, 0, 0x80, 0x35, 0, 0, 0, 2, 0, 0, 0, 5, 0, 0, 0, 2, 0xff, 0xff, 0, 15, 66, 64];
    let text = "SLARP (length: 18), keepalive: mineseen=0x00000005, yourseen=0x00000002, reliability=0xffff, link uptime=0d0h16m40s";
    assert_eq!(line(LinkType::from_file(104), &slarp), text);
    let mut hello = vec![0xff; 12];
    hello.extend([0, 23, 0xfe, 0xfe, 3, 0x83, 20, 1, 0, 17, 1, 0, 0, 3, 0x11, 0x11, 0x22, 0x22, 0x33, 0x33, 0, 10, 0, 20, 1]);
    assert_eq!(line(LinkType::EN10MB, &hello), "IS-IS, p2p IIH, src-id 1111.2222.3333, length 20");
}

/// Payloads of protocols, each with the IP protocol and the port that it stands behind.
fn payloads() -> Vec<(u8, u16, Vec<u8>)> {
    let dccp = |kind: u8, rest: &[u8]| [&[0x12, 0x34, 0x13, 0x89, 8, 0, 0, 0, kind << 1 | 1, 0, 0, 0, 0, 0, 7, 9][..], rest].concat();
    let options = [32, 5, 5, 1, 2, 37, 3, 9, 41, 6, 0, 0, 1, 0, 38, 4, 0xe9, 1, 0, 0];
    let route = [0, 2, 0, 7, 10, 7, 61, 0, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0, 1];
    let word = [&[255, 255, 0, 2][..], b"abcdefghijklmnop"].concat();
    let digest = [255, 255, 0, 3, 0, 44, 1, 20, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0];
    vec![
        (33, 0, dccp(0, &[&[0, 0, 0, 42][..], &options].concat())),
        (33, 0, dccp(1, &[&[0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 42][..], &options].concat())),
        (33, 0, dccp(3, &[&[0, 0, 0, 0, 0, 0, 1, 2][..], &options].concat())),
        (33, 0, dccp(7, &[0, 0, 0, 0, 0, 0, 1, 2, 3, 0, 0, 0])),
        (17, 520, [&[2, 1, 0, 0][..], &[0, 2, 0, 0, 10, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3]].concat()),
        (17, 520, [&[2, 2, 0, 0][..], &word, &route, &route].concat()),
        (17, 520, [&[1, 2, 0, 0][..], &digest, &route].concat()),
        (17, 69, b"\0\x01boot/x.bin\0octet\0blksize\x001428\0".to_vec()),
        (17, 69, b"\0\x05\0\x01no such file\0".to_vec()),
        (17, 69, b"\0\x03\0\x07data".to_vec()),
        (6, 6379, b"*2\r\n$4\r\nINCR\r\n$1\r\nz\r\n".to_vec()),
        (6, 6379, b"+OK\r\n:12\r\n$-1\r\n-ERR no\r\nPING\r\n".to_vec()),
    ]
}

/// Frames of discovery protocols.
fn discoveries() -> Vec<Vec<u8>> {
    let lldp = [
        &[1, 0x80, 0xc2, 0, 0, 14, 2, 0, 0, 0, 0, 1, 0x88, 0xcc, 2, 7, 4, 2, 0, 0, 0, 0, 1, 4, 3, 5, 0x70, 0x31, 6, 2, 0, 120, 10, 4][..],
        b"sw-1",
        &[0, 0],
    ];
    let fields = [0, 1, 0, 6, 0x53, 0x31, 0, 4, 0, 8, 0, 0, 0, 0x28, 0, 11, 0, 5, 1, 0, 10, 0, 6, 0, 5, 0, 0x1a, 0, 6, 9, 9];
    let address = [0, 2, 0, 17, 0, 0, 0, 1, 1, 1, 0xcc, 0, 4, 10, 0, 0, 1];
    let cdp = [
        &[1, 0, 12, 0xcc, 0xcc, 0xcc, 2, 0, 0, 0, 0, 1, 0, 60, 0xaa, 0xaa, 3, 0, 0, 12, 0x20, 0, 2, 180, 0x12, 0x34][..],
        &fields,
        &address,
    ];
    vec![lldp.concat(), cdp.concat()]
}

/// What is printed of packets by netvm and by tcpdump with these options, packet by packet.
fn both(dir: &Dir, link: LinkType, packets: Vec<Vec<u8>>, options: &[&str]) -> [Vec<String>; 2] {
    let times = (1..).map(|secs| netvm::io::Timestamp { secs, ..netvm::io::Timestamp::default() });
    let capture = dir.capture("made-up.pcap", link, &times.zip(packets).collect::<Vec<_>>());
    let text = |mut command: Command| String::from_utf8_lossy(&command.output().expect("it runs").stdout).into_owned();
    let mut theirs = Command::new("tcpdump");
    theirs.args(["-r", &capture, "-nt", "-c", "100000"]).args(options);
    let ours = netvm(["filter", "-r", &capture, "-nt"].iter().chain(options));
    // A line that goes on begins with a tab or blanks.
    let packets = |text: String| {
        let mut packets: Vec<String> = Vec::new();
        for line in text.lines() {
            match packets.last_mut().filter(|_| line.starts_with(['\t', ' '])) {
                Some(last) => *last += &format!("\n{line}"),
                None => packets.push(line.to_owned()),
            }
        }
        packets
    };
    [packets(text(ours)), packets(text(theirs))]
}

#[test]
fn made_up_packets_have_the_lines_of_tcpdump() {
    if !tcpdump_is_there() {
        return super::needs::missing("tcpdump 4.99");
    }
    let dir = Dir::new("made-up");
    for options in [&["-q"][..], &[], &["-v"], &["-vv"]] {
        for (protocol, port, payload) in payloads() {
            let packets = vec![ip_packet(protocol, port, &payload)];
            let [ours, theirs] = both(&dir, LinkType::RAW, packets, options);
            let other = ours.iter().zip(&theirs).find(|(ours, theirs)| ours != theirs);
            assert!(other.is_none() && ours.len() == theirs.len(), "{options:?}, {protocol} {port}: {other:#?}");
        }
    }
    for frame in discoveries() {
        let [ours, theirs] = both(&dir, LinkType::EN10MB, vec![frame], &[]);
        let other = ours.iter().zip(&theirs).find(|(ours, theirs)| ours != theirs);
        assert!(other.is_none() && ours.len() == theirs.len(), "{other:#?}");
    }
}
