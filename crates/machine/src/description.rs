//! A machine as data, read from TOML; the built-in machines.
//!
//! A built-in file says where each number is from. Limits bound the memory and time of a file.

pub use crate::fault::Fault;
use crate::fault::within;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Built-in machines: their names and files.
const BUILT_IN: &[(&str, &str)] = &[
    ("ixp1200", include_str!("../machines/ixp1200.toml")),
    ("netthreads", include_str!("../machines/netthreads.toml")),
    ("octeon", include_str!("../machines/octeon.toml")),
    ("x11", crate::x11::BUILT_IN),
];
/// The place name of what costs no access.
pub const REGISTER: &str = "register";
const MOST_THREADS: u32 = 1024;
const MOST_CYCLES: u32 = 1_000_000;
const MOST_CACHE: u32 = 1 << 26;
/// Bits of a signature at most.
const MOST_BITS: u32 = 1 << 20;

/// A machine.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// One word.
    pub name: String,
    /// What it is, in one line.
    pub description: String,
    /// Cycles a second, in millions.
    pub clock_mhz: f64,
    /// Cores and their threads.
    pub processor: Processor,
    /// Instructions of the machine for one NetIL instruction, by class.
    pub instructions: Instructions,
    /// Memories by name.
    #[serde(default)]
    pub memory: BTreeMap<String, Memory>,
    /// Buses by name.
    #[serde(default)]
    pub bus: BTreeMap<String, Bus>,
    /// Where a program's memories lie.
    pub place: MemoryMap,
    /// Where tables and variables lie, by their scopes; without, as `place` says.
    pub scope: Option<Scopes>,
    /// What lookups cost.
    pub lookup: Lookups,
    /// What a search for patterns costs; without, nothing.
    pub search: Option<Search>,
    /// Locks.
    pub locks: Locks,
    /// The transactional unit, if there is one.
    pub transactions: Option<Transactions>,
    /// How packets arrive.
    pub receive: Port,
    /// How packets leave.
    pub transmit: Port,
    /// Ports with their buffers, of a machine whose threads receive or transmit.
    pub ports: Option<crate::router::Ports>,
    /// How those threads come to entries of the transmit FIFO: policies by name.
    #[serde(default)]
    pub arbitration: BTreeMap<String, crate::router::Arbitration>,
    /// The work scheduler, of a machine whose cores take packets from groups.
    pub scheduler: Option<crate::scheduler::Scheduler>,
}

/// How a core chooses the thread that issues next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Schedule {
    /// A thread runs until it waits for something.
    Swap,
    /// The next ready thread each cycle.
    Interleave,
}

/// Cores.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Processor {
    /// How many.
    pub cores: u32,
    /// Hardware threads of each.
    pub threads: u32,
    /// How the next is chosen.
    pub schedule: Schedule,
    /// Instructions a cycle.
    #[serde(default = "one")]
    pub issue: u32,
    /// Cycles that a change of threads takes.
    #[serde(default)]
    pub swap_cycles: u32,
    /// Instructions that a core's control store holds; 0: no limit.
    #[serde(default)]
    pub control_store: u32,
}

/// The machine's instructions for one of NetIL's, by class.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Instructions {
    /// Constants, locals, and moves on the stack: operands of other instructions in registers.
    pub stack: f64,
    /// Arithmetic.
    pub alu: f64,
    /// Arithmetic of more than 32 bits, for each limb of 64.
    pub wide: f64,
    /// Branches, calls.
    pub branch: f64,
    /// What an access takes besides the access itself: address and check.
    pub memory: f64,
    /// For each four bytes of checksums, hashes and scans.
    pub digest: f64,
    /// Changes of the packet's head and tail, and sending.
    pub packet: f64,
    /// An operation of a coprocessor.
    pub unit: f64,
}

