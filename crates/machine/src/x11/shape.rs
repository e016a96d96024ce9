//! Changes of the graph of blocks that save instructions: each branch takes a slot of which an
//! instruction has one, and an instruction passes all packets whether they need it or not.

use super::code::{Access, Alu, AluOp, If, Move, MoveOperand, Verdict};
use super::lower::{End, Lowered, Op, Step};
use super::order::{Layout, touched};
use std::collections::BTreeMap;

/// Blocks that do nothing but go on elsewhere are passed by, and two ways to the same place are
/// one.
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
            End::Lookup(all) => all.iter_mut().for_each(through),
        }
    }
    for step in &mut lowered.steps {
        if let Op::Point(Access::Jump { cases, default, .. }) = &mut step.op {
            cases.iter_mut().map(|(_, to)| to).chain([default]).for_each(through);
        }
    }
}

/// Blocks that end with a test for the same two ways share one: each leaves what it found in the
/// same flag. Where they would need a jump to each of the ways, one is left, and none waits for the
/// flag.
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
        rename_all(lowered, done, own + 1);
        let shifted = |to: usize| if to == done { own + 1 } else { to };
        lowered.ends[own] = End::Branch(If { flag, holds }, shifted(yes), shifted(no));
        let common = members.iter().map(|(block, _)| *block).reduce(|a, b| layout.common(a, b));
        for (block, step) in members {
            lowered.ends[block] = End::Jump(own);
            set_flag(&mut lowered.steps[step].op, flag);
            // Before the ways to the others part it would be written for them, too, and perhaps
            // after theirs.
            (lowered.steps[step].below, lowered.steps[step].fixed) = (common, true);
        }
    }
}

/// A test that leads on to another one, where both otherwise lead to the same place: the second
/// takes in what the first has found, and the branch between them is gone. What the second block
/// does is then done for all packets, so it must have no effect but ways out that wait for its
/// test.
pub(super) fn chain_tests(lowered: &mut Lowered) {
    let order = Layout::new(lowered, true).order;
    for block in order.iter().copied() {
        let End::Branch(first, yes, no) = lowered.ends[block] else { continue };
        // Where packets go whose flag is set, and where the others go.
        let (next, other) = if first.holds { (yes, no) } else { (no, yes) };
        let Some((flag, out)) = second_test(lowered, next) else { continue };
        let ways = order.iter().flat_map(|b| lowered.ends[*b].targets()).filter(|to| *to == next).count();
        let waits = |step: &Step| matches!(step.op, Op::Move(Move { guard: Some(If { flag: f, holds: true }), .. }) if f == flag);
        let plain =
            |step: &Step| !step.pinned && !step.fixed && step.below != Some(block) && !matches!(step.op, Op::Branch(_) | Op::Point(_));
        let all_plain = lowered.steps.iter().filter(|step| step.home == next).all(|step| plain(step) || waits(step));
        if out != other || ways != 1 || !all_plain || makers(lowered, first.flag).len() != 1 {
            continue;
        }
        if let Some(head) = head_of_test(lowered, next, flag)
            && let Op::Alu(Alu::Words { with, .. }) = &mut lowered.steps[head].op
        {
            *with = Some(first.flag);
            lowered.ends[block] = End::Jump(next);
        }
    }
}

/// The flag that a block tests at its end, or by which packets leave in it, and where those go on
/// that do not have it.
fn second_test(lowered: &Lowered, block: usize) -> Option<(u16, usize)> {
    match lowered.ends.get(block)? {
        End::Branch(is, yes, no) => Some((is.flag, if is.holds { *no } else { *yes })),
        End::Jump(to) => {
            let mut guards = lowered.steps.iter().filter(|step| step.home == block).filter_map(|step| match step.op {
                Op::Move(Move { guard, to: MoveOperand::Out(_) | MoveOperand::OutBy(_), .. }) => Some(guard),
                _ => None,
            });
            let (Some(Some(is)), None) = (guards.next(), guards.next()) else { return None };
            is.holds.then_some((is.flag, *to))
        }
        End::Lookup(_) => None,
    }
}

/// The operations that write a flag.
fn makers(lowered: &Lowered, flag: u16) -> Vec<usize> {
    (0..lowered.steps.len()).filter(|n| touched(&lowered.steps[*n].op).flag_writes.contains(&flag)).collect()
}

