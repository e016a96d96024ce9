//! `netvm run` as people call it: an endless source, from capture to capture, and compiled C that
//! is not in the cache yet. Times are those of the wall, of the whole program.

use crate::captures;
use crate::traffic;
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Packets of the endless source.
const ENDLESS: u64 = 5_000_000;
/// Flows of the translator.
const FLOWS: usize = 56_000;
/// How often what those flows send is in the capture.
const REPEATED: usize = 16;

/// What one run takes.
#[derive(Serialize)]
pub struct Row {
    /// What runs.
    pub what: String,
    /// Median, seconds.
    pub median_s: f64,
    /// The median for each packet, nanoseconds, where there are many.
    pub ns_per_packet: Option<f64>,
    /// What copying the capture takes, seconds.
    pub copy_s: Option<f64>,
}

/// A run, by its arguments behind `netvm`.
struct Run {
    what: String,
    arguments: Vec<String>,
    packets: Option<u64>,
    /// The capture that is read.
    capture: Option<PathBuf>,
    cold: bool,
}

/// All of them.
///
/// # Errors
/// The program failed.
pub fn measure(netvm: &Path, rounds: usize) -> Result<Vec<Row>, String> {
    let folder = std::env::temp_dir().join(format!("netvm-bench-runs-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let rows = runs(&folder).and_then(|runs| runs.iter().map(|run| run.row(netvm, &folder, rounds)).collect());
    let _ = fs::remove_dir_all(&folder);
    rows
}

fn root(path: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path).display().to_string()
}

fn runs(folder: &Path) -> Result<Vec<Run>, String> {
    let packets = traffic::translated(FLOWS);
    let all: Vec<&traffic::Packet> = (0..REPEATED).flat_map(|_| &packets).collect();
    let (capture, empty) = (folder.join("in.pcap"), folder.join("empty.pcap"));
    fs::write(&capture, captures::with_interval(&all, 1000)).map_err(|error| error.to_string())?;
    fs::write(&empty, captures::with_interval(&[], 1000)).map_err(|error| error.to_string())?;
    let (from, nothing, out) = (capture.display().to_string(), empty.display().to_string(), folder.join("out.pcap").display().to_string());
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let count = all.len() as u64;
    let mut runs = Vec::new();
    for engine in ["jit", "auto", "aot"] {
        let endless = format!("InfiniteSource(LIMIT {ENDLESS}, STOP true) -> c :: Counter -> Strip(14) -> Discard");
        let arguments = words(&["run", "--engine", engine, "-e", &endless]);
        runs.push(Run { what: format!("endless source, {engine}"), arguments, packets: Some(ENDLESS), capture: None, cold: false });
        let (inside, outside) = (format!("inside={from}"), format!("outside={nothing},{out}"));
        let arguments = words(&["run", "--engine", engine, &root("apps/nat/forward.click"), "--map", &inside, "--map", &outside]);
        runs.push(Run {
            what: format!("nat, capture to capture, {engine}"),
            arguments,
            packets: Some(count),
            capture: Some(capture.clone()),
            cold: false,
        });
    }
    for (name, file, devices) in [
        ("full NAT", "apps/nat/nat.click", ["inside", "outside"].as_slice()),
        ("full router", "apps/router/router.click", &["eth0", "eth1", "eth2", "eth3"]),
    ] {
        let mut arguments = words(&["run", "--engine", "aot", &root(file)]);
        arguments.extend(devices.iter().flat_map(|device| ["--map".to_owned(), format!("{device}={nothing}")]));
        runs.push(Run { what: format!("{name}, compiled cold"), arguments, packets: None, capture: None, cold: true });
    }
    Ok(runs)
}

impl Run {
    fn row(&self, netvm: &Path, folder: &Path, rounds: usize) -> Result<Row, String> {
        // A cold compilation takes long, and is alike each time.
        let rounds = if self.cold { 1 } else { rounds };
        let mut times = Vec::new();
        // The first round warms up, and fills the cache.
        for round in 0..=rounds {
            let took = self.once(netvm)?;
            if round > 0 || self.cold {
                times.push(took);
            }
        }
        let median_s = median(times);
        let copy_s = self.capture.as_ref().map(|capture| copied(capture, &folder.join("copy.pcap"), rounds)).transpose()?;
        eprintln!("{}: {median_s:.3} s", self.what);
        Ok(Row { what: self.what.clone(), median_s, ns_per_packet: self.packets.map(|packets| median_s * 1e9 / packets as f64), copy_s })
    }

    fn once(&self, netvm: &Path) -> Result<f64, String> {
        let mut command = Command::new(netvm);
        command.args(&self.arguments).stdout(Stdio::null()).stderr(Stdio::null());
        if self.cold {
            command.env("NETVM_NO_CACHE", "1");
        }
        let begun = Instant::now();
        let status = command.status().map_err(|error| format!("{}: {error}", netvm.display()))?;
        let took = begun.elapsed().as_secs_f64();
        if status.success() { Ok(took) } else { Err(format!("{}: {status}", self.what)) }
    }
}

/// Seconds that copying a file takes.
fn copied(from: &Path, to: &Path, rounds: usize) -> Result<f64, String> {
    let once = |_| {
        let begun = Instant::now();
        fs::copy(from, to).map(|_| begun.elapsed().as_secs_f64()).map_err(|error| error.to_string())
    };
    (0..rounds).map(once).collect::<Result<Vec<_>, _>>().map(median)
}

/// The middle one.
pub fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
