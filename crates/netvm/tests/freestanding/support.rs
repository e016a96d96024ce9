//! Programs for processors without an operating system: which can be tried here, what their main.c
//! prints by the interpreter, and in an emulator.
#![allow(dead_code, reason = "each test program uses a part")]

use netvm::Session;
use netvm::engines::EngineInfo;
use netvm::netil::Verified;
use netvm::netil::exec::{Disposition, DropReason, ExchangeBuffer, Outcome};
use netvm::netil::module::{Entry, PortKind, Table};
use netvm::targets::{self, File, Options, Target};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

/// Processors: the target, its compiler, its emulator.
const CORES: [(&str, &str, &str); 4] = [
    ("aarch64", "aarch64-linux-gnu-gcc", "qemu-aarch64"),
    ("riscv64", "riscv64-linux-gnu-gcc", "qemu-riscv64"),
    ("x86_64", "cc", "true"),
    ("octeon", "mips64-linux-gnuabi64-gcc", "qemu-mips64"),
];

pub fn there(tool: &str) -> bool {
    Command::new(tool).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// Whether there is an OpenCL device with what host programs are made of.
fn opencl_there() -> bool {
    let device = std::fs::read_dir("/etc/OpenCL/vendors").is_ok_and(|mut files| files.next().is_some());
    let compiler = Command::new("cc").args(["-x", "c", "-", "-E", "-o", "/dev/null"]).stdin(Stdio::piped()).stderr(Stdio::null()).spawn();
    let headers = compiler.is_ok_and(|mut cc| {
        let written = cc.stdin.take().is_some_and(|mut input| input.write_all(b"#include <CL/cl.h>\n").is_ok());
        cc.wait().is_ok_and(|status| written && status.success())
    });
    device && headers
}

/// The targets that can be tried here.
pub fn tried() -> Vec<&'static Target> {
    let x86 = cfg!(all(target_arch = "x86_64", target_os = "linux"));
    let cores = CORES.iter().filter(|(name, ..)| *name != "x86_64" || x86);
    let mut known: Vec<(&str, bool, String)> =
        cores.map(|(name, cc, emulator)| (*name, there(cc) && there(emulator), format!("{cc} and {emulator}"))).collect();
    known.push(("opencl", opencl_there(), "an OpenCL device and headers".to_owned()));
    known.push(("vpp", there("cc"), "cc".to_owned()));
    let mut all = Vec::new();
    for (name, there, needs) in known {
        if there {
            all.push(targets::find(name).expect("a target"));
        } else {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "{name} needs {needs}");
            println!("skipped: {name} needs {needs}");
        }
    }
    all
}

/// What a target's main.c prints where main.c of processors prints that: of OpenCL nothing lasts.
pub fn expected(target: &str, lines: &str) -> String {
    let lasts = |line: &&str| line.starts_with("data") || line.starts_with("table");
    lines.lines().filter(|line| target != "opencl" || !lasts(line)).fold(String::new(), |text, line| text + line + "\n")
}

/// Runs `make` in a folder, and gives what it prints.
pub fn make(folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("make");
    command.args(["-s", "--no-print-directory", "-C"]).arg(folder).args(arguments).env("POCL_CACHE_DIR", folder.join("cache"));
    let done = command.output().expect("make");
    assert!(done.status.success(), "{}: {}", folder.display(), String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).expect("text")
}

