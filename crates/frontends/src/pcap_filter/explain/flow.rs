//! In which order a filter asks its terms, and where it goes from each: what a picture of it is
//! drawn from.
//!
//! `a or b and c` is `(a or b) and c`: a chain is taken from its end, and each term learns where to
//! go when it holds and when it does not. Every way leads forward.

use super::super::ast::{Ast, Join, Node, NodeId};
use super::super::error::Span;

/// Where a filter goes from a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Goal {
    /// To the step with that index.
    Step(usize),
    /// The packet is accepted.
    Accept,
    /// The packet is rejected.
    Reject,
}

/// A term of a filter, and where it goes from there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Where the term stands in the source.
    pub span: Span,
    /// Where it goes if the term, without any `not` before it, holds.
    pub held: Goal,
    /// Where it goes if the term does not hold.
    pub failed: Goal,
}

/// The steps in source order; the first is the first asked.
pub(super) fn steps(ast: &Ast) -> Vec<Step> {
    let mut flow = Flow { ast, steps: Vec::new() };
    if let Some(root) = ast.root {
        flow.node(root, Goal::Accept, Goal::Reject);
    }
    // They were made from the last to the first.
    let last = flow.steps.len().saturating_sub(1);
    let turned = |goal| if let Goal::Step(at) = goal { Goal::Step(last - at) } else { goal };
    flow.steps.into_iter().rev().map(|step| Step { held: turned(step.held), failed: turned(step.failed), ..step }).collect()
}

struct Flow<'a> {
    ast: &'a Ast,
    steps: Vec<Step>,
}

impl Flow<'_> {
    /// The first step of a node, and all its steps. Recursion is as deep as the parser allows.
    fn node(&mut self, id: NodeId, held: Goal, failed: Goal) -> Goal {
        match self.ast.node(id) {
            Node::Not(inner) => self.node(*inner, failed, held),
            Node::Chain { first, rest } => {
                let (mut held, mut failed) = (held, failed);
                for &(join, node) in rest.iter().rev() {
                    let next = self.node(node, held, failed);
                    match join {
                        Join::And => held = next,
                        Join::Or => failed = next,
                    }
                }
                self.node(*first, held, failed)
            }
            _ => {
                self.steps.push(Step { span: self.ast.span(id), held, failed });
                Goal::Step(self.steps.len() - 1)
            }
        }
    }
}
