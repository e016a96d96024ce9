//! What came by other doors: entries, default actions, members and groups, multicast groups and
//! mirroring sessions of `--entries`, `netvm ctl` and simple_switch_CLI's commands. Clients read
//! and change them as their own.
//!
//! Members and groups have the number of the switch and [`FIRST`], which leaves low numbers to
//! clients. A session for a multicast group has the copies of that group.

use crate::device::{Device, EntryKey, NamedAction, Written};
use crate::indirect::{copies, replicas};
use crate::info::{Object, bytes};
use crate::initial::field_of;
use crate::proto::p4::config::v1 as config;
use crate::proto::p4::v1::table_action::Type as ActionType;
use crate::proto::p4::v1::{self, TableEntry};
use netvm::p4::{Entered, Indirect, SessionCopies, Switch, Target};
use std::collections::{BTreeMap, BTreeSet};

/// The number of the first member or group of other doors.
const FIRST: u32 = 1 << 31;

impl Device {
    /// Serves a client, who finds what other doors have changed.
    pub fn run(&mut self, switch: &mut Switch, job: impl FnOnce(&mut Self, &mut Switch)) {
        self.catch_up(switch);
        job(self, switch);
        self.seen = switch.changes();
    }

    /// Notes what was changed by other doors since a client was last served.
    fn catch_up(&mut self, switch: &mut Switch) {
        if self.seen == switch.changes() {
            return;
        }
        self.seen = switch.changes();
        for profile in self.info.all.action_profiles.clone() {
            self.catch_up_members(switch, &profile);
            self.catch_up_groups(switch, &profile);
        }
        for table in self.info.all.tables.clone() {
            self.catch_up_entries(switch, &table);
            self.catch_up_default(switch, &table);
        }
        self.catch_up_multicast(switch);
        self.catch_up_sessions(switch);
    }

    fn catch_up_multicast(&mut self, switch: &Switch) {
        let there: BTreeMap<u32, Vec<(u16, u32)>> = switch.multicast_groups().into_iter().collect();
        self.book.groups.retain(|id, _| there.contains_key(id));
        for (id, now) in there {
            let new = || v1::MulticastGroupEntry { multicast_group_id: id, ..Default::default() };
            let group = self.book.groups.entry(id).or_insert_with(new);
            if copies(&group.replicas, u32::MAX).ok().as_ref() != Some(&now) {
                group.replicas = replicas(&now);
            }
        }
    }

    fn catch_up_sessions(&mut self, switch: &Switch) {
        let there: BTreeMap<u32, SessionCopies> = switch.mirroring_sessions().into_iter().collect();
        self.book.sessions.retain(|id, _| there.contains_key(id));
        for (id, now) in there {
            let new = || v1::CloneSessionEntry { session_id: id, ..Default::default() };
            let session = self.book.sessions.entry(id).or_insert_with(new);
            if copies(&session.replicas, u32::MAX).ok().as_ref() != Some(&now.copies) {
                session.replicas = replicas(&now.copies);
            }
        }
    }

    /// Numbers of members and of groups that belong to entries of clients.
    fn own(&self, profile: &str) -> [BTreeSet<u32>; 2] {
        let own = self.book.entries.values().filter_map(|written| written.own.as_ref()).filter(|own| own.profile == profile);
        let (mut members, mut groups) = (BTreeSet::new(), BTreeSet::new());
        for own in own {
            groups.insert(own.group);
            members.extend(&own.members);
        }
        [members, groups]
    }

    fn catch_up_members(&mut self, switch: &mut Switch, profile: &config::ActionProfile) {
        let [own, _] = self.own(profile.name());
        let Ok(there) = switch.members(profile.name()) else { return };
        let numbers: BTreeSet<u32> = there.iter().map(|(number, _)| *number).collect();
        let actions: Vec<(u32, Option<v1::Action>)> = there.into_iter().map(|(number, action)| (number, self.as_wire(&action))).collect();
        let members = &mut self.book.profiles.entry(profile.id()).or_default().members;
        members.retain(|_, (number, _)| numbers.contains(number));
        let known: BTreeMap<u32, u32> = members.iter().map(|(id, (number, _))| (*number, *id)).collect();
        for (number, action) in actions.into_iter().filter(|(number, _)| !own.contains(number)) {
            let id = known.get(&number).copied().unwrap_or(FIRST.saturating_add(number));
            let new = || v1::ActionProfileMember { action_profile_id: profile.id(), member_id: id, action: None };
            let (_, member) = members.entry(id).or_insert_with(|| (number, new()));
            renew(&mut member.action, action);
        }
    }

