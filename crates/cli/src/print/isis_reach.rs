//! What IS-IS says can be reached: neighbours and prefixes, old and extended.
//!
//! Source: ISO 10589, RFC 1195, RFC 5305 (extended), RFC 5308 (IPv6), RFC 5120 (topologies), RFC
//! 5307 (GMPLS), RFC 8667 (segments).

use super::isis::id;
use super::isis_fields::{INDENT, nsap};
use super::ospf_te::{ENCODINGS, PROTECTIONS, SWITCHING, megabits};
use super::view::{Cut, Printed, View};
use super::{Line, hex, ip6, names, put};
use std::net::{Ipv4Addr, Ipv6Addr};

const METRICS: usize = 4;
#[rustfmt::skip]
const LINK: &[(u8, &str)] = &[
    (3, "Administrative groups"), (4, "Link Local/Remote Identifier"), (5, "Link Remote Identifier"), (6, "IPv4 interface address"),
    (8, "IPv4 neighbor address"), (9, "Maximum link bandwidth"), (10, "Reservable link bandwidth"), (11, "Unreserved bandwidth"),
    (12, "Bandwidth Constraints (old)"), (18, "Traffic Engineering Metric"), (19, "Link Attribute"), (20, "Link Protection Type"),
    (21, "Interface Switching Capability"), (22, "Bandwidth Constraints"), (29, "SPB Metric"), (32, "LAN Adjacency Segment Identifier"),
    (250, "Reserved for cisco specific extensions"), (251, "Reserved for cisco specific extensions"),
    (252, "Reserved for cisco specific extensions"), (253, "Reserved for cisco specific extensions"),
    (254, "Reserved for cisco specific extensions"), (255, "Reserved for future expansion"),
];
const PREFIX: &[(u8, &str)] =
    &[(1, "32-Bit Administrative tag"), (2, "64-Bit Administrative tag"), (3, "Prefix SID"), (117, "Management Prefix Color")];

/// Prints a field that tells of reachability.
pub(super) fn print(line: &mut Line<'_>, kind: u8, value: View<'_>) -> Printed {
    let with_topology = matches!(kind, 222 | 235 | 237);
    let mut rest = value;
    if with_topology {
        value.take(0, 2)?;
        topology(line, value)?;
        rest = value.skip(2);
    }
    if kind == 2 && value.len() > 0 {
        let flag = value.u8(0)?;
        let name = names::find_or(&[(0, "IsNotVirtual"), (1, "IsVirtual")], flag, || format!("bogus virtual flag 0x{flag:02x}"));
        put!(line, "{INDENT}{name}");
        rest = value.skip(1);
    }
    if kind == 5 {
        return prefixes_of_end_systems(line, value);
    }
    while rest.len() > 0 {
        let size = match kind {
            2 | 3 if rest.len() < if kind == 2 { 11 } else { 10 } => break,
            2 => old(line, "IS", 7, rest)?,
            3 => old(line, "ES", 6, rest)?,
            128 | 130 if rest.len() < 12 => {
                put!(line, "short IPv4 Reachability ({} vs 12)", rest.len());
                break;
            }
            128 | 130 => old_prefix(line, rest)?,
            22 | 24 | 222 => neighbor(line, kind, rest)?,
            _ => prefix(line, kind >= 236, rest)?,
        };
        if rest.len() < size {
            put!(line, " [remaining tlv length {} < {size}]", rest.len());
            line.invalid();
            break;
        }
        rest = rest.skip(size);
    }
    Ok(())
}

/// The topology that a field belongs to.
pub(super) fn topology(line: &mut Line<'_>, view: View<'_>) -> Printed {
    let (number, flags) = (view.u16(0)? & 0xfff, view.u16(0)? & 0xf000);
    #[rustfmt::skip]
    let known = [
        (0, "IPv4 unicast"), (1, "In-Band Management"), (2, "IPv6 unicast"), (3, "Multicast"), (4095, "Development, Experimental or Proprietary"),
    ];
    let set = names::flags(&[(0x4000, "ATT bit set"), (0x8000, "Overload bit set")], flags, ", ");
    let name = names::find(&known, number).unwrap_or("Reserved for IETF Consensus");
    put!(line, "{INDENT}{name} Topology (0x{number:03x}), Flags: [{set}]");
    Ok(())
}

