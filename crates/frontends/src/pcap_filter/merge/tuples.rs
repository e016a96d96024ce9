//! Lists of terms in which several elements must hold together:
//! `(host a and port p) or (host b and port q) or …`.
//!
//! A set for each element does not say such a list: `host a and port q` is not in it. So the fields
//! of the elements are looked up together, one behind the other, in a set of what the terms ask
//! for: ten thousand pairs are one lookup.
//!
//! Every term is a conjunction; operands that hold elements *decide* (see [`super`]) and cannot
//! hold without one of them. Then
//!
//! ```text
//! ⋁ₖ O₁(aₖ) ∧ O₂(bₖ)  =  O₁[eᵢ ↦ O₂[fⱼ ↦ (eᵢ's field, fⱼ's field) ∈ {(aₖ, bₖ)}]]
//! ```
//!
//! wherever no read is cut off: an operand is a disjunction of ways to its elements, and the way to
//! eᵢ does not depend on aₖ. Where a read is cut off, the order of the terms decides, so they are
//! evaluated row by row ([`Test::Rows`]); which of both applies is found by testing the lengths of
//! all that any term may read ([`super::super::graph`]).
//!
//! Addresses under masks have keys of as many bits as the masks leave, a set for each combination
//! of lengths (tuple space search: Srinivasan, Suri, Varghese, "Packet classification using tuple
//! space search", 1999). Where there are too many of these, or ranges of ports, one field stands
//! last with all its bits, and the set has ranges of values.
//!
//! Left as they are: short lists, lists with more than [`MAX_SHAPES`] shapes, and terms that have
//! more than one range that is no prefix.

use std::collections::{BTreeMap, HashMap};

use netil::set::{Range, Set};
use netil::wide;

use super::super::ast::Join;
use super::super::eval::limbs;
use super::super::ir::{ElemId, Ir, IrId, List, ListShape, Node, Test, Tuple};
use super::{Merger, Term};

/// Shorter lists stay branches.
const LEAST: usize = 8;
/// Shapes of terms in one list.
const MAX_SHAPES: usize = 8;
/// Lookups in the code of one shape: the product of the numbers of its operands' elements.
const MAX_LOOKUPS: usize = 1024;
/// Terms of a list; the rows' evaluation must stay within a run's budget.
const MAX_ROWS: usize = 1 << 19;
/// Combinations of prefix lengths that become sets of their own, where one set with ranges would
/// do.
const FEW_LENGTHS: usize = 4;
/// Combinations of prefix lengths at all.
const MAX_LENGTHS: usize = 64;

type Ranges = Vec<(u128, u128)>;

