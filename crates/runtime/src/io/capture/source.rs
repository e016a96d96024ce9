//! Where a capture's bytes come from: memory, or a stream through a buffer that is used again and
//! again.
//!
//! What comes from here is copied once, into a buffer that fits the second-level cache, where the
//! records are then found one after the other and a filter finds its bytes. Large files are read
//! otherwise where that is quicker: see [`Split`](super::Split).
//!
//! Invariants: the buffer grows only when it is full of bytes that did arrive, so no claimed length
//! allocates memory. A refill hands back what is there rather than wait for more, and says when the
//! next one would wait.

use std::{
    fs::File,
    io::{self, ErrorKind, Read},
    os::{fd::AsFd, unix::fs::FileExt},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};

use super::decode::Coding;
use crate::io::sys::mapped::Mapping;

/// The size a buffer starts with: well within a second-level cache, large enough for system calls
/// not to matter.
const BUFFER: usize = 256 << 10;

/// Bytes not yet consumed, and a way to more.
pub(super) enum ByteSource {
    Memory { bytes: Vec<u8>, at: usize },
    Stream(Stream),
}

/// What came of asking for more bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refill {
    Grew,
    /// Nothing is there yet; asking again waits.
    Idle,
    End,
}

pub(super) struct Stream {
    reader: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Bytes of the stream before `buffer[0]`.
    base: u64,
    /// Whether the bytes are the file's own.
    plain: bool,
    /// Whether one refill may read several times: only where the reader says that it would wait.
    eager: bool,
    /// What the reader said after it gave some bytes.
    later: Option<io::Result<Refill>>,
    done: Arc<AtomicU64>,
    total: Option<u64>,
}

/// A regular file from some position, read without moving a position that others share.
#[derive(Clone)]
pub(super) struct Region {
    file: Arc<File>,
    at: u64,
}

impl ByteSource {
    /// A regular file.
    pub(super) fn region(region: Region) -> io::Result<Self> {
        let total = region.size()?;
        Stream::open(region, Some(total)).map(Self::Stream)
    }

    /// The rest of a plain file, of which `base` bytes were read otherwise.
    pub(super) fn rest(region: Region, base: u64) -> Self {
        let total = region.size().ok();
        let stream = Stream::plain(Region { at: region.at + base, ..region }, total);
        stream.done.store(base, Ordering::Relaxed);
        Self::Stream(Stream { base, ..stream })
    }

    /// True if bytes are handed on as they are in a file.
    pub(super) fn is_plain(&self) -> bool {
        matches!(self, Self::Stream(stream) if stream.plain)
    }

    /// A pipe, a terminal, a socket: whatever may make us wait.
    pub(super) fn pipe(file: File) -> io::Result<Self> {
        Stream::open(Idling { file, told: false }, None).map(Self::Stream)
    }

    /// Bytes in memory; streamed all the same where they are compressed.
    pub(super) fn memory(bytes: Vec<u8>) -> io::Result<Self> {
        match Coding::of(&bytes) {
            Some(_) => Self::reader(io::Cursor::new(bytes)),
            None => Ok(Self::Memory { bytes, at: 0 }),
        }
    }

    /// Any reader. It is asked once per refill, as it may wait in a second call.
    pub(super) fn reader(reader: impl Read + Send + 'static) -> io::Result<Self> {
        let mut stream = Stream::open(reader, None)?;
        stream.eager = false;
        Ok(Self::Stream(stream))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Memory { bytes, at } => bytes.get(*at..).unwrap_or_default(),
            Self::Stream(stream) => stream.buffer.get(stream.start..stream.end).unwrap_or_default(),
        }
    }

    /// Bytes before [`ByteSource::bytes`].
    pub(super) fn offset(&self) -> u64 {
        match self {
            Self::Memory { at, .. } => *at as u64,
            Self::Stream(stream) => stream.base + stream.start as u64,
        }
    }

    pub(super) fn consume(&mut self, count: usize) {
        match self {
            Self::Memory { bytes, at } => *at = bytes.len().min(*at + count),
            Self::Stream(stream) => stream.start = stream.end.min(stream.start + count),
        }
    }

    pub(super) fn refill(&mut self) -> io::Result<Refill> {
        match self {
            Self::Memory { .. } => Ok(Refill::End),
            Self::Stream(stream) => stream.refill(),
        }
    }

    /// Bytes of the input read so far, and how many there are if that is known.
    pub(super) fn progress(&self) -> (u64, Option<u64>) {
        match self {
            Self::Memory { bytes, at } => (*at as u64, Some(bytes.len() as u64)),
            Self::Stream(stream) => (stream.done.load(Ordering::Relaxed), stream.total),
        }
    }
}

