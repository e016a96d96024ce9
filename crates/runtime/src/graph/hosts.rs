//! Hosts and their Ethernet addresses from outside: Click's handlers of ARPQuerier, ARPResponder
//! and EtherSwitch, for every program with a table of their kind and name.
//!
//! | table | keys, values begin with | read | written |
//! |---|---|---|---|
//! | `neighbours` | exact IPv4 addresses; Ethernet address, when it was learned | `table`, `count` | `insert IP ETH`, `delete IP`, `clear` |
//! | `entries` | IPv4 prefixes; Ethernet address | `table`, `lookup IP` | `add IP/MASK... ETH`, `remove IP/MASK` |
//! | `stations` | exact Ethernet addresses; port | `table`, `timeout` | `timeout SECONDS` |
//!
//! Lines are as Click writes them. Leaves out: names of AddressInfo in what is written, and
//! addresses that no answer has come for.

use super::handler::{ElementHandler, element_handlers};
use super::program::Program;
use super::routes::Family;
use super::tables::clear;
use super::{HandlerError, text};
use netil::module::{Entry, Table as Declaration, TableKind};
use netil::tables::Table;
use std::fmt::Write as _;

const IP4: Family = Family(32);
const MAC_BYTES: usize = 6;

/// What is kept of hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Neighbours,
    Answers,
    Stations,
}

const ALL: [Kind; 3] = [Kind::Neighbours, Kind::Answers, Kind::Stations];

impl Kind {
    fn fits(self, table: &Declaration) -> bool {
        let it = (table.name.as_str(), table.kind, table.key_bits);
        match self {
            Self::Neighbours => it == ("neighbours", TableKind::Exact, 32) && table.value_bytes as usize >= MAC_BYTES + 8,
            Self::Answers => it == ("entries", TableKind::Prefix, 32) && table.value_bytes as usize == MAC_BYTES,
            Self::Stations => it == ("stations", TableKind::Exact, 48) && table.value_bytes >= 4,
        }
    }

    fn element_handlers(self) -> Vec<ElementHandler> {
        match self {
            Self::Neighbours => element_handlers(&["table", "count"], &["insert", "delete", "clear"], &[]),
            Self::Answers => element_handlers(&["table", "lookup"], &["add", "remove"], &[]),
            Self::Stations => element_handlers(&["table"], &[], &["timeout"]),
        }
    }
}

/// Six bytes, the first most significant.
pub(super) fn mac_shown(mac: u64) -> String {
    mac.to_be_bytes()[2..].iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join("-")
}

fn mac(text: &str) -> Option<u64> {
    let parts: Vec<&str> = text.split([':', '-']).collect();
    let byte = |part: &&str| u8::from_str_radix(part, 16).ok().filter(|_| part.len() <= 2 && !part.starts_with('+'));
    let bytes: Vec<u8> = parts.iter().map(byte).collect::<Option<_>>()?;
    (bytes.len() == MAC_BYTES).then(|| bytes.iter().fold(0, |mac, byte| mac << 8 | u64::from(*byte)))
}

