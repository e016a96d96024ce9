//! A burst: some consecutive packets of one capture and one link type, borrowed from it.
//!
//! Only slices are made per packet. What few callers need (times, lengths on the wire, interfaces,
//! comments) is decoded when asked for, from the record as it stands in the capture.

use super::{Section, options::Options, pcap::Pcap, pcapng::Interface};
use crate::io::{LinkType, Precision, Timestamp};
use std::cell::OnceCell;

/// Consecutive packets of one link type. Valid until the capture is asked for the next ones.
pub struct Burst<'a> {
    pub(super) packets: Packets<'a>,
    pub(super) records: Records<'a>,
    pub(super) link: LinkType,
    pub(super) origin: Origin<'a>,
    pub(super) first: u64,
    pub(super) capture: u64,
}

/// What the records of a burst are to be read with.
#[derive(Clone, Copy)]
pub(in crate::io) enum Origin<'a> {
    Pcap(&'a Pcap),
    Pcapng(&'a Section),
}

/// Where the packets of a burst are.
pub(super) enum Packets<'a> {
    Slices(Vec<&'a [u8]>),
    /// In these bytes; slices are made when all are asked for, since many callers want few of them.
    Spans {
        bytes: &'a [u8],
        spans: &'a [Span],
        slices: OnceCell<Vec<&'a [u8]>>,
    },
}

/// Where a packet is in some bytes.
#[derive(Clone, Copy, Default)]
pub(super) struct Span {
    pub(super) at: u32,
    pub(super) len: u32,
}

impl Span {
    #[inline(always)]
    fn of<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        bytes.get(self.at as usize..self.at as usize + self.len as usize).unwrap_or_default()
    }
}

/// Where the records of a burst's packets are.
pub(super) enum Records<'a> {
    /// In these bytes, of which the packets are slices: a classic capture's.
    Around(&'a [u8]),
    /// Here, one for each packet.
    Blocks(Vec<&'a [u8]>),
}

/// One packet with all that the capture says about it.
#[derive(Clone, Copy)]
pub struct Record<'a> {
    /// The captured bytes.
    pub data: &'a [u8],
    /// The record as in the capture: header, captured bytes and, in pcapng, options.
    pub raw: &'a [u8],
    link: LinkType,
    origin: Origin<'a>,
}

impl<'a> Burst<'a> {
    /// How many packets there are: at least one.
    pub fn len(&self) -> usize {
        match &self.packets {
            Packets::Slices(slices) => slices.len(),
            Packets::Spans { spans, .. } => spans.len(),
        }
    }

    /// Whether there are none: never so as handed on by a capture, but after [`Burst::truncate`].
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The captured bytes of each packet.
    pub fn packets(&self) -> &[&'a [u8]] {
        match &self.packets {
            Packets::Slices(slices) => slices,
            Packets::Spans { bytes, spans, slices } => slices.get_or_init(|| spans.iter().map(|span| span.of(bytes)).collect()),
        }
    }

