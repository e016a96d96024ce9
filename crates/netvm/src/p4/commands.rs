//! Commands of the control plane, one on a line: those of STF, and of BMv2's simple_switch_CLI.
//!
//! What a command tells comes back as lines. Source: p4c, `tools/stf`; BMv2,
//! `tools/runtime_CLI.py`, whose commands keep their names and their order of arguments.

use super::control::find;
use super::error::{SwitchError, exists, invalid, missing};
use super::values::{action_of, arguments, key_of, name, number, part, value_of};
use super::words::{Told, Words, needed};
use super::{Indirect, Parameters, Rate, Switch, asked};
use p4::entries::KeyMatch;
use p4::pipeline::{ArrayKind, Match, TableMeta};
use std::collections::BTreeMap;

fn silent(done: Result<(), SwitchError>) -> Told {
    done.map(|()| Vec::new())
}

/// Runs a command; what it tells.
///
/// # Errors
/// There is no such command, or it cannot be done.
pub fn run(switch: &mut Switch, line: &str) -> Told {
    let (command, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let command = command.to_ascii_lowercase();
    let (rest, words) = (rest.trim(), &mut rest.split_whitespace());
    if let Some(done) = asked::run(switch, &command, words.clone()) {
        return done;
    }
    match command.as_str() {
        "add" | "setdefault" | "remove" => stf(switch, &command, rest),
        c if c.starts_with("table_indirect_") && asked::of_profiles(c).is_some() => {
            profiles(switch, asked::of_profiles(c).as_deref().unwrap_or_default(), words)
        }
        "table_indirect_delete" => tables(switch, "table_delete", rest),
        "table_dump" => switch.dump(words.next().map(name).as_deref()),
        c if c.starts_with("table_") => tables(switch, c, rest),
        c if c.starts_with("act_prof_") => profiles(switch, c, words),
        c if c.starts_with("pvs_") => sets(switch, c, words),
        c if c.starts_with("meter_") => meters(switch, c, words),
        c if c.starts_with("counter_") => counters(switch, c, words),
        c if c.starts_with("register_") => registers(switch, c, words),
        c if c.starts_with("mirroring_") => mirroring(switch, c, words),
        c if c.starts_with("mc_") => groups(switch, c, words),
        "set_crc16_parameters" => crc(switch, 16, words),
        "set_crc32_parameters" => crc(switch, 32, words),
        "wait" => Ok(Vec::new()),
        other => Err(invalid(unknown(other))),
    }
}

fn unknown(command: &str) -> String {
    if command == "updates" {
        return "this is protobuf text of P4Runtime, which is read from a file whose name ends in .txtpb; here are commands".to_owned();
    }
    format!("no command is called `{command}`; docs/p4.md lists them")
}

fn stf(switch: &mut Switch, command: &str, rest: &str) -> Told {
    match command {
        "add" => add(switch, rest).map(|_| Vec::new()),
        "setdefault" => {
            let (table, action) = rest.split_once(char::is_whitespace).ok_or_else(|| invalid("expected a table and an action"))?;
            let (action, args) = action_of(action.trim())?;
            silent(switch.set_default(&name(table), &action, &args))
        }
        _ if rest != "all" => Err(invalid("expected `remove all`; `table_delete` takes one entry out")),
        _ => {
            let all: Vec<String> = switch.pipeline.tables.iter().map(|t| t.name.clone()).collect();
            silent(all.iter().try_for_each(|table| switch.clear(table)))
        }
    }
}

/// `add TABLE [PRIORITY] KEY:VALUE ... ACTION(ARG:NUMBER, ...)`, or `member(N)` or `group(N)`; the
/// table and the entry's handle.
pub(super) fn add(switch: &mut Switch, rest: &str) -> Result<(String, u64), SwitchError> {
    let (table, rest) = rest.split_once(char::is_whitespace).ok_or_else(|| invalid("expected a table and an entry"))?;
    let meta = switch.table(&name(table))?.clone();
    let open = rest.find('(').ok_or_else(|| invalid("expected ACTION(ARG:NUMBER, ...)"))?;
    let front = rest[..open].trim_end();
    let start = front.char_indices().rev().find(|(_, c)| c.is_whitespace()).map_or(0, |(n, c)| n + c.len_utf8());
    let (action, args) = action_of(&rest[start..])?;
    let behind = rest[open..].split_once(')').ok_or_else(|| invalid("expected `)` behind the arguments"))?.1.trim();
    if !behind.is_empty() && !behind.starts_with('=') {
        return Err(invalid(format!("nothing stands behind the action, and here is `{behind}`")));
    }
    let (mut priority, mut keys): (u32, BTreeMap<usize, KeyMatch>) = (1, BTreeMap::new());
    for word in rest[..start].split_whitespace() {
        match word.split_once(':') {
            None => priority = number(Some(word), "priority")?,
            Some((key, value)) => {
                let at = key_of(&meta, &name(key))?;
                if keys.insert(at, value_of(value, &meta.keys[at])?).is_some() {
                    return Err(invalid(format!("the key `{}` is given twice", meta.keys[at].name)));
                }
            }
        }
    }
    let mut all = Vec::new();
    for (n, key) in meta.keys.iter().enumerate().filter(|(_, k)| k.kind != Match::Selector) {
        match keys.remove(&n) {
            Some(value) => all.push(value),
            None if key.kind == Match::Exact => return Err(invalid(format!("the key `{}` is missing", key.name))),
            None => all.push(KeyMatch::Any),
        }
    }
    let handle = match (meta.profile, action.as_str(), args.as_slice()) {
        (Some(_), "member", [(_, n)]) => switch.add_indirect(&meta.name, &all, priority, Indirect::Member(small(n)?)),
        (Some(_), "group", [(_, n)]) => switch.add_indirect(&meta.name, &all, priority, Indirect::Group(small(n)?)),
        _ => switch.add(&meta.name, &all, priority, &action, &args),
    }?;
    Ok((meta.name, handle))
}

fn small(n: &super::BigInt) -> Result<u32, SwitchError> {
    u32::try_from(n).map_err(|_| invalid(format!("{n} is no number of a member or group")))
}

fn tables(switch: &mut Switch, command: &str, rest: &str) -> Told {
    let words = &mut rest.split_whitespace();
    let table = name(needed(words, "a table")?);
    match command {
        "table_add" => {
            let action = name(needed(words, "an action")?);
            let (keys, mut args) = row(words);
            let meta = switch.table(&table)?.clone();
            let (keys, priority) = matches_of(&meta, &keys, &mut args)?;
            let args = arguments(args.into_iter())?;
            refuse_twin(switch, &table, &keys, priority)?;
            told_handle(switch.add(&table, &keys, priority, &action, &args))
        }
        "table_indirect_add" | "table_indirect_add_with_group" => {
            let (keys, mut args) = row(words);
            let meta = switch.table(&table)?.clone();
            let (keys, priority) = matches_of(&meta, &keys, &mut args)?;
            let to = number(args.first().copied(), "number of a member or group")?;
            let to = if command == "table_indirect_add" { Indirect::Member(to) } else { Indirect::Group(to) };
            refuse_twin(switch, &table, &keys, priority)?;
            told_handle(switch.add_indirect(&table, &keys, priority, to))
        }
        "table_set_default" => {
            let action = name(needed(words, "an action")?);
            silent(switch.set_default(&table, &action, &arguments(words)?))
        }
        "table_modify" => {
            let action = name(needed(words, "an action")?);
            let handle = number(words.next(), "handle")?;
            silent(switch.modify(&table, handle, &action, &arguments(words.filter(|w| *w != "=>"))?))
        }
        "table_delete" => silent(switch.delete(&table, number(words.next(), "handle")?)),
        "table_clear" => silent(switch.clear(&table)),
        other => Err(invalid(unknown(other))),
    }
}

/// As BMv2 does: an entry of the same keys is not replaced.
fn refuse_twin(switch: &mut Switch, table: &str, keys: &[KeyMatch], priority: u32) -> Result<(), SwitchError> {
    match switch.handle_of(table, keys, priority)? {
        Some(handle) => Err(exists(format!("{table} has an entry of these keys, with handle {handle}"))),
        None => Ok(()),
    }
}

fn told_handle(handle: Result<u64, SwitchError>) -> Told {
    handle.map(|handle| vec![format!("Entry has been added with handle {handle}")])
}

/// What stands in front of `=>`, and behind it.
fn row<'a>(words: &mut Words<'a>) -> (Vec<&'a str>, Vec<&'a str>) {
    let all: Vec<&str> = words.collect();
    let at = all.iter().position(|w| *w == "=>").unwrap_or(all.len());
    (all[..at].to_vec(), all.get(at + 1..).unwrap_or_default().to_vec())
}

