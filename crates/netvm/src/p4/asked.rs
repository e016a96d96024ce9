//! Commands of simple_switch_CLI that ask, that take back what was set, and older names of others;
//! and why some of them are not here.
//!
//! Source: BMv2, `tools/runtime_CLI.py` and `targets/simple_switch/sswitch_CLI.py`. What they print
//! is our own: entries as the commands that enter them.

use super::Switch;
use super::control::find;
use super::dump;
use super::error::{SwitchError, invalid, missing};
use super::values::number;
use super::words::{Told, Words, needed};
use p4::pipeline::{ArrayKind, TableMeta};

/// What simple_switch has and this switch has not.
const NOT_HERE: [(&str, &str); 12] = [
    ("set_queue_rate", "ports have no queues of their own here: a graph of elements has, see docs/p4.md"),
    ("set_queue_depth", "ports have no queues of their own here: a graph of elements has, see docs/p4.md"),
    ("table_set_timeout", "idle timeouts are for controllers of P4Runtime (--p4runtime)"),
    ("table_indirect_set_default", "the default of a table with an action profile is an action"),
    ("table_indirect_set_default_with_group", "the default of a table with an action profile is an action"),
    ("mc_set_lag_membership", "there are no link aggregation groups here: a node has ports"),
    ("port_add", "ports are said when a program is run: --in, --out, --map"),
    ("port_remove", "ports are said when a program is run: --in, --out, --map"),
    ("load_new_config_file", "another program is another run"),
    ("swap_configs", "another program is another run"),
    ("serialize_state", "`table_dump` prints entries as commands that enter them again"),
    ("set_toeplitz_hash_key", "v1model has no Toeplitz hash"),
];

/// A command of an action profile by its older name.
pub(super) fn of_profiles(command: &str) -> Option<String> {
    let what = command.strip_prefix("table_indirect_")?;
    let known = [
        "create_member",
        "modify_member",
        "delete_member",
        "create_group",
        "delete_group",
        "add_member_to_group",
        "remove_member_from_group",
    ];
    known.contains(&what).then(|| format!("act_prof_{what}"))
}

/// Runs a command, if it is one of these.
pub(super) fn run(switch: &mut Switch, command: &str, mut words: Words<'_>) -> Option<Told> {
    if let Some((_, why)) = NOT_HERE.iter().find(|(name, _)| *name == command) {
        return Some(Err(invalid(format!("`{command}` is not supported: {why}"))));
    }
    let words = &mut words;
    Some(match command {
        "show_tables" => Ok(dump::tables(&switch.pipeline, &switch.state).lines().map(str::to_owned).collect()),
        "show_actions" => Ok(show_actions(&switch.pipeline.tables)),
        "table_info" | "table_show_actions" | "table_num_entries" | "table_reset_default" | "table_indirect_reset_default" => {
            of_table(switch, command, words)
        }
        "table_dump_entry" => entry(switch, words),
        "show_pvs" => Ok(switch.pipeline.sets.iter().map(|set| set.name.clone()).collect()),
        "pvs_get" => members(switch, words),
        "mc_node_destroy" => number(words.next(), "node").and_then(|node| switch.node_destroy(node)).map(|()| Vec::new()),
        "mc_dump" => Ok(groups(switch)),
        "get_time_elapsed" => Ok(vec![format!("{} microseconds", switch.now_us())]),
        "reset_state" => reset(switch).map(|()| Vec::new()),
        _ => return None,
    })
}

fn show_actions(tables: &[TableMeta]) -> Vec<String> {
    let mut all: Vec<String> = tables.iter().flat_map(|table| &table.actions).map(action).collect();
    all.sort();
    all.dedup();
    all
}

fn action(meta: &p4::pipeline::ActionMeta) -> String {
    let params: Vec<String> = meta.params.iter().map(|param| format!("{}:{}", param.name, param.width)).collect();
    format!("{}({})", meta.name, params.join(", "))
}

fn of_table(switch: &mut Switch, command: &str, words: &mut Words<'_>) -> Told {
    let meta = switch.table(needed(words, "a table")?)?.clone();
    Ok(match command {
        "table_info" => {
            let keys: Vec<String> = meta.keys.iter().map(|key| format!("{}:{} bits, {}", key.name, key.width, key.kind.name())).collect();
            let mut lines = vec![format!("{}: {}", meta.name, if keys.is_empty() { "no keys".to_owned() } else { keys.join("; ") })];
            lines.extend(meta.actions.iter().map(action));
            lines
        }
        "table_show_actions" => meta.actions.iter().map(action).collect(),
        "table_num_entries" => {
            let lines = switch.dump(Some(&meta.name))?;
            vec![lines.iter().filter(|line| line.starts_with("add ")).count().to_string()]
        }
        _ => {
            switch.reset_default(&meta.name)?;
            Vec::new()
        }
    })
}

fn entry(switch: &mut Switch, words: &mut Words<'_>) -> Told {
    let table = needed(words, "a table")?;
    let handle: u64 = number(words.next(), "handle")?;
    switch.entered(table, handle)?;
    let (mark, more) = (format!("# handle {handle}"), format!("# handle {handle},"));
    Ok(switch.dump(Some(table))?.into_iter().filter(|line| line.ends_with(&mark) || line.contains(&more)).collect())
}

/// Members as values with masks.
fn members(switch: &mut Switch, words: &mut Words<'_>) -> Told {
    let (_, meta) = find(&switch.pipeline.sets, |set| &set.name, needed(words, "a value set")?, "value set")?;
    let table = switch.state.tables.get_mut(meta.table as usize).ok_or_else(|| missing("no such table"))?;
    let ones = (super::BigInt::from(1) << meta.fields.iter().map(|field| field.1).sum::<u32>()) - 1;
    let number = |limbs: &[u64]| {
        let bytes: Vec<u8> = limbs.iter().flat_map(|limb| limb.to_le_bytes()).collect();
        super::BigInt::from_bytes_le(super::Sign::Plus, &bytes) & &ones
    };
    let show = |(value, mask): (super::BigInt, super::BigInt)| {
        if mask == ones { format!("{value:#x}") } else { format!("{value:#x}&&&{mask:#x}") }
    };
    Ok(table.entries(0).iter().map(|entry| show((number(&entry.key), number(&entry.mask)))).collect())
}

fn groups(switch: &Switch) -> Vec<String> {
    let of = |group: u32| {
        let copies: Vec<String> = switch.replication.copies(group).iter().map(|(rid, port)| format!("port {port} (node {rid})")).collect();
        format!("group {group}: {}", copies.join(", "))
    };
    switch.replication.all_groups().into_iter().map(of).collect()
}

/// All that commands can set is what it was at the start.
fn reset(switch: &mut Switch) -> Result<(), SwitchError> {
    for table in switch.pipeline.tables.clone() {
        switch.clear(&table.name)?;
        switch.reset_default(&table.name)?;
    }
    for array in switch.pipeline.arrays.clone() {
        match array.kind {
            ArrayKind::Register => switch.register_reset(&array.name)?,
            ArrayKind::Counter => (0..array.count).try_for_each(|n| switch.counter_write(&array.name, n.into(), 0, 0))?,
            ArrayKind::Meter => (0..array.count).try_for_each(|n| switch.meter_reset(&array.name, n.into()))?,
        }
    }
    for set in switch.pipeline.sets.clone() {
        switch.set_clear(&set.name)?;
    }
    switch.changes += 1;
    switch.replication.forget_groups();
    switch.replication.forget_sessions();
    Ok(())
}
