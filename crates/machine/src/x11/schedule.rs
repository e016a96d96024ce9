//! Fills stages: block by block, each operation in the earliest slot that is free once its operands
//! are there.
//!
//! An operation without effect may take a free slot of any block that every way to its own goes
//! through, so work of several blocks shares instructions; whoever does not need it has done it in
//! vain, which costs nothing where each packet passes all stages. Effects stay in their block,
//! behind the exits before them. Several orders of blocks and of operations are tried, and the
//! shortest program is taken.
//!
//! Source: list scheduling with speculation upwards along the dominator tree, as in Mahlke and
//! others, "Sentinel Scheduling" (1992), where nothing that is done early can trap. The paper's own
//! compiler merged neighbours on straight lines.

use super::allocate;
use super::code::{Access, Branch, If, Move, MoveOperand, Program, Slots, Stage, Target};
use super::lower::{End, Lowered, Op, Step};
use super::order::{Layout, Touched, merge_loads, remove_dead, sink};
use super::shape::{chain_tests, defaults_first, guard_exits, merge_tests, thread};
use super::{Machine, Refused, whole};

/// The shortest program that was found, and of those the one with fewest operations, with the
/// registers and flags that it takes.
pub(super) fn best(mut lowered: Lowered, machine: &Machine) -> Result<(Program, u16, u16), Refused> {
    merge_loads(&mut lowered);
    let mut found: Option<(Program, Lowered)> = None;
    for chained in [false, true] {
        let shaped = shaped(lowered.clone(), chained);
        for first_next in [true, false] {
            for by_height in [true, false] {
                let made = Scheduler::new(&shaped, machine, first_next).run(by_height);
                let cost = |program: &Program| (program.stages.len(), program.size().instructions, program.size().operations);
                if found.as_ref().is_none_or(|(best, _)| cost(&made) < cost(best)) {
                    found = Some((made, shaped.clone()));
                }
            }
        }
    }
    let Some((mut program, lowered)) = found else { return Err(whole("no program")) };
    let most = machine.pipeline.stages as usize * machine.pipeline.passes as usize;
    if program.stages.len() > most {
        return Err(whole(format!("{} stages; the pipeline has {most}", program.stages.len())));
    }
    let (registers, flags) = allocate::allocate(&mut program, &lowered, machine)?;
    program.sets = lowered.sets;
    program.traps = lowered.traps;
    Ok((program, registers, flags))
}

/// The graph of blocks as it takes fewest instructions; `chained`: tests take in what those before
/// have found.
fn shaped(mut lowered: Lowered, chained: bool) -> Lowered {
    for _ in 0..2 {
        remove_dead(&mut lowered);
        sink(&mut lowered);
        thread(&mut lowered);
        if chained {
            chain_tests(&mut lowered);
            thread(&mut lowered);
        }
        merge_tests(&mut lowered);
        guard_exits(&mut lowered);
        defaults_first(&mut lowered);
    }
    remove_dead(&mut lowered);
    lowered
}

struct Scheduler<'a> {
    lowered: &'a Lowered,
    machine: &'a Machine,
    layout: Layout,
    touched: Vec<Touched>,
    stages: Vec<Stage>,
    /// By block its stages: the first, and behind the last.
    own: Vec<(usize, usize)>,
    /// By register the stage from which on it may be read; the same of flags.
    ready: Vec<usize>,
    flag_ready: Vec<usize>,
    /// By operation its stage.
    at: Vec<usize>,
}

/// What pinned operations of a block wait for.
#[derive(Clone, Copy, Default)]
struct Order {
    /// Behind exits.
    exit: usize,
    /// Behind stores to what the packet carries.
    store: usize,
    /// Not before other effects.
    any: usize,
    /// Behind what said where the packet goes.
    out: usize,
}

impl<'a> Scheduler<'a> {
    fn new(lowered: &'a Lowered, machine: &'a Machine, first_next: bool) -> Self {
        let layout = Layout::new(lowered, first_next);
        Self {
            lowered,
            machine,
            touched: (0..lowered.steps.len()).map(|n| lowered.touched(n)).collect(),
            stages: Vec::new(),
            own: vec![(0, 0); layout.place.len()],
            ready: vec![0; lowered.regs.into()],
            flag_ready: vec![0; lowered.flags.into()],
            at: vec![usize::MAX; lowered.steps.len()],
            layout,
        }
    }

