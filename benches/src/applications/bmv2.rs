//! BMv2's simple_switch beside netvm, where somebody has built it: `--bmv2 DIR`.
//!
//! DIR has `simple_switch` and `simple_switch_CLI`, there, in `bin` or in `targets/simple_switch`,
//! and for each program of the benchmark its JSON, `NAME.json`, or p4c's `p4c-bm2-ss`, which makes
//! it. The switch reads packets from captures, which it does as fast as it can, after a while in
//! which its tables are filled. A time is that of its process, all threads, from the first packet
//! on; what it sends is compared. Source: BMv2, `docs/runtime_CLI.md`, the option `--use-files`.

use super::p4::Whole;
use super::sides;
use crate::captures;
use crate::traffic::{LENGTH, PORTS, Packet};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Packets of a run, the first of a trace.
pub const PACKETS: usize = 20_000;
/// Seconds until the switch reads packets; and how many entries are entered in a second, at least.
const WAIT: usize = 4;
const ENTERED: usize = 1_000;
/// For so long nothing more leaves when it has done all.
const QUIET: Duration = Duration::from_secs(1);
/// The longest that a run takes behind its first packet.
const LONGEST: Duration = Duration::from_secs(60);
/// Where it lets the control plane in.
const THRIFT: &str = "9391";

/// Where its programs are.
pub struct Bmv2 {
    folder: PathBuf,
    switch: PathBuf,
    control: PathBuf,
    /// A folder for captures and commands.
    place: PathBuf,
}

/// What a run gave.
pub struct Ran {
    /// Per packet that came in.
    pub ns: f64,
    /// What it sent otherwise.
    pub wrong: Option<String>,
}

