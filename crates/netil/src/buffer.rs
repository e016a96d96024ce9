//! Exchange buffers: a packet with its info memory, port, time and length on the wire.
//!
//! A packet is borrowed until something writes to it. Bytes pulled from its head stay in memory and
//! can come back, as far as they were not overwritten; where the head is, counted from where it was
//! when the packet came into being, is known too, so that places can be kept.
//!
//! Source: NetVM paper, section 3.1.2 (exchange buffers).

use crate::limits::MAX_PACKET;
use crate::number;
use crate::table::Space;
use crate::trap::TrapKind;

/// Free bytes before and after a packet that a program may change.
pub const ROOM: usize = 128;
/// Bytes pulled from a packet's head that can be brought back.
pub const FRONT: usize = 1024;

/// One packet with what belongs to it. Borrowed until something writes to it.
#[derive(Clone, Debug)]
pub struct ExchangeBuffer<'a> {
    store: Store<'a>,
    /// Bytes before the head that were pulled and are still there.
    front: usize,
    /// Bytes pulled less bytes pushed since the packet came into being.
    moved: u32,
    /// Info memory; its size is the module's.
    pub info: Vec<u8>,
    /// Id of the port the packet came in by.
    pub port: u32,
    /// Arrival time in nanoseconds since 1970.
    pub time_ns: u64,
    /// Bytes behind its end that were not captured: its length on the wire less its own. Whatever
    /// becomes of the packet, they are missing still.
    pub missing: u32,
    /// The packet's number ([`crate::number`]); without a packet that of the run.
    pub number: u64,
}

/// Where a packet is in its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketExtent {
    /// Bytes before its first.
    pub head: usize,
    /// Its length.
    pub len: usize,
    /// Bytes before the head that were pulled and are still there.
    pub front: usize,
    /// Bytes pulled less bytes pushed since it came into being, modulo 2^32.
    pub moved: u32,
}

#[derive(Clone, Debug)]
enum Store<'a> {
    /// The bytes before the head were pulled.
    Borrowed {
        bytes: &'a [u8],
        head: usize,
    },
    Owned {
        buffer: Vec<u8>,
        head: usize,
        len: usize,
    },
    Gone,
}

impl<'a> ExchangeBuffer<'a> {
    /// A packet read in place; what lies behind its first 2^32 − 1 bytes is left out, as addresses
    /// have 32 bits.
    pub fn borrowed(bytes: &'a [u8]) -> Self {
        let bytes = bytes.get(..u32::MAX as usize).unwrap_or(bytes);
        Self {
            store: Store::Borrowed { bytes, head: 0 },
            front: 0,
            moved: 0,
            info: Vec::new(),
            port: 0,
            time_ns: 0,
            missing: 0,
            number: number::NONE,
        }
    }

    /// A packet of zeros.
    pub fn zeroed(len: u32) -> Self {
        let len = len as usize;
        let store = Store::Owned { buffer: vec![0; len + 2 * ROOM], head: ROOM, len };
        Self { store, front: 0, moved: 0, info: Vec::new(), port: 0, time_ns: 0, missing: 0, number: number::NONE }
    }

    /// A packet of those bytes, of which the first `front` were pulled and are kept.
    pub(crate) fn copied(kept: &[u8], front: usize, moved: u32) -> Self {
        let mut buffer = vec![0; kept.len() + 2 * ROOM];
        buffer[ROOM..ROOM + kept.len()].copy_from_slice(kept);
        Self { store: Store::Owned { buffer, head: ROOM + front, len: kept.len() - front }, front, moved, ..Self::none() }
    }

    /// No packet: what a pull handler starts with.
    pub fn none() -> Self {
        Self { store: Store::Gone, front: 0, moved: 0, info: Vec::new(), port: 0, time_ns: 0, missing: 0, number: number::NONE }
    }

    /// False after `exbuf.delete` and before a pull handler's `pkt.receive`.
    pub fn is_present(&self) -> bool {
        !matches!(self.store, Store::Gone)
    }

