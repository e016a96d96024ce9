//! Replicas that keep the order of the packets of each flow only: each has the whole application,
//! from its own sources to its own devices, on its own thread.
//!
//! ```text
//!  captures, devices ──▶ replica 0: all elements ──▶ captures, devices
//!                    ──▶ replica 1: all elements ──▶
//!                              │ lock
//!                     state in common: elements whose state is not found by flow
//! ```
//!
//! No packet goes from one thread to another. The first replica is the graph of whoever runs the
//! application; scripts and sockets are there only.
//!
//! Invariants:
//! - A replica ends when all have read what they read, so that timers behind the last packet run
//!   when every packet has been run.
//! - A stop lets each replica finish what has arrived, as it does with one graph.

use super::bases::numbers;
use super::cut::Cut;
use super::handlers::{Directory, Request};
use super::threads::{Affinity, Gauge};
use super::workers::{self, Base, Workers, serve, wait_for_go};
use super::{Application, Cores, Error, Graph, Host, MOMENT, Making, Mode, NotMade, Part, Placement, Run, Settings, Stage, Teller};
use super::{finish_graph, handlers, present, readers, scheduled};
use netil::app::{self, Body};
use runtime::graph::ring::{ABSENT, Remote, Rings};
use runtime::graph::{Common, Policy, Share};
use std::collections::BTreeMap;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// The wait of a replica that is too far ahead.
const PAUSE: Duration = Duration::from_micros(50);
/// The most turns that a replica makes after it was stopped.
const LAST_TURNS: usize = 1 << 10;

/// The replicas of a run that are not the caller's.
pub(super) struct Others {
    pub(super) share: Share,
    /// How many have ended.
    ended: Arc<AtomicUsize>,
    /// The caller's has read what it reads, and goes on to its end.
    left: bool,
    closed: bool,
}

impl Application {
    /// Makes all replicas.
    pub(super) fn start_flows(&self, placement: Placement, replicas: usize, making: Making, host: Box<dyn Host>) -> Result<Cores, Error> {
        let common = Arc::new(
            Common::new(replicas, policies(&self.application, &placement))
                .by_ports(placement.ends.clone())
                .within(placement.within(&self.application)),
        );
        let live = !making.settings.live.is_empty();
        let (told, hears) = mpsc::channel();
        let (fails, faults) = mpsc::channel();
        let run = Arc::new(Run::default());
        let ended = Arc::new(AtomicUsize::new(0));
        let gauge = Arc::new(Gauge::new("replica 0", Stage::Replica));
        let (share, mut own) = of_replica(&making, Share { index: 0, replicas, common: Arc::clone(&common) });
        own.settings.home = scheduled::home(&gauge, true);
        // The first one compiles what the others then find in the cache.
        let first = part(&self.application, &placement, true);
        let mut rest = finish_graph(&first, own, Rings::default(), None, host).map_err(|error| self.not_made(error))?;
        // A handler that is read may be a run of its element, which those in common would count.
        let own = present(&placement, Stage::Replica, &self.application);
        let bases = numbers(&mut rest, |element| own.iter().any(|name| name == element));
        let affinity = Affinity::of_caller();
        let base = Base { making: making.clone(), run: Arc::clone(&run), told, fails, relief: Arc::default(), affinity };
        let mut workers = Workers::new(base);
        let part = Arc::new(part(&self.application, &placement, false));
        for index in 1..replicas {
            let (share, making) = of_replica(&making, Share { index, replicas, common: Arc::clone(&common) });
            let (part, ended) = (Arc::clone(&part), Arc::clone(&ended));
            workers.spawn_woken(&format!("replica {index}"), making, move |own, wakes| run_flows(own, &part, &share, wakes, &ended))?;
        }
        let (threads, directory) = workers.wait_with(&self.application, &placement, bases).map_err(|faults| self.drawn(faults))?;
        rest.joins(Remote(Arc::clone(&directory) as Arc<_>));
        if !live {
            rest.open();
        }
        let mode = Mode::Flow(Others { share, ended, left: false, closed: false });
        Ok(Cores {
            rest,
            mode,
            directory,
            told: hears,
            faults,
            threads,
            run,
            placement,
            whole: Arc::default(),
            live,
            gauge,
            affinity,
            origins: Default::default(),
            ended: Vec::new(),
            news: Vec::new(),
            planner: None,
            plans: Vec::new(),
            renewal: None,
        })
    }
}

/// The application of replicas, the first of which is the caller's, as if it were cut.
pub(super) fn whole(application: &app::Application, placement: &Placement) -> Cut {
    Cut { before: vec![part(application, placement, false)], rest: part(application, placement, true) }
}

/// How the states of elements are shared, readers of them among these.
pub(super) fn policies(application: &app::Application, placement: &Placement) -> BTreeMap<usize, Policy> {
    let readers = placement.readers.keys().enumerate().map(|(n, at)| (application.instances.len() + n, Policy::Copy(*at)));
    placement.policies.iter().map(|(at, (policy, _))| (*at, policy.clone())).chain(readers).collect()
}

