//! Elements that scripts are run on: read and compiled to programs by the front ends as in any
//! application, run by an engine with a state of their own. What is around them (ports, clock,
//! handlers' text) is done here, in the plainest way.

use super::{Action, Case, Event, Info, ScriptError};
use crate::application::Library;
use crate::engines::{EngineInfo, Settings};
use crate::frontends::click::application::{self, Classes};
use crate::frontends::click::processing::PortSpec;
use ::frontends::c::SourceFile;
use netil::app::Body;
use netil::engine::Engine;
use netil::exec::{Disposition, DropReason, ExchangeBuffer, Outcome, State};
use netil::module::{Control, ControlType, HandlerKind, InfoField, PortKind, Table};
use netil::{Verified, event};
use runtime::coproc::tables;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

/// The classes there are, and what stands at an element's ports.
struct Bench<'l>(&'l Library);

impl Classes for Bench<'_> {
    fn builtin(&self, class: &str) -> Option<PortSpec<'static>> {
        let ports = match class {
            "From" => "0/1",
            "To" => "1/0",
            _ => return None,
        };
        Some(PortSpec { ports, processing: "a/a", flow: "" })
    }

    fn source(&self, class: &str) -> Option<(String, String)> {
        if class == "All" {
            return Some(("All.c".to_owned(), self.all_fields()));
        }
        self.0.class(class)
    }

    fn include(&self, name: &str) -> Option<String> {
        self.0.header(name).map(|(_, text)| text)
    }

    fn names(&self) -> Vec<String> {
        self.0.classes().into_keys().collect()
    }
}

impl Bench<'_> {
    /// An element that uses every info field of the library, so that all are there: fields that no
    /// element uses are left out of applications.
    fn all_fields(&self) -> String {
        let click = self.include("click.h").unwrap_or_default();
        let fields = click.lines().filter_map(|line| line.strip_prefix("INFO(")?.split_once(");")?.0.split_once(", "));
        let uses = fields.fold(String::new(), |text, (_, name)| text + &format!("    info({name}) = info({name});\n"));
        format!(
            "#include <netvm.h>\n#include \"click.h\"\nELEMENT(All, \"1/1\", \"a/a\");\nvoid packet(int port)\n{{\n{uses}    emit(0);\n}}\n"
        )
    }
}

/// An element being run.
pub(super) struct Element {
    engine: Box<dyn Engine>,
    pub(super) program: Arc<Verified>,
    pub(super) state: State,
    fields: Vec<InfoField>,
    info_size: u32,
    inputs: usize,
    clock: u64,
    pub(super) events: Vec<Event>,
}

/// The element with something at every port.
fn configuration(class: &str, case: &Case) -> String {
    let (inputs, outputs) = case.ports;
    let mut text = format!("element :: {class}({});\nFrom -> All -> To;\n{}\n", case.config, case.beside);
    for n in 0..inputs {
        let _ = writeln!(text, "from{n} :: From -> [{n}] element;");
    }
    for n in 0..outputs {
        let _ = writeln!(text, "element[{n}] -> to{n} :: To;");
    }
    text
}

impl Element {
    pub(super) fn new(library: &Library, class: &str, case: &Case, engine: &EngineInfo, settings: Settings) -> Result<Self, ScriptError> {
        let text = configuration(class, case);
        let source = SourceFile { name: class, text: &text };
        let read = application::read(source, &BTreeMap::new(), &Bench(library)).map_err(|faults| faults.render(false));
        let (application, _) = read?;
        let instance = application.instances.iter().find(|i| i.name == "element").ok_or("no element")?;
        let Body::Program(program) = &instance.body else { return Err(ScriptError::new(format!("{class} is not a class in C"))) };
        let state = State::new(program, &runtime::coproc::make).map_err(|e| ScriptError::new(e.to_string()))?;
        let table = |n: usize, declaration: &Table| tables::make_for(declaration, 0, tables::is_written(program.module(), n as u32));
        let mut element = Self {
            engine: engine.make(Arc::clone(program), settings).map_err(|error| ScriptError::new(error.to_string()))?,
            program: Arc::clone(program),
            state: state.with_tables(program, &table),
            fields: application.info.clone(),
            info_size: application.info_size,
            inputs: case.ports.0,
            clock: 1_000_000_000,
            events: Vec::new(),
        };
        element.engine.init(&mut element.state).map_err(|end| ScriptError::new(format!("the init handler ended with {end:?}")))?;
        Ok(element)
    }

