//! What opaque advertisements of OSPF carry: traffic engineering, graceful restart, a router's
//! capabilities.
//!
//! Source: RFC 3630, RFC 4203 (traffic engineering), RFC 4124 (bandwidth constraints), RFC 3623
//! (restart), RFC 7770 (capabilities).

use super::view::{Cut, Printed, View};
use super::{Line, hex, names, put};

/// Prints the values of an opaque advertisement of `size` bytes; false if one of them is wrong.
pub(super) fn opaque(line: &mut Line<'_>, kind: u8, body: View<'_>, size: usize) -> Result<bool, Cut> {
    match kind {
        1 => engineering(line, body, size),
        3 => grace(line, body, size),
        4 => capabilities(line, body, size),
        _ => {
            unknown(line, body.first(size), "\n\t    ");
            Ok(true)
        }
    }
}

/// Bytes without a meaning here; `-vv` shows them all later.
fn unknown(line: &mut Line<'_>, value: View<'_>, indent: &str) {
    if line.style.verbose <= 1 {
        hex::indented(&mut line.text, value.captured(), indent);
    }
}

/// A value with its kind and length, padded to a multiple of four bytes.
struct Field<'a> {
    kind: u16,
    length: usize,
    value: View<'a>,
}

impl<'a> Field<'a> {
    fn read(view: View<'a>) -> Result<Self, Cut> {
        Ok(Self { kind: view.u16(0)?, length: view.u16(2)?.into(), value: view.skip(4) })
    }

    fn padded(&self) -> usize {
        self.length.next_multiple_of(4)
    }
}

/// Prints fields one after the other. `print` prints one, told how many bytes are left for it;
/// false ends all.
fn fields(
    line: &mut Line<'_>,
    body: View<'_>,
    size: usize,
    unit: &str,
    mut print: impl FnMut(&mut Line<'_>, &Field<'_>, usize) -> Result<bool, Cut>,
) -> Result<bool, Cut> {
    let (mut rest, mut left) = (body, size);
    while left > 0 {
        rest.take(0, 4)?;
        if left < 4 {
            put!(line, "\n\t    Remaining {unit} length {left} < 4");
            return Ok(false);
        }
        let field = Field::read(rest)?;
        left -= 4;
        if !print(line, &field, left)? {
            return Ok(false);
        }
        if field.padded() > left {
            match unit {
                "TLV" => put!(line, "\n\t    Remaining TLV length {left} < {}", field.padded()),
                _ => put!(line, "\n\t    Bogus padded length {} > {left}", field.padded()),
            }
            return Ok(false);
        }
        left -= field.padded();
        rest = rest.skip(4 + field.padded());
    }
    Ok(true)
}

/// True if the field fits and is not empty; else what is wrong is printed.
fn fits(line: &mut Line<'_>, field: &Field<'_>, left: usize) -> bool {
    let wrong = field.length > left;
    if wrong {
        put!(line, "\n\t    Bogus length {} > {left}", field.length);
    } else if field.kind == 0 || field.length == 0 {
        line.invalid();
    }
    !wrong && field.kind != 0 && field.length != 0
}

/// Graceful restart; OSPF version 3 has the same.
pub(super) fn grace(line: &mut Line<'_>, body: View<'_>, size: usize) -> Result<bool, Cut> {
    fields(line, body, size, "LS", |line, field, left| {
        let table = [(1, "Grace Period"), (2, "Graceful restart Reason"), (3, "IPv4 interface address")];
        let name = names::find(&table, field.kind).unwrap_or("unknown");
        put!(line, "\n\t    {name} TLV ({}), length {}, value: ", field.kind, field.length);
        if !fits(line, field, left) {
            return Ok(false);
        }
        let right = [field.length, 4, 1, 4].get(usize::from(field.kind)).copied().unwrap_or(field.length);
        if field.length != right {
            put!(line, "\n\t    Bogus length {} != {right}", field.length);
            return Ok(false);
        }
        match field.kind {
            1 => put!(line, "{}s", field.value.u32(0)?),
            2 => {
                let reasons = ["Unknown", "Software Restart", "Software Reload/Upgrade", "Control Processor Switch"];
                let reason = field.value.u8(0)?;
                put!(line, "{} ({reason})", reasons.get(usize::from(reason)).unwrap_or(&"Unknown"));
            }
            3 => put!(line, "{}", field.value.v4(0)?),
            _ => unknown(line, field.value.first(field.length), "\n\t      "),
        }
        Ok(true)
    })
}

