//! Where written bytes go: through a buffer and perhaps a compressor into a file that is complete
//! or absent.
//!
//! A regular file is written without a name (O_TMPFILE) in the directory of its final place and
//! linked there when it is complete: whatever ends the program earlier, nothing is left. Where the
//! file system has no nameless files, the file has a hidden name until then; [`abandon_all`]
//! removes those. Pipes, devices and standard output are written directly.
//!
//! The buffer is passed on only when full or flushed, in one piece of a size that keeps file
//! offsets aligned.
//!
//! A growing file (`growing`) has its name from the beginning: whole records are passed on, and
//! what was passed on stays, whatever happens.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::fd::{AsFd, AsRawFd},
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

use flate2::write::GzEncoder;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat};

use super::{
    Compression, WriteError,
    growing::{Growing, Grown},
};
use crate::io::claims::Claim;

const BUFFER: usize = 256 << 10;

/// Hidden names of unfinished outputs.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes the unfinished outputs of this process that have a name: for a program that is about to
/// end without dropping its writers, as on a signal (call it from a thread that waits for signals,
/// not from a handler).
pub fn abandon_all() {
    let mut names = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
    for name in names.drain(..) {
        // It may be gone already, and there is nobody to tell.
        let _ = fs::remove_file(name);
    }
}

/// A buffer before an output.
pub(super) struct Sink {
    buffer: Vec<u8>,
    out: Coder,
    output: PathBuf,
    bytes: u64,
    /// How a file that has its name from the beginning is kept whole.
    growing: Option<Growing>,
    /// Nobody else uses the file.
    _claim: Option<Claim>,
}

/// An output behind its compressor.
enum Coder {
    Plain(Target),
    Gzip(GzEncoder<Target>),
    Zstd(zstd::Encoder<'static, Target>),
}

/// What is written to, and what remains to be done when all is written.
pub(super) enum Target {
    Direct(File),
    Growing(Grown),
    Nameless { file: File, place: PathBuf },
    Hidden { file: File, name: PathBuf, place: PathBuf },
    Other(Box<dyn Write + Send>),
}

impl Sink {
    pub(super) fn create(path: &Path, compression: Compression) -> Result<Self, WriteError> {
        let failed = |source| WriteError::Io { output: path.into(), source };
        let claim = Claim::to_write(path).map_err(failed)?;
        let target = Target::create(path).map_err(failed)?;
        Ok(Self { _claim: Some(claim), ..Self::over(target, path.into(), compression)? })
    }

    /// A file that has its name from now on and keeps what was passed on. Pipes, devices and
    /// standard output are as ever.
    pub(super) fn create_growing(path: &Path, compression: Compression) -> Result<Self, WriteError> {
        let failed = |source| WriteError::Io { output: path.into(), source };
        let claim = Claim::to_write(path).map_err(failed)?;
        let Some(file) = growing_file(path).map_err(failed)? else {
            drop(claim);
            return Self::create(path, compression);
        };
        let grown = Grown::new(file);
        let growing = Growing::of(&grown, directory(path), compression == Compression::None).map_err(failed)?;
        let sink = Self::over(Target::Growing(grown), path.into(), compression)?;
        Ok(Self { _claim: Some(claim), growing: Some(growing), ..sink })
    }

    pub(super) fn over(target: Target, output: PathBuf, compression: Compression) -> Result<Self, WriteError> {
        let out = match compression {
            Compression::None => Coder::Plain(target),
            Compression::Gzip => Coder::Gzip(GzEncoder::new(target, flate2::Compression::default())),
            Compression::Zstd => match zstd::Encoder::new(target, 0) {
                Ok(encoder) => Coder::Zstd(encoder),
                Err(source) => return Err(WriteError::Io { output, source }),
            },
        };
        Ok(Self { buffer: Vec::with_capacity(BUFFER), out, output, bytes: 0, growing: None, _claim: None })
    }

    pub(super) fn error(&self, source: io::Error) -> WriteError {
        let output = self.output.clone();
        match self.growing {
            Some(_) => WriteError::Kept { output, source },
            None => WriteError::Io { output, source },
        }
    }

