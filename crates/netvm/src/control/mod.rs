//! Running configurations controlled from outside, over sockets.
//!
//! ```text
//!  client ──line──▶ a thread for each connection ──Request──▶ the loop that runs the graph, between two turns
//!         ◀─line──                               ◀─answer───
//! ```
//!
//! Two protocols: [`protocol`], lines of JSON on a Unix socket that only its owner may use, and
//! [`click`], that of Click's ControlSocket. [`metrics`] tells statistics over HTTP. A client is
//! hostile: lines, requests on their way and connections have limits, and nobody but the loop
//! touches the graph.

pub mod click;
mod door;
mod error;
pub mod metrics;
pub mod protocol;
mod socket;
mod threads;
mod undo;
pub mod why;

pub use door::Door;
pub use socket::{default_folder, sockets};

use crate::application::{
    ChangeError, Cores, Described, Flow, Flows, Graph, HandlerError, Prepared, Recipe, Replaced, Replicas, Stats, Thread, Version,
    is_called, pin, report,
};
use crate::sync::lock;
use std::io::{self, BufRead, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Connections at one time.
const MOST_CONNECTIONS: usize = 16;
/// The longest line of a request, in bytes.
const LONGEST_LINE: u64 = 1 << 24;
/// Requests that wait to be answered.
const WAITING: usize = 64;
/// How long the end of a run waits for clients that do not take their answers.
const LAST: Duration = Duration::from_millis(500);

/// Reads and writes handlers.
pub trait Handlers {
    /// What a handler says, asked that.
    ///
    /// # Errors
    /// There is no such handler, or it refuses.
    fn read(&mut self, handler: &str, text: &str) -> Result<String, HandlerError>;

    /// Writes one.
    ///
    /// # Errors
    /// There is no such handler, or it refuses.
    fn write(&mut self, handler: &str, text: &str) -> Result<(), HandlerError>;

    /// Whether there is one that is read, or written.
    fn has_handler(&self, handler: &str, write: bool) -> bool;
}

impl Handlers for Graph {
    fn read(&mut self, handler: &str, text: &str) -> Result<String, HandlerError> {
        Graph::read(self, handler, text, None)
    }

    fn write(&mut self, handler: &str, text: &str) -> Result<(), HandlerError> {
        Graph::write(self, handler, text, None)
    }

    fn has_handler(&self, handler: &str, write: bool) -> bool {
        Graph::has_handler(self, handler, write)
    }
}

/// What is controlled.
pub trait Controlled {
    /// Who reads and writes handlers.
    fn graph(&mut self) -> &mut dyn Handlers;

    /// Every element's name and class, and its own handlers: whether each can be read and written.
    fn elements(&self) -> Vec<Described>;

    /// What became of the packets so far.
    fn stats(&self) -> Stats;

    /// By element, the stage that it is in; none on one thread.
    fn stages(&self) -> Vec<String> {
        Vec::new()
    }

    /// The last packets, if they are recorded ([`why::packets`]).
    fn recorded(&self) -> Option<Vec<serde_json::Value>> {
        None
    }

    /// Asks for the end of the run.
    fn stop(&mut self);

    /// The threads that packets come to; on one thread, the one that calls.
    fn threads(&self) -> Vec<Thread> {
        vec![threads::only(&self.stats())]
    }

    /// Lets a thread run on one core only, or on any; for how long it did nothing else.
    ///
    /// # Errors
    /// There is no such thread, or no such core for this process.
    fn move_thread(&mut self, name: &str, core: Option<usize>) -> io::Result<Duration> {
        if is_called(threads::ONLY, name) {
            pin(core)
        } else {
            Err(io::Error::other(format!("no thread is called '{name}'; there is {}", threads::ONLY)))
        }
    }

    /// How many replicas there are, and are to be; none where their number cannot change.
    fn replicas(&self) -> Option<Replicas> {
        None
    }

    /// So many replicas are to get packets.
    ///
    /// # Errors
    /// Why the number cannot change, or not to that.
    fn set_replicas(&mut self, replicas: usize) -> Result<Replicas, ChangeError> {
        let _ = replicas;
        Err(ChangeError::fixed("the configuration runs on one thread: netvm run --place rtc:N has replicas"))
    }

    /// The number of replicas follows what packets cost and the load from now on.
    ///
    /// # Errors
    /// Why the number cannot change.
    fn plan_replicas(&mut self) -> Result<(), ChangeError> {
        self.set_replicas(1).map(drop)
    }

    /// Which replica has a packet; none where that cannot change.
    fn flows(&self) -> Option<Flows> {
        None
    }

    /// Lets packets go to replicas by that function, from the next ones on.
    ///
    /// # Errors
    /// Why that cannot change, or not to that.
    fn set_flow(&mut self, flow: Flow) -> Result<Flows, ChangeError> {
        let _ = flow;
        Err(ChangeError::fixed("the configuration runs on one thread: netvm run --place rtc:N has replicas"))
    }

    /// What the number of replicas follows and says at present, if it does.
    fn planned(&self) -> Option<&str> {
        None
    }

    /// What prepares another version of the configuration, on any thread while packets flow, for
    /// [`Self::succeed`]; only what is needed to tell of it, with `plan`.
    ///
    /// # Errors
    /// The configuration of this run cannot be replaced.
    fn preparation(&mut self, version: Version, plan: bool) -> Result<Preparation, ChangeError> {
        let _ = (version, plan);
        Err(ChangeError::fixed("the configuration of this run cannot be replaced"))
    }

    /// What prepares another placement of the configuration that runs, likewise.
    ///
    /// # Errors
    /// The placement of this run cannot change.
    fn rearrangement(&mut self, place: String, plan: bool) -> Result<Preparation, ChangeError> {
        let _ = (place, plan);
        Err(ChangeError::fixed("the configuration runs on one thread: netvm run --place says where it is to run"))
    }

    /// Puts a version in the place of the configuration, or tells what would become of its elements
    /// then.
    ///
    /// # Errors
    /// What is wrong with it; then the run goes on as it was.
    fn succeed(&mut self, prepared: Prepared, plan: bool) -> Result<Replaced, ChangeError> {
        let _ = (prepared, plan);
        Err(ChangeError::fixed("the configuration of this run cannot be replaced"))
    }
}

/// Prepares a version.
pub type Preparation = Box<dyn FnOnce() -> Result<Prepared, ChangeError> + Send>;

/// A graph, and how another version of its configuration is made.
pub struct Replaceable<'g> {
    /// What runs.
    pub graph: &'g mut Graph,
    /// How it was made.
    pub recipe: &'g Recipe,
}

