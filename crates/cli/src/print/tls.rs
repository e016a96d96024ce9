//! TLS, with `-T tls`: the records of a segment (RFC 8446, section 5.1; RFC 5246), and what hellos
//! say in the clear: versions, the server's name (RFC 6066, section 3), protocols (RFC 7301), the
//! chosen cipher suite.
//!
//! A segment that does not begin with a record has nothing printed. Leaves out: messages behind the
//! first of a record, records that began in an earlier segment, all that is encrypted.

use super::view::{Cut, Printed, View};
use super::{Line, escape, names, put};

const RECORD: usize = 5;
const HELLO: [u8; 2] = [1, 2];
/// More records in one segment are counted, not shown.
const MAX_RECORDS: usize = 16;
/// More protocols and versions than anybody offers are not shown.
const MAX_LIST: usize = 16;
/// The random number that says a server's hello asks for another (RFC 8446, section 4.1.3) begins
/// so.
const RETRY: [u8; 8] = [0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11];
#[rustfmt::skip]
const MESSAGES: &[(u8, &str)] = &[
    (0, "HelloRequest"), (1, "ClientHello"), (2, "ServerHello"), (4, "NewSessionTicket"), (8, "EncryptedExtensions"), (11, "Certificate"),
    (12, "ServerKeyExchange"), (13, "CertificateRequest"), (14, "ServerHelloDone"), (15, "CertificateVerify"), (16, "ClientKeyExchange"),
    (20, "Finished"), (22, "CertificateStatus"),
];
#[rustfmt::skip]
const ALERTS: &[(u8, &str)] = &[
    (0, "close_notify"), (10, "unexpected_message"), (20, "bad_record_mac"), (22, "record_overflow"), (40, "handshake_failure"),
    (42, "bad_certificate"), (43, "unsupported_certificate"), (44, "certificate_revoked"), (45, "certificate_expired"),
    (46, "certificate_unknown"), (47, "illegal_parameter"), (48, "unknown_ca"), (49, "access_denied"), (50, "decode_error"),
    (51, "decrypt_error"), (70, "protocol_version"), (71, "insufficient_security"), (80, "internal_error"), (86, "inappropriate_fallback"),
    (90, "user_canceled"), (109, "missing_extension"), (110, "unsupported_extension"), (112, "unrecognized_name"),
    (116, "certificate_required"), (120, "no_application_protocol"),
];

pub(super) fn print(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "tls";
    let (mut rest, mut before) = (view, ": TLS ");
    for _ in 0..MAX_RECORDS {
        let Some((kind, size)) = record(rest) else { return Ok(()) };
        line.put(before);
        let body = rest.skip(RECORD).first(size);
        match part(line, kind, body) {
            // The rest of the record is in the next segment, not missing in the capture.
            Err(Cut) if body.is_whole() => line.put(" ..."),
            done => done?,
        }
        (rest, before) = (rest.skip(RECORD + size), "; ");
    }
    if record(rest).is_some() {
        line.put("; ...");
    }
    Ok(())
}

/// The kind and size of a record, if one begins here.
fn record(view: View<'_>) -> Option<(u8, usize)> {
    let [kind, major, minor, high, low] = view.array(0).ok()?;
    let size = usize::from(u16::from_be_bytes([high, low]));
    // No record is longer than 2^14 bytes and what encryption adds.
    (matches!(kind, 20..=24) && major == 3 && minor <= 4 && (1..=(1 << 14) + 2048).contains(&size)).then_some((kind, size))
}

fn part(line: &mut Line<'_>, kind: u8, body: View<'_>) -> Printed {
    match kind {
        20 => line.put("ChangeCipherSpec"),
        21 => alert(line, body)?,
        22 => handshake(line, body)?,
        23 => put!(line, "data, length {}", body.len()),
        _ => put!(line, "Heartbeat, length {}", body.len()),
    }
    Ok(())
}

fn alert(line: &mut Line<'_>, body: View<'_>) -> Printed {
    let level = match body.u8(0)? {
        1 => "warning",
        2 => "fatal",
        _ => "",
    };
    match body.len() {
        2 if !level.is_empty() => {
            let code = body.u8(1)?;
            put!(line, "Alert {level} {}", names::find_or(ALERTS, code, || code.to_string()));
        }
        length => put!(line, "Alert, encrypted, length {length}"),
    }
    Ok(())
}

