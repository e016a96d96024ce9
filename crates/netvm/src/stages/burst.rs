//! Packets on their way from stage to stage.
//!
//! The bytes of a burst's packets lie one behind the other, as do the numbers that belong to them,
//! so that a core fetches them from another in order. Nothing is allocated while packets flow: a
//! burst keeps its memory for the next packets.
//!
//! Invariant: packets lie in the order in which they came, none over another; they may become
//! shorter where they are.

/// A packet, lent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet<'b> {
    /// Its bytes.
    pub bytes: &'b [u8],
    /// How many it had on the wire; if these are fewer, it had those that there are.
    pub wire_len: u32,
    /// When it came, in nanoseconds since 1970.
    pub time_ns: u64,
    /// A number of the program's own, that travels with it through stages that are functions.
    pub tag: u64,
}

impl<'b> Packet<'b> {
    /// A packet with those bytes, which came then.
    pub fn new(bytes: &'b [u8], time_ns: u64) -> Self {
        Self { bytes, wire_len: 0, time_ns, tag: 0 }
    }

    /// How many bytes it had on the wire.
    pub fn on_wire(&self) -> u32 {
        self.wire_len.max(self.bytes.len() as u32)
    }
}

/// A packet of a burst, to be changed where it is.
#[derive(Debug)]
pub struct PacketMut<'b> {
    /// Its bytes.
    pub bytes: &'b mut [u8],
    entry: &'b mut Entry,
}

impl PacketMut<'_> {
    /// Keeps so many of its bytes.
    pub fn truncate(&mut self, len: usize) {
        self.entry.len = self.entry.len.min(len as u32);
    }

    /// How many bytes it had on the wire.
    pub fn wire_len(&mut self) -> &mut u32 {
        &mut self.entry.wire_len
    }

    /// When it came.
    pub fn time_ns(&mut self) -> &mut u64 {
        &mut self.entry.time_ns
    }

    /// The program's own number.
    pub fn tag(&mut self) -> &mut u64 {
        &mut self.entry.tag
    }
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    at: u32,
    len: u32,
    wire_len: u32,
    time_ns: u64,
    tag: u64,
}

/// Packets, one behind the other.
#[derive(Debug, Default)]
pub struct Burst {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
}

impl Burst {
    /// How many packets there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// One more packet, which is copied; of one that does not fit into 4 GiB with the others
    /// nothing.
    pub fn push(&mut self, packet: Packet<'_>) {
        let Packet { bytes, wire_len, time_ns, tag } = packet;
        if let (Ok(at), Ok(len), Ok(_)) =
            (u32::try_from(self.bytes.len()), u32::try_from(bytes.len()), u32::try_from(self.bytes.len() + bytes.len()))
        {
            self.bytes.extend_from_slice(bytes);
            self.entries.push(Entry { at, len, wire_len, time_ns, tag });
        }
    }

    /// The packet at that place.
    pub fn get(&self, at: usize) -> Option<Packet<'_>> {
        self.entries.get(at).map(|entry| entry.packet(&self.bytes))
    }

    /// All packets, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Packet<'_>> {
        self.entries.iter().map(|entry| entry.packet(&self.bytes))
    }

    /// All packets, in order, to be changed where they are.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = PacketMut<'_>> {
        let (mut rest, mut begin) = (&mut self.bytes[..], 0);
        self.entries.iter_mut().map(move |entry| {
            // What is cut off here lies behind the packet before.
            let (from, end) = (entry.at as usize - begin, (entry.at + entry.len) as usize - begin);
            let (mine, behind) = std::mem::take(&mut rest).split_at_mut(end);
            (rest, begin) = (behind, begin + end);
            PacketMut { bytes: &mut mine[from..], entry }
        })
    }

    /// No packets any more; their memory stays for others.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.entries.clear();
    }
}

impl Entry {
    fn packet<'b>(&self, bytes: &'b [u8]) -> Packet<'b> {
        let Self { at, len, wire_len, time_ns, tag } = *self;
        Packet { bytes: &bytes[at as usize..(at + len) as usize], wire_len, time_ns, tag }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_changed_where_they_are() {
        let mut burst = Burst::default();
        for len in [3, 0, 5, 2] {
            burst.push(Packet { tag: len as u64, ..Packet::new(&[7; 5][..len], 9) });
        }
        for mut packet in burst.iter_mut() {
            packet.bytes.fill(1);
            packet.truncate(4);
            *packet.time_ns() += *packet.tag();
        }
        // Once more, behind those that became shorter.
        burst.iter_mut().for_each(|packet| packet.bytes.iter_mut().for_each(|byte| *byte += 1));
        let found: Vec<_> = burst.iter().map(|packet| (packet.bytes.to_vec(), packet.time_ns, packet.on_wire())).collect();
        assert_eq!(found, [(vec![2; 3], 12, 3), (vec![], 9, 0), (vec![2; 4], 14, 4), (vec![2; 2], 11, 2)]);
        assert!(burst.len() == 4 && burst.get(2).is_some_and(|packet| packet.bytes == [2; 4]) && burst.get(4).is_none());
        burst.clear();
        assert!(burst.is_empty() && burst.iter_mut().next().is_none());
    }
}
