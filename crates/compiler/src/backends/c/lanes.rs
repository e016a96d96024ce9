//! The filter for many packets at once: every block runs for the lanes that reach it, without jumps
//! between them.
//!
//! Idea: scalar code loses half its time on mixed traffic to branches that go now one way, now the
//! other; here a branch divides a set of lanes in two, and a block that few packets reach is
//! stepped over when no lane does. Sixteen bytes of each packet are fetched at once and serve
//! several fields (see [`crate::vector::loads`]). Lanes in a shape that is rare or hard leave for
//! the scalar function. Form: the dominator tree is written from the root; a block's lanes are
//! known when all blocks before it are written. The text has `$` where the names of a width begin.

use super::sets::Sets;
use crate::Target;
use crate::mir::{Block, Edge, Extent, Func, Op, Order, Terminator, Value};
use crate::vector::cost::Cost;
use crate::vector::guards::LEAVE;
use crate::vector::loads::VectorLoad;
use crate::vector::plan::VectorPlan;
use netil::Module;
use netil::ops::{BinOp, CmpOp, mask};
use std::collections::HashMap;
use std::fmt::Write as _;

/// Packets ahead of the present one whose first bytes are asked for.
const AHEAD: usize = 32;
/// What stands in for a packet that is too short; no vector load at the beginning ends later.
const ZEROS: u32 = 256;

/// The functions for all widths; `None` where lanes would leave at once.
pub(super) fn emit(func: &Func, module: &Module, sets: &Sets) -> Option<String> {
    let plan = VectorPlan::new(func, module)?;
    let first = plan.loads.first_byte();
    let (values, lengths) = (HashMap::new(), plan.lengths.clone());
    let cost = Cost { func, plan: &plan, machine: Target::LANES.costs };
    let mut lanes = Lanes { func, plan: &plan, cost, values, lengths, safe: 0, text: String::new(), depth: 1, lacks: false };
    // Who asked is on no filter's input: the number 0, as in the scalar function.
    func.block(Block(0)).params.iter().for_each(|param| lanes.param(*param));
    lanes.block(Block(0));
    if lanes.lacks {
        return None;
    }
    let mut text = sets.lanes();
    text += "\n@TARGET static inline uint32_t $many(const struct nv_burst *b, uint64_t i)\n{\n";
    text += BEGIN;
    text += &lanes.text;
    text += "    uint32_t bits = $bits(yes);\n";
    text += FINISH;
    Some(text + &BURST.replace("FIRST", &first.to_string()).replace("AHEAD", &AHEAD.to_string()))
}

const BEGIN: &str = "    const struct nv_packet *q = b->packets + i;
    struct nv_packet safe[sizeof($v) / 4];
    $p p;
    $v len;
    $packets(q, &p, &len);
    $m k0 = $every(), yes = $none(), leave = $none();
    (void)p, (void)len, (void)safe;
";

const FINISH: &str = "    for (uint32_t left = $bits(leave); NV_RARELY(left != 0); left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        bits |= (uint32_t)one(b, i + lane) << lane;
    }
    return bits;
}
";

const BURST: &str = "
@TARGET void @FUNCTION(const struct nv_burst *b)
{
    enum { LANES = sizeof($v) / 4 };
    uint64_t word = 0, i = 0;
    for (; i + LANES <= b->count; i += LANES) {
        if (i + AHEAD + LANES <= b->count)
            for (int j = 0; j < LANES; j++)
                __builtin_prefetch(b->packets[i + AHEAD + j].data + FIRST);
        word |= (uint64_t)$many(b, i) << i % 64;
        if ((i + LANES) % 64 == 0) {
            b->selected[i / 64] = word;
            word = 0;
        }
    }
    for (; i < b->count; i++)
        word |= (uint64_t)one(b, i) << i % 64;
    if (b->count % 64)
        b->selected[b->count / 64] = word;
}
";

/// Where a value is.
#[derive(Clone, Debug)]
enum LaneOperand {
    Const(u64),
    /// A variable of lanes.
    Lanes(String),
    /// A set of lanes: a value of one bit.
    Set(String),
    /// Bits of a word: shifted right, then masked.
    Field {
        word: String,
        shift: u32,
        mask: u64,
    },
}

