//! Elements one after the other over a burst, each by its own engine: how a graph runs that is not compiled as one.
//!
//! ```text
//!  slots ─▶ exchange buffers ─▶ first member, all packets ─▶ next member, those that came to it ─▶ … ─▶ slots ─▶ exits
//!                                                  ▲                   │
//!                                                  └──── led back ◀────┘
//! ```
//!
//! Members are run in an order in which only what leads back leads to one before. What is to be done for an element whatever the packet, is done once for a burst, and
//! its code and tables are in the caches meanwhile.
//!
//! Invariants: a packet's key ([`order::Key`]) says when it would have its turn with one packet at a time; members have nothing in common, and nothing leaves before the
//! burst's end that could lead back or be seen. So it cannot be told in which order members run, if each sees its packets in the order of their keys, and so does
//! each exit:
//! - A member that none of those waits for which lead to it, runs all that wait for it.
//! - Of members that lead to each other (a knot), those run first, and all that wait for them, from which nobody can tell the order of packets: they keep nothing. When only
//!   the others have packets, the first packet of all goes on alone: what becomes of it comes before the others.
//! - Packets of one arrival enter what is behind an exit together: no task runs between them.
//!
//! [`Graph::stages`] refuses timers, which may be due between two packets, and what leaves at once.
//!
//! Source: architecture, "Bursts"; the vector packet processing graph, PVPP paper, section 2; keys are the time stamps of conservative discrete event simulation (Chandy and
//! Misra, 1979).

mod batch;
mod order;

use super::{Body, End, Graph, MAX_ROUNDS};
use batch::{Batch, Waiting};
use netil::cluster::{self, Cluster, Ended, Host, Loose, Plan};
use netil::engine::Engine;
use netil::exec::{CloneOut, Disposition, Outcome};
use netil::module::HandlerKind;
use netil::pool::Pool;
use order::{Key, Knot, Places};

/// Where a packet goes from a member's port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Into a member, by its port with that id.
    Member(usize, u32),
    /// The same, once all else that comes from its arrival is done with.
    Back(usize, u32),
    Exit(usize),
}

/// A member.
struct Stage {
    engine: Box<dyn Engine>,
    /// Among members in the order of running.
    place: usize,
    /// It may run whenever something waits for it: none of what is still to come is before that, or nobody can tell.
    any_time: bool,
    /// By the port's id.
    ways: Vec<(u32, Way)>,
    /// Packets that went each way.
    left: Vec<u64>,
    /// What came to it and has not been run.
    waiting: Batch,
    entered: u64,
}

/// Members that are run one after the other.
pub struct Stages {
    stages: Vec<Stage>,
    /// In this order.
    knots: Vec<Knot>,
    /// Places of members that something waits for.
    busy: Places,
    /// Memory for packets.
    spare: Batch,
    entries: Vec<(u32, u32)>,
    /// What leaves, by exit.
    exits: Vec<Batch>,
    outcome: Outcome,
    /// Of the burst, by arrival: the slots' tags.
    tags: Vec<u32>,
    /// Traps of the burst: they are told in their order.
    trapped: Vec<(Ended, Waiting)>,
}

/// What is around while a burst runs.
struct Around<'a> {
    pool: &'a mut Pool,
    host: &'a mut dyn Host,
}

