//! The source languages there are.

pub use ::frontends::{click, pcap_filter};

/// A source language.
pub struct FrontEnd {
    /// Its name.
    pub name: &'static str,
    /// What it is, in one line.
    pub description: &'static str,
    /// The usual ends of file names, without the dot; none if it has no files.
    pub extensions: &'static [&'static str],
}

/// All of them.
pub const ALL: &[FrontEnd] = &[
    FrontEnd { name: "netil", description: "NetIL assembly, and its binary form", extensions: &["netil", "nvm"] },
    FrontEnd { name: "click", description: "Click's configurations: graphs of elements", extensions: &["click"] },
    FrontEnd { name: "pcap-filter", description: "the filter expressions of tcpdump and libpcap", extensions: &[] },
];
