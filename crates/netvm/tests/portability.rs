//! One corpus on every engine, target and model of a machine: what leaves and what memory is left
//! is as with the interpreter, at a cost that is told, or there is a reason why not.
//! `make portability` runs all of it and writes docs/portability.md; with `NETVM_BLESS=more` what
//! the page has no `same` for: new programs, new columns and what was refused. Without
//! `NETVM_BLESS` only a part runs, or with `NETVM_NAMES=TEXT` what has that in its name.
#![cfg(target_os = "linux")]

#[path = "freestanding/apps.rs"]
mod apps;
#[path = "portability/columns.rs"]
mod columns;
#[path = "portability/corpus.rs"]
mod corpus;
#[path = "portability/costs.rs"]
mod costs;
#[path = "portability/kernel.rs"]
mod kernel;
#[path = "portability/models.rs"]
mod models;
#[path = "portability/page.rs"]
mod page;
#[path = "xdp/play.rs"]
mod play;
#[path = "freestanding/support.rs"]
mod support;

use columns::{Cell, Column};
use corpus::Case;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn the_corpus_does_the_same_everywhere() {
    // Applications name files from the root of the repository on.
    std::env::set_current_dir(apps::apps().join("..")).expect("the folder");
    let blessed = std::env::var("NETVM_BLESS").unwrap_or_default();
    let all = ["1", "more"].contains(&blessed.as_str());
    let known = if blessed == "more" { page::read() } else { page::Known::new() };
    let columns = columns::all();
    let mut cases = corpus::cases();
    assert!(cases.len() >= 40, "{} programs", cases.len());
    if let Ok(name) = std::env::var("NETVM_NAMES") {
        cases.retain(|case| case.name.contains(&name));
    } else if !all {
        cases = cases.into_iter().step_by(14).collect();
    }
    let rows = rows(&cases, &columns, &known);
    if all {
        std::fs::write(page::path(), document(&columns, &cases, &rows)).expect("the document");
    }
}

/// By program its cells, but for those that are known to be the same; none where the interpreter
/// cannot start it. Several programs at once.
fn rows(cases: &[Case], columns: &[Column], known: &page::Known) -> Vec<Option<Vec<Cell>>> {
    let (next, rows) = (AtomicUsize::new(0), Mutex::new(cases.iter().map(|_| None).collect::<Vec<_>>()));
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(case) = cases.get(at) else { return };
            let Ok(reference) = Column::reference(case) else { continue };
            let said = |column: &Column| known.get(&(case.kind.to_owned(), case.name.replace('|', "\\|"), column.name().to_owned()));
            let cell = |column: &Column| match said(column) {
                Some(Ok(same)) => Ok(same.clone()),
                _ => column.cell(case, &reference),
            };
            let row: Vec<Cell> = columns.iter().map(cell).collect();
            for (column, cell) in columns.iter().zip(&row) {
                println!("{} on {}: {}", case.name, column.name(), cell.as_ref().unwrap_or_else(|why| why));
            }
            rows.lock().expect("no panic")[at] = Some(row);
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        // The first difference is told as it is.
        for thread in all {
            thread.join().unwrap_or_else(|why| std::panic::resume_unwind(why));
        }
    });
    rows.into_inner().expect("no panic")
}

/// The number of a reason.
fn noted(reasons: &mut Vec<String>, column: &str, why: &str) -> usize {
    let reason = plain(why, column);
    reasons.iter().position(|r| *r == reason).unwrap_or_else(|| {
        reasons.push(reason);
        reasons.len() - 1
    }) + 1
}

