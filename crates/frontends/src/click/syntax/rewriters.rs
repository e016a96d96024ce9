//! Which rewriters' mappings ICMPRewriter looks into: `MAP …`, each `ELEMENT` or `ELEMENT:OUTPUT`.
//!
//! For each map there are the tables of that element, and one function asks them all in turn. What
//! the class has to say of a mapping that was found is its own functions' business: `take_flow`,
//! `take_quadruple`, `take_source` and `take_destination` get it and the first output.
//!
//! Source: Click's manual of ICMPRewriter.

use super::request::{Generated, Request};
use super::{ArgumentError, integer};
use crate::click::config::keyword;
use std::fmt::Write as _;

/// The class whose mappings are of addresses alone; all others' are of flows.
const OF_ADDRESSES: &str = "IPAddrRewriter";

/// The class whose flows have no protocol.
const OF_ANY_PROTOCOL: &str = "UDPRewriter";

/// The tables of all kinds of rewriters, with what they are asked for and what takes the answer.
const FLOWS: [(&str, &str, &str); 2] = [("brief", "replies", "take_flow"), ("lasting", "replies", "take_flow")];
const QUADRUPLES: [(&str, &str, &str); 2] = [("brief", "quadruple", "take_quadruple"), ("lasting", "quadruple", "take_quadruple")];
const ADDRESSES: [(&str, &str, &str); 2] = [("inner", "replies.saddr", "take_source"), ("outer", "replies.daddr", "take_destination")];

/// Writes the tables and `static bool NAME_find(void)`.
pub(super) fn write(request: &Request<'_>) -> Result<Generated, Vec<ArgumentError>> {
    let maps = maps(request).map_err(|wrong| vec![wrong])?;
    let name = request.name;
    let (mut tables, mut asked, mut seen) = (String::new(), String::new(), Vec::new());
    for (element, first) in &maps {
        if seen.contains(&element) {
            continue;
        }
        let n = seen.len();
        seen.push(element);
        let (key, value, those) = match request.names.class(element) {
            Some(OF_ADDRESSES) => ("be32", "struct mapped", ADDRESSES),
            Some(OF_ANY_PROTOCOL) => ("struct flow", "struct mapping", QUADRUPLES),
            _ => ("struct flow", "struct mapping", FLOWS),
        };
        for (table, wanted, take) in those {
            let _ = writeln!(tables, "TABLE_EXACT({name}_{table}_{n}, {key}, {value}, 1, 0);");
            let _ = writeln!(tables, "SCOPE({name}_{table}_{n}, REGIONAL(\"{element}\", {table}));");
            let _ = writeln!(asked, "    if ({take}(table_peek({name}_{table}_{n}, &{wanted}), {first}))\n        return true;");
        }
    }
    let says = i32::from(maps.iter().any(|(_, first)| *first >= 0));
    Ok(Generated::source(format!(
        "enum {{ {name}_say_outputs = {says} }};\n{tables}static bool {name}_find(void)\n{{\n{asked}    return false;\n}}\n"
    )))
}

/// Elements, and what their outputs are counted from; -1: it makes no difference.
fn maps(request: &Request<'_>) -> Result<Vec<(String, i64)>, ArgumentError> {
    let [argument] = request.arguments else { return Err(ArgumentError::new("expected MAPS: the names of rewriters")) };
    let list = keyword(argument).filter(|(word, _)| *word == "MAPS").map_or(argument.as_str(), |(_, list)| list);
    let words = Request::words(list);
    if words.is_empty() {
        return Err(ArgumentError::new("no IP rewriters supplied"));
    }
    words.into_iter().map(|word| map(request, &word)).collect()
}

fn map(request: &Request<'_>, word: &str) -> Result<(String, i64), ArgumentError> {
    let (element, first) = match word.split_once(':') {
        Some((element, first)) => (element, integer::parse(first, 0).ok().and_then(|first| u32::try_from(first).ok()).map(i64::from)),
        None => (word, Some(-1)),
    };
    let first = first
        .filter(|first| *first < i64::from(request.outputs))
        .ok_or_else(|| ArgumentError::new(format!("`{word}`: there is no such output")))?;
    match request.names.class(element) {
        Some(_) => Ok((element.to_owned(), first)),
        None => Err(ArgumentError::new(format!("`{word}` is no IP rewriter: there is no such element"))),
    }
}
