//! The figures as tables for people.

use crate::{Results, applications, bursts, compile, engines, filters, programs, runs, tables};
use std::fmt::Write;

/// All sections that were run.
pub fn text(results: &Results) -> String {
    let m = &results.machine;
    let mut out = format!(
        "netvm {} on {} (L2 {}, {} processors), {}, {}\n{}; {}; {}; clang: {}; load {}\n",
        m.revision, m.processor, m.l2, m.processors, m.system, m.date, m.libpcap, m.dpdk, m.compiler, m.clang, m.load
    );
    let sections = [
        ("one packet repeated", &results.single),
        ("mixed trace, random order", &results.mixed),
        ("77 MB of packets, random order", &results.large),
        ("1.3 GB of packets, in order", &results.cold),
        ("large sets, mixed trace", &results.sets),
        ("terms as written and as a profile orders them, mixed trace", &results.profiled),
    ];
    for (title, rows) in sections {
        if !rows.is_empty() {
            table(&mut out, title, rows);
        }
    }
    if !results.compile.is_empty() {
        compilation(&mut out, &results.compile);
    }
    if !results.tables.is_empty() {
        lookups(&mut out, &results.tables);
    }
    if !results.applications.is_empty() {
        whole_applications(&mut out, &results.applications);
    }
    if !results.moves.is_empty() {
        on_moves(&mut out, &results.moves);
    }
    if !results.swaps.is_empty() {
        on_swaps(&mut out, &results.swaps);
    }
    if !results.queues.is_empty() {
        out += &crate::queues::table(&results.queues);
    }
    if !results.latency.is_empty() {
        out += &crate::latency::table(&results.latency);
    }
    if !results.cores.is_empty() {
        on_cores(&mut out, &results.cores);
    }
    if !results.p4_gains.is_empty() {
        of_p4(&mut out, results);
    }
    if !results.p4_whole.is_empty() {
        beside_bmv2(&mut out, &results.p4_whole);
    }
    if !results.bursts.is_empty() {
        of_bursts(&mut out, &results.bursts);
    }
    if !results.runs.is_empty() {
        of_runs(&mut out, &results.runs);
    }
    if !results.clicks.is_empty() {
        out += &crate::clicks::table(&results.clicks);
    }
    results.programs.iter().for_each(|report| whole(&mut out, report));
    out
}

fn table(out: &mut String, title: &str, rows: &[engines::Row]) {
    let names: String = rows.iter().map(|row| format!("{:>10}", row.filter)).collect();
    let _ = write!(out, "\nns/packet, {title} (median)\n{:22}{names}\n", "");
    for name in names_of(rows) {
        let cells: Vec<String> = rows.iter().map(|row| cell(row, name)).collect();
        line(out, name, &cells, "");
    }
    let share: Vec<_> = rows.iter().map(|row| format!("{:.1}", 100.0 * row.selected as f64 / row.packets as f64)).collect();
    line(out, "selected %", &share, "");
    for (over, under) in RATIOS {
        let ratios: Vec<_> = rows.iter().map(|row| Some(ns(row, over)? / ns(row, under)?)).collect();
        if ratios.iter().any(Option::is_some) {
            let cells: Vec<_> = ratios.iter().map(|ratio| ratio.map_or(NONE.to_owned(), |r| format!("{r:.2}"))).collect();
            line(out, &format!("{over}/{under}"), &cells, &summary(&ratios));
        }
    }
}

const NONE: &str = "–";

/// Lookups, a line a table; what was measured differs from kind to kind.
fn lookups(out: &mut String, rows: &[tables::Row]) {
    let _ = writeln!(out, "\nns/lookup in tables, bursts of 256 where in C (median)");
    for row in rows {
        let cells: String = row.ways.iter().map(|way| format!("  {} {:.2}", way.name, way.median_ns)).collect();
        let inserted = format!("entered in {:.0} ns each, the longest {:.0} us", row.entering_ns, row.longest_us);
        let _ = writeln!(out, "{:>8} {:7}{cells}; {inserted}", row.entries, row.what);
    }
}

