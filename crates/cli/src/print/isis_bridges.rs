//! What bridges tell each other in IS-IS: shortest path bridging (RFC 6329), and its capabilities
//! of ports (RFC 6165).

use super::view::{Printed, View};
use super::{Line, escape, put};

const PORT: u8 = 143;

/// Prints a capability of a port, or of a bridge, with its parts.
pub(super) fn print(line: &mut Line<'_>, kind: u8, value: View<'_>) -> Printed {
    if value.len() < 2 {
        return Ok(());
    }
    let first = value.u16(0)?;
    match kind {
        PORT => put!(line, "\n\t       RES: {}, MTID(s): {}", first >> 12, first & 0xfff),
        _ => put!(line, "\n\t      O: {}, RES: {}, MTID(s): {}", first >> 15, first >> 12 & 7, first & 0xfff),
    }
    let (indent, known): (_, &[(u8, &str, usize)]) = match kind {
        PORT => ("\n\t       ", &[(4, "SPB MCID", 102), (5, "SPB Digest", 33), (6, "SPB BVID", 0)]),
        _ => ("\n\t      ", &[(1, "SPB Instance", 19), (3, "SPBM Service Identifier and Unicast Address", 8)]),
    };
    let mut rest = value.skip(2);
    while rest.len() > 2 {
        let (part, length) = (rest.u8(0)?, usize::from(rest.u8(1)?));
        let found = known.iter().find(|(number, ..)| *number == part);
        put!(line, "{indent}{} subTLV #{part}, length: {length}", found.map_or("unknown", |(_, name, _)| name));
        if rest.len() < 2 + length {
            line.put(" (> containing TLV length)");
            break;
        }
        let value = View::new(rest.take(2, length)?, length);
        match found {
            Some((.., least)) if length < *least => {
                line.put(" (too short)");
                break;
            }
            Some(_) if kind == PORT => of_port(line, part, value)?,
            Some(_) => of_bridge(line, part, value)?,
            None => {}
        }
        rest = rest.skip(2 + length);
    }
    Ok(())
}

fn of_port(line: &mut Line<'_>, part: u8, value: View<'_>) -> Printed {
    match part {
        4 => {
            line.put("\n\t         MCID: ");
            configuration(line, value)?;
            line.put("\n\t         AUX-MCID: ");
            configuration(line, value.skip(51))?;
        }
        5 => {
            let first = value.u8(0)?;
            put!(line, "\n\t        RES: {} V: {} A: {} D: {}", first >> 5, first >> 4 & 1, first >> 2 & 3, first & 3);
            line.put("\n\t         Digest: ");
            for i in 0..8 {
                put!(line, "{:08x} ", value.u32(1 + 4 * i)?);
                line.put(if i == 3 { "\n\t                 " } else { "" });
            }
        }
        _ => {
            for at in (0..value.len()).step_by(6) {
                if value.len() < at + 6 {
                    line.put(" (too short)");
                    break;
                }
                let last = value.u16(at + 4)?;
                put!(
                    line,
                    "\n\t           ECT: {:08x} BVID: {}, U:{:01x} M:{:01x} ",
                    value.u32(at)?,
                    last >> 4,
                    last >> 3 & 1,
                    last >> 2 & 1
                );
            }
        }
    }
    Ok(())
}

/// The identity of a configuration of MSTP: format, name, revision and digest.
fn configuration(line: &mut Line<'_>, value: View<'_>) -> Printed {
    put!(line, "ID: {}, Name: ", value.u8(0)?);
    escape::until_zero(&mut line.text, value.take(1, 32)?);
    put!(line, "\n\t              Lvl: {}, Digest: ", value.u16(33)?);
    for byte in value.take(35, 16)? {
        put!(line, "{byte:02x} ");
    }
    Ok(())
}

fn of_bridge(line: &mut Line<'_>, part: u8, value: View<'_>) -> Printed {
    if part == 3 {
        let last = value.u16(6)?;
        put!(line, "\n\t        BMAC: {:08x}{:04x}, RES: {}, VID: {}", value.u32(0)?, value.u16(4)?, last >> 12, last & 0xfff);
        for at in (8..value.len() - value.len() % 4).step_by(4) {
            let service = value.u32(at)?;
            put!(line, "\n\t        T: {}, R: {}", service >> 31, service >> 30 & 1);
            put!(line, ", RES: {}, ISID: {}", service >> 24 & 0x3f, service & 0xff_ffff);
        }
        return Ok(());
    }
    put!(line, "\n\t        CIST Root-ID: {:08x} {:08x}", value.u32(0)?, value.u32(4)?);
    put!(line, ", Path Cost: {:08x}, Prio: {}", value.u32(8)?, value.u16(12)?);
    put!(line, "\n\t        RES: {}, V: {}", value.u16(14)? >> 5, value.u16(14)? >> 4 & 1);
    let trees = value.u8(18)?;
    put!(line, ", SPSource-ID: {}, No of Trees: {trees:x}", value.u32(14)? & 0xf_ffff);
    for at in (19..).step_by(8).take(trees.into()) {
        value.take(at, 8)?;
        let (flags, ids) = (value.u8(at)?, value.u24(at + 5)?);
        put!(line, "\n\t         U:{}, M:{}, A:{}, RES:{}", flags >> 7, flags >> 6 & 1, flags >> 5 & 1, flags & 0x1f);
        put!(line, ", ECT: {:08x}, BVID: {}, SPVID: {}", value.u32(at + 1)?, ids >> 12, ids & 0xfff);
    }
    Ok(())
}
