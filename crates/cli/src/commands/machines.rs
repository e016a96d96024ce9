//! `netvm machines`: the machines that there are models of.

use crate::failure::{Failure, Outcome};
use crate::out::Out;
use machine::description;

/// List the machines of `netvm simulate`, or show the description of one
///
/// A description is a TOML file that says what the machine has and how long it takes, with the source of each number beside it. Write one of your own, beginning with what this shows, and
/// give its name to `netvm simulate --machine`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  netvm machines
  netvm machines ixp1200 > mine.toml")]
pub(crate) struct Args {
    /// Show the description of this machine
    #[arg(value_name = "NAME")]
    name: Option<String>,

    /// Print JSON
    #[arg(long, conflicts_with = "name")]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let mut out = Out::new();
    match &args.name {
        Some(name) => out.put(text(name)?)?,
        None => {
            let all: Vec<machine::Machine> = description::built_in().filter_map(|(name, _)| description::named(name)).collect();
            if args.json {
                let one = |m: &machine::Machine| serde_json::json!({ "name": m.name, "description": m.description, "clock_mhz": m.clock_mhz, "cores": m.processor.cores, "threads": m.processor.threads });
                out.json(&all.iter().map(one).collect::<Vec<_>>())?;
            } else {
                all.iter().try_for_each(|m| out.line(&format!("{:<12} {}", m.name, m.description)))?;
            }
        }
    }
    out.flush()
}

fn text(name: &str) -> Outcome<&'static str> {
    let found = description::built_in().find(|(known, _)| *known == name);
    found.map(|(_, text)| text).ok_or_else(|| unknown(name))
}

/// There is no such machine.
pub(super) fn unknown(name: &str) -> Failure {
    let known: Vec<&str> = description::built_in().map(|(name, _)| name).collect();
    Failure::usage(format_args!("there is no machine `{name}`; there are {}, and files that end in .toml", known.join(", ")))
}
