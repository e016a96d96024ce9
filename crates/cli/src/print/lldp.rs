//! LLDP (IEEE 802.1AB): who sent it; with `-v` its fields, those of organizations by `lldp_bridges`
//! and `lldp_media`.

use super::ether::Mac;
use super::view::{Cut, Printed, View};
use super::{Line, escape, hex, ip6, lldp_bridges, lldp_media, names, put};

const SYSTEM_NAME: u16 = 5;
const PRIVATE: u16 = 127;
#[rustfmt::skip]
const NAMES: &[(u16, &str)] = &[
    (0, "End"), (1, "Chassis ID"), (2, "Port ID"), (3, "Time to Live"), (4, "Port Description"), (SYSTEM_NAME, "System Name"),
    (6, "System Description"), (7, "System Capabilities"), (8, "Management Address"), (PRIVATE, "Organization specific"),
];
/// Kinds of a chassis' identifier, and of a port's.
#[rustfmt::skip]
const CHASSIS: &[(u8, &str)] = &[
    (1, "Chassis component"), (2, "Interface alias"), (3, "Port component"), (4, "MAC address"), (5, "Network address"),
    (6, "Interface name"), (7, "Local"),
];
#[rustfmt::skip]
const PORTS: &[(u8, &str)] = &[
    (1, "Interface alias"), (2, "Port component"), (3, "MAC address"), (4, "Network Address"), (5, "Interface Name"),
    (6, "Agent circuit ID"), (7, "Local"),
];
#[rustfmt::skip]
const CAPABILITIES: &[(u16, &str)] = &[
    (0x01, "Other"), (0x02, "Repeater"), (0x04, "Bridge"), (0x08, "WLAN AP"), (0x10, "Router"), (0x20, "Telephone"), (0x40, "Docsis"),
    (0x80, "Station Only"),
];
#[rustfmt::skip]
const FAMILIES: &[(u8, &str)] = &[
    (0, "Reserved"), (1, "IPv4"), (2, "IPv6"), (3, "NSAP"), (4, "HDLC"), (5, "BBN 1822"), (6, "802"), (7, "E.163"), (8, "E.164"), (9, "F.69"),
    (10, "X.121"), (11, "Novell IPX"), (12, "Appletalk"), (13, "Decnet IV"), (14, "Banyan Vines"), (15, "E.164 with NSAP subaddress"),
    (25, "VPLS"), (196, "Layer-2 VPN"),
];

pub(super) fn print(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "lldp";
    put!(line, "LLDP, length {}", view.len());
    let verbose = line.style.verbose;
    let mut rest = view;
    while rest.len() >= 2 {
        let head = rest.u16(0)?;
        let (kind, length) = (head >> 9, usize::from(head & 0x1ff));
        if verbose > 0 {
            put!(line, "\n\t{} TLV ({kind}), length {length}", names::find(NAMES, kind).unwrap_or("Unknown"));
        }
        if kind == 0 || length == 0 {
            break;
        }
        let value = View::new(rest.take(2, length)?, length);
        if rest.len() < 2 + length {
            return Err(Cut);
        }
        let known = if verbose > 0 || kind == SYSTEM_NAME { field(line, kind, value)? } else { true };
        if verbose > 1 || verbose > 0 && !known {
            hex::indented(&mut line.text, value.captured(), "\n\t  ");
        }
        rest = rest.skip(2 + length);
    }
    Ok(())
}

/// Prints a field; false if its bytes are to be shown.
fn field(line: &mut Line<'_>, kind: u16, value: View<'_>) -> Result<bool, Cut> {
    match kind {
        1 => return identifier(line, CHASSIS, 4, 5, value),
        2 => return identifier(line, PORTS, 3, 4, value),
        3 => put!(line, ": TTL {}s", value.u16(0)?),
        4 | SYSTEM_NAME => {
            line.put(": ");
            escape::until_zero(&mut line.text, value.captured());
        }
        6 => {
            line.put("\n\t  ");
            escape::until_zero(&mut line.text, value.captured());
        }
        7 => {
            let (system, enabled) = (value.u16(0)?, value.u16(2)?);
            put!(line, "\n\t  System  Capabilities [{}] (0x{system:04x})", names::flags(CAPABILITIES, system, ", "));
            put!(line, "\n\t  Enabled Capabilities [{}] (0x{enabled:04x})", names::flags(CAPABILITIES, enabled, ", "));
        }
        8 => management(line, value)?,
        PRIVATE => {
            let organization = value.u24(0)?;
            put!(line, ": OUI {} (0x{organization:06x})", names::organization(organization));
            // Too short ones say nothing.
            return match organization {
                0x00_80c2 if value.len() >= 4 => lldp_bridges::print(line, value),
                0x00_1b21 if value.len() >= 4 => lldp_bridges::exchange(line, value),
                0x00_120f if value.len() >= 4 => lldp_media::ethernet(line, value),
                0x00_12bb if value.len() >= 4 => lldp_media::endpoint(line, value),
                0x00_005e if value.len() >= 8 => lldp_media::iana(line, value),
                0x00_80c2 | 0x00_1b21 | 0x00_120f | 0x00_12bb | 0x00_005e => Ok(true),
                _ => Ok(false),
            };
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// An identifier of one of those kinds, one of which is a hardware address and one an address of a
/// network.
fn identifier(line: &mut Line<'_>, kinds: &[(u8, &'static str)], hardware: u8, network: u8, value: View<'_>) -> Result<bool, Cut> {
    value.take(0, 2)?;
    let kind = value.u8(0)?;
    put!(line, "\n\t  Subtype {} ({kind}): ", names::find(kinds, kind).unwrap_or("Unknown"));
    match kind {
        _ if kind == hardware => put!(line, "{}", Mac(value.array(1)?)),
        _ if kind == network => address(line, value.skip(1))?,
        1..=7 => escape::until_zero(&mut line.text, &value.captured()[1..]),
        _ => return Ok(false),
    }
    Ok(true)
}

fn address(line: &mut Line<'_>, view: View<'_>) -> Printed {
    let family = view.u8(0)?;
    let text = match family {
        1 => view.v4(1)?.to_string(),
        2 => ip6::address_at(view, 1)?,
        6 => Mac(view.array(1)?).to_string(),
        _ => {
            put!(line, "AFI {} ({family}), no AF printer !", names::find(FAMILIES, family).unwrap_or("Unknown"));
            return Ok(());
        }
    };
    put!(line, "AFI {} ({family}): {text}", names::find(FAMILIES, family).unwrap_or("Unknown"));
    Ok(())
}

/// Where the sender is managed: an address, an interface, and perhaps an object's identifier.
fn management(line: &mut Line<'_>, value: View<'_>) -> Printed {
    let length = usize::from(value.u8(0)?);
    let place = View::new(value.take(1, length)?, length);
    let start = line.text.len();
    put!(line, "\n\t  Management Address length {length}, ");
    if let Err(cut) = address(line, place) {
        line.text.truncate(start);
        return Err(cut);
    }
    let rest = value.skip(1 + length);
    rest.take(0, 5)?;
    let kind = rest.u8(0)?;
    let name = names::find(&[(2, "Interface Index"), (3, "System Port Number")], kind).unwrap_or("Unknown");
    put!(line, "\n\t  {name} Interface Numbering ({kind}): {}", rest.u32(1)?);
    if rest.len() > 5 {
        let size = usize::from(rest.u8(5)?);
        let id = rest.take(6, size)?;
        if size > 0 {
            put!(line, "\n\t  OID length {size}");
            escape::until_zero(&mut line.text, id);
        }
    }
    Ok(())
}
