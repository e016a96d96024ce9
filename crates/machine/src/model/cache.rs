//! A set-associative cache: which lines it holds. The line that was used longest ago goes first.

/// Lines by set, the one used last in front.
pub(super) struct Cache {
    tags: Vec<u64>,
    ways: usize,
    line: u64,
}

/// No line.
const EMPTY: u64 = u64::MAX;

impl Cache {
    pub(super) fn new(bytes: u32, line: u32, ways: u32) -> Self {
        let lines = (bytes / line).max(1);
        let ways = ways.clamp(1, lines);
        Self { tags: vec![EMPTY; (lines / ways * ways) as usize], ways: ways as usize, line: line.into() }
    }

    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// Looks for the lines of a range of bytes and takes in those that are missing, if it is to:
    /// the address of the first missing line, and how many.
    pub(super) fn look(&mut self, address: u64, bytes: u64, take_in: bool) -> Option<(u64, u64)> {
        let mut missed = None;
        for line in self.lines(address, bytes) {
            let set = self.set(line);
            match set.iter().position(|tag| *tag == line) {
                Some(0) => {}
                Some(at) => set[..=at].rotate_right(1),
                None => {
                    if take_in {
                        set.rotate_right(1);
                        set[0] = line;
                    }
                    let (first, count) = missed.unwrap_or((line, 0));
                    missed = Some((first, count + 1));
                }
            }
        }
        missed.map(|(first, count)| (first * self.line, count))
    }

    /// Another wrote there: those lines are no longer valid.
    pub(super) fn invalidate(&mut self, address: u64, bytes: u64) {
        for line in self.lines(address, bytes) {
            let set = self.set(line);
            if let Some(at) = set.iter().position(|tag| *tag == line) {
                set[at..].rotate_left(1);
                if let Some(last) = set.last_mut() {
                    *last = EMPTY;
                }
            }
        }
    }

    /// What it holds, for a comparison of states.
    pub(super) fn tags(&self) -> &[u64] {
        &self.tags
    }

    fn lines(&self, address: u64, bytes: u64) -> std::ops::RangeInclusive<u64> {
        address / self.line..=(address + bytes.max(1) - 1) / self.line
    }

    /// The set of a line. Regions of memory lie far apart; their lines are spread over the cache.
    fn set(&mut self, line: u64) -> &mut [u64] {
        let sets = (self.tags.len() / self.ways) as u64;
        let region = (line * self.line) >> 40;
        let at = ((line ^ region.wrapping_mul(0x9e37)) % sets) as usize * self.ways;
        &mut self.tags[at..at + self.ways]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_longest_ago_goes_first() {
        // One set of two lines of 16 bytes.
        let mut cache = Cache::new(32, 16, 2);
        assert_eq!(cache.look(0, 4, true), Some((0, 1)));
        assert_eq!(cache.look(16, 4, true), Some((16, 1)));
        assert_eq!(cache.look(8, 4, true), None);
        // 16 goes, because 0 was used after it.
        assert_eq!(cache.look(32, 4, true), Some((32, 1)));
        assert_eq!(cache.look(0, 4, true), None);
        assert_eq!(cache.look(16, 4, false), Some((16, 1)));
        // It was not taken in.
        assert_eq!(cache.look(16, 4, true), Some((16, 1)));
        cache.invalidate(16, 1);
        assert_eq!(cache.look(16, 1, false), Some((16, 1)));
        assert_eq!(cache.look(0, 1, false), None);
    }

    #[test]
    fn a_range_may_lie_in_several_lines() {
        let mut cache = Cache::new(64, 16, 1);
        assert_eq!(cache.look(14, 4, true), Some((0, 2)));
        assert_eq!(cache.look(14, 20, true), Some((32, 1)));
    }
}
