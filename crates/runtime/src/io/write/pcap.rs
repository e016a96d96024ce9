//! Writing classic pcap, in this machine's byte order.
//!
//! Records that stand in the input as they would be written are copied, a run of neighbours at a
//! time; others are written anew. Source: draft-ietf-opsawg-pcap.

use std::io;

use super::{Packet, WriteError, sink::Sink};
use crate::io::{
    Burst, LinkType, Precision,
    capture::{Origin, Pcap},
};

const HEADER: usize = 16;

/// The file being written, once its header is.
pub(super) struct Classic {
    precision: Precision,
    link: LinkType,
}

impl Classic {
    pub(super) fn begin(sink: &mut Sink, precision: Precision, link: LinkType, snaplen: u32, fcs: u32) -> io::Result<Self> {
        let magic: u32 = if precision == Precision::Nano { 0xa1b2_3c4d } else { 0xa1b2_c3d4 };
        sink.put(&magic.to_ne_bytes())?;
        sink.put(&[2u16, 4].map(u16::to_ne_bytes).concat())?;
        sink.put(&[0, 0, snaplen, link.number() | fcs].map(u32::to_ne_bytes).concat())?;
        Ok(Self { precision, link })
    }

    /// Whether the records of a burst can be copied as they are, but for any that the snapshot
    /// length cuts.
    pub(super) fn copies(&self, burst: &Burst<'_>) -> bool {
        let same = |pcap: &Pcap| pcap.copies_verbatim() && pcap.precision == self.precision;
        matches!(burst.origin(), Origin::Pcap(pcap) if same(pcap)) && burst.link_type() == self.link
    }

    /// Copies the record of packet `i`, unless the snapshot length cuts it.
    #[inline(always)]
    pub(super) fn copy(&self, sink: &mut Sink, burst: &Burst<'_>, i: usize) -> Option<io::Result<()>> {
        let record = burst.record(i);
        (record.raw.len() == record.data.len() + HEADER).then(|| sink.put(record.raw))
    }

    pub(super) fn write(&self, sink: &mut Sink, packet: &Packet<'_>) -> Result<(), WriteError> {
        if packet.link != self.link {
            return Err(WriteError::MixedLinkTypes { first: self.link, second: packet.link });
        }
        let (secs, part) = self.time(packet)?;
        let captured = u32::try_from(packet.data.len()).map_err(|_| WriteError::PacketTooLong(packet.data.len()))?;
        let header = [secs, part, captured, packet.wire_len].map(u32::to_ne_bytes);
        sink.put(header.as_flattened()).map_err(|source| sink.error(source))?;
        sink.put(packet.data).map_err(|source| sink.error(source))
    }

    fn time(&self, packet: &Packet<'_>) -> Result<(u32, u32), WriteError> {
        let time = packet.time;
        let secs = u32::try_from(time.secs).map_err(|_| WriteError::Timestamp(time))?;
        match self.precision {
            Precision::Nano => Ok((secs, time.nanos)),
            Precision::Micro if time.nanos.is_multiple_of(1000) => Ok((secs, time.micros())),
            Precision::Micro => Err(WriteError::Timestamp(time)),
        }
    }
}
