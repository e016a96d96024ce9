//! DVMRP (RFC 1075, and its draft of version 3), which IGMP carries: the kind of message, and
//! neighbours; with `-v` probes, with `-vv` routes.

use super::view::{Cut, Printed, View};
use super::{Line, put, time};
use std::net::Ipv4Addr;

#[rustfmt::skip]
const KINDS: [&str; 9] = [
    "Probe", "Report", "Ask-neighbors(old)", "Neighbors(old)", "Ask-neighbors2", "Neighbors2", "Prune", "Graft", "Graft-ACK",
];
const FLAGS: &[(u8, &str)] = &[(0x01, "/tunnel"), (0x02, "/srcrt"), (0x40, "/querier"), (0x20, "/disabled"), (0x10, "/down")];

pub(super) fn print(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "dvmrp";
    let kind = view.u8(1)?;
    match usize::from(kind).checked_sub(1).and_then(|at| KINDS.get(at)) {
        Some(name) => put!(line, " {name}"),
        None => put!(line, " [type {kind}]"),
    }
    let rest = view.skip(8);
    let verbose = line.style.verbose;
    let valid = match kind {
        1 if verbose > 0 => probe(line, rest)?,
        2 if verbose > 1 => report(line, rest)?,
        4 => neighbors(line, rest, false)?,
        6 => {
            put!(line, " (v {}.{}):", view.u8(7)?, view.u8(6)?);
            neighbors(line, rest, true)?
        }
        7..=9 => {
            put!(line, " src {} grp {}", rest.v4(0)?, rest.v4(4)?);
            if kind == 7 {
                put!(line, " timer {}", time::span(rest.u32(8)?));
            }
            true
        }
        _ => true,
    };
    if !valid {
        line.invalid();
    }
    Ok(())
}

fn probe(line: &mut Line<'_>, rest: View<'_>) -> Result<bool, Cut> {
    if rest.len() < 4 {
        put!(line, " [full length {} < 4]", rest.len());
        return Ok(false);
    }
    let all = line.style.verbose > 1;
    put!(line, "{}genid {}", if all { "\n\t" } else { " " }, rest.u32(0)?);
    let mut list = if all { rest.skip(4) } else { rest.first(0) };
    while list.len() > 0 {
        if list.len() < 4 {
            put!(line, "[remaining length {} < 4]", list.len());
            return Ok(false);
        }
        put!(line, "\n\tneighbor {}", list.v4(0)?);
        list = list.skip(4);
    }
    Ok(true)
}

/// Routes by masks: of the addresses as many bytes stand there as their mask has.
fn report(line: &mut Line<'_>, view: View<'_>) -> Result<bool, Cut> {
    let mut rest = view;
    while rest.len() > 0 {
        if rest.len() < 3 {
            put!(line, " [length {} < 3]", rest.len());
            return Ok(false);
        }
        let [a, b, c] = rest.array(0)?;
        let width = [a, b, c].iter().rposition(|byte| *byte != 0).map_or(1, |last| last + 2);
        put!(line, "\n\tMask {}", Ipv4Addr::new(0xff, a, b, c));
        rest = rest.skip(3);
        loop {
            if rest.len() < width + 1 {
                line.put("\n\t  [Truncated Report]");
                return Ok(false);
            }
            let mut octets = [0; 4];
            octets[..width].copy_from_slice(rest.take(0, width)?);
            let metric = rest.u8(width)?;
            put!(line, "\n\t  {} metric {}", Ipv4Addr::from(octets), metric & 0x7f);
            rest = rest.skip(width + 1);
            if metric & 0x80 != 0 {
                break;
            }
        }
    }
    Ok(true)
}

/// Neighbours by interfaces; the newer form has flags.
fn neighbors(line: &mut Line<'_>, view: View<'_>, newer: bool) -> Result<bool, Cut> {
    let head = if newer { 8 } else { 7 };
    let mut rest = view;
    while rest.len() > 0 {
        if rest.len() < head {
            put!(line, " [length {} < {head}]", rest.len());
            return Ok(false);
        }
        let (own, metric, threshold) = (rest.v4(0)?, rest.u8(4)?, rest.u8(5)?);
        let (flags, count) = if newer { (rest.u8(6)?, rest.u8(7)?) } else { (0, rest.u8(6)?) };
        rest = rest.skip(head);
        for _ in 0..count {
            if newer && rest.len() == 0 {
                line.put(" [invalid ncount]");
                return Ok(false);
            }
            if rest.len() < 4 {
                put!(line, " [length {} < 4]", rest.len());
                return Ok(false);
            }
            match newer {
                false => put!(line, " [{own} -> {}, ({metric}/{threshold})]", rest.v4(0)?),
                true => {
                    put!(line, " [{own} -> {} ({metric}/{threshold}", rest.v4(0)?);
                    for (bit, name) in FLAGS {
                        line.put(if flags & bit != 0 { name } else { "" });
                    }
                    line.put(")]");
                }
            }
            rest = rest.skip(4);
        }
    }
    Ok(true)
}