    /// Makes a growing file another user's; other outputs stay whose they are.
    pub(super) fn give(&self, user: u32, group: u32) -> io::Result<()> {
        self.growing.as_ref().map_or(Ok(()), |growing| growing.give(user, group))
    }

    /// Bytes put in so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// A record, or a header that records follow, ends here.
    #[inline]
    pub(super) fn mark(&mut self) {
        if let Some(growing) = &mut self.growing {
            growing.mark(self.buffer.len());
        }
    }

    /// Whether a growing file is to be flushed, by the time or the bytes since the last flush.
    pub(super) fn is_due(&self) -> bool {
        self.growing.as_ref().is_some_and(|growing| growing.is_due(self.bytes))
    }

    #[inline]
    pub(super) fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes += bytes.len() as u64;
        if bytes.len() <= BUFFER.saturating_sub(self.buffer.len()) {
            self.buffer.extend_from_slice(bytes);
            return Ok(());
        }
        self.put_slow(bytes)
    }

    #[cold]
    fn put_slow(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.growing.is_some() {
            self.pass_on()?;
            self.buffer.extend_from_slice(bytes);
            return Ok(());
        }
        let mut rest = bytes;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(BUFFER - self.buffer.len()));
            self.buffer.extend_from_slice(now);
            rest = later;
            if self.buffer.len() == BUFFER {
                self.pass_on()?;
            }
        }
        Ok(())
    }

    /// Passes on everything put in so far, down to the system.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.pass_on()?;
        match &mut self.out {
            Coder::Plain(target) => target.flush(),
            Coder::Gzip(encoder) => encoder.flush(),
            Coder::Zstd(encoder) => encoder.flush(),
        }?;
        if let Some(growing) = &mut self.growing {
            growing.flushed(self.bytes);
        }
        Ok(())
    }

    /// Ends the compressed stream and gives the file its name.
    pub(super) fn finish(mut self) -> Result<u64, WriteError> {
        let (output, bytes, grows) = (self.output.clone(), self.bytes, self.growing.is_some());
        let done = self.pass_on().and_then(|()| match self.out {
            Coder::Plain(target) => Ok(target),
            Coder::Gzip(encoder) => encoder.finish(),
            Coder::Zstd(encoder) => encoder.finish(),
        });
        match done.and_then(Target::complete) {
            Ok(()) => Ok(bytes),
            Err(source) if grows => Err(WriteError::Kept { output, source }),
            Err(source) => Err(WriteError::Io { output, source }),
        }
    }

    /// Passes on the buffer; of a growing file, its whole records.
    fn pass_on(&mut self) -> io::Result<()> {
        let whole = self.growing.as_ref().map_or(self.buffer.len(), Growing::whole);
        let bytes = self.buffer.get(..whole).unwrap_or_default();
        let written = match &mut self.out {
            Coder::Plain(target) => target.write_all(bytes),
            Coder::Gzip(encoder) => encoder.write_all(bytes),
            Coder::Zstd(encoder) => encoder.write_all(bytes),
        };
        self.buffer.drain(..whole);
        if let Some(growing) = &mut self.growing {
            growing.passed(written.is_ok());
        }
        written
    }
}

impl Target {
    fn create(path: &Path) -> io::Result<Self> {
        if path == Path::new("-") || path == Path::new("/dev/stdout") {
            return Ok(Self::Direct(File::from(io::stdout().as_fd().try_clone_to_owned()?)));
        }
        let descriptor = path.starts_with("/dev/fd") || path.starts_with("/proc/self/fd");
        match fs::metadata(path) {
            Ok(meta) if descriptor || !meta.is_file() => OpenOptions::new().write(true).open(path).map(Self::Direct),
            // Through a symbolic link to the file it means; refused where the file may not be
            // written.
            Ok(meta) => {
                OpenOptions::new().write(true).open(path)?;
                let target = Self::beside(fs::canonicalize(path)?)?;
                target.file().map_or(Ok(()), |file| file.set_permissions(meta.permissions()))?;
                Ok(target)
            }
            Err(_) => Self::beside(path.into()),
        }
    }

