//! Expressions and statements of P4 by chance: their text, and what they mean as the language
//! specification says it.

use super::Chance;
use netvm::p4::BigInt;

/// A variable: how it is written, its bits, whether it is signed. Its value has the same place in
/// [`World::values`].
#[derive(Clone, Debug)]
pub(crate) struct Var {
    pub text: String,
    pub width: u32,
    pub signed: bool,
    /// The header that it is a field of.
    pub header: Option<usize>,
}

/// What a program works on: variables, and which headers are valid.
#[derive(Clone, Debug, Default)]
pub(crate) struct World {
    pub values: Vec<BigInt>,
    pub valid: Vec<bool>,
}

/// Where control goes behind a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Goes {
    On,
    Break,
    Continue,
    Return,
    Exit,
}

pub(crate) type Meaning<T> = Box<dyn Fn(&World) -> T>;
pub(crate) type Effect = Box<dyn Fn(&mut World) -> Goes>;
pub(crate) type Expression<T> = (String, Meaning<T>);
pub(crate) type Statement = (String, Effect);

/// The value that has those low bits.
pub(crate) fn wrap(value: &BigInt, width: u32, signed: bool) -> BigInt {
    let one = BigInt::from(1);
    let low: BigInt = value & ((&one << width) - &one);
    if signed && low >= (&one << (width - 1)) { low - (one << width) } else { low }
}

fn clamp(value: BigInt, width: u32, signed: bool) -> BigInt {
    let one = BigInt::from(1);
    let (low, high) = if signed { (-(&one << (width - 1)), (&one << (width - 1)) - 1) } else { (BigInt::from(0), (&one << width) - 1) };
    value.clamp(low, high)
}

pub(crate) fn type_of(width: u32, signed: bool) -> String {
    if signed { format!("int<{width}>") } else { format!("bit<{width}>") }
}

/// What expressions may name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    /// All variables; those of the first numbers exist everywhere.
    pub vars: Vec<Var>,
    /// Which of them are there.
    pub seen: Vec<usize>,
    /// How headers are written.
    pub headers: Vec<String>,
    /// Only what the language defines and p4c's back end for BMv2 takes: fields of valid headers
    /// are read, there are no quotients, and bits are written to unsigned numbers only.
    pub careful: bool,
}

impl Scope {
    /// A variable of that type, if there is one.
    fn like(&self, chance: &mut Chance, width: u32, signed: bool) -> Option<usize> {
        let all: Vec<usize> =
            self.seen.iter().copied().filter(|n| (self.vars[*n].width, self.vars[*n].signed) == (width, signed)).collect();
        (!all.is_empty()).then(|| all[chance.below(all.len() as u64) as usize])
    }

    pub fn any(&self, chance: &mut Chance) -> usize {
        self.seen[chance.below(self.seen.len() as u64) as usize]
    }

    fn leaf(&self, chance: &mut Chance, width: u32, signed: bool) -> Expression<BigInt> {
        let shown = |value: &BigInt| if signed { format!("(int<{width}>){width}w{value}") } else { format!("{width}w{value}") };
        if let Some(n) = self.like(chance, width, signed).filter(|_| chance.below(4) > 0) {
            let text = self.vars[n].text.clone();
            return match self.vars[n].header.filter(|_| self.careful) {
                None => (text, Box::new(move |w| w.values[n].clone())),
                Some(h) => {
                    let text = format!("({}.isValid() ? {text} : ({}))", format_args!("h.h{h}"), shown(&BigInt::from(0)));
                    (text, Box::new(move |w| if w.valid[h] { w.values[n].clone() } else { BigInt::from(0) }))
                }
            };
        }
        let value = chance.number(width);
        let text = shown(&value);
        let value = wrap(&value, width, signed);
        (format!("({text})"), Box::new(move |_| value.clone()))
    }

    /// An expression of that type.
    pub fn number(&self, chance: &mut Chance, width: u32, signed: bool, depth: u32) -> Expression<BigInt> {
        if depth == 0 {
            return self.leaf(chance, width, signed);
        }
        match chance.below(12) {
            0..=3 => self.binary(chance, width, signed, depth),
            4 => {
                let (a, x) = self.number(chance, width, signed, depth - 1);
                let minus = chance.below(2) == 0;
                let text = format!("({}{a})", if minus { "-" } else { "~" });
                (text, Box::new(move |w| wrap(&if minus { -x(w) } else { -x(w) - 1 }, width, signed)))
            }
            5 => self.shifted(chance, width, signed, depth),
            6 => {
                let (condition, holds) = self.condition(chance, depth - 1);
                let ((a, x), (b, y)) = (self.number(chance, width, signed, depth - 1), self.number(chance, width, signed, depth - 1));
                (format!("({condition} ? {a} : {b})"), Box::new(move |w| if holds(w) { x(w) } else { y(w) }))
            }
            7 => {
                // Of another width, or of another sign.
                let other = [1, 7, 8, 16, 33, 64][chance.below(6) as usize];
                let same = chance.below(2) == 0;
                let (from, of) = if same { (width, !signed) } else { (other, signed) };
                let (a, x) = self.number(chance, from, of, depth - 1);
                (format!("(({}){a})", type_of(width, signed)), Box::new(move |w| wrap(&x(w), width, signed)))
            }
            8 if !signed => {
                let more = chance.below(20) as u32;
                let low = chance.below(u64::from(more) + 1) as u32;
                let of = width + more > 1 && chance.below(3) == 0;
                let (a, x) = self.number(chance, width + more, of, depth - 1);
                let text = format!("({a}[{}:{low}])", low + width - 1);
                (text, Box::new(move |w| wrap(&(x(w) >> low), width, false)))
            }
            9 if !signed && width > 1 => {
                let low = 1 + chance.below(u64::from(width) - 1) as u32;
                let ((a, x), (b, y)) = (self.number(chance, width - low, false, depth - 1), self.number(chance, low, false, depth - 1));
                (format!("({a} ++ {b})"), Box::new(move |w| (x(w) << low) + y(w)))
            }
            10 if width == 1 && !signed => {
                let (condition, holds) = self.condition(chance, depth - 1);
                (format!("((bit<1>){condition})"), Box::new(move |w| u8::from(holds(w)).into()))
            }
            _ => self.leaf(chance, width, signed),
        }
    }

