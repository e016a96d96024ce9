//! `netvm test`: whether an element class does what its script says.

use super::shared::EngineArg;
use crate::failure::{self, Failure, Outcome};
use crate::out::Out;
use netvm::application::Library;
use netvm::scripts;
use std::path::{Path, PathBuf};

/// Run the scripts of element classes
///
/// A script CLASS.txt tells what goes into an element of that class, and what comes out of it: a case for each thing to be tested, with packets in hexadecimal,
/// annotations, time, and handlers. It holds if nothing else happens than what it says. What is different is told with its place.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  netvm test tests/elements/Paint.txt
  netvm test Limit.txt --elements . --engine interp

A script:
  case the color that the argument says
  config COLOR 7
  in 0 01020304 paint=1
  out 0 01020304 paint=7

Lines of a script:
  case WORDS                      begins a case: a fresh element
  config ARGUMENTS                of the element; none by default
  ports INPUTS OUTPUTS            that are connected; 1 1 by default
  at SECONDS                      the clock, 1 at first; timers that are due run
  in PORT HEX [NAME=VALUE ...]    a packet comes in, with those annotations
  write HANDLER VALUE             a write handler is called
  read HANDLER VALUE              a read handler has that value
and behind those what happens then, in order:
  print LINE
  out PORT HEX [NAME=VALUE ...]   a packet leaves, with those annotations
  drop [REASON]
  trap")]
pub(crate) struct Args {
    /// Scripts, each named as its class
    #[arg(value_name = "CLASS.txt", required = true, value_hint = clap::ValueHint::FilePath)]
    scripts: Vec<PathBuf>,

    /// A folder with element classes in C, looked into before the built-in ones; a folder `elements` beside the script is looked into, too
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    elements: Vec<PathBuf>,

    #[command(flatten)]
    engine: EngineArg,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let mut out = Out::new();
    let mut wrong = 0;
    for path in &args.scripts {
        let (cases, different) = judge(args, path)?;
        match different.as_slice() {
            [] => out.line(&format!("{}: {} hold", path.display(), counted(cases)))?,
            different => different.iter().for_each(|words| failure::error(words)),
        }
        wrong += different.len();
    }
    out.flush()?;
    if wrong == 0 { Ok(()) } else { Err(Failure::told()) }
}

/// The number of cases, and what is different.
fn judge(args: &Args, path: &Path) -> Outcome<(usize, Vec<String>)> {
    let name = path.display().to_string();
    let failed = |why: &dyn std::fmt::Display| Failure::failed(format_args!("{name}: {why}"));
    let text = std::fs::read_to_string(path).map_err(|error| failed(&error))?;
    let cases = scripts::parse(&text).map_err(|error| failed(&error))?;
    let class = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let reading = super::run::configuration::reading(Some(path), std::iter::empty(), &args.elements)?;
    let library = Library::of(&reading.elements);
    let happened = scripts::run(&library, &class, &cases, args.engine.get(), args.engine.settings()).map_err(|error| failed(&error))?;
    let different = cases.iter().zip(&happened).flat_map(|(case, happened)| scripts::differences(&name, case, happened));
    Ok((cases.len(), different.collect()))
}

fn counted(cases: usize) -> String {
    if cases == 1 { "1 case".to_owned() } else { format!("{cases} cases") }
}
