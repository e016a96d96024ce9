//! A profile, packets like those that a filter will see, and what each part of the filter comes to
//! on them.
//!
//! Sets of packets are bits, one for each packet. What cannot be told of a packet because a read is
//! cut off is neither in the set where a part holds nor in that where it fails.

use std::collections::HashMap;

use super::ast::Join;
use super::cost::{WRONG_GUESS, cost};
use super::eval::Machine;
use super::ir::{Cmp, Ir, IrId, Node, Test, TestId, ValueId};

const WORDS: usize = Profile::PACKETS / 64;

/// The first packets of a capture, by which terms are ordered ([`super::Filter::profiled`]).
#[derive(Debug, Clone, Default)]
pub struct Profile {
    /// Each with its length on the wire.
    packets: Vec<(Vec<u8>, u32)>,
    bytes: usize,
}

impl Profile {
    /// Packets that are looked at, at most.
    pub const PACKETS: usize = 2048;
    /// Bytes that are kept, about.
    const BYTES: usize = 4 << 20;

    /// Adds a packet as it was captured, and its length on the wire; nothing once it is full.
    pub fn add(&mut self, packet: &[u8], wire_len: u32) {
        if !self.is_full() {
            self.packets.push((packet.to_vec(), wire_len));
            self.bytes += packet.len();
        }
    }

    /// True if more packets change nothing.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.packets.len() == Self::PACKETS || self.bytes >= Self::BYTES
    }

    /// True if there are no packets.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }
}

/// Some of a profile's packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Packets([u64; WORDS]);

impl Packets {
    const NONE: Packets = Packets([0; WORDS]);

    fn of(indices: impl Iterator<Item = usize>) -> Packets {
        let mut words = [0; WORDS];
        indices.for_each(|i| words[i / 64] |= 1 << (i % 64));
        Packets(words)
    }

    pub(super) fn and(&self, other: &Packets) -> Packets {
        Packets(std::array::from_fn(|i| self.0[i] & other.0[i]))
    }

    fn without(&self, other: &Packets) -> Packets {
        Packets(std::array::from_fn(|i| self.0[i] & !other.0[i]))
    }

    fn or(&self, other: &Packets) -> Packets {
        Packets(std::array::from_fn(|i| self.0[i] | other.0[i]))
    }

    pub(super) fn count(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}

/// Where a part of a filter holds and where it is false.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outcome {
    pub holds: Packets,
    pub fails: Packets,
}

impl Outcome {
    /// Where evaluation goes on with a term joined in that way.
    pub(super) fn goes_on(&self, join: Join) -> Packets {
        if join == Join::And { self.holds } else { self.fails }
    }
}

/// Outcomes on a profile.
pub(super) struct Sample<'p> {
    profile: &'p Profile,
    outcomes: HashMap<IrId, Outcome>,
}

