//! `netvm filter`: select packets; print, count or write them.

mod live;
mod look;
mod report;
mod rotate;
mod sink;
pub(super) mod slice;

use super::shared::{self, EngineArg, Expression, ProfileArg};
use crate::failure::{self, Failure, Outcome};
use crate::input;
use crate::input::{Consumer, Flow, Inputs, Watch};
use crate::out::Out;
use crate::progress::Progress;
use crate::signals::{Asked, Signals};
use clap::ArgAction;
use live::{Live, LiveArgs};
use look::Look;
use netvm::frontends::pcap_filter::classic::Form;
use netvm::io::{Burst, Capture, LinkType, Reading};
use netvm::netil::exec::Selection;
use netvm::{Filter, ParallelFilter};
use report::{Totals, report};
use rotate::RotateArgs;
use sink::Sink;
use slice::{Slice, SliceArgs};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

/// Select packets of captures or of an interface: print them, count them, or write them to a
/// capture
///
/// Reads pcap and pcapng, plain or compressed with gzip or zstd; the expression is compiled for the
/// captures' link types. Prints one line per packet as `tcpdump -nn` does: nothing is ever looked
/// up. Damaged files are read up to the damage, and the damage is reported; the exit status is then
/// 1.
///
/// Options that tcpdump has mean what they mean there; with `-F` and an expression packets must
/// match both. Names of captures may also stand before the expression, as the shell makes them of
/// `-r *.pcap`. An output is a classic pcap in the inputs' precision, or a pcapng if its name ends
/// in `.pcapng` or the inputs mix link types; it is compressed if the name ends in `.gz` or `.zst`.
/// One that is made from files appears under its name when it is complete.
///
/// With `-i` packets come from an interface, until an interrupt (^C), a request to terminate, the
/// end of the terminal or `-c` ends it: the exit status is then 0, and how many packets were
/// captured, received and dropped by the kernel is told on standard error; SIGUSR1 tells it
/// meanwhile. What is written has its name from the beginning and is passed on at least every
/// second or megabyte, so that other programs can read it, and what was passed on stays, whatever
/// happens then. Capturing needs CAP_NET_RAW: be root, or let root say
/// `setcap cap_net_raw+ep $(command -v netvm)` once. What is selected is what a file written
/// without a filter and filtered later gives, VLAN tags in their place. Where it can the kernel
/// drops what the filter does not want before it is copied.
#[derive(clap::Args)]
#[command(next_line_help = false, disable_version_flag = true, after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    expression: Expression,

    /// Capture to read, - for standard input; several are read one after the other
    #[arg(short = 'r', long = "read", value_name = "IN", value_hint = clap::ValueHint::FilePath)]
    read: Vec<PathBuf>,

    /// Read the captures that a file names, one a line; - for standard input
    #[arg(short = 'V', value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    read_list: Option<PathBuf>,

    /// Merge the captures by the times of their packets, as mergecap does, instead of reading one
    /// after the other
    #[arg(long, conflicts_with = "interface")]
    merge: bool,

    #[command(flatten)]
    live: LiveArgs,

    /// Write the selected packets to a capture, - for standard output
    #[arg(short = 'w', long = "write", value_name = "OUT", value_hint = clap::ValueHint::FilePath)]
    write: Option<PathBuf>,

    /// Print packets even though they are written to a capture
    #[arg(long)]
    print: bool,

    #[command(flatten)]
    rotate: RotateArgs,

    #[command(flatten)]
    slice: SliceArgs,

    /// Print only how many packets were selected
    #[arg(long)]
    count: bool,

    /// End after that many selected packets
    #[arg(short = 'c', value_name = "MAX", value_parser = clap::value_parser!(u64).range(1..))]
    max: Option<u64>,

    #[command(flatten)]
    engine: EngineArg,

    #[command(flatten)]
    profile: ProfileArg,

    /// Threads that read and filter, where the input is a file that allows it [default: as many as
    /// there are processors, at most 4]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Option<u16>,

    /// Copy files into memory piece by piece even where mapping them is quicker: for files that
    /// other programs change meanwhile
    #[arg(long)]
    no_mmap: bool,

    /// Tell on standard error how many packets and bytes there were and how long it took
    #[arg(long)]
    stats: bool,

    /// Print JSON: an object per packet; with --count or --stats a summary
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    look: Look,

    /// Print the filter in classic BPF and end: as text, -dd as the inside of an array in C, -ddd
    /// as numbers; the link type is that of the interface or first input, or -y
    #[arg(short = 'd', action = ArgAction::Count, help_heading = "tcpdump's habits")]
    dump_program: u8,

    /// The link type to capture, one of -L, or that -d compiles for
    #[arg(short = 'y', long = "linktype", visible_alias = "link-type", value_name = "TYPE", value_parser = shared::link_type, help_heading = "tcpdump's habits")]
    link_type: Option<LinkType>,

    /// Print version
    #[arg(long, action = ArgAction::Version)]
    version: (),
}

