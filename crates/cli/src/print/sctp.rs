//! SCTP (RFC 9260): ports and chunks. Of data its numbers are shown, with `-vv` its bytes, or the
//! message of M3UA.

use super::transport::Ip;
use super::view::{Cut, Printed, View};
use super::{Dump, Line, hex, m3ua, names, put};

const HEADER: usize = 12;
#[rustfmt::skip]
const CHUNKS: &[(u8, &str)] = &[
    (0, "DATA"), (1, "INIT"), (2, "INIT ACK"), (3, "SACK"), (4, "HB REQ"), (5, "HB ACK"), (6, "ABORT"), (7, "SHUTDOWN"),
    (8, "SHUTDOWN ACK"), (9, "OP ERR"), (10, "COOKIE ECHO"), (11, "COOKIE ACK"), (12, "ECN ECHO"), (13, "CWR"),
    (14, "SHUTDOWN COMPLETE"), (0xc1, "ASCONF ACK"), (0xa2, "REL REQ"), (0xa3, "REL ACK"),
];
#[rustfmt::skip]
const PAYLOADS: &[(u32, &str)] = &[
    (1, "ISDN Q.921"), (2, "M2UA"), (3, "M3UA"), (4, "SUA"), (5, "M2PA"), (6, "V5.2"), (7, "H.248"), (8, "BICC"), (9, "TALI"),
    (10, "DUA"), (11, "ASAP"), (12, "ENRP"), (13, "H.323"), (14, "Q.IPC"), (15, "SIMCO"), (16, "DDPSC"),
    (17, "DDPSSC"), (18, "S1AP"), (19, "RUA"), (20, "HNBAP"), (21, "ForCES HP"),
    (22, "ForCES MP"), (23, "ForCES LP"), (24, "SBc-AP"), (25, "NBAP"), (27, "X2AP"),
];

const M3UA: u32 = 3;

/// Ports that carry ForCES (RFC 5811).
const FORCES: [(u16, &str); 3] = [(6704, "ForCES HP"), (6705, "ForCES MP"), (6706, "ForCES LP")];
#[rustfmt::skip]
const MESSAGES: &[(u8, &str)] = &[
    (0x01, "Association Setup"), (0x02, "Association TearDown"), (0x03, "Config"), (0x04, "Query"), (0x05, "Event Notification"),
    (0x06, "Packet Redirect"), (0x0f, "HeartBeat"), (0x11, "Association Response"), (0x13, "Config Response"), (0x14, "Query Response"),
];

pub(super) fn print(line: &mut Line<'_>, ip: &Ip, view: View<'_>) -> Printed {
    line.protocol = "sctp";
    let (from, to) = (view.u16(0)?, view.u16(2)?);
    ip.ends(line, from, to);
    line.text.truncate(line.text.trim_end().len());
    line.put(" sctp");
    let service = FORCES.iter().find(|(port, _)| [from, to].contains(port)).map(|(_, name)| *name);
    if let Some(name) = service {
        put!(line, "[{name}]");
    }
    view.take(0, HEADER)?;
    let (mut rest, mut number) = (view.skip(HEADER), 1);
    while rest.len() > 0 {
        let before = match (line.style.verbose, number) {
            (2.., _) => "\n\t",
            (_, 1) => " (",
            _ => ", (",
        };
        match chunk(line, rest, before, number, service.is_some())? {
            Some(size) => rest = rest.skip(size),
            None => break,
        }
        number += 1;
    }
    Ok(())
}

