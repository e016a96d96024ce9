//! What can go wrong with an interface.

use super::block::Malformed;
use std::{fmt, io};

/// Why an interface cannot be captured on, or not any more.
#[derive(Debug)]
pub enum LiveError {
    /// `any`: sending on all interfaces.
    Any,
    /// There is no interface of that name.
    NoInterface,
    /// The interface is down.
    Down,
    /// The interface went away.
    Gone,
    /// The process may not capture.
    NoPrivilege,
    /// The process may not make interfaces.
    NoAdmin,
    /// The process may not put a program at an interface, or open AF_XDP sockets.
    NoXdp,
    /// The process may not lock the memory that it shares with the kernel.
    NoMemory,
    /// There is a program at the interface, or another socket at the queue.
    InUse,
    /// The interface does not receive by so many queues; how many there are.
    NoQueue(u32),
    /// A kind of device cannot do what is asked.
    Cannot(&'static str, &'static str),
    /// A link type that the interface does not have.
    LinkType(super::LinkType),
    /// An interface whose packets are of an unsupported kind: its ARPHRD_ number.
    Hardware(u16),
    /// The system says something else.
    Io(io::Error),
}

impl From<io::Error> for LiveError {
    fn from(error: io::Error) -> Self {
        match error.raw_os_error() {
            Some(libc::ENODEV | libc::ENXIO) => Self::NoInterface,
            Some(libc::ENETDOWN) => Self::Down,
            Some(libc::EPERM | libc::EACCES) => Self::NoPrivilege,
            _ => Self::Io(error),
        }
    }
}

impl std::error::Error for LiveError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl fmt::Display for LiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("packets of several interfaces have no common link-layer header; name one interface"),
            Self::LinkType(link) => write!(f, "the interface has no packets of type {link}; `netvm filter -L -i IF` lists those there are"),
            Self::NoInterface => f.write_str("there is no such interface; `netvm filter -D` lists those there are"),
            Self::Down => f.write_str("the interface is down; `ip link set NAME up` changes that"),
            Self::Gone => f.write_str("the interface is gone"),
            Self::NoPrivilege => f.write_str("capturing needs CAP_NET_RAW: run as root or `setcap cap_net_raw+ep $(command -v netvm)`"),
            Self::NoAdmin => f.write_str(
                "making an interface needs CAP_NET_ADMIN: run as root or `setcap cap_net_admin,cap_net_raw+ep $(command -v netvm)`",
            ),
            Self::NoXdp => f.write_str(
                "AF_XDP needs CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF: run as root or `setcap cap_net_raw,cap_net_admin,cap_bpf,cap_ipc_lock+ep $(command -v netvm)`",
            ),
            Self::NoMemory => f.write_str("memory for its frames cannot be locked: `ulimit -l unlimited`, or CAP_IPC_LOCK, lets it"),
            Self::InUse => f.write_str("the interface has an XDP program already: `ip link set dev IF xdp off` takes it away, or its process has to end"),
            Self::NoQueue(count) => write!(f, "the interface has no such queue; it has {count}, from 0"),
            Self::Cannot(kind, what) => write!(f, "{kind} cannot {what}; dev:IF can"),
            Self::Hardware(kind) => write!(f, "packets of this kind of interface (ARPHRD {kind}) are not supported"),
            Self::Io(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for Malformed {}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the kernel's ring makes no sense")
    }
}
