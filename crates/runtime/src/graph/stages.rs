//! Elements one after the other over a burst, each by its own engine: how a graph runs that is not compiled as one.
//!
//! ```text
//!  slots ─▶ exchange buffers ─▶ first member, all packets ─▶ next member, those that came to it ─▶ … ─▶ slots ─▶ exits
//! ```
//!
//! Members are run in an order in which none leads to one before it. What is to be done for an element whatever the packet, is done once for a burst, and its code and
//! tables are in the caches meanwhile.
//!
//! Invariants: packets come to each member, and to each exit, in the order of their arrival; members have nothing in common, and nothing leaves before the burst's
//! end that could lead back or be seen. So each sees what it would see if one packet went all its way before the next; [`Graph::stages`] refuses what is not so:
//! copies, which leave before their packet, and timers, which may be due between two packets.
//!
//! Source: architecture, "Bursts"; the vector packet processing graph, PVPP paper, section 2.

use super::{Body, Graph};
use netil::Module;
use netil::cluster::{Cluster, Ended, Host, Plan, Way};
use netil::engine::Engine;
use netil::exec::{Disposition, ExchangeBuffer, Outcome};
use netil::module::HandlerKind;
use netil::pool::Pool;
use netil::table::Op;

/// Packets with the places that they have in the burst.
#[derive(Default)]
struct Batch {
    places: Vec<u32>,
    buffers: Vec<ExchangeBuffer<'static>>,
}

impl Batch {
    fn add(&mut self, place: u32, buffer: ExchangeBuffer<'static>) {
        self.places.push(place);
        self.buffers.push(buffer);
    }

    /// In the order of arrival, where they came on several ways.
    fn sort(&mut self) {
        if self.places.is_sorted() {
            return;
        }
        let mut both: Vec<_> = self.places.drain(..).zip(self.buffers.drain(..)).collect();
        both.sort_unstable_by_key(|(place, _)| *place);
        (self.places, self.buffers) = both.into_iter().unzip();
    }
}

/// A member.
struct Stage {
    engine: Box<dyn Engine>,
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
    order: Vec<usize>,
    entries: Vec<(u32, u32)>,
    /// What leaves, by exit.
    exits: Vec<Batch>,
    outcome: Outcome,
}

impl Graph {
    /// The members of a plan, to be run one after the other over bursts.
    ///
    /// # Errors
    /// Why that could be told from one packet at a time.
    pub fn stages(&self, plan: &Plan) -> Result<Stages, String> {
        self.tells(plan).map_or(Ok(()), Err)?;
        let engine = |node: &u32| match &self.nodes[*node as usize].body {
            Body::Program(program) => Some(program.another_engine()),
            Body::Native(_) => None,
        };
        let engines = plan.members.iter().filter_map(engine);
        let stage = |(engine, ways): (_, &Vec<_>)| Stage {
            engine,
            ways: ways.clone(),
            left: vec![0; ways.len()],
            waiting: Batch::default(),
            entered: 0,
        };
        Ok(Stages {
            stages: engines.zip(&plan.ways).map(stage).collect(),
            order: order(&plan.ways),
            entries: plan.entries.clone(),
            exits: plan.exits.iter().map(|_| Batch::default()).collect(),
            outcome: Outcome::default(),
        })
    }

    /// Why it could be told.
    fn tells(&self, plan: &Plan) -> Option<String> {
        let name = |node: u32| &self.nodes[node as usize].name;
        let unfit = |node: &u32| match &self.nodes[*node as usize].body {
            Body::Program(program) => unfit(program.module()).map(|why| format!("{} {why}", name(*node))),
            Body::Native(_) => Some("a member is no program".to_owned()),
        };
        let early = |(node, ways): (&u32, &Vec<(u32, Way)>)| {
            let leaves = ways.iter().any(|(_, way)| *way == Way::AtOnce);
            leaves.then(|| format!("what leaves {} is seen at once", name(*node)))
        };
        let alone = || self.one_at_a_time(plan).first().map(|node| format!("{} takes packets one at a time", name(*node as u32)));
        let leaves_early = || plan.members.iter().zip(&plan.ways).find_map(early);
        plan.members.iter().find_map(unfit).or_else(leaves_early).or_else(alone)
    }
}

