//! What has happened to a packet that is followed: its passes through the halves of a program.

use p4::marks::MarkKind;
use std::collections::BTreeMap;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// What.
    pub kind: MarkKind,
    /// To what: a header, table, action, place, or the text of a condition or call.
    pub name: String,
    /// `file:line:column`.
    pub place: String,
    /// Names and values.
    pub values: Vec<(String, String)>,
    /// Of a place that was written to: names, and values before and after, of what changed.
    pub changes: Vec<(String, String, String)>,
    /// Of a table: what the entry that was found matches, by key; of an error its name.
    pub detail: String,
}

/// One run of a half of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pass {
    /// Which packet: its number, and for copies of it those behind: `7.1`.
    pub packet: String,
    /// What is run: `ingress`, `egress`, or `parser` where a clone is parsed.
    pub part: &'static str,
    /// Why it comes here: `arrived`, `unicast`, `clone`, and so on.
    pub cause: &'static str,
    /// By which port it came in, or is to leave.
    pub port: u32,
    /// What happened.
    pub events: Vec<Event>,
    /// What became of it.
    pub end: String,
}

/// What is being followed.
#[derive(Debug, Default)]
pub(super) struct Following {
    pub passes: Vec<Pass>,
    /// Copies of each packet, by its name.
    copies: BTreeMap<String, u32>,
}

impl Following {
    /// The name of a new copy.
    pub fn copy(&mut self, of: &str) -> String {
        let n = self.copies.entry(of.to_owned()).or_default();
        *n += 1;
        format!("{of}.{n}")
    }
}
