//! Units of `stringmatching` and `regexp` in C: what they were loaded with as tables, the image
//! that they share, and their operations.
//!
//! The init handler has run when the text is made, so a unit's strings and expressions are known.
//! Leaves out all other coprocessors.

use super::array;
use super::automaton::{self, Automaton, MOST_NODES, NODE_BYTES};
use super::expression::{self, Walk, Walks};
use crate::backends::c::Unsupported;
use crate::backends::start::{Loaded, Patterns};
use netil::exec::State;
use std::fmt::Write as _;

/// Whether a coprocessor searches packets by automata.
pub(super) fn is_known(name: &str) -> bool {
    automaton::is_known(name) || expression::is_known(name)
}

/// The function that does an operation of a unit.
pub(super) fn function(name: &str) -> &'static str {
    if expression::is_known(name) { "nv_express" } else { "nv_invoke" }
}

/// What register 0 picks of a unit.
#[derive(Debug)]
enum Searched {
    Strings(Vec<Automaton>),
    Expressions(Vec<Walks>),
}

/// The units of an element, of which those have groups or expressions that were loaded.
#[derive(Debug, Default)]
pub(super) struct Units {
    /// By coprocessor of the module, if it is one: none if it was not loaded.
    units: Vec<(usize, [u32; 4], Option<Searched>)>,
}

