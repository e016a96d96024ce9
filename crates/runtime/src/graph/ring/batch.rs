//! What goes from one stage to the next: the packets of an epoch.
//!
//! An epoch is a run of arrivals, numbered from 0 in the order in which one graph would have taken
//! them. Every stage hands on one batch an epoch, empty or not, so that who receives from several
//! replicas knows when an epoch is complete and can put its packets in the order of their numbers.
//!
//! A packet whose annotations nobody behind looks at is bytes in one piece of memory; others have
//! their annotations and what was pulled off them before their bytes. Those that were led back, and
//! those too large for a slot, travel as they are.

use super::super::Packet;
use super::pinning::Flow;
use crate::io::LinkType;
use netil::number;
use netil::pool::Kept;

/// Packets begin at multiples of this, in bytes, so that one can be copied by whole cache lines.
const LINE: usize = 64;

/// Packets of one epoch for one stage.
#[derive(Debug, Default)]
pub struct Batch {
    bytes: Vec<u8>,
    pub(super) entries: Vec<Entry>,
    /// When the first arrival of the run came, and the last one of this epoch.
    pub(super) span: Option<(u64, u64)>,
    /// How many batches the epoch has.
    width: u32,
    /// Bytes of annotations of each packet that has them with it.
    info: usize,
    /// Its packets are to be recorded.
    recorded: bool,
    /// By entry, the numbers of packets that are recorded, as far as there are some.
    numbers: Vec<u64>,
    /// By entry, packets' numbers ([`netil::number`]), as far as they are kept.
    drawn: Vec<u64>,
}

/// A packet of a batch.
#[derive(Debug)]
pub(super) struct Entry {
    /// The number of the arrival that it comes from.
    pub number: u32,
    /// The connection between the stages that it takes.
    pub lane: u16,
    pub what: What,
}

#[derive(Debug)]
pub(super) enum What {
    /// Where its bytes begin.
    Bytes {
        at: usize,
        len: u32,
        wire_len: u32,
        time_ns: u64,
        link: LinkType,
    },
    /// Where its annotations begin, which its bytes and those pulled off follow: so many.
    Kept {
        at: usize,
        len: u32,
        front: u32,
        moved: u32,
        missing: u32,
        time_ns: u64,
        link: LinkType,
    },
    Whole(Box<Packet>),
}

/// A packet to be copied into a batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plain<'b> {
    pub bytes: &'b [u8],
    pub wire_len: u32,
    pub time_ns: u64,
    pub link: LinkType,
}

