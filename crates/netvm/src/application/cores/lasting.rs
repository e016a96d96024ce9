//! For how long replicas keep what they keep of flows: then these may go to other replicas.

use super::keys;
use super::placement::Placement;
use super::stage::Stage;
use compiler::passes;
use netil::Verified;
use netil::app::Application;
use netil::module::HandlerKind;
use runtime::graph::ring::{Flow, FlowState};

impl Placement {
    /// What elements of replicas keep of flows.
    pub(super) fn flow_state(&self, application: &Application) -> FlowState {
        if matches!(self.flow, Flow::Any | Flow::All) {
            return FlowState::Stateless;
        }
        let programs = self.of(Stage::Replica).filter_map(|at| application.instances[at].program());
        let longest = programs.map(|program| lasts(program)).try_fold(0, |most, lasts| Some(most.max(lasts?)));
        longest.map_or(FlowState::Permanent, FlowState::Expires)
    }
}

/// For how long an element keeps entries that packets make, in nanoseconds; none: for ever.
fn lasts(program: &Verified) -> Option<u64> {
    let optimised = compiler::optimised(program, HandlerKind::Push, &passes::Options::default());
    let Ok(Some((func, _))) = optimised else { return if program.module().tables.is_empty() { Some(0) } else { None } };
    let kept = keys::kept(program, &func);
    let timeouts = program.module().tables.iter().zip(0..).filter(|(_, number)| kept.contains(number)).map(|(table, _)| table.timeout_ns);
    timeouts.map(|timeout| (timeout > 0).then_some(timeout)).try_fold(0, |most, timeout| Some(most.max(timeout?)))
}
