//! A router of the IXP1200's kind: engines whose threads receive or transmit, ports with small buffers, and a transmit FIFO that is emptied in order.
//!
//! ```text
//! wire ──▶ port buffer ──▶ receive thread (status, cells to SDRAM, the program) ──▶ queue of the way out ──▶ transmit thread (status, an entry, a cell) ──▶ FIFO ──▶ port buffer ──▶ wire
//! ```
//!
//! A thread keeps its engine until it asks a memory or a control-status register. Registers share a bus with all memories, and an engine may have no more than so many requests to them under way.
//! How threads come to entries of the FIFO is a policy that the machine's description has (`arbitration`). The FIFO waits at each
//! entry until it is valid.
//!
//! Source: NP-Click paper, sections 2.2, 4.4, 4.5 and 5. Left out: the StrongARM, and frames that are damaged.

mod arbitration;
mod assignment;
mod engine;
mod ports;

pub(crate) use arbitration::check_policies;
pub use arbitration::{Arbitration, Busy, Entry, Lock};
pub use assignment::{Assignment, Role};

use crate::description::Machine;
use crate::steps::{Access, Step, Work};
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

/// What is run.
#[derive(Clone, Debug)]
pub struct Setup<'a> {
    /// The machine, which has ports.
    pub machine: &'a Machine,
    /// What is done for each packet, in turn.
    pub work: &'a [Work],
    /// Sizes of frames, in turn.
    pub sizes: &'a [u32],
    /// Threads.
    pub assignment: &'a Assignment,
    /// How they share the FIFO.
    pub arbitration: &'a Arbitration,
    /// Cycles.
    pub cycles: u64,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Report {
    /// Frames that came, of all ports.
    pub received: u64,
    /// Frames of which a cell was lost, or that found their queue full.
    pub dropped: u64,
    /// Frames that left.
    pub sent: u64,
    /// Bits of frames that left in a second, in millions, in the second half of the time.
    pub mbits: f64,
    /// The same of frames that came.
    pub offered: f64,
    /// Cycles that threads wait for a register, on average, and at most.
    pub register: f64,
    /// The longest.
    pub longest_register: u64,
    /// Part of the transmit threads' time in which they wait for the lock.
    pub lock: f64,
    /// By engine, the part of cycles in which it issued.
    pub busy: [f64; 6],
}

/// Runs at that part of the ports' rate.
pub fn run(setup: &Setup<'_>, ports: &Ports, load: f64) -> Report {
    engine::Model::new(setup, ports, load).run()
}

/// The highest rate at which nothing is dropped and what leaves is within 1 % of what comes, with its report; in halvings of what is left.
pub fn search(setup: &Setup<'_>, ports: &Ports) -> (f64, Report) {
    let holds = |report: &Report| report.dropped == 0 && report.mbits >= report.offered * 0.99;
    let full = run(setup, ports, 1.0);
    if holds(&full) {
        return (1.0, full);
    }
    let (mut low, mut high, mut best) = (0.0, 1.0, Report::default());
    for _ in 0..7 {
        let load = f64::midpoint(low, high);
        let report = run(setup, ports, load);
        if holds(&report) {
            (low, best) = (load, report);
        } else {
            high = load;
        }
    }
    (low, best)
}

/// The best assignment of threads to receiving and transmitting, by the rate that it sustains: engines are given to the one or the other.
pub fn best<'a>(setup: &Setup<'a>, ports: &Ports) -> (Assignment, f64) {
    let engines = setup.machine.processor.cores;
    let all = (1..engines).map(|receiving| Assignment::split(setup.machine, ports, receiving));
    let rated = all.map(|assignment| {
        let (load, _) = search(&Setup { assignment: &assignment, ..setup.clone() }, ports);
        (assignment, load)
    });
    rated.reduce(|a, b| if b.1 > a.1 { b } else { a }).unwrap_or_else(|| (setup.assignment.clone(), 0.0))
}

/// A router's header processing in the machine's own terms, as the reference design has it: the header is read once, looked at in registers, and written once.
pub fn by_hand(machine: &Machine) -> Work {
    let number = |name: &str| machine.memory.keys().position(|known| known == name).unwrap_or(0) as u32;
    let access =
        |memory: &str, write: bool, units: u32| Step::Access(Access { memory: number(memory), write, units, address: 0, shared: None });
    let steps = vec![
        // Ethernet and IP headers: 34 bytes are five units of SDRAM.
        access("sdram", false, 5),
        // Version, length, checksum over ten words, time to live.
        Step::Compute(70),
        // A trie of four steps, each with an index of a byte.
        access("sram", false, 1),
        Step::Compute(6),
        access("sram", false, 1),
        Step::Compute(6),
        access("sram", false, 1),
        Step::Compute(6),
        access("sram", false, 1),
        Step::Compute(20),
        // The next hop's address and port.
        access("sram", false, 4),
        Step::Compute(20),
        access("sdram", true, 5),
    ];
    Work { steps, flow: 0, bytes: 64 }
}
