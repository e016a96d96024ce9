//! What LLDP says of media and endpoints: Ethernet (IEEE 802.3), telephones (ANSI/TIA-1057),
//! descriptions of things (RFC 8520).

use super::lldp_bridges;
use super::view::{Cut, Printed, View};
use super::{Line, escape, hex, names, put};

#[rustfmt::skip]
const CAPABILITIES: &[(u16, &str)] = &[
    (0x4000, "10BASE-T hdx"), (0x2000, "10BASE-T fdx"), (0x1000, "100BASE-T4"), (0x0800, "100BASE-TX hdx"), (0x0400, "100BASE-TX fdx"),
    (0x0200, "100BASE-T2 hdx"), (0x0100, "100BASE-T2 fdx"), (0x0080, "Pause for fdx links"), (0x0040, "Asym PAUSE for fdx"),
    (0x0020, "Sym PAUSE for fdx"), (0x0010, "Asym and Sym PAUSE for fdx"), (0x0008, "1000BASE-{X LX SX CX} hdx"),
    (0x0004, "1000BASE-{X LX SX CX} fdx"), (0x0002, "1000BASE-T hdx"), (0x0001, "1000BASE-T fdx"),
];
/// Attachment units by their numbers (RFC 4836).
#[rustfmt::skip]
const UNITS: [&str; 41] = [
    "Unknown", "AUI", "10BASE_5", "FOIRL", "10BASE2", "10BASET duplex mode unknown", "10BASEFP", "10BASEFB", "10BASEFL duplex mode unknown",
    "10BROAD36", "10BASET hdx", "10BASET fdx", "10BASEFL hdx", "10BASEFL fdx", "100BASET4", "100BASETX hdx", "100BASETX fdx", "100BASEFX hdx",
    "100BASEFX fdx", "100BASET2 hdx", "100BASET2 fdx", "1000BASEX hdx", "1000BASEX fdx", "1000BASELX hdx", "1000BASELX fdx", "1000BASESX hdx",
    "1000BASESX fdx", "1000BASECX hdx", "1000BASECX fdx", "1000BASET hdx", "1000BASET fdx", "10GBASEX", "10GBASELX4", "10GBASER", "10GBASEER",
    "10GBASELR", "10GBASESR", "10GBASEW", "10GBASEEW", "10GBASELW", "10GBASESW",
];

/// Prints a field of IEEE 802.3; false if its kind is unknown.
pub(super) fn ethernet(line: &mut Line<'_>, value: View<'_>) -> Result<bool, Cut> {
    let kind = value.u8(3)?;
    let kinds = [(1, "MAC/PHY configuration/status"), (2, "Power via MDI"), (3, "Link aggregation"), (4, "Max frame size")];
    put!(line, "\n\t  {} Subtype ({kind})", names::find(&kinds, kind).unwrap_or("unknown"));
    match (kind, value.len()) {
        (1, 9..) => {
            let (negotiation, able, unit) = (value.u8(4)?, value.u16(5)?, value.u16(7)?);
            let set = names::flags(lldp_bridges::AGGREGATION, negotiation.into(), ", ");
            put!(line, "\n\t    autonegotiation [{set}] (0x{negotiation:02x})");
            let set = if able & 0x7fff == 0 { "unknown".to_owned() } else { names::flags(CAPABILITIES, able, ", ") };
            put!(line, "\n\t    PMD autoneg capability [{set}] (0x{able:04x})");
            put!(line, "\n\t    MAU type {} (0x{unit:04x})", UNITS.get(usize::from(unit)).unwrap_or(&"unknown"));
        }
        (2, 7..) => {
            let flags = [(1, "PSE"), (2, "supported"), (4, "enabled"), (8, "can be controlled")];
            put!(line, "\n\t    MDI power support [{}]", names::flags(&flags, value.u8(4)?.into(), ", "));
            let pair = names::find(&[(1, "signal"), (2, "spare")], value.u8(5)?).unwrap_or("unknown");
            let class = usize::from(value.u8(6)?).wrapping_sub(1);
            let class = ["class0", "class1", "class2", "class3", "class4"].get(class).unwrap_or(&"unknown");
            put!(line, ", power pair {pair}, power class {class}");
        }
        (3, 9..) => lldp_bridges::aggregation(line, value)?,
        (4, 6..) => put!(line, "\n\t    MTU size {}", value.u16(4)?),
        _ => {}
    }
    Ok((1..=4).contains(&kind))
}

