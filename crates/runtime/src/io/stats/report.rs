//! What was collected, as readers want it: sums of flows by layer, the tree of protocols.

use super::dissect::has;
use super::protocol::Protocol;
use super::table::{Counts, Key, Seeded, Table};
use super::{Amount, Rates};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// All that was found.
#[derive(Clone, Debug)]
pub struct Report {
    /// Packets, and bytes as they had on the wire.
    pub total: Amount,
    /// Bytes that were captured.
    pub captured: u64,
    /// The first and the last time in nanoseconds since 1970, if there were packets.
    pub span: Option<(i64, i64)>,
    /// The tree of protocols, each before those within it; siblings with more packets come first.
    pub protocols: Vec<Node>,
    /// Who spoke with whom, layer by layer; only layers that packets had.
    pub layers: Vec<Layer>,
    /// The ports of services, those with more bytes first.
    pub ports: Vec<Port>,
    /// Packets by length.
    pub sizes: Vec<Size>,
    /// Packets over time.
    pub rates: Rates,
}

/// A protocol within others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// How many protocols it is within.
    pub depth: usize,
    /// tshark's name of it.
    pub name: &'static str,
    /// Packets that have it there.
    pub amount: Amount,
}

/// Layers that have conversations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayerKind {
    /// Ethernet addresses.
    Ethernet,
    /// IPv4 addresses.
    Ipv4,
    /// IPv6 addresses.
    Ipv6,
    /// Addresses and TCP ports.
    Tcp,
    /// Addresses and UDP ports.
    Udp,
    /// Addresses and SCTP ports.
    Sctp,
}

impl LayerKind {
    /// All, from the lowest.
    pub const ALL: [Self; 6] = [Self::Ethernet, Self::Ipv4, Self::Ipv6, Self::Tcp, Self::Udp, Self::Sctp];

    /// Its name.
    pub fn name(self) -> &'static str {
        ["Ethernet", "IPv4", "IPv6", "TCP", "UDP", "SCTP"][self as usize]
    }

    fn bit(self) -> u64 {
        [has::ETHERNET, has::IPV4, has::IPV6, has::TCP, has::UDP, has::SCTP][self as usize]
    }

    fn has_ports(self) -> bool {
        matches!(self, Self::Tcp | Self::Udp | Self::Sctp)
    }
}

/// One side of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// An Ethernet address.
    Ethernet([u8; 6]),
    /// An IP address, and a port where the layer has ports.
    Ip(IpAddr, Option<u16>),
}

/// `02:00:00:00:00:01`, `10.0.0.1`, `10.0.0.1:80`, `[2001:db8::1]:80`.
impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ethernet([a, b, c, d, e, g]) => write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}"),
            Self::Ip(address, None) => write!(f, "{address}"),
            Self::Ip(IpAddr::V6(address), Some(port)) => write!(f, "[{address}]:{port}"),
            Self::Ip(address, Some(port)) => write!(f, "{address}:{port}"),
        }
    }
}

/// Packets one way.
pub type Direction = Amount;

/// A pair of sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conversation {
    /// Who sent the first packet, and who received it.
    pub sides: (Side, Side),
    /// From the first side to the second.
    pub there: Direction,
    /// From the second side to the first.
    pub back: Direction,
    /// The first and the last time in nanoseconds since 1970.
    pub span: (i64, i64),
}

impl Conversation {
    /// Both ways together.
    pub fn amount(&self) -> Amount {
        Amount { packets: self.there.packets + self.back.packets, bytes: self.there.bytes.saturating_add(self.back.bytes) }
    }
}

/// A side with all that it sent and received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Who.
    pub side: Side,
    /// What it sent.
    pub sent: Direction,
    /// What it received.
    pub received: Direction,
}

impl Endpoint {
    /// Both ways together.
    pub fn amount(&self) -> Amount {
        Amount { packets: self.sent.packets + self.received.packets, bytes: self.sent.bytes.saturating_add(self.received.bytes) }
    }
}

/// A layer's conversations and endpoints, those with more bytes first.
#[derive(Clone, Debug)]
pub struct Layer {
    /// Which.
    pub kind: LayerKind,
    /// Pairs.
    pub conversations: Vec<Conversation>,
    /// What conversations had for which there was no room.
    pub other_conversations: Amount,
    /// Sides.
    pub endpoints: Vec<Endpoint>,
    /// What endpoints had for which there was no room.
    pub other_endpoints: Amount,
}

