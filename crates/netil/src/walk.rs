//! Walks over tables: `t.walk`, `t.due`, `t.next`, `t.key`.
//!
//! A walk is a list of keys, made when it begins, and where it has come to. Entries that come later
//! are not on it, and those that are gone are passed over, so a program may enter and delete what
//! it likes on the way. A table has one walk, which goes on in later runs of the program's
//! handlers.

use crate::exec::State;
use std::collections::VecDeque;

/// Entries of one walk over what is due.
pub const MOST_DUE: usize = 512;
/// Entries that are due, of which it begins with the first ones, for 1.
pub const LOOKED_AT: u64 = 4;

/// A walk over one table.
#[derive(Clone, Debug, Default)]
pub struct Walk {
    keys: VecDeque<Box<[u64]>>,
    at: Box<[u64]>,
}

impl State {
    /// A walk over a table begins; how many keys it has.
    pub fn begin_walk(&mut self, table: u32, keys: Vec<Box<[u64]>>) -> u32 {
        let table = table as usize;
        if self.walks.len() <= table {
            self.walks.resize_with(table + 1, Walk::default);
        }
        let count = keys.len() as u32;
        self.walks[table] = Walk { keys: keys.into(), at: Box::default() };
        count
    }

    /// Goes on to the next entry that is live; false if there is none.
    pub fn next_key(&mut self, table: u32, now_ns: u64) -> bool {
        let Some(walk) = self.walks.get_mut(table as usize) else { return false };
        while let Some(key) = walk.keys.pop_front() {
            if self.tables[table as usize].known(&key, &[], 0, now_ns) != 0 {
                walk.at = key;
                return true;
            }
        }
        walk.at = Box::default();
        false
    }

    /// The key that a walk has come to, into its limbs; zeros if it has come to none.
    pub fn walked_key(&self, table: u32, limbs: &mut [u64]) {
        limbs.fill(0);
        if let Some(walk) = self.walks.get(table as usize) {
            limbs.iter_mut().zip(&walk.at).for_each(|(to, limb)| *to = *limb);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asm::assemble;
    use crate::verify::verify;

    fn state() -> State {
        let text = "segment .tables .table t, exact, 16, 1, 9, 10 ends segment .push ret 1 ends";
        State::plain(&verify(assemble(text, "test").unwrap()).unwrap()).unwrap()
    }

    fn walked(state: &mut State, now: u64) -> Vec<u64> {
        let mut key = [7];
        let mut next = |state: &mut State| {
            state.next_key(0, now).then(|| {
                state.walked_key(0, &mut key);
                key[0]
            })
        };
        let all = std::iter::from_fn(|| next(state)).collect();
        state.walked_key(0, &mut key);
        assert_eq!(key, [0], "it has come to none");
        all
    }

    #[test]
    fn a_walk_passes_over_what_is_gone_and_does_not_see_what_comes() {
        let mut state = state();
        assert_eq!(walked(&mut state, 0), [0u64; 0], "none has begun");
        for key in [30, 10, 20, 40] {
            assert_ne!(state.tables[0].insert(&[key], 0), 0);
        }
        let keys = state.tables[0].keys(0);
        assert_eq!(state.begin_walk(0, keys), 4);
        assert!(state.next_key(0, 0) && state.tables[0].delete(&[20], 0) && state.tables[0].insert(&[50], 0) != 0);
        assert_eq!(walked(&mut state, 0), [30, 40]);
        let keys = state.tables[0].keys(9);
        assert_eq!(state.begin_walk(0, keys), 4);
        assert_eq!(walked(&mut state, 10), [0u64; 0], "all have ended");
    }

    #[test]
    fn what_ends_next_is_due_in_the_last_nanosecond() {
        let mut state = state();
        let table = &mut state.tables[0];
        for (key, at) in [(3, 5), (1, 5), (2, 6)] {
            assert_ne!(table.insert(&[key], at), 0);
        }
        assert_eq!((table.deadline(6), table.due(13, 9).1), (15, 0));
        let keys = |due: (Vec<Box<[u64]>>, u64)| (due.0.into_iter().map(|key| key[0]).collect::<Vec<_>>(), due.1);
        assert_eq!((keys(table.due(14, 9)), keys(table.due(14, 1))), ((vec![1, 3], 2), (vec![1], 2)));
        assert_ne!(table.find(&[1], 14, true), 0);
        assert_eq!((keys(table.due(14, 9)), table.deadline(15), table.deadline(16), table.deadline(24)), ((vec![3], 1), 16, 24, u64::MAX));
    }
}
