//! Runs element scripts on netvm: the element is read, compiled to a program by the front ends as in any application, and run by the interpreter, with a
//! state of its own. What is around it (ports, clock, handlers' text) is done here, in the plainest way.

use super::script::{Action, Case, Event, Info};
use frontends::c::Source;
use frontends::click::application::{self, Classes};
use frontends::click::processing::Shape;
use netil::app::Body;
use netil::exec::{Disposition, DropReason, ExchangeBuffer, Outcome, State};
use netil::module::{Control, ControlType, HandlerKind, InfoField, PortKind};
use netil::{Interpreter, Verified, event};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The library's folder.
pub struct Library(pub PathBuf);

impl Classes for Library {
    fn native(&self, class: &str) -> Option<Shape<'static>> {
        let ports = match class {
            "From" => "0/1",
            "To" => "1/0",
            _ => return None,
        };
        Some(Shape { ports, processing: "a/a", flow: "" })
    }

    fn source(&self, class: &str) -> Option<(String, String)> {
        if class == "All" {
            return Some(("All.c".to_owned(), self.all_fields()));
        }
        let path = self.0.join(format!("{class}.c"));
        Some((path.display().to_string(), fs::read_to_string(&path).ok()?))
    }

    fn include(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.0.join("include").join(name)).ok()
    }

    fn names(&self) -> Vec<String> {
        Vec::new()
    }
}

impl Library {
    /// An element that uses every info field of the library, so that all are there: fields that no element uses are left out of applications.
    fn all_fields(&self) -> String {
        let click = self.include("click.h").unwrap_or_default();
        let fields = click.lines().filter_map(|line| line.strip_prefix("INFO(")?.split_once(");")?.0.split_once(", "));
        let uses: String = fields.map(|(_, name)| format!("    info({name}) = info({name});\n")).collect();
        format!(
            "#include <netvm.h>\n#include \"click.h\"\nELEMENT(All, \"1/1\", \"a/a\");\nvoid packet(int port)\n{{\n{uses}    emit(0);\n}}\n"
        )
    }
}

/// An element being run.
struct Element {
    engine: Interpreter,
    program: Arc<Verified>,
    state: State,
    fields: Vec<InfoField>,
    info_size: u32,
    inputs: usize,
    clock: u64,
    events: Vec<Event>,
}

/// What happens at each step of each case.
///
/// # Errors
/// The faults of a case's configuration.
pub fn run(library: &Path, class: &str, cases: &[Case]) -> Result<Vec<Vec<Vec<Event>>>, String> {
    let library = Library(library.to_owned());
    cases.iter().map(|case| run_case(&library, class, case).map_err(|error| format!("line {}: {error}", case.line))).collect()
}

fn run_case(library: &Library, class: &str, case: &Case) -> Result<Vec<Vec<Event>>, String> {
    let mut element = Element::new(library, class, case)?;
    Ok(case.steps.iter().map(|step| element.step(&step.action)).collect())
}

/// The element with something at every port.
fn configuration(class: &str, case: &Case) -> String {
    let (inputs, outputs) = case.ports;
    let mut text = format!("element :: {class}({});\nFrom -> All -> To;\n", case.config);
    for n in 0..inputs {
        let _ = writeln!(text, "from{n} :: From -> [{n}] element;");
    }
    for n in 0..outputs {
        let _ = writeln!(text, "element[{n}] -> to{n} :: To;");
    }
    text
}

impl Element {
    fn new(library: &Library, class: &str, case: &Case) -> Result<Self, String> {
        let text = configuration(class, case);
        let source = Source { name: class, text: &text };
        let (application, _) = application::read(source, &BTreeMap::new(), library).map_err(|faults| faults.render(false))?;
        let instance = application.instances.iter().find(|i| i.name == "element").ok_or("no element")?;
        let Body::Program(program) = &instance.body else { return Err("not a program".to_owned()) };
        let state = State::new(program, &runtime::coproc::make).map_err(|e| e.to_string())?;
        let mut element = Self {
            engine: Interpreter::new(Arc::clone(program)),
            program: Arc::clone(program),
            state,
            fields: application.info.clone(),
            info_size: application.info_size,
            inputs: case.ports.0,
            clock: 1_000_000_000,
            events: Vec::new(),
        };
        element.engine.init(&mut element.state).map_err(|end| format!("init: {end:?}"))?;
        Ok(element)
    }

    fn step(&mut self, action: &Action) -> Vec<Event> {
        match action {
            Action::At(time) => self.advance(*time),
            Action::In(port, bytes, info) => self.packet(*port, bytes, info),
            Action::Write(name, value) => self.write(name, value),
            Action::Read(name) => {
                let value = self.read(name);
                self.events.push(Event::Value(value));
            }
        }
        std::mem::take(&mut self.events)
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

    fn packet(&mut self, port: usize, bytes: &[u8], info: &Info) {
        let mut buffer = ExchangeBuffer::zeroed(bytes.len() as u32);
        buffer.bytes_mut().copy_from_slice(bytes);
        (buffer.port, buffer.time_ns) = (port as u32, self.clock);
        buffer.info = vec![0; self.info_size as usize];
        for (name, value) in info {
            if let Some(field) = self.fields.iter().find(|f| f.name == *name) {
                set(&mut buffer.info, field, value);
            }
        }
        if self.program.module().port_kind(port as u32).is_some_and(|kind| kind == PortKind::PullInput) {
            self.state.inputs[port].push_back(buffer);
            let mut request = ExchangeBuffer::none();
            request.port = self.inputs as u32;
            return self.run(HandlerKind::Pull, request);
        }
        self.run(HandlerKind::Push, buffer);
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
        match out.dispositions[0] {
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

    fn out(&mut self, port: u32, buffer: &ExchangeBuffer<'_>) {
        let mut info: Info = self.fields.iter().map(|field| (field.name.clone(), get(&buffer.info, field))).collect();
        info.push(("time_ns".to_owned(), buffer.time_ns.to_string()));
        self.events.push(Event::Out(port as usize - self.inputs, buffer.bytes().to_vec(), info));
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
            ControlType::Text | ControlType::None => printed.trim_end_matches('\n').replace('\n', "\\n"),
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
