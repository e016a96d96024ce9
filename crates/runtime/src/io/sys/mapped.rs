//! Files mapped into memory, read only, of which another program may take away the end.
//!
//! Touching bytes that a file no longer has, or that cannot be read from its disk, raises SIGBUS,
//! which would end the process. A handler puts zeros in their place and in that of all that
//! follows, and notes it: [`Mapping::is_whole`] tells. Signals from elsewhere go to whoever handled
//! SIGBUS before. The technique is that of Wayland's shared buffers.
//!
//! Invariants: a slot names the bytes of a live mapping or none; the handler only loads and stores
//! atomics and calls `sysconf`, `mmap`, `sigaction` and `signal`, which a handler may. Leaves out:
//! another program that writes over bytes while they are read; what is read then is what either of
//! them meant, or a mix.

use memmap2::{Advice, Mmap};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Mappings at a time.
const SLOTS: usize = 64;

/// Where a mapping is: nowhere if `end` is 0.
struct Slot {
    taken: AtomicBool,
    begin: AtomicUsize,
    end: AtomicUsize,
    lost: AtomicBool,
}

#[allow(clippy::declare_interior_mutable_const, reason = "the initial value of each slot")]
const FREE: Slot =
    Slot { taken: AtomicBool::new(false), begin: AtomicUsize::new(0), end: AtomicUsize::new(0), lost: AtomicBool::new(false) };
static SLOT: [Slot; SLOTS] = [FREE; SLOTS];

/// Who handled the signal before; whether the handler could be set.
static BEFORE: OnceLock<Option<libc::sigaction>> = OnceLock::new();

/// A file's bytes.
pub(in crate::io) struct Mapping {
    map: Mmap,
    slot: &'static Slot,
}

impl Mapping {
    /// Of the whole file, as long as it is now.
    pub(in crate::io) fn of(file: &File) -> io::Result<Self> {
        if BEFORE.get_or_init(set_handler).is_none() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        // SAFETY: the bytes are only ever read as integers, whose values nobody relies on to stay;
        // that they may vanish is what the handler is for.
        let map = unsafe { Mmap::map(file) }?;
        let free = SLOT.iter().find(|slot| !slot.taken.swap(true, Ordering::AcqRel)).ok_or(io::ErrorKind::OutOfMemory)?;
        free.lost.store(false, Ordering::Relaxed);
        free.begin.store(map.as_ptr() as usize, Ordering::Relaxed);
        free.end.store(map.as_ptr() as usize + map.len(), Ordering::Release);
        Ok(Self { map, slot: free })
    }

    pub(in crate::io) fn bytes(&self) -> &[u8] {
        &self.map
    }

    /// Lets the system bring these bytes into memory and map them in one step, which costs less
    /// than a page at a time. Where it cannot, or where the file is shorter by now, that is found
    /// out when they are touched.
    pub(in crate::io) fn expect(&self, range: Range<usize>) {
        let _ = self.map.advise_range(Advice::PopulateRead, range.start, range.len());
    }

    /// Whether all bytes that were touched up to now were the file's.
    pub(in crate::io) fn is_whole(&self) -> bool {
        !self.slot.lost.load(Ordering::Acquire)
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        self.slot.end.store(0, Ordering::Release);
        self.slot.taken.store(false, Ordering::Release);
    }
}

/// Sets the handler; gives the one before.
fn set_handler() -> Option<libc::sigaction> {
    // SAFETY: a sigaction of zeros is a valid one: the default handler, no flags, an empty mask.
    let mut new: libc::sigaction = unsafe { std::mem::zeroed() };
    let mut old = new;
    new.sa_sigaction = on_signal as *const () as usize;
    new.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: both point to live values; the handler keeps to what may be called in one.
    (unsafe { libc::sigaction(libc::SIGBUS, &raw const new, &raw mut old) } == 0).then_some(old)
}

extern "C" fn on_signal(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: with SA_SIGINFO the kernel passes a valid siginfo.
    let info = unsafe { &*info };
    // SAFETY: that of SIGBUS has an address.
    let at = unsafe { info.si_addr() } as usize;
    let slot = SLOT.iter().find(|slot| {
        let end = slot.end.load(Ordering::Acquire);
        slot.begin.load(Ordering::Relaxed) <= at && at < end
    });
    if !slot.is_some_and(|slot| put_zeros(slot, at)) {
        hand_back();
    }
}

/// Zeros from the page of `at` to the mapping's end.
fn put_zeros(slot: &Slot, at: usize) -> bool {
    const SMALLEST_PAGE: usize = 4096;
    slot.lost.store(true, Ordering::Release);
    // SAFETY: errno is the thread's own, and there is always one.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let saved = unsafe { *errno };
    // SAFETY: asks for a number.
    let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(SMALLEST_PAGE);
    let from = at & !(page - 1);
    let (length, flags) =
        (slot.end.load(Ordering::Acquire).saturating_sub(from), libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED);
    // SAFETY: these pages belong to the slot's mapping, which lives while someone touches it; the
    // new ones can be read as the old ones could.
    let made = unsafe { libc::mmap(from as *mut libc::c_void, length, libc::PROT_READ, flags, -1, 0) };
    // SAFETY: as above.
    unsafe { *errno = saved };
    made != libc::MAP_FAILED
}

/// The signal is somebody else's: it comes again when this handler returns, and then finds theirs.
fn hand_back() {
    if let Some(Some(before)) = BEFORE.get() {
        // SAFETY: `before` is what the kernel gave.
        unsafe { libc::sigaction(libc::SIGBUS, before, std::ptr::null_mut()) };
    } else {
        // SAFETY: the default ends the process, as it would have without this handler.
        unsafe { libc::signal(libc::SIGBUS, libc::SIG_DFL) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn file(name: &str, bytes: &[u8]) -> (std::path::PathBuf, File) {
        let path = std::env::temp_dir().join(format!("netvm-mapped-{}-{name}", std::process::id()));
        fs::write(&path, bytes).unwrap();
        let file = File::options().read(true).write(true).open(&path).unwrap();
        (path, file)
    }

    #[test]
    fn what_a_file_loses_reads_as_zeros_and_is_told() {
        let (path, file) = file("cut", &[7; 100_000]);
        let (map, other) = (Mapping::of(&file).unwrap(), Mapping::of(&file).unwrap());
        assert_eq!((map.bytes().len(), map.is_whole()), (100_000, true));
        file.set_len(5_000).unwrap();
        let sum = |bytes: &[u8]| bytes.iter().map(|b| u64::from(*b)).sum::<u64>();
        assert_eq!(sum(map.bytes()), 7 * 5_000);
        assert!(!map.is_whole() && other.is_whole());
        drop((map, other));
        let map = Mapping::of(&file).unwrap();
        assert!(map.is_whole() && sum(map.bytes()) == 7 * 5_000);
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn more_mappings_than_slots_are_refused_and_slots_come_back() {
        let (path, file) = file("many", &[1]);
        let all: Vec<Mapping> = std::iter::from_fn(|| Mapping::of(&file).ok()).take(2 * SLOTS).collect();
        assert!(all.len() <= SLOTS);
        drop(all);
        assert_eq!(Mapping::of(&file).unwrap().bytes(), [1]);
        fs::remove_file(path).unwrap();
    }
}
