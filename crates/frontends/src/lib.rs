//! Front ends: source languages → [`netil`].
//!
//! Each language is one directory that ends in a [`netil::Module`]; nothing here knows what becomes
//! of it. A front end gives errors as lists with places in the source, which it can draw.
//!
//! ```
//! use netvm_frontends::pcap_filter::{self, LinkType, Options};
//!
//! let module = pcap_filter::compile("tcp port 80 or 443", LinkType::ETHERNET, &Options::default()).unwrap();
//! assert!(netil::verify(module).unwrap().is_filter());
//!
//! let errors = pcap_filter::compile("prot 80", LinkType::ETHERNET, &Options::default()).unwrap_err();
//! assert!(errors.render("prot 80", false).contains("did you mean `port 80`?"));
//! ```
#![forbid(unsafe_code)]

pub mod c;
pub mod click;
pub mod diagnostics;
pub mod pcap_filter;

#[cfg(test)]
#[path = "../../../tests/needs.rs"]
mod needs;
