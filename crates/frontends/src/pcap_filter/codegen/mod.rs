//! Decision graph → NetIL.
//!
//! One push handler: `ret 1` accepts, `ret 0` drops. Before a load the code compares with `pbl` and
//! drops if the packet is too short, unless every way there has done so; so the code never traps.
//! (Its loops, for `protochain` and tables of IPv6 addresses, are bounded by the packet's or the
//! table's length, far below the default budget.)
//!
//! - A length check asks at once for all bytes without which no way from there can accept
//!   ([`plan::DataflowFacts::needs`]).
//! - A value that a later block needs on every way to it is kept in a local instead of being loaded
//!   again.
//! - Blocks are laid out in the order of the graph, so that most fall through to their successor.
//!
//! [`emit`] turns values into stack code, [`walks`] holds the loops.

mod emit;
mod plan;
mod rows;
mod walks;

use std::collections::HashMap;

use netil::module::{Extra, Handler, Inst, Label, Module};
use netil::set::{Range, Set};
use netil::table::Op;

use self::emit::Known;
use self::plan::DataflowFacts;
pub(super) use self::plan::header_len;
use super::graph::{Graph, Target};
use super::ir::{Cmp, Field, Ir, SetId, Slot, Test, TupleId, ValueId};

/// A module for the graph. `source` becomes its name for messages.
pub(crate) fn generate(ir: &Ir, graph: &Graph, source: &str) -> Module {
    let mut code = Code::new(ir, graph);
    code.prologue();
    code.blocks();
    code.epilogue();
    let push = code.handler();
    Module { name: "filter".to_owned(), source: source.to_owned(), data: code.data, sets: code.sets, push: Some(push), ..Module::default() }
}

/// A place in the code: the end of a block, or one inside it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BranchTarget {
    Target(Target),
    Inside(usize),
}

struct Code<'g> {
    ir: &'g Ir,
    graph: &'g Graph,
    plan: DataflowFacts,
    insts: Vec<Inst>,
    depth: u32,
    deepest: u32,
    locals: u32,
    /// Locals of values, slots and the last value.
    kept: HashMap<ValueId, u32>,
    slots: Vec<u32>,
    last: Option<u32>,
    /// Branches to be aimed.
    branches: Vec<(usize, BranchTarget)>,
    block_at: Vec<u32>,
    accept_at: u32,
    reject_at: u32,
    inside_at: Vec<u32>,
    sets: Vec<Set>,
    set_at: HashMap<SetId, u32>,
    data: Vec<u8>,
    /// What is known where each block begins, joined from the ways there.
    arrived: Vec<Option<Known>>,
    known: Known,
}

