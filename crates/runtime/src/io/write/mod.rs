//! Writing captures: a [`WriteOptions`] says what, [`Writer`] does it.
//!
//! - A file is complete or absent: it gets its name in [`Writer::finish`] and not before, whatever
//!   happens. Pipes, devices and standard output are written directly. After a failed write nothing
//!   is written any more.
//! - A growing file ([`Writer::create_growing`]) is for captures that come as they come: it has its
//!   name from the beginning, is flushed at least every second or megabyte of packets, and keeps
//!   what was flushed whatever happens later.
//! - What is in the input as it would be in the output is copied without a look inside.
//! - Classic pcap is written in this machine's byte order; a pcapng that is copied keeps its own.
//!
//! ```
//! use netvm_runtime::io::{LinkType, Timestamp, WriteOptions, Writer};
//!
//! let path = std::env::temp_dir().join(format!("netvm-doc-{}.pcap", std::process::id()));
//! let mut writer = Writer::create(&path, &WriteOptions::for_output(&path, &[]))?;
//! writer.write_packet(LinkType::EN10MB, Timestamp::from_micros(7, 1), 60, b"abc")?;
//! assert!(!path.exists());
//! writer.finish()?;
//! assert_eq!(std::fs::metadata(&path).unwrap().len(), 24 + 16 + 3);
//! # std::fs::remove_file(&path).unwrap();
//! # Ok::<(), netvm_runtime::io::WriteError>(())
//! ```

mod error;
mod growing;
mod pcap;
mod pcapng;
mod sink;

use std::{io::Write, path::Path};

pub use error::WriteError;
pub use sink::abandon_all;

use self::{
    pcap::Classic,
    pcapng::Ng,
    sink::{Sink, Target},
};
use super::{Burst, Format, Info, LinkType, Precision, Record, Timestamp};

/// The snapshot length told where no input tells one: what tcpdump captures with.
const SNAPLEN: u32 = 262_144;

/// How an output is compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Compression {
    /// Not at all.
    #[default]
    None,
    /// gzip.
    Gzip,
    /// Zstandard.
    Zstd,
}

/// What an output is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteOptions {
    /// The format.
    pub format: Format,
    /// The compression around it.
    pub compression: Compression,
    /// The precision of a classic pcap; raised to that of the first packet's capture.
    pub precision: Precision,
    /// The link type of a classic pcap that gets no packet; otherwise that of its first packet.
    pub link_type: LinkType,
    /// The longest packet there may be, as told to readers, in bytes.
    pub snaplen: u32,
    /// Classic pcap's note on frame check sequences, as in [`Info::fcs`].
    pub fcs: u32,
}

impl WriteOptions {
    /// What people expect of an output of this name with packets of these inputs: pcapng if the
    /// name ends in `.pcapng` or the inputs mix link types, else classic pcap in the finest
    /// precision among them; compressed if the name ends (after that) in `.gz` or `.zst`.
    pub fn for_output(name: impl AsRef<Path>, inputs: &[Info]) -> Self {
        let (stem, compression) = Compression::split(name.as_ref());
        let all = inputs.iter().cloned().reduce(|mut all, info| {
            all.merge(&info);
            all
        });
        let mixed = all.as_ref().is_some_and(|all| all.link_types.len() > 1);
        let named = stem.extension().is_some_and(|end| end.eq_ignore_ascii_case("pcapng"));
        Self {
            format: if named || mixed { Format::Pcapng } else { Format::Pcap },
            compression,
            precision: all.as_ref().map_or(Precision::Micro, |all| all.precision),
            link_type: all.as_ref().and_then(|all| all.link_types.first()).copied().unwrap_or(LinkType::EN10MB),
            snaplen: all.map(|all| all.snaplen).filter(|&snaplen| snaplen > 0).unwrap_or(SNAPLEN),
            fcs: if let [only] = inputs { only.fcs } else { 0 },
        }
    }
}

impl Compression {
    /// A name without the ending that asks for compression, and what that is.
    fn split(name: &Path) -> (&Path, Self) {
        let end = name.extension().and_then(|end| end.to_str()).unwrap_or_default();
        let stem = name.file_stem().map_or(name, Path::new);
        match end.to_ascii_lowercase().as_str() {
            "gz" => (stem, Self::Gzip),
            "zst" | "zstd" => (stem, Self::Zstd),
            _ => (name, Self::None),
        }
    }
}

