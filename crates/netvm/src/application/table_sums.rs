//! Tables that packets only add to: each replica can have one of its own, and what they say
//! together are the sums of their entries.
//!
//! ```text
//!  insert ──▶ reference ──▶ compared with 0, entry load, entry store: nothing else
//!             entry load ──▶ add ──▶ entry store at the same place of the same entry: nothing else
//! ```
//!
//! Then what a run does follows from its packet alone, as long as no table is full, and sums of the
//! entries do not depend on which table a packet was counted in. Other handlers may look into such
//! a table; none changes it.
//!
//! Source: NFOS (EuroSys 2024), section 4 (commutative state). Left out: tables with a timeout,
//! whose entries would not end together; entries that are looked for without being made, or
//! deleted; numbers in network byte order, and of fewer bits than they are added in.

use super::accesses::ops;
use compiler::mir::{Block, Func, Helper, Op, Value};
use netil::Verified;
use netil::module::{Entry, HandlerKind, Table, TableKind};
use netil::ops::BinOp;
use netil::table::Op as Instruction;
use std::collections::{BTreeMap, BTreeSet};

/// A table that packets only add to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SumTable {
    pub number: u32,
    pub name: String,
    /// The numbers in its entries: where each begins, and its bytes.
    pub fields: BTreeSet<(u32, u32)>,
    /// An operation that adds.
    pub site: u32,
}

/// Those of a program, by its push handler.
pub(super) fn sum_tables(program: &Verified, func: &Func) -> Vec<SumTable> {
    let fits = |table: &Table| table.kind == TableKind::Exact && table.timeout_ns == 0 && table.entries.is_empty();
    let tables = program.module().tables.iter().zip(0..).filter(|(table, _)| func.kind == HandlerKind::Push && fits(table));
    tables
        .filter(|(_, number)| !is_changed_elsewhere(program, *number))
        .filter_map(|(table, number)| sum_table(func, number, &table.name))
        .collect()
}

/// Whether a handler that is not for packets does more with a table than look into it.
fn is_changed_elsewhere(program: &Verified, table: u32) -> bool {
    let looks = |op: Instruction| {
        matches!(op, Instruction::TFind | Instruction::TPeek | Instruction::TNone | Instruction::TValid | Instruction::TLoad)
    };
    let of_tables = |op: Instruction| (Instruction::TFind..=Instruction::TDeadline).contains(&op);
    let others = HandlerKind::ALL.into_iter().filter(|kind| *kind != HandlerKind::Push);
    let mut code = others.filter_map(|kind| program.module().handler(kind)).flat_map(|handler| &handler.code);
    code.any(|inst| of_tables(inst.op) && !looks(inst.op) && inst.imm.first().is_none_or(|of| u64::from(*of) == u64::from(table)))
}

fn sum_table(func: &Func, number: u32, name: &str) -> Option<SumTable> {
    let its = |helper: Helper| helper.table() == Some(number);
    let helpers = || {
        ops(func).filter_map(|(value, op)| if let Op::Helper(helper, args, site) = op { Some((value, *helper, args, *site)) } else { None })
    };
    let is_known = |helper: Helper| matches!(helper, Helper::Insert(_) | Helper::EntryLoad(..) | Helper::EntryStore(..));
    if !helpers().all(|(_, helper, ..)| !its(helper) || is_known(helper)) || !are_references_only(func, number) {
        return None;
    }
    let uses = uses(func);
    let (mut fields, mut added, mut site) = (BTreeSet::new(), BTreeSet::new(), None);
    for (at, block) in func.blocks.iter().enumerate() {
        for (place, value) in block.ops.iter().enumerate() {
            let Some(Op::Helper(Helper::EntryStore(of, _), _, here)) = func.op(*value) else { continue };
            if *of == number {
                let (loaded, field) = sum(func, &uses, (Block(at as u32), place))?;
                added.insert(loaded);
                fields.insert(field);
                site = Some(*here);
            }
        }
    }
    let mut loads = helpers().filter(|(_, helper, ..)| matches!(helper, Helper::EntryLoad(of, _) if *of == number));
    let all_added = loads.all(|(value, ..)| added.contains(&value) && uses.get(&value) == Some(&1));
    let apart = fields.iter().zip(fields.iter().skip(1)).all(|((at, bytes), (next, _))| at + bytes <= *next);
    Some(SumTable { number, name: name.to_owned(), fields, site: site? }).filter(|_| all_added && apart)
}

/// How often each value is used.
fn uses(func: &Func) -> BTreeMap<Value, u32> {
    let mut uses = BTreeMap::new();
    let mut count = |value: Value| *uses.entry(value).or_insert(0) += 1;
    ops(func).for_each(|(_, op)| op.operands(&mut count));
    func.blocks.iter().for_each(|block| block.end.values(&mut count));
    uses
}

