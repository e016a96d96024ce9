//! `netvm run`: a NetIL program between captures, or a configuration of elements
//! ([`configuration`]).
//!
//! The schedule is the reference one: arrivals in the order of their times, each pushed as far as
//! it goes (or left waiting at a pull input), then every pull output is asked, in the order of
//! declaration, until it has nothing more to give. A program without pull handler takes its
//! arrivals in bursts, which gives the same.

pub(crate) mod configuration;
pub(crate) mod control;
#[cfg(not(feature = "p4runtime"))]
mod controllers;
pub(crate) mod cores;
mod divided;
pub(crate) mod follow;
pub(crate) mod given;
mod kernel;
mod listen;
mod lost;
pub(crate) mod mapping;
mod merge;
pub(crate) mod p4trace;
mod placed;
mod ports;
mod reading;
mod record;
mod report;
mod results;
pub(crate) mod search;
mod switch;
mod switch_live;
mod tally;
mod terminal;
mod wired;

use super::shared::EngineArg;
use crate::failure::{self, Failure, Outcome};
use crate::out::Out;
use crate::progress::Progress;
use crate::signals::Signals;
use merge::{Arrival, Merge};
use netvm::io::LinkType;
use netvm::netil::exec::{Disposition, ExchangeBuffer};
use netvm::netil::module::PortKind;
use netvm::{Session, Settings, load};
#[cfg(feature = "p4runtime")]
use p4runtime as controllers;
use ports::{Outputs, PortFile};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use tally::Tally;

/// Packets in a burst.
const BURST: usize = 256;
/// Packets that pull outputs may give after one arrival: a program that makes its own could go on
/// for ever.
const MAX_PULLS: usize = 1024;

