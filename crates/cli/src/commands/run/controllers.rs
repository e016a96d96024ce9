//! What stands for the P4Runtime server in programs that are built without it (the feature
//! `p4runtime`): nobody can be let in.

use netvm::p4::{Sent, Switch};
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// As the server has it.
pub(super) const DEFAULT_ADDRESS: &str = "127.0.0.1:9559";

/// As the server takes them.
pub(super) struct Settings {
    pub(super) address: SocketAddr,
    pub(super) device: u64,
    pub(super) cpu_port: u32,
}

/// There is none.
pub(super) struct Server(Infallible);

impl Server {
    /// Always an error.
    pub(super) fn start<I>(settings: Settings, _: &I) -> io::Result<Self> {
        let Settings { address, device, cpu_port } = settings;
        let message = format!(
            "this netvm is built without the P4Runtime server: device {device} with CPU port {cpu_port} is not served at {address}"
        );
        Err(io::Error::new(io::ErrorKind::Unsupported, message))
    }

    pub(super) fn address(&self) -> SocketAddr {
        match self.0 {}
    }

    pub(super) fn serve(&mut self, _: &mut Switch) -> Vec<Sent> {
        match self.0 {}
    }

    pub(super) fn wait(&mut self, _: &mut Switch, _: Duration) -> Vec<Sent> {
        match self.0 {}
    }

    pub(super) fn take_packet(&mut self, _: u32, _: &[u8]) -> bool {
        match self.0 {}
    }
}
