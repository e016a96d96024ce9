//! A script's own handlers: arithmetic, comparison, text, variables.
//!
//! Numbers are whole (64 bits) where all arguments are, else with fractions. Random numbers are of
//! the run's seed.

use super::super::builtin::Ctx;
use super::super::{HandlerError, text};
use super::Script;

/// Their names: functions of text, then those that are written.
#[rustfmt::skip]
pub(in super::super) const NAMES: &[&str] = &[
    "add", "sub", "min", "max", "mul", "div", "idiv", "mod", "rem", "neg", "abs", "eq", "ne", "lt", "gt", "le", "ge", "not", "and", "or", "nand", "nor",
    "if", "in", "sprintf", "random", "length", "unquote", "now", "htons", "htonl", "ntohs", "ntohl", "shift", "get", "first", "cat", "readable", "writable", "kill",
];

impl Script {
    /// Reads a handler: the script's own by its bare name or `self.name`, else one of the graph.
    pub(super) fn read_handler(&mut self, name: &str, arguments: &str, ctx: &mut Ctx<'_>) -> Result<String, HandlerError> {
        let bare = match name.split_once('.') {
            Some((element, bare)) if ctx.is_me(element) => bare,
            _ => name,
        };
        if NAMES.contains(&bare) {
            return self.function(bare, arguments, ctx);
        }
        if bare != name && self.exported.iter().any(|exported| exported == bare) {
            return Ok(self.get(bare).unwrap_or_default().to_owned());
        }
        ctx.read_handler(name, arguments)
    }

    /// True if there is such a handler to read.
    pub(super) fn can_read(&self, name: &str, ctx: &Ctx<'_>) -> bool {
        NAMES.contains(&name) || ctx.can_read(name)
    }

    /// Writes one of the script's own, if it is one.
    pub(super) fn write_own(&mut self, name: &str, arguments: &str) -> Option<Result<(), HandlerError>> {
        (name == "set").then(|| {
            let (variable, value) = text::shift_word(arguments);
            self.set(variable, value);
            Ok(())
        })
    }

    /// The value of a function.
    pub(in super::super) fn function(&mut self, name: &str, arguments: &str, ctx: &mut Ctx<'_>) -> Result<String, HandlerError> {
        let words = text::words(arguments);
        match name {
            "now" => return Ok(text::seconds(ctx.now())),
            "get" => return Ok(self.get(arguments.trim()).unwrap_or_default().to_owned()),
            "shift" => return Ok(self.shift(arguments.trim())),
            "random" => return self.random(&words),
            "kill" => return ctx.kill(&words).map(|()| "0".to_owned()),
            "cat" => return cat(&text::unquoted(arguments)),
            "readable" => return Ok(words.iter().all(|name| self.can_read(name, ctx)).to_string()),
            "writable" => return Ok(words.iter().all(|name| *name == "set" || ctx.can_write(name)).to_string()),
            "length" => return Ok(arguments.len().to_string()),
            "unquote" => return Ok(text::unquoted(arguments)),
            "sprintf" => return sprintf(&words),
            "first" => return Ok(words.first().copied().unwrap_or_default().to_owned()),
            _ => {}
        }
        let words: Vec<String> = words.into_iter().map(text::unquoted).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        value(name, &words).ok_or_else(|| HandlerError::invalid(format!("{name}: cannot be done with '{arguments}'")))
    }

    fn shift(&mut self, variable: &str) -> String {
        let value = self.get(variable).unwrap_or_default().to_owned();
        let (word, rest) = text::shift_word(&value);
        self.set(variable, rest);
        word.to_owned()
    }

    fn random(&mut self, words: &[&str]) -> Result<String, HandlerError> {
        let number = |at: usize| {
            words
                .get(at)
                .map(|word| text::integer(word).ok_or_else(|| HandlerError::invalid(format!("random: '{word}' is no number"))))
                .transpose()
        };
        let (low, high) = match (number(0)?, number(1)?) {
            (None, _) => (0, i64::from(i32::MAX)),
            (Some(n @ 1..), None) => (0, n - 1),
            (Some(low), Some(high)) if low <= high => (low, high),
            _ => return Err(HandlerError::invalid("random: one number N above 0 is for 0 to N - 1, two are the least and the greatest")),
        };
        self.seed = self.seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let span = high.saturating_sub(low).max(0) as u64;
        let number = (self.seed >> 1) % span.saturating_add(1);
        Ok(low.saturating_add(number as i64).to_string())
    }
}

