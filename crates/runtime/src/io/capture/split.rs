//! A classic capture in groups of packets that are found many at a time and by several threads.
//!
//! Where a record begins is known only from the one before, so a walk over memory is one cache miss
//! after the other. Therefore the neighbouring stretches of a group are walked in step, a record of
//! each in turn. The first record of a stretch is guessed: it is where a chain of plausible record
//! headers starts. Where stretches meet it is seen whether the guess was right; if not, the stretch
//! is walked again. A wrong guess costs time, never a packet.
//!
//! Files are mapped where that is quick, otherwise copied: a mapping takes 4 µs a MiB where the
//! system keeps the file in pieces of 2 MiB, as it does after reading ahead, and 65–210 µs where it
//! keeps pages of 4 KiB, as on tmpfs; a copy takes 75–140 µs. What is copied is in the cache, so
//! that its records need not be found in step.
//!
//! Invariants: a group's packets are those of whole, sane records, one after the other without a
//! gap. What is odd (damage, a cut record, a file that shrinks) ends the group before it and is
//! left to [`Capture`](super::Capture), which reads on from any record.
//!
//! Leaves out: pcapng, whose sections and interfaces give later blocks their meaning, and
//! everything that is not a regular file.

use super::{
    Burst, Step,
    burst::{Origin, Packets, Records, Span},
    pcap::{self, Pcap},
    source::Region,
};
use crate::io::sys::{mapped::Mapping, prefetch};
use std::{
    cell::OnceCell,
    ops::Range,
    time::{Duration, Instant},
};

/// Bytes of a group that is mapped: its stretches are long enough for guesses not to matter, and
/// its packets still in a cache when they are filtered.
const MAPPED: usize = 4 << 20;
/// Bytes of a group that is copied: one stretch that fits a second-level cache.
const COPIED: usize = 512 << 10;
/// Stretches of a mapped group: as many misses as a processor core has under way at once.
const MANY: usize = 16;
/// Stretches of a mapped group where the processor's own prefetching finds the records, as long as
/// it need not follow more than a few walks.
const FEW: usize = 4;
/// Records of fewer bytes on average are found by it.
const SHORT: usize = 256;
/// Where in a record the fields of its packet are that filters look at; the cache line with its
/// length is here already.
const FIELDS: usize = 52;
/// Bytes of a stretch that are searched for its first record: the longest packets of networks fit
/// in.
const SEARCH: usize = 96 << 10;
/// Records in a row that must look right where a stretch is guessed to begin.
const CHAIN: usize = 8;
/// A file is mapped if one of the groups that are tried can be in that time.
const QUICK: Duration = Duration::from_micros(100);

/// How the bytes of a file are got at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reading {
    /// In the quicker of the two ways.
    #[default]
    Quicker,
    /// The file is mapped, if it can be. The process gets a handler for SIGBUS, which other
    /// programs raise by making the file shorter; signals that are not about mappings of netvm's go
    /// to the handler that was there before.
    Mapped,
    /// The file is copied into memory piece by piece. Nothing happens then to a packet that was
    /// found, whatever other programs do to the file.
    Copied,
}

/// A capture whose packets can be read in groups.
pub struct Split {
    file: Region,
    /// All bytes of the file, and where in them the capture begins.
    map: Option<(Mapping, usize)>,
    /// Bytes of the capture before the first group, and all there are.
    begin: u64,
    size: u64,
    pcap: Pcap,
    capture: u64,
}

/// The packets whose records begin in one part of a capture. Its memory is used again.
#[derive(Default)]
pub struct Group {
    /// Where the bytes are, if they are copied, and how many they are. What is behind them are
    /// older ones: zeroing costs.
    copy: Vec<u8>,
    have: usize,
    /// Where in the capture the bytes begin.
    base: u64,
    stretches: Vec<Stretch>,
    /// Where the first record is, and the one after the last, from `base` on.
    found: Option<Range<usize>>,
    ended: bool,
    /// Bytes of a record on average, as last found; 0 if nothing was.
    average: usize,
}

