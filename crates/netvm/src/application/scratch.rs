//! Bytes of data memory that hold nothing from one run of a program to the next: every load of them
//! is behind stores to them in the same run.
//!
//! A forward analysis over the blocks of each handler: which bytes have surely been stored to.
//! Bytes that a load or a copy may read otherwise, or that people read by a handler, are not among
//! them; bytes beside these are.

use super::accesses::{Counters, MemoryLocation};
use compiler::mir::{Func, Helper, Op, Value};
use compiler::passes;
use netil::Verified;
use netil::module::{Control, HandlerKind};
use netil::table::Space;

/// Larger memories are not looked at.
const LARGEST: usize = 1 << 18;

/// By byte of data memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Scratch(Vec<bool>);

/// Scratch memory of a program that is accessed at constant places only, so that it can be
/// elsewhere for each run.
pub(crate) fn alone(program: &Verified) -> Vec<std::ops::Range<u32>> {
    if program.module().data_size == 0 {
        return Vec::new();
    }
    let mut scratch = Scratch::of(program);
    if let Ok(Some((func, _))) = compiler::optimised(program, HandlerKind::Push, &passes::Options::default()) {
        scratch.take_computed(program, &func);
        scratch.take_parts(program, &func);
    }
    scratch.ranges().into_iter().map(|range| range.start as u32..range.end as u32).collect()
}

impl Scratch {
    /// That of a program.
    pub fn of(program: &Verified) -> Self {
        let size = program.module().data_size as usize;
        let mut scratch = Self(vec![size <= LARGEST; size.min(LARGEST)]);
        for Control { at, ty, .. } in &program.module().controls {
            scratch.take(*at as usize..(*at + ty.size()) as usize);
        }
        for kind in [HandlerKind::Push, HandlerKind::Pull] {
            match compiler::optimised(program, kind, &passes::Options::default()) {
                Ok(Some((func, _))) => scratch.look_at(program, &func),
                Ok(None) => {}
                Err(_) => scratch.0.clear(),
            }
        }
        scratch
    }

    /// Whether a place is one of that kind.
    pub fn holds(&self, place: &MemoryLocation) -> bool {
        let (low, end) = (place.at.low, place.at.high.saturating_add(place.bytes));
        place.space == Space::Data && end <= self.0.len() as u64 && self.0[low as usize..end as usize].iter().all(|is| *is)
    }

    /// Where it is.
    pub fn ranges(&self) -> Vec<std::ops::Range<usize>> {
        let mut ranges: Vec<std::ops::Range<usize>> = Vec::new();
        for at in (0..self.0.len()).filter(|at| self.0[*at]) {
            match ranges.last_mut() {
                Some(last) if last.end == at => last.end += 1,
                _ => ranges.push(at..at + 1),
            }
        }
        ranges
    }

    /// Takes out what accesses may reach whose places are computed.
    fn take_computed(&mut self, program: &Verified, func: &Func) {
        let places = Counters::of(program, func);
        for value in func.blocks.iter().flat_map(|block| &block.ops) {
            let copies = |op: &Op| matches!(op, Op::Helper(Helper::Copy(from, to), ..) if [from, to].contains(&&Space::Data));
            match func.op(*value) {
                Some(Op::Load(Space::Data, ..) | Op::Store(Space::Data, ..)) => {}
                Some(op) if copies(op) => return self.0.fill(false),
                _ => continue,
            }
            match places.place(*value) {
                Some(place) if place.at.low == place.at.high => {}
                Some(place) => self.take(place.at.low as usize..(place.at.high + place.bytes) as usize),
                None => self.0.fill(false),
            }
        }
    }

    /// Takes out what accesses reach that reach other bytes, too: each access is to memory of one
    /// kind.
    fn take_parts(&mut self, program: &Verified, func: &Func) {
        let places = Counters::of(program, func);
        let all = func.blocks.iter().flat_map(|block| &block.ops);
        let accessed: Vec<std::ops::Range<usize>> = all
            .filter(|value| matches!(func.op(**value), Some(Op::Load(Space::Data, ..) | Op::Store(Space::Data, ..))))
            .filter_map(|value| places.place(*value))
            .map(|place| place.at.low as usize..(place.at.high + place.bytes) as usize)
            .collect();
        let is_mixed = |scratch: &[bool], at: &std::ops::Range<usize>| {
            let its = scratch.get(at.clone()).unwrap_or_default();
            its.iter().any(|is| *is) && (its.len() < at.len() || !its.iter().all(|is| *is))
        };
        while let Some(mixed) = accessed.iter().find(|at| is_mixed(&self.0, at)) {
            self.take(mixed.clone());
        }
    }

    fn take(&mut self, bytes: std::ops::Range<usize>) {
        let end = bytes.end.min(self.0.len());
        self.0[bytes.start.min(end)..end].fill(false);
    }

    fn look_at(&mut self, program: &Verified, func: &Func) {
        let (places, size) = (Counters::of(program, func), self.0.len());
        // None: not reached so far.
        let mut stored: Vec<Option<Vec<bool>>> = vec![None; func.blocks.len()];
        stored[0] = Some(vec![false; size]);
        let mut open = vec![0_usize];
        while let Some(block) = open.pop() {
            let mut bytes = stored[block].clone().unwrap_or_default();
            for value in &func.blocks[block].ops {
                note_store(&places, func, *value, &mut bytes);
            }
            for edge in func.blocks[block].end.edges() {
                let to = edge.block.0 as usize;
                if meet(&mut stored[to], &bytes) {
                    open.push(to);
                }
            }
        }
        for (block, before) in func.blocks.iter().zip(stored) {
            let Some(mut bytes) = before else { continue };
            for value in &block.ops {
                let Some(op) = func.op(*value) else { continue };
                match op {
                    Op::Load(Space::Data, ..) => self.note_load(places.place(*value), &bytes),
                    Op::Helper(Helper::Copy(Space::Data, _), ..) => self.note_load(places.copied(*value)[0], &bytes),
                    _ => {}
                }
                note_store(&places, func, *value, &mut bytes);
            }
        }
    }

