//! Whether what came of a scenario is what it says.

use super::run::{Found, Packets};
use super::{Awaited, Call, Scenario, ScenarioError};
use crate::application::{HandlerError, NodeStats, Stats};
use std::collections::BTreeMap;

/// What is not as the scenario says, in words.
pub fn judge(scenario: &Scenario, found: &Result<Found, ScenarioError>) -> Vec<String> {
    let (found, told) = match found {
        Ok(found) => (Some(found), found.errors.clone()),
        Err(error) => (None, vec![error.to_string()]),
    };
    let mut wrong: Vec<String> = told.iter().skip(scenario.errors.len()).map(|error| format!("unexpected error: {error}")).collect();
    for (n, wanted) in scenario.errors.iter().enumerate() {
        let there = told.get(n).map_or("no error", String::as_str);
        if !there.contains(wanted.as_str()) {
            wrong.push(format!("there should be an error with `{wanted}`, but there was: {there}"));
        }
    }
    if let Some(found) = found {
        wrong.extend(of_packets(scenario, found));
        wrong.extend(of_text(scenario, found));
        wrong.extend(scenario.calls.iter().zip(&found.calls).filter_map(|(call, value)| of_call(call, value)));
    }
    let place = place(scenario.line, &scenario.case);
    wrong.into_iter().map(|what| format!("{place}: {what}")).collect()
}

fn place(line: usize, case: &str) -> String {
    if case.is_empty() { format!("line {line}") } else { format!("line {line} ({case})") }
}

fn of_packets(scenario: &Scenario, found: &Found) -> Vec<String> {
    let none = Vec::new();
    let difference = |(name, packets): (&String, &Packets)| {
        let wanted = scenario.outputs.get(name).unwrap_or(&none);
        first_difference(name, wanted, packets)
    };
    let mut wrong: Vec<String> = found.outputs.iter().filter_map(difference).collect();
    let unknown = scenario.outputs.keys().filter(|name| !found.outputs.contains_key(*name));
    wrong.extend(unknown.map(|name| format!("there is no device {name}")));
    let drops = drops(found);
    if drops != scenario.drops {
        wrong.push(format!("dropped {drops:?},\n  not {:?}", scenario.drops));
    }
    wrong
}

fn of_text(scenario: &Scenario, found: &Found) -> Vec<String> {
    let none = Vec::new();
    let difference = |(name, there): (&String, &Vec<String>)| {
        let wanted = scenario.text.get(name).unwrap_or(&none);
        let n = (0..wanted.len().max(there.len())).find(|n| wanted.get(*n) != there.get(*n))?;
        let line = |lines: &Vec<String>| lines.get(n).map_or("nothing".to_owned(), |line| format!("`{line}`"));
        Some(format!("line {} of {name} is {}, not {}", n + 1, line(there), line(wanted)))
    };
    found.text.iter().filter_map(difference).collect()
}

fn of_call(call: &Call, value: &Result<String, HandlerError>) -> Option<String> {
    let verb = if call.write { "write" } else { "read" };
    let place = format!("line {}, {verb} {}", call.line, call.handler);
    match (value, &call.error) {
        (Ok(value), None) => {
            (!call.write && call.value.trim_end() != *value).then(|| format!("{place}: is {value:?}, not {:?}", call.value))
        }
        (Ok(_), Some(error)) => Some(format!("{place}: should be refused with `{error}`")),
        (Err(said), Some(error)) => {
            (!said.text().contains(error.as_str())).then(|| format!("{place}: refused with `{said}`, not `{error}`"))
        }
        (Err(said), None) => Some(format!("{place}: {said}")),
    }
}

/// Packets dropped, by element and reason. Elements without a name of their own have their class's;
/// a trap is a trap, wherever.
pub fn drops(found: &Found) -> BTreeMap<(String, String), u64> {
    drops_of(&found.stats)
}

/// Packets dropped in a run of those statistics, likewise.
pub fn drops_of(stats: &Stats) -> BTreeMap<(String, String), u64> {
    let of = |(name, class, node): &(String, String, NodeStats)| {
        let name = if name.contains('@') { class.clone() } else { name.clone() };
        let reason = |reason: &String| if reason.contains(" instruction ") { "trap".to_owned() } else { reason.clone() };
        node.drops.iter().map(|(why, count)| ((name.clone(), reason(why)), *count)).collect::<Vec<_>>()
    };
    let mut all = BTreeMap::new();
    for (key, count) in stats.nodes.iter().flat_map(of) {
        *all.entry(key).or_default() += count;
    }
    all
}

fn first_difference(name: &str, wanted: &[Awaited], packets: &Packets) -> Option<String> {
    for (n, packet) in wanted.iter().enumerate() {
        let there = packets.get(n);
        let is_it = |(time, bytes): &(u64, Vec<u8>)| *bytes == packet.bytes && packet.time_ns.is_none_or(|wanted| wanted == *time);
        if !there.is_some_and(is_it) {
            let there = there.map_or("nothing".to_owned(), |(time, bytes)| timed(*time, bytes, packet.time_ns.is_some()));
            let awaited = timed(packet.time_ns.unwrap_or(0), &packet.bytes, packet.time_ns.is_some());
            let place = place(packet.line, &packet.case);
            return Some(format!("{place}, {name}: expected\n  {awaited}\nbut there was\n  {there}"));
        }
    }
    packets.get(wanted.len()).map(|(time, bytes)| format!("{name}: one more packet than expected:\n  {}", timed(*time, bytes, true)))
}

fn timed(time: u64, bytes: &[u8], with_time: bool) -> String {
    match with_time {
        true => format!("{} @ {}.{:09}", shown(bytes), time / 1_000_000_000, time % 1_000_000_000),
        false => shown(bytes),
    }
}

/// Bytes for people.
pub fn shown(bytes: &[u8]) -> String {
    let word = |word: &[u8]| word.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    bytes.chunks(4).map(word).collect::<Vec<_>>().join(" ")
}
