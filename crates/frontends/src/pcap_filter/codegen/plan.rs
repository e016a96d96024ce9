//! What code generation must know about a graph beforehand: bytes without which no way can accept,
//! and values used again.

use std::collections::HashSet;

use super::super::ast::Arithop;
use super::super::graph::{Graph, Target};
use super::super::ir::{Field, Ir, Test, Value, ValueId};
use super::super::reads::{operands, reads};

/// Values remembered at most on the way to a block.
const MAX_REMEMBERED: usize = 48;

pub(super) struct DataflowFacts {
    /// For each block: if fewer bytes are captured, every way from it rejects.
    pub needs: Vec<u32>,
    /// Values that some block finds evaluated on every way to it.
    pub reused: HashSet<ValueId>,
}

impl DataflowFacts {
    pub(super) fn new(ir: &Ir, graph: &Graph) -> DataflowFacts {
        DataflowFacts { needs: needs(ir, graph), reused: if ir.uses_last { HashSet::new() } else { reused(ir, graph) } }
    }
}

/// Backwards: a block needs what it reads itself and what both its ways out need.
fn needs(ir: &Ir, graph: &Graph) -> Vec<u32> {
    let mut needs: Vec<u32> = Vec::with_capacity(graph.blocks.len());
    for block in &graph.blocks {
        let of = |target| match target {
            Target::Accept => 0,
            Target::Reject => u32::MAX,
            Target::Block(id) => needs.get(id as usize).copied().unwrap_or(0),
        };
        let mut own = 0;
        reads(ir, ir.test(block.test), &mut |field| {
            if field.base.is_none() {
                own = own.max(field.offset.saturating_add(field.bytes.into()));
            }
        });
        let after = of(block.yes).min(of(block.no));
        needs.push(own.max(after));
    }
    needs
}

/// Forwards: values evaluated on every way to a block that evaluates them again.
fn reused(ir: &Ir, graph: &Graph) -> HashSet<ValueId> {
    let mut reused = HashSet::new();
    let mut arrived: Vec<Option<Vec<ValueId>>> = vec![None; graph.blocks.len()];
    if let Target::Block(entry) = graph.entry {
        arrived[entry as usize] = Some(Vec::new());
    }
    for id in graph.forward() {
        let Some(mut known) = arrived[id].take() else { continue };
        let block = graph.blocks[id];
        for value in evaluated(ir, ir.test(block.test)) {
            visit(ir, value, &mut known, &mut reused);
        }
        for target in [block.yes, block.no] {
            arrive(&mut arrived, target, &known);
        }
    }
    reused
}

fn arrive(arrived: &mut [Option<Vec<ValueId>>], target: Target, known: &[ValueId]) {
    if let Target::Block(id) = target {
        match &mut arrived[id as usize] {
            Some(other) => other.retain(|value| known.binary_search(value).is_ok()),
            empty => *empty = Some(known.to_vec()),
        }
    }
}

/// Values that a test begins with, the field of a set test included.
fn evaluated(ir: &Ir, test: Test) -> Vec<ValueId> {
    let mut found = operands(test);
    if let Test::Within(field, _) = test {
        found.extend(ir.find(Value::Load(field)));
    }
    found
}

/// A value that is known is used again as a whole; one that is not is evaluated, parts first.
fn visit(ir: &Ir, id: ValueId, known: &mut Vec<ValueId>, reused: &mut HashSet<ValueId>) {
    let Err(_) = known.binary_search(&id) else {
        reused.insert(id);
        return;
    };
    match ir.value(id) {
        Value::Const(_) | Value::Len | Value::Slot(_) | Value::Last => return,
        Value::Load(field) => field.base.into_iter().for_each(|base| visit(ir, base, known, reused)),
        Value::Neg(a) => visit(ir, a, known, reused),
        Value::Bin(_, a, b) => {
            if header_len(ir, id).is_none() {
                visit(ir, a, known, reused);
            }
            visit(ir, b, known, reused);
        }
    }
    if known.len() < MAX_REMEMBERED
        && let Err(at) = known.binary_search(&id)
    {
        known.insert(at, id);
    }
}

/// The field whose lower four bits are an IPv4 header's length in words, if the value is that
/// length in bytes.
pub(in crate::pcap_filter) fn header_len(ir: &Ir, id: ValueId) -> Option<Field> {
    let Value::Bin(Arithop::Shl, words, two) = ir.value(id) else { return None };
    let Value::Bin(Arithop::And, byte, fifteen) = ir.value(words) else { return None };
    match (ir.value(byte), ir.value(fifteen), ir.value(two)) {
        (Value::Load(field), Value::Const(15), Value::Const(2)) if field.bytes == 1 => Some(field),
        _ => None,
    }
}
