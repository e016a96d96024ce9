//! `netvm filter`: select packets; print, count or write them.

use super::shared::{self, EngineArg, Expression};
use crate::failure::{self, Failure, Outcome};
use crate::input::{Consumer, Flow, Inputs};
use crate::out::Out;
use crate::print::{Dump, Ends, Packet, Printer, Style, TimeForm, TimeStyle, Zone};
use crate::progress::Progress;
use crate::signals::Signals;
use clap::ArgAction;
use netvm::io::{Burst, LinkType, Plan, Precision, Writer};
use netvm::netil::exec::Selection;
use netvm::{Filter, emit};
use serde::Serialize;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Select packets of captures: print them, count them, or write them to a capture
///
/// Reads pcap and pcapng, plain or compressed with gzip or zstd; the expression is compiled for the captures' link types. Prints one line
/// per packet as `tcpdump -nn` does: nothing is ever looked up. What is damaged is read up to the damage, which is told; the exit
/// status is then 1.
///
/// Options that tcpdump has mean what they mean there: `-n`, `-e`, `-x`, `-X`, `-A`, `-t`, `-v`, `-q`, `-S`, `-d`, `-#`, `-c`, `-F`, `-l`.
/// An output is a classic pcap in the inputs' precision, or a pcapng if its name ends in `.pcapng` or the inputs mix link
/// types; it is compressed if the name ends in `.gz` or `.zst`. It appears under its name when it is complete.
#[derive(clap::Args)]
#[command(next_line_help = false, verbatim_doc_comment, after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    expression: Expression,

    /// Capture to read, - for standard input; several are read one after the other
    #[arg(short = 'r', long = "read", value_name = "IN", required_unless_present = "dump_program", value_hint = clap::ValueHint::FilePath)]
    read: Vec<PathBuf>,

    /// Write the selected packets to a capture, - for standard output
    #[arg(short = 'w', long = "write", value_name = "OUT", value_hint = clap::ValueHint::FilePath)]
    write: Option<PathBuf>,

    /// Print only how many packets were selected
    #[arg(long)]
    count: bool,

    /// End after that many selected packets
    #[arg(short = 'c', value_name = "MAX", value_parser = clap::value_parser!(u64).range(1..))]
    max: Option<u64>,

    #[command(flatten)]
    engine: EngineArg,

    /// Tell on standard error how many packets and bytes there were and how long it took
    #[arg(long)]
    stats: bool,

    /// Print JSON: an object per packet; with --count or --stats a summary
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    look: Look,

    /// Print the compiled program (NetIL) and end; the link type is that of the first input, or -y
    #[arg(short = 'd', action = ArgAction::Count, help_heading = "tcpdump's habits")]
    dump_program: u8,

    /// The link type that -d compiles for
    #[arg(short = 'y', long = "link-type", value_name = "TYPE", value_parser = shared::link_type, help_heading = "tcpdump's habits")]
    link_type: Option<LinkType>,
}

/// What lines look like.
#[derive(clap::Args)]
#[command(next_help_heading = "tcpdump's habits")]
struct Look {
    /// Accepted: addresses and ports are always numbers
    #[arg(short = 'n', action = ArgAction::Count)]
    numeric: u8,
    /// Show the link-layer header
    #[arg(short = 'e')]
    link: bool,
    /// Show more of each packet; twice for more
    #[arg(short = 'v', action = ArgAction::Count)]
    verbose: u8,
    /// Show less of each packet
    #[arg(short = 'q')]
    quiet: bool,
    /// Show each packet in hexadecimal; twice with its link-layer header
    #[arg(short = 'x', action = ArgAction::Count)]
    hex: u8,
    /// The same, and as text
    #[arg(short = 'X', action = ArgAction::Count)]
    hex_text: u8,
    /// Show each packet as text; twice with its link-layer header
    #[arg(short = 'A', action = ArgAction::Count)]
    ascii: u8,
    /// No time; twice: seconds since 1970; three times: since the packet before; four: with the date; five: since the first
    #[arg(short = 't', action = ArgAction::Count)]
    time: u8,
    /// Times to the nanosecond
    #[arg(long, overrides_with = "micro")]
    nano: bool,
    /// Times to the microsecond: the default
    #[arg(long)]
    micro: bool,
    /// Show TCP sequence numbers as they are, not relative to the connection's first
    #[arg(short = 'S', long)]
    absolute_tcp_sequence_numbers: bool,
    /// Number the packets
    #[arg(short = '#', long)]
    number: bool,
    /// Hand on every line at once
    #[arg(short = 'l', visible_short_alias = 'U')]
    line_buffered: bool,
    /// Accepted: packets are always read whole
    #[arg(short = 's', value_name = "LEN")]
    snaplen: Option<u32>,
    /// Accepted: checksums are shown only with -v
    #[arg(short = 'K')]
    no_checksums: bool,
}

