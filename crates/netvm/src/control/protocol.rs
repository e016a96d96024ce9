//! Lines of JSON: a request a line, an answer a line, in order.
//!
//! The server begins: `{"netvm":"0.1.0","protocol":1}`. A request is an object with `op` and, as
//! that needs, `handler`, `text` and `requests`; what `id` it has comes back with the answer. An
//! answer has `ok` or `error`.
//!
//! | op | what it does | `ok` is |
//! |---|---|---|
//! | `elements` | | a list: `name`, `class`, `handlers` with `name`, `read`, `write` |
//! | `read` | reads `handler`, asked `text` | its value |
//! | `write` | writes `text` to `handler` | `null` |
//! | `batch` | does all `requests`, with no packet between them, up to the first that fails; with `atomic` all of them or none | a list of their answers |
//! | `why` | the last packets that `filter` takes, if it is there, at most `most` of them (20), and where how many ended | `recorded`, `matched`, `ends`, `packets` ([`why`]) |
//! | `stats` | | what `netvm run --json` prints, with `threads`, and the `stage` of elements |
//! | `replace` | puts the configuration `text`, of `file` if that is there, in the place of the one that runs, with `parameters` by name; with `plan` true only tells. It is read and compiled before, while packets flow (but in a batch) | `kept`, `made`, `gone`, `tables`, `entries_lost`, `packets_lost`, `pause_us`, `prepared_ms`, `faults` |
//! | `place` | places the configuration that runs as `place` says: `rtc:N`, `pipeline`, and what else `--place` takes; with `plan` true only tells | as `replace` |
//! | `threads` | | `threads` as in `stats`, `replicas` as of `replicas` |
//! | `move` | lets `thread` run on `core` only, or, if that is null, on any | `pause_us`: for how long it did nothing else |
//! | `replicas` | lets `replicas` replicas get packets, if it is there, or with "auto" as many as the load needs | `active`, `wanted`, `pause_us`, `made_ms`, `auto`; null without replicas |
//! | `flow` | lets packets go to replicas by the function `flow`, if it is there: any, addresses, header, source, destination, tuple | `active`, `wanted`; null without replicas |
//! | `stop` | asks for the end of the run | `null` |

use super::error::RequestError;
use super::undo::Before;
use super::{Controlled, Line, Preparation, read_line, statistics, threads, why};
use crate::application::builtin::ElementHandler;
use crate::application::{Described, Flow, Replaced, Succession, Version};
use serde_json::{Value, json};
use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Instant;

/// The protocol's version: what is added does not change it.
pub const VERSION: u32 = 1;
/// Packets that `why` tells of, if nothing else is said.
const USUAL: usize = 20;

pub(super) fn serve(from: &mut impl BufRead, mut to: impl Write, line: &Line) -> io::Result<()> {
    let begun = line.begun;
    writeln!(to, "{}", json!({ "netvm": env!("CARGO_PKG_VERSION"), "protocol": VERSION }))?;
    while let Some(text) = read_line(from) {
        let goes_on = match serde_json::from_str::<Value>(&text) {
            Ok(request) if is_prepared(&request) => replace_beside(&mut to, request, line)?,
            Ok(request) => line.answer(&mut to, move |target| told(answer(&request, target, begun)))?,
            Err(error) => line.answer(&mut to, move |_| told(json!({ "error": format!("not JSON: {error}") })))?,
        };
        if !goes_on {
            break;
        }
    }
    Ok(())
}

fn told(answer: Value) -> String {
    answer.to_string() + "\n"
}

/// Whether what is asked for is prepared before it is done.
fn is_prepared(request: &Value) -> bool {
    matches!(request.get("op").and_then(Value::as_str), Some("replace" | "place"))
}

/// What prepares the version, or the placement, that is asked for.
fn preparation(request: &Value, target: &mut dyn Controlled) -> Result<Preparation, RequestError> {
    let plan = is_plan(request);
    if request.get("op").and_then(Value::as_str) == Some("place") {
        let place = request.get("place").and_then(Value::as_str).ok_or("the request names no placement")?;
        return Ok(target.rearrangement(place.to_owned(), plan)?);
    }
    Ok(target.preparation(version(request)?, plan)?)
}

