//! The straight way of a program ([`super::straight`]) as machine code or compiled C.

use super::arrivals::{Arrived, Times};
use super::packet_info::address_arrival;
use crate::application::linked::handler;
use crate::engines::{Elements, Settings};
use compiler::cluster::Member;
use jit::chain::{self, Chain};
use netil::cluster::{Cluster, Ended, Host, LinkTarget as Link};
use netil::exec::{CloneOut, Disposition, State};
use netil::pool::{Arrival, Pool};
use netil::{Engine, Verified};
use p4::pipeline::ports;
use std::sync::Arc;

/// Packets that are run at once at most.
pub(super) const SLOTS: usize = 256;
/// The way in: its member and port.
const ENTRY: [(u32, u32); 1] = [(0, ports::STRAIGHT)];
/// Exits, in their order.
pub(super) const EXITS: [u32; 2] = [ports::OUT, ports::QUEUED];

/// The program as fused code.
pub(super) struct Fused {
    cluster: Box<dyn Cluster>,
    pub pool: Pool,
    slots: Vec<u32>,
    pub reached: Vec<Reached>,
    /// What became of packets that have clones, or left by no exit; by number.
    pub rare: Vec<(Option<u32>, Vec<CloneOut>)>,
    /// Slots that are free when all packets have been looked at.
    pub free: Vec<u32>,
}

/// What became of a packet.
#[derive(Clone, Copy, Default)]
pub(super) enum Reached {
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
    pub fn run<'b>(&mut self, packets: &[Arrived<'b>], times: &[Times], state: &mut State) {
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
