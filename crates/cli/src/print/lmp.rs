//! The Link Management Protocol (RFC 4204, RFC 4207; UNI 1.0 for service discovery), on port 701
//! and with `-T lmp`. With `-v` the objects of a message, with `-vv` their bytes, too.

use super::ospf_te::{ENCODINGS, SWITCHING, megabits};
use super::view::{Cut, Printed, View};
use super::{Line, hex, ip6, names, put};
use std::net::Ipv6Addr;

const HEADER: usize = 8;
const INDENT: &str = "\n\t    ";

#[rustfmt::skip]
const MESSAGES: &[(u8, &str)] = &[
    (1, "Config"), (2, "Config ACK"), (3, "Config NACK"), (4, "Hello"), (5, "Begin Verify"), (6, "Begin Verify ACK"), (7, "Begin Verify NACK"),
    (8, "End Verify"), (9, "End Verify ACK"), (10, "Test"), (11, "Test Status Success"), (12, "Test Status Failure"), (13, "Test Status ACK"),
    (14, "Link Summary"), (15, "Link Summary ACK"), (16, "Link Summary NACK"), (17, "Channel Status"), (18, "Channel Status ACK"),
    (19, "Channel Status Request"), (20, "Channel Status Response"), (50, "Service Config"), (51, "Service Config ACK"), (52, "Service Config NACK"),
];
const FLAGS: &[(u16, &str)] = &[(1, "Control Channel Down"), (2, "LMP restart")];