/// Traffic engineering: a router's address, and links. OSPF version 3 has the same.
pub(super) fn engineering(line: &mut Line<'_>, body: View<'_>, size: usize) -> Result<bool, Cut> {
    fields(line, body, size, "LS", |line, field, left| {
        let name = names::find(&[(1, "Router Address"), (2, "Link")], field.kind).unwrap_or("unknown");
        put!(line, "\n\t    {name} TLV ({}), length: {}", field.kind, field.length);
        if !fits(line, field, left) {
            line.invalid();
            return Ok(false);
        }
        match field.kind {
            1 if field.length < 4 => {
                put!(line, "\n\t    TLV length {} < 4", field.length);
                line.invalid();
                return Ok(false);
            }
            1 => put!(line, ", {}", field.value.v4(0)?),
            2 => return fields(line, field.value, field.length, "TLV", of_link),
            _ => unknown(line, field.value.first(field.length), "\n\t      "),
        }
        Ok(true)
    })
}

/// How what is said of a link is printed.
#[derive(Clone, Copy)]
enum Link {
    Kind,
    Id,
    Address,
    Metric,
    Bandwidth,
    EachClass,
    Group,
    Protection,
    Switching,
    Risks,
    Constraints,
}

/// What is said of a link: its number; its name, how it is printed, and its length, or 0 if that
/// may vary.
#[rustfmt::skip]
const LINK: &[(u16, (&str, Link, usize))] = &[
    (1, ("Link Type", Link::Kind, 1)),
    (2, ("Link ID", Link::Id, 0)),
    (3, ("Local Interface IP address", Link::Address, 4)),
    (4, ("Remote Interface IP address", Link::Address, 4)),
    (5, ("Traffic Engineering Metric", Link::Metric, 4)),
    (6, ("Maximum Bandwidth", Link::Bandwidth, 4)),
    (7, ("Maximum Reservable Bandwidth", Link::Bandwidth, 4)),
    (8, ("Unreserved Bandwidth", Link::EachClass, 32)),
    (9, ("Administrative Group", Link::Group, 4)),
    (11, ("Link Local/Remote Identifier", Link::Id, 0)),
    (14, ("Link Protection Type", Link::Protection, 4)),
    (15, ("Interface Switching Capability", Link::Switching, 0)),
    (16, ("Shared Risk Link Group", Link::Risks, 0)),
    (17, ("Bandwidth Constraints", Link::Constraints, 0)),
];

fn of_link(line: &mut Line<'_>, field: &Field<'_>, left: usize) -> Result<bool, Cut> {
    if field.kind == 0 || field.length == 0 {
        line.invalid();
        return Ok(false);
    }
    let known = names::find_any(LINK, field.kind);
    let name = known.map_or("unknown", |(name, ..)| name);
    put!(line, "\n\t      {name} subTLV ({}), length: {}", field.kind, field.length);
    if left < field.length {
        put!(line, "\n\t    Remaining TLV length {left} < {}", field.length);
        return Ok(false);
    }
    field.value.take(0, field.length)?;
    let Some((_, how, right)) = known else {
        unknown(line, field.value.first(field.length), "\n\t\t");
        return Ok(true);
    };
    let wrong = match how {
        _ if right != 0 && field.length != right => Some(format!(" != {right}")),
        Link::Id if field.length != 4 && field.length != 8 => Some(" != 4 && != 8".to_owned()),
        Link::Switching if field.length < 36 => Some(" < 36".to_owned()),
        Link::Risks if !field.length.is_multiple_of(4) => Some(" != N x 4".to_owned()),
        Link::Constraints if field.length < 4 => Some(" < 4".to_owned()),
        _ => None,
    };
    match wrong {
        Some(wrong) => {
            line.put(&wrong);
            line.invalid();
            Ok(false)
        }
        None => link_value(line, how, field.value.first(field.length)).map(|()| true),
    }
}

fn link_value(line: &mut Line<'_>, how: Link, value: View<'_>) -> Printed {
    match how {
        Link::Kind => {
            let kind = value.u8(0)?;
            put!(line, ", {} ({kind})", names::find(&[(1, "Point-to-point"), (2, "Multi-Access")], kind).unwrap_or("unknown"));
        }
        Link::Id => {
            for at in (0..value.len()).step_by(4) {
                put!(line, ", {} (0x{:08x})", value.v4(at)?, value.u32(at)?);
            }
        }
        Link::Address => put!(line, ", {}", value.v4(0)?),
        Link::Metric => put!(line, ", Metric {}", value.u32(0)?),
        Link::Group => put!(line, ", 0x{:08x}", value.u32(0)?),
        Link::Bandwidth => put!(line, ", {} Mbps", megabits(value, 0)?),
        Link::EachClass => classes(line, "\n\t\tTE-Class", value)?,
        Link::Protection => put!(line, ", {}", names::flags(PROTECTIONS, value.u8(0)?.into(), ", ")),
        Link::Switching => switching(line, value)?,
        Link::Risks => {
            line.put("\n\t\t  Shared risk group: ");
            for at in (0..value.len()).step_by(4) {
                put!(line, "{}{}", if at == 0 { "" } else { ", " }, value.u32(at)?);
            }
        }
        Link::Constraints => constraints(line, value)?,
    }
    Ok(())
}

