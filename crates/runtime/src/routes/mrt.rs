//! Routers' dumps of their tables: MRT, TABLE_DUMP_V2 (RFC 6396), with several paths to a prefix of
//! one peer too (RFC 8050).
//!
//! Of the paths to a prefix the one of the fewest AS hops is taken, of those the first. Its next
//! hop is the gateway, or the peer's address if it says none; its peer's number is the port.
//! Records of other kinds are stepped over. Only what decides is read: a full table of many peers
//! has some ten million paths.

use super::{Fault, FaultPosition, MOST, Route, Routes, broken};
use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const TABLE_DUMP_V2: u16 = 13;
const PEER_INDEX_TABLE: u16 = 1;
/// Unicast and multicast prefixes, then with path identifiers (RFC 8050).
const IPV4: [u16; 2] = [2, 8];
const IPV6: [u16; 2] = [4, 10];
/// Bytes of a record's head.
const HEAD: usize = 12;
/// Bytes of a record, at most: paths of 65,535 peers, and more than any dump has.
const RECORD: u64 = 64 << 20;

const AS_PATH: u8 = 2;
const NEXT_HOP: u8 = 3;
const MP_REACH_NLRI: u8 = 14;
/// The flag of an attribute whose length has two bytes.
const EXTENDED: u8 = 0x10;

/// Reads all records.
pub(super) fn read(mut input: impl Read) -> Result<Routes, Fault> {
    let (mut dump, mut record, mut at, mut tables) = (Dump::default(), Vec::new(), 0, false);
    loop {
        let fault = |what: &str| Fault { place: FaultPosition::Byte(at), what: what.to_owned() };
        fill(&mut input, &mut record, HEAD as u64, at)?;
        match record.len() {
            HEAD => {}
            0 if tables => return Ok(Routes { all: dump.routes, ports: dump.names, ..Routes::default() }),
            0 => return Err(fault("there are no tables in it")),
            _ => return Err(fault("the head of a record is cut short")),
        }
        let [kind, subtype] = [4, 6].map(|n| u16::from_be_bytes([record[n], record[n + 1]]));
        let length = u64::from(u32::from_be_bytes([record[8], record[9], record[10], record[11]]));
        if length > RECORD {
            return Err(fault("a record of more than 64 MiB"));
        }
        fill(&mut input, &mut record, length, at)?;
        if record.len() as u64 != length {
            return Err(fault("a record is cut short"));
        }
        if kind == TABLE_DUMP_V2 {
            tables = true;
            dump.record(subtype, &record).map_err(fault)?;
        }
        at += HEAD as u64 + length;
    }
}

/// Reads so many bytes, or fewer at the end.
fn fill(input: &mut impl Read, bytes: &mut Vec<u8>, count: u64, at: u64) -> Result<(), Fault> {
    bytes.clear();
    input.take(count).read_to_end(bytes).map(|_| ()).map_err(|error| broken(FaultPosition::Byte(at), &error))
}

#[derive(Default)]
struct Dump {
    peers: Vec<IpAddr>,
    names: Vec<String>,
    routes: Vec<Route>,
}

/// A path as far as it decides.
struct Path {
    hops: usize,
    peer: u16,
    gateway: Option<IpAddr>,
}

/// What is left of a record.
struct Bytes<'a>(&'a [u8]);

/// What is wrong with one.
type Wrong = &'static str;

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], Wrong> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or("a record has less in it than it says")?;
        self.0 = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, Wrong> {
        Ok(self.take(1)?[0])
    }

    fn half(&mut self) -> Result<u16, Wrong> {
        let bytes = self.take(2)?;
        Ok(u16::from_be_bytes([bytes[0], bytes[1]]))
    }
}

impl Dump {
    fn record(&mut self, subtype: u16, record: &[u8]) -> Result<(), Wrong> {
        let bytes = Bytes(record);
        match subtype {
            PEER_INDEX_TABLE => self.index(bytes),
            _ if IPV4.contains(&subtype) => self.rib(bytes, 4, subtype == IPV4[1]),
            _ if IPV6.contains(&subtype) => self.rib(bytes, 16, subtype == IPV6[1]),
            _ => Ok(()),
        }
    }

