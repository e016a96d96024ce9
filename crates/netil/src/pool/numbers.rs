//! Numbers of packets in slots ([`crate::number`]), kept only where something draws random numbers.

use super::Slots;
use crate::number::{self, NONE};

impl Slots {
    /// Whether packets' numbers are kept; of those that are here none is known if they were not.
    pub fn keep_numbers(&mut self, keeps: bool) {
        match keeps {
            true => self.numbers.resize(self.slots.len(), NONE),
            false => self.numbers.clear(),
        }
    }

    /// Whether they are.
    #[inline]
    pub fn keeps_numbers(&self) -> bool {
        !self.numbers.is_empty()
    }

    /// The number of a slot's packet.
    #[inline]
    pub fn number_of(&self, id: u32) -> u64 {
        self.numbers.get(id as usize).copied().unwrap_or(NONE)
    }

    /// A slot's packet has that number, if numbers are kept.
    #[inline]
    pub fn set_number(&mut self, id: u32, number: u64) {
        if let Some(own) = self.numbers.get_mut(id as usize) {
            *own = number;
        }
    }

    /// Packets that have no number get those that follow each other from `next` on, which is then
    /// the next one.
    #[inline]
    pub fn number_all<'i>(&mut self, ids: impl IntoIterator<Item = &'i u32>, next: &mut u64) {
        if !self.keeps_numbers() {
            return;
        }
        for id in ids {
            let own = &mut self.numbers[*id as usize];
            if *own == NONE {
                *own = *next;
                *next = next.wrapping_add(1);
            }
        }
    }

    /// Packets have just come into these slots, without numbers.
    #[inline]
    pub(super) fn come<'i>(&mut self, ids: impl Iterator<Item = &'i u32>) {
        if self.keeps_numbers() {
            ids.for_each(|id| self.numbers[*id as usize] = NONE);
        }
    }

    /// A slot has a copy of another one's packet.
    pub(super) fn branch(&mut self, of: u32, copy: u32) {
        if let Some(own) = self.numbers.get_mut(of as usize) {
            let number = number::branch(own);
            self.numbers[copy as usize] = number;
        }
    }

    /// The numbers, by slot, for compiled code; none if they are not kept.
    pub fn numbers(&mut self) -> &mut [u64] {
        &mut self.numbers
    }
}
