//! P4-16 programs for v1model and PSA, and what p4c makes of them for BMv2: from source text to
//! NetIL.
//!
//! ```text
//! text ──lexer, preprocess──▶ tokens ──parser──▶ ast ──check──▶ hir ──lower──▶ Pipeline: a netil::Module, and what the control plane knows
//! JSON for BMv2 ──bmv2──▶ text
//! ```
//!
//! - [`pipeline`]: what a compiled program is for who runs it
//! - [`entries`]: entries of tables
//! - [`marks`]: what a program tells that is compiled for tracing
//! - [`mod@p4info`]: what controllers that speak P4Runtime need to know
//! - [`crc`]: checks whose parameters may change
//! - [`chart`]: parsers and controls as graphs
//!
//! Source: P4-16 language specification 1.2.5; for v1model the documentation of BMv2's
//! simple_switch; Portable Switch Architecture 1.2.
#![forbid(unsafe_code)]
mod ast;
mod bmv2;
pub mod chart;
mod check;
pub mod crc;
pub mod entries;
mod hir;
mod key_match;
mod lexer;
mod lint;
mod lower;
pub mod marks;
pub mod optimisation;
pub mod p4info;
mod parser;
pub mod pipeline;
mod preprocess;
mod uses;

use frontends::diagnostics::{Diagnostic, Sources};
use std::path::{Path, PathBuf};

pub use num_bigint::{BigInt, Sign};
pub use optimisation::Optimisation;
pub use pipeline::Pipeline;
pub use preprocess::Loader;

/// What a program is read with.
#[derive(Clone, Copy)]
pub struct Reading<'a> {
    /// Folders for included files.
    pub folders: &'a [PathBuf],
    /// Macros from the command line.
    pub defines: &'a [(String, String)],
    /// How files are read.
    pub load: Loader<'a>,
    /// The program tells what it does, see [`marks`].
    pub marks: bool,
    /// What is not to be done to make it fast.
    pub without: &'a [Optimisation],
}

/// A program that is wrong: its texts, and what is wrong with them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    sources: Sources,
    faults: Vec<Diagnostic>,
}

impl Refused {
    /// The faults as rustc draws them.
    #[must_use]
    pub fn render(&self, color: bool) -> String {
        self.sources.render(&self.faults, color)
    }

    /// The first message.
    #[must_use]
    pub fn first(&self) -> &str {
        self.faults.first().map_or("", |f| &f.message)
    }
}

/// Bytes of stack: enough for all that is as deep as the parser allows.
const STACK: usize = 64 << 20;

/// Runs the compiler on a stack of its own, as trees may be deep.
fn on_stack<T: Send>(f: impl FnOnce() -> Result<T, Refused> + Send) -> Result<T, Refused> {
    std::thread::scope(|scope| match std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, f) {
        Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        Err(why) => {
            let fault = Diagnostic::new(Default::default(), format!("no thread to compile in: {why}"));
            Err(Refused { sources: Sources::default(), faults: vec![fault] })
        }
    })
}

fn front(name: &Path, text: &str, reading: Reading<'_>) -> Result<(hir::Program, Sources), Refused> {
    let mut pp = preprocess::Preprocessor::new(reading.folders, reading.load);
    reading.defines.iter().for_each(|(name, value)| pp.define(name, value));
    if bmv2::is_json(name) {
        let made = bmv2::translate(name, text).map_err(|(sources, fault)| Refused { sources, faults: vec![fault] })?;
        pp.made(&made.name, &made.text, made.origins);
    } else {
        pp.file(name, text, 0);
    }
    let preprocess::Preprocessor { sources, faults, out, .. } = pp;
    if !faults.is_empty() {
        return Err(Refused { sources, faults });
    }
    let decls = match parser::parse(&out) {
        Ok(decls) => decls,
        Err(fault) => return Err(Refused { sources, faults: vec![*fault] }),
    };
    let (program, mut faults) = check::check(&decls);
    // p4c has made the names in a file of JSON, where some stand for several things.
    if faults.is_empty() && !bmv2::is_json(name) {
        faults = p4info::clashes(&program);
    }
    if faults.is_empty() { Ok((program, sources)) } else { Err(Refused { sources, faults }) }
}