/// What the conversations of a service had: of the two ports of each, the lower one is taken for
/// the service's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// TCP, UDP or SCTP.
    pub kind: LayerKind,
    /// The port.
    pub port: u16,
    /// Packets to and from it.
    pub amount: Amount,
}

/// Lengths with which size classes begin; tshark's.
pub(super) const SIZES: [u32; 10] = [0, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120];

/// Packets of a class of lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// The least length that belongs to the class.
    pub from: u32,
    /// The greatest, if there is one.
    pub to: Option<u32>,
    /// Packets.
    pub amount: Amount,
    /// The least and the greatest length that there was.
    pub seen: Option<(u32, u32)>,
}

impl Size {
    pub(super) fn add(&mut self, len: u32) {
        self.amount.add(u64::from(len));
        self.seen = Some(self.seen.map_or((len, len), |(least, most)| (least.min(len), most.max(len))));
    }
}

/// All size classes, empty.
pub(super) fn sizes() -> [Size; SIZES.len()] {
    std::array::from_fn(|i| Size { from: SIZES[i], to: SIZES.get(i + 1).map(|next| next - 1), amount: Amount::default(), seen: None })
}

/// The class of a length.
pub(super) fn size_of(len: u32) -> usize {
    SIZES.partition_point(|from| *from <= len) - 1
}

/// What is left of paths behind a protocol, each with its amount.
type Paths<'a> = Vec<(&'a [u8], Amount)>;

/// The tree of protocols from the amounts of paths.
pub(super) fn hierarchy(paths: &HashMap<u128, Amount, Seeded>) -> Vec<Node> {
    let paths: Vec<([u8; 16], Amount)> = paths.iter().map(|(path, amount)| (path.to_le_bytes(), *amount)).collect();
    let mut nodes = Vec::new();
    branch(paths.iter().map(|(path, amount)| (&path[..], *amount)).collect(), 0, &mut nodes);
    nodes
}

