//! Follows the wires of a configuration from the devices that packets come in by, for targets that
//! make one program of it with a function per element.
//!
//! Packets come one at a time, and nothing that is admitted makes another one but copies. So a
//! queue never holds more than the packet that has just arrived, and whoever pulls takes it before
//! the next arrival, as in the reference schedule: queues and what only moves packets from pull to
//! push or chooses among queues are passed through at once. Where elements copy packets, queues
//! hold the copies of one packet, in their order: they must have room, and lead to devices only,
//! for what is moved on from queues comes later than what is pushed. Everything that waits for a
//! time, makes packets, or drops by the number that waits is refused.

use compiler::backends::graph::{Element, Link, OutputWire};
use netil::Verified;
use netil::app::{Application, Body, End, Instance, port_id};
use netil::module::PortKind;
use netil::table::Op;
use runtime::graph::builtin::{self, READERS};
use runtime::graph::{ElementError, Fault};
use std::collections::BTreeMap;

/// Copies of a packet that a queue must have room for; queues without an argument do.
const MANY: u32 = 1000;

/// What is done with packets that come to an element of that class with that device, if they end
/// there.
type Ends<'r, E> = dyn Fn(&str, &str) -> Result<Option<E>, ElementError> + 'r;

/// What differs between targets.
pub(super) struct Rules<'r, E> {
    /// The target's name.
    pub target: &'static str,
    /// What it is called in reasons.
    pub called: &'static str,
    /// The number of a device that packets come in by, or why it has none.
    pub entry: &'r dyn Fn(&str) -> Result<u32, ElementError>,
    /// What is done with packets at elements where they end.
    pub end: &'r Ends<'r, E>,
    /// What is done with packets that are dropped.
    pub drop: E,
    /// Elements may copy packets.
    pub copies: bool,
    /// Whether a process runs what the target cannot.
    pub process: Option<&'r Process<'r, E>>,
}

/// A process that runs what the target cannot.
pub(super) struct Process<'r, E> {
    /// Why the target cannot run a program, by its instance.
    pub refuses: &'r dyn Fn(usize) -> Option<String>,
    /// Where a packet goes that the process goes on with at that input of that instance.
    pub end: &'r dyn Fn(u32, u32) -> E,
}

/// A configuration as targets see it.
pub(super) struct Walked<'a, E> {
    /// By element its instance.
    pub instances: Vec<usize>,
    /// The elements.
    pub elements: Vec<Element<'a>>,
    /// The ends: the instances that packets pass there, and what is done with them.
    pub ends: Vec<(Vec<usize>, E)>,
    /// Where packets go that come in, by the device's number.
    pub entries: Vec<(u32, Link)>,
    /// By entry its device, and the instances that packets pass first.
    pub readers: Vec<(String, Vec<usize>)>,
    /// Instances that the process runs, with the reason.
    pub apart: BTreeMap<usize, String>,
}

struct Walk<'a, 'r, E> {
    application: &'a Application,
    rules: &'r Rules<'r, E>,
    instances: Vec<usize>,
    ends: Vec<(Vec<usize>, E)>,
    entries: Vec<(u32, Link)>,
    readers: Vec<(String, Vec<usize>)>,
    apart: BTreeMap<usize, String>,
    /// An element copies packets.
    copies: bool,
}

/// A fault of a configuration; without an instance if that is `usize::MAX`.
pub(super) fn fault(target: &str, instance: usize, message: impl AsRef<str>) -> Fault {
    Fault { instance, error: ElementError::of_target(target, message.as_ref()) }
}

/// Follows the wires.
///
/// # Errors
/// An element that the target has nothing for.
pub(super) fn walk<'a, E: Clone + PartialEq>(application: &'a Application, rules: &Rules<'_, E>) -> Result<Walked<'a, E>, Fault> {
    let copies = rules.copies && application.instances.iter().filter_map(Instance::program).any(|program| sends_copies(program));
    let mut w = Walk {
        application,
        rules,
        instances: Vec::new(),
        ends: Vec::new(),
        entries: Vec::new(),
        readers: Vec::new(),
        apart: BTreeMap::new(),
        copies,
    };
    w.sources()?;
    let mut elements = Vec::new();
    while elements.len() < w.instances.len() {
        elements.push(w.element(w.instances[elements.len()])?);
    }
    Ok(Walked { instances: w.instances, elements, ends: w.ends, entries: w.entries, readers: w.readers, apart: w.apart })
}

