//! Ethernet: addresses, VLAN tags (802.1Q, 802.1ad), and what an EtherType announces.
//!
//! Source: IEEE 802.3 and 802.1Q; layout of the text as tcpdump's.

use super::view::{Cut, Printed, View};
use super::{Line, aoe, arp, eap, ip4, ip6, llc, lldp, loopback, names, ppp, ptp, put, slow, tunnel};
use netvm::netil::fields::ethertype;
use std::fmt;

/// The EtherType of an 802.1Q tag.
pub(super) const VLAN: u16 = ethertype::VLAN;
const TAGS: [u16; 4] = [VLAN, ethertype::VLAN_PROVIDER, ethertype::VLAN_STACKED, 0x9200];
/// Up to here the field is a length, not a type.
const MAX_LENGTH: u16 = 1500;

/// A MAC address.
#[derive(Clone, Copy)]
pub(super) struct Mac(pub [u8; 6]);

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// A frame's addresses, for lines that must show them late.
#[derive(Clone, Copy)]
pub(super) struct Ends {
    pub src: Mac,
    pub dst: Mac,
}

/// A VLAN tag: `vlan 5, p 3, DEI`.
pub(super) fn tag(tci: u16) -> String {
    let dei = if tci & 0x1000 != 0 { ", DEI" } else { "" };
    format!("vlan {}, p {}{dei}", tci & 0xfff, tci >> 13)
}

/// Prints a frame; `header` becomes the length of all that stands before its payload.
pub(super) fn print(line: &mut Line<'_>, view: View<'_>, header: &mut usize) -> Printed {
    line.protocol = "ether";
    let frame_len = view.len();
    view.take(0, 14)?;
    let ends = Ends { dst: Mac(view.array(0)?), src: Mac(view.array(6)?) };
    if line.style.link {
        put!(line, "{} > {}, ", ends.src, ends.dst);
    }
    *header = 12;
    let mut ethertype = view.u16(12)?;
    let mut length_shown = false;
    while TAGS.contains(&ethertype) {
        line.protocol = "vlan";
        let tci = view.u16(*header + 2)?;
        if line.style.link {
            show_type(line, ethertype);
            show_length(line, frame_len, &mut length_shown);
            put!(line, "{}, ", tag(tci));
        }
        ethertype = view.u16(*header + 4)?;
        *header += 4;
    }
    *header += 2;
    let rest = view.skip(*header);
    match ethertype {
        0..=MAX_LENGTH => {
            *header += with_length(line, rest.first(ethertype.into()), ends, length_shown)?;
            Ok(())
        }
        _ => with_type(line, ethertype, rest, ends, frame_len, length_shown),
    }
}

fn with_length(line: &mut Line<'_>, rest: View<'_>, ends: Ends, mut length_shown: bool) -> Result<usize, Cut> {
    if line.style.link {
        line.put("802.3");
        if !length_shown {
            show_length(line, rest.len(), &mut length_shown);
        }
    }
    llc::print(line, rest, Some(ends))
}

fn with_type(line: &mut Line<'_>, ethertype: u16, rest: View<'_>, ends: Ends, frame_len: usize, mut length_shown: bool) -> Printed {
    if line.style.link {
        show_type(line, ethertype);
        show_length(line, frame_len, &mut length_shown);
    }
    if payload(line, ethertype, rest)? {
        return Ok(());
    }
    if !line.style.link {
        put!(line, "{} > {}, ", ends.src, ends.dst);
        show_type(line, ethertype);
        put!(line, ", length {frame_len}: ");
    }
    line.unknown(rest);
    Ok(())
}

fn show_type(line: &mut Line<'_>, ethertype: u16) {
    let name = names::ethertype(ethertype);
    match line.style.quiet {
        true if name == "Unknown" => put!(line, "Unknown Ethertype (0x{ethertype:04x})"),
        true => line.put(name),
        false => put!(line, "ethertype {name} (0x{ethertype:04x})"),
    }
}

fn show_length(line: &mut Line<'_>, len: usize, shown: &mut bool) {
    match *shown {
        true => line.put(", "),
        false => put!(line, ", length {len}: "),
    }
    *shown = true;
}

/// Prints what an EtherType announces; false if it has no printer.
pub(super) fn payload(line: &mut Line<'_>, ethertype: u16, view: View<'_>) -> Result<bool, Cut> {
    match ethertype {
        ethertype::IPV4 => ip4::print(line, view)?,
        ethertype::IPV6 => ip6::print(line, view)?,
        ethertype::ARP | ethertype::RARP => arp::print(line, view)?,
        ethertype::MPLS | ethertype::MPLS_MULTICAST => tunnel::mpls(line, view)?,
        ethertype::PPPOE_DISCOVERY | ethertype::PPPOE_SESSION => ppp::pppoe(line, view)?,
        ethertype::EAPOL => eap::eapol(line, view)?,
        ethertype::LLDP => lldp::print(line, view)?,
        ethertype::SLOW => slow::print(line, view)?,
        0x88a2 => aoe::print(line, view)?,
        0x88f7 => ptp::print(line, view)?,
        ethertype::LOOPBACK => loopback::print(line, view)?,
        _ => return Ok(false),
    }
    Ok(true)
}