/// The first of the comparisons for equality in a block, each of which takes in the flag of the one
/// before, that make a flag; nobody reads what they find but in that block.
fn head_of_test(lowered: &Lowered, block: usize, mut flag: u16) -> Option<usize> {
    loop {
        let [at] = makers(lowered, flag)[..] else { return None };
        let reads = |step: &Step| step.home != block && touched(&step.op).flag_reads.contains(&flag);
        let tests = |(n, end): (usize, &End)| n != block && matches!(end, End::Branch(is, ..) if is.flag == flag);
        if lowered.steps[at].home != block || lowered.steps.iter().any(reads) || lowered.ends.iter().enumerate().any(tests) {
            return None;
        }
        match &lowered.steps[at].op {
            Op::Alu(Alu::Words { op: AluOp::Eq, dst: None, with: Some(before), .. }) => flag = *before,
            Op::Alu(Alu::Words { op: AluOp::Eq, dst: None, with: None, .. }) => return Some(at),
            _ => return None,
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

/// The stages of lookups, too.
fn rename_all(lowered: &mut Lowered, from: usize, to: usize) {
    lowered.ends.iter_mut().for_each(|end| rename(end, from, to));
    for step in &mut lowered.steps {
        if let Op::Point(Access::Jump { cases, default, .. }) = &mut step.op {
            cases.iter_mut().map(|(_, to)| to).chain([default]).filter(|target| **target == from).for_each(|target| *target = to);
        }
    }
}

/// What a block says of where packets go, if it does nothing else and they leave there.
fn exit_of(lowered: &Lowered, block: usize) -> Option<Verdict> {
    let steps: Vec<&Step> = lowered.steps.iter().filter(|step| step.home == block).collect();
    let leaves = matches!(lowered.ends.get(block), Some(End::Jump(to)) if *to == lowered.ends.len());
    match (&steps[..], leaves) {
        ([Step { op: Op::Move(Move { guard: None, to: MoveOperand::Out(verdict), .. }), .. }], true) => Some(*verdict),
        _ => None,
    }
}

/// Where every way out says where packets go, what is said last holds: so the default of a lookup
/// is said before it, and what one way out and the block behind it say is said once.
pub(super) fn defaults_first(lowered: &mut Lowered) {
    if !lowered.told {
        return;
    }
    let done = lowered.ends.len();
    for block in Layout::new(lowered, true).order {
        let jump = lowered.steps.iter().position(|step| step.home == block && matches!(step.op, Op::Point(Access::Jump { .. })));
        let Some(at) = jump else { continue };
        let Op::Point(Access::Jump { default, .. }) = &mut lowered.steps[at].op else { continue };
        let to = std::mem::replace(default, done);
        match exit_of(lowered, to) {
            Some(verdict) => {
                let op = Op::Move(Move { guard: None, to: MoveOperand::Out(verdict), from: MoveOperand::Imm(0) });
                insert(lowered, at, Step { op, home: block, pinned: true, after: None, below: None, fixed: false });
                if let End::Lookup(all) = &mut lowered.ends[block] {
                    all.iter_mut().rev().take(1).for_each(|last| *last = done);
                }
            }
            None => {
                if let Op::Point(Access::Jump { default, .. }) = &mut lowered.steps[at].op {
                    *default = to;
                }
            }
        }
    }
    said_once(lowered);
}

fn insert(lowered: &mut Lowered, at: usize, step: Step) {
    lowered.steps.insert(at, step);
    lowered.steps.iter_mut().filter_map(|step| step.after.as_mut()).filter(|after| **after >= at).for_each(|after| *after += 1);
}

/// A guarded way out, and the block behind it begins with saying the same to all others: it is said
/// without condition, before.
fn said_once(lowered: &mut Lowered) {
    let done = lowered.ends.len();
    for n in 0..lowered.steps.len() {
        let (block, Op::Move(Move { guard: Some(_), to: to @ MoveOperand::Out(_), .. })) = (lowered.steps[n].home, &lowered.steps[n].op)
        else {
            continue;
        };
        let to = *to;
        let next = match lowered.ends[block] {
            End::Branch(_, yes, no) if yes == done => no,
            End::Branch(_, yes, no) if no == done => yes,
            _ => continue,
        };
        let says = |step: &Step| matches!(step.op, Op::Move(Move { to: MoveOperand::Out(_) | MoveOperand::OutBy(_), .. }));
        let alone = lowered.ends.iter().flat_map(End::targets).filter(|target| *target == next).count() == 1;
        let first = lowered.steps.iter().position(|step| step.home == next && says(step));
        let Some(first) = first.filter(|_| alone) else { continue };
        let Op::Move(Move { guard: None, to: same, .. }) = lowered.steps[first].op else { continue };
        let only = lowered.steps.iter().filter(|step| step.home == block && says(step)).count() == 1;
        if same == to && only && matches!(lowered.ends[next], End::Lookup(_)) {
            lowered.steps[n].op = Op::Move(Move { guard: None, to, from: MoveOperand::Imm(0) });
            lowered.steps[first].op = Op::Move(Move { guard: None, to: MoveOperand::Reg(lowered.regs), from: MoveOperand::Imm(0) });
            lowered.regs += 1;
        }
    }
}

/// A block that leaves the pipeline, and that one test leads to, says where packets go together
/// with the test.
pub(super) fn guard_exits(lowered: &mut Lowered) {
    let (done, reached) = (lowered.ends.len(), Layout::new(lowered, true).order);
    for n in 0..lowered.steps.len() {
        let (block, op) = (lowered.steps[n].home, &lowered.steps[n].op);
        let Op::Move(Move { guard: None, to: to @ (MoveOperand::Out(_) | MoveOperand::OutBy(_)), from }) = *op else { continue };
        let leaves = matches!(lowered.ends.get(block), Some(End::Jump(to)) if *to == done);
        let ways: Vec<usize> =
            reached.iter().flat_map(|b| lowered.ends[*b].targets().into_iter().filter(|to| *to == block).map(|_| *b)).collect();
        let traps = lowered.steps.iter().any(|step| step.home == block && matches!(step.op, Op::Branch(_)));
        let (true, [before], false) = (leaves && lowered.steps[n].pinned, &ways[..], traps) else { continue };
        let End::Branch(is, yes, _) = lowered.ends[*before] else { continue };
        let guard = Some(If { holds: is.holds == (yes == block), ..is });
        lowered.steps[n].home = *before;
        lowered.steps[n].op = Op::Move(Move { guard, to, from });
    }
}
