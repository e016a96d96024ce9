//! P4 programs as elements: forwarding and a switch beside C by hand, the application of the PVPP
//! paper, routes with an access list, state.

use super::sides::{self, Case};
use super::{devices, in_repository, of_file};
use crate::hand::Hand;
use crate::random::Random;
use crate::traffic::{self, HOPS, PORTS, Packet, Popularity, Route};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

/// Rules of the access list.
const RULES: usize = 500;

/// A program by itself. Commands are those of BMv2, which it takes, too.
#[derive(Clone)]
pub struct Whole {
    /// What it is called in tables of results.
    pub application: &'static str,
    /// Of its file.
    pub name: &'static str,
    /// Room for so many entries.
    pub size: usize,
    /// What fills its tables.
    pub commands: String,
    pub packets: Vec<Packet>,
    /// How many ports packets come by.
    pub inputs: u32,
}

impl Whole {
    /// The file.
    pub fn source(&self) -> PathBuf {
        in_repository(&format!("benches/p4/{}.p4", self.name))
    }

    /// As an element between devices, compiled without some optimisations of P4.
    pub fn element(self, without: &[&str]) -> Case {
        let (entries, file) = (sides::scratch().join(format!("{}.txt", self.name)), sides::scratch().join(format!("{}.click", self.name)));
        let without: String = without.iter().map(|name| format!(", WITHOUT {name}")).collect();
        let (source, size) = (self.source(), self.size);
        let mut text = format!("p4 :: P4(\"{}\", ENTRIES \"{}\", DEFINE SIZE={size}{without});\n", source.display(), entries.display());
        text.extend((0..self.inputs).map(|port| format!("FromDevice(eth{port}) -> [{port}] p4;\n")));
        text.extend((0..PORTS).map(|port| format!("p4 [{port}] -> ToDevice(eth{port});\n")));
        // Who reads them says what is wrong.
        let _ = std::fs::write(&entries, self.commands);
        let _ = std::fs::write(&file, text);
        Case {
            file,
            parameters: BTreeMap::new(),
            inputs: devices("eth", self.inputs),
            outputs: devices("eth", PORTS),
            ..of_file(self.application, "", "elements", self.packets)
        }
    }
}

/// Six bytes as a number.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold("0x".to_owned(), |text, byte| text + &format!("{byte:02x}"))
}

/// Frames are sent from the address that they came to.
pub fn forward(entries: usize) -> Case {
    forward_by("P4 forward", entries, Popularity::Uniform)
}

/// P4 forwarding with few destinations that have most packets.
pub fn forward_zipf(entries: usize) -> Case {
    forward_by("P4 forward, Zipf", entries, Popularity::Zipf)
}

fn forward_by(application: &'static str, entries: usize, popularity: Popularity) -> Case {
    let mut case = whole_forward(application, entries, popularity).element(&[]);
    case.hand = Some([(); 2].map(|()| Hand::forwarder(&traffic::routes(entries), &|hop| traffic::neighbour(hop, PORTS))));
    case
}

/// IPv4 forwarding by itself.
pub fn whole_forward(application: &'static str, entries: usize, popularity: Popularity) -> Whole {
    let routes = traffic::routes(entries);
    let add = |text: String, Route { prefix, length, hop }: &Route| {
        let mac = hex(&traffic::neighbour(*hop, PORTS));
        text + &format!("table_add routes to 0x{prefix:08x}/{length} => {mac} {}\n", hop % PORTS)
    };
    let commands = routes.iter().fold(String::new(), add);
    let packets = traffic::routed_by(&routes, None, popularity);
    Whole { application, name: "forward", size: entries, commands, packets, inputs: 1 }
}

/// All stations are known from the start.
pub fn switch(entries: usize) -> Case {
    let mut case = whole_switch(entries).element(&[]);
    let stations: Vec<_> = (0..entries).map(|n| (traffic::station(n), n as u32 % PORTS)).collect();
    case.hand = Some([(); 2].map(|()| Hand::stations(&stations)));
    case
}

