//! Flows that are rewritten, from outside: Click's handlers of IPRewriter and its kin, for every program with their tables.
//!
//! Those are `brief` and `lasting`, from `struct flow` to `struct mapping` (elements/include/flow.h), or `inner` and `outer` of IPAddrRewriter, from an address to
//! `struct mapped`. Read: `table` or `mappings`, and of it `tcp_table` or `tcp_mappings`, and those of UDP; `lookup SADDR SPORT DADDR DPORT`, what becomes of such a packet, or `tcp_lookup`; `size`,
//! `table_size` and `nmappings`, how many flows there are, with their replies. Written: `clear`. Both: `capacity`, up to what the
//! tables are declared for.
//!
//! A line is `FLOW => REWRITTEN [*FOUT ROUT] iINPUT expSECONDS` as Click writes it; the star stands before the output of this direction. Leaves out: the input where
//! only addresses are rewritten, and writing patterns.

use super::hosts::{clear, field};
use super::native::{Control, controls};
use super::program::Program;
use super::{HandlerError, text};
use netil::fields::ip_protocol::{TCP, UDP};
use netil::module::{Entry, Table as Declaration, TableKind};
use std::fmt::{self, Write as _};
use std::net::Ipv4Addr;

/// Requests of pings have the number of ICMP as protocol, replies one that is no protocol's.
const PINGS: [u8; 2] = [1, 255];

/// Where a mapping's members are, in bytes; see flow.h.
mod at {
    pub const OUTPUT: usize = 13;
    pub const USED: usize = 17;
    pub const LIMIT: usize = 25;
    pub const IS_REPLY: usize = 39;
    pub const INPUT: usize = 41;
    pub const BYTES: usize = 42;
    /// Of `struct mapped`, which begins with the address and the output.
    pub const MAPPED_BYTES: usize = 10;
}

/// A flow: one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Flow {
    source: u32,
    destination: u32,
    sport: u16,
    dport: u16,
    protocol: u8,
}

impl Flow {
    /// Of a table's key: its members, the first most significant.
    fn of_key(key: &[u64]) -> Self {
        let number = u128::from(key[0]) | u128::from(key.get(1).copied().unwrap_or(0)) << 64;
        let part = |shift: u32| (number >> shift) as u32;
        Self { source: part(72), destination: part(40), sport: part(24) as u16, dport: part(8) as u16, protocol: number as u8 }
    }

    fn key(self) -> Box<[u64]> {
        let addresses = u128::from(self.source) << 72 | u128::from(self.destination) << 40;
        let number = addresses | u128::from(self.sport) << 24 | u128::from(self.dport) << 8 | u128::from(self.protocol);
        [number as u64, (number >> 64) as u64].into()
    }

    /// Of a value, each member by itself.
    fn of_value(value: &[u8]) -> Self {
        let address = |at| field(value, at, 4) as u32;
        let port = |at| field(value, at, 2) as u16;
        Self { source: address(0), destination: address(4), sport: port(8), dport: port(10), protocol: field(value, 12, 1) as u8 }
    }

    /// That of the packets which answer.
    fn replies(self) -> Self {
        let [requests, replies] = PINGS;
        let protocol = match self.protocol {
            it if it == requests => replies,
            it if it == replies => requests,
            other => other,
        };
        Self { source: self.destination, destination: self.source, sport: self.dport, dport: self.sport, protocol }
    }
}

impl fmt::Display for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [source, destination] = [self.source, self.destination].map(Ipv4Addr::from);
        match self.protocol {
            TCP | UDP => write!(f, "({source}, {}, {destination}, {})", self.sport, self.dport),
            it if PINGS.contains(&it) => write!(f, "({source}, {destination}, {})", self.sport | self.dport),
            _ => write!(f, "({source}, {destination})"),
        }
    }
}

/// A mapping: what becomes of a flow.
#[derive(Clone, Copy)]
struct Mapping {
    flow: Flow,
    to: Flow,
    output: u64,
    expires: u64,
    is_reply: bool,
    input: u64,
}

impl Mapping {
    fn of(flow: Flow, value: &[u8]) -> Self {
        let expires = field(value, at::USED, 8).saturating_add(field(value, at::LIMIT, 8));
        let (output, is_reply, input) = (field(value, at::OUTPUT, 4), field(value, at::IS_REPLY, 1) != 0, field(value, at::INPUT, 1));
        Self { flow, to: Flow::of_value(value), output, expires, is_reply, input }
    }
}

impl Mapping {
    /// Flows are counted once, with their replies; one that is its own reply has the mapping of replies only.
    fn counts(&self) -> bool {
        !self.is_reply || self.to.replies() == self.flow
    }
}

/// The tables of a rewriter.
#[derive(Clone, Copy)]
enum Kind {
    Flows,
    Addresses,
}