    fn run(mut self, by_height: bool) -> Program {
        let heights = if by_height { self.heights() } else { vec![0; self.lowered.steps.len()] };
        let order = self.layout.order.clone();
        let mut of_block: Vec<Vec<usize>> = vec![Vec::new(); self.layout.place.len()];
        self.lowered.steps.iter().enumerate().for_each(|(n, step)| of_block[step.home].push(n));
        for (place, block) in order.iter().enumerate() {
            let start = self.stages.len();
            self.own[*block] = (start, start);
            let mut steps = std::mem::take(&mut of_block[*block]);
            steps.sort_by_key(|n| std::cmp::Reverse(heights[*n]));
            self.block(*block, &steps);
            self.leave(*block, order.get(place + 1).copied());
        }
        self.gather();
        self.resolve();
        Program { stages: self.stages, ..Program::default() }
    }

    /// By operation the length of the longest chain that waits for it. Effects of a block keep
    /// their order.
    fn heights(&self) -> Vec<usize> {
        let steps = &self.lowered.steps;
        let (mut regs, mut flags) = (vec![0; self.lowered.regs.into()], vec![0; self.lowered.flags.into()]);
        let (mut pinned, mut heights) = (vec![0; self.layout.place.len()], vec![0; steps.len()]);
        for block in &self.layout.order {
            if let End::Branch(is, ..) = self.lowered.ends[*block] {
                flags[usize::from(is.flag)] = 1;
            }
        }
        for (n, step) in steps.iter().enumerate().rev() {
            let t = &self.touched[n];
            let uses = t.writes.iter().map(|reg| regs[usize::from(*reg)]).chain(t.flag_writes.iter().map(|flag| flags[usize::from(*flag)]));
            let mut height: usize = uses.max().unwrap_or(0);
            if step.pinned {
                height = height.max(pinned[step.home]);
                pinned[step.home] = height;
            }
            heights[n] = height.max(heights[n]);
            let below = heights[n] + 1;
            t.reads.iter().for_each(|reg| regs[usize::from(*reg)] = below.max(regs[usize::from(*reg)]));
            t.flag_reads.iter().for_each(|flag| flags[usize::from(*flag)] = below.max(flags[usize::from(*flag)]));
            step.after.into_iter().for_each(|n| heights[n] = heights[n].max(below));
        }
        heights
    }

    fn block(&mut self, block: usize, steps: &[usize]) {
        let chain = self.layout.chain(block);
        let mut order = Order { exit: self.own[block].0, ..Order::default() };
        for n in steps {
            let step = &self.lowered.steps[*n];
            let from = self.operands(*n);
            let stage = match step.pinned {
                true => self.pinned(block, step, from, &mut order),
                false => self.early(&chain, step, from),
            };
            let stage = stage.unwrap_or_else(|| self.own_stage(block, &step.op, from));
            self.put(stage, &step.op);
            self.at[*n] = stage;
            let t = &self.touched[*n];
            t.writes.iter().for_each(|reg| self.ready[usize::from(*reg)] = self.ready[usize::from(*reg)].max(stage + 1));
            t.flag_writes.iter().for_each(|flag| self.flag_ready[usize::from(*flag)] = self.flag_ready[usize::from(*flag)].max(stage + 1));
        }
    }

    /// The stage from which on an operation's operands are there.
    fn operands(&self, n: usize) -> usize {
        let t = &self.touched[n];
        let regs = t.reads.iter().map(|reg| self.ready[usize::from(*reg)]);
        let flags = t.flag_reads.iter().map(|flag| self.flag_ready[usize::from(*flag)]);
        let after = self.lowered.steps[n].after.map(|n| self.at[n] + 1);
        regs.chain(flags).chain(after).max().unwrap_or(0)
    }

    fn pinned(&mut self, block: usize, step: &Step, from: usize, order: &mut Order) -> Option<usize> {
        let carried = carried(&step.op);
        // Registers and the way out are no effects that others see; only exits come before them.
        let own = matches!(
            &step.op,
            Op::Alu(_)
                | Op::Move(Move { to: MoveOperand::Reg(_) | MoveOperand::Pair(_) | MoveOperand::Out(_) | MoveOperand::OutBy(_), .. })
        ) && !carried;
        let from = from.max(order.exit).max(if own { 0 } else { order.any }).max(if carried { order.store } else { 0 });
        let stage = self.own_stage(block, &step.op, from.max(order.out));
        match &step.op {
            Op::Move(Move { to: MoveOperand::Out(_) | MoveOperand::OutBy(_), .. }) => order.out = stage + 1,
            _ if own => {}
            _ => order.any = stage,
        }
        match &step.op {
            Op::Branch(_) => order.exit = stage + 1,
            op if carried && stores(op) => order.store = stage + 1,
            _ => {}
        }
        Some(stage)
    }

