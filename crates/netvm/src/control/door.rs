//! Doors: the sockets by which clients come in, and what they may do there.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// Whether handlers may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// They may.
    Whole,
    /// They may only be read.
    ReadOnly,
}

/// A socket, and which protocol is spoken there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Door {
    /// Lines of JSON.
    Json(PathBuf),
    /// Click's protocol on a Unix socket.
    Click(PathBuf, Access),
    /// Click's protocol on a TCP port; on the loopback address only, if so wanted.
    ClickTcp(SocketAddr, Access),
}

impl Door {
    /// Removes its name.
    pub(super) fn remove(&self) {
        if let Self::Json(path) | Self::Click(path, _) = self {
            // Somebody may have removed it already.
            let _ = std::fs::remove_file(path);
        }
    }

    /// Click's protocol on a TCP port, of the loopback address only if `local`.
    pub fn tcp(port: u16, local: bool, access: Access) -> Self {
        let address = if local { Ipv4Addr::LOCALHOST } else { Ipv4Addr::UNSPECIFIED };
        Self::ClickTcp(SocketAddr::from((address, port)), access)
    }
}
