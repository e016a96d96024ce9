//! The fields (TLVs) of IS-IS packets.
//!
//! Source: ISO 10589, RFC 1195 (IP), RFC 5301 (names), RFC 5303 (adjacencies), RFC 5306 (restart),
//! RFC 6232 (purges), RFC 7981 (capabilities), RFC 8202 (instances). Reachability is in
//! `isis_reach`, what bridges say in `isis_bridges`. Leaves out: whether an HMAC is right.

use super::isis::{self, id};
use super::view::{Cut, Printed, View};
use super::{Line, escape, hex, ip6, isis_bridges, isis_reach, names, put};

const PADDING: u8 = 8;
#[rustfmt::skip]
const NAMES: &[(u8, &str)] = &[
    (1, "Area address(es)"), (2, "IS Reachability"), (3, "ES Neighbor(s)"), (4, "Partition DIS"), (5, "Prefix Neighbors"),
    (6, "IS Neighbor(s)"), (7, "Instance Identifier"), (PADDING, "Padding"), (9, "LSP entries"), (10, "Authentication"), (12, "Checksum"),
    (13, "Purge Originator Identifier"), (14, "LSP Buffersize"), (22, "Extended IS Reachability"), (24, "IS Alias ID"),
    (42, "DECnet Phase IV"), (66, "Lucent Proprietary"), (128, "IPv4 Internal Reachability"), (129, "Protocols supported"),
    (130, "IPv4 External Reachability"), (131, "Inter-Domain Information Type"), (132, "IPv4 Interface address(es)"),
    (133, "IPv4 authentication (deprecated)"), (134, "Traffic Engineering Router ID"), (135, "Extended IPv4 Reachability"),
    (137, "Hostname"), (138, "Shared Risk Link Group"), (143, "Multi-Topology-Aware Port Capability"), (144, "Multi-Topology Capability"),
    (176, "Nortel Proprietary"), (177, "Nortel Proprietary"), (211, "Restart Signaling"), (222, "Multi Topology IS Reachability"),
    (229, "Multi Topology"), (232, "IPv6 Interface address(es)"), (235, "Multi-Topology IPv4 Reachability"), (236, "IPv6 reachability"),
    (237, "Multi-Topology IP6 Reachability"), (240, "Point-to-point Adjacency State"), (241, "Hello PDU Sequence Number"),
    (242, "IS-IS Router Capability"), (250, "Vendor Private"),
];
/// Network layers by their numbers (ISO/IEC TR 9577).
#[rustfmt::skip]
pub(super) const LAYERS: &[(u8, &str)] = &[
    (0x00, "NULL"), (0x08, "Q.933"), (0x09, "LMI"), (0x80, "SNAP"), (0x81, "CLNP"), (0x82, "ES-IS"), (0x83, "IS-IS"), (0x84, "CONS"),
    (0x85, "IDRP"), (0x8a, "X25 ES-IS"), (0x8e, "IPv6"), (0xb1, "FRF.15"), (0xc1, "ISIS_SPB"), (0xcc, "IPv4"), (0xcf, "PPP"),
];
pub(super) const INDENT: &str = "\n\t      ";

/// Prints the fields of a packet that begin at `at`.
pub(super) fn print(line: &mut Line<'_>, packet: View<'_>, at: usize) -> Printed {
    let mut rest = packet.skip(at);
    while rest.len() > 0 {
        rest.take(0, 2)?;
        let (kind, length) = (rest.u8(0)?, usize::from(rest.u8(1)?));
        put!(line, "\n\t    {} TLV #{kind}, length: {length}", names::find(NAMES, kind).unwrap_or("unknown"));
        if rest.len() < 2 + length {
            return Err(Cut);
        }
        let value = rest.first(2 + length).skip(2);
        if !field(line, kind, value, packet, packet.len() - rest.len() + 2)? && line.style.verbose == 1 {
            hex::indented(&mut line.text, value.captured(), "\n\t\t");
        }
        if line.style.verbose > 1 {
            hex::indented(&mut line.text, value.captured(), INDENT);
        }
        rest = rest.skip(2 + length);
    }
    Ok(())
}

