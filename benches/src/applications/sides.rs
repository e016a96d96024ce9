//! The sides of a comparison: who runs an application, and how.

use crate::captures;
use crate::hand::{Hand, Trace};
use crate::tables::processor_time;
use crate::traffic::{Packet, lengthened};
use netvm::application::{Application, Host, Reading, Replay, Settings, Stream};
use netvm::engines::{self, EngineInfo};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, LazyLock};
use std::time::Instant;

/// netvm's elements as one.
const LINKED: &str = "netvm aot";
/// netvm's elements as one, and told how long elements take.
const TIMED: &str = "netvm aot --stats";
/// The engine that uses a compiler of C.
const AHEAD: &str = "aot";
/// netvm's elements by a compiler of C.
pub const NATIVE: &str = "gcc of the same";
/// Written by hand.
pub const BY_HAND: &str = "C by hand";

/// An application with its traffic.
pub struct Case {
    /// Its name.
    pub application: &'static str,
    /// The configuration.
    pub file: PathBuf,
    /// Folders with its elements.
    pub elements: Vec<PathBuf>,
    /// Values of its parameters.
    pub parameters: BTreeMap<String, String>,
    /// The devices that packets come from, by port.
    pub inputs: Vec<String>,
    /// And those that they go to.
    pub outputs: Vec<String>,
    /// The trace.
    pub packets: Vec<Packet>,
    /// Bytes of each packet; other lengths than the usual one are for engines of netvm only.
    pub length: usize,
    /// From one packet to the next.
    pub interval: u64,
    /// The application by hand, twice: one shows what it sends, the other is new when it is timed.
    pub hand: Option<[Hand; 2]>,
}

/// What several sides share.
struct Common {
    application: Application,
    inputs: Vec<String>,
    outputs: Vec<String>,
    packets: Vec<Packet>,
    length: usize,
    interval: u64,
}

/// One of them.
pub enum Side {
    Netvm(Box<Netvm>),
    Native(Native),
    Hand(ByHand),
}

/// C by hand.
pub struct ByHand {
    shown: Hand,
    timed: Hand,
    trace: Trace,
    /// What a packet of the first pass took, in nanoseconds.
    first: Option<f64>,
}

/// An engine of netvm.
pub struct Netvm {
    common: Arc<Common>,
    engine: Result<&'static EngineInfo, String>,
    settings: engines::Settings,
    name: &'static str,
    stopwatch: Option<Stopwatch>,
}

/// A program of a C compiler.
pub struct Native {
    common: Arc<Common>,
    /// The program, or why there is none.
    program: Result<PathBuf, String>,
}

/// Nanoseconds from some moment on.
type Stopwatch = fn() -> u64;

fn stopwatch() -> u64 {
    static BEGUN: LazyLock<Instant> = LazyLock::new(Instant::now);
    BEGUN.elapsed().as_nanos() as u64
}

pub struct Silent;

impl Host for Silent {
    fn write(&mut self, _: Stream, _: &[u8]) {}
}

/// A folder of this process for what programs read and write.
pub fn scratch() -> PathBuf {
    let folder = std::env::temp_dir().join(format!("netvm-bench-{}", std::process::id()));
    let _ = std::fs::create_dir_all(&folder);
    folder
}

/// Removes that folder, with what is in it, when it goes away.
pub struct Cleared;

impl Drop for Cleared {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(scratch());
    }
}

impl Case {
    /// All sides that there are.
    ///
    /// # Errors
    /// The configuration cannot be read.
    pub fn sides(self) -> Result<Vec<Side>, String> {
        let text = std::fs::read_to_string(&self.file).map_err(|error| format!("{}: {error}", self.file.display()))?;
        let reading = Reading { parameters: self.parameters, elements: self.elements, ..Reading::default() };
        let application = Application::read(&self.file.display().to_string(), &text, &reading).map_err(|error| error.to_string())?;
        let native = application.standalone_text(&reading.elements).map_err(|error| error.to_string());
        let (inputs, outputs, packets, length, interval) = (self.inputs, self.outputs, self.packets, self.length, self.interval);
        let by_hand = |[shown, timed]: [Hand; 2]| Side::Hand(ByHand { shown, timed, trace: Trace::new(&packets, interval), first: None });
        let hand = self.hand.map(by_hand);
        let common = Arc::new(Common { application, inputs, outputs, packets, length, interval });
        let engine = |(name, engine, stopwatch): (&'static str, &str, Option<Stopwatch>)| {
            let engine = engines::find(engine).ok_or_else(|| format!("no engine {engine}"));
            let settings = engines::Settings::default();
            Side::Netvm(Box::new(Netvm { common: Arc::clone(&common), engine, settings, name, stopwatch }))
        };
        let engines = [(LINKED, AHEAD, None), (TIMED, AHEAD, Some(stopwatch as Stopwatch)), ("netvm jit", "jit", None)];
        let mut sides: Vec<Side> = engines.into_iter().map(engine).collect();
        let program = native.and_then(|text| built(&text)).and_then(|program| common.write_captures().map(|()| program));
        sides.push(Side::Native(Native { common, program }));
        sides.extend(hand);
        Ok(sides)
    }
}