impl<'g> Code<'g> {
    fn new(ir: &'g Ir, graph: &'g Graph) -> Code<'g> {
        let blocks = graph.blocks.len();
        Code {
            ir,
            graph,
            plan: DataflowFacts::new(ir, graph),
            insts: Vec::new(),
            depth: 1,
            deepest: 1,
            locals: 0,
            kept: HashMap::new(),
            slots: Vec::new(),
            last: None,
            branches: Vec::new(),
            block_at: vec![0; blocks],
            accept_at: 0,
            reject_at: 0,
            inside_at: Vec::new(),
            sets: Vec::new(),
            set_at: HashMap::new(),
            data: Vec::new(),
            arrived: vec![None; blocks],
            known: Known::default(),
        }
    }

    /// Removes the port's number and sets what may be read before it is written.
    fn prologue(&mut self) {
        self.op(Op::Pop, -1);
        self.slots = (0..self.ir.slots).map(|_| self.new_local()).collect();
        for slot in self.slots.clone() {
            self.push(0);
            self.store(slot);
        }
        if self.ir.uses_last {
            let last = self.new_local();
            self.push(0);
            self.store(last);
            self.last = Some(last);
        }
    }

    fn blocks(&mut self) {
        let Target::Block(entry) = self.graph.entry else { return self.jump(self.graph.entry, None) };
        self.arrived[entry as usize] = Some(Known::default());
        for id in self.graph.forward() {
            let Some(known) = self.arrived[id].take() else { continue };
            self.known = known;
            self.block_at[id] = self.here();
            self.block(id);
        }
    }

    fn block(&mut self, id: usize) {
        let block = self.graph.blocks[id];
        let next = id.checked_sub(1).map(|next| Target::Block(u32::try_from(next).unwrap_or(u32::MAX)));
        let test = self.ir.test(block.test);
        if self.checks(test, self.plan.needs[id]) {
            self.test(test, block.yes, block.no, next);
        } else {
            self.jump(Target::Reject, next);
        }
        for target in [block.yes, block.no] {
            self.arrive(target, test, target == block.yes && block.yes != block.no);
        }
    }

    fn arrive(&mut self, target: Target, test: Test, holds: bool) {
        let Target::Block(id) = target else { return };
        let mut known = self.known.clone();
        match test {
            Test::Captured(bytes) if holds => known.note(None, bytes),
            Test::Readable(field) if holds => known.note(field.base, field.offset.saturating_add(field.bytes.into())),
            _ => {}
        }
        let place = &mut self.arrived[id as usize];
        *place = Some(match place.take() {
            Some(other) => other.common(&known),
            None => known,
        });
    }

    fn test(&mut self, test: Test, yes: Target, no: Target, next: Option<Target>) {
        match test {
            Test::Assign(slot, value) => {
                self.value(value);
                self.store_slot(slot);
                self.jump(yes, next);
            }
            Test::Geneve(geneve) => {
                self.geneve(geneve);
                self.jump(yes, next);
            }
            Test::Const(holds) => {
                self.push(u32::from(!holds));
                self.note_last();
                self.op(Op::Pop, -1);
                self.jump(if holds { yes } else { no }, next);
            }
            Test::Protochain(chain) => self.protochain(chain, yes, no, next),
            Test::Scan(scan) => self.scan(scan, yes, no, next),
            Test::Rows(list) => self.rows(list, yes, no, next),
            _ if yes == no && !self.ir.uses_last => self.jump(yes, next),
            Test::Captured(bytes) => {
                self.op(Op::Pbl, 1);
                self.push(bytes);
                self.branch((Op::JCmpGe, Op::JCmpL), 2, (yes, no), next);
            }
            Test::Within(field, set) => {
                self.field(field);
                let set = self.set(set, field);
                self.inst(Inst::with(Op::SetHas, set), 0);
                self.branch((Op::JNe, Op::JEq), 1, (yes, no), next);
            }
            Test::Readable(field) => {
                self.end_of(field);
                self.op(Op::Pbl, 1);
                self.branch((Op::JCmpLe, Op::JCmpG), 2, (yes, no), next);
            }
            Test::Tuple(tuple) => {
                self.tuple(tuple);
                self.branch((Op::JNe, Op::JEq), 1, (yes, no), next);
            }
            Test::Cmp(lhs, cmp, rhs) => self.comparison((lhs, cmp, rhs), (yes, no), next),
        }
    }

    fn comparison(&mut self, (lhs, cmp, rhs): (ValueId, Cmp, ValueId), ways: (Target, Target), next: Option<Target>) {
        self.value(lhs);
        self.note_last();
        self.value(rhs);
        match cmp {
            Cmp::Eq => self.branch((Op::JCmpEq, Op::JCmpNeq), 2, ways, next),
            Cmp::Gt => self.branch((Op::JCmpG, Op::JCmpLe), 2, ways, next),
            Cmp::Ge => self.branch((Op::JCmpGe, Op::JCmpL), 2, ways, next),
            Cmp::Bits => {
                self.op(Op::And, -1);
                self.branch((Op::JNe, Op::JEq), 1, ways, next);
            }
        }
    }

    /// Keeps the value on top of the stack as the last one, if some test asks for that.
    fn note_last(&mut self) {
        if let Some(last) = self.last {
            self.op(Op::Dup, 1);
            self.store(last);
        }
    }

    /// A two-way branch that takes `pops` elements; `ops` branch if the test holds and if it does
    /// not.
    fn branch(&mut self, ops: (Op, Op), pops: i32, (yes, no): (Target, Target), next: Option<Target>) {
        if Some(yes) == next {
            self.branch_to(ops.1, BranchTarget::Target(no), -pops);
        } else {
            self.branch_to(ops.0, BranchTarget::Target(yes), -pops);
            self.jump(no, next);
        }
    }

    fn jump(&mut self, target: Target, next: Option<Target>) {
        if next != Some(target) {
            self.branch_to(Op::JumpW, BranchTarget::Target(target), 0);
        }
    }

    fn epilogue(&mut self) {
        self.accept_at = self.here();
        self.op(Op::PushC1, 1);
        self.op(Op::Ret, -1);
        self.reject_at = self.here();
        self.op(Op::PushC0, 1);
        self.op(Op::Ret, -1);
    }

    fn handler(&mut self) -> Handler {
        for (inst, place) in std::mem::take(&mut self.branches) {
            self.insts[inst].imm[0] = self.index_of(place);
        }
        let labels = [("accept", self.accept_at), ("reject", self.reject_at)];
        Handler {
            code: std::mem::take(&mut self.insts),
            locals: vec![32; self.locals as usize],
            max_stack: self.deepest,
            lines: Vec::new(),
            labels: labels.map(|(name, at)| Label { name: name.to_owned(), at }).to_vec(),
        }
    }

    fn index_of(&self, place: BranchTarget) -> u32 {
        match place {
            BranchTarget::Target(Target::Accept) => self.accept_at,
            BranchTarget::Target(Target::Reject) => self.reject_at,
            BranchTarget::Target(Target::Block(id)) => self.block_at[id as usize],
            BranchTarget::Inside(index) => self.inside_at[index],
        }
    }

    /// The module's set for a set of the filter, made on first use. Values of up to four bytes are
    /// 32 bits wide on the stack.
    fn set(&mut self, id: SetId, field: Field) -> u32 {
        if let Some(&known) = self.set_at.get(&id) {
            return known;
        }
        let width = width(field);
        let ranges = self.ir.sets[id.index()].iter().map(|&(low, high)| Range { low: limbs(width, low), high: limbs(width, high) });
        let at = u32::try_from(self.sets.len()).unwrap_or(u32::MAX);
        if let Ok(set) = Set::new(&format!("set{at}"), width, ranges.collect()) {
            self.sets.push(set);
        }
        self.set_at.insert(id, at);
        at
    }

    /// The module's set of a tuple; equal sets are one.
    fn tuple_set(&mut self, id: TupleId) -> u32 {
        let set = &self.ir.tuples[id.index()].set;
        if let Some(known) = self.sets.iter().position(|other| other.width() == set.width() && other.ranges() == set.ranges()) {
            return u32::try_from(known).unwrap_or(u32::MAX);
        }
        let at = u32::try_from(self.sets.len()).unwrap_or(u32::MAX);
        if let Ok(set) = Set::new(&format!("set{at}"), set.width(), set.ranges().to_vec()) {
            self.sets.push(set);
        }
        at
    }

    fn store_slot(&mut self, slot: Slot) {
        let local = self.slots[slot.index()];
        self.store(local);
    }
}

