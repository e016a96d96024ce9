//! Elements that run as one, compiled: see `compiler::backends::c::linked`.
//!
//! A burst of packets, each with memory of its own, goes through the compiled function, which sees it through an array of mirrors: where each packet is in
//! its memory and what became of it. The function calls back for what it does not do itself; packet and mirror are made to agree before and after.
//!
//! Invariants: while compiled code runs, nobody else uses packets and states; while a call from it runs, it does not. A place that compiled code
//! gives a packet is checked before it is believed.

use crate::build::Compiler;
use crate::cache::{Cache, key};
use crate::code::Library;
use crate::{AotError, Options};
use compiler::backends::c::linked::{self, FUNCTION, Member};
use compiler::mir::Call;
use netil::Verified;
use netil::budget::Budget;
use netil::cluster::{Cluster, Ended, Host};
use netil::exec::{CloneOut, Disposition, DropReason, ExchangeBuffer, Place, Trap, TrapKind};
use netil::layout::Parts;
use netil::machine::Machine;
use netil::module::HandlerKind;
use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

/// A packet as compiled code sees it: `struct nv_packet`.
#[repr(C)]
struct Mirror {
    buffer: *mut u8,
    info: *mut u8,
    time_ns: u64,
    size: u32,
    head: u32,
    len: u32,
    front: u32,
    moved: u32,
    wire_len: u32,
    present: u32,
    copies: u32,
    shown: u32,
    budget: u32,
    outcome: u32,
    member: u32,
    value: u32,
    site: u32,
}

/// A table's memory: `struct nv_table`.
#[repr(C)]
struct Table {
    head: *mut u64,
    slots: *mut u8,
    index: *mut u8,
    groups: *mut u8,
}

/// An element's memories: `struct nv_unit`.
#[repr(C)]
struct Unit {
    tables: *const Table,
    data: *mut u8,
    shared: *mut u8,
    initialised: *const u8,
    exceptions: *mut u32,
    number: *mut u64,
    seed: u64,
}

/// A burst: `struct nv_graph`.
#[repr(C)]
struct Burst {
    packets: *mut Mirror,
    count: u64,
    units: *const Unit,
    call: unsafe extern "C" fn(*mut Burst, u64, u32, u32, *mut u64) -> u64,
    leave: unsafe extern "C" fn(*mut Burst, u64),
    running: *mut c_void,
    budget: u32,
}

type Run = unsafe extern "C" fn(*mut Burst, u32);

/// Linked elements, compiled and loaded.
pub struct Linked {
    run: Run,
    programs: Vec<Arc<Verified>>,
    calls: Vec<Vec<Call>>,
    mirrors: Vec<Mirror>,
    units: Vec<Unit>,
    tables: Vec<Table>,
    _library: Library,
}

// SAFETY: the addresses in mirrors and units are those of the last burst; they are written anew before compiled code sees them again.
unsafe impl Send for Linked {}

/// What calls from compiled code work on.
struct Running<'r> {
    programs: &'r [Arc<Verified>],
    calls: &'r [Vec<Call>],
    mirrors: *mut Mirror,
    packets: &'r mut [ExchangeBuffer<'static>],
    host: &'r mut dyn Host,
    copies: Vec<CloneOut>,
    /// Packets that the host has been told of.
    told: usize,
}

