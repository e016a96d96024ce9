//! Coprocessors that search, and keep nothing from one run of a program to the next: what a run
//! gets from them comes from a search in the same run.
//!
//! A forward analysis over the blocks of a handler: which registers of a unit have surely been set
//! in this run, and whether it has searched. A unit of which a register is read otherwise, or a
//! search's result asked for without one, is not among them. Patterns are loaded before any packet
//! comes, and are the same in all replicas.

use compiler::mir::{Func, Helper, Op};
use netil::Verified;
use netil::copro::{REGEXP, STRINGMATCHING};
use std::collections::BTreeSet;

/// Those that search.
pub(super) const SEARCHING: [&str; 2] = [STRINGMATCHING.name, REGEXP.name];

/// Units of a program, by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Searches(BTreeSet<u32>);

/// What surely happened to a unit in this run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Fresh {
    registers: [bool; 4],
    searched: bool,
}

impl Searches {
    /// Those of a handler.
    pub fn of(program: &Verified, func: &Func) -> Self {
        let units = program.module().coprocessors.iter().zip(0..).filter(|(unit, _)| SEARCHING.contains(&unit.name.as_str()));
        Self(units.map(|(_, number)| number).filter(|unit| is_fresh(func, *unit)).collect())
    }

    /// Whether an operation is of such a unit.
    pub fn has(&self, helper: Helper) -> bool {
        match helper {
            Helper::CoproIn(unit, _) | Helper::CoproOut(unit, _) | Helper::CoproInvoke(unit, _) | Helper::CoproShow(unit) => {
                self.0.contains(&unit)
            }
            _ => false,
        }
    }
}

/// Whether each run takes from a unit only what is of that run.
fn is_fresh(func: &Func, unit: u32) -> bool {
    // None: not reached so far.
    let mut before: Vec<Option<Fresh>> = vec![None; func.blocks.len()];
    before[0] = Some(Fresh::default());
    let mut open = vec![0_usize];
    while let Some(block) = open.pop() {
        let mut state = before[block].unwrap_or_default();
        let helpers = func.blocks[block]
            .ops
            .iter()
            .filter_map(|value| if let Op::Helper(helper, ..) = func.op(*value)? { Some(*helper) } else { None });
        if !helpers.into_iter().all(|helper| state.step(helper, unit)) {
            return false;
        }
        for edge in func.blocks[block].end.edges() {
            let to = &mut before[edge.block.0 as usize];
            let met = to.map_or(state, |known| known.and(state));
            if *to != Some(met) {
                *to = Some(met);
                open.push(edge.block.0 as usize);
            }
        }
    }
    true
}

impl Fresh {
    /// What holds of both.
    fn and(self, other: Self) -> Self {
        let both = |n: usize| self.registers[n] && other.registers[n];
        Self { registers: std::array::from_fn(both), searched: self.searched && other.searched }
    }

    /// Goes on behind an operation; false if it takes something that may be of another run.
    fn step(&mut self, helper: Helper, of: u32) -> bool {
        match helper {
            Helper::CoproOut(unit, register) if unit == of => self.set(register),
            Helper::CoproIn(unit, register) if unit == of => self.registers.get(register as usize) == Some(&true),
            Helper::CoproInvoke(unit, operation) if unit == of => self.invoke(operation),
            _ => true,
        }
    }

    fn set(&mut self, register: u32) -> bool {
        self.registers.get_mut(register as usize).map(|is| *is = true).is_some()
    }

    /// See the descriptors of these units.
    fn invoke(&mut self, operation: u32) -> bool {
        let name = STRINGMATCHING.operations.get(operation as usize).copied().unwrap_or_default();
        let [group, from, length, _] = self.registers;
        match name {
            "match" | "match_with_offset" => {
                self.searched = true;
                group && length && (from || name == "match")
            }
            "get_result" => {
                self.registers = [true; 4];
                self.searched && group
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use compiler::passes;
    use netil::module::HandlerKind;

    fn of(code: &str) -> bool {
        let text = format!(
            "segment .metadata .use_coprocessor stringmatching as s ends segment .ports push_input a push_output b ends segment .push pop {code} pkt.send b ends"
        );
        let program = netil::verify(netil::asm::assemble(&text, "t").unwrap()).unwrap();
        let (func, _) = compiler::optimised(&program, HandlerKind::Push, &passes::Options::default()).unwrap().unwrap();
        Searches::of(&program, &func) == Searches(BTreeSet::from([0]))
    }

    #[test]
    fn what_a_run_takes_is_of_its_own_search() {
        let set = |registers: &[u32]| registers.iter().map(|n| format!("push 4 copro.out s, {n}")).collect::<Vec<_>>().join(" ");
        let search = format!("{} copro.exbuf s, 0 copro.invoke s, 2", set(&[0, 1, 2]));
        let take = |register: u32| format!("copro.in s, {register} push 0 pstore.32");
        assert!(of(&search));
        assert!(of(&format!("{search} {}", take(0))));
        assert!(of(&format!("{search} copro.invoke s, 3 {}", take(3))));
        assert!(of(&format!("{} copro.exbuf s, 0 copro.invoke s, 1 {}", set(&[0, 2]), take(0))));
        // Registers that an earlier run has left.
        assert!(!of(&take(0)));
        assert!(!of(&format!("{search} {}", take(3))));
        assert!(!of(&format!("{} copro.exbuf s, 0 copro.invoke s, 2", set(&[0, 1]))));
        // A result of an earlier search, and one that only some runs make.
        assert!(!of(&format!("{} copro.invoke s, 3 {}", set(&[0]), take(1))));
        assert!(!of(&format!("push 0 upload.8 j.eq on {search} on: copro.invoke s, 3 {}", take(1))));
        assert!(!of("copro.invoke s, 0"));
    }
}