/// An output being written. Dropped without [`Writer::finish`], a file is as if it had never been.
pub struct Writer {
    sink: Sink,
    plan: WriteOptions,
    body: Body,
    packets: u64,
    failed: bool,
}

enum Body {
    /// A classic pcap without a header: its first packet decides on it.
    Unbegun,
    Classic(Classic),
    Ng(Ng),
}

/// A packet to be written anew.
struct Packet<'a> {
    link: LinkType,
    time: Timestamp,
    wire_len: u32,
    snaplen: u32,
    data: &'a [u8],
}

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Packets.
    pub packets: u64,
    /// Bytes, before compression.
    pub bytes: u64,
}

impl Writer {
    /// Opens an output: a file, a pipe, a device, or standard output for `-`.
    pub fn create(path: impl AsRef<Path>, plan: &WriteOptions) -> Result<Self, WriteError> {
        Ok(Self::with(Sink::create(path.as_ref(), plan.compression)?, plan))
    }

    /// Opens an output that has its name, and a header, from the beginning: other programs may read
    /// it while it grows. What was in a file of that name is gone.
    pub fn create_growing(path: impl AsRef<Path>, plan: &WriteOptions) -> Result<Self, WriteError> {
        let mut writer = Self::with(Sink::create_growing(path.as_ref(), plan.compression)?, plan);
        writer.guarded(|writer| match &mut writer.body {
            Body::Unbegun => writer.begin(plan.precision, plan.link_type),
            Body::Ng(ng) => ng.begin(&mut writer.sink).map_err(|source| writer.sink.error(source)),
            Body::Classic(_) => Ok(()),
        })?;
        writer.sink.mark();
        writer.flush()?;
        Ok(writer)
    }

    /// Makes a growing file that of another user and group, by their numbers: for a program that
    /// goes on without the rights of root. Other outputs stay whose they are.
    pub fn give_to(&self, user: u32, group: u32) -> Result<(), WriteError> {
        self.sink.give(user, group).map_err(|source| self.sink.error(source))
    }

    /// Writes to any writer, called `-` in errors.
    pub fn to_writer(writer: impl Write + Send + 'static, plan: &WriteOptions) -> Result<Self, WriteError> {
        let target = Target::Other(Box::new(writer));
        Ok(Self::with(Sink::over(target, "-".into(), plan.compression)?, plan))
    }

    /// Writes all packets of a burst.
    pub fn write_burst(&mut self, burst: &Burst<'_>) -> Result<(), WriteError> {
        self.guarded(|writer| writer.copy(burst, 0..burst.len()))
    }

    /// Writes the packets of a burst whose bits are set, least significant bit of the first word
    /// first.
    pub fn write_selected(&mut self, burst: &Burst<'_>, bits: &[u64]) -> Result<(), WriteError> {
        self.guarded(|writer| writer.copy(burst, ones(bits).take_while(|&i| i < burst.len())))
    }

    /// Writes packet `i` of a burst. Panics where `i` is no index.
    pub fn write_one(&mut self, burst: &Burst<'_>, i: usize) -> Result<(), WriteError> {
        self.guarded(|writer| writer.copy(burst, std::iter::once(i)))
    }

    /// Bytes written so far, before compression.
    pub fn bytes(&self) -> u64 {
        self.sink.bytes()
    }

    /// Writes a packet that is in no capture, or was changed.
    pub fn write_packet(&mut self, link: LinkType, time: Timestamp, wire_len: u32, data: &[u8]) -> Result<(), WriteError> {
        let packet = Packet { link, time, wire_len, snaplen: self.plan.snaplen, data };
        self.guarded(|writer| {
            writer.put(&packet)?;
            writer.sink.mark();
            writer.flush_if_due()
        })
    }