/// Run a NetIL program, a Click configuration or a P4 program on captures or interfaces
///
/// Each `--in` feeds a capture to an input port; packets of several captures arrive in the order of
/// their times. Each `--out` writes what leaves by an output port. What a program drops is counted
/// by reason. A trap drops its packet and is counted: the places of traps are told at the end, and
/// do not change the exit status; a failed init handler does.
///
/// A FILE that ends in .p4 is a P4 program for v1model or PSA, one that ends in .json is one that
/// p4c has made for BMv2: ports are numbers, --in PORT=CAPTURE and --out PORT=CAPTURE say what is
/// at them, --entries FILE fills its tables. With --map PORT=dev:IF or --map PORT=IN,OUT instead,
/// the program is compiled as an element of a graph: faster, on interfaces, on several cores with
/// --place.
///
/// A FILE that ends in .click, or the text behind -e, is a configuration of elements. FromDump and
/// ToDump name their captures themselves; --map says which captures stand for devices.
#[derive(clap::Args)]
#[command(
    disable_help_flag = true,
    after_help = "\
Examples:
  netvm run nat.netil --in lan=lan.pcap --in wan=wan.pcap --out 2=nat.pcap
  netvm run count.nvm --in trace.pcap --stats
  netvm run nat.netil --in lan=dev:eth0 --in wan=dev:eth1 --out 2=dev:eth1
  netvm run router.p4 --entries routes.txt --in 0=a.pcap --out 1=b.pcap
  netvm run router.p4 --entries routes.txt --map 0=dev:eth0 --map 1=dev:eth1
  netvm run router.click --map eth0=in.pcap,out.pcap --stats
  netvm run count --map in=trace.pcap
  netvm run firewall.click --map inside=in.pcap --place rtc:2 --explain-place
  netvm run -e 'FromDump(trace.pcap) -> c :: Counter -> Discard' --handler c.count"
)]
pub(crate) struct Args {
    /// NetIL source, binary module, Click configuration (.click), or P4 program (.p4, .json of
    /// BMv2); an installed configuration by its name alone
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath, required_unless_present_any = ["expression", "handlers"])]
    file: Option<PathBuf>,

    /// Values for parameters of the configuration
    #[arg(value_name = "NAME=VALUE")]
    parameters: Vec<String>,

    /// Run this text as a configuration
    #[arg(short = 'e', long, value_name = "CONFIG")]
    expression: Option<String>,

    /// After the run, print what a handler says: ELEMENT.HANDLER, or one of the run;
    /// 'ELEMENT.HANDLER TEXT' asks it about TEXT
    #[arg(short = 'h', long = "handler", value_name = "HANDLER", num_args = 0..=1, default_missing_value = "")]
    handlers: Vec<String>,

    /// What stands for a device of the configuration: captures (one that it reads, one that it
    /// writes, or both; pcap: may stand before them), a capture that is read into memory and
    /// repeated until a signal, or so many times (mem:IN[:TIMES]), an interface (dev:IF, gso:IF
    /// with merged segments left whole, or by AF_XDP xdp:IF[:QUEUE]), or a TAP interface (tap:NAME)
    #[arg(long = "map", value_name = "DEVICE=IN[,OUT]|mem:IN|dev:IF|gso:IF|xdp:IF|tap:NAME")]
    maps: Vec<String>,

    /// Run a configuration elsewhere: xdp is one program in the kernel, at the interfaces that
    /// --map names (dev:IF) or --on, until a signal. What the kernel cannot run, this process does;
    /// --explain-opt tells what and why
    #[arg(long, value_name = "TARGET", conflicts_with_all = ["sim_time", "place", "control", "metrics"])]
    target: Option<String>,

    /// The interface of the only device that the configuration reads
    #[arg(long, value_name = "IF", requires = "target")]
    on: Option<String>,

    /// Who runs the program of xdp: the driver if it can (any), the driver (driver), or the kernel
    /// before its network stack (generic)
    #[arg(long, value_name = "MODE", value_enum, default_value = "any", requires = "target")]
    xdp_mode: super::xdp::Which,

    /// Simulated time, which goes on with timers instead of a clock
    #[arg(long)]
    sim_time: bool,

    /// A folder with element classes in C, looked into before the built-in ones
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    elements: Vec<PathBuf>,

    #[command(flatten)]
    p4: super::p4::ReadingArgs,

    /// Entries of a P4 program's tables, groups and sessions: commands of STF, or protobuf text of
    /// P4Runtime in a file that ends in .txtpb, see docs/p4.md
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    entries: Option<PathBuf>,

    /// Commands that are run behind the last packet of a P4 program, and what they tell:
    /// counter_read, register_read and others, see docs/p4.md
    #[arg(long = "then", value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    commands: Option<PathBuf>,

    /// Print what a P4 program tells its controller by digest, a line for each; as JSON with --json
    #[arg(long)]
    digests: bool,

    /// Print what a P4 program says by log_msg, and assertions that do not hold, with the place; as
    /// JSON with --json. The program runs slower then
    #[arg(long)]
    log: bool,

    /// Let controllers of P4Runtime in while a P4 program runs; the run goes on after the last
    /// packet until it is stopped
    #[arg(
        long,
        value_name = "ADDRESS:PORT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = controllers::DEFAULT_ADDRESS
    )]
    p4runtime: Option<std::net::SocketAddr>,

    /// The number by which controllers know a P4 program's switch
    #[arg(long, value_name = "NUMBER", default_value_t = 0, requires = "p4runtime")]
    device_id: u64,

    /// The port of a P4 program by which packets come from controllers and go to them; 510 for
    /// v1model and 4294967293 for PSA if not said
    #[arg(long, value_name = "PORT", requires = "p4runtime")]
    cpu_port: Option<u32>,

    /// Print help, as -h without a handler does
    #[arg(long, action = clap::ArgAction::Help)]
    help: Option<bool>,

    /// Capture that arrives at an input port (name or number; the first if not said), - for
    /// standard input; or an interface, as for --map (dev:IF)
    #[arg(long = "in", value_name = "PORT=IN|dev:IF", value_parser = ports::parse)]
    inputs: Vec<PortFile>,

    /// Capture of what leaves by an output port (name or number; the first if not said), - for
    /// standard output; or an interface
    #[arg(long = "out", value_name = "PORT=OUT|dev:IF", value_parser = ports::parse)]
    outputs: Vec<PortFile>,

    #[command(flatten)]
    engine: EngineArg,

    /// Seed of the program's random numbers
    #[arg(long, default_value_t = 0)]
    seed: u64,

    /// Backward branches, calls and 256-byte pieces of bulk work that one packet may take before it
    /// is a trap
    #[arg(long, value_name = "N", default_value_t = Settings::default().budget)]
    budget: u32,

    /// Run a configuration on several threads: sources, replicas of the elements that need not see
    /// all packets, and the rest. The result is that of one thread. rtc:N has N replicas, auto as
    /// many as packets and load are worth it, measured while they flow (--explain-place tells;
    /// netvm ctl replicas N ends that); where elements keep state by flow, as many as there are
    /// cores. pipeline has one, and a stage of its own for what runs in order before queues;
    /// pipeline:N has N threads, with stages of equal work as far as the compiler can tell. A file
    /// says how many replicas there are, which cores threads have, which elements are to be in
    /// replicas or in order, and where stages are cut: docs/cores.md
    #[arg(long, value_name = "auto|rtc:N|pipeline[:N]|FILE", value_parser = cores::parse)]
    place: Option<cores::ReplicaPlacement>,

    /// Which order of packets --place keeps. total: that of all packets; the result is that of one
    /// thread. flow: that of the packets between two addresses; each replica then has the whole
    /// configuration, receives its share itself and sends itself, and elements whose state is not
    /// found by flow have it in common, under a lock
    #[arg(long, value_enum, default_value_t, requires = "place")]
    order: cores::Kept,

    /// How replicas share state, of all elements or of those of one name or class; if not said, as
    /// the analysis of their programs finds best (auto). affinity: each replica has that of its
    /// flows, and shard: each has sums of its own; both are refused with the reason where there is
    /// more to it. With --order flow also: under a lock, by transactions where the program is fit
    /// for them (--explain-place tells; the handler ELEMENT.transactions counts them), or by copies
    /// that each replica reads without a lock. Where the order of all packets is kept: replicate
    /// lets elements that must see all packets run in replicas, each of which does to its own state
    /// what the packets of all do; --explain-place tells which
    #[arg(long, value_name = "[NAME=]auto|affinity|shard|lock|transaction|copies|replicate", value_parser = cores::parse_state, requires = "place")]
    state: Vec<cores::State>,

    /// An element or a class whose state may be kept by each replica for itself: numbers that its
    /// handlers say are summed, other results may differ from those of one thread
    #[arg(long, value_name = "ELEMENT|CLASS", requires = "place")]
    relax: Vec<String>,

    /// Cores for the threads of --place, in the order of netvm ctl threads: sources, replicas, the
    /// rest; the first ones again where there are more threads. netvm ctl move changes that
    #[arg(long, value_name = "CORE", value_delimiter = ',', requires = "place")]
    pin: Vec<usize>,

    /// Tell on standard error which thread each element is on with --place, and why
    #[arg(long)]
    explain_place: bool,

    /// Let netvm ctl read and write handlers while a configuration runs, by a Unix socket at PATH
    /// (if not said, one of its own) that only this user may use
    #[arg(long, value_name = "PATH", num_args = 0..=1, require_equals = true, value_hint = clap::ValueHint::AnyPath)]
    control: Option<Option<PathBuf>>,

    /// Tell statistics of a running configuration to Prometheus, over HTTP at that address:
    /// 127.0.0.1:9478 if not said
    #[arg(long, value_name = "ADDRESS:PORT", num_args = 0..=1, require_equals = true, default_missing_value = netvm::control::metrics::DEFAULT_ADDRESS)]
    metrics: Option<std::net::SocketAddr>,

    /// Record all packets, and keep the ways of the last N of them (4096 if not said), for netvm
    /// ctl why; after a crash they are in a file in the present folder. Without the option as many
    /// packets are recorded as take no more than a hundredth of the time: all of them up to some
    /// 30,000 packets per second. 0: none. With --place: of each replica
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "4096", value_parser = clap::value_parser!(u32).range(0..=1_048_576),
        conflicts_with = "target")]
    record: Option<u32>,

    /// Tell on standard error what became of the packets; of a configuration, for each element how
    /// many came, left by which output, and were dropped why, and how long the element took for
    /// each (one run in 64 is measured; of elements that run as one, what each takes of their time
    /// is told by 64 packets of one burst in some 4,096)
    #[arg(long)]
    stats: bool,

    /// Tell on standard error which elements of a configuration are linked with the engine aot,
    /// which lookups are fetched ahead, and whether arrivals run in bursts
    #[arg(long)]
    explain_opt: bool,

    /// Leave an optimisation of a configuration or a P4 program out, to see what it gains; may be
    /// given several times
    #[arg(long, value_name = "NAME", value_parser = super::shared::optimisation_parser())]
    without: Vec<String>,

    /// Tell what became of the packets as JSON on standard output, with what handlers say; what
    /// elements print goes to standard error then
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Outcome {
    if args.handlers.iter().any(String::is_empty) {
        return help();
    }
    // With -e what stands there is a parameter.
    let file = args.file.as_deref().filter(|_| args.expression.is_none()).map(search::configuration).transpose()?;
    if let Some(failure) = file.as_deref().and_then(crate::slips::no_program) {
        return Err(failure);
    }
    match (&args.expression, &file) {
        (Some(text), _) => configuration::run(args, None, text, args.file.iter().map(|first| first.display().to_string())),
        (None, Some(file)) if configuration::is_one(file) => {
            let text = configuration::read(file)?;
            configuration::run(args, Some(file), &text, std::iter::empty())
        }
        (None, Some(file)) if super::p4::is_program(file) => switch::run(args, file),
        (None, Some(file)) => program(args, file),
        (None, None) => Err(Failure::usage("a FILE or -e CONFIG is needed; -h asks a handler, and --help is help")),
    }
}

