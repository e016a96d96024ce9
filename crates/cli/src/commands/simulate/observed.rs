//! Runs a program, a configuration or a filter in the interpreter, and writes down what it does for
//! each packet.

use crate::commands::run::configuration::drive;
use crate::commands::run::given::Given;
use crate::failure::{self, Failure, Outcome};
use crate::input;
use crate::signals::Signals;
use machine::{Recorder, Trace};
use netvm::application::{Host, Stream};
use netvm::io::LinkType;
use netvm::netil::app::Datum;
use netvm::netil::exec::ExchangeBuffer;
use netvm::netil::module::PortKind;
use netvm::netil::{Engine, Verified};
use netvm::{Filter, Session, Settings, engines, load};
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Packets between looks at signals.
const BURST: usize = 64;

/// What is run, and on what.
#[derive(clap::Args)]
pub(crate) struct Observed {
    /// NetIL program, or Click configuration; an installed one by its name alone
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath, required_unless_present = "filter")]
    file: Option<PathBuf>,

    /// Values for parameters of the configuration
    #[arg(value_name = "NAME=VALUE")]
    parameters: Vec<String>,

    /// Run this filter, see pcap-filter(7)
    #[arg(long, value_name = "EXPR", conflicts_with_all = ["file", "parameters", "maps"])]
    filter: Option<String>,

    /// Capture that is pushed into the program's first input, or read in the place of the only one
    /// that the configuration reads
    #[arg(short = 'r', long = "read", value_name = "IN", value_hint = clap::ValueHint::FilePath)]
    read: Option<PathBuf>,

    /// Captures that stand for a device of the configuration: one that it reads, one that it
    /// writes, or both
    #[arg(long = "map", value_name = "DEVICE=IN[,OUT]")]
    maps: Vec<String>,

    /// Take no more than so many packets of the capture that -r names into a program or filter
    #[arg(short = 'c', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
}

/// What is compiled for a machine.
pub(super) enum Subject {
    /// A program by itself.
    Program(Arc<Verified>),
    /// Elements.
    Configuration(Box<netvm::application::Application>),
}

/// What elements print is not shown.
struct Silence;

impl Host for Silence {
    fn write(&mut self, _: Stream, _: &[u8]) {}
}

impl Observed {
    /// A configuration with captures for its devices.
    pub(crate) fn given(file: PathBuf, maps: Vec<String>) -> Self {
        Self { file: Some(file), parameters: Vec::new(), filter: None, read: None, maps, count: None }
    }

    /// A filter with a capture.
    pub(crate) fn filter(text: &str, capture: PathBuf) -> Self {
        Self { file: None, parameters: Vec::new(), filter: Some(text.to_owned()), read: Some(capture), maps: Vec::new(), count: None }
    }

    /// Runs it; there is at least one packet in the trace.
    pub(crate) fn trace(&self) -> Outcome<Trace> {
        let (recorder, mut data) = (Recorder::default(), Vec::new());
        match (&self.filter, &self.file) {
            (Some(text), _) => {
                let program = Filter::compile(text, self.link()?, &engines::ALL[0])?.program;
                self.program(&recorder, "filter", program)?;
            }
            (None, Some(file)) => {
                no_p4(file)?;
                let given = Given::alone(file.clone(), self.parameters.clone(), self.read.clone(), self.maps.clone());
                match given.is_program() {
                    true => self.program(&recorder, &file.display().to_string(), Arc::new(load::program(file)?))?,
                    false => data = configuration(&recorder, &given)?,
                }
            }
            (None, None) => return Err(Failure::usage("a FILE or --filter EXPR is needed")),
        }
        let mut trace = recorder.take();
        trace.data = data;
        if trace.left_out > 0 {
            failure::warning(format_args!("the trace is full: the last {} packets are not in it", trace.left_out));
        }
        match trace.packets.is_empty() {
            true => Err(Failure::failed("no packet arrived")),
            false => Ok(trace),
        }
    }

    /// The program of a filter or module, or the configuration.
    pub(super) fn subject(&self) -> Outcome<Subject> {
        match (&self.filter, &self.file) {
            (Some(text), _) => Ok(Subject::Program(Filter::compile(text, self.link()?, &engines::ALL[0])?.program)),
            (None, Some(file)) => {
                no_p4(file)?;
                let given = Given::alone(file.clone(), self.parameters.clone(), self.read.clone(), self.maps.clone());
                match given.is_program() {
                    true => Ok(Subject::Program(Arc::new(load::program(file)?))),
                    false => Ok(Subject::Configuration(Box::new(given.application()?.0))),
                }
            }
            (None, None) => Err(Failure::usage("a FILE or --filter EXPR is needed")),
        }
    }