/// Keys in the order of the table; the priority is the last argument where it is needed, and is
/// taken off.
fn matches_of(meta: &TableMeta, keys: &[&str], args: &mut Vec<&str>) -> Result<(Vec<KeyMatch>, u32), SwitchError> {
    let wanted: Vec<_> = meta.keys.iter().filter(|k| k.kind != Match::Selector).collect();
    if keys.len() != wanted.len() {
        return Err(invalid(format!("table {} has {} keys, not {}", meta.name, wanted.len(), keys.len())));
    }
    let values = keys.iter().zip(wanted).map(|(text, key)| match (*text, key.kind) {
        // A range of everything or a mask of zeros, as BMv2's commands leave them out.
        ("*", _) => Ok(KeyMatch::Any),
        (text, Match::Ternary) if !text.contains("&&&") => value_of(&format!("{text}&&&{}", all_ones(key.width)), key),
        (text, _) => value_of(text, key),
    });
    let values = values.collect::<Result<_, _>>()?;
    let priority = match meta.ternary {
        true => number::<u32>(args.pop(), "priority")?.min(p4::entries::LOWEST_WINS),
        false => 0,
    };
    Ok((values, p4::entries::LOWEST_WINS - priority))
}

fn all_ones(width: u32) -> super::BigInt {
    (super::BigInt::from(1) << width) - 1
}

