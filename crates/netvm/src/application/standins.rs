//! Addresses for devices of a configuration that nobody has given any, so that it can be checked
//! where the devices are not there.
//!
//! They are from ranges for documentation: RFC 5737, RFC 3849, RFC 9542. Each device has its own,
//! and a network with another device: its gateway is `192.0.2.1`. Only checks stand in for devices:
//! what runs does what it is told, and has the addresses of interfaces that are there
//! (`interfaces`).

use frontends::click::Graph;
use frontends::click::graph::Element;
use runtime::graph::builtin;

/// The element that gives the addresses.
const NAME: &str = "devices that are not there";

/// Gives them to the devices that elements read and write.
pub(super) fn add(flat: &mut Graph) {
    let declared = declared(flat);
    let mut devices: Vec<String> = flat.elements.iter().filter_map(device).filter(|device| !declared.contains(device)).collect();
    devices.sort();
    devices.dedup();
    let Some(span) = flat.elements.first().map(|element| element.span) else { return };
    let arguments = devices.iter().enumerate().map(|(number, device)| addresses(device, number)).collect();
    if !devices.is_empty() {
        flat.elements.push(Element { name: NAME.to_owned(), class: "AddressInfo".to_owned(), arguments, span });
    }
}

/// The names that have addresses.
pub(super) fn declared(flat: &Graph) -> Vec<String> {
    flat.elements.iter().filter(|element| element.class == "AddressInfo").flat_map(|element| names(&element.arguments)).collect()
}

/// What an AddressInfo declares.
fn names(arguments: &[String]) -> Vec<String> {
    arguments.iter().filter_map(|argument| argument.split_whitespace().next().map(str::to_owned)).collect()
}

/// The device of an element that has one.
fn device(element: &Element) -> Option<String> {
    if !builtin::READERS.contains(&&*element.class) && !builtin::WRITERS.contains(&&*element.class) {
        return None;
    }
    let first = || {
        let argument = element.arguments.iter().find(|argument| !argument.trim().is_empty())?.trim();
        let name = argument.strip_prefix("DEVNAME").filter(|rest| rest.starts_with(char::is_whitespace)).unwrap_or(argument);
        Some(name.trim().trim_matches('"').to_owned())
    };
    let name = builtin::device_name(&element.name, &element.class, &element.arguments).or_else(first)?;
    name.chars().all(|c| c.is_ascii_alphanumeric() || "._-@:".contains(c)).then_some(name).filter(|name| !name.is_empty())
}

fn addresses(device: &str, number: usize) -> String {
    let low = number % 200 + 2;
    format!("{device} 192.0.2.{low}/24 00:00:5e:00:53:{low:02x} 2001:db8::{low:x}/64")
}

#[cfg(test)]
mod tests {
    use super::*;
    use frontends::click::flatten;
    use std::collections::BTreeMap;

    fn given(text: &str) -> Vec<String> {
        let mut graph = flatten(text, &BTreeMap::new()).unwrap();
        let before = graph.elements.len();
        add(&mut graph);
        graph.elements[before..].iter().flat_map(|element| element.arguments.clone()).collect()
    }

    #[test]
    fn devices_without_addresses_get_some() {
        let wanted = ["eth0 192.0.2.2/24 00:00:5e:00:53:02 2001:db8::2/64", "lb-eth1 192.0.2.3/24 00:00:5e:00:53:03 2001:db8::3/64"];
        assert_eq!(given("FromDevice(lb-eth1, SNIFFER false) -> Queue -> ToDevice(DEVNAME eth0); FromDevice(eth0) -> Discard"), wanted);
    }

    #[test]
    fn addresses_that_are_said_stay() {
        assert!(given("AddressInfo(eth0 10.0.0.1/8 1:2:3:4:5:6); FromDevice(eth0) -> Discard").is_empty());
        assert!(given("FromDump(eth0) -> Discard").is_empty());
        assert!(given("FromDevice($DEV) -> Discard").is_empty());
    }
}
