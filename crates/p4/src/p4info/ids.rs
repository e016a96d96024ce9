//! Numbers and short names of what the control plane knows.
//!
//! A number has the kind in its high 8 bits and, in the others, what `@id` says or a hash of the
//! whole name; where numbers meet, the next free one is taken, in the order of the names. A short
//! name is the shortest end of a name, in whole parts, that no other name has.
//!
//! Source: P4Runtime specification 1.4, "ID allocation for P4Info objects"; the hash is Bob
//! Jenkins' one-at-a-time.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// A kind of objects, by the number that is the prefix of its ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Kind {
    Action = 0x01,
    Table = 0x02,
    ValueSet = 0x03,
    Header = 0x04,
    Profile = 0x11,
    Counter = 0x12,
    DirectCounter = 0x13,
    Meter = 0x14,
    DirectMeter = 0x15,
    Register = 0x16,
    Digest = 0x17,
}

#[derive(Default)]
pub(super) struct Symbols {
    /// Names, with the number that the program gives.
    wanted: BTreeMap<(Kind, String), Option<u32>>,
    ids: HashMap<(Kind, String), u32>,
    /// How many names end so.
    ends: HashMap<String, u32>,
}

impl Symbols {
    pub fn add(&mut self, kind: Kind, name: &str, id: Option<u32>) {
        self.wanted.entry((kind, name.to_owned())).or_insert(id);
    }

    /// Gives numbers to all that was added.
    pub fn assign(&mut self) {
        let mut taken: HashSet<u32> = HashSet::new();
        for ((kind, name), id) in &self.wanted {
            let Some(id) = id.map(|id| (*kind as u32) << 24 | id & 0xff_ffff) else { continue };
            if taken.insert(id) {
                self.ids.insert((*kind, name.clone()), id);
            }
        }
        for (kind, name) in self.wanted.keys() {
            if self.ids.contains_key(&(*kind, name.clone())) {
                continue;
            }
            let mut low = hash(name.as_bytes()) & 0xff_ffff;
            while !taken.insert((*kind as u32) << 24 | low) {
                low = (low + 1) & 0xff_ffff;
            }
            self.ids.insert((*kind, name.clone()), (*kind as u32) << 24 | low);
        }
        let names: BTreeSet<&String> = self.wanted.keys().map(|(_, name)| name).collect();
        for name in names {
            for end in ends(name) {
                *self.ends.entry(end.to_owned()).or_default() += 1;
            }
        }
    }

    pub fn id(&self, kind: Kind, name: &str) -> u32 {
        self.ids.get(&(kind, name.to_owned())).copied().unwrap_or(0)
    }

    pub fn alias<'a>(&self, name: &'a str) -> &'a str {
        ends(name).find(|end| self.ends.get(*end).is_none_or(|n| *n < 2)).unwrap_or(name)
    }
}

/// The ends of a name in whole parts, the shortest first.
fn ends(name: &str) -> impl Iterator<Item = &str> {
    let dots = name.rmatch_indices('.').map(|(at, _)| &name[at + 1..]);
    dots.chain(std::iter::once(name))
}

fn hash(bytes: &[u8]) -> u32 {
    let mut hash = 0u32;
    for byte in bytes {
        hash = hash.wrapping_add(u32::from(*byte));
        hash = hash.wrapping_add(hash << 10);
        hash ^= hash >> 6;
    }
    hash = hash.wrapping_add(hash << 3);
    hash ^= hash >> 11;
    hash.wrapping_add(hash << 15)
}

/// Numbers of keys, parameters or fields: what `@id` says, and for the others their place or the
/// next free number.
pub(super) fn places(given: &[Option<u32>]) -> Vec<u32> {
    let mut taken: HashSet<u32> = given.iter().flatten().copied().collect();
    let mut index = 1;
    let mut out = Vec::new();
    for id in given {
        match id {
            Some(id) => {
                out.push(*id);
                index += 1;
            }
            None => {
                while !taken.insert(index) {
                    index += 1;
                }
                out.push(index);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_numbers_and_short_names() {
        let mut symbols = Symbols::default();
        symbols.add(Kind::Action, "NoAction", None);
        symbols.add(Kind::Table, "a.b.t", None);
        symbols.add(Kind::Table, "a.c.t", Some(7));
        symbols.assign();
        assert_eq!(symbols.id(Kind::Action, "NoAction"), 21_257_015);
        assert_eq!(symbols.id(Kind::Table, "a.c.t"), 0x0200_0007);
        assert_eq!((symbols.alias("NoAction"), symbols.alias("a.b.t"), symbols.alias("a.c.t")), ("NoAction", "b.t", "c.t"));
        assert_eq!(places(&[None, Some(1), None]), [2, 1, 3]);
    }
}
