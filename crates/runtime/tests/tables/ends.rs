//! Both tables when entries end: the first end that there is, what is due, and the keys that are
//! there.

use super::Pair;
use netil::tables::Table;

impl Pair {
    /// What a walk over what is due begins with, and when the first entry ends; now and then.
    pub(super) fn ends(&mut self) {
        if self.random.within(0, 20) != 0 {
            return;
        }
        let (most, goes_on) = (self.random.within(0, 5) as usize, self.random.within(0, 4) == 0);
        let ends = [&mut self.plain as &mut dyn Table, &mut *self.fast].map(|table| {
            let at = table.deadline(self.now);
            // The last nanosecond of what ends first; the clock goes on to it now and then.
            let last = if goes_on && at < 1 << 60 { at - 1 } else { self.now };
            (at, table.due(last, most), table.keys(last))
        });
        assert_eq!(ends[0], ends[1], "at {}", self.now);
    }
}
