//! Where compiled code is kept: `$XDG_CACHE_HOME/netvm/aot`, or `~/.cache/netvm/aot`.
//!
//! - The directory has mode 0700 and belongs to the effective user; otherwise it is not used.
//! - A file that does not belong to the effective user, or that others may write, is refused.
//! - A file gets its name when it is complete; until then its name begins with a dot. Whatever a
//!   compilation that was ended leaves under such a name goes when it is older than `STALE`.
//! - The least recently used files go when all together are larger than `LIMIT`.

use crate::{AotError, io_error};
use rustix::process::geteuid;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, SystemTime};

/// Directories of others that are passed over.
const TRIES: u32 = 10_000;
/// Bytes of all files together.
const LIMIT: u64 = 128 << 20;
/// No compilation takes as long.
const STALE: Duration = Duration::from_secs(3600);

/// A directory of compiled code.
pub struct Cache {
    directory: PathBuf,
    /// Removes it at the end.
    passing: Option<Arc<Passing>>,
}

/// A directory that is removed at the end.
struct Passing(PathBuf);

/// That of all threads of this process that have one at the same time.
static SHARED: Mutex<Weak<Passing>> = Mutex::new(Weak::new());

/// What came of making a file.
type Made = Arc<OnceLock<Result<(), AotError>>>;

