//! Configurations of elements as one program for XDP, and what it did, as statistics of a run.
//!
//! Packets come in by FromDevice and leave by ToDevice (`redirect`), ToHost (`pass`) or Discard
//! (`drop`). Elements in C are functions of the program; `targets::walk` follows the wires and says
//! what is refused. A configuration may be divided: then a process goes on with packets where there
//! is nothing for them in the kernel ([`super::process`]).

use crate::Error;
use crate::application::scratch_alone;
use crate::targets::File;
use crate::targets::walk::{Process, Rules, Walked, device, fault, is_plain, walk};
use compiler::backends::ebpf::{self, Action, Counted, Divided, Fate, Linked, World};
use netil::Verified;
use netil::app::{Application, Body, Instance, port_number};
use netil::exec::DropReason;
use netil::module::{HandlerKind, TableKind};
use runtime::coproc::tables::is_written;
use runtime::graph::{ElementError, Fault, NodeStats, Stats, builtin};
use runtime::io::bpf;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

/// The most queues of a device that hand packets over.
pub const XDP_QUEUES: u32 = ebpf::QUEUES;

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
    /// What a process runs, if the configuration is divided.
    division: Option<Handed>,
}

/// What the kernel leaves to a process.
#[derive(Clone, Debug, Default)]
pub struct Handed {
    /// Instances of which nothing runs in the kernel, with the reason; packets come to others from
    /// these alone.
    pub whole: BTreeMap<usize, String>,
    /// Instances of which a part does, with what they hand packets over for.
    pub part: BTreeMap<usize, Vec<String>>,
    /// By element the data memory that the kernel's part uses.
    memory: Vec<Vec<Range<u32>>>,
}

/// Elements of one class that are handed over for the same reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandedRow {
    /// Their names.
    pub names: Vec<String>,
    /// Their class.
    pub class: String,
    /// Nothing of them runs in the kernel.
    pub whole: bool,
    /// Why.
    pub reasons: Vec<String>,
}

impl Handed {
    /// By class and reasons, those in the process alone first.
    fn rows(&self, application: &Application) -> Vec<HandedRow> {
        let mut rows: Vec<HandedRow> = Vec::new();
        let whole = self.whole.iter().map(|(n, why)| (*n, true, vec![why.clone()]));
        for (n, whole, reasons) in whole.chain(self.part.iter().map(|(n, reasons)| (*n, false, reasons.clone()))) {
            let (name, class) = (application.instances[n].name.clone(), &application.instances[n].class);
            match rows.iter_mut().find(|row| (&row.class, row.whole, &row.reasons) == (class, whole, &reasons)) {
                Some(row) => row.names.push(name),
                None => rows.push(HandedRow { names: vec![name], class: class.clone(), whole, reasons }),
            }
        }
        rows
    }
}

/// Makes the program. `interfaces` are the indices of the devices' interfaces.
pub(crate) fn make(application: &Application, interfaces: &BTreeMap<String, u32>, world: World) -> Result<XdpApplication, Vec<Fault>> {
    let making = Making { application, interfaces, world, parts: None };
    making.make().map_err(|wrong| vec![wrong.1])
}

/// Makes the program of what the kernel can run, for a process that runs the rest; `loops`: that
/// includes loops of which only the kernel knows whether it sees their ends. `without`: instances
/// that are the process's, with the reason.
pub(crate) fn make_divided(
    application: &Application,
    interfaces: &BTreeMap<String, u32>,
    world: World,
    loops: bool,
    without: &BTreeMap<usize, String>,
) -> Result<XdpApplication, Vec<Fault>> {
    let parts = RefCell::new(without.iter().map(|(instance, why)| (*instance, Err(why.clone()))).collect::<BTreeMap<_, _>>());
    loop {
        let making = Making { application, interfaces, world, parts: Some((&parts, loops)) };
        match making.make() {
            Ok(made) => return Ok(made),
            // What cannot be had in this place, with what others need, is the process's.
            Err((Some(instance), fault)) if !matches!(parts.borrow().get(&instance), Some(Err(_))) => {
                let why = fault.error.why().to_owned();
                parts.borrow_mut().insert(instance, Err(why));
            }
            Err((_, fault)) => return Err(vec![fault]),
        }
    }
}

/// How often the largest element is taken out of a program that the kernel refuses.
const TRIES: usize = 3;

