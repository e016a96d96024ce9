//! Frame relay (ITU-T Q.922): an address of two to four bytes, then what RFC 2427 says, or an
//! EtherType as Cisco has it. Signalling (Q.933) and fragments (FRF.12, FRF.15) are left out: they
//! give their number and bytes.

use super::view::{Printed, View};
use super::{Line, ether, ip4, ip6, isis, isis_fields, names, ppp, put};

const UNNUMBERED: u8 = 3;

/// What the address says.
struct Address {
    size: usize,
    circuit: u32,
    flags: String,
}

pub(super) fn print(line: &mut Line<'_>, view: View<'_>) -> Printed {
    line.protocol = "fr";
    let Some(address) = read(view)? else {
        line.put("Q.922, invalid address");
        return Ok(());
    };
    let at = address.size;
    if view.u8(at)? != UNNUMBERED && address.circuit != 0 {
        line.header = at + 2;
        let ethertype = view.u16(at)?;
        if line.style.link {
            header(line, &address, ("cisco-ethertype", names::ethertype(ethertype), 4), ethertype, view.len());
        }
        if ether::payload(line, ethertype, view.skip(at + 2))? {
            return Ok(());
        }
        put!(line, "UI {:02x}! ", view.u8(at)?);
    }
    // A byte that makes the address's length even may stand before the protocol's number.
    let pad = view.u8(at + 1)? == 0;
    match (pad, at) {
        (true, 2 | 4) => line.put("Pad! "),
        (false, 3) => line.put("No pad! "),
        _ => {}
    }
    let at = at + 1 + usize::from(pad);
    let number = view.u8(at)?;
    let name = names::find(isis_fields::LAYERS, number).unwrap_or("unknown");
    line.header = at + 1;
    if line.style.link {
        header(line, &address, ("NLPID", name, 2), number.into(), view.len());
    }
    let rest = view.skip(at + 1);
    match number {
        0xcc => ip4::print(line, rest),
        0x8e => ip6::print(line, rest),
        0xcf => ppp::frame(line, rest),
        _ if isis::nlpid(line, view.skip(at))? => Ok(()),
        _ => {
            if !line.style.link {
                header(line, &address, ("NLPID", name, 2), number.into(), view.len());
            }
            line.unknown(rest);
            Ok(())
        }
    }
}

/// Reads the address; none if it does not end where one may.
fn read(view: View<'_>) -> Result<Option<Address>, super::view::Cut> {
    let first = view.u8(0)?;
    if first & 1 != 0 {
        return Ok(None);
    }
    let second = view.u8(1)?;
    let mut circuit = u32::from(first & 0xfc) << 2 | u32::from(second >> 4);
    // Command, discard eligible, backward and forward congestion, and core control.
    let mut flags = u16::from(first & 2) << 8 | u16::from(second & 0x0e);
    let mut size = 2;
    if second & 1 == 0 {
        let mut last = view.u8(2)?;
        size = 3;
        if last & 1 == 0 {
            circuit = circuit << 7 | u32::from(last >> 1);
            last = view.u8(3)?;
            size = 4;
        }
        if last & 1 == 0 {
            return Ok(None);
        }
        flags |= u16::from(last & 2) >> 1;
        circuit = circuit << 6 | u32::from(last >> 2);
    }
    let flags = names::flags(&[(0x200, "C!"), (0x02, "DE"), (0x04, "BECN"), (0x08, "FECN"), (0x01, "sdlcore")], flags, ", ");
    Ok(Some(Address { size, circuit, flags }))
}

/// What is inside: what its number is called, its name, and the number's digits.
fn header(line: &mut Line<'_>, address: &Address, (what, name, digits): (&str, &str, usize), number: u16, len: usize) {
    if line.style.quiet {
        return put!(line, "Q.922, DLCI {}, length {len}: ", address.circuit);
    }
    let name = if name == "Unknown" { "unknown" } else { name };
    put!(line, "Q.922, hdr-len {}, DLCI {}, Flags [{}]", address.size, address.circuit, address.flags);
    put!(line, ", {what} {name} (0x{number:0digits$x}), length {len}: ");
}
