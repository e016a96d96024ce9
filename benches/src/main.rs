//! `netvm-bench`: netvm beside libpcap, tcpdump, the kernel's and DPDK's compilers, and
//! hand-written C, all from one run.
//!
//! Sections: `single` and `mixed` time filters f1 to f9 on packets in memory, on one processor,
//! after their verdicts were compared packet by packet; `compile` times what it takes until a
//! filter runs; `tables` times lookups in tables; `programs` times whole programs on large captures
//! in memory; `applications` times routers, translators, switches, firewalls, counting and a
//! balancer, `cores` the same on several threads; `moves` moves threads while packets flow, `swaps`
//! replaces their configuration; `queues` what threads hand packets over with and what it gains to
//! pin them; `latency` how long packets stay in the router under load; `p4` what each optimisation
//! of P4 programs gains, how long they take to start, packet sizes, and the switch around them
//! beside BMv2; `bursts` times embedded ones by how many packets come at a time, `runs` whole runs
//! of configurations, and `click` the same beside Click. Engines take turns, round by round, and
//! medians are told: machines are noisy, so compare ratios of one run. `--record` keeps the figures
//! under `benches/records/` with machine and revision.

mod applications;
mod bursts;
mod capi;
mod captures;
mod clicks;
mod compile;
mod dpdk;
mod engines;
mod filters;
mod hand;
#[cfg(any(xdp, test))]
mod image;
mod kernel;
mod latency;
mod lookups;
mod machine;
mod native;
mod plot;
mod programs;
mod queues;
mod random;
mod report;
mod runs;
mod tables;
mod traces;
mod traffic;

use clap::{Parser, ValueEnum};
use machine::Machine;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use traces::Memory;

/// Measure netvm beside libpcap, tcpdump, the kernel, DPDK and hand-written C.
#[derive(Parser)]
struct Args {
    /// What to measure [default: everything]
    #[arg(value_enum)]
    sections: Vec<Section>,

    /// The netvm program for the sections `runs`, `click` and `programs`
    #[arg(long, value_name = "FILE")]
    netvm: Option<PathBuf>,

    /// Filters, as numbers
    #[arg(long, value_name = "N,N…", value_delimiter = ',', default_values_t = 1..=9, value_parser = clap::value_parser!(u32).range(1..=9))]
    filters: Vec<u32>,

    /// Applications of the section `applications`, by the names that benches/records/README.md has,
    /// all sizes of each; rows of the sections `click` and `bursts`, by how their names begin
    #[arg(long, value_name = "NAME,NAME…", value_delimiter = ',')]
    only: Vec<String>,

    /// Rounds of each engine on each filter
    #[arg(long, default_value_t = 11, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// Replicas of applications in the section `cores`
    #[arg(long, value_name = "N,N…", value_delimiter = ',', default_values_t = [2_usize])]
    replicas: Vec<usize>,

    /// Sides of the sections `cores` and `swaps`, by words in their names, such as `analysed,lock`
    /// [default: all]
    #[arg(long, value_name = "WORD,WORD…", value_delimiter = ',')]
    sides: Vec<String>,

    /// Packets in the mixed trace
    #[arg(long, default_value_t = 8192, value_parser = clap::value_parser!(u32).range(1..))]
    packets: u32,

    /// Size in MB of each capture for whole programs
    #[arg(long, value_name = "MB", default_value_t = 1000)]
    capture: u64,

    /// Print JSON
    #[arg(long)]
    json: bool,

    /// Keep the figures in benches/records
    #[arg(long)]
    record: bool,

    /// A folder with BMv2's programs, for the section `p4`: simple_switch, simple_switch_CLI, and
    /// JSON of benches/p4/*.p4 or p4c-bm2-ss
    #[arg(long, value_name = "FOLDER")]
    bmv2: Option<PathBuf>,

    /// Click's program, or the folder of its sources in which it was built, for the section `click`
    #[arg(long, value_name = "FILE")]
    click: Option<PathBuf>,

    /// Measure nothing, but write the packets, routes and rules that applications are measured with
    /// into a folder; with the section `click` its configurations and captures
    #[arg(long, value_name = "FOLDER")]
    write_traffic: Option<PathBuf>,
}

