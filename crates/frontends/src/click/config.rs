//! Configuration strings: arguments, quotes, parameters.
//!
//! Source: click(5), "Configuration strings" and "Configuration parameters".

use super::token::{comment, piece};

/// Values are put into a text until it is longer than this.
pub(super) const LONGEST: usize = 64 << 20;

/// The arguments of a configuration string: split at commas, without comments and the space around
/// them, quotes left as they are. An empty last one does not count.
pub fn arguments(text: &str) -> Vec<String> {
    let (mut all, mut one, mut at) = (Vec::new(), String::new(), 0);
    while at < text.len() {
        let rest = &text[at..];
        let step = piece(rest);
        match rest.as_bytes()[0] {
            b',' => all.push(std::mem::take(&mut one).trim().to_owned()),
            b'/' if comment(rest) > 0 => one.push(' '),
            _ => one.push_str(&rest[..step]),
        }
        at += step;
    }
    if !one.trim().is_empty() {
        all.push(one.trim().to_owned());
    }
    all
}

/// The first word of an argument, and what follows it.
pub fn first_word(argument: &str) -> (&str, &str) {
    let end = argument.find(|c: char| c.is_ascii_whitespace()).unwrap_or(argument.len());
    (&argument[..end], argument[end..].trim_start())
}

/// The keyword of an argument that may have one, and what stands behind it.
pub(super) fn keyword(argument: &str) -> Option<(&str, &str)> {
    let first = argument.bytes().next().filter(|b| b.is_ascii_alphabetic() || *b == b'_')?;
    let inner = |b: u8| b.is_ascii_alphanumeric() || b"_:.?!".contains(&b);
    let end = argument.bytes().position(|b| !inner(b))?;
    let text = argument[end..].trim_start();
    let spaced = argument.as_bytes()[end].is_ascii_whitespace();
    (first != 0 && spaced && !text.is_empty()).then(|| (&argument[..end], text))
}

/// The bytes that an argument means: quotes taken away, and backslashes in double quotes read.
pub fn unquote(argument: &str) -> Vec<u8> {
    let (mut out, mut at) = (Vec::new(), 0);
    while at < argument.len() {
        let rest = &argument[at..];
        let whole = &rest[..piece(rest)];
        at += whole.len();
        match whole.as_bytes() {
            [b'\'', inner @ .., b'\''] => out.extend(inner),
            [b'"', inner @ .., b'"'] => escapes(inner, &mut out),
            [b'\\', b'<', ..] => escapes(whole.as_bytes(), &mut out),
            other => out.extend(other),
        }
    }
    out
}

/// Reads what backslashes say.
fn escapes(mut text: &[u8], out: &mut Vec<u8>) {
    while let Some((&first, rest)) = text.split_first() {
        text = rest;
        if first != b'\\' {
            out.push(first);
            continue;
        }
        let used = escape(rest, out);
        text = rest.get(used..).unwrap_or_default();
    }
}

/// What follows a backslash; gives how much of it was read.
fn escape(text: &[u8], out: &mut Vec<u8>) -> usize {
    let Some(&first) = text.first() else { return 0 };
    let hex = |from: usize| text[from..].iter().take_while(|b| b.is_ascii_hexdigit()).count();
    match first {
        b'0'..=b'7' => {
            let digits = text.iter().take(3).take_while(|b| (b'0'..=b'7').contains(b)).count();
            out.push(text[..digits].iter().fold(0u8, |value, digit| value.wrapping_mul(8).wrapping_add(digit - b'0')));
            digits
        }
        b'x' if hex(1) > 0 => {
            out.push(text[1..=hex(1)].iter().fold(0u8, |value, digit| value.wrapping_mul(16).wrapping_add(nibble(*digit))));
            1 + hex(1)
        }
        b'<' => data(text, out),
        b'\r' if text.get(1) == Some(&b'\n') => 2,
        b'\n' | b'\r' => 1,
        other => {
            let named = b"abtnvfr".iter().position(|name| *name == other);
            out.push(named.map_or(other, |at| b"\x07\x08\t\n\x0b\x0c\r"[at]));
            1
        }
    }
}

/// `<48 65>`: bytes in hexadecimal.
fn data(text: &[u8], out: &mut Vec<u8>) -> usize {
    let end = text.iter().position(|b| *b == b'>').unwrap_or(text.len());
    let digits: Vec<u8> = text[..end].iter().filter(|b| b.is_ascii_hexdigit()).map(|b| nibble(*b)).collect();
    out.extend(digits.chunks(2).map(|pair| pair.iter().fold(0, |value, digit| value << 4 | digit)));
    (end + 1).min(text.len())
}

fn nibble(digit: u8) -> u8 {
    (digit as char).to_digit(16).unwrap_or(0) as u8
}

