//! Lines of `netvm filter -n -r` held against those of tcpdump, over a folder of captures: the
//! share that is the same, by protocol, and what differs most often.
//!
//! Used by `make compare-print` and by the test `lines_are_those_of_tcpdump` of the command line. A
//! packet counts as the same if all of its text is.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What was found of one protocol.
#[derive(Clone, Debug, Default)]
pub struct Share {
    /// Packets whose text is the same.
    pub same: usize,
    /// All packets.
    pub all: usize,
    /// The first packet that differs: capture, tcpdump's text, netvm's.
    pub example: Option<(PathBuf, String, String)>,
}

/// Shares by protocol.
pub type Shares = BTreeMap<String, Share>;

/// Compares the lines of all captures under a folder.
pub fn compare(netvm: &Path, dir: &Path, flags: &[&str]) -> io::Result<Shares> {
    let mut shares = Shares::new();
    for path in captures(dir) {
        let theirs = packets(&output(Command::new("tcpdump").args(flags).arg("-r").arg(&path))?);
        let ours = packets(&output(Command::new(netvm).arg("filter").args(flags).arg("-r").arg(&path))?);
        for (number, text) in theirs.iter().enumerate() {
            let share = shares.entry(protocol(text)).or_default();
            let ours = ours.get(number).map_or("", String::as_str);
            share.all += 1;
            match text.trim_end() == ours.trim_end() {
                true => share.same += 1,
                false => drop(share.example.get_or_insert_with(|| (path.clone(), text.clone(), ours.to_owned()))),
            }
        }
    }
    Ok(shares)
}

/// Packets whose text is the same, and all.
pub fn total(shares: &Shares) -> (usize, usize) {
    shares.values().fold((0, 0), |(same, all), share| (same + share.same, all + share.all))
}

/// Captures under a folder, sorted.
pub fn captures(dir: &Path) -> Vec<PathBuf> {
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

fn output(command: &mut Command) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&command.env("TZ", "UTC").output()?.stdout).into_owned())
}

/// The packets of an output: a time begins a packet, other lines continue it.
pub fn packets(text: &str) -> Vec<String> {
    let mut packets: Vec<String> = Vec::new();
    for line in text.lines() {
        let bytes = line.as_bytes();
        let timed = bytes.len() > 15 && bytes[2] == b':' && bytes[8] == b'.' && bytes[0].is_ascii_digit();
        match packets.last_mut() {
            Some(last) if !timed && !line.starts_with("[Invalid header") => {
                last.push('\n');
                last.push_str(line);
            }
            _ => packets.push(line.to_owned()),
        }
    }
    packets
}

/// What a line is about: for TCP also what it carries, for UDP and others the first word behind the
/// addresses.
fn protocol(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default().get(16..).unwrap_or_default();
    if line.contains("Flags [") {
        let carried = line.rsplit_once("length ").and_then(|(_, rest)| rest.split_once(": ")).map(|(_, name)| word(name));
        return carried.map_or_else(|| "TCP".to_owned(), |name| format!("TCP {name}"));
    }
    match line.split_once(" > ").and_then(|(_, rest)| rest.split_once(": ")) {
        Some((_, rest)) if rest.starts_with(|c: char| c.is_ascii_digit()) => "DNS".to_owned(),
        Some((_, rest)) => word(rest),
        None => word(line),
    }
}

fn word(text: &str) -> String {
    let end = text.trim_start().find(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '/');
    let text = text.trim_start();
    text[..end.unwrap_or(text.len())].chars().take(16).collect()
}

/// A table of all protocols, those with the most differences first, each with an example.
pub fn report(shares: &Shares) -> String {
    let mut rows: Vec<_> = shares.iter().collect();
    rows.sort_by_key(|(_, share)| std::cmp::Reverse(share.all - share.same));
    let (same, all) = total(shares);
    let mut text = format!("{same} of {all} packets the same: {:.1} %\n", 100.0 * same as f64 / all.max(1) as f64);
    for (name, share) in &rows {
        text += &format!("{:>8} of {:>8}  {name}\n", share.same, share.all);
    }
    for (name, share) in rows.iter().take(20) {
        if let Some((path, theirs, ours)) = &share.example {
            text += &format!("\n{name}, {}\n  tcpdump: {theirs}\n  netvm:   {ours}\n", path.display());
        }
    }
    text
}