/// Loads what the kernel can run: with loops, without the largest elements if its verifier refuses
/// them, and at last without loops.
pub(crate) fn load_divided(
    application: &Application,
    interfaces: &BTreeMap<String, u32>,
    world: World,
) -> Result<io::Result<XdpLoaded>, Vec<Fault>> {
    let mut refused = None;
    for loops in [true, false] {
        let mut without = BTreeMap::new();
        for _ in 0..TRIES {
            let made = make_divided(application, interfaces, world, loops, &without)?;
            let largest = made.largest();
            match made.load() {
                Ok(loaded) => return Ok(Ok(loaded)),
                Err(error) if error.raw_os_error() == Some(NOT_PERMITTED) => return Ok(Err(error)),
                Err(error) => {
                    let text = error.to_string();
                    let why = format!("the kernel's verifier does not take it: {}", text.split(';').next().unwrap_or(&text));
                    refused = Some(error);
                    without.extend(largest.map(|instance| (instance, why)));
                }
            }
        }
    }
    Ok(Err(refused.unwrap_or_else(|| io::ErrorKind::Other.into())))
}

/// The error of a process that may not load programs.
const NOT_PERMITTED: i32 = 1;

/// By instance the kernel's part, or why there is none.
type Parts = RefCell<BTreeMap<usize, Result<Divided, String>>>;

/// What a program is made from.
struct Making<'a> {
    application: &'a Application,
    interfaces: &'a BTreeMap<String, u32>,
    world: World,
    /// Where the configuration is divided; and whether loops stay in the kernel.
    parts: Option<(&'a Parts, bool)>,
}

impl Making<'_> {
    fn interface(&self, device: &str) -> Result<u32, ElementError> {
        let known = self.interfaces.get(device).copied();
        known.ok_or_else(|| ElementError::argument(format!("device {device} has no interface; --map {device}=dev:IF says which")))
    }

    fn end(&self, class: &str, device: &str) -> Result<Option<Fate>, ElementError> {
        Ok(match class {
            class if builtin::facts(class).ends => Some(Fate::Action(Action::Drop)),
            "ToHost" => Some(Fate::Action(Action::Pass)),
            "ToDevice" => Some(Fate::Action(Action::Redirect(self.interface(device)?))),
            _ => None,
        })
    }

    /// Why nothing of a program can run in the kernel.
    fn refuses(&self, instance: usize) -> Option<String> {
        let ((parts, loops), program) = (self.parts?, self.application.instances[instance].program()?);
        let mut parts = parts.borrow_mut();
        let part = parts.entry(instance).or_insert_with(|| {
            if let Some(table) = written_prefixes(program) {
                return Err(format!("it changes values of the table '{table}', whose keys are prefixes"));
            }
            ebpf::divide(program, &scratch_alone(program), loops).map_err(|refused| told(program, &refused))
        });
        part.as_ref().err().cloned()
    }

    /// The program; or what is wrong, and with which instance.
    fn make(&self) -> Result<XdpApplication, (Option<usize>, Fault)> {
        let (entry, end) = (|device: &str| self.interface(device), |class: &str, device: &str| self.end(class, device));
        let refuses = |instance: usize| self.refuses(instance);
        let process = Process { refuses: &refuses, end: &|node, port| Fate::Process { node, port } };
        let process = self.parts.map(|_| &process);
        let rules =
            Rules { target: "xdp", called: "XDP", entry: &entry, end: &end, drop: Fate::Action(Action::Drop), copies: false, process };
        let Walked { instances, elements, ends, entries, readers, apart } =
            walk(self.application, &rules).map_err(|fault| (None, fault))?;
        let fates = ends.iter().map(|(_, fate)| ebpf::End { names: Vec::new(), fate: *fate }).collect();
        let parts = self.parts.map(|(parts, _)| division(&parts.borrow(), &instances));
        let scratch = if parts.is_some() { Vec::new() } else { elements.iter().map(|element| scratch_alone(element.program)).collect() };
        let mut app = ebpf::Application { elements, ends: fates, entries, world: self.world, division: parts, scratch };
        let linked = linked(&mut app).map_err(|wrong| {
            let element = wrong.element.map(|n| instances[n]);
            let program = element.and_then(|n| self.application.instances[n].program());
            let why = program.map_or_else(|| wrong.refused.reason.clone(), |program| told(program, &wrong.refused));
            (element, fault("xdp", element.unwrap_or(usize::MAX), why))
        })?;
        let division = app.division.map(|division| handed(self.application, &instances, &division, apart));
        let ends = ends.into_iter().map(|(passed, _)| passed).collect();
        Ok(XdpApplication { linked, instances, ends, readers, application: self.application.clone(), division })
    }
}

/// Links it. Memory that each run writes before it reads is on the stack, if that has room for it.
fn linked(app: &mut ebpf::Application<'_>) -> Result<Linked, ebpf::Wrong> {
    loop {
        match ebpf::link(app) {
            Err(ebpf::Wrong { element: Some(n), .. }) if app.scratch.get(n).is_some_and(|scratch| !scratch.is_empty()) => {
                app.scratch[n].clear();
            }
            done => return done,
        }
    }
}

