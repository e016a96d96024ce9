//! How elements are kept from each other: the choices that a model has.

/// How elements are kept from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheme {
    /// One lock for each element.
    Locks,
    /// Packets of a flow go to one core; each core has its own locks and state.
    CpuAffinity,
    /// Packets of a flow go to one thread, which has its own state and no locks.
    ThreadAffinity,
    /// Critical sections are transactions.
    Transactions,
}

impl Scheme {
    /// All, with their names.
    pub const ALL: [(Self, &'static str); 4] = [
        (Self::Locks, "locks"),
        (Self::CpuAffinity, "cpu-affinity"),
        (Self::ThreadAffinity, "thread-affinity"),
        (Self::Transactions, "transactions"),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(scheme, _)| *scheme == self).map_or("", |(_, name)| name)
    }
}
