//! Slow protocols (IEEE 802.3, annex 57A): LACP, its markers, and OAM (clause 57), with `-v` their
//! fields.

use super::ether::Mac;
use super::view::{Cut, Printed, View};
use super::{Line, hex, names, put};

const LACP: u8 = 1;
const MARKER: u8 = 2;
const OAM: u8 = 3;
const HEAD: usize = 2;
const TOO_SHORT: &str = "\n\t\t packet is too short";
#[rustfmt::skip]
const STATES: &[(u16, &str)] = &[
    (0x01, "Activity"), (0x02, "Timeout"), (0x04, "Aggregation"), (0x08, "Synchronization"), (0x10, "Collecting"),
    (0x20, "Distributing"), (0x40, "Default"), (0x80, "Expired"),
];
#[rustfmt::skip]
const OAM_FLAGS: &[(u16, &str)] = &[
    (0x01, "Link Fault"), (0x02, "Dying Gasp"), (0x04, "Critical Event"), (0x08, "Local Evaluating"), (0x10, "Local Stable"),
    (0x20, "Remote Evaluating"), (0x40, "Remote Stable"),
];
#[rustfmt::skip]
const OAM_CODES: &[(u8, &str)] = &[
    (0x00, "Information"), (0x01, "Event Notification"), (0x02, "Variable Request"), (0x03, "Variable Response"),
    (0x04, "Loopback Control"), (0xfe, "Vendor Private"),
];
#[rustfmt::skip]
const EVENTS: &[(u8, &str)] = &[
    (0x00, "End of TLV marker"), (0x01, "Errored Symbol Period Event"), (0x02, "Errored Frame Event"), (0x03, "Errored Frame Period Event"),
    (0x04, "Errored Frame Seconds Summary Event"), (0xfe, "Organization specific"),
];
const INFORMATION: &[(u8, &str)] = &[(0x00, "End of TLV marker"), (0x01, "Local"), (0x02, "Remote"), (0xfe, "Organization specific")];
#[rustfmt::skip]
const CONFIGURATION: &[(u16, &str)] = &[
    (0x01, "Active"), (0x02, "Unidirectional"), (0x04, "Remote-Loopback"), (0x08, "Link-Events"), (0x10, "Variable-Retrieval"),
];

pub(super) fn print(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "slow";
    let verbose = line.style.verbose > 0;
    let kind = if view.len() > 0 { view.u8(0)? } else { LACP };
    if view.len() < 1 || matches!(kind, LACP | MARKER) && view.len() < 2 {
        line.put(if verbose { TOO_SHORT } else { " (packet is too short)" });
        return Ok(());
    }
    match kind {
        LACP | MARKER => {
            let name = if kind == LACP { "LACP" } else { "MARKER" };
            match view.u8(1)? {
                1 => put!(line, "{name}v1, length {}", view.len()),
                version => {
                    put!(line, "{name} version {version} packet not supported");
                    return Ok(());
                }
            }
            if verbose { fields(line, kind, view.skip(2)) } else { Ok(()) }
        }
        OAM => {
            put!(line, "OAM, length {}", view.len());
            if verbose { maintenance(line, view.skip(1)) } else { Ok(()) }
        }
        _ => {
            put!(line, "unknown ({kind}), length {}", view.len());
            hex::indented(&mut line.text, view.captured(), "\n\t");
            Ok(())
        }
    }
}

fn fields(line: &mut Line<'_>, protocol: u8, view: View<'_>) -> Printed {
    let names: &[&str] = match protocol {
        LACP => &["Terminator", "Actor Information", "Partner Information", "Collector Information"],
        _ => &["Terminator", "Marker Information"],
    };
    let heading =
        |kind: u8, length: usize| format!("{} TLV (0x{kind:02x}), length {length}", names.get(usize::from(kind)).unwrap_or(&"Unknown"));
    each(line, view, heading, |line, kind, part| {
        let value = part.skip(HEAD);
        field(line, protocol, kind, value)?;
        if line.style.verbose > 1 {
            hex::indented(&mut line.text, value.captured(), "\n\t  ");
        }
        Ok(())
    })
}

/// Types with lengths, which count the two bytes before the value, up to type 0: a line with the
/// heading of each, and what is printed of it.
fn each(
    line: &mut Line<'_>,
    view: View<'_>,
    heading: impl Fn(u8, usize) -> String,
    print: impl Fn(&mut Line<'_>, u8, View<'_>) -> Printed,
) -> Printed {
    let mut rest = view;
    while rest.len() > 0 {
        if rest.len() < HEAD {
            line.put(TOO_SHORT);
            break;
        }
        let (kind, length) = (rest.u8(0)?, usize::from(rest.u8(1)?));
        put!(line, "\n\t{}", heading(kind, length));
        if kind == 0 {
            break;
        }
        if length < HEAD {
            put!(line, "\n\t    ERROR: illegal length - should be >= {HEAD}");
            break;
        }
        if rest.len() < length {
            line.put(TOO_SHORT);
            break;
        }
        print(line, kind, View::new(rest.take(0, length)?, length))?;
        rest = rest.skip(length);
    }
    Ok(())
}

