//! The protocol of Click's ControlSocket, version 1.3: `READ`, `WRITE`, `CHECKREAD`, `CHECKWRITE`,
//! `READDATA`, `WRITEDATA`, `QUIT`.
//!
//! Source: Click's manual of ControlSocket. Left out: `LLRPC`; data of more than a line has a
//! limit.

pub use super::door::Access;

use super::door::Door;
use super::{Controlled, HandlerError, LONGEST_LINE, Line, read_line};
use crate::application::ElementError;
use std::io::{self, BufRead, Write};

/// What the client is told at first.
const GREETING: &str = "Click::ControlSocket/1.3\r\n";

/// The door of a ControlSocket with those arguments.
pub(super) fn door(arguments: &[String]) -> Result<Door, ElementError> {
    let (mut positional, mut keywords) = (Vec::new(), Vec::new());
    for argument in arguments.iter().map(|argument| argument.trim()).filter(|argument| !argument.is_empty()) {
        match argument.split_once(char::is_whitespace) {
            Some((word, value)) if word.chars().all(|c| c.is_ascii_uppercase() || c == '_') => keywords.push((word, value.trim())),
            _ => positional.push(argument),
        }
    }
    let keyword = |name: &str| keywords.iter().find(|(word, _)| *word == name).map(|(_, value)| *value);
    let kind = positional.first().copied().or(keyword("TYPE")).unwrap_or_default().to_ascii_lowercase();
    let place = positional.get(1).copied().or(keyword("PORT")).unwrap_or_default().trim_matches('"');
    let is_true = |name: &str, default: bool| keyword(name).map_or(default, |value| matches!(value, "true" | "yes" | "1"));
    let access = if is_true("READONLY", false) { Access::ReadOnly } else { Access::Whole };
    match kind.as_str() {
        "unix" => Ok(Door::Click(place.into(), access)),
        "tcp" => {
            let port = place
                .trim_end_matches('+')
                .parse()
                .map_err(|_| ElementError::argument(format!("PORT should be a TCP port, not '{place}'")))?;
            Ok(Door::tcp(port, is_true("LOCALHOST", true), access))
        }
        other => Err(ElementError::argument(format!("TYPE should be TCP or UNIX, not '{other}'"))),
    }
}

pub(super) fn serve(from: &mut impl BufRead, mut to: impl Write, access: Access, line: &Line) -> io::Result<()> {
    to.write_all(GREETING.as_bytes())?;
    while let Some(text) = read_line(from) {
        let (word, rest) = split(&text);
        let word = word.to_ascii_uppercase();
        if matches!(word.as_str(), "QUIT" | "CLOSE") {
            return to.write_all(b"200 Goodbye!\r\n");
        }
        let data = match word.as_str() {
            "WRITEDATA" | "READDATA" => match data(from, rest) {
                Ok(data) => Some(data),
                Err(answer) => {
                    to.write_all(answer.as_bytes())?;
                    continue;
                }
            },
            _ => None,
        };
        let rest = rest.to_owned();
        if !line.answer(&mut to, move |target| answer(&word, &rest, data.as_deref(), access, target))? {
            break;
        }
    }
    Ok(())
}

fn split(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    text.split_once(char::is_whitespace).map_or((text, ""), |(word, rest)| (word, rest.trim_start()))
}

/// The data behind a line `HANDLER BYTES`.
fn data(from: &mut impl BufRead, rest: &str) -> Result<String, &'static str> {
    let count = rest.rsplit(char::is_whitespace).next().and_then(|count| count.parse::<u64>().ok());
    let Some(count) = count.filter(|count| *count <= LONGEST_LINE) else {
        return Err("500 Syntax error: expected a handler and a number of bytes\r\n");
    };
    let mut bytes = vec![0; count as usize];
    from.read_exact(&mut bytes).map_err(|_| "500 Syntax error: data ends early\r\n")?;
    String::from_utf8(bytes).map_err(|_| "501 Unimplemented: data that is not text in UTF-8\r\n")
}

