//! BGP (RFC 4271): its name; with `-v` messages. Attributes are in `bgp_attributes`, routes in
//! `bgp_routes`.
//!
//! Capabilities: RFC 5492 and the registry that it began.

use super::view::{Cut, Printed, View};
use super::{Line, bgp_attributes, bgp_routes, escape, hex, names, put};

const MARKER: [u8; 16] = [0xff; 16];
const HEADER: usize = 19;
const KINDS: &[(u8, &str)] = &[(1, "Open"), (2, "Update"), (3, "Notification"), (4, "Keepalive"), (5, "Route Refresh")];
#[rustfmt::skip]
const CAPABILITIES: &[(u8, &str)] = &[
    (1, "Multiprotocol Extensions"), (2, "Route Refresh"), (3, "Cooperative Route Filtering"), (4, "Multiple Routes to a Destination"),
    (5, "Extended Next Hop Encoding"), (8, "Multiple Labels"), (64, "Graceful Restart"), (65, "32-Bit AS Number"),
    (67, "Dynamic Capability"), (68, "Multisession BGP"), (69, "Multiple Paths"), (70, "Enhanced Route Refresh"),
    (71, "Long-lived Graceful Restart"), (128, "Route Refresh (Cisco)"),
];

pub(super) fn print(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "bgp";
    line.put(": BGP");
    if line.style.verbose == 0 {
        return Ok(());
    }
    let (mut rest, mut lost) = (view, false);
    while rest.captured().len() >= MARKER.len() {
        if !rest.captured().starts_with(&MARKER) {
            (rest, lost) = (rest.skip(1), true);
            continue;
        }
        rest.take(0, HEADER)?;
        if lost {
            line.cut();
        }
        let (length, kind) = (usize::from(rest.u16(16)?), rest.u8(18)?);
        if length < HEADER {
            put!(line, "\nmessage length {length} < {HEADER}");
            line.invalid();
            break;
        }
        let name = names::find(KINDS, kind);
        let Ok(bytes) = rest.take(0, length) else {
            put!(line, "\n[|BGP {}]", name.unwrap_or("Unknown Message Type"));
            break;
        };
        put!(line, "\n\t{} Message ({kind}), length: {length}", name.unwrap_or("Unknown"));
        if message(line, kind, View::new(bytes, length)).is_err() {
            line.cut();
        }
        (rest, lost) = (rest.skip(length), false);
    }
    Ok(())
}

fn message(line: &mut Line<'_>, kind: u8, view: View<'_>) -> Printed {
    match kind {
        1 => open(line, view)?,
        2 => update(line, view)?,
        3 if view.len() >= 21 => notification(line, view)?,
        5 if view.len() >= 23 => {
            put!(line, "\n\t  {}", bgp_routes::family(view, HEADER, HEADER + 3)?);
            if line.style.verbose > 1 {
                hex::indented(&mut line.text, view.captured(), "\n\t  ");
            }
        }
        3 | 5 => return Err(Cut),
        4 => {}
        _ => {
            put!(line, "\n\t  no Message {kind} decoder");
            hex::indented(&mut line.text, view.captured(), "\n\t  ");
        }
    }
    Ok(())
}

fn open(line: &mut Line<'_>, view: View<'_>) -> Printed {
    view.take(0, 29)?;
    put!(line, "\n\t  Version {}, my AS {}, Holdtime {}s", view.u8(19)?, view.u16(20)?, view.u16(22)?);
    let length = usize::from(view.u8(28)?);
    put!(line, ", ID {}\n\t  Optional parameters, length: {length}", view.v4(24)?);
    let mut rest = view.skip(29);
    let mut left = length;
    while left > 0 {
        rest.take(0, 2)?;
        let (kind, size) = (rest.u8(0)?, usize::from(rest.u8(1)?));
        if 2 + size > left {
            put!(line, "\n\t     Option {kind}, length: {size}, goes past the end of the options");
            break;
        }
        let name = names::find(&[(1, "Authentication Information"), (2, "Capabilities Advertisement")], kind).unwrap_or("Unknown");
        put!(line, "\n\t    Option {name} ({kind}), length: {size}");
        match kind {
            2 => {
                if capabilities(line, rest.skip(2).first(size)).is_err() {
                    line.cut();
                }
            }
            _ => put!(line, "\n\t      no decoder for option {kind}"),
        }
        left -= 2 + size;
        rest = rest.skip(2 + size);
    }
    Ok(())
}