impl Graph {
    /// The members of a plan, to be run one after the other over bursts. `any_order` says of instances that nobody can tell from them in which order packets came.
    ///
    /// # Errors
    /// Why that could be told from one packet at a time.
    pub fn stages(&self, plan: &Plan, any_order: &dyn Fn(u32) -> bool) -> Result<Stages, String> {
        let ways =
            plan.members.iter().zip(&plan.ways).map(|(node, ways)| self.ways_of(plan, *node, ways)).collect::<Result<Vec<_>, _>>()?;
        self.tells(plan)?;
        let to = |wanted: fn(Way) -> Option<usize>| -> Vec<Vec<usize>> {
            ways.iter().map(|ways| ways.iter().filter_map(|(_, way)| wanted(*way)).collect()).collect()
        };
        let forward = to(|way| if let Way::Member(to, _) = way { Some(to) } else { None });
        let back = to(|way| if let Way::Back(to, _) = way { Some(to) } else { None });
        let knots = order::knots(&forward, &back);
        let mut stages: Vec<Stage> = plan.members.iter().zip(ways).filter_map(|(node, ways)| self.stage(*node, ways)).collect();
        let all = knots.iter().flat_map(|knot| knot.members.iter().map(|member| (*member, knot.returns)));
        for (place, (member, returns)) in all.enumerate() {
            let any_time = !returns || any_order(plan.members[member]);
            (stages[member].place, stages[member].any_time) = (place, any_time);
        }
        Ok(Stages {
            busy: Places::new(stages.len()),
            stages,
            knots,
            spare: Batch::default(),
            entries: plan.entries.clone(),
            exits: plan.exits.iter().map(|_| Batch::default()).collect(),
            outcome: Outcome::default(),
            tags: Vec::new(),
            trapped: Vec::new(),
        })
    }

    fn stage(&self, node: u32, ways: Vec<(u32, Way)>) -> Option<Stage> {
        let Body::Program(program) = &self.nodes[node as usize].body else { return None };
        let (engine, left) = (program.another_engine(), vec![0; ways.len()]);
        Some(Stage { engine, place: 0, any_time: false, ways, left, waiting: Batch::default(), entered: 0 })
    }

    /// Why it could be told.
    fn tells(&self, plan: &Plan) -> Result<(), String> {
        let unfit = |node: &u32| match &self.nodes[*node as usize].body {
            Body::Program(program) if !program.sets_timers() => None,
            Body::Program(_) => Some(format!("{} sets timers", self.name(*node as usize))),
            Body::Native(_) => Some("a member is no program".to_owned()),
        };
        let alone = || self.one_at_a_time(plan).first().map(|node| format!("{} takes packets one at a time", self.name(*node)));
        plan.members.iter().find_map(unfit).or_else(alone).map_or(Ok(()), Err)
    }

    /// Where a member's ports lead; what goes to a member at once is what leads back.
    fn ways_of(&self, plan: &Plan, node: u32, ways: &[(u32, cluster::Way)]) -> Result<Vec<(u32, Way)>, String> {
        let node = node as usize;
        let to = |port| match &self.nodes[node].body {
            Body::Program(program) => self.nodes[node].outputs.get(program.output_of(port) as usize)?.first(),
            Body::Native(_) => None,
        };
        let member = |end: End| plan.members.binary_search(&end.instance).ok();
        let way = |(port, way): &(u32, cluster::Way)| match *way {
            cluster::Way::Member(member, input) => Ok((*port, Way::Member(member as usize, input))),
            cluster::Way::Exit(exit) | cluster::Way::LastExit(exit) => Ok((*port, Way::Exit(exit as usize))),
            cluster::Way::AtOnce => match to(*port).and_then(|way| Some((way, member(way.to)?))) {
                // A program's inputs have the first ids.
                Some((way, member)) if way.recirculates => Ok((*port, Way::Back(member, way.to.port))),
                _ => Err(format!("what leaves {} is seen at once", self.name(node))),
            },
        };
        ways.iter().map(way).collect()
    }
}

impl Cluster for Stages {
    fn run(&mut self, slots: &[u32], _: u32, pool: &mut Pool, host: &mut dyn Host) {
        self.tags.clear();
        for (arrival, slot) in (0..).zip(slots) {
            let (member, port) = self.entries[pool.slot(*slot).entry() as usize];
            self.tags.push(pool.tag(*slot));
            let mut buffer = pool.lift(*slot);
            buffer.port = port;
            self.wait(member as usize, (Key::of_arrival(arrival), buffer));
        }
        pool.give_back(slots);
        let mut around = Around { pool, host };
        let knots = std::mem::take(&mut self.knots);
        knots.iter().for_each(|knot| self.run_knot(knot, &mut around));
        self.knots = knots;
        self.tell_traps(&mut around);
        (0..self.exits.len()).for_each(|exit| self.hand_over(exit, &mut around));
    }

