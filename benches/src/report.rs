//! The figures as tables for people.

use crate::{Results, compile, engines, filters, programs};
use std::fmt::Write;

/// All sections that were run.
pub fn text(results: &Results) -> String {
    let m = &results.machine;
    let mut out = format!(
        "netvm {} on {} (L2 {}, {} processors), {}, {}\n{}; {}; load {}\n",
        m.revision, m.processor, m.l2, m.processors, m.system, m.date, m.libpcap, m.compiler, m.load
    );
    let sections = [
        ("one packet repeated", &results.single),
        ("mixed trace, random order", &results.mixed),
        ("77 MB of packets, random order", &results.large),
        ("1.3 GB of packets, in order", &results.cold),
        ("large sets, mixed trace", &results.sets),
    ];
    for (title, rows) in sections {
        if !rows.is_empty() {
            table(&mut out, title, rows);
        }
    }
    if !results.compile.is_empty() {
        compilation(&mut out, &results.compile);
    }
    if let Some(report) = &results.programs {
        whole(&mut out, report);
    }
    out
}

fn table(out: &mut String, title: &str, rows: &[engines::Row]) {
    let names: String = rows.iter().map(|row| format!("{:>10}", row.filter)).collect();
    let _ = write!(out, "\nns/packet, {title} (median)\n{:22}{names}\n", "");
    for (i, first) in rows[0].engines.iter().enumerate() {
        line(out, first.engine, 2, &rows.iter().map(|row| row.engines[i].median_ns).collect::<Vec<_>>(), "");
    }
    let share = rows.iter().map(|row| 100.0 * row.selected as f64 / row.packets as f64);
    line(out, "selected %", 1, &share.collect::<Vec<_>>(), "");
    const RATIOS: [(&str, &str); 6] = [
        ("jit", "libpcap"),
        ("jit", "C called"),
        ("jit", "C inlined"),
        ("aot-avx512", "C inlined"),
        ("aot-avx2", "C inlined"),
        ("aot-avx512", "touch"),
    ];
    for (over, under) in RATIOS {
        let ratios: Vec<f64> = rows.iter().filter_map(|row| Some(ns(row, over)? / ns(row, under)?)).collect();
        if ratios.len() == rows.len() {
            line(out, &format!("{over}/{under}"), 2, &ratios, &summary(&ratios));
        }
    }
}

fn line(out: &mut String, name: &str, digits: usize, values: &[f64], end: &str) {
    let cells: String = values.iter().map(|v| format!("{v:>10.digits$}")).collect();
    let _ = writeln!(out, "{name:22}{cells}{end}");
}

/// The medians over f1 to f8 and f2 to f8, when all nine filters are there.
fn summary(ratios: &[f64]) -> String {
    if ratios.len() < filters::COUNT {
        return String::new();
    }
    let sorted = |range: std::ops::Range<usize>| {
        let mut part = ratios[range].to_vec();
        part.sort_by(f64::total_cmp);
        part
    };
    let (eight, seven) = (sorted(0..8), sorted(1..8));
    format!("   median f1–f8 {:.2}, f2–f8 {:.2}", (eight[3] + eight[4]) / 2.0, seven[3])
}

fn ns(row: &engines::Row, engine: &str) -> Option<f64> {
    row.engines.iter().find(|e| e.engine == engine).map(|e| e.median_ns)
}

fn compilation(out: &mut String, rows: &[compile::Row]) {
    let _ = write!(out, "\nµs from text to something that runs (median)\n{:12}{:>12}{:>12}{:>12}\n", "", "jit", "interp", "libpcap");
    for row in rows {
        let libpcap = row.libpcap_us.map_or("–".to_owned(), |us| format!("{us:.0}"));
        let _ = write!(out, "{:12}{:>12.0}{:>12.0}{libpcap:>12}", row.filter, row.jit_us, row.interp_us);
        let first = row.first_us.map_or(String::new(), |us| format!("   (the first in this process {us:.0})"));
        let _ = writeln!(out, "{first}");
    }
}

fn whole(out: &mut String, report: &programs::Report) {
    let mb = report.bytes as f64 / 1e6;
    let _ = writeln!(out, "\nwhole programs, f6, {mb:.0} MB, {} packets, in memory (median seconds)", report.packets);
    let _ = writeln!(out, "{:12}{:>12}{:>12}{:>12}", "", "netvm", "tcpdump", "ratio");
    for row in &report.rows {
        let _ = writeln!(out, "{:12}{:>12.3}{:>12.3}{:>12.2}", row.task, row.netvm_s, row.tcpdump_s, row.ratio);
    }
}
