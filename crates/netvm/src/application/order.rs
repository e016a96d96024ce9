//! From which programs nobody can tell in which order packets came: those that keep nothing from
//! one packet to the next, but for counters that they add to and do not look at.
//!
//! Entries of tables are counters, too, where [`super::table_sums`] shows it and that is asked for.

use super::accesses::{Counters, MemoryLocation, is_kept, ops};
use super::scratch::Scratch;
use super::searches::Searches;
use super::table_sums::sum_tables;
use compiler::mir::states::States;
use compiler::mir::{Func, Helper, Op, Value};
use netil::Verified;
use netil::module::HandlerKind;
use netil::table::Space;
use std::collections::BTreeSet;

/// What does not count as a trace of packets.
#[derive(Default)]
pub(super) struct Exempt {
    /// Operations on tables.
    pub tables: bool,
    /// Random numbers by which keys of tables may be chosen.
    pub random: bool,
    /// Bytes of data memory that each run writes before it reads them.
    pub scratch: Scratch,
    /// Coprocessors from which each run takes only what it has searched for.
    pub searches: Searches,
    /// Tables that packets only add to.
    pub sums: BTreeSet<u32>,
}

impl Exempt {
    /// What replicas of a program may have each of their own; `tables` and `random` numbers, if
    /// that is so.
    pub fn of(program: &Verified, func: &Func, (tables, random): (bool, bool)) -> Self {
        let sums = sum_tables(program, func).into_iter().map(|table| table.number).collect();
        Self { tables, random, scratch: Scratch::of(program), searches: Searches::of(program, func), sums }
    }

    /// Whether a copy is to and from such bytes, and memory that does not stay.
    fn copy(&self, places: [Option<MemoryLocation>; 2], spaces: [Space; 2]) -> bool {
        let is_scratch = |place: Option<MemoryLocation>| place.is_some_and(|place| self.scratch.holds(&place));
        spaces.into_iter().zip(places).all(|(space, place)| !is_kept(space) || is_scratch(place))
    }
}

/// The first operation by which a program keeps something of a packet, or sees what was kept of
/// others.
pub(super) fn first_trace(program: &Verified, func: &Func, exempt: &Exempt) -> Option<Value> {
    let mut counters = Counters::of(program, func);
    counters.places.retain(|place| !exempt.scratch.holds(place));
    let ages = |table: &u32| program.module().tables.get(*table as usize).is_none_or(|table| table.timeout_ns != 0);
    let leaves_no_trace = |value: Value, op: &Op| match op {
        // A packet's follow from its number; without a packet they follow from how many runs there
        // were. What they choose may be another's in a table.
        Op::Random(_) => exempt.random || func.kind == HandlerKind::Push && (!exempt.tables || program.module().tables.is_empty()),
        Op::ExceptionLoad(_) | Op::ExceptionStore(..) => false,
        Op::Load(space, ..) | Op::Store(space, ..) => {
            let is_scratch = || counters.place(value).is_some_and(|place| exempt.scratch.holds(&place));
            !is_kept(*space) || is_scratch() || counters.may_be(func, value, op)
        }
        Op::Helper(Helper::Copy(from, to), ..) if exempt.copy(counters.copied(value), [*from, *to]) => true,
        Op::Helper(helper, ..) if exempt.searches.has(*helper) => true,
        Op::Helper(helper, ..) if exempt.tables && is_of_table(*helper) => true,
        Op::Helper(helper, ..) if helper.table().is_some_and(|table| exempt.sums.contains(&table)) => true,
        // The lookup of an older packet would make an entry younger.
        Op::Helper(Helper::Find(table) | Helper::Peek(table), ..) => !ages(table),
        // It keeps nothing, and looks at no counters.
        Op::Helper(helper, ..) => !keeps(*helper) && (counters.is_empty() || !helper.row().reads.meets(States::DATA.and(States::SHARED))),
        _ => true,
    };
    ops(func).find(|(value, op)| !leaves_no_trace(*value, op)).map(|(value, _)| value)
}

fn is_of_table(helper: Helper) -> bool {
    helper.row().reads.and(helper.row().writes).meets(States::TABLE.and(States::ENTRIES))
}

/// Whether something is kept of a packet, or that of others seen.
pub(super) fn keeps(helper: Helper) -> bool {
    helper.keeps()
}

#[cfg(test)]
mod tests {
    use super::*;
    use compiler::passes;

    /// Whether nobody can tell from a program in which order packets were pushed into it.
    fn any_order(program: &Verified) -> bool {
        let optimised = compiler::optimised(program, HandlerKind::Push, &passes::Options::default());
        matches!(optimised, Ok(Some((func, _))) if first_trace(program, &func, &Exempt::default()).is_none())
    }

    fn of(code: &str) -> bool {
        let tables = "segment .tables .table stays, exact, 32, 8, 16 .table ages, exact, 32, 8, 16, 1000 ends";
        let text = format!(
            "{tables} segment .metadata .shared_size 16 ends segment .ports push_input a push_output b ends segment .push .datamem_size 64 pop {code} pkt.send b ends"
        );
        any_order(&netil::verify(netil::asm::assemble(&text, "t").unwrap()).unwrap())
    }

    #[test]
    fn what_keeps_nothing_or_counts_may_see_packets_in_any_order() {
        let adds = |at: u32, what: &str| format!("push {at} umload.32 {what} add push {at} mstore.32");
        for code in [
            "push 1 push 2 pstore.8",
            "push 8 umload.32 push 0 pstore.32",
            "rnd push 0 pstore.32",
            "push 0 w.pload 32 t.find stays t.valid stays push 0 pstore.8",
            &adds(0, "push 1"),
            &adds(4, "pbl"),
            // One of several counters side by side.
            "push 0 upload.8 push 7 and push 2 shl push 4 add dup umload.32 push 1 add swap mstore.32",
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
            // Counters that reach into each other.
            "push 0 upload.8 push 7 and push 1 shl dup umload.32 push 1 add swap mstore.32",
            "push 0 upload.8 push 7 and push 2 shl dup umload.32 push 1 add swap mstore.32 push 8 umload.32 push 0 pstore.32",
            "push 0 umload.32 push 0 umload.32 add push 0 mstore.32",
            "push 4 umload.32 push 1 add push 0 mstore.32",
            &format!("{one} push 0 pstore.32"),
            "push 0 umload.32 push 1 add push 0 mstore.32 push 2 umload.8 push 0 pstore.8",
            "push 0 umload.32 push 1 add push 0 mstore.32 push 2 umload.32 push 1 add push 2 mstore.32",
            "push 0 umload.32 push 1 add push 0 mstore.32 pbl umload.8 push 0 pstore.8",
            "push 0 umload.32 dup push 1 add push 0 mstore.32 j.eq on push 1 push 0 pstore.8 on:",
            "push 0 umload.32 push 1 add push 0 mstore.32 push 0 push 0 push 4 dpcopy",
            "push 0 push 0 push 4 pdcopy",
            "push 0 w.pload 32 t.find ages t.valid ages push 0 pstore.8",
            "push 0 w.pload 32 t.peek ages t.valid ages push 0 pstore.8",
            "push 0 w.pload 32 t.insert stays pop",
            "push 0 w.pload 32 t.delete stays pop",
            "pbl push 0 sstore.32",
            "push 0 push 0 push 4 pscopy",
        ] {
            assert!(!of(code), "{code}");
        }
    }
}
