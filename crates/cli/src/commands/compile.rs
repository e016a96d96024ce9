//! `netvm compile`: any stage on the way from a program or filter to machine code.

use super::run::configuration;
use super::shared::{self, ProfileArg};
use crate::failure::{self, Failure, Outcome};
use crate::out;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser as _};
use netvm::emit::{self, Stage};
use netvm::io::LinkType;
use netvm::netil::Verified;
use netvm::{Filter, engines, load, passes};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Show a program or a filter at any stage on its way to machine code
#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("source").required(true).args(["file", "filter"]))]
pub(crate) struct Args {
    /// NetIL source or binary module, - for standard input; a P4 program (.p4, or .json as p4c
    /// makes it for BMv2); or, with --emit standalone, a Click configuration (.click)
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    file: Option<PathBuf>,

    /// Values for parameters of the configuration
    #[arg(value_name = "NAME=VALUE", conflicts_with = "filter")]
    parameters: Vec<String>,

    /// A folder with element classes in C, looked into before the built-in ones
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    elements: Vec<PathBuf>,

    /// A filter expression instead
    #[arg(long, value_name = "EXPR")]
    filter: Option<String>,

    /// The link type that the filter is compiled for
    #[arg(short = 'y', long, value_name = "NAME", value_parser = shared::link_type, default_value = "EN10MB", requires = "filter")]
    link_type: LinkType,

    #[command(flatten)]
    profile: ProfileArg,

    #[command(flatten)]
    p4: super::p4::ReadingArgs,

    /// The stage; mir:PASS is the intermediate representation after that pass
    #[arg(long, value_name = "STAGE", value_parser = stage_parser(), default_value = "netil")]
    emit: Stage,

    /// Leave an optimiser's pass out, or an optimisation of P4 programs; may be given several times
    #[arg(long, value_name = "PASS", value_parser = pass_parser())]
    without: Vec<String>,

    /// Tell on standard error how long each pass took
    #[arg(long)]
    time_passes: bool,

    /// Tell on standard error what each pass did, and how each set and switch is tested and why; of
    /// a configuration, which elements the engine aot links, and which lookups are fetched ahead
    #[arg(long)]
    explain_opt: bool,

    /// Write to a file instead of standard output
    #[arg(short = 'o', long = "output", value_name = "OUT", value_hint = clap::ValueHint::FilePath)]
    output: Option<PathBuf>,
}

fn stage_parser() -> impl clap::builder::TypedValueParser<Value = Stage> {
    let values = emit::ALL.iter().map(|(name, _, help)| PossibleValue::new(name).aliases(emit::former(name)).help(help));
    let after = passes::ALL.iter().map(|pass| PossibleValue::new(format!("mir:{}", pass.name)).hide(true));
    PossibleValuesParser::new(values.chain(after)).map(|name| emit::find(&name).unwrap_or(Stage::Netil))
}

fn pass_parser() -> PossibleValuesParser {
    let of_p4 = netvm::p4::optimisation::ALL.iter().map(|(_, name, doc)| PossibleValue::new(*name).help(*doc));
    PossibleValuesParser::new(of_p4.chain(passes::ALL.iter().map(|pass| PossibleValue::new(pass.name).help(pass.doc))))
}

pub(crate) fn run(args: &Args) -> Outcome {
    if let Some(file) = args.file.as_deref().filter(|file| configuration::is_one(file)) {
        return of_configuration(args, file);
    }
    if let Some(file) = args.file.as_deref().filter(|file| super::p4::is_program(file))
        && args.emit == Stage::P4info
    {
        return out::write_file(args.output.as_deref(), netvm::p4::p4info_text(&args.p4.p4info(file)?).as_bytes());
    }
    if let Some(file) = args.file.as_deref().filter(|file| super::p4::is_json(file))
        && args.emit == Stage::P4
    {
        return out::write_file(args.output.as_deref(), netvm::p4::text(file)?.as_bytes());
    }
    if !args.parameters.is_empty() || !args.elements.is_empty() {
        return Err(Failure::usage("NAME=VALUE and --elements are for configurations: FILE.click"));
    }
    let start = Instant::now();
    let program = program(args)?;
    let front = start.elapsed();
    let text = emit::emit_without(&program, args.emit, &args.without)?;
    if args.explain_opt {
        explain(&program, &args.without)?;
    }
    if args.time_passes {
        times(&program, front)?;
    }
    out::write_file(args.output.as_deref(), text.as_bytes())
}

/// A configuration's elements have their stages each; the whole has one.
fn of_configuration(args: &Args, file: &Path) -> Outcome {
    if args.emit != Stage::Standalone && !args.explain_opt {
        return Err(Failure::usage("of a configuration there is --emit standalone, a C program"));
    }
    let reading = configuration::reading(Some(file), args.parameters.iter().cloned(), &args.elements)?;
    let application = configuration::application(&file.display().to_string(), &configuration::read(file)?, &reading)?;
    if args.explain_opt {
        failure::eprint_lossy(application.explain(None).to_string().trim_end());
    }
    match args.emit {
        Stage::Standalone => out::write_file(args.output.as_deref(), application.standalone_text(&reading.elements)?.as_bytes()),
        _ => Ok(()),
    }
}

fn program(args: &Args) -> Outcome<Arc<Verified>> {
    match (&args.file, &args.filter) {
        (Some(_), _) if args.profile.is_given() => Err(Failure::usage("--profile orders the terms of a --filter, not a program")),
        (Some(path), _) if super::p4::is_program(path) => {
            let without: Vec<_> = args.without.iter().filter_map(|name| netvm::p4::optimisation::find(name)).collect();
            let pipeline = args.p4.load_without(path, &without)?;
            if args.explain_opt {
                pipeline.optimised.iter().for_each(|note| failure::eprint_lossy(note));
            }
            Ok(Arc::new(load::verify(pipeline.module, "the compiled program")?))
        }
        (Some(path), _) => Ok(Arc::new(load::program(path)?)),
        (None, Some(text)) => {
            let mut filter = args.profile.applied(Filter::new(text, &engines::ALL[0])?)?;
            let compiled = filter.prepare(args.link_type)?;
            Ok(Arc::clone(if args.emit.treats_many() { &compiled.many } else { &compiled.program }))
        }
        (None, None) => Err(Failure::usage("give a FILE or --filter EXPR")),
    }
}

fn times(program: &Verified, front: Duration) -> Outcome {
    let show = |name: &str, time: Duration| failure::eprint_lossy(&format!("{:>10.1} µs  {name}", time.as_secs_f64() * 1e6));
    show("source to verified program", front);
    let timings = emit::time_passes(program)?;
    timings.iter().for_each(|t| show(t.pass, t.time));
    show("all passes", timings.iter().map(|t| t.time).sum());
    Ok(())
}

fn explain(program: &Verified, without: &[String]) -> Outcome {
    for of_handler in emit::explain(program, without)? {
        failure::eprint_lossy(&format!(".{}", of_handler.handler));
        of_handler.passes.iter().for_each(|pass| failure::eprint_lossy(&format!("  {}", pass.to_string().replace('\n', "\n  "))));
        of_handler.tests.iter().for_each(|test| failure::eprint_lossy(&format!("  {test}")));
    }
    Ok(())
}
