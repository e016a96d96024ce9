//! The fields of Babel's TLVs, with `-v`.
//!
//! Source: RFC 8966, section 4.6; RFC 8967 (authentication), RFC 9229 and drafts before them
//! (source-specific routes, timestamps, diversity).

use super::view::{Cut, Printed, View};
use super::{Line, ip6, names, put};
use std::net::{Ipv4Addr, Ipv6Addr};

const V4: u8 = 1;
const MAPPED: [u8; 12] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];
const HELLO: u8 = 4;
const HEARD: u8 = 5;
const UPDATE: u8 = 8;
const SOURCE_UPDATE: u8 = 13;
/// Challenges are no longer.
const MAX_CHALLENGE: usize = 192;

/// Prefixes whose first bytes later ones leave out: of IPv4, and of IPv6.
pub(super) struct Prefixes {
    v4: [u8; 16],
    v6: [u8; 16],
}

impl Default for Prefixes {
    fn default() -> Self {
        let mut v4 = [0; 16];
        v4[..12].copy_from_slice(&MAPPED);
        Self { v4, v6: [0; 16] }
    }
}

impl Prefixes {
    fn of(&mut self, encoding: u8) -> &mut [u8; 16] {
        if encoding == V4 { &mut self.v4 } else { &mut self.v6 }
    }
}

/// Prints a TLV; false if it is wrong.
pub(super) fn print(line: &mut Line<'_>, kind: u8, value: View<'_>, prefixes: &mut Prefixes) -> Result<bool, Cut> {
    let (title, least) = match kind {
        1 => ("", 0),
        2 => ("Acknowledgment Request ", 6),
        3 => ("Acknowledgment ", 2),
        HELLO => ("Hello ", 6),
        HEARD => ("IHU ", 6),
        6 => ("Router Id", 10),
        7 => ("Next Hop", 2),
        UPDATE => ("Update", 10),
        9 => ("Route Request ", 2),
        10 => ("Seqno Request ", 14),
        11 => ("TS/PC ", 6),
        12 => ("HMAC ", 18),
        SOURCE_UPDATE => ("SS-Update", 10),
        14 => ("SS-Request ", 3),
        15 => ("SS-MH-Request ", 14),
        16 => ("MAC ", 0),
        17 => ("PC", 4),
        18 => ("Challenge Request", 0),
        19 => ("Challenge Reply", 0),
        _ => {
            put!(line, "\n\tUnknown message type {kind}");
            return Ok(true);
        }
    };
    put!(line, "\n\t{title}");
    if value.len() < least || matches!(kind, 18 | 19) && value.len() > MAX_CHALLENGE {
        return Ok(false);
    }
    match kind {
        1 => put!(line, "Pad {}", value.len() + 2),
        2 => put!(line, "{:04x} {}", value.u16(2)?, interval(value.u16(4)?)),
        3 => put!(line, "{:04x}", value.u16(0)?),
        HELLO => hello(line, value)?,
        HEARD => heard(line, value)?,
        6 => put!(line, " {}", id(value, 2)?),
        7 => return next_hop(line, value),
        UPDATE => return update(line, value, prefixes),
        9 | 10 => return request(line, kind, value),
        11 => put!(line, "timestamp {} packetcounter {}", value.u32(2)?, value.u16(0)?),
        12 => {
            put!(line, "key-id {} digest-{} ", value.u16(0)?, value.len() - 2);
            for byte in value.skip(2).captured() {
                put!(line, "{byte:02X}");
            }
        }
        SOURCE_UPDATE => return source_update(line, value, prefixes),
        14 | 15 => return source_request(line, kind, value),
        16 => put!(line, "len {}", value.len()),
        17 => put!(line, " value {} index len {}", value.u32(0)?, value.len() - 4),
        _ => put!(line, " len {}", value.len()),
    }
    Ok(true)
}

fn id(value: View<'_>, at: usize) -> Result<String, Cut> {
    let bytes: Vec<String> = value.take(at, 8)?.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(bytes.join(":"))
}

/// A time in hundredths of a second.
fn interval(hundredths: u16) -> String {
    match hundredths {
        0 => "0.0s (bogus)".to_owned(),
        _ => format!("{}.{:02}s", hundredths / 100, hundredths % 100),
    }
}

fn route_interval(hundredths: u16) -> String {
    if hundredths == u16::MAX { "infinity".to_owned() } else { interval(hundredths) }
}