impl<'a, E: Clone + PartialEq> Walk<'a, '_, E> {
    fn fault(&self, instance: usize, message: impl AsRef<str>) -> Fault {
        fault(self.rules.target, instance, message)
    }

    /// Where packets come in; elements that would make some are refused.
    fn sources(&mut self) -> Result<(), Fault> {
        for (n, instance) in self.application.instances.iter().enumerate() {
            let Body::BuiltIn(arguments) = &instance.body else { continue };
            let has_input = self.application.wires.iter().any(|w| w.to.instance as usize == n);
            if READERS.contains(&instance.class.as_str()) {
                let device = device(&instance.name, &instance.class, arguments);
                let number = (self.rules.entry)(&device).map_err(|why| self.fault(n, why.why()))?;
                let (link, passed) = self.behind(n)?;
                self.entries.push((number, link));
                self.readers.push((device, [vec![n], passed].concat()));
            } else if !has_input && acts(&instance.class) {
                let called = self.rules.called;
                let why = format!("it does not wait for packets from devices: {called} runs when packets come, and at no other time");
                if self.rules.process.is_none() {
                    return Err(self.fault(n, why));
                }
                self.apart.insert(n, why);
            }
        }
        if self.entries.is_empty() {
            return Err(self.fault(usize::MAX, "no FromDevice: packets come from devices alone"));
        }
        Ok(())
    }

    /// What is behind a built-in element's output, and which others packets pass on the way.
    fn behind(&mut self, instance: usize) -> Result<(Link, Vec<usize>), Fault> {
        let wire = self.application.wires.iter().find(|w| w.from.instance as usize == instance && w.from.port == 0);
        match wire {
            Some(wire) => self.link(wire.to).map(|(link, passed, _)| (link, passed)),
            None => Ok((self.end(Vec::new(), self.rules.drop.clone()), Vec::new())),
        }
    }

    /// Where a wire leads, what is passed on the way, and whether a wire on it leads back.
    fn link(&mut self, first: End) -> Result<(Link, Vec<usize>, bool), Fault> {
        let (mut to, mut passed, mut again) = (first, Vec::new(), false);
        loop {
            let n = to.instance as usize;
            let instance = &self.application.instances[n];
            let Body::BuiltIn(arguments) = &instance.body else {
                return match self.program_at(to) {
                    Ok(link) => Ok((link, passed, again)),
                    Err(fault) => Ok((self.hand_over(first, fault)?, Vec::new(), again)),
                };
            };
            let round = passed.contains(&n);
            passed.push(n);
            let class = instance.class.as_str();
            let action = (self.rules.end)(class, &device(&instance.name, class, arguments)).map_err(|why| self.fault(n, why.why()))?;
            if let Some(action) = action {
                return Ok((self.end(passed, action), Vec::new(), again));
            }
            let passes = passes(class, arguments, self.copies).and_then(|passes| match passes && !round {
                true => Ok(()),
                false => Err(ElementError::unsupported(refusal(class, self.rules.called))),
            });
            if let Err(why) = passes {
                let fault = self.fault(n, why.why());
                return Ok((self.hand_over(first, fault)?, Vec::new(), again));
            }
            match self.application.wires.iter().find(|w| w.from.instance == to.instance && w.from.port == 0) {
                Some(wire) => (to, again) = (wire.to, again | wire.recirculates),
                None => return Ok((self.end(passed, self.rules.drop.clone()), Vec::new(), again)),
            }
        }
    }

    /// The process, if there is one, goes on there: an element on the way cannot be run here.
    fn hand_over(&mut self, at: End, why: Fault) -> Result<Link, Fault> {
        let Some(process) = self.rules.process else { return Err(why) };
        self.apart.insert(why.instance, why.error.why().to_owned());
        let end = (process.end)(at.instance, at.port);
        Ok(self.end(Vec::new(), end))
    }

    fn end(&mut self, passed: Vec<usize>, action: E) -> Link {
        let end = (passed, action);
        let at = self.ends.iter().position(|known| *known == end).unwrap_or(self.ends.len());
        if at == self.ends.len() {
            self.ends.push(end);
        }
        Link::End(at)
    }

    fn program_at(&mut self, to: End) -> Result<Link, Fault> {
        let n = to.instance as usize;
        let port = self.application.instances[n].program().and_then(|program| {
            let id = port_id(program, to.port, true)?;
            (program.module().port_kind(id) == Some(PortKind::PushInput)).then_some(id)
        });
        let Some(port) = port else {
            let called = self.rules.called;
            return Err(
                self.fault(n, format!("packets are pulled through it, and in {called} nothing waits: it may stand before the queue"))
            );
        };
        if self.application.shares(to.instance) {
            return Err(self.fault(n, "it shares tables or memory with other elements"));
        }
        if let Some(why) = self.rules.process.and_then(|process| (process.refuses)(n)) {
            return Err(self.fault(n, why));
        }
        let at = self.instances.iter().position(|known| *known == n).unwrap_or(self.instances.len());
        if at == self.instances.len() {
            self.instances.push(n);
        }
        Ok(Link::Element(at, port))
    }

    /// A program with what is behind it.
    fn element(&mut self, n: usize) -> Result<Element<'a>, Fault> {
        let instance = &self.application.instances[n];
        let Some(program) = instance.program() else { return Err(self.fault(n, "no program")) };
        let mut ways = Vec::new();
        for wire in self.application.wires.iter().filter(|w| w.from.instance as usize == n) {
            let Some(port) = port_id(program, wire.from.port, false) else { continue };
            let (to, _, again) = self.link(wire.to)?;
            ways.push(OutputWire { port, to, again: again | wire.recirculates });
        }
        Ok(Element { name: &instance.name, program, ways })
    }
}

