//! What a term looks like apart from the constants of its elements.

use super::super::ast::Join;
use super::super::ir::{Cmp, Elem, ElemId, Field, Ir, IrId, Node, Test, Value, ValueId};
use super::super::reads::{divides, greatest, operands, reads};

/// What merging asks of a term.
pub(super) struct TermSummary {
    /// Once an element holds, the term holds: none is under `not`, none has an `and` after it.
    pub decides: bool,
    pub elems: usize,
    pub stepwise: bool,
    /// The value that the term looks at first, and what it must be for the term to look further.
    entry: Option<(ValueId, Vec<u32>)>,
}

impl TermSummary {
    pub(super) fn of(ir: &Ir, id: IrId) -> TermSummary {
        let elems = ir.elems(id);
        TermSummary { decides: ir.decides(id), elems: elems.len(), stepwise: elems.iter().any(|elem| elem.stepwise), entry: ir.entry(id) }
    }

    /// On any packet one of the two terms is false after its first look.
    pub(super) fn excludes(&self, other: &TermSummary) -> bool {
        match (&self.entry, &other.entry) {
            (Some((a, own)), Some((b, theirs))) => a == b && own.iter().all(|c| !theirs.contains(c)),
            _ => false,
        }
    }
}

impl Ir {
    /// Equal for like terms and different for others. Appended to `key`.
    pub(super) fn shape_key(&self, id: IrId, key: &mut Vec<u32>) {
        match self.node(id) {
            Node::Test(test) => key.extend([0, test.0]),
            Node::Not(inner) => {
                key.push(1);
                self.shape_key(inner, key);
            }
            Node::Elem(elem) => {
                let Elem { field, stepwise, .. } = self.elem(elem);
                let base = field.base.map_or(0, |base| base.0 + 1);
                key.extend([2, base, field.offset, field.bytes.into(), stepwise.into()]);
            }
            Node::Chain(first, rest) => {
                let rest = self.links(rest);
                key.extend([3, u32::try_from(rest.len()).unwrap_or(u32::MAX)]);
                self.shape_key(first, key);
                for &(join, node) in rest {
                    key.push(u32::from(join == Join::And));
                    self.shape_key(node, key);
                }
            }
            Node::Guarded { .. } | Node::ByLength { .. } | Node::List(_) => key.extend([4, id.0]),
        }
    }

    /// The elements in order.
    pub(super) fn elems(&self, id: IrId) -> Vec<Elem> {
        let mut found = Vec::new();
        self.each_elem(id, &mut |elem| found.push(elem));
        found
    }

    /// The ranges of all elements of like terms, term by term.
    pub(super) fn ranges(&self, terms: &[IrId]) -> Vec<(u128, u128)> {
        let mut ranges = Vec::new();
        terms.iter().for_each(|&term| self.each_elem(term, &mut |elem| ranges.push((elem.low, elem.high))));
        ranges
    }

    fn each_elem(&self, id: IrId, each: &mut impl FnMut(Elem)) {
        self.each_elem_id(id, &mut |elem| each(self.elem(elem)));
    }

    pub(super) fn each_elem_id(&self, id: IrId, each: &mut impl FnMut(ElemId)) {
        match self.node(id) {
            Node::Elem(elem) => each(elem),
            Node::Not(inner) => self.each_elem_id(inner, each),
            Node::Chain(first, rest) => {
                self.each_elem_id(first, each);
                self.links(rest).iter().for_each(|&(_, node)| self.each_elem_id(node, each));
            }
            Node::Test(_) | Node::Guarded { .. } | Node::ByLength { .. } | Node::List(_) => {}
        }
    }

