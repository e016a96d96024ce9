//! Runs a configuration between captures, on an engine, and tells all that came of it.

use super::{Call, Config, ScenarioError};
use crate::application::{
    Application, Cores, Fault, Graph, HandlerError, Host, Placement, PlacementError, Reading, Settings, Stats, Stream, Tell, builtin,
};
use crate::engines::{self, EngineInfo};
use crate::io::{Capture, Format, LinkType, Timestamp, WriteOptions, Writer};
use crate::sync::lock;
use netil::{Engine, Verified, app};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Packets with their times in nanoseconds.
pub type Packets = Vec<(u64, Vec<u8>)>;

/// After so many rounds of work and events a run is one without end.
const MOST_TURNS: u32 = 20_000_000;
/// What configurations call the scenario's folder.
const FOLDER: &str = "$FOLDER";

/// What comes in, and what is asked.
pub struct Job<'a> {
    /// The configuration.
    pub config: &'a Config,
    /// Its parameters.
    pub parameters: &'a BTreeMap<String, String>,
    /// Folders with element classes.
    pub elements: &'a [PathBuf],
    /// Files that are there.
    pub files: &'a BTreeMap<String, Vec<u8>>,
    /// By device or capture.
    pub inputs: BTreeMap<String, Packets>,
    /// Captures that are read afterwards, besides those of devices.
    pub captures: Vec<String>,
    /// Files of text that are read afterwards.
    pub texts: Vec<String>,
    /// Handlers that are called at the end.
    pub calls: &'a [Call],
}

/// What came of it.
pub struct Found {
    /// Packets that left, by device or capture.
    pub outputs: BTreeMap<String, Packets>,
    /// What handlers said at the end, or why they refused.
    pub calls: Vec<Result<String, HandlerError>>,
    /// Lines that were written, by stream or file.
    pub text: BTreeMap<String, Vec<String>>,
    /// What went wrong at the end.
    pub errors: Vec<String>,
    /// What elements did, before handlers were called.
    pub stats: Stats,
    /// Bytes of each device's capture.
    pub captures: BTreeMap<String, Vec<u8>>,
    /// How long it ran, from the first packet to the last.
    pub took: Duration,
    /// The graph after its end; none of a run on several threads.
    pub graph: Option<Graph>,
}

/// Keeps what elements write.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<[Vec<u8>; 2]>>);

impl Host for Kept {
    fn write(&mut self, stream: Stream, text: &[u8]) {
        lock(&self.0)[usize::from(stream == Stream::Err)].extend_from_slice(text);
    }
}

/// Runs it in a folder, which is made; captures of devices that nothing is said of are empty.
///
/// # Errors
/// The configuration is refused, or the folder cannot be written.
pub fn run(job: &Job<'_>, engine: &EngineInfo, engines: engines::Settings, folder: &Path) -> Result<Found, ScenarioError> {
    start(job, folder, |application, settings, host| {
        let graph = application.start(engine, engines, settings, host).map_err(ScenarioError::refused)?;
        Ok(Running::Graph(Box::new(graph)))
    })
}

/// Runs a job in a folder with elements on engines that somebody else makes, one packet at a time:
/// see [`Application::start_with`].
///
/// # Errors
/// As [`run`].
pub fn run_watched(
    job: &Job<'_>,
    make: &dyn Fn(Arc<Verified>) -> Box<dyn Engine>,
    arrives: Tell,
    folder: &Path,
) -> Result<Found, ScenarioError> {
    start(job, folder, |application, settings, host| {
        let graph = application.start_with(make, arrives, settings, host).map_err(ScenarioError::refused)?;
        Ok(Running::Graph(Box::new(graph)))
    })
}

/// Runs a job in a folder on several threads, with so many replicas, where `place` says.
///
/// # Errors
/// As [`run`], and if it cannot be placed.
pub fn run_on(
    job: &Job<'_>,
    engine: &'static EngineInfo,
    engines: engines::Settings,
    folder: &Path,
    replicas: usize,
    place: impl FnOnce(&app::Application) -> Result<Placement, PlacementError>,
) -> Result<Found, ScenarioError> {
    start(job, folder, |application, settings, host| {
        let placement = place(application.application())?;
        let cores = application.start_on(placement, replicas, engine, engines, settings, host).map_err(ScenarioError::refused)?;
        Ok(Running::Cores(Box::new(cores)))
    })
}

