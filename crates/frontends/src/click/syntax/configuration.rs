//! Syntaxes of all that is left of an element's arguments: they write restricted C, and entries of
//! tables.

use super::{ArgumentError, Scope, bad_sources, list, pattern, place, rewrite, rewriters, routes, strings};
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

/// A way to write a list of arguments.
pub struct ConfigurationSyntax {
    /// Its name in `CONFIG`.
    pub name: &'static str,
    /// Each argument is a pattern.
    pub patterns: bool,
    write: fn(&Request<'_>) -> Result<Generated, Vec<ArgumentError>>,
}

/// All syntaxes of lists of arguments.
pub const CONFIGURATIONS: &[ConfigurationSyntax] = &[
    ConfigurationSyntax { name: "CLASSIFIER", patterns: true, write: pattern::classifier },
    ConfigurationSyntax { name: "IPCLASSIFIER", patterns: true, write: pattern::ip_classifier },
    ConfigurationSyntax { name: "IPFILTER", patterns: true, write: pattern::ip_filter },
    ConfigurationSyntax { name: "IP_ROUTES", patterns: false, write: routes::ip },
    ConfigurationSyntax { name: "IP6_ROUTES", patterns: false, write: routes::ip6 },
    ConfigurationSyntax { name: "RANGE_ROUTES", patterns: false, write: routes::range },
    ConfigurationSyntax { name: "ARP_ENTRIES", patterns: false, write: routes::arp },
    ConfigurationSyntax { name: "ND_ENTRIES", patterns: false, write: routes::neighbours },
    ConfigurationSyntax { name: "MAPPER", patterns: false, write: rewrite::write_mapper },
    ConfigurationSyntax { name: "REWRITE", patterns: false, write: rewrite::write },
    ConfigurationSyntax { name: "REWRITE_ADDRESSES", patterns: false, write: rewrite::write_addresses },
    ConfigurationSyntax { name: "REWRITE_PAIRS", patterns: false, write: rewrite::write_pairs },
    ConfigurationSyntax { name: "REWRITE_PINGS", patterns: false, write: rewrite::write_pings },
    ConfigurationSyntax { name: "REWRITERS", patterns: false, write: rewriters::write },
    ConfigurationSyntax { name: "STRINGS", patterns: false, write: strings::write },
    ConfigurationSyntax { name: "ADDRESS_PLACE", patterns: false, write: place::write },
    ConfigurationSyntax { name: "BAD_SOURCES", patterns: false, write: bad_sources::write },
    ConfigurationSyntax { name: "LIST", patterns: false, write: list::write },
    ConfigurationSyntax { name: "RISING", patterns: false, write: list::rising },
    ConfigurationSyntax { name: "RISING_BANDWIDTHS", patterns: false, write: list::rising_bandwidths },
];

impl ConfigurationSyntax {
    /// The one of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        CONFIGURATIONS.iter().find(|whole| whole.name == name)
    }

    /// Writes what arguments mean.
    ///
    /// # Errors
    /// All that is wrong with them.
    pub fn write(&self, request: &Request<'_>) -> Result<Generated, Vec<ArgumentError>> {
        (self.write)(request)
    }
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
