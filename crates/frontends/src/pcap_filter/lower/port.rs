//! Ports and port ranges of TCP, UDP and SCTP over IPv4 and IPv6.

use super::super::ast::Dir;
use super::super::ir::{Cmp, IrId};
use super::super::names::{SCTP, TCP, UDP};
use super::super::parser::Res;
use super::Lower;
use super::layout::From;
use super::link;
use netil::fields::{fragment, ip, ip6, udp};

/// Ports from `low` to `high` of one transport, or of all three.
#[derive(Clone, Copy)]
pub(super) struct Ports {
    pub low: u32,
    pub high: u32,
    /// A range is tested at both ends even if they are equal.
    pub range: bool,
    pub transport: Option<u8>,
}

impl Lower<'_> {
    /// IPv6 first, as in libpcap.
    pub(super) fn ports(&mut self, ports: Ports, dir: Dir) -> Res<IrId> {
        let ipv6 = self.ports_of(ports, dir, true)?;
        let ipv4 = self.ports_of(ports, dir, false)?;
        Ok(self.or(&[ipv6, ipv4]))
    }

    pub(super) fn ports_of(&mut self, ports: Ports, dir: Dir, v6: bool) -> Res<IrId> {
        let kind = self.linktype(if v6 { link::IPV6 } else { link::IPV4 })?;
        let test = match ports.transport {
            Some(transport) => self.transport_ports(ports, transport, dir, v6)?,
            None => {
                let sctp = self.transport_ports(ports, SCTP, dir, v6)?;
                let tcp = self.transport_ports(ports, TCP, dir, v6)?;
                let udp = self.transport_ports(ports, UDP, dir, v6)?;
                self.or(&[sctp, tcp, udp])
            }
        };
        Ok(self.and(&[kind, test]))
    }

    fn transport_ports(&mut self, ports: Ports, transport: u8, dir: Dir, v6: bool) -> Res<IrId> {
        let proto = self.equal(From::Network, if v6 { ip6::NEXT_HEADER.offset } else { ip::PROTOCOL.offset }, 1, transport.into());
        let from = if v6 { From::Transport6 } else { From::Transport4 };
        let first = (!v6).then(|| self.first_fragment());
        let sides =
            self.directed(dir, |lower, src| Ok(lower.port_test(ports, from, if src { udp::SPORT.offset } else { udp::DPORT.offset })))?;
        Ok(match first {
            Some(first) => self.and(&[proto, first, sides]),
            None => self.and(&[proto, sides]),
        })
    }

    /// Not an IPv4 fragment other than the first.
    pub(super) fn first_fragment(&mut self) -> IrId {
        let later = self.compare_at(From::Network, ip::FRAGMENT.offset, 2, Cmp::Bits, fragment::OFFSET.into());
        self.not(later)
    }

    fn port_test(&mut self, ports: Ports, from: From, offset: u32) -> IrId {
        let field = self.field(from, offset, 2);
        let plain = if ports.range {
            let low = self.compare_at(from, offset, 2, Cmp::Ge, ports.low);
            let above = self.compare_at(from, offset, 2, Cmp::Gt, ports.high);
            let high = self.not(above);
            self.and(&[low, high])
        } else {
            self.equal(from, offset, 2, ports.low)
        };
        self.element(field, (ports.low.into(), ports.high.into()), plain, false)
    }
}
