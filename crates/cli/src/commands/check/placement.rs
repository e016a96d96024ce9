//! The placement of a configuration's elements as JSON.

use netvm::application::{Placement, Stage};
use netvm::netil::app::Application;
use serde_json::{Value, json};

/// By element: its name and class, the stage that it is in, and why it is in the last one.
pub(super) fn json(application: &Application, placement: &Placement) -> Value {
    let stage = |stage| match stage {
        Stage::Source => "source",
        Stage::Replica => "replica",
        Stage::Rest => "in order",
        Stage::Shared => "shared",
    };
    let element = |(at, instance): (usize, &netvm::netil::app::Instance)| json!({ "name": instance.name, "class": instance.class, "stage": stage(placement.stages[at]), "reason": placement.reasons[at], "policy": placement.policies.get(&at).map(|_| placement.policy_shown(at)) });
    json!({ "elements": application.instances.iter().enumerate().map(element).collect::<Vec<_>>(), "flow": placement.flow_shown(application) })
}
