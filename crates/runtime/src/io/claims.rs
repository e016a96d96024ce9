//! Files in use by this process: none is written that is read or written already, as its packets
//! would be lost.
//!
//! An output takes its place when it is complete, so reading and writing one file would leave
//! something well-formed; but what was read is gone then, and of two outputs only the last is
//! there. Regular files only: pipes and devices are shared by whoever likes.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// A file by its device and number; one that is not there yet by its folder and name.
type Key = (u64, u64, Option<std::ffi::OsString>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Read,
    Written,
}

/// All files in use.
static CLAIMS: Mutex<Vec<(Key, Use)>> = Mutex::new(Vec::new());

/// A file in use, until this is dropped.
#[derive(Debug)]
pub(crate) struct Claim(Option<(Key, Use)>);

impl Claim {
    /// An open file is read.
    pub(crate) fn to_read(file: &File) -> Self {
        let claim = file.metadata().ok().filter(Metadata::is_file).map(|meta| (of(&meta), Use::Read));
        all().extend(claim.clone());
        Self(claim)
    }

    /// A file of that name will be written.
    ///
    /// # Errors
    /// It is in use.
    pub(crate) fn to_write(path: &Path) -> io::Result<Self> {
        let Some(key) = place(path) else { return Ok(Self(None)) };
        let mut claims = all();
        let used = claims.iter().find(|(other, _)| *other == key).map(|(_, used)| match used {
            Use::Read => "it is an input, and would be lost; write to another file",
            Use::Written => "it is written already; each output has a file of its own",
        });
        if let Some(used) = used {
            return Err(io::Error::other(used));
        }
        let claim = (key, Use::Written);
        claims.push(claim.clone());
        Ok(Self(Some(claim)))
    }
}

/// A file that is read, and in use as long.
pub(crate) struct Reading {
    file: File,
    _claim: Claim,
}

impl Reading {
    pub(crate) fn of(file: File) -> Self {
        Self { _claim: Claim::to_read(&file), file }
    }
}

impl io::Read for Reading {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.file.read(bytes)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut claims = all();
        if let Some(at) = claims.iter().position(|claim| Some(claim) == self.0.as_ref()) {
            claims.swap_remove(at);
        }
    }
}

fn all() -> std::sync::MutexGuard<'static, Vec<(Key, Use)>> {
    CLAIMS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn of(meta: &Metadata) -> Key {
    (meta.dev(), meta.ino(), None)
}

/// What a path names; `None` where that is no regular file, or nothing can be there.
fn place(path: &Path) -> Option<Key> {
    match fs::metadata(path) {
        Ok(meta) => meta.is_file().then(|| of(&meta)),
        Err(_) => {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            let folder = fs::metadata(folder).ok()?;
            Some((folder.dev(), folder.ino(), Some(path.file_name()?.to_owned())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_by_many_and_written_by_one() {
        let folder = std::env::temp_dir().join(format!("netvm-claims-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (there, new) = (folder.join("there"), folder.join("new"));
        fs::write(&there, "x").unwrap();
        let [first, second] = [(); 2].map(|()| Claim::to_read(&File::open(&there).unwrap()));
        assert!(Claim::to_write(&there).unwrap_err().to_string().contains("input"));
        drop(first);
        assert!(Claim::to_write(&folder.join("./there")).is_err());
        drop(second);
        let written = Claim::to_write(&there).unwrap();
        std::os::unix::fs::symlink(&there, folder.join("link")).unwrap();
        assert!(Claim::to_write(&folder.join("link")).unwrap_err().to_string().contains("already"));
        drop(written);
        assert!(Claim::to_write(&there).is_ok());
        let written = Claim::to_write(&new).unwrap();
        assert!(Claim::to_write(&folder.join("../").join(folder.file_name().unwrap()).join("new")).is_err());
        assert!(Claim::to_write(&folder.join("other")).is_ok() && Claim::to_write(Path::new("/dev/null")).is_ok());
        assert!(Claim::to_write(Path::new("/dev/null")).is_ok() && Claim::to_write(&folder.join("none/x")).is_ok());
        drop(written);
        assert!(all().is_empty() || !all().iter().any(|(key, _)| key.2.as_deref() == Some("new".as_ref())));
        fs::remove_dir_all(&folder).unwrap();
    }
}
