//! Units of `stringmatching` in C: what they were loaded with as tables, the image that they share, and their operations.
//!
//! The init handler has run when the text is made, so a unit's strings are known. Leaves out all other coprocessors.

use super::array;
use super::automaton::{Automaton, MOST_NODES, NODE_BYTES};
use crate::backends::c::Unsupported;
use crate::backends::start::Loaded;
use netil::copro::patterns::Text;
use netil::exec::State;
use std::fmt::Write as _;

/// The units of an element, of which those have groups that were loaded.
#[derive(Debug, Default)]
pub(super) struct Units {
    /// By coprocessor of the module, if it is one: none if it was not loaded.
    units: Vec<(usize, [u32; 4], Option<Vec<Automaton>>)>,
}

impl Units {
    /// What was loaded, in the order of the module's coprocessors, with their registers.
    pub(super) fn new(program: &netil::Verified, state: &State, loaded: &[Loaded]) -> Self {
        let all = program.module().coprocessors.iter().enumerate().filter(|(_, unit)| super::automaton::is_known(&unit.name));
        let made = |groups: &Vec<Vec<Text>>| groups.iter().map(|group| Automaton::new(group)).collect();
        let unit = |((n, _), loaded): ((usize, _), &Loaded)| {
            let mut registers = [0; 4];
            registers.copy_from_slice(&state.coprocessors[n].registers[..4]);
            (n, registers, loaded.groups().as_ref().map(made))
        };
        Self { units: all.zip(loaded).map(unit).collect() }
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    fn automata(&self) -> impl Iterator<Item = &Automaton> {
        self.units.iter().flat_map(|(.., groups)| groups.iter().flatten())
    }

    /// How many nodes its automata have.
    pub(super) fn nodes(&self) -> usize {
        self.automata().map(Automaton::len).sum()
    }

    /// Its part of the image.
    pub(super) fn image(&self) -> Vec<u8> {
        self.automata().flat_map(Automaton::image).collect()
    }

    /// Its tables; the image begins at that node.
    pub(super) fn text(&self, element: usize, root: usize) -> String {
        let (mut text, mut root) = (String::new(), root);
        for (n, registers, groups) in &self.units {
            let name = format!("{element}_{n}");
            let mut rows = String::new();
            for (g, automaton) in groups.iter().flatten().enumerate() {
                let of = format!("{name}_{g}");
                text += &tables(automaton, &of);
                let _ = write!(rows, " {{ {root}, {}, {}, nv_ends{of}, nv_strings{of} }},", automaton.first, automaton.price);
                root += automaton.len();
            }
            let count = groups.as_ref().map_or(0, Vec::len);
            let rows = if count == 0 { " { 0, 0, 0, 0, 0 }," } else { &rows };
            let _ = writeln!(text, "static const struct nv_group nv_groups{name}[] = {{{rows} }};");
            let [a, b, c, d] = registers;
            let loaded = u32::from(groups.is_some());
            let _ = writeln!(
                text,
                "static struct nv_unit nv_unit{name} = {{ .groups = nv_groups{name}, .count = {count}, .loaded = {loaded}, .registers = {{ {a}u, {b}u, {c}u, {d}u }} }};"
            );
        }
        text
    }
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
        "strings whose automaton has {nodes} nodes, {} bytes of low-latency memory; {MOST_NODES} nodes, {} bytes, are the most: search for fewer or shorter ones",
        nodes * NODE_BYTES,
        MOST_NODES * NODE_BYTES
    )))
}