/// What the target does not admit of a program, with the place.
fn told(program: &Verified, refused: &ebpf::Refused) -> String {
    let place = refused.site.map(|site| program.place(HandlerKind::Push, site) + ": ");
    place.unwrap_or_default() + &refused.reason
}

/// A table whose keys are prefixes and whose values the program changes: a process could not do
/// that on the map.
fn written_prefixes(program: &Verified) -> Option<&str> {
    let module = program.module();
    let mut tables = module.tables.iter().zip(0..).filter(|(table, _)| table.kind == TableKind::Prefix);
    tables.find(|(_, n)| is_written(module, *n)).map(|(table, _)| table.name.as_str())
}

fn division(parts: &BTreeMap<usize, Result<Divided, String>>, instances: &[usize]) -> ebpf::Division {
    let part = |instance: &usize| parts.get(instance).and_then(|part| part.as_ref().ok()).cloned();
    ebpf::Division { nodes: instances.iter().map(|n| *n as u32).collect(), parts: instances.iter().filter_map(part).collect() }
}

fn handed(application: &Application, instances: &[usize], division: &ebpf::Division, whole: BTreeMap<usize, String>) -> Handed {
    let mut part = BTreeMap::new();
    for (instance, divided) in instances.iter().zip(&division.parts).filter(|(_, divided)| !divided.handed.is_empty()) {
        let Some(program) = application.instances[*instance].program() else { continue };
        part.insert(*instance, reasons(program, &divided.handed));
    }
    let memory = division.parts.iter().map(|part| part.memory.clone()).collect();
    Handed { whole, part, memory }
}

/// Each reason once, with the first of its places and how many more there are.
fn reasons(program: &Verified, handed: &[ebpf::Refused]) -> Vec<String> {
    let mut all: Vec<(&ebpf::Refused, usize)> = Vec::new();
    for refused in handed {
        match all.iter_mut().find(|(known, _)| known.reason == refused.reason) {
            Some((_, more)) => *more += 1,
            None => all.push((refused, 0)),
        }
    }
    let shown = |(refused, more): (&ebpf::Refused, usize)| match more {
        0 => told(program, refused),
        more => format!("{}, and at {more} more places", told(program, refused)),
    };
    all.into_iter().map(shown).collect()
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

    /// The files of the program: an object, and commands that enter what tables have from the
    /// start, if they have something.
    ///
    /// # Errors
    /// It is too large for its format.
    pub fn files(&self, name: &str) -> Result<Vec<File>, Error> {
        super::files(&self.linked.program, name, &|refused| super::refused(refused.reason.clone()))
    }

    /// The device of a ToDevice or FromDevice, by the element's name.
    pub fn device_of(&self, element: &str) -> String {
        let instance = self.application.instances.iter().find(|instance| instance.name == element);
        let Some(Instance { name, class, body: Body::BuiltIn(arguments) }) = instance else { return String::new() };
        device(name, class, arguments)
    }

    /// The devices that packets come in by.
    pub fn devices(&self) -> Vec<String> {
        self.readers.iter().map(|(device, _)| device.clone()).collect()
    }

    /// What a process runs, if the configuration is divided.
    pub fn handed(&self) -> Option<&Handed> {
        self.division.as_ref()
    }

    /// How many elements the kernel runs wholly or in part, and what a process runs, for people.
    pub fn handed_rows(&self) -> (usize, Vec<HandedRow>) {
        (self.instances.len(), self.division.as_ref().map_or_else(Vec::new, |handed| handed.rows(&self.application)))
    }

    /// Bytes of info memory in the header of packets that are handed over
    /// ([`Settings::handed`](runtime::graph::Settings::handed)).
    pub fn info(&self) -> usize {
        self.linked.info as usize
    }

    /// The instance with most instructions.
    fn largest(&self) -> Option<usize> {
        let program = &self.linked.program;
        let starts = program.functions.iter().map(|(_, start)| *start).chain([program.insts.len()]).collect::<Vec<_>>();
        let sizes = starts.windows(2).skip(1).map(|pair| pair[1] - pair[0]);
        self.instances.iter().zip(sizes).max_by_key(|(_, size)| *size).map(|(instance, _)| *instance)
    }

    pub(super) fn linked(&self) -> &Linked {
        &self.linked
    }

    pub(super) fn instance(&self, element: usize) -> usize {
        self.instances[element]
    }

    pub(super) fn application(&self) -> &Application {
        &self.application
    }

    /// By element the data memory that the kernel's part uses.
    pub(super) fn memory(&self) -> impl Iterator<Item = (usize, &[Range<u32>])> {
        self.division.iter().flat_map(|division| division.memory.iter().map(Vec::as_slice).enumerate())
    }

    /// Loads it into the kernel.
    ///
    /// # Errors
    /// The process may not, or the kernel refuses it.
    pub fn load(self) -> io::Result<XdpLoaded> {
        Ok(XdpLoaded { program: super::load(&self.linked.program)?, made: self })
    }
}

