//! Writing pcapng.
//!
//! What comes from a pcapng is copied block by block: section headers and interface descriptions
//! with their options, names and secrets, packets with options and comments, in the byte order and
//! clock resolution they have. What comes from elsewhere goes into a section of this machine's byte
//! order, with one interface for each link type, precision and snapshot length.
//!
//! Source: draft-ietf-opsawg-pcapng. Leaves out: interface statistics, which count what was
//! captured and not what is written; custom blocks; names and secrets that no packet of their
//! section follows.

use std::{collections::BTreeMap, io};

use super::{Packet, WriteError, sink::Sink};
use crate::io::{
    Burst, LinkType, Precision, Resolution,
    capture::{BYTE_ORDER, ENHANCED, INTERFACE, Origin, SECTION, Section},
};

/// The section that the output is in.
#[derive(Default)]
pub(super) enum Ng {
    #[default]
    Nothing,
    /// A copied one: which it is, and how many bytes of [`Section::blocks`] were written.
    Copied { identity: (u64, u32), written: usize },
    /// One made here, with its interfaces' numbers.
    Made(BTreeMap<(LinkType, Precision, u32), u32>),
}

impl Ng {
    /// Whether the records of a burst can be copied as they are; writes what they need before them.
    pub(super) fn copies(&mut self, sink: &mut Sink, burst: &Burst<'_>) -> io::Result<bool> {
        let Origin::Pcapng(section) = burst.origin() else { return Ok(false) };
        let written = match self {
            Self::Copied { identity, written } if *identity == burst.identity() => *written,
            _ => {
                put_section(sink, section)?;
                0
            }
        };
        sink.put(section.blocks().get(written..).unwrap_or_default())?;
        *self = Self::Copied { identity: burst.identity(), written: section.blocks().len() };
        Ok(true)
    }

    pub(super) fn write(&mut self, sink: &mut Sink, packet: &Packet<'_>) -> Result<(), WriteError> {
        let interface = self.interface(sink, packet.link, packet.time.precision, packet.snaplen)?;
        let len = packet.data.len();
        // The type, two lengths of the block, five fields; and the packet with its padding.
        let total = u32::try_from(32 + len.next_multiple_of(4)).map_err(|_| WriteError::PacketTooLong(len))?;
        let ticks = ticks(packet)?;
        let fields = [ENHANCED, total, interface, (ticks >> 32) as u32, ticks as u32, len as u32, packet.wire_len];
        let padding = &[0; 3][..len.next_multiple_of(4) - len];
        for part in [fields.map(u32::to_ne_bytes).as_flattened(), packet.data, padding, &total.to_ne_bytes()] {
            sink.put(part).map_err(|source| sink.error(source))?;
        }
        Ok(())
    }

    /// Begins a section if none is begun, so that even an output without packets is a capture.
    pub(super) fn begin(&mut self, sink: &mut Sink) -> io::Result<()> {
        if let Self::Nothing = self {
            *self = Self::Made(BTreeMap::new());
            sink.put(&own_section())?;
        }
        Ok(())
    }

    /// The number of the interface with these properties, described if it was not.
    pub(super) fn interface(&mut self, sink: &mut Sink, link: LinkType, precision: Precision, snaplen: u32) -> Result<u32, WriteError> {
        if let Self::Copied { .. } = self {
            *self = Self::Nothing;
        }
        self.begin(sink).map_err(|source| sink.error(source))?;
        let Self::Made(interfaces) = self else { return Ok(0) };
        let next = interfaces.len() as u32;
        if let Some(&known) = interfaces.get(&(link, precision, snaplen)) {
            return Ok(known);
        }
        let description = description(link, precision, snaplen)?;
        sink.put(&description).map_err(|source| sink.error(source))?;
        interfaces.insert((link, precision, snaplen), next);
        Ok(next)
    }
}

/// A section header as it was, but for its length: packets may be left out, so that is not told.
fn put_section(sink: &mut Sink, section: &Section) -> io::Result<()> {
    let mut header = section.header.clone();
    if let Some(length) = header.get_mut(16..24) {
        length.fill(0xff);
    }
    sink.put(&header)
}

/// A section header of this machine: version 1.0, no length told, no options.
fn own_section() -> Vec<u8> {
    let version = [1u16, 0].map(u16::to_ne_bytes);
    let head = [SECTION, 28, BYTE_ORDER].map(u32::to_ne_bytes);
    [head.as_flattened(), version.as_flattened(), &[0xff; 8], &28u32.to_ne_bytes()].concat()
}

fn description(link: LinkType, precision: Precision, snaplen: u32) -> Result<Vec<u8>, WriteError> {
    let number = u16::try_from(link.number()).map_err(|_| WriteError::LinkType(link))?;
    let [nine, one] = [9u16, 1].map(u16::to_ne_bytes);
    let options: &[&[u8]] = match precision {
        Precision::Micro => &[],
        Precision::Nano => &[&nine, &one, &[Resolution::NANO.option(), 0, 0, 0], &[0; 4]],
    };
    let options = options.concat();
    let total = (20 + options.len()) as u32;
    let head = [INTERFACE, total].map(u32::to_ne_bytes);
    Ok([head.as_flattened(), &number.to_ne_bytes(), &[0; 2], &snaplen.to_ne_bytes(), &options, &total.to_ne_bytes()].concat())
}

fn ticks(packet: &Packet<'_>) -> Result<u64, WriteError> {
    let time = packet.time;
    let (per_second, part) = match time.precision {
        Precision::Micro => (1_000_000, time.micros()),
        Precision::Nano => (1_000_000_000, time.nanos),
    };
    let secs = u64::try_from(time.secs).ok().and_then(|secs| secs.checked_mul(per_second));
    secs.and_then(|ticks| ticks.checked_add(u64::from(part))).ok_or(WriteError::Timestamp(time))
}
