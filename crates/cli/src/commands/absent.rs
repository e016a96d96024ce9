//! Commands that this program was built without.

use crate::failure::{Failure, Outcome};
use std::ffi::OsString;

/// Commands of a feature that was left out
#[derive(clap::Args)]
pub(crate) struct Args {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    given: Vec<OsString>,
}

pub(crate) fn run(_: &Args) -> Outcome {
    Err(Failure::usage("this program was built without models of machines: `make build` builds one that has them"))
}
