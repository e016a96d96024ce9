//! Routes from files: the argument `FILE NAME [DEVICE …]` of elements that have routes.
//!
//! Which formats there are is the business of who reads them ([`Classes::routes`]). Behind the file's name stand the devices of outputs 0, 1 … as the file names
//! them; without, its numbers are those of outputs. Of routes to one prefix the last counts; those of files count behind the other
//! arguments.

use super::Classes;
use super::arguments;
use crate::c;
use crate::click::config::unquote;
use netil::module::{Entry, TableKind};
use std::collections::HashMap;

/// The output of routes that lead nowhere: there is never one of that number, and what is sent there is dropped.
const NOWHERE: u32 = u32::MAX;
/// Syntaxes of routes.
const SYNTAXES: [&str; 3] = ["IP_ROUTES", "RANGE_ROUTES", "IP6_ROUTES"];

/// The arguments that name files, taken out of the others.
pub(super) fn take(syntax: &str, arguments: &mut Vec<String>) -> Vec<String> {
    let file = |argument: &String| arguments::keyword(argument).filter(|(word, _)| *word == "FILE").map(|(_, text)| text.to_owned());
    if !SYNTAXES.contains(&syntax) {
        return Vec::new();
    }
    let named = arguments.iter().filter_map(file).collect();
    arguments.retain(|argument| file(argument).is_none());
    named
}

/// The entries of a file for a table.
pub(super) fn read(argument: &str, table: &c::Table, outputs: u32, classes: &dyn Classes) -> Result<Vec<Entry>, String> {
    let text = unquote(argument);
    let text = String::from_utf8_lossy(&text);
    let mut words = text.split_ascii_whitespace();
    let name = words.next().ok_or("`FILE`: a name is missing")?;
    let devices: Vec<&str> = words.collect();
    let key_bits = 8 * table.key.size() as u16;
    let mut entries = classes.routes(name, &devices, key_bits, table.value.size() as usize)?;
    let port_at = table.key.size() as usize;
    for entry in &mut entries {
        let port = entry.value.get(port_at..port_at + 4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_le_bytes);
        if port.is_none_or(|port| port >= outputs && port != NOWHERE) {
            return Err(format!("{name}: a route to output {}, which there is not", port.unwrap_or(0)));
        }
        if table.kind == TableKind::Range {
            entry.priority = entry.mask.iter().map(|limb| limb.count_ones()).sum();
            entry.mask = entry.key.iter().zip(&entry.mask).map(|(key, mask)| key | !mask & low(key_bits)).collect();
        }
    }
    Ok(entries)
}

/// The bits of a limb that keys of so many bits have.
fn low(bits: u16) -> u64 {
    if bits < 64 { (1 << bits) - 1 } else { u64::MAX }
}

/// The last entry of each key and mask, in the order of these.
pub(super) fn last_of_each(mut all: Vec<Entry>) -> Vec<Entry> {
    let mut last = HashMap::with_capacity(all.len());
    for (n, entry) in all.iter().enumerate() {
        last.insert((&entry.key, &entry.mask), n);
    }
    if last.len() < all.len() {
        let mut kept = vec![false; all.len()];
        last.into_values().for_each(|n| kept[n] = true);
        let mut kept = kept.into_iter();
        all.retain(|_| kept.next().unwrap_or(false));
    }
    all
}
