//! `netvm trace PROGRAM.p4`: what happens to packets in a P4 program.

use super::merge::{Arrival, Merge};
use super::ports::{self, PortFile};
use super::switch::numbered;
use crate::commands::p4;
use crate::failure::{self, Failure, Outcome};
use crate::print::{Packet, Printer, Style, Zone};
use crate::signals::Signals;
use netvm::io::Timestamp;
use netvm::p4::{Event, MarkKind, Pass, Switch};
use netvm::{Settings, engines};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// What P4 programs need of `netvm trace`.
#[derive(clap::Args)]
pub(crate) struct P4Args {
    /// Of a P4 program: a capture that arrives at a port
    #[arg(long = "in", value_name = "PORT=IN", value_parser = ports::parse)]
    inputs: Vec<PortFile>,

    /// Of a P4 program: entries of its tables, groups and sessions, see docs/p4.md
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    entries: Option<PathBuf>,

    #[command(flatten)]
    reading: p4::ReadingArgs,
}

impl P4Args {
    /// Parsers and controls of a program as graphs.
    pub(crate) fn charts(&self, path: &Path) -> Outcome<Vec<netvm::p4::Chart>> {
        self.reading.charts(path)
    }

    /// What is for P4 programs only, if anything of that is given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let only = [("--in", !self.inputs.is_empty()), ("--entries", self.entries.is_some())];
        only.into_iter().find(|(_, given)| *given).map(|(what, _)| what)
    }
}

/// Which packets, and how they are told.
pub(crate) struct Wanted<'a> {
    pub read: Option<&'a Path>,
    pub number: Option<u64>,
    pub filter: Option<&'a str>,
    pub most: u64,
    pub json: bool,
}

/// Runs the packets and tells what happens to those that are wanted.
pub(crate) fn run(args: &P4Args, program: &Path, wanted: &Wanted<'_>) -> Outcome {
    let pipeline = args.reading.load_traced(program)?;
    let mut inputs = numbered(&args.inputs, pipeline.last_port)?;
    inputs.extend(wanted.read.map(|path| (0, path.to_path_buf())));
    if inputs.is_empty() {
        return Err(Failure::usage("say which packets: -r IN, or --in PORT=IN"));
    }
    let filter = wanted.filter.map(|text| netvm::Filter::new(text, &engines::ALL[1])).transpose()?;
    let mut switch = Switch::start(pipeline, &engines::ALL[0], Settings::default())?;
    if let Some(path) = &args.entries {
        p4::fill(&mut switch, &args.reading, program, path)?;
    }
    let signals = Signals::watch()?;
    let mut merge = Merge::open(&inputs)?;
    let (mut arrivals, mut number, mut told) = (Vec::new(), 0, 0);
    let mut filter = filter;
    while !signals.stop() && told < wanted.most && wanted.number.is_none_or(|n| number < n) {
        merge.next(super::BURST, &mut arrivals, &signals, &mut || Ok(()))?;
        if arrivals.is_empty() {
            break;
        }
        for arrival in &arrivals {
            number += 1;
            if told < wanted.most && chosen(wanted, filter.as_mut(), number, arrival)? {
                tell(&mut switch, number, arrival, wanted.json, told > 0)?;
                told += 1;
            } else {
                switch.receive(arrival.port, arrival.buffer().bytes(), arrival.time_ns());
            }
        }
    }
    signals.result()?;
    match (told, wanted.number) {
        (0, Some(wanted)) => Err(Failure::failed(format_args!("there is no packet {wanted}: {number} arrived"))),
        (0, None) => {
            failure::warning(format_args!("none of {number} packets was chosen"));
            Ok(())
        }
        _ if merge.is_whole() => Ok(()),
        _ => Err(Failure::told()),
    }
}

