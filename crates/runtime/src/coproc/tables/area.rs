//! Memory of a table: zeros at first, begins with a cache line, stays where it is, and takes memory only as it is written to.
//!
//! Large areas are mapped from the system, and the largest asked to be kept in large pages, by which random accesses miss the translation cache less; small ones
//! come from the heap. Numbers in it are little-endian. Offsets out of bounds panic: they are the tables' own.

use memmap2::{MmapMut, MmapOptions};
use netil::layout::LINE;
use std::ops::{Deref, DerefMut};

/// From this size on, areas are mapped.
const MAPPED: usize = 256 << 10;
/// From this size on in large pages: what is smaller, the translation cache can hold, and many tables have few entries.
#[cfg(target_os = "linux")]
const IN_LARGE_PAGES: usize = 8 << 20;
/// A large page.
const LARGE: usize = 2 << 20;

/// The memory.
pub struct Area {
    memory: Memory,
    begin: usize,
    size: usize,
}

enum Memory {
    Heap(Vec<u8>),
    Mapped(MmapMut),
}

impl Area {
    /// So many bytes; `None` if the system does not give them.
    pub fn new(size: usize) -> Option<Self> {
        if size < MAPPED {
            let bytes = vec![0; size + LINE];
            let begin = bytes.as_ptr().align_offset(LINE).min(LINE);
            return Some(Self { memory: Memory::Heap(bytes), begin, size });
        }
        let map = MmapOptions::new().len(size.checked_add(LARGE)?).no_reserve_swap().map_anon().ok()?;
        // Where there are no large pages, small ones do.
        #[cfg(target_os = "linux")]
        if size >= IN_LARGE_PAGES {
            let _ = map.advise(memmap2::Advice::HugePage);
        }
        let begin = map.as_ptr().align_offset(LARGE).min(LARGE);
        Some(Self { memory: Memory::Mapped(map), begin, size })
    }
}

impl Deref for Area {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        let all: &[u8] = match &self.memory {
            Memory::Heap(bytes) => bytes,
            Memory::Mapped(map) => map,
        };
        &all[self.begin..self.begin + self.size]
    }
}

impl DerefMut for Area {
    fn deref_mut(&mut self) -> &mut [u8] {
        let all: &mut [u8] = match &mut self.memory {
            Memory::Heap(bytes) => bytes,
            Memory::Mapped(map) => map,
        };
        &mut all[self.begin..self.begin + self.size]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_are_zero_begin_with_a_line_and_may_be_larger_than_memory() {
        for size in [0, 1, MAPPED - 1, MAPPED, 3 * LARGE + 1] {
            let mut area = Area::new(size).unwrap();
            assert!(area.len() == size && (area.as_ptr() as usize).is_multiple_of(LINE) && area.iter().all(|b| *b == 0));
            if let Some(last) = area.last_mut() {
                *last = 7;
                assert_eq!(area[size - 1], 7);
            }
        }
        assert!(Area::new(usize::MAX - LARGE + 1).is_none());
        assert!(Area::new(usize::MAX - LARGE).is_none());
    }
}
