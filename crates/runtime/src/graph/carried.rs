//! Elements that go on in another graph: a stage that has them is to be another one.
//!
//! Only programs are carried, and none with packets or timers: what an element in a stage before
//! the last one keeps is its state, and what it has counted. Both graphs are at rest meanwhile.
//! Stages of one application have its elements by the same numbers.

use super::program::Program;
use super::stats::NodeStats;
use super::{Body, Graph, Succession};

/// An element on its way to another graph.
pub struct Carried {
    number: usize,
    class: String,
    arguments: Vec<String>,
    program: Box<Program>,
    stats: NodeStats,
    next_number: u64,
    /// When it was taken out.
    now: u64,
}

impl Carried {
    /// The element's number in the application.
    pub fn number(&self) -> usize {
        self.number
    }
}

impl Graph {
    /// Takes out elements that are programs, by their numbers. This graph is not to be run any
    /// more, only finished.
    pub fn carry(&mut self, wanted: impl Fn(usize) -> bool) -> Vec<Carried> {
        self.tell_all_passed();
        let stats: Vec<NodeStats> = self.stats().nodes.into_iter().map(|(.., stats)| stats).collect();
        let mut carried = Vec::new();
        for ((number, node), stats) in self.core.nodes.iter_mut().enumerate().zip(stats) {
            if !matches!(node.body, Body::Program(_)) || !wanted(number) {
                continue;
            }
            if let Body::Program(program) = std::mem::replace(&mut node.body, Body::BuiltIn(None)) {
                let (class, arguments, now) = (node.class.clone(), node.arguments.clone(), self.core.clock.now());
                carried.push(Carried { number, class, arguments, program, stats, next_number: node.next_number, now });
            }
        }
        carried
    }

    /// Lets elements go on here that were taken out of other graphs, each as the element with that
    /// number; what became of them. Of one that has changed, entries of tables go on.
    pub fn take_in(&mut self, carried: impl IntoIterator<Item = (usize, Carried)>) -> Succession {
        let mut succession = Succession::default();
        for (index, mut it) in carried {
            // A graph that is new knows of no time.
            self.core.clock.reach(it.now);
            let Some(node) = self.core.nodes.get_mut(index) else { continue };
            let is_alike = node.class == it.class && node.arguments == it.arguments;
            node.stats = it.stats;
            match &mut node.body {
                Body::Program(own) if is_alike && own.module().is_equal_but_for_name(it.program.module()) => {
                    own.take_state(&mut it.program);
                    node.next_number = it.next_number;
                    succession.kept.push(node.name.clone());
                }
                _ => self.keep_tables(index, &mut Body::Program(it.program), &mut succession),
            }
        }
        succession
    }
}
