//! Graph → smaller graph: tests whose outcome the way there already tells are stepped over.
//!
//! libpcap's plain code asks again and again what it knows (`host a` tests six times what the
//! payload is). A forward pass keeps, for each block, what holds on every way to it: outcomes of
//! tests, bytes known to be captured. An edge into a block whose outcome follows, and whose reads
//! are known to succeed, goes on to where that outcome leads. Verdicts do not change, on cut
//! packets neither, because a test is only stepped over if its reads were made before or cannot
//! fail.
//!
//! Facts per block are limited, so the pass is linear in the graph.

use super::facts::Facts;
use super::graph::{Block, Blocks, Graph, Target};
use super::ir::{Ir, Test};

/// Open tests followed from an edge, and the size of graphs up to which that is done.
const LOOK_AHEAD: u32 = 4;
const MAX_LOOKED_AHEAD: usize = 400;
/// Tests stepped over at most by one edge in one round; long chains would cost the square of their
/// length otherwise.
const MAX_STEPS: usize = 64;
/// Rounds; each can only make the graph smaller.
const MAX_ROUNDS: usize = 4;

/// Steps over what is known until nothing changes.
pub(crate) fn simplify(ir: &Ir, mut graph: Graph) -> Graph {
    if ir.uses_last {
        return graph;
    }
    for _ in 0..MAX_ROUNDS {
        let next = round(ir, &graph);
        let same = next.blocks == graph.blocks && next.entry == graph.entry;
        graph = next;
        if same {
            break;
        }
    }
    graph
}

/// Where an edge leads: to a place, or by way of a length test made for this edge alone.
#[derive(Clone, Copy)]
enum Edge {
    To(Target),
    Split(Block),
}

fn round(ir: &Ir, graph: &Graph) -> Graph {
    let mut pass = Pass { ir, graph, known: vec![None; graph.blocks.len()] };
    let mut edges = vec![[Edge::To(Target::Reject); 2]; graph.blocks.len()];
    let entry = pass.edge(graph.entry, Facts::default());
    for id in graph.forward() {
        let Some(facts) = pass.known[id].take() else { continue };
        let block = graph.blocks[id];
        let (yes, no) = facts.after(ir, block.test);
        // A test that is there only for its reads, which may fail, leads one way.
        edges[id] = match facts.outcome(ir, block.test) {
            Some(false) => [pass.edge(block.no, no); 2],
            Some(true) => [pass.edge(block.yes, yes); 2],
            None if always_holds(ir.test(block.test)) => [pass.edge(block.yes, yes); 2],
            None => [pass.edge(block.yes, yes), pass.edge(block.no, no)],
        };
    }
    rebuild(ir, graph, &edges, entry)
}

struct Pass<'g> {
    ir: &'g Ir,
    graph: &'g Graph,
    known: Vec<Option<Facts>>,
}

impl Pass<'_> {
    /// Where an edge into `target` leads, and its facts to wherever that is. A length test is
    /// copied, so that what this edge knows is not lost where it meets others.
    fn edge(&mut self, target: Target, facts: Facts) -> Edge {
        let target = self.step_over(target, &facts);
        if let Target::Block(id) = target {
            let block = self.graph.blocks[id as usize];
            if matches!(self.ir.test(block.test), Test::Captured(_)) {
                let (yes, no) = facts.after(self.ir, block.test);
                let ways = (self.step_over(block.yes, &yes), self.step_over(block.no, &no));
                arrive(&mut self.known, ways.0, yes);
                arrive(&mut self.known, ways.1, no);
                return Edge::Split(Block { test: block.test, yes: ways.0, no: ways.1 });
            }
        }
        arrive(&mut self.known, target, facts);
        Edge::To(target)
    }

    fn step_over(&self, target: Target, facts: &Facts) -> Target {
        let ahead = if self.graph.blocks.len() <= MAX_LOOKED_AHEAD { LOOK_AHEAD } else { 0 };
        step_over(self.ir, self.graph, target, facts, ahead)
    }
}

