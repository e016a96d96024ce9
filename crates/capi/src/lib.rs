//! The C interface of netvm: filters and applications for programs in C and whatever calls C.
//!
//! ```text
//! abi!: one row per function ──┬──▶ the functions ──▶ libnetvm.so, libnetvm.a
//!                              └──[`header::text`]──▶ include/netvm.h
//! ```
//!
//! Installed by `make install` as `libnetvm` with `netvm.h` and `netvm.pc`; `examples/count.c` shows the use. Invariants: no function unwinds
//! into its caller, none follows a null pointer, and within a minor version (0.x) or major one (later) functions, structures and
//! constants only are added. Leaves out: captures, NetIL programs by themselves, live devices.
#![allow(unsafe_code, reason = "pointers come from callers in C")]

mod abi;
mod application;
mod coprocessor;
mod filter;
pub mod header;
mod pointers;

use abi::{constants, functions, structures};
pub use application::Running;
pub use filter::Handle;
use pointers::Fault;
use std::ffi::{CString, c_char, c_int, c_void};

constants! {
    /// Done.
    NETVM_OK = 0;
    /// An argument is wrong: null where it may not be, not UTF-8, no such engine.
    NETVM_ARGUMENT = -1;
    /// The expression is wrong, or has no meaning on the link type.
    NETVM_EXPRESSION = -2;
    /// The engine cannot run it: for aot, because there is no C compiler, or it failed.
    NETVM_ENGINE = -3;
    /// A bug in netvm.
    NETVM_PANIC = -4;
    /// The configuration is wrong.
    NETVM_CONFIGURATION = -5;
    /// There is no such device or handler, or it refuses.
    NETVM_REFUSED = -6;
}

structures! {
    /// A packet, lent for the time of a call.
    struct Packet as "netvm_packet" {
        /// Its captured bytes; may be null if there are none.
        data: *const u8,
        /// Their number.
        len: u32,
        /// The number of bytes it had on the wire, for `len`, `greater` and `less`; 0 says that it was captured whole.
        wire_len: u32,
    }

    /// A coprocessor for `netvm_coprocessor_register`: what programs may ask of it, and who answers. All of it is copied but `context`.
    struct Unit as "netvm_coprocessor" {
        /// Its name in programs, such as `.use_coprocessor NAME`.
        name: *const c_char,
        /// What it does, for people; may be null.
        doc: *const c_char,
        /// The names of its operations.
        operations: *const *const c_char,
        /// Their number, from 1 to 16.
        operation_count: u32,
        /// The number of its registers, at most 32.
        registers: u32,
        /// What an operation costs in cycles, about.
        cost: u32,
        /// Handed to `make`.
        context: *mut c_void,
        /// Each program that uses the coprocessor has a unit of its own, which one thread uses at a time.
        make: coprocessor::Make,
        /// Null if there is nothing to initialise: data are then good.
        init: coprocessor::Init,
        /// Does the work; what it does must depend on nothing but what the unit was given before.
        invoke: coprocessor::Invoke,
        /// Null if there is nothing to free.
        free: coprocessor::Free,
    }
}

