//! Terms with a part in common: `(port 80 and host a) or (port 80 and host b)`,
//! `(host a and tcp) or (host b and tcp)`. What is left when the part is taken out may be merged
//! into sets.
//!
//! The common part must come to the same whenever it is evaluated, so it may not assign. Then
//!
//! - in front it can always be taken out: where `Q` is false or cut off both
//!   `(Q and P₁) or (Q and P₂)` and `Q and (P₁ or P₂)` end so at once, and where it holds both go
//!   through `P₁`, `P₂`;
//! - behind, `(P₁ and Q) or (P₂ and Q)` may go on to `P₂` after `P₁` held and `Q` did not, and be
//!   cut off there, where `(P₁ or P₂) and Q` is false. So it is taken out only where being false
//!   and being cut off mean the same: where the packet is then rejected, because no `not` stands
//!   around the terms and no `or` behind them.

use super::super::ast::Join;
use super::super::ir::{Ir, IrId, Node, Test};
use super::{Merger, Term};

/// Parts are taken out of what is left of terms to this depth, which bounds recursion.
const MAX_DEPTH: u32 = 16;

/// Operands joined by `and`, at least two.
type Operands = Vec<IrId>;

impl Merger<'_> {
    /// The terms at the front that have a part in common, as one node, with their number. `tail`:
    /// no `or` follows them all and being false is as good as being cut off, and they all end
    /// alike.
    pub(super) fn factored(&mut self, terms: &[Term], tail: bool) -> Option<(usize, IrId)> {
        if self.depth == MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        let found = self.common_front(terms, tail).or_else(|| if tail { self.common_back(terms) } else { None });
        self.depth -= 1;
        found
    }

    fn common_front(&mut self, terms: &[Term], tail: bool) -> Option<(usize, IrId)> {
        let first = self.ir.conjunction(terms.first()?.id)?;
        let begins_alike = |own: &Operands| self.ir.same(own[0], first[0]);
        let group: Vec<Operands> = terms.iter().map_while(|t| self.ir.conjunction(t.id).filter(begins_alike)).collect();
        let common = self.common(&group, |_, k| k)?;
        let rests: Vec<IrId> = group.iter().map(|own| self.ir.and(&own[common..])).collect();
        let rests = self.alternatives(&rests, tail && group.len() == terms.len());
        let shared = self.operands(&first[..common]);
        Some((group.len(), self.ir.and(&[&shared[..], &[rests]].concat())))
    }

    /// All terms, which all end alike.
    fn common_back(&mut self, terms: &[Term]) -> Option<(usize, IrId)> {
        let group: Vec<Operands> = terms.iter().map(|t| self.ir.conjunction(t.id)).collect::<Option<_>>()?;
        let common = self.common(&group, |own, k| own.len() - 1 - k)?;
        let rests: Vec<IrId> = group.iter().map(|own| self.ir.and(&own[..own.len() - common])).collect();
        let rests = self.alternatives(&rests, true);
        let first = &group[0];
        let shared = self.operands(&first[first.len() - common..]);
        Some((terms.len(), self.ir.and(&[&[rests], &shared[..]].concat())))
    }

    fn operands(&mut self, of: &[IrId]) -> Operands {
        of.iter().map(|&operand| self.node(operand, false)).collect()
    }

    /// The number of pure operands that all have in common, `at` telling where the k-th is; at
    /// least one operand of each is left.
    fn common(&self, group: &[Operands], at: impl Fn(&Operands, usize) -> usize) -> Option<usize> {
        let (first, others) = group.split_first().filter(|(_, others)| !others.is_empty())?;
        let most = group.iter().map(|own| own.len() - 1).min()?;
        let alike = |k: &usize| {
            let wanted = first[at(first, *k)];
            self.ir.pure(wanted) && others.iter().all(|own| self.ir.same(own[at(own, *k)], wanted))
        };
        Some((0..most).take_while(alike).count()).filter(|n| *n > 0)
    }

    /// Where the terms begin that go to the end of the list and end in the same pure operand.
    pub(super) fn tail(&self, bodies: &[IrId]) -> usize {
        let last = |id: &IrId| self.ir.conjunction(*id).and_then(|own| own.last().copied());
        let Some(wanted) = bodies.last().and_then(last).filter(|own| self.ir.pure(*own)) else { return bodies.len() };
        let alike = bodies.iter().rev().take_while(|id| last(id).is_some_and(|own| self.ir.same(own, wanted)));
        bodies.len() - alike.count()
    }
}

impl Ir {
    fn conjunction(&self, id: IrId) -> Option<Operands> {
        let Node::Chain(first, rest) = self.node(id) else { return None };
        let rest = self.links(rest);
        let joined = !rest.is_empty() && rest.iter().all(|r| r.0 == Join::And);
        joined.then(|| std::iter::once(first).chain(rest.iter().map(|r| r.1)).collect())
    }

    /// One operand, or several as a chain.
    fn and(&mut self, operands: &[IrId]) -> IrId {
        match operands[1..] {
            [] => operands[0],
            ref rest => self.push_chain(operands[0], rest.iter().map(|&node| (Join::And, node))),
        }
    }

    /// True if both are the same test, constants included.
    fn same(&self, a: IrId, b: IrId) -> bool {
        let key = |id| {
            let mut key = Vec::new();
            self.shape_key(id, &mut key);
            key
        };
        a == b || key(a) == key(b) && self.ranges(&[a]) == self.ranges(&[b])
    }

    /// True where evaluating it twice comes to the same.
    fn pure(&self, id: IrId) -> bool {
        match self.node(id) {
            Node::Test(test) => !matches!(self.test(test), Test::Assign(..) | Test::Geneve(_)),
            Node::Elem(_) => true,
            Node::Not(inner) => self.pure(inner),
            Node::Chain(first, rest) => self.pure(first) && self.links(rest).iter().all(|r| self.pure(r.1)),
            Node::Guarded { .. } | Node::ByLength { .. } | Node::List(_) => false,
        }
    }
}
