//! Where what programs print goes: standard error, or the file that an element's arguments name.

use super::{ElementError, Fault, Graph, Stream, confined};
use crate::io::claims::Claim;
use netil::app::Application;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// The files, by element.
#[derive(Default)]
pub(super) struct Files(BTreeMap<usize, Out>);

enum Out {
    /// Standard output.
    Console,
    File {
        name: String,
        file: BufWriter<File>,
        _claim: Claim,
        /// Nothing is written any more.
        fault: Option<String>,
    },
}

impl Files {
    /// Makes the files that an application's elements print into.
    pub(super) fn of(application: &Application, within: Option<&Path>, without: &BTreeSet<usize>) -> Result<Self, Vec<Fault>> {
        let (mut all, mut faults) = (BTreeMap::new(), Vec::new());
        for (instance, name) in application.files.iter().filter(|(instance, _)| !without.contains(&(*instance as usize))) {
            match Out::new(name, within) {
                Ok(out) => drop(all.insert(*instance as usize, out)),
                Err(error) => faults.push(Fault { instance: *instance as usize, error }),
            }
        }
        if faults.is_empty() { Ok(Self(all)) } else { Err(faults) }
    }

    /// The file of an element is another's, in another graph.
    pub(super) fn take(&mut self, instance: usize, other: &mut Self, of: usize) {
        if let Some(out) = other.0.remove(&of) {
            self.0.insert(instance, out);
        }
    }

    /// Completes them; what could not be written, by element.
    pub(super) fn finish(&mut self) -> Vec<Fault> {
        let fault = |(instance, out): (&usize, &mut Out)| Some(Fault { instance: *instance, error: ElementError::Resource(out.finish()?) });
        self.0.iter_mut().filter_map(fault).collect()
    }
}

impl Out {
    fn new(name: &str, within: Option<&Path>) -> Result<Self, ElementError> {
        if name == "-" {
            return Ok(Self::Console);
        }
        let failed = |error| format!("{name}: {error}");
        confined::writable(within, name.as_ref())?;
        let claim = Claim::to_write(name.as_ref()).map_err(failed)?;
        let file = File::create(name).map_err(failed)?;
        Ok(Self::File { name: name.to_owned(), file: BufWriter::new(file), _claim: claim, fault: None })
    }

    fn finish(&mut self) -> Option<String> {
        let Self::File { name, file, fault, .. } = self else { return None };
        fault.take().or_else(|| file.flush().err().map(|error| format!("{name}: {error}")))
    }
}

impl Graph {
    /// Writes what a program has printed.
    pub(super) fn print_of(&mut self, node: usize, text: &[u8]) {
        match self.outside.files.0.get_mut(&node) {
            _ if text.is_empty() => {}
            None => self.outside.host.write(Stream::Err, text),
            Some(Out::Console) => self.outside.host.write(Stream::Out, text),
            Some(Out::File { name, file, fault, .. }) if fault.is_none() => {
                *fault = file.write_all(text).err().map(|error| format!("{name}: {error}"));
            }
            Some(Out::File { .. }) => {}
        }
    }
}
