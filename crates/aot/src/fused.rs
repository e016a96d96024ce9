//! Fused elements, compiled: see `compiler::cluster` and `compiler::backends::c::fused`.
//!
//! A burst of packets, which lie in a pool, goes through the compiled function. What became of
//! each, the function notes in its slot. It calls back for what it does not do itself; where such
//! work is on the packet, that is an exchange buffer meanwhile.
//!
//! Invariants: while compiled code runs, nobody else uses the pool and states; while a call from it
//! runs, it does not. A place that compiled code gives a packet is looked at through slices of the
//! pool's memory only; builds with assertions see that it lies there.

mod calls;

use crate::build::{Compiler, HERE, machine};
use crate::burst::{Burst, List, assertions, outcome};
use crate::cache::{Cache, key};
use crate::code::Library;
use crate::{AotError, Options};
use calls::{call, duplicate, leave, look, refill, tell};
use compiler::backends::c::fused::{FUNCTION, emit};
use compiler::cluster::{self, Flows, Member, TURNS, exits};
use compiler::mir::Call;
use netil::Verified;
use netil::cluster::{Cluster, Ended, Host};
use netil::exec::{CloneOut, Disposition, DropReason, Trap, TrapKind};
use netil::fault::Deferred;
use netil::module::HandlerKind;
use netil::number;
use netil::pool::{Detail, Expected, Late, Line, Pool};
use netil::rows::{Table, Unit};
use std::ffi::c_void;
use std::ops::Range;
use std::ptr::{NonNull, null, null_mut};
use std::sync::Arc;

/// No burst, with the functions that compiled code calls.
const EMPTY: Burst = Burst {
    memory: null_mut(),
    slots: null_mut(),
    details: null_mut(),
    burst: null(),
    count: 0,
    units: null(),
    tables: null(),
    call,
    leave,
    look,
    tell: None,
    running: null_mut(),
    lists: null_mut(),
    ended: List::at(null_mut()),
    counts: null_mut(),
    begun: null_mut(),
    latest: 0,
    budget: 0,
    left: 0,
    copies: 0,
    shown: 0,
    expected: null(),
    nothing: null(),
    late: null(),
    spare: null(),
    spares: null(),
    refill,
    duplicate,
    at: 0,
    plain: 0,
    more: null_mut(),
    shared: 0,
    turns: 0,
    beyond: 0,
    numbers: null_mut(),
};

type Run = unsafe extern "C" fn(*mut Burst);

/// Fused elements, compiled and loaded.
pub struct Fused {
    run: Run,
    programs: Vec<Arc<Verified>>,
    calls: Vec<Vec<Call>>,
    units: Vec<Unit>,
    tables: Vec<Table>,
    /// Room for what leaves by each exit and what goes no further.
    lists: Vec<Vec<u32>>,
    /// The lists of slots, as compiled code sees them.
    seen: Vec<List>,
    /// Where among them each list lies: those of exits, and behind them of what members drop.
    places: Vec<u32>,
    dropped: Vec<Ended>,
    /// The most copies of an arrival that compiled code makes, and free slots for them during a
    /// burst.
    copies: usize,
    /// Slots may be in several lists.
    shared: bool,
    /// Packets have numbers, and that of the next which has none.
    numbers: bool,
    next_number: u64,
    spare: Vec<u32>,
    /// The lines of packets that come next, during a burst.
    expected: Vec<Expected>,
    /// Packets of the burst that are still to be copied.
    late: Vec<Late>,
    /// Where the first of them are, of each source.
    lines: Vec<*const Line>,
    /// Units and tables are as the last burst left them, but for what the host has done since.
    kept: bool,
    flows: Flows,
    _library: Library,
}

// SAFETY: the addresses in units, tables and lists are those of the last burst; they are written
// anew before compiled code sees them again.
unsafe impl Send for Fused {}

/// What calls from compiled code work on.
struct Running<'r> {
    programs: &'r [Arc<Verified>],
    calls: &'r [Vec<Call>],
    pool: &'r mut Pool,
    host: &'r mut dyn Host,
    /// Of the burst.
    packets: usize,
    places: &'r [u32],
    dropped: &'r [Ended],
    /// Packets that went no further, and that left at once, by member; those that left by each
    /// exit.
    stayed: &'r mut [u64],
    left: &'r mut [u64],
    copies: Vec<CloneOut>,
    spare: Spare<'r>,
    /// The runtime has done something with members' states.
    called: bool,
    /// The member at hand has set a timer.
    set: bool,
    /// Packets of which members still say when they run.
    told: u32,
    /// What has failed in a call.
    failed: Deferred,
}

