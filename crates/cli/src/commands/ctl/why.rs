//! `netvm ctl why`: where packets went, and why.

use super::{Client, socket_of};
use crate::failure::{Failure, Outcome};
use crate::out::Out;
use crate::print::{Packet, Printer, Style, Zone};
use netvm::control::why;
use netvm::io::Timestamp;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// What is asked.
pub(super) struct Asked<'a> {
    pub(super) filter: &'a [String],
    pub(super) packets: usize,
    pub(super) file: Option<&'a Path>,
    pub(super) json: bool,
}

/// Asks a run, or what one wrote when it crashed, and prints the answer.
pub(super) fn tell(socket: Option<&PathBuf>, asked: &Asked<'_>, out: &mut Out) -> Outcome {
    let filter = Some(asked.filter.join(" ")).filter(|text| !text.trim().is_empty());
    let answer = match asked.file {
        Some(file) => why::answer(read(file)?, filter.as_deref(), asked.packets)?,
        None => {
            let mut request = json!({ "op": "why", "most": asked.packets });
            if let Some(filter) = filter {
                request["filter"] = Value::String(filter);
            }
            Client::connect(&socket_of(socket)?)?.ask(&request)?
        }
    };
    if asked.json { out.json(&answer) } else { print(&answer, out) }
}

fn read(file: &Path) -> Outcome<Vec<Value>> {
    let told = |why: &dyn std::fmt::Display| Failure::failed(format_args!("{}: {why}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| told(&error))?;
    match serde_json::from_str(&text) {
        Ok(Value::Array(packets)) => Ok(packets),
        Ok(_) => Err(told(&"not what a run writes when it crashes")),
        Err(error) => Err(told(&error)),
    }
}

fn print(answer: &Value, out: &mut Out) -> Outcome {
    let rest = if answer["sampled"] == true { " (more came than are recorded: --record records all)" } else { "" };
    out.line(&format!("{} of the last {} packets match{rest}", answer["matched"], answer["recorded"]))?;
    let ends: Vec<&Value> = answer["ends"].as_array().into_iter().flatten().collect();
    let wide = ends.iter().map(|end| end["packets"].to_string().len()).max().unwrap_or(0);
    for end in ends {
        out.line(&format!("  {:>wide$} {}{}", end["packets"].to_string(), element(end), reason(end)))?;
    }
    for packet in answer["packets"].as_array().into_iter().flatten() {
        out.line("")?;
        out.line(&line(packet))?;
        let way = packet["way"].as_array().into_iter().flatten();
        let way: Vec<&str> = way.map(|name| name.as_str().unwrap_or("…")).collect();
        out.line(&format!("  {}{}", way.join(" → "), reason(packet)))?;
    }
    Ok(())
}

fn element(of: &Value) -> String {
    let text = |name: &str| of[name].as_str().unwrap_or_default();
    if text("element").is_empty() {
        "not come to an element yet, or to one that is no more".to_owned()
    } else {
        format!("{} :: {}", text("element"), text("class"))
    }
}

fn reason(of: &Value) -> String {
    of["dropped"].as_str().map_or_else(String::new, |reason| format!("  dropped: {reason}"))
}

/// The packet as it arrived, or was made.
pub(crate) fn line(packet: &Value) -> String {
    let number = packet["packet"].as_u64().unwrap_or(0);
    let thread = |name: &str| packet[name].as_str().map_or_else(String::new, |thread| format!(" of {thread}"));
    let copy = packet["copy_of"].as_u64().map_or_else(String::new, |of| format!(", a copy of {of}{}", thread("copy_of_thread")));
    let copy = thread("thread") + &copy;
    let Some((bytes, link, wire_len)) = why::bytes(packet) else { return format!("Packet {number}{copy}") };
    let time = packet["time_ns"].as_u64().unwrap_or(0);
    let time = Timestamp::from_nanos((time / 1_000_000_000) as i64, (time % 1_000_000_000) as u32);
    let mut printer = Printer::new(Style::default(), Zone::system());
    format!("Packet {number}{copy}: {}", printer.print(&Packet { bytes: &bytes, wire_len, link, time, number }).trim_end())
}
