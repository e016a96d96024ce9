//! Where elements run, and which order of packets is kept.

/// Where an element runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// With the other sources.
    Source,
    /// In every replica.
    Replica,
    /// In a stage of its own behind the replicas, where all packets come in their order, too; the
    /// first is 1.
    Ordered(u8),
    /// Behind the replicas, where all packets come in their order; where only that of flows is
    /// kept, in the first replica.
    Rest,
    /// In every replica, with one state for all of them under a lock.
    Shared,
}

impl Stage {
    /// As people know it; that of threads where these are no replicas.
    pub fn name(self, order: Order) -> String {
        let name = match (self, order) {
            (Self::Source, _) => "sources",
            (Self::Replica, _) => "replicas",
            (Self::Ordered(n), _) => return format!("{IN_ORDER} {n}"),
            (Self::Rest, Order::Total) => IN_ORDER,
            (Self::Rest, Order::Flow) => "first replica",
            (Self::Shared, _) => "all replicas",
        };
        name.to_owned()
    }
}

/// What the last stage is called.
pub(super) const IN_ORDER: &str = "in order";

/// Which order of packets is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// That of all: the result is the result of one thread.
    #[default]
    Total,
    /// That of the packets of each flow.
    Flow,
}
