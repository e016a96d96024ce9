//! Runs of what comes, each in order, merged to one.
//!
//! Two at a time, and the results of that again. Whose turn it is, is computed and not branched on, since with several captures nobody could foretell it; two merges,
//! of the earlier and of the later half, go on side by side, so that a processor need not wait for one comparison before it begins the next.
//!
//! Source: the halves are found as in Odeh, Green, Mwassi, Shmueli and Birk, "Merge Path - Parallel Merging Made Simple" (2012).

/// Something that comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Coming {
    pub time: u64,
    pub slot: u32,
}

/// What is merged, in order, and behind it something that does not come earlier than anything that it is merged with.
type Run<'r> = &'r [Coming];

/// Room for what is merged, kept for the next time.
#[derive(Debug, Default)]
pub(super) struct Merger {
    levels: Vec<Vec<Vec<Coming>>>,
}

impl Merger {
    /// All runs in order; of what comes at the same time, that of the first run is first.
    pub fn merge<'r>(&'r mut self, runs: &[Run<'r>]) -> Run<'r> {
        let mut runs: Vec<Run<'r>> = runs.iter().copied().filter(|run| run.len() > 1).collect();
        let depth = runs.len().next_power_of_two().trailing_zeros() as usize;
        self.levels.resize_with(self.levels.len().max(depth), Vec::new);
        for level in self.levels.iter_mut().take(depth) {
            let pairs = runs.len() / 2;
            level.resize_with(level.len().max(pairs), Vec::new);
            let single = runs.chunks_exact(2).remainder().to_vec();
            runs = level.iter_mut().zip(runs.chunks_exact(2)).map(|(room, pair)| both(pair[0], pair[1], room)).chain(single).collect();
        }
        runs.first().map_or(&[], |all| &all[..all.len() - 1])
    }
}

/// Two runs as one, in that room.
fn both<'r>(a: Run<'_>, b: Run<'_>, room: &'r mut Vec<Coming>) -> Run<'r> {
    let count = a.len() + b.len() - 2;
    room.resize(count + 1, Coming::default());
    room[count] = Coming { time: u64::MAX, slot: 0 };
    let (early, late) = room[..count].split_at_mut(count / 2);
    let split = split(a, b, early.len());
    let (mut at, mut later) = ((0, 0), (split, early.len() - split));
    let (last, rest) = late.split_at_mut(early.len());
    for (first, second) in early.iter_mut().zip(last) {
        *first = next(a, b, &mut at);
        *second = next(a, b, &mut later);
    }
    rest.iter_mut().for_each(|one| *one = next(a, b, &mut later));
    room
}

/// How many of so many that come first are of the first run.
fn split(a: Run<'_>, b: Run<'_>, count: usize) -> usize {
    let (mut low, mut high) = (count.saturating_sub(b.len() - 1), count.min(a.len() - 1));
    while low < high {
        let middle = low.midpoint(high);
        if a[middle].time <= b[count - 1 - middle].time {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// The earlier of those that are next.
#[inline(always)]
fn next(a: Run<'_>, b: Run<'_>, at: &mut (usize, usize)) -> Coming {
    let (one, other) = (a[at.0], b[at.1]);
    let is_other = other.time < one.time;
    *at = (at.0 + usize::from(!is_other), at.1 + usize::from(is_other));
    std::hint::select_unpredictable(is_other, other, one)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs of those times, with what is behind them; slots count up over all.
    fn runs(times: &[&[u64]]) -> Vec<Vec<Coming>> {
        let mut slot = 0;
        let run = |times: &&[u64]| {
            let all = times.iter().map(|time| {
                slot += 1;
                Coming { time: *time, slot }
            });
            all.chain([Coming { time: u64::MAX, slot: 0 }]).collect()
        };
        times.iter().map(run).collect()
    }

    #[test]
    fn they_come_in_order_and_the_first_run_first() {
        let mut merger = Merger::default();
        let mut random = 1_u32;
        for count in [0, 1, 2, 3, 4, 5, 7, 16] {
            for round in 0..50_u32 {
                let mut below = |most: u32| {
                    random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    (random >> 16) % most
                };
                let times: Vec<Vec<u64>> = (0..count)
                    .map(|_| {
                        let mut run: Vec<u64> = (0..below(20)).map(|_| u64::from(below(5 + round))).collect();
                        run.sort_unstable();
                        run
                    })
                    .collect();
                let runs = runs(&times.iter().map(Vec::as_slice).collect::<Vec<_>>());
                let mut wanted: Vec<Coming> = runs.iter().flat_map(|run| &run[..run.len() - 1]).copied().collect();
                wanted.sort_by_key(|coming| coming.time);
                assert_eq!(merger.merge(&runs.iter().map(Vec::as_slice).collect::<Vec<_>>()), wanted, "{times:?}");
            }
        }
    }

    #[test]
    fn what_is_behind_a_run_is_no_part_of_it() {
        let coming = |times: &[u64]| times.iter().map(|time| Coming { time: *time, slot: *time as u32 }).collect::<Vec<_>>();
        let (a, b) = (coming(&[1, 4, 6]), coming(&[2, 3, 4]));
        let slots: Vec<u32> = Merger::default().merge(&[&a, &b]).iter().map(|coming| coming.slot).collect();
        assert_eq!(slots, [1, 2, 3, 4]);
    }
}
