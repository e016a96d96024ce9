//! Packets side by side in one memory, each in a slot: what compiled code runs bursts over.
//!
//! ```text
//! memory of a slot:  annotations │ room before │ packet, up to 2 KiB │ …     a whole and odd number of cache lines
//! ```
//!
//! A slot is taken when a packet arrives and given back when it is gone; the one given back last is
//! taken first, so that few are in use and those are in the caches. When all have been given back,
//! they are in order again: what lies in order, processors fetch by themselves (a router: 1 ns a
//! packet). [`Slots::lift`] makes a packet in a slot an exchange buffer, and [`Slots::lower`] the
//! reverse, for work that is done on those; a packet that a slot is too small for stays an exchange
//! buffer, whose memory the slot then points to.
//!
//! What most packets need is in their [`Slot`], everything else in its [`Detail`], which is not
//! touched as long as the packet is as long and where it was put.
//!
//! Copies of a packet that nobody changes any more may be in the same slot ([`Slots::more`]), which
//! is then in several lists, given back by each, and free behind the last.
//!
//! Invariant: a slot's place lies within its memory ([`Slots::check`]). Compiled code says where
//! packets lie, and is not believed: the memory is only looked at through slices.

mod even;
mod kept;
mod numbers;
mod put;
mod shared;
mod tags;

use crate::buffer::{ExchangeBuffer, PacketExtent, ROOM};
use std::collections::HashMap;
use std::ops::{Deref, DerefMut};
use tags::Tags;

pub use even::{Even, Late, Lines};
pub use kept::Kept;

/// A cache line, in bytes.
const LINE: usize = 64;
/// The bytes of one.
pub type Line = [u8; LINE];
/// The longest packet that a slot has memory for.
pub const LONGEST: usize = 2048;
/// Bytes behind a packet in a slot that can be read, whatever they are.
pub const BEHIND: usize = 8;
/// A large page of memory, in bytes: where a pool begins that has several, so that the system can
/// keep it in such.
const LARGE_PAGE: usize = 2 << 20;

/// Where in its memory a packet begins that [`Slots::put`] has put there.
pub const HEAD: usize = ROOM;

/// When a packet arrived and how long it is: a quarter of a cache line, as compiled code sees it.
/// Of most packets nobody needs to know more.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slot {
    /// Arrival time in nanoseconds since 1970.
    pub time_ns: u64,
    /// The packet's length.
    pub len: u32,
    /// [`PRESENT`], [`FRESH`], [`CUT`] and [`COPY`], and in the bits from [`ENTRY`] on the number
    /// of the entry by which it comes in.
    pub kind: u32,
}

/// In [`Slot::kind`]: there is a packet.
pub const PRESENT: u32 = 1;
/// In [`Slot::kind`]: the packet lies as [`Slots::put`] put it, its first byte at [`HEAD`],
/// annotations zero, nothing pulled or pushed.
pub const FRESH: u32 = 2;
/// In [`Slot::kind`]: how much of the packet was not captured is in the [`Detail`]; elsewhere
/// nothing is missing.
pub const CUT: u32 = 4;
/// In [`Slot::kind`]: the packet is a copy of one of the burst that is run, whose number is in the
/// [`Detail`].
pub const COPY: u32 = 8;
/// In [`Slot::kind`]: the first bit of the entry.
pub const ENTRY: u32 = 4;

impl Slot {
    /// Whether there is a packet.
    #[inline]
    pub fn is_present(&self) -> bool {
        self.kind & PRESENT != 0
    }

    /// By which entry it comes in.
    pub fn entry(&self) -> u32 {
        self.kind >> ENTRY
    }

    /// Whether it is a copy of a packet of the burst that is run.
    pub fn is_copy(&self) -> bool {
        self.kind & COPY != 0
    }

    #[inline]
    fn is_fresh(&self) -> bool {
        self.kind & FRESH != 0
    }
}

/// A packet's place, if it is not [`FRESH`], what of it is missing, if it was [`CUT`] short, and
/// what became of it, as compiled code sees them.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Detail {
    /// Its memory, counted from the pool's, modulo 2^64.
    pub at: u64,
    /// Bytes of that memory before the packet's first.
    pub head: u32,
    /// Bytes before the head that were pulled and are still there.
    pub front: u32,
    /// Bytes pulled less bytes pushed since the packet came into being, modulo 2^32.
    pub moved: u32,
    /// What became of it: numbers that the code and its loader agree on.
    pub outcome: u32,
    /// In which member.
    pub member: u32,
    /// The port, reason or trap; of a copy that compiled code made, and that left by an exit, of
    /// which packet of the burst it is.
    pub value: u32,
    /// The place in the program.
    pub site: u32,
    /// Bytes that were not captured ([`ExchangeBuffer::missing`]), if it was [`CUT`] short.
    pub missing: u32,
}