    /// A file that will be at `place`, for now in the same directory without a name or with a
    /// hidden one.
    fn beside(place: PathBuf) -> io::Result<Self> {
        if place.file_name().is_none() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not the name of a file"));
        }
        match nameless(directory(&place)) {
            Some(file) => Ok(Self::Nameless { file, place }),
            None => Self::with_hidden_name(place),
        }
    }

    fn with_hidden_name(place: PathBuf) -> io::Result<Self> {
        let name = hidden(&place);
        let file = OpenOptions::new().write(true).create_new(true).open(&name)?;
        UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).push(name.clone());
        Ok(Self::Hidden { file, name, place })
    }

    fn file(&self) -> Option<&File> {
        match self {
            Self::Direct(file) | Self::Nameless { file, .. } | Self::Hidden { file, .. } => Some(file),
            Self::Growing(_) | Self::Other(_) => None,
        }
    }

    fn complete(mut self) -> io::Result<()> {
        self.flush()?;
        match &self {
            Self::Direct(_) | Self::Other(_) => Ok(()),
            Self::Growing(grown) => grown.sync(),
            Self::Nameless { file, place } => link(file, place),
            Self::Hidden { name, place, .. } => fs::rename(name, place),
        }
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if let Self::Hidden { name, .. } = self {
            // Gone if it was given its place, which is fine.
            let _ = fs::remove_file(&*name);
            UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).retain(|other| other != name);
        }
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Direct(file) | Self::Nameless { file, .. } | Self::Hidden { file, .. } => file.write(bytes),
            Self::Growing(grown) => grown.write(bytes),
            Self::Other(writer) => writer.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Other(writer) => writer.flush(),
            _ => Ok(()),
        }
    }
}

/// A new or emptied file; `None` for what is no regular file.
fn growing_file(path: &Path) -> io::Result<Option<File>> {
    let is_other = path == Path::new("-") || fs::metadata(path).is_ok_and(|meta| !meta.is_file());
    if is_other || ["/dev/fd", "/proc/self/fd", "/dev/stdout"].iter().any(|special| path.starts_with(special)) {
        return Ok(None);
    }
    OpenOptions::new().write(true).create(true).truncate(true).open(path).map(Some)
}

fn directory(place: &Path) -> &Path {
    place.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A name beside `place` that no other output of this machine has.
fn hidden(place: &Path) -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let mut name = OsString::from(".");
    name.push(place.file_name().unwrap_or_default());
    name.push(format!(".{}-{}.part", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
    place.with_file_name(name)
}

/// A file without a name, if the file system has such and a name can be given to it later.
fn nameless(directory: &Path) -> Option<File> {
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(directory, flags, Mode::from_raw_mode(0o666)).ok()?);
    fs::symlink_metadata(descriptor(&file)).is_ok().then_some(file)
}

fn descriptor(file: &File) -> PathBuf {
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

/// Names a nameless file; what is at `place` is replaced in one step.
fn link(file: &File, place: &Path) -> io::Result<()> {
    let name = |place: &Path| linkat(CWD, descriptor(file), CWD, place, AtFlags::SYMLINK_FOLLOW);
    if name(place).is_ok() {
        return Ok(());
    }
    let between = hidden(place);
    name(&between)?;
    fs::rename(&between, place).inspect_err(|_| drop(fs::remove_file(&between)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where files cannot be nameless.
    #[test]
    fn hidden_names_go_when_dropped_or_abandoned_and_become_the_file_when_complete() {
        let directory = std::env::temp_dir().join(format!("netvm-hidden-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let count = || fs::read_dir(&directory).unwrap().count();
        let place = directory.join("out");
        let open = || Target::with_hidden_name(place.clone()).unwrap();
        let dropped = open();
        assert_eq!((count(), place.exists()), (1, false));
        drop(dropped);
        assert_eq!(count(), 0);
        let mut complete = open();
        complete.write_all(b"all of it").unwrap();
        complete.complete().unwrap();
        assert_eq!((fs::read(&place).unwrap(), count()), (b"all of it".to_vec(), 1));
        let abandoned = [open(), open()];
        assert_eq!(count(), 3);
        abandon_all();
        assert_eq!(count(), 1);
        drop(abandoned);
        fs::remove_dir_all(&directory).unwrap();
    }
}
