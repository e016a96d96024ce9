//! What the system says about an interface: its MTU, whether it is up, how many queues it receives
//! by. No privilege is needed.
//!
//! Source: netdevice(7); include/uapi/linux/ethtool.h (`ethtool_channels`).

use super::packet::{control_socket, request};
use std::{ffi::c_int, io, os::fd::AsRawFd};

/// The command that tells the numbers of queues.
const GET_CHANNELS: u32 = 0x3c;

/// The numbers of an interface's queues, as the kernel writes them.
#[repr(C)]
#[derive(Default)]
struct Channels {
    command: u32,
    most: [u32; 4],
    receiving: u32,
    sending: u32,
    other: u32,
    combined: u32,
}

/// The most bytes of a packet behind its link-layer header.
pub(in crate::io) fn mtu(name: &str) -> io::Result<usize> {
    let mut asked = request(name)?;
    control(libc::SIOCGIFMTU as _, &mut asked)?;
    // SAFETY: the call before wrote the MTU; any bytes are a valid number.
    let mtu = unsafe { asked.ifr_ifru.ifru_mtu };
    usize::try_from(mtu).map_err(io::Error::other)
}

/// Whether it is switched on.
pub(in crate::io) fn is_up(name: &str) -> io::Result<bool> {
    let mut asked = request(name)?;
    control(libc::SIOCGIFFLAGS as _, &mut asked)?;
    // SAFETY: the call before wrote the flags; any bytes are a valid value of them.
    let flags = unsafe { asked.ifr_ifru.ifru_flags };
    Ok(c_int::from(flags) & libc::IFF_UP != 0)
}

/// How many queues it receives by; one where its driver does not say.
pub(in crate::io) fn queues(name: &str) -> io::Result<u32> {
    let mut channels = Channels { command: GET_CHANNELS, ..Channels::default() };
    let mut asked = request(name)?;
    asked.ifr_ifru.ifru_data = (&raw mut channels).cast();
    match control(libc::SIOCETHTOOL as _, &mut asked) {
        Ok(()) => Ok((channels.receiving + channels.combined).max(1)),
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(1),
        Err(error) => Err(error),
    }
}

fn control(what: libc::c_ulong, asked: &mut libc::ifreq) -> io::Result<()> {
    let socket = control_socket()?;
    // SAFETY: `asked` is an ifreq whose name ends in a zero byte; what it points to, if anything,
    // is as long as the request says and lives until the call is over.
    let result: c_int = unsafe { libc::ioctl(socket.as_raw_fd(), what as _, std::ptr::from_mut(asked)) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
