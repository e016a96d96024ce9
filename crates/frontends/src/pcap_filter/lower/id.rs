//! Identifiers: what an address, a number or a name means under its qualifiers.

use std::net::IpAddr;

use super::super::ast::{Dir, Id, Kind, Proto, Quals};
use super::super::error::{Error, ErrorKind, Span};
use super::super::ir::IrId;
use super::super::link::Link;
use super::super::names::{self, SCTP, Service, TCP, UDP};
use super::super::parser::Res;
use super::super::suggest;
use super::Lower;
use super::addr::Masked;
use super::port::Ports;
use super::proto;

impl Lower<'_> {
    pub(super) fn id(&mut self, quals: Quals, id: Id, at: Span) -> Res<IrId> {
        self.at = at;
        if quals.kind == Kind::Gateway {
            return Err(self
                .error("`gateway` needs a host's name and both its addresses, and names are not looked up")
                .help("write `ether host MAC and not host ADDRESS`"));
        }
        match id {
            Id::Name => self.name(quals),
            Id::Number(value) => self.number(quals, value),
            Id::Dotted => self.dotted(quals),
            Id::DottedPrefix(addr, length) => self.prefix(quals, addr, length),
            Id::DottedMask(addr, mask) => self.mask(quals, addr, mask),
            Id::Ipv6(addr) => self.ipv6(quals, addr, 128),
            Id::Ipv6Prefix(addr, length) => self.ipv6(quals, addr, length),
            Id::Mac(mac) if quals.proto == Some(Proto::Link) && matches!(quals.kind, Kind::Default | Kind::Host) => {
                self.ether_host(mac, quals.dir)
            }
            Id::Mac(_) => Err(self.error("a MAC address needs `ether`").help(format!("write `ether host {}`", self.text()))),
            Id::Arcnet(address) => self.arcnet(quals, address),
        }
    }

    fn arcnet(&mut self, quals: Quals, address: u8) -> Res<IrId> {
        if self.layout.link != Link::Arcnet {
            let name = self.layout.link.name();
            return Err(self.error(format!("`$` begins an ARCnet address, and {name} has none")));
        }
        if quals.proto != Some(Proto::Link) || !matches!(quals.kind, Kind::Default | Kind::Host) {
            return Err(self.error("an ARCnet address needs `link`").help(format!("write `link host {}`", self.text())));
        }
        self.arcnet_host(address, quals.dir)
    }

    fn text(&self) -> &str {
        self.ast.text(self.at)
    }

    fn number(&mut self, quals: Quals, value: u32) -> Res<IrId> {
        let Quals { proto, dir, kind } = quals;
        match kind {
            Kind::Default | Kind::Host | Kind::Net if proto == Some(Proto::Link) => Err(self.not_a_mac()),
            Kind::Default | Kind::Host => self.host(Masked { addr: value, mask: u32::MAX }, proto, dir, kind),
            Kind::Net if proto == Some(Proto::Decnet) => self.host(Masked { addr: value, mask: 0 }, proto, dir, kind),
            Kind::Net => self.host(left_justified(value), proto, dir, kind),
            Kind::Port | Kind::Portrange => {
                let transport = self.transport(proto, kind)?;
                let port = self.port_number(value)?;
                self.ports(Ports { low: port, high: port, range: kind == Kind::Portrange, transport }, dir)
            }
            Kind::Proto => self.proto_number(value, proto),
            Kind::Protochain => self.protochain(value, proto),
            Kind::Gateway => Err(self.error("`gateway` needs a name")),
        }
    }

    fn not_a_mac(&self) -> Error {
        self.error("not a MAC address").help("write six bytes, as in `ether host 00:11:22:33:44:55`")
    }

    /// The transport that `tcp`, `udp` or `sctp` before a port names.
    fn transport(&self, proto: Option<Proto>, kind: Kind) -> Res<Option<u8>> {
        match proto {
            None => Ok(None),
            Some(Proto::Tcp) => Ok(Some(TCP)),
            Some(Proto::Udp) => Ok(Some(UDP)),
            Some(Proto::Sctp) => Ok(Some(SCTP)),
            Some(other) => {
                let kind = if kind == Kind::Port { "port" } else { "portrange" };
                let word = other.word();
                Err(self
                    .error(format!("`{word}` has no ports"))
                    .help(format!("`{kind}` takes `tcp`, `udp`, `sctp` or nothing; for both write `{word} and {kind} …`")))
            }
        }
    }

    fn port_number(&self, value: u32) -> Res<u32> {
        if value > 65535 { Err(self.error(format!("port {value} is greater than 65535"))) } else { Ok(value) }
    }

    fn dotted(&mut self, quals: Quals) -> Res<IrId> {
        let Quals { proto, dir, kind } = quals;
        let text = self.text().to_owned();
        let wanted = match kind {
            Kind::Port => Some("a port number"),
            Kind::Portrange => Some("a range such as 80-90"),
            Kind::Proto | Kind::Protochain => Some("a protocol number or name"),
            _ => None,
        };
        if let Some(wanted) = wanted {
            return Err(self.error(format!("`{text}` is an address, not {wanted}")).help(format!("an address is written `host {text}`")));
        }
        if proto == Some(Proto::Decnet) {
            let addr = self.decnet_address(&text)?;
            return self.host(Masked { addr, mask: 0 }, proto, dir, kind);
        }
        let host = self.short_address(&text)?;
        if proto == Some(Proto::Link) {
            return Err(self.not_a_mac());
        }
        self.host(host, proto, dir, kind)
    }

    /// `area.node`, as 6 and 10 bits; more digits than that are cut off.
    fn decnet_address(&self, text: &str) -> Res<u32> {
        let mut parts = text.split('.').map(str::parse::<u32>);
        match (parts.next(), parts.next()) {
            (Some(Ok(area)), Some(Ok(node))) => Ok(area << 10 & 0xfc00 | node & 0x3ff),
            _ => Err(self.error("not a DECnet address").help("write area and node, as in 10.123")),
        }
    }

    /// Two to four bytes, justified to the left, with the mask that they cover.
    fn short_address(&self, text: &str) -> Res<Masked<u32>> {
        let invalid = || self.error(format!("`{text}` is not an IPv4 address")).help("each part is a decimal number up to 255");
        let mut host = Masked { addr: 0, mask: 0 };
        for (i, part) in text.split('.').enumerate() {
            let byte = part.trim_start_matches('0');
            let byte: u8 = if byte.is_empty() { 0 } else { byte.parse().map_err(|_| invalid())? };
            let shift = 24 - 8 * u32::try_from(i).unwrap_or(3).min(3);
            host.addr |= u32::from(byte) << shift;
            host.mask |= 0xff << shift;
        }
        Ok(host)
    }

    fn prefix(&mut self, quals: Quals, addr: Span, length: u32) -> Res<IrId> {
        let host = self.short_address(self.ast.text(addr))?;
        if length > 32 {
            return Err(self.error("an IPv4 prefix has at most 32 bits"));
        }
        let mask = u32::MAX.checked_shl(32 - length).unwrap_or(0);
        self.network(quals, Masked { addr: host.addr, mask })
    }

    fn mask(&mut self, quals: Quals, addr: Span, mask: Span) -> Res<IrId> {
        let host = self.short_address(self.ast.text(addr))?;
        let mask = self.short_address(self.ast.text(mask))?;
        self.network(quals, Masked { addr: host.addr, mask: mask.addr })
    }

    fn network(&mut self, quals: Quals, net: Masked<u32>) -> Res<IrId> {
        if net.addr & !net.mask != 0 {
            let network = std::net::Ipv4Addr::from(net.addr & net.mask);
            return Err(self.error("bits are set outside the mask").help(format!("the network's address is {network}")));
        }
        if quals.kind != Kind::Net {
            return Err(self.only_networks());
        }
        if quals.proto == Some(Proto::Link) {
            return Err(self.not_a_mac());
        }
        self.host(net, quals.proto, quals.dir, quals.kind)
    }

    fn only_networks(&self) -> Error {
        self.error("only a network has a mask").help(format!("write `net {}`", self.text()))
    }

    fn ipv6(&mut self, quals: Quals, addr: u128, length: u32) -> Res<IrId> {
        if length > 128 {
            return Err(self.error("an IPv6 prefix has at most 128 bits"));
        }
        let mask = u128::MAX.checked_shl(128 - length).unwrap_or(0);
        if addr & !mask != 0 {
            let network = std::net::Ipv6Addr::from(addr & mask);
            return Err(self.error("bits are set outside the mask").help(format!("the network's address is {network}")));
        }
        match quals.kind {
            Kind::Default | Kind::Host if length != 128 => Err(self.only_networks()),
            Kind::Default | Kind::Host | Kind::Net => self.host6(Masked { addr, mask }, quals.proto, quals.dir, quals.kind),
            _ => {
                let text = self.text();
                Err(self.error(format!("`{text}` is an address")).help(format!("an address is written `host {text}`")))
            }
        }
    }
}

