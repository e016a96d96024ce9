//! What people's handlers say of elements whose state replicas have parts of: the handler is run
//! once more, on a memory in which the sums of all replicas are added.
//!
//! A program's variables are sums that packets only add to, memory that each run writes before it
//! reads it, and what all replicas have alike. If some are none of these, replicas cannot be
//! joined; nor can they where handlers look into tables, of which each replica has a part.

use super::super::scratch::Scratch;
use super::policy::sums_of;
use netil::Verified;
use netil::module::HandlerKind;
use netil::table::Op;
use runtime::graph::{Graph, HandlerError, Sum};

/// Says what a handler says of all; `memories`: those of the replicas, the first one as it was
/// before there were packets. None if they cannot be joined.
pub(super) fn read(graph: &mut Graph, handler: &str, text: &str, memories: &[Vec<u8>]) -> Option<Result<String, HandlerError>> {
    let element = handler.rsplit_once('.')?.0;
    let node = graph.elements().iter().position(|it| it.name == element)?;
    let memory = joined(graph.engine(node)?.program(), memories)?;
    Some(graph.read_as(handler, text, memory))
}

fn joined(program: &Verified, memories: &[Vec<u8>]) -> Option<Vec<u8>> {
    let ([before, first, ..], false) = (memories, looks_into_tables(program)) else { return None };
    let (sums, mut free) = (sums_of(program), vec![false; before.len()]);
    let added = sums.iter().map(|sum| sum.at..sum.at + sum.bytes);
    for range in added.chain(Scratch::of(program).ranges()) {
        free.get_mut(range)?.fill(true);
    }
    let is_alike = |of: &Vec<u8>| of.len() == free.len() && (0..free.len()).all(|at| free[at] || of[at] == first[at]);
    if !memories[1..].iter().all(is_alike) {
        return None;
    }
    let mut memory = first.clone();
    for sum in &sums {
        let base = number(before, sum);
        let grown = memories[1..].iter().fold(base, |all, of| all.wrapping_add(number(of, sum).wrapping_sub(base)));
        put(&mut memory, sum, grown);
    }
    Some(memory)
}

/// Whether what people's handlers run does: of programs that packets are pushed through, it is the
/// pull handler.
fn looks_into_tables(program: &Verified) -> bool {
    let looks = |op: Op| matches!(op, Op::TFind | Op::TPeek | Op::TInsert | Op::TDelete | Op::TWalk | Op::TDue);
    program.module().handler(HandlerKind::Pull).is_some_and(|handler| handler.code.iter().any(|inst| looks(inst.op)))
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
