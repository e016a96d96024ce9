//! `netvm verify`: whether a program may run, and what it may touch.

use crate::failure::{Failure, Outcome};
use crate::input::shown;
use crate::out::Out;
use netvm::netil::Verified;
use netvm::netil::module::HandlerKind;
use netvm::{Error, load};
use serde::Serialize;
use std::path::PathBuf;

/// Check that a program may run: types, stack, memories, ports, termination of every path
///
/// Prints what the program is and what it may touch. If it is refused, every check that failed is
/// told, and the exit status is 1.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Binary module or NetIL source, - for standard input
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    input: PathBuf,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What is known of a verified program.
#[derive(Serialize)]
struct Report {
    file: String,
    verified: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    program: Option<Program>,
}

#[derive(Serialize)]
struct Program {
    name: String,
    /// A filter: its verdict depends on the packet alone, and it leaves no trace.
    filter: bool,
    ports: Vec<Port>,
    handlers: Vec<Handler>,
    data_bytes: u32,
    info_bytes: u32,
    shared_bytes: u32,
    initialised_bytes: usize,
    sets: usize,
    coprocessors: Vec<String>,
    touches: Vec<&'static str>,
}

#[derive(Serialize)]
struct Port {
    id: u32,
    name: String,
    kind: &'static str,
}

#[derive(Serialize)]
struct Handler {
    kind: &'static str,
    instructions: usize,
    inlined: u32,
    max_stack: u32,
    locals: usize,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let file = shown(&args.input);
    let result = load::module(&args.input).and_then(|module| load::verify(module, &file));
    let mut out = Out::new();
    match (result, args.json) {
        (Ok(program), true) => out.json(&Report { file, verified: true, errors: Vec::new(), program: Some(describe(&program)) })?,
        (Ok(program), false) => out.put(&text(&file, &describe(&program)))?,
        (Err(error), true) => {
            out.json(&Report { file, verified: false, errors: messages(&error), program: None })?;
            out.flush()?;
            return Err(Failure::told());
        }
        (Err(error), false) => return Err(error.into()),
    }
    out.flush()
}

fn messages(error: &Error) -> Vec<String> {
    match error {
        Error::Verify { errors, .. } => errors.iter().map(ToString::to_string).collect(),
        Error::Source(errors) => errors.errors.iter().map(|e| format!("line {}, column {}: {}", e.line, e.column, e.message)).collect(),
        other => vec![other.to_string()],
    }
}

fn describe(program: &Verified) -> Program {
    let module = program.module();
    let kind = |k| netvm::netil::module::PortKind::ALL.iter().find(|(known, _)| *known == k).map_or("", |(_, name)| *name);
    let handler = |k| {
        program.handler(k).map(|(handler, facts)| Handler {
            kind: k.name(),
            instructions: handler.code.len(),
            inlined: facts.inlined_code,
            max_stack: handler.max_stack,
            locals: handler.locals.len(),
        })
    };
    Program {
        name: module.name.clone(),
        filter: program.is_filter(),
        ports: module.all_ports().into_iter().map(|(id, p)| Port { id, name: p.name, kind: kind(p.kind) }).collect(),
        handlers: HandlerKind::ALL.into_iter().filter_map(handler).collect(),
        data_bytes: module.data_size,
        info_bytes: module.info_size,
        shared_bytes: module.shared_size(),
        initialised_bytes: module.data.len(),
        sets: module.sets.len(),
        coprocessors: module.coprocessors.iter().map(|c| c.name.clone()).collect(),
        touches: touches(program),
    }
}

fn touches(program: &Verified) -> Vec<&'static str> {
    let uses = program.uses();
    let all = [
        (uses.packet_writes, "packet bytes"),
        (uses.geometry, "packet length"),
        (uses.info, "info memory"),
        (uses.state, "data memory, shared memory or coprocessors"),
        (uses.clones, "copies of packets"),
        (uses.wire_len, "length on the wire"),
        (uses.time, "time"),
        (uses.random, "random numbers"),
    ];
    all.into_iter().filter(|(used, _)| *used).map(|(_, what)| what).collect()
}

fn text(file: &str, program: &Program) -> String {
    let name = if program.name.is_empty() { String::new() } else { format!(" ({})", program.name) };
    let what = match (program.filter, program.ports.len()) {
        (true, 2) => "a filter",
        (true, _) => "keeps no state",
        (false, _) => "a program with state or effects on packets",
    };
    let mut out = format!("{file}{name}: verified, {what}\n");
    for port in &program.ports {
        out += &format!("  port {}  {} {}\n", port.id, port.kind, port.name);
    }
    for h in &program.handlers {
        let inlined = if h.inlined as usize > h.instructions { format!(" ({} with calls inlined)", h.inlined) } else { String::new() };
        out += &format!("  .{:<6} {} instructions{inlined}, stack {}, locals {}\n", h.kind, h.instructions, h.max_stack, h.locals);
    }
    let memories = [
        ("data", u64::from(program.data_bytes)),
        ("info", u64::from(program.info_bytes)),
        ("shared", u64::from(program.shared_bytes)),
        ("initialised", program.initialised_bytes as u64),
    ];
    for (memory, size) in memories.into_iter().filter(|(_, size)| *size > 0) {
        out += &format!("  memory  {memory}: {size} bytes\n");
    }
    if program.sets > 0 {
        out += &format!("  sets    {}\n", program.sets);
    }
    for c in &program.coprocessors {
        out += &format!("  uses    coprocessor {c}\n");
    }
    for what in &program.touches {
        out += &format!("  touches {what}\n");
    }
    out
}
