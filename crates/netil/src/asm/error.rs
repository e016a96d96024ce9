//! What is wrong with source text, where, and what was probably meant.

use std::fmt;

/// The most errors that are kept of one source text.
pub const MAX_ERRORS: usize = 100;

/// The most names that are compared with one that is not known.
const CANDIDATES: usize = 4096;

/// Characters of a source line that an error keeps.
const WINDOW: usize = 160;

/// All that is wrong with a source text. Its [`Display`](fmt::Display) draws every place with a
/// caret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AsmErrors {
    /// The name of the source.
    pub file: String,
    /// The errors in the order of the source, at least one.
    pub errors: Vec<AsmError>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AsmError {
    /// Line, from 1.
    pub line: u32,
    /// First column, from 1, in characters.
    pub column: u32,
    /// Number of characters, at least 1.
    pub length: u32,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
    /// The line, or the part of a long line that is around the column.
    window: String,
    /// Characters of the window before the column.
    caret: usize,
}

impl AsmError {
    /// An error about bytes `start..end` of the source; `line_start` is where their line starts.
    pub(super) fn new(source: &str, line: u32, line_start: usize, (start, end): (usize, usize), message: String) -> Self {
        let rest = source.get(line_start..).unwrap_or("");
        let text = rest.split(['\n', '\r']).next().unwrap_or("");
        let column = source.get(line_start..start).map_or(0, |s| s.chars().count());
        let from = column.saturating_sub(WINDOW / 2);
        let span = source.get(start..end).unwrap_or("").split(['\n', '\r']).next().unwrap_or("");
        Self {
            line,
            column: column as u32 + 1,
            length: span.chars().count().max(1) as u32,
            message,
            help: None,
            window: text.chars().skip(from).take(WINDOW).collect(),
            caret: column - from,
        }
    }
}

impl fmt::Display for AsmErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, e) in self.errors.iter().enumerate() {
            let gap = if i > 0 { "\n" } else { "" };
            write!(f, "{gap}{}:{}:{}: {}", self.file, e.line, e.column, e)?;
        }
        Ok(())
    }
}

impl fmt::Display for AsmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.line.to_string();
        // Tabs stay tabs, so that the caret lands under its place whatever their width.
        let pad: String = self.window.chars().take(self.caret).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        let carets = "^".repeat((self.length as usize).min(WINDOW));
        writeln!(f, "{}", self.message)?;
        writeln!(f, " {number} | {}", self.window)?;
        writeln!(f, " {} | {pad}{carets}", " ".repeat(number.len()))?;
        match &self.help {
            Some(help) => writeln!(f, " {} = {help}", " ".repeat(number.len())),
            None => Ok(()),
        }
    }
}

impl std::error::Error for AsmErrors {}
impl std::error::Error for AsmError {}

/// The candidate that is most like the word, if one is near enough to be what was meant and there
/// are not too many.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let most = (word.chars().count() / 3).max(1);
    let begun = |c: &str| word.len() > 3 && c.starts_with(word);
    let near = |c: &'a str| Some((if begun(c) { 1 } else { distance(word, c)? }, c)).filter(|(d, _)| *d <= most && *d > 0);
    let all: Vec<&str> = candidates.into_iter().take(CANDIDATES + 1).collect();
    if all.len() > CANDIDATES {
        return None;
    }
    // A tie goes to a name with the same first letter, then to the smaller one: candidates may come
    // in any order.
    let other_start = |c: &str| c.chars().next() != word.chars().next();
    all.into_iter().filter_map(near).min_by_key(|(d, c)| (*d, other_start(c), *c)).map(|(_, c)| c)
}

/// Edits (insert, delete, replace, exchange two neighbours) between two words; `None` if either is
/// long.
fn distance(a: &str, b: &str) -> Option<usize> {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(40).collect(), b.chars().take(40).collect());
    if a.len() == 40 || b.len() == 40 || a.len().abs_diff(b.len()) > 4 {
        return None;
    }
    let mut rows = vec![(0..=b.len()).collect::<Vec<_>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replace = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replace.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows.last()?.last().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_misses() {
        let words = ["push", "pop", "jcmp.eq", "jcmp.neq", "pstore.8"];
        assert_eq!(nearest("pusj", words), Some("push"));
        assert_eq!(nearest("psuh", words), Some("push"));
        assert_eq!(nearest("jcmp.ne", words), Some("jcmp.neq"));
        assert_eq!(nearest("pstore8", words), Some("pstore.8"));
        assert_eq!(nearest("psto", words), Some("pstore.8"));
        assert_eq!(nearest("teleport", words), None);
    }

    #[test]
    fn long_lines_are_cut_around_the_place() {
        let line = format!("{}X{}", " ".repeat(1000), "y".repeat(1000));
        let e = AsmError::new(&line, 1, 0, (1000, 1001), "bad".into());
        assert_eq!((e.column, e.length), (1001, 1));
        assert_eq!(e.window.chars().count(), WINDOW);
        assert_eq!(e.window.chars().nth(e.caret), Some('X'));
    }
}
