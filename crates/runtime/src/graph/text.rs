//! Text as Click's configurations and handlers have it: words, quotes, numbers, times.
//!
//! Quotes: `'…'` as it stands; `"…"` with backslash escapes; `\<0a 0b>` bytes in hexadecimal,
//! within double quotes or outside. Source: click(5).

use std::fmt::Write as _;

/// A text without its quotes, as bytes.
pub(super) fn unquote(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let bytes = text.as_bytes();
    let (mut at, mut quote) = (0, None);
    while at < bytes.len() {
        match (bytes[at], quote) {
            (b'\\', None) if bytes.get(at + 1) != Some(&b'<') => out.push(b'\\'),
            (b'\\', None | Some(b'"')) => {
                at = escape(bytes, at + 1, &mut out);
                continue;
            }
            (c @ (b'"' | b'\''), None) => quote = Some(c),
            (c, Some(q)) if c == q => quote = None,
            (c, _) => out.push(c),
        }
        at += 1;
    }
    out
}

/// What a backslash begins; where it ends.
fn escape(bytes: &[u8], at: usize, out: &mut Vec<u8>) -> usize {
    let Some(&c) = bytes.get(at) else {
        out.push(b'\\');
        return at;
    };
    let simple = match c {
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'a' => 7,
        b'b' => 8,
        b'f' => 12,
        b'v' => 11,
        b'\n' => return at + 1,
        b'<' => return hexadecimal(bytes, at + 1, out),
        b'x' => return hex_escape(bytes, at + 1, out),
        b'0'..=b'7' => return octal(bytes, at, out),
        c => c,
    };
    out.push(simple);
    at + 1
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|d| d as u8)
}

/// The bytes between `\<` and `>`; comments and what is no digit are left out.
fn hexadecimal(bytes: &[u8], mut at: usize, out: &mut Vec<u8>) -> usize {
    let mut half = None;
    while let Some(&c) = bytes.get(at) {
        at += 1;
        match (digit(c), half) {
            _ if c == b'>' => break,
            _ if c == b'/' && bytes.get(at) == Some(&b'/') => {
                at += bytes[at..].iter().position(|c| *c == b'\n').unwrap_or(bytes.len() - at);
            }
            (Some(low), Some(high)) => {
                out.push(high << 4 | low);
                half = None;
            }
            (Some(high), None) => half = Some(high),
            (None, _) => {}
        }
    }
    at
}

fn hex_escape(bytes: &[u8], at: usize, out: &mut Vec<u8>) -> usize {
    let digits: Vec<u8> = bytes[at..].iter().map_while(|c| digit(*c)).collect();
    out.push(digits.iter().fold(0, |value: u8, d| value.wrapping_shl(4) | d));
    at + digits.len()
}

fn octal(bytes: &[u8], at: usize, out: &mut Vec<u8>) -> usize {
    let digits: Vec<u8> = bytes[at..].iter().take(3).take_while(|c| (b'0'..=b'7').contains(c)).map(|c| c - b'0').collect();
    out.push(digits.iter().fold(0, |value: u8, d| value.wrapping_shl(3) | d));
    at + digits.len()
}

/// A text without its quotes, as a string; what is no UTF-8 is replaced.
pub(super) fn unquoted(text: &str) -> String {
    String::from_utf8_lossy(&unquote(text)).into_owned()
}

/// The first word of a text, quotes kept, and the rest without the blanks before it.
pub(super) fn shift_word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    let end = word_end(text);
    (&text[..end], text[end..].trim_start())
}

/// The words of a text, quotes kept.
pub(super) fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (word, behind) = shift_word(rest);
        words.push(word);
        rest = behind;
    }
    words
}

fn word_end(text: &str) -> usize {
    let (mut quote, mut escaped) = (None, false);
    for (at, c) in text.char_indices() {
        match (c, quote) {
            _ if escaped => {
                escaped = false;
                quote = if c == '<' && quote.is_none() { Some('>') } else { quote };
            }
            ('\\', None | Some('"')) => escaped = true,
            ('"' | '\'', None) => quote = Some(c),
            (c, Some(q)) if c == q => quote = None,
            (c, None) if c.is_whitespace() => return at,
            _ => {}
        }
    }
    text.len()
}