/// A class of objects: its number, its name, its types by number from 1.
type Class = (u8, &'static str, &'static [&'static str]);

const IDENTIFIERS: &[&str] = &["IPv4 Local", "IPv4 Remote", "IPv6 Local", "IPv6 Remote", "Unnumbered Local", "Unnumbered Remote"];
const FAMILIES: &[&str] = &["IPv4", "IPv6", "Unnumbered"];
const CLASSES: &[Class] = &[
    (1, "Control Channel ID", &["Local", "Remote"]),
    (2, "Node ID", &["Local", "Remote"]),
    (3, "Link ID", IDENTIFIERS),
    (4, "Interface ID", IDENTIFIERS),
    (5, "Message ID", &["1", "2"]),
    (6, "Configuration", &["1"]),
    (7, "Hello", &["1"]),
    (8, "Verify Begin", &["1"]),
    (9, "Verify Begin ACK", &["1"]),
    (10, "Verify ID", &["1"]),
    (11, "TE Link", FAMILIES),
    (12, "Data Link", FAMILIES),
    (13, "Channel Status", FAMILIES),
    (14, "Channel Status Request", FAMILIES),
    (20, "Error Code", &["1", "2"]),
    (51, "Service Config", &["1", "2", "3", "4"]),
];

pub(super) fn print(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "lmp";
    view.take(0, HEADER)?;
    let (version, kind) = (view.u8(0)? >> 4, view.u8(3)?);
    if version != 1 {
        put!(line, "LMP version {version} packet not supported");
        return Ok(());
    }
    if line.style.verbose == 0 {
        let name = names::find_or(MESSAGES, kind, || format!("unknown ({kind})"));
        put!(line, "LMPv{version} {name} Message, length: {}", view.len());
        return Ok(());
    }
    let name = names::find_or(MESSAGES, kind, || format!("unknown, type: {kind}"));
    let (flags, mut length) = (view.u8(2)?, usize::from(view.u16(4)?));
    put!(line, "\n\tLMPv{version}, msg-type: {name}, Flags: [{}], length: {length}", names::flags(FLAGS, flags.into(), ", "));
    if length < HEADER {
        line.put(" (too short)");
        return Ok(());
    }
    if length > view.len() {
        line.put(" (too long)");
        length = view.len();
    }
    objects(line, view, length)
}

fn objects(line: &mut Line<'_>, view: View<'_>, length: usize) -> Printed {
    let mut at = HEADER;
    while at < length {
        let object = view.skip(at);
        let Some(size) = object_header(line, object)? else { return Ok(()) };
        object.take(0, size)?;
        let (class, kind) = (object.u8(1)?, object.u8(0)? & 0x7f);
        let body = object.first(size).skip(4);
        let known = contents(line, class, kind, body)?;
        if line.style.verbose > 1 || known == Known::Class {
            hex::indented(&mut line.text, body.captured(), INDENT);
        }
        if length - at < size {
            put!(line, " [remaining objects length {} < {size}]", length - at);
            line.invalid();
            return Ok(());
        }
        at += size;
    }
    Ok(())
}

/// Prints what an object is; its length, if that can be.
fn object_header(line: &mut Line<'_>, object: View<'_>) -> Result<Option<usize>, Cut> {
    let (size, first, number) = (usize::from(object.u16(2)?), object.u8(0)?, object.u8(1)?);
    let kind = first & 0x7f;
    let class = CLASSES.iter().find(|(class, ..)| *class == number);
    let name = class.map_or("Unknown", |(_, name, _)| name);
    let kinds = class.map_or(&[][..], |(.., kinds)| kinds);
    let kind_name = usize::from(kind).checked_sub(1).and_then(|kind| kinds.get(kind)).copied().unwrap_or("Unknown");
    let negotiable = if first & 0x80 != 0 { "" } else { "non-" };
    put!(line, "\n\t  {name} Object ({number}), Class-Type: {kind_name} ({kind}) Flags: [{negotiable}negotiable], length: {size}");
    if size < 4 {
        line.put(" (too short)");
    } else if !size.is_multiple_of(4) {
        line.put(" (not a multiple of 4)");
    } else {
        return Ok(Some(size));
    }
    Ok(None)
}

/// How much of an object has a meaning here.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    /// Nothing; its bytes are shown.
    Nothing,
    /// Its class, not its type or what is in it.
    Class,
    All,
}

fn contents(line: &mut Line<'_>, class: u8, kind: u8, body: View<'_>) -> Result<Known, Cut> {
    match (class, kind) {
        (1, 1 | 2) => sized(line, body, 4, |line| named(line, "Control Channel ID", body, Form::Number)),
        (2, 1 | 2) => sized(line, body, 4, |line| named(line, "Node ID", body, Form::V4)),
        (3 | 4, 1 | 2) => sized(line, body, 4, |line| named(line, "IPv4 Link ID", body, Form::V4)),
        (3 | 4, 3 | 4) => sized(line, body, 16, |line| named(line, "IPv6 Link ID", body, Form::V6)),
        (3 | 4, 5 | 6) => sized(line, body, 4, |line| named(line, "Link ID", body, Form::Number)),
        (5, 1) => sized(line, body, 4, |line| named(line, "Message ID", body, Form::Number)),
        (5, 2) => sized(line, body, 4, |line| named(line, "Message ID Ack", body, Form::Number)),
        (6, 1) => sized(line, body, 4, |line| two(line, body, "Hello Interval", "Hello Dead Interval")),
        (7, 1) => sized(line, body, 8, |line| {
            put!(line, "{INDENT}Tx Seq: {}, Rx Seq: {}", body.u32(0)?, body.u32(4)?);
            Ok(())
        }),
        (8, 1) => sized(line, body, 20, |line| verification(line, body)),
        (9, 1) => sized(line, body, 4, |line| two(line, body, "Verify Dead Interval", "Verify Transport Response")),
        (10, 1) => sized(line, body, 4, |line| {
            put!(line, "{INDENT}Verify ID: {}", body.u32(0)?);
            Ok(())
        }),
        (11..=14, 1..=3) => links(line, class, [Form::V4, Form::V6, Form::Number][usize::from(kind - 1)], body),
        (20, 1) => sized(line, body, 4, |line| fault(line, body, VERIFICATION_FAULTS)),
        (20, 2) => sized(line, body, 4, |line| fault(line, body, SUMMARY_FAULTS)),
        (51, 1..=4) => service(line, kind, body),
        (1..=14 | 20 | 51, _) => Ok(Known::Class),
        _ => {
            if line.style.verbose <= 1 {
                hex::indented(&mut line.text, body.captured(), INDENT);
            }
            Ok(Known::Nothing)
        }
    }
}

/// Prints what is in an object if that has the length it must have.
fn sized<'p>(line: &mut Line<'p>, body: View<'_>, length: usize, print: impl FnOnce(&mut Line<'p>) -> Printed) -> Result<Known, Cut> {
    match body.len() == length {
        true => print(line)?,
        false => line.put(" (not correct for object)"),
    }
    Ok(Known::All)
}

