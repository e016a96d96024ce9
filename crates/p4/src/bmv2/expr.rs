//! Expressions: numbers without bounds in the file, numbers of a width in P4.
//!
//! A number is computed modulo 2^w where only its low w bits are wanted, which addition and its
//! like allow; elsewhere in as many bits as hold all values that it can have, which [`Expr::range`]
//! finds. Registers that are read stand in statements in front of the one with the expression.

use super::field::{FieldRef, Kind};
use super::json::{Node, Read};
use super::layout::{Group, Layout};
use num_bigint::{BigInt, Sign};
use num_traits::{One, Signed, ToPrimitive, Zero};
use std::collections::HashMap;

/// The most bits that a number is computed in.
const MAX_BITS: u64 = netil::wide::MAX_WIDTH as u64;

/// A parameter of an action.
#[derive(Clone, Debug)]
pub(super) struct Param {
    pub ident: String,
    pub width: u32,
}

/// A register: how it is called, bits of a cell.
pub(super) type Registers = HashMap<String, (String, u32)>;

/// Where expressions stand.
pub(super) struct Scope<'a> {
    pub layout: &'a Layout,
    pub registers: &'a Registers,
    /// Errors by number.
    pub errors: &'a [(String, BigInt)],
    /// Of the action.
    pub params: &'a [Param],
    /// Statements that go before.
    pub before: Vec<String>,
    /// How many variables there are.
    pub temps: u32,
}

/// The least and the greatest value.
type Range = (BigInt, BigInt);

fn ones(width: u64) -> BigInt {
    (BigInt::one() << width) - 1
}

/// Bits of an unsigned number up to that one, at least 1.
fn bits(value: &BigInt) -> u64 {
    value.bits().max(1)
}

/// The bits that hold all numbers of a range, and whether they are signed.
fn fitting((low, high): &Range) -> (u64, bool) {
    if low.sign() != Sign::Minus {
        return (bits(high), false);
    }
    let below = (-low - 1u32).bits();
    (below.max(if high.is_positive() { high.bits() } else { 0 }) + 1, true)
}

pub(super) fn literal(value: &BigInt, width: u64) -> String {
    format!("{width}w{}", value & ones(width))
}

fn cast(text: &str, from: u64, to: u64) -> String {
    if from == to { text.to_owned() } else { format!("(bit<{to}>)({text})") }
}

/// Operator, left side and right side.
fn parts<'a>(node: &Node<'a>) -> Read<(&'a str, Option<Node<'a>>, Node<'a>)> {
    Ok((node.need("op")?.text()?, node.get("left"), node.need("right")?))
}

/// What is inside of values whose type is `expression` and whose value has a type again.
pub(super) fn inner<'a>(node: &Node<'a>) -> Read<Node<'a>> {
    let mut node = node.clone();
    while node.get("type").is_some() && node.need("type")?.text()? == "expression" {
        node = node.need("value")?;
    }
    Ok(node)
}

