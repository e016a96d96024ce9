//! System calls that no safe library offers: the only place of this crate with unsafe code.

#![allow(unsafe_code, reason = "memory that is shared with the kernel (rings of packets, mapped files), advice on memory, and prefetching")]

pub(in crate::io) mod mapped;
pub(in crate::io) mod packet;

/// Asks for the cache line of `bytes[at]`, if there is one, without waiting for it.
#[inline(always)]
pub(crate) fn prefetch(bytes: &[u8], at: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing that a program could see, and any address will do.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(bytes.as_ptr().wrapping_add(at).cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (bytes, at);
}

/// Asks the system to keep memory in large pages as far as it can, by which random accesses miss the translation cache less. Where it does not, all is as it was.
pub(crate) fn prefer_large_pages(memory: &[u8]) {
    #[cfg(target_os = "linux")]
    {
        const LARGE: usize = 2 << 20;
        let skipped = memory.as_ptr().align_offset(LARGE);
        let Some(whole) = memory.get(skipped..).map(|rest| &rest[..rest.len() / LARGE * LARGE]).filter(|whole| !whole.is_empty()) else {
            return;
        };
        // SAFETY: the range is memory of this process, whose contents advice of this kind does not change.
        unsafe { libc::madvise(whole.as_ptr().cast_mut().cast(), whole.len(), libc::MADV_HUGEPAGE) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = memory;
}
