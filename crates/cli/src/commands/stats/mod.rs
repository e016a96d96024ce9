//! `netvm stats`: what traffic consists of.
//!
//! `netvm::io::stats` collects; here are the arguments, the text (`text`) and the JSON (`json`).

mod json;
mod text;

use super::filter::prepare;
use super::filter::slice::{Slice, SliceArgs};
use super::shared::{EngineArg, Expression};
use crate::failure::{Failure, Outcome};
use crate::hosts::Hosts;
use crate::input::{Consumer, Flow, Inputs, Watch};
use crate::out::Out;
use crate::progress::Progress;
use crate::signals::Signals;
use clap::ValueEnum;
use netvm::io::stats::{Interval, Limits, Stats};
use netvm::io::{Burst, Capture, Reading};
use netvm::netil::exec::Selection;
use netvm::{Filter, ParallelFilter};
use std::ops::ControlFlow;
use std::path::PathBuf;

/// Tell what the traffic of captures consists of: protocols, conversations, endpoints, ports,
/// sizes, rates
///
/// Reads what `netvm filter` reads, in one pass: pcap and pcapng, plain or compressed; several
/// captures are counted together. With an expression only packets that match are counted. Bytes are
/// those on the wire. Conversations are counted layer by layer, within tunnels too, so that a
/// packet may be in several. Applications are told by ports and first bytes; of the two ports of a
/// conversation, the lower is taken for the service's.
///
/// Memory is bounded: of more than 131,072 rows a table keeps the largest, and what the others had
/// is told as "others". Nothing is looked up: addresses are numbers, but for names in the file of
/// --hosts.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    expression: Expression,

    /// Capture to read, - for standard input; several are counted together
    #[arg(short = 'r', long = "read", value_name = "IN", value_hint = clap::ValueHint::FilePath)]
    read: Vec<PathBuf>,

    #[command(flatten)]
    slice: SliceArgs,

    /// What to show
    #[arg(long, value_name = "SECTION", value_enum, value_delimiter = ',')]
    show: Vec<Section>,

    /// Rows of each table; 0 for all
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,

    /// Length of an interval in seconds [default: what makes some 40 intervals]
    #[arg(long, value_name = "SECONDS", value_parser = interval)]
    interval: Option<i64>,

    /// Print JSON: one object
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    engine: EngineArg,
}

const EXAMPLES: &str = "\
Examples:
  netvm stats -r trace.pcap
  netvm stats -r monday.pcapng.gz -r tuesday.pcapng.gz --show conversations --top 20
  netvm stats -r trace.pcap --show rates --interval 1 udp port 53
  netvm stats -r trace.pcap --json tcp | jq '.layers[].endpoints[0]'";

/// The parts of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Section {
    /// Packets, bytes, times
    Summary,
    /// The hierarchy of protocols, as `tshark -z io,phs` has it
    Protocols,
    /// Pairs of addresses, and of addresses with ports
    Conversations,
    /// Each address, and each with its ports
    Endpoints,
    /// Ports of services
    Ports,
    /// Lengths of packets
    Sizes,
    /// Packets and bits over time
    Rates,
}

impl Args {
    fn shows(&self, section: Section) -> bool {
        self.show.is_empty() || self.show.contains(&section)
    }

    /// Rows of a table with that many.
    fn rows(&self, all: usize) -> usize {
        if self.top == 0 { all } else { self.top.min(all) }
    }
}

/// Seconds as nanoseconds.
fn interval(text: &str) -> Result<i64, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    let nanos = seconds * 1e9;
    match (1.0..=1e18).contains(&nanos) {
        true => Ok(nanos.round() as i64),
        false => Err("an interval has from a nanosecond to a thousand million seconds".to_owned()),
    }
}

pub(crate) fn run(args: &Args) -> Outcome {
    let files = args.expression.files();
    let filter = Filter::new(&args.expression.text_from(files.len())?, args.engine.get())?.with_settings(args.engine.settings());
    let names = [args.read.clone(), files].concat();
    if names.is_empty() {
        return Err(Failure::usage("there is nothing to read: give a capture with --read <IN> (-r)"));
    }
    let hosts = args.expression.hosts.as_deref().map(Hosts::read).transpose()?.unwrap_or_default();
    let slice = args.slice.get()?;
    let signals = Signals::watch()?;
    let mut inputs = Inputs::open(&names)?;
    let interval = args.interval.map_or(Interval::Fitting, Interval::Nanos);
    let mut work = Work { filter, stats: Stats::new(interval, Limits::default(), seed()), selection: Selection::default(), slice };
    prepare(&mut work.filter, &inputs)?;
    let mut bar = Progress::new(true);
    let fed = inputs.feed(&mut work, &signals, &mut bar);
    bar.clear();
    let whole = fed?;
    let report = work.stats.report();
    let mut out = Out::new();
    match args.json {
        true => out.json(&json::report(args, &report, &hosts))?,
        false => text::write(args, &names, &report, &hosts, &mut out)?,
    }
    out.flush()?;
    signals.result()?;
    if whole { Ok(()) } else { Err(Failure::told()) }
}

/// A number that nobody who made a capture could know.
fn seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0)
}

/// The filter between inputs and counts.
struct Work {
    filter: Filter,
    stats: Stats,
    selection: Selection,
    slice: Slice,
}

impl Consumer for Work {
    fn burst(&mut self, _: usize, burst: Burst<'_>) -> Outcome<Flow> {
        let mut selection = std::mem::take(&mut self.selection);
        self.filter.select(&burst, &mut selection)?;
        self.count(&burst, &mut selection);
        self.selection = selection;
        Ok(Flow::More)
    }

    fn ahead(&mut self, _: usize, capture: &mut Capture, watch: &mut Watch<'_>) -> Outcome<Flow> {
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get().min(2));
        let (filter, ahead) = (self.filter.another()?, ParallelFilter { threads, reading: Reading::Quicker });
        let flow = ahead.run(&filter, capture, |burst, selection, end| {
            self.count(&burst, selection);
            if watch.at(end) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        Ok(if flow.is_break() { Flow::Enough } else { Flow::More })
    }

    fn idle(&mut self) -> Outcome {
        Ok(())
    }
}

impl Work {
    fn count(&mut self, burst: &Burst<'_>, selection: &mut Selection) {
        self.slice.keep(burst, selection);
        self.stats.burst(burst, |i| selection.get(i));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_numbers_of_seconds() {
        assert_eq!((interval("1"), interval("0.25"), interval("1e-9")), (Ok(1_000_000_000), Ok(250_000_000), Ok(1)));
        for text in ["", "x", "0", "-1", "nan", "inf", "1e10"] {
            assert!(interval(text).is_err(), "{text}");
        }
    }
}
