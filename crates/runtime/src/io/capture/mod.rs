//! Reading captures: [`Capture`] opens one and hands on its packets in bursts, without copying
//! them.
//!
//! - Formats are told apart by their first bytes: pcap, pcapng, and either of them in gzip or zstd.
//! - Bytes stream through one buffer that stays in the cache; packets are slices of it.
//! - A packet is handed on as soon as it is complete: a slow pipe gives bursts of one.
//! - Damage ends the capture: all before it is handed on, then [`ReadError::Damaged`] tells where
//!   and what.
//!
//! What libpcap 1.10.3 accepts is accepted, with two additions: sections of different byte order,
//! and interfaces of different link type or snapshot length, in one pcapng.
//!
//! ```
//! use netvm_runtime::io::Capture;
//!
//! let header = [0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 1, 0, 0, 0];
//! let record = [7, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 60, 0, 0, 0, b'a', b'b', b'c'];
//! let mut capture = Capture::from_bytes([&header[..], &record[..]].concat())?;
//! while let Some(burst) = capture.next_burst(256)? {
//!     assert_eq!(burst.link_type().to_string(), "EN10MB");
//!     assert_eq!(burst.packets(), [b"abc"]);
//!     assert_eq!(burst.record(0).timestamp().to_string(), "7.000001");
//! }
//! # Ok::<(), netvm_runtime::io::ReadError>(())
//! ```

mod burst;
mod decode;
mod error;
pub mod options;
mod pcap;
mod pcapng;
mod place;
mod source;
mod split;

use std::{
    fs::File,
    io::{Read, Seek},
    os::fd::AsFd,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

pub(in crate::io) use burst::Origin;
pub use burst::{Burst, Record};
use burst::{Packets, Records};
pub use error::{Damage, ReadError};
pub(in crate::io) use pcap::Pcap;
pub use pcapng::Interface;
pub(in crate::io) use pcapng::{BYTE_ORDER, ENHANCED, INTERFACE, SECTION, Section};
pub use place::Places;
pub use split::{Group, Reading, Split};

use self::{
    decode::Corrupt,
    source::{ByteSource, Refill, Region},
};
use super::claims::Claim;
use super::{LinkType, Precision, Timestamp};

/// The most packets in a burst, whatever the caller asks for.
pub const MAX_BURST: usize = 4096;

/// An open capture.
pub struct Capture {
    source: ByteSource,
    parser: Parser,
    /// Bytes of the burst that was handed on last.
    taken: usize,
    /// Packets of it, while they can come again.
    last: usize,
    packets: u64,
    ended: bool,
    id: u64,
    /// The input once more, where it can be read twice.
    again: Option<Region>,
    /// Nobody writes to it meanwhile.
    _claim: Option<Claim>,
}

/// What a capture has at the moment.
pub enum Progress<'a> {
    /// Packets.
    Burst(Burst<'a>),
    /// Nothing yet: the next call waits for the pipe, so this is the time to flush what was made of
    /// earlier packets. Also comes when a signal interrupts the wait.
    Idle,
    /// No more.
    End,
}

/// A capture file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Classic pcap.
    Pcap,
    /// pcapng.
    Pcapng,
}

/// What is known of a capture as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Info {
    /// The format of the input.
    pub format: Format,
    /// The link types of its interfaces, ascending; one for classic pcap, perhaps none for pcapng.
    pub link_types: Vec<LinkType>,
    /// The finest precision of its timestamps.
    pub precision: Precision,
    /// The longest snapshot length in force, in bytes.
    pub snaplen: u32,
    /// Classic pcap's note on frame check sequences, as in the upper six bits of the link type
    /// field.
    pub fcs: u32,
    /// Whether more may come to light while reading.
    pub complete: bool,
}

impl Info {
    /// Takes in what another capture, or a later section, says: its link types, the finer
    /// precision, the longer packets.
    pub fn merge(&mut self, other: &Self) {
        other.link_types.iter().for_each(|&link| self.add_link(link));
        self.precision = self.precision.max(other.precision);
        self.snaplen = self.snaplen.max(other.snaplen);
        self.complete &= other.complete;
    }

    fn note(&mut self, interface: &Interface) {
        self.add_link(interface.link);
        self.precision = self.precision.max(interface.resolution.precision());
        self.snaplen = self.snaplen.max(interface.snaplen);
    }

    fn add_link(&mut self, link: LinkType) {
        if let Err(at) = self.link_types.binary_search(&link) {
            self.link_types.insert(at, link);
        }
    }
}

enum Parser {
    Pcap(Pcap),
    Pcapng(Box<Section>),
}

