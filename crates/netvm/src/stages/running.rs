//! A pipeline that runs: its threads and rings, and what others ask of it.

use super::outlets::{Lane, Outlet};
use super::thread::{Ending, Own, Request, Run};
use super::worker::{Begin, Seen, run_input, run_replica};
use super::{Burst, Injector, Outlets, Packet, Pipeline, ROOM, Registered, RegisteredInput, StageError, Target, injector};
use crate::application::HandlerError;
use rings::{Bell, Consumer, Inputs, ring};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// How long inputs may take until they come to an end of their turn, and packets until they are
/// through.
const PATIENCE: Duration = Duration::from_secs(10);

/// What there is to say of a thread of a pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts {
    /// The stage or input.
    pub stage: String,
    /// Which replica.
    pub replica: usize,
    /// Whether it is an input.
    pub is_input: bool,
    /// Whether packets go to it at present.
    pub is_active: bool,
    /// The core that it was moved to, if it was.
    pub core: Option<usize>,
    /// Packets that came to it.
    pub packets: u64,
    /// The bursts that they came in.
    pub bursts: u64,
    /// Packets that it sent, as far as they have gone on.
    pub sent: u64,
    /// Packets that it sent to a stage that had failed.
    pub lost: u64,
    /// Bursts that wait for it.
    pub waiting: usize,
}

/// A thread.
struct Thread {
    stage: String,
    replica: usize,
    /// None of an input.
    target: Option<Arc<Target>>,
    seen: Seen,
    handle: Option<JoinHandle<()>>,
}

/// A pipeline that runs. It ends when all inputs have, or when this is dropped.
pub struct Running {
    run: Arc<Run>,
    /// In the order in which packets go through.
    threads: Vec<Thread>,
    /// Inputs that threads of the program around it run.
    sources: Vec<ExternalInput>,
}

/// An input that a thread of the program around it runs.
struct ExternalInput {
    name: String,
    source: Arc<injector::SharedInput>,
    /// Somebody has what it sends by.
    taken: bool,
}

/// The ends of rings that lead to a replica.
type Ends = Vec<(Consumer<Burst>, Arc<Bell>)>;

/// What is made before there are threads.
struct PipelineWiring {
    run: Arc<Run>,
    /// Of each stage, of each replica.
    ends: Vec<Vec<Ends>>,
    owns: Vec<Vec<Arc<Own>>>,
    targets: Vec<Arc<Target>>,
}

impl PipelineWiring {
    fn new(stages: &[Registered]) -> Self {
        let run = Arc::new(Run::default());
        let targets: Vec<_> = stages.iter().map(|stage| Arc::clone(&stage.target)).collect();
        let owns = targets.iter().map(|target| (0..target.most).map(|_| Arc::new(Own::new(&run))).collect()).collect();
        let ends = targets.iter().map(|target| (0..target.most).map(|_| Ends::new()).collect()).collect();
        Self { run, ends, owns, targets }
    }

    /// A ring to each replica of each of those stages.
    fn outlets(&mut self, to: &[usize], own: &Arc<Own>) -> Outlets {
        let outlet = |&stage: &usize| {
            let lanes = self.ends[stage].iter_mut().zip(&self.owns[stage]).map(|(ends, its)| {
                let (producer, consumer) = ring(ROOM);
                ends.push((consumer, Arc::clone(&own.bell)));
                Lane { pending: Burst::default(), ring: producer, bell: Arc::clone(&its.bell), untold: false }
            });
            let target = Arc::clone(&self.targets[stage]);
            Outlet { flow: target.flow.own(), target, lanes: lanes.collect() }
        };
        Outlets::new(to.iter().map(outlet).collect(), Arc::clone(own))
    }
}

/// Begins threads.
struct Starter {
    threads: Vec<Thread>,
    ready: Vec<Receiver<Result<(), StageError>>>,
    go: Vec<Sender<()>>,
}

impl Starter {
    /// Begins a thread, before those that packets go to from there are all begun or not: none goes
    /// on before [`Self::finish`].
    fn spawn(
        &mut self,
        (stage, replica): (&str, usize),
        target: Option<Arc<Target>>,
        seen: Seen,
        work: impl FnOnce(&Own, Begin) + Send + 'static,
    ) -> Result<(), StageError> {
        let (says, ready) = mpsc::channel();
        let (go, goes) = mpsc::channel();
        let ending = Ending { own: Arc::clone(&seen.own), passes: target.is_none() };
        if ending.passes {
            seen.own.run.gate.enter();
        }
        let begin = Begin { ready: says, go: goes };
        let thread = Builder::new().name(format!("{stage} {replica}")).spawn(move || {
            let ending = ending;
            work(&ending.own, begin);
        });
        let handle = thread.map_err(|error| StageError::NotMade(format!("no thread for {stage} {replica}: {error}")))?;
        self.threads.push(Thread { stage: stage.to_owned(), replica, target, seen, handle: Some(handle) });
        self.ready.push(ready);
        self.go.push(go);
        Ok(())
    }

