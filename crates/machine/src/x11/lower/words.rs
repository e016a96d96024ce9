//! Arithmetic on lists of words.
//!
//! Constants are folded word by word, and words of which no bit can be set are constants; what
//! nobody uses is removed later.

use super::{Bit, Lower, Val, place};
use crate::x11::Refused;
use crate::x11::code::{Alu, AluOp, Flag, FlagOp, If, Move, MoveOperand, Src};
use compiler::mir::{Op as Mir, Value};
use netil::ops::{BinOp, CmpOp, UnOp};

const ZERO: Src = Src::Imm(0);

/// Words of a value of that width.
pub(super) fn count(width: u16) -> usize {
    usize::from(width.div_ceil(16))
}

/// Bits of the highest word.
fn top(width: u16) -> u16 {
    if width.is_multiple_of(16) { 0xffff } else { (1 << (width % 16)) - 1 }
}

/// Of a value that is a boolean.
pub(super) fn plain_bit(val: &Val) -> Bit {
    match val {
        Val::Bit(bit) => *bit,
        Val::Words(words) => Bit::Const(words.first().is_some_and(|word| matches!(word, Src::Imm(c) if c & 1 == 1))),
        Val::None => Bit::Const(false),
    }
}

fn not(bit: Bit) -> Bit {
    match bit {
        Bit::Const(c) => Bit::Const(!c),
        Bit::Is(is) => Bit::Is(If { holds: !is.holds, ..is }),
    }
}

/// Ones up to the highest bit.
fn below(most: u32) -> u16 {
    if most == 0 { 0 } else { (u32::MAX >> most.leading_zeros()).min(0xffff) as u16 }
}

