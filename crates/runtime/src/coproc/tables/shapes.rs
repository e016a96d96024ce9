//! Ternary rules of few masks: for each mask its rules in hashed slots, looked into one mask after
//! the other, the one with the best rule first, until no better one can come ([`netil::layout`]
//! says how they lie). A lookup's cost grows with the masks, not with the rules.
//!
//! Invariants: of rules with the same key and mask the best has the slot; slots of a mask are at
//! most two thirds full. A rule that goes gives its slot to the next best one, or leaves it with an
//! order that nothing is worse than.
//!
//! Source: Srinivasan, Suri, Varghese, Packet classification using tuple space search, SIGCOMM
//! 1999; the order of masks is Open vSwitch's (Pfaff et al., NSDI 2015).

use super::area::Area;
use super::rules::{Rank, Rule};
use super::{splitmix, word};
use netil::layout::{self, shapes};
use std::collections::HashMap;

/// Masks that are looked into rather than rows of bits; and one more for so many rules.
const FEW: usize = 8;
const FEW_OF: usize = 512;

/// The slots.
pub struct Shapes {
    pub head: [u64; shapes::WORDS],
    pub index: Area,
    pub slots: Area,
    layout: layout::Shapes,
    /// Orders of handles.
    orders: Vec<u32>,
    /// Some rule has no slot.
    shadows: bool,
}

/// The order of what nothing is worse than.
const WORST: u32 = u32::MAX;

/// A mask and where its slots are.
struct MaskTable {
    mask: [u64; 2],
    begin: usize,
    last: usize,
    least: u32,
}

impl Shapes {
    /// Of rules with the best first; `None` if there are too many masks, or no memory.
    pub fn new(layout: layout::Shapes, rules: &[(u32, &Rule)], seed: u64) -> Option<Self> {
        let mut counts = HashMap::<&[u64], usize>::new();
        rules.iter().for_each(|(_, rule)| *counts.entry(&rule.mask).or_default() += 1);
        if counts.len() > FEW + rules.len() / FEW_OF {
            return None;
        }
        let room = |count: usize| (count * 3).div_ceil(2).next_power_of_two();
        let slots = Area::new(counts.values().map(|count| room(*count) * layout.stride()).sum())?;
        let (index, count) = (Area::new(counts.len() * shapes::STRIDE)?, counts.len() as u64);
        let orders = vec![WORST; rules.iter().map(|(handle, _)| *handle as usize + 1).max().unwrap_or(0)];
        let head = [0, count, splitmix(seed), splitmix(!seed)];
        let mut all = Self { head, index, slots, layout, orders, shadows: false };
        let (mut places, mut begin) = (HashMap::<&[u64], usize>::new(), 0);
        for (order, (handle, rule)) in (0..).zip(rules) {
            let n = places.len();
            let at = *places.entry(&rule.mask).or_insert(n);
            if at == n {
                let slots = room(counts[&rule.mask[..]]);
                all.begin(n, &MaskTable { mask: halves(&rule.mask), begin, last: slots - 1, least: order });
                begin += slots * layout.stride();
            }
            all.orders[*handle as usize] = order;
            all.enter(at, &rule.key, order, *handle);
        }
        Some(all)
    }

    fn begin(&mut self, n: usize, shape: &MaskTable) {
        let words = [shape.mask[0], shape.mask[1], shape.begin as u64, shape.last as u64, shape.least.into()];
        let place = &mut self.index[n * shapes::STRIDE..][..shapes::STRIDE];
        place.chunks_exact_mut(8).zip(words).for_each(|(to, word)| to.copy_from_slice(&word.to_le_bytes()));
    }

    fn shapes(&self) -> impl Iterator<Item = MaskTable> {
        self.index.chunks_exact(shapes::STRIDE).map(|at| MaskTable {
            mask: [word(at, 0), word(at, 8)],
            begin: word(at, 16) as usize,
            last: word(at, 24) as usize,
            least: word(at, 32) as u32,
        })
    }

