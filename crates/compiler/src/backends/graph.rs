//! An application for back ends that make one program of it, a function per element: the elements
//! that packets come to, and where each leads.

use netil::Verified;

/// An element.
#[derive(Clone, Debug)]
pub struct Element<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its program.
    pub program: &'a Verified,
    /// Where its output ports lead; packets that leave by others are dropped.
    pub ways: Vec<OutputWire>,
}

/// Where an output port leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputWire {
    /// The port's id.
    pub port: u32,
    /// Where packets go.
    pub to: Link,
    /// The wire leads back: a packet may go along such wires a limited number of times.
    pub again: bool,
}

/// Where packets go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Link {
    /// Into an element, by its input port with that id.
    Element(usize, u32),
    /// To an end.
    End(usize),
}

impl Link {
    fn element(self) -> Option<usize> {
        if let Self::Element(n, _) = self { Some(n) } else { None }
    }
}

/// By element its position in the order in which packets come to them from the entries, so that few
/// ways lead from a higher position to a lower one.
pub fn positions(elements: &[Element<'_>], entries: impl Iterator<Item = Link>) -> Vec<usize> {
    let links = |n: usize| elements[n].ways.iter().filter_map(|way| way.to.element());
    let (mut seen, mut order) = (vec![false; elements.len()], Vec::new());
    for start in entries.filter_map(Link::element).chain(0..elements.len()) {
        let mut stack = if std::mem::replace(&mut seen[start], true) { Vec::new() } else { vec![(start, 0)] };
        while let Some((n, next)) = stack.pop() {
            let Some(to) = links(n).nth(next) else {
                order.push(n);
                continue;
            };
            stack.push((n, next + 1));
            if !std::mem::replace(&mut seen[to], true) {
                stack.push((to, 0));
            }
        }
    }
    let mut position = vec![0; order.len()];
    order.iter().rev().enumerate().for_each(|(at, n)| position[*n] = at);
    position
}
