//! Silent stores: stores of what is there already, of fields that a handler loads, leaves as they
//! are, and puts back where they were.
//!
//! A P4 program takes its headers off, and puts all of their fields in front of the packet again; a
//! switch puts on again the address that it looked at. Where the head moves by numbers of bytes
//! that are known, each load and each store has a place relative to where the head was first. A
//! byte that was loaded before anything was written there, and that is stored at its own place,
//! need not be.
//!
//! Invariants: nothing has been written to such a byte since the handler began, neither by a store
//! nor as the zeros of new bytes, unless these are not done ([`super::dead_work`]); packets lie in
//! one memory while their heads move, which is so on the fast path. Source: silent stores, Lepak,
//! Lipasti (2000), here found before they run. Price: linear. Leaves out: places of a computed
//! offset, what follows loops.

use crate::mir::cfg::Cfg;
use crate::mir::states::States;
use crate::mir::{Block, Func, Helper, Op, Order, Value};
use netil::table::Space;
use std::collections::{HashMap, HashSet};

/// Operations looked at behind a stored byte.
const REACH: u32 = 16;

/// What is known at some place: where the head is, from where it was first, and which bytes have
/// been written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct State {
    head: i64,
    written: HashSet<i64>,
}

/// The stores that need not be done; of pushes those are given whose bytes are no zeros.
pub(super) fn of(func: &Func, cfg: &Cfg, unzeroed: &HashSet<Value>) -> HashSet<Value> {
    let mut pass = Pass { func, unzeroed, loaded: HashMap::new(), silent: HashSet::new() };
    let mut behind: Vec<Option<State>> = vec![None; func.blocks.len()];
    for block in &cfg.order {
        let begin = entered(cfg, *block, &behind);
        behind[block.0 as usize] = begin.and_then(|state| pass.block(*block, state));
    }
    pass.silent
}

/// What all edges to a block agree on; nothing of an edge that comes later, as from behind a loop.
fn entered(cfg: &Cfg, block: Block, behind: &[Option<State>]) -> Option<State> {
    if block == Block(0) {
        return cfg.predecessors[0].is_empty().then(State::default);
    }
    let mut ways = cfg.predecessors[block.0 as usize].iter().map(|before| behind[before.0 as usize].as_ref());
    let mut met = ways.next()??.clone();
    for way in ways {
        let other = way.filter(|other| other.head == met.head)?;
        met.written.extend(&other.written);
    }
    Some(met)
}

struct Pass<'a> {
    func: &'a Func,
    unzeroed: &'a HashSet<Value>,
    /// Where the first byte was that a load gives, if it was as it came.
    loaded: HashMap<Value, i64>,
    silent: HashSet<Value>,
}

