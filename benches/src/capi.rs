//! The C interface as programs call it: a burst at a time, and one packet at a time.

#![allow(unsafe_code, reason = "calling C is what this file is for")]

use crate::native::CPacket;
use netvm_capi as _;
use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr::{self, NonNull};

unsafe extern "C" {
    fn netvm_filter_compile(
        expression: *const c_char,
        link: u32,
        engine: *const c_char,
        filter: *mut *mut c_void,
        error: *mut *mut c_char,
    ) -> c_int;
    fn netvm_filter_select(filter: *mut c_void, packets: *const CPacket<'_>, count: usize, words: *mut u64) -> c_int;
    fn netvm_filter_matches(filter: *mut c_void, packet: *const CPacket<'_>) -> c_int;
    fn netvm_filter_free(filter: *mut c_void);
}

/// A filter of the library.
pub struct Filter {
    filter: NonNull<c_void>,
    /// Packets go in one by one.
    pub single: bool,
}

impl Filter {
    /// Of Ethernet packets, by the engine that suits; none if it does not compile.
    pub fn compile(expression: &str, single: bool) -> Option<Self> {
        let expression = CString::new(expression).ok()?;
        let mut filter = ptr::null_mut();
        // SAFETY: the text ends with a zero byte, and the place for the filter is valid; others may
        // be null (netvm.h).
        unsafe { netvm_filter_compile(expression.as_ptr(), 1, ptr::null(), &raw mut filter, ptr::null_mut()) };
        Some(Self { filter: NonNull::new(filter)?, single })
    }

    /// The verdicts of a burst, a bit each.
    pub fn run(&self, packets: &[CPacket<'_>], bits: &mut [u64]) {
        if self.single {
            bits.fill(0);
            packets.iter().enumerate().for_each(|(n, packet)| bits[n / 64] |= u64::from(self.matches(packet)) << (n % 64));
            return;
        }
        assert!(packets.len() <= 64 * bits.len());
        // SAFETY: the filter lives, packets are laid out as the header's (native::CPacket), and
        // there are bits enough for them.
        unsafe { netvm_filter_select(self.filter.as_ptr(), packets.as_ptr(), packets.len(), bits.as_mut_ptr()) };
    }

    fn matches(&self, packet: &CPacket<'_>) -> bool {
        // SAFETY: the filter lives, and the packet is laid out as the header's.
        unsafe { netvm_filter_matches(self.filter.as_ptr(), packet) == 1 }
    }
}

impl Drop for Filter {
    fn drop(&mut self) {
        // SAFETY: it was made by netvm_filter_compile, and is freed once.
        unsafe { netvm_filter_free(self.filter.as_ptr()) };
    }
}
