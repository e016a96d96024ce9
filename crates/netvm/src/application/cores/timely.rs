//! How far replicas that read captures may be apart in the time of these, where the state that they
//! have in common depends on time.
//!
//! An entry that a replica has made expires when another one asks the table at a later time, and a
//! rate is one of the times that packets of all replicas have. So the bound is a part of the
//! shortest time that the state knows.

use super::placement::Placement;
use super::stage::Stage;
use netil::Verified;
use netil::app::Application;
use netil::module::HandlerKind;
use netil::table::Op as Instruction;

/// By this part of the shortest timeout entries may expire early.
const PART: u64 = 64;
/// What a timer, or a look at the time, stands for: a second.
const USUAL: u64 = 1_000_000_000;

impl Placement {
    /// In nanoseconds; none if no state in common depends on time.
    pub(super) fn within(&self, application: &Application) -> Option<u64> {
        let programs = self.of(Stage::Shared).filter_map(|at| application.instances[at].program());
        programs.filter_map(|program| shortest(program)).min().map(|shortest| (shortest / PART).max(1))
    }
}

/// The shortest time that a program's state knows.
fn shortest(program: &Verified) -> Option<u64> {
    let module = program.module();
    let timeouts = module.tables.iter().map(|table| table.timeout_ns).filter(|timeout| *timeout != 0);
    let looks = |op: Instruction| matches!(op, Instruction::TimeNs | Instruction::TstampS | Instruction::TstampU | Instruction::TimerSet);
    let handlers = HandlerKind::ALL.into_iter().filter_map(|kind| module.handler(kind));
    let usual = handlers.flat_map(|handler| &handler.code).any(|inst| looks(inst.op)).then_some(USUAL);
    timeouts.chain(usual).min()
}
