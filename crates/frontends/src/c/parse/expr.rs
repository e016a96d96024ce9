//! Expressions (C11, 6.5).

use super::{MAX_CHAIN, Parsed, Parser, literal};
use crate::c::ast::{Arg, BinaryOp, Expr, ExprKind, Name, UnaryOp};
use crate::c::token::{Kind, Token, unquote};
use crate::c::types::INT;
use crate::diagnostics::{Diagnostic, Span};
use std::sync::Arc;

/// Operators between two values, and how strongly they bind.
const BINARY: [(&str, BinaryOp, u8); 18] = [
    ("||", BinaryOp::LogicOr, 1),
    ("&&", BinaryOp::LogicAnd, 2),
    ("|", BinaryOp::Or, 3),
    ("^", BinaryOp::Xor, 4),
    ("&", BinaryOp::And, 5),
    ("==", BinaryOp::Eq, 6),
    ("!=", BinaryOp::Ne, 6),
    ("<", BinaryOp::Lt, 7),
    (">", BinaryOp::Gt, 7),
    ("<=", BinaryOp::Le, 7),
    (">=", BinaryOp::Ge, 7),
    ("<<", BinaryOp::Shl, 8),
    (">>", BinaryOp::Shr, 8),
    ("+", BinaryOp::Add, 9),
    ("-", BinaryOp::Sub, 9),
    ("*", BinaryOp::Mul, 10),
    ("/", BinaryOp::Div, 10),
    ("%", BinaryOp::Mod, 10),
];
const UNARY: [(&str, UnaryOp); 6] = [
    ("+", UnaryOp::Plus),
    ("-", UnaryOp::Minus),
    ("!", UnaryOp::Not),
    ("~", UnaryOp::Complement),
    ("*", UnaryOp::Deref),
    ("&", UnaryOp::Address),
];

/// The sign of an operator, for messages.
pub(in crate::c) fn sign(op: BinaryOp) -> &'static str {
    BINARY.iter().find(|(_, known, _)| *known == op).map_or("", |(sign, ..)| sign)
}

