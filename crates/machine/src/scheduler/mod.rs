//! Cores that take packets from a work scheduler: groups of elements, the cores that subscribe to
//! them, tags that keep packets in order and apart.
//!
//! A packet is a work entry. Its group is that of the element that comes next; a core takes entries
//! of the groups that it subscribes to, and submits a packet whose next element is of another
//! group. An entry has a tag. Entries with the same ordered tag are run at the same time, and
//! change their tag in the order in which they came to it. Of those with the same atomic tag one
//! runs at a time, in that order. A packet arrives with a tag of its flow. It changes to an atomic
//! tag of the element for a critical section, and leaves when those before it with its tag have. An
//! entry whose change of tag has to wait is given back to the scheduler, and its core takes other
//! work. So is one that a unit works for, if the machine's searches are asynchronous.
//!
//! Sources: NetVM paper, sections 5.2.1, 5.4 and 6.3.5; Cavium's public description of the SSO unit
//! (called POW before). Left out: levels of priority, and entries that overflow into memory.

mod parameters;
mod plan;
mod run;

use crate::description::Machine;
use crate::fault::Fault;
use crate::model::Use;
use crate::stages::Parts;
use serde::Serialize;

pub use parameters::{Arrival, Scheduler};
pub use plan::{Group, GroupAssignment};

/// What came of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Packets that left.
    pub packets: u64,
    /// Until the last had left.
    pub cycles: u64,
    /// At the machine's clock.
    pub packets_per_second: f64,
    /// From arrival to end, on average, in cycles.
    pub latency: f64,
    /// By core that has a group, the part of all cycles in which it had a packet.
    pub cores: Vec<(usize, f64)>,
    /// By group, the entries that were taken from it.
    pub taken: Vec<u64>,
    /// By group, the most entries that waited in it.
    pub longest: Vec<usize>,
    /// Changes of tags.
    pub switches: u64,
    /// Changes of tags that waited.
    pub waited: u64,
    /// Memories.
    pub memories: Vec<Use>,
}

/// Runs so many packets, which repeat those given; there is always a next one. If state is kept
/// `by_flow`, packets have atomic tags of their flows and need none for critical sections.
///
/// # Errors
/// The machine has no scheduler or too few cores or groups, or an element has no group.
pub fn simulate(machine: &Machine, packets: &[Parts], plan: &GroupAssignment, by_flow: bool, count: u64) -> Result<Report, Fault> {
    let scheduler = machine.scheduler.as_ref().ok_or_else(|| Fault::new(format!("{} describes no scheduler", machine.name)))?;
    let missing = packets.iter().flat_map(|packet| &packet.parts).find(|(element, _)| plan.group_of(*element).is_none());
    if let Some((element, _)) = missing {
        return Err(Fault::new(format!("element {element} is in no group")));
    }
    let (cores, groups) = (machine.processor.cores as usize, scheduler.groups as usize);
    if plan.groups.len() > groups {
        return Err(Fault::new(format!("{} groups: {} has {groups}", plan.groups.len(), machine.name)));
    }
    match plan.groups.iter().position(|group| group.cores.is_empty() || group.cores.iter().any(|core| *core >= cores)) {
        Some(group) => Err(Fault::new(format!("group {group} has no core, or one that is not there: {} has {cores}", machine.name))),
        None => Ok(run::Model::new(machine, scheduler, packets, plan, by_flow, count).run()),
    }
}
