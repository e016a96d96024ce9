//! Packets that come in together, and what leaves of them.

use super::journey::Sent;
use netil::exec::{CloneOut, ExchangeBuffer};
use std::iter::Peekable;
use std::vec::IntoIter;

/// A packet that comes in.
#[derive(Clone, Copy, Debug)]
pub struct Arrived<'p> {
    /// By which port.
    pub port: u32,
    /// Its bytes.
    pub bytes: &'p [u8],
    /// When, in nanoseconds since 1970.
    pub time_ns: u64,
}

/// The clones that a packet of a burst has made.
pub(super) fn of_packet(clones: &mut Peekable<IntoIter<CloneOut>>, packet: usize) -> Vec<ExchangeBuffer<'static>> {
    let mut own = Vec::new();
    while let Some(clone) = clones.next_if(|clone| clone.source as usize == packet) {
        own.push(clone.buffer);
    }
    own
}

/// Times of a packet: microseconds since the first one, and nanoseconds since 1970.
pub(super) type Times = (u64, u64);

/// A packet that left: of which that came in, by which port, and its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departed<'d> {
    /// Its place in the burst.
    pub of: usize,
    /// By which port.
    pub port: u32,
    /// Its bytes.
    pub bytes: &'d [u8],
}

/// What left of a burst, in order, in memory that is used again.
#[derive(Clone, Debug, Default)]
pub struct Departures {
    bytes: Vec<u8>,
    /// Of which, by which port, and where its bytes end.
    rows: Vec<(usize, u32, usize)>,
}

impl Departures {
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.rows.clear();
    }

    pub(super) fn push(&mut self, of: usize, port: u32, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.rows.push((of, port, self.bytes.len()));
    }

    pub(super) fn extend(&mut self, of: usize, sent: Vec<Sent>) {
        sent.iter().for_each(|sent| self.push(of, sent.port, &sent.bytes));
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = Departed<'_>> {
        let mut begin = 0;
        self.rows.iter().map(move |(of, port, end)| {
            let bytes = &self.bytes[std::mem::replace(&mut begin, *end)..*end];
            Departed { of: *of, port: *port, bytes }
        })
    }

    /// How many packets of those that came in left at all.
    #[must_use]
    pub fn packets(&self) -> usize {
        self.rows.chunk_by(|a, b| a.0 == b.0).count()
    }
}
