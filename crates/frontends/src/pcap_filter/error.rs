//! What is wrong with a filter, and where: messages with byte spans, drawn under the source line
//! with a caret.
//!
//! Invariant: a span lies inside the source it was made from, on character boundaries; rendering
//! clamps anything else, so a wrong pairing of errors and source draws a wrong place and never
//! panics.

use std::fmt::{self, Write};

pub use crate::diagnostics::Span;

/// What is at fault, for who acts on it: messages are for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ErrorKind {
    /// What only the message tells.
    #[default]
    Other,
    /// A term that no packet fulfils.
    NeverHolds,
    /// Something stands where terms are joined, or the filter ends.
    NotJoined,
    /// A word that the language does not have there.
    UnknownWord,
}

/// One fault of a filter: where, what, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// The text at fault.
    pub span: Span,
    /// Of which kind.
    pub kind: ErrorKind,
    /// What is wrong, in lower case, without a full stop.
    pub message: String,
    /// The remedy, if one is known.
    pub help: Option<String>,
}

impl Error {
    pub(crate) fn new(span: Span, message: impl Into<String>) -> Error {
        Error { span, kind: ErrorKind::Other, message: message.into(), help: None }
    }

    pub(crate) fn kind(mut self, kind: ErrorKind) -> Error {
        self.kind = kind;
        self
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Error {
        self.help = Some(help.into());
        self
    }
}

/// All faults found in one filter, in source order; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Errors(pub Vec<Error>);

impl From<Error> for Errors {
    fn from(error: Error) -> Errors {
        Errors(vec![error])
    }
}

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.0.iter().enumerate() {
            let separator = if i == 0 { "" } else { "; " };
            write!(f, "{separator}{} (at byte {})", error.message, error.span.start)?;
        }
        Ok(())
    }
}

impl std::error::Error for Errors {}

impl Errors {
    /// Draws every error: message, source line, caret and remedy. `color` adds ANSI colours and
    /// changes nothing else.
    ///
    /// `source` is the text that was compiled.
    #[must_use]
    pub fn render(&self, source: &str, color: bool) -> String {
        let paint = Paint { color };
        let mut out = String::new();
        for error in &self.0 {
            render_one(&mut out, error, source, paint);
        }
        out
    }
}

/// Draws warnings as errors are drawn.
///
/// `source` is the text that was compiled.
#[must_use]
pub fn render_warnings(warnings: &[Error], source: &str, color: bool) -> String {
    let mut out = String::new();
    for warning in warnings {
        render_labelled(&mut out, (YELLOW, "warning"), warning, source, Paint { color });
    }
    out
}

#[derive(Clone, Copy)]
struct Paint {
    color: bool,
}

impl Paint {
    fn put(self, out: &mut String, code: &str, text: &str) {
        if self.color {
            let _ = write!(out, "\x1b[{code}m{text}\x1b[0m");
        } else {
            out.push_str(text);
        }
    }
}

const RED: &str = "1;31";
const YELLOW: &str = "1;33";
const BLUE: &str = "1;34";
const GREEN: &str = "1;32";

fn render_one(out: &mut String, error: &Error, source: &str, paint: Paint) {
    render_labelled(out, (RED, "error"), error, source, paint);
}

fn render_labelled(out: &mut String, (colour, label): (&str, &str), error: &Error, source: &str, paint: Paint) {
    let line = Line::holding(source, error.span);
    paint.put(out, colour, label);
    let _ = writeln!(out, ": {}", error.message);
    let number = line.number.to_string();
    let margin = " ".repeat(number.len());
    paint.put(out, BLUE, &format!("{number} |"));
    let _ = writeln!(out, " {}", line.text);
    paint.put(out, BLUE, &format!("{margin} |"));
    let _ = write!(out, " {}", " ".repeat(line.column));
    paint.put(out, colour, &"^".repeat(line.width));
    out.push('\n');
    if let Some(help) = &error.help {
        paint.put(out, GREEN, "help");
        let _ = writeln!(out, ": {help}");
    }
}

/// The visible part of the source line that holds a span; long lines are cut to a window around it.
struct Line {
    number: usize,
    text: String,
    column: usize,
    width: usize,
}

/// Characters shown of a line, and of them before the caret, when the line is cut.
const WINDOW: usize = 100;
const LEAD: usize = 40;

impl Line {
    fn holding(source: &str, span: Span) -> Line {
        let at = floor_boundary(source, span.start as usize);
        let before = &source[..at];
        let begin = before.rfind('\n').map_or(0, |i| i + 1);
        let end = source[at..].find('\n').map_or(source.len(), |i| at + i);
        let stop = floor_boundary(source, span.end as usize).clamp(at, end);
        let column = source[begin..at].chars().count();
        let width = source[at..stop].chars().count().max(1);
        Line::windowed(before.matches('\n').count() + 1, &source[begin..end], column, width)
    }

    fn windowed(number: usize, line: &str, column: usize, width: usize) -> Line {
        let skip = if column > WINDOW - LEAD { column - LEAD } else { 0 };
        let mut chars = line.chars().map(printable).skip(skip);
        let mut text: String = chars.by_ref().take(WINDOW).collect();
        if chars.next().is_some() {
            text.push('…');
        }
        if skip > 0 {
            text.insert(0, '…');
        }
        let column = column - skip + usize::from(skip > 0);
        Line { number, text, column, width: width.min(WINDOW) }
    }
}

/// A control character would move the caret away from its place.
fn printable(c: char) -> char {
    if c.is_control() { ' ' } else { c }
}

fn floor_boundary(source: &str, at: usize) -> usize {
    let mut at = at.min(source.len());
    while !source.is_char_boundary(at) {
        at -= 1;
    }
    at
}
