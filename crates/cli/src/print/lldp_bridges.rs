//! What bridges add to LLDP: VLANs, aggregation, data centre bridging (IEEE 802.1Q, annex D), and
//! its exchange before the standard.

use super::view::{Cut, Printed, View};
use super::{Line, escape, hex, names, put};

/// Kinds of fields: number, name, and the least bytes of which it is shown.
#[rustfmt::skip]
const KINDS: &[(u8, (&str, usize))] = &[
    (1, ("Port VLAN Id", 6)), (2, ("Port and Protocol VLAN ID", 7)), (3, ("VLAN name", 6)), (4, ("Protocol Identity", 5)),
    (7, ("Link aggregation", 9)), (8, ("Congestion Notification", 6)), (9, ("ETS Configuration", 25)), (10, ("ETS Recommendation", 25)),
    (11, ("Priority Flow Control Configuration", 6)), (12, ("Application Priority", 5)), (13, ("EVB", 9)), (14, ("CDCP", 8)),
];
pub(super) const AGGREGATION: &[(u16, &str)] = &[(1, "supported"), (2, "enabled")];

/// Prints a field of IEEE 802.1; false if its kind is unknown.
pub(super) fn print(line: &mut Line<'_>, value: View<'_>) -> Result<bool, Cut> {
    let kind = value.u8(3)?;
    let known = names::find_any(KINDS, kind);
    put!(line, "\n\t  {} Subtype ({kind})", known.map_or("unknown", |(name, _)| name));
    match known {
        None => return Ok(false),
        Some((_, least)) if value.len() < least => return Ok(true),
        _ => {}
    }
    match kind {
        1..=4 => vlan(line, kind, value)?,
        7 => aggregation(line, value)?,
        8 => {
            line.put("\n\t    Pre-Priority CNPV Indicator");
            bits(line, value.u8(4)?);
            line.put("\n\t    Pre-Priority Ready Indicator");
            bits(line, value.u8(5)?);
        }
        9 | 10 => selection(line, kind, value)?,
        11 => {
            let first = value.u8(4)?;
            put!(line, "\n\t    Willing: {}, MBC: {}, RES: {}", first >> 7, first >> 6 & 1, first >> 4 & 3);
            put!(line, ", PFC cap:{} \n\t    PFC Enable", first & 15);
            bits(line, value.u8(5)?);
        }
        12 => priorities(line, value)?,
        13 => virtual_bridging(line, value)?,
        _ => channels(line, value)?,
    }
    Ok(true)
}

fn vlan(line: &mut Line<'_>, kind: u8, value: View<'_>) -> Printed {
    let text = |line: &mut Line<'_>, name: &str, at: usize| {
        let length = value.u8(at).map_or(usize::MAX, usize::from);
        if let Ok(bytes) = value.take(at + 1, length) {
            put!(line, "\n\t    {name}: ");
            escape::until_zero(&mut line.text, bytes);
        }
    };
    match kind {
        1 => put!(line, "\n\t    port vlan id (PVID): {}", value.u16(4)?),
        2 => {
            let flags = value.u8(4)?;
            let set = names::flags(&[(2, "supported"), (4, "enabled")], flags.into(), ", ");
            put!(line, "\n\t    port and protocol vlan id (PPVID): {}, flags [{set}] (0x{flags:02x})", value.u16(5)?);
        }
        3 => {
            put!(line, "\n\t    vlan id (VID): {}", value.u16(4)?);
            text(line, "vlan name", 6);
        }
        _ => text(line, "protocol identity", 4),
    }
    Ok(())
}

/// The state of link aggregation, which IEEE 802.3 has in the same form.
pub(super) fn aggregation(line: &mut Line<'_>, value: View<'_>) -> Printed {
    let set = names::flags(AGGREGATION, value.u8(4)?.into(), ", ");
    put!(line, "\n\t    aggregation status [{set}], aggregation port ID {}", value.u32(5)?);
    Ok(())
}

/// A bit for each priority.
fn bits(line: &mut Line<'_>, bits: u8) {
    line.put("\n\t     Priority : 0  1  2  3  4  5  6  7\n\t     Value    : ");
    for priority in 0..8 {
        put!(line, "{:<2} ", bits >> priority & 1);
    }
}

