//! EAP over local networks (IEEE 802.1X): the kind of frame; with `-v` the EAP message in it (RFC
//! 3748).

use super::view::{Printed, View};
use super::{Line, escape, names, put};

#[rustfmt::skip]
const METHODS: &[(u8, &str)] = &[
    (0, "No proposed"), (1, "Identity"), (2, "Notification"), (3, "Nak"), (4, "MD5-challenge"), (5, "OTP"), (6, "GTC"), (13, "TLS"),
    (18, "SIM"), (21, "TTLS"), (23, "AKA"), (43, "FAST"), (254, "Expanded types"), (255, "Experimental"),
];
#[rustfmt::skip]
const AKA: &[(u8, &str)] = &[
    (1, "Challenge"), (2, "Auth reject"), (4, "Sync failure"), (5, "Identity"), (10, "Start"), (11, "Challenge"), (12, "Notification"),
    (13, "Reauth"), (14, "Client error"),
];
const REQUEST: u8 = 1;
const RESPONSE: u8 = 2;
const TTLS: u8 = 21;
const FAST: u8 = 43;

pub(super) fn eapol(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "eap";
    view.take(0, 4)?;
    let kinds = [(0, "EAP packet"), (1, "EAPOL start"), (2, "EAPOL logoff"), (3, "EAPOL key"), (4, "Encapsulated ASF alert")];
    let (kind, length) = (view.u8(1)?, view.u16(2)?);
    put!(line, "{} ({kind}) v{}, len {length}", names::find(&kinds, kind).unwrap_or("unknown"), view.u8(0)?);
    match (line.style.verbose, kind) {
        (1.., 0) if length == 0 => Err(super::view::Cut),
        (1.., 0) => {
            line.put(", ");
            message(line, view.skip(4).claiming(length.into()))
        }
        _ => Ok(()),
    }
}

/// Prints an EAP message, which RADIUS carries, too.
pub(super) fn message(line: &mut Line<'_>, view: View<'_>) -> Printed {
    let (code, length) = (view.u8(0)?, usize::from(view.u16(2)?));
    if length != view.len() {
        line.put("EAP fragment?");
        return Ok(());
    }
    let codes = [(REQUEST, "Request"), (RESPONSE, "Response"), (3, "Success"), (4, "Failure")];
    put!(line, "{} ({code}), id {}, len {length}", names::find(&codes, code).unwrap_or("unknown"), view.u8(1)?);
    if length < 4 {
        line.put(" (too short for EAP header)");
        return Ok(());
    }
    view.take(0, length)?;
    if ![REQUEST, RESPONSE].contains(&code) {
        return Ok(());
    }
    if length < 5 {
        line.put(" (too short for EAP request/response)");
        return Ok(());
    }
    let kind = view.u8(4)?;
    put!(line, "\n\t\t Type {} ({kind})", names::find(METHODS, kind).unwrap_or("unknown"));
    let needs = match kind {
        2 => "Notification",
        3 => "Legacy NAK",
        13 | TTLS => "TLS/TTLS",
        18 | 23 => "SIM/AKA",
        FAST => "FAST",
        _ => "",
    };
    if length < 6 && !needs.is_empty() {
        put!(line, " (too short for EAP {needs} request/response)");
        return Ok(());
    }
    method(line, kind, needs, view.skip(5))
}

fn method(line: &mut Line<'_>, kind: u8, name: &str, data: View<'_>) -> Printed {
    match kind {
        1 if data.len() > 0 => {
            line.put(", Identity: ");
            escape::until_zero(&mut line.text, data.captured());
        }
        2 => {
            line.put(", Notification: ");
            escape::until_zero(&mut line.text, data.captured());
        }
        3 => {
            for (i, wanted) in data.captured().iter().enumerate() {
                put!(line, "{} {} ({wanted})", if i == 0 { "" } else { "," }, names::find(METHODS, *wanted).unwrap_or("unknown"));
            }
        }
        13 | TTLS | FAST => tls(line, kind, name, data)?,
        18 | 23 => {
            let subtype = data.u8(0)?;
            put!(line, " subtype [{}] 0x{subtype:02x}", names::find(AKA, subtype).unwrap_or("unknown"));
        }
        _ => {}
    }
    Ok(())
}

fn tls(line: &mut Line<'_>, kind: u8, name: &str, data: View<'_>) -> Printed {
    let flags = data.u8(0)?;
    match kind {
        TTLS => put!(line, " TTLSv{}", flags & 7),
        FAST => put!(line, " FASTv{}", flags & 7),
        _ => {}
    }
    let set = names::flags(&[(0x80, "L bit"), (0x40, "More fragments bit"), (0x20, "Start bit")], flags.into(), ", ");
    put!(line, " flags [{set}] 0x{flags:02x}");
    match flags & 0x80 {
        0 => {}
        _ if data.len() < 5 => put!(line, " (too short for EAP {name} request/response with length)"),
        _ => put!(line, ", len {}", data.u32(1)?),
    }
    Ok(())
}
