//! What is wrong with a source text of several lines or files, and where: drawn as rustc draws it,
//! by `annotate-snippets`.
//!
//! Invariant: rendering clamps spans to the source, so a wrong pairing of diagnostics and sources
//! draws a wrong place and never panics.

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A half-open range of byte offsets into one source text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset just past the last one.
    pub end: u32,
}

impl Span {
    /// From the beginning of `self` to the end of `last`.
    #[must_use]
    pub fn to(self, last: Self) -> Self {
        Self { start: self.start, end: last.end.max(self.start) }
    }

    /// The part of the source that it covers; empty if it lies outside.
    #[must_use]
    pub fn text(self, source: &str) -> &str {
        source.get(self.start as usize..self.end as usize).unwrap_or("")
    }

    /// The part that is drawn, on character boundaries of the source: not all of what lies in one
    /// very long line.
    fn clamped(self, source: &str) -> Range<usize> {
        let end = source.floor_char_boundary((self.end as usize).min(source.len()));
        let start = source.floor_char_boundary((self.start as usize).min(end));
        if far_in_one_line(source, start, end) { start..source.floor_char_boundary(start + FAR) } else { start..end }
    }

    /// Whether it is drawn beside another: not if a very long line would be drawn to show both.
    fn is_near(self, other: Self, source: &str) -> bool {
        let (a, b) = (self.clamped(source).start, other.clamped(source).start);
        !far_in_one_line(source, a.min(b), a.max(b))
    }
}

/// Bytes of one line that are drawn, at most.
const FAR: usize = 1000;

fn far_in_one_line(source: &str, start: usize, end: usize) -> bool {
    end - start > FAR && !source.as_bytes()[start..end].contains(&b'\n')
}

/// One fault: where, what, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The text at fault.
    pub span: Span,
    /// What is wrong, in lower case, without a full stop.
    pub message: String,
    /// Other places that matter, and why.
    pub notes: Vec<(Span, String)>,
    /// The remedy, if one is known.
    pub help: Option<String>,
    /// What kind of fault it is, if somebody decides by that.
    pub kind: Option<Box<Kind>>,
}

/// Kinds of faults that others than people read: the program `click` has words of its own for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An element does not take its arguments, or cannot be: the message says so behind its name.
    Element {
        /// Its name.
        name: String,
        /// Its class.
        class: String,
        /// What is wrong with it.
        what: String,
    },
    /// A connection has no element at an end.
    MissingElement,
    /// An element has the name of another one, which the first note shows.
    Redeclared(String),
    /// The sides of a connection do not go together.
    Connection,
    /// A port has a connection already, which the first note shows.
    PortReused,
    /// A port that an element must have has no connection.
    PortUnused {
        /// The element, as `name :: Class`.
        element: String,
        /// `input` or `output`.
        side: &'static str,
        /// Its number.
        port: u32,
    },
}

impl Diagnostic {
    /// A fault at that place.
    pub fn new(span: Span, message: impl Into<String>) -> Self {
        Self { span, message: message.into(), notes: Vec::new(), help: None, kind: None }
    }

    /// An element that is declared at that place does not take its arguments, or cannot be.
    pub fn of_element(span: Span, (name, class): (&str, &str), what: impl Into<String>) -> Self {
        let what = what.into();
        Self::new(span, format!("`{name} :: {class}`: {what}")).kind(Kind::Element { name: name.to_owned(), class: class.to_owned(), what })
    }

    /// Says what kind of fault it is.
    #[must_use]
    pub fn kind(mut self, kind: Kind) -> Self {
        self.kind = Some(Box::new(kind));
        self
    }

    /// Adds another place that matters.
    #[must_use]
    pub fn note(mut self, span: Span, why: impl Into<String>) -> Self {
        self.notes.push((span, why.into()));
        self
    }

    /// Says the remedy.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// All faults found in one source, in the order in which they were found; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostics(pub Vec<Diagnostic>);

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, fault) in self.0.iter().enumerate() {
            let separator = if i == 0 { "" } else { "; " };
            write!(f, "{separator}{} (at byte {})", fault.message, fault.span.start)?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}

