//! Handlers of an application's elements, chained: a packet goes from one compiled handler to the next until it leaves them.
//!
//! ```text
//!  slots ─▶ handler of the entry ──port──▶ handler behind it ──port──▶ … ─▶ lists of exits ─▶ host
//! ```
//!
//! Each handler is machine code of its own, the same that [`JitEngine`] runs alone; one frame serves a packet on its whole way, and only what differs from
//! handler to handler is stored in between. The packet stays in its slot of the pool: what moves its ends is done on the frame, and only what is rare
//! (copies, packets made anew, coprocessors) makes an exchange buffer of it (`packet`).
//!
//! Invariants: a packet goes all its way before the next one starts, as in the reference schedule. While compiled code runs, nobody else uses pool and
//! states; while a call from it runs, it does not. Places of packets are computed here and not by compiled code.
//!
//! Source: block chaining of dynamic translators (Bellard, QEMU, 2005); NetVM paper, section 5.2. Left out: optimisation across handlers.

mod calls;
mod packet;

use crate::engine::JitEngine;
use crate::frame::Frame;
use crate::unit::Unit;
use compiler::mir::Func;
use netil::Verified;
use netil::cluster::{Cluster, Ended, Host, Way};
use netil::engine::Engine;
use netil::exec::{CloneOut, Disposition, State, Trap, TrapKind};
use netil::module::HandlerKind;
use netil::pool::Pool;
use packet::Place;
use std::ptr::{null, null_mut};
use std::sync::Arc;

/// Packets of a burst of which members say when they run: of fewer, elements of a few nanoseconds are lost in what looking at the clock takes.
const TOLD: u32 = 1024;

/// An element's push handler, with where its ports lead.
pub struct Member {
    program: Arc<Verified>,
    func: Arc<Func>,
    unit: Arc<Unit>,
    /// By the port's id.
    ways: Vec<Option<Way>>,
}

impl Member {
    /// The compiled push handler of an engine; `None` if it has none.
    pub fn of(engine: &dyn Engine, ways: &[(u32, Way)]) -> Option<Self> {
        let engine: &JitEngine = engine.as_any()?.downcast_ref()?;
        let ((func, unit), program) = (engine.push_unit()?, Arc::clone(engine.program()));
        let count = ways.iter().map(|(port, _)| *port as usize + 1).max().unwrap_or(0);
        let mut by_port = vec![None; count];
        ways.iter().for_each(|(port, way)| by_port[*port as usize] = Some(*way));
        Some(Self { program, func, unit, ways: by_port })
    }

    /// The handler as it was optimised.
    pub fn func(&self) -> &Func {
        &self.func
    }
}

/// Where a member's memories lie during a burst.
#[derive(Clone, Copy)]
struct Memories {
    /// The burst.
    burst: u64,
    state: *mut State,
    data: *mut u8,
    shared: *mut u8,
    initialised: *const u8,
    exceptions: *mut u32,
    number: *mut u64,
    tables: *const *const u64,
    code: unsafe extern "C" fn(*mut Frame) -> u64,
}

impl Memories {
    /// Not known yet.
    fn of(member: &Member) -> Self {
        // SAFETY: the code was compiled in the shape that takes a frame and gives a number.
        let code = unsafe { std::mem::transmute::<*const u8, unsafe extern "C" fn(*mut Frame) -> u64>(member.unit.code.entry()) };
        Self {
            burst: 0,
            state: null_mut(),
            data: null_mut(),
            shared: null_mut(),
            initialised: member.program.module().data.as_ptr(),
            exceptions: null_mut(),
            number: null_mut(),
            tables: member.unit.table_pointers.as_ptr(),
            code,
        }
    }

    /// They lie in this state during a burst.
    fn find(&mut self, burst: u64, program: &Verified, state: &mut State) {
        state.fit(program);
        state.tables.iter_mut().for_each(|table| table.tidy());
        (self.data, self.shared) = (state.data.as_mut_ptr(), state.shared.as_mut_ptr());
        (self.exceptions, self.number) = (state.exceptions.as_mut_ptr(), &raw mut state.packet_number);
        (self.burst, self.state) = (burst, state);
    }

    /// The member has run once more.
    fn count_packet(&self) {
        // SAFETY: the state lives until the burst's end, and nothing else uses it while no code runs.
        let number = unsafe { &mut *self.number };
        *number = number.wrapping_add(1);
    }
}

/// Members whose handlers are chained.
pub struct Chain {
    members: Vec<Member>,
    entries: Vec<(u32, u32)>,
    memories: Vec<Memories>,
    burst: u64,
    leaving: Leaving,
    flows: Flows,
}