/// Parts of that size, each printed; what is left is too short for one.
fn each(line: &mut Line<'_>, value: View<'_>, size: usize, mut print: impl FnMut(&mut Line<'_>, View<'_>) -> Printed) -> Printed {
    for at in (0..value.len() - value.len() % size).step_by(size) {
        value.take(at, size)?;
        print(line, value.skip(at).first(size))?;
    }
    Ok(())
}

/// Prints a field, which begins at `at` of the packet; false if its kind is unknown.
fn field(line: &mut Line<'_>, kind: u8, value: View<'_>, packet: View<'_>, at: usize) -> Result<bool, Cut> {
    match kind {
        1 => areas(line, value)?,
        4 => each(line, value, 6, |line, part| text(line, "", &id(part.captured())))?,
        6 => each(line, value, 6, |line, part| text(line, "SNPA: ", &id(part.captured())))?,
        7 => instance(line, value)?,
        PADDING => {}
        9 => each(line, value, 16, entry)?,
        10 if value.len() > 0 => authentication(line, value)?,
        12 if value.len() >= 2 => {
            put!(line, "{INDENT}checksum: 0x{:04x} ", value.u16(0)?);
            isis::checksum(line, packet, value.u16(0)?, at);
        }
        13 if value.len() > 0 => purge(line, value)?,
        14 if value.len() >= 2 => put!(line, "{INDENT}LSP Buffersize: {}", value.u16(0)?),
        2 | 3 | 5 | 22 | 24 | 128 | 130 | 135 | 222 | 235 | 236 | 237 => isis_reach::print(line, kind, value)?,
        129 => {
            line.put("\n\t      NLPID(s): ");
            for (i, layer) in value.take(0, value.len())?.iter().enumerate() {
                let name = names::find(LAYERS, *layer).unwrap_or("unknown");
                put!(line, "{}{name} (0x{layer:02x})", if i == 0 { "" } else { ", " });
            }
        }
        131 if value.len() > 0 => domain(line, value)?,
        132 => each(line, value, 4, |line, part| text(line, "IPv4 interface address: ", &part.v4(0)?.to_string()))?,
        134 if value.len() >= 4 => put!(line, "{INDENT}Traffic Engineering Router ID: {}", value.v4(0)?),
        137 => {
            put!(line, "{INDENT}Hostname: ");
            escape::until_zero(&mut line.text, value.take(0, value.len())?);
        }
        138 if value.len() >= 7 => risks(line, value)?,
        143 | 144 => isis_bridges::print(line, kind, value)?,
        211 if value.len() > 0 => restart(line, value)?,
        229 => {
            each(line, value, 2, isis_reach::topology)?;
            line.put(if value.len() % 2 == 1 { "\n\t      invalid MT-ID" } else { "" });
        }
        232 => each(line, value, 16, |line, part| text(line, "IPv6 interface address: ", &ip6::address_at(part, 0)?))?,
        240 => adjacency(line, value.len(), packet.skip(at))?,
        241 if value.len() >= 4 => put!(line, "{INDENT}Sequence number: {}", value.u32(0)?),
        242 => capability(line, value)?,
        250 if value.len() >= 3 => {
            let maker = value.u24(0)?;
            put!(line, "{INDENT}Vendor: {} ({maker})", names::organization(maker));
            hex::indented(&mut line.text, value.skip(3).captured(), "\n\t\t");
        }
        10 | 12 | 13 | 14 | 131 | 134 | 138 | 211 | 241 | 250 => {}
        _ => return Ok(false),
    }
    Ok(true)
}

fn text(line: &mut Line<'_>, name: &str, value: &str) -> Printed {
    put!(line, "{INDENT}{name}{value}");
    Ok(())
}

/// An address as OSI writes it: `49.0001`.
pub(super) fn nsap(bytes: &[u8]) -> String {
    if !(1..=20).contains(&bytes.len()) {
        return "isonsap_string: illegal length".to_owned();
    }
    let dot = |i: usize| if i.is_multiple_of(2) && i + 1 < bytes.len() { "." } else { "" };
    bytes.iter().enumerate().map(|(i, byte)| format!("{byte:02x}{}", dot(i))).collect()
}