/// A memory.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Cycles from the beginning of service to the first unit.
    pub latency: u32,
    /// Cycles that each unit keeps the memory busy.
    pub service: u32,
    /// Bytes of a unit.
    pub width: u32,
    /// Requests that wait and are served; who asks for more waits until one is done. 0: no limit.
    #[serde(default)]
    pub queue: u32,
    /// Threads go on after a store.
    #[serde(default)]
    pub posted_stores: bool,
    /// The bus that requests pass.
    pub bus: Option<String>,
    /// Requests that are served at the same time.
    #[serde(default = "one")]
    pub servers: u32,
    /// Each core has its own.
    #[serde(default)]
    pub per_core: bool,
    /// A cache of that many bytes stands before the memory `behind`.
    #[serde(default)]
    pub cache_bytes: u32,
    /// Lines that one place in memory may be in.
    #[serde(default = "one")]
    pub ways: u32,
    /// Bytes of a line; 0: a unit.
    #[serde(default)]
    pub line_bytes: u32,
    /// Stores go to what is behind at once, and take no line in.
    #[serde(default)]
    pub write_through: bool,
    /// What a miss of the cache asks.
    pub behind: Option<String>,
    /// Bytes that it holds; 0: not told.
    #[serde(default)]
    pub bytes: u64,
}

impl Memory {
    /// Bytes of a line of its cache.
    pub(crate) fn line(&self) -> u32 {
        if self.line_bytes == 0 { self.width } else { self.line_bytes }
    }
}

/// A bus.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bus {
    /// Cycles that a request takes it.
    pub service: u32,
}

/// Where a program's memories lie: a memory's name, or `register`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryMap {
    /// The packet.
    pub packet: String,
    /// Annotations.
    pub info: String,
    /// Data memory of an element.
    pub data: String,
    /// Memory that elements share.
    pub shared: String,
    /// Constants.
    pub initialised: String,
    /// Tables.
    pub table: String,
}

/// Memories by scope, the best one first: names of memories, or `register`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scopes {
    /// What no run reads before it writes it: each thread has its own.
    pub local: Vec<String>,
    /// What an element keeps from packet to packet.
    pub regional: Vec<String>,
    /// What all elements of a class have together.
    pub global: Vec<String>,
    /// What all elements have together.
    pub universal: Vec<String>,
    /// Bytes of a thread's registers that are free for local data.
    #[serde(default)]
    pub registers: u32,
}

impl Scopes {
    fn names(&self) -> impl Iterator<Item = &String> {
        self.local.iter().chain(&self.regional).chain(&self.global).chain(&self.universal)
    }
}

/// What a lookup costs, by how keys match.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lookups {
    /// An exact match of the key.
    pub exact: Lookup,
    /// The longest prefix.
    pub prefix: Lookup,
    /// Masks, ranges.
    pub ternary: Lookup,
    /// A set of constants.
    pub set: Lookup,
}

/// One kind of lookup.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lookup {
    /// Instructions besides the accesses.
    pub instructions: f64,
    /// Reads, one after the other.
    pub reads: u32,
    /// Bytes of each.
    pub bytes: u32,
}

/// A search for patterns, for each byte that is looked at.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// Instructions.
    pub instructions: f64,
    /// Bytes that are read of the automaton.
    pub bytes: f64,
    /// The memory where the automaton is, or `register`.
    pub memory: String,
    /// Instructions to have a unit search the whole packet, which asks the memory once for all
    /// bytes; 0: the core searches.
    #[serde(default)]
    pub command: f64,
    /// The core does other work meanwhile, and the scheduler brings the packet back.
    #[serde(default)]
    pub asynchronous: bool,
}

/// Locks.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Locks {
    /// How many there are.
    pub mutexes: u32,
    /// Cycles to take one, and to give it to who waits.
    pub cycles: u32,
    /// Instructions to put a packet into the queue of another thread.
    #[serde(default)]
    pub enqueue: f64,
}

/// The transactional unit.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transactions {
    /// Bits of a signature; 0: exact sets.
    pub signature_bits: u32,
    /// How words become bits.
    #[serde(default)]
    pub hash: Hash,
    /// Cycles to undo a word.
    pub undo_cycles: u32,
}

impl Transactions {
    /// Signatures are registers of the machine: none is longer than a million bits.
    fn check(&self) -> Result<(), Fault> {
        match self.signature_bits {
            0..=MOST_BITS => Ok(()),
            bits => Err(Fault::new(format!("transactions.signature_bits is {bits}; it is at most {MOST_BITS}"))),
        }
    }
}

/// How words become bits of a signature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Hash {
    /// A hash of the whole address.
    Mixed,
    /// A trie over the bits of addresses, made of what the program touches.
    #[default]
    Trie,
}

