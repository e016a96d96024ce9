//! A router of the IXP1200's kind: engines whose threads receive or transmit, ports with small
//! buffers, and a transmit FIFO that is emptied in order.
//!
//! ```text
//! wire ──▶ port buffer ──▶ receive thread (status, cells to SDRAM, the program) ──▶ queue of the way out ──▶ transmit thread (status, an entry, a cell) ──▶ FIFO ──▶ port buffer ──▶ wire
//! ```
//!
//! A thread keeps its engine until it asks a memory or a control-status register. Registers share a
//! bus with all memories, and an engine may have no more than so many requests to them under way.
//! How threads come to entries of the FIFO is a policy that the machine's description has
//! (`arbitration`). The FIFO waits at each entry until it is valid.
//!
//! A frame leaves by any of the other ports with the same probability. With an entry for each port,
//! the FIFO sends as many cells to each port as to the one that gets fewest, and how far ports are
//! apart is a random walk: its deviation grows with the square root of time, at any rate. No queue
//! is long enough for ever, and what leaves a machine that began with empty queues is less than
//! what comes, the more so the shorter the run. The paper's steady state is an interval in which
//! data are always ready to be sent on all ports, so a run begins with frames in each queue
//! ([`Setup::queued`], [`stock`]).
//!
//! Source: NP-Click paper, sections 2.2, 4.4, 4.5 and 5. Left out: the StrongARM, and frames that
//! are damaged.

mod arbitration;
mod assignment;
mod engine;
pub mod hand;
mod parameters;
mod ports;
mod sections;

pub(crate) use arbitration::check_policies;
pub use arbitration::{Arbitration, Busy, Entry, Lock};
pub use assignment::{Assignment, Role};
pub use parameters::Ports;

use crate::description::Machine;
use crate::steps::Work;

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
    /// Frames that wait at each way out when it begins.
    pub queued: u32,
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
    /// Bits of frames that left in a second, in millions.
    pub mbits: f64,
    /// Bits of frames that came in a second, in millions.
    pub offered: f64,
    /// Cycles that threads wait for a register, on average, and at most.
    pub register: f64,
    /// The longest.
    pub longest_register: u64,
    /// Part of the transmit threads' time in which they wait for the lock.
    pub lock: f64,
    /// Critical sections that were entered, and those that waited for their lock.
    pub sections: u64,
    /// The latter.
    pub sections_waited: u64,
    /// Part of the receive threads' time in which they wait for critical sections.
    pub section: f64,
    /// By engine, the part of cycles in which it issued.
    pub busy: [f64; 6],
}

/// Runs at that part of the ports' rate.
pub fn run(setup: &Setup<'_>, ports: &Ports, load: f64) -> Report {
    engine::Model::new(setup, ports, load).run()
}

/// Frames that wait at each way out when a rate is measured: half of what the queue holds, so that
/// it can become shorter or longer.
pub fn stock(ports: &Ports) -> u32 {
    ports.queue / 2
}

/// The highest rate at which nothing is dropped and what leaves is within 1 % of what comes, with
/// its report; in halvings of what is left. The rate is 0 if none that was tried is sustained.
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

/// The best assignment of threads to receiving and transmitting, by the rate that it sustains with
/// any of the policies: engines are given to the one or the other. Without, no assignment sustains
/// a rate that was tried.
pub fn best<'a>(setup: &Setup<'a>, ports: &Ports, policies: &[&'a Arbitration]) -> Option<(Assignment, f64)> {
    let engines = setup.machine.processor.cores;
    let rated = (1..engines).map(|receiving| {
        let assignment = Assignment::split(setup.machine, ports, receiving);
        let load = |arbitration: &&'a Arbitration| search(&Setup { assignment: &assignment, arbitration, ..setup.clone() }, ports).0;
        let load = policies.iter().map(load).fold(0.0, f64::max);
        (assignment, load)
    });
    rated.filter(|(_, load)| *load > 0.0).reduce(|a, b| if b.1 > a.1 { b } else { a })
}
