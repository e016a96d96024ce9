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
