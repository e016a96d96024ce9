//! `netvm ctl replace` and `place`: another version of the configuration that runs, and another
//! placement.

use super::Client;
use crate::commands::run::search;
use crate::failure::{self, Failure, Outcome};
use crate::out::Out;
use serde_json::{Map, Value, json};
use std::path::Path;

/// What is asked for.
pub(super) struct Asked<'a> {
    pub file: &'a Path,
    pub parameters: &'a [String],
    pub plan: bool,
    pub json: bool,
}

/// Replaces, and tells what became of the elements.
pub(super) fn tell(client: &mut Client, asked: &Asked<'_>, out: &mut Out) -> Outcome {
    let file = search::configuration(asked.file)?;
    let told = |error: std::io::Error| Failure::failed(format_args!("{}: {error}", file.display()));
    let text = std::fs::read_to_string(&file).map_err(told)?;
    // The run may be in another folder.
    let place = std::fs::canonicalize(&file).map_err(told)?;
    let mut parameters = Map::new();
    for given in asked.parameters {
        let (name, value) = given.split_once('=').ok_or_else(|| Failure::usage(format_args!("expected NAME=VALUE, not '{given}'")))?;
        parameters.insert(name.to_owned(), value.into());
    }
    let answer = client.ask(&json!({ "op": "replace", "text": text, "file": place, "parameters": parameters, "plan": asked.plan }))?;
    for fault in answer["faults"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        failure::warning(fault);
    }
    if asked.json {
        return out.json(&answer);
    }
    out.put(&shown(&answer, asked.plan))
}

/// Places in another way, and tells what became of the elements.
pub(super) fn place(client: &mut Client, place: &str, (plan, json): (bool, bool), out: &mut Out) -> Outcome {
    // The run may be in another folder.
    let file = std::fs::canonicalize(place).ok().filter(|file| file.is_file());
    let place = file.map_or_else(|| place.into(), |file| Value::from(file.to_string_lossy()));
    let answer = client.ask(&json!({ "op": "place", "place": place, "plan": plan }))?;
    for fault in answer["faults"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        failure::warning(fault);
    }
    if json { out.json(&answer) } else { out.put(&shown(&answer, plan)) }
}

fn shown(answer: &Value, plan: bool) -> String {
    let names = |what: &str| answer[what].as_array().into_iter().flatten().filter_map(Value::as_str).collect::<Vec<_>>();
    let number = |what: &str| answer[what].as_u64().unwrap_or(0);
    let mut text = format!("{} elements {}\n", names("kept").len(), if plan { "would go on" } else { "went on" });
    for (what, words) in [("made", ["made", "would be made"]), ("gone", ["gone", "would be gone"])] {
        names(what).iter().for_each(|name| text += &format!("{}: {name}\n", words[usize::from(plan)]));
    }
    for (table, entries) in answer["tables"].as_object().into_iter().flatten() {
        text += &format!("kept: {table}, {entries} entries\n");
    }
    if !plan {
        for (what, words) in [("entries_lost", "entries had no room"), ("packets_lost", "packets in queues were lost")] {
            if number(what) > 0 {
                text += &format!("{} {words}\n", number(what));
            }
        }
        let prepared = answer["prepared_ms"].as_f64().unwrap_or(0.0);
        text += &format!("pause {:.3} ms, prepared in {prepared:.1} ms while packets flowed\n", number("pause_us") as f64 / 1000.0);
    }
    text
}
