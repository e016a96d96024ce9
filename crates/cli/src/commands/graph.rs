//! `netvm graph`: a configuration or a P4 program as a picture.

use super::run::configuration::drive;
use super::run::given::Given;
use super::run::p4trace::{self, P4Args};
use super::run::search;
use crate::failure::{Failure, Outcome};
use crate::out::{self, Out};
use crate::signals::Signals;
use netvm::application::{Application, Host, Settings, Stats, Stream};
use netvm::drawing::{Drawing, charts};
use netvm::engines;
use std::path::{Path, PathBuf};

/// Draw a Click configuration or a P4 program
///
/// Boxes are elements, lines are connections: solid where packets are pushed, dashed where they are
/// pulled, and marked where they lead packets back. With -r or --map, the packets are run through
/// it, and lines show how many took them, their share of all that arrived, and how many there were
/// in a second of the packets' time. Nothing is written to captures then, and what elements print
/// is not shown.
///
/// In a picture that would be wider than a screen, compound elements are single boxes, and what is
/// in them is drawn below.
///
/// Of a P4 program each parser is drawn with its states, and each control with its conditions,
/// tables and statements, in the order in which packets go through them. With -r or --in its boxes
/// show how many packets came to states, conditions and tables, their share of all that arrived and
/// how many in a second, and arrows which way they went.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  netvm graph router.click -o router.svg
  netvm graph router.click -o busy.svg -r in.pcap
  netvm graph switch.p4
  netvm graph switch.p4 --entries routes.txt --in 0=lan.pcap --in 1=wan.pcap
  netvm graph router.click -o - --format dot | dot -Tpdf > router.pdf")]
pub(crate) struct Args {
    #[command(flatten)]
    given: Given,

    /// The picture, .svg or .dot, - for standard output; by default the file with .svg, and one
    /// found by its name here
    #[arg(short = 'o', long = "output", value_name = "OUT", value_hint = clap::ValueHint::FilePath)]
    output: Option<PathBuf>,

    /// What is written, where the name of the output does not tell
    #[arg(long, value_enum)]
    format: Option<Format>,

    /// Draw what is in compound elements in its place, however wide the picture becomes
    #[arg(long)]
    expand: bool,

    #[command(flatten)]
    p4: P4Args,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Svg,
    Dot,
}

/// Nobody hears what elements print.
struct Silence;

impl Host for Silence {
    fn write(&mut self, _: Stream, _: &[u8]) {}
}

pub(crate) fn run(args: &Args) -> Outcome {
    let output = output(args)?;
    let format = args.format.map_or_else(|| format_of(&output), Ok)?;
    if super::p4::is_program(&args.given.file) {
        return program(args, &output, format);
    }
    if let Some(what) = args.p4.given() {
        return Err(Failure::usage(format_args!("{what} is for P4 programs, and {} is none", args.given.file.display())));
    }
    let (application, settings) = args.given.application()?;
    let drawing = Drawing::of(&application);
    let drawing = if args.expand { drawing.expanded() } else { drawing };
    let drawing = match args.given.has_traffic() {
        true => drawing.with_traffic(&traffic(args, application, settings)?),
        false => drawing,
    };
    let text = if format == Format::Svg { drawing.svg() } else { drawing.dot() };
    write(args, &output, &text)
}

/// Writes the picture; where it is, is told if nobody has said it.
fn write(args: &Args, output: &Path, text: &str) -> Outcome {
    out::write_file(Some(output), text.as_bytes())?;
    if args.output.is_some() || output == Path::new("-") {
        return Ok(());
    }
    let mut out = Out::new();
    out.line(&format!("{} is written", output.display()))?;
    out.flush()
}

/// Draws a P4 program.
fn program(args: &Args, output: &Path, format: Format) -> Outcome {
    let only = [("--expand", args.expand)];
    let only = only.into_iter().find(|(_, given)| *given).map(|(what, _)| what).or(args.given.for_configurations());
    if let Some(what) = only {
        return Err(Failure::usage(format_args!("{what} is for configurations, and {} is a P4 program", args.given.file.display())));
    }
    let mut charts = args.p4.charts(&args.given.file)?;
    if let Some(traffic) = p4trace::traffic(&args.p4, &args.given.file, args.given.read.as_deref())? {
        traffic.write(&mut charts);
    }
    let text = if format == Format::Svg { charts::svg(&charts) } else { charts::dot(&charts) };
    write(args, output, &text)
}

fn output(args: &Args) -> Outcome<PathBuf> {
    let given = &args.given.file;
    match &args.output {
        Some(path) => Ok(path.clone()),
        None if given == Path::new("-") => Ok(PathBuf::from("-")),
        None if given.with_extension("svg") == *given => Err(Failure::usage("say where the picture is to go: -o OUT")),
        None => {
            let picture = given.with_extension(if args.format == Some(Format::Dot) { "dot" } else { "svg" });
            // Beside what is installed others may not write.
            Ok(if search::is_elsewhere(given) { picture.file_name().map_or(picture.clone(), PathBuf::from) } else { picture })
        }
    }
}

/// What an output of that name is; a name that says something else would be a lie.
fn format_of(output: &Path) -> Outcome<Format> {
    match output.extension().map(|end| end.to_string_lossy().to_ascii_lowercase()).as_deref() {
        Some("dot" | "gv") => Ok(Format::Dot),
        Some("svg") | None => Ok(Format::Svg),
        Some(_) => Err(Failure::usage(format_args!(
            "{}: neither .svg nor .dot; say with --format which of them is to be written",
            output.display()
        ))),
    }
}

/// Runs all packets, and counts them.
fn traffic(args: &Args, mut application: Application, mut settings: Settings) -> Outcome<Stats> {
    if let Some(input) = &args.given.read {
        application.feed(input, &mut settings)?;
    }
    application.mute(&mut settings);
    let signals = Signals::watch()?;
    let mut graph = application.start(&engines::AUTO, engines::Settings::default(), settings, Box::new(Silence))?;
    let whole = drive(&mut graph, &signals, None);
    signals.result()?;
    if whole { Ok(graph.stats()) } else { Err(Failure::told()) }
}
