//! Evaluation that keeps an account.

use std::collections::HashMap;

use super::super::ast::{Ast, Join};
use super::super::eval::{Machine, Stop};
use super::super::ir::{Cmp, Elem, Field, IrId, Node, Protochain, Test, TestId, Value, ValueId};
use super::super::lower::Lowered;
use super::super::lower::names::Name;
use super::{Explanation, Finding, Outcome, Term};

pub(super) fn explain(ast: &Ast, lowered: &Lowered, packet: &[u8], wire_len: u32) -> Explanation {
    let terms = lowered.terms.iter().map(|&(_, node)| Term { span: ast.span(node), outcome: Outcome::NotReached, findings: Vec::new() });
    let roots = lowered.terms.iter().enumerate().map(|(i, &(root, _))| (root, i)).collect();
    let machine = Machine::new(&lowered.ir, packet, wire_len);
    let mut trace = Trace { lowered, machine, roots, terms: terms.collect(), now: None };
    let accepted = lowered.ir.root.is_none_or(|root| trace.node(root).unwrap_or(false));
    Explanation { accepted, terms: trace.terms }
}

struct Trace<'l> {
    lowered: &'l Lowered,
    machine: Machine<'l>,
    /// Which term a node is the root of.
    roots: HashMap<IrId, usize>,
    terms: Vec<Term>,
    now: Option<usize>,
}

impl Trace<'_> {
    fn node(&mut self, id: IrId) -> Result<bool, Stop> {
        let Some(&term) = self.roots.get(&id).filter(|_| self.now.is_none()) else { return self.inside(id) };
        self.now = Some(term);
        let result = self.inside(id);
        self.now = None;
        self.terms[term].outcome = match result {
            Ok(true) => Outcome::Held,
            Ok(false) => Outcome::Failed,
            Err(Stop::Short { start, bytes }) => {
                Outcome::TooShort { start, end: start + u64::from(bytes), have: self.machine.captured() as u64 }
            }
            Err(Stop::DivisionByZero) => Outcome::DivisionByZero,
            Err(Stop::Endless) => Outcome::Endless,
        };
        result
    }

    fn inside(&mut self, id: IrId) -> Result<bool, Stop> {
        let ir = &self.lowered.ir;
        match ir.node(id) {
            Node::Test(test) => self.test(test),
            Node::Not(inner) => Ok(!self.node(inner)?),
            Node::Chain(first, rest) => {
                let mut holds = self.node(first)?;
                for &(join, node) in ir.links(rest) {
                    if holds == (join == Join::And) {
                        holds = self.node(node)?;
                    }
                }
                Ok(holds)
            }
            Node::Elem(elem) => self.elem(ir.elem(elem)),
            Node::Guarded { .. } | Node::ByLength { .. } | Node::List(_) => self.machine.node(id),
        }
    }

    /// What was asked before in the same term is not told again.
    fn note(&mut self, finding: Finding) {
        let Some(term) = self.now else { return };
        let findings = &mut self.terms[term].findings;
        if !findings.contains(&finding) {
            findings.push(finding);
        }
    }

    fn name(&self, field: Field) -> Name {
        self.lowered.names.get(&field).copied().unwrap_or(Name::Bytes)
    }

    fn bytes(&self, field: Field) -> Option<(u64, u64)> {
        let base = field.base.map_or(Ok(0), |base| self.machine.value(base)).ok()?;
        let start = u64::from(base) + u64::from(field.offset);
        Some((start, start + u64::from(field.bytes)))
    }

    fn elem(&mut self, elem: Elem) -> Result<bool, Stop> {
        let result = self.machine.node(elem.plain);
        let name = self.name(elem.field);
        let show = |value| name.show(value, elem.field.bytes);
        let wanted =
            if elem.low == elem.high { format!("= {}", show(elem.low)) } else { format!("in {}–{}", show(elem.low), show(elem.high)) };
        let found = self.machine.field(elem.field).map(show).unwrap_or_default();
        let bytes = self.bytes(elem.field);
        self.note(Finding { what: name.what(bytes), bytes, found, wanted, holds: result == Ok(true) });
        result
    }

    fn test(&mut self, id: TestId) -> Result<bool, Stop> {
        let test = self.lowered.ir.test(id);
        let finding = match test {
            Test::Cmp(lhs, cmp, rhs) => Some(self.comparison(lhs, cmp, rhs)),
            Test::Protochain(chain) => Some(self.walk(chain)),
            Test::Const(_)
            | Test::Within(..)
            | Test::Tuple(_)
            | Test::Scan(_)
            | Test::Rows(_)
            | Test::Readable(_)
            | Test::Captured(_)
            | Test::Assign(..)
            | Test::Geneve(_) => None,
        };
        let result = self.machine.test(id);
        if let Some(finding) = finding {
            self.note(Finding { holds: result == Ok(true), ..finding });
        }
        result
    }

    fn comparison(&mut self, lhs: ValueId, cmp: Cmp, rhs: ValueId) -> Finding {
        let (field, mask) = self.looked_at(lhs);
        let name = field.map_or(Name::Bytes, |field| self.name(field));
        let width = field.map_or(4, |field| field.bytes);
        let show = |value: u32| if field.is_some() { name.show(value.into(), width) } else { value.to_string() };
        let bytes = field.and_then(|field| self.bytes(field));
        let wanted = self.machine.value(rhs).map(|value| match cmp {
            Cmp::Eq => format!("= {}", show(value)),
            Cmp::Gt => format!("> {}", show(value)),
            Cmp::Ge => format!("≥ {}", show(value)),
            Cmp::Bits => format!("& {value:#x} ≠ 0"),
        });
        let what = match (field, mask) {
            (Some(_), None) => name.what(bytes),
            (Some(_), Some(mask)) => format!("{} & {mask:#x}", name.what(bytes)),
            (None, _) if self.lowered.ir.value(lhs) == Value::Len => "length on the wire".to_owned(),
            (None, _) => "left side".to_owned(),
        };
        let found = self.machine.value(lhs).map(show).unwrap_or_default();
        Finding { what, bytes, found, wanted: wanted.unwrap_or_default(), holds: false }
    }

    /// The field that a value is, or is under a constant mask.
    fn looked_at(&self, value: ValueId) -> (Option<Field>, Option<u32>) {
        let ir = &self.lowered.ir;
        match ir.value(value) {
            Value::Load(field) => (Some(field), None),
            Value::Bin(super::super::ast::Arithop::And, a, b) => match (ir.value(a), ir.value(b)) {
                (Value::Load(field), Value::Const(mask)) => (Some(field), Some(mask)),
                _ => (None, None),
            },
            _ => (None, None),
        }
    }

    fn walk(&self, chain: Protochain) -> Finding {
        let version = if chain.v6 { "IPv6" } else { "IPv4" };
        let what = format!("chain of headers behind {version}");
        Finding { what, bytes: None, found: String::new(), wanted: format!("holds protocol {}", chain.wanted), holds: false }
    }
}
