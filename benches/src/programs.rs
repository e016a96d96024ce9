//! Whole programs on large captures: `netvm filter`, on all processors and on one thread, beside
//! tcpdump; in turns, every output a fresh file in memory. One capture has the mix of sizes, one
//! only its small packets, of which there are some twelve million in a gigabyte. Both are read from
//! the page cache: of a file system in memory, which keeps files in small pages, and of the disk's,
//! after the file was read from there once.

use crate::filters;
use netvm::io::synth::Mix;
use netvm::io::{LinkType, WriteOptions, Writer};
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// A filter on one task.
#[derive(Serialize)]
pub struct Row {
    /// Which filter.
    pub filter: String,
    /// What was asked.
    pub task: &'static str,
    /// Median wall time of netvm, seconds.
    pub netvm_s: f64,
    /// Median wall time of netvm on one thread, seconds.
    pub one_thread_s: f64,
    /// Median wall time of tcpdump, seconds.
    pub tcpdump_s: f64,
    /// netvm's over tcpdump's.
    pub ratio: f64,
    /// That of netvm on one thread.
    pub one_thread_ratio: f64,
}

/// The capture that was read.
#[derive(Serialize)]
pub struct Report {
    /// Of what packets.
    pub of: &'static str,
    /// Where it was: in memory or on disk.
    pub on: &'static str,
    /// Size of the capture in bytes.
    pub bytes: u64,
    /// Packets in it.
    pub packets: u64,
    /// The tasks.
    pub rows: Vec<Row>,
}

/// Captures by what is in them: the most bytes that a frame may have.
const CAPTURES: [(&str, usize); 2] = [("mixed", usize::MAX), ("small", 100)];
/// Filters, from 0, and what is asked of them.
const TASKS: [(usize, &str); 3] = [(5, "-w OUT"), (6, "-w OUT"), (5, "--count")];

/// A directory that goes away with what is in it.
struct TempDirectory(PathBuf);

