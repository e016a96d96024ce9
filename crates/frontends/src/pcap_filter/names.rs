//! Names of services, protocols, networks and Ethernet hosts → numbers.
//!
//! As in libpcap, the machine's own files come first (`/etc/services`, `/etc/protocols`,
//! `/etc/networks`, `/etc/ethers`, `/etc/hosts`); behind the first two stands a table of well-known
//! names, so a filter means the same where these files are missing. Hosts are looked up in files
//! only, never by DNS: what a filter means would change from day to day.

use std::net::IpAddr;
use std::sync::OnceLock;

use super::names_table::{PROTOCOLS, SERVICES};

/// IP protocol numbers of the transports that have ports.
pub(crate) use netil::fields::ip_protocol::{SCTP, TCP, UDP};

/// A service: its port, and the one transport it is registered for unless it is several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Service {
    pub port: u32,
    /// `None` if TCP and UDP use the same port.
    pub only: Option<u8>,
}

/// A service by name or alias, or by a number written as a name.
pub(crate) fn service(name: &str) -> Option<Service> {
    if let Ok(port) = name.parse::<u16>() {
        return Some(Service { port: port.into(), only: None });
    }
    let file = file(&SERVICES_FILE, "/etc/services");
    let in_file = |transport| service_in_file(file, name, transport);
    let in_table = |transport| service_in_table(name, transport);
    match (in_file("tcp"), in_file("udp")) {
        (None, None) => combine(in_table(TCP), in_table(UDP)),
        (tcp, udp) => combine(tcp, udp),
    }
}

/// Where the two transports use different ports, TCP's counts.
fn combine(tcp: Option<u32>, udp: Option<u32>) -> Option<Service> {
    match (tcp, udp) {
        (Some(port), other) => Some(Service { port, only: (other != Some(port)).then_some(TCP) }),
        (None, Some(port)) => Some(Service { port, only: Some(UDP) }),
        (None, None) => None,
    }
}

fn service_in_file(file: &str, name: &str, transport: &str) -> Option<u32> {
    entries(file).find_map(|fields| {
        let (port, proto) = fields.get(1)?.split_once('/')?;
        let named = proto == transport && names_of(&fields).any(|n| n == name);
        if named { port.parse::<u16>().ok().map(u32::from) } else { None }
    })
}

fn service_in_table(name: &str, transport: u8) -> Option<u32> {
    SERVICES.iter().find(|s| s.0 == name && (s.2 == 0 || s.2 == transport)).map(|s| u32::from(s.1))
}

/// An IP protocol number by name or alias.
pub(crate) fn protocol(name: &str) -> Option<u32> {
    let file = file(&PROTOCOLS_FILE, "/etc/protocols");
    let found = entries(file).find(|fields| names_of(fields).any(|n| n == name));
    found.and_then(|fields| fields.get(1)?.parse().ok()).or_else(|| protocol_in_table(name))
}

fn protocol_in_table(name: &str) -> Option<u32> {
    PROTOCOLS.iter().find(|p| p.0 == name).map(|p| u32::from(p.1))
}

/// A network number by name, as `/etc/networks` gives it (not shifted), unless it is 0.
pub(crate) fn network(name: &str) -> Option<u32> {
    let file = file(&NETWORKS_FILE, "/etc/networks");
    let found = entries(file).find(|fields| names_of(fields).any(|n| n == name))?;
    let address: std::net::Ipv4Addr = found.get(1)?.parse().ok()?;
    Some(u32::from(address)).filter(|&n| n != 0)
}

/// A MAC address by name, as `/etc/ethers` gives it.
pub(crate) fn ether_host(name: &str) -> Option<[u8; 6]> {
    let file = file(&ETHERS_FILE, "/etc/ethers");
    let found = entries(file).find(|fields| fields.get(1).is_some_and(|n| n.eq_ignore_ascii_case(name)))?;
    let address = found.first()?;
    let valid = super::shape::mac(address.as_bytes()) == address.len();
    valid.then(|| super::token::mac_bytes(address))
}

