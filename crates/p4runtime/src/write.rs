//! Batches of updates, done between two bursts of packets.

use crate::canonical;
use crate::device::{Book, Device};
use crate::fault::{Done, fault};
use crate::info::Object;
use crate::proto::p4::v1::entity::Entity as Kind;
use crate::proto::p4::v1::update::Type as UpdateType;
use crate::proto::p4::v1::write_request::Atomicity;
use crate::proto::p4::v1::{self, Entity, Update};
use netvm::p4::Switch;
use tonic::Code;

impl Device {
    /// Does updates in their order. Where all or none is asked for, what was done is undone at the
    /// first that is refused; nothing runs between.
    pub fn write(&mut self, switch: &mut Switch, updates: &[Update], atomicity: Atomicity) -> Vec<Done> {
        let (mut results, mut undo) = (Vec::new(), Vec::<Vec<Update>>::new());
        for update in updates {
            let inverse = if atomicity == Atomicity::ContinueOnError { Vec::new() } else { self.inverse(switch, update) };
            let result = self.update(switch, update);
            let failed = result.is_err();
            results.push(result);
            if failed && atomicity != Atomicity::ContinueOnError {
                for update in undo.iter().rev().flatten() {
                    // What could be done can be undone: what it needs is there.
                    let _ = self.update(switch, update);
                }
                let done = results.len() - 1;
                results[..done].fill(fault(Code::Aborted, "another update of the batch was refused"));
                results.resize(updates.len(), fault(Code::Aborted, "another update of the batch was refused"));
                break;
            }
            undo.push(inverse);
        }
        results
    }

    fn update(&mut self, switch: &mut Switch, update: &Update) -> Done {
        let kind = update.r#type();
        let Some(entity) = update.entity.as_ref().and_then(|e| e.entity.as_ref()) else {
            return fault(Code::InvalidArgument, "the update has no entity");
        };
        if kind == UpdateType::Unspecified {
            return fault(Code::InvalidArgument, "the update has no type");
        }
        match &canonical::entity(entity.clone()) {
            Kind::TableEntry(entry) => self.table_entry(switch, kind, entry),
            Kind::ActionProfileMember(member) => self.member(switch, kind, member),
            Kind::ActionProfileGroup(group) => self.group(switch, kind, group),
            Kind::MeterEntry(entry) => self.meter(switch, kind, entry),
            Kind::DirectMeterEntry(entry) => self.direct_meter(switch, kind, entry),
            Kind::CounterEntry(entry) => self.counter(switch, kind, entry),
            Kind::DirectCounterEntry(entry) => self.direct_counter(switch, kind, entry),
            Kind::PacketReplicationEngineEntry(entry) => self.replication(switch, kind, entry),
            Kind::ValueSetEntry(entry) => self.value_set(switch, kind, entry),
            Kind::RegisterEntry(entry) => self.register(switch, kind, entry),
            Kind::DigestEntry(entry) => self.digest_entry(switch, kind, entry),
            Kind::ExternEntry(_) => fault(Code::Unimplemented, "externs of a program's own are not supported"),
        }
    }

    /// The updates that undo another one, as things are before it.
    fn inverse(&self, switch: &mut Switch, update: &Update) -> Vec<Update> {
        let Some(entity) = update.entity.as_ref().and_then(|e| e.entity.as_ref()) else { return Vec::new() };
        let made = |kind: UpdateType, entity: Kind| Update { r#type: kind as i32, entity: Some(Entity { entity: Some(entity) }) };
        if update.r#type() == UpdateType::Insert {
            return vec![made(UpdateType::Delete, entity.clone())];
        }
        let kind = if update.r#type() == UpdateType::Delete { UpdateType::Insert } else { UpdateType::Modify };
        let before = match entity {
            Kind::TableEntry(entry) if !entry.is_default_action => self.as_it_is(switch, entry).map(|e| vec![Kind::TableEntry(e)]),
            // What stands for all of them where clients read is one here.
            Kind::ActionProfileMember(member) => {
                let known = self.book.profiles.get(&member.action_profile_id).and_then(|p| p.members.get(&member.member_id));
                known.map(|(_, member)| vec![Kind::ActionProfileMember(member.clone())])
            }
            Kind::ActionProfileGroup(group) => {
                let known = self.book.profiles.get(&group.action_profile_id).and_then(|p| p.groups.get(&group.group_id));
                known.map(|(_, group)| vec![Kind::ActionProfileGroup(group.clone())])
            }
            other => self.read_one(switch, other).ok(),
        };
        before.unwrap_or_default().into_iter().map(|entity| made(kind, entity)).collect()
    }

