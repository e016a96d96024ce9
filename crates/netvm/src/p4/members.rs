//! What is in an action profile, members and groups, and how entries name them.

use std::collections::{BTreeMap, BTreeSet};

/// What is in one profile.
#[derive(Clone, Debug, Default)]
pub(super) struct Profile {
    pub members: BTreeSet<u32>,
    /// Members, and how many positions they have.
    pub groups: BTreeMap<u32, BTreeMap<u32, u32>>,
    /// By group and member the port that must be up for the member to be chosen.
    pub watched: BTreeMap<(u32, u32), u32>,
}

/// What an entry of a table with an action profile names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indirect {
    /// A member.
    Member(u32),
    /// A group, of which the packet chooses a member.
    Group(u32),
}

/// A group's number; its members, and how many positions each of them has.
pub type Group = (u32, Vec<(u32, u32)>);
