//! Makes what the command line's definition is enough for: manual pages and shell completions.
//!
//! `cargo run -p xtask -- man DIR` writes `netvm.1`, `netvm-filter.1` …; `completions DIR` writes one file per shell; `conformance NETVM CLICK [NAME…]` runs
//! Click's tests; `compare-print NETVM DIR` holds printed lines against tcpdump's.
#![forbid(unsafe_code)]

mod clicktest;
mod conformance;
mod lines;
mod man;

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
        ["compare-print", netvm, dir] => compare_print(Path::new(netvm), Path::new(dir)),
        ["conformance", netvm, click, ref names @ ..] => match conformance::run(Path::new(netvm), Path::new(click), names) {
            Ok(false) => return ExitCode::FAILURE,
            other => other.map(drop),
        },
        _ => {
            eprintln!(
                "usage: xtask man DIR | xtask completions DIR | xtask conformance NETVM CLICK [NAME…] | xtask compare-print NETVM DIR"
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

fn compare_print(netvm: &Path, dir: &Path) -> io::Result<()> {
    print!("{}", lines::report(&lines::compare(netvm, dir, &["-n"])?));
    Ok(())
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
