//! What is to be known of classes without an element of theirs: who looks at annotations, which they set or read themselves, what replicas have in common, what is cut through.

use super::hostdevice::READERS;
use netil::cut_through::Role;

/// Whether a class, one of these, may look at packets' annotations; those that only hold packets, take them or write their bytes do not.
pub fn looks_at_annotations(class: &str) -> bool {
    let plain = [
        "Queue",
        "SimpleQueue",
        "NotifierQueue",
        "FullNoteQueue",
        "QuickNoteQueue",
        "ThreadSafeQueue",
        "FrontDropQueue",
        "Discard",
        "Idle",
    ];
    !plain.contains(&class) && !["ToDump", "ToDevice", "ToHost"].contains(&class)
}

/// What an element of one of these classes is on the way of packets, where that is known: for queues that packets leave at once.
pub fn role(class: &str, arguments: &[String]) -> Option<Role> {
    match class {
        "FromDump" => Some(Role::Source),
        _ if READERS.contains(&class) => Some(Role::Source),
        "Queue" | "SimpleQueue" | "NotifierQueue" | "FullNoteQueue" | "QuickNoteQueue" | "ThreadSafeQueue" | "FrontDropQueue" => {
            Some(Role::Queue)
        }
        "Unqueue" => Some(Role::Task),
        "RED" if !arguments.iter().any(|argument| argument.trim_start().starts_with("QUEUES")) => Some(Role::Early),
        _ => None,
    }
}

/// What several graphs that share an application's flows do with an element of the runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shared {
    /// Each has its own.
    Own,
    /// One of them has it.
    First,
    /// It must see the packets of all flows.
    Never,
}

/// That, by class.
pub fn shared(class: &str) -> Shared {
    const OWN: &[&str] = &[
        "FromDump",
        "FromDevice",
        "PollDevice",
        "ToDump",
        "ToDevice",
        "ToHost",
        "ToHostSniffers",
        "Discard",
        "Idle",
        "TimedSink",
        "Unqueue",
        "LinkUnqueue",
        "DelayUnqueue",
        "DelayShaper",
        "PullTee",
        "RoundRobinSched",
        "PrioSched",
        "StrideSched",
        "SimpleRoundRobinSched",
        "SimplePrioSched",
        "IPReassembler",
    ];
    const FIRST: &[&str] = &["Script", "DriverManager", "ControlSocket", "ChatterSocket", "Message", "Error"];
    let informs = ["Info", "RandomSeed", "ThreadSched"].iter().any(|end| class.ends_with(end));
    match class {
        _ if class.ends_with("Queue") || OWN.contains(&class) || informs => Shared::Own,
        _ if FIRST.contains(&class) => Shared::First,
        _ => Shared::Never,
    }
}

/// The annotations that elements of a class, one of these, set or read themselves, with their sizes in bytes. Others are there only where an element in C has them.
pub fn annotations(class: &str) -> &'static [(&'static str, u32)] {
    const SUMMARY: &[(&str, u32)] = &[
        ("paint", 1),
        ("aggregate", 4),
        ("first_timestamp", 8),
        ("extra_packets", 4),
        ("network_header", 4),
        ("transport_header", 4),
        ("has_network_header", 1),
        ("has_transport_header", 1),
    ];
    const HEADERS: &[(&str, u32)] =
        &[("network_header", 4), ("transport_header", 4), ("has_network_header", 1), ("has_transport_header", 1), ("dst_ip", 4)];
    match class {
        "FromIPSummaryDump" | "ToIPSummaryDump" => SUMMARY,
        "AggregateCounter" => &[("aggregate", 4), ("extra_packets", 4), ("network_header", 4), ("has_network_header", 1)],
        "IPReassembler" | "ICMPPingSource" | "FTPPortMapper" => HEADERS,
        _ => &[],
    }
}
