//! `netvm completions`: what a shell needs to complete command lines.

use crate::failure::Outcome;
use crate::out::Out;
use clap_complete::Shell;

/// Print the completions for a shell
#[derive(clap::Args)]
#[command(after_help = "For bash: netvm completions bash > ~/.local/share/bash-completion/completions/netvm")]
pub(crate) struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let mut out = Out::new();
    out.bytes(&crate::completions(args.shell))?;
    out.flush()
}
