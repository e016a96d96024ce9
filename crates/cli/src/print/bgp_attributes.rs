//! Path attributes of BGP (RFC 4271, section 4.3, and successors).

use super::bgp_routes::Family;
use super::ospf_te::megabits;
use super::view::{Cut, Printed, View};
use super::{Line, hex, names, put};

/// Attributes within attributes that are followed.
const MAX_LEVEL: u8 = 10;
#[rustfmt::skip]
const NAMES: &[(u8, &str)] = &[
    (1, "Origin"), (2, "AS Path"), (3, "Next Hop"), (4, "Multi Exit Discriminator"), (5, "Local Preference"), (6, "Atomic Aggregate"),
    (7, "Aggregator"), (8, "Community"), (9, "Originator ID"), (10, "Cluster List"), (11, "DPA"), (12, "Advertisers"),
    (13, "RCID Path / Cluster ID"), (14, "Multi-Protocol Reach NLRI"), (15, "Multi-Protocol Unreach NLRI"), (16, "Extended Community"),
    (17, "AS4 Path"), (18, "Aggregator4"), (22, "PMSI Tunnel"), (23, "Tunnel Encapsulation"), (24, "Traffic Engineering"),
    (25, "IPv6 Extended Community"), (26, "Accumulated IGP Metric"), (27, "PE Distinguisher Label"), (28, "Entropy Label"),
    (32, "Large Community"), (128, "Attribute Set"), (255, "Reserved for development"),
];
const REACH: u8 = 14;
const UNREACH: u8 = 15;

/// Prints attributes up to the end.
pub(super) fn list(line: &mut Line<'_>, view: View<'_>, indent: &str, level: u8) -> Printed {
    let short = if level == 0 { "\n\t  [path attrs too short]" } else { " [path attr too short]" };
    let mut rest = view;
    while rest.len() > 0 {
        let flags = rest.u8(0)?;
        let long = flags & 0x10 != 0;
        let head = if long { 4 } else { 3 };
        if rest.len() < head {
            line.put(short);
            break;
        }
        let kind = rest.u8(1)?;
        let length = if long { usize::from(rest.u16(2)?) } else { usize::from(rest.u8(2)?) };
        put!(line, "{indent}{} ({kind}), length: {length}", names::find(NAMES, kind).unwrap_or("Unknown Attribute"));
        shown_flags(line, flags);
        line.put(if level > 0 || flags != 0 { ": " } else { "" });
        if rest.len() < head + length {
            line.put(if level == 0 { " [path attrs too short]" } else { " [path attr too short]" });
            break;
        }
        let value = View::new(rest.take(head, length)?, length);
        match level {
            MAX_LEVEL.. => line.put("(too many nested levels, not recursing)"),
            _ => attribute(line, kind, value, level)?,
        }
        rest = rest.skip(head + length);
    }
    Ok(())
}

fn shown_flags(line: &mut Line<'_>, flags: u8) {
    if flags == 0 {
        return;
    }
    line.put(", Flags [");
    for (bit, letter) in [(0x80, "O"), (0x40, "T"), (0x20, "P"), (0x10, "E")] {
        line.put(if flags & bit != 0 { letter } else { "" });
    }
    if flags & 15 != 0 {
        put!(line, "+{:x}", flags & 15);
    }
    line.put("]");
}

fn attribute(line: &mut Line<'_>, kind: u8, value: View<'_>, level: u8) -> Printed {
    let length = value.len();
    let valid = match kind {
        1 => length == 1,
        2 | 17 => length.is_multiple_of(2),
        3..=5 | 9 => length == 4,
        6 => length == 0,
        7 => length == 6 || length == 8,
        18 => length == 8,
        8 | 10 => length.is_multiple_of(4),
        16 => length.is_multiple_of(8),
        32 => length > 0 && length.is_multiple_of(12),
        _ => true,
    };
    match valid {
        true => contents(line, kind, value, level)?,
        false => line.put("invalid len"),
    }
    // tcpdump has used up the bytes of these two by now.
    if line.style.verbose > 1 && !matches!((kind, valid), (128, _) | (32, true)) {
        hex::indented(&mut line.text, value.captured(), "\n\t    ");
    }
    Ok(())
}

