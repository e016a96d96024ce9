//! What comes before stages are filled: operations that nobody needs go, others move down to where
//! they are needed, blocks get an order.
//!
//! An operation without effect belongs to the block that every use of it comes after, the nearest
//! such; the scheduler may do it in any block before. The order of blocks is a topological one in
//! which one way out of each block goes on in the next one, where that can be.

use super::code::{Move, MoveOperand, Name, Reg};
use super::lower::{End, Lowered, Op};
use std::collections::HashMap;

/// The graph of blocks in an order.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// Reachable blocks; the end of the pipeline is not among them.
    pub(super) order: Vec<usize>,
    /// By block its place in the order.
    pub(super) place: Vec<usize>,
    /// By block the one that every way to it goes through, the nearest.
    pub(super) dominator: Vec<usize>,
}

impl End {
    /// Where it leads.
    pub(super) fn targets(&self) -> Vec<usize> {
        match self {
            Self::Jump(to) => vec![*to],
            Self::Branch(_, yes, no) => vec![*yes, *no],
            Self::Lookup(all) => all.clone(),
        }
    }
}

/// Registers and flags that an operation reads and writes.
#[derive(Clone, Debug, Default)]
pub(super) struct Touched {
    pub(super) reads: Vec<u16>,
    pub(super) writes: Vec<u16>,
    pub(super) flag_reads: Vec<u16>,
    pub(super) flag_writes: Vec<u16>,
}

/// What an operation names; both registers of a pair.
pub(super) fn touched(op: &Op) -> Touched {
    let mut t = Touched::default();
    let mut note = |name: Name<'_>| match name {
        Name::Reg(reg, true) => t.writes.push(*reg),
        Name::Reg(reg, false) => t.reads.push(*reg),
        Name::Flag(flag, true) => t.flag_writes.push(*flag),
        Name::Flag(flag, false) => t.flag_reads.push(*flag),
    };
    match op.clone() {
        Op::Alu(mut alu) => alu.names(&mut note),
        Op::Move(mut m) => {
            m.names(&mut note);
            let second = |place: MoveOperand| if let MoveOperand::Pair(reg) = place { Some(reg + 1) } else { None };
            t.writes.extend(second(m.to));
            t.reads.extend(second(m.from));
        }
        Op::Load(mut load) => load.names(&mut note),
        Op::Branch(branch) => t.flag_reads.extend(branch.guard.map(|guard| guard.flag)),
        Op::Point(mut access) => access.names(&mut note),
    }
    t
}

impl Lowered {
    /// What an operation names, and what it says of where packets go.
    pub(super) fn touched(&self, n: usize) -> Touched {
        let op = &self.steps[n].op;
        let mut t = touched(op);
        if let (Some(usual), Op::Move(Move { to: MoveOperand::Out(_) | MoveOperand::OutBy(_), .. })) = (self.usual, op) {
            if n == 0 { t.writes.push(usual) } else { t.reads.push(usual) }
        }
        t
    }
}

impl Layout {
    /// An order; of two ways out the first or the second goes on in the next block.
    pub(super) fn new(lowered: &Lowered, first_next: bool) -> Self {
        let done = lowered.ends.len();
        let (mut seen, mut order, mut stack) = (vec![false; done], Vec::new(), vec![(0, 0)]);
        seen[0] = true;
        while let Some((block, way)) = stack.pop() {
            let mut targets = lowered.ends[block].targets();
            if first_next {
                targets.reverse();
            }
            match targets.get(way) {
                Some(to) => {
                    stack.push((block, way + 1));
                    if *to < done && !std::mem::replace(&mut seen[*to], true) {
                        stack.push((*to, 0));
                    }
                }
                None => order.push(block),
            }
        }
        order.reverse();
        let mut place = vec![usize::MAX; done];
        order.iter().enumerate().for_each(|(n, block)| place[*block] = n);
        let dominator = dominators(lowered, &order, &place);
        Self { order, place, dominator }
    }

    /// The nearest block that every way to both goes through.
    pub(super) fn common(&self, mut a: usize, mut b: usize) -> usize {
        while a != b {
            if self.place[a] > self.place[b] { a = self.dominator[a] } else { b = self.dominator[b] }
        }
        a
    }

    /// From the first block to that one, those that every way to it goes through.
    pub(super) fn chain(&self, block: usize) -> Vec<usize> {
        let mut chain = vec![block];
        while self.dominator[chain[chain.len() - 1]] != chain[chain.len() - 1] {
            chain.push(self.dominator[chain[chain.len() - 1]]);
        }
        chain.reverse();
        chain
    }
}

fn dominators(lowered: &Lowered, order: &[usize], place: &[usize]) -> Vec<usize> {
    let mut dominator = vec![usize::MAX; place.len()];
    dominator[order[0]] = order[0];
    for block in order {
        for to in lowered.ends[*block].targets().into_iter().filter(|to| *to < place.len()) {
            let (mut a, mut b) = (*block, if dominator[to] == usize::MAX { *block } else { dominator[to] });
            while a != b {
                if place[a] > place[b] { a = dominator[a] } else { b = dominator[b] }
            }
            dominator[to] = a;
        }
    }
    dominator
}

