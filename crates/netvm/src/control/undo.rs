//! What handlers said before a batch of writes, and how that is put back.
//!
//! Two kinds of writes can be taken back: of values, which the handler of the same name reads; and
//! of tables, whose entries a handler `TABLE.list` tells, if they are added and removed one by one:
//! by `TABLE.add` and `TABLE.remove`, or by handlers of the element that have such names.

use super::error::RequestError;
use super::{Controlled, Described, HandlerError};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Handlers of elements that add or remove entries of their tables.
const OF_TABLES: &[&str] = &["add", "remove", "set", "insert", "delete"];

/// What was so before a batch.
pub(super) struct Before {
    /// By table, as `ELEMENT.TABLE`: its entries.
    tables: BTreeMap<String, String>,
    values: BTreeMap<String, String>,
}

impl Before {
    /// Asks all that the requests change.
    ///
    /// # Errors
    /// One of them cannot be taken back.
    pub(super) fn of(requests: &[Value], target: &mut dyn Controlled) -> Result<Self, RequestError> {
        let (mut before, mut tables, mut values) =
            (Self { tables: BTreeMap::new(), values: BTreeMap::new() }, BTreeSet::new(), BTreeSet::new());
        let written: BTreeSet<&str> = requests.iter().map(|request| written(request)).collect::<Result<_, _>>()?;
        let elements = target.elements();
        for handler in written {
            let lists = lists(&elements, handler);
            match lists.is_empty() {
                false => tables.extend(lists),
                true if target.graph().has_handler(handler, false) && !handler.ends_with(".home_thread") => {
                    _ = values.insert(handler.to_owned())
                }
                true => {
                    return Err(RequestError::Malformed(format!(
                        "a write to '{handler}' cannot be taken back, so it can be no part of an atomic batch"
                    )));
                }
            }
        }
        for table in tables {
            let entries = target.graph().read(&format!("{table}.list"), "")?;
            before.tables.insert(table, entries);
        }
        for handler in values {
            let value = target.graph().read(&handler, "")?;
            before.values.insert(handler, value);
        }
        Ok(before)
    }

    /// Puts all back; why something could not be.
    pub(super) fn restore(&self, target: &mut dyn Controlled) -> Option<HandlerError> {
        let mut wrong = None;
        for (table, entries) in &self.tables {
            wrong = wrong.or(restore_table(table, entries, target).err());
        }
        for (handler, value) in &self.values {
            wrong = wrong.or(target.graph().write(handler, value.trim_end_matches('\n')).err());
        }
        wrong
    }
}

fn written(request: &Value) -> Result<&str, RequestError> {
    let text = |name: &str| request.get(name).and_then(Value::as_str);
    match (text("op"), text("handler")) {
        (Some("write"), Some(handler)) => Ok(handler),
        _ => Err("an atomic batch has writes only".into()),
    }
}

/// The tables that a handler adds entries to or removes them from.
fn lists(elements: &[Described], handler: &str) -> Vec<String> {
    let Some((element, name)) = handler.split_once('.') else { return Vec::new() };
    let (table, what) = name.rsplit_once('.').map_or((None, name), |(table, what)| (Some(table), what));
    if !OF_TABLES.contains(&what) {
        return Vec::new();
    }
    let of = elements.iter().filter(|it| it.name == element).flat_map(|it| &it.handlers);
    let listed = of.filter_map(|it| it.name.strip_suffix(".list").filter(|_| it.read));
    listed.filter(|listed| table.is_none_or(|table| table == *listed)).map(|listed| format!("{element}.{listed}")).collect()
}

fn restore_table(table: &str, entries: &str, target: &mut dyn Controlled) -> Result<(), HandlerError> {
    let now = target.graph().read(&format!("{table}.list"), "")?;
    let (now, before): (BTreeSet<&str>, BTreeSet<&str>) = (now.lines().collect(), entries.lines().collect());
    // The last word is the value.
    let key = |line: &str| line.rsplit_once(' ').map_or(line, |(key, _)| key).to_owned();
    for line in now.difference(&before) {
        target.graph().write(&format!("{table}.remove"), &key(line))?;
    }
    before.difference(&now).try_for_each(|line| target.graph().write(&format!("{table}.add"), line))
}