/// The state of the capture at its first unread byte.
enum Step {
    /// A whole packet is there.
    Packet,
    /// This many bytes, or more, are needed to go on.
    More(usize),
    Damaged(Damage),
}

/// Packets being gathered into a burst.
struct Spans<'a> {
    packets: Vec<&'a [u8]>,
    /// Those of a pcapng's packets.
    blocks: Vec<&'a [u8]>,
    bytes: usize,
}

impl Capture {
    /// Opens the file or pipe at `path`, or standard input for `-`.
    ///
    /// Errors: it cannot be opened or read, is empty, or is no capture.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ReadError> {
        match path.as_ref() {
            path if path == Path::new("-") => Self::stdin(),
            path => Self::from_file(File::open(path)?, 0),
        }
    }

    /// Opens standard input; a file redirected there is read from its current position.
    pub fn stdin() -> Result<Self, ReadError> {
        let mut file = File::from(std::io::stdin().as_fd().try_clone_to_owned()?);
        // A pipe has no position.
        let at = file.stream_position().unwrap_or(0);
        Self::from_file(file, at)
    }

    fn from_file(file: File, at: u64) -> Result<Self, ReadError> {
        let claim = Claim::to_read(&file);
        let Some(region) = Region::of(&file, at)? else { return Self::begin(ByteSource::pipe(file)?) };
        let capture = Self::begin(ByteSource::region(region.clone())?)?;
        Ok(Self { again: Some(region), _claim: Some(claim), ..capture })
    }

    /// Reads a capture that is already in memory, without a buffer between.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, ReadError> {
        Self::begin(ByteSource::memory(bytes)?)
    }

    /// Reads a capture from any reader, which is asked for more only when no whole packet is left.
    pub fn from_reader(reader: impl Read + Send + 'static) -> Result<Self, ReadError> {
        Self::begin(ByteSource::reader(reader)?)
    }

    /// The next packets, at most `max` (and [`MAX_BURST`]), waiting for them if need be; `None` at
    /// the end.
    pub fn next_burst(&mut self, max: usize) -> Result<Option<Burst<'_>>, ReadError> {
        loop {
            match self.find()? {
                Found::Packet => return self.collect(max).map(Some),
                Found::End => return Ok(None),
                Found::Idle => {}
            }
        }
    }

    /// The next packets, at most `max`; tells before it waits for a pipe.
    pub fn poll_burst(&mut self, max: usize) -> Result<Progress<'_>, ReadError> {
        match self.find()? {
            Found::Packet => self.collect(max).map(Progress::Burst),
            Found::End => Ok(Progress::End),
            Found::Idle => Ok(Progress::Idle),
        }
    }

    /// When the next packet was captured, waiting for it if need be; `None` at the end. The packet
    /// is still to come.
    pub fn peek_time(&mut self) -> Result<Option<Timestamp>, ReadError> {
        let time = self.next_burst(1)?.map(|burst| burst.timestamp(0));
        self.give_back(usize::from(time.is_some()));
        Ok(time)
    }

    /// The last so many packets of the burst before come again. False, and nothing happens, where
    /// it did not have so many.
    pub fn give_back(&mut self, count: usize) -> bool {
        let Some(kept) = self.last.checked_sub(count) else { return false };
        if count == 0 {
            return true;
        }
        (self.taken, self.packets) = (0, self.packets - self.last as u64);
        self.last = 0;
        kept == 0 || self.collect(kept).is_ok()
    }

    /// The next packets, at most `max`, up to the first whose time `keep` refuses; the first of
    /// them comes in any case. `None` at the end.
    pub fn next_burst_while(&mut self, max: usize, keep: impl Fn(Timestamp) -> bool) -> Result<Option<Burst<'_>>, ReadError> {
        let Some(burst) = self.next_burst(max)? else { return Ok(None) };
        let (all, kept) = (burst.len(), 1 + (1..burst.len()).take_while(|&i| keep(burst.timestamp(i))).count());
        self.give_back(all);
        self.collect(kept).map(Some)
    }

    /// What is known of the capture so far: all there is to know of a classic pcap; of a pcapng,
    /// what the present section told up to here.
    pub fn info(&self) -> Info {
        match &self.parser {
            Parser::Pcap(pcap) => pcap.info(),
            Parser::Pcapng(section) => section.info(),
        }
    }

    /// What there is to know of the capture as a whole, if it is a classic pcap or can be read
    /// twice; the latter is done for a pcapng, up to its end or damage. Otherwise the same as
    /// [`Capture::info`].
    pub fn survey(&self) -> Result<Info, ReadError> {
        let mut info = self.info();
        let Some(region) = self.again.as_ref().filter(|_| !info.complete) else { return Ok(info) };
        let mut other = Self::begin(ByteSource::region(region.clone())?)?;
        let mut noted = (0, 0);
        while let Ok(Some(_)) = other.next_burst(MAX_BURST) {
            other.note_new(&mut noted, &mut info);
        }
        info.complete = true;
        Ok(info)
    }

    /// Takes in the interfaces past those `noted`: a section's number, and how many of its
    /// interfaces.
    fn note_new(&self, noted: &mut (u32, usize), info: &mut Info) {
        let Parser::Pcapng(section) = &self.parser else { return };
        let seen = if noted.0 == section.number { noted.1 } else { 0 };
        section.interfaces.iter().skip(seen).for_each(|interface| info.note(interface));
        *noted = (section.number, section.interfaces.len());
    }

    /// The packets not read yet, in groups; `None` where they can only be read one after the other:
    /// from pipes, compressed files and pcapng.
    pub fn split(&self, reading: Reading) -> Option<Split> {
        match (&self.parser, &self.again) {
            (Parser::Pcap(pcap), Some(file)) if self.source.is_plain() => {
                let begin = self.source.offset() + self.taken as u64;
                Split::new(file, pcap.clone(), begin, self.id, reading).ok()
            }
            _ => None,
        }
    }

    /// Goes on with the record at `offset`, as told by a [`Group`] of this capture, after so many
    /// more packets were read. Nothing happens where there is no [`Capture::split`].
    pub fn skip_to(&mut self, offset: u64, packets: u64) {
        if let Some(file) = self.again.as_ref().filter(|_| self.source.is_plain()) {
            self.source = ByteSource::rest(file.clone(), offset);
            (self.taken, self.last, self.packets) = (0, 0, self.packets + packets);
        }
    }

    /// Bytes of the input read so far (compressed ones, if it is) and how many there are, if that
    /// is known.
    pub fn progress(&self) -> (u64, Option<u64>) {
        self.source.progress()
    }

    /// Packets handed on so far.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    fn begin(mut source: ByteSource) -> Result<Self, ReadError> {
        let parser = Parser::choose(&mut source)?;
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let mut capture = Self { source, parser, taken: 0, last: 0, packets: 0, ended: false, id, again: None, _claim: None };
        capture.describe()?;
        Ok(capture)
    }

    /// Reads on until the first interface is known, so that [`Capture::info`] has something to say.
    fn describe(&mut self) -> Result<(), ReadError> {
        while matches!(&self.parser, Parser::Pcapng(section) if section.interfaces.is_empty()) {
            if matches!(self.find()?, Found::Packet | Found::End) {
                break;
            }
        }
        Ok(())
    }
}