functions! {
    /// The version of the library, such as "0.1.0"; not to be freed.
    fn netvm_version() -> *const c_char {
        const { concat!(env!("CARGO_PKG_VERSION"), "\0") }.as_ptr().cast()
    }

    /// Compiles an expression for packets of a link type (DLT, such as 1 for Ethernet) and puts the filter into `*filter`, to be freed
    /// by `netvm_filter_free`. `engine` is the name of an engine (`interp`, `jit`, `aot`), or null for the one that suits.
    ///
    /// On failure `*filter` is null, and `*error` what is wrong, in lines for people that end with a newline, to be freed by
    /// `netvm_string_free`. On success `*error` is null. `error` itself may be null.
    fn netvm_filter_compile(
        expression: *const c_char,
        link_type: u32,
        engine: *const c_char,
        filter: *mut *mut Handle,
        error: *mut *mut c_char
    ) -> c_int {
        // SAFETY: the caller's pointers are null or point to strings and to variables.
        let made = unsafe { filter::compile(expression, link_type, engine) };
        // SAFETY: as above.
        unsafe { give(made, filter, error) }
    }

    /// Makes the same filter for another thread and puts it into `*other`, to be freed by `netvm_filter_free` like the first, in
    /// any order. `*error` is as in `netvm_filter_compile`.
    fn netvm_filter_another(filter: *const Handle, other: *mut *mut Handle, error: *mut *mut c_char) -> c_int {
        // SAFETY: null, or a filter that nobody changes meanwhile.
        let filter = unsafe { filter.as_ref() };
        let made = filter.ok_or(Fault::null("filter")).and_then(Handle::another);
        // SAFETY: the caller's pointers are null or point to variables.
        unsafe { give(made, other, error) }
    }

    /// Selects packets of a burst: bit i % 64 of `words[i / 64]` is set if packet i matches, and clear if not. `words` has room for
    /// `NETVM_WORDS(count)` words; what is in them before does not matter, and bits past the last packet are clear afterwards. If the
    /// function fails, the words say nothing. Both arrays may be null if `count` is 0. Some hundred packets at a time are best.
    fn netvm_filter_select(filter: *mut Handle, packets: *const Packet, count: usize, words: *mut u64) -> c_int {
        // SAFETY: null, or a filter that is this thread's for the call.
        let filter = unsafe { filter.as_mut() };
        // SAFETY: the caller's arrays are null or as long as it says.
        filter.map_or(NETVM_ARGUMENT, |filter| status(unsafe { filter.select(packets, count, words) }))
    }

    /// 1 if the packet matches, 0 if not, negative on failure.
    fn netvm_filter_matches(filter: *mut Handle, packet: *const Packet) -> c_int {
        // SAFETY: null, or a filter that is this thread's for the call.
        let filter = unsafe { filter.as_mut() };
        // SAFETY: null, or a packet whose bytes are there.
        let verdict = filter.map(|filter| unsafe { filter.matches(packet) });
        verdict.map_or(NETVM_ARGUMENT, |verdict| verdict.map_or_else(|fault| fault.status, c_int::from))
    }

    /// What runs the filter at the moment, in words, such as "jit", to be freed by `netvm_string_free`; null if `filter` is null.
    fn netvm_filter_detail(filter: *const Handle) -> *mut c_char {
        // SAFETY: null, or a filter that nobody changes meanwhile.
        let filter = unsafe { filter.as_ref() };
        filter.map_or(std::ptr::null_mut(), |filter| string(filter.detail()))
    }

    /// Frees a filter; null is allowed.
    fn netvm_filter_free(filter: *mut Handle) -> () {
        if !filter.is_null() {
            // SAFETY: it was made by `give`, and the caller gives it back.
            drop(unsafe { Box::from_raw(filter) });
        }
    }

    /// Lets NetIL programs, also those that are elements (`NetIL(FILE)`), use a coprocessor of the caller's, as long as the process lives.
    /// At most 64 can be registered, and names differ. `*error` is as in `netvm_filter_compile`.
    fn netvm_coprocessor_register(coprocessor: *const Unit, error: *mut *mut c_char) -> c_int {
        // SAFETY: null, or a structure that is there for the call.
        let unit = unsafe { coprocessor.as_ref() }.ok_or(Fault::null("the coprocessor"));
        // SAFETY: its strings and arrays are there for the call, too.
        let done = unit.and_then(|unit| unsafe { coprocessor::register(unit) });
        // SAFETY: the caller's pointer is null or points to a variable.
        unsafe { told(done, error) }
    }

    /// Reads a configuration of elements in Click's language and puts what runs it into `*application`, to be freed by
    /// `netvm_application_free`. Its devices are queues: packets for `FromDevice(NAME)` come by `netvm_application_push`, those that
    /// `ToDevice(NAME)` sends are taken by `netvm_application_take`. `engine` and `*error` are as in `netvm_filter_compile`. An
    /// application is for one thread at a time.
    fn netvm_application_open(
        configuration: *const c_char,
        engine: *const c_char,
        application: *mut *mut Running,
        error: *mut *mut c_char
    ) -> c_int {
        // SAFETY: the caller's pointers are null or point to strings and to variables.
        let made = unsafe { application::open(configuration, engine) };
        // SAFETY: as above.
        unsafe { give(made, application, error) }
    }

    /// Lets packets come by a device, in order; they wait for `netvm_application_run`. `times` has when each comes, in nanoseconds
    /// since 1970; a time before that of an earlier packet is that packet's, and `times` may be null. How many packets were taken,
    /// fewer than `count` if the queue is full; negative on failure. Nothing of the packets is kept by reference.
    fn netvm_application_push(
        application: *mut Running,
        device: *const c_char,
        packets: *const Packet,
        times: *const u64,
        count: usize
    ) -> c_int {
        // SAFETY: null, or an application that is this thread's for the call.
        let application = unsafe { application.as_mut() };
        // SAFETY: the caller's arrays are null or as long as it says.
        let taken = application.map(|it| unsafe { it.push(device, packets, times, count) });
        taken.map_or(NETVM_ARGUMENT, |taken| taken.unwrap_or_else(|fault| fault.status))
    }

    /// Runs all packets that have come, and timers that are due at that time or the last packet's, whichever is later; 0 stands for
    /// the last packet's. 1 if an element has ended the run, 0 if not, negative on failure.
    fn netvm_application_run(application: *mut Running, until: u64) -> c_int {
        // SAFETY: null, or an application that is this thread's for the call.
        unsafe { application.as_mut() }.map_or(NETVM_ARGUMENT, |application| application.run(until))
    }

    /// Takes packets that were sent by a device, in order, as many as there is room for: `count` packets, and `size` bytes at `room`
    /// into which `packets[i].data` points then. `times`, which may be null, gets when each came. How many were taken, negative on
    /// failure; a packet has 65,535 bytes at most.
    fn netvm_application_take(
        application: *mut Running,
        device: *const c_char,
        room: *mut u8,
        size: usize,
        packets: *mut Packet,
        times: *mut u64,
        count: usize
    ) -> c_int {
        // SAFETY: null, or an application that is this thread's for the call.
        let application = unsafe { application.as_mut() };
        // SAFETY: the caller's arrays are null or as long as it says.
        let taken = application.map(|it| unsafe { it.take(device, (room, size), packets, times, count) });
        taken.map_or(NETVM_ARGUMENT, |taken| taken.unwrap_or_else(|fault| fault.status))
    }

    /// What a handler such as "counter.count" says, asked about a text that may be null; `*text` gets it, or what is wrong, to be freed
    /// by `netvm_string_free`.
    fn netvm_application_read(
        application: *mut Running,
        handler: *const c_char,
        argument: *const c_char,
        text: *mut *mut c_char
    ) -> c_int {
        // SAFETY: null, or an application that is this thread's for the call.
        let application = unsafe { application.as_mut() }.ok_or(Fault::null("application"));
        // SAFETY: the caller's pointers are null or point to strings.
        let told = application.and_then(|it| unsafe { it.read(handler, argument) });
        let (status, told) = told.map_or_else(|fault| (fault.status, fault.message), |told| (NETVM_OK, told));
        if !text.is_null() {
            // SAFETY: not null, so a variable.
            unsafe { text.write(string(told)) };
        }
        status
    }

    /// Writes a handler; `*error` is as in `netvm_filter_compile`.
    fn netvm_application_write(
        application: *mut Running,
        handler: *const c_char,
        value: *const c_char,
        error: *mut *mut c_char
    ) -> c_int {
        // SAFETY: null, or an application that is this thread's for the call.
        let application = unsafe { application.as_mut() }.ok_or(Fault::null("application"));
        // SAFETY: the caller's pointers are null or point to strings.
        let done = application.and_then(|it| unsafe { it.write(handler, value) });
        let (status, message) = done.map_or_else(|fault| (fault.status, Some(fault.message)), |()| (NETVM_OK, None));
        if !error.is_null() {
            // SAFETY: not null, so a variable.
            unsafe { error.write(message.map_or(std::ptr::null_mut(), string)) };
        }
        status
    }

    /// Frees an application; null is allowed.
    fn netvm_application_free(application: *mut Running) -> () {
        if !application.is_null() {
            // SAFETY: it was made by `give`, and the caller gives it back.
            drop(unsafe { Box::from_raw(application) });
        }
    }

    /// Frees a string that this library made; null is allowed.
    fn netvm_string_free(string: *mut c_char) -> () {
        if !string.is_null() {
            // SAFETY: it was made by `string`, and the caller gives it back.
            drop(unsafe { CString::from_raw(string) });
        }
    }
}