fn areas(line: &mut Line<'_>, value: View<'_>) -> Printed {
    let mut rest = value;
    while rest.len() > 0 {
        let size = usize::from(rest.u8(0)?);
        if rest.len() < 1 + size {
            break;
        }
        put!(line, "{INDENT}Area address (length: {size}): {}", nsap(rest.take(1, size)?));
        rest = rest.skip(1 + size);
    }
    Ok(())
}

fn instance(line: &mut Line<'_>, value: View<'_>) -> Printed {
    if value.len() < 4 {
        return Ok(());
    }
    let count = (value.len() - 2) / 2;
    put!(line, "{INDENT}Instance ID: {}, ITIDs({count}): ", value.u16(0)?);
    for i in 0..count {
        put!(line, "{}{}", if i == 0 { "" } else { ", " }, value.u16(2 + 2 * i)?);
    }
    Ok(())
}

fn entry(line: &mut Line<'_>, part: View<'_>) -> Printed {
    put!(line, "{INDENT}lsp-id: {}, seq: 0x{:08x}", id(part.take(2, 8)?), part.u32(10)?);
    put!(line, ", lifetime: {:>5}s, chksum: 0x{:04x}", part.u16(0)?, part.u16(14)?);
    Ok(())
}

fn authentication(line: &mut Line<'_>, value: View<'_>) -> Printed {
    #[rustfmt::skip]
    let kinds = [(1, "simple text password"), (3, "Generic Crypto key-id"), (54, "HMAC-MD5 password"), (255, "Routing Domain private password")];
    let (kind, data) = (value.u8(0)?, value.skip(1));
    put!(line, "{INDENT}{}: ", names::find_or(&kinds, kind, || format!("unknown Authentication type 0x{kind:02x}")));
    let bytes = data.take(0, data.len())?;
    let digits = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    match kind {
        1 => escape::until_zero(&mut line.text, bytes),
        54 => {
            line.put(&digits(bytes));
            line.put(if bytes.len() == 16 { "" } else { ", (invalid subTLV) " });
            line.put(" (unchecked)");
        }
        3 if bytes.len() < 2 => {}
        3 => put!(line, "{}, password: {}", data.u16(0)?, digits(&bytes[2..])),
        _ => hex::indented(&mut line.text, bytes, "\n\t\t  "),
    }
    Ok(())
}

fn purge(line: &mut Line<'_>, value: View<'_>) -> Printed {
    let count = value.u8(0)?;
    if count == 0 {
        line.put(" No system IDs supplied");
        return Ok(());
    }
    for (i, name) in ["Purge Originator System-ID", "Received from System-ID"].into_iter().enumerate() {
        if i < count.into() && value.len() >= 7 + 6 * i {
            put!(line, "{INDENT}{name}: {}", id(value.take(1 + 6 * i, 6)?));
        }
    }
    Ok(())
}

fn domain(line: &mut Line<'_>, value: View<'_>) -> Printed {
    let kind = value.u8(0)?;
    let kinds = [(0, "Reserved"), (1, "Routing-Domain Specific"), (2, "AS Number Tag")];
    let name = names::find_or(&kinds, kind, || format!("Unknown (0x{kind:02x})"));
    put!(line, "{INDENT}Inter-Domain Information Type: {name}");
    match kind {
        2 if value.len() < 3 => {}
        2 => put!(line, "AS Number: {}", value.u16(1)?),
        _ => hex::indented(&mut line.text, value.skip(1).captured(), INDENT),
    }
    Ok(())
}

fn risks(line: &mut Line<'_>, value: View<'_>) -> Printed {
    put!(line, "{INDENT}IS Neighbor: {}", id(value.take(0, 7)?));
    if value.len() >= 8 {
        put!(line, ", Flags: [{}]", if value.u8(7)? & 1 != 0 { "numbered" } else { "unnumbered" });
    }
    for (name, at) in [("interface", 8), ("neighbor", 12)] {
        if value.len() >= at + 4 {
            put!(line, "{INDENT}IPv4 {name} address: {}", value.v4(at)?);
        }
    }
    each(line, value.skip(16), 4, |line, part| text(line, "Link-ID: ", &format!("0x{:08x}", part.u32(0)?)))
}