impl Batch {
    /// Empties it, and keeps its memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.entries.clear();
        self.span = None;
        self.width = 0;
        self.recorded = false;
        self.numbers.clear();
        self.drawn.clear();
    }

    /// Whether its packets are to be recorded.
    pub fn is_recorded(&self) -> bool {
        self.recorded
    }

    /// Says so.
    pub fn records(&mut self, recorded: bool) {
        self.recorded = recorded;
    }

    /// The packet that was added last has that number where it was recorded.
    pub(super) fn note(&mut self, number: u64) {
        if number > 0 {
            self.numbers.resize(self.entries.len().saturating_sub(1), 0);
            self.numbers.push(number);
        }
    }

    /// The packet that was added last has that number, by which random ones are drawn.
    #[inline]
    pub(super) fn number(&mut self, number: u64) {
        if number != number::NONE {
            self.drawn.resize(self.entries.len().saturating_sub(1), number::NONE);
            self.drawn.push(number);
        }
    }

    /// When the first arrival of the run came, and the last one of this epoch.
    pub fn span(&self) -> Option<(u64, u64)> {
        self.span
    }

    /// Says so.
    pub fn spans(&mut self, span: Option<(u64, u64)>) {
        self.span = span;
    }

    /// How many batches its epoch has, one for each replica; one if nobody said.
    pub fn width(&self) -> usize {
        self.width.max(1) as usize
    }

    /// Says so.
    pub fn is_one_of(&mut self, batches: usize) {
        self.width = batches as u32;
    }

    /// How many packets it has.
    pub fn packets(&self) -> usize {
        self.entries.len()
    }

    /// Adds a copy of a packet.
    pub(super) fn add(&mut self, number: u32, lane: u16, packet: Plain<'_>) {
        let (at, Plain { bytes, wire_len, time_ns, link }) = (self.bytes.len(), packet);
        self.bytes.extend_from_slice(bytes);
        self.bytes.resize(self.bytes.len().next_multiple_of(LINE), 0);
        let what = What::Bytes { at, len: bytes.len() as u32, wire_len, time_ns, link };
        self.entries.push(Entry { number, lane, what });
    }

    /// Adds a copy of a packet with its annotations.
    pub(super) fn add_kept(&mut self, number: u32, lane: u16, packet: &Kept<'_>, link: LinkType) {
        let (at, len) = (self.bytes.len(), packet.bytes.len() as u32);
        self.info = packet.info.len();
        self.bytes.extend_from_slice(packet.info);
        self.bytes.extend_from_slice(packet.bytes);
        self.bytes.resize(self.bytes.len().next_multiple_of(LINE), 0);
        let Kept { front, moved, missing, time_ns, .. } = *packet;
        self.entries.push(Entry { number, lane, what: What::Kept { at, len, front, moved, missing, time_ns, link } });
    }

    /// The packet of an entry that has its annotations, if it is one.
    pub(super) fn kept(&self, entry: &Entry) -> Option<(Kept<'_>, LinkType)> {
        let What::Kept { at, len, front, moved, missing, time_ns, link } = entry.what else { return None };
        let info = self.bytes.get(at..at + self.info)?;
        let bytes = self.bytes.get(at + self.info..at + self.info + len as usize)?;
        Some((Kept { bytes, front, moved, info, time_ns, missing, number: number::NONE }, link))
    }

    /// Becomes a copy of a batch of packets that are bytes.
    pub(super) fn copy(&mut self, other: &Self) {
        self.clear();
        self.bytes.extend_from_slice(&other.bytes);
        self.entries.extend(other.entries.iter().filter_map(Entry::copied));
        self.drawn.extend_from_slice(&other.drawn);
        (self.span, self.width) = (other.span, other.width);
    }

    /// Adds a packet with its annotations.
    pub(super) fn add_whole(&mut self, number: u32, lane: u16, packet: Packet) {
        self.entries.push(Entry { number, lane, what: What::Whole(Box::new(packet)) });
    }

    /// The bytes from a packet's first on.
    pub(super) fn from(&self, at: usize) -> &[u8] {
        self.bytes.get(at..).unwrap_or_default()
    }
}

impl Entry {
    /// When it came.
    pub fn time_ns(&self) -> u64 {
        match &self.what {
            What::Bytes { time_ns, .. } | What::Kept { time_ns, .. } => *time_ns,
            What::Whole(packet) => packet.buffer.time_ns,
        }
    }

    /// A copy of the entry, for a batch with a copy of the bytes; `None` if its packet is not
    /// bytes.
    fn copied(&self) -> Option<Self> {
        Some(Self { number: self.number, lane: self.lane, what: self.what.copied()? })
    }
}

impl What {
    /// A copy of what says where a packet's bytes are; `None` if the packet is not bytes.
    fn copied(&self) -> Option<Self> {
        match *self {
            Self::Bytes { at, len, wire_len, time_ns, link } => Some(Self::Bytes { at, len, wire_len, time_ns, link }),
            Self::Kept { at, len, front, moved, missing, time_ns, link } => {
                Some(Self::Kept { at, len, front, moved, missing, time_ns, link })
            }
            Self::Whole(_) => None,
        }
    }

    /// Its link type.
    pub fn link(&self) -> LinkType {
        match self {
            Self::Bytes { link, .. } | Self::Kept { link, .. } => *link,
            Self::Whole(packet) => packet.link,
        }
    }
}

/// Batches of an epoch, and the order in which their packets arrive.
#[derive(Debug, Default)]
pub struct Inbox {
    batches: Vec<Batch>,
    /// Which batch, which packet of it.
    order: Vec<(u32, u32)>,
    next: usize,
    /// Where those end that may arrive now, if not all may.
    end: Option<usize>,
}

