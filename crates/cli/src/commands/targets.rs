//! `netvm targets`: what `netvm build` makes files for.

use crate::failure::{Failure, Outcome};
use crate::out::Out;
use netvm::targets::{self, Target};

/// List what programs can be built for, and what each target admits
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  netvm targets
  netvm targets xdp
  netvm targets --json")]
pub(crate) struct Args {
    /// Only this one
    #[arg(value_name = "TARGET")]
    target: Option<String>,

    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

/// A target for programs.
#[derive(serde::Serialize)]
struct Told<'a> {
    name: &'a str,
    about: &'a str,
    files: &'a str,
    admits: &'a [&'a str],
    refuses: &'a [&'a str],
}

pub(crate) fn run(args: &Args) -> Outcome {
    let chosen: Vec<&Target> = match &args.target {
        Some(name) => vec![find(name)?],
        None => targets::ALL.iter().collect(),
    };
    let mut out = Out::new();
    for (i, target) in chosen.into_iter().enumerate() {
        if args.json {
            let Target { name, about, files, admits, refuses, .. } = target;
            out.json(&Told { name, about, files, admits, refuses })?;
            continue;
        }
        let gap = if i > 0 { "\n" } else { "" };
        out.line(&format!("{gap}{}: {}", target.name, target.about))?;
        out.line(&format!("  builds   {}", target.files))?;
        for (what, lines) in [("admits", target.admits), ("refuses", target.refuses)] {
            for (i, line) in lines.iter().enumerate() {
                out.line(&format!("  {:<7}  {line}", if i == 0 { what } else { "" }))?;
            }
        }
    }
    out.flush()
}

/// The target with that name.
pub(super) fn find(name: &str) -> Outcome<&'static Target> {
    targets::find(name).ok_or_else(|| {
        let names: Vec<&str> = targets::ALL.iter().map(|target| target.name).collect();
        Failure::usage(format_args!("there is no target '{name}'; there are: {}", names.join(", ")))
    })
}
