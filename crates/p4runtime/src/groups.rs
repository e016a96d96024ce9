//! One-shot action sets: an entry of a table with a selector brings its actions with it. They
//! become members and a group that are the entry's own and that no client sees.
//!
//! Source: P4Runtime specification 1.4, "One Shot Action Selector Programming".

use crate::device::{Device, NamedAction};
use crate::fault::{Done, fault, refused};
use crate::indirect::{sizes, watch_port, weight};
use crate::info::Object;
use crate::proto::p4::config::v1 as config;
use crate::proto::p4::v1;
use netvm::p4::Switch;
use tonic::Code;

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

impl Device {
    /// The actions of a set by names, with their weights and the ports that they watch.
    pub fn action_set(
        &self,
        table: &config::Table,
        set: &v1::ActionProfileActionSet,
        last_port: u32,
    ) -> Done<Vec<(NamedAction, u32, Option<u32>)>> {
        let profile = self.info.profile(table.implementation_id).ok().filter(|profile| profile.with_selector);
        let Some(profile) = profile else {
            return fault(Code::InvalidArgument, format!("table {} has no selector, and its entries no action sets", table.name()));
        };
        if set.group_action.is_some() || set.action_selection_mode != 0 || set.size_semantics != 0 {
            return fault(Code::Unimplemented, "action sets have weights, and nothing that came after version 1.4");
        }
        use v1::action_profile_action::WatchKind;
        let mut all = Vec::new();
        for one in &set.action_profile_actions {
            let Some(action) = &one.action else { return fault(Code::InvalidArgument, "an action of the set is missing") };
            if !table.action_refs.iter().any(|known| known.id == action.action_id) {
                return fault(Code::InvalidArgument, format!("table {} has no such action", table.name()));
            }
            let port = match &one.watch_kind {
                Some(WatchKind::WatchPort(port)) => watch_port(port, last_port)?,
                // What stood there before version 1.0 says nothing.
                _ => None,
            };
            all.push((self.action(action)?, weight(one.weight)?, port));
        }
        if all.is_empty() {
            return fault(Code::InvalidArgument, "the action set is empty");
        }
        let weights: Vec<(u32, u32)> = (0..).zip(&all).map(|(n, (_, weight, _))| (n, *weight)).collect();
        sizes(&weights, profile.max_group_size)?;
        Ok(all)
    }
}