/// A packet that arrives: its place in the order, and the batch that its bytes are in.
pub(super) struct Taken<'i> {
    pub place: usize,
    pub batch: &'i Batch,
    pub entry: Entry,
}

/// Packets that arrive one after the other and belong to one replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Which replica.
    pub replica: usize,
    /// When the last one came.
    pub last_ns: u64,
}

impl Inbox {
    /// Takes batches of one epoch, whose packets then arrive in the order of their numbers; those
    /// of one number in the order of the batch that has them.
    pub fn fill(&mut self, batches: Vec<Batch>) {
        (self.next, self.end) = (0, None);
        self.order.clear();
        self.batches = batches;
        match &self.batches[..] {
            [only] if only.entries.is_sorted_by_key(|entry| entry.number) => {
                self.order.extend((0..only.entries.len() as u32).map(|n| (0, n)))
            }
            all => sort(all, &mut self.order),
        }
    }

    /// Gives the batches back, all of whose packets have arrived.
    pub fn drain(&mut self) -> Vec<Batch> {
        self.order.clear();
        (self.next, self.end) = (0, None);
        std::mem::take(&mut self.batches)
    }

    /// Lets the packets arrive that come next and belong to one of so many replicas, each of which
    /// has all packets; none if no more are there.
    pub fn begin_run(&mut self, replicas: usize) -> Option<Run> {
        let replica = |place: &(u32, u32)| Flow::owner(self.entry(*place).number, replicas);
        let first = replica(self.order.get(self.next)?);
        let length = self.order[self.next..].iter().take_while(|place| replica(place) == first).count();
        let last_ns = self.order[self.next..self.next + length].iter().map(|place| self.entry(*place).time_ns()).max()?;
        self.end = Some(self.next + length);
        Some(Run { replica: first, last_ns })
    }

    fn entry(&self, (batch, entry): (u32, u32)) -> &Entry {
        &self.batches[batch as usize].entries[entry as usize]
    }

    /// What may arrive now.
    fn open(&self) -> &[(u32, u32)] {
        &self.order[..self.end.unwrap_or(self.order.len()).min(self.order.len())]
    }

    /// The packet that arrives next, and its place in the order.
    pub(super) fn peek(&self) -> Option<(usize, &Batch, &Entry)> {
        let (batch, entry) = *self.open().get(self.next)?;
        let batch = &self.batches[batch as usize];
        Some((self.next, batch, &batch.entries[entry as usize]))
    }

    /// The packet at that place of the order.
    pub(super) fn at(&self, place: usize) -> Option<(&Batch, &Entry)> {
        let (batch, entry) = *self.open().get(place)?;
        let batch = self.batches.get(batch as usize)?;
        Some((batch, &batch.entries[entry as usize]))
    }

    /// Whether the packet behind that place has become of the same arrival.
    pub(super) fn is_followed(&self, place: usize) -> bool {
        let number = |place| self.at(place).map(|(_, entry)| entry.number);
        number(place + 1).is_some_and(|behind| number(place) == Some(behind))
    }

    /// The number by which that one was recorded before, 0 if it was not.
    pub(super) fn number_at(&self, place: usize) -> u64 {
        let place = self.open().get(place).copied();
        let number = place.and_then(|(batch, entry)| self.batches.get(batch as usize)?.numbers.get(entry as usize).copied());
        number.unwrap_or(0)
    }

    /// The number of that one by which random ones are drawn.
    pub(super) fn drawn_at(&self, place: usize) -> u64 {
        let place = self.open().get(place).copied();
        let number = place.and_then(|(batch, entry)| self.batches.get(batch as usize)?.drawn.get(entry as usize).copied());
        number.unwrap_or(number::NONE)
    }

    /// So many have arrived.
    pub(super) fn step(&mut self, packets: usize) {
        self.next += packets;
    }

    /// The next one arrives; one that travels as it is changes hands.
    pub(super) fn take(&mut self) -> Option<Taken<'_>> {
        let (batch, entry) = *self.open().get(self.next)?;
        let (place, batch) = (self.next, &mut self.batches[batch as usize]);
        let Entry { number, lane, .. } = batch.entries[entry as usize];
        let it = &mut batch.entries[entry as usize].what;
        let gone = What::Bytes { at: 0, len: 0, wire_len: 0, time_ns: 0, link: it.link() };
        let what = if let What::Whole(_) = it { std::mem::replace(it, gone) } else { it.copied().unwrap_or(gone) };
        self.next += 1;
        Some(Taken { place, batch, entry: Entry { number, lane, what } })
    }
}