/// The load of a number that a store puts back with something added, and where that number is; none
/// if the store does anything else.
fn sum(func: &Func, uses: &BTreeMap<Value, u32>, (block, place): (Block, usize)) -> Option<(Value, (u32, u32))> {
    let ops = &func.block(block).ops;
    let entry_store = |value: &Value| {
        if let Some(Op::Helper(Helper::EntryStore(table, at), args, _)) = func.op(*value) {
            Some((*table, *at, args[0], args[1]))
        } else {
            None
        }
    };
    let (table, at, sum, entry) = entry_store(&ops[place])?;
    let Some(Op::Bin(BinOp::Add, a, b)) = func.op(sum).filter(|_| uses.get(&sum) == Some(&1)) else { return None };
    let is_old = |value: &Value| match func.op(*value) {
        Some(Op::Helper(Helper::EntryLoad(of, from), args, _)) => {
            (*of, *from, args[0]) == (table, at, entry) && func.width(*value) == func.width(sum)
        }
        _ => false,
    };
    let old = match (is_old(a), is_old(b)) {
        (true, false) => *a,
        (false, true) => *b,
        _ => return None,
    };
    // Nothing else is stored between.
    let since = ops[..place].iter().rposition(|value| *value == old)?;
    let between = ops[since..place].iter().filter_map(entry_store).any(|(of, to, ..)| (of, to) == (table, at));
    (!between).then_some((old, (at, u32::from(func.width(sum)) / 8)))
}

/// Whether references to entries of a table, which are numbers, are for nothing but to load and
/// store by them, and to see whether there is an entry.
fn are_references_only(func: &Func, table: u32) -> bool {
    let mut references: BTreeSet<Value> =
        ops(func).filter(|(_, op)| matches!(op, Op::Helper(Helper::Insert(of), ..) if *of == table)).map(|(value, _)| value).collect();
    let edges = || func.blocks.iter().flat_map(|block| block.end.edges());
    let passed = || edges().flat_map(|edge| func.block(edge.block).params.iter().copied().zip(edge.args.iter().copied()));
    while let Some(param) = passed().find(|(param, arg)| references.contains(arg) && !references.contains(param)).map(|(param, _)| param) {
        references.insert(param);
    }
    let is = |value: &Value| references.contains(value);
    let is_zero = |value: &Value| func.constant(*value) == Some(0);
    let meets = |op: &Op| {
        let mut found = false;
        op.operands(|value| found |= is(&value));
        found
    };
    let fits = |op: &Op| match op {
        Op::Helper(Helper::EntryLoad(of, _), args, _) if *of == table => is(&args[0]),
        Op::Helper(Helper::EntryStore(of, _), args, _) if *of == table => is(&args[1]) && !is(&args[0]),
        Op::Cmp(_, a, b) => !meets(op) || is(a) && is_zero(b) || is_zero(a) && is(b),
        _ => !meets(op),
    };
    let ends = func.blocks.iter().all(|block| match &block.end {
        compiler::mir::Terminator::Branch(value, ..)
        | compiler::mir::Terminator::Switch(value, ..)
        | compiler::mir::Terminator::SendBy(value, ..) => !is(value),
        _ => true,
    });
    // What comes to a place as a reference is one, or none.
    let all_are = passed().all(|(param, arg)| !is(&param) || is(&arg) || is_zero(&arg));
    ends && all_are && ops(func).all(|(_, op)| fits(op))
}

impl SumTable {
    /// The entries of all: each key once, with the sums of the numbers that entries have of it.
    pub fn added(&self, tables: &[Vec<Entry>]) -> Vec<Entry> {
        let mut all: BTreeMap<Box<[u64]>, Entry> = BTreeMap::new();
        for entry in tables.iter().flatten() {
            match all.get_mut(&entry.key) {
                None => _ = all.insert(entry.key.clone(), entry.clone()),
                Some(own) => self.add(&mut own.value, &entry.value),
            }
        }
        all.into_values().collect()
    }