/// The prefix at `at`, whose first bytes are those of another; and how many bytes it has there.
/// Nothing if it is wrong.
fn read(encoding: u8, width: Option<u8>, omitted: (u8, &[u8; 16]), value: View<'_>, at: usize) -> Option<([u8; 16], usize)> {
    let size = match (width, encoding) {
        (Some(width), _) => usize::from(width.div_ceil(8)),
        (None, V4) => 4,
        (None, _) => 16,
    };
    let left = usize::from(omitted.0);
    let (mut octets, start, left) = match encoding {
        0 => return (size <= 16).then_some(([0; 16], 0)),
        V4 if left <= 4 && size <= 4 => (Prefixes::default().v4, 12, left),
        2 if left <= 16 && size <= 16 => ([0; 16], 0, left),
        3 if size <= 16 => {
            let mut local = [0; 16];
            local[..2].copy_from_slice(&[0xfe, 0x80]);
            (local, 0, 8)
        }
        _ => return None,
    };
    if encoding != 3 && left > 0 {
        octets[..start + left].copy_from_slice(&omitted.1[..start + left]);
    }
    let given = size.saturating_sub(left);
    octets[start + left..start + left + given].copy_from_slice(value.take(at, given).ok()?);
    Some((octets, given))
}

/// A whole prefix or, without a width, a whole address.
fn whole(encoding: u8, width: Option<u8>, value: View<'_>, at: usize) -> Option<([u8; 16], usize)> {
    read(encoding, width, (0, &[0; 16]), value, at)
}

fn prefix(octets: [u8; 16], encoding: u8, width: u8) -> String {
    let width = width.wrapping_add(if encoding == V4 { 96 } else { 0 });
    match octets {
        [head @ .., a, b, c, d] if width >= 96 && head == MAPPED => format!("{}/{}", Ipv4Addr::new(a, b, c, d), width - 96),
        _ => format!("{}/{width}", ip6::address(Ipv6Addr::from(octets))),
    }
}

fn address(octets: [u8; 16]) -> String {
    match octets {
        [head @ .., a, b, c, d] if head == MAPPED => Ipv4Addr::new(a, b, c, d).to_string(),
        _ => ip6::address(Ipv6Addr::from(octets)),
    }
}

fn hello(line: &mut Line<'_>, value: View<'_>) -> Printed {
    line.put(if value.u16(0)? & 0x8000 != 0 { "(Unicast) " } else { "" });
    put!(line, "seqno {} ", value.u16(2)?);
    match value.u16(4)? {
        0 => line.put("unscheduled"),
        time => put!(line, "interval {}", interval(time)),
    }
    parts(line, HELLO, value.skip(6))
}

fn heard(line: &mut Line<'_>, value: View<'_>) -> Printed {
    let encoding = value.u8(0)?;
    let Some((octets, size)) = whole(encoding, None, value, 6) else {
        line.cut();
        return Ok(());
    };
    let who = if encoding == 0 { "any".to_owned() } else { address(octets) };
    put!(line, "{who} rxcost {} interval {}", value.u16(2)?, interval(value.u16(4)?));
    parts(line, HEARD, value.skip(6 + size))
}

fn next_hop(line: &mut Line<'_>, value: View<'_>) -> Result<bool, Cut> {
    let encoding = value.u8(0)?;
    let Some((octets, _)) = whole(encoding, None, value, 2) else { return Ok(false) };
    put!(line, " {}", if encoding == 0 { "invalid AE 0".to_owned() } else { address(octets) });
    Ok(true)
}

/// Metric, sequence number and interval.
fn route(line: &mut Line<'_>, value: View<'_>) -> Printed {
    put!(line, " metric {} seqno {} interval {}", value.u16(8)?, value.u16(6)?, route_interval(value.u16(4)?));
    Ok(())
}

fn update(line: &mut Line<'_>, value: View<'_>, prefixes: &mut Prefixes) -> Result<bool, Cut> {
    let [encoding, flags, width, omitted] = value.array(0)?;
    let Some((octets, size)) = read(encoding, Some(width), (omitted, prefixes.of(encoding)), value, 10) else { return Ok(false) };
    for (bits, text) in [(0x80, "/prefix"), (0x40, "/id"), (0x3f, "/unknown")] {
        line.put(if flags & bits != 0 { text } else { "" });
    }
    put!(line, " {}", if encoding == 0 { "any".to_owned() } else { prefix(octets, encoding, width) });
    route(line, value)?;
    if flags & 0x80 != 0 {
        *prefixes.of(encoding) = octets;
    }
    parts(line, UPDATE, value.skip(10 + size))?;
    Ok(true)
}

