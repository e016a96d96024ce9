//! Packets that wait for a member or at an exit, with their keys.

use super::order::Key;
use netil::exec::ExchangeBuffer;
use std::collections::VecDeque;

/// A packet and its key.
pub(super) type Waiting = (Key, ExchangeBuffer<'static>);

/// They lie apart, since engines take packets side by side.
#[derive(Default)]
pub(super) struct Batch {
    keys: VecDeque<Key>,
    buffers: VecDeque<ExchangeBuffer<'static>>,
    /// Some may be out of order.
    mixed: bool,
}

impl Batch {
    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// At the end, or at the front if it comes before all: then a packet has come back.
    pub(super) fn add(&mut self, (key, buffer): Waiting) {
        if self.keys.back().is_some_and(|last| key < *last) {
            if !self.mixed && self.keys.front().is_some_and(|first| key < *first) {
                self.keys.push_front(key);
                return self.buffers.push_front(buffer);
            }
            self.mixed = true;
        }
        self.keys.push_back(key);
        self.buffers.push_back(buffer);
    }

    /// The first packet's key, when they are in order.
    pub(super) fn first(&self) -> Option<&Key> {
        self.keys.front()
    }

    pub(super) fn take_first(&mut self) -> Option<Waiting> {
        self.sort();
        self.keys.pop_front().zip(self.buffers.pop_front())
    }

    /// The packets, in order.
    pub(super) fn packets(&mut self) -> &mut [ExchangeBuffer<'static>] {
        self.sort();
        self.buffers.make_contiguous()
    }

    /// All packets in order; the memory stays.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Waiting> {
        self.sort();
        self.keys.drain(..).zip(self.buffers.drain(..))
    }

    pub(super) fn sort(&mut self) {
        if std::mem::take(&mut self.mixed) {
            let mut both: Vec<Waiting> = self.keys.drain(..).zip(self.buffers.drain(..)).collect();
            both.sort_unstable_by(|(key, _), (other, _)| key.cmp(other));
            (self.keys, self.buffers) = both.into_iter().unzip();
        }
    }
}
