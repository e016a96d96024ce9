//! The interfaces there are, in the order in which libpcap lists them.
//!
//! Source: `pcap_findalldevs` and `get_figure_of_merit` of libpcap 1.10. Leaves out: what libpcap captures on that is no interface (Bluetooth,
//! D-Bus, netfilter), and whether an interface is wireless.

use nix::{ifaddrs::getifaddrs, net::if_::InterfaceFlags};
use std::io;

/// An interface, or `any`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// It is switched on.
    pub up: bool,
    /// It can carry packets.
    pub running: bool,
    /// It leads back to this machine.
    pub loopback: bool,
}

/// All interfaces of this network namespace that can be captured on, the likely ones first.
///
/// # Errors
/// The system does not tell.
pub fn list() -> io::Result<Vec<Listed>> {
    let mut all: Vec<Listed> = Vec::new();
    for found in getifaddrs()? {
        if all.iter().all(|known| known.name != found.interface_name) {
            all.push(Listed::new(found.interface_name, found.flags));
        }
    }
    all.push(Listed { name: super::ANY.into(), up: true, running: true, loopback: false });
    all.sort_by_key(Listed::demerit);
    Ok(all)
}

/// The name that an interface of this network namespace has now, by its number.
pub fn interface_name(index: u32) -> Option<String> {
    nix::net::if_::if_indextoname(index).ok()?.into_string().ok()
}

impl Listed {
    fn new(name: String, flags: InterfaceFlags) -> Self {
        let has = |flag| flags.contains(flag);
        Self {
            name,
            up: has(InterfaceFlags::IFF_UP),
            running: has(InterfaceFlags::IFF_RUNNING),
            loopback: has(InterfaceFlags::IFF_LOOPBACK),
        }
    }

    /// True for the name that stands for all.
    pub fn is_any(&self) -> bool {
        self.name == super::ANY
    }

    fn demerit(&self) -> (bool, bool, bool, bool) {
        (!self.running, !self.up, self.loopback, self.is_any())
    }
}
