//! PTP (IEEE 1588-2008), version 2: the common header and times of each message, over Ethernet and
//! UDP.
//!
//! Texts with two commas and blanks before colons are tcpdump 4.99.3's.

use super::view::{Printed, View};
use super::{Line, names, put};

const HEADER: usize = 34;
#[rustfmt::skip]
const KINDS: &[(u8, &str)] = &[
    (0, "sync msg"), (1, "delay req msg"), (2, "peer delay req msg"), (3, "peer delay resp msg"), (8, "follow up msg"), (9, "delay resp msg"),
    (10, "pdelay resp fup msg"), (11, "announce msg"), (12, "signaling msg"), (13, "management msg"),
];
#[rustfmt::skip]
const FLAGS: &[(u16, &str)] = &[
    (0x0001, "l1 61"), (0x0002, "l1 59"), (0x0004, "utc reasonable"), (0x0008, "timescale"), (0x0010, "time tracable"),
    (0x0020, "frequency tracable"), (0x0100, "alternate master"), (0x0200, "two step"), (0x0400, "unicast"),
    (0x1000, "profile specific 1"), (0x2000, "profile specific 2"), (0x4000, "security mask"), (0x18c0, "unknown"),
];
const CONTROLS: &[(u8, &str)] = &[(0, "Sync"), (1, "Delay_Req"), (2, "Follow_Up"), (3, "Delay_Resp"), (4, "Management"), (5, "Other")];

pub(super) fn print(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "ptp";
    if view.len() < HEADER {
        put!(line, " [length {} < {HEADER}]", view.len());
        line.invalid();
        return Ok(());
    }
    let version = view.u8(1)?;
    put!(line, "PTPv{version}");
    match version {
        1 => line.put(" (not implemented)"),
        2 => version_2(line, view)?,
        _ => {}
    }
    Ok(())
}

/// A number of 48 bits.
fn u48(view: View<'_>, at: usize) -> Result<u64, super::view::Cut> {
    Ok(u64::from(view.u16(at)?) << 32 | u64::from(view.u32(at + 2)?))
}

fn version_2(line: &mut Line<'_>, view: View<'_>) -> Printed {
    let first = view.u8(0)?;
    let kind = first & 15;
    put!(line, ", v1 compat : {}", if first & 0x10 != 0 { "yes" } else { "no" });
    put!(line, ", msg type : {}", names::find(KINDS, kind).unwrap_or("Reserved"));
    put!(line, ", length : {}, domain : {}, reserved1 : {}", view.u16(2)?, view.u8(4)?, view.u8(5)?);
    put!(line, ", Flags [{}]", names::flags(FLAGS, view.u16(6)?, ", "));
    put!(line, ", NS correction : {}, sub NS correction : {}, reserved2 : {}", u48(view, 8)?, view.u16(14)?, view.u32(16)?);
    put!(line, ", clock identity : 0x{:x}, port id : {}", view.array(20).map(u64::from_be_bytes)?, view.u16(28)?);
    let control = view.u8(32)?;
    put!(line, ", seq id : {}, control : {control} ({})", view.u16(30)?, names::find(CONTROLS, control).unwrap_or("Reserved"));
    put!(line, ", log message interval : {}", view.u8(33)?);
    let rest = view.skip(HEADER);
    match kind {
        0 | 1 => time(line, rest, "originTimeStamp", ","),
        8 => time(line, rest, "preciseOriginTimeStamp", ","),
        2 | 10 => time(line, rest, "preciseOriginTimeStamp", ",").and_then(|()| port(line, rest.skip(10))),
        3 | 9 => time(line, rest, "receiveTimeStamp", ",").and_then(|()| port(line, rest.skip(10))),
        11 => announce(line, rest),
        12 => port(line, rest),
        13 => management(line, rest),
        _ => Ok(()),
    }
}

fn time(line: &mut Line<'_>, view: View<'_>, name: &str, comma: &str) -> Printed {
    put!(line, ", {name} : {} seconds", u48(view, 0)?);
    put!(line, "{comma} {} nanoseconds", view.u32(6)?);
    Ok(())
}

fn port(line: &mut Line<'_>, view: View<'_>) -> Printed {
    put!(line, ", port identity : 0x{:x}, port id : {}", view.array(0).map(u64::from_be_bytes)?, view.u16(8)?);
    Ok(())
}

fn announce(line: &mut Line<'_>, view: View<'_>) -> Printed {
    time(line, view, "originTimeStamp", "")?;
    put!(line, ", origin cur utc :{}, rsvd : {}, gm priority_1 : {}", view.u16(10)?, view.u8(12)?, view.u8(13)?);
    put!(line, ", gm clock class : {}, gm clock accuracy : {}", view.u8(14)?, view.u8(15)?);
    put!(line, ", gm clock variance : {}, gm priority_2 : {}", view.u16(16)?, view.u8(18)?);
    put!(line, ", gm clock id : 0x{:x}", view.array(19).map(u64::from_be_bytes)?);
    put!(line, ", steps removed : {}, time source : 0x{:x}", view.u16(27)?, view.u8(29)?);
    Ok(())
}

fn management(line: &mut Line<'_>, view: View<'_>) -> Printed {
    port(line, view)?;
    put!(line, ", , start boundary hops  {}, , boundary hops  {}", view.u8(10)?, view.u8(11)?);
    put!(line, ", , flags  0x{:x}, , reserved  0x{:x}", view.u8(12)?, view.u8(13)?);
    Ok(())
}
