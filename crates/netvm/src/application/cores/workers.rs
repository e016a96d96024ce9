//! The threads of a run: how they are begun, and how they answer.

use super::bases::Bases;
use super::channel::Relief;
use super::handlers::{Directory, Request, Worker, answer};
use super::places::Places;
use super::threads::{Affinity, Gauge};
use super::{Fault, Making, NotMade, Placement, Run, Stage, scheduled};
use crate::Error;
use netil::app;
use runtime::graph::{ElementError, Graph, Stream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{Builder, JoinHandle};

/// What a thread says when its graph is made: numbers that handlers say before there are packets,
/// or what is wrong.
pub(super) type Ready = Result<Bases, NotMade>;

/// Threads that have begun, and who can be asked there.
type Begun = (Vec<JoinHandle<()>>, Arc<Directory>);

/// What all threads of a run begin with.
#[derive(Clone)]
pub(super) struct Base {
    pub making: Making,
    pub run: Arc<Run>,
    pub told: Sender<(Stream, Vec<u8>)>,
    pub fails: Sender<Fault>,
    pub relief: Arc<Relief>,
    pub affinity: Affinity,
}

/// Threads that are being begun.
pub(super) struct Workers {
    pub base: Base,
    threads: Vec<JoinHandle<()>>,
    pub workers: Vec<Worker>,
    ready: Vec<Receiver<Ready>>,
}

/// What a thread has of the run.
pub(super) struct Own {
    pub making: Making,
    pub run: Arc<Run>,
    pub told: Sender<(Stream, Vec<u8>)>,
    pub fails: Sender<Fault>,
    pub requests: Receiver<Request>,
    pub ready: Sender<Ready>,
    pub gauge: Arc<Gauge>,
}

impl Workers {
    pub(super) fn new(base: Base) -> Self {
        Self { base, threads: Vec::new(), workers: Vec::new(), ready: Vec::new() }
    }

    /// What was begun, for who waits for it himself.
    pub(super) fn into_parts(self) -> (Vec<JoinHandle<()>>, Vec<Worker>, Vec<Receiver<Ready>>) {
        (self.threads, self.workers, self.ready)
    }

    /// Begins a thread.
    pub(super) fn spawn(&mut self, name: &str, stage: Stage, work: impl FnOnce(Own) + Send + 'static) -> Result<(), Error> {
        let worker = self.spawn_with(name, self.base.making.clone(), stage, work)?;
        self.workers.push(worker);
        Ok(())
    }

    /// A replica that waits for devices itself; it gets what ends such a wait.
    pub(super) fn spawn_woken(
        &mut self,
        name: &str,
        making: Making,
        work: impl FnOnce(Own, UnixStream) + Send + 'static,
    ) -> Result<(), Error> {
        let failed = |error: std::io::Error| Error::Engine { engine: "threads", reason: error.to_string() };
        let (waker, wakes) = UnixStream::pair().map_err(failed)?;
        waker.set_nonblocking(true).map_err(failed)?;
        wakes.set_nonblocking(true).map_err(failed)?;
        let worker = self.spawn_with(name, making, Stage::Replica, move |own| work(own, wakes))?;
        self.workers.push(worker.woken_by(waker));
        Ok(())
    }

    fn spawn_with(
        &mut self,
        name: &str,
        mut making: Making,
        stage: Stage,
        work: impl FnOnce(Own) + Send + 'static,
    ) -> Result<Worker, Error> {
        let (sender, requests) = mpsc::channel();
        let (ready, made) = mpsc::channel();
        let Base { run, told, fails, affinity, .. } = self.base.clone();
        let gauge = Arc::new(Gauge::new(name, stage));
        making.settings.home = scheduled::home(&gauge, making.settings.share.is_some());
        let own = Own { making, run, told, fails, requests, ready, gauge: Arc::clone(&gauge) };
        let thread = Builder::new().name(name.to_owned()).spawn(move || {
            affinity.set();
            own.gauge.begin();
            work(own);
        });
        self.threads.push(thread.map_err(|error| Error::Engine { engine: "threads", reason: error.to_string() })?);
        self.ready.push(made);
        Ok(Worker::new(sender, gauge, Arc::clone(&self.base.relief)))
    }

    /// Waits until all graphs are made.
    pub(super) fn wait(self, application: &app::Application, placement: &Placement) -> Result<Begun, Vec<Fault>> {
        self.wait_with(application, placement, Bases::default())
    }

    /// Waits until all graphs are made; `bases`: what handlers said before there were packets.
    pub(super) fn wait_with(self, application: &app::Application, placement: &Placement, mut bases: Bases) -> Result<Begun, Vec<Fault>> {
        let mut faults = Vec::new();
        for (ready, worker) in self.ready.iter().zip(&self.workers) {
            match ready.recv() {
                Ok(Ok(base)) => bases.extend(base),
                Ok(Err(NotMade::Faults(of))) => faults.extend(of),
                Ok(Err(NotMade::Other(error))) => faults.push(Fault { instance: usize::MAX, error: ElementError::resource(error) }),
                Err(_) => faults.push(failed(worker.gauge().name(), "it has ended while it was made")),
            }
        }
        let places = Places::of(placement, application);
        let replayed = placement.replayed.iter().map(|at| application.instances[*at].name.clone()).collect();
        let directory = Arc::new(Directory::new(self.workers, places, replayed, bases));
        if faults.is_empty() {
            return Ok((self.threads, directory));
        }
        self.base.run.stop();
        directory.close();
        // All replicas say the same.
        faults.dedup();
        faults.sort_by_key(|fault| fault.instance);
        faults.dedup();
        Err(faults)
    }
}

/// A thread has failed.
pub(super) fn failed(thread: &str, why: &str) -> Fault {
    Fault { instance: usize::MAX, error: ElementError::resource(format!("the thread '{thread}' has failed: {why}")) }
}

/// Answers requests until the run may begin. False if it does not.
pub(super) fn wait_for_go(graph: &mut Graph, requests: &Receiver<Request>, gauge: &Gauge) -> bool {
    while let Ok(request) = requests.recv() {
        if matches!(request, Request::Go) {
            return true;
        }
        answer(graph, request, gauge);
    }
    false
}

/// Answers requests until nobody has any.
pub(super) fn serve(graph: &mut Graph, requests: &Receiver<Request>, fails: &Sender<Fault>, gauge: &Gauge) {
    while let Ok(request) = requests.recv() {
        if let Some(faults) = answer(graph, request, gauge) {
            // Who would hear of it may be gone.
            faults.into_iter().for_each(|fault| drop(fails.send(fault)));
        }
    }
}
