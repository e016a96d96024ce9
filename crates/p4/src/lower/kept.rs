//! What a program keeps from one packet to the next, and so what replicas of it on several cores can have of their own: for `netvm check --placement`.
//!
//! The runtime decides by the code of the module (`netvm::application::order`); these are the objects that this comes from, by their names and with the line that makes it so.

use super::Lower;
use crate::pipeline::{ArrayKind, TableMeta};
use std::collections::BTreeMap;

/// The lines where packets read and write an array first.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Uses {
    pub read: Option<u32>,
    pub written: Option<u32>,
}

/// By name.
pub(super) type AllUses = BTreeMap<String, Uses>;

const OWN: &str = "each replica has its own";
const SHARED: &str = "all packets share one";

impl Lower<'_> {
    /// Packets read an array here.
    pub(super) fn reads_array(&mut self, name: &str) {
        let line = self.code.line;
        self.uses.entry(name.to_owned()).or_default().read.get_or_insert(line);
    }

    /// Packets write an array here; whether they read it before.
    pub(super) fn writes_array(&mut self, name: &str) -> bool {
        let line = self.code.line;
        let uses = self.uses.entry(name.to_owned()).or_default();
        uses.written.get_or_insert(line);
        uses.read.is_some()
    }

    /// A sentence for each table, register, counter and meter.
    pub(super) fn keeps(&self) -> Vec<String> {
        let tables = self.metas.iter().filter(|meta| meta.table.is_some()).map(of_table);
        let arrays = self.array_metas.iter().map(|array| {
            let Uses { read, written } = self.uses.get(&array.name).copied().unwrap_or_default();
            let name = &array.name;
            match (array.kind, read, written) {
                (ArrayKind::Counter, ..) => format!("counter {name}: packets add to it; each replica counts, and sums are told"),
                (ArrayKind::Meter, ..) => format!("meter {name}: packets change it; {SHARED}"),
                (ArrayKind::Register, _, None) => format!("register {name}: packets do not write it; {OWN}"),
                (ArrayKind::Register, Some(read), Some(written)) => {
                    format!("register {name}: packets read it (line {read}) and write it (line {written}); {SHARED}")
                }
                (ArrayKind::Register, None, Some(written)) => {
                    format!(
                        "register {name}: packets write it (line {written}), and the control plane reads what the last one wrote; {SHARED}"
                    )
                }
            }
        });
        tables.chain(arrays).collect()
    }
}

fn of_table(meta: &TableMeta) -> String {
    let name = &meta.name;
    match () {
        () if meta.meter.is_some() => format!("table {name}: packets change meters in its entries; {SHARED}"),
        () if meta.counter.is_some() => {
            format!("table {name}: packets count in its entries; {SHARED}, where a counter by an index would be a sum")
        }
        () if meta.last_hit.is_some() => format!("table {name}: packets note in its entries when they are found; {SHARED}"),
        () => format!("table {name}: packets look entries up; {OWN}"),
    }
}
