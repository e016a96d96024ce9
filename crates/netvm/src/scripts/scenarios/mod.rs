//! Scenarios: what goes into a graph of elements and what comes out, in order. Those of
//! applications are `apps/NAME/tests/*.txt`, those of the elements that the runtime knows itself
//! `tests/graphs/CLASS.txt`. Each holds on every engine.
//!
//! ```text
//! # a comment
//! let NAME TEXT                   from here on $NAME stands for TEXT in packets
//! case WORDS                      what the next lines are about
//! run CONFIG [NAME=VALUE ...]     begins a scenario: a configuration in the folder above the script's, with parameters; ~ in a value is a space
//! graph CONFIGURATION             begins a scenario: a configuration written here; $FOLDER in it is a folder of the scenario's own
//! file NAME LINE                  a line of text in a file in $FOLDER
//! bytes NAME HEX                  bytes of a file in $FOLDER
//! at SECONDS                      when the next packet comes; else a millisecond after the one before
//! in NAME PACKET                  a packet comes in by a device or, if there is a dot in NAME, stands in a capture in $FOLDER
//! out NAME PACKET [@ SECONDS]     one leaves there, in that order of each device or capture; at that time
//! drop ELEMENT REASON             that element drops a packet; all drops that happen are listed
//! text NAME LINE                  that line is written to stdout, stderr or a file in $FOLDER; all lines that are written to these two are listed
//! write HANDLER VALUE             at the end, a handler is written
//! read HANDLER VALUE              at the end, a handler says so; a line's end is written \n
//! error TEXT                      behind write or read: that is refused with this text in the reason; else the configuration is, or the run ends with such an error
//! ```
//!
//! A line that begins with a space goes on with the one before. [`packet`] says how packets are
//! written. Leaves out what comes while a graph runs but packets: handlers are then called by
//! elements of the graph (Script).

mod error;
mod judge;
pub mod packet;
pub mod run;

pub use error::ScenarioError;
pub use judge::{drops, drops_of, judge, shown};

use super::ScriptError;
use crate::engines::{EngineInfo, Settings};
use run::{Found, Job};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A packet that comes in, and the line that it is on.
#[derive(Clone, Debug)]
pub struct Timed {
    /// Its line.
    pub line: usize,
    /// When it comes.
    pub time_ns: u64,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// A packet that must leave.
#[derive(Clone, Debug)]
pub struct Awaited {
    /// Its line.
    pub line: usize,
    /// What it is about.
    pub case: String,
    /// Its time, where that is said.
    pub time_ns: Option<u64>,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// Where the configuration is.
#[derive(Clone, Debug)]
pub enum Config {
    /// In a file.
    File(PathBuf),
    /// In the script.
    Text(String),
}

/// A call of a handler at the end.
#[derive(Clone, Debug)]
pub struct Call {
    /// Its line.
    pub line: usize,
    /// It is written.
    pub write: bool,
    /// `element.handler`.
    pub handler: String,
    /// What is written, or must be read.
    pub value: String,
    /// Why it must be refused.
    pub error: Option<String>,
}

/// A scenario.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Where it begins.
    pub line: usize,
    /// What it is about, at its beginning.
    pub case: String,
    /// The configuration.
    pub config: Config,
    /// Its parameters.
    pub parameters: BTreeMap<String, String>,
    /// Files that are there before it begins.
    pub files: BTreeMap<String, Vec<u8>>,
    /// What comes in, by device or capture.
    pub inputs: BTreeMap<String, Vec<Timed>>,
    /// What leaves, by device or capture.
    pub outputs: BTreeMap<String, Vec<Awaited>>,
    /// How many packets elements drop, by element and reason.
    pub drops: BTreeMap<(String, String), u64>,
    /// Lines that are written, by stream or file.
    pub text: BTreeMap<String, Vec<String>>,
    /// Handlers and their values.
    pub calls: Vec<Call>,
    /// What is wrong with the configuration or the run.
    pub errors: Vec<String>,
}

impl Scenario {
    fn new(line: usize, case: String, config: Config) -> Self {
        Self {
            line,
            case,
            config,
            parameters: BTreeMap::new(),
            files: BTreeMap::new(),
            inputs: BTreeMap::new(),
            outputs: BTreeMap::new(),
            drops: BTreeMap::new(),
            text: BTreeMap::new(),
            calls: Vec::new(),
            errors: Vec::new(),
        }
    }