/// A truth value: `true`, `yes`, `1`, `false`, `no`, `0`.
pub(super) fn boolean(text: &str) -> Option<bool> {
    match unquoted(text.trim()).as_str() {
        "true" | "yes" | "1" | "t" | "y" => Some(true),
        "false" | "no" | "0" | "f" | "n" => Some(false),
        _ => None,
    }
}

/// A whole number of 64 bits with a sign.
pub(super) fn integer(text: &str) -> Option<i64> {
    whole(text).and_then(|number| i64::try_from(number).ok())
}

/// A whole number, less than 2 to the 64th: decimal, `0x` hexadecimal, `0` octal.
pub(super) fn whole(text: &str) -> Option<i128> {
    let text = text.trim();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let number = match (digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")), digits) {
        (Some(hex), _) => u64::from_str_radix(hex, 16).ok()?,
        (None, octal) if octal.len() > 1 && octal.starts_with('0') => u64::from_str_radix(octal, 8).ok()?,
        (None, decimal) => decimal.parse::<u64>().ok()?,
    };
    Some(i128::from(number) * sign)
}

/// A number with a fraction and an exponent, no more than that (not `inf`, not `nan`).
pub(super) fn real(text: &str) -> Option<f64> {
    let text = text.trim();
    let begins = text.trim_start_matches(['-', '+']).starts_with(|c: char| c.is_ascii_digit() || c == '.');
    begins.then(|| text.parse().ok()).flatten()
}

/// A number and the unit behind it.
fn with_unit(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+'))).unwrap_or(text.len());
    Some((real(&text[..end])?, text[end..].trim()))
}

/// A duration in nanoseconds: seconds, or with a unit.
pub(super) fn duration(text: &str) -> Option<u64> {
    let (number, unit) = with_unit(text)?;
    let scale = match unit {
        "" | "s" | "sec" | "secs" | "second" | "seconds" => 1e9,
        "ms" | "msec" | "msecs" => 1e6,
        "us" | "usec" | "usecs" => 1e3,
        "ns" | "nsec" | "nsecs" => 1.0,
        "m" | "min" | "mins" | "minute" | "minutes" => 60e9,
        "h" | "hr" | "hour" | "hours" => 3600e9,
        "d" | "day" | "days" => 86_400e9,
        _ => return None,
    };
    (number >= 0.0).then(|| (number * scale).round() as u64)
}

/// A rate in bytes a second: `Bps`, `kBps`, `b/s`, `Mbps` …; without a unit bytes.
pub(super) fn bandwidth(text: &str) -> Option<u64> {
    let (number, unit) = with_unit(text)?;
    let unit = unit.strip_suffix("ps").or_else(|| unit.strip_suffix("/s")).unwrap_or(unit);
    let (prefix, bits) = match unit.strip_suffix('b').or_else(|| unit.strip_suffix("bit")) {
        Some(prefix) => (prefix, true),
        None => (unit.strip_suffix('B').unwrap_or(unit), false),
    };
    let scale = match prefix {
        "" => 1.0,
        "k" | "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        _ => return None,
    };
    (number >= 0.0).then(|| (number * scale / if bits { 8.0 } else { 1.0 }).round() as u64)
}

/// A moment or a duration: seconds and their fraction, six digits or nine where the last three are
/// not 0.
pub(crate) fn seconds(nanoseconds: u64) -> String {
    let (whole, part) = (nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000);
    match part % 1000 {
        0 => format!("{whole}.{:06}", part / 1000),
        _ => format!("{whole}.{part:09}"),
    }
}

/// A number as `%.12g` prints it, which is how Click shows numbers.
pub(super) fn shortest(value: f64) -> String {
    if !value.is_finite() {
        return value.to_string().to_lowercase();
    }
    let exponent = if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 };
    if !(-4..12).contains(&exponent) {
        let text = format!("{value:.11e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let digits = if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits };
        let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |exponent| ('-', exponent));
        return format!("{digits}e{sign}{exponent:0>2}");
    }
    let digits = (11 - exponent).max(0) as usize;
    let fixed = format!("{value:.digits$}");
    match fixed.contains('.') {
        true => fixed.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => fixed,
    }
}