fn profiles(switch: &mut Switch, command: &str, words: &mut Words<'_>) -> Told {
    let profile = needed(words, "an action profile")?;
    let id = |words: &mut Words<'_>, what: &str| number::<u32>(words.next(), what);
    match command {
        "act_prof_create_member" => {
            let (action, args) = member_action(words)?;
            let member = switch.member_create(profile, &action, &args)?;
            Ok(vec![format!("Member has been created with handle {member}")])
        }
        "act_prof_modify_member" => {
            let action = name(needed(words, "an action")?);
            let member = id(words, "number of a member")?;
            silent(switch.member_modify(profile, member, &action, &arguments(words)?))
        }
        "act_prof_delete_member" => silent(switch.member_delete(profile, id(words, "number of a member")?)),
        "act_prof_create_group" => {
            let group = switch.group_new(profile)?;
            Ok(vec![format!("Group has been created with handle {group}")])
        }
        "act_prof_delete_group" => silent(switch.group_delete(profile, id(words, "number of a group")?)),
        "act_prof_add_member_to_group" | "act_prof_remove_member_from_group" => {
            let (member, group) = (id(words, "number of a member")?, id(words, "number of a group")?);
            match command {
                "act_prof_add_member_to_group" => silent(switch.group_add(profile, member, group)),
                _ => silent(switch.group_remove(profile, member, group)),
            }
        }
        other => Err(invalid(unknown(other))),
    }
}

/// `ACTION NUMBER ...` or `ACTION(ARG:NUMBER, ...)`.
fn member_action(words: &mut Words<'_>) -> Result<super::values::Call, SwitchError> {
    let rest: Vec<&str> = words.collect();
    let text = rest.join(" ");
    if text.contains('(') {
        return action_of(&text);
    }
    let action = rest.first().ok_or_else(|| invalid("expected an action"))?;
    Ok((name(action), arguments(rest[1..].iter().copied())?))
}