impl Args {
    /// The captures to read: of -r, of -V, and those before the expression.
    fn inputs(&self) -> Outcome<Vec<PathBuf>> {
        let listed = self.read_list.as_deref().map(input::list).transpose()?.unwrap_or_default();
        Ok([self.read.clone(), listed, self.files()].concat())
    }

    /// The captures that stand before the expression.
    fn files(&self) -> Vec<PathBuf> {
        if self.live.interface.is_some() { Vec::new() } else { self.expression.files() }
    }

    fn threads(&self) -> usize {
        let there_are = || std::thread::available_parallelism().map_or(1, |n| n.get().min(MAX_THREADS));
        self.threads.map_or_else(there_are, usize::from)
    }
}

/// The threads that are used unasked: what reads memory does not go much faster with more.
const MAX_THREADS: usize = 4;

const EXAMPLES: &str = "\
Examples:
  netvm filter -r trace.pcap tcp port 443
  netvm filter -r trace.pcap -e -tttt 'vlan 5 and (host 10.0.0.1 or net 192.168.0.0/16)'
  netvm filter -r a.pcap -r b.pcap.gz -w dns.pcapng udp port 53
  netvm filter -r trace.pcap --count --json 'tcp[tcpflags] & tcp-syn != 0'
  netvm filter -i eth0 -w dns.pcap 'udp port 53'
  ssh host tcpdump -U -w - | netvm filter -r - icmp";

pub(crate) fn run(args: &Args) -> Outcome {
    if args.live.list()? {
        return Ok(());
    }
    let filter = Filter::new(&args.expression.text_from(args.files().len())?, args.engine.get())?.with_settings(args.engine.settings());
    let mut filter = args.profile.applied(filter)?;
    if args.dump_program > 0 {
        return dump_program(args, &filter);
    }
    let start = Instant::now();
    let signals = Signals::watch()?;
    signals.listen()?;
    let (mut inputs, live) = open(args, &filter)?;
    if live.is_none() {
        args.live.relinquish(None)?;
    }
    prepare(&mut filter, &inputs)?;
    let sink = Sink::new(args, &inputs)?;
    if live.is_some() {
        args.live.relinquish(Some(&sink))?;
        args.live.time_stamps();
    }
    let mut work = Work::new(args, filter, sink, live)?;
    if let Some(live) = &work.live {
        signals.end_with_terminal()?;
        live.begin();
    }
    let quiet_screen = !(work.sink.prints() && Out::is_terminal());
    let mut bar = Progress::new(quiet_screen);
    let fed = match args.merge {
        true => inputs.merge(&mut work, &signals, &mut bar),
        false => inputs.feed(&mut work, &signals, &mut bar),
    };
    bar.clear();
    let Work { filter, sink, totals, live, .. } = work;
    // What ends a capture on an interface leaves no doubt how many packets there were.
    let done = fed.and_then(|whole| sink.finish().map(|()| whole));
    if let Some(live) = &live {
        live.end(totals.selected.packets)?;
    }
    let whole = done?;
    report(args, &filter, &totals, start.elapsed())?;
    if live.is_none() {
        signals.result()?;
    }
    if whole { Ok(()) } else { Err(Failure::told()) }
}

/// Compiles the filter for what the inputs have: a wrong expression is told before any output
/// exists.
pub(super) fn prepare(filter: &mut Filter, inputs: &Inputs) -> Outcome {
    if !filter.is_empty() {
        for link in inputs.infos().iter().flat_map(|info| info.link_types.clone()) {
            filter.prepare(link)?;
            warn(filter, link)?;
        }
    }
    Ok(())
}

/// Tells what is likely a mistake; the packets are selected all the same.
fn warn(filter: &Filter, link: LinkType) -> Outcome {
    let warnings = filter.warnings(link, failure::stderr_has_color())?;
    if !warnings.is_empty() {
        failure::eprint_lossy(warnings.trim_end());
    }
    Ok(())
}

/// Opens what is to be read.
fn open(args: &Args, filter: &Filter) -> Outcome<(Inputs, Option<Live>)> {
    if let Some(name) = &args.live.interface {
        let (inputs, live) = Live::open(&args.live, name, args.link_type, args.look.snaplen, filter)?;
        return Ok((inputs, Some(live)));
    }
    let names = args.inputs()?;
    if names.is_empty() {
        return Err(Failure::usage(
            "there is nothing to read: give a capture with --read <IN> (-r) or an interface with -i, which -D lists",
        ));
    }
    Ok((Inputs::open(&names)?, None))
}

