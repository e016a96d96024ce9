//! Handlers of an application's elements, fused: one function takes a packet from element to
//! element until it leaves them.
//!
//! ```text
//!  slots ─▶ handler of the entry ──port──▶ handler behind it ──port──▶ … ─▶ lists of exits ─▶ host
//! ```
//!
//! The handlers are lowered together (`lower::fused`), in several functions (parts) where one would
//! be too large for Cranelift; one frame serves a packet on its whole way. Where tables are large,
//! slices of the handlers prefetch for the packets that come next (`ahead`). The packet stays in
//! its slot of the pool; what is rare (packets made anew, memory copied) makes an exchange buffer
//! of it (`packet`). Copies have slots of their own (`copies`).
//!
//! Invariants: a packet goes all its way before the next one starts, as in the reference schedule.
//! While compiled code runs, nobody else uses pool and states; while a call from it runs, it does
//! not.
//!
//! Source: NetVM paper, section 5.2. Left out: optimisation of the elements' MIR together.

mod calls;
mod compile;
mod constants;
mod copies;
mod packet;
mod prefetch;
mod rows;

use crate::engine::JitEngine;
use crate::frame::{Frame, Gone, exit, start};
use crate::lower::fused::has;
use crate::unit::Unit;
use compile::{Compiled, Part};
use compiler::cluster::Flows;
use compiler::mir::{Func, Helper};
use copies::Copies;
use netil::Verified;
use netil::cluster::{Cluster, Ended, Host, LinkTarget};
use netil::engine::Engine;
use netil::exec::{CloneOut, Disposition, TrapKind};
use netil::fault::Deferred;
use netil::module::HandlerKind;
use netil::pool::Pool;
use prefetch::Prefetch;
use rows::{Leaving, Rows};
use std::sync::Arc;

/// Packets of a burst of which members say when they run: of fewer, elements of a few nanoseconds
/// are lost in what looking at the clock takes.
const TOLD: u32 = 1024;

/// In bursts of fewer packets a member's memories are looked for when the first packet comes to it.
const EAGER: usize = 16;

/// An element's push handler, with where its ports lead.
pub struct Member {
    program: Arc<Verified>,
    func: Arc<Func>,
    links: Vec<(u32, LinkTarget)>,
    /// By the port's id.
    ways: Vec<Option<LinkTarget>>,
}

impl Member {
    /// The push handler of an engine; `None` if it has none, or runs other than as machine code.
    pub fn of(engine: &dyn Engine, ways: &[(u32, LinkTarget)]) -> Option<Self> {
        let engine: &JitEngine = engine.as_any()?.downcast_ref()?;
        let (func, program) = (engine.push_func()?, Arc::clone(engine.program()));
        let mut by_port = Vec::new();
        for (port, way) in ways {
            by_port.resize(by_port.len().max(*port as usize + 1), None);
            by_port[*port as usize] = Some(*way);
        }
        Some(Self { program, func, links: ways.to_vec(), ways: by_port })
    }

    /// Where a port leads.
    fn way(&self, port: u32) -> Option<LinkTarget> {
        self.ways.get(port as usize).copied().flatten()
    }

    /// The handler as it was optimised.
    pub fn func(&self) -> &Func {
        &self.func
    }
}

/// Members whose handlers are fused.
pub struct Chain {
    members: Arc<[Member]>,
    entries: Vec<(u32, u32)>,
    parts: Arc<[Part]>,
    /// By member the part that it is in.
    part_of: Vec<usize>,
    rows: Rows,
    burst: u64,
    /// Bytes of annotations.
    info_size: usize,
    leaving: Leaving,
    flows: Flows,
    /// Members send copies, and those of the arrival at hand.
    sends_copies: bool,
    ways: Copies,
    /// Members draw random numbers, and the number of the next packet that has none.
    draws: bool,
    next_number: u64,
    prefetch: Option<Prefetch>,
    /// All rows are as the last burst left them, but for what the host has done since.
    kept: bool,
}

