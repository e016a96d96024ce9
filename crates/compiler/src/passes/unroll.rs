//! Loops that count to a constant, unrolled: a copy of each block of a loop for each row of
//! constants that its parameters have.
//!
//! Partial evaluation of MIR as it is translated, where blocks take the whole stack and all locals
//! as parameters: a counter is a constant in each round, so each round has copies of its own, until
//! the test of the counter is decided. A loop in which no constant changes comes back to a copy
//! that is there, and stays a loop; one with too many rounds is given up.
//!
//! Source: Jones, Gomard and Sestoft, "Partial Evaluation and Automatic Program Generation" (1993),
//! polyvariant specialisation. Blocks that have one predecessor may use what that defines, so they
//! are copied with it.

use crate::mir::cfg::Cfg;
use crate::mir::{Block, Def, Edge, Func, Op, Terminator, Type, Value};
use netil::ops::{UnOp, mask, sign_extend};
use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;

/// The most copies of blocks, and of operations.
const MOST_BLOCKS: usize = 1 << 12;
const MOST_OPERATIONS: usize = 1 << 15;
/// The most names that all copies of blocks begin with.
const MOST_NAMES: usize = 1 << 20;

/// All rounds of loops together are too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge;

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "loops of more than {MOST_BLOCKS} blocks or {MOST_OPERATIONS} operations in all rounds")
    }
}

impl std::error::Error for TooLarge {}

/// The function without loops that count to a constant; itself if it has no loops.
///
/// # Errors
/// All rounds together are too large.
pub fn unroll(func: Func) -> Result<Func, TooLarge> {
    let cfg = Cfg::new(&func);
    let looping = looping(&func, &cfg);
    if !looping.contains(&true) {
        return Ok(func);
    }
    let made = Func { blocks: Vec::new(), values: Vec::new(), sets: func.sets.clone(), ..func };
    let mut u = Unroll { func: &func, cfg: &cfg, looping, made, copies: HashMap::new(), work: Vec::new(), operations: 0, named: 0 };
    let entry = Edge { block: Block(0), args: Vec::new() };
    u.copy(&entry, None, &Rc::default());
    while let Some(task) = u.work.pop() {
        u.fill(task)?;
    }
    Ok(u.made)
}

/// Blocks on a circle: in a strongly connected component with another block, or leading to
/// themselves (Kosaraju).
fn looping(func: &Func, cfg: &Cfg) -> Vec<bool> {
    let mut component = vec![u32::MAX; func.blocks.len()];
    let mut sizes = Vec::new();
    for root in &cfg.order {
        if component[root.0 as usize] != u32::MAX {
            continue;
        }
        let (number, mut size, mut stack) = (sizes.len() as u32, 0, vec![*root]);
        component[root.0 as usize] = number;
        while let Some(b) = stack.pop() {
            size += 1;
            for from in &cfg.predecessors[b.0 as usize] {
                if component[from.0 as usize] == u32::MAX {
                    component[from.0 as usize] = number;
                    stack.push(*from);
                }
            }
        }
        sizes.push(size);
    }
    let itself = |b: Block| func.block(b).end.edges().iter().any(|e| e.block == b);
    let circles = func.block_ids().map(|b| cfg.reaches(b) && (sizes[component[b.0 as usize] as usize] > 1 || itself(b)));
    circles.collect()
}

/// What values of the function are in its copy.
type Names = HashMap<Value, Value>;

/// A block and what makes a copy of it one of its own: its constants, and the copy before it.
type Key = (Block, Vec<Option<u64>>, Option<Block>);

struct Task {
    block: Block,
    copy: Block,
    names: Names,
}

struct Unroll<'a> {
    func: &'a Func,
    cfg: &'a Cfg,
    looping: Vec<bool>,
    made: Func,
    copies: HashMap<Key, Block>,
    work: Vec<Task>,
    operations: usize,
    named: usize,
}