/// The slots, by a pointer: a pool changes hands with each list of packets.
#[derive(Debug, Default)]
pub struct Pool(Box<Slots>);

/// What a pool consists of.
#[derive(Debug, Default)]
pub struct Slots {
    memory: Vec<u8>,
    /// Where the first slot's memory begins, how far it is from one to the next, and how much is
    /// kept for annotations.
    begin: usize,
    stride: usize,
    room_before: usize,
    /// Bytes of info memory, as zeros: that of packets which are fresh.
    zeros: Vec<u8>,
    slots: Vec<Slot>,
    details: Vec<Detail>,
    free: Vec<u32>,
    /// By slot how many more lists it is in than one, and the sum of these.
    more: Vec<u32>,
    shared: u64,
    /// By slot its packet's number; empty where nobody needs those.
    numbers: Vec<u64>,
    /// Behind so many of those that are free there is no order.
    in_order: usize,
    tags: Tags,
    expected: Vec<Expected>,
    /// Even packets that somebody copies who has been told ([`Self::defer`]).
    late: Vec<Late>,
    defers: bool,
    /// [`Slot::kind`] of what is put.
    kind: u32,
    /// No packet's time has been later so far.
    latest: u64,
    /// Packets too large for their slots.
    large: HashMap<u32, ExchangeBuffer<'static>>,
}

/// A packet to be copied into a slot.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'b> {
    /// The packet and, if there is something, what is behind it: then a whole cache line can be
    /// copied, which is a few instructions.
    pub bytes: &'b [u8],
    /// The packet's length.
    pub len: usize,
    /// Arrival time in nanoseconds since 1970.
    pub time_ns: u64,
    /// Length on the wire in bytes.
    pub wire_len: u32,
}

/// Where in the memory of this process packets lie that will be put into slots soon, from one cache
/// line up to another: addresses, which nobody looks at but to fetch what is there.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected {
    /// The first line's.
    pub from: usize,
    /// Behind the last line.
    pub to: usize,
}

/// From the memory of a slot to that of the next.
#[inline]
pub const fn stride(info_size: usize) -> usize {
    let lines = (room_for(info_size) + ROOM + LONGEST) / LINE;
    (lines | 1) * LINE
}

/// Before a slot's memory, for annotations.
#[inline]
pub const fn room_for(info_size: usize) -> usize {
    info_size.next_multiple_of(LINE)
}

fn own_memory(id: u32, info_size: usize) -> u64 {
    (id as usize * stride(info_size) + room_for(info_size)) as u64
}

impl Pool {
    /// So many slots for packets with `info_size` bytes of info memory.
    pub fn new(count: u32, info_size: usize) -> Self {
        let size = count as usize * stride(info_size);
        let align = if size >= LARGE_PAGE { LARGE_PAGE } else { LINE };
        let memory = vec![0; size + align + BEHIND];
        let begin = memory.as_ptr().align_offset(align).min(align);
        let own = |id: u32| Detail { at: own_memory(id, info_size), ..Detail::default() };
        let (slots, details) = (vec![Slot::default(); count as usize], (0..count).map(own).collect());
        let free = (0..count).rev().collect();
        let (stride, room_before) = (stride(info_size), room_for(info_size));
        let all = Slots {
            memory,
            begin,
            stride,
            room_before,
            zeros: vec![0; info_size],
            slots,
            details,
            free,
            more: vec![0; count as usize],
            shared: 0,
            numbers: Vec::new(),
            in_order: count as usize,
            tags: Tags::default(),
            expected: Vec::new(),
            late: Vec::new(),
            defers: false,
            kind: PRESENT | FRESH,
            latest: 0,
            large: HashMap::new(),
        };
        Self(Box::new(all))
    }
}

impl Deref for Pool {
    type Target = Slots;

    #[inline]
    fn deref(&self) -> &Slots {
        &self.0
    }
}

