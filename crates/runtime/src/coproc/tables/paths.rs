//! Prefix tables of keys of 40 to 128 bits: a trie of 8 bits a step behind its first level, in
//! which ways without branches are one step and equal neighbours one word ([`netil::layout`] says
//! how it lies). So it takes memory by its routes, not by how long they are, and a large IPv6 table
//! stays in the caches.
//!
//! The routes are in a sorted map. When one comes or goes, the smallest part of the trie that it
//! belongs to is made anew from those of its region; branches on the way there are written with
//! what is below as it was. A short prefix costs as much as all that lie in it.
//!
//! Invariants: a region whose routes are longer than it goes on with its cover, the longest route
//! that has all of it, if there are none; with a path to the one, if there is one; else with the
//! branch for the first byte in which they differ or one of them ends, on a path if bytes are
//! stepped over. So the trie follows from the routes alone.
//!
//! Source: Morrison, PATRICIA, JACM 1968 (ways without branches); Degermark et al. in
//! [`super::nodes`]. Leaves out timeouts. Masks count by their ones, and key bits outside them are
//! not seen, as the verifier has it.

use super::Seeded;
use super::area::Area;
use super::nodes::{Nodes, Path};
use super::values::Values;
use netil::layout::paths::{DEEPER, DEFAULT, PATH, USED, WORDS};
use netil::layout::{self, GROUP, Parts};
use netil::module::{Entry, Table as Declaration};
use netil::tables::{Full, Table};
use netil::wide;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A prefix from the most significant bit on, and how many bits it has. They sort as what covers
/// before what is covered.
type Prefix = (u128, u32);
/// A route's prefix and its handle.
type Route = (Prefix, u32);

/// The table.
pub struct Paths {
    key_bits: u32,
    root_bits: u32,
    head: [u64; WORDS],
    index: Area,
    nodes: Nodes,
    routes: BTreeMap<Prefix, u32>,
    values: Values,
    capacity: usize,
}

/// What slots are numbered by: bits of a key.
#[derive(Clone, Copy)]
struct Level {
    /// Behind the last of these bits.
    end: u32,
    bits: u32,
    /// The first slot's number.
    first: usize,
}

impl Level {
    /// Of a branch for that byte of keys.
    fn of_branch(depth: u32) -> Self {
        Self { end: 8 * (depth + 1), bits: 8, first: 0 }
    }

    fn slot(self, key: u128) -> usize {
        ((key >> (128 - self.end)) as usize & ((1 << self.bits) - 1)) - self.first
    }

    /// The slots of a prefix, in which it has all of one at least.
    fn slots(self, (prefix, length): Prefix) -> std::ops::Range<usize> {
        let from = self.slot(prefix);
        from..from + (1 << (self.end - length))
    }
}

/// The first bits of a key.
fn cut(key: u128, length: u32) -> u128 {
    key & !(u128::MAX.checked_shr(length).unwrap_or(0))
}

fn covers((prefix, length): Prefix, key: u128) -> bool {
    cut(key, length) == prefix
}

fn byte(key: u128, depth: u32) -> usize {
    usize::from((key >> (120 - 8 * depth)) as u8)
}

impl Paths {
    /// A table as declared, with the entries that it has from the start. `None` if it is another
    /// kind's.
    pub fn new(declaration: &Declaration, seed: u64, shared: bool) -> Option<Self> {
        let shape = layout::Paths::of(declaration)?;
        let mut capacity = declaration.capacity as usize;
        let mut table = loop {
            match Self::empty(shape, declaration, capacity, Seeded::new(seed), shared) {
                Some(table) => break table,
                None => capacity /= 2,
            }
        };
        for entry in declaration.entries.iter().take(capacity) {
            let handle = table.values.enter(&entry.value);
            table.routes.insert(table.prefix(&entry.key, &entry.mask), handle);
        }
        table.head[DEFAULT] = table.routes.get(&(0, 0)).copied().unwrap_or(0).into();
        table.make();
        Some(table)
    }

    fn empty(shape: layout::Paths, declaration: &Declaration, capacity: usize, seed: Seeded, shared: bool) -> Option<Self> {
        let values = Values::new(capacity, declaration.value_bytes as usize, shared, seed)?;
        let (nodes, index) = (Nodes::new(capacity)?, Area::new(4 << shape.root_bits)?);
        let (key_bits, root_bits) = (declaration.key_bits.into(), shape.root_bits);
        Some(Self { key_bits, root_bits, head: [0; WORDS], index, nodes, routes: BTreeMap::new(), values, capacity })
    }

    /// A key's bits from the most significant on.
    fn key(&self, limbs: &[u64]) -> u128 {
        let limb = |n| u128::from(limbs.get(n).copied().unwrap_or(0));
        (limb(1) << 64 | limb(0)) << (128 - self.key_bits)
    }