/// Entries in the order of their numbers, by counting: numbers are small and dense.
fn sort(batches: &[Batch], order: &mut Vec<(u32, u32)>) {
    let entries =
        || batches.iter().zip(0..).flat_map(|(batch, b)| batch.entries.iter().zip(0..).map(move |(entry, e)| (entry.number, (b, e))));
    let most = entries().map(|(number, _)| number as usize + 1).max().unwrap_or(0);
    let mut starts = vec![0_usize; most + 1];
    entries().for_each(|(number, _)| starts[number as usize + 1] += 1);
    (0..most).for_each(|n| starts[n + 1] += starts[n]);
    order.resize(starts[most], (0, 0));
    for (number, at) in entries() {
        let start = &mut starts[number as usize];
        order[*start] = at;
        *start += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::super::pinning::OWN_RUN;
    use super::*;

    fn batch(numbers: &[u32]) -> Batch {
        let mut batch = Batch::default();
        for number in numbers {
            batch.add(*number, 0, Plain { bytes: &[*number as u8], wire_len: 1, time_ns: 0, link: LinkType::EN10MB });
        }
        batch
    }

    fn arrive(inbox: &mut Inbox) -> Vec<(u32, u8)> {
        std::iter::from_fn(|| {
            let taken = inbox.take()?;
            let Entry { number, what: What::Bytes { at, .. }, .. } = taken.entry else { return None };
            Some((number, taken.batch.from(at)[0]))
        })
        .collect()
    }

    #[test]
    fn runs_of_one_replica_arrive_by_themselves() {
        let mut inbox = Inbox::default();
        let run = OWN_RUN;
        inbox.fill(vec![batch(&[0, 1, run, run + 1, 2 * run])]);
        assert!(inbox.begin_run(2).is_some_and(|run| run.replica == 0) && arrive(&mut inbox) == [(0, 0), (1, 1)]);
        assert!(inbox.begin_run(2).is_some_and(|run| run.replica == 1) && arrive(&mut inbox) == [(run, 0), (run + 1, 1)]);
        assert!(inbox.begin_run(2).is_some_and(|run| run.replica == 0) && arrive(&mut inbox) == [(2 * run, 0)]);
        assert_eq!(inbox.begin_run(2), None);
        let mut copied = Batch::default();
        copied.copy(&batch(&[3, 9]));
        inbox.fill(vec![copied]);
        assert_eq!(arrive(&mut inbox), [(3, 3), (9, 9)]);
    }

    #[test]
    fn packets_are_known_again_that_were_recorded() {
        let (mut inbox, mut first, mut second) = (Inbox::default(), batch(&[1, 4]), batch(&[0]));
        first.note(77);
        second.note(0);
        second.records(true);
        inbox.fill(vec![first, second]);
        assert_eq!([0, 1, 2, 3].map(|place| inbox.number_at(place)), [0, 0, 77, 0]);
        let mut batches = inbox.drain();
        batches.iter_mut().for_each(Batch::clear);
        assert!(!batches[1].is_recorded());
        inbox.fill(batches);
        assert_eq!(inbox.number_at(2), 0);
    }

    #[test]
    fn packets_of_several_batches_arrive_in_the_order_of_their_numbers() {
        let mut inbox = Inbox::default();
        inbox.fill(vec![batch(&[5, 0, 5, 7]), batch(&[]), batch(&[6, 1])]);
        assert_eq!(arrive(&mut inbox), [(0, 0), (1, 1), (5, 5), (5, 5), (6, 6), (7, 7)]);
        assert_eq!(inbox.drain().len(), 3);
        inbox.fill(vec![batch(&[2, 9])]);
        assert_eq!(arrive(&mut inbox), [(2, 2), (9, 9)]);
        assert!(inbox.take().is_none() && inbox.peek().is_none());
    }
}