/// What stands between the wire and the threads.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Port {
    /// Packets that it holds.
    pub slots: u32,
    /// Instructions that a thread needs for a packet.
    pub instructions: f64,
    /// Accesses that it needs for a packet, by memory.
    #[serde(default)]
    pub accesses: BTreeMap<String, u32>,
    /// Packets leave in the order in which they arrived.
    #[serde(default)]
    pub in_order: bool,
    /// Bytes that pass in a cycle; 0: no limit.
    #[serde(default)]
    pub bytes_per_cycle: f64,
    /// Buffers that arriving packets use in turn; 0: as many as slots.
    #[serde(default)]
    pub buffers: u32,
    /// The cache that arriving packets are put into.
    pub into: Option<String>,
}

fn one() -> u32 {
    1
}

/// The built-in machines, by name.
pub fn built_in() -> impl Iterator<Item = (&'static str, &'static str)> {
    BUILT_IN.iter().copied()
}

/// A built-in machine of cores and threads.
pub fn named(name: &str) -> Option<Machine> {
    let (_, text) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
    Machine::read(text).ok()
}

/// A machine of any kind.
#[derive(Clone, Debug)]
pub enum Any {
    /// Of cores and threads.
    Threads(Box<Machine>),
    /// A pipeline.
    Pipeline(crate::x11::Machine),
}

impl Any {
    /// Reads a description: a pipeline is one that describes its `pipeline`.
    ///
    /// # Errors
    /// It is not TOML, lacks something, or says what cannot be.
    pub fn read(text: &str) -> Result<Self, Fault> {
        let table: toml::Table = toml::from_str(text).map_err(|error| Fault::new(error.to_string().trim_end()))?;
        match table.contains_key("pipeline") {
            true => crate::x11::Machine::read(text).map(Self::Pipeline),
            false => Machine::read(text).map(|machine| Self::Threads(Box::new(machine))),
        }
    }

    /// Its name and description.
    pub fn about(&self) -> (&str, &str) {
        match self {
            Self::Threads(machine) => (&machine.name, &machine.description),
            Self::Pipeline(machine) => (&machine.name, &machine.description),
        }
    }
}

impl Machine {
    /// Reads a description.
    ///
    /// # Errors
    /// It is not TOML, lacks something, or says what cannot be.
    pub fn read(text: &str) -> Result<Self, Fault> {
        let machine: Self = toml::from_str(text).map_err(|error| Fault::new(error.to_string().trim_end()))?;
        machine.check()?;
        Ok(machine)
    }

    /// Threads of all cores.
    pub fn threads(&self) -> u32 {
        self.processor.cores * self.processor.threads
    }

    /// The number of a memory.
    pub(crate) fn memory_number(&self, name: &str) -> Option<usize> {
        self.memory.keys().position(|known| known == name)
    }

    fn check(&self) -> Result<(), Fault> {
        let threads = self.processor.cores.saturating_mul(self.processor.threads);
        within("cores × threads", threads, 1, MOST_THREADS)?;
        within("processor.issue", self.processor.issue, 1, 64)?;
        within("processor.swap_cycles", self.processor.swap_cycles, 0, MOST_CYCLES)?;
        within("locks.mutexes", self.locks.mutexes, 1, 1 << 16)?;
        within("locks.cycles", self.locks.cycles, 0, MOST_CYCLES)?;
        within("receive.slots", self.receive.slots, 1, 1 << 16)?;
        within("transmit.slots", self.transmit.slots, 1, 1 << 16)?;
        if !(self.clock_mhz.is_finite() && self.clock_mhz > 0.0) {
            return Err(Fault::new(format!("clock_mhz is {}, which is no frequency", self.clock_mhz)));
        }
        self.weights().into_iter().try_for_each(|(what, weight)| match (0.0..=10_000.0).contains(&weight) {
            true => Ok(()),
            false => Err(Fault::new(format!("{what} is {weight}; it is between 0 and 10000"))),
        })?;
        self.memory.iter().try_for_each(|(name, memory)| self.check_memory(name, memory))?;
        self.bus.iter().try_for_each(|(name, bus)| within(&format!("bus.{name}.service"), bus.service, 0, MOST_CYCLES))?;
        self.check_ports()?;
        self.scheduler.iter().try_for_each(crate::scheduler::Scheduler::check)?;
        self.transactions.iter().try_for_each(Transactions::check)?;
        self.check_arrivals()?;
        self.check_places()
    }

