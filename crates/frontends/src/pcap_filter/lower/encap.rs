//! Encapsulations: `vlan`, `mpls`, `pppoes`, `geneve`. Each tests for itself and then shifts what
//! later terms look at.

use super::super::ast::{Arithop, Dir, Encap};
use super::super::ir::{Cmp, Geneve, IrId, Slot, Test, Value};
use super::super::link::{Link, Radio};
use super::super::names::UDP;
use super::super::parser::Res;
use super::Lower;
use super::layout::{From, Layout, Offset};
use super::link;
use super::port::Ports;

const GENEVE_PORT: u32 = 6081;

impl Lower<'_> {
    pub(super) fn encapsulation(&mut self, encap: Encap, number: Option<u32>) -> Res<IrId> {
        match encap {
            Encap::Vlan => self.vlan(number),
            Encap::Mpls => self.mpls(number),
            Encap::Pppoes => self.pppoes(number),
            Encap::Geneve => self.geneve(number),
        }
    }

    fn check_number(&self, number: Option<u32>, most: u32, what: &str) -> Res<()> {
        match number {
            Some(n) if n > most => Err(self.error(format!("{what} {n} is greater than {most}"))),
            _ => Ok(()),
        }
    }

    /// IEEE 802.1Q, 802.1ad and the older stacking type.
    fn vlan(&mut self, id: Option<u32>) -> Res<IrId> {
        if self.layout.labels > 0 {
            return Err(self.error("no VLAN can be recognised behind `mpls`").help("put `vlan` before `mpls`"));
        }
        if !matches!(self.layout.link, Link::Ethernet | Link::Wlan(None | Some(Radio::Prism | Radio::Avs | Radio::Radiotap))) {
            return Err(self.error(format!("{} has no VLAN tags", self.layout.link.name())));
        }
        self.check_number(id, 0xfff, "VLAN id")?;
        let types = [link::VLAN, link::VLAN_PROVIDER, link::VLAN_STACKED];
        let types: Vec<IrId> = types.into_iter().map(|kind| self.linktype(kind)).collect::<Res<_>>()?;
        let tagged = self.or(&types);
        let test = match id {
            Some(id) => {
                let same = self.masked(From::Network, 0, 2, 0xfff, id);
                self.and(&[tagged, same])
            }
            None => tagged,
        };
        self.layout.linkpl.at = self.layout.linkpl.at.wrapping_add(4);
        if let Some(linktype) = &mut self.layout.linktype {
            linktype.at = linktype.at.wrapping_add(4);
        }
        Ok(test)
    }

    /// RFC 3032: a label is the upper 20 bits of a word; bit 8 says that it is the last.
    fn mpls(&mut self, label: Option<u32>) -> Res<IrId> {
        let test = match (self.layout.labels, self.layout.link) {
            (1.., _) => self.masked(From::Network, 2u32.wrapping_sub(4), 1, 0x01, 0),
            (0, Link::Ethernet | Link::Hdlc) => self.linktype(link::MPLS)?,
            (0, Link::Ppp) => self.linktype(link::PPP_MPLS)?,
            (0, other) => return Err(self.error(format!("MPLS is not recognised on {}", other.name()))),
        };
        self.check_number(label, 0xf_ffff, "MPLS label")?;
        let test = match label {
            Some(label) => {
                let same = self.masked(From::Network, 0, 4, 0xffff_f000, label << 12);
                self.and(&[test, same])
            }
            None => test,
        };
        self.layout.nl = self.layout.nl.wrapping_add(4);
        self.layout.nl_nosnap = self.layout.nl_nosnap.wrapping_add(4);
        self.layout.labels += 1;
        Ok(test)
    }

    /// RFC 2516: six bytes of header, then a PPP protocol.
    fn pppoes(&mut self, session: Option<u32>) -> Res<IrId> {
        let test = self.linktype(link::PPPOE_SESSION)?;
        self.check_number(session, 0xffff, "PPPoE session")?;
        let test = match session {
            Some(session) => {
                let same = self.masked(From::Network, 0, 4, 0xffff, session);
                self.and(&[test, same])
            }
            None => test,
        };
        let payload = self.layout.linkpl;
        let linkhdr = Offset { at: payload.at.wrapping_add(self.layout.nl).wrapping_add(6), ..payload };
        let linkpl = Offset { at: linkhdr.at.wrapping_add(2), ..payload };
        let labels = self.layout.labels;
        self.layout = Layout { link: Link::Ppp, linkhdr, linkpl, linktype: Some(linkhdr), nl: 0, nl_nosnap: 0, labels, geneve: false };
        Ok(test)
    }
}

