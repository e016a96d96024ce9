//! The watchdog: what one run of a handler may still spend.
//!
//! A backward branch and a call cost 1. An instruction that handles bytes by the run, however many,
//! costs 1 for every [`PIECE`] of them that it begins; what the manual calls bulk instructions. The
//! charge comes when operands and bounds are known to be good and before any effect, so that a trap
//! for it leaves nothing half done, and it depends on operands and lengths alone, not on how an
//! engine does the work. So a run handles at most `PIECE` bytes for each unit of its budget.
//!
//! An instruction on values of more than 128 bits, which engines do limb by limb, has a [`price`]
//! that its widths decide. It is paid before anything else that the instruction does.

use crate::exec::TrapKind;
use crate::module::Inst;
use crate::ops::BinOp;
use crate::table::{Op, Sem};

/// Bytes that a bulk instruction handles for 1.
pub const PIECE: u64 = 256;

/// Values of up to so many bits are worked on for nothing.
const FREE_BITS: u32 = 128;
/// Products of so many limbs with limbs for 1.
const PRODUCTS: u32 = 32;

/// What an instruction costs for the width of its values: nothing up to 128 bits. Above, a division
/// costs the square of the limbs (it goes bit by bit), a multiplication 1 for every 32 of that, a
/// shift or rotation its limbs, and all else 1.
pub fn price(inst: &Inst) -> u32 {
    let bits = match inst.op.row().sem {
        Sem::WideBin(_) | Sem::WideUn(_) | Sem::WideCmp(_) | Sem::WideLoad(_) | Sem::WideStore(_) => inst.imm[0],
        Sem::Own(_) if matches!(inst.op, Op::WZext | Op::WSext | Op::WTrunc | Op::WSlice | Op::WSelect) => inst.imm[0].max(inst.imm[1]),
        Sem::Own(_) if inst.op == Op::WConcat => inst.imm[0].saturating_add(inst.imm[1]),
        _ => 0,
    };
    match inst.op.row().sem {
        _ if bits <= FREE_BITS => 0,
        Sem::WideBin(BinOp::Div | BinOp::Mod) => bits.div_ceil(64).pow(2),
        Sem::WideBin(BinOp::Mul) => bits.div_ceil(64).pow(2).div_ceil(PRODUCTS),
        Sem::WideBin(op) if op.is_shift() => bits.div_ceil(64),
        _ => 1,
    }
}

/// What is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget(pub u32);

impl Budget {
    /// Takes 1, for a backward branch or a call.
    pub fn step(&mut self) -> Result<(), TrapKind> {
        self.take(1)
    }

    /// Takes a price that is known already.
    pub fn units(&mut self, n: u32) -> Result<(), TrapKind> {
        self.take(n.into())
    }

    /// Takes the price of so many bytes; nothing for none.
    pub fn bytes(&mut self, n: u64) -> Result<(), TrapKind> {
        self.take(n.div_ceil(PIECE))
    }

    /// Takes 1 for each of so many entries of a table.
    pub fn entries(&mut self, n: u64) -> Result<(), TrapKind> {
        self.take(n)
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
    fn wide_values_cost_by_their_limbs() {
        let program = |text: &str| {
            let text = format!("segment .push .maxstacksize 400 {text} ret 0 ends");
            crate::asm::assemble(&text, "test").unwrap().push.unwrap().code.iter().map(price).max()
        };
        for (text, wanted) in [
            ("w.div 128", 0),
            ("w.add 129", 1),
            ("w.div 129", 9),
            ("w.mod 2048", 1024),
            ("w.mul 2048", 32),
            ("w.rol 2048", 32),
            ("w.eq 2048", 1),
            ("w.zext 8, 256", 1),
            ("w.concat 64, 65", 1),
            ("w.slice 200, 7, 0", 1),
            ("add", 0),
        ] {
            assert_eq!(program(text), Some(wanted), "{text}");
        }
    }

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