fn restart(line: &mut Line<'_>, value: View<'_>) -> Printed {
    let flags = [(0x1, "Restart Request"), (0x2, "Restart Acknowledgement"), (0x4, "Suppress adjacency advertisement")];
    put!(line, "{INDENT}Flags [{}]", names::flags(&flags, value.u8(0)?.into(), ", "));
    if value.len() >= 3 {
        put!(line, ", Remaining holding time {}s", value.u16(1)?);
    }
    if value.len() == 9 {
        put!(line, ", for {}", id(value.take(3, 6)?));
    }
    Ok(())
}

/// The state of an adjacency; as tcpdump, which tells by the bytes that are left what comes next,
/// wherever it stands.
fn adjacency(line: &mut Line<'_>, length: usize, value: View<'_>) -> Printed {
    let mut left = length;
    if left >= 1 {
        let state = value.u8(0)?;
        let name = ["Up", "Initializing", "Down"].get(usize::from(state)).unwrap_or(&"unknown");
        put!(line, "{INDENT}Adjacency State: {name} ({state})");
        left -= 1;
    }
    if left > 4 {
        put!(line, "{INDENT}Extended Local circuit-ID: 0x{:08x}", value.u32(1)?);
        left -= 4;
    }
    if left >= 6 {
        put!(line, "{INDENT}Neighbor System-ID: {}", id(value.take(5, 6)?));
        left -= 6;
    }
    if left >= 4 {
        put!(line, "{INDENT}Neighbor Extended Local circuit-ID: 0x{:08x}", value.u32(11)?);
    }
    Ok(())
}

fn capability(line: &mut Line<'_>, value: View<'_>) -> Printed {
    if value.len() < 5 {
        put!(line, " [object length {} < 5]", value.len());
        line.invalid();
        return Ok(());
    }
    let flags = names::flags(&[(0x01, "S bit"), (0x02, "D bit")], value.u8(4)?.into(), ", ");
    put!(line, "{INDENT}Router-ID {}, Flags [{flags}]", value.v4(0)?);
    let mut rest = value.skip(5);
    while rest.len() >= 2 {
        let (kind, length) = (rest.u8(0)?, usize::from(rest.u8(1)?));
        put!(line, "\n\t\t{} subTLV #{kind}, length: {length}", if kind == 2 { "SR-Capabilities" } else { "unknown" });
        let Ok(bytes) = rest.take(2, length) else { break };
        match kind {
            2 if length >= 4 => segments(line, View::new(bytes, length))?,
            _ => hex::indented(&mut line.text, bytes, "\n\t\t"),
        }
        rest = rest.skip(2 + length);
    }
    Ok(())
}

/// Segment routing (RFC 8667, section 3.1).
fn segments(line: &mut Line<'_>, value: View<'_>) -> Printed {
    let flags = match value.u8(0)? & 0xc0 {
        0 => "None".to_owned(),
        set => names::flags(&[(0x80, "ipv4"), (0x40, "ipv6")], set.into(), ", "),
    };
    put!(line, ", Flags [{flags}], Range {}", value.u24(1)?);
    let mut rest = value.skip(4);
    while rest.len() >= 5 {
        let (kind, length) = (rest.u8(0)?, usize::from(rest.u8(1)?));
        let Ok(bytes) = rest.take(2, length) else { break };
        match (kind, length) {
            (1, 3) => put!(line, ", SID value {}", rest.u24(2)?),
            (1, 4) => put!(line, ", SID value {}", rest.u32(2)?),
            (1, _) => put!(line, ", Unknown SID length{length}"),
            _ => hex::indented(&mut line.text, bytes, "\n\t\t  "),
        }
        rest = rest.skip(2 + length);
    }
    Ok(())
}
