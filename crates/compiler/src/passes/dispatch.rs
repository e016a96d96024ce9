//! Lowering of sends by a number.
//!
//! Idea: a few ports are tested for, as branches are, so that passes see them; many are looked up
//! by their number, where the target does that, for no processor can predict which of them it is.
//! Source: NetVM paper, section 4.3 (code of the targets). Phases: one. Price: linear in blocks and
//! ports.

use super::Context;
use crate::mir::{Block, Edge, Func, Terminator};

pub(super) fn run(func: &mut Func, context: &Context<'_>) {
    for b in func.block_ids() {
        let Terminator::SendBy(v, first, count, default) = &func.block(b).end else { continue };
        if *count >= context.target.numbered_ports {
            continue;
        }
        let (v, first, count, default) = (*v, *first, *count, default.clone());
        let cases: Box<[(u32, Edge)]> = (0..count).map(|n| (n, Edge::to(sending(func, first + n)))).collect();
        func.block_mut(b).end = Terminator::Switch(v, cases, default);
    }
}

/// A block that sends by a port.
fn sending(func: &mut Func, port: u32) -> Block {
    let block = func.new_block(&[]);
    func.block_mut(block).end = Terminator::Send(port);
    block
}