fn sets(switch: &mut Switch, command: &str, words: &mut Words<'_>) -> Told {
    let set = needed(words, "a value set")?;
    let parts = words.map(part).collect::<Result<Vec<_>, _>>()?;
    match command {
        "pvs_add" => silent(switch.set_add(set, &parts)),
        "pvs_remove" => silent(switch.set_remove(set, &parts)),
        "pvs_clear" => silent(switch.set_clear(set)),
        other => Err(invalid(unknown(other))),
    }
}

/// `RATE:BURST`.
fn rate(word: Option<&str>) -> Result<Rate, SwitchError> {
    let word = word.ok_or_else(|| invalid("expected RATE:BURST for the committed rate, and for the peak rate"))?;
    let (rate, burst) = word.split_once(':').ok_or_else(|| invalid(format!("`{word}` is not RATE:BURST")))?;
    let per_us = rate.parse().map_err(|_| invalid(format!("`{rate}` is no rate")))?;
    Ok(Rate { per_us, burst: number(Some(burst), "burst")? })
}

fn meters(switch: &mut Switch, command: &str, words: &mut Words<'_>) -> Told {
    let meter = needed(words, "a meter")?;
    match command {
        "meter_set_rates" | "meter_array_set_rates" => {
            let index = if command == "meter_set_rates" { Some(number(words.next(), "index")?) } else { None };
            let (committed, peak) = (rate(words.next())?, rate(words.next())?);
            silent(switch.meter_set(meter, index, committed, peak))
        }
        "meter_get_rates" => {
            let index = number(words.next(), "index")?;
            Ok(vec![match switch.meter_get(meter, index)? {
                None => format!("{meter}[{index}] has no rates"),
                Some((c, p)) => format!("{meter}[{index}]: committed {}:{}, peak {}:{}", c.per_us, c.burst, p.per_us, p.burst),
            }])
        }
        other => Err(invalid(unknown(other))),
    }
}

fn counters(switch: &mut Switch, command: &str, words: &mut Words<'_>) -> Told {
    let counter = needed(words, "a counter")?;
    match command {
        "counter_read" => {
            let index = number(words.next(), "index")?;
            let (packets, bytes) = read_counter(switch, counter, index)?;
            Ok(vec![format!("{counter}[{index}]: {packets} packets, {bytes} bytes")])
        }
        "counter_write" => {
            let index = number(words.next(), "index")?;
            let (packets, bytes) = (number(words.next(), "number")?, number(words.next(), "number")?);
            silent(match table_counted(switch, counter) {
                Some(_) => switch.direct_counter_write(counter, index, packets, bytes),
                None => switch.counter_write(counter, index, packets, bytes),
            })
        }
        "counter_reset" => {
            if let Some(table) = table_counted(switch, counter) {
                let entries = switch.entries(&table)?;
                return silent(entries.iter().try_for_each(|entry| switch.direct_counter_write(counter, entry.handle, 0, 0)));
            }
            let cells = switch.cells(counter, ArrayKind::Counter)?;
            silent((0..cells).try_for_each(|n| switch.counter_write(counter, n.into(), 0, 0)))
        }
        other => Err(invalid(unknown(other))),
    }
}

/// A cell, or of a direct counter an entry by its handle.
pub(super) fn read_counter(switch: &mut Switch, counter: &str, index: u64) -> Result<(u64, u64), SwitchError> {
    match table_counted(switch, counter) {
        Some(_) => switch.direct_counter(counter, index),
        None => switch.counter_read(counter, index),
    }
}

/// The table whose entries a counter counts, if it is a direct one.
fn table_counted(switch: &Switch, counter: &str) -> Option<String> {
    let direct: Vec<_> = switch.pipeline.tables.iter().filter(|table| table.counter.is_some()).collect();
    find(&direct, |table| &table.counter_name, counter, "counter").ok().map(|(_, table)| table.name.clone())
}

