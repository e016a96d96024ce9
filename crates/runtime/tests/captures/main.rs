//! Captures read and written, judged by what made them: builders here, and tcpdump where it is installed.

mod build;
mod damaged;
mod formats;
mod hostile;
mod outputs;
mod places;
mod streams;
mod tcpdump;
