//! Ends of the packet that move by a constant number of bytes.
//!
//! The head's place is known where code is generated: on every way to a block it has moved by the
//! same number of bytes since the packet came. So a place in the packet is one of the packet as it
//! came, and accesses need no addition. Accesses and changes keep their order.

use super::{Bit, Lower, Op, Val};
use crate::x11::Refused;
use crate::x11::code::{BEFORE, Change, Move, MoveOperand, Src};
use compiler::mir::{Helper, Value};
use netil::exec::TrapKind;
use netil::table::Space;
use std::collections::HashMap;

/// Bytes before the head that may be brought back, at most.
const FRONT: u32 = 1024;
const LONGEST: u16 = 0xffff;

/// Where the head is: bytes behind where it was when the packet came, and how many before it can be
/// brought back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Head {
    at: i32,
    front: u32,
}

/// Heads by block: all that ways bring there.
#[derive(Debug, Default)]
pub(super) struct Heads {
    now: Head,
    blocks: HashMap<usize, Vec<Head>>,
}

/// Whether a helper moves an end of the packet.
pub(super) fn moves(helper: Helper) -> bool {
    change(helper).is_some()
}

fn change(helper: Helper) -> Option<Change> {
    match helper {
        Helper::PullHead => Some(Change::Pull),
        Helper::PushHead => Some(Change::Push),
        Helper::Unpull => Some(Change::Unpull),
        Helper::TrimTail => Some(Change::Trim),
        Helper::GrowTail => Some(Change::Grow),
        _ => None,
    }
}

impl Lower<'_> {
    /// A way leads to a block.
    pub(super) fn leads(&mut self, to: usize) {
        let (now, all) = (self.heads.now, self.heads.blocks.entry(to).or_default());
        if !all.contains(&now) {
            all.push(now);
        }
        self.informs(to);
    }

    /// The block that begins: on all ways to it the head is at the same place.
    pub(super) fn arrive(&mut self) -> Result<(), Refused> {
        let all = self.heads.blocks.remove(&self.block).unwrap_or_default();
        self.heads.now = all.first().copied().unwrap_or_default();
        match all.as_slice() {
            [first, second, ..] => self.refuse(format!(
                "packets come here whose heads have moved by {} and by {} bytes: their places are not constant",
                first.at, second.at
            )),
            _ => Ok(()),
        }
    }

    /// A place of the packet as it came.
    pub(super) fn came_at(&self, at: u32, bytes: u32) -> Result<i32, Refused> {
        let place = i64::from(at) + i64::from(self.heads.now.at);
        if place < i64::from(BEFORE) - 0x1_0000 || place + i64::from(bytes) > i64::from(BEFORE) {
            return self.far();
        }
        Ok(place as i32)
    }

    /// What is added to an offset.
    pub(super) fn plus(&self, offset: u32) -> Result<u16, Refused> {
        self.came_at(offset, 0).map(|at| at as u16)
    }

    /// A length, as it is now.
    pub(super) fn length(&mut self, from: MoveOperand) -> Src {
        let pinned = self.stored.moves();
        self.moved(from, LONGEST, pinned)
    }

    pub(super) fn moved_by(&self) -> Val {
        let at = self.heads.now.at.cast_unsigned();
        Val::Words(vec![Src::Imm(at as u16), Src::Imm((at >> 16) as u16)])
    }

    /// Moves an end.
    pub(super) fn change(&mut self, helper: Helper, bytes: Value) -> Result<Val, Refused> {
        if helper == Helper::TrimTail && self.constant(bytes).is_none() {
            return self.trim(bytes);
        }
        let constant = self.constant(bytes).and_then(|n| u16::try_from(n).ok());
        let (Some(change), Some(bytes)) = (change(helper), constant) else {
            return self.refuse("an end of the packet that moves by a computed number of bytes");
        };
        let site = self.site.unwrap_or(0);
        let len = self.length(MoveOperand::Len);
        let (wrong, kind) = match change {
            Change::Pull | Change::Trim => (self.less(&[len], &[Src::Imm(bytes)], false), TrapKind::OutOfBounds(Space::Packet)),
            Change::Push | Change::Grow => (self.less(&[Src::Imm(LONGEST - bytes)], &[len], false), TrapKind::NoRoom),
            // What was there has room.
            Change::Unpull => (Bit::Const(false), TrapKind::NoRoom),
        };
        self.trap_if(wrong, kind, site, Vec::new());
        self.count(change, bytes)?;
        self.push(Op::Move(Move { guard: None, to: MoveOperand::End(change), from: MoveOperand::Imm(bytes) }), true);
        Ok(Val::None)
    }

    /// Takes a computed number of bytes away at the tail, which moves no place.
    fn trim(&mut self, bytes: Value) -> Result<Val, Refused> {
        let (words, len) = (self.words_of(bytes), self.length(MoveOperand::Len));
        let mut have = vec![len];
        have.resize(words.len(), Src::Imm(0));
        let wrong = self.less(&have, &words, false);
        self.trap_if(wrong, TrapKind::OutOfBounds(Space::Packet), self.site.unwrap_or(0), Vec::new());
        let from = super::place(words.first().copied().unwrap_or(Src::Imm(0)));
        self.push(Op::Move(Move { guard: None, to: MoveOperand::End(Change::Trim), from }), true);
        Ok(Val::None)
    }

    fn count(&mut self, change: Change, bytes: u16) -> Result<(), Refused> {
        let (head, bytes) = (&mut self.heads.now, u32::from(bytes));
        match change {
            Change::Pull => (head.at, head.front) = (head.at + bytes.cast_signed(), (head.front + bytes).min(FRONT)),
            Change::Push => (head.at, head.front) = (head.at - bytes.cast_signed(), head.front.saturating_sub(bytes)),
            Change::Unpull if bytes > head.front => {
                return self.refuse("bytes that are brought back, more than were taken away on every way");
            }
            Change::Unpull => (head.at, head.front) = (head.at - bytes.cast_signed(), head.front - bytes),
            Change::Trim | Change::Grow => {}
        }
        Ok(())
    }
}
