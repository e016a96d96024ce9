//! DHCP and BOOTP (RFC 951, RFC 2131): who asks; with `-v` the fields, and the options by `dhcp`.

use super::ether::Mac;
use super::view::{Printed, View};
use super::{Line, dhcp, escape, put};
use std::net::Ipv4Addr;

/// Where options begin, and the cookies of the two ways to write them.
const VENDOR: usize = 236;
const OPTIONS: u32 = 0x6382_5363;
const CMU: [u8; 4] = *b"CMU\0";

pub(super) fn print(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "bootp";
    let operation = view.u8(0)?;
    match operation {
        1 => line.put("BOOTP/DHCP, Request"),
        2 => line.put("BOOTP/DHCP, Reply"),
        _ => put!(line, "BOOTP/DHCP, unknown (0x{operation:02x})"),
    }
    let (hardware, address_len) = (view.u8(1)?, view.u8(2)?);
    let ethernet = (hardware, address_len) == (1, 6);
    if ethernet && operation == 1 {
        put!(line, " from {}", Mac(view.array(28)?));
    }
    put!(line, ", length {}", view.len());
    if line.style.verbose == 0 {
        return Ok(());
    }
    view.take(8, 2)?;
    if hardware != 1 {
        put!(line, ", htype {hardware}");
    }
    if !ethernet {
        put!(line, ", hlen {address_len}");
    }
    fields(line, view)?;
    if ethernet {
        put!(line, "\n\t  Client-Ethernet-Address {}", Mac(view.array(28)?));
    }
    text(line, "sname", view, 44, 64)?;
    text(line, "file", view, 108, 128)?;
    match view.u32(VENDOR)? {
        OPTIONS => dhcp::options(line, view.skip(VENDOR)),
        cookie if cookie.to_be_bytes() == CMU => cmu(line, view.skip(VENDOR)),
        0 => Ok(()),
        cookie => {
            put!(line, "\n\t  Vendor-#0x{cookie:x}");
            Ok(())
        }
    }
}

fn fields(line: &mut Line<'_>, view: View<'_>) -> Printed {
    let (hops, id, seconds) = (view.u8(3)?, view.u32(4)?, view.u16(8)?);
    if hops != 0 {
        put!(line, ", hops {hops}");
    }
    if id != 0 {
        put!(line, ", xid 0x{id:x}");
    }
    if seconds != 0 {
        put!(line, ", secs {seconds}");
    }
    let flags = view.u16(10)?;
    put!(line, ", Flags [{}]", if flags & 0x8000 != 0 { "Broadcast" } else { "none" });
    if line.style.verbose > 1 {
        put!(line, " (0x{flags:04x})");
    }
    for (name, at) in [("Client", 12), ("Your", 16), ("Server", 20), ("Gateway", 24)] {
        match view.v4(at)? {
            Ipv4Addr::UNSPECIFIED => {}
            address => put!(line, "\n\t  {name}-IP {address}"),
        }
    }
    Ok(())
}

/// A text of at most `size` bytes, if there is any.
fn text(line: &mut Line<'_>, name: &str, view: View<'_>, at: usize, size: usize) -> Printed {
    if view.u8(at)? == 0 {
        return Ok(());
    }
    put!(line, "\n\t  {name} \"");
    let bytes = view.skip(at).first(size).captured();
    escape::until_zero(&mut line.text, bytes);
    line.put("\"");
    if bytes.len() < size && !bytes.contains(&0) { Err(super::view::Cut) } else { Ok(()) }
}

/// The fields of Carnegie Mellon, older than options.
fn cmu(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.put(" vend-cmu");
    view.take(4, 4)?;
    let flags = view.u8(4)?;
    if flags & !1 != 0 {
        put!(line, " F:0x{flags:x}");
    }
    let mask = if flags & 1 != 0 { "SM" } else { "SM*" };
    let fields = [("DG", 12), (mask, 8), ("NS1", 16), ("NS2", 20), ("IEN1", 24), ("IEN2", 28), ("TS1", 32), ("TS2", 36)];
    for (name, at) in fields {
        match view.v4(at)? {
            Ipv4Addr::UNSPECIFIED => {}
            address => put!(line, " {name}:{address}"),
        }
    }
    Ok(())
}
