//! netvm beside Click: one configuration, the same captures, whole programs. Both read with FromDump and write with ToDump, which is what configurations of Click's users have.
//!
//! Each row runs a million packets and four million: the former as it is, the difference as nanoseconds a packet without start and end. What left is compared packet by packet, as sets, without ARP's requests, which
//! depend on how sources take turns. Rows `router, …` are the whole router with one more element on the way of all packets.

mod cases;

use crate::captures;
use crate::runs::median;
use cases::Case;
use serde::Serialize;
use std::collections::HashMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Packets of the two runs.
const PACKETS: [usize; 2] = [1_000_000, 4_000_000];

/// What one program takes.
#[derive(Serialize)]
pub struct Side {
    pub side: &'static str,
    /// Median of a million packets, whole process, seconds.
    pub million_s: f64,
    /// Each packet behind the first million, nanoseconds.
    pub ns: f64,
}

/// One configuration.
#[derive(Serialize)]
pub struct Row {
    pub what: &'static str,
    /// Click first.
    pub sides: Vec<Side>,
    /// Packets that left, of a million that came, by Click.
    pub left: usize,
    /// Packets that only one of the two sent.
    pub differing: usize,
}

/// The programs.
struct Programs<'a> {
    click: &'a Path,
    netvm: &'a Path,
}

/// All of them, or those whose names begin so.
///
/// # Errors
/// A program fails, or a file cannot be written.
pub fn measure(click: &Path, netvm: &Path, rounds: usize, only: &[String]) -> Result<Vec<Row>, String> {
    let click = executable(click);
    let programs = Programs { click: &click, netvm };
    chosen(only).iter().map(|case| row(case, &programs, rounds)).collect()
}

fn chosen(only: &[String]) -> Vec<Case> {
    let named = |case: &Case| only.is_empty() || only.iter().any(|name| case.name.starts_with(name.as_str()));
    cases::all().into_iter().filter(named).collect()
}

/// `click` itself, or where Click's build leaves it.
fn executable(at: &Path) -> PathBuf {
    ["userlevel/click", "click", "bin/click"].iter().map(|name| at.join(name)).find(|path| path.is_file()).unwrap_or_else(|| at.to_owned())
}

fn row(case: &Case, programs: &Programs<'_>, rounds: usize) -> Result<Row, String> {
    let folder = std::env::temp_dir().join(format!("netvm-bench-clicks-{}", std::process::id()));
    let row = in_folder(case, programs, rounds, &folder);
    let _ = fs::remove_dir_all(&folder);
    row.map_err(|error| format!("{}: {error}", case.name))
}

fn in_folder(case: &Case, programs: &Programs<'_>, rounds: usize, folder: &Path) -> Result<Row, String> {
    let folders = PACKETS.map(|count| folder.join(count.to_string()));
    for (folder, count) in folders.iter().zip(PACKETS) {
        prepare(case, folder, count)?;
    }
    let commands = [
        ("Click", programs.click, &[][..]),
        ("netvm", programs.netvm, &["run"][..]),
        ("netvm jit", programs.netvm, &["run", "--engine", "jit"][..]),
    ];
    let once = |command: &(&str, &Path, &[&str]), folder: &Path| run(command.1, command.2, case, folder);
    let (mut left, mut differing) = (0, 0);
    for command in &commands {
        // The first run fills caches, and what it sends is compared. The compiler of C may still be at work behind it.
        once(command, &folders[0])?;
        let sent = outputs(case, &folders[0])?;
        match command.0 {
            "Click" => keep(case, &folders[0])?,
            _ => differing = differing.max(apart(&kept(case, &folders[0])?, &sent)),
        }
        left = if command.0 == "Click" { sent.values().sum() } else { left };
    }
    settle(&commands[1], case, &folders[0])?;
    let mut times = vec![[Vec::new(), Vec::new()]; commands.len()];
    for _ in 0..rounds {
        for (command, times) in commands.iter().zip(&mut times) {
            for (folder, times) in folders.iter().zip(times) {
                times.push(once(command, folder)?);
            }
        }
    }
    let side = |(command, [short, long]): (&(&'static str, &Path, &[&str]), [Vec<f64>; 2])| {
        let (short, long) = (median(short), median(long));
        Side { side: command.0, million_s: short, ns: (long - short) * 1e9 / (PACKETS[1] - PACKETS[0]) as f64 }
    };
    let sides: Vec<Side> = commands.iter().zip(times).map(side).collect();
    eprintln!("{}", line(&sides, case.name));
    Ok(Row { what: case.name, sides, left, differing })
}

/// Runs with compiled C until it comes from the cache.
fn settle(command: &(&str, &Path, &[&str]), case: &Case, folder: &Path) -> Result<(), String> {
    run(command.1, &["run", "--engine", "aot"], case, folder).map(|_| ())
}

/// Writes the configurations that names begin so, with their packets, into folders of their names.
///
/// # Errors
/// A file that cannot be written.
pub fn write(folder: &Path, only: &[String]) -> Result<(), String> {
    chosen(only).iter().try_for_each(|case| {
        let folder = folder.join(case.name);
        prepare(case, &folder, PACKETS[0])?;
        fs::write(folder.join("parameters"), case.parameters.join(" ")).map_err(|error| format!("{}: {error}", folder.display()))
    })
}

fn prepare(case: &Case, folder: &Path, count: usize) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    fs::create_dir_all(folder).map_err(failed)?;
    fs::write(folder.join("it.click"), case.text.replace("COUNT", &count.to_string())).map_err(failed)?;
    let total: usize = case.inputs.iter().map(|(_, packets)| packets.len()).sum();
    for (name, packets) in &case.inputs {
        let all: Vec<_> = (0..count.div_ceil(total)).flat_map(|_| packets).collect();
        fs::write(folder.join(name), captures::with_interval(&all, 1000)).map_err(failed)?;
    }
    Ok(())
}