    /// The peers that paths name by their numbers.
    fn index(&mut self, mut bytes: Bytes<'_>) -> Result<(), Wrong> {
        bytes.take(4)?;
        let view = bytes.half()?;
        bytes.take(view.into())?;
        let count = bytes.half()?;
        (self.peers, self.names) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let kind = bytes.byte()?;
            bytes.take(4)?;
            let peer = address(bytes.take(if kind & 1 == 0 { 4 } else { 16 })?).ok_or("a peer without address")?;
            bytes.take(if kind & 2 == 0 { 2 } else { 4 })?;
            self.peers.push(peer);
            self.names.push(peer.to_string());
        }
        Ok(())
    }

    /// A prefix and the paths to it.
    fn rib(&mut self, mut bytes: Bytes<'_>, width: usize, identified: bool) -> Result<(), Wrong> {
        bytes.take(4)?;
        let length = bytes.byte()?;
        let mut prefix = [0; 16];
        let given = bytes.take(usize::from(length).div_ceil(8))?;
        prefix.get_mut(..given.len()).ok_or("a prefix of too many bits")?.copy_from_slice(given);
        let paths = bytes.half()?;
        let mut best: Option<Path> = None;
        for _ in 0..paths {
            let peer = bytes.half()?;
            bytes.take(if identified { 8 } else { 4 })?;
            let count = bytes.half()?;
            let (hops, gateway) = attributes(Bytes(bytes.take(count.into())?), width)?;
            if best.as_ref().is_none_or(|best| hops < best.hops) {
                best = Some(Path { hops, peer, gateway });
            }
        }
        let Some(best) = best else { return Ok(()) };
        let peer = *self.peers.get(usize::from(best.peer)).ok_or("a path of a peer that there is not")?;
        let gateway = best.gateway.or(Some(peer)).filter(|gateway| gateway.is_ipv4() == (width == 4));
        let address = address(&prefix[..width]).ok_or("a prefix without address")?;
        if self.routes.len() == MOST {
            return Err("too many routes");
        }
        self.routes.push(Route::new(address, length, gateway, best.peer.into()).ok_or("a prefix of too many bits")?);
        Ok(())
    }
}

/// The number of AS hops, and the next hop.
fn attributes(mut bytes: Bytes<'_>, width: usize) -> Result<(usize, Option<IpAddr>), Wrong> {
    let (mut hops, mut gateway) = (0, None);
    while !bytes.0.is_empty() {
        let flags = bytes.byte()?;
        let kind = bytes.byte()?;
        let length = if flags & EXTENDED == 0 { bytes.byte()?.into() } else { bytes.half()? };
        let value = bytes.take(length.into())?;
        match kind {
            AS_PATH => hops = path(Bytes(value))?,
            NEXT_HOP if width == 4 => gateway = address(value),
            MP_REACH_NLRI => gateway = gateway.or(next_hop(value, width)),
            _ => {}
        }
    }
    Ok((hops, gateway))
}

/// Hops of a path; a set of alternatives is one (RFC 4271, 9.1.2.2).
fn path(mut bytes: Bytes<'_>) -> Result<usize, Wrong> {
    const SET: u8 = 1;
    const SEQUENCE: u8 = 2;
    let mut hops = 0;
    while !bytes.0.is_empty() {
        let (kind, count) = (bytes.byte()?, usize::from(bytes.byte()?));
        bytes.take(4 * count)?;
        hops += match kind {
            SET => 1,
            SEQUENCE => count,
            _ => 0,
        };
    }
    Ok(hops)
}

/// The next hop of an attribute that is abbreviated as RFC 6396, 4.3.4 wants, or whole as some
/// write it.
fn next_hop(value: &[u8], width: usize) -> Option<IpAddr> {
    let value = if value.first() == Some(&0) { value.get(3..)? } else { value };
    let (length, rest) = value.split_first()?;
    (usize::from(*length) >= width).then(|| address(rest.get(..width)?)).flatten()
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    match bytes.len() {
        4 => <[u8; 4]>::try_from(bytes).ok().map(|bytes| IpAddr::V4(Ipv4Addr::from(bytes))),
        16 => <[u8; 16]>::try_from(bytes).ok().map(|bytes| IpAddr::V6(Ipv6Addr::from(bytes))),
        _ => None,
    }
}
