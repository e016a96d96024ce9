//! The figures as tables for people.

use crate::{Results, compile, engines, programs};
use std::fmt::Write;

/// All sections that were run.
pub fn text(results: &Results) -> String {
    let m = &results.machine;
    let mut out = format!(
        "netvm {} on {} (L2 {}, {} processors), {}, {}\n{}; {}; load {}\n",
        m.revision, m.processor, m.l2, m.processors, m.system, m.date, m.libpcap, m.compiler, m.load
    );
    for (title, rows) in [("one packet repeated", &results.single), ("mixed trace, random order", &results.mixed)] {
        if !rows.is_empty() {
            filters(&mut out, title, rows);
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

fn filters(out: &mut String, title: &str, rows: &[engines::Row]) {
    let names: String = rows.iter().map(|row| format!("{:>8}", row.filter)).collect();
    let _ = write!(out, "\nns/packet, {title} (median)\n{:12}{names}\n", "");
    for (i, first) in rows[0].engines.iter().enumerate() {
        line(out, first.engine, 2, &rows.iter().map(|row| row.engines[i].median_ns).collect::<Vec<_>>(), "");
    }
    let share = rows.iter().map(|row| 100.0 * row.selected as f64 / row.packets as f64);
    line(out, "selected %", 1, &share.collect::<Vec<_>>(), "");
    for (name, under) in [("jit/libpcap", "libpcap"), ("jit/C called", "C called"), ("jit/C inl.", "C inlined")] {
        let ratios: Vec<f64> = rows.iter().filter_map(|row| Some(ns(row, "jit")? / ns(row, under)?)).collect();
        if ratios.len() == rows.len() {
            line(out, name, 2, &ratios, &summary(&ratios));
        }
    }
}

fn line(out: &mut String, name: &str, digits: usize, values: &[f64], end: &str) {
    let cells: String = values.iter().map(|v| format!("{v:>8.digits$}")).collect();
    let _ = writeln!(out, "{name:12}{cells}{end}");
}

/// The median over f1 to f8, when all nine filters are there.
fn summary(ratios: &[f64]) -> String {
    let Some(first) = ratios.get(..8) else { return String::new() };
    let mut first = first.to_vec();
    first.sort_by(f64::total_cmp);
    format!("   median f1–f8 {:.2}", (first[3] + first[4]) / 2.0)
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
