//! `netvm explain`: a filter in words and stages, and why a packet is taken or left.

use super::explain_svg::{self, Drawn};
use super::shared::{self, grouped};
use crate::failure::{Failure, Outcome};
use crate::input;
use crate::out::Out;
use crate::print::{Packet, Printer, Style, Zone};
use clap::ArgAction;
use netvm::emit::{self, Sizes};
use netvm::frontends::pcap_filter::ErrorKind;
use netvm::frontends::pcap_filter::explain::{Explainer, Explanation, Finding, Outcome as Held, Sentence, Term};
use netvm::io::LinkType;
use netvm::io::capture::MAX_BURST;
use netvm::{Filter, engines};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Tell what a filter does: in words, in stages, and on packets
///
/// Without a capture, the filter in words and how large it is at each stage on its way to machine
/// code. With a capture, how often each term held; with `--packet`, what each term looked at in
/// that packet, what it found there, and why the packet is taken or left.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  netvm explain 'tcp port 80 or 443'
  netvm explain 'src net 10 and not udp' -r trace.pcap
  netvm explain 'src net 10 and not udp' -r trace.pcap --packet 7
  netvm explain 'src net 10 and not udp' -r trace.pcap --svg > filter.svg")]
pub(crate) struct Args {
    /// Filter expression, see pcap-filter(7)
    #[arg(value_name = "EXPR", required = true, allow_negative_numbers = true)]
    words: Vec<String>,

    /// Capture to explain the filter on, - for standard input
    #[arg(short = 'r', long = "read", value_name = "IN", value_hint = clap::ValueHint::FilePath)]
    read: Option<PathBuf>,

    /// The packet to explain it on, from 1
    #[arg(long, value_name = "N", requires = "read", value_parser = clap::value_parser!(u64).range(1..))]
    packet: Option<u64>,

    /// The link type, where no capture tells it
    #[arg(short = 'y', long, value_name = "NAME", value_parser = shared::link_type, conflicts_with = "read")]
    link_type: Option<LinkType>,

    /// Names of hosts, from a file in the form of /etc/hosts, before /etc/hosts itself
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    hosts: Option<PathBuf>,

    /// Print JSON
    #[arg(long)]
    json: bool,

    /// Draw the filter as a picture: its terms and where it goes from each, with -r as wide as the
    /// share of packets that went there
    #[arg(long, conflicts_with_all = ["json", "packet"])]
    svg: bool,

    /// Accepted: addresses and ports are always numbers
    #[arg(short = 'n', action = ArgAction::Count)]
    numeric: u8,
}

/// All that is told.
#[derive(Serialize)]
struct Report {
    filter: String,
    link_type: String,
    words: Vec<Words>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    stages: Stages,
    #[serde(skip_serializing_if = "Option::is_none")]
    capture: Option<Counts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    packet: Option<Account>,
}

/// How large the filter is at each stage.
#[derive(Serialize)]
struct Stages {
    netil_instructions: usize,
    mir_operations: usize,
    mir_blocks: usize,
    optimised_operations: usize,
    optimised_blocks: usize,
    machine_instructions: usize,
}

impl From<Sizes> for Stages {
    fn from(sizes: Sizes) -> Self {
        Self {
            netil_instructions: sizes.netil,
            mir_operations: sizes.mir,
            mir_blocks: sizes.mir_blocks,
            optimised_operations: sizes.optimised,
            optimised_blocks: sizes.optimised_blocks,
            machine_instructions: sizes.machine,
        }
    }
}

/// A term, or a group of terms, in words.
#[derive(Serialize)]
struct Words {
    depth: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    join: Option<&'static str>,
    negated: bool,
    source: String,
    words: String,
    /// It can never hold where it counts.
    never: bool,
}

/// How terms did on a capture.
#[derive(Serialize)]
struct Counts {
    packets: u64,
    accepted: u64,
    /// Packets of other link types, on which the filter is another one.
    skipped: u64,
    terms: Vec<TermCounts>,
}

#[derive(Clone, Default, Serialize)]
struct TermCounts {
    source: String,
    held: u64,
    failed: u64,
    /// Rejected the packet: too short, a division by zero, an endless walk.
    rejected: u64,
    not_reached: u64,
}

/// Why one packet is taken or left.
#[derive(Serialize)]
struct Account {
    number: u64,
    text: String,
    accepted: bool,
    terms: Vec<TermAccount>,
}

#[derive(Serialize)]
struct TermAccount {
    source: String,
    /// The filter asks that the term does not hold.
    negated: bool,
    outcome: String,
    findings: Vec<Look>,
}

