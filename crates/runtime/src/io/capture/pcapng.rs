//! pcapng: sections of blocks. A section header fixes the byte order; interface descriptions fix
//! link type, snapshot length and clock; packet blocks (enhanced, simple, and the obsolete first
//! kind) carry packets; names and secrets are kept for copies of the capture; all else is skipped.
//!
//! Every section may have another byte order and every interface another link type. Limits are
//! libpcap's: a block of at most 16 MiB (more where the link type's packets are larger), a section
//! header of at most 1 MiB, a packet of at most its interface's snapshot length. Descriptions of a
//! section's interfaces are kept, at most 16 MiB of them; of its names and secrets the first 16
//! MiB, the rest is skipped.
//!
//! Source: draft-ietf-opsawg-pcapng. Leaves out: statistics and custom blocks, what names and
//! secrets say; `section_length`.

use std::ops::Range;

use super::{
    Damage, Format, Info, Spans, Step,
    options::{IF_TSOFFSET, IF_TSRESOL, Options},
    pcap::{snapshot, u16_at, u32_at},
};
use crate::io::{LinkType, Precision, Resolution, Timestamp};

pub(in crate::io) const SECTION: u32 = 0x0a0d_0d0a;
pub(in crate::io) const BYTE_ORDER: u32 = 0x1a2b_3c4d;
pub(in crate::io) const INTERFACE: u32 = 1;
pub(in crate::io) const OBSOLETE: u32 = 2;
pub(in crate::io) const SIMPLE: u32 = 3;
/// Name resolution.
const NAMES: u32 = 4;
pub(in crate::io) const ENHANCED: u32 = 6;
/// Decryption secrets.
const SECRETS: u32 = 10;

const MAX_BLOCK: u32 = 16 << 20;
const MAX_SECTION_HEADER: u32 = 1 << 20;
const MAX_DESCRIPTIONS: usize = 16 << 20;
const MAX_KEPT: usize = 16 << 20;
/// Room for options beside the longest packet of a link type.
const OPTION_ROOM: u32 = (128 << 10) + 32;

/// The section being read: what later blocks need from earlier ones.
#[derive(Clone, Debug)]
pub(in crate::io) struct Section {
    /// Counted from 1; 0 before the first section header.
    pub(in crate::io) number: u32,
    pub(in crate::io) swapped: bool,
    pub(in crate::io) header: Vec<u8>,
    pub(in crate::io) interfaces: Vec<Interface>,
    /// Interface descriptions, names and secrets as in the file.
    blocks: Vec<u8>,
    /// Bytes of it that are names and secrets.
    kept: usize,
    max_block: u32,
    /// The finest of its interfaces' clocks.
    pub(in crate::io) precision: Precision,
}

/// What an interface description says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// What its packets begin with.
    pub link: LinkType,
    /// The longest packet it captures, in bytes.
    pub snaplen: u32,
    /// Length of a tick of its clock.
    pub resolution: Resolution,
    /// Seconds to add to its clock.
    pub offset: i64,
}

/// The parts of a packet block.
pub(in crate::io) struct Packet {
    pub(in crate::io) interface: u32,
    /// Ticks of the interface's clock; `None` in a simple packet block.
    pub(in crate::io) ticks: Option<u64>,
    pub(in crate::io) wire_len: u32,
    /// Where in the block the captured bytes are.
    pub(in crate::io) data: Range<usize>,
}

/// A block at the beginning of some bytes.
enum Block {
    Whole { kind: u32, len: usize },
    More(usize),
    Bad(Damage),
}

impl Section {
    pub(super) fn none() -> Self {
        let (header, interfaces, blocks) = (Vec::new(), Vec::new(), Vec::new());
        Self { number: 0, swapped: false, header, interfaces, blocks, kept: 0, max_block: MAX_BLOCK, precision: Precision::Micro }
    }

    /// The blocks before the packets at hand that a copy needs: descriptions of interfaces, names
    /// and secrets, whole and in their order. More may follow them as reading goes on.
    pub(in crate::io) fn blocks(&self) -> &[u8] {
        &self.blocks
    }

