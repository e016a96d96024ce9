//! Captures in and out: what stands between packets and files, pipes and standard streams.
//!
//! ```text
//!  file ──read──┐                                 ┌─ pcap ──┐
//!  pipe ──poll──┼─▶ magic ─▶ gunzip/unzstd ▶ walk │         ├─▶ Burst ─▶ (filter) ─▶ Writer ─▶ compress ─▶ file, pipe
//!  ring ────────┤
//!  bytes ───────┘                                 └─ pcapng ┘
//! ```
//!
//! - [`capture`]: [`Capture`] reads, [`Burst`] is what it hands on: packets that are borrowed,
//!   never copied.
//! - [`live`]: an interface's packets as a [`Capture`]; [`device`]: interfaces that programs
//!   receive from and send to.
//! - [`mod@write`]: [`Writer`] writes; a file is complete or absent.
//! - `claims`: no file is written that is an input, or another output.
//! - `bpf`: programs in the kernel, at interfaces.
//! - `flow`: which of several replicas has a frame.
//! - [`link`], [`time`]: link types and timestamps.
//! - [`between`]: the same between two networks, for routers and their like.
//! - [`stats`]: what traffic consists of.
//! - [`synth`]: a seeded maker of realistic traffic for the demo, tests and benchmarks.

pub mod between;
#[cfg(target_os = "linux")]
pub mod bpf;
pub mod capture;
pub(crate) mod claims;
pub mod device;
pub(crate) mod flow;
pub mod link;
pub mod live;
pub mod stats;
pub mod synth;
pub(crate) mod sys;
pub mod time;
pub mod write;

pub use capture::{Burst, Capture, Damage, Format, Info, Progress, ReadError, Reading, Record};
pub use flow::sum as flow_number;
pub use link::LinkType;
pub use time::{Precision, Resolution, Timestamp};
pub use write::{Compression, WriteError, WriteOptions, Writer};
