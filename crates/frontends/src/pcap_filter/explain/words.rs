//! Terms in English.

use std::net::Ipv6Addr;

use super::super::ast::{
    Arith, ArithId, Ast, Dir, Encap, Id, Join, Kind, Llc, Node, NodeId, PfField, Proto, Quals, Relop, Ss7Field, Ss7Unit,
};
use super::super::error::Span;

/// One term of a filter, or a group of terms, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence {
    /// How deep the term stands in groups.
    pub depth: u32,
    /// The word that joins it to what stands before it in its group; `None` for the first.
    pub join: Option<&'static str>,
    /// The term stands under `not`.
    pub negated: bool,
    /// Its place in the source.
    pub span: Span,
    /// What it asks for. A group says `all that follows, taken from left to right`.
    pub words: String,
}

/// The filter's terms in source order, groups before their members.
pub(super) fn sentences(ast: &Ast) -> Vec<Sentence> {
    let mut writer = Writer { ast, out: Vec::new() };
    if let Some(root) = ast.root {
        match ast.node(root) {
            Node::Chain { first, rest } => writer.chain(0, *first, rest),
            _ => writer.node(0, None, false, root),
        }
    }
    writer.out
}

struct Writer<'a> {
    ast: &'a Ast,
    out: Vec<Sentence>,
}

impl Writer<'_> {
    fn chain(&mut self, depth: u32, first: NodeId, rest: &[(Join, NodeId)]) {
        self.node(depth, None, false, first);
        for &(join, node) in rest {
            let join = if join == Join::And { "and" } else { "or" };
            self.node(depth, Some(join), false, node);
        }
    }

    /// Recursion is as deep as the parser allows.
    fn node(&mut self, depth: u32, join: Option<&'static str>, negated: bool, id: NodeId) {
        let span = self.ast.span(id);
        match self.ast.node(id) {
            Node::Not(inner) => self.node(depth, join, !negated, *inner),
            Node::Chain { first, rest } => {
                let words = "what follows, taken from left to right".to_owned();
                self.out.push(Sentence { depth, join, negated, span, words });
                self.chain(depth + 1, *first, rest);
            }
            term => {
                let words = self.term(term);
                self.out.push(Sentence { depth, join, negated, span, words });
            }
        }
    }

    fn term(&self, term: &Node) -> String {
        match term {
            Node::Id { quals, id, at } => self.id(*quals, *id, *at),
            Node::Proto(proto) => protocol(*proto),
            Node::Relation { op, lhs, rhs } => {
                format!("{} {} {}{}", self.arith(*lhs), relation(*op), self.arith(*rhs), self.checked(*lhs))
            }
            Node::Broadcast(Some(Proto::Ip)) => "the host part of the IPv4 destination is all zeros or all ones".to_owned(),
            Node::Broadcast(_) => "the Ethernet destination is the broadcast address".to_owned(),
            Node::Multicast(Some(Proto::Ip)) => "the IPv4 destination is 224.0.0.0 or above".to_owned(),
            Node::Multicast(Some(Proto::Ip6)) => "the IPv6 destination is in ff00::/8".to_owned(),
            Node::Multicast(_) => "the Ethernet destination is a group address".to_owned(),
            Node::Less(n) => format!("the length on the wire is at most {n}"),
            Node::Greater(n) => format!("the length on the wire is at least {n}"),
            Node::Byte { offset, op, value } => byte(*offset, *op, *value),
            Node::Direction(true) => "the capturing machine sent the packet".to_owned(),
            Node::Direction(false) => "the capturing machine did not send the packet".to_owned(),
            Node::Ifindex(n) => format!("the packet passed the interface with index {n}"),
            Node::Encap(encap, number) => encapsulation(*encap, *number),
            Node::Pppoed => "PPPoE discovery (Ethernet type 0x8863)".to_owned(),
            Node::Llc(kind) => llc(*kind),
            Node::FrameType { mask, value } => format!("the first byte of the 802.11 frame, under {mask:#04x}, is {value:#04x}"),
            Node::FrameDirection(value) => format!("the direction of the 802.11 frame is {value}"),
            Node::Pf(field, value) => format!("the {} that pf logged is {value}", pf_field(*field)),
            Node::PfName(field, at) => format!("the {} that pf logged begins with {}", pf_field(*field), self.ast.text(*at)),
            Node::Ss7Unit { unit, high } => format!("a signal unit of kind {}{}", ss7_unit(*unit), high_speed(*high)),
            Node::Ss7Field { field, high, op, value } => {
                format!("the SS7 {}{} {} {value}", ss7_field(*field), high_speed(*high), relation(*op))
            }
            Node::Chain { .. } | Node::Not(_) => String::new(),
        }
    }

    fn id(&self, quals: Quals, id: Id, at: Span) -> String {
        let text = self.ast.text(at);
        match quals.kind {
            Kind::Port => format!("{} {} port is {text}", transport(quals.proto), side(quals.dir)),
            Kind::Portrange => format!("{} {} port is one of {text}", transport(quals.proto), side(quals.dir)),
            Kind::Proto => format!("{} is {text}", proto_field(quals.proto)),
            Kind::Protochain => format!("a header in the chain behind {} is of protocol {text}", carriers(quals.proto)),
            Kind::Net => format!("{} address lies in {text}", addresses(quals, id)),
            _ => format!("{} address is {}", addresses(quals, id), address(id, text)),
        }
    }

    /// What the packet must be for the left side to be looked at.
    fn checked(&self, mut id: ArithId) -> String {
        loop {
            id = match self.ast.arith(id) {
                Arith::Neg(a) | Arith::Bin(_, a, _) => *a,
                Arith::Load { proto: Proto::Link, .. } | Arith::Number(_) | Arith::Len => return String::new(),
                Arith::Load { proto, .. } => return format!(", in {}", indexed(*proto)),
            };
        }
    }

    fn arith(&self, id: ArithId) -> String {
        match self.ast.arith(id) {
            Arith::Number(n) => n.to_string(),
            Arith::Len => "the length on the wire".to_owned(),
            Arith::Load { proto, index, size } => {
                let index = self.ast.text(self.ast.arith_span(*index));
                let bytes = if *size == 1 { "byte".to_owned() } else { format!("{size} bytes") };
                format!("{bytes} at {index} of the {} header", header(*proto))
            }
            Arith::Neg(_) | Arith::Bin(..) => self.ast.text(self.ast.arith_span(id)).to_owned(),
        }
    }
}

