//! Traffic for the figures, in which packets belong to conversations; the same each time.

use crate::failure::{Failure, Outcome};
use netvm::io::Timestamp;
use netvm::io::synth::{dhcp::Hosts, messages::Messages, services::Services};
use std::path::{Path, PathBuf};

/// A plain generator (Knuth's constants).
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit.max(1)
    }
}

/// Packets with their times in nanoseconds.
pub(super) type Packets = Vec<(u64, Vec<u8>)>;

/// Headers of Ethernet, IPv4, and TCP or UDP, and so many bytes behind them.
pub(super) fn ip(src: [u8; 4], dst: [u8; 4], ports: [u16; 2], protocol: u8, payload: &[u8]) -> Vec<u8> {
    let header: usize = if protocol == 6 { 20 } else { 8 };
    let length = (20 + header + payload.len()) as u16;
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, src[1], src[2], src[3], 8, 0];
    let mut ip = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, protocol, 0, 0];
    ip[2..4].copy_from_slice(&length.to_be_bytes());
    ip.extend(src.into_iter().chain(dst));
    let sum = ip.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum::<u32>();
    let folded = (sum & 0xffff) + (sum >> 16);
    ip[10..12].copy_from_slice(&(!((folded & 0xffff) as u16 + (folded >> 16) as u16)).to_be_bytes());
    frame.extend(ip);
    frame.extend(ports.iter().flat_map(|port| port.to_be_bytes()));
    match protocol {
        6 => frame.extend([0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x10, 16, 0, 0, 0, 0, 0]),
        _ => frame.extend([0, 0, 0, 0]),
    }
    if protocol == 17 {
        let at = frame.len() - 4;
        frame[at..at + 2].copy_from_slice(&(8 + payload.len() as u16).to_be_bytes());
    }
    frame.extend(payload);
    if frame.len() < 60 {
        frame.resize(60, 0);
    }
    frame
}

/// Connections of web clients behind a NAT: trains of packets of the same connection, and new
/// connections all the time.
pub(super) fn web(count: usize) -> Packets {
    let mut random = Random::new(7);
    let (mut flows, mut all): (Vec<(u64, u64)>, Packets) = (Vec::new(), Vec::new());
    while all.len() < count {
        // Two in three trains are of one of the last connections.
        let known = !flows.is_empty() && random.below(3) > 0;
        let at = if known { flows.len() - 1 - random.below(flows.len().min(64) as u64) as usize } else { flows.len() };
        if !known {
            flows.push((flows.len() as u64, 0));
        }
        for _ in 0..=random.below(4) {
            let (number, sent) = flows[at];
            flows[at].1 += 1;
            let src = [10, 0, (number >> 8) as u8, number as u8 | 2];
            let dst = [198, 51, 100, (number % 200) as u8 + 1];
            let payload = if sent == 0 { request(number) } else { vec![b'a' + (sent % 26) as u8; 20 + random.below(400) as usize] };
            all.push((all.len() as u64 * 10_000, ip(src, dst, [1024 + (number % 60_000) as u16, 80], 6, &payload)));
        }
    }
    all.truncate(count);
    all
}

/// Three of four connections are of the web.
fn request(number: u64) -> Vec<u8> {
    match number % 4 {
        0 => vec![0x16; 200],
        _ => format!("GET /page{number} HTTP/1.1\r\nHost: example.net\r\n\r\n").into_bytes(),
    }
}

/// Messages of up to 128 bytes in 256 flows, in up to four pieces, one of ten with what is looked
/// for.
pub(super) fn messages(count: usize) -> Packets {
    let mut random = Random::new(9);
    let mut all: Packets = Vec::new();
    while all.len() < count {
        let flow = random.below(256);
        let attack = random.below(10) == 0;
        for piece in 0..=random.below(4) {
            let length = 16 + random.below(112) as usize;
            let mut payload = vec![b'.'; length];
            if attack && piece == 0 {
                payload[..7].copy_from_slice(b"attack1");
            }
            let src = [10, 1, 0, flow as u8];
            all.push((0, ip(src, [10, 2, 0, (flow / 2) as u8], [5000, 53], 17, &payload)));
        }
    }
    all.truncate(count);
    // Pieces of messages nearby are shuffled, as the paper does it, in a window of 16.
    for at in 0..all.len() {
        let other = (at + random.below(16) as usize).min(all.len() - 1);
        all.swap(at, other);
    }
    all.iter_mut().enumerate().for_each(|(n, packet)| packet.0 = n as u64 * 10_000);
    all
}

/// Requests for leases by 48 clients, of which a few leave and others come.
pub(super) fn leases(count: usize) -> Packets {
    let mut random = Random::new(11);
    let one = |n: usize| {
        let client = random.below(48) + if random.below(1000) == 0 { 100 + random.below(64) } else { 0 };
        let mut frame = ip([0, 0, 0, 0], [255, 255, 255, 255], [68, 67], 17, &[1, 1, 6, 0]);
        frame[6..12].copy_from_slice(&[2, 0, 0, 0, 1, client as u8]);
        (n as u64 * 20_000_000, frame)
    };
    (0..count).map(one).collect()
}

/// What `netvm synth` makes of 64 TCP connections of application protocols at a time.
pub(super) fn services(count: usize) -> Packets {
    made(Services::new(1, 64), count)
}

/// Of messages of 256 flows in shuffled fragments.
pub(super) fn fragments(count: usize) -> Packets {
    made(Messages::new(1, 256), count)
}

/// Of 48 hosts that ask for addresses.
pub(super) fn hosts(count: usize) -> Packets {
    made(Hosts::new(1, 48), count)
}

fn made(packets: impl Iterator<Item = (Timestamp, Vec<u8>)>, count: usize) -> Packets {
    packets.take(count).map(|(time, packet)| (u64::try_from(time.as_nanos()).unwrap_or(0), packet)).collect()
}

/// A capture in a folder of its own, which goes with it.
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn new() -> Outcome<Self> {
        let folder = std::env::temp_dir().join(format!("netvm-machines-{}", std::process::id()));
        std::fs::create_dir_all(&folder).map_err(|error| Failure::failed(format_args!("cannot make {}: {error}", folder.display())))?;
        Ok(Self(folder))
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(super) fn text(&self, name: &str, text: &str) -> Outcome<PathBuf> {
        let path = self.0.join(name);
        write(&path, text.as_bytes())?;
        Ok(path)
    }

    pub(super) fn capture(&self, name: &str, packets: &Packets) -> Outcome<PathBuf> {
        let path = self.0.join(name);
        let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>();
        // A capture of nanoseconds.
        let mut file = words(&[0xa1b2_3c4d, 0x0004_0002, 0, 0, 1 << 18, 1]);
        for (time, packet) in packets {
            let len = packet.len() as u32;
            file.extend(words(&[(time / 1_000_000_000) as u32, (time % 1_000_000_000) as u32, len, len]));
            file.extend(packet);
        }
        write(&path, &file)?;
        Ok(path)
    }
}

fn write(path: &Path, bytes: &[u8]) -> Outcome {
    std::fs::write(path, bytes).map_err(|error| Failure::failed(format_args!("{}: {error}", path.display())))
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
