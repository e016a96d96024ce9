//! What handlers say of elements whose state replicas have parts of: the handler is run once more,
//! on a memory and on tables in which the sums of all replicas are added.
//!
//! A program's variables are sums that packets only add to, memory that each run writes before it
//! reads it, and what all replicas have alike. If some are none of these, replicas cannot be
//! joined; nor can they where handlers look into tables of which each replica has the entries of
//! some packets, unless these are sums, too.

use super::super::scratch::Scratch;
use super::super::table_sums::SumTable;
use super::policy::sums_of;
use netil::Verified;
use netil::module::HandlerKind;
use netil::table::Op;
use runtime::graph::{Graph, HandlerError, Kept, Sum};
use std::sync::Arc;

/// What the replicas of an element keep.
pub(super) struct Replicas {
    /// Its data memory before there were packets.
    pub before: Vec<u8>,
    /// Of each replica, with the tables that packets only add to.
    pub kept: Vec<Kept>,
    /// Which tables these are.
    pub sums: Arc<[SumTable]>,
}

/// Says what a handler says of all. None if they cannot be joined.
pub(super) fn read(graph: &mut Graph, handler: &str, text: &str, replicas: &Replicas) -> Option<Result<String, HandlerError>> {
    let (element, name) = handler.split_once('.')?;
    let node = graph.elements().iter().position(|it| it.name == element)?;
    let kept = joined(graph.engine(node)?.program(), name, replicas)?;
    Some(graph.read_as(handler, text, kept))
}

fn joined(program: &Verified, handler: &str, Replicas { before, kept, sums }: &Replicas) -> Option<Kept> {
    let is_sum = |table: u32| sums.iter().any(|sum| sum.number == table);
    let memories: Vec<&Vec<u8>> = kept.iter().map(|kept| &kept.memory).collect();
    let memory = match table_of(program, handler) {
        // It tells a table and nothing else.
        Some(table) if is_sum(table) => memories.first().copied().cloned(),
        Some(_) => None,
        None if !runs_a_handler(program, handler) || looks_into_tables(program, is_sum) => None,
        None => added(program, before, &memories),
    };
    let entries = |number: u32| {
        kept.iter().flat_map(|kept| &kept.tables).filter(|(of, _)| *of == number).map(|(_, its)| its.clone()).collect::<Vec<_>>()
    };
    let tables = sums.iter().map(|sum| (sum.number, sum.added(&entries(sum.number)))).collect();
    memory.map(|memory| Kept { memory, tables })
}

/// The table that a handler `TABLE.what` is of.
fn table_of(program: &Verified, handler: &str) -> Option<u32> {
    let (name, _) = handler.rsplit_once('.')?;
    program.module().tables.iter().position(|table| table.name == name).map(|table| table as u32)
}

/// The memory with what all have added; `before`: as it was before there were packets.
fn added(program: &Verified, before: &[u8], memories: &[&Vec<u8>]) -> Option<Vec<u8>> {
    let first = memories.first().filter(|first| first.len() == before.len())?;
    let (sums, mut free) = (sums_of(program), vec![false; before.len()]);
    let added = sums.iter().map(|sum| sum.at..sum.at + sum.bytes);
    // What handlers say that are computed is left from when they were asked last.
    let said = program.module().controls.iter().filter(|control| control.read && control.call);
    let said = said.map(|control| control.at as usize..(control.at + control.ty.size()) as usize);
    for range in added.chain(Scratch::of(program).ranges()).chain(said) {
        free.get_mut(range)?.fill(true);
    }
    let is_alike = |of: &&Vec<u8>| of.len() == free.len() && (0..free.len()).all(|at| free[at] || of[at] == first[at]);
    if !memories.iter().all(is_alike) {
        return None;
    }
    let mut memory = first.to_vec();
    for sum in &sums {
        let base = number(before, sum);
        let grown = memories.iter().fold(base, |all, of| all.wrapping_add(number(of, sum).wrapping_sub(base)));
        put(&mut memory, sum, grown);
    }
    Some(memory)
}

/// Whether its pull handler runs for that.
fn runs_a_handler(program: &Verified, handler: &str) -> bool {
    program.module().controls.iter().any(|control| control.name == handler && control.call)
}

/// Whether what people's handlers run looks into a table that is no sum: of programs that packets
/// are pushed through, it is the pull handler.
fn looks_into_tables(program: &Verified, is_sum: impl Fn(u32) -> bool) -> bool {
    let looks = |op: Op| matches!(op, Op::TFind | Op::TPeek | Op::TInsert | Op::TDelete | Op::TWalk | Op::TDue);
    let handler = program.module().handler(HandlerKind::Pull);
    handler.is_some_and(|handler| handler.code.iter().any(|inst| looks(inst.op) && !is_sum(inst.imm[0])))
}

fn number(memory: &[u8], sum: &Sum) -> u64 {
    let bytes = &memory[sum.at..sum.at + sum.bytes];
    let one = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
    if sum.big_endian { bytes.iter().fold(0, one) } else { bytes.iter().rev().fold(0, one) }
}

fn put(memory: &mut [u8], sum: &Sum, number: u64) {
    let bytes = &mut memory[sum.at..sum.at + sum.bytes];
    bytes.iter_mut().zip(number.to_le_bytes()).for_each(|(to, byte)| *to = byte);
    if sum.big_endian {
        bytes.reverse();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_of_any_size_and_order() {
        for (bytes, big_endian) in [(1, false), (4, false), (4, true), (8, true)] {
            let (mut memory, sum) = (vec![0; 12], Sum { at: 2, bytes, big_endian });
            put(&mut memory, &sum, 0x17);
            assert_eq!((number(&memory, &sum), memory[if big_endian { 1 + bytes } else { 2 }]), (0x17, 0x17));
        }
    }
}
