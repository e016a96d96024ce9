//! Packets between elements, and the fields that travel with them.

use super::text;
use crate::io::LinkType;
use netil::app::Application;
use netil::exec::ExchangeBuffer;
use netil::number;

/// Bytes of an Ethernet header.
const ETHER: usize = 14;

/// A packet on its way.
#[derive(Clone, Debug)]
pub struct Packet {
    /// Its bytes, info memory, arrival time and length on the wire.
    pub buffer: ExchangeBuffer<'static>,
    /// How often it was led back.
    pub rounds: u8,
    /// What its first byte belonged to when it arrived.
    pub link: LinkType,
}

impl Packet {
    /// A packet of those bytes.
    pub fn new(bytes: &[u8], time_ns: u64, info: &Info) -> Self {
        let mut buffer = ExchangeBuffer::borrowed(bytes).into_owned();
        buffer.time_ns = time_ns;
        buffer.info.resize(info.size, 0);
        Self { buffer, rounds: 0, link: LinkType::EN10MB }
    }

    /// A copy, which has a number of its own.
    pub fn copied(&mut self) -> Self {
        let mut copy = self.clone();
        copy.buffer.number = number::branch(&mut self.buffer.number);
        copy
    }

    /// Marks where the network and the transport header are.
    pub fn mark_headers(&mut self, info: &Info, network: usize, transport: usize) {
        for (field, has, at) in [("network_header", "has_network_header", network), ("transport_header", "has_transport_header", transport)]
        {
            let at = (at as i32).wrapping_add(self.moved());
            info.set(self, field, at as u32 as u64);
            info.set(self, has, 1);
        }
    }

    /// Where a header is, if it is marked: `network` or `transport`.
    pub fn header(&self, info: &Info, field: &str, has: &str) -> Option<usize> {
        let at = info.get(self, field) as u32 as i32;
        (info.get(self, has) != 0).then(|| usize::try_from(at.wrapping_sub(self.moved())).ok()).flatten()
    }

    /// The Ethernet header, right before the network header or the whole packet where none is
    /// marked: the one that is marked, or that the packet came with, even if it has been taken off.
    pub fn ether_header(&self, info: &Info) -> Option<[u8; ETHER]> {
        let moved = i64::from(self.moved());
        let place = |field, has| (info.get(self, has) != 0).then(|| i64::from(info.get(self, field) as u32 as i32) - moved);
        let network = place("network_header", "has_network_header");
        let came = if self.link == LinkType::EN10MB { Some(-moved) } else { None };
        let at = place("mac_header", "has_mac_header").or(came).or(if network.is_some() { None } else { Some(0) })?;
        let right = network.is_none_or(|network| at + ETHER as i64 == network);
        let mut whole = self.buffer.clone();
        whole.unpull(u32::try_from(-at).unwrap_or(0)).ok()?;
        let bytes = whole.bytes().get(usize::try_from(at.max(0)).ok()?..)?;
        bytes.first_chunk().copied().filter(|_| right)
    }

    /// Bytes taken off the head minus bytes put before it since the packet came into being.
    fn moved(&self) -> i32 {
        self.buffer.moved() as i32
    }

    /// The length on the wire: what was not captured is still missing.
    pub fn wire_len(&self) -> u32 {
        self.buffer.wire_len()
    }

    /// Bytes captured.
    pub fn len(&self) -> usize {
        self.buffer.bytes().len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Where the fields of info memory are that built-in elements know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// Bytes of info memory.
    pub size: usize,
    fields: Vec<(String, usize, usize)>,
}

impl Info {
    pub(super) fn of(application: &Application) -> Self {
        let fields = application.info.iter().map(|field| (field.name.clone(), field.offset as usize, field.size as usize)).collect();
        Self { size: application.info_size as usize, fields }
    }

    pub(super) fn place(&self, name: &str) -> Option<std::ops::Range<usize>> {
        self.fields.iter().find(|field| field.0 == name).map(|(_, at, size)| *at..at + size)
    }

    /// True if there is a field of that name.
    pub fn has(&self, name: &str) -> bool {
        self.place(name).is_some()
    }

    /// A number in a field, little-endian; 0 where there is no such field.
    pub fn get(&self, packet: &Packet, name: &str) -> u64 {
        let bytes = self.place(name).and_then(|place| packet.buffer.info.get(place)).unwrap_or_default();
        bytes.iter().take(8).rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
    }

    /// Sets a field, if there is one of that name.
    pub fn set(&self, packet: &mut Packet, name: &str, value: u64) {
        packet.buffer.info.resize(packet.buffer.info.len().max(self.size), 0);
        if let Some(bytes) = self.place(name).and_then(|place| packet.buffer.info.get_mut(place)) {
            for (byte, part) in bytes.iter_mut().zip(value.to_le_bytes()) {
                *byte = part;
            }
        }
    }

    /// Lets a packet have its fields where another layout has them; what that has not is gone.
    pub(super) fn move_to(&self, other: &Self, packet: &mut Packet) {
        let old = std::mem::replace(&mut packet.buffer.info, vec![0; other.size]);
        for (name, at, size) in &other.fields {
            let from = self.place(name).filter(|from| from.len() == *size).and_then(|from| old.get(from));
            if let (Some(from), Some(to)) = (from, packet.buffer.info.get_mut(*at..at + size)) {
                to.copy_from_slice(from);
            }
        }
    }
}

impl std::fmt::Display for Packet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes at {}", self.len(), text::seconds(self.buffer.time_ns))
    }
}

/// A packet about to enter an element.
pub(super) struct Push {
    pub(super) node: usize,
    pub(super) port: u32,
    pub(super) packet: Packet,
}