fn contents(line: &mut Line<'_>, kind: u8, value: View<'_>, level: u8) -> Printed {
    match kind {
        1 => line.put(["IGP", "EGP", "Incomplete"].get(usize::from(value.u8(0)?)).unwrap_or(&"Unknown Origin Typecode")),
        2 | 17 => path(line, kind, value)?,
        3 | 9 => put!(line, "{}", value.v4(0)?),
        4 | 5 => put!(line, "{}", value.u32(0)?),
        6 => {}
        7 if value.len() == 6 => put!(line, " AS #{}, origin {}", value.u16(0)?, value.v4(2)?),
        7 | 18 => put!(line, " AS #{}, origin {}", value.u32(0)?, value.v4(4)?),
        8 => communities(line, value)?,
        10 => {
            for at in (0..value.len()).step_by(4) {
                put!(line, "{}{}", if at == 0 { "" } else { ", " }, value.v4(at)?);
            }
        }
        REACH | UNREACH => reach(line, kind, value)?,
        16 => {
            for at in (0..value.len()).step_by(8) {
                community(line, value.skip(at))?;
            }
        }
        22 => tunnel(line, value)?,
        26 => metric(line, value)?,
        32 => {
            line.put("\n\t    ");
            for at in (0..value.len()).step_by(12) {
                let comma = if at == 0 { "" } else { ", " };
                put!(line, "{comma}{}:{}:{}", value.u32(at)?, value.u32(at + 4)?, value.u32(at + 8)?);
            }
        }
        128 => {
            put!(line, "\n\t    Origin AS: {}", value.u32(0)?);
            list(line, value.skip(4), "\n\t      ", level + 1)?;
        }
        _ => {
            put!(line, "\n\t    no Attribute {kind} decoder");
            if line.style.verbose == 1 {
                hex::indented(&mut line.text, value.captured(), "\n\t    ");
            }
        }
    }
    Ok(())
}

/// Systems on the way, in segments. Numbers have two bytes if the attribute can be read so, else
/// four.
fn path(line: &mut Line<'_>, kind: u8, value: View<'_>) -> Printed {
    if value.len() == 0 {
        line.put("empty");
        return Ok(());
    }
    let mut at = 0;
    while at < value.len() && (1..=4).contains(&value.u8(at)?) {
        at += 2 + 2 * usize::from(value.u8(at + 1)?);
    }
    let size = if kind == 2 && at == value.len() { 2 } else { 4 };
    let mut rest = value;
    while rest.len() > 0 {
        let (open, close) = match rest.u8(0)? {
            1 => ("{ ", "}"),
            2 => ("", ""),
            3 => ("( ", ")"),
            4 => ("({ ", "})"),
            _ => ("?", "?"),
        };
        line.put(open);
        let count = usize::from(rest.u8(1)?);
        for at in (2..).step_by(size).take(count) {
            match size {
                2 => put!(line, "{} ", rest.u16(at)?),
                _ => put!(line, "{} ", rest.u32(at)?),
            }
        }
        line.put(close);
        rest = rest.skip(2 + count * size);
    }
    Ok(())
}

fn communities(line: &mut Line<'_>, value: View<'_>) -> Printed {
    for at in (0..value.len()).step_by(4) {
        match value.u32(at)? {
            0xffff_ff01 => line.put(" NO_EXPORT"),
            0xffff_ff02 => line.put(" NO_ADVERTISE"),
            0xffff_ff03 => line.put(" NO_EXPORT_SUBCONFED"),
            number => {
                let comma = if at + 4 < value.len() { ", " } else { "" };
                put!(line, "{}:{}{comma}", number >> 16, number & 0xffff);
            }
        }
    }
    Ok(())
}

