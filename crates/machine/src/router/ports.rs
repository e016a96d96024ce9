//! Ports, their buffers, queues of packets, and the transmit FIFO.

use super::{Entry, Ports};
use std::collections::VecDeque;

/// A piece of a frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell {
    /// The frame's number among all.
    pub(super) frame: u64,
    pub(super) first: bool,
    pub(super) last: bool,
    pub(super) bytes: u32,
}

/// A frame that waits for its way out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) bytes: u32,
    /// Cells of it that were sent.
    pub(super) sent: u32,
}

/// The way in of a port.
#[derive(Debug, Default)]
pub(super) struct In {
    pub(super) buffer: VecDeque<Cell>,
    /// What is arriving: the frame, its bytes, and those that have come.
    pub(super) arriving: Option<(u64, u32, u32)>,
    /// A cell of the frame that is arriving was lost.
    pub(super) broken: bool,
    /// A thread has a cell of this port in hand: others leave the port alone, so that cells keep
    /// their order.
    pub(super) taken: bool,
}

/// The way out.
#[derive(Debug, Default)]
pub(super) struct Out {
    pub(super) queue: VecDeque<Waiting>,
    /// Cells in the port's buffer and under way to it.
    pub(super) filled: u32,
    /// When the wire is free.
    pub(super) free: u64,
    pub(super) taken: bool,
}

/// The FIFO between threads and ports.
#[derive(Debug)]
pub(super) struct Fifo {
    /// By entry the cell that is there, and its port.
    pub(super) entries: Vec<Option<(u32, Cell)>>,
    /// Entries that a thread has, valid or not.
    pub(super) owned: Vec<bool>,
    /// The entry that the state machine looks at.
    pub(super) next: usize,
    /// The entry that is taken next, where they are taken in turn.
    pub(super) take: usize,
    pub(super) locked: bool,
    /// The state machine is moving a cell.
    pub(super) moving: bool,
}

impl Fifo {
    pub(super) fn new(ports: &Ports) -> Self {
        let n = ports.entries as usize;
        Self { entries: vec![None; n], owned: vec![false; n], next: 0, take: 0, locked: false, moving: false }
    }

    /// An entry for a cell to that port, if it is free now.
    pub(super) fn claim(&mut self, entry: Entry, port: u32) -> Option<usize> {
        let at = match entry {
            Entry::Port => port as usize % self.entries.len(),
            Entry::Turn => self.take,
        };
        if self.owned[at] {
            return None;
        }
        self.owned[at] = true;
        self.take = (self.take + usize::from(entry == Entry::Turn)) % self.entries.len();
        Some(at)
    }
}

/// Cycles that so many bytes take on a port's wire.
pub(super) fn wire_cycles(bytes: u32, ports: &Ports, clock_mhz: f64) -> u64 {
    (f64::from(bytes) * 8.0 * clock_mhz / f64::from(ports.mbits)) as u64
}
