//! Elements that go on in another graph: a stage that has them is to be another one.
//!
//! Only programs are carried, and none with packets or timers: what an element in a stage before
//! the last one keeps is its state, and what it has counted. Both graphs are at rest meanwhile.

use super::program::Program;
use super::stats::NodeStats;
use super::{Body, Graph};

/// An element on its way to another graph.
pub struct Carried {
    name: String,
    class: String,
    arguments: Vec<String>,
    program: Box<Program>,
    stats: NodeStats,
    next_number: u64,
}

impl Carried {
    /// The element's name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Graph {
    /// Takes out elements that are programs. This graph is not to be run any more, only finished.
    pub fn carry(&mut self, wanted: impl Fn(&str) -> bool) -> Vec<Carried> {
        self.tell_all_passed();
        let stats = self.stats().nodes.into_iter().map(|(.., stats)| stats);
        let mut carried = Vec::new();
        for (node, stats) in self.core.nodes.iter_mut().zip(stats) {
            if !matches!(node.body, Body::Program(_)) || !wanted(&node.name) {
                continue;
            }
            if let Body::Program(program) = std::mem::replace(&mut node.body, Body::BuiltIn(None)) {
                let (name, class, arguments) = (node.name.clone(), node.class.clone(), node.arguments.clone());
                carried.push(Carried { name, class, arguments, program, stats, next_number: node.next_number });
            }
        }
        carried
    }

    /// Lets elements go on here that were taken out of other graphs; the names of those that do.
    /// One that is another element here begins anew.
    pub fn take_in(&mut self, carried: impl IntoIterator<Item = Carried>) -> Vec<String> {
        let mut kept = Vec::new();
        for mut it in carried {
            let Some(node) = self.topology.by_name.get(&it.name).map(|at| &mut self.core.nodes[*at]) else { continue };
            let is_same = node.class == it.class && node.arguments == it.arguments;
            let Body::Program(own) = &mut node.body else { continue };
            if is_same && own.module().is_equal_but_for_name(it.program.module()) {
                own.take_state(&mut it.program);
                (node.stats, node.next_number) = (it.stats, it.next_number);
                kept.push(it.name);
            }
        }
        kept
    }
}