/// A number in a value.
fn field(value: &[u8], at: usize, bytes: usize) -> u64 {
    let bytes = value.get(at..at + bytes).unwrap_or_default();
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn entry(address: u128, length: Option<u32>, mac: u64, rest: &[u8]) -> Entry {
    let mask = length.map_or_else(Box::default, |length| IP4.limbs(IP4.mask(length)));
    let value = [&mac.to_le_bytes()[..MAC_BYTES], rest].concat();
    Entry { key: IP4.limbs(address), mask, priority: 0, value: value.into() }
}

fn address(text: &str) -> Result<u128, HandlerError> {
    IP4.address(text.trim()).ok_or_else(|| HandlerError::invalid(format!("expected an IP address, not '{}'", text.trim())))
}

impl Program {
    fn hosts(&self) -> Option<(Kind, usize)> {
        let tables = &self.module().tables;
        ALL.into_iter().find_map(|kind| Some((kind, tables.iter().position(|table| kind.fits(table))?)))
    }

    /// The handlers that there are if there are hosts.
    pub(super) fn host_handlers(&self) -> Vec<ElementHandler> {
        self.hosts().map_or_else(Vec::new, |(kind, _)| kind.element_handlers())
    }

    /// Reads one; `None` if there is no such handler.
    pub(super) fn read_hosts(&mut self, handler: &str, argument: &str, now: u64) -> Option<Result<String, HandlerError>> {
        let (kind, at) = self.hosts()?;
        let declared = self.module().tables[at].timeout_ns;
        let table = self.state.tables.get_mut(at)?;
        match (kind, handler) {
            (Kind::Neighbours, "table") => Some(Ok(neighbours(table.as_ref(), now))),
            (Kind::Neighbours, "count") => Some(Ok(table.len(now).to_string())),
            (Kind::Answers, "table") => Some(Ok(answers(table.as_ref(), now))),
            (Kind::Answers, "lookup") => Some(address(argument).map(|address| lookup(table.as_ref(), address, now))),
            (Kind::Stations, "table") => Some(Ok(stations(table.as_ref(), now))),
            (Kind::Stations, "timeout") => Some(Ok((table.timeout().unwrap_or(declared) / 1_000_000_000).to_string())),
            _ => None,
        }
    }

    /// Writes one; `None` if there is no such handler.
    pub(super) fn write_hosts(&mut self, handler: &str, line: &str, now: u64) -> Option<Result<(), HandlerError>> {
        let (kind, at) = self.hosts()?;
        let rest = (self.module().tables[at].value_bytes as usize).saturating_sub(MAC_BYTES);
        let table = self.state.tables.get_mut(at)?.as_mut();
        match (kind, handler) {
            (Kind::Neighbours, "insert") => Some(insert(table, line, rest, now)),
            (Kind::Neighbours, "delete") => Some(address(line).map(|address| {
                table.remove(&IP4.limbs(address), &[], 0, now);
            })),
            (Kind::Neighbours, "clear") => {
                clear(table, now);
                Some(Ok(()))
            }
            (Kind::Answers, "add") => Some(add(table, line, now)),
            (Kind::Answers, "remove") => Some(remove(table, line, now)),
            (Kind::Stations, "timeout") => Some(set_timeout(table, line, now)),
            _ => None,
        }
    }
}

/* What ARPQuerier knows. */

/// The one that was learned first comes first: address, 1 since it is valid, Ethernet address, age.
fn neighbours(table: &dyn Table, now: u64) -> String {
    let mut all = table.entries(now);
    all.sort_by_key(|entry| field(&entry.value, MAC_BYTES, 8));
    all.iter().fold(String::new(), |mut list, entry| {
        let age = now.saturating_sub(field(&entry.value, MAC_BYTES, 8));
        let (ip, mac) = (IP4.shown(entry.key[0].into()), mac_shown(field(&entry.value, 0, MAC_BYTES)));
        let _ = writeln!(list, "{ip} 1 {mac} {}", text::seconds(age));
        list
    })
}

fn insert(table: &mut dyn Table, line: &str, rest: usize, now: u64) -> Result<(), HandlerError> {
    let words = text::words(line);
    let known = if let [ip, ethernet] = words[..] { IP4.address(ip).zip(mac(ethernet)) } else { None };
    let (address, mac) = known.ok_or_else(|| HandlerError::invalid(format!("expected IP ETH, not '{line}'")))?;
    let mut value = now.to_le_bytes().to_vec();
    value.resize(rest, 0);
    table.add(&entry(address, None, mac, &value), now).map_err(HandlerError::failed)
}

/* What ARPResponder answers. */

/// Longer prefixes first.
fn answers(table: &dyn Table, now: u64) -> String {
    let mut all = table.entries(now);
    let length = |entry: &Entry| entry.mask[0].count_ones();
    all.sort_by_key(|entry| std::cmp::Reverse(length(entry)));
    all.iter().fold(String::new(), |mut list, entry| {
        let (ip, mac) = (IP4.shown(entry.key[0].into()), mac_shown(field(&entry.value, 0, MAC_BYTES)));
        let _ = writeln!(list, "{ip}/{} {mac}", length(entry));
        list
    })
}

fn lookup(table: &dyn Table, address: u128, now: u64) -> String {
    let value = table.lookup(&IP4.limbs(address), now);
    value.map_or_else(String::new, |value| mac_shown(field(&value, 0, MAC_BYTES)))
}

fn add(table: &mut dyn Table, line: &str, now: u64) -> Result<(), HandlerError> {
    let wrong = || HandlerError::invalid(format!("expected IP/MASK... ETH, not '{line}'"));
    let words = text::words(line);
    let macs: Vec<u64> = words.iter().filter_map(|word| mac(word)).collect();
    let prefixes: Vec<_> =
        words.iter().filter(|word| mac(word).is_none()).map(|word| IP4.prefix(word)).collect::<Option<_>>().ok_or_else(wrong)?;
    let &[mac] = &macs[..] else { return Err(wrong()) };
    if prefixes.is_empty() {
        return Err(wrong());
    }
    let mut entries = prefixes.into_iter().map(|(address, length)| entry(address & IP4.mask(length), Some(length), mac, &[]));
    entries.try_for_each(|entry| table.add(&entry, now)).map_err(HandlerError::failed)
}

fn remove(table: &mut dyn Table, line: &str, now: u64) -> Result<(), HandlerError> {
    let (address, length) = IP4.prefix(line.trim()).ok_or_else(|| HandlerError::invalid(format!("expected IP/MASK, not '{line}'")))?;
    let address = address & IP4.mask(length);
    let gone = table.remove(&IP4.limbs(address), &IP4.limbs(IP4.mask(length)), 0, now);
    gone.then_some(()).ok_or_else(|| HandlerError::invalid(format!("{}/{length} not found", IP4.shown(address))))
}

/* Where EtherSwitch sends. */

/// Stations that are known get the new time, from when they were last heard of.
fn set_timeout(table: &mut dyn Table, text: &str, now: u64) -> Result<(), HandlerError> {
    let time = text::duration(text.trim()).filter(|time| *time > 0);
    let time = time.ok_or_else(|| HandlerError::invalid(format!("expected a time above 0, not '{}'", text.trim())))?;
    if table.set_timeout(time, now) {
        Ok(())
    } else {
        Err(HandlerError::invalid("with TIMEOUT 0 nothing is learned, and there is no time to be set"))
    }
}

fn stations(table: &dyn Table, now: u64) -> String {
    table.entries(now).iter().fold(String::new(), |mut list, entry| {
        let _ = writeln!(list, "{} {}", mac_shown(entry.key[0]), field(&entry.value, 0, 4));
        list
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ethernet_addresses_are_read_as_they_are_shown() {
        for (text, shown) in [("0:1:2:a:b:ff", "00-01-02-0A-0B-FF"), ("00-01-02-0A-0B-FF", "00-01-02-0A-0B-FF")] {
            assert_eq!(mac(text).map(mac_shown).as_deref(), Some(shown));
        }
        for text in ["", "1:2:3:4:5", "1:2:3:4:5:6:7", "1:2:3:4:5:x", "1:2:3:4:5:+6", "1:2:3:4:5:006", "1.2.3.4"] {
            assert_eq!(mac(text), None, "{text}");
        }
    }
}
