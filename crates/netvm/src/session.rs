//! A NetIL program being run: an engine, its state, and the packets that wait for it.

use crate::Error;
use crate::engines::{self, EngineInfo};
use netil::Engine;
use netil::Verified;
use netil::exec::{DEFAULT_BUDGET, Disposition, DropReason, ExchangeBuffer, Outcome, State};
use netil::module::{HandlerKind, Table as Declaration};
use runtime::coproc::tables;
use std::sync::Arc;

/// What a run depends on besides the program and its packets.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Seed of the random numbers.
    pub seed: u64,
    /// What one handler run may spend ([`netil::budget`]).
    pub budget: u32,
    /// How the engine is made.
    pub engine: engines::Settings,
}

impl Default for Settings {
    fn default() -> Self {
        Self { seed: 0, budget: DEFAULT_BUDGET, engine: engines::Settings::default() }
    }
}

/// A program and all that it keeps from packet to packet.
pub struct Session {
    program: Arc<Verified>,
    engine: Box<dyn Engine>,
    state: State,
    outcome: Outcome,
}

/// The state that a program begins with, its coprocessors those of the runtime.
pub(crate) fn fresh_state(program: &Verified) -> Result<State, Error> {
    let module = program.module();
    let table = |n: usize, declaration: &Declaration| tables::make_for(declaration, n as u64, tables::is_written(module, n as u32));
    Ok(State::made_of(program, &runtime::coproc::make, &table)?)
}

impl Session {
    /// Makes a program ready and runs its init handler.
    ///
    /// # Errors
    /// The engine cannot take the program, a coprocessor has no implementation, or the init handler
    /// failed.
    pub fn start(program: Arc<Verified>, engine: &EngineInfo, settings: Settings) -> Result<Self, Error> {
        Self::on(engine.make(program, settings.engine)?, settings)
    }

    /// Makes a session on an engine that is there already, and runs the init handler.
    ///
    /// # Errors
    /// A coprocessor has no implementation, or the init handler failed.
    pub fn on(mut engine: Box<dyn Engine>, settings: Settings) -> Result<Self, Error> {
        let program = Arc::clone(engine.program());
        let mut state = fresh_state(&program)?;
        (state.seed, state.budget) = (settings.seed, settings.budget);
        engine.init(&mut state).map_err(|how| Error::Init(describe(&program, how)))?;
        Ok(Self { program, engine, state, outcome: Outcome::default() })
    }

    /// The program.
    pub fn program(&self) -> &Arc<Verified> {
        &self.program
    }

    /// What the program keeps.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Runs the push handler on packets, in order; each has its port and time set. What became of
    /// them, and clones.
    pub fn push(&mut self, burst: &mut [ExchangeBuffer<'_>]) -> &Outcome {
        self.engine.run(HandlerKind::Push, burst, &mut self.state, &mut self.outcome);
        &self.outcome
    }

    /// Lets a packet wait at the input `port` until a handler asks for it; false if there is no
    /// such port.
    pub fn offer(&mut self, port: u32, packet: ExchangeBuffer<'static>) -> bool {
        match self.state.inputs.get_mut(port as usize) {
            Some(queue) => {
                queue.push_back(packet);
                true
            }
            None => false,
        }
    }

    /// Asks the pull output `port` for a packet at a time (nanoseconds since 1970). `packet`
    /// becomes the one given, if any.
    pub fn pull(&mut self, port: u32, time_ns: u64, packet: &mut ExchangeBuffer<'static>) -> &Outcome {
        *packet = ExchangeBuffer::none();
        (packet.port, packet.time_ns) = (port, time_ns);
        self.engine.run(HandlerKind::Pull, std::slice::from_mut(packet), &mut self.state, &mut self.outcome);
        &self.outcome
    }

    /// A disposition in words.
    pub fn describe(&self, disposition: Disposition) -> String {
        describe(&self.program, disposition)
    }
}

fn describe(program: &Verified, disposition: Disposition) -> String {
    match disposition {
        Disposition::Port(port) => match program.module().port(port) {
            Some(port) => format!("sent to {}", port.name),
            None => format!("sent to port {port}"),
        },
        Disposition::Drop(DropReason::Verdict) => "dropped by its verdict".to_owned(),
        Disposition::Drop(DropReason::Program(code)) => format!("dropped by the program with code {code}"),
        Disposition::Drop(DropReason::NoInput) => "no packet to receive".to_owned(),
        Disposition::Trap(trap) => program.describe(&trap),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load;

    fn start(source: &str) -> Result<Session, Error> {
        let program = load::verify(load::module_from(source.as_bytes(), "t.netil")?, "t.netil")?;
        Session::start(Arc::new(program), &engines::ALL[0], Settings::default())
    }

    #[test]
    fn packets_are_pushed_through() {
        let mut session = start("segment .push\n pop\n push 0\n upload.8\n ret\nends").unwrap();
        let mut burst = [ExchangeBuffer::borrowed(&[1]), ExchangeBuffer::borrowed(&[0]), ExchangeBuffer::borrowed(&[])];
        let dispositions = session.push(&mut burst).dispositions.clone();
        assert_eq!(dispositions[0], Disposition::Port(1));
        assert_eq!(session.describe(dispositions[1]), "dropped by its verdict");
        assert!(session.describe(dispositions[2]).contains("t.netil:4"), "{}", session.describe(dispositions[2]));
    }

    #[test]
    fn a_failed_init_handler_is_an_error() {
        let error = start("segment .init\n exit 3\nends\nsegment .push\n pop\n ret 1\nends").err().unwrap();
        assert_eq!(error.to_string(), "the init handler failed: dropped by the program with code 3");
    }
}
