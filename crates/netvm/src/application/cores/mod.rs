//! Applications on several cores: sources on one thread, replicas on others, what runs in order on
//! one or several, of which the last is the caller's.
//!
//! ```text
//!             ┌─▶ replica 0 ─┐
//!  sources ───┼─▶ replica 1 ─┼──▶ in order 1 ──▶ in order, in the order of arrival
//!             └─▶ replica n ─┘
//! ```
//!
//! What leaves, in which order, and what the elements behind the replicas keep is what one graph
//! gives ([`placement`] says which elements may be in replicas, [`pipeline`] which may be in a
//! stage before the last one). Each arrow is a bounded channel of batches, an epoch each
//! ([`runtime::graph::ring`]): a stage that is too slow holds up those before it, and nothing is
//! lost.
//!
//! Handlers of elements in replicas are read in all of them: numbers that packets changed are
//! summed. While packets flow, a handler of another stage says what is so there, which may be some
//! epochs ahead.
//!
//! Live devices are received from by the sources and sent to by the rest; an epoch is what has come
//! so far.
//!
//! Where state is replicated, each replica has all packets: [`replay`].
//!
//! Where only the order of each flow is kept, each replica has the whole application: [`flows`].
//!
//! Left out: timers in replicas, but in those of flows; TAP interfaces, which are open once only.

mod agreed;
mod bases;
mod between;
mod by;
mod captures;
mod change;
mod channel;
mod crash;
mod crew;
mod cut;
mod entries;
mod error;
mod flows;
mod handlers;
mod inputs;
mod joined;
mod keyed;
mod keys;
mod lasting;
mod pipeline;
mod placement;
mod places;
mod planner;
mod policy;
mod ports;
mod readers;
mod recut;
mod renew;
mod renew_flows;
mod renewing;
mod replay;
mod report;
mod scheduled;
mod sources;
mod stage;
mod state;
mod threads;
mod timely;
mod together;
mod told;
mod ways;
mod workers;

pub use change::Flows;
pub use crew::Replicas;
pub use error::{ChangeError, PlacementError};
pub use pipeline::{Cuts, MOST_THREADS};
pub use placement::Placement;
pub use policy::{Policies, Policy};
pub use renew::{PlacementFn, ReadPlacementFn, Rearrangement};
pub(crate) use renewing::New;
pub use report::{Item, Sort};
pub use runtime::graph::ring::Flow;
pub use stage::{Order, Stage};
pub(crate) use threads::is_called;
pub use threads::{Thread, pin};

use super::ready::Ready;
use super::{Application, Fault, Graph, Host, Settings, Stream};
use crate::Error;
use crate::control::why::Noted;
use crate::engines::{self, EngineInfo};
use crate::sync::lock;
use change::Change;
use crash::Crashes;
use crew::Crew;
use cut::{Cut, Part, cut};
use handlers::{Directory, Request};
use inputs::{Inputs, Next};
use netil::app;
use planner::Planner;
use runtime::graph::ring::{Batch, Inbox, Remote, Rings};
use std::borrow::Cow;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use threads::{Affinity, Gauge};
use workers::{Base, Workers};

/// Epochs that wait between two stages at most.
const DEPTH: usize = 4;
/// The longest wait without a look at requests and at whether the run is to end.
const NAP: Duration = Duration::from_millis(20);
/// How long the last stage waits for packets before it looks at timers, devices and requests.
const MOMENT: Duration = Duration::from_millis(2);

/// How an application's graphs are made.
#[derive(Clone)]
struct Making {
    engine: &'static EngineInfo,
    engines: engines::Settings,
    settings: Settings,
    /// What programs run as, where that is compiled already.
    ready: Option<Arc<Ready>>,
}

/// What all threads know of the run.
#[derive(Default)]
struct Run {
    stops: AtomicBool,
    /// A source has asked for the end, at its own.
    source_ends: AtomicBool,
    read: AtomicU64,
    total: AtomicU64,
    /// Threads that have failed.
    crashes: Crashes,
}