// SAFETY: addresses of states and lists are those of the last burst, and are written anew before
// anything reads them; the others are of what members have.
unsafe impl Send for Chain {}

/// A burst on its way: what calls from compiled code work on.
struct Running<'r> {
    members: &'r [Member],
    parts: &'r [Part],
    part_of: &'r [usize],
    rows: &'r mut Rows,
    burst: u64,
    pool: &'r mut Pool,
    host: &'r mut dyn Host,
    leaving: &'r mut Leaving,
    flows: &'r mut Flows,
    /// Slots of the burst, up to which packets are run for now, and the part that runs.
    slots: &'r [u32],
    upto: usize,
    part: usize,
    /// Copies that the member at hand has sent and that leave with its packet, and those that go
    /// through members.
    copies: Vec<CloneOut>,
    ways: &'r mut Copies,
    takes_copies: bool,
    /// Memories are looked for when packets come to members.
    lazy: bool,
    /// Packets of which members still say when they run, and the member that runs.
    told: u32,
    runs: Option<u32>,
    entries: &'r [(u32, u32)],
    info_size: usize,
    prefetch: Option<&'r mut Prefetch>,
    /// All rows were right before the burst, and are after it.
    known: bool,
    keeps: bool,
    /// What has failed in a call.
    failed: Deferred,
}

impl Chain {
    /// Fuses members that packets enter at these ports: member, port.
    ///
    /// Lookups in tables of more than `large` bytes are prefetched.
    ///
    /// # Errors
    /// The number of a member that cannot be compiled.
    pub fn new(members: Vec<Member>, entries: &[(u32, u32)], large: usize) -> Result<Self, usize> {
        let mut rows = Rows::of(&members);
        let Compiled { parts, part_of, prefetch, counters, initialised } = compile::all(&members, &rows.first_tables, entries, large)?;
        rows.initialised = initialised;
        let flows = Flows::new(members.iter().map(|member| member.links.clone()).collect(), entries, counters);
        let leaving = Leaving::of(flows.exits.len());
        let info_size = info_size(&members);
        let sends_copies = members.iter().any(|member| has(&member.func, |helper| matches!(helper, Helper::SendCopy(_))));
        let draws = members.iter().any(|member| member.func.draws());
        Ok(Self {
            members: members.into(),
            entries: entries.to_vec(),
            parts: parts.into(),
            part_of,
            rows,
            burst: 0,
            info_size,
            leaving,
            flows,
            sends_copies,
            ways: Copies::default(),
            draws,
            next_number: 0,
            prefetch,
            kept: false,
        })
    }
}

impl Chain {
    /// Another instance of this code, for a graph with the same members; what is counted is its
    /// own.
    #[must_use]
    pub fn twin(&self) -> Self {
        let rows = Rows { initialised: self.rows.initialised.clone(), ..Rows::of(&self.members) };
        Self {
            members: Arc::clone(&self.members),
            entries: self.entries.clone(),
            parts: Arc::clone(&self.parts),
            part_of: self.part_of.clone(),
            rows,
            burst: 0,
            info_size: self.info_size,
            leaving: Leaving::of(self.leaving.exits.len()),
            flows: self.flows.anew(),
            sends_copies: self.sends_copies,
            ways: Copies::default(),
            draws: self.draws,
            next_number: 0,
            prefetch: self.prefetch.as_ref().map(Prefetch::twin),
            kept: false,
        }
    }
}

/// Bytes of the packets' annotations.
fn info_size(members: &[Member]) -> usize {
    members.iter().map(|member| member.program.module().info_size as usize).max().unwrap_or(0)
}

