//! One-shot action sets: an entry of a table with a selector brings its actions with it.
//!
//! Source: P4Runtime specification 1.4, "One Shot Action Selector Programming".

use crate::device::{Device, NamedAction};
use crate::fault::{Done, fault};
use crate::indirect::{sizes, watch_port, weight};
use crate::info::Object;
use crate::proto::p4::config::v1 as config;
use crate::proto::p4::v1;
use tonic::Code;

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
