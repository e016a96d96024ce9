//! Classic pcap: one header, then records of one link type.
//!
//! A record is seconds, a fraction, captured length, wire length (4 bytes each, in the file's byte
//! order), then the captured bytes. What libpcap 1.10.3 tolerates is tolerated here: versions
//! 2.0–2.4 and 543.0 with their swapped lengths, records longer than the snapshot length (cut to
//! it, up to the link type's limit), and the 24-byte record headers of patched Linux kernels (magic
//! a1b2cd34).
//!
//! Source: draft-ietf-opsawg-pcap; pcap-savefile(5). Leaves out: fixing up pseudo-headers of USB
//! and NFLOG captures from hosts of the other byte order.

use super::{Damage, Format, Info, Spans, Step};
use crate::io::{LinkType, Precision, Timestamp};

const MICRO: u32 = 0xa1b2_c3d4;
const NANO: u32 = 0xa1b2_3c4d;
const PATCHED: u32 = 0xa1b2_cd34;

/// Bytes of the file header.
pub(super) const FILE_HEADER: usize = 24;
/// Bytes of an ordinary record header.
pub(super) const RECORD_HEADER: usize = 16;

/// What the file header says.
#[derive(Clone, Debug)]
pub(in crate::io) struct Pcap {
    pub(in crate::io) swapped: bool,
    lengths: Lengths,
    record_header: usize,
    limit: u32,
    pub(in crate::io) precision: Precision,
    pub(in crate::io) link: LinkType,
    pub(in crate::io) snaplen: u32,
    /// The upper six bits of the link type field: the length of a frame check sequence, if one is
    /// told.
    pub(in crate::io) fcs: u32,
}

/// Which of a record's two lengths is the captured one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lengths {
    CapturedFirst,
    WireFirst,
    /// Version 2.3: whichever is smaller.
    SmallerCaptured,
}

impl Pcap {
    /// Whether a capture that begins so is a classic pcap.
    pub(super) fn knows(magic: [u8; 4]) -> bool {
        let known = |magic| matches!(magic, MICRO | NANO | PATCHED);
        known(u32::from_le_bytes(magic)) || known(u32::from_be_bytes(magic))
    }

    /// Reads a file header, whose magic [`Pcap::knows`].
    pub(super) fn parse(header: &[u8; FILE_HEADER]) -> Result<Self, Damage> {
        let native = u32_at(header, 0, false);
        let swapped = !matches!(native, MICRO | NANO | PATCHED);
        let field = |at| u32_at(header, at, swapped);
        let version = (u16_at(header, 4, swapped), u16_at(header, 6, swapped));
        let lengths = Lengths::of_version(version).ok_or(Damage::Version { major: version.0, minor: version.1 })?;
        let link = LinkType::from_file(field(20) & 0x03ff_ffff);
        let patched = field(0) == PATCHED;
        let snaplen = snapshot(field(16), link);
        // A patched kernel may have put 14 bytes of made-up Ethernet before `snaplen` bytes.
        let room = if patched && link == LinkType::EN10MB { 14 } else { 0 };
        Ok(Self {
            swapped,
            lengths,
            record_header: if patched { 24 } else { RECORD_HEADER },
            limit: link.max_packet(),
            precision: if field(0) == NANO { Precision::Nano } else { Precision::Micro },
            link,
            snaplen: snaplen.saturating_add(room).min(i32::MAX as u32),
            fcs: field(20) & 0xfc00_0000,
        })
    }

    /// Whether the records' bytes are what a writer here would write for them.
    pub(in crate::io) fn copies_verbatim(&self) -> bool {
        !self.swapped && self.lengths == Lengths::CapturedFirst && self.record_header == RECORD_HEADER
    }

    pub(super) fn info(&self) -> Info {
        Info {
            format: Format::Pcap,
            link_types: vec![self.link],
            precision: self.precision,
            snaplen: self.snaplen,
            fcs: self.fcs,
            complete: true,
        }
    }

    /// Judges the record at the beginning of `bytes`.
    pub(super) fn step(&self, bytes: &[u8]) -> Step {
        if bytes.len() < self.record_header {
            return Step::More(self.record_header);
        }
        let (captured, _) = self.lengths_of(bytes);
        if captured > self.limit {
            return Step::Damaged(Damage::PacketTooLong { length: captured, limit: self.limit });
        }
        let whole = self.record_header + captured as usize;
        if bytes.len() < whole { Step::More(whole) } else { Step::Packet }
    }

