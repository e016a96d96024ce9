//! The process's side of an application of which the kernel runs a part: a graph of the whole
//! application, that goes on with what the kernel hands over, on the same state.
//!
//! - Tables that the kernel's part uses are the kernel's maps, for the graph as well
//!   ([`MapTable`]).
//! - Random numbers depend on packets' numbers, which count what arrives at a source: packets that
//!   the kernel did not hand over count.
//! - Data memory that the kernel's part reads or writes is in the state map. It is copied into the
//!   graph before it works, and what the graph has changed is added afterwards, word by word: so
//!   what one side alone changes is right, and so are sums that both add to.

use super::table::MapTable;
use super::{XdpApplication, XdpLoaded};
use compiler::backends::ebpf::{Counted, PAGE};
use runtime::graph::{Graph, Stats};
use runtime::io::bpf::{Entries, Words};
use std::collections::BTreeSet;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a word of memory.
const WORD: usize = 8;

/// What graph and kernel have together.
pub struct XdpProcess {
    words: Option<Words>,
    memories: Vec<Memory>,
    /// Instances whose tables are maps.
    tables: Vec<usize>,
    /// Where sources' packets are counted, if these have numbers; where those are that are handed
    /// over; and the map of counts.
    arrivals: Vec<Arrivals>,
    handed: Vec<u32>,
    counts: Entries,
    present_ns: Arc<AtomicU64>,
}

/// What arrives at a source.
struct Arrivals {
    instance: usize,
    /// Where it is counted.
    place: u32,
    /// Packets so far that were not handed over.
    alone: u64,
}

/// The places of counts.
fn places(made: &XdpApplication, which: impl Fn(&Counted) -> bool) -> Vec<u32> {
    let counted = made.linked().counts.1.iter().zip(0..);
    counted.filter(|(what, _)| which(what)).map(|(_, place)| place).collect()
}

/// Sources, if some program draws random numbers.
fn arrivals(made: &XdpApplication) -> Vec<Arrivals> {
    let one = |(entry, instance): (usize, usize)| {
        let place = places(made, |what| *what == Counted::Entered(entry)).first().copied()?;
        Some(Arrivals { instance, place, alone: 0 })
    };
    if made.application().keeps_numbers() { made.sources().enumerate().filter_map(one).collect() } else { Vec::new() }
}

/// Words of data memory of an instance.
struct Memory {
    instance: usize,
    /// The first byte of it, and of the part that there is of the last word.
    bytes: Range<usize>,
    /// The first word in the state map.
    first: usize,
    /// As it was when the graph began to work.
    before: Vec<u8>,
}

/// The memory of an element that has its data memory at `start` and so many bytes of it, by ranges
/// that lie in words of their own.
fn memories(instance: usize, (start, len): (u32, u32), ranges: &[Range<u32>]) -> Vec<Memory> {
    let words: BTreeSet<usize> = ranges.iter().flat_map(|range| range.start as usize / WORD..(range.end as usize).div_ceil(WORD)).collect();
    let mut memories: Vec<Memory> = Vec::new();
    for word in words {
        let bytes = word * WORD..((word + 1) * WORD).min(len as usize);
        match memories.last_mut().filter(|last| last.bytes.end == bytes.start) {
            Some(last) => last.bytes.end = bytes.end,
            None => memories.push(Memory { instance, bytes, first: start as usize / WORD + word, before: Vec::new() }),
        }
    }
    memories
}

impl XdpProcess {
    /// Lets a graph of the application work on what the kernel has.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn join(loaded: &XdpLoaded, graph: &mut Graph) -> io::Result<Self> {
        let (made, present_ns) = (loaded.made(), Arc::new(AtomicU64::new(0)));
        let mut tables = Vec::new();
        for (element, maps) in made.linked().tables.iter().enumerate() {
            let instance = made.instance(element);
            let Some(program) = made.application().instances[instance].program() else { continue };
            for (n, map) in maps.iter().enumerate().filter_map(|(n, map)| Some((n, (*map)?))) {
                let entries = loaded.program.shared(map as usize)?;
                graph.set_table(instance, n, Box::new(MapTable::new(entries, &program.module().tables[n], Arc::clone(&present_ns))));
                tables.push(instance);
            }
        }
        tables.dedup();
        let memory = |(element, ranges): (usize, &[Range<u32>])| memories(made.instance(element), made.linked().data[element], ranges);
        let memories = made.memory().flat_map(memory).collect();
        let (arrivals, counts) = (arrivals(made), loaded.program.shared(made.linked().counts.0)?);
        let handed = places(made, |what| made.is_handed(what));
        Ok(Self { words: loaded.words()?, memories, tables, arrivals, handed, counts, present_ns })
    }

    /// Before the graph works.
    pub fn begin(&mut self, graph: &mut Graph, now_ns: u64) {
        self.present_ns.store(now_ns, Ordering::Relaxed);
        self.pass_over(graph);
        let Some(words) = &self.words else { return };
        for memory in &mut self.memories {
            let places = memory.first..memory.first + memory.bytes.len().div_ceil(WORD);
            memory.before = places.flat_map(|at| words.get(at).to_ne_bytes()).collect();
            memory.before.truncate(memory.bytes.len());
            graph.set_memory_at(memory.instance, memory.bytes.start, &memory.before);
        }
    }

    /// Packets that arrived and were not handed over have had their numbers. Those that are handed
    /// over and wait are taken for the last ones.
    fn pass_over(&mut self, graph: &mut Graph) {
        if self.arrivals.is_empty() {
            return;
        }
        let count = |place: u32| {
            let (page, at) = (place / PAGE as u32, place as usize % PAGE);
            let value = self.counts.get(&page.to_ne_bytes()).ok().flatten().unwrap_or_default();
            value.as_chunks().0.get(at).map_or(0, |bytes| u64::from_ne_bytes(*bytes))
        };
        let done: u64 = self.arrivals.iter().map(|one| graph.numbered(one.instance).saturating_sub(one.alone)).sum();
        let waiting = self.handed.iter().map(|place| count(*place)).sum::<u64>().saturating_sub(done);
        for one in &mut self.arrivals {
            let alone = count(one.place).saturating_sub(graph.numbered(one.instance)).saturating_sub(waiting);
            graph.pass_over(one.instance, alone);
            one.alone += alone;
        }
    }

    /// When it has worked.
    pub fn end(&mut self, graph: &mut Graph) {
        for memory in &self.memories {
            let Some(words) = &self.words else { break };
            let after = graph.memory(memory.instance).get(memory.bytes.clone()).unwrap_or_default();
            let pairs = memory.before.chunks(WORD).zip(after.chunks(WORD)).enumerate();
            for (n, (before, after)) in pairs.filter(|(_, (before, after))| before != after) {
                words.add(memory.first + n, word(after).wrapping_sub(word(before)));
            }
        }
        for instance in &self.tables {
            graph.tables(*instance).iter_mut().for_each(|table| table.tidy());
        }
    }
}

impl XdpProcess {
    /// What became of packets in the kernel and in the graph together.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn stats(&self, loaded: &XdpLoaded, graph: &Graph) -> io::Result<Stats> {
        let (kernel, mut all) = (loaded.stats()?, graph.stats());
        all.arrivals = kernel.arrivals;
        for ((.., node), (.., there)) in all.nodes.iter_mut().zip(&kernel.nodes) {
            node.add(there);
        }
        Ok(all)
    }
}

fn word(bytes: &[u8]) -> u64 {
    let mut word = [0; WORD];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_ne_bytes(word)
}
