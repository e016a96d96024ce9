//! Objects: what has a place and can be assigned to.

use super::convert::with_article;
use super::{Checker, Symbol};
use crate::c::ast::{self, Arg, ExprKind, Name, UnaryOp};
use crate::c::builtins;
use crate::c::similar;
use crate::c::tree::{Expr, HANDLERS, Kind, PlaceExpr, PlaceKind, meaning};
use crate::c::types::{INT, Type, U8};
use crate::diagnostics::{Diagnostic, Span};
use std::sync::Arc;

/// It is written as an object, not as a mere value.
pub(super) fn looks_like_place(e: &ast::Expr) -> bool {
    match &e.kind {
        ExprKind::Name(_) | ExprKind::Index(..) | ExprKind::Member(..) | ExprKind::Unary(UnaryOp::Deref, _) => true,
        ExprKind::Call(callee, _) => is_info(callee),
        _ => false,
    }
}

fn is_info(callee: &ast::Expr) -> bool {
    matches!(&callee.kind, ExprKind::Name(name) if &*name.text == "info")
}

fn wrong(span: Span) -> PlaceExpr {
    PlaceExpr { kind: PlaceKind::Value(Box::new(Expr::error(span))), ty: Type::Error, span }
}

impl Checker<'_> {
    /// An object; a value that is none, as one that can be read only.
    pub(super) fn place(&mut self, e: &ast::Expr) -> PlaceExpr {
        let span = e.span;
        match &e.kind {
            ExprKind::Name(name) => self.variable(name),
            ExprKind::Unary(UnaryOp::Deref, pointer) => self.deref(pointer, None, span),
            ExprKind::Index(of, index) => self.element(of, index, span),
            ExprKind::Member(of, name, arrow) => self.member(of, name, *arrow, span),
            ExprKind::Call(callee, args) if is_info(callee) => self.info(args, span),
            _ => {
                let value = self.expr(e);
                PlaceExpr { ty: value.ty.clone(), kind: PlaceKind::Value(Box::new(value)), span }
            }
        }
    }

    fn variable(&mut self, name: &Name) -> PlaceExpr {
        let span = name.span;
        let found = |kind, ty| PlaceExpr { kind, ty, span };
        match self.lookup(&name.text).map(|(symbol, _)| symbol.clone()) {
            Some(Symbol::Local(id)) => {
                let local = self.current.as_ref().and_then(|current| current.function.locals.get(id));
                found(PlaceKind::Local(id), local.map_or(Type::Error, |local| local.ty.clone()))
            }
            Some(Symbol::Static(id)) => found(PlaceKind::Static(id), self.program.statics[id].ty.clone()),
            Some(Symbol::Param(id)) if self.is_texts(id) => {
                self.fault_help(span, format!("`{}` is a list of texts", name.text), "search packets for them: STRINGS_OF(words, list);");
                found(PlaceKind::Param(id), Type::Error)
            }
            Some(Symbol::Param(id)) => found(PlaceKind::Param(id), self.program.class.params[id].ctype.clone()),
            Some(Symbol::Constant(value)) => found(PlaceKind::Value(Box::new(Expr::number(value, INT, span))), INT),
            Some(other) => {
                let (what, help) = match other {
                    Symbol::Function(id) if self.program.handlers.contains(&Some(id)) => return self.handler_as_value(name),
                    Symbol::Function(_) => ("a function", "write `()` behind it to call it"),
                    Symbol::Pattern(_) => ("what packets are searched for", "use strings_find or regex_found"),
                    Symbol::Table(_) => ("a table", "use table_find, table_insert or table_delete"),
                    _ => ("a type", "write the name of a variable"),
                };
                self.fault_help(span, format!("`{}` is {what}, not a value", name.text), help);
                wrong(span)
            }
            None => self.known_word(name),
        }
    }

    fn known_word(&mut self, name: &Name) -> PlaceExpr {
        let span = name.span;
        if let "NINPUTS" | "NOUTPUTS" = &*name.text {
            let value = Expr { kind: Kind::Ports(&*name.text == "NOUTPUTS"), ty: INT, span };
            return PlaceExpr { kind: PlaceKind::Value(Box::new(value)), ty: INT, span };
        }
        match self.infos.get(&name.text) {
            Some(_) => self.fault_help(span, format!("`{}` is an info field", name.text), format!("write info({})", name.text)),
            None if HANDLERS.contains(&&*name.text) => return self.handler_as_value(name),
            None if builtins::is_function(&name.text) => {
                let none = builtins::find(&name.text).is_some_and(|row| row.takes.is_empty());
                let call = if none { "write `()` behind it to call it" } else { "write its arguments in parentheses behind it" };
                self.fault_help(span, format!("`{}` is a function of netvm.h, not a value", name.text), call);
            }
            None => self.unknown(name, "variable"),
        }
        wrong(span)
    }

    fn handler_as_value(&mut self, name: &Name) -> PlaceExpr {
        let packet = &*name.text == "packet";
        let help = if packet { "the packet's bytes are seen by way of header(T, offset)" } else { "netvm calls it: choose another name" };
        self.fault_help(name.span, format!("`{}` is a handler, not a value", name.text), help);
        wrong(name.span)
    }

    fn info(&mut self, args: &[Arg], span: Span) -> PlaceExpr {
        let [Arg::Expr(ast::Expr { kind: ExprKind::Name(name), .. })] = args else {
            self.fault_help(span, "info wants the name of one info field", "write info(name)");
            return wrong(span);
        };
        if let Some((id, _)) = self.infos.get(&name.text) {
            return PlaceExpr { kind: PlaceKind::Info(*id), ty: self.program.infos[*id].1.clone(), span };
        }
        let fault = Diagnostic::new(name.span, format!("there is no info field `{}`", name.text));
        let fault = fault.help(format!("declare it: INFO(u32, {});", name.text));
        let fault = similar(fault, &name.text, self.infos.keys().map(|name| &**name), "");
        self.faults.add(fault);
        wrong(span)
    }

    fn deref(&mut self, pointer: &ast::Expr, index: Option<Expr>, span: Span) -> PlaceExpr {
        let pointer = self.expr(pointer);
        match &pointer.ty {
            Type::Pointer(to) => {
                let ty = (**to).clone();
                PlaceExpr { kind: PlaceKind::Deref(Box::new(pointer), index.map(Box::new)), ty, span }
            }
            Type::Error => wrong(span),
            other => {
                let message = format!("{} is not a pointer", with_article(other));
                self.fault(pointer.span, message);
                wrong(span)
            }
        }
    }

    fn element(&mut self, of: &ast::Expr, index: &ast::Expr, span: Span) -> PlaceExpr {
        let index = self.expr(index);
        let index = self.arithmetic(index, "[]");
        if !looks_like_place(of) {
            return self.deref(of, Some(index), span);
        }
        let whole = self.place(of);
        match &whole.ty {
            Type::Array(each, count) => {
                let ty = (**each).clone();
                self.in_bounds(&index, *count);
                PlaceExpr { kind: PlaceKind::Element(Box::new(whole), Box::new(index)), ty, span }
            }
            Type::Pointer(to) => {
                let ty = (**to).clone();
                PlaceExpr { kind: PlaceKind::Deref(Box::new(self.load(whole)), Some(Box::new(index))), ty, span }
            }
            Type::Error => wrong(span),
            other => {
                let message = format!("{} has no elements", with_article(other));
                self.fault(whole.span, message);
                wrong(span)
            }
        }
    }

    fn in_bounds(&mut self, index: &Expr, count: u32) {
        let Kind::Number(value) = index.kind else { return };
        let n = meaning(&index.ty, value);
        if !(0..i128::from(count)).contains(&n) {
            self.fault(index.span, format!("the array has elements 0 to {}, not {n}", count - 1));
        }
    }

    fn member(&mut self, of: &ast::Expr, name: &Name, arrow: bool, span: Span) -> PlaceExpr {
        let whole = self.place(of);
        let whole = match (&whole.ty, arrow) {
            (Type::Pointer(to), _) => {
                let ty = (**to).clone();
                if !arrow {
                    self.fault_help(span, "this is a pointer, and `.` wants a struct", "write `->`");
                }
                let span = whole.span;
                PlaceExpr { kind: PlaceKind::Deref(Box::new(self.load(whole)), None), ty, span }
            }
            (Type::Struct(_) | Type::Mac | Type::In6, true) => {
                self.fault_help(span, "this is no pointer, and `->` wants one", "write `.`");
                whole
            }
            _ => whole,
        };
        self.part(whole, name, span)
    }

    fn part(&mut self, whole: PlaceExpr, name: &Name, span: Span) -> PlaceExpr {
        match &whole.ty {
            Type::Struct(found) => {
                if let Some((_, ty, offset)) = found.member(&name.text) {
                    let ty = ty.clone();
                    return PlaceExpr { kind: PlaceKind::Member(Box::new(whole), offset), ty, span };
                }
                let fault = Diagnostic::new(name.span, format!("{} has no member `{}`", whole.ty, name.text));
                let fault = similar(fault, &name.text, found.names().into_iter(), "");
                self.faults.add(fault);
            }
            Type::Mac | Type::In6 if &*name.text == "byte" => {
                // An array of its bytes, as long as it is indexed.
                let ty = Type::Array(Arc::new(U8), whole.ty.size());
                return PlaceExpr { kind: PlaceKind::Member(Box::new(whole), 0), ty, span };
            }
            Type::Mac | Type::In6 => {
                self.fault_help(name.span, format!("{} has no member `{}`", whole.ty, name.text), "its bytes are `byte[i]`")
            }
            Type::Error => {}
            other => {
                let message = format!("{} has no members", with_article(other));
                self.fault(whole.span, message);
            }
        }
        wrong(span)
    }

    /// The value of an object; an array is the pointer to its first element.
    pub(super) fn load(&self, place: PlaceExpr) -> Expr {
        let constant = matches!(place.ty, Type::Array(..)) && self.read_only(&place).is_some();
        let PlaceExpr { kind, ty, span } = place;
        match (ty, kind) {
            (_, PlaceKind::Value(value)) => *value,
            (Type::Error, _) => Expr::error(span),
            (Type::Array(of, count), kind) => {
                let whole = PlaceExpr { kind, ty: Type::Array(Arc::clone(&of), count), span };
                Expr { kind: Kind::Address(Box::new(whole)), ty: Type::pointer(of, constant), span }
            }
            (ty, PlaceKind::Element(of, index)) if is_bytes(&of) => Expr { kind: Kind::Load(Box::new(byte(*of, index, span))), ty, span },
            (ty, kind) => Expr { kind: Kind::Load(Box::new(PlaceExpr { kind, ty: ty.clone(), span })), ty, span },
        }
    }

    /// An object that is assigned to, stepped or pointed to.
    pub(super) fn lvalue(&mut self, e: &ast::Expr, verb: &str) -> PlaceExpr {
        if !looks_like_place(e) {
            if !self.expr(e).ty.is_error() {
                self.fault(e.span, format!("only a variable, a member or an element can be {verb}"));
            }
            return wrong(e.span);
        }
        let PlaceExpr { kind, ty, span } = self.place(e);
        match (&ty, kind) {
            (Type::Error, _) => wrong(e.span),
            (_, PlaceKind::Value(_)) => {
                self.fault(e.span, format!("a constant cannot be {verb}"));
                wrong(e.span)
            }
            (_, PlaceKind::Element(of, index)) if is_bytes(&of) => byte(*of, index, e.span),
            (_, kind) => PlaceExpr { kind, ty, span },
        }
    }

    /// An object that is written to: not a constant.
    pub(super) fn target(&mut self, e: &ast::Expr) -> PlaceExpr {
        let place = self.lvalue(e, "assigned to");
        let Some((what, declared)) = self.read_only(&place) else { return place };
        let fault = Diagnostic::new(e.span, format!("{what} cannot be assigned to"));
        self.faults.add(match declared {
            Some(declared) => fault.note(declared, "declared here"),
            None => fault,
        });
        wrong(e.span)
    }

    /// How to call an object that is not written to, and where it is declared.
    pub(super) fn read_only(&self, place: &PlaceExpr) -> Option<(String, Option<Span>)> {
        match &place.kind {
            PlaceKind::Member(of, offset) => constant_member(of, *offset, &place.ty).or_else(|| self.read_only(of)),
            PlaceKind::Element(of, _) | PlaceKind::Byte(of, _) => self.read_only(of),
            PlaceKind::Deref(pointer, _) => self.points_to_constant(pointer),
            PlaceKind::Param(id) => {
                let param = &self.program.class.params[*id];
                Some((format!("the parameter `{}` is a constant and", param.name), Some(param.span)))
            }
            PlaceKind::Static(id) => {
                let variable = &self.program.statics[*id];
                variable.constant.then(|| (format!("`{}` is const and", variable.name), Some(variable.span)))
            }
            PlaceKind::Local(id) => {
                let local = self.current.as_ref()?.function.locals.get(*id)?;
                local.constant.then(|| (format!("`{}` is const and", local.name), Some(local.span)))
            }
            _ => None,
        }
    }

    fn points_to_constant(&self, pointer: &Expr) -> Option<(String, Option<Span>)> {
        if !matches!(&pointer.ty, Type::Pointer(to) if to.constant) {
            return None;
        }
        let named = match &pointer.kind {
            Kind::Load(place) => match place.kind {
                PlaceKind::Local(id) => self.current.as_ref().and_then(|current| current.function.locals.get(id)),
                _ => None,
            },
            _ => None,
        };
        let what = |name: &str| format!("what {name} points to is const and");
        Some(named.map_or_else(|| (what("this"), None), |local| (what(&format!("`{}`", local.name)), Some(local.span))))
    }
}

/// How to call a member that is const.
fn constant_member(of: &PlaceExpr, offset: u32, ty: &Type) -> Option<(String, Option<Span>)> {
    let Type::Struct(found) = &of.ty else { return None };
    let member = found.members.iter().find(|member| member.offset == offset && member.ctype == *ty)?;
    member.constant.then(|| (format!("the member `{}` is const and", member.name), None))
}

/// The bytes of a `mac_t` or `in6_t`.
fn is_bytes(place: &PlaceExpr) -> bool {
    matches!(&place.kind, PlaceKind::Member(of, 0) if matches!(of.ty, Type::Mac | Type::In6))
}

fn byte(bytes: PlaceExpr, index: Box<Expr>, span: Span) -> PlaceExpr {
    let PlaceKind::Member(of, _) = bytes.kind else { return bytes };
    PlaceExpr { kind: PlaceKind::Byte(of, index), ty: U8, span }
}
