//! The server for P4Runtime controllers of a run.

use super::Args;
use super::controllers::{self, Server};
use crate::failure::{self, Failure, Outcome};
use netvm::p4::Switch;
use std::net::SocketAddr;
use std::path::Path;

/// Lets controllers in.
pub(super) fn listen(args: &Args, file: &Path, address: SocketAddr, switch: &Switch) -> Outcome<Server> {
    let cpu_port = args.cpu_port.unwrap_or_else(|| switch.cpu_port());
    if cpu_port > switch.last_port() {
        return Err(Failure::usage(format_args!("--cpu-port: the ports of this program are 0 to {}", switch.last_port())));
    }
    let settings = controllers::Settings { address, device: args.device_id, cpu_port };
    let server = Server::start(settings, &args.p4.p4info(file)?).map_err(|error| Failure::failed(format_args!("{address}: {error}")))?;
    failure::eprint_lossy(&format!("controllers come in at {}", server.address()));
    Ok(server)
}
