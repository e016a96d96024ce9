//! State that each replica has of all packets: what a replica does with those of the others.
//!
//! ```text
//!             ┌─▶ replica 0: packets 0–255 whole, 256–511 replayed ─┐
//!  sources ───┤                                                     ├──▶ the rest, in the order of arrival
//!             └─▶ replica 1: packets 0–255 replayed, 256–511 whole ─┘
//! ```
//!
//! Every replica has every packet. It runs its own through all elements of its stage. The others it
//! replays: they go through a second graph of the elements whose state is replicated and of what
//! leads to them, which has that state in common with the first; sends to any other element are
//! drops there.
//!
//! Invariants:
//! - The state of an element changes by the same packets in the same order and at the same times in
//!   every replica, so that each packet finds what it would find on one thread.
//! - A packet leaves once, by the replica that owns it.
//! - What is not state that packets look at (counts, what became of packets) is kept by the owner's
//!   graph only, and summed as for other replicas.
//! - A replica is behind the newest packet by the epochs that wait for it, and their number is
//!   bounded.
//!
//! Source: Q. Xu et al., State-Compute Replication (NSDI 2025), who let a sequencer give each core
//! the history of the packets that it has not seen. Left out: histories of parts of packets; each
//! replica gets the bytes.

use super::{Making, NotMade, Part, Teller, finish_graph, lock};
use netil::Verified;
use netil::app::{Application, Body, End};
use netil::module::Inst;
use netil::table::Op;
use runtime::graph::ring::{ABSENT, Batch, Inbox, Rings};
use runtime::graph::{Common, Graph, Policy, Share};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// What replicas have in addition where they replay the packets of others.
pub(super) struct Replayed {
    elements: BTreeSet<usize>,
    slice: Part,
}

impl Replayed {
    /// For the stage of replicas, if elements of it are replicated.
    pub(super) fn of(middle: &Part, elements: &BTreeSet<usize>) -> Option<Self> {
        (!elements.is_empty()).then(|| Self { elements: elements.clone(), slice: slice(middle, elements) })
    }

    /// Lets graphs that are made so have the state of replicated elements in common.
    pub(super) fn share(&self, making: &mut Making) {
        let policies = self.elements.iter().map(|at| (*at, Policy::Lock)).collect();
        making.settings.share = Some(Share { index: 0, replicas: 1, common: Arc::new(Common::new(1, policies)) });
    }

    /// The graph for packets of other replicas, whose packets come from the same inbox.
    pub(super) fn graph(&self, making: Making, inbox: &Arc<Mutex<Inbox>>, teller: Teller) -> Result<Graph, NotMade> {
        let rings = Rings { inbox: Arc::clone(inbox), numbers: true, ..Rings::default() };
        let mut graph = finish_graph(&self.slice, making, rings, None, Box::new(teller))?;
        graph.open();
        Ok(graph)
    }
}

/// A replica that replays the packets of others.
pub(super) struct Replica {
    /// Its number.
    pub index: usize,
    pub others: Graph,
    /// When the newest packet came.
    pub reached: u64,
}

impl Replica {
    /// Runs the batch of an epoch, its own packets in `own`, and gives it back.
    pub(super) fn run_epoch(&mut self, own: &mut Graph, inbox: &Mutex<Inbox>, batch: Batch, begun: &mut bool) -> Vec<Batch> {
        let (span, width) = (batch.span(), batch.width());
        own.go_on_recording(batch.is_recorded());
        lock(inbox).fill(vec![batch]);
        let Some((first, last)) = span else { return lock(inbox).drain() };
        if !std::mem::replace(begun, true) {
            own.begin_at(first);
            self.others.begin_at(first);
        }
        loop {
            let run = lock(inbox).begin_run(width);
            let Some(run) = run else { break };
            let graph = if run.replica == self.index { &mut *own } else { &mut self.others };
            graph.reach(self.reached);
            graph.run_up_to(run.last_ns);
            self.reached = self.reached.max(run.last_ns);
        }
        own.reach(self.reached);
        own.run_up_to(last);
        lock(inbox).drain()
    }
}

/// The elements that are replicated and what leads to them, without the rest of the stage.
fn slice(middle: &Part, elements: &BTreeSet<usize>) -> Part {
    let mut inside = elements.clone();
    let mut application = middle.application.clone();
    loop {
        let leads =
            |wire: &&netil::app::Wire| inside.contains(&(wire.to.instance as usize)) && !inside.contains(&(wire.from.instance as usize));
        match application.wires.iter().find(leads).map(|wire| wire.from.instance as usize) {
            Some(at) => inside.insert(at),
            None => break,
        };
    }
    let is_inside = |end: End| inside.contains(&(end.instance as usize));
    application.wires.retain(|wire| is_inside(wire.from) && is_inside(wire.to));
    for at in 0..application.instances.len() {
        match &application.instances[at].body {
            _ if !inside.contains(&at) => {
                let instance = &mut application.instances[at];
                (instance.class, instance.body) = (ABSENT.to_owned(), Body::BuiltIn(Vec::new()));
            }
            Body::Program(program) => {
                let program = without(program, |port| is_wired(&application, at, port));
                application.instances[at].body = Body::Program(program);
            }
            Body::BuiltIn(_) => {}
        }
    }
    application.files.retain(|(at, _)| inside.contains(&(*at as usize)));
    Part { application, stage: middle.stage, from: middle.from, to: Vec::new(), annotated: Vec::new() }
}

fn is_wired(application: &Application, at: usize, port: u32) -> bool {
    application.wires.iter().any(|wire| wire.from == End { instance: at as u32, port })
}

/// The program with drops in the place of sends by outputs that lead nowhere.
fn without(program: &Arc<Verified>, is_wired: impl Fn(u32) -> bool) -> Arc<Verified> {
    let module = program.module();
    let outputs: Vec<u32> = module.all_ports().iter().filter(|(_, port)| !port.kind.is_input()).map(|(id, _)| *id).collect();
    let gone = |inst: &Inst| {
        let output = outputs.iter().position(|id| inst.op == Op::PktSend && *id == inst.imm[0]);
        output.is_some_and(|output| !is_wired(output as u32))
    };
    let mut module = module.clone();
    let code = module.push.iter_mut().flat_map(|push| &mut push.code);
    for inst in code.filter(|inst| gone(inst)) {
        *inst = Inst::with(Op::PktDrop, 0);
    }
    // It is the same program but for its last steps; one that is refused all the same sends what
    // nobody gets.
    netil::verify(module).map_or_else(|_| Arc::clone(program), Arc::new)
}