fn address(id: Id, text: &str) -> String {
    match id {
        Id::Ipv6(addr) => Ipv6Addr::from(addr).to_string(),
        _ => text.to_owned(),
    }
}

fn side(dir: Dir) -> &'static str {
    match dir {
        Dir::Src => "source",
        Dir::Dst => "destination",
        Dir::Default | Dir::SrcOrDst => "source or destination",
        Dir::SrcAndDst => "source and destination",
        Dir::Addr1 => "first",
        Dir::Addr2 => "second",
        Dir::Addr3 => "third",
        Dir::Addr4 => "fourth",
        Dir::Receiver => "receiver's",
        Dir::Transmitter => "transmitter's",
    }
}

fn pf_field(field: PfField) -> &'static str {
    match field {
        PfField::Interface => "interface",
        PfField::Ruleset => "ruleset",
        PfField::Rule => "rule",
        PfField::Subrule => "subrule",
        PfField::Reason => "reason",
        PfField::Action => "action",
    }
}

fn ss7_unit(unit: Ss7Unit) -> &'static str {
    match unit {
        Ss7Unit::Fisu => "FISU",
        Ss7Unit::Lssu => "LSSU",
        Ss7Unit::Msu => "MSU",
    }
}

fn ss7_field(field: Ss7Field) -> &'static str {
    match field {
        Ss7Field::Sio => "service information octet",
        Ss7Field::Opc => "originating point code",
        Ss7Field::Dpc => "destination point code",
        Ss7Field::Sls => "signalling link selection",
    }
}

fn high_speed(high: bool) -> &'static str {
    if high { " on a high-speed link" } else { "" }
}

fn transport(proto: Option<Proto>) -> &'static str {
    match proto {
        Some(Proto::Tcp) => "TCP",
        Some(Proto::Udp) => "UDP",
        Some(Proto::Sctp) => "SCTP",
        _ => "TCP, UDP or SCTP",
    }
}

fn addresses(quals: Quals, id: Id) -> String {
    let side = side(quals.dir);
    let v6 = matches!(id, Id::Ipv6(_) | Id::Ipv6Prefix(..));
    match quals.proto {
        None if v6 => format!("the IPv6 {side}"),
        None => format!("the IPv4, ARP or RARP {side}"),
        Some(proto) => format!("the {} {side}", header(proto)),
    }
}

