//! Lines held against tcpdump's, on real captures: what netvm prints must be how tcpdump's text of the packet begins. What follows there is
//! the payload, which netvm does not decode.

use super::tools::{netvm, real_captures};
use netvm::io::{LinkType, synth};
use netvm_cli::print::{Dump, Packet, Printer, Style, Zone};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Beginnings of what netvm says less or more about than tcpdump 4.99.3, all listed in `print`'s header or short forms of it.
const SHORT: [&str; 8] = ["EIGRP, ", "VRRP, ", "PAP, ", "Loopback, ", "erspan ", "Realtek protocols", "OSI (0xfe)", " OSI "];

fn captures(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.extension().and_then(|e| e.to_str()) {
            _ if path.is_dir() => found.extend(captures(&path)),
            Some("pcap" | "pcapng") => found.push(path),
            _ => {}
        }
    }
    found.sort();
    found
}

/// Link types that netvm shows otherwise (interfaces have numbers) or not at all.
fn is_different(path: &Path) -> bool {
    let name = path.to_string_lossy();
    name.contains("sll2") || name.contains("nflog")
}

/// The packets of an output: a time begins a packet, other lines continue it.
fn packets(text: &str) -> Vec<String> {
    let mut packets: Vec<String> = Vec::new();
    for line in text.split('\n') {
        let begins = line.len() > 15 && line.as_bytes()[2] == b':' && line.as_bytes()[8] == b'.' && line.as_bytes()[0].is_ascii_digit();
        match packets.last_mut() {
            Some(last) if !begins => {
                last.push('\n');
                last.push_str(line);
            }
            _ => packets.push(line.to_owned()),
        }
    }
    packets
}

fn output(mut command: Command) -> String {
    String::from_utf8_lossy(&command.env("TZ", "UTC").output().expect("it starts").stdout).into_owned()
}

fn agrees(theirs: &str, ours: &str) -> bool {
    let ours = ours.trim_end();
    // Of UDP tcpdump decodes the payload instead of giving the length.
    let udp = ["UDP, length ", "UDP, bad length "].iter().find_map(|mark| ours.find(mark)).map(|at| &ours[..at]);
    theirs.starts_with(ours) || udp.is_some_and(|head| theirs.starts_with(head)) || SHORT.iter().any(|short| ours.contains(short))
}

fn tcpdump_is_there() -> bool {
    Command::new("tcpdump").arg("--version").output().is_ok_and(|o| {
        String::from_utf8_lossy(&o.stdout).contains("tcpdump version 4.99")
            || String::from_utf8_lossy(&o.stderr).contains("tcpdump version 4.99")
    })
}

#[test]
fn lines_are_those_of_tcpdump() {
    let (Some(dir), true) = (real_captures(), tcpdump_is_there()) else {
        println!("skipped: needs tcpdump 4.99 and the captures of NETVM_PCAPS");
        return;
    };
    let mut compared = 0;
    for path in captures(&dir).into_iter().filter(|p| !is_different(p)) {
        let name = path.to_string_lossy().into_owned();
        for flags in ["-nn", "-nnevv", "-nnq"] {
            let mut tcpdump = Command::new("tcpdump");
            tcpdump.args([flags, "-r", &name]);
            let (theirs, ours) = (packets(&output(tcpdump)), packets(&output(netvm(["filter", flags, "-r", &name]))));
            assert_eq!(theirs.len(), ours.len(), "{name} {flags}");
            for (t, n) in theirs.iter().zip(&ours) {
                assert!(agrees(t, n), "{name} {flags}\ntcpdump: {t}\nnetvm:   {n}");
            }
            compared += ours.len();
        }
    }
    assert!(compared > 1000, "only {compared} packets compared");
}

const LINKS: [LinkType; 9] = [
    LinkType::EN10MB,
    LinkType::NULL,
    LinkType::LOOP,
    LinkType::RAW,
    LinkType::LINUX_SLL,
    LinkType::LINUX_SLL2,
    LinkType::PPP,
    LinkType::PPP_SERIAL,
    LinkType::IPV6,
];

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
        let packet = Packet { bytes: &bytes, wire_len: (bytes.len() + next(50)) as u32, link: LINKS[next(LINKS.len())], time, number: 1 };
        for printer in &mut printers {
            assert!(printer.print(&packet).ends_with('\n'));
        }
    }
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
