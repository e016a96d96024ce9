//! The work scheduler as data: the table `[scheduler]` of a machine.

use crate::fault::{Fault, within};
use serde::Deserialize;

/// The work scheduler.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scheduler {
    /// Groups.
    pub groups: u32,
    /// Cycles from a core's question for work to its answer.
    pub get_work: u32,
    /// Cycles of a core to submit an entry to another group.
    pub submit: u32,
    /// Cycles of a core to change an entry's tag.
    pub switch: u32,
    /// The tag with which packets arrive.
    pub arrival: Arrival,
}

/// The tag with which packets arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arrival {
    /// None: packets run and leave as they come.
    Untagged,
    /// Their flow's, ordered.
    Ordered,
    /// Their flow's, atomic: of each flow one packet is run at a time.
    Atomic,
}

impl Scheduler {
    pub(crate) fn check(&self) -> Result<(), Fault> {
        within("scheduler.groups", self.groups, 1, 1024)?;
        within("scheduler.get_work", self.get_work, 0, 100_000)?;
        within("scheduler.submit", self.submit, 0, 100_000)?;
        within("scheduler.switch", self.switch, 0, 100_000)
    }
}