/// Prints a field of IANA: where a thing's description is; false if its kind is unknown.
pub(super) fn iana(line: &mut Line<'_>, value: View<'_>) -> Result<bool, Cut> {
    let kind = value.u8(3)?;
    put!(line, "\n\t  {} Subtype ({kind})", if kind == 1 { "MUD-URL" } else { "unknown" });
    if kind == 1 {
        line.put("\n\t  MUD-URL=");
        escape::text(&mut line.text, value.skip(4).captured());
    }
    Ok(kind == 1)
}

#[rustfmt::skip]
const KINDS: [&str; 11] = [
    "LLDP-MED Capabilities", "Network policy", "Location identification", "Extended power-via-MDI", "Inventory - hardware revision",
    "Inventory - firmware revision", "Inventory - software revision", "Inventory - serial number", "Inventory - manufacturer name",
    "Inventory - model name", "Inventory - asset ID",
];
const INVENTORY: [&str; 7] =
    ["Hardware revision", "Firmware revision", "Software revision", "Serial number", "Manufacturer name", "Model name", "Asset ID"];
#[rustfmt::skip]
const ABILITIES: &[(u16, &str)] = &[
    (0x01, "LLDP-MED capabilities"), (0x02, "network policy"), (0x04, "location identification"), (0x08, "extended power via MDI-PSE"),
    (0x10, "extended power via MDI-PD"), (0x20, "Inventory"),
];
#[rustfmt::skip]
const APPLICATIONS: [&str; 8] = [
    "voice", "voice signaling", "guest voice", "guest voice signaling", "softphone voice", "video conferencing", "streaming video",
    "video signaling",
];

fn numbered(names: &[&'static str], number: u8, otherwise: &'static str) -> &'static str {
    usize::from(number).checked_sub(1).and_then(|at| names.get(at)).copied().unwrap_or(otherwise)
}

/// Prints a field of the TIA; false if its kind is unknown.
pub(super) fn endpoint(line: &mut Line<'_>, value: View<'_>) -> Result<bool, Cut> {
    let kind = value.u8(3)?;
    put!(line, "\n\t  {} Subtype ({kind})", numbered(&KINDS, kind, "unknown"));
    match (kind, value.len()) {
        (1, 7..) => {
            let (able, device) = (value.u16(4)?, value.u8(6)?);
            put!(line, "\n\t    Media capabilities [{}] (0x{able:04x})", names::flags(ABILITIES, able, ", "));
            let devices = ["endpoint class 1", "endpoint class 2", "endpoint class 3", "network connectivity"];
            put!(line, "\n\t    Device type [{}] (0x{device:02x})", numbered(&devices, device, "unknown"));
        }
        (2, 8..) => {
            let (application, policy, last) = (value.u8(4)?, value.u16(5)?, value.u16(6)?);
            put!(line, "\n\t    Application type [{}] (0x{application:02x})", numbered(&APPLICATIONS, application, "none"));
            let flags = [(0x8000, "Unknown"), (0x4000, "Tagged"), (0x2000, "reserved")];
            put!(line, ", Flags [{}]", names::flags(&flags, policy, ", "));
            put!(line, "\n\t    Vlan id {}, L2 priority {}, DSCP value {}", policy >> 1 & 0xfff, last >> 6 & 7, last & 0x3f);
        }
        (3, 5..) => location(line, value)?,
        (4, 7..) => power(line, value)?,
        (5..=11, _) => {
            put!(line, "\n\t  {} ", INVENTORY[usize::from(kind - 5)]);
            escape::until_zero(&mut line.text, value.skip(4).captured());
        }
        _ => {}
    }
    Ok((1..=11).contains(&kind))
}

