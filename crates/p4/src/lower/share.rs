//! Locals that are never needed at the same time become one: everything is inlined, so that a
//! program has thousands of scalars of which few live long.
//!
//! Liveness is found on the control-flow graph; from it each local has one interval of the code in
//! its order, and intervals of one type that do not overlap share a local. A store that nothing
//! reads becomes a `pop`. The meaning is that of before: what is read was written by the store that
//! wrote it before.
//!
//! Source: Poletto and Sarkar, "Linear scan register allocation", TOPLAS 21(5), 1999.

use netil::module::{Extra, Handler, Inst};
use netil::table::Op;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::ops::Range;

/// A set of locals.
#[derive(Clone, PartialEq)]
struct Set(Vec<u64>);

impl Set {
    fn new(locals: usize) -> Self {
        Self(vec![0; locals.div_ceil(64)])
    }

    fn insert(&mut self, n: usize) {
        self.0[n / 64] |= 1 << (n % 64);
    }

    fn remove(&mut self, n: usize) {
        self.0[n / 64] &= !(1 << (n % 64));
    }

    fn has(&self, n: usize) -> bool {
        self.0[n / 64] >> (n % 64) & 1 == 1
    }

    fn each(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.0.len()).flat_map(move |w| (0..64).filter(move |b| self.0[w] >> b & 1 == 1).map(move |b| w * 64 + b))
    }

    /// `self |= other`; whether that changed anything.
    fn add(&mut self, other: &Self) -> bool {
        let before = self.0.clone();
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
        self.0 != before
    }
}

/// Instructions that are run in a row, and where control goes then.
struct Block {
    code: Range<usize>,
    next: Vec<usize>,
    live_in: Set,
    live_out: Set,
}

fn targets(inst: &Inst) -> Vec<usize> {
    match &inst.extra {
        Extra::Switch(switch) => switch.cases.iter().map(|c| c.1).chain([switch.default]).map(|t| t as usize).collect(),
        _ if inst.op.branches() => vec![inst.imm[0] as usize],
        _ => Vec::new(),
    }
}

fn blocks(handler: &Handler) -> Vec<Block> {
    let code = &handler.code;
    let mut begins = vec![false; code.len() + 1];
    begins[0] = true;
    for (at, inst) in code.iter().enumerate() {
        let to = targets(inst);
        if !to.is_empty() || inst.op.ends_block() {
            begins[at + 1] = true;
        }
        to.into_iter().filter(|t| *t < code.len()).for_each(|t| begins[t] = true);
    }
    let starts: Vec<usize> = (0..code.len()).filter(|at| begins[*at]).collect();
    let number: HashMap<usize, usize> = starts.iter().enumerate().map(|(n, at)| (*at, n)).collect();
    let block = |(n, start): (usize, &usize)| {
        let end = starts.get(n + 1).copied().unwrap_or(code.len());
        let last = &code[end - 1];
        let mut next: Vec<usize> = targets(last).iter().filter_map(|t| number.get(t).copied()).collect();
        if !last.op.ends_block() && n + 1 < starts.len() {
            next.push(n + 1);
        }
        let none = Set::new(handler.locals.len());
        Block { code: *start..end, next, live_in: none.clone(), live_out: none }
    };
    starts.iter().enumerate().map(block).collect()
}

/// What is live in front of a block's code if `live` is behind it.
fn backward(code: &[Inst], mut live: Set) -> Set {
    for inst in code.iter().rev() {
        match inst.op {
            Op::LocStore => live.remove(inst.imm[0] as usize),
            Op::LocLoad => live.insert(inst.imm[0] as usize),
            _ => {}
        }
    }
    live
}

/// Runs backward over the blocks until nothing changes.
fn liveness(handler: &Handler, blocks: &mut [Block]) {
    loop {
        let mut changed = false;
        for n in (0..blocks.len()).rev() {
            let mut out = std::mem::replace(&mut blocks[n].live_out, Set(Vec::new()));
            let mut grew = false;
            for next in blocks[n].next.clone() {
                grew |= out.add(&blocks[next].live_in);
            }
            if grew || blocks[n].live_in.0.iter().all(|w| *w == 0) {
                let live = backward(&handler.code[blocks[n].code.clone()], out.clone());
                changed |= blocks[n].live_in.add(&live);
            }
            blocks[n].live_out = out;
        }
        if !changed {
            return;
        }
    }
}

