//! Telnet commands at the beginning of a segment (RFC 854, RFC 855):
//! ` [telnet WILL ECHO, DO NAWS]`.
//!
//! Leaves out: commands in the midst of text, as tcpdump does; the hexadecimal form of `-vvvX`.

use super::view::{Cut, Printed, View};
use super::{Line, put};

const IAC: u8 = 255;
const SB: u8 = 250;
const SE: u8 = 240;
const FIRST: u8 = 236;
#[rustfmt::skip]
const COMMANDS: [&str; 20] = [
    "EOF", "SUSP", "ABORT", "EOR", "SE", "NOP", "DMARK", "BRK", "IP", "AO", "AYT", "EC", "EL", "GA", "SB", "WILL", "WONT", "DO", "DONT", "IAC",
];
#[rustfmt::skip]
const OPTIONS: [&str; 40] = [
    "BINARY", "ECHO", "RCP", "SUPPRESS GO AHEAD", "NAME", "STATUS", "TIMING MARK", "RCTE", "NAOL", "NAOP", "NAOCRD", "NAOHTS", "NAOHTD",
    "NAOFFD", "NAOVTS", "NAOVTD", "NAOLFD", "EXTEND ASCII", "LOGOUT", "BYTE MACRO", "DATA ENTRY TERMINAL", "SUPDUP", "SUPDUP OUTPUT",
    "SEND LOCATION", "TERMINAL TYPE", "END OF RECORD", "TACACS UID", "OUTPUT MARKING", "TTYLOC", "3270 REGIME", "X.3 PAD", "NAWS", "TSPEED",
    "LFLOW", "LINEMODE", "XDISPLOC", "OLD-ENVIRON", "AUTHENTICATION", "ENCRYPT", "NEW-ENVIRON",
];
const AUTHENTICATION: u8 = 37;
const ENCRYPTION: u8 = 38;
const QUALIFIERS: &[&str] = &["IS", "SEND", "INFO"];
const AUTHENTICATION_COMMANDS: &[&str] = &["IS", "SEND", "REPLY", "NAME"];
#[rustfmt::skip]
const AUTHENTICATION_TYPES: &[&str] = &[
    "NULL", "KERBEROS_V4", "KERBEROS_V5", "SPX", "MINK", "SRP", "RSA", "SSL", "", "", "LOKI", "SSA", "KEA_SJ", "KEA_SJ_INTEG", "DSS", "NTLM",
];
#[rustfmt::skip]
const ENCRYPTION_COMMANDS: &[&str] = &[
    "IS", "SUPPORT", "REPLY", "START", "END", "REQUEST-START", "REQUEST-END", "END_KEYID", "DEC_KEYID",
];
#[rustfmt::skip]
const ENCRYPTION_TYPES: &[&str] = &[
    "NULL", "DES_CFB64", "DES_OFB64", "DES3_CFB64", "DES3_OFB64", "", "CAST5_40_CFB64", "CAST5_40_OFB64", "CAST128_CFB64", "CAST128_OFB64",
];

pub(super) fn print(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "telnet";
    let (mut rest, mut before) = (view, " [telnet ");
    while rest.len() > 0 && rest.u8(0)? == IAC {
        let Some((text, size)) = command(rest)? else { break };
        put!(line, "{before}{text}");
        (rest, before) = (rest.skip(size), ", ");
    }
    if before == ", " {
        line.put("]");
    }
    Ok(())
}

/// A command's text and size; nothing if it goes on in the next segment, or is none.
fn command(view: View<'_>) -> Result<Option<(String, usize)>, Cut> {
    if view.len() < 2 {
        return Ok(None);
    }
    let command = view.u8(1)?;
    let Some(name) = command.checked_sub(FIRST).and_then(|at| COMMANDS.get(usize::from(at))) else { return Ok(None) };
    match command {
        IAC => Ok(Some(("IAC IAC".to_owned(), 2))),
        SB | 251..=254 if view.len() < 3 => Ok(None),
        SB => negotiation(view, name),
        251..=254 => Ok(Some((format!("{name} {}", named(&OPTIONS, view.u8(2)?)), 3))),
        _ => Ok(Some(((*name).to_owned(), 2))),
    }
}

/// What stands between SB and SE: an option, one or two words of it, bytes.
fn negotiation(view: View<'_>, name: &str) -> Result<Option<(String, usize)>, Cut> {
    let option = view.u8(2)?;
    let mut end = 3;
    while end + 1 < view.len() && (view.u8(end)?, view.u8(end + 1)?) != (IAC, SE) {
        end += 1;
    }
    if end + 1 >= view.len() {
        return Ok(None);
    }
    let words: &[&[&str]] = match option {
        AUTHENTICATION => &[AUTHENTICATION_COMMANDS, AUTHENTICATION_TYPES],
        ENCRYPTION => &[ENCRYPTION_COMMANDS, ENCRYPTION_TYPES],
        _ => &[QUALIFIERS],
    };
    let mut text = format!("{name} {}", named(&OPTIONS, option));
    for (at, byte) in view.take(3, end - 3)?.iter().enumerate() {
        text.push(' ');
        text += &named(words.get(at).copied().unwrap_or(&[]), *byte);
    }
    text += " SE";
    Ok(Some((text, end + 2)))
}

fn named(table: &[&str], number: u8) -> String {
    match table.get(usize::from(number)) {
        Some(name) if !name.is_empty() => (*name).to_owned(),
        _ if number == 0 => "0".to_owned(),
        _ => format!("{number:#x}"),
    }
}
