//! The command line of click(1), when the program is called by that name: for configurations' own tests and scripts.
//!
//! Leaves out: hot swapping, threads (`-j` is taken and has no effect), reading packages.

use super::run::configuration::{self, Terminal};
use super::run::control;
use crate::failure::{self, Failure, Outcome};
use crate::signals::Signals;
use netvm::application::{Application, Library, Settings, native};
use netvm::control::click::Access;
use netvm::control::{Door, Server};
use netvm::diagnostics::{Diagnostic, Span};
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

/// What click says of a configuration that it cannot read.
const READING: &[&str] = &["syntax error", "redeclaration of", "connection mismatch", "at most one expandable port"];

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
            match of_element(&fault.message) {
                Some((element, what)) => {
                    let head = format!("{}: While configuring '{element}':", place(fault.span));
                    syntax = false;
                    if before.replace(head.clone()) != Some(head.clone()) {
                        failure::eprint_lossy(&head);
                    }
                    failure::eprint_lossy(&format!("  {}", what.replace('`', "'")));
                }
                None => {
                    let lines = in_its_words(fault, place);
                    syntax &= READING.iter().any(|words| lines.contains(words));
                    failure::eprint_lossy(&lines);
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
    let first = fault.notes.first().map(|(span, _)| place(*span));
    if message.starts_with("an element is missing") {
        return format!("{here}: syntax error near '->'");
    }
    match (message.strip_prefix("element ").and_then(|rest| rest.strip_suffix(" is declared twice")), first) {
        (Some(name), Some(first)) => format!("{here}: redeclaration of element {name}\n{first}: element {name} previously declared here"),
        (None, Some(first)) if message.starts_with("illegal reuse") => format!("{first}: {message}"),
        _ => format!("{here}: {}", unused(&message).unwrap_or(message)),
    }
}

/// `'p :: Print' has 0 output ports, and its class wants 1`, in click's words.
fn unused(message: &str) -> Option<String> {
    let (element, rest) = message.split_once(" has ")?;
    let (there, wanted) = rest.split_once(", and its class wants ")?;
    let (count, side) = there.split_once(' ')?;
    let (count, least): (u32, u32) = (count.parse().ok()?, wanted.trim_start_matches("at least ").parse().ok()?);
    let side = side.split(' ').next()?;
    (count < least).then(|| format!("{element} {side} {count} unused"))
}

/// The element, `name :: Class`, that a fault begins with, and what is wrong.
fn of_element(message: &str) -> Option<(&str, &str)> {
    message.strip_prefix('`')?.split_once("`: ").filter(|(element, _)| element.contains(" :: "))
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
        let known = native::find(class).is_some() || Library::declaring(class).is_some() || Library::of(&[]).class(class).is_some();
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
        let at = |start| Span { start, end: start };
        let words = |message: &str| in_its_words(&Diagnostic::new(at(2), message).note(at(1), "before"), |span| span.start.to_string());
        for (message, wanted) in [
            ("`p :: Print` has 0 output ports, and its class wants 1", "2: 'p :: Print' output 0 unused"),
            ("`t :: Tee` has 0 output ports, and its class wants at least 1", "2: 't :: Tee' output 0 unused"),
            (
                "`c :: Check` has 3 output ports, and its class wants at most 2",
                "2: 'c :: Check' has 3 output ports, and its class wants at most 2",
            ),
            ("an element is missing: `input` has a meaning in compounds and groups only", "2: syntax error near '->'"),
            ("element `a` is declared twice", "2: redeclaration of element 'a'\n1: element 'a' previously declared here"),
            ("illegal reuse of `i :: Src` push output 0", "1: illegal reuse of 'i :: Src' push output 0"),
        ] {
            assert_eq!(words(message), wanted);
        }
    }

    #[test]
    fn wrong_command_lines_are_refused() {
        assert!(line("-e").is_err() && line("--nonesuch").is_err() && line("a.click b.click").is_err());
    }
}
