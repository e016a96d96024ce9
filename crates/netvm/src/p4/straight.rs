//! The straight way of packets that ingress sends to one port ([`p4::pipeline::ports::STRAIGHT`]):
//! ingress and egress in one run, as fused elements of an application run, as machine code or
//! compiled C; by the switch's engine where neither can be had.
//!
//! What asks for the replication engine goes on when the burst has been run.

use super::Switch;
use super::burst::{Arrived, Departures, Times, of_packet};
use super::switch::{Journey, Provenance, address_arrival, departing, get32};
use crate::application::linked::handler;
use crate::engines::{Elements, Settings};
use compiler::cluster::Member;
use jit::chain::{self, Chain};
use netil::cluster::{Cluster, Ended, Host, LinkTarget as Link};
use netil::exec::{CloneOut, Disposition, ExchangeBuffer, State};
use netil::pool::{Arrival, Pool};
use netil::{Engine, Verified};
use p4::pipeline::{info, ports};
use std::sync::Arc;

/// Packets that are run at once at most.
const SLOTS: usize = 256;
/// The way in: its member and port.
const ENTRY: [(u32, u32); 1] = [(0, ports::STRAIGHT)];
/// Exits, in their order.
const EXITS: [u32; 2] = [ports::OUT, ports::QUEUED];

/// The program as fused code.
pub(super) struct Fused {
    cluster: Box<dyn Cluster>,
    pool: Pool,
    slots: Vec<u32>,
    reached: Vec<Reached>,
    /// What became of packets that have clones, or left by no exit; by number.
    rare: Vec<(Option<u32>, Vec<CloneOut>)>,
    /// Slots that are free when all packets have been looked at.
    free: Vec<u32>,
}

/// What became of a packet.
#[derive(Clone, Copy, Default)]
enum Reached {
    /// It went no further.
    #[default]
    End,
    /// It is in that slot, and left by that exit.
    Exit(u32, u32),
    /// It is in that slot, and the rest is among [`Fused::rare`].
    Rare(u32, u32),
}

/// The switch while fused code runs.
struct RunContext<'s> {
    state: &'s mut State,
    /// By packet, which slots know by their tags.
    reached: &'s mut [Reached],
    rare: &'s mut Vec<(Option<u32>, Vec<CloneOut>)>,
}

impl Host for RunContext<'_> {
    fn state(&mut self, _: u32) -> &mut State {
        self.state
    }

    fn exit(&mut self, exit: u32, slots: &[u32], pool: &mut Pool) {
        for slot in slots {
            self.reached[pool.tag(*slot) as usize] = Reached::Exit(*slot, exit);
        }
    }

    fn ended(&mut self, _: Ended, slots: &[u32], pool: &mut Pool) {
        pool.give_back(slots);
    }

    fn leave(&mut self, ended: Ended, slot: u32, copies: Vec<CloneOut>, pool: &mut Pool) {
        let port = if let Disposition::Port(port) = ended.disposition { Some(port) } else { None };
        self.reached[pool.tag(slot) as usize] = Reached::Rare(slot, self.rare.len() as u32);
        self.rare.push((port, copies));
    }
}

impl Fused {
    /// Fused code of a program; `None` if the engine has none, or the program is none that can be
    /// fused.
    pub fn new(program: &Arc<Verified>, engine: &dyn Engine, elements: Elements, settings: Settings) -> Option<Self> {
        let exit = |(n, port): (u32, &u32)| (*port, Link::Exit(n));
        let links: Vec<(u32, Link)> = (0..).zip(&EXITS).map(exit).chain([(ports::MIRROR, Link::AtOnce)]).collect();
        let cluster: Box<dyn Cluster> = match elements {
            Elements::Apart => return None,
            Elements::Fused => {
                let member = Member { program, func: handler(program, settings)?, links };
                let members = [(Arc::clone(program), member)];
                Box::new(aot::Fused::new(&members, &ENTRY, settings.cluster(), &settings.options(None)).ok()?)
            }
            Elements::MachineCode | Elements::FusedLater => {
                let member = chain::Member::of(engine, &links)?;
                Box::new(Chain::new(vec![member], &ENTRY, settings.cluster().prefetch_above).ok()?)
            }
        };
        let pool = Pool::new(SLOTS as u32, program.module().info_size as usize);
        Some(Self { cluster, pool, slots: Vec::new(), reached: Vec::new(), rare: Vec::new(), free: Vec::new() })
    }