impl Run {
    fn stop(&self) {
        self.stops.store(true, Ordering::Relaxed);
    }

    fn is_stopped(&self) -> bool {
        self.stops.load(Ordering::Relaxed)
    }
}

/// An application that runs on several cores.
pub struct Cores {
    /// The last stage, or the first replica where each has the whole application.
    rest: Graph,
    mode: Mode,
    directory: Arc<Directory>,
    told: Receiver<(Stream, Vec<u8>)>,
    faults: Receiver<Fault>,
    threads: Vec<JoinHandle<()>>,
    run: Arc<Run>,
    placement: Placement,
    /// What is placed.
    whole: Arc<app::Application>,
    /// It has live devices, and time is the machine's.
    live: bool,
    /// The caller's thread.
    gauge: Arc<Gauge>,
    /// Where that was before the run.
    affinity: Affinity,
    /// By which sources packets come in, where that is known.
    origins: ways::Origins,
    /// What threads had recorded of which the last placement but this one has none any more.
    ended: Vec<(String, Vec<Noted>)>,
    /// What went wrong on the way of what was asked for, for people.
    news: Vec<String>,
    /// Who chooses the number of replicas, if somebody does.
    planner: Option<Planner>,
    /// What that chose, for people.
    plans: Vec<String>,
    /// How another version takes its place, if it may.
    renewal: Option<Arc<renew::Renewal>>,
}

/// What comes to the caller's graph.
enum Mode {
    /// Epochs of the stages before it.
    Total(Epochs),
    /// Packets of its own share.
    Flow(flows::Others),
}

/// What comes from the stages before the last one.
struct Epochs {
    inbox: Arc<Mutex<Inbox>>,
    inputs: Inputs,
    begun: bool,
    /// How many have come.
    taken: u64,
    /// Who makes more replicas, where there are any.
    crew: Option<Box<Crew>>,
    /// What the sources are told.
    change: Arc<Change>,
}

impl Application {
    /// Makes all elements, on a thread each stage and replica, ready to run.
    ///
    /// # Errors
    /// Elements that cannot be made, drawn where they are declared; the system gives no thread.
    pub fn start_on(
        &self,
        placement: Placement,
        replicas: usize,
        engine: &'static EngineInfo,
        engines: engines::Settings,
        settings: Settings,
        host: Box<dyn Host>,
    ) -> Result<Cores, Error> {
        let settings = self.own_settings(settings);
        let live = !settings.live.is_empty();
        let making = Making { engine, engines, settings, ready: None };
        if placement.order == Order::Flow {
            return self.start_flows(placement, replicas.max(1), making, host);
        }
        let (Cut { before, rest }, state) = (cut(&self.application, &placement), placement.flow_state(&self.application));
        let (told, hears) = mpsc::channel();
        let (fails, faults) = mpsc::channel();
        let run = Arc::new(Run::default());
        let affinity = Affinity::of_caller();
        let base = Base { making: making.clone(), run: Arc::clone(&run), told, fails, relief: Arc::default(), affinity };
        let mut workers = Workers::new(base);
        let (inputs, crew, change) = workers.begin(before, (&placement, state), replicas)?;
        let (threads, directory) = workers.wait(&self.application, &placement).map_err(|faults| self.drawn(faults))?;
        let rings = Rings::default();
        let inbox = Arc::clone(&rings.inbox);
        let mut making = making;
        let gauge = Arc::new(Gauge::new(stage::IN_ORDER, Stage::Rest));
        making.settings.home = scheduled::home(&gauge, false);
        let mut rest = finish_graph(&rest, making, rings, Some(Remote(Arc::clone(&directory) as Arc<_>)), host)
            .map_err(|error| self.not_made(error))?;
        rest.open();
        inputs.levels().for_each(|level| gauge.waits(level));
        let origins = ways::origins(&self.application, &placement);
        let mode = Mode::Total(Epochs { inbox, inputs, begun: false, taken: 0, crew: crew.map(Box::new), change });
        Ok(Cores {
            rest,
            mode,
            directory,
            told: hears,
            faults,
            threads,
            run,
            placement,
            whole: Arc::new(self.application.clone()),
            live,
            gauge,
            affinity,
            origins,
            ended: Vec::new(),
            news: Vec::new(),
            planner: None,
            plans: Vec::new(),
            renewal: None,
        })
    }
}