fn capabilities(line: &mut Line<'_>, view: View<'_>) -> Printed {
    let mut rest = view;
    while rest.len() > 0 {
        rest.take(0, 2)?;
        let (kind, length) = (rest.u8(0)?, usize::from(rest.u8(1)?));
        put!(line, "\n\t      {} ({kind}), length: {length}", names::find(CAPABILITIES, kind).unwrap_or("Unknown"));
        let value = View::new(rest.take(2, length)?, length);
        let least = match kind {
            1 | 65 => 4,
            64 => 2,
            _ => 0,
        };
        if length < least {
            put!(line, " (too short, < {least})");
            return Ok(());
        }
        capability(line, kind, value)?;
        if line.style.verbose > 1 {
            hex::indented(&mut line.text, value.captured(), "\n\t\t");
        }
        rest = rest.skip(2 + length);
    }
    Ok(())
}

fn capability(line: &mut Line<'_>, kind: u8, value: View<'_>) -> Printed {
    let families = |from: usize| (from..).step_by(4).take_while(|at| at + 4 <= value.len());
    match kind {
        1 => put!(line, "\n\t\t{}", bgp_routes::family(value, 0, 3)?),
        8 => {
            for at in families(0) {
                put!(line, "\n\t\t{}, Count: {}", bgp_routes::family(value, at, at + 2)?, value.u8(at + 3)?);
            }
        }
        64 => {
            let first = value.u16(0)?;
            let restarted = if first & 0x8000 != 0 { "R" } else { "none" };
            put!(line, "\n\t\tRestart Flags: [{restarted}], Restart Time {}s", first & 0xfff);
            for at in families(2) {
                let kept = if value.u8(at + 3)? & 0x80 != 0 { "yes" } else { "no" };
                put!(line, "\n\t\t  {}, Forwarding state preserved: {kept}", bgp_routes::family(value, at, at + 2)?);
            }
        }
        65 => put!(line, "\n\t\t 4 Byte AS {}", value.u32(0)?),
        69 if value.len() == 0 => line.put(" (bogus)"),
        69 => {
            for at in families(0) {
                let way = value.u8(at + 3)?;
                let name = names::find_or(&[(1, "Receive"), (2, "Send"), (3, "Both")], way, || format!("Bogus (0x{way:02x})"));
                put!(line, "\n\t\t{}, Send/Receive: {name}", bgp_routes::family(value, at, at + 2)?);
            }
            if !value.len().is_multiple_of(4) {
                line.invalid();
            }
        }
        2 | 71 | 128 => {}
        _ => {
            put!(line, "\n\t\tno decoder for Capability {kind}");
            if line.style.verbose == 1 {
                hex::indented(&mut line.text, value.captured(), "\n\t\t");
            }
        }
    }
    Ok(())
}

fn update(line: &mut Line<'_>, view: View<'_>) -> Printed {
    let length = usize::from(view.u16(HEADER)?);
    let withdrawn = View::new(view.take(HEADER + 2, length)?, length);
    if length > 1 {
        line.put("\n\t  Withdrawn routes:");
        bgp_routes::prefixes(line, withdrawn)?;
    }
    let rest = view.skip(HEADER + 2 + length);
    let size = usize::from(rest.u16(0)?);
    if length != 1 && size == 0 && rest.len() == 2 {
        line.put("\n\t  End-of-Rib Marker (empty NLRI)");
        return Ok(());
    }
    bgp_attributes::list(line, View::new(rest.take(2, size)?, size), "\n\t  ", 0)?;
    let routes = rest.skip(2 + size);
    if routes.len() > 0 {
        line.put("\n\t  Updated routes:");
        bgp_routes::prefixes(line, routes)?;
    }
    Ok(())
}

