//! `netvm man`: the manual pages.

use crate::failure::{Failure, Outcome};
use std::path::PathBuf;

/// Write the manual pages to a folder
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  netvm man ~/.local/share/man/man1")]
pub(crate) struct Args {
    /// The folder; it is made if it is not there
    #[arg(value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    folder: PathBuf,
}

pub(crate) fn run(args: &Args) -> Outcome {
    crate::man::write(&args.folder).map_err(|error| Failure::failed(format_args!("cannot write {}: {error}", args.folder.display())))
}