/// Says that a host is in none of the files that are read.
pub(in crate::pcap_filter) fn unknown_host(name: &str, at: Span, files: &str) -> Error {
    let error = Error::new(at, format!("no host `{name}` in {files}, and nothing else is looked up"));
    match suggest::word(name) {
        Some(word) => error.help(format!("did you mean the keyword `{word}`? a host is written as its address or by such a name")),
        None => error.help("write its address, so that the filter means the same tomorrow and elsewhere"),
    }
}

/// Names.
impl Lower<'_> {
    fn name(&mut self, quals: Quals) -> Res<IrId> {
        let Quals { proto, dir, kind } = quals;
        let name = self.text().to_owned();
        match kind {
            Kind::Default | Kind::Host if proto == Some(Proto::Link) => self.ether_name(&name, dir),
            Kind::Default | Kind::Host => self.host_name(&name, quals),
            Kind::Net => {
                let Some(network) = names::network(&name) else { return Err(self.unknown_network(&name)) };
                self.host(left_justified(network), proto, dir, kind)
            }
            Kind::Port => self.port_name(&name, proto, dir),
            Kind::Portrange => self.range_name(&name, proto, dir),
            Kind::Proto => {
                let number = self.protocol_name(&name, proto)?;
                self.proto_number(number, proto)
            }
            Kind::Protochain => {
                let number = self.protocol_name(&name, proto)?;
                self.protochain(number, proto)
            }
            Kind::Gateway => Err(unknown_host(&name, self.at, "/etc/hosts")),
        }
    }

    fn ether_name(&mut self, name: &str, dir: Dir) -> Res<IrId> {
        if !self.layout.link.has_macs() {
            return self.ether_host([0; 6], dir);
        }
        match names::ether_host(name) {
            Some(mac) => self.ether_host(mac, dir),
            None => Err(self.error(format!("no Ethernet host `{name}` in /etc/ethers")).help("write its MAC address")),
        }
    }

    /// Any of a host's addresses, of the version that is asked for.
    fn host_name(&mut self, name: &str, quals: Quals) -> Res<IrId> {
        let Quals { proto, dir, kind } = quals;
        if proto == Some(Proto::Decnet) {
            return Err(self.error(format!("DECnet hosts have no names: `{name}`")).help("write area and node, as in 10.123"));
        }
        let mut tests = Vec::new();
        for address in names::host(name) {
            match address {
                IpAddr::V4(addr) if proto != Some(Proto::Ip6) => {
                    tests.push(self.host(Masked { addr: addr.into(), mask: u32::MAX }, proto, dir, kind)?);
                }
                IpAddr::V6(addr) if proto != Some(Proto::Ip) => {
                    tests.push(self.host6(Masked { addr: addr.into(), mask: u128::MAX }, proto, dir, kind)?);
                }
                _ => {}
            }
        }
        if tests.is_empty() { Err(unknown_host(name, self.at, "/etc/hosts")) } else { Ok(self.or(&tests)) }
    }

    fn unknown_network(&self, name: &str) -> Error {
        self.error(format!("no network `{name}` in /etc/networks")).help("write its address, as in `net 192.0.2.0/24`")
    }

    fn port_name(&mut self, name: &str, proto: Option<Proto>, dir: Dir) -> Res<IrId> {
        let transport = self.transport(proto, Kind::Port)?;
        let service = self.service(name)?;
        let transport = self.agree(transport, service.only, name)?;
        self.ports(Ports { low: service.port, high: service.port, range: false, transport }, dir)
    }

    fn service(&self, name: &str) -> Res<Service> {
        names::service(name).ok_or_else(|| {
            let error = self.error(format!("unknown service `{name}`"));
            match (name.contains('-'), names::near_service(name)) {
                (_, Some(near)) => error.help(format!("did you mean `{near}`? a number works too")),
                (true, None) => error.help(format!("a range of ports is written `portrange {name}`")),
                (false, None) => error.help("write the port's number"),
            }
        })
    }

    /// The transport asked for, unless the service is registered for another one only.
    fn agree(&self, asked: Option<u8>, only: Option<u8>, name: &str) -> Res<Option<u8>> {
        match (asked, only) {
            (Some(asked), Some(only)) if asked != only => {
                let only = if only == TCP { "TCP" } else { "UDP" };
                Err(self.error(format!("service `{name}` is registered for {only} only")).help("write the port's number"))
            }
            (Some(asked), _) => Ok(Some(asked)),
            (None, only) => Ok(only),
        }
    }

    fn range_name(&mut self, name: &str, proto: Option<Proto>, dir: Dir) -> Res<IrId> {
        let asked = self.transport(proto, Kind::Portrange)?;
        let (first, last) = self.range(name)?;
        let only = if first.only == last.only { first.only } else { None };
        let transport = self.agree(asked, only, name)?;
        let (low, high) = (first.port.min(last.port), first.port.max(last.port));
        self.ports(Ports { low, high, range: true, transport }, dir)
    }

    /// `80-90` or `ftp-data`-like names split at their first dash.
    fn range(&self, name: &str) -> Res<(Service, Service)> {
        if let Some((first, last)) = numeric_range(name) {
            let port = |value| Ok(Service { port: self.port_number(value)?, only: None });
            return Ok((port(first)?, port(last)?));
        }
        match name.split_once('-') {
            Some((first, last)) => Ok((self.service(first)?, self.service(last)?)),
            None => Err(self.error(format!("`{name}` is not a range")).help("write first and last port, as in 80-90")),
        }
    }

    fn protocol_name(&self, name: &str, over: Option<Proto>) -> Res<u32> {
        match over {
            None | Some(Proto::Ip | Proto::Ip6) => names::protocol(name).ok_or_else(|| {
                let error = self.error(format!("unknown IP protocol `{name}`")).kind(ErrorKind::UnknownWord);
                let near = names::near_protocol(name);
                error.help(near.map_or("write its number".to_owned(), |near| format!("did you mean `{near}`? a number works too")))
            }),
            Some(Proto::Link) => proto::ether_number(name).ok_or_else(|| {
                self.error(format!("unknown Ethernet protocol `{name}`")).help("write its number, as in `ether proto 0x88cc`")
            }),
            Some(Proto::Iso) => proto::iso_number(name)
                .ok_or_else(|| self.error(format!("unknown OSI protocol `{name}`")).help("known: `\\clnp`, `\\esis`, `\\isis`")),
            Some(other) => Err(self
                .error(format!("`{}` does not carry protocols by name", other.word()))
                .help("`proto` takes `ip`, `ip6`, `ether`, `iso` or nothing before it")),
        }
    }
}

