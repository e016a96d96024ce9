//! Runs Click's own tests on netvm: `conformance NETVM CLICK [NAME…]`.
#![forbid(unsafe_code)]

mod clicktest;
mod conformance;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ["conformance", netvm, click, ref names @ ..] = arguments[..] else {
        eprintln!("usage: xtask conformance NETVM CLICK [NAME…]");
        return ExitCode::from(2);
    };
    match conformance::run(Path::new(netvm), Path::new(click), names) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
