//! Where elements run, and which order of packets is kept.

/// Where an element runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// With the other sources.
    Source,
    /// In every replica.
    Replica,
    /// Behind the replicas, where all packets come in their order; where only that of flows is
    /// kept, in the first replica.
    Rest,
    /// In every replica, with one state for all of them under a lock.
    Shared,
}

/// Which order of packets is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// That of all: the result is the result of one thread.
    #[default]
    Total,
    /// That of the packets of each flow.
    Flow,
}