impl Controlled for Replaceable<'_> {
    fn graph(&mut self) -> &mut dyn Handlers {
        self.graph
    }

    fn elements(&self) -> Vec<Described> {
        Graph::elements(self.graph)
    }

    fn stats(&self) -> Stats {
        Graph::stats(self.graph)
    }

    fn stop(&mut self) {
        Controlled::stop(self.graph);
    }

    fn recorded(&self) -> Option<Vec<serde_json::Value>> {
        why::packets(self.graph)
    }

    fn preparation(&mut self, version: Version, plan: bool) -> Result<Preparation, ChangeError> {
        let (recipe, records) = (self.recipe.clone(), self.graph.is_recorded());
        Ok(Box::new(move || recipe.prepare(&version, (records, plan)).map_err(ChangeError::invalid)))
    }

    fn succeed(&mut self, prepared: Prepared, plan: bool) -> Result<Replaced, ChangeError> {
        if plan {
            return Ok(Recipe::planned(self.graph, &prepared));
        }
        self.recipe.succeed(self.graph, prepared).map_err(ChangeError::invalid)
    }
}

impl Controlled for Graph {
    fn graph(&mut self) -> &mut dyn Handlers {
        self
    }

    fn elements(&self) -> Vec<Described> {
        Graph::elements(self)
    }

    fn stats(&self) -> Stats {
        Graph::stats(self)
    }

    fn recorded(&self) -> Option<Vec<serde_json::Value>> {
        why::packets(self)
    }

    fn stop(&mut self) {
        // The handler is there in every run.
        let _ = Graph::write(self, "stop", "", None);
    }
}

