//! What is told of reads, once for each place in the text.

use super::state::{Passed, Step};
use frontends::diagnostics::{Diagnostic, Span};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Conditions and actions of a way that are pointed at, at most.
const NOTES: usize = 4;

struct Report {
    header: String,
    always: bool,
    states: Vec<Rc<str>>,
    accepted: Option<Span>,
    notes: Vec<(Span, String)>,
}

#[derive(Default)]
pub(super) struct Reports {
    all: BTreeMap<(u32, u32), Report>,
    /// Places where the header is valid sometimes.
    fine: std::collections::HashSet<(u32, u32)>,
}

impl Reports {
    /// The header was valid, at least for one use of this text.
    pub fn fine(&mut self, span: Span) {
        self.fine.insert((span.start, span.end));
    }

    /// A header is invalid on that way.
    pub fn add(&mut self, span: Span, header: String, always: bool, step: Option<&Rc<Step>>) {
        let (mut states, mut notes, mut accepted, mut left) = (Vec::new(), Vec::new(), None, step);
        while let Some(step) = left {
            match &step.what {
                Passed::State(name) => states.push(name.clone()),
                Passed::Accepted(span) => accepted = accepted.or(Some(*span)),
                Passed::Branch(span, true) => notes.push((*span, "this holds".to_owned())),
                Passed::Branch(span, false) => notes.push((*span, "this does not hold".to_owned())),
                // Other tables have run before.
                Passed::Action(span, name) if notes.is_empty() => notes.push((*span, format!("this table runs `{name}`"))),
                Passed::Action(..) => {}
            }
            left = step.before.as_ref();
        }
        notes.truncate(NOTES);
        states.reverse();
        let report = Report { header, always, states, accepted, notes };
        let known = self.all.entry((span.start, span.end)).or_insert(report);
        known.always &= always;
    }

    pub fn warnings(self) -> Vec<Diagnostic> {
        let fine = self.fine;
        let one = |((start, end), report): ((u32, u32), Report)| {
            let Report { header, always, states, accepted, notes } = report;
            let message = match always && !fine.contains(&(start, end)) {
                true => format!("`{header}` is never valid where it is read"),
                false => format!("`{header}` may be invalid where it is read"),
            };
            let mut warning = Diagnostic::new(Span { start, end }, message);
            warning.notes = notes;
            if let Some(span) = accepted {
                warning = warning.note(span, format!("the parser ends here without `{header}`"));
            }
            match states.is_empty() {
                true => warning,
                false => warning.help(format!("a packet comes here by the parser states {}", states.join(", "))),
            }
        };
        self.all.into_iter().map(one).collect()
    }
}
