//! GTP, with `-T gtp`: user data of version 1 (3GPP TS 29.281) with the packet inside, control
//! messages of versions 1 and 2 (TS 29.060, TS 29.274) by their names.
//!
//! Leaves out: information elements, contents of extension headers, version 0.

use super::view::{Cut, Printed, View};
use super::{Line, ip4, ip6, names, put};

const HEADER: usize = 8;
const DATA: u8 = 255;
/// Extension headers that are followed; a longer chain is a hostile one.
const MAX_EXTENSIONS: usize = 16;
#[rustfmt::skip]
const VERSION_1: &[(u8, &str)] = &[
    (1, "Echo Request"), (2, "Echo Response"), (3, "Version Not Supported"), (16, "Create PDP Context Request"),
    (17, "Create PDP Context Response"), (18, "Update PDP Context Request"), (19, "Update PDP Context Response"),
    (20, "Delete PDP Context Request"), (21, "Delete PDP Context Response"), (26, "Error Indication"), (27, "PDU Notification Request"),
    (28, "PDU Notification Response"), (31, "Supported Extension Headers Notification"), (48, "Identification Request"),
    (49, "Identification Response"), (50, "SGSN Context Request"), (51, "SGSN Context Response"), (52, "SGSN Context Acknowledge"),
    (53, "Forward Relocation Request"), (54, "Forward Relocation Response"), (254, "End Marker"),
];
#[rustfmt::skip]
const VERSION_2: &[(u8, &str)] = &[
    (1, "Echo Request"), (2, "Echo Response"), (3, "Version Not Supported"), (32, "Create Session Request"), (33, "Create Session Response"),
    (34, "Modify Bearer Request"), (35, "Modify Bearer Response"), (36, "Delete Session Request"), (37, "Delete Session Response"),
    (64, "Modify Bearer Command"), (66, "Delete Bearer Command"), (68, "Bearer Resource Command"), (95, "Create Bearer Request"),
    (96, "Create Bearer Response"), (97, "Update Bearer Request"), (98, "Update Bearer Response"), (99, "Delete Bearer Request"),
    (100, "Delete Bearer Response"), (128, "Identification Request"), (129, "Identification Response"), (130, "Context Request"),
    (131, "Context Response"), (132, "Context Acknowledge"), (133, "Forward Relocation Request"), (134, "Forward Relocation Response"),
    (170, "Release Access Bearers Request"), (171, "Release Access Bearers Response"), (176, "Downlink Data Notification"),
    (177, "Downlink Data Notification Acknowledge"),
];

pub(super) fn print(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "gtp";
    let flags = view.u8(0)?;
    match (flags >> 5, flags & 0x10 != 0) {
        (1, true) => first(line, flags, view),
        (2, _) => second(line, flags, view),
        (version, _) => {
            put!(line, "GTP, version {version}, length {}", view.len());
            Ok(())
        }
    }
}

/// Version 1: flags, kind, length of what follows the first eight bytes, endpoint, and with any
/// flag four bytes more.
fn first(line: &mut Line<'_>, flags: u8, view: View<'_>) -> Printed {
    let (kind, length) = (view.u8(1)?, usize::from(view.u16(2)?));
    match kind {
        DATA => line.put("GTPv1 data"),
        _ => put!(line, "GTPv1 {}", names::find_or(VERSION_1, kind, || format!("message {kind}"))),
    }
    put!(line, ", TEID 0x{:08x}", view.u32(4)?);
    if length > view.len().saturating_sub(HEADER) {
        put!(line, ", bad length {length}");
        line.invalid();
        return Ok(());
    }
    let view = view.first(HEADER + length);
    if flags & 2 != 0 {
        put!(line, ", seq {}", view.u16(8)?);
    }
    let header = if flags & 7 != 0 { extensions(line, flags, view)? } else { HEADER };
    let rest = view.skip(header);
    match kind {
        DATA => inside(line, rest),
        _ => {
            put!(line, ", length {}", rest.len());
            Ok(())
        }
    }
}

/// Where the extension headers end, of which each says what the next is.
fn extensions(line: &mut Line<'_>, flags: u8, view: View<'_>) -> Result<usize, Cut> {
    let mut at = HEADER + 4;
    let mut next = view.u8(11)?;
    if flags & 4 == 0 {
        return Ok(at);
    }
    for _ in 0..MAX_EXTENSIONS {
        if next == 0 {
            break;
        }
        // In units of four bytes; its last byte is the kind of the next.
        let size = usize::from(view.u8(at)?) * 4;
        put!(line, ", extension 0x{next:02x}");
        if size == 0 {
            line.invalid();
            return Ok(view.len());
        }
        next = view.u8(at + size - 1)?;
        at += size;
    }
    Ok(at)
}

/// The packet of a user: IP, or what is no IP.
fn inside(line: &mut Line<'_>, view: View<'_>) -> Printed {
    if view.len() == 0 {
        line.put(", length 0");
        return Ok(());
    }
    line.put(": ");
    match view.u8(0)? >> 4 {
        4 => ip4::print(line, view),
        6 => ip6::print(line, view),
        _ => {
            put!(line, "no IP, length {}", view.len());
            Ok(())
        }
    }
}

/// Version 2: flags, kind, length, perhaps an endpoint, sequence number.
fn second(line: &mut Line<'_>, flags: u8, view: View<'_>) -> Printed {
    let (kind, length) = (view.u8(1)?, view.u16(2)?);
    put!(line, "GTPv2 {}", names::find_or(VERSION_2, kind, || format!("message {kind}")));
    let endpoint = flags & 8 != 0;
    if endpoint {
        put!(line, ", TEID 0x{:08x}", view.u32(4)?);
    }
    put!(line, ", seq {}, length {length}", view.u24(if endpoint { 8 } else { 4 })?);
    Ok(())
}
