//! What a machine charges for: the numbers by which transformations weigh one form of code against
//! another.
//!
//! Measured on Zen 4 and Sapphire Rapids; [`CostModel::SERVER`] is what code for this machine and C
//! without a named processor assume.

/// Costs of a machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CostModel {
    /// A vector load from sixteen packets, in operations on lanes.
    pub vector_load: f64,
    /// The test of lanes against a set, in operations on lanes.
    pub set_test: f64,
    /// A mispredicted branch and the way back, in operations on lanes.
    pub misprediction: f64,
    /// Bytes that stay in the second-level cache while bursts come: of tables up to this size,
    /// lookups are no misses worth a prefetch.
    ///
    /// A switch of 4,096 stations took 29.1 ns a packet without prefetch and 31.2 with it; a
    /// stateful firewall of 56,000 flows, whose tables have some thousand entries each, 31.4
    /// without and 29.1 with it.
    pub near_cache: usize,
    /// Misses that a processor has under way at most; a power of two. With more they wait for each
    /// other (900,000 routes: 44 ns a packet with 128, 24 with 32).
    pub parallel_misses: u32,
    /// Operations that a C compiler is given as one function: its time grows faster than these. A
    /// router of four ports has 12,000 and takes 60 ns a packet, where it took 79 with a function
    /// for each element; one of 16 ports has 44,000, which would take the compiler half as long
    /// again.
    pub function: usize,
    /// A lookup in a table, in operations on numbers: a hash and a miss or two.
    pub lookup: f64,
    /// Other work of the runtime, in operations on numbers.
    pub helper: f64,
}

impl CostModel {
    /// Processors of servers.
    pub const SERVER: Self = Self {
        vector_load: 30.0,
        set_test: 12.0,
        misprediction: 36.0,
        near_cache: 320 << 10,
        parallel_misses: 32,
        function: 16_000,
        lookup: 40.0,
        helper: 12.0,
    };
}
