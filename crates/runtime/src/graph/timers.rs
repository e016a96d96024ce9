//! When elements' timers are due, and which is first: by their times, and of those due at the same time in the order of declaration.
//!
//! An element has one time here, that of its first timer. Looking at the first costs the same whatever others there are, and noting a time the logarithm of how
//! many elements have one.
//!
//! Invariant: `order` has each element that has a time, with that time, and `first` is the first of these.

use std::collections::BTreeSet;

/// All of them.
#[derive(Default)]
pub(super) struct Timers {
    /// By element.
    due: Vec<Option<u64>>,
    order: BTreeSet<(u64, usize)>,
    first: Option<(u64, usize)>,
}

impl Timers {
    /// Of so many elements, none of which has set any.
    pub(super) fn new(elements: usize) -> Self {
        Self { due: vec![None; elements], ..Self::default() }
    }

    /// An element's first timer is due at that time, or it has none.
    pub(super) fn note(&mut self, element: usize, due: Option<u64>) {
        let before = std::mem::replace(&mut self.due[element], due);
        if before == due {
            return;
        }
        before.map(|when| self.order.remove(&(when, element)));
        self.order.extend(due.map(|when| (when, element)));
        self.first = self.order.first().copied();
    }

    /// When an element's first timer is due.
    pub(super) fn due(&self, element: usize) -> Option<u64> {
        self.due[element]
    }

    /// The first timer: when, and whose.
    pub(super) fn first(&self) -> Option<(u64, usize)> {
        self.first
    }
}

#[cfg(test)]
mod tests {
    use super::Timers;

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
            (3, None, None),
        ] {
            timers.note(element, due);
            assert_eq!((timers.first(), timers.due(element)), (first, due), "{element} {due:?}");
        }
    }

    #[test]
    fn many_timers_come_in_the_order_in_which_a_look_at_all_finds_them() {
        let (mut timers, mut all, mut random) = (Timers::new(50), vec![None; 50], 1_u64);
        for _ in 0..5000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (element, when) = ((random >> 33) as usize % 50, random >> 59);
            all[element] = (when > 5).then_some(when);
            timers.note(element, all[element]);
            let first = all.iter().enumerate().filter_map(|(element, due)| due.map(|due| (due, element))).min();
            assert_eq!(timers.first(), first);
        }
    }
}
