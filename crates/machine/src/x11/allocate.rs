//! Registers and flags: each value has one from the stage that makes it to the last one that reads
//! it.
//!
//! Stages are in one line and branches lead forward, so what is alive is an interval, and taking
//! the first that is free is as good as can be (but for pairs, which lie side by side).

use super::code::{Name, Program, Stage};
use super::lower::{Lowered, Op};
use super::order::touched;
use super::{Machine, Refused, whole};
use std::collections::HashMap;

/// Gives numbers to registers and flags; how many are in use.
pub(super) fn allocate(program: &mut Program, lowered: &Lowered, machine: &Machine) -> Result<(u16, u16), Refused> {
    let (mut regs, mut flags) = (HashMap::new(), HashMap::new());
    for (stage, ops) in program.stages.iter().enumerate().map(|(n, stage)| (n, operations(stage))) {
        for t in ops.iter().map(touched) {
            t.reads.iter().for_each(|name| note(&mut regs, *name, stage));
            t.writes.iter().for_each(|name| note(&mut regs, *name, stage));
            t.flag_reads.iter().for_each(|name| note(&mut flags, *name, stage));
            t.flag_writes.iter().for_each(|name| note(&mut flags, *name, stage));
        }
    }
    let (regs, most_regs) = colour(&regs, &lowered.pairs);
    let (flags, most_flags) = colour(&flags, &[]);
    for (most, limit, what) in [(most_regs, machine.pipeline.registers, "registers"), (most_flags, machine.pipeline.flags, "flags")] {
        if most > limit {
            return Err(whole(format!("{most} {what} at once; the machine has {limit}")));
        }
    }
    let mut rename = |name: Name<'_>| match name {
        Name::Reg(reg, _) => *reg = regs.get(reg).copied().unwrap_or(*reg),
        Name::Flag(flag, _) => *flag = flags.get(flag).copied().unwrap_or(*flag),
    };
    for stage in &mut program.stages {
        match stage {
            Stage::Slots(slots) => {
                slots.alu.iter_mut().for_each(|alu| alu.names(&mut rename));
                slots.mov.iter_mut().for_each(|m| m.names(&mut rename));
                slots.load.iter_mut().for_each(|load| load.names(&mut rename));
                slots.branch.iter_mut().filter_map(|b| b.guard.as_mut()).for_each(|is| rename(Name::Flag(&mut is.flag, false)));
            }
            Stage::Point(access) => access.iter_mut().for_each(|access| access.names(&mut rename)),
        }
    }
    Ok((most_regs, most_flags))
}

/// The operations of a stage.
pub(super) fn operations(stage: &Stage) -> Vec<Op> {
    match stage {
        Stage::Slots(slots) => {
            let all = [slots.alu.map(Op::Alu), slots.mov.map(Op::Move), slots.load.map(Op::Load), slots.branch.map(Op::Branch)];
            all.into_iter().flatten().collect()
        }
        Stage::Point(access) => access.iter().cloned().map(Op::Point).collect(),
    }
}

fn note(all: &mut HashMap<u16, (usize, usize)>, name: u16, stage: usize) {
    let interval = all.entry(name).or_insert((stage, stage));
    interval.1 = interval.1.max(stage);
}

/// Numbers for intervals, and how many are in use.
fn colour(intervals: &HashMap<u16, (usize, usize)>, pairs: &[u16]) -> (HashMap<u16, u16>, u16) {
    let mut order: Vec<(u16, usize, usize)> = intervals.iter().map(|(name, (from, to))| (*name, *from, (*to).max(from + 1))).collect();
    order.sort_by_key(|(name, from, _)| (*from, *name));
    // By number the stage from which on it is free: stages read before they write.
    let (mut free, mut numbers) = (Vec::<usize>::new(), HashMap::new());
    for (name, from, to) in order {
        if numbers.contains_key(&name) {
            continue;
        }
        let second = pairs.contains(&name).then(|| intervals.get(&(name + 1)).map_or(from + 1, |(_, to)| (*to).max(from + 1)));
        let is_free = |free: &[usize], n: usize| free.get(n).is_none_or(|until| *until <= from);
        let number = (0..).find(|n| is_free(&free, *n) && (second.is_none() || is_free(&free, n + 1))).unwrap_or(0);
        let wanted = number + 1 + usize::from(second.is_some());
        if free.len() < wanted {
            free.resize(wanted, 0);
        }
        free[number] = to;
        numbers.insert(name, number as u16);
        if let Some(to) = second {
            free[number + 1] = to;
            numbers.insert(name + 1, number as u16 + 1);
        }
    }
    (numbers, free.len() as u16)
}
