//! From which programs nobody can tell in which order packets came: those that keep nothing from one packet to the next, but for counters that they add to and do not
//! look at.
//!
//! Left out: what is written and read by the same run only, and entries of tables as counters.

use compiler::mir::{Func, Helper, Op, Order, Terminator, Value};
use compiler::passes;
use netil::Verified;
use netil::module::HandlerKind;
use netil::ops::BinOp;
use netil::table::Space;

/// Whether that holds for what a program does with packets pushed into it; it is linked with nobody.
pub(super) fn any_order(program: &Verified) -> bool {
    let optimised = compiler::optimised(program, HandlerKind::Push, &passes::Options::default());
    let Ok(Some((func, _))) = optimised else { return false };
    let counters = Counters::of(&func);
    let ages = |table: &u32| program.module().tables.get(*table as usize).is_none_or(|table| table.timeout_ns != 0);
    ops(&func).all(|(value, op)| match op {
        Op::Random(_) | Op::ExceptionLoad(_) | Op::ExceptionStore(..) => false,
        Op::Load(space, ..) | Op::Store(space, ..) => !is_kept(*space) || counters.may_be(&func, value, op),
        // The lookup of an older packet would make an entry younger.
        Op::Helper(Helper::Find(table) | Helper::Peek(table), ..) => !ages(table),
        Op::Helper(helper, ..) => !keeps(*helper) && (counters.is_empty() || !looks(*helper)),
        _ => true,
    })
}

fn ops(func: &Func) -> impl Iterator<Item = (Value, &Op)> {
    func.blocks.iter().flat_map(|block| &block.ops).filter_map(|value| Some((*value, func.op(*value)?)))
}

/// Memories that stay when a packet has gone.
fn is_kept(space: Space) -> bool {
    match space {
        Space::Data | Space::Shared => true,
        Space::Packet | Space::Info | Space::Initialised => false,
    }
}

/// Whether something is kept of a packet, or that of others seen.
fn keeps(helper: Helper) -> bool {
    match helper {
        Helper::Copy(_, to) => is_kept(to),
        Helper::Receive(_) | Helper::Hold | Helper::Take | Helper::SetTimer(_) | Helper::Insert(_) | Helper::DeleteEntry(_) => true,
        Helper::EntryStore(..) | Helper::CoproIn(..) | Helper::CoproOut(..) | Helper::CoproInvoke(..) | Helper::CoproShow(_) => true,
        Helper::Find(_) | Helper::Peek(_) | Helper::EntryLoad(..) => false,
        Helper::Scan(_) | Helper::FieldCmp(_) | Helper::Checksum | Helper::ChecksumValid | Helper::CrcPacket(_) | Helper::Crc(_) => false,
        Helper::ChecksumAdd | Helper::ChecksumSub | Helper::Hash | Helper::InfoClear | Helper::SendCopy(_) | Helper::Create => false,
        Helper::Delete | Helper::PushHead | Helper::PullHead | Helper::TrimTail | Helper::GrowTail | Helper::Unpull => false,
        Helper::Moved | Helper::IsPresent | Helper::Inside | Helper::SetTime | Helper::SetWire => false,
    }
}

/// Whether it reads memories that stay.
fn looks(helper: Helper) -> bool {
    matches!(helper, Helper::Copy(from, _) if is_kept(from))
}

/// A place in memory: which, in what order of bytes, where, and how many bits.
type Place = (Space, Order, u64, u16);

/// Places that are stored to: each is added to, and what was there is for nothing else.
struct Counters {
    places: Vec<Place>,
    /// How often each value is used.
    uses: Vec<u32>,
}

impl Counters {
    fn of(func: &Func) -> Self {
        let mut uses = vec![0; func.values.len()];
        let mut count = |value: Value| uses[value.0 as usize] += 1;
        ops(func).for_each(|(_, op)| op.operands(&mut count));
        for end in func.blocks.iter().map(|block| &block.end) {
            end.edges().iter().flat_map(|edge| &edge.args).for_each(|value| count(*value));
            if let Terminator::Branch(value, ..) | Terminator::Switch(value, ..) = end {
                count(*value);
            }
        }
        let stored = |(_, op): (Value, &Op)| if let Op::Store(.., value, _) = op { place(func, op, *value) } else { None };
        Self { places: ops(func).filter_map(stored).collect(), uses }
    }

    fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Whether an access is one of a counter, or looks at what is none and not stored to.
    fn may_be(&self, func: &Func, value: Value, op: &Op) -> bool {
        match op {
            Op::Store(.., sum, _) => place(func, op, *sum).is_some_and(|to| self.is_apart(to) && self.is_sum(func, *sum, to)),
            _ => match place(func, op, value) {
                Some(from) => !self.places.iter().any(|place| overlap(*place, from)) || self.is_only_added(func, value, from),
                None => self.places.is_empty(),
            },
        }
    }