impl Cluster for Stages {
    fn run(&mut self, slots: &[u32], _: u32, pool: &mut Pool, host: &mut dyn Host) {
        for (place, slot) in (0..).zip(slots) {
            let (member, port) = self.entries[pool.slot(*slot).member as usize];
            let mut buffer = pool.lift(*slot);
            buffer.port = port;
            self.stages[member as usize].waiting.add(place, buffer);
        }
        for at in 0..self.order.len() {
            let member = self.order[at];
            if !self.stages[member].waiting.places.is_empty() {
                self.run_member(member, slots, pool, host);
            }
        }
        for (exit, batch) in (0..).zip(&mut self.exits) {
            batch.sort();
            let ids: Vec<u32> = batch.places.drain(..).map(|place| slots[place as usize]).collect();
            ids.iter().zip(batch.buffers.drain(..)).for_each(|(id, buffer)| pool.lower(*id, buffer));
            if !ids.is_empty() {
                host.exit(exit, &ids, pool);
            }
        }
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
    /// Runs a member on what came to it, and hands on what becomes of that.
    fn run_member(&mut self, member: usize, slots: &[u32], pool: &mut Pool, host: &mut dyn Host) {
        let stage = &mut self.stages[member];
        let mut batch = std::mem::take(&mut stage.waiting);
        batch.sort();
        stage.entered += batch.places.len() as u64;
        host.begin(member as u32);
        stage.engine.run(HandlerKind::Push, &mut batch.buffers, host.state(member as u32), &mut self.outcome);
        host.end(member as u32);
        let outcome = std::mem::take(&mut self.outcome);
        let all = batch.places.drain(..).zip(batch.buffers.drain(..));
        for ((place, buffer), disposition) in all.zip(&outcome.dispositions) {
            let ended = Ended { member: member as u32, disposition: *disposition };
            if let Some(buffer) = self.hand_on(ended, place, buffer) {
                stay(ended, slots[place as usize], buffer, pool, host);
            }
        }
        // Their memory is kept.
        (self.stages[member].waiting, self.outcome) = (batch, outcome);
    }

    /// Lets a packet go to the next member or an exit; gives back one that goes neither way.
    fn hand_on(&mut self, ended: Ended, place: u32, mut buffer: ExchangeBuffer<'static>) -> Option<ExchangeBuffer<'static>> {
        let Disposition::Port(port) = ended.disposition else { return Some(buffer) };
        let stage = &mut self.stages[ended.member as usize];
        let Some(at) = stage.ways.iter().position(|(out, _)| *out == port) else { return Some(buffer) };
        stage.left[at] += 1;
        match stage.ways[at].1 {
            Way::Member(to, input) => {
                buffer.port = input;
                self.stages[to as usize].waiting.add(place, buffer);
            }
            Way::Exit(exit) | Way::LastExit(exit) => self.exits[exit as usize].add(place, buffer),
            Way::AtOnce => return Some(buffer),
        }
        None
    }
}

/// A packet that goes no further, or by a port that nothing is connected to.
fn stay(ended: Ended, slot: u32, buffer: ExchangeBuffer<'static>, pool: &mut Pool, host: &mut dyn Host) {
    if let Disposition::Port(_) = ended.disposition {
        pool.lower(slot, buffer);
        return host.leave(ended, slot, Vec::new(), pool);
    }
    pool.mark(slot, buffer.is_present());
    host.ended(ended, &[slot], pool);
}

/// Why a program cannot take a burst before those behind it take a packet.
fn unfit(module: &Module) -> Option<&'static str> {
    let handlers = HandlerKind::ALL.into_iter().filter_map(|kind| module.handler(kind));
    let mut ops = handlers.flat_map(|handler| &handler.code).map(|inst| inst.op);
    ops.find_map(|op| match op {
        Op::PktSendDup => Some("sends copies"),
        Op::TimerSet => Some("sets timers"),
        _ => None,
    })
}

/// Members, each behind those that lead to it; wires that lead back are no links between members.
fn order(ways: &[Vec<(u32, Way)>]) -> Vec<usize> {
    let next =
        |member: usize| ways[member].iter().filter_map(|(_, way)| if let Way::Member(to, _) = way { Some(*to as usize) } else { None });
    let mut before = vec![0; ways.len()];
    (0..ways.len()).flat_map(next).for_each(|to| before[to] += 1);
    let mut order: Vec<usize> = (0..ways.len()).filter(|member| before[*member] == 0).collect();
    let mut at = 0;
    while let Some(member) = order.get(at).copied() {
        at += 1;
        for to in next(member) {
            before[to] -= 1;
            if before[to] == 0 {
                order.push(to);
            }
        }
    }
    order
}
