//! In which order packets go, and members.
//!
//! With one packet at a time an arrival and its copies go depth first, and what was led back follows in the order in which it left. A packet's key says where that is: keys
//! of what becomes of a packet are never before its own, so whoever runs packets by their keys runs them in that order.

use netil::exec::MAX_COPIES;
use std::ops::Range;

/// Where a packet stands among all of a burst.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    /// The arrival that it is or comes from.
    pub(super) arrival: u32,
    /// How often it was led back: all of an arrival is done with before what was led back goes on.
    pub(super) rounds: u32,
    /// Which of the packets that a run sent, for each run that sent several. Those that are led back stand first: they get into their queue when the run is over,
    /// before what becomes of the others.
    path: Vec<u32>,
}

impl Key {
    pub(super) fn of_arrival(arrival: u32) -> Self {
        Self { arrival, ..Self::default() }
    }

    /// The key of one of several packets that a run has sent, by its number.
    pub(super) fn of_sent(&self, number: u32, leads_back: bool) -> Self {
        let mut key = self.clone();
        key.path.push(if leads_back { number } else { number + MAX_COPIES + 1 });
        key
    }
}

/// Members that lead to each other, in an order in which only what leads back leads to one before; or a member alone.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Knot {
    pub(super) members: Vec<usize>,
    /// The place of the first among all.
    pub(super) begin: usize,
    /// Packets may come to a member again.
    pub(super) returns: bool,
}

impl Knot {
    /// The places of its members.
    pub(super) fn places(&self) -> Range<usize> {
        self.begin..self.begin + self.members.len()
    }

    pub(super) fn member(&self, place: usize) -> usize {
        self.members[place - self.begin]
    }
}

/// Some of so many places: a bit for each.
pub(super) struct Places(Vec<u64>);

impl Places {
    pub(super) fn new(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }

    pub(super) fn add(&mut self, place: usize) {
        self.0[place / 64] |= 1 << (place % 64);
    }

    pub(super) fn remove(&mut self, place: usize) {
        self.0[place / 64] &= !(1 << (place % 64));
    }

    /// The first of a range.
    pub(super) fn first(&self, range: Range<usize>) -> Option<usize> {
        let mut at = range.start;
        while at < range.end {
            let word = self.0[at / 64] >> (at % 64);
            if word != 0 {
                return Some(at + word.trailing_zeros() as usize).filter(|place| *place < range.end);
            }
            at = (at / 64 + 1) * 64;
        }
        None
    }
}

/// Knots, each behind those that lead to it (Kosaraju and Sharir). For each member where it leads: forward, which gives no circles, and back.
pub(super) fn knots(forward: &[Vec<usize>], back: &[Vec<usize>]) -> Vec<Knot> {
    let next: Vec<Vec<usize>> = forward.iter().zip(back).map(|(forward, back)| [&forward[..], back].concat()).collect();
    let before = reversed(&next);
    let mut place = vec![0; next.len()];
    last_first(forward).into_iter().enumerate().for_each(|(at, member)| place[member] = at);
    let (mut seen, mut begin) = (vec![false; next.len()], 0);
    let mut all = Vec::new();
    for member in last_first(&next) {
        let mut members = Vec::new();
        walk(&before, member, &mut seen, &mut members);
        if !members.is_empty() {
            members.sort_unstable_by_key(|member| place[*member]);
            let count = members.len();
            all.push(Knot { returns: count > 1 || back[member].contains(&member), members, begin });
            begin += count;
        }
    }
    all
}

fn reversed(next: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut before = vec![Vec::new(); next.len()];
    (0..).zip(next).for_each(|(from, all)| all.iter().for_each(|to| before[*to].push(from)));
    before
}

/// Members, the one that a walk in depth leaves last first: where there is no circle, each before those that it leads to.
fn last_first(next: &[Vec<usize>]) -> Vec<usize> {
    let (mut seen, mut left) = (vec![false; next.len()], Vec::new());
    (0..next.len()).rev().for_each(|member| walk(next, member, &mut seen, &mut left));
    left.reverse();
    left
}

/// Walks from a member to all that were not seen, in depth; in `left` they are in the order in which they were left.
fn walk(next: &[Vec<usize>], member: usize, seen: &mut [bool], left: &mut Vec<usize>) {
    if std::mem::replace(&mut seen[member], true) {
        return;
    }
    let mut way = vec![(member, next[member].iter())];
    while let Some((member, rest)) = way.last_mut() {
        match rest.find(|to| !seen[**to]) {
            Some(to) => {
                seen[*to] = true;
                way.push((*to, next[*to].iter()));
            }
            None => {
                left.push(*member);
                way.pop();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_in_the_order_of_one_packet_at_a_time() {
        let arrival = Key::of_arrival(3);
        let back = |key: &Key| Key { rounds: key.rounds + 1, ..key.clone() };
        let [first, second, last] = [0, 1, 2].map(|n| arrival.of_sent(n, false));
        let deep = first.of_sent(1, false);
        // The second copy got into the queue before what the first one has become.
        let led_back = [back(&arrival.of_sent(1, true)), back(&deep), back(&last)];
        let again = back(&led_back[0].of_sent(0, true));
        let order = [vec![arrival, first.of_sent(0, false), deep, second, last], led_back.to_vec(), vec![again, Key::of_arrival(4)]];
        assert!(order.concat().is_sorted(), "{order:?}");
    }

    #[test]
    fn places_are_found_within_ranges() {
        let mut places = Places::new(200);
        [3, 64, 127, 199].into_iter().for_each(|place| places.add(place));
        let found = |range| places.first(range);
        assert_eq!(
            [found(0..3), found(0..4), found(4..64), found(4..65), found(65..200), found(128..200)],
            [None, Some(3), None, Some(64), Some(127), Some(199)]
        );
        places.remove(199);
        assert_eq!(places.first(128..200), None);
    }

    #[test]
    fn knots_are_what_leads_back_and_all_is_behind_what_leads_to_it() {
        // 4 → 0 → 2 → 1 → 3, 2 → 5 → 3; 1 leads back to 0, and 3 to itself.
        let forward = [vec![2], vec![3], vec![1, 5], vec![], vec![0], vec![3]];
        let back = [vec![], vec![0], vec![], vec![3], vec![], vec![]];
        let knot = |members: &[usize], begin, returns| Knot { members: members.to_vec(), begin, returns };
        assert_eq!(knots(&forward, &back), [knot(&[4], 0, false), knot(&[0, 2, 1], 1, true), knot(&[5], 4, false), knot(&[3], 5, true)]);
        let alone = |all: Vec<Knot>| all.into_iter().flat_map(|knot| knot.members).collect::<Vec<_>>();
        assert_eq!(alone(knots(&forward, &[const { Vec::new() }; 6])), [4, 0, 2, 1, 5, 3]);
    }
}
