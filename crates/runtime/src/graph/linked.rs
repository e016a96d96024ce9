//! Elements that run as one: bursts of arrivals go through a cluster, what leaves it goes on as ever.
//!
//! Invariants: a burst is arrivals that follow each other without anything between them that could be seen: no other source, no timer. What leaves the
//! cluster at once, with the tasks behind it, is finished before the next packet is run. What leaves at the end enters queues in order; a queue
//! that is full gets its tasks run first, as it would have after each arrival.

use super::program::Ended as How;
use super::{Body, Graph, Packet, Push};
use crate::io::LinkType;
use netil::app::{Application, End};
use netil::cluster::{Cluster, Ended, Host, Plan};
use netil::exec::{CloneOut, ExchangeBuffer, State};
use std::collections::HashMap;

/// The most arrivals of a burst.
const BURST: usize = 256;

/// A cluster of this graph.
pub(super) struct Linked {
    cluster: Box<dyn Cluster>,
    plan: Plan,
    /// The entry for each input that has one.
    entries: HashMap<(usize, u32), u32>,
    packets: Vec<ExchangeBuffer<'static>>,
    /// Arrivals that may be run together.
    most: usize,
}

/// The graph while a cluster of it runs.
struct Serving<'g> {
    graph: &'g mut Graph,
    plan: &'g Plan,
    link: LinkType,
    rounds: u8,
    /// There may be several arrivals in a burst, so that tasks must be run in between where it shows.
    several: bool,
}

impl Graph {
    /// Lets some elements of the application that this graph was made of run as one. They must neither set timers nor write to a console: the graph looks
    /// at both after each run of a program.
    pub fn link(&mut self, application: &Application, plan: Plan, cluster: Box<dyn Cluster>) {
        let inputs = application.wires.iter().map(|wire| wire.to);
        let entry = |to: End| plan.entry(application, to).map(|entry| ((to.instance as usize, to.port), entry));
        let entries = inputs.filter_map(entry).collect();
        let most = if self.may_burst() { BURST } else { 1 };
        self.linked = Some(Linked { cluster, plan, entries, packets: Vec::new(), most });
    }

    /// Whether it cannot be told that some arrivals were run before the tasks behind them: only queues and what empties them at once are there, and no
    /// program has timers.
    fn may_burst(&self) -> bool {
        self.nodes.iter().all(|node| match &node.body {
            Body::Program(program) => !program.sets_timers(),
            Body::Native(native) => native.as_ref().is_some_and(|native| native.is_source() || native.takes_bursts()),
        })
    }

    /// The arrival that is on its way, and those that follow it, if they go into the cluster. False if not.
    pub(super) fn arrive_linked(&mut self, source: usize) -> bool {
        let Some(mut linked) = self.linked.take() else { return false };
        let entry = self.pending.last().and_then(|push| linked.entries.get(&(push.node, push.port)).copied());
        let goes = entry.filter(|_| self.pending.len() == 1);
        if let (Some(entry), Some(first)) = (goes, self.pending.last().map(|push| (push.node, push.port))) {
            let (link, rounds) = self.collect(source, first, &mut linked);
            let budget = self.budget;
            let several = linked.most > 1;
            let mut serving = Serving { graph: self, plan: &linked.plan, link, rounds, several };
            linked.cluster.run(entry, &mut linked.packets, budget, &mut serving);
            if several {
                // Looking ahead may have found the end, which comes behind these tasks.
                self.settle();
                self.run_tasks();
            }
        }
        self.linked = Some(linked);
        goes.is_some()
    }

    /// Takes the packet on its way and the arrivals that follow it without anything between.
    fn collect(&mut self, source: usize, to: (usize, u32), linked: &mut Linked) -> (LinkType, u8) {
        let mut first = None;
        while let Some(Push { packet, .. }) = self.pending.pop() {
            let kind = *first.get_or_insert((packet.link, packet.rounds));
            linked.packets.push(packet.buffer);
            if linked.packets.len() >= linked.most || !self.follows(source) {
                return kind;
            }
            self.with_native(source, |native, ctx| native.arrive(ctx));
            let same = self.pending.len() == 1
                && self.pending.last().is_some_and(|p| (p.node, p.port) == to && (p.packet.link, p.packet.rounds) == kind);
            if !same {
                return kind;
            }
        }
        first.unwrap_or((LinkType::EN10MB, 0))
    }

    /// All tasks until none has work, whoever has asked for the end meanwhile: of what takes bursts each task comes to an end.
    fn run_tasks(&mut self) {
        let mut worked = true;
        while std::mem::take(&mut worked) {
            for index in 0..self.tasks.len() {
                worked |= self.task(self.tasks[index]);
            }
        }
    }

    /// True if the next thing to happen is an arrival at this source; it has then been counted.
    fn follows(&mut self, source: usize) -> bool {
        let timer = self.next_timer().map(|(when, _)| when);
        match self.next_arrival() {
            Some((time, node)) if node == source && timer.is_none_or(|when| time < when) => {
                self.clock.arrive(time);
                self.arrivals += 1;
                true
            }
            _ => false,
        }
    }
}

impl Serving<'_> {
    fn node(&self, ended: &Ended) -> usize {
        self.plan.members[ended.member as usize] as usize
    }

    fn how(&self, node: usize, ended: &Ended) -> Option<How> {
        match &self.graph.nodes[node].body {
            Body::Program(program) => Some(program.ended(ended.disposition)),
            Body::Native(..) => None,
        }
    }

    fn packet(&self, buffer: ExchangeBuffer<'static>) -> Packet {
        Packet { buffer, rounds: self.rounds, link: self.link }
    }

    /// Runs the tasks before a packet goes into a queue that is full.
    fn make_room(&mut self, node: usize, how: &How) {
        let How::Leaves(port) = how else { return };
        let way = self.graph.nodes[node].outputs.get(*port as usize).and_then(|ways| ways.first());
        let Some(to) = way.map(|way| way.to.instance as usize) else { return };
        let full = matches!(&self.graph.nodes[to].body, Body::Native(Some(native)) if native.has_no_room());
        if full {
            self.run_tasks();
        }
    }

    fn run_tasks(&mut self) {
        if self.several {
            self.graph.run_tasks();
        }
    }
}

impl Host for Serving<'_> {
    fn state(&mut self, member: u32) -> &mut State {
        let node = self.plan.members[member as usize] as usize;
        match &mut self.graph.nodes[node].body {
            Body::Program(program) => &mut program.state,
            Body::Native(..) => unreachable!("members are programs"),
        }
    }

    fn ended(&mut self, packet: ExchangeBuffer<'static>, ended: Ended) {
        let node = self.node(&ended);
        let Some(how) = self.how(node, &ended) else { return };
        self.make_room(node, &how);
        let packet = self.packet(packet);
        self.graph.end(node, how, packet);
        self.graph.settle();
    }

    fn leave(&mut self, packet: ExchangeBuffer<'static>, ended: Ended, copies: Vec<CloneOut>) {
        let node = self.node(&ended);
        let Some(how) = self.how(node, &ended) else { return };
        let mark = self.graph.pending.len();
        for copy in copies {
            let port = match &self.graph.nodes[node].body {
                Body::Program(program) => program.output_of(copy.port),
                Body::Native(..) => 0,
            };
            let copy = self.packet(copy.buffer);
            self.graph.leave(node, port, copy);
        }
        let packet = self.packet(packet);
        self.graph.end(node, how, packet);
        self.graph.pending[mark..].reverse();
        self.graph.settle();
        self.run_tasks();
    }
}