/// How an identifier is written.
#[derive(Clone, Copy)]
enum Form {
    V4,
    V6,
    Number,
}

impl Form {
    fn size(self) -> usize {
        if matches!(self, Self::V6) { 16 } else { 4 }
    }
}

/// An identifier, and its first four bytes.
fn identifier(view: View<'_>, at: usize, form: Form) -> Result<String, Cut> {
    let first = view.u32(at)?;
    Ok(match form {
        Form::V4 => format!("{} (0x{first:08x})", view.v4(at)?),
        Form::V6 => format!("{} (0x{first:08x})", ip6::address(Ipv6Addr::from(view.array::<16>(at)?))),
        Form::Number => format!("{first} (0x{first:08x})"),
    })
}

fn named(line: &mut Line<'_>, name: &str, body: View<'_>, form: Form) -> Printed {
    put!(line, "{INDENT}{name}: {}", identifier(body, 0, form)?);
    Ok(())
}

fn two(line: &mut Line<'_>, body: View<'_>, first: &str, second: &str) -> Printed {
    put!(line, "{INDENT}{first}: {}{INDENT}{second}: {}", body.u16(0)?, body.u16(2)?);
    Ok(())
}

fn verification(line: &mut Line<'_>, body: View<'_>) -> Printed {
    let flags = [(1, "Verify all links"), (2, "Data link type")];
    put!(line, "{INDENT}Flags: {}", names::flags(&flags, body.u16(0)?, ", "));
    put!(line, "{INDENT}Verify Interval: {}{INDENT}Data links: {}", body.u16(2)?, body.u32(4)?);
    put!(line, "{INDENT}Encoding type: {}", names::find(ENCODINGS, body.u8(8)?).unwrap_or("Unknown"));
    let mechanism = body.u16(10)?;
    // The bits that tcpdump tests.
    let capable = if mechanism & 8000 != 0 { " (Payload test messages capable)" } else { "" };
    put!(line, "{INDENT}Verify Transport Mechanism: {mechanism} (0x{mechanism:x}){capable}");
    put!(line, "{INDENT}Transmission Rate: {} Mbps{INDENT}Wavelength: {}", megabits(body, 12)?, body.u32(16)?);
    Ok(())
}

fn links(line: &mut Line<'_>, class: u8, form: Form, body: View<'_>) -> Result<Known, Cut> {
    let fixed = 4 + 2 * form.size();
    match class {
        11 => sized(line, body, fixed, |line| {
            let flags = [(1, "Fault Management Supported"), (2, "Link Verification Supported")];
            ends(line, body, form, "Link-ID", &flags)
        }),
        12 if body.len() < fixed => sized(line, body, fixed, |_| Ok(())),
        12 => {
            let flags = [(1, "Data Link Port"), (2, "Allocated for user traffic"), (4, "Failed link")];
            ends(line, body, form, "Interface ID", &flags)?;
            parts(line, body.skip(fixed))
        }
        _ => {
            let size = form.size() + if class == 13 { 4 } else { 0 };
            for at in (0..(body.len() + 1).saturating_sub(size)).step_by(size) {
                put!(line, "{INDENT}Interface ID: {}", identifier(body, at, form)?);
                if class == 13 {
                    status(line, body.u32(at + form.size())?);
                }
            }
            Ok(Known::All)
        }
    }
}