    fn catch_up_groups(&mut self, switch: &Switch, profile: &config::ActionProfile) {
        let [_, own] = self.own(profile.name());
        let Ok(there) = switch.groups(profile.name()) else { return };
        let v1 = self.book.profiles.entry(profile.id()).or_default();
        let ids: BTreeMap<u32, u32> = v1.members.iter().map(|(id, (number, _))| (*number, *id)).collect();
        v1.groups.retain(|_, (number, _)| there.iter().any(|(there, _)| there == number));
        let known: BTreeMap<u32, u32> = v1.groups.iter().map(|(id, (number, _))| (*number, *id)).collect();
        for (number, members) in there.into_iter().filter(|(number, _)| !own.contains(number)) {
            let id = known.get(&number).copied().unwrap_or(FIRST.saturating_add(number));
            let new = || v1::ActionProfileGroup { action_profile_id: profile.id(), group_id: id, ..Default::default() };
            let (_, group) = v1.groups.entry(id).or_insert_with(|| (number, new()));
            let now: BTreeMap<u32, i32> =
                members.iter().filter_map(|(member, weight)| Some((*ids.get(member)?, (*weight).cast_signed()))).collect();
            // A member that is still there watches its port.
            group.members.retain(|member| now.contains_key(&member.member_id));
            for (member_id, weight) in now {
                match group.members.iter_mut().find(|member| member.member_id == member_id) {
                    Some(member) => member.weight = weight,
                    None => group.members.push(v1::action_profile_group::Member { member_id, weight, ..Default::default() }),
                }
            }
        }
    }

    fn catch_up_entries(&mut self, switch: &mut Switch, table: &config::Table) {
        let Ok(meta) = switch.table(table.name()).cloned() else { return };
        let Ok(there) = switch.entries(table.name()) else { return };
        let handles: BTreeSet<u64> = there.iter().map(|entry| entry.handle).collect();
        self.book.entries.retain(|key, written| key.0 != table.id() || written.entry.is_const || handles.contains(&written.handle));
        let of_table = self.book.entries.iter().filter(|(key, _)| key.0 == table.id());
        let known: BTreeMap<u64, EntryKey> = of_table.map(|(key, written)| (written.handle, key.clone())).collect();
        for entered in there {
            let action = self.target(table, &entered.target);
            match known.get(&entered.handle).and_then(|key| self.book.entries.get_mut(key)) {
                Some(written) if written.own.is_none() => renew_target(&mut written.entry.action, action),
                Some(_) => {}
                None => self.note_entered(table, meta.ternary, &entered, action),
            }
        }
    }

    /// Notes an entry of another door.
    fn note_entered(&mut self, table: &config::Table, is_ranked: bool, entered: &Entered, action: Option<v1::TableAction>) {
        let keys = table.match_fields.iter().zip(&entered.keys);
        let entry = TableEntry {
            table_id: table.id(),
            r#match: keys.filter_map(|(key, given)| field_of(key, given)).collect(),
            action,
            priority: if is_ranked { entered.priority.min(i32::MAX.unsigned_abs()).cast_signed() } else { 0 },
            ..TableEntry::default()
        };
        let written = Written { handle: entered.handle, entry, own: None, is_told: false };
        // Of equal keys the first one counts.
        self.book.entries.entry(Self::key(&written.entry)).or_insert(written);
    }

    fn catch_up_default(&mut self, switch: &Switch, table: &config::Table) {
        let Ok(Some(action)) = switch.default_action(table.name()) else { return };
        let Some(action) = self.as_wire(&action) else { return };
        let now = Some(v1::TableAction { r#type: Some(ActionType::Action(action)) });
        let before = self.default_of(table);
        if sorted(before.action.clone()) != sorted(now.clone()) {
            self.book.defaults.insert(table.id(), TableEntry { action: now, ..before });
        }
    }

    /// What an entry does, as the protocol has it.
    fn target(&self, table: &config::Table, target: &Target) -> Option<v1::TableAction> {
        let profile = self.book.profiles.get(&table.implementation_id);
        let r#type = match target {
            Target::Action(action) => ActionType::Action(self.as_wire(action)?),
            Target::Indirect(Indirect::Member(number)) => {
                let id = profile?.members.iter().find(|(_, (known, _))| known == number)?.0;
                ActionType::ActionProfileMemberId(*id)
            }
            Target::Indirect(Indirect::Group(number)) => {
                let id = profile?.groups.iter().find(|(_, (known, _))| known == number)?.0;
                ActionType::ActionProfileGroupId(*id)
            }
        };
        Some(v1::TableAction { r#type: Some(r#type) })
    }

    /// An action by the protocol's numbers.
    fn as_wire(&self, (name, args): &NamedAction) -> Option<v1::Action> {
        let known = self.info.all.actions.iter().find(|action| action.name() == name)?;
        let value = |name: &str| args.iter().find(|(arg, _)| arg == name).map(|(_, value)| bytes(value));
        let param = |param: &config::action::Param| Some(v1::action::Param { param_id: param.id, value: value(&param.name)? });
        Some(v1::Action { action_id: known.id(), params: known.params.iter().map(param).collect::<Option<_>>()? })
    }
}

/// Parameters in the order of their numbers.
fn sorted(mut action: Option<v1::TableAction>) -> Option<v1::TableAction> {
    if let Some(ActionType::Action(action)) = action.as_mut().and_then(|action| action.r#type.as_mut()) {
        action.params.sort_by_key(|param| param.param_id);
    }
    action
}

/// Takes an action that is there now, unless it is what was written.
fn renew(written: &mut Option<v1::Action>, now: Option<v1::Action>) {
    let wrap = |action: &Option<v1::Action>| sorted(action.clone().map(|a| v1::TableAction { r#type: Some(ActionType::Action(a)) }));
    if wrap(written) != wrap(&now) {
        *written = now;
    }
}

fn renew_target(written: &mut Option<v1::TableAction>, now: Option<v1::TableAction>) {
    if sorted(written.clone()) != sorted(now.clone()) {
        *written = now;
    }
}
