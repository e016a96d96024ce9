//! Terms of packets logged by OpenBSD's pf and of SS7 messages.

use super::ast::{Join, Node, NodeId, PfField, Relop, Ss7Field};
use super::error::Error;
use super::parser::{Parser, Res};
use super::token::{GE, LE, NE, Tok};

impl Parser {
    /// What follows `ifname`, `ruleset`, `srnr`, `reason` or `action`.
    pub(super) fn pf(&mut self, field: PfField) -> Res<Node> {
        match (field, self.peek()) {
            (PfField::Interface | PfField::Ruleset, Tok::Name) => Ok(Node::PfName(field, self.bump().span)),
            (PfField::Interface, _) => Err(self.expected("the name of an interface")),
            (PfField::Ruleset, _) => Err(self.expected("the name of a ruleset")),
            (PfField::Reason, Tok::Name) => self.pf_word(REASONS, "reason").map(|value| Node::Pf(field, value)),
            (PfField::Action, Tok::Name) => self.pf_word(ACTIONS, "action").map(|value| Node::Pf(field, value)),
            (PfField::Action, _) => Err(self.expected("an action such as `pass` or `block`")),
            _ => Ok(Node::Pf(field, self.plain_number()?)),
        }
    }

    fn pf_word(&mut self, names: &[(&str, u32)], what: &str) -> Res<u32> {
        let text = self.ast.text(self.span()).to_ascii_lowercase();
        let found = names.iter().find(|(name, _)| *name == text).map(|&(_, value)| value);
        let value = found.ok_or_else(|| {
            let known: Vec<&str> = names.iter().map(|&(name, _)| name).collect();
            Error::new(self.span(), format!("pf has no {what} `{text}`")).help(format!("known: {}", known.join(", ")))
        })?;
        self.bump();
        Ok(value)
    }

    /// A field of SS7, at its word: one number, a comparison, or numbers in parentheses.
    pub(super) fn ss7(&mut self, field: Ss7Field, high: bool) -> Res<NodeId> {
        let start = self.bump().span;
        let is = |op, value| Node::Ss7Field { field, high, op, value };
        if self.eat(Tok::Punct(b'(')) {
            return self.ss7_list(start, &is);
        }
        let op = self.ss7_comparison();
        let value = self.plain_number()?;
        let span = start.to(self.previous());
        Ok(self.node(is(op, value), span))
    }

    fn ss7_comparison(&mut self) -> Relop {
        let op = match self.peek() {
            Tok::Punct(b'=') => Relop::Eq,
            Tok::Punct(b'>') => Relop::Gt,
            Tok::Punct(b'<') => Relop::Lt,
            Tok::Punct(GE) => Relop::Ge,
            Tok::Punct(LE) => Relop::Le,
            Tok::Punct(NE) => Relop::Ne,
            _ => return Relop::Eq,
        };
        self.bump();
        op
    }

    /// `(1 or 2 or 3)` behind its parenthesis.
    fn ss7_list(&mut self, start: super::error::Span, is: &dyn Fn(Relop, u32) -> Node) -> Res<NodeId> {
        let mut nodes = Vec::new();
        loop {
            let (value, at) = (self.plain_number()?, self.previous());
            nodes.push(self.node(is(Relop::Eq, value), at));
            if !self.eat(Tok::Or) {
                break;
            }
        }
        if !self.eat(Tok::Punct(b')')) {
            return Err(self.expected("`)` or `or`"));
        }
        let span = start.to(self.previous());
        let first = nodes.remove(0);
        if nodes.is_empty() {
            self.ast.nodes[first.0 as usize].1 = span;
            return Ok(first);
        }
        let rest = nodes.into_iter().map(|node| (Join::Or, node)).collect();
        Ok(self.node(Node::Chain { first, rest }, span))
    }
}

/// Names of pf's reasons that every system has.
const REASONS: &[(&str, u32)] = &[
    ("match", 0),
    ("bad-offset", 1),
    ("fragment", 2),
    ("short", 3),
    ("normalize", 4),
    ("memory", 5),
    ("bad-timestamp", 6),
    ("congestion", 7),
    ("ip-option", 8),
    ("proto-cksum", 9),
    ("state-mismatch", 10),
    ("state-insert", 11),
    ("state-limit", 12),
    ("src-limit", 13),
    ("synproxy", 14),
];

/// Names of pf's actions that every system has.
const ACTIONS: &[(&str, u32)] = &[
    ("pass", 0),
    ("accept", 0),
    ("drop", 1),
    ("block", 1),
    ("scrub", 2),
    ("noscrub", 3),
    ("nat", 4),
    ("nonat", 5),
    ("binat", 6),
    ("nobinat", 7),
    ("rdr", 8),
    ("nordr", 9),
    ("synproxy-drop", 10),
];
