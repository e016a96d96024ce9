//! Lists of like terms → sets: `port a or port b or …`, `not host a and not host b …`, sticky lists.
//!
//! Terms T₁ … Tₙ of one chain are *alike* if they differ only in the constants of their [`Elem`]s. They are merged if every `Elem`
//! decides: once it holds, its term holds with nothing left to evaluate. The merged term M is T₁ with each `Elem` replaced by a
//! set of all terms' values there.
//!
//! Why M is exact, though a read past the end rejects the packet and so the order of terms matters. Up to its first `Elem`
//! that holds, Tᵢ goes the way of T₁, since all else is equal; and an `Elem` that does not hold has read its whole field.
//! 1. If T₁ ends false, it has read all that any Tᵢ reads, so no Tᵢ is cut off and the order of T₂ … Tₙ is free: the chain is
//!    true where M is.
//! 2. If T₁ ends true, it meets one of its own `Elem`s, where M's set holds too, and M reads no more than T₁ until then.
//! 3. If T₁ is cut off, the chain is rejected. M may hold before it gets there (`host a or host b`, packet from b cut inside the
//!    destination); else it is cut off at the same read.
//!
//! So M differs in case 3 only, and [`Node::Guarded`] repairs that: where M holds on a packet shorter than everything M may
//! read, T₁ is evaluated for its reads alone.
//!
//! An IPv6 `Elem` breaks the premise, as it may fail on its first word with the last one unread. There M serves packets that hold
//! all its fields, and shorter ones go through a table in the original order ([`Node::ByLength`], [`super::ir::Scan`]).

use super::ast::Join;
use super::ir::{Elem, Field, Ir, IrId, Node, Scan, SetId, Test, Value, ValueId};

/// Longest IPv4 header.
const LONGEST_HEADER: u32 = 60;

/// The filter with lists merged: a new root in the same IR.
pub(crate) fn merge(ir: &mut Ir) -> Option<IrId> {
    let root = ir.root?;
    if ir.uses_last {
        return Some(root);
    }
    Some(Merger { ir }.node(root))
}

struct Merger<'i> {
    ir: &'i mut Ir,
}

