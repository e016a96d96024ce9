//! `netvm bench`: engines side by side on packets in memory, their verdicts compared first.

#[cfg(feature = "machines")]
mod machines;

use super::shared::{self, Expression, grouped};
use crate::failure::{self, Failure, Outcome};
use crate::input::{BURST, Inputs};
use crate::out::Out;
use netvm::io::capture::MAX_BURST;
use netvm::io::{Capture, LinkType, Record};
use netvm::netil::exec::{Packets, Selection};
use netvm::{Compiled, Filter, engines};
use serde::Serialize;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A round runs at least that long: the clock's own cost and grain must not show.
const ROUND: Duration = Duration::from_millis(20);
/// Compilations of which the fastest is told.
const COMPILATIONS: usize = 5;

/// Measure engines side by side, or machines that are models beside their papers
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    Filter(FilterArgs),
    #[cfg(feature = "machines")]
    #[command(long_flag = "machines")]
    Machines(machines::Args),
}

/// Measure a filter on the packets of captures
///
/// The packets are read into memory, every engine's verdict on every packet is compared with the
/// interpreter's, then each engine goes over the packets in rounds, in turn with the others. Times
/// are per packet: the fastest round and the median.
#[derive(clap::Args)]
struct FilterArgs {
    #[command(flatten)]
    expression: Expression,

    /// Capture with the packets; those of different link types are measured one link type after the
    /// other
    #[arg(short = 'r', long = "read", value_name = "IN", required = true, value_hint = clap::ValueHint::FilePath)]
    read: Vec<PathBuf>,

    /// Rounds of each engine
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// Packets to read at most
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    packets: u64,

    /// Packets that an engine is given at a time
    #[arg(long, value_name = "N", default_value_t = BURST as u32, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    burst: u32,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Outcome {
    match &args.what {
        What::Filter(args) => filter(args),
        #[cfg(feature = "machines")]
        What::Machines(args) => machines::run(args),
    }
}

fn filter(args: &FilterArgs) -> Outcome {
    let source = args.expression.text()?;
    let trace = Trace::read(&args.read, args.packets)?;
    let mut subjects = subjects(&source, &trace.links())?;
    let matched = compare(&mut subjects, &trace, args.burst as usize)?;
    measure(&mut subjects, &trace, args);
    let report = Report {
        filter: &source,
        link_types: trace.links().iter().map(LinkType::to_string).collect(),
        packets: trace.len(),
        matched,
        engines: subjects.iter_mut().map(Subject::figures).collect(),
    };
    let mut out = Out::new();
    match args.json {
        true => out.json(&report)?,
        false => out.put(&report.text())?,
    }
    out.flush()
}

/// Packets in memory, those of each link type together.
struct Trace {
    parts: Vec<Part>,
}

/// Packets of one link type, one after the other.
struct Part {
    link: LinkType,
    bytes: Vec<u8>,
    /// Where each packet ends.
    ends: Vec<usize>,
    wire_len: Vec<u32>,
    time_ns: Vec<u64>,
}

impl Trace {
    fn read(paths: &[PathBuf], max: u64) -> Outcome<Self> {
        let mut inputs = Inputs::open(paths)?;
        let mut trace = Self { parts: Vec::new() };
        for (path, capture) in inputs.captures() {
            let told = |error| Failure::failed(format_args!("{}: {error}", path.display()));
            trace.take(capture, max as usize).map_err(told)?;
        }
        if trace.parts.is_empty() {
            return Err(Failure::failed("no packets to measure on"));
        }
        Ok(trace)
    }

    fn take(&mut self, capture: &mut Capture, max: usize) -> Result<(), netvm::io::ReadError> {
        while self.len() < max {
            let Some(burst) = capture.next_burst(MAX_BURST.min(max - self.len()))? else { break };
            let part = self.part(burst.link_type());
            burst.records().for_each(|record| part.push(&record));
        }
        Ok(())
    }

    fn part(&mut self, link: LinkType) -> &mut Part {
        let at = self.parts.iter().position(|part| part.link == link).unwrap_or_else(|| {
            self.parts.push(Part { link, bytes: Vec::new(), ends: Vec::new(), wire_len: Vec::new(), time_ns: Vec::new() });
            self.parts.len() - 1
        });
        &mut self.parts[at]
    }