    pub(super) fn decides(&self, id: IrId) -> bool {
        match self.node(id) {
            Node::Test(test) => !matches!(self.test(test), Test::Assign(..) | Test::Geneve(_)),
            Node::Elem(_) => true,
            Node::Not(inner) => self.elems(inner).is_empty() && self.decides(inner),
            Node::Chain(first, rest) => {
                let rest = self.links(rest);
                let before_and = rest.iter().rposition(|&(join, _)| join == Join::And).map_or(0, |last| last + 1);
                let mut operands = std::iter::once(first).chain(rest.iter().map(|r| r.1)).enumerate();
                operands.all(|(i, operand)| self.decides(operand) && (i >= before_and || self.elems(operand).is_empty()))
            }
            Node::Guarded { .. } | Node::ByLength { .. } | Node::List(_) => false,
        }
    }

    fn entry(&self, id: IrId) -> Option<(ValueId, Vec<u32>)> {
        let (first, rest) = match self.node(id) {
            Node::Test(test) => return self.entry_test(self.test(test)),
            Node::Chain(first, rest) => (first, self.links(rest)),
            _ => return None,
        };
        let (value, mut wanted) = self.entry(first)?;
        if rest.iter().all(|r| r.0 == Join::And) {
            return Some((value, wanted));
        }
        for &(join, node) in rest {
            let (other, more) = self.entry(node)?;
            if other != value || join == Join::And {
                return None;
            }
            wanted.extend(more);
        }
        Some((value, wanted))
    }

    fn entry_test(&self, test: Test) -> Option<(ValueId, Vec<u32>)> {
        let Test::Cmp(value, Cmp::Eq, wanted) = test else { return None };
        match self.value(wanted) {
            Value::Const(c) => Some((value, vec![c])),
            _ => None,
        }
    }

    /// What stands before each element, if the term is `tests and elem` or several of those with
    /// equal tests, `or`-ed.
    pub(super) fn common_tests(&self, id: IrId) -> Option<Vec<IrId>> {
        let Node::Chain(first, rest) = self.node(id) else { return None };
        let rest = self.links(rest);
        if rest.iter().all(|r| r.0 == Join::And) {
            let (last, others) = rest.split_last()?;
            let tests: Vec<IrId> = std::iter::once(first).chain(others.iter().map(|r| r.1)).collect();
            let plain = tests.iter().all(|&test| matches!(self.node(test), Node::Test(_)));
            return (plain && matches!(self.node(last.1), Node::Elem(_))).then_some(tests);
        }
        let tests = self.common_tests(first)?;
        let same = |other: &[IrId]| other.len() == tests.len() && other.iter().zip(&tests).all(|(&a, &b)| self.node(a) == self.node(b));
        let all = rest.iter().all(|&(join, node)| join == Join::Or && self.common_tests(node).is_some_and(|other| same(&other)));
        all.then_some(tests)
    }

    /// A captured length at which nothing that the term may read is cut off; the greatest number if
    /// there is none.
    pub(crate) fn reach(&self, id: IrId) -> u32 {
        match self.node(id) {
            Node::Test(test) => self.test_reach(self.test(test)),
            Node::Not(inner) => self.reach(inner),
            Node::Elem(elem) => self.reach(self.elem(elem).plain),
            Node::Chain(first, rest) => self.links(rest).iter().map(|r| self.reach(r.1)).fold(self.reach(first), u32::max),
            Node::Guarded { .. } | Node::ByLength { .. } | Node::List(_) => u32::MAX,
        }
    }

    fn test_reach(&self, test: Test) -> u32 {
        let endless = matches!(test, Test::Protochain(_) | Test::Scan(_) | Test::Rows(_) | Test::Geneve(_));
        if endless || operands(test).into_iter().any(|value| divides(self, value)) {
            return u32::MAX;
        }
        let mut reach = 0;
        reads(self, test, &mut |field| reach = reach.max(self.field_end(field)));
        reach
    }

    fn field_end(&self, field: Field) -> u32 {
        let base = field.base.map_or(0, |base| greatest(self, base));
        base.checked_add(field.offset).and_then(|start| start.checked_add(field.bytes.into())).unwrap_or(u32::MAX)
    }
}
