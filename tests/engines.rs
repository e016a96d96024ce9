//! Targets that take modules: the loader, the verifier with the interpreter, the JIT beside the
//! interpreter.

#[cfg(feature = "jit")]
use jit::JitEngine;
use netil::Engine;
#[cfg(feature = "jit")]
use netil::arbitrary::mixer;
use netil::arbitrary::{Options, arbitrary_module, seeded_packet};
use netil::codec::{DecodeLimits, HEADER, MAGIC, VERSION};
use netil::copro::Coprocessor;
use netil::digest::crc32;
use netil::exec::{Disposition, ExchangeBuffer, Outcome, State};
use netil::module::{Entry, HandlerKind};
use netil::{Interpreter, Module, Verified, verify};
use std::sync::Arc;

/// Backward branches and calls of one run: enough to reach everything, too few to wait for.
const BUDGET: u32 = 300;

/// The loader takes only what the encoder writes, and neither it nor the verifier panics or takes
/// much memory. Bytes are loaded as they are and with the length and checksum that they should
/// have, as hardly anything else passes the header.
pub fn module_loader(bytes: &[u8]) {
    load(bytes);
    sealed(bytes).as_deref().into_iter().for_each(load);
}

fn load(bytes: &[u8]) {
    let limits = DecodeLimits { bytes: 1 << 20, ..DecodeLimits::default() };
    if let Ok(module) = Module::from_bytes(bytes, &limits) {
        let again = module.to_bytes().expect("what is decoded can be encoded");
        let (kept, skipped) = common(sections(bytes), sections(&again));
        assert_eq!(kept, sections(&again), "sections that were not there");
        assert!(skipped.iter().all(|section| section[1] & 0x80 != 0), "sections lost");
        assert_eq!(skipped.is_empty(), bytes == again);
        assert_eq!(Module::from_bytes(&again, &limits).as_ref(), Ok(&module));
        let _ = verify(module);
    }
}

/// A copy with magic, version, length and checksum of a whole module; `None` where not even the
/// header is there.
fn sealed(bytes: &[u8]) -> Option<Vec<u8>> {
    let body = bytes.get(HEADER..)?;
    let length = u32::try_from(body.len()).ok()?;
    let start = [&MAGIC[..], &VERSION.to_le_bytes(), &[0; 2], &length.to_le_bytes()].concat();
    let checksum = crc32(&[&start, body]);
    Some([&start[..], &checksum.to_le_bytes(), body].concat())
}

/// The sections of a module, each with its id and length before it.
fn sections(module: &[u8]) -> Vec<&[u8]> {
    let mut rest = module.get(HEADER..).unwrap_or_default();
    let mut found = Vec::new();
    while let Some(length) = rest.get(2..6).and_then(|bytes| bytes.try_into().ok()) {
        let (section, behind) = rest.split_at(rest.len().min(6 + u32::from_le_bytes(length) as usize));
        found.push(section);
        rest = behind;
    }
    found
}

/// Of `all`, those that come next in `some` too, and the others.
fn common<'a>(all: Vec<&'a [u8]>, some: Vec<&[u8]>) -> (Vec<&'a [u8]>, Vec<&'a [u8]>) {
    let mut next = some.into_iter().peekable();
    all.into_iter().partition(|section| next.next_if(|s| s == section).is_some())
}

/// What verifies runs without a panic and within its budget, with the real coprocessors. The first
/// byte chooses between the binary form and the generator.
pub fn verify_run(bytes: &[u8]) {
    let Some((choice, rest)) = bytes.split_first() else { return };
    let module = match choice & 1 {
        0 => Some(arbitrary_module(rest, &Options::default())),
        _ => sealed(rest).and_then(|bytes| Module::from_bytes(&bytes, &DecodeLimits::default()).ok()),
    };
    if let Some(program) = module.and_then(|m| verify(m).ok()) {
        let mut interpreter = Interpreter::new(Arc::new(program));
        Seen::of(&mut interpreter, &runtime::coproc::make, &packets());
    }
}

/// The JIT does what the interpreter does.
#[cfg(feature = "jit")]
pub fn jit_agrees(bytes: &[u8]) {
    let Ok(program) = verify(arbitrary_module(bytes, &Options::default())) else { return };
    let program = Arc::new(program);
    let Ok(mut jit) = JitEngine::new(Arc::clone(&program)) else { return };
    let mut interpreter = Interpreter::new(program);
    assert_eq!(Seen::of(&mut jit, &mixer, &packets()), Seen::of(&mut interpreter, &mixer, &packets()));
}

/// What programs are run on.
fn packets() -> Vec<Vec<u8>> {
    (0..3).map(seeded_packet).collect()
}

/// All that a run leaves behind.
#[derive(Debug, PartialEq)]
pub(crate) struct Seen {
    init: Result<(), Disposition>,
    dispositions: Vec<Disposition>,
    packets: Vec<(Vec<u8>, Vec<u8>, u32, u64)>,
    clones: Vec<(u32, u32, Vec<u8>)>,
    memories: [Vec<u8>; 2],
    exceptions: Vec<u32>,
    coprocessors: Vec<(Vec<u32>, u64)>,
    tables: Vec<Vec<Entry>>,
    timers: Vec<u64>,
    held: Vec<(u32, Vec<u8>, u32)>,
}

impl Seen {
    pub(crate) fn of(engine: &mut dyn Engine, make: &dyn Fn(&str) -> Option<Box<dyn Coprocessor>>, packets: &[Vec<u8>]) -> Self {
        let program = Arc::clone(engine.program());
        let mut state = State::new(&program, make).expect("every coprocessor has a unit");
        state.budget = BUDGET;
        let init = engine.init(&mut state);
        let mut seen = Self {
            init,
            dispositions: Vec::new(),
            packets: Vec::new(),
            clones: Vec::new(),
            memories: Default::default(),
            exceptions: Vec::new(),
            coprocessors: Vec::new(),
            tables: Vec::new(),
            timers: Vec::new(),
            held: Vec::new(),
        };
        for kind in [HandlerKind::Push, HandlerKind::Pull] {
            seen.handler(engine, kind, &program, &mut state, packets);
        }
        seen.exceptions = state.exceptions.to_vec();
        seen.coprocessors = state.coprocessors.iter().map(|c| (c.registers.to_vec(), c.unit.fingerprint())).collect();
        seen.tables = state.tables.iter().map(|t| t.entries(0)).collect();
        seen.timers = state.timers.to_vec();
        seen.held = state.held.iter().map(|(queue, p)| (queue, p.bytes().to_vec(), p.moved())).collect();
        seen.memories = [state.data, state.shared];
        seen
    }

    fn handler(&mut self, engine: &mut dyn Engine, kind: HandlerKind, program: &Verified, state: &mut State, bytes: &[Vec<u8>]) {
        if program.handler(kind).is_none() {
            return;
        }
        let pushed = |b| if kind == HandlerKind::Pull { ExchangeBuffer::none() } else { ExchangeBuffer::borrowed(b) };
        let mut burst: Vec<_> = bytes.iter().map(|b| pushed(b)).collect();
        state.inputs.iter_mut().for_each(|queue| queue.push_back(ExchangeBuffer::borrowed(&bytes[0]).into_owned()));
        let mut out = Outcome::default();
        engine.run(kind, &mut burst, state, &mut out);
        self.dispositions.extend(out.dispositions);
        self.packets.extend(burst.iter().map(|b| (b.bytes().to_vec(), b.info.clone(), b.moved(), b.time_ns)));
        self.clones.extend(out.clones.iter().map(|c| (c.source, c.port, c.buffer.bytes().to_vec())));
    }
}
