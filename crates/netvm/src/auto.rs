//! The engine that nobody chose: at work at once, quicker when the input proves long.
//!
//! It starts with machine code that is ready in a millisecond. After [`LOOK`] packets it looks
//! whether the cache has compiled C, after [`COMPILE`] packets it has the compiler make it, both
//! beside the work; the next burst after that is the compiled code's. What is made serves every
//! thread that filters with the same engine. Nothing depends on it: without a compiler, or where it
//! fails, all goes on as it began.

use aot::code::{Code, Options};
use aot::{AotEngine, AotError};
use netil::Engine;
use netil::exec::{Disposition, ExchangeBuffer, Outcome, PacketSource, Packets, Selection, State};
use netil::module::HandlerKind;
use netil::{Interpreter, Verified};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;

/// Packets after which the cache is asked: by then looking is cheap against the work.
const LOOK: u64 = 1 << 19;
/// Packets after which a compiler is started. It takes about half a second, as long as the first
/// code needs for a hundred million packets; after a third of that it is likely enough that as many
/// follow. Shorter inputs gain nothing from it and would share the processors with it.
const COMPILE: u64 = 1 << 25;

/// Engines of one program, and what is being made for them.
pub(crate) struct Auto {
    now: Box<dyn Engine>,
    fast: Option<AotEngine>,
    job: Arc<Job>,
}

struct Job {
    /// What C is made of; it uses of a burst what the program at work does.
    program: Arc<Verified>,
    options: Options,
    seen: AtomicU64,
    /// Packets after which to look, and to compile.
    marks: [u64; 2],
    code: OnceLock<Result<Arc<Code>, AotError>>,
}

impl Auto {
    pub(crate) fn new(now: Box<dyn Engine>, compiled: Arc<Verified>, options: Options) -> Self {
        Self::with_marks(now, compiled, options, [LOOK, COMPILE])
    }

    fn with_marks(now: Box<dyn Engine>, program: Arc<Verified>, options: Options, marks: [u64; 2]) -> Self {
        let job = Job { program, options, seen: AtomicU64::new(0), marks, code: OnceLock::new() };
        Self { now, fast: None, job: Arc::new(job) }
    }

    /// Takes what is ready.
    fn swap(&mut self) {
        if self.fast.is_none()
            && let Some(Ok(code)) = self.job.code.get()
        {
            // The interpreter only says which program it is: all that is not the code's stays with
            // `now`.
            let other = Box::new(Interpreter::new(Arc::clone(&self.job.program)));
            self.fast = Some(AotEngine::with(Some(Arc::clone(code)), other));
        }
    }
}

impl Job {
    /// Counts packets, and starts what is due.
    fn saw(self: &Arc<Self>, packets: u64) {
        let before = self.seen.fetch_add(packets, Ordering::Relaxed);
        let passed = |mark: u64| before < mark && before + packets >= mark;
        let [look, compile] = self.marks;
        if passed(look) {
            self.start(|job| Code::cached(&job.program, &job.options).transpose());
        }
        if passed(compile) && self.code.get().is_none() {
            self.start(|job| Some(Code::new(&job.program, &job.options)));
        }
    }

    fn start(self: &Arc<Self>, make: impl FnOnce(&Self) -> Option<Result<Code, AotError>> + Send + 'static) {
        let job = Arc::clone(self);
        // Where no thread can be had, all goes on as it is.
        let _ = thread::Builder::new().name("netvm-aot".to_owned()).spawn(move || {
            if let Some(made) = make(&job) {
                let _ = job.code.set(made.map(Arc::new));
            }
        });
    }
}

impl Engine for Auto {
    fn name(&self) -> &'static str {
        self.now.name()
    }

    fn detail(&self) -> String {
        let now = self.now.detail();
        match self.job.code.get() {
            Some(Ok(code)) => format!("{now}, then aot, {}", code.form),
            Some(Err(why)) => format!("{now}; {why}"),
            None => now,
        }
    }

    fn program(&self) -> &Arc<Verified> {
        self.now.program()
    }

    fn another(&self) -> Box<dyn Engine> {
        Box::new(Self { now: self.now.another(), fast: None, job: Arc::clone(&self.job) })
    }

    fn init(&mut self, state: &mut State) -> Result<(), Disposition> {
        self.now.init(state)
    }

    fn run(&mut self, kind: HandlerKind, burst: &mut [ExchangeBuffer<'_>], state: &mut State, out: &mut Outcome) {
        self.now.run(kind, burst, state, out);
    }

    fn pull(&mut self, request: &mut ExchangeBuffer<'_>, state: &mut State, source: &mut dyn PacketSource, out: &mut Outcome) {
        self.now.pull(request, state, source, out);
    }

    fn select(&mut self, packets: &Packets<'_>, state: &mut State, out: &mut Selection) {
        self.swap();
        match &mut self.fast {
            Some(fast) => fast.select(packets, state, out),
            None => {
                self.now.select(packets, state, out);
                self.job.saw(packets.frames.len() as u64);
            }
        }
    }
}

#[cfg(test)]
#[path = "../../../tests/needs.rs"]
mod needs;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Filter, engines, session::fresh_state};
    use runtime::io::{LinkType, synth};
    use std::time::{Duration, Instant};

    /// Until the engine swaps, and a while after: the same packets.
    #[test]
    fn verdicts_stay_when_the_engine_swaps() {
        if aot::build::Compiler::system().is_err() {
            needs::missing("a C compiler");
            return;
        }
        let [program, compiled] = ["tcp port 80 or udp", "udp or tcp port 80"]
            .map(|text| Filter::compile(text, LinkType::EN10MB, &engines::ALL[0]).unwrap().program);
        assert_ne!(program.module(), compiled.module());
        let mut state = fresh_state(&program).unwrap();
        let now = engines::find("jit").unwrap().make(Arc::clone(&program), engines::Settings::default()).unwrap();
        let mut auto = Auto::with_marks(now, compiled, Options { no_cache: true, form: None }, [100, 5_000]);
        let trace = synth::mixed_trace(5, 300);
        let frames: Vec<&[u8]> = trace.iter().map(|(_, frame)| frame.as_slice()).collect();
        let mut select = |auto: &mut Auto| {
            let mut out = Selection::default();
            auto.select(&Packets { frames: &frames, wire_len: &[], time_ns: &[] }, &mut state, &mut out);
            out
        };
        let (wanted, start) = (select(&mut auto), Instant::now());
        while auto.fast.is_none() && start.elapsed() < Duration::from_secs(60) {
            assert_eq!(select(&mut auto), wanted);
        }
        assert_eq!(select(&mut auto), wanted);
        assert!(auto.detail().starts_with("jit, then aot, "), "{}", auto.detail());
    }

    #[test]
    fn without_a_compiler_the_work_goes_on() {
        let program = Filter::compile("tcp", LinkType::EN10MB, &engines::ALL[0]).unwrap().program;
        let now = engines::find("jit").unwrap().make(Arc::clone(&program), engines::Settings::default()).unwrap();
        let auto = Auto::new(now, program, Options::default());
        let _ = auto.job.code.set(Err(AotError::NoCompiler));
        assert!(auto.detail().starts_with("jit; no C compiler was found"), "{}", auto.detail());
        assert_eq!(auto.another().detail(), auto.detail());
    }
}