/// Runs all packets; where they went. `None` where none are given.
pub(crate) fn traffic(args: &P4Args, program: &Path, read: Option<&Path>) -> Outcome<Option<netvm::p4::Traffic>> {
    if args.inputs.is_empty() && read.is_none() {
        return Ok(None);
    }
    let pipeline = args.reading.load_traced(program)?;
    let mut inputs = numbered(&args.inputs, pipeline.last_port)?;
    inputs.extend(read.map(|path| (0, path.to_path_buf())));
    let mut switch = Switch::start(pipeline, &engines::ALL[1], Settings::default())?;
    if let Some(path) = &args.entries {
        p4::fill(&mut switch, &args.reading, program, path)?;
    }
    let signals = Signals::watch()?;
    let mut merge = Merge::open(&inputs)?;
    let (mut arrivals, mut number, mut traffic) = (Vec::new(), 0, netvm::p4::Traffic::default());
    while !signals.stop() {
        merge.next(super::BURST, &mut arrivals, &signals, &mut || Ok(()))?;
        if arrivals.is_empty() {
            break;
        }
        for arrival in &arrivals {
            number += 1;
            let (_, passes) = switch.follow(number, arrival.port, arrival.buffer().bytes(), arrival.time_ns());
            traffic.note(arrival.time_ns(), &passes);
        }
    }
    signals.result()?;
    if merge.is_whole() { Ok(Some(traffic)) } else { Err(Failure::told()) }
}

fn chosen(wanted: &Wanted<'_>, filter: Option<&mut netvm::Filter>, number: u64, arrival: &Arrival) -> Outcome<bool> {
    match (wanted.number, filter) {
        (Some(n), _) => Ok(n == number),
        (None, Some(filter)) => {
            let buffer = arrival.buffer();
            Ok(filter.matches(arrival.link, buffer.bytes(), buffer.wire_len())?)
        }
        (None, None) => Ok(true),
    }
}

fn tell(switch: &mut Switch, number: u64, arrival: &Arrival, json: bool, more: bool) -> Outcome {
    let buffer = arrival.buffer();
    let (_, passes) = switch.follow(number, arrival.port, buffer.bytes(), arrival.time_ns());
    let line = line(number, arrival);
    let text = if json { as_json(number, arrival, &line, &passes) + "\n" } else { as_text(number, &line, &passes, more) };
    let mut out = anstream::stdout().lock();
    std::io::Write::write_all(&mut out, text.as_bytes())?;
    Ok(std::io::Write::flush(&mut out)?)
}

/// The packet as it arrived.
fn line(number: u64, arrival: &Arrival) -> String {
    let (buffer, time) = (arrival.buffer(), arrival.time_ns());
    let packet = Packet {
        bytes: buffer.bytes(),
        wire_len: buffer.wire_len(),
        link: arrival.link,
        time: Timestamp::from_nanos((time / 1_000_000_000) as i64, (time % 1_000_000_000) as u32),
        number,
    };
    Printer::new(Style::default(), Zone::system()).print(&packet).trim_end().to_owned()
}

fn as_text(number: u64, line: &str, passes: &[Pass], more: bool) -> String {
    let bold = anstyle::Style::new().bold();
    let mut text = if more { "\n".to_owned() } else { String::new() };
    let _ = writeln!(text, "{bold}Packet {number}{bold:#}: {line}");
    let places = passes.iter().flat_map(|p| &p.events).map(|e| file_less(&e.place).chars().count());
    let wide = places.max().unwrap_or(0).min(40);
    for pass in passes {
        let _ = writeln!(text, "  {} {} [{}] {}", pass.packet, pass.part, pass.port, pass.cause);
        for event in &pass.events {
            let _ = writeln!(text, "    {:<wide$}  {}{}", file_less(&event.place), indent(event.kind), said(event));
        }
        let end = if pass.end.starts_with("dropped") { anstyle::AnsiColor::Red.on_default() } else { anstyle::Style::new() };
        let _ = writeln!(text, "    {:<wide$}  {end}→ {}{end:#}", "", pass.end);
    }
    text
}

/// A place without folders.
fn file_less(place: &str) -> &str {
    place.rsplit('/').next().unwrap_or(place)
}

fn indent(kind: MarkKind) -> &'static str {
    match kind {
        MarkKind::Enter => "",
        MarkKind::State | MarkKind::Table(_) | MarkKind::Branch(_) | MarkKind::Exit => "  ",
        _ => "    ",
    }
}

