//! The places where programs of the corpus run: what each cell says.

use super::apps::{self, Played};
use super::corpus::{Case, Subject};
use super::kernel;
use super::support::{expected, ran, time_of, tried, wanted};
use netvm::engines::{self, EngineInfo};
use netvm::netil::Verified;
use netvm::netil::exec::{Packets, Selection, State};
use netvm::scripts::scenarios::Config;
use netvm::targets;
use std::sync::Arc;

/// What a cell says: how it was the same, or why there is nothing.
pub type Cell = Result<String, String>;

/// What the interpreter does.
pub enum Reference {
    /// With a program: a line for each packet and each memory.
    Lines(String),
    /// With a configuration.
    Played(Played),
}

/// A place where programs run.
pub enum Column {
    /// An engine.
    Engine(&'static EngineInfo),
    /// A form of compiled C, of filters alone.
    Form(&'static EngineInfo),
    /// A target whose files are built and run.
    Core(&'static targets::Target),
    /// The kernel.
    Kernel,
}

/// All that this machine has: a line here is a column.
pub fn all() -> Vec<Column> {
    let mut all: Vec<_> = engines::ALL.iter().map(Column::Engine).collect();
    all.extend(engines::forms().map(Column::Form));
    all.extend(tried().into_iter().map(Column::Core));
    all.push(Column::Kernel);
    all
}

const SAME: &str = "same";
const FILTERS_ALONE: &str = "compiled C of one program alone is for filters";

impl Column {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Engine(engine) | Self::Form(engine) => engine.name,
            Self::Core(target) => target.name,
            Self::Kernel => "xdp",
        }
    }

    /// What the interpreter does with a program of the corpus.
    pub fn reference(case: &Case) -> Result<Reference, String> {
        match &case.subject {
            Subject::Program(program, packets) => wanted(&engines::ALL[0], program, packets).map(Reference::Lines),
            Subject::Configuration(config, parameters, inputs) => {
                Ok(Reference::Played(apps::played_by(&engines::ALL[0], config, parameters, inputs, &folder(case, "reference"))))
            }
        }
    }

    pub fn cell(&self, case: &Case, reference: &Reference) -> Cell {
        match (&case.subject, reference) {
            (Subject::Program(program, packets), Reference::Lines(lines)) => self.program(case, program, packets, lines),
            (Subject::Configuration(..), Reference::Played(wanted)) => self.configuration(case, wanted),
            _ => unreachable!("a reference is of its case"),
        }
    }

    fn program(&self, case: &Case, program: &Arc<Verified>, packets: &[Vec<u8>], reference: &str) -> Cell {
        match self {
            Self::Engine(engine) | Self::Form(engine) if engine.name.starts_with("aot") => {
                selected(case, engine, program, packets, reference)
            }
            Self::Engine(engine) | Self::Form(engine) => same(self.name(), case, &wanted(engine, program, packets)?, reference),
            Self::Core(target) => {
                let got = ran(target, program, packets, &folder(case, ""))?;
                same(self.name(), case, &got, &expected(target.name, reference))
            }
            Self::Kernel => kernel::program(&case.name, program, packets),
        }
    }

    fn configuration(&self, case: &Case, wanted: &Played) -> Cell {
        let Subject::Configuration(config, parameters, inputs) = &case.subject else { unreachable!("a configuration") };
        let got = match self {
            Self::Engine(engine) => apps::played_by(engine, config, parameters, inputs, &folder(case, engine.name)),
            Self::Form(_) => return Err("elements are compiled together in one form, which is column `aot`".to_owned()),
            Self::Core(target) => apps::played(target, &apps::read(config, parameters), inputs, &folder(case, ""))?,
            Self::Kernel => return kernel::configuration(case, &apps::read(config, parameters)),
        };
        got.must_be(wanted, &format!("{} on {}", case.name, self.name()));
        Ok(SAME.to_owned())
    }
}

/// A name for a folder.
fn folder(case: &Case, of: &str) -> String {
    let plain: String = case.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let kind: String = case.kind.chars().take_while(char::is_ascii_alphanumeric).collect();
    let text = if let Subject::Configuration(Config::File(_), ..) = case.subject { "file" } else { "" };
    format!("{kind}-{plain}{text}{of}")
}

fn same(column: &str, case: &Case, got: &str, reference: &str) -> Cell {
    for (i, (got, wanted)) in got.lines().zip(reference.lines()).enumerate() {
        assert_eq!(got, wanted, "{} on {column}: packet {i}", case.name);
    }
    assert_eq!(got.lines().count(), reference.lines().count(), "{} on {column}", case.name);
    Ok(SAME.to_owned())
}

/// Compiled C is for filters: verdicts.
fn selected(case: &Case, engine: &EngineInfo, program: &Arc<Verified>, packets: &[Vec<u8>], reference: &str) -> Cell {
    if !program.is_filter() {
        return Err(FILTERS_ALONE.to_owned());
    }
    let mut made = engine.make(Arc::clone(program), engines::Settings::default()).map_err(|why| why.to_string())?;
    let frames: Vec<&[u8]> = packets.iter().map(Vec::as_slice).collect();
    let wire_len: Vec<u32> = frames.iter().map(|frame| frame.len() as u32).collect();
    let times: Vec<u64> = (0..frames.len()).map(time_of).collect();
    let packets = Packets { frames: &frames, wire_len: &wire_len, time_ns: &times };
    let (mut out, mut state) = (Selection::default(), State::plain(program).map_err(|why| why.to_string())?);
    made.select(&packets, &mut state, &mut out);
    for (i, line) in reference.lines().take(frames.len()).enumerate() {
        assert_eq!(out.get(i), line.starts_with("sent"), "{} on {}: packet {i}", case.name, engine.name);
    }
    Ok(SAME.to_owned())
}
