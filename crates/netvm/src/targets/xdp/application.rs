//! Configurations of elements as one program for XDP, and what it did, as statistics of a run.
//!
//! Packets come in by FromDevice and leave by ToDevice (`redirect`), ToHost (`pass`) or Discard (`drop`). What only stores packets until somebody asks for them
//! passes them on at once: queues, Unqueue, and schedulers that prefer one input to another. Elements in C are functions of the program. Everything else has
//! no counterpart in XDP and is refused, if packets can come to it or it makes some.

use crate::Error;
use crate::targets::File;
use compiler::backends::ebpf::{self, Action, Counted, Element, Link, Linked, World};
use netil::app::{Application, Body, End, port_id, port_number};
use netil::exec::DropReason;
use netil::module::PortKind;
use runtime::graph::native::{self, READERS};
use runtime::graph::{Fault, NodeStats, Stats};
use runtime::io::bpf;
use std::collections::BTreeMap;
use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

/// Elements that pass packets as they are where nothing waits.
const PLAIN: &[&str] = &[
    "Queue",
    "SimpleQueue",
    "NotifierQueue",
    "FullNoteQueue",
    "QuickNoteQueue",
    "ThreadSafeQueue",
    "MixedQueue",
    "FrontDropQueue",
    "Unqueue",
    "RoundRobinSched",
    "PrioSched",
    "SimpleRoundRobinSched",
    "SimplePrioSched",
];
/// Elements that packets do not come to, and that make none.
const SILENT: &[&str] = &[
    "AddressInfo",
    "PortInfo",
    "ScheduleInfo",
    "AlignmentInfo",
    "StaticThreadSched",
    "BalancedThreadSched",
    "RandomSeed",
    "ClickyInfo",
    "Idle",
    "Message",
];

/// A configuration as one program.
#[derive(Debug)]
pub struct XdpApplication {
    linked: Linked,
    /// By element of the program its instance.
    instances: Vec<usize>,
    /// By end of the program the instances that packets pass there.
    ends: Vec<Vec<usize>>,
    /// By device that packets come in by its instances.
    readers: Vec<(String, Vec<usize>)>,
    application: Application,
}

/// Makes the program. `interfaces` are the indices of the devices' interfaces.
pub(crate) fn make(application: &Application, interfaces: &BTreeMap<String, u32>, world: World) -> Result<XdpApplication, Vec<Fault>> {
    let mut m = Making { application, interfaces, instances: Vec::new(), ends: Vec::new(), entries: Vec::new(), readers: Vec::new() };
    m.sources().map_err(|fault| vec![fault])?;
    let mut elements = Vec::new();
    let mut next = 0;
    while next < m.instances.len() {
        elements.push(m.element(m.instances[next]).map_err(|fault| vec![fault])?);
        next += 1;
    }
    let ends = m.ends.iter().map(|(_, action)| ebpf::End { names: Vec::new(), action: *action }).collect();
    let given = ebpf::Application { elements, ends, entries: m.entries.clone(), world };
    let linked = ebpf::link(&given).map_err(|wrong| {
        let element = wrong.element.map(|n| m.instances[n]);
        let program = element.and_then(|n| application.instances[n].program());
        let place = program.zip(wrong.refused.site).map(|(p, site)| p.place(netil::module::HandlerKind::Push, site) + ": ");
        let message = format!("target xdp: {}{}", place.unwrap_or_default(), wrong.refused.reason);
        vec![Fault { instance: element.unwrap_or(usize::MAX), message }]
    })?;
    let ends = m.ends.into_iter().map(|(passed, _)| passed).collect();
    Ok(XdpApplication { linked, instances: m.instances, ends, readers: m.readers, application: application.clone() })
}

struct Making<'a> {
    application: &'a Application,
    interfaces: &'a BTreeMap<String, u32>,
    instances: Vec<usize>,
    ends: Vec<(Vec<usize>, Action)>,
    entries: Vec<(u32, Link)>,
    readers: Vec<(String, Vec<usize>)>,
}

fn fault(instance: usize, message: impl Into<String>) -> Fault {
    Fault { instance, message: format!("target xdp: {}", message.into()) }
}

impl<'a> Making<'a> {
    /// Where packets come in; elements that would make some are refused.
    fn sources(&mut self) -> Result<(), Fault> {
        for (n, instance) in self.application.instances.iter().enumerate() {
            let Body::Native(arguments) = &instance.body else { continue };
            let has_input = self.application.wires.iter().any(|w| w.to.instance as usize == n);
            if READERS.contains(&instance.class.as_str()) {
                let device = device(&instance.name, &instance.class, arguments);
                let interface = self.interface(n, &device)?;
                let (link, passed) = self.behind(n)?;
                self.entries.push((interface, link));
                self.readers.push((device, [vec![n], passed].concat()));
            } else if !has_input && !SILENT.contains(&instance.class.as_str()) {
                return Err(fault(n, "it does not wait for packets from devices: XDP runs when packets come, and at no other time"));
            }
        }
        if self.entries.is_empty() {
            return Err(fault(usize::MAX, "no FromDevice: packets come from devices alone"));
        }
        Ok(())
    }

