//! What clients read. An id of 0, or no index, means all.

use crate::device::Device;
use crate::fault::{Done, fault, refused};
use crate::info::Object;
use crate::proto::p4::v1::entity::Entity as Kind;
use crate::proto::p4::v1::packet_replication_engine_entry::Type as Replication;
use crate::proto::p4::v1::{self, TableEntry};
use crate::resources::{cells, data, meter_config, no_color_counts};
use netvm::p4::Switch;
use tonic::Code;

/// Whether an object is meant.
pub(crate) fn meant(wanted: u32, id: u32) -> bool {
    wanted == 0 || wanted == id
}

impl Device {
    /// All that one entity of a request means.
    pub fn read_one(&self, switch: &mut Switch, wanted: &Kind) -> Done<Vec<Kind>> {
        Ok(match wanted {
            Kind::TableEntry(entry) => self.read_entries(switch, entry)?,
            Kind::ActionProfileMember(wanted) => {
                let all = self.book.profiles.iter().filter(|(id, _)| meant(wanted.action_profile_id, **id));
                let members = all.flat_map(|(_, p)| &p.members).filter(|(id, _)| meant(wanted.member_id, **id));
                members.map(|(_, (_, member))| Kind::ActionProfileMember(member.clone())).collect()
            }
            Kind::ActionProfileGroup(wanted) => {
                let all = self.book.profiles.iter().filter(|(id, _)| meant(wanted.action_profile_id, **id));
                let groups = all.flat_map(|(_, p)| &p.groups).filter(|(id, _)| meant(wanted.group_id, **id));
                groups.map(|(_, (_, group))| Kind::ActionProfileGroup(group.clone())).collect()
            }
            Kind::MeterEntry(wanted) => self.read_meters(switch, wanted)?,
            Kind::CounterEntry(wanted) => self.read_counters(switch, wanted)?,
            Kind::RegisterEntry(wanted) => self.read_registers(switch, wanted)?,
            Kind::DirectCounterEntry(wanted) => self.read_direct(switch, wanted.table_entry.as_ref(), true)?,
            Kind::DirectMeterEntry(wanted) => {
                no_color_counts(wanted.counter_data.as_ref())?;
                self.read_direct(switch, wanted.table_entry.as_ref(), false)?
            }
            Kind::PacketReplicationEngineEntry(wanted) => self.read_replication(wanted),
            Kind::ValueSetEntry(wanted) => {
                let empty = |id| v1::ValueSetEntry { value_set_id: id, members: Vec::new() };
                let all = self.info.all.value_sets.iter().map(Object::id).filter(|id| meant(wanted.value_set_id, *id));
                all.map(|id| Kind::ValueSetEntry(self.book.sets.get(&id).cloned().unwrap_or_else(|| empty(id)))).collect()
            }
            Kind::DigestEntry(wanted) => {
                let all = self.book.digests.iter().filter(|(id, _)| meant(wanted.digest_id, **id));
                all.map(|(_, digest)| Kind::DigestEntry(*digest)).collect()
            }
            Kind::ExternEntry(_) => return fault(Code::Unimplemented, "externs of a program's own are not supported"),
        })
    }

    fn read_entries(&self, switch: &mut Switch, wanted: &TableEntry) -> Done<Vec<Kind>> {
        if wanted.table_id != 0 {
            self.info.table(wanted.table_id)?;
        }
        no_color_counts(wanted.meter_counter_data.as_ref())?;
        if wanted.is_default_action {
            let all = self.info.all.tables.iter().filter(|t| meant(wanted.table_id, t.id()));
            return Ok(all.map(|t| Kind::TableEntry(self.default_of(t))).collect());
        }
        let key = Self::key(wanted);
        let whole = !wanted.r#match.is_empty();
        let mut out = Vec::new();
        for (own, written) in &self.book.entries {
            if !meant(wanted.table_id, own.0) || whole && *own != key || wanted.priority != 0 && wanted.priority != own.2 {
                continue;
            }
            let table = self.info.table(own.0)?;
            let mut entry = written.entry.clone();
            if wanted.counter_data.is_some() {
                entry.counter_data = self.counts(switch, table, written.handle);
            }
            if wanted.time_since_last_hit.is_some() {
                let idle = switch.idle_us(table.name(), written.handle).map_err(refused)?;
                let elapsed = |us: u64| v1::table_entry::IdleTimeout { elapsed_ns: us.saturating_mul(1000).cast_signed() };
                entry.time_since_last_hit = idle.map(elapsed);
            }
            entry.meter_config = wanted.meter_config.and_then(|_| self.rates(switch, table, written.handle));
            out.push(Kind::TableEntry(entry));
        }
        Ok(out)
    }