/// Whether a name fits a pattern of the shell's kind: `*`, `?`, `[…]`.
pub(super) fn glob(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n, mut star) = (0, 0, None);
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p + 1, n));
                p += 1;
                continue;
            }
            Some(_) => {
                if let Some(next) = one(&pattern, p, name[n]) {
                    (p, n) = (next, n + 1);
                    continue;
                }
            }
            None => {}
        }
        let Some((after, from)) = star else { return false };
        star = Some((after, from + 1));
        (p, n) = (after, from + 1);
    }
    pattern[p..].iter().all(|c| *c == '*')
}

/// Where the pattern goes on if the character fits what stands at `at`.
fn one(pattern: &[char], at: usize, c: char) -> Option<usize> {
    match pattern[at] {
        '?' => Some(at + 1),
        '[' => {
            let end = at + 2 + pattern.get(at + 2..)?.iter().position(|c| *c == ']')?;
            let set = &pattern[at + 1..end];
            let ranges = set.windows(3).any(|w| w[1] == '-' && (w[0]..=w[2]).contains(&c));
            (set.contains(&c) || ranges).then_some(end + 1)
        }
        other => (other == c).then_some(at + 1),
    }
}

/// A text in double quotes, what needs it escaped.
pub(super) fn quoted(bytes: &[u8]) -> String {
    let mut out = String::from("\"");
    for &byte in bytes {
        match byte {
            b'"' | b'\\' => out.extend(['\\', char::from(byte)]),
            b'\n' => out.push_str("\\n"),
            b'\t' => out.push_str("\\t"),
            b'\r' => out.push_str("\\r"),
            32..=126 => out.push(char::from(byte)),
            _ => drop(write!(out, "\\{byte:03o}")),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_taken_off() {
        assert_eq!(
            unquote(
                r#""a\tb" 'c\d' \<0a 0B // x
            ff>"#
            ),
            b"a\tb c\\d \n\x0b\xff"
        );
        assert_eq!(unquote(r#"\<9>"#), b"");
        assert_eq!(unquote(r#""\x41\101\""#), b"AA\"");
        assert_eq!(unquote("\"open"), b"open");
    }

    #[test]
    fn words_keep_their_quotes() {
        assert_eq!(words(r#"a "b c" \<0a 09>d  'e f'g"#), ["a", "\"b c\"", "\\<0a 09>d", "'e f'g"]);
        assert_eq!(shift_word("  é x "), ("é", "x "));
    }

    #[test]
    fn numbers_and_units() {
        assert_eq!([integer("-0x10"), integer("010"), integer("9"), integer(""), integer("1x")], [Some(-16), Some(8), Some(9), None, None]);
        assert_eq!(
            [duration("0.1s"), duration("5ms"), duration("2 min"), duration("1 parsec"), duration("-1")].map(|d| d.unwrap_or(1)),
            [100_000_000, 5_000_000, 120_000_000_000, 1, 1]
        );
        assert_eq!(
            [bandwidth("2000Bps"), bandwidth("100kb/s"), bandwidth("7"), bandwidth("8Mbps")],
            [Some(2000), Some(12_500), Some(7), Some(1_000_000)]
        );
        assert_eq!([seconds(1_500_000_000), seconds(1)], ["1.500000", "0.000000001"]);
    }

    #[test]
    fn reals_print_as_people_write_them() {
        assert_eq!([6.0, 0.5, 0.1 + 0.2, 1e20, 123_456_789.25].map(shortest), ["6", "0.5", "0.3", "1e+20", "123456789.25"]);
        assert_eq!([1.0 / 3.0, 1e-5, 0.0001, 2e12, 0.0].map(shortest), ["0.333333333333", "1e-05", "0.0001", "2e+12", "0"]);
    }

    #[test]
    fn patterns_of_the_shell() {
        for (pattern, name, fits) in [
            ("*", "", true),
            ("a*c", "abbc", true),
            ("a*c", "abb", false),
            ("q?", "q1", true),
            ("[a-c]x", "bx", true),
            ("[a-c]x", "dx", false),
            ("[", "[", false),
            ("**a", "bba", true),
        ] {
            assert_eq!(glob(pattern, name), fits, "{pattern} {name}");
        }
    }
}