fn side(metric: u8) -> &'static str {
    if metric & 0x40 != 0 { "External" } else { "Internal" }
}

/// The other three of the four old metrics, where they are supported.
fn other_metrics(line: &mut Line<'_>, view: View<'_>, at: usize, indent: &str) -> Printed {
    for (name, at) in [("Delay", at + 1), ("Expense", at + 2), ("Error", at + 3)] {
        let metric = view.u8(at)?;
        if metric & 0x80 == 0 {
            put!(line, "{indent}  {name} Metric: {}, {}", metric & 0x3f, side(metric));
        }
    }
    Ok(())
}

fn metrics(line: &mut Line<'_>, view: View<'_>, at: usize) -> Printed {
    let metric = view.u8(at)?;
    put!(line, ", Default Metric: {}, {}", metric & 0x3f, side(metric));
    other_metrics(line, view, at, "\n\t\t")
}

fn old(line: &mut Line<'_>, what: &str, size: usize, rest: View<'_>) -> Result<usize, Cut> {
    rest.take(0, METRICS + size)?;
    put!(line, "{INDENT}{what} Neighbor: {}", id(rest.take(METRICS, size)?));
    metrics(line, rest, 0)?;
    Ok(METRICS + size)
}

fn old_prefix(line: &mut Line<'_>, rest: View<'_>) -> Result<usize, Cut> {
    rest.take(0, 12)?;
    let (address, mask) = (rest.v4(4)?, rest.u32(8)?);
    match mask.leading_ones() + mask.trailing_zeros() >= 32 {
        true => put!(line, "{INDENT}IPv4 prefix: {:>15}/{}", address.to_string(), mask.leading_ones()),
        false => put!(line, "{INDENT}IPv4 prefix: {address} mask {}", rest.v4(8)?),
    }
    let metric = rest.u8(0)?;
    let way = if metric & 0x80 != 0 { "down" } else { "up" };
    put!(line, ", Distribution: {way}, Metric: {}, {}", metric & 0x3f, side(metric));
    other_metrics(line, rest, 0, INDENT)?;
    Ok(12)
}

fn prefixes_of_end_systems(line: &mut Line<'_>, value: View<'_>) -> Printed {
    if value.len() < METRICS {
        return Ok(());
    }
    put!(line, "{INDENT}Metric Block");
    metrics(line, value, 0)?;
    let mut rest = value.skip(METRICS);
    while rest.len() > 0 {
        // In half bytes.
        let length = usize::from(rest.u8(0)?);
        if length < 2 {
            put!(line, "\n\t\tAddress: prefix length {length} < 2");
            break;
        }
        if rest.len() - 1 < length / 2 {
            break;
        }
        put!(line, "\n\t\tAddress: {}/{}", nsap(rest.take(1, length / 2)?), length * 4);
        rest = rest.skip(1 + length / 2);
    }
    Ok(())
}

/// A neighbour with what is said of the link to it; its size.
fn neighbor(line: &mut Line<'_>, kind: u8, rest: View<'_>) -> Result<usize, Cut> {
    put!(line, "{INDENT}IS Neighbor: {}", id(rest.take(0, 7)?));
    let mut at = 7;
    if kind != 24 {
        rest.take(0, 10)?;
        put!(line, ", Metric: {}", rest.u24(7)?);
        at = 10;
    }
    let size = usize::from(rest.u8(at)?);
    if size == 0 {
        line.put(", no sub-TLVs present");
        return Ok(at + 1);
    }
    put!(line, ", sub-TLVs present ({size})");
    let mut parts = rest.first(at + 1 + size).skip(at + 1);
    while parts.len() > 0 {
        if parts.len() < 2 {
            let whose = if rest.len() < at + 1 + size { "TLV" } else { "subTLVs" };
            put!(line, "{INDENT}  Remaining data in {whose} shorter than a subTLV header");
            break;
        }
        let (kind, length) = (parts.u8(0)?, usize::from(parts.u8(1)?));
        put!(line, "{INDENT}  {} subTLV #{kind}, length: {length}", names::find(LINK, kind).unwrap_or("unknown"));
        if parts.len() < 2 + length {
            line.put(" (remaining data in subTLVs shorter than the current subTLV)");
            break;
        }
        link(line, kind, View::new(parts.take(2, length)?, length))?;
        parts = parts.skip(2 + length);
    }
    Ok((at + 1 + size).min(rest.len()))
}