impl Chain {
    /// Slots' packets are to be run.
    fn begin_burst<'r>(&'r mut self, slots: &'r [u32], pool: &'r mut Pool, host: &'r mut dyn Host) -> Running<'r> {
        let unchanged = host.is_unchanged();
        let known = std::mem::take(&mut self.kept) && unchanged;
        let lazy = slots.len() < EAGER && !unchanged;
        self.burst += u64::from(!known);
        self.leaving.prepare(if self.sends_copies { pool.size() } else { slots.len() });
        Running {
            told: if host.measures() { TOLD } else { 0 },
            takes_copies: self.sends_copies && host.takes_copies(copies::MOST),
            slots,
            upto: usize::MAX,
            members: &self.members,
            entries: &self.entries,
            parts: &self.parts,
            part_of: &self.part_of,
            rows: &mut self.rows,
            burst: self.burst,
            pool,
            host,
            leaving: &mut self.leaving,
            flows: &mut self.flows,
            part: 0,
            copies: Vec::new(),
            ways: &mut self.ways,
            lazy,
            runs: None,
            info_size: self.info_size,
            prefetch: self.prefetch.as_mut(),
            known,
            keeps: !lazy,
            failed: Deferred::default(),
        }
    }
}

impl Cluster for Chain {
    fn run(&mut self, slots: &[u32], budget: u32, pool: &mut Pool, host: &mut dyn Host) {
        if self.draws {
            pool.keep_numbers(true);
            pool.number_all(slots, &mut self.next_number);
        }
        // Without an entry nothing comes in.
        if let Some((member, _)) = self.entries.first().copied() {
            let mut running = self.begin_burst(slots, pool, host);
            let mut frame = running.frame(budget);
            running.run(&mut frame, member);
            running.hand_over(&mut frame);
            self.kept = running.keeps;
        }
    }

    fn makes_copies(&self) -> bool {
        self.sends_copies
    }

    fn another(&self) -> Option<Box<dyn Cluster>> {
        Some(Box::new(Self { prefetch: None, ..self.twin() }))
    }

    fn entered(&self) -> Vec<u64> {
        self.flows.entered()
    }

    fn left(&self) -> Option<Vec<Vec<(u32, u64)>>> {
        Some(self.flows.left())
    }
}

impl<'r> Running<'r> {
    /// A frame without a packet; `budget` is each run's.
    fn frame(&mut self, budget: u32) -> Frame {
        if !self.lazy && !self.known {
            (0..self.members.len()).for_each(|n| self.find(n));
        }
        Frame {
            units: self.rows.units.as_ptr(),
            parts: self.rows.parts.as_ptr(),
            counts: self.flows.counts.as_mut_ptr(),
            begun: self.flows.begun.as_mut_ptr(),
            exits: self.leaving.ends.as_mut_ptr(),
            ended: self.leaving.ended.as_mut_ptr(),
            burst: self.slots.as_ptr(),
            arrive: calls::arrive,
            settle: calls::settle,
            ..Frame::empty(calls::call, calls::wide_job, calls::entry, budget)
        }
    }

    fn find(&mut self, n: usize) {
        let state = self.host.state(n as u32);
        self.rows.find(n, self.burst, &self.members[n].program, state);
    }

