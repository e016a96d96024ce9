//! DCCP (RFC 4340): kinds of packets, sequence numbers, options. Of data nothing is shown.

use super::transport::Ip;
use super::view::{Cut, Printed, View};
use super::{Line, checksum, names, put};

const HEADER: usize = 12;
/// With a sequence number of 48 bits.
const EXTENDED: usize = 16;

#[rustfmt::skip]
const KINDS: [&str; 10] = [
    "DCCP-Request", "DCCP-Response", "DCCP-Data", "DCCP-Ack", "DCCP-DataAck", "DCCP-CloseReq", "DCCP-Close", "DCCP-Reset", "DCCP-Sync", "DCCP-SyncAck",
];
const REQUEST: u8 = 0;
const RESPONSE: u8 = 1;
const DATA: u8 = 2;
const RESET: u8 = 7;
#[rustfmt::skip]
const RESETS: [&str; 12] = [
    "unspecified", "closed", "aborted", "no_connection", "packet_error", "option_error", "mandatory_error", "connection_refused", "bad_service_code", "too_busy",
    "bad_init_cookie", "aggression_penalty",
];
#[rustfmt::skip]
const FEATURES: [&str; 10] = [
    "reserved", "ccid", "allow_short_seqno", "sequence_window", "ecn_incapable", "ack_ratio", "send_ack_vector", "send_ndp_count", "minimum_checksum_coverage",
    "check_data_checksum",
];
#[rustfmt::skip]
const OPTIONS: &[(u8, &str)] = &[
    (0, "nop"), (1, "mandatory"), (2, "slowreceiver"), (32, "change_l"), (33, "confirm_l"), (34, "change_r"), (35, "confirm_r"), (36, "initcookie"),
    (37, "ndp_count"), (38, "ack_vector0"), (39, "ack_vector1"), (40, "data_dropped"), (41, "timestamp"), (42, "timestamp_echo"), (43, "elapsed_time"),
    (44, "data_checksum"),
];

pub(super) fn print(line: &mut Line<'_>, ip: &Ip, view: View<'_>) -> Printed {
    line.protocol = "dccp";
    let long = view.len() >= HEADER && view.u8(8)? & 1 != 0;
    let size = if long { EXTENDED } else { HEADER };
    if view.len() < size {
        line.invalid();
        return Ok(());
    }
    view.take(0, size)?;
    ip.ends(line, view.u16(0)?, view.u16(2)?);
    line.put("DCCP");
    let options = usize::from(view.u8(4)?) * 4;
    if line.style.quiet {
        put!(line, " {}", (view.len() as u32).wrapping_sub(options as u32));
        if options > view.len() {
            put!(line, " [bad hdr length {options} - too long, > {}]", view.len());
        }
        return Ok(());
    }
    if line.style.verbose > 0 {
        coverage(line, ip, view)?;
    }
    let Some(size) = kind(line, view, size, long)? else {
        line.invalid();
        return Ok(());
    };
    if line.style.verbose >= 2 {
        put!(line, "seq {}", if long { number(view, 10, 6)? } else { number(view, 9, 3)? });
        list(line, view, size, options)?;
    }
    Ok(())
}