impl Case {
    /// Its elements as one, with these settings.
    ///
    /// # Errors
    /// The configuration cannot be read.
    pub fn linked(self, settings: engines::Settings) -> Result<Side, String> {
        self.by(engines::find(AHEAD).ok_or("no engine aot")?, settings)
    }

    /// It by an engine.
    ///
    /// # Errors
    /// The configuration cannot be read.
    pub fn by(self, engine: &'static EngineInfo, settings: engines::Settings) -> Result<Side, String> {
        let Self { file, elements, parameters, inputs, outputs, packets, length, interval, .. } = self;
        let text = std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let application = Application::read(&file.display().to_string(), &text, &Reading { parameters, elements, ..Reading::default() });
        let application = application.map_err(|error| error.to_string())?;
        let common = Arc::new(Common { application, inputs, outputs, packets, length, interval });
        Ok(Side::Netvm(Box::new(Netvm { common, engine: Ok(engine), settings, name: LINKED, stopwatch: None })))
    }
}

/// Compiles a program.
fn built(text: &str) -> Result<PathBuf, String> {
    let (file, program) = (scratch().join("native.c"), scratch().join("native"));
    std::fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    let flags = ["-O3", "-march=native", "-fwrapv", "-fno-strict-aliasing", "-w", "-o"];
    let output = Command::new("gcc").args(flags).args([&program, &file]).output().map_err(|error| format!("gcc: {error}"))?;
    if output.status.success() { Ok(program) } else { Err(String::from_utf8_lossy(&output.stderr).lines().take(3).collect()) }
}

impl Common {
    /// The packets of an input.
    fn of_port(&self, port: usize) -> impl Iterator<Item = &Packet> {
        self.packets.iter().filter(move |packet| packet.port as usize == port)
    }

    fn write_captures(&self) -> Result<(), String> {
        for (port, device) in self.inputs.iter().enumerate() {
            let file = scratch().join(device);
            let packets: Vec<&Packet> = self.of_port(port).collect();
            std::fs::write(&file, captures::with_interval(&packets, self.interval))
                .map_err(|error| format!("{}: {error}", file.display()))?;
        }
        Ok(())
    }

    /// Arguments that say which files stand for devices, those that are written only if so wanted.
    fn maps(&self, writes: bool) -> Vec<String> {
        let is_written = |device: &String| writes && self.outputs.contains(device);
        let input = |device: &String| {
            let output = if is_written(device) { format!(",{}", written(device).display()) } else { String::new() };
            format!("{device}={}{output}", scratch().join(device).display())
        };
        let others = self.outputs.iter().filter(|device| is_written(device) && !self.inputs.contains(device));
        self.inputs.iter().map(input).chain(others.map(|device| format!("{device}={}", written(device).display()))).collect()
    }

    /// What was written, by port.
    fn outputs(&self) -> Result<Vec<Vec<u8>>, String> {
        let all = self.outputs.iter().map(|device| read(&written(device), self.length));
        let none = (self.outputs.len()..crate::traffic::PORTS as usize).map(|_| Ok(Vec::new()));
        all.chain(none).collect()
    }
}

fn written(device: &str) -> PathBuf {
    scratch().join(format!("sent-{device}.pcap"))
}

/// The packets of a capture, one after the other; all of that length.
pub fn read(file: &Path, length: usize) -> Result<Vec<u8>, String> {
    let bytes = std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let mut packets = Vec::new();
    for record in bytes.get(24..).unwrap_or_default().chunks(16 + length) {
        if record.get(8..12) != Some(&(length as u32).to_le_bytes()) || record.len() != 16 + length {
            return Err(format!("{}: a packet of another length", file.display()));
        }
        packets.extend_from_slice(&record[16..]);
    }
    Ok(packets)
}