/// Records that are being found. All places are those in the group's bytes.
#[derive(Default)]
struct Stretch {
    /// Where the first record is, if that is known or guessed.
    begin: Option<usize>,
    /// Where the next record is.
    at: usize,
    /// Records that begin from here on are not of this stretch.
    end: usize,
    /// The record at `at` is not as it should be.
    odd: bool,
    /// Packets found, and room for more.
    spans: Vec<Span>,
    count: usize,
}

/// A walk over one stretch.
struct Cursor<'s> {
    at: usize,
    stop: usize,
    odd: bool,
    room: std::slice::IterMut<'s, Span>,
}

impl Split {
    /// The capture from `begin` on.
    pub(super) fn new(file: &Region, pcap: Pcap, begin: u64, capture: u64, reading: Reading) -> std::io::Result<Self> {
        let map = match reading {
            Reading::Quicker => file.map().ok().filter(|(map, start)| is_quick(map, *start)),
            Reading::Mapped => file.map().ok(),
            Reading::Copied => None,
        };
        // What is mapped stays as long as it was.
        let size = map.as_ref().map_or_else(|| file.size(), |(map, start)| Ok(map.bytes().len().saturating_sub(*start) as u64))?;
        Ok(Self { file: file.clone(), map, begin, size, pcap, capture })
    }

    /// Whether the file is mapped, so that one thread, too, reads it more quickly in groups.
    pub fn is_mapped(&self) -> bool {
        self.map.is_some()
    }

    /// How many groups there are; the last may be a short one.
    pub fn len(&self) -> usize {
        self.size.saturating_sub(self.begin).div_ceil(self.group()) as usize
    }

    /// Whether nothing is left to read.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where the first record begins, in bytes from the capture's beginning.
    pub fn begin(&self) -> u64 {
        self.begin
    }

    /// Where group `index` ends, likewise: records that begin from there on belong to the next.
    pub fn end_of(&self, index: usize) -> u64 {
        self.size.min(self.begin + (index as u64 + 1) * self.group())
    }

    /// Whether all bytes read up to now were the file's: false after another program made it
    /// shorter.
    pub fn is_whole(&self) -> bool {
        self.map.as_ref().is_none_or(|(map, _)| map.is_whole())
    }

    /// Finds the packets of group `index`, the first at a guessed place, or at `from` if that is
    /// known.
    pub fn read(&self, index: usize, from: Option<u64>, group: &mut Group) {
        let begin = self.begin + index as u64 * self.group();
        let known = from.or((index == 0).then_some(begin));
        group.base = known.unwrap_or(begin);
        group.found = None;
        let len = self.end_of(index).saturating_sub(group.base) as usize;
        if !self.fetch(group, len) {
            return;
        }
        self.cut(group, len, known.is_some());
        self.find(group);
        self.join(group);
    }

    fn group(&self) -> u64 {
        (if self.is_mapped() { MAPPED } else { COPIED }) as u64
    }

    /// Gets a group's first `len` bytes; false if they are not there.
    fn fetch(&self, group: &mut Group, len: usize) -> bool {
        if let Some((map, start)) = &self.map {
            let begin = start + group.base as usize;
            map.expect(begin..begin + len);
            return true;
        }
        group.have = 0;
        self.extend(group, len)
    }

    /// Copies on until `len` bytes are there.
    fn extend(&self, group: &mut Group, len: usize) -> bool {
        let old = group.have;
        group.have = len.max(old);
        if group.copy.len() < group.have {
            group.copy.resize(group.have, 0);
        }
        self.file.fill_at(&mut group.copy[old..group.have], group.base + old as u64).unwrap_or(false)
    }

    /// A group's bytes, and those of the file that follow if it is mapped.
    fn bytes<'a>(&'a self, group: &'a Group) -> &'a [u8] {
        match &self.map {
            Some((map, start)) => map.bytes().get(start + group.base as usize..).unwrap_or_default(),
            None => &group.copy[..group.have],
        }
    }