fn columns(line: &mut Line<'_>, values: impl Iterator<Item = u8>) {
    let values: Vec<String> = values.map(|value| format!("{value:<3}")).collect();
    line.put(&values.join(" "));
}

/// Enhanced transmission selection.
fn selection(line: &mut Line<'_>, kind: u8, value: View<'_>) -> Printed {
    let first = value.u8(4)?;
    match kind {
        9 => put!(line, "\n\t    Willing:{}, CBS:{}, RES:{}, Max TCs:{}", first >> 7, first >> 6 & 2, first >> 3 & 7, first & 7),
        _ => put!(line, "\n\t    RES: {first}"),
    }
    line.put("\n\t    Priority Assignment Table\n\t     Priority : 0   1   2   3   4   5   6   7\n\t     Value    : ");
    columns(line, value.take(5, 4)?.iter().flat_map(|pair| [pair >> 4, pair & 15]));
    line.put("\n\t    TC Bandwidth Table\n\t     TC%   : 0   1   2   3   4   5   6   7\n\t     Value : ");
    columns(line, value.take(9, 8)?.iter().copied());
    line.put("\n\t    TSA Assignment Table\n\t     Traffic Class: 0   1   2   3   4   5   6   7\n\t     Value        : ");
    columns(line, value.take(17, 8)?.iter().copied());
    Ok(())
}

fn priorities(line: &mut Line<'_>, value: View<'_>) -> Printed {
    put!(line, "\n\t    RES: {}", value.u8(4)?);
    let entries = value.skip(5);
    if entries.len() == 0 || !entries.len().is_multiple_of(3) {
        return Ok(());
    }
    line.put("\n\t    Application Priority Table");
    for at in (0..entries.len()).step_by(3) {
        let first = entries.u8(at)?;
        put!(line, "\n\t      Priority: {}, RES: {}, Sel: {}", first >> 5, first >> 3 & 3, first & 7);
        put!(line, ", Protocol ID: {}", entries.u16(at + 1)?);
    }
    Ok(())
}

/// Edge virtual bridging.
fn virtual_bridging(line: &mut Line<'_>, value: View<'_>) -> Printed {
    let [bridge, station, retries, mode, last] = value.array(4)?;
    line.put("\n\t    EVB Bridge Status");
    put!(line, "\n\t      RES: {}, BGID: {}, RRCAP: {}, RRCTR: {}", bridge >> 3, bridge >> 2 & 1, bridge >> 1 & 1, bridge & 1);
    line.put("\n\t    EVB Station Status");
    put!(line, "\n\t      RES: {}, SGID: {}, RRREQ: {},RRSTAT: {}", station >> 4, station >> 3 & 1, station >> 2 & 1, station & 3);
    let modes = ["Not Supported", "EVB Bridge", "EVB Station", "Reserved for future Standardization"];
    put!(line, "\n\t    R: {}, RTE: {}, EVB Mode: {} [{}]", retries >> 5, retries & 31, modes[usize::from(mode >> 6)], mode >> 6);
    put!(line, "\n\t    ROL: {}, RWD: {}, RES: {}, ROL: {}, RKA: {}", mode >> 5 & 1, mode & 31, last >> 6, last >> 5 & 1, last & 31);
    Ok(())
}

/// Channels of the edge's discovery protocol.
fn channels(line: &mut Line<'_>, value: View<'_>) -> Printed {
    let first = value.u8(4)?;
    put!(line, "\n\t    Role: {}, RES: {}, Scomp: {} ", first >> 7, first >> 4 & 7, first >> 3 & 1);
    put!(line, "ChnCap: {}", value.u16(6)? & 0xfff);
    let pairs = value.skip(8);
    if pairs.len().is_multiple_of(3) {
        for at in (0..pairs.len()).step_by(3) {
            let pair = pairs.u24(at)?;
            put!(line, "\n\t    SCID: {}, SVID: {}", pair >> 12, pair & 0xfff);
        }
    }
    Ok(())
}