/// Whether packets only pass an element when they come one at a time, or with their copies.
fn passes(class: &str, arguments: &[String], copies: bool) -> Result<bool, ElementError> {
    let plain = arguments.iter().all(|text| text.trim().is_empty());
    if builtin::facts(class).queue {
        let capacity = arguments.first().map_or("1", |text| text.trim());
        let least = if copies { MANY } else { 1 };
        let holds = arguments.len() <= 1 && capacity.trim_start_matches("CAPACITY ").trim().parse::<u32>().is_ok_and(|n| n >= least);
        return match holds || plain {
            true => Ok(true),
            false if copies => Err(ElementError::unsupported(format!(
                "a queue that may be full of copies of one packet: {least} is the least CAPACITY, and no other argument"
            ))),
            false => Err(ElementError::unsupported("a queue that holds no packet, or has more arguments than CAPACITY")),
        };
    }
    match builtin::facts(class).moves {
        true if copies => Err(ElementError::unsupported("copies of a packet would wait before it and come in another order")),
        true if !plain => Err(ElementError::unsupported("with arguments it is more than a wire")),
        known => Ok(known),
    }
}

/// Whether an element that no packets come to does something while the application runs.
fn acts(class: &str) -> bool {
    let facts = builtin::facts(class);
    !facts.informs && !facts.only_begins && !facts.ends
}

/// Whether a program's push handler sends copies.
fn sends_copies(program: &Verified) -> bool {
    program.module().push.as_ref().is_some_and(|handler| handler.code.iter().any(|inst| inst.op == Op::PktSendDup))
}

/// Whether an element passes packets on as they are.
pub(super) fn is_plain(class: &str) -> bool {
    builtin::facts(class).queue || builtin::facts(class).moves
}

/// The device that an element names.
pub(crate) fn device(name: &str, class: &str, arguments: &[String]) -> String {
    let first = || arguments.first().map(|text| text.trim().trim_start_matches("DEVNAME ").trim().trim_matches('"').to_owned());
    builtin::device_name(name, class, arguments).or_else(first).unwrap_or_default()
}

/// Why an element that netvm knows itself has no counterpart.
fn refusal(class: &str, called: &str) -> String {
    let reason = match class {
        "Shaper"
        | "BandwidthShaper"
        | "RatedUnqueue"
        | "BandwidthRatedUnqueue"
        | "DelayUnqueue"
        | "DelayShaper"
        | "LinkUnqueue"
        | "RED" => return format!("it lets packets wait, which {called} cannot"),
        "StrideSched" | "TimeSortedSched" => return format!("it chooses among packets that wait, and in {called} none does"),
        "ToDump" | "ToIPSummaryDump" => "it writes to a file",
        "PullTee" | "Tee" => "more packets than the one that came",
        "IPReassembler" => "it keeps packets until others come",
        _ => return format!("it has no counterpart in {called}"),
    };
    reason.to_owned()
}