struct Lanes<'a> {
    func: &'a Func,
    plan: &'a VectorPlan,
    cost: Cost<'a>,
    values: HashMap<Value, LaneOperand>,
    /// Packets are at least so long in the blocks written so far.
    lengths: Vec<u32>,
    /// The first so many bytes of every lane's `q` can be read, whatever its packet.
    safe: u32,
    text: String,
    depth: usize,
    /// Something has no form for lanes that the plan said has one: there is only the scalar
    /// function then.
    lacks: bool,
}

impl Lanes<'_> {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.text, "{}{text}", "    ".repeat(self.depth));
    }

    /// A block and all that it dominates. Its set of lanes has a variable that is complete now.
    fn block(&mut self, block: Block) {
        let at = block.0 as usize;
        if self.plan.leaves[at] {
            return self.line(&format!("leave = $either(leave, k{at});"));
        }
        self.lengths[at] = self.lengths[at].max(self.lengths[self.plan.cfg.idom[at].0 as usize]);
        let children: Vec<Block> = self.plan.children[at].iter().copied().filter(|b| self.plan.reached[b.0 as usize]).collect();
        self.fetch(block, None);
        for v in self.func.block(block).ops.clone() {
            self.op(block, v);
        }
        for child in &children {
            self.line(&format!("$m k{} = $none();", child.0));
            for param in self.params(*child) {
                self.param(param);
            }
        }
        self.end(block);
        for child in children {
            self.child(child);
        }
    }

    fn child(&mut self, child: Block) {
        if !self.cost.worth_a_test(child) {
            return self.block(child);
        }
        self.line(&format!("if ($any(k{})) {{", child.0));
        self.depth += 1;
        self.block(child);
        self.depth -= 1;
        self.line("}");
    }

    /// A block's parameters; lanes that leave need none.
    fn params(&self, block: Block) -> Vec<Value> {
        if self.plan.leaves[block.0 as usize] { Vec::new() } else { self.func.block(block).params.clone() }
    }

    fn param(&mut self, param: Value) {
        let place = if self.func.width(param) == 1 {
            self.line(&format!("$m {param:?} = $none();"));
            LaneOperand::Set(format!("{param:?}"))
        } else {
            self.line(&format!("$v {param:?} = $all(0);"));
            LaneOperand::Lanes(format!("{param:?}"))
        };
        self.values.insert(param, place);
    }

    /// Does the vector loads of a block that begin at `base`, for which packets that are too short
    /// leave.
    fn fetch(&mut self, block: Block, base: Option<Value>) {
        let here = |w: &&VectorLoad| w.block == block && self.begins(w, block, base);
        let loads: Vec<VectorLoad> = self.plan.loads.list.iter().filter(here).cloned().collect();
        let mut ends: Vec<(Option<Value>, u32)> = Vec::new();
        for load in &loads {
            match ends.iter_mut().find(|(base, _)| *base == load.base) {
                Some((_, end)) => *end = (*end).max(load.end),
                None => ends.push((load.base, load.end)),
            }
        }
        for (base, end) in ends {
            self.long_enough(block, base, end);
        }
        for load in &loads {
            self.vector_load(block, load);
        }
    }

    /// Does a vector load; its words get variables.
    fn vector_load(&mut self, block: Block, load: &VectorLoad) {
        let (first, start) = (load.words[0], load.start);
        let rows = match load.base {
            None if load.end <= self.safe => format!("$fetch(q, {start})"),
            None => format!("$fetch_in(k{}, p, {start})", block.0),
            Some(base) => format!("$fetch_at(k{}, p, {}, {start})", block.0, self.lanes(base)),
        };
        let rows = match self.plan.loads.arrangement(load) {
            None => rows,
            Some(order) => format!("$arrange({rows}, {})", order.map(|word| format!("{word:#010x}")).join(", ")),
        };
        self.line(&format!("$r r{first} = {rows};"));
        for (place, word) in self.plan.loads.columns(load) {
            self.line(&format!("$v w{word} = $cell{place}(r{first});"));
            if self.is_swapped(word) {
                self.line(&format!("$v s{word} = $swap(w{word});"));
            }
        }
    }

    /// Whether a vector load is done when `base` becomes known, or, if that is None, at the block's
    /// beginning.
    fn begins(&self, load: &VectorLoad, block: Block, base: Option<Value>) -> bool {
        let made_here = load.base.filter(|v| self.func.block(block).ops.contains(v));
        made_here == base
    }

    fn long_enough(&mut self, block: Block, base: Option<Value>, end: u32) {
        let k = format!("k{}", block.0);
        let need = match base {
            None if self.lengths[block.0 as usize] >= end => return,
            None => {
                self.lengths[block.0 as usize] = end;
                format!("$all({end})")
            }
            Some(base) => format!("$add({}, $all({end}))", self.lanes(base)),
        };
        self.line(&format!("leave = $either(leave, $both({k}, $lt(len, {need})));"));
        self.line(&format!("{k} = $but({k}, leave);"));
        if block.0 == 0 && base.is_none() && end <= ZEROS {
            self.safe = end;
            self.line("if (NV_RARELY($any(leave)))");
            self.line("    q = nv_safe(safe, q, sizeof($v) / 4, $bits(leave));");
        }
    }

    fn op(&mut self, block: Block, v: Value) {
        let Some(op) = self.func.op(v).cloned() else { return };
        let place = match &op {
            Op::Proved(..) | Op::Present(_) => return,
            Op::Check(_, extents) => return extents.iter().for_each(|e| self.check(block, e)),
            Op::Const(c) => LaneOperand::Const(*c),
            Op::PacketLen => LaneOperand::Lanes("len".to_owned()),
            Op::WireLen => LaneOperand::Lanes("$load(b->wire_len + i)".to_owned()),
            Op::Load(_, order, ..) => self.load(v, *order),
            Op::Zext(a) if self.func.width(*a) > 1 => self.place(*a),
            Op::Trunc(a) => self.sliced(*a, 0, self.func.width(v)),
            Op::Slice(a, low) => self.sliced(*a, *low, self.func.width(v)),
            Op::Bin(BinOp::And, a, b) if self.masked(*a, *b).is_some() => self.masked(*a, *b).unwrap_or(LaneOperand::Const(0)),
            _ => self.computed(block, v, &op),
        };
        self.values.insert(v, place);
        if self.plan.loads.list.iter().any(|w| w.base == Some(v)) {
            self.fetch(block, Some(v));
        }
    }

    /// A trap drops the packet.
    fn check(&mut self, block: Block, extent: &Extent) {
        let (k, end) = (format!("k{}", block.0), format!("$all({:#x})", extent.end()));
        let need = match self.func.constant(extent.addr) {
            Some(addr) => format!("$all({:#x})", addr + extent.end()),
            None => format!("$add({}, {end})", self.lanes(extent.addr)),
        };
        self.line(&format!("{k} = $both({k}, $le({need}, len));"));
    }

    /// Part of a word, in the byte order of the load.
    fn load(&mut self, v: Value, order: Order) -> LaneOperand {
        let (number, at) = self.plan.loads.place_of(v);
        let bits = u32::from(self.func.width(v));
        let mask = mask(bits as u16);
        if order == Order::Little || bits == 8 {
            return LaneOperand::Field { word: format!("w{number}"), shift: 8 * at, mask };
        }
        LaneOperand::Field { word: format!("s{number}"), shift: 32 - 8 * at - bits, mask }
    }

    /// Whether a word is also needed with its bytes in the other order.
    fn is_swapped(&self, number: usize) -> bool {
        let big = |v: Value| matches!(self.func.op(v), Some(Op::Load(_, Order::Big, ..))) && self.func.width(v) > 8;
        self.plan.loads.served(number).any(big)
    }

    /// A constant mask narrows a field.
    fn masked(&self, a: Value, b: Value) -> Option<LaneOperand> {
        let (LaneOperand::Field { word, shift, mask }, LaneOperand::Const(c)) = (self.values.get(&a)?, self.values.get(&b)?) else {
            return None;
        };
        Some(LaneOperand::Field { word: word.clone(), shift: *shift, mask: mask & c })
    }

    fn sliced(&mut self, a: Value, low: u16, width: u16) -> LaneOperand {
        match self.place(a) {
            LaneOperand::Field { word, shift, mask: old } => {
                let mask = old >> low & mask(width);
                LaneOperand::Field { word, shift: shift + u32::from(low), mask }
            }
            LaneOperand::Const(c) => LaneOperand::Const(c >> low & mask(width)),
            _ => {
                let a = self.lanes(a);
                LaneOperand::Lanes(format!("$and($shr({a}, $all({low})), $all({:#x}))", mask(width)))
            }
        }
    }

    /// Values that get a variable.
    fn computed(&mut self, block: Block, v: Value, op: &Op) -> LaneOperand {
        let set = self.func.width(v) == 1;
        let text = if set { self.set_of(block, op) } else { self.number_of(v, op) };
        let name = format!("{v:?}");
        self.line(&format!("{} {name} = {text};", if set { "$m" } else { "$v" }));
        if set { LaneOperand::Set(name) } else { LaneOperand::Lanes(name) }
    }

    fn set_of(&mut self, block: Block, op: &Op) -> String {
        match op {
            Op::Cmp(op, a, b) => self.compare(*op, *a, *b),
            Op::SetHas(set, a) => format!("$set{set}(k{}, {})", block.0, self.lanes(*a)),
            Op::Bin(BinOp::And, a, b) => format!("$both({}, {})", self.set(*a), self.set(*b)),
            Op::Bin(BinOp::Or, a, b) => format!("$either({}, {})", self.set(*a), self.set(*b)),
            Op::Bin(_, a, b) => format!("$one({}, {})", self.set(*a), self.set(*b)),
            Op::Select(c, a, b) => {
                let (c, a, b) = (self.set(*c), self.set(*a), self.set(*b));
                format!("$either($both({c}, {a}), $but({b}, {c}))")
            }
            _ => self.lacking(),
        }
    }

    fn number_of(&mut self, v: Value, op: &Op) -> String {
        match op {
            Op::Bin(op, a, b) => {
                let name = match op {
                    BinOp::Add => "add",
                    BinOp::Sub => "sub",
                    BinOp::Mul => "mul",
                    BinOp::And => "and",
                    BinOp::Or => "or",
                    BinOp::Xor => "xor",
                    BinOp::Shl => "shl",
                    _ => "shr",
                };
                let text = format!("${name}({}, {})", self.lanes(*a), self.lanes(*b));
                let exact = matches!(op, BinOp::And | BinOp::Or | BinOp::Xor | BinOp::UShr) || self.func.width(v) == 32;
                if exact { text } else { format!("$and({text}, $all({:#x}))", mask(self.func.width(v))) }
            }
            Op::Zext(a) => format!("$select({}, $all(1), $all(0))", self.set(*a)),
            Op::Select(c, a, b) => format!("$select({}, {}, {})", self.set(*c), self.lanes(*a), self.lanes(*b)),
            _ => self.lacking(),
        }
    }

    fn compare(&mut self, op: CmpOp, a: Value, b: Value) -> String {
        let equal = |this: &mut Self| this.field_is(a, b).unwrap_or_else(|| format!("$eq({}, {})", this.lanes(a), this.lanes(b)));
        match op {
            CmpOp::Eq => equal(self),
            CmpOp::Ne => format!("$but($every(), {})", equal(self)),
            CmpOp::Lt => format!("$lt({}, {})", self.lanes(a), self.lanes(b)),
            CmpOp::Le => format!("$le({}, {})", self.lanes(a), self.lanes(b)),
            CmpOp::Gt => format!("$lt({}, {})", self.lanes(b), self.lanes(a)),
            _ => format!("$le({}, {})", self.lanes(b), self.lanes(a)),
        }
    }

    /// A field is compared with a constant where it stands: the constant is shifted instead.
    fn field_is(&self, a: Value, b: Value) -> Option<String> {
        let (LaneOperand::Field { word, shift, mask }, LaneOperand::Const(c)) = (self.values.get(&a)?, self.values.get(&b)?) else {
            return None;
        };
        if c & !mask != 0 {
            return Some("$none()".to_owned());
        }
        let (mask, c) = ((mask << shift) as u32, (c << shift) as u32);
        let field = if mask == u32::MAX { word.clone() } else { format!("$and({word}, $all({mask:#x}))") };
        Some(format!("$eq({field}, $all({c:#x}))"))
    }

    /// Where a value is.
    fn place(&mut self, v: Value) -> LaneOperand {
        self.lacks |= !self.values.contains_key(&v);
        self.values.get(&v).cloned().unwrap_or(LaneOperand::Const(0))
    }

    fn lacking(&mut self) -> String {
        self.lacks = true;
        String::new()
    }

    /// A number as lanes.
    fn lanes(&mut self, v: Value) -> String {
        match &self.place(v) {
            LaneOperand::Const(c) => format!("$all({c:#x})"),
            LaneOperand::Lanes(name) => name.clone(),
            LaneOperand::Set(name) => format!("$select({name}, $all(1), $all(0))"),
            LaneOperand::Field { word, shift, mask } => {
                let shifted = if *shift == 0 { word.clone() } else { format!("$shr({word}, $all({shift}))") };
                let rest = u64::from(u32::MAX >> (*shift).min(31));
                if mask & rest == rest { shifted } else { format!("$and({shifted}, $all({mask:#x}))") }
            }
        }
    }

    /// One bit as a set of lanes.
    fn set(&mut self, v: Value) -> String {
        match &self.place(v) {
            LaneOperand::Const(0) => "$none()".to_owned(),
            LaneOperand::Const(_) => "$every()".to_owned(),
            LaneOperand::Set(name) => name.clone(),
            _ => self.lacking(),
        }
    }

    fn end(&mut self, block: Block) {
        let k = format!("k{}", block.0);
        match self.func.block(block).end.clone() {
            Terminator::Jump(e) => self.go(&e, &k),
            Terminator::Branch(c, yes, no) => {
                let c = self.set(c);
                self.go(&yes, &format!("$both({k}, {c})"));
                self.go(&no, &format!("$but({k}, {c})"));
            }
            Terminator::Switch(v, cases, default) => {
                let v = self.lanes(v);
                for (key, e) in &cases {
                    self.line(&format!("$m is{}_{key:x} = $both({k}, $eq({v}, $all({key:#x})));", block.0));
                    self.go(e, &format!("is{}_{key:x}", block.0));
                }
                let taken = cases.iter().fold(k, |rest, (key, _)| format!("$but({rest}, is{}_{key:x})", block.0));
                self.go(&default, &taken);
            }
            LEAVE | Terminator::SendBy(..) => self.line(&format!("leave = $either(leave, {k});")),
            Terminator::Send(_) => self.line(&format!("yes = $either(yes, {k});")),
            Terminator::Drop(_) => {}
        }
    }

    /// Lanes go to another block, with values for its parameters.
    fn go(&mut self, e: &Edge, lanes: &str) {
        let target = self.func.block(e.block);
        if target.end == LEAVE && target.ops.is_empty() {
            return self.line(&format!("leave = $either(leave, {lanes});"));
        }
        if matches!(target.end, Terminator::Drop(_)) && target.ops.is_empty() {
            return;
        }
        let params: Vec<(Value, Value)> = self.params(e.block).into_iter().zip(e.args.iter().copied()).collect();
        for (param, arg) in params {
            let text = match self.func.width(param) {
                1 => format!("{param:?} = $either($both({lanes}, {}), $but({param:?}, {lanes}));", self.set(arg)),
                _ => format!("{param:?} = $select({lanes}, {}, {param:?});", self.lanes(arg)),
            };
            self.line(&text);
        }
        self.line(&format!("k{0} = $either(k{0}, {lanes});", e.block.0));
    }
}

