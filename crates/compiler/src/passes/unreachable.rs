//! Unreachable code elimination.
//!
//! Idea: blocks that no path from the entry reaches go; the others are numbered anew in reverse
//! postorder, so that listings and machine code follow the flow. Source: NetVM paper, section 4.2.
//! Phases: order, renumber. Price: linear.

use super::Context;
use crate::mir::cfg::Cfg;
use crate::mir::{Block, Def, Func};

pub(super) fn run(func: &mut Func, _: &Context<'_>) {
    let cfg = Cfg::new(func);
    let mut old: Vec<_> = std::mem::take(&mut func.blocks).into_iter().map(Some).collect();
    for (new, block) in cfg.order.iter().enumerate() {
        let Some(mut data) = old[block.0 as usize].take() else { continue };
        for param in &data.params {
            func.values[param.0 as usize].def = Def::Param(Block(new as u32));
        }
        for e in data.end.edges_mut() {
            e.block = Block(cfg.position[e.block.0 as usize] as u32);
        }
        func.blocks.push(data);
    }
}