/// Slots that are taken for copies at a time.
const SPARE: usize = 256;
/// Packets of a burst of which members say when they run: it takes ten times as long as not to say
/// it.
const TOLD: u32 = 64;

impl Fused {
    /// Compiles members that packets enter at these ports, or finds them in the cache.
    ///
    /// # Errors
    /// A member is not for C, there is no compiler, it fails, or the result cannot be loaded.
    pub fn new(
        members: &[(Arc<Verified>, Member<'_>)],
        entries: &[(u32, u32)],
        cluster: cluster::Options,
        options: &Options,
    ) -> Result<Self, AotError> {
        let list: Vec<&Member<'_>> = members.iter().map(|(_, member)| member).collect();
        let numbers = cluster.numbers || list.iter().any(|member| member.func.draws());
        let cluster = cluster::Options { numbers, ..cluster };
        let mut made = emit(&list, entries, cluster)?;
        made.text += &assertions();
        let compiler = Compiler::system()?;
        let key = key(&[&made.text, &compiler.identity(), &machine(), std::env::consts::ARCH, env!("CARGO_PKG_VERSION"), "linked"]);
        let cache = if options.no_cache { Cache::passing()? } else { Cache::user().or_else(|_| Cache::passing())? };
        let path = cache.find_or_make(&key, |path| compiler.compile_parts(&made.text, HERE, path))?;
        let library = Library::open(&path)?;
        let at = library.symbol(FUNCTION).ok_or_else(|| AotError::Load(format!("it has no function {FUNCTION}")))?;
        let programs = members.iter().map(|(program, _)| Arc::clone(program)).collect();
        let dropped: Vec<Ended> = made.dropped.into_iter().map(dropped).collect();
        let lists = vec![Vec::new(); exits(&list) as usize + dropped.len() + 1];
        let flows = Flows::new(list.iter().map(|member| member.links.clone()).collect(), entries, made.counters);
        Ok(Self {
            // SAFETY: the text defines a function of that name with this signature.
            run: unsafe { std::mem::transmute::<NonNull<c_void>, Run>(at) },
            programs,
            calls: made.calls,
            units: Vec::new(),
            tables: Vec::new(),
            lists,
            seen: Vec::new(),
            places: made.places,
            dropped,
            copies: made.copies as usize,
            shared: made.shared,
            numbers,
            next_number: 0,
            spare: Vec::new(),
            expected: Vec::new(),
            late: Vec::new(),
            lines: Vec::new(),
            kept: false,
            flows,
            _library: library,
        })
    }
}

/// Whether a burst is these packets: the first of each, then the second of each and so on.
fn in_turns(late: &[Late], slots: &[u32]) -> bool {
    let takes_turn = |(late, slot): (&Late, &u32)| late.slot == *slot;
    let is_whole = |one: &Late| one.step as usize == late.len() && one.count * late.len() == slots.len();
    late.len() <= TURNS && late.iter().all(is_whole) && late.iter().zip(slots).all(takes_turn)
}

fn dropped((member, reason): (u32, DropReason)) -> Ended {
    Ended { member, disposition: Disposition::Drop(reason) }
}

impl Cluster for Fused {
    fn run(&mut self, slots: &[u32], budget: u32, pool: &mut Pool, host: &mut dyn Host) {
        if self.numbers {
            pool.keep_numbers(true);
            pool.number_all(slots, &mut self.next_number);
        }
        if !(std::mem::take(&mut self.kept) && host.is_unchanged()) {
            self.prepare(host);
        }
        let ended = self.empty_lists(self.longest(slots.len(), pool));
        let coming = self.coming(slots, pool);
        let mut burst = Burst {
            burst: slots.as_ptr(),
            count: slots.len() as u64,
            units: self.units.as_ptr(),
            tables: self.tables.as_ptr(),
            lists: self.seen.as_mut_ptr(),
            ended,
            counts: self.flows.counts.as_mut_ptr(),
            begun: self.flows.begun.as_mut_ptr(),
            latest: pool.latest(),
            budget,
            tell: host.measures().then_some(tell),
            ..coming
        };
        burst.find(pool);
        let (programs, calls, dropped) = (&self.programs[..], &self.calls[..], &self.dropped[..]);
        let (stayed, left, places) = (&mut self.flows.stayed[..], &mut self.flows.exits[..], &self.places[..]);
        let (packets, copies, spare) = (slots.len(), Vec::new(), Spare { most: self.copies, slots: &mut self.spare });
        let mut running = Running {
            programs,
            calls,
            pool,
            host,
            packets,
            places,
            dropped,
            stayed,
            left,
            copies,
            spare,
            called: false,
            set: false,
            told: TOLD,
            failed: Deferred::default(),
        };
        burst.running = (&raw mut running).cast();
        // SAFETY: the code was compiled for these programs and takes this structure. Its pointers
        // are to memory of pool and states, to what is expected, and to lines that `late` keeps as
        // they are, of each source as many as it has packets in the burst (`in_turns`); all live
        // until the end of this function; `call` and `leave` bring the pointers up to date where
        // they change them. Each list has room for the burst.
        unsafe { (self.run)(&raw mut burst) };
        running.failed.go_on();
        running.hand_over(&mut burst);
        running.give_back(&burst);
        self.kept = !running.called;
        self.late.clear();
    }

    fn brings(&self) -> bool {
        true
    }

    fn makes_copies(&self) -> bool {
        self.copies > 0
    }

    fn entered(&self) -> Vec<u64> {
        self.flows.entered()
    }
}

impl Running<'_> {
    /// No more packets are run than the host lets.
    fn limit(&self, burst: &mut Burst) {
        burst.count = self.packets.min(self.host.most()) as u64;
    }

    /// What is in the n-th list, which is then empty.
    fn list<'l>(&self, burst: &mut Burst, n: usize) -> &'l [u32] {
        // SAFETY: `Fused::run` made so many lists, each of which has a place.
        let list = unsafe { burst.lists.add(self.places[n] as usize) };
        // SAFETY: they live until compiled code returns, which does not use them during the call.
        let slots = listed(unsafe { &mut *list });
        check(self.pool, slots);
        slots
    }

    /// Finds slots for an arrival's copies: false if there are too few, or copies are the
    /// runtime's.
    fn refill(&mut self, burst: &mut Burst) -> bool {
        let plain = burst.tell.is_some() || !self.pool.is_alike() || self.host.records();
        let slots = &mut *self.spare.slots;
        slots.drain(..slots.len() - burst.left());
        if !plain {
            self.pool.take(SPARE.max(self.spare.most), slots);
        }
        let Range { start, end } = slots.as_ptr_range();
        (burst.spare, burst.spares) = (start, end);
        !plain && slots.len() >= self.spare.most
    }

    /// Gives back the slots that no copy was made in, so that the next burst finds them in the same
    /// order.
    fn give_back(&mut self, burst: &Burst) {
        let slots = &mut *self.spare.slots;
        slots.drain(..slots.len() - burst.left());
        slots.reverse();
        self.pool.give_back(slots);
        slots.clear();
    }

    /// Copies a packet into the next slot for copies, which is there.
    fn duplicate(&mut self, burst: &mut Burst, slot: u32) -> u32 {
        let slots = &self.spare.slots;
        let copy = slots[slots.len() - burst.left()];
        // One fewer is left; the last is one behind the others' end.
        burst.spare = burst.spare.wrapping_add(1);
        let mut packet = self.packet(slot);
        let mut copied = packet.clone();
        copied.number = number::branch(&mut packet.number);
        self.pool.lower(copy, copied);
        self.pool.lower(slot, packet);
        self.pool.note(copy, burst.at);
        copy
    }

    /// Gives the host what has left so far, and empties the lists.
    fn hand_over(&mut self, burst: &mut Burst) {
        self.pool.share(std::mem::take(&mut burst.shared));
        let exits = self.places.len() - self.dropped.len();
        // Without copies no more leaves than came.
        let mut rest = if self.spare.most == 0 { burst.count as usize } else { usize::MAX };
        for n in 0..exits {
            let slots = self.list(burst, n);
            if !slots.is_empty() {
                self.left[n] += slots.len() as u64;
                self.host.exit(n as u32, slots, self.pool);
                rest = rest.saturating_sub(slots.len());
                if rest == 0 {
                    return;
                }
            }
        }
        for (n, end) in (exits..).zip(self.dropped) {
            let slots = self.list(burst, n);
            if !slots.is_empty() {
                self.stayed[end.member as usize] += slots.len() as u64;
                // Quick forms drop by numbers, and only packets that are there.
                self.host.ended_there(*end, slots, self.pool);
            }
        }
        let mut rest = listed(&mut burst.ended);
        while let Some(first) = rest.first() {
            let first = self.pool.detail(*first);
            let alike = rest.iter().take_while(|slot| is_alike(&self.pool.detail(**slot), &first)).count();
            let (slots, others) = rest.split_at(alike);
            let end = end(&first);
            self.stayed[end.member as usize] += slots.len() as u64;
            self.host.ended(end, slots, self.pool);
            rest = others;
        }
    }
}

/// What is in a list, which is then empty.
fn listed<'l>(list: &mut List) -> &'l [u32] {
    let end = std::mem::replace(&mut list.end, list.slots);
    if end == list.slots {
        return &[];
    }
    // SAFETY: both are places in one vector; compiled code has moved the end on by what it has
    // written.
    let count = unsafe { end.offset_from_unsigned(list.slots) };
    // SAFETY: compiled code has written that many slots' numbers, and does not write to the list
    // before what is made of it is gone: the function that runs it, or the one that it calls, ends
    // first. The room was made for the burst and stays until then.
    unsafe { std::slice::from_raw_parts(list.slots, count) }
}

/// What compiled code made of packets' places. The pool looks at its memory through slices whatever
/// these are; so this finds mistakes, and is not needed for what is right.
fn check(pool: &Pool, slots: &[u32]) {
    debug_assert!(pool.check(slots), "compiled code has moved a packet out of its memory");
}

impl Fused {
    /// How many slots a list may have of so many packets: each slot once, and again for each copy
    /// that is in its packet's.
    fn longest(&self, packets: usize, pool: &Pool) -> usize {
        let slots = if self.copies > 0 { pool.size() } else { packets };
        slots + if self.shared { packets * self.copies } else { 0 }
    }