#[rustfmt::skip]
pub(super) const PROTECTIONS: &[(u16, &str)] = &[
    (0x01, "Extra Traffic"), (0x02, "Unprotected"), (0x04, "Shared"), (0x08, "Dedicated 1:1"), (0x10, "Dedicated 1+1"), (0x20, "Enhanced"),
    (0x40, "Reserved"), (0x80, "Reserved"),
];
#[rustfmt::skip]
pub(super) const SWITCHING: &[(u8, &str)] = &[
    (1, "Packet-Switch Capable-1"), (2, "Packet-Switch Capable-2"), (3, "Packet-Switch Capable-3"), (4, "Packet-Switch Capable-4"),
    (51, "Layer-2 Switch Capable"), (100, "Time-Division-Multiplex"), (150, "Lambda-Switch Capable"), (200, "Fiber-Switch Capable"),
];
#[rustfmt::skip]
pub(super) const ENCODINGS: &[(u8, &str)] = &[
    (1, "Packet"), (2, "Ethernet V2/DIX"), (3, "ANSI/ETSI PDH"), (4, "Reserved"), (5, "SDH ITU-T G.707/SONET ANSI T1.105"),
    (6, "Reserved"), (7, "Digital Wrapper"), (8, "Lambda (photonic)"), (9, "Fiber"), (10, "Reserved"), (11, "FiberChannel"),
];

/// A bandwidth, a floating-point number of bytes a second.
pub(super) fn megabits(value: View<'_>, at: usize) -> Result<String, Cut> {
    let bandwidth = f32::from_bits(value.u32(at)?) * 8.0 / 1_000_000.0;
    Ok(match (bandwidth.is_nan(), bandwidth.is_sign_negative()) {
        (true, true) => "-nan".to_owned(),
        (true, false) => "nan".to_owned(),
        _ => format!("{bandwidth:.3}"),
    })
}

fn classes(line: &mut Line<'_>, name: &str, value: View<'_>) -> Printed {
    for (number, at) in (0..value.len() - value.len() % 4).step_by(4).enumerate() {
        put!(line, "{name} {number}: {} Mbps", megabits(value, at)?);
    }
    Ok(())
}

fn switching(line: &mut Line<'_>, value: View<'_>) -> Printed {
    put!(line, "\n\t\tInterface Switching Capability: {}", names::find(SWITCHING, value.u8(0)?).unwrap_or("Unknown"));
    put!(line, "\n\t\tLSP Encoding: {}", names::find(ENCODINGS, value.u8(1)?).unwrap_or("Unknown"));
    line.put("\n\t\tMax LSP Bandwidth:");
    classes(line, "\n\t\t  priority level", value.skip(4).first(32))
}

fn constraints(line: &mut Line<'_>, value: View<'_>) -> Printed {
    let model = value.u8(0)?;
    let table = [(0, "Russian dolls"), (1, "Maximum allocation"), (2, "Maximum allocation with E-LSP support")];
    put!(line, "\n\t\tBandwidth Constraints Model ID: {} ({model})", names::find(&table, model).unwrap_or("unknown"));
    for (number, at) in (4..value.len() - value.len() % 4).step_by(4).enumerate() {
        put!(line, "\n\t\t  Bandwidth constraint CT{number}: {} Mbps", megabits(value, at)?);
    }
    Ok(())
}

fn capabilities(line: &mut Line<'_>, body: View<'_>, size: usize) -> Result<bool, Cut> {
    #[rustfmt::skip]
    let flags = [
        (1, "Reserved"), (2, "Reserved"), (4, "Reserved"), (8, "Reserved"), (16, "graceful restart capable"), (32, "graceful restart helper"),
        (64, "Stub router support"), (128, "Traffic engineering"), (256, "p2p over LAN"), (512, "path computation server"),
    ];
    let (mut rest, mut left) = (body, size);
    while left > 0 {
        rest.take(0, 4)?;
        if left < 4 {
            put!(line, "\n\t    Remaining LS length {left} < 4");
            return Ok(false);
        }
        let (kind, length) = (rest.u16(0)?, usize::from(rest.u16(2)?));
        left -= 4;
        let name = names::find(&[(1, "Router Capabilities")], kind).unwrap_or("unknown");
        put!(line, "\n\t    {name} TLV ({kind}), length: {length}, value: ");
        if length > left {
            put!(line, "\n\t    Bogus length {length} > remaining LS length {left}");
            return Ok(false);
        }
        let value = View::new(rest.take(4, length)?, length);
        match (kind, length) {
            (1, 4) => {
                let set = value.u16(2)? & 0x3ff;
                put!(line, "Capabilities: {}", if set == 0 { "Unknown".to_owned() } else { names::flags(&flags, set, ", ") });
            }
            (1, _) => {
                put!(line, "\n\t    Bogus length {length} != 4");
                return Ok(false);
            }
            _ => unknown(line, value, "\n\t      "),
        }
        left -= length;
        // As tcpdump, which expects no padding here.
        rest = rest.skip(4 + length);
    }
    Ok(true)
}
