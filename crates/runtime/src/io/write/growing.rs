//! A file that has its name from the beginning and grows: what a live capture is written to.
//!
//! - Whole records are passed on, so that what other programs find is a capture, and so is what is
//!   left after the program was killed.
//! - When the disk is full, a plain file is cut after the last record that fitted.
//! - What was flushed goes to the disk about once a second, from a thread of its own: a slow disk
//!   does not hold up the capture.
//!
//! Leaves out: cutting a compressed file, whose records have no places of their own; readers take
//! it up to where it ends.

use std::{
    fs::File,
    io::{self, Write},
    os::unix::fs::fchown,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
    time::{Duration, Instant},
};

/// The longest time between two flushes, and between two times that the disk is asked to keep what
/// was flushed.
const PERIOD: Duration = Duration::from_secs(1);
/// The most bytes between two flushes.
const BYTES: u64 = 1_000_000;

/// What is known of a growing file's records and flushes.
pub(super) struct Growing {
    /// Where records end in the buffer, ascending.
    marks: Vec<usize>,
    /// Bytes of the file before the buffer.
    base: u64,
    file: Arc<File>,
    /// The file, where it is to be cut after a write that failed.
    plain: Option<Grown>,
    last: Instant,
    last_bytes: u64,
    /// Asks for what was flushed to be on the disk.
    keeper: SyncSender<()>,
}

/// The file, and how many bytes the system took.
#[derive(Clone)]
pub(super) struct Grown {
    file: Arc<File>,
    taken: Arc<AtomicU64>,
}

impl Growing {
    pub(super) fn of(grown: &Grown, directory: &Path, plain: bool) -> io::Result<Self> {
        let (keeper, asked) = sync_channel(1);
        let (file, directory) = (Arc::clone(&grown.file), File::open(directory).ok());
        thread::Builder::new().name("disk".into()).spawn(move || keep(&file, directory, &asked))?;
        let (file, plain) = (Arc::clone(&grown.file), plain.then(|| grown.clone()));
        Ok(Self { marks: Vec::new(), base: 0, file, plain, last: Instant::now(), last_bytes: 0, keeper })
    }

    /// Makes the file another user's.
    pub(super) fn give(&self, user: u32, group: u32) -> io::Result<()> {
        fchown(&*self.file, Some(user), Some(group))
    }

    /// A record ends at that byte of the buffer.
    pub(super) fn mark(&mut self, at: usize) {
        self.marks.push(at);
    }

    /// Bytes of the buffer that are whole records.
    pub(super) fn whole(&self) -> usize {
        self.marks.last().copied().unwrap_or(0)
    }

    /// The whole records were passed on, or as many as the system took.
    pub(super) fn passed(&mut self, all: bool) {
        if let (false, Some(grown)) = (all, &self.plain) {
            let room = grown.taken.load(Ordering::Relaxed).saturating_sub(self.base);
            let fits = self.marks.iter().rev().find(|&&mark| mark as u64 <= room).copied().unwrap_or(0);
            // Where that fails, too, a record that is cut stands at the end, which readers tell.
            let _ = grown.file.set_len(self.base + fits as u64);
        }
        self.base += self.whole() as u64;
        self.marks.clear();
    }

    pub(super) fn is_due(&self, bytes: u64) -> bool {
        bytes > self.last_bytes && (bytes - self.last_bytes >= BYTES || self.last.elapsed() >= PERIOD)
    }

    pub(super) fn flushed(&mut self, bytes: u64) {
        if bytes > self.last_bytes {
            // One that was asked and has not begun will do.
            let _ = self.keeper.try_send(());
        }
        (self.last, self.last_bytes) = (Instant::now(), bytes);
    }
}

impl Grown {
    pub(super) fn new(file: File) -> Self {
        Self { file: Arc::new(file), taken: Arc::default() }
    }

    /// Waits until all is on the disk, as far as the file system has one.
    pub(super) fn sync(&self) -> io::Result<()> {
        match self.file.sync_data() {
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            done => done,
        }
    }
}

impl Write for Grown {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = (&*self.file).write(bytes)?;
        self.taken.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Brings what was flushed to the disk whenever asked, until nobody can ask any more. An error
/// comes up again where the file is finished.
fn keep(file: &File, directory: Option<File>, asked: &Receiver<()>) {
    // The name, too, is to be there after a power cut.
    let _ = directory.map(|directory| directory.sync_all());
    while asked.recv().is_ok() {
        let _ = file.sync_data();
        thread::sleep(PERIOD);
    }
}