impl XdpLoaded {
    /// What is added to the kernel's clock; of a program that is tried the time, and the interface
    /// that packets come in by.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn set_world(&self, time_ns: u64, interface: u32) -> io::Result<()> {
        let Some((at, mut state)) = self.state()? else { return Ok(()) };
        state[ebpf::CLOCK_AT as usize..][..8].copy_from_slice(&time_ns.to_le_bytes());
        state[ebpf::INTERFACE_AT as usize..][..4].copy_from_slice(&interface.to_le_bytes());
        self.program.update(at, &[0; 4], &state)
    }

    /// What was loaded.
    pub fn made(&self) -> &XdpApplication {
        &self.made
    }

    /// The map that sockets are entered in, and by device the first number there; each device has
    /// [`XDP_QUEUES`].
    ///
    /// # Errors
    /// The configuration is not divided.
    pub fn sockets(&self) -> io::Result<(bpf::Entries, Vec<(String, u32)>)> {
        let map = self.made.linked.sockets.ok_or(io::ErrorKind::NotFound)?;
        let first = |((device, _), n): (&(String, Vec<usize>), u32)| (device.clone(), n * XDP_QUEUES);
        Ok((self.program.shared(map)?, self.made.readers.iter().zip(0..).map(first).collect()))
    }

    /// The state map as memory, if the program has one.
    pub(super) fn words(&self) -> io::Result<Option<bpf::Words>> {
        let maps = &self.made.linked.program.maps;
        let Some(at) = maps.iter().position(|map| map.name == ebpf::STATE) else { return Ok(None) };
        self.program.memory(at, maps[at].data.len()).map(Some)
    }

    /// How many packets were handed over.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn handed_over(&self) -> io::Result<u64> {
        let linked = &self.made.linked;
        let counts = self.counts()?;
        Ok(linked.counts.1.iter().zip(counts).filter(|(what, _)| self.made.is_handed(what)).map(|(_, count)| count).sum())
    }

    /// All counts, of all processors together.
    fn counts(&self) -> io::Result<Vec<u64>> {
        let pages = self.program.entries(self.made.linked.counts.0)?;
        Ok(pages.iter().flat_map(|(_, page)| page.as_chunks().0).map(|word| u64::from_ne_bytes(*word)).collect())
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
        let (counted, counts) = (&self.made.linked.counts.1, self.counts()?);
        let mut nodes: Vec<NodeStats> = self.made.application.instances.iter().map(|_| NodeStats::default()).collect();
        for (what, count) in counted.iter().zip(&counts) {
            self.made.add(&mut nodes, *what, *count);
        }
        if self.made.division.is_none() {
            self.made.only_outputs(&mut nodes);
        }
        let instances = self.made.application.instances.iter();
        let named = instances.zip(nodes).map(|(i, node)| (i.name.clone(), i.class.clone(), node)).collect();
        let arrivals = counted.iter().zip(&counts).filter(|(what, _)| matches!(what, Counted::Entered(_))).map(|(_, count)| count).sum();
        Ok(Stats { nodes: named, arrivals, ..Stats::default() })
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
                    if is_plain(&self.application.instances[*n].class) {
                        nodes[*n].out = vec![nodes[*n].packets];
                    }
                }
            }
            Counted::Entered(entry) => {
                for n in &self.readers[entry].1 {
                    nodes[*n].out = vec![nodes[*n].out.first().copied().unwrap_or(0) + count];
                }
            }
            Counted::Lost if count > 0 => {
                if let Some(n) = self.readers.first().and_then(|(_, passed)| passed.first()) {
                    nodes[*n].drop("no room for the header of what is handed over", count);
                }
            }
            _ => {}
        }
    }

    /// Whether that counts packets which are handed over.
    pub(super) fn is_handed(&self, what: &Counted) -> bool {
        match what {
            Counted::Handed(_) => true,
            Counted::At(end) => self.ends_in_process(*end),
            _ => false,
        }
    }

    /// By entry the element that packets come from.
    pub(super) fn sources(&self) -> impl Iterator<Item = usize> {
        self.readers.iter().filter_map(|(_, passed)| passed.first().copied())
    }

    /// Whether an end leads to the process.
    fn ends_in_process(&self, end: usize) -> bool {
        self.linked.processed.get(end) == Some(&true)
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
