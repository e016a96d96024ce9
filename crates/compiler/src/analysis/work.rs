//! How much work a handler is for a packet: the operations on its way, each as often as packets
//! come to it, as [`BranchProbability`] has it.
//!
//! For weighing elements against each other, as stages of a pipeline are. Left out: how often loops
//! go round (each operation of a loop counts once), caches.

use super::cost::CostModel;
use super::probability::BranchProbability;
use crate::mir::cfg::Cfg;
use crate::mir::{Block, Func, Op, Terminator};

/// Of packets at a branch that mostly goes one way, those that do.
const MOSTLY: f64 = 0.9;

/// The work of a run of a handler, in operations on numbers.
pub fn work(func: &Func) -> f64 {
    let (cfg, probability) = (Cfg::new(func), BranchProbability::of(func, None));
    let mut comes = vec![0.0; func.blocks.len()];
    let mut all = 0.0;
    for (position, block) in cfg.order.iter().enumerate() {
        let here: f64 = if position == 0 { 1.0 } else { comes[block.0 as usize] };
        all += here * of_block(func, *block);
        for (to, share) in ways(func, &probability, *block) {
            // Ways back add nothing to blocks that were looked at.
            comes[to.0 as usize] += here * share;
        }
    }
    all
}

fn of_block(func: &Func, block: Block) -> f64 {
    let costs = CostModel::SERVER;
    let of = |op: &Op| match op {
        Op::Const(_) => 0.0,
        Op::Helper(helper, ..) if helper.looks_up().is_some() => costs.lookup,
        Op::Helper(..) => costs.helper,
        _ => 1.0,
    };
    func.block(block).ops.iter().filter_map(|value| func.op(*value)).map(of).sum::<f64>() + 1.0
}

/// The blocks behind one, and how many of the packets go to each.
fn ways(func: &Func, probability: &BranchProbability, block: Block) -> Vec<(Block, f64)> {
    match &func.block(block).end {
        Terminator::Branch(condition, yes, no) => {
            let share = match probability.holds(func, *condition, yes.block, no.block) {
                Some(true) => MOSTLY,
                Some(false) => 1.0 - MOSTLY,
                None => 0.5,
            };
            vec![(yes.block, share), (no.block, 1.0 - share)]
        }
        end => {
            let to: Vec<Block> = end.targets().collect();
            let share = 1.0 / to.len().max(1) as f64;
            to.into_iter().map(|block| (block, share)).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{optimised, passes};
    use netil::module::HandlerKind;

    use netil::asm::assemble;

    /// The work of a handler that leaves a checksum out where two bytes differ from one number, or
    /// where they equal it.
    fn of(jump: &str) -> f64 {
        let text = format!(
            "segment .metadata\n.datamem_size 16\nends\nsegment .push\npop\npush 12\nupload.16\npush 2048\n{jump} out\n\
             push 0\npush 14\nchksum.calc\npush 0\nmstore.16\nret 1\nout:\nret 1\nends\n"
        );
        let verified = netil::verify(assemble(&text, "").unwrap()).unwrap();
        let (func, _) = optimised(&verified, HandlerKind::Push, &passes::Options::default()).unwrap().unwrap();
        work(&func)
    }

    #[test]
    fn what_few_packets_come_to_weighs_less() {
        let (most, few) = (of("jcmp.neq"), of("jcmp.eq"));
        assert!(most > few + CostModel::SERVER.helper * 0.7 && few > 1.0, "{most} {few}");
    }
}
