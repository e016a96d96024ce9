//! When elements' timers are due, and which is first: by their times, and of those due at the same
//! time in the order of declaration.
//!
//! An element has one time here, that of its first timer. Setting one and finding the first costs
//! the same however many there are: a radix tree of the bits of time and element, four by four, has
//! at most 24 nodes from its root to a leaf, and those with a single branch are left out (D. R.
//! Morrison, PATRICIA, JACM 15(4), 1968). Unlike in a timing wheel, times may be before those found
//! last, and order is exact.
//!
//! Invariants: the tree has a leaf for each element that has a time, and `first` is the first of
//! these; a node has two branches or more, keys below it agree in all digits above its own, and its
//! branches are by that digit.

/// All of them.
#[derive(Default)]
pub(super) struct Timers {
    /// By element.
    due: Vec<Option<u64>>,
    root: Option<Branch>,
    nodes: Vec<Node>,
    /// Nodes that are not used.
    free: Vec<u32>,
    first: Option<(u64, usize)>,
}

/// What there is below: an element's timer, or a node.
#[derive(Clone, Copy)]
struct Branch(u32);

/// Of branches that are nodes.
const NODE: u32 = 1 << 31;

struct Node {
    /// Which digit chooses a branch.
    level: u8,
    /// The digits for which there is a branch.
    set: u16,
    branches: [Branch; 1 << DIGIT],
    /// A key that is, or has been, below.
    some: u128,
}

/// Where a branch grows: at a node by a digit, or as the root.
type ChildSlot = Option<(usize, usize)>;

/// Bits of a digit.
const DIGIT: u32 = 4;
/// Bits of an element's number; those of a time are above.
const ELEMENT: u32 = 32;
/// Digits of a key.
#[cfg(test)]
const DIGITS: u32 = (u64::BITS + ELEMENT) / DIGIT;

fn key(when: u64, element: usize) -> u128 {
    u128::from(when) << ELEMENT | element as u128
}

fn digit(key: u128, level: u8) -> usize {
    (key >> (u32::from(level) * DIGIT)) as usize & ((1 << DIGIT) - 1)
}

/// The highest digit in which two keys are different, if there is one.
fn difference(a: u128, b: u128) -> Option<u8> {
    (a ^ b).checked_ilog2().map(|bit| (bit / DIGIT) as u8)
}

impl Timers {
    /// Of so many elements, none of which has set any.
    pub(super) fn new(elements: usize) -> Self {
        assert!(elements < NODE as usize, "wires number elements with 32 bits, and a graph of so many does not fit into memory");
        Self { due: vec![None; elements], ..Self::default() }
    }

    /// An element's first timer is due at that time, or it has none.
    pub(super) fn note(&mut self, element: usize, due: Option<u64>) {
        let before = self.due[element];
        if before == due {
            return;
        }
        if let Some(when) = before {
            self.remove(key(when, element));
        }
        self.due[element] = due;
        if let Some(when) = due {
            self.insert(key(when, element), Branch(element as u32));
        }
        self.first = self.find_first();
    }

    /// When an element's first timer is due.
    pub(super) fn due(&self, element: usize) -> Option<u64> {
        self.due[element]
    }

    /// The first timer: when, and whose.
    pub(super) fn first(&self) -> Option<(u64, usize)> {
        self.first
    }

    fn find_first(&self) -> Option<(u64, usize)> {
        let mut at = self.root?;
        while let Some(number) = at.node() {
            at = self.nodes[number].least();
        }
        let element = at.0 as usize;
        self.due[element].map(|when| (when, element))
    }

    fn insert(&mut self, key: u128, leaf: Branch) {
        let mut place = None;
        while let Some(branch) = self.branch(place) {
            let (some, below) = self.below(branch);
            match (difference(some, key).filter(|level| *level >= below), branch.node()) {
                (None, Some(number)) => place = Some((number, digit(key, below - 1))),
                (Some(level), _) => {
                    let node = self.fork(level, (some, branch), (key, leaf));
                    return self.put(place, node);
                }
                (None, None) => return,
            }
        }
        self.put(place, leaf);
    }

    /// A key that agrees with all below a branch in the digits from some level on.
    fn below(&self, branch: Branch) -> (u128, u8) {
        match branch.node() {
            Some(number) => (self.nodes[number].some, self.nodes[number].level + 1),
            None => (key(self.due[branch.0 as usize].unwrap_or_default(), branch.0 as usize), 0),
        }
    }

