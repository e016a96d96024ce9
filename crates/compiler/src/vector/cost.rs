//! What code for many packets at once costs, in operations on lanes: whether a block is worth a
//! test that steps over it, and how code for two forms of a filter compares.
//!
//! Idea: all lanes go through all blocks, but for those that are stepped over when no lane reaches
//! them. How many packets reach a block is the plan's guess. Leaves out what packets cost that
//! leave for the scalar function, and what the processor does at once.

use super::plan::VectorPlan;
use crate::analysis::cost::CostModel;
use crate::mir::{Block, Func, Op};

/// How often at least a block must have no lane for a test to be worth its place.
const SELDOM: f64 = 0.02;
/// Lanes that the choice assumes.
const TYPICAL: i32 = 16;

/// Costs of a function as it is planned.
pub(crate) struct Cost<'a> {
    pub func: &'a Func,
    pub plan: &'a VectorPlan,
    pub machine: CostModel,
}

impl Cost<'_> {
    /// Whether stepping over a block, and what it dominates, when no lane reaches it, saves more
    /// than the test may cost.
    pub fn worth_a_test(&self, block: Block) -> bool {
        let none = self.none(block);
        none > SELDOM && none * self.all(block) > none.min(1.0 - none) * self.machine.misprediction
    }

    /// What the function costs for one group of packets.
    pub fn expected(&self) -> f64 {
        self.expected_of(Block(0))
    }

    /// How often no lane reaches a block.
    fn none(&self, block: Block) -> f64 {
        (1.0 - self.plan.share[block.0 as usize].min(1.0)).powi(TYPICAL)
    }

    /// A block and all that it dominates, if every block has lanes. Recursion is as deep as that
    /// which writes blocks.
    fn all(&self, block: Block) -> f64 {
        self.of(block) + self.children(block).map(|child| self.all(child)).sum::<f64>()
    }

    /// What a block and all that it dominates cost, less what is stepped over.
    fn expected_of(&self, block: Block) -> f64 {
        let child = |child: Block| {
            let (none, all) = (self.none(child), self.expected_of(child));
            if self.worth_a_test(child) { (1.0 - none) * all + none.min(1.0 - none) * self.machine.misprediction } else { all }
        };
        self.of(block) + self.children(block).map(child).sum::<f64>()
    }

    fn of(&self, block: Block) -> f64 {
        if self.plan.leaves[block.0 as usize] {
            return 1.0;
        }
        let ops = &self.func.block(block).ops;
        let loads = self.plan.loads.list.iter().filter(|w| w.block == block).count();
        let sets = ops.iter().filter(|v| matches!(self.func.op(**v), Some(Op::SetHas(..)))).count();
        ops.len() as f64 + self.machine.vector_load * loads as f64 + self.machine.set_test * sets as f64
    }

    /// Blocks that it dominates, where lanes go on.
    fn children(&self, block: Block) -> impl Iterator<Item = Block> {
        let leaves = self.plan.leaves[block.0 as usize];
        self.plan.children[block.0 as usize].iter().copied().filter(move |b| !leaves && self.plan.reached[b.0 as usize])
    }
}