    fn binary(&self, chance: &mut Chance, width: u32, signed: bool, depth: u32) -> Expression<BigInt> {
        let ((a, x), (b, y)) = (self.number(chance, width, signed, depth - 1), self.number(chance, width, signed, depth - 1));
        let ops = ["+", "-", "*", "&", "|", "^", "|+|", "|-|", "/", "%"];
        let op = ops[chance.below(if signed || self.careful { 8 } else { 10 }) as usize];
        if let "/" | "%" = op {
            let by: BigInt = chance.number(width.min(20)) + 1;
            let by = if by.bits() > u64::from(width) { BigInt::from(1) } else { by };
            let text = format!("({a} {op} {width}w{by})");
            return (text, Box::new(move |w| if op == "/" { x(w) / &by } else { x(w) % &by }));
        }
        let meaning = move |w: &World| {
            let (x, y) = (x(w), y(w));
            match op {
                "+" => wrap(&(x + y), width, signed),
                "-" => wrap(&(x - y), width, signed),
                "*" => wrap(&(x * y), width, signed),
                "&" => x & y,
                "|" => x | y,
                "^" => x ^ y,
                "|+|" => clamp(x + y, width, signed),
                _ => clamp(x - y, width, signed),
            }
        };
        (format!("({a} {op} {b})"), Box::new(meaning))
    }

    fn shifted(&self, chance: &mut Chance, width: u32, signed: bool, depth: u32) -> Expression<BigInt> {
        let (a, x) = self.number(chance, width, signed, depth - 1);
        let left = chance.below(2) == 0;
        let (by, amount): Expression<BigInt> = if chance.below(2) == 0 {
            let by = chance.below(u64::from(width) + 4);
            (by.to_string(), Box::new(move |_| by.into()))
        } else {
            self.number(chance, 8, false, depth - 1)
        };
        let meaning = move |w: &World| {
            let by = amount(w).iter_u64_digits().next().unwrap_or(0);
            if left { wrap(&(x(w) << by), width, signed) } else { x(w) >> by }
        };
        (format!("({a} {} {by})", if left { "<<" } else { ">>" }), Box::new(meaning))
    }

    /// A condition.
    pub fn condition(&self, chance: &mut Chance, depth: u32) -> Expression<bool> {
        match chance.below(6) {
            0 if !self.headers.is_empty() => {
                let n = chance.below(self.headers.len() as u64) as usize;
                (format!("{}.isValid()", self.headers[n]), Box::new(move |w| w.valid[n]))
            }
            1 if depth > 0 => {
                let (a, x) = self.condition(chance, depth - 1);
                (format!("(!{a})"), Box::new(move |w| !x(w)))
            }
            2 if depth > 0 => {
                let ((a, x), (b, y)) = (self.condition(chance, depth - 1), self.condition(chance, depth - 1));
                let and = chance.below(2) == 0;
                let text = format!("({a} {} {b})", if and { "&&" } else { "||" });
                (text, Box::new(move |w| if and { x(w) && y(w) } else { x(w) || y(w) }))
            }
            _ => {
                let var = &self.vars[self.any(chance)];
                let (width, signed) = (var.width, var.signed);
                let depth = depth.min(1);
                let ((a, x), (b, y)) = (self.number(chance, width, signed, depth), self.number(chance, width, signed, depth));
                let op = ["==", "!=", "<", "<=", ">", ">="][chance.below(6) as usize];
                let meaning = move |w: &World| {
                    let (x, y) = (x(w), y(w));
                    match op {
                        "==" => x == y,
                        "!=" => x != y,
                        "<" => x < y,
                        "<=" => x <= y,
                        ">" => x > y,
                        _ => x >= y,
                    }
                };
                (format!("({a} {op} {b})"), Box::new(meaning))
            }
        }
    }

    /// An assignment to a variable or to some of its bits.
    pub fn assignment(&self, chance: &mut Chance, to: usize, depth: u32) -> Statement {
        let Var { text, width, signed, .. } = self.vars[to].clone();
        if width > 2 && chance.below(4) == 0 && !(signed && self.careful) {
            let low = chance.below(u64::from(width) - 1) as u32;
            let size = 1 + chance.below(u64::from(width - low)) as u32;
            let (value, x) = self.number(chance, size, false, depth);
            let effect = move |w: &mut World| {
                let mask: BigInt = ((BigInt::from(1) << size) - 1) << low;
                let new = x(w) << low;
                let old = wrap(&w.values[to], width, false);
                let kept = &old - (&old & &mask);
                w.values[to] = wrap(&(kept + new), width, signed);
                Goes::On
            };
            return (format!("{text}[{}:{low}] = {value};\n", low + size - 1), Box::new(effect));
        }
        let (value, x) = self.number(chance, width, signed, depth);
        let effect = move |w: &mut World| {
            w.values[to] = x(w);
            Goes::On
        };
        (format!("{text} = {value};\n"), Box::new(effect))
    }
}
