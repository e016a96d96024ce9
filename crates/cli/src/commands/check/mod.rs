//! `netvm check`: whether a configuration can run, and which ways packets take in it; of a folder,
//! how many can.

mod folder;
mod placement;

use super::run::cores::{Kept, State, parse_state};
use super::run::{configuration, search};
use crate::failure::{Failure, Outcome};
use crate::out::Out;
use netvm::application::{Application, Cuts};
use std::path::PathBuf;

/// Check a Click configuration or a P4 program
///
/// Reads it, looks its classes up, and checks ports, push and pull, and arguments. Captures need
/// not be there, and devices need not be mapped: that is needed to run. What is found wrong is
/// drawn in its text; else a line tells how many elements and connections there are, and which
/// connections lead packets back. For each table that packets change or ask a line tells what its
/// keys are, where in its class that is decided, how replicas on several cores would have it (netvm
/// run --place), and what would make that cheaper; --placement and --json tell the same of
/// variables.
///
/// Of a P4 program also warnings are drawn, on standard error, that do not change the exit status:
/// parser states and cases of select that are never reached, entries that never match, tables that
/// are never applied, actions that are never used, and reads of headers that may be invalid, with a
/// way on which they are.
///
/// Of a folder, all configurations in it and in those within it (*.click) are checked: a summary
/// tells how many are accepted and, for the others, the first reason, most frequent first. The exit
/// status is 1 if one is refused. Where a configuration wants the addresses of a device that it
/// reads or writes, some for documentation are taken.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  netvm check router.click
  netvm check router.click --paths
  netvm check firewall.click --placement
  netvm check firewall.click --json | jq '.state[] | .element, .name, .sort, .shared'
  netvm check switch.p4
  netvm check switch.p4 --entries routes.txt
  netvm check switch.p4 --json | jq '.warnings[].message'
  netvm check configurations/
  netvm check configurations/ --json | jq '.refused[] | .count, .reason'")]
pub(crate) struct Args {
    /// Click configuration, - for standard input; P4 program (.p4, .json of BMv2); or a folder of
    /// configurations
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::AnyPath)]
    file: PathBuf,

    /// Values for parameters of the configuration
    #[arg(value_name = "NAME=VALUE")]
    parameters: Vec<String>,

    /// A folder with element classes in C, looked into before the built-in ones
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    elements: Vec<PathBuf>,

    /// List every connection, with -> for push and => for pull
    #[arg(long)]
    paths: bool,

    #[command(flatten)]
    p4: super::p4::ReadingArgs,

    /// Entries for the tables of a P4 program, as netvm run takes them: those that never match are
    /// told
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    entries: Option<PathBuf>,

    /// Print the configuration without its shorthand
    #[arg(long)]
    flat: bool,

    /// Print which elements replicas on several cores may have (netvm run --place), and why others
    /// may not
    #[arg(long)]
    placement: bool,

    /// Which order of packets that is to keep: that of all, or that of each flow (netvm run
    /// --order)
    #[arg(long, value_enum, default_value_t, requires = "placement")]
    order: Kept,

    /// How state that replicas have in common is to be shared (netvm run --state)
    #[arg(long, value_name = "[NAME=]auto|affinity|shard|lock|transaction|copies|replicate", value_parser = parse_state, requires = "placement")]
    state: Vec<State>,

    /// Print what is told as JSON: of a configuration, a folder, the placement, or the warnings
    /// about a P4 program
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Outcome {
    if super::p4::is_program(&args.file) {
        return args.p4.check(&args.file, args.entries.as_deref(), args.json);
    }
    if args.entries.is_some() {
        return Err(Failure::usage("--entries is for a P4 program"));
    }
    if args.file.is_dir() {
        let of_one = [(args.paths, "--paths"), (args.flat, "--flat"), (args.placement, "--placement")];
        if let Some((_, option)) = of_one.iter().find(|(given, _)| *given) {
            return Err(Failure::usage(format_args!("{option} is for one configuration")));
        }
        return folder::run(&args.file, &args.parameters, &args.elements, args.json);
    }
    let file = search::configuration(&args.file)?;
    let text = configuration::read(&file)?;
    let reading = configuration::reading(Some(&file), args.parameters.iter().cloned(), &args.elements)?;
    let application = configuration::application(&file.display().to_string(), &text, &reading)?;
    application.check()?;
    let mut out = Out::new();
    match args.placement {
        true => place(args, &application, &mut out)?,
        false => summarise(args, &application, &mut out)?,
    }
    out.flush()
}

/// Which elements may be replicated, and what is kept where.
fn place(args: &Args, application: &Application, out: &mut Out) -> Outcome {
    let placement = args.order.place(application, &[], &args.state, (&[], &Cuts::None)).map_err(Failure::failed)?;
    if args.json {
        return out.json(&placement::json(application.application(), &placement));
    }
    out.put(&placement.explain(application.application(), None))?;
    placement::lines(application, &placement).iter().try_for_each(|item| out.line(&format!("kept: {item}")))?;
    for (element, kept) in application.kept() {
        out.line(&format!("kept by {element}"))?;
        kept.iter().try_for_each(|line| out.line(&format!("  {line}")))?;
    }
    Ok(())
}

/// The flat configuration, or how large it is, what leads back and which tables it keeps.
fn summarise(args: &Args, application: &Application, out: &mut Out) -> Outcome {
    let flat = application.flat();
    if args.flat {
        return out.put(&flat.to_string());
    }
    if args.json {
        return out.json(&placement::summary(application));
    }
    out.line(&format!("{} elements, {} connections", flat.elements.len(), flat.connections.len()))?;
    for connection in application.connections(true) {
        out.line(&format!("leads back: {connection}"))?;
    }
    placement::kept(application).iter().filter(|item| item.is_table).try_for_each(|item| out.line(&format!("kept: {item}")))?;
    if args.paths {
        for connection in application.connections(false) {
            out.line(&connection)?;
        }
    }
    Ok(())
}
