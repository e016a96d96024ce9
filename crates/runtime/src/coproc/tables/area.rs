//! Memory of a table: zeros at first, begins with a cache line, stays where it is, and takes memory
//! only as it is written to.
//!
//! Large areas are mapped from the system, and the largest asked to be kept in large pages, by
//! which random accesses miss the translation cache less; small ones come from the heap. A large
//! page is written to as a whole before it is used, so what is used from its begin on asks for them
//! as it grows (a router of 16 ports, each with a table of a few neighbours and room for 65,536:
//! 160 MB and 60 ms of its first second). Numbers in it are little-endian. Offsets out of bounds
//! panic: they are the tables' own.

use memmap2::{MmapMut, MmapOptions};
use netil::layout::LINE;
use std::ops::{Deref, DerefMut};

/// From this size on, areas are mapped.
const MAPPED: usize = 256 << 10;
/// From this size on in large pages: what is smaller, the translation cache can hold, and many
/// tables have few entries.
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
    /// So many bytes, any of which may be used soon; `None` if the system does not give them.
    pub fn new(size: usize) -> Option<Self> {
        let area = Self::growing(size)?;
        area.will_use(size);
        Some(area)
    }

    /// So many bytes that are used from the first on, as far as is told by [`Self::will_use`];
    /// `None` if the system does not give them.
    pub fn growing(size: usize) -> Option<Self> {
        if size < MAPPED {
            let bytes = vec![0; size + LINE];
            let begin = bytes.as_ptr().align_offset(LINE).min(LINE);
            return Some(Self { memory: Memory::Heap(bytes), begin, size });
        }
        let map = MmapOptions::new().len(size.checked_add(LARGE)?).no_reserve_swap().map_anon().ok()?;
        let begin = map.as_ptr().align_offset(LARGE).min(LARGE);
        Some(Self { memory: Memory::Mapped(map), begin, size })
    }

    /// The first so many bytes will be used.
    pub fn will_use(&self, bytes: usize) {
        #[cfg(target_os = "linux")]
        if let Memory::Mapped(map) = &self.memory
            && self.size >= IN_LARGE_PAGES
            && bytes >= LARGE
        {
            // Where there are no large pages, small ones do.
            let _ = map.advise_range(memmap2::Advice::HugePage, self.begin, bytes.min(self.size));
        }
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

    /// Whether the system is asked for large pages where an area begins.
    #[cfg(target_os = "linux")]
    fn asks(area: &Area) -> bool {
        let place = area.as_ptr() as usize;
        let holds = |line: &str| {
            let ends = line.split(' ').next().and_then(|range| range.split_once('-'));
            let address = |end: &str| usize::from_str_radix(end, 16).ok();
            ends.and_then(|(from, to)| address(from).zip(address(to))).is_some_and(|(from, to)| (from..to).contains(&place))
        };
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let flags = maps.lines().skip_while(|line| !holds(line)).find(|line| line.starts_with("VmFlags:"));
        flags.unwrap().split(' ').any(|flag| flag == "hg")
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn areas_that_grow_ask_for_large_pages_where_they_are_used() {
        // Systems without large pages refuse.
        let has_some = asks(&Area::new(IN_LARGE_PAGES).unwrap());
        let area = Area::growing(IN_LARGE_PAGES).unwrap();
        area.will_use(LARGE - 1);
        assert!(!asks(&area));
        area.will_use(LARGE);
        assert_eq!(asks(&area), has_some);
        let small = Area::new(IN_LARGE_PAGES - 1).unwrap();
        assert!(!asks(&small));
    }
}
