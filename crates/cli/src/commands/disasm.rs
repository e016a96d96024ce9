//! `netvm disasm`: a program as NetIL source.

use crate::failure::Outcome;
use crate::out;
use netvm::load;
use std::path::PathBuf;

/// Print a program as NetIL source
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Binary module or NetIL source, - for standard input
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    input: PathBuf,

    /// Write to a file instead of standard output
    #[arg(short = 'o', long = "output", value_name = "OUT", value_hint = clap::ValueHint::FilePath)]
    output: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let text = netvm::netil::disasm::disassemble(&load::module(&args.input)?);
    out::write_file(args.output.as_deref(), text.as_bytes())
}