/// Appends the protocols with which paths begin, each with what is within it.
fn branch(paths: Paths<'_>, depth: usize, nodes: &mut Vec<Node>) {
    let mut children: BTreeMap<u8, (Amount, Paths<'_>)> = BTreeMap::new();
    for (path, amount) in paths {
        if let Some((&first, rest)) = path.split_first().filter(|(first, _)| **first != Protocol::End as u8) {
            let child = children.entry(first).or_default();
            child.0.merge(amount);
            child.1.push((rest, amount));
        }
    }
    let mut children: Vec<_> = children.into_iter().collect();
    children.sort_by_key(|(_, (amount, _))| Reverse(amount.packets));
    for (number, (amount, within)) in children {
        nodes.push(Node { depth, name: Protocol::name(number), amount });
        branch(within, depth + 1, nodes);
    }
}

/// Sums of flows: of each layer its conversations and endpoints, and ports.
pub(super) struct Folded {
    layers: Vec<Sums>,
    ports: Table,
}

struct Sums {
    kind: LayerKind,
    conversations: Table,
    endpoints: Table,
    other_conversations: Amount,
    other_endpoints: Amount,
}

impl Folded {
    pub(super) fn new(limit: usize, hasher: Seeded) -> Self {
        let sums = |kind| Sums {
            kind,
            conversations: Table::new(limit, hasher),
            endpoints: Table::new(limit, hasher),
            other_conversations: Amount::default(),
            other_endpoints: Amount::default(),
        };
        // There are no more ports than 3 × 65,536.
        Self { layers: LayerKind::ALL.map(sums).into(), ports: Table::new(3 << 16, hasher) }
    }

    /// Adds a flow.
    pub(super) fn fold(&mut self, key: &Key, counts: Counts) {
        let what = key.0[6];
        for sums in self.layers.iter_mut().filter(|sums| what & sums.kind.bit() != 0) {
            sums.fold(key, counts);
            if sums.kind.has_ports() {
                let port = (key.0[0] & 0xffff).min(key.0[3] & 0xffff);
                self.ports.merge(Key([port, 0, 0, 0, 0, 0, sums.kind.bit()]), counts);
            }
        }
    }

    pub(super) fn layers(&self) -> Vec<Layer> {
        self.layers.iter().filter(|sums| sums.any()).map(Sums::layer).collect()
    }

    pub(super) fn ports(&self) -> Vec<Port> {
        let port = |(key, counts): (&Key, &Counts)| {
            let kind = LayerKind::ALL.into_iter().find(|kind| kind.bit() == key.0[6])?;
            Some(Port { kind, port: key.0[0] as u16, amount: both(counts) })
        };
        let mut ports: Vec<Port> = self.ports.rows().filter_map(port).collect();
        ports.sort_by_key(|port| (Reverse(port.amount.bytes), port.kind as u8, port.port));
        ports
    }
}

impl Sums {
    fn any(&self) -> bool {
        self.conversations.rows().next().is_some() || self.other_conversations.packets > 0
    }

    fn fold(&mut self, key: &Key, counts: Counts) {
        let [a0, a1, a2, b0, b1, b2, what] = key.0;
        // Which IP it is stays: addresses of both versions may have the same number.
        let version = if self.kind == LayerKind::Ethernet { 0 } else { what & (has::IPV4 | has::IPV6) };
        let what = self.kind.bit() | version;
        let part = |mac_and_port: u64, high: u64, low: u64| match self.kind {
            LayerKind::Ethernet => [mac_and_port & !0xffff, 0, 0],
            kind if kind.has_ports() => [mac_and_port & 0xffff, high, low],
            _ => [0, high, low],
        };
        let (mut a, mut b, mut counts) = (part(a0, a1, a2), part(b0, b1, b2), counts);
        if a > b {
            (a, b, counts) = (b, a, counts.turned());
        }
        let one = |side: [u64; 3]| Key([side[0], side[1], side[2], 0, 0, 0, what]);
        self.conversations.merge(Key([a[0], a[1], a[2], b[0], b[1], b[2], what]), counts);
        self.endpoints.merge(one(a), counts);
        // What one sends to itself is sent and received by one.
        self.endpoints.merge(one(b), counts.turned());
        for (table, others) in [(&mut self.conversations, &mut self.other_conversations), (&mut self.endpoints, &mut self.other_endpoints)]
        {
            if table.is_over() {
                table.shrink(|_, counts| others.merge(both(&counts)));
            }
        }
    }

    fn layer(&self) -> Layer {
        let mut conversations: Vec<_> = self.conversations.rows().map(|(key, counts)| self.conversation(key, *counts)).collect();
        conversations.sort_by_key(|c| (Reverse(c.amount().bytes), c.span, c.sides));
        let endpoint = |(key, counts): (&Key, &Counts)| {
            let side = self.side([key.0[0], key.0[1], key.0[2]], key.0[6]);
            Endpoint { side, sent: counts.there, received: counts.back }
        };
        let mut endpoints: Vec<_> = self.endpoints.rows().map(endpoint).collect();
        endpoints.sort_by_key(|e| (Reverse(e.amount().bytes), e.side));
        let Self { kind, other_conversations, other_endpoints, .. } = *self;
        Layer { kind, conversations, other_conversations, endpoints, other_endpoints }
    }

    fn conversation(&self, key: &Key, counts: Counts) -> Conversation {
        let [a0, a1, a2, b0, b1, b2, what] = key.0;
        let (a, b) = (self.side([a0, a1, a2], what), self.side([b0, b1, b2], what));
        let (sides, counts) = if counts.begun_back { ((b, a), counts.turned()) } else { ((a, b), counts) };
        Conversation { sides, there: counts.there, back: counts.back, span: (counts.first, counts.last) }
    }

    fn side(&self, [mac_and_port, high, low]: [u64; 3], what: u64) -> Side {
        let port = self.kind.has_ports().then_some(mac_and_port as u16);
        match self.kind {
            LayerKind::Ethernet => {
                let [_, _, a, b, c, d, e, g] = (mac_and_port >> 16).to_be_bytes();
                Side::Ethernet([a, b, c, d, e, g])
            }
            _ => Side::Ip(address(high, low, what & has::IPV6 != 0), port),
        }
    }
}

fn both(counts: &Counts) -> Amount {
    let mut amount = counts.there;
    amount.merge(counts.back);
    amount
}

fn address(high: u64, low: u64, v6: bool) -> IpAddr {
    match v6 {
        true => IpAddr::V6(Ipv6Addr::from_bits(u128::from(high) << 64 | u128::from(low))),
        false => IpAddr::V4(Ipv4Addr::from_bits(low as u32)),
    }
}
