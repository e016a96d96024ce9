//! What the packet replication engine knows: multicast groups and mirroring sessions.

use std::collections::{BTreeMap, BTreeSet};

/// Where a mirrored packet goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Session {
    pub port: Option<u32>,
    pub group: Option<u32>,
}

/// The copies of a mirroring session that is given whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionCopies {
    /// Their numbers and ports.
    pub copies: Vec<(u16, u32)>,
    /// Their class of service.
    pub class: u16,
    /// So many bytes of each leave at most.
    pub longest: Option<u32>,
}

/// A node of a group: a number for the program, and ports.
#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    pub rid: u16,
    pub ports: Vec<u32>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Replication {
    pub sessions: BTreeMap<u32, Session>,
    /// Nodes of each group, by their handles.
    pub groups: BTreeMap<u32, Vec<usize>>,
    pub nodes: Vec<Node>,
    /// Numbers and ports of groups that are given whole.
    pub group_copies: BTreeMap<u32, Vec<(u16, u32)>>,
    /// The copies of mirroring sessions that are given whole.
    pub session_copies: BTreeMap<u32, SessionCopies>,
}

impl Replication {
    /// Every copy for a group: its number and its port.
    pub fn copies(&self, group: u32) -> Vec<(u16, u32)> {
        let nodes = self.groups.get(&group).into_iter().flatten().filter_map(|n| self.nodes.get(*n));
        let of_nodes = nodes.flat_map(|node| node.ports.iter().map(|port| (node.rid, *port)));
        of_nodes.chain(self.group_copies.get(&group).into_iter().flatten().copied()).collect()
    }

    /// The copies of a session: its own, those of its group, and that for its port.
    pub fn of_session(&self, session: u32) -> SessionCopies {
        let mut all = self.session_copies.get(&session).cloned().unwrap_or_default();
        if let Some(to) = self.sessions.get(&session) {
            all.copies.extend(to.group.map(|group| self.copies(group)).unwrap_or_default());
            all.copies.extend(to.port.map(|port| (0, port)));
        }
        all
    }

    /// The numbers of all groups.
    pub fn all_groups(&self) -> BTreeSet<u32> {
        self.groups.keys().chain(self.group_copies.keys()).copied().collect()
    }

    pub fn has_groups(&self) -> bool {
        !self.groups.is_empty() || !self.group_copies.is_empty()
    }

    pub fn forget_groups(&mut self) {
        self.groups.clear();
        self.group_copies.clear();
    }

    pub fn forget_sessions(&mut self) {
        self.sessions.clear();
        self.session_copies.clear();
    }

    pub fn has_sessions(&self) -> bool {
        !self.sessions.is_empty() || !self.session_copies.is_empty()
    }
}
