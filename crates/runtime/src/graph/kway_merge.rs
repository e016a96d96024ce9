//! Runs of what comes, each in order, merged to one.
//!
//! As long as all take turns, as packets do that come at one rate, that is only looked after. Then
//! two at a time, and the results of that again. Whose turn it is, is computed and not branched on,
//! since with several captures nobody could foretell it; two merges, of the earlier and of the
//! later half, go on side by side, so that a processor need not wait for one comparison before it
//! begins the next.
//!
//! Source: the halves are found as in Odeh, Green, Mwassi, Shmueli and Birk, "Merge Path - Parallel
//! Merging Made Simple" (2012).

/// Something that comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Timed {
    pub time: u64,
    pub slot: u32,
}

/// What is merged, in order, and behind it something that does not come earlier than anything that
/// it is merged with.
type Run<'r> = &'r [Timed];

/// Room for what is merged, kept for the next time.
#[derive(Debug, Default)]
pub(super) struct Merger {
    levels: Vec<Vec<Vec<Timed>>>,
}

impl Merger {
    /// The slots of all runs in order, behind those that are there; of what comes at the same time,
    /// that of the first run is first. Gives when the last comes.
    pub fn merge(&mut self, runs: &[Run<'_>], slots: &mut Vec<u32>) -> Option<u64> {
        let mut runs: Vec<Run<'_>> = runs.iter().copied().filter(|run| run.len() > 1).collect();
        let latest = take_turns(&mut runs, slots);
        runs.retain(|run| run.len() > 1);
        let merged = self.merge_pairs(runs);
        slots.extend(merged.iter().map(|coming| coming.slot));
        merged.last().map(|coming| coming.time).or(latest)
    }

    fn merge_pairs<'r>(&'r mut self, mut runs: Vec<Run<'r>>) -> Run<'r> {
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

/// Takes what comes in rounds in which each run has one turn, always in the same order, and gives
/// when the last of that comes.
fn take_turns(runs: &mut [Run<'_>], slots: &mut Vec<u32>) -> Option<u64> {
    let mut order: Vec<usize> = (0..runs.len()).collect();
    order.sort_by_key(|n| runs[*n][0].time);
    let (first, last) = (*order.first()?, *order.last()?);
    let mut rounds = before(runs[last], &runs[first][1..], last <= first);
    for pair in order.windows(2) {
        rounds = rounds.min(before(runs[pair[0]], runs[pair[1]], pair[0] < pair[1]));
    }
    // What comes behind the last round may come before its end, what comes behind the others is
    // behind that one's first.
    if runs.iter().any(|run| run[rounds].time <= runs[last][rounds.saturating_sub(1)].time) {
        rounds = rounds.saturating_sub(1);
    }
    let latest = runs[last][..rounds].last().map(|coming| coming.time);
    let from = slots.len();
    slots.resize(from + rounds * runs.len(), 0);
    for (turn, n) in order.iter().enumerate() {
        let (taken, rest) = runs[*n].split_at(rounds);
        let places = slots[from..].iter_mut().skip(turn).step_by(order.len());
        places.zip(taken).for_each(|(place, coming)| *place = coming.slot);
        runs[*n] = rest;
    }
    latest
}

/// From the first on, how many of a run come before those of another at the same place, or with
/// them if that is early enough.
fn before(run: Run<'_>, other: Run<'_>, or_with: bool) -> usize {
    let apart = u64::from(!or_with);
    let comes_before = |(one, other): &(&Timed, &Timed)| one.time.saturating_add(apart) <= other.time;
    run[..run.len() - 1].iter().zip(other).take_while(comes_before).count()
}

/// Two runs as one, in that room.
fn both<'r>(a: Run<'_>, b: Run<'_>, room: &'r mut Vec<Timed>) -> Run<'r> {
    let count = a.len() + b.len() - 2;
    room.resize(count + 1, Timed::default());
    room[count] = Timed { time: u64::MAX, slot: 0 };
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
fn next(a: Run<'_>, b: Run<'_>, at: &mut (usize, usize)) -> Timed {
    let (one, other) = (a[at.0], b[at.1]);
    let is_other = other.time < one.time;
    *at = (at.0 + usize::from(!is_other), at.1 + usize::from(is_other));
    std::hint::select_unpredictable(is_other, other, one)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timed(time: u64) -> Timed {
        Timed { time, slot: time as u32 }
    }

    /// Runs of those times, with what is behind them; slots count up over all.
    fn runs(times: &[&[u64]]) -> Vec<Vec<Timed>> {
        let mut slot = 0;
        let run = |times: &&[u64]| {
            let all = times.iter().map(|time| {
                slot += 1;
                Timed { time: *time, slot }
            });
            all.chain([Timed { time: u64::MAX, slot: 0 }]).collect()
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
                // Packets at any time, or at one rate with few that are late.
                let times: Vec<Vec<u64>> = (0..count)
                    .map(|_| {
                        let first = below(4);
                        let mut time = |n: u32| match round % 2 {
                            0 => below(5 + round),
                            _ => first + 4 * n + if below(16) == 0 { below(6) } else { 0 },
                        };
                        let mut run: Vec<u64> = (0..20).map(|n| u64::from(time(n))).collect();
                        run.truncate(below(21) as usize);
                        run.sort_unstable();
                        run
                    })
                    .collect();
                let runs = runs(&times.iter().map(Vec::as_slice).collect::<Vec<_>>());
                let mut wanted: Vec<Timed> = runs.iter().flat_map(|run| &run[..run.len() - 1]).copied().collect();
                wanted.sort_by_key(|coming| coming.time);
                let mut slots = vec![77];
                let latest = merger.merge(&runs.iter().map(Vec::as_slice).collect::<Vec<_>>(), &mut slots);
                assert_eq!(latest, wanted.last().map(|coming| coming.time));
                assert_eq!(slots[1..], wanted.iter().map(|coming| coming.slot).collect::<Vec<_>>(), "{times:?}");
            }
        }
    }

    #[test]
    fn turns_are_taken_as_long_as_all_take_them() {
        let taken = |times: &[&[u64]]| {
            let (mut slots, runs) = (Vec::new(), runs(times));
            let mut left: Vec<Run<'_>> = runs.iter().map(Vec::as_slice).collect();
            let latest = take_turns(&mut left, &mut slots);
            (latest, slots, left.iter().map(|run| run[0].time).collect::<Vec<_>>())
        };
        // In the third round the last would be before the first.
        assert_eq!(taken(&[&[2, 5, 8, 9], &[1, 4, 7], &[3, 5, 7, 12]]), (Some(5), vec![5, 1, 8, 6, 2, 9], vec![8, 7, 7]));
        // Something comes before the end of the only round.
        assert_eq!(taken(&[&[0, 10], &[1, 2], &[3, 11]]), (None, vec![], vec![0, 1, 3]));
        // What comes at the same time would be in another order.
        assert_eq!(taken(&[&[1, 2, 4], &[0, 2, 3]]), (Some(1), vec![4, 1], vec![2, 2]));
        let even = [1, 2, 3, u64::MAX].map(timed);
        let (mut slots, mut left) = (Vec::new(), [&even[..], &even[..]]);
        assert_eq!((take_turns(&mut left, &mut slots), slots.len()), (Some(3), 6));
    }

    #[test]
    fn what_is_behind_a_run_is_no_part_of_it() {
        let (a, b) = ([1, 4, 6].map(timed), [2, 3, 4].map(timed));
        let mut slots = Vec::new();
        assert_eq!(Merger::default().merge(&[&a, &b], &mut slots), Some(4));
        assert_eq!(slots, [1, 2, 3, 4]);
    }
}
