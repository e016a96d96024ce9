//! Multipath TCP's options (RFC 6824, RFC 8684).

use super::view::{Cut, View};
use super::{Line, ip6, names, put};

const SYN: u8 = 0x02;
const ACK: u8 = 0x10;
const KINDS: [&str; 9] = ["capable", "join", "dss", "add-addr", "rem-addr", "prio", "fail", "fast-close", "tcprst"];
#[rustfmt::skip]
const REASONS: &[(u8, &str)] = &[
    (0, "Unspecified error"), (1, "MPTCP-specific error"), (2, "Lack of resources"), (3, "Administratively prohibited"),
    (4, "Too much outstanding data"), (5, "Unacceptable performance"), (6, "Middlebox interference"),
];
const RESET_FLAGS: &[(u16, &str)] = &[(8, "U"), (4, "V"), (2, "W"), (1, "T")];

/// Prints an option, of which kind and length were taken off, of a segment with those flags; false
/// if it has the wrong length.
pub(super) fn print(line: &mut Line<'_>, data: View<'_>, flags: u8) -> Result<bool, Cut> {
    if data.len() < 1 {
        return Ok(false);
    }
    let len = data.len() + 2;
    let subtype = data.u8(0)? >> 4;
    put!(line, " {len} {}", KINDS.get(usize::from(subtype)).copied().unwrap_or("unknown"));
    match subtype {
        0 => capable(line, data, len, flags),
        1 => join(line, data, len, flags),
        2 if len < 4 || flags & SYN != 0 => Ok(false),
        2 => sequence(line, data),
        3 => address(line, data, len),
        4 if len < 4 => Ok(false),
        4 => {
            line.put(" id");
            data.take(1, data.len() - 1)?.iter().for_each(|id| put!(line, " {id}"));
            Ok(true)
        }
        5 if len == 3 || len == 4 => {
            line.put(if data.u8(0)? & 1 != 0 { " backup" } else { " non-backup" });
            if len == 4 {
                put!(line, " id {}", data.u8(1)?);
            }
            Ok(true)
        }
        6 if len == 12 => shown(line, format_args!(" seq {}", u64_at(data, 2)?)),
        7 if len == 12 => shown(line, format_args!(" key 0x{:x}", u64_at(data, 2)?)),
        8 if len == 4 => {
            let reason = data.u8(1)?;
            put!(line, " flags [{}] reason ", names::flags(RESET_FLAGS, data.u8(0)?.into(), ""));
            match names::find(REASONS, reason) {
                Some(name) => shown(line, format_args!("{name}")),
                None => shown(line, format_args!("unknown (0x{reason:02x})")),
            }
        }
        5..=8 => Ok(false),
        _ => Ok(true),
    }
}

fn shown(line: &mut Line<'_>, text: std::fmt::Arguments<'_>) -> Result<bool, Cut> {
    put!(line, "{text}");
    Ok(true)
}

fn u64_at(data: View<'_>, at: usize) -> Result<u64, Cut> {
    data.array(at).map(u64::from_be_bytes)
}

fn capable(line: &mut Line<'_>, data: View<'_>, len: usize, flags: u8) -> Result<bool, Cut> {
    let first = matches!(len, 4 | 12) && flags & SYN != 0;
    let last = matches!(len, 20 | 22 | 24) && flags & (SYN | ACK) == ACK;
    if !first && !last {
        return Ok(false);
    }
    let version = data.u8(0)? & 15;
    if version > 1 {
        return shown(line, format_args!(" Unknown Version ({version})"));
    }
    put!(line, " v{version}");
    let sum = data.u8(1)? & 0x80 != 0;
    line.put(if sum { " csum" } else { "" });
    if len >= 12 {
        put!(line, " {{0x{:x}", u64_at(data, 2)?);
        if len >= 20 {
            put!(line, ",0x{:x}", u64_at(data, 10)?);
        }
        if len == 22 && !sum || len == 24 {
            put!(line, ",data_len={}", data.u16(18)?);
        }
        line.put("}");
    }
    Ok(true)
}

