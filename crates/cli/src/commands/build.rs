//! `netvm build`: files for another machine, or another place of this one.

use super::p4::ReadingArgs;
use super::run::configuration;
use crate::failure::{Failure, Outcome};
use crate::out::{self, Out};
use clap::builder::{PossibleValue, PossibleValuesParser};
use netvm::io::LinkType;
use netvm::netil::Verified;
use netvm::p4::Port;
use netvm::targets::{self, Action, Division, File, Options, Target};
use netvm::{Filter, engines, load};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Build a program, a filter, a Click configuration or a P4 program for a target: an eBPF object
/// for XDP, C for other processors, a plugin for VPP, or an OpenCL kernel
///
/// `netvm targets` tells what each target admits.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  netvm build --filter 'tcp port 80' --target xdp -o out     writes out/filter.o
  netvm build --filter 'not udp' --target xdp --accept drop --reject pass
  netvm build switch.netil --target xdp --port up=redirect:3 --port down=tx
  netvm build firewall.click --target xdp --map inside=dev:eth0 --map outside=dev:eth1 -o out
  netvm build --filter 'tcp port 80' --target aarch64 -o out && make -C out   C and a cross compiler
  netvm build router.click --target octeon -o out            a configuration in C
  netvm build basic.p4 --entries s1.txt --target vpp -o out  a P4 program as a plugin for VPP
  netvm build basic.p4 --target vpp --nodes each --explain-opt -o out
  netvm build firewall.click --target octeon --nodes each -o out
  ip link set dev eth0 xdp obj out/filter.o sec xdp          puts it before eth0; off takes it away")]
pub(crate) struct Args {
    #[command(flatten)]
    source: BuildInput,

    /// The target; netvm targets lists them
    #[arg(long, value_name = "TARGET", default_value = "xdp")]
    target: String,

    /// The folder for the files, made if it is not there
    #[arg(short = 'o', long = "output", value_name = "DIR", value_hint = clap::ValueHint::DirPath, default_value = ".")]
    output: PathBuf,

    /// Values for parameters of a configuration
    #[arg(value_name = "NAME=VALUE")]
    parameters: Vec<String>,

    /// The interface of a device of a configuration: one of this machine, or the index that it has
    /// elsewhere
    #[arg(long = "map", value_name = "DEVICE=dev:IF|INDEX", value_parser = interface)]
    maps: Vec<(String, u32)>,

    /// A folder with element classes in C, looked into before the built-in ones
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    elements: Vec<PathBuf>,

    /// Commands that fill tables of a P4 program
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    entries: Option<PathBuf>,

    /// The ports of a P4 program, 0 to N-1, which are its devices [default: 4]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=512))]
    ports: Option<u16>,

    /// Leave an optimisation of a P4 program out, to see what it gains; may be given several times
    #[arg(long, value_name = "NAME", value_parser = optimisations())]
    without: Vec<String>,

    /// For vpp: one node, a node for each element and each table, or as many as pay; for octeon:
    /// groups with work queues in the place of nodes
    #[arg(long, value_enum, value_name = "FORM", default_value = "single")]
    nodes: Nodes,

    /// For vpp and octeon: print which elements are in which node or group, and why
    #[arg(long)]
    explain_opt: bool,

    #[command(flatten)]
    reading: ReadingArgs,

    #[command(flatten)]
    actions: Actions,
}

/// How a program is divided into nodes.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Nodes {
    Single,
    Each,
    Auto,
}

impl From<Nodes> for Division {
    fn from(nodes: Nodes) -> Self {
        match nodes {
            Nodes::Single => Self::Single,
            Nodes::Each => Self::Each,
            Nodes::Auto => Self::Auto,
        }
    }
}

/// Ports of a P4 program.
const PORTS: u16 = 4;

/// What is built.
#[derive(clap::Args)]
#[group(required = true, multiple = false, args = ["file", "filter"])]
pub(super) struct BuildInput {
    /// NetIL source or binary module, - for standard input; or a Click configuration (.click) or a
    /// P4 program for v1model (.p4)
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    file: Option<PathBuf>,

    /// A filter expression instead, on frames of Ethernet
    #[arg(long, value_name = "EXPR")]
    filter: Option<String>,
}

/// What is done with packets.
#[derive(clap::Args)]
#[command(next_help_heading = "Packets (ACTION: pass, drop, tx, abort or redirect:INDEX)")]
pub(super) struct Actions {
    /// With those that are accepted, or leave by a port that is not named [default: pass]
    #[arg(long, value_name = "ACTION")]
    accept: Option<Action>,

    /// With those that are rejected, dropped, or end with a trap [default: drop]
    #[arg(long, value_name = "ACTION")]
    reject: Option<Action>,

    /// With those that leave by that output port; may be given several times
    #[arg(long, value_name = "PORT=ACTION", value_parser = port)]
    port: Vec<(String, Action)>,
}

fn optimisations() -> PossibleValuesParser {
    PossibleValuesParser::new(netvm::p4::optimisation::ALL.iter().map(|(_, name, doc)| PossibleValue::new(*name).help(*doc)))
}

