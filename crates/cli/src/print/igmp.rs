//! IGMP, versions 1 to 3 (RFC 1112, RFC 2236, RFC 3376).

use super::view::{Printed, View};
use super::{Line, pim, put, time};
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
        0x13 => put!(line, "igmp dvmrp"),
        0x14 => {
            line.put("igmp pimv1");
            return pim::version_1(line, view);
        }
        other => put!(line, "igmp-{other}"),
    }
    if matches!(view.u8(0)?, 0x12 | 0x13) && len != 8 || view.u8(0)? == 0x11 && len < 12 && len != 8 {
        put!(line, " [len {len}]");
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
    if sources > 0 {
        put!(line, ", {sources} source(s)");
    }
    line.put("]");
    Ok(())
}

fn report_v3(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.put("igmp v3 report");
    if view.len() < 8 {
        put!(line, " [invalid len {}]", view.len());
        return Ok(());
    }
    let groups = view.u16(6)?;
    put!(line, ", {groups} group record(s)");
    if line.style.verbose == 0 {
        return Ok(());
    }
    let mut at = 8;
    for _ in 0..groups {
        let (kind, sources) = (view.u8(at)?, view.u16(at + 2)?);
        let kinds = ["", "is_in", "is_ex", "to_in", "to_ex", "allow", "block"];
        let name = kinds.get(usize::from(kind)).copied().unwrap_or("unknown");
        put!(line, " [gaddr {} {name}", Ipv4Addr::from(view.u32(at + 4)?));
        at += 8;
        match line.style.verbose {
            1 => put!(line, ", {sources} source(s)"),
            _ => listed(line, view.skip(at), sources)?,
        }
        line.put("]");
        at += 4 * usize::from(sources);
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
