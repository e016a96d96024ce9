//! Real captures, read and written as tcpdump does. Skipped where tcpdump or the captures are
//! absent.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use netvm_runtime::io::{Capture, Format, WriteOptions, Writer};

use crate::build::read_all;

/// All captures at hand: `NETVM_PCAPS`, or beside the project.
fn captures() -> Vec<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/pcaps");
    let root = std::env::var_os("NETVM_PCAPS").map_or(beside, PathBuf::from);
    let directories = std::fs::read_dir(root).into_iter().flatten().flatten();
    let files = directories.flat_map(|entry| std::fs::read_dir(entry.path()).into_iter().flatten().flatten());
    let mut paths: Vec<_> = files.map(|entry| entry.path()).filter(|path| path.to_string_lossy().contains(".pcap")).collect();
    paths.sort();
    if paths.is_empty() {
        println!("skipped: no captures (set NETVM_PCAPS)");
    }
    paths
}

/// What tcpdump prints; `None` if it is not installed.
fn tcpdump(arguments: &[&str], file: &Path) -> Option<Vec<u8>> {
    let output = Command::new("tcpdump").args(arguments).arg("-r").arg(file).output();
    if output.is_err() {
        super::needs::missing("tcpdump");
    }
    output.ok().map(|output| output.stdout)
}

#[test]
fn counts_are_the_same() {
    for path in captures() {
        let Some(printed) = tcpdump(&["--count"], &path) else { return };
        let expected = String::from_utf8_lossy(&printed).split(' ').next().and_then(|n| n.parse().ok());
        let (packets, error) = read_all(&mut Capture::open(&path).unwrap(), 256);
        assert!(error.is_none(), "{}: {error:?}", path.display());
        assert_eq!(Some(packets.len()), expected, "{}", path.display());
    }
}

#[test]
fn copies_are_byte_for_byte_the_same() {
    let place = std::env::temp_dir().join(format!("netvm-tcpdump-{}.pcap", std::process::id()));
    for path in captures() {
        let mut capture = Capture::open(&path).unwrap();
        let plan = WriteOptions { format: Format::Pcap, ..WriteOptions::for_output(&place, &[capture.info()]) };
        if capture.info().format == Format::Pcapng {
            continue;
        }
        let Some(expected) = tcpdump(&["-w", "-"], &path) else { return };
        let mut writer = Writer::create(&place, &plan).unwrap();
        while let Some(burst) = capture.next_burst(256).unwrap() {
            writer.write_burst(&burst).unwrap();
        }
        writer.finish().unwrap();
        assert!(std::fs::read(&place).unwrap() == expected, "{}", path.display());
        std::fs::remove_file(&place).unwrap();
    }
}

#[test]
fn times_and_bytes_are_the_same() {
    let some = [
        "zeek/irc-dcc-send.pcapng",
        "ndpi/oracle12.pcapng",
        "ndpi/rdp.pcap",
        "sv/decode-sll2",
        "zeek/nflog",
        "ndpi/sip.pcap",
        "ndpi/telnet",
    ];
    for path in captures() {
        if !some.iter().any(|name| path.to_string_lossy().contains(name)) {
            continue;
        }
        let precision = "--time-stamp-precision=nano";
        let Some(printed) = tcpdump(&["-tt", "-nn", "-xx", precision], &path) else { return };
        let expected = parse(&String::from_utf8_lossy(&printed));
        let mut capture = Capture::open(&path).unwrap();
        let mut found = Vec::new();
        while let Some(burst) = capture.next_burst(256).unwrap() {
            let times = burst.records().map(|record| format!("{}.{:09}", record.timestamp().secs, record.timestamp().nanos));
            found.extend(times.zip(burst.packets().iter().map(|data| data.to_vec())));
        }
        assert!(!found.is_empty());
        assert_eq!(found, expected, "{}", path.display());
    }
}

/// Times and bytes from `tcpdump -tt -xx`.
fn parse(text: &str) -> Vec<(String, Vec<u8>)> {
    let mut packets: Vec<(String, Vec<u8>)> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("\t0x"), packets.last_mut()) {
            (Some(dump), Some((_, data))) => {
                let digits: String = dump.split_once(':').unwrap().1.split_whitespace().collect();
                data.extend((0..digits.len() / 2).map(|i| u8::from_str_radix(&digits[2 * i..2 * i + 2], 16).unwrap()));
            }
            _ if line.starts_with(|c: char| c.is_ascii_digit()) => {
                packets.push((line.split(' ').next().unwrap().into(), Vec::new()));
            }
            _ => {}
        }
    }
    packets
}

#[test]
fn conversions_of_real_pcapng_can_be_read_by_tcpdump() {
    let place = std::env::temp_dir().join(format!("netvm-converted-{}", std::process::id()));
    for path in captures().into_iter().filter(|path| path.extension().is_some_and(|end| end == "pcapng")) {
        for name in ["x.pcap", "x.pcapng"] {
            let out = place.with_extension(name);
            crate::formats::copy(&mut Capture::open(&path).unwrap(), &out);
            let (Some(ours), Some(theirs)) = (tcpdump(&["-tt", "-nn"], &out), tcpdump(&["-tt", "-nn"], &path)) else { return };
            assert!(ours == theirs && !ours.is_empty(), "{} as {name}", path.display());
            std::fs::remove_file(&out).unwrap();
        }
    }
}
