//! CDP, Cisco's discovery of neighbours: who sent it, and the bytes of the other fields; with `-v`
//! what they mean.
//!
//! Leaves out: addresses of protocols other than IPv4 and IPv6, prefixes; their bytes are shown.

use super::view::{Cut, Printed, View};
use super::{Line, escape, hex, names, put};
use std::net::Ipv4Addr;

/// What precedes a field's value.
const HEAD: usize = 4;
const DEVICE: u16 = 1;
const INDENT: &str = "\n\t  ";

/// How a field's value is printed.
#[derive(Clone, Copy)]
enum Value {
    Text,
    Addresses,
    Capability,
    Version,
    Number,
    Duplex,
    Vlan,
    Power,
    Mtu,
    Byte,
    Place,
    /// Only the name is.
    Silent,
}

/// A field: its number; its name, what its value is, and the least and the most bytes of that.
type Field = (u16, (&'static str, Value, usize, usize));

#[rustfmt::skip]
const FIELDS: &[Field] = &[
    (0x01, ("Device-ID", Value::Text, 0, usize::MAX)),
    (0x02, ("Address", Value::Addresses, 4, usize::MAX)),
    (0x03, ("Port-ID", Value::Text, 0, usize::MAX)),
    (0x04, ("Capability", Value::Capability, 4, 4)),
    (0x05, ("Version String", Value::Version, 0, usize::MAX)),
    (0x06, ("Platform", Value::Text, 0, usize::MAX)),
    (0x08, ("Protocol-Hello option", Value::Silent, 0, usize::MAX)),
    (0x09, ("VTP Management Domain", Value::Text, 0, usize::MAX)),
    (0x0a, ("Native VLAN ID", Value::Number, 2, 2)),
    (0x0b, ("Duplex", Value::Duplex, 1, 1)),
    (0x0e, ("ATA-186 VoIP VLAN assignment", Value::Vlan, 3, 3)),
    (0x0f, ("ATA-186 VoIP VLAN request", Value::Vlan, 2, 3)),
    (0x10, ("power consumption", Value::Power, 1, 3)),
    (0x11, ("MTU", Value::Mtu, 4, 4)),
    (0x12, ("AVVID trust bitmap", Value::Byte, 1, 1)),
    (0x13, ("AVVID untrusted ports CoS", Value::Byte, 1, 1)),
    (0x14, ("System Name", Value::Text, 0, usize::MAX)),
    (0x15, ("System Object ID (not decoded)", Value::Silent, 0, usize::MAX)),
    (0x16, ("Management Addresses", Value::Addresses, 4, usize::MAX)),
    (0x17, ("Physical Location", Value::Place, 1, usize::MAX)),
];
#[rustfmt::skip]
const CAPABILITIES: &[(u16, &str)] = &[
    (0x01, "Router"), (0x02, "TB Bridge"), (0x04, "SR Bridge"), (0x08, "L2 Switch"), (0x10, "L3 capable"), (0x20, "IGMP snooping"), (0x40, "L1 capable"),
];

pub(super) fn print(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "cdp";
    line.put("CDP");
    if view.len() < HEAD {
        put!(line, " (packet length {} < {HEAD})", view.len());
        line.invalid();
        return Ok(());
    }
    put!(line, "v{}, ttl: {}s", view.u8(0)?, view.u8(1)?);
    let checksum = view.u16(2)?;
    let verbose = line.style.verbose > 0;
    if verbose {
        put!(line, ", checksum: 0x{checksum:04x} (unverified), length {}", view.len());
    }
    let mut rest = view.skip(HEAD);
    while rest.len() > 0 {
        let Some(length) = field(line, rest)? else {
            line.invalid();
            return rest.take(0, rest.len()).map(drop);
        };
        rest = rest.skip(length);
    }
    if !verbose {
        put!(line, ", length {}", view.len());
    }
    Ok(())
}

/// Prints a field; its length, or nothing if it is none.
fn field(line: &mut Line<'_>, rest: View<'_>) -> Result<Option<usize>, Cut> {
    if rest.len() < HEAD {
        put!(line, " (remaining packet length {} < {HEAD})", rest.len());
        return Ok(None);
    }
    let (kind, length) = (rest.u16(0)?, usize::from(rest.u16(2)?));
    let known = names::find_any(FIELDS, kind);
    let name = known.map_or("unknown field type", |(name, ..)| name);
    let verbose = line.style.verbose > 0;
    if length < HEAD {
        match verbose {
            true => put!(line, "\n\t{name} (0x{kind:02x}), TLV length: {length} byte{} (too short)", plural(length)),
            false => put!(line, ", {name} TLV length {length} too short"),
        }
        return Ok(None);
    }
    if length > rest.len() {
        put!(line, " (TLV length {length} > {})", rest.len());
        return Ok(None);
    }
    let size = length - HEAD;
    match verbose {
        true => put!(line, "\n\t{name} (0x{kind:02x}), value length: {size} byte{}: ", plural(size)),
        false if kind == DEVICE => put!(line, ", {name} "),
        false => {}
    }
    let value = rest.skip(HEAD).first(size);
    let shown = match known {
        Some((_, _, least, most)) if size < least || size > most => {
            line.put(" (malformed TLV)");
            false
        }
        Some((_, how, ..)) if verbose || kind == DEVICE => meaning(line, how, value)?,
        _ => false,
    };
    if !shown {
        hex::indented(&mut line.text, value.take(0, size)?, INDENT);
    }
    Ok(Some(length))
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// Prints a value; false if its bytes are to be shown.
fn meaning(line: &mut Line<'_>, how: Value, value: View<'_>) -> Result<bool, Cut> {
    let bytes = value.take(0, value.len())?;
    match (how, bytes) {
        (Value::Text, _) => {
            line.put("'");
            escape::text(&mut line.text, bytes);
            line.put("'");
        }
        (Value::Version, _) => {
            for part in bytes.split(|byte| *byte == b'\n') {
                line.put(INDENT);
                escape::text(&mut line.text, part);
            }
        }
        (Value::Addresses, _) => return addresses(line, value),
        (Value::Capability, _) => {
            let set = names::flags(CAPABILITIES, value.u32(0)? as u16, ", ");
            put!(line, "(0x{:08x}): {set}", value.u32(0)?);
        }
        (Value::Number, _) => put!(line, "{}", value.u16(0)?),
        (Value::Duplex, _) => line.put(if value.u8(0)? == 0 { "half" } else { "full" }),
        (Value::Vlan, [_, _]) => put!(line, "unknown 0x{:04x}", value.u16(0)?),
        (Value::Vlan, _) => put!(line, "app {}, vlan {}", value.u8(0)?, value.u16(1)?),
        (Value::Power, _) => {
            let milliwatts = bytes.iter().fold(0u32, |number, byte| number << 8 | u32::from(*byte));
            put!(line, "{:.2}W", f64::from(milliwatts) / 1000.0);
        }
        (Value::Mtu, _) => put!(line, "{} bytes", value.u32(0)?),
        (Value::Byte, _) => put!(line, "0x{:02x}", value.u8(0)?),
        (Value::Place, _) => {
            put!(line, "0x{:02x}", value.u8(0)?);
            if bytes.len() > 1 {
                line.put("/");
                escape::text(&mut line.text, &bytes[1..]);
            }
        }
        (Value::Silent, _) => {}
    }
    Ok(true)
}

/// How IPv4 addresses are announced: by its number in OSI's list.
const IPV4: [u8; 5] = [1, 1, 0xcc, 0, 4];

fn addresses(line: &mut Line<'_>, value: View<'_>) -> Result<bool, Cut> {
    let (count, list) = (value.u32(0)? as usize, value.take(4, value.len() - 4)?);
    let entries = list.chunks(9);
    if list.len() != count.saturating_mul(9) || !entries.clone().all(|entry| entry.starts_with(&IPV4)) {
        return Ok(false);
    }
    put!(line, "IPv4 ({count})");
    for entry in entries {
        put!(line, " {}", Ipv4Addr::new(entry[5], entry[6], entry[7], entry[8]));
    }
    Ok(true)
}
