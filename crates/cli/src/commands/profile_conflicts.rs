//! `netvm profile-conflicts`: how often packets near each other touch the same state.

use super::simulate::{machine, observed::Observed};
use crate::failure::Outcome;
use crate::out::{Out, write_file};
use machine::conflicts::{Profile, WINDOWS, profile};
use machine::contention::{self, ConflictPoint};
use machine::variation::{self, STAGES, Stage, Variation};
use machine::{stages, steps};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Tell how often packets near each other touch the same state
///
/// Two packets conflict if one writes a word that the other reads or writes: in data memory, shared
/// memory, or a table. For windows of 2 to 16 packets, the part of all pairs that conflict says
/// what machines can gain that let critical sections run side by side. What is in the sections is
/// counted as instructions of the machine.
///
/// What pipelines would gain is told, too: how much the instructions of packets vary, and how many
/// times slower the slowest of so many stages is than their average, if elements are cut into
/// stages as evenly as they can be.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  netvm profile-conflicts nat.click -r lan.pcap
  netvm profile-conflicts nat.click -r lan.pcap --json
  netvm profile-conflicts nat.click -r lan.pcap --svg conflicts.svg")]
pub(crate) struct Args {
    #[command(flatten)]
    observed: Observed,

    /// The machine whose instructions are counted, see `netvm machines`, or a file that describes
    /// one (.toml)
    #[arg(long, value_name = "NAME|FILE", default_value = "netthreads")]
    machine: String,

    /// The stages of the pipeline that is tried
    #[arg(long, value_name = "N", default_value_t = STAGES as u32, value_parser = clap::value_parser!(u32).range(1..=1024))]
    stages: u32,

    /// Print JSON
    #[arg(long)]
    json: bool,

    /// Draw windows and stages into this file, - for standard output, which then has nothing else
    #[arg(long, value_name = "FILE", conflicts_with = "json", value_hint = clap::ValueHint::FilePath)]
    svg: Option<PathBuf>,
}

/// All that is told.
#[derive(Serialize)]
struct Found {
    #[serde(flatten)]
    profile: Profile,
    #[serde(flatten)]
    variation: Variation,
    /// The names of elements, by their numbers.
    elements: Vec<String>,
    /// What most pairs of packets in the largest window conflict about.
    places: Vec<ConflictPoint>,
}

/// Things that packets conflict about, of which is told.
const PLACES: usize = 10;

pub(crate) fn run(args: &Args) -> Outcome {
    let machine = machine(&args.machine)?;
    let trace = args.observed.trace()?;
    let elements: Vec<String> = trace.elements.iter().map(|element| element.name.clone()).collect();
    let found = Found {
        profile: profile(&steps::of(&trace, &machine)),
        variation: variation::of(&stages::parts(&trace, &machine), elements.len(), args.stages as usize),
        elements,
        places: contention::places(&trace, WINDOWS[WINDOWS.len() - 1], PLACES),
    };
    let mut out = Out::new();
    match (args.json, args.svg.as_deref()) {
        (true, _) => out.json(&found)?,
        (_, Some(file)) if file == Path::new("-") => out.put(&drawn(&found))?,
        (_, Some(file)) => write_file(Some(file), drawn(&found).as_bytes())?,
        _ => out.put(&text(&found))?,
    }
    out.flush()
}

fn text(all: &Found) -> String {
    let Found { profile: found, variation, elements, places } = all;
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
        ("their deviation / mean", variation.deviation),
        ("slowest stage / average", variation.imbalance),
    ];
    text.push('\n');
    rows.iter().for_each(|(what, value)| text += &format!("{what:<26} {value:.2}\n"));
    text.push_str("\nstage  instructions  elements\n");
    for (n, stage) in variation.stages.iter().enumerate() {
        text += &format!("{:>5}  {:>10.1} %  {}\n", n + 1, stage.share * 100.0, names(stage, elements));
    }
    text + &conflicts(places)
}

/// What packets conflict about, a line each.
fn conflicts(places: &[ConflictPoint]) -> String {
    let line = |place: &ConflictPoint| {
        let ConflictPoint { element, about, key, lines, pairs } = place;
        let key = key.as_ref().map_or_else(String::new, |key| format!(" {key}"));
        let lines: Vec<String> = lines.iter().map(u32::to_string).collect();
        let at = if lines.is_empty() { String::new() } else { format!(" (line {})", lines.join(", ")) };
        format!("{pairs:>7}  {element}: {about}{key}{at}\n")
    };
    let head = format!("\n  pairs  that conflict in windows of {}, by what they conflict about\n", WINDOWS[WINDOWS.len() - 1]);
    if places.is_empty() { String::new() } else { head + &places.iter().map(line).collect::<String>() }
}

fn names(stage: &Stage, elements: &[String]) -> String {
    let name = |element: &usize| elements.get(*element).map_or("?", |name| name.split(" :: ").next().unwrap_or(name));
    stage.elements.iter().map(name).collect::<Vec<_>>().join(", ")
}

/// Bars: conflicts by window, and the share of each stage of the pipeline. Plain SVG 1.1.
fn drawn(all: &Found) -> String {
    let windows = all.profile.windows.iter().map(|window| (format!("window of {}", window.packets), window.conflicts));
    let stages = all
        .variation
        .stages
        .iter()
        .enumerate()
        .map(|(n, stage)| (format!("stage {}: {}", n + 1, names(stage, &all.elements)), stage.share));
    let rows = all.profile.windows.len() + all.variation.stages.len();
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{}\" font-family=\"sans-serif\" font-size=\"12\">\n",
        ROW * (rows + 4)
    );
    svg += &line(0, &format!("pairs of packets that conflict, of {} packets", all.profile.packets));
    let mut row = 1;
    for (label, part) in windows {
        svg += &bar(row, &label, part);
        row += 1;
    }
    let uneven = format!(
        "instructions of stages: the slowest is {:.2} times slower than the average of {:.0}; of packets: deviation / mean {:.2}",
        all.variation.imbalance,
        all.variation.imbalance / all.variation.stages.iter().map(|stage| stage.share).fold(f64::MIN_POSITIVE, f64::max),
        all.variation.deviation
    );
    svg += &line(row + 1, &uneven);
    for (n, (label, part)) in stages.enumerate() {
        svg += &bar(row + 2 + n, &label, part);
    }
    svg + "</svg>\n"
}

const WIDTH: usize = 900;
const ROW: usize = 20;
/// The longest bar, which stands for all.
const LONGEST: f64 = 300.0;

fn line(row: usize, text: &str) -> String {
    format!("<text x=\"10\" y=\"{}\" font-weight=\"bold\">{}</text>\n", ROW * (row + 1), escaped(text))
}

fn bar(row: usize, label: &str, part: f64) -> String {
    let (top, long) = (ROW * row + 8, part * LONGEST);
    format!(
        "<rect x=\"10\" y=\"{top}\" width=\"{long:.1}\" height=\"14\" fill=\"#3572b0\"/><text x=\"{:.0}\" y=\"{}\">{:.2} %  {}</text>\n",
        long + 16.0,
        top + 11,
        part * 100.0,
        escaped(label)
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
