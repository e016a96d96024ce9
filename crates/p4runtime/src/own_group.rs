//! The members and the group that the actions of an entry become which brings them with it: they
//! are the entry's own, and no client sees them.

use crate::fault::{Done, refused};
use netvm::p4::{NamedAction, Switch};

/// A group that belongs to an entry.
pub(crate) struct OwnGroup {
    pub profile: String,
    pub group: u32,
    pub members: Vec<u32>,
}

impl OwnGroup {
    /// Makes members and group.
    pub fn make(switch: &mut Switch, profile: &str, set: &[(NamedAction, u32, Option<u32>)]) -> Done<Self> {
        let group = switch.group_new(profile).map_err(refused)?;
        let mut own = Self { profile: profile.to_owned(), group, members: Vec::new() };
        let (mut all, mut watched) = (Vec::new(), Vec::new());
        for ((action, args), weight, port) in set {
            match switch.member_create(profile, action, args) {
                Ok(number) => {
                    own.members.push(number);
                    all.push((number, *weight));
                    watched.extend(port.map(|port| (number, port)));
                }
                Err(why) => {
                    own.delete(switch)?;
                    return Err(refused(why));
                }
            }
        }
        match switch.group_members(profile, group, &all).and_then(|()| switch.group_watch(profile, group, &watched)) {
            Ok(()) => Ok(own),
            Err(why) => {
                own.delete(switch)?;
                Err(refused(why))
            }
        }
    }

    /// Takes them out, once no entry names the group.
    pub fn delete(self, switch: &mut Switch) -> Done {
        switch.group_delete(&self.profile, self.group).map_err(refused)?;
        self.members.iter().try_for_each(|member| switch.member_delete(&self.profile, *member)).map_err(refused)
    }
}