/// Packets that came into each member, and that left it by each port but at once, which the graph counts.
struct Flows {
    entered: Vec<u64>,
    left: Vec<Vec<u64>>,
}

// SAFETY: addresses in `memories` of states are those of the last burst, and are written anew before anything reads them; the others are of what members have.
unsafe impl Send for Chain {}

/// What is to be handed to the host.
#[derive(Default)]
struct Leaving {
    /// By exit.
    exits: Vec<Vec<u32>>,
    /// What goes no further, in order.
    ended: Vec<(Ended, u32)>,
    /// Of these, some that follow each other and ended alike.
    alike: Vec<u32>,
}

/// A burst on its way: what calls from compiled code work on.
struct Running<'r> {
    members: &'r [Member],
    memories: &'r mut [Memories],
    burst: u64,
    pool: &'r mut Pool,
    host: &'r mut dyn Host,
    leaving: &'r mut Leaving,
    flows: &'r mut Flows,
    /// The packet at hand and the member that has it.
    slot: u32,
    member: usize,
    place: Place,
    copies: Vec<CloneOut>,
    /// Of the member's run: copies sent, coprocessors that were shown the packet, whether it has set a timer.
    sent: u32,
    shown: u32,
    set: bool,
    /// Packets that are run.
    count: usize,
    /// Packets of which members still say when they run.
    told: u32,
    telling: bool,
    /// When the packet came to the member at hand.
    came_ns: u64,
}

/// Where a packet goes on.
enum Next {
    Member(usize, u32),
    Nowhere,
}

impl Chain {
    /// Chains members that packets enter at these ports: member, port.
    pub fn new(members: Vec<Member>, entries: &[(u32, u32)]) -> Self {
        let exit = |way: &Option<Way>| match way {
            Some(Way::Exit(n) | Way::LastExit(n)) => *n as usize + 1,
            _ => 0,
        };
        let exits = members.iter().flat_map(|member| &member.ways).map(exit).max().unwrap_or(0);
        let leaving = Leaving { exits: vec![Vec::new(); exits], ..Leaving::default() };
        let flows = Flows { entered: vec![0; members.len()], left: members.iter().map(|member| vec![0; member.ways.len()]).collect() };
        let memories = members.iter().map(Memories::of).collect();
        Self { flows, members, entries: entries.to_vec(), memories, burst: 0, leaving }
    }
}

impl Chain {
    /// So many packets are to be run.
    fn begin_burst<'r>(&'r mut self, packets: usize, pool: &'r mut Pool, host: &'r mut dyn Host) -> Running<'r> {
        self.burst += 1;
        Running {
            told: if host.measures() { TOLD } else { 0 },
            count: packets.min(host.most()),
            members: &self.members,
            memories: &mut self.memories,
            burst: self.burst,
            pool,
            host,
            leaving: &mut self.leaving,
            flows: &mut self.flows,
            slot: 0,
            member: 0,
            place: Place::default(),
            copies: Vec::new(),
            sent: 0,
            shown: 0,
            set: false,
            telling: false,
            came_ns: 0,
        }
    }
}

impl Cluster for Chain {
    fn run(&mut self, slots: &[u32], budget: u32, pool: &mut Pool, host: &mut dyn Host) {
        let entries = std::mem::take(&mut self.entries);
        let (mut running, mut frame) = (self.begin_burst(slots.len(), pool, host), frame(budget));
        for (n, slot) in slots.iter().enumerate() {
            if n >= running.count {
                break;
            }
            let (member, port) = entries[running.pool.slot(*slot).entry() as usize];
            running.begin(*slot, &mut frame);
            let mut next = Next::Member(member as usize, port);
            while let Next::Member(member, port) = next {
                let disposition = running.step(&mut frame, member, port);
                next = running.go_on(&mut frame, member, disposition, slots.len());
            }
        }
        running.hand_over();
        self.entries = entries;
    }

    fn takes_single_packets(&self) -> bool {
        true
    }

    fn entered(&self) -> Vec<u64> {
        self.flows.entered.clone()
    }

    fn left(&self) -> Option<Vec<Vec<(u32, u64)>>> {
        Some(self.flows.left.iter().map(|ports| (0..).zip(ports.iter().copied()).collect()).collect())
    }
}

/// A frame without a packet; `budget` is each run's.
fn frame(budget: u32) -> Frame {
    Frame {
        packet: null_mut(),
        packet_len: 0,
        wire_len: 0,
        time_ns: 0,
        info: null_mut(),
        data: null_mut(),
        shared: null_mut(),
        initialised: null(),
        exceptions: null_mut(),
        tables: null(),
        call: calls::call,
        wide: calls::wide_job,
        entry: calls::entry,
        port: 0,
        budget,
        trap_site: 0,
        budget_start: budget,
        present: 0,
        moved: 0,
        host: null_mut(),
        frames: null(),
        count: 0,
        bits: null_mut(),
        wire_lens: null(),
        times: null(),
    }
}

