//! Routing tables from outside: Click's handlers of IP lookups, for every program with a table
//! `routes`.
//!
//! Such a table has IPv4 addresses as keys (prefixes, or ranges whose priority is the prefix's
//! length) or IPv6 addresses (prefixes), and values that begin with a gateway and an output.
//! Handlers: `add ADDR/MASK [GW] OUT`, `set` (the same, in place of what is there),
//! `remove ADDR/MASK [GW OUT]`, `ctrl` (lines of these), `flush` (no routes are left),
//! `lookup ADDR`, `table`. What files say is unreachable has output -1 in them; `add` and `set`
//! take the outputs that there are.

use super::handler::{ElementHandler, element_handlers};
use super::program::Program;
use super::tables::clear;
use super::{HandlerError, text};
use crate::routes::NOWHERE;
use netil::module::{Entry, TableKind};
use std::fmt::Write as _;
use std::net::{Ipv4Addr, Ipv6Addr};

/// How many bits addresses have, 32 or 128.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Family(pub(super) u32);

/// A route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Route {
    family: Family,
    address: u128,
    length: u32,
    gateway: u128,
    output: u32,
}

impl Family {
    pub(super) fn address(self, text: &str) -> Option<u128> {
        match self {
            Self(32) => text.parse::<Ipv4Addr>().ok().map(|address| u32::from(address).into()),
            _ => text.parse::<Ipv6Addr>().ok().map(u128::from),
        }
    }

    pub(super) fn shown(self, address: u128) -> String {
        if self.0 == 32 { Ipv4Addr::from(address as u32).to_string() } else { Ipv6Addr::from(address).to_string() }
    }

    /// So many ones, then zeros.
    pub(super) fn mask(self, length: u32) -> u128 {
        let all = u128::MAX >> (128 - self.0);
        all & all.checked_shl(self.0 - length.min(self.0)).unwrap_or(0)
    }

    /// An address as tables have it.
    pub(super) fn limbs(self, address: u128) -> Box<[u64]> {
        [address as u64, (address >> 64) as u64][..self.0.div_ceil(64) as usize].into()
    }

    /// An address, octets at its end left out, and the length of its mask.
    pub(super) fn prefix(self, text: &str) -> Option<(u128, u32)> {
        let (address, mask) = text.split_once('/').map_or((text, None), |(address, mask)| (address, Some(mask)));
        let address = if self.0 == 32 { octets(address, mask.is_none())? } else { self.address(address)? };
        let length = match mask {
            None => self.0,
            Some(mask) if mask.contains(['.', ':']) => {
                let mask = self.address(mask)?;
                (mask == self.mask(mask.count_ones())).then_some(mask.count_ones())?
            }
            Some(length) => length.parse().ok().filter(|length| *length <= self.0)?,
        };
        Some((address, length))
    }

    /// The gateway and the output that a value begins with.
    fn value(self, bytes: &[u8]) -> Option<(u128, u32)> {
        let (gateway, rest) = bytes.split_at_checked(self.0 as usize / 8)?;
        let gateway = gateway.iter().rev().fold(0, |sum, byte| sum << 8 | u128::from(*byte));
        Some((gateway, u32::from_le_bytes(*rest.first_chunk()?)))
    }
}

fn octets(text: &str, all: bool) -> Option<u128> {
    let octets: Vec<u8> = text.split('.').map(|octet| octet.parse().ok()).collect::<Option<_>>()?;
    let fits = octets.len() <= 4 && (octets.len() == 4 || !all);
    fits.then(|| octets.iter().chain([0; 4].iter()).take(4).fold(0, |sum, octet| sum << 8 | u128::from(*octet)))
}

fn number(limbs: &[u64]) -> u128 {
    limbs.iter().take(2).rev().fold(0, |sum, limb| sum << 64 | u128::from(*limb))
}

/// An output as handlers show it.
fn output(number: u32) -> String {
    if number == NOWHERE { "-1".to_owned() } else { number.to_string() }
}

/// An output as handlers take it.
fn number_of(output: &str) -> Option<u32> {
    match text::integer(output)? {
        -1 => Some(NOWHERE),
        number => u32::try_from(number).ok().filter(|number| *number != NOWHERE),
    }
}

