//! Cisco HDLC: an EtherType behind two bytes; SLARP, which keeps the link alive; IS-IS.

use super::view::{Printed, View};
use super::{Line, ether, isis, put};
use std::net::Ipv4Addr;

const HEADER: usize = 4;
const SLARP: u16 = 0x8035;
const ISO: u16 = 0xfefe;

pub(super) fn print(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "chdlc";
    line.header = HEADER;
    let (address, protocol) = (view.u8(0)?, view.u16(2)?);
    if line.style.link {
        match address {
            0x0f => line.put("unicast"),
            0x8f => line.put("bcast"),
            _ => put!(line, "0x{address:02x}"),
        }
        put!(line, ", ethertype {} (0x{protocol:04x}), length {}: ", super::names::ethertype(protocol), view.len());
    }
    let rest = view.skip(HEADER);
    match protocol {
        SLARP => slarp(line, rest),
        // A pad byte may stand before the network layer's number.
        ISO if isis::nlpid(line, rest.skip(usize::from(!matches!(rest.u8(0)?, 0x81..=0x83))))? => Ok(()),
        0x0800 | 0x86dd | 0x8847 | 0x8848 => ether::payload(line, protocol, rest).map(drop),
        _ => {
            if !line.style.link {
                put!(line, "unknown CHDLC protocol (0x{protocol:04x})");
            }
            Ok(())
        }
    }
}

fn slarp(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "slarp";
    line.put("SLARP");
    if view.len() < 14 {
        line.invalid();
        return Ok(());
    }
    put!(line, " (length: {}), ", view.len());
    view.take(0, 14)?;
    match view.u32(0)? {
        0 => line.put("request"),
        1 => put!(line, "reply {}/{}", Ipv4Addr::from(view.array::<4>(4)?), Ipv4Addr::from(view.array::<4>(8)?)),
        2 => {
            put!(line, "keepalive: mineseen=0x{:08x}, yourseen=0x{:08x}", view.u32(4)?, view.u32(8)?);
            put!(line, ", reliability=0x{:04x}", view.u16(12)?);
            // Some devices leave the uptime out.
            if view.len() >= 18 {
                let seconds = view.u32(14)? / 1000;
                let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
                put!(line, ", link uptime={days}d{hours}h{minutes}m{}s", seconds % 60);
            }
        }
        code => put!(line, "0x{code:02x} unknown"),
    }
    Ok(())
}
