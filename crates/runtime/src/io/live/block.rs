//! A block of the kernel's ring as records of a capture.
//!
//! The walk believes nothing that a block says: every offset and length is checked against the
//! block, and what does not fit is [`Malformed`]. It goes forward only, so that it ends whatever
//! the block claims.
//!
//! A record is what classic pcap has: seconds, nanoseconds, captured and wire length, the packet.
//! The kernel takes the outermost VLAN tag off a frame and tells it beside; it is put back here,
//! and counts in both lengths, as in libpcap.
//!
//! Source: include/uapi/linux/if_packet.h (`tpacket_block_desc`, `tpacket3_hdr`, `sockaddr_ll`).

/// Bytes of a packet's header, the sender's address after it included.
const HEADER: usize = ADDRESS + 20;
/// Where the sender's address stands in the header.
const ADDRESS: usize = 48;
/// Where a frame has its VLAN tags: after the two addresses.
const TAGS: usize = 12;
/// Where a cooked header of version 1 has its VLAN tags: before the protocol.
const COOKED_TAGS: usize = 14;
/// Bytes of the longest cooked header, that of version 2.
const COOKED: usize = 20;
/// Bytes before a record's packet.
const RECORD: usize = 16;

const VLAN_VALID: u32 = 1 << 4;
const VLAN_TPID_VALID: u32 = 1 << 6;
const OUTGOING: u8 = 4;
const LOOPBACK: u16 = 772;
const DOT1Q: u16 = 0x8100;

/// What is done with packets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) form: Form,
    pub(super) direction: Direction,
    /// Packets are cut to so many bytes.
    pub(super) snaplen: u32,
}

/// What packets begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Ethernet's header: tags go back to their place.
    Ethernet,
    /// What the kernel gives.
    Plain,
    /// A header made here of what the kernel tells (LINUX_SLL), before what it gives.
    Cooked,
    /// A header made here of what the kernel tells, with the interface's number (LINUX_SLL2),
    /// before what it gives.
    Cooked2,
}

/// Which packets count, by where they go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// Those that come in.
    In,
    /// Those that are sent.
    Out,
    /// All.
    #[default]
    Both,
}

impl Rules {
    /// Whether a packet counts. What is sent on loopback is seen a second time coming in, and
    /// counts then, as in libpcap.
    fn take(&self, packet: &Packet<'_>) -> bool {
        match (packet.kind == OUTGOING, self.direction) {
            (true, _) if packet.hardware == LOOPBACK => false,
            (true, Direction::In) | (false, Direction::Out) => false,
            _ => true,
        }
    }
}

/// A block that does not say what a block says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Malformed;

/// How far a block was read.
#[derive(Debug, Default)]
pub(super) struct Walk {
    /// Packets left; `None` before the first.
    left: Option<u32>,
    /// Where the next one begins.
    at: usize,
    /// Bytes of its record that were handed on.
    done: usize,
}

impl Walk {
    /// Copies as many bytes of records as there is room for, and tells how many.
    pub(super) fn read(&mut self, block: &[u8], rules: &Rules, room: &mut [u8]) -> Result<usize, Malformed> {
        let mut filled = 0;
        while self.left(block)? > 0 {
            let packet = match Packet::at(block, self.at) {
                Err(error) if filled == 0 => return Err(error),
                // What was read is handed on; the error comes up again.
                Err(_) => break,
                Ok(packet) => packet,
            };
            if rules.take(&packet) && !self.copy(&packet, rules, room, &mut filled) {
                break;
            }
            self.step(packet.next);
        }
        Ok(filled)
    }

    /// Whether all was read.
    pub(super) fn is_done(&self) -> bool {
        self.left == Some(0)
    }

    /// Packets left.
    fn left(&mut self, block: &[u8]) -> Result<u32, Malformed> {
        if let Some(left) = self.left {
            return Ok(left);
        }
        let (count, first) = (u32_at(block, 12)?, u32_at(block, 16)?);
        self.at = first as usize;
        self.left = Some(count);
        Ok(count)
    }