/// What a term looked at.
#[derive(Serialize)]
struct Look {
    what: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<(u64, u64)>,
    found: String,
    wanted: String,
    holds: bool,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let source = shared::with_hosts(args.words.join(" "), args.hosts.as_deref())?;
    let mut capture = args.read.as_deref().map(input::open).transpose()?;
    let link = match (&capture, args.packet, args.read.as_deref()) {
        (Some(_), Some(number), Some(path)) => return explain_packet(args, &source, path, number),
        (Some(capture), ..) => capture.info().link_types.first().copied(),
        (None, ..) => args.link_type,
    };
    let link = link.unwrap_or(LinkType::EN10MB);
    let explainer = Filter::explainer(&source, link)?;
    let mut report = report(&source, link, &explainer)?;
    if let (Some(capture), Some(path)) = (&mut capture, &args.read) {
        report.capture = Some(count(&explainer, &source, link, capture).map_err(|e| told(path, e))?);
    }
    if args.svg {
        return draw(&explainer, &report);
    }
    say(args, &report)
}

/// The filter as a picture.
fn draw(explainer: &Explainer, report: &Report) -> Outcome {
    let steps = explainer.steps();
    if steps.len() > explain_svg::MOST {
        let (terms, most) = (steps.len(), explain_svg::MOST);
        return Err(Failure::failed(format_args!("{terms} terms are too many for a picture; the most are {most}")));
    }
    let words = explainer.words();
    let drawn = steps.into_iter().enumerate().map(|(at, step)| {
        let counted = report.capture.as_ref().and_then(|capture| capture.terms.get(at));
        let words = words.iter().find(|sentence| sentence.span == step.span).map_or("", |sentence| &sentence.words);
        Drawn {
            step,
            source: step.span.text(&report.filter).to_owned(),
            words: words.to_owned(),
            counts: counted.map(|counts| [counts.held, counts.failed, counts.rejected]),
        }
    });
    let drawn: Vec<Drawn> = drawn.collect();
    let title = if report.filter.trim().is_empty() { "the empty filter" } else { &report.filter };
    let mut out = Out::new();
    out.put(&explain_svg::draw(title, &drawn, report.capture.as_ref().map(|capture| capture.packets)))?;
    out.flush()
}

fn told(path: &Path, error: netvm::io::ReadError) -> Failure {
    Failure::failed(format_args!("{}: {error}", input::shown(path)))
}

fn say(args: &Args, report: &Report) -> Outcome {
    let mut out = Out::new();
    match args.json {
        true => out.json(report)?,
        false => out.put(&text(report))?,
    }
    out.flush()
}

fn report(source: &str, link: LinkType, explainer: &Explainer) -> Outcome<Report> {
    let doubts = explainer.doubts();
    let words = |s: Sentence| Words {
        depth: s.depth,
        join: s.join,
        negated: s.negated,
        source: s.span.text(source).to_owned(),
        never: doubts.iter().any(|doubt| doubt.span == s.span && doubt.kind == ErrorKind::NeverHolds),
        words: s.words,
    };
    let program = Filter::compile(source, link, &engines::ALL[0])?.program;
    Ok(Report {
        filter: source.to_owned(),
        link_type: link.to_string(),
        words: explainer.words().into_iter().map(words).collect(),
        warnings: doubts.iter().map(|doubt| doubt.message.clone()).collect(),
        stages: emit::sizes(&program)?.into(),
        capture: None,
        packet: None,
    })
}

fn explain_packet(args: &Args, source: &str, path: &Path, number: u64) -> Outcome {
    let mut capture = input::open(path)?;
    while let Some(burst) = capture.next_burst(MAX_BURST).map_err(|e| told(path, e))? {
        let Some(at) = (number - 1).checked_sub(burst.first_number()).filter(|at| *at < burst.len() as u64) else { continue };
        let record = burst.record(at as usize);
        let link = record.link_type();
        let explainer = Filter::explainer(source, link)?;
        let explanation = explainer.packet(record.data, record.wire_len());
        let packet = Packet { bytes: record.data, wire_len: record.wire_len(), link, time: record.timestamp(), number };
        let line = Printer::new(Style::default(), Zone::system()).print(&packet).trim_end().to_owned();
        let mut report = report(source, link, &explainer)?;
        report.packet = Some(account(source, number, line, &explainer.words(), explanation));
        return say(args, &report);
    }
    Err(Failure::failed(format_args!("{} has only {}", input::shown(path), shared::packets(capture.packets()))))
}

fn account(source: &str, number: u64, text: String, words: &[Sentence], explanation: Explanation) -> Account {
    let term = |t: Term| TermAccount {
        source: t.span.text(source).to_owned(),
        negated: words.iter().any(|w| w.span == t.span && w.negated),
        outcome: outcome(t.outcome),
        findings: t.findings.into_iter().map(look).collect(),
    };
    Account { number, text, accepted: explanation.accepted, terms: explanation.terms.into_iter().map(term).collect() }
}

fn look(f: Finding) -> Look {
    Look { what: f.what, bytes: f.bytes, found: f.found, wanted: f.wanted, holds: f.holds }
}

