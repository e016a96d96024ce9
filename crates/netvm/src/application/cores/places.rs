//! Where the elements of a run are, and of what replicas have parts: what reading and writing
//! handlers goes by.

use super::super::table_sums::{SumTable, sum_tables};
use super::keys::pushed;
use super::placement::Placement;
use super::stage::Stage;
use netil::app::{Application, Instance};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// What is known of elements, by their names.
#[derive(Default)]
pub(super) struct Places {
    /// The stages of those that are not the caller's.
    pub stages: HashMap<String, Stage>,
    /// Of elements in replicas, the tables that packets only add to.
    pub sums: HashMap<String, Arc<[SumTable]>>,
    /// Of those, the handlers that run code.
    pub calls: HashMap<String, BTreeSet<String>>,
}

impl Places {
    /// Of a placement.
    pub(super) fn of(placement: &Placement, application: &Application) -> Self {
        let name = |at: usize| application.instances[at].name.clone();
        let is_elsewhere = |stage: &Stage| !matches!(stage, Stage::Rest | Stage::Shared);
        let stages = placement.stages.iter().enumerate().filter(|(_, stage)| is_elsewhere(stage));
        // Others have the state of all packets, or parts that are no sums.
        let own = |at: &usize| !placement.replayed.contains(at) && !placement.policies.contains_key(at);
        let sums = |at: usize| {
            let program = application.instances[at].program().filter(|program| !program.module().tables.is_empty())?;
            let sums = sum_tables(program, &pushed(program)?);
            (!sums.is_empty()).then(|| (name(at), sums.into()))
        };
        let sums: HashMap<String, Arc<[SumTable]>> = placement.of(Stage::Replica).filter(own).filter_map(sums).collect();
        let called = application.instances.iter().filter(|instance| sums.contains_key(&instance.name));
        let controls = |instance: &Instance| {
            let all = instance.program().into_iter().flat_map(|program| &program.module().controls);
            (instance.name.clone(), all.filter(|control| control.call).map(|control| control.name.clone()).collect())
        };
        Self { stages: stages.map(|(at, stage)| (name(at), *stage)).collect(), calls: called.map(controls).collect(), sums }
    }
}
