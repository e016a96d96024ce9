//! Payloads of IKE version 2 (RFC 7296, section 3). Encrypted ones give their length.

use super::ike::{self, ESP, GROUPS, PROTOCOLS, digits, numbered, payload_name, some_data};
use super::view::{Cut, Printed, View};
use super::{Line, names, put};

const HEAD: usize = 4;
const PROPOSAL: u8 = 2;
const TRANSFORM: u8 = 3;
const ASSOCIATION: u8 = 33;
const ENCRYPTED: u8 = 46;
/// Notifications: number, name, whether the index of an association is shown.
#[rustfmt::skip]
const NOTIFICATIONS: &[(u16, (&str, bool))] = &[
    (1, ("unsupported_critical_payload", false)), (4, ("invalid_ike_spi", true)), (5, ("invalid_major_version", false)),
    (7, ("invalid_syntax", true)), (9, ("invalid_message_id", true)), (11, ("invalid_spi", true)), (14, ("no_protocol_chosen", true)),
    (17, ("invalid_ke_payload", true)), (24, ("authentication_failed", true)), (34, ("single_pair_required", true)),
    (35, ("no_additional_sas", false)), (36, ("internal_address_failure", false)), (37, ("failed:cp_required", false)),
    (39, ("invalid_selectors", false)), (16_384, ("initial_contact", false)), (16_385, ("set_window_size", false)),
    (16_386, ("additional_ts_possible", false)), (16_387, ("ipcomp_supported", false)), (16_388, ("nat_detection_source_ip", true)),
    (16_389, ("nat_detection_destination_ip", true)), (COOKIE, ("cookie", true)), (16_391, ("use_transport_mode", false)),
    (16_392, ("http_cert_lookup_supported", false)), (16_393, ("rekey_sa", true)), (16_394, ("tfc_padding_not_supported", false)),
    (16_395, ("non_first_fragment_also", false)),
];
const COOKIE: u16 = 16_390;
const KEY_LENGTH: ike::Attributes = &[(14, ("keylen", &[]))];

/// Prints payloads, the first of that kind.
pub(super) fn chain(line: &mut Line<'_>, first: u8, view: View<'_>) -> Printed {
    let (mut kind, mut rest) = (first, view);
    while kind != 0 {
        let length = rest.u16(2).map_or(HEAD, usize::from);
        if rest.take(0, HEAD.max(length)).is_err() {
            ike::cut(line, &payload_name(kind));
            return Ok(());
        }
        ike::open(line, 1);
        let goes_on = length > HEAD && payload(line, kind, rest.first(length), rest)?;
        line.put(")");
        if !goes_on {
            break;
        }
        kind = rest.u8(0)?;
        rest = rest.skip(length);
    }
    Ok(())
}

/// Prints a payload, which `rest` begins with; false if nothing that follows can be read.
fn payload(line: &mut Line<'_>, kind: u8, body: View<'_>, rest: View<'_>) -> Result<bool, Cut> {
    let name = payload_name(kind);
    let critical = if body.u8(1)? & 0x80 != 0 { "[C]" } else { "" };
    let short = match kind {
        ASSOCIATION => "sa",
        40 => "nonce",
        41 => "n",
        _ => &name,
    };
    match kind {
        ASSOCIATION..=48 => put!(line, "{short}{critical}:"),
        _ => {
            line.put(&name);
            return Ok(true);
        }
    }
    let printed = match kind {
        ASSOCIATION => return association(line, body),
        34 => exchange(line, body),
        35 | 36 => identity(line, body),
        39 => authentication(line, body, rest),
        40 => nonce(line, body, rest),
        41 => notification(line, body, rest),
        43 => vendor(line, body),
        _ => {
            put!(line, " len={}", body.len() - HEAD);
            raw(line, body.skip(HEAD));
            Ok(())
        }
    };
    if printed.is_err() {
        ike::cut(line, short);
    }
    Ok(printed.is_ok() && kind != ENCRYPTED)
}

/// Bytes with `-vvv`.
fn raw(line: &mut Line<'_>, view: View<'_>) {
    if line.style.verbose > 2 && view.len() > 0 {
        line.put(" ");
        digits(line, view.captured());
    }
}

/// Prints the parts of an association or of a proposal; false if one is cut, or too long for what
/// it is in.
fn parts(
    line: &mut Line<'_>,
    first: u8,
    name: &str,
    view: View<'_>,
    depth: usize,
    mut print: impl FnMut(&mut Line<'_>, u16, View<'_>) -> Result<bool, Cut>,
) -> Result<bool, Cut> {
    let (mut kind, mut rest, mut number) = (first, view, 0);
    while kind != 0 {
        number += 1;
        let length = rest.u16(2).map_or(0, usize::from);
        if length <= HEAD || rest.take(0, length).is_err() {
            ike::cut(line, name);
            return Ok(rest.len() < HEAD || rest.len() < length);
        }
        ike::open(line, depth);
        let goes_on = match kind == first {
            true => print(line, number, rest.first(length))?,
            false => {
                line.put(&payload_name(kind));
                true
            }
        };
        if !goes_on {
            return Ok(false);
        }
        line.put(")");
        kind = rest.u8(0)?;
        rest = rest.skip(length);
    }
    Ok(true)
}