    /// The configuration's file, if it is in one.
    pub fn file(&self) -> Option<&Path> {
        match &self.config {
            Config::File(file) => Some(file),
            Config::Text(_) => None,
        }
    }

    /// Runs it in a folder, which is made; `elements` are folders with element classes.
    ///
    /// # Errors
    /// The configuration is refused, or the folder cannot be written.
    pub fn play(&self, elements: &[PathBuf], engine: &EngineInfo, engines: Settings, folder: &Path) -> Result<Found, ScenarioError> {
        let plain = |all: &Vec<Timed>| all.iter().map(|packet| (packet.time_ns, packet.bytes.clone())).collect();
        let job = Job {
            config: &self.config,
            parameters: &self.parameters,
            elements,
            files: &self.files,
            inputs: self.inputs.iter().map(|(name, all)| (name.clone(), plain(all))).collect(),
            captures: self.outputs.keys().filter(|name| is_file(name)).cloned().collect(),
            texts: self.text.keys().filter(|name| is_file(name)).cloned().collect(),
            calls: &self.calls,
        };
        run::run(&job, engine, engines, folder)
    }
}

/// Names of files in the scenario's folder, and of devices, of which the names of their captures
/// are made.
fn plain(name: &str) -> Result<(), ScriptError> {
    let is_plain = !name.is_empty() && name.len() <= 200 && !name.contains(['/', '\0']) && ![".", ".."].contains(&name);
    is_plain.then_some(()).ok_or_else(|| ScriptError::new(format!("`{name}` is no plain name; a script has files only in its own folder")))
}

/// A device has no dot in its name.
fn is_file(name: &str) -> bool {
    name.contains('.')
}

/// Whether a text is of scenarios, rather than a script of one element ([`super::parse`]).
pub fn is_scenarios(text: &str) -> bool {
    text.lines().any(|line| ["run ", "graph "].iter().any(|word| line.starts_with(word)))
}

/// Reads the scenarios of a file.
///
/// # Errors
/// The line that cannot be read, and why.
pub fn parse(file: &Path, text: &str) -> Result<Vec<Scenario>, ScriptError> {
    let folder = file.parent().map_or_else(|| PathBuf::from(".."), |folder| folder.join(".."));
    let mut reader = Reader { folder: folder.canonicalize().unwrap_or(folder), ..Reader::default() };
    for (number, line) in lines(text) {
        reader.line(number, &line).map_err(|wrong| wrong.at(number))?;
    }
    Ok(reader.scenarios)
}

/// Lines with their numbers, continuations put together.
fn lines(text: &str) -> Vec<(usize, String)> {
    let mut all: Vec<(usize, String)> = Vec::new();
    for (n, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#')) {
        match all.last_mut() {
            Some((_, before)) if line.starts_with(' ') => *before = format!("{before} {}", line.trim()),
            _ => all.push((n + 1, line.trim_end().to_owned())),
        }
    }
    all
}

#[derive(Default)]
struct Reader {
    folder: PathBuf,
    scenarios: Vec<Scenario>,
    words: Vec<(String, String)>,
    case: String,
    clock: u64,
    at: Option<u64>,
    /// The line before is a handler's call.
    called: bool,
}

impl Reader {
    fn line(&mut self, number: usize, line: &str) -> Result<(), ScriptError> {
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        let rest = rest.trim_start();
        let called = std::mem::replace(&mut self.called, ["write", "read"].contains(&verb));
        match verb {
            "run" => self.begin(number, rest)?,
            "graph" => self.scenarios.push(Scenario::new(number, self.case.clone(), Config::Text(rest.to_owned()))),
            "let" => self.name(rest),
            "case" => self.case = rest.to_owned(),
            "at" => self.at = Some(seconds(rest)?),
            _ => self.of_scenario(number, verb, rest, called)?,
        }
        if ["run", "graph"].contains(&verb) {
            (self.clock, self.at) = (0, None);
        }
        Ok(())
    }