    fn len(&self) -> usize {
        self.parts.iter().map(|part| part.ends.len()).sum()
    }

    fn links(&self) -> Vec<LinkType> {
        self.parts.iter().map(|part| part.link).collect()
    }

    /// Which packet one is in words: by its burst, its number in it, and how long bursts are.
    fn place(&self, mut burst: usize, packet: usize, length: usize) -> String {
        for part in &self.parts {
            let bursts = part.ends.len().div_ceil(length);
            if burst < bursts {
                return format!("packet {} of those with link type {}", burst * length + packet + 1, part.link);
            }
            burst -= bursts;
        }
        "no packet".to_owned()
    }

    /// The packets of each part.
    fn frames(&self) -> Vec<Vec<&[u8]>> {
        self.parts.iter().map(Part::frames).collect()
    }
}

impl Part {
    fn push(&mut self, record: &Record<'_>) {
        self.bytes.extend_from_slice(record.data);
        self.ends.push(self.bytes.len());
        self.wire_len.push(record.wire_len());
        self.time_ns.push(u64::try_from(record.timestamp().as_nanos()).unwrap_or(0));
    }

    fn frames(&self) -> Vec<&[u8]> {
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.bytes[start..*end]).collect()
    }
}

/// An engine being measured.
struct Subject {
    name: &'static str,
    /// For the link type of each part of the trace.
    compiled: Vec<Compiled>,
    compile: Duration,
    /// Nanoseconds per packet of each round.
    rounds: Vec<f64>,
}

fn subjects(source: &str, links: &[LinkType]) -> Outcome<Vec<Subject>> {
    let subject = |engine: &'static engines::EngineInfo| {
        let compiled: Vec<Compiled> = links.iter().map(|link| fastest(source, *link, engine)).collect::<Outcome<_>>()?;
        let compile = compiled.iter().map(|c| c.took).sum();
        Ok(Subject { name: engine.name, compile, compiled, rounds: Vec::new() })
    };
    // Of compiled C each form by itself, as far as this machine has them.
    engines::ALL.iter().filter(|engine| engine.quick).chain(engines::forms()).map(subject).collect()
}

/// Of several compilations the one that took the least time.
fn fastest(source: &str, link: LinkType, engine: &'static engines::EngineInfo) -> Outcome<Compiled> {
    let mut best = None::<Compiled>;
    // What comes out of a cache is not what compiling takes.
    let settings = engines::Settings { no_cache: true, ..engines::Settings::default() };
    for _ in 0..if engine.quick { COMPILATIONS } else { 1 } {
        let compiled = Filter::compile_with(source, link, engine, settings)?;
        if best.as_ref().is_none_or(|b| compiled.took < b.took) {
            best = Some(compiled);
        }
    }
    best.ok_or_else(Failure::told)
}

impl Subject {
    /// Goes once over all packets; the verdicts of each burst go to `each`.
    fn pass(&mut self, frames: &[Vec<&[u8]>], trace: &Trace, burst: usize, selection: &mut Selection, mut each: impl FnMut(&Selection)) {
        for ((frames, part), compiled) in frames.iter().zip(&trace.parts).zip(&mut self.compiled) {
            for (at, frames) in frames.chunks(burst).enumerate() {
                let range = at * burst..at * burst + frames.len();
                let packets = Packets { frames, wire_len: &part.wire_len[range.clone()], time_ns: &part.time_ns[range] };
                compiled.select(&packets, selection);
                each(selection);
            }
        }
    }

    fn figures(&mut self) -> Figures {
        self.rounds.sort_by(f64::total_cmp);
        Figures {
            engine: self.name,
            minimum_ns: self.rounds.first().copied().unwrap_or(0.0),
            median_ns: self.rounds.get(self.rounds.len() / 2).copied().unwrap_or(0.0),
            compile_us: self.compile.as_secs_f64() * 1e6,
        }
    }
}

