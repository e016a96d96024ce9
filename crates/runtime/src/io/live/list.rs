//! The interfaces there are, in the order in which libpcap lists them.
//!
//! Source: `pcap_findalldevs` and `get_figure_of_merit` of libpcap 1.10. Leaves out: what libpcap
//! captures on that is no interface (Bluetooth, D-Bus, netfilter), and whether an interface is
//! wireless.

use nix::{
    ifaddrs::getifaddrs,
    net::if_::InterfaceFlags,
    sys::socket::{LinkAddr, SockaddrStorage},
};
use std::{io, net::IpAddr};

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

/// An address that an interface has: an Ethernet address, or an IP address with the bits of its
/// network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// The interface's name.
    pub interface: String,
    /// Its Ethernet address.
    pub ethernet: Option<[u8; 6]>,
    /// An IP address, and how many of its bits are the network's.
    pub ip: Option<(IpAddr, u8)>,
}

/// The addresses of all interfaces of this network namespace, in the system's order. Link-local
/// addresses of IPv6 are left out: they need the interface to mean something.
///
/// # Errors
/// The system does not tell.
pub fn addresses() -> io::Result<Vec<Address>> {
    let ip = |address: &SockaddrStorage| {
        let v4 = address.as_sockaddr_in().map(|v4| IpAddr::from(v4.ip()));
        v4.or_else(|| address.as_sockaddr_in6().map(|v6| v6.ip().into()))
    };
    let bits = |mask: IpAddr| match mask {
        IpAddr::V4(mask) => u32::from(mask).leading_ones() as u8,
        IpAddr::V6(mask) => u128::from(mask).leading_ones() as u8,
    };
    let mut all = Vec::new();
    for found in getifaddrs()? {
        let Some(address) = found.address else { continue };
        let ethernet = address.as_link_addr().filter(|link| link.halen() == 6).and_then(LinkAddr::addr);
        let mask = found.netmask.as_ref().and_then(ip);
        let ip = ip(&address).zip(mask).map(|(ip, mask)| (ip, bits(mask)));
        let ip = ip.filter(|(ip, _)| !matches!(ip, IpAddr::V6(v6) if v6.is_unicast_link_local()));
        if ethernet.is_some() || ip.is_some() {
            all.push(Address { interface: found.interface_name, ethernet, ip });
        }
    }
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
