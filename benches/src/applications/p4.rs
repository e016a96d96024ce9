//! P4 programs as elements: forwarding and a switch beside C by hand, the application of the PVPP paper, routes with an access list, state.

use super::sides::{self, Case};
use super::{devices, in_repository, of_file};
use crate::hand::Hand;
use crate::random::Random;
use crate::traffic::{self, HOPS, PORTS, Packet, Popularity, Route};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Rules of the access list.
const RULES: usize = 500;

/// A program between devices, its tables filled by these commands, with room for so many entries.
fn program(application: &'static str, name: &str, commands: &str, size: usize, inputs: u32, packets: Vec<Packet>) -> Case {
    program_without(application, (name, &[]), commands, size, inputs, packets)
}

/// The same without some optimisations of P4.
fn program_without(
    application: &'static str,
    (name, without): (&str, &[&str]),
    commands: &str,
    size: usize,
    inputs: u32,
    packets: Vec<Packet>,
) -> Case {
    let (entries, file) = (sides::scratch().join(format!("{name}.txt")), sides::scratch().join(format!("{name}.click")));
    let source = in_repository(&format!("benches/p4/{name}.p4"));
    let without: String = without.iter().map(|name| format!(", WITHOUT {name}")).collect();
    let mut text = format!("p4 :: P4(\"{}\", ENTRIES \"{}\", DEFINE SIZE={size}{without});\n", source.display(), entries.display());
    text.extend((0..inputs).map(|port| format!("FromDevice(eth{port}) -> [{port}] p4;\n")));
    text.extend((0..PORTS).map(|port| format!("p4 [{port}] -> ToDevice(eth{port});\n")));
    // Who reads them says what is wrong.
    let _ = std::fs::write(&entries, commands);
    let _ = std::fs::write(&file, text);
    Case {
        file,
        parameters: BTreeMap::new(),
        inputs: devices("eth", inputs),
        outputs: devices("eth", PORTS),
        ..of_file(application, "", "elements", packets)
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

/// The same with few destinations that have most packets.
pub fn forward_zipf(entries: usize) -> Case {
    forward_by("P4 forward, Zipf", entries, Popularity::Zipf)
}

fn forward_by(application: &'static str, entries: usize, popularity: Popularity) -> Case {
    let routes = traffic::routes(entries);
    let add = |text: String, Route { prefix, length, hop }: &Route| {
        let mac = hex(&traffic::neighbour(*hop, PORTS));
        text + &format!("add routes h.ip.dst:0x{prefix:08x}/{length} to(mac:{mac}, port:{})\n", hop % PORTS)
    };
    let commands = routes.iter().fold(String::new(), add);
    let mut case = program(application, "forward", &commands, entries, 1, traffic::routed_by(&routes, None, popularity));
    case.hand = Some(Hand::forwarder(&routes, &|hop| traffic::neighbour(hop, PORTS)));
    case
}

/// All stations are known from the start.
pub fn switch(entries: usize) -> Case {
    let add = |n: usize| format!("add stations h.eth.dst:{} to(port:{})\n", hex(&traffic::station(n)), n % PORTS as usize);
    let commands: String =
        (0..entries).map(add).chain(["mc_mgrp_create 1\nmc_node_create 0 0 1 2 3\nmc_node_associate 1 0\n".to_owned()]).collect();
    let mut case = program("P4 switch", "switch", &commands, entries, PORTS, traffic::switched(entries));
    let stations: Vec<_> = (0..entries).map(|n| (traffic::station(n), n as u32 % PORTS)).collect();
    case.hand = Some(Hand::stations(&stations));
    case
}

/// Three tables one behind the other, and one without keys.
pub fn paper(entries: usize) -> Case {
    paper_without(entries, &[])
}

/// The same without some optimisations of P4.
pub fn paper_without(entries: usize, without: &[&str]) -> Case {
    let routes = traffic::routes(entries);
    let mut commands = String::new();
    for Route { prefix, length, hop } in &routes {
        let _ = writeln!(commands, "add ipv4_match h.ip.dst:0x{prefix:08x}/{length} set_hop(hop:{hop}, port:{})", hop % PORTS);
    }
    for hop in 0..HOPS {
        let _ = writeln!(commands, "add dest_mac m.hop:{hop} set_dmac(dmac:{})", hex(&traffic::neighbour(hop, PORTS)));
    }
    for port in 0..PORTS {
        let _ = writeln!(commands, "add source_mac m.port:{port} set_smac(smac:0x02000008000{port})");
    }
    program_without("P4 paper", ("paper", without), &commands, entries, 1, traffic::routed(&routes, None))
}

/// Routes to next hops, and rules that let all packets pass.
pub fn acl(entries: usize) -> Case {
    let routes = traffic::routes(entries);
    let mut commands = "add own h.eth.dst:0x020000000001 permit()\n".to_owned();
    for Route { prefix, length, hop } in &routes {
        let _ = writeln!(commands, "add routes h.ip.dst:0x{prefix:08x}/{length} route(hop:{hop})");
    }
    for hop in 0..HOPS {
        let (mac, port) = (hex(&traffic::neighbour(hop, PORTS)), hop % PORTS);
        let _ = writeln!(commands, "add hops m.hop:{hop} frame(dst:{mac}, src:0x020000080000, port:{port})");
    }
    commands.extend((0..RULES).map(rule));
    program("P4 routes and rules", "acl", &commands, entries, 1, traffic::routed(&routes, None))
}

/// A rule of one of four shapes; what it denies does not come.
fn rule(n: usize) -> String {
    let mut random = Random(90_123 + n as u64);
    let priority = 1 + n;
    let net = |first: u64, random: &mut Random| format!("0x{:08x}", first << 24 | random.below(1 << 16) << 8);
    match n % 4 {
        0 => format!("add rules {priority} h.ip.src:{}/24 m.dport:53 permit()\n", net(10, &mut random)),
        1 => format!("add rules {priority} h.ip.src:{}/24 h.ip.protocol:17 drop()\n", net(11, &mut random)),
        2 => format!("add rules {priority} h.ip.dst:{}/16 h.ip.protocol:6 drop()\n", net(12, &mut random)),
        _ => format!("add rules {priority} m.dport:{} h.ip.protocol:17 drop()\n", 1000 + random.below(60_000)),
    }
}

/// Rates that no packet exceeds.
pub fn meters(entries: usize) -> Case {
    let commands = "meter_array_set_rates limits 1000000:1000000 1000000:1000000\n";
    program(
        "P4 state",
        "meters",
        commands,
        entries,
        1,
        traffic::translated(entries).into_iter().map(|packet| Packet { port: 0, ..packet }).collect(),
    )
}