    fn check_ports(&self) -> Result<(), Fault> {
        let Some(p) = &self.ports else {
            return if self.arbitration.is_empty() { Ok(()) } else { Err(Fault::new("arbitration: the machine has no ports")) };
        };
        let all = [
            ("ports.count", p.count, 1, 256),
            ("ports.mbits", p.mbits, 1, 1_000_000),
            ("ports.cell", p.cell, 8, 4096),
            ("ports.buffer_cells", p.buffer_cells, 1, 4096),
            ("ports.gap", p.gap, 0, 4096),
            ("ports.entries", p.entries, 1, 4096),
            ("ports.entry_cycles", p.entry_cycles, 0, MOST_CYCLES),
            ("ports.register_requests", p.register_requests, 0, 4096),
            ("ports.queue", p.queue, 1, 1 << 20),
            ("ports.poll", p.poll, 1, MOST_CYCLES),
            ("ports.receive_cell", p.receive_cell, 0, MOST_CYCLES),
            ("ports.transmit_cell", p.transmit_cell, 0, MOST_CYCLES),
            ("ports.packet", p.packet, 0, MOST_CYCLES),
        ];
        all.into_iter().try_for_each(|(what, value, least, most)| within(what, value, least, most))?;
        match ["csr", "ix", "scratch", "sram", "sdram"].into_iter().find(|name| !self.memory.contains_key(*name)) {
            Some(name) => Err(Fault::new(format!("ports need the memory `{name}`, which is not described"))),
            None => crate::router::check_policies(&self.arbitration, p, &|memory| self.memory.contains_key(memory)),
        }
    }

    fn weights(&self) -> Vec<(&'static str, f64)> {
        let (i, l) = (&self.instructions, &self.lookup);
        vec![
            ("instructions.stack", i.stack),
            ("instructions.alu", i.alu),
            ("instructions.wide", i.wide),
            ("instructions.branch", i.branch),
            ("instructions.memory", i.memory),
            ("instructions.digest", i.digest),
            ("instructions.packet", i.packet),
            ("instructions.unit", i.unit),
            ("lookup.exact.instructions", l.exact.instructions),
            ("lookup.prefix.instructions", l.prefix.instructions),
            ("lookup.ternary.instructions", l.ternary.instructions),
            ("lookup.set.instructions", l.set.instructions),
            ("locks.enqueue", self.locks.enqueue),
            ("search.instructions", self.search.as_ref().map_or(0.0, |search| search.instructions)),
            ("search.command", self.search.as_ref().map_or(0.0, |search| search.command)),
            ("search.bytes", self.search.as_ref().map_or(0.0, |search| search.bytes)),
            ("receive.instructions", self.receive.instructions),
            ("transmit.instructions", self.transmit.instructions),
            ("transmit.bytes_per_cycle", self.transmit.bytes_per_cycle),
        ]
    }

    fn check_memory(&self, name: &str, memory: &Memory) -> Result<(), Fault> {
        within(&format!("memory.{name}.width"), memory.width, 1, 4096)?;
        within(&format!("memory.{name}.latency"), memory.latency, 0, MOST_CYCLES)?;
        within(&format!("memory.{name}.service"), memory.service, 0, MOST_CYCLES)?;
        within(&format!("memory.{name}.cache_bytes"), memory.cache_bytes, 0, MOST_CACHE)?;
        within(&format!("memory.{name}.servers"), memory.servers, 1, 4096)?;
        within(&format!("memory.{name}.ways"), memory.ways, 1, 4096)?;
        within(&format!("memory.{name}.line_bytes"), memory.line_bytes, 0, 4096)?;
        if let Some(bus) = memory.bus.as_ref().filter(|bus| !self.bus.contains_key(*bus)) {
            return Err(Fault::new(format!("memory.{name} is on the bus `{bus}`, which is not described")));
        }
        self.check_cache(name, memory)
    }