    /// Makes a group's stretches.
    fn cut(&self, group: &mut Group, len: usize, known: bool) {
        let stretch = match self.is_mapped() {
            false => len.max(1),
            true if (1..SHORT).contains(&group.average) => MAPPED / FEW,
            true => MAPPED / MANY,
        };
        let mut stretches = std::mem::take(&mut group.stretches);
        stretches.resize_with(len.div_ceil(stretch), Stretch::default);
        let bytes = self.bytes(group);
        for (at, one) in (0..).step_by(stretch).zip(&mut stretches) {
            let end = len.min(at + stretch);
            one.reset(if at == 0 && known { Some(0) } else { self.guess(bytes, at..end) }, end);
        }
        group.stretches = stretches;
    }

    /// Marks the packets of all stretches.
    fn find(&self, group: &mut Group) {
        loop {
            let mut stretches = std::mem::take(&mut group.stretches);
            self.walk_in_step(self.bytes(group), &mut stretches);
            group.stretches = stretches;
            let more = self.wanted(group).is_some_and(|len| self.extend(group, len));
            match group.stretches.last_mut() {
                Some(last) if more => last.odd = false,
                _ => return,
            }
        }
    }

    /// The bytes that a copied group needs for its last record to be whole.
    fn wanted(&self, group: &Group) -> Option<usize> {
        let last = group.stretches.last().filter(|last| last.odd && !self.is_mapped())?;
        match self.pcap.step(self.bytes(group).get(last.at..)?) {
            Step::More(len) => Some(last.at + len),
            _ => None,
        }
    }

    /// Takes a record of each stretch in turn until all are at their ends.
    fn walk_in_step(&self, bytes: &[u8], stretches: &mut [Stretch]) {
        let mut cursors: Vec<Cursor<'_>> = stretches.iter_mut().map(Stretch::cursor).collect();
        match self.pcap.is_ordinary() {
            true => self.walk(bytes, &mut cursors, pcap::RECORD_HEADER, |record| pcap::u32_at(record, 8, false)),
            false => self.walk(bytes, &mut cursors, self.pcap.record_header(), |record| self.pcap.lengths_of(record).0),
        }
        let ends: Vec<_> = cursors.into_iter().map(|cursor| (cursor.at, cursor.odd, cursor.room.len())).collect();
        for (stretch, (at, odd, room)) in stretches.iter_mut().zip(ends) {
            (stretch.at, stretch.odd, stretch.count) = (at, odd, stretch.spans.len() - room);
        }
    }