fn said(event: &Event) -> String {
    let pairs = |all: &[(String, String)]| all.iter().map(|(n, v)| format!("{n}={v}")).collect::<Vec<_>>().join(" ");
    // A header's fields without the name of the header.
    let short = |name: &str| name.strip_prefix(event.name.as_str()).map_or(name, |rest| rest.trim_start_matches('.')).to_owned();
    let own = |all: &[(String, String)]| pairs(&all.iter().map(|(n, v)| (short(n), v.clone())).collect::<Vec<_>>());
    match event.kind {
        MarkKind::Enter => event.name.clone(),
        MarkKind::State => format!("state {}", event.name),
        MarkKind::Extract => format!("extract {}: {}", event.name, own(&event.values)),
        MarkKind::Error => format!("error {}", event.detail),
        MarkKind::Table(_) => format!("table {}: {}", event.name, pairs(&event.values)),
        MarkKind::Hit => format!("hit {}", event.detail),
        MarkKind::Miss => "miss".to_owned(),
        MarkKind::Action => {
            format!("action {}({})", event.name, event.values.iter().map(|(n, v)| format!("{n}={v}")).collect::<Vec<_>>().join(", "))
        }
        MarkKind::Assign if event.changes.is_empty() => format!("{} unchanged", event.name),
        MarkKind::Assign => event.changes.iter().map(|(n, b, a)| format!("{n} {b} → {a}")).collect::<Vec<_>>().join(", "),
        MarkKind::Branch(yes) => format!("if ({}): {yes}", event.name),
        MarkKind::Call if event.values.is_empty() => event.name.clone(),
        MarkKind::Call => format!("{}: {}", event.name, pairs(&event.values)),
        MarkKind::Emit => format!("emit {}: {}", event.name, pairs(&event.values)),
        MarkKind::Exit => "exit".to_owned(),
        MarkKind::Dropped => "egress_spec is 511".to_owned(),
        MarkKind::Log => format!("says: {}", event.detail),
    }
}

fn as_json(number: u64, arrival: &Arrival, line: &str, passes: &[Pass]) -> String {
    let event = |e: &Event| {
        let mut json = serde_json::Map::new();
        json.insert("kind".to_owned(), kind(e.kind).into());
        json.insert("name".to_owned(), e.name.clone().into());
        json.insert("place".to_owned(), e.place.clone().into());
        if !e.values.is_empty() {
            let values: serde_json::Map<_, _> = e.values.iter().map(|(n, v)| (n.clone(), v.clone().into())).collect();
            json.insert("values".to_owned(), values.into());
        }
        if !e.changes.is_empty() {
            let change =
                |(field, before, after): &(String, String, String)| serde_json::json!({"field": field, "before": before, "after": after});
            json.insert("changes".to_owned(), e.changes.iter().map(change).collect());
        }
        match e.kind {
            MarkKind::Branch(yes) => drop(json.insert("taken".to_owned(), yes.into())),
            MarkKind::Hit => drop(json.insert("entry".to_owned(), e.detail.clone().into())),
            MarkKind::Log => drop(json.insert("message".to_owned(), e.detail.clone().into())),
            MarkKind::Error => drop(json.insert("error".to_owned(), e.detail.clone().into())),
            _ => {}
        }
        serde_json::Value::Object(json)
    };
    let pass = |p: &Pass| {
        let events: Vec<_> = p.events.iter().map(event).collect();
        serde_json::json!({"packet": p.packet, "part": p.part, "port": p.port, "cause": p.cause, "events": events, "end": p.end})
    };
    let steps: Vec<_> = passes.iter().map(pass).collect();
    serde_json::json!({"packet": number, "time_ns": arrival.time_ns(), "arrived": line, "steps": steps}).to_string()
}

fn kind(kind: MarkKind) -> &'static str {
    match kind {
        MarkKind::Enter => "enter",
        MarkKind::State => "state",
        MarkKind::Extract => "extract",
        MarkKind::Error => "error",
        MarkKind::Table(_) => "table",
        MarkKind::Hit => "hit",
        MarkKind::Miss => "miss",
        MarkKind::Action => "action",
        MarkKind::Assign => "assign",
        MarkKind::Branch(_) => "if",
        MarkKind::Call => "call",
        MarkKind::Emit => "emit",
        MarkKind::Exit => "exit",
        MarkKind::Dropped => "drop",
        MarkKind::Log => "log",
    }
}
