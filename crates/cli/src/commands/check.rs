//! `netvm check`: whether a configuration can run, and which ways packets take in it.

use super::run::configuration;
use crate::failure::Outcome;
use crate::out::Out;
use std::path::PathBuf;

/// Check a Click configuration or a P4 program
///
/// Reads it, looks its classes up, and checks ports, push and pull, and arguments; captures need not be there. What is found wrong is drawn in its text; else a line tells how
/// many elements and connections there are, and which connections lead packets back.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  netvm check router.click
  netvm check router.click --paths
  netvm check switch.p4")]
pub(crate) struct Args {
    /// Click configuration, - for standard input; or P4 program (.p4)
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
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

    /// Print the configuration without its shorthand
    #[arg(long)]
    flat: bool,
}

pub(crate) fn run(args: &Args) -> Outcome {
    if super::p4::is_program(&args.file) {
        return args.p4.check(&args.file);
    }
    let text = configuration::read(&args.file)?;
    let reading = configuration::reading(Some(&args.file), args.parameters.iter().cloned(), &args.elements)?;
    let application = configuration::application(&args.file.display().to_string(), &text, &reading)?;
    application.check()?;
    let mut out = Out::new();
    if args.flat {
        out.put(&application.flat().to_string())?;
        return out.flush();
    }
    let flat = application.flat();
    out.line(&format!("{} elements, {} connections", flat.elements.len(), flat.connections.len()))?;
    for connection in application.connections(true) {
        out.line(&format!("leads back: {connection}"))?;
    }
    if args.paths {
        for connection in application.connections(false) {
            out.line(&connection)?;
        }
    }
    out.flush()
}
