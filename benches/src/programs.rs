//! Whole programs on a large capture in memory: `netvm filter` beside tcpdump, in turns, every output a fresh file.

use crate::filters;
use netvm::io::synth::Mix;
use netvm::io::{LinkType, Plan, Writer};
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// f6 on one task.
#[derive(Serialize)]
pub struct Row {
    /// What was asked.
    pub task: &'static str,
    /// Median wall time of netvm, seconds.
    pub netvm_s: f64,
    /// Median wall time of tcpdump, seconds.
    pub tcpdump_s: f64,
    /// The one over the other.
    pub ratio: f64,
}

/// The capture that was read.
#[derive(Serialize)]
pub struct Report {
    /// Size of the capture in bytes.
    pub bytes: u64,
    /// Packets in it.
    pub packets: u64,
    /// The tasks.
    pub rows: Vec<Row>,
}

/// A directory in memory that goes away with what is in it.
struct Place(PathBuf);

impl Place {
    fn new() -> Result<Self, String> {
        let memory = Path::new("/dev/shm");
        let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let path = parent.join(format!("netvm-bench-{}", std::process::id()));
        fs::create_dir(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(Self(path))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Runs all tasks on a capture of at least that many bytes; `None`, with a line that says why, if tcpdump is missing.
///
/// # Errors
/// A program failed, or the two wrote different files.
pub fn measure(netvm: &Path, bytes: u64, rounds: usize) -> Result<Option<Report>, String> {
    if Command::new("tcpdump").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err() {
        eprintln!("skipped: tcpdump is not installed");
        return Ok(None);
    }
    let place = Place::new()?;
    let big = place.file("big.pcap");
    let packets = make(&big, bytes).map_err(|e| e.to_string())?;
    let bench = Bench { netvm, place: &place, big: &big, filter: &filters::all()[5] };
    let rows = vec![bench.task("-w OUT", true, rounds)?, bench.task("--count", false, rounds)?];
    let size = fs::metadata(&big).map_err(|e| e.to_string())?.len();
    Ok(Some(Report { bytes: size, packets, rows }))
}

fn make(path: &Path, bytes: u64) -> Result<u64, netvm::io::WriteError> {
    let mut writer = Writer::create(path, &Plan::for_output(path, &[]))?;
    let mut written = 0;
    for (time, frame) in Mix::new(7) {
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
    place: &'a Place,
    big: &'a Path,
    filter: &'a str,
}

impl Bench<'_> {
    fn task(&self, task: &'static str, writes: bool, rounds: usize) -> Result<Row, String> {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for round in 0..=rounds {
            let outputs = ["netvm", "tcpdump"].map(|who| self.place.file(&format!("{who}-{round}.pcap")));
            let times = [self.run(Command::new(self.netvm).arg("filter"), writes, &outputs[0])?, self.tcpdump(writes, &outputs[1])?];
            if writes {
                same(&outputs)?;
            }
            // The first round warms up.
            if round > 0 {
                ours.push(times[0]);
                theirs.push(times[1]);
            }
        }
        let (netvm_s, tcpdump_s) = (median(ours), median(theirs));
        Ok(Row { task, netvm_s, tcpdump_s, ratio: netvm_s / tcpdump_s })
    }

    fn tcpdump(&self, writes: bool, out: &Path) -> Result<f64, String> {
        let mut command = Command::new("tcpdump");
        if rustix::process::geteuid().is_root() {
            command.args(["-Z", "root"]); // or it gives up the right to write here
        }
        self.run(&mut command, writes, out)
    }

    fn run(&self, command: &mut Command, writes: bool, out: &Path) -> Result<f64, String> {
        command.arg("-r").arg(self.big);
        if writes {
            command.arg("-w").arg(out)
        } else {
            command.arg("--count")
        };
        command.arg(self.filter).stdout(Stdio::null()).stderr(Stdio::null());
        let start = Instant::now();
        let status = command.status().map_err(|e| format!("{}: {e}", command.get_program().display()))?;
        let took = start.elapsed().as_secs_f64();
        if status.success() { Ok(took) } else { Err(format!("{}: {status}", command.get_program().display())) }
    }
}

/// Compares the outputs, but for the header's snapshot length and the like, and removes them.
fn same(outputs: &[PathBuf; 2]) -> Result<(), String> {
    let [ours, theirs] = outputs.each_ref().map(|path| fs::read(path).map_err(|e| format!("{}: {e}", path.display())));
    let same = ours?.get(24..) == theirs?.get(24..);
    for path in outputs {
        fs::remove_file(path).map_err(|e| e.to_string())?;
    }
    if same { Ok(()) } else { Err("netvm and tcpdump wrote different packets".to_owned()) }
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
