//! `netvm asm`: NetIL source to the binary form.

use crate::failure::Outcome;
use crate::out;
use netvm::{Error, load};
use std::path::PathBuf;

/// Assemble a NetIL program, verify it, and write its binary form
#[derive(clap::Args)]
pub(crate) struct Args {
    /// NetIL source, - for standard input
    #[arg(value_name = "IN.netil", value_hint = clap::ValueHint::FilePath)]
    input: PathBuf,

    /// The binary module, - for standard output
    #[arg(short = 'o', long = "output", value_name = "OUT.nvm", value_hint = clap::ValueHint::FilePath)]
    output: PathBuf,

    /// Write the module even if the verifier refuses it
    #[arg(long)]
    no_verify: bool,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let module = load::module(&args.input)?;
    let bytes = module.to_bytes().map_err(Error::Encode)?;
    if !args.no_verify {
        load::verify(module, &crate::input::shown(&args.input))?;
    }
    out::write_file(Some(&args.output), &bytes)
}