    /// True if the packet has memory of its own and writing needs no copy.
    pub fn is_owned(&self) -> bool {
        matches!(self.store, Store::Owned { .. })
    }

    /// The captured bytes; none if the packet is gone.
    pub fn bytes(&self) -> &[u8] {
        match &self.store {
            Store::Borrowed { bytes, head } => &bytes[*head..],
            Store::Owned { buffer, head, len } => &buffer[*head..*head + *len],
            Store::Gone => &[],
        }
    }

    /// The captured bytes and those before them that were pulled and are still there.
    pub(crate) fn kept(&self) -> &[u8] {
        match &self.store {
            Store::Borrowed { bytes, head } => &bytes[*head - self.front..],
            Store::Owned { buffer, head, len } => &buffer[*head - self.front..*head + *len],
            Store::Gone => &[],
        }
    }

    /// How many of those bytes were pulled.
    pub(crate) fn front(&self) -> usize {
        self.front
    }

    /// The packet as it would be at another place in its memory, which must be inside.
    pub(crate) fn at(&self, place: PacketExtent) -> &[u8] {
        match &self.store {
            Store::Owned { buffer, .. } => &buffer[place.head..place.head + place.len],
            _ => self.bytes(),
        }
    }

    /// Bytes of memory that it has of its own.
    pub(crate) fn size(&self) -> usize {
        if let Store::Owned { buffer, .. } = &self.store { buffer.len() } else { 0 }
    }

    /// Length on the wire in bytes.
    pub fn wire_len(&self) -> u32 {
        (self.bytes().len() as u32).wrapping_add(self.missing)
    }

    /// It has that length on the wire, or its own if that is more.
    pub fn set_wire_len(&mut self, wire_len: u32) {
        self.missing = wire_len.saturating_sub(self.bytes().len() as u32);
    }