/// Why a graph cannot be made.
enum NotMade {
    Faults(Vec<Fault>),
    Other(Error),
}

/// The graph of a stage, its elements linked as the engine does that.
fn finish_graph(part: &Part, making: Making, rings: Rings, elsewhere: Option<Remote>, host: Box<dyn Host>) -> Result<Graph, NotMade> {
    let Making { engine, engines, settings, ready } = making;
    let settings = Settings { rings: Some(rings), elsewhere, ..settings };
    let made = match &ready {
        Some(ready) => ready.with_factories(|factories| Graph::new(&part.application, factories, settings, host)),
        None => super::make(&part.application, engine, engines, settings, host),
    };
    let mut graph = made.map_err(NotMade::Faults)?;
    // Queues that packets leave at once are of no use to bursts: what is behind them is.
    let passed = matches!(super::linked::cut_through(&part.application), Cow::Owned(_));
    let gathered = !passed && part.from.is_some_and(|from| part.to.is_empty() && graph.gather(&part.application, from));
    match &ready {
        Some(ready) if !gathered => ready.link(&part.application, &mut graph),
        None if !gathered => super::link(&part.application, &mut graph, engine, engines).map_err(NotMade::Other)?,
        _ => {}
    }
    Ok(graph)
}

impl Cores {
    /// Lets elements begin their work that need others to be there.
    pub fn start(&mut self) {
        self.gauge.begin();
        self.rest.start();
        self.directory.send_all(|| Request::Go);
    }

    /// Runs an epoch, or a turn of the first replica. False when the run has ended.
    pub fn turn(&mut self) -> bool {
        if self.has_crashed() {
            return false;
        }
        self.print_told();
        self.make_plans();
        let Self { rest, mode, directory, run, live, threads, gauge, news, .. } = self;
        if let Mode::Total(Epochs { crew: Some(crew), .. }) = mode {
            news.extend(crew.work(directory, threads).err().map(|why| why.to_string()));
        }
        match mode {
            Mode::Total(_) if rest.has_ended() => {
                run.stop();
                false
            }
            Mode::Total(epochs) => epochs.turn(rest, run, *live, gauge),
            // A thread that has failed holds up those that wait for it to go on.
            Mode::Flow(_) if threads.iter().any(JoinHandle::is_finished) => false,
            Mode::Flow(others) => others.turn(rest, directory, run),
        }
    }
}

impl Epochs {
    fn turn(&mut self, rest: &mut Graph, run: &Run, live: bool, gauge: &Gauge) -> bool {
        match self.inputs.receive(MOMENT) {
            Next::Epoch(batches) => {
                gauge.count(batches.iter().map(Batch::packets).sum());
                self.taken += 1;
                run_epoch(rest, &self.inbox, batches, &mut self.begun);
            }
            Next::Nothing if live => {
                rest.flush_captures();
                rest.run_up_to(now());
            }
            Next::Nothing => {}
            Next::End => {
                self.inputs.close();
                if run.source_ends.swap(false, Ordering::AcqRel) {
                    // No timer runs behind that.
                    let _ = rest.write("stop", "", None);
                }
                rest.close();
                // A run on live devices would go on with timers for ever.
                return !live && rest.turn();
            }
        }
        true
    }
}

impl Cores {
    /// Asks for the end: what has arrived still goes on.
    pub fn stop(&mut self) {
        self.run.stop();
        self.directory.wake_all();
        if matches!(self.mode, Mode::Flow(_)) {
            // The first replica is the caller's graph.
            let _ = self.rest.write("stop", "", None);
        }
    }