/// Moves while packets flow.
fn on_moves(out: &mut String, rows: &[applications::moves::Row]) {
    let _ = writeln!(out, "\npauses in us while packets flow (median, 99th of a hundred, longest)");
    for row in rows {
        let three = |[median, most, longest]: [f64; 3]| format!("{median:.1}  {most:.1}  {longest:.1}");
        let _ = writeln!(out, "{}: {} moves of threads  {}", row.application, row.moves, three(row.pause_us));
        let _ = writeln!(out, "  from asking to the answer  {}", three(row.answered_us));
        let _ = writeln!(out, "  {} changes of the number of replicas  {}", row.changes, three(row.change_us));
        let _ = writeln!(out, "  {:.2} million packets/s meanwhile, {:.2} without", row.mpps, row.still_mpps);
    }
}

/// Versions that take each other's place while packets flow.
fn on_swaps(out: &mut String, rows: &[applications::swaps::Row]) {
    let _ = writeln!(out, "\npauses in us when another version of the translator takes over (median, 99th of a hundred, longest)");
    for row in rows {
        let three = |[median, most, longest]: [f64; 3]| format!("{median:.1}  {most:.1}  {longest:.1}");
        let _ = writeln!(out, "{} flows, {}, {}: {} swaps  {}", row.flows, row.way, row.change, row.swaps, three(row.pause_us));
        let _ = writeln!(out, "  prepared in ms  {}", three(row.prepared_ms));
        let _ = writeln!(out, "  {} entries moved; {:.2} million packets/s meanwhile", row.moved, row.mpps);
    }
}

/// Applications on several threads, a line for each side.
fn on_cores(out: &mut String, rows: &[applications::cores::Row]) {
    let _ = writeln!(
        out,
        "\nns/packet on the wall of applications on several threads (median; times as fast as one thread; transactions that conflicted)"
    );
    for applications::cores::Row { application, entries, shared, sides } in rows {
        let _ = writeln!(
            out,
            "{application}, {entries} (in common: {})",
            if shared.is_empty() { "nothing".to_owned() } else { shared.join(" ") }
        );
        for side in sides {
            let aborted = side.aborted.map(|aborted| format!(", {aborted:.1} %")).unwrap_or_default();
            let _ = match (side.median_ns, side.speedup, &side.wrong) {
                (Some(ns), Some(times), _) => writeln!(out, "  {:>3} × {:<30} {ns:8.1} ({times:.2}{aborted})", side.replicas, side.side),
                (_, _, wrong) => writeln!(out, "  {:>3} × {:<30} {}", side.replicas, side.side, wrong.as_deref().unwrap_or("no time")),
            };
        }
    }
}

/// Applications, a line each, with ratios to what is written by hand.
fn whole_applications(out: &mut String, rows: &[applications::Row]) {
    let _ = writeln!(out, "\nns/packet of applications, packets of 60 bytes copied in (median; ratio to C by hand)");
    let first = |side: &applications::Timing| side.first_ns.map_or(String::new(), |ns| format!(", first pass {ns:.1}"));
    for row in rows {
        let cell = |side: &applications::Timing| match (side.median_ns, side.ratio) {
            (Some(ns), Some(ratio)) => format!("  {} {ns:.1} ({ratio:.2}){}", side.side, first(side)),
            (Some(ns), None) => format!("  {} {ns:.1}{}", side.side, first(side)),
            _ => format!("  {} wrong", side.side),
        };
        let cells: String = row.sides.iter().map(cell).collect();
        let _ = writeln!(out, "{:24}{:>8}{cells}", row.application, row.entries);
    }
}