impl Merger<'_> {
    /// Recursion is as deep as the parser allows.
    fn node(&mut self, id: IrId) -> IrId {
        match self.ir.node(id).clone() {
            Node::Chain(first, rest) => self.chain(first, rest),
            Node::Not(inner) => {
                let merged = self.node(inner);
                if merged == inner { id } else { self.ir.push(Node::Not(merged)) }
            }
            Node::Test(_) | Node::Elem(_) | Node::Guarded { .. } | Node::ByLength { .. } => id,
        }
    }

    fn chain(&mut self, first: IrId, rest: Vec<(Join, IrId)>) -> IrId {
        // The first term may be said to be joined by either word; that of the second lets it begin a run.
        let join = rest.first().map_or(Join::Or, |&(join, _)| join);
        let terms: Vec<(Join, IrId)> = std::iter::once((join, first)).chain(rest).collect();
        let mut out: Vec<(Join, IrId)> = Vec::new();
        let mut at = 0;
        while at < terms.len() {
            let (taken, merged) = self.run(&terms[at..]);
            out.push((terms[at].0, merged));
            at += taken;
        }
        let (_, first) = out.remove(0);
        if out.is_empty() { first } else { self.ir.push(Node::Chain(first, out)) }
    }

    /// Merges as many of the first terms as are joined alike and are alike; gives their number and the result.
    fn run(&mut self, terms: &[(Join, IrId)]) -> (usize, IrId) {
        let (join, first) = terms[0];
        let bodies = self.bodies(terms);
        if bodies.len() < 2 || !self.decides(bodies[0]) {
            return (1, self.node(first));
        }
        match self.merged(&bodies) {
            Some(merged) if join == Join::And => (bodies.len(), self.ir.push(Node::Not(merged))),
            Some(merged) => (bodies.len(), merged),
            None => (1, self.node(first)),
        }
    }

    /// The terms of an `or` that are like the first; of an `and` the terms inside its `not`s, by De Morgan.
    fn bodies(&self, terms: &[(Join, IrId)]) -> Vec<IrId> {
        let (join, first) = terms[0];
        let body = |id: IrId| match (join, self.ir.node(id)) {
            (Join::Or, _) => Some(id),
            (Join::And, Node::Not(inner)) => Some(*inner),
            (Join::And, _) => None,
        };
        let Some(first) = body(first) else { return Vec::new() };
        let joined = terms[1..].iter().take_while(|term| term.0 == join);
        let alike = joined.map_while(|&(_, id)| body(id)).take_while(|&other| self.alike(first, other));
        std::iter::once(first).chain(alike).collect()
    }

    fn alike(&self, a: IrId, b: IrId) -> bool {
        match (self.ir.node(a), self.ir.node(b)) {
            (Node::Test(a), Node::Test(b)) => a == b,
            (Node::Not(a), Node::Not(b)) => self.alike(*a, *b),
            (Node::Elem(a), Node::Elem(b)) => a.field == b.field && a.stepwise == b.stepwise,
            (Node::Chain(a, x), Node::Chain(b, y)) => {
                x.len() == y.len() && self.alike(*a, *b) && x.iter().zip(y).all(|(x, y)| x.0 == y.0 && self.alike(x.1, y.1))
            }
            _ => false,
        }
    }

    /// Every element decides its term: none is under `not`, none has an `and` after it.
    fn decides(&self, id: IrId) -> bool {
        match self.ir.node(id) {
            Node::Test(_) | Node::Elem(_) => true,
            Node::Not(inner) => self.elems(*inner).is_empty(),
            Node::Chain(first, rest) => {
                let before_and = rest.iter().rposition(|&(join, _)| join == Join::And).map_or(0, |last| last + 1);
                let mut operands = std::iter::once(*first).chain(rest.iter().map(|r| r.1)).enumerate();
                operands.all(|(i, operand)| if i < before_and { self.elems(operand).is_empty() } else { self.decides(operand) })
            }
            Node::Guarded { .. } | Node::ByLength { .. } => false,
        }
    }

    /// The elements in order.
    fn elems(&self, id: IrId) -> Vec<Elem> {
        let mut found = Vec::new();
        self.collect(id, &mut found);
        found
    }

    fn collect(&self, id: IrId, found: &mut Vec<Elem>) {
        match self.ir.node(id) {
            Node::Elem(elem) => found.push(*elem),
            Node::Not(inner) => self.collect(*inner, found),
            Node::Chain(first, rest) => {
                self.collect(*first, found);
                rest.iter().for_each(|&(_, node)| self.collect(node, found));
            }
            Node::Test(_) | Node::Guarded { .. } | Node::ByLength { .. } => {}
        }
    }

    fn merged(&mut self, terms: &[IrId]) -> Option<IrId> {
        let exact = terms[0];
        let elems: Vec<Vec<Elem>> = terms.iter().map(|&term| self.elems(term)).collect();
        let fields: Vec<Field> = elems[0].iter().map(|elem| elem.field).collect();
        let reach = self.reach(&fields);
        if elems[0].iter().any(|elem| elem.stepwise) {
            return self.merged_stepwise(exact, &elems, reach);
        }
        let merged = self.with_sets(exact, &elems);
        Some(self.ir.push(Node::Guarded { merged, exact, reach }))
    }

    fn merged_stepwise(&mut self, exact: IrId, elems: &[Vec<Elem>], reach: u32) -> Option<IrId> {
        let uniform = elems.iter().all(|row| row.iter().all(|elem| elem.stepwise && (elem.low, elem.high) == (row[0].low, row[0].high)));
        let fixed = elems[0].iter().all(|elem| elem.field.base.is_none());
        let before = self.common_tests(exact)?;
        if !uniform || !fixed || reach == u32::MAX {
            return None;
        }
        let rows = elems.iter().map(|row| (row[0].low, !(row[0].low ^ row[0].high))).collect();
        let fields = elems[0].iter().map(|elem| elem.field).collect();
        let scan = self.ir.new_scan(Scan { fields, rows });
        let scan = self.ir.push_test(Test::Scan(scan));
        let rest = before[1..].iter().copied().chain([scan]).map(|node| (Join::And, node)).collect();
        let short = self.ir.push(Node::Chain(before[0], rest));
        let long = self.with_sets(exact, elems);
        Some(self.ir.push(Node::ByLength { reach, long, short }))
    }

    /// What stands before each element, if the term is `tests and elem` or several of those with equal tests, `or`-ed.
    fn common_tests(&self, id: IrId) -> Option<Vec<IrId>> {
        let Node::Chain(first, rest) = self.ir.node(id) else { return None };
        if rest.iter().all(|r| r.0 == Join::And) {
            let (last, others) = rest.split_last()?;
            let tests: Vec<IrId> = std::iter::once(*first).chain(others.iter().map(|r| r.1)).collect();
            let plain = tests.iter().all(|&test| self.elems(test).is_empty());
            return (plain && matches!(self.ir.node(last.1), Node::Elem(_))).then_some(tests);
        }
        let tests = self.common_tests(*first)?;
        let same = |other: &[IrId]| other.len() == tests.len() && other.iter().zip(&tests).all(|(&a, &b)| self.alike(a, b));
        let all = rest.iter().all(|&(join, node)| join == Join::Or && self.common_tests(node).is_some_and(|other| same(&other)));
        all.then_some(tests)
    }

    /// `exact` with each element replaced by a set of all terms' ranges there.
    fn with_sets(&mut self, exact: IrId, elems: &[Vec<Elem>]) -> IrId {
        let mut sets: Vec<(Vec<(u128, u128)>, SetId)> = Vec::new();
        let mut tests = Vec::new();
        for (i, elem) in elems[0].iter().enumerate() {
            let ranges: Vec<(u128, u128)> = elems.iter().map(|row| (row[i].low, row[i].high)).collect();
            let known = sets.iter().find(|(other, _)| *other == ranges).map(|&(_, set)| set);
            let set = known.unwrap_or_else(|| self.ir.new_set(ranges.clone()));
            if known.is_none() {
                sets.push((ranges, set));
            }
            tests.push(self.ir.push_test(Test::Within(elem.field, set)));
        }
        self.replace(exact, &mut tests.into_iter())
    }

    fn replace(&mut self, id: IrId, tests: &mut impl Iterator<Item = IrId>) -> IrId {
        match self.ir.node(id).clone() {
            Node::Elem(_) => tests.next().unwrap_or(id),
            Node::Chain(first, rest) => {
                let first = self.replace(first, tests);
                let rest = rest.into_iter().map(|(join, node)| (join, self.replace(node, tests))).collect();
                self.ir.push(Node::Chain(first, rest))
            }
            _ => id,
        }
    }

    /// A length at which none of the fields is cut off, whatever the headers say; the greatest number if there is none.
    fn reach(&self, fields: &[Field]) -> u32 {
        fields.iter().map(|&field| self.field_end(field)).max().unwrap_or(0)
    }

    fn field_end(&self, field: Field) -> u32 {
        let base = match field.base {
            None => Some(0),
            Some(base) => self.is_header_len(base).then_some(LONGEST_HEADER),
        };
        let end = base.and_then(|base| base.checked_add(field.offset)?.checked_add(field.bytes.into()));
        end.unwrap_or(u32::MAX)
    }

    /// 4·(byte & 15), with nothing added.
    fn is_header_len(&self, value: ValueId) -> bool {
        use super::ast::Arithop::{And, Shl};
        let Value::Bin(Shl, words, two) = self.ir.value(value) else { return false };
        let Value::Bin(And, _, mask) = self.ir.value(words) else { return false };
        matches!((self.ir.value(mask), self.ir.value(two)), (Value::Const(0..=15), Value::Const(2)))
    }
}
