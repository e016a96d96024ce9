//! How the program ends when not everything went well: a message for people, an exit status for
//! programs.

use netvm::io::WriteError;
use netvm::{Error, Status};
use std::fmt::Display;
use std::io;
use std::process::ExitCode;

/// Damaged or missing input, a refused program, an output that could not be written.
const FAILED: u8 = 1;
/// A wrong command line or expression.
const USAGE: u8 = 2;
/// 128 and the number of SIGPIPE: what a shell reports of programs that the signal ends.
const BROKEN_PIPE: u8 = 141;

/// The end of a run that did not succeed.
#[derive(Debug)]
pub(crate) struct Failure {
    status: u8,
    /// What to say; nothing if it was said, or if nobody is there to hear it.
    message: Option<String>,
}

/// What most functions here give back.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    /// Something went wrong while running.
    pub(crate) fn failed(message: impl Display) -> Self {
        Self { status: FAILED, message: Some(message.to_string()) }
    }

    /// The command line is wrong.
    pub(crate) fn usage(message: impl Display) -> Self {
        Self { status: USAGE, message: Some(message.to_string()) }
    }

    /// Something went wrong that was told already.
    pub(crate) fn told() -> Self {
        Self { status: FAILED, message: None }
    }

    /// A signal asked for the end.
    pub(crate) fn signal(number: i32) -> Self {
        Self { status: 128u8.saturating_add(u8::try_from(number).unwrap_or(0)), message: None }
    }

    /// What it says.
    pub(crate) fn message(&self) -> &str {
        self.message.as_deref().unwrap_or_default()
    }

    /// Says what is to be said and gives the exit status.
    pub(crate) fn report(self) -> ExitCode {
        if let Some(message) = self.message {
            error(message.trim_end());
        }
        ExitCode::from(self.status)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let status = match error.status() {
            Status::Failed => FAILED,
            Status::Usage => USAGE,
        };
        Self { status, message: Some(error.render(stderr_has_color())) }
    }
}

impl From<WriteError> for Failure {
    fn from(error: WriteError) -> Self {
        if error.is_broken_pipe() {
            return Self { status: BROKEN_PIPE, message: None };
        }
        Self::failed(error)
    }
}

/// An error of standard output.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self { status: BROKEN_PIPE, message: None },
            _ => Self::failed(format_args!("standard output: {error}")),
        }
    }
}

/// Whether messages may have colours.
pub(crate) fn stderr_has_color() -> bool {
    let choice = anstream::AutoStream::choice(&io::stderr());
    !matches!(choice, anstream::ColorChoice::Never)
}

/// Tells of an error on standard error; a message that begins with `error` is complete.
pub(crate) fn error(message: &str) {
    let style = anstyle::AnsiColor::Red.on_default().bold();
    let plain = anstream::adapter::strip_str(message).to_string();
    match plain.starts_with("error") {
        true => eprint_lossy(message),
        false => eprint_lossy(&format!("{style}error{style:#}: {message}")),
    }
}

/// Tells of something that does not end the run.
pub(crate) fn warning(message: impl Display) {
    let style = anstyle::AnsiColor::Yellow.on_default().bold();
    eprint_lossy(&format!("{style}warning{style:#}: {message}"));
}

/// Writes a line to standard error; when that is gone there is nobody left to tell.
pub(crate) fn eprint_lossy(line: &str) {
    use io::Write;
    let _ = writeln!(anstream::stderr(), "{line}");
}
