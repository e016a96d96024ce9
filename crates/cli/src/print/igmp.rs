//! IGMP, versions 1 to 3 (RFC 1112, RFC 2236, RFC 3376).

use super::view::{Printed, View};
use super::{Line, checksum, dvmrp, pim, put, time};
use std::net::Ipv4Addr;

pub(super) fn print(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "igmp";
    if line.style.quiet {
        line.put("igmp");
        return Ok(());
    }
    let len = view.len();
    let group = || view.u32(4).map(Ipv4Addr::from);
    match view.u8(0)? {
        0x11 if len >= 12 => query_v3(line, view)?,
        0x11 => query(line, view)?,
        0x12 => put!(line, "igmp v1 report {}", group()?),
        0x16 => put!(line, "igmp v2 report {}", group()?),
        0x22 => report_v3(line, view)?,
        0x17 => put!(line, "igmp leave {}", group()?),
        0x13 if len >= 8 => {
            line.put("igmp dvmrp");
            dvmrp::print(line, view)?;
        }
        0x13 => line.put("igmp dvmrp"),
        0x14 => {
            line.put("igmp pimv1");
            pim::version_1(line, view)?;
        }
        kind @ (0x1e | 0x1f) => trace(line, kind, view)?,
        other => put!(line, "igmp-{other}"),
    }
    let wrong = match view.u8(0)? {
        0x11 => len < 12 && len != 8,
        0x12 => len != 8,
        0x13 => len < 8,
        _ => false,
    };
    if wrong {
        put!(line, " [len {len}]");
    }
    sum(line, view)
}

fn sum(line: &mut Line<'_>, view: View<'_>) -> Printed {
    let checked = line.style.verbose > 0 && view.len() >= 4 && view.is_whole();
    if checked && checksum::expected(view.u16(2)?, view.captured(), 0).is_some() {
        put!(line, " bad igmp cksum {:x}!", view.u16(2)?);
    }
    Ok(())
}

/// Who asks for the way of a group's packets.
fn trace(line: &mut Line<'_>, kind: u8, view: View<'_>) -> Printed {
    let name = if kind == 0x1e { "mresp" } else { "mtrace" };
    if view.len() < 24 {
        put!(line, " [invalid len {}]", view.len());
        return Ok(());
    }
    put!(line, "{name} {}: {} to {} reply-to {}", view.u24(21)?, view.v4(8)?, view.v4(12)?, view.v4(16)?);
    if view.v4(16)?.is_multicast() {
        put!(line, " with-ttl {}", view.u8(20)?);
    }
    Ok(())
}

fn query(line: &mut Line<'_>, view: View<'_>) -> Printed {
    let time = view.u8(1)?;
    line.put(if time == 0 { "igmp query v1" } else { "igmp query v2" });
    if time != 0 && time != 100 {
        put!(line, " [max resp time {time}]");
    }
    match view.u32(4)? {
        0 => {}
        group => put!(line, " [gaddr {}]", Ipv4Addr::from(group)),
    }
    Ok(())
}

fn query_v3(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.put("igmp query v3");
    if !view.len().is_multiple_of(4) {
        put!(line, " [invalid len {}]", view.len());
        return Ok(());
    }
    let code = view.u8(1)?;
    // RFC 3376, section 4.1.1: above 127 a mantissa and an exponent.
    let tenths = if code < 128 { u32::from(code) } else { u32::from(code & 15 | 16) << (u32::from(code >> 4 & 7) + 3) };
    if tenths != 100 {
        match tenths {
            0..100 => put!(line, " [max resp time {}.{}s]", tenths / 10, tenths % 10),
            _ => put!(line, " [max resp time {}]", time::span(tenths / 10)),
        }
    }
    let (group, sources) = (view.u32(4)?, view.u16(10)?);
    if group == 0 {
        return Ok(());
    }
    put!(line, " [gaddr {}", Ipv4Addr::from(group));
    match sources {
        0 => {}
        _ if view.len() < 12 + 4 * usize::from(sources) => line.put(" [invalid number of sources]"),
        _ if line.style.verbose > 1 => listed(line, view.skip(12), sources)?,
        _ => put!(line, ", {sources} source(s)"),
    }
    line.put("]");
    Ok(())
}

fn report_v3(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.put("igmp v3 report");
    if view.len() < 16 || !view.len().is_multiple_of(4) {
        put!(line, " [invalid len {}]", view.len());
        return Ok(());
    }
    let groups = view.u16(6)?;
    put!(line, ", {groups} group record(s)");
    let mut rest = view.skip(8);
    for _ in 0..if line.style.verbose > 0 { groups } else { 0 } {
        if rest.len() < 8 {
            line.put(" [invalid number of groups]");
            return Ok(());
        }
        let (kind, sources) = (rest.u8(0)?, rest.u16(2)?);
        let kinds = ["is_in", "is_ex", "to_in", "to_ex", "allow", "block"];
        let name = kinds.get(usize::from(kind).wrapping_sub(1));
        let name = name.map_or_else(|| format!(" [v3-report-#{kind}]"), |name| (*name).to_owned());
        put!(line, " [gaddr {} {name}", rest.v4(4)?);
        if rest.len() < 8 + 4 * usize::from(sources) {
            put!(line, " [invalid number of sources {sources}]");
            return Ok(());
        }
        match line.style.verbose {
            1 => put!(line, ", {sources} source(s)"),
            _ => listed(line, rest.skip(8), sources)?,
        }
        line.put("]");
        rest = rest.skip(8 + 4 * usize::from(sources));
    }
    Ok(())
}

fn listed(line: &mut Line<'_>, view: View<'_>, sources: u16) -> Printed {
    line.put(" {");
    for i in 0..usize::from(sources) {
        put!(line, " {}", Ipv4Addr::from(view.u32(4 * i)?));
    }
    line.put(" }");
    Ok(())
}