/// How the graph of one replica is made.
fn of_replica(making: &Making, share: Share) -> (Share, Making) {
    let mut making = making.clone();
    making.settings.share = Some(share.clone());
    (share, making)
}

/// The application of one replica: without the elements that only the first one has, unless it is
/// that.
pub(super) fn part(application: &app::Application, placement: &Placement, first: bool) -> Part {
    let mut application = application.clone();
    application.numbered = application.keeps_numbers();
    // A transaction is one element's.
    let transacts = |at: &usize| matches!(placement.policies.get(at), Some((Policy::Transaction(_), _)));
    let transacting = placement.of(Stage::Shared).filter(transacts).map(|at| at as u32);
    application.apart = transacting.chain(placement.seldom.iter().chain(&placement.apart).copied()).collect();
    readers::place(&mut application, &placement.readers);
    for at in placement.of(Stage::Rest).filter(|_| !first) {
        (application.instances[at].class, application.instances[at].body) = (ABSENT.to_owned(), Body::BuiltIn(Vec::new()));
    }
    let stage = if first { Stage::Rest } else { Stage::Replica };
    Part { application, stage, from: None, to: Vec::new(), annotated: Vec::new() }
}

impl Others {
    /// A turn of the caller's replica. False when the run has ended.
    pub(super) fn turn(&mut self, rest: &mut Graph, directory: &Directory, run: &Run) -> bool {
        if self.share.is_ahead() {
            std::thread::sleep(PAUSE);
            return true;
        }
        if !rest.has_ended() && rest.turn() {
            return true;
        }
        if rest.has_ended() {
            // Somebody asked for the end, or nothing is left to do here.
            if !self.share.all_have_left() || run.is_stopped() {
                run.stop();
                directory.wake_all();
                return false;
            }
            return self.wait();
        }
        if !std::mem::replace(&mut self.left, true) {
            self.share.leaves();
        }
        if self.share.all_have_left() && !std::mem::replace(&mut self.closed, true) {
            // Its sources may ask for the end now, and its timers go on.
            rest.close();
            return true;
        }
        std::thread::sleep(MOMENT);
        true
    }

    /// Waits a moment if others have not ended yet. False if all have.
    fn wait(&self) -> bool {
        let others = self.ended.load(Ordering::Acquire) + 1 < self.share.replicas;
        if others {
            std::thread::sleep(MOMENT);
        }
        others
    }
}

fn run_flows(own: workers::Own, part: &Part, share: &Share, mut wakes: UnixStream, ended: &AtomicUsize) {
    let workers::Own { mut making, run, told, fails, requests, ready, gauge } = own;
    let live = !making.settings.live.is_empty();
    making.settings.waker = wakes.try_clone().ok().map(|wakes| Arc::new(OwnedFd::from(wakes)));
    let settings = making.settings.clone();
    let mut graph = match finish_graph(part, making, Rings::default(), None, Box::new(Teller { told, live })) {
        Ok(graph) => graph,
        Err(error) => return drop(ready.send(Err(error))),
    };
    if !live {
        graph.open();
    }
    let _ = ready.send(Ok(Default::default()));
    let goes = wait_for_go(&mut graph, &requests, &gauge);
    run.crashes.watch(gauge.name(), &mut graph, |graph| {
        if goes {
            graph.start();
            run_out(graph, (share, &gauge, &settings), &run, || {
                let mut bytes = [0; 64];
                while matches!(wakes.read(&mut bytes), Ok(1..)) {}
                requests.try_iter().collect::<Vec<Request>>()
            });
        }
        share.leaves();
        ended.fetch_add(1, Ordering::Release);
        serve(graph, &requests, &fails, &gauge);
    });
}

/// Runs a replica to its end. `asked`: what it is asked meanwhile.
fn run_out(graph: &mut Graph, (share, gauge, settings): (&Share, &Gauge, &Settings), run: &Run, mut asked: impl FnMut() -> Vec<Request>) {
    let (mut left, mut closed) = (false, false);
    while !run.is_stopped() {
        for request in asked() {
            match request {
                Request::Renew(renewing) => renewing.whole(graph, settings),
                request => drop(handlers::answer(graph, request, gauge)),
            }
        }
        if share.is_ahead() {
            std::thread::sleep(PAUSE);
        } else if graph.turn() {
            continue;
        } else if graph.has_ended() {
            return;
        } else if !std::mem::replace(&mut left, true) {
            share.leaves();
        } else if share.all_have_left() && !std::mem::replace(&mut closed, true) {
            graph.close();
        } else {
            std::thread::sleep(MOMENT);
        }
    }
    // What has arrived still goes on.
    let _ = graph.write("stop", "", None);
    let _ = (0..LAST_TURNS).all(|_| graph.turn());
}

impl Application {
    pub(super) fn not_made(&self, error: NotMade) -> Error {
        match error {
            NotMade::Faults(faults) => self.drawn(faults),
            NotMade::Other(error) => error,
        }
    }
}
