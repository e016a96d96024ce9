//! Entries of a file that never match, as one with a higher priority takes all that they would: one
//! of the file, or one of the program.
//!
//! Left out: entries that several others cover together.

use super::SwitchError;
use super::{Switch, Warnings, stf};
use frontends::diagnostics::{Diagnostic, Sources, Span};
use netil::module::Entry;
use std::collections::HashMap;

/// An entry as the module has it, and the line that it comes from, if that is not the program.
struct Known {
    parts: Vec<Entry>,
    line: Option<Span>,
}

/// Enters a file's entries. What of them never matches.
///
/// # Errors
/// The first line that makes no sense.
pub fn check(switch: &mut Switch, name: &str, text: &str) -> Result<Warnings, SwitchError> {
    let mut lines: HashMap<(usize, usize), Span> = HashMap::new();
    let mut start = 0;
    for (n, line) in text.split('\n').enumerate() {
        let before: HashMap<usize, usize> = switch.handles.iter().map(|(table, all)| (*table, all.len())).collect();
        stf::command(switch, line).map_err(|why| why.at(format_args!("line {}", n + 1)))?;
        let words = line.split('#').next().unwrap_or_default();
        let at = start + (words.len() - words.trim_start().len()) as u32;
        let span = Span { start: at, end: at + words.trim().len() as u32 };
        for (table, all) in &switch.handles {
            let new = before.get(table).copied().unwrap_or(0)..all.len();
            lines.extend(new.map(|handle| ((*table, handle), span)));
        }
        start += line.len() as u32 + 1;
    }
    let mut warnings = Vec::new();
    for (at, meta) in switch.pipeline.tables.iter().enumerate().filter(|(_, meta)| meta.ternary) {
        let own = meta.table.and_then(|number| switch.pipeline.module.tables.get(number as usize)).map_or(&[][..], |t| &t.entries);
        let mut all: Vec<Known> = own.iter().map(|entry| Known { parts: vec![entry.clone()], line: None }).collect();
        let entered = switch.handles.get(&at).map_or(&[][..], Vec::as_slice).iter().enumerate();
        let entered = entered.filter_map(|(handle, parts)| Some((parts.clone()?, lines.get(&(at, handle)).copied())));
        all.extend(entered.map(|(parts, line)| Known { parts, line }));
        warnings.extend(of_table(&meta.name, &all));
    }
    warnings.sort_by_key(|warning| warning.span.start);
    Ok(Warnings::of(Sources::of(name, text), warnings))
}

/// Of entries under each mask the one with the highest priority.
type Best = HashMap<Vec<u64>, HashMap<Vec<u64>, (u32, usize)>>;

fn of_table(name: &str, all: &[Known]) -> Vec<Diagnostic> {
    let mut best = Best::new();
    for (n, known) in all.iter().enumerate() {
        for part in &known.parts {
            let slot = best.entry(part.mask.to_vec()).or_default().entry(under(&part.key, &part.mask)).or_insert((part.priority, n));
            if part.priority > slot.0 {
                *slot = (part.priority, n);
            }
        }
    }
    let mut warnings = Vec::new();
    for known in all {
        let Some(span) = known.line else { continue };
        let by: Option<Vec<usize>> = known.parts.iter().map(|part| covering(&best, part)).collect();
        let Some(first) = by.and_then(|by| by.first().copied()) else { continue };
        let warning = Diagnostic::new(span, format!("this entry of {name} never matches"));
        warnings.push(match all[first].line {
            Some(line) => warning.note(line, "this entry has a higher priority, and takes all that it would"),
            None => warning.help("an entry of the program has a higher priority, and takes all that it would"),
        });
    }
    warnings
}

/// An entry of higher priority that takes all that this one would.
fn covering(best: &Best, part: &Entry) -> Option<usize> {
    let wider = |mask: &[u64]| mask.iter().zip(&part.mask).all(|(a, b)| a & !b == 0);
    let found = best.iter().filter(|(mask, _)| wider(mask)).filter_map(|(mask, keys)| keys.get(&under(&part.key, mask)));
    found.filter(|(priority, _)| *priority > part.priority).map(|(_, n)| *n).min()
}

fn under(key: &[u64], mask: &[u64]) -> Vec<u64> {
    key.iter().zip(mask).map(|(k, m)| k & m).collect()
}
