//! Jump threading.
//!
//! Idea: a branch whose outcome is known on the way to it is not taken again. It is known where a
//! branch on every way here said so (`x = 6`, so not `x = 17`): then it is a jump. It may be known
//! on one edge only, from the edge's arguments or from the condition that the edge stands for: then
//! that edge goes where the branch would go, with a copy of what the block in between does. Source:
//! Bodík, Gupta, Soffa, "Interprocedural Conditional Branch Elimination" (1997), within a function;
//! NetVM paper, section 4.2. Phases: a walk over the dominator tree collects what is decided; all
//! of it is put in place at once, for a decision speaks of executions, which stay the same;
//! [`ROUNDS`] times, since an edge may lead on to the next decided block. Price: linear a round.
//! Code grows by at most [`COPIED`] operations an edge and [`GROWTH`] a function. Values that a
//! block defines and others use keep edges from passing it by, constants aside: those move up.

use super::Context;
use crate::analysis::facts::{Evaluator, Facts};
use crate::mir::cfg::Cfg;
use crate::mir::{Block, Def, Edge, Func, Op, Terminator, Value};
use std::collections::{HashMap, HashSet};

const ROUNDS: usize = 3;
/// Operations copied for one edge.
const COPIED: usize = 6;
/// Operations copied in a function in a round.
const GROWTH: usize = 64;
/// Operations of a block that may be passed by.
const LONGEST: usize = 64;

pub(super) fn run(func: &mut Func, context: &Context<'_>) {
    let (mut ends, mut edges) = (0, 0);
    for _ in 0..ROUNDS {
        let (decided, passed) = round(func, context);
        ends += decided;
        edges += passed;
        if decided + passed == 0 {
            break;
        }
    }
    if ends + edges > 0 {
        context.note(|| format!("{ends} branches decided on every way to them, {edges} edges led past a decided branch"));
    }
}

fn round(func: &mut Func, context: &Context<'_>) -> (usize, usize) {
    let cfg = Cfg::new(func);
    let homes = homes(func);
    let only = cfg.only_edges(func);
    let mut search = Search { func, context, homes: &homes, only, facts: Facts::default(), ends: Vec::new(), edges: Vec::new() };
    cfg.walk(&mut search, Search::enter, |search, mark| search.facts.back_to(mark));
    let Search { ends, edges, .. } = search;
    let edges = thread(func, &homes, &edges);
    for (block, taken) in &ends {
        func.block_mut(*block).end = decided(func, *block, *taken);
    }
    (ends.len(), edges)
}

/// The block of each value.
fn homes(func: &Func) -> Vec<Option<Block>> {
    let mut homes = vec![None; func.values.len()];
    for b in func.block_ids() {
        func.block(b).params.iter().chain(&func.block(b).ops).for_each(|v| homes[v.0 as usize] = Some(b));
    }
    homes
}

/// What a block's end comes to.
#[derive(Clone, Copy)]
enum Taken {
    /// Its edge of that number.
    Edge(usize),
    /// The packet leaves by that port.
    Port(u32),
}

/// A block's end that is decided.
fn decided(func: &Func, b: Block, taken: Taken) -> Terminator {
    match taken {
        Taken::Edge(edge) => Terminator::Jump(func.block(b).end.edge(edge).cloned().expect("the search gives edges that there are")),
        Taken::Port(port) => Terminator::Send(port),
    }
}

/// An edge, as block and number, and what its target's end comes to.
struct Passing {
    from: Block,
    edge: usize,
    taken: Taken,
}

struct Search<'a> {
    func: &'a Func,
    context: &'a Context<'a>,
    homes: &'a [Option<Block>],
    only: Vec<Option<(Block, usize)>>,
    facts: Facts,
    /// Blocks whose end always comes to the same.
    ends: Vec<(Block, Taken)>,
    edges: Vec<Passing>,
}

impl Search<'_> {
    /// Gives the mark of what was known before.
    fn enter(&mut self, b: Block) -> usize {
        let mark = self.facts.mark();
        // The one edge into a block says how its condition came out.
        if let Some((before, edge)) = self.only[b.0 as usize] {
            self.facts.learn_edge(self.func, &self.func.block(before).end, edge);
        }
        self.decide(b);
        mark
    }

    fn decide(&mut self, b: Block) {
        let func = self.func;
        let end = &func.block(b).end;
        if let Some(taken) = self.taken(end, None) {
            return self.ends.push((b, taken));
        }
        for (edge, e) in end.edges().into_iter().enumerate() {
            let target = &func.block(e.block).end;
            if e.block == b
                || e.block == Block(0)
                || !matches!(target, Terminator::Branch(..) | Terminator::Switch(..) | Terminator::SendBy(..))
            {
                continue;
            }
            let mark = self.facts.mark();
            self.facts.learn_edge(func, end, edge);
            if let Some(taken) = self.taken(target, Some(e)) {
                self.edges.push(Passing { from: b, edge, taken });
            }
            self.facts.back_to(mark);
        }
    }

    /// What a block's end comes to, behind an edge into the block or here.
    fn taken(&self, end: &Terminator, behind: Option<&Edge>) -> Option<Taken> {
        let inner = |v: Value| behind.is_some_and(|e| self.homes[v.0 as usize] == Some(e.block));
        let evaluator = Evaluator { func: self.func, module: self.context.program.module(), facts: &self.facts, behind, inner: &inner };
        match end {
            Terminator::Branch(c, ..) => Some(Taken::Edge(if evaluator.number(*c)? == 1 { 0 } else { 1 })),
            Terminator::Switch(v, cases, _) => {
                let key = evaluator.number(*v)?;
                Some(Taken::Edge(cases.iter().position(|c| u64::from(c.0) == key).unwrap_or(cases.len())))
            }
            Terminator::SendBy(v, first, count, _) => {
                let number = evaluator.number(*v)?;
                Some(if number < u64::from(*count) { Taken::Port(first + number as u32) } else { Taken::Edge(0) })
            }
            _ => None,
        }
    }
}

