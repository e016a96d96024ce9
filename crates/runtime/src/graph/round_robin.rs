//! Sources that take turns: packets come at one rate everywhere, so that it can be computed in
//! which order, and they are put there in that order from the first.

use std::cmp::Ordering;

/// How sources take turns.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RoundRobin {
    /// Sources in the order of their turns.
    pub order: Vec<usize>,
    /// Packets of each.
    pub rounds: usize,
    /// When the last of all comes.
    pub last: u64,
}

/// A source: its number, when its next packet comes, and how many come in the common interval from
/// there on.
pub(super) type Turn = (usize, u64, usize);

impl RoundRobin {
    /// Rounds, at most so many, that come before a moment, with one packet of each source every
    /// `interval_ns` nanoseconds; `None` if sources do not take turns. At the same time the source
    /// with the lowest number is first.
    pub(super) fn of(mut sources: Vec<Turn>, interval_ns: u64, until: u64, most: usize) -> Option<Self> {
        sources.sort_unstable_by_key(|(source, time, _)| (*time, *source));
        let ((first, earliest, _), (last, latest, _)) = (*sources.first()?, *sources.last()?);
        let again = earliest.saturating_add(interval_ns);
        if sources.len() > 1 && (again, first).cmp(&(latest, last)) != Ordering::Greater {
            return None;
        }
        let count = sources.iter().map(|(.., count)| *count).min().unwrap_or(0).min(most);
        let rounds = count.min(moments(latest, interval_ns, until));
        let last = latest + interval_ns * (rounds.checked_sub(1)? as u64);
        Some(Self { order: sources.into_iter().map(|(source, ..)| source).collect(), rounds, last })
    }
}

/// How many moments there are, in that distance from the first on, before another.
pub(super) fn moments(first: u64, interval_ns: u64, until: u64) -> usize {
    match until.checked_sub(first) {
        None | Some(0) => 0,
        Some(_) if interval_ns == 0 => usize::MAX,
        Some(span) => usize::try_from(span.div_ceil(interval_ns)).unwrap_or(usize::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The packets of sources, by the times of their first ones, that come in rounds of one each,
    /// always in the same order.
    fn by_hand(times: &[u64], interval: u64, until: u64, most: usize) -> Vec<usize> {
        let mut all: Vec<(u64, usize)> =
            (0..2 * most as u64).flat_map(|n| times.iter().enumerate().map(move |(source, time)| (time + n * interval, source))).collect();
        all.sort_unstable();
        let round: Vec<usize> = all.iter().take(times.len()).map(|(_, source)| *source).collect();
        if (0..times.len()).any(|source| !round.contains(&source)) {
            return Vec::new();
        }
        let whole = |packets: &[(u64, usize)]| {
            packets.iter().map(|(_, source)| *source).eq(round.iter().copied()) && packets.iter().all(|(time, _)| *time < until)
        };
        let rounds = all.chunks_exact(times.len()).take(most).take_while(|packets| whole(packets)).count();
        round.repeat(rounds)
    }

    #[test]
    fn rounds_come_as_their_packets_would_one_at_a_time() {
        let mut random = 1_u32;
        let mut some = 0;
        for _ in 0..2_000 {
            let mut below = |most: u32| {
                random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                u64::from((random >> 16) % most)
            };
            let (count, interval, most) = (1 + below(4), 1 + below(5), 1 + below(6) as usize);
            let times: Vec<u64> = (0..count).map(|_| below(6)).collect();
            let until = below(30);
            let sources = times.iter().enumerate().map(|(n, time)| (n, *time, most)).collect();
            let turns = RoundRobin::of(sources, interval, until, most);
            let wanted = by_hand(&times, interval, until, most);
            let got = turns.map_or(Vec::new(), |turns| turns.order.repeat(turns.rounds));
            // What has turns for one round only is no reason to begin.
            assert!(
                got == wanted || got.is_empty() && wanted.len() == times.len(),
                "{times:?} {interval} {until} {most}: {got:?} {wanted:?}"
            );
            some += usize::from(!got.is_empty());
        }
        assert!(some > 500, "{some}");
    }

    #[test]
    fn there_is_no_time_behind_the_last_moment() {
        let turns = |sources: &[Turn], interval| RoundRobin::of(sources.to_vec(), interval, u64::MAX, 100);
        let last = u64::MAX - 1;
        assert_eq!(turns(&[(0, last - 4, 9)], 3), Some(RoundRobin { order: vec![0], rounds: 2, last: last - 1 }));
        assert_eq!(turns(&[(0, last, 9), (1, last - 1, 9)], 9), Some(RoundRobin { order: vec![1, 0], rounds: 1, last }));
        assert_eq!(turns(&[(0, u64::MAX, 9)], 1), None);
        // All of one source come before any of the next.
        assert_eq!(
            (turns(&[(3, 7, 9)], 0).map(|turns| (turns.rounds, turns.last)), turns(&[(0, 7, 9), (1, 7, 9)], 0)),
            (Some((9, 7)), None)
        );
        assert_eq!((turns(&[], 1), turns(&[(0, 1, 0)], 1)), (None, None));
    }
}