/// Prints a chunk; its size with its padding, or nothing if what follows cannot be found.
fn chunk(line: &mut Line<'_>, rest: View<'_>, before: &str, number: usize, forces: bool) -> Result<Option<usize>, Cut> {
    if rest.len() < 4 {
        put!(line, "{before}{number}) [chunk descriptor cut off at end of packet]");
        return Ok(None);
    }
    let (kind, flags, size) = (rest.u8(0)?, rest.u8(1)?, usize::from(rest.u16(2)?));
    if size < 4 {
        put!(line, "{before}{number}) [Bad chunk length {size}, < size of chunk descriptor]");
        return Ok(None);
    }
    let padded = size.next_multiple_of(4);
    if padded > rest.len() {
        put!(line, "{before}{number}) [Bad chunk length {size}, > remaining data in packet]");
        return Ok(None);
    }
    rest.take(0, size)?;
    let name = names::find(CHUNKS, kind).map_or_else(|| format!("Unknown chunk type: 0x{kind:x}"), str::to_owned);
    put!(line, "{before}{number}) [{name}] ");
    let body = rest.first(size).skip(4);
    match kind {
        0 => {
            let protocol = data(line, body, flags)?;
            let payload = body.skip(12);
            if payload.len() == 0 {
                put!(line, "bogus chunk length {size}]");
                return Ok(None);
            }
            carried(line, protocol, forces, payload)?;
        }
        1 | 2 => initiation(line, body)?,
        3 => acknowledgement(line, body)?,
        _ => {}
    }
    Ok(Some(padded))
}

/// Prints the numbers of data; what it says to be.
fn data(line: &mut Line<'_>, body: View<'_>, flags: u8) -> Result<u32, Cut> {
    for (bit, text) in [(4, "(U)"), (2, "(B)"), (1, "(E)")] {
        line.put(if flags & bit != 0 { text } else { "" });
    }
    line.put(if flags & 7 != 0 { " " } else { "" });
    let protocol = body.u32(8)?;
    let name = names::find(PAYLOADS, protocol).map_or_else(|| format!("0x{protocol:x}"), str::to_owned);
    put!(line, "[TSN: {}] [SID: {}] [SSEQ {}] [PPID {name}] ", body.u32(0)?, body.u16(4)?, body.u16(6)?);
    Ok(protocol)
}

fn carried(line: &mut Line<'_>, protocol: u32, forces: bool, payload: View<'_>) -> Printed {
    if forces || matches!(protocol, 21..=23) {
        control(line, payload)?;
        // As tcpdump, which goes on behind the data's padding.
        line.protocol = "sctp";
    } else if line.style.verbose > 1 && protocol == M3UA {
        m3ua::print(line, payload)?;
        line.protocol = "sctp";
    } else if line.style.verbose > 1 {
        line.put("[Payload");
        if matches!(line.style.dump, Dump::None | Dump::Text { .. }) {
            line.put(":");
            hex::hex_and_text(&mut line.text, payload.captured());
        }
        line.put("]");
    }
    Ok(())
}

/// A ForCES message (RFC 5810): its type.
fn control(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "forces";
    view.take(0, 24)?;
    let kind = view.u8(1)?;
    match names::find(MESSAGES, kind) {
        Some(name) => put!(line, "\n\tForCES {name} "),
        None => put!(line, "\n\tUnknown ForCES message type=0x{kind:x}"),
    }
    Ok(())
}

fn initiation(line: &mut Line<'_>, body: View<'_>) -> Printed {
    put!(line, "[init tag: {}] [rwnd: {}] [OS: {}] ", body.u32(0)?, body.u32(4)?, body.u16(8)?);
    put!(line, "[MIS: {}] [init TSN: {}] ", body.u16(10)?, body.u32(12)?);
    Ok(())
}

fn acknowledgement(line: &mut Line<'_>, body: View<'_>) -> Printed {
    let (base, gaps, duplicates) = (body.u32(0)?, body.u16(8)?, body.u16(10)?);
    put!(line, "[cum ack {base}] [a_rwnd {}] [#gap acks {gaps}] [#dup tsns {duplicates}] ", body.u32(4)?);
    let mut rest = body.skip(12);
    for number in 1..=gaps {
        if rest.len() < 4 {
            break;
        }
        let (start, end) = (base.wrapping_add(rest.u16(0)?.into()), base.wrapping_add(rest.u16(2)?.into()));
        put!(line, "\n\t\t[gap ack block #{number}: start = {start}, end = {end}] ");
        rest = rest.skip(4);
    }
    for number in 1..=duplicates {
        if rest.len() < 4 {
            break;
        }
        put!(line, "\n\t\t[dup TSN #{number}: {}] ", rest.u32(0)?);
        rest = rest.skip(4);
    }
    Ok(())
}
