//! Slices of members run for packets that come next, so that what their lookups read is on its way
//! ([`crate::lower::fused`], `compiler::cluster`).

use super::compile::Part;
use crate::frame::Frame;
use std::sync::Arc;

/// Packets for which slices are run at a time: while those are run, the next are fetched for.
pub(super) const GROUP: usize = 16;
/// Addresses that are noted for a group at most.
const LINES: usize = 16 * GROUP;
/// Whether this machine can be told to fetch.
pub(super) const IS_WORTHWHILE: bool = cfg!(target_arch = "x86_64");

/// The function of slices, and its memory.
pub(super) struct Prefetch {
    part: Arc<Part>,
    large: usize,
    scratch: Vec<u8>,
    lines: Vec<u64>,
}

impl Prefetch {
    pub fn new(part: Part, large: usize, info_size: usize) -> Self {
        // Set to zeros in vectors.
        Self::of(Arc::new(part), large, info_size.next_multiple_of(64))
    }

    fn of(part: Arc<Part>, large: usize, scratch: usize) -> Self {
        Self { part, large, scratch: vec![0; scratch], lines: vec![0; LINES] }
    }

    /// Another instance of this code, with memory of its own.
    pub fn twin(&self) -> Self {
        Self::of(Arc::clone(&self.part), self.large, self.scratch.len())
    }

    /// Whether it is worth its while where lookups may read so many bytes.
    pub fn is_for(&self, bytes: usize) -> bool {
        bytes >= self.large
    }

    /// Runs slices for the packets that the frame names, and fetches what they noted.
    pub fn run(&mut self, frame: &mut Frame) {
        let range = self.lines.as_mut_ptr_range();
        (frame.lines, frame.lines_end, frame.scratch) = (range.start, range.end, self.scratch.as_mut_ptr());
        frame.tables = self.part.unit.table_pointers.as_ptr();
        // SAFETY: as in `Running::step`; slices write to scratch memory of that size, to lines up
        // to their end, and to the frame.
        unsafe { (self.part.code)(frame) };
        let noted = (frame.lines as usize - range.start as usize) / size_of::<u64>();
        self.lines[..noted].iter().for_each(|line| fetch(*line));
    }
}

/// Fetches the line at an address into the cache.
fn fetch(line: u64) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint: whatever is at the address, or nothing, is not accessed.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(line as *const i8);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = line;
}