/// What comes next in a capture.
enum Found {
    Packet,
    Idle,
    End,
}

impl Capture {
    /// Finds the next packet; an error ends the capture.
    fn find(&mut self) -> Result<Found, ReadError> {
        if self.ended {
            return Ok(Found::End);
        }
        let found = self.seek();
        self.ended = !matches!(found, Ok(Found::Packet | Found::Idle));
        found
    }

    fn seek(&mut self) -> Result<Found, ReadError> {
        self.source.consume(std::mem::take(&mut self.taken));
        self.last = 0;
        loop {
            let mut done = 0;
            let step = self.parser.step(self.source.bytes(), &mut done);
            self.source.consume(done);
            match step {
                Step::Packet => return Ok(Found::Packet),
                Step::Damaged(damage) => return Err(self.damaged(damage)),
                Step::More(need) => match self.source.refill() {
                    Ok(Refill::Grew) => {}
                    Ok(Refill::Idle) => return Ok(Found::Idle),
                    Ok(Refill::End) => return self.end(need),
                    Err(error) => return Err(self.failed(error)),
                },
            }
        }
    }

    fn collect(&mut self, max: usize) -> Result<Burst<'_>, ReadError> {
        let mut spans = Spans::with_room(max.clamp(1, MAX_BURST));
        let link = self.parser.collect(self.source.bytes(), max.clamp(1, MAX_BURST), &mut spans);
        let Spans { blocks, packets, bytes } = spans;
        let first = self.packets;
        self.taken = bytes;
        self.last = packets.len();
        self.packets += packets.len() as u64;
        let records = match self.parser {
            Parser::Pcap(_) => Records::Around(self.source.bytes()),
            Parser::Pcapng(_) => Records::Blocks(blocks),
        };
        Ok(Burst { packets: Packets::Slices(packets), records, link, origin: self.parser.origin(), first, capture: self.id })
    }

    /// The end of the input, where `need` bytes would be needed for another packet.
    fn end(&self, need: usize) -> Result<Found, ReadError> {
        match self.source.bytes().len() {
            0 => Ok(Found::End),
            got => Err(self.damaged(Damage::Cut { got: got as u64, need: need as u64 })),
        }
    }

    fn failed(&self, error: std::io::Error) -> ReadError {
        match corruption(&error) {
            Some(why) => self.damaged(Damage::Compressed(why)),
            None => ReadError::Io(error),
        }
    }

    fn damaged(&self, damage: Damage) -> ReadError {
        ReadError::Damaged { offset: self.source.offset(), packets: self.packets, damage }
    }
}