const EXAMPLES: &str = "\
Examples:
  netvm filter -r trace.pcap tcp port 443
  netvm filter -r trace.pcap -e -tttt 'vlan 5 and (host 10.0.0.1 or net 192.168.0.0/16)'
  netvm filter -r a.pcap -r b.pcap.gz -w dns.pcapng udp port 53
  netvm filter -r trace.pcap --count --json 'tcp[tcpflags] & tcp-syn != 0'
  ssh host tcpdump -U -w - | netvm filter -r - icmp";

impl Look {
    fn style(&self) -> Style {
        let form = match self.time {
            0 => TimeForm::Day,
            1 => TimeForm::None,
            2 => TimeForm::Epoch,
            3 => TimeForm::Delta,
            4 => TimeForm::Date,
            _ => TimeForm::SinceFirst,
        };
        let precision = if self.nano { Precision::Nano } else { Precision::Micro };
        let dump = match (self.hex_text, self.hex, self.ascii) {
            (0, 0, 0) => Dump::None,
            (0, 0, n) => Dump::Text { link: n > 1 },
            (0, n, _) => Dump::Hex { link: n > 1 },
            (n, ..) => Dump::Both { link: n > 1 },
        };
        Style {
            link: self.link,
            verbose: self.verbose,
            quiet: self.quiet,
            absolute: self.absolute_tcp_sequence_numbers,
            number: self.number,
            time: TimeStyle { form, precision },
            dump,
        }
    }
}

pub(crate) fn run(args: &Args) -> Outcome {
    let mut filter = Filter::new(&args.expression.text()?, args.engine.get())?;
    if args.dump_program > 0 {
        return dump_program(args, &mut filter);
    }
    let start = Instant::now();
    let signals = Signals::watch()?;
    let mut inputs = Inputs::open(&args.read)?;
    for link in inputs.infos().iter().flat_map(|info| info.link_types.clone()) {
        // A wrong expression is told before any output exists.
        if !filter.is_empty() {
            filter.prepare(link)?;
        }
    }
    let sink = Sink::new(args, &inputs)?;
    let quiet_screen = !(matches!(sink, Sink::Lines { .. } | Sink::Json { .. }) && Out::is_terminal());
    let mut bar = Progress::new(quiet_screen);
    let mut work = Work { filter, sink, selection: Selection::default(), left: args.max, totals: Totals::default(), measure: args.stats };
    let fed = inputs.feed(&mut work, &signals, &mut bar);
    bar.clear();
    let whole = fed?;
    let Work { filter, sink, totals, .. } = work;
    sink.finish()?;
    report(args, &filter, &totals, start.elapsed())?;
    signals.result()?;
    if whole { Ok(()) } else { Err(Failure::told()) }
}

fn dump_program(args: &Args, filter: &mut Filter) -> Outcome {
    let link = match (args.link_type, args.read.first()) {
        (Some(link), _) => link,
        (None, Some(path)) => crate::input::open(path)?.info().link_types.first().copied().unwrap_or(LinkType::EN10MB),
        (None, None) => LinkType::EN10MB,
    };
    let text = emit::emit(&filter.prepare(link)?.program, emit::Stage::Netil)?;
    let mut out = Out::new();
    out.put(&text)?;
    out.flush()
}

/// Packets and bytes.
#[derive(Clone, Copy, Default, Serialize)]
struct Amount {
    packets: u64,
    bytes: u64,
}

#[derive(Default)]
struct Totals {
    read: Amount,
    selected: Amount,
}

/// The filter between inputs and output.
struct Work {
    filter: Filter,
    sink: Sink,
    selection: Selection,
    /// Packets that may still be selected.
    left: Option<u64>,
    totals: Totals,
    /// Bytes are counted too.
    measure: bool,
}

impl Consumer for Work {
    fn burst(&mut self, _: usize, mut burst: Burst<'_>) -> Outcome<Flow> {
        self.filter.select(&burst, &mut self.selection)?;
        let mut found = self.selection.count();
        if let Some(left) = &mut self.left {
            if found >= *left {
                let last = nth_selected(&self.selection, *left);
                burst.truncate(last + 1);
                clear_after(&mut self.selection, last);
                found = *left;
            }
            *left -= found;
        }
        self.count(&burst, found);
        if found > 0 {
            self.sink.take(&burst, &self.selection, self.totals.selected.packets - found)?;
        }
        Ok(if self.left == Some(0) { Flow::Enough } else { Flow::More })
    }

