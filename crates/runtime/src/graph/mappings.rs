//! Flows that are rewritten, from outside: Click's handlers of IPRewriter and its kin, for every
//! program with their tables.
//!
//! Those are `brief` and `lasting`, from `struct flow` to `struct mapping`
//! (elements/include/flow.h), or `inner` and `outer` of IPAddrRewriter, from an address to
//! `struct mapped`. Read: `table` or `mappings`, and of it `tcp_table` or `tcp_mappings`, and those
//! of UDP; `lookup SADDR SPORT DADDR DPORT`, what becomes of such a packet, or `tcp_lookup`;
//! `size`, `table_size` and `nmappings`, how many flows there are, with their replies. Written:
//! `clear`. Both: `capacity`, up to what the tables are declared for.
//!
//! A line is `FLOW => REWRITTEN [*FOUT ROUT] iINPUT expSECONDS` as Click writes it; the star stands
//! before the output of this direction. Leaves out: the input where only addresses are rewritten,
//! and writing patterns.

use super::handler::{ElementHandler, element_handlers};
use super::program::Program;
use super::tables::{Named, clear};
use super::{HandlerError, text};
use netil::fields::ip_protocol::{TCP, UDP};
use netil::module::{Entry, TableKind};
use std::fmt::{self, Write as _};
use std::net::Ipv4Addr;

/// Requests of pings have the number of ICMP as protocol, replies one that is no protocol's.
const PINGS: [u8; 2] = [1, 255];

/// Fields of flow.h: of `struct flow`, and those of `struct mapping` and `struct mapped` that are
/// looked at.
const FLOW: [&str; 5] = ["saddr", "daddr", "sport", "dport", "protocol"];
const MAPPING: [&str; 10] = ["to.saddr", "to.daddr", "to.sport", "to.dport", "to.protocol", "output", "used", "limit", "is_reply", "input"];
const MAPPED: [&str; 2] = ["to", "output"];

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
    /// Of its fields, in the order of [`FLOW`].
    fn of(fields: [u64; 5]) -> Self {
        let [source, destination, sport, dport, protocol] = fields;
        Self { source: source as u32, destination: destination as u32, sport: sport as u16, dport: dport as u16, protocol: protocol as u8 }
    }

    fn key(self, table: Named<'_>) -> Box<[u64]> {
        let Self { source, destination, sport, dport, protocol } = self;
        let fields = [source.into(), destination.into(), sport.into(), dport.into(), protocol.into()];
        table.key(&FLOW.into_iter().zip(fields).collect::<Vec<_>>())
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
    fn of(table: Named<'_>, flow: Flow, value: &[u8]) -> Self {
        let [to @ .., output, used, limit, is_reply, input] = MAPPING.map(|name| table.of_value(value, name));
        Self { flow, to: Flow::of(to), output, expires: used.saturating_add(limit), is_reply: is_reply != 0, input }
    }
}

impl Mapping {
    /// Flows are counted once, with their replies; one that is its own reply has the mapping of
    /// replies only.
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
    fn fits(self, of: Named<'_>) -> bool {
        let has_fields = match self {
            Self::Flows => of.has(&FLOW, &MAPPING),
            Self::Addresses => of.table.key_bits == 32 && of.layout.key.len() == 1 && of.has(&[&of.layout.key[0].name], &MAPPED),
        };
        of.table.kind == TableKind::Exact && has_fields
    }

    /// Entries of each of the tables that what is known takes.
    fn entries(self) -> u64 {
        match self {
            Self::Flows => 2,
            Self::Addresses => 1,
        }
    }

    fn element_handlers(self) -> Vec<ElementHandler> {
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
        element_handlers(read, &["clear"], &["capacity"])
    }
}

impl Program {
    fn flows(&self) -> Option<(Kind, [usize; 2])> {
        let place = |kind: Kind, name: &str| self.named_table(name).filter(|(_, table)| kind.fits(*table)).map(|(at, _)| at);
        ALL.iter().find_map(|(kind, [one, other])| Some((*kind, [place(*kind, one)?, place(*kind, other)?])))
    }

    /// The handlers that there are if there are such tables.
    pub(super) fn flow_handlers(&self) -> Vec<ElementHandler> {
        self.flows().map_or_else(Vec::new, |(kind, _)| kind.element_handlers())
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

    /// The patterns of the inputs, a line each, as the program prints them: behind it how many
    /// flows that began there are known.
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

    /// One of those tables, with its fields.
    fn fields_of(&self, at: usize) -> Named<'_> {
        Named { table: &self.module().tables[at], layout: &self.layouts[at] }
    }

    /// Mappings that have not timed out, by their flows.
    fn mappings(&self, places: [usize; 2], now: u64) -> Vec<Mapping> {
        let all = places.into_iter().flat_map(|at| {
            let table = self.fields_of(at);
            let of = move |entry: Entry| Mapping::of(table, Flow::of(FLOW.map(|name| table.of_key(&entry.key, name))), &entry.value);
            self.state.tables[at].entries(now).into_iter().map(of)
        });
        all.filter(|mapping| now < mapping.expires).collect()
    }

    fn mapping(&mut self, places: [usize; 2], flow: Flow, now: u64) -> Option<Mapping> {
        let mut found = places.into_iter().filter_map(|at| {
            let key = flow.key(self.fields_of(at));
            let value = self.state.tables[at].lookup(&key, now)?;
            Some(Mapping::of(self.fields_of(at), flow, &value))
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
                let [to, output] = MAPPED.map(|name| self.fields_of(at).of_value(&entry.value, name));
                let partner = self.state.tables[places[1 - n]].lookup(&[to], now);
                let other = partner.map_or(output, |value| self.fields_of(places[1 - n]).of_value(&value, "output"));
                let outputs = if n == 0 { format!("*{output} {other}") } else { format!("{other} *{output}") };
                let [from, to] = [entry.key[0], to].map(|address| Ipv4Addr::from(address as u32));
                let _ = writeln!(list, "{from} => {to} [{outputs}]");
            }
        }
        list
    }
}
