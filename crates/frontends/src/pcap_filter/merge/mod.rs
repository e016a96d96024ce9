//! Lists of like terms → sets: `port a or port b or …`, `not host a and not host b …`, sticky
//! lists.
//!
//! Terms are *alike* if they differ only in the constants of their [`Elem`]s. Like terms T₁ … Tₙ
//! can be merged if every `Elem` *decides*: once it holds, its term holds with nothing left to
//! evaluate. The merged term M is T₁ with each `Elem` replaced by a set of all the terms' values
//! there.
//!
//! Why M is exact, though a read past the end rejects the packet and so the order of terms matters.
//! Up to its first `Elem` that holds, Tᵢ goes the way of T₁, since all else is equal; and an `Elem`
//! that does not hold has read its whole field. So
//!
//! 1. if T₁ ends false, it has read all that any Tᵢ reads: none of them is cut off, and M holds if
//!    and only if one of them does;
//! 2. if T₁ ends true, it meets one of its own `Elem`s, where M's set holds too, and M has read no
//!    more than T₁ until then;
//! 3. if T₁ is cut off, M holds before it gets there, or is cut off at the same read.
//!
//! M in place of `T₁ or T₂ … or Tₙ` is thus wrong only in case 3, by holding where the packet is
//! rejected. [`Node::Guarded`] repairs that: where M holds on a packet shorter than everything T₁
//! may read, T₁ is evaluated for its reads alone.
//!
//! A chain of `or`s is taken in stretches that begin at a term unlike all before it. When
//! evaluation gets past that term, every other term of the stretch has a like one before it that
//! ended false, so by 1 none is cut off, their order is free, and each kind can be merged by itself
//! (alternating hosts and ports become two sets). Only the stretch's first term needs a guard.
//!
//! An IPv6 `Elem` breaks the premise, as it may fail on its first word with the last one unread.
//! There M serves packets that hold all its fields, and shorter ones go through a table in the
//! original order ([`Node::ByLength`], [`super::ir::Scan`]). Such terms are merged with their
//! neighbours only, unless all other terms of the chain ask for other values of the same type
//! field: then on any packet either these or those are false at once, and order between them means
//! nothing.
//!
//! Terms whose `Elem`s do not decide may have a part in common that can be taken out, see `factor`.
//! Long lists of terms with several `Elem`s that must hold together,
//! `(host a and port p) or (host b and port q)`, become sets of tuples, see `tuples`.

mod factor;
mod shape;
mod tuples;

use std::collections::{HashMap, HashSet};

use self::shape::TermSummary;
use super::ast::Join;
#[cfg(doc)]
use super::ir::Elem;
use super::ir::{Ir, IrId, Links, Node, Scan, SetId, Test};

/// The filter with lists merged: a new root in the same IR.
pub(crate) fn merge(ir: &mut Ir) -> Option<IrId> {
    let root = ir.root?;
    if ir.uses_last {
        return Some(root);
    }
    Some(Merger { ir, depth: 0 }.node(root, true))
}

struct Merger<'i> {
    ir: &'i mut Ir,
    /// How often a common part was taken out around what is merged now.
    depth: u32,
}

/// A term of a chain: its place and which shape it has.
#[derive(Clone, Copy)]
struct Term {
    id: IrId,
    shape: usize,
}

