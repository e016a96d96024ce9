//! Expressions, by precedence climbing.

use super::{Parsed, Parser, RESERVED};
use crate::ast::{Arg, BinOp, Expr, ExprKind, Ident, Ty, TyKind, UnOp};
use crate::lexer::Tok;
use frontends::diagnostics::{Diagnostic, Span};

/// Operators in one row of the same precedence; looser ones have higher numbers.
const MAX_CHAIN: usize = 2000;

fn boxed(e: Expr) -> Box<Expr> {
    Box::new(e)
}

impl Parser<'_> {
    pub(super) fn expr(&mut self) -> Parsed<Expr> {
        self.nested(|p| {
            let condition = p.binary(0)?;
            if !p.eat("?") {
                return Ok(condition);
            }
            let yes = p.expr()?;
            p.expect(":")?;
            let no = p.expr()?;
            let span = condition.span.to(no.span);
            Ok(Expr { kind: ExprKind::Ternary(boxed(condition), boxed(yes), boxed(no)), span })
        })
    }

    /// A key of a select case, an entry or a list in parentheses: an expression, a mask, a range,
    /// `default`, `_`.
    pub(super) fn set_expr(&mut self) -> Parsed<Expr> {
        let start = self.span();
        if self.eat_word("default") {
            return Ok(Expr { kind: ExprKind::Default, span: start });
        }
        if self.eat_word("_") {
            return Ok(Expr { kind: ExprKind::DontCare, span: start });
        }
        let left = self.expr()?;
        let mask = self.is("&&&");
        if !mask && !self.is("..") {
            return Ok(left);
        }
        self.at += 1;
        let right = self.expr()?;
        let span = start.to(right.span);
        let kind = if mask { ExprKind::Mask(boxed(left), boxed(right)) } else { ExprKind::Range(boxed(left), boxed(right)) };
        Ok(Expr { kind, span })
    }

    /// The operator here: its level, itself, and its tokens.
    fn operator(&self) -> Option<(u8, BinOp, usize)> {
        if self.is("+") && self.is_at(1, ":") {
            return None;
        }
        let Tok::Sym(symbol) = self.peek() else { return None };
        let glued = |symbol: &str| self.is_at(1, symbol) && self.token(1).glued;
        Some(match *symbol {
            "||" => (0, BinOp::Or, 1),
            "&&" => (1, BinOp::And, 1),
            "|" => (4, BinOp::BitOr, 1),
            "^" => (5, BinOp::BitXor, 1),
            "&" => (6, BinOp::BitAnd, 1),
            "==" => (2, BinOp::Eq, 1),
            "!=" => (2, BinOp::Ne, 1),
            "<" => (3, BinOp::Lt, 1),
            "<=" => (3, BinOp::Le, 1),
            ">=" => (3, BinOp::Ge, 1),
            ">" if glued(">") => (7, BinOp::Shr, 2),
            ">" if glued(">=") => return None,
            ">" => (3, BinOp::Gt, 1),
            "<<" => (7, BinOp::Shl, 1),
            "++" => (8, BinOp::Concat, 1),
            "+" => (8, BinOp::Add, 1),
            "-" => (8, BinOp::Sub, 1),
            "|+|" => (8, BinOp::AddSat, 1),
            "|-|" => (8, BinOp::SubSat, 1),
            "*" => (9, BinOp::Mul, 1),
            "/" => (9, BinOp::Div, 1),
            "%" => (9, BinOp::Mod, 1),
            _ => return None,
        })
    }

    pub(super) fn binary(&mut self, least: u8) -> Parsed<Expr> {
        let mut left = self.unary()?;
        let mut chain = 0;
        while let Some((level, op, tokens)) = self.operator().filter(|(level, ..)| *level >= least) {
            self.at += tokens;
            chain += 1;
            if chain > MAX_CHAIN {
                return Err(Box::new(Diagnostic::new(self.span(), format!("more than {MAX_CHAIN} operators in a row"))));
            }
            let right = self.nested(|p| p.binary(level + 1))?;
            let span = left.span.to(right.span);
            left = Expr { kind: ExprKind::Binary(op, boxed(left), boxed(right)), span };
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed<Expr> {
        let start = self.span();
        let op = match self.peek() {
            Tok::Sym("!") => UnOp::Not,
            Tok::Sym("~") => UnOp::Complement,
            Tok::Sym("-") => UnOp::Neg,
            Tok::Sym("+") => UnOp::Plus,
            Tok::Sym("(") => {
                if let Some(cast) = self.cast() {
                    let value = self.nested(Self::unary)?;
                    let span = start.to(value.span);
                    return Ok(Expr { kind: ExprKind::Cast(cast, boxed(value)), span });
                }
                return self.postfix();
            }
            _ => return self.postfix(),
        };
        self.at += 1;
        let value = self.nested(Self::unary)?;
        let span = start.to(value.span);
        Ok(Expr { kind: ExprKind::Unary(op, boxed(value)), span })
    }

    /// `(T)` before what it casts.
    fn cast(&mut self) -> Option<Ty> {
        self.attempt(|p| {
            p.expect("(")?;
            let ty = p.ty()?;
            p.expect(")")?;
            let sure = match &ty.kind {
                TyKind::Named(_, name) => p.types.contains(name),
                TyKind::Stack(..) => false,
                _ => true,
            };
            let value = match p.peek() {
                Tok::Ident(n) => {
                    !RESERVED.contains(&&**n) || matches!(&**n, "true" | "false" | "error" | "this" | "apply" | "key" | "type" | "state")
                }
                Tok::Number(_) | Tok::Str(_) | Tok::Sym("(" | "{" | "!" | "~" | ".") => true,
                Tok::Sym("-" | "+") => sure,
                _ => false,
            };
            if value { Ok(ty) } else { Err(p.expected("a value")) }
        })
    }

    fn postfix(&mut self) -> Parsed<Expr> {
        let mut value = self.primary()?;
        let mut chain = 0;
        loop {
            chain += 1;
            if chain > MAX_CHAIN {
                return Err(self.expected("a shorter expression"));
            }
            let start = value.span;
            if self.eat(".") {
                let member = self.word()?;
                let span = start.to(member.span);
                value = Expr { kind: ExprKind::Member(boxed(value), member), span };
            } else if self.eat("[") {
                value = self.subscript(value)?;
            } else if self.is("(") {
                value = self.call(value, Vec::new())?;
            } else if self.is("<") && matches!(value.kind, ExprKind::Name(..) | ExprKind::Member(..)) {
                let Some(types) = self.attempt(Self::call_types) else { return Ok(value) };
                value = if self.is("(") { self.call(value, types)? } else { specialised(value, types, self.last()) };
            } else {
                return Ok(value);
            }
        }
    }

    /// `<T, …>` before `(` or, of a type, `.`.
    fn call_types(&mut self) -> Parsed<Vec<Ty>> {
        self.expect("<")?;
        let types = self.type_list()?;
        if self.is("(") || self.is(".") { Ok(types) } else { Err(self.expected("`(`")) }
    }

    fn call(&mut self, callee: Expr, types: Vec<Ty>) -> Parsed<Expr> {
        let args = self.args()?;
        let span = callee.span.to(self.last());
        Ok(Expr { kind: ExprKind::Call(boxed(callee), types, args), span })
    }

    fn subscript(&mut self, value: Expr) -> Parsed<Expr> {
        let first = self.expr()?;
        if self.is("+") && self.is_at(1, ":") {
            self.at += 2;
            let width = self.expr()?;
            self.expect("]")?;
            let span = value.span.to(self.last());
            return Ok(Expr { kind: ExprKind::Part(boxed(value), boxed(first), boxed(width)), span });
        }
        let second = if self.eat(":") { Some(self.expr()?) } else { None };
        self.expect("]")?;
        let span = value.span.to(self.last());
        let kind = match second {
            Some(low) => ExprKind::Slice(boxed(value), boxed(first), boxed(low)),
            None => ExprKind::Index(boxed(value), boxed(first)),
        };
        Ok(Expr { kind, span })
    }

    /// `(…)` of a call or an instance.
    pub(super) fn args(&mut self) -> Parsed<Vec<Arg>> {
        self.expect("(")?;
        self.list(")", |p| {
            let start = p.span();
            let name = if p.name_at(0) && p.is_at(1, "=") { Some(p.ident()?) } else { None };
            if name.is_some() {
                p.expect("=")?;
            }
            let value = if p.eat_word("_") { None } else { Some(p.expr_or_dots()?) };
            Ok(Arg { name, value, span: start.to(p.last()) })
        })
    }

    fn expr_or_dots(&mut self) -> Parsed<Expr> {
        let start = self.span();
        if self.eat("...") { Ok(Expr { kind: ExprKind::Dots, span: start }) } else { self.expr() }
    }

    fn primary(&mut self) -> Parsed<Expr> {
        let start = self.span();
        let simple = |p: &mut Self, kind| {
            p.at += 1;
            Ok(Expr { kind, span: start })
        };
        match self.peek().clone() {
            Tok::Number(n) => simple(self, ExprKind::Number(n)),
            Tok::Str(s) => {
                self.at += 1;
                Ok(Expr { kind: ExprKind::Str(s), span: start })
            }
            Tok::Sym("(") => {
                self.at += 1;
                let inner = self.expr()?;
                self.expect(")")?;
                Ok(Expr { span: start.to(self.last()), ..inner })
            }
            Tok::Sym("{") => self.braces(),
            Tok::Sym("...") => simple(self, ExprKind::Dots),
            Tok::Sym(".") => {
                self.at += 1;
                let name = self.ident()?;
                Ok(Expr { kind: ExprKind::Name(true, name.name), span: start.to(name.span) })
            }
            Tok::Ident(word) => match &*word {
                "true" | "false" => simple(self, ExprKind::Bool(&*word == "true")),
                "this" => simple(self, ExprKind::This),
                "error" | "bit" | "int" | "varbit" | "bool" | "tuple" | "string" | "match_kind" => {
                    let ty = self.ty()?;
                    Ok(Expr { span: ty.span, kind: ExprKind::Type(ty) })
                }
                _ => self.ident().map(|name| Expr { kind: ExprKind::Name(false, name.name), span: start }),
            },
            _ => Err(self.expected("an expression")),
        }
    }

    /// `{a, b}`, `{x = a, …}`, `{#}`, `{…}`.
    fn braces(&mut self) -> Parsed<Expr> {
        let start = self.expect("{")?;
        if self.eat("#") {
            let inside = self.last();
            let end = self.expect("}")?;
            if start.end != inside.start || inside.end != end.start {
                return Err(Box::new(Diagnostic::new(start.to(end), "`{#}` is one word")));
            }
            return Ok(Expr { kind: ExprKind::Invalid, span: start.to(self.last()) });
        }
        if self.name_at(0) && self.is_at(1, "=") {
            let mut dots = false;
            let mut fields: Vec<(Ident, Expr)> = Vec::new();
            while !self.eat("}") {
                if self.eat("...") {
                    dots = true;
                } else {
                    let name = self.ident()?;
                    self.expect("=")?;
                    fields.push((name, self.expr()?));
                }
                if !self.eat(",") {
                    self.expect("}")?;
                    break;
                }
            }
            return Ok(Expr { kind: ExprKind::Record(fields, dots), span: start.to(self.last()) });
        }
        let items = self.list("}", Self::expr_or_dots)?;
        Ok(Expr { kind: ExprKind::List(items), span: start.to(self.last()) })
    }
}

fn specialised(value: Expr, types: Vec<Ty>, last: Span) -> Expr {
    let span = value.span.to(last);
    let kind = match value.kind {
        ExprKind::Name(dot, name) => {
            let base = Ty { kind: TyKind::Named(dot, name), span: value.span };
            ExprKind::Type(Ty { kind: TyKind::Args(Box::new(base), types), span })
        }
        other => other,
    };
    Expr { kind, span }
}