    /// Takes whole, sane records off the beginning of `bytes`, up to `max`; the rest is for
    /// [`Pcap::step`] to judge.
    pub(super) fn collect<'a>(&self, bytes: &'a [u8], max: usize, spans: &mut Spans<'a>) {
        match (self.lengths, self.swapped) {
            (Lengths::CapturedFirst, false) => self.walk(bytes, max, spans, |header| u32_at(header, 8, false)),
            (Lengths::CapturedFirst, true) => self.walk(bytes, max, spans, |header| u32_at(header, 8, true)),
            _ => self.walk(bytes, max, spans, |header| self.lengths_of(header).0),
        }
    }

    /// The loop that every packet of a classic capture goes through: one load, two compares, two
    /// slices.
    #[inline(always)]
    fn walk<'a>(&self, bytes: &'a [u8], max: usize, spans: &mut Spans<'a>, captured: impl Fn(&[u8]) -> u32) {
        let (header, limit, snaplen) = (self.record_header, self.limit, self.snaplen as usize);
        let mut rest = bytes;
        for _ in 0..max {
            let Some(head) = rest.get(..header) else { break };
            let length = captured(head);
            if length > limit {
                break;
            }
            let Some((record, after)) = rest.split_at_checked(header + length as usize) else { break };
            let data = &record[header..];
            spans.push(record.len(), &data[..data.len().min(snaplen)]);
            rest = after;
        }
    }

    /// The longest packet there may be.
    pub(super) fn limit(&self) -> u32 {
        self.limit
    }

    /// Whether records are as today's programs write them, in this machine's byte order.
    pub(super) fn is_ordinary(&self) -> bool {
        self.copies_verbatim()
    }

    /// Bytes before each packet.
    pub(super) fn record_header(&self) -> usize {
        self.record_header
    }

    /// Bytes of the packet of a record, of which at least the header is there; `None` if it is too
    /// long to be one.
    #[inline(always)]
    pub(super) fn captured(&self, record: &[u8]) -> Option<usize> {
        let ordinary = self.lengths == Lengths::CapturedFirst && !self.swapped;
        let length = if ordinary { u32_at(record, 8, false) } else { self.lengths_of(record).0 };
        (length <= self.limit).then_some(length as usize)
    }

    /// The record of a packet that is a slice of `bytes`; empty where its header does not stand
    /// before it.
    pub(super) fn record_of<'a>(&self, bytes: &'a [u8], packet: &[u8]) -> &'a [u8] {
        let begin = packet.as_ptr().addr().wrapping_sub(bytes.as_ptr().addr()).wrapping_sub(self.record_header);
        let record = bytes.get(begin..).unwrap_or_default();
        let length = self.captured(record).unwrap_or(0);
        record.get(..self.record_header + length).unwrap_or_default()
    }

    /// The length of what looks like a record, within a day of another one's `seconds`; `None` if
    /// it does not. A guess: true records may look odd, other bytes like records.
    pub(super) fn plausible(&self, record: &[u8], seconds: Option<i64>) -> Option<usize> {
        const DAY: u64 = 86_400;
        let (captured, wire) = self.lengths_of(record);
        let parts = if self.precision == Precision::Nano { 1_000_000_000 } else { 1_000_000 };
        let near = seconds.is_none_or(|other| i64::from(self.field(record, 0)).abs_diff(other) < DAY);
        let sane = captured > 0 && captured <= self.limit && captured <= wire && self.field(record, 4) < parts;
        (near && sane).then_some(self.record_header + captured as usize)
    }

    /// Whole seconds of a record's time.
    pub(super) fn seconds(&self, record: &[u8]) -> i64 {
        i64::from(self.field(record, 0))
    }

    pub(super) fn timestamp(&self, record: &[u8]) -> Timestamp {
        let (secs, part) = (i64::from(self.field(record, 0)), self.field(record, 4));
        match self.precision {
            Precision::Micro => Timestamp::from_micros(secs, part),
            Precision::Nano => Timestamp::from_nanos(secs, part),
        }
    }

    /// A record's time in nanoseconds since the epoch.
    #[inline(always)]
    pub(super) fn time_ns(&self, record: &[u8]) -> u64 {
        let part = u64::from(self.field(record, 4));
        u64::from(self.field(record, 0)) * 1_000_000_000 + if self.precision == Precision::Nano { part } else { part * 1000 }
    }

    #[inline(always)]
    pub(super) fn wire_len(&self, record: &[u8]) -> u32 {
        self.lengths_of(record).1
    }

    /// Captured and wire length.
    #[inline(always)]
    pub(super) fn lengths_of(&self, record: &[u8]) -> (u32, u32) {
        let (first, second) = (self.field(record, 8), self.field(record, 12));
        match self.lengths {
            Lengths::CapturedFirst => (first, second),
            Lengths::SmallerCaptured if first <= second => (first, second),
            _ => (second, first),
        }
    }

    #[inline(always)]
    fn field(&self, record: &[u8], at: usize) -> u32 {
        u32_at(record, at, self.swapped)
    }
}

impl Lengths {
    fn of_version(version: (u16, u16)) -> Option<Self> {
        match version {
            (2, 0..=2) | (543, 0) => Some(Self::WireFirst),
            (2, 3) => Some(Self::SmallerCaptured),
            (2, 4) => Some(Self::CapturedFirst),
            _ => None,
        }
    }
}

/// The snapshot length in force: what the file says, or the link type's limit where it says nothing
/// usable.
pub(super) fn snapshot(told: u32, link: LinkType) -> u32 {
    if told == 0 || told > i32::MAX as u32 { link.max_packet() } else { told }
}

/// Four bytes at `at`, in this machine's byte order or the other one; zero where there are none.
#[inline(always)]
pub(super) fn u32_at(bytes: &[u8], at: usize, swapped: bool) -> u32 {
    let field = bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or_default();
    let value = u32::from_ne_bytes(field);
    if swapped { value.swap_bytes() } else { value }
}

/// Two bytes at `at`, likewise.
#[inline(always)]
pub(super) fn u16_at(bytes: &[u8], at: usize, swapped: bool) -> u16 {
    let field = bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or_default();
    let value = u16::from_ne_bytes(field);
    if swapped { value.swap_bytes() } else { value }
}
