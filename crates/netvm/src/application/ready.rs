//! What programs of a configuration run as, compiled before there are elements of them: whoever
//! takes the place of another configuration waits for no compiler then.
//!
//! Several graphs may be made with it, on several threads: they share code. Left out: compiled C,
//! which comes later by itself where an engine is for that.

use super::linked::fused_of;
use super::{Compiled, app, engines, graph};
use crate::engines::{Elements, EngineInfo};
use crate::sync::lock;
use jit::chain::Chain;
use netil::Engine;
use netil::cluster::Plan;
use runtime::graph::ElementError;
use std::sync::Mutex;

/// Programs that have been compiled, one by one and together.
pub(super) struct Ready {
    engine: &'static EngineInfo,
    engines: engines::Settings,
    compiled: Mutex<Compiled>,
    fused: Mutex<Option<(Plan, Chain)>>,
}

impl Ready {
    /// Nothing is compiled.
    pub(super) fn empty(engine: &'static EngineInfo, engines: engines::Settings) -> Self {
        Self { engine: engine.at_work(), engines, compiled: Mutex::default(), fused: Mutex::default() }
    }

    /// Compiles the programs of an application; those that cannot be are told when elements are
    /// made of them.
    pub(super) fn of(application: &app::Application, engine: &'static EngineInfo, engines: engines::Settings) -> Self {
        let mut compiled = Compiled::default();
        let make = |program| engine.make_element(program, engines).map_err(ElementError::resource);
        let own = application.instances.iter().map(|instance| compiled.make(instance.program()?, make).ok());
        let own: Vec<Option<Box<dyn Engine>>> = own.collect();
        let apart = engine.elements == Elements::Apart;
        let fused = if apart { None } else { fused_of(application, &|instance| own.get(instance)?.as_deref(), engines) };
        let is_member = |instance: usize| fused.as_ref().is_some_and(|(plan, _)| plan.members.contains(&(instance as u32)));
        own.iter()
            .enumerate()
            .filter(|(instance, _)| !is_member(*instance))
            .filter_map(|(_, own)| own.as_ref())
            .for_each(|own| own.compile());
        Self { compiled: Mutex::new(compiled), fused: Mutex::new(fused), ..Self::empty(engine, engines) }
    }

    /// What links elements of a graph, if they are.
    pub(super) fn fused(&self) -> Option<graph::Made> {
        let fused = lock(&self.fused);
        fused.as_ref().map(|(plan, chain)| -> graph::Made { (plan.clone(), Box::new(chain.twin())) })
    }

    /// Does something with what makes the parts of programs: what is compiled is taken.
    pub(super) fn with_factories<T>(&self, work: impl FnOnce(&graph::Factories<'_>) -> T) -> T {
        super::with_factories_of(&self.compiled, self.engine, self.engines, work)
    }

    /// Lets elements of a graph that was made with it run as one.
    pub(super) fn link(&self, application: &app::Application, graph: &mut graph::Graph) {
        // Elements that cannot run as one run one after the other.
        let _ = super::link_with(application, graph, (self.engine, self.engines), Some(self));
    }

    /// How many programs have been compiled.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.compiled.lock().unwrap().engines.values().map(Vec::len).sum()
    }
}