/// What is loaded twice from the same place is loaded once; where, is decided by who uses it.
pub(super) fn merge_loads(lowered: &mut Lowered) {
    let (mut known, mut names): (Vec<(MoveOperand, Reg)>, HashMap<u16, u16>) = (Vec::new(), HashMap::new());
    for step in lowered.steps.iter().filter(|step| !step.pinned) {
        let Op::Move(Move { guard: None, to: to @ (MoveOperand::Reg(reg) | MoveOperand::Pair(reg)), from }) = step.op else { continue };
        if !matches!(from, MoveOperand::Packet(..) | MoveOperand::Info(..) | MoveOperand::Len | MoveOperand::WireLen | MoveOperand::Port) {
            continue;
        }
        match known.iter().find(|(place, _)| *place == from) {
            Some((_, first)) => {
                names.insert(reg, *first);
                if matches!(to, MoveOperand::Pair(_)) {
                    names.insert(reg + 1, first + 1);
                }
            }
            None => known.push((from, reg)),
        }
    }
    let mut rename = |name: Name<'_>| {
        if let Name::Reg(reg, false) = name {
            *reg = names.get(reg).copied().unwrap_or(*reg);
        }
    };
    for step in &mut lowered.steps {
        match &mut step.op {
            Op::Alu(alu) => alu.names(&mut rename),
            Op::Move(m) => m.names(&mut rename),
            Op::Load(load) => load.names(&mut rename),
            Op::Branch(_) => {}
            Op::Point(access) => access.names(&mut rename),
        }
    }
}

/// Removes operations without effect that nobody uses; those of blocks that are not reached, too.
pub(super) fn remove_dead(lowered: &mut Lowered) {
    let layout = Layout::new(lowered, true);
    let (mut regs, mut flags) = (vec![false; lowered.regs.into()], vec![false; lowered.flags.into()]);
    for block in &layout.order {
        if let End::Branch(is, ..) = lowered.ends[*block] {
            flags[usize::from(is.flag)] = true;
        }
    }
    lowered.usual.into_iter().for_each(|usual| regs[usize::from(usual)] = true);
    let mut kept = vec![false; lowered.steps.len()];
    for (n, step) in lowered.steps.iter().enumerate().rev() {
        let t = lowered.touched(n);
        let used = t.writes.iter().any(|reg| regs[usize::from(*reg)]) || t.flag_writes.iter().any(|flag| flags[usize::from(*flag)]);
        let reached = layout.place.get(step.home).is_some_and(|place| *place != usize::MAX);
        // A value for an edge is no effect.
        if reached && (used || step.pinned && !is_copy(&step.op)) {
            kept[n] = true;
            t.reads.iter().for_each(|reg| regs[usize::from(*reg)] = true);
            t.flag_reads.iter().for_each(|flag| flags[usize::from(*flag)] = true);
        }
    }
    for step in &mut lowered.steps {
        trim(&mut step.op, &regs, &flags);
    }
    let mut number = vec![usize::MAX; kept.len()];
    let mut steps = Vec::new();
    for (n, step) in std::mem::take(&mut lowered.steps).into_iter().enumerate().filter(|(n, _)| kept[*n]) {
        number[n] = steps.len();
        steps.push(step);
    }
    for step in &mut steps {
        step.after = step.after.map(|n| number[n]).filter(|n| *n != usize::MAX);
    }
    lowered.steps = steps;
}

/// Whether an operation writes registers or flags and nothing else, and waits for nothing.
fn is_copy(op: &Op) -> bool {
    match op {
        Op::Alu(_) => true,
        Op::Move(m) => matches!(m.to, MoveOperand::Reg(_) | MoveOperand::Pair(_)),
        Op::Load(load) => !load.store,
        _ => false,
    }
}

/// Flags and numbers of entries that nobody looks at are not written.
fn trim(op: &mut Op, regs: &[bool], flags: &[bool]) {
    use super::code::{Access, Alu};
    let unused = |reg: &Option<Reg>| reg.is_some_and(|reg| !regs[usize::from(reg)]);
    match op {
        Op::Alu(Alu::Words { dst, flag, .. }) => {
            *dst = dst.filter(|reg| regs[usize::from(*reg)]);
            *flag = flag.filter(|flag| flags[usize::from(*flag)]);
        }
        Op::Point(Access::Find { entry, .. } | Access::Insert { entry, .. }) if unused(entry) => *entry = None,
        _ => {}
    }
}

/// Moves operations without effect down to where all their uses are behind.
pub(super) fn sink(lowered: &mut Lowered) {
    let layout = Layout::new(lowered, true);
    let (mut regs, mut flags): (HashMap<u16, usize>, HashMap<u16, usize>) = (HashMap::new(), HashMap::new());
    let join = |at: &mut HashMap<u16, usize>, name: u16, block: usize| {
        let common = at.get(&name).map_or(block, |known| layout.common(*known, block));
        at.insert(name, common);
    };
    for block in &layout.order {
        if let End::Branch(is, ..) = lowered.ends[*block] {
            join(&mut flags, is.flag, *block);
        }
        if let Some(usual) = lowered.usual.filter(|_| lowered.ends[*block].targets().contains(&lowered.ends.len())) {
            join(&mut regs, usual, *block);
        }
    }
    for n in (0..lowered.steps.len()).rev() {
        let t = lowered.touched(n);
        let step = &mut lowered.steps[n];
        if !step.pinned && !step.fixed {
            let uses = t.writes.iter().filter_map(|reg| regs.get(reg)).chain(t.flag_writes.iter().filter_map(|flag| flags.get(flag)));
            step.home = uses.copied().reduce(|a, b| layout.common(a, b)).unwrap_or(step.home);
        }
        t.reads.iter().for_each(|reg| join(&mut regs, *reg, step.home));
        t.flag_reads.iter().for_each(|flag| join(&mut flags, *flag, step.home));
    }
}
