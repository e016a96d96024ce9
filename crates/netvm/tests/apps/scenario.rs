//! Scenarios: what goes into an application and what comes out, in order. Files `apps/NAME/tests/*.txt`.
//!
//! ```text
//! # a comment
//! run CONFIG [NAME=VALUE ...]     which configuration of the application, with parameters; first
//! let NAME TEXT                   from here on $NAME stands for TEXT
//! case WORDS                      what the next lines are about
//! at SECONDS                      when the next packet comes; else a millisecond after the one before
//! in DEVICE PACKET                a packet comes in there
//! out DEVICE PACKET               one leaves there, in that order of each device
//! drop ELEMENT REASON             that element drops a packet; all drops that happen are listed
//! read HANDLER VALUE              at the end, a handler says so
//! ```
//!
//! A line that begins with a space goes on with the one before.

use crate::packet;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A packet, when it comes, and the line that it is on.
#[derive(Clone)]
pub struct Timed {
    pub line: usize,
    pub case: String,
    pub time_ns: u64,
    pub bytes: Vec<u8>,
}

/// A scenario.
#[derive(Default)]
pub struct Scenario {
    pub name: String,
    pub config: PathBuf,
    pub parameters: BTreeMap<String, String>,
    /// What comes in, by device.
    pub inputs: BTreeMap<String, Vec<Timed>>,
    /// What leaves, by device.
    pub outputs: BTreeMap<String, Vec<Timed>>,
    /// How many packets elements drop, by element and reason.
    pub drops: BTreeMap<(String, String), u64>,
    /// Handlers and their values.
    pub reads: Vec<(String, String)>,
}

/// Reads a scenario; panics where it is wrong, since it is part of the test.
pub fn read(file: &Path) -> Scenario {
    let text = std::fs::read_to_string(file).unwrap();
    let folder = file.parent().and_then(Path::parent).unwrap();
    let mut reader = Reader { scenario: Scenario { name: file.display().to_string(), ..Scenario::default() }, ..Reader::default() };
    for (number, line) in lines(&text) {
        reader.line(number, &line, folder).unwrap_or_else(|wrong| panic!("{}:{number}: {wrong}", file.display()));
    }
    reader.scenario
}

/// Lines with their numbers, continuations put together.
fn lines(text: &str) -> Vec<(usize, String)> {
    let mut all: Vec<(usize, String)> = Vec::new();
    for (n, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#')) {
        match all.last_mut() {
            Some((_, before)) if line.starts_with(' ') => *before = format!("{before} {}", line.trim()),
            _ => all.push((n + 1, line.trim().to_owned())),
        }
    }
    all
}

#[derive(Default)]
struct Reader {
    scenario: Scenario,
    words: Vec<(String, String)>,
    case: String,
    clock: u64,
    at: Option<u64>,
}

impl Reader {
    fn line(&mut self, number: usize, line: &str, folder: &Path) -> Result<(), String> {
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        let rest = rest.trim();
        let (first, second) = rest.split_once(' ').unwrap_or((rest, ""));
        match verb {
            "run" => {
                let mut words = rest.split_whitespace();
                self.scenario.config = folder.join(words.next().ok_or("no configuration")?);
                let pairs = words.map(|word| word.split_once('=').map(|(a, b)| (a.to_owned(), b.replace('~', " "))));
                self.scenario.parameters = pairs.collect::<Option<_>>().ok_or("expected NAME=VALUE")?;
            }
            "let" => {
                self.words.push((format!("${first}"), self.replaced(second)));
                // Of two names that fit the longer one is meant.
                self.words.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
            }
            "case" => self.case = rest.to_owned(),
            "at" => self.at = Some((rest.parse::<f64>().map_err(|e| e.to_string())? * 1e9).round() as u64),
            "in" => {
                self.clock = self.at.take().unwrap_or(self.clock + 1_000_000);
                let packet = self.packet(number, second)?;
                self.scenario.inputs.entry(first.to_owned()).or_default().push(packet);
            }
            "out" => {
                let packet = self.packet(number, second)?;
                self.scenario.outputs.entry(first.to_owned()).or_default().push(packet);
            }
            "drop" => *self.scenario.drops.entry((first.to_owned(), second.to_owned())).or_default() += 1,
            "read" => self.scenario.reads.push((first.to_owned(), second.replace("\\n", "\n"))),
            _ => return Err(format!("unknown word `{verb}`")),
        }
        Ok(())
    }

    /// The text with what names stand for.
    fn replaced(&self, text: &str) -> String {
        self.words.iter().fold(text.to_owned(), |text, (name, stands_for)| text.replace(name, stands_for))
    }

    fn packet(&self, line: usize, text: &str) -> Result<Timed, String> {
        let bytes = packet::build(&self.replaced(text))?;
        Ok(Timed { line, case: self.case.clone(), time_ns: self.clock, bytes })
    }
}