/// Puts the values of parameters in their place: `$a`, `${a}`, `${a-default}`, `${a[2]}`. Those
/// without a value stay, and so does what is in single quotes.
pub(super) fn substitute(text: &str, value: &dyn Fn(&str) -> Option<String>) -> String {
    let (mut out, mut at, mut quoted) = (String::new(), 0, false);
    while at < text.len() && out.len() <= LONGEST {
        let rest = &text[at..];
        let step = match rest.as_bytes()[0] {
            b'$' => parameter(rest, value, quoted, &mut out),
            b'"' => {
                quoted = !quoted;
                copy(rest, 1, &mut out)
            }
            b'\\' => copy(rest, piece(rest), &mut out),
            b'\'' | b'/' if !quoted => copy(rest, piece(rest), &mut out),
            _ => copy(rest, rest.chars().next().map_or(1, char::len_utf8), &mut out),
        };
        at += step;
    }
    out
}

fn copy(text: &str, bytes: usize, out: &mut String) -> usize {
    out.push_str(&text[..bytes]);
    bytes
}

/// A parameter's value, or the text as it is; gives how much of it was read.
fn parameter(text: &str, value: &dyn Fn(&str) -> Option<String>, quoted: bool, out: &mut String) -> usize {
    let name_of = |text: &str| text.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
    let (used, found) = if text[1..].starts_with('{') {
        let inside = braced(&text[2..]);
        (inside + 3, in_braces(&text[2..2 + inside], value))
    } else {
        let name = name_of(&text[1..]);
        (name + 1, value(&text[1..=name]).filter(|_| name > 0))
    };
    let used = used.min(text.len());
    match found {
        Some(value) if quoted => value.chars().for_each(|c| {
            out.extend(matches!(c, '"' | '\\').then_some('\\'));
            out.push(c);
        }),
        Some(value) => out.push_str(&value),
        None => out.push_str(&text[..used]),
    }
    used
}

/// Bytes up to the brace that closes.
fn braced(text: &str) -> usize {
    let mut depth = 0usize;
    for (at, b) in text.bytes().enumerate() {
        match b {
            b'{' => depth += 1,
            b'}' if depth == 0 => return at,
            b'}' => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

/// `name`, `name-default` or `name[index]`.
fn in_braces(text: &str, value: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let name = text.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
    let (name, rest) = text.split_at(name);
    if let Some(default) = rest.strip_prefix('-') {
        return Some(value(name).unwrap_or_else(|| substitute(default, value)));
    }
    if let Some(index) = rest.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        let index: usize = substitute(index, value).trim().parse().ok()?;
        return Some(value(name)?.split_ascii_whitespace().nth(index).unwrap_or_default().to_owned());
    }
    value(name).filter(|_| rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_split_at_commas_that_stand_free() {
        assert_eq!(arguments(" a b , 'x,y' ,\"p,\\\",q\" /* c, */ r, // last, \n"), ["a b", "'x,y'", "\"p,\\\",q\"   r"]);
        assert_eq!(arguments("\\<00 2c>, 1"), ["\\<00 2c>", "1"]);
        assert_eq!((arguments(""), arguments(" , ")), (vec![], vec![String::new()]));
        assert_eq!(arguments("ä, ö"), ["ä", "ö"]);
    }

    #[test]
    fn quotes_and_backslashes_mean_what_the_manual_says() {
        let of = |text: &str| String::from_utf8_lossy(&unquote(text)).into_owned();
        assert_eq!(of("a\"b c\"'d\\n'"), "ab cd\\n");
        assert_eq!(of("\"\\a\\x4142\\101\\n\\\\\\q\\\n.\""), "\x07BA\n\\q.");
        assert_eq!(of("\\<48 45 4c 4C 4f>!"), "HELLO!");
        assert_eq!(unquote("\"\\<00 f>\""), [0, 15]);
        assert_eq!(of("\"open"), "\"open");
    }

    #[test]
    fn parameters_have_values_defaults_and_words() {
        let value = |name: &str| match name {
            "a" => Some("A B C".to_owned()),
            "n" => Some("2".to_owned()),
            "q" => Some("say \"x\"".to_owned()),
            _ => None,
        };
        let of = |text: &str| substitute(text, &value);
        assert_eq!(of("$a, ${a}b, $no, ${no}, $, ${no-d$n}, '$a', ${a[0]}${a[$n]}${a[9]}."), "A B C, A B Cb, $no, ${no}, $, d2, '$a', AC.");
        assert_eq!(of("\"'$a' $q\" /* $a */ \\$a ${a"), "\"'A B C' say \\\"x\\\"\" /* $a */ \\$a A B C");
    }
}