fn answer(word: &str, rest: &str, data: Option<&str>, access: Access, target: &mut dyn Controlled) -> String {
    let (handler, text) = split(rest);
    let text = data.unwrap_or(text);
    if handler.is_empty() {
        return format!("500 Wrong number of arguments to '{word}'\r\n");
    }
    match (word, access) {
        ("READ" | "GET" | "READDATA", _) => read(target, handler, text),
        ("WRITE" | "SET" | "WRITEDATA" | "CHECKWRITE", Access::ReadOnly) => {
            format!("530 Permission denied for handler '{handler}'\r\n")
        }
        ("WRITE" | "SET" | "WRITEDATA", Access::Whole) => match target.graph().write(handler, text) {
            Ok(()) => format!("200 Write handler '{handler}' OK\r\n"),
            Err(why) => refused(&why, handler),
        },
        ("CHECKREAD", _) => check(target, handler, false),
        ("CHECKWRITE", Access::Whole) => check(target, handler, true),
        _ => format!("501 Command '{word}' unimplemented\r\n"),
    }
}

fn read(target: &mut dyn Controlled, handler: &str, text: &str) -> String {
    match target.graph().read(handler, text) {
        Ok(value) => format!("200 Read handler '{handler}' OK\r\nDATA {}\r\n{value}", value.len()),
        Err(why) => refused(&why, handler),
    }
}

fn check(target: &mut dyn Controlled, handler: &str, write: bool) -> String {
    let kind = if write { "Write" } else { "Read" };
    match target.graph().has_handler(handler, write) {
        true => format!("200 {kind} handler '{handler}' OK\r\n"),
        false => format!("511 No {} handler named '{handler}'\r\n", kind.to_ascii_lowercase()),
    }
}

/// Why a handler was not called, in a line, with Click's number for that.
fn refused(why: &HandlerError, handler: &str) -> String {
    let code = match why {
        HandlerError::NoElement(_) => 510,
        HandlerError::NoHandler(_) | HandlerError::ReadOnly(_) | HandlerError::WriteOnly(_) => 511,
        HandlerError::Busy(_) | HandlerError::Invalid(_) | HandlerError::Failed(_) => 520,
    };
    let lines: Vec<&str> = why.text().lines().collect();
    match lines.split_last() {
        Some((last, before)) => before.iter().map(|line| format!("{code}-{line}\r\n")).collect::<String>() + &format!("{code} {last}\r\n"),
        None => format!("{code} handler '{handler}' failed\r\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_name_a_door() {
        let of = |text: &str| door(&text.split(',').map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(of("unix, /tmp/x"), Ok(Door::Click("/tmp/x".into(), Access::Whole)));
        assert_eq!(of("UNIX, \"/tmp/x y\", READONLY true"), Ok(Door::Click("/tmp/x y".into(), Access::ReadOnly)));
        assert_eq!(of("TCP, 7777"), Ok(Door::tcp(7777, true, Access::Whole)));
        assert_eq!(of("TYPE TCP, PORT 7777+, LOCALHOST false"), Ok(Door::tcp(7777, false, Access::Whole)));
        assert!(of("tcp, x").is_err() && of("udp, 1").is_err() && of("").is_err());
    }

    #[test]
    fn errors_have_clicks_numbers() {
        assert_eq!(refused(&HandlerError::NoElement("no element named 'x'".to_owned()), "x.y"), "510 no element named 'x'\r\n");
        assert_eq!(refused(&HandlerError::NoHandler("no handler named 'a.b'".to_owned()), "a.b"), "511 no handler named 'a.b'\r\n");
        assert_eq!(refused(&HandlerError::invalid("no field 'x'"), "a.b"), "520 no field 'x'\r\n");
        assert_eq!(refused(&HandlerError::failed("a\nb"), "a.b"), "520-a\r\n520 b\r\n");
    }
}