    /// The packets of the capture with their times, and lengths on the wire.
    pub(crate) fn packets(&self) -> Outcome<Vec<(u64, Vec<u8>, u32)>> {
        let mut capture = input::open(self.capture()?)?;
        let (mut all, most) = (Vec::new(), usize::try_from(self.count.unwrap_or(u64::MAX)).unwrap_or(usize::MAX));
        while all.len() < most {
            let burst = capture.next_burst(BURST).map_err(|error| Failure::failed(format_args!("{}: {error}", self.capture_name())))?;
            let Some(burst) = burst else { break };
            for (n, packet) in burst.packets().iter().enumerate() {
                let time = u64::try_from(burst.timestamp(n).as_nanos()).unwrap_or(0);
                all.push((time, packet.to_vec(), burst.wire_len(n).saturating_sub(packet.len() as u32)));
            }
        }
        all.truncate(most);
        match all.is_empty() {
            true => Err(Failure::failed("no packet arrived")),
            false => Ok(all),
        }
    }

    fn capture(&self) -> Outcome<&Path> {
        self.read.as_deref().ok_or_else(|| Failure::usage("say which packets: -r IN"))
    }

    /// What the packets of the capture begin with.
    fn link(&self) -> Outcome<LinkType> {
        Ok(input::open(self.capture()?)?.info().link_types.first().copied().unwrap_or(LinkType::EN10MB))
    }

    fn program(&self, recorder: &Recorder, name: &str, program: Arc<Verified>) -> Outcome {
        if !self.parameters.is_empty() || !self.maps.is_empty() {
            return Err(Failure::usage("NAME=VALUE and --map are for configurations"));
        }
        let ports = program.module().all_ports();
        let Some(port) = ports.iter().find(|(_, port)| port.kind == PortKind::PushInput).map(|(id, _)| *id) else {
            return Err(Failure::failed(format_args!("{name}: packets are pushed into no port of it; only those are counted")));
        };
        let mut capture = input::open(self.capture()?)?;
        let signals = Signals::watch()?;
        let mut session = Session::on(Box::new(recorder.interpreter(name, program)), Settings::default())?;
        let mut left = self.count.unwrap_or(u64::MAX);
        while left > 0 && !signals.stop() {
            let most = BURST.min(usize::try_from(left).unwrap_or(BURST));
            let burst = capture.next_burst(most).map_err(|error| Failure::failed(format_args!("{}: {error}", self.capture_name())))?;
            let Some(burst) = burst else { break };
            left -= burst.len() as u64;
            for (n, packet) in burst.packets().iter().enumerate() {
                recorder.arrives(packet);
                let mut buffer = ExchangeBuffer::borrowed(packet);
                (buffer.port, buffer.missing) = (port, burst.wire_len(n).saturating_sub(packet.len() as u32));
                buffer.time_ns = u64::try_from(burst.timestamp(n).as_nanos()).unwrap_or(0);
                session.push(std::slice::from_mut(&mut buffer));
            }
        }
        signals.result()
    }

    fn capture_name(&self) -> String {
        self.read.as_deref().map(input::shown).unwrap_or_default()
    }
}

/// A P4 program is observed as what it is in a graph.
fn no_p4(file: &Path) -> Outcome {
    match file.extension().is_some_and(|end| end.eq_ignore_ascii_case("p4")) {
        true => Err(Failure::usage(format_args!(
            "{}: a P4 program is simulated as an element; write a configuration, FromDevice(in) -> p4 :: P4({}) -> …, and give that",
            file.display(),
            file.display()
        ))),
        false => Ok(()),
    }
}

/// Runs a configuration; what its elements declare, by the numbers of elements with programs.
fn configuration(recorder: &Recorder, given: &Given) -> Outcome<Vec<Datum>> {
    let (mut application, mut settings) = given.application()?;
    if let Some(input) = &given.read {
        application.feed(input, &mut settings)?;
    }
    let signals = Signals::watch()?;
    let (names, data) = application.programs();
    let next = Cell::new(0);
    let make = |program: Arc<Verified>| -> Box<dyn Engine> {
        let name = names.get(next.replace(next.get() + 1)).map_or("", String::as_str);
        Box::new(recorder.interpreter(name, program))
    };
    let arrivals = recorder.clone();
    let mut graph = application.start_with(&make, Box::new(move |packet| arrivals.arrives(packet)), settings, Box::new(Silence))?;
    let whole = drive(&mut graph, &signals, None);
    signals.result()?;
    if whole { Ok(data) } else { Err(Failure::told()) }
}
