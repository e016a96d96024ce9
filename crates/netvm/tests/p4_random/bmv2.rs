//! Random P4 programs in BMv2's simple_switch, where somebody has built it: `NETVM_BMV2=DIR`.
//!
//! DIR has `simple_switch`, `simple_switch_CLI` and p4c's `p4c-bm2-ss`, there, in `bin` or in
//! `targets/simple_switch`. Packets go to captures that the switch writes itself, and come through
//! a pipe that it takes for a capture (`--use-files`), when its tables are filled. Source: BMv2,
//! `docs/runtime_CLI.md`.

use super::program::{Program, Table};
use netvm::io::Capture;
use netvm::p4::{BigInt, KeyMatch};
use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How often the switch is asked, ten times a second at most, until it is ready.
const PATIENCE: u32 = 200;
/// Opening does not wait for who reads: `O_NONBLOCK` of Linux.
const NO_WAIT: i32 = 0o4000;
/// Where switches let the control plane in: the first port, and how many there are.
const THRIFT: (u64, u64) = (20_000, 10_000);
/// Output ports of programs.
pub const PORTS: usize = 8;

/// A process that ends with its owner.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Running {
    /// The beginning of what it reads, when it does.
    fn input(&mut self, pipe: &Path) -> Result<File, String> {
        for _ in 0..PATIENCE {
            if let Ok(file) = File::options().write(true).custom_flags(NO_WAIT).open(pipe) {
                return Ok(file);
            }
            if let Ok(Some(status)) = self.0.try_wait() {
                return Err(format!("simple_switch has ended: {status}"));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Err("simple_switch does not read packets".to_owned())
    }
}

fn find(folder: &Path, name: &str) -> PathBuf {
    let at = ["", "bin", "targets/simple_switch"].map(|at| folder.join(at).join(name));
    at.iter().find(|path| path.is_file()).unwrap_or_else(|| panic!("no {name} in {}", folder.display())).clone()
}

impl Program {
    /// Its entries as commands of BMv2, where the lowest priority wins; of the tables that `has`
    /// knows.
    pub fn bmv2_commands(&self, has: impl Fn(&str) -> bool) -> String {
        self.tables.iter().filter(|table| has(&table.name)).flat_map(|table| commands(table)).collect()
    }
}

fn commands(table: &Table) -> impl Iterator<Item = String> {
    table.entries[1..].iter().map(|entry| {
        let keys: Vec<String> = table.keys.iter().zip(&entry.keys).map(|(key, k)| written(key.kind, key.width, k)).collect();
        let args: Vec<String> = entry.args.iter().map(ToString::to_string).collect();
        let priority = if table.is_ranked() { (1_000_000 - entry.priority).to_string() } else { String::new() };
        format!("table_add {} {} {} => {} {priority}\n", table.name, table.actions[entry.action].name, keys.join(" "), args.join(" "))
    })
}

/// What an entry asks of a key of that kind.
fn written(kind: &str, width: u32, key: &KeyMatch) -> String {
    let all = (BigInt::from(1) << width) - 1;
    match (kind, key) {
        ("ternary" | "optional", KeyMatch::Value(v)) => format!("{v}&&&{all}"),
        ("range", KeyMatch::Value(v)) => format!("{v}->{v}"),
        ("lpm", KeyMatch::Value(v)) => format!("{v}/{width}"),
        ("range", KeyMatch::Any) => format!("0->{all}"),
        ("lpm", KeyMatch::Any) => "0/0".to_owned(),
        (_, KeyMatch::Value(v)) => v.to_string(),
        (_, KeyMatch::Prefix(v, length)) => format!("{v}/{length}"),
        (_, KeyMatch::Mask(v, m)) => format!("{v}&&&{m}"),
        (_, KeyMatch::Range(low, high)) => format!("{low}->{high}"),
        (_, KeyMatch::Any) => "0&&&0".to_owned(),
    }
}

/// What a command says, if it is well.
fn said(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{}: {error}", command.get_program().display()))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

/// Has entries made, once the switch lets somebody in.
fn fill(bmv2: &Path, dir: &Path, commands: &str, thrift: &str) -> Result<(), String> {
    // What no packet can come to p4c leaves out, and tables without an effect.
    let made = std::fs::read_to_string(dir.join("p.json")).unwrap();
    let is_there = |line: &&str| line.split(' ').nth(1).is_some_and(|table| made.contains(&format!(".{table}\"")));
    let commands: Vec<&str> = commands.lines().filter(is_there).collect();
    std::fs::write(dir.join("bmv2.txt"), commands.join("\n") + "\n").unwrap();
    let mut last = String::new();
    for _ in 0..PATIENCE {
        let input = File::open(dir.join("bmv2.txt")).unwrap();
        match said(Command::new(find(bmv2, "simple_switch_CLI")).args(["--thrift-port", thrift]).stdin(input)) {
            Ok(filled) if filled.contains("Error") || filled.contains("Invalid") => return Err(filled),
            Ok(filled) if !filled.contains("Could not") => return Ok(()),
            Ok(why) | Err(why) => last = why,
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Err(last)
}

/// What the switch sends by each port of what comes in by port 0: `in.pcap` of the folder, for the
/// program `p.p4` there. Switches with other numbers may run beside it.
pub fn sent(bmv2: &Path, dir: &Path, commands: &str, (count, number): (usize, u64)) -> Result<Vec<Vec<Vec<u8>>>, String> {
    let thrift = (THRIFT.0 + (u64::from(std::process::id()) * 64 + number) % THRIFT.1).to_string();
    let json = dir.join("p.json");
    said(Command::new(find(bmv2, "p4c-bm2-ss")).args(["--std", "p4-16", "-o"]).arg(&json).arg(dir.join("p.p4")))?;
    let file = |port: usize, way: &str| dir.join(format!("bmv2-{port}_{way}.pcap"));
    let all = std::fs::read(dir.join("in.pcap")).unwrap();
    let (head, packets) = all.split_at(24);
    said(Command::new("mkfifo").arg(file(0, "in")))?;
    // At others than the first nothing comes: the capture's header.
    (1..PORTS).for_each(|port| std::fs::write(file(port, "in"), head).unwrap());
    let mut command = Command::new(find(bmv2, "simple_switch"));
    command.args(["--use-files", "0", "--thrift-port", &thrift, "--log-level", "off"]);
    for port in 0..PORTS {
        command.args(["-i", &format!("{port}@{}", dir.join(format!("bmv2-{port}")).display())]);
    }
    let child = command.arg(&json).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut running = Running(child);
    let mut input = running.input(&file(0, "in"))?;
    input.write_all(head).unwrap();
    fill(bmv2, dir, commands, &thrift)?;
    input.write_all(packets).unwrap();
    let read = |port: usize| -> Vec<Vec<u8>> {
        let Ok(mut capture) = Capture::open(file(port, "out")) else { return Vec::new() };
        let mut all = Vec::new();
        // What is still being written may end within a packet.
        while let Ok(Some(burst)) = capture.next_burst(256) {
            all.extend(burst.packets().iter().map(|packet| packet.to_vec()));
        }
        all
    };
    for _ in 0..100 {
        std::thread::sleep(Duration::from_millis(200));
        let all: Vec<_> = (0..PORTS).map(read).collect();
        if all.iter().map(Vec::len).sum::<usize>() >= count {
            return Ok(all);
        }
    }
    Ok((0..PORTS).map(read).collect())
}