impl DerefMut for Pool {
    #[inline]
    fn deref_mut(&mut self) -> &mut Slots {
        &mut self.0
    }
}

impl Slots {
    /// All slots.
    #[inline]
    pub fn size(&self) -> usize {
        self.slots.len()
    }

    /// Whether all packets have the same tag.
    #[inline]
    pub fn is_alike(&self) -> bool {
        self.tags.is_alike()
    }

    /// Notes of a copy of which arrival it is: [`Detail::value`].
    pub fn note(&mut self, copy: u32, arrival: u32) {
        self.slots[copy as usize].kind |= COPY;
        self.details[copy as usize].value = arrival;
    }

    /// Slots that nothing is in.
    #[inline]
    pub fn room(&self) -> usize {
        self.free.len()
    }

    /// A copy of a packet in a slot; `None` if there is no room. The tag is the owner's.
    #[inline]
    pub fn put(&mut self, bytes: &[u8], time_ns: u64, wire_len: u32, tag: u32) -> Option<u32> {
        let mut ids = Vec::new();
        self.put_many([Arrival { bytes, len: bytes.len(), time_ns, wire_len }].into_iter(), tag, &mut ids);
        ids.pop()
    }

    /// Gives the packets in these slots tags that follow each other.
    pub fn number(&mut self, ids: &[u32], first: u32) {
        self.tags.number(ids, first, self.slots.len());
    }

    /// So many slots, which go behind `ids`, or as many as there are, for [`Self::put_even`]; the
    /// first of them if they follow each other.
    pub fn take(&mut self, count: usize, ids: &mut Vec<u32>) -> Option<u32> {
        let left = self.free.len().saturating_sub(count);
        let first = self.free.last().copied().filter(|_| self.in_order == self.free.len());
        ids.extend(self.free.drain(left..).rev());
        self.in_order = self.in_order.min(left);
        first
    }

    /// Says what will be put next, behind what is expected already. Compiled code fetches that
    /// while it runs packets, a line with each, when memory has less to do than while packets are
    /// put (a router: 0.8 to 1.7 ns a packet).
    pub fn expect(&mut self, lines: &[Line]) {
        let lines = lines.as_ptr_range();
        self.expected.push(Expected { from: lines.start as usize, to: lines.end as usize });
    }

    /// Nothing of what was to be put next is still to be.
    pub fn expect_nothing(&mut self) {
        self.expected.clear();
    }

    /// Gives what will be put next to somebody who fetches that, and then nobody else does.
    #[inline]
    pub fn take_expected(&mut self, expected: &mut Vec<Expected>) {
        expected.clear();
        std::mem::swap(&mut self.expected, expected);
    }

    #[cold]
    fn put_large(&mut self, bytes: &[u8], time_ns: u64, wire_len: u32, tag: u32) -> Option<u32> {
        let mut packet = ExchangeBuffer::borrowed(bytes);
        packet.time_ns = time_ns;
        packet.set_wire_len(wire_len);
        self.place(packet.into_owned(), tag)
    }

    /// Puts a packet into a slot; `None` if there is no room.
    pub fn place(&mut self, packet: ExchangeBuffer<'static>, tag: u32) -> Option<u32> {
        let id = self.free.pop()?;
        self.in_order = self.in_order.min(self.free.len());
        self.slots[id as usize].kind = self.kind;
        self.tags.note([id].iter(), tag, self.slots.len());
        self.lower(id, packet);
        Some(id)
    }

    /// A copy of a slot's packet with its annotations, in a slot of its own; `None` if there is no
    /// room, or if the packet is too large for a slot.
    pub fn duplicate(&mut self, id: u32) -> Option<u32> {
        if !self.large.is_empty() && self.large.contains_key(&id) {
            return None;
        }
        let copy = self.free.pop()?;
        self.in_order = self.in_order.min(self.free.len());
        self.tags.note([copy].iter(), self.tag(id), self.slots.len());
        let (info, from, to) = (self.info_size(), self.start(id), self.start(copy));
        match self.slots[id as usize].is_fresh() {
            true => self.memory[to..to + info].fill(0),
            false => self.memory.copy_within(from..from + info, to),
        }
        let (PacketExtent { head, len, front, .. }, before) = (self.place_of(id), room_for(info));
        self.memory.copy_within(from + before + head - front..from + before + head + len, to + before + head - front);
        let slot = self.slots[id as usize];
        self.slots[copy as usize] = Slot { kind: slot.kind & !FRESH, ..slot };
        self.details[copy as usize] = Detail { at: own_memory(copy, info), ..self.detail(id) };
        self.branch(id, copy);
        Some(copy)
    }

