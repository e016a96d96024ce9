//! Key cache: what prefetch slices leave for the lookups that they prefetch for, keys with their
//! hashes, so that a lookup whose key is one of these need not hash it again.
//!
//! For each packet under way there is a place for each lookup in a table that the packet may come
//! to; lookups of which it comes to one at most share theirs. What is in a place is right for its
//! table whoever left it there, a key and its hash, so that it does not matter what else a slice
//! got wrong, nor which packet it ran for.
//!
//! Leaves out: where in the table a search begins, for tables grow between slice and lookup.

use super::prefetch;
use crate::mir::cfg::Cfg;
use crate::mir::{Func, Op, Value};
use netil::module::{Table, TableKind};
use std::collections::{BTreeMap, HashMap};

/// A member's places.
#[derive(Default)]
pub(crate) struct KeyCache {
    /// By lookup.
    pub of: HashMap<Value, u32>,
    /// By place the table.
    pub tables: Vec<u32>,
}

/// The places of a slice's lookups in large exact tables, numbered from `first` on.
pub(crate) fn places(slice: &Func, declarations: &[Table], large: usize, first: u32) -> KeyCache {
    let counted = |table: &u32| {
        let table = declarations.get(*table as usize);
        table.is_some_and(|table| table.kind == TableKind::Exact && prefetch::is_large(table, large))
    };
    let mut nth: Vec<(Value, u32, u32)> = Vec::new();
    let cfg = Cfg::new(slice);
    let mut behind: Vec<BTreeMap<u32, u32>> = vec![BTreeMap::new(); slice.blocks.len()];
    for block in &cfg.order {
        let mut before = most(cfg.predecessors[block.0 as usize].iter().map(|from| &behind[from.0 as usize]));
        for v in &slice.block(*block).ops {
            if let Some(Op::Helper(helper, ..)) = slice.op(*v)
                && let Some(table) = helper.looks_up().filter(counted)
            {
                let count = before.entry(table).or_default();
                nth.push((*v, table, *count));
                *count += 1;
            }
        }
        behind[block.0 as usize] = before;
    }
    let all: BTreeMap<(u32, u32), u32> = BTreeMap::from_iter(nth.iter().map(|(_, table, n)| ((*table, *n), 0)));
    let numbers: BTreeMap<(u32, u32), u32> = all.into_keys().zip(first..).collect();
    KeyCache {
        of: nth.iter().map(|(v, table, n)| (*v, numbers[&(*table, *n)])).collect(),
        tables: numbers.into_keys().map(|(table, _)| table).collect(),
    }
}

/// Lookups by table that a packet may have come to.
fn most<'a>(ways: impl Iterator<Item = &'a BTreeMap<u32, u32>>) -> BTreeMap<u32, u32> {
    let mut most = BTreeMap::new();
    for (table, count) in ways.flatten() {
        let greatest = most.entry(*table).or_insert(0);
        *greatest = (*count).max(*greatest);
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::passes;
    use netil::asm::assemble;
    use netil::module::HandlerKind;

    const HEAD: &str =
        "segment .tables\n.table a, exact, 16, 4, 100000\n.table b, exact, 16, 4, 100000\n.table c, exact, 16, 4, 10\nends\n";

    /// Which tables the places of a program's own handler are of, from number 7 on, and the places
    /// of its lookups in their order.
    fn kept(code: &str) -> (Vec<u32>, Vec<u32>) {
        let text = format!("{HEAD}segment .push\n.local 0, entry a\n.local 1, entry b\n.local 2, entry c\npop\n{code}\nret 1\nends\n");
        let program = netil::verify(assemble(&text, "").unwrap()).unwrap();
        let (func, _) = crate::optimised(&program, HandlerKind::Push, &passes::Options::default()).unwrap().unwrap();
        let kept = places(&func, &program.module().tables, prefetch::LARGE, 7);
        let mut of: Vec<(Value, u32)> = kept.of.into_iter().collect();
        of.sort_unstable_by_key(|(v, _)| v.0);
        (kept.tables, of.into_iter().map(|(_, place)| place).collect())
    }

    fn find(table: &str, local: u32, at: u32) -> String {
        format!("push {at}\nupload.16\nw.trunc 32, 16\nt.find {table}\nlocstore {local}\n")
    }

    #[test]
    fn lookups_that_follow_each_other_have_places_of_their_own() {
        let code = [find("a", 0, 0), find("b", 1, 2), find("c", 2, 4), find("a", 0, 6)].concat();
        assert_eq!(kept(&code), (vec![0, 0, 1], vec![7, 9, 8]));
    }

    #[test]
    fn lookups_on_different_paths_share_places() {
        let code = format!(
            "push 0\nupload.8\npush 0\njcmp.eq other\n{}jump on\nother:\n{}on:\n{}",
            find("a", 0, 1),
            find("a", 0, 3),
            find("a", 0, 5)
        );
        let (tables, mut of) = kept(&code);
        of.sort_unstable();
        assert_eq!((tables, of), (vec![0, 0], vec![7, 7, 8]));
    }
}