fn handshake(line: &mut Line<'_>, body: View<'_>) -> Printed {
    let (kind, size) = (body.u8(0)?, body.u24(1)?);
    match names::find(MESSAGES, kind) {
        // The longest message that the record can begin has three bytes of length, of which
        // encrypted ones have any value.
        Some(name) if size < 1 << 20 => line.put(name),
        _ => {
            put!(line, "handshake, encrypted, length {}", body.len());
            return Ok(());
        }
    }
    if HELLO.contains(&kind) { hello(line, body.skip(4).first(size as usize), kind == 1) } else { Ok(()) }
}

/// A hello: version, 32 random bytes, session, cipher suites, compression, extensions.
fn hello(line: &mut Line<'_>, view: View<'_>, client: bool) -> Printed {
    let (version, random) = (view.u16(0)?, view.array::<8>(2)?);
    let mut at = 35 + usize::from(view.u8(34)?);
    if client {
        let suites = usize::from(view.u16(at)?);
        put!(line, ", {} cipher suites", suites / 2);
        at += 2 + suites;
        at += 1 + usize::from(view.u8(at)?);
    } else {
        line.put(if random == RETRY { ", retry" } else { "" });
        put!(line, ", cipher suite 0x{:04x}", view.u16(at)?);
        at += 3;
    }
    let extensions = if view.len() > at { view.skip(at + 2).first(view.u16(at)?.into()) } else { view.first(0) };
    let mut found = Found::default();
    let read = found.read(extensions, client);
    put!(line, ", {}", found.versions.unwrap_or_else(|| format!("version {}", named(version))));
    for (what, said) in [("server name", found.server), ("protocols", found.protocols)] {
        if let Some(said) = said {
            put!(line, ", {what} {said}");
        }
    }
    read
}

/// What extensions say.
#[derive(Default)]
struct Found {
    versions: Option<String>,
    server: Option<String>,
    protocols: Option<String>,
}

impl Found {
    fn read(&mut self, mut rest: View<'_>, client: bool) -> Printed {
        while rest.len() > 0 {
            let (kind, size) = (rest.u16(0)?, usize::from(rest.u16(2)?));
            let value = rest.skip(4).first(size);
            match kind {
                0 if client && size > 0 => self.server = server(value)?,
                16 => self.protocols = Some(protocols(value.skip(2))?),
                43 if client => self.versions = Some(versions(value.skip(1))?),
                43 => self.versions = Some(format!("version {}", named(value.u16(0)?))),
                _ => {}
            }
            rest = rest.skip(4 + size);
        }
        Ok(())
    }
}

/// The first name of the list, if it is one of a host.
fn server(value: View<'_>) -> Result<Option<String>, Cut> {
    if value.u8(2)? != 0 {
        return Ok(None);
    }
    let mut name = String::new();
    escape::text(&mut name, value.take(5, value.u16(3)?.into())?);
    Ok(Some(name))
}

fn protocols(mut rest: View<'_>) -> Result<String, Cut> {
    let mut text = String::new();
    for at in 0..MAX_LIST {
        if rest.len() == 0 {
            break;
        }
        let size = usize::from(rest.u8(0)?);
        text.push_str(if at > 0 { " " } else { "" });
        escape::text(&mut text, rest.take(1, size)?);
        rest = rest.skip(1 + size);
    }
    Ok(text)
}

/// The versions that a client offers, without those that stand for none (RFC 8701).
fn versions(value: View<'_>) -> Result<String, Cut> {
    let mut text = "versions".to_owned();
    for at in 0..(value.len() / 2).min(MAX_LIST) {
        let version = value.u16(at * 2)?;
        if version & 0x0f0f != 0x0a0a {
            text.push(' ');
            text += &named(version);
        }
    }
    Ok(text)
}

fn named(version: u16) -> String {
    match version {
        0x0300 => "SSL 3.0".to_owned(),
        0x0301..=0x0304 => format!("1.{}", (version & 7) - 1),
        _ => format!("0x{version:04x}"),
    }
}
