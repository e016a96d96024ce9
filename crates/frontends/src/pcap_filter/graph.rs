//! The filter as a decision graph: tests with two ways out, shared where they are equal.
//!
//! Blocks are made from the end backwards, so a block's id is greater than those of its successors,
//! and equal blocks are one. A block whose ways out are the same is there for its reads, which may
//! reject the packet.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use super::ast::Join;
use super::eval::{Machine, Stop};
use super::ir::{Field, Ir, IrId, ListId, ListShape, Mixer, Node, Test, TestId};
use super::reads::{reads, value_reads};

/// Where evaluation goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Target {
    Accept,
    Reject,
    Block(u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Block {
    pub test: TestId,
    pub yes: Target,
    pub no: Target,
}

#[derive(Debug, Clone)]
pub(crate) struct Graph {
    /// In an order in which successors come first.
    pub blocks: Vec<Block>,
    pub entry: Target,
}

/// The graph of a filter whose root is `root`; without one every packet is accepted.
pub(crate) fn build(ir: &mut Ir, root: Option<IrId>) -> Graph {
    let mut builder = Builder { ir, blocks: Blocks::default() };
    let entry = root.map_or(Target::Accept, |root| builder.node(root, Target::Accept, Target::Reject));
    Graph { blocks: builder.blocks.list, entry }
}

/// The graph of nodes that must all hold; of each of `before` its first node and those joined to
/// it.
pub(crate) fn conjunction(ir: &mut Ir, before: &[(IrId, Vec<(Join, IrId)>)], last: Option<IrId>) -> Graph {
    let mut builder = Builder { ir, blocks: Blocks::default() };
    let last = last.map_or(Target::Accept, |node| builder.node(node, Target::Accept, Target::Reject));
    let entry = before.iter().rev().fold(last, |at, (first, rest)| builder.chain(*first, rest, at, Target::Reject));
    Graph { blocks: builder.blocks.list, entry }
}

/// Blocks, each made once.
#[derive(Default)]
pub(crate) struct Blocks {
    pub list: Vec<Block>,
    known: HashMap<Block, u32, BuildHasherDefault<Mixer>>,
}

impl Blocks {
    pub(crate) fn add(&mut self, block: Block) -> Target {
        let next = u32::try_from(self.list.len()).unwrap_or(u32::MAX);
        let id = *self.known.entry(block).or_insert(next);
        if id == next {
            self.list.push(block);
        }
        Target::Block(id)
    }
}

struct Builder<'i> {
    ir: &'i mut Ir,
    blocks: Blocks,
}