impl Parser {
    /// Reads the first bytes and, of a classic pcap, the file header.
    fn choose(source: &mut ByteSource) -> Result<Self, ReadError> {
        let magic = match head::<4>(source)? {
            Ok(magic) => magic,
            Err(0) => return Err(ReadError::Empty),
            Err(_) => return Err(ReadError::NotACapture { magic: source.bytes().to_vec() }),
        };
        if u32::from_ne_bytes(magic) == SECTION {
            return Self::choose_pcapng(source);
        }
        if !Pcap::knows(magic) {
            return Err(ReadError::NotACapture { magic: magic.to_vec() });
        }
        let header = head::<{ pcap::FILE_HEADER }>(source)?.map_err(|got| broken(0, Damage::FileHeaderCut(got)))?;
        source.consume(header.len());
        Pcap::parse(&header).map(Self::Pcap).map_err(|damage| broken(0, damage))
    }

    /// The block type of a section header is a line break in any convention: only the byte order
    /// mark tells.
    fn choose_pcapng(source: &mut ByteSource) -> Result<Self, ReadError> {
        let header = head::<12>(source)?.map_err(|got| broken(0, Damage::FileHeaderCut(got)))?;
        let mark = pcap::u32_at(&header, 8, false);
        if mark == BYTE_ORDER || mark.swap_bytes() == BYTE_ORDER {
            return Ok(Self::Pcapng(Box::new(Section::none())));
        }
        Err(ReadError::NotACapture { magic: header[..4].to_vec() })
    }

    fn step(&mut self, bytes: &[u8], done: &mut usize) -> Step {
        match self {
            Self::Pcap(pcap) => pcap.step(bytes),
            Self::Pcapng(section) => section.step(bytes, done),
        }
    }

    fn collect<'a>(&self, bytes: &'a [u8], max: usize, spans: &mut Spans<'a>) -> LinkType {
        match self {
            Self::Pcap(pcap) => {
                pcap.collect(bytes, max, spans);
                pcap.link
            }
            Self::Pcapng(section) => section.collect(bytes, max, spans),
        }
    }

    fn origin(&self) -> Origin<'_> {
        match self {
            Self::Pcap(pcap) => Origin::Pcap(pcap),
            Self::Pcapng(section) => Origin::Pcapng(section),
        }
    }
}

impl<'a> Spans<'a> {
    fn with_room(max: usize) -> Self {
        Self { packets: Vec::with_capacity(max), blocks: Vec::new(), bytes: 0 }
    }

    fn len(&self) -> usize {
        self.packets.len()
    }

    #[inline(always)]
    fn push(&mut self, record: usize, packet: &'a [u8]) {
        self.bytes += record;
        self.packets.push(packet);
    }

    fn skip(&mut self, bytes: usize) {
        self.bytes += bytes;
    }
}

/// The first `N` bytes of a source, waiting for them; otherwise how many there are.
fn head<const N: usize>(source: &mut ByteSource) -> Result<Result<[u8; N], u64>, ReadError> {
    loop {
        if let Some(bytes) = source.bytes().first_chunk() {
            return Ok(Ok(*bytes));
        }
        match source.refill() {
            Ok(Refill::End) => return Ok(Err(source.bytes().len() as u64)),
            Ok(_) => {}
            Err(error) => return Err(opening(error, source.bytes().len() as u64)),
        }
    }
}

/// Damage before the first packet.
fn broken(offset: u64, damage: Damage) -> ReadError {
    ReadError::Damaged { offset, packets: 0, damage }
}

fn opening(error: std::io::Error, offset: u64) -> ReadError {
    match corruption(&error) {
        Some(why) => broken(offset, Damage::Compressed(why)),
        None => ReadError::Io(error),
    }
}

/// What a decoder says is wrong with a compressed stream, if that is what the error is.
fn corruption(error: &std::io::Error) -> Option<String> {
    error.get_ref().and_then(|inner| inner.downcast_ref::<Corrupt>()).map(|Corrupt(why)| why.clone())
}