    /// Says by which entry packets come into a cluster that are put here from now on; by the first
    /// if nobody says so.
    #[inline]
    pub fn enter(&mut self, entry: u32) {
        self.kind = PRESENT | FRESH | entry << ENTRY;
    }

    /// Packets that are in these slots already come in by an entry next.
    pub fn enter_again(&mut self, ids: &[u32], entry: u32) {
        for id in ids {
            let kind = &mut self.slots[*id as usize].kind;
            *kind = *kind & (PRESENT | FRESH | CUT) | entry << ENTRY;
        }
    }

    /// The packet of a slot as an exchange buffer; the slot is then without one, but not free. One
    /// that is in several lists keeps it.
    pub fn lift(&mut self, id: u32) -> ExchangeBuffer<'static> {
        let slot = self.slots[id as usize];
        let large = if self.large.is_empty() { None } else { self.large.remove(&id) };
        let mut packet = match large {
            Some(mut packet) => {
                packet.set_place(self.place_of(id));
                self.details[id as usize].at = own_memory(id, self.info_size());
                packet
            }
            None if !slot.is_present() => ExchangeBuffer::none(),
            None => ExchangeBuffer::copied(self.kept(id), self.detail(id).front as usize, self.detail(id).moved),
        };
        (packet.time_ns, packet.missing, packet.number) = (slot.time_ns, self.missing(id), self.number_of(id));
        if self.more[id as usize] == 0 {
            self.mark(id, false);
        }
        packet.info.clear();
        packet.info.extend_from_slice(self.info(id));
        packet
    }

    /// Says whether there is a packet in a slot, of which nobody wants to know more.
    pub fn mark(&mut self, id: u32, present: bool) {
        let kind = &mut self.slots[id as usize].kind;
        *kind = *kind & !PRESENT | u32::from(present);
    }

    /// Makes an exchange buffer a slot's packet.
    pub fn lower(&mut self, id: u32, mut packet: ExchangeBuffer<'static>) {
        let start = self.start(id);
        packet.info.resize(self.info_size(), 0);
        self.set_number(id, packet.number);
        self.memory[start..start + packet.info.len()].copy_from_slice(&packet.info);
        let kept = packet.kept().len();
        let (at, front) = (own_memory(id, self.info_size()), packet.front().min(kept));
        self.latest = self.latest.max(packet.time_ns);
        let slot = &mut self.slots[id as usize];
        let cut = if packet.missing == 0 { 0 } else { CUT };
        let kind = u32::from(packet.is_present()) | cut | slot.kind & COPY | slot.entry() << ENTRY;
        *slot = Slot { time_ns: packet.time_ns, len: (kept - front) as u32, kind };
        let detail = &mut self.details[id as usize];
        detail.missing = packet.missing;
        (detail.at, detail.head) = (at, (ROOM + front) as u32);
        (detail.front, detail.moved) = (front as u32, packet.moved());
        if kept <= LONGEST {
            let at = start + room_for(self.info_size()) + ROOM;
            self.memory[at..at + kept].copy_from_slice(packet.kept());
            return;
        }
        let base = self.base() as u64;
        let (memory, place) = packet.place();
        let detail = &mut self.details[id as usize];
        (detail.at, detail.head) = ((memory.as_ptr() as u64).wrapping_sub(base), place.head as u32);
        self.large.insert(id, packet);
    }

    /// Gives slots back with what is in them.
    #[inline]
    pub fn give_back(&mut self, ids: &[u32]) {
        if !self.large.is_empty() {
            ids.iter().for_each(|id| self.forget(*id));
        }
        match self.shared {
            0 => self.free.extend_from_slice(ids),
            _ => self.leave(ids),
        }
        if self.free.len() == self.slots.len() {
            let disordered = &mut self.free[self.in_order..];
            disordered.iter_mut().rev().zip(0..).for_each(|(place, id)| *place = id);
            self.in_order = self.slots.len();
        }
    }

    /// A slot's own memory is its memory again.
    fn forget(&mut self, id: u32) {
        if self.large.remove(&id).is_some() {
            self.details[id as usize].at = own_memory(id, self.info_size());
        }
    }

    /// A moment that no packet's time was behind so far.
    #[inline]
    pub fn latest(&self) -> u64 {
        self.latest
    }

    /// What the owner wanted to remember of a slot's packet.
    #[inline]
    pub fn tag(&self, id: u32) -> u32 {
        self.tags.of(id)
    }

    /// The length on the wire of a slot's packet, in bytes.
    #[inline]
    pub fn wire_len(&self, id: u32) -> u32 {
        self.slot(id).len.saturating_add(self.missing(id))
    }

    #[inline]
    fn missing(&self, id: u32) -> u32 {
        if self.slot(id).kind & CUT == 0 { 0 } else { self.details[id as usize].missing }
    }

    /// A slot.
    #[inline]
    pub fn slot(&self, id: u32) -> &Slot {
        &self.slots[id as usize]
    }

    /// Where a slot's packet lies and what became of it.
    #[inline]
    pub fn detail(&self, id: u32) -> Detail {
        let detail = self.details[id as usize];
        if self.slot(id).is_fresh() { Detail { head: HEAD as u32, front: 0, moved: 0, ..detail } } else { detail }
    }

    /// The bytes of a slot's packet.
    #[inline]
    pub fn bytes(&self, id: u32) -> &[u8] {
        match self.large.get(&id).filter(|_| !self.large.is_empty()) {
            Some(packet) => packet.at(self.place_of(id)),
            None => &self.kept(id)[self.detail(id).front as usize..],
        }
    }

    /// The info memory of a slot's packet.
    pub fn info(&self, id: u32) -> &[u8] {
        let start = self.start(id);
        if self.slot(id).is_fresh() { &self.zeros } else { &self.memory[start..start + self.info_size()] }
    }

    /// The info memory of a slot's packet, all zeros, to be written.
    pub fn clear_info(&mut self, id: u32) -> &mut [u8] {
        let (start, size) = (self.start(id), self.info_size());
        let slot = &mut self.slots[id as usize];
        if slot.is_fresh() {
            slot.kind &= !FRESH;
            let detail = &mut self.details[id as usize];
            (detail.head, detail.front, detail.moved) = (HEAD as u32, 0, 0);
        }
        let info = &mut self.memory[start..start + size];
        info.fill(0);
        info
    }

    /// Bytes of info memory of each packet.
    #[inline]
    pub fn info_size(&self) -> usize {
        self.zeros.len()
    }

    /// Whether packets lie in their slots' memory, as everything here takes for granted; compiled
    /// code may have moved them.
    pub fn check(&self, ids: &[u32]) -> bool {
        let own = (self.stride - self.room_before) as u64;
        let lies_within = |id: &u32, size: u64| {
            let PacketExtent { head, len, front, .. } = self.place_of(*id);
            front <= head && head as u64 + len as u64 <= size
        };
        if self.large.is_empty() {
            return ids.iter().all(|id| lies_within(id, own));
        }
        ids.iter().all(|id| lies_within(id, self.large.get(id).map_or(own, |packet| packet.size() as u64)))
    }

    /// The slots' memory, for advice to the system.
    pub fn memory(&self) -> &[u8] {
        &self.memory[self.begin..]
    }

    /// The first slot's memory, the slots and their details: for compiled code.
    #[inline]
    pub fn parts(&mut self) -> (&mut [u8], &mut [Slot], &mut [Detail]) {
        (&mut self.memory[self.begin..], &mut self.slots, &mut self.details)
    }

    fn base(&self) -> usize {
        self.memory[self.begin..].as_ptr() as usize
    }

    #[inline]
    fn start(&self, id: u32) -> usize {
        self.begin + id as usize * stride(self.info_size())
    }

    /// The packet with the bytes that were pulled and are still there, in the slot's own memory.
    #[inline]
    pub(crate) fn kept(&self, id: u32) -> &[u8] {
        let (PacketExtent { head, len, front, .. }, from) = (self.place_of(id), self.start(id) + room_for(self.info_size()));
        let head = from + head;
        &self.memory[head - front..head + len]
    }

    #[inline]
    fn place_of(&self, id: u32) -> PacketExtent {
        let Detail { head, front, moved, .. } = self.detail(id);
        let [head, len, front] = [head, self.slots[id as usize].len, front].map(|v| v as usize);
        PacketExtent { head, len, front, moved }
    }
}

#[cfg(test)]
mod tests;
