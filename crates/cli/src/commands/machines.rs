//! `netvm machines`: the machines that there are models of.

use crate::failure::{Failure, Outcome};
use crate::out::Out;
use machine::description::{self, Any};

/// List the machines of `netvm simulate`, or show the description of one
///
/// A description is a TOML file that says what the machine has and how long it takes, with the
/// source of each number beside it. Write one of your own, beginning with what this shows, and give
/// its name to `netvm simulate --machine`.
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
            let all: Vec<Any> = description::built_in().filter_map(|(_, text)| Any::read(text).ok()).collect();
            if args.json {
                out.json(&all.iter().map(one).collect::<Vec<_>>())?;
            } else {
                all.iter().map(Any::about).try_for_each(|(name, about)| out.line(&format!("{name:<12} {about}")))?;
            }
        }
    }
    out.flush()
}

fn one(machine: &Any) -> serde_json::Value {
    match machine {
        Any::Threads(m) => {
            let p = &m.processor;
            serde_json::json!({ "name": m.name, "description": m.description, "clock_mhz": m.clock_mhz, "cores": p.cores, "threads": p.threads })
        }
        Any::Pipeline(m) => {
            serde_json::json!({ "name": m.name, "description": m.description, "clock_mhz": m.clock_mhz, "stages": m.pipeline.stages })
        }
    }
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