/// Holds all verdicts against those of the first engine; how many packets match.
fn compare(subjects: &mut [Subject], trace: &Trace, length: usize) -> Outcome<u64> {
    let frames = trace.frames();
    let mut selection = Selection::default();
    let mut verdicts: Vec<Vec<Selection>> = Vec::new();
    for subject in subjects.iter_mut() {
        let mut all = Vec::new();
        subject.pass(&frames, trace, length, &mut selection, |verdict| all.push(verdict.clone()));
        verdicts.push(all);
    }
    let Some((first, others)) = verdicts.split_first() else { return Ok(0) };
    for (subject, other) in subjects.iter().skip(1).zip(others) {
        if let Some((burst, packet)) = difference(first, other) {
            let place = trace.place(burst, packet, length);
            failure::error(&format!("{} and {} differ on {place}", subjects[0].name, subject.name));
            return Err(Failure::told());
        }
    }
    Ok(first.iter().map(Selection::count).sum())
}

/// The first packet that two engines judge differently: the number of its burst and its own within
/// it.
fn difference(a: &[Selection], b: &[Selection]) -> Option<(usize, usize)> {
    let at = a.iter().zip(b).position(|(a, b)| a != b)?;
    (0..64 * a[at].bits.len()).find(|&i| a[at].get(i) != b[at].get(i)).map(|i| (at, i))
}

/// Rounds in turn, so that what else the machine does hits all engines alike.
fn measure(subjects: &mut [Subject], trace: &Trace, args: &FilterArgs) {
    let frames = trace.frames();
    let mut selection = Selection::default();
    for _ in 0..args.rounds {
        for subject in subjects.iter_mut() {
            let start = Instant::now();
            let mut passes = 0u32;
            while passes == 0 || start.elapsed() < ROUND {
                subject.pass(&frames, trace, args.burst as usize, &mut selection, |_| ());
                passes += 1;
            }
            let packets = f64::from(passes) * trace.len() as f64;
            subject.rounds.push(start.elapsed().as_secs_f64() * 1e9 / packets);
        }
    }
}

#[derive(Serialize)]
struct Report<'a> {
    filter: &'a str,
    link_types: Vec<String>,
    packets: usize,
    matched: u64,
    engines: Vec<Figures>,
}

#[derive(Serialize)]
struct Figures {
    engine: &'static str,
    minimum_ns: f64,
    median_ns: f64,
    compile_us: f64,
}

impl Report<'_> {
    fn text(&self) -> String {
        let mut text = format!(
            "{} packets ({}), {} match; all engines agree on every one\n",
            grouped(self.packets as u64),
            self.link_types.join(", "),
            shared::grouped(self.matched)
        );
        text += "engine      ns/packet   median    against the first   source to ready\n";
        let base = self.engines.first().map_or(1.0, |e| e.median_ns);
        for e in &self.engines {
            text += &format!(
                "{:<10} {:>10.2} {:>8.2} {:>18.2} × {:>12.0} µs\n",
                e.engine,
                e.minimum_ns,
                e.median_ns,
                base / e.median_ns.max(1e-9),
                e.compile_us
            );
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_found() {
        let made = |packets: &[usize]| {
            let mut s = Selection::default();
            s.reset(100);
            packets.iter().for_each(|&i| s.set(i));
            s
        };
        let (a, b) = ([made(&[1]), made(&[3, 70])], [made(&[1]), made(&[3])]);
        assert_eq!(difference(&a, &b), Some((1, 70)));
        assert_eq!(difference(&a, &a), None);
    }

    #[test]
    fn a_packet_is_told_by_its_link_type_and_number() {
        let mut trace = Trace { parts: Vec::new() };
        trace.part(LinkType::EN10MB).ends = vec![0; 5];
        trace.part(LinkType::RAW).ends = vec![0; 5];
        let places = [(0, 1), (2, 0), (3, 1), (5, 0), (6, 0)].map(|(burst, packet)| trace.place(burst, packet, 2));
        let told = |n, link| format!("packet {n} of those with link type {link}");
        assert_eq!(places[..4], [told(2, "EN10MB"), told(5, "EN10MB"), told(2, "RAW"), told(5, "RAW")]);
        assert_eq!(places[4], "no packet");
    }
}
