//! What a simulation found, as text.

use super::Results;
use crate::commands::shared::grouped;
use machine::{Machine, Report};

/// A block for each run.
pub(super) fn text(results: &Results, machine: &Machine) -> String {
    let store = &results.control_store;
    let limit = store.limit.map_or_else(String::new, |limit| format!(" of {} in a core's control store", grouped(limit.into())));
    let (name, description) = (&machine.name, &machine.description);
    let mut text = format!("{name}: {description}\nprogram: {} instructions{limit}\n", grouped(store.instructions));
    text += &data(results);
    results.runs.iter().for_each(|run| text += &block(run, machine));
    if !results.saturation.is_empty() {
        text += &saturation(results);
    }
    text
}

/// Where tables and variables are, those of a memory side by side.
fn data(results: &Results) -> String {
    if results.data.is_empty() {
        return String::new();
    }
    let label = |placed: &machine::layout::Placed| format!("{}, {}", placed.element, placed.name);
    let wide = results.data.iter().map(|placed| label(placed).chars().count()).max().unwrap_or(0).max(4);
    let mut text = format!("\n{:<wide$}  {:<10} {:>12} {:>10}  memory\n", "data", "scope", "bytes", "accesses");
    for placed in &results.data {
        let (scope, bytes) = (machine::layout::name(placed.scope), grouped(placed.bytes));
        text += &format!("{:<wide$}  {scope:<10} {bytes:>12} {:>10.2}  {}\n", label(placed), placed.accesses, placed.memory);
    }
    text
}

fn percent(part: f64) -> String {
    format!("{:.1} %", part * 100.0)
}

fn block(run: &Report, machine: &Machine) -> String {
    let mut text = format!("\n{}\n", run.scheme.name());
    let mut line = |what: &str, value: String| text += &format!("  {what:<12} {value}\n");
    let n = run.packets.max(1) as f64;
    let rate = grouped(run.packets_per_second as u64);
    line(
        "packets",
        format!("{}, {} dropped, in {} cycles: {rate} a second", grouped(run.packets), grouped(run.dropped), grouped(run.cycles)),
    );
    let micros = run.latency / machine.clock_mhz;
    line(
        "a packet",
        format!("{:.1} instructions, in the machine for {:.1} cycles ({micros:.2} µs)", run.instructions as f64 / n, run.latency),
    );
    line("cores", run.cores.iter().map(|part| percent(*part)).collect::<Vec<_>>().join(", "));
    for used in run.memories.iter().chain(&run.buses).filter(|used| used.requests > 0) {
        let misses = if used.misses > 0 { format!(", {:.2} of them missed the cache", used.misses as f64 / n) } else { String::new() };
        line(&used.name, format!("{}, {:.2} requests a packet{misses}", percent(used.utilisation), used.requests as f64 / n));
    }
    let t = &run.threads;
    let where_ =
        [("ready", t.running), ("memory", t.memory), ("lock", t.lock), ("commit", t.commit), ("output", t.output), ("input", t.input)];
    let told = where_.iter().filter(|(_, part)| *part >= 0.0005).map(|(what, part)| format!("{what} {}", percent(*part)));
    line("threads", told.collect::<Vec<_>>().join(", "));
    if run.sections.count > 0 {
        let s = &run.sections;
        let outcome = match run.scheme {
            machine::Scheme::Transactions => format!("{} committed at once, {} aborts", percent(s.commit_rate), grouped(s.aborts)),
            _ => format!("{} waited", percent(s.waited as f64 / s.count as f64)),
        };
        line("sections", format!("{:.2} a packet, {outcome}", s.count as f64 / n));
    }
    text
}

fn saturation(results: &Results) -> String {
    let first = results.saturation.first().map_or(0.0, |first| first.packets_per_second);
    let mut text = format!("\n{:<16} {:>14} {:>8} {:>10}\n", "scheme", "packets/s", "", "commits");
    for found in &results.saturation {
        let gain = if first > 0.0 { format!("{:+.1} %", (found.packets_per_second / first - 1.0) * 100.0) } else { String::new() };
        let commits = match found.scheme {
            machine::Scheme::Transactions => percent(found.report.sections.commit_rate),
            _ => String::new(),
        };
        let rate = grouped(found.packets_per_second as u64);
        text += format!("{:<16} {rate:>14} {gain:>8} {commits:>10}", found.scheme.name()).trim_end();
        text.push('\n');
    }
    text
}