/// What a program says and cannot mean: its texts, and where.
#[derive(Clone, Debug, Default)]
pub struct Warnings {
    sources: Sources,
    all: Vec<Diagnostic>,
}

impl Warnings {
    /// Warnings about another text, such as a file of entries.
    #[must_use]
    pub fn of(sources: Sources, all: Vec<Diagnostic>) -> Self {
        Self { sources, all }
    }

    /// The warnings as rustc draws them.
    #[must_use]
    pub fn render(&self, color: bool) -> String {
        self.sources.render_warnings(&self.all, color)
    }

    /// File, line, column and message of each.
    pub fn list(&self) -> impl Iterator<Item = (&str, u32, u32, &str)> {
        self.all.iter().map(|warning| {
            let (file, line, column) = self.sources.place(warning.span.start);
            (file, line, column, warning.message.as_str())
        })
    }
}

/// Checks a program of any architecture; one whose architecture is supported is compiled. What it
/// says and cannot mean.
///
/// # Errors
/// All that is wrong with it.
pub fn check(name: &Path, text: &str, reading: Reading<'_>) -> Result<(Option<Pipeline>, Warnings), Refused> {
    on_stack(|| {
        let (program, sources) = front(name, text, reading)?;
        let pipeline = match lower::arch::of(&program) {
            None => None,
            Some(_) => match lower::lower(&program, &sources, Reading { marks: false, ..reading }) {
                Ok(pipeline) => Some(pipeline),
                Err(fault) => return Err(Refused { sources, faults: vec![*fault] }),
            },
        };
        let all = lint::warnings(&program, &sources);
        Ok((pipeline, Warnings { sources, all }))
    })
}

/// Compiles a program.
///
/// # Errors
/// What is wrong with it, or is not supported.
pub fn compile(name: &Path, text: &str, reading: Reading<'_>) -> Result<Pipeline, Refused> {
    on_stack(|| {
        let (program, sources) = front(name, text, reading)?;
        lower::lower(&program, &sources, reading).map_err(|fault| Refused { sources, faults: vec![*fault] })
    })
}

/// Compiles a program for v1model to be an element of a graph: packets come in by its inputs, which
/// are its ports of arrival, and leave by its outputs, which are its egress ports.
///
/// # Errors
/// What is wrong with it, is not supported, or asks for what the switch around a program does:
/// clones, resubmission, recirculation, digests.
pub fn compile_element(name: &Path, text: &str, reading: Reading<'_>, inputs: u32, outputs: u32) -> Result<Pipeline, Refused> {
    on_stack(|| {
        let (program, sources) = front(name, text, reading)?;
        lower::lower_element(&program, &sources, reading, inputs, outputs).map_err(|fault| Refused { sources, faults: vec![*fault] })
    })
}

/// Parsers and controls of a program of any architecture as graphs.
///
/// # Errors
/// What is wrong with it.
pub fn charts(name: &Path, text: &str, reading: Reading<'_>) -> Result<Vec<chart::Chart>, Refused> {
    on_stack(|| front(name, text, reading).map(|(program, sources)| chart::charts(&program, &sources)))
}

/// The P4 program that a program in BMv2's JSON is read as.
///
/// # Errors
/// What is wrong with the JSON.
pub fn text(name: &Path, text: &str) -> Result<String, Refused> {
    bmv2::translate(name, text).map(|made| made.text).map_err(|(sources, fault)| Refused { sources, faults: vec![fault] })
}

/// What a controller needs to know of a program of any architecture.
///
/// # Errors
/// What is wrong with it.
pub fn p4info(name: &Path, text: &str, reading: Reading<'_>) -> Result<p4info::Message, Refused> {
    on_stack(|| front(name, text, reading).map(|(program, _)| p4info::make(&program)))
}