/// Makes stores that nothing reads pops, and gives the interval of each local that is read.
fn intervals(handler: &mut Handler, blocks: &[Block]) -> Vec<Option<(usize, usize)>> {
    let mut all: Vec<Option<(usize, usize)>> = vec![None; handler.locals.len()];
    let mut touch = |local: usize, at: usize| {
        let (first, last) = all[local].get_or_insert((at, at));
        (*first, *last) = ((*first).min(at), (*last).max(at));
    };
    for block in blocks {
        let mut live = block.live_out.clone();
        block.live_out.each().for_each(|l| touch(l, block.code.end - 1));
        block.live_in.each().for_each(|l| touch(l, block.code.start));
        for at in block.code.clone().rev() {
            let inst = &mut handler.code[at];
            let local = inst.imm[0] as usize;
            match inst.op {
                Op::LocStore if live.has(local) => {
                    live.remove(local);
                    touch(local, at);
                }
                Op::LocStore => *inst = Inst::new(Op::Pop),
                Op::LocLoad => {
                    live.insert(local);
                    touch(local, at);
                }
                _ => {}
            }
        }
    }
    all
}

/// The handler with as few locals as intervals allow.
pub(super) fn share(mut handler: Handler) -> Handler {
    if handler.code.is_empty() {
        return handler;
    }
    let mut blocks = blocks(&handler);
    liveness(&handler, &mut blocks);
    let intervals = intervals(&mut handler, &blocks);
    let mut order: Vec<(usize, usize, usize)> = intervals.iter().enumerate().filter_map(|(n, i)| i.map(|(a, b)| (a, b, n))).collect();
    order.sort_unstable();
    let (mut number, mut locals) = (vec![0u32; handler.locals.len()], Vec::new());
    let mut busy: HashMap<u16, BinaryHeap<Reverse<(usize, u32)>>> = HashMap::new();
    for (first, last, local) in order {
        let ty = handler.locals[local];
        let heap = busy.entry(ty).or_default();
        let free = heap.peek().is_some_and(|Reverse((end, _))| *end < first);
        let given = match free.then(|| heap.pop()).flatten() {
            Some(Reverse((_, given))) => given,
            None => {
                locals.push(ty);
                locals.len() as u32 - 1
            }
        };
        number[local] = given;
        heap.push(Reverse((last, given)));
    }
    for inst in handler.code.iter_mut().filter(|i| matches!(i.op, Op::LocStore | Op::LocLoad)) {
        inst.imm[0] = number[inst.imm[0] as usize];
    }
    handler.locals = locals;
    handler
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handler(code: &[(Op, u32)], locals: usize) -> Handler {
        let code = code.iter().map(|(op, imm)| Inst::with(*op, *imm)).collect::<Vec<_>>();
        let lines = vec![0; code.len()];
        Handler { code, locals: vec![32; locals], max_stack: 4, lines, labels: Vec::new() }
    }

    #[test]
    fn locals_in_a_row_become_one_and_those_around_a_loop_do_not() {
        use Op::{Dec1, JNe, LocLoad, LocStore, Pop, Push, Ret};
        let row = handler(
            &[(Push, 1), (LocStore, 0), (LocLoad, 0), (LocStore, 1), (LocLoad, 1), (Pop, 0), (Push, 5), (LocStore, 2), (Ret, 0)],
            3,
        );
        let shared = share(row);
        assert_eq!(shared.locals.len(), 1, "the last store is read by nobody");
        assert_eq!(shared.code[7].op, Pop);
        // Local 1 is written in front of the loop and read in it, local 2 is written and read
        // behind that.
        let code = [
            (Push, 9),
            (LocStore, 0),
            (Push, 7),
            (LocStore, 1),
            (LocLoad, 1),
            (Pop, 0),
            (Push, 3),
            (LocStore, 2),
            (LocLoad, 2),
            (Pop, 0),
            (LocLoad, 0),
            (Dec1, 0),
            (LocStore, 0),
            (LocLoad, 0),
            (JNe, 4),
            (Ret, 0),
        ];
        let shared = share(handler(&code, 3));
        assert_eq!(shared.locals.len(), 3, "all are live in the loop");
    }
}
