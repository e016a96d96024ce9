//! Element scripts: what goes into one element, and what comes out of it. One file `CLASS.txt` for
//! each class; those of the built-in ones are in `tests/elements`. Each holds on every engine, and
//! when gcc compiles the element.
//!
//! ```text
//! # a comment
//! case WORDS                      begins a case: a fresh instance
//! config ARGUMENTS                of the element; none by default
//! ports INPUTS OUTPUTS            that are connected; 1 1 by default
//! beside CONFIGURATION            elements that the arguments name; nothing comes to them
//! at SECONDS                      the clock, 1 at first; timers that are due run
//! in PORT HEX [NAME=VALUE ...]    a packet comes in, with those annotations (all others 0); where it is pulled, output 0 is asked for it
//! wait PORT HEX [NAME=VALUE ...]  a packet waits before an input that pulls, until the element asks for it
//! ask PORT                        a packet is asked for at that output
//! write HANDLER VALUE             a write handler is called
//! read HANDLER VALUE              a read handler has that value; a line's end is written \n, a tab \t
//! ```
//!
//! After `in`, `ask`, `at` and `write` follow, in order, all that happens then: `print LINE`,
//! `out PORT HEX [NAME=VALUE ...]` (only the named annotations are compared; time_ns is the
//! packet's time), and at the end `drop [REASON]` or `trap`. In HEX there may be spaces, and `XX*N`
//! is a byte N times. A line that begins with a space goes on with the one before. Numbers are
//! decimal, IPv4 addresses dotted, other values hexadecimal digits.
//!
//! Scripts of whole graphs are [`scenarios`].

mod element;
mod error;
mod linked;
mod run;
pub mod scenarios;

pub use error::ScriptError;

use crate::application::Library;
use crate::engines::{EngineInfo, Settings};
use std::fmt::Write as _;

/// A script's cases.
#[derive(Clone, Debug)]
pub struct Case {
    /// Where it begins.
    pub line: usize,
    /// What it is about.
    pub title: String,
    /// The element's arguments.
    pub config: String,
    /// Inputs and outputs that are connected.
    pub ports: (usize, usize),
    /// Other elements of its configuration.
    pub beside: String,
    /// What is done, in order.
    pub steps: Vec<Step>,
}

/// One thing done and what must come of it.
#[derive(Clone, Debug)]
pub struct Step {
    /// Where it is written.
    pub line: usize,
    /// What is done.
    pub action: Action,
    /// What must happen then.
    pub expected: Vec<Event>,
}

/// The longest packet, in digits.
const LONGEST: usize = 1 << 20;

/// Annotations, by name.
pub type Info = Vec<(String, String)>;

/// What is done to an element.
#[derive(Clone, Debug)]
pub enum Action {
    /// The clock is set, in nanoseconds.
    At(u64),
    /// A packet comes in by that port.
    In(usize, Vec<u8>, Info),
    /// A packet waits before that port.
    Wait(usize, Vec<u8>, Info),
    /// A packet is asked for at that port.
    Ask(usize),
    /// A write handler gets that value.
    Write(String, String),
    /// A read handler is asked.
    Read(String),
}

/// What an element does.
#[derive(Clone, Debug)]
pub enum Event {
    /// A packet leaves by that port.
    Out(usize, Vec<u8>, Info),
    /// The packet was dropped, for that reason.
    Drop(String),
    /// The packet was dropped by a trap.
    Trap,
    /// A line was printed.
    Print(String),
    /// A handler's value.
    Value(String),
}

impl Event {
    /// This event without annotations that are zero, and without the time.
    fn short(&self) -> Self {
        match self {
            Self::Out(port, bytes, info) => {
                let says = |(name, value): &&(String, String)| name != "time_ns" && value.contains(|c: char| !matches!(c, '0' | '.'));
                Self::Out(*port, bytes.clone(), info.iter().filter(says).cloned().collect())
            }
            event => event.clone(),
        }
    }
}

impl std::fmt::Display for Event {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Out(port, bytes, info) => {
                let bytes: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
                let info: String = info.iter().map(|(name, value)| format!(" {name}={value}")).collect();
                write!(f, "out {port} {bytes}{info}")
            }
            Self::Drop(reason) => write!(f, "drop {reason}"),
            Self::Trap => write!(f, "trap"),
            Self::Print(line) => write!(f, "print {line}"),
            Self::Value(value) => write!(f, "value {value}"),
        }
    }
}

/// Is what happened what was expected? Of annotations those named must be the same.
pub fn agrees(expected: &Event, happened: &Event) -> bool {
    match (expected, happened) {
        (Event::Out(port, bytes, info), Event::Out(p, b, all)) => {
            let value = |name: &str| all.iter().find(|(n, _)| n == name).map_or("0", |(_, v)| v);
            port == p && bytes == b && info.iter().all(|(name, v)| value(name) == v)
        }
        (Event::Drop(a), Event::Drop(b)) | (Event::Print(a), Event::Print(b)) | (Event::Value(a), Event::Value(b)) => a == b,
        (Event::Trap, Event::Trap) => true,
        _ => false,
    }
}

