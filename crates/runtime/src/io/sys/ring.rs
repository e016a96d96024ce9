//! Rings of fixed entries that the kernel and one thread share, as AF_XDP has them: one side writes
//! entries, the other reads them.
//!
//! Invariants: entries lie within the mapping, since the mask is applied to each index and the
//! mapping was checked to hold them all; only our side writes its index; an entry is read after the
//! index that publishes it (Acquire), and written before (Release).
//!
//! Source: Documentation/networking/af_xdp.rst of the Linux kernel.

use memmap2::{MmapOptions, MmapRaw};
use rustix::net::xdp::XdpRingOffset;
use std::{
    io,
    marker::PhantomData,
    mem,
    os::fd::BorrowedFd,
    sync::atomic::{AtomicU32, Ordering},
};

/// Numbers of which any bytes are a value.
pub(super) trait Plain: Copy {}

impl Plain for u64 {}

/// What a ring of frames has.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Descriptor {
    /// Where the frame begins in the memory that is shared.
    pub address: u64,
    /// Its bytes.
    pub len: u32,
    pub options: u32,
}

impl Plain for Descriptor {}

/// A ring.
pub(super) struct Ring<T> {
    map: MmapRaw,
    producer: usize,
    consumer: usize,
    flags: Option<usize>,
    entries: usize,
    size: u32,
    /// How far this side has come.
    own: u32,
    of: PhantomData<T>,
}

/// The kernel sleeps until it is called.
const NEEDS_WAKEUP: u32 = 1;

impl<T: Plain> Ring<T> {
    /// Maps the ring of a socket that begins at that offset, of so many entries (a power of two).
    pub fn map(fd: BorrowedFd<'_>, place: u64, offsets: &XdpRingOffset, size: u32) -> io::Result<Self> {
        let [producer, consumer, entries] = [offsets.producer, offsets.consumer, offsets.desc].map(|at| at as usize);
        let flags = offsets.flags.map(|at| at as usize);
        let len = entries + size as usize * mem::size_of::<T>();
        let aligned = [producer, consumer].into_iter().chain(flags).all(|at| at % 4 == 0 && at + 4 <= len);
        if !aligned || entries % 8 != 0 || !size.is_power_of_two() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the kernel's ring makes no sense"));
        }
        let map = MmapOptions::new().offset(place).len(len).populate().map_raw(&fd)?;
        Ok(Self { map, producer, consumer, flags, entries, size, own: 0, of: PhantomData })
    }

    fn word(&self, at: usize) -> &AtomicU32 {
        let word = self.map.as_mut_ptr().wrapping_add(at).cast::<u32>();
        // SAFETY: `map` checked that the word is aligned and within the mapping, which begins with
        // a page and lives as long as `self`; the kernel and we write to it as a whole.
        unsafe { AtomicU32::from_ptr(word) }
    }

    fn entry(&self, index: u32) -> *mut T {
        let at = (index & (self.size - 1)) as usize;
        self.map.as_mut_ptr().wrapping_add(self.entries).cast::<T>().wrapping_add(at)
    }

    /// As the reader: how many entries are there.
    pub fn available(&self) -> u32 {
        self.word(self.producer).load(Ordering::Acquire).wrapping_sub(self.own).min(self.size)
    }

    /// The entry that comes `index` places behind the next; what it is behind those available is of
    /// no meaning.
    pub fn get(&self, index: u32) -> T {
        // SAFETY: the entry is within the mapping and aligned, and any bytes are a value of it. The
        // kernel published it before (`available`).
        unsafe { self.entry(self.own.wrapping_add(index)).read_volatile() }
    }

    /// Gives the place of the next entries back.
    pub fn release(&mut self, count: u32) {
        self.own = self.own.wrapping_add(count);
        self.word(self.consumer).store(self.own, Ordering::Release);
    }

    /// As the writer: how many entries there is room for.
    pub fn room(&self) -> u32 {
        self.size - self.waiting()
    }

    /// How many entries the kernel has not taken yet.
    pub fn waiting(&self) -> u32 {
        self.own.wrapping_sub(self.word(self.consumer).load(Ordering::Acquire)).min(self.size)
    }

    /// Writes an entry that comes `index` places behind the last one that was published; there must
    /// be room.
    pub fn set(&mut self, index: u32, entry: T) {
        // SAFETY: the entry is within the mapping and aligned. The kernel has taken what was there
        // before (`room`), and does not read it before `publish`.
        unsafe { self.entry(self.own.wrapping_add(index)).write_volatile(entry) }
    }

    /// Hands over the next entries.
    pub fn publish(&mut self, count: u32) {
        self.own = self.own.wrapping_add(count);
        self.word(self.producer).store(self.own, Ordering::Release);
    }

    /// Whether the kernel has to be called to go on.
    pub fn needs_wakeup(&self) -> bool {
        self.flags.is_none_or(|at| self.word(at).load(Ordering::Relaxed) & NEEDS_WAKEUP != 0)
    }
}
