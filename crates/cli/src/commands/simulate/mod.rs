//! `netvm simulate`: what a program would cost on a machine that there is a model of.

mod groups;
pub(crate) mod observed;
mod pipeline;
mod report;
mod router;

use super::machines::unknown;
use crate::failure::{self, Failure, Outcome};
use crate::out::Out;
use machine::description::{self, Any};
use machine::layout::{Layout, Placed};
use machine::{Machine, Options, Report, Scheme, Trace, saturation, simulate, steps};
use observed::Observed;
use serde::Serialize;

/// Tell how fast a program would be on a processor that there is a model of
///
/// The interpreter runs the program, so packets, tables and captures that a configuration writes
/// are what `netvm run` gives. The model is told what each packet needed (instructions, accesses to
/// memories, lookups, critical sections), and runs that on the machine's cores and threads:
/// memories and buses serve one request after the other, locks make threads wait. docs/machines.md
/// says what is modelled, and what is not.
///
/// A pipeline (x11) has a code generator of its own: the slot program that it makes is run on the
/// packets, and what becomes of them is compared with the interpreter. What packets close behind
/// each other may do to each other is warned of.
///
/// Packets come as fast as the machine takes them, unless --rate says how many a second. --saturate
/// searches for the highest rate at which nothing is dropped.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  netvm simulate --filter 'tcp port 80' -r trace.pcap --machine ixp1200
  netvm simulate --filter 'tcp port 80' -r trace.pcap --machine x11 --listing
  netvm simulate router.click -r in.pcap --machine ixp1200 --json
  netvm simulate router.click -r in.pcap --machine ixp1200 --threads auto
  netvm simulate router.click -r in.pcap --machine octeon --groups balanced
  netvm simulate router.click -r in.pcap --machine ixp1200 --explain
  netvm simulate nat.click -r lan.pcap --machine netthreads --scheme all --saturate")]
pub(crate) struct Args {
    #[command(flatten)]
    observed: Observed,

    /// The machine, see `netvm machines`, or a file that describes one (.toml)
    #[arg(long, value_name = "NAME|FILE")]
    machine: String,

    /// How packets that run at the same time are kept from each other; `all` compares them
    #[arg(long, value_enum, default_value_t = SchemeArg::Locks)]
    scheme: SchemeArg,

    /// Packets to simulate: the trace is repeated until there are so many; by default it is run
    /// once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    packets: Option<u64>,

    /// Packets that arrive in a second
    #[arg(long, value_name = "PPS", value_parser = rate, conflicts_with = "saturate")]
    rate: Option<f64>,

    /// Search for the highest rate at which nothing is dropped for so many simulated seconds, in
    /// nine of ten runs
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "0.05", value_parser = seconds, conflicts_with = "packets")]
    saturate: Option<f64>,

    /// Let threads receive from ports or transmit to them, as a file says (lines ENGINE.THREAD
    /// receive|transmit PORT…), or as it is best: of a machine with ports, ixp1200
    #[arg(long, value_name = "FILE|auto", conflicts_with_all = ["packets", "rate", "saturate"])]
    threads: Option<String>,

    /// How these threads share the transmit FIFO: a policy of the machine's description
    /// ([arbitration.NAME]), or all
    #[arg(long, value_name = "NAME|all", default_value = "all", requires = "threads")]
    arbitration: String,

    /// Bytes of the frames that come, in turn, with --threads; by default those of the packets
    #[arg(long, value_name = "BYTES", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(64..=9000), requires = "threads")]
    sizes: Vec<u32>,

    /// Let cores take packets from the groups of a work scheduler, as a file says (lines
    /// CORE[-CORE][,…] ELEMENT…), an element each, balanced, or all elements in one: of a machine
    /// with a scheduler, octeon
    #[arg(long, value_name = "FILE|each|balanced|one", conflicts_with_all = ["rate", "saturate", "threads"])]
    groups: Option<String>,

    /// Tell for each table and variable its scope and the memory that it is placed in, of a machine
    /// that has a choice: ixp1200
    #[arg(long)]
    explain: bool,

    /// Print the program of a pipeline, too
    #[arg(long)]
    listing: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum SchemeArg {
    /// A lock for each element that keeps state
    Locks,
    /// Packets of a flow go to one core, which has locks and state of its own
    CpuAffinity,
    /// Packets of a flow go to one thread, which has state of its own
    ThreadAffinity,
    /// Critical sections are transactions
    Transactions,
    /// Each of these that the machine has
    All,
}

/// What is printed.
#[derive(Serialize)]
struct Results {
    machine: String,
    trace_packets: usize,
    control_store: Store,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    data: Vec<Placed>,
    runs: Vec<Report>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    saturation: Vec<saturation::Saturation>,
}

/// Whether the program fits into a core's memory for code.
#[derive(Serialize)]
struct Store {
    instructions: u64,
    limit: Option<u32>,
    fits: bool,
}