    fn limbs(&self, key: u128) -> Box<[u64]> {
        let low = key >> (128 - self.key_bits);
        [low as u64, (low >> 64) as u64][..wide::limbs(self.key_bits as u16)].into()
    }

    fn prefix(&self, key: &[u64], mask: &[u64]) -> Prefix {
        let length = mask.iter().map(|limb| limb.count_ones()).sum::<u32>().min(self.key_bits);
        (cut(self.key(key), length), length)
    }

    fn root(&self, slot: usize) -> u32 {
        self.index[4 * slot..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
    }

    fn look_up(&self, key: u128) -> u32 {
        let (mut word, mut depth) = (self.root((key >> (128 - self.root_bits)) as usize), self.root_bits / 8);
        while word & DEEPER != 0 {
            if word & PATH == 0 {
                word = self.nodes.next(word, byte(key, depth));
                depth += 1;
                continue;
            }
            let path = self.nodes.path(word);
            (word, depth) = if covers((path.prefix, path.length), key) { (path.then, path.length / 8) } else { (path.other, depth) };
        }
        if word == 0 { self.head[DEFAULT] as u32 } else { word }
    }

    /// The routes in a region that are longer than it.
    fn within(&self, (prefix, length): Prefix) -> impl DoubleEndedIterator<Item = Route> {
        let last = prefix | u128::MAX.checked_shr(length).unwrap_or(0);
        self.routes.range((prefix, length + 1)..=(last, u32::MAX)).map(|(prefix, handle)| (*prefix, *handle))
    }

    /// What a region goes on with if nothing in it is longer: the longest route that has all of it,
    /// but for the one of no bits, which is in the head.
    fn cover(&self, (mut prefix, mut length): Prefix) -> u32 {
        while length > 0 {
            let Some((before, handle)) = self.routes.range(..=(prefix, length)).next_back() else { return 0 };
            if covers(*before, prefix) {
                return if before.1 == 0 { 0 } else { *handle };
            }
            // Whatever has all of it is no longer than what that one has of it, or would have come
            // first.
            length = (before.0 ^ prefix).leading_zeros();
            prefix = cut(prefix, length);
        }
        0
    }

    /// A region's part of the trie, of its routes in order.
    fn build(&mut self, routes: &[Route], depth: u32, cover: u32) -> Option<u32> {
        let [(first, _), .., (last, _)] = routes else {
            let [((prefix, length), then)] = *routes else { return Some(cover) };
            return self.nodes.add_path(&Path { prefix, length, then, other: cover });
        };
        let at = branch_at(*first, *last);
        let mut slots = [cover; GROUP];
        self.fill(&mut slots, Level::of_branch(at), routes)?;
        let then = self.nodes.add_branch(&slots)?;
        let path = Path { prefix: cut(first.0, 8 * at), length: 8 * at, then, other: cover };
        if at == depth { Some(then) } else { self.nodes.add_path(&path) }
    }

    /// Writes routes into slots that have their cover: short ones over all that they have, long
    /// ones below. What covers comes before what it covers.
    fn fill(&mut self, slots: &mut [u32], level: Level, mut routes: &[Route]) -> Option<()> {
        while let [(prefix, handle), rest @ ..] = routes {
            if prefix.1 <= level.end {
                slots[level.slots(*prefix)].fill(*handle);
                routes = rest;
                continue;
            }
            let slot = level.slot(prefix.0);
            let below = routes.iter().take_while(|((other, _), _)| level.slot(*other) == slot).count();
            slots[slot] = self.build(&routes[..below], level.end / 8, slots[slot])?;
            routes = &routes[below..];
        }
        Some(())
    }

    /// Makes slots mean what they should now that a route has come, gone, or got another handle.
    fn renew(&mut self, slots: &mut [u32], level: Level, route: Prefix) -> Option<()> {
        if route.1 > level.end {
            let slot = level.slot(route.0);
            slots[slot] = self.change(slots[slot], level.end / 8, route)?;
            return Some(());
        }
        let range = level.slots(route);
        slots[range.clone()].iter().for_each(|word| self.forget(*word));
        slots[range].fill(self.cover(route));
        let routes: Vec<Route> = self.within(route).collect();
        self.fill(slots, level, &routes)
    }

    /// Makes what is below a slot mean what it should now that a route has come, gone, or got
    /// another handle, and gives the slot's new word.
    fn change(&mut self, word: u32, depth: u32, route: Prefix) -> Option<u32> {
        let region = (cut(route.0, 8 * depth), 8 * depth);
        let ends = {
            let mut within = self.within(region);
            (within.next(), within.next_back())
        };
        let branch = self.branch(word, depth);
        if let ((Some((first, _)), Some((last, _))), Some((branch, at))) = (ends, branch)
            && branch_at(first, last) == at
        {
            let (mut slots, level) = (self.nodes.slots(branch), Level::of_branch(at));
            let number = level.slot(route.0);
            let before = slots[number];
            self.renew(&mut slots, level, route)?;
            // What leads to a node has a run of its own before and after.
            if route.1 > level.end && before & slots[number] & DEEPER != 0 {
                self.nodes.set(branch, number, slots[number]);
                return Some(word);
            }
            self.nodes.give(branch);
            let branch = self.nodes.add_branch(&slots)?;
            if at > depth {
                self.nodes.lead(word, branch);
            }
            return Some(if at > depth { word } else { branch });
        }
        self.forget(word);
        let routes: Vec<Route> = self.within(region).collect();
        self.build(&routes, depth, self.cover(region))
    }

    /// The branch that a region goes on with, on a path or not, and for which byte it is.
    fn branch(&self, word: u32, depth: u32) -> Option<(u32, u32)> {
        let (to, at) = match word & PATH {
            0 => (word, depth),
            _ => {
                let path = self.nodes.path(word);
                (path.then, path.length / 8)
            }
        };
        (to & DEEPER != 0).then_some((to, at))
    }

    /// Gives back what a word leads to.
    fn forget(&mut self, word: u32) {
        if word & DEEPER == 0 {
            return;
        }
        match word & PATH {
            0 => self.nodes.slots(word).into_iter().for_each(|below| self.forget(below)),
            _ => self.forget(self.nodes.path(word).then),
        }
        self.nodes.give(word);
    }

    /// A route has come, gone, or got another handle.
    fn show(&mut self, route: Prefix) {
        if route.1 == 0 {
            self.head[DEFAULT] = self.routes.get(&route).copied().unwrap_or(0).into();
            return;
        }
        let all = Level { end: self.root_bits, bits: self.root_bits, first: 0 };
        let first = all.slot(route.0);
        let mut slots: Vec<u32> = (first..first + (1 << self.root_bits.saturating_sub(route.1))).map(|slot| self.root(slot)).collect();
        match self.renew(&mut slots, Level { first, ..all }, route) {
            Some(()) => self.set_roots(first, &slots),
            // There are pieces enough, but of other sizes.
            None => self.make(),
        }
        self.head[USED] = self.nodes.used() as u64;
    }

    fn set_roots(&mut self, first: usize, words: &[u32]) {
        self.index[4 * first..].chunks_exact_mut(4).zip(words).for_each(|(to, word)| to.copy_from_slice(&word.to_le_bytes()));
    }

    /// Makes the trie of the routes.
    fn make(&mut self) {
        self.nodes.clear();
        let (mut slots, routes) = (vec![0; 1 << self.root_bits], self.within((0, 0)).collect::<Vec<Route>>());
        let made = self.fill(&mut slots, Level { end: self.root_bits, bits: self.root_bits, first: 0 }, &routes);
        debug_assert!(made.is_some(), "there is room for the nodes of as many routes as there may be");
        self.set_roots(0, &slots);
        self.head[USED] = self.nodes.used() as u64;
    }
}

/// The byte for which routes branch: the first in which they differ, or in which the first of them
/// ends.
fn branch_at(first: Prefix, last: Prefix) -> u32 {
    ((first.0 ^ last.0).leading_zeros() / 8).min((first.1 - 1) / 8)
}

impl Table for Paths {
    fn lookup(&self, key: &[u64], _now_ns: u64) -> Option<Cow<'_, [u8]>> {
        self.value(self.look_up(self.key(key))).map(Cow::Borrowed)
    }

