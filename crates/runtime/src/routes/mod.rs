//! Routes from files: what `ip route` prints, CSV, and routers' dumps (MRT), plain or compressed.
//!
//! ```text
//! file ──gzip, bzip2, zstd──▶ text or records ──text, csv, mrt──▶ Route, Route, …
//! ```
//!
//! The format is told by what is in the file. Lines of text are read one at a time, records
//! likewise, so that a file of any size takes the memory of its routes; their number and the length
//! of lines and records are limited. A fault says where it is: hostile files are errors, never
//! panics.
//!
//! Output ports are numbers in CSV and in lines as elements take them (`PREFIX GATEWAY OUTPUT`). In
//! the text of `ip route` they are devices, counted in the order in which they are first named; in
//! a dump they are the numbers of its peers.
//!
//! Left out: of several ways to one prefix all but the best, see `mrt` and `text`.

mod csv;
mod mrt;
mod text;

#[cfg(test)]
mod tests;

use netil::module::Entry;
use netil::wide::from_be_bytes;
use std::fmt;
use std::io::{self, BufRead, BufReader, Read};
use std::net::IpAddr;

/// Routes of a file, at most.
const MOST: usize = 1 << 24;
/// Bytes of a line, at most.
const LINE: usize = 1 << 16;
/// What is read at a time.
const BUFFER: usize = 1 << 18;

/// The output of packets that go nowhere.
pub const NOWHERE: u32 = u32::MAX;

/// Where packets to some addresses go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The first of the addresses.
    pub address: IpAddr,
    /// How many of its bits they have in common.
    pub length: u8,
    /// The next router; none if they are in reach.
    pub gateway: Option<IpAddr>,
    /// The output, or [`NOWHERE`].
    pub port: u32,
}

/// What a file has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Routes {
    /// The routes in the order of the file.
    pub all: Vec<Route>,
    /// The lines of text in which they are; empty if it is a dump.
    pub lines: Vec<u64>,
    /// The names of outputs, by their numbers; empty if they have none.
    pub ports: Vec<String>,
    /// The line of text in which each of them is first named.
    pub named: Vec<u64>,
}

/// Where a fault is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultPosition {
    /// A line of text, from 1.
    Line(u64),
    /// A byte, from 0, of what was compressed.
    Byte(u64),
}

/// Why a file cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where.
    pub place: FaultPosition,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            FaultPosition::Line(line) => write!(f, "line {line}: {}", self.what),
            FaultPosition::Byte(byte) => write!(f, "byte {byte}: {}", self.what),
        }
    }
}

impl std::error::Error for Fault {}

impl Route {
    /// A route whose address has no bits behind its prefix; none if it has not so many bits.
    fn new(address: IpAddr, length: u8, gateway: Option<IpAddr>, port: u32) -> Option<Self> {
        let address = match address {
            IpAddr::V4(address) if length <= 32 => IpAddr::from((u32::from(address) & mask(length, 32) as u32).to_be_bytes()),
            IpAddr::V6(address) if length <= 128 => IpAddr::from((u128::from(address) & mask(length, 128)).to_be_bytes()),
            _ => return None,
        };
        Some(Self { address, length, gateway, port })
    }

    /// The entry of a table of prefixes whose values are `{ gateway; u32 port; … }` in so many
    /// bytes; without a gateway it is zero. None if the value is too short, or the gateway of
    /// another kind than the address. Numbers in values are little-endian.
    pub fn entry(&self, value_bytes: usize) -> Option<Entry> {
        let mut value = vec![0; value_bytes];
        let gateway: Vec<u8> = self.gateway.map(octets).unwrap_or_default().into_iter().rev().collect();
        let address = octets(self.address);
        let fits = gateway.is_empty() || gateway.len() == address.len();
        value.get_mut(..gateway.len())?.copy_from_slice(&gateway);
        value.get_mut(address.len()..address.len() + 4)?.copy_from_slice(&self.port.to_le_bytes());
        let bits = 8 * address.len() as u8;
        let mask = mask(self.length, bits).to_be_bytes();
        let entry = Entry {
            key: from_be_bytes(&address).into(),
            mask: from_be_bytes(&mask[16 - address.len()..]).into(),
            priority: 0,
            value: value.into(),
        };
        fits.then_some(entry)
    }
}