impl Builder<'_> {
    /// The entry of a node that goes on at `yes` if it holds. Recursion is as deep as the parser
    /// allows.
    fn node(&mut self, id: IrId, yes: Target, no: Target) -> Target {
        match self.ir.node(id) {
            Node::Test(test) => self.test(test, yes, no),
            Node::Not(inner) => self.node(inner, no, yes),
            Node::Elem(elem) => self.node(self.ir.elem(elem).plain, yes, no),
            Node::Chain(first, rest) => {
                let rest = self.ir.links(rest).to_vec();
                self.chain(first, &rest, yes, no)
            }
            Node::Guarded { merged, exact, reach } => {
                let reads = self.node(exact, yes, yes);
                let long = self.captured(reach, yes, reads);
                self.node(merged, long, no)
            }
            Node::ByLength { reach, long, short } => {
                let short = self.node(short, yes, no);
                let long = self.node(long, yes, no);
                self.captured(reach, long, short)
            }
            Node::List(list) => self.list(list, yes, no),
        }
    }

    /// The sets decide on packets in which nothing is cut off that a term of the list may read;
    /// others go through the rows. What is read behind an operand does not matter where the operand
    /// holds for no term at all.
    fn list(&mut self, id: ListId, yes: Target, no: Target) -> Target {
        let shapes = self.ir.lists[id.index()].shapes.clone();
        let rows = self.ir.intern_test(Test::Rows(id));
        let rows = self.test(rows, yes, no);
        let merged = shapes.iter().rev().fold(no, |no, shape| self.node(shape.merged, yes, no));
        let (mut none, mut some) = (no, merged);
        for shape in shapes.iter().rev() {
            let one = self.candidate(shape, some, none, rows);
            some = if shapes.len() > 1 { self.candidate(shape, some, some, rows) } else { some };
            none = one;
        }
        none
    }

    /// Goes to `hit` if each operand holds for some term, else to `miss`.
    fn candidate(&mut self, shape: &ListShape, hit: Target, miss: Target, cut: Target) -> Target {
        shape.operands.iter().rev().fold(hit, |at, &(operand, some)| {
            let at = self.node(some, at, miss);
            self.readable(operand, at, at, cut)
        })
    }

    /// Goes the node's way where each of its elements fails; where a read on this way is cut off,
    /// to `cut`.
    fn readable(&mut self, id: IrId, yes: Target, no: Target, cut: Target) -> Target {
        match self.ir.node(id) {
            Node::Test(test) => {
                let at = if yes == no { yes } else { self.test(test, yes, no) };
                let mut fields = Vec::new();
                reads(self.ir, self.ir.test(test), &mut |field| fields.push(field));
                fields.into_iter().rev().fold(at, |at, field| self.field_readable(field, at, cut))
            }
            Node::Elem(elem) => {
                let field = self.ir.elem(elem).field;
                let at = self.field_readable(field, no, cut);
                match field.base {
                    Some(base) => {
                        let mut fields = Vec::new();
                        value_reads(self.ir, base, &mut |field| fields.push(field));
                        fields.into_iter().rev().fold(at, |at, field| self.field_readable(field, at, cut))
                    }
                    None => at,
                }
            }
            Node::Not(inner) => self.readable(inner, no, yes, cut),
            Node::Chain(first, rest) => {
                let (mut next_and, mut next_or) = (yes, no);
                for (join, node) in self.ir.links(rest).to_vec().into_iter().rev() {
                    let entry = self.readable(node, next_and, next_or, cut);
                    match join {
                        Join::And => next_and = entry,
                        Join::Or => next_or = entry,
                    }
                }
                self.readable(first, next_and, next_or, cut)
            }
            Node::Guarded { .. } | Node::ByLength { .. } | Node::List(_) => cut,
        }
    }

    fn field_readable(&mut self, field: Field, yes: Target, cut: Target) -> Target {
        let test = match field.base {
            None => Test::Captured(field.offset.saturating_add(field.bytes.into())),
            Some(_) => Test::Readable(field),
        };
        let test = self.ir.intern_test(test);
        self.test(test, yes, cut)
    }

    /// Where a term holds, evaluation goes on at the next `and`; where it does not, at the next
    /// `or`.
    fn chain(&mut self, first: IrId, rest: &[(Join, IrId)], yes: Target, no: Target) -> Target {
        let (mut next_and, mut next_or) = (yes, no);
        for &(join, node) in rest.iter().rev() {
            let entry = self.node(node, next_and, next_or);
            match join {
                Join::And => next_and = entry,
                Join::Or => next_or = entry,
            }
        }
        self.node(first, next_and, next_or)
    }

    fn captured(&mut self, reach: u32, yes: Target, no: Target) -> Target {
        if yes == no {
            return yes;
        }
        let test = self.ir.intern_test(Test::Captured(reach));
        self.test(test, yes, no)
    }

    fn test(&mut self, test: TestId, yes: Target, no: Target) -> Target {
        match self.ir.test(test) {
            Test::Const(holds) if !self.ir.uses_last => {
                if holds {
                    yes
                } else {
                    no
                }
            }
            _ => self.blocks.add(Block { test, yes, no }),
        }
    }
}

impl Graph {
    /// The verdict on the machine's packet.
    pub(crate) fn verdict(&self, machine: &mut Machine<'_>) -> Result<bool, Stop> {
        let mut at = self.entry;
        loop {
            let block = match at {
                Target::Accept => return Ok(true),
                Target::Reject => return Ok(false),
                Target::Block(id) => self.blocks[id as usize],
            };
            at = if machine.test(block.test)? { block.yes } else { block.no };
        }
    }

    /// Ids in an order in which a block comes before its successors.
    pub(crate) fn forward(&self) -> impl Iterator<Item = usize> + use<> {
        (0..self.blocks.len()).rev()
    }
}