/// FNV-1a, as main.c has it.
pub fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, byte| (h ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

/// What main.c prints, by an engine.
pub fn wanted(engine: &EngineInfo, program: &Arc<Verified>, packets: &[Vec<u8>]) -> Result<String, String> {
    let mut session = Session::start(Arc::clone(program), engine, netvm::Settings::default()).map_err(|why| why.to_string())?;
    Ok(lines(&mut session, program, packets, |_| {}))
}

/// What main.c prints, by a session that has begun; `arrives` is told of each packet before it is
/// pushed.
pub fn lines(session: &mut Session, program: &Verified, packets: &[Vec<u8>], mut arrives: impl FnMut(&[u8])) -> String {
    let input = program.module().all_ports().iter().find(|(_, p)| p.kind == PortKind::PushInput).map_or(0, |(id, _)| *id);
    let mut text = String::new();
    for (n, packet) in packets.iter().enumerate() {
        arrives(packet);
        let mut burst = [ExchangeBuffer::borrowed(packet)];
        (burst[0].port, burst[0].time_ns) = (input, time_of(n));
        let outcome: Outcome = session.push(&mut burst).clone();
        for copy in &outcome.clones {
            let bytes = copy.buffer.bytes();
            let _ = writeln!(text, "copy sent {} {} {:x}", copy.port, bytes.len(), digest(bytes));
        }
        let bytes = burst[0].bytes();
        let _ = match outcome.dispositions[0] {
            Disposition::Port(port) => writeln!(text, "sent {port} {} {:x}", bytes.len(), digest(bytes)),
            Disposition::Drop(DropReason::Program(n)) => writeln!(text, "dropped {n} 0"),
            Disposition::Drop(_) => writeln!(text, "dropped 0 0"),
            Disposition::Trap(trap) => writeln!(text, "trapped {} {}", trap.kind.code(), trap.inst),
        };
    }
    let state = session.state();
    let tables = program.module().tables.iter().zip(&state.tables);
    let _ = writeln!(text, "data 0 {} {:x}", state.data.len(), digest(&state.data));
    for (n, (declared, table)) in tables.enumerate() {
        let entries = table.entries(0);
        let _ = writeln!(text, "table 0 {n} {} {:x}", entries.len(), entries.iter().fold(0, |sum, e| entry(declared, e).wrapping_add(sum)));
    }
    text
}

/// An entry's digest, as main.c has it.
pub fn entry(table: &Table, entry: &Entry) -> u64 {
    let key: Vec<u8> = entry.key.iter().flat_map(|limb| limb.to_le_bytes()).take(usize::from(table.key_bits) / 8).collect();
    let key: Vec<u8> = key.into_iter().rev().collect();
    digest(&key).wrapping_mul(31).wrapping_add(digest(&entry.value))
}

/// When a packet comes: now and then one comes before its predecessor.
pub fn time_of(n: usize) -> u64 {
    (n as u64 + 3) * 40_000_000 - (n as u64 % 5 / 4) * 100_000_000
}

/// A capture, of nanoseconds, in little-endian order.
pub fn pcap(packets: &[Vec<u8>]) -> Vec<u8> {
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>();
    let mut file = words(&[0xa1b2_3c4d, 0x0004_0002, 0, 0, 1 << 18, 1]);
    for (n, packet) in packets.iter().enumerate() {
        let (len, time) = (packet.len() as u32, time_of(n));
        file.extend(words(&[(time / 1_000_000_000) as u32, (time % 1_000_000_000) as u32, len, len]));
        file.extend(packet);
    }
    file
}

/// Writes what was built.
pub fn write(folder: &Path, files: Vec<File>) {
    for file in files {
        let path = folder.join(file.name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, file.bytes).expect("a file");
    }
}

/// Builds, makes, runs; none if the target refuses the program.
pub fn ran(target: &Target, program: &Verified, packets: &[Vec<u8>], name: &str) -> Result<String, String> {
    ran_as(target, program, packets, name, &Options::default())
}

/// Builds with those options, makes, runs; why not if the target refuses the program.
pub fn ran_as(target: &Target, program: &Verified, packets: &[Vec<u8>], name: &str, options: &Options) -> Result<String, String> {
    ran_with(target, program, packets, name, options, ["", ""])
}

/// Builds with other text in the place of some, makes, runs; why not if the target refuses it.
pub fn ran_with(
    target: &Target,
    program: &Verified,
    packets: &[Vec<u8>],
    name: &str,
    options: &Options,
    replaced: [&str; 2],
) -> Result<String, String> {
    let made = made(target, program, packets, name, options, replaced)?;
    Ok(made.run())
}

/// What was built for a target, in a folder of its own, with packets.
pub struct Made {
    pub target: &'static str,
    pub folder: PathBuf,
    /// What `make` is told.
    pub arguments: Vec<String>,
    pub packets: usize,
}

impl Made {
    /// A folder with files and what `make` is told there.
    pub fn new(target: &Target, kind: &str, name: &str, files: Vec<File>, packets: usize) -> Self {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{kind}-{}-{name}-{}", target.name, std::process::id()));
        write(&folder, files);
        Self { target: target.name, folder, arguments: vec!["run".to_owned()], packets }
    }

    /// What it prints.
    pub fn run(&self) -> String {
        make(&self.folder, &self.arguments.iter().map(String::as_str).collect::<Vec<_>>())
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        // NETVM_KEEP=1 keeps the files, to look at what is wrong.
        if std::env::var_os("NETVM_KEEP").is_none() && !std::thread::panicking() {
            std::fs::remove_dir_all(&self.folder).expect("the folder");
        }
    }
}

/// Builds a program for a target, with packets to run it on; why not if the target refuses it.
pub fn made(
    target: &Target,
    program: &Verified,
    packets: &[Vec<u8>],
    name: &str,
    options: &Options,
    [old, new]: [&str; 2],
) -> Result<Made, String> {
    let mut files = (target.build)(program, options).map_err(|why| why.to_string())?;
    for file in files.iter_mut().filter(|file| file.name == "program.c" && !old.is_empty()) {
        let text = String::from_utf8_lossy(&file.bytes).into_owned();
        assert!(text.contains(old), "{old:?} is not in program.c");
        file.bytes = text.replace(old, new).into_bytes();
    }
    let mut made = Made::new(target, "freestanding", name, files, packets.len());
    std::fs::write(made.folder.join("in.pcap"), pcap(packets)).expect("a capture");
    // A vector of one packet has that packet's time.
    made.arguments.extend(["PCAP=in.pcap", "VECTOR=1"].map(str::to_owned));
    Ok(made)
}

pub fn trace() -> Vec<Vec<u8>> {
    netvm::io::synth::mixed_trace(11, 150).into_iter().map(|(_, packet)| packet).collect()
}
