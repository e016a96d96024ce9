//! Captures read and written, judged by what made them: builders here, and tcpdump where it is
//! installed.

mod build;
mod damaged;
mod formats;
mod hostile;
#[path = "../../../../tests/needs.rs"]
mod needs;
mod outputs;
mod places;
mod streams;
mod tcpdump;
