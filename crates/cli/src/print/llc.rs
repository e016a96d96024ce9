//! IEEE 802.2 LLC and SNAP.
//!
//! Source: IEEE 802.2. Of what is carried, IP, EtherTypes and spanning tree have printers; of
//! others type and length are shown.

use super::ether::{self, Ends};
use super::view::{Cut, View};
use super::{Line, cdp, hex, ip4, isis, names, put, stp, udld};

const UI: u16 = 0x03;
const SNAP: u8 = 0xaa;
const STP: u8 = 0x42;
const XID: u16 = 0xaf;

/// An LLC header.
struct Llc {
    dsap: u8,
    ssap: u8,
    response: bool,
    control: u16,
    unnumbered: bool,
    size: usize,
}

impl Llc {
    fn read(view: View<'_>) -> Result<Self, Cut> {
        let [dsap, ssap, first] = view.array(0)?;
        let unnumbered = first & 3 == 3;
        let control = if unnumbered { u16::from(first) } else { u16::from_le_bytes(view.array(2)?) };
        let size = if unnumbered { 3 } else { 4 };
        Ok(Self { dsap: dsap & !1, ssap: ssap & !1, response: ssap & 1 != 0, control, unnumbered, size })
    }

    fn is(&self, sap: u8) -> bool {
        self.dsap == sap && self.ssap == sap && self.control == UI
    }
}

/// Prints a frame that begins with LLC; returns the length of its headers.
pub(super) fn print(line: &mut Line<'_>, view: View<'_>, ends: Option<Ends>) -> Result<usize, Cut> {
    line.protocol = "llc";
    let Ok(llc) = Llc::read(view) else {
        line.cut();
        hex::hex_and_text(&mut line.text, view.captured());
        return Ok(view.captured().len());
    };
    let [dsap, ssap] = view.array(0)?;
    if dsap == 0xff && ssap == 0xff {
        put!(line, "IPX 802.3, length {}", view.len());
        return Ok(0);
    }
    if line.style.link {
        link_text(line, &llc, dsap);
    }
    let rest = view.skip(llc.size);
    if llc.is(SNAP) {
        if !snap(line, rest, ends)? {
            line.unknown(view);
        }
        return Ok(llc.size + 5);
    }
    if llc.is(STP) {
        stp::print(line, rest)?;
    } else if llc.is(0x06) {
        ip4::print(line, rest)?;
    } else if llc.is(0xfe) && isis::nlpid(line, rest)? {
        // Printed.
    } else if !other(line, &llc, rest, ends)? {
        line.unknown(view);
    }
    Ok(llc.size)
}

fn sap(number: u8) -> Option<&'static str> {
    #[rustfmt::skip]
    let known = [
        (0x00, "Null"), (0x02, "802.1B I"), (0x03, "802.1B G"), (0x04, "SNA"), (0x06, "IP"), (0x0e, "ProWay NM"), (STP, "STP"),
        (0x4e, "RS511"), (0x7e, "ISO8208"), (0x8e, "ProWay"), (SNAP, "SNAP"), (0xe0, "IPX"), (0xf0, "NetBeui"), (0xfe, "OSI"),
        (0xff, "Global"),
    ];
    names::find(&known, number)
}

fn link_text(line: &mut Line<'_>, llc: &Llc, dsap_field: u8) {
    let (dsap, ssap) = (sap(llc.dsap).unwrap_or("Unknown"), sap(llc.ssap).unwrap_or("Unknown"));
    let group = if dsap_field & 1 != 0 { "Group" } else { "Individual" };
    let response = if llc.response { "Response" } else { "Command" };
    put!(line, "LLC, dsap {dsap} (0x{:02x}) {group}, ssap {ssap} (0x{:02x}) {response}", llc.dsap, llc.ssap);
    let width = if llc.unnumbered { 2 } else { 4 };
    put!(line, ", ctrl 0x{:0width$x}: ", llc.control);
}