/// What optimisations of P4 programs gain, with the increments of packets in a second that each
/// brings, or costs by its absence.
fn of_p4(out: &mut String, results: &Results) {
    let _ = writeln!(out, "\nthe application of the PVPP paper, 1,000 routes: ns/packet, million packets a second (median)");
    let mpps = |row: &applications::gains::Row| 1e3 / row.median_ns;
    let all = results.p4_gains.iter().find(|row| row.without.is_empty()).map(mpps);
    let mut before = None;
    for row in &results.p4_gains {
        let against = if row.what.starts_with("all but") { all } else { before };
        let change = against.map_or(String::new(), |other| format!(" ({:+.1} %)", 100.0 * (mpps(row) / other - 1.0)));
        let _ = writeln!(out, "{:20}{:>8.1}{:>8.2}{change}", row.what, row.median_ns, mpps(row));
        before = Some(mpps(row));
    }
    let _ = writeln!(out, "\nms from the text of a P4 program to an element that runs (median)");
    for row in &results.p4_starts {
        let _ = writeln!(out, "{:28}{:6}{:>10.1}", row.program, row.engine, row.median_ms);
    }
    let _ = writeln!(out, "\nthe same application by packet size: ns/packet, million packets and gigabits a second (median)");
    for row in &results.p4_sizes {
        let rate = 1e3 / row.median_ns;
        let gigabits = 8.0 * row.length as f64 / row.median_ns;
        let _ = writeln!(out, "{:>6}  {:6}{:>8.1}{rate:>8.2}{gigabits:>8.1}", row.length, row.engine, row.median_ns);
    }
}

/// P4 programs by themselves beside BMv2.
fn beside_bmv2(out: &mut String, rows: &[applications::whole::Row]) {
    let _ = writeln!(
        out,
        "\nns/packet of P4 programs with the switch around them, one by one and in bursts of 64, as elements in machine code and in compiled C (median), in BMv2's simple_switch; \
         how many times that is of bursts and both elements"
    );
    for row in rows {
        let quick = || std::iter::once(&row.burst_ns).chain(&row.element_ns);
        let bmv2 = match (row.bmv2_ns, &row.bmv2_wrong) {
            (Some(ns), None) => quick().fold(format!("{ns:>10.0}"), |text, own| text + &format!("{:>7.0}", ns / own)),
            (Some(ns), Some(wrong)) => format!("{ns:>10.0}, {wrong}"),
            (None, Some(wrong)) => format!("  {wrong}"),
            (None, None) => format!("{NONE:>10}"),
        };
        let own: String = quick().map(|ns| format!("{ns:>8.1}")).collect();
        let _ = writeln!(out, "{:24}{:>8.0}{own}{bmv2}", row.program, row.single_ns);
    }
}

/// Embedded applications by how many packets come at a time.
fn of_bursts(out: &mut String, rows: &[bursts::Row]) {
    let _ = writeln!(out, "\nns/packet of embedded applications, packets copied in and out by calls, so many at a time (median)");
    for row in rows {
        let _ = writeln!(out, "{:16}{:>6}  {} {:.1}", row.application, row.burst, row.engine, row.median_ns);
    }
}

/// What `netvm run` takes as a whole.
fn of_runs(out: &mut String, rows: &[runs::Row]) {
    let _ = writeln!(out, "\nnetvm run as a whole (median)");
    for row in rows {
        let each = row.ns_per_packet.map_or(String::new(), |ns| format!(", {ns:.1} ns a packet"));
        let copying = row.copy_s.map_or(String::new(), |s| format!("; cp of the capture {s:.3} s"));
        let _ = writeln!(out, "{:40}{:>8.3} s{each}{copying}", row.what, row.median_s);
    }
}

/// What is told as a ratio.
const RATIOS: [(&str, &str); 11] = [
    ("jit", "libpcap"),
    ("jit", "kernel jit"),
    ("jit", "dpdk jit"),
    ("jit", "C called"),
    ("jit", "C inlined"),
    ("jit", "C switch called"),
    ("aot-avx512", "C inlined"),
    ("aot-avx2", "C inlined"),
    ("aot-avx512", "touch"),
    ("jit profiled", "jit"),
    ("aot-avx512 profiled", "aot-avx512"),
];

