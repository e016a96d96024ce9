//! Text that somebody wrote as C: the only place where names, arguments and strings of a
//! configuration or a module become part of a text in C, whoever emits it. (eBPF objects are bytes;
//! text in them has a length.)
//!
//! Invariant: no text leaves its place. A comment is printable ASCII in which nothing opens or
//! closes a comment; a string is printable ASCII without quotes, backslashes and question marks,
//! which stand as octal escapes, so there are neither line splices nor trigraphs (C11, 5.1.1.2); a
//! name has letters, digits and underscores, and begins with its element's number.

use std::fmt::Write;

/// Characters of a text that a comment shows.
const SHOWN: usize = 200;

/// A comment that shows a text, as far as it is not too long.
pub fn comment(text: &str) -> String {
    let mut out = String::from("/* ");
    let mut before = ' ';
    for c in text.chars().take(SHOWN) {
        if matches!((before, c), ('*', '/') | ('/', '*')) {
            out.push(' ');
        }
        match c {
            ' '..='~' => out.push(c),
            c => out.extend(c.escape_default()),
        }
        before = c;
    }
    out + " */"
}

/// A C string of bytes: what could be read as something else is written in octal.
pub fn string(bytes: &[u8]) -> String {
    let mut text = String::from("\"");
    for byte in bytes {
        match byte {
            b'"' | b'\\' | b'?' | 0..=31 | 127.. => _ = write!(text, "\\{byte:03o}"),
            byte => text.push(char::from(*byte)),
        }
    }
    text + "\""
}

/// The C name of an element: its number and, to be read, what is left of its name.
pub fn identifier(element: usize, name: &str) -> String {
    let word: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    format!("e{element}_{word}")
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Ways out of a comment, of a string, and of a name.
    pub const HOSTILE: [&str; 17] = [
        "*/ int a; /*",
        "*\\\n/ int a; /*",
        "*\\\r\n/ int a; /*",
        "*??/\n/ int a; /*",
        "/*/ int a; /*/",
        "**//**/",
        "**// int a; /**//",
        "*",
        "/",
        "\\",
        "a\\",
        "\"; int a; \"",
        "\\\"; int a; //",
        "??/\"; int a; //",
        "a\nint a;\n",
        "\u{202e}*\u{2028}/\u{0}\u{7f}\u{fffd}é",
        "'\\''\t%s%n",
    ];

    /// What is left of C text without its comments and strings, as a compiler reads it: trigraphs,
    /// then splices, then both.
    pub fn skeleton(text: &str) -> String {
        let text = text.replace("??/", "\\").replace("\\\r\n", "").replace("\\\n", "");
        let (mut out, mut rest) = (String::new(), text.as_str());
        while let Some(c) = rest.chars().next() {
            let end = match c {
                '/' if rest.starts_with("/*") => rest[2..].find("*/").map(|at| at + 4),
                '"' => string_end(rest),
                c => {
                    out.push(c);
                    Some(c.len_utf8())
                }
            };
            rest = &rest[end.unwrap_or_else(|| panic!("not closed: {rest:?}"))..];
        }
        out
    }

    fn string_end(text: &str) -> Option<usize> {
        let mut escaped = true;
        let end = text.char_indices().find(|(_, c)| {
            let ends = matches!(c, '"' | '\n') && !escaped;
            escaped = *c == '\\' && !escaped;
            ends
        })?;
        (end.1 == '"').then_some(end.0 + 1)
    }

    #[test]
    fn the_reader_of_the_tests_sees_what_leaves() {
        assert_eq!(skeleton("/* a *\\\n/ int a; /* b */"), " int a; ");
        assert_eq!(skeleton("\"??/\" \" int a;"), " int a;");
    }

    #[test]
    fn no_text_leaves_its_comment_string_or_name() {
        for text in HOSTILE {
            assert_eq!(skeleton(&format!("a {} b", comment(text))), "a  b", "{text:?}");
            assert_eq!(skeleton(&format!("a {} b", string(text.as_bytes()))), "a  b", "{text:?}");
            assert!(comment(text).bytes().chain(string(text.as_bytes()).bytes()).all(|byte| (b' '..=b'~').contains(&byte)), "{text:?}");
            let name = identifier(3, text);
            assert!(name.starts_with("e3_") && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'), "{name}");
        }
    }

    #[test]
    fn comments_show_what_was_written() {
        assert_eq!(comment("p :: Print(\"a*b\", 5/2)"), "/* p :: Print(\"a*b\", 5/2) */");
        assert_eq!(comment("a*/\nb"), "/* a* /\\nb */");
    }
}