    fn packet(&self, i: usize) -> &'a [u8] {
        match &self.packets {
            Packets::Slices(slices) => slices[i],
            Packets::Spans { bytes, spans, .. } => spans[i].of(bytes),
        }
    }

    /// The link type of all of them.
    pub fn link_type(&self) -> LinkType {
        self.link
    }

    /// True if the capture was written by a machine of the other byte order: what BSD loopback
    /// headers say is then in that order.
    pub fn is_swapped(&self) -> bool {
        match self.origin {
            Origin::Pcap(pcap) => pcap.swapped,
            Origin::Pcapng(section) => section.swapped,
        }
    }

    /// The number of the first packet, counted from 0 at the capture's beginning.
    pub fn first_number(&self) -> u64 {
        self.first
    }

    /// Packet `i` with all that is known of it. Panics where `i` is no index, as a slice does.
    pub fn record(&self, i: usize) -> Record<'a> {
        Record { data: self.packet(i), raw: self.raw(i), link: self.link, origin: self.origin }
    }

    fn raw(&self, i: usize) -> &'a [u8] {
        match (&self.records, self.origin) {
            (Records::Around(bytes), Origin::Pcap(pcap)) => pcap.record_of(bytes, self.packet(i)),
            (Records::Blocks(blocks), _) => blocks[i],
            (Records::Around(_), Origin::Pcapng(_)) => &[],
        }
    }

    /// All packets with all that is known of them.
    pub fn records(&self) -> impl ExactSizeIterator<Item = Record<'a>> + '_ {
        (0..self.len()).map(|i| self.record(i))
    }

    /// The bytes that packet `i` had on the wire. Panics where `i` is no index.
    pub fn wire_len(&self, i: usize) -> u32 {
        self.record(i).wire_len()
    }

    /// The bytes that each packet had on the wire, into a vector that is overwritten.
    pub fn wire_lens(&self, lens: &mut Vec<u32>) {
        lens.clear();
        lens.extend(self.records().map(|record| record.wire_len()));
    }

    /// When each packet was captured, in nanoseconds since the epoch (0 before it), into a vector
    /// that is overwritten.
    pub fn times_ns(&self, times: &mut Vec<u64>) {
        times.clear();
        times.extend(self.records().map(|record| record.time_ns()));
    }

    /// When packet `i` was captured. Panics where `i` is no index.
    pub fn timestamp(&self, i: usize) -> Timestamp {
        self.record(i).timestamp()
    }

    /// Forgets all but the first `len` packets.
    pub fn truncate(&mut self, len: usize) {
        match &mut self.packets {
            Packets::Slices(slices) => slices.truncate(len),
            Packets::Spans { spans, slices, .. } => {
                *spans = spans.get(..len).unwrap_or(spans);
                slices.take();
            }
        }
    }

    /// The precision that keeps all timestamps.
    pub fn precision(&self) -> Precision {
        match self.origin {
            Origin::Pcap(pcap) => pcap.precision,
            Origin::Pcapng(section) => section.precision,
        }
    }

    pub(in crate::io) fn origin(&self) -> Origin<'a> {
        self.origin
    }

    /// Which capture of this process, and which section of it, the packets are from.
    pub(in crate::io) fn identity(&self) -> (u64, u32) {
        match self.origin {
            Origin::Pcap(_) => (self.capture, 0),
            Origin::Pcapng(section) => (self.capture, section.number),
        }
    }
}

impl<'a> Record<'a> {
    /// When the packet was captured; the epoch for a pcapng simple packet, which has no time.
    pub fn timestamp(&self) -> Timestamp {
        match self.origin {
            Origin::Pcap(pcap) => pcap.timestamp(self.raw),
            Origin::Pcapng(section) => section.timestamp(self.raw),
        }
    }

    /// When the packet was captured, in nanoseconds since the epoch; 0 before it.
    #[inline(always)]
    pub fn time_ns(&self) -> u64 {
        match self.origin {
            Origin::Pcap(pcap) => pcap.time_ns(self.raw),
            Origin::Pcapng(_) => u64::try_from(self.timestamp().as_nanos()).unwrap_or(0),
        }
    }

    /// Bytes the packet had on the wire. As in the capture: usually, but not surely, at least as
    /// many as were captured.
    pub fn wire_len(&self) -> u32 {
        match self.origin {
            Origin::Pcap(pcap) => pcap.wire_len(self.raw),
            Origin::Pcapng(section) => section.packet(self.raw).map_or(0, |packet| packet.wire_len),
        }
    }

    /// What the packet begins with.
    pub fn link_type(&self) -> LinkType {
        self.link
    }

    /// The snapshot length in force for it, in bytes.
    pub fn snaplen(&self) -> u32 {
        match self.origin {
            Origin::Pcap(pcap) => pcap.snaplen,
            Origin::Pcapng(section) => section.interface(self.interface_id()).map_or(0, |interface| interface.snaplen),
        }
    }

    /// The number of the interface it came in on; 0 in a classic capture.
    pub fn interface_id(&self) -> u32 {
        match self.origin {
            Origin::Pcap(_) => 0,
            Origin::Pcapng(section) => section.packet(self.raw).map_or(0, |packet| packet.interface),
        }
    }

    /// The interface it came in on, which only pcapng describes.
    pub fn interface(&self) -> Option<&'a Interface> {
        match self.origin {
            Origin::Pcap(_) => None,
            Origin::Pcapng(section) => section.interface(self.interface_id()),
        }
    }

    /// Options of the packet, as only pcapng has them: flags, comments, drop counts.
    pub fn options(&self) -> Options<'a> {
        match self.origin {
            Origin::Pcap(_) => Options::new(&[], false),
            Origin::Pcapng(section) => section.options(self.raw),
        }
    }

    /// Comments on the packet.
    pub fn comments(&self) -> impl Iterator<Item = String> + use<'a> {
        self.options().comments()
    }
}