impl Diagnostics {
    /// Draws every fault: message, file and line, source with carets, notes, remedy. `color` adds
    /// ANSI colours and changes nothing else.
    #[must_use]
    pub fn render(&self, name: &str, source: &str, color: bool) -> String {
        drawn(&self.0, color, "error", |_| source.len(), |fault| report(fault, name, source))
    }
}

/// Faults that are drawn, at most; the others are counted.
const DRAWN: usize = 100;
/// Bytes of sources that are read to draw faults: each fault's source is read as a whole. The first
/// fault is drawn in any case.
const READ: usize = 8 << 20;

/// Draws the first faults and counts those left out. `size` is that of a fault's source in bytes.
fn drawn<'a>(
    faults: &'a [Diagnostic],
    color: bool,
    kind: &str,
    size: impl Fn(&Diagnostic) -> usize,
    report: impl Fn(&'a Diagnostic) -> annotate_snippets::Group<'a>,
) -> String {
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let (mut text, mut read) = (String::new(), 0);
    for (n, fault) in faults.iter().enumerate() {
        read += size(fault);
        if n == DRAWN || n > 0 && read > READ {
            let what = if kind == "error" { "faults" } else { "warnings" };
            text += &format!("{kind}: {} more {what} are not shown\n", faults.len() - n);
            break;
        }
        text += &renderer.render(&[report(fault)]);
        text.push('\n');
    }
    text
}

/// Texts that belong together, such as a file and what it includes. Spans count through all of
/// them: each text begins one byte after the end of the one before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources(Vec<Text>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Text {
    name: String,
    text: String,
    start: u32,
    /// Where its lines end.
    ends: Vec<u32>,
    /// Of a text that was made of others: from which byte on it comes from where.
    origins: Vec<(u32, Option<Arc<Origin>>)>,
}

/// Where a part of a text comes from that was made of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The other file.
    pub file: String,
    /// The line there, from 1.
    pub line: u32,
    /// The column there, from 1.
    pub column: u32,
}

impl Sources {
    /// One text.
    #[must_use]
    pub fn of(name: impl Into<String>, text: impl Into<String>) -> Self {
        let mut one = Self::default();
        one.add(name, text);
        one
    }

    /// Adds all of others; gives the offset of the first byte of these.
    pub fn append(&mut self, others: &Self) -> u32 {
        let start = self.end();
        for text in &others.0 {
            self.add(text.name.clone(), text.text.clone());
            self.made_of(text.origins.clone());
        }
        start
    }

    /// All texts in a row, a line feed between them, so that spans are places in it.
    #[must_use]
    pub fn whole(&self) -> String {
        self.0.iter().map(|text| text.text.as_str()).collect::<Vec<_>>().join("\n")
    }

    /// Name of the text that was added last.
    #[must_use]
    pub fn last_name(&self) -> &str {
        self.0.last().map_or("", |text| &text.name)
    }

