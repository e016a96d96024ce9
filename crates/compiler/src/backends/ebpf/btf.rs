//! Maps in BTF, the types of eBPF: section `.maps` as libbpf reads it, where each map is a variable of a structure whose members say what it is.
//!
//! ```text
//! struct { int (*type)[KIND]; int (*key_size)[N]; int (*value_size)[N]; int (*max_entries)[N]; int (*map_flags)[N]; } name;
//! ```
//!
//! Source: the kernel's Documentation/bpf/btf.rst; libbpf's description of maps. Leaves out the types of functions, keys and values.

use super::maps::{Keyed, Kind};

/// What BTF begins with.
const MAGIC: u16 = 0xeb9f;
const HEADER: u32 = 24;
/// Kinds of types.
const INT: u32 = 1;
const PTR: u32 = 2;
const ARRAY: u32 = 3;
const STRUCT: u32 = 4;
const VAR: u32 = 14;
const DATASEC: u32 = 15;
/// Bytes of a pointer.
const POINTER: u32 = 8;
/// Entries are made when they are entered, as a trie wants it.
const NO_PREALLOC: u32 = 1;

/// Bytes of a map's variable in `.maps`.
pub(super) const VARIABLE: u32 = 5 * POINTER;

/// The section `.BTF` for maps by their names.
pub(super) fn section(maps: &[(&str, &Keyed)]) -> Vec<u8> {
    let mut btf = Btf { types: Vec::new(), strings: vec![0], count: 0 };
    let name = btf.string("int");
    // Signed, of 32 bits.
    let int = btf.add(name, INT, 0, 4, &[1 << 24 | 32]);
    let variables: Vec<u32> = maps.iter().map(|(name, keyed)| btf.map(int, name, keyed)).collect();
    let places: Vec<u32> = variables.iter().zip(0..).flat_map(|(variable, n)| [*variable, n * VARIABLE, VARIABLE]).collect();
    let name = btf.string(".maps");
    btf.add(name, DATASEC, variables.len() as u32, variables.len() as u32 * VARIABLE, &places);
    btf.bytes()
}

struct Btf {
    types: Vec<u8>,
    strings: Vec<u8>,
    count: u32,
}

impl Btf {
    fn string(&mut self, text: &str) -> u32 {
        let at = self.strings.len() as u32;
        self.strings.extend_from_slice(text.as_bytes());
        self.strings.push(0);
        at
    }

    /// A type with so many members, its size or the type that it is of, and what follows; its number.
    fn add(&mut self, name: u32, kind: u32, members: u32, size: u32, more: &[u32]) -> u32 {
        let words = [name, kind << 24 | members, size];
        self.types.extend(words.iter().chain(more).flat_map(|word| word.to_le_bytes()));
        self.count += 1;
        self.count
    }

    fn map(&mut self, int: u32, name: &str, keyed: &Keyed) -> u32 {
        let flags = if keyed.kind == Kind::LongestPrefix { NO_PREALLOC } else { 0 };
        let numbers = [
            ("type", keyed.kind as u32),
            ("key_size", keyed.key_size),
            ("value_size", keyed.value_size),
            ("max_entries", keyed.capacity),
            ("map_flags", flags),
        ];
        let mut members = Vec::new();
        for (n, (name, number)) in (0..).zip(numbers) {
            let array = self.add(0, ARRAY, 0, 0, &[int, int, number]);
            let pointer = self.add(0, PTR, 0, array, &[]);
            members.extend([self.string(name), pointer, n * POINTER * 8]);
        }
        let structure = self.add(0, STRUCT, numbers.len() as u32, VARIABLE, &members);
        let name = self.string(name);
        // Global.
        self.add(name, VAR, 0, structure, &[1])
    }

    fn bytes(self) -> Vec<u8> {
        let (types, strings) = (self.types.len() as u32, self.strings.len() as u32);
        let mut bytes = MAGIC.to_le_bytes().to_vec();
        bytes.extend([1, 0]);
        bytes.extend([HEADER, 0, types, types, strings].iter().flat_map(|word| word.to_le_bytes()));
        [bytes, self.types, self.strings].concat()
    }
}
