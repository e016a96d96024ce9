//! The watchdog: what one run of a handler may still spend.
//!
//! A backward branch and a call cost 1. An instruction that handles bytes by the run, however many, costs 1 for every [`PIECE`] of them that
//! it begins; what the manual calls bulk instructions. The charge comes when operands and bounds are known to be good and before any
//! effect, so that a trap for it leaves nothing half done, and it depends on operands and lengths alone, not on how an engine does the
//! work. So a run handles at most `PIECE` bytes for each unit of its budget.

use crate::exec::TrapKind;

/// Bytes that a bulk instruction handles for 1.
pub const PIECE: u64 = 256;

/// What is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget(pub u32);

impl Budget {
    /// Takes 1, for a backward branch or a call.
    pub fn step(&mut self) -> Result<(), TrapKind> {
        self.take(1)
    }

    /// Takes the price of so many bytes; nothing for none.
    pub fn bytes(&mut self, n: u64) -> Result<(), TrapKind> {
        self.take(n.div_ceil(PIECE))
    }

    fn take(&mut self, n: u64) -> Result<(), TrapKind> {
        let left = u64::from(self.0).checked_sub(n).ok_or(TrapKind::Budget)?;
        // Not more than there was, so it fits.
        self.0 = left as u32;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_is_paid_when_begun() {
        let mut budget = Budget(6);
        for (n, left) in [(0, 6), (1, 5), (256, 4), (257, 2)] {
            assert_eq!((budget.bytes(n), budget.0), (Ok(()), left), "{n}");
        }
        assert_eq!((budget.bytes(513), budget.0), (Err(TrapKind::Budget), 2));
        assert_eq!((budget.bytes(u64::MAX), budget.0), (Err(TrapKind::Budget), 2));
        assert_eq!((budget.bytes(512), budget.0), (Ok(()), 0));
        assert_eq!((budget.bytes(0), budget.step()), (Ok(()), Err(TrapKind::Budget)));
    }
}
