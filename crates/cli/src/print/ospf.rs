//! OSPF, versions 2 and 3: the kind of packet; with `-v` the packet (version 2 here, version 3 in
//! `ospf3`).
//!
//! Source: RFC 2328, appendix A; RFC 5613 (link-local signalling). Advertisements are in
//! `ospf_lsa`.

use super::ospf_lsa::{self, OPTIONS};
use super::view::{Printed, View};
use super::{Line, escape, names, ospf3, put};
use std::net::Ipv4Addr;

const HEADER: usize = 24;
const KINDS: [&str; 5] = ["Hello", "Database Description", "LS-Request", "LS-Update", "LS-Ack"];
const HELLO: u8 = 1;
const DESCRIPTION: u8 = 2;
const SIMPLE: u16 = 1;
/// The authentication whose digest follows the packet.
const DIGEST: u16 = 2;
const DIGEST_SIZE: usize = 16;
/// A link's header in a database description or an acknowledgement.
const LSA_HEADER: usize = 20;
/// The option that announces link-local signalling.
const SIGNALLING: u8 = 0x10;

pub(super) fn print(line: &mut Line<'_>, view: View<'_>) -> Printed {
    let version = view.u8(0)?;
    line.protocol = if version == 3 { "ospf3" } else { "ospf2" };
    let kind = view.u8(1)?;
    // The digest does not count (RFC 2328, appendix D).
    let digest = version != 3 && view.u16(14) == Ok(DIGEST);
    let view = if digest { view.first(view.len().saturating_sub(DIGEST_SIZE)) } else { view };
    let Some(name) = KINDS.get(usize::from(kind).wrapping_sub(1)) else {
        let name = if version == 3 { format!("unknown packet type ({kind})") } else { format!("unknown LS-type {kind}") };
        put!(line, "OSPFv{version}, {name}, length {}", view.len());
        return Ok(());
    };
    put!(line, "OSPFv{version}, {name}, length {}", view.len());
    match (line.style.verbose, version) {
        (0, _) => Ok(()),
        (_, 3) => ospf3::print(line, kind, view),
        _ => version_2(line, version, kind, view),
    }
}

/// Who sent it, and in which area.
pub(super) fn sender(line: &mut Line<'_>, view: View<'_>) -> Printed {
    put!(line, "\n\tRouter-ID {}", view.v4(4)?);
    match view.v4(8)? {
        Ipv4Addr::UNSPECIFIED => line.put(", Backbone Area"),
        area => put!(line, ", Area {area}"),
    }
    Ok(())
}

fn version_2(line: &mut Line<'_>, version: u8, kind: u8, view: View<'_>) -> Printed {
    let length = usize::from(view.u16(2)?);
    if length != view.len() {
        put!(line, " [len {length}]");
    }
    sender(line, view)?;
    if !authentication(line, view)? {
        return Ok(());
    }
    if version != 2 {
        put!(line, " ospf [version {version}]");
        return Ok(());
    }
    // What follows the packet can be read, but belongs to nothing.
    let end = length.min(view.len());
    match kind {
        HELLO => hello(line, view, end)?,
        DESCRIPTION => description(line, view, end)?,
        3 => requests(line, view, end)?,
        4 => updates(line, view)?,
        // As tcpdump, which ends when nothing is left to read.
        _ => headers(line, view, HEADER, usize::MAX)?,
    }
    let options = match kind {
        HELLO => view.u8(30)?,
        DESCRIPTION => view.u8(26)?,
        _ => 0,
    };
    if view.len() > length && options & SIGNALLING != 0 {
        signalling(line, view, length)?;
    }
    Ok(())
}

/// How the packet is authenticated; false if that is unknown.
fn authentication(line: &mut Line<'_>, view: View<'_>) -> Result<bool, super::view::Cut> {
    view.take(16, 8)?;
    let kind = view.u16(14)?;
    let name = names::find(&[(0, "none"), (SIMPLE, "simple"), (DIGEST, "MD5")], kind).unwrap_or("unknown");
    put!(line, ", Authentication Type: {name} ({kind})");
    match kind {
        SIMPLE => {
            line.put("\n\tSimple text password: ");
            escape::until_zero(&mut line.text, view.take(16, 8)?);
        }
        DIGEST => {
            let (key, size, number) = (view.u8(18)?, view.u8(19)?, view.u32(20)?);
            put!(line, "\n\tKey-ID: {key}, Auth-Length: {size}, Crypto Sequence Number: 0x{number:08x}");
        }
        _ => {}
    }
    Ok(kind <= DIGEST)
}

/// The designated router and its stand-in, where there are.
pub(super) fn designated(line: &mut Line<'_>, view: View<'_>, at: usize) -> Printed {
    for (text, at) in [("\n\t  Designated Router", at), (", Backup Designated Router", at + 4)] {
        match view.v4(at)? {
            Ipv4Addr::UNSPECIFIED => {}
            router => put!(line, "{text} {router}"),
        }
    }
    Ok(())
}