    fn idle(&mut self) -> Outcome {
        self.sink.flush()
    }
}

impl Work {
    fn count(&mut self, burst: &Burst<'_>, found: u64) {
        self.totals.read.packets += burst.len() as u64;
        self.totals.selected.packets += found;
        if self.measure {
            for (i, packet) in burst.packets().iter().enumerate() {
                self.totals.read.bytes += packet.len() as u64;
                self.totals.selected.bytes += if self.selection.get(i) { packet.len() as u64 } else { 0 };
            }
        }
    }
}

/// The index of the `n`-th selected packet, `n` from 1 and not above their number.
fn nth_selected(selection: &Selection, n: u64) -> usize {
    let all = selection.bits.len() * 64;
    (0..all).filter(|&i| selection.get(i)).nth(n.saturating_sub(1) as usize).unwrap_or(all)
}

fn clear_after(selection: &mut Selection, last: usize) {
    for (word, bits) in selection.bits.iter_mut().enumerate() {
        let kept = (last + 1).saturating_sub(word * 64);
        if kept < 64 {
            *bits &= (1 << kept) - 1;
        }
    }
}

/// Where selected packets go.
enum Sink {
    Nowhere,
    Capture(Box<Writer>),
    Lines { printer: Box<Printer>, out: Out, every_line: bool },
    Json { printer: Box<Printer>, out: Out, every_line: bool },
}

/// A packet as JSON.
#[derive(Serialize)]
struct Line<'a> {
    /// From 1, among those selected.
    number: u64,
    /// From 1, in its capture.
    packet: u64,
    /// Seconds since 1970.
    time: String,
    link_type: String,
    captured: usize,
    length: u32,
    #[serde(flatten)]
    ends: JsonEnds,
    /// What is printed without `--json`, without time.
    text: &'a str,
}

/// The outermost IP header's addresses and protocol, and the ports after it.
#[derive(Default, Serialize)]
struct JsonEnds {
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<IpAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    destination: Option<IpAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    protocol: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source_port: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    destination_port: Option<u16>,
}

impl From<Ends> for JsonEnds {
    fn from(ends: Ends) -> Self {
        let (source, destination) = ends.addresses.unzip();
        let (source_port, destination_port) = ends.ports.unzip();
        Self { source, destination, protocol: ends.protocol, source_port, destination_port }
    }
}

impl Sink {
    fn new(args: &Args, inputs: &Inputs) -> Outcome<Self> {
        let summary = args.count || args.json && args.stats;
        if let Some(path) = &args.write {
            let plan = Plan::for_output(path, &inputs.survey()?);
            return Ok(Self::Capture(Box::new(Writer::create(path, &plan)?)));
        }
        if summary {
            return Ok(Self::Nowhere);
        }
        let every_line = args.look.line_buffered;
        let mut style = args.look.style();
        if !args.json {
            return Ok(Self::Lines { printer: Box::new(Printer::new(style, Zone::system())), out: Out::new(), every_line });
        }
        style.time.form = TimeForm::None;
        style.number = false;
        Ok(Self::Json { printer: Box::new(Printer::new(style, Zone::utc())), out: Out::new(), every_line })
    }

    /// Takes the selected packets of a burst; `before` were selected earlier.
    fn take(&mut self, burst: &Burst<'_>, selection: &Selection, before: u64) -> Outcome {
        let chosen = (0..burst.len()).filter(|&i| selection.get(i)).zip(before + 1..);
        match self {
            Self::Nowhere => Ok(()),
            Self::Capture(writer) => Ok(writer.write_selected(burst, &selection.bits)?),
            Self::Lines { printer, out, every_line } => {
                for (i, number) in chosen {
                    out.put(printer.print(&packet(burst, i, number)))?;
                    if *every_line {
                        out.flush()?;
                    }
                }
                Ok(())
            }
            Self::Json { printer, out, every_line } => {
                for (i, number) in chosen {
                    out.json(&json(burst, &packet(burst, i, number), i, printer))?;
                    if *every_line {
                        out.flush()?;
                    }
                }
                Ok(())
            }
        }
    }

    fn flush(&mut self) -> Outcome {
        match self {
            Self::Nowhere => Ok(()),
            Self::Capture(writer) => Ok(writer.flush()?),
            Self::Lines { out, .. } | Self::Json { out, .. } => out.flush(),
        }
    }

