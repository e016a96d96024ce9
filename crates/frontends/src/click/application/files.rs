//! Routes from files: the argument `FILE NAME [DEVICE …]` of elements that have routes.
//!
//! Which formats there are is the business of who reads them ([`Classes::routes`]). Behind the
//! file's name stand the devices of outputs 0, 1 … as the file names them; without, its numbers are
//! those of outputs. A file stands for its routes, where it is among the arguments: of routes to
//! one prefix the last counts.

use super::Classes;
use crate::c;
use crate::click::config::{keyword, unquote};
use crate::click::syntax::ArgumentError;
use netil::module::{Entry, TableKind};
use std::collections::HashMap;

/// Syntaxes of routes.
const SYNTAXES: [&str; 3] = ["IP_ROUTES", "RANGE_ROUTES", "IP6_ROUTES"];

/// Arguments in a row, and the file that is named behind them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Piece {
    pub arguments: Vec<String>,
    pub file: Option<String>,
}

/// Arguments by the files among them, if the syntax is one of routes; else all of them.
pub(super) fn pieces(syntax: &str, arguments: Vec<String>) -> Vec<Piece> {
    if !SYNTAXES.contains(&syntax) {
        return vec![Piece { arguments, file: None }];
    }
    let (mut pieces, mut last) = (Vec::new(), Piece::default());
    for argument in arguments {
        match keyword(&argument).filter(|(word, _)| *word == "FILE") {
            Some((_, text)) => pieces.push(Piece { file: Some(text.to_owned()), ..std::mem::take(&mut last) }),
            None => last.arguments.push(argument),
        }
    }
    pieces.push(last);
    pieces
}

/// The entries of a file for a table.
pub(super) fn read(argument: &str, table: &c::Table, outputs: u32, classes: &dyn Classes) -> Result<Vec<Entry>, ArgumentError> {
    let text = unquote(argument);
    let text = String::from_utf8_lossy(&text);
    let mut words = text.split_ascii_whitespace();
    let name = words.next().ok_or("`FILE`: a name is missing")?;
    let devices: Vec<&str> = words.collect();
    let key_bits = 8 * table.key.size() as u16;
    let mut entries = classes.routes(name, &devices, outputs, key_bits, table.value.size() as usize)?;
    if table.kind == TableKind::Range {
        for entry in &mut entries {
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
