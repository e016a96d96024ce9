//! AddressTranslator: addresses and ports of IPv6 packets are replaced by mapped ones, and back
//! (Click's element; RFC 2663 calls it NAT and NAPT).
//!
//! Outward packets get another source, inward ones the destination that stands behind theirs.
//! Mappings are given, or made by the first packet of the one direction that may make some: an
//! address for a host, or a port of one address for a flow. None ends, as in Click. Checksums of
//! TCP, UDP and ICMPv6 are made anew.
//!
//! Differs from Click, which reads ports that were never set: flows of ICMPv6 have port 0; given
//! mappings hold in both directions whichever makes mappings, back to the port they were given
//! with, and where ports are given out as well other flows get these. Leaves out extension headers
//! and fragments.

use super::super::summary::checksum;
use super::super::{ElementError, Packet, text};
use super::{BuiltIn, BuiltInClass, Ctx, Facts};
use netil::fields::ip_protocol::{ICMP6, TCP, UDP};
use std::collections::HashMap;
use std::net::Ipv6Addr;

const HEADER: usize = 40;
/// Flows at most: where one port stands for all, as many as there are.
const MOST_FLOWS: usize = 1 << 16;

pub(super) static CLASS: BuiltInClass = BuiltInClass {
    name: "AddressTranslator",
    ports: "2/2",
    processing: "h/h",
    flow: "x/x",
    facts: Facts::OTHER,
    manual: "AddressTranslator(GIVEN, PORTS, MAPPING, ..., DYNAMIC, DYNAMIC_PORTS, INWARD, ADDRESS, ...) -- translates addresses and ports of IPv6 packets\n\n             Packets begin with their IPv6 header; TCP, UDP or ICMPv6 follow at once. Outward packets come in at 0 and leave by 0 with another source; inward ones come in at 1 and leave              by 1 with another destination. GIVEN is the number of mappings that are given; if it is not 0, PORTS says whether they have ports, and they follow: `INNER MAPPED`, or `INNER PORT MAPPED PORT`.              DYNAMIC: whether mappings are made for others. If so DYNAMIC_PORTS says whether flows get ports of one address, `ADDRESS FIRST LAST`, or hosts addresses, of which a list              follows; INWARD whether inward packets make mappings, else outward ones. Mappings do not end. Packets without one are dropped.\n             Example: `AddressTranslator(0, true, true, false, ::ffff:18.26.4.17 6000 6010)`.",
    make: |setup| Ok(Box::new(Translator::new(setup.arguments)?)),
};

type End = (u128, u16);

/// A mapping that was given: inner and mapped ends.
struct Given {
    inner: End,
    mapped: End,
}

/// Addresses for hosts, and which hosts have them; or ports of one address for flows.
enum Dynamic {
    None,
    Hosts { free: Vec<u128>, bound: Vec<(u128, u128)> },
    Flows { address: u128, first: u16, last: u16, used: u32 },
}

struct Translator {
    given: Vec<Given>,
    with_ports: bool,
    dynamic: Dynamic,
    inward: bool,
    /// From inner and outer ends to the mapped one, and from outer and mapped ends to the inner
    /// one.
    outwards: HashMap<(End, End), End>,
    inwards: HashMap<(End, End), End>,
}

fn address(text: &str) -> Result<u128, ElementError> {
    text.parse::<Ipv6Addr>().map(u128::from).map_err(|_| ElementError::argument(format!("'{text}' is not an IPv6 address")))
}

fn port(text: &str) -> Result<u16, ElementError> {
    text.parse().map_err(|_| ElementError::argument(format!("'{text}' is not a port")))
}

/// The arguments one after the other.
struct Reader<'a>(std::slice::Iter<'a, String>);

impl<'a> Reader<'a> {
    fn next(&mut self, what: &str) -> Result<&'a str, ElementError> {
        self.0.next().map(|argument| argument.trim()).ok_or_else(|| ElementError::argument(format!("{what} is missing")))
    }

    fn boolean(&mut self, what: &str) -> Result<bool, ElementError> {
        let argument = self.next(what)?;
        text::boolean(argument).ok_or_else(|| ElementError::argument(format!("{what} should be true or false, not '{argument}'")))
    }
}

