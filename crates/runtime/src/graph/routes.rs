//! Routing tables from outside: Click's handlers of IP lookups, for every program with a table `routes`.
//!
//! Such a table has IPv4 addresses as keys (prefixes, or ranges whose priority is the prefix's length) and values that begin with a gateway and an output. Handlers:
//! `add ADDR/MASK [GW] OUT`, `set` (the same, in place of what is there), `remove ADDR/MASK [GW OUT]`, `ctrl` (lines of these), `lookup ADDR`, `table`.

use super::program::Program;
use super::text;
use netil::module::{Entry, TableKind};
use std::fmt::Write as _;
use std::net::Ipv4Addr;

/// A route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Route {
    address: u32,
    length: u32,
    gateway: u32,
    output: u32,
}

impl Route {
    fn mask(length: u32) -> u32 {
        u32::MAX.checked_shl(32 - length.min(32)).unwrap_or(0)
    }

    fn parse(line: &str, needs_output: bool) -> Option<Self> {
        let words = text::words(line);
        let (address, length) = prefix(words.first()?)?;
        let (gateway, output) = match words.get(1..)? {
            [] if !needs_output => ("-", None),
            [output] => ("-", Some(output)),
            [gateway, output] => (*gateway, Some(output)),
            _ => return None,
        };
        let gateway = if gateway == "-" { 0 } else { gateway.parse::<Ipv4Addr>().ok()?.into() };
        let output = output.map_or(Some(0), |output| text::integer(output).and_then(|n| u32::try_from(n).ok()))?;
        Some(Self { address: address & Self::mask(length), length, gateway, output })
    }

    fn shown(&self) -> String {
        let gateway = if self.gateway == 0 { "-".to_owned() } else { Ipv4Addr::from(self.gateway).to_string() };
        format!("{}/{} {gateway} {}", Ipv4Addr::from(self.address), self.length, self.output)
    }

    fn entry(&self, kind: TableKind, bytes: usize) -> Entry {
        let mask = Self::mask(self.length);
        let (mask, priority) = if kind == TableKind::Range { (self.address | !mask, self.length) } else { (mask, 0) };
        let mut value = [self.gateway.to_le_bytes(), self.output.to_le_bytes()].concat();
        value.resize(bytes, 0);
        Entry { key: [u64::from(self.address)].into(), mask: [u64::from(mask)].into(), priority, value: value.into() }
    }

    fn of(entry: &Entry, kind: TableKind) -> Option<Self> {
        let (address, mask) = (*entry.key.first()? as u32, *entry.mask.first()? as u32);
        let length = if kind == TableKind::Range { entry.priority } else { mask.count_ones() };
        let (gateway, output) = value(&entry.value)?;
        Some(Self { address, length, gateway, output })
    }
}

fn value(bytes: &[u8]) -> Option<(u32, u32)> {
    let word = |at: usize| bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes);
    Some((word(0)?, word(4)?))
}

/// An address, octets at its end left out, and the length of its mask.
fn prefix(text: &str) -> Option<(u32, u32)> {
    let (address, mask) = text.split_once('/').map_or((text, None), |(address, mask)| (address, Some(mask)));
    let octets: Vec<u8> = address.split('.').map(|octet| octet.parse().ok()).collect::<Option<_>>()?;
    if octets.len() > 4 || (octets.len() < 4 && mask.is_none()) {
        return None;
    }
    let address = octets.iter().chain([0; 4].iter()).take(4).fold(0, |sum, octet| sum << 8 | u32::from(*octet));
    let length = match mask {
        None => 32,
        Some(mask) if mask.contains('.') => {
            let mask = u32::from(mask.parse::<Ipv4Addr>().ok()?);
            (mask == Route::mask(mask.count_ones())).then_some(mask.count_ones())?
        }
        Some(length) => length.parse().ok().filter(|length| *length <= 32)?,
    };
    Some((address, length))
}

impl Program {
    /// Which table the routes are in, its kind and the size of its values.
    fn routes(&self) -> Option<(usize, TableKind, usize)> {
        let tables = &self.module().tables;
        let fits = |kind| matches!(kind, TableKind::Prefix | TableKind::Range);
        let at = tables.iter().position(|t| t.name == "routes" && t.key_bits == 32 && t.value_bytes >= 8 && fits(t.kind))?;
        Some((at, tables[at].kind, tables[at].value_bytes as usize))
    }