    pub(super) fn act(&mut self, action: &Action) {
        match action {
            Action::At(time) => self.advance(*time),
            Action::In(port, bytes, info) => self.packet(*port, bytes, info),
            Action::Wait(port, bytes, info) => {
                let waiting = self.buffer(*port, bytes, info);
                if !self.wait(*port, waiting) {
                    self.events.push(Event::Value(format!("no input {port} that pulls")));
                }
            }
            Action::Ask(port) => self.ask(*port),
            Action::Write(name, value) => self.write(name, value),
            Action::Read(name) => {
                let value = self.read(name);
                self.events.push(Event::Value(value));
            }
        }
    }

    /* Packets and timers. */

    fn advance(&mut self, to: u64) {
        let due = |state: &State| (0..event::TIMERS).filter(|n| (1..=to).contains(&state.timers[*n])).min_by_key(|n| state.timers[*n]);
        while let Some(n) = due(&self.state) {
            self.clock = std::mem::take(&mut self.state.timers[n]);
            self.run(HandlerKind::Pull, self.event(event::TIMER + n as u32));
        }
        self.clock = to;
    }

    fn event(&self, id: u32) -> ExchangeBuffer<'static> {
        let mut none = ExchangeBuffer::none();
        (none.port, none.time_ns) = (id, self.clock);
        none.info = vec![0; self.info_size as usize];
        none
    }

    /// A packet about to enter.
    pub(super) fn buffer(&self, port: usize, bytes: &[u8], info: &Info) -> ExchangeBuffer<'static> {
        let mut buffer = ExchangeBuffer::borrowed(bytes).into_owned();
        (buffer.port, buffer.time_ns) = (port as u32, self.clock);
        buffer.info = vec![0; self.info_size as usize];
        for (name, value) in info {
            if let Some(field) = self.fields.iter().find(|f| f.name == *name) {
                set(&mut buffer.info, field, value);
            }
        }
        buffer
    }

    fn packet(&mut self, port: usize, bytes: &[u8], info: &Info) {
        let buffer = self.buffer(port, bytes, info);
        match self.program.module().port_kind(port as u32) {
            Some(PortKind::PullInput) => {
                self.wait(port, buffer);
                self.ask(0);
            }
            Some(PortKind::PushInput) => self.run(HandlerKind::Push, buffer),
            _ => self.events.push(Event::Value(format!("no input {port}"))),
        }
    }

    /// False if there is no such input that pulls.
    fn wait(&mut self, port: usize, buffer: ExchangeBuffer<'static>) -> bool {
        let pulls = self.program.module().port_kind(port as u32) == Some(PortKind::PullInput);
        if pulls {
            self.state.inputs[port].push_back(buffer);
        }
        pulls
    }

    fn ask(&mut self, output: usize) {
        self.run(HandlerKind::Pull, self.event((self.inputs + output) as u32));
    }

    fn run(&mut self, kind: HandlerKind, buffer: ExchangeBuffer<'static>) {
        let (mut burst, mut out) = ([buffer], Outcome::default());
        self.engine.run(kind, &mut burst, &mut self.state, &mut out);
        let printed = self.printed();
        self.events.extend(printed.lines().map(|line| Event::Print(line.to_owned())));
        for copy in &out.clones {
            self.out(copy.port, &copy.buffer);
        }
        let [buffer] = &burst;
        if let Some(disposition) = out.dispositions.first() {
            self.ended(buffer, *disposition);
        }
    }

    /// A packet has been run.
    pub(super) fn ended(&mut self, buffer: &ExchangeBuffer<'_>, disposition: Disposition) {
        match disposition {
            Disposition::Port(port) => self.out(port, buffer),
            Disposition::Drop(DropReason::Program(n)) => {
                let reasons = &self.program.module().reasons;
                let name = reasons.iter().find(|label| label.at == n).map_or_else(|| n.to_string(), |label| label.name.clone());
                self.events.push(Event::Drop(name));
            }
            Disposition::Drop(_) if buffer.is_present() => self.events.push(Event::Drop(String::new())),
            Disposition::Drop(_) => {}
            Disposition::Trap(_) => self.events.push(Event::Trap),
        }
    }

    /// A packet leaves by the port with that id.
    pub(super) fn out(&mut self, port: u32, buffer: &ExchangeBuffer<'_>) {
        let mut info: Info = self.fields.iter().map(|field| (field.name.clone(), get(&buffer.info, field))).collect();
        info.push(("time_ns".to_owned(), buffer.time_ns.to_string()));
        self.events.push(Event::Out((port as usize).saturating_sub(self.inputs), buffer.bytes().to_vec(), info));
    }

    fn printed(&mut self) -> String {
        let all: Vec<u8> = self.state.coprocessors.iter_mut().flat_map(|c| c.unit.drain()).collect();
        String::from_utf8_lossy(&all).into_owned()
    }

    /* Handlers. */

    fn control(&self, name: &str, write: bool) -> Option<(u32, Control)> {
        let controls = &self.program.module().controls;
        let at = controls.iter().position(|c| c.name == name && if write { c.write } else { c.read })?;
        Some((at as u32, controls[at].clone()))
    }

    fn call(&mut self, index: u32) -> String {
        let (mut burst, mut out) = ([self.event(event::CONTROL + index)], Outcome::default());
        self.engine.run(HandlerKind::Pull, &mut burst, &mut self.state, &mut out);
        self.printed()
    }

    fn read(&mut self, name: &str) -> String {
        let Some((index, control)) = self.control(name, false) else { return "no such handler".to_owned() };
        let printed = if control.call { self.call(index) } else { String::new() };
        match control.ty {
            ControlType::Text | ControlType::None => printed.trim_end_matches('\n').replace('\n', "\\n").replace('\t', "\\t"),
            ty => shown(ty, &self.state.data[control.at as usize..]),
        }
    }

    fn write(&mut self, name: &str, value: &str) {
        let Some((index, control)) = self.control(name, true) else {
            return self.events.push(Event::Value("no such handler".to_owned()));
        };
        let (number, bytes) = (number(value), bytes_of(control.ty));
        self.state.data[control.at as usize..][..bytes].copy_from_slice(&number.to_le_bytes()[..bytes]);
        if control.call {
            self.call(index);
        }
    }
}