    /// Reads blocks up to the next packet and counts the bytes that are done with in `done`.
    pub(super) fn step(&mut self, bytes: &[u8], done: &mut usize) -> Step {
        loop {
            let rest = bytes.get(*done..).unwrap_or_default();
            let (kind, len) = match self.block(rest) {
                Block::More(need) => return Step::More(need),
                Block::Bad(damage) => return Step::Damaged(damage),
                Block::Whole { kind, len } => (kind, len),
            };
            let block = rest.get(..len).unwrap_or_default();
            let read = match kind {
                SECTION => self.begin(block),
                INTERFACE => self.describe(block),
                NAMES | SECRETS => {
                    self.keep(block);
                    Ok(())
                }
                ENHANCED | SIMPLE | OBSOLETE => return self.packet(block).map_or_else(Step::Damaged, |_| Step::Packet),
                _ => Ok(()),
            };
            if let Err(damage) = read {
                return Step::Damaged(damage);
            }
            *done += len;
        }
    }

    /// Takes packets of one link type off the beginning of `bytes`, up to `max`, skipping blocks of
    /// no concern. Stops before anything else, which is for [`Section::step`] to judge.
    pub(super) fn collect<'a>(&self, bytes: &'a [u8], max: usize, spans: &mut Spans<'a>) -> LinkType {
        let mut link = None;
        let mut rest = bytes;
        while spans.len() < max {
            let Block::Whole { kind, len } = self.block(rest) else { break };
            let Some((block, after)) = rest.split_at_checked(len) else { break };
            match kind {
                SECTION | INTERFACE | NAMES | SECRETS => break,
                ENHANCED | SIMPLE | OBSOLETE => {
                    let Ok(packet) = self.packet(block) else { break };
                    let Some(of) = self.interface(packet.interface).map(|i| i.link) else { break };
                    if *link.get_or_insert(of) != of {
                        break;
                    }
                    spans.blocks.push(block);
                    spans.push(len, block.get(packet.data).unwrap_or_default());
                }
                _ => spans.skip(len),
            }
            rest = after;
        }
        link.unwrap_or(LinkType::EN10MB)
    }

    /// Finds the block at the beginning of `bytes` and checks its two lengths.
    #[inline(always)]
    fn block(&self, bytes: &[u8]) -> Block {
        let kind = u32_at(bytes, 0, self.swapped);
        if bytes.len() < 12 {
            return Block::More(12);
        }
        let (swapped, limit) = if kind == SECTION {
            match byte_order(bytes) {
                Ok(swapped) => (swapped, MAX_SECTION_HEADER),
                Err(damage) => return Block::Bad(damage),
            }
        } else {
            (self.swapped, self.max_block)
        };
        let head = u32_at(bytes, 4, swapped);
        if head < 12 || head > limit || !head.is_multiple_of(4) {
            return Block::Bad(Damage::BlockLength { length: head, limit });
        }
        let len = head as usize;
        if bytes.len() < len {
            return Block::More(len);
        }
        let tail = u32_at(bytes, len - 4, swapped);
        if tail == head { Block::Whole { kind, len } } else { Block::Bad(Damage::BlockEnds { head, tail }) }
    }

    fn begin(&mut self, block: &[u8]) -> Result<(), Damage> {
        let swapped = byte_order(block)?;
        if block.len() < 28 {
            return Err(Damage::BlockTooShort { kind: SECTION });
        }
        let (major, minor) = (u16_at(block, 12, swapped), u16_at(block, 14, swapped));
        // Minor version 2 was written by some tools and means the same.
        if !matches!((major, minor), (1, 0 | 2)) {
            return Err(Damage::Version { major, minor });
        }
        *self = Self { number: self.number.saturating_add(1), swapped, header: block.to_vec(), ..Self::none() };
        Ok(())
    }

    fn describe(&mut self, block: &[u8]) -> Result<(), Damage> {
        let options = block.get(16..block.len() - 4).ok_or(Damage::BlockTooShort { kind: INTERFACE })?;
        if self.blocks.len() - self.kept + block.len() > MAX_DESCRIPTIONS {
            return Err(Damage::TooManyInterfaces(MAX_DESCRIPTIONS));
        }
        let link = LinkType::from_file(u32::from(u16_at(block, 8, self.swapped)));
        let (resolution, offset) = self.clock(options)?;
        self.blocks.extend_from_slice(block);
        let snaplen = snapshot(u32_at(block, 12, self.swapped), link);
        self.interfaces.push(Interface { link, snaplen, resolution, offset });
        self.precision = self.precision.max(resolution.precision());
        self.max_block = self.max_block.max(link.max_packet().saturating_add(OPTION_ROOM));
        Ok(())
    }

    /// Keeps a block that copies are to have, while there is room.
    fn keep(&mut self, block: &[u8]) {
        if self.kept + block.len() <= MAX_KEPT {
            self.kept += block.len();
            self.blocks.extend_from_slice(block);
        }
    }

    fn clock(&self, options: &[u8]) -> Result<(Resolution, i64), Damage> {
        let (mut resolution, mut offset) = (None, None);
        let mut options = Options::new(options, self.swapped);
        for (code, value) in &mut options {
            let fits = match (code, value) {
                (IF_TSRESOL, &[told]) => {
                    let known = Resolution::from_option(told).ok_or(Damage::Resolution(told))?;
                    resolution.replace(known).is_none()
                }
                (IF_TSOFFSET, &[a, b, c, d, e, f, g, h]) => {
                    let told = i64::from_ne_bytes([a, b, c, d, e, f, g, h]);
                    offset.replace(if self.swapped { told.swap_bytes() } else { told }).is_none()
                }
                _ => !matches!(code, IF_TSRESOL | IF_TSOFFSET),
            };
            if !fits {
                return Err(Damage::Option { code });
            }
        }
        let cut = !options.rest().is_empty();
        if cut {
            Err(Damage::BlockTooShort { kind: INTERFACE })
        } else {
            Ok((resolution.unwrap_or(Resolution::MICRO), offset.unwrap_or(0)))
        }
    }

    /// Reads a packet block, whose length is checked, and checks that the packet is in it.
    #[inline(always)]
    pub(in crate::io) fn packet(&self, block: &[u8]) -> Result<Packet, Damage> {
        let field = |at| u32_at(block, at, self.swapped);
        let (start, interface, captured, wire_len) = match field(0) {
            ENHANCED => (28, field(8), field(20), field(24)),
            OBSOLETE => (28, u32::from(u16_at(block, 8, self.swapped)), field(20), field(24)),
            _ => (12, 0, field(8).min(self.interface(0).map_or(u32::MAX, |i| i.snaplen)), field(8)),
        };
        let kind = field(0);
        let room = block.len().checked_sub(start + 4).ok_or(Damage::BlockTooShort { kind })?;
        let known = self.interfaces.len() as u32;
        let limit = self.interface(interface).ok_or(Damage::NoInterface { id: interface, known })?.snaplen;
        if captured > limit {
            return Err(Damage::PacketTooLong { length: captured, limit });
        }
        if captured as usize > room {
            return Err(Damage::BlockTooShort { kind });
        }
        let ticks = (start == 28).then(|| u64::from(field(12)) << 32 | u64::from(field(16)));
        Ok(Packet { interface, ticks, wire_len, data: start..start + captured as usize })
    }

    /// Where the options of a packet block are: after the packet and its padding.
    pub(super) fn options<'a>(&self, block: &'a [u8]) -> Options<'a> {
        let end = block.len().saturating_sub(4);
        let start = self.packet(block).map_or(end, |packet| packet.data.end.next_multiple_of(4));
        Options::new(block.get(start..end).unwrap_or_default(), self.swapped)
    }

    pub(super) fn timestamp(&self, block: &[u8]) -> Timestamp {
        let Ok(packet) = self.packet(block) else { return Timestamp::default() };
        let clock = self.interface(packet.interface).map(|i| (i.resolution, i.offset));
        let (resolution, offset) = clock.unwrap_or((Resolution::MICRO, 0));
        resolution.at(packet.ticks.unwrap_or(0), offset)
    }

    pub(in crate::io) fn interface(&self, id: u32) -> Option<&Interface> {
        self.interfaces.get(id as usize)
    }

    /// What this section's interfaces say so far.
    pub(super) fn info(&self) -> Info {
        let (format, link_types, precision) = (Format::Pcapng, Vec::new(), self.precision);
        let mut info = Info { format, link_types, precision, snaplen: 0, fcs: 0, complete: false };
        self.interfaces.iter().for_each(|interface| info.note(interface));
        info
    }
}

fn byte_order(block: &[u8]) -> Result<bool, Damage> {
    match u32_at(block, 8, false) {
        BYTE_ORDER => Ok(false),
        mark if mark.swap_bytes() == BYTE_ORDER => Ok(true),
        mark => Err(Damage::ByteOrder(mark)),
    }
}
