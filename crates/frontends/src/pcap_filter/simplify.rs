//! Graph → smaller graph: tests whose outcome the way there already tells are stepped over.
//!
//! libpcap's plain code asks again and again what it knows (`host a` tests six times what the payload is). A forward pass keeps,
//! for each block, what holds on every way to it: outcomes of tests, bytes known to be captured. An edge into a block whose
//! outcome follows, and whose reads are known to succeed, goes on to where that outcome leads. Verdicts do not change, on cut
//! packets neither, because a test is only stepped over if its reads were made before or cannot fail.
//!
//! Facts per block are limited, so the pass is linear in the graph.

use super::eval::apply_cmp;
use super::graph::{Block, Blocks, Graph, Target, divides, operands};
use super::ir::{Cmp, Field, Ir, Scan, Test, TestId, Value, ValueId, apply};

/// Outcomes kept at most for a block.
const MAX_OUTCOMES: usize = 48;
/// Open tests followed from an edge, and the size of graphs up to which that is done.
const LOOK_AHEAD: u32 = 4;
const MAX_LOOKED_AHEAD: usize = 400;
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
        let yes = pass.edge(block.yes, yes);
        let no = if always_holds(ir.test(block.test)) { yes } else { pass.edge(block.no, no) };
        edges[id] = [yes, no];
    }
    rebuild(ir, graph, &edges, entry)
}

struct Pass<'g> {
    ir: &'g Ir,
    graph: &'g Graph,
    known: Vec<Option<Facts>>,
}

impl Pass<'_> {
    /// Where an edge into `target` leads, and its facts to wherever that is. A length test is copied, so that what this edge
    /// knows is not lost where it meets others.
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