/* Text of values. */

fn bytes_of(ty: ControlType) -> usize {
    match ty {
        ControlType::Unsigned(bits) | ControlType::Signed(bits) => usize::from(bits) / 8,
        ControlType::Bool => 1,
        ControlType::Ip4 => 4,
        ControlType::Ip6 => 16,
        ControlType::Mac => 6,
        ControlType::Text | ControlType::None => 0,
    }
}

fn little(bytes: &[u8]) -> u128 {
    bytes.iter().rev().fold(0, |n, b| n << 8 | u128::from(*b))
}

fn shown(ty: ControlType, data: &[u8]) -> String {
    let n = little(&data[..bytes_of(ty)]);
    match ty {
        ControlType::Signed(bits) => ((n as i128) << (128 - u32::from(bits)) >> (128 - u32::from(bits))).to_string(),
        ControlType::Bool => (n != 0).to_string(),
        ControlType::Ip4 => Ipv4Addr::from(n as u32).to_string(),
        ControlType::Ip6 => Ipv6Addr::from(n).to_string(),
        ControlType::Mac => (0..6).rev().map(|i| format!("{:02X}", n >> (8 * i) & 255)).collect::<Vec<_>>().join("-"),
        _ => n.to_string(),
    }
}

/// A number, an address or a truth value as a number.
fn number(text: &str) -> u128 {
    let parts = text.split([':', '-']).filter(|part| !part.is_empty());
    let hex = |text: &str| text.strip_prefix("0x").and_then(|digits| u128::from_str_radix(digits, 16).ok());
    match text {
        "true" => 1,
        "false" => 0,
        _ if text.parse::<Ipv4Addr>().is_ok() => text.parse().map_or(0, |a: Ipv4Addr| u32::from(a).into()),
        _ if text.contains(':') => parts.fold(0, |n, part| n << 8 | u128::from_str_radix(part, 16).unwrap_or(0)),
        _ => hex(text).or_else(|| text.parse::<i128>().ok().map(|n| n as u128)).unwrap_or(0),
    }
}

/* Annotations: numbers in info memory are little-endian; those in network order have their first byte most significant there, too. */

fn get(info: &[u8], field: &InfoField) -> String {
    let n = little(&info[field.offset as usize..][..field.size as usize]);
    match (field.name.as_str(), field.size) {
        ("dst_ip", _) => Ipv4Addr::from(n as u32).to_string(),
        (_, 16) => format!("{n:032x}"),
        _ => n.to_string(),
    }
}

fn set(info: &mut [u8], field: &InfoField, value: &str) {
    let n = if field.size == 16 { u128::from_str_radix(value, 16).unwrap_or(0) } else { number(value) };
    info[field.offset as usize..][..field.size as usize].copy_from_slice(&n.to_le_bytes()[..field.size as usize]);
}