impl Controlled for Cores {
    fn graph(&mut self) -> &mut dyn Handlers {
        Cores::graph(self)
    }

    fn recorded(&self) -> Option<Vec<serde_json::Value>> {
        Cores::recorded(self)
    }

    fn elements(&self) -> Vec<Described> {
        Cores::elements(self)
    }

    fn stats(&self) -> Stats {
        Cores::stats(self)
    }

    fn stages(&self) -> Vec<String> {
        self.placement().stage_names()
    }

    fn stop(&mut self) {
        Cores::stop(self);
    }

    fn threads(&self) -> Vec<Thread> {
        Cores::threads(self)
    }

    fn move_thread(&mut self, name: &str, core: Option<usize>) -> io::Result<Duration> {
        Cores::move_thread(self, name, core)
    }

    fn replicas(&self) -> Option<Replicas> {
        Cores::replicas(self)
    }

    fn set_replicas(&mut self, replicas: usize) -> Result<Replicas, ChangeError> {
        Cores::set_replicas(self, replicas)
    }

    fn plan_replicas(&mut self) -> Result<(), ChangeError> {
        Cores::plan(self, Cores::PLAN)
    }

    fn planned(&self) -> Option<&str> {
        Cores::planned(self)
    }

    fn flows(&self) -> Option<Flows> {
        Cores::flows(self)
    }

    fn preparation(&mut self, version: Version, plan: bool) -> Result<Preparation, ChangeError> {
        let renewal = self.renewal()?;
        Ok(Box::new(move || renewal.prepare(&version, plan)))
    }

    fn rearrangement(&mut self, place: String, plan: bool) -> Result<Preparation, ChangeError> {
        let renewal = self.renewal()?;
        Ok(Box::new(move || renewal.prepare_placement(&place, plan)))
    }

    fn succeed(&mut self, prepared: Prepared, plan: bool) -> Result<Replaced, ChangeError> {
        Cores::succeed(self, prepared, plan)
    }

    fn set_flow(&mut self, flow: Flow) -> Result<Flows, ChangeError> {
        Cores::set_flow(self, flow)
    }
}

/// What is told of a run that began then: [`report::json`] with `threads`, for how long each has
/// run on a core, and the `stage` of each element where there are several.
fn statistics(target: &dyn Controlled, begun: Instant) -> serde_json::Value {
    let mut all = report::json(&target.stats(), Vec::new(), begun.elapsed().as_secs_f64());
    let elements = all["elements"].as_array_mut().into_iter().flatten();
    elements.zip(target.stages()).for_each(|(element, stage)| element["stage"] = stage.into());
    all["threads"] = threads::threads(&target.threads());
    all["replicas"] = target.replicas().map_or(serde_json::Value::Null, |now| threads::replicas(now, target.planned()));
    all
}

/// What a client wants done; it gives the answer.
type Request = Box<dyn FnOnce(&mut dyn Controlled) -> String + Send>;

/// A request, and who waits for the answer.
struct Asked {
    request: Request,
    reply: Sender<String>,
}

/// What threads of connections have in common.
#[derive(Clone)]
struct Line {
    /// When the run began.
    begun: Instant,
    requests: SyncSender<Asked>,
    /// A request is on its way.
    pending: Arc<AtomicBool>,
    connections: Arc<AtomicUsize>,
    /// Requests that are on their way, or whose answers are.
    answering: Arc<AtomicUsize>,
    /// Written to, so that who waits for devices looks up.
    waker: Arc<Mutex<UnixStream>>,
}

impl Line {
    /// Lets the loop do something, and writes what came of it. False if the run is over.
    fn answer(&self, to: &mut impl Write, request: impl FnOnce(&mut dyn Controlled) -> String + Send + 'static) -> io::Result<bool> {
        self.answering.fetch_add(1, Ordering::AcqRel);
        let answer = self.ask(request);
        let written = answer.as_ref().map_or(Ok(()), |answer| to.write_all(answer.as_bytes()).and_then(|()| to.flush()));
        self.answering.fetch_sub(1, Ordering::AcqRel);
        written.map(|()| answer.is_some())
    }