#[rustfmt::skip]
const ERRORS: &[(&str, &[(u8, &str)])] = &[
    ("Message Header Error", &[(1, "Connection Not Synchronized"), (2, "Bad Message Length"), (3, "Bad Message Type")]),
    ("OPEN Message Error", &[
        (1, "Unsupported Version Number"), (2, "Bad Peer AS"), (3, "Bad BGP Identifier"), (4, "Unsupported Optional Parameter"),
        (5, "Authentication Failure"), (6, "Unacceptable Hold Time"), (7, "Capability Message Error"),
    ]),
    ("UPDATE Message Error", &[
        (1, "Malformed Attribute List"), (2, "Unrecognized Well-known Attribute"), (3, "Missing Well-known Attribute"),
        (4, "Attribute Flags Error"), (5, "Attribute Length Error"), (6, "Invalid ORIGIN Attribute"), (7, "AS Routing Loop"),
        (8, "Invalid NEXT_HOP Attribute"), (9, "Optional Attribute Error"), (10, "Invalid Network Field"), (11, "Malformed AS_PATH"),
    ]),
    ("Hold Timer Expired", &[]),
    ("Finite State Machine Error", &[
        (0, "Unspecified Error"), (1, "In OpenSent State"), (2, "In OpenConfirm State"), (3, "In Established State"),
    ]),
    ("Cease", &[
        (1, "Maximum Number of Prefixes Reached"), (2, "Administrative Shutdown"), (3, "Peer Unconfigured"), (4, "Administrative Reset"),
        (5, "Connection Rejected"), (6, "Other Configuration Change"), (7, "Connection Collision Resolution"),
    ]),
    ("Capability Message Error", &[
        (1, "Invalid Action Value"), (2, "Invalid Capability Length"), (3, "Malformed Capability Value"), (4, "Unsupported Capability Code"),
    ]),
];
const CEASE: u8 = 6;

fn notification(line: &mut Line<'_>, view: View<'_>) -> Printed {
    let (code, subcode) = (view.u8(19)?, view.u8(20)?);
    let known = usize::from(code).checked_sub(1).and_then(|at| ERRORS.get(at));
    put!(line, ", {} ({code})", known.map_or("Unknown Error", |(name, _)| name));
    if let Some((_, names)) = known.filter(|_| code != 4) {
        let comma = if matches!(code, 5 | 7) { "" } else { "," };
        put!(line, "{comma} subcode {} ({subcode})", names::find(names, subcode).unwrap_or("Unknown"));
    }
    let data = view.skip(21);
    match (code, subcode) {
        (CEASE, 1) if data.len() >= 7 => {
            put!(line, ", {}, Max Prefixes: {}", bgp_routes::family(data, 0, 2)?, data.u32(3)?);
        }
        (CEASE, 2 | 4) if data.len() > 0 => shutdown(line, data)?,
        _ => {}
    }
    Ok(())
}

/// What an administrator says of a shutdown (RFC 9003).
fn shutdown(line: &mut Line<'_>, data: View<'_>) -> Printed {
    let length = usize::from(data.u8(0)?);
    let read = match length {
        _ if length > data.len() - 1 => {
            line.put(", invalid Shutdown Communication length");
            0
        }
        0 => {
            line.put(", empty Shutdown Communication");
            1
        }
        _ => {
            put!(line, ", Shutdown Communication (length: {length}): \"");
            escape::text(&mut line.text, data.take(1, length)?);
            line.put("\"");
            1 + length
        }
    };
    let rest = data.skip(read);
    if rest.len() > 0 {
        put!(line, ", Data: (length: {})", rest.len());
        hex::indented(&mut line.text, rest.captured(), "\n\t\t");
    }
    Ok(())
}
