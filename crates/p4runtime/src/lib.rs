//! A P4Runtime 1.4 server for a [`netvm::p4::Switch`] that runs in another thread.
//!
//! ```text
//!  client ──gRPC──▶ a thread with tonic ──Job──▶ the loop that runs packets, between two bursts ([`Server::serve`])
//!         ◀────────                     ◀─answer──
//! ```
//!
//! - [`Server`]: the door, and what the loop calls
//! - `device`: what was written, by the protocol's numbers; `entries` and the files beside it put
//!   it into the switch
//! - [`text`]: entries as protobuf text
//! - `streams`: arbitration between controllers, and what is sent to them
//!
//! A client is hostile: messages, jobs on their way, streams and what waits in them have limits,
//! and nobody but the loop touches the switch.
//!
//! Source: P4Runtime specification 1.4. Leaves out: externs of a program's own and counters of
//! meters by colour, which answer UNIMPLEMENTED, and roles' configurations, whose meaning the
//! standard leaves to those who use them: none is agreed upon, so that one is an argument that is
//! wrong.
#![forbid(unsafe_code)]

mod canonical;
mod device;
mod digests;
mod entries;
mod fault;
mod groups;
mod idle;
mod indirect;
mod info;
mod initial;
mod matches;
mod others;
mod own_group;
mod packets;
pub mod proto;
mod read;
mod registers;
mod resources;
mod service;
mod streams;
pub mod text;
mod unacknowledged;
mod write;

use device::Device;
use netvm::p4::{P4Info, Sent, Switch};
use proto::p4::v1::p4_runtime_server::P4RuntimeServer;
use service::Service;
use std::io;
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use streams::Streams;
use tokio_stream::wrappers::TcpListenerStream;

/// The port that the protocol has.
pub const PORT: u16 = 9559;
/// Where a server listens that is not told where: for this machine only.
pub const DEFAULT_ADDRESS: &str = "127.0.0.1:9559";
/// The longest message, in bytes.
const LONGEST: usize = 16 << 20;
/// Jobs that wait for the loop.
const WAITING: usize = 64;

/// What the loop does for a client.
type Job = Box<dyn FnOnce(&mut Device, &mut Switch) + Send>;

/// How a server is set up.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Where clients come in.
    pub address: SocketAddr,
    /// The number of the device.
    pub device: u64,
    /// The port of the switch at which the controller is.
    pub cpu_port: u32,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A server that listens.
pub struct Server {
    address: SocketAddr,
    device: Device,
    jobs: Receiver<Job>,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Server {
    /// Listens for clients of a program with that P4Info.
    ///
    /// # Errors
    /// The address is taken, or the system has no more threads.
    pub fn start(settings: Settings, info: &P4Info) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind(settings.address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let (sender, jobs) = sync_channel(WAITING);
        let streams = Arc::new(Mutex::new(Streams::of(settings.device)));
        let info = info::Info::new(&info.to_wire()).map_err(io::Error::other)?;
        let device = Device::new(info, Arc::clone(&streams), settings);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let service = Service { jobs: sender, streams, device: settings.device };
        let serve = move || runtime.block_on(run(listener, service, stopped));
        let thread = std::thread::Builder::new().name("p4runtime".to_owned()).spawn(serve)?;
        Ok(Self { address, device, jobs, stop: Some(stop), thread: Some(thread) })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Does what clients asked for; packets that left the switch for what they sent.
    pub fn serve(&mut self, switch: &mut Switch) -> Vec<Sent> {
        self.device.begin(switch);
        for job in self.jobs.try_iter().take(WAITING) {
            self.device.run(switch, job);
        }
        self.device.tell_digests(switch);
        self.device.tell_idle(switch);
        std::mem::take(&mut self.device.sent)
    }

    /// Does what clients asked for, after waiting so long for one at most; packets that left the
    /// switch for what they sent.
    pub fn wait(&mut self, switch: &mut Switch, time: Duration) -> Vec<Sent> {
        self.device.begin(switch);
        match self.jobs.recv_timeout(time) {
            Ok(job) => self.device.run(switch, job),
            Err(RecvTimeoutError::Timeout) => {}
            // Nobody will ask any more.
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(time),
        }
        self.serve(switch)
    }

    /// Gives a packet that left by the controller's port to the controllers; false for others.
    pub fn take_packet(&mut self, port: u32, bytes: &[u8]) -> bool {
        let is_theirs = port == self.device.settings.cpu_port;
        if is_theirs {
            self.device.packet_in(bytes);
        }
        is_theirs
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Nobody does what still waits: those who asked are told so.
        self.jobs = sync_channel(0).1;
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A thread that failed has told why.
            let _ = thread.join();
        }
    }
}

async fn run(listener: std::net::TcpListener, service: Service, stopped: tokio::sync::oneshot::Receiver<()>) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    let service = P4RuntimeServer::new(service).max_decoding_message_size(LONGEST).max_encoding_message_size(LONGEST);
    let server = tonic::transport::Server::builder().concurrency_limit_per_connection(32);
    tokio::select! {
        // The end of a server that cannot listen any longer is that of its clients only.
        _ = server.serve_with_incoming(service, TcpListenerStream::new(listener)) => {}
        _ = stopped => {}
    }
}

/// Hands a job to the loop.
fn send(jobs: &SyncSender<Job>, job: Job) -> Result<(), tonic::Status> {
    use std::sync::mpsc::TrySendError;
    jobs.try_send(job).map_err(|error| match error {
        TrySendError::Full(_) => tonic::Status::resource_exhausted("too many requests wait"),
        TrySendError::Disconnected(_) => tonic::Status::unavailable("the run is over"),
    })
}
