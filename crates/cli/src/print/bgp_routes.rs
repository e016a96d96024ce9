//! Routes of BGP: prefixes, with labels (RFC 8277), of VPNs (RFC 4364, RFC 4659), of route targets
//! (RFC 4684).
//!
//! Leaves out: routes of multicast VPNs, of layer-2 VPNs and of OSI; their family is named.

use super::view::{Cut, Printed, View};
use super::{Line, ip6, names, put};
use std::net::{Ipv4Addr, Ipv6Addr};

const V4: u16 = 1;
const V6: u16 = 2;
const TARGETS: u8 = 132;
#[rustfmt::skip]
const FAMILIES: &[(u16, &str)] = &[
    (0, "Reserved"), (V4, "IPv4"), (V6, "IPv6"), (3, "NSAP"), (4, "HDLC"), (5, "BBN 1822"), (6, "802"), (7, "E.163"), (8, "E.164"),
    (9, "F.69"), (10, "X.121"), (11, "Novell IPX"), (12, "Appletalk"), (13, "Decnet IV"), (14, "Banyan Vines"),
    (15, "E.164 with NSAP subaddress"), (25, "VPLS"), (196, "Layer-2 VPN"),
];
#[rustfmt::skip]
const USES: &[(u8, &str)] = &[
    (0, "Reserved"), (1, "Unicast"), (2, "Multicast"), (3, "Unicast+Multicast"), (4, "labeled Unicast"), (5, "Multicast VPN"), (64, "Tunnel"),
    (65, "VPLS"), (66, "MDT"), (70, "EVPN"), (128, "labeled VPN Unicast"), (129, "labeled VPN Multicast"),
    (130, "labeled VPN Unicast+Multicast"), (TARGETS, "Route Target Routing Information"),
];

/// A family of addresses and what it is used for, which stand at those places.
pub(super) fn family(view: View<'_>, at: usize, use_at: usize) -> Result<String, Cut> {
    let (family, used) = (view.u16(at)?, view.u8(use_at)?);
    let (name, use_name) = (names::find(FAMILIES, family).unwrap_or("Unknown"), names::find(USES, used).unwrap_or("Unknown"));
    Ok(format!("AFI {name} ({family}), SAFI {use_name} ({used})"))
}

/// The family of an attribute's routes.
#[derive(Clone, Copy)]
pub(super) struct Family {
    pub family: u16,
    pub used: u8,
}

impl Family {
    /// Prints the family; nothing if it has no printer.
    pub(super) fn print(line: &mut Line<'_>, view: View<'_>) -> Result<Option<Self>, Cut> {
        let (family, used) = (view.u16(0)?, view.u8(2)?);
        let vendor = if used > 128 { "vendor specific " } else { "" };
        let (name, use_name) = (names::find(FAMILIES, family), names::find(USES, used));
        put!(line, "\n\t    AFI: {} ({family})", name.unwrap_or("Unknown AFI"));
        put!(line, ", {vendor}SAFI: {} ({used})", use_name.unwrap_or("Unknown SAFI"));
        let known = match family {
            V4 => matches!(used, 1..=4 | 128..=130 | TARGETS),
            V6 => matches!(used, 1..=4 | 128..=130),
            _ => false,
        };
        Ok(known.then_some(Self { family, used }))
    }

    fn is_v4(self) -> bool {
        self.family == V4
    }

    fn is_vpn(self) -> bool {
        (128..=130).contains(&self.used)
    }

    /// Prints a next hop at the beginning; how many bytes it has.
    pub(super) fn next_hop(self, line: &mut Line<'_>, view: View<'_>) -> Result<usize, Cut> {
        let before = if self.is_vpn() { 8 } else { 0 };
        let size = before + if self.is_v4() { 4 } else { 16 };
        if view.len() < size {
            line.put("invalid len");
            return Ok(view.len());
        }
        if self.is_vpn() {
            put!(line, "RD: {}, ", distinguisher(view)?);
        }
        match self.is_v4() {
            true => put!(line, "{}", view.v4(before)?),
            false => line.put(&ip6::address_at(view, before)?),
        }
        Ok(size)
    }

    /// Prints routes up to the end.
    pub(super) fn routes(self, line: &mut Line<'_>, view: View<'_>) -> Printed {
        let with_path = self.used <= 3 && has_paths(view, if self.is_v4() { 32 } else { 128 });
        let mut rest = view;
        while rest.len() > 0 {
            let path = if with_path { Some(rest.u32(0)?) } else { None };
            let route = rest.skip(if with_path { 4 } else { 0 });
            let read = match self.used {
                4 => labeled(line, self.is_v4(), 0, route)?,
                TARGETS => target(line, route)?,
                128..=130 => labeled(line, self.is_v4(), 8, route)?,
                _ => plain(self.is_v4(), route)?.map(|(text, size)| {
                    put!(line, "\n\t      {text}");
                    size
                }),
            };
            let Some(size) = read else {
                if self.used != TARGETS {
                    line.put("\n\t    (illegal prefix length)");
                }
                break;
            };
            if let Some(path) = path {
                put!(line, "   Path Id: {path}");
            }
            rest = route.skip(size);
        }
        Ok(())
    }
}

