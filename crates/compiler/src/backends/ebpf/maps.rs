//! Maps of a program: constants, what lasts, and tables.
//!
//! ```text
//! exact, no timeout   HASH       key: limbs of 64 bits, little-endian          value: the table's bytes
//! exact, timeout      LRU_HASH   likewise                                      value: u64 time of last use, then the table's bytes
//! prefix              LPM_TRIE   key: u32 prefix length, then the bytes        value: the table's bytes
//! ```
//!
//! Where a process has the tables as well, those with timeouts are plain HASH maps, from which the
//! process takes out what has timed out.
//!
//! What the kernel has no map for is refused: ternary and range tables, prefix tables with
//! timeouts. An LRU_HASH that is full of live entries forgets those that were not used for longest,
//! where a table of netvm takes no new one.
//!
//! Source: the kernel's Documentation/bpf/map_hash.rst, map_lpm_trie.rst.

use netil::module::{Entry, Table, TableKind};
use netil::tables::FOR_EVER;
use std::collections::HashMap;

/// The map of what nobody writes to, by the name that loaders give it.
const CONSTANTS: &str = ".rodata";
/// The map of the clock, the budget, data memory, shared memory and the exception table.
pub const STATE: &str = ".data";
/// Bytes of the time of last use before a value.
pub(super) const USED: u32 = 8;

/// A map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Map {
    /// Its name; of a map that is one array also the section that it is made of.
    pub name: String,
    /// Its one value from the start, if it is one array of bytes.
    pub data: Vec<u8>,
    /// Whether nobody writes to it.
    pub read_only: bool,
    /// What it is otherwise.
    pub keyed: Option<Keyed>,
}

/// A map with keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keyed {
    /// What it is.
    pub kind: Kind,
    /// Bytes of a key.
    pub key_size: u32,
    /// Bytes of a value.
    pub value_size: u32,
    /// Entries at most.
    pub capacity: u32,
    /// What is there from the start, keys with their values.
    pub entries: Vec<(Vec<u8>, Vec<u8>)>,
}

/// The kernel's kinds of maps; numbers are those of `enum bpf_map_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// By key.
    Hash = 1,
    /// By number, with a value for each processor.
    PerCpuArray = 6,
    /// By key; the entries used last stay.
    LruHash = 9,
    /// By the longest prefix.
    LongestPrefix = 11,
    /// Sockets that frames are given to, by number.
    Sockets = 17,
}

/// The maps of a program under construction.
#[derive(Debug, Default)]
pub(super) struct Maps {
    pub list: Vec<Map>,
    /// Places in the map of constants.
    places: HashMap<Vec<u8>, u32>,
}

impl Maps {
    /// The map of constants.
    pub fn constants(&mut self) -> u32 {
        self.array(CONSTANTS, true)
    }

    /// The map of what lasts from packet to packet; its bytes are known when all functions are.
    pub fn state(&mut self) -> u32 {
        self.array(STATE, false)
    }

    fn array(&mut self, name: &str, read_only: bool) -> u32 {
        let at = self.list.iter().position(|map| map.name == name).unwrap_or_else(|| {
            self.list.push(Map { name: name.to_owned(), data: Vec::new(), read_only, keyed: None });
            self.list.len() - 1
        });
        at as u32
    }

    /// Puts constants into their map; where they begin.
    pub fn constant(&mut self, bytes: Vec<u8>) -> u32 {
        if let Some(at) = self.places.get(&bytes) {
            return *at;
        }
        let map = self.constants();
        let data = &mut self.list[map as usize].data;
        data.resize(data.len().next_multiple_of(8), 0);
        let at = data.len() as u32;
        data.extend_from_slice(&bytes);
        self.places.insert(bytes, at);
        at
    }

    /// A map with keys; its number.
    pub fn keyed(&mut self, name: &str, keyed: Keyed) -> u32 {
        let name = self.unused(name);
        self.list.push(Map { name, data: Vec::new(), read_only: false, keyed: Some(keyed) });
        self.list.len() as u32 - 1
    }

    /// The name as an identifier of C that no other map has within the 15 bytes that the kernel
    /// keeps.
    fn unused(&self, name: &str) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let name: String = name.chars().map(plain).collect();
        let name = if name.starts_with(|c: char| c.is_ascii_digit()) { format!("_{name}") } else { name };
        let cut = |n: usize| name.chars().take(n).collect::<String>();
        let free = |name: &String| self.list.iter().all(|map| map.name != *name);
        let first = Some(cut(15)).filter(|name| free(name));
        first.unwrap_or_else(|| (2..).map(|n| format!("{}_{n}", cut(11))).find(free).unwrap_or_default())
    }
}

/// A table as a map, with what it has from the start. `swept`: a process takes out what has timed
/// out.
pub(super) fn of_table(table: &Table, entries: &[(Entry, bool)], swept: bool) -> Result<Keyed, String> {
    let times = u32::from(table.timeout_ns > 0) * USED;
    let kind = match (table.kind, table.timeout_ns) {
        (TableKind::Exact, timeout) if timeout == 0 || swept => Kind::Hash,
        (TableKind::Exact, _) => Kind::LruHash,
        (TableKind::Prefix, 0) => Kind::LongestPrefix,
        (TableKind::Prefix, _) => return Err(format!("table '{}': prefixes that time out, for which the kernel has no map", table.name)),
        (TableKind::Ternary, _) => return Err(format!("table '{}': a ternary table, for which the kernel has no map", table.name)),
        (TableKind::Range, _) => return Err(format!("table '{}': a table of ranges, for which the kernel has no map", table.name)),
    };
    let value = |(e, stays): &(Entry, bool)| {
        let used = if *stays { FOR_EVER } else { 0 };
        let used = if times > 0 { used.to_le_bytes().to_vec() } else { Vec::new() };
        let mut value = [&used[..], &e.value].concat();
        value.resize(value_size(table) as usize, 0);
        value
    };
    Ok(Keyed {
        kind,
        key_size: key_size(table),
        value_size: value_size(table),
        capacity: table.capacity.max(1),
        entries: entries.iter().map(|e| (key_of(table, &e.0), value(e))).collect(),
    })
}

/// Bytes of a key in the map.
pub(super) fn key_size(table: &Table) -> u32 {
    match table.kind {
        TableKind::Prefix => 4 + u32::from(table.key_bits) / 8,
        _ => 8 * u32::from(table.key_bits).div_ceil(64),
    }
}

fn value_size(table: &Table) -> u32 {
    (table.value_bytes.max(1) + u32::from(table.timeout_ns > 0) * USED).next_multiple_of(8)
}

/// The key of an entry as bytes of the map.
pub fn key_of(table: &Table, entry: &Entry) -> Vec<u8> {
    let limbs: Vec<u8> = entry.key.iter().flat_map(|limb| limb.to_le_bytes()).collect();
    if table.kind != TableKind::Prefix {
        return limbs;
    }
    let length: u32 = entry.mask.iter().map(|limb| limb.count_ones()).sum();
    let bytes = limbs[..usize::from(table.key_bits) / 8].iter().rev().copied();
    length.to_le_bytes().into_iter().chain(bytes).collect()
}