    /// An entry that was written, with what its counter and its meter have.
    fn as_it_is(&self, switch: &mut Switch, wanted: &v1::TableEntry) -> Option<v1::TableEntry> {
        let written = self.book.entries.get(&Self::key(wanted))?;
        let table = self.info.table(wanted.table_id).ok()?;
        let (counter_data, meter_config) = (self.counts(switch, table, written.handle), self.rates(switch, table, written.handle));
        // Of a constant entry only these are changed.
        let action = written.entry.action.clone().filter(|_| !written.entry.is_const);
        Some(v1::TableEntry { counter_data, meter_config, action, is_const: false, ..written.entry.clone() })
    }

    /// Takes out all that clients wrote, and sets what the program keeps to what it was at the
    /// start.
    pub fn reset(&mut self, switch: &mut Switch) {
        let book = std::mem::take(&mut self.book);
        self.unacknowledged = Default::default();
        let Book { entries, defaults, profiles, groups, sessions, sets, .. } = book;
        // What was entered can be taken out: entries before the members that they name, groups
        // before members.
        for (key, written) in entries {
            if written.entry.is_const {
                self.book.entries.insert(key, written);
                continue;
            }
            let _ = self.info.table(key.0).map(|table| switch.delete(table.name(), written.handle));
            let _ = written.own.map(|own| own.delete(switch));
        }
        self.enter_initial(switch);
        for (id, profile) in &profiles {
            let Ok(name) = self.info.profile(*id).map(|p| p.name().to_owned()) else { continue };
            let _ = profile.groups.values().try_for_each(|(number, _)| switch.group_delete(&name, *number));
            let _ = profile.members.values().try_for_each(|(number, _)| switch.member_delete(&name, *number));
        }
        for id in defaults.keys() {
            let table = self.info.table(*id).cloned();
            let _ = table.and_then(|table| self.initial_default(switch, &table));
        }
        groups.keys().for_each(|id| switch.group_copies(*id, None));
        sessions.keys().for_each(|id| switch.session_copies(*id, None));
        for id in sets.keys() {
            let set = self.info.all.value_sets.iter().find(|s| s.id() == *id);
            let _ = set.map(|set| switch.set_clear(set.name()));
        }
        self.reset_state(switch);
    }

    fn reset_state(&self, switch: &mut Switch) {
        for register in &self.info.all.registers {
            // A register that no packet can reach is not there.
            let _ = switch.register_reset(register.name());
        }
        for counter in &self.info.all.counters {
            let _ = (0..counter.size.unsigned_abs()).try_for_each(|index| switch.counter_write(counter.name(), index, 0, 0));
        }
        for meter in &self.info.all.meters {
            let _ = (0..meter.size.unsigned_abs()).try_for_each(|index| switch.meter_reset(meter.name(), index));
        }
    }

    /// A new configuration: the program that runs, as its P4Info says.
    pub fn configure(&mut self, switch: &mut Switch, request: &v1::SetForwardingPipelineConfigRequest) -> Done {
        use v1::set_forwarding_pipeline_config_request::Action;
        let action = request.action();
        if action == Action::Commit {
            let Some(saved) = self.saved.take() else { return fault(Code::FailedPrecondition, "no configuration waits to be committed") };
            self.reset(switch);
            self.config = Some(saved);
            return Ok(());
        }
        let Some(config) = &request.config else { return fault(Code::InvalidArgument, "the request has no configuration") };
        let Some(info) = &config.p4info else { return fault(Code::InvalidArgument, "the configuration has no P4Info") };
        self.info.suits(info)?;
        match action {
            Action::Unspecified => return fault(Code::InvalidArgument, "the request has no action"),
            Action::Verify => return Ok(()),
            Action::VerifyAndSave => {
                self.saved = Some(config.clone());
                return Ok(());
            }
            Action::VerifyAndCommit => self.reset(switch),
            Action::ReconcileAndCommit | Action::Commit => {}
        }
        self.saved = None;
        self.config = Some(config.clone());
        Ok(())
    }
}
