//! How threads come to entries of the transmit FIFO, as data: a table `[arbitration.NAME]` of a
//! machine with ports.
//!
//! An entry is the next one in turn, or one that belongs to the port. A lock, a word of a memory
//! that is read and set at once, is held while an entry is taken, or until the cell is in it. A
//! thread whose entry is not free asks for it again, or looks after its other ports. The paper's
//! policies are the shared variable, check-out and the a-priori partition (NP-Click paper, section
//! 4.5).

use super::Ports;
use crate::fault::Fault;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A policy.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arbitration {
    /// Which entry a cell goes into.
    pub entry: Entry,
    /// While what a lock is held.
    pub lock: Lock,
    /// The memory that the lock is in; without a lock none.
    pub memory: Option<String>,
    /// What a thread does if its entry is not free.
    pub busy: Busy,
}

/// Which entry a cell goes into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Entry {
    /// The one behind the last one that was taken.
    Turn,
    /// The one with the port's number.
    Port,
}

/// While what a lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lock {
    /// Nothing.
    None,
    /// While an entry is taken.
    Entry,
    /// Until the cell is in it.
    Cell,
}

/// What a thread does if its entry is not free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Busy {
    /// It asks again, with the lock if it has one.
    Wait,
    /// It looks after its next port: without a lock.
    NextPort,
}

/// That a machine with ports has policies, each of which can be.
///
/// # Errors
/// There is none, or one contradicts itself or the machine.
pub(crate) fn check_policies(all: &BTreeMap<String, Arbitration>, ports: &Ports, has_memory: &dyn Fn(&str) -> bool) -> Result<(), Fault> {
    if all.is_empty() {
        return Err(Fault::new("ports need a policy for the transmit FIFO: a table [arbitration.NAME]"));
    }
    all.iter()
        .try_for_each(|(name, policy)| policy.check(ports, has_memory).map_err(|why| Fault::new(format!("arbitration.{name}: {why}"))))
}

impl Arbitration {
    fn check(&self, ports: &Ports, has_memory: &dyn Fn(&str) -> bool) -> Result<(), Fault> {
        match (self.entry, self.lock, self.busy, self.memory.as_deref()) {
            (Entry::Turn, Lock::None, ..) => Err(Fault::new("entries that are taken in turn need a lock: lock = \"entry\" or \"cell\"")),
            (_, Lock::None, _, Some(_)) => Err(Fault::new("without a lock there is no memory for it")),
            (_, Lock::Entry | Lock::Cell, _, None) => Err(Fault::new("the lock needs a memory")),
            (_, Lock::Entry | Lock::Cell, Busy::NextPort, _) => Err(Fault::new("a thread that has the lock waits: busy = \"wait\"")),
            (Entry::Port, ..) if ports.entries < ports.count => {
                Err(Fault::new(format!("{} entries; {} ports with an entry each need more", ports.entries, ports.count)))
            }
            (.., Some(memory)) if !has_memory(memory) => Err(Fault::new(format!("the memory `{memory}` is not described"))),
            _ => Ok(()),
        }
    }
}