/// Routes of other families (RFC 4760) that come or go.
fn reach(line: &mut Line<'_>, kind: u8, value: View<'_>) -> Printed {
    let Some(family) = Family::print(line, value)? else {
        put!(line, "\n\t    no AFI {} / SAFI {} decoder", value.u16(0)?, value.u8(2)?);
        if line.style.verbose == 1 {
            hex::indented(&mut line.text, value.captured(), "\n\t    ");
        }
        return Ok(());
    };
    let rest = value.skip(3);
    if kind == UNREACH {
        line.put(if rest.len() == 0 { "\n\t      End-of-Rib Marker (empty NLRI)" } else { "" });
        return family.routes(line, rest);
    }
    let length = usize::from(rest.u8(0)?);
    let mut hops = View::new(rest.take(1, length)?, length);
    if length > 0 {
        line.put("\n\t    nexthop: ");
    }
    while hops.len() > 0 {
        line.put(if hops.len() < length { ", " } else { "" });
        let size = family.next_hop(line, hops)?;
        hops = hops.skip(size);
    }
    put!(line, ", nh-length: {length}");
    let mut rest = rest.skip(1 + length);
    let points = rest.u8(0)?;
    rest = rest.skip(1);
    match points {
        0 => line.put(", no SNPA"),
        _ => put!(line, "\n\t    {points} SNPA"),
    }
    for _ in 0..points {
        let size = usize::from(rest.u8(0)?);
        put!(line, "\n\t      {size} bytes");
        rest.take(1, size)?;
        rest = rest.skip(1 + size);
    }
    family.routes(line, rest)
}

/// Extended communities (RFC 4360): number and name.
#[rustfmt::skip]
const COMMUNITIES: &[(u16, &str)] = &[
    (0x0002, "target"), (0x0102, "target"), (0x0202, "target"), (0x0003, "origin"), (0x0103, "origin"), (0x0203, "origin"), (0x4004, "link-BW"),
    (0x0005, "ospf-domain"), (0x0105, "ospf-domain"), (0x0205, "ospf-domain"), (0x8005, "ospf-domain"), (0x0306, "ospf-route-type"),
    (0x8000, "ospf-route-type"), (0x030c, "encapsulation"), (0x0107, "ospf-router-id"), (0x8001, "ospf-router-id"), (0x800a, "layer2-info"),
    (0x8800, "eigrp-general-route (flag, tag)"), (0x8801, "eigrp-route-metric (AS, delay)"),
    (0x8802, "eigrp-route-metric (reliability, nexthop, bandwidth)"), (0x8803, "eigrp-route-metric (load, MTU)"),
    (0x8804, "eigrp-external-route (remote-AS, remote-ID)"), (0x8805, "eigrp-external-route (remote-proto, remote-metric)"),
    (0x0009, "source-AS"), (0x010b, "vrf-route-import"), (0x000a, "l2vpn-id"), (0xf10a, "l2vpn-id"),
];
const OSPF: &[(u8, &str)] = &[(1, "Router"), (2, "Network"), (3, "Summary"), (5, "External"), (7, "NSSA External"), (129, "MPLS-VPN Sham")];
#[rustfmt::skip]
const TUNNELS: [&str; 17] = [
    "L2TPv3 over IP", "GRE", "Transmit Tunnel", "IPsec", "IP in IP with IPsec", "MPLS in IP with IPsec", "IP in IP", "VXLAN", "NVGRE", "MPLS",
    "MPLS in GRE", "VXLAN GPE", "MPLS in UDP", "IPv6", "SR TE", "Bare", "SR",
];

