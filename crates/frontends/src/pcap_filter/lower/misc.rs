//! Broadcast and multicast, LLC frames, direction and interface.

use super::super::ast::{Dir, Llc, Proto};
use super::super::ir::{Cmp, IrId};
use super::super::link::Link;
use super::super::parser::Res;
use super::Lower;
use super::layout::From;
use super::link;
use netil::fields::{ip, ip6};

/// Packet type of a packet sent by the capturing machine (Linux cooked capture).
const OUTGOING: u32 = 4;

impl Lower<'_> {
    pub(super) fn broadcast(&mut self, proto: Option<Proto>) -> Res<IrId> {
        match proto {
            None | Some(Proto::Link) if self.layout.link == Link::Arcnet => self.arcnet_host(0, Dir::Dst),
            None | Some(Proto::Link) if self.layout.link.has_macs() => self.ether_host([0xff; 6], Dir::Dst),
            None | Some(Proto::Link) => {
                Err(self.error(format!("{} has no broadcasts", self.layout.link.name())).help("`ip broadcast` looks at IPv4"))
            }
            Some(Proto::Ip) => self.ipv4_broadcast(),
            Some(other) => {
                Err(self.error(format!("`{}` has no broadcasts", other.word())).help("write `ether broadcast` or `ip broadcast`"))
            }
        }
    }

    /// The host part of the destination is all zeros or all ones.
    fn ipv4_broadcast(&mut self) -> Res<IrId> {
        let Some(netmask) = self.options.netmask else {
            return Err(self
                .error("the network mask is not known, so broadcasts cannot be recognised")
                .help("write the address, as in `dst host 192.0.2.255`"));
        };
        let ipv4 = self.linktype(link::IPV4)?;
        let zeros = self.masked(From::Network, ip::DST.offset, 4, !netmask, 0);
        let ones = self.masked(From::Network, ip::DST.offset, 4, !netmask, !netmask);
        let either = self.or(&[zeros, ones]);
        Ok(self.and(&[ipv4, either]))
    }

    pub(super) fn multicast(&mut self, proto: Option<Proto>) -> Res<IrId> {
        let (kind, test) = match proto {
            None | Some(Proto::Link) if self.layout.link == Link::Ethernet => {
                let header = self.inner_header();
                let group = self.group_at(0);
                return Ok(self.all_of(header, group));
            }
            None | Some(Proto::Link) if self.layout.link == Link::Fddi => return Ok(self.group_at(1)),
            None | Some(Proto::Link) if self.layout.link == Link::TokenRing => return Ok(self.group_at(2)),
            None | Some(Proto::Link) if self.layout.link == Link::Arcnet => return self.arcnet_host(0, Dir::Dst),
            None | Some(Proto::Link) if matches!(self.layout.link, Link::Wlan(_)) => {
                return Ok(self.frame_destination(|lower, offset| lower.group_at(offset)));
            }
            None | Some(Proto::Link) => {
                return Err(self
                    .error(format!("{} has no multicasts", self.layout.link.name()))
                    .help("`ip multicast` and `ip6 multicast` look at addresses"));
            }
            Some(Proto::Ip) => (self.linktype(link::IPV4)?, self.compare_at(From::Network, ip::DST.offset, 1, Cmp::Ge, 224)),
            Some(Proto::Ip6) => (self.linktype(link::IPV6)?, self.equal(From::Network, ip6::DST.offset, 1, 255)),
            Some(other) => {
                return Err(self
                    .error(format!("`{}` has no multicasts", other.word()))
                    .help("write `ether multicast`, `ip multicast` or `ip6 multicast`"));
            }
        };
        Ok(self.and(&[kind, test]))
    }

    /// The address at an offset is one of a group.
    fn group_at(&mut self, offset: u32) -> IrId {
        self.compare_at(From::LinkHeader, offset, 1, Cmp::Bits, 1)
    }

    fn all_of(&mut self, first: Option<IrId>, second: IrId) -> IrId {
        match first {
            Some(first) => self.and(&[first, second]),
            None => second,
        }
    }

    /// 802.2 frames: on Ethernet the type field is a length and the payload is not bare IPX; on
    /// 802.11 data frames are.
    fn llc_frame(&mut self) -> Res<IrId> {
        match self.layout.link {
            Link::Ethernet => {
                let frame = self.is_length();
                let bare = self.equal(From::Payload, 0, 2, 0xffff);
                let not_bare = self.not(bare);
                Ok(self.and(&[frame, not_bare]))
            }
            Link::Fddi | Link::TokenRing => Ok(self.constant(true)),
            Link::Wlan(_) => Ok(self.is_data_frame()),
            other => Err(self.error(format!("`llc` is not recognised on {}", other.name()))),
        }
    }

    pub(super) fn llc(&mut self, kind: Option<Llc>) -> Res<IrId> {
        let frame = self.llc_frame()?;
        let control = match kind {
            None => return Ok(frame),
            Some(Llc::Information) => {
                let other = self.compare_at(From::Payload, 2, 1, Cmp::Bits, 0x01);
                self.not(other)
            }
            Some(Llc::Supervisory(None)) => self.masked(From::Payload, 2, 1, 0x03, 0x01),
            Some(Llc::Unnumbered(None)) => self.masked(From::Payload, 2, 1, 0x03, 0x03),
            Some(Llc::Supervisory(Some(kind))) => self.masked(From::Payload, 2, 1, 0x0f, kind.into()),
            Some(Llc::Unnumbered(Some(kind))) => self.masked(From::Payload, 2, 1, 0xef, kind.into()),
        };
        Ok(self.and(&[frame, control]))
    }

    /// Who sent the packet stands in the headers of few link types.
    pub(super) fn direction(&mut self, outbound: bool) -> Res<IrId> {
        let sent = match self.layout.link {
            Link::Sll => self.equal(From::LinkHeader, 0, 2, OUTGOING),
            Link::Sll2 => self.equal(From::LinkHeader, 10, 1, OUTGOING),
            Link::Pflog => return Ok(self.equal(From::LinkHeader, 60, 1, if outbound { 2 } else { 1 })),
            Link::Slip => {
                let came = self.equal(From::LinkHeader, 0, 1, 0);
                self.not(came)
            }
            other => {
                let word = if outbound { "outbound" } else { "inbound" };
                return Err(self
                    .error(format!("`{word}` cannot be judged: captures of {} do not say who sent a packet", other.name()))
                    .help("name the own address, as in `src host 192.0.2.1`"));
            }
        };
        Ok(if outbound { sent } else { self.not(sent) })
    }

    pub(super) fn ifindex(&mut self, index: u32) -> Res<IrId> {
        match self.layout.link {
            Link::Sll2 => Ok(self.equal(From::LinkHeader, 4, 4, index)),
            other => Err(self
                .error(format!("`ifindex` cannot be judged: captures of {} do not hold it", other.name()))
                .help("only Linux cooked v2 captures hold the interface's index")),
        }
    }
}
