//! Packets in memory: one repeated, or a mix in random order.
//!
//! Packets lie 128 bytes apart, cut to that, and are visited through references in random order: 131,072 of them, far more than a branch
//! predictor remembers, to 8,192 packets, of whose 1 MiB the filters touch the first half of each 128 bytes.

use crate::native::CPacket;
use netvm::io::synth::mixed_trace;
use netvm::netil::exec::Packets;

/// Packets that an engine gets at a time.
pub const BURST: usize = 256;
const SLOT: usize = 128;
const REFERENCES: usize = 131_072;

#[repr(align(128))]
#[derive(Clone)]
struct Slot([u8; SLOT]);

/// Where packets are.
pub struct Memory {
    slots: Vec<Slot>,
    /// Captured and wire length of each.
    lengths: Vec<(usize, u32)>,
}

/// References to packets, for either side.
pub struct Trace<'a> {
    frames: Vec<&'a [u8]>,
    wire_len: Vec<u32>,
    time_ns: Vec<u64>,
    packets: Vec<CPacket<'a>>,
}

impl Memory {
    /// That many packets of a campus uplink.
    pub fn mixed(count: usize) -> Self {
        Self::new(mixed_trace(20_240_601, count).into_iter().map(|(_, frame)| frame))
    }

    /// One packet.
    pub fn single(packet: Vec<u8>) -> Self {
        Self::new([packet])
    }

    fn new(packets: impl IntoIterator<Item = Vec<u8>>) -> Self {
        let (mut slots, mut lengths) = (Vec::new(), Vec::new());
        for packet in packets {
            let len = packet.len().min(SLOT);
            let mut slot = Slot([0; SLOT]);
            slot.0[..len].copy_from_slice(&packet[..len]);
            slots.push(slot);
            lengths.push((len, packet.len() as u32));
        }
        Self { slots, lengths }
    }

    /// References in random order.
    pub fn trace(&self) -> Trace<'_> {
        let mut x = 88_172_645_463_325_252u64;
        let order = (0..REFERENCES).map(|_| {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            (x % self.slots.len() as u64) as usize
        });
        let (frames, wire_len): (Vec<_>, Vec<_>) = order.map(|i| (&self.slots[i].0[..self.lengths[i].0], self.lengths[i].1)).unzip();
        let packets = frames.iter().zip(&wire_len).map(|(f, w)| CPacket::new(f, *w)).collect();
        Trace { time_ns: vec![0; frames.len()], frames, wire_len, packets }
    }
}

impl Trace<'_> {
    /// Number of references.
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// Bursts as engines take them.
    pub fn bursts(&self) -> impl Iterator<Item = Packets<'_>> {
        let parts = self.frames.chunks(BURST).zip(self.wire_len.chunks(BURST)).zip(self.time_ns.chunks(BURST));
        parts.map(|((frames, wire_len), time_ns)| Packets { frames, wire_len, time_ns })
    }

    /// Bursts as the C sides take them.
    pub fn c_bursts(&self) -> impl Iterator<Item = &[CPacket<'_>]> {
        self.packets.chunks(BURST)
    }
}