impl Lower<'_> {
    pub(super) fn flag(&mut self) -> Flag {
        self.out.flags += 1;
        self.out.flags - 1
    }

    pub(super) fn mask(&self, src: Src) -> u16 {
        match src {
            Src::Reg(reg) => self.masks[usize::from(reg)],
            Src::Imm(value) => value,
        }
    }

    pub(super) fn val(&self, v: Value) -> Val {
        self.values.get(&v).cloned().unwrap_or(Val::None)
    }

    /// All words of a value, as many as its width has.
    pub(super) fn words_of(&mut self, v: Value) -> Vec<Src> {
        let (val, n) = (self.val(v), count(self.code().func.width(v)));
        (0..n).map(|word| self.word(&val, word)).collect()
    }

    pub(super) fn word(&mut self, val: &Val, n: usize) -> Src {
        match val {
            Val::Words(words) => words.get(n).copied().unwrap_or(ZERO),
            Val::Bit(bit) if n == 0 => self.word_of(*bit),
            Val::Bit(_) | Val::None => ZERO,
        }
    }

    fn word_of(&mut self, bit: Bit) -> Src {
        match bit {
            Bit::Const(c) => Src::Imm(c.into()),
            Bit::Is(If { flag, holds: true }) => self.alu(AluOp::Add, ZERO, ZERO, Some(flag), 1, None),
            Bit::Is(If { flag, .. }) => self.alu(AluOp::Sub, Src::Imm(1), ZERO, Some(flag), 1, None),
        }
    }

    pub(super) fn bit_of(&mut self, v: Value) -> Bit {
        match self.val(v) {
            Val::Words(words) => self.test(&[(words.first().copied().unwrap_or(ZERO), Src::Imm(1))]),
            val => plain_bit(&val),
        }
    }

    pub(super) fn alu(&mut self, op: AluOp, a: Src, b: Src, with: Option<Flag>, mask: u16, flag: Option<Flag>) -> Src {
        let dst = self.reg(mask);
        self.push(super::Op::Alu(Alu::Words { op, dst: Some(dst), flag, a, b, with }), false);
        Src::Reg(dst)
    }

    fn compare(&mut self, op: AluOp, a: Src, b: Src, with: Option<Flag>) -> Flag {
        let flag = self.flag();
        self.push(super::Op::Alu(Alu::Words { op, dst: None, flag: Some(flag), a, b, with }), false);
        flag
    }

    fn flags(&mut self, op: FlagOp, a: Bit, b: Bit) -> Bit {
        match (op, a, b) {
            (FlagOp::And, Bit::Const(c), x) | (FlagOp::And, x, Bit::Const(c)) => {
                if c {
                    x
                } else {
                    Bit::Const(false)
                }
            }
            (FlagOp::Or, Bit::Const(c), x) | (FlagOp::Or, x, Bit::Const(c)) => {
                if c {
                    Bit::Const(true)
                } else {
                    x
                }
            }
            (FlagOp::Xor, Bit::Const(c), x) | (FlagOp::Xor, x, Bit::Const(c)) => {
                if c {
                    not(x)
                } else {
                    x
                }
            }
            (_, Bit::Is(a), Bit::Is(b)) => {
                let flag = self.flag();
                self.push(super::Op::Alu(Alu::Flags { op, flag, a, b }), false);
                Bit::Is(If { flag, holds: true })
            }
        }
    }

    /// Bitwise, one word.
    fn bitwise(&mut self, op: AluOp, a: Src, b: Src) -> Src {
        let (ma, mb) = (self.mask(a), self.mask(b));
        let whole = |mask: u16, c: Src| op == AluOp::And && matches!(c, Src::Imm(c) if mask & !c == 0);
        match (a, b) {
            (Src::Imm(a), Src::Imm(b)) => Src::Imm(op.eval(a, b, None).0),
            _ if op == AluOp::And && ma & mb == 0 => ZERO,
            _ if whole(ma, b) => a,
            _ if whole(mb, a) => b,
            (x, ZERO) | (ZERO, x) if op != AluOp::And => x,
            _ => self.alu(op, a, b, None, if op == AluOp::And { ma & mb } else { ma | mb }, None),
        }
    }

    /// Sum or difference.
    pub(super) fn sum(&mut self, a: &[Src], b: &[Src], subtract: bool) -> Vec<Src> {
        let (mut with, mut all) = (None, Vec::new());
        let op = if subtract { AluOp::Sub } else { AluOp::Add };
        for (a, b) in a.iter().zip(b) {
            let (ma, mb) = (u32::from(self.mask(*a)), u32::from(self.mask(*b)));
            let word = match (*a, *b, with) {
                (x, ZERO, None) => x,
                (ZERO, x, None) if !subtract => x,
                (Src::Imm(x), Src::Imm(y), None) if !op.eval(x, y, None).1 => Src::Imm(op.eval(x, y, None).0),
                _ => {
                    let most = ma + mb + u32::from(with.is_some());
                    let over = subtract || most > 0xffff;
                    let flag = over.then(|| self.flag());
                    let word = self.alu(op, *a, *b, with, if over { 0xffff } else { below(most) }, flag);
                    with = flag;
                    word
                }
            };
            all.push(word);
        }
        all
    }

    pub(super) fn shifted(&mut self, op: AluOp, a: Src, by: u16) -> Src {
        let mask = op.eval(self.mask(a), by, None).0;
        match a {
            _ if by == 0 => a,
            _ if mask == 0 => ZERO,
            Src::Imm(a) => Src::Imm(op.eval(a, by, None).0),
            Src::Reg(_) => self.alu(op, a, Src::Imm(by), None, mask, None),
        }
    }

    /// Shifted by a constant.
    fn shift(&mut self, words: &[Src], by: usize, left: bool) -> Vec<Src> {
        let (whole, bits) = ((by / 16) as isize, (by % 16) as u16);
        let (op, other, step) = if left { (AluOp::Shl, AluOp::Shr, -1) } else { (AluOp::Shr, AluOp::Shl, 1) };
        let at = |n: isize| usize::try_from(n).ok().and_then(|n| words.get(n)).copied().unwrap_or(ZERO);
        (0..words.len() as isize)
            .map(|n| {
                let near = self.shifted(op, at(n + step * whole), bits);
                let far = if bits == 0 { ZERO } else { self.shifted(other, at(n + step * (whole + 1)), 16 - bits) };
                self.bitwise(AluOp::Or, near, far)
            })
            .collect()
    }

    /// A signed number of that width in so many words.
    fn extended(&mut self, mut words: Vec<Src>, width: u16, to: usize) -> Vec<Src> {
        let (top, bit) = (usize::from(width - 1) / 16, (width - 1) % 16);
        let highest = words.get(top).copied().unwrap_or(ZERO);
        let sign = self.shifted(AluOp::Shr, highest, bit);
        let signs = self.sum(&[ZERO], &[sign], true)[0];
        words.resize(to, signs);
        if bit < 15 && top < to {
            let above = self.shifted(AluOp::Shl, signs, bit + 1);
            words[top] = self.bitwise(AluOp::Or, highest, above);
        }
        words
    }

    /// Only so many bits of the highest word.
    fn fitted(&mut self, mut words: Vec<Src>, width: u16) -> Val {
        words.resize(count(width), ZERO);
        if let Some(last) = words.pop() {
            let last = self.bitwise(AluOp::And, last, Src::Imm(top(width)));
            words.push(last);
        }
        match width {
            1 => Val::Bit(self.test(&[(words[0], Src::Imm(1))])),
            _ => Val::Words(words),
        }
    }

    pub(super) fn equal(&mut self, a: &[Src], b: &[Src]) -> Bit {
        let mut with = None;
        for (a, b) in a.iter().zip(b) {
            let never = |x: u16, mask: u16| x & !mask != 0;
            match (*a, *b) {
                (x, y) if x == y => continue,
                (Src::Imm(_), Src::Imm(_)) => return Bit::Const(false),
                (Src::Imm(x), y) | (y, Src::Imm(x)) if never(x, self.mask(y)) => return Bit::Const(false),
                (x, y) => with = Some(self.compare(AluOp::Eq, x, y, with)),
            }
        }
        with.map_or(Bit::Const(true), |flag| Bit::Is(If { flag, holds: true }))
    }

    /// Whether one of the pairs has bits in common.
    fn test(&mut self, pairs: &[(Src, Src)]) -> Bit {
        let mut with = None;
        for (a, b) in pairs {
            if let (Src::Imm(a), Src::Imm(b)) = (a, b)
                && a & b != 0
            {
                return Bit::Const(true);
            }
            if self.mask(*a) & self.mask(*b) != 0 {
                with = Some(self.compare(AluOp::Test, *a, *b, with));
            }
        }
        with.map_or(Bit::Const(false), |flag| Bit::Is(If { flag, holds: true }))
    }

    pub(super) fn less(&mut self, a: &[Src], b: &[Src], signed: bool) -> Bit {
        let mut with = None;
        let words = a.len();
        for (n, (a, b)) in a.iter().zip(b).enumerate() {
            let op = if signed && n + 1 == words { AluOp::Lts } else { AluOp::Lt };
            match (*a, *b, with) {
                (ZERO, ZERO, _) => {}
                (_, ZERO, None) if op == AluOp::Lt => {}
                (x, y, _) => with = Some(self.compare(op, x, y, with)),
            }
        }
        with.map_or(Bit::Const(false), |flag| Bit::Is(If { flag, holds: true }))
    }

    /// What only computes.
    pub(super) fn arithmetic(&mut self, op: &Mir, width: u16) -> Result<Val, Refused> {
        Ok(match op {
            Mir::Const(c) if width == 1 => Val::Bit(Bit::Const(c & 1 == 1)),
            Mir::Const(c) => Val::Words((0..count(width)).map(|n| Src::Imm(if n < 4 { (c >> (16 * n)) as u16 } else { 0 })).collect()),
            Mir::WideConst(limbs) => {
                let word = |n: usize| (limbs.get(n / 4).copied().unwrap_or(0) >> (16 * (n % 4))) as u16;
                Val::Words((0..count(width)).map(|n| Src::Imm(word(n))).collect())
            }
            Mir::Bin(bin, a, b) => return self.binary(*bin, *a, *b, width),
            Mir::Un(un, a) => return self.unary(*un, *a, width),
            Mir::Cmp(cmp, a, b) => Val::Bit(self.comparison(*cmp, *a, *b)),
            Mir::Zext(a) => match self.val(*a) {
                Val::Words(mut words) => {
                    words.resize(count(width), ZERO);
                    Val::Words(words)
                }
                val => val,
            },
            Mir::Trunc(a) => match self.val(*a) {
                val @ Val::Bit(_) => val,
                _ => {
                    let words = self.words_of(*a);
                    self.fitted(words, width)
                }
            },
            Mir::Slice(a, from) => {
                let words = self.words_of(*a);
                let words = self.shift(&words, (*from).into(), false);
                self.fitted(words, width)
            }
            Mir::Concat(high, low) => self.concat(*high, *low, width),
            Mir::Select(c, a, b) => self.select(*c, *a, *b),
            Mir::Div(..) | Mir::NonZero(..) => return self.refuse("a division: the pipeline's arithmetic has none"),
            Mir::Checked(..) => return self.refuse("arithmetic that traps: the pipeline's has none"),
            Mir::Sext(a) => {
                let words = self.words_of(*a);
                let words = self.extended(words, self.code().func.width(*a), count(width));
                self.fitted(words, width)
            }
            _ => return self.refuse("an operation that the pipeline's arithmetic does not have"),
        })
    }

    fn binary(&mut self, bin: BinOp, a: Value, b: Value, width: u16) -> Result<Val, Refused> {
        if let (Val::Bit(x), Val::Bit(y), Some(op)) = (self.val(a), self.val(b), flag_op(bin)) {
            return Ok(Val::Bit(self.flags(op, x, y)));
        }
        let constant = self.code().func.constant(b);
        let (x, y) = (self.words_of(a), self.words_of(b));
        let words = match bin {
            BinOp::Add | BinOp::Sub => self.sum(&x, &y, bin == BinOp::Sub),
            BinOp::And => self.each(AluOp::And, &x, &y),
            BinOp::Or => self.each(AluOp::Or, &x, &y),
            BinOp::Xor => self.each(AluOp::Xor, &x, &y),
            BinOp::Shl | BinOp::UShr => match constant {
                Some(by) => self.shift(&x, by.min(u64::from(width)) as usize, bin == BinOp::Shl),
                None => return self.refuse("a shift by what is no constant: words are shifted by constants"),
            },
            BinOp::Shr => match constant {
                Some(by) => {
                    let by = by.min(u64::from(width) - 1) as usize;
                    let long = self.extended(x, width, count(width) + by / 16 + 1);
                    self.shift(&long, by, false)
                }
                None => return self.refuse("a shift by what is no constant: words are shifted by constants"),
            },
            BinOp::Mul => match constant.filter(|c| c.is_power_of_two()) {
                Some(c) => self.shift(&x, c.trailing_zeros() as usize, true),
                None => return self.refuse("a multiplication: the pipeline's arithmetic has none but by powers of two"),
            },
            _ => return self.refuse(format!("the operation {bin:?}: the pipeline's arithmetic has none")),
        };
        Ok(self.fitted(words, width))
    }

    fn each(&mut self, op: AluOp, a: &[Src], b: &[Src]) -> Vec<Src> {
        a.iter().zip(b).map(|(a, b)| self.bitwise(op, *a, *b)).collect()
    }

    fn unary(&mut self, un: UnOp, a: Value, width: u16) -> Result<Val, Refused> {
        if let (UnOp::Not, Val::Bit(bit)) = (un, self.val(a)) {
            return Ok(Val::Bit(not(bit)));
        }
        let x = self.words_of(a);
        let words = match un {
            UnOp::Not => self.each(AluOp::Xor, &x, &vec![Src::Imm(0xffff); x.len()]),
            UnOp::Neg => self.sum(&vec![ZERO; x.len()], &x, true),
            UnOp::Bswap => {
                // Bytes of words that are too many fall out at the end.
                let swapped: Vec<Src> = x.iter().rev().map(|word| self.swapped(*word)).collect();
                let spare = x.len() * 16 - usize::from(width);
                self.shift(&swapped, spare, false)
            }
            UnOp::Clz | UnOp::FindBit => return self.refuse(format!("the operation {un:?}: the pipeline's arithmetic has none")),
        };
        Ok(self.fitted(words, width))
    }

    fn swapped(&mut self, word: Src) -> Src {
        let (up, down) = (self.shifted(AluOp::Shl, word, 8), self.shifted(AluOp::Shr, word, 8));
        self.bitwise(AluOp::Or, up, down)
    }

    fn comparison(&mut self, cmp: CmpOp, a: Value, b: Value) -> Bit {
        let zero = self.code().func.constant(b) == Some(0);
        if let (CmpOp::Eq | CmpOp::Ne, true) = (cmp, zero) {
            let masked = match self.code().func.op(a) {
                Some(Mir::Bin(BinOp::And, x, m)) => Some((*x, *m)),
                _ => None,
            };
            let bit = match (self.val(a), masked) {
                (Val::Bit(bit), _) => bit,
                (_, Some((x, m))) => {
                    let pairs: Vec<_> = self.words_of(x).into_iter().zip(self.words_of(m)).collect();
                    self.test(&pairs)
                }
                _ => {
                    let pairs: Vec<_> = self.words_of(a).into_iter().map(|word| (word, Src::Imm(0xffff))).collect();
                    self.test(&pairs)
                }
            };
            return if cmp == CmpOp::Ne { bit } else { not(bit) };
        }
        if let (Val::Bit(x), Val::Bit(y), CmpOp::Eq | CmpOp::Ne) = (self.val(a), self.val(b), cmp) {
            let differ = self.flags(FlagOp::Xor, x, y);
            return if cmp == CmpOp::Ne { differ } else { not(differ) };
        }
        let signed = matches!(cmp, CmpOp::Lts | CmpOp::Les | CmpOp::Gts | CmpOp::Ges);
        let (x, y) = (self.words_of(a), self.words_of(b));
        let (x, y) = if signed { self.signed(x, y, self.code().func.width(a)) } else { (x, y) };
        match cmp {
            CmpOp::Eq => self.equal(&x, &y),
            CmpOp::Ne => not(self.equal(&x, &y)),
            CmpOp::Lt | CmpOp::Lts => self.less(&x, &y, signed),
            CmpOp::Gt | CmpOp::Gts => self.less(&y, &x, signed),
            CmpOp::Le | CmpOp::Les => not(self.less(&y, &x, signed)),
            CmpOp::Ge | CmpOp::Ges => not(self.less(&x, &y, signed)),
        }
    }

    /// Signs where the machine looks for them: in the highest bit of the highest word.
    fn signed(&mut self, x: Vec<Src>, y: Vec<Src>, width: u16) -> (Vec<Src>, Vec<Src>) {
        let by = count(width) * 16 - usize::from(width);
        (self.shift(&x, by, true), self.shift(&y, by, true))
    }

    fn concat(&mut self, high: Value, low: Value, width: u16) -> Val {
        let by = usize::from(self.code().func.width(low));
        let (mut h, mut l) = (self.words_of(high), self.words_of(low));
        h.resize(count(width), ZERO);
        l.resize(count(width), ZERO);
        let h = self.shift(&h, by, true);
        let words = self.each(AluOp::Or, &h, &l);
        self.fitted(words, width)
    }

    fn select(&mut self, c: Value, a: Value, b: Value) -> Val {
        let guard = match self.bit_of(c) {
            Bit::Const(c) => return self.val(if c { a } else { b }),
            Bit::Is(is) => is,
        };
        if let (Val::Bit(x), Val::Bit(y)) = (self.val(a), self.val(b)) {
            let yes = self.flags(FlagOp::And, Bit::Is(guard), x);
            let no = self.flags(FlagOp::And, not(Bit::Is(guard)), y);
            return Val::Bit(self.flags(FlagOp::Or, yes, no));
        }
        let (x, y) = (self.words_of(a), self.words_of(b));
        let chosen = x.into_iter().zip(y).map(|(x, y)| if x == y { x } else { self.chosen(guard, x, y) }).collect();
        Val::Words(chosen)
    }

    pub(super) fn chosen(&mut self, guard: If, x: Src, y: Src) -> Src {
        let reg = self.reg(self.mask(x) | self.mask(y));
        let to = MoveOperand::Reg(reg);
        let first = self.push(super::Op::Move(Move { guard: None, to, from: place(y) }), false);
        let second = self.push(super::Op::Move(Move { guard: Some(guard), to, from: place(x) }), false);
        self.out.steps[second].after = Some(first);
        Src::Reg(reg)
    }
}

fn flag_op(bin: BinOp) -> Option<FlagOp> {
    Some(match bin {
        BinOp::And => FlagOp::And,
        BinOp::Or => FlagOp::Or,
        BinOp::Xor => FlagOp::Xor,
        _ => return None,
    })
}
