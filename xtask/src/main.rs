//! Makes what the command line's definition is enough for: manual pages and shell completions.
//!
//! `cargo run -p xtask -- man DIR` writes `netvm.1`, `netvm-filter.1` …; `completions DIR` writes one file per shell; `conformance NETVM CLICK [NAME…]` runs
//! Click's tests, `conformance-p4 NETVM P4C [NAME…]` those of p4c.
#![forbid(unsafe_code)]

mod clicktest;
mod conformance;
mod man;
mod p4;

use clap_complete::Shell;
use std::io;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let made = match arguments[..] {
        ["man", dir] => man::write(Path::new(dir)),
        ["completions", dir] => completions(Path::new(dir)),
        ["conformance", netvm, click, ref names @ ..] => match conformance::run(Path::new(netvm), Path::new(click), names) {
            Ok(false) => return ExitCode::FAILURE,
            other => other.map(drop),
        },
        ["conformance-p4", netvm, p4c, ref names @ ..] => match p4::run(Path::new(netvm), Path::new(p4c), names) {
            Ok(false) => return ExitCode::FAILURE,
            other => other.map(drop),
        },
        _ => {
            eprintln!(
                "usage: xtask man DIR | xtask completions DIR | xtask conformance NETVM CLICK [NAME…] | xtask conformance-p4 NETVM P4C [NAME…]"
            );
            return ExitCode::from(2);
        }
    };
    match made {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn completions(dir: &Path) -> io::Result<()> {
    std::fs::create_dir_all(dir)?;
    for (shell, name) in [(Shell::Bash, "netvm.bash"), (Shell::Zsh, "_netvm"), (Shell::Fish, "netvm.fish")] {
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut netvm_cli::command(), "netvm", &mut text);
        std::fs::write(dir.join(name), text)?;
    }
    Ok(())
}
