//! Counters, meters and value sets.

use crate::device::Device;
use crate::fault::{Done, fault, refused};
use crate::info::{Object, find};
use crate::matches::{key_match, match_bytes};
use crate::proto::p4::config::v1 as config;
use crate::proto::p4::v1::update::Type as UpdateType;
use crate::proto::p4::v1::{self, TableEntry};
use netvm::p4::{KeyMatch, Rate, Switch};
use std::collections::BTreeSet;
use tonic::Code;

/// Units a second to units a microsecond.
fn rate(per_s: i64, burst: i64) -> Done<Rate> {
    match (u32::try_from(burst), per_s) {
        (Ok(burst), 0..) => Ok(Rate { per_us: per_s as f64 / 1e6, burst }),
        _ => fault(Code::OutOfRange, "rates are not negative, and bursts fit 32 bits"),
    }
}

/// The committed and the peak rate. All meters have two rates and three colours.
fn rates(config: &v1::MeterConfig) -> Done<[Rate; 2]> {
    if config.eburst != 0 {
        return fault(Code::InvalidArgument, "a meter of two rates has no excess burst (`eburst`)");
    }
    Ok([rate(config.cir, config.cburst)?, rate(config.pir, config.pburst)?])
}

/// Refuses counts by colour, which the standard leaves to servers.
pub(crate) fn no_color_counts(given: Option<&v1::MeterCounterData>) -> Done {
    given.map_or(Ok(()), |_| fault(Code::Unimplemented, "meters do not count their packets by colour"))
}

pub(crate) fn only_modify(kind: UpdateType, what: &str) -> Done {
    if kind == UpdateType::Modify { Ok(()) } else { fault(Code::InvalidArgument, format!("{what} are there always: they are modified")) }
}

/// The cells that are meant: that one, or all.
pub(crate) fn cells(index: Option<&v1::Index>, size: i64, what: &str) -> Done<Vec<u64>> {
    let size = u64::try_from(size).unwrap_or(0);
    match index.map(|i| u64::try_from(i.index)) {
        None => Ok((0..size).collect()),
        Some(Ok(index)) if index < size => Ok(vec![index]),
        Some(Ok(_)) => fault(Code::OutOfRange, format!("{what} has {size} cells")),
        Some(Err(_)) => fault(Code::InvalidArgument, format!("an index of {what} is not negative")),
    }
}

fn counted(value: i64) -> Done<u64> {
    u64::try_from(value).or_else(|_| fault(Code::OutOfRange, "counts are not negative"))
}

impl Device {
    pub fn counter(&mut self, switch: &mut Switch, kind: UpdateType, entry: &v1::CounterEntry) -> Done {
        only_modify(kind, "counters")?;
        let counter = find(&self.info.all.counters, entry.counter_id, "counter")?;
        let indices = cells(entry.index.as_ref(), counter.size, counter.name())?;
        // Without data a counter keeps what it has.
        let Some(data) = entry.data else { return Ok(()) };
        let (packets, bytes) = (counted(data.packet_count)?, counted(data.byte_count)?);
        for index in indices {
            switch.counter_write(counter.name(), index, packets, bytes).map_err(refused)?;
        }
        Ok(())
    }

    pub fn meter(&mut self, switch: &mut Switch, kind: UpdateType, entry: &v1::MeterEntry) -> Done {
        only_modify(kind, "meters")?;
        no_color_counts(entry.counter_data.as_ref())?;
        let meter = find(&self.info.all.meters, entry.meter_id, "meter")?;
        for index in cells(entry.index.as_ref(), meter.size, meter.name())? {
            set_meter(switch, meter.name(), index, entry.config.as_ref())?;
        }
        Ok(())
    }

    /// The handle of an entry that is written, and its table.
    pub fn handle(&self, entry: Option<&TableEntry>) -> Done<(config::Table, u64)> {
        let Some(entry) = entry else { return fault(Code::InvalidArgument, "the table entry is missing") };
        let table = self.info.table(entry.table_id)?.clone();
        match self.book.entries.get(&Self::key(entry)) {
            Some(written) => Ok((table, written.handle)),
            None => fault(Code::NotFound, "there is no such entry"),
        }
    }

    fn direct_counter_of(&self, table: &config::Table) -> Option<String> {
        let mut all = self.info.all.direct_counters.iter();
        all.find(|c| c.direct_table_id == table.id()).map(|c| c.name().to_owned())
    }

    fn direct_meter_of(&self, table: &config::Table) -> Option<String> {
        let mut all = self.info.all.direct_meters.iter();
        all.find(|m| m.direct_table_id == table.id()).map(|m| m.name().to_owned())
    }

    pub fn direct_counter(&mut self, switch: &mut Switch, kind: UpdateType, entry: &v1::DirectCounterEntry) -> Done {
        only_modify(kind, "direct counters")?;
        let (table, handle) = self.handle(entry.table_entry.as_ref())?;
        entry.data.map_or(Ok(()), |data| self.set_direct_counter(switch, &table, handle, &data))
    }

