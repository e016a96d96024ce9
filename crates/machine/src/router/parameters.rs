//! Ports as data: the table `[ports]` of a machine.

use serde::Deserialize;

/// Ports and what threads do for them, as data.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ports {
    /// How many.
    pub count: u32,
    /// Their rate.
    pub mbits: u32,
    /// Bytes of a cell, which is what moves at once.
    pub cell: u32,
    /// Cells that a port's buffer holds, each way.
    pub buffer_cells: u32,
    /// Bytes between frames on the wire.
    pub gap: u32,
    /// Entries of the transmit FIFO.
    pub entries: u32,
    /// Cycles that the FIFO takes for an entry.
    pub entry_cycles: u32,
    /// Requests to registers that an engine may have under way; 0: no limit.
    pub register_requests: u32,
    /// Packets that wait for each way out.
    pub queue: u32,
    /// Instructions to look for work.
    pub poll: u32,
    /// Instructions for a cell that is received.
    pub receive_cell: u32,
    /// Instructions for a cell that is sent.
    pub transmit_cell: u32,
    /// Instructions for a packet, besides its cells and the program, each way.
    pub packet: u32,
}