/// So many ones, then zeros, of `bits` bits.
fn mask(length: u8, bits: u8) -> u128 {
    let all = u128::MAX >> (128 - u32::from(bits));
    all & all.checked_shl(u32::from(bits - length.min(bits))).unwrap_or(0)
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

/// Reads all routes of a file.
///
/// # Errors
/// The first fault.
pub fn read(input: impl Read) -> Result<Routes, Fault> {
    let mut raw = BufReader::with_capacity(BUFFER, input);
    let magic = raw.fill_buf().map_err(|error| broken(FaultPosition::Byte(0), &error))?;
    match magic {
        [0x1f, 0x8b, ..] => plain(flate2::bufread::MultiGzDecoder::new(raw)),
        [b'B', b'Z', b'h', ..] => plain(bzip2::bufread::MultiBzDecoder::new(raw)),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            plain(zstd::stream::read::Decoder::with_buffer(raw).map_err(|error| broken(FaultPosition::Byte(0), &error))?)
        }
        _ => plain(raw),
    }
}

/// Reads what is not compressed.
fn plain(input: impl Read) -> Result<Routes, Fault> {
    let mut input = BufReader::with_capacity(BUFFER, input);
    let start = input.fill_buf().map_err(|error| broken(FaultPosition::Byte(0), &error))?;
    // Text has no zeros; the type of a record begins with one.
    if start.iter().take(12).any(|byte| *byte == 0) { mrt::read(input) } else { lines(input) }
}

/// Reads lines of text: with commas it is CSV.
fn lines(input: impl BufRead) -> Result<Routes, Fault> {
    let mut reader = Reader { routes: Routes::default(), csv: None, text: text::Lines::default() };
    let mut input = input.take(0);
    let (mut line, mut number) = (Vec::new(), 0);
    loop {
        number += 1;
        line.clear();
        input.set_limit(LINE as u64 + 1);
        let count = input.read_until(b'\n', &mut line).map_err(|error| broken(FaultPosition::Line(number), &error))?;
        let fault = |what: String| Fault { place: FaultPosition::Line(number), what };
        if count == 0 {
            return Ok(reader.routes);
        }
        if count > LINE {
            return Err(fault(format!("more than {LINE} bytes")));
        }
        let text = std::str::from_utf8(&line).map_err(|_| fault("this is not text".to_owned()))?;
        reader.line(text).map_err(fault)?;
        reader.routes.named.resize(reader.routes.ports.len(), number);
        reader.routes.lines.resize(reader.routes.all.len(), number);
    }
}

struct Reader {
    routes: Routes,
    /// Whether it is CSV, once that is known.
    csv: Option<bool>,
    text: text::Lines,
}

impl Reader {
    fn line(&mut self, line: &str) -> Result<(), String> {
        let text = line.split('#').next().unwrap_or("");
        if text.trim().is_empty() {
            return Ok(());
        }
        let first = self.csv.is_none();
        let is_csv = *self.csv.get_or_insert_with(|| text.contains(','));
        let route = if is_csv { csv::route(text.trim(), first)? } else { self.text.line(text, &mut self.routes)? };
        route.map_or(Ok(()), |route| add(&mut self.routes, route))
    }
}

fn add(routes: &mut Routes, route: Route) -> Result<(), String> {
    if routes.all.len() == MOST {
        return Err(format!("more than {MOST} routes"));
    }
    routes.all.push(route);
    Ok(())
}

fn broken(place: FaultPosition, error: &io::Error) -> Fault {
    Fault { place, what: format!("cannot read on: {error}") }
}

/// `ADDRESS/LENGTH`, or an address for all of its bits.
fn prefix(text: &str) -> Option<(IpAddr, u8)> {
    let (address, length) = text.split_once('/').map_or((text, None), |(address, length)| (address, Some(length)));
    let address: IpAddr = address.parse().ok()?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    let length = match length {
        None => most,
        Some(digits) => digits.parse().ok().filter(|_| digits.bytes().all(|b| b.is_ascii_digit()))?,
    };
    (length <= most).then_some((address, length))
}
