//! What is told of reads, once for each place in the text.

use super::state::{Passed, Step};
use frontends::diagnostics::{Diagnostic, Span};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Conditions and actions of a way that are pointed at, at most.
const NOTES: usize = 4;

/// What is read.
pub(super) struct Header {
    pub id: u32,
    pub name: String,
    /// Parsers make it valid.
    pub parsed: bool,
}

struct Report {
    header: Header,
    always: bool,
    states: Vec<Rc<str>>,
    accepted: Option<Span>,
    /// Where it was made invalid.
    gone: Option<Span>,
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
    pub fn add(&mut self, span: Span, header: Header, always: bool, step: Option<&Rc<Step>>) {
        let (mut states, mut notes, mut left) = (Vec::new(), Vec::new(), step);
        let (mut accepted, mut gone) = (None, None);
        while let Some(step) = left {
            match &step.what {
                Passed::State(name) => states.push(name.clone()),
                Passed::Accepted(span) => accepted = accepted.or(Some(*span)),
                Passed::Gone(span, id) => gone = gone.or((*id == header.id).then_some(*span)),
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
        let report = Report { header, always, states, accepted, gone, notes };
        let known = self.all.entry((span.start, span.end)).or_insert(report);
        known.always &= always;
    }

    pub fn warnings(self) -> Vec<Diagnostic> {
        let fine = self.fine;
        let one = |((start, end), report): ((u32, u32), Report)| {
            let Report { header, always, states, accepted, gone, notes } = report;
            let message = match always && !fine.contains(&(start, end)) {
                true => format!("`{}` is never valid where it is read", header.name),
                false => format!("`{}` may be invalid where it is read", header.name),
            };
            let mut warning = Diagnostic::new(Span { start, end }, message);
            warning.notes = notes;
            if let Some(span) = gone {
                warning = warning.note(span, format!("`{}` is made invalid here", header.name));
            } else if let Some(span) = accepted.filter(|_| header.parsed) {
                warning = warning.note(span, format!("the parser ends here without `{}`", header.name));
            }
            match states.is_empty() {
                true => warning,
                false => warning.help(format!("a packet comes here by the parser states {}", states.join(", "))),
            }
        };
        self.all.into_iter().map(one).collect()
    }
}