    /// The loop that every packet goes through: `captured` tells the captured length of a record.
    #[inline(always)]
    fn walk(&self, bytes: &[u8], cursors: &mut [Cursor<'_>], header: usize, captured: impl Fn(&[u8]) -> u32) {
        let (limit, snaplen) = (self.pcap.limit(), self.pcap.snaplen);
        let mut walking = true;
        while walking {
            walking = false;
            for cursor in &mut *cursors {
                if cursor.at >= cursor.stop {
                    continue;
                }
                let Some(record) = bytes.get(cursor.at..cursor.at + header) else {
                    cursor.give_up();
                    continue;
                };
                let length = captured(record);
                let next = cursor.at + header + length as usize;
                let whole = length <= limit && next <= bytes.len();
                let Some(span) = whole.then(|| cursor.room.next()).flatten() else {
                    cursor.give_up();
                    continue;
                };
                *span = Span { at: (cursor.at + header) as u32, len: length.min(snaplen) };
                cursor.at = next;
                prefetch(bytes, next + FIELDS);
                walking = true;
            }
        }
    }

    /// Makes each stretch begin where the one before ends.
    fn join(&self, group: &mut Group) {
        let Some(begin) = group.stretches.first().and_then(|first| first.begin) else { return };
        let (mut at, mut ended) = (begin, false);
        let mut stretches = std::mem::take(&mut group.stretches);
        for stretch in &mut stretches {
            // Behind something odd, or within one long record, nothing is found again.
            if stretch.begin != Some(at) {
                stretch.reset(Some(at), stretch.end);
                self.walk_in_step(self.bytes(group), std::slice::from_mut(stretch));
            }
            (at, ended) = (stretch.at, stretch.odd);
        }
        let count: usize = stretches.iter().map(|stretch| stretch.count).sum();
        group.average = (at - begin).checked_div(count).unwrap_or(0);
        (group.stretches, group.found, group.ended) = (stretches, Some(begin..at), ended);
    }

    /// The first place from which [`CHAIN`] records seem to follow one another, or as many as there
    /// are.
    fn guess(&self, bytes: &[u8], range: Range<usize>) -> Option<usize> {
        let bytes = bytes.get(range.clone())?;
        let seems = |(at, record): (usize, &[u8])| self.pcap.plausible(record, None).is_some() && self.chain(bytes, at);
        let found = bytes.windows(pcap::RECORD_HEADER).take(SEARCH).enumerate().position(seems);
        found.map(|at| range.start + at)
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

/// Whether one of the first groups can be mapped quickly; the others only if so, since it takes
/// them the time that it tells.
fn is_quick(map: &Mapping, start: usize) -> bool {
    let Some(room) = map.bytes().len().checked_sub(start + MAPPED) else { return false };
    (1..=4).map(|part| start + room / 4 * part).any(|at| {
        let begun = Instant::now();
        map.expect(at..at + MAPPED);
        begun.elapsed() < QUICK
    })
}

impl Stretch {
    /// Without packets, and not to be walked if nobody knows where to begin.
    fn reset(&mut self, begin: Option<usize>, end: usize) {
        (self.begin, self.at, self.end, self.odd, self.count) = (begin, begin.unwrap_or(end), end, false, 0);
    }

    /// A walk that goes on from where the last one ended, with room for as many packets as can be.
    fn cursor(&mut self) -> Cursor<'_> {
        let most = self.count + self.end.saturating_sub(self.at).div_ceil(pcap::RECORD_HEADER);
        if self.spans.len() < most {
            self.spans.resize(most, Span::default());
        }
        Cursor { at: self.at, stop: self.end, odd: false, room: self.spans[self.count..].iter_mut() }
    }
}

impl Cursor<'_> {
    /// The record here is not as it should be.
    #[cold]
    fn give_up(&mut self) {
        (self.odd, self.stop) = (true, self.at);
    }
}

impl Group {
    /// Where its first record begins, in bytes from the capture's beginning; `None` if that could
    /// not be guessed, or not be read.
    pub fn begin(&self) -> Option<u64> {
        self.found.as_ref().map(|found| self.base + found.start as u64)
    }

    /// Where the record after its last one begins, likewise.
    pub fn end(&self) -> Option<u64> {
        self.found.as_ref().map(|found| self.base + found.end as u64)
    }

    /// Whether the record there is odd, so that nothing more can be read in groups.
    pub fn is_ended(&self) -> bool {
        self.ended
    }

    /// Its packets in bursts of at most `max`, the first having that number in its capture.
    pub fn bursts<'a>(&'a self, split: &'a Split, max: usize, number: u64) -> impl Iterator<Item = Burst<'a>> {
        let parts = self.stretches.iter().flat_map(move |stretch| stretch.spans[..stretch.count].chunks(max));
        parts.scan(number, |next, spans| {
            let first = *next;
            *next += spans.len() as u64;
            Some(split.burst(split.bytes(self), spans, first))
        })
    }
}

impl Split {
    fn burst<'a>(&'a self, bytes: &'a [u8], spans: &'a [Span], first: u64) -> Burst<'a> {
        let packets = Packets::Spans { bytes, spans, slices: OnceCell::new() };
        let (records, origin) = (Records::Around(bytes), Origin::Pcap(&self.pcap));
        Burst { packets, records, link: self.pcap.link, origin, first, capture: self.capture }
    }
}