impl Merger<'_> {
    /// The terms at the front that make a list, as one node, with their number.
    pub(super) fn listed(&mut self, terms: &[Term]) -> Option<(usize, IrId)> {
        let mut shapes: Vec<(usize, Vec<IrId>)> = Vec::new();
        let mut taken = 0;
        for term in terms.iter().take(MAX_ROWS) {
            if !shapes.iter().any(|shape| shape.0 == term.shape) {
                let Some(operands) = self.ir.listable(term.id).filter(|_| shapes.len() < MAX_SHAPES) else { break };
                shapes.push((term.shape, operands));
            }
            taken += 1;
        }
        if taken < LEAST {
            return None;
        }
        let terms = &terms[..taken];
        let shapes = shapes.into_iter().map(|(shape, operands)| {
            let own: Vec<IrId> = terms.iter().filter(|term| term.shape == shape).map(|term| term.id).collect();
            self.list_shape(&own, &operands).map(|made| (shape, made))
        });
        let shapes: Vec<(usize, ListShape)> = shapes.collect::<Option<_>>()?;
        let mut ranges = Vec::new();
        let rows = terms.iter().map(|term| {
            let shape = shapes.iter().position(|shape| shape.0 == term.shape).unwrap_or(0);
            let start = u32::try_from(ranges.len()).unwrap_or(u32::MAX);
            ranges.extend(self.ir.ranges(&[term.id]));
            (u32::try_from(shape).unwrap_or(u32::MAX), start)
        });
        let rows = rows.collect();
        let list = self.ir.new_list(List { shapes: shapes.into_iter().map(|shape| shape.1).collect(), rows, ranges });
        Some((taken, self.ir.push(Node::List(list))))
    }

    /// What the terms have in common, all of one shape.
    fn list_shape(&mut self, terms: &[IrId], operands: &[IrId]) -> Option<ListShape> {
        let template = terms[0];
        let elems = self.ir.elem_ids(template);
        let columns = columns(&self.ir.ranges(terms), elems.len());
        let mut at = 0;
        let mut with_elems = Vec::new();
        let mut some = Vec::new();
        for &operand in operands {
            let own = self.ir.elem_ids(operand).len();
            let merged = if own == 0 { operand } else { self.operand_with_sets(operand, &columns[at..at + own]) };
            some.push((operand, merged));
            with_elems.push((operand, at));
            at += own;
        }
        let (plain, own): (Vec<_>, Vec<_>) = with_elems.into_iter().partition(|&(id, _)| self.ir.elem_ids(id).is_empty());
        let mut product = Product { ir: self.ir, elems: &elems, columns: &columns, operands: &own, made: HashMap::new() };
        let lookups = product.from(0, &mut Vec::new())?;
        let rest = std::iter::once(lookups).map(|node| (Join::And, node));
        let merged = match plain.split_first() {
            Some((first, others)) => {
                let others = others.iter().map(|other| (Join::And, other.0));
                self.ir.push_chain(first.0, others.chain(rest).collect::<Vec<_>>())
            }
            None => lookups,
        };
        Some(ListShape { template, elems, operands: some, merged })
    }

    fn operand_with_sets(&mut self, operand: IrId, columns: &[Ranges]) -> IrId {
        let elems = self.ir.elem_ids(operand);
        let mut tests = Vec::new();
        let mut sets = Vec::new();
        for (i, &elem) in elems.iter().enumerate() {
            let known = (0..i).find(|&other| columns[other] == columns[i]).map(|other| sets[other]);
            let set = known.unwrap_or_else(|| {
                let mut ranges = columns[i].clone();
                ranges.sort_unstable();
                ranges.dedup();
                self.ir.new_set(ranges)
            });
            sets.push(set);
            let field = self.ir.elem(elem).field;
            tests.push(self.ir.push_test(Test::Within(field, set)));
        }
        self.replace(operand, &mut tests.into_iter())
    }
}

/// The ranges of each element, in the order of the terms.
fn columns(ranges: &[(u128, u128)], elems: usize) -> Vec<Ranges> {
    (0..elems).map(|at| ranges.iter().skip(at).step_by(elems).copied().collect()).collect()
}

/// Operands put into one another.
struct Product<'p> {
    ir: &'p mut Ir,
    elems: &'p [ElemId],
    columns: &'p [Ranges],
    /// Operands with elements, and the number of their first.
    operands: &'p [(IrId, usize)],
    /// Sets by the columns and fields that they are made of: those of sources and destinations are
    /// often the same.
    made: HashMap<Vec<(usize, u8)>, Vec<Keys>>,
}

/// A set and how much of which field its values are made of, fields by their place in the tuple.
#[derive(Clone)]
struct Keys {
    parts: Vec<(usize, u16)>,
    set: Set,
}

