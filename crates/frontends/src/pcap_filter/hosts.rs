//! Hosts by names of a file of the user's: their addresses are put into the text of a filter, which then means the same everywhere.

use std::net::IpAddr;

use super::ast::{Id, Kind, Node, Proto, Quals};
use super::error::{Errors, Span};
use super::{names, parser};

/// The filter with addresses in the place of names that a text in the form of /etc/hosts has; other names stay.
///
/// ```
/// use netvm_frontends::pcap_filter::with_hosts;
/// let hosts = "10.0.0.1 gate\n2001:db8::1 gate www\n";
/// assert_eq!(with_hosts("src host gate or www and tcp", hosts).unwrap(), "src host (10.0.0.1 or 2001:db8::1) or 2001:db8::1 and tcp");
/// assert_eq!(with_hosts("ip host gate", hosts).unwrap(), "ip host 10.0.0.1");
/// ```
///
/// # Errors
/// Where the source leaves the grammar.
pub fn with_hosts(source: &str, hosts: &str) -> Result<String, Errors> {
    let ast = parser::parse(source)?;
    let mut places: Vec<(Span, String)> = ast.nodes.iter().filter_map(|(node, _)| named(node, &ast.source, hosts)).collect();
    places.sort_by_key(|(at, _)| std::cmp::Reverse(at.start));
    let mut text = ast.source;
    for (at, addresses) in places {
        text.replace_range(at.start as usize..at.end as usize, &addresses);
    }
    Ok(text)
}

/// The place of a host's name, and its addresses.
fn named(node: &Node, source: &str, hosts: &str) -> Option<(Span, String)> {
    let Node::Id { quals: Quals { proto, kind: Kind::Default | Kind::Host, .. }, id: Id::Name, at } = *node else { return None };
    if matches!(proto, Some(Proto::Link | Proto::Decnet)) {
        return None;
    }
    let wanted = |address: &IpAddr| match proto {
        Some(Proto::Ip6) => address.is_ipv6(),
        Some(_) => address.is_ipv4(),
        None => true,
    };
    let addresses: Vec<String> = names::host_in_file(hosts, at.text(source)).iter().filter(|a| wanted(a)).map(IpAddr::to_string).collect();
    match &addresses[..] {
        [] => None,
        [one] => Some((at, one.clone())),
        _ => Some((at, format!("({})", addresses.join(" or ")))),
    }
}