fn registers(switch: &mut Switch, command: &str, words: &mut Words<'_>) -> Told {
    let register = needed(words, "a register")?;
    match command {
        "register_read" => match words.next() {
            Some(index) => {
                let index = number(Some(index), "index")?;
                Ok(vec![format!("{register}[{index}] = {}", switch.register_read(register, index)?)])
            }
            None => {
                let cells = switch.cells(register, ArrayKind::Register)?;
                let values = (0..cells).map(|n| switch.register_read(register, n.into()).map(|v| v.to_string()));
                Ok(vec![format!("{register} = {}", values.collect::<Result<Vec<_>, _>>()?.join(", "))])
            }
        },
        "register_write" => {
            let index = number(words.next(), "index")?;
            let value = arguments(words.take(1))?.pop().ok_or_else(|| invalid("expected a value"))?.1;
            silent(switch.register_write(register, index, &value))
        }
        "register_reset" => silent(switch.register_reset(register)),
        other => Err(invalid(unknown(other))),
    }
}

fn mirroring(switch: &mut Switch, command: &str, words: &mut Words<'_>) -> Told {
    let session = number(words.next(), "session")?;
    match command {
        "mirroring_add" => switch.mirroring_add(session, Some(port(switch, words.next())?), None),
        "mirroring_add_mc" => switch.mirroring_add(session, None, Some(number(words.next(), "group")?)),
        "mirroring_delete" => switch.mirroring_delete(session),
        "mirroring_get" => {
            let (port, group) = switch.mirroring_get(session).ok_or_else(|| missing(format!("there is no session {session}")))?;
            let say = |what: &str, n: Option<u32>| n.map(|n| format!("{what} {n}"));
            let to: Vec<String> = [say("port", port), say("group", group)].into_iter().flatten().collect();
            return Ok(vec![format!("session {session}: {}", to.join(", "))]);
        }
        other => return Err(invalid(unknown(other))),
    }
    Ok(Vec::new())
}

/// A port that the architecture has.
fn port(switch: &Switch, word: Option<&str>) -> Result<u32, SwitchError> {
    let (port, last) = (number(word, "port")?, switch.last_port());
    if port <= last { Ok(port) } else { Err(missing(format!("there is no port {port}: the last one is {last}"))) }
}

fn groups(switch: &mut Switch, command: &str, words: &mut Words<'_>) -> Told {
    let ports = |switch: &Switch, words: &mut Words<'_>| words.map(|w| port(switch, Some(w))).collect::<Result<Vec<u32>, _>>();
    match command {
        "mc_mgrp_create" => switch.group_create(number(words.next(), "group")?),
        "mc_mgrp_destroy" => switch.group_destroy(number(words.next(), "group")?)?,
        "mc_node_create" => {
            let rid = number(words.next(), "number of a node")?;
            let ports = ports(switch, words)?;
            let handle = switch.node_create(rid, ports);
            return Ok(vec![format!("node was created with handle {handle}")]);
        }
        "mc_node_update" => {
            let handle = number(words.next(), "node")?;
            let ports = ports(switch, words)?;
            switch.node_update(handle, ports)?;
        }
        "mc_node_associate" => switch.node_associate(number(words.next(), "group")?, number(words.next(), "node")?)?,
        "mc_node_dissociate" => switch.node_dissociate(number(words.next(), "group")?, number(words.next(), "node")?)?,
        other => return Err(invalid(unknown(other))),
    }
    Ok(Vec::new())
}

/// `set_crc16_parameters NAME POLYNOMIAL INITIAL XOR REFLECT REFLECT`.
fn crc(switch: &mut Switch, width: u32, words: &mut Words<'_>) -> Told {
    let calculation = needed(words, "a calculation")?;
    let mut next = || number::<u32>(words.next(), "parameter");
    let (polynomial, initial, final_xor) = (next()?, next()?, next()?);
    let mut flag = || match words.next().map(str::to_ascii_lowercase).as_deref() {
        Some("true" | "1") => Ok(true),
        Some("false" | "0") => Ok(false),
        other => Err(invalid(format!("`{}` is neither True nor False", other.unwrap_or("")))),
    };
    let (reflect_data, reflect_remainder) = (flag()?, flag()?);
    if width == 16 && (polynomial | initial | final_xor) > 0xffff {
        return Err(invalid("parameters of a check of 16 bits have 16 bits"));
    }
    silent(switch.crc_set(calculation, Parameters { width, polynomial, initial, final_xor, reflect_data, reflect_remainder }))
}