impl Product<'_> {
    /// The operands from `i` on, where the elements chosen so far must agree with theirs.
    fn from(&mut self, i: usize, chosen: &mut Vec<usize>) -> Option<IrId> {
        let Some(&(operand, first)) = self.operands.get(i) else { return self.lookup(chosen) };
        let mut inner = Vec::new();
        for at in 0..self.ir.elem_ids(operand).len() {
            chosen.push(first + at);
            inner.push(self.from(i + 1, chosen)?);
            chosen.pop();
        }
        Some(self.ir.substituted(operand, &mut inner.into_iter()))
    }

    /// The fields of the elements are one of the terms' tuples.
    fn lookup(&mut self, chosen: &[usize]) -> Option<IrId> {
        let fields: Vec<_> = chosen.iter().map(|&at| self.ir.elem(self.elems[at]).field).collect();
        let first_like = |at: usize| (0..=at).find(|&other| self.columns[other] == self.columns[at]).unwrap_or(at);
        let key: Vec<(usize, u8)> = chosen.iter().zip(&fields).map(|(&at, field)| (first_like(at), field.bytes)).collect();
        let keys = match self.made.get(&key) {
            Some(known) => known.clone(),
            None => {
                let columns: Vec<&Ranges> = chosen.iter().map(|&at| &self.columns[at]).collect();
                let widths: Vec<u16> = fields.iter().map(|field| 8 * u16::from(field.bytes)).collect();
                let keys = keys(&columns, &widths)?;
                self.made.insert(key, keys.clone());
                keys
            }
        };
        let tests = keys.into_iter().map(|Keys { parts, set }| {
            let fields = parts.into_iter().map(|(at, keep)| (fields[at], keep)).collect();
            let test = self.tuple(Tuple { fields, set });
            self.ir.push_test(test)
        });
        let tests: Vec<IrId> = tests.collect();
        let (first, rest) = tests.split_first()?;
        Some(if rest.is_empty() {
            *first
        } else {
            self.ir.push_chain(*first, rest.iter().map(|&node| (Join::Or, node)).collect::<Vec<_>>())
        })
    }

    fn tuple(&mut self, tuple: Tuple) -> Test {
        if tuple.fields.is_empty() {
            return Test::Const(true);
        }
        Test::Tuple(self.ir.new_tuple(tuple))
    }
}

/// Sets of the rows' tuples, by the lengths of their prefixes.
fn keys(columns: &[&Ranges], widths: &[u16]) -> Option<Vec<Keys>> {
    let rows = columns[0].len();
    let keep = |column: usize, row: usize| kept(columns[column][row], widths[column]);
    let lengths = |row: usize| (0..columns.len()).map(|column| keep(column, row)).collect::<Option<Vec<u16>>>();
    if let Some(all) = (0..rows).map(lengths).collect::<Option<Vec<_>>>() {
        let groups = grouped(all);
        if groups.len() <= FEW_LENGTHS {
            return Some(groups.iter().map(|(lengths, rows)| exact(columns, widths, lengths, rows)).collect());
        }
    }
    // One field may have ranges: that which has one that is no prefix, or else the most lengths.
    let forms = |column: usize| {
        let mut lengths: Vec<Option<u16>> = (0..rows).map(|row| keep(column, row)).collect();
        lengths.sort_unstable();
        lengths.dedup();
        if lengths.contains(&None) { usize::MAX } else { lengths.len() }
    };
    let last = (0..columns.len()).max_by_key(|&column| forms(column))?;
    let others: Vec<usize> = (0..columns.len()).filter(|&column| column != last).collect();
    let lengths = |row: usize| others.iter().map(|&column| keep(column, row)).collect::<Option<Vec<u16>>>();
    let groups = grouped((0..rows).map(lengths).collect::<Option<Vec<_>>>()?);
    let made = |(lengths, rows): (&Vec<u16>, &Vec<usize>)| {
        let mut parts: Vec<(usize, u16)> = others.iter().copied().zip(lengths.iter().copied()).collect();
        parts.push((last, widths[last]));
        ranged(columns, widths, parts, rows)
    };
    (groups.len() <= MAX_LENGTHS).then(|| groups.iter().map(made).collect())
}

/// The number of highest bits that are the same in all of the range, if it has all values with
/// those.
fn kept((low, high): (u128, u128), width: u16) -> Option<u16> {
    let free = low ^ high;
    let prefix = free & free.wrapping_add(1) == 0 && low & free == 0;
    prefix.then(|| width - u16::try_from(free.count_ones()).unwrap_or(width))
}

/// Rows by lengths.
fn grouped(lengths: Vec<Vec<u16>>) -> BTreeMap<Vec<u16>, Vec<usize>> {
    let mut groups: BTreeMap<Vec<u16>, Vec<usize>> = BTreeMap::new();
    for (row, lengths) in lengths.into_iter().enumerate() {
        groups.entry(lengths).or_default().push(row);
    }
    groups
}

/// Single values: the prefixes of the rows.
fn exact(columns: &[&Ranges], widths: &[u16], lengths: &[u16], rows: &[usize]) -> Keys {
    let parts = lengths.iter().copied().enumerate().collect();
    ranged(columns, widths, parts, rows)
}