fn join(line: &mut Line<'_>, data: View<'_>, len: usize, flags: u8) -> Result<bool, Cut> {
    let syn = len == 12 && flags & SYN != 0;
    let answer = len == 16 && flags & (SYN | ACK) == SYN | ACK;
    let last = len == 24 && flags & ACK != 0;
    if !(syn || answer || last) {
        return Ok(false);
    }
    if len == 24 {
        line.put(" hmac 0x");
        data.take(2, 20)?.iter().for_each(|byte| put!(line, "{byte:02x}"));
        return Ok(true);
    }
    line.put(if data.u8(0)? & 1 != 0 { " backup" } else { "" });
    put!(line, " id {}", data.u8(1)?);
    match len {
        12 => shown(line, format_args!(" token 0x{:x} nonce 0x{:x}", data.u32(2)?, data.u32(6)?)),
        _ => shown(line, format_args!(" hmac 0x{:x} nonce 0x{:x}", u64_at(data, 2)?, data.u32(10)?)),
    }
}

/// Prints a number of four or, if `long`, eight bytes and takes it off; `None` if it is not there.
fn number<'a>(line: &mut Line<'_>, rest: View<'a>, long: bool) -> Result<Option<View<'a>>, Cut> {
    let size = if long { 8 } else { 4 };
    if rest.len() < size {
        return Ok(None);
    }
    match long {
        true => put!(line, "{}", u64_at(rest, 0)?),
        false => put!(line, "{}", rest.u32(0)?),
    }
    Ok(Some(rest.skip(size)))
}

/// The data sequence signal.
fn sequence(line: &mut Line<'_>, data: View<'_>) -> Result<bool, Cut> {
    let flags = data.u8(1)?;
    let mut rest = data.skip(2);
    line.put(if flags & 0x10 != 0 { " fin" } else { "" });
    if flags & 1 != 0 {
        line.put(" ack ");
        let Some(left) = number(line, rest, flags & 2 != 0)? else { return Ok(false) };
        rest = left;
    }
    if flags & 4 != 0 {
        line.put(" seq ");
        let Some(left) = number(line, rest, flags & 8 != 0)? else { return Ok(false) };
        line.put(if left.len() < 4 { "" } else { " subseq " });
        let Some(left) = number(line, left, false)?.filter(|left| left.len() >= 2) else { return Ok(false) };
        put!(line, " len {}", left.u16(0)?);
        rest = left.skip(2);
        if rest.len() >= 2 {
            put!(line, " csum 0x{:x}", rest.u16(0)?);
            rest = rest.skip(2);
        }
    }
    Ok(rest.len() == 0)
}

fn address(line: &mut Line<'_>, data: View<'_>, len: usize) -> Result<bool, Cut> {
    let v4 = matches!(len, 8 | 10 | 16 | 18);
    if !v4 && !matches!(len, 20 | 22 | 28 | 30) {
        return Ok(false);
    }
    let version = names::find(&[(6, "v0-ip6"), (4, "v0-ip4"), (1, "v1-echo"), (0, "v1")], data.u8(0)? & 15);
    put!(line, " {} id {}", version.unwrap_or("[bad version/echo]"), data.u8(1)?);
    let rest = match v4 {
        true => {
            put!(line, " {}", std::net::Ipv4Addr::from(data.array::<4>(2)?));
            data.skip(6)
        }
        false => {
            put!(line, " {}", ip6::address(data.array::<16>(2)?.into()));
            data.skip(18)
        }
    };
    let rest = match rest.len() {
        2 | 10 => {
            put!(line, ":{}", rest.u16(0)?);
            rest.skip(2)
        }
        _ => rest,
    };
    if rest.len() == 8 {
        put!(line, " hmac 0x{:x}", u64_at(rest, 0)?);
    }
    Ok(true)
}
