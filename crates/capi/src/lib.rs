//! The C interface of netvm: filters, applications and pipelines for whatever calls C.
//!
//! ```text
//! constants!, structures!, functions!: a row each ──┬──▶ the functions ──▶ libnetvm.so, libnetvm.a
//!                                                   └──[`header::text`]──▶ include/netvm.h
//! ```
//!
//! Installed by `make install` as `libnetvm` with `netvm.h` and `netvm.pc`; `examples/count.c`
//! shows the use. Invariants: no function unwinds into its caller, none follows a null pointer, and
//! within a minor version (0.x) or major one (later) functions, structures and constants only are
//! added. Leaves out: captures, NetIL programs by themselves, live devices.
#![allow(unsafe_code, reason = "pointers come from callers in C")]

mod abi;
mod application;
mod coprocessor;
mod filter;
pub mod header;
mod pipeline;
mod pointers;
mod reading;
mod structures;

use abi::{constants, functions};
pub use application::Running;
pub use filter::Handle;
pub use pipeline::{Pipe, Sends};
use pointers::{Fault, give, status, string, told, told_pause};
use std::ffi::{CString, c_char, c_int, c_void};
pub use structures::{Counts, Item, Packet, ReadingOf, Seen, StageOf, Unit};

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

functions! {
    /// The version of the library, such as "0.1.0"; not to be freed.
    fn netvm_version() -> *const c_char {
        const { concat!(env!("CARGO_PKG_VERSION"), "\0") }.as_ptr().cast()
    }

    /// Compiles an expression for packets of a link type (DLT, such as 1 for Ethernet) and puts the
    /// filter into `*filter`, to be freed by `netvm_filter_free`. `engine` is the name of an engine
    /// (`interp`, `jit`, `aot`), or null for the one that suits.
    ///
    /// On failure `*filter` is null, and `*error` what is wrong, in lines for people that end with
    /// a newline, to be freed by `netvm_string_free`. On success `*error` is null. `error` itself
    /// may be null.
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

    /// Makes the same filter for another thread and puts it into `*other`, to be freed by
    /// `netvm_filter_free` like the first, in any order. `*error` is as in `netvm_filter_compile`.
    fn netvm_filter_another(filter: *const Handle, other: *mut *mut Handle, error: *mut *mut c_char) -> c_int {
        // SAFETY: null, or a filter that nobody changes meanwhile.
        let filter = unsafe { filter.as_ref() };
        let made = filter.ok_or(Fault::null("filter")).and_then(Handle::another);
        // SAFETY: the caller's pointers are null or point to variables.
        unsafe { give(made, other, error) }
    }

    /// Selects packets of a burst: bit i % 64 of `words[i / 64]` is set if packet i matches, and
    /// clear if not. `words` has room for `NETVM_WORDS(count)` words; what is in them before does
    /// not matter, and bits past the last packet are clear afterwards. If the function fails, the
    /// words say nothing. Both arrays may be null if `count` is 0. Some hundred packets at a time
    /// are best.
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

    /// What runs the filter at the moment, in words, such as "jit", to be freed by
    /// `netvm_string_free`; null if `filter` is null.
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

    /// Lets NetIL programs, also those that are elements (`NetIL(FILE)`), use a coprocessor of the
    /// caller's, as long as the process lives. At most 64 can be registered, and names differ.
    /// `*error` is as in `netvm_filter_compile`.
    fn netvm_coprocessor_register(coprocessor: *const Unit, error: *mut *mut c_char) -> c_int {
        // SAFETY: null, or a structure that is there for the call.
        let unit = unsafe { coprocessor.as_ref() }.ok_or(Fault::null("the coprocessor"));
        // SAFETY: its strings and arrays are there for the call, too.
        let done = unit.and_then(|unit| unsafe { coprocessor::register(unit, None) });
        // SAFETY: the caller's pointer is null or points to a variable.
        unsafe { told(done, error) }
    }

    /// Registers a coprocessor as `netvm_coprocessor_register` does, but its operations see more
    /// than the packet: `invoke` runs them in place of the structure's, which may be null.
    fn netvm_coprocessor_register_views(
        coprocessor: *const Unit,
        invoke: coprocessor::InvokeViews,
        error: *mut *mut c_char
    ) -> c_int {
        // SAFETY: null, or a structure that is there for the call.
        let unit = unsafe { coprocessor.as_ref() }.ok_or(Fault::null("the coprocessor"));
        let unit = unit.and_then(|unit| invoke.map(|_| unit).ok_or(Fault::null("invoke")));
        // SAFETY: its strings and arrays are there for the call, too.
        let done = unit.and_then(|unit| unsafe { coprocessor::register(unit, invoke) });
        // SAFETY: the caller's pointer is null or points to a variable.
        unsafe { told(done, error) }
    }

    /// Reads a configuration of elements in Click's language and puts what runs it into
    /// `*application`, to be freed by `netvm_application_free`. Its devices are queues: packets for
    /// `FromDevice(NAME)` come by `netvm_application_push`, those that `ToDevice(NAME)` sends are
    /// taken by `netvm_application_take`. `engine` and `*error` are as in `netvm_filter_compile`.
    /// An application is for one thread at a time.
    fn netvm_application_open(
        configuration: *const c_char,
        engine: *const c_char,
        application: *mut *mut Running,
        error: *mut *mut c_char
    ) -> c_int {
        // SAFETY: the caller's pointers are null or point to strings and to variables.
        let made = unsafe { application::open(configuration, std::ptr::null(), engine) };
        // SAFETY: as above.
        unsafe { give(made, application, error) }
    }

    /// Reads a configuration as `netvm_application_open` does, with the folders of element classes
    /// and the parameters of `reading`, which may be null.
    fn netvm_application_open_with(
        configuration: *const c_char,
        reading: *const ReadingOf,
        engine: *const c_char,
        application: *mut *mut Running,
        error: *mut *mut c_char
    ) -> c_int {
        // SAFETY: the caller's pointers are null or point to what the text says.
        let made = unsafe { application::open(configuration, reading, engine) };
        // SAFETY: as above.
        unsafe { give(made, application, error) }
    }

    /// Reads the configuration in a file as `netvm_application_open_with` does. Messages name the
    /// file. The folder `elements` beside it, if it is there, is looked into for element classes,
    /// after those of `reading`. A file that cannot be read is `NETVM_CONFIGURATION`.
    fn netvm_application_open_file(
        path: *const c_char,
        reading: *const ReadingOf,
        engine: *const c_char,
        application: *mut *mut Running,
        error: *mut *mut c_char
    ) -> c_int {
        // SAFETY: the caller's pointers are null or point to what the text says.
        let made = unsafe { application::open_file(path, reading, engine) };
        // SAFETY: as above.
        unsafe { give(made, application, error) }
    }

    /// Lets packets come by a device, in order; they wait for `netvm_application_run`. `times` has
    /// when each comes, in nanoseconds since 1970; a time before that of an earlier packet is that
    /// packet's, and `times` may be null. How many packets were taken, fewer than `count` if the
    /// queue is full; negative on failure. Nothing of the packets is kept by reference.
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

    /// Runs all packets that have come, and timers that are due at that time or the last packet's,
    /// whichever is later; 0: the last packet's. 1: the run has ended, 0: not, negative: failure.
    fn netvm_application_run(application: *mut Running, until: u64) -> c_int {
        // SAFETY: null, or an application that is this thread's for the call.
        unsafe { application.as_mut() }.map_or(NETVM_ARGUMENT, |application| application.run(until))
    }

    /// Takes packets that were sent by a device, in order, as many as there is room for: `count`
    /// packets, and `size` bytes at `room` into which `packets[i].data` points then. `times`, which
    /// may be null, gets when each came. How many were taken, negative on failure; a packet has
    /// 65,535 bytes at most.
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

    /// What a handler such as "counter.count" says, asked about a text that may be null; `*text`
    /// gets it, or what is wrong, to be freed by `netvm_string_free`.
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

    /// Makes a pipeline without stages, freed by `netvm_pipeline_free`: for one thread at a time.
    fn netvm_pipeline_open(pipeline: *mut *mut Pipe, error: *mut *mut c_char) -> c_int {
        // SAFETY: the caller's pointers are null or point to variables.
        unsafe { give(Ok(Pipe::new()), pipeline, error) }
    }

    /// Registers a stage with the queue before it; stages are registered from the last to the
    /// first. `*error` is as in `netvm_filter_compile`, also below.
    fn netvm_pipeline_stage(pipeline: *mut Pipe, stage: *const StageOf, error: *mut *mut c_char) -> c_int {
        // SAFETY: null, or a pipeline that is this thread's for the call.
        let pipe = unsafe { pipeline.as_mut() }.ok_or(Fault::null("the pipeline"));
        // SAFETY: the caller's pointers are null or point to what the text says.
        let done = pipe.and_then(|pipe| unsafe { pipe.stage(stage, std::ptr::null()) });
        // SAFETY: the caller's pointer is null or points to a variable.
        unsafe { told(done, error) }
    }

    /// Registers a stage as `netvm_pipeline_stage` does; if it is a configuration, that is read
    /// with the folders of element classes and the parameters of `reading`, which may be null. For
    /// a function it has to be null.
    fn netvm_pipeline_stage_with(
        pipeline: *mut Pipe,
        stage: *const StageOf,
        reading: *const ReadingOf,
        error: *mut *mut c_char
    ) -> c_int {
        // SAFETY: null, or a pipeline that is this thread's for the call.
        let pipe = unsafe { pipeline.as_mut() }.ok_or(Fault::null("the pipeline"));
        // SAFETY: the caller's pointers are null or point to what the text says.
        let done = pipe.and_then(|pipe| unsafe { pipe.stage(stage, reading) });
        // SAFETY: the caller's pointer is null or points to a variable.
        unsafe { told(done, error) }
    }

    /// Registers an input, which sends to so many stages; a thread calls `function` with `context`.
    fn netvm_pipeline_input(
        pipeline: *mut Pipe,
        name: *const c_char,
        to: *const *const c_char,
        to_count: u32,
        function: pipeline::Input,
        context: *mut c_void,
        error: *mut *mut c_char
    ) -> c_int {
        // SAFETY: null, or a pipeline that is this thread's for the call.
        let pipe = unsafe { pipeline.as_mut() }.ok_or(Fault::null("the pipeline"));
        // SAFETY: the caller's pointers are null or point to what the text says.
        let done = pipe.and_then(|pipe| unsafe { pipe.input(name, (to, to_count), function, context) });
        // SAFETY: the caller's pointer is null or points to a variable.
        unsafe { told(done, error) }
    }

    /// Begins a thread for each input and replica; packets flow when all are ready. It starts once.
    fn netvm_pipeline_start(pipeline: *mut Pipe, error: *mut *mut c_char) -> c_int {
        // SAFETY: null, or a pipeline that is this thread's for the call.
        let pipe = unsafe { pipeline.as_mut() }.ok_or(Fault::null("the pipeline"));
        // SAFETY: the caller's pointer is null or points to a variable.
        unsafe { told(pipe.and_then(Pipe::start), error) }
    }

    /// Lets an input (replica 0) or a replica of a stage run on one core only, or on any if `core`
    /// is negative, while packets flow. For how many nanoseconds it did nothing else comes to
    /// `*pause`, which may be null.
    fn netvm_pipeline_move(
        pipeline: *const Pipe,
        stage: *const c_char,
        replica: u32,
        core: c_int,
        pause: *mut u64,
        error: *mut *mut c_char
    ) -> c_int {
        // SAFETY: the caller's pointers are null or point to what the text says.
        let of = unsafe { pipeline::of(pipeline, stage) };
        let took = of.and_then(|(running, stage)| {
            running.move_to(stage, replica as usize, usize::try_from(core).ok()).map_err(Fault::refused)
        });
        // SAFETY: as above.
        unsafe { told_pause(took, pause, error) }
    }

    /// So many replicas of a stage get packets from now on. For that the inputs wait until nothing
    /// is on the way, for `*pause` nanoseconds.
    fn netvm_pipeline_replicas(
        pipeline: *const Pipe,
        stage: *const c_char,
        replicas: u32,
        pause: *mut u64,
        error: *mut *mut c_char
    ) -> c_int {
        // SAFETY: the caller's pointers are null or point to what the text says.
        let of = unsafe { pipeline::of(pipeline, stage) };
        let took = of.and_then(|(running, stage)| running.set_replicas(stage, replicas as usize).map_err(Fault::refused));
        // SAFETY: as above.
        unsafe { told_pause(took, pause, error) }
    }

    /// Packets for a stage go to its replicas by that function, with `context`, from now on; null:
    /// by their two IP addresses. For that the inputs wait until nothing is on the way, for
    /// `*pause` nanoseconds. What replicas keep of flows stays where it is.
    fn netvm_pipeline_flow(
        pipeline: *const Pipe,
        stage: *const c_char,
        flow: pipeline::Flow,
        context: *mut c_void,
        pause: *mut u64,
        error: *mut *mut c_char
    ) -> c_int {
        // SAFETY: the caller's pointers are null or point to what the text says.
        let of = unsafe { pipeline::of(pipeline, stage) };
        let took = of.and_then(|(running, stage)| pipeline::set_flow(running, stage, flow, context));
        // SAFETY: as above.
        unsafe { told_pause(took, pause, error) }
    }

    /// What there is to say of an input (replica 0) or a replica of a stage.
    fn netvm_pipeline_counts(pipeline: *const Pipe, stage: *const c_char, replica: u32, counts: *mut Counts) -> c_int {
        // SAFETY: null, or a pipeline that is this thread's for the call.
        let pipe = unsafe { pipeline.as_ref() }.ok_or(Fault::null("the pipeline"));
        // SAFETY: the caller's string is null or ends with NUL.
        let told = pipe.and_then(|pipe| unsafe { pipe.counts(stage, replica) });
        status(told.and_then(|told| {
            let to = (!counts.is_null()).then_some(counts).ok_or(Fault::null("the counts"))?;
            // SAFETY: not null, so a variable.
            unsafe { to.write(told) };
            Ok(())
        }))
    }

    /// What a handler of a replica that is a configuration says, as `netvm_application_read`.
    fn netvm_pipeline_read(
        pipeline: *const Pipe,
        stage: *const c_char,
        replica: u32,
        handler: *const c_char,
        argument: *const c_char,
        text: *mut *mut c_char
    ) -> c_int {
        // SAFETY: the caller's pointers are null or point to what the text says.
        let of = unsafe { pipeline::of(pipeline, stage) };
        // SAFETY: as above.
        let words = unsafe { pipeline::words(handler, argument) };
        let told = of.and_then(|(running, stage)| {
            let (handler, argument) = words?;
            running.read(stage, replica as usize, handler, argument).map_err(Fault::refused)
        });
        let (status, told) = told.map_or_else(|fault| (fault.status, fault.message), |told| (NETVM_OK, told));
        if !text.is_null() {
            // SAFETY: not null, so a variable.
            unsafe { text.write(string(told)) };
        }
        status
    }

    /// Writes a handler of a replica that is a configuration.
    fn netvm_pipeline_write(
        pipeline: *const Pipe,
        stage: *const c_char,
        replica: u32,
        handler: *const c_char,
        value: *const c_char,
        error: *mut *mut c_char
    ) -> c_int {
        // SAFETY: the caller's pointers are null or point to what the text says.
        let of = unsafe { pipeline::of(pipeline, stage) };
        // SAFETY: as above.
        let words = unsafe { pipeline::words(handler, value) };
        let done = of.and_then(|(running, stage)| {
            let (handler, value) = words?;
            running.write(stage, replica as usize, handler, value).map_err(Fault::refused)
        });
        // SAFETY: as above.
        unsafe { told(done, error) }
    }

    /// Asks all inputs to end; what has come still goes through.
    fn netvm_pipeline_stop(pipeline: *const Pipe) -> c_int {
        // SAFETY: null, or a pipeline that is this thread's for the call.
        let pipe = unsafe { pipeline.as_ref() }.ok_or(Fault::null("the pipeline"));
        status(pipe.and_then(|pipe| pipe.runs().map(netvm::stages::Running::stop)))
    }

    /// 1 if everything has gone through, 0 if not, negative on failure.
    fn netvm_pipeline_has_ended(pipeline: *const Pipe) -> c_int {
        // SAFETY: null, or a pipeline that is this thread's for the call.
        let pipe = unsafe { pipeline.as_ref() }.ok_or(Fault::null("the pipeline"));
        pipe.and_then(|pipe| Ok(c_int::from(pipe.runs()?.has_ended()))).unwrap_or_else(|fault| fault.status)
    }

    /// Waits until everything has gone through, which it does when all inputs have ended. Then the
    /// pipeline still tells its counts, and nothing else.
    fn netvm_pipeline_wait(pipeline: *mut Pipe, error: *mut *mut c_char) -> c_int {
        // SAFETY: null, or a pipeline that is this thread's for the call.
        let pipe = unsafe { pipeline.as_mut() }.ok_or(Fault::null("the pipeline"));
        // SAFETY: the caller's pointer is null or points to a variable.
        unsafe { told(pipe.and_then(Pipe::wait), error) }
    }

    /// Asks a pipeline to end, waits for that and frees it; null is allowed.
    fn netvm_pipeline_free(pipeline: *mut Pipe) -> () {
        if !pipeline.is_null() {
            // SAFETY: it was made by `give`, and the caller gives it back.
            drop(unsafe { Box::from_raw(pipeline) });
        }
    }

    /// Sends a packet of the burst that a stage was called with, by its place, as it is then; its
    /// bytes are copied. Waits as long as there is no room.
    fn netvm_outlets_forward(outlets: *mut Sends, output: u32, index: usize) -> c_int {
        // SAFETY: null, or what the calling function was called with.
        let sends = unsafe { outlets.as_mut() }.ok_or_else(|| Fault::null("the outlets"));
        // SAFETY: as above.
        status(sends.and_then(|sends| unsafe { sends.forward(output, index) }))
    }

    /// Sends all packets of the burst that a stage was called with, as they are then. To a single
    /// replica they are not copied. The burst is empty afterwards.
    fn netvm_outlets_forward_all(outlets: *mut Sends, output: u32) -> c_int {
        // SAFETY: null, or what the calling function was called with.
        let sends = unsafe { outlets.as_mut() }.ok_or_else(|| Fault::null("the outlets"));
        // SAFETY: as above.
        status(sends.and_then(|sends| unsafe { sends.forward_all(output) }))
    }

    /// Sends a packet of the caller's memory, which is copied.
    fn netvm_outlets_send(outlets: *mut Sends, output: u32, item: *const Item) -> c_int {
        // SAFETY: null, or what the calling function was called with.
        let sends = unsafe { outlets.as_mut() }.ok_or_else(|| Fault::null("the outlets"));
        // SAFETY: as above; the packet is null or has its bytes.
        status(sends.and_then(|sends| unsafe { sends.send(output, item) }))
    }

    /// 1 if the run is to end, for an input that sends packets in a loop of its own; 0 if not.
    fn netvm_outlets_stopping(outlets: *const Sends) -> c_int {
        // SAFETY: null, or what the calling function was called with.
        let sends = unsafe { outlets.as_ref() };
        // SAFETY: as above.
        sends.map_or(NETVM_ARGUMENT, |sends| c_int::from(unsafe { sends.is_stopping() }))
    }

    /// Frees a string that this library made; null is allowed.
    fn netvm_string_free(string: *mut c_char) -> () {
        if !string.is_null() {
            // SAFETY: it was made by `string`, and the caller gives it back.
            drop(unsafe { CString::from_raw(string) });
        }
    }
}
