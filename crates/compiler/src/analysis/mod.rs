//! What is found out about a function or a cluster and changes nothing. Passes, [`crate::cluster`],
//! [`crate::vector`] and back ends ask; analyses know none of these.
//!
//! - [`ranges`], [`linear`], [`facts`], [`lengths`]: which numbers values are, as unsigned ranges,
//!   as base + offset, narrowed by branches; how long the packet is
//! - [`effects`], [`versions`]: what a function writes, and which state of a memory an operation
//!   sees
//! - [`liveness`], [`probability`]: which values are still needed, which edge most packets take
//! - [`guards`]: whether each access is guarded by a check, for debug builds
//! - [`keys`]: which bytes of the packet the keys of tables are made of
//! - [`cost`]: what the machine charges for; [`work`]: how much a packet takes of it

pub(crate) mod cost;
pub(crate) mod effects;
pub(crate) mod facts;
pub(crate) mod guards;
pub mod keys;
pub(crate) mod lengths;
pub(crate) mod linear;
pub(crate) mod liveness;
pub(crate) mod probability;
pub(crate) mod ranges;
pub(crate) mod versions;
pub(crate) mod work;
