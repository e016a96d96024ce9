//! Values and length checks → stack code.

use netil::module::{Extra, Inst};
use netil::table::Op;

use super::super::ast::Arithop;
use super::super::ir::{Field, Test, TupleId, Value, ValueId};
use super::super::reads::{greatest, operands};
use super::plan::header_len;
use super::{Code, width};

/// What is known at a place: bytes captured behind each base, and values that stand in their
/// locals.
#[derive(Clone, Default)]
pub(super) struct Known {
    captured: Vec<(Option<ValueId>, u32)>,
    /// Sorted.
    values: Vec<ValueId>,
}

/// Values known at most, so that long graphs stay linear.
const MAX_VALUES: usize = 48;

impl Known {
    pub(super) fn common(&self, other: &Known) -> Known {
        let captured = self.captured.iter().map(|&(base, end)| (base, end.min(other.end(base)))).filter(|c| c.1 > 0).collect();
        let values = self.values.iter().filter(|v| other.has(**v)).copied().collect();
        Known { captured, values }
    }

    pub(super) fn end(&self, base: Option<ValueId>) -> u32 {
        self.captured.iter().find(|c| c.0 == base).map_or(0, |c| c.1)
    }

    pub(super) fn note(&mut self, base: Option<ValueId>, end: u32) {
        let full = self.captured.len() >= MAX_VALUES;
        match self.captured.iter_mut().find(|c| c.0 == base) {
            Some(known) => known.1 = known.1.max(end),
            None if full => {}
            None => self.captured.push((base, end)),
        }
    }

    fn has(&self, value: ValueId) -> bool {
        self.values.binary_search(&value).is_ok()
    }

    fn add(&mut self, value: ValueId) {
        if self.values.len() < MAX_VALUES
            && let Err(at) = self.values.binary_search(&value)
        {
            self.values.insert(at, value);
        }
    }
}

/// Checks: after them, evaluation cannot fail.
impl Code<'_> {
    /// All length and zero checks of a test. `needs` bytes are asked for where any must be. False
    /// if the test cannot succeed.
    pub(super) fn checks(&mut self, test: Test, needs: u32) -> bool {
        operands(test).into_iter().all(|value| self.check_value(value, needs))
            && match test {
                Test::Within(field, _) => self.check_field(field, needs),
                Test::Tuple(tuple) => {
                    let ir = self.ir;
                    ir.tuples[tuple.index()].fields.iter().all(|&(field, _)| self.check_field(field, needs))
                }
                Test::Readable(field) => {
                    field.base.into_iter().for_each(|base| self.keep(base));
                    true
                }
                _ => true,
            }
    }

    /// Recursion is as deep as the parser allows.
    fn check_value(&mut self, id: ValueId, needs: u32) -> bool {
        if self.known.has(id) {
            return true;
        }
        match self.ir.value(id) {
            Value::Const(_) | Value::Len | Value::Slot(_) | Value::Last => true,
            Value::Neg(a) => self.check_value(a, needs),
            Value::Load(field) => self.check_field(field, needs),
            Value::Bin(op, a, b) => {
                let alive = self.check_value(a, needs) && self.check_value(b, needs);
                if alive && matches!(op, Arithop::Div | Arithop::Mod) {
                    self.check_divisor(b);
                }
                alive
            }
        }
    }

    fn check_divisor(&mut self, divisor: ValueId) {
        if !matches!(self.ir.value(divisor), Value::Const(1..)) {
            self.keep(divisor);
            self.value(divisor);
            self.reject_if(Op::JEq, 1);
        }
    }

    pub(super) fn check_field(&mut self, field: Field, needs: u32) -> bool {
        let Some(end) = field.offset.checked_add(field.bytes.into()) else { return false };
        let Some(base) = field.base else {
            self.check_captured(end, needs);
            return true;
        };
        if !self.check_value(base, needs) {
            return false;
        }
        if self.known.end(Some(base)) < end {
            self.keep(base);
            self.check_behind(base, end);
            self.known.note(Some(base), end);
        }
        true
    }

    /// At least `end` bytes are captured; the check asks for `needs` at once.
    pub(super) fn check_captured(&mut self, end: u32, needs: u32) {
        if self.known.end(None) < end {
            let ask = if needs == u32::MAX { end } else { end.max(needs) };
            self.push(ask);
            self.op(Op::Pbl, 1);
            self.reject_if(Op::JCmpG, 2);
            self.known.note(None, ask);
        }
    }

    /// At least `base + end` bytes are captured, as unbounded numbers.
    fn check_behind(&mut self, base: ValueId, end: u32) {
        if greatest(self.ir, base).checked_add(end).is_some() {
            self.value(base);
            self.push(end);
            self.op(Op::Add, -1);
            self.op(Op::Pbl, 1);
            self.reject_if(Op::JCmpG, 2);
            return;
        }
        self.check_captured(end, end);
        self.value(base);
        self.op(Op::Pbl, 1);
        self.push(end);
        self.op(Op::Sub, -1);
        self.reject_if(Op::JCmpG, 2);
    }

    /// Puts an operation's result into a local, so that it is computed once.
    fn keep(&mut self, id: ValueId) {
        let simple = matches!(self.ir.value(id), Value::Const(_) | Value::Len | Value::Slot(_) | Value::Last);
        if !simple && !self.known.has(id) {
            self.compute(id);
            self.store_value(id);
        }
    }

    fn store_value(&mut self, id: ValueId) {
        let local = self.local_of(id);
        self.store(local);
        self.known.add(id);
    }

    fn local_of(&mut self, id: ValueId) -> u32 {
        if let Some(&local) = self.kept.get(&id) {
            return local;
        }
        let local = self.new_local();
        self.kept.insert(id, local);
        local
    }
}