fn arrive(known: &mut [Option<Facts>], target: Target, facts: Facts) {
    if let Target::Block(id) = target {
        let place = &mut known[id as usize];
        *place = Some(match place.take() {
            Some(other) => other.common(&facts),
            None => facts,
        });
    }
}

/// Where evaluation really goes on from an edge into `target`. Where an outcome is open, both ways
/// are followed for `ahead` more tests, in case they meet.
fn step_over(ir: &Ir, graph: &Graph, mut target: Target, facts: &Facts, ahead: u32) -> Target {
    for _ in 0..MAX_STEPS {
        let Target::Block(id) = target else { break };
        let block = graph.blocks[id as usize];
        if facts.cuts_off(ir, block.test) {
            return Target::Reject;
        }
        if !facts.reads_succeed(ir, block.test) || always_holds(ir.test(block.test)) {
            return target;
        }
        target = match facts.outcome(ir, block.test) {
            _ if block.yes == block.no => block.yes,
            Some(true) => block.yes,
            Some(false) => block.no,
            None if ahead == 0 => return target,
            None => {
                let (yes, no) = facts.after(ir, block.test);
                let meeting = step_over(ir, graph, block.yes, &yes, ahead - 1);
                if meeting != step_over(ir, graph, block.no, &no, ahead - 1) {
                    return target;
                }
                meeting
            }
        };
    }
    target
}

/// Tests that are there for what they do.
fn always_holds(test: Test) -> bool {
    matches!(test, Test::Assign(..) | Test::Geneve(_))
}

/// The blocks that are still reached, equal ones made one.
fn rebuild(ir: &Ir, graph: &Graph, edges: &[[Edge; 2]], entry: Edge) -> Graph {
    let reached = reached(edges, entry);
    let mut rebuilder = Rebuilder { ir, made: Blocks::default(), place: vec![Target::Reject; edges.len()] };
    for (id, block) in graph.blocks.iter().enumerate().filter(|&(id, _)| reached[id]) {
        let [yes, no] = edges[id].map(|edge| rebuilder.edge(edge));
        rebuilder.place[id] = rebuilder.block(Block { test: block.test, yes, no });
    }
    Graph { entry: rebuilder.edge(entry), blocks: rebuilder.made.list }
}

struct Rebuilder<'i> {
    ir: &'i Ir,
    made: Blocks,
    /// What became of each old block.
    place: Vec<Target>,
}

impl Rebuilder<'_> {
    fn edge(&mut self, edge: Edge) -> Target {
        match edge {
            Edge::To(target) => self.find(target),
            Edge::Split(block) => {
                let (yes, no) = (self.find(block.yes), self.find(block.no));
                self.block(Block { test: block.test, yes, no })
            }
        }
    }

    fn find(&self, target: Target) -> Target {
        match target {
            Target::Block(id) => self.place[id as usize],
            end => end,
        }
    }

    fn block(&mut self, block: Block) -> Target {
        // A block that cannot lead to acceptance rejects, whether or not its reads succeed.
        let hopeless = block.yes == Target::Reject && block.no == Target::Reject;
        let idle = block.yes == block.no && Facts::default().reads_succeed(self.ir, block.test) && !always_holds(self.ir.test(block.test));
        if idle || hopeless { block.yes } else { self.made.add(block) }
    }
}

fn reached(edges: &[[Edge; 2]], entry: Edge) -> Vec<bool> {
    let mut reached = vec![false; edges.len()];
    mark(&mut reached, entry);
    for id in (0..edges.len()).rev() {
        if reached[id] {
            edges[id].iter().for_each(|&edge| mark(&mut reached, edge));
        }
    }
    reached
}

fn mark(reached: &mut [bool], edge: Edge) {
    let targets = match edge {
        Edge::To(target) => [target, target],
        Edge::Split(block) => [block.yes, block.no],
    };
    for target in targets {
        if let Target::Block(id) = target {
            reached[id as usize] = true;
        }
    }
}