fn dump_program(args: &Args, filter: &Filter) -> Outcome {
    let link = match (args.link_type, &args.live.interface, args.inputs()?.first()) {
        (Some(link), ..) => link,
        (None, Some(interface), _) => live::link_type(interface)?,
        (None, None, Some(path)) => crate::input::open(path)?.info().link_types.first().copied().unwrap_or(LinkType::EN10MB),
        (None, None, None) => LinkType::EN10MB,
    };
    warn(filter, link)?;
    let form = match args.dump_program {
        1 => Form::Text,
        2 => Form::C,
        _ => Form::Numbers,
    };
    let program = filter.classic(link)?.map_err(|refused| {
        let text = "there is no classic BPF for this filter";
        Failure::failed(format_args!("{text}: {refused}; `netvm compile --filter EXPR` prints its NetIL"))
    })?;
    let mut out = Out::new();
    out.put(&program.print(form))?;
    out.flush()
}

/// The filter between inputs and output.
struct Work {
    filter: Filter,
    sink: Sink,
    selection: Selection,
    threads: usize,
    reading: Reading,
    /// Packets that may still be selected.
    left: Option<u64>,
    totals: Totals,
    /// Bytes are counted too.
    measure: bool,
    slice: Slice,
    live: Option<Live>,
}

impl Consumer for Work {
    fn burst(&mut self, _: usize, burst: Burst<'_>) -> Outcome<Flow> {
        let mut selection = std::mem::take(&mut self.selection);
        self.filter.select(&burst, &mut selection)?;
        let flow = self.take(burst, &mut selection);
        self.selection = selection;
        flow
    }

    fn ahead(&mut self, _: usize, capture: &mut Capture, watch: &mut Watch<'_>) -> Outcome<Flow> {
        let (filter, ahead) = (self.filter.another()?, ParallelFilter { threads: self.threads, reading: self.reading });
        let flow = ahead.run(&filter, capture, |burst, selection, end| match self.take(burst, selection) {
            Ok(Flow::More) if watch.at(end) => ControlFlow::Continue(()),
            Ok(_) => ControlFlow::Break(Ok(Flow::Enough)),
            Err(failure) => ControlFlow::Break(Err(failure)),
        })?;
        flow.break_value().unwrap_or(Ok(Flow::More))
    }

    fn idle(&mut self) -> Outcome {
        self.sink.flush()
    }

    fn asked(&mut self, asked: Asked) -> Outcome {
        match (asked, &self.live) {
            (Asked::Flush, _) => self.sink.flush(),
            (Asked::Counts, Some(live)) => live.so_far(self.totals.selected.packets),
            (Asked::Counts, None) => {
                let Totals { read, selected } = &self.totals;
                failure::eprint_lossy(&format!("netvm: {} read, {} selected", shared::packets(read.packets), selected.packets));
                Ok(())
            }
        }
    }
}

impl Work {
    fn new(args: &Args, filter: Filter, sink: Sink, live: Option<Live>) -> Outcome<Self> {
        Ok(Self {
            filter,
            sink,
            selection: Selection::default(),
            threads: args.threads(),
            reading: if args.no_mmap { Reading::Copied } else { Reading::Quicker },
            left: args.max,
            totals: Totals::default(),
            measure: args.stats,
            slice: args.slice.get()?,
            live,
        })
    }

    /// Takes what was selected of a burst.
    fn take(&mut self, mut burst: Burst<'_>, selection: &mut Selection) -> Outcome<Flow> {
        self.slice.keep(&burst, selection);
        let mut found = selection.count();
        if let Some(left) = &mut self.left {
            if found >= *left {
                let last = nth_selected(selection, *left);
                burst.truncate(last + 1);
                clear_after(selection, last);
                found = *left;
            }
            *left -= found;
        }
        self.count(&burst, selection, found);
        if found > 0
            && let Flow::Enough = self.sink.take(&burst, selection, self.totals.selected.packets - found)?
        {
            return Ok(Flow::Enough);
        }
        Ok(if self.left == Some(0) { Flow::Enough } else { Flow::More })
    }

    fn count(&mut self, burst: &Burst<'_>, selection: &Selection, found: u64) {
        self.totals.read.packets += burst.len() as u64;
        self.totals.selected.packets += found;
        if self.measure {
            for (i, packet) in burst.packets().iter().enumerate() {
                self.totals.read.bytes += packet.len() as u64;
                self.totals.selected.bytes += if selection.get(i) { packet.len() as u64 } else { 0 };
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
