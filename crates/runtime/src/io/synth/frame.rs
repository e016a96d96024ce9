//! Frames of Ethernet with IPv4 and UDP or TCP, with right lengths and checksums, as the generators
//! of applications' traffic need them.

use super::{close, put_sum};
use std::net::Ipv4Addr;

/// What stands in the headers of a frame.
pub(super) struct Headers {
    pub(super) ether: [[u8; 6]; 2],
    pub(super) from: (Ipv4Addr, u16),
    pub(super) to: (Ipv4Addr, u16),
    pub(super) id: u16,
}

impl Headers {
    /// A datagram of UDP.
    pub(super) fn udp(&self, payload: &[u8]) -> Vec<u8> {
        let mut datagram = [self.from.1, self.to.1, (8 + payload.len()) as u16, 0].map(u16::to_be_bytes).concat();
        datagram.extend(payload);
        self.packet(17, datagram)
    }

    /// A segment of TCP.
    pub(super) fn tcp(&self, (seq, ack): (u32, u32), flags: u8, payload: &[u8]) -> Vec<u8> {
        let mut segment = [self.from.1, self.to.1].map(u16::to_be_bytes).concat();
        segment.extend([seq, ack].map(u32::to_be_bytes).concat());
        segment.extend([0x50, flags, 0x20, 0, 0, 0, 0, 0]);
        segment.extend(payload);
        self.packet(6, segment)
    }

    fn packet(&self, protocol: u8, mut payload: Vec<u8>) -> Vec<u8> {
        let addresses = [self.from.0.octets(), self.to.0.octets()].concat();
        close(&mut payload, protocol, &addresses);
        let mut header = vec![0x45, 0];
        header.extend([(20 + payload.len()) as u16, self.id, 0].map(u16::to_be_bytes).concat());
        header.extend([64, protocol, 0, 0]);
        header.extend(addresses);
        put_sum(&mut header, 10, 0);
        let mut frame = [&self.ether[1][..], &self.ether[0], &[8, 0], &header, &payload].concat();
        frame.resize(frame.len().max(60), 0);
        frame
    }
}
