//! What packets near each other conflict about: the tables with their keys and the variables, and
//! the lines of the source that access them.
//!
//! As in [`crate::conflicts`], two packets conflict if one writes what the other reads or writes. A
//! lookup reads its key; an insertion, a deletion, and a use that keeps an entry from its timeout
//! write it, and so do stores into entries. Of a variable all is one. Left out: shared memory, and
//! tables that several elements have together, which are each element's own here.

use crate::trace::{Event, PacketTrace, Trace, kept};
use netil::app::Kept;
use netil::table::Space;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

/// What packets conflict about.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ConflictPoint {
    /// The element.
    pub element: String,
    /// The table or variable.
    pub about: String,
    /// The key in hexadecimal, of a table.
    pub key: Option<String>,
    /// Lines of the element's source that access the table or variable.
    pub lines: Vec<u32>,
    /// Pairs of packets that conflict about it.
    pub pairs: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Thing {
    /// Element, table, hash of the key.
    Key(u32, u32, u64),
    /// Element, and the variable's number in the trace's data, or the first byte of a word that
    /// belongs to none.
    Variable(u32, Result<usize, u32>),
}

/// What most pairs of packets fewer than `window` apart conflict about; `most` such things.
pub fn places(trace: &Trace, window: usize, most: usize) -> Vec<ConflictPoint> {
    let carried = kept(trace);
    let mut recent: HashMap<Thing, VecDeque<(usize, bool)>> = HashMap::new();
    let mut pairs: BTreeMap<Thing, u64> = BTreeMap::new();
    let mut keys = HashMap::new();
    for (n, packet) in trace.packets.iter().enumerate() {
        for (thing, writes) in touched(trace, packet, &carried, &mut keys) {
            let before = recent.entry(thing).or_default();
            while before.front().is_some_and(|(at, _)| n - at >= window) {
                before.pop_front();
            }
            let conflicting = before.iter().filter(|(_, wrote)| writes || *wrote).count() as u64;
            if conflicting > 0 {
                *pairs.entry(thing).or_default() += conflicting;
            }
            before.push_back((n, writes));
        }
    }
    let mut all: Vec<(Thing, u64)> = pairs.into_iter().collect();
    all.sort_by_key(|(_, pairs)| std::cmp::Reverse(*pairs));
    all.truncate(most);
    all.into_iter().map(|(thing, pairs)| told(trace, thing, pairs)).collect()
}

/// What a packet touches, and whether it writes that. `keys`: by element, table and entry, the hash
/// of the key that led to it last.
fn touched(
    trace: &Trace,
    packet: &PacketTrace,
    carried: &HashSet<(u32, u32)>,
    keys: &mut HashMap<(u32, u32, u32), u64>,
) -> BTreeMap<Thing, bool> {
    let (mut touched, mut runs) = (BTreeMap::new(), Vec::new());
    for event in &packet.events {
        let element = runs.last().copied().unwrap_or(0);
        let (thing, writes) = match *event {
            Event::Begin(element) => {
                runs.push(element);
                continue;
            }
            Event::End => {
                runs.pop();
                continue;
            }
            Event::Lookup { kind, table, write, key, entry } if kind != crate::trace::Kind::Set => {
                if entry != 0 {
                    keys.insert((element, table, entry), key);
                }
                (Thing::Key(element, table, key), write)
            }
            Event::Entry { table, entry, write, .. } => match keys.get(&(element, table, entry)) {
                Some(key) => (Thing::Key(element, table, *key), write),
                None => continue,
            },
            Event::Access { space: Space::Data, write, address, .. } if carried.contains(&(element, address)) => {
                (Thing::Variable(element, variable(trace, element, address)), write)
            }
            _ => continue,
        };
        *touched.entry(thing).or_insert(false) |= writes;
    }
    touched
}

/// The variable that a byte of data memory belongs to.
fn variable(trace: &Trace, element: u32, address: u32) -> Result<usize, u32> {
    let holds = |kept: &Kept| matches!(*kept, Kept::Data { at, len } if (at..at + len).contains(&address));
    trace.data.iter().position(|datum| datum.instance == element && holds(&datum.kept)).ok_or(address / 4 * 4)
}

fn told(trace: &Trace, thing: Thing, pairs: u64) -> ConflictPoint {
    let element = |at: u32| trace.elements.get(at as usize).map_or_else(String::new, |element| element.name.clone());
    match thing {
        Thing::Variable(at, found) => {
            let range = match found {
                Ok(number) => match trace.data[number].kept {
                    Kept::Data { at, len } => at..at + len,
                    _ => 0..0,
                },
                Err(address) => address..address + 4,
            };
            let lines: BTreeSet<u32> =
                trace.data_lines.range((at, range.start)..(at, range.end)).flat_map(|(_, lines)| lines).copied().collect();
            let about = match found {
                Ok(number) => trace.data[number].name.clone(),
                Err(address) => format!("data memory from byte {address} on"),
            };
            ConflictPoint { element: element(at), about, key: None, lines: lines.into_iter().collect(), pairs }
        }
        Thing::Key(at, table, hash) => {
            let declared = trace.elements.get(at as usize).and_then(|element| element.program.module().tables.get(table as usize));
            let digits = declared.map_or(16, |table| usize::from(table.key_bits).div_ceil(4));
            let key = trace.keys.get(&hash).map(|limbs| limbs.iter().rev().map(|limb| format!("{limb:016x}")).collect::<String>());
            let key = key.map(|key| key[key.len().saturating_sub(digits)..].to_owned());
            let lines = trace.lines.get(&(at, table)).map_or_else(Vec::new, |lines| lines.iter().copied().collect());
            ConflictPoint { element: element(at), about: declared.map_or_else(String::new, |table| table.name.clone()), key, lines, pairs }
        }
    }
}