/// Another version, or placement, is read and compiled here, on the connection's thread, while
/// packets flow, and takes its place when it is ready. False if the run is over.
fn replace_beside(to: &mut impl Write, request: Value, line: &Line) -> io::Result<bool> {
    let (sender, receiver) = mpsc::channel();
    let (plan, wanted) = (is_plan(&request), request.clone());
    let asked = line.ask(move |target| {
        // Who asked waits.
        let _ = sender.send(preparation(&wanted, target));
        String::new()
    });
    let (Some(_), Ok(preparation)) = (asked, receiver.recv()) else { return Ok(false) };
    let prepared = preparation.and_then(|prepare| Ok(prepare()?));
    line.answer(to, move |target| {
        let done = prepared.and_then(|prepared| Ok(target.succeed(prepared, plan)?));
        told(numbered(done.map(replaced), &request))
    })
}

/// The answer to a request, with the request's `id`.
fn answer(request: &Value, target: &mut dyn Controlled, begun: Instant) -> Value {
    numbered(done(request, target, begun), request)
}

fn numbered(done: Result<Value, RequestError>, request: &Value) -> Value {
    let mut answer = match done {
        Ok(value) => json!({ "ok": value }),
        Err(why) => json!({ "error": why.to_string() }),
    };
    if let Some(id) = request.get("id") {
        answer["id"] = id.clone();
    }
    answer
}

fn done(request: &Value, target: &mut dyn Controlled, begun: Instant) -> Result<Value, RequestError> {
    let text = |name: &str| request.get(name).and_then(Value::as_str);
    let handler = || text("handler").ok_or("the request names no handler");
    match text("op") {
        Some("read") => Ok(target.graph().read(handler()?, text("text").unwrap_or("")).map(Value::String)?),
        Some("write") => Ok(target.graph().write(handler()?, text("text").unwrap_or("")).map(|()| Value::Null)?),
        Some("elements") => Ok(elements(target)),
        Some("stats") => Ok(statistics(target, begun)),
        Some("why") => {
            let packets = target
                .recorded()
                .ok_or("packets are not recorded: the run was started with --record=0, or has more than 10,000 elements")?;
            let most = request.get("most").and_then(Value::as_u64).and_then(|most| usize::try_from(most).ok());
            Ok(why::answer(packets, text("filter"), most.unwrap_or(USUAL))?)
        }
        Some("replace" | "place") => {
            let prepared = preparation(request, target)?()?;
            Ok(replaced(target.succeed(prepared, is_plan(request))?))
        }
        Some("threads") => Ok(json!({ "threads": threads::threads(&target.threads()), "replicas": replicas(target) })),
        Some("move") => move_thread(request, text("thread").ok_or("the request names no thread")?, target),
        Some("replicas") => change_replicas(request, target),
        Some("flow") => change_flow(text("flow"), target),
        Some("stop") => {
            target.stop();
            Ok(Value::Null)
        }
        Some("batch") => batch(request, target, begun),
        Some(other) => Err(RequestError::Malformed(format!(
            "no op '{other}'; there are elements, read, write, batch, stats, why, replace, place, threads, move, replicas, flow, stop"
        ))),
        None => Err("the request has no op".into()),
    }
}

/// How many replicas there are; null without.
fn replicas(target: &dyn Controlled) -> Value {
    target.replicas().map_or(Value::Null, |now| threads::replicas(now, target.planned()))
}

/// Changes their number, or lets it follow the load, if that is asked for.
fn change_replicas(request: &Value, target: &mut dyn Controlled) -> Result<Value, RequestError> {
    match request.get("replicas") {
        None => {}
        Some(wanted) if wanted == "auto" => target.plan_replicas()?,
        Some(wanted) => {
            let wanted = wanted.as_u64().and_then(|wanted| usize::try_from(wanted).ok()).ok_or("replicas is a number, or \"auto\"")?;
            target.set_replicas(wanted)?;
        }
    }
    Ok(replicas(target))
}

