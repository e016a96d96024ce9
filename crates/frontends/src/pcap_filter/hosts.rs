//! Hosts by names of a file of the user's: their addresses are put into the text of a filter, which
//! then means the same everywhere.

use std::net::IpAddr;

use super::ast::{Id, Kind, Node, Proto, Quals};
use super::error::{Error, Errors, Span};
use super::lower::unknown_host;
use super::{names, parser};

/// The filter with addresses in the place of names that a text in the form of /etc/hosts has; those
/// of /etc/hosts itself stay.
///
/// ```
/// use netvm_frontends::pcap_filter::with_hosts;
/// let hosts = "10.0.0.1 gate\n2001:db8::1 gate www\n";
/// assert_eq!(with_hosts("src host gate or www and tcp", hosts).unwrap(), "src host (10.0.0.1 or 2001:db8::1) or 2001:db8::1 and tcp");
/// assert_eq!(with_hosts("ip host gate", hosts).unwrap(), "ip host 10.0.0.1");
/// ```
///
/// # Errors
/// Where the source leaves the grammar, or has a host that is in neither.
pub fn with_hosts(source: &str, hosts: &str) -> Result<String, Errors> {
    let ast = parser::parse(source)?;
    let (mut places, mut unknown) = (Vec::new(), Vec::new());
    for (node, _) in &ast.nodes {
        match named(node, &ast.source, hosts) {
            Ok(place) => places.extend(place),
            Err(error) => unknown.push(error),
        }
    }
    if !unknown.is_empty() {
        unknown.sort_by_key(|error| error.span.start);
        return Err(Errors(unknown));
    }
    places.sort_by_key(|(at, _)| std::cmp::Reverse(at.start));
    let mut text = ast.source;
    for (at, addresses) in places {
        text.replace_range(at.start as usize..at.end as usize, &addresses);
    }
    Ok(text)
}

/// The place of a host's name, and its addresses; nothing of what is no such name, or is in
/// /etc/hosts only.
fn named(node: &Node, source: &str, hosts: &str) -> Result<Option<(Span, String)>, Error> {
    let Node::Id { quals: Quals { proto, kind: Kind::Default | Kind::Host, .. }, id: Id::Name, at } = *node else { return Ok(None) };
    if matches!(proto, Some(Proto::Link | Proto::Decnet)) {
        return Ok(None);
    }
    let wanted = |address: &IpAddr| match proto {
        Some(Proto::Ip6) => address.is_ipv6(),
        Some(_) => address.is_ipv4(),
        None => true,
    };
    let name = at.text(source);
    let addresses: Vec<String> = names::host_in_file(hosts, name).iter().filter(|a| wanted(a)).map(IpAddr::to_string).collect();
    match &addresses[..] {
        [] if names::host(name).iter().any(wanted) => Ok(None),
        [] => Err(unknown_host(name, at, "the given file of hosts or in /etc/hosts")),
        [one] => Ok(Some((at, one.clone()))),
        _ => Ok(Some((at, format!("({})", addresses.join(" or "))))),
    }
}