/// Where evaluation really goes on from an edge into `target`. Where an outcome is open, both ways are followed for `ahead`
/// more tests, in case they meet.
fn step_over(ir: &Ir, graph: &Graph, mut target: Target, facts: &Facts, ahead: u32) -> Target {
    while let Target::Block(id) = target {
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

/// What holds on every way to a place.
#[derive(Clone, Debug, Default)]
struct Facts {
    /// Sorted by test.
    outcomes: Vec<(TestId, bool)>,
    /// `base + end` bytes are captured; one entry for each base.
    captured: Vec<(Option<ValueId>, u32)>,
    /// Fewer bytes than this are captured.
    below: Option<u32>,
}

impl Facts {
    fn common(&self, other: &Facts) -> Facts {
        let outcomes = self.outcomes.iter().filter(|o| other.outcomes.binary_search(o).is_ok()).copied().collect();
        let captured = self.captured.iter().map(|&(base, end)| (base, end.min(other.end_of(base)))).filter(|c| c.1 > 0).collect();
        let below = self.below.zip(other.below).map(|(a, b)| a.max(b));
        Facts { outcomes, captured, below }
    }

    fn end_of(&self, base: Option<ValueId>) -> u32 {
        self.captured.iter().find(|c| c.0 == base).map_or(0, |c| c.1)
    }

    /// Facts on both ways out of a test.
    fn after(&self, ir: &Ir, test: TestId) -> (Facts, Facts) {
        let mut facts = self.clone();
        reads(ir, ir.test(test), &mut |field| facts.note_read(field));
        let (mut yes, mut no) = (facts.clone(), facts);
        match ir.test(test) {
            Test::Captured(bytes) => {
                yes.note_captured(None, bytes);
                no.below = Some(no.below.map_or(bytes, |b| b.min(bytes)));
            }
            _ => {
                yes.note(test, true);
                no.note(test, false);
            }
        }
        (yes, no)
    }

    fn note(&mut self, test: TestId, holds: bool) {
        if self.outcomes.len() < MAX_OUTCOMES
            && let Err(at) = self.outcomes.binary_search_by_key(&test, |o| o.0)
        {
            self.outcomes.insert(at, (test, holds));
        }
    }

    fn note_read(&mut self, field: Field) {
        self.note_captured(field.base, field.offset.saturating_add(field.bytes.into()));
    }

    fn note_captured(&mut self, base: Option<ValueId>, end: u32) {
        match self.captured.iter_mut().find(|c| c.0 == base) {
            Some(known) => known.1 = known.1.max(end),
            None => self.captured.push((base, end)),
        }
    }

    fn reads_succeed(&self, ir: &Ir, test: TestId) -> bool {
        let test = ir.test(test);
        if matches!(test, Test::Protochain(_) | Test::Scan(_)) || operands(test).iter().any(|&v| divides(ir, v)) {
            return false;
        }
        let mut all = true;
        reads(ir, test, &mut |field| {
            let end = field.offset.checked_add(field.bytes.into());
            all &= end.is_some_and(|end| end <= self.end_of(field.base));
        });
        all
    }

    /// Some read of the test is known to fail.
    fn cuts_off(&self, ir: &Ir, test: TestId) -> bool {
        let Some(below) = self.below else { return false };
        let mut cut = false;
        reads(ir, ir.test(test), &mut |field| {
            let end = field.offset.checked_add(field.bytes.into());
            cut |= end.is_none_or(|end| end >= below);
        });
        cut
    }

    fn outcome(&self, ir: &Ir, id: TestId) -> Option<bool> {
        if let Ok(at) = self.outcomes.binary_search_by_key(&id, |o| o.0) {
            return Some(self.outcomes[at].1);
        }
        match ir.test(id) {
            Test::Captured(bytes) if bytes <= self.end_of(None) => Some(true),
            Test::Captured(bytes) if self.below.is_some_and(|below| bytes >= below) => Some(false),
            Test::Within(field, set) => {
                let value = u128::from(self.field_value(ir, field)?);
                Some(ir.set_has(set, value))
            }
            Test::Cmp(lhs, op, rhs) => self.comparison(ir, lhs, op, self.value(ir, rhs)?),
            _ => None,
        }
    }

    fn comparison(&self, ir: &Ir, lhs: ValueId, op: Cmp, rhs: u32) -> Option<bool> {
        if let Some(lhs) = self.value(ir, lhs) {
            return Some(apply_cmp(op, lhs, rhs));
        }
        if op == Cmp::Eq && self.excluded(ir, lhs, rhs) {
            return Some(false);
        }
        let (low, high) = self.range(ir, lhs);
        match op {
            Cmp::Eq => (rhs < low || rhs > high).then_some(false),
            Cmp::Gt if low > rhs => Some(true),
            Cmp::Gt if high <= rhs => Some(false),
            Cmp::Ge if low >= rhs => Some(true),
            Cmp::Ge if high < rhs => Some(false),
            Cmp::Bits if rhs == 0 => Some(false),
            _ => None,
        }
    }

    /// The value is a field known not to be in a set that holds the constant.
    fn excluded(&self, ir: &Ir, value: ValueId, constant: u32) -> bool {
        let Value::Load(field) = ir.value(value) else { return false };
        self.outcomes.iter().any(|&(test, holds)| match ir.test(test) {
            Test::Within(other, set) if other == field && !holds => ir.set_has(set, constant.into()),
            _ => false,
        })
    }

    /// Outcomes of comparisons of a value with constants.
    fn comparisons<'f>(&'f self, ir: &'f Ir, value: ValueId) -> impl Iterator<Item = (Cmp, u32, bool)> + 'f {
        self.outcomes.iter().filter_map(move |&(test, holds)| match ir.test(test) {
            Test::Cmp(lhs, op, rhs) if lhs == value => match ir.value(rhs) {
                Value::Const(c) => Some((op, c, holds)),
                _ => None,
            },
            _ => None,
        })
    }

    fn value(&self, ir: &Ir, id: ValueId) -> Option<u32> {
        if let Some((_, c, _)) = self.comparisons(ir, id).find(|&(op, _, holds)| op == Cmp::Eq && holds) {
            return Some(c);
        }
        match ir.value(id) {
            Value::Const(c) => Some(c),
            Value::Bin(op, a, b) => apply(op, self.value(ir, a)?, self.value(ir, b)?),
            Value::Neg(a) => Some(self.value(ir, a)?.wrapping_neg()),
            Value::Len | Value::Slot(_) | Value::Last | Value::Load(_) => None,
        }
    }

    fn field_value(&self, ir: &Ir, field: Field) -> Option<u32> {
        self.outcomes.iter().find_map(|&(test, holds)| match ir.test(test) {
            Test::Cmp(lhs, Cmp::Eq, rhs) if holds && ir.value(lhs) == Value::Load(field) => self.value(ir, rhs),
            _ => None,
        })
    }

    fn range(&self, ir: &Ir, id: ValueId) -> (u32, u32) {
        let start = (0, greatest(ir, id));
        self.comparisons(ir, id).fold(start, |(low, high), (op, c, holds)| match (op, holds) {
            (Cmp::Gt, true) => (low.max(c.saturating_add(1)), high),
            (Cmp::Gt, false) => (low, high.min(c)),
            (Cmp::Ge, true) => (low.max(c), high),
            (Cmp::Ge, false) => (low, high.min(c.saturating_sub(1))),
            _ => (low, high),
        })
    }
}

/// Fields that a test reads for certain, or not at all.
pub(crate) fn reads(ir: &Ir, test: Test, each: &mut impl FnMut(Field)) {
    for value in operands(test) {
        value_reads(ir, value, each);
    }
    match test {
        Test::Within(field, _) => each(field),
        Test::Protochain(chain) => {
            let offset = chain.header.wrapping_add(if chain.v6 { 6 } else { 9 });
            each(Field { base: None, offset, bytes: 1 });
        }
        Test::Scan(scan) => {
            let scan = &ir.scans[scan.index()];
            scan.fields.first().map(|&field| Scan::words(field)[0]).into_iter().for_each(each);
        }
        _ => {}
    }
}

fn value_reads(ir: &Ir, id: ValueId, each: &mut impl FnMut(Field)) {
    match ir.value(id) {
        Value::Load(field) => {
            if let Some(base) = field.base {
                value_reads(ir, base, each);
            }
            each(field);
        }
        Value::Bin(_, a, b) => {
            value_reads(ir, a, each);
            value_reads(ir, b, each);
        }
        Value::Neg(a) => value_reads(ir, a, each),
        Value::Const(_) | Value::Len | Value::Slot(_) | Value::Last => {}
    }
}

/// An upper bound of a value.
pub(crate) fn greatest(ir: &Ir, id: ValueId) -> u32 {
    use super::ast::Arithop::{Add, And, Div, Mod, Mul, Shl, Shr};
    match ir.value(id) {
        Value::Const(c) => c,
        Value::Load(field) if field.bytes < 4 => (1 << (8 * u32::from(field.bytes))) - 1,
        Value::Bin(op, a, b) => {
            let (a, b) = (greatest(ir, a), greatest(ir, b));
            match op {
                And => a.min(b),
                Add => a.checked_add(b).unwrap_or(u32::MAX),
                Mul => a.checked_mul(b).unwrap_or(u32::MAX),
                Shl if b < 32 && a.leading_zeros() >= b => a << b,
                Shr | Div => a,
                Mod => a.min(b.saturating_sub(1)),
                _ => u32::MAX,
            }
        }
        _ => u32::MAX,
    }
}