    fn find(&mut self, key: &[u64], _now_ns: u64, _refresh: bool) -> u32 {
        self.look_up(self.key(key))
    }

    fn value(&self, entry: u32) -> Option<&[u8]> {
        self.values.get(entry)
    }

    fn value_mut(&mut self, entry: u32) -> Option<&mut [u8]> {
        self.values.get_mut(entry)
    }

    fn add(&mut self, entry: &Entry, _now_ns: u64) -> Result<(), Full> {
        let route = self.prefix(&entry.key, &entry.mask);
        let old = self.routes.get(&route).copied();
        let handle = match old {
            Some(old) => self.values.replace(old, &entry.value),
            None if self.routes.len() >= self.capacity => return Err(Full),
            None => self.values.enter(&entry.value),
        };
        if old != Some(handle) {
            self.routes.insert(route, handle);
            self.show(route);
        }
        Ok(())
    }

    fn remove(&mut self, key: &[u64], mask: &[u64], _priority: u32, _now_ns: u64) -> bool {
        let route = self.prefix(key, mask);
        let Some(handle) = self.routes.remove(&route) else { return false };
        self.show(route);
        self.values.leave(handle);
        true
    }

    fn known(&mut self, key: &[u64], mask: &[u64], _priority: u32, _now_ns: u64) -> u32 {
        self.routes.get(&self.prefix(key, mask)).copied().unwrap_or(0)
    }

