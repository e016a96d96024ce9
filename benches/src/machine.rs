//! Where and with what a measurement was made.

use crate::{dpdk, native};
use serde::Serialize;
use std::fs;
use std::process::Command;

/// What a record needs to be understood later.
#[derive(Default, Serialize)]
pub struct Machine {
    /// Day of the run.
    pub date: String,
    /// Commit of the sources, `+` if they were changed.
    pub revision: String,
    /// The processor's name for itself.
    pub processor: String,
    /// Its second-level cache.
    pub l2: String,
    /// Processors this process may use.
    pub processors: usize,
    /// Operating system and version.
    pub system: String,
    /// libpcap.
    pub libpcap: String,
    /// DPDK.
    pub dpdk: String,
    /// The C compiler.
    pub compiler: &'static str,
    /// The other C compiler.
    pub clang: &'static str,
    /// Load average when the run began.
    pub load: String,
}

impl Machine {
    /// This one, now.
    pub fn here() -> Self {
        let dirty = !output("git", &["status", "--porcelain", "--untracked-files=no"]).is_empty();
        Self {
            date: jiff::Zoned::now().date().to_string(),
            revision: output("git", &["rev-parse", "--short", "HEAD"]) + if dirty { "+" } else { "" },
            processor: field("/proc/cpuinfo", "model name"),
            l2: fs::read_to_string("/sys/devices/system/cpu/cpu0/cache/index2/size").unwrap_or_default().trim().to_owned(),
            processors: std::thread::available_parallelism().map_or(1, usize::from),
            system: output("uname", &["-sr"]),
            libpcap: native::version(),
            dpdk: dpdk::version(),
            compiler: env!("NETVM_BENCH_CC"),
            clang: env!("NETVM_BENCH_CLANG"),
            load: fs::read_to_string("/proc/loadavg").unwrap_or_default().split(' ').take(3).collect::<Vec<_>>().join(" "),
        }
    }
}

fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    output.map(|o| String::from_utf8_lossy(&o.stdout).trim().to_owned()).unwrap_or_default()
}

fn field(file: &str, name: &str) -> String {
    let text = fs::read_to_string(file).unwrap_or_default();
    let line = text.lines().find(|l| l.starts_with(name)).unwrap_or_default();
    line.split(':').nth(1).unwrap_or("unknown").trim().to_owned()
}

/// Keeps this thread on the last processor it may use; what it may use otherwise comes back.
pub fn pin() -> Option<rustix::thread::CpuSet> {
    let before = rustix::thread::sched_getaffinity(None).ok()?;
    let last = (0..rustix::thread::CpuSet::MAX_CPU).rev().find(|cpu| before.is_set(*cpu))?;
    let mut one = rustix::thread::CpuSet::new();
    one.set(last);
    rustix::thread::sched_setaffinity(None, &one).ok()?;
    Some(before)
}

/// Lets this thread, and the programs that it starts, use those processors.
pub fn unpin(processors: Option<rustix::thread::CpuSet>) {
    if let Some(processors) = processors {
        let _ = rustix::thread::sched_setaffinity(None, &processors);
    }
}