fn bandwidths(line: &mut Line<'_>, name: &str, value: View<'_>) -> Printed {
    for (number, at) in (0..value.len() - value.len() % 4).step_by(4).enumerate() {
        put!(line, "{INDENT}    {name}{number}: {} Mbps", megabits(value, at)?);
    }
    Ok(())
}

fn link(line: &mut Line<'_>, kind: u8, value: View<'_>) -> Printed {
    let length = value.len();
    match kind {
        3..=5 if length >= 4 => {
            put!(line, ", 0x{:08x}", value.u32(0)?);
            if length == 8 {
                put!(line, ", 0x{:08x}", value.u32(4)?);
            }
        }
        6 | 8 if length >= 4 => put!(line, ", {}", value.v4(0)?),
        9 | 10 if length >= 4 => put!(line, ", {} Mbps", megabits(value, 0)?),
        11 if length >= 32 => bandwidths(line, "TE-Class ", value.first(32))?,
        12 | 22 if length > 0 => {
            let model = value.u8(0)?;
            let models = [(0, "Russian dolls"), (1, "Maximum allocation"), (2, "Maximum allocation with E-LSP support")];
            let name = names::find(&models, model).unwrap_or("unknown");
            put!(line, "{INDENT}  Bandwidth Constraints Model ID: {name} ({model})");
            bandwidths(line, "Bandwidth constraint CT", value.skip(1))?;
        }
        18 if length >= 3 => put!(line, ", {}", value.u24(0)?),
        19 if length == 2 => {
            let known =
                [(1, "Local Protection Available"), (2, "Link excluded from local protection path"), (4, "Local maintenance required")];
            let set = value.u16(0)?;
            let text = if set & 7 == 0 { "Unknown".to_owned() } else { names::flags(&known, set, ", ") };
            put!(line, ", [ {text} ] (0x{set:04x})");
        }
        20 if length >= 2 => {
            put!(line, ", {}, Priority {}", names::flags(PROTECTIONS, value.u8(0)?.into(), ", "), value.u8(1)?);
        }
        21 if length >= 36 => switching(line, value)?,
        29 if length >= 6 => put!(line, ", LM: {}, P: {}, P-ID: {}", value.u24(0)?, value.u8(3)?, value.u16(4)?),
        32 if length >= 8 => segment(line, value)?,
        3..=6 | 8..=12 | 18..=22 | 29 | 32 => {}
        _ => hex::indented(&mut line.text, value.captured(), "\n\t\t    "),
    }
    Ok(())
}

fn switching(line: &mut Line<'_>, value: View<'_>) -> Printed {
    let capability = value.u8(0)?;
    put!(line, "{INDENT}    Interface Switching Capability:{}", names::find(SWITCHING, capability).unwrap_or("Unknown"));
    put!(line, ", LSP Encoding: {}", names::find(ENCODINGS, value.u8(1)?).unwrap_or("Unknown"));
    put!(line, "{INDENT}    Max LSP Bandwidth:");
    bandwidths(line, "  priority level ", value.skip(4).first(32))?;
    let rest = value.skip(36);
    match capability {
        1..=4 if rest.len() >= 6 => {
            put!(line, "{INDENT}    Min LSP Bandwidth: {} Mbps{INDENT}    Interface MTU: {}", megabits(rest, 0)?, rest.u16(4)?);
        }
        100 if rest.len() >= 8 => {
            let kind = rest.u8(4)?;
            let kind = names::find_or(&[(0, "Standard SONET/SDH"), (1, "Arbitrary SONET/SDH")], kind, || format!("Unknown ({kind})"));
            put!(line, "{INDENT}    Min LSP Bandwidth: {} Mbps{INDENT}    Indication {kind}", megabits(rest, 0)?);
        }
        1..=4 | 100 => {}
        _ => hex::indented(&mut line.text, rest.captured(), "\n\t\t    "),
    }
    Ok(())
}

