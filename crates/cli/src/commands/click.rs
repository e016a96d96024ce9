//! The command line of click(1), when the program is called by that name: for configurations' own
//! tests and scripts.
//!
//! Leaves out: hot swapping, threads (`-j` is taken and has no effect), reading packages.

use super::run::configuration::{self, Terminal};
use super::run::control;
use crate::failure::{self, Failure, Outcome};
use crate::signals::Signals;
use netvm::application::{Application, Library, Settings, builtin};
use netvm::control::click::Access;
use netvm::control::{Door, Server};
use netvm::diagnostics::{Diagnostic, Kind, Span};
use netvm::{Error, engines};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What the arguments say.
#[derive(Default)]
struct Line {
    file: Option<PathBuf>,
    expression: Option<String>,
    parameters: Vec<String>,
    handlers: Vec<String>,
    exit_handler: Option<String>,
    output: Option<PathBuf>,
    simulated: bool,
    quit: bool,
    /// Only tell whether there is a class of that name.
    provides: Option<String>,
    /// Sockets by which handlers are read and written, with the options that name them.
    doors: Vec<(String, Door)>,
}

/// Runs as click, or as click-flatten, if that is the name of the program.
pub(crate) fn main() -> Option<ExitCode> {
    let mut arguments = std::env::args();
    let name = arguments.next()?;
    let flatten = match Path::new(&name).file_name()?.to_str()? {
        "click" => false,
        "click-flatten" => true,
        _ => return None,
    };
    let first = if flatten { ["-q", "-o-"].as_slice() } else { &[] };
    Some(match parse(first.iter().map(|option| (*option).to_owned()).chain(arguments)).and_then(|line| run(&line)) {
        Ok(status) => ExitCode::from(status),
        Err(failure) => failure.report(),
    })
}

/// Tells faults as click does: file, line, what is wrong; a failure that was told.
fn told(error: Error) -> Failure {
    let Error::Configuration(faults) = error else { return error.into() };
    let mut before = None;
    let mut syntax = true;
    for part in &faults.0 {
        let place = |span: Span| {
            let (file, line) = part.sources.marked_line(span.start);
            format!("{file}:{line}")
        };
        for fault in &part.faults.0 {
            match fault.kind.as_deref() {
                Some(Kind::Element { name, class, what }) => {
                    let head = format!("{}: While configuring '{name} :: {class}':", place(fault.span));
                    syntax = false;
                    if before.replace(head.clone()) != Some(head.clone()) {
                        failure::eprint_lossy(&head);
                    }
                    failure::eprint_lossy(&format!("  {}", what.replace('`', "'")));
                }
                kind => {
                    syntax &= matches!(kind, Some(Kind::MissingElement | Kind::Redeclared(_) | Kind::Connection));
                    failure::eprint_lossy(&in_its_words(fault, place));
                }
            }
        }
    }
    // What cannot be read makes no router.
    if !syntax {
        failure::eprint_lossy("Router could not be initialized!");
    }
    Failure::told()
}

/// A fault as click words it and tells its place, which scripts around it may look for.
fn in_its_words(fault: &Diagnostic, place: impl Fn(Span) -> String) -> String {
    let message = fault.message.replace('`', "'");
    let here = place(fault.span);
    let first = fault.notes.first().map_or_else(|| here.clone(), |(span, _)| place(*span));
    match fault.kind.as_deref() {
        Some(Kind::MissingElement) => format!("{here}: syntax error near '->'"),
        Some(Kind::Redeclared(name)) => {
            format!("{here}: redeclaration of element '{name}'\n{first}: element '{name}' previously declared here")
        }
        Some(Kind::PortReused) => format!("{first}: {message}"),
        Some(Kind::PortUnused { element, side, port }) => format!("{here}: '{element}' {side} {port} unused"),
        _ => format!("{here}: {message}"),
    }
}

fn parse(arguments: impl Iterator<Item = String>) -> Outcome<Line> {
    let mut line = Line::default();
    let mut arguments = arguments.flat_map(spread).peekable();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| Failure::usage(format_args!("{argument} wants a value")));
        match argument.as_str() {
            "-f" | "--file" => line.file = Some(value()?.into()),
            "-e" | "--expression" | "--expr" => line.expression = Some(value()?),
            "-h" | "--handler" => line.handlers.push(value()?),
            "-x" | "--exit-handler" => line.exit_handler = Some(value()?),
            "-o" | "--output" => line.output = Some(value()?.into()),
            "-u" | "--unix-socket" => line.doors.push((argument.clone(), Door::Click(value()?.into(), Access::Whole))),
            "-p" | "--port" => {
                let port = value()?;
                let port = port.parse().map_err(|_| Failure::usage(format_args!("{argument} takes a TCP port, not '{port}'")))?;
                line.doors.push((argument.clone(), Door::tcp(port, true, Access::Whole)));
            }
            "--provides" => line.provides = Some(value()?),
            "--simtime" | "--simulation-time" => line.simulated = true,
            "-q" | "--quit" => line.quit = true,
            "-R" | "--allow-reconfigure" | "-w" | "--no-warnings" | "-t" | "--time" | "--affinity" | "--no-affinity" => {}
            "-j" | "--threads" | "-C" | "--clickpath" => drop(value()?),
            option if option.starts_with('-') && option.len() > 1 => {
                return Err(Failure::usage(format_args!("option {option} is not known")));
            }
            text if text.contains('=') && !text.contains(['/', ' ']) => line.parameters.push(argument),
            _ if line.file.is_none() && line.expression.is_none() => line.file = Some(argument.into()),
            _ => return Err(Failure::usage(format_args!("one configuration at a time, and not also '{argument}'"))),
        }
    }
    Ok(line)
}

