//! libpcap's verdicts on made-up packets, recorded, so that they are held against ours also where
//! libpcap is not installed.
//!
//! tests/data/verdicts.txt has a line for each filter: for each link type a hash of libpcap's
//! verdicts (without its optimiser), or `-` if it refuses the filter. `NETVM_BLESS=1` records what
//! the installed libpcap says.

mod oracle;

use std::fmt::Write;

use netvm_frontends::pcap_filter::{Filter, LinkType, Options};
use oracle::packets::{LINKS, cut_everywhere, made};
use oracle::{Oracle, Packet, Verdict};

/// Filters whose meaning does not depend on the machine's files or on unset registers.
fn filters() -> impl Iterator<Item = &'static str> {
    let lines = include_str!("data/expressions.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let elsewhere = ["http", "ftp", "domain", "ssh", "bootps", "loopback", "link-local", "net default"];
    lines.filter(move |line| {
        let undefined = line.contains("geneve") && (line.contains(" or ") || line.contains("not"));
        !undefined && !elsewhere.iter().any(|name| line.contains(name))
    })
}

fn packets(link: u32) -> Vec<Packet> {
    let made = made(link, 200, 11);
    let mut packets = cut_everywhere(&made[..8]);
    packets.extend(made);
    packets
}

/// FNV-1a.
fn hash(verdicts: impl Iterator<Item = bool>) -> String {
    let hash = verdicts.fold(0x811c_9dc5_u32, |hash, verdict| (hash ^ u32::from(verdict)).wrapping_mul(0x0100_0193));
    format!("{hash:08x}")
}

fn table(mut column: impl FnMut(u32, &[Packet], &str) -> String) -> String {
    let mut lines: Vec<String> = filters().map(|_| String::new()).collect();
    for link in LINKS {
        let packets = packets(link);
        for (line, filter) in lines.iter_mut().zip(filters()) {
            let _ = write!(line, "{} ", column(link, &packets, filter));
        }
    }
    let named = lines.iter().zip(filters()).map(|(line, filter)| format!("{line}{filter}\n"));
    format!("# Link types {LINKS:?}.\n{}", named.collect::<String>())
}

fn ours(link: u32, packets: &[Packet], filter: &str) -> String {
    match Filter::compile(filter, LinkType(link), &Options::default()) {
        Ok(filter) => hash(packets.iter().map(|p| filter.matches(&p.bytes, p.wire_len))),
        Err(_) => "-".to_owned(),
    }
}

fn record() {
    let Some(mut oracle) = Oracle::start() else { return };
    let recorded = table(|link, packets, filter| {
        oracle.packets(packets);
        oracle.link(link, false);
        match oracle.plain(filter) {
            Ok(verdicts) => hash(verdicts.into_iter().map(|v| v == Verdict::Accept)),
            Err(_) => "-".to_owned(),
        }
    });
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/verdicts.txt");
    std::fs::write(path, recorded).expect("a writable file");
}

#[test]
fn verdicts_are_those_recorded_from_libpcap() {
    if std::env::var_os("NETVM_BLESS").is_some() {
        return record();
    }
    let ours = table(ours);
    for (ours, theirs) in ours.lines().zip(include_str!("data/verdicts.txt").lines()) {
        assert_eq!(ours, theirs, "left: ours; right: libpcap's");
    }
    assert_eq!(ours.lines().count(), include_str!("data/verdicts.txt").lines().count(), "record anew with NETVM_BLESS=1");
}
