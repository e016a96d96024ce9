//! Protocols of text lines: HTTP, SMTP, FTP, RTSP, SIP, whois. The first line is shown, with `-v`
//! all of them.
//!
//! Of protocols that carry other data as well (HTTP, RTSP, SIP) a line is shown only where a
//! request or a response begins. Only printable ASCII is printed: a line with anything else ends
//! the text.

use super::view::{Cut, Printed, View};
use super::{Line, put};

#[rustfmt::skip]
const HTTP: &[&str] = &[
    "GET", "PUT", "COPY", "HEAD", "LOCK", "MOVE", "POLL", "POST", "BCOPY", "BMOVE", "MKCOL", "TRACE", "LABEL", "MERGE", "DELETE",
    "SEARCH", "UNLOCK", "REPORT", "UPDATE", "NOTIFY", "BDELETE", "CONNECT", "OPTIONS", "CHECKIN", "PROPFIND", "CHECKOUT", "CCM_POST",
    "SUBSCRIBE", "PROPPATCH", "BPROPFIND", "BPROPPATCH", "UNCHECKOUT", "MKACTIVITY", "MKWORKSPACE", "UNSUBSCRIBE", "RPC_CONNECT",
    "VERSION-CONTROL", "BASELINE-CONTROL",
];
#[rustfmt::skip]
const RTSP: &[&str] = &[
    "OPTIONS", "DESCRIBE", "ANNOUNCE", "SETUP", "PLAY", "PAUSE", "TEARDOWN", "GET_PARAMETER", "SET_PARAMETER", "REDIRECT", "RECORD",
];
#[rustfmt::skip]
const SIP: &[&str] = &[
    "ACK", "BYE", "CANCEL", "DO", "INFO", "INVITE", "MESSAGE", "NOTIFY", "OPTIONS", "PRACK", "QAUTH", "REFER", "REGISTER", "SPRACK",
    "SUBSCRIBE", "UPDATE", "PUBLISH",
];
/// Longer first words are no commands.
const MAX_TOKEN: usize = 127;

pub(super) fn http(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.put(": ");
    lines(line, view, ("http", "HTTP"), Some(HTTP))
}

pub(super) fn rtsp(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.put(": ");
    lines(line, view, ("rtsp", "RTSP"), Some(RTSP))
}

pub(super) fn smtp(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.put(": ");
    lines(line, view, ("smtp", "SMTP"), None)
}

pub(super) fn ftp(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.put(": ");
    lines(line, view, ("ftp", "FTP"), None)
}

pub(super) fn whois(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.put(": ");
    lines(line, view, ("whois", "WHOIS"), None)
}

/// The one of them that UDP carries.
pub(super) fn sip(line: &mut Line<'_>, view: View<'_>) -> Printed {
    lines(line, view, ("sip", "SIP"), Some(SIP))
}

fn lines(line: &mut Line<'_>, view: View<'_>, (protocol, name): (&'static str, &str), commands: Option<&[&str]>) -> Printed {
    line.protocol = protocol;
    line.put(name);
    if commands.is_some_and(|commands| !begins_message(view, commands)) {
        return Ok(());
    }
    if line.style.verbose == 0 {
        return one(line, ": ", view).map(drop);
    }
    put!(line, ", length: {}", view.len());
    let mut rest = view;
    while rest.len() > 0 {
        match one(line, "\n\t", rest)? {
            0 => break,
            n => rest = rest.skip(n),
        }
    }
    Ok(())
}

/// Whether a request of one of the commands begins there, or a response: its second word has three
/// digits.
fn begins_message(view: View<'_>, commands: &[&str]) -> bool {
    let Some((first, after)) = token(view, 0) else { return false };
    let is_command = commands.iter().any(|command| command.as_bytes().eq_ignore_ascii_case(first));
    is_command || token(view, after).is_some_and(|(second, _)| second.len() == 3 && second.iter().all(u8::is_ascii_digit))
}

/// The printable word at `at`, and where the next begins on this line.
fn token(view: View<'_>, at: usize) -> Option<(&[u8], usize)> {
    let bytes = view.captured().get(at..)?;
    let space = |b: &u8| matches!(b, b' ' | b'\t' | b'\r' | b'\n');
    let end = bytes.iter().position(space).or((at + bytes.len() == view.len()).then_some(bytes.len()))?;
    let word = &bytes[..end];
    if word.is_empty() || end > MAX_TOKEN || !word.iter().all(u8::is_ascii_graphic) {
        return None;
    }
    let blanks = bytes[end..].iter().take_while(|b| **b == b' ').count();
    Some((word, at + end + blanks))
}

/// Prints a line of text; its length with its end, or 0 if it is no text. A line without an end is
/// cut; where the captured bytes end before it does, it is not shown.
fn one(line: &mut Line<'_>, prefix: &str, view: View<'_>) -> Result<usize, Cut> {
    let bytes = view.captured();
    let other = |b: &u8| !matches!(b, b' '..=b'~' | b'\t');
    let end = bytes.iter().position(other).unwrap_or(bytes.len());
    let size = match bytes.get(end..).unwrap_or(&[]) {
        [b'\n', ..] => end + 1,
        [b'\r', b'\n', ..] => end + 2,
        [] | [b'\r'] if !view.is_whole() => return Err(Cut),
        [] => {
            printable(line, prefix, bytes);
            return Err(Cut);
        }
        _ => return Ok(0),
    };
    printable(line, prefix, &bytes[..end]);
    Ok(size)
}

fn printable(line: &mut Line<'_>, prefix: &str, bytes: &[u8]) {
    line.put(prefix);
    line.text.extend(bytes.iter().map(|b| char::from(*b)));
}