impl Pass<'_> {
    /// The state behind a block.
    fn block(&mut self, block: Block, mut state: State) -> Option<State> {
        for v in &self.func.block(block).ops {
            self.step(*v, self.func.op(*v)?, &mut state)?;
        }
        Some(state)
    }

    /// Goes past an operation; none if it is not known what it does to the packet.
    fn step(&mut self, v: Value, op: &Op, state: &mut State) -> Option<()> {
        match op {
            Op::Load(Space::Packet, _, addr, offset, _) => {
                if let Some(places) = self.places(*addr, *offset, v, state)
                    && places.clone().all(|at| !state.written.contains(&at))
                {
                    self.loaded.insert(v, places.start);
                }
            }
            Op::Store(Space::Packet, order, addr, offset, value, _) => {
                let places = self.places(*addr, *offset, *value, state)?;
                if places.clone().all(|at| !state.written.contains(&at)) && self.is_there(*value, *order, places.start) {
                    self.silent.insert(v);
                } else {
                    state.written.extend(places);
                }
            }
            Op::Helper(Helper::PullHead, args, _) => state.head += self.constant(args[0])?,
            Op::Helper(Helper::PushHead, args, _) => {
                let count = self.constant(args[0])?;
                state.head -= count;
                if !self.unzeroed.contains(&v) {
                    state.written.extend(state.head..state.head + count);
                }
            }
            Op::Helper(helper, ..) if changes_packet(*helper) => return None,
            _ => {}
        }
        Some(())
    }

    fn constant(&self, v: Value) -> Option<i64> {
        self.func.constant(v).and_then(|n| i64::try_from(n).ok()).filter(|n| *n <= i64::from(netil::exec::MAX_PACKET))
    }

    /// The places of an access of a value's bytes.
    fn places(&self, addr: Value, offset: u32, value: Value, state: &State) -> Option<std::ops::Range<i64>> {
        let first = state.head + self.constant(addr)? + i64::from(offset);
        Some(first..first + i64::from(self.func.width(value) / 8))
    }

    /// Whether each byte of a value, as it is stored from that place on, is one that was loaded
    /// there.
    fn is_there(&self, value: Value, order: Order, first: i64) -> bool {
        let bytes = self.func.width(value) / 8;
        let place = |n: u16| first + i64::from(if order == Order::Little { n } else { bytes - 1 - n });
        (0..bytes).all(|n| self.origin(value, 8 * n, REACH) == Some(place(n)))
    }

    /// Where the eight bits of a value from that one on come from.
    fn origin(&self, v: Value, bit: u16, reach: u32) -> Option<i64> {
        let (func, reach) = (self.func, reach.checked_sub(1)?);
        match func.op(v)? {
            Op::Load(Space::Packet, order, ..) if bit.is_multiple_of(8) => {
                let last = func.width(v) / 8 - 1;
                let n = bit / 8;
                Some(self.loaded.get(&v)? + i64::from(if *order == Order::Little { n } else { last.checked_sub(n)? }))
            }
            Op::Zext(a) if bit + 8 <= func.width(*a) => self.origin(*a, bit, reach),
            Op::Trunc(a) => self.origin(*a, bit, reach),
            Op::Slice(a, low) => self.origin(*a, bit + low, reach),
            Op::Concat(_, low) if bit + 8 <= func.width(*low) => self.origin(*low, bit, reach),
            Op::Concat(high, low) if bit >= func.width(*low) => self.origin(*high, bit - func.width(*low), reach),
            _ => None,
        }
    }
}

/// Whether an operation may change bytes of the packet, or where they are, in ways that are not
/// followed.
fn changes_packet(helper: Helper) -> bool {
    matches!(helper, Helper::SendCopy(_)) || helper.row().writes.meets(States::PACKET.and(States::HEAD))
}

#[cfg(test)]
mod tests {
    use crate::cluster::dead_work::DeadWork;
    use crate::passes;
    use netil::asm::assemble;
    use netil::module::HandlerKind;

    /// How many stores of a handler write what is there.
    fn silent(code: &str) -> usize {
        let source = format!("segment .push\n.locals 2\npop\n{code}\nret 1\nends\n");
        let program = netil::verify(assemble(&source, "").unwrap()).unwrap();
        let (func, _) = crate::optimised(&program, HandlerKind::Push, &passes::Options::default()).unwrap().unwrap();
        DeadWork::of(&func).silent_stores.len()
    }

    const LOAD: &str = "push 0\nupload.16\nlocstore 0\npush 2\nupload.16\nlocstore 1\n";
    const PULL: &str = "push 4\npkt.pull\n";
    const PUSH: &str = "push 4\npkt.push\n";

    /// Stores a local at a place.
    fn store(local: u32, at: u32) -> String {
        format!("locload {local}\npush {at}\npstore.16\n")
    }

    #[test]
    fn what_is_put_back_is_not_stored() {
        let back = [store(0, 0), store(1, 2)].concat();
        assert_eq!(silent(&[LOAD, PULL, PUSH, &back].concat()), 2);
        assert_eq!(silent(&[LOAD, &back].concat()), 2);
        // Of two that change places neither is.
        assert_eq!(silent(&[LOAD, PULL, PUSH, &store(1, 0), &store(0, 2)].concat()), 0);
        // A head that comes back elsewhere.
        assert_eq!(silent(&[LOAD, PULL, "push 2\npkt.push\n", &store(0, 0)].concat()), 0);
        assert_eq!(silent(&[LOAD, PULL, "push 2\npkt.push\n", &store(1, 0)].concat()), 1);
    }

    #[test]
    fn what_was_written_or_is_zero_since_is_stored() {
        let seven = "push 7\npush 0\npstore.8\n";
        assert_eq!(silent(&[LOAD, seven, &store(0, 0), &store(1, 2)].concat()), 1);
        // Loaded behind a store: no byte as it came.
        assert_eq!(silent(&[seven, LOAD, &store(0, 0), &store(1, 2)].concat()), 1);
        // Not all new bytes are written, so they are zeros first.
        assert_eq!(silent(&[LOAD, PULL, PUSH, &store(1, 2)].concat()), 0);
    }
}