fn field(line: &mut Line<'_>, protocol: u8, kind: u8, value: View<'_>) -> Printed {
    let right = match (protocol, kind) {
        (LACP, 1 | 2) => 18,
        (LACP, 3) | (MARKER, 1) => 14,
        _ => {
            if line.style.verbose == 1 {
                hex::indented(&mut line.text, value.captured(), "\n\t  ");
            }
            return Ok(());
        }
    };
    if value.len() != right {
        put!(line, "\n\t    ERROR: illegal length - should be {}", HEAD + right);
        return Ok(());
    }
    match (protocol, kind) {
        (LACP, 3) => put!(line, "\n\t  Max Delay {}", value.u16(0)?),
        (LACP, _) => {
            put!(line, "\n\t  System {}, System Priority {}", Mac(value.array(2)?), value.u16(0)?);
            put!(line, ", Key {}, Port {}, Port Priority {}", value.u16(8)?, value.u16(12)?, value.u16(10)?);
            put!(line, "\n\t  State Flags [{}]", names::flags(STATES, value.u8(14)?.into(), ", "));
        }
        _ => {
            put!(line, "\n\t  Request System {}, Request Port {}", Mac(value.array(2)?), value.u16(0)?);
            put!(line, ", Request Transaction ID 0x{:08x}", value.u32(8)?);
        }
    }
    Ok(())
}

fn maintenance(line: &mut Line<'_>, view: View<'_>) -> Printed {
    if view.len() < 3 {
        line.put(TOO_SHORT);
        return Ok(());
    }
    view.take(0, 3)?;
    let code = view.u8(2)?;
    let name = names::find_or(OAM_CODES, code, || format!("Unknown ({code})"));
    put!(line, "\n\tCode {name} OAM PDU, Flags [{}]", names::flags(OAM_FLAGS, view.u16(0)?, ", "));
    let rest = view.skip(3);
    match code {
        0 => parts(line, rest, "Information", INFORMATION),
        1 if rest.len() < 2 => {
            line.put(TOO_SHORT);
            Ok(())
        }
        1 => {
            put!(line, "\n\t  Sequence Number {}", rest.u16(0)?);
            parts(line, rest.skip(2), "Link Event", EVENTS)
        }
        4 if rest.len() < 1 => {
            line.put(TOO_SHORT);
            Ok(())
        }
        4 => {
            let command = rest.u8(0)?;
            let known = [(1, "Enable OAM Remote Loopback"), (2, "Disable OAM Remote Loopback")];
            put!(line, "\n\t  Command {} ({command})", names::find(&known, command).unwrap_or("Unknown"));
            Ok(())
        }
        _ => {
            if line.style.verbose == 1 {
                hex::indented(&mut line.text, rest.captured(), "\n\t  ");
            }
            Ok(())
        }
    }
}

/// Information or events; the length of each counts what precedes its value.
fn parts(line: &mut Line<'_>, view: View<'_>, what: &str, names: &[(u8, &'static str)]) -> Printed {
    let heading =
        |kind: u8, length: usize| format!("  {} {what} Type ({kind}), length {length}", names::find(names, kind).unwrap_or("Reserved"));
    each(line, view, heading, |line, kind, part| {
        let known = match (what, kind) {
            ("Information", 1 | 2) => information(line, part)?,
            ("Link Event", 1..=4) => event(line, part)?,
            _ => false,
        };
        if line.style.verbose > 1 || !known {
            hex::indented(&mut line.text, part.captured(), "\n\t  ");
        }
        Ok(())
    })
}

fn wrong_length(line: &mut Line<'_>, part: View<'_>, right: usize) -> bool {
    if part.len() != right {
        put!(line, "\n\t    ERROR: illegal length - should be {right}");
    }
    part.len() != right
}

fn information(line: &mut Line<'_>, part: View<'_>) -> Result<bool, Cut> {
    if wrong_length(line, part, 16) {
        return Ok(false);
    }
    let state = part.u8(5)?;
    put!(line, "\n\t    OAM-Version {}, Revision {}", part.u8(2)?, part.u16(3)?);
    let parser = ["forwarding", "looping back", "discarding", "reserved"][usize::from(state & 3)];
    let multiplexer = if state & 4 == 0 { "forwarding" } else { "discarding" };
    put!(line, "\n\t    State-Parser-Action {parser}, State-MUX-Action {multiplexer}");
    let flags = names::flags(CONFIGURATION, part.u8(6)?.into(), ", ");
    put!(line, "\n\t    OAM-Config Flags [{flags}], OAM-PDU-Config max-PDU size {}", part.u16(7)? & 0x7ff);
    let maker = part.u24(9)?;
    put!(line, "\n\t    OUI {} (0x{maker:06x}), Vendor-Private 0x{:08x}", names::organization(maker), part.u32(12)?);
    Ok(true)
}

fn event(line: &mut Line<'_>, part: View<'_>) -> Result<bool, Cut> {
    if wrong_length(line, part, 40) {
        return Ok(false);
    }
    put!(line, "\n\t    Timestamp {} ms, Errored Window {}", u32::from(part.u16(2)?) * 100, part.u64(4)?);
    put!(line, "\n\t    Errored Threshold {}\n\t    Errors {}", part.u64(12)?, part.u64(20)?);
    put!(line, "\n\t    Error Running Total {}\n\t    Event Running Total {}", part.u64(28)?, part.u32(36)?);
    Ok(true)
}
