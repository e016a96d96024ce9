//! What traffic consists of: protocols, conversations, endpoints, ports, packet sizes, rates over
//! time; collected in one pass.
//!
//! ```text
//!  packet ─▶ dissect ─┬─ path of protocols ─▶ table of paths ─────────▶ hierarchy
//!                     └─ flows (one a layer of encapsulation) ─▶ table of flows ─fold─▶ conversations, endpoints, ports
//!  time, length ──────────────────────────────▶ rates, sizes
//! ```
//!
//! A packet costs one lookup for each layer of encapsulation; what conversations, endpoints and
//! ports have is summed from the flows when the report is made, or when flows are dropped for
//! space.
//!
//! Invariants: memory is bounded whatever the packets are ([`Limits`]); totals, protocols and sizes
//! are exact. Where a table overflows, its smaller half is dropped and counted as "others", so that
//! rows which remain may count too little by at most what others have. Leaves out: reassembly.
//! Applications are told by ports and first bytes, packet by packet.

mod dissect;
mod protocol;
mod rates;
mod report;
mod table;

pub use rates::{Interval, Rates};
pub use report::{Conversation, Direction, Endpoint, Layer, LayerKind, Node, Port, Report, Side, Size};

use super::{Burst, LinkType};
use dissect::Layers;
use std::collections::HashMap;
use table::{Seeded, Table};

/// Protocols within protocols that are followed.
const MAX_DEPTH: usize = 16;
/// Different paths of protocols that are told apart.
const MAX_PATHS: usize = 4096;

/// How much is kept.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Rows that a table is cut down to when it has twice as many.
    pub rows: usize,
}

impl Default for Limits {
    /// 128 Ki rows: no table takes more than 50 MB.
    fn default() -> Self {
        Self { rows: 1 << 17 }
    }
}

/// Packets and bytes on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Packets.
    pub packets: u64,
    /// Bytes, as the packets had on the wire.
    pub bytes: u64,
}

impl Amount {
    fn add(&mut self, bytes: u64) {
        self.packets += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }

    fn merge(&mut self, other: Self) {
        self.packets += other.packets;
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

/// Collects.
pub struct Stats {
    paths: HashMap<u128, Amount, Seeded>,
    /// The path of the packet before, and what has been counted of it since it changed.
    last_path: (u128, Amount),
    flows: Table,
    folded: report::Folded,
    rates: Rates,
    total: Amount,
    captured: u64,
    span: Option<(i64, i64)>,
    sizes: [Size; report::SIZES.len()],
}

impl Stats {
    /// Nothing collected yet. The seed makes rows that collide unpredictable; it has no influence
    /// on the result.
    pub fn new(interval: Interval, limits: Limits, seed: u64) -> Self {
        let hasher = Seeded::new(seed);
        Self {
            paths: HashMap::with_hasher(hasher),
            last_path: (0, Amount::default()),
            flows: Table::new(limits.rows, hasher),
            folded: report::Folded::new(limits.rows, hasher),
            rates: Rates::new(interval),
            total: Amount::default(),
            captured: 0,
            span: None,
            sizes: report::sizes(),
        }
    }

    /// Counts the packets of a burst for which `wanted` says so by their index.
    pub fn burst(&mut self, burst: &Burst<'_>, wanted: impl Fn(usize) -> bool) {
        let (link, swapped) = (burst.link_type(), burst.is_swapped());
        for (i, packet) in burst.packets().iter().enumerate().filter(|(i, _)| wanted(*i)) {
            let record = burst.record(i);
            self.packet(link, swapped, packet, record.wire_len(), record.timestamp().as_nanos());
        }
    }

    /// Counts a packet: its captured bytes, its length on the wire, its time in nanoseconds since
    /// 1970. `swapped`: the link-layer header is in the other byte order than this machine's, which
    /// matters for BSD loopback alone.
    pub fn packet(&mut self, link: LinkType, swapped: bool, packet: &[u8], wire_len: u32, nanos: i64) {
        let wire_len = wire_len.max(packet.len() as u32);
        let bytes = u64::from(wire_len);
        self.total.add(bytes);
        self.captured += packet.len() as u64;
        self.span = Some(self.span.map_or((nanos, nanos), |(first, last)| (first.min(nanos), last.max(nanos))));
        self.sizes[report::size_of(wire_len)].add(wire_len);
        self.rates.add(nanos, bytes);
        let layers = dissect::dissect(link, swapped, packet);
        self.path(layers.path, bytes);
        self.flows(&layers, bytes, nanos);
    }

    fn path(&mut self, path: u128, bytes: u64) {
        if path != self.last_path.0 {
            self.keep_path();
            self.last_path.0 = path;
        }
        self.last_path.1.add(bytes);
    }

    /// Counts what has been counted of the last path where it belongs. Beyond the limit, a path is
    /// cut down to its outermost protocol.
    fn keep_path(&mut self) {
        let (path, amount) = std::mem::take(&mut self.last_path);
        if amount.packets == 0 {
            return;
        }
        let known = self.paths.len() < MAX_PATHS || self.paths.contains_key(&path);
        let path = if known { path } else { path & 0xff };
        self.paths.entry(path).or_default().merge(amount);
    }

    fn flows(&mut self, layers: &Layers, bytes: u64, nanos: i64) {
        for (key, reversed) in layers.flows() {
            self.flows.add(*key, *reversed, bytes, nanos);
        }
        if self.flows.is_over() {
            let folded = &mut self.folded;
            self.flows.shrink(|key, counts| folded.fold(&key, counts));
        }
    }

    /// What was found. More packets may be counted after it.
    pub fn report(&mut self) -> Report {
        self.keep_path();
        let folded = &mut self.folded;
        self.flows.drain(|key, counts| folded.fold(&key, counts));
        Report {
            total: self.total,
            captured: self.captured,
            span: self.span,
            protocols: report::hierarchy(&self.paths),
            layers: self.folded.layers(),
            ports: self.folded.ports(),
            sizes: self.sizes.to_vec(),
            rates: self.rates.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
