//! Turns of threads that only compute, all at once.
//!
//! With the schedule `interleave`, threads that are ready and have instructions left take turns. As
//! long as none of them comes to the end of its instructions, and no other thread of the core
//! becomes ready, their turns are known: after so many cycles each has issued its part. The core
//! sleeps until then. If a thread of it is woken meanwhile, the core wakes then, and what was
//! issued so far is computed.

use super::{Model, State};
use crate::description::Schedule;

/// Turns that are under way.
pub(super) struct Jump {
    start: u64,
    /// Threads in the order of their turns.
    turns: Vec<usize>,
}

impl Model<'_> {
    /// Begins a jump at that time with that thread, if there is one worth it.
    pub(super) fn leap(&mut self, core: usize, first: usize, now: u64) -> bool {
        let processor = &self.machine.processor;
        if processor.schedule != Schedule::Interleave || processor.issue != 1 || processor.swap_cycles > 0 {
            return false;
        }
        let per_core = processor.threads as usize;
        let (mut turns, mut rounds, mut end) = (Vec::with_capacity(per_core), u64::MAX, u64::MAX);
        for n in 0..per_core {
            let n = core * per_core + (first - core * per_core + n) % per_core;
            let thread = &self.threads[n];
            match thread.state {
                State::Running | State::Memory if thread.ready <= now => {
                    // The last instruction is not jumped over: what comes after it may take no
                    // turn.
                    rounds = rounds.min(thread.left.saturating_sub(1));
                    turns.push(n);
                }
                State::Running | State::Memory => end = end.min(thread.ready),
                _ => {}
            }
        }
        let end = end.min(now.saturating_add(rounds.saturating_mul(turns.len() as u64)));
        if end < now + 2 {
            return false;
        }
        for n in turns.clone() {
            if self.threads[n].state == State::Memory {
                self.set(n, State::Running, now);
            }
        }
        let own = &mut self.cores[core];
        (own.jump, own.free, own.scheduled) = (Some(Jump { start: now, turns }), now, None);
        self.wake_core(core, end);
        true
    }

    /// Ends the jump of a core, if it is in one: its threads have issued until now.
    pub(super) fn land(&mut self, core: usize, now: u64) {
        let Some(jump) = self.cores[core].jump.take() else { return };
        let issued = now.saturating_sub(jump.start);
        let among = jump.turns.len() as u64;
        for (turn, n) in jump.turns.iter().enumerate() {
            self.threads[*n].left -= issued / among + u64::from((turn as u64) < issued % among);
        }
        if issued > 0 {
            self.cores[core].last = jump.turns[((issued - 1) % among) as usize];
        }
        self.cores[core].busy += issued;
        self.instructions += issued;
    }
}
