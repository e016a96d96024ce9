//! Entries in the program's text that never match, as one that goes before them takes all that they
//! would.
//!
//! Left out: entries that several others cover together.

use super::cover::{Set, all_cover};
use crate::hir::{Program, Table};
use frontends::diagnostics::Diagnostic;
use num_bigint::BigInt;

pub(super) fn warnings(program: &Program) -> Vec<Diagnostic> {
    program.tables.iter().flat_map(|table| of(program, table)).collect()
}

fn of(program: &Program, table: &Table) -> Vec<Diagnostic> {
    let widths: Vec<u32> = table.keys.iter().map(|key| program.underlying(&key.value.ty).width().unwrap_or(0)).collect();
    let sets: Vec<Vec<Option<Set>>> = table.entries.iter().map(|entry| entry.keys.iter().map(Set::of).collect()).collect();
    let ordered = table.keys.iter().any(|key| matches!(&*key.kind, "ternary" | "range" | "optional"));
    let covers = |a: usize, b: usize| all_cover(&sets[a], &sets[b], &widths);
    let mut all = Vec::new();
    for n in 0..table.entries.len() {
        // Without masks the longest prefix goes first, and of equal entries the first one.
        let before = |m: &usize| match ordered {
            true => goes_before(table, *m, n) && covers(*m, n),
            false => *m < n && covers(*m, n) && covers(n, *m),
        };
        let Some(by) = (0..table.entries.len()).filter(|m| *m != n).find(before) else { continue };
        let warning = Diagnostic::new(table.entries[n].span, format!("this entry of the table `{}` never matches", table.public.0));
        all.push(warning.note(table.entries[by].span, "this entry goes before it, and takes all that it would"));
    }
    all
}

/// Whether an entry is looked at before another: by the priorities that are given, else by the
/// order.
fn goes_before(table: &Table, a: usize, b: usize) -> bool {
    let rank = |n: usize| match &table.entries[n].priority {
        Some(p) if table.smallest_wins => -p,
        Some(p) => p.clone(),
        None if table.entries.iter().any(|e| e.priority.is_some()) => BigInt::from(i64::MIN),
        None => BigInt::ZERO,
    };
    let (first, second) = (rank(a), rank(b));
    first > second || first == second && a < b
}
