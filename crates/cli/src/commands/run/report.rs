//! What is told of a run's packets, element by element, as a table for people.

use crate::commands::shared::grouped;
use netvm::application::report::{busy, node_time, per_packet};
use netvm::application::{NodeStats, Stats, builtin};
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
    let made = made(stats);
    let rate = (stats.arrivals + made) as f64 / seconds.max(1e-9) / 1e6;
    let _ = writeln!(text, "arrived  {}", grouped(stats.arrivals));
    if made > 0 {
        let _ = writeln!(text, "made     {}", grouped(made));
    }
    let _ = writeln!(text, "took     {seconds:.3} s: {rate:.2} million packets/s");
    text
}

/// Packets that sources made: what left elements that nothing comes to, but what they read.
fn made(stats: &Stats) -> u64 {
    let reads = |class: &str| builtin::facts(class).reads.is_some();
    let sources = stats.nodes.iter().filter(|(_, class, node)| node.packets == 0 && !reads(class));
    sources.map(|(_, _, node)| node.out.iter().sum::<u64>()).sum()
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
