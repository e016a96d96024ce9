//! What is known of info memory where code is generated: bytes that are constants on every way to a
//! block. Elements leave constants there, as where the network header is, and the next ones read
//! them: a place in the packet that one names is then constant, too. Info memory begins with zeros.
//!
//! Blocks to which no way leads, because what decides is known, are left out.

use super::Lower;
use crate::x11::code::Src;
use std::collections::{BTreeMap, HashMap};

/// By byte the constant, or none if it is not one; all others are zeros.
type Bytes = BTreeMap<u32, Option<u8>>;

/// Here, and by block on the ways that lead there.
#[derive(Debug, Default)]
pub(super) struct Infos {
    now: Bytes,
    blocks: HashMap<usize, Bytes>,
}

fn both(a: &Bytes, b: &Bytes) -> Bytes {
    let get = |bytes: &Bytes, at: u32| bytes.get(&at).copied().unwrap_or(Some(0));
    a.keys().chain(b.keys()).map(|at| (*at, get(a, *at).filter(|byte| get(b, *at) == Some(*byte)))).collect()
}

impl Lower<'_> {
    /// A way leads to a block with what is known here.
    pub(super) fn informs(&mut self, to: usize) {
        let now = &self.infos.now;
        self.infos.blocks.entry(to).and_modify(|known| *known = both(known, now)).or_insert_with(|| now.clone());
    }

    /// Begins a block; false if no way leads to it.
    pub(super) fn is_reached(&mut self) -> bool {
        let known = self.infos.blocks.remove(&self.block);
        let reached = known.is_some();
        self.infos.now = known.unwrap_or_default();
        reached
    }

    /// Words that are written there.
    pub(super) fn told(&mut self, at: u32, bytes: u32, words: &[Src]) {
        for n in 0..bytes {
            let byte = match words.get(n as usize / 2) {
                Some(Src::Imm(word)) => Some(word.to_le_bytes()[n as usize % 2]),
                _ => None,
            };
            self.infos.now.insert(at + n, byte);
        }
    }

    /// Words of so many bytes that are all known.
    pub(super) fn known(&self, at: u32, bytes: u32) -> Option<Vec<Src>> {
        let byte = |n: u32| if n < bytes { self.infos.now.get(&(at + n)).copied().unwrap_or(Some(0)) } else { Some(0) };
        (0..bytes).step_by(2).map(|n| Some(Src::Imm(u16::from_le_bytes([byte(n)?, byte(n + 1)?])))).collect()
    }
}