impl Scope<'_> {
    fn place_range(place: &FieldRef, node: &Node<'_>) -> Read<Range> {
        match place.kind {
            Kind::Bits(w) => Ok((BigInt::zero(), ones(w.into()))),
            Kind::Signed(w) => Ok((-(BigInt::one() << (w - 1)), ones(u64::from(w) - 1))),
            Kind::Valid => Ok((BigInt::zero(), BigInt::one())),
            Kind::Error => Ok((BigInt::zero(), ones(31))),
            Kind::Varying(_) => node.wrong("a field of varying length is no number"),
        }
    }

    /// A field, if that is one.
    pub fn place(&mut self, node: &Node<'_>) -> Read<Option<FieldRef>> {
        if node.get("op").is_some() {
            let (op, left, right) = parts(node)?;
            return match (op, left) {
                ("access_field", Some(left)) => {
                    let (place, ty) = self.header(&left)?;
                    self.layout.nth(ty, &place, &right).map(Some)
                }
                _ => Ok(None),
            };
        }
        let (what, value) = node.typed()?;
        match what {
            "field" => self.layout.field(&value).map(Some),
            "stack_field" => {
                let [stack, field] = value.just()?;
                let group = group(&self.layout.stacks, &stack)?;
                self.layout.member(group.ty, &format!("{}.last", group.place), &field).map(Some)
            }
            "union_stack_field" => {
                let [stack, member, field] = value.just()?;
                let (place, ty) = self.union_member(&stack, &member, "last")?;
                self.layout.member(ty, &place, &field).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// The member of a union of a stack.
    pub fn union_member(&self, stack: &Node<'_>, member: &Node<'_>, which: &str) -> Read<(String, usize)> {
        let group = group(&self.layout.union_stacks, stack)?;
        let name = member.text()?;
        match self.layout.unions[group.ty].members.iter().find(|(n, _)| n == name) {
            Some((ident, ty)) => Ok((format!("{}.{which}.{ident}", group.place), *ty)),
            None => member.wrong(format!("the union has no member `{name}`")),
        }
    }

    /// A header: how it is written, and its type.
    pub fn header(&mut self, node: &Node<'_>) -> Read<(String, usize)> {
        let node = inner(node)?;
        if node.get("op").is_none() {
            let (what, value) = node.typed()?;
            return match what {
                "header" => self.layout.header(&value).map(|i| (i.place.clone(), i.ty)),
                "stack" => group(&self.layout.stacks, &value).map(|g| (format!("{}.next", g.place), g.ty)),
                other => node.wrong(format!("expected a header, and this is of type `{other}`")),
            };
        }
        let (op, left, right) = parts(&node)?;
        match (op, left) {
            ("dereference_header_stack", Some(left)) => {
                let group = self.stack(&left)?;
                Ok((format!("{}[{}]", group.place, self.index(&right)?), group.ty))
            }
            ("access_union_header", Some(left)) => {
                let union = self.union(&left)?;
                let n = right.number()? as usize;
                match self.layout.unions[union.ty].members.get(n) {
                    Some((ident, ty)) => Ok((format!("{}.{ident}", union.place), *ty)),
                    None => right.wrong("the union has no such member"),
                }
            }
            _ => node.wrong(format!("`{op}` gives no header")),
        }
    }

    fn index(&mut self, node: &Node<'_>) -> Read<String> {
        let value = inner(node)?;
        match value.get("value").and_then(|v| v.hex().ok()) {
            Some(n) if value.typed()?.0 == "hexstr" => Ok(n.to_string()),
            _ => self.modulo(node, 32),
        }
    }

    pub fn stack(&self, node: &Node<'_>) -> Read<Group> {
        let node = inner(node)?;
        match node.typed()? {
            ("header_stack", value) => group(&self.layout.stacks, &value),
            ("header_union_stack", value) => group(&self.layout.union_stacks, &value),
            (other, _) => node.wrong(format!("expected a stack, and this is of type `{other}`")),
        }
    }

    pub fn union(&mut self, node: &Node<'_>) -> Read<Group> {
        let node = inner(node)?;
        if node.get("op").is_some() {
            let (op, left, right) = parts(&node)?;
            return match (op, left) {
                ("dereference_union_stack", Some(left)) => {
                    let stack = self.stack(&left)?;
                    Ok(Group { place: format!("{}[{}]", stack.place, self.index(&right)?), ..stack })
                }
                _ => node.wrong(format!("`{op}` gives no union")),
            };
        }
        match node.typed()? {
            ("header_union", value) => group(&self.layout.union_places, &value),
            (other, _) => node.wrong(format!("expected a union, and this is of type `{other}`")),
        }
    }

    /// The values that a number can have.
    pub fn range(&mut self, node: &Node<'_>) -> Read<Range> {
        let (node, statements) = (&inner(node)?, self.before.len());
        let place = self.place(node)?;
        // What an index needs is written where the number is.
        self.before.truncate(statements);
        if let Some(place) = place {
            return Self::place_range(&place, node);
        }
        if node.get("op").is_none() {
            let (what, value) = node.typed()?;
            return match what {
                "hexstr" => value.hex().map(|v| (v.clone(), v)),
                "local" | "runtime_data" => self.param(&value).map(|p| (BigInt::zero(), ones(p.width.into()))),
                "register" => {
                    let [name, _] = value.just()?;
                    self.register(&name).map(|(_, width)| (BigInt::zero(), ones(width.into())))
                }
                "lookahead" => {
                    let [_, width] = value.just()?;
                    Ok((BigInt::zero(), ones(width.small(MAX_BITS as u32)?.max(1).into())))
                }
                other => node.wrong(format!("expected a number, and this is of type `{other}`")),
            };
        }
        let found = self.range_of(node)?;
        if fitting(&found).0 > MAX_BITS {
            return node.wrong(format!("this number may have more than {MAX_BITS} bits"));
        }
        Ok(found)
    }

    fn range_of(&mut self, node: &Node<'_>) -> Read<Range> {
        let (op, left, right) = parts(node)?;
        if let Some(known) = self.range_of_one(op, node, &right)? {
            return Ok(known);
        }
        let Some(left) = left else { return node.wrong(format!("`{op}` has a left side")) };
        if let "two_comp_mod" | "sat_cast" | "usat_cast" = op {
            let width = u64::from(constant_width(&right)?);
            return Ok(if op == "usat_cast" { (BigInt::zero(), ones(width)) } else { (-(BigInt::one() << (width - 1)), ones(width - 1)) });
        }
        let (a, b) = (self.range(&left)?, self.range(&right)?);
        let natural = a.0.sign() != Sign::Minus && b.0.sign() != Sign::Minus;
        Ok(match op {
            "+" => (a.0 + b.0, a.1 + b.1),
            "-" => (a.0 - b.1, a.1 - b.0),
            "*" => extremes([&a.0 * &b.0, &a.0 * &b.1, &a.1 * &b.0, &a.1 * &b.1]),
            "&" if natural => (BigInt::zero(), a.1.min(b.1)),
            // One mask is enough.
            "&" if a.0.sign() != Sign::Minus => (BigInt::zero(), a.1),
            "&" if b.0.sign() != Sign::Minus => (BigInt::zero(), b.1),
            "&" | "|" | "^" => {
                let width = fitting(&a).0.max(fitting(&b).0) + u64::from(!natural);
                if natural { (BigInt::zero(), ones(width)) } else { (-(BigInt::one() << (width - 1)), ones(width - 1)) }
            }
            "<<" => {
                let by = shift(&b, node)?;
                extremes([&a.0 << by, &a.1 << by, a.0, a.1])
            }
            ">>" => (a.0.min(BigInt::zero()), a.1.max(BigInt::zero())),
            "/" | "%" if natural => (BigInt::zero(), a.1),
            "/" | "%" => return node.wrong(format!("`{op}` of numbers that may be negative is not supported")),
            other => return node.wrong(format!("`{other}` gives no number")),
        })
    }

    /// Operations that have no left side, or not only numbers.
    fn range_of_one(&mut self, op: &str, node: &Node<'_>, right: &Node<'_>) -> Read<Option<Range>> {
        Ok(Some(match op {
            "b2d" => (BigInt::zero(), BigInt::one()),
            "last_stack_index" | "size_stack" => (BigInt::zero(), ones(32)),
            "~" => {
                let (low, high) = self.range(right)?;
                (-high - 1, -low - 1)
            }
            "-" if node.get("left").is_none() => {
                let (low, high) = self.range(right)?;
                (-high, -low)
            }
            "+" if node.get("left").is_none() => self.range(right)?,
            "?" => {
                let (a, b) = (self.range(&node.need("left")?)?, self.range(right)?);
                (a.0.min(b.0), a.1.max(b.1))
            }
            _ => return Ok(None),
        }))
    }

    fn param(&self, node: &Node<'_>) -> Read<Param> {
        match self.params.get(node.number()? as usize) {
            Some(param) => Ok(param.clone()),
            None => node.wrong(format!("the action has {} parameters", self.params.len())),
        }
    }

    pub fn register(&self, node: &Node<'_>) -> Read<(String, u32)> {
        let name = node.text()?;
        self.registers.get(name).cloned().map_or_else(|| node.wrong(format!("no register is called `{name}`")), Ok)
    }

    /// A new variable.
    pub fn temp(&mut self) -> String {
        self.temps += 1;
        format!("tmp_{}_v", self.temps)
    }

    /// The number as it is, in as many bits as it needs: the text, its bits, whether it is signed.
    pub fn exact(&mut self, node: &Node<'_>) -> Read<(String, u64, bool)> {
        let (width, signed) = fitting(&self.range(node)?);
        let text = self.modulo(node, width as u32)?;
        Ok((if signed { format!("(int<{width}>)({text})") } else { text }, width, signed))
    }

    /// The number modulo 2^width, as that many bits.
    pub fn modulo(&mut self, node: &Node<'_>, width: u32) -> Read<String> {
        let node = &inner(node)?;
        let w = u64::from(width);
        if let Some(place) = self.place(node)? {
            return self.field_value(&place, w, node);
        }
        if node.get("op").is_some() {
            return self.operation(node, w);
        }
        let (what, value) = node.typed()?;
        match what {
            "hexstr" => Ok(literal(&value.hex()?, w)),
            "local" | "runtime_data" => self.param(&value).map(|p| cast(&p.ident, p.width.into(), w)),
            "register" => {
                let [name, index] = value.just()?;
                let (register, bits) = self.register(&name)?;
                let (index, temp) = (self.modulo(&index, 32)?, self.temp());
                self.before.push(format!("bit<{bits}> {temp};"));
                self.before.push(format!("{register}.read({temp}, {index});"));
                Ok(cast(&temp, bits.into(), w))
            }
            "lookahead" => {
                let [offset, bits] = value.just()?;
                let (offset, bits) = (offset.small(MAX_BITS as u32)?, bits.small(MAX_BITS as u32)?.max(1));
                let ahead = format!("packet.lookahead<bit<{}>>()[{}:0]", offset + bits, bits - 1);
                Ok(cast(&ahead, bits.into(), w))
            }
            other => node.wrong(format!("expected a number, and this is of type `{other}`")),
        }
    }

    /// A parser's error: a field of that kind, or a number.
    pub fn error(&mut self, node: &Node<'_>) -> Read<String> {
        if let Some(FieldRef { text, kind: Kind::Error }) = self.place(&inner(node)?)? {
            return Ok(text);
        }
        let number = self.modulo(node, 32)?;
        let known = |n: &(String, BigInt)| format!("{number} == {} ? error.{} : ", literal(&n.1, 32), n.0);
        Ok(format!("({}error.NoError)", self.errors.iter().map(known).collect::<String>()))
    }

    fn field_value(&mut self, place: &FieldRef, w: u64, node: &Node<'_>) -> Read<String> {
        match place.kind {
            Kind::Bits(k) => Ok(cast(&place.text, k.into(), w)),
            Kind::Valid => Ok(cast(&format!("({})", place.text), 1, w)),
            Kind::Signed(k) if u64::from(k) == w => Ok(format!("(bit<{w}>){}", place.text)),
            Kind::Signed(_) => Ok(format!("(bit<{w}>)(int<{w}>){}", place.text)),
            Kind::Error => {
                let known = |n: &(String, BigInt)| format!("{} == error.{} ? {} : ", place.text, n.0, literal(&n.1, w));
                Ok(format!("({}{})", self.errors.iter().map(known).collect::<String>(), literal(&BigInt::zero(), w)))
            }
            Kind::Varying(_) => node.wrong("a field of varying length is no number"),
        }
    }

    fn operation(&mut self, node: &Node<'_>, w: u64) -> Read<String> {
        let (op, left, right) = parts(node)?;
        match (op, &left) {
            ("b2d", _) => return Ok(cast(&format!("(bit<1>)({})", self.condition(&right)?), 1, w)),
            ("~" | "-" | "+", None) => return Ok(format!("({op}{})", self.modulo(&right, w as u32)?)),
            ("~", Some(_)) => return Ok(format!("(~{})", self.modulo(&right, w as u32)?)),
            ("last_stack_index", _) => return Ok(cast(&format!("{}.lastIndex", self.stack(&right)?.place), 32, w)),
            ("size_stack", _) => {
                let text = format!("({}.lastIndex + 1)", self.stack(&right)?.place);
                return Ok(cast(&text, 32, w));
            }
            _ => {}
        }
        let Some(left) = left else { return node.wrong(format!("`{op}` has a left side")) };
        match op {
            "?" => {
                let condition = self.condition(&node.need("cond")?)?;
                Ok(format!("({condition} ? {} : {})", self.modulo(&left, w as u32)?, self.modulo(&right, w as u32)?))
            }
            "&" => self.masked(&left, &right, w),
            "+" | "-" | "*" | "|" | "^" => Ok(format!("({} {op} {})", self.modulo(&left, w as u32)?, self.modulo(&right, w as u32)?)),
            "<<" => {
                let by = self.amount(&right)?;
                Ok(format!("({} << {by})", self.modulo(&left, w as u32)?))
            }
            ">>" => {
                let ((text, bits, signed), by) = (self.exact(&left)?, self.amount(&right)?);
                Ok(resized(&format!("({text} >> {by})"), bits, signed, w))
            }
            "/" | "%" => self.quotient(op, node, &left, &right, w),
            "two_comp_mod" => {
                let bits = u64::from(constant_width(&right)?);
                let text = self.modulo(&left, bits.min(w) as u32)?;
                Ok(if bits >= w { text } else { resized(&format!("(int<{bits}>)({text})"), bits, true, w) })
            }
            "sat_cast" | "usat_cast" => self.saturated(&left, u64::from(constant_width(&right)?), op == "sat_cast", w),
            other => node.wrong(format!("`{other}` gives no number")),
        }
    }

    /// Division: by 0 it gives 0.
    fn quotient(&mut self, op: &str, node: &Node<'_>, left: &Node<'_>, right: &Node<'_>, w: u64) -> Read<String> {
        self.range(node)?;
        let (a, b) = (self.range(left)?, self.range(right)?);
        if b.1.is_zero() {
            return right.wrong("division by 0");
        }
        let bits = fitting(&a).0.max(fitting(&b).0);
        let text = format!("({} {op} {})", self.modulo(left, bits as u32)?, self.modulo(right, bits as u32)?);
        Ok(cast(&text, bits, w))
    }

    /// `left & right`: a mask of ones is a width.
    fn masked(&mut self, left: &Node<'_>, right: &Node<'_>, w: u64) -> Read<String> {
        let constant = |n: &Node<'_>| -> Read<Option<BigInt>> {
            let n = inner(n)?;
            if n.get("type").is_none() || n.typed()?.0 != "hexstr" {
                return Ok(None);
            }
            n.need("value")?.hex().map(|v| Some(v).filter(|v| v.sign() != Sign::Minus))
        };
        let (value, mask) = match (constant(left)?, constant(right)?) {
            (_, Some(mask)) => (left, mask),
            (Some(mask), None) => (right, mask),
            (None, None) => return Ok(format!("({} & {})", self.modulo(left, w as u32)?, self.modulo(right, w as u32)?)),
        };
        let bits = bits(&mask).min(w);
        let text = self.modulo(value, bits as u32)?;
        let text = if &mask & ones(bits) == ones(bits) { text } else { format!("({text} & {})", literal(&mask, bits)) };
        Ok(cast(&text, bits, w))
    }

    /// How far to shift.
    fn amount(&mut self, node: &Node<'_>) -> Read<String> {
        let (low, high) = self.range(node)?;
        if low.sign() == Sign::Minus {
            return node.wrong("a shift by a negative number is not possible");
        }
        if low == high {
            return Ok(low.min(BigInt::from(1u32 << 20)).to_string());
        }
        Ok(self.exact(node)?.0)
    }

    fn saturated(&mut self, node: &Node<'_>, bits: u64, signed: bool, w: u64) -> Read<String> {
        let range = self.range(node)?;
        let (least, most) = if signed { (-(BigInt::one() << (bits - 1)), ones(bits - 1)) } else { (BigInt::zero(), ones(bits)) };
        let all = fitting(&(range.0.clone().min(least.clone()), range.1.clone().max(most.clone())));
        let wide = if all.1 || signed { all.0 + u64::from(!all.1) } else { all.0 };
        let kind = if all.1 || signed { "int" } else { "bit" };
        let temp = self.temp();
        let value = self.modulo(node, wide as u32)?;
        self.before.push(format!("{kind}<{wide}> {temp} = ({kind}<{wide}>)({value});"));
        let number = |n: &BigInt| format!("({kind}<{wide}>){}", literal(n, wide));
        if range.0 < least {
            self.before.push(format!("if ({temp} < {}) {{ {temp} = {}; }}", number(&least), number(&least)));
        }
        if range.1 > most {
            self.before.push(format!("if ({temp} > {}) {{ {temp} = {}; }}", number(&most), number(&most)));
        }
        Ok(resized(&temp, wide, kind == "int", w))
    }

    /// A condition.
    pub fn condition(&mut self, node: &Node<'_>) -> Read<String> {
        let node = &inner(node)?;
        if node.get("op").is_none() {
            let (what, value) = node.typed()?;
            return match (what, value.boolean()) {
                ("bool", Some(value)) => Ok(value.to_string()),
                ("header", _) => self.layout.header(&value).map(|i| format!("{}.isValid()", i.place)),
                _ => node.wrong(format!("expected a condition, and this is of type `{what}`")),
            };
        }
        let (op, left, right) = parts(node)?;
        match (op, left) {
            ("d2b", _) => {
                let (text, width, signed) = self.exact(&right)?;
                let zero = if signed { format!("(int<{width}>){width}w0") } else { format!("{width}w0") };
                Ok(format!("({text} != {zero})"))
            }
            // A number that is made of a condition.
            ("b2d", _) => self.condition(&right),
            ("not", _) => Ok(format!("(!{})", self.condition(&right)?)),
            ("valid", _) => self.header(&right).map(|(place, _)| format!("{place}.isValid()")),
            ("valid_union", _) => self.union(&right).map(|union| format!("{}.isValid()", union.place)),
            ("and", Some(left)) => Ok(format!("({} && {})", self.condition(&left)?, self.condition(&right)?)),
            ("or", Some(left)) => Ok(format!("({} || {})", self.condition(&left)?, self.condition(&right)?)),
            ("?", Some(left)) => {
                let condition = self.condition(&node.need("cond")?)?;
                Ok(format!("({condition} ? {} : {})", self.condition(&left)?, self.condition(&right)?))
            }
            ("==" | "!=" | "<" | "<=" | ">" | ">=", Some(left)) => self.comparison(op, &left, &right),
            (other, _) => node.wrong(format!("`{other}` gives no condition")),
        }
    }

    fn comparison(&mut self, op: &str, left: &Node<'_>, right: &Node<'_>) -> Read<String> {
        let inside = inner(left)?;
        let what = inside.get("op").or_else(|| inside.get("type")).map_or(Ok(""), |n| n.text())?;
        match what {
            "header" | "dereference_header_stack" | "access_union_header" => {
                return Ok(format!("({} {op} {})", self.header(left)?.0, self.header(right)?.0));
            }
            "header_stack" | "header_union_stack" => return Ok(format!("({} {op} {})", self.stack(left)?.place, self.stack(right)?.place)),
            "header_union" | "dereference_union_stack" => {
                return Ok(format!("({} {op} {})", self.union(left)?.place, self.union(right)?.place));
            }
            "bool" | "d2b" | "not" | "valid" | "valid_union" | "and" | "or" | "==" | "!=" | "<" | "<=" | ">" | ">=" => {
                return Ok(format!("({} {op} {})", self.condition(left)?, self.condition(right)?));
            }
            _ => {}
        }
        if let Some(FieldRef { text, kind: Kind::Varying(_) }) = self.place(&inside)? {
            return match self.place(&inner(right)?)? {
                Some(FieldRef { text: other, kind: Kind::Varying(_) }) => Ok(format!("({text} {op} {other})")),
                _ => right.wrong("a field of varying length is compared with another one"),
            };
        }
        let (a, b) = (self.range(left)?, self.range(right)?);
        if let (Some(FieldRef { text, kind: Kind::Error }), true) = (self.place(&inside)?, b.0 == b.1 && matches!(op, "==" | "!="))
            && let Some((name, _)) = self.errors.iter().find(|(_, n)| *n == b.0)
        {
            return Ok(format!("({text} {op} error.{name})"));
        }
        let (width, signed) = fitting(&(a.0.min(b.0), a.1.max(b.1)));
        let (x, y) = (self.modulo(left, width as u32)?, self.modulo(right, width as u32)?);
        Ok(if signed { format!("((int<{width}>)({x}) {op} (int<{width}>)({y}))") } else { format!("({x} {op} {y})") })
    }
}

/// How far a shift to the left goes at most.
fn shift(by: &Range, node: &Node<'_>) -> Read<u64> {
    match by.1.to_u64() {
        Some(by) if by <= MAX_BITS => Ok(by),
        _ => node.wrong("this shift may go too far for a number that is not cut to some width"),
    }
}

fn extremes(all: [BigInt; 4]) -> Range {
    let high = all.iter().max().cloned().unwrap_or_default();
    (all.into_iter().min().unwrap_or_default(), high)
}

fn resized(text: &str, from: u64, signed: bool, to: u64) -> String {
    match (signed, from == to) {
        (false, _) => cast(text, from, to),
        (true, true) => format!("(bit<{to}>)({text})"),
        (true, false) => format!("(bit<{to}>)(int<{to}>)({text})"),
    }
}

/// A width that stands as a number.
fn constant_width(node: &Node<'_>) -> Read<u32> {
    let value = inner(node)?.need("value")?;
    match value.hex()?.to_u32() {
        Some(width) if (1..=MAX_BITS as u32).contains(&width) => Ok(width),
        _ => value.wrong("this is no width"),
    }
}

fn group(all: &HashMap<String, Group>, node: &Node<'_>) -> Read<Group> {
    let name = node.text()?;
    all.get(name).cloned().map_or_else(|| node.wrong(format!("nothing is called `{name}`")), Ok)
}