impl Side {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Netvm(side) => side.name,
            Self::Native(_) => NATIVE,
            Self::Hand(..) => BY_HAND,
        }
    }

    /// Whether it takes packets in bursts, and so little time for each.
    pub fn takes_bursts(&self) -> bool {
        matches!(self, Self::Hand(..)) || self.name() == LINKED || self.name() == TIMED
    }

    /// What it sends in so many passes over the trace, by port.
    ///
    /// # Errors
    /// It cannot run.
    pub fn outputs(&mut self, passes: u64) -> Result<Vec<Vec<u8>>, String> {
        match self {
            Self::Netvm(side) => {
                let outputs = side.common.outputs.iter().map(|device| (device.clone(), written(device))).collect();
                side.run(passes, outputs)?;
                side.common.outputs()
            }
            Self::Native(side) => {
                side.run(passes - 1, true)?;
                side.common.outputs()
            }
            Self::Hand(side) => Ok(side.shown.outputs(&side.trace, passes)),
        }
    }

    /// Nanoseconds of the processor's per packet: of passes over the trace after a first one, and
    /// of that one where it fills what is empty.
    ///
    /// # Errors
    /// It cannot run.
    pub fn ns(&mut self, passes: u64) -> Result<(f64, Option<f64>), String> {
        match self {
            Self::Netvm(side) => side.run(1 + passes, BTreeMap::new()).map(|(ns, first)| (ns, Some(first))),
            Self::Native(side) => {
                let said = side.run(passes, false)?;
                let number = said.split_once(" packets, ").and_then(|(_, rest)| rest.split_once(" ns"));
                let ns = number.and_then(|(number, _)| number.parse().ok()).ok_or_else(|| format!("the standalone program said {said}"))?;
                Ok((ns, None))
            }
            Self::Hand(side) => {
                let first = side.ns(1);
                let first = *side.first.get_or_insert(first);
                Ok((side.ns(passes), Some(first)))
            }
        }
    }
}

impl ByHand {
    /// Nanoseconds of the processor's per packet.
    fn ns(&mut self, passes: u64) -> f64 {
        let begun = processor_time();
        self.timed.run(&self.trace, passes);
        (processor_time() - begun) as f64 / (passes as f64 * self.trace.len() as f64)
    }
}

impl Netvm {
    /// Nanoseconds of the processor's per packet, of those that come behind the first pass, and of
    /// that; not a number if none do.
    fn run(&self, passes: u64, outputs: BTreeMap<String, PathBuf>) -> Result<(f64, f64), String> {
        let common = &self.common;
        let replay = |(port, device): (usize, &String)| {
            let packets: Vec<Vec<u8>> = common.of_port(port).map(|packet| lengthened(packet, common.length)).collect();
            (device.clone(), Arc::new(Replay::new(packets.iter().map(Vec::as_slice), passes, common.interval)))
        };
        let replays = common.inputs.iter().enumerate().map(replay).collect();
        let settings = Settings { replays, outputs, ..Settings::default() };
        let engine = self.engine.as_ref().map_err(Clone::clone)?;
        let graph = common.application.start(engine, self.settings, settings, Box::new(Silent));
        let mut graph = graph.map_err(|error| error.to_string())?;
        if let Some(stopwatch) = self.stopwatch {
            graph.measure(stopwatch);
        }
        graph.start();
        let first_pass = common.packets.len() as u64;
        let started = processor_time();
        while graph.arrivals() < first_pass && graph.turn() {}
        let (before, begun) = (graph.arrivals(), processor_time());
        while graph.turn() {}
        let took = (processor_time() - begun) as f64;
        let first = (begun - started) as f64 / before as f64;
        let faults: Vec<String> = graph.finish().into_iter().map(|fault| fault.message()).collect();
        match graph.arrivals() == passes * first_pass {
            _ if !faults.is_empty() => Err(faults.join("; ")),
            false => Err("not all packets arrived".to_owned()),
            true => Ok((took / (graph.arrivals() - before) as f64, first)),
        }
    }
}

impl Native {
    /// What the program says.
    fn run(&self, repeat: u64, writes: bool) -> Result<String, String> {
        let program = self.program.as_ref().map_err(Clone::clone)?;
        let repeat = repeat.to_string();
        let output =
            Command::new(program).args(["--repeat", &repeat]).args(self.common.maps(writes)).output().map_err(|error| error.to_string())?;
        let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        if output.status.success() { Ok(said(&output.stdout)) } else { Err(said(&output.stderr)) }
    }
}