    /// What came of a request; none if the run is over.
    fn ask(&self, request: impl FnOnce(&mut dyn Controlled) -> String + Send + 'static) -> Option<String> {
        let (reply, answer) = mpsc::channel();
        self.requests.send(Asked { request: Box::new(request), reply }).ok()?;
        self.pending.store(true, Ordering::Release);
        // A full pipe wakes as well.
        let _ = lock(&self.waker).write(&[1]);
        answer.recv().ok()
    }
}

/// Doors that are open, and the requests that came in by them.
pub struct Server {
    line: Line,
    requests: Receiver<Asked>,
    wakes: UnixStream,
    doors: Vec<Door>,
}

impl Server {
    /// Without doors.
    ///
    /// # Errors
    /// The system has no more descriptors.
    pub fn new() -> io::Result<Self> {
        let (sender, requests) = mpsc::sync_channel(WAITING);
        let (waker, wakes) = UnixStream::pair()?;
        waker.set_nonblocking(true)?;
        wakes.set_nonblocking(true)?;
        let line = Line {
            begun: Instant::now(),
            requests: sender,
            pending: Arc::default(),
            connections: Arc::default(),
            answering: Arc::default(),
            waker: Arc::new(Mutex::new(waker)),
        };
        Ok(Self { line, requests, wakes, doors: Vec::new() })
    }

    /// What becomes readable when a request comes.
    ///
    /// # Errors
    /// The system has no more descriptors.
    pub fn wakes(&self) -> io::Result<UnixStream> {
        self.wakes.try_clone()
    }

    /// True while a request waits: for who sleeps.
    pub fn pending(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.line.pending)
    }

    /// Opens a door, and lets connections come in by it.
    ///
    /// # Errors
    /// The socket cannot be opened.
    pub fn open(&mut self, door: Door) -> io::Result<()> {
        let listener = door.listen()?;
        let line = self.line.clone();
        self.doors.push(door);
        std::thread::Builder::new().name("control".to_owned()).spawn(move || listener.accept(&line))?;
        Ok(())
    }

    /// Tells statistics over HTTP at that address, and at which port if it is 0.
    ///
    /// # Errors
    /// The address cannot be used.
    pub fn open_metrics(&self, address: SocketAddr) -> io::Result<SocketAddr> {
        let listener = TcpListener::bind(address)?;
        let (address, line) = (listener.local_addr()?, self.line.clone());
        std::thread::Builder::new().name("metrics".to_owned()).spawn(move || socket::accept_metrics(&listener, &line))?;
        Ok(address)
    }

    /// Answers the requests that wait.
    #[inline]
    pub fn serve(&mut self, target: &mut dyn Controlled) {
        if self.line.pending.load(Ordering::Relaxed) {
            self.serve_all(target);
        }
    }

    #[cold]
    fn serve_all(&mut self, target: &mut dyn Controlled) {
        self.line.pending.store(false, Ordering::Release);
        let mut bytes = [0; 256];
        while matches!((&self.wakes).read(&mut bytes), Ok(1..)) {}
        for Asked { request, reply } in self.requests.try_iter().take(WAITING) {
            // Who asked may have gone.
            let _ = reply.send(request(target));
        }
    }
}

impl Drop for Server {
    /// Answers that are on their way arrive. Sockets that have a name are gone when the run is
    /// over.
    fn drop(&mut self) {
        // Nobody answers what still waits.
        self.requests = mpsc::sync_channel(0).1;
        let end = Instant::now() + LAST;
        while self.line.answering.load(Ordering::Acquire) > 0 && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.doors.iter().for_each(Door::remove);
    }
}

/// One line of a client, without its end; none at the end, or if it is too long.
fn read_line(from: &mut impl BufRead) -> Option<String> {
    let mut bytes = Vec::new();
    from.take(LONGEST_LINE).read_until(b'\n', &mut bytes).ok()?;
    let line = bytes.strip_suffix(b"\n")?;
    String::from_utf8(line.strip_suffix(b"\r").unwrap_or(line).to_vec()).ok()
}