    /// The captured bytes for writing; copies a borrowed packet once.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.own();
        match &mut self.store {
            Store::Owned { buffer, head, len } => &mut buffer[*head..*head + *len],
            _ => &mut [],
        }
    }

    /// Replaces the packet by zeros; arrival time, port and number stay, info memory becomes zero.
    pub fn create(&mut self, len: u32) {
        self.store = Self::zeroed(len).store;
        (self.front, self.moved, self.missing) = (0, 0, 0);
        self.info.fill(0);
    }

    /// Gives the packet up.
    pub fn delete(&mut self) {
        self.store = Store::Gone;
    }

    /// The packet with all that belongs to it; none is left here, and what is left has a number of
    /// its own.
    pub fn take(&mut self) -> Self {
        let rest = Self { time_ns: self.time_ns, number: number::rest(self.number), ..Self::none() };
        std::mem::replace(self, rest)
    }

    /// Where the packet is in memory of its own, which it gets if it has none: the memory, and the
    /// packet's place in it. Without a packet the memory is empty.
    pub fn place(&mut self) -> (&mut [u8], PacketExtent) {
        self.own();
        let (front, moved) = (self.front, self.moved);
        match &mut self.store {
            Store::Owned { buffer, head, len } => (buffer, PacketExtent { head: *head, len: *len, front, moved }),
            _ => (&mut [], PacketExtent { head: 0, len: 0, front, moved }),
        }
    }

    /// Moves the packet within its memory; false, and nothing is changed, where that is no place in
    /// it.
    pub fn set_place(&mut self, to: PacketExtent) -> bool {
        let Store::Owned { buffer, head, len } = &mut self.store else { return to.len == 0 };
        let inside = to.head.checked_add(to.len).is_some_and(|end| end <= buffer.len());
        if !inside || to.front > to.head {
            return false;
        }
        (*head, *len) = (to.head, to.len);
        (self.front, self.moved) = (to.front, to.moved);
        true
    }

    /// Bytes pulled from the head less bytes pushed since the packet came into being, modulo 2^32.
    pub fn moved(&self) -> u32 {
        self.moved
    }

    /// This packet with memory of its own.
    pub fn into_owned(mut self) -> ExchangeBuffer<'static> {
        self.own();
        let store = match self.store {
            Store::Owned { buffer, head, len } => Store::Owned { buffer, head, len },
            _ => Store::Gone,
        };
        let Self { front, moved, info, port, time_ns, missing, number, .. } = self;
        ExchangeBuffer { store, front, moved, info, port, time_ns, missing, number }
    }

    /// Becomes a packet of those bytes with so many bytes of info memory, all 0, and uses the
    /// memory again that it has.
    pub fn refill(&mut self, bytes: &[u8], info: usize) {
        let bytes = bytes.get(..u32::MAX as usize).unwrap_or(bytes);
        let mut buffer =
            if let Store::Owned { buffer, .. } = std::mem::replace(&mut self.store, Store::Gone) { buffer } else { Vec::new() };
        // What is before and behind a packet is filled by who makes it longer.
        buffer.resize(bytes.len() + 2 * ROOM, 0);
        buffer[ROOM..ROOM + bytes.len()].copy_from_slice(bytes);
        self.info.clear();
        self.info.resize(info, 0);
        let store = Store::Owned { buffer, head: ROOM, len: bytes.len() };
        *self = Self { store, info: std::mem::take(&mut self.info), ..Self::none() };
    }

    /// Grows the packet by `n` zero bytes at its head.
    pub fn push(&mut self, n: u32) -> Result<(), TrapKind> {
        let n = self.growth(n)?;
        self.own();
        self.make_room(n, 0);
        let Store::Owned { buffer, head, len } = &mut self.store else { return Err(TrapKind::NoPacket) };
        *head -= n;
        *len += n;
        buffer[*head..*head + n].fill(0);
        self.front = self.front.saturating_sub(n);
        self.moved = self.moved.wrapping_sub(n as u32);
        Ok(())
    }

    /// Grows the packet by `n` zero bytes at its tail.
    pub fn grow(&mut self, n: u32) -> Result<(), TrapKind> {
        let n = self.growth(n)?;
        self.own();
        self.make_room(0, n);
        let Store::Owned { buffer, head, len } = &mut self.store else { return Err(TrapKind::NoPacket) };
        let end = *head + *len;
        buffer[end..end + n].fill(0);
        *len += n;
        Ok(())
    }

    /// Removes `n` bytes from the packet's head.
    pub fn pull(&mut self, n: u32) -> Result<(), TrapKind> {
        let n = self.shrinkage(n)?;
        match &mut self.store {
            Store::Borrowed { head, .. } => *head += n,
            Store::Owned { head, len, .. } => (*head, *len) = (*head + n, *len - n),
            Store::Gone => {}
        }
        self.front = (self.front + n).min(FRONT);
        self.moved = self.moved.wrapping_add(n as u32);
        Ok(())
    }

    /// Brings back `n` bytes that were pulled.
    pub fn unpull(&mut self, n: u32) -> Result<(), TrapKind> {
        let n = self.growth(n)?;
        if n > self.front {
            return Err(TrapKind::OutOfBounds(Space::Packet));
        }
        match &mut self.store {
            Store::Borrowed { head, .. } => *head -= n,
            Store::Owned { head, len, .. } => (*head, *len) = (*head - n, *len + n),
            Store::Gone => {}
        }
        self.front -= n;
        self.moved = self.moved.wrapping_sub(n as u32);
        Ok(())
    }

    /// Removes `n` bytes from the packet's tail.
    pub fn trim(&mut self, n: u32) -> Result<(), TrapKind> {
        let n = self.shrinkage(n)?;
        match &mut self.store {
            Store::Borrowed { bytes, .. } => *bytes = &bytes[..bytes.len() - n],
            Store::Owned { len, .. } => *len -= n,
            Store::Gone => {}
        }
        Ok(())
    }

    /// Sees that so many bytes are free before and after the packet. Where they are not, the packet
    /// moves to a new buffer of just that size and [`ROOM`], so that a buffer stays small however
    /// often its packet grows and shrinks.
    fn make_room(&mut self, before: usize, after: usize) {
        let Store::Owned { buffer, head, len } = &mut self.store else { return };
        if *head >= before && buffer.len() - *head - *len >= after {
            return;
        }
        let start = before + ROOM + self.front;
        let mut larger = vec![0; start + *len + after + ROOM];
        larger[start - self.front..start + *len].copy_from_slice(&buffer[*head - self.front..*head + *len]);
        (*buffer, *head) = (larger, start);
    }

    /// Whether the packet can grow by so much.
    pub(crate) fn growth(&self, n: u32) -> Result<usize, TrapKind> {
        if !self.is_present() {
            return Err(TrapKind::NoPacket);
        }
        let fits = u64::from(n) + self.bytes().len() as u64 <= u64::from(MAX_PACKET);
        if fits { Ok(n as usize) } else { Err(TrapKind::NoRoom) }
    }

    fn shrinkage(&self, n: u32) -> Result<usize, TrapKind> {
        match () {
            () if !self.is_present() => Err(TrapKind::NoPacket),
            () if n as usize > self.bytes().len() => Err(TrapKind::OutOfBounds(Space::Packet)),
            () => Ok(n as usize),
        }
    }

    fn own(&mut self) {
        if let Store::Borrowed { bytes, head } = self.store {
            let kept = &bytes[head - self.front..];
            let mut buffer = vec![0; kept.len() + 2 * ROOM];
            buffer[ROOM..ROOM + kept.len()].copy_from_slice(kept);
            self.store = Store::Owned { buffer, head: ROOM + self.front, len: bytes.len() - head };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_used_again_and_nothing_of_before_is_seen() {
        let mut b = ExchangeBuffer::borrowed(&[9; 300]).into_owned();
        (b.info, b.port, b.time_ns, b.missing) = (vec![7; 20], 3, 4, 5);
        b.pull(40).unwrap();
        b.refill(&[1, 2, 3], 10);
        let fresh = ExchangeBuffer { info: vec![0; 10], ..ExchangeBuffer::borrowed(&[1, 2, 3]).into_owned() };
        assert_eq!((b.bytes(), &b.info, b.port, b.time_ns, b.missing), (fresh.bytes(), &fresh.info, 0, 0, 0));
        assert_eq!((b.front(), b.moved(), b.pull(4)), (0, 0, Err(TrapKind::OutOfBounds(Space::Packet))));
        b.push(200).unwrap();
        b.grow(200).unwrap();
        assert_eq!(b.bytes(), [&[0; 200][..], &[1, 2, 3], &[0; 200]].concat());
        b.delete();
        b.refill(&[], 0);
        assert!(b.is_present() && b.bytes().is_empty());
    }

    #[test]
    fn geometry_moves_both_ends() {
        let mut b = ExchangeBuffer::borrowed(&[1, 2, 3, 4]);
        b.pull(1).unwrap();
        b.trim(1).unwrap();
        assert_eq!(b.bytes(), [2, 3]);
        b.push(200).unwrap();
        b.grow(300).unwrap();
        assert_eq!(b.bytes().len(), 502);
        assert_eq!(&b.bytes()[199..203], [0, 2, 3, 0]);
        assert_eq!(b.pull(503), Err(TrapKind::OutOfBounds(Space::Packet)));
        assert_eq!(b.grow(65_535), Err(TrapKind::NoRoom));
        b.delete();
        assert_eq!(b.push(1), Err(TrapKind::NoPacket));
    }

    #[test]
    fn bytes_that_come_back_are_zeros() {
        let mut b = ExchangeBuffer::borrowed(&[7; 10]).into_owned();
        b.pull(4).unwrap();
        b.push(4).unwrap();
        b.trim(4).unwrap();
        b.grow(4).unwrap();
        assert_eq!(b.bytes(), [0, 0, 0, 0, 7, 7, 0, 0, 0, 0]);
    }
}