    /// A free slot in a block before, or in the block as far as it goes.
    fn early(&self, chain: &[usize], step: &Step, from: usize) -> Option<usize> {
        let above = step.below.and_then(|below| chain.iter().position(|block| *block == below)).map_or(0, |n| n + 1);
        chain.iter().skip(above).find_map(|block| {
            let (first, last) = self.own[*block];
            let last = if *block == chain[chain.len() - 1] { self.stages.len() } else { last };
            (first.max(from)..last).find(|stage| self.is_free(*stage, &step.op))
        })
    }

    fn is_free(&self, stage: usize, op: &Op) -> bool {
        match (&self.stages[stage], op) {
            (Stage::Point(None), Op::Point(_)) => true,
            (Stage::Slots(slots), Op::Alu(_)) => slots.alu.is_none(),
            (Stage::Slots(slots), Op::Move(_)) => slots.mov.is_none(),
            (Stage::Slots(slots), Op::Load(_)) => slots.load.is_none(),
            (Stage::Slots(slots), Op::Branch(_)) => slots.branch.is_none(),
            _ => false,
        }
    }

    /// The first stage of the block that has room; new ones are added until there is one.
    fn own_stage(&mut self, block: usize, op: &Op, from: usize) -> usize {
        let mut stage = from.max(self.own[block].0);
        loop {
            while stage >= self.stages.len() {
                let point = self.machine.is_point(self.stages.len());
                self.stages.push(if point { Stage::Point(None) } else { Stage::Slots(Slots::default()) });
            }
            if self.is_free(stage, op) {
                return stage;
            }
            stage += 1;
        }
    }

    fn put(&mut self, stage: usize, op: &Op) {
        match (&mut self.stages[stage], op) {
            (Stage::Slots(slots), Op::Alu(alu)) => slots.alu = Some(*alu),
            (Stage::Slots(slots), Op::Move(m)) => slots.mov = Some(*m),
            (Stage::Slots(slots), Op::Load(load)) => slots.load = Some(*load),
            (Stage::Slots(slots), Op::Branch(branch)) => slots.branch = Some(*branch),
            (Stage::Point(place), Op::Point(access)) => *place = Some(access.clone()),
            _ => {}
        }
    }

    /// The block's end: it goes on in the next one by itself.
    fn leave(&mut self, block: usize, next: Option<usize>) {
        let done = self.layout.place.len();
        let next = next.unwrap_or(done);
        let jump = |to: usize, guard: Option<If>| Branch { guard, to: Target::Stage(to) };
        match &self.lowered.ends[block] {
            End::Jump(to) if *to == next => {}
            End::Jump(to) => self.branch(block, jump(*to, None)),
            End::Branch(is, yes, no) if *no == next => self.branch(block, jump(*yes, Some(*is))),
            End::Branch(is, yes, no) if *yes == next => self.branch(block, jump(*no, Some(If { holds: !is.holds, ..*is }))),
            End::Branch(is, yes, no) => {
                self.branch(block, jump(*yes, Some(*is)));
                self.own[block].1 = self.stages.len();
                let at = self.stages.len();
                let stage = self.own_stage(block, &Op::Branch(jump(*no, None)), at);
                self.put(stage, &Op::Branch(jump(*no, None)));
            }
            End::Lookup(_) => {}
        }
        self.own[block].1 = self.stages.len();
    }

    /// A branch in the last stage of the block, so that all its work is done before.
    fn branch(&mut self, block: usize, branch: Branch) {
        let first = self.own[block].0;
        let last = self.stages.len().saturating_sub(1).max(first);
        let ready = branch.guard.map_or(0, |is| self.flag_ready[usize::from(is.flag)]);
        let stage = self.own_stage(block, &Op::Branch(branch), last.max(ready));
        self.put(stage, &Op::Branch(branch));
    }

    /// Empties instructions whose operations find room in others that do something anyway: later
    /// ones, as long as nobody waits.
    fn gather(&mut self) {
        let readers = self.readers();
        let mut at_stage: Vec<Vec<usize>> = vec![Vec::new(); self.stages.len()];
        self.at.iter().enumerate().filter(|(_, stage)| **stage != usize::MAX).for_each(|(n, stage)| at_stage[*stage].push(n));
        for stage in 0..self.stages.len() {
            let Stage::Slots(slots) = self.stages[stage] else { continue };
            let steps = at_stage[stage].clone();
            if slots.used() == 0 || slots.used() != steps.len() {
                continue;
            }
            let before = (self.stages.clone(), self.at.clone());
            self.stages[stage] = Stage::Slots(Slots::default());
            let moved = steps.iter().all(|n| self.elsewhere(*n, stage, &readers));
            if moved {
                steps.iter().for_each(|n| at_stage[self.at[*n]].push(*n));
                at_stage[stage].clear();
            } else {
                (self.stages, self.at) = before;
            }
        }
    }

