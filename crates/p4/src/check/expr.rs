//! Expressions.

use super::{Checked, Checker, Symbol, fault};
use crate::ast::{self, ExprKind as Ast, Ident, TyKind};
use crate::hir::{Expr, ExprKind, Type, TypeInfo};
use crate::lexer::Name;
use frontends::diagnostics::{Diagnostic, Span};
use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive};

fn made(kind: ExprKind, ty: Type, span: Span) -> Expr {
    Expr { kind, ty, span }
}

impl Checker {
    /// An expression that must be of a type, or fit it.
    pub(super) fn expr_as(&mut self, value: &ast::Expr, ty: &Type) -> Checked<Expr> {
        let checked = self.expr(value)?;
        self.coerce(checked, ty)
    }

    pub(super) fn expr(&mut self, value: &ast::Expr) -> Checked<Expr> {
        let span = value.span;
        match &value.kind {
            Ast::Bool(b) => Ok(made(ExprKind::Bool(*b), Type::Bool, span)),
            Ast::Number(n) => self.number(n, span),
            Ast::Str(s) => Ok(made(ExprKind::Str(s.clone()), Type::Str, span)),
            Ast::DontCare | Ast::Default => Ok(made(ExprKind::Everything, Type::Set(std::rc::Rc::new(Type::Any)), span)),
            Ast::Dots => Ok(made(ExprKind::Default, Type::Nothing, span)),
            Ast::Invalid => Ok(made(ExprKind::Default, Type::Invalid, span)),
            Ast::This => fault(span, "`this` has a meaning in abstract methods only"),
            Ast::Name(dot, name) => self.name(*dot, name, span),
            Ast::Type(_) => fault(span, "this is a type, and a value is wanted"),
            Ast::Member(base, member) => self.member(base, member, span),
            Ast::Index(base, index) => self.index(base, index, span),
            Ast::Slice(base, high, low) => self.slice(base, high, low, span),
            Ast::Part(base, low, width) => self.part(base, low, width, span),
            Ast::Unary(op, of) => {
                let of = self.expr(of)?;
                self.unary(*op, of, span)
            }
            Ast::Binary(op, left, right) => {
                let (left, right) = (self.expr(left)?, self.expr(right)?);
                self.binary(*op, left, right, span)
            }
            Ast::Ternary(condition, yes, no) => self.ternary(condition, yes, no, span),
            Ast::Cast(ty, of) => {
                let ty = self.ty(ty)?;
                let of = self.expr(of)?;
                let cast = self.cast(of, &ty)?;
                Ok(Expr { span, ..cast })
            }
            Ast::List(items) => {
                let items: Vec<Expr> = items.iter().map(|i| self.expr(i)).collect::<Checked<_>>()?;
                let ty = Self::tuple_of(&items);
                Ok(made(ExprKind::Fields(items), ty, span))
            }
            Ast::Record(fields, dots) => self.record(fields, *dots, span),
            Ast::Call(callee, types, args) => self.call(callee, types, args, span),
            Ast::Mask(a, b) => {
                let (a, b) = self.ends(a, b, span)?;
                let ty = Type::Set(std::rc::Rc::new(a.ty.clone()));
                Ok(made(ExprKind::Mask(Box::new(a), Box::new(b)), ty, span))
            }
            Ast::Range(a, b) => {
                let (a, b) = self.ends(a, b, span)?;
                let ty = Type::Set(std::rc::Rc::new(a.ty.clone()));
                Ok(made(ExprKind::Range(Box::new(a), Box::new(b)), ty, span))
            }
        }
    }

    /// The two sides of a mask or range.
    fn ends(&mut self, a: &ast::Expr, b: &ast::Expr, span: Span) -> Checked<(Expr, Expr)> {
        let (mut a, b) = (self.expr(a)?, self.expr(b)?);
        if matches!(a.ty, Type::SerEnum(_)) && a.ty != b.ty {
            let under = self.program.underlying(&a.ty);
            a = self.cast(a, &under)?;
        }
        if !matches!(self.program.underlying(&a.ty), Type::Bit(_) | Type::Int(_) | Type::Integer | Type::Any) {
            return fault(span, format!("{} has no such sets", self.show(&a.ty)));
        }
        if self.converts(&b.ty, &a.ty) {
            let b = self.coerce(b, &a.ty)?;
            return Ok((a, b));
        }
        let a = self.coerce(a, &b.ty)?;
        Ok((a, b))
    }