    fn entries(&self, _now_ns: u64) -> Vec<Entry> {
        let entry = |(&(prefix, length), handle): (&Prefix, &u32)| {
            let (key, mask) = (self.limbs(prefix), self.limbs(cut(u128::MAX, length)));
            Entry { key, mask, priority: 0, value: self.values.get(*handle).unwrap_or_default().into() }
        };
        self.routes.iter().map(entry).collect()
    }

    fn len(&self, _now_ns: u64) -> u64 {
        self.routes.len() as u64
    }

    fn parts(&mut self) -> Option<Parts<'_>> {
        Some(Parts { head: &mut self.head, slots: self.values.area(), index: &mut self.index, groups: self.nodes.area() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netil::module::TableKind;

    fn declared() -> Declaration {
        let (name, entries) = ("t".to_owned(), Vec::new());
        Declaration { name, kind: TableKind::Prefix, key_bits: 128, value_bytes: 1, capacity: 100, timeout_ns: 0, entries }
    }

    fn table() -> Paths {
        Paths::new(&declared(), 1, true).unwrap()
    }

    /// A route of so many bits, and the value that it has.
    fn route(first: u8, second: u8, length: u32) -> Entry {
        let key = cut(u128::from(first) << 120 | u128::from(second) << 112, length);
        let limbs = |number: u128| -> Box<[u64]> { [number as u64, (number >> 64) as u64].into() };
        Entry { key: limbs(key), mask: limbs(cut(u128::MAX, length)), priority: 0, value: [second].into() }
    }

    fn is_found(table: &mut Paths, entry: &Entry) -> bool {
        let at = table.find(&entry.key, 0, false);
        table.value(at) == Some(&*entry.value)
    }

    #[test]
    fn nodes_are_made_anew_when_there_are_only_pieces_of_other_sizes() {
        let mut table = table();
        // Twelve lines.
        table.nodes = Nodes::new(1).unwrap();
        let alone: Vec<Entry> = (0..20).map(|i| route(i, i, 64)).collect();
        for entry in &alone {
            table.add(entry, 0).unwrap();
        }
        assert!(alone.iter().all(|entry| is_found(&mut table, entry)));
        assert!(alone.iter().all(|entry| table.remove(&entry.key, &entry.mask, 0, 0)));
        // These need four lines at once, and only two have never been paths.
        let together: Vec<Entry> = (0..20).map(|i| route(7, 2 * i, 16)).collect();
        for entry in &together {
            table.add(entry, 0).unwrap();
        }
        assert!(together.iter().all(|entry| is_found(&mut table, entry)));
        assert!(!is_found(&mut table, &route(7, 1, 64)));
    }

    #[test]
    fn the_head_says_where_nodes_are() {
        let mut table = table();
        let used = |table: &mut Paths| table.parts().unwrap().head[USED];
        assert_eq!(used(&mut table), 0);
        table.add(&route(7, 7, 8), 0).unwrap();
        assert_eq!(used(&mut table), 0, "the first level has it");
        table.add(&route(7, 7, 64), 0).unwrap();
        assert_eq!(used(&mut table), 2, "a path's line");
        (0..40).for_each(|i| table.add(&route(9, 2 * i, 16), 0).unwrap());
        let at = |node: u32| u64::from(node & !(DEEPER | PATH));
        let (node, used) = (table.root(9), used(&mut table));
        assert!(node & PATH == 0 && at(node) > 2 && used >= at(node) + 12, "{node:x} {used}");
        let declaration = Declaration { entries: vec![route(7, 7, 64)], ..declared() };
        assert_eq!(Paths::new(&declaration, 1, true).unwrap().parts().unwrap().head[USED], 2);
    }

    #[test]
    fn memory_follows_routes_not_their_lengths() {
        let mut table = table();
        (0..50).for_each(|i| table.add(&route(i, i, 128), 0).unwrap());
        assert_eq!(table.nodes.used(), 50, "a path each");
        (0..50).for_each(|i| assert!(table.remove(&route(i, i, 128).key, &[u64::MAX; 2], 0, 0)));
        (0..50).for_each(|i| table.add(&route(9, i, 16), 0).unwrap());
        (0..50).for_each(|i| assert!(table.remove(&route(9, i, 16).key, &route(0, 0, 16).mask, 0, 0)));
        let used = table.nodes.used();
        (0..50).for_each(|i| table.add(&route(9, i, 16), 0).unwrap());
        for _ in 0..9 {
            table.add(&route(9, 0, 8), 0).unwrap();
            assert!(table.remove(&route(9, 0, 8).key, &route(0, 0, 8).mask, 0, 0));
        }
        assert_eq!(table.nodes.used(), used, "what went is used again");
    }
}
