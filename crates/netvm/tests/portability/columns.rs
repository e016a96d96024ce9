//! The places where programs of the corpus run: what each cell says.

use super::apps::{self, Played};
use super::corpus::{Case, Subject};
use super::costs;
use super::kernel;
use super::models;
use super::support::{Made, digest, entry, expected, made, time_of, tried, wanted};
use machine::x11::{Machine, Pipeline};
use netvm::engines::{self, EngineInfo};
use netvm::netil::Verified;
use netvm::netil::exec::{Disposition, DropReason, ExchangeBuffer, Packets, Selection, State};
use netvm::netil::module::PortKind;
use netvm::scripts::scenarios::Config;
use netvm::{Session, targets};
use std::fmt::Write as _;
use std::sync::Arc;

/// What a cell says: how it was the same, or why there is nothing.
pub type Cell = Result<String, String>;

/// What the interpreter does.
pub enum Reference {
    /// With a program: a line for each packet and each memory.
    Lines(String),
    /// With a configuration.
    Played(Played),
}

/// A place where programs run.
pub enum Column {
    /// An engine.
    Engine(&'static EngineInfo),
    /// A form of compiled C, of filters alone.
    Form(&'static EngineInfo),
    /// A target whose files are built and run.
    Core(&'static targets::Target),
    /// The kernel.
    Kernel,
    /// A model of a pipeline.
    Pipeline(Machine),
    /// A model of cores and threads.
    Cores(&'static str, Box<machine::Machine>),
}

/// All that this machine has: a line here is a column.
pub fn all() -> Vec<Column> {
    let mut all: Vec<_> = engines::ALL.iter().map(Column::Engine).collect();
    all.extend(engines::forms().map(Column::Form));
    all.extend(tried().into_iter().map(Column::Core));
    all.push(Column::Kernel);
    all.push(Column::Pipeline(Machine::built_in()));
    all.extend(["ixp1200", "netthreads"].map(|name| Column::Cores(name, Box::new(models::built_in(name)))));
    all
}

const SAME: &str = "same";
const FILTERS_ALONE: &str = "compiled C of one program alone is for filters";

impl Column {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Engine(engine) | Self::Form(engine) => engine.name,
            Self::Core(target) => target.name,
            Self::Kernel => "xdp",
            Self::Pipeline(_) => "x11",
            Self::Cores(name, _) => name,
        }
    }

    /// What the interpreter does with a program of the corpus.
    pub fn reference(case: &Case) -> Result<Reference, String> {
        match &case.subject {
            Subject::Program(program, packets) => wanted(&engines::ALL[0], program, packets).map(Reference::Lines),
            Subject::Configuration(config, parameters, inputs) => {
                Ok(Reference::Played(apps::played_by(&engines::ALL[0], config, parameters, inputs, &folder(case, "reference"))))
            }
        }
    }

    pub fn cell(&self, case: &Case, reference: &Reference) -> Cell {
        match (&case.subject, reference) {
            (Subject::Program(program, packets), Reference::Lines(lines)) => self.program(case, program, packets, lines),
            (Subject::Configuration(..), Reference::Played(wanted)) => self.configuration(case, wanted),
            _ => unreachable!("a reference is of its case"),
        }
    }

    fn program(&self, case: &Case, program: &Arc<Verified>, packets: &[Vec<u8>], reference: &str) -> Cell {
        match self {
            Self::Engine(engine) | Self::Form(engine) if engine.name.starts_with("aot") => {
                selected(case, engine, program, packets, reference)
            }
            Self::Engine(engine) | Self::Form(engine) => {
                same(self.name(), case, &wanted(engine, program, packets)?, reference)?;
                pushed(engine, program, packets)
            }
            Self::Core(target) => {
                let made = made(target, program, packets, &folder(case, ""), &targets::Options::default(), [""; 2])?;
                same(self.name(), case, &made.run(), &expected(target.name, reference))?;
                Ok(at_a_cost(&made))
            }
            Self::Kernel => kernel::program(&case.name, program, packets),
            Self::Pipeline(machine) => pipeline(case, machine, program, packets, reference),
            Self::Cores(_, machine) => models::program(case, machine, program, packets, reference),
        }
    }

    fn configuration(&self, case: &Case, wanted: &Played) -> Cell {
        let Subject::Configuration(config, parameters, inputs) = &case.subject else { unreachable!("a configuration") };
        let what = format!("{} on {}", case.name, self.name());
        match self {
            Self::Engine(engine) => {
                let got = apps::played_by(engine, config, parameters, inputs, &folder(case, engine.name));
                got.must_be(wanted, &what);
                let many = costs::repeated(inputs);
                let took = |_| apps::played_by(engine, config, parameters, &many, &folder(case, engine.name)).took;
                let least = (0..3).map(took).min().unwrap_or_default();
                Ok(format!("{SAME}, {}", costs::nanoseconds(least, many.values().map(Vec::len).sum())))
            }
            Self::Form(_) => Err("elements are compiled together in one form, which is column `aot`".to_owned()),
            Self::Core(target) => {
                let application = apps::read(config, parameters);
                let made = apps::made(target, &application, inputs, &folder(case, ""))?;
                apps::played_in(&made, &application).must_be(wanted, &what);
                Ok(at_a_cost(&made))
            }
            Self::Kernel => kernel::configuration(case, &apps::read(config, parameters)),
            Self::Pipeline(machine) => left_by(case, machine, wanted),
            Self::Cores(_, machine) => models::configuration(case, machine, wanted),
        }
    }
}

/// What a cell says of a target's program.
fn at_a_cost(made: &Made) -> String {
    costs::of(made).map_or_else(|| SAME.to_owned(), |cost| format!("{SAME}, {cost}"))
}

/// What a cell says of an engine, to which packets are pushed one after the other.
fn pushed(engine: &EngineInfo, program: &Arc<Verified>, packets: &[Vec<u8>]) -> Cell {
    let mut session = Session::start(Arc::clone(program), engine, netvm::Settings::default()).map_err(|why| why.to_string())?;
    let port = program.module().all_ports().iter().find(|(_, p)| p.kind == PortKind::PushInput).map_or(0, |(id, _)| *id);
    let cost = costs::time(packets.len(), || {
        for (n, packet) in packets.iter().enumerate() {
            let mut burst = [ExchangeBuffer::borrowed(packet)];
            (burst[0].port, burst[0].time_ns) = (port, time_of(n));
            session.push(&mut burst);
        }
    });
    Ok(format!("{SAME}, {cost}"))
}

/// A name for a folder.
pub fn folder(case: &Case, of: &str) -> String {
    let plain: String = case.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let kind: String = case.kind.chars().take_while(char::is_ascii_alphanumeric).collect();
    let text = if let Subject::Configuration(Config::File(_), ..) = case.subject { "file" } else { "" };
    format!("{kind}-{plain}{text}{of}")
}

pub fn same(column: &str, case: &Case, got: &str, reference: &str) -> Cell {
    for (i, (got, wanted)) in got.lines().zip(reference.lines()).enumerate() {
        assert_eq!(got, wanted, "{} on {column}: packet {i}", case.name);
    }
    assert_eq!(got.lines().count(), reference.lines().count(), "{} on {column}", case.name);
    Ok(SAME.to_owned())
}

/// The slot program, one packet after the other; the cell tells what it takes of the pipeline.
fn pipeline(case: &Case, machine: &Machine, program: &Arc<Verified>, packets: &[Vec<u8>], reference: &str) -> Cell {
    let made = targets::x11(program, machine).map_err(|why| why.to_string())?;
    let mut pipeline = Pipeline::new(&made.made.program, made.elements).map_err(|why| why.to_string())?;
    let ports = program.module().all_ports();
    let input = ports.iter().find(|(_, p)| p.kind == PortKind::PushInput).map_or(0, |(id, _)| *id);
    let mut text = String::new();
    for (n, packet) in packets.iter().enumerate() {
        let mut buffer = ExchangeBuffer::borrowed(packet);
        (buffer.port, buffer.time_ns, buffer.info) = (input, time_of(n), vec![0; program.module().info_size as usize]);
        let (end, buffer) = pipeline.run(buffer);
        let _ = match end {
            Disposition::Port(port) => writeln!(text, "sent {port} {} {:x}", buffer.bytes().len(), digest(buffer.bytes())),
            Disposition::Drop(DropReason::Program(n)) => writeln!(text, "dropped {n} 0"),
            Disposition::Drop(_) => writeln!(text, "dropped 0 0"),
            Disposition::Trap(trap) => writeln!(text, "trapped {} {}", trap.kind.code(), trap.inst),
        };
    }
    let state = &pipeline.states[0];
    let _ = writeln!(text, "data 0 {} {:x}", state.data.len(), digest(&state.data));
    for (n, (declared, table)) in program.module().tables.iter().zip(&state.tables).enumerate() {
        let entries = table.entries(0);
        let sum = entries.iter().fold(0, |sum: u64, e| entry(declared, e).wrapping_add(sum));
        let _ = writeln!(text, "table 0 {n} {} {sum:x}", entries.len());
    }
    same("x11", case, &text, reference)?;
    Ok(taken(made.made.program.size()))
}

fn taken(size: machine::x11::Size) -> String {
    format!("same, {} instruction{}", size.instructions, if size.instructions == 1 { "" } else { "s" })
}

/// What leaves by each device.
fn left_by(case: &Case, machine: &Machine, wanted: &Played) -> Cell {
    let Subject::Configuration(config, parameters, inputs) = &case.subject else { unreachable!("a configuration") };
    let (made, devices) = apps::read(config, parameters).x11(machine).map_err(|why| why.to_string())?;
    let mut pipeline = Pipeline::new(&made.made.program, made.elements.clone()).map_err(|why| why.to_string())?;
    let info = made.elements.iter().map(|program| program.module().info_size).max().unwrap_or(0);
    let mut left = vec![Vec::new(); devices.len()];
    for (time, packet) in inputs.values().flatten() {
        let mut buffer = ExchangeBuffer::borrowed(packet);
        (buffer.time_ns, buffer.info) = (*time, vec![0; info as usize]);
        let (end, buffer) = pipeline.run(buffer);
        if let Disposition::Port(port) = end {
            left[port as usize].push(buffer.bytes().to_vec());
        }
    }
    for (device, packets) in devices.iter().zip(left) {
        assert_eq!(wanted.outputs.get(device).cloned().unwrap_or_default(), packets, "{} on x11: {device}", case.name);
    }
    Ok(taken(made.made.program.size()))
}

/// Compiled C is for filters: verdicts.
fn selected(case: &Case, engine: &EngineInfo, program: &Arc<Verified>, packets: &[Vec<u8>], reference: &str) -> Cell {
    if !program.is_filter() {
        return Err(FILTERS_ALONE.to_owned());
    }
    let mut made = engine.make(Arc::clone(program), engines::Settings::default()).map_err(|why| why.to_string())?;
    let frames: Vec<&[u8]> = packets.iter().map(Vec::as_slice).collect();
    let wire_len: Vec<u32> = frames.iter().map(|frame| frame.len() as u32).collect();
    let times: Vec<u64> = (0..frames.len()).map(time_of).collect();
    let packets = Packets { frames: &frames, wire_len: &wire_len, time_ns: &times };
    let (mut out, mut state) = (Selection::default(), State::plain(program).map_err(|why| why.to_string())?);
    made.select(&packets, &mut state, &mut out);
    for (i, line) in reference.lines().take(frames.len()).enumerate() {
        assert_eq!(out.get(i), line.starts_with("sent"), "{} on {}: packet {i}", case.name, engine.name);
    }
    let cost = costs::time(frames.len(), || made.select(&packets, &mut state, &mut out));
    Ok(format!("{SAME}, {cost}"))
}