fn association(line: &mut Line<'_>, body: View<'_>) -> Result<bool, Cut> {
    put!(line, " len={}", body.len() - HEAD);
    parts(line, PROPOSAL, &payload_name(ASSOCIATION), body.skip(HEAD), 2, |line, _, proposal| {
        let Ok([number, protocol, size, transforms]) = proposal.array::<4>(HEAD) else {
            ike::cut(line, "p");
            return Ok(false);
        };
        let critical = if proposal.u8(1)? & 0x80 != 0 { "[C]" } else { "" };
        put!(line, "p{critical}: #{number} protoid={} transform={transforms}", numbered(PROTOCOLS, protocol.into()));
        put!(line, " len={}", proposal.len());
        let size = usize::from(size);
        if size > 0 {
            let Ok(index) = proposal.take(8, size) else {
                ike::cut(line, "p");
                return Ok(true);
            };
            line.put(" spi=");
            digits(line, index);
        }
        parts(line, TRANSFORM, "p", proposal.skip(8 + size), 3, transform)
    })
}

fn transform(line: &mut Line<'_>, number: u16, body: View<'_>) -> Result<bool, Cut> {
    let (Ok(kind), Ok(id)) = (body.u8(4), body.u16(6)) else {
        ike::cut(line, "t");
        return Ok(false);
    };
    let critical = if body.u8(1)? & 0x80 != 0 { "[C]" } else { "" };
    let name = match kind {
        1 => numbered(ESP, id),
        2 => numbered(&["hmac-md5", "hmac-sha", "hmac-tiger", "aes128_xcbc"], id),
        3 => numbered(&["hmac-md5", "hmac-sha", "dec-mac", "kpdk-md5", "aes-xcbc"], id),
        4 => numbered(GROUPS, id),
        5 => ["no-esn", "esn"].get(usize::from(id)).map_or_else(|| format!("#{id}"), |name| (*name).to_owned()),
        _ => id.to_string(),
    };
    put!(line, "t{critical}: #{number} type={} id={name} ", numbered(&["encr", "prf", "integ", "dh", "esn"], kind.into()));
    ike::attributes(line, if kind == 1 { KEY_LENGTH } else { &[] }, body.skip(8))?;
    Ok(true)
}

fn exchange(line: &mut Line<'_>, body: View<'_>) -> Printed {
    if body.len() < 8 {
        put!(line, " len={} < 8", body.len());
        return Ok(());
    }
    put!(line, " len={} group={}", body.len() - 8, numbered(GROUPS, body.u16(4)?));
    raw(line, body.skip(8));
    Ok(())
}

fn identity(line: &mut Line<'_>, body: View<'_>) -> Printed {
    put!(line, " len={}", body.len() - HEAD);
    raw(line, body.skip(HEAD));
    let kinds = [(1, "ipv4"), (2, "fqdn"), (3, "rfc822"), (5, "ipv6"), (9, "dn"), (10, "gn"), (11, "keyid")];
    let kind = body.u8(4)?;
    let data = body.skip(8).captured();
    if let Some(name) = names::find(&kinds, kind) {
        put!(line, " {name}:");
        match kind {
            2 | 3 => printable(line, data),
            _ => digits(line, data),
        }
    }
    Ok(())
}

fn printable(line: &mut Line<'_>, bytes: &[u8]) {
    line.text.extend(bytes.iter().map(|byte| if matches!(byte, b' '..=b'~') { char::from(*byte) } else { '.' }));
}

fn authentication(line: &mut Line<'_>, body: View<'_>, rest: View<'_>) -> Printed {
    let method = body.u8(4)?;
    let name = ["invalid", "rsasig", "shared-secret", "dsssig"].get(usize::from(method));
    put!(line, " len={} method={}", body.len() - HEAD, name.map_or_else(|| format!("#{method}"), |name| (*name).to_owned()));
    match line.style.verbose {
        1 => some_data(line, rest.skip(8)),
        _ => {
            line.put(" authdata=(");
            digits(line, body.skip(8).captured());
            line.put(") ");
        }
    }
    Ok(())
}

fn nonce(line: &mut Line<'_>, body: View<'_>, rest: View<'_>) -> Printed {
    put!(line, " len={}", body.len() - HEAD);
    match line.style.verbose {
        1 => some_data(line, rest.skip(HEAD)),
        _ => {
            line.put(" nonce=(");
            digits(line, body.skip(HEAD).captured());
            line.put(") ");
        }
    }
    Ok(())
}

fn notification(line: &mut Line<'_>, body: View<'_>, rest: View<'_>) -> Printed {
    let (protocol, size, kind) = (body.u8(4)?, usize::from(body.u8(5)?), body.u16(6)?);
    let (name, with_index) = names::find_any(NOTIFICATIONS, kind).unwrap_or((
        match kind {
            0..8192 => "error",
            8192..16_384 => "private-error",
            16_384..40_960 => "status",
            _ => "private-status",
        },
        true,
    ));
    put!(line, " prot_id={} type={kind}({name})", numbered(PROTOCOLS, protocol.into()));
    if with_index && size > 0 {
        line.put(" spi=");
        digits(line, rest.take(8, size)?);
    }
    // As tcpdump, which takes all that follows for the notification's data.
    let data = rest.skip(8 + size);
    if data.len() == 0 {
        return Ok(());
    }
    if line.style.verbose > 3 || kind == COOKIE && data.len() < 30 {
        line.put(" data=(");
        digits(line, data.captured());
        line.put(")");
    } else if kind == COOKIE {
        some_data(line, data);
    }
    Ok(())
}

fn vendor(line: &mut Line<'_>, body: View<'_>) -> Printed {
    put!(line, " len={} vid=", body.len() - HEAD);
    printable(line, body.skip(HEAD).captured());
    if body.len() > HEAD + 4 {
        raw(line, body.skip(HEAD));
    }
    Ok(())
}