/// Leads edges past the blocks that they decide, where those blocks allow it.
fn thread(func: &mut Func, homes: &[Option<Block>], edges: &[Passing]) -> usize {
    if edges.is_empty() {
        return 0;
    }
    let mut held = escaping(func, homes);
    let (mut room, mut done, mut emptied) = (GROWTH, 0, HashSet::new());
    for passing in edges {
        let Some(edge) = func.block(passing.from).end.edge(passing.edge).cloned() else { continue };
        if held.contains(&edge.block) || func.block(edge.block).ops.len() > LONGEST {
            continue;
        }
        if emptied.insert(edge.block) {
            lift_constants(func, edge.block);
        }
        let ops = needed(func, edge.block, passing.taken);
        if ops.len() > COPIED.min(room) {
            continue;
        }
        room -= ops.len();
        let new = copy(func, &edge, passing.taken, &ops);
        // What follows the block may now use its values.
        held.insert(passing.from);
        if let Some(edge) = func.block_mut(passing.from).end.edge_mut(passing.edge) {
            *edge = new;
            done += 1;
        }
    }
    done
}

/// Blocks whose values, constants aside, are used in others.
fn escaping(func: &Func, homes: &[Option<Block>]) -> HashSet<Block> {
    let mut held = HashSet::new();
    for b in func.block_ids() {
        let mut note = |u: Value| {
            if let Some(home) = homes[u.0 as usize].filter(|home| *home != b && !is_constant(func, u)) {
                held.insert(home);
            }
        };
        func.block(b).ops.iter().filter_map(|v| func.op(*v)).for_each(|op| op.operands(&mut note));
        func.block(b).end.values(&mut note);
    }
    held
}

fn is_constant(func: &Func, v: Value) -> bool {
    matches!(func.op(v), Some(Op::Const(_) | Op::WideConst(_)))
}

/// Moves a block's constants to the entry, for there may be ways to their users that do not pass
/// the block any more.
fn lift_constants(func: &mut Func, b: Block) {
    let (constants, others): (Vec<Value>, Vec<Value>) = func.block(b).ops.iter().partition(|v| is_constant(func, **v));
    func.block_mut(b).ops = others;
    func.block_mut(Block(0)).ops.extend(constants);
}

/// Of a block's operations those that have an effect, or whose values those or what it comes to
/// need.
fn needed(func: &Func, b: Block, taken: Taken) -> Vec<Value> {
    let data = func.block(b);
    let mut wanted = HashSet::new();
    decided(func, b, taken).values(|v| {
        wanted.insert(v);
    });
    let mut ops = Vec::new();
    for v in data.ops.iter().rev() {
        let Some(op) = func.op(*v) else { continue };
        if wanted.contains(v) || op.effects().traps || op.effects().writes {
            op.operands(|u| wanted.extend([u]));
            ops.push(*v);
        }
    }
    ops.reverse();
    ops
}

/// An edge to where the target goes, by way of a copy of these operations of the target.
fn copy(func: &mut Func, edge: &Edge, taken: Taken, ops: &[Value]) -> Edge {
    let mut names: HashMap<Value, Value> = func.block(edge.block).params.iter().copied().zip(edge.args.iter().copied()).collect();
    let mut copies = Vec::new();
    for v in ops {
        let mut data = func.values[v.0 as usize].clone();
        if let Def::Op(op) = &mut data.def {
            op.map_operands(|u| names.get(&u).copied().unwrap_or(u));
        }
        let new = func.new_value(data.ty, data.def);
        names.insert(*v, new);
        copies.push(new);
    }
    let mut end = decided(func, edge.block, taken);
    end.map_values(|v| names.get(&v).copied().unwrap_or(v));
    if let (Terminator::Jump(next), true) = (&end, copies.is_empty()) {
        return next.clone();
    }
    let between = func.new_block(&[]);
    func.block_mut(between).ops = copies;
    func.block_mut(between).end = end;
    Edge::to(between)
}