/// Runs what somebody makes of the configuration, and does something between two turns.
///
/// # Errors
/// As [`run`], and what `begin` says.
pub fn run_while(
    job: &Job<'_>,
    folder: &Path,
    begin: impl FnOnce(&Application, Settings, Box<dyn Host>) -> Result<Running, ScenarioError>,
    between: impl FnMut(&mut Running),
) -> Result<Found, ScenarioError> {
    put_files(job, folder)?;
    let hide = |text: String| text.replace(&folder.display().to_string(), FOLDER);
    let application = application(job, folder).map_err(|error| error.map(hide))?;
    let settings = devices(job, &application, folder)?;
    let (outputs, kept) = (settings.outputs.clone(), Kept::default());
    let mut running = begin(&application, settings, Box::new(kept.clone())).map_err(|error| error.map(hide))?;
    let begun = Instant::now();
    if !running.run_out(between) {
        return Err(ScenarioError::Endless);
    }
    let took = begun.elapsed();
    let stats = running.stats();
    let calls = job.calls.iter().map(|call| done(running.graph(), call).map(hide).map_err(|why| why.map(hide))).collect();
    let (faults, graph) = running.finish();
    let mut found = Found {
        outputs: BTreeMap::new(),
        calls,
        text: kept.lines().into_iter().map(|(name, lines)| (name, lines.into_iter().map(hide).collect())).collect(),
        errors: faults.into_iter().map(|fault| hide(fault.message())).collect(),
        stats,
        captures: BTreeMap::new(),
        took,
        graph,
    };
    found.read(job, folder, &outputs)?;
    Ok(found)
}

/// What runs.
pub enum Running {
    /// On one thread.
    Graph(Box<Graph>),
    /// On several.
    Cores(Box<Cores>),
}

impl Running {
    /// The graph, or that of the caller's thread, by which handlers are called.
    pub fn graph(&mut self) -> &mut Graph {
        match self {
            Self::Graph(graph) => graph,
            Self::Cores(cores) => cores.graph(),
        }
    }

    /// Runs to the end. False if there is none.
    fn run_out(&mut self, mut between: impl FnMut(&mut Self)) -> bool {
        match self {
            Self::Graph(graph) => graph.start(),
            Self::Cores(cores) => cores.start(),
        }
        let turn = |running: &mut Self| match running {
            Self::Graph(graph) => graph.turn(),
            Self::Cores(cores) => cores.turn(),
        };
        !(0..MOST_TURNS).all(|_| {
            between(self);
            turn(self)
        })
    }

    fn stats(&self) -> Stats {
        match self {
            Self::Graph(graph) => graph.stats(),
            Self::Cores(cores) => cores.stats(),
        }
    }

    fn finish(mut self) -> (Vec<Fault>, Option<Graph>) {
        match &mut self {
            Self::Graph(graph) => (graph.finish(), if let Self::Graph(graph) = self { Some(*graph) } else { None }),
            Self::Cores(cores) => (cores.finish(), None),
        }
    }
}

fn start(
    job: &Job<'_>,
    folder: &Path,
    begin: impl FnOnce(&Application, Settings, Box<dyn Host>) -> Result<Running, ScenarioError>,
) -> Result<Found, ScenarioError> {
    run_while(job, folder, begin, |_| {})
}

impl Kept {
    fn lines(&self) -> BTreeMap<String, Vec<String>> {
        let named = ["stdout", "stderr"].into_iter().zip(lock(&self.0).clone());
        named.map(|(name, text)| (name.to_owned(), lines(&text))).collect()
    }
}

fn lines(text: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(text).lines().map(|line| line.trim_end().to_owned()).collect()
}

fn done(graph: &mut Graph, call: &Call) -> Result<String, HandlerError> {
    match call.write {
        true => graph.write(&call.handler, &call.value, None).map(|()| String::new()),
        false => graph.read(&call.handler, "", None).map(|value| value.trim_end().to_owned()),
    }
}

impl Found {
    /// Reads what was written to files.
    fn read(&mut self, job: &Job<'_>, folder: &Path, devices: &BTreeMap<String, PathBuf>) -> Result<(), ScenarioError> {
        let said = |file: &Path, error: &dyn std::fmt::Display| ScenarioError::File(format!("{}: {error}", file.display()));
        for (device, file) in devices {
            self.captures.insert(device.clone(), std::fs::read(file).map_err(|error| said(file, &error))?);
        }
        let files = job.captures.iter().map(|name| (name.clone(), folder.join(name)));
        for (name, file) in files.chain(devices.clone()) {
            self.outputs.insert(name, packets(&file)?);
        }
        for name in &job.texts {
            let file = folder.join(name);
            self.text.insert(name.clone(), lines(&std::fs::read(&file).map_err(|error| said(&file, &error))?));
        }
        Ok(())
    }
}

