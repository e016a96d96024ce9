//! Filters for several threads, made one of the other, by way of the functions that C programs
//! call.
#![allow(unsafe_code, reason = "calling what C programs call")]

use netvm_capi::{Handle, NETVM_OK, Packet};
use std::ptr::{null, null_mut};

/// A filter on its way to the thread that will use it.
struct Sent(*mut Handle);

// SAFETY: the interface lets filters pass between threads; each is used by one at a time.
unsafe impl Send for Sent {}

fn compile(expression: &std::ffi::CStr) -> *mut Handle {
    let mut filter = null_mut();
    // SAFETY: a string, and a variable.
    let status = unsafe { netvm_capi::netvm_filter_compile(expression.as_ptr(), 1, null(), &mut filter, null_mut()) };
    assert_eq!(status, NETVM_OK);
    filter
}

fn another(filter: *mut Handle) -> Sent {
    let mut other = null_mut();
    // SAFETY: a filter that no thread uses now, and a variable.
    assert_eq!(unsafe { netvm_capi::netvm_filter_another(filter, &mut other, null_mut()) }, NETVM_OK);
    Sent(other)
}

/// Selects over and over, frees the filter, and gives the number of packets selected the last time.
fn select(filter: Sent, frames: &[Vec<u8>]) -> u32 {
    let packets: Vec<_> = frames.iter().map(|f| Packet { data: f.as_ptr(), len: f.len() as u32, wire_len: 0 }).collect();
    let mut words = vec![u64::MAX; packets.len().div_ceil(64)];
    for _ in 0..20 {
        // SAFETY: this thread's filter, so many packets and their words.
        let status = unsafe { netvm_capi::netvm_filter_select(filter.0, packets.as_ptr(), packets.len(), words.as_mut_ptr()) };
        assert_eq!(status, NETVM_OK);
    }
    // SAFETY: nobody uses it any more.
    unsafe { netvm_capi::netvm_filter_free(filter.0) };
    words.iter().map(|word| word.count_ones()).sum()
}

#[test]
fn each_thread_has_its_own() {
    let frames: Vec<_> = netvm::io::synth::mixed_trace(3, 3_000).into_iter().map(|(_, frame)| frame).collect();
    let first = compile(c"tcp port 80 or udp");
    let others: Vec<_> = (0..4).map(|_| another(first)).collect();
    let wanted = select(Sent(first), &frames);
    let found: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = others.into_iter().map(|filter| scope.spawn(|| select(filter, &frames))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(wanted > 0 && wanted < 3_000);
    assert_eq!(found, [wanted; 4]);
}