impl Args {
    fn wants(&self, section: Section) -> bool {
        self.sections.is_empty() || self.sections.contains(&section)
    }
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Section {
    Single,
    Mixed,
    /// 77 MB
    Large,
    /// 1.3 GB
    Cold,
    /// Large sets, on the mixed trace
    Sets,
    /// Terms as written and as a profile orders them, on the mixed trace
    Profiled,
    Compile,
    /// Lookups in tables of flows and routes
    Tables,
    /// Routers, translator, switch, firewalls, counting and a balancer, on packets in memory
    Applications,
    /// Applications on several threads, with each way to share state
    Cores,
    /// Threads moved from core to core, and replicas that come and go, while packets in memory flow
    Moves,
    /// Another version of a running translator, on one thread and on several, while packets in
    /// memory flow
    Swaps,
    /// A queue under a lock beside a ring for each pair of threads, what a stage boundary costs,
    /// and threads pinned and not
    Queues,
    /// How long packets stay in the router, by load
    Latency,
    /// P4 programs: what each optimisation gains, how long it takes until they run, packet sizes,
    /// and the switch around them beside BMv2
    P4,
    /// A router and a translator within another program, 1 to 768 packets at a time
    Bursts,
    /// netvm run: endless sources, capture to capture, compiled C that is not there yet
    Runs,
    /// netvm run beside Click on the same configurations and captures
    Click,
    Programs,
}

/// All figures of a run.
#[derive(Default, Serialize)]
struct Results {
    machine: Machine,
    single: Vec<engines::Row>,
    mixed: Vec<engines::Row>,
    large: Vec<engines::Row>,
    cold: Vec<engines::Row>,
    sets: Vec<engines::Row>,
    profiled: Vec<engines::Row>,
    compile: Vec<compile::Row>,
    tables: Vec<tables::Row>,
    applications: Vec<applications::Row>,
    cores: Vec<applications::cores::Row>,
    moves: Vec<applications::moves::Row>,
    swaps: Vec<applications::swaps::Row>,
    queues: Vec<queues::Row>,
    latency: Vec<latency::Row>,
    p4_gains: Vec<applications::gains::Row>,
    p4_starts: Vec<applications::gains::Start>,
    p4_sizes: Vec<applications::sizes::Row>,
    p4_whole: Vec<applications::whole::Row>,
    bursts: Vec<bursts::Row>,
    runs: Vec<runs::Row>,
    clicks: Vec<clicks::Row>,
    programs: Vec<programs::Report>,
}

fn main() -> ExitCode {
    let args = Args::parse();
    match args.write_traffic.as_deref().map_or_else(|| run(&args), |folder| write(&args, folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Packets of applications; of the section `click`, if that is named, configurations too.
fn write(args: &Args, folder: &Path) -> Result<(), String> {
    if args.sections.contains(&Section::Click) { clicks::write(folder, &args.only) } else { captures::write_all(folder) }
}

fn run(args: &Args) -> Result<(), String> {
    let mut results = Results { machine: Machine::here(), ..Results::default() };
    let measured = measure(args, &mut results);
    let json = serde_json::to_string_pretty(&results).map_err(|e| e.to_string())?;
    match args.json {
        true => println!("{json}"),
        false => print!("{}", report::text(&results)),
    }
    if args.record {
        let path = record(&results.machine);
        std::fs::write(&path, json + "\n").map_err(|e| format!("{}: {e}", path.display()))?;
        eprintln!("recorded in {}", path.display());
        if !results.mixed.is_empty() {
            plot::draw(&results.mixed, &path.with_file_name("mixed.svg"))?;
        }
    }
    measured
}

/// What was measured before an error stays.
fn measure(args: &Args, results: &mut Results) -> Result<(), String> {
    let processors = machine::pin();
    in_memory(args, results)?;
    machine::unpin(processors);
    if args.wants(Section::Cores) {
        results.cores = applications::measure_cores(
            args.rounds as usize,
            &args.only,
            &applications::cores::Chosen { replicas: &args.replicas, sides: &args.sides },
        );
    }
    if args.wants(Section::Moves) {
        results.moves = applications::measure_moves();
    }
    if args.wants(Section::Swaps) {
        results.swaps = applications::measure_swaps(args.rounds as usize, &args.sides);
    }
    if args.wants(Section::Queues) {
        results.queues = queues::measure(args.rounds as usize);
    }
    match &args.netvm {
        Some(netvm) if args.wants(Section::Runs) => results.runs = runs::measure(netvm, args.rounds as usize)?,
        None if args.sections.contains(&Section::Runs) => return Err("say where the program is: --netvm FILE".to_owned()),
        _ => {}
    }
    if let Some(click) = args.click.as_deref().filter(|_| args.wants(Section::Click)) {
        let netvm = args.netvm.as_deref().ok_or("say where the program is: --netvm FILE")?;
        results.clicks = clicks::measure(click, netvm, args.rounds as usize, &args.only)?;
    } else if args.sections.contains(&Section::Click) {
        return Err("say where Click's program is: --click FILE".to_owned());
    }
    match &args.netvm {
        Some(netvm) if args.wants(Section::Programs) => {
            results.programs = programs::measure(netvm, args.capture * 1_000_000, args.rounds as usize)?
        }
        None if args.sections.contains(&Section::Programs) => return Err("say where the program is: --netvm FILE".to_owned()),
        _ => {}
    }
    Ok(())
}

/// All sections but whole programs.
fn in_memory(args: &Args, results: &mut Results) -> Result<(), String> {
    let wants = |section| args.wants(section);
    let rounds = args.rounds as usize;
    let chosen = || args.filters.iter().map(|n| *n as usize - 1);
    if wants(Section::Single) {
        let one = |which| engines::measure(which, &Memory::single(filters::packet(which)).trace(), rounds);
        results.single = chosen().map(one).collect::<Result<_, _>>()?;
    }
    let on = |memory: &Memory| all_on(memory, chosen(), rounds);
    if wants(Section::Mixed) {
        results.mixed = on(&Memory::mixed(args.packets as usize))?;
    }
    if wants(Section::Large) {
        results.large = on(&Memory::large())?;
    }
    if wants(Section::Cold) {
        results.cold = on(&Memory::cold())?;
    }
    if wants(Section::Sets) {
        results.sets = sets_on(&Memory::mixed(args.packets as usize), rounds)?;
    }
    if wants(Section::Profiled) {
        results.profiled = profiled_on(&Memory::mixed(args.packets as usize), rounds)?;
    }
    if wants(Section::Compile) {
        results.compile = compile::measure()?;
    }
    if wants(Section::Tables) {
        results.tables = tables::measure(rounds)?;
    }
    if wants(Section::Applications) {
        results.applications = applications::measure(rounds, &args.only);
    }

    if wants(Section::P4) {
        if args.only.is_empty() {
            results.p4_gains = applications::gains::measure(rounds)?;
            results.p4_starts = applications::gains::starts(rounds)?;
            results.p4_sizes = applications::sizes::measure(rounds)?;
        }
        results.p4_whole = applications::whole::measure(rounds, &args.only, args.bmv2.as_deref())?;
    }
    if wants(Section::Latency) {
        results.latency = latency::measure()?;
    }
    if wants(Section::Bursts) {
        results.bursts = bursts::measure(rounds, &args.only)?;
    }
    Ok(())
}

fn all_on(memory: &Memory, chosen: impl Iterator<Item = usize>, rounds: usize) -> Result<Vec<engines::Row>, String> {
    eprintln!("{} MB of packets", memory.size() / 1_000_000);
    let trace = memory.trace();
    chosen.map(|which| engines::measure(which, &trace, rounds)).collect()
}

fn sets_on(memory: &Memory, rounds: usize) -> Result<Vec<engines::Row>, String> {
    let trace = memory.trace();
    filters::large().iter().map(|(name, expression)| engines::measure_own(name, expression, &trace, rounds)).collect()
}

/// The profile is of other packets of the same mix.
fn profiled_on(memory: &Memory, rounds: usize) -> Result<Vec<engines::Row>, String> {
    let mut profile = netvm::Profile::default();
    for (_, packet) in netvm::io::synth::mixed_trace(1, 2048) {
        profile.add(netvm::io::LinkType::EN10MB, &packet, packet.len() as u32);
    }
    let trace = memory.trace();
    let row = |(name, expression): &(String, String)| engines::measure_profiled(name, expression, &profile, &trace, rounds);
    filters::of_terms().iter().map(row).collect()
}

/// A file of its own for today, this revision, and this kind of processor.
fn record(machine: &Machine) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("records");
    let processor: String =
        machine.processor.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect();
    folder.join(format!("{}-{}-{processor}.json", machine.date, machine.revision))
}
