//! `netvm bench machines`: the figures of the papers about machines that are models, beside ours.

mod netthreads;
mod octeon;
mod pipeline;
mod router;
mod traffic;

use crate::failure::{Failure, Outcome};
use crate::out::{self, Out};
use machine::figure::Figure;
use std::path::{Path, PathBuf};

/// Reproduce the figures of papers about machines that there are models of
///
/// Programs are applications of netvm and those in crates/machine, so this runs in a folder with
/// netvm's sources. Traffic is made, the same each time. docs/machines.md says what agrees with the
/// papers and what does not.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  netvm bench machines
  netvm bench --machines netthreads --seconds 5
  netvm bench --machines -o docs/machines     also drawings")]
pub(super) struct Args {
    /// Only these machines
    #[arg(value_name = "MACHINE", value_enum)]
    only: Vec<Which>,

    /// The folder with netvm's sources
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath, default_value = ".")]
    sources: PathBuf,

    /// Simulated seconds without a drop that make a rate a sustained one
    #[arg(long, value_name = "SECONDS", default_value_t = 0.05)]
    seconds: f64,

    /// A folder for drawings (SVG)
    #[arg(short = 'o', long = "output", value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    output: Option<PathBuf>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Which {
    /// NetVM paper: figures 11 and 13, table 2
    X11,
    /// NetTM paper: figure 7, commit rates, table 2
    Netthreads,
    /// NP-Click paper: figure 6
    Ixp1200,
    /// NetVM paper: figures 10(b) and 14(c), table 1
    Octeon,
}

const ALL: [Which; 4] = [Which::X11, Which::Netthreads, Which::Ixp1200, Which::Octeon];

pub(super) fn run(args: &Args) -> Outcome {
    if !args.sources.join("crates/machine/x11").is_dir() {
        return Err(Failure::usage(format_args!("{} has no netvm sources: --sources DIR", args.sources.display())));
    }
    if !(args.seconds.is_finite() && args.seconds > 0.0 && args.seconds <= 60.0) {
        return Err(Failure::usage("--seconds is a time of up to 60 seconds"));
    }
    let mut figures = Vec::new();
    for which in ALL.into_iter().filter(|which| args.only.is_empty() || args.only.contains(which)) {
        figures.extend(match which {
            Which::X11 => pipeline::figures(&args.sources)?,
            Which::Ixp1200 => router::figures(&args.sources)?,
            Which::Octeon => octeon::figures(&args.sources)?,
            Which::Netthreads => netthreads::figures(&args.sources, args.seconds)?,
        });
    }
    if let Some(folder) = &args.output {
        std::fs::create_dir_all(folder).map_err(|error| Failure::failed(format_args!("cannot make {}: {error}", folder.display())))?;
        figures.iter().try_for_each(|figure| written(folder, figure))?;
    }
    let mut told = Out::new();
    match args.json {
        true => told.json(&figures)?,
        false => told.put(&figures.iter().map(Figure::text).collect::<Vec<_>>().join("\n"))?,
    }
    told.flush()
}

fn written(folder: &Path, figure: &Figure) -> Outcome {
    out::write_file(Some(&folder.join(format!("{}.svg", figure.name))), figure.svg().as_bytes())
}

/// A figure without rows.
fn figure(name: &'static str, title: impl Into<String>, unit: &'static str, columns: &[&str]) -> Figure {
    Figure { name, title: title.into(), unit, columns: columns.iter().map(|column| (*column).to_owned()).collect(), rows: Vec::new() }
}
