//! Changes of the graph of blocks that save instructions: each branch takes a slot of which an instruction has one, and an instruction passes all packets whether they need it or not.

use super::code::{If, Move, Place};
use super::lower::{End, Lowered, Op};
use super::order::{Layout, touched};
use std::collections::BTreeMap;

/// Blocks that do nothing but go on elsewhere are passed by, and two ways to the same place are one.
pub(super) fn thread(lowered: &mut Lowered) {
    let mut busy = vec![false; lowered.ends.len()];
    lowered.steps.iter().for_each(|step| busy[step.home] = true);
    let ends = lowered.ends.clone();
    let through = |to: &mut usize| {
        while let Some(End::Jump(next)) = ends.get(*to).filter(|_| !busy[*to]) {
            *to = *next;
        }
    };
    for end in &mut lowered.ends {
        match end {
            End::Jump(to) => through(to),
            End::Branch(_, yes, no) => {
                through(yes);
                through(no);
                if yes == no {
                    *end = End::Jump(*yes);
                }
            }
            // Its stages are in the operation.
            End::Lookup(_) => {}
        }
    }
}

/// Blocks that end with a test for the same two ways share one: each leaves what it found in the same flag. Where they would need a jump to each of the ways, one is left, and none waits for
/// the flag.
pub(super) fn merge_tests(lowered: &mut Lowered) {
    let mut groups: BTreeMap<(usize, usize, bool), Vec<(usize, usize)>> = BTreeMap::new();
    let layout = Layout::new(lowered, true);
    for block in layout.order.iter().copied() {
        let End::Branch(is, yes, no) = &lowered.ends[block] else { continue };
        if let Some(step) = only_maker(lowered, block, is.flag) {
            // A test and its opposite lead to exchanged ways.
            groups.entry((*yes, *no, is.holds)).or_default().push((block, step));
        }
    }
    for ((yes, no, holds), members) in groups.into_iter().filter(|(_, members)| members.len() > 1) {
        let flag = lowered.flags;
        lowered.flags += 1;
        lowered.ends.push(End::Jump(0));
        let (own, done) = (lowered.ends.len() - 1, lowered.ends.len() - 1);
        // The end of the pipeline is the block behind the last one.
        lowered.ends.iter_mut().for_each(|end| rename(end, done, own + 1));
        let shifted = |to: usize| if to == done { own + 1 } else { to };
        lowered.ends[own] = End::Branch(If { flag, holds }, shifted(yes), shifted(no));
        let common = members.iter().map(|(block, _)| *block).reduce(|a, b| layout.common(a, b));
        for (block, step) in members {
            lowered.ends[block] = End::Jump(own);
            set_flag(&mut lowered.steps[step].op, flag);
            // Before the ways to the others part it would be written for them, too, and perhaps after theirs.
            (lowered.steps[step].below, lowered.steps[step].fixed) = (common, true);
        }
    }
}

/// The operation that makes a flag, if it is in that block and nobody else writes or reads it.
fn only_maker(lowered: &Lowered, block: usize, flag: u16) -> Option<usize> {
    let mut maker = None;
    for (n, step) in lowered.steps.iter().enumerate() {
        let t = touched(&step.op);
        if t.flag_reads.contains(&flag) {
            return None;
        }
        if t.flag_writes.contains(&flag) {
            if maker.is_some() || step.home != block || !matches!(step.op, Op::Alu(_)) {
                return None;
            }
            maker = Some(n);
        }
    }
    let tests = lowered.ends.iter().filter(|end| matches!(end, End::Branch(is, ..) if is.flag == flag)).count();
    maker.filter(|_| tests == 1)
}

fn set_flag(op: &mut Op, flag: u16) {
    if let Op::Alu(alu) = op {
        alu.names(&mut |name| {
            if let super::code::Name::Flag(name, true) = name {
                *name = flag;
            }
        });
    }
}

fn rename(end: &mut End, from: usize, to: usize) {
    let name = |target: &mut usize| {
        if *target == from {
            *target = to;
        }
    };
    match end {
        End::Jump(target) => name(target),
        End::Branch(_, yes, no) => [yes, no].into_iter().for_each(name),
        End::Lookup(all) => all.iter_mut().for_each(name),
    }
}

/// A block that leaves the pipeline, and that one test leads to, says where packets go together with the test.
pub(super) fn guard_exits(lowered: &mut Lowered) {
    let (done, reached) = (lowered.ends.len(), Layout::new(lowered, true).order);
    for n in 0..lowered.steps.len() {
        let (block, op) = (lowered.steps[n].home, &lowered.steps[n].op);
        let Op::Move(Move { guard: None, to: to @ (Place::Out(_) | Place::OutBy(_)), from }) = *op else { continue };
        let leaves = matches!(lowered.ends.get(block), Some(End::Jump(to)) if *to == done);
        let ways: Vec<usize> = reached.iter().flat_map(|b| lowered.ends[*b].targets().into_iter().filter(|to| *to == block).map(|_| *b)).collect();
        let traps = lowered.steps.iter().any(|step| step.home == block && matches!(step.op, Op::Branch(_)));
        let (true, [before], false) = (leaves && lowered.steps[n].pinned, &ways[..], traps) else { continue };
        let End::Branch(is, yes, _) = lowered.ends[*before] else { continue };
        let guard = Some(If { holds: is.holds == (yes == block), ..is });
        lowered.steps[n].home = *before;
        lowered.steps[n].op = Op::Move(Move { guard, to, from });
    }
}
