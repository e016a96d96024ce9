//! Copy coalescing.
//!
//! Idea: the translation passes the whole stack and all locals to every block; a parameter that
//! gets one value on every edge (itself aside) is a copy of it and goes. Source: NetVM paper,
//! section 4.2; Braun et al., "Simple and Efficient Construction of SSA Form", on trivial phis.
//! Phases: find such parameters, until there are none; drop them with their arguments; rename.
//! Price: linear in edges × parameters a round; two or three rounds in practice, at most
//! [`ROUNDS`].

use super::Context;
use super::rewrite::Replacements;
use crate::mir::cfg::Cfg;
use crate::mir::{Block, Func, Value};

const ROUNDS: usize = 32;

pub(super) fn run(func: &mut Func, _: &Context<'_>) {
    let cfg = Cfg::new(func);
    let mut replaced = Replacements::new(func);
    let mut kept: Vec<Vec<bool>> = func.blocks.iter().map(|b| vec![true; b.params.len()]).collect();
    for _ in 0..ROUNDS {
        let mut changed = false;
        let sources = sources(func, &cfg, &mut replaced);
        for (block, of_params) in sources.iter().enumerate() {
            for (i, source) in of_params.iter().enumerate() {
                let param = func.blocks[block].params[i];
                let (true, IncomingValue::One(v)) = (kept[block][i], source) else { continue };
                // A parameter whose one source has become the parameter itself has no value to
                // copy.
                if replaced.get(*v) != param {
                    replaced.set(param, *v);
                    kept[block][i] = false;
                    changed = true;
                }
            }
        }
        if !changed {
            break;
        }
    }
    drop_params(func, &kept);
    replaced.apply(func);
}

/// What the edges into a block pass for one parameter, the parameter itself aside.
#[derive(Clone, Copy)]
enum IncomingValue {
    Unknown,
    One(Value),
    Many,
}

fn sources(func: &Func, cfg: &Cfg, replaced: &mut Replacements) -> Vec<Vec<IncomingValue>> {
    let mut sources: Vec<Vec<IncomingValue>> = func.blocks.iter().map(|b| vec![IncomingValue::Unknown; b.params.len()]).collect();
    for b in &cfg.order {
        for e in func.block(*b).end.edges() {
            let to = e.block.0 as usize;
            for (i, arg) in e.args.iter().enumerate() {
                let (arg, param) = (replaced.get(*arg), replaced.get(func.blocks[to].params[i]));
                let source = &mut sources[to][i];
                *source = match *source {
                    s if arg == param => s,
                    IncomingValue::Unknown => IncomingValue::One(arg),
                    IncomingValue::One(v) if v == arg => IncomingValue::One(v),
                    _ => IncomingValue::Many,
                };
            }
        }
    }
    sources[0].fill(IncomingValue::Many);
    sources
}

/// Removes parameters and the arguments for them.
pub(super) fn drop_params(func: &mut Func, kept: &[Vec<bool>]) {
    let keep = |block: usize, values: &mut Vec<Value>| {
        let mut flags = kept[block].iter();
        values.retain(|_| flags.next().copied().unwrap_or(true));
    };
    for block in 0..func.blocks.len() {
        keep(block, &mut func.blocks[block].params);
        for e in func.blocks[block].end.edges_mut() {
            let Block(to) = e.block;
            keep(to as usize, &mut e.args);
        }
    }
}