    /// Lists with room for a burst, which are empty behind each: what it gives is that of what goes
    /// no further.
    fn empty_lists(&mut self, packets: usize) -> List {
        let packets = packets.max(1);
        if self.lists.last().is_some_and(|last| last.len() < packets) {
            self.seen.clear();
            for list in &mut self.lists {
                list.resize(packets, 0);
                self.seen.push(List::at(list.as_mut_ptr()));
            }
        }
        List::at(self.lists.last_mut().map_or(null_mut(), |last| last.as_mut_ptr()))
    }

    /// What of a burst is about packets that come next, and about its own that are still to be
    /// copied.
    fn coming(&mut self, slots: &[u32], pool: &mut Pool) -> Burst {
        let beyond = self.find_late(slots, pool);
        pool.take_expected(&mut self.expected);
        let Range { start: expected, end: nothing } = self.expected.as_ptr_range();
        Burst { expected, nothing, late: self.lines.as_ptr(), turns: self.lines.len() as u64, beyond, ..EMPTY }
    }

    /// Finds the packets that the pool leaves to compiled code to copy, and how far it is from one
    /// to that of the next burst. It has those of whole bursts for which sources take turns, as it
    /// is but where a source begins anew.
    fn find_late(&mut self, slots: &[u32], pool: &mut Pool) -> u64 {
        pool.take_late(&mut self.late);
        self.lines.clear();
        if !in_turns(&self.late, slots) {
            self.late.iter().for_each(|late| pool.put_late(late));
            return 0;
        }
        self.lines.extend(self.late.iter().map(|late| late.lines().as_ptr()));
        self.late.first().map_or(0, |late| size_of_val(late.lines()) as u64)
    }