    fn begin(&mut self, number: usize, rest: &str) -> Result<(), ScriptError> {
        let mut words = rest.split_whitespace();
        let config = Config::File(self.folder.join(words.next().ok_or("no configuration")?));
        let pairs = words.map(|word| word.split_once('=').map(|(a, b)| (a.to_owned(), b.replace('~', " "))));
        let parameters = pairs.collect::<Option<_>>().ok_or("expected NAME=VALUE")?;
        self.scenarios.push(Scenario { parameters, ..Scenario::new(number, self.case.clone(), config) });
        Ok(())
    }

    fn name(&mut self, rest: &str) {
        let (name, text) = rest.split_once(' ').unwrap_or((rest, ""));
        self.words.push((format!("${name}"), self.replaced(text)));
        // Of two names that fit the longer one is meant.
        self.words.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    }

    fn of_scenario(&mut self, line: usize, verb: &str, rest: &str, called: bool) -> Result<(), ScriptError> {
        let (first, second) = rest.split_once(' ').map_or((rest, ""), |(first, second)| (first, second));
        if ["in", "out", "bytes", "file", "text"].contains(&verb) {
            plain(first)?;
        }
        let (name, bytes) = (first.to_owned(), self.bytes(verb, second)?);
        let case = self.case.clone();
        let scenario = self.scenarios.last_mut().ok_or("expected run or graph first")?;
        match verb {
            "in" => {
                self.clock = self.at.take().unwrap_or(self.clock + 1_000_000);
                scenario.inputs.entry(name).or_default().push(Timed { line, time_ns: self.clock, bytes });
            }
            "out" => {
                let time_ns = second.rsplit_once(" @ ").map(|(_, time)| seconds(time)).transpose()?;
                scenario.outputs.entry(name).or_default().push(Awaited { line, case, time_ns, bytes });
            }
            "bytes" | "file" => scenario.files.entry(name).or_default().extend(bytes),
            "drop" => *scenario.drops.entry((name, second.to_owned())).or_default() += 1,
            "text" => scenario.text.entry(name).or_default().push(second.to_owned()),
            "read" | "write" => {
                let value = if verb == "read" { second.replace("\\n", "\n") } else { second.to_owned() };
                scenario.calls.push(Call { line, write: verb == "write", handler: name, value, error: None });
            }
            "error" => match scenario.calls.last_mut().filter(|_| called) {
                Some(call) => call.error = Some(rest.to_owned()),
                None => scenario.errors.push(rest.to_owned()),
            },
            _ => return Err(ScriptError::new(format!("unknown word `{verb}`"))),
        }
        Ok(())
    }

    /// The text with what names stand for.
    fn replaced(&self, text: &str) -> String {
        self.words.iter().fold(text.to_owned(), |text, (name, stands_for)| text.replace(name, stands_for))
    }

    /// The bytes that a line is about.
    fn bytes(&self, verb: &str, text: &str) -> Result<Vec<u8>, ScriptError> {
        let packet = text.rsplit_once(" @ ").map_or(text, |(packet, _)| packet);
        match verb {
            "in" | "out" => packet::build(&self.replaced(packet)),
            "bytes" => packet::build(&format!("hex {}", text.replace(' ', ""))),
            "file" => Ok(format!("{text}\n").into_bytes()),
            _ => Ok(Vec::new()),
        }
    }
}

/// A number of seconds in nanoseconds.
fn seconds(text: &str) -> Result<u64, ScriptError> {
    let number: f64 = text.trim().parse().map_err(|_| ScriptError::new(format!("expected seconds, not `{text}`")))?;
    Ok((number * 1e9).round() as u64)
}
