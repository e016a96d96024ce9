//! Front ends: source languages → [`netil`].
#![forbid(unsafe_code)]

pub mod pcap_filter;
