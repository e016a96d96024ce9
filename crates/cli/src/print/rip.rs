//! RIP, versions 1 and 2 (RFC 2453, RFC 4822): the command; with `-v` routes and authentication.

use super::view::{Printed, View};
use super::{Line, escape, names, put};
use std::net::Ipv4Addr;

const HEADER: usize = 4;
const ENTRY: usize = 20;
const INET: u16 = 2;
const AUTHENTICATION: u16 = 0xffff;
#[rustfmt::skip]
const COMMANDS: &[(u8, &str)] = &[
    (1, "Request"), (2, "Response"), (3, "Trace on"), (4, "Trace off"), (9, "Triggered Request"), (10, "Triggered Response"),
    (11, "Triggered Acknowledgement"), (12, "Update Request"), (13, "Update Response"), (14, "Update Acknowledge"),
];

pub(super) fn print(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "rip";
    line.put(if line.style.verbose > 0 { "\n\tRIP" } else { "RIP" });
    if view.len() < HEADER {
        put!(line, " [packet length {} < {HEADER}]", view.len());
        line.invalid();
        return Ok(());
    }
    let version = view.u8(1)?;
    put!(line, "v{version}");
    if version != 1 && version != 2 {
        line.put(" [version != 1 && version != 2]");
        line.invalid();
        return Ok(());
    }
    let command = view.u8(0)?;
    let name = names::find(COMMANDS, command).map_or_else(|| format!("unknown command ({command})"), str::to_owned);
    put!(line, ", {name}, length: {}", view.len());
    view.take(0, HEADER)?;
    if line.style.verbose == 0 || ![1, 2].contains(&command) {
        return Ok(());
    }
    let mut rest = view.skip(HEADER);
    put!(line, ", routes: {}{}", rest.len() / ENTRY, if version == 1 { "" } else { " or less" });
    while rest.len() > 0 {
        if rest.len() < ENTRY {
            put!(line, " [remaining data length {} < {ENTRY}]", rest.len());
            line.invalid();
            break;
        }
        let goes_on = if version == 1 { route(line, rest)? } else { entry(line, rest)? };
        if !goes_on {
            break;
        }
        rest = rest.skip(ENTRY);
    }
    Ok(())
}

fn address(view: View<'_>, at: usize) -> Result<Ipv4Addr, super::view::Cut> {
    view.u32(at).map(Ipv4Addr::from)
}

/// An entry of version 1.
fn route(line: &mut Line<'_>, view: View<'_>) -> Result<bool, super::view::Cut> {
    view.take(0, ENTRY)?;
    let family = view.u16(0)?;
    match family {
        0 => put!(line, "\n\t  AFI 0, {}, metric: {}", address(view, 4)?, view.u32(16)?),
        INET => put!(line, "\n\t  {}, metric: {}", address(view, 4)?, view.u32(16)?),
        _ => {
            put!(line, "\n\t AFI Unknown ({family}), ");
            return Ok(false);
        }
    }
    Ok(true)
}

/// An entry of version 2.
fn entry(line: &mut Line<'_>, view: View<'_>) -> Result<bool, super::view::Cut> {
    let (family, tag) = (view.u16(0)?, view.u16(2)?);
    match (family, tag) {
        (AUTHENTICATION, 2) => {
            let word = view.take(4, 16)?;
            line.put("\n\t  Simple Text Authentication data: ");
            escape::text(&mut line.text, word.split(|byte| *byte == 0).next().unwrap_or_default());
        }
        (AUTHENTICATION, 3) => {
            put!(line, "\n\t  Auth header: Packet Len {}, Key-ID {}, Auth Data Len {}", view.u16(4)?, view.u8(6)?, view.u8(7)?);
            put!(line, ", SeqNo {}, MBZ {}, MBZ {}", view.u32(8)?, view.u32(12)?, view.u32(16)?);
        }
        (AUTHENTICATION, 1) => {
            line.put("\n\t  Auth trailer:");
            line.unknown(view.skip(4));
            return Ok(false);
        }
        (AUTHENTICATION, _) => {
            put!(line, "\n\t  Unknown ({tag}) Authentication data:");
            line.unknown(view.skip(4));
            return Ok(false);
        }
        (0 | INET, _) => {
            let name = if family == INET { "IPv4" } else { "0" };
            let mask = view.u32(8)?;
            let length = if mask.leading_ones() + mask.trailing_zeros() >= 32 { i64::from(mask.leading_ones()) } else { -1 };
            put!(
                line,
                "\n\t  AFI {name}, {:>15}/{length:<2}, tag 0x{tag:04x}, metric: {}, next-hop: ",
                address(view, 4)?.to_string(),
                view.u32(16)?
            );
            match view.u32(12)? {
                0 => line.put("self"),
                _ => put!(line, "{}", address(view, 12)?),
            }
        }
        _ => put!(line, "\n\t  AFI Unknown ({family})"),
    }
    Ok(true)
}