    /// Adds a text and gives the offset of its first byte.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> u32 {
        let (start, text) = (self.end(), text.into());
        let ends = text.bytes().zip(0..).filter(|(byte, _)| *byte == b'\n').map(|(_, at)| at).collect();
        self.0.push(Text { name: name.into(), text, start, ends, origins: Vec::new() });
        start
    }

    /// Says where the parts of the text that was added last come from: from which byte on from
    /// where, in the order of bytes. [`Self::place`] tells that.
    pub fn made_of(&mut self, origins: Vec<(u32, Option<Arc<Origin>>)>) {
        if let Some(last) = self.0.last_mut() {
            last.origins = origins;
        }
    }

    /// Where the next text would begin.
    #[must_use]
    pub fn end(&self) -> u32 {
        self.0.last().map_or(0, |last| last.start.saturating_add(last.text.len() as u32 + 1))
    }

    /// Number of the text that holds an offset.
    #[must_use]
    pub fn file(&self, at: u32) -> usize {
        self.0.partition_point(|file| file.start <= at).saturating_sub(1)
    }

    /// Name of the text that holds an offset, and the line there, from 1.
    #[must_use]
    pub fn line(&self, at: u32) -> (&str, u32) {
        let Some(file) = self.0.get(self.file(at)) else { return ("", 0) };
        (&file.name, 1 + file.ends.partition_point(|end| *end < at - file.start) as u32)
    }

    /// Name and line of an offset as the text itself says them where a preprocessor has made it: by
    /// markers, `# 12 "name"` or `#line 12 "name"`, each of which tells of the line behind it.
    #[must_use]
    pub fn marked_line(&self, at: u32) -> (&str, u32) {
        let (name, line) = self.line(at);
        let Some(file) = self.0.get(self.file(at)) else { return (name, line) };
        let before = file.text.get(..(at - file.start) as usize).unwrap_or_default();
        let marker = before.lines().enumerate().filter_map(|(n, text)| Some((n as u32 + 1, marker(text)?))).last();
        marker.map_or((name, line), |(there, (says, of))| (of, says.saturating_add(line - there - 1)))
    }

    /// Name of the text that holds an offset, the line there, and the column, counted in
    /// characters; both from 1.
    #[must_use]
    pub fn place(&self, at: u32) -> (&str, u32, u32) {
        let (name, line) = self.line(at);
        let Some(file) = self.0.get(self.file(at)) else { return (name, line, 0) };
        let known = file.origins.partition_point(|(from, _)| *from <= at - file.start);
        if let Some(origin) = known.checked_sub(1).and_then(|n| file.origins[n].1.as_ref()) {
            return (&origin.file, origin.line, origin.column);
        }
        let start = line.checked_sub(2).and_then(|n| file.ends.get(n as usize)).map_or(0, |end| end + 1);
        let before = file.text.get(start as usize..(at - file.start) as usize).unwrap_or("");
        (name, line, before.chars().count() as u32 + 1)
    }

    /// What a span covers.
    #[must_use]
    pub fn text(&self, span: Span) -> &str {
        self.0.get(self.file(span.start)).map_or("", |file| file.local(span).text(&file.text))
    }

    /// Draws faults whose places may lie in several of the texts.
    #[must_use]
    pub fn render(&self, faults: &[Diagnostic], color: bool) -> String {
        let size = |fault: &Diagnostic| self.0.get(self.file(fault.span.start)).map_or(0, |file| file.text.len());
        drawn(faults, color, "error", size, |fault| self.report(fault, Level::ERROR))
    }

    /// Draws what is no fault, but worth a look.
    #[must_use]
    pub fn render_warnings(&self, warnings: &[Diagnostic], color: bool) -> String {
        let size = |warning: &Diagnostic| self.0.get(self.file(warning.span.start)).map_or(0, |file| file.text.len());
        drawn(warnings, color, "warning", size, |warning| self.report(warning, Level::WARNING))
    }

    fn report<'a>(&'a self, fault: &'a Diagnostic, level: Level<'a>) -> annotate_snippets::Group<'a> {
        let first = self.file(fault.span.start);
        let mut files = vec![first];
        files.extend(fault.notes.iter().map(|(span, _)| self.file(span.start)).filter(|file| *file != first));
        files.dedup();
        let none: [annotate_snippets::Element<'_>; 0] = [];
        let mut group = level.primary_title(fault.message.as_str()).elements(none);
        for (n, file) in files.iter().enumerate() {
            if let Some(text) = self.0.get(*file).filter(|_| !files[..n].contains(file)) {
                group = group.element(self.snippet(text, *file, fault));
            }
        }
        match &fault.help {
            Some(help) => group.element(Level::HELP.message(help.as_str())),
            None => group,
        }
    }

    /// What a fault says of one of the texts.
    fn snippet<'a>(&'a self, file: &'a Text, number: usize, fault: &'a Diagnostic) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
        let here = |span: Span| self.file(span.start) == number;
        let range = |span: Span| file.local(span).clamped(&file.text);
        let primary = here(fault.span).then(|| AnnotationKind::Primary.span(range(fault.span)));
        let near = |span: Span| !here(fault.span) || file.local(span).is_near(file.local(fault.span), &file.text);
        let notes = fault.notes.iter().filter(|(span, _)| here(*span) && near(*span));
        let notes = notes.map(|(span, why)| AnnotationKind::Context.span(range(*span)).label(why.as_str()));
        Snippet::source(file.text.as_str()).path(file.name.as_str()).annotations(primary).annotations(notes)
    }
}