    /// Runs packets, which are few enough for the pool.
    fn run<'b>(&mut self, packets: &[Arrived<'b>], times: &[Times], state: &mut State) {
        self.slots.clear();
        self.rare.clear();
        self.reached.clear();
        self.reached.resize(packets.len(), Reached::End);
        let arrival = |(packet, time): (&Arrived<'b>, &Times)| {
            let bytes = packet.bytes;
            Arrival { bytes, len: bytes.len(), time_ns: time.1, wire_len: bytes.len() as u32 }
        };
        self.pool.put_many(packets.iter().zip(times).map(arrival), 0, &mut self.slots);
        self.pool.number(&self.slots, 0);
        for ((packet, time), slot) in packets.iter().zip(times).zip(&self.slots) {
            address_arrival(self.pool.clear_info(*slot), packet.port, 0, packet.bytes.len(), time.0);
        }
        let budget = state.budget;
        let mut context = RunContext { state, reached: &mut self.reached, rare: &mut self.rare };
        self.cluster.run(&self.slots, budget, &mut self.pool, &mut context);
    }
}

impl Switch {
    /// Runs packets the straight way.
    pub(super) fn straight(&mut self, packets: &[Arrived<'_>], times: &[Times], left: &mut Departures) {
        let Some(mut fused) = self.fused.take() else { return self.straight_alone(packets, times, left) };
        for (n, (packets, times)) in packets.chunks(SLOTS).zip(times.chunks(SLOTS)).enumerate() {
            fused.run(packets, times, &mut self.state);
            let reached = std::mem::take(&mut fused.reached);
            for (of, reached) in reached.iter().enumerate() {
                let (slot, (port, clones)) = match *reached {
                    Reached::End => continue,
                    Reached::Exit(slot, exit) => (slot, (EXITS.get(exit as usize).copied(), Vec::new())),
                    Reached::Rare(slot, number) => (slot, std::mem::take(&mut fused.rare[number as usize])),
                };
                fused.free.push(slot);
                let out = fused.pool.info(slot);
                if port == Some(ports::OUT) && clones.is_empty() && get32(out, info::RECIRCULATE) == 0 {
                    left.push(n * SLOTS + of, get32(out, info::EGRESS_PORT), departing(fused.pool.bytes(slot), out));
                } else {
                    let buffer = fused.pool.lift(slot);
                    let clones = clones.into_iter().map(|clone| clone.buffer).collect();
                    left.extend(n * SLOTS + of, self.go_on(&packets[of], times[of], buffer, port, clones));
                }
            }
            fused.reached = reached;
            fused.pool.give_back(&fused.free);
            fused.free.clear();
        }
        self.fused = Some(fused);
    }

    /// Runs packets the straight way by the engine.
    fn straight_alone(&mut self, packets: &[Arrived<'_>], times: &[Times], left: &mut Departures) {
        let mut buffers: Vec<ExchangeBuffer<'static>> =
            packets.iter().map(|_| self.spare.pop().unwrap_or_else(ExchangeBuffer::none)).collect();
        for ((buffer, packet), time) in buffers.iter_mut().zip(packets).zip(times) {
            self.arrive(buffer, packet.bytes, packet.port, *time);
        }
        self.run_all(ports::STRAIGHT, &mut buffers);
        let dispositions = std::mem::take(&mut self.outcome.dispositions);
        let mut clones = std::mem::take(&mut self.outcome.clones).into_iter().peekable();
        for (of, (buffer, disposition)) in buffers.into_iter().zip(dispositions).enumerate() {
            let own = of_packet(&mut clones, of);
            let port = if let Disposition::Port(port) = disposition { Some(port) } else { None };
            left.extend(of, self.go_on(&packets[of], times[of], buffer, port, own));
        }
    }

    /// What leaves of a packet that was run.
    fn go_on(
        &mut self,
        packet: &Arrived<'_>,
        time: Times,
        buffer: ExchangeBuffer<'static>,
        port: Option<u32>,
        clones: Vec<ExchangeBuffer<'static>>,
    ) -> Vec<super::Sent> {
        let mut journey = Journey { time, ..Journey::default() };
        if port == Some(ports::QUEUED) {
            journey.copies = 1;
            self.behind_ingress(
                Some(buffer),
                packet.bytes.into(),
                packet.port,
                Provenance { cause: "arrived", ..Provenance::default() },
                &mut journey,
            );
        } else {
            journey.copies = 2;
            self.behind_egress(buffer, port.is_some(), clones, Provenance { cause: "unicast", ..Provenance::default() }, &mut journey);
        }
        self.rest(journey)
    }
}
