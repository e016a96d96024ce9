//! The filter as written: a tree of terms in an arena, each with its place in the source.
//!
//! Chains of `and` and `or` are kept flat (the operators have equal precedence and associate to the
//! left), so a filter of ten thousand terms has no depth; what does nest (parentheses, `not`,
//! arithmetic) is bounded by the parser.

use super::error::Span;

/// A parsed filter. An empty filter (`root` is `None`) accepts every packet.
#[derive(Debug, Clone)]
pub struct Ast {
    /// The source text; all spans refer to it.
    pub source: String,
    /// The outermost node, if the filter is not empty.
    pub root: Option<NodeId>,
    pub(crate) nodes: Vec<(Node, Span)>,
    pub(crate) ariths: Vec<(Arith, Span)>,
}

/// Index of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub(crate) u32);

/// Index of an arithmetic expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ArithId(pub(crate) u32);

impl Ast {
    /// The node behind an id.
    #[must_use]
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize].0
    }

    /// Where a node stands in the source.
    #[must_use]
    pub fn span(&self, id: NodeId) -> Span {
        self.nodes[id.0 as usize].1
    }

    /// The arithmetic expression behind an id.
    #[must_use]
    pub fn arith(&self, id: ArithId) -> &Arith {
        &self.ariths[id.0 as usize].0
    }

    /// Where an arithmetic expression stands in the source.
    #[must_use]
    pub fn arith_span(&self, id: ArithId) -> Span {
        self.ariths[id.0 as usize].1
    }

    pub(crate) fn text(&self, span: Span) -> &str {
        span.text(&self.source)
    }
}

/// How a term of a chain joins what stands before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Join {
    /// Both must hold.
    And,
    /// One must hold.
    Or,
}

/// A node of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// Terms taken from left to right.
    Chain {
        /// The first term.
        first: NodeId,
        /// The others, each with the operator before it.
        rest: Vec<(Join, NodeId)>,
    },
    /// The term does not hold.
    Not(NodeId),
    /// An address, port or protocol number with its qualifiers, stated or taken over from the term
    /// before.
    Id {
        /// What the identifier is compared with.
        quals: Quals,
        /// The identifier.
        id: Id,
        /// Its place (the node's own span includes the qualifiers).
        at: Span,
    },
    /// The packet is of this protocol.
    Proto(Proto),
    /// A comparison of two arithmetic expressions.
    Relation {
        /// The operator.
        op: Relop,
        /// Left operand.
        lhs: ArithId,
        /// Right operand.
        rhs: ArithId,
    },
    /// `broadcast`, perhaps of one protocol.
    Broadcast(Option<Proto>),
    /// `multicast`, perhaps of one protocol.
    Multicast(Option<Proto>),
    /// `less N`: wire length at most N.
    Less(u32),
    /// `greater N`: wire length at least N.
    Greater(u32),
    /// `byte N op M`.
    Byte {
        /// Offset from the link-layer header.
        offset: u32,
        /// Operator: one of `=`, `<`, `>`, `&`, `|`.
        op: u8,
        /// Value compared with.
        value: u32,
    },
    /// `inbound` (false) or `outbound` (true).
    Direction(bool),
    /// `ifindex N`.
    Ifindex(u32),
    /// An encapsulation, with its number if one was given: later terms look inside it.
    Encap(Encap, Option<u32>),
    /// `pppoed`.
    Pppoed,
    /// `llc`, perhaps of one frame type.
    Llc(Option<Llc>),
    /// `type` and `subtype`: bits of an 802.11 frame's first byte.
    FrameType {
        /// Which bits.
        mask: u32,
        /// What they are.
        value: u32,
    },
    /// `dir`: the direction of an 802.11 frame.
    FrameDirection(u32),
    /// A number in the header of a packet that OpenBSD's pf logged.
    Pf(PfField, u32),
    /// A name in that header.
    PfName(PfField, Span),
    /// A kind of signal unit of SS7, on high-speed links if `high`.
    Ss7Unit {
        /// Which kind.
        unit: Ss7Unit,
        /// On high-speed links.
        high: bool,
    },
    /// A field of SS7 messages compared with a number.
    Ss7Field {
        /// Which field.
        field: Ss7Field,
        /// On high-speed links.
        high: bool,
        /// The comparison.
        op: Relop,
        /// The number.
        value: u32,
    },
}