/// Ranges of values made of those parts; only the last may be a range.
fn ranged(columns: &[&Ranges], widths: &[u16], mut parts: Vec<(usize, u16)>, rows: &[usize]) -> Keys {
    parts.retain(|part| part.1 > 0);
    let width: u16 = parts.iter().map(|part| part.1).sum();
    let end = |row: usize, high: bool| {
        let (mut so_far, mut all) = (0, Vec::new());
        for &(column, keep) in &parts {
            let (first, last) = columns[column][row];
            let value = if high { last } else { first } >> (widths[column] - keep);
            all = if so_far == 0 { limbs(keep, value) } else { wide::concat(so_far, &all, keep, &limbs(keep, value)) };
            so_far += keep;
        }
        all.into_boxed_slice()
    };
    let ranges = rows.iter().filter(|_| width > 0).map(|&row| Range { low: end(row, false), high: end(row, true) }).collect();
    // Ranges that do not make a set cannot be: each low end is at most its high end, and the widths
    // add up to at most 2,048 bits.
    let set = Set::new("tuples", width.max(1), ranges).unwrap_or_else(|_| empty());
    Keys { parts, set }
}

fn empty() -> Set {
    Set::of_values("tuples", 1, []).unwrap_or_else(|_| unreachable!("an empty set of one bit"))
}

impl Ir {
    /// The operands of a term that lists can be made of; see the head of this file.
    fn listable(&self, id: IrId) -> Option<Vec<IrId>> {
        let mut operands = Vec::new();
        self.conjuncts(id, &mut operands);
        let counts: Vec<usize> = operands.iter().map(|&operand| self.elem_ids(operand).len()).collect();
        let with_elems = counts.iter().filter(|&&count| count > 0).count();
        let lookups = counts.iter().filter(|&&count| count > 0).try_fold(1usize, |product, &count| product.checked_mul(count));
        let wide: usize = self.elems(id).iter().map(|elem| 8 * usize::from(elem.field.bytes)).sum();
        let bounded = self.reach(id) != u32::MAX && lookups.is_some_and(|lookups| lookups <= MAX_LOOKUPS);
        let fits = with_elems >= 2 && bounded && (wide <= 2048 || with_elems <= 8);
        (fits && operands.iter().zip(&counts).all(|(&operand, &count)| self.fits_list(operand, count))).then_some(operands)
    }

    fn fits_list(&self, operand: IrId, elems: usize) -> bool {
        self.decides(operand) && (elems == 0 || self.needs_elem(operand))
    }

    /// Operands of `and`, those of operands too.
    fn conjuncts(&self, id: IrId, out: &mut Vec<IrId>) {
        match self.node(id) {
            Node::Chain(first, rest) if self.links(rest).iter().all(|link| link.0 == Join::And) => {
                self.conjuncts(first, out);
                self.links(rest).iter().for_each(|link| self.conjuncts(link.1, out));
            }
            _ => out.push(id),
        }
    }

    /// It holds only where one of its elements does.
    fn needs_elem(&self, id: IrId) -> bool {
        match self.node(id) {
            Node::Elem(_) => true,
            Node::Chain(first, rest) => self.links(rest).iter().fold(self.needs_elem(first), |so_far, &(join, node)| {
                if join == Join::And { so_far || self.needs_elem(node) } else { so_far && self.needs_elem(node) }
            }),
            _ => false,
        }
    }

    /// The elements in order.
    pub(super) fn elem_ids(&self, id: IrId) -> Vec<ElemId> {
        let mut found = Vec::new();
        self.each_elem_id(id, &mut |elem| found.push(elem));
        found
    }

    fn substituted(&mut self, id: IrId, nodes: &mut impl Iterator<Item = IrId>) -> IrId {
        match self.node(id) {
            Node::Elem(_) => nodes.next().unwrap_or(id),
            Node::Chain(first, rest) => {
                let rest = self.links(rest).to_vec();
                let first = self.substituted(first, nodes);
                let rest: Vec<_> = rest.into_iter().map(|(join, node)| (join, self.substituted(node, nodes))).collect();
                self.push_chain(first, rest)
            }
            _ => id,
        }
    }
}