    /// Whether no other place reaches into that one.
    fn is_apart(&self, to: Place) -> bool {
        self.places.iter().all(|place| *place == to || !overlap(*place, to))
    }

    /// Whether that is what was at a place and something more, for nothing but to be stored there.
    fn is_sum(&self, func: &Func, sum: Value, to: Place) -> bool {
        let Some(Op::Bin(BinOp::Add, a, b)) = func.op(sum) else { return false };
        let is_old = |value: &Value| matches!(func.op(*value), Some(op @ Op::Load(..)) if place(func, op, *value) == Some(to));
        self.uses[sum.0 as usize] == 1 && is_old(a) != is_old(b)
    }

    /// Whether what was loaded from a place is for nothing but such a sum.
    fn is_only_added(&self, func: &Func, loaded: Value, from: Place) -> bool {
        let adds = |op: &Op| matches!(op, Op::Store(.., sum, _) if place(func, op, *sum) == Some(from) && adds_to(func, *sum, loaded));
        self.uses[loaded.0 as usize] == 1 && ops(func).any(|(_, op)| adds(op))
    }
}

fn adds_to(func: &Func, sum: Value, loaded: Value) -> bool {
    matches!(func.op(sum), Some(Op::Bin(BinOp::Add, a, b)) if *a == loaded || *b == loaded)
}

/// The place of an access to memory that stays, if it is known; `value` is what is loaded or stored.
fn place(func: &Func, op: &Op, value: Value) -> Option<Place> {
    let (Op::Load(space, order, at, offset, _) | Op::Store(space, order, at, offset, ..)) = op else { return None };
    Some((*space, *order, func.constant(*at)? + u64::from(*offset), func.width(value))).filter(|_| is_kept(*space))
}

fn overlap((space, _, at, bits): Place, (other, _, from, width): Place) -> bool {
    space == other && at < from + u64::from(width / 8) && from < at + u64::from(bits / 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(code: &str) -> bool {
        let tables = "segment .tables .table stays, exact, 32, 8, 16 .table ages, exact, 32, 8, 16, 1000 ends";
        let text =
            format!("{tables} segment .ports push_input a push_output b ends segment .push .datamem_size 64 pop {code} pkt.send b ends");
        any_order(&netil::verify(netil::asm::assemble(&text, "t").unwrap()).unwrap())
    }

    #[test]
    fn what_keeps_nothing_or_counts_may_see_packets_in_any_order() {
        let adds = |at: u32, what: &str| format!("push {at} umload.32 {what} add push {at} mstore.32");
        for code in [
            "push 1 push 2 pstore.8",
            "push 8 umload.32 push 0 pstore.32",
            "push 0 w.pload 32 t.find stays t.valid stays push 0 pstore.8",
            &adds(0, "push 1"),
            &adds(4, "pbl"),
            &[adds(0, "push 1"), adds(4, "pbl"), "push 8 umload.32 push 0 pstore.32".to_owned()].join(" "),
        ] {
            assert!(of(code), "{code}");
        }
    }

    #[test]
    fn what_keeps_something_or_looks_at_a_counter_may_not() {
        let one = "push 0 umload.32 push 1 add dup push 0 mstore.32";
        for code in [
            "pbl push 0 mstore.32",
            "push 0 umload.32 push 3 mul push 0 mstore.32",
            "push 0 umload.32 push 0 umload.32 add push 0 mstore.32",
            "push 4 umload.32 push 1 add push 0 mstore.32",
            &format!("{one} push 0 pstore.32"),
            "push 0 umload.32 push 1 add push 0 mstore.32 push 2 umload.8 push 0 pstore.8",
            "push 0 umload.32 push 1 add push 0 mstore.32 push 2 umload.32 push 1 add push 2 mstore.32",
            "push 0 umload.32 push 1 add push 0 mstore.32 pbl umload.8 push 0 pstore.8",
            "push 0 umload.32 dup push 1 add push 0 mstore.32 j.eq on push 1 push 0 pstore.8 on:",
            "push 0 umload.32 push 1 add push 0 mstore.32 push 0 push 0 push 4 dpcopy",
            "push 0 push 0 push 4 pdcopy",
            "rnd push 0 pstore.32",
            "push 0 w.pload 32 t.find ages t.valid ages push 0 pstore.8",
            "push 0 w.pload 32 t.peek ages t.valid ages push 0 pstore.8",
            "push 0 w.pload 32 t.insert stays pop",
            "push 0 w.pload 32 t.delete stays pop",
        ] {
            assert!(!of(code), "{code}");
        }
    }
}