/// A reason without what differs from program to program and from target to target: the element,
/// the place in its code, names of values and tables, and the configuration's lines below.
fn plain(why: &str, column: &str) -> String {
    let first = why.lines().next().unwrap_or_default();
    let mut text = first.rsplit("`: ").next().unwrap_or(first).replace(&format!("target {column}: "), "");
    text = text.replace(&format!("target {column} does not admit this program: "), "").replace("no C for a pull handler", "a pull handler");
    if let Some((place, rest)) = text.split_once(" instruction ").filter(|(place, _)| place.ends_with("push"))
        && let Some(at) = ["'): ", "': ", "): "].iter().filter_map(|end| rest.find(end).map(|at| at + end.len())).min()
    {
        debug_assert!(!place.contains(' '), "{text}");
        text = rest[at..].to_owned();
    }
    // Of a fault of a whole configuration what is wrong, not the file.
    if let Some((_, rest)) = text.split_once(".click:").filter(|(file, _)| file.starts_with('/')) {
        text = rest.split_once(": ").map_or(rest, |(_, what)| what).to_owned();
    }
    if let Some(rest) = text.strip_prefix("a loop at instruction ").and_then(|rest| rest.split_once(' ')) {
        text = format!("a loop {}", rest.1);
    }
    if let Some((_, kind)) = text.strip_prefix("table '").and_then(|rest| rest.split_once("': ")) {
        text = kind.to_owned();
    }
    // Of an operation its name.
    if let Some((name, behind)) = text.strip_prefix('\'').and_then(|rest| rest.split_once('\'')) {
        let name = name.split(['<', ' ']).next().unwrap_or(name);
        text = format!("`{name}`{behind}");
    }
    text.replace('|', "\\|")
}

fn document(columns: &[Column], cases: &[Case], rows: &[Option<Vec<Cell>>]) -> String {
    let names: Vec<&str> = columns.iter().map(Column::name).collect();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    let count = rows.iter().flatten().count();
    assert!(count >= 40, "{count} programs ran");
    let mut text = format!(
        "# Portability

{count} programs on every engine, target and model of a machine that there was where `make portability` wrote this page. A cell says `same` if each packet ended as with the interpreter:
by the same port with the same bytes, or dropped for the same reason, or trapped at the same instruction; and data memory and tables were the same afterwards. Of configurations
it is what leaves by each device, and what each element drops and why; with models of cores also what elements keep. Columns `aot` and `aot-…` compare the verdict of each packet for filters. `xdp` is what the kernel does
(`BPF_PROG_TEST_RUN`), on the packets of 14 to 3,400 bytes. Where the kernel runs a part of a configuration and a process the rest,
the cell tells how many packets the process had ([targets.md](targets.md#kernel-and-process)). Processors of another kind ran in QEMU's user emulation, OpenCL on PoCL; `vpp` is the plugin's nodes without VPP
([targets.md](targets.md#vpp)), `x11` a model of a pipeline. `ixp1200` and `netthreads` are models of cores and threads ([machines.md](machines.md)): the interpreter, watched, does the work, and the model
runs what was done on all of its threads, every instruction, access and critical section of each packet once.

A cell also tells what a packet costs:

- engines, `vpp` and `opencl`: nanoseconds where this page was written, in the tests' build of netvm, which is optimised little. Packets come to engines one after the other, to `vpp` in vectors, to `opencl` all at once; of configurations
  a whole run counts, with the packets forty times;
- processors: instructions, counted by QEMU;
- `xdp` and `x11`: instructions of the whole program;
- models of cores: cycles from the arrival of a packet to its end, and cycles for a packet where there is always a next one (often those of receiving and sending alone); and the instructions of code that is larger than a core's memory for it.

A number in brackets is a reason, below.
"
    );
    let (mut kind, mut reasons) = ("", Vec::new());
    for (case, row) in cases.iter().zip(rows).filter_map(|(case, row)| row.as_ref().map(|row| (case, row))) {
        if case.kind != kind {
            kind = case.kind;
            let _ = write!(text, "\n## {kind}\n\n| program | {} |\n|---{}|\n", names.join(" | "), "|---".repeat(names.len()));
        }
        let _ = write!(text, "| {} |", case.name.replace('|', "\\|"));
        for (column, cell) in names.iter().zip(row) {
            let _ = match cell {
                Ok(said) => write!(text, " {said} |"),
                Err(why) => write!(text, " ({}) |", noted(&mut reasons, column, why)),
            };
        }
        text += "\n";
    }
    text += "\n## Reasons\n\n";
    for (i, reason) in reasons.iter().enumerate() {
        let _ = writeln!(text, "{}. {reason}", i + 1);
    }
    text
}