fn request(line: &mut Line<'_>, kind: u8, value: View<'_>) -> Result<bool, Cut> {
    let [encoding, width] = value.array(0)?;
    let Some((octets, _)) = whole(encoding, Some(width), value, if kind == 9 { 2 } else { 14 }) else { return Ok(false) };
    let what = match (encoding, kind) {
        (0, 9) => "any".to_owned(),
        (0, _) => "invalid AE 0".to_owned(),
        _ => prefix(octets, encoding, width),
    };
    match kind {
        9 => put!(line, "for {what}"),
        _ => put!(line, "({} hops) for {what} seqno {} id {}", value.u8(4)?, value.u16(2)?, id(value, 6)?),
    }
    Ok(true)
}

fn source_update(line: &mut Line<'_>, value: View<'_>, prefixes: &mut Prefixes) -> Result<bool, Cut> {
    let [encoding, source_width, width, omitted] = value.array(0)?;
    let Some((octets, size)) = read(encoding, Some(width), (omitted, prefixes.of(encoding)), value, 10) else { return Ok(false) };
    let Some((source, source_size)) = whole(encoding, Some(source_width), value, 10 + size) else { return Ok(false) };
    put!(line, " {} from {}", prefix(octets, encoding, width), prefix(source, encoding, source_width));
    route(line, value)?;
    parts(line, SOURCE_UPDATE, value.skip(10 + size + source_size))?;
    Ok(true)
}

fn source_request(line: &mut Line<'_>, kind: u8, value: View<'_>) -> Result<bool, Cut> {
    let (at, source_at) = if kind == 14 { (3, 2) } else { (14, 5) };
    let [encoding, width] = value.array(0)?;
    let source_width = value.u8(source_at)?;
    let Some((octets, size)) = whole(encoding, Some(width), value, at) else { return Ok(false) };
    let Some((source, _)) = whole(encoding, Some(source_width), value, at + size) else { return Ok(false) };
    let both = format!("({}, {})", prefix(octets, encoding, width), prefix(source, encoding, source_width));
    match kind {
        14 if encoding == 0 => line.put("for any"),
        14 => put!(line, "for {both}"),
        _ => put!(line, "({} hops) for {both} seqno {} id {}", value.u8(4)?, value.u16(2)?, id(value, 6)?),
    }
    Ok(true)
}

fn micros(value: View<'_>, at: usize) -> Result<String, Cut> {
    let time = value.u32(at)?;
    Ok(format!("{}.{:06}s", time / 1_000_000, time % 1_000_000))
}

/// TLVs within a TLV of that kind.
fn parts(line: &mut Line<'_>, of: u8, view: View<'_>) -> Printed {
    let mut rest = view;
    while rest.len() > 0 {
        let kind = rest.u8(0)?;
        if kind == 0 {
            line.put(" sub-pad1");
            rest = rest.skip(1);
            continue;
        }
        line.put(if kind & 0x80 != 0 { " (M)" } else { "" });
        if rest.len() < 2 || rest.len() < 2 + usize::from(rest.u8(1)?) {
            line.invalid();
            return Ok(());
        }
        let length = usize::from(rest.u8(1)?);
        let value = View::new(rest.take(2, length)?, length);
        match kind {
            1 => line.put(" sub-padn"),
            2 => diversity(line, of, value),
            3 => match (of, length) {
                (HELLO, 4..) => put!(line, " sub-timestamp {}", micros(value, 0)?),
                (HEARD, 8..) => put!(line, " sub-timestamp {}|{}", micros(value, 0)?, micros(value, 4)?),
                (HELLO | HEARD, _) => {
                    line.put(" sub-timestamp");
                    line.invalid();
                    return Ok(());
                }
                _ => line.put(" sub-timestamp (bogus)"),
            },
            _ => put!(line, " sub-unknown-0x{kind:02x}"),
        }
        rest = rest.skip(2 + length);
    }
    Ok(())
}

fn diversity(line: &mut Line<'_>, of: u8, value: View<'_>) {
    line.put(" sub-diversity");
    if value.len() == 0 {
        line.put(" empty");
        return;
    }
    let channels: Vec<String> =
        value.captured().iter().map(|channel| names::find_or(&[(0, "reserved"), (255, "all")], *channel, || channel.to_string())).collect();
    put!(line, " {}{}", channels.join("-"), if matches!(of, UPDATE | SOURCE_UPDATE) { "" } else { " (bogus)" });
}