/// Runs all cases on an engine: what happens at each step of each case. The engine `aot` runs
/// elements linked, as far as they can be.
///
/// # Errors
/// A case's line and the faults of its configuration.
pub fn run(library: &Library, class: &str, cases: &[Case], engine: &EngineInfo, settings: Settings) -> Result<Vec<Happened>, ScriptError> {
    run::run(library, class, cases, engine, settings)
}

/// What happens at each step of a case.
pub type Happened = Vec<Vec<Event>>;

/// What is different from what a case expects, in words; `file` is the script's name.
pub fn differences(file: &str, case: &Case, happened: &[Vec<Event>]) -> Vec<String> {
    let different = |step: &Step, events: &[Event]| {
        step.expected.len() != events.len() || !step.expected.iter().zip(events).all(|(expected, event)| agrees(expected, event))
    };
    let say = |events: &[Event]| match events {
        [] => "\n    nothing".to_owned(),
        events => events.iter().fold(String::new(), |text, event| text + &format!("\n    {}", event.short())),
    };
    let steps = case.steps.iter().zip(happened).filter(|(step, events)| different(step, events));
    let words = |(step, events): (&Step, &Vec<Event>)| {
        let mut words = format!("{file}:{} ({})", step.line, case.title);
        let _ = write!(words, "\n  expected{}\n  but there was{}", say(&step.expected), say(events));
        words
    };
    steps.map(words).collect()
}

/// Reads a script.
///
/// # Errors
/// The line that cannot be read.
pub fn parse(text: &str) -> Result<Vec<Case>, ScriptError> {
    let mut cases = Vec::new();
    for (line, words) in joined(text) {
        read_line(&mut cases, line, &words)
            .ok_or_else(|| ScriptError::new(format!("{words}\n  is no line of a script here; `netvm test --help` has them")).at(line))?;
    }
    if cases.is_empty() {
        return Err(ScriptError::new("there is no case in it; `netvm test --help` shows a script"));
    }
    Ok(cases)
}

/// Lines with those that go on with them, comments and empty ones left out.
fn joined(text: &str) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    for (n, line) in text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty() && !l.starts_with('#')) {
        match lines.last_mut() {
            Some((_, before)) if line.starts_with(' ') => before.push_str(line),
            _ => lines.push((n + 1, line.to_owned())),
        }
    }
    lines
}

fn read_line(cases: &mut Vec<Case>, line: usize, text: &str) -> Option<()> {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    if word == "case" {
        cases.push(Case { line, title: rest.to_owned(), config: String::new(), ports: (1, 1), beside: String::new(), steps: Vec::new() });
        return Some(());
    }
    let case = cases.last_mut()?;
    match word {
        "config" => case.config = rest.to_owned(),
        "beside" => case.beside = rest.to_owned(),
        "ports" => case.ports = rest.split_once(' ').map(|(i, o)| Some((i.parse().ok()?, o.parse().ok()?)))??,
        "at" | "in" | "wait" | "ask" | "write" | "read" => case.steps.push(step(line, word, rest)?),
        _ => case.steps.last_mut()?.expected.push(event(text)?),
    }
    Some(())
}

fn step(line: usize, word: &str, rest: &str) -> Option<Step> {
    let (name, value) = rest.split_once(' ').unwrap_or((rest, ""));
    let (name, value) = (name.to_owned(), value.to_owned());
    let mut expected = Vec::new();
    let action = match word {
        "at" => Action::At((rest.parse::<f64>().ok()? * 1e9).round() as u64),
        "in" => packet(rest).map(|(port, bytes, info)| Action::In(port, bytes, info))?,
        "wait" => packet(rest).map(|(port, bytes, info)| Action::Wait(port, bytes, info))?,
        "ask" => Action::Ask(rest.parse().ok()?),
        "write" => Action::Write(name, value),
        _ => {
            expected.push(Event::Value(value));
            Action::Read(name)
        }
    };
    Some(Step { line, action, expected })
}

/// Reads a line that says what happened.
pub fn event(text: &str) -> Option<Event> {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    Some(match word {
        "out" => packet(rest).map(|(port, bytes, info)| Event::Out(port, bytes, info))?,
        "drop" => Event::Drop(rest.to_owned()),
        "trap" => Event::Trap,
        "print" => Event::Print(rest.to_owned()),
        "value" => Event::Value(rest.to_owned()),
        _ => return None,
    })
}

fn packet(text: &str) -> Option<(usize, Vec<u8>, Info)> {
    let mut words = text.split_whitespace();
    let port = words.next()?.parse().ok()?;
    let (mut bytes, mut info) = (Vec::new(), Vec::new());
    for word in words {
        match word.split_once('=') {
            Some((name, value)) => info.push((name.to_owned(), value.to_owned())),
            None => bytes.extend(hex(word)?),
        }
    }
    Some((port, bytes, info))
}

fn hex(word: &str) -> Option<Vec<u8>> {
    let (digits, times) = word.split_once('*').map_or(Some((word, 1)), |(d, n)| Some((d, n.parse().ok()?)))?;
    if digits.len().saturating_mul(times) > LONGEST {
        return None;
    }
    let pair = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
    let bytes: Option<Vec<u8>> = (0..digits.len()).step_by(2).map(pair).collect();
    Some(bytes?.repeat(times))
}
