//! Code for lists that are evaluated term by term: a loop over rows of initialised data, with the
//! code of each shape of terms in it.
//!
//! It runs only on packets that end inside what the terms read, where their order decides; so it is
//! short rather than fast, and knows nothing of what was checked before.
//!
//! A row is the number of its shape and, for each element of it, the low and high ends of the parts
//! that are compared; all rows are as long as the longest.

use netil::module::Inst;
use netil::table::Op;

use super::super::ast::Join;
use super::super::graph::Target;
use super::super::ir::{Cmp, IrId, List, ListId, ListShape, Node, Test};
use super::emit::Known;
use super::{BranchTarget, Code};

impl Code<'_> {
    pub(super) fn rows(&mut self, id: ListId, yes: Target, no: Target, next: Option<Target>) {
        let ir = self.ir;
        let list = &ir.lists[id.index()];
        let stride = self.stride(list);
        let base = self.row_table(list, stride);
        let row = self.new_local();
        self.push(base);
        self.store(row);
        let (again, on) = (self.new_place(), self.new_place());
        self.here_is(again);
        for (number, shape) in (0u32..).zip(&list.shapes) {
            let other = self.new_place();
            if list.shapes.len() > 1 {
                self.row_word(row, 0);
                self.push(number);
                self.branch_to(Op::JCmpNeq, BranchTarget::Inside(other), -2);
            }
            self.row_node(shape.template, (shape, row), BranchTarget::Target(yes), BranchTarget::Inside(on));
            self.here_is(other);
        }
        self.here_is(on);
        self.load(row);
        self.push(stride);
        self.op(Op::Add, -1);
        self.op(Op::Dup, 1);
        self.store(row);
        self.push(u32::try_from(self.data.len()).unwrap_or(u32::MAX));
        self.branch_to(Op::JCmpL, BranchTarget::Inside(again), -2);
        self.known = Known::default();
        self.jump(no, next);
    }

    fn stride(&self, list: &List) -> u32 {
        let words = |shape: &ListShape| shape.elems.iter().map(|&elem| 2 * self.ir.elem(elem).pieces().len()).sum::<usize>();
        let most = list.shapes.iter().map(words).max().unwrap_or(0);
        u32::try_from(4 * (1 + most)).unwrap_or(u32::MAX)
    }

    /// Puts the rows at the end of initialised data; gives their offset.
    fn row_table(&mut self, list: &List, stride: u32) -> u32 {
        let base = self.data.len();
        for (i, &row) in list.rows.iter().enumerate() {
            let (shape, ranges) = list.row(row);
            self.data.extend(row.0.to_be_bytes());
            for (&elem, (low, high)) in shape.elems.iter().zip(ranges) {
                for (_, shift) in self.ir.elem(elem).pieces() {
                    for end in [low, high] {
                        let word = u32::try_from(end >> shift & u128::from(u32::MAX)).unwrap_or(0);
                        self.data.extend(word.to_be_bytes());
                    }
                }
            }
            self.data.resize(base + (i + 1) * stride as usize, 0);
        }
        u32::try_from(base).unwrap_or(u32::MAX)
    }

    /// Pushes a word of the row.
    fn row_word(&mut self, row: u32, offset: u32) {
        self.load(row);
        self.push(offset);
        self.op(Op::Add, -1);
        self.inst(Inst::with(Op::WcLoad, 32), 0);
    }

    /// Goes to `yes` if the node holds for the row, else to `no`. Recursion is as deep as the
    /// parser allows.
    fn row_node(&mut self, id: IrId, at: (&ListShape, u32), yes: BranchTarget, no: BranchTarget) {
        match self.ir.node(id) {
            Node::Elem(_) => self.row_elem(id, at, yes, no),
            Node::Test(test) => self.row_test(self.ir.test(test), yes, no),
            Node::Not(inner) => self.row_node(inner, at, no, yes),
            Node::Chain(first, rest) => {
                let ir = self.ir;
                let links = ir.links(rest);
                let entries: Vec<usize> = links.iter().map(|_| self.new_place()).collect();
                let way = |from: usize, join: Join, end: BranchTarget| {
                    let found = links.iter().enumerate().skip(from).find(|(_, link)| link.0 == join);
                    found.map_or(end, |(i, _)| BranchTarget::Inside(entries[i]))
                };
                self.row_node(first, at, way(0, Join::And, yes), way(0, Join::Or, no));
                for (i, &(_, node)) in links.iter().enumerate() {
                    self.here_is(entries[i]);
                    self.row_node(node, at, way(i + 1, Join::And, yes), way(i + 1, Join::Or, no));
                }
            }
            Node::Guarded { .. } | Node::ByLength { .. } | Node::List(_) => self.branch_to(Op::JumpW, no, 0),
        }
    }

    fn row_elem(&mut self, id: IrId, (shape, row): (&ListShape, u32), yes: BranchTarget, no: BranchTarget) {
        let ir = self.ir;
        let mut offset = 4;
        for &elem in &shape.elems {
            let pieces = ir.elem(elem).pieces();
            if ir.node(id) == Node::Elem(elem) {
                for (piece, _) in pieces {
                    self.known = Known::default();
                    self.check_field(piece, u32::MAX);
                    for (end, outside) in [(0, Op::JCmpL), (4, Op::JCmpG)] {
                        self.field(piece);
                        self.row_word(row, offset + end);
                        self.branch_to(outside, no, -2);
                    }
                    offset += 8;
                }
                break;
            }
            offset += 8 * u32::try_from(pieces.len()).unwrap_or(0);
        }
        self.branch_to(Op::JumpW, yes, 0);
    }

    fn row_test(&mut self, test: Test, yes: BranchTarget, no: BranchTarget) {
        self.known = Known::default();
        if !self.checks(test, u32::MAX) {
            return self.branch_to(Op::JumpW, BranchTarget::Target(Target::Reject), 0);
        }
        match test {
            Test::Cmp(lhs, cmp, rhs) => {
                self.value(lhs);
                self.value(rhs);
                match cmp {
                    Cmp::Eq => self.branch_to(Op::JCmpEq, yes, -2),
                    Cmp::Gt => self.branch_to(Op::JCmpG, yes, -2),
                    Cmp::Ge => self.branch_to(Op::JCmpGe, yes, -2),
                    Cmp::Bits => {
                        self.op(Op::And, -1);
                        self.branch_to(Op::JNe, yes, -1);
                    }
                }
                self.branch_to(Op::JumpW, no, 0);
            }
            Test::Const(true) => self.branch_to(Op::JumpW, yes, 0),
            // Nothing else stands in a term that lists are made of.
            _ => self.branch_to(Op::JumpW, no, 0),
        }
    }
}