/// Features of the exchange before the standard: name, and the least bytes.
const FEATURES: &[(u16, (&str, usize))] = &[
    (1, ("Control - Protocol Control", 10)),
    (2, ("Feature - Priority Group", 17)),
    (3, ("Feature - Priority Flow Control", 6)),
    (4, ("Feature - Application", 4)),
];

/// Prints a field of the exchange of capabilities before the standard; false if its bytes are to be
/// shown.
pub(super) fn exchange(line: &mut Line<'_>, value: View<'_>) -> Result<bool, Cut> {
    let kind = value.u8(3)?;
    let kinds = [(1, "DCB Capability Exchange Protocol Rev 1"), (2, "DCB Capability Exchange Protocol Rev 1.01")];
    put!(line, "\n\t  {} Subtype ({kind})", names::find(&kinds, kind).unwrap_or("unknown"));
    if kind == 1 {
        return Ok(false);
    }
    let (mut rest, mut known) = (value.skip(4), true);
    while rest.len() >= 2 {
        let head = rest.u16(0)?;
        let (kind, length) = (head >> 9, usize::from(head & 0x1ff));
        known = true;
        let Ok(bytes) = rest.take(2, length) else { break };
        if kind == 0 || length == 0 {
            break;
        }
        let part = View::new(bytes, length);
        match names::find_any(FEATURES, kind) {
            Some((_, least)) if length < least => break,
            Some((name, _)) => feature(line, kind, name, part)?,
            None => known = false,
        }
        if line.style.verbose > 1 || !known {
            hex::indented(&mut line.text, bytes, "\n\t    ");
        }
        rest = rest.skip(2 + length);
    }
    Ok(known)
}

fn feature(line: &mut Line<'_>, kind: u16, name: &str, part: View<'_>) -> Printed {
    put!(line, "\n\t    {name} (type 0x{kind:x}, length {})", part.len());
    put!(line, "\n\t      Oper_Version: {}\n\t      Max_Version: {}", part.u8(0)?, part.u8(1)?);
    if kind == 1 {
        put!(line, "\n\t      Sequence Number: {}\n\t      Acknowledgement Number: {}", part.u32(2)?, part.u32(6)?);
        return Ok(());
    }
    let info = part.u8(2)?;
    put!(line, "\n\t      Info block(0x{info:02X}): Enable bit: {}", info >> 7);
    put!(line, ", Willing bit: {}, Error Bit: {}\n\t      SubType: {}", info >> 6 & 1, info >> 5 & 1, part.u8(3)?);
    match kind {
        2 => {
            line.put("\n\t      Priority Allocation");
            let groups = part.u32(4)?;
            for i in 0..8 {
                put!(line, "\n\t          PgId_{i}: {}", groups >> (28 - 4 * i) & 15);
            }
            line.put("\n\t      Priority Group Allocation");
            for (i, share) in part.take(8, 8)?.iter().enumerate() {
                put!(line, "\n\t          Pg percentage[{i}]: {share}");
            }
            put!(line, "\n\t      NumTCsSupported: {}", part.u8(16)?);
        }
        3 => {
            let set = part.u8(4)?;
            put!(line, "\n\t      PFC Config (0x{set:02X})");
            for i in 0..8 {
                put!(line, "\n\t          Priority Bit {i}: {}", if set >> i & 1 == 1 { "Enabled" } else { "Disabled" });
            }
            put!(line, "\n\t      NumTCPFCSupported: {}", part.u8(5)?);
        }
        _ => applications(line, part.skip(4))?,
    }
    Ok(())
}

fn applications(line: &mut Line<'_>, entries: View<'_>) -> Printed {
    for at in (0..entries.len() - entries.len() % 6).step_by(6) {
        let selector = entries.u24(at + 2)?;
        put!(line, "\n\t      Application Value\n\t          Application Protocol ID: 0x{:04x}", entries.u16(at)?);
        let what = if selector >> 22 != 0 { "Socket Number" } else { "L2 EtherType" };
        put!(line, "\n\t          SF (0x{:x}) Application Protocol ID is {what}", selector >> 22);
        put!(line, "\n\t          OUI: 0x{:06x}", selector & 0x3f_ffff);
        put!(line, "\n\t          User Priority Map: 0x{:02x}", entries.u8(at + 5)?);
    }
    Ok(())
}