fn put_files(job: &Job<'_>, folder: &Path) -> Result<(), ScenarioError> {
    let put = |name: &String, bytes: &Vec<u8>| std::fs::write(folder.join(name), bytes);
    let all = || job.files.iter().try_for_each(|(name, bytes)| put(name, bytes));
    std::fs::create_dir_all(folder).and_then(|()| all()).map_err(|error| ScenarioError::File(format!("{}: {error}", folder.display())))?;
    let captures = job.inputs.iter().filter(|(name, _)| super::is_file(name));
    captures.into_iter().try_for_each(|(name, packets)| write(&folder.join(name), packets))
}

/// The configuration, read.
fn application(job: &Job<'_>, folder: &Path) -> Result<Application, ScenarioError> {
    let mut parameters = job.parameters.clone();
    let (name, text) = match job.config {
        Config::File(file) => {
            let text = std::fs::read_to_string(file).map_err(|error| ScenarioError::File(format!("{}: {error}", file.display())))?;
            (file.display().to_string(), text)
        }
        Config::Text(text) => {
            parameters.insert(FOLDER.trim_start_matches('$').to_owned(), folder.display().to_string());
            ("script".to_owned(), text.clone())
        }
    };
    let beside = match job.config {
        Config::File(file) => Reading::folder_beside(file),
        Config::Text(_) => None,
    };
    let reading = Reading { parameters, elements: job.elements.iter().cloned().chain(beside).collect(), ..Reading::default() };
    Application::read(&name, &text, &reading).map_err(ScenarioError::refused)
}

/// Captures for the devices of a configuration: those read, with what comes in, and those written.
fn devices(job: &Job<'_>, application: &Application, folder: &Path) -> Result<Settings, ScenarioError> {
    let mut settings = Settings { within: Some(folder.to_owned()), ..Settings::default() };
    let written = named(application, &builtin::WRITERS);
    for device in named(application, &builtin::READERS).iter().chain(&written) {
        super::plain(device)?;
    }
    for device in named(application, &builtin::READERS) {
        let file = folder.join(format!("{device}-in.pcap"));
        write(&file, job.inputs.get(&device).unwrap_or(&Packets::new()))?;
        settings.devices.insert(device, file);
    }
    settings.outputs = written.into_iter().map(|device| (device.clone(), folder.join(format!("{device}-out.pcap")))).collect();
    match job.inputs.keys().find(|name| !super::is_file(name) && !settings.devices.contains_key(*name)) {
        Some(unknown) => Err(ScenarioError::Refused(format!("nothing reads a device {unknown}"))),
        None => Ok(settings),
    }
}

/// The devices that elements of these classes name.
fn named(application: &Application, classes: &[&str]) -> Vec<String> {
    let elements = application.flat().elements.iter().filter(|element| classes.contains(&element.class.as_str()));
    let names = elements.filter_map(|element| {
        let first = || element.arguments.first().map(|name| name.trim().to_owned());
        builtin::device_name(&element.name, &element.class, &element.arguments).or_else(first)
    });
    names.filter(|name| !name.is_empty()).collect()
}

fn write(file: &Path, packets: &Packets) -> Result<(), ScenarioError> {
    let failed = |error: &dyn std::fmt::Display| ScenarioError::File(format!("{}: {error}", file.display()));
    let plan = WriteOptions { format: Format::Pcap, link_type: LinkType::EN10MB, ..WriteOptions::for_output("in.pcap", &[]) };
    let mut writer = Writer::create(file, &plan).map_err(|error| failed(&error))?;
    for (time, bytes) in packets {
        let time = Timestamp::from_nanos((time / 1_000_000_000) as i64, (time % 1_000_000_000) as u32);
        writer.write_packet(LinkType::EN10MB, time, bytes.len() as u32, bytes).map_err(|error| failed(&error))?;
    }
    writer.finish().map(drop).map_err(|error| failed(&error))
}

fn packets(file: &Path) -> Result<Packets, ScenarioError> {
    let failed = |error: &dyn std::fmt::Display| ScenarioError::File(format!("{}: {error}", file.display()));
    let mut capture = Capture::open(file).map_err(|error| failed(&error))?;
    let mut all = Packets::new();
    while let Some(burst) = capture.next_burst(1024).map_err(|error| failed(&error))? {
        all.extend(burst.records().map(|record| (record.timestamp().as_nanos() as u64, record.data.to_vec())));
    }
    Ok(all)
}

/// The devices that a configuration reads.
///
/// # Errors
/// The configuration is refused.
pub fn inputs_of(config: &Path, parameters: &BTreeMap<String, String>) -> Result<Vec<String>, ScenarioError> {
    let config = Config::File(config.to_owned());
    let (files, inputs) = (BTreeMap::new(), BTreeMap::new());
    let job =
        Job { config: &config, parameters, elements: &[], files: &files, inputs, captures: Vec::new(), texts: Vec::new(), calls: &[] };
    Ok(named(&application(&job, Path::new(""))?, &builtin::READERS))
}
