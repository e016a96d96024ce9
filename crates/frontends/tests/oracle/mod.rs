//! The installed libpcap as an oracle: a small C program beside this file, built with the system's
//! compiler, compiles filters and runs them. Where libpcap's headers or a compiler are missing,
//! [`Oracle::start`] says so and the tests skip.
#![allow(dead_code, reason = "each test program uses a part")]

pub mod captures;
pub mod code;
#[path = "../../../../tests/needs.rs"]
mod needs;
pub mod packets;
pub mod random;
pub mod writer;

use std::io::{BufReader, BufWriter, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;

/// A packet as a capture file has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    pub wire_len: u32,
    pub bytes: Vec<u8>,
}

impl Packet {
    pub fn whole(bytes: Vec<u8>) -> Packet {
        Packet { wire_len: bytes.len() as u32, bytes }
    }

    pub fn cut(&self, len: usize) -> Packet {
        Packet { wire_len: self.wire_len, bytes: self.bytes[..len.min(self.bytes.len())].to_vec() }
    }
}

/// libpcap's verdict on one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Reject,
    Accept,
    /// It was still running after a fiftieth of a second.
    Endless,
}

/// One verdict per packet, or why libpcap refuses the filter.
pub type Answer = Result<Vec<Verdict>, String>;

pub struct Oracle {
    child: Child,
    to: BufWriter<ChildStdin>,
    from: BufReader<ChildStdout>,
    count: usize,
}

impl Oracle {
    /// Builds and starts the helper; `None`, with a line on standard error, if that cannot be done
    /// here.
    pub fn start() -> Option<Oracle> {
        // Tests run side by side: one that built the helper again would write what another one
        // runs.
        static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();
        let program = PROGRAM.get_or_init(build).as_ref()?;
        let mut child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the helper starts");
        let to = BufWriter::new(child.stdin.take().expect("a pipe"));
        let from = BufReader::new(child.stdout.take().expect("a pipe"));
        Some(Oracle { child, to, from, count: 0 })
    }

    fn put(&mut self, n: u32) {
        self.to.write_all(&n.to_ne_bytes()).expect("the helper listens");
    }

    fn put_bytes(&mut self, bytes: &[u8]) {
        self.put(bytes.len() as u32);
        self.to.write_all(bytes).expect("the helper listens");
    }

    fn number(&mut self) -> u32 {
        let mut n = [0; 4];
        self.from.read_exact(&mut n).expect("the helper answers");
        u32::from_ne_bytes(n)
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.from.read_exact(&mut bytes).expect("the helper answers");
        bytes
    }

    /// The packets for the filters to come.
    pub fn packets(&mut self, packets: &[Packet]) {
        self.to.write_all(b"P").expect("the helper listens");
        self.put(packets.len() as u32);
        for packet in packets {
            self.put(packet.wire_len);
            self.put_bytes(&packet.bytes);
        }
        self.count = packets.len();
    }

    /// The link type and the byte order of the capture file.
    pub fn link(&mut self, link: u32, swapped: bool) {
        self.to.write_all(b"L").expect("the helper listens");
        self.put(link);
        self.put(u32::from(swapped));
    }

    /// Verdicts of the code that libpcap makes without its optimiser.
    pub fn plain(&mut self, filter: &str) -> Answer {
        self.ask(filter, 1);
        self.answer()
    }

    /// Verdicts without and with the optimiser.
    pub fn both(&mut self, filter: &str) -> (Answer, Answer) {
        self.ask(filter, 3);
        (self.answer(), self.answer())
    }

    /// Verdicts of a program in classic BPF, by libpcap's machine or by the kernel's, or that it is
    /// refused there.
    pub fn run(&mut self, program: &[[u32; 4]], kernel: bool) -> Answer {
        self.to.write_all(b"B").expect("the helper listens");
        self.put(kernel.into());
        self.put_program(program);
        self.answer()
    }

    /// A program in words.
    pub fn image(&mut self, program: &[[u32; 4]]) -> String {
        self.to.write_all(b"I").expect("the helper listens");
        self.put_program(program);
        let length = self.number() as usize;
        String::from_utf8_lossy(&self.bytes(length)).into_owned()
    }

    /// How many instructions libpcap's optimised code has.
    pub fn length(&mut self, filter: &str) -> Result<usize, String> {
        self.to.write_all(b"N").expect("the helper listens");
        self.put_bytes(filter.as_bytes());
        self.to.flush().expect("the helper listens");
        match self.number() {
            0 => Ok(self.number() as usize),
            length => Err(String::from_utf8_lossy(&self.bytes(length as usize)).into_owned()),
        }
    }

    fn put_program(&mut self, program: &[[u32; 4]]) {
        self.put(program.len() as u32);
        program.as_flattened().iter().for_each(|&word| self.put(word));
        self.to.flush().expect("the helper listens");
    }

    fn ask(&mut self, filter: &str, optimisers: u32) {
        self.to.write_all(b"F").expect("the helper listens");
        self.put(optimisers);
        self.put_bytes(filter.as_bytes());
        self.to.flush().expect("the helper listens");
    }

    fn answer(&mut self) -> Answer {
        let error = self.number() as usize;
        if error > 0 {
            return Err(String::from_utf8_lossy(&self.bytes(error)).into_owned());
        }
        let verdict = |byte| match byte {
            0 => Verdict::Reject,
            1 => Verdict::Accept,
            _ => Verdict::Endless,
        };
        Ok(self.bytes(self.count).into_iter().map(verdict).collect())
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn build() -> Option<PathBuf> {
    let source = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/oracle/helper.c");
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("pcap-oracle-{}", std::process::id()));
    let output = Command::new("cc").arg("-O2").arg("-o").arg(&program).arg(source).arg("-lpcap").output();
    match output {
        Ok(output) if output.status.success() => Some(program),
        Ok(output) => {
            let why = String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or_default().to_owned();
            needs::missing(format_args!("libpcap-dev ({why})"));
            None
        }
        Err(error) => {
            needs::missing(format_args!("a C compiler ({error})"));
            None
        }
    }
}

/// What a number in the environment says, or the quick suite's amount.
pub fn amount(variable: &str, quick: usize) -> usize {
    std::env::var(variable).ok().and_then(|v| v.parse().ok()).unwrap_or(quick)
}