    fn entered(&self) -> Vec<u64> {
        self.stages.iter().map(|stage| stage.entered).collect()
    }

    fn left(&self) -> Option<Vec<Vec<(u32, u64)>>> {
        let ports = |stage: &Stage| stage.ways.iter().zip(&stage.left).map(|((port, _), left)| (*port, *left)).collect();
        Some(self.stages.iter().map(ports).collect())
    }
}

impl Stages {
    fn wait(&mut self, member: usize, packet: Waiting) {
        self.busy.add(self.stages[member].place);
        self.stages[member].waiting.add(packet);
    }

    /// Runs what waits for members of a knot, from the first place on, until nothing does; what comes before them has been run.
    fn run_knot(&mut self, knot: &Knot, around: &mut Around<'_>) {
        while self.run_all(knot, around) || self.run_first(knot, around) {}
    }

    /// Runs members that may run at any time. False if nothing waits for them.
    fn run_all(&mut self, knot: &Knot, around: &mut Around<'_>) -> bool {
        let (mut ran, mut rest) = (false, knot.places());
        while let Some(place) = self.busy.first(rest.clone()) {
            rest.start = place + 1;
            let member = knot.member(place);
            if self.stages[member].any_time {
                self.busy.remove(place);
                let all = std::mem::replace(&mut self.stages[member].waiting, std::mem::take(&mut self.spare));
                self.run_member(member, all, around);
                ran = true;
            }
        }
        ran
    }

    /// Runs the first packet of those that wait for members of a knot. False if there is none.
    fn run_first(&mut self, knot: &Knot, around: &mut Around<'_>) -> bool {
        let Some(member) = self.first_member(knot) else { return false };
        let mut alone = std::mem::take(&mut self.spare);
        let stage = &mut self.stages[member];
        stage.waiting.take_first().into_iter().for_each(|packet| alone.add(packet));
        if stage.waiting.is_empty() {
            self.busy.remove(stage.place);
        }
        self.run_member(member, alone, around);
        true
    }

    /// The member for which the first of all packets waits.
    fn first_member(&mut self, knot: &Knot) -> Option<usize> {
        let (mut first, mut rest) = (None, knot.places());
        while let Some(place) = self.busy.first(rest.clone()) {
            rest.start = place + 1;
            let member = knot.member(place);
            self.stages[member].waiting.sort();
            let key = |member: usize| self.stages[member].waiting.first();
            first = Some(first.filter(|other| key(*other) < key(member)).unwrap_or(member));
        }
        first
    }

    /// Runs a member on packets, and hands on what becomes of them.
    fn run_member(&mut self, member: usize, mut batch: Batch, around: &mut Around<'_>) {
        let stage = &mut self.stages[member];
        let mut outcome = std::mem::take(&mut self.outcome);
        stage.entered += batch.len() as u64;
        around.host.begin(member as u32);
        stage.engine.run(HandlerKind::Push, batch.packets(), around.host.state(member as u32), &mut outcome);
        around.host.end(member as u32);
        let mut copies = outcome.clones.drain(..).peekable();
        for ((source, packet), disposition) in (0..).zip(batch.drain()).zip(&outcome.dispositions) {
            let ended = Ended { member: member as u32, disposition: *disposition };
            match copies.peek() {
                Some(copy) if copy.source == source => {
                    let own = std::iter::from_fn(|| copies.next_if(|copy| copy.source == source));
                    self.send_all(ended, packet, own, around);
                }
                _ => self.send(ended, packet, around),
            }
        }
        drop(copies);
        self.outcome = outcome;
        self.spare = batch;
    }

