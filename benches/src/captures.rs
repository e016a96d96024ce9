//! The packets that applications are measured with, as files: captures (classic, little-endian, a packet a microsecond), routes and rules as text.
//! A trace that arrives at several ports is a capture for each.

use crate::traffic::{self, LENGTH, PORTS, Packet};
use std::fs;
use std::path::Path;

/// Routes of a router, flows of a translator, stations of a switch, rules of a filter: small, of a usual size, large.
pub const ROUTES: [usize; 3] = [1_000, 64_000, 900_000];
/// See [`ROUTES`].
pub const FLOWS: [usize; 3] = [1_000, 56_000, 1_000_000];
/// See [`ROUTES`].
pub const STATIONS: [usize; 3] = [8, 4_096, 1_000_000];
/// See [`ROUTES`].
pub const RULES: [usize; 3] = [19, 1_000, 10_000];

/// Writes all of it into a folder.
///
/// # Errors
/// A file that cannot be written.
pub fn write_all(folder: &Path) -> Result<(), String> {
    let put = |name: String, bytes: &[u8]| {
        let path = folder.join(name);
        fs::write(&path, bytes).map_err(|error| format!("{}: {error}", path.display()))
    };
    for n in ROUTES {
        let routes = traffic::routes(n);
        put(format!("routes{n}.txt"), traffic::routes_text(&routes, 0).as_bytes())?;
        put(format!("routed{n}.pcap"), &capture(&traffic::routed(&routes, false), None))?;
    }
    for n in FLOWS {
        put(format!("translated{n}.pcap"), &capture(&traffic::translated(n), None))?;
    }
    for n in STATIONS {
        let packets = traffic::switched(n);
        for port in 0..PORTS {
            put(format!("switched{n}-{port}.pcap"), &capture(&packets, Some(port)))?;
        }
    }
    for n in RULES {
        let rules = traffic::rules(n);
        put(format!("rules{n}.txt"), traffic::rules_text(&rules).as_bytes())?;
        put(format!("filtered{n}.pcap"), &capture(&traffic::filtered(&rules), None))?;
    }
    Ok(())
}

/// Packets, all or those that arrive at one port.
fn capture(packets: &[Packet], port: Option<u32>) -> Vec<u8> {
    let header = [0xa1b2_c3d4u32, 0x0004_0002, 0, 0, 65_535, 1];
    let mut bytes: Vec<u8> = header.into_iter().flat_map(u32::to_le_bytes).collect();
    for (at, packet) in packets.iter().enumerate().filter(|(_, packet)| port.is_none_or(|port| port == packet.port)) {
        let record = [at as u32 / 1_000_000, at as u32 % 1_000_000, LENGTH as u32, LENGTH as u32];
        bytes.extend(record.into_iter().flat_map(u32::to_le_bytes));
        bytes.extend_from_slice(&packet.bytes);
    }
    bytes
}

/// Packets as a capture with nanoseconds, one at every multiple of the interval from the first on.
pub fn with_interval(packets: &[&Packet], interval: u64) -> Vec<u8> {
    let header = [0xa1b2_3c4du32, 0x0004_0002, 0, 0, 65_535, 1];
    let mut bytes: Vec<u8> = header.into_iter().flat_map(u32::to_le_bytes).collect();
    for (packet, time) in packets.iter().zip((1..).map(|n: u64| n * interval)) {
        let record = [(time / 1_000_000_000) as u32, (time % 1_000_000_000) as u32, LENGTH as u32, LENGTH as u32];
        bytes.extend(record.into_iter().flat_map(u32::to_le_bytes));
        bytes.extend_from_slice(&packet.bytes);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_have_captures_of_their_own_and_times_keep_the_order() {
        let packets = traffic::switched(8);
        let parts: Vec<_> = (0..PORTS).map(|port| capture(&packets, Some(port))).collect();
        let records: usize = parts.iter().map(|part| (part.len() - 24) / (16 + LENGTH)).sum();
        assert_eq!(records, packets.len());
        let second = &packets[1];
        let found = parts[second.port as usize][24..].chunks(16 + LENGTH).find(|record| record[4..8] == 1u32.to_le_bytes());
        assert_eq!(found.unwrap()[16..], second.bytes);
        assert_eq!(capture(&packets, None).len(), 24 + packets.len() * (16 + LENGTH));
    }
}