impl TempDirectory {
    fn in_memory() -> Result<Self, String> {
        let memory = Path::new("/dev/shm");
        Self::under(if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() }, "memory")
    }

    fn on_disk() -> Result<Self, String> {
        Self::under(std::env::temp_dir(), "disk")
    }

    fn under(parent: PathBuf, what: &str) -> Result<Self, String> {
        let path = parent.join(format!("netvm-bench-{what}-{}", std::process::id()));
        fs::create_dir(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(Self(path))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for TempDirectory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Runs all tasks on captures of at least that many bytes; nothing, with a line that says why, if
/// tcpdump is missing.
///
/// # Errors
/// A program failed, or two wrote different files.
pub fn measure(netvm: &Path, bytes: u64, rounds: usize) -> Result<Vec<Report>, String> {
    if Command::new("tcpdump").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err() {
        eprintln!("skipped: tcpdump is not installed");
        return Ok(Vec::new());
    }
    let (memory, disk, mut reports) = (TempDirectory::in_memory()?, TempDirectory::on_disk()?, Vec::new());
    for (of, most) in CAPTURES {
        let (there, here) = (disk.file("big.pcap"), memory.file("big.pcap"));
        let packets = make(&there, most, bytes).map_err(|e| e.to_string())?;
        read_again(&there).and_then(|()| fs::copy(&there, &here)).map_err(|e| e.to_string())?;
        for (on, big) in [("memory", &here), ("disk", &there)] {
            let rows = Bench { netvm, place: &memory, big }.rows(rounds)?;
            reports.push(Report { of, on, bytes: fs::metadata(big).map_err(|e| e.to_string())?.len(), packets, rows });
            fs::remove_file(big).map_err(|e| e.to_string())?;
        }
    }
    Ok(reports)
}

/// Lets the page cache have a file as it has one that was read, not written; in memory nothing
/// changes.
fn read_again(path: &Path) -> std::io::Result<()> {
    let mut file = fs::File::open(path)?;
    file.sync_all()?;
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
    std::io::copy(&mut file, &mut std::io::sink()).map(drop)
}

fn make(path: &Path, most: usize, bytes: u64) -> Result<u64, netvm::io::WriteError> {
    let mut writer = Writer::create(path, &WriteOptions::for_output(path, &[]))?;
    let mut written = 0;
    for (time, frame) in Mix::new(7).filter(|(_, frame)| frame.len() <= most) {
        if written >= bytes {
            break;
        }
        writer.write_packet(LinkType::EN10MB, time, frame.len() as u32, &frame)?;
        written += frame.len() as u64 + 16;
    }
    let packets = writer.packets();
    writer.finish()?;
    Ok(packets)
}

struct Bench<'a> {
    netvm: &'a Path,
    place: &'a TempDirectory,
    big: &'a Path,
}

impl Bench<'_> {
    fn rows(&self, rounds: usize) -> Result<Vec<Row>, String> {
        TASKS.into_iter().map(|(which, task)| self.task(which, task, rounds)).collect()
    }

    fn task(&self, which: usize, task: &'static str, rounds: usize) -> Result<Row, String> {
        let writes = task != "--count";
        let filter = &filters::all()[which];
        let mut times: [Vec<f64>; 3] = Default::default();
        for round in 0..=rounds {
            let mut outputs = Vec::new();
            for (n, (mut command, times)) in self.commands().into_iter().zip(&mut times).enumerate() {
                let out = self.place.file(&format!("{n}-{round}.pcap"));
                let took = self.run(&mut command, filter, writes.then_some(&out))?;
                outputs.push(out);
                // The first round warms up.
                if round > 0 {
                    times.push(took);
                }
            }
            if writes {
                same(&outputs)?;
            }
        }
        let [netvm_s, one_thread_s, tcpdump_s] = times.map(median);
        let (ratio, one_thread_ratio) = (netvm_s / tcpdump_s, one_thread_s / tcpdump_s);
        Ok(Row { filter: format!("f{}", which + 1), task, netvm_s, one_thread_s, tcpdump_s, ratio, one_thread_ratio })
    }

    /// netvm, netvm on one thread, tcpdump.
    fn commands(&self) -> [Command; 3] {
        let netvm = |arguments: &[&str]| {
            let mut command = Command::new(self.netvm);
            command.arg("filter").args(arguments);
            command
        };
        let mut tcpdump = Command::new("tcpdump");
        if rustix::process::geteuid().is_root() {
            tcpdump.args(["-Z", "root"]); // or it gives up the right to write here
        }
        [netvm(&[]), netvm(&["--threads", "1"]), tcpdump]
    }

    fn run(&self, command: &mut Command, filter: &str, out: Option<&PathBuf>) -> Result<f64, String> {
        command.arg("-r").arg(self.big);
        match out {
            Some(out) => command.arg("-w").arg(out),
            None => command.arg("--count"),
        };
        command.arg(filter).stdout(Stdio::null()).stderr(Stdio::null());
        let start = Instant::now();
        let status = command.status().map_err(|e| format!("{}: {e}", command.get_program().display()))?;
        let took = start.elapsed().as_secs_f64();
        if status.success() { Ok(took) } else { Err(format!("{}: {status}", command.get_program().display())) }
    }
}

/// Compares the outputs, but for the header's snapshot length and the like, and removes them.
fn same(outputs: &[PathBuf]) -> Result<(), String> {
    let read = |path: &PathBuf| fs::read(path).map_err(|e| format!("{}: {e}", path.display()));
    let first = read(&outputs[0])?;
    for path in outputs {
        if read(path)?.get(24..) != first.get(24..) {
            return Err("netvm and tcpdump wrote different packets".to_owned());
        }
        fs::remove_file(path).map_err(|e| e.to_string())?;
    }
    Ok(())
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