fn carriers(proto: Option<Proto>) -> &'static str {
    match proto {
        Some(Proto::Ip) => "IPv4",
        Some(Proto::Ip6) => "IPv6",
        _ => "IPv4 or IPv6",
    }
}

fn proto_field(proto: Option<Proto>) -> &'static str {
    match proto {
        Some(Proto::Link) => "the link-layer type",
        Some(Proto::Ip) => "the IPv4 protocol",
        Some(Proto::Ip6) => "the IPv6 next header",
        Some(Proto::Iso) => "the OSI network protocol",
        Some(Proto::Isis) => "the IS-IS packet type",
        _ => "the IPv4 protocol or IPv6 next header",
    }
}

/// The usual name of a protocol.
fn header(proto: Proto) -> &'static str {
    match proto {
        Proto::Link => "link-layer",
        Proto::Ip => "IPv4",
        Proto::Ip6 => "IPv6",
        Proto::Arp => "ARP",
        Proto::Rarp => "RARP",
        Proto::Tcp => "TCP",
        Proto::Udp => "UDP",
        Proto::Sctp => "SCTP",
        Proto::Icmp => "ICMP",
        Proto::Icmp6 => "ICMPv6",
        Proto::Igmp => "IGMP",
        Proto::Decnet => "DECnet",
        Proto::Atalk => "AppleTalk",
        Proto::Isis => "IS-IS",
        Proto::Esis => "ES-IS",
        other => other.word(),
    }
}

/// Packets that `proto[…]` looks at.
fn indexed(proto: Proto) -> String {
    match proto {
        Proto::Sctp | Proto::Tcp | Proto::Udp | Proto::Icmp | Proto::Igmp | Proto::Igrp | Proto::Pim | Proto::Vrrp | Proto::Carp => {
            format!("a first fragment of {} over IPv4", header(proto))
        }
        Proto::Icmp6 => "ICMPv6 right behind an IPv6 header".to_owned(),
        _ => header(proto).to_owned(),
    }
}

fn protocol(proto: Proto) -> String {
    let name = header(proto);
    match proto {
        Proto::Tcp | Proto::Udp | Proto::Sctp | Proto::Pim | Proto::Ah | Proto::Esp => format!("{name} over IPv4 or IPv6"),
        Proto::Icmp | Proto::Igmp | Proto::Igrp | Proto::Vrrp | Proto::Carp => format!("{name} over IPv4"),
        Proto::Icmp6 => "ICMPv6 over IPv6".to_owned(),
        Proto::L1 | Proto::L2 | Proto::Iih | Proto::Lsp | Proto::Snp | Proto::Csnp | Proto::Psnp => {
            format!("an IS-IS packet of the kind {name}")
        }
        _ => format!("the packet is {name}"),
    }
}

fn relation(op: Relop) -> &'static str {
    match op {
        Relop::Eq => "equals",
        Relop::Ne => "differs from",
        Relop::Gt => "is greater than",
        Relop::Ge => "is at least",
        Relop::Lt => "is less than",
        Relop::Le => "is at most",
    }
}

fn byte(offset: u32, op: u8, value: u32) -> String {
    match op {
        b'=' => format!("byte {offset} equals {value}"),
        b'<' => format!("byte {offset} is less than {value}"),
        b'>' => format!("byte {offset} is greater than {value}"),
        op => format!("the value last looked at, {} {value}, is not 0 (libpcap never loads byte {offset})", char::from(op)),
    }
}

fn encapsulation(encap: Encap, number: Option<u32>) -> String {
    let (what, label) = match encap {
        Encap::Vlan => ("a VLAN tag", "id"),
        Encap::Mpls => ("an MPLS label", "value"),
        Encap::Pppoes => ("a PPPoE session", "number"),
        Encap::Geneve => ("a Geneve header", "network id"),
    };
    let number = number.map_or(String::new(), |n| format!(" with {label} {n}"));
    format!("{what}{number}; every later term looks behind it")
}

fn llc(kind: Option<Llc>) -> String {
    let kind = match kind {
        None => return "an 802.2 frame".to_owned(),
        Some(Llc::Information) => "information".to_owned(),
        Some(Llc::Supervisory(None)) => "supervisory".to_owned(),
        Some(Llc::Unnumbered(None)) => "unnumbered".to_owned(),
        Some(Llc::Supervisory(Some(control)) | Llc::Unnumbered(Some(control))) => format!("control {control:#04x}"),
    };
    format!("an 802.2 frame of type {kind}")
}
