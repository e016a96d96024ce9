//! The bytes of a map of the kernel, in memory that programs in the kernel read and write
//! meanwhile: words of 64 bits, each read or changed as a whole.
//!
//! Source: the kernel's Documentation/bpf/map_array.rst (`BPF_F_MMAPABLE`). Leaves out: maps with
//! keys, which have no memory that others may see.

use memmap2::{MmapOptions, MmapRaw};
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a word.
const WORD: usize = 8;

/// Words that the kernel and this process share.
#[derive(Debug)]
pub struct Words {
    map: MmapRaw,
    words: usize,
}

impl Words {
    /// Maps so many bytes, rounded up to words.
    pub(in crate::io) fn map(fd: BorrowedFd<'_>, size: usize) -> io::Result<Self> {
        let words = size.div_ceil(WORD);
        let map = MmapOptions::new().len(words * WORD).map_raw(&fd)?;
        Ok(Self { map, words })
    }

    fn word(&self, index: usize) -> Option<&AtomicU64> {
        if index >= self.words {
            return None;
        }
        let word = self.map.as_mut_ptr().cast::<u64>().wrapping_add(index);
        // SAFETY: the index is within the mapping, which begins with a page, so the word is
        // aligned, and lives as long as `self`; the kernel and we write to it as a whole.
        Some(unsafe { AtomicU64::from_ptr(word) })
    }

    /// The word of that index; 0 where there is none.
    pub fn get(&self, index: usize) -> u64 {
        self.word(index).map_or(0, |word| word.load(Ordering::Relaxed))
    }

    /// Adds to a word, modulo 2^64.
    pub fn add(&self, index: usize, by: u64) {
        if let Some(word) = self.word(index) {
            word.fetch_add(by, Ordering::Relaxed);
        }
    }
}
