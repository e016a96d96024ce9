//! Addresses of this machine's interfaces under their names, for a configuration that uses such a
//! name and does not say what it stands for: as Click's AddressInfo has them.
//!
//! They are those of the moment when the configuration is read. What it declares itself counts
//! first. Where a device of the configuration is another interface, its name stands for that one's
//! addresses.

use super::standins;
use frontends::click::Graph;
use frontends::click::graph::Element;
use runtime::graph::builtin;
use runtime::io::live::{self, Address};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// The element that gives the addresses: a name that no other one without a name has, for they
/// count from 1.
const NAME: &str = "AddressInfo@0";

/// Adds the addresses of the interfaces that arguments name; `others` are those that have another
/// name there.
pub(super) fn add(flat: &mut Graph, others: &BTreeMap<String, String>) {
    if let Ok(addresses) = live::addresses() {
        add_of(flat, &addresses, others);
    }
}

fn add_of(flat: &mut Graph, addresses: &[Address], mapped: &BTreeMap<String, String>) {
    let Some(span) = flat.elements.first().map(|element| element.span) else { return };
    let declared: BTreeSet<String> = standins::declared(flat).into_iter().collect();
    // What reads and writes a device names it for another reason.
    let others =
        flat.elements.iter().filter(|element| !builtin::READERS.contains(&&*element.class) && !builtin::WRITERS.contains(&&*element.class));
    let used: BTreeSet<&str> = others.flat_map(|element| &element.arguments).flat_map(|argument| words(argument)).collect();
    let own = addresses.iter().map(|address| address.interface.as_str());
    let names: BTreeSet<&str> = own.chain(mapped.keys().map(String::as_str)).collect();
    let wanted = names.into_iter().filter(|name| used.contains(name) && !declared.contains(*name));
    let of = |name| described(name, mapped.get(name).map_or(name, String::as_str), addresses);
    let arguments: Vec<String> = wanted.filter_map(of).collect();
    if !arguments.is_empty() {
        flat.elements.push(Element { name: NAME.to_owned(), class: "AddressInfo".to_owned(), arguments, span });
    }
}

/// The words of an argument, of `eth0:ip` what stands before the colon.
fn words(argument: &str) -> impl Iterator<Item = &str> {
    let part = |c: char| !c.is_ascii_alphanumeric() && !"._-@".contains(c);
    argument.split(part).filter(|word| !word.is_empty())
}

/// What AddressInfo is told of a name for an interface: its Ethernet address and its first of each
/// kind of IP address; nothing if it has none.
fn described(name: &str, interface: &str, addresses: &[Address]) -> Option<String> {
    let of: Vec<&Address> = addresses.iter().filter(|address| address.interface == interface).collect();
    let ethernet = of.iter().find_map(|address| address.ethernet);
    let ip = |v4: bool| of.iter().filter_map(|address| address.ip).find(|(ip, _)| ip.is_ipv4() == v4);
    let ip = [ip(true), ip(false)].into_iter().flatten().map(|(ip, length): (IpAddr, u8)| format!("{ip}/{length}"));
    let ethernet = ethernet.map(|bytes| bytes.map(|byte| format!("{byte:02x}")).join(":"));
    let all: Vec<String> = ip.chain(ethernet).collect();
    (!all.is_empty()).then(|| format!("{name} {}", all.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use frontends::click::flatten;
    use std::collections::BTreeMap;

    fn given(text: &str) -> Vec<String> {
        given_by(text, &[])
    }

    fn given_by(text: &str, mapped: &[(&str, &str)]) -> Vec<String> {
        let address = |interface: &str, ethernet, ip: Option<&str>| Address {
            interface: interface.to_owned(),
            ethernet,
            ip: ip.map(|ip| (ip.parse().unwrap(), 24)),
        };
        let addresses = [
            address("eth0", Some([2, 0, 0, 0, 0, 7]), None),
            address("eth0", None, Some("192.0.2.7")),
            address("eth0", None, Some("192.0.2.8")),
            address("eth0", None, Some("2001:db8::7")),
            address("br-lan.5", None, Some("192.0.2.9")),
            address("bare", None, None),
        ];
        let mut graph = flatten(text, &BTreeMap::new()).unwrap();
        let before = graph.elements.len();
        let mapped = mapped.iter().map(|(device, interface)| ((*device).to_owned(), (*interface).to_owned())).collect();
        add_of(&mut graph, &addresses, &mapped);
        graph.elements[before..].iter().flat_map(|element| element.arguments.clone()).collect()
    }

    #[test]
    fn names_that_are_used_have_addresses() {
        let eth0 = "eth0 192.0.2.7/24 2001:db8::7/24 02:00:00:00:00:07";
        assert_eq!(given("Idle -> ARPResponder(10.0.0.1 eth0) -> Discard"), [eth0]);
        assert_eq!(given("Idle -> IPFilter(allow dst host eth0:ip, deny all) -> Discard"), [eth0]);
        assert_eq!(given("Idle -> IPEncap(4, br-lan.5, 10.0.0.1) -> Discard"), ["br-lan.5 192.0.2.9/24"]);
        assert!(given("Idle -> ARPResponder(10.0.0.1 eth1) -> Discard; bare :: Null; Idle -> Print(bare) -> Discard").is_empty());
        assert!(given("FromDevice(eth0) -> Discard; Idle -> ToDevice(eth0)").is_empty(), "no address is meant");
        let uplink = "Idle -> ARPResponder(10.0.0.1 uplink, eth0) -> Discard";
        let both = [eth0.to_owned(), eth0.replace("eth0", "uplink")];
        assert_eq!((given(uplink), given_by(uplink, &[("uplink", "eth0")])), (vec![eth0.to_owned()], both.to_vec()));
        assert_eq!(given_by(uplink, &[("eth0", "br-lan.5"), ("uplink", "none")]), ["eth0 192.0.2.9/24"], "eth0 is another interface there");
        assert!(given("AddressInfo(eth0 10.0.0.1/8 1:2:3:4:5:6); Idle -> ARPResponder(10.0.0.1 eth0) -> Discard").is_empty());
    }
}