    fn finish(self) -> Outcome {
        match self {
            Self::Nowhere => Ok(()),
            Self::Capture(writer) => Ok(writer.finish().map(drop)?),
            Self::Lines { mut out, .. } | Self::Json { mut out, .. } => out.flush(),
        }
    }
}

fn packet<'a>(burst: &Burst<'a>, i: usize, number: u64) -> Packet<'a> {
    let record = burst.record(i);
    Packet { bytes: record.data, wire_len: record.wire_len(), link: record.link_type(), time: record.timestamp(), number }
}

fn json<'p>(burst: &Burst<'_>, packet: &Packet<'_>, i: usize, printer: &'p mut Printer) -> Line<'p> {
    printer.print(packet);
    Line {
        number: packet.number,
        packet: burst.first_number() + i as u64 + 1,
        time: packet.time.to_string(),
        link_type: packet.link.to_string(),
        captured: packet.bytes.len(),
        length: packet.wire_len,
        ends: printer.ends().into(),
        text: printer.text().trim_end(),
    }
}

/// A run as JSON.
#[derive(Serialize)]
struct Summary<'a> {
    filter: &'a str,
    packets: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    statistics: Option<Statistics>,
}

#[derive(Serialize)]
struct Statistics {
    read: Amount,
    selected: Amount,
    seconds: f64,
    compiled: Vec<CompileTime>,
}

#[derive(Serialize)]
struct CompileTime {
    link_type: String,
    engine: &'static str,
    microseconds: f64,
}

fn report(args: &Args, filter: &Filter, totals: &Totals, took: Duration) -> Outcome {
    // Standard output may be a capture.
    let on_stdout = args.write.as_deref() != Some(Path::new("-"));
    let found = totals.selected.packets;
    if args.json && (args.count || args.stats) {
        let statistics = args.stats.then(|| statistics(filter, totals, took));
        let summary = Summary { filter: filter.source(), packets: found, statistics };
        return say(on_stdout, &serde_json::to_string(&summary).map_err(Failure::failed)?);
    }
    if args.count {
        say(on_stdout, &shared::packets(found))?;
    }
    if args.stats {
        failure::eprint_lossy(&statistics_text(filter, totals, took));
    }
    Ok(())
}

fn say(on_stdout: bool, text: &str) -> Outcome {
    if !on_stdout {
        failure::eprint_lossy(text);
        return Ok(());
    }
    let mut out = Out::new();
    out.line(text)?;
    out.flush()
}

fn statistics(filter: &Filter, totals: &Totals, took: Duration) -> Statistics {
    let time =
        |c: &netvm::Compiled| CompileTime { link_type: c.link.to_string(), engine: c.engine(), microseconds: c.took.as_secs_f64() * 1e6 };
    Statistics {
        read: totals.read,
        selected: totals.selected,
        seconds: took.as_secs_f64(),
        compiled: filter.compiled().iter().map(time).collect(),
    }
}

fn statistics_text(filter: &Filter, totals: &Totals, took: Duration) -> String {
    let seconds = took.as_secs_f64().max(1e-9);
    let share = 100.0 * totals.selected.packets as f64 / totals.read.packets.max(1) as f64;
    let amount = |a: Amount| format!("{} packets, {}", shared::grouped(a.packets), shared::bytes(a.bytes));
    let mut text = format!("read      {}\nselected  {} ({share:.1} %)\n", amount(totals.read), amount(totals.selected));
    let rate = totals.read.packets as f64 / seconds / 1e6;
    let speed = totals.read.bytes as f64 / seconds / 1e6;
    text += &format!("took      {seconds:.3} s: {rate:.2} million packets/s, {speed:.0} MB/s\n");
    let one = |c: &netvm::Compiled| format!("{:.0} µs for {} ({})", c.took.as_secs_f64() * 1e6, c.link, c.engine());
    let compiled: Vec<String> = filter.compiled().iter().map(one).collect();
    text + &match compiled.is_empty() {
        true => "compiled  nothing: every packet is selected".to_owned(),
        false => format!("compiled  in {}", compiled.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selection_is_cut_after_the_last_wanted_packet() {
        let mut selection = Selection::default();
        selection.reset(200);
        [3, 63, 64, 130, 199].into_iter().for_each(|i| selection.set(i));
        assert_eq!(nth_selected(&selection, 4), 130);
        clear_after(&mut selection, 130);
        assert_eq!((selection.count(), selection.get(130), selection.get(199)), (4, true, false));
        clear_after(&mut selection, 63);
        assert_eq!(selection.count(), 2);
    }
}
