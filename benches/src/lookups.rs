//! C's lookups in tables behind safe functions ([c/tables.c](../c/tables.c)).

#![allow(unsafe_code, reason = "calling C is what this file is for")]

use netvm::netil::layout::{Parts, head};
use std::ffi::c_void;
use std::ptr::NonNull;

/// Keys of a burst.
pub const BURST: usize = 256;

/// A flow's key, 104 bits.
#[repr(C)]
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
pub struct Flow {
    /// Addresses.
    pub low: u64,
    /// Ports and protocol.
    pub high: u64,
}

unsafe extern "C" {
    fn netvm_flows(head: *mut u64, slots: *mut u8, keys: *const Flow, n: usize, now: u64, timeout: u64) -> u64;
    fn hand_flows_new(slots: u64) -> *mut c_void;
    fn hand_flows_insert(table: *mut c_void, key: *const Flow, value: u32);
    fn hand_flows(table: *mut c_void, keys: *const Flow, n: usize, now: u64) -> u64;
    fn netvm_routes(head: *const u64, values: *const u8, index: *const u8, groups: *const u8, keys: *const u32, n: usize) -> u64;
    fn hand_routes_new() -> *mut c_void;
    fn hand_routes_add(table: *mut c_void, prefix: u32, length: u32, hop: u32);
    fn hand_routes(table: *const c_void, keys: *const u32, n: usize) -> u64;
}

/// Looks flows up in netvm's table of them (104 bits of key, 11 bytes of value, a timeout).
pub fn flows(parts: Parts<'_>, keys: &[Flow], now: u64, timeout: u64) -> u64 {
    assert!(keys.len().is_multiple_of(BURST) && parts.head[head::STASHED] == 0 && timeout > 0);
    // SAFETY: the parts are those of a table of that layout, which leaves room for as many probes
    // as are made behind every bucket; whole bursts.
    unsafe { netvm_flows(parts.head.as_mut_ptr(), parts.slots.as_mut_ptr(), keys.as_ptr(), keys.len(), now, timeout) }
}

/// Looks addresses up in netvm's table of routes (24 bits in the first level, 8 bytes of value).
pub fn routes(parts: &Parts<'_>, keys: &[u32]) -> u64 {
    assert!(keys.len().is_multiple_of(BURST) && !parts.index.is_empty());
    let (head, values) = (parts.head.as_ptr(), parts.slots.as_ptr());
    // SAFETY: the parts are those of a table of that layout, whose slots have numbers of groups and
    // values that there are; whole bursts.
    unsafe { netvm_routes(head, values, parts.index.as_ptr(), parts.groups.as_ptr(), keys.as_ptr(), keys.len()) }
}

/// Flows in a table written by hand.
pub struct HandFlows {
    table: NonNull<c_void>,
    room: usize,
}

impl HandFlows {
    /// For so many flows: a quarter of its slots.
    pub fn new(flows: usize) -> Self {
        let slots = (flows * 4).next_power_of_two() as u64;
        // SAFETY: a power of 2; the function gives a table or ends the program.
        let table = unsafe { hand_flows_new(slots) };
        Self { table: NonNull::new(table).expect("C gave a table"), room: flows }
    }

    /// One flow more, which is not there.
    pub fn insert(&mut self, key: &Flow, value: u32) {
        assert!(self.room > 0);
        self.room -= 1;
        // SAFETY: there is a free slot.
        unsafe { hand_flows_insert(self.table.as_ptr(), key, value) }
    }

    /// Looks flows up.
    pub fn look_up(&mut self, keys: &[Flow], now: u64) -> u64 {
        assert!(keys.len().is_multiple_of(BURST));
        // SAFETY: whole bursts.
        unsafe { hand_flows(self.table.as_ptr(), keys.as_ptr(), keys.len(), now) }
    }
}

/// Routes in a table written by hand.
pub struct HandRoutes(NonNull<c_void>);

impl HandRoutes {
    /// Of prefixes with length and next hop.
    pub fn new(routes: &[(u32, u32, u32)]) -> Self {
        // SAFETY: the function gives a table or ends the program.
        let table = Self(NonNull::new(unsafe { hand_routes_new() }).expect("C gave a table"));
        let mut routes = routes.to_vec();
        routes.sort_by_key(|(_, length, _)| *length);
        for (prefix, length, hop) in routes {
            assert!(length <= 24 && hop < 64 && prefix.trailing_zeros() >= 32 - length);
            // SAFETY: the prefix covers slots that there are, and there are 64 next hops.
            unsafe { hand_routes_add(table.0.as_ptr(), prefix, length, hop) }
        }
        table
    }

    /// Looks addresses up.
    pub fn look_up(&self, keys: &[u32]) -> u64 {
        assert!(keys.len().is_multiple_of(BURST));
        // SAFETY: whole bursts.
        unsafe { hand_routes(self.0.as_ptr(), keys.as_ptr(), keys.len()) }
    }
}
