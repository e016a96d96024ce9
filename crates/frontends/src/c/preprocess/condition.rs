//! Expressions of `#if`: integers of 64 bits, with a sign or without (C11, 6.10.1). Names that are
//! left stand for 0.

use crate::c::parse::number;
use crate::c::token::{Kind, Token, unquote};
use crate::diagnostics::{Diagnostic, Span};

/// How deep parentheses and signs may nest.
const MAX_DEPTH: u32 = 100;

/// Whether an expression holds; one with a part that is wrong and told already does not.
pub(super) fn holds(tokens: &[Token], end: Span) -> Result<bool, Diagnostic> {
    if tokens.iter().any(|token| token.kind == Kind::Wrong) {
        return Ok(false);
    }
    let mut reader = Reader { tokens, at: 0, end, depth: 0, skipped: 0 };
    let value = reader.choice()?;
    match tokens.get(reader.at) {
        Some(token) => Err(Diagnostic::new(token.place(), format!("`{}` does not go on an expression", token.text))),
        None => Ok(value.holds()),
    }
}

/// A number of 64 bits, and whether it has no sign.
#[derive(Clone, Copy)]
struct Value(i64, bool);

impl Value {
    fn truth(holds: bool) -> Self {
        Self(holds.into(), false)
    }

    fn holds(self) -> bool {
        self.0 != 0
    }
}

struct Reader<'a> {
    tokens: &'a [Token],
    at: usize,
    end: Span,
    depth: u32,
    /// Operands around this place whose value is not asked for.
    skipped: u32,
}

/// Signs with how strongly they bind.
const BINARY: [(&str, u8); 18] = [
    ("||", 1),
    ("&&", 2),
    ("|", 3),
    ("^", 4),
    ("&", 5),
    ("==", 6),
    ("!=", 6),
    ("<", 7),
    (">", 7),
    ("<=", 7),
    (">=", 7),
    ("<<", 8),
    (">>", 8),
    ("+", 9),
    ("-", 9),
    ("*", 10),
    ("/", 10),
    ("%", 10),
];

impl Reader<'_> {
    fn here(&self) -> Span {
        self.tokens.get(self.at).map_or(self.end, Token::place)
    }

    fn eat(&mut self, sign: &str) -> bool {
        let found = self.tokens.get(self.at).is_some_and(|token| token.is(sign));
        self.at += usize::from(found);
        found
    }

    fn need(&mut self, sign: &str) -> Result<(), Diagnostic> {
        if self.eat(sign) { Ok(()) } else { Err(Diagnostic::new(self.here(), format!("`{sign}` is missing here"))) }
    }

    fn choice(&mut self) -> Result<Value, Diagnostic> {
        let condition = self.binary(1)?;
        if !self.eat("?") {
            return Ok(condition);
        }
        self.deeper()?;
        let yes = self.unless(!condition.holds(), Self::choice)?;
        self.need(":")?;
        let no = self.unless(condition.holds(), Self::choice)?;
        self.depth -= 1;
        let chosen = if condition.holds() { yes } else { no };
        Ok(Value(chosen.0, yes.1 || no.1))
    }

    /// Reads something whose value may be of no interest.
    fn unless(&mut self, skipped: bool, read: impl FnOnce(&mut Self) -> Result<Value, Diagnostic>) -> Result<Value, Diagnostic> {
        self.skipped += u32::from(skipped);
        let value = read(self);
        self.skipped -= u32::from(skipped);
        value
    }

    fn deeper(&mut self) -> Result<(), Diagnostic> {
        self.depth += 1;
        if self.depth > MAX_DEPTH { Err(Diagnostic::new(self.here(), "this is nested too deeply")) } else { Ok(()) }
    }

    fn binary(&mut self, least: u8) -> Result<Value, Diagnostic> {
        let mut left = self.unary()?;
        while let Some((sign, binds)) = self.operator().filter(|(_, binds)| *binds >= least) {
            let span = self.here();
            self.at += 1;
            let decided = (sign == "||" && left.holds()) || (sign == "&&" && !left.holds());
            let right = self.unless(decided, |reader| reader.binary(binds + 1))?;
            left = match apply(sign, left, right) {
                Some(value) => value,
                None if self.skipped > 0 => right,
                None => return Err(Diagnostic::new(span, "division by zero")),
            };
        }
        Ok(left)
    }

    fn operator(&self) -> Option<(&'static str, u8)> {
        let Kind::Sign(sign) = self.tokens.get(self.at)?.kind else { return None };
        BINARY.into_iter().find(|(known, _)| *known == sign)
    }

    fn unary(&mut self) -> Result<Value, Diagnostic> {
        self.deeper()?;
        let value = if self.eat("!") {
            Value::truth(!self.unary()?.holds())
        } else if self.eat("-") {
            let Value(bits, unsigned) = self.unary()?;
            Value(bits.wrapping_neg(), unsigned)
        } else if self.eat("~") {
            let Value(bits, unsigned) = self.unary()?;
            Value(!bits, unsigned)
        } else if self.eat("+") {
            self.unary()?
        } else {
            self.primary()?
        };
        self.depth -= 1;
        Ok(value)
    }

    fn primary(&mut self) -> Result<Value, Diagnostic> {
        if self.eat("(") {
            let value = self.choice()?;
            self.need(")")?;
            return Ok(value);
        }
        let wrong = Diagnostic::new(self.here(), "a value is missing here");
        let token = self.tokens.get(self.at).ok_or(wrong.clone())?;
        self.at += 1;
        match token.kind {
            Kind::Number => literal(&token.text).map_err(|why| Diagnostic::new(token.place(), why)),
            Kind::Char => Ok(Value(unquote(&token.text).ok().and_then(|bytes| bytes.first().copied()).unwrap_or(0).into(), false)),
            Kind::Name => Ok(Value(0, false)),
            _ => Err(wrong),
        }
    }
}