    fn interface(&self, instance: usize, device: &str) -> Result<u32, Fault> {
        let known = self.interfaces.get(device).copied();
        known.ok_or_else(|| fault(instance, format!("device {device} has no interface; --map {device}=dev:IF says which")))
    }

    /// What is behind a native element's output, and which others packets pass on the way.
    fn behind(&mut self, instance: usize) -> Result<(Link, Vec<usize>), Fault> {
        let wire = self.application.wires.iter().find(|w| w.from.instance as usize == instance && w.from.port == 0);
        match wire {
            Some(wire) => self.link(wire.to),
            None => Ok((self.end(Vec::new(), Action::Drop), Vec::new())),
        }
    }

    /// Where a wire leads.
    fn link(&mut self, to: End) -> Result<(Link, Vec<usize>), Fault> {
        let (mut to, mut passed) = (to, Vec::new());
        loop {
            let n = to.instance as usize;
            let instance = &self.application.instances[n];
            let Body::Native(arguments) = &instance.body else { return Ok((self.into_program(to)?, passed)) };
            let round = passed.contains(&n);
            passed.push(n);
            let class = instance.class.as_str();
            let action = match class {
                "Discard" | "Idle" => Action::Drop,
                "ToHost" => Action::Pass,
                "ToDevice" => Action::Redirect(self.interface(n, &device(&instance.name, class, arguments))?),
                _ if PLAIN.contains(&class) && !round => {
                    match self.application.wires.iter().find(|w| w.from.instance == to.instance && w.from.port == 0) {
                        Some(wire) => to = wire.to,
                        None => return Ok((self.end(passed, Action::Drop), Vec::new())),
                    }
                    continue;
                }
                _ => return Err(fault(n, refusal(class))),
            };
            return Ok((self.end(passed, action), Vec::new()));
        }
    }

    fn end(&mut self, passed: Vec<usize>, action: Action) -> Link {
        let at = self.ends.iter().position(|end| *end == (passed.clone(), action)).unwrap_or(self.ends.len());
        if at == self.ends.len() {
            self.ends.push((passed, action));
        }
        Link::End(at)
    }

    fn into_program(&mut self, to: End) -> Result<Link, Fault> {
        let n = to.instance as usize;
        let port = self.application.instances[n].program().and_then(|program| {
            let id = port_id(program, to.port, true)?;
            (program.module().port_kind(id) == Some(PortKind::PushInput)).then_some(id)
        });
        let Some(port) = port else {
            return Err(fault(n, "packets are pulled through it, and in XDP nothing waits: it may stand before the queue"));
        };
        if self.application.shares(to.instance) {
            return Err(fault(n, "it shares tables or memory with other elements"));
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
        let Some(program) = instance.program() else { return Err(fault(n, "no program")) };
        let mut links = Vec::new();
        for wire in self.application.wires.iter().filter(|w| w.from.instance as usize == n) {
            let Some(port) = port_id(program, wire.from.port, false) else { continue };
            links.push((port, self.link(wire.to)?.0));
        }
        Ok(Element { name: &instance.name, program, links })
    }
}

/// The device that an element names.
pub(crate) fn device(name: &str, class: &str, arguments: &[String]) -> String {
    let first = || arguments.first().map(|text| text.trim().trim_start_matches("DEVNAME ").trim().trim_matches('"').to_owned());
    native::device_name(name, class, arguments).or_else(first).unwrap_or_default()
}

/// Why an element that netvm knows itself has no counterpart.
fn refusal(class: &str) -> String {
    let reason = match class {
        "Shaper"
        | "BandwidthShaper"
        | "RatedUnqueue"
        | "BandwidthRatedUnqueue"
        | "DelayUnqueue"
        | "DelayShaper"
        | "LinkUnqueue"
        | "RED" => "it lets packets wait, which XDP cannot",
        "StrideSched" | "TimeSortedSched" => "it chooses among packets that wait, and in XDP none does",
        "ToDump" | "ToIPSummaryDump" => "it writes to a file",
        "PullTee" | "Tee" => "more packets than the one that came",
        "IPReassembler" => "it keeps packets until others come",
        _ => "it has no counterpart in XDP",
    };
    reason.to_owned()
}

/// A configuration in the kernel.
#[derive(Debug)]
pub struct XdpLoaded {
    /// The program.
    pub program: bpf::Program,
    made: XdpApplication,
}

impl XdpApplication {
    /// The program and its maps.
    pub fn program(&self) -> &ebpf::Program {
        &self.linked.program
    }

    /// The files of the program: an object, and commands that enter what tables have from the start, if they have something.
    ///
    /// # Errors
    /// It is too large for its format.
    pub fn files(&self, name: &str) -> Result<Vec<File>, Error> {
        super::files(&self.linked.program, name, &|refused| super::refused(refused.reason.clone()))
    }

