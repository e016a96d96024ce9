//! The options of a TCP header (IANA "TCP Option Kind Numbers").

use super::view::{Cut, View};
use super::{Line, mptcp, names, put};

#[rustfmt::skip]
const KINDS: &[(u8, &str)] = &[
    (0, "eol"), (1, "nop"), (2, "mss"), (3, "wscale"), (4, "sackOK"), (5, "sack"), (6, "echo"), (7, "echoreply"), (8, "TS"),
    (11, "cc"), (12, "ccnew"), (13, "ccecho"), (19, "md5"), (20, "scps"), (28, "uto"), (29, "tcp-ao"), (30, "mptcp"),
    (34, "tfo"), (254, "exp"),
];

/// Prints ` options […]` of a segment with those flags; true if an option's length is wrong, which
/// ends the line.
pub(super) fn print(line: &mut Line<'_>, mut view: View<'_>, sack_base: u32, flags: u8) -> Result<bool, Cut> {
    line.put(", options [");
    let mut separator = "";
    while view.len() > 0 {
        line.put(separator);
        // As tcpdump does: nothing closes the bracket if the first option is bad.
        let bad = if separator.is_empty() { "[bad opt]" } else { "[bad opt]]" };
        separator = ",";
        let kind = view.u8(0)?;
        if kind < 2 {
            line.put(if kind == 0 { "eol" } else { "nop" });
            if kind == 0 {
                break;
            }
            view = view.skip(1);
            continue;
        }
        let len = usize::from(view.u8(1)?);
        let good = len >= 2 && len <= view.len();
        if !good || !option(line, kind, view.first(len).skip(2), sack_base, flags)? {
            line.put(bad);
            return Ok(true);
        }
        view = view.skip(len);
    }
    line.put("]");
    Ok(false)
}

/// Prints one option; false if it is too short for what it must hold.
fn option(line: &mut Line<'_>, kind: u8, data: View<'_>, sack_base: u32, flags: u8) -> Result<bool, Cut> {
    match names::find(KINDS, kind) {
        Some(name) => line.put(name),
        None => put!(line, "unknown-{kind}"),
    }
    let need = match kind {
        2 | 20 | 28 => 2,
        3 => 1,
        4 => 0,
        6 | 7 | 11..=13 => 4,
        8 => 8,
        19 => 16,
        _ => data.len(),
    };
    if data.len() < need {
        return Ok(false);
    }
    match kind {
        2 => put!(line, " {}", data.u16(0)?),
        3 => put!(line, " {}", data.u8(0)?),
        4 => {}
        5 => sack(line, data, sack_base)?,
        6 | 7 | 11..=13 => put!(line, " {}", data.u32(0)?),
        8 => put!(line, " val {} ecr {}", data.u32(0)?, data.u32(4)?),
        20 => put!(line, " cap {:02x} id {}", data.u8(0)?, data.u8(1)?),
        28 => timeout(line, data.u16(0)?),
        30 => return mptcp::print(line, data, flags),
        34 => fast_open(line, data)?,
        254 => return experiment(line, data),
        _ => {
            line.put(if data.len() > 0 { " 0x" } else { "" });
            digits(line, data.take(0, data.len())?);
        }
    }
    if data.len() != need {
        put!(line, "[len {}]", data.len() + 2);
    }
    Ok(true)
}

fn digits(line: &mut Line<'_>, bytes: &[u8]) {
    for b in bytes {
        put!(line, "{b:02x}");
    }
}

fn sack(line: &mut Line<'_>, data: View<'_>, base: u32) -> Result<(), Cut> {
    if !data.len().is_multiple_of(8) {
        line.put(" invalid sack");
        return Ok(());
    }
    put!(line, " {} ", data.len() / 8);
    for at in (0..data.len()).step_by(8) {
        let (start, end) = (data.u32(at)?, data.u32(at + 4)?);
        put!(line, "{{{}:{}}}", start.wrapping_sub(base), end.wrapping_sub(base));
    }
    Ok(())
}

/// User timeout (RFC 5482): the low bit says minutes.
fn timeout(line: &mut Line<'_>, value: u16) {
    let seconds = u32::from(value >> 1) * if value & 1 != 0 { 60 } else { 1 };
    put!(line, " 0x{value:x} {seconds}");
}

/// RFC 7413.
fn fast_open(line: &mut Line<'_>, data: View<'_>) -> Result<(), Cut> {
    match data.len() {
        0 => line.put("  cookiereq"),
        n if n % 2 != 0 || !(4..=16).contains(&n) => line.put(" (invalid)"),
        n => {
            line.put("  cookie ");
            digits(line, data.take(0, n)?);
        }
    }
    Ok(())
}

/// RFC 6994: a 16-bit number says whose experiment.
fn experiment(line: &mut Line<'_>, data: View<'_>) -> Result<bool, Cut> {
    if data.len() < 2 {
        return Ok(false);
    }
    match data.u16(0)? {
        0xf989 => {
            line.put("-tfo");
            fast_open(line, data.skip(2))?;
        }
        magic => put!(line, "-{magic:04x}"),
    }
    Ok(true)
}