/// `-qh x` is `-q -h x`, `-ofile` is `-o file`, `--threads=2` is `--threads 2`.
fn spread(argument: String) -> Vec<String> {
    if let Some((name, value)) = argument.split_once('=').filter(|(name, _)| name.starts_with("--")) {
        return if name == "--simtime" { vec![name.to_owned()] } else { vec![name.to_owned(), value.to_owned()] };
    }
    let mut letters = match argument.strip_prefix('-') {
        Some(letters) if letters.len() > 1 && !letters.starts_with('-') => letters.chars(),
        _ => return vec![argument],
    };
    let mut spread = Vec::new();
    while let Some(letter) = letters.next() {
        spread.push(format!("-{letter}"));
        if "fehxojCpu".contains(letter) && !letters.as_str().is_empty() {
            spread.push(letters.as_str().to_owned());
            break;
        }
    }
    spread
}

fn run(line: &Line) -> Outcome<u8> {
    if let Some(class) = &line.provides {
        let known = builtin::find(class).is_some() || Library::declaring(class).is_some() || Library::of(&[]).class(class).is_some();
        return Ok(u8::from(!known));
    }
    let file = line.file.as_deref().filter(|_| line.expression.is_none());
    let (name, text) = match &line.expression {
        Some(text) => ("config".to_owned(), text.clone()),
        None => {
            let file = file.unwrap_or(Path::new("-"));
            let name = if file == Path::new("-") { "<stdin>".to_owned() } else { file.display().to_string() };
            (name, configuration::read(file)?)
        }
    };
    let reading = configuration::reading(file, line.parameters.iter().cloned(), &[])?;
    let application = Application::read(&name, &text, &reading).map_err(told)?;
    if let Some(output) = &line.output {
        crate::out::write_file(Some(output), application.flat().to_string().as_bytes())?;
    }
    let signals = Signals::watch()?;
    let mut settings = Settings { simulated: line.simulated, ..Settings::default() };
    let server = control::open_with(line.doors.clone(), &application, &mut settings)?;
    let pending = server.as_ref().map(Server::pending);
    let host = Box::new(Terminal::new(signals.clone(), false, pending));
    let started = application.start(&engines::AUTO, engines::Settings::default(), settings, host);
    let mut graph = started.or_else(|error| signals.result().and_then(|()| Err(told(error))))?;
    let whole = line.quit || configuration::drive(&mut graph, &signals, server);
    configuration::say_handlers(&mut graph, &line.handlers)?;
    let status = line.exit_handler.as_ref().map(|handler| graph.read(handler, "", None)).transpose().map_err(Failure::failed)?;
    signals.result()?;
    Ok(match status.as_deref().map(str::trim) {
        None if whole => 0,
        None => 1,
        Some("true") => 0,
        Some("false") => 1,
        Some(number) => number.parse().unwrap_or(1),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use netvm::application::Reading;
    use netvm::diagnostics::Sources;

    fn line(text: &str) -> Outcome<Line> {
        parse(text.split(' ').map(str::to_owned))
    }

    #[test]
    fn options_of_click_are_read() {
        let read = line("-qh c.count --simtime=5 N=1 x.click --threads=2 -oout").unwrap();
        assert!(read.quit && read.simulated);
        assert_eq!((read.handlers, read.parameters), (vec!["c.count".to_owned()], vec!["N=1".to_owned()]));
        assert_eq!((read.file, read.output), (Some("x.click".into()), Some("out".into())));
        assert_eq!(line("-e Idle -x stop").unwrap().exit_handler.as_deref(), Some("stop"));
    }

    #[test]
    fn faults_have_the_words_of_click() {
        let words = |text: &str| {
            let Err(Error::Configuration(faults)) = Application::read("x", text, &Reading::default()) else { panic!("{text}") };
            let of = |sources: &Sources, fault: &Diagnostic| in_its_words(fault, |span| sources.line(span.start).1.to_string());
            let all = faults.0.iter().flat_map(|part| part.faults.0.iter().map(|fault| of(&part.sources, fault)));
            all.collect::<Vec<_>>()
        };
        for (text, wanted) in [
            ("Idle\n-> p :: Print", "2: 'p :: Print' output 0 unused"),
            ("Idle\n-> t :: Tee", "2: 't :: Tee' output 0 unused"),
            ("Idle\n-> input", "2: syntax error near '->'"),
            ("a :: Idle;\na :: Idle", "2: redeclaration of element 'a'\n1: element 'a' previously declared here"),
            ("i :: InfiniteSource -> Discard;\ni -> Discard", "1: illegal reuse of 'i :: InfiniteSource' push output 0"),
        ] {
            assert_eq!(words(text), [wanted], "{text}");
        }
    }

    #[test]
    fn wrong_command_lines_are_refused() {
        assert!(line("-e").is_err() && line("--nonesuch").is_err() && line("a.click b.click").is_err());
    }
}