    fn number(&self, n: &crate::lexer::Number, span: Span) -> Checked<Expr> {
        let ty = match n.width {
            None => Type::Integer,
            Some((0, _)) if n.value != BigInt::from(0) => return fault(span, "a number of no bits is 0"),
            Some((width, true)) if width < 1 => return fault(span, "signed numbers have one bit at least"),
            Some((width, _)) if width > 1 << 16 => return fault(span, "this width is too large"),
            Some((width, true)) => Type::Int(width),
            Some((width, false)) => Type::Bit(width),
        };
        Ok(made(ExprKind::Int(super::operators::fit(n.value.clone(), &ty)), ty, span))
    }

    fn name(&mut self, dot: bool, name: &Name, span: Span) -> Checked<Expr> {
        match self.lookup(dot, name) {
            Some(Symbol::Const(value)) => Ok(Expr { span, ..value.clone() }),
            Some(Symbol::Var(var)) => Ok(made(ExprKind::Var(*var), self.program.vars[*var].ty.clone(), span)),
            Some(Symbol::Instance(id)) => Ok(made(ExprKind::Instance(*id), self.program.instances[*id].ty.clone(), span)),
            Some(Symbol::Table(_)) => fault(span, format!("`{name}` is a table, and a value is wanted")),
            Some(Symbol::Functions(_)) => fault(span, format!("`{name}` is a function, and a value is wanted")),
            Some(Symbol::Block(_)) => {
                let fault = Diagnostic::new(span, format!("`{name}` is a type, and a value is wanted"));
                Err(Box::new(fault.help(format!("`{name}()` makes one"))))
            }
            Some(Symbol::Type(_) | Symbol::Generic(_)) => fault(span, format!("`{name}` is a type, and a value is wanted")),
            None => Err(self.unknown(span, name)),
        }
    }

    /// The type that an expression names, if it names one.
    pub(super) fn as_type(&mut self, value: &ast::Expr) -> Checked<Option<Type>> {
        match &value.kind {
            Ast::Type(ty) => self.ty(ty).map(Some),
            Ast::Name(dot, name) => Ok(match self.lookup(*dot, name) {
                Some(Symbol::Type(ty)) => Some(ty.clone()),
                Some(Symbol::Block(id)) => Some(Type::Block(*id)),
                Some(Symbol::Generic(_)) => {
                    let ty = ast::Ty { kind: TyKind::Named(*dot, name.clone()), span: value.span };
                    Some(self.ty(&ty)?)
                }
                _ => None,
            }),
            _ => Ok(None),
        }
    }

    fn member(&mut self, base: &ast::Expr, member: &Ident, span: Span) -> Checked<Expr> {
        if let Some(ty) = self.as_type(base)? {
            return self.type_member(&ty, member, span);
        }
        let base = self.expr(base)?;
        match base.ty.clone() {
            Type::Any => Ok(made(ExprKind::Default, Type::Any, span)),
            Type::Struct(id, args) => {
                let fields = self.program.fields(id, &args);
                let Some(at) = fields.iter().position(|f| f.name == member.name) else {
                    return Err(self.no_field(&base.ty, member, fields.iter().map(|f| &*f.name)));
                };
                if let ExprKind::Fields(items) = &base.kind
                    && let Some(item) = items.get(at)
                {
                    return Ok(Expr { span, ..item.clone() });
                }
                Ok(made(ExprKind::Member(Box::new(base), at), fields[at].ty.clone(), span))
            }
            Type::Record(fields, _) => match (fields.iter().position(|(n, _)| *n == member.name), &base.kind) {
                (Some(at), ExprKind::Fields(items)) => Ok(Expr { span, ..items[at].clone() }),
                _ => Err(self.no_field(&base.ty, member, fields.iter().map(|f| &*f.0))),
            },
            Type::Stack(of, size) => self.stack_member(base, &of, size, member, span),
            Type::Applied(table) => match &*member.name {
                "hit" => Ok(made(ExprKind::Hit(table, true), Type::Bool, span)),
                "miss" => Ok(made(ExprKind::Hit(table, false), Type::Bool, span)),
                "action_run" => Ok(made(ExprKind::Default, Type::ActionRun(table), span)),
                _ => Err(self.no_field(&base.ty, member, ["hit", "miss", "action_run"].into_iter())),
            },
            other => Err(self.no_field(&other, member, std::iter::empty())),
        }
    }

