//! What is known at a point of the program: on each way that leads there, which headers are valid
//! and which scalars have known values.
//!
//! Ways on which the same is known are one; the first that came is kept as the example. Where there
//! are too many, what is known of scalars is forgotten first.

use frontends::diagnostics::Span;
use num_bigint::BigInt;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;

/// A variable and members in it.
pub(super) type FieldPath = Vec<u32>;

/// The most ways that are told apart at one point.
const MOST: usize = 64;

/// What is known of a scalar.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Fact {
    /// Its value.
    Is(BigInt),
    /// Values that it does not have.
    Not(BTreeSet<BigInt>),
    /// Nothing, where it would be 0 otherwise.
    Open,
}

/// What a way passed.
#[derive(Debug)]
pub(super) struct Step {
    pub what: Passed,
    pub before: Option<Rc<Step>>,
}

#[derive(Clone, Debug)]
pub(super) enum Passed {
    /// A parser state.
    State(Rc<str>),
    /// A parser is left, by the transition of that state.
    Accepted(Span),
    /// A condition, and what it came to.
    Branch(Span, bool),
    /// A header is made invalid, by its number.
    Gone(Span, u32),
    /// An action of a table.
    Action(Span, Rc<str>),
}

/// One way.
#[derive(Clone, Debug, Default)]
pub(super) struct ExecutionPath {
    /// Shared by ways that came apart and did not learn more.
    pub known: Rc<Known>,
    pub step: Option<Rc<Step>>,
}

/// What is known on a way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Known {
    /// Headers that are valid.
    valid: BTreeSet<u32>,
    facts: BTreeMap<FieldPath, Fact>,
}

pub(super) type Ways = Vec<ExecutionPath>;

impl Known {
    /// How much is known.
    pub fn size(&self) -> usize {
        self.facts.len() + self.valid.len()
    }
}

impl ExecutionPath {
    pub fn is_valid(&self, header: u32) -> bool {
        self.known.valid.contains(&header)
    }

    pub fn set_valid(&mut self, header: u32, valid: bool) {
        if self.is_valid(header) != valid {
            let known = Rc::make_mut(&mut self.known);
            if valid {
                known.valid.insert(header)
            } else {
                known.valid.remove(&header)
            };
        }
    }

    /// What is known of a place. Variables in `zero` are 0 at first.
    pub fn fact(&self, place: &FieldPath, zero: &HashSet<u32>) -> Option<Fact> {
        if let Some(fact) = self.known.facts.get(place) {
            return Some(fact.clone()).filter(|fact| *fact != Fact::Open);
        }
        let open = (1..place.len()).any(|n| self.known.facts.get(&place[..n]) == Some(&Fact::Open));
        (!open && zero.contains(&place[0])).then_some(Fact::Is(BigInt::ZERO))
    }

    /// Forgets what is known of a place and what is in it.
    pub fn forget(&mut self, place: &FieldPath, zero: &HashSet<u32>) {
        let zero = zero.contains(&place[0]);
        if !zero && !self.known.facts.keys().any(|known| known.starts_with(place)) {
            return;
        }
        let facts = &mut Rc::make_mut(&mut self.known).facts;
        facts.retain(|known, _| !known.starts_with(place));
        if zero {
            facts.insert(place.clone(), Fact::Open);
        }
    }

    /// Whether a place has a value, if that is known.
    pub fn has(&self, place: &FieldPath, value: &BigInt, zero: &HashSet<u32>) -> Option<bool> {
        match self.fact(place, zero)? {
            Fact::Is(known) => Some(known == *value),
            Fact::Not(others) => others.contains(value).then_some(false),
            Fact::Open => None,
        }
    }

    /// Learns that a place has, or has not, a value.
    pub fn learn(&mut self, place: &FieldPath, value: &BigInt, has: bool, zero: &HashSet<u32>) {
        let fact = match (has, self.fact(place, zero)) {
            (true, _) => Fact::Is(value.clone()),
            (false, Some(Fact::Not(mut others))) => {
                others.insert(value.clone());
                Fact::Not(others)
            }
            (false, _) => Fact::Not([value.clone()].into()),
        };
        Rc::make_mut(&mut self.known).facts.insert(place.clone(), fact);
    }

    /// Copies what is known of one place to another.
    pub fn copy(&mut self, to: &FieldPath, from: &FieldPath, zero: &HashSet<u32>) {
        let known: Vec<(FieldPath, Fact)> = self
            .known
            .facts
            .iter()
            .filter(|(p, _)| p.starts_with(from))
            .map(|(p, f)| ([to, &p[from.len()..]].concat(), f.clone()))
            .collect();
        let whole = self.fact(from, zero);
        self.forget(to, zero);
        if !known.is_empty() || whole.is_some() {
            let facts = &mut Rc::make_mut(&mut self.known).facts;
            facts.extend(known);
            facts.extend(whole.map(|fact| (to.clone(), fact)));
        }
    }

    pub fn pass(&mut self, what: Passed) {
        self.step = Some(Rc::new(Step { what, before: self.step.take() }));
    }
}

/// Joins ways on which the same is known.
pub(super) fn joined(ways: Ways) -> Ways {
    let once = unique(ways);
    if once.len() <= MOST {
        return once;
    }
    let mut by_valid: HashMap<BTreeSet<u32>, usize> = HashMap::new();
    let mut out: Ways = Vec::new();
    for way in once {
        match by_valid.get(&way.known.valid) {
            // What one of them does not know, or knows otherwise, is not known.
            Some(at) => merge(&mut Rc::make_mut(&mut out[*at].known).facts, &way.known.facts),
            None => {
                by_valid.insert(way.known.valid.clone(), out.len());
                out.push(way);
            }
        }
    }
    out
}

fn merge(into: &mut BTreeMap<FieldPath, Fact>, other: &BTreeMap<FieldPath, Fact>) {
    for place in other.keys() {
        into.entry(place.clone()).or_insert(Fact::Open);
    }
    for (place, fact) in into.iter_mut() {
        if other.get(place) != Some(fact) {
            *fact = Fact::Open;
        }
    }
}

fn unique(ways: Ways) -> Ways {
    if ways.len() < 2 {
        return ways;
    }
    let mut seen = HashSet::new();
    ways.into_iter().filter(|way| seen.insert(Rc::clone(&way.known))).collect()
}