fn run(program: &Path, arguments: &[&str], case: &Case, folder: &Path) -> Result<f64, String> {
    let mut command = Command::new(program);
    command.args(arguments).arg("it.click").args(&case.parameters).current_dir(folder).stdout(Stdio::null()).stderr(Stdio::null());
    let begun = Instant::now();
    let status = command.status().map_err(|error| format!("{}: {error}", program.display()))?;
    let took = begun.elapsed().as_secs_f64();
    if status.success() { Ok(took) } else { Err(format!("{}: {status}", program.display())) }
}

/// Packets by port and bytes, with how many there are.
type Sent = HashMap<(String, Vec<u8>), usize>;

fn outputs(case: &Case, folder: &Path) -> Result<Sent, String> {
    let mut sent = Sent::new();
    for name in &case.outputs {
        for packet in packets(&folder.join(name))? {
            if packet.get(12..14) != Some(&[8, 6]) {
                *sent.entry((name.clone(), packet)).or_default() += 1;
            }
        }
    }
    Ok(sent)
}

fn keep(case: &Case, folder: &Path) -> Result<(), String> {
    let renamed = |name: &String| fs::rename(folder.join(name), folder.join(format!("{name}.click"))).map_err(|error| error.to_string());
    case.outputs.iter().try_for_each(renamed)
}

fn kept(case: &Case, folder: &Path) -> Result<Sent, String> {
    let named = Case { outputs: case.outputs.iter().map(|name| format!("{name}.click")).collect(), ..case.clone() };
    let sent = outputs(&named, folder)?;
    Ok(sent.into_iter().map(|((name, packet), count)| ((name.trim_end_matches(".click").to_owned(), packet), count)).collect())
}

/// Packets that only one side has.
fn apart(one: &Sent, other: &Sent) -> usize {
    let missing = |a: &Sent, b: &Sent| a.iter().map(|(key, count)| count.saturating_sub(b.get(key).copied().unwrap_or(0))).sum::<usize>();
    missing(one, other) + missing(other, one)
}

/// Packets of a capture.
fn packets(path: &Path) -> Result<Vec<Vec<u8>>, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let mut capture = netvm::io::Capture::open(path).map_err(|error| failed(&error))?;
    let mut all = Vec::new();
    while let Some(burst) = capture.next_burst(256).map_err(|error| failed(&error))? {
        all.extend(burst.packets().iter().map(|packet| packet.to_vec()));
    }
    Ok(all)
}

fn line(sides: &[Side], name: &str) -> String {
    let mut line = format!("{name:32}");
    for side in sides {
        let _ = write!(line, "  {} {:.3} s, {:.1} ns", side.side, side.million_s, side.ns);
        if side.side != "Click" {
            let _ = write!(line, " ({:.2}, {:.2})", side.million_s / sides[0].million_s, side.ns / sides[0].ns);
        }
    }
    line
}

/// The rows as text.
pub fn table(rows: &[Row]) -> String {
    let mut out =
        "\nnetvm beside Click, whole programs: seconds for a million packets, ns for each after them (median; ratio to Click's)\n"
            .to_owned();
    for row in rows {
        let differing = if row.differing == 0 { String::new() } else { format!("; {} of {} differ", row.differing, row.left) };
        let _ = writeln!(out, "{}{differing}", line(&row.sides, row.what));
    }
    out
}