/// Prints a SNAP header and what it announces; false if the latter has no printer.
fn snap(line: &mut Line<'_>, view: View<'_>, ends: Option<Ends>) -> Result<bool, Cut> {
    line.protocol = "snap";
    let [a, b, c] = view.array(0)?;
    let (oui, ethertype) = (u32::from_be_bytes([0, a, b, c]), view.u16(3)?);
    let rest = view.skip(5);
    let maker =
        names::find(&[(0, "Ethernet"), (0x0c, "Cisco"), (0xf8, "Cisco bridged"), (0x08_0007, "Appletalk"), (0x80c2, "RFC2684")], oui);
    let maker = maker.unwrap_or("Unknown");
    let is_ethertype = oui == 0 || oui == 0xf8;
    let kind = if is_ethertype { names::ethertype(ethertype) } else { pid(oui, ethertype) };
    if line.style.link {
        let what = if oui == 0 { "ethertype" } else { "pid" };
        put!(line, "oui {maker} (0x{oui:06x}), {what} {kind} (0x{ethertype:04x}), length {}: ", rest.len());
    }
    if is_ethertype && ether::payload(line, ethertype, rest)? {
        return Ok(true);
    }
    if oui == 0x0c && matches!(ethertype, 0x010b | 0x010c) {
        return stp::print(line, rest).map(|()| true);
    }
    if (oui, ethertype) == (0x0c, 0x0111) {
        return udld::print(line, rest).map(|()| true);
    }
    if (oui, ethertype) == (0x0c, 0x2000) {
        return cdp::print(line, rest).map(|()| true);
    }
    if let ("VTP" | "DTP", true) = (kind, oui == 0x0c) {
        put!(line, "{kind}, length {}", rest.len());
        return Ok(true);
    }
    if !line.style.link {
        show_ends(line, ends);
        match oui {
            0 => put!(line, "SNAP, ethertype {kind} (0x{ethertype:04x}), length {}: ", rest.len()),
            _ => put!(line, "SNAP, oui {maker} (0x{oui:06x}), pid {kind} (0x{ethertype:04x}), length {}: ", rest.len()),
        }
    }
    Ok(false)
}

fn pid(oui: u32, number: u16) -> &'static str {
    let cisco = [(0x0102, "DRIP"), (0x0104, "PAgP"), (0x0111, "UDLD"), (0x2000, "CDP"), (0x2003, "VTP"), (0x2004, "DTP"), (0x010b, "PVST")];
    (oui == 0x0c).then(|| names::find(&cisco, number)).flatten().unwrap_or("Unknown")
}

fn show_ends(line: &mut Line<'_>, ends: Option<Ends>) {
    if let Some(Ends { src, dst }) = ends {
        put!(line, "{src} > {dst} ");
    }
}

/// Prints what kind of LLC frame it is; false if something follows that has no printer.
fn other(line: &mut Line<'_>, llc: &Llc, rest: View<'_>, ends: Option<Ends>) -> Result<bool, Cut> {
    if !line.style.link {
        addresses(line, llc, ends);
    }
    let len = rest.len() + llc.size;
    let poll = if llc.unnumbered { llc.control & 0x10 != 0 } else { llc.control & 0x100 != 0 };
    let flags = match (llc.response, poll) {
        (false, false) => "Command",
        (true, false) => "Response",
        (false, true) => "Poll",
        (true, true) => "Final",
    };
    let (receive, send) = (llc.control >> 9, (llc.control & 0xff) >> 1);
    match llc.control & 3 {
        3 => {
            let table =
                [(0x03, "ui"), (0xe3, "test"), (XID, "xid"), (0x63, "ua"), (0x43, "disc"), (0x0f, "dm"), (0x6f, "sabme"), (0x87, "frmr")];
            let command = llc.control & !0x10;
            let name = names::find(&table, command).map_or_else(|| format!("{command:02x}"), str::to_owned);
            put!(line, "Unnumbered, {name}, Flags [{flags}], length {len}");
            if command == XID {
                return exchange(line, rest);
            }
        }
        1 => {
            let name = names::find(&[(0, "Receiver Ready"), (1, "Receiver not Ready"), (2, "Reject")], llc.control >> 2 & 3).unwrap_or("?");
            put!(line, "Supervisory, {name}, rcv seq {receive}, Flags [{flags}], length {len}");
            return Ok(true);
        }
        _ => put!(line, "Information, send seq {send}, rcv seq {receive}, Flags [{flags}], length {len}"),
    }
    Ok(false)
}

/// Exchange of identification: format, types and classes, window.
fn exchange(line: &mut Line<'_>, rest: View<'_>) -> Result<bool, Cut> {
    if rest.len() == 0 {
        return Ok(true);
    }
    let known = rest.u8(0)? == 0x81;
    if known {
        put!(line, ": {:02x} {:02x}", rest.u8(1)?, rest.u8(2)?);
    }
    Ok(known)
}

fn addresses(line: &mut Line<'_>, llc: &Llc, ends: Option<Ends>) {
    let name = |what: &str, number: u8| sap(number).map_or_else(|| format!("Unknown {what} 0x{number:02x}"), str::to_owned);
    let (dsap, ssap) = (name("DSAP", llc.dsap), name("SSAP", llc.ssap));
    match (llc.dsap == llc.ssap, ends) {
        (true, Some(Ends { src, dst })) => put!(line, "{src} > {dst} {dsap} "),
        (true, None) => put!(line, "{dsap} "),
        (false, Some(Ends { src, dst })) => put!(line, "{src} {ssap} > {dst} {dsap} "),
        (false, None) => put!(line, "{ssap} > {dsap} "),
    }
}
