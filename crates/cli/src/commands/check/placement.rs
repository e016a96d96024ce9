//! The placement of a configuration's elements, and how what they keep is shared, as lines and as
//! JSON.

use netvm::application::{Item, Order, Placement, Stage};
use netvm::netil::app::Application;
use serde_json::{Value, json};

/// By element: its name and class, the stage that it is in, and why it is in the last one.
pub(super) fn json(application: &Application, placement: &Placement) -> Value {
    let stage = |stage: Stage| match stage {
        Stage::Source => "source".to_owned(),
        Stage::Replica => "replica".to_owned(),
        Stage::Ordered(_) | Stage::Rest => stage.name(Order::Total),
        Stage::Shared => "shared".to_owned(),
    };
    let element = |(at, instance): (usize, &netvm::netil::app::Instance)| json!({ "name": instance.name, "class": instance.class, "stage": stage(placement.stages[at]), "reason": placement.reasons[at], "policy": placement.policies.get(&at).map(|_| placement.policy_shown(at)) });
    json!({ "elements": application.instances.iter().enumerate().map(element).collect::<Vec<_>>(), "flow": placement.flow_shown(application), "state": items(&placement.items(application)) })
}

/// What packets change or read, and how replicas would have it that keep the order of all packets;
/// nothing where there are no sources of packets.
pub(super) fn kept(application: &netvm::application::Application) -> Vec<Item> {
    let placement = Placement::new(application.application(), &[]);
    placement.map_or_else(|_| Vec::new(), |placement| lines(application, &placement))
}

/// What packets change or read, and how the replicas of a placement have it.
pub(super) fn lines(application: &netvm::application::Application, placement: &Placement) -> Vec<Item> {
    placement.items(application.application())
}

/// All of a configuration.
pub(super) fn summary(application: &netvm::application::Application) -> Value {
    let flat = application.flat();
    json!({
        "elements": flat.elements.len(), "connections": flat.connections.len(), "leads_back": application.connections(true), "state": items(&kept(application)),
    })
}

fn items(all: &[Item]) -> Vec<Value> {
    let item = |item: &Item| {
        json!({
            "element": item.element, "class": item.class, "kind": if item.is_table { "table" } else { "variable" }, "name": item.name,
            "sort": item.sort.to_string(), "line": item.line, "shared": item.shared, "why": item.why, "cheaper": item.cheaper,
        })
    };
    all.iter().map(item).collect()
}
