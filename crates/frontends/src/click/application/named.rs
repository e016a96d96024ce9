//! Arguments of elements that netvm knows itself, with names of AddressInfo put in where they take
//! an address.

use crate::click::graph::Element;
use crate::click::syntax::names::Scope;
use std::net::Ipv4Addr;

/// What an argument is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Is {
    Ip,
    Ethernet,
}

/// An argument that is an address: its place, and its keyword.
type AddressArg = (usize, &'static str, Is);

/// Classes, and which of their arguments are addresses.
const ADDRESSES: &[(&str, &[AddressArg])] =
    &[("ICMPPingSource", &[(0, "SRC", Is::Ip), (1, "DST", Is::Ip)]), ("FastUDPSource", FAST_UDP), ("FastUDPFlows", FAST_UDP)];
const FAST_UDP: &[AddressArg] = &[(3, "SRCETH", Is::Ethernet), (4, "SRCIP", Is::Ip), (6, "DSTETH", Is::Ethernet), (7, "DSTIP", Is::Ip)];

/// The arguments of an element, and the names that it knows.
pub(super) fn arguments(element: &Element, names: &Scope<'_>) -> Vec<String> {
    let mut arguments = element.arguments.clone();
    let Some((_, places)) = ADDRESSES.iter().find(|(class, _)| *class == element.class) else { return arguments };
    for (at, argument) in arguments.iter_mut().enumerate() {
        let text = argument.trim().to_owned();
        let keyword =
            places.iter().find_map(|(_, keyword, is)| Some((*keyword, text.strip_prefix(keyword)?.strip_prefix(' ')?.trim(), *is)));
        let place = || places.iter().find(|(place, ..)| *place == at).map(|(.., is)| ("", text.as_str(), *is));
        if let Some((keyword, name, is)) = keyword.or_else(place)
            && let Some(address) = shown(name, is, names)
        {
            *argument = format!("{keyword} {address}").trim_start().to_owned();
        }
    }
    arguments
}

/// The address of that name, if it is one.
fn shown(name: &str, is: Is, names: &Scope<'_>) -> Option<String> {
    match is {
        Is::Ip => names.ip(name).map(|address| Ipv4Addr::from(address).to_string()),
        Is::Ethernet => names.ethernet(name).map(|bytes| bytes.map(|byte| format!("{byte:02x}")).join(":")),
    }
}