const ALL: [(Kind, [&str; 2]); 2] = [(Kind::Flows, ["brief", "lasting"]), (Kind::Addresses, ["inner", "outer"])];

impl Kind {
    fn fits(self, table: &Declaration) -> bool {
        let (bits, bytes) = match self {
            Self::Flows => (104, at::BYTES),
            Self::Addresses => (32, at::MAPPED_BYTES),
        };
        table.kind == TableKind::Exact && (table.key_bits, table.value_bytes as usize) == (bits, bytes)
    }

    /// Entries of each of the tables that what is known takes.
    fn entries(self) -> u64 {
        match self {
            Self::Flows => 2,
            Self::Addresses => 1,
        }
    }

    fn controls(self) -> Vec<Control> {
        let read: &[&str] = match self {
            Self::Flows => &[
                "table",
                "mappings",
                "tcp_table",
                "tcp_mappings",
                "udp_table",
                "udp_mappings",
                "lookup",
                "tcp_lookup",
                "size",
                "table_size",
                "nmappings",
            ],
            Self::Addresses => &["table", "mappings", "size", "table_size", "nmappings"],
        };
        controls(read, &["clear"], &["capacity"])
    }
}

impl Program {
    fn flows(&self) -> Option<(Kind, [usize; 2])> {
        let tables = &self.module().tables;
        let place = |kind: Kind, name: &str| tables.iter().position(|table| table.name == name && kind.fits(table));
        ALL.iter().find_map(|(kind, [one, other])| Some((*kind, [place(*kind, one)?, place(*kind, other)?])))
    }

    /// The handlers that there are if there are such tables.
    pub(super) fn flow_handlers(&self) -> Vec<Control> {
        self.flows().map_or_else(Vec::new, |(kind, _)| kind.controls())
    }

    /// Reads one; `None` if there is no such handler.
    pub(super) fn read_flows(&mut self, handler: &str, argument: &str, now: u64) -> Option<Result<String, HandlerError>> {
        let (kind, places) = self.flows()?;
        match (kind, handler) {
            (Kind::Flows, "table" | "mappings") => Some(Ok(self.flow_table(places, now, |_| true))),
            (Kind::Flows, "tcp_table" | "tcp_mappings") => Some(Ok(self.flow_table(places, now, |protocol| protocol == TCP))),
            (Kind::Flows, "udp_table" | "udp_mappings") => Some(Ok(self.flow_table(places, now, |protocol| protocol == UDP))),
            (Kind::Flows, "lookup") => Some(self.flow_lookup(places, argument, &[TCP, UDP, PINGS[0], PINGS[1]], now)),
            (Kind::Flows, "tcp_lookup") => Some(self.flow_lookup(places, argument, &[TCP], now)),
            (Kind::Flows, "size" | "table_size" | "nmappings") => Some(Ok(self.flow_count(places, now).to_string())),
            (Kind::Addresses, "table" | "mappings") => Some(Ok(self.address_table(places, now))),
            (Kind::Addresses, "size" | "table_size" | "nmappings") => Some(Ok(self.state.tables[places[0]].len(now).to_string())),
            (_, "capacity") => Some(Ok(self.flow_capacity(kind, places[0]).to_string())),
            _ => None,
        }
    }

    /// Writes one; `None` if there is no such handler.
    pub(super) fn write_flows(&mut self, handler: &str, text: &str, now: u64) -> Option<Result<(), HandlerError>> {
        let (kind, places) = self.flows()?;
        match handler {
            "clear" => {
                places.into_iter().for_each(|at| clear(self.state.tables[at].as_mut(), now));
                Some(Ok(()))
            }
            "capacity" => Some(self.set_flow_capacity(kind, places, text.trim())),
            _ => None,
        }
    }

    /// True if it rewrites, and so has a pattern for each input.
    pub(super) fn has_flows(&self) -> bool {
        self.flows().is_some()
    }

    /// The patterns of the inputs, a line each, as the program prints them: behind it how many flows that began there are known.
    pub(super) fn counted_patterns(&self, printed: &str, now: u64) -> String {
        let mappings = match self.flows() {
            Some((Kind::Flows, places)) => self.mappings(places, now),
            _ => Vec::new(),
        };
        let known = |input: usize| mappings.iter().filter(|mapping| mapping.counts() && mapping.input == input as u64).count();
        printed.lines().enumerate().fold(String::new(), |mut list, (input, pattern)| {
            let _ = match known(input) {
                0 => writeln!(list, "{pattern}"),
                count => writeln!(list, "{pattern} [{count}]"),
            };
            list
        })
    }