fn interface(text: &str) -> Result<(String, u32), String> {
    let (device, place) = text.split_once('=').ok_or("DEVICE=dev:IF or DEVICE=INDEX is wanted")?;
    let index = match place.strip_prefix("dev:") {
        Some(name) => netvm::io::bpf::interface(name).map_err(|error| format!("interface {name}: {error}"))?,
        None => place.parse().map_err(|_| "DEVICE=dev:IF or DEVICE=INDEX is wanted")?,
    };
    Ok((device.to_owned(), index))
}

fn port(text: &str) -> Result<(String, Action), String> {
    let (name, action) = text.split_once('=').ok_or("PORT=ACTION is wanted")?;
    Ok((name.to_owned(), action.parse()?))
}

impl BuildInput {
    /// The program.
    pub(super) fn program(&self) -> Outcome<Arc<Verified>> {
        match (&self.file, &self.filter) {
            (Some(path), _) => Ok(Arc::new(load::program(path)?)),
            (None, Some(text)) => Ok(Arc::clone(&Filter::new(text, &engines::ALL[0])?.prepare(LinkType::EN10MB)?.program)),
            (None, None) => Err(Failure::usage("give a FILE or --filter EXPR")),
        }
    }

    /// What it is called.
    fn name(&self) -> String {
        let stem = self.file.as_deref().filter(|file| *file != Path::new("-")).and_then(Path::file_stem);
        stem.map_or_else(|| "filter".to_owned(), |stem| stem.to_string_lossy().into_owned())
    }
}

impl Actions {
    /// As targets are told.
    pub(super) fn options(&self, name: String) -> Options {
        Options { name, ports: self.port.clone(), accept: self.accept, reject: self.reject, ..Options::default() }
    }
}

pub(crate) fn run(args: &Args) -> Outcome {
    let target = super::targets::find(&args.target)?;
    if target.divides.is_none() && (args.nodes != Nodes::Single || args.explain_opt) {
        let those: Vec<&str> = targets::ALL.iter().filter(|target| target.divides.is_some()).map(|target| target.name).collect();
        return Err(Failure::usage(format_args!("--nodes and --explain-opt are for the targets {}", those.join(" and "))));
    }
    let files = match args.source.file.as_deref() {
        Some(file) if configuration::is_one(file) => of_configuration(args, target, file)?,
        Some(file) if is_p4(file) => of_p4(args, target, file)?,
        _ => of_program(args, target)?,
    };
    let folder = &args.output;
    let mut told = Out::new();
    for file in files {
        let path = folder.join(&file.name);
        if let Some(within) = path.parent() {
            std::fs::create_dir_all(within).map_err(|error| Failure::failed(format_args!("cannot make {}: {error}", within.display())))?;
        }
        out::write_file(Some(&path), &file.bytes)?;
        told.line(&format!("{}: {}", path.display(), file.about))?;
        if args.explain_opt && target.divides == Some(file.name.as_str()) {
            told.line(String::from_utf8_lossy(&file.bytes).trim_end())?;
        }
    }
    told.flush()
}

fn of_program(args: &Args, target: &Target) -> Outcome<Vec<File>> {
    let only = [("NAME=VALUE", !args.parameters.is_empty()), ("--map", !args.maps.is_empty()), ("--elements", !args.elements.is_empty())];
    if let Some((what, _)) = only.iter().find(|(_, given)| *given) {
        return Err(Failure::usage(format_args!("{what} is for configurations")));
    }
    no_p4(args)?;
    let program = args.source.program()?;
    Ok((target.build)(&program, &Options { division: args.nodes.into(), ..args.actions.options(args.source.name()) })?)
}

fn is_p4(file: &Path) -> bool {
    file.extension().is_some_and(|end| end == "p4")
}

/// That nothing is said that is for P4 programs.
fn no_p4(args: &Args) -> Outcome {
    match args.entries.is_some() || args.ports.is_some() || !args.without.is_empty() {
        true => Err(Failure::usage("--entries, --ports and --without are for P4 programs")),
        false => Ok(()),
    }
}

fn of_configuration(args: &Args, target: &Target, file: &Path) -> Outcome<Vec<File>> {
    no_p4(args)?;
    of_text(args, target, file, &configuration::read(file)?)
}

/// The program as the only element between devices, one for each port.
fn of_p4(args: &Args, target: &Target, file: &Path) -> Outcome<Vec<File>> {
    let both = Port { reads: true, writes: true, is_live: true };
    let ports = (0..args.ports.unwrap_or(PORTS)).map(|n| (n, both)).collect();
    of_text(args, target, file, &args.reading.between(file, args.entries.as_deref(), &ports, &args.without))
}

fn of_text(args: &Args, target: &Target, file: &Path, text: &str) -> Outcome<Vec<File>> {
    let actions = &args.actions;
    if actions.accept.is_some() || actions.reject.is_some() || !actions.port.is_empty() {
        return Err(Failure::usage("--accept, --reject and --port are for programs: a configuration says where packets go"));
    }
    let reading = configuration::reading(Some(file), args.parameters.iter().cloned(), &args.elements)?;
    let application = configuration::application(&file.display().to_string(), text, &reading)?;
    let options =
        Options { interfaces: args.maps.iter().cloned().collect(), division: args.nodes.into(), ..actions.options(args.source.name()) };
    Ok(application.build(target, &options)?)
}
