//! Ad hoc On-Demand Distance Vector routing (RFC 3561), with `-T aodv`: requests, replies and
//! errors, of IPv4 or IPv6 as what carries them.
//!
//! Flags are read where tcpdump 4.99.3 reads them: in the byte of the type.

use super::view::{Cut, Printed, View};
use super::{Line, put};
use std::net::Ipv6Addr;

/// Bytes of an address, which is what differs.
struct Addresses(usize);

impl Addresses {
    fn at(&self, view: View<'_>, at: usize) -> Result<String, Cut> {
        match self.0 {
            16 => view.array::<16>(at).map(|bytes| Ipv6Addr::from(bytes).to_string()),
            _ => view.v4(at).map(|address| address.to_string()),
        }
    }
}

pub(super) fn print(line: &mut Line<'_>, view: View<'_>, v6: bool) -> Printed {
    line.protocol = "aodv";
    line.put(" aodv");
    let addresses = Addresses(if v6 { 16 } else { 4 });
    match view.u8(0)? {
        1 => request(line, view, &addresses),
        2 => reply(line, view, &addresses),
        3 => error(line, view, &addresses),
        4 => {
            put!(line, " rrep-ack {}", view.len());
            Ok(())
        }
        kind => {
            put!(line, " type {kind} {}", view.len());
            Ok(())
        }
    }
}

/// What there must be of it.
fn at_least(view: View<'_>, least: usize) -> Printed {
    if view.len() < least { Err(Cut) } else { Ok(()) }
}

fn request(line: &mut Line<'_>, view: View<'_>, addresses: &Addresses) -> Printed {
    let size = 16 + 2 * addresses.0;
    at_least(view, size)?;
    let kind = view.u8(0)?;
    let flags: String = [(0x80, "[J]"), (0x40, "[R]"), (0x20, "[G]"), (0x10, "[D]")]
        .into_iter()
        .filter(|(bit, _)| kind & bit != 0)
        .map(|(_, name)| name)
        .collect();
    let unknown = if kind & 8 != 0 { "[U] " } else { " " };
    let (to, from) = (8, 12 + addresses.0);
    put!(
        line,
        " rreq {} {flags}{unknown}hops {} id 0x{:08x}\n\tdst {} seq {} src {} seq {}",
        view.len(),
        view.u8(3)?,
        view.u32(4)?,
        addresses.at(view, to)?,
        view.u32(to + addresses.0)?,
        addresses.at(view, from)?,
        view.u32(from + addresses.0)?
    );
    extension(line, view.skip(size))
}

fn reply(line: &mut Line<'_>, view: View<'_>, addresses: &Addresses) -> Printed {
    let size = 12 + 2 * addresses.0;
    at_least(view, size)?;
    let kind = view.u8(0)?;
    let (repair, wanted) = (if kind & 0x80 != 0 { "[R]" } else { "" }, if kind & 0x40 != 0 { "[A] " } else { " " });
    let (to, from) = (4, 8 + addresses.0);
    put!(
        line,
        " rrep {} {repair}{wanted}prefix {} hops {}\n\tdst {} dseq {} src {} {} ms",
        view.len(),
        view.u8(2)? & 31,
        view.u8(3)?,
        addresses.at(view, to)?,
        view.u32(to + addresses.0)?,
        addresses.at(view, from)?,
        view.u32(from + addresses.0)?
    );
    extension(line, view.skip(size))
}

fn error(line: &mut Line<'_>, view: View<'_>, addresses: &Addresses) -> Printed {
    at_least(view, 4)?;
    let (flags, count) = (view.u8(1)?, view.u8(3)?);
    put!(line, " rerr {} [items {count}] [{}]:", if flags & 0x80 != 0 { "[D]" } else { "" }, view.len());
    let size = addresses.0 + 4;
    for n in 0..usize::from(count) {
        let item = view.skip(4 + n * size);
        at_least(item, size)?;
        put!(line, " {{{}}}({})", addresses.at(item, 0)?, item.u32(addresses.0)?);
    }
    Ok(())
}

fn extension(line: &mut Line<'_>, view: View<'_>) -> Printed {
    if view.len() < 2 {
        return Ok(());
    }
    let (kind, length) = (view.u8(0)?, view.u8(1)?);
    if kind != 1 {
        put!(line, "\n\text {kind} {length}");
        return Ok(());
    }
    at_least(view, 6)?;
    if length < 4 {
        put!(line, "\n\text HELLO - bad length {length}");
        return Ok(());
    }
    put!(line, "\n\text HELLO {} ms", view.u32(2)?);
    Ok(())
}