/// Which replica has a packet, after a change if one is asked for.
fn change_flow(wanted: Option<&str>, target: &mut dyn Controlled) -> Result<Value, RequestError> {
    if let Some(name) = wanted {
        let names = || Flow::NAMED.map(|(name, _)| name).join(", ");
        target.set_flow(
            Flow::named(name).ok_or_else(|| RequestError::Malformed(format!("no flow function '{name}'; there are {}", names())))?,
        )?;
    }
    Ok(target.flows().map_or(Value::Null, |now| json!({ "active": now.active.name(), "wanted": now.wanted.name() })))
}

fn move_thread(request: &Value, thread: &str, target: &mut dyn Controlled) -> Result<Value, RequestError> {
    let core = match request.get("core") {
        None | Some(Value::Null) => None,
        Some(core) => Some(core.as_u64().and_then(|core| usize::try_from(core).ok()).ok_or("core is a number, or null")?),
    };
    let pause = target.move_thread(thread, core)?;
    Ok(json!({ "pause_us": pause.as_nanos() as f64 / 1e3 }))
}

/// The version that a request has.
fn version(request: &Value) -> Result<Version, RequestError> {
    let text = request.get("text").and_then(Value::as_str).ok_or("the request has no text")?;
    let given = request.get("parameters").and_then(Value::as_object).into_iter().flatten();
    let parameters = given.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect();
    let file = request.get("file").and_then(Value::as_str).map(PathBuf::from);
    Ok(Version { text: text.to_owned(), file, parameters })
}

fn is_plan(request: &Value) -> bool {
    request.get("plan").and_then(Value::as_bool).unwrap_or(false)
}

fn replaced(Replaced { succession, pause, prepared, faults }: Replaced) -> Value {
    let Succession { kept, made, gone, tables, entries_lost, packets_lost } = succession;
    let faults: Vec<String> = faults.into_iter().map(|fault| fault.message()).collect();
    let (pause, prepared) = (pause.as_micros() as u64, prepared.as_micros() as f64 / 1e3);
    json!({ "kept": kept, "made": made, "gone": gone, "tables": tables, "entries_lost": entries_lost, "packets_lost": packets_lost, "pause_us": pause, "prepared_ms": prepared, "faults": faults })
}

/// Requests up to the first that fails. A batch in a batch is refused. With `"atomic":true` they
/// are writes that can be taken back, and are where one fails.
fn batch(request: &Value, target: &mut dyn Controlled, begun: Instant) -> Result<Value, RequestError> {
    let requests = request.get("requests").and_then(Value::as_array).ok_or("a batch has a list of requests")?;
    let atomic = request.get("atomic").and_then(Value::as_bool).unwrap_or(false);
    let before = if atomic { Some(Before::of(requests, target)?) } else { None };
    let mut answers = Vec::with_capacity(requests.len());
    for request in requests {
        let is_batch = request.get("op").and_then(Value::as_str) == Some("batch");
        let mut one = if is_batch { json!({ "error": "a batch has no batches" }) } else { answer(request, target, begun) };
        let failed = one.get("error").and_then(Value::as_str).map(str::to_owned);
        if let (Some(error), Some(before)) = (&failed, &before) {
            let left = before.restore(target);
            let what =
                left.map_or("nothing was written".to_owned(), |why| format!("what was written before could not be taken back: {why}"));
            one["error"] = format!("{error}; {what}").into();
        }
        answers.push(one);
        if failed.is_some() {
            break;
        }
    }
    Ok(Value::Array(answers))
}

fn elements(target: &mut dyn Controlled) -> Value {
    let element = |Described { name, class, handlers }: Described| {
        let handler = |it: &ElementHandler| json!({ "name": it.name, "read": it.read, "write": it.write });
        json!({ "name": name, "class": class, "handlers": handlers.iter().map(handler).collect::<Vec<_>>() })
    };
    target.elements().into_iter().map(element).collect()
}