    /// The code that runs.
    fn unit(&self) -> &'r Unit {
        &self.parts[self.part].unit
    }

    /// Runs all packets, in groups where slices prefetch for them.
    fn run(&mut self, frame: &mut Frame, member: u32) {
        let far = self.rows.read_now.iter().sum::<usize>();
        let suits = !self.lazy && self.told == 0 && !self.is_strange();
        let Some(prefetch) = self.prefetch.take().filter(|prefetch| suits && prefetch.is_for(far)) else {
            return self.run_group(frame, member, usize::MAX);
        };
        let mut end = 0;
        self.slices(prefetch, frame, prefetch::GROUP);
        while end < self.slots.len().min(self.host.most()) {
            end += prefetch::GROUP;
            self.slices(prefetch, frame, end + prefetch::GROUP);
            self.run_group(frame, member, end);
        }
    }

    /// Runs slices for packets up to one of the burst.
    fn slices(&mut self, prefetch: &mut Prefetch, frame: &mut Frame, upto: usize) {
        frame.ahead_to = upto.min(self.slots.len()) as u64;
        self.find_pool(frame);
        prefetch.run(frame);
    }

    /// Runs packets up to one of the burst, the function of a member those that need nothing of the
    /// runtime.
    fn run_group(&mut self, frame: &mut Frame, member: u32, upto: usize) {
        self.upto = upto;
        frame.count = self.limit() as u64;
        loop {
            self.watch(frame);
            let first = if frame.start == start::NEXT { member } else { frame.member };
            let result = self.step(frame, first);
            let number = (result >> 32) as u32;
            frame.start = start::NEXT;
            match result & 0xffff_ffff {
                exit::DONE if !self.ways.are_under_way() => return,
                exit::DONE => {}
                exit::LOAD => self.begin(frame),
                exit::MEMBER => (frame.member, frame.start) = (number, start::GIVEN),
                exit::EXIT => self.exit(frame, number),
                _ => self.end(frame, result),
            }
            if self.ways.are_under_way() && frame.start == start::NEXT {
                self.next_of_arrival(frame);
            }
        }
    }

    /// No more packets are run than the host lets.
    fn limit(&self) -> usize {
        self.slots.len().min(self.host.most()).min(self.upto)
    }

    /// Says what compiled code is to leave to the runtime.
    fn watch(&self, frame: &mut Frame) {
        let telling = self.told > 0;
        (frame.slow, frame.watched) = ((telling || self.is_strange()).into(), (self.lazy || telling).into());
    }

    /// Whether slots are of another size than those which compiled code knows.
    fn is_strange(&self) -> bool {
        self.pool.info_size() != self.info_size
    }

    /// Makes a slot's packet the one at hand.
    fn begin(&mut self, frame: &mut Frame) {
        let entry = self.pool.slot(frame.slot).entry() as usize;
        self.flows.begun[entry] += 1;
        self.load(frame);
        if self.told > 0 {
            self.told -= 1;
            let nobody = self.members.len() as u32;
            self.host.begin(nobody);
            self.host.end(nobody);
        }
        ((frame.member, frame.port), frame.start) = (self.entries[entry], start::GIVEN);
        if frame.present == 0 {
            self.absent(frame);
        }
    }

    /// There is no packet: the first member traps.
    fn absent(&mut self, frame: &mut Frame) {
        let member = frame.member as usize;
        self.find(member);
        frame.trap_site = 0;
        self.end(frame, exit::TRAP | u64::from(TrapKind::NoPacket.code()) << 32);
        frame.start = start::NEXT;
    }

    /// Runs the function of a member.
    fn step(&mut self, frame: &mut Frame, member: u32) -> u64 {
        self.part = self.part_of[member as usize];
        let Part { unit, code } = &self.parts[self.part];
        (frame.tables, frame.set) = (unit.table_pointers.as_ptr(), 0);
        self.find_pool(frame);
        frame.host = (&raw mut *self).cast();
        // SAFETY: the frame points to the pool, in which the burst's slots are, to lists with room
        // for the burst, and to rows of the members' memories, which all live until the burst's
        // end; compiled code and its calls use them in turn. The code was compiled for these
        // members' programs, whose sizes their memories have.
        let result = unsafe { code(frame) };
        self.failed.go_on();
        if let Some(member) = self.runs.take() {
            self.host.end(member);
        }
        result
    }

    fn find_pool(&mut self, frame: &mut Frame) {
        let (memory, slots, details) = self.pool.parts();
        (frame.pool, frame.slots, frame.details) = (memory.as_mut_ptr(), slots.as_mut_ptr(), details.as_mut_ptr());
    }

    /// A packet comes to a member.
    fn arrive(&mut self, frame: &Frame, member: u32) {
        if self.lazy && self.rows.bursts[member as usize] != self.burst {
            self.find(member as usize);
            self.host.comes(member, frame.time_ns);
        }
        if self.host.measures() {
            if let Some(before) = self.runs.replace(member) {
                self.host.end(before);
            }
            self.host.begin(member);
        }
    }

    /// The packet at hand leaves by an exit.
    fn exit(&mut self, frame: &mut Frame, exit: u32) {
        if frame.set != 0 {
            self.set_timers(frame, frame.member);
        }
        self.store(frame);
        self.leaving.push(exit as usize, frame.slot);
    }

    /// The packet at hand goes no further, or leaves at once: what its function gave.
    fn end(&mut self, frame: &mut Frame, code: u64) {
        let member = frame.member;
        if frame.set != 0 {
            self.set_timers(frame, member);
        }
        let site = if code & 0xffff_ffff == exit::TRAP { frame.trap_site } else { 0 };
        let gone = Gone { code, site, member, slot: frame.slot };
        let ended = ended(&gone);
        let way = match ended.disposition {
            Disposition::Port(port) => self.members[member as usize].way(port),
            _ => None,
        };
        self.store(frame);
        if self.ways.were_sent() {
            return self.go_behind_copies(frame, gone);
        }
        if way.is_none() && self.copies.is_empty() {
            return self.note_gone(frame, gone);
        }
        if self.ways.are_under_way() {
            return self.leave_early(frame, ended, frame.slot);
        }
        self.hand_over(frame);
        self.flows.stayed[member as usize] += 1;
        let copies = std::mem::take(&mut self.copies);
        self.host.leave(ended, frame.slot, copies, self.pool);
        frame.count = self.limit() as u64;
    }

    /// The packet at hand goes no further.
    fn note_gone(&mut self, frame: &mut Frame, gone: Gone) {
        let at = self.leaving.gone(frame.ended);
        self.leaving.ended[at] = gone;
        frame.ended = frame.ended.wrapping_add(1);
    }

    /// A member has set timers, one of which may be due before the next packet.
    fn set_timers(&mut self, frame: &mut Frame, member: u32) {
        frame.set = 0;
        self.store(frame);
        let has_copies = self.ways.are_under_way();
        // No member sets timers and the packet's time: it came with this one.
        if self.host.set_timers(member, self.ways.arrival_of(frame.slot), frame.time_ns) {
            self.settle(frame);
        }
        self.load(frame);
        frame.count = if has_copies { frame.next } else { self.limit() as u64 };
    }

    /// Gives the host what has left so far.
    fn hand_over(&mut self, frame: &mut Frame) {
        for n in 0..self.leaving.exits.len() {
            self.hand_over_some(n, self.leaving.left_by(n), false);
        }
        self.hand_over_gone(frame);
    }

    /// Gives the host so many of those that have left by an exit, `early` if others of their
    /// arrival are still on their way.
    fn hand_over_some(&mut self, n: usize, some: usize, early: bool) {
        if some > 0 {
            self.flows.exits[n] += some as u64;
            let slots = &self.leaving.exits[n][..some];
            match early {
                true => self.host.exit_early(n as u32, slots, self.pool),
                false => self.host.exit(n as u32, slots, self.pool),
            }
            self.leaving.forget(n, some);
        }
    }

    fn hand_over_gone(&mut self, frame: &mut Frame) {
        let gone = self.leaving.gone(frame.ended);
        frame.ended = self.leaving.ended.as_mut_ptr();
        let Leaving { ended: all, alike, .. } = &mut *self.leaving;
        for run in all[..gone].chunk_by(|a, b| (a.code, a.site, a.member) == (b.code, b.site, b.member)) {
            alike.clear();
            alike.extend(run.iter().map(|gone| gone.slot));
            self.flows.stayed[run[0].member as usize] += run.len() as u64;
            self.host.ended(ended(&run[0]), alike, self.pool);
        }
    }
}

/// What became of a packet.
fn ended(gone: &Gone) -> Ended {
    Ended { member: gone.member, disposition: crate::engine::disposition(gone.code, HandlerKind::Push, gone.site) }
}