    /// All threads are to end: none waits for devices, or to hand over an epoch.
    fn end_threads(&mut self) {
        self.run.stop();
        self.directory.wake_all();
        if let Mode::Total(epochs) = &mut self.mode {
            epochs.inputs.close();
            epochs.crew.iter_mut().for_each(|crew| crew.end());
        }
    }

    /// Whether a thread of the run has failed, by a fault of netvm's: then the run is over, and
    /// packets are missing.
    pub fn has_crashed(&self) -> bool {
        self.run.crashes.are_there()
    }

    /// True once the run has ended.
    pub fn has_ended(&self) -> bool {
        self.rest.has_ended()
    }

    /// Bytes of captures read, and how many there are if that is known of all.
    pub fn progress(&mut self) -> (u64, Option<u64>) {
        if let Mode::Flow(_) = self.mode {
            return self.rest.progress();
        }
        let total = self.run.total.load(Ordering::Relaxed);
        (self.run.read.load(Ordering::Relaxed), (total > 0).then_some(total))
    }

    /// Completes what elements write. Where a thread has failed, captures that are made from
    /// captures are not: packets are missing there.
    ///
    /// # Errors
    /// What could not be written, by element.
    pub fn finish(&mut self) -> Vec<Fault> {
        self.end_threads();
        let mut faults: Vec<Fault> = self.run.crashes.all().iter().map(|it| workers::failed(&it.thread, &it.why)).collect();
        // A thread ends before it is told to only if it has failed, and then packets are missing.
        let ended = self.threads.iter().filter(|thread| thread.is_finished() && faults.is_empty());
        let names: Vec<String> = ended.map(|thread| thread.thread().name().unwrap_or_default().to_owned()).collect();
        faults.extend(names.iter().map(|name| workers::failed(name, "it has ended")));
        if faults.is_empty() || self.live {
            let gone = self.directory.finish();
            // Of those that had failed before it is known why.
            let new = gone.iter().filter(|_| faults.is_empty()).map(|name| workers::failed(name, "it did not complete what it writes"));
            faults.extend(new.collect::<Vec<Fault>>());
            faults.extend(self.rest.finish());
        }
        self.print_told();
        faults.extend(self.faults.try_iter());
        faults
    }

    fn print_told(&mut self) {
        for (stream, text) in self.told.try_iter() {
            self.rest.print(stream, &String::from_utf8_lossy(&text));
        }
    }

    /// The graph of the last stage; it reads and writes the handlers of all.
    pub fn graph(&mut self) -> &mut Graph {
        &mut self.rest
    }

    /// The threads of the run, in the order in which packets come to them.
    pub fn threads(&self) -> Vec<Thread> {
        let active = self.replicas().map_or(usize::MAX, |replicas| replicas.active);
        let (mut others, mut own) = (self.directory.threads(active), self.gauge.thread(true));
        if let Mode::Total(_) = self.mode {
            return others.into_iter().chain([own]).collect();
        }
        own.packets = self.rest.stats().arrivals;
        others.iter_mut().zip(self.directory.stats()).for_each(|(thread, its)| thread.packets = its.stats.arrivals);
        [own].into_iter().chain(others).collect()
    }

    /// Lets a thread run on one core only, or on any, from its next batch on; for how long it did
    /// nothing else. Packets that come to it meanwhile wait.
    ///
    /// # Errors
    /// There is no such thread, or no such core for this process.
    pub fn move_thread(&mut self, name: &str, core: Option<usize>) -> io::Result<Duration> {
        if is_called(self.gauge.name(), name) {
            return self.gauge.move_to(core);
        }
        self.directory.move_to(name, core).unwrap_or_else(|| {
            let names: Vec<String> = self.threads().into_iter().map(|thread| thread.name).collect();
            Err(io::Error::other(format!("no thread is called '{name}'; there are {}", names.join(", "))))
        })
    }

