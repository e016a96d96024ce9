//! What is told of a run's packets, element by element, as JSON.

use super::{DeviceStats, NodeStats, Stats};
use runtime::graph::Transactions;
use serde_json::{Value, json};

/// The part of the time in which a run on live devices did not wait.
pub fn busy(stats: &Stats) -> Option<f64> {
    let lasted = Some(stats.lasted_ns as f64).filter(|lasted| *lasted > 0.0 && !stats.devices.is_empty())?;
    Some((1.0 - stats.waited_ns as f64 / lasted).max(0.0))
}

/// Nanoseconds for each packet that came in, or went out of what makes them.
pub fn node_time(node: &NodeStats) -> Option<f64> {
    per_packet(node.measured.ns(), node.packets.max(node.out.iter().sum()))
}

/// Nanoseconds for each of so many packets, if there are any.
pub fn per_packet(ns: u64, packets: u64) -> Option<f64> {
    (ns > 0 && packets > 0).then(|| ns as f64 / packets as f64)
}

/// Runs of an element as transactions, and what they conflicted about.
fn transactions(of: &Transactions) -> Value {
    let conflict =
        |it: &runtime::graph::Conflict| json!({ "about": it.about, "key": it.key, "full": it.full, "lines": it.lines, "count": it.count });
    let conflicts: Vec<Value> = of.conflicts.iter().map(conflict).collect();
    json!({ "commits": of.commits, "aborts": of.aborts, "locked": of.locked, "conflicts": conflicts })
}

/// Everything, with how long the run took and what handlers said.
pub fn json(stats: &Stats, handlers: Vec<(String, String)>, seconds: f64) -> Value {
    let element = |(name, class, node): &(String, String, NodeStats)| {
        let mut told = json!({
            "name": name, "class": class, "packets": node.packets, "out": node.out, "traps": node.traps, "dropped": node.drops,
            "ns_per_packet": node_time(node),
        });
        if let Some(of) = &node.transactions {
            told["transactions"] = transactions(of);
        }
        told
    };
    let name = |member: &usize| stats.nodes.get(*member).map(|(name, ..)| name.as_str());
    let linked = stats.linked.as_ref().map(|linked| {
        let members: Vec<_> = linked.members.iter().filter_map(name).collect();
        let unsure: Vec<_> = linked.unsure.iter().map(|(node, port)| json!({ "element": name(node), "output": port })).collect();
        json!({ "elements": members, "packets": linked.packets, "unsure": unsure, "ns_per_packet": per_packet(linked.measured.ns(), linked.packets) })
    });
    let elements: Vec<_> = stats.nodes.iter().map(element).collect();
    let device = |it: &DeviceStats| json!({ "name": it.name, "device": it.device, "received": it.traffic.received, "sent": it.traffic.sent, "dropped": it.drops });
    let mut all = json!({ "seconds": seconds, "arrived": stats.arrivals, "elements": elements, "linked": linked });
    if !stats.devices.is_empty() {
        all["devices"] = stats.devices.iter().map(device).collect();
        all["busy"] = json!(busy(stats));
    }
    if !handlers.is_empty() {
        all["handlers"] = handlers.into_iter().map(|(name, value)| (name, Value::String(value))).collect::<serde_json::Map<_, _>>().into();
    }
    all
}