impl Stream {
    fn open(mut reader: impl Read + Send + 'static, total: Option<u64>) -> io::Result<Self> {
        let magic = first_bytes(&mut reader)?;
        let coding = Coding::of(&magic);
        let whole = io::Cursor::new(magic).chain(reader);
        let Some(coding) = coding else { return Ok(Self::plain(whole, total)) };
        let done = Arc::new(AtomicU64::new(0));
        let reader = coding.decoder(Metered { reader: whole, done: done.clone() })?;
        Ok(Self { reader, done, plain: false, ..Self::plain(io::empty(), total) })
    }

    fn plain(reader: impl Read + Send + 'static, total: Option<u64>) -> Self {
        let done = Arc::new(AtomicU64::new(0));
        let reader = Box::new(Metered { reader, done: done.clone() });
        let buffer = vec![0; BUFFER];
        Self { reader, buffer, start: 0, end: 0, base: 0, plain: true, eager: true, later: None, done, total }
    }

    fn refill(&mut self) -> io::Result<Refill> {
        self.make_room();
        let before = self.end;
        while self.later.is_none() && self.end < self.buffer.len() && (self.eager || self.end == before) {
            let room = self.buffer.get_mut(self.end..).unwrap_or_default();
            match self.reader.read(room) {
                Ok(0) => self.later = Some(Ok(Refill::End)),
                Ok(count) => self.end += count,
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                    self.later = Some(Ok(Refill::Idle));
                }
                Err(error) => self.later = Some(Err(error)),
            }
        }
        if self.end > before { Ok(Refill::Grew) } else { self.later.take().unwrap_or(Ok(Refill::End)) }
    }

    /// Moves what is left to the front; doubles a buffer that is full all the same.
    fn make_room(&mut self) {
        self.buffer.copy_within(self.start..self.end, 0);
        self.base += self.start as u64;
        (self.start, self.end) = (0, self.end - self.start);
        if self.end == self.buffer.len() {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
    }
}

/// Up to four bytes, waiting for them.
fn first_bytes(reader: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut magic = [0; 4];
    let mut have = 0;
    while let Some(room) = magic.get_mut(have..).filter(|room| !room.is_empty()) {
        match reader.read(room) {
            Ok(0) => break,
            Ok(count) => have += count,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(magic.into_iter().take(have).collect())
}

/// Counts what is read through it.
struct Metered<R> {
    reader: R,
    done: Arc<AtomicU64>,
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(room)?;
        self.done.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

impl Region {
    /// The file from `at` to its end; `None` where it is not a regular file, or one that does not
    /// tell its size (as those in /proc).
    pub(super) fn of(file: &File, at: u64) -> io::Result<Option<Self>> {
        let meta = file.metadata()?;
        let regular = meta.is_file() && meta.len() > 0;
        if regular { Ok(Some(Self { file: Arc::new(file.try_clone()?), at })) } else { Ok(None) }
    }

    /// Bytes there are.
    pub(super) fn size(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len().saturating_sub(self.at))
    }

    /// Fills `room` from `offset`, counted from the region's beginning, on; false where the file
    /// ends before.
    pub(super) fn fill_at(&self, room: &mut [u8], offset: u64) -> io::Result<bool> {
        match self.file.read_exact_at(room, self.at.saturating_add(offset)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The bytes of the file as it is now, and where in them the region begins.
    pub(super) fn map(&self) -> io::Result<(Mapping, usize)> {
        let begin = usize::try_from(self.at).map_err(|_| ErrorKind::OutOfMemory)?;
        Ok((Mapping::of(&self.file)?, begin))
    }
}

impl Read for Region {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(room, self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

/// A file that says once, by [`ErrorKind::WouldBlock`], that it has nothing yet, and waits when
/// asked again.
struct Idling {
    file: File,
    told: bool,
}

impl Idling {
    /// Whether reading gives something (or the end) at once; waits for that if asked to.
    fn ready(&self, wait: bool) -> io::Result<bool> {
        let mut fds = [PollFd::from_borrowed_fd(self.file.as_fd(), PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        match poll(&mut fds, (!wait).then_some(&now)) {
            Ok(count) => Ok(count > 0),
            // What cannot be polled can be read.
            Err(Errno::PERM | Errno::INVAL) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }
}

impl Read for Idling {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        if !self.ready(self.told)? {
            self.told = true;
            return Err(ErrorKind::WouldBlock.into());
        }
        self.told = false;
        self.file.read(room)
    }
}
