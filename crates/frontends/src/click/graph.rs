//! A configuration without shorthand: elements of primitive classes, and connections between their
//! ports. Printing it gives a configuration that means the same.

use crate::diagnostics::Span;
use std::collections::{BTreeMap, HashSet};
use std::fmt;

/// A flat configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// The elements, in the order of their declaration; those of compounds come behind those beside
    /// the compounds.
    pub elements: Vec<Element>,
    /// The connections, without repetitions, in the order of their outputs.
    pub connections: Vec<Connection>,
    /// What `require` asks for.
    pub requirements: Vec<String>,
    /// The compounds that were expanded: their names, and those of their classes, empty for a class
    /// without a name.
    pub compounds: BTreeMap<String, String>,
}

/// An element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element {
    /// Its name, with those of the compounds around it: `compound/name`.
    pub name: String,
    /// Its class.
    pub class: String,
    /// Its arguments, parameters put in.
    pub arguments: Vec<String>,
    /// Where it is declared.
    pub span: Span,
}

/// An end of a connection: an element's number, and a port of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Port {
    /// The element's number.
    pub element: usize,
    /// The port.
    pub port: u32,
}

/// A connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection {
    /// The output.
    pub from: Port,
    /// The input.
    pub to: Port,
    /// Where it is said.
    pub span: Span,
}

impl Graph {
    /// How many input ports an element has: one more than the highest that is connected.
    pub fn inputs(&self, element: usize) -> u32 {
        self.connections.iter().filter(|c| c.to.element == element).map(|c| c.to.port + 1).max().unwrap_or(0)
    }

    /// How many output ports, likewise.
    pub fn outputs(&self, element: usize) -> u32 {
        self.connections.iter().filter(|c| c.from.element == element).map(|c| c.from.port + 1).max().unwrap_or(0)
    }

    /// Connections in rows: each goes on with the first connection of port 0 where it enters an
    /// element by port 0. Rows begin with connections that go on with none, so that they are long.
    fn rows(&self) -> Vec<Vec<Connection>> {
        let all: Ordered = self.connections.iter().map(|c| ((c.from, c.to), *c)).collect();
        let entered: HashSet<Port> = self.connections.iter().map(|c| c.to).collect();
        let goes_on = |key: &Key| key.0.port == 0 && entered.contains(&key.0) && next(&all, key.0) == Some(*key);
        let (inner, heads): (Vec<Key>, Vec<Key>) = all.keys().copied().partition(goes_on);
        let mut left = all.clone();
        heads.into_iter().chain(inner).map(|head| row(&all, &mut left, head)).filter(|row| !row.is_empty()).collect()
    }
}

/// Both ends of a connection.
type Key = (Port, Port);
type Ordered = BTreeMap<Key, Connection>;

/// The row that begins with a connection, of those that are left.
fn row(all: &Ordered, left: &mut Ordered, head: Key) -> Vec<Connection> {
    let mut row = Vec::new();
    let mut key = Some(head);
    while let Some(connection) = key.and_then(|key| left.remove(&key)) {
        row.push(connection);
        key = next(all, connection.to);
    }
    row
}

/// The first connection from port 0 of an element that is entered by its port 0.
fn next(all: &Ordered, at: Port) -> Option<Key> {
    let out = Port { port: 0, ..at };
    let range = (out, Port { element: 0, port: 0 })..=(out, Port { element: usize::MAX, port: u32::MAX });
    all.range(range).next().map(|(key, _)| *key).filter(|_| at.port == 0)
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} :: {}", self.name, self.class)?;
        if self.arguments.is_empty() { Ok(()) } else { write!(f, "({})", self.arguments.join(", ")) }
    }
}

impl fmt::Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for what in &self.requirements {
            writeln!(f, "require({what});")?;
        }
        for element in &self.elements {
            writeln!(f, "{element};")?;
        }
        for row in self.rows() {
            write!(f, "{}", self.elements[row[0].from.element].name)?;
            for Connection { from, to, .. } in row {
                let out = if from.port > 0 { format!(" [{}]", from.port) } else { String::new() };
                let input = if to.port > 0 { format!("[{}] ", to.port) } else { String::new() };
                write!(f, "{out} -> {input}{}", self.elements[to.element].name)?;
            }
            writeln!(f, ";")?;
        }
        Ok(())
    }
}
