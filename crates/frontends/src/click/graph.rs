//! A configuration without shorthand: elements of primitive classes, and connections between their ports. Printing it gives a configuration that means
//! the same.

use crate::diagnostics::Span;
use std::collections::BTreeMap;
use std::fmt;

/// A flat configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// The elements, in the order of their declaration; those of compounds come behind those beside the compounds.
    pub elements: Vec<Element>,
    /// The connections, without repetitions, in the order of their outputs.
    pub connections: Vec<Connection>,
    /// What `require` asks for.
    pub requirements: Vec<String>,
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

    /// Connections in rows: each goes on with the first port of the element that the one before ends at.
    fn rows(&self) -> Vec<Vec<Connection>> {
        let mut left: BTreeMap<(Port, Port), Connection> = self.connections.iter().map(|c| ((c.from, c.to), *c)).collect();
        let mut rows = Vec::new();
        while let Some((_, first)) = left.pop_first() {
            let mut row = vec![first];
            let mut at = first.to;
            while let Some(key) = next(&left, at) {
                row.extend(left.remove(&key));
                at = key.1;
            }
            rows.push(row);
        }
        rows
    }
}

/// The first connection from port 0 of an element that is entered by its port 0.
fn next(left: &BTreeMap<(Port, Port), Connection>, at: Port) -> Option<(Port, Port)> {
    let out = Port { port: 0, ..at };
    let all = (out, Port { element: 0, port: 0 })..=(out, Port { element: usize::MAX, port: u32::MAX });
    left.range(all).next().map(|(key, _)| *key).filter(|_| at.port == 0)
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
