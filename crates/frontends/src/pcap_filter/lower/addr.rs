//! Addresses: hosts and networks of IPv4, IPv6, ARP, DECnet and Ethernet.

use super::super::ast::{Dir, Kind, Proto};
use super::super::ir::IrId;
use super::super::link::Link;
use super::super::parser::Res;
use super::Lower;
use super::layout::From;
use super::link;
use netil::fields::{arp, ethernet, ip, ip6};

/// An address under a mask.
#[derive(Clone, Copy)]
pub(super) struct Masked<T> {
    pub addr: T,
    pub mask: T,
}

/// Where a protocol has its addresses, from the network header.
#[derive(Clone, Copy)]
struct Offsets {
    proto: u32,
    src: u32,
    dst: u32,
}

const IPV4: Offsets = Offsets { proto: link::IPV4, src: ip::SRC.offset, dst: ip::DST.offset };
const IPV6: Offsets = Offsets { proto: link::IPV6, src: ip6::SRC.offset, dst: ip6::DST.offset };
const ARP: Offsets = Offsets { proto: link::ARP, src: arp::SENDER_IP.offset, dst: arp::TARGET_IP.offset };
const RARP: Offsets = Offsets { proto: link::RARP, ..ARP };

impl Lower<'_> {
    /// An IPv4 address or network; without a protocol ARP and RARP are looked at too.
    pub(super) fn host(&mut self, host: Masked<u32>, proto: Option<Proto>, dir: Dir, kind: Kind) -> Res<IrId> {
        match proto {
            None if self.layout.labels > 0 => self.ipv4_host(host, dir, IPV4),
            None => {
                let ip = self.ipv4_host(host, dir, IPV4)?;
                let arp = self.ipv4_host(host, dir, ARP)?;
                let rarp = self.ipv4_host(host, dir, RARP)?;
                Ok(self.or(&[ip, arp, rarp]))
            }
            Some(Proto::Ip) => self.ipv4_host(host, dir, IPV4),
            Some(Proto::Arp) => self.ipv4_host(host, dir, ARP),
            Some(Proto::Rarp) => self.ipv4_host(host, dir, RARP),
            Some(Proto::Decnet) => self.decnet_host(host.addr, dir),
            Some(Proto::Ip6) => Err(self.error("`ip6` does not go with an IPv4 address").help("write `ip` or leave it out")),
            Some(proto) => Err(self.no_such_host(proto, kind, "`ip`, `arp`, `rarp` or nothing")),
        }
    }

    fn no_such_host(&self, proto: Proto, kind: Kind, instead: &str) -> super::Error {
        let what = if kind == Kind::Net { "network" } else { "host" };
        let word = proto.word();
        self.error(format!("`{word}` does not qualify a {what}"))
            .help(format!("a {what} takes {instead}; for both conditions write `{word} and …`"))
    }

    fn ipv4_host(&mut self, host: Masked<u32>, dir: Dir, at: Offsets) -> Res<IrId> {
        self.directed(dir, |lower, src| lower.ipv4_side(host, at, src))
    }

    fn ipv4_side(&mut self, host: Masked<u32>, at: Offsets, src: bool) -> Res<IrId> {
        let kind = self.linktype(at.proto)?;
        let field = self.field(From::Network, if src { at.src } else { at.dst }, 4);
        let plain = self.masked_field(field, host.mask, host.addr);
        let prefix = host.mask.leading_ones() == host.mask.count_ones() && host.addr & !host.mask == 0;
        let range = (u128::from(host.addr), u128::from(host.addr | !host.mask));
        let test = if prefix { self.element(field, range, plain, false) } else { plain };
        Ok(self.and(&[kind, test]))
    }

    /// One test for each side that the direction asks for.
    pub(super) fn directed(&mut self, dir: Dir, mut side: impl FnMut(&mut Self, bool) -> Res<IrId>) -> Res<IrId> {
        match dir {
            Dir::Src => return side(self, true),
            Dir::Dst => return side(self, false),
            Dir::Default | Dir::SrcOrDst | Dir::SrcAndDst => {}
            _ => return Err(self.error("only 802.11 frames have such addresses").help("write `src` or `dst`")),
        }
        let both = [side(self, true)?, side(self, false)?];
        Ok(if dir == Dir::SrcAndDst { self.and(&both) } else { self.or(&both) })
    }

    /// An IPv6 address or network.
    pub(super) fn host6(&mut self, host: Masked<u128>, proto: Option<Proto>, dir: Dir, kind: Kind) -> Res<IrId> {
        match proto {
            None | Some(Proto::Ip6) => self.directed(dir, |lower, src| lower.ipv6_side(host, src)),
            Some(Proto::Ip | Proto::Arp | Proto::Rarp) => {
                Err(self.error("this protocol has no IPv6 addresses").help("write `ip6` or leave it out"))
            }
            Some(proto) => Err(self.no_such_host(proto, kind, "`ip6` or nothing")),
        }
    }

    fn ipv6_side(&mut self, host: Masked<u128>, src: bool) -> Res<IrId> {
        let kind = self.linktype(IPV6.proto)?;
        let offset = if src { IPV6.src } else { IPV6.dst };
        let words: Vec<IrId> = (0..4u32).map(|word| self.ipv6_word(host, offset, word)).collect();
        let plain = self.and(&words);
        let field = self.field(From::Network, offset, 16);
        let test = self.element(field, (host.addr, host.addr | !host.mask), plain, true);
        Ok(self.and(&[kind, test]))
    }

    fn ipv6_word(&mut self, host: Masked<u128>, offset: u32, word: u32) -> IrId {
        let part = |bits: u128| u32::try_from(bits >> (96 - 32 * word) & 0xffff_ffff).unwrap_or(0);
        self.masked(From::Network, offset + 4 * word, 4, part(host.mask), part(host.addr))
    }

    /// A MAC address in a link-layer header.
    pub(super) fn ether_host(&mut self, mac: [u8; 6], dir: Dir) -> Res<IrId> {
        let (src, dst) = match self.layout.link {
            Link::Ethernet => (ethernet::SRC.offset, ethernet::DST.offset),
            Link::Fddi => (7, 1),
            Link::TokenRing => (8, 2),
            Link::Wlan(_) => return self.frame_host(mac, dir),
            other => {
                return Err(self
                    .error(format!("{} has no MAC addresses", other.name()))
                    .help("headers of Ethernet, 802.11, FDDI and token ring can be asked for them"));
            }
        };
        let header = self.inner_header();
        let host = self.directed(dir, |lower, is_src| Ok(lower.ether_side(mac, if is_src { src } else { dst })))?;
        Ok(match header {
            Some(header) => self.and(&[header, host]),
            None => host,
        })
    }

    /// libpcap compares the last four bytes before the first two.
    pub(super) fn ether_side(&mut self, mac: [u8; 6], offset: u32) -> IrId {
        let value = mac.iter().fold(0u64, |value, &byte| value << 8 | u64::from(byte));
        let part = |bits: u64| u32::try_from(bits).unwrap_or(0);
        let low = self.equal(From::LinkHeader, offset + 2, 4, part(value & 0xffff_ffff));
        let high = self.equal(From::LinkHeader, offset, 2, part(value >> 32));
        let plain = self.and(&[low, high]);
        let field = self.field(From::LinkHeader, offset, 6);
        self.element(field, (value.into(), value.into()), plain, false)
    }

    /// An ARCnet address; the source comes first.
    pub(super) fn arcnet_host(&mut self, address: u8, dir: Dir) -> Res<IrId> {
        self.directed(dir, |lower, src| Ok(lower.equal(From::LinkHeader, u32::from(!src), 1, address.into())))
    }

    /// Routing header data packets of DECnet phase IV, long and short, with and without a byte of
    /// padding.
    pub(super) fn decnet_host(&mut self, addr: u32, dir: Dir) -> Res<IrId> {
        self.directed(dir, |lower, src| lower.decnet_side(addr, src))
    }

    fn decnet_side(&mut self, addr: u32, src: bool) -> Res<IrId> {
        let (short, long) = if src { (3, 15) } else { (1, 7) };
        let addr = (addr & 0xffff).swap_bytes() >> 16;
        let kind = self.linktype(link::DECNET)?;
        let padded_short = self.decnet_form((2, 0xff07, 0x8102), 3 + short, addr);
        let padded_long = self.decnet_form((2, 0xff07, 0x8106), 3 + long, addr);
        let plain_short = self.decnet_form((1, 0x07, 0x02), 2 + short, addr);
        let plain_long = self.decnet_form((1, 0x07, 0x06), 2 + long, addr);
        let any = self.or(&[plain_short, padded_short, plain_long, padded_long]);
        Ok(self.and(&[kind, any]))
    }

    fn decnet_form(&mut self, (bytes, mask, flags): (u8, u32, u32), offset: u32, addr: u32) -> IrId {
        let form = self.masked(From::Network, 2, bytes, mask, flags);
        let node = self.equal(From::Network, offset, 2, addr);
        self.and(&[form, node])
    }
}