    /// A new node with two branches.
    fn fork(&mut self, level: u8, (some, branch): (u128, Branch), (key, leaf): (u128, Branch)) -> Branch {
        let mut node = Node { level, set: 1 << digit(some, level) | 1 << digit(key, level), branches: [leaf; 1 << DIGIT], some };
        node.branches[digit(some, level)] = branch;
        let Some(number) = self.free.pop() else {
            self.nodes.push(node);
            return Branch(NODE | (self.nodes.len() as u32 - 1));
        };
        self.nodes[number as usize] = node;
        Branch(NODE | number)
    }

    fn branch(&self, place: ChildSlot) -> Option<Branch> {
        let Some((number, digit)) = place else { return self.root };
        let node = &self.nodes[number];
        (node.set >> digit & 1 == 1).then(|| node.branches[digit])
    }

    fn put(&mut self, place: ChildSlot, branch: Branch) {
        let Some((number, digit)) = place else {
            self.root = Some(branch);
            return;
        };
        let node = &mut self.nodes[number];
        node.set |= 1 << digit;
        node.branches[digit] = branch;
    }

    /// Removes a key that is there. A node that keeps one branch only gives way to it.
    fn remove(&mut self, key: u128) {
        let (mut above, mut place) = (None, None);
        while let Some(number) = self.branch(place).and_then(Branch::node) {
            (above, place) = (place, Some((number, digit(key, self.nodes[number].level))));
        }
        let Some((number, digit)) = place else {
            self.root = None;
            return;
        };
        let node = &mut self.nodes[number];
        node.set &= !(1 << digit);
        if node.set.is_power_of_two() {
            let last = node.least();
            self.free.push(number as u32);
            self.put(above, last);
        }
    }
}

impl Branch {
    fn node(self) -> Option<usize> {
        (self.0 & NODE != 0).then_some((self.0 & !NODE) as usize)
    }
}

impl Node {
    fn least(&self) -> Branch {
        self.branches[self.set.trailing_zeros() as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nodes that are used.
    fn used(timers: &Timers) -> usize {
        timers.nodes.len() - timers.free.len()
    }

    #[test]
    fn the_first_is_that_of_the_least_time_and_then_of_the_first_element() {
        let mut timers = Timers::new(4);
        assert_eq!(timers.first(), None);
        for (element, due, first) in [
            (2, Some(7), Some((7, 2))),
            (1, Some(7), Some((7, 1))),
            (3, Some(0), Some((0, 3))),
            (3, Some(9), Some((7, 1))),
            (1, Some(8), Some((7, 2))),
            (2, None, Some((8, 1))),
            (2, None, Some((8, 1))),
            (1, None, Some((9, 3))),
            (3, Some(u64::MAX), Some((u64::MAX, 3))),
            (0, Some(u64::MAX), Some((u64::MAX, 0))),
            (0, None, Some((u64::MAX, 3))),
            (3, None, None),
        ] {
            timers.note(element, due);
            assert_eq!((timers.first(), timers.due(element)), (first, due), "{element} {due:?}");
        }
    }

    #[test]
    fn many_timers_come_in_the_order_in_which_a_look_at_all_finds_them() {
        for shift in [59, 50, 30, 0] {
            let (mut timers, mut all, mut random) = (Timers::new(90), vec![None; 90], 1_u64);
            for _ in 0..5000 {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let (element, when) = ((random >> 33) as usize % 90, random >> shift);
                all[element] = (random >> 20 & 7 != 0).then_some(when);
                timers.note(element, all[element]);
                let set = all.iter().enumerate().filter_map(|(element, due)| due.map(|due| (due, element)));
                assert_eq!(timers.first(), set.clone().min());
                assert!(used(&timers) < set.count().max(1));
            }
            (0..90).for_each(|element| timers.note(element, None));
            assert_eq!((timers.first(), used(&timers)), (None, 0));
        }
    }

    #[test]
    fn a_way_is_no_longer_than_a_key_however_many_there_are() {
        let bits = (0..64).map(|bit| 1 << bit);
        let times = bits.chain((1..5000_u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15))).chain([0; 40]).collect::<Vec<u64>>();
        let mut timers = Timers::new(times.len());
        times.iter().enumerate().for_each(|(element, when)| timers.note(element, Some(*when)));
        let depth = |key: u128| {
            let (mut place, mut nodes) = (None, 0);
            while let Some(number) = timers.branch(place).and_then(Branch::node) {
                (place, nodes) = (Some((number, digit(key, timers.nodes[number].level))), nodes + 1);
            }
            nodes
        };
        let most = times.iter().enumerate().map(|(element, when)| depth(key(*when, element))).max().unwrap();
        assert!((16..=DIGITS).contains(&most), "{most}");
    }
}
