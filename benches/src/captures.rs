//! The packets that applications are measured with, as files: captures (classic, little-endian, a
//! packet a microsecond), routes and rules as text. A trace that arrives at several ports is a
//! capture for each.

use crate::traffic::{self, LENGTH, PORTS, Packet, connections, six};
use std::fs;
use std::path::Path;

/// Routes of a router, flows of a translator, stations of a switch, rules of a filter: small, of a
/// usual size, large.
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
    for n in ROUTES {
        let routes = traffic::routes(n);
        put(folder, &format!("routes{n}.txt"), traffic::routes_text(&routes, PORTS, 0).as_bytes())?;
        put(folder, &format!("routed{n}.pcap"), &capture(&traffic::routed(&routes, None), None))?;
    }
    write_routers(folder, ROUTES[1])?;
    for n in FLOWS {
        put(folder, &format!("translated{n}.pcap"), &capture(&traffic::translated(n), None))?;
    }
    for n in &FLOWS[..2] {
        put_ports(folder, &format!("connected{n}"), &connections::connected(*n), 2)?;
    }
    for n in STATIONS {
        put_ports(folder, &format!("switched{n}"), &traffic::switched(n), PORTS)?;
    }
    for n in RULES {
        let rules = traffic::rules(n);
        put(folder, &format!("rules{n}.txt"), traffic::rules_text(&rules).as_bytes())?;
        put(folder, &format!("filtered{n}.pcap"), &capture(&traffic::filtered(&rules), None))?;
    }
    Ok(())
}

/// What whole routers are measured with: packets at all ports, which are output 1 and so on; next
/// hops' answers come first.
fn write_routers(folder: &Path, n: usize) -> Result<(), String> {
    let routes = traffic::routes(n);
    for ports in [PORTS, 16] {
        let packets = [traffic::answers(ports), traffic::routed(&routes, Some(ports))].concat();
        put(folder, &format!("routes{n}-of-{ports}.txt"), traffic::routes_text(&routes, ports, 1).as_bytes())?;
        put_ports(folder, &format!("routed{n}-of-{ports}"), &packets, ports)?;
    }
    let routes = six::routes(n);
    put(folder, &format!("routes{n}-6.txt"), six::routes_text(&routes, PORTS, 1).as_bytes())?;
    put_ports(folder, &format!("routed{n}-6"), &six::routed(&routes, PORTS), PORTS)
}

fn put(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), String> {
    let path = folder.join(name);
    fs::write(&path, bytes).map_err(|error| format!("{}: {error}", path.display()))
}

/// A capture for each port.
fn put_ports(folder: &Path, name: &str, packets: &[Packet], ports: u32) -> Result<(), String> {
    (0..ports).try_for_each(|port| put(folder, &format!("{name}-{port}.pcap"), &capture(packets, Some(port))))
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