    fn no_field<'a>(&self, ty: &Type, member: &Ident, known: impl Iterator<Item = &'a str>) -> Box<Diagnostic> {
        let fault = Diagnostic::new(member.span, format!("{} has no member `{}`", self.show(ty), member.name));
        super::meant(fault, &known.collect::<Vec<_>>(), &member.name)
    }

    fn type_member(&mut self, ty: &Type, member: &Ident, span: Span) -> Checked<Expr> {
        let value = |at: usize| made(ExprKind::Int(BigInt::from(at)), ty.clone(), span);
        let names: Vec<Name> = match ty {
            Type::Error => self.program.errors.clone(),
            Type::MatchKind => self.program.match_kinds.clone(),
            Type::Enum(id) => match &self.program.types[*id] {
                TypeInfo::Enum { members, .. } => members.clone(),
                _ => Vec::new(),
            },
            Type::SerEnum(id) => {
                let TypeInfo::SerEnum { members, .. } = &self.program.types[*id] else { return fault(span, "no such member") };
                if let Some((_, n)) = members.iter().find(|(n, _)| *n == member.name) {
                    return Ok(made(ExprKind::Int(n.clone()), ty.clone(), span));
                }
                members.iter().map(|(n, _)| n.clone()).collect()
            }
            _ => Vec::new(),
        };
        match names.iter().position(|n| *n == member.name) {
            Some(at) if !matches!(ty, Type::SerEnum(_)) => Ok(value(at)),
            _ => Err(self.no_field(ty, member, names.iter().map(|n| &**n))),
        }
    }

    fn stack_member(&mut self, base: Expr, of: &Type, size: u32, member: &Ident, span: Span) -> Checked<Expr> {
        let header = self.program.aggregate(of).is_some_and(|a| a != ast::Aggregate::Struct);
        let in_parser = self.context.in_parser;
        let base = Box::new(base);
        match &*member.name {
            "next" | "last" | "lastIndex" if !in_parser => fault(member.span, format!("`{}` is for parsers only", member.name)),
            "next" if header => Ok(made(ExprKind::Next(base), of.clone(), span)),
            "last" if header => Ok(made(ExprKind::Last(base), of.clone(), span)),
            "lastIndex" if header => Ok(made(ExprKind::LastIndex(base), Type::Bit(32), span)),
            "size" => Ok(made(ExprKind::Int(BigInt::from(size)), Type::Bit(32), span)),
            _ => Err(self.no_field(&base.ty, member, ["next", "last", "lastIndex", "size"].into_iter())),
        }
    }

    fn index(&mut self, base: &ast::Expr, index: &ast::Expr, span: Span) -> Checked<Expr> {
        let (base, index) = (self.expr(base)?, self.expr(index)?);
        if !matches!(self.program.underlying(&index.ty), Type::Bit(_) | Type::Int(_) | Type::Integer | Type::Any) {
            return fault(index.span, format!("an index is a number, not {}", self.show(&index.ty)));
        }
        let known = if let ExprKind::Int(n) = &index.kind { Some(n.clone()) } else { None };
        match base.ty.clone() {
            Type::Any => Ok(made(ExprKind::Default, Type::Any, span)),
            Type::Stack(of, size) => {
                if known.as_ref().is_some_and(|n| n.is_negative() || *n >= BigInt::from(size)) {
                    return fault(index.span, format!("the index lies outside the {size} elements"));
                }
                let index = if index.ty == Type::Integer { self.cast(index, &Type::Bit(32))? } else { index };
                Ok(made(ExprKind::Index(Box::new(base), Box::new(index)), (*of).clone(), span))
            }
            Type::Tuple(items) => {
                let Some(at) = known.and_then(|n| n.to_usize()).filter(|n| *n < items.len()) else {
                    return fault(index.span, format!("an index of this tuple is a constant below {}", items.len()));
                };
                if let ExprKind::Fields(given) = &base.kind
                    && let Some(item) = given.get(at)
                {
                    return Ok(Expr { span, ..item.clone() });
                }
                Ok(made(ExprKind::Member(Box::new(base), at), items[at].clone(), span))
            }
            other => fault(span, format!("{} has no elements", self.show(&other))),
        }
    }

    fn slice(&mut self, base: &ast::Expr, high: &ast::Expr, low: &ast::Expr, span: Span) -> Checked<Expr> {
        let base = self.expr(base)?;
        let (high, low) = (self.constant_int(high)?, self.constant_int(low)?);
        let base = if matches!(base.ty, Type::SerEnum(_)) { self.cast(base.clone(), &self.program.underlying(&base.ty))? } else { base };
        let width = match base.ty {
            Type::Any => return Ok(made(ExprKind::Default, Type::Any, span)),
            Type::Bit(w) | Type::Int(w) => Some(w),
            Type::Integer => None,
            _ => return fault(span, format!("{} has no bits to choose from", self.show(&base.ty))),
        };
        let (Some(h), Some(l)) = (high.to_u32(), low.to_u32()) else { return fault(span, "bits are numbered from 0") };
        if h < l || width.is_some_and(|w| h >= w) || h > 1 << 16 {
            return fault(span, format!("there are no bits {h} to {l} in {}", self.show(&base.ty)));
        }
        let ty = Type::Bit(h - l + 1);
        if let ExprKind::Int(n) = &base.kind {
            return Ok(made(ExprKind::Int(super::convert::wrap(&(n >> l), h - l + 1, false)), ty, span));
        }
        if width.is_none() {
            return fault(span, "the width of this number is not known");
        }
        Ok(made(ExprKind::Slice(Box::new(base), h, l), ty, span))
    }

    fn part(&mut self, base: &ast::Expr, low: &ast::Expr, width: &ast::Expr, span: Span) -> Checked<Expr> {
        let (base, low) = (self.expr(base)?, self.expr(low)?);
        let width = self.constant_int(width)?;
        let (Some(all), Some(width)) = (base.ty.width(), width.to_u32()) else { return fault(span, "these are no bits of a number") };
        if width == 0 || width > all {
            return fault(span, format!("there are no {width} bits in {}", self.show(&base.ty)));
        }
        let ty = Type::Bit(width);
        if let ExprKind::Int(n) = &low.kind {
            let low = n.to_u32().filter(|l| l.checked_add(width).is_some_and(|end| end <= all));
            let Some(low) = low else { return fault(span, "these bits lie outside the number") };
            return Ok(made(ExprKind::Slice(Box::new(base), low + width - 1, low), ty, span));
        }
        if !matches!(low.ty, Type::Bit(_)) {
            return fault(low.span, "the lowest bit is an unsigned number");
        }
        Ok(made(ExprKind::Part(Box::new(base), Box::new(low)), ty, span))
    }

    fn ternary(&mut self, condition: &ast::Expr, yes: &ast::Expr, no: &ast::Expr, span: Span) -> Checked<Expr> {
        let condition = self.expr_as(condition, &Type::Bool)?;
        let (yes, no) = (self.expr(yes)?, self.expr(no)?);
        let (yes, no) = match () {
            () if yes.ty == no.ty => (yes, no),
            () if self.converts(&no.ty, &yes.ty) => {
                let no = self.coerce(no, &yes.ty)?;
                (yes, no)
            }
            () => {
                let yes = self.coerce(yes, &no.ty)?;
                (yes, no)
            }
        };
        if let ExprKind::Bool(b) = condition.kind {
            return Ok(if b { yes } else { no });
        }
        let ty = yes.ty.clone();
        Ok(made(ExprKind::Ternary(Box::new(condition), Box::new(yes), Box::new(no)), ty, span))
    }

    fn record(&mut self, fields: &[(Ident, ast::Expr)], dots: bool, span: Span) -> Checked<Expr> {
        let (mut types, mut items) = (Vec::new(), Vec::new());
        for (name, value) in fields {
            if types.iter().any(|(n, _)| *n == name.name) {
                return fault(name.span, format!("`{}` is given twice", name.name));
            }
            let value = self.expr(value)?;
            types.push((name.name.clone(), value.ty.clone()));
            items.push(value);
        }
        Ok(made(ExprKind::Fields(items), Type::Record(types.into(), dots), span))
    }

    /// Refuses what cannot be written to.
    pub(super) fn lvalue(&self, value: &Expr) -> Checked<()> {
        match &value.kind {
            ExprKind::Var(var) if self.program.vars[*var].writable => Ok(()),
            ExprKind::Var(var) => {
                let info = &self.program.vars[*var];
                let fault = Diagnostic::new(value.span, format!("`{}` cannot be written to", info.name));
                Err(Box::new(fault.note(info.span, "declared here")))
            }
            ExprKind::Member(of, _) | ExprKind::Index(of, _) | ExprKind::Slice(of, ..) | ExprKind::Part(of, _) => self.lvalue(of),
            ExprKind::Next(of) | ExprKind::Last(of) => self.lvalue(of),
            _ if value.ty == Type::Any => Ok(()),
            _ => fault(value.span, "this is no place that can be written to"),
        }
    }
}
