//! Makes captures byte by byte, in either byte order, and reads them all into plain values.

use netvm_runtime::io::{Capture, ReadError, synth};

/// The byte order of what is being built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Little,
    Big,
}

pub const ORDERS: [Order; 2] = [Order::Little, Order::Big];

impl Order {
    pub fn u16(self, value: u16) -> Vec<u8> {
        if self == Self::Little { value.to_le_bytes().into() } else { value.to_be_bytes().into() }
    }

    pub fn u32(self, value: u32) -> Vec<u8> {
        if self == Self::Little { value.to_le_bytes().into() } else { value.to_be_bytes().into() }
    }

    pub fn u64(self, value: u64) -> Vec<u8> {
        if self == Self::Little { value.to_le_bytes().into() } else { value.to_be_bytes().into() }
    }

    /// A classic file header.
    pub fn pcap(self, magic: u32, version: (u16, u16), snaplen: u32, link: u32) -> Vec<u8> {
        let parts = [self.u32(magic), self.u16(version.0), self.u16(version.1), vec![0; 8], self.u32(snaplen), self.u32(link)];
        parts.concat()
    }

    /// A classic record: seconds, fraction, the two lengths as given, data.
    pub fn record(self, time: (u32, u32), lengths: (u32, u32), data: &[u8]) -> Vec<u8> {
        [self.u32(time.0), self.u32(time.1), self.u32(lengths.0), self.u32(lengths.1), data.to_vec()].concat()
    }

    /// A pcapng block around a body.
    pub fn block(self, kind: u32, body: &[u8]) -> Vec<u8> {
        let padding = vec![0; body.len().next_multiple_of(4) - body.len()];
        let total = self.u32((12 + body.len() + padding.len()) as u32);
        [self.u32(kind), total.clone(), body.to_vec(), padding, total].concat()
    }

    pub fn option(self, code: u16, value: &[u8]) -> Vec<u8> {
        let padding = vec![0; value.len().next_multiple_of(4) - value.len()];
        [self.u16(code), self.u16(value.len() as u16), value.to_vec(), padding].concat()
    }

    pub fn section(self, options: &[u8]) -> Vec<u8> {
        let body = [self.u32(0x1a2b_3c4d), self.u16(1), self.u16(0), vec![0xff; 8], options.to_vec()].concat();
        self.block(0x0a0d_0d0a, &body)
    }

    pub fn interface(self, link: u16, snaplen: u32, options: &[u8]) -> Vec<u8> {
        self.block(1, &[self.u16(link), vec![0; 2], self.u32(snaplen), options.to_vec()].concat())
    }

    /// An enhanced packet block.
    pub fn enhanced(self, interface: u32, ticks: u64, wire: u32, data: &[u8], options: &[u8]) -> Vec<u8> {
        let padding = vec![0; data.len().next_multiple_of(4) - data.len()];
        let (high, low) = ((ticks >> 32) as u32, ticks as u32);
        let fields = [interface, high, low, data.len() as u32, wire].map(|field| self.u32(field)).concat();
        self.block(6, &[fields, data.to_vec(), padding, options.to_vec()].concat())
    }

    /// The obsolete packet block.
    pub fn obsolete(self, interface: u16, ticks: u64, wire: u32, data: &[u8]) -> Vec<u8> {
        let ids = [self.u16(interface), self.u16(7)].concat();
        let fields = [(ticks >> 32) as u32, ticks as u32, data.len() as u32, wire].map(|field| self.u32(field)).concat();
        self.block(2, &[ids, fields, data.to_vec()].concat())
    }

    pub fn simple(self, wire: u32, data: &[u8]) -> Vec<u8> {
        self.block(3, &[self.u32(wire), data.to_vec()].concat())
    }
}

/// A packet as read: link type, time, wire length, data.
pub type Packet = (String, String, u32, Vec<u8>);

/// All packets of a capture, and the error at its end if there is one.
pub fn read_all(capture: &mut Capture, max: usize) -> (Vec<Packet>, Option<ReadError>) {
    let mut packets = Vec::new();
    loop {
        match capture.next_burst(max) {
            Ok(None) => return (packets, None),
            Err(error) => return (packets, Some(error)),
            Ok(Some(burst)) => {
                assert!(!burst.is_empty() && burst.len() <= max);
                assert_eq!(burst.first_number(), packets.len() as u64);
                packets.extend(burst.records().map(|record| {
                    (record.link_type().to_string(), record.timestamp().to_string(), record.wire_len(), record.data.to_vec())
                }));
            }
        }
    }
}

/// Reads bytes in one piece.
pub fn read_bytes(bytes: &[u8]) -> (Vec<Packet>, Option<ReadError>) {
    match Capture::from_bytes(bytes.to_vec()) {
        Ok(mut capture) => read_all(&mut capture, 256),
        Err(error) => (Vec::new(), Some(error)),
    }
}

/// Reads bytes as they come through a pipe, a few at a time.
pub fn read_stream(bytes: &[u8], piece: usize) -> (Vec<Packet>, Option<ReadError>) {
    match Capture::from_reader(Pieces { bytes: bytes.to_vec(), at: 0, piece }) {
        Ok(mut capture) => read_all(&mut capture, 256),
        Err(error) => (Vec::new(), Some(error)),
    }
}

struct Pieces {
    bytes: Vec<u8>,
    at: usize,
    piece: usize,
}

impl std::io::Read for Pieces {
    fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
        let rest = &self.bytes[self.at..];
        let count = rest.len().min(room.len()).min(self.piece);
        room[..count].copy_from_slice(&rest[..count]);
        self.at += count;
        Ok(count)
    }
}

/// A classic capture of the made-up trace.
pub fn sample(count: usize) -> Vec<u8> {
    let records = synth::mixed_trace(11, count).into_iter().map(|(time, data)| {
        let len = data.len() as u32;
        Order::Little.record((time.secs as u32, time.micros()), (len, len), &data)
    });
    [Order::Little.pcap(0xa1b2_c3d4, (2, 4), 262_144, 1), records.collect::<Vec<_>>().concat()].concat()
}

/// A pcapng with what the format has: both byte orders, three link types, all packet blocks,
/// unknown blocks.
pub fn varied_pcapng() -> Vec<u8> {
    let (a, b) = (Order::Little, Order::Big);
    let nanos = [a.option(2, b"eth0"), a.option(9, &[9]), a.option(0, &[])].concat();
    let halves = [b.option(9, &[0x81]), b.option(14, &b.u64(100))].concat();
    [
        a.section(&a.option(4, b"maker")),
        a.interface(1, 0, &nanos),
        a.block(4, b"name resolution"),
        a.enhanced(0, 5_000_000_001, 60, b"first", &[a.option(1, b"a comment"), a.option(0, &[])].concat()),
        a.interface(101, 96, &[]),
        a.enhanced(1, 6_000_002, 3, b"raw", &[]),
        a.enhanced(0, 7, 4, b"back", &[]),
        a.block(0xbad, b"custom"),
        a.simple(6, b"simple"),
        b.section(&[]),
        b.interface(113, 4, &halves),
        b.obsolete(0, 5, 9, b"olde"),
        b.simple(8, b"cut "),
        b.enhanced(0, 3, 2, b"ng", &[]),
    ]
    .concat()
}
