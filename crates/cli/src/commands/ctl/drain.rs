//! `netvm ctl drain`: sources give no more packets, and the run ends when nothing waits any more.
//!
//! A source is an element with a handler `active` that reads packets; what waits is what handlers
//! `length` of queues say. Left out: packets that elements hold which have no such handler.

use super::{Client, ENDED};
use crate::failure::{Failure, Outcome};
use crate::out::Out;
use netvm::application::builtin;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Between two looks.
const NAP: Duration = Duration::from_millis(50);
/// Looks in a row that find nothing.
const QUIET: u32 = 3;
/// Whether elements of a class give packets.
fn is_source(class: &str) -> bool {
    let facts = builtin::facts(class);
    facts.reads.is_some() || facts.makes
}

pub(super) fn run(client: &mut Client, within: f64, out: &mut Out) -> Outcome {
    if !within.is_finite() || within < 0.0 {
        return Err(Failure::usage("--within takes seconds"));
    }
    let all = client.ask(&json!({ "op": "elements" }))?;
    let has = |it: &Value, name: &str, mode: &str| {
        it["handlers"].as_array().into_iter().flatten().any(|handler| handler["name"] == name && handler[mode] == true)
    };
    let named = |wanted: &dyn Fn(&Value) -> bool| -> Vec<String> {
        let of = all.as_array().into_iter().flatten().filter(|it| wanted(it));
        of.filter_map(|it| it["name"].as_str().map(str::to_owned)).collect()
    };
    let sources = named(&|it| it["class"].as_str().is_some_and(is_source) && has(it, "active", "write"));
    let queues = named(&|it| has(it, "length", "read"));
    for source in &sources {
        client.ask(&json!({ "op": "write", "handler": format!("{source}.active"), "text": "false" }))?;
    }
    out.line(&format!("draining: {} give no more packets", sources.join(", ")))?;
    out.flush()?;
    match wait(client, &queues, within) {
        Ok(0) => out.line("nothing waits; the run ends"),
        Ok(left) => out.line(&format!("{left} packets still wait after {within} s; the run ends")),
        // A run that has nothing more to do ends by itself.
        Err(failure) if failure.message() == ENDED => out.line("nothing waits; the run ends"),
        Err(failure) => Err(failure),
    }
}

/// Waits until nothing waits in queues any more, or so many seconds, and ends the run: how many
/// packets wait then.
fn wait(client: &mut Client, queues: &[String], within: f64) -> Outcome<u64> {
    let begun = Instant::now();
    let (mut quiet, mut waiting) = (0, 0);
    while quiet < QUIET && begun.elapsed().as_secs_f64() < within {
        std::thread::sleep(NAP);
        waiting = 0;
        for queue in queues {
            waiting += client.value(&format!("{queue}.length"))?.trim().parse::<u64>().unwrap_or(0);
        }
        quiet = if waiting == 0 { quiet + 1 } else { 0 };
    }
    client.ask(&json!({ "op": "stop" }))?;
    Ok(waiting)
}
