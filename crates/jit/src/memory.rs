//! Code memory: written first, then executable, never both.

use memmap2::{Mmap, MmapMut};
use std::io;

/// Machine code that can be called and no longer changed.
pub(crate) struct Code {
    map: Mmap,
}

impl Code {
    /// Copies machine code to fresh pages and makes them executable.
    pub fn new(code: &[u8]) -> io::Result<Self> {
        let mut map = MmapMut::map_anon(code.len().max(1))?;
        map[..code.len()].copy_from_slice(code);
        Ok(Self { map: map.make_exec()? })
    }

    /// The address of the first instruction; valid as long as `self`.
    pub fn entry(&self) -> *const u8 {
        self.map.as_ptr()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_not_writable_any_more() {
        let code = Code::new(&[0xc3]).unwrap();
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let at = code.entry() as usize;
        let line = maps.lines().find(|l| {
            let range = l.split(' ').next().unwrap_or("");
            let (a, b) = range.split_once('-').unwrap_or(("0", "0"));
            (usize::from_str_radix(a, 16).unwrap_or(0)..usize::from_str_radix(b, 16).unwrap_or(0)).contains(&at)
        });
        assert!(line.unwrap().contains(" r-xp "), "{line:?}");
    }
}
