//! `$x`, `${x}`, `$(handler arguments)`, and `$$`, the process, in a script's text.
//!
//! Single quotes keep text as it is; what is put in between double quotes is escaped, so that it
//! stays there. A name that nothing is called stays as it stands.

use super::super::builtin::Ctx;
use super::super::text;
use super::Script;

/// How deep `$(…)` may nest.
const DEEPEST: u32 = 32;
/// The longest text that may come of an instruction, in bytes.
pub(super) const LONGEST: usize = 1 << 20;

impl Script {
    /// A text with everything put in, and a layer of quotes taken off or not.
    pub(super) fn expanded(&mut self, text: &str, unquoted: bool, ctx: &mut Ctx<'_>) -> String {
        let full = self.bounded(text, false, ctx);
        if unquoted { text::unquoted(&full) } else { full }
    }

    /// A text with everything put in as it is, quotes in it too, and then a layer of quotes taken
    /// off.
    pub(super) fn literal(&mut self, text: &str, ctx: &mut Ctx<'_>) -> String {
        text::unquoted(&self.bounded(text, true, ctx))
    }

    /// A text with everything put in; nothing if that is too long.
    fn bounded(&mut self, text: &str, quotes: bool, ctx: &mut Ctx<'_>) -> String {
        let mut full = self.expand(text, quotes, 0, ctx);
        if full.len() > LONGEST {
            self.complain(&format!("a text of more than {LONGEST} bytes is left out"), ctx);
            full.clear();
        }
        full
    }

    /// `quotes`: what is put in outside of quotes gets some, so that it stays as it is when a layer
    /// is taken off.
    fn expand(&mut self, text: &str, quotes: bool, depth: u32, ctx: &mut Ctx<'_>) -> String {
        let mut out = String::with_capacity(text.len());
        let mut quote = None;
        let mut rest = text;
        while let Some(c) = rest.chars().next().filter(|_| out.len() <= LONGEST) {
            let mut length = c.len_utf8();
            match (c, quote) {
                ('\\', None | Some('"')) => {
                    length += rest[1..].chars().next().map_or(0, char::len_utf8);
                    out.push_str(&rest[..length]);
                }
                ('$', None | Some('"')) if depth < DEEPEST => match self.reference(rest, depth, ctx) {
                    Some((value, taken)) => {
                        length = taken;
                        let mark = if quotes && quote.is_none() { "\"" } else { "" };
                        out.push_str(mark);
                        put(&mut out, &value, quotes || quote.is_some());
                        out.push_str(mark);
                    }
                    None => out.push('$'),
                },
                (c, _) => {
                    quote = match quote {
                        None if c == '"' || c == '\'' => Some(c),
                        Some(open) if open == c => None,
                        same => same,
                    };
                    out.push(c);
                }
            }
            rest = &rest[length..];
        }
        out
    }

    /// The value of the reference that a text begins with, and its length.
    fn reference(&mut self, text: &str, depth: u32, ctx: &mut Ctx<'_>) -> Option<(String, usize)> {
        let rest = &text[1..];
        match rest.chars().next()? {
            '(' => {
                let end = closing(rest)?;
                let inner = self.expand(&rest[1..end], false, depth + 1, ctx);
                let (name, arguments) = text::shift_word(&inner);
                let value = self.read_handler(name, arguments, ctx).unwrap_or_else(|error| {
                    self.complain(error.text(), ctx);
                    String::new()
                });
                Some((value, end + 2))
            }
            '{' => {
                let end = rest.find('}')?;
                Some((self.variable(&rest[1..end])?, end + 2))
            }
            '?' => Some((self.status.to_string(), 2)),
            '$' => Some((std::process::id().to_string(), 2)),
            '#' => Some((self.variable("#")?, 2)),
            _ => {
                let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
                Some((self.variable(rest.get(..end).filter(|name| !name.is_empty())?)?, end + 1))
            }
        }
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.get(name).map(str::to_owned)
    }
}

/// Where the parenthesis closes that a text begins with.
fn closing(text: &str) -> Option<usize> {
    let (mut depth, mut quote, mut escaped) = (0, None, false);
    for (at, c) in text.char_indices() {
        match (c, quote) {
            _ if escaped => escaped = false,
            ('\\', None | Some('"')) => escaped = true,
            ('"' | '\'', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            ('(', None) => depth += 1,
            (')', None) if depth == 1 => return Some(at),
            (')', None) => depth -= 1,
            _ => {}
        }
    }
    None
}

fn put(out: &mut String, value: &str, quoted: bool) {
    for c in value.chars() {
        if quoted && matches!(c, '"' | '\\' | '$') {
            out.push('\\');
        }
        out.push(c);
    }
}
