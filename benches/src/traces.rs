//! Packets in memory: one repeated, or a mix in random order.
//!
//! [`Memory::mixed`] and [`Memory::single`]: packets lie 128 bytes apart, cut to that, and are
//! visited through references in random order: 131,072 of them, far more than a branch predictor
//! remembers, to 8,192 packets, of whose 1 MiB the filters touch the first half of each 128 bytes.
//! [`Memory::large`]: 131,072 whole packets, each at the beginning of a cache line, in random
//! order: more than a last-level cache holds. [`Memory::cold`]: 655,360 packets in buffers of 2,048
//! bytes, one after the other, as a network card fills them: 1.3 GB.

use crate::native::{self, CPacket};
use netvm::io::synth::mixed_trace;
use netvm::netil::exec::Packets;

/// Packets that an engine gets at a time.
pub const BURST: usize = 256;
const LINE: usize = 64;
const REFERENCES: usize = 131_072;

/// Where packets are.
pub struct Memory {
    bytes: Vec<u8>,
    /// Place, captured and wire length of each.
    packets: Vec<(usize, usize, u32)>,
    /// The references; in order if there are none.
    references: Option<usize>,
}

/// How packets lie in memory.
struct Layout {
    /// Bytes between the beginnings of packets; none if each begins with the cache line after the
    /// one before.
    stride: Option<usize>,
    /// How often all packets are there.
    copies: usize,
    references: Option<usize>,
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
        Self::new(traffic(count), &Layout { stride: Some(2 * LINE), copies: 1, references: Some(REFERENCES) })
    }

    /// One packet.
    pub fn single(packet: Vec<u8>) -> Self {
        Self::new([packet], &Layout { stride: Some(2 * LINE), copies: 1, references: Some(REFERENCES) })
    }

    /// Some 77 MB.
    pub fn large() -> Self {
        Self::new(traffic(131_072), &Layout { stride: None, copies: 1, references: Some(REFERENCES) })
    }

    /// 1.3 GB.
    pub fn cold() -> Self {
        Self::new(traffic(131_072), &Layout { stride: Some(2048), copies: 5, references: None })
    }

    /// Every beginning of a packet, from nothing of it to all.
    #[cfg(test)]
    pub fn beginnings(packet: &[u8]) -> Self {
        let cut = (0..=packet.len()).map(|len| packet[..len].to_vec());
        Self::new(cut, &Layout { stride: Some(2 * LINE), copies: 1, references: None })
    }

    fn new(packets: impl IntoIterator<Item = Vec<u8>>, layout: &Layout) -> Self {
        let all: Vec<Vec<u8>> = packets.into_iter().collect();
        let cut = |packet: &[u8]| packet.len().min(layout.stride.unwrap_or(usize::MAX));
        let step = |packet: &[u8]| layout.stride.unwrap_or_else(|| packet.len().next_multiple_of(LINE));
        let size = layout.copies * all.iter().map(|p| step(p)).sum::<usize>() + LINE;
        let mut bytes = native::huge(size);
        let mut at = bytes.as_ptr().align_offset(LINE);
        let mut places = Vec::with_capacity(layout.copies * all.len());
        for packet in std::iter::repeat_n(&all, layout.copies).flatten() {
            let len = cut(packet);
            bytes[at..at + len].copy_from_slice(&packet[..len]);
            places.push((at, len, packet.len() as u32));
            at += step(packet);
        }
        Self { bytes, packets: places, references: layout.references }
    }

    /// Bytes that the packets take.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// References: in random order, or to each packet once.
    pub fn trace(&self) -> Trace<'_> {
        let mut x = 88_172_645_463_325_252u64;
        let mut random = || {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            (x % self.packets.len() as u64) as usize
        };
        let order: Vec<usize> = match self.references {
            Some(count) => (0..count).map(|_| random()).collect(),
            None => (0..self.packets.len()).collect(),
        };
        let places = order.into_iter().map(|i| self.packets[i]);
        let (frames, wire_len): (Vec<_>, Vec<_>) = places.map(|(at, len, wire)| (&self.bytes[at..at + len], wire)).unzip();
        let packets = frames.iter().zip(&wire_len).map(|(f, w)| CPacket::new(f, *w)).collect();
        Trace { time_ns: vec![0; frames.len()], frames, wire_len, packets }
    }
}

fn traffic(count: usize) -> impl Iterator<Item = Vec<u8>> {
    mixed_trace(20_240_601, count).into_iter().map(|(_, frame)| frame)
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