    fn add(&self, own: &mut [u8], other: &[u8]) {
        for (at, bytes) in &self.fields {
            let range = *at as usize..(*at + *bytes) as usize;
            let (Some(own), Some(other)) = (own.get_mut(range.clone()), other.get(range)) else { continue };
            let mut carry = 0;
            for (own, other) in own.iter_mut().zip(other) {
                let sum = u16::from(*own) + u16::from(*other) + carry;
                (*own, carry) = (sum as u8, sum >> 8);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use compiler::passes;

    /// The tables of a program that packets only add to, and their fields.
    fn of(push: &str, init: &str) -> Vec<(u32, Vec<(u32, u32)>)> {
        let tables = "segment .tables .table a, exact, 32, 16, 64 .table b, exact, 32, 16, 64 .table ages, exact, 32, 16, 64, 1000 ends";
        let ports = "segment .metadata .datamem_size 8 ends segment .ports push_input in push_output out push_output other ends";
        let init = format!("segment .init {init} ret ends");
        let locals = ".local 0, entry a .local 1, entry b .local 2, entry ages";
        let text = format!("{tables} {ports} {init} segment .push {locals} pop {push} pkt.send out ends");
        let program = netil::verify(netil::asm::assemble(&text, "t").unwrap_or_else(|error| panic!("{text}: {error}"))).unwrap();
        let (func, _) = compiler::optimised(&program, HandlerKind::Push, &passes::Options::default()).unwrap().unwrap();
        sum_tables(&program, &func).into_iter().map(|it| (it.number, it.fields.into_iter().collect())).collect()
    }

    /// Looks up the entry of the packet's address, and keeps the reference.
    fn enters(table: &str, local: u32) -> String {
        format!(" push 26 w.pload 32 t.insert {table} locstore {local} ")
    }

    /// Adds to a number of an entry, if there is one.
    fn adds(table: &str, local: u32, (at, label): (u32, &str), what: &str) -> String {
        let load = format!("locload {local} t.load {table}, 32, {at} {what} add locload {local} t.store {table}, 32, {at}");
        format!(" locload {local} t.valid {table} push 0 jcmp.eq {label} {load} {label}: ")
    }

    #[test]
    fn tables_that_packets_only_add_to_are_found() {
        let one = enters("a", 0) + &adds("a", 0, (0, "full"), "push 1");
        assert_eq!(of(&one, ""), [(0, vec![(0, 4)])]);
        // Several numbers, a number of 64 bits, several tables, and looking into it by another
        // handler.
        let two = one.clone() + &adds("a", 0, (8, "full2"), "pbl");
        assert_eq!(of(&two, ""), [(0, vec![(0, 4), (8, 4)])]);
        let wide = enters("b", 1) + "locload 1 t.load b, 64, 8 pbl w.zext 32, 64 w.add 64 locload 1 t.store b, 64, 8";
        assert_eq!(of(&wide, ""), [(1, vec![(8, 8)])]);
        assert_eq!(of(&(one.clone() + &wide), "").len(), 2);
        assert_eq!(of(&one, "push 0 t.peek a t.valid a pop").len(), 1);
    }

    #[test]
    fn tables_of_which_more_is_wanted_are_none() {
        let one = enters("a", 0) + &adds("a", 0, (0, "full"), "push 1");
        let load = "locload 0 t.load a, 32, 0";
        for more in [
            // The number goes into the packet, or decides something.
            format!("{load} push 26 pstore.32"),
            format!("{load} push 5 jcmp.eq five push 0 push 0 pstore.8 five:"),
            // It is set, multiplied, or added elsewhere.
            "push 7 locload 0 t.store a, 32, 4".to_owned(),
            format!("{load} push 3 mul locload 0 t.store a, 32, 0"),
            format!("{load} push 1 add locload 0 t.store a, 32, 4"),
            // Numbers that reach into each other.
            "locload 0 t.load a, 32, 2 push 1 add locload 0 t.store a, 32, 2".to_owned(),
            // An entry is looked for, or deleted.
            "push 26 w.pload 32 t.find a t.valid a push 0 pstore.8".to_owned(),
            "push 26 w.pload 32 t.delete a pop".to_owned(),
        ] {
            assert_eq!(of(&(one.clone() + &more), ""), [], "{more}");
        }
        assert_eq!(of(&one, "push 1 t.insert a pop"), [], "another handler makes entries");
        assert_eq!(of(&(enters("ages", 2) + &adds("ages", 2, (0, "full"), "push 1")), ""), [], "entries end");
        assert_eq!(of(&enters("a", 0), ""), [], "nothing is added");
    }

    #[test]
    fn entries_of_one_key_are_added_number_by_number() {
        let table = SumTable { number: 0, name: String::new(), fields: [(0, 4), (4, 2)].into(), site: 0 };
        let entry = |key: u64, value: [u8; 8]| Entry { key: [key].into(), mask: Box::default(), priority: 0, value: value.into() };
        let first = vec![entry(1, [255, 255, 0, 0, 255, 255, 9, 9]), entry(5, [1; 8])];
        let second = vec![entry(1, [2, 0, 0, 0, 2, 0, 9, 9]), entry(3, [2; 8])];
        let want = [entry(1, [1, 0, 1, 0, 1, 0, 9, 9]), entry(3, [2; 8]), entry(5, [1; 8])];
        assert_eq!(table.added(&[first, second]), want);
    }
}
