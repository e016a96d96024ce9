//! The shape of the graph: predecessors, order, dominators. All of it in (nearly) linear time,
//! whatever the graph.

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
            func.block(*b).end.targets().for_each(|to| predecessors[to.0 as usize].push(*b));
        }
        let idom = immediate_dominators(func, &order, &position);
        Self { order, position, predecessors, idom }
    }

    /// True if the block can be reached.
    pub fn reaches(&self, block: Block) -> bool {
        self.position[block.0 as usize] != usize::MAX
    }

    /// Blocks by immediate dominator.
    pub fn children(&self) -> Vec<Vec<Block>> {
        let mut children = vec![Vec::new(); self.idom.len()];
        for b in self.order.iter().skip(1) {
            children[self.idom[b.0 as usize].0 as usize].push(*b);
        }
        children
    }

    /// The edge into each block that has but one, as block and number.
    pub fn only_edges(&self, func: &Func) -> Vec<Option<(Block, usize)>> {
        let mut only = vec![None; func.blocks.len()];
        for b in &self.order {
            for (i, e) in func.block(*b).end.edges().into_iter().enumerate() {
                let to = e.block.0 as usize;
                only[to] = (self.predecessors[to].len() == 1).then_some((*b, i));
            }
        }
        only
    }

    /// Goes over the dominator tree, each block before those it dominates: what `enter` gives for
    /// one goes to `leave` after the last of them.
    pub fn walk<S, U>(&self, state: &mut S, mut enter: impl FnMut(&mut S, Block) -> U, mut leave: impl FnMut(&mut S, U)) {
        let children = self.children();
        let mut stack = vec![Step::Enter(Block(0))];
        while let Some(step) = stack.pop() {
            match step {
                Step::Leave(undo) => leave(state, undo),
                Step::Enter(b) => {
                    stack.push(Step::Leave(enter(state, b)));
                    stack.extend(children[b.0 as usize].iter().map(|c| Step::Enter(*c)));
                }
            }
        }
    }
}

enum Step<U> {
    Enter(Block),
    Leave(U),
}

/// A list of numbers for each vertex, in one array.
struct Adjacency {
    /// By vertex where its list begins, and the end of the last.
    begin: Vec<u32>,
    items: Vec<u32>,
}

impl Adjacency {
    /// Of n vertices with their items, in any order.
    fn of(n: usize, all: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        let mut begin = vec![0; n + 1];
        all.clone().for_each(|(vertex, _)| begin[vertex as usize + 1] += 1);
        (0..n).for_each(|vertex| begin[vertex + 1] += begin[vertex]);
        let (mut next, mut items) = (begin.clone(), vec![0; begin[n] as usize]);
        for (vertex, item) in all {
            items[next[vertex as usize] as usize] = item;
            next[vertex as usize] += 1;
        }
        Self { begin, items }
    }

    fn of_vertex(&self, vertex: u32) -> &[u32] {
        &self.items[self.begin[vertex as usize] as usize..self.begin[vertex as usize + 1] as usize]
    }
}

/// Immediate dominators by position in reverse postorder: Lengauer and Tarjan, "A Fast Algorithm
/// for Finding Dominators in a Flowgraph" (1979), with path compression alone, since simpler ones
/// take quadratic time on graphs that a hostile program can have.
struct Dominators<'g> {
    predecessors: &'g Adjacency,
    /// In the order of a depth-first search, as all that follows.
    vertices: Vec<u32>,
    number: Vec<u32>,
    parent: Vec<u32>,
    semi: Vec<u32>,
    ancestor: Vec<Option<u32>>,
    label: Vec<u32>,
    idom: Vec<u32>,
}

impl<'g> Dominators<'g> {
    /// `successors` and `predecessors` of n vertices that are all reached from vertex 0.
    fn find(successors: &Adjacency, predecessors: &'g Adjacency) -> Vec<u32> {
        let n = successors.begin.len() - 1;
        let mut d = Self {
            predecessors,
            vertices: Vec::with_capacity(n),
            number: vec![u32::MAX; n],
            parent: vec![0; n],
            semi: (0..n as u32).collect(),
            ancestor: vec![None; n],
            label: (0..n as u32).collect(),
            idom: vec![0; n],
        };
        d.search(successors);
        d.semidominators();
        let mut idom = vec![0; n];
        for (v, of) in d.vertices.iter().zip(&d.idom) {
            idom[*v as usize] = d.vertices[*of as usize];
        }
        idom
    }

    /// Numbers the vertices depth first.
    fn search(&mut self, successors: &Adjacency) {
        let mut stack = vec![(0, 0)];
        while let Some((v, parent)) = stack.pop() {
            if self.number[v as usize] != u32::MAX {
                continue;
            }
            let number = self.vertices.len() as u32;
            self.number[v as usize] = number;
            self.parent[number as usize] = parent;
            self.vertices.push(v);
            stack.extend(successors.of_vertex(v).iter().map(|w| (*w, number)));
        }
    }

    fn semidominators(&mut self) {
        let n = self.vertices.len();
        let mut buckets = vec![Vec::new(); n];
        for w in (1..n as u32).rev() {
            for v in self.predecessors.of_vertex(self.vertices[w as usize]) {
                let u = self.eval(self.number[*v as usize]);
                self.semi[w as usize] = self.semi[w as usize].min(self.semi[u as usize]);
            }
            buckets[self.semi[w as usize] as usize].push(w);
            let parent = self.parent[w as usize];
            self.ancestor[w as usize] = Some(parent);
            for v in std::mem::take(&mut buckets[parent as usize]) {
                let u = self.eval(v);
                self.idom[v as usize] = if self.semi[u as usize] < self.semi[v as usize] { u } else { parent };
            }
        }
        for w in 1..n {
            if self.idom[w] != self.semi[w] {
                self.idom[w] = self.idom[self.idom[w] as usize];
            }
        }
    }

