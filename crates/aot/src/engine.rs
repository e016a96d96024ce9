//! The engine: bursts go to compiled C, all else to another engine.

use crate::AotError;
use crate::code::{Burst, Code, Options};
use netil::Engine;
use netil::Verified;
use netil::exec::{Disposition, ExchangeBuffer, Outcome, PacketSource, Packets, Selection, State, filled};
use netil::module::HandlerKind;
use std::ptr::null;
use std::sync::Arc;

/// An engine whose filters are compiled by the system's compiler. The other engine runs what is not
/// a filter's burst, and programs that are not for C.
pub struct AotEngine {
    program: Arc<Verified>,
    code: Option<Arc<Code>>,
    other: Box<dyn Engine>,
    wire_lens: Vec<u32>,
    times: Vec<u64>,
}

impl AotEngine {
    /// Compiles a filter, or finds it in the cache; a program that is not for C is left to `other`.
    ///
    /// # Errors
    /// There is no compiler, or it fails.
    pub fn new(other: Box<dyn Engine>, options: &Options) -> Result<Self, AotError> {
        check_slices()?;
        match Code::new(other.program(), options) {
            Ok(code) => Ok(Self::with(Some(Arc::new(code)), other)),
            Err(AotError::Unsupported(_)) => Ok(Self::with(None, other)),
            Err(error) => Err(error),
        }
    }

    /// An engine of code that is there, compiled from `other`'s program.
    pub fn with(code: Option<Arc<Code>>, other: Box<dyn Engine>) -> Self {
        Self { program: Arc::clone(other.program()), code, other, wire_lens: Vec::new(), times: Vec::new() }
    }

    /// The code, if C was made of the program.
    pub fn code(&self) -> Option<&Code> {
        self.code.as_deref()
    }
}

impl Engine for AotEngine {
    fn name(&self) -> &'static str {
        "aot"
    }

    fn detail(&self) -> String {
        match &self.code {
            Some(code) => format!("aot, {}", code.form),
            None => format!("{}, as C is not made of this program", self.other.detail()),
        }
    }

    fn program(&self) -> &Arc<Verified> {
        &self.program
    }

    fn another(&self) -> Box<dyn Engine> {
        Box::new(Self::with(self.code.clone(), self.other.another()))
    }

    fn init(&mut self, state: &mut State) -> Result<(), Disposition> {
        self.other.init(state)
    }

    fn run(&mut self, kind: HandlerKind, burst: &mut [ExchangeBuffer<'_>], state: &mut State, out: &mut Outcome) {
        self.other.run(kind, burst, state, out);
    }

    fn pull(&mut self, request: &mut ExchangeBuffer<'_>, state: &mut State, source: &mut dyn PacketSource, out: &mut Outcome) {
        self.other.pull(request, state, source, out);
    }

    fn select(&mut self, packets: &Packets<'_>, state: &mut State, out: &mut Selection) {
        let Some(code) = &self.code else { return self.other.select(packets, state, out) };
        out.reset(packets.frames.len());
        let uses = self.program.uses();
        let length = |f: &[u8]| u32::try_from(f.len()).unwrap_or(u32::MAX);
        let wire_len = if uses.wire_len { filled(&mut self.wire_lens, packets.wire_len, packets.frames, length) } else { null() };
        let time_ns = if uses.time { filled(&mut self.times, packets.time_ns, packets.frames, |_| 0) } else { null() };
        let burst = Burst {
            packets: packets.frames.as_ptr().cast(),
            count: packets.frames.len() as u64,
            selected: out.bits.as_mut_ptr(),
            wire_len,
            time_ns,
            data: self.program.module().data.as_ptr(),
            budget: state.budget,
        };
        // SAFETY: the code was compiled for this program and takes this structure, whose pointers
        // are to memory that lives until the end of this function and is used by nobody else:
        // `selected` has a word for every 64 packets, the other arrays an entry for each.
        unsafe { (code.select)(&raw const burst) };
    }
}

/// Compiled code reads `[&[u8]]` as pairs of address and length, which the language does not
/// promise: see that it is so.
fn check_slices() -> Result<(), AotError> {
    let slice: &[u8] = &[1, 2, 3];
    // SAFETY: a reference to a slice has the size of two addresses and any bits of it are numbers.
    let pair: [usize; 2] = unsafe { std::mem::transmute(slice) };
    if pair == [slice.as_ptr() as usize, 3] { Ok(()) } else { Err(AotError::Load("slices are not address and length".to_owned())) }
}
