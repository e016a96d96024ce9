//! TAP interfaces: frames that a program reads are those that the system sends there, and the other
//! way round.
//!
//! Source: Documentation/networking/tuntap.rst of the Linux kernel.

use super::packet::{control_socket, request};
use rustix::fs::{Mode, OFlags, open};
use std::{
    ffi::c_int,
    io,
    os::fd::{AsRawFd, OwnedFd},
};

/// Opens the TAP interface of that name, which is made if there is none, and brings it up. Reads
/// and writes do not wait.
///
/// Errors: the process lacks CAP_NET_ADMIN, the name is too long, or it is another kind of
/// interface.
pub(in crate::io) fn tap(name: &str) -> io::Result<OwnedFd> {
    let file = open("/dev/net/tun", OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?;
    let mut ask = request(name)?;
    ask.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI) as _;
    control(&file, libc::TUNSETIFF as _, &mut ask)?;
    up(name)?;
    Ok(file)
}

/// Brings an interface up.
fn up(name: &str) -> io::Result<()> {
    let (socket, mut ask) = (control_socket()?, request(name)?);
    control(&socket, libc::SIOCGIFFLAGS as _, &mut ask)?;
    // SAFETY: the call before wrote the flags; any bytes are a valid value of them.
    let flags = unsafe { ask.ifr_ifru.ifru_flags };
    ask.ifr_ifru.ifru_flags = flags | libc::IFF_UP as i16;
    control(&socket, libc::SIOCSIFFLAGS as _, &mut ask)
}

fn control(fd: &OwnedFd, what: libc::c_ulong, ask: &mut libc::ifreq) -> io::Result<()> {
    // SAFETY: `ask` is an ifreq whose name ends in a zero byte, which these requests read and may
    // write.
    let result: c_int = unsafe { libc::ioctl(fd.as_raw_fd(), what as _, std::ptr::from_mut(ask)) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
