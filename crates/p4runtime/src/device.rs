//! The switch as the protocol knows it: what was written, by the protocol's numbers, and table
//! entries.

use crate::Settings;
use crate::canonical;
use crate::digests::Unacknowledged;
use crate::fault::{Done, fault, refused};
use crate::groups::OwnGroup;
use crate::info::{Info, Object, number};
use crate::proto::p4::config::v1 as config;
use crate::proto::p4::config::v1::match_field::MatchType;
use crate::proto::p4::config::v1::table::IdleTimeoutBehavior;
use crate::proto::p4::v1::field_match::FieldMatchType;
use crate::proto::p4::v1::table_action::Type as ActionType;
use crate::proto::p4::v1::update::Type as UpdateType;
use crate::proto::p4::v1::{self, FieldMatch, TableEntry};
use crate::resources::no_color_counts;
use crate::streams::Streams;
use netvm::p4::{BigInt, Indirect, KeyMatch, Sent, Switch};
use prost::Message;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use tonic::Code;

/// What tells an entry of a table: its table, its keys and its priority.
pub(crate) type EntryKey = (u32, Vec<u8>, i32);

/// An entry that was written, or that the program has.
pub(crate) struct Written {
    pub handle: u64,
    pub entry: TableEntry,
    /// The group and the members that are its own.
    pub own: Option<OwnGroup>,
    /// It was told that the entry is not used.
    pub is_told: bool,
}

/// Members and groups of a profile: the switch's number, and what was written.
#[derive(Default)]
pub(crate) struct Profile {
    pub members: BTreeMap<u32, (u32, v1::ActionProfileMember)>,
    pub groups: BTreeMap<u32, (u32, v1::ActionProfileGroup)>,
}

/// All that clients wrote.
#[derive(Default)]
pub(crate) struct Book {
    pub entries: BTreeMap<EntryKey, Written>,
    pub defaults: BTreeMap<u32, TableEntry>,
    pub profiles: BTreeMap<u32, Profile>,
    pub groups: BTreeMap<u32, v1::MulticastGroupEntry>,
    pub sessions: BTreeMap<u32, v1::CloneSessionEntry>,
    pub digests: BTreeMap<u32, v1::DigestEntry>,
    pub sets: BTreeMap<u32, v1::ValueSetEntry>,
}

pub(crate) struct Device {
    pub info: Info,
    pub book: Book,
    pub streams: Arc<Mutex<Streams>>,
    pub settings: Settings,
    /// The entries of the program are in the book.
    pub begun: bool,
    /// The changes of the switch that the book has.
    pub seen: u64,
    /// When entries were last asked whether they are idle, in microseconds of the packets' time.
    pub asked_us: u64,
    /// The configuration that a client set.
    pub config: Option<v1::ForwardingPipelineConfig>,
    /// One that waits to be committed.
    pub saved: Option<v1::ForwardingPipelineConfig>,
    /// Packets that left the switch for what clients sent.
    pub sent: Vec<Sent>,
    /// Lists of digests so far.
    pub lists: u64,
    pub unacknowledged: Unacknowledged,
}

pub(crate) use netvm::p4::NamedAction;

impl Device {
    pub fn new(info: Info, streams: Arc<Mutex<Streams>>, settings: Settings) -> Self {
        Self {
            info,
            book: Book::default(),
            streams,
            settings,
            begun: false,
            seen: 0,
            asked_us: 0,
            config: None,
            saved: None,
            sent: Vec::new(),
            lists: 0,
            unacknowledged: Unacknowledged::default(),
        }
    }

    /// An action of the protocol by names.
    pub fn action(&self, action: &v1::Action) -> Done<NamedAction> {
        let known = self.info.action(action.action_id).or_else(|unknown| fault(Code::InvalidArgument, unknown.message))?;
        let mut args = Vec::new();
        for param in &known.params {
            let given: Vec<_> = action.params.iter().filter(|p| p.param_id == param.id).collect();
            let [one] = given[..] else {
                return fault(Code::InvalidArgument, format!("action {} needs {} once", known.name(), param.name));
            };
            args.push((param.name.clone(), number(&one.value, param.bitwidth, &param.name)?));
        }
        if action.params.len() > known.params.len() {
            return fault(Code::InvalidArgument, format!("action {} has {} parameters", known.name(), known.params.len()));
        }
        Ok((known.name().to_owned(), args))
    }

    /// What tells the entry.
    pub fn key(entry: &TableEntry) -> EntryKey {
        (entry.table_id, match_bytes(&entry.r#match), entry.priority)
    }

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

/// Matches as bytes that tell them from others; their fields in the order of their numbers.
pub(crate) fn match_bytes(matches: &[FieldMatch]) -> Vec<u8> {
    let mut fields: Vec<&FieldMatch> = matches.iter().collect();
    fields.sort_by_key(|f| f.field_id);
    let mut bytes = Vec::new();
    for field in fields {
        let field = canonical::field(field.clone());
        bytes.extend((field.encoded_len() as u32).to_be_bytes());
        bytes.extend(field.encode_to_vec());
    }
    bytes
}

/// How a key is matched, if that is one of the standard's ways.
fn match_kind(key: &config::MatchField) -> Option<MatchType> {
    match key.r#match {
        Some(config::match_field::Match::MatchType(kind)) => MatchType::try_from(kind).ok(),
        _ => None,
    }
}

/// A match of an entry by the key that it is for.
pub(crate) fn key_match(key: &config::MatchField, given: Option<&FieldMatchType>) -> Done<KeyMatch> {
    let value = |bytes: &[u8]| number(bytes, key.bitwidth, &key.name);
    let wrong = |what: &str| fault(Code::InvalidArgument, format!("{}: {what}", key.name));
    let Some(kind) = match_kind(key) else { return fault(Code::Unimplemented, format!("{}: the match kind is not supported", key.name)) };
    Ok(match (kind, given) {
        (MatchType::Exact, Some(FieldMatchType::Exact(m))) => KeyMatch::Value(value(&m.value)?),
        (MatchType::Optional, Some(FieldMatchType::Optional(m))) => KeyMatch::Value(value(&m.value)?),
        (MatchType::Lpm, Some(FieldMatchType::Lpm(m))) => {
            if m.prefix_len <= 0 || m.prefix_len > key.bitwidth {
                return wrong("the length of a prefix is between 1 and the width of the key");
            }
            let (bits, length) = (key.bitwidth.unsigned_abs(), m.prefix_len.unsigned_abs());
            let number = value(&m.value)?;
            if number.trailing_zeros().is_some_and(|zeros| zeros < u64::from(bits - length)) {
                return wrong("the bits behind the prefix are zeros");
            }
            KeyMatch::Prefix(number, length)
        }
        (MatchType::Ternary, Some(FieldMatchType::Ternary(m))) => {
            let (number, mask) = (value(&m.value)?, value(&m.mask)?);
            if mask == BigInt::default() || &number & &mask != number {
                return wrong("a mask has a bit that is set, and the value none outside of the mask");
            }
            KeyMatch::Mask(number, mask)
        }
        (MatchType::Range, Some(FieldMatchType::Range(m))) => {
            let (low, high) = (value(&m.low)?, value(&m.high)?);
            if low > high {
                return wrong("the low end of a range is not above the high one");
            }
            KeyMatch::Range(low, high)
        }
        (MatchType::Exact, None) => return wrong("an exact key is given"),
        (_, None) => KeyMatch::Any,
        _ => return wrong("the match is of another kind than the key"),
    })
}