fn rate(text: &str) -> Result<f64, String> {
    within(text, 1.0, 1e9).ok_or_else(|| "a number of packets between 1 and 1000000000".to_owned())
}

fn seconds(text: &str) -> Result<f64, String> {
    within(text, 1e-6, 60.0).ok_or_else(|| "a time between 0.000001 and 60 seconds".to_owned())
}

fn within(text: &str, least: f64, most: f64) -> Option<f64> {
    text.parse().ok().filter(|value| (least..=most).contains(value))
}

pub(crate) fn run(args: &Args) -> Outcome {
    let machine = match any(&args.machine)? {
        Any::Threads(machine) => *machine,
        Any::Pipeline(machine) => return pipeline::run(args, &machine),
    };
    let schemes = schemes(args.scheme, &machine)?;
    let trace = args.observed.trace()?;
    let layout = Layout::of(&trace, &machine).map_err(|fault| Failure::failed(format_args!("{}: {fault}", machine.name)))?;
    if args.explain && machine.scope.is_none() {
        return Err(Failure::usage(format_args!("{} places all data as its `[place]` says, by no scope", machine.name)));
    }
    if let Some(groups) = &args.groups {
        return groups::run(args, &machine, &trace, groups);
    }
    if let Some(threads) = &args.threads {
        return router::run(args, &machine, &trace, threads);
    }
    let work = steps::placed(&trace, &machine, &layout);
    let mut results = Results {
        machine: machine.name.clone(),
        trace_packets: work.len(),
        control_store: store(&trace, &machine),
        data: if args.explain { layout.placed } else { Vec::new() },
        runs: Vec::new(),
        saturation: Vec::new(),
    };
    for scheme in schemes {
        match args.saturate {
            Some(seconds) => results.saturation.push(saturation::search(&machine, &work, scheme, seconds)),
            None => results.runs.push(simulate(&machine, &work, &options(args, &machine, scheme, work.len()))),
        }
    }
    if !results.control_store.fits {
        let (has, limit) = (results.control_store.instructions, machine.processor.control_store);
        failure::warning(format_args!("the program has some {has} instructions, and a core of {} holds {limit}", machine.name));
    }
    let mut out = Out::new();
    match args.json {
        true => out.json(&results)?,
        false => out.put(&report::text(&results, &machine))?,
    }
    out.flush()
}

fn options(args: &Args, machine: &Machine, scheme: Scheme, packets: usize) -> Options {
    let interval = args.rate.map(|rate| machine.clock_mhz * 1e6 / rate);
    Options { scheme, packets: args.packets.unwrap_or(packets as u64), first: 0, interval, until_drop: false, until_repeat: false }
}

/// A machine by its name or file.
fn any(name: &str) -> Outcome<Any> {
    let text = match std::path::Path::new(name).extension().is_some_and(|end| end.eq_ignore_ascii_case("toml")) {
        true => std::fs::read_to_string(name).map_err(|error| Failure::failed(format_args!("{name}: {error}")))?,
        false => description::built_in().find(|(known, _)| *known == name).ok_or_else(|| unknown(name))?.1.to_owned(),
    };
    Any::read(&text).map_err(|fault| Failure::failed(format_args!("{name}: {fault}")))
}

/// One of cores and threads.
pub(super) fn machine(name: &str) -> Outcome<Machine> {
    match any(name)? {
        Any::Threads(machine) => Ok(*machine),
        Any::Pipeline(_) => Err(Failure::usage(format_args!(
            "{name} is a pipeline, which has no sections that conflict: its hazards are told by netvm simulate"
        ))),
    }
}

fn schemes(wanted: SchemeArg, machine: &Machine) -> Outcome<Vec<Scheme>> {
    let one = match wanted {
        SchemeArg::Locks => Scheme::Locks,
        SchemeArg::CpuAffinity => Scheme::CpuAffinity,
        SchemeArg::ThreadAffinity => Scheme::ThreadAffinity,
        SchemeArg::Transactions => Scheme::Transactions,
        SchemeArg::All => {
            let has = |scheme: &Scheme| *scheme != Scheme::Transactions || machine.transactions.is_some();
            return Ok(Scheme::ALL.map(|(scheme, _)| scheme).into_iter().filter(has).collect());
        }
    };
    if one == Scheme::Transactions && machine.transactions.is_none() {
        return Err(Failure::usage(format_args!("{} has no transactions", machine.name)));
    }
    Ok(vec![one])
}

fn store(trace: &Trace, machine: &Machine) -> Store {
    let instructions = trace.elements.iter().map(|element| steps::size(&element.program, machine)).sum();
    let limit = Some(machine.processor.control_store).filter(|limit| *limit > 0);
    Store { instructions, limit, fits: limit.is_none_or(|limit| instructions <= limit.into()) }
}
