//! What every engine does: a burst of exchange buffers and a state in, per packet a disposition and
//! clones out.

use crate::exec::{Disposition, ExchangeBuffer, Outcome, PacketSource, Packets, Selection, State};
use crate::module::HandlerKind;
use crate::{Interpreter, Verified};
use std::sync::Arc;

/// A program made ready to run. Engines of one program are interchangeable: results, clones,
/// memories and traps are those of [`Interpreter`].
pub trait Engine: Send {
    /// The name in `--engine`.
    fn name(&self) -> &'static str;

    /// What runs the program at the moment, in words.
    fn detail(&self) -> String {
        self.name().to_owned()
    }

    /// The program.
    fn program(&self) -> &Arc<Verified>;

    /// The engine itself, for who makes engines of this kind work together.
    fn as_any(&self) -> Option<&dyn std::any::Any> {
        None
    }

    /// Another engine for the same program, for another thread; what was compiled is shared.
    fn another(&self) -> Box<dyn Engine>;

    /// An engine for a program that [runs like](crate::Module::runs_like) this one; `None` if it is
    /// to be made anew.
    fn for_alike(&self, program: &Arc<Verified>) -> Option<Box<dyn Engine>> {
        let _ = program;
        None
    }

    /// Compiles what would be compiled when it is first run, for this engine and
    /// [others](Self::another) of it.
    fn compile(&self) {}

    /// Runs the init handler, if there is one. `exit n` and traps are errors.
    fn init(&mut self, state: &mut State) -> Result<(), Disposition>;

    /// Runs the push or pull handler on each packet of a burst, in order; `out` is overwritten.
    fn run(&mut self, kind: HandlerKind, burst: &mut [ExchangeBuffer<'_>], state: &mut State, out: &mut Outcome);

    /// Runs the pull handler once for a request, which is no packet; the handler may ask the source
    /// for packets. `out` is overwritten.
    fn pull(&mut self, request: &mut ExchangeBuffer<'_>, state: &mut State, source: &mut dyn PacketSource, out: &mut Outcome);

    /// Runs a filter ([`Verified::is_filter`]) on each packet: the one-port case, a bit per packet;
    /// `out` is overwritten.
    fn select(&mut self, packets: &Packets<'_>, state: &mut State, out: &mut Selection);
}

impl Engine for Interpreter {
    fn name(&self) -> &'static str {
        "interp"
    }

    fn program(&self) -> &Arc<Verified> {
        Interpreter::program(self)
    }

    fn another(&self) -> Box<dyn Engine> {
        Box::new(Interpreter::new(Arc::clone(Interpreter::program(self))))
    }

    fn init(&mut self, state: &mut State) -> Result<(), Disposition> {
        Interpreter::init(self, state)
    }

    fn run(&mut self, kind: HandlerKind, burst: &mut [ExchangeBuffer<'_>], state: &mut State, out: &mut Outcome) {
        Interpreter::run(self, kind, burst, state, out);
    }

    fn pull(&mut self, request: &mut ExchangeBuffer<'_>, state: &mut State, source: &mut dyn PacketSource, out: &mut Outcome) {
        Interpreter::pull(self, request, state, source, out);
    }

    fn select(&mut self, packets: &Packets<'_>, state: &mut State, out: &mut Selection) {
        Interpreter::select(self, packets, state, out);
    }
}