impl Route {
    fn parse(family: Family, line: &str, needs_output: bool) -> Option<Self> {
        let words = text::words(line);
        let (address, length) = family.prefix(words.first()?)?;
        let (gateway, output) = match words.get(1..)? {
            [] if !needs_output => ("-", None),
            [output] => ("-", Some(*output)),
            [gateway, output] => (*gateway, Some(*output)),
            _ => return None,
        };
        let gateway = if gateway == "-" { 0 } else { family.address(gateway)? };
        let output = output.map_or(Some(0), number_of)?;
        Some(Self { family, address: address & family.mask(length), length, gateway, output })
    }

    fn shown(&self) -> String {
        let gateway = if self.gateway == 0 { "-".to_owned() } else { self.family.shown(self.gateway) };
        format!("{}/{} {gateway} {}", self.family.shown(self.address), self.length, output(self.output))
    }

    fn entry(&self, kind: TableKind, bytes: usize) -> Entry {
        let (family, mask) = (self.family, self.family.mask(self.length));
        let last = self.address | (family.mask(family.0) & !mask);
        let (mask, priority) = if kind == TableKind::Range { (last, self.length) } else { (mask, 0) };
        let gateway = self.gateway.to_le_bytes();
        let mut value = [&gateway[..family.0 as usize / 8], &self.output.to_le_bytes()].concat();
        value.resize(bytes, 0);
        Entry { key: family.limbs(self.address), mask: family.limbs(mask), priority, value: value.into() }
    }

    fn of(family: Family, entry: &Entry, kind: TableKind) -> Option<Self> {
        let length = if kind == TableKind::Range { entry.priority } else { number(&entry.mask).count_ones() };
        let (gateway, output) = family.value(&entry.value)?;
        Some(Self { family, address: number(&entry.key), length, gateway, output })
    }
}

/// The table that routes are in.
#[derive(Clone, Copy)]
struct RouteTable {
    at: usize,
    family: Family,
    kind: TableKind,
    value_bytes: usize,
}

impl Program {
    fn routes(&self) -> Option<RouteTable> {
        let fits = |table: &netil::module::Table| match (table.kind, table.key_bits) {
            (TableKind::Prefix | TableKind::Range, 32) => table.value_bytes >= 8,
            (TableKind::Prefix, 128) => table.value_bytes >= 20,
            _ => false,
        };
        let tables = &self.module().tables;
        let at = tables.iter().position(|table| table.name == "routes" && fits(table))?;
        let table = &tables[at];
        Some(RouteTable { at, family: Family(table.key_bits.into()), kind: table.kind, value_bytes: table.value_bytes as usize })
    }

    /// The handlers that there are if there are routes.
    pub(super) fn route_handlers(&self) -> Vec<ElementHandler> {
        self.routes().map_or_else(Vec::new, |_| element_handlers(&["table", "lookup"], &["add", "set", "remove", "ctrl", "flush"], &[]))
    }

    /// Reads `lookup` or `table`; `None` if there is no such handler.
    pub(super) fn read_routes(&mut self, handler: &str, argument: &str, now: u64) -> Option<Result<String, HandlerError>> {
        let RouteTable { at, family, kind, .. } = self.routes()?;
        let table = self.state.tables.get_mut(at)?;
        match handler {
            "lookup" => {
                let Some(address) = family.address(argument.trim()) else {
                    return Some(Err(HandlerError::invalid(format!("expected an IP address, not '{argument}'"))));
                };
                Some(Ok(match table.lookup(&family.limbs(address), now).and_then(|value| family.value(&value)) {
                    None => "-1".to_owned(),
                    Some((0, number)) => output(number),
                    Some((gateway, number)) => format!("{} {}", output(number), family.shown(gateway)),
                }))
            }
            "table" => {
                let routes = table.entries(now);
                Some(Ok(routes.iter().filter_map(|entry| Route::of(family, entry, kind)).fold(String::new(), |mut list, route| {
                    let _ = writeln!(list, "{}", route.shown().replace(' ', "\t"));
                    list
                })))
            }
            _ => None,
        }
    }