/// -h without a handler is what it is elsewhere.
fn help() -> Outcome {
    let mut command = crate::command();
    command.build();
    let text = command.find_subcommand_mut("run").map(|run| run.render_help().ansi().to_string()).unwrap_or_default();
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// What is for configurations only would have no effect.
fn refuse_others(args: &Args, file: &std::path::Path) -> Outcome {
    let only = [
        ("NAME=VALUE", !args.parameters.is_empty()),
        ("--handler", !args.handlers.is_empty()),
        ("--map", !args.maps.is_empty()),
        ("--target", args.target.is_some()),
        ("--sim-time", args.sim_time),
        ("--elements", !args.elements.is_empty()),
        ("--explain-opt", args.explain_opt),
        ("--without", !args.without.is_empty()),
        ("--place", args.place.is_some()),
        ("--control", args.control.is_some()),
        ("--metrics", args.metrics.is_some()),
        ("--record", args.record.is_some()),
        ("--explain-place", args.explain_place),
        ("--entries", args.entries.is_some() && !super::p4::is_program(file)),
        ("--then", args.commands.is_some() && !super::p4::is_program(file)),
        ("--p4runtime", args.p4runtime.is_some() && !super::p4::is_program(file)),
        ("--digests", args.digests && !super::p4::is_program(file)),
        ("--log", args.log && !super::p4::is_program(file)),
    ];
    match only.iter().find(|(_, given)| *given) {
        Some((what, _)) => Err(Failure::usage(format_args!("{what} is for configurations, and {} is a program", file.display()))),
        None => Ok(()),
    }
}

fn program(args: &Args, file: &std::path::Path) -> Outcome {
    refuse_others(args, file)?;
    let program = Arc::new(load::program(file)?);
    wired::check(args)?;
    if wired::is_wanted(args) {
        return wired::run(args, file, &program);
    }
    let inputs = ports::resolve(&program, &args.inputs, true)?;
    let outputs = ports::resolve(&program, &args.outputs, false)?;
    let signals = Signals::watch()?;
    let merge = Merge::open(&inputs)?;
    let infos = merge.infos()?;
    let settings = Settings { seed: args.seed, budget: args.budget, engine: args.engine.settings() };
    let session = Session::start(Arc::clone(&program), args.engine.get(), settings)?;
    let outputs = Outputs::create(&outputs, &infos)?;
    let mut work = Work {
        tally: Tally::new(&program),
        pulls: ports::of_kind(&program, PortKind::PullOutput),
        pull_inputs: ports::of_kind(&program, PortKind::PullInput),
        link: infos.first().and_then(|info| info.link_types.first()).copied().unwrap_or(LinkType::EN10MB),
        has_pull: program.module().pull.is_some(),
        session,
        outputs,
    };
    let start = Instant::now();
    let whole = work.feed(merge, &signals)?;
    let Work { tally, outputs, .. } = work;
    outputs.finish()?;
    let seconds = start.elapsed().as_secs_f64();
    tally.warn_if_lost();
    let on_stdout = !args.outputs.iter().any(|o| o.path == std::path::Path::new("-"));
    report(args, &tally, seconds, on_stdout)?;
    signals.result()?;
    if whole { Ok(()) } else { Err(Failure::told()) }
}

fn report(args: &Args, tally: &Tally, seconds: f64, on_stdout: bool) -> Outcome {
    tally.tell_traps();
    if args.json {
        let json = serde_json::to_string(&tally.json(seconds)).map_err(Failure::failed)?;
        if on_stdout {
            let mut out = Out::new();
            out.line(&json)?;
            out.flush()?;
        } else {
            failure::eprint_lossy(&json);
        }
    }
    if args.stats {
        failure::eprint_lossy(tally.text(seconds).trim_end());
    }
    Ok(())
}

/// A session between its captures.
struct Work {
    session: Session,
    outputs: Outputs,
    tally: Tally,
    pulls: Vec<u32>,
    pull_inputs: Vec<u32>,
    has_pull: bool,
    /// The link type of packets that the program makes up.
    link: LinkType,
}

impl Work {
    /// Runs everything. True if no input was damaged.
    fn feed(&mut self, mut merge: Merge, signals: &Signals) -> Outcome<bool> {
        let mut bar = Progress::new(true);
        let mut arrivals = Vec::new();
        let burst = if self.has_pull { 1 } else { BURST };
        if merge.is_empty() {
            self.pull(0)?;
        }
        while !signals.stop() {
            merge.next(burst, &mut arrivals, signals, &mut || self.outputs.flush())?;
            if arrivals.is_empty() {
                break;
            }
            self.arrive(&mut arrivals)?;
            bar.at(merge.progress());
        }
        bar.clear();
        Ok(merge.is_whole())
    }

    fn arrive(&mut self, arrivals: &mut Vec<Arrival>) -> Outcome {
        self.tally.arrived(arrivals.len() as u64);
        let time = arrivals.last().map_or(0, |a| a.time_ns());
        if let [only] = arrivals.as_mut_slice()
            && self.pull_inputs.contains(&only.port)
        {
            let port = only.port;
            self.session.offer(port, only.buffer().into_owned());
        } else {
            self.push(arrivals)?;
        }
        if self.has_pull { self.pull(time) } else { Ok(()) }
    }

    fn push(&mut self, arrivals: &[Arrival]) -> Outcome {
        let mut buffers: Vec<ExchangeBuffer<'_>> = arrivals.iter().map(Arrival::buffer).collect();
        let outcome = self.session.push(&mut buffers);
        let mut clones = outcome.clones.iter().peekable();
        for (i, (arrival, buffer)) in arrivals.iter().zip(&buffers).enumerate() {
            while let Some(clone) = clones.next_if(|c| c.source as usize <= i) {
                self.tally.cloned(clone.port);
                self.outputs.write(clone.port, arrival.link, clone.buffer.wire_len(), &clone.buffer)?;
            }
            let disposition = outcome.dispositions.get(i).copied();
            self.tally.ended(disposition, arrival);
            if let Some(Disposition::Port(port)) = disposition {
                self.outputs.write(port, arrival.link, buffer.wire_len(), buffer)?;
            }
        }
        Ok(())
    }

    /// Asks every pull output until it has nothing to give.
    fn pull(&mut self, time: u64) -> Outcome {
        let mut left = MAX_PULLS;
        for at in 0..self.pulls.len() {
            let port = self.pulls[at];
            while left > 0 && self.pull_one(port, time)? {
                left -= 1;
            }
        }
        Ok(())
    }

    fn pull_one(&mut self, port: u32, time: u64) -> Outcome<bool> {
        let mut packet = ExchangeBuffer::none();
        let outcome = self.session.pull(port, time, &mut packet);
        for clone in &outcome.clones {
            self.tally.cloned(clone.port);
            self.outputs.write(clone.port, self.link, clone.buffer.wire_len(), &clone.buffer)?;
        }
        let disposition = outcome.dispositions.first().copied();
        self.tally.pulled(disposition);
        let Some(Disposition::Port(port)) = disposition else { return Ok(false) };
        self.outputs.write(port, self.link, packet.wire_len(), &packet)?;
        Ok(true)
    }
}