    /// Makes units for a burst.
    fn prepare(&mut self, host: &mut dyn Host) {
        self.tables.clear();
        self.units.clear();
        for (n, program) in self.programs.iter().enumerate() {
            let state = host.state(n as u32);
            self.units.push(Unit::of(program, state));
            self.tables.extend(state.tables.iter_mut().take(program.module().tables.len()).map(|t| Table::of(t.as_mut()).0));
        }
    }
}

/// Whether two packets ended in the same way.
fn is_alike(a: &Detail, b: &Detail) -> bool {
    (a.member, a.outcome, a.value, a.site) == (b.member, b.outcome, b.value, b.site)
}

fn end(detail: &Detail) -> Ended {
    let trap = || {
        let kind = TrapKind::from_code(detail.value).expect("compiled code returns the codes it was given");
        Trap { kind, handler: HandlerKind::Push, inst: detail.site }
    };
    let disposition = match detail.outcome {
        outcome::PORT => Disposition::Port(detail.value),
        outcome::VERDICT => Disposition::Drop(DropReason::Verdict),
        outcome::REASON => Disposition::Drop(DropReason::Program(detail.value)),
        outcome::NO_INPUT => Disposition::Drop(DropReason::NoInput),
        _ => Disposition::Trap(trap()),
    };
    Ended { member: detail.member, disposition }
}

/// Slots for copies that compiled code makes.
struct Spare<'r> {
    /// How many an arrival may need.
    most: usize,
    slots: &'r mut Vec<u32>,
}
