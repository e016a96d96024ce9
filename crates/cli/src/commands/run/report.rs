//! What is told of a run's packets, element by element: a table for people, JSON for programs.

use crate::commands::shared::grouped;
use netvm::application::{DeviceStats, NodeStats, Stats};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// The heads of the columns.
const HEADS: [&str; 5] = ["element", "in", "out", "dropped", "ns/packet"];

/// A table; under each element why it dropped packets. Times are there if they were measured.
pub(super) fn table(stats: &Stats, seconds: f64) -> String {
    let unsure = |at: usize| {
        stats.linked.iter().flat_map(|linked| &linked.unsure).filter(move |(node, _)| *node == at).map(|(_, port)| *port).collect()
    };
    let rows: Vec<[String; 5]> =
        stats.nodes.iter().enumerate().map(|(at, (name, class, node))| row(name, class, node, unsure(at))).collect();
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count()).chain([HEADS[column].len()]);
        cells.max().unwrap_or(0)
    };
    let widths = [0, 1, 2, 3, 4].map(width);
    let line = |cells: [&str; 5]| {
        let [first, others @ ..] = cells;
        let mut text = format!("{first:<0$}", widths[0]);
        for (cell, width) in others.iter().zip(&widths[1..]) {
            let _ = write!(text, "  {cell:>width$}");
        }
        text.trim_end().to_owned() + "\n"
    };
    let mut text = line(HEADS);
    for (cells, (_, _, node)) in rows.iter().zip(&stats.nodes) {
        text += &line([0, 1, 2, 3, 4].map(|at| cells[at].as_str()));
        for (reason, count) in &node.drops {
            let _ = writeln!(text, "    {} dropped: {reason}", grouped(*count));
        }
    }
    if let Some(linked) = &stats.linked {
        let time = per_packet(linked.measured.ns(), linked.packets).map(|ns| format!(", {ns:.1} ns each")).unwrap_or_default();
        let _ = writeln!(text, "linked   {} elements run as one: {} packets{time}", linked.members.len(), grouped(linked.packets));
    }
    text += &devices(stats);
    let rate = stats.arrivals as f64 / seconds.max(1e-9) / 1e6;
    let _ = writeln!(text, "arrived  {}\ntook     {seconds:.3} s: {rate:.2} million packets/s", grouped(stats.arrivals));
    text
}

/// Frames of live devices, and how busy the run was.
fn devices(stats: &Stats) -> String {
    let mut text = String::new();
    for it in &stats.devices {
        let (received, sent) = (grouped(it.traffic.received), grouped(it.traffic.sent));
        let _ = writeln!(text, "device   {} ({}): {received} received, {sent} sent", it.name, it.device);
        for (reason, count) in &it.drops {
            let _ = writeln!(text, "    {} dropped: {reason}", grouped(*count));
        }
    }
    if let Some(busy) = busy(stats) {
        let _ = writeln!(text, "busy     {:.1} % of {:.3} s", busy * 100.0, stats.lasted_ns as f64 / 1e9);
    }
    text
}

/// The part of the time in which a run on live devices did not wait.
fn busy(stats: &Stats) -> Option<f64> {
    let lasted = Some(stats.lasted_ns as f64).filter(|lasted| *lasted > 0.0 && !stats.devices.is_empty())?;
    Some((1.0 - stats.waited_ns as f64 / lasted).max(0.0))
}

/// `unsure`: outputs that were not counted.
fn row(name: &str, class: &str, node: &NodeStats, unsure: Vec<u32>) -> [String; 5] {
    let element = if name.starts_with(&format!("{class}@")) { name.to_owned() } else { format!("{name} :: {class}") };
    let outputs = node.out.len().max(unsure.iter().map(|port| *port as usize + 1).max().unwrap_or(0));
    let left = |port: usize| match unsure.contains(&(port as u32)) {
        true => "?".to_owned(),
        false => grouped(node.out.get(port).copied().unwrap_or(0)),
    };
    let out = match outputs {
        0 => "-".to_owned(),
        1 => left(0),
        several => (0..several).map(|port| format!("[{port}] {}", left(port))).collect::<Vec<_>>().join(" "),
    };
    let dropped: u64 = node.drops.values().sum();
    let counted = |n: u64| if n == 0 { "-".to_owned() } else { grouped(n) };
    let time = node_time(node).map_or("-".to_owned(), |ns| format!("{ns:.1}"));
    [element, counted(node.packets), out, counted(dropped), time]
}

/// Nanoseconds for each packet that came in, or went out of what makes them.
fn node_time(node: &NodeStats) -> Option<f64> {
    per_packet(node.measured.ns(), node.packets.max(node.out.iter().sum()))
}

fn per_packet(ns: u64, packets: u64) -> Option<f64> {
    (ns > 0 && packets > 0).then(|| ns as f64 / packets as f64)
}

pub(super) fn json(stats: &Stats, handlers: Vec<(String, String)>, seconds: f64) -> Value {
    let element = |(name, class, node): &(String, String, NodeStats)| {
        json!({
            "name": name, "class": class, "packets": node.packets, "out": node.out, "traps": node.traps, "dropped": node.drops,
            "ns_per_packet": node_time(node),
        })
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
