//! Table entries and default actions.

use crate::device::{Device, EntryKey, NamedAction, Written};
use crate::fault::{Done, fault, refused};
use crate::info::Object;
use crate::matches::{key_match, match_kind};
use crate::own_group::OwnGroup;
use crate::proto::p4::config::v1 as config;
use crate::proto::p4::config::v1::match_field::MatchType;
use crate::proto::p4::config::v1::table::IdleTimeoutBehavior;
use crate::proto::p4::v1::table_action::Type as ActionType;
use crate::proto::p4::v1::update::Type as UpdateType;
use crate::proto::p4::v1::{self, FieldMatch, TableEntry};
use crate::resources::no_color_counts;
use netvm::p4::{Indirect, KeyMatch, Switch};
use tonic::Code;

impl Device {
    /// The matches of an entry in the order of the table's keys.
    fn matches(table: &config::Table, entry: &TableEntry) -> Done<Vec<KeyMatch>> {
        let known = |f: &FieldMatch| table.match_fields.iter().any(|k| k.id == f.field_id);
        if let Some(bad) = entry.r#match.iter().find(|f| !known(f)) {
            return fault(Code::InvalidArgument, format!("table {} has no match field {}", table.name(), bad.field_id));
        }
        let of = |key: &config::MatchField| {
            let given: Vec<_> = entry.r#match.iter().filter(|f| f.field_id == key.id).collect();
            match given[..] {
                [] => key_match(key, None),
                [one] => key_match(key, one.field_match_type.as_ref()),
                _ => fault(Code::InvalidArgument, format!("{} is given twice", key.name)),
            }
        };
        table.match_fields.iter().map(of).collect()
    }

    pub fn table_entry(&mut self, switch: &mut Switch, kind: UpdateType, entry: &TableEntry) -> Done {
        let table = self.info.table(entry.table_id)?.clone();
        if entry.is_const {
            return fault(Code::InvalidArgument, "constant entries are those of the program only");
        }
        no_color_counts(entry.meter_counter_data.as_ref())?;
        timeout(&table, entry)?;
        if entry.is_default_action {
            return self.default_action(switch, kind, &table, entry);
        }
        let ternary = [MatchType::Ternary, MatchType::Range, MatchType::Optional];
        let ranked = table.match_fields.iter().any(|f| match_kind(f).is_some_and(|kind| ternary.contains(&kind)));
        if ranked != (entry.priority > 0) || entry.priority < 0 {
            let need = if ranked { "need a priority above 0" } else { "have no priority" };
            return fault(Code::InvalidArgument, format!("entries of table {} {need}", table.name()));
        }
        let key = Self::key(entry);
        match kind {
            UpdateType::Insert => self.insert(switch, &table, key, entry),
            UpdateType::Modify => self.modify(switch, &table, &key, entry),
            UpdateType::Delete => {
                let Some(known) = self.book.entries.get(&key) else { return fault(Code::NotFound, "there is no such entry") };
                constant(known)?;
                switch.delete(table.name(), known.handle).map_err(refused)?;
                let gone = self.book.entries.remove(&key);
                gone.and_then(|written| written.own).map_or(Ok(()), |own| own.delete(switch))
            }
            UpdateType::Unspecified => fault(Code::InvalidArgument, "the update has no type"),
        }
    }

    fn insert(&mut self, switch: &mut Switch, table: &config::Table, key: EntryKey, entry: &TableEntry) -> Done {
        if self.book.entries.contains_key(&key) {
            return fault(Code::AlreadyExists, "the entry is there already");
        }
        if table.is_const_table {
            return fault(Code::PermissionDenied, format!("the entries of table {} are constant", table.name()));
        }
        let matches = Self::matches(table, entry)?;
        let priority = entry.priority.unsigned_abs();
        let (handle, own) = match self.to_do(switch, table, entry)? {
            Todo::Action((action, args)) => (switch.add(table.name(), &matches, priority, &action, &args).map_err(refused)?, None),
            todo => self.add_indirect(switch, table, &matches, priority, todo)?,
        };
        let entry =
            TableEntry { counter_data: None, meter_counter_data: None, time_since_last_hit: None, is_const: false, ..entry.clone() };
        self.book.entries.insert(key, Written { handle, entry: entry.clone(), own, is_told: false });
        self.entry_resources(switch, table, handle, &entry)
    }

    /// Enters an entry that names a member or a group, or has a group of its own.
    fn add_indirect(
        &self,
        switch: &mut Switch,
        table: &config::Table,
        matches: &[KeyMatch],
        priority: u32,
        todo: Todo,
    ) -> Done<(u64, Option<OwnGroup>)> {
        let (to, own) = match todo {
            Todo::Indirect(to) => (to, None),
            Todo::Set(set) => {
                let own = OwnGroup::make(switch, self.info.profile(table.implementation_id)?.name(), &set)?;
                (Indirect::Group(own.group), Some(own))
            }
            Todo::Action(_) => return fault(Code::InvalidArgument, format!("table {} takes its actions from a profile", table.name())),
        };
        match switch.add_indirect(table.name(), matches, priority, to) {
            Ok(handle) => Ok((handle, own)),
            Err(why) => {
                own.map_or(Ok(()), |own| own.delete(switch))?;
                Err(refused(why))
            }
        }
    }

    fn modify(&mut self, switch: &mut Switch, table: &config::Table, key: &EntryKey, entry: &TableEntry) -> Done {
        let Some(known) = self.book.entries.get(key) else { return fault(Code::NotFound, "there is no such entry") };
        let handle = known.handle;
        if entry.action.is_none() && known.entry.is_const {
            return self.modify_resources(switch, table, handle, entry);
        }
        constant(known)?;
        match self.to_do(switch, table, entry)? {
            Todo::Action((action, args)) => switch.modify(table.name(), handle, &action, &args).map_err(refused)?,
            todo => {
                // The switch changes actions only: the entry is made anew. One with the same keys
                // stands in the place of the old one.
                let matches = Self::matches(table, entry)?;
                let (new, own) = self.add_indirect(switch, table, &matches, entry.priority.unsigned_abs(), todo)?;
                let entry = TableEntry { is_const: false, ..entry.clone() };
                let written = Written { handle: new, entry, own, is_told: false };
                let old = self.book.entries.insert(key.clone(), written);
                switch.forget(table.name(), handle).map_err(refused)?;
                return old.and_then(|old| old.own).map_or(Ok(()), |own| own.delete(switch));
            }
        }
        if let Some(known) = self.book.entries.get_mut(key) {
            known.entry = TableEntry { counter_data: None, time_since_last_hit: None, is_const: false, ..entry.clone() };
            known.is_told = false;
        }
        self.modify_resources(switch, table, handle, entry)
    }

    /// Gives an entry that is there the rates and the counts that are asked for.
    fn modify_resources(&self, switch: &mut Switch, table: &config::Table, handle: u64, entry: &TableEntry) -> Done {
        if entry.meter_config.is_none() {
            self.reset_direct_meter(switch, table, handle)?;
        }
        self.entry_resources(switch, table, handle, entry)
    }

    /// The action or the member of an entry.
    fn to_do(&self, switch: &Switch, table: &config::Table, entry: &TableEntry) -> Done<Todo> {
        let Some(action) = entry.action.as_ref().and_then(|a| a.r#type.as_ref()) else {
            return fault(Code::InvalidArgument, "the entry has no action");
        };
        let profile = self.book.profiles.get(&table.implementation_id);
        self.one_style(table, entry, matches!(action, ActionType::ActionProfileActionSet(_)))?;
        match action {
            ActionType::Action(action) => {
                let scope = table.action_refs.iter().find(|a| a.id == action.action_id).map(config::ActionRef::scope);
                match scope {
                    None => fault(Code::InvalidArgument, format!("table {} has no such action", table.name())),
                    Some(config::action_ref::Scope::DefaultOnly) if !entry.is_default_action => {
                        fault(Code::PermissionDenied, "the action is for the default action only")
                    }
                    Some(config::action_ref::Scope::TableOnly) if entry.is_default_action => {
                        fault(Code::PermissionDenied, "the action is not for the default action")
                    }
                    _ => self.action(action).map(Todo::Action),
                }
            }
            ActionType::ActionProfileMemberId(id) => match profile.and_then(|p| p.members.get(id)) {
                Some((number, _)) => Ok(Todo::Indirect(Indirect::Member(*number))),
                None => fault(Code::NotFound, format!("there is no member {id}")),
            },
            ActionType::ActionProfileGroupId(id) => match profile.and_then(|p| p.groups.get(id)) {
                Some((number, _)) => Ok(Todo::Indirect(Indirect::Group(*number))),
                None => fault(Code::NotFound, format!("there is no group {id}")),
            },
            ActionType::ActionProfileActionSet(set) => self.action_set(table, set, switch.last_port()).map(Todo::Set),
        }
    }

    /// Tables with one selector have entries with action sets of their own, or those that name
    /// members and groups, and not both.
    fn one_style(&self, table: &config::Table, entry: &TableEntry, has_set: bool) -> Done {
        if table.implementation_id == 0 {
            return Ok(());
        }
        let shares = |id: u32| self.info.table(id).is_ok_and(|other| other.implementation_id == table.implementation_id);
        let key = Self::key(entry);
        let mut others = self.book.entries.iter().filter(|(own, _)| **own != key && shares(own.0));
        if others.any(|(_, written)| written.own.is_some() != has_set) {
            return fault(
                Code::InvalidArgument,
                "entries of one selector have action sets of their own, or name members and groups: not both",
            );
        }
        Ok(())
    }

    fn default_action(&mut self, switch: &mut Switch, kind: UpdateType, table: &config::Table, entry: &TableEntry) -> Done {
        if kind != UpdateType::Modify {
            return fault(Code::InvalidArgument, "a default action is there always: it is modified");
        }
        if table.const_default_action_id != 0 {
            return fault(Code::PermissionDenied, format!("the default action of table {} is constant", table.name()));
        }
        if !entry.r#match.is_empty() || entry.priority != 0 {
            return fault(Code::InvalidArgument, "a default action has neither match nor priority");
        }
        let Some(action) = &entry.action else { return self.initial_default(switch, table) };
        let entry = TableEntry { action: Some(action.clone()), ..entry.clone() };
        let Todo::Action((action, args)) = self.to_do(switch, table, &entry)? else {
            return fault(Code::Unimplemented, "a default action of a profile is not supported");
        };
        switch.set_default(table.name(), &action, &args).map_err(refused)?;
        self.book.defaults.insert(table.id(), entry);
        Ok(())
    }

    /// Sets the default action that the program has.
    pub fn initial_default(&mut self, switch: &mut Switch, table: &config::Table) -> Done {
        let Some(initial) = &table.initial_default_action else { return Ok(()) };
        let params = initial.arguments.iter().map(|a| v1::action::Param { param_id: a.param_id, value: a.value.clone() }).collect();
        let (action, args) = self.action(&v1::Action { action_id: initial.action_id, params })?;
        switch.set_default(table.name(), &action, &args).map_err(refused)?;
        self.book.defaults.remove(&table.id());
        Ok(())
    }
}

enum Todo {
    Action(NamedAction),
    Indirect(Indirect),
    /// Actions with their weights.
    Set(Vec<(NamedAction, u32, Option<u32>)>),
}

/// Refuses timeouts that are none, or are not for this entry.
fn timeout(table: &config::Table, entry: &TableEntry) -> Done {
    let is_timed = entry.idle_timeout_ns != 0 || entry.time_since_last_hit.is_some();
    if is_timed && (entry.is_default_action || table.idle_timeout_behavior() != IdleTimeoutBehavior::NotifyControl) {
        return fault(Code::InvalidArgument, format!("table {} has no idle timeouts, or none for its default action", table.name()));
    }
    if entry.idle_timeout_ns < 0 { fault(Code::InvalidArgument, "an idle timeout is not negative") } else { Ok(()) }
}

/// Refuses what nobody may change.
fn constant(written: &Written) -> Done {
    if written.entry.is_const { fault(Code::PermissionDenied, "the entry is constant") } else { Ok(()) }
}