fn ends(line: &mut Line<'_>, body: View<'_>, form: Form, name: &str, flags: &[(u16, &'static str)]) -> Printed {
    put!(line, "{INDENT}Flags: [{}]", names::flags(flags, body.u8(0)?.into(), ", "));
    let (local, remote) = (identifier(body, 4, form)?, identifier(body, 4 + form.size(), form)?);
    put!(line, "{INDENT}Local {name}: {local}{INDENT}Remote {name}: {remote}");
    Ok(())
}

fn status(line: &mut Line<'_>, status: u32) {
    let (active, direction, channel) = (status >> 31, status >> 30 & 1, status & 0x03ff_ffff);
    put!(line, "\n\t\t    Active: {} ({active})", if active != 0 { "Allocated" } else { "Non-allocated" });
    put!(line, "\n\t\t    Direction: {} ({direction})", if direction != 0 { "Transmit" } else { "Receive" });
    let name = names::find(&[(1, "Signal Okay"), (2, "Signal Degraded"), (3, "Signal Fail")], channel).unwrap_or("Unknown");
    put!(line, "\n\t\t    Channel Status: {name} ({channel})");
}

/// Parts of a data link.
fn parts(line: &mut Line<'_>, view: View<'_>) -> Result<Known, Cut> {
    let mut rest = view;
    while rest.len() > 0 {
        let (kind, size) = (rest.u8(0)?, usize::from(rest.u8(1)?));
        let name = names::find(&[(1, "Interface Switching Type"), (2, "Wavelength")], kind).unwrap_or("Unknown");
        put!(line, "{INDENT}Subobject, Type: {name} ({kind}), Length: {size}");
        let wrong = match size {
            0..4 => " (too short)",
            _ if size % 4 != 0 => " (not a multiple of 4)",
            _ if rest.len() < size => " (goes past the end of the object)",
            _ => "",
        };
        if !wrong.is_empty() {
            line.put(wrong);
            break;
        }
        match kind {
            1 => switching(line, rest)?,
            2 => put!(line, "{INDENT}  Wavelength: {}", rest.u32(4)?),
            _ => return Ok(Known::Class),
        }
        rest = rest.skip(size);
    }
    Ok(Known::All)
}

fn switching(line: &mut Line<'_>, part: View<'_>) -> Printed {
    let (kind, encoding) = (part.u8(2)?, part.u8(3)?);
    put!(line, "{INDENT}  Switching Type: {} ({kind})", names::find(SWITCHING, kind).unwrap_or("Unknown"));
    put!(line, "{INDENT}  Encoding Type: {} ({encoding})", names::find(ENCODINGS, encoding).unwrap_or("Unknown"));
    put!(line, "{INDENT}  Min Reservable Bandwidth: {} Mbps", megabits(part, 4)?);
    put!(line, "{INDENT}  Max Reservable Bandwidth: {} Mbps", megabits(part, 8)?);
    Ok(())
}

#[rustfmt::skip]
const VERIFICATION_FAULTS: &[(u16, &str)] = &[
    (0x01, "Link Verification Procedure Not supported"), (0x02, "Unwilling to verify"), (0x04, "Unsupported verification transport mechanism"),
    (0x08, "Link-Id configuration error"), (0x10, "Unknown object c-type"),
];
#[rustfmt::skip]
const SUMMARY_FAULTS: &[(u16, &str)] = &[
    (0x01, "Unacceptable non-negotiable LINK-SUMMARY parameters"), (0x02, "Renegotiate LINK-SUMMARY parameters"), (0x04, "Invalid TE-LINK Object"),
    (0x08, "Invalid DATA-LINK Object"), (0x10, "Unknown TE-LINK Object c-type"), (0x20, "Unknown DATA-LINK Object c-type"),
];

fn fault(line: &mut Line<'_>, body: View<'_>, table: &[(u16, &'static str)]) -> Printed {
    put!(line, "{INDENT}Error Code: {}", names::flags(table, body.u32(0)? as u16, ", "));
    Ok(())
}

fn service(line: &mut Line<'_>, kind: u8, body: View<'_>) -> Result<Known, Cut> {
    let flags = |table: &[(u16, &'static str)], bits: u8| names::flags(table, bits.into(), ", ");
    match kind {
        1 => sized(line, body, 4, |line| {
            put!(line, "\n\t Flags: {}", flags(&[(1, "RSVP Supported"), (2, "LDP Supported")], body.u8(0)?));
            put!(line, "\n\t  UNI Version: {}", body.u8(1)?);
            Ok(())
        }),
        2 => sized(line, body, 16, |line| port_attributes(line, body)),
        3 => sized(line, body, 8, |line| {
            let transparency = [(1, "Standard SOH/RSOH Transparency Supported"), (2, "Standard LOH/MSOH Transparency Supported")];
            put!(line, "\n\t Transparency Flags: {}", names::flags(&transparency, body.u32(0)? as u16, ", "));
            let tandem = flags(&[(1, "Transparent Tandem Connection Monitoring Supported")], body.u8(7)?);
            put!(line, "\n\t TCM Monitoring Flags: {tandem}");
            Ok(())
        }),
        _ => sized(line, body, 4, |line| {
            let diversity = [(1, "Node Diversity Supported"), (2, "Link Diversity Supported"), (4, "SRLG Diversity Supported")];
            put!(line, "\n\t Diversity: Flags: {}", flags(&diversity, body.u8(3)?));
            Ok(())
        }),
    }
}

#[rustfmt::skip]
const SDH: &[(u8, &str)] = &[
    (5, "VC-3"), (6, "VC-4"), (7, "STM-0"), (8, "STM-1"), (9, "STM-4"), (10, "STM-16"), (11, "STM-64"), (12, "STM-256"),
];
#[rustfmt::skip]
const SONET: &[(u8, &str)] = &[
    (5, "STS-1 SPE"), (6, "STS-3c SPE"), (7, "STS-1"), (8, "STM-3"), (9, "STM-12"), (10, "STM-48"), (11, "STM-192"), (12, "STM-768"),
];
#[rustfmt::skip]
const TRANSPARENCY: &[(u16, &str)] = &[
    (1, "Path/VC Overhead Transparency Supported"), (2, "Line/MS Overhead Transparency Supported"), (4, "Section/RS Overhead Transparency Supported"),
];

/// What a client's port can.
fn port_attributes(line: &mut Line<'_>, body: View<'_>) -> Printed {
    let (link, signal) = (body.u8(0)?, body.u8(1)?);
    let (name, signals) = match link {
        5 => ("SDH ITU-T G.707", SDH),
        6 => ("SONET ANSI T1.105", SONET),
        _ => ("Unknown", &[][..]),
    };
    put!(line, "\n\t Link Type: {name} ({link})");
    if !signals.is_empty() {
        put!(line, "\n\t Signal Type: {} ({signal})", names::find(signals, signal).unwrap_or("Unknown"));
    }
    put!(line, "\n\t Transparency: {}", names::flags(TRANSPARENCY, body.u8(2)?.into(), ", "));
    let concatenation = names::flags(&[(1, "Contiguous Concatenation Types Supported")], body.u8(3)?.into(), ", ");
    put!(line, "\n\t Contiguous Concatenation Types: {concatenation}");
    put!(line, "\n\t Minimum NCC: {}\n\t Maximum NCC: {}", body.u16(4)?, body.u16(6)?);
    put!(line, "\n\t Minimum NVC:{}\n\t Maximum NVC:{}", body.u16(8)?, body.u16(10)?);
    put!(line, "{INDENT}Local Interface ID: {}", identifier(body, 12, Form::V4)?);
    Ok(())
}