    pub fn default_of(&self, table: &crate::proto::p4::config::v1::Table) -> TableEntry {
        if let Some(entry) = self.book.defaults.get(&table.id()) {
            return entry.clone();
        }
        let initial = table.initial_default_action.clone().unwrap_or_default();
        let params = initial.arguments.into_iter().map(|a| v1::action::Param { param_id: a.param_id, value: a.value }).collect();
        let action = v1::table_action::Type::Action(v1::Action { action_id: initial.action_id, params });
        TableEntry {
            table_id: table.id(),
            is_default_action: true,
            action: Some(v1::TableAction { r#type: Some(action) }),
            ..TableEntry::default()
        }
    }

    fn read_counters(&self, switch: &Switch, wanted: &v1::CounterEntry) -> Done<Vec<Kind>> {
        let mut out = Vec::new();
        for counter in self.info.all.counters.iter().filter(|c| meant(wanted.counter_id, c.id())) {
            for index in cells(wanted.index.as_ref(), counter.size, counter.name())? {
                let (packets, bytes) = switch.counter_read(counter.name(), index).map_err(refused)?;
                let index = Some(v1::Index { index: index.cast_signed() });
                out.push(Kind::CounterEntry(v1::CounterEntry { counter_id: counter.id(), index, data: Some(data(packets, bytes)) }));
            }
        }
        Ok(out)
    }

    fn read_meters(&self, switch: &mut Switch, wanted: &v1::MeterEntry) -> Done<Vec<Kind>> {
        no_color_counts(wanted.counter_data.as_ref())?;
        let mut out = Vec::new();
        for meter in self.info.all.meters.iter().filter(|m| meant(wanted.meter_id, m.id())) {
            for index in cells(wanted.index.as_ref(), meter.size, meter.name())? {
                let config = switch.meter_get(meter.name(), index).map_err(refused)?.map(|(c, p)| meter_config(c, p));
                let index = Some(v1::Index { index: index.cast_signed() });
                out.push(Kind::MeterEntry(v1::MeterEntry { meter_id: meter.id(), index, config, counter_data: None }));
            }
        }
        Ok(out)
    }

    /// Direct counters or direct meters of the entries that are meant.
    fn read_direct(&self, switch: &mut Switch, wanted: Option<&TableEntry>, counters: bool) -> Done<Vec<Kind>> {
        let wanted = TableEntry { is_default_action: false, ..wanted.cloned().unwrap_or_default() };
        let mut out = Vec::new();
        let entries = self.read_entries(switch, &wanted)?;
        if entries.is_empty() && !wanted.r#match.is_empty() {
            return fault(Code::NotFound, "there is no such entry");
        }
        for entity in entries {
            let Kind::TableEntry(entry) = entity else { continue };
            let (table, handle) = self.handle(Some(&entry))?;
            let bare = Some(TableEntry { action: None, ..entry });
            if counters && let Some(data) = self.counts(switch, &table, handle) {
                out.push(Kind::DirectCounterEntry(v1::DirectCounterEntry { table_entry: bare, data: Some(data) }));
            } else if !counters && self.info.all.direct_meters.iter().any(|m| m.direct_table_id == table.id()) {
                let config = self.rates(switch, &table, handle);
                out.push(Kind::DirectMeterEntry(v1::DirectMeterEntry { table_entry: bare, config, counter_data: None }));
            }
        }
        Ok(out)
    }

    fn read_replication(&self, wanted: &v1::PacketReplicationEngineEntry) -> Vec<Kind> {
        let entry = |r#type| Kind::PacketReplicationEngineEntry(v1::PacketReplicationEngineEntry { r#type: Some(r#type) });
        let groups = |wanted: u32| self.book.groups.values().filter(move |g| meant(wanted, g.multicast_group_id));
        let sessions = |wanted: u32| self.book.sessions.values().filter(move |s| meant(wanted, s.session_id));
        let group = |g: &v1::MulticastGroupEntry| entry(Replication::MulticastGroupEntry(g.clone()));
        let session = |s: &v1::CloneSessionEntry| entry(Replication::CloneSessionEntry(s.clone()));
        match &wanted.r#type {
            Some(Replication::MulticastGroupEntry(wanted)) => groups(wanted.multicast_group_id).map(group).collect(),
            Some(Replication::CloneSessionEntry(wanted)) => sessions(wanted.session_id).map(session).collect(),
            None => groups(0).map(group).chain(sessions(0).map(session)).collect(),
        }
    }
}