fn number(view: View<'_>, at: usize, bytes: usize) -> Result<u64, Cut> {
    Ok(view.take(at, bytes)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

/// What the checksum covers, and whether it is right.
fn coverage(line: &mut Line<'_>, ip: &Ip, view: View<'_>) -> Printed {
    let (words, covered) = (view.u8(4)?, view.u8(5)?);
    put!(line, " (CCVal {}, CsCov {}", covered >> 4, covered & 15);
    if view.is_whole() {
        let found = view.u16(6)?;
        let most = if covered & 15 == 0 { view.len() } else { (usize::from(words) + usize::from(covered & 15) - 1) * 4 };
        put!(line, ", cksum 0x{found:04x} ");
        match checksum::expected(found, view.first(most).captured(), checksum::pseudo(ip.src, ip.last, 33, view)) {
            None => line.put("(correct)"),
            Some(right) => put!(line, "(incorrect -> 0x{right:04x})"),
        }
    }
    line.put(")");
    Ok(())
}

/// Prints the kind and what all packets of it have; the size of the header up to its options, or
/// nothing if the packet has less.
fn kind(line: &mut Line<'_>, view: View<'_>, size: usize, long: bool) -> Result<Option<usize>, Cut> {
    let kind = view.u8(8)? >> 1 & 15;
    let Some(name) = KINDS.get(usize::from(kind)) else {
        put!(line, " packet-type-{kind} ");
        return Ok(None);
    };
    put!(line, " {name} ");
    let whole = size
        + match kind {
            REQUEST => 4,
            DATA => 0,
            RESPONSE | RESET => 12,
            _ => 8,
        };
    if view.len() < whole {
        return Ok(None);
    }
    match kind {
        REQUEST => put!(line, "(service={}) ", view.u32(size)?),
        RESPONSE => put!(line, "(service={}) ", view.u32(size + 8)?),
        RESET => {
            view.take(size, 12)?;
            let code = view.u8(size + 8)?;
            let name = RESETS.get(usize::from(code)).map_or_else(|| format!("reset-code-{code} (invalid)"), |name| (*name).to_owned());
            put!(line, "(code={name}) ");
        }
        _ => {}
    }
    if ![REQUEST, DATA].contains(&kind) {
        put!(line, "(ack={}) ", if long { number(view, size + 2, 6)? } else { number(view, size + 1, 3)? });
    }
    Ok(Some(whole))
}

/// The options, which are between the header's size and its end.
fn list(line: &mut Line<'_>, view: View<'_>, size: usize, end: usize) -> Printed {
    if end <= size {
        return Ok(());
    }
    line.put(" <");
    let mut at = size;
    while let Some(length) = option(line, view.skip(at), end - at)? {
        at += length;
        if at >= end {
            break;
        }
        line.put(", ");
    }
    line.put(">");
    Ok(())
}

/// Prints an option; its length, or nothing if it is none.
fn option(line: &mut Line<'_>, view: View<'_>, room: usize) -> Result<Option<usize>, Cut> {
    let kind = view.u8(0)?;
    let length = if kind >= 32 { usize::from(view.u8(1)?) } else { 1 };
    view.take(0, length.min(room))?;
    match names::find(OPTIONS, kind) {
        Some(name) => line.put(name),
        None if kind >= 128 => put!(line, "CCID option {kind}"),
        None => put!(line, "option-type-{kind}"),
    }
    if length > room {
        line.put(" optlen goes past header length");
        return Ok(None);
    }
    if kind < 32 {
        return Ok(Some(1));
    }
    if length < 2 {
        line.invalid();
        return Ok(None);
    }
    let value = view.take(2, length - 2)?;
    if !valued(line, kind, view, value)? {
        line.invalid();
        return Ok(None);
    }
    Ok(Some(length))
}

/// Prints an option's value; false if it has the wrong length.
fn valued(line: &mut Line<'_>, kind: u8, view: View<'_>, value: &[u8]) -> Result<bool, Cut> {
    match (kind, value.len()) {
        (128.., 2) | (43, 2) => put!(line, " {}", view.u16(2)?),
        (_, 4) if kind >= 128 || (41..=43).contains(&kind) => put!(line, " {}", view.u32(2)?),
        (42, 6) => put!(line, " {} (elapsed time {})", view.u32(2)?, view.u16(6)?),
        (42, 8) => put!(line, " {} (elapsed time {})", view.u32(2)?, view.u32(6)?),
        (42, _) => line.put(" [optlen != 6 or 8 or 10]"),
        (43, _) => line.put(" [optlen != 4 or 6]"),
        (32 | 34, 2..) | (33 | 35, 1..) => {
            let feature = FEATURES.get(usize::from(value[0]));
            let name = feature.map_or_else(|| format!("feature-number-{} (invalid)", value[0]), |name| (*name).to_owned());
            put!(line, " {name}");
            value[1..].iter().for_each(|byte| put!(line, " {byte}"));
        }
        (37, 1..=6) => value.iter().for_each(|byte| put!(line, " {byte}")),
        (36 | 38 | 39 | 40, 1..) | (44, 4) | (128.., _) => {
            line.put(" 0x");
            value.iter().for_each(|byte| put!(line, "{byte:02x}"));
        }
        (32..=41 | 44, _) => return Ok(false),
        _ => {}
    }
    Ok(true)
}
