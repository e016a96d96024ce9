//! What syntaxes of lists of arguments are asked to write, and what they wrote.

use super::{ArgumentError, Scope};
use crate::c::Value;
use crate::click::argument_type::Type;
use crate::click::config::unquote;
use netil::module::Entry;
use std::collections::BTreeMap;

/// What is to be written.
pub struct Request<'a> {
    /// The name that the class gives it.
    pub name: &'a str,
    /// The arguments, quotes and all.
    pub arguments: &'a [String],
    /// The names that are known at this element.
    pub names: Scope<'a>,
    /// How many outputs it has.
    pub outputs: u32,
    /// How many inputs.
    pub inputs: u32,
    /// The type of a list's values.
    pub ty: Option<&'a Type>,
}

/// What was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Generated {
    /// C text: functions, constants and data with names that begin with the job's.
    pub source: String,
    /// Rows of the table that has the job's name.
    pub rows: Vec<Row>,
    /// Entries of tables that the text itself declares, by name.
    pub entries: BTreeMap<String, Vec<Entry>>,
}

/// An entry of a table, in the order of bytes in C.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The key's bytes.
    pub key: Vec<u8>,
    /// The mask's, or those of a range's end.
    pub mask: Vec<u8>,
    /// The priority in a table of ranges.
    pub priority: u32,
    /// What the value's members are; the empty name is the value itself.
    pub values: Vec<(&'static str, Value)>,
}

impl Generated {
    pub(super) fn source(source: String) -> Self {
        Self { source, ..Self::default() }
    }
}

impl Request<'_> {
    /// As many arguments as outputs, or a fault.
    pub(super) fn one_for_each_output(&self) -> Result<(), Vec<ArgumentError>> {
        let (given, wanted) = (self.arguments.len(), self.outputs as usize);
        if given == wanted {
            Ok(())
        } else {
            Err(vec![ArgumentError::new(format!("{given} patterns for {wanted} outputs: each output needs one"))])
        }
    }

    /// Reads each argument; faults name it.
    pub(super) fn each<T>(&self, mut read: impl FnMut(usize, &str) -> Result<T, ArgumentError>) -> Result<Vec<T>, Vec<ArgumentError>> {
        let (mut all, mut faults) = (Vec::with_capacity(self.arguments.len()), Vec::new());
        for (n, argument) in self.arguments.iter().enumerate() {
            match read(n, argument) {
                Ok(one) => all.push(one),
                Err(wrong) => faults.push(wrong.of(argument)),
            }
        }
        if faults.is_empty() { Ok(all) } else { Err(faults) }
    }

    /// The words of an argument, quotes taken away.
    pub(super) fn words(argument: &str) -> Vec<String> {
        String::from_utf8_lossy(&unquote(argument)).split_ascii_whitespace().map(str::to_owned).collect()
    }
}
