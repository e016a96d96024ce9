//! netvm beside Click: one configuration, the same captures, whole programs. Both read with
//! FromDump and write with ToDump, which is what configurations of Click's users have.
//!
//! Each row runs a million packets and four million: the former as it is, the difference as
//! nanoseconds a packet without start and end. What left is compared packet by packet, as sets,
//! without ARP's requests, which depend on how sources take turns. Rows `router, …` are the whole
//! router with one more element on the way of all packets. The last two rows before these are run
//! on two threads by both, which Click must be built for (`--enable-user-multithread`).

mod cases;

use crate::captures;
use crate::runs::median;
use cases::Case;
use serde::Serialize;
use std::collections::HashMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Stdio};
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
    // They run in other folders.
    let found = |path: &Path| path.canonicalize().map_err(|error| format!("{}: {error}", path.display()));
    let (click, netvm) = (found(&executable(click))?, found(netvm)?);
    let programs = Programs { click: &click, netvm: &netvm };
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
    let memory = Path::new("/dev/shm");
    let place = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let folder = place.join(format!("netvm-bench-clicks-{}", process::id()));
    let row = in_folder(case, programs, rounds, &folder);
    let _ = fs::remove_dir_all(&folder);
    row.map_err(|error| format!("{}: {error}", case.name))
}

fn in_folder(case: &Case, programs: &Programs<'_>, rounds: usize, folder: &Path) -> Result<Row, String> {
    let folders = PACKETS.map(|count| folder.join(count.to_string()));
    for (folder, count) in folders.iter().zip(PACKETS) {
        prepare(case, folder, count)?;
    }
    let commands = programs.commands(case);
    let (left, differing) = compare(case, &commands, &folders[0])?;
    // Compiled C comes from the cache afterwards.
    commands.iter().filter(|command| command.compiles()).try_for_each(|command| command.compiled().run(case, &folders[0]).map(drop))?;
    let mut times = vec![[Vec::new(), Vec::new()]; commands.len()];
    for _ in 0..rounds {
        for (command, times) in commands.iter().zip(&mut times) {
            for (folder, times) in folders.iter().zip(times) {
                times.push(command.run(case, folder)?);
            }
        }
    }
    let side = |(command, [short, long]): (&Command<'_>, [Vec<f64>; 2])| {
        let (short, long) = (median(short), median(long));
        Side { side: command.name, million_s: short, ns: (long - short) * 1e9 / (PACKETS[1] - PACKETS[0]) as f64 }
    };
    let sides: Vec<Side> = commands.iter().zip(times).map(side).collect();
    eprintln!("{}", line(&sides, case.name));
    Ok(Row { what: case.name, sides, left, differing })
}

/// Packets that leave by Click, and the most that one of the two sends and the other does not.
/// Caches are filled afterwards.
fn compare(case: &Case, commands: &[Command<'_>], folder: &Path) -> Result<(usize, usize), String> {
    commands[0].run(case, folder)?;
    let wanted = outputs(case, folder)?;
    let mut differing = 0;
    for command in &commands[1..] {
        command.run(case, folder)?;
        differing = differing.max(apart(&wanted, &outputs(case, folder)?));
    }
    Ok((wanted.values().sum(), differing))
}

/// How a program is called.
struct Command<'a> {
    name: &'static str,
    program: &'a Path,
    arguments: Vec<&'static str>,
}

impl<'a> Programs<'a> {
    fn commands(&self, case: &Case) -> Vec<Command<'a>> {
        let click = |name, arguments: &[_]| Command { name, program: self.click, arguments: arguments.to_vec() };
        let netvm = |name, arguments: &[_]| Command { name, program: self.netvm, arguments: [&["run"], arguments].concat() };
        if case.threads {
            return vec![
                click("Click, 2 threads", &["-j", "2"]),
                click("Click", &[]),
                netvm("netvm", &[]),
                netvm("netvm rtc:2, order of flows", &["--place", "rtc:2", "--order", "flow"]),
                netvm("netvm rtc:2", &["--place", "rtc:2"]),
                netvm("netvm pipeline", &["--place", "pipeline"]),
            ];
        }
        vec![click("Click", &[]), netvm("netvm", &[]), netvm("netvm jit", &["--engine", "jit"])]
    }
}

impl<'a> Command<'a> {
    /// Whether compiled C comes while it runs.
    fn compiles(&self) -> bool {
        self.name.starts_with("netvm") && !self.arguments.contains(&"--engine")
    }

    /// With compiled C from the first packet on.
    fn compiled(&self) -> Command<'a> {
        let arguments = [&self.arguments[..], &["--engine", "aot"]].concat();
        Command { name: self.name, program: self.program, arguments }
    }

    fn run(&self, case: &Case, folder: &Path) -> Result<f64, String> {
        let mut command = process::Command::new(self.program);
        command
            .args(&self.arguments)
            .arg("it.click")
            .args(&case.parameters)
            .current_dir(folder)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let begun = Instant::now();
        let status = command.status().map_err(|error| format!("{}: {error}", self.program.display()))?;
        let took = begun.elapsed().as_secs_f64();
        if status.success() { Ok(took) } else { Err(format!("{}: {status}", self.program.display())) }
    }
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
    for (at, side) in sides.iter().enumerate() {
        let _ = write!(line, "  {} {:.3} s, {:.1} ns", side.side, side.million_s, side.ns);
        if at > 0 {
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