    /// Reads `lookup` or `table`; `None` if there is no such handler.
    pub(super) fn read_routes(&mut self, handler: &str, argument: &str, now: u64) -> Option<Result<String, String>> {
        let (at, kind, _) = self.routes()?;
        let table = self.state.tables.get_mut(at)?;
        match handler {
            "lookup" => {
                let Some((address, 32)) = prefix(argument.trim()) else {
                    return Some(Err(format!("expected an IP address, not '{argument}'")));
                };
                let found = table.find(&[address.into()], now, false);
                Some(Ok(match table.value(found).and_then(value).filter(|_| found != 0) {
                    None => "-1".to_owned(),
                    Some((0, output)) => output.to_string(),
                    Some((gateway, output)) => format!("{output} {}", Ipv4Addr::from(gateway)),
                }))
            }
            "table" => {
                Some(Ok(table.entries(now).iter().filter_map(|entry| Route::of(entry, kind)).fold(String::new(), |mut list, route| {
                    let _ = writeln!(list, "{}", route.shown().replace(' ', "\t"));
                    list
                })))
            }
            _ => None,
        }
    }

    /// Writes `add`, `set`, `remove` or `ctrl`; `None` if there is no such handler.
    pub(super) fn write_routes(&mut self, handler: &str, line: &str, now: u64) -> Option<Result<(), String>> {
        self.routes()?;
        match handler {
            "add" | "set" | "remove" => Some(self.change(handler, line, now)),
            "ctrl" => {
                let lines = line.lines().map(text::shift_word).filter(|(word, _)| !word.is_empty());
                Some(lines.into_iter().try_for_each(|(word, rest)| match word {
                    "add" | "set" | "remove" => self.change(word, rest, now),
                    other => Err(format!("expected add, set or remove, not '{other}'")),
                }))
            }
            _ => None,
        }
    }

    fn change(&mut self, what: &str, line: &str, now: u64) -> Result<(), String> {
        let route = Route::parse(line, what != "remove").ok_or_else(|| format!("expected ADDR/MASK [GATEWAY] OUTPUT, not '{line}'"))?;
        let Some((at, kind, bytes)) = self.routes() else { return Ok(()) };
        let Some(table) = self.state.tables.get_mut(at) else { return Ok(()) };
        let entry = route.entry(kind, bytes);
        let same = |other: &Route| (other.address, other.length) == (route.address, route.length);
        let there = table.entries(now).iter().filter_map(|entry| Route::of(entry, kind)).find(same);
        match (what, there) {
            ("add", Some(other)) => Err(format!("conflict with existing route '{}'", other.shown())),
            ("remove", None) => Err(format!("there is no route '{}'", line.trim())),
            ("remove", Some(_)) => {
                table.remove(&entry.key, &entry.mask, entry.priority, now);
                Ok(())
            }
            _ => table.add(&entry, now).map_err(|full| full.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_are_read_as_they_are_shown() {
        for (line, shown) in [
            ("18.26/16 1.0.0.1 0", "18.26.0.0/16 1.0.0.1 0"),
            ("18.26.0/12 3", "18.16.0.0/12 - 3"),
            ("1.2.3.4 - 1", "1.2.3.4/32 - 1"),
            ("0.0.0.0/0 2", "0.0.0.0/0 - 2"),
            ("10.0.0.0/255.0.0.0 1", "10.0.0.0/8 - 1"),
        ] {
            let route = Route::parse(line, true).unwrap();
            assert_eq!(route.shown(), shown);
            for kind in [TableKind::Prefix, TableKind::Range] {
                assert_eq!(Route::of(&route.entry(kind, 8), kind), Some(route));
            }
        }
        for line in
            ["", "1.2.3 1", "1.2.3.4/33 1", "1.2.3.4/255.0.255.0 1", "1.2.3.4/8", "1.2.3.4/8 x 1", "1.2.3.4/8 1.1.1.1 2 3", "300.1.1.1 1"]
        {
            assert_eq!(Route::parse(line, true), None, "{line}");
        }
    }
}
