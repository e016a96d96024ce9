//! The engine: builds frames, calls compiled code, reads what it gives back.

use crate::JitError;
use crate::calls::{call, entry, refresh, wide_job};
use crate::frame::{Frame, exit};
use crate::host::Host;
use crate::lower::{FunctionKind, check_size};
use crate::unit::Unit;
use compiler::host;
use compiler::mir::Func;
use compiler::passes;
use netil::Engine;
use netil::exec::{
    CloneOut, Disposition, DropReason, EXCEPTIONS, ExchangeBuffer, Outcome, PacketSource, Packets, Selection, State, Trap, TrapKind, filled,
};
use netil::fault::Deferred;
use netil::interp::pushed_nothing;
use netil::machine::Machine;
use netil::module::HandlerKind;
use netil::{Interpreter, Verified};
use std::ptr::null;
use std::sync::{Arc, OnceLock};

/// An engine that runs machine code.
pub struct JitEngine {
    program: Arc<Verified>,
    interpreter: Interpreter,
    push: Option<Handler>,
    pull: Option<Handler>,
    select: Option<Arc<Unit>>,
    wire_lens: Vec<u32>,
    times: Vec<u64>,
}

/// A handler, compiled when it is first run: those of elements that run fused are not.
#[derive(Clone)]
struct Handler {
    func: Arc<Func>,
    /// The compiled handler, for all engines that were made of one; `None` if it cannot be
    /// compiled, and is left to the interpreter.
    run: Arc<OnceLock<Option<Unit>>>,
}

impl JitEngine {
    /// Compiles a program: a filter in the shape for bursts, other handlers in the shape for one
    /// packet.
    pub fn new(program: Arc<Verified>) -> Result<Self, JitError> {
        Self::with_options(program, &passes::Options::default())
    }

    /// Compiles a program, with passes left out.
    pub fn with_options(program: Arc<Verified>, options: &passes::Options) -> Result<Self, JitError> {
        check_slices()?;
        let push = Handler::new(&program, HandlerKind::Push, options)?;
        let pull = Handler::new(&program, HandlerKind::Pull, options)?;
        let mut select = None;
        match &push {
            Some(handler) if program.is_filter() => {
                select = Some(Arc::new(Unit::new(&handler.func, program.module(), FunctionKind::Select)?));
            }
            _ => {}
        }
        let interpreter = Interpreter::new(Arc::clone(&program));
        Ok(Self { program, interpreter, push, pull, select, wire_lens: Vec::new(), times: Vec::new() })
    }

    /// One for this program, or one that runs like it, with what was compiled.
    fn of(&self, program: &Arc<Verified>) -> Self {
        Self {
            program: Arc::clone(program),
            interpreter: Interpreter::new(Arc::clone(program)),
            push: self.push.clone(),
            pull: self.pull.clone(),
            select: self.select.clone(),
            wire_lens: Vec::new(),
            times: Vec::new(),
        }
    }

    /// The push handler as it was optimised.
    pub(crate) fn push_func(&self) -> Option<Arc<Func>> {
        Some(Arc::clone(&self.push.as_ref()?.func))
    }
}

impl Handler {
    fn new(program: &Verified, kind: HandlerKind, options: &passes::Options) -> Result<Option<Self>, JitError> {
        let Some((func, _)) = compiler::optimised(program, kind, options).map_err(JitError::Middle)? else { return Ok(None) };
        check_size(&func)?;
        Ok(Some(Self { func: Arc::new(func), run: Arc::default() }))
    }

    fn unit(&self, program: &Verified) -> Option<&Unit> {
        self.run.get_or_init(|| Unit::new(&self.func, program.module(), FunctionKind::Run).ok()).as_ref()
    }
}

