//! Expressions of `#if`: integers of 64 bits (C11, 6.10.1). Names that are left stand for 0.

use crate::c::parse::number;
use crate::c::token::{Kind, Token, unquote};
use crate::diagnostics::{Diagnostic, Span};

/// How deep parentheses and signs may nest.
const MAX_DEPTH: u32 = 100;

/// The value of an expression.
pub(super) fn evaluate(tokens: &[Token], end: Span) -> Result<i64, Diagnostic> {
    let mut reader = Reader { tokens, at: 0, end, depth: 0 };
    let value = reader.choice()?;
    match tokens.get(reader.at) {
        Some(token) => Err(Diagnostic::new(token.place(), format!("`{}` does not go on an expression", token.text))),
        None => Ok(value),
    }
}

struct Reader<'a> {
    tokens: &'a [Token],
    at: usize,
    end: Span,
    depth: u32,
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

    fn choice(&mut self) -> Result<i64, Diagnostic> {
        let condition = self.binary(1)?;
        if !self.eat("?") {
            return Ok(condition);
        }
        self.deeper()?;
        let yes = self.choice()?;
        self.need(":")?;
        let no = self.choice()?;
        self.depth -= 1;
        Ok(if condition != 0 { yes } else { no })
    }

    fn deeper(&mut self) -> Result<(), Diagnostic> {
        self.depth += 1;
        if self.depth > MAX_DEPTH { Err(Diagnostic::new(self.here(), "this is nested too deeply")) } else { Ok(()) }
    }

    fn binary(&mut self, least: u8) -> Result<i64, Diagnostic> {
        let mut left = self.unary()?;
        while let Some((sign, binds)) = self.operator().filter(|(_, binds)| *binds >= least) {
            let span = self.here();
            self.at += 1;
            let right = self.binary(binds + 1)?;
            left = apply(sign, left, right).ok_or_else(|| Diagnostic::new(span, "division by zero"))?;
        }
        Ok(left)
    }

    fn operator(&self) -> Option<(&'static str, u8)> {
        let Kind::Sign(sign) = self.tokens.get(self.at)?.kind else { return None };
        BINARY.into_iter().find(|(known, _)| *known == sign)
    }

    fn unary(&mut self) -> Result<i64, Diagnostic> {
        self.deeper()?;
        let value = if self.eat("!") {
            i64::from(self.unary()? == 0)
        } else if self.eat("-") {
            self.unary()?.wrapping_neg()
        } else if self.eat("~") {
            !self.unary()?
        } else if self.eat("+") {
            self.unary()?
        } else {
            self.primary()?
        };
        self.depth -= 1;
        Ok(value)
    }

    fn primary(&mut self) -> Result<i64, Diagnostic> {
        if self.eat("(") {
            let value = self.choice()?;
            self.need(")")?;
            return Ok(value);
        }
        let wrong = Diagnostic::new(self.here(), "a value is missing here");
        let token = self.tokens.get(self.at).ok_or(wrong.clone())?;
        self.at += 1;
        match token.kind {
            Kind::Number => number(&token.text).map(|(value, _)| value as i64).map_err(|why| Diagnostic::new(token.place(), why)),
            Kind::Char => Ok(unquote(&token.text).ok().and_then(|bytes| bytes.first().copied()).unwrap_or(0).into()),
            Kind::Name => Ok(0),
            _ => Err(wrong),
        }
    }
}

fn apply(sign: &str, a: i64, b: i64) -> Option<i64> {
    Some(match sign {
        "||" => i64::from(a != 0 || b != 0),
        "&&" => i64::from(a != 0 && b != 0),
        "|" => a | b,
        "^" => a ^ b,
        "&" => a & b,
        "==" => i64::from(a == b),
        "!=" => i64::from(a != b),
        "<" => i64::from(a < b),
        ">" => i64::from(a > b),
        "<=" => i64::from(a <= b),
        ">=" => i64::from(a >= b),
        "<<" => a.checked_shl(b as u32).unwrap_or(0),
        ">>" => a.checked_shr(b as u32).unwrap_or(0),
        "+" => a.wrapping_add(b),
        "-" => a.wrapping_sub(b),
        "*" => a.wrapping_mul(b),
        "/" if b != 0 => a.wrapping_div(b),
        "%" if b != 0 => a.wrapping_rem(b),
        "/" | "%" => return None,
        _ => 0,
    })
}
