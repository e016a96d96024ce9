//! `netvm trace`: what happens to packets on their way through a configuration.

use super::run::given::Given;
use super::run::{follow, p4trace};
use crate::failure::{self, Failure, Outcome};
use crate::print::{Packet, Printer, Style, Zone};
use crate::signals::Signals;
use anstyle::AnsiColor;
use netvm::application::Application;
use netvm::io::Timestamp;
use netvm::trace::{Change, Chosen, End, Journey, Step, Tracer};
use netvm::{Filter, engines};
use std::fmt::Write as _;
use std::io::Write as _;

/// Tell what happens to packets in a Click configuration, a P4 program, or a NetIL program
///
/// For each chosen packet every element that it met, by which input it came and by which output it
/// left, what the element changed, which copies it sent, and where the packet ended and why. All
/// packets before run as well, so that tables and queues are as the packet finds them. Nothing is
/// written to captures, and what elements print is not shown. Of a P4 program: parser states and
/// extracted fields, tables with keys, entries and actions, changes, externs, copies, and where the
/// packet ended, each with its place in the text. Of a NetIL program: where it sent the packet or
/// why it dropped it, and the bytes that it changed.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  netvm trace router.click -r in.pcap --packet 7
  netvm trace switch.p4 --entries routes.txt --in 0=in.pcap --packet 7
  netvm trace once.netil -r in.pcap --packet 7
  netvm trace nat.click --map lan=lan.pcap --map wan=wan.pcap --filter 'tcp port 80' -c 2")]
pub(crate) struct Args {
    #[command(flatten)]
    given: Given,

    /// The packet to follow, counted from 1 where it arrives
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    packet: Option<u64>,

    /// Follow the packets that this selects when they arrive, see pcap-filter(7)
    #[arg(long, value_name = "EXPR", conflicts_with = "packet")]
    filter: Option<String>,

    /// Follow no more than so many packets
    #[arg(short = 'c', long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    count: u64,

