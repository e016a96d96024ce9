//! Packets of real captures, by link type. A minimal reader of pcap and pcapng: little- and
//! big-endian, first 64 KiB of each packet. It trusts its files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::Packet;

/// Packets of all captures at hand by link type, at most `each` of every file, evenly spread. Empty
/// where there are none.
pub fn load(each: usize) -> BTreeMap<u32, Vec<Packet>> {
    let mut all: BTreeMap<u32, Vec<Packet>> = BTreeMap::new();
    let Some(directory) = directory() else {
        eprintln!("no captures at hand (NETVM_PCAPS); only made-up packets are used");
        return all;
    };
    for file in files(&directory) {
        let bytes = std::fs::read(&file).expect("a readable capture");
        for (link, packets) in read(&bytes) {
            let step = packets.len().div_ceil(each).max(1);
            all.entry(link).or_default().extend(packets.into_iter().step_by(step));
        }
    }
    all
}

fn directory() -> Option<PathBuf> {
    let named = std::env::var_os("NETVM_PCAPS").map(PathBuf::from);
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/pcaps");
    named.or(Some(beside)).filter(|d| d.is_dir())
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).expect("a readable directory").flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|e| e == "pcap" || e == "pcapng") {
            found.push(path);
        }
    }
    found.sort();
    found
}

struct Reader<'b> {
    bytes: &'b [u8],
    big: bool,
}

impl Reader<'_> {
    fn u32(&self, at: usize) -> u32 {
        let word: [u8; 4] = self.bytes[at..at + 4].try_into().expect("four bytes");
        if self.big { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
    }

    fn u16(&self, at: usize) -> u16 {
        let half: [u8; 2] = self.bytes[at..at + 2].try_into().expect("two bytes");
        if self.big { u16::from_be_bytes(half) } else { u16::from_le_bytes(half) }
    }

    fn packet(&self, at: usize, captured: u32, wire_len: u32) -> Packet {
        Packet { wire_len, bytes: self.bytes[at..at + captured as usize].to_vec() }
    }
}

fn read(bytes: &[u8]) -> BTreeMap<u32, Vec<Packet>> {
    match bytes {
        [0x0a, 0x0d, 0x0d, 0x0a, ..] => pcapng(bytes),
        [0xa1, ..] => pcap(&Reader { bytes, big: true }),
        _ => pcap(&Reader { bytes, big: false }),
    }
}

fn pcap(reader: &Reader<'_>) -> BTreeMap<u32, Vec<Packet>> {
    let link = reader.u32(20) & 0xffff;
    let (mut at, mut packets) = (24, Vec::new());
    while at + 16 <= reader.bytes.len() {
        let (captured, wire) = (reader.u32(at + 8), reader.u32(at + 12));
        if at + 16 + captured as usize > reader.bytes.len() {
            break;
        }
        packets.push(reader.packet(at + 16, captured, wire));
        at += 16 + captured as usize;
    }
    BTreeMap::from([(link, packets)])
}

fn pcapng(bytes: &[u8]) -> BTreeMap<u32, Vec<Packet>> {
    let mut reader = Reader { bytes, big: false };
    let (mut at, mut links) = (0, Vec::new());
    let mut packets: BTreeMap<u32, Vec<Packet>> = BTreeMap::new();
    while at + 12 <= bytes.len() {
        if bytes[at..at + 4] == [0x0a, 0x0d, 0x0d, 0x0a] {
            reader.big = bytes[at + 8] == 0x1a;
            links.clear();
        }
        match reader.u32(at) {
            1 => links.push(u32::from(reader.u16(at + 8))),
            6 => {
                let link = links[reader.u32(at + 8) as usize];
                let packet = reader.packet(at + 28, reader.u32(at + 20), reader.u32(at + 24));
                packets.entry(link).or_default().push(packet);
            }
            _ => {}
        }
        at += reader.u32(at + 4).max(12) as usize;
    }
    packets
}