impl Parser<'_> {
    /// An expression with commas.
    pub(super) fn expression(&mut self) -> Parsed<Expr> {
        let mut left = self.assignment()?;
        let mut count = 0;
        while self.eat(",") {
            self.chained(&mut count)?;
            let right = self.assignment()?;
            left = join(left.span.to(right.span), |_| ExprKind::Comma(Box::new(left), Box::new(right)));
        }
        Ok(left)
    }

    fn chained(&mut self, count: &mut u32) -> Parsed<()> {
        *count += 1;
        let place = self.peek().place();
        if *count > MAX_CHAIN { self.fail(Diagnostic::new(place, "this expression is too long")) } else { Ok(()) }
    }

    pub(super) fn assignment(&mut self) -> Parsed<Expr> {
        let left = self.conditional()?;
        let Kind::Sign(sign) = self.peek().kind else { return Ok(left) };
        let compound = |(known, op, _): &(&str, BinaryOp, u8)| (sign.strip_suffix('=') == Some(known)).then_some(*op);
        let op = match sign {
            "=" => None,
            "<=" | ">=" | "==" | "!=" => return Ok(left),
            _ => match BINARY.iter().find_map(compound) {
                Some(op) => Some(op),
                None => return Ok(left),
            },
        };
        self.next();
        let right = self.deeper(Self::assignment)?;
        Ok(join(left.span.to(right.span), |_| ExprKind::Assign(op, Box::new(left), Box::new(right))))
    }

    pub(super) fn conditional(&mut self) -> Parsed<Expr> {
        let condition = self.binary(1)?;
        if !self.eat("?") {
            return Ok(condition);
        }
        let yes = self.deeper(Self::expression)?;
        self.need(":")?;
        let no = self.deeper(Self::conditional)?;
        let span = condition.span.to(no.span);
        Ok(join(span, |_| ExprKind::Choose(Box::new(condition), Box::new(yes), Box::new(no))))
    }

    fn binary(&mut self, least: u8) -> Parsed<Expr> {
        let mut left = self.unary()?;
        let mut count = 0;
        while let Some((op, binds)) = self.operator().filter(|(_, binds)| *binds >= least) {
            self.chained(&mut count)?;
            self.next();
            let right = self.binary(binds + 1)?;
            left = join(left.span.to(right.span), |_| ExprKind::Binary(op, Box::new(left), Box::new(right)));
        }
        Ok(left)
    }

    fn operator(&self) -> Option<(BinaryOp, u8)> {
        let Kind::Sign(sign) = self.peek().kind else { return None };
        BINARY.iter().find(|(known, ..)| *known == sign).map(|(_, op, binds)| (*op, *binds))
    }

    fn unary(&mut self) -> Parsed<Expr> {
        self.deeper(Self::prefixed)
    }

    fn prefixed(&mut self) -> Parsed<Expr> {
        let start = self.peek().place();
        for (sign, up) in [("++", true), ("--", false)] {
            if self.eat(sign) {
                let of = self.unary()?;
                return Ok(join(start.to(of.span), |_| ExprKind::Step { up, after: false, of: Box::new(of) }));
            }
        }
        if let Some((_, op)) = UNARY.iter().find(|(sign, _)| self.peek().is(sign)) {
            self.next();
            let of = self.unary()?;
            return Ok(join(start.to(of.span), |_| ExprKind::Unary(*op, Box::new(of))));
        }
        if self.eat_word("sizeof") {
            return self.sizeof(start);
        }
        if self.peek().is("(") && self.typed_parenthesis() {
            return self.cast(start);
        }
        self.postfix()
    }

    /// A type follows the parenthesis.
    fn typed_parenthesis(&mut self) -> bool {
        self.at += 1;
        let typed = self.begins_type();
        self.at -= 1;
        typed
    }

    fn sizeof(&mut self, start: Span) -> Parsed<Expr> {
        if self.peek().is("(") && self.typed_parenthesis() {
            self.next();
            let of = self.type_name()?;
            self.need(")")?;
            return Ok(join(self.since(start), |_| ExprKind::SizeofType(Box::new(of))));
        }
        let of = self.unary()?;
        Ok(join(self.since(start), |_| ExprKind::SizeofExpr(Box::new(of))))
    }

    fn cast(&mut self, start: Span) -> Parsed<Expr> {
        self.need("(")?;
        let to = Box::new(self.type_name()?);
        self.need(")")?;
        if self.peek().is("{") {
            let init = Box::new(self.init()?);
            let whole = join(self.since(start), |_| ExprKind::Compound(to, init));
            return self.suffixes(whole);
        }
        let of = self.unary()?;
        Ok(join(start.to(of.span), |_| ExprKind::Cast(to, Box::new(of))))
    }

    fn postfix(&mut self) -> Parsed<Expr> {
        let first = self.primary()?;
        self.suffixes(first)
    }

    fn suffixes(&mut self, mut left: Expr) -> Parsed<Expr> {
        let (start, mut count) = (left.span, 0);
        loop {
            self.chained(&mut count)?;
            let kind = if self.eat("[") {
                let index = self.expression()?;
                self.need("]")?;
                ExprKind::Index(Box::new(left), Box::new(index))
            } else if self.eat("(") {
                let args = self.deeper(Self::arguments)?;
                ExprKind::Call(Box::new(left), args)
            } else if self.peek().is(".") || self.peek().is("->") {
                let arrow = self.next().is("->");
                ExprKind::Member(Box::new(left), self.name("the name of a member")?, arrow)
            } else if self.peek().is("++") || self.peek().is("--") {
                let up = self.next().is("++");
                ExprKind::Step { up, after: true, of: Box::new(left) }
            } else {
                return Ok(left);
            };
            left = Expr { kind, span: self.since(start) };
        }
    }

    fn primary(&mut self) -> Parsed<Expr> {
        let token = self.peek();
        let span = token.place();
        let kind = match token.kind {
            Kind::Number => self.number(token)?,
            Kind::Char => self.character(token)?,
            Kind::Text => return self.text(),
            Kind::Name => self.reference(token)?,
            Kind::Wrong => ExprKind::Wrong,
            Kind::Sign("(") => {
                self.next();
                let inner = self.expression()?;
                self.close(")")?;
                return Ok(Expr { kind: inner.kind, span: self.since(span) });
            }
            _ => return self.unexpected("a value"),
        };
        self.next();
        Ok(Expr { kind, span })
    }

    fn reference(&mut self, token: &Token) -> Parsed<ExprKind> {
        Ok(match &*token.text {
            "true" => ExprKind::Number(1, INT),
            "false" | "NULL" => ExprKind::Number(0, INT),
            _ => ExprKind::Name(Name { text: Arc::clone(&token.text), span: token.place() }),
        })
    }

    fn number(&mut self, token: &Token) -> Parsed<ExprKind> {
        match literal::number(&token.text) {
            Ok((value, ty)) => Ok(ExprKind::Number(value, ty)),
            Err(why) => {
                self.faults.add(Diagnostic::new(token.place(), why));
                Ok(ExprKind::Wrong)
            }
        }
    }

    fn character(&mut self, token: &Token) -> Parsed<ExprKind> {
        match unquote(&token.text).as_deref() {
            Ok([byte]) => Ok(ExprKind::Number(i64::from(*byte as i8) as u32 as u64, INT)),
            Ok(_) => {
                self.faults.add(Diagnostic::new(token.place(), "a character constant is one byte"));
                Ok(ExprKind::Wrong)
            }
            Err(at) => {
                self.escape(token, *at);
                Ok(ExprKind::Wrong)
            }
        }
    }

    /// A wrong escape, so many bytes into a string or character constant.
    fn escape(&mut self, token: &Token, at: usize) {
        let start = token.place().start + at as u32;
        let place = Span { start, end: start + 2 };
        let is_number = token.text.get(at + 1..).is_some_and(|rest| rest.starts_with(|c: char| c == 'x' || c.is_ascii_digit()));
        self.faults.add(if is_number {
            Diagnostic::new(place, "this escape is not one byte").help("write `\\x00` to `\\xff`")
        } else {
            Diagnostic::new(place, "C has no such escape").help("write `\\\\` for a backslash")
        });
    }

    /// Strings side by side are one.
    fn text(&mut self) -> Parsed<Expr> {
        let start = self.peek().place();
        let mut bytes = Vec::new();
        while self.peek().kind == Kind::Text {
            let token = self.next();
            match unquote(&token.text) {
                Ok(more) => bytes.extend(more),
                Err(at) => self.escape(token, at),
            }
        }
        Ok(Expr { kind: ExprKind::Text(bytes), span: self.since(start) })
    }
}

fn join(span: Span, kind: impl FnOnce(Span) -> ExprKind) -> Expr {
    Expr { kind: kind(span), span }
}

impl Arg {
    /// Where it stands.
    pub(in crate::c) fn span(&self) -> Span {
        match self {
            Self::Expr(expr) => expr.span,
            Self::Type(name) => name.base.span,
        }
    }
}