impl Engine for JitEngine {
    fn name(&self) -> &'static str {
        "jit"
    }

    fn as_any(&self) -> Option<&dyn std::any::Any> {
        Some(self)
    }

    fn program(&self) -> &Arc<Verified> {
        &self.program
    }

    fn another(&self) -> Box<dyn Engine> {
        Box::new(self.of(&self.program))
    }

    fn for_alike(&self, program: &Arc<Verified>) -> Option<Box<dyn Engine>> {
        Some(Box::new(self.of(program)))
    }

    fn compile(&self) {
        self.push.iter().chain(&self.pull).for_each(|handler| _ = handler.unit(&self.program));
    }

    fn init(&mut self, state: &mut State) -> Result<(), Disposition> {
        self.interpreter.init(state)
    }

    fn run(&mut self, kind: HandlerKind, burst: &mut [ExchangeBuffer<'_>], state: &mut State, out: &mut Outcome) {
        let handler = match kind {
            HandlerKind::Push => self.push.as_ref(),
            HandlerKind::Pull => self.pull.as_ref(),
            HandlerKind::Init => None,
        };
        // A filter whose one-packet shape cannot be built runs in the interpreter; so does a kind
        // that the program lacks.
        let Some(unit) = handler.and_then(|h| h.unit(&self.program)) else {
            return self.interpreter.run(kind, burst, state, out);
        };
        out.clear();
        state.fit(&self.program);
        // Compiled code and calls from it use the state in turn. The exception table, which lies in
        // it, is compiled code's alone: a copy keeps what both hold apart.
        let mut exceptions = state.exceptions;
        for (i, buffer) in burst.iter_mut().enumerate() {
            state.number(buffer);
            let disposition = one(&self.program, unit, kind, buffer, state, &mut exceptions, &mut out.clones, i as u32, None);
            out.dispositions.push(disposition);
        }
        state.exceptions = exceptions;
    }

    fn pull(&mut self, request: &mut ExchangeBuffer<'_>, state: &mut State, source: &mut dyn PacketSource, out: &mut Outcome) {
        let Some(unit) = self.pull.as_ref().and_then(|h| h.unit(&self.program)) else {
            return self.interpreter.pull(request, state, source, out);
        };
        out.clear();
        state.fit(&self.program);
        let mut exceptions = state.exceptions;
        let (kind, clones) = (HandlerKind::Pull, &mut out.clones);
        state.number(request);
        let disposition = one(&self.program, unit, kind, request, state, &mut exceptions, clones, 0, Some(source));
        out.dispositions.push(disposition);
        state.exceptions = exceptions;
    }

    fn select(&mut self, packets: &Packets<'_>, state: &mut State, out: &mut Selection) {
        let Some(unit) = &self.select else { return self.interpreter.select(packets, state, out) };
        out.reset(packets.frames.len());
        state.fit(&self.program);
        let uses = self.program.uses();
        let wire_lens = if uses.wire_len {
            filled(&mut self.wire_lens, packets.wire_len, packets.frames, |f| u32::try_from(f.len()).unwrap_or(u32::MAX))
        } else {
            null()
        };
        let times = if uses.time { filled(&mut self.times, packets.time_ns, packets.frames, |_| 0) } else { null() };
        let mut exceptions = state.exceptions;
        let host = host::Host { program: &self.program, calls: &unit.calls, kind: HandlerKind::Push, machine: None };
        let mut host = Host { host, jobs: &unit.jobs, failed: Deferred::default() };
        let mut frame = Frame {
            frames: packets.frames.as_ptr().cast(),
            count: packets.frames.len() as u64,
            bits: out.bits.as_mut_ptr(),
            wire_lens,
            times,
            ..frame(&self.program, unit, state, &mut exceptions)
        };
        frame.host = (&raw mut host).cast();
        // SAFETY: the code was compiled in the shape that takes a frame and gives nothing.
        let code = unsafe { std::mem::transmute::<*const u8, unsafe extern "C" fn(*mut Frame)>(unit.code.entry()) };
        // SAFETY: everything the frame points to lives until the end of this function and is used
        // by nobody else; `bits` has a word for every 64 packets, `frames`, `wire_lens` and `times`
        // an entry for each.
        unsafe { code(&raw mut frame) };
        host.failed.go_on();
    }
}

/// A frame without a packet.
fn frame(program: &Verified, unit: &Unit, state: &mut State, exceptions: &mut [u32; EXCEPTIONS]) -> Frame {
    Frame {
        data: state.data.as_mut_ptr(),
        shared: state.shared.as_mut_ptr(),
        initialised: program.module().data.as_ptr(),
        exceptions: exceptions.as_mut_ptr(),
        tables: unit.table_pointers.as_ptr(),
        ..Frame::empty(call, wide_job, entry, state.budget)
    }
}

/// Runs a handler on one packet, with a state that fits the program.
#[allow(clippy::too_many_arguments, reason = "all that a run touches")]
fn one(
    program: &Verified,
    unit: &Unit,
    kind: HandlerKind,
    buffer: &mut ExchangeBuffer<'_>,
    state: &mut State,
    exceptions: &mut [u32; EXCEPTIONS],
    clones: &mut Vec<CloneOut>,
    index: u32,
    source: Option<&mut dyn PacketSource>,
) -> Disposition {
    if let Some(nothing) = pushed_nothing(kind, buffer) {
        return nothing;
    }
    buffer.info.resize(program.module().info_size as usize, 0);
    if program.uses().packet_writes {
        buffer.bytes_mut();
    }
    let mut frame = Frame { port: buffer.port, ..frame(program, unit, state, exceptions) };
    refresh(&mut frame, buffer);
    let source = source.map(|source| source as &mut dyn PacketSource);
    let machine = Some(Machine { buffer, state, clones, index, shown: 0, copies: 0, source });
    let mut host = Host { host: host::Host { program, calls: &unit.calls, kind, machine }, jobs: &unit.jobs, failed: Deferred::default() };
    frame.host = (&raw mut host).cast();
    // SAFETY: the code was compiled in the shape that takes a frame and gives a number.
    let code = unsafe { std::mem::transmute::<*const u8, unsafe extern "C" fn(*mut Frame) -> u64>(unit.code.entry()) };
    // SAFETY: everything the frame points to lives until the end of this function; compiled code
    // and `call` use it in turn, and a program that writes packets has a buffer of its own.
    let result = unsafe { code(&raw mut frame) };
    host.failed.go_on();
    disposition(result, kind, frame.trap_site)
}

/// What compiled code says of the packet.
pub(crate) fn disposition(result: u64, kind: HandlerKind, inst: u32) -> Disposition {
    let number = (result >> 32) as u32;
    match result & 0xffff_ffff {
        exit::PORT => Disposition::Port(number),
        exit::DROP_PROGRAM => Disposition::Drop(DropReason::Program(number)),
        exit::NO_INPUT => Disposition::Drop(DropReason::NoInput),
        exit::TRAP => {
            let kind_of_trap = TrapKind::from_code(number).expect("compiled code returns the codes it was given");
            Disposition::Trap(Trap { kind: kind_of_trap, handler: kind, inst })
        }
        _ => Disposition::Drop(DropReason::Verdict),
    }
}

/// Compiled code reads `[&[u8]]` as pairs of address and length, which the language does not
/// promise: see that it is so.
///
/// # Errors
/// It is not so.
fn check_slices() -> Result<(), JitError> {
    let slice: &[u8] = &[1, 2, 3];
    // SAFETY: a reference to a slice has the size of two addresses and any bits of it are numbers.
    let pair: [usize; 2] = unsafe { std::mem::transmute(slice) };
    if pair == [slice.as_ptr() as usize, 3] { Ok(()) } else { Err(JitError::Backend("slices are not address and length".to_owned())) }
}