/// Files that threads of this process make: the others wait for them.
static MAKING: Mutex<BTreeMap<PathBuf, Made>> = Mutex::new(BTreeMap::new());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What decides which code it is.
pub fn key(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Cache {
    /// The user's cache.
    ///
    /// # Errors
    /// There is no place for it, or it is not the user's alone.
    pub fn user() -> Result<Self, AotError> {
        let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let base = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
        let base =
            base.ok_or_else(|| io_error("the cache")(io::Error::new(io::ErrorKind::NotFound, "neither XDG_CACHE_HOME nor HOME is set")))?;
        Self::at(base.join("netvm").join("aot"))
    }

    /// A cache in that directory, made if it does not exist.
    ///
    /// # Errors
    /// It cannot be made, or is not the user's alone.
    pub fn at(directory: PathBuf) -> Result<Self, AotError> {
        let wrong = |error| io_error(directory.display().to_string())(error);
        DirBuilder::new().recursive(true).mode(0o700).create(&directory).map_err(wrong)?;
        let meta = fs::symlink_metadata(&directory).map_err(wrong)?;
        if !meta.is_dir() || meta.uid() != geteuid().as_raw() || meta.mode() & 0o077 != 0 {
            return Err(wrong(io::Error::new(io::ErrorKind::PermissionDenied, "not a directory of this user with mode 0700")));
        }
        Ok(Self { directory, passing: None })
    }

    /// A directory for this process, which goes away with the last value that has it: replicas that
    /// start together compile what they have in common once.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn passing() -> Result<Self, AotError> {
        let mut shared = lock(&SHARED);
        if let Some(passing) = shared.upgrade() {
            return Ok(Self { directory: passing.0.clone(), passing: Some(passing) });
        }
        let made = Self::own()?;
        *shared = made.passing.as_ref().map(Arc::downgrade).unwrap_or_default();
        Ok(made)
    }

    /// A directory for this value.
    fn own() -> Result<Self, AotError> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let mut tries = 0;
        loop {
            let name = format!("netvm-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
            let directory = std::env::temp_dir().join(name);
            match DirBuilder::new().mode(0o700).create(&directory) {
                Ok(()) => return Ok(Self { passing: Some(Arc::new(Passing(directory.clone()))), directory }),
                // A process of the same number that was killed has left it, or somebody else has.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tries < TRIES => tries += 1,
                Err(error) => return Err(io_error(directory.display().to_string())(error)),
            }
        }
    }

    /// Where that is which is kept under a key, if anything is. Nobody else can put another file in
    /// its place: the directory is this user's.
    ///
    /// # Errors
    /// It is there, but not only this user can have written it.
    pub fn find(&self, key: &str) -> Result<Option<PathBuf>, AotError> {
        let path = self.path(key);
        let wrong = |error| io_error(path.display().to_string())(error);
        let meta = match fs::symlink_metadata(&path) {
            Ok(meta) => meta,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(wrong(error)),
        };
        if !meta.is_file() || meta.uid() != geteuid().as_raw() || meta.mode() & 0o022 != 0 {
            return Err(wrong(io::Error::new(io::ErrorKind::PermissionDenied, "not a file that only this user can write")));
        }
        // The time of last use decides what goes first; a cache on a read-only file system works as
        // well.
        let _ = OpenOptions::new().append(true).open(&path).and_then(|file| file.set_modified(SystemTime::now()));
        Ok(Some(path))
    }

    /// Where that is which is kept under a key, or what `make` writes to the path it is given. What
    /// several threads want at the same time one of them makes.
    ///
    /// # Errors
    /// Those of `make`, for all who wait for it; the file cannot be written.
    pub fn find_or_make(&self, key: &str, make: impl FnOnce(&Path) -> Result<(), AotError>) -> Result<PathBuf, AotError> {
        if let Some(path) = self.find(key)? {
            return Ok(path);
        }
        let path = self.path(key);
        let made = Arc::clone(lock(&MAKING).entry(path.clone()).or_default());
        // It may have been finished since it was looked for.
        let result = made.get_or_init(|| if path.exists() { Ok(()) } else { self.keep(key, make) }).clone();
        lock(&MAKING).remove(&path);
        result?;
        self.find(key)?.ok_or_else(|| AotError::Load("it is gone from the cache".to_owned()))
    }

    /// Keeps what `make` writes to the path it is given.
    fn keep(&self, key: &str, make: impl FnOnce(&Path) -> Result<(), AotError>) -> Result<(), AotError> {
        // Threads may make the same at the same time.
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let unfinished = self.directory.join(format!(".{key}.{}.{number}", std::process::id()));
        let done = make(&unfinished).and_then(|()| self.finish(&unfinished, key));
        if done.is_err() {
            // Whatever is left of it.
            let _ = fs::remove_file(&unfinished);
        }
        self.sweep();
        self.shrink(LIMIT);
        done
    }

    fn finish(&self, unfinished: &Path, key: &str) -> Result<(), AotError> {
        let path = self.path(key);
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        let named = fs::set_permissions(unfinished, private).and_then(|()| fs::rename(unfinished, &path));
        named.map_err(io_error(path.display().to_string()))
    }

    fn path(&self, key: &str) -> PathBuf {
        self.directory.join(format!("{key}.so"))
    }

    fn entries(&self) -> impl Iterator<Item = fs::DirEntry> {
        fs::read_dir(&self.directory).into_iter().flatten().flatten()
    }

    /// Removes this user's unfinished files that nobody will finish.
    fn sweep(&self) {
        let stale = |entry: &fs::DirEntry| {
            let unfinished = entry.file_name().as_encoded_bytes().starts_with(b".");
            let meta = entry.metadata().ok().filter(|meta| unfinished && meta.is_file() && meta.uid() == geteuid().as_raw());
            meta.and_then(|meta| meta.modified().ok()?.elapsed().ok()).is_some_and(|age| age > STALE)
        };
        for entry in self.entries().filter(stale) {
            // Another process may be as quick.
            let _ = fs::remove_file(entry.path());
        }
    }

    /// Removes the least recently used files until all are within `limit` bytes.
    fn shrink(&self, limit: u64) {
        let known = |entry: fs::DirEntry| Some((entry.metadata().ok()?.modified().ok()?, entry.metadata().ok()?.len(), entry.path()));
        let mut files: Vec<_> = self.entries().filter_map(known).collect();
        files.sort();
        let mut total: u64 = files.iter().map(|file| file.1).sum();
        for (_, size, path) in files {
            if total <= limit {
                break;
            }
            // Another process may be as quick.
            let _ = fs::remove_file(path);
            total -= size;
        }
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn write(path: &Path, bytes: &[u8]) -> Result<(), AotError> {
        fs::write(path, bytes).map_err(io_error("test"))
    }

    #[test]
    fn what_is_kept_is_found_until_it_is_too_much() {
        let cache = Cache::own().unwrap();
        assert!(cache.find("a").unwrap().is_none());
        for (age, name) in [(30, "a"), (20, "b"), (10, "c")] {
            cache.keep(name, |path| write(path, &[0; 1000])).unwrap();
            let file = OpenOptions::new().append(true).open(cache.path(name)).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
        }
        // Its use makes it young again.
        assert!(cache.find("a").unwrap().is_some());
        cache.shrink(2_500);
        let there = |name| cache.find(name).unwrap().is_some();
        assert_eq!([there("a"), there("b"), there("c")], [true, false, true]);
    }

    /// A process that was killed has left directories, and the system gives numbers of processes
    /// again.
    #[test]
    fn what_others_left_is_passed_over() {
        let number = |cache: &Cache| cache.directory.to_str().unwrap().rsplit_once('-').unwrap().1.parse::<u32>().unwrap();
        let first = Cache::own().unwrap();
        let name = |n: u32| std::env::temp_dir().join(format!("netvm-{}-{n}", std::process::id()));
        let left: Vec<PathBuf> = (1..100).map(|n| name(number(&first) + n)).collect();
        // Other tests make directories meanwhile.
        let left: Vec<PathBuf> = left.into_iter().filter(|path| fs::create_dir(path).is_ok()).collect();
        let caches: Vec<Cache> = (0..3).map(|_| Cache::own().unwrap()).collect();
        assert!(caches.iter().all(|cache| !left.contains(&cache.directory)) && left.len() > 10);
        left.iter().for_each(|path| fs::remove_dir(path).unwrap());
    }

    #[test]
    fn a_failed_compilation_leaves_nothing() {
        let cache = Cache::own().unwrap();
        let failed = cache.keep("x", |path| write(path, b"half").and(Err(AotError::NoCompiler)));
        assert!(matches!(failed, Err(AotError::NoCompiler)));
        assert_eq!(fs::read_dir(&cache.directory).unwrap().count(), 0);
    }

    #[test]
    fn two_may_compile_the_same() {
        let cache = Cache::own().unwrap();
        let both = cache.keep("x", |first| {
            write(first, b"one")?;
            cache.keep("x", |second| write(second, b"two"))
        });
        assert!(both.is_ok() && cache.find("x").unwrap().is_some());
    }

    #[test]
    fn what_several_threads_want_is_made_once() {
        let (cache, makes) = (Cache::own().unwrap(), AtomicU32::new(0));
        let make = |path: &Path| {
            makes.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(200));
            write(path, b"code")
        };
        let paths: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| cache.find_or_make("x", make).unwrap())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(paths.iter().all(|path| *path == cache.path("x")) && makes.load(Ordering::Relaxed) == 1);
        assert!(cache.find_or_make("x", |_| panic!("it is there")).is_ok());
        // Whoever comes after a failure tries again.
        let fails = |_: &Path| Err(AotError::NoCompiler);
        assert!(cache.find_or_make("y", fails).is_err() && cache.find_or_make("y", |path| write(path, b"code")).is_ok());
        assert!(lock(&MAKING).keys().all(|path| !path.starts_with(&cache.directory)));
    }

    #[test]
    fn a_directory_of_a_process_goes_with_the_last_who_has_it() {
        let (one, other) = (Cache::passing().unwrap(), Cache::passing().unwrap());
        assert_eq!(one.directory, other.directory);
        let one = Cache::own().unwrap();
        let other = Cache { directory: one.directory.clone(), passing: one.passing.clone() };
        drop(one);
        assert!(other.directory.is_dir());
        let directory = other.directory.clone();
        drop(other);
        assert!(!directory.exists());
    }

    /// An old file that is finished is for `shrink` alone.
    #[test]
    fn what_ended_compilations_left_goes_after_an_hour() {
        let cache = Cache::own().unwrap();
        for (name, minutes) in [(".a.1", 61), (".b.1", 59), ("c.so", 61)] {
            let path = cache.directory.join(name);
            write(&path, b"half").unwrap();
            let file = OpenOptions::new().append(true).open(&path).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(60 * minutes)).unwrap();
        }
        cache.keep("d", |path| write(path, b"code")).unwrap();
        let mut left: Vec<_> = cache.entries().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        left.sort();
        assert_eq!(left, [".b.1", "c.so", "d.so"]);
    }

    #[test]
    fn what_others_may_write_is_refused() {
        let cache = Cache::own().unwrap();
        cache.keep("x", |path| write(path, b"code")).unwrap();
        fs::set_permissions(cache.path("x"), fs::Permissions::from_mode(0o620)).unwrap();
        assert!(cache.find("x").is_err());
        fs::set_permissions(cache.path("x"), fs::Permissions::from_mode(0o600)).unwrap();
        std::os::unix::fs::symlink(cache.path("x"), cache.path("y")).unwrap();
        assert!(cache.find("y").is_err());
        fs::set_permissions(&cache.directory, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(Cache::at(cache.directory.clone()).is_err());
    }

    #[test]
    fn keys_do_not_run_together() {
        assert_ne!(key(&["ab", "c"]), key(&["a", "bc"]));
    }
}