/// Evaluation.
impl Code<'_> {
    /// Pushes a value whose checks are made.
    pub(super) fn value(&mut self, id: ValueId) {
        if self.known.has(id) {
            let local = self.local_of(id);
            return self.load(local);
        }
        self.compute(id);
        if self.plan.reused.contains(&id) {
            self.op(Op::Dup, 1);
            self.store_value(id);
        }
    }

    fn compute(&mut self, id: ValueId) {
        match self.ir.value(id) {
            Value::Const(constant) => self.push(constant),
            Value::Len => self.op(Op::PblOrig, 1),
            Value::Slot(slot) => {
                let local = self.slots[slot.index()];
                self.load(local);
            }
            Value::Last => {
                let local = self.last.unwrap_or(0);
                self.load(local);
            }
            Value::Load(field) => self.load_field(field),
            Value::Neg(a) => {
                self.value(a);
                self.op(Op::Neg, 0);
            }
            Value::Bin(op, a, b) => match header_len(self.ir, id) {
                Some(field) => {
                    self.address(field);
                    self.op(Op::IpLen, 0);
                }
                None => {
                    self.value(a);
                    self.value(b);
                    self.op(operation(op), -1);
                }
            },
        }
    }

    /// Pushes a field, or the value that stands for it in a local.
    pub(super) fn field(&mut self, field: Field) {
        match self.ir.find(Value::Load(field)) {
            Some(value) if field.bytes <= 4 => self.value(value),
            _ => self.load_field(field),
        }
    }

    /// Pushes whether the set of a tuple has the values of its fields, one behind the other.
    pub(super) fn tuple(&mut self, id: TupleId) {
        let ir = self.ir;
        let mut width = 0;
        for &(field, keep) in &ir.tuples[id.index()].fields {
            let whole = 8 * u16::from(field.bytes);
            self.address(field);
            self.wide(Op::WpLoad, whole, 0);
            if keep < whole {
                self.inst(Inst { op: Op::WSlice, imm: [whole.into(), u32::from(whole) - 1, (whole - keep).into()], extra: Extra::None }, 0);
            }
            if width > 0 {
                self.inst(Inst { op: Op::WConcat, imm: [width, keep.into(), 0], extra: Extra::None }, -1);
            }
            width += u32::from(keep);
        }
        let set = self.tuple_set(id);
        self.inst(Inst::with(Op::SetHas, set), 0);
    }

    /// Pushes where the field ends; its base is bounded, so the sum does not wrap.
    pub(super) fn end_of(&mut self, field: Field) {
        field.base.into_iter().for_each(|base| self.value(base));
        self.push(field.offset.saturating_add(field.bytes.into()));
        if field.base.is_some() {
            self.op(Op::Add, -1);
        }
    }

    fn load_field(&mut self, field: Field) {
        self.address(field);
        match field.bytes {
            1 => self.op(Op::UpLoad8, 0),
            2 => self.op(Op::UpLoad16, 0),
            4 => self.op(Op::SpLoad32, 0),
            _ => self.wide(Op::WpLoad, width(field), 0),
        }
    }

    fn address(&mut self, field: Field) {
        let Some(base) = field.base else { return self.push(field.offset) };
        self.value(base);
        if field.offset > 0 {
            self.push(field.offset);
            self.op(Op::Add, -1);
        }
    }
}

fn operation(op: Arithop) -> Op {
    match op {
        Arithop::Add => Op::Add,
        Arithop::Sub => Op::Sub,
        Arithop::Mul => Op::Mul,
        Arithop::Div => Op::Div,
        Arithop::Mod => Op::Mod,
        Arithop::And => Op::And,
        Arithop::Or => Op::Or,
        Arithop::Xor => Op::Xor,
        Arithop::Shl => Op::Shl,
        Arithop::Shr => Op::UShr,
    }
}