/// Geneve (RFC 8926): UDP over IPv4 or IPv6, a header of variable length, then an Ethernet frame or
/// a bare payload.
impl Lower<'_> {
    fn geneve(&mut self, vni: Option<u32>) -> Res<IrId> {
        let ip_len = self.ir.new_slot();
        let ipv4 = self.geneve_over(vni, false, ip_len)?;
        let ipv6 = self.geneve_over(vni, true, ip_len)?;
        let either = self.or(&[ipv4, ipv6]);
        let past_udp = self.layout.linkpl.at.wrapping_add(self.layout.nl).wrapping_add(8);
        let ip_len = self.ir.make(Value::Slot(ip_len));
        let header = self.with_constant(Arithop::Add, ip_len, past_udp);
        let (linktype, linkhdr, linkpl) = (self.slot()?, self.slot()?, self.slot()?);
        let enter = self.ir.push_test(Test::Geneve(Geneve { header, linktype, linkhdr, linkpl }));
        self.layout = Layout {
            link: Link::Ethernet,
            linkhdr: Offset::variable(linkhdr),
            linkpl: Offset::variable(linkpl),
            linktype: Some(Offset::variable(linktype)),
            nl: 0,
            geneve: true,
            ..self.layout
        };
        Ok(self.and(&[either, enter]))
    }

    /// A register that libpcap never gives back.
    fn slot(&mut self) -> Res<Slot> {
        self.take_register()?;
        Ok(self.ir.new_slot())
    }

    fn geneve_over(&mut self, vni: Option<u32>, v6: bool, ip_len: Slot) -> Res<IrId> {
        let ports = Ports { low: GENEVE_PORT, high: GENEVE_PORT, range: false, transport: Some(UDP) };
        let port = self.ports_of(ports, Dir::Dst, v6)?;
        let from = if v6 { From::Transport6 } else { From::Transport4 };
        let mut tests = vec![port, self.masked(from, 8, 1, 0xc0, 0)];
        self.check_number(vni, 0xff_ffff, "Geneve VNI")?;
        if let Some(vni) = vni {
            tests.push(self.masked(from, 12, 4, 0xffff_ff00, vni << 8));
        }
        let length = if v6 { self.ipv6_header_len() } else { self.ip_header_len() };
        tests.push(self.ir.push_test(Test::Assign(ip_len, length)));
        Ok(self.and(&tests))
    }

    fn ipv6_header_len(&mut self) -> super::ValueId {
        let length = self.ir.constant(40);
        match self.layout.linkpl.base(&mut self.ir) {
            Some(base) => self.ir.make(Value::Bin(Arithop::Add, length, base)),
            None => length,
        }
    }

    /// Inside Geneve: there is a link-layer header at all.
    pub(super) fn inner_header(&mut self) -> Option<IrId> {
        if !self.layout.geneve {
            return None;
        }
        let header = self.layout.linkhdr.base(&mut self.ir)?;
        let payload = self.layout.linkpl.base(&mut self.ir)?;
        let same = self.ir.push_test(Test::Cmp(header, Cmp::Eq, payload));
        Some(self.not(same))
    }
}