/// A short network number moved up to the first byte, with the mask of the bytes it has.
fn left_justified(value: u32) -> Masked<u32> {
    let empty = if value == 0 { 0 } else { value.leading_zeros() / 8 * 8 };
    Masked { addr: value << empty, mask: u32::MAX << empty }
}

/// Two numbers with a dash between; whatever follows them is ignored, as libpcap does.
fn numeric_range(name: &str) -> Option<(u32, u32)> {
    let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let first = &name[..digits(name)];
    let rest = name[first.len()..].strip_prefix('-')?;
    let last = &rest[..digits(rest)];
    let number = |text: &str| (!text.is_empty()).then(|| text.parse().unwrap_or(u32::MAX));
    Some((number(first)?, number(last)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_libpcap_reads_them() {
        assert_eq!(numeric_range("80-90"), Some((80, 90)));
        assert_eq!(numeric_range("80-90-100"), Some((80, 90)));
        assert_eq!(numeric_range("80-http"), None);
        assert_eq!(numeric_range("ftp-80"), None);
    }

    #[test]
    fn short_networks_move_up() {
        let net = left_justified(10);
        assert_eq!((net.addr, net.mask), (0x0a00_0000, 0xff00_0000));
        let net = left_justified(0);
        assert_eq!((net.addr, net.mask), (0, u32::MAX));
    }
}