    fn note_load(&mut self, place: Option<MemoryLocation>, stored: &[bool]) {
        let Some(place) = place else { return self.0.fill(false) };
        let (low, end) = (place.at.low as usize, place.at.high.saturating_add(place.bytes).min(stored.len() as u64) as usize);
        for at in (low.min(end)..end).filter(|at| !stored[*at]) {
            self.take(at..at + 1);
        }
    }
}

/// A store to one place stores all of its bytes.
fn note_store(places: &Counters, func: &Func, value: Value, bytes: &mut [bool]) {
    let Some(Op::Store(Space::Data, ..)) = func.op(value) else { return };
    let Some(place) = places.place(value).filter(|place| place.at.low == place.at.high) else { return };
    let (low, end) = (place.at.low as usize, (place.at.low + place.bytes) as usize);
    if end <= bytes.len() {
        bytes[low..end].fill(true);
    }
}

/// What is stored on all ways to a block. True if that is less than before.
fn meet(before: &mut Option<Vec<bool>>, bytes: &[bool]) -> bool {
    match before {
        None => {
            *before = Some(bytes.to_vec());
            true
        }
        Some(before) => {
            let mut less = false;
            for (is, other) in before.iter_mut().zip(bytes) {
                less |= *is && !other;
                *is &= other;
            }
            less
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(code: &str) -> Vec<usize> {
        let text = format!("segment .ports push_input a push_output b ends segment .push .datamem_size 16 pop {code} pkt.send b ends");
        let program = netil::verify(netil::asm::assemble(&text, "t").unwrap()).unwrap();
        Scratch::of(&program).0.iter().enumerate().filter(|(_, is)| !**is).map(|(at, _)| at).collect()
    }

    #[test]
    fn what_is_stored_first_is_scratch_and_what_may_be_read_first_is_not() {
        let store = |at: u32| format!("pbl push {at} mstore.32");
        let show = |at: u32| format!("push {at} umload.32 push 0 pstore.32");
        assert_eq!(of(&[store(4), show(4)].concat().replace("mstore.32push", "mstore.32 push")), [0_usize; 0]);
        assert_eq!(of(&format!("{} {}", show(4), store(4))), [4, 5, 6, 7]);
        assert_eq!(of(&format!("{} {}", store(4), show(6))), [8, 9]);
        // On one way only.
        assert_eq!(of(&format!("push 0 upload.8 j.eq on {} on: {}", store(8), show(8))), [8, 9, 10, 11]);
        assert_eq!(of(&format!("{} push 0 upload.8 umload.8 push 0 pstore.8", store(0))), (4..16).collect::<Vec<_>>());
    }

    /// A number that a branch bounds is one of a range; so is a part of it.
    #[test]
    fn branches_tell_what_an_access_may_reach() {
        let stored = [4, 8].map(|at| format!("pbl push {at} mstore.32")).join(" ");
        let asked = |less: u32, index: &str| {
            format!("{stored} push 0 upload.8 push {less} jcmp.ge end push 0 upload.8 {index} push 4 add umload.8 push 0 pstore.8 end:")
        };
        assert_eq!(of(&asked(8, "")), [0_usize; 0]);
        assert_eq!(of(&asked(9, "")), [12]);
        assert_eq!(of(&asked(32, "push 2 ushr")), [0_usize; 0]);
        assert_eq!(of(&asked(33, "push 2 ushr")), [12]);
    }

    /// Where memory is elsewhere for each run, an access is to one kind.
    #[test]
    fn what_an_access_reaches_beside_other_bytes_is_not_alone() {
        let alone = |code: &str| {
            let text = format!("segment .ports push_input a push_output b ends segment .push .datamem_size 16 pop {code} pkt.send b ends");
            super::alone(&netil::verify(netil::asm::assemble(&text, "t").unwrap()).unwrap())
        };
        let [store, show] = [|at: u32| format!("pbl push {at} mstore.32 "), |at: u32| format!("push {at} umload.32 push 0 pstore.32 ")];
        assert_eq!(alone(&[store(4), show(4)].concat()).first(), Some(&(0..16)));
        // What is read of 6 to 9 is not all of this run, so 4 and 5, which are stored with it, are
        // not either.
        assert_eq!(alone(&[store(4), show(6)].concat()), [0..4, 10..16]);
    }

    /// Of a copy, the bytes that it may read count; where its length is not known, all to the end
    /// of memory.
    #[test]
    fn copies_read_what_they_may_reach() {
        let stored = [4, 8, 12].map(|at| format!("pbl push {at} mstore.32")).join(" ");
        let copied = |from: u32, length: &str| format!("{stored} push {from} push 0 {length} dpcopy");
        assert_eq!(of(&copied(4, "push 12")), [0_usize; 0]);
        assert_eq!(of(&copied(8, "push 0 upload.8")), [0_usize; 0]);
        assert_eq!(of(&copied(2, "push 4")), [2, 3]);
        assert_eq!(of(&copied(0, "push 0 upload.8")), [0, 1, 2, 3]);
        assert_eq!(of(&format!("push 0 push 0 push 4 pdcopy {}", copied(4, "push 4"))), [0_usize; 0]);
    }
}
