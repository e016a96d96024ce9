//! What the tests share: the program, directories, captures, snapshots.

use netvm::io::{LinkType, Precision, Timestamp, WriteOptions, Writer, synth};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The program with arguments, in an environment that is the same everywhere.
pub fn netvm<S: AsRef<std::ffi::OsStr>>(args: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_netvm"));
    // Tests leave the user's cache alone, and have one of their own: many start the same
    // applications, whose C takes seconds to compile.
    command.env("XDG_CACHE_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"));
    command.args(args).env("TZ", "UTC").env("COLUMNS", "100").env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
    command
}

/// The program's end with its outputs.
pub struct Ended {
    pub status: i32,
    pub out: String,
    pub err: String,
}

/// Runs the program to its end; the command line is cut at blanks.
pub fn run(line: &str) -> Ended {
    ended(netvm(line.split_whitespace()).output().expect("the program starts"))
}

/// Runs the program with arguments that may have blanks.
pub fn run_args(args: &[&str]) -> Ended {
    ended(netvm(args).output().expect("the program starts"))
}

pub fn ended(output: Output) -> Ended {
    Ended {
        status: output.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

impl Ended {
    /// The standard output of a run that went well.
    #[track_caller]
    pub fn good(self) -> String {
        assert_eq!((self.status, self.err.as_str()), (0, ""), "output: {}", self.out);
        self.out
    }

    /// The standard error of a run that ended with that status.
    #[track_caller]
    pub fn bad(self, status: i32) -> String {
        assert_eq!(self.status, status, "errors: {}\noutput: {}", self.err, self.out);
        self.err
    }
}

/// A directory that goes away with its owner.
pub struct Dir(PathBuf);

impl Dir {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("netvm-cli-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).expect("a temporary directory");
        Self(path)
    }

    /// The path of a file in it, as text.
    pub fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    /// Writes a file.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        fs::write(self.0.join(name), bytes).expect("a file is written");
        self.file(name)
    }

    /// The names of the files in it.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).expect("the directory is read");
        let mut names: Vec<String> = entries.map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// A capture of `count` synthetic packets.
    pub fn trace(&self, name: &str, seed: u64, count: usize) -> String {
        self.capture(name, LinkType::EN10MB, &synth::mixed_trace(seed, count))
    }

    /// A capture of these packets.
    pub fn capture(&self, name: &str, link: LinkType, packets: &[(Timestamp, Vec<u8>)]) -> String {
        let path = self.file(name);
        let precision = packets.iter().map(|(time, _)| time.precision).max().unwrap_or_default();
        let plan = WriteOptions { link_type: link, precision, ..WriteOptions::for_output(&path, &[]) };
        let mut writer = Writer::create(&path, &plan).expect("a capture is created");
        for (time, packet) in packets {
            writer.write_packet(link, *time, packet.len() as u32, packet).expect("a packet is written");
        }
        writer.finish().expect("the capture is finished");
        path
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Synthetic packets without Ethernet header, those of IPv4 alone.
pub fn raw_ip(seed: u64, count: usize) -> Vec<(Timestamp, Vec<u8>)> {
    let trace = synth::mixed_trace(seed, count).into_iter();
    trace.filter(|(_, p)| p[12..14] == [8, 0]).map(|(time, p)| (time, p[14..].to_vec())).collect()
}

/// These packets with times to the nanosecond.
pub fn in_nanoseconds(packets: Vec<(Timestamp, Vec<u8>)>) -> Vec<(Timestamp, Vec<u8>)> {
    let finer = |time: Timestamp| Timestamp { nanos: time.nanos + 7, precision: Precision::Nano, ..time };
    packets.into_iter().map(|(time, packet)| (finer(time), packet)).collect()
}

/// Holds text against the snapshot of that name; writes it instead where `NETVM_BLESS` is set.
#[track_caller]
pub fn snapshot(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(format!("{name}.txt"));
    if std::env::var_os("NETVM_BLESS").is_some() {
        fs::write(&path, text).expect("the snapshot is written");
        return;
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(expected == text, "{name} differs from its snapshot (NETVM_BLESS=1 writes it anew); it is now:\n{text}");
}

/// The directory of real captures, if it is there.
pub fn real_captures() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/pcaps");
    let dir = std::env::var_os("NETVM_PCAPS").map_or(beside, PathBuf::from);
    dir.is_dir().then_some(dir)
}
