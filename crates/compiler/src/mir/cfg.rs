//! The shape of the graph: predecessors, order, dominators.

use super::{Block, Func};

/// Reachable blocks in reverse postorder with their predecessors and immediate dominators.
#[derive(Debug)]
pub struct Cfg {
    /// Reachable blocks; a block comes before those it dominates.
    pub order: Vec<Block>,
    /// Position in `order` of each block; `usize::MAX` if unreachable.
    pub position: Vec<usize>,
    /// Reachable predecessors of each block, one entry per edge.
    pub predecessors: Vec<Vec<Block>>,
    /// Immediate dominator of each reachable block; the entry is its own.
    pub idom: Vec<Block>,
}

impl Cfg {
    /// The shape of a function.
    pub fn new(func: &Func) -> Self {
        let order = reverse_postorder(func);
        let mut position = vec![usize::MAX; func.blocks.len()];
        order.iter().enumerate().for_each(|(i, b)| position[b.0 as usize] = i);
        let mut predecessors = vec![Vec::new(); func.blocks.len()];
        for b in &order {
            for e in func.block(*b).end.edges() {
                predecessors[e.block.0 as usize].push(*b);
            }
        }
        let mut cfg = Self { order, position, predecessors, idom: vec![Block(0); func.blocks.len()] };
        cfg.dominators();
        cfg
    }

    /// True if the block can be reached.
    pub fn reaches(&self, block: Block) -> bool {
        self.position[block.0 as usize] != usize::MAX
    }

    /// True if every path to `b` passes `a`.
    pub fn dominates(&self, a: Block, b: Block) -> bool {
        let mut b = b;
        while self.position[b.0 as usize] > self.position[a.0 as usize] {
            b = self.idom[b.0 as usize];
        }
        a == b
    }

    /// Blocks by immediate dominator.
    pub fn children(&self) -> Vec<Vec<Block>> {
        let mut children = vec![Vec::new(); self.idom.len()];
        for b in self.order.iter().skip(1) {
            children[self.idom[b.0 as usize].0 as usize].push(*b);
        }
        children
    }

    /// Cooper, Harvey, Kennedy, "A Simple, Fast Dominance Algorithm".
    fn dominators(&mut self) {
        let mut known = vec![false; self.idom.len()];
        known[0] = true;
        let mut changed = true;
        while changed {
            changed = false;
            for i in 1..self.order.len() {
                let b = self.order[i];
                let preds = self.predecessors[b.0 as usize].iter().copied().filter(|p| known[p.0 as usize]);
                let Some(new) = preds.reduce(|x, y| self.intersect(x, y)) else { continue };
                if !known[b.0 as usize] || self.idom[b.0 as usize] != new {
                    self.idom[b.0 as usize] = new;
                    known[b.0 as usize] = true;
                    changed = true;
                }
            }
        }
    }

    fn intersect(&self, mut a: Block, mut b: Block) -> Block {
        let at = |x: Block| self.position[x.0 as usize];
        while a != b {
            while at(a) > at(b) {
                a = self.idom[a.0 as usize];
            }
            while at(b) > at(a) {
                b = self.idom[b.0 as usize];
            }
        }
        a
    }
}

fn reverse_postorder(func: &Func) -> Vec<Block> {
    let mut seen = vec![false; func.blocks.len()];
    let mut order = Vec::new();
    let mut stack = vec![(Block(0), 0)];
    seen[0] = true;
    while let Some((block, next)) = stack.pop() {
        let edges = func.block(block).end.edges();
        match edges.get(next) {
            None => order.push(block),
            Some(e) => {
                stack.push((block, next + 1));
                if !std::mem::replace(&mut seen[e.block.0 as usize], true) {
                    stack.push((e.block, 0));
                }
            }
        }
    }
    order.reverse();
    order
}
