//! System calls that no safe library offers: the only place of this crate with unsafe code.

#![allow(unsafe_code, reason = "memory that is shared with the kernel (rings of packets, mapped files), and prefetching")]

pub(in crate::io) mod mapped;
pub(in crate::io) mod packet;

/// Asks for the cache line of `bytes[at]`, if there is one, without waiting for it.
#[inline(always)]
pub(in crate::io) fn prefetch(bytes: &[u8], at: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing that a program could see, and any address will do.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(bytes.as_ptr().wrapping_add(at).cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (bytes, at);
}