/// The addresses of a host, as `/etc/hosts` gives them.
pub(crate) fn host(name: &str) -> Vec<IpAddr> {
    host_in_file(file(&HOSTS_FILE, "/etc/hosts"), name)
}

/// The addresses of a host in a text in the form of `/etc/hosts`, in its order; upper and lower
/// case are one.
pub(crate) fn host_in_file(text: &str, name: &str) -> Vec<IpAddr> {
    let mut found: Vec<IpAddr> = Vec::new();
    for fields in entries(text).filter(|fields| fields.iter().skip(1).any(|known| known.eq_ignore_ascii_case(name))) {
        // The zone of a link-local address says nothing of a packet.
        let bare = fields[0].split('%').next().unwrap_or(fields[0]);
        if let Ok(address) = bare.parse()
            && !found.contains(&address)
        {
            found.push(address);
        }
    }
    found
}

static HOSTS_FILE: OnceLock<String> = OnceLock::new();
static SERVICES_FILE: OnceLock<String> = OnceLock::new();
static PROTOCOLS_FILE: OnceLock<String> = OnceLock::new();
static NETWORKS_FILE: OnceLock<String> = OnceLock::new();
static ETHERS_FILE: OnceLock<String> = OnceLock::new();

/// The file's text, read once; empty if it cannot be read.
fn file(cell: &'static OnceLock<String>, path: &str) -> &'static str {
    cell.get_or_init(|| std::fs::read(path).map(|b| String::from_utf8_lossy(&b).into_owned()).unwrap_or_default())
}

/// Lines as lists of fields, without comments and empty lines.
fn entries(file: &str) -> impl Iterator<Item = Vec<&str>> {
    let line = |line| str::split(line, '#').next().unwrap_or("").split_ascii_whitespace().collect::<Vec<_>>();
    file.lines().map(line).filter(|fields| fields.len() >= 2)
}

/// The name (first field) and its aliases (third and on).
fn names_of<'f>(fields: &'f [&'f str]) -> impl Iterator<Item = &'f str> {
    fields.first().into_iter().chain(fields.iter().skip(2)).copied()
}

/// Names that are near to `name`, for a suggestion.
pub(crate) fn near_service(name: &str) -> Option<&'static str> {
    super::suggest::nearest(name, SERVICES.iter().map(|s| s.0))
}

/// As [`near_service`], for IP protocols.
pub(crate) fn near_protocol(name: &str) -> Option<&'static str> {
    super::suggest::nearest(name, PROTOCOLS.iter().map(|p| p.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_by_name_and_alias() {
        let file = "# head\nhttp 80/tcp www # web\ndomain 53/tcp\ndomain\t53/udp\n\nbad\n";
        assert_eq!(service_in_file(file, "www", "tcp"), Some(80));
        assert_eq!(service_in_file(file, "www", "udp"), None);
        assert_eq!(service_in_file(file, "domain", "udp"), Some(53));
    }

    #[test]
    fn hosts_are_found_by_every_name_of_every_line() {
        let text = "127.0.0.1 localhost # x\n::1 localhost ip6-localhost\n10.0.0.1 Gate gw\nfe80::1%eth0 gate\nbad gate\n10.0.0.1 gate\n";
        assert_eq!(host_in_file(text, "localhost"), ["127.0.0.1".parse::<IpAddr>().unwrap(), "::1".parse().unwrap()]);
        assert_eq!(host_in_file(text, "gate"), ["10.0.0.1".parse::<IpAddr>().unwrap(), "fe80::1".parse().unwrap()]);
        assert_eq!(host_in_file(text, "gw").len(), 1);
        assert_eq!(host_in_file(text, "10.0.0.1"), [] as [IpAddr; 0]);
    }

    #[test]
    fn the_table_stands_in() {
        assert_eq!(combine(service_in_table("domain", TCP), service_in_table("domain", UDP)), Some(Service { port: 53, only: None }));
        assert_eq!(combine(service_in_table("http", TCP), service_in_table("http", UDP)), Some(Service { port: 80, only: Some(TCP) }));
        assert_eq!(protocol_in_table("ospf"), Some(89));
        assert_eq!(service("8080"), Some(Service { port: 8080, only: None }));
    }
}
