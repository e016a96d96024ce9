//! What is to be known of classes without an element of theirs.

use netil::cut_through::Role;

/// What holds of all elements of a class.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// Nothing shows but a queue's greatest length when several arrivals come to an element before
    /// the tasks behind have run, unless it [says otherwise](super::BuiltIn::one_at_a_time).
    pub takes_bursts: bool,
    /// Packets may wait in an element from one turn to the next.
    pub holds_packets: bool,
    /// It is a queue.
    pub queue: bool,
    /// It is a queue that sources wait for while it is full.
    pub tells_full: bool,
    /// It takes packets from queues and passes them on as they are: a wire, where nothing waits.
    pub moves: bool,
    /// It makes packets.
    pub makes: bool,
    /// Where the packets are read that it gives.
    pub reads: Option<Medium>,
    /// Where the packets are written that it takes.
    pub writes: Option<Medium>,
    /// The device that an element of this name has with these arguments, where not an argument by
    /// position says it alone.
    pub device: fn(&str, &[String]) -> Option<String>,
    /// Packets that come to it are gone; what it keeps of them are sums.
    pub ends: bool,
    /// Its arguments name handlers of other elements, which it calls while packets flow.
    pub calls_handlers: bool,
    /// The class in C that it is in the place of where an element calls handlers.
    pub calling: Option<Calling>,
    /// It says something to whoever reads the configuration, and does nothing while it runs.
    pub informs: bool,
    /// It does something when a run begins, and nothing after that.
    pub only_begins: bool,
    /// It may look at packets' annotations; what only holds packets, takes them or writes their
    /// bytes does not.
    pub looks_at_annotations: bool,
    /// The annotations that it sets or reads, with their sizes in bytes. Others are there only
    /// where an element in C has them.
    pub annotations: &'static [(&'static str, u32)],
    /// What an element with these arguments is on the way of packets, where that is known: for
    /// queues that packets leave at once.
    pub role: fn(&[String]) -> Option<Role>,
    /// What graphs that share an application's flows do with it.
    pub shared: Shared,
    /// Where an application is cut, what stands there.
    pub cut: Option<Cut>,
}

/// What packets are read from, or written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    /// A capture, or another file of packets, that the configuration names.
    File,
    /// A text about packets that the configuration names.
    Summary,
    /// A device, or a capture that stands for one.
    Device,
}

/// A class whose elements are programs unless they call handlers.
#[derive(Clone, Copy, Debug)]
pub struct Calling {
    /// Its name.
    pub program: &'static str,
    /// Arguments that name the handler to call. Handlers of these names, in small letters, change
    /// it.
    pub arguments: &'static [&'static str],
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

/// What stands where an application is cut into stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// An end of a connection between stages.
    End,
    /// What stands for an element of another stage.
    Absent,
}

impl Facts {
    /// Packets come from it with their headers marked, whatever its arguments are.
    pub fn marks_headers(&self) -> bool {
        self.reads.is_some() && self.annotations.iter().any(|(name, _)| *name == "network_header")
    }

    /// What is taken for granted of a class that says nothing.
    pub const OTHER: Self = Self {
        takes_bursts: false,
        holds_packets: false,
        queue: false,
        tells_full: false,
        moves: false,
        makes: false,
        reads: None,
        writes: None,
        device: |_, _| None,
        ends: false,
        calls_handlers: false,
        calling: None,
        informs: false,
        only_begins: false,
        looks_at_annotations: true,
        annotations: &[],
        role: |_| None,
        shared: Shared::Never,
        cut: None,
    };
    /// A class whose packets come from a device.
    pub(super) const READER: Self = Self { reads: Some(Medium::Device), role: |_| Some(Role::Source), ..Self::OTHER };
    /// A class whose packets go to a device.
    pub(super) const WRITER: Self = Self { takes_bursts: true, writes: Some(Medium::Device), ..Self::OTHER };
    /// A class that each of several graphs has.
    pub(super) const OWN: Self = Self { shared: Shared::Own, ..Self::OTHER };
    /// A class of sources.
    pub(super) const MAKER: Self = Self { makes: true, ..Self::OTHER };
}

/// The device that an element has by its name, its class and its arguments, where no argument by
/// position says it.
pub fn device_name(element: &str, class: &str, given: &[String]) -> Option<String> {
    (super::facts(class).device)(element, given)
}

/// Annotations of elements that look at headers.
pub(super) const HEADERS: &[(&str, u32)] =
    &[("network_header", 4), ("transport_header", 4), ("has_network_header", 1), ("has_transport_header", 1), ("dst_ip", 4)];
/// Annotations of summaries.
pub(super) const SUMMARY: &[(&str, u32)] = &[
    ("paint", 1),
    ("aggregate", 4),
    ("first_timestamp", 8),
    ("extra_packets", 4),
    ("network_header", 4),
    ("transport_header", 4),
    ("has_network_header", 1),
    ("has_transport_header", 1),
];

#[cfg(test)]
mod tests {
    use super::super::{ALL, BuiltInClass};
    use super::*;

    fn names(holds: impl Fn(&Facts) -> bool) -> Vec<&'static str> {
        ALL.iter().filter(|class| holds(&class.facts)).map(|class| class.name).collect()
    }

    #[test]
    fn queues_hold_packets_that_each_graph_has() {
        let of = |class: &&&BuiltInClass| class.name.ends_with("Queue");
        assert_eq!(names(|facts| facts.queue).len(), ALL.iter().filter(of).count());
        assert!(
            ALL.iter().filter(of).all(|class| class.facts.holds_packets && class.facts.shared == Shared::Own && class.facts.takes_bursts)
        );
    }

    #[test]
    fn what_is_known_fits_together() {
        for class in ALL {
            let Facts { reads, writes, makes, moves, ends, informs, holds_packets, role, .. } = class.facts;
            let (inputs, outputs) = class.ports.split_once('/').unwrap_or_default();
            assert!(reads.is_none() && !makes || outputs != "0", "{}: packets come from it", class.name);
            assert!(writes.is_none() || inputs != "0", "{}: packets go to it", class.name);
            assert!(!moves || inputs != "0" && outputs != "0" && !makes && !holds_packets, "{}: packets go through it", class.name);
            assert!(!ends || inputs != "0" && !holds_packets, "{}: packets go to it", class.name);
            assert!(!informs || class.ports == "0/0", "{}: packets come to it", class.name);
            assert!(!holds_packets || outputs != "0", "{}: packets leave it", class.name);
            assert!(!matches!(role(&[]), Some(Role::Queue)) || class.facts.queue, "{}: it is a queue", class.name);
        }
    }

    #[test]
    fn queues_that_are_named_may_be_far_from_a_red() {
        let red = super::super::facts("RED");
        assert_eq!(((red.role)(&[]), (red.role)(&["1".to_owned(), " QUEUES q".to_owned()])), (Some(Role::Early), None));
    }
}