/// Types are as large as the largest here: only a suffix, or a number that is too large for a sign,
/// makes one without.
fn literal(text: &str) -> Result<Value, String> {
    let (value, _) = number(text)?;
    Ok(Value(value as i64, text.contains(['u', 'U']) || value > i64::MAX as u64))
}

/// `None`: division by zero.
fn apply(sign: &str, Value(a, left): Value, Value(b, right): Value) -> Option<Value> {
    let unsigned = left || right;
    let order = if unsigned { (a as u64).cmp(&(b as u64)) } else { a.cmp(&b) };
    Some(match sign {
        "||" => Value::truth(a != 0 || b != 0),
        "&&" => Value::truth(a != 0 && b != 0),
        "==" => Value::truth(order.is_eq()),
        "!=" => Value::truth(order.is_ne()),
        "<" => Value::truth(order.is_lt()),
        ">" => Value::truth(order.is_gt()),
        "<=" => Value::truth(order.is_le()),
        ">=" => Value::truth(order.is_ge()),
        "<<" => Value(a.checked_shl(b as u32).unwrap_or(0), left),
        ">>" if left => Value((a as u64).checked_shr(b as u32).unwrap_or(0) as i64, left),
        ">>" => Value(a.checked_shr(b as u32).unwrap_or(a >> 63), left),
        _ => Value(arithmetic(sign, a, b, unsigned)?, unsigned),
    })
}

fn arithmetic(sign: &str, a: i64, b: i64, unsigned: bool) -> Option<i64> {
    Some(match sign {
        "|" => a | b,
        "^" => a ^ b,
        "&" => a & b,
        "+" => a.wrapping_add(b),
        "-" => a.wrapping_sub(b),
        "*" => a.wrapping_mul(b),
        "/" if b != 0 && unsigned => (a as u64 / b as u64) as i64,
        "%" if b != 0 && unsigned => (a as u64 % b as u64) as i64,
        "/" if b != 0 => a.wrapping_div(b),
        "%" if b != 0 => a.wrapping_rem(b),
        _ => return None,
    })
}
