//! A classic capture in stretches that several threads can read at once.
//!
//! Where a record begins is known only from the one before. So each stretch begins where a record seems to begin: where a chain of
//! plausible record headers starts. Whoever puts the stretches together sees whether a stretch begins where the one before
//! ended; if not, it is read again from there. A wrong guess costs time, never a packet.
//!
//! Invariants: a stretch holds the whole records that begin in it, or is not sound. Only what is sound is handed on: damage, a
//! cut record and whatever else is odd are left to [`Capture`](super::Capture), which reads on from any record.
//!
//! Leaves out: pcapng, whose sections and interfaces give later blocks their meaning, and everything that is not a regular file.

use super::{Burst, burst::Origin, pcap::Pcap, source::Region};
use std::io;

/// Bytes of a stretch: several of them fit a second-level cache, system calls and hand-overs do not matter.
const STRETCH: u64 = 512 << 10;
/// Records in a row that must look right where a stretch is guessed to begin.
const CHAIN: usize = 8;

/// A capture that can be read in stretches.
pub struct Split {
    file: Region,
    pcap: Pcap,
    /// Where the first record is, and the end of the last stretch.
    begin: u64,
    end: u64,
    capture: u64,
}

/// Records that begin in one part of a capture. The buffers are used again.
#[derive(Default)]
pub struct Stretch {
    bytes: Vec<u8>,
    /// How many of `bytes` were read for this stretch, and their place in the file.
    have: usize,
    base: u64,
    /// Where records begin in `bytes`; the last is where the next one would.
    marks: Vec<usize>,
    sound: bool,
}

impl Split {
    pub(super) fn new(file: Region, pcap: Pcap, begin: u64, capture: u64) -> io::Result<Self> {
        let size = file.size()?.saturating_sub(begin);
        Ok(Self { file, pcap, begin, end: begin + size / STRETCH * STRETCH, capture })
    }

    /// How many stretches there are; what follows the last one is no part of any.
    pub fn len(&self) -> usize {
        ((self.end - self.begin) / STRETCH) as usize
    }

    /// Whether the capture is too short to be read in stretches.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where the first record begins, in bytes from the file's beginning.
    pub fn begin(&self) -> u64 {
        self.begin
    }

    /// Where stretch `index` ends: records that begin from there on belong to the next.
    pub fn end_of(&self, index: usize) -> u64 {
        self.begin + (index as u64 + 1) * STRETCH
    }

    /// Reads stretch `index`, its first record at a guessed place, or at `from` if that is known. [`Stretch::is_sound`] tells whether it
    /// can be used.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(&self, index: usize, from: Option<u64>, stretch: &mut Stretch) -> io::Result<()> {
        let (begin, end) = (self.end_of(index) - STRETCH, self.end_of(index));
        let known = from.or((index == 0).then_some(begin));
        stretch.reset(known.unwrap_or(begin));
        let whole = self.extend(stretch, end.saturating_sub(stretch.base) as usize)?;
        let first = if known.is_some() { Some(0) } else { self.guess(stretch.bytes()) };
        stretch.sound = match first {
            Some(first) if whole => self.walk(stretch, first)?,
            _ => false,
        };
        Ok(())
    }

    /// Reads on until `len` bytes are there; false where the file ends before.
    fn extend(&self, stretch: &mut Stretch, len: usize) -> io::Result<bool> {
        let (old, at) = (stretch.have, stretch.base + stretch.have as u64);
        if stretch.bytes.len() < len {
            stretch.bytes.resize(len, 0);
        }
        stretch.have = len.max(old);
        self.file.fill_at(&mut stretch.bytes[old..stretch.have], at)
    }

    /// Marks the records from `first` on; false if one is not as it should be.
    fn walk(&self, stretch: &mut Stretch, first: usize) -> io::Result<bool> {
        let (end, header) = (stretch.have, self.pcap.record_header());
        let mut at = first;
        stretch.marks.push(at);
        while at < end {
            if at + header > stretch.have && !self.extend(stretch, at + header)? {
                return Ok(false);
            }
            let Some(length) = self.pcap.captured(&stretch.bytes()[at..]) else { return Ok(false) };
            at += header + length;
            stretch.marks.push(at);
        }
        Ok(at <= stretch.have || self.extend(stretch, at)?)
    }

    /// The first place from which [`CHAIN`] records seem to follow one another, or as many as there are.
    fn guess(&self, bytes: &[u8]) -> Option<usize> {
        (0..bytes.len()).find(|&at| self.chain(bytes, at))
    }

    fn chain(&self, bytes: &[u8], mut at: usize) -> bool {
        let mut near = None;
        for done in 0..CHAIN {
            let Some(record) = bytes.get(at..).filter(|rest| rest.len() >= self.pcap.record_header()) else { return done > 1 };
            let Some(length) = self.pcap.plausible(record, near) else { return false };
            near = Some(self.pcap.seconds(record));
            at += length;
        }
        true
    }
}

impl Stretch {
    /// Empty, and to be filled from that place of the file. Old bytes stay until they are overwritten: zeroing costs.
    fn reset(&mut self, base: u64) {
        self.marks.clear();
        (self.have, self.base, self.sound) = (0, base, false);
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.have]
    }

    /// Whether all records that begin in it are there, if it begins at the right place.
    pub fn is_sound(&self) -> bool {
        self.sound
    }

    /// Where its first record begins, in bytes from the file's beginning.
    pub fn begin(&self) -> u64 {
        self.base + self.marks.first().map_or(0, |&at| at as u64)
    }

    /// Where the record after its last one begins.
    pub fn end(&self) -> u64 {
        self.base + self.marks.last().map_or(0, |&at| at as u64)
    }

    /// How many packets it has.
    pub fn len(&self) -> usize {
        self.marks.len().saturating_sub(1)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Packets from `at` on, at most `max`, the stretch's first packet having that number in its capture. None after the end.
    pub fn burst<'a>(&'a self, split: &'a Split, at: usize, max: usize, number: u64) -> Option<Burst<'a>> {
        let marks = self.marks.get(at..=(at + max).min(self.len())).filter(|marks| marks.len() > 1)?;
        let (header, snaplen) = (split.pcap.record_header(), split.pcap.snaplen as usize);
        let records: Vec<&[u8]> = marks.windows(2).map(|pair| &self.bytes[pair[0]..pair[1]]).collect();
        let packets = records.iter().map(|record| &record[header..record.len().min(header + snaplen)]).collect();
        let origin = Origin::Pcap(&split.pcap);
        Some(Burst { packets, records, link: split.pcap.link, origin, first: number + at as u64, capture: split.capture })
    }
}
