//! The same programs in BMv2's simple_switch, where somebody has built it: `NETVM_BMV2=DIR`.
//!
//! DIR has `simple_switch`, `simple_switch_CLI` and p4c's `p4c-bm2-ss`, there, in `bin` or in `targets/simple_switch`. Packets come from a capture and go to captures, which the switch reads and
//! writes itself (`--use-files`), after a while in which its tables are filled. Source: BMv2, `docs/runtime_CLI.md`.

use super::program::{Program, Table};
use netvm::io::Capture;
use netvm::p4::{BigInt, KeyMatch};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Seconds until the switch reads packets.
const WAIT: u32 = 4;
/// Where it lets the control plane in.
const THRIFT: &str = "9392";
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

fn find(folder: &Path, name: &str) -> PathBuf {
    let at = ["", "bin", "targets/simple_switch"].map(|at| folder.join(at).join(name));
    at.iter().find(|path| path.is_file()).unwrap_or_else(|| panic!("no {name} in {}", folder.display())).clone()
}

impl Program {
    /// Its entries as commands of BMv2, where the lowest priority wins; of the tables that `has` knows.
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

/// What the switch sends by each port of what comes in by port 0: `in.pcap` of the folder, for the program `p.p4` there.
pub fn sent(bmv2: &Path, dir: &Path, commands: &str, count: usize) -> Vec<Vec<Vec<u8>>> {
    let json = dir.join("p.json");
    let made = Command::new(find(bmv2, "p4c-bm2-ss")).args(["--std", "p4-16", "-o"]).arg(&json).arg(dir.join("p.p4")).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let file = |port: usize, way: &str| dir.join(format!("bmv2-{port}_{way}.pcap"));
    for port in 0..PORTS {
        // Of a program before.
        let _ = std::fs::remove_file(file(port, "out"));
        // At others than the first nothing comes: the capture's header.
        let all = std::fs::read(dir.join("in.pcap")).unwrap();
        std::fs::write(file(port, "in"), if port == 0 { &all[..] } else { &all[..24] }).unwrap();
    }
    let mut command = Command::new(find(bmv2, "simple_switch"));
    command.args(["--use-files", &WAIT.to_string(), "--thrift-port", THRIFT, "--log-level", "off"]);
    for port in 0..PORTS {
        command.args(["-i", &format!("{port}@{}", dir.join(format!("bmv2-{port}")).display())]);
    }
    let child = command.arg(&json).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let _running = Running(child);
    std::thread::sleep(Duration::from_secs(1));
    std::fs::write(dir.join("bmv2.txt"), commands).unwrap();
    let input = std::fs::File::open(dir.join("bmv2.txt")).unwrap();
    let filled = Command::new(find(bmv2, "simple_switch_CLI")).args(["--thrift-port", THRIFT]).stdin(input).output().unwrap();
    let said = String::from_utf8_lossy(&filled.stdout).into_owned();
    assert!(filled.status.success() && !said.contains("Error") && !said.contains("Invalid"), "{said}");
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
            return all;
        }
    }
    (0..PORTS).map(read).collect()
}