fn outcome(held: Held) -> String {
    match held {
        Held::Held => "the term holds".to_owned(),
        Held::Failed => "the term does not hold".to_owned(),
        Held::TooShort { start, end, have } => {
            format!("rejects the packet: reads bytes {start} to {}, {have} were captured", end.saturating_sub(1))
        }
        Held::DivisionByZero => "rejects the packet: divides by zero".to_owned(),
        Held::Endless => "rejects the packet: its headers lead back to one another".to_owned(),
        Held::NotReached => "not reached: the terms before had decided".to_owned(),
    }
}

fn count(explainer: &Explainer, source: &str, link: LinkType, capture: &mut netvm::io::Capture) -> Result<Counts, netvm::io::ReadError> {
    let mut counts = Counts { packets: 0, accepted: 0, skipped: 0, terms: Vec::new() };
    while let Some(burst) = capture.next_burst(MAX_BURST)? {
        if burst.link_type() != link {
            counts.skipped += burst.len() as u64;
            continue;
        }
        for record in burst.records() {
            let explanation = explainer.packet(record.data, record.wire_len());
            counts.packets += 1;
            counts.accepted += u64::from(explanation.accepted);
            counts.terms.resize(explanation.terms.len(), TermCounts::default());
            for (count, term) in counts.terms.iter_mut().zip(&explanation.terms) {
                count.add(source, term);
            }
        }
    }
    Ok(counts)
}

impl TermCounts {
    fn add(&mut self, source: &str, term: &Term) {
        if self.source.is_empty() {
            self.source = term.span.text(source).to_owned();
        }
        match term.outcome {
            Held::Held => self.held += 1,
            Held::Failed => self.failed += 1,
            Held::NotReached => self.not_reached += 1,
            Held::TooShort { .. } | Held::DivisionByZero | Held::Endless => self.rejected += 1,
        }
    }
}

fn text(report: &Report) -> String {
    let filter = if report.filter.trim().is_empty() { "the empty filter" } else { &report.filter };
    let mut out = format!("{filter}   (on {})\n\nIn words:\n", report.link_type);
    if report.words.is_empty() {
        out += "  every packet\n";
    }
    for w in &report.words {
        let indent = "  ".repeat(w.depth as usize + 1);
        let join = w.join.map_or(String::new(), |j| format!("{j} "));
        let not = if w.negated { "not: " } else { "" };
        let never = if w.never { "   (never)" } else { "" };
        out += &format!("{indent}{join}{not}{}{never}\n", w.words);
    }
    for warning in &report.warnings {
        out += &format!("  Note: {warning}\n");
    }
    match &report.packet {
        Some(account) => out += &account_text(account),
        None => out += &stages_text(report),
    }
    if let Some(counts) = &report.capture {
        out += &counts_text(counts);
    }
    out
}

fn stages_text(report: &Report) -> String {
    let s = &report.stages;
    let name = shell_quoted(&report.filter);
    format!(
        "\nStages:\n  NetIL         {:>6} instructions\n  MIR           {:>6} operations in {} blocks\n  after passes  {:>6} operations in {} blocks\n  \
         machine code  {:>6} instructions\nSee them: netvm compile --filter {name} --emit netil|mir|mir-opt|clif|asm|c\n",
        s.netil_instructions, s.mir_operations, s.mir_blocks, s.optimised_operations, s.optimised_blocks, s.machine_instructions
    )
}

/// The text as one word of a shell's command line.
fn shell_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn counts_text(counts: &Counts) -> String {
    let share = 100.0 * counts.accepted as f64 / counts.packets.max(1) as f64;
    let mut out = format!("\n{} of {} packets match ({share:.1} %)\n", grouped(counts.accepted), grouped(counts.packets));
    if counts.skipped > 0 {
        out += &format!("{} of other link types were left out\n", shared::packets(counts.skipped));
    }
    if !counts.terms.is_empty() {
        out += "        held      failed    rejected not reached  term\n";
    }
    for t in &counts.terms {
        let [held, failed, rejected, not_reached] = [t.held, t.failed, t.rejected, t.not_reached].map(grouped);
        out += &format!("{held:>12}{failed:>12}{rejected:>12}{not_reached:>12}  {}\n", t.source);
    }
    out
}

fn account_text(account: &Account) -> String {
    let verdict = if account.accepted { "matches" } else { "does not match" };
    let mut out = format!("\nPacket {} {verdict}:\n  {}\n\nTerms:\n", account.number, account.text);
    for term in &account.terms {
        let not = if term.negated { "not " } else { "" };
        out += &format!("  {not}{}: {}\n", term.source, term.outcome);
        for f in &term.findings {
            let place = f.bytes.map_or(String::new(), place);
            let found = if f.found.is_empty() { "beyond the captured bytes" } else { &f.found };
            let mark = if f.holds { "yes" } else { "no " };
            out += &format!("    {mark}  {} {}{place}: {found}\n", f.what, f.wanted);
        }
    }
    out
}

fn place((start, end): (u64, u64)) -> String {
    match end.saturating_sub(start) {
        0 | 1 => format!(" (byte {start})"),
        _ => format!(" (bytes {start} to {})", end - 1),
    }
}
