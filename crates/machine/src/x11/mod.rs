//! The Xelerated X11: a systolic pipeline, a code generator for it, and an executor of what that
//! makes.
//!
//! ```text
//! MIR ──lower──▶ slots over virtual registers ──schedule──▶ stages ──allocate──▶ Program ──listing──▶ text ──assemble──▶ Program
//!                                                                                  └──exec──▶ dispositions, packets, tables
//! ```
//!
//! Every packet passes all stages, one a cycle. So what counts is how many stages a program takes,
//! not which way a packet goes: operations without effect are done before it is known whether they
//! are needed, in slots that are free. Wider values are split into words of 16 bits, words that are
//! known to be zeros are none. Loops that count to a constant are unrolled; sets and switches are
//! one lookup in a TCAM; a read, an addition and a write of the same memory are one operation. What
//! is left of reads before writes that other packets may come between is told with the number of
//! packets ([`hazards`]).
//!
//! Source: NetVM paper, sections 5.3 and 6.3. Left out: recirculation, checksums of ranges, copies
//! of packets, and everything that the paper's section 6.1 leaves to other machines.

mod allocate;
pub mod assemble;
pub mod code;
pub mod exec;
pub mod hazards;
pub mod listing;
mod lower;
mod order;
mod schedule;
mod shape;

pub use code::{Program, Size};
pub use exec::Pipeline;
pub use lower::{Element, Link};

use crate::fault::{Fault, within};
use serde::Deserialize;
use std::fmt;

/// The built-in description.
pub const BUILT_IN: &str = include_str!("../../machines/x11.toml");

/// A pipeline as data.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// One word.
    pub name: String,
    /// What it is, in one line.
    pub description: String,
    /// Cycles a second, in millions.
    pub clock_mhz: f64,
    /// Its stages.
    pub pipeline: Stages,
    /// What is behind access points.
    pub devices: Devices,
}

/// Stages.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stages {
    /// How many, access points included.
    pub stages: u32,
    /// Instructions before each access point.
    pub point_every: u32,
    /// Cycles that an access takes.
    pub point_latency: u32,
    /// Registers of 16 bits.
    pub registers: u16,
    /// Status flags.
    pub flags: u16,
    /// How often a packet may go through.
    pub passes: u32,
    /// Cycles between packets at the full rate.
    pub packet_cycles: u32,
}

/// Devices behind access points.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Devices {
    /// Entries of a table or set.
    pub tcam_entries: u32,
    /// Bits of a key.
    pub key_bits: u32,
    /// Bits of an access to a memory.
    pub access_bits: u32,
    /// Bytes of all memories.
    pub ram_bytes: u32,
}

impl Machine {
    /// Reads a description.
    ///
    /// # Errors
    /// It is not TOML, lacks something, or says what cannot be.
    pub fn read(text: &str) -> Result<Self, Fault> {
        let machine: Self = toml::from_str(text).map_err(|error| Fault::new(error.to_string().trim_end()))?;
        let p = &machine.pipeline;
        let wanted = [
            ("pipeline.stages", p.stages, 1, 1 << 16),
            ("pipeline.point_every", p.point_every, 1, 1 << 12),
            ("pipeline.point_latency", p.point_latency, 0, 1 << 12),
            ("pipeline.registers", p.registers.into(), 1, 1 << 12),
            ("pipeline.flags", p.flags.into(), 1, 1 << 12),
            ("pipeline.passes", p.passes, 1, 64),
            ("pipeline.packet_cycles", p.packet_cycles, 1, 1 << 12),
            ("devices.tcam_entries", machine.devices.tcam_entries, 0, 1 << 24),
            ("devices.key_bits", machine.devices.key_bits, 0, 2048),
            ("devices.access_bits", machine.devices.access_bits, 16, 2048),
            ("devices.ram_bytes", machine.devices.ram_bytes, 0, 1 << 30),
        ];
        wanted.into_iter().try_for_each(|(what, value, least, most)| within(what, value, least, most))?;
        match machine.clock_mhz.is_finite() && machine.clock_mhz > 0.0 {
            true => Ok(machine),
            false => Err(Fault::new(format!("clock_mhz is {}, which is no frequency", machine.clock_mhz))),
        }
    }

    /// The built-in one.
    ///
    /// # Panics
    /// Never: a test reads it.
    pub fn built_in() -> Self {
        Self::read(BUILT_IN).expect("the built-in description is right")
    }

    /// Whether a stage is an access point.
    pub fn is_point(&self, stage: usize) -> bool {
        (stage + 1).is_multiple_of(self.pipeline.point_every as usize + 1)
    }

    /// By cycle after its entry the stage that a packet begins with.
    pub(crate) fn places(&self, stages: usize) -> Vec<Option<usize>> {
        let wait = |stage: usize| if self.is_point(stage) { self.pipeline.point_latency.max(1) as usize - 1 } else { 0 };
        (0..stages).flat_map(|stage| std::iter::once(Some(stage)).chain(std::iter::repeat_n(None, wait(stage)))).collect()
    }

    /// Packets a second, with packets always there.
    pub fn packets_per_second(&self, passes: u32) -> f64 {
        self.clock_mhz * 1e6 / f64::from(self.pipeline.packet_cycles * passes.max(1))
    }
}

/// What the machine cannot do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The element.
    pub element: usize,
    /// What, and how much would be admitted.
    pub reason: String,
    /// The instruction of its push handler, or one shortly before.
    pub site: Option<u32>,
}

/// What concerns no element alone.
fn whole(reason: impl Into<String>) -> Refused {
    Refused { element: 0, reason: reason.into(), site: None }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.site {
            Some(site) => write!(f, "push handler, instruction {site}: {}", self.reason),
            None => f.write_str(&self.reason),
        }
    }
}

impl std::error::Error for Refused {}

/// What was made.
#[derive(Clone, Debug)]
pub struct Made {
    /// The program.
    pub program: Program,
    /// What packets close behind each other may do to each other.
    pub hazards: Vec<hazards::Hazard>,
    /// Registers in use.
    pub registers: u16,
    /// Flags in use.
    pub flags: u16,
}

/// A program for the pipeline of elements that packets come to by the first one's port, or by
/// several ports of it if none is named.
///
/// # Errors
/// They do what the machine cannot do, or need more of it than there is.
pub fn compile(elements: &[Element<'_>], entry: Option<u32>, machine: &Machine) -> Result<Made, Refused> {
    let lowered = lower::lower(elements, entry, machine)?;
    let (program, registers, flags) = schedule::best(lowered, machine)?;
    let hazards = hazards::find(&program, machine);
    Ok(Made { program, hazards, registers, flags })
}