impl Translator {
    fn new(arguments: &[String]) -> Result<Self, ElementError> {
        let mut reader = Reader(arguments.iter());
        let count = reader.next("GIVEN")?;
        let count: usize = count.parse().map_err(|_| ElementError::argument(format!("GIVEN should be a number, not '{count}'")))?;
        let with_ports = count > 0 && reader.boolean("PORTS")?;
        let mut given = Vec::new();
        for _ in 0..count {
            given.push(mapping(reader.next("MAPPING")?, with_ports)?);
        }
        let (mut dynamic, mut inward) = (Dynamic::None, false);
        if reader.boolean("DYNAMIC")? {
            let ports = reader.boolean("DYNAMIC_PORTS")?;
            inward = reader.boolean("INWARD")?;
            dynamic = if ports { flows(reader.next("ADDRESS")?)? } else { hosts(&mut reader)? };
        }
        match reader.0.next() {
            Some(more) => Err(ElementError::argument(format!("too many arguments: '{more}'"))),
            None => Ok(Self { given, with_ports, dynamic, inward, outwards: HashMap::new(), inwards: HashMap::new() }),
        }
    }

    /// What the inner end of an outward packet becomes.
    fn outward(&mut self, inner: End, outer: End) -> Option<End> {
        let is_it = |given: &&Given| given.inner.0 == inner.0 && (!self.with_ports || given.inner.1 == inner.1);
        if let Some(given) = self.given.iter().find(is_it) {
            return Some((given.mapped.0, if self.with_ports { given.mapped.1 } else { inner.1 }));
        }
        let makes = !self.inward;
        match &mut self.dynamic {
            Dynamic::None => None,
            Dynamic::Hosts { free, bound } => {
                let known = bound.iter().find(|(own, _)| *own == inner.0).map(|(_, mapped)| *mapped);
                let mapped = known
                    .or_else(|| if makes && !free.is_empty() { Some(bind(free, bound, |address| (inner.0, address))) } else { None })?;
                Some((mapped, inner.1))
            }
            Dynamic::Flows { .. } => {
                if let Some(mapped) = self.outwards.get(&(inner, outer)) {
                    return Some(*mapped);
                }
                let mapped = if makes { self.free_port()? } else { return None };
                self.note(inner, mapped, outer);
                Some(mapped)
            }
        }
    }

    /// What stands behind the mapped end of an inward packet.
    fn inner(&mut self, mapped: End, outer: End) -> Option<End> {
        let is_it = |given: &&Given| given.mapped.0 == mapped.0 && (!self.with_ports || given.mapped.1 == mapped.1);
        if let Some(given) = self.given.iter().find(is_it) {
            return Some((given.inner.0, if self.with_ports { given.inner.1 } else { mapped.1 }));
        }
        let makes = self.inward;
        match &mut self.dynamic {
            Dynamic::None => None,
            Dynamic::Hosts { free, bound } => {
                let known = bound.iter().find(|(_, own)| *own == mapped.0).map(|(inner, _)| *inner);
                let inner = known.or_else(|| {
                    if !makes || free.is_empty() {
                        return None;
                    }
                    bind(free, bound, |address| (address, mapped.0));
                    bound.last().map(|(inner, _)| *inner)
                })?;
                Some((inner, mapped.1))
            }
            Dynamic::Flows { .. } => {
                if let Some(inner) = self.inwards.get(&(outer, mapped)) {
                    return Some(*inner);
                }
                let inner = if makes { self.free_port()? } else { return None };
                self.note(inner, mapped, outer);
                Some(inner)
            }
        }
    }

    fn note(&mut self, inner: End, mapped: End, outer: End) {
        self.outwards.insert((inner, outer), mapped);
        self.inwards.insert((outer, mapped), inner);
    }

    /// The next port of the address. Where it has but one, that stands for all flows, as in Click.
    fn free_port(&mut self) -> Option<End> {
        let full = self.outwards.len() >= MOST_FLOWS;
        let Dynamic::Flows { address, first, last, used } = &mut self.dynamic else { return None };
        if full || (*first != *last && *used > u32::from(*last - *first)) {
            return None;
        }
        let port = if *first == *last { *first } else { *first + *used as u16 };
        *used += 1;
        Some((*address, port))
    }