    /// Lets all go on, if all could be made.
    fn finish(self, run: Arc<Run>) -> Result<Running, StageError> {
        let Self { threads, ready, go } = self;
        let failed = |at: usize| StageError::NoThread(format!("{} {} has failed", threads[at].stage, threads[at].replica));
        let made = ready.iter().enumerate().map(|(at, ready)| ready.recv().unwrap_or_else(|_| Err(failed(at))));
        // All are waited for.
        let made: Vec<Result<(), StageError>> = made.collect();
        let running = Running { run, threads, sources: Vec::new() };
        if let Some(error) = made.into_iter().find_map(Result::err) {
            // Those that wait to go on end.
            drop(go);
            return Err(error);
        }
        // One that has ended meanwhile does not wait.
        for go in go {
            let _ = go.send(());
        }
        Ok(running)
    }
}

impl Pipeline {
    /// Begins a thread for each input and each replica, and lets packets flow when all of them are
    /// ready.
    ///
    /// # Errors
    /// Work that cannot be made; the system gives no thread.
    pub fn start(self) -> Result<Running, StageError> {
        let Self { stages, inputs } = self;
        let mut plan = PipelineWiring::new(&stages);
        let run = Arc::clone(&plan.run);
        let mut starter = Starter { threads: Vec::new(), ready: Vec::new(), go: Vec::new() };
        let (mut sources, mut callers) = (Vec::new(), Vec::new());
        for RegisteredInput { name, outputs, function } in inputs {
            let own = Arc::new(Own::new(&run));
            let (outlets, seen) = (plan.outlets(&outputs, &own), Seen { own: Arc::clone(&own), rest: None });
            if let Some(function) = function {
                starter.spawn((&name, 0), None, seen, move |own, begin| run_input(own, function, outlets, begin))?;
                continue;
            }
            callers.push(Thread { stage: name.clone(), replica: 0, target: None, seen, handle: None });
            sources.push(ExternalInput { name, source: injector::SharedInput::new(own, outlets), taken: false });
        }
        // From the first to the last, so that all rings to a stage are there.
        for (at, stage) in stages.iter().enumerate().rev() {
            for (replica, ends) in std::mem::take(&mut plan.ends[at]).into_iter().enumerate() {
                let own = Arc::clone(&plan.owns[at][replica]);
                let (inputs, outlets) = (Inputs::new(ends), plan.outlets(&stage.outputs, &own));
                let (seen, make) = (Seen { own, rest: Some(inputs.rest()) }, Arc::clone(&stage.make));
                let work = move |own: &Own, begin| run_replica(own, (&*make, replica), inputs, outlets, begin);
                starter.spawn((&stage.target.name, replica), Some(Arc::clone(&stage.target)), seen, work)?;
            }
        }
        let mut running = starter.finish(run)?;
        running.threads.splice(0..0, callers);
        running.sources = sources;
        Ok(running)
    }
}

impl Running {
    /// What the thread that has it sends packets by, for an [injector](Pipeline::injector) of that
    /// name that nobody has taken yet.
    pub fn injector(&mut self, name: &str) -> Option<Injector> {
        let source = self.sources.iter_mut().find(|source| source.name == name && !source.taken)?;
        source.taken = true;
        Some(source.source.injector())
    }

    fn thread(&self, stage: &str, replica: usize) -> Result<&Thread, StageError> {
        let found = self.threads.iter().find(|thread| thread.stage == stage && thread.replica == replica);
        found.ok_or_else(|| {
            let all: Vec<String> = self.threads.iter().map(|thread| format!("{} {}", thread.stage, thread.replica)).collect();
            StageError::Name(format!("no thread is {stage} {replica}; there are {}", all.join(", ")))
        })
    }

    fn ask<T>(&self, stage: &str, replica: usize, request: impl FnOnce(Sender<T>) -> Request) -> Result<T, StageError> {
        let (reply, answer) = mpsc::channel();
        let thread = self.thread(stage, replica)?;
        if self.sources.iter().any(|source| source.name == stage) {
            return Err(StageError::NoThread(format!(
                "{stage} is a thread of the program around the pipeline, which has no handlers and is moved by the program"
            )));
        }
        thread.seen.own.ask(request(reply));
        answer.recv().map_err(|_| StageError::NoThread(format!("{stage} {replica} has ended")))
    }

    /// Lets an input or a replica run on one core only, or on any, from its next burst on; for how
    /// long it did nothing else.
    ///
    /// # Errors
    /// There is no such thread, it has ended, or there is no such core for this process.
    pub fn move_to(&self, stage: &str, replica: usize, core: Option<usize>) -> Result<Duration, StageError> {
        self.ask(stage, replica, |reply| Request::Move(core, reply))?.map_err(StageError::Core)
    }