    /// What a run has sent: copies, then the packet.
    fn send_all(&mut self, ended: Ended, (key, packet): Waiting, copies: impl Iterator<Item = CloneOut>, around: &mut Around<'_>) {
        let mut number = 0;
        for copy in copies {
            let ended = Ended { disposition: Disposition::Port(copy.port), ..ended };
            self.send(ended, (key.of_sent(number, self.leads_back(ended)), copy.buffer), around);
            number += 1;
        }
        self.send(ended, (key.of_sent(number, self.leads_back(ended)), packet), around);
    }

    /// By which of its member's ways a packet leaves.
    fn way(&self, ended: Ended) -> Option<(usize, Way)> {
        let Disposition::Port(port) = ended.disposition else { return None };
        let ways = &self.stages[ended.member as usize].ways;
        let at = ways.iter().position(|(out, _)| *out == port)?;
        Some((at, ways[at].1))
    }

    fn leads_back(&self, ended: Ended) -> bool {
        matches!(self.way(ended), Some((_, Way::Back(..))))
    }

    /// Lets a packet go to the next member or an exit, or end.
    fn send(&mut self, ended: Ended, (mut key, mut buffer): Waiting, around: &mut Around<'_>) {
        let (at, way) = match self.way(ended) {
            Some((_, Way::Back(..))) if key.rounds + around.host.rounds() >= MAX_ROUNDS.into() => {
                return self.end(ended, (key, buffer), around);
            }
            Some(way) => way,
            None => return self.end(ended, (key, buffer), around),
        };
        self.stages[ended.member as usize].left[at] += 1;
        let (to, input) = match way {
            Way::Exit(exit) => return self.exits[exit].add((key, buffer)),
            Way::Member(to, input) => (to, input),
            Way::Back(to, input) => {
                key.rounds += 1;
                (to, input)
            }
        };
        buffer.port = input;
        self.wait(to, (key, buffer));
    }

    /// A packet goes no further, or by a port that nothing is connected to, or was led back too often.
    fn end(&mut self, ended: Ended, packet: Waiting, around: &mut Around<'_>) {
        match ended.disposition {
            Disposition::Trap(_) => self.trapped.push((ended, packet)),
            _ => around.host.end_loose(ended, self.loose(packet, around), around.pool),
        }
    }

    fn tell_traps(&mut self, around: &mut Around<'_>) {
        let mut trapped = std::mem::take(&mut self.trapped);
        trapped.sort_by(|(_, (key, _)), (_, (other, _))| key.cmp(other));
        for (ended, packet) in trapped {
            around.host.end_loose(ended, self.loose(packet, around), around.pool);
        }
    }

    fn loose(&self, (key, buffer): Waiting, around: &Around<'_>) -> Loose {
        Loose { buffer, rounds: key.rounds + around.host.rounds(), tag: self.tags[key.arrival as usize] }
    }

    /// Lets go what came to an exit: in slots if that is one packet of an arrival and there is room.
    fn hand_over(&mut self, exit: usize, around: &mut Around<'_>) {
        let (mut batch, mut slots) = (std::mem::take(&mut self.exits[exit]), Vec::new());
        let mut packets = batch.drain().peekable();
        while let Some((key, buffer)) = packets.next() {
            let arrival = key.arrival;
            let is_next = |(key, _): &Waiting| key.arrival == arrival;
            if around.pool.room() > 0 && !packets.peek().is_some_and(is_next) {
                slots.extend(around.pool.place(buffer, self.tags[arrival as usize]));
                continue;
            }
            around.exit(exit, &mut slots);
            let others = std::iter::from_fn(|| packets.next_if(is_next));
            let together = std::iter::once((key, buffer)).chain(others).map(|packet| self.loose(packet, around)).collect();
            around.host.exit_loose(exit as u32, together, around.pool);
        }
        around.exit(exit, &mut slots);
        drop(packets);
        self.exits[exit] = batch;
    }
}

impl Around<'_> {
    fn exit(&mut self, exit: usize, slots: &mut Vec<u32>) {
        if !slots.is_empty() {
            self.host.exit(exit as u32, slots, self.pool);
            slots.clear();
        }
    }
}
