//! What the packet replication engine of a [`Switch`] is told: multicast groups and mirroring
//! sessions. Commands make groups of nodes, controllers give groups and sessions their copies as a
//! whole.
//!
//! Source: BMv2, `docs/simple_switch.md`, and the commands of its simple_switch_CLI.

use super::Switch;
use super::error::{SwitchError, missing};
use super::replication::{Node, Session, SessionCopies};
use std::collections::BTreeSet;

impl Switch {
    /// Where packets of a mirroring session go: a port, a multicast group, or both.
    pub fn mirroring_add(&mut self, session: u32, port: Option<u32>, group: Option<u32>) {
        self.changes += 1;
        self.replication.sessions.insert(session, Session { port, group });
    }

    /// Ends a mirroring session.
    pub fn mirroring_delete(&mut self, session: u32) {
        self.changes += 1;
        self.replication.sessions.remove(&session);
        self.replication.session_copies.remove(&session);
    }

    /// The port and the group of a mirroring session.
    #[must_use]
    pub fn mirroring_get(&self, session: u32) -> Option<(Option<u32>, Option<u32>)> {
        self.replication.sessions.get(&session).map(|s| (s.port, s.group))
    }

    /// Takes a multicast group out.
    ///
    /// # Errors
    /// There is no such group.
    pub fn group_destroy(&mut self, group: u32) -> Result<(), SwitchError> {
        self.changes += 1;
        let was_there = self.replication.groups.remove(&group).is_some() | self.replication.group_copies.remove(&group).is_some();
        if was_there { Ok(()) } else { Err(missing(format!("there is no group {group}"))) }
    }

    /// Takes a node out of a group.
    ///
    /// # Errors
    /// It is not there.
    pub fn node_dissociate(&mut self, group: u32, handle: usize) -> Result<(), SwitchError> {
        self.changes += 1;
        let nodes = self.replication.groups.get_mut(&group).ok_or_else(|| missing(format!("there is no group {group}")))?;
        let at = nodes.iter().position(|n| *n == handle).ok_or_else(|| missing(format!("node {handle} is not in group {group}")))?;
        nodes.remove(at);
        Ok(())
    }

    /// Takes a node out of its groups; its number is not given again.
    ///
    /// # Errors
    /// There is no such node.
    pub fn node_destroy(&mut self, handle: usize) -> Result<(), SwitchError> {
        self.changes += 1;
        self.node_update(handle, Vec::new())?;
        self.replication.groups.values_mut().for_each(|nodes| nodes.retain(|node| *node != handle));
        Ok(())
    }

    /// Gives a multicast group all its copies, numbers and ports, in the place of those that it
    /// had; or takes it out.
    pub fn group_copies(&mut self, group: u32, copies: Option<Vec<(u16, u32)>>) {
        self.changes += 1;
        self.replication.groups.remove(&group);
        match copies {
            Some(copies) => drop(self.replication.group_copies.insert(group, copies)),
            None => drop(self.replication.group_copies.remove(&group)),
        }
    }

    /// Gives a mirroring session all its copies, in the place of those that it had; or takes it
    /// out.
    pub fn session_copies(&mut self, session: u32, copies: Option<SessionCopies>) {
        self.changes += 1;
        self.replication.sessions.remove(&session);
        match copies {
            Some(copies) => drop(self.replication.session_copies.insert(session, copies)),
            None => drop(self.replication.session_copies.remove(&session)),
        }
    }

    /// All multicast groups with all their copies, numbers and ports.
    #[must_use]
    pub fn multicast_groups(&self) -> Vec<(u32, Vec<(u16, u32)>)> {
        self.replication.all_groups().into_iter().map(|group| (group, self.replication.copies(group))).collect()
    }

    /// All mirroring sessions with all their copies, those of their groups among them.
    #[must_use]
    pub fn mirroring_sessions(&self) -> Vec<(u32, SessionCopies)> {
        let known = self.replication.sessions.keys().chain(self.replication.session_copies.keys());
        let numbers: BTreeSet<u32> = known.copied().collect();
        numbers.into_iter().map(|session| (session, self.replication.of_session(session))).collect()
    }

    /// Makes a multicast group.
    pub fn group_create(&mut self, group: u32) {
        self.changes += 1;
        self.replication.groups.entry(group).or_default();
    }

    /// Makes a node of those ports; its handle.
    pub fn node_create(&mut self, rid: u16, ports: Vec<u32>) -> usize {
        self.changes += 1;
        self.replication.nodes.push(Node { rid, ports });
        self.replication.nodes.len() - 1
    }

    /// Gives a node other ports.
    ///
    /// # Errors
    /// There is no such node.
    pub fn node_update(&mut self, handle: usize, ports: Vec<u32>) -> Result<(), SwitchError> {
        self.changes += 1;
        let node = self.replication.nodes.get_mut(handle).ok_or_else(|| missing(format!("there is no node {handle}")))?;
        node.ports = ports;
        Ok(())
    }

    /// Puts a node into a group.
    ///
    /// # Errors
    /// There is no such group or node.
    pub fn node_associate(&mut self, group: u32, handle: usize) -> Result<(), SwitchError> {
        self.changes += 1;
        if self.replication.nodes.get(handle).is_none() {
            return Err(missing(format!("there is no node {handle}")));
        }
        let nodes = self.replication.groups.get_mut(&group).ok_or_else(|| missing(format!("there is no group {group}")))?;
        nodes.push(handle);
        Ok(())
    }
}