    fn set_direct_counter(&self, switch: &mut Switch, table: &config::Table, handle: u64, data: &v1::CounterData) -> Done {
        let Some(name) = self.direct_counter_of(table) else {
            return fault(Code::InvalidArgument, format!("table {} has no direct counter", table.name()));
        };
        switch.direct_counter_write(&name, handle, counted(data.packet_count)?, counted(data.byte_count)?).map_err(refused)
    }

    pub fn direct_meter(&mut self, switch: &mut Switch, kind: UpdateType, entry: &v1::DirectMeterEntry) -> Done {
        only_modify(kind, "direct meters")?;
        no_color_counts(entry.counter_data.as_ref())?;
        let (table, handle) = self.handle(entry.table_entry.as_ref())?;
        let Some(name) = self.direct_meter_of(&table) else {
            return fault(Code::InvalidArgument, format!("table {} has no direct meter", table.name()));
        };
        set_meter(switch, &name, handle, entry.config.as_ref())
    }

    /// The meter of an entry, if there is one, has no rates any more.
    pub fn reset_direct_meter(&self, switch: &mut Switch, table: &config::Table, handle: u64) -> Done {
        self.direct_meter_of(table).map_or(Ok(()), |name| set_meter(switch, &name, handle, None))
    }

    /// What an entry says of its counter and its meter.
    pub fn entry_resources(&self, switch: &mut Switch, table: &config::Table, handle: u64, entry: &TableEntry) -> Done {
        if let Some(data) = &entry.counter_data {
            self.set_direct_counter(switch, table, handle, data)?;
        }
        match (self.direct_meter_of(table), &entry.meter_config) {
            (Some(name), Some(config)) => set_meter(switch, &name, handle, Some(config)),
            (None, Some(_)) => fault(Code::InvalidArgument, format!("table {} has no direct meter", table.name())),
            _ => Ok(()),
        }
    }

    /// Counts of an entry, if its table counts.
    pub fn counts(&self, switch: &mut Switch, table: &config::Table, handle: u64) -> Option<v1::CounterData> {
        let (packets, bytes) = switch.direct_counter(&self.direct_counter_of(table)?, handle).ok()?;
        Some(data(packets, bytes))
    }

    /// Rates of an entry, if its table has a meter that was set.
    pub fn rates(&self, switch: &mut Switch, table: &config::Table, handle: u64) -> Option<v1::MeterConfig> {
        let (committed, peak) = switch.meter_get(&self.direct_meter_of(table)?, handle).ok()??;
        Some(meter_config(committed, peak))
    }

    pub fn value_set(&mut self, switch: &mut Switch, kind: UpdateType, entry: &v1::ValueSetEntry) -> Done {
        only_modify(kind, "value sets")?;
        let set = find(&self.info.all.value_sets, entry.value_set_id, "value set")?;
        let mut members: Vec<Vec<KeyMatch>> = Vec::new();
        let mut seen = BTreeSet::new();
        for member in &entry.members {
            if !seen.insert(match_bytes(&member.r#match)) {
                return fault(Code::AlreadyExists, format!("a member of {} is given twice", set.name()));
            }
            let known = |f: &v1::FieldMatch| set.r#match.iter().any(|key| key.id == f.field_id);
            if member.r#match.len() > set.r#match.len() || !member.r#match.iter().all(known) {
                return fault(Code::InvalidArgument, format!("members of {} have {} fields, each once", set.name(), set.r#match.len()));
            }
            let of = |key: &config::MatchField| {
                let given = member.r#match.iter().find(|f| f.field_id == key.id);
                key_match(key, given.and_then(|f| f.field_match_type.as_ref()))
            };
            members.push(set.r#match.iter().map(of).collect::<Done<_>>()?);
        }
        if members.len() > usize::try_from(set.size).unwrap_or(0) {
            return fault(Code::ResourceExhausted, format!("{} has {} members", set.name(), set.size));
        }
        switch.set_all(set.name(), &members).map_err(refused)?;
        self.book.sets.insert(entry.value_set_id, entry.clone());
        Ok(())
    }
}

pub(crate) fn data(packets: u64, bytes: u64) -> v1::CounterData {
    v1::CounterData { packet_count: packets.cast_signed(), byte_count: bytes.cast_signed() }
}

pub(crate) fn meter_config(committed: Rate, peak: Rate) -> v1::MeterConfig {
    let per_s = |rate: Rate| (rate.per_us * 1e6).round() as i64;
    v1::MeterConfig {
        cir: per_s(committed),
        cburst: committed.burst.into(),
        pir: per_s(peak),
        pburst: peak.burst.into(),
        ..Default::default()
    }
}

fn set_meter(switch: &mut Switch, name: &str, index: u64, config: Option<&v1::MeterConfig>) -> Done {
    match config {
        Some(config) => {
            let [committed, peak] = rates(config)?;
            switch.meter_set(name, Some(index), committed, peak).map_err(refused)
        }
        None => switch.meter_reset(name, index).map_err(refused),
    }
}