impl Unroll<'_> {
    /// The copy that an edge of a copy leads to; `args` are the edge's in the copy.
    fn copy(&mut self, edge: &Edge, from: Option<Block>, names: &Rc<Names>) -> Block {
        let (b, func) = (edge.block, self.func);
        let of_args = |arg: &Value| if self.looping[b.0 as usize] { self.made.constant(*arg) } else { None };
        let mut constants: Vec<Option<u64>> = edge.args.iter().map(of_args).collect();
        constants.resize(func.block(b).params.len(), None);
        let alone = self.cfg.predecessors[b.0 as usize].len() == 1;
        let key = (b, constants, from.filter(|_| alone));
        if let Some(copy) = self.copies.get(&key) {
            return *copy;
        }
        let params: Vec<Value> = func.block(b).params.clone();
        let kept: Vec<Type> = params.iter().zip(&key.1).filter(|(_, c)| c.is_none()).map(|(p, _)| func.ty(*p)).collect();
        let copy = self.made.new_block(&kept);
        let mut own = self.made.block(copy).params.clone().into_iter();
        let mut names = if alone { (**names).clone() } else { Names::new() };
        for (param, constant) in params.iter().zip(&key.1) {
            let value = match constant {
                Some(c) => self.made.append(copy, func.ty(*param), Op::Const(*c)),
                None => own.next().expect("a parameter for each that is no constant"),
            };
            names.insert(*param, value);
        }
        self.named += names.len();
        self.copies.insert(key, copy);
        self.work.push(Task { block: b, copy, names });
        copy
    }

    fn fill(&mut self, Task { block, copy, mut names }: Task) -> Result<(), TooLarge> {
        let func = self.func;
        let data = func.block(block);
        self.operations += data.ops.len() + 1;
        if self.made.blocks.len() > MOST_BLOCKS || self.operations > MOST_OPERATIONS || self.named > MOST_NAMES {
            return Err(TooLarge);
        }
        for v in &data.ops {
            let Some(mut op) = func.op(*v).cloned() else { continue };
            op.map_operands(|u| self.named(u, copy, &mut names));
            let op = self.folded(op, func.ty(*v));
            let made = self.made.append(copy, func.ty(*v), op);
            names.insert(*v, made);
        }
        let mut end = data.end.clone();
        end.map_values(|u| self.named(u, copy, &mut names));
        end = self.decided(end);
        let names = Rc::new(names);
        for edge in end.edges_mut() {
            let to = self.copy(edge, Some(copy), &names);
            let constant = |arg: &Value| self.looping[edge.block.0 as usize] && self.made.constant(*arg).is_some();
            let args = edge.args.iter().filter(|arg| !constant(arg)).copied().collect();
            *edge = Edge { block: to, args };
        }
        self.made.block_mut(copy).end = end;
        Ok(())
    }

    /// The value in the copy. Constants of the entry are made anew where they are used.
    fn named(&mut self, v: Value, copy: Block, names: &mut Names) -> Value {
        if let Some(name) = names.get(&v) {
            return *name;
        }
        let op = match &self.func.values[v.0 as usize].def {
            Def::Op(op @ (Op::Const(_) | Op::WideConst(_))) => op.clone(),
            _ => Op::Const(0),
        };
        let made = self.made.append(copy, self.func.ty(v), op);
        names.insert(v, made);
        made
    }

    /// An operation on constants is one.
    fn folded(&self, op: Op, ty: Type) -> Op {
        let Type::Int(width @ 1..=64) = ty else { return op };
        let c = |v: &Value| self.made.constant(*v);
        let of = |v: &Value| self.made.width(*v);
        let value = match &op {
            Op::Bin(bin, a, b) | Op::Div(bin, a, b, _) => c(a).zip(c(b)).and_then(|(a, b)| bin.eval(width, a, b)),
            Op::Un(un, a) => c(a).filter(|_| *un != UnOp::Bswap || width.is_multiple_of(8)).map(|a| un.eval(width, a)),
            Op::Cmp(cmp, a, b) => c(a).zip(c(b)).map(|(x, y)| u64::from(cmp.eval(of(a), x, y))),
            Op::Zext(a) | Op::Trunc(a) => c(a).map(|a| a & mask(width)),
            Op::Sext(a) => c(a).map(|x| (sign_extend(of(a), x) as u64) & mask(width)),
            Op::Slice(a, low) if of(a) <= 64 => c(a).map(|a| a >> low & mask(width)),
            Op::Select(condition, a, b) => c(condition).and_then(|chosen| if chosen == 1 { c(a) } else { c(b) }),
            _ => None,
        };
        value.map_or(op, Op::Const)
    }

    /// A branch on a constant is none.
    fn decided(&self, end: Terminator) -> Terminator {
        match end {
            Terminator::Branch(c, yes, no) => match self.made.constant(c) {
                Some(0) => Terminator::Jump(no),
                Some(_) => Terminator::Jump(yes),
                None => Terminator::Branch(c, yes, no),
            },
            Terminator::Switch(v, cases, default) => match self.made.constant(v) {
                Some(key) => {
                    let case = cases.iter().find(|(k, _)| u64::from(*k) == key);
                    Terminator::Jump(case.map_or(default, |(_, e)| e.clone()))
                }
                None => Terminator::Switch(v, cases, default),
            },
            Terminator::SendBy(v, first, count, default) => match self.made.constant(v) {
                Some(number) => Terminator::sent_by(number, first, count, &default),
                None => Terminator::SendBy(v, first, count, default),
            },
            end => end,
        }
    }
}