impl Text {
    fn local(&self, span: Span) -> Span {
        Span { start: span.start.saturating_sub(self.start), end: span.end.saturating_sub(self.start) }
    }
}

fn report<'a>(fault: &'a Diagnostic, name: &'a str, source: &'a str) -> annotate_snippets::Group<'a> {
    let note = |(span, why): &'a (Span, String)| AnnotationKind::Context.span(span.clamped(source)).label(why.as_str());
    let snippet = Snippet::source(source)
        .path(name)
        .annotation(AnnotationKind::Primary.span(fault.span.clamped(source)))
        .annotations(fault.notes.iter().filter(|(span, _)| span.is_near(fault.span, source)).map(note));
    let group = Level::ERROR.primary_title(fault.message.as_str()).element(snippet);
    match &fault.help {
        Some(help) => group.element(Level::HELP.message(help.as_str())),
        None => group,
    }
}

/// What a line marker says: the number of the line behind it, and of which text.
fn marker(line: &str) -> Option<(u32, &str)> {
    let rest = line.strip_prefix('#')?.trim_start();
    let (number, rest) = rest.strip_prefix("line").unwrap_or(rest).trim_start().split_once(' ')?;
    let (name, _) = rest.trim_start().strip_prefix('"')?.split_once('"')?;
    Some((number.parse().ok()?, name))
}

#[cfg(test)]
mod tests {
    #[test]
    fn markers_of_a_preprocessor_say_where_lines_are_from() {
        let text = "# 1 \"A\"\none\n# 1 \"B\" 1\ntwo\nthree\n#line 3 \"A\"\nfour\n# not one\nfive\n";
        let sources = super::Sources::of("x", text);
        let places = ["one", "two", "three", "four", "five"].map(|word| sources.marked_line(text.find(word).unwrap() as u32));
        assert_eq!(places, [("A", 1), ("B", 1), ("B", 2), ("A", 3), ("A", 5)]);
        assert_eq!(super::Sources::of("x", "one\ntwo").marked_line(5), ("x", 2));
    }

    use super::*;

    #[test]
    fn places_are_drawn_and_wrong_ones_do_no_harm() {
        let fault = Diagnostic::new(Span { start: 5, end: 8 }, "no such element `baz`")
            .note(Span { start: 0, end: 1 }, "from here")
            .help("say `bar`");
        let drawn = Diagnostics(vec![fault]).render("a.click", "a -> baz", false);
        assert!(drawn.starts_with("error: no such element `baz`\n"), "{drawn}");
        assert!(
            drawn.contains("a.click:1:6") && drawn.contains("^^^") && drawn.contains("from here") && drawn.contains("help: say `bar`"),
            "{drawn}"
        );
        let many = Diagnostics(vec![Diagnostic::new(Span::default(), "x"); 1000]).render("b", "a", false);
        assert!(many.matches("error: x").count() == DRAWN && many.ends_with("error: 900 more faults are not shown\n"), "{many}");
        let long = format!("{}{}", "( ".repeat(10_000), "a\n");
        let far = Diagnostic::new(Span { start: 20_000, end: 20_001 }, "x").note(Span { start: 0, end: 20_000 }, "far");
        assert!(Diagnostics(vec![far.clone()]).render("b", &long, false).len() < 2000);
        assert!(Sources::of("b", long).render(&[far], false).len() < 2000);
        let wild = Diagnostic::new(Span { start: 7, end: 900 }, "far");
        assert!(Diagnostics(vec![wild]).render("b", "ä", false).contains("far"));
    }
}