    /// Puts a rule into a slot, unless a better one has it.
    fn enter(&mut self, n: usize, key: &[u64], order: u32, handle: u32) {
        let Some(shape) = self.shapes().nth(n) else { return };
        let (at, taken) = self.slot(&shape, halves(key));
        match taken {
            None => self.fill(at, halves(key), order, handle),
            Some(_) => self.shadows = true,
        }
    }

    fn fill(&mut self, at: usize, key: [u64; 2], order: u32, handle: u32) {
        let limbs = self.layout.limbs;
        let words = key.into_iter().take(limbs).chain([u64::from(order) | u64::from(handle) << 32]);
        self.slots[at..].chunks_exact_mut(8).zip(words).for_each(|(to, word)| to.copy_from_slice(&word.to_le_bytes()));
    }

    /// The slot of a masked key, with order and handle if it has one.
    fn slot(&self, shape: &MaskTable, key: [u64; 2]) -> (usize, Option<(u32, u32)>) {
        let (limbs, stride) = (self.layout.limbs, self.layout.stride());
        let hash = layout::hash([self.head[shapes::SEED0], self.head[shapes::SEED1]], &key[..limbs]);
        let slots = &self.slots[shape.begin..][..(shape.last + 1) * stride];
        let mut at = hash as usize & shape.last;
        loop {
            let slot = &slots[at * stride..][..stride];
            let end = word(slot, 8 * limbs);
            let same = word(slot, 0) == key[0] && (limbs == 1 || word(slot, 8) == key[1]);
            match (end >> 32) as u32 {
                0 => return (shape.begin + at * stride, None),
                handle if same => return (shape.begin + at * stride, Some((end as u32, handle))),
                _ => at = (at + 1) & shape.last,
            }
        }
    }

    /// The handle of the best rule that suits a key.
    pub fn find(&self, key: &[u64]) -> Option<u32> {
        let (key, mut best) = (halves(key), (WORST, 0));
        for shape in self.shapes() {
            if shape.least >= best.0 {
                break;
            }
            if let (_, Some(found)) = self.slot(&shape, [key[0] & shape.mask[0], key[1] & shape.mask[1]]) {
                best = best.min(found);
            }
        }
        (best.0 < WORST).then_some(best.1)
    }

    /// Takes a rule's handle out, which `rules`, those that stay, has no more.
    pub fn remove<'r>(&mut self, key: &[u64], mask: &[u64], handle: u32, rules: impl Iterator<Item = (u32, &'r Rule)>) {
        // The handle will be another rule's.
        if let Some(order) = self.orders.get_mut(handle as usize) {
            *order = WORST;
        }
        let Some(shape) = self.shapes().find(|shape| shape.mask == halves(mask)) else { return };
        let (at, taken) = self.slot(&shape, halves(key));
        if taken.is_none_or(|(_, other)| other != handle) {
            return;
        }
        let order = |handle: u32| self.orders.get(handle as usize).copied().unwrap_or(WORST);
        let same = |(_, rule): &(u32, &Rule)| *rule.key == *key && *rule.mask == *mask;
        let others = rules.filter(|_| self.shadows).filter(same).map(|(handle, _)| (order(handle), handle));
        let (order, next) = others.min().filter(|(order, _)| *order < WORST).unwrap_or((WORST, handle));
        self.fill(at, halves(key), order, next);
    }
}

/// Rules by falling rank.
pub fn ranked<'r>(rules: impl Iterator<Item = (u32, &'r Rule)>) -> Vec<(u32, &'r Rule)> {
    let mut all: Vec<(u32, &Rule)> = rules.collect();
    all.sort_unstable_by_key(|(_, rule)| std::cmp::Reverse::<Rank>(rule.rank));
    all
}

fn halves(number: &[u64]) -> [u64; 2] {
    [number.first().copied().unwrap_or(0), number.get(1).copied().unwrap_or(0)]
}