impl Merger<'_> {
    /// `rejects`: where the node is false the packet is rejected, as it is where the node is cut
    /// off. Recursion is as deep as the parser allows.
    fn node(&mut self, id: IrId, rejects: bool) -> IrId {
        match self.ir.node(id) {
            Node::Chain(first, rest) => self.chain(first, rest, rejects),
            Node::Not(inner) => {
                let merged = self.node(inner, false);
                if merged == inner { id } else { self.ir.push(Node::Not(merged)) }
            }
            Node::Test(_) | Node::Elem(_) | Node::Guarded { .. } | Node::ByLength { .. } | Node::List(_) => id,
        }
    }

    fn chain(&mut self, first: IrId, rest: Links, rejects: bool) -> IrId {
        let rest = self.ir.links(rest);
        // The first term may be said to be joined by either word; that of the second lets it begin
        // a run.
        let join = rest.first().map_or(Join::Or, |&(join, _)| join);
        let terms: Vec<(Join, IrId)> = std::iter::once((join, first)).chain(rest.iter().copied()).collect();
        let mut out: Vec<(Join, IrId)> = Vec::new();
        let last_or = terms.iter().rposition(|&(join, _)| join == Join::Or).unwrap_or(0);
        let mut at = 0;
        while at < terms.len() {
            let (taken, merged) = self.run(&terms[at..], rejects.then_some(last_or.saturating_sub(at)));
            out.push((terms[at].0, merged));
            at += taken;
        }
        let (_, first) = out.remove(0);
        if out.is_empty() { first } else { self.ir.push_chain(first, out) }
    }

    /// The terms at the front that are joined alike, as one; of an `and` those under `not`, by De
    /// Morgan. With their number. `rejecting`: the first term, if any, that rejects the packet
    /// where it is false.
    fn run(&mut self, terms: &[(Join, IrId)], rejecting: Option<usize>) -> (usize, IrId) {
        let (join, first) = terms[0];
        let body = |id: IrId| match (join, self.ir.node(id)) {
            (Join::Or, _) => Some(id),
            (Join::And, Node::Not(inner)) => Some(inner),
            (Join::And, _) => None,
        };
        let bodies: Vec<IrId> = terms.iter().take_while(|term| term.0 == join).map_while(|&(_, id)| body(id)).collect();
        let rejects = |taken: usize| rejecting.is_some_and(|at| taken > at);
        if bodies.len() < 2 {
            return (1, self.node(first, rejects(1)));
        }
        let merged = self.alternatives(&bodies, join == Join::Or && rejects(bodies.len()));
        let merged = if join == Join::And { self.ir.push(Node::Not(merged)) } else { merged };
        (bodies.len(), merged)
    }

    /// `a or b or …`; `rejects`: where none holds the packet is rejected.
    fn alternatives(&mut self, bodies: &[IrId], rejects: bool) -> IrId {
        let (terms, shapes) = self.shapes(bodies);
        let tail = if rejects { self.tail(bodies) } else { terms.len() };
        let mut out = Vec::new();
        let mut seen = HashSet::new();
        let (mut at, mut open) = (0, 0);
        while at < terms.len() {
            // Those before it decide nothing by an element.
            open = open.max(at);
            open += terms[open..].iter().take_while(|term| !shapes[term.shape].decides).count();
            if let Some((taken, node)) = self.grouped(&terms[at..open], at >= tail && open == terms.len()) {
                out.push(node);
                at += taken;
                continue;
            }
            at += if shapes[terms[at].shape].stepwise {
                self.neighbours(&terms[at..], &shapes, &mut seen, &mut out)
            } else {
                self.stretch(&terms[at..], &shapes, &mut seen, &mut out)
            };
        }
        let (first, rest) = (out[0], &out[1..]);
        if rest.is_empty() {
            return first;
        }
        self.ir.push_chain(first, rest.iter().map(|&node| (Join::Or, node)))
    }

    /// The terms at the front, none of which decides by itself, that can be taken together: all of
    /// them with a part in common, or as a list, or a few with a part in common.
    fn grouped(&mut self, terms: &[Term], tail: bool) -> Option<(usize, IrId)> {
        let shared = self.factored(terms, tail);
        match shared {
            Some((taken, _)) if taken == terms.len() => shared,
            _ => self.listed(terms).or(shared),
        }
    }

    fn shapes(&mut self, bodies: &[IrId]) -> (Vec<Term>, Vec<TermSummary>) {
        let mut known: HashMap<Vec<u32>, usize> = HashMap::new();
        let mut shapes = Vec::new();
        let mut key = Vec::new();
        let terms = bodies.iter().map(|&id| {
            key.clear();
            self.ir.shape_key(id, &mut key);
            let shape = known.get(&key).copied().unwrap_or_else(|| {
                known.insert(key.clone(), shapes.len());
                shapes.push(TermSummary::of(self.ir, id));
                shapes.len() - 1
            });
            Term { id, shape }
        });
        (terms.collect(), shapes)
    }

    /// Takes a term and all those after it that are like it or like one before; gives their number.
    fn stretch(&mut self, terms: &[Term], shapes: &[TermSummary], seen: &mut HashSet<usize>, out: &mut Vec<IrId>) -> usize {
        let first = terms[0];
        if !shapes[first.shape].decides {
            out.push(self.node(first.id, false));
            return 1;
        }
        let new = seen.insert(first.shape);
        let taken = terms.iter().take_while(|term| seen.contains(&term.shape)).count();
        let mut kinds: Vec<(usize, Vec<IrId>)> = Vec::new();
        for term in terms[..taken].iter().filter(|term| !shapes[term.shape].stepwise) {
            match kinds.iter_mut().find(|kind| kind.0 == term.shape) {
                Some(kind) => kind.1.push(term.id),
                None => kinds.push((term.shape, vec![term.id])),
            }
        }
        for (i, (shape, ids)) in kinds.iter().enumerate() {
            let guarded = new && i == 0;
            match (guarded, ids.len(), shapes[*shape].elems) {
                (true, 1, _) | (true, _, 0) => out.push(self.node(ids[0], false)),
                // A like term without sets is the same term, and was false.
                (false, _, 0) => {}
                _ => out.push(self.merged(ids, guarded)),
            }
        }
        taken
    }

    /// Takes a term with IPv6 addresses and those like it: all of the chain if the other terms do
    /// not matter to it, else those right behind it.
    fn neighbours(&mut self, terms: &[Term], shapes: &[TermSummary], seen: &mut HashSet<usize>, out: &mut Vec<IrId>) -> usize {
        let own = terms[0].shape;
        if seen.contains(&own) {
            return 1;
        }
        let apart = shapes.iter().enumerate().all(|(i, other)| i == own || shapes[own].excludes(other));
        let alike: Vec<IrId> = if apart {
            terms.iter().filter(|term| term.shape == own).map(|term| term.id).collect()
        } else {
            terms.iter().take_while(|term| term.shape == own).map(|term| term.id).collect()
        };
        let merged = (alike.len() > 1 && shapes[own].decides).then(|| self.merged_stepwise(&alike)).flatten();
        match merged {
            Some(merged) => {
                out.push(merged);
                if apart {
                    seen.insert(own);
                    return 1;
                }
                alike.len()
            }
            None => {
                out.push(self.node(terms[0].id, false));
                1
            }
        }
    }

    fn merged(&mut self, terms: &[IrId], guarded: bool) -> IrId {
        let exact = terms[0];
        let merged = self.with_sets(terms);
        if !guarded {
            return merged;
        }
        let reach = self.ir.reach(exact);
        self.ir.push(Node::Guarded { merged, exact, reach })
    }

    fn merged_stepwise(&mut self, terms: &[IrId]) -> Option<IrId> {
        let exact = terms[0];
        let before = self.ir.common_tests(exact)?;
        let elems = self.ir.elems(exact);
        let fixed = elems.iter().all(|elem| elem.stepwise && elem.field.base.is_none());
        let reach = self.ir.reach(exact);
        if !fixed || reach == u32::MAX {
            return None;
        }
        let ranges = self.ir.ranges(terms);
        let rows = ranges.chunks(elems.len()).map(|row| {
            let (low, high) = row[0];
            row.iter().all(|range| *range == row[0]).then_some((low, !(low ^ high)))
        });
        let rows = rows.collect::<Option<_>>()?;
        let fields = elems.iter().map(|elem| elem.field).collect();
        let scan = self.ir.new_scan(Scan { fields, rows });
        let scan = self.ir.push_test(Test::Scan(scan));
        let rest = before[1..].iter().copied().chain([scan]).map(|node| (Join::And, node));
        let short = self.ir.push_chain(before[0], rest);
        let long = self.with_sets(terms);
        Some(self.ir.push(Node::ByLength { reach, long, short }))
    }

    /// The first term with each element replaced by a set of all terms' ranges there; equal sets
    /// are one.
    fn with_sets(&mut self, terms: &[IrId]) -> IrId {
        let elems = self.ir.elems(terms[0]);
        let ranges = self.ir.ranges(terms);
        let mut sets: Vec<(usize, SetId)> = Vec::new();
        let mut tests = Vec::new();
        for (i, elem) in elems.iter().enumerate() {
            let rows = || ranges.chunks(elems.len());
            let known = sets.iter().find(|&&(at, _)| rows().all(|row| row[at] == row[i])).map(|&(_, set)| set);
            let set = known.unwrap_or_else(|| self.ir.new_set(rows().map(|row| row[i]).collect()));
            sets.push((i, set));
            tests.push(self.ir.push_test(Test::Within(elem.field, set)));
        }
        self.replace(terms[0], &mut tests.into_iter())
    }

    fn replace(&mut self, id: IrId, tests: &mut impl Iterator<Item = IrId>) -> IrId {
        match self.ir.node(id) {
            Node::Elem(_) => tests.next().unwrap_or(id),
            Node::Chain(first, rest) => {
                let rest = self.ir.links(rest).to_vec();
                let first = self.replace(first, tests);
                let rest: Vec<_> = rest.into_iter().map(|(join, node)| (join, self.replace(node, tests))).collect();
                self.ir.push_chain(first, rest)
            }
            _ => id,
        }
    }
}
