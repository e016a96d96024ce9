//! Multicast listener discovery, versions 1 and 2 (RFC 2710, RFC 3810).

use super::view::{Printed, View};
use super::{Line, ip6, names, put};

const RECORD: usize = 20;
const ADDRESS: usize = 16;
const RECORDS: &[(u8, &str)] = &[(1, "is_in"), (2, "is_ex"), (3, "to_in"), (4, "to_ex"), (5, "allow"), (6, "block")];

/// Version 1: what all its messages have.
pub(super) fn version_1(line: &mut Line<'_>, view: View<'_>) -> Printed {
    if view.captured().len() >= 24 {
        put!(line, "max resp delay: {} addr: {}", view.u16(4)?, ip6::address_at(view, 8)?);
    }
    Ok(())
}

/// A query of version 2; with `-v` its times, with `-vv` the sources.
pub(super) fn query(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.put(" v2");
    let verbose = line.style.verbose;
    let code = u32::from(view.u16(4)?);
    // RFC 3810, section 5.1.3: above 32,767 a mantissa and an exponent.
    let delay = if code < 0x8000 { code } else { (code & 0xfff | 0x1000) << ((code >> 12 & 7) + 3) };
    if verbose > 0 {
        put!(line, " [max resp delay={delay}]");
    }
    put!(line, " [gaddr {}", ip6::address_at(view, 8)?);
    if verbose > 0 {
        times(line, view)?;
    }
    match usize::from(view.u16(26)?) {
        0 => {}
        sources if view.len() < 28 + sources * ADDRESS => line.put(" [invalid number of sources]"),
        sources if verbose > 1 => listed(line, view.skip(28), sources)?,
        sources => put!(line, ", {sources} source(s)"),
    }
    line.put("]");
    Ok(())
}

fn times(line: &mut Line<'_>, view: View<'_>) -> Printed {
    let (flags, code) = (view.u8(24)?, u32::from(view.u8(25)?));
    if flags & 8 != 0 {
        line.put(" sflag");
    }
    if flags & 7 != 0 {
        put!(line, " robustness={}", flags & 7);
    }
    let interval = if code < 128 { code } else { (code & 15 | 16) << ((code >> 4 & 7) + 3) };
    put!(line, " qqi={interval}");
    Ok(())
}

fn listed(line: &mut Line<'_>, view: View<'_>, sources: usize) -> Printed {
    line.put(" {");
    for i in 0..sources {
        put!(line, " {}", ip6::address_at(view, ADDRESS * i)?);
    }
    line.put(" }");
    Ok(())
}

/// A report of version 2; with `-v` its records.
pub(super) fn report(line: &mut Line<'_>, view: View<'_>) -> Printed {
    if view.len() < 8 {
        put!(line, " [invalid len {}]", view.len());
        return Ok(());
    }
    let groups = view.u16(6)?;
    put!(line, ", {groups} group record(s)");
    let mut rest = view.skip(8);
    for _ in 0..if line.style.verbose > 0 { groups } else { 0 } {
        if rest.len() < RECORD {
            line.put(" [invalid number of groups]");
            return Ok(());
        }
        put!(line, " [gaddr {}", ip6::address_at(rest, 4)?);
        let kind = rest.u8(0)?;
        put!(line, " {}", names::find_or(RECORDS, kind, || format!(" [v2-report-#{kind}]")));
        let sources = usize::from(rest.u16(2)?);
        if rest.len() < RECORD + sources * ADDRESS {
            put!(line, " [invalid number of sources {sources}]");
            return Ok(());
        }
        match line.style.verbose {
            1 => put!(line, ", {sources} source(s)"),
            _ => listed(line, rest.skip(RECORD), sources)?,
        }
        line.put("]");
        rest = rest.skip(RECORD + sources * ADDRESS);
    }
    Ok(())
}
