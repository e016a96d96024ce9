//! The `netvm` program; everything is in the library beside it, where tests and the documentation
//! generator reach it.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    netvm_cli::main()
}