#[cfg(test)]
mod tests {
    use crate::passes::Options;
    use netil::arbitrary::seeded_module;
    use netil::asm::assemble;
    use netil::module::HandlerKind;

    /// The C of a filter.
    fn text(source: &str) -> String {
        let program = netil::verify(assemble(source, "").unwrap()).unwrap();
        let options = Options::lanes();
        let (func, _) = crate::optimised(&program, HandlerKind::Push, &options).unwrap().unwrap();
        super::super::emit(&program, &func).unwrap()
    }

    #[test]
    fn what_the_handler_begins_with_has_a_form_for_lanes() {
        for code in ["ret", "push 20\n cmp\n ret", "push 1\n jcmp.g l\n push 1\n ret\nl: push 0\n ret", "dup\n mul\n push 7\n and\n ret"] {
            let text = text(&format!("segment .push\n.maxstacksize 4\n {code}\nends\n"));
            assert!(text.contains("netvm_select_any"), "{code}: only the scalar function");
        }
    }

    #[test]
    fn any_module_that_verifies_has_c_or_a_refusal() {
        let (mut written, cases) = (0, 400);
        for seed in 0..cases {
            let program = netil::verify(seeded_module(seed, &Default::default())).unwrap();
            for kind in [HandlerKind::Push, HandlerKind::Pull] {
                let Ok(Some((func, _))) = crate::optimised(&program, kind, &Options::lanes()) else { continue };
                written += usize::from(super::super::emit(&program, &func).is_ok());
                let _ = super::super::for_lanes(&program, &func);
            }
        }
        assert!(written as u64 * 40 > cases, "only {written} of {cases} modules have C");
    }
}
