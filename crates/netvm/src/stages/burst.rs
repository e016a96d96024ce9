//! Packets on their way from stage to stage.
//!
//! Nothing is allocated while packets flow: a burst keeps what its packets had for the next ones, and where a packet goes to another burst, what it is exchanged for comes back.

use std::ops::{Deref, DerefMut};

/// A packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    bytes: Vec<u8>,
    /// How many bytes it had on the wire.
    pub wire_len: u32,
    /// When it came, in nanoseconds since 1970.
    pub time_ns: u64,
    /// A number of the program's own, that travels with it through stages that are functions.
    pub tag: u64,
}

impl Packet {
    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Its bytes, to be changed, lengthened or shortened. On the wire it has as many then, unless [`Self::wire_len`] says more.
    pub fn bytes_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Becomes a packet with those bytes, which came then.
    pub fn set(&mut self, bytes: &[u8], time_ns: u64) -> &mut Self {
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
        (self.wire_len, self.time_ns, self.tag) = (bytes.len() as u32, time_ns, 0);
        self
    }

    /// How many bytes it had on the wire, at least those that there are.
    pub fn on_wire(&self) -> u32 {
        self.wire_len.max(self.bytes.len() as u32)
    }
}

/// Packets, one behind the other.
#[derive(Debug, Default)]
pub struct Burst {
    /// Those of the burst, and behind them some that were used up.
    packets: Vec<Packet>,
    len: usize,
}

impl Burst {
    /// One more packet, which has no bytes yet.
    pub fn add(&mut self) -> &mut Packet {
        if self.len == self.packets.len() {
            self.packets.push(Packet::default());
        }
        self.len += 1;
        let packet = &mut self.packets[self.len - 1];
        packet.bytes.clear();
        (packet.wire_len, packet.time_ns, packet.tag) = (0, 0, 0);
        packet
    }

    /// One more packet, exchanged for one that was used up.
    pub(super) fn exchange(&mut self, packet: &mut Packet) {
        if self.len == self.packets.len() {
            self.packets.push(Packet::default());
        }
        std::mem::swap(&mut self.packets[self.len], packet);
        self.len += 1;
    }

    /// No packets any more; their memory stays for others.
    pub fn clear(&mut self) {
        self.len = 0;
    }
}

impl Deref for Burst {
    type Target = [Packet];

    fn deref(&self) -> &[Packet] {
        &self.packets[..self.len]
    }
}

impl DerefMut for Burst {
    fn deref_mut(&mut self) -> &mut [Packet] {
        &mut self.packets[..self.len]
    }
}
