//! Shadow memory: a prefetch slice's own copy of data memory ([`super::prefetch`]), so that the
//! element does not see what the slice stores.
//!
//! Of a small memory the copy has all that is read, at the same places. Of a larger one it has the
//! bytes that the element reads at known places: keys are put together in variables. Where places
//! are computed, a slice reads the memory itself and stores nothing.

use crate::mir::{Func, Op, Value};
use netil::table::Space;
use std::collections::BTreeSet;

/// Bytes that are copied at most for a packet; if there are more, a slice leaves out what it would
/// store.
pub(crate) const MOST: u32 = 128;

/// What a slice reads of data memory, as far as it has a copy of that.
pub(crate) struct Data {
    /// All of the memory may be copied.
    is_small: bool,
    /// Nothing is.
    is_none: bool,
    /// Some is read at a computed place.
    all: bool,
    /// First bytes and how many.
    read: BTreeSet<(u64, u64)>,
}

impl Data {
    /// What a handler reads, and so its slice at most.
    pub fn read_by(func: &Func, size: u32) -> Self {
        let mut data = Self { is_small: size <= MOST, is_none: false, all: false, read: BTreeSet::new() };
        loads(func, Space::Data, |_| true).for_each(|(at, bytes)| data.read(at, bytes));
        data.is_none = !data.is_small && data.read.iter().map(|(_, bytes)| bytes).sum::<u64>() > u64::from(MOST);
        data
    }

    pub fn forget(&mut self) {
        self.read.clear();
        self.all = false;
    }

    /// Notes that it is read there, if the place is known.
    pub fn read(&mut self, at: Option<u64>, bytes: u64) {
        match at {
            Some(at) => _ = self.read.insert((at, bytes)),
            None => self.all = self.is_small,
        }
    }

    /// Whether some of so many bits is read.
    pub fn is_read(&self, at: Option<u64>, bits: u16) -> bool {
        let overlaps = |from: u64| self.read.iter().any(|(at, bytes)| from < at + bytes && *at < from + u64::from(bits / 8));
        !self.is_none && (self.all || at.map_or(self.is_small && !self.read.is_empty(), overlaps))
    }
}

/// Where some of a function's loads read a memory, if that is known, and how many bytes.
pub(crate) fn loads(func: &Func, space: Space, counts: impl Fn(Value) -> bool) -> impl Iterator<Item = (Option<u64>, u64)> {
    let values = func.blocks.iter().flat_map(|b| &b.ops).filter(move |v| counts(**v));
    values.filter_map(move |v| match func.op(*v)? {
        Op::Load(from, _, at, offset, _) if *from == space => Some((place(func, *at, *offset), u64::from(func.width(*v) / 8))),
        _ => None,
    })
}

/// The place of an access, if it is known.
pub(crate) fn place(func: &Func, at: Value, offset: u32) -> Option<u64> {
    func.constant(at).map(|at| at + u64::from(offset))
}

/// The copy.
pub struct Shadow {
    /// First bytes in the memory, how many, and where they are in the copy: each piece for itself,
    /// so that a compiler of C need not keep in memory what is written before it is read.
    pub pieces: Vec<(u64, u64, u64)>,
    /// Bytes of the copy.
    pub bytes: u64,
    /// Places in it are those of the memory.
    pub is_whole: bool,
}

impl Shadow {
    /// Of a slice that stores something there.
    pub fn of(slice: &Func, size: u32) -> Option<Self> {
        let stored: Vec<(Option<u64>, u64)> = stores(slice).collect();
        let size = u64::from(size);
        if stored.is_empty() {
            return None;
        }
        let read: Option<BTreeSet<(u64, u64)>> = loads(slice, Space::Data, |_| true).map(|(at, bytes)| Some((at?, bytes))).collect();
        if size <= u64::from(MOST) {
            let read = read.filter(|read| read.iter().all(|(at, bytes)| at + bytes <= size)).unwrap_or_else(|| BTreeSet::from([(0, size)]));
            return Some(Self { pieces: read.into_iter().map(|(at, bytes)| (at, bytes, at)).collect(), bytes: size, is_whole: true });
        }
        let known = loads(slice, Space::Data, |_| true).chain(stored).filter_map(|(at, bytes)| Some((at?, bytes)));
        let mut shadow = Self { pieces: Vec::new(), bytes: 0, is_whole: false };
        known.collect::<BTreeSet<_>>().into_iter().filter(|(at, bytes)| at + bytes <= size).for_each(|piece| shadow.add(piece));
        Some(shadow)
    }

    /// Pieces come in order; what overlaps is one.
    fn add(&mut self, (at, bytes): (u64, u64)) {
        match self.pieces.last_mut() {
            Some((last, len, _)) if at < *last + *len => {
                let more = (at + bytes).saturating_sub(*last + *len);
                *len += more;
                self.bytes += more;
            }
            _ => {
                self.pieces.push((at, bytes, self.bytes));
                self.bytes += bytes;
            }
        }
    }

    /// Where in the copy a place is that is not where it is in the memory.
    pub fn moved(&self, at: u64) -> Option<u64> {
        let piece = self.pieces.iter().filter(|_| !self.is_whole).find(|(from, bytes, _)| (*from..from + bytes).contains(&at));
        piece.map(|(from, _, to)| to + at - from)
    }
}

/// Where data memory is stored to, if that is known, and how many bytes.
fn stores(func: &Func) -> impl Iterator<Item = (Option<u64>, u64)> {
    let ops = func.blocks.iter().flat_map(|b| &b.ops).filter_map(|v| func.op(*v));
    ops.filter_map(|op| match op {
        Op::Store(Space::Data, _, at, offset, value, _) => Some((place(func, *at, *offset), u64::from(func.width(*value) / 8))),
        _ => None,
    })
}