impl Running<'_> {
    /// Makes a slot's packet the one at hand.
    fn begin(&mut self, slot: u32, frame: &mut Frame) {
        self.slot = slot;
        self.load(frame);
        self.telling = self.told > 0;
        if self.telling {
            self.told -= 1;
            let nobody = self.members.len() as u32;
            self.host.begin(nobody);
            self.host.end(nobody);
        }
    }

    /// Runs a member on the packet at hand.
    fn step(&mut self, frame: &mut Frame, member: usize, port: u32) -> Disposition {
        if self.memories[member].burst != self.burst {
            self.memories[member].find(self.burst, &self.members[member].program, self.host.state(member as u32));
            self.host.comes(member as u32, frame.time_ns);
        }
        let memories = self.memories[member];
        self.flows.entered[member] += 1;
        if frame.present == 0 {
            memories.count_packet();
            return Disposition::Trap(Trap { kind: TrapKind::NoPacket, handler: HandlerKind::Push, inst: 0 });
        }
        (frame.data, frame.shared, frame.initialised) = (memories.data, memories.shared, memories.initialised);
        (frame.exceptions, frame.tables) = (memories.exceptions, memories.tables);
        (frame.port, frame.budget) = (port, frame.budget_start);
        (self.member, self.sent, self.shown, self.came_ns) = (member, 0, 0, frame.time_ns);
        if self.telling {
            self.host.begin(member as u32);
        }
        frame.host = (&raw mut *self).cast();
        // SAFETY: the frame points to this packet's memory and to the member's memories, which all live until the burst's end; compiled code and its calls
        // use them in turn. The member's code was compiled for its program, whose sizes its memories have.
        let result = unsafe { (memories.code)(frame) };
        if self.telling {
            self.host.end(member as u32);
        }
        memories.count_packet();
        crate::engine::disposition(result, HandlerKind::Push, frame.trap_site)
    }

    /// Lets the packet at hand go on, or end.
    fn go_on(&mut self, frame: &mut Frame, member: usize, disposition: Disposition, packets: usize) -> Next {
        if std::mem::take(&mut self.set) {
            self.set_timers(frame, member, packets);
        }
        let way = match disposition {
            Disposition::Port(port) => self.members[member].ways.get(port as usize).copied().flatten(),
            _ => None,
        };
        match (way, disposition) {
            (Some(Way::Member(to, input)), Disposition::Port(port)) if self.copies.is_empty() => {
                self.flows.left[member][port as usize] += 1;
                return Next::Member(to as usize, input);
            }
            (Some(Way::Exit(exit) | Way::LastExit(exit)), Disposition::Port(port)) if self.copies.is_empty() => {
                self.flows.left[member][port as usize] += 1;
                self.store(frame);
                self.leaving.exits[exit as usize].push(self.slot);
                return Next::Nowhere;
            }
            _ => {}
        }
        self.store(frame);
        let ended = Ended { member: member as u32, disposition };
        if way.is_none() && self.copies.is_empty() {
            self.leaving.ended.push((ended, self.slot));
            return Next::Nowhere;
        }
        self.hand_over();
        let copies = std::mem::take(&mut self.copies);
        self.host.leave(ended, self.slot, copies, self.pool);
        self.count = packets.min(self.host.most());
        Next::Nowhere
    }

    /// The member at hand has set timers, one of which may be due before the next packet.
    fn set_timers(&mut self, frame: &mut Frame, member: usize, packets: usize) {
        self.store(frame);
        if self.host.set_timers(member as u32, self.slot, self.came_ns) {
            self.hand_over();
            self.host.settle(self.pool);
        }
        self.load(frame);
        self.count = packets.min(self.host.most());
    }

    /// Gives the host what has left so far.
    fn hand_over(&mut self) {
        let Leaving { exits, ended, alike } = &mut *self.leaving;
        for (n, slots) in exits.iter_mut().enumerate().filter(|(_, slots)| !slots.is_empty()) {
            self.host.exit(n as u32, slots, self.pool);
            slots.clear();
        }
        for run in ended.chunk_by(|a, b| a.0 == b.0) {
            alike.clear();
            alike.extend(run.iter().map(|(_, slot)| *slot));
            self.host.ended(run[0].0, alike, self.pool);
        }
        ended.clear();
    }
}
