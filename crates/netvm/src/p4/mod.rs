//! P4 programs: compiled ([`load`]), run as BMv2's simple_switch runs them ([`Switch`]), and tested
//! by STF files ([`stf`]).

mod arrivals;
mod asked;
mod batch;
mod burst;
pub mod commands;
mod control;
mod controlled;
mod counts;
mod dump;
pub(crate) mod element;
mod error;
mod filling;
mod follow;
mod fused;
mod journey;
mod members;
mod meters;
mod mirroring;
mod packet_info;
mod passes;
mod profiles;
mod replication;
pub mod shadowed;
pub mod stf;
mod straight;
mod switch;
mod traffic;
mod values;
mod words;

pub use arrivals::{Arrived, Departed, Departures};
pub use controlled::Ruled;
pub(crate) use counts::{of_replica, summed};
pub use dump::{Entered, NamedAction, Target};
pub use element::{Devices, Port};
pub use error::SwitchError;
pub use filling::{Filling, Reader, is_protobuf, read_protobuf_by};
pub use journey::Sent;
pub use members::{Group, Indirect};
pub use meters::Rate;
pub use p4::chart::Chart;
pub use p4::crc::Parameters;
pub use p4::entries::KeyMatch;
pub use p4::marks::MarkKind;
pub use p4::optimisation;
pub use p4::p4info::{Message as P4Info, text as p4info_text};
pub use p4::pipeline::{InitialEntry, TableMeta};
pub use p4::{BigInt, Optimisation, Pipeline, Reading, Refused, Sign, Warnings};
pub use passes::{Event, Pass};
pub use replication::SessionCopies;
pub use switch::{Digest, Switch};
pub use traffic::Traffic;

use crate::Error;
use std::path::{Path, PathBuf};

/// Reads and compiles a program; what it includes is looked for in those folders, too.
///
/// # Errors
/// The file cannot be read, or the program is refused.
pub fn load(path: &Path, folders: &[PathBuf], defines: &[(String, String)]) -> Result<Pipeline, Error> {
    load_without(path, folders, defines, &[])
}

/// Reads and compiles a program without some optimisations.
///
/// # Errors
/// The file cannot be read, or the program is refused.
pub fn load_without(path: &Path, folders: &[PathBuf], defines: &[(String, String)], without: &[Optimisation]) -> Result<Pipeline, Error> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| Error::Io { name, error })?;
    let read = |path: &Path| std::fs::read_to_string(path).ok();
    p4::compile(path, &text, Reading { folders, defines, load: &read, marks: false, without }).map_err(Error::P4)
}

/// Whether a program can be an element of a graph with so many inputs and outputs; one that cannot
/// be read or is wrong cannot.
#[must_use]
pub fn is_element(path: &Path, folders: &[PathBuf], defines: &[(String, String)], inputs: u32, outputs: u32) -> bool {
    let read = |path: &Path| std::fs::read_to_string(path).ok();
    let reading = Reading { folders, defines, load: &read, marks: false, without: &[] };
    read(path).is_some_and(|text| p4::compile_element(path, &text, reading, inputs, outputs).is_ok())
}

/// Reads and compiles a program that tells what it does: for [`Switch::follow`].
///
/// # Errors
/// The file cannot be read, or the program is refused.
pub fn load_traced(path: &Path, folders: &[PathBuf], defines: &[(String, String)]) -> Result<Pipeline, Error> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| Error::Io { name, error })?;
    let read = |path: &Path| std::fs::read_to_string(path).ok();
    p4::compile(path, &text, Reading { folders, defines, load: &read, marks: true, without: &[] }).map_err(Error::P4)
}

/// Checks a program of any architecture. What is made of it, if its architecture is one that can
/// run; and what it says and cannot mean.
///
/// # Errors
/// The file cannot be read, or the program is refused.
pub fn check(path: &Path, folders: &[PathBuf], defines: &[(String, String)]) -> Result<(Option<Pipeline>, Warnings), Error> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| Error::Io { name, error })?;
    let read = |path: &Path| std::fs::read_to_string(path).ok();
    let (pipeline, warnings) =
        p4::check(path, &text, Reading { folders, defines, load: &read, marks: false, without: &[] }).map_err(Error::P4)?;
    if let Some(pipeline) = &pipeline {
        crate::load::verify(pipeline.module.clone(), "the compiled program")?;
    }
    Ok((pipeline, warnings))
}

/// Parsers and controls of a program of any architecture as graphs, for [`crate::drawing::charts`].
///
/// # Errors
/// The file cannot be read, or the program is refused.
pub fn charts(path: &Path, folders: &[PathBuf], defines: &[(String, String)]) -> Result<Vec<Chart>, Error> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| Error::Io { name, error })?;
    let read = |path: &Path| std::fs::read_to_string(path).ok();
    p4::charts(path, &text, Reading { folders, defines, load: &read, marks: false, without: &[] }).map_err(Error::P4)
}

/// The P4 program that a program in BMv2's JSON is read as.
///
/// # Errors
/// The file cannot be read, or is no such program.
pub fn text(path: &Path) -> Result<String, Error> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| Error::Io { name, error })?;
    p4::text(path, &text).map_err(Error::P4)
}

/// What a controller that speaks P4Runtime needs to know of a program of any architecture.
///
/// # Errors
/// The file cannot be read, or the program is refused.
pub fn p4info(path: &Path, folders: &[PathBuf], defines: &[(String, String)]) -> Result<p4::p4info::Message, Error> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| Error::Io { name, error })?;
    let read = |path: &Path| std::fs::read_to_string(path).ok();
    p4::p4info(path, &text, Reading { folders, defines, load: &read, marks: false, without: &[] }).map_err(Error::P4)
}