/// Fields of the header of packets that OpenBSD's pf logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are pf's own")]
pub enum PfField {
    Interface,
    Ruleset,
    Rule,
    Subrule,
    Reason,
    Action,
}

/// Kinds of signal unit of SS7 (ITU-T Q.703).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the standard's own")]
pub enum Ss7Unit {
    Fisu,
    Lssu,
    Msu,
}

/// Fields of SS7 messages (ITU-T Q.704).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the standard's own")]
pub enum Ss7Field {
    Sio,
    Opc,
    Dpc,
    Sls,
}

/// Protocol names that qualify a term or stand for one (`tcp`, `ether`, `isis` …).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are the protocols' own")]
pub enum Proto {
    Link,
    Ip,
    Arp,
    Rarp,
    Sctp,
    Tcp,
    Udp,
    Icmp,
    Igmp,
    Igrp,
    Atalk,
    Decnet,
    Lat,
    Sca,
    Moprc,
    Mopdl,
    Ip6,
    Icmp6,
    Ah,
    Esp,
    Pim,
    Vrrp,
    Carp,
    Aarp,
    Iso,
    Esis,
    Isis,
    Clnp,
    Stp,
    Ipx,
    Netbeui,
    L1,
    L2,
    Iih,
    Snp,
    Csnp,
    Psnp,
    Lsp,
    Radio,
}

/// Encapsulations that shift what later terms look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the protocols' own")]
pub enum Encap {
    Vlan,
    Mpls,
    Pppoes,
    Geneve,
}

/// Types of 802.2 frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Llc {
    /// Information frames.
    Information,
    /// Supervisory frames, perhaps of one type (the control byte under mask 0x0f).
    Supervisory(Option<u8>),
    /// Unnumbered frames, perhaps of one type (the control byte under mask 0xef).
    Unnumbered(Option<u8>),
}

/// Qualifiers of an identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Quals {
    /// The protocol, if one is stated.
    pub proto: Option<Proto>,
    /// Which of source and destination.
    pub dir: Dir,
    /// What kind of thing the identifier is.
    pub kind: Kind,
}

/// Direction qualifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are the language's words")]
pub enum Dir {
    /// None stated: source or destination.
    Default,
    Src,
    Dst,
    SrcOrDst,
    SrcAndDst,
    /// Addresses of 802.11 frames.
    Addr1,
    Addr2,
    Addr3,
    Addr4,
    Receiver,
    Transmitter,
}

/// Kinds of identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are the language's words")]
pub enum Kind {
    /// None stated: a host.
    Default,
    Host,
    Net,
    Port,
    Portrange,
    Gateway,
    Proto,
    Protochain,
}

/// An identifier as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Id {
    /// A name, or a range such as `80-90`.
    Name,
    /// A number.
    Number(u32),
    /// Two to four numbers with dots.
    Dotted,
    /// A dotted address and its prefix length; the address has the given span.
    DottedPrefix(Span, u32),
    /// A dotted address and its dotted mask.
    DottedMask(Span, Span),
    /// An IPv6 address.
    Ipv6(u128),
    /// An IPv6 address and its prefix length.
    Ipv6Prefix(u128, u32),
    /// A MAC address.
    Mac([u8; 6]),
    /// An ARCnet address.
    Arcnet(u8),
}

/// Comparison operators; all compare unsigned 32-bit numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Relop {
    Eq,
    Ne,
    Gt,
    Ge,
    Lt,
    Le,
}

/// Arithmetic operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Arithop {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    And,
    Or,
    Xor,
    Shl,
    Shr,
}

/// An arithmetic expression over packet bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arith {
    /// A constant.
    Number(u32),
    /// The packet's length on the wire.
    Len,
    /// `proto[index:size]`.
    Load {
        /// The header that the index counts from.
        proto: Proto,
        /// Offset in bytes.
        index: ArithId,
        /// Bytes to read.
        size: u32,
    },
    /// Two's complement.
    Neg(ArithId),
    /// A binary operation modulo 2³².
    Bin(Arithop, ArithId, ArithId),
}