    /// The vertex of least semidominator on the way to the root of v's tree, the root aside.
    fn eval(&mut self, v: u32) -> u32 {
        let Some(parent) = self.ancestor[v as usize] else { return self.label[v as usize] };
        if self.ancestor[parent as usize].is_none() {
            return self.label[v as usize];
        }
        let mut path = vec![v];
        let mut at = v;
        while let Some(up) = self.ancestor[at as usize] {
            path.push(up);
            at = up;
        }
        // The root and its child need no compression.
        let root = at;
        path.pop();
        path.pop();
        for u in path.into_iter().rev() {
            let Some(up) = self.ancestor[u as usize] else { continue };
            let (mine, above) = (self.label[u as usize], self.label[up as usize]);
            if self.semi[above as usize] < self.semi[mine as usize] {
                self.label[u as usize] = above;
            }
            self.ancestor[u as usize] = Some(root);
        }
        self.label[v as usize]
    }
}

/// By block; the entry stands for itself and for unreachable blocks.
fn immediate_dominators(func: &Func, order: &[Block], position: &[usize]) -> Vec<Block> {
    let places = (0..).zip(order).flat_map(|(from, b)| func.block(*b).end.targets().map(move |to| (from, position[to.0 as usize] as u32)));
    let edges: Vec<(u32, u32)> = places.collect();
    let (successors, predecessors) =
        (Adjacency::of(order.len(), edges.iter().copied()), Adjacency::of(order.len(), edges.iter().map(|(from, to)| (*to, *from))));
    let mut idom = vec![Block(0); func.blocks.len()];
    for (b, by) in order.iter().zip(Dominators::find(&successors, &predecessors)) {
        idom[b.0 as usize] = order[by as usize];
    }
    idom
}

fn reverse_postorder(func: &Func) -> Vec<Block> {
    let mut seen = vec![false; func.blocks.len()];
    let mut order = Vec::new();
    let mut stack = vec![(Block(0), 0)];
    seen[0] = true;
    while let Some((block, next)) = stack.pop() {
        match func.block(block).end.edge(next) {
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

/// Answers whether one block dominates another, in constant time.
#[derive(Debug)]
pub struct DominatorTree {
    /// When a walk over the tree enters and leaves each block.
    spans: Vec<(u32, u32)>,
}

impl DominatorTree {
    /// The tree of a graph.
    pub fn new(cfg: &Cfg) -> Self {
        let children = cfg.children();
        let mut spans = vec![(u32::MAX, 0); cfg.idom.len()];
        let (mut clock, mut stack) = (0, vec![(Block(0), false)]);
        while let Some((b, left)) = stack.pop() {
            let span = &mut spans[b.0 as usize];
            if left {
                span.1 = clock;
                continue;
            }
            span.0 = clock;
            clock += 1;
            stack.push((b, true));
            stack.extend(children[b.0 as usize].iter().map(|c| (*c, false)));
        }
        Self { spans }
    }

    /// True if every path to `b` passes `a`.
    pub fn dominates(&self, a: Block, b: Block) -> bool {
        let ((enter, leave), (at, _)) = (self.spans[a.0 as usize], self.spans[b.0 as usize]);
        enter <= at && at < leave
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Vertices that every path from 0 to v passes, by removing each.
    fn dominators_of(successors: &[Vec<u32>], v: u32) -> HashSet<u32> {
        let reached = |without: u32| {
            let mut seen = HashSet::from([without]);
            let mut stack = vec![0];
            while let Some(u) = stack.pop() {
                if seen.insert(u) {
                    stack.extend(&successors[u as usize]);
                }
            }
            seen.remove(&without);
            seen.contains(&v)
        };
        (0..successors.len() as u32).filter(|u| *u != v && !reached(*u)).collect()
    }

    #[test]
    fn dominators_are_those_of_the_definition() {
        let mut seed = 1u64;
        let mut random = |n: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % n
        };
        for _ in 0..300 {
            let n = 2 + random(12);
            // A path to each vertex, and some more edges.
            let mut edges: Vec<(u64, u64)> = (1..n).map(|v| (random(v), v)).collect();
            edges.extend((0..random(2 * n)).map(|_| (random(n), random(n))));
            let (mut successors, mut predecessors) = (vec![Vec::new(); n as usize], vec![Vec::new(); n as usize]);
            for (a, b) in edges {
                successors[a as usize].push(b as u32);
                predecessors[b as usize].push(a as u32);
            }
            let lists = |of: &[Vec<u32>]| {
                let all: Vec<(u32, u32)> = (0..).zip(of).flat_map(|(v, items)| items.iter().map(move |item| (v, *item))).collect();
                Adjacency::of(of.len(), all.into_iter())
            };
            let idom = Dominators::find(&lists(&successors), &lists(&predecessors));
            for v in 1..n as u32 {
                let mut chain = HashSet::new();
                let mut at = v;
                while at != 0 {
                    at = idom[at as usize];
                    chain.insert(at);
                }
                assert_eq!(chain, dominators_of(&successors, v), "{v} of {successors:?}");
            }
        }
    }
}