/// A prefix of so many bits, of which as many bytes stand at `at` as it needs.
fn prefix(v4: bool, width: u8, view: View<'_>, at: usize) -> Result<String, Cut> {
    let size = usize::from(width.div_ceil(8));
    let mut octets = [0; 16];
    octets[..size].copy_from_slice(view.take(at, size)?);
    if !width.is_multiple_of(8) {
        octets[size - 1] &= (0xff00_u16 >> (width % 8)) as u8;
    }
    let [a, b, c, d, ..] = octets;
    Ok(if v4 { format!("{}/{width}", Ipv4Addr::new(a, b, c, d)) } else { format!("{}/{width}", ip6::address(Ipv6Addr::from(octets))) })
}

/// A prefix behind its width; and its size. Nothing if it is too wide.
fn plain(v4: bool, view: View<'_>) -> Result<Option<(String, usize)>, Cut> {
    let width = view.u8(0)?;
    if width > if v4 { 32 } else { 128 } {
        return Ok(None);
    }
    Ok(Some((prefix(v4, width, view, 1)?, 1 + usize::from(width.div_ceil(8)))))
}

/// Prints a prefix with a label, of a VPN with a distinguisher of so many bytes; its size.
fn labeled(line: &mut Line<'_>, v4: bool, distinguished: usize, view: View<'_>) -> Result<Option<usize>, Cut> {
    view.take(0, 4)?;
    let before = 24 + 8 * distinguished as u8;
    let Some(width) = view.u8(0)?.checked_sub(before).filter(|width| *width <= if v4 { 32 } else { 128 }) else { return Ok(None) };
    let text = prefix(v4, width, view, 4 + distinguished)?;
    line.put("\n\t      ");
    if distinguished > 0 {
        put!(line, "RD: {}, ", distinguisher(view.skip(4))?);
    }
    let bottom = if view.u8(3)? & 1 == 0 { "(BOGUS: Bottom of Stack NOT set!)" } else { "(bottom)" };
    put!(line, "{text}, label:{} {bottom}", view.u24(1)? >> 4);
    Ok(Some(4 + distinguished + usize::from(width.div_ceil(8))))
}

/// What tells the routes of one VPN from those of others.
fn distinguisher(view: View<'_>) -> Result<String, Cut> {
    Ok(match view.u16(0)? {
        0 => format!("{}:{} (= {})", view.u16(2)?, view.u32(4)?, view.v4(4)?),
        1 => format!("{}:{}", view.v4(2)?, view.u16(6)?),
        2 => format!("{}:{} ({}:{})", view.u32(2)?, view.u16(6)?, view.v4(2)?, view.u16(6)?),
        _ => "unknown RD format".to_owned(),
    })
}

/// Prints which targets are wanted; the size, or nothing if it has none.
fn target(line: &mut Line<'_>, view: View<'_>) -> Result<Option<usize>, Cut> {
    let width = view.u8(0)?;
    if width == 0 {
        line.put("\n\t      default route target");
        return Ok(Some(1));
    }
    let Some(left) = width.checked_sub(32).filter(|left| *left <= 64) else {
        line.put("\n\t      (illegal prefix length)");
        return Ok(None);
    };
    let size = usize::from(left.div_ceil(8));
    let mut octets = [0; 8];
    octets[..size].copy_from_slice(view.take(5, size)?);
    if !left.is_multiple_of(8) {
        octets[size - 1] &= (0xff00_u16 >> (left % 8)) as u8;
    }
    let digits: Vec<String> = octets[..size].chunks(2).map(|pair| pair.iter().map(|byte| format!("{byte:02x}")).collect()).collect();
    let (digits, part) = (digits.join(" "), View::new(&octets, 8));
    let text = match (left, part.u16(0)?) {
        (0, _) => "route-target: 0:0/0".to_owned(),
        (..16, _) => format!("route-target: partial-type: ({digits}/{left})"),
        (_, 0x0002) => format!("route-target: {}:{}/{left} ({digits})", part.u16(2)?, part.u32(4)?),
        (_, 0x0102) => format!("route-target: {}:{}/{left} ({digits})", part.v4(2)?, part.u16(6)?),
        (_, 0x0202) => format!("route-target: {}:{}/{left} ({digits})", part.u32(2)?, part.u16(6)?),
        (_, kind) => format!("route target: unknown-type({kind:04x}) ({digits}/{left})"),
    };
    put!(line, "\n\t      origin AS: {}, {text}", view.u32(1)?);
    Ok(Some(5 + size))
}

/// Whether prefixes have numbers of paths before them (RFC 7911): read so they fit, and read
/// without they do not.
fn has_paths(view: View<'_>, most: u8) -> bool {
    fits(view, 4, 0, most) && view.len() >= 5 && !fits(view, 0, 1, most)
}

fn fits(view: View<'_>, before: usize, least: u8, most: u8) -> bool {
    let mut at = 0;
    while at < view.len() {
        at += before;
        let Ok(width) = view.u8(at) else { break };
        if width < least || width > most {
            return false;
        }
        at += 1 + usize::from(width.div_ceil(8));
    }
    at <= view.len()
}

/// Prints IPv4 prefixes of an update.
pub(super) fn prefixes(line: &mut Line<'_>, view: View<'_>) -> Printed {
    let with_path = has_paths(view, 32);
    let mut rest = view;
    while rest.len() > 0 {
        let path = if with_path { Some(rest.u32(0)?) } else { None };
        let route = rest.skip(if with_path { 4 } else { 0 });
        let Some((text, size)) = plain(true, route)? else {
            line.put("\n\t    (illegal prefix length)");
            break;
        };
        put!(line, "\n\t    {text}");
        if let Some(path) = path {
            put!(line, "   Path Id: {path}");
        }
        rest = route.skip(size);
    }
    Ok(())
}