    /// Writes `add`, `set`, `remove`, `ctrl` or `flush`; `None` if there is no such handler.
    pub(super) fn write_routes(&mut self, handler: &str, line: &str, now: u64) -> Option<Result<(), HandlerError>> {
        let place = self.routes()?;
        match handler {
            "add" | "set" | "remove" => Some(self.change(place, handler, line, now)),
            "ctrl" => {
                let lines = line.lines().map(text::shift_word).filter(|(word, _)| !word.is_empty());
                Some(lines.into_iter().try_for_each(|(word, rest)| match word {
                    "add" | "set" | "remove" => self.change(place, word, rest, now),
                    other => Err(HandlerError::invalid(format!("expected add, set or remove, not '{other}'"))),
                }))
            }
            "flush" => {
                clear(self.state.tables.get_mut(place.at)?.as_mut(), now);
                Some(Ok(()))
            }
            _ => None,
        }
    }

    fn change(&mut self, place: RouteTable, what: &str, line: &str, now: u64) -> Result<(), HandlerError> {
        let RouteTable { at, family, kind, value_bytes } = place;
        let route = Route::parse(family, line, what != "remove")
            .ok_or_else(|| HandlerError::invalid(format!("expected ADDR/MASK [GATEWAY] OUTPUT, not '{line}'")))?;
        let outputs = self.outputs();
        if what != "remove" && route.output >= outputs {
            let last = outputs.checked_sub(1).map_or_else(String::new, |last| format!(", 0 to {last}"));
            return Err(HandlerError::invalid(format!("there is no output {}: the element has {outputs}{last}", output(route.output))));
        }
        let Some(table) = self.state.tables.get_mut(at) else { return Ok(()) };
        let entry = route.entry(kind, value_bytes);
        let known = if what == "add" { table.known(&entry.key, &entry.mask, entry.priority, now) } else { 0 };
        if let Some((gateway, output)) = table.value(known).and_then(|value| family.value(value)).filter(|_| known != 0) {
            let other = Route { gateway, output, ..route };
            return Err(HandlerError::invalid(format!("conflict with existing route '{}'", other.shown())));
        }
        if what != "remove" {
            return table.add(&entry, now).map_err(HandlerError::failed);
        }
        let gone = table.remove(&entry.key, &entry.mask, entry.priority, now);
        gone.then_some(()).ok_or_else(|| HandlerError::invalid(format!("there is no route '{}'", line.trim())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_are_read_as_they_are_shown() {
        let family = Family(32);
        for (line, shown) in [
            ("18.26/16 1.0.0.1 0", "18.26.0.0/16 1.0.0.1 0"),
            ("18.26.0/12 3", "18.16.0.0/12 - 3"),
            ("1.2.3.4 - 1", "1.2.3.4/32 - 1"),
            ("0.0.0.0/0 2", "0.0.0.0/0 - 2"),
            ("10.0.0.0/255.0.0.0 1", "10.0.0.0/8 - 1"),
            ("10.0.0.0/8 -1", "10.0.0.0/8 - -1"),
        ] {
            let route = Route::parse(family, line, true).unwrap();
            assert_eq!(route.shown(), shown);
            for kind in [TableKind::Prefix, TableKind::Range] {
                assert_eq!(Route::of(family, &route.entry(kind, 8), kind), Some(route));
            }
        }
        for line in [
            "",
            "1.2.3.4/8 -2",
            "1.2.3.4/8 4294967295",
            "1.2.3 1",
            "1.2.3.4/33 1",
            "1.2.3.4/255.0.255.0 1",
            "1.2.3.4/8",
            "1.2.3.4/8 x 1",
            "1.2.3.4/8 1.1.1.1 2 3",
            "300.1.1.1 1",
        ] {
            assert_eq!(Route::parse(family, line, true), None, "{line}");
        }
    }

    #[test]
    fn routes_of_ipv6_are_read_as_they_are_shown() {
        let family = Family(128);
        for (line, shown) in [
            ("2001:db8::/32 fe80::1 3", "2001:db8::/32 fe80::1 3"),
            ("2001:db8::7/ffff:ffff:: ::0 1", "2001:db8::/32 - 1"),
            ("::/0 2", "::/0 - 2"),
            ("2001:db8::1 0", "2001:db8::1/128 - 0"),
        ] {
            let route = Route::parse(family, line, true).unwrap();
            assert_eq!(route.shown(), shown);
            assert_eq!(Route::of(family, &route.entry(TableKind::Prefix, 20), TableKind::Prefix), Some(route));
        }
        for line in ["2001:db8::/129 1", "2001:db8::/32 1.2.3.4 1", "1.2.3.4/8 1", "2001:db8/32 1", "::/ffff::ffff 1"] {
            assert_eq!(Route::parse(family, line, true), None, "{line}");
        }
    }
}