    /// How many flows or addresses may be known.
    fn flow_capacity(&self, kind: Kind, at: usize) -> u64 {
        let limit = self.state.tables[at].limit().map(|limit| limit as u64);
        limit.unwrap_or(self.module().tables[at].capacity.into()) / kind.entries()
    }

    fn set_flow_capacity(&mut self, kind: Kind, places: [usize; 2], text: &str) -> Result<(), HandlerError> {
        let most = u64::from(self.module().tables[places[0]].capacity) / kind.entries();
        let number = text::integer(text).and_then(|number| u64::try_from(number).ok());
        let wrong = || {
            HandlerError::invalid(format!("expected a number up to {most}, the capacity that the element was declared with, not '{text}'"))
        };
        let capacity = number.filter(|number| *number <= most).ok_or_else(wrong)?;
        places.into_iter().for_each(|at| self.state.tables[at].set_limit((capacity * kind.entries()) as usize));
        Ok(())
    }

    /// Mappings that have not timed out, by their flows.
    fn mappings(&self, places: [usize; 2], now: u64) -> Vec<Mapping> {
        let of = |entry: Entry| Mapping::of(Flow::of_key(&entry.key), &entry.value);
        let all = places.into_iter().flat_map(|at| self.state.tables[at].entries(now)).map(of);
        all.filter(|mapping| now < mapping.expires).collect()
    }

    fn mapping(&mut self, places: [usize; 2], flow: Flow, now: u64) -> Option<Mapping> {
        let mut found = places.into_iter().filter_map(|at| {
            let table = &mut self.state.tables[at];
            let entry = table.find(&flow.key(), now, false);
            table.value(entry).filter(|_| entry != 0).map(|value| Mapping::of(flow, value))
        });
        found.find(|mapping| now < mapping.expires)
    }

    fn flow_table(&mut self, places: [usize; 2], now: u64, takes: impl Fn(u8) -> bool) -> String {
        let mut list = String::new();
        for mapping in self.mappings(places, now).into_iter().filter(|mapping| takes(mapping.flow.protocol)) {
            let other = self.mapping(places, mapping.to.replies(), now).map_or(mapping.output, |other| other.output);
            let (forward, reply) = if mapping.is_reply { (other, mapping.output) } else { (mapping.output, other) };
            let [first, second] = if mapping.is_reply { ["", "*"] } else { ["*", ""] };
            let left = (mapping.expires - now).saturating_add(500_000_000) / 1_000_000_000;
            let Mapping { flow, to, input, .. } = mapping;
            let _ = writeln!(list, "{flow} => {to} [{first}{forward} {second}{reply}] i{input} exp{left}");
        }
        list
    }

    /// Those that count, one of both directions.
    fn flow_count(&self, places: [usize; 2], now: u64) -> usize {
        self.mappings(places, now).iter().filter(|mapping| mapping.counts()).count()
    }

    fn flow_lookup(&mut self, places: [usize; 2], argument: &str, protocols: &[u8], now: u64) -> Result<String, HandlerError> {
        let wrong = || HandlerError::invalid(format!("expected SADDR SPORT DADDR DPORT, not '{argument}'"));
        let words = text::words(argument);
        let &[source, sport, destination, dport] = &words[..] else { return Err(wrong()) };
        let address = |text: &str| text.parse::<Ipv4Addr>().map(u32::from).map_err(|_| wrong());
        let port = |text: &str| text.parse::<u16>().map_err(|_| wrong());
        let (source, destination, sport, dport) = (address(source)?, address(destination)?, port(sport)?, port(dport)?);
        let mut flows = protocols.iter().map(|protocol| Flow { source, destination, sport, dport, protocol: *protocol });
        let found = flows.find_map(|flow| self.mapping(places, flow, now));
        Ok(found.map_or_else(String::new, |Mapping { to, .. }| {
            let [source, destination] = [to.source, to.destination].map(Ipv4Addr::from);
            format!("{source} {} {destination} {}", to.sport, to.dport)
        }))
    }

    /// Inner addresses with what they become, then outer ones.
    fn address_table(&mut self, places: [usize; 2], now: u64) -> String {
        let mut list = String::new();
        for (n, at) in places.into_iter().enumerate() {
            for entry in self.state.tables[at].entries(now) {
                let (to, output) = (field(&entry.value, 0, 4), field(&entry.value, 4, 4));
                let partners = &mut self.state.tables[places[1 - n]];
                let partner = partners.find(&[to], now, false);
                let other = partners.value(partner).filter(|_| partner != 0).map_or(output, |value| field(value, 4, 4));
                let outputs = if n == 0 { format!("*{output} {other}") } else { format!("{other} *{output}") };
                let [from, to] = [entry.key[0], to].map(|address| Ipv4Addr::from(address as u32));
                let _ = writeln!(list, "{from} => {to} [{outputs}]");
            }
        }
        list
    }
}