    /// Passes on everything written so far, so that a reader of the pipe has it.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        self.guarded(|writer| writer.sink.flush().map_err(|source| writer.sink.error(source)))
    }

    /// Passes on everything written so far to a growing file, if a second has passed since the last
    /// time, or a megabyte was written.
    pub fn flush_due(&mut self) -> Result<(), WriteError> {
        if self.failed { Ok(()) } else { self.guarded(Self::flush_if_due) }
    }

    /// Packets written so far.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Ends the output and, if it is a file, puts it in its place. An output without packets is a
    /// capture without packets.
    pub fn finish(mut self) -> Result<Written, WriteError> {
        let WriteOptions { precision, link_type, snaplen, .. } = self.plan;
        self.guarded(|writer| match &mut writer.body {
            Body::Unbegun => writer.begin(precision, link_type),
            Body::Ng(ng @ Ng::Nothing) => ng.interface(&mut writer.sink, link_type, precision, snaplen).map(drop),
            _ => Ok(()),
        })?;
        self.sink.mark();
        let packets = self.packets;
        self.sink.finish().map(|bytes| Written { packets, bytes })
    }

    fn with(sink: Sink, plan: &WriteOptions) -> Self {
        let body = match plan.format {
            Format::Pcap => Body::Unbegun,
            Format::Pcapng => Body::Ng(Ng::default()),
        };
        Self { sink, plan: plan.clone(), body, packets: 0, failed: false }
    }

    /// Does something unless an earlier thing failed, and remembers if this one does.
    fn guarded(&mut self, work: impl FnOnce(&mut Self) -> Result<(), WriteError>) -> Result<(), WriteError> {
        if std::mem::replace(&mut self.failed, true) {
            return Err(WriteError::Abandoned);
        }
        work(self)?;
        self.failed = false;
        Ok(())
    }

    fn copy(&mut self, burst: &Burst<'_>, chosen: impl Iterator<Item = usize>) -> Result<(), WriteError> {
        if let Body::Unbegun = self.body {
            self.begin(self.plan.precision.max(burst.precision()), burst.link_type())?;
        }
        let copies = match &mut self.body {
            Body::Classic(classic) => classic.copies(burst),
            Body::Ng(ng) => ng.copies(&mut self.sink, burst).map_err(|source| self.sink.error(source))?,
            Body::Unbegun => false,
        };
        for i in chosen {
            self.copy_one(burst, i, copies)?;
            self.sink.mark();
        }
        self.flush_if_due()
    }

    #[inline(always)]
    fn copy_one(&mut self, burst: &Burst<'_>, i: usize, copies: bool) -> Result<(), WriteError> {
        let copied = match &self.body {
            Body::Classic(classic) if copies => classic.copy(&mut self.sink, burst, i),
            Body::Ng(_) if copies => Some(self.sink.put(burst.record(i).raw)),
            _ => None,
        };
        match copied {
            Some(done) => {
                self.packets += 1;
                done.map_err(|source| self.sink.error(source))
            }
            None => self.put(&Packet::of(&burst.record(i))),
        }
    }

    fn flush_if_due(&mut self) -> Result<(), WriteError> {
        if self.sink.is_due() { self.sink.flush().map_err(|source| self.sink.error(source)) } else { Ok(()) }
    }

    fn put(&mut self, packet: &Packet<'_>) -> Result<(), WriteError> {
        if let Body::Unbegun = self.body {
            self.begin(self.plan.precision.max(packet.time.precision), packet.link)?;
        }
        self.packets += 1;
        match &mut self.body {
            Body::Classic(classic) => classic.write(&mut self.sink, packet),
            Body::Ng(ng) => ng.write(&mut self.sink, packet),
            Body::Unbegun => Ok(()),
        }
    }

    fn begin(&mut self, precision: Precision, link: LinkType) -> Result<(), WriteError> {
        let classic = Classic::begin(&mut self.sink, precision, link, self.plan.snaplen, self.plan.fcs);
        self.body = Body::Classic(classic.map_err(|source| self.sink.error(source))?);
        Ok(())
    }
}

impl<'a> Packet<'a> {
    fn of(record: &Record<'a>) -> Self {
        let (link, time, wire_len) = (record.link_type(), record.timestamp(), record.wire_len());
        Self { link, time, wire_len, snaplen: record.snaplen(), data: record.data }
    }
}

/// The numbers of the set bits, ascending.
fn ones(words: &[u64]) -> impl Iterator<Item = usize> {
    words.iter().enumerate().flat_map(|(at, &word)| {
        let rests = std::iter::successors(Some(word), |rest| Some(rest & rest.wrapping_sub(1)));
        rests.take_while(|&rest| rest != 0).map(move |rest| at * 64 + rest.trailing_zeros() as usize)
    })
}