    fn translate(&mut self, packet: &mut Packet, inward: bool) -> Result<(), &'static str> {
        let bytes = packet.buffer.bytes();
        let end = bytes.get(4..6).map_or(usize::MAX, |length| HEADER + usize::from(u16::from_be_bytes([length[0], length[1]])));
        let protocol = *bytes.get(6).ok_or("too short")?;
        let (ports, sum) = match protocol {
            TCP => (true, HEADER + 16),
            UDP => (true, HEADER + 6),
            ICMP6 => (false, HEADER + 2),
            _ => return Err("other protocol"),
        };
        if bytes.len() < end || end < sum + 2 {
            return Err("too short");
        }
        let ends = [end_at(bytes, 8, ports.then_some(HEADER)), end_at(bytes, 24, ports.then_some(HEADER + 2))];
        let translated = if inward { self.inner(ends[1], ends[0]) } else { self.outward(ends[0], ends[1]) };
        let (address, port) = translated.ok_or("no mapping")?;
        let (at, port_at) = if inward { (24, HEADER + 2) } else { (8, HEADER) };
        let bytes = packet.buffer.bytes_mut();
        bytes[at..at + 16].copy_from_slice(&address.to_be_bytes());
        if ports {
            bytes[port_at..port_at + 2].copy_from_slice(&port.to_be_bytes());
        }
        bytes[sum..sum + 2].fill(0);
        let made = match sum_of(&bytes[..end], protocol) {
            0 if protocol == UDP => 0xffff,
            made => made,
        };
        bytes[sum..sum + 2].copy_from_slice(&made.to_be_bytes());
        Ok(())
    }
}

/// Binds the first free address.
fn bind(free: &mut Vec<u128>, bound: &mut Vec<(u128, u128)>, pair: impl Fn(u128) -> (u128, u128)) -> u128 {
    let pair = pair(free.remove(0));
    bound.push(pair);
    pair.1
}

fn end_at(bytes: &[u8], at: usize, port_at: Option<usize>) -> End {
    let mut address = [0; 16];
    address.copy_from_slice(&bytes[at..at + 16]);
    (u128::from_be_bytes(address), port_at.map_or(0, |at| u16::from_be_bytes([bytes[at], bytes[at + 1]])))
}

/// The checksum of what follows the header, with the pseudo-header (RFC 8200 8.1).
fn sum_of(bytes: &[u8], protocol: u8) -> u16 {
    let addresses = u32::from(!checksum(&bytes[8..HEADER], 0));
    checksum(&bytes[HEADER..], addresses + u32::from(protocol) + (bytes.len() - HEADER) as u32)
}

fn mapping(argument: &str, with_ports: bool) -> Result<Given, ElementError> {
    let words: Vec<&str> = argument.split_ascii_whitespace().collect();
    match (&words[..], with_ports) {
        ([inner, mapped], false) => Ok(Given { inner: (address(inner)?, 0), mapped: (address(mapped)?, 0) }),
        ([inner, from, mapped, to], true) => Ok(Given { inner: (address(inner)?, port(from)?), mapped: (address(mapped)?, port(to)?) }),
        (_, false) => Err(ElementError::argument(format!("'{argument}': a mapping is INNER MAPPED"))),
        (_, true) => Err(ElementError::argument(format!("'{argument}': a mapping is INNER PORT MAPPED PORT"))),
    }
}

fn flows(argument: &str) -> Result<Dynamic, ElementError> {
    let words: Vec<&str> = argument.split_ascii_whitespace().collect();
    let [of, first, last] = words[..] else { return Err(ElementError::argument(format!("'{argument}': expected ADDRESS FIRST LAST"))) };
    let (address, first, last) = (address(of)?, port(first)?, port(last)?);
    if first == 0 || first > last {
        return Err(ElementError::argument(format!("'{argument}': these are no ports from the first to the last")));
    }
    Ok(Dynamic::Flows { address, first, last, used: 0 })
}

fn hosts(reader: &mut Reader<'_>) -> Result<Dynamic, ElementError> {
    let mut free = vec![address(reader.next("ADDRESS")?)?];
    for argument in reader.0.by_ref() {
        free.push(address(argument.trim())?);
    }
    Ok(Dynamic::Hosts { free, bound: Vec::new() })
}

impl BuiltIn for Translator {
    fn push(&mut self, input: u32, mut packet: Packet, ctx: &mut Ctx<'_>) {
        match self.translate(&mut packet, input == 1) {
            Ok(()) => ctx.emit(input, packet),
            Err(reason) => ctx.drop_packet(&packet, reason),
        }
    }
}
