//! Calls: of the file's functions and of those of netvm.h.

use super::convert::with_article;
use super::place::looks_like_place;
use super::{Checker, Symbol};
use crate::c::ast::{self, ExprKind, Name};
use crate::c::builtins::{self, Does, Gives, Own, Row, Takes};
use crate::c::tree::{Arg, Expr, Kind, PlaceExpr, PlaceKind, meaning};
use crate::c::types::{INT, Type};
use crate::diagnostics::{Diagnostic, Span};
use std::sync::Arc;

impl Checker<'_> {
    pub(super) fn call(&mut self, callee: &ast::Expr, args: &[ast::Arg], span: Span) -> Expr {
        let ExprKind::Name(name) = &callee.kind else {
            self.fault(callee.span, "only a function can be called");
            return Expr::error(span);
        };
        match self.lookup(&name.text).map(|(symbol, _)| symbol.clone()) {
            Some(Symbol::Function(id)) => self.call_function(id, name, args, span),
            Some(_) => {
                // Where the file takes a name of netvm.h, that is told already.
                let taken = self.scopes[0].contains_key(&name.text) && builtins::is_function(&name.text);
                if !taken {
                    self.fault(name.span, format!("`{}` is not a function", name.text));
                }
                Expr::error(span)
            }
            None => match builtins::find(&name.text) {
                Some(row) => self.call_builtin(row, name, args, span),
                None => self.no_function(name, args, span),
            },
        }
    }

    fn no_function(&mut self, name: &Name, args: &[ast::Arg], span: Span) -> Expr {
        if let "emit" | "drop" = &*name.text {
            let help = format!("write `{}(...);` for itself", name.text);
            self.fault_help(span, format!("`{}` ends the handler and has no value", name.text), help);
        } else {
            self.unknown(name, "function");
            for arg in args.iter().filter(|_| super::absent::instead(&name.text).is_none()) {
                match arg {
                    ast::Arg::Expr(ast::Expr { kind: ExprKind::Text(_), .. }) | ast::Arg::Type(_) => {}
                    ast::Arg::Expr(arg) => _ = self.expr(arg),
                }
            }
        }
        Expr::error(span)
    }

    fn counted(&mut self, name: &Name, wants: usize, args: &[ast::Arg], span: Span, declared: Option<Span>) -> bool {
        if args.len() == wants {
            return true;
        }
        let message = format!("`{}` takes {wants} argument{}, not {}", name.text, if wants == 1 { "" } else { "s" }, args.len());
        let fault = Diagnostic::new(span, message);
        self.faults.add(match declared {
            Some(declared) => fault.note(declared, "declared here"),
            None => fault,
        });
        false
    }

    fn call_function(&mut self, id: usize, name: &Name, args: &[ast::Arg], span: Span) -> Expr {
        let function = self.program.functions[id].clone();
        if let Some(current) = &mut self.current {
            current.function.calls.push((id, name.span));
        }
        if !self.counted(name, function.params, args, span, Some(function.span)) {
            return Expr::error(span);
        }
        let mut values = Vec::new();
        for (arg, local) in args.iter().zip(&function.locals) {
            let value = self.value(arg);
            values.push(self.passed(value, local, name));
        }
        if values.iter().any(|value| value.ty.is_error()) {
            return Expr { kind: Kind::Error, ty: function.result, span }.without_value();
        }
        Expr { kind: Kind::Call(id, values), ty: function.result, span }
    }

    fn value(&mut self, arg: &ast::Arg) -> Expr {
        match arg {
            ast::Arg::Expr(arg) => self.expr(arg),
            ast::Arg::Type(name) => {
                self.fault(name.base.span, "this is a type, not a value");
                Expr::error(name.base.span)
            }
        }
    }

    fn call_builtin(&mut self, row: &'static Row, name: &Name, args: &[ast::Arg], span: Span) -> Expr {
        let wants = match row.takes.last() {
            Some(Takes::More(most)) => args.len().clamp(1, *most),
            _ => row.takes.len(),
        };
        if !self.counted(name, wants, args, span, None) {
            return Expr::error(span);
        }
        let mut found: Vec<Arg> = Vec::new();
        for (n, arg) in args.iter().enumerate() {
            let takes = match row.takes.get(n) {
                None | Some(Takes::More(_)) => &row.takes[0],
                Some(takes) => takes,
            };
            match self.argument(takes, arg, &found, name) {
                Some(arg) => found.push(arg),
                None => return Expr::error(span),
            }
        }
        let mut made = self.built(row, found, span);
        if let (Type::Pointer(to), Some(ast::Arg::Type(written))) = (&made.ty, args.first()) {
            made.ty = Type::pointer((**to).clone(), written.base.constant);
        }
        made
    }

    fn built(&mut self, row: &'static Row, args: Vec<Arg>, span: Span) -> Expr {
        let ty = match (&row.gives, args.first()) {
            (Gives::Value(ty), _) => ty.clone(),
            (Gives::View, Some(Arg::Type(ty))) => Type::pointer(ty.clone(), false),
            (Gives::Entry, Some(Arg::Table(table))) => Type::pointer(self.program.tables[*table].value.clone(), false),
            _ => return Expr::error(span),
        };
        if let [Arg::Value(a), Arg::Value(b)] = &args[..]
            && row.takes == [Takes::Any, Takes::Any]
        {
            return self.equal(a, b, span);
        }
        if let (Does::Own(Own::Clone), [Arg::Value(port)]) = (&row.does, &args[..])
            && let Kind::Number(n) = port.kind
        {
            self.output_exists(meaning(&port.ty, n), port.span);
        }
        Expr { kind: Kind::Builtin(row, args), ty, span }
    }

    fn equal(&mut self, a: &Expr, b: &Expr, span: Span) -> Expr {
        if a.ty != b.ty {
            let message = format!("`equal` compares values of one type, not {} with {}", with_article(&a.ty), with_article(&b.ty));
            let fault = Diagnostic::new(span, message);
            self.faults.add(if a.ty.is_int() && b.ty.is_int() { fault.help("write ==") } else { fault });
            return Expr::error(span);
        }
        if matches!(a.ty, Type::Pointer(_) | Type::Void | Type::Text) {
            self.fault(span, format!("`equal` does not compare {}", with_article(&a.ty)));
            return Expr::error(span);
        }
        Expr { kind: Kind::Equal(Box::new(a.clone()), Box::new(b.clone())), ty: INT, span }
    }

    fn argument(&mut self, takes: &Takes, arg: &ast::Arg, before: &[Arg], name: &Name) -> Option<Arg> {
        match (takes, arg) {
            (Takes::Type, ast::Arg::Type(written)) => {
                let ty = self.type_name(written);
                self.viewable(&ty, arg.span()).then_some(Arg::Type(ty))
            }
            (Takes::Type, _) => {
                let help = format!("write {}(struct ip, 14)", name.text);
                self.fault_help(arg.span(), format!("`{}` wants a type here", name.text), help);
                None
            }
            (Takes::Table, _) => self.table(arg),
            (Takes::Strings | Takes::Regex, _) => self.pattern(arg, *takes == Takes::Regex),
            (Takes::Key, ast::Arg::Expr(key)) => self.key(key, before),
            (Takes::KeyPlace, ast::Arg::Expr(key)) => self.key_place(key, before),
            (Takes::Literal, ast::Arg::Expr(ast::Expr { kind: ExprKind::Text(bytes), span })) => {
                let kind = Kind::Text(Arc::from(&bytes[..]));
                Some(Arg::Value(Expr { kind, ty: Type::Text, span: *span }))
            }
            (Takes::Literal, _) => {
                self.fault_help(
                    arg.span(),
                    format!("`{}` wants a string in quotes here", name.text),
                    "numbers are printed by print_uint and its kin",
                );
                None
            }
            _ => self.value_argument(takes, arg, name),
        }
    }

    fn value_argument(&mut self, takes: &Takes, arg: &ast::Arg, name: &Name) -> Option<Arg> {
        let value = self.value(arg);
        let value = match takes {
            Takes::Value(ty) => self.convert(value, ty, "this argument"),
            Takes::Text => self.convert(value, &Type::Text, "this argument"),
            Takes::Array => self.bytes(value, name, true),
            Takes::Bytes => self.bytes(value, name, false),
            _ => value,
        };
        (!value.ty.is_error()).then_some(Arg::Value(value))
    }

    /// Bytes of the element's own memory.
    fn bytes(&mut self, value: Expr, name: &Name, written: bool) -> Expr {
        match &value.ty {
            Type::Pointer(to) if to.constant && written => {
                let help = "give it an array without `const`";
                self.fault_help(value.span, format!("`{}` writes to this, which is const", name.text), help);
                Expr::error(value.span)
            }
            Type::Pointer(to) if to.size() == 1 || to.is_error() => value,
            Type::Error => value,
            other => {
                let message = format!("`{}` copies bytes, and this is {}", name.text, with_article(other));
                self.fault_help(value.span, message, "use an array of u8, or assign through a view: *header(T, offset) = ...");
                Expr::error(value.span)
            }
        }
    }

    fn viewable(&mut self, ty: &Type, span: Span) -> bool {
        let fits = !matches!(ty, Type::Error | Type::Void | Type::Text | Type::Pointer(_));
        if !fits && !ty.is_error() {
            self.fault(span, format!("a packet holds no {ty}"));
        }
        fits
    }

    pub(super) fn table(&mut self, arg: &ast::Arg) -> Option<Arg> {
        if let ast::Arg::Expr(ast::Expr { kind: ExprKind::Name(name), .. }) = arg {
            match self.lookup(&name.text) {
                Some((Symbol::Table(id), _)) => return Some(Arg::Table(*id)),
                None => {
                    self.unknown(name, "table");
                    return None;
                }
                Some(_) => {}
            }
        }
        self.fault_help(arg.span(), "this is not a table", "declare one: TABLE_EXACT(name, key type, value type, capacity, timeout)");
        None
    }

    /// A variable for the key of a table: its address is written as such, so that it is no pointer
    /// to what is const.
    fn key_place(&mut self, key: &ast::Expr, before: &[Arg]) -> Option<Arg> {
        if matches!(&key.kind, ExprKind::Unary(ast::UnaryOp::Address, of) if looks_like_place(of)) {
            return self.key(key, before);
        }
        self.fault_help(key.span, "the key is written to a variable", "write `&` and its name");
        None
    }

    /// The key of a table: the address of an object of its key type.
    fn key(&mut self, key: &ast::Expr, before: &[Arg]) -> Option<Arg> {
        let Some(Arg::Table(table)) = before.first() else { return None };
        let wants = self.program.tables[*table].key.clone();
        let address = match &key.kind {
            ExprKind::Unary(ast::UnaryOp::Address, of) if looks_like_place(of) => {
                let place = self.place(of);
                Expr { ty: Type::pointer(place.ty.clone(), true), kind: Kind::Address(Box::new(place)), span: key.span }
            }
            ExprKind::Unary(ast::UnaryOp::Address, of) if matches!(of.kind, ExprKind::Compound(..)) => {
                let value = self.expr(of);
                let (ty, span) = (value.ty.clone(), value.span);
                let place = PlaceExpr { kind: PlaceKind::Value(Box::new(value)), ty: ty.clone(), span };
                Expr { kind: Kind::Address(Box::new(place)), ty: if ty.is_error() { ty } else { Type::pointer(ty, true) }, span }
            }
            _ => self.expr(key),
        };
        match &address.ty {
            Type::Error => None,
            Type::Pointer(to) if to.is_error() || wants.is_error() => None,
            Type::Pointer(to) if **to == wants => Some(Arg::Key(pointed(address))),
            ty => {
                let message = match ty {
                    ty if *ty == wants => "a table is given the address of a key".to_owned(),
                    Type::Pointer(to) => format!("the key of this table is a {wants}, and this is the address of {}", with_article(to)),
                    ty => format!("the key of this table is a {wants}, and this is {}", with_article(ty)),
                };
                let declared = self.program.tables[*table].span;
                let fault = Diagnostic::new(key.span, message).note(declared, "declared here");
                let fault = if *ty == wants { fault.help("write `&` before it") } else { fault };
                self.faults.add(fault);
                None
            }
        }
    }
}

/// The object at an address.
fn pointed(address: Expr) -> PlaceExpr {
    let span = address.span;
    match (address.kind, address.ty) {
        (Kind::Address(place), Type::Pointer(to)) if place.ty == *to => *place,
        (kind, ty) => {
            let to = if let Type::Pointer(to) = &ty { (**to).clone() } else { Type::Error };
            PlaceExpr { kind: PlaceKind::Deref(Box::new(Expr { kind, ty, span }), None), ty: to, span }
        }
    }
}

impl Expr {
    /// A call whose arguments are wrong: its type stays known, so that more can be found.
    fn without_value(self) -> Self {
        if self.ty == Type::Void { self } else { Self::error(self.span) }
    }
}