impl Linked {
    /// Compiles members that packets enter at these ports, or finds them in the cache. What lookups in tables of `large` bytes read is fetched ahead.
    ///
    /// # Errors
    /// A member is not for C, there is no compiler, it fails, or the result cannot be loaded.
    pub fn new(members: &[(Arc<Verified>, Member<'_>)], entries: &[(u32, u32)], large: usize, options: &Options) -> Result<Self, AotError> {
        let list: Vec<&Member<'_>> = members.iter().map(|(_, member)| member).collect();
        let made = linked::emit(&list, entries, large)?;
        let compiler = Compiler::system()?;
        let key = key(&[&made.text, &compiler.identity(), std::env::consts::ARCH, env!("CARGO_PKG_VERSION"), "linked"]);
        let cache = if options.no_cache { Cache::passing()? } else { Cache::user().or_else(|_| Cache::passing())? };
        if cache.find(&key)?.is_none() {
            cache.keep(&key, |path| compiler.compile(&made.text, &[], path))?;
        }
        let path = cache.find(&key)?.ok_or_else(|| AotError::Load("it is gone from the cache".to_owned()))?;
        let library = Library::open(&path)?;
        let at = library.symbol(FUNCTION).ok_or_else(|| AotError::Load(format!("it has no function {FUNCTION}")))?;
        // SAFETY: the text defines a function of that name with this signature.
        let run = unsafe { std::mem::transmute::<NonNull<c_void>, Run>(at) };
        let programs = members.iter().map(|(program, _)| Arc::clone(program)).collect();
        Ok(Self { run, programs, calls: made.calls, mirrors: Vec::new(), units: Vec::new(), tables: Vec::new(), _library: library })
    }
}

impl Cluster for Linked {
    fn run(&mut self, entry: u32, packets: &mut Vec<ExchangeBuffer<'static>>, budget: u32, host: &mut dyn Host) {
        self.prepare(packets, host);
        let mut running = Running {
            programs: &self.programs,
            calls: &self.calls,
            mirrors: self.mirrors.as_mut_ptr(),
            packets,
            host,
            copies: Vec::new(),
            told: 0,
        };
        let mut burst = Burst {
            packets: self.mirrors.as_mut_ptr(),
            count: self.mirrors.len() as u64,
            units: self.units.as_ptr(),
            call,
            leave,
            running: (&raw mut running).cast(),
            budget,
        };
        // SAFETY: the code was compiled for these programs and takes this structure. Mirrors and units point to memory of packets and states, which
        // live until the end of this function; `call` and `leave` bring the pointers up to date where they change them.
        unsafe { (self.run)(&raw mut burst, entry) };
        let told = running.told;
        for (mirror, packet) in self.mirrors.iter().zip(packets.drain(..)).skip(told) {
            tell(mirror, packet, host);
        }
    }
}

impl Linked {
    /// Makes mirrors and units for a burst.
    fn prepare(&mut self, packets: &mut [ExchangeBuffer<'static>], host: &mut dyn Host) {
        self.mirrors.clear();
        let info = self.programs.first().map_or(0, |p| p.module().info_size as usize);
        for packet in packets {
            packet.info.resize(info, 0);
            self.mirrors.push(mirror(packet));
        }
        self.tables.clear();
        for (n, program) in self.programs.iter().enumerate() {
            let state = host.state(n as u32);
            state.fit(program);
            self.tables.extend(state.tables.iter_mut().take(program.module().tables.len()).map(|t| table(t.as_mut())));
        }
        self.units.clear();
        let mut tables = self.tables.as_ptr();
        for (n, program) in self.programs.iter().enumerate() {
            let state = host.state(n as u32);
            self.units.push(Unit {
                tables,
                data: state.data.as_mut_ptr(),
                shared: state.shared.as_mut_ptr(),
                initialised: program.module().data.as_ptr(),
                exceptions: state.exceptions.as_mut_ptr(),
                number: &raw mut state.packet_number,
                seed: state.seed,
            });
            tables = tables.wrapping_add(program.module().tables.len());
        }
    }
}

fn table(table: &mut dyn netil::tables::Table) -> Table {
    match table.parts() {
        Some(Parts { head, slots, index, groups }) => {
            Table { head: head.as_mut_ptr(), slots: slots.as_mut_ptr(), index: index.as_mut_ptr(), groups: groups.as_mut_ptr() }
        }
        None => Table { head: null_mut(), slots: null_mut(), index: null_mut(), groups: null_mut() },
    }
}

/// The numbers of `enum` in the C text.
mod outcome {
    pub const LEFT: u32 = 0;
    pub const PORT: u32 = 1;
    pub const VERDICT: u32 = 2;
    pub const REASON: u32 = 3;
    pub const NO_INPUT: u32 = 4;
}

fn mirror(packet: &mut ExchangeBuffer<'static>) -> Mirror {
    let (present, time_ns, wire_len, info) = (packet.is_present().into(), packet.time_ns, packet.orig_len, packet.info.as_mut_ptr());
    let (memory, place) = packet.place();
    Mirror {
        buffer: memory.as_mut_ptr(),
        info,
        time_ns,
        size: memory.len() as u32,
        head: place.head as u32,
        len: place.len as u32,
        front: place.front as u32,
        moved: place.moved,
        wire_len,
        present,
        copies: 0,
        shown: 0,
        budget: 0,
        outcome: outcome::LEFT,
        member: 0,
        value: 0,
        site: 0,
    }
}

/// Makes the packet what its mirror says.
fn put_back(mirror: &Mirror, packet: &mut ExchangeBuffer<'static>) {
    let [head, len, front] = [mirror.head, mirror.len, mirror.front].map(|v| v as usize);
    let placed = packet.set_place(Place { head, len, front, moved: mirror.moved });
    debug_assert!(placed, "compiled code has moved a packet out of its memory");
    packet.time_ns = mirror.time_ns;
}

fn end(mirror: &Mirror) -> Option<Ended> {
    let trap = || {
        let kind = TrapKind::from_code(mirror.value).expect("compiled code returns the codes it was given");
        Trap { kind, handler: HandlerKind::Push, inst: mirror.site }
    };
    let disposition = match mirror.outcome {
        outcome::LEFT => return None,
        outcome::PORT => Disposition::Port(mirror.value),
        outcome::VERDICT => Disposition::Drop(DropReason::Verdict),
        outcome::REASON => Disposition::Drop(DropReason::Program(mirror.value)),
        outcome::NO_INPUT => Disposition::Drop(DropReason::NoInput),
        _ => Disposition::Trap(trap()),
    };
    Some(Ended { member: mirror.member, disposition })
}

/// Limbs of the largest array of operands: a `hash` of 255 words.
const OPERANDS: usize = 256;

/// Work that compiled code leaves to the runtime.
///
/// # Safety
/// Called only by compiled code that [`Linked::run`] has called, with the burst that it was given, the number of a packet of it, a call of that unit's table, and
/// the call's operands.
unsafe extern "C" fn call(burst: *mut Burst, i: u64, unit: u32, index: u32, operands: *mut u64) -> u64 {
    // SAFETY: compiled code hands on the burst that it was given.
    let running = unsafe { (*burst).running };
    // SAFETY: `Linked::run` stored a `Running` that lives until compiled code returns, and compiled code does not use it.
    let running = unsafe { &mut *running.cast::<Running<'_>>() };
    // SAFETY: there is a mirror for every packet.
    let mirror_of = unsafe { running.mirrors.add(i as usize) };
    // SAFETY: compiled code does not use it during the call.
    let mirror_of = unsafe { &mut *mirror_of };
    let call = running.calls[unit as usize][index as usize];
    // SAFETY: the text has an array of at least so many limbs for this call.
    let slot = unsafe { std::slice::from_raw_parts_mut(operands, limbs(call).min(OPERANDS)) };
    let packet = &mut running.packets[i as usize];
    put_back(mirror_of, packet);
    let mut budget = Budget(mirror_of.budget);
    let (shown, copies) = (mirror_of.shown, mirror_of.copies);
    let state = running.host.state(unit);
    let sent = running.copies.len();
    let mut after = (shown, copies);
    let machine = Machine { buffer: packet, state, clones: &mut running.copies, index: i as u32, shown, copies };
    let result = jit::serve(machine, &running.programs[unit as usize], call, slot, &mut budget);
    after.1 += (running.copies.len() - sent) as u32;
    if let Call::Helper(compiler::mir::Helper::CoproShow(n), _) = call {
        after.0 |= 1 << n;
    }
    let packet = &mut running.packets[i as usize];
    packet.info.resize(running.programs[unit as usize].module().info_size as usize, 0);
    *mirror_of = Mirror { shown: after.0, copies: after.1, budget: budget.0, ..mirror(packet) };
    match result {
        Ok(v) => v.into(),
        Err(trap) => u64::from(trap.code()) << 32,
    }
}

/// Limbs of a call's operands and result.
fn limbs(call: Call) -> usize {
    match call {
        Call::Helper(_, n) => n,
        Call::Random(_) => 0,
        Call::Wide(_, widths, result) => {
            let operands: usize = widths.iter().map(|w| netil::wide::limbs(*w)).sum();
            operands.max(netil::wide::limbs(result)).max(1)
        }
    }
}

/// A packet leaves before the next one is run.
///
/// # Safety
/// As [`call`].
unsafe extern "C" fn leave(burst: *mut Burst, i: u64) {
    // SAFETY: as in `call`.
    let running = unsafe { (*burst).running };
    // SAFETY: as in `call`.
    let running = unsafe { &mut *running.cast::<Running<'_>>() };
    // SAFETY: there is a mirror for every packet, compiled code does not use them during the call, and those up to this packet's are complete.
    let mirrors = unsafe { std::slice::from_raw_parts(running.mirrors, i as usize + 1) };
    let mirror = &mirrors[i as usize];
    let told = std::mem::replace(&mut running.told, i as usize + 1);
    for (mirror, packet) in mirrors.iter().zip(running.packets.iter_mut()).take(i as usize).skip(told) {
        tell(mirror, packet.take(), running.host);
    }
    let packet = &mut running.packets[i as usize];
    put_back(mirror, packet);
    if let Some(end) = end(mirror) {
        let copies = std::mem::take(&mut running.copies);
        running.host.leave(packet.take(), end, copies);
    }
}

/// Tells the host of a packet that has been run.
fn tell(mirror: &Mirror, mut packet: ExchangeBuffer<'static>, host: &mut dyn Host) {
    put_back(mirror, &mut packet);
    if let Some(end) = end(mirror) {
        host.ended(packet, end);
    }
}