/// The switch by itself.
pub fn whole_switch(entries: usize) -> Whole {
    let add = |n: usize| format!("table_add stations to {} => {}\n", hex(&traffic::station(n)), n % PORTS as usize);
    let group = "mc_mgrp_create 1\nmc_node_create 0 0 1 2 3\nmc_node_associate 1 0\n".to_owned();
    let commands = (0..entries).map(add).chain([group]).collect();
    Whole { application: "P4 switch", name: "switch", size: entries, commands, packets: traffic::switched(entries), inputs: PORTS }
}

/// Three tables one behind the other, and one without keys.
pub fn paper(entries: usize) -> Case {
    paper_without(entries, &[])
}

/// The paper's application without some optimisations of P4.
pub fn paper_without(entries: usize, without: &[&str]) -> Case {
    whole_paper(entries).element(without)
}

/// The paper's application by itself.
pub fn whole_paper(entries: usize) -> Whole {
    let routes = traffic::routes(entries);
    let mut commands = String::new();
    for Route { prefix, length, hop } in &routes {
        let _ = writeln!(commands, "table_add ipv4_match set_hop 0x{prefix:08x}/{length} => {hop} {}", hop % PORTS);
    }
    for hop in 0..HOPS {
        let _ = writeln!(commands, "table_add dest_mac set_dmac {hop} => {}", hex(&traffic::neighbour(hop, PORTS)));
    }
    for port in 0..PORTS {
        let _ = writeln!(commands, "table_add source_mac set_smac {port} => 0x02000008000{port}");
    }
    Whole { application: "P4 paper", name: "paper", size: entries, commands, packets: traffic::routed(&routes, None), inputs: 1 }
}

/// Routes to next hops, and rules that let all packets pass.
pub fn acl(entries: usize) -> Case {
    whole_acl(entries).element(&[])
}

/// Routes and rules by themselves.
pub fn whole_acl(entries: usize) -> Whole {
    let routes = traffic::routes(entries);
    let mut commands = "table_add own permit 0x020000000001 =>\n".to_owned();
    for Route { prefix, length, hop } in &routes {
        let _ = writeln!(commands, "table_add routes route 0x{prefix:08x}/{length} => {hop}");
    }
    for hop in 0..HOPS {
        let (mac, port) = (hex(&traffic::neighbour(hop, PORTS)), hop % PORTS);
        let _ = writeln!(commands, "table_add hops frame {hop} => {mac} 0x020000080000 {port}");
    }
    commands.extend((0..RULES).map(rule));
    let packets = traffic::routed(&routes, None);
    Whole { application: "P4 routes and rules", name: "acl", size: entries, commands, packets, inputs: 1 }
}

/// A rule of one of four shapes; what it denies does not come. Of two that match the one with the
/// lower number wins.
fn rule(n: usize) -> String {
    let mut random = Random(90_123 + n as u64);
    let mut net = |first: u64| format!("0x{:08x}", first << 24 | random.below(1 << 16) << 8);
    let any = "0&&&0";
    let [source, destination, protocol, port, action] = match n % 4 {
        0 => [net(10) + "&&&0xffffff00", any.to_owned(), any.to_owned(), "53&&&0xffff".to_owned(), "permit".to_owned()],
        1 => [net(11) + "&&&0xffffff00", any.to_owned(), "17&&&0xff".to_owned(), any.to_owned(), "drop".to_owned()],
        2 => [any.to_owned(), net(12) + "&&&0xffff0000", "6&&&0xff".to_owned(), any.to_owned(), "drop".to_owned()],
        _ => {
            [any.to_owned(), any.to_owned(), "17&&&0xff".to_owned(), format!("{}&&&0xffff", 1000 + random.below(60_000)), "drop".to_owned()]
        }
    };
    format!("table_add rules {action} {source} {destination} {protocol} {any} {port} => {}\n", RULES - n)
}

/// Rates that no packet exceeds.
pub fn meters(entries: usize) -> Case {
    whole_meters(entries).element(&[])
}

/// State by itself.
pub fn whole_meters(entries: usize) -> Whole {
    let commands = "meter_array_set_rates limits 1000000:1000000 1000000:1000000\n".to_owned();
    let packets = traffic::translated(entries).into_iter().map(|packet| Packet { port: 0, ..packet }).collect();
    Whole { application: "P4 state", name: "meters", size: entries, commands, packets, inputs: 1 }
}