    /// By operation those that read what it writes; none where it is not alone in writing that.
    fn readers(&self) -> Vec<Option<Vec<usize>>> {
        let (mut writers, mut flag_writers) = (vec![0; self.lowered.regs.into()], vec![0; self.lowered.flags.into()]);
        for t in &self.touched {
            t.writes.iter().for_each(|reg| writers[usize::from(*reg)] += 1);
            t.flag_writes.iter().for_each(|flag| flag_writers[usize::from(*flag)] += 1);
        }
        let ends = self.lowered.ends.iter().filter_map(|end| if let End::Branch(is, ..) = end { Some(is.flag) } else { None });
        ends.for_each(|flag| flag_writers[usize::from(flag)] += 2);
        let alone = |t: &Touched| {
            t.writes.iter().all(|reg| writers[usize::from(*reg)] == 1)
                && t.flag_writes.iter().all(|flag| flag_writers[usize::from(*flag)] == 1)
        };
        let reads = |t: &Touched, by: &Touched| {
            t.writes.iter().any(|reg| by.reads.contains(reg)) || t.flag_writes.iter().any(|flag| by.flag_reads.contains(flag))
        };
        let of = |t: &Touched| alone(t).then(|| (0..self.touched.len()).filter(|n| reads(t, &self.touched[*n])).collect());
        self.touched.iter().map(of).collect()
    }

    /// Puts an operation into another instruction that is in use.
    fn elsewhere(&mut self, n: usize, from: usize, readers: &[Option<Vec<usize>>]) -> bool {
        let step = &self.lowered.steps[n];
        let (false, Some(readers)) = (step.pinned || step.fixed, &readers[n]) else { return false };
        // What says where packets go has to be said before they leave.
        let until = readers.iter().map(|reader| self.at[*reader]).min().unwrap_or(self.own[step.home].1).min(self.last(n, step.home));
        let ready = self.operands_at(n);
        let in_use =
            |stage: &usize| matches!(self.stages[*stage], Stage::Slots(slots) if slots.used() > 0) && self.is_free(*stage, &step.op);
        let chain = self.layout.chain(step.home);
        let found = chain.iter().rev().find_map(|block| {
            let (first, last) = self.own[*block];
            (first.max(ready)..last.min(until)).filter(|stage| *stage != from).find(in_use)
        });
        let Some(stage) = found else { return false };
        self.put(stage, &step.op);
        self.at[n] = stage;
        true
    }

    /// The stage that an operation has to come before, if it says where packets go.
    fn last(&self, n: usize, home: usize) -> usize {
        if n == 0 && self.lowered.usual.is_some() { self.own[home].1 } else { usize::MAX }
    }

    /// The stage from which on operands are there, by where operations are now.
    fn operands_at(&self, n: usize) -> usize {
        let t = &self.touched[n];
        let writes = |by: &Touched| {
            t.reads.iter().any(|reg| by.writes.contains(reg)) || t.flag_reads.iter().any(|flag| by.flag_writes.contains(flag))
        };
        let before = (0..self.touched.len()).filter(|other| writes(&self.touched[*other])).map(|other| self.at[other] + 1);
        before.chain(self.lowered.steps[n].after.map(|n| self.at[n] + 1)).max().unwrap_or(0)
    }

    /// Blocks become the stages that they begin with.
    fn resolve(&mut self) {
        let end = self.stages.len();
        let own = self.own.clone();
        let stage = |block: usize| own.get(block).map_or(end, |(first, _)| *first);
        for place in &mut self.stages {
            match place {
                Stage::Slots(Slots { branch: Some(Branch { to: Target::Stage(to), .. }), .. }) => *to = stage(*to),
                Stage::Point(Some(Access::Jump { cases, default, .. })) => {
                    cases.iter_mut().for_each(|(_, to)| *to = stage(*to));
                    *default = stage(*default);
                }
                _ => {}
            }
        }
    }
}

/// Whether an operation touches memory that the packet carries, other than registers.
fn carried(op: &Op) -> bool {
    // Where the packet's ends are is carried, too.
    let memory = |place: &MoveOperand| {
        matches!(place, MoveOperand::Packet(..) | MoveOperand::Info(..) | MoveOperand::Len | MoveOperand::WireLen | MoveOperand::End(_))
    };
    match op {
        Op::Move(m) => memory(&m.to) || memory(&m.from),
        Op::Load(_) => true,
        _ => false,
    }
}

fn stores(op: &Op) -> bool {
    match op {
        Op::Move(m) => matches!(m.to, MoveOperand::Packet(..) | MoveOperand::Info(..) | MoveOperand::End(_)),
        Op::Load(load) => load.store,
        _ => false,
    }
}