fn community(line: &mut Line<'_>, view: View<'_>) -> Printed {
    let kind = view.u16(0)?;
    let flags = names::flags(&[(0x8000, "vendor-specific"), (0x4000, "non-transitive")], kind, ", ");
    let name = names::find(COMMUNITIES, kind).unwrap_or("unknown extd community typecode");
    put!(line, "\n\t    {name} (0x{kind:04x}), Flags [{flags}]: ");
    match kind {
        0x0002 | 0x0003 | 0x000a => put!(line, "{}:{} (= {})", view.u16(2)?, view.u32(4)?, view.v4(4)?),
        0x0102 | 0x0103 | 0xf10a | 0x010b => put!(line, "{}:{}", view.v4(2)?, view.u16(6)?),
        0x0202 | 0x0203 => put!(line, "{}:{}", view.u32(2)?, view.u16(6)?),
        0x4004 => put!(line, "bandwidth: {} Mbps", megabits(view, 4)?),
        0x0005 | 0x0105 | 0x0205 | 0x8005 | 0x0107 | 0x8001 => put!(line, "{}", view.v4(2)?),
        0x0306 | 0x8000 => {
            let route = view.u8(6)?;
            let name = names::find_or(OSPF, route, || format!("unknown (0x{route:02x})"));
            let (second, first) = (view.u8(7)? & 1 != 0, matches!(route, 5 | 7));
            let kind = [if second { "E2" } else { "" }, if first { "E1" } else { "" }].concat();
            put!(line, "area:{}, router-type:{name}, metric-type:{kind}", view.v4(2)?);
        }
        0x0009 => put!(line, "AS {}", view.u16(2)?),
        0x030c => {
            let name = usize::from(view.u16(6)?).checked_sub(1).and_then(|at| TUNNELS.get(at));
            put!(line, "Tunnel type: {}", name.unwrap_or(&"unknown encaps"));
        }
        _ => {
            for byte in view.take(2, 6)? {
                put!(line, "{byte:02x}");
            }
        }
    }
    Ok(())
}

/// Tunnels of multicast VPNs (RFC 6514, section 5).
fn tunnel(line: &mut Line<'_>, value: View<'_>) -> Printed {
    let names =
        ["RSVP-TE P2MP LSP", "LDP P2MP LSP", "PIM-SSM Tree", "PIM-SM Tree", "PIM-Bidir Tree", "Ingress Replication", "LDP MP2MP LSP"];
    value.take(0, 5)?;
    let (flags, kind) = (value.u8(0)?, value.u8(1)?);
    let name = usize::from(kind).checked_sub(1).and_then(|at| names.get(at)).unwrap_or(&"Unknown");
    let set = if flags & 1 != 0 { "Leaf Information required" } else { "none" };
    put!(line, "\n\t    Tunnel-type {name} ({kind}), Flags [{set}], MPLS Label {}", value.u24(2)? >> 4);
    let rest = value.skip(5);
    match kind {
        3..=5 => {
            let who = if kind == 3 { "Root-Node" } else { "Sender" };
            put!(line, "\n\t      {who} {}, P-Group {}", rest.v4(0)?, rest.v4(4)?);
        }
        6 => put!(line, "\n\t      Tunnel-Endpoint {}", rest.v4(0)?),
        2 | 7 => put!(line, "\n\t      Root-Node {}, LSP-ID 0x{:08x}", rest.v4(0)?, rest.u32(4)?),
        1 => put!(line, "\n\t      Extended-Tunnel-ID {}, P2MP-ID 0x{:08x}", rest.v4(0)?, rest.u32(4)?),
        _ if line.style.verbose == 1 => hex::indented(&mut line.text, rest.captured(), "\n\t      "),
        _ => {}
    }
    Ok(())
}

/// The metric of the way within (RFC 7311).
fn metric(line: &mut Line<'_>, value: View<'_>) -> Result<(), Cut> {
    let mut rest = value;
    while rest.len() >= 3 {
        let (kind, length) = (rest.u8(0)?, usize::from(rest.u16(1)?));
        put!(line, "\n\t    {} TLV ({kind}), length {length}", if kind == 1 { "AIGP" } else { "Unknown" });
        let size = length.checked_sub(3).ok_or(Cut)?;
        let part = View::new(rest.take(3, size)?, size);
        match kind {
            1 => put!(line, ", metric {}", part.u64(0)?),
            _ if line.style.verbose == 1 => hex::indented(&mut line.text, part.captured(), "\n\t      "),
            _ => {}
        }
        rest = rest.skip(length);
    }
    Ok(())
}