/// The largest file that a script reads.
const LARGEST: u64 = 16 << 20;

fn cat(name: &str) -> Result<String, HandlerError> {
    use std::io::Read;
    let mut bytes = Vec::new();
    let read = std::fs::File::open(name).and_then(|file| file.take(LARGEST).read_to_end(&mut bytes));
    read.map_err(|error| HandlerError::failed(format!("{name}: {error}")))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn value(name: &str, words: &[&str]) -> Option<String> {
    Some(match name {
        "add" | "sub" | "mul" | "div" | "idiv" | "min" | "max" => fold(name, words)?,
        "mod" => text::integer(words.first()?)?.checked_rem(text::integer(words.get(1)?)?)?.to_string(),
        "rem" => text::shortest(text::real(words.first()?)? % text::real(words.get(1)?)?),
        "neg" => fold("sub", &["0", words.first()?])?,
        "abs" => text::shortest(text::real(words.first()?)?.abs()),
        "eq" | "ne" | "lt" | "gt" | "le" | "ge" => compare(name, words.first()?, words.get(1)?).to_string(),
        "not" => (!text::boolean(words.first()?)?).to_string(),
        "and" => all(words)?.to_string(),
        "nand" => (!all(words)?).to_string(),
        "or" => any(words)?.to_string(),
        "nor" => (!any(words)?).to_string(),
        "if" => (if text::boolean(words.first()?)? { words.get(1) } else { words.get(2) }).copied().unwrap_or_default().to_owned(),
        "in" => words.get(1..)?.contains(words.first()?).to_string(),
        "htons" | "ntohs" => u16::try_from(text::integer(words.first()?)?).ok()?.to_be().to_string(),
        "htonl" | "ntohl" => u32::try_from(text::integer(words.first()?)?).ok()?.to_be().to_string(),
        _ => return None,
    })
}

fn all(words: &[&str]) -> Option<bool> {
    words.iter().map(|word| text::boolean(word)).try_fold(true, |all, one| Some(all & one?))
}

fn any(words: &[&str]) -> Option<bool> {
    words.iter().map(|word| text::boolean(word)).try_fold(false, |any, one| Some(any | one?))
}

fn fold(name: &str, words: &[&str]) -> Option<String> {
    let whole: Option<Vec<i64>> = words.iter().map(|word| text::integer(word)).collect();
    if let Some(whole) = whole.filter(|_| name != "div")
        && let Some(result) = fold_whole(name, &whole)
    {
        return Some(result.to_string());
    }
    let reals: Vec<f64> =
        words.iter().map(|word| text::real(word).or_else(|| text::integer(word).map(|n| n as f64))).collect::<Option<_>>()?;
    let operation: fn(f64, f64) -> f64 = match name {
        "add" => |a, b| a + b,
        "sub" => |a, b| a - b,
        "mul" => |a, b| a * b,
        "min" => f64::min,
        "max" => f64::max,
        _ => |a, b| a / b,
    };
    let result = reals.into_iter().reduce(operation).or((name == "add").then_some(0.0))?;
    Some(text::shortest(if name == "idiv" { result.trunc() } else { result }))
}

/// `None` where the result does not fit.
fn fold_whole(name: &str, words: &[i64]) -> Option<i64> {
    let (first, rest) = words.split_first()?;
    rest.iter().try_fold(*first, |a, &b| match name {
        "add" => a.checked_add(b),
        "sub" => a.checked_sub(b),
        "mul" => a.checked_mul(b),
        "min" => Some(a.min(b)),
        "max" => Some(a.max(b)),
        _ => a.checked_div(b),
    })
}

/// As numbers if both are, else as text.
fn compare(name: &str, a: &str, b: &str) -> bool {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let number = |text: &str| text::real(text).or_else(|| text::integer(text).map(|n| n as f64));
    let order = match (text::integer(a).zip(text::integer(b)), number(a).zip(number(b))) {
        (Some((a, b)), _) => a.cmp(&b),
        (None, Some((a, b))) => a.partial_cmp(&b).unwrap_or(Equal),
        (None, None) => a.cmp(b),
    };
    match name {
        "eq" => order == Equal,
        "ne" => order != Equal,
        "lt" => order == Less,
        "gt" => order == Greater,
        "le" => order != Greater,
        _ => order != Less,
    }
}

/// The widest that `sprintf` makes a number.
const WIDEST: usize = 1024;

/// A format with `%d %i %u %x %X %o %s %c %%` and their flags `0`, `-` and a width.
fn sprintf(words: &[&str]) -> Result<String, HandlerError> {
    let format = text::unquoted(words.first().copied().unwrap_or_default());
    let mut values = words.iter().skip(1);
    let mut out = String::new();
    let mut rest = format.as_str();
    while let Some((before, after)) = rest.split_once('%') {
        out.push_str(before);
        let end = after.find(|c: char| c.is_ascii_alphabetic() || c == '%').ok_or("sprintf: '%' at the end")?;
        let (flags, conversion) = (&after[..end], after.as_bytes()[end]);
        rest = &after[end + 1..];
        if conversion == b'%' {
            out.push('%');
            continue;
        }
        let value = values.next().ok_or("sprintf: too few values")?;
        out.push_str(&pad(flags, &converted(conversion, value)?));
    }
    Ok(out + rest)
}

fn converted(conversion: u8, value: &str) -> Result<String, HandlerError> {
    let number = || text::integer(value).ok_or_else(|| HandlerError::invalid(format!("sprintf: '{value}' is no number")));
    Ok(match conversion {
        b'd' | b'i' | b'u' => number()?.to_string(),
        b'x' => format!("{:x}", number()?),
        b'X' => format!("{:X}", number()?),
        b'o' => format!("{:o}", number()?),
        b's' => text::unquoted(value),
        b'c' => u32::try_from(number()?).ok().and_then(char::from_u32).map(String::from).unwrap_or_default(),
        _ => return Err(HandlerError::invalid(format!("sprintf: no conversion '%{}'", char::from(conversion)))),
    })
}

fn pad(flags: &str, value: &str) -> String {
    let width = flags.trim_start_matches(['-', '0', '+', ' ', '#']).parse::<usize>().unwrap_or(0).min(WIDEST);
    let fill = width.saturating_sub(value.chars().count());
    match () {
        () if flags.contains('-') => format!("{value}{}", " ".repeat(fill)),
        () if flags.starts_with('0') => format!("{}{value}", "0".repeat(fill)),
        () => format!("{}{value}", " ".repeat(fill)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic() {
        for (call, result) in [
            ("add 1 2 3", "6"),
            ("sub 10 2 2", "6"),
            ("max -1 6 3", "6"),
            ("div 75 2.5 5", "6"),
            ("div 7 2", "3.5"),
            ("idiv 60 2 5", "6"),
            ("idiv 7 2", "3"),
            ("mod 7 3", "1"),
            ("neg 4", "-4"),
            ("add 9223372036854775807 1", "9.22337203685e+18"),
            ("eq 10 0xA", "true"),
            ("eq 10x 10x", "true"),
            ("lt 9 10", "true"),
            ("lt a9 a10", "false"),
            ("if false a b", "b"),
            ("in foo bar foo", "true"),
            ("nand true true", "false"),
            ("htons 1", "256"),
        ] {
            let (name, rest) = text::shift_word(call);
            assert_eq!(value(name, &text::words(rest)).as_deref(), Some(result), "{call}");
        }
    }

    #[test]
    fn what_cannot_be_done_is_refused() {
        for call in ["idiv", "mod 1 0", "not maybe", "add x", "htons 65536", "sub", "mod 1"] {
            let (name, rest) = text::shift_word(call);
            assert_eq!(value(name, &text::words(rest)), None, "{call}");
        }
        assert_eq!(value("idiv", &["1", "0"]).as_deref(), Some("inf"));
    }

    #[test]
    fn formats() {
        assert_eq!(sprintf(&["\"%05x|%-3d|%s%%\"", "127", "7", "'a b'"]), Ok("0007f|7  |a b%".into()));
        assert!(sprintf(&["%"]).is_err() && sprintf(&["%d"]).is_err() && sprintf(&["%d", "x"]).is_err() && sprintf(&["%q", "1"]).is_err());
    }
}