impl Units {
    /// What was loaded, in the order of the module's coprocessors, with their registers.
    ///
    /// # Errors
    /// An expression's automaton is too large.
    pub(super) fn new(program: &netil::Verified, state: &State, loaded: &[Loaded]) -> Result<Self, Unsupported> {
        let all = program.module().coprocessors.iter().enumerate().filter(|(_, unit)| is_known(&unit.name));
        let unit = |((n, _), loaded): ((usize, _), &Loaded)| {
            let mut registers = [0; 4];
            registers.copy_from_slice(&state.coprocessors[n].registers[..4]);
            Ok((n, registers, loaded.patterns().map(|patterns| made(&patterns)).transpose()?))
        };
        all.zip(loaded).map(unit).collect::<Result<_, _>>().map(|units| Self { units })
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    fn searched(&self) -> impl Iterator<Item = &Searched> {
        self.units.iter().filter_map(|(.., searched)| searched.as_ref())
    }

    /// How many nodes its automata have.
    pub(super) fn nodes(&self) -> usize {
        let nodes = |searched: &Searched| match searched {
            Searched::Strings(all) => all.iter().map(Automaton::len).sum::<usize>(),
            Searched::Expressions(all) => all.iter().map(Walks::len).sum(),
        };
        self.searched().map(nodes).sum()
    }

    /// Its part of the image.
    pub(super) fn image(&self) -> Vec<u8> {
        let image = |searched: &Searched| match searched {
            Searched::Strings(all) => all.iter().flat_map(Automaton::image).collect::<Vec<u8>>(),
            Searched::Expressions(all) => all.iter().flat_map(Walks::image).collect(),
        };
        self.searched().flat_map(image).collect()
    }

    /// Its tables; the image begins at that node.
    pub(super) fn text(&self, element: usize, root: usize) -> String {
        let (mut text, mut root) = (String::new(), root);
        for (n, registers, searched) in &self.units {
            let name = format!("{element}_{n}");
            let (tables, of, count) = match searched {
                Some(Searched::Strings(all)) => (groups(all, &name, &mut root), "groups", all.len()),
                Some(Searched::Expressions(all)) => (expressions(all, &name, &mut root), "expressions", all.len()),
                None => (String::new(), "groups", 0),
            };
            text += &tables;
            let pointer = if count == 0 { String::new() } else { format!(".{of} = nv_{of}{name}, ") };
            let [a, b, c, d] = registers;
            let loaded = u32::from(searched.is_some());
            let _ = writeln!(
                text,
                "static struct nv_unit nv_unit{name} = {{ {pointer}.count = {count}, .loaded = {loaded}, .registers = {{ {a}u, {b}u, {c}u, {d}u }} }};"
            );
        }
        text
    }
}

fn made(patterns: &Patterns) -> Result<Searched, Unsupported> {
    match patterns {
        Patterns::Strings(groups) => Ok(Searched::Strings(groups.iter().map(|group| Automaton::new(group)).collect())),
        Patterns::Expressions(all) => all.iter().map(Walks::new).collect::<Result<_, _>>().map(Searched::Expressions),
    }
}

/// The groups of a unit, if it has some, whose automata begin at a node of the image; that moves
/// behind them.
fn groups(all: &[Automaton], name: &str, root: &mut usize) -> String {
    let (mut text, mut rows) = (String::new(), String::new());
    for (g, automaton) in all.iter().enumerate() {
        let of = format!("{name}_{g}");
        text += &tables(automaton, &of);
        let _ = write!(rows, " {{ {root}, {}, {}, nv_ends{of}, nv_strings{of} }},", automaton.first, automaton.price);
        *root += automaton.len();
    }
    let _ = if rows.is_empty() { Ok(()) } else { writeln!(text, "static const struct nv_group nv_groups{name}[] = {{{rows} }};") };
    text
}

/// The expressions of a unit, in the same way.
fn expressions(all: &[Walks], name: &str, root: &mut usize) -> String {
    let (mut text, mut rows) = (String::new(), String::new());
    for (n, walks) in all.iter().enumerate() {
        let of = format!("{name}_{n}");
        let mut side = |walk: &Walk, which: &str| {
            let ends: Vec<u8> =
                walk.ends.chunks(8).map(|bits| bits.iter().zip(0..).fold(0, |byte, (bit, n)| byte | u8::from(*bit) << n)).collect();
            text += &array(&format!("static const uint8_t nv_ends{of}_{which}"), &ends);
            let row = format!("{{ {root}, {}, nv_ends{of}_{which} }}", walk.dead);
            *root += walk.len();
            row
        };
        let (forward, back) = (side(&walks.forward, "f"), side(&walks.back, "b"));
        let starts: Vec<String> = walks.back.starts.iter().map(u32::to_string).collect();
        let _ = writeln!(text, "static const uint32_t nv_starts{of}[257] = {{ {} }};", starts.join(", "));
        let _ = write!(rows, " {{ {forward}, {back}, {}, {}, nv_starts{of} }},", walks.forward.starts[0], walks.price);
    }
    let _ =
        if rows.is_empty() { Ok(()) } else { writeln!(text, "static const struct nv_expression nv_expressions{name}[] = {{{rows} }};") };
    text
}

/// The ends and strings of a group.
fn tables(automaton: &Automaton, of: &str) -> String {
    let mut text = String::new();
    let mut strings = String::new();
    for (n, (number, len, bytes)) in automaton.strings.iter().enumerate() {
        let at = match bytes {
            None => "0".to_owned(),
            Some(bytes) => {
                text += &array(&format!("static const uint8_t nv_text{of}_{n}"), bytes);
                format!("nv_text{of}_{n}")
            }
        };
        let _ = write!(strings, "\n    {{ {number}u, {len}, {at} }},");
    }
    let _ = writeln!(text, "static const struct nv_string nv_strings{of}[] = {{{strings}\n    {{ 0, 0, 0 }} }};");
    let mut ends = String::new();
    for end in &automaton.ends {
        let _ = write!(ends, "\n    {{ {}, {}, {}u }},", end.own.0, end.own.1, end.shorter);
    }
    text + &format!("static const struct nv_ends nv_ends{of}[] = {{{ends}\n    {{ 0, 0, 0 }} }};\n")
}

/// Why so many nodes are too many.
pub(super) fn checked(nodes: usize) -> Result<(), Unsupported> {
    if nodes <= MOST_NODES {
        return Ok(());
    }
    Err(Unsupported(format!(
        "strings and expressions whose automata have {nodes} nodes, {} bytes of low-latency memory; {MOST_NODES} nodes, {} bytes, are the most: search for fewer or shorter ones",
        nodes * NODE_BYTES,
        MOST_NODES * NODE_BYTES
    )))
}