    /// Gives threads cores, in their order; the first ones again where there are more threads.
    ///
    /// # Errors
    /// There is no such core for this process.
    pub fn pin(&mut self, cores: &[usize]) -> io::Result<()> {
        let names: Vec<String> = self.threads().into_iter().map(|thread| thread.name).collect();
        names.iter().zip(cores.iter().cycle()).try_for_each(|(name, core)| self.move_thread(name, Some(*core)).map(|_| ()))
    }

    /// Whether requests had better wait: for each answer of the sources they go on reading for a
    /// turn, and more waits for replicas than does else.
    pub fn is_behind(&self) -> bool {
        matches!(self.mode, Mode::Total(_)) && self.directory.is_behind()
    }

    /// How many replicas there are, and are to be; none where there are no replicas of a stage.
    pub fn replicas(&self) -> Option<Replicas> {
        match &self.mode {
            Mode::Total(Epochs { crew, .. }) => crew.as_deref().map(Crew::replicas),
            Mode::Flow(_) => None,
        }
    }

    /// So many replicas are to get packets: from the next epoch on, and new ones when they are
    /// made, which takes a moment in which packets flow. From then on their number follows nothing
    /// else ([`Cores::plan`]).
    ///
    /// # Errors
    /// Why the number cannot change, or not to that.
    pub fn set_replicas(&mut self, replicas: usize) -> Result<Replicas, ChangeError> {
        let Mode::Total(Epochs { crew: Some(crew), .. }) = &mut self.mode else {
            return Err(ChangeError::fixed(
                "replicas can be neither added nor removed: each has the whole configuration, or nothing is for replicas",
            ));
        };
        crew.want(replicas, &self.directory)?;
        self.planner = None;
        Ok(crew.replicas())
    }

    /// What went wrong with replicas that were to come since this was asked last.
    pub fn take_news(&mut self) -> Vec<String> {
        std::mem::take(&mut self.news)
    }

    /// Which stage each element is in.
    pub fn placement(&self) -> &Placement {
        &self.placement
    }
}

impl Drop for Cores {
    fn drop(&mut self) {
        self.end_threads();
        self.directory.close();
        for thread in self.threads.drain(..) {
            // A thread that panicked has nothing to say here.
            let _ = thread.join();
        }
        // The caller's thread is not the run's any more.
        if self.gauge.is_moved() {
            self.affinity.set();
        }
    }
}

/// Lets a graph run the batches of an epoch, which it then gives back. `begun`: time has begun
/// before.
fn run_epoch(graph: &mut Graph, inbox: &Mutex<Inbox>, batches: Vec<Batch>, begun: &mut bool) -> Vec<Batch> {
    let span = batches.iter().find_map(Batch::span);
    graph.go_on_recording(batches.iter().any(Batch::is_recorded));
    lock(inbox).fill(batches);
    if let Some((first, last)) = span {
        if !std::mem::replace(begun, true) {
            graph.begin_at(first);
        }
        graph.run_up_to(last);
        // The last arrival may have been another replica's: what its time ends has ended here, too.
        graph.reach(last);
    }
    lock(inbox).drain()
}

/// The streams of a stage that runs on its own thread.
struct Teller {
    told: Sender<(Stream, Vec<u8>)>,
    /// Time is the machine's.
    live: bool,
}

impl Host for Teller {
    fn write(&mut self, stream: Stream, text: &[u8]) {
        // Who would print it may be gone.
        let _ = self.told.send((stream, text.to_vec()));
    }

    fn clock(&self) -> Option<u64> {
        self.live.then(now)
    }
}

/// Nanoseconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| u64::try_from(now.as_nanos()).unwrap_or(u64::MAX))
}

/// An application's elements that are in a stage.
fn present(placement: &Placement, stage: Stage, application: &app::Application) -> Vec<String> {
    placement.of(stage).map(|at| application.instances[at].name.clone()).collect()
}