    /// What a handler of a replica says, such as `c.count` of the element `c`, between two bursts.
    ///
    /// # Errors
    /// There is no such thread or handler, or it refuses.
    pub fn read(&self, stage: &str, replica: usize, handler: &str, text: &str) -> Result<String, HandlerError> {
        self.ask(stage, replica, |reply| Request::Read(handler.to_owned(), text.to_owned(), reply))?
    }

    /// Writes a handler of a replica, between two bursts.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn write(&self, stage: &str, replica: usize, handler: &str, text: &str) -> Result<(), HandlerError> {
        self.ask(stage, replica, |reply| Request::Write(handler.to_owned(), text.to_owned(), reply))?
    }

    /// So many replicas of a stage get packets. For that the inputs wait until nothing is on the
    /// way; for how long they did.
    ///
    /// # Errors
    /// The stage may not have so many; an input does not come to the end of its turn, or packets
    /// not through, within ten seconds.
    pub fn set_replicas(&self, stage: &str, replicas: usize) -> Result<Duration, StageError> {
        let target = self.target(stage)?;
        if !(1..=target.most).contains(&replicas) {
            return Err(StageError::Number(format!("stage {stage} was registered for 1 to {} replicas", target.most)));
        }
        self.at_rest(|| target.active.store(replicas, Ordering::Relaxed))
    }

    /// Packets for a stage go to its replicas by that flow from now on. For that the inputs wait
    /// until nothing is on the way; for how long they did. What replicas keep of flows stays where
    /// it is.
    ///
    /// # Errors
    /// There is no such stage; an input does not come to the end of its turn, or packets not
    /// through, within ten seconds.
    pub fn set_flow(&self, stage: &str, of: impl Fn(&Packet<'_>) -> u64 + Send + Sync + 'static) -> Result<Duration, StageError> {
        let target = self.target(stage)?;
        self.at_rest(|| target.flow.change(Arc::new(of)))
    }

    fn target(&self, stage: &str) -> Result<&Target, StageError> {
        let found = self.threads.iter().find_map(|thread| thread.target.as_deref().filter(|target| target.name == stage));
        found.ok_or_else(|| StageError::Name(format!("there is no stage {stage}")))
    }

    /// Does something while nothing is on the way; for how long the inputs waited.
    fn at_rest(&self, work: impl FnOnce()) -> Result<Duration, StageError> {
        let begun = Instant::now();
        let late = || StageError::Busy("packets do not come to rest within ten seconds".to_owned());
        let closed = self.run.gate.close(PATIENCE).ok_or_else(late)?;
        // In the order of packets: what is at rest stays so when all before it is.
        for rest in self.threads.iter().filter_map(|thread| thread.seen.rest.as_ref().filter(|_| !thread.seen.own.has_ended())) {
            while !rest.is_at_rest() {
                if begun.elapsed() > PATIENCE {
                    return Err(late());
                }
                std::thread::sleep(Duration::from_micros(5));
            }
        }
        work();
        drop(closed);
        Ok(begun.elapsed())
    }

    /// What there is to say of each thread, in the order in which packets go through.
    pub fn counts(&self) -> Vec<Counts> {
        let count = |thread: &Thread| {
            let Thread { stage, replica, target, seen, .. } = thread;
            let [packets, bursts, sent, lost] = seen.own.counted();
            let is_active = target.as_ref().is_none_or(|target| *replica < target.active.load(Ordering::Relaxed));
            let waiting = seen.rest.as_ref().map_or(0, |rest| rest.waiting());
            let (stage, replica, is_input, core) = (stage.clone(), *replica, target.is_none(), seen.own.core());
            Counts { stage, replica, is_input, is_active, core, packets, bursts, sent, lost, waiting }
        };
        self.threads.iter().map(count).collect()
    }

    /// Asks all inputs to end; what has come still goes through.
    pub fn stop(&self) {
        self.run.stop();
        self.sources.iter().for_each(|source| source.source.end());
        self.threads.iter().for_each(|thread| thread.seen.own.bell.ring());
    }

    /// Whether all has gone through.
    pub fn has_ended(&self) -> bool {
        self.threads.iter().all(|thread| thread.seen.own.has_ended())
    }

    /// Waits until all has gone through, which it does when the inputs have ended; injectors that
    /// nobody has taken end now.
    ///
    /// # Errors
    /// A thread has failed.
    pub fn wait(mut self) -> Result<Vec<Counts>, StageError> {
        let failed = self.join();
        if failed.is_empty() { Ok(self.counts()) } else { Err(StageError::NoThread(failed.join("\n"))) }
    }

    fn join(&mut self) -> Vec<String> {
        self.sources.iter().filter(|source| !source.taken).for_each(|source| source.source.end());
        let ended = self.threads.iter_mut().filter_map(|thread| Some((&thread.stage, thread.replica, thread.handle.take()?.join())));
        let failed = ended.filter(|(.., result)| result.is_err());
        failed.map(|(stage, replica, _)| format!("{stage} {replica} has failed")).collect()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
        self.join();
    }
}