/// A process that ends with its owner.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Bmv2 {
    /// Looks for them in a folder.
    ///
    /// # Errors
    /// Which is not there.
    pub fn find(folder: &Path) -> Result<Self, String> {
        let program = |name: &str| program(folder, name).ok_or_else(|| format!("no {name} in {}", folder.display()));
        let (switch, control) = (program("simple_switch")?, program("simple_switch_CLI")?);
        Ok(Self { folder: folder.to_owned(), switch, control, place: sides::scratch() })
    }

    /// What comes in by a port, or leaves.
    fn file(&self, port: u32, way: &str) -> PathBuf {
        self.place.join(format!("bmv2-{port}_{way}.pcap"))
    }

    /// The JSON of a program.
    fn json(&self, whole: &Whole) -> Result<PathBuf, String> {
        let there = self.folder.join(format!("{}.json", whole.name));
        if there.is_file() {
            return Ok(there);
        }
        let compiler = program(&self.folder, "p4c-bm2-ss");
        let compiler = compiler.ok_or_else(|| format!("neither {}.json nor p4c-bm2-ss in {}", whole.name, self.folder.display()))?;
        let made = self.place.join(format!("{}.json", whole.name));
        let size = format!("-DSIZE={}", whole.size);
        said(Command::new(compiler).args(["--std", "p4-16", &size, "-o"]).arg(&made).arg(whole.source()))?;
        Ok(made)
    }

    /// Runs a program on the first packets of its trace, which send this by each port.
    ///
    /// # Errors
    /// It cannot be run.
    pub fn run(&self, whole: &Whole, sent: &[Vec<u8>]) -> Result<Ran, String> {
        let json = self.json(whole)?;
        let packets: Vec<&Packet> = whole.packets.iter().take(PACKETS).collect();
        for port in 0..PORTS {
            let own: Vec<&Packet> = packets.iter().copied().filter(|packet| packet.port == port).collect();
            write(&self.file(port, "in"), &captures::with_interval(&own, super::INTERVAL))?;
            // Of a run before.
            let _ = std::fs::remove_file(self.file(port, "out"));
        }
        let wait = WAIT + whole.commands.lines().count() / ENTERED;
        let mut command = Command::new(&self.switch);
        command.args(["--use-files", &wait.to_string(), "--thrift-port", THRIFT, "--log-level", "off"]);
        for port in 0..PORTS {
            command.args(["-i", &format!("{port}@{}", self.place.join(format!("bmv2-{port}")).display())]);
        }
        let child = command.arg(&json).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let running = Running(child.map_err(|error| format!("{}: {error}", self.switch.display()))?);
        let begun = Instant::now();
        self.fill(whole)?;
        if begun.elapsed() > Duration::from_secs(wait as u64) {
            return Err("its tables were not filled before packets came".to_owned());
        }
        let (filled, took) = (processor_ns(running.0.id())?, self.settled(running.0.id())?);
        let left: Vec<Vec<u8>> = (0..PORTS).map(|port| sides::read(&self.file(port, "out"), LENGTH)).collect::<Result<_, _>>()?;
        Ok(Ran { ns: (took - filled) as f64 / packets.len() as f64, wrong: difference(sent, &left) })
    }

    /// Fills its tables, once it lets somebody in.
    fn fill(&self, whole: &Whole) -> Result<(), String> {
        let mut last = String::new();
        for _ in 0..WAIT * 5 {
            std::thread::sleep(Duration::from_millis(200));
            let commands = format!("set_queue_depth 1000000\n{}", whole.commands);
            match self.asked(&commands) {
                Ok(said) if said.contains("Could not connect") => last = said,
                Ok(said) => {
                    return said.lines().find(|line| is_fault(line)).map_or(Ok(()), |line| Err(format!("simple_switch_CLI: {line}")));
                }
                Err(why) => last = why,
            }
        }
        Err(format!("nobody is let in by simple_switch: {last}"))
    }

    /// What the control plane's program says to commands.
    fn asked(&self, commands: &str) -> Result<String, String> {
        let file = self.place.join("bmv2-commands.txt");
        write(&file, commands.as_bytes())?;
        let commands = std::fs::File::open(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        said(Command::new(&self.control).args(["--thrift-port", THRIFT]).stdin(commands))
    }

    /// What the process has had when nothing leaves any more.
    fn settled(&self, process: u32) -> Result<u64, String> {
        let length = || (0..PORTS).map(|port| std::fs::metadata(self.file(port, "out")).map_or(0, |data| data.len())).sum::<u64>();
        let (begun, mut last, mut since) = (Instant::now(), (0, 0), Instant::now());
        loop {
            std::thread::sleep(Duration::from_millis(100));
            let now = (length(), processor_ns(process)?);
            // Files are written in large pieces: a process that works is not done.
            if now.0 != last.0 || now.1 > last.1 + 20_000_000 {
                (last, since) = (now, Instant::now());
            }
            if since.elapsed() > QUIET && last.0 > 24 * u64::from(PORTS) || begun.elapsed() > LONGEST {
                return Ok(now.1);
            }
        }
    }
}

fn is_fault(line: &str) -> bool {
    let line = line.trim_start_matches("RuntimeCmd: ");
    ["Error", "Invalid", "Unknown"].iter().any(|word| line.starts_with(word))
}

/// A program of that name.
fn program(folder: &Path, name: &str) -> Option<PathBuf> {
    ["", "bin", "targets/simple_switch"].iter().map(|at| folder.join(at).join(name)).find(|path| path.is_file())
}

fn write(file: &Path, bytes: &[u8]) -> Result<(), String> {
    std::fs::write(file, bytes).map_err(|error| format!("{}: {error}", file.display()))
}