/// Width of a field's value on the stack.
fn width(field: Field) -> u16 {
    if field.bytes <= 4 { 32 } else { 8 * u16::from(field.bytes) }
}

fn limbs(width: u16, value: u128) -> Box<[u64]> {
    let low = u64::try_from(value & u128::from(u64::MAX)).unwrap_or(0);
    let high = u64::try_from(value >> 64).unwrap_or(0);
    if width <= 64 { Box::new([low]) } else { Box::new([low, high]) }
}

/// Instructions.
impl Code<'_> {
    fn here(&self) -> u32 {
        u32::try_from(self.insts.len()).unwrap_or(u32::MAX)
    }

    /// Adds an instruction that changes the stack's depth by `effect`.
    fn inst(&mut self, inst: Inst, effect: i32) {
        self.insts.push(inst);
        self.depth = self.depth.saturating_add_signed(effect);
        self.deepest = self.deepest.max(self.depth);
    }

    fn op(&mut self, op: Op, effect: i32) {
        self.inst(Inst::new(op), effect);
    }

    fn push(&mut self, constant: u32) {
        match constant {
            0 => self.op(Op::PushC0, 1),
            1 => self.op(Op::PushC1, 1),
            2 => self.op(Op::PushC2, 1),
            _ => self.inst(Inst::with(Op::Push, constant), 1),
        }
    }

    fn wide(&mut self, op: Op, width: u16, effect: i32) {
        self.inst(Inst { op, imm: [width.into(), 0, 0], extra: Extra::None }, effect);
    }

    fn branch_to(&mut self, op: Op, place: BranchTarget, effect: i32) {
        self.branches.push((self.insts.len(), place));
        self.op(op, effect);
    }

    fn reject_if(&mut self, op: Op, pops: i32) {
        self.branch_to(op, BranchTarget::Target(Target::Reject), -pops);
    }

    fn new_local(&mut self) -> u32 {
        self.locals += 1;
        self.locals - 1
    }

    fn store(&mut self, local: u32) {
        self.inst(Inst::with(Op::LocStore, local), -1);
    }

    fn load(&mut self, local: u32) {
        self.inst(Inst::with(Op::LocLoad, local), 1);
    }

    /// A place inside a block, to be fixed later with [`Code::here_is`].
    fn new_place(&mut self) -> usize {
        self.inside_at.push(0);
        self.inside_at.len() - 1
    }

    fn here_is(&mut self, place: usize) {
        self.inside_at[place] = self.here();
    }
}