impl<'p> Sample<'p> {
    pub(super) fn new(profile: &'p Profile) -> Sample<'p> {
        Sample { profile, outcomes: HashMap::new() }
    }

    /// Packets of at least that many captured bytes.
    pub(super) fn of_length(&self, least: u32) -> Packets {
        let packets = self.profile.packets.iter().enumerate();
        Packets::of(packets.filter(|(_, (packet, _))| packet.len() >= least as usize).map(|(i, _)| i))
    }

    /// What a node comes to. Recursion is as deep as the parser allows.
    pub(super) fn outcome(&mut self, ir: &Ir, id: IrId) -> Outcome {
        if let Some(&known) = self.outcomes.get(&id) {
            return known;
        }
        let outcome = match ir.node(id) {
            Node::Not(inner) => {
                let inner = self.outcome(ir, inner);
                Outcome { holds: inner.fails, fails: inner.holds }
            }
            Node::Chain(first, rest) => {
                let first = self.outcome(ir, first);
                ir.links(rest).iter().fold(first, |so_far, &(join, node)| joined(so_far, join, self.outcome(ir, node)))
            }
            Node::Test(_) | Node::Elem(_) | Node::Guarded { .. } | Node::ByLength { .. } | Node::List(_) => self.evaluate(ir, id),
        };
        self.outcomes.insert(id, outcome);
        outcome
    }

    fn evaluate(&self, ir: &Ir, id: IrId) -> Outcome {
        let packets = self.profile.packets.iter();
        let verdicts: Vec<_> = packets.map(|(packet, wire_len)| Machine::new(ir, packet, *wire_len).node(id)).collect();
        let those = |wanted| Packets::of(verdicts.iter().enumerate().filter(move |(_, v)| **v == Ok(wanted)).map(|(i, _)| i));
        Outcome { holds: those(true), fails: those(false) }
    }

    /// What evaluating a node on those packets costs, where `known` is what was found out before;
    /// it grows.
    pub(super) fn work(&mut self, ir: &Ir, id: IrId, reached: Packets, known: &mut Known) -> u64 {
        match ir.node(id) {
            Node::Not(inner) => self.work(ir, inner, reached, known),
            Node::Elem(elem) => self.work(ir, ir.elem(elem).plain, reached, known),
            Node::Guarded { merged, .. } => self.work(ir, merged, reached, known),
            Node::Chain(first, rest) => self.work_of_chain(ir, first, ir.links(rest), reached, known),
            Node::Test(test) => {
                let outcome = self.outcome(ir, id);
                self.work_of_leaf(cost(ir, id), known.news(ir, test, reached, &outcome), &outcome)
            }
            Node::ByLength { .. } | Node::List(_) => {
                let outcome = self.outcome(ir, id);
                self.work_of_leaf(cost(ir, id), reached, &outcome)
            }
        }
    }

    fn work_of_leaf(&self, cost: u64, reached: Packets, outcome: &Outcome) -> u64 {
        let all = reached.count();
        let holds = reached.and(&outcome.holds).count();
        all * cost + WRONG_GUESS * holds.min(all - holds)
    }

    pub(super) fn work_of_chain(&mut self, ir: &Ir, first: IrId, rest: &[(Join, IrId)], reached: Packets, known: &mut Known) -> u64 {
        let mut work = self.work(ir, first, reached, known);
        let mut so_far = self.outcome(ir, first);
        for &(join, node) in rest {
            work += self.work(ir, node, reached.and(&so_far.goes_on(join)), known);
            so_far = joined(so_far, join, self.outcome(ir, node));
        }
        work
    }
}

/// Of which packets an outcome is known without asking again, as `simplify` will find: the test was
/// made, or its value is known to be another.
#[derive(Clone, Default)]
pub(super) struct Known {
    tests: HashMap<TestId, Packets>,
    values: HashMap<ValueId, Packets>,
}

impl Known {
    /// The packets for which the test tells something new; from now on it is known.
    fn news(&mut self, ir: &Ir, test: TestId, reached: Packets, outcome: &Outcome) -> Packets {
        let before = self.tests.entry(test).or_insert(Packets::NONE);
        let mut news = reached.without(before);
        *before = before.or(&reached);
        if let Test::Cmp(value, Cmp::Eq, _) = ir.test(test) {
            let found = self.values.entry(value).or_insert(Packets::NONE);
            news = news.without(found);
            *found = found.or(&reached.and(&outcome.holds));
        }
        news
    }
}

fn joined(so_far: Outcome, join: Join, next: Outcome) -> Outcome {
    let on = so_far.goes_on(join);
    let either = |before: Packets, after: Packets| before.without(&on).or(&on.and(&after));
    Outcome { holds: either(so_far.holds, next.holds), fails: either(so_far.fails, next.fails) }
}

#[cfg(test)]
mod tests {
    use super::super::ir::{Field, Value};
    use super::*;

    #[test]
    fn what_is_known_costs_nothing() {
        let mut ir = Ir::default();
        let load = ir.make(Value::Load(Field { base: None, offset: 0, bytes: 1 }));
        let [is_one, is_two] = [1, 2].map(|c| {
            let constant = ir.constant(c);
            ir.push_test(Test::Cmp(load, Cmp::Eq, constant))
        });
        let mut profile = Profile::default();
        (0..10).for_each(|i| profile.add(&[1 + i % 2], 1));
        let (mut sample, mut known) = (Sample::new(&profile), Known::default());
        let all = sample.of_length(0);
        let each = cost(&ir, is_one);
        assert_eq!(sample.work(&ir, is_one, all, &mut known), 10 * each + 5 * WRONG_GUESS);
        assert_eq!(sample.work(&ir, is_one, all, &mut known), 0);
        // Half of the packets are known to be another, and the rest all go one way.
        assert_eq!(sample.work(&ir, is_two, all, &mut known), 5 * each);
    }
}