/// A segment's identifier on a shared link (RFC 8667, section 2.2.2).
fn segment(line: &mut Line<'_>, value: View<'_>) -> Printed {
    #[rustfmt::skip]
    let known = [
        (0x80, "Address family IPv6"), (0x40, "Backup"), (0x20, "Value"), (0x10, "Local significance"), (0x08, "Set of adjacencies"),
        (0x04, "Persistent"),
    ];
    let flags = value.u8(0)?;
    put!(line, "{INDENT}    Flags: [{}]", names::flags(&known, flags.into(), ", "));
    put!(line, "{INDENT}    Weight: {}", value.u8(1)?);
    put!(line, "{INDENT}    Neighbor System-ID: {}", id(value.take(2, 6)?));
    match flags & 0x30 {
        0x30 => put!(line, "{INDENT}    Label: {}", value.u24(8)?),
        0x00 => put!(line, "{INDENT}    Index: {}", value.u32(8)?),
        _ => line.invalid(),
    }
    Ok(())
}

/// A prefix with as many bytes as it needs; its size.
fn prefix(line: &mut Line<'_>, v6: bool, rest: View<'_>) -> Result<usize, Cut> {
    let (metric, status) = (rest.u32(0)?, rest.u8(4)?);
    let (width, at, most) = if v6 { (rest.u8(5)?, 6, 128) } else { (status & 0x3f, 5, 32) };
    if width > most {
        put!(line, "{INDENT}IPv{} prefix: bad bit length {width}", if v6 { 6 } else { 4 });
        return Err(Cut);
    }
    let size = usize::from(width.div_ceil(8));
    let mut octets = [0; 16];
    octets[..size].copy_from_slice(rest.take(at, size)?);
    match v6 {
        true => put!(line, "{INDENT}IPv6 prefix: {}/{width}", ip6::address(Ipv6Addr::from(octets))),
        false => {
            let [a, b, c, d, ..] = octets;
            put!(line, "{INDENT}IPv4 prefix: {:>15}/{width}", Ipv4Addr::new(a, b, c, d).to_string());
        }
    }
    put!(line, ", Distribution: {}, Metric: {metric}", if status & 0x80 != 0 { "down" } else { "up" });
    if v6 {
        put!(line, ", {}", side(status));
    }
    let with_parts = status & if v6 { 0x20 } else { 0x40 } != 0;
    if !with_parts {
        return Ok(at + size);
    }
    let length = usize::from(rest.u8(at + size)?);
    put!(line, ", sub-TLVs present ({length})");
    let mut parts = rest.skip(at + size + 1).first(length);
    while parts.len() > 0 {
        let (kind, length) = (parts.u8(0)?, usize::from(parts.u8(1)?));
        put!(line, "{INDENT}  {} subTLV #{kind}, length: {length}", names::find(PREFIX, kind).unwrap_or("unknown"));
        of_prefix(line, kind, View::new(parts.take(2, length)?, length))?;
        parts = parts.skip(2 + length);
    }
    Ok(at + size + 1 + length)
}

fn of_prefix(line: &mut Line<'_>, kind: u8, value: View<'_>) -> Printed {
    match kind {
        1 | 117 => {
            for at in (0..value.len() - value.len() % 4).step_by(4) {
                put!(line, ", 0x{:08x} (={})", value.u32(at)?, value.u32(at)?);
            }
        }
        2 => {
            for at in (0..value.len() - value.len() % 8).step_by(8) {
                put!(line, ", 0x{:016x}", value.u64(at)?);
            }
        }
        3 => {
            #[rustfmt::skip]
            let known = [
                (0x80, "Readvertisement"), (0x40, "Node"), (0x20, "No-PHP"), (0x10, "Explicit NULL"), (0x08, "Value"), (0x04, "Local"),
            ];
            let (flags, algorithm) = (value.u8(0)?, value.u8(1)?);
            let (what, number) = if flags & 8 != 0 { ("label", value.u24(2)?) } else { ("index", value.u32(2)?) };
            let set = if flags & 0xfc == 0 { "None".to_owned() } else { names::flags(&known, flags.into(), ", ") };
            let name = names::find(&[(0, "SPF"), (1, "strict-SPF")], algorithm).unwrap_or("Unknown");
            put!(line, ", Flags [{set}], Algo {name} ({algorithm}), {what} {number}");
        }
        _ => hex::indented(&mut line.text, value.captured(), "\n\t\t    "),
    }
    Ok(())
}
