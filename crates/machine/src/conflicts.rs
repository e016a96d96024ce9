//! How often packets near each other touch the same state, and what critical sections are made of:
//! whether a machine gains by running sections side by side.
//!
//! Two packets conflict if one writes a word of state that the other reads or writes. For a window
//! of n packets, the figure is the part of all pairs of packets fewer than n apart that conflict:
//! figure 1 of the NetTM paper.

use crate::steps::{Step, Work};
use std::collections::HashSet;

/// Windows of the paper's figure.
pub const WINDOWS: [usize; 4] = [2, 4, 8, 16];

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Profile {
    /// Packets.
    pub packets: usize,
    /// For each window, the part of pairs that conflict.
    pub windows: Vec<Window>,
    /// Critical sections that a packet goes through, on average.
    pub sections_per_packet: f64,
    /// Units of memory that a section reads, on average: state, packet, and what else it looks at.
    pub loads_per_section: f64,
    /// Units that it writes.
    pub stores_per_section: f64,
    /// The most that a section reads.
    pub most_loads: u64,
    /// The most that it writes.
    pub most_stores: u64,
    /// Instructions in a section, accesses included.
    pub instructions_per_section: f64,
    /// Instructions of a packet, accesses included.
    pub instructions_per_packet: f64,
}

/// A window.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Window {
    /// Packets in it.
    pub packets: usize,
    /// Pairs that conflict, as a part of all.
    pub conflicts: f64,
}

#[derive(Default)]
struct Touched {
    reads: HashSet<u64>,
    writes: HashSet<u64>,
}

impl Touched {
    fn of(work: &Work) -> Self {
        let mut touched = Self::default();
        for step in &work.steps {
            let Step::Access(access) = step else { continue };
            let Some((first, words)) = access.shared else { continue };
            let set = if access.write { &mut touched.writes } else { &mut touched.reads };
            set.extend(first..first + u64::from(words));
        }
        touched
    }

    fn conflicts(&self, other: &Self) -> bool {
        let hits = |a: &Self, b: &Self| a.writes.iter().any(|word| b.reads.contains(word) || b.writes.contains(word));
        hits(self, other) || hits(other, self)
    }
}

/// Looks at all packets.
pub fn profile(work: &[Work]) -> Profile {
    let touched: Vec<Touched> = work.iter().map(Touched::of).collect();
    let mut at_distance = [(0_u64, 0_u64); WINDOWS[WINDOWS.len() - 1]];
    for (n, one) in touched.iter().enumerate() {
        for (distance, count) in at_distance.iter_mut().enumerate().skip(1) {
            let Some(other) = touched.get(n + distance) else { break };
            count.0 += u64::from(one.conflicts(other));
            count.1 += 1;
        }
    }
    let window = |packets: usize| {
        let (hits, all) = at_distance[..packets].iter().fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1));
        Window { packets, conflicts: part(hits, all) }
    };
    let counts = work.iter().map(Counts::of).fold(Counts::default(), Counts::and);
    Profile {
        packets: work.len(),
        windows: WINDOWS.map(window).to_vec(),
        sections_per_packet: part(counts.sections, work.len() as u64),
        loads_per_section: part(counts.loads, counts.sections),
        stores_per_section: part(counts.stores, counts.sections),
        most_loads: counts.most.0,
        most_stores: counts.most.1,
        instructions_per_section: part(counts.inside, counts.sections),
        instructions_per_packet: part(counts.all, work.len() as u64),
    }
}

fn part(n: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { n as f64 / of as f64 }
}

#[derive(Clone, Copy, Default)]
struct Counts {
    sections: u64,
    loads: u64,
    stores: u64,
    inside: u64,
    all: u64,
    /// Of one section, loads and stores.
    most: (u64, u64),
}

impl Counts {
    fn of(work: &Work) -> Self {
        let (mut counts, mut inside, mut own) = (Self::default(), false, (0, 0));
        for step in &work.steps {
            let issued = match step {
                Step::Enter(_) => {
                    (inside, counts.sections, own) = (true, counts.sections + 1, (0, 0));
                    0
                }
                Step::Leave(_) => {
                    inside = false;
                    counts.most = (counts.most.0.max(own.0), counts.most.1.max(own.1));
                    0
                }
                Step::Compute(n) => u64::from(*n),
                Step::Access(access) => {
                    let words = if inside { u64::from(access.units) } else { 0 };
                    *(if access.write { &mut counts.stores } else { &mut counts.loads }) += words;
                    *(if access.write { &mut own.1 } else { &mut own.0 }) += words;
                    1
                }
            };
            counts.all += issued;
            counts.inside += if inside { issued } else { 0 };
        }
        counts
    }

    fn and(self, other: Self) -> Self {
        Self {
            sections: self.sections + other.sections,
            loads: self.loads + other.loads,
            stores: self.stores + other.stores,
            inside: self.inside + other.inside,
            all: self.all + other.all,
            most: (self.most.0.max(other.most.0), self.most.1.max(other.most.1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::Access;

    fn touching(word: u64, write: bool) -> Work {
        let access = Access { memory: 0, write, units: 1, address: 0, shared: Some((word, 1)) };
        let steps = vec![Step::Compute(2), Step::Enter(0), Step::Access(access), Step::Compute(3), Step::Leave(0)];
        Work { steps, flow: 0, bytes: 60 }
    }

    #[test]
    fn trains_of_packets_conflict_less_in_wider_windows() {
        // Flows of two packets: a, a, b, b, …
        let work: Vec<Work> = (0..400).map(|n| touching(n / 2, true)).collect();
        let windows: Vec<f64> = profile(&work).windows.iter().map(|window| window.conflicts).collect();
        // Of neighbours every second pair, of pairs further apart none.
        assert!((windows[0] - 200.0 / 399.0).abs() < 1e-12);
        assert!((windows[1] - 200.0 / (399.0 + 398.0 + 397.0)).abs() < 1e-12);
        assert!(windows.is_sorted_by(|a, b| a > b));
    }

    #[test]
    fn reads_conflict_with_writes_only() {
        let conflicts = |writes: [bool; 2]| profile(&writes.map(|write| touching(7, write))).windows[0].conflicts;
        assert_eq!([[false, false], [true, false], [false, true]].map(conflicts), [0.0, 1.0, 1.0]);
    }

    #[test]
    fn sections_are_counted() {
        let profile = profile(&[touching(1, true), touching(2, false)]);
        assert_eq!((profile.sections_per_packet, profile.loads_per_section, profile.stores_per_section), (1.0, 0.5, 0.5));
        assert_eq!((profile.instructions_per_section, profile.instructions_per_packet), (4.0, 6.0));
        assert_eq!((profile.most_loads, profile.most_stores), (1, 1));
    }
}