    #[command(flatten)]
    p4: p4trace::P4Args,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Outcome {
    if super::p4::is_program(&args.given.file) {
        return p4_program(args);
    }
    if let Some(what) = args.p4.given() {
        return Err(Failure::usage(format_args!("{what} is for P4 programs")));
    }
    if args.given.is_program() {
        return program(args);
    }
    let (application, settings) = args.given.application()?;
    let names = names(&application);
    let filter = args.filter.as_deref().map(|text| Filter::new(text, &engines::ALL[1])).transpose()?;
    let chosen = Chosen { number: args.packet, filter, most: Some(args.count) };
    let signals = Signals::watch()?;
    let mut tracer = Tracer::new(application, args.given.read.as_deref(), chosen, settings)?;
    while !signals.stop() && tracer.turn()? {}
    let journeys = tracer.journeys();
    show(args, &journeys, &names)?;
    let faults = tracer.finish();
    faults.iter().for_each(|fault| failure::error(fault));
    signals.result()?;
    match (journeys.is_empty(), args.packet, faults.is_empty()) {
        (true, Some(number), _) => Err(Failure::failed(format_args!("there is no packet {number}: {} arrived", tracer.arrived()))),
        (_, _, false) => Err(Failure::told()),
        (true, None, _) => {
            failure::warning(format_args!("none of {} packets was chosen", tracer.arrived()));
            Ok(())
        }
        _ => Ok(()),
    }
}

/// A P4 program: parser states, tables, actions, changes, and copies.
fn p4_program(args: &Args) -> Outcome {
    if let Some(what) = args.given.for_configurations() {
        return Err(Failure::usage(format_args!("{what} is for configurations, and {} is a program", args.given.file.display())));
    }
    let wanted = p4trace::Wanted {
        read: args.given.read.as_deref(),
        number: args.packet,
        filter: args.filter.as_deref(),
        most: args.count,
        json: args.json,
    };
    p4trace::run(&args.p4, &args.given.file, &wanted)
}

/// A NetIL program: what became of packets, and which of their bytes it changed.
fn program(args: &Args) -> Outcome {
    if let Some(what) = args.given.for_configurations() {
        return Err(Failure::usage(format_args!("{what} is for configurations, and {} is a program", args.given.file.display())));
    }
    let read = args.given.read.as_deref().ok_or_else(|| Failure::usage("say which packets: -r IN"))?;
    let wanted = follow::Wanted { number: args.packet, filter: args.filter.as_deref(), most: args.count, json: args.json };
    let (text, whole) = follow::packets(&args.given.file, read, &wanted)?;
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    if whole { Ok(()) } else { Err(Failure::told()) }
}

/// `name :: Class` of each element.
fn names(application: &Application) -> Vec<(String, String)> {
    application.application().instances.iter().map(|i| (i.name.clone(), i.class.clone())).collect()
}

fn show(args: &Args, journeys: &[Journey], names: &[(String, String)]) -> Outcome {
    let mut text = String::new();
    for (n, journey) in journeys.iter().enumerate() {
        if args.json {
            text += &format!("{}\n", json(journey, names));
        } else {
            text += if n > 0 { "\n" } else { "" };
            text += &told(journey, names);
        }
    }
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// The packet as it arrived, a line.
fn arrival(journey: &Journey) -> String {
    let nanoseconds = (journey.time_ns % 1_000_000_000) as u32;
    let packet = Packet {
        bytes: &journey.bytes,
        wire_len: journey.wire_len,
        link: journey.link,
        time: Timestamp::from_nanos((journey.time_ns / 1_000_000_000) as i64, nanoseconds),
        number: journey.number,
    };
    Printer::new(Style::default(), Zone::system()).print(&packet).trim_end().to_owned()
}

/// A journey in columns: packet, input, element, what became of it; below each element what it
/// changed.
fn told(journey: &Journey, names: &[(String, String)]) -> String {
    let bold = anstyle::Style::new().bold();
    let mut text = format!("{bold}Packet {}{bold:#}: {}\n", journey.number, arrival(journey));
    let rows: Vec<_> = journey.steps.iter().map(|step| (step, element(step, names))).collect();
    let width = |cells: &mut dyn Iterator<Item = &str>| cells.map(|cell| cell.chars().count()).max().unwrap_or(0);
    let wide = width(&mut rows.iter().map(|(_, element)| element.as_str())).min(48);
    let number = width(&mut rows.iter().map(|(step, _)| step.packet.as_str()));
    for (step, element) in &rows {
        let input = step.input.map_or_else(String::new, |port| format!("[{port}]"));
        let _ = writeln!(text, "  {:<number$} {input:>4} {element:<wide$}  {}", step.packet, became(step));
        for line in lines(step) {
            let _ = writeln!(text, "  {:number$}        {line}", "");
        }
    }
    text
}

fn element(step: &Step, names: &[(String, String)]) -> String {
    names.get(step.element).map_or_else(String::new, |(name, class)| format!("{name} :: {class}"))
}

fn became(step: &Step) -> String {
    let red = AnsiColor::Red.on_default();
    match &step.end {
        End::Left(port) => format!("→ [{port}]"),
        End::Dropped(reason) => format!("{red}dropped: {reason}{red:#}"),
        End::Kept => "stays here".to_owned(),
        End::Taken => "is held, or ends here".to_owned(),
        End::Written(file) => format!("written to {file}"),
        End::Gone => "ends here".to_owned(),
    }
}

fn lines(step: &Step) -> Vec<String> {
    let bytes = |n: i64| format!("{} byte{}", n.abs(), if n.abs() == 1 { "" } else { "s" });
    let change = |change: &Change| match change {
        Change::Field { name, before, after } if before.is_empty() => format!("{name} {after}"),
        Change::Field { name, before, after } => format!("{name} {before} → {after}"),
        Change::Head(n) if *n < 0 => format!("{} taken off the head", bytes(*n)),
        Change::Head(n) => format!("{} put before the head", bytes(*n)),
        Change::Tail(n) if *n < 0 => format!("{} taken off the tail", bytes(*n)),
        Change::Tail(n) => format!("{} put behind the tail", bytes(*n)),
    };
    let copies = step.copies.iter().map(|(name, port)| format!("copy {name} → [{port}]"));
    let made = step.made.iter().map(|(name, port)| format!("makes {name} → [{port}]"));
    step.changes.iter().map(change).chain(copies).chain(made).collect()
}

fn json(journey: &Journey, names: &[(String, String)]) -> serde_json::Value {
    let step = |step: &Step| {
        let (name, class) = names.get(step.element).cloned().unwrap_or_default();
        let change = |change: &Change| match change {
            Change::Field { name, before, after } => serde_json::json!({ "field": name, "before": before, "after": after }),
            Change::Head(n) => serde_json::json!({ "head": n }),
            Change::Tail(n) => serde_json::json!({ "tail": n }),
        };
        let sent = |(name, port): &(String, u32)| serde_json::json!({ "packet": name, "output": port });
        let (end, detail) = match &step.end {
            End::Left(port) => ("left", serde_json::json!(port)),
            End::Dropped(reason) => ("dropped", serde_json::json!(reason)),
            End::Kept => ("kept", serde_json::Value::Null),
            End::Taken => ("taken", serde_json::Value::Null),
            End::Written(file) => ("written", serde_json::json!(file)),
            End::Gone => ("ended", serde_json::Value::Null),
        };
        serde_json::json!({
            "packet": step.packet, "element": name, "class": class, "input": step.input, "end": end, "to": detail,
            "changes": step.changes.iter().map(change).collect::<Vec<_>>(),
            "copies": step.copies.iter().map(sent).collect::<Vec<_>>(), "made": step.made.iter().map(sent).collect::<Vec<_>>(),
        })
    };
    let steps: Vec<_> = journey.steps.iter().map(step).collect();
    serde_json::json!({ "packet": journey.number, "time_ns": journey.time_ns, "arrived": arrival(journey), "steps": steps })
}
