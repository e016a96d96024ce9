//! Parser states that cannot be reached, and cases of `select` that an earlier one covers.
//!
//! Left out: cases that several earlier ones cover together, and what is known of keys before they
//! are selected.

use super::cover::{Set, all_cover};
use crate::hir::{Block, Next, Program, Target};
use frontends::diagnostics::Diagnostic;

pub(super) fn warnings(program: &Program) -> Vec<Diagnostic> {
    program.blocks.iter().filter(|block| block.is_parser).flat_map(|block| parser(program, block)).collect()
}

fn parser(program: &Program, block: &Block) -> Vec<Diagnostic> {
    let mut all = Vec::new();
    let dead: Vec<Vec<bool>> = block.states.iter().map(|state| cases(program, &state.next, &mut all)).collect();
    let targets = |n: usize, with_dead: bool| -> Vec<usize> {
        let state = |target: &Target| if let Target::State(n) = target { Some(*n) } else { None };
        match &block.states[n].next {
            Next::To(target) => state(target).into_iter().collect(),
            Next::Select(_, cases) => {
                cases.iter().zip(&dead[n]).filter(|(_, dead)| with_dead || !**dead).filter_map(|((_, target), _)| state(target)).collect()
            }
        }
    };
    let reached = |with_dead: bool| {
        let (mut reached, mut left) = (vec![false; block.states.len()], vec![block.start]);
        while let Some(n) = left.pop() {
            if !std::mem::replace(&mut reached[n], true) {
                left.extend(targets(n, with_dead));
            }
        }
        reached
    };
    let (live, named) = (reached(false), reached(true));
    for (n, state) in block.states.iter().enumerate().filter(|(n, _)| !live[*n]) {
        let why = if named[n] { "only cases that never match lead to it" } else { "no transition leads to it from `start`" };
        all.push(Diagnostic::new(state.span, format!("the state `{}` of parser {} is never reached", state.name, block.name)).help(why));
    }
    all
}

/// Which cases of a transition never match; a warning for each.
fn cases(program: &Program, next: &Next, all: &mut Vec<Diagnostic>) -> Vec<bool> {
    let Next::Select(keys, cases) = next else { return Vec::new() };
    let widths: Vec<u32> = keys.iter().map(|key| program.underlying(&key.ty).width().unwrap_or(0)).collect();
    // One set may stand for all keys.
    let sets = |sets: &[crate::hir::Expr]| -> Vec<Option<Set>> {
        match sets {
            [one] if keys.len() > 1 => vec![Set::of(one).filter(|set| *set == Set::Any); keys.len()],
            _ => sets.iter().map(Set::of).collect(),
        }
    };
    let known: Vec<Vec<Option<Set>>> = cases.iter().map(|(case, _)| sets(case)).collect();
    let mut dead = vec![false; cases.len()];
    for n in 0..cases.len() {
        let Some(by) = (0..n).find(|m| all_cover(&known[*m], &known[n], &widths)) else { continue };
        dead[n] = true;
        let (Some(first), Some(last), Some(cover)) = (cases[n].0.first(), cases[n].0.last(), cases[by].0.first()) else { continue };
        let warning = Diagnostic::new(first.span.to(last.span), "this case never matches");
        all.push(warning.note(cover.span, "this case takes all that it would"));
    }
    dead
}
