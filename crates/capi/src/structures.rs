//! The structures that C programs see: part of the table of the interface (`abi.rs`).
//!
//! Invariant: within a minor version (0.x) or major one (later) none changes; others are added.

use crate::abi::structures;
use crate::{coprocessor, pipeline};
use std::ffi::{c_char, c_int, c_void};

structures! {
    /// A packet, lent for the time of a call.
    struct Packet as "netvm_packet" {
        /// Its captured bytes; may be null if there are none.
        data: *const u8,
        /// Their number.
        len: u32,
        /// How many bytes it had on the wire, for `len`, `greater`, `less`; 0: all were captured.
        wire_len: u32,
    }

    /// A coprocessor for `netvm_coprocessor_register`: what programs may ask of it, and who
    /// answers. All of it is copied but `context`.
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
        /// Each program that uses the coprocessor has its own unit, for one thread at a time.
        make: coprocessor::Make,
        /// Null if there is nothing to initialise: data are then good.
        init: coprocessor::Init,
        /// Does the work; what it does must depend on nothing but what the unit was given before.
        invoke: coprocessor::Invoke,
        /// Null if there is nothing to free.
        free: coprocessor::Free,
    }

    /// What an operation of a coprocessor sees, for reading and for the time of the call. Fields
    /// may be added behind the last one.
    struct Seen as "netvm_views" {
        /// The packet; null if the program did not show it.
        packet: *const u8,
        /// Its length.
        packet_len: usize,
        /// The packet's annotations, as many bytes as the program declares (`.info_size`); null if
        /// the program did not show the packet.
        info: *const u8,
        /// Their number.
        info_len: usize,
    }

    /// A packet of a burst.
    struct Item as "netvm_item" {
        /// Its bytes, which may be changed.
        data: *mut u8,
        /// Their number, which may be made smaller before the packet is forwarded.
        len: u32,
        /// The number of bytes it had on the wire, at least `len`.
        wire_len: u32,
        /// When it came, in nanoseconds since 1970.
        time: u64,
        /// A number of the program's own, which goes through stages that are functions.
        tag: u64,
    }

    /// How a configuration is read: by `netvm_application_open_with`, `netvm_application_open_file`
    /// and `netvm_pipeline_stage_with`. All of it is copied.
    struct ReadingOf as "netvm_reading" {
        /// Folders with element classes, looked into before the library that is built in; each has
        /// to be there.
        elements: *const *const c_char,
        /// Their number.
        elements_count: u32,
        /// Values of parameters, each as `NAME=VALUE`; they win over those that the configuration
        /// defines. A parameter that the configuration does not use has no effect.
        parameters: *const *const c_char,
        /// Their number.
        parameters_count: u32,
    }

    /// A stage for `netvm_pipeline_stage`: a function or a configuration, copied but for `context`.
    struct StageOf as "netvm_stage" {
        /// Its name.
        name: *const c_char,
        /// The names of the stages that it sends to, which have been registered: its outputs, from
        /// 0. Nothing of a configuration, whose devices say it: `ToDevice(c)` sends to the stage c.
        to: *const *const c_char,
        /// Their number.
        to_count: u32,
        /// The number of its replicas, each on a thread of its own; 0 stands for 1.
        replicas: u32,
        /// If more than `replicas`, their number may change up to this while packets flow.
        most: u32,
        /// Tells the flow of a packet: packets of one flow come to one replica, in order. Null:
        /// those between the same two IP addresses.
        flow: pipeline::Flow,
        /// Handed to `make` and `flow`.
        context: *mut c_void,
        /// Makes the unit of a replica, in its thread; null if `run` gets the context itself.
        make: pipeline::Make,
        /// The work; null of a configuration.
        run: pipeline::Run,
        /// Frees a unit that `make` made, at the end; may be null.
        free: coprocessor::Free,
        /// A configuration of elements with one device that is read, if `run` is null.
        configuration: *const c_char,
        /// Its engine, null for the one that suits.
        engine: *const c_char,
    }

    /// What `netvm_pipeline_counts` tells of a thread.
    struct Counts as "netvm_counts" {
        /// Packets that came to it.
        packets: u64,
        /// The bursts that they came in.
        bursts: u64,
        /// Packets that it sent, as far as they have gone on.
        sent: u64,
        /// Packets that it sent to a stage that had failed.
        lost: u64,
        /// Bursts that wait for it.
        waiting: u32,
        /// 1 if packets go to it at present.
        active: u32,
        /// The core that it was moved to, -1 if it was to none.
        core: c_int,
    }
}