fn hello(line: &mut Line<'_>, view: View<'_>, end: usize) -> Printed {
    put!(line, "\n\tOptions [{}]", names::flags(OPTIONS, view.u8(30)?.into(), ", "));
    put!(line, "\n\t  Hello Timer {}s, Dead Timer {}s", view.u16(28)?, view.u32(32)?);
    put!(line, ", Mask {}, Priority {}", view.v4(24)?, view.u8(31)?);
    designated(line, view, 36)?;
    let neighbors = 44;
    if neighbors < end {
        line.put("\n\t  Neighbor List:");
    }
    for at in (neighbors..end).step_by(4) {
        put!(line, "\n\t    {}", view.v4(at)?);
    }
    Ok(())
}

fn description(line: &mut Line<'_>, view: View<'_>, end: usize) -> Printed {
    put!(line, "\n\tOptions [{}]", names::flags(OPTIONS, view.u8(26)?.into(), ", "));
    let table = [(0x04, "Init"), (0x02, "More"), (0x01, "Master"), (0x08, "OOBResync")];
    put!(line, ", DD Flags [{}]", names::flags(&table, view.u8(27)?.into(), ", "));
    match view.u16(24)? {
        0 => {}
        mtu => put!(line, ", MTU: {mtu}"),
    }
    put!(line, ", Sequence: 0x{:08x}", view.u32(28)?);
    headers(line, view, HEADER + 8, end)
}

fn headers(line: &mut Line<'_>, view: View<'_>, from: usize, end: usize) -> Printed {
    for at in (from..end).step_by(LSA_HEADER) {
        if ospf_lsa::header(line, view.skip(at))?.is_none() {
            break;
        }
    }
    Ok(())
}

fn requests(line: &mut Line<'_>, view: View<'_>, end: usize) -> Printed {
    for at in (HEADER..end).step_by(12) {
        view.take(at, 12)?;
        let kind = view.u32(at)?;
        let name = u8::try_from(kind).ok().and_then(|kind| names::find(ospf_lsa::KINDS, kind)).unwrap_or("unknown");
        put!(line, "\n\t  Advertising Router: {}, {name} LSA ({kind})", view.v4(at + 8)?);
        match kind {
            9..=11 => {
                let opaque = view.u8(at + 4)?;
                let name = names::find(ospf_lsa::OPAQUE, opaque).unwrap_or("unknown");
                put!(line, ", Opaque-Type: {name} LSA ({opaque}), Opaque-ID: {}", view.u24(at + 5)?);
            }
            _ => put!(line, ", LSA-ID: {}", view.v4(at + 4)?),
        }
    }
    Ok(())
}

fn updates(line: &mut Line<'_>, view: View<'_>) -> Printed {
    let count = view.u32(HEADER)?;
    put!(line, ", {count} LSA{}", if count == 1 { "" } else { "s" });
    let mut rest = view.skip(HEADER + 4);
    for number in 1..=count {
        put!(line, "\n\t  LSA #{number}");
        let size = ospf_lsa::print(line, rest)?;
        rest = rest.skip(size);
    }
    Ok(())
}

/// Link-local signalling (RFC 5613), behind the packet and its digest.
fn signalling(line: &mut Line<'_>, view: View<'_>, length: usize) -> Printed {
    let start = length + if view.u16(14)? == DIGEST { usize::from(view.u8(19)?) } else { 0 };
    if start >= view.len() {
        line.put("\n\t[LLS truncated]");
        return Ok(());
    }
    let data = view.skip(start);
    put!(line, "\n\t  LLS: checksum: 0x{:04x}, length: {}", data.u16(0)?, data.u16(2)?);
    let mut rest = data.skip(4);
    while rest.len() > 0 {
        let (kind, size) = (rest.u16(0)?, usize::from(rest.u16(2)?));
        let name = names::find(&[(1, "Extended Options"), (2, "MD5 Authentication")], kind).unwrap_or("Unknown TLV");
        put!(line, "\n\t    {name} ({kind}), length: {size}");
        let right = [size, 4, 20].get(usize::from(kind)).copied().unwrap_or(size);
        if size != right {
            put!(line, " [should be {right}]");
        }
        match kind {
            1 => {
                let flags = rest.u32(4)?;
                let set = match flags & 3 {
                    0 => "?".to_owned(),
                    set => names::flags(&[(1, "LSDB resync"), (2, "Restart")], set as u16, ", "),
                };
                put!(line, "\n\t      Options: 0x{flags:08x} [{set}]");
            }
            2 => put!(line, "\n\t      Sequence number: 0x{:08x}", rest.u32(4)?),
            _ => {}
        }
        rest = rest.skip(4 + right);
    }
    Ok(())
}
