//! System calls and instructions that no safe library offers: the only place of this crate with
//! unsafe code.

#![allow(
    unsafe_code,
    reason = "memory that is shared with the kernel (rings of packets, AF_XDP, maps of programs, mapped files), advice on memory, prefetching, and wide registers"
)]

use netil::pool::{Even, Pool};

#[cfg(target_os = "linux")]
pub(in crate::io) mod bpf;
pub(in crate::io) mod frames;
pub(in crate::io) mod link;
pub(in crate::io) mod mapped;
pub(in crate::io) mod packet;
mod ring;
pub(in crate::io) mod tun;
#[cfg(target_os = "linux")]
pub(in crate::io) mod words;
pub(in crate::io) mod xsk;

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

/// Asks the system to keep memory in large pages as far as it can, by which random accesses miss
/// the translation cache less. Where it does not, all is as it was.
pub(crate) fn prefer_large_pages(memory: &[u8]) {
    #[cfg(target_os = "linux")]
    {
        const LARGE: usize = 2 << 20;
        let skipped = memory.as_ptr().align_offset(LARGE);
        let Some(whole) = memory.get(skipped..).map(|rest| &rest[..rest.len() / LARGE * LARGE]).filter(|whole| !whole.is_empty()) else {
            return;
        };
        // SAFETY: the range is memory of this process, whose contents advice of this kind does not
        // change.
        unsafe { libc::madvise(whole.as_ptr().cast_mut().cast(), whole.len(), libc::MADV_HUGEPAGE) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = memory;
}

/// Puts packets that are alike into slots, each `step`-th of these, the first of them if they
/// follow each other; in whole cache lines where the processor has registers of that size (0.2 ns a
/// packet).
pub(crate) fn put_even(pool: &mut Pool, even: &Even<'_>, first: Option<u32>, slots: &[u32], step: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
        fn wide(pool: &mut Pool, even: &Even<'_>, first: Option<u32>, slots: &[u32], step: usize) {
            pool.put_even(even, first, slots, step);
        }
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vl") {
            // SAFETY: the processor has what this is compiled for.
            return unsafe { wide(pool, even, first, slots, step) };
        }
    }
    pool.put_even(even, first, slots, step);
}