    fn step(&mut self, next: usize) {
        self.left = self.left.map(|left| left.saturating_sub(1));
        (self.at, self.done) = (next, 0);
    }

    /// Copies what is left of a packet's record; false where there is no room for all of it.
    fn copy(&mut self, packet: &Packet<'_>, rules: &Rules, room: &mut [u8], filled: &mut usize) -> bool {
        let record = Record::of(packet, rules);
        let count = record.copy(self.done, room.get_mut(*filled..).unwrap_or_default());
        *filled += count;
        self.done += count;
        self.done >= record.len()
    }
}

/// A packet as it stands in a block.
struct Packet<'a> {
    secs: u32,
    nanos: u32,
    wire_len: u32,
    data: &'a [u8],
    tag: Option<[u8; 4]>,
    /// Where it came from or goes to, as numbers of its own.
    kind: u8,
    /// The kind of the interface's addresses.
    hardware: u16,
    /// The sender's address as the kernel tells it (`sockaddr_ll`).
    address: &'a [u8],
    /// Where the packet after it begins; past the block if there is none.
    next: usize,
}

impl<'a> Packet<'a> {
    fn at(block: &'a [u8], at: usize) -> Result<Self, Malformed> {
        let rest = block.get(at..).ok_or(Malformed)?;
        let header = rest.get(..HEADER).ok_or(Malformed)?;
        let (captured, begin) = (u32_at(header, 12)? as usize, usize::from(u16_at(header, 24)?));
        let data = rest.get(begin..).and_then(|data| data.get(..captured)).ok_or(Malformed)?;
        let next = match u32_at(header, 0)? as usize {
            0 => block.len(),
            distance => at.saturating_add(distance),
        };
        Ok(Self {
            secs: u32_at(header, 4)?,
            nanos: u32_at(header, 8)?,
            wire_len: u32_at(header, 16)?,
            data,
            tag: tag(header)?,
            kind: header.get(ADDRESS + 10).copied().unwrap_or_default(),
            hardware: u16_at(header, ADDRESS + 8)?,
            address: header.get(ADDRESS..).unwrap_or_default(),
            next,
        })
    }
}

/// The VLAN tag that the kernel took off.
fn tag(header: &[u8]) -> Result<Option<[u8; 4]>, Malformed> {
    let (status, control, protocol) = (u32_at(header, 20)?, u32_at(header, 32)?, u16_at(header, 36)?);
    // Kernels before 3.0 tell of a tag by its value only.
    if status & VLAN_VALID == 0 && control == 0 {
        return Ok(None);
    }
    let told = status & VLAN_TPID_VALID != 0 && protocol != 0;
    let [a, b] = if told { protocol } else { DOT1Q }.to_be_bytes();
    let [c, d] = (control as u16).to_be_bytes();
    Ok(Some([a, b, c, d]))
}

/// A cooked header, and how long it is.
///
/// Source: the pages LINKTYPE_LINUX_SLL and LINKTYPE_LINUX_SLL2 of the registry. Numbers are in
/// network order there.
fn cooked(packet: &Packet<'_>, form: Form) -> ([u8; COOKED], usize) {
    let part = |from: usize, len: usize| packet.address.get(from..from + len).unwrap_or_default();
    let (protocol, address) = (part(2, 2), part(12, 8));
    let index = part(4, 4).first_chunk().map_or(0, |bytes| u32::from_ne_bytes(*bytes)).to_be_bytes();
    let hardware = packet.hardware.to_be_bytes();
    let length = part(11, 1);
    let parts: [&[u8]; 7] = match form {
        Form::Ethernet | Form::Plain => [&[]; 7],
        Form::Cooked => [&[0], &[packet.kind], &hardware, &[0], length, address, protocol],
        Form::Cooked2 => [protocol, &[0; 2], &index, &hardware, &[packet.kind], length, address],
    };
    let mut header = [0; COOKED];
    let bytes = parts.into_iter().flatten();
    let len = header.iter_mut().zip(bytes).map(|(to, from)| *to = *from).count();
    (header, len)
}

