//! What is told at the end: how many packets, and with `--stats` how fast.

use super::Args;
use crate::commands::shared;
use crate::failure::{self, Failure, Outcome};
use crate::out::Out;
use netvm::Filter;
use serde::Serialize;
use std::path::Path;
use std::time::Duration;

/// Packets and bytes.
#[derive(Clone, Copy, Default, Serialize)]
pub(super) struct Amount {
    pub packets: u64,
    pub bytes: u64,
}

#[derive(Default)]
pub(super) struct Totals {
    pub read: Amount,
    pub selected: Amount,
}

/// A run as JSON.
#[derive(Serialize)]
struct Summary<'a> {
    filter: &'a str,
    packets: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    statistics: Option<Statistics>,
}

#[derive(Serialize)]
struct Statistics {
    read: Amount,
    selected: Amount,
    seconds: f64,
    compiled: Vec<CompileTime>,
}

#[derive(Serialize)]
struct CompileTime {
    link_type: String,
    engine: &'static str,
    /// What ran at the end.
    detail: String,
    microseconds: f64,
}

pub(super) fn report(args: &Args, filter: &Filter, totals: &Totals, took: Duration) -> Outcome {
    // Standard output may be a capture.
    let on_stdout = args.write.as_deref() != Some(Path::new("-"));
    let found = totals.selected.packets;
    if args.json && (args.count || args.stats) {
        let statistics = args.stats.then(|| statistics(filter, totals, took));
        let summary = Summary { filter: filter.source(), packets: found, statistics };
        return say(on_stdout, &serde_json::to_string(&summary).map_err(Failure::failed)?);
    }
    if args.count {
        say(on_stdout, &shared::packets(found))?;
    }
    if args.stats {
        failure::eprint_lossy(&statistics_text(filter, totals, took));
    }
    Ok(())
}

fn say(on_stdout: bool, text: &str) -> Outcome {
    if !on_stdout {
        failure::eprint_lossy(text);
        return Ok(());
    }
    let mut out = Out::new();
    out.line(text)?;
    out.flush()
}

fn statistics(filter: &Filter, totals: &Totals, took: Duration) -> Statistics {
    let time = |c: &netvm::Compiled| CompileTime {
        link_type: c.link.to_string(),
        engine: c.engine(),
        detail: c.detail(),
        microseconds: c.took.as_secs_f64() * 1e6,
    };
    Statistics {
        read: totals.read,
        selected: totals.selected,
        seconds: took.as_secs_f64(),
        compiled: filter.compiled().iter().map(time).collect(),
    }
}

fn statistics_text(filter: &Filter, totals: &Totals, took: Duration) -> String {
    let seconds = took.as_secs_f64().max(1e-9);
    let share = 100.0 * totals.selected.packets as f64 / totals.read.packets.max(1) as f64;
    let amount = |a: Amount| format!("{} packets, {}", shared::grouped(a.packets), shared::bytes(a.bytes));
    let mut text = format!("read      {}\nselected  {} ({share:.1} %)\n", amount(totals.read), amount(totals.selected));
    let rate = totals.read.packets as f64 / seconds / 1e6;
    let speed = totals.read.bytes as f64 / seconds / 1e6;
    text += &format!("took      {seconds:.3} s: {rate:.2} million packets/s, {speed:.0} MB/s\n");
    let one = |c: &netvm::Compiled| format!("{:.0} µs for {} ({})", c.took.as_secs_f64() * 1e6, c.link, c.detail());
    let compiled: Vec<String> = filter.compiled().iter().map(one).collect();
    text + &match compiled.is_empty() {
        true => "compiled  nothing: every packet is selected".to_owned(),
        false => format!("compiled  in {}", compiled.join(", ")),
    }
}