    /// The devices that packets come in by.
    pub fn devices(&self) -> Vec<String> {
        self.readers.iter().map(|(device, _)| device.clone()).collect()
    }

    /// Loads it into the kernel, with the clock of this machine.
    ///
    /// # Errors
    /// The process may not, or the kernel refuses it.
    pub fn load(self) -> io::Result<XdpLoaded> {
        let loaded = XdpLoaded { program: super::load(&self.linked.program)?, made: self };
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64);
        loaded.set_world(since_1970.wrapping_sub(bpf::monotonic_ns()?), 0)?;
        Ok(loaded)
    }
}

impl XdpLoaded {
    /// What is added to the kernel's clock; of a program that is tried the time, and the interface that packets come in by.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn set_world(&self, time_ns: u64, interface: u32) -> io::Result<()> {
        let Some((at, mut state)) = self.state()? else { return Ok(()) };
        state[ebpf::CLOCK_AT as usize..][..8].copy_from_slice(&time_ns.to_le_bytes());
        state[ebpf::INTERFACE_AT as usize..][..4].copy_from_slice(&interface.to_le_bytes());
        self.program.update(at, &[0; 4], &state)
    }

    /// The state map's number and bytes.
    fn state(&self) -> io::Result<Option<(usize, Vec<u8>)>> {
        let maps = &self.made.linked.program.maps;
        let Some(at) = maps.iter().position(|map| map.name == ebpf::STATE) else { return Ok(None) };
        Ok(Some((at, self.program.map(at, maps[at].data.len())?)))
    }

    /// Data memory by instance.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn memories(&self) -> io::Result<Vec<(usize, Vec<u8>)>> {
        let Some((_, state)) = self.state()? else { return Ok(Vec::new()) };
        let places = self.made.instances.iter().zip(&self.made.linked.data);
        Ok(places.map(|(n, (start, len))| (*n, state[*start as usize..][..*len as usize].to_vec())).collect())
    }

    /// What became of the packets so far.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn stats(&self) -> io::Result<Stats> {
        let (map, counted) = &self.made.linked.counts;
        let number = |bytes: &Vec<u8>| bytes.first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes));
        let counts: Vec<u64> = self.program.entries(*map)?.iter().map(|(_, value)| number(value)).collect();
        let mut nodes: Vec<NodeStats> = self.made.application.instances.iter().map(|_| NodeStats::default()).collect();
        for (what, count) in counted.iter().zip(counts) {
            self.made.add(&mut nodes, *what, count);
        }
        self.made.only_outputs(&mut nodes);
        let instances = self.made.application.instances.iter();
        let named = instances.zip(nodes).map(|(i, node)| (i.name.clone(), i.class.clone(), node)).collect();
        Ok(Stats { nodes: named, ..Stats::default() })
    }
}

impl XdpApplication {
    fn add(&self, nodes: &mut [NodeStats], what: Counted, count: u64) {
        match what {
            Counted::Into(n) => nodes[self.instances[n]].packets += count,
            Counted::Dropped(n, None) if count > 0 => {
                nodes[self.instances[n]].traps += count;
                *nodes[self.instances[n]].drops.entry("trap".to_owned()).or_default() += count;
            }
            Counted::Dropped(n, Some(reason)) if count > 0 => {
                let reason = self.reason(self.instances[n], reason);
                *nodes[self.instances[n]].drops.entry(reason).or_default() += count;
            }
            Counted::Out(n, link) => {
                let instance = &self.application.instances[self.instances[n]];
                let port = instance.program().and_then(|program| port_number(program, link)).unwrap_or(0) as usize;
                let out = &mut nodes[self.instances[n]].out;
                out.resize(out.len().max(port + 1), 0);
                out[port] += count;
            }
            Counted::At(end) => {
                for n in &self.ends[end] {
                    nodes[*n].packets += count;
                    if PLAIN.contains(&self.application.instances[*n].class.as_str()) {
                        nodes[*n].out = vec![nodes[*n].packets];
                    }
                }
            }
            Counted::Entered(entry) => {
                for n in &self.readers[entry].1 {
                    nodes[*n].out = vec![nodes[*n].out.first().copied().unwrap_or(0) + count];
                }
            }
            _ => {}
        }
    }

    /// What an element with one output has not dropped has left by it.
    fn only_outputs(&self, nodes: &mut [NodeStats]) {
        for n in &self.instances {
            let outputs = self.application.wires.iter().filter(|w| w.from.instance as usize == *n).count();
            let node = &mut nodes[*n];
            if outputs == 1 {
                let lost = node.drops.values().sum::<u64>();
                node.out = vec![node.packets.saturating_sub(lost)];
            }
        }
    }

    fn reason(&self, instance: usize, reason: DropReason) -> String {
        let code = match reason {
            DropReason::Program(code) => code,
            _ => return "dropped".to_owned(),
        };
        let program = self.application.instances[instance].program();
        let named = program.and_then(|p| p.module().reasons.iter().find(|reason| reason.at == code));
        named.map_or_else(|| format!("code {code}"), |reason| reason.name.clone())
    }
}