    /// A cache asks another memory, and in the end one without a cache.
    fn check_cache(&self, name: &str, memory: &Memory) -> Result<(), Fault> {
        match (&memory.behind, memory.cache_bytes) {
            (None, 0) if memory.ways > 1 || memory.line_bytes > 0 || memory.write_through => {
                Err(Fault::new(format!("memory.{name} says what a cache is like, and has no `cache_bytes`")))
            }
            (None, 0) => Ok(()),
            (Some(_), 1..) if memory.cache_bytes < memory.line() => {
                Err(Fault::new(format!("memory.{name}: its cache has fewer bytes than a line, which has {}", memory.line())))
            }
            (Some(behind), 1..) => match self.ends(behind, self.memory.len()) {
                true => Ok(()),
                false => {
                    Err(Fault::new(format!("memory.{name} is before `{behind}`, which is no memory, or leads back to a cache before it")))
                }
            },
            _ => Err(Fault::new(format!("memory.{name} has only one of `cache_bytes` and `behind`"))),
        }
    }

    /// Whether what misses in that memory, and so on, is answered after so many memories.
    fn ends(&self, name: &str, most: usize) -> bool {
        self.memory.get(name).is_some_and(|memory| memory.behind.as_ref().is_none_or(|behind| most > 0 && self.ends(behind, most - 1)))
    }

    fn check_arrivals(&self) -> Result<(), Fault> {
        within("receive.buffers", self.receive.buffers, 0, 1 << 20)?;
        if self.transmit.buffers > 0 || self.transmit.into.is_some() {
            return Err(Fault::new("`buffers` and `into` are of `receive`: transmit has none"));
        }
        match self.receive.into.as_ref().filter(|into| self.memory.get(*into).is_none_or(|memory| memory.cache_bytes == 0)) {
            Some(into) => Err(Fault::new(format!("receive.into is `{into}`, which is no memory with a cache"))),
            None => Ok(()),
        }
    }

    fn check_places(&self) -> Result<(), Fault> {
        let p = &self.place;
        let places = [&p.packet, &p.info, &p.data, &p.shared, &p.initialised, &p.table];
        let of_ports = self.receive.accesses.iter().chain(&self.transmit.accesses);
        for (name, count) in of_ports.clone() {
            within(&format!("accesses to {name}"), *count, 0, 10_000)?;
        }
        for lookup in [&self.lookup.exact, &self.lookup.prefix, &self.lookup.ternary, &self.lookup.set] {
            within("reads of a lookup", lookup.reads, 0, 1000)?;
            within("bytes of a lookup", lookup.bytes, 0, 4096)?;
        }
        let known = |name: &String| name == REGISTER || self.memory.contains_key(name);
        let search = self.search.iter().map(|search| &search.memory);
        let scopes = self.scope.iter().flat_map(Scopes::names);
        if self
            .scope
            .iter()
            .any(|scope| [&scope.regional, &scope.global, &scope.universal].iter().any(|all| all.iter().any(|name| name == REGISTER)))
        {
            return Err(Fault::new("scope: only local data may lie in registers, which no other thread sees"));
        }
        match places.into_iter().chain(search).chain(scopes).chain(of_ports.map(|(name, _)| name)).find(|name| !known(name)) {
            Some(name) => Err(Fault::new(format!("`{name}` is neither a memory that is described nor `{REGISTER}`"))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_machines_are_right() {
        for (name, text) in built_in() {
            let machine = Any::read(text).unwrap_or_else(|fault| panic!("{name}: {fault}"));
            assert_eq!(machine.about().0, name);
        }
    }

    #[test]
    fn what_cannot_be_is_told_by_name() {
        let text = named("netthreads").map(|_| BUILT_IN[1].1).unwrap();
        let fault = |from: &str, to: &str| {
            assert!(text.contains(from), "{from}");
            Machine::read(&text.replacen(from, to, 1)).unwrap_err().to_string()
        };
        assert!(fault("cores = 2", "cores = 0").contains("cores × threads is 0"));
        assert!(fault("clock_mhz = 125", "clock_mhz = -1").contains("no frequency"));
        assert!(fault("behind = \"ddr\"", "behind = \"nowhere\"").contains("nowhere"));
        assert!(fault("clock_mhz", "clok_mhz").contains("clok_mhz"));
        assert!(fault("packet = \"input\"", "packet = \"tape\"").contains("tape"));
    }
}