/// What a command says.
fn said(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{}: {error}", command.get_program().display()))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

/// What a process has had of all processors, in nanoseconds: the 14th and 15th number of its line,
/// in hundredths of a second (proc(5)).
fn processor_ns(process: u32) -> Result<u64, String> {
    let line = std::fs::read_to_string(format!("/proc/{process}/stat")).map_err(|error| format!("simple_switch has ended: {error}"))?;
    of_line(&line).ok_or_else(|| format!("/proc/{process}/stat says {line}"))
}

fn of_line(line: &str) -> Option<u64> {
    let (_, behind) = line.rsplit_once(')')?;
    let numbers: Vec<u64> = behind.split_whitespace().skip(11).take(2).map_while(|word| word.parse().ok()).collect();
    if let [user, system] = numbers[..] { Some((user + system) * 10_000_000) } else { None }
}

/// How what left differs from what should have left.
fn difference(wanted: &[Vec<u8>], left: &[Vec<u8>]) -> Option<String> {
    let differs = |(port, (wanted, left)): (usize, (&Vec<u8>, &Vec<u8>))| {
        let alike = wanted.chunks(LENGTH).zip(left.chunks(LENGTH)).take_while(|(a, b)| a == b).count();
        let [packets, here] = [left, wanted].map(|bytes| bytes.len() / LENGTH);
        (wanted != left).then(|| format!("port {port}: {packets} packets left, and {here} here; the first other one is number {alike}"))
    };
    wanted.iter().zip(left).enumerate().find_map(differs)
}

#[cfg(test)]
mod tests {
    use super::super::p4;
    use super::*;
    use crate::traffic::Popularity;
    use std::os::unix::fs::PermissionsExt;

    fn script(file: &Path, text: &str) {
        std::fs::write(file, text).unwrap();
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// A switch that sends by port 0 what came in by port 0, and works for some time before.
    const SWITCH: &str = "#!/bin/sh
wait=$2
shift 6
port=${2#0@}
sleep 1
n=0; while [ $n -lt 200000 ]; do n=$((n+1)); done
cp \"${port}_in.pcap\" \"${port}_out.pcap\"
for other in 1 2 3; do head -c 24 \"${port}_in.pcap\" > \"${port%0}${other}_out.pcap\"; done
exec sleep 60
";

    #[test]
    fn a_switch_is_filled_fed_and_compared() {
        let folder = std::env::temp_dir().join(format!("netvm-bench-bmv2-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("bin")).unwrap();
        assert_eq!(Bmv2::find(&folder).err().unwrap(), format!("no simple_switch in {}", folder.display()));
        script(&folder.join("bin/simple_switch"), SWITCH);
        let asked = folder.join("asked.txt");
        script(&folder.join("simple_switch_CLI"), &format!("#!/bin/sh\necho $1 $2 > {0}; cat >> {0}\n", asked.display()));
        // Tests beside this one clear the folder of this process.
        let bmv2 = Bmv2 { place: folder.clone(), ..Bmv2::find(&folder).unwrap() };
        let whole = p4::whole_forward("P4 forward", 10, Popularity::Uniform);
        assert!(bmv2.run(&whole, &[]).err().unwrap().starts_with("neither forward.json nor p4c-bm2-ss"));
        script(&folder.join("p4c-bm2-ss"), "#!/bin/sh\ntouch \"$5\"\n");
        let mut sent = vec![Vec::new(); PORTS as usize];
        sent[0] = whole.packets.iter().take(PACKETS).flat_map(|packet| packet.bytes).collect();
        let ran = bmv2.run(&whole, &sent).unwrap();
        assert!(ran.ns > 0.0 && ran.wrong.is_none(), "{} {:?}", ran.ns, ran.wrong);
        let asked = std::fs::read_to_string(asked).unwrap();
        assert!(asked.starts_with("--thrift-port 9391\nset_queue_depth 1000000\ntable_add routes to 0x"), "{asked}");
        sent[0][LENGTH] ^= 1;
        let wrong = bmv2.run(&whole, &sent).unwrap().wrong.unwrap();
        assert_eq!(wrong, "port 0: 20000 packets left, and 20000 here; the first other one is number 1");
        assert!(difference(&sent, &vec![Vec::new(); 4]).unwrap().starts_with("port 0: 0 packets left, and 20000 here"));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_process_says_what_it_has_had() {
        let line = "7 (simple (x) y) S 1 7 7 0 -1 4194560 100 0 0 0 123 45 0 0 20 0 5 0 100 1000 10";
        assert_eq!(of_line(line), Some(1_680_000_000));
        assert_eq!(of_line("7 (x) S 1"), None);
    }

    #[test]
    fn what_the_control_plane_says_of_faults_is_seen() {
        assert!(is_fault("RuntimeCmd: Error: Invalid table name (routes)") && is_fault("Invalid table operation (FULL)"));
        assert!(!is_fault("RuntimeCmd: Adding entry to lpm match table routes"));
    }
}