/// A packet as it stands in a capture, in pieces.
struct Record<'a> {
    header: [u8; RECORD],
    cooked: [u8; COOKED],
    tag: [u8; 4],
    data: &'a [u8],
    /// Bytes of the cooked header and of the packet before the tag, of the tag, and of both after
    /// it.
    lens: [usize; 5],
}

impl<'a> Record<'a> {
    fn of(packet: &Packet<'a>, rules: &Rules) -> Self {
        let (cooked, made) = cooked(packet, rules.form);
        let len = packet.data.len();
        // Where the tag goes: behind so many bytes of the cooked header and of the packet.
        let place = match rules.form {
            Form::Ethernet if len >= TAGS => Some((0, TAGS)),
            Form::Cooked => Some((COOKED_TAGS, 0)),
            _ => None,
        };
        let (tag, (lead, before)) = packet.tag.zip(place).map_or((None, (made, len)), |(tag, place)| (Some(tag), place));
        let tag_len = if tag.is_some() { 4 } else { 0 };
        let (trail, after) = (made - lead, len - before);
        let lens = match rules.form {
            Form::Cooked => [lead, 0, tag_len, trail, len],
            _ => [lead, before, tag_len, trail, after],
        };
        let captured = (len + made + tag_len).min(rules.snaplen as usize);
        let wire_len = packet.wire_len.saturating_add((tag_len + made) as u32);
        let mut header = [0; RECORD];
        header.copy_from_slice([packet.secs, packet.nanos, captured as u32, wire_len].map(u32::to_ne_bytes).as_flattened());
        Self { header, cooked, tag: tag.unwrap_or_default(), data: packet.data, lens }.cut(captured)
    }

    /// Leaves out what is behind so many bytes of the packet.
    fn cut(mut self, mut captured: usize) -> Self {
        for len in &mut self.lens {
            *len = (*len).min(captured);
            captured -= *len;
        }
        self
    }

    fn pieces(&self) -> [&[u8]; 6] {
        let [lead, before, tag, trail, after] = self.lens;
        let part = |bytes: &'_ [u8], from: usize, len: usize| -> std::ops::Range<usize> {
            let end = bytes.len().min(from + len);
            from.min(end)..end
        };
        [
            &self.header,
            &self.cooked[part(&self.cooked, 0, lead)],
            &self.data[part(self.data, 0, before)],
            &self.tag[part(&self.tag, 0, tag)],
            &self.cooked[part(&self.cooked, lead, trail)],
            &self.data[part(self.data, before, after)],
        ]
    }

    fn len(&self) -> usize {
        RECORD + self.lens.iter().sum::<usize>()
    }

    /// Copies from byte `skip` on, as far as there is room.
    fn copy(&self, mut skip: usize, room: &mut [u8]) -> usize {
        let mut filled = 0;
        for piece in self.pieces() {
            let rest = piece.get(skip..).unwrap_or_default();
            skip = skip.saturating_sub(piece.len());
            let room = room.get_mut(filled..).unwrap_or_default();
            let count = rest.len().min(room.len());
            if let (Some(to), Some(from)) = (room.get_mut(..count), rest.get(..count)) {
                to.copy_from_slice(from);
            }
            filled += count;
        }
        filled
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Result<u32, Malformed> {
    let field = bytes.get(at..).and_then(|rest| rest.first_chunk()).ok_or(Malformed)?;
    Ok(u32::from_ne_bytes(*field))
}

fn u16_at(bytes: &[u8], at: usize) -> Result<u16, Malformed> {
    let field = bytes.get(at..).and_then(|rest| rest.first_chunk()).ok_or(Malformed)?;
    Ok(u16::from_ne_bytes(*field))
}
