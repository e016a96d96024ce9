//! `netvm profile-conflicts`: how often packets near each other touch the same state.

use super::simulate::{machine, observed::Observed};
use crate::failure::Outcome;
use crate::out::Out;
use machine::conflicts::{Profile, profile};
use machine::steps;

/// Tell how often packets near each other touch the same state
///
/// Two packets conflict if one writes a word that the other reads or writes: in data memory, shared memory, or a table. For windows of 2 to 16 packets, the part of all pairs
/// that conflict says what machines can gain that let critical sections run side by side. What is in the sections is counted as instructions of the machine.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  netvm profile-conflicts nat.click -r lan.pcap
  netvm profile-conflicts nat.click -r lan.pcap --json")]
pub(crate) struct Args {
    #[command(flatten)]
    observed: Observed,

    /// The machine whose instructions are counted, see `netvm machines`, or a file that describes one (.toml)
    #[arg(long, value_name = "NAME|FILE", default_value = "netthreads")]
    machine: String,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let machine = machine(&args.machine)?;
    let trace = args.observed.trace()?;
    let found = profile(&steps::of(&trace, &machine));
    let mut out = Out::new();
    match args.json {
        true => out.json(&found)?,
        false => out.put(&text(&found))?,
    }
    out.flush()
}

fn text(found: &Profile) -> String {
    let mut text = format!("{} packets\n\nwindow  conflicting pairs\n", found.packets);
    for window in &found.windows {
        text += &format!("{:>6}  {:.2} %\n", window.packets, window.conflicts * 100.0);
    }
    let rows = [
        ("sections in a packet", found.sections_per_packet),
        ("words loaded in a section", found.loads_per_section),
        ("words stored in a section", found.stores_per_section),
        ("most words loaded", found.most_loads as f64),
        ("most words stored", found.most_stores as f64),
        ("instructions in a section", found.instructions_per_section),
        ("instructions in a packet", found.instructions_per_packet),
    ];
    text.push('\n');
    rows.iter().for_each(|(what, value)| text += &format!("{what:<26} {value:.2}\n"));
    text
}