fn power(line: &mut Line<'_>, value: View<'_>) -> Printed {
    let (first, power) = (value.u8(4)?, value.u16(5)?);
    // As tcpdump, which tests the lowest two bits.
    let device = if first & 3 != 0 { "PD device" } else { "PSE device" };
    let sources = ["PSE - primary power source", "local - backup power source", "PSE+local - reserved"];
    put!(line, "\n\t    Power type [{device}], Power source [{}]", numbered(&sources, first >> 4 & 3, "none"));
    let priority = first & 15;
    put!(line, "\n\t    Power priority [{}] (0x{priority:02x})", numbered(&["critical", "high", "low"], priority, "none"));
    match power {
        0..1024 => put!(line, ", Power {:.1} Watts", f32::from(power) / 10.0),
        _ => put!(line, ", Power {power} (Reserved)"),
    }
    Ok(())
}

fn location(line: &mut Line<'_>, value: View<'_>) -> Printed {
    let format = value.u8(4)?;
    let formats = ["coordinate-based LCI", "civic address LCI", "ECS ELIN"];
    put!(line, "\n\t    Location data format {} (0x{format:02x})", numbered(&formats, format, "unknown"));
    match format {
        1 if value.len() >= 21 => coordinates(line, value)?,
        2 if value.len() >= 6 => civic(line, value)?,
        1 | 2 => {}
        3 => {
            line.put("\n\t    ECS ELIN id ");
            escape::until_zero(&mut line.text, value.skip(5).captured());
        }
        _ => {
            line.put("\n\t    Location ID ");
            hex::indented(&mut line.text, value.skip(5).captured(), "\n\t      ");
        }
    }
    Ok(())
}

fn coordinates(line: &mut Line<'_>, value: View<'_>) -> Printed {
    for (name, at) in [("Latitude", 5), ("Longitude", 10)] {
        let first = value.u8(at)?;
        let number = u64::from(first & 3) << 32 | u64::from(value.u32(at + 1)?);
        put!(line, "\n\t    {name} resolution {}, {} value {number}", first >> 2, name.to_lowercase());
    }
    let kind = value.u8(15)? >> 4;
    put!(line, "\n\t    Altitude type {} ({kind})", numbered(&["meters", "floors"], kind, "unknown"));
    put!(line, "\n\t    Altitude resolution {}, altitude value 0x{:x}", value.u16(15)? >> 6 & 0x3f, value.u32(16)? & 0x3fff_ffff);
    let datum = value.u8(20)?;
    let datums = ["World Geodesic System 1984", "North American Datum 1983 (NAVD88)", "North American Datum 1983 (MLLW)"];
    put!(line, "\n\t    Datum {} (0x{datum:02x})", numbered(&datums, datum, "unknown"));
    Ok(())
}

/// An address as people write it (RFC 4776).
fn civic(line: &mut Line<'_>, value: View<'_>) -> Printed {
    let length = usize::from(value.u8(5)?);
    if length < 3 || value.len() < 7 + length {
        return Ok(());
    }
    let what = value.u8(6)?;
    let whats =
        ["location of DHCP server", "location of the network element believed to be closest to the client", "location of the client"];
    let name = whats.get(usize::from(what)).unwrap_or(&"unknown");
    put!(line, "\n\t    LCI length {length}, LCI what {name} (0x{what:02x}), Country-code ");
    escape::until_zero(&mut line.text, value.take(7, 2)?);
    #[rustfmt::skip]
    let parts = [
        "national subdivisions (state,canton,region,province,prefecture)", "county, parish, gun, district", "city, township, shi",
        "city division, borough, city district, ward chou", "neighborhood, block", "street",
    ];
    let mut rest = value.first(9 + length - 3).skip(9);
    while rest.len() >= 2 {
        let (kind, size) = (rest.u8(0)?, usize::from(rest.u8(1)?));
        put!(line, "\n\t      CA type '{}' ({kind}), length {size}: ", numbered(&parts, kind, "unknown"));
        if kind == 0 || size == 0 || rest.len() < 2 + size {
            break;
        }
        escape::until_zero(&mut line.text, rest.take(2, size)?);
        rest = rest.skip(2 + size);
    }
    Ok(())
}