/// The engines, in order; not all are there for every filter.
fn names_of(rows: &[engines::Row]) -> Vec<&'static str> {
    let mut longest_first: Vec<_> = rows.iter().collect();
    longest_first.sort_by_key(|row| std::cmp::Reverse(row.engines.len()));
    let mut names = Vec::new();
    for timing in longest_first.iter().flat_map(|row| &row.engines) {
        if !names.contains(&timing.engine) {
            names.push(timing.engine);
        }
    }
    names
}

fn cell(row: &engines::Row, engine: &str) -> String {
    match row.engines.iter().find(|e| e.engine == engine) {
        Some(timing) if timing.wrong.is_some() => "wrong".to_owned(),
        Some(timing) => format!("{:.2}", timing.median_ns),
        None => NONE.to_owned(),
    }
}

fn line(out: &mut String, name: &str, cells: &[String], end: &str) {
    let cells: String = cells.iter().map(|cell| format!("{cell:>10}")).collect();
    let _ = writeln!(out, "{name:22}{cells}{end}");
}

/// The medians over f1 to f8 and f2 to f8, when all nine filters are there.
fn summary(ratios: &[Option<f64>]) -> String {
    let Some(all) = ratios.iter().copied().collect::<Option<Vec<f64>>>().filter(|all| all.len() == filters::COUNT) else {
        return String::new();
    };
    let sorted = |range: std::ops::Range<usize>| {
        let mut part = all[range].to_vec();
        part.sort_by(f64::total_cmp);
        part
    };
    let (eight, seven) = (sorted(0..8), sorted(1..8));
    format!("   median f1–f8 {:.2}, f2–f8 {:.2}", (eight[3] + eight[4]) / 2.0, seven[3])
}

/// What an engine takes that judges all packets alike.
fn ns(row: &engines::Row, engine: &str) -> Option<f64> {
    row.engines.iter().find(|e| e.engine == engine && e.wrong.is_none()).map(|e| e.median_ns)
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
    let _ = writeln!(
        out,
        "\nwhole programs, {} packets, {mb:.0} MB, {} of them, in the page cache, on {} (median seconds)",
        report.of, report.packets, report.on
    );
    let _ = writeln!(out, "{:12}{:>12}{:>12}{:>12}{:>12}{:>14}", "", "netvm", "one thread", "tcpdump", "ratio", "of one thread");
    for row in &report.rows {
        let task = format!("{} {}", row.filter, row.task);
        let times = [row.netvm_s, row.one_thread_s, row.tcpdump_s].map(|s| format!("{s:>12.3}")).concat();
        let _ = writeln!(out, "{task:12}{times}{:>12.2}{:>14.2}", row.ratio, row.one_thread_ratio);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engines::{Row, Timing};

    fn row(filter: &str, engines: &[(&'static str, f64, Option<u64>)]) -> Row {
        let timing = |&(engine, median_ns, wrong): &_| Timing { engine, median_ns, minimum_ns: median_ns, wrong };
        Row { filter: filter.to_owned(), selected: 1, packets: 4, engines: engines.iter().map(timing).collect() }
    }

    #[test]
    fn wrong_and_missing_cells_are_told_and_have_no_ratio() {
        let first = row("f1", &[("jit", 2.0, None), ("dpdk jit", 4.0, Some(7))]);
        let second = row("f2", &[("jit", 3.0, None), ("dpdk jit", 6.0, None), ("C inlined", 1.5, None)]);
        let mut out = String::new();
        table(&mut out, "title", &[first, second]);
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let lines: Vec<_> = out.lines().map(words).collect();
        for expected in ["dpdk jit wrong 6.00", "C inlined – 1.50", "selected % 25.0 25.0", "jit/dpdk jit – 0.50", "jit/C inlined – 2.00"]
        {
            assert!(lines.contains(&words(expected)), "{expected} is not in\n{out}");
        }
    }
}
