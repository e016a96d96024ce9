//! The entries that a program has: clients read them as those that were written, and change those
//! that are not constant.

use crate::device::{Device, Written};
use crate::info::{Object, bytes};
use crate::proto::p4::config::v1 as config;
use crate::proto::p4::v1::field_match::{self, FieldMatchType};
use crate::proto::p4::v1::table_action::Type as ActionType;
use crate::proto::p4::v1::{self, FieldMatch, TableEntry};
use netvm::p4::{BigInt, InitialEntry, KeyMatch, Switch, TableMeta};

impl Device {
    /// Puts the program's entries into the book, once.
    pub fn begin(&mut self, switch: &mut Switch) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        for table in self.info.all.tables.clone() {
            let Ok(meta) = switch.table(table.name()).cloned() else { continue };
            for (handle, initial) in (0..).zip(&meta.initial) {
                self.note(&table, &meta, initial, handle);
            }
        }
    }

    fn note(&mut self, table: &config::Table, meta: &TableMeta, initial: &InitialEntry, handle: u64) {
        let Some(entry) = self.entry_of(table, meta, initial) else { return };
        // Of equal keys the first one counts.
        self.book.entries.entry(Self::key(&entry)).or_insert(Written { handle, entry, own: None, is_told: false });
    }

    /// Enters the program's entries anew that are not constant.
    pub fn enter_initial(&mut self, switch: &mut Switch) {
        for table in self.info.all.tables.clone() {
            let Ok(meta) = switch.table(table.name()).cloned() else { continue };
            for initial in meta.initial.iter().filter(|_| !meta.const_entries) {
                let Some(action) = meta.actions.get(initial.action) else { continue };
                let names = action.params.iter().map(|p| p.name.clone());
                let args: Vec<_> = names.zip(initial.args.iter().cloned()).collect();
                if let Ok(handle) = switch.add(table.name(), &initial.keys, initial.priority, &action.name, &args) {
                    self.note(&table, &meta, initial, handle);
                }
            }
        }
    }

    /// An entry as the protocol has it.
    fn entry_of(&self, table: &config::Table, meta: &TableMeta, initial: &InitialEntry) -> Option<TableEntry> {
        let action = meta.actions.get(initial.action)?;
        let known = self.info.all.actions.iter().find(|a| a.name() == action.name)?;
        let params = known.params.iter().zip(&initial.args);
        let params = params.map(|(param, value)| v1::action::Param { param_id: param.id, value: bytes(value) }).collect();
        let keys = table.match_fields.iter().zip(&initial.keys);
        let field = |(key, given): (&config::MatchField, &KeyMatch)| field_of(key, given);
        Some(TableEntry {
            table_id: table.id(),
            r#match: keys.filter_map(field).collect(),
            action: Some(v1::TableAction { r#type: Some(ActionType::Action(v1::Action { action_id: known.id(), params })) }),
            priority: if meta.ternary { initial.priority.cast_signed() } else { 0 },
            is_const: meta.const_entries,
            ..TableEntry::default()
        })
    }
}

/// A match as the protocol has it; what matches all is left out.
pub(crate) fn field_of(key: &config::MatchField, given: &KeyMatch) -> Option<FieldMatch> {
    use config::match_field::{Match, MatchType};
    let Some(Match::MatchType(kind)) = key.r#match else { return None };
    let width = key.bitwidth.unsigned_abs();
    let value = match (MatchType::try_from(kind).ok()?, given) {
        (_, KeyMatch::Any) => return None,
        (MatchType::Exact, KeyMatch::Value(v)) => FieldMatchType::Exact(field_match::Exact { value: bytes(v) }),
        (MatchType::Optional, KeyMatch::Value(v)) => FieldMatchType::Optional(field_match::Optional { value: bytes(v) }),
        (MatchType::Range, KeyMatch::Range(low, high)) => FieldMatchType::Range(field_match::Range { low: bytes(low), high: bytes(high) }),
        (MatchType::Range, KeyMatch::Value(v)) => FieldMatchType::Range(field_match::Range { low: bytes(v), high: bytes(v) }),
        (kind, given) => {
            let all: BigInt = (BigInt::from(1) << width) - 1;
            let (value, mask) = match given {
                KeyMatch::Value(v) => (v.clone(), all),
                KeyMatch::Mask(v, m) => (v & m, m & all),
                KeyMatch::Prefix(v, length) => (v.clone(), &all - (&all >> (*length).min(width))),
                _ => return None,
            };
            // Nothing is asked for: all match.
            let low = u64::from(width) - mask.trailing_zeros().map(|zeros| zeros.min(width.into()))?;
            match kind {
                MatchType::Lpm => FieldMatchType::Lpm(field_match::Lpm { value: bytes(&value), prefix_len: low as i32 }),
                _ => FieldMatchType::Ternary(field_match::Ternary { value: bytes(&value), mask: bytes(&mask) }),
            }
        }
    };
    Some(FieldMatch { field_id: key.id, field_match_type: Some(value) })
}