fn status(done: Result<(), Fault>) -> c_int {
    done.map_or_else(|fault| fault.status, |()| NETVM_OK)
}

/// A string for C, which ends at the first NUL.
fn string(text: String) -> *mut c_char {
    let mut bytes = text.into_bytes();
    bytes.truncate(bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len()));
    CString::new(bytes).unwrap_or_default().into_raw()
}

/// Whether it was done, and why not.
///
/// # Safety
/// The pointer is null or points to a variable.
unsafe fn told(done: Result<(), Fault>, error: *mut *mut c_char) -> c_int {
    let (status, message) = done.map_or_else(|fault| (fault.status, Some(fault.message)), |()| (NETVM_OK, None));
    if !error.is_null() {
        // SAFETY: not null, so a variable.
        unsafe { error.write(message.map_or(std::ptr::null_mut(), string)) };
    }
    status
}

/// Hands out what was made, or why there is none.
///
/// # Safety
/// Both pointers are null or point to variables.
unsafe fn give<T>(made: Result<T, Fault>, to: *mut *mut T, error: *mut *mut c_char) -> c_int {
    let made = if to.is_null() { Err(Fault::null("the place of the result")) } else { made };
    let (status, handle, message) = match made {
        Ok(handle) => (NETVM_OK, Box::into_raw(Box::new(handle)), std::ptr::null_mut()),
        Err(fault) if error.is_null() => (fault.status, std::ptr::null_mut(), std::ptr::null_mut()),
        Err(fault) => (fault.status, std::ptr::null_mut(), string(fault.message)),
    };
    if !to.is_null() {
        // SAFETY: not null, so a variable.
        unsafe { to.write(handle) };
    }
    if !error.is_null() {
        // SAFETY: not null, so a variable.
        unsafe { error.write(message) };
    }
    status
}
