//! Calls: which function is meant, arguments to parameters, type arguments that nobody wrote.

use super::types::Bound;
use super::{Checked, Checker, Symbol, fault, writes};
use crate::ast::{self, Aggregate, Arg, Dir, ExprKind as Ast, Ident, Ty};
use crate::hir::{Builtin, Callee, Expr, ExprKind, FnId, FnKind, Function, Instance, ParamId, ParamInfo, Type, TypeInfo};
use frontends::diagnostics::{Diagnostic, Span};
use num_bigint::BigInt;
use num_traits::ToPrimitive;

/// A number without a width, or a list that has one.
fn without_width(ty: &Type) -> bool {
    match ty {
        Type::Integer => true,
        Type::Tuple(items) => items.iter().any(without_width),
        _ => false,
    }
}

impl Checker {
    pub(super) fn call(&mut self, callee: &ast::Expr, types: &[Ty], args: &[Arg], span: Span) -> Checked<Expr> {
        match &callee.kind {
            Ast::Member(base, method) => self.method(base, method, types, args, span),
            Ast::Name(dot, name) => match self.lookup(*dot, name).cloned() {
                Some(Symbol::Functions(all)) => self.function(&all, types, args, span),
                Some(Symbol::Type(_) | Symbol::Block(_) | Symbol::Generic(_)) => {
                    let base = Ty { kind: ast::TyKind::Named(*dot, name.clone()), span: callee.span };
                    let ty = if types.is_empty() { base } else { Ty { span, kind: ast::TyKind::Args(Box::new(base), types.to_vec()) } };
                    self.construct(&ty, args, span)
                }
                Some(_) => fault(callee.span, format!("`{name}` cannot be called")),
                None => Err(self.unknown(callee.span, name)),
            },
            Ast::Type(ty) => self.construct(ty, args, span),
            _ => fault(callee.span, "this cannot be called"),
        }
    }

    /// An instance without a name.
    fn construct(&mut self, ty: &Ty, args: &[Arg], span: Span) -> Checked<Expr> {
        let (ty, args) = self.instance_type(ty, args, span)?;
        if let Type::Extern(id, _) = &ty
            && let TypeInfo::Extern { name, methods, .. } = &self.program.types[*id]
            && methods.iter().any(|m| self.program.functions[*m].is_abstract)
        {
            return fault(span, format!("`{name}` has abstract methods, which only a declaration can implement"));
        }
        let public = (self.program.show(&ty).into(), false);
        let name = match &ty {
            Type::Block(id) => self.program.blocks[*id].name.clone(),
            _ => "".into(),
        };
        let public = if let Type::Block(id) = &ty { (self.program.blocks[*id].name.clone(), false) } else { public };
        self.program.instances.push(Instance { name, public, ty: ty.clone(), args, notes: [].into(), span });
        let id = self.program.instances.len() - 1;
        Ok(Expr { kind: ExprKind::Call { callee: Callee::Construct(id), types: Vec::new(), args: Vec::new() }, ty, span })
    }

    /// The type of an instance, type arguments filled in, and its checked arguments.
    pub(super) fn instance_type(&mut self, ty: &Ty, args: &[Arg], span: Span) -> Checked<(Type, Vec<Expr>)> {
        let inferred = match &ty.kind {
            ast::TyKind::Named(dot, name) => match self.lookup(*dot, name) {
                Some(Symbol::Generic(id)) => Some(*id),
                _ => None,
            },
            _ => None,
        };
        let (wanted, free) = match inferred {
            Some(id) => {
                let params = self.type_params(id).to_vec();
                (self.of_id(id, params.iter().map(|p| Type::Param(*p)).collect()), params)
            }
            None => (self.ty(ty)?, Vec::new()),
        };
        if let Type::Stack(of, _) = &wanted {
            let of = (**of).clone();
            return fault(ty.span, format!("arrays of {} are not supported", self.show(&of)));
        }
        let (params, mut bound) = self.constructor(&wanted, args, span)?;
        let own: Bound = std::mem::take(&mut bound);
        let params: Vec<ParamInfo> = params.into_iter().map(|p| ParamInfo { ty: self.program.substitute(&p.ty, &own), ..p }).collect();
        let given = self.arguments(&params, args, span, &free, &mut bound)?;
        if let Some(p) = free.iter().find(|p| !bound.contains_key(p) || bound[p] == Type::Integer) {
            return fault(span, format!("type argument `{}` is not known", self.program.type_params[*p]));
        }
        let result = self.program.substitute(&wanted, &bound);
        let given: Vec<Expr> = given.into_iter().flatten().collect();
        if let Some(wrong) = given.iter().find(|a| !self.is_compile_time(a)) {
            return fault(wrong.span, "an argument of a constructor is known when the program is compiled");
        }
        Ok((result, given))
    }

    fn constructor(&self, ty: &Type, args: &[Arg], span: Span) -> Checked<(Vec<ParamInfo>, Bound)> {
        match ty {
            Type::Block(id) => Ok((self.program.blocks[*id].ctor.clone(), Bound::new())),
            Type::Extern(id, of) => {
                let TypeInfo::Extern { name, params, ctors, .. } = &self.program.types[*id] else { return fault(span, "no constructor") };
                let bound = params.iter().copied().zip(of.iter().cloned()).collect();
                let fits = ctors.iter().find(|c| self.takes(&self.program.functions[**c].params, args));
                match fits {
                    Some(c) => Ok((self.program.functions[*c].params.clone(), bound)),
                    None => fault(span, format!("`{name}` has no constructor that takes these {} arguments", args.len())),
                }
            }
            Type::Arch(id, of) => {
                let TypeInfo::Arch { kind, params, sig, .. } = &self.program.types[*id] else { return fault(span, "no constructor") };
                if *kind != crate::hir::ArchKind::Package {
                    return fault(span, format!("{} is the type of parsers or controls, not one of them", self.show(ty)));
                }
                Ok((sig.clone(), params.iter().copied().zip(of.iter().cloned()).collect()))
            }
            _ => fault(span, format!("{} has no instances", self.show(ty))),
        }
    }

    /// Whether the numbers and names of arguments suit the parameters.
    fn takes(&self, params: &[ParamInfo], args: &[Arg]) -> bool {
        let named = args.iter().filter_map(|a| a.name.as_ref());
        args.len() <= params.len()
            && named.clone().all(|n| params.iter().any(|p| p.name == n.name))
            && params.iter().enumerate().all(|(at, p)| {
                let by_name = args.iter().any(|a| a.name.as_ref().is_some_and(|n| n.name == p.name));
                let by_place = args.get(at).is_some_and(|a| a.name.is_none());
                by_name || by_place || p.default.is_some() || p.optional
            })
    }

    fn function(&mut self, all: &[FnId], types: &[Ty], args: &[Arg], span: Span) -> Checked<Expr> {
        let f = self.overload(all, args, span)?;
        let callee = &self.program.functions[f];
        let in_function = self.context.result.is_some() && !self.context.in_action;
        if callee.kind == FnKind::Action && (self.context.in_parser || self.context.in_table_key || in_function) {
            return fault(span, "actions are called by controls and actions only");
        }
        if callee.kind == FnKind::Extern && &*callee.name == "static_assert" {
            return self.static_assert(f, args, span);
        }
        if callee.kind == FnKind::Extern && &*callee.name == "verify" && !self.context.in_parser {
            return fault(span, "`verify` is for parsers only");
        }
        let (types, args, result) = self.invoke(f, &Bound::new(), types, args, span)?;
        Ok(Expr { kind: ExprKind::Call { callee: Callee::Function(f), types, args }, ty: result, span })
    }

    fn static_assert(&mut self, f: FnId, args: &[Arg], span: Span) -> Checked<Expr> {
        let (_, args, _) = self.invoke(f, &Bound::new(), &[], args, span)?;
        match args.first().and_then(Option::as_ref).map(|a| &a.kind) {
            Some(ExprKind::Bool(true)) => Ok(Expr { kind: ExprKind::Bool(true), ty: Type::Bool, span }),
            Some(ExprKind::Bool(false)) => {
                let why = match args.get(1).and_then(Option::as_ref).map(|a| &a.kind) {
                    Some(ExprKind::Str(text)) => format!("static_assert failed: {text}"),
                    _ => "static_assert failed".to_owned(),
                };
                fault(span, why)
            }
            _ => fault(span, "this condition is not known when the program is compiled"),
        }
    }

    fn overload(&self, all: &[FnId], args: &[Arg], span: Span) -> Checked<FnId> {
        let function = |f: &FnId| &self.program.functions[*f];
        let mut fitting = all.iter().filter(|f| self.takes(&function(f).params, args));
        let fits = fitting.next();
        if let (Some(one), Some(other)) = (fits, fitting.next()) {
            let ambiguous = Diagnostic::new(span, format!("this may be one `{}` or another", function(one).name));
            return Err(Box::new(ambiguous.note(function(one).span, "one").note(function(other).span, "another")));
        }
        match (fits, all.first()) {
            (Some(f), _) => Ok(*f),
            (None, Some(first)) => {
                let names = |f: &FnId| function(f).params.iter().map(|p| &*p.name).collect::<Vec<_>>().join(", ");
                let ways: Vec<String> = all.iter().map(|f| format!("{}({})", function(f).name, names(f))).collect();
                let fault = Diagnostic::new(span, format!("`{}` takes other arguments than these {}", function(first).name, args.len()));
                Err(Box::new(fault.help(format!("there is {}", ways.join(", ")))))
            }
            (None, None) => fault(span, "there is no such function"),
        }
    }

    /// Arguments, type arguments and result of a call.
    fn invoke(&mut self, f: FnId, owner: &Bound, types: &[Ty], args: &[Arg], span: Span) -> Checked<(Vec<Type>, Vec<Option<Expr>>, Type)> {
        let function = self.program.functions[f].clone();
        let free: Vec<ParamId> = function.type_params.clone();
        let mut bound = Bound::new();
        if !types.is_empty() {
            if types.len() != free.len() {
                return fault(span, format!("`{}` takes {} type arguments, not {}", function.name, free.len(), types.len()));
            }
            for (p, ty) in free.iter().zip(types) {
                let ty = self.ty(ty)?;
                if ty == Type::Void {
                    return fault(span, "`void` is no type argument");
                }
                if ty != Type::Any {
                    bound.insert(*p, ty);
                }
            }
        }
        let params: Vec<ParamInfo> =
            function.params.iter().map(|p| ParamInfo { ty: self.program.substitute(&p.ty, owner), ..p.clone() }).collect();
        let args = self.arguments(&params, args, span, &free, &mut bound)?;
        if function.kind != FnKind::Action {
            self.directionless(&params, &args)?;
        }
        if let Some(block) = args.iter().flatten().find(|arg| matches!(arg.ty, Type::Block(_) | Type::Arch(..))) {
            return fault(block.span, format!("{} is no argument of a function", self.show(&block.ty)));
        }
        if let Some(wrong) = self.no_type_said(&free, &bound, owner, &function, &args) {
            return Err(wrong);
        }
        let result = self.program.substitute(&self.program.substitute(&function.result, owner), &bound);
        if let Some(p) = free.iter().find(|p| bound.get(p).is_some_and(without_width)).filter(|_| types.is_empty()) {
            let name = &self.program.type_params[*p];
            return fault(span, format!("the width of `{name}` of `{}` is not known: a number here has none", function.name));
        }
        if let Some(p) = free.iter().find(|p| !bound.contains_key(p)) {
            // Of something that is wrong nobody can tell.
            if args.iter().flatten().any(|arg| arg.ty == Type::Any) {
                return fault(span, super::CONSEQUENCE);
            }
            return fault(span, format!("type argument `{}` of `{}` is not known", self.program.type_params[*p], function.name));
        }
        let types = free.iter().map(|p| bound.get(p).cloned().unwrap_or(Type::Any)).collect();
        Ok((types, args, result))
    }

    /// An argument whose type nothing tells: it has names and no type, or the type of what it is
    /// given to is `_`.
    fn no_type_said(
        &self,
        free: &[ParamId],
        bound: &Bound,
        owner: &Bound,
        function: &Function,
        args: &[Option<Expr>],
    ) -> Option<Box<Diagnostic>> {
        let given = |p: ParamId| {
            let at = function.params.iter().position(|param| param.ty == Type::Param(p))?;
            args.get(at)?.as_ref().map(|arg| arg.span)
        };
        let untyped = |p: &&ParamId| matches!(bound.get(p), Some(Type::Record(..) | Type::Invalid | Type::Nothing));
        if let Some(p) = free.iter().find(untyped) {
            let wrong = Diagnostic::new(given(*p).unwrap_or(function.span), "the type of this is not known");
            return Some(Box::new(wrong.help("name it: `(TYPE){ ... }`")));
        }
        for (p, _) in owner.iter().filter(|(_, ty)| **ty == Type::Any && self.faults.is_empty()) {
            let Some(span) = given(*p) else { continue };
            let name = &self.program.type_params[*p];
            let wrong =
                Diagnostic::new(span, format!("the type `{name}` of this argument of `{}` is `_`, which nothing tells", function.name));
            return Some(Box::new(wrong.help("write the type where the object is declared")));
        }
        None
    }

    /// Arguments by parameter, each as its parameter wants it; type parameters are bound on the
    /// way.
    fn arguments(
        &mut self,
        params: &[ParamInfo],
        args: &[Arg],
        span: Span,
        free: &[ParamId],
        bound: &mut Bound,
    ) -> Checked<Vec<Option<Expr>>> {
        let placed = self.place(params, args, span)?;
        let mut checked = Vec::new();
        for (param, arg) in params.iter().zip(&placed) {
            let value = match arg.and_then(|a| a.value.as_ref()) {
                Some(value) => Some(self.expr(value)?),
                None if arg.is_some() && param.dir != Dir::Out && !matches!(param.ty, Type::Arch(..) | Type::Any) => {
                    return fault(arg.map_or(span, |a| a.span), format!("`_` is no argument for `{}`, which is read", param.name));
                }
                None if arg.is_some() => None,
                None => param.default.clone(),
            };
            let wanted = self.program.substitute(&param.ty, bound);
            if let Some(value) = &value
                && !self.unify(&wanted, &value.ty, free, bound)
            {
                let (is, want) = (self.show(&value.ty), self.show(&wanted));
                let fault = Diagnostic::new(value.span, format!("the argument for `{}` is {is}, and {want} is wanted", param.name));
                return Err(Box::new(match self.other_block(&wanted, &value.ty, bound) {
                    Some(why) => fault.help(why),
                    None => fault,
                }));
            }
            if param.dir != Dir::None && self.program.substitute(&param.ty, bound) == Type::Str {
                return fault(value.map_or(span, |v| v.span), format!("`{}` has a direction, and is no string", param.name));
            }
            checked.push(value);
        }
        let mut out = Vec::new();
        for (param, value) in params.iter().zip(checked) {
            let wanted = self.program.substitute(&param.ty, bound);
            let Some(value) = value else {
                out.push(None);
                continue;
            };
            if writes(param.dir) {
                self.lvalue(&value)?;
                if value.ty != wanted && value.ty != Type::Any && wanted != Type::Any {
                    let (is, want) = (self.show(&value.ty), self.show(&wanted));
                    return fault(value.span, format!("the argument for `{}` is {is}, and {want} is wanted", param.name));
                }
                out.push(Some(value));
            } else {
                out.push(Some(self.coerce(value, &wanted)?));
            }
        }
        Ok(out)
    }

    fn place<'a>(&self, params: &[ParamInfo], args: &'a [Arg], span: Span) -> Checked<Vec<Option<&'a Arg>>> {
        let mut placed: Vec<Option<&Arg>> = vec![None; params.len()];
        for (n, arg) in args.iter().enumerate() {
            let at = match &arg.name {
                Some(name) => params.iter().position(|p| p.name == name.name),
                None => Some(n).filter(|n| *n < params.len()),
            };
            let Some(at) = at else {
                return fault(
                    arg.span,
                    match &arg.name {
                        Some(name) => format!("there is no parameter `{}`", name.name),
                        None => format!("there are {} parameters only", params.len()),
                    },
                );
            };
            if placed[at].replace(arg).is_some() {
                return fault(arg.span, format!("`{}` is given twice", params[at].name));
            }
        }
        let missing = params.iter().zip(&placed).find(|(p, a)| a.is_none() && p.default.is_none() && !p.optional);
        match missing {
            Some((p, _)) => fault(span, format!("the argument for `{}` is missing", p.name)),
            None => Ok(placed),
        }
    }

    fn method(&mut self, base: &ast::Expr, method: &Ident, types: &[Ty], args: &[Arg], span: Span) -> Checked<Expr> {
        let name = &*method.name;
        if let Ast::Name(dot, table) = &base.kind
            && let Some(Symbol::Table(table)) = self.lookup(*dot, table)
        {
            let table = *table;
            if name != "apply" || !args.is_empty() {
                return fault(span, "a table has one method, `apply()`, which takes nothing");
            }
            if !self.context.in_control {
                return fault(span, "tables are applied by controls only");
            }
            return Ok(Expr {
                kind: ExprKind::Call { callee: Callee::Table(table), types: Vec::new(), args: Vec::new() },
                ty: Type::Applied(table),
                span,
            });
        }
        if let Some(ty) = self.as_type(base)? {
            return self.type_method(&ty, base, name, args, span);
        }
        let object = self.expr(base)?;
        match object.ty.clone() {
            Type::Any => Ok(Expr { kind: ExprKind::Default, ty: Type::Any, span }),
            Type::Extern(id, of) => self.extern_method(object, id, &of, method, types, args, span),
            Type::Block(id) if name == "apply" => self.apply(object, id, args, span),
            Type::Arch(id, of) if name == "apply" => {
                let TypeInfo::Arch { params, sig, .. } = self.program.types[id].clone() else { return fault(span, "nothing to apply") };
                let own: Bound = params.into_iter().zip(of.iter().cloned()).collect();
                let sig: Vec<ParamInfo> = sig.into_iter().map(|p| ParamInfo { ty: self.program.substitute(&p.ty, &own), ..p }).collect();
                let args = self.arguments(&sig, args, span, &[], &mut Bound::new())?;
                self.directionless(&sig, &args)?;
                Ok(Expr { kind: ExprKind::Call { callee: Callee::Block(Box::new(object)), types: Vec::new(), args }, ty: Type::Void, span })
            }
            ty => self.builtin(object, &ty, method, args, span),
        }
    }

    /// `T.apply(…)`, where nobody made an instance; `T.minSizeInBits()`.
    fn type_method(&mut self, ty: &Type, base: &ast::Expr, name: &str, args: &[Arg], span: Span) -> Checked<Expr> {
        match (ty, name) {
            (Type::Block(id), "apply") => {
                let written = Ty { kind: ast::TyKind::Named(false, self.program.blocks[*id].name.clone()), span: base.span };
                let object = self.construct(&written, &[], base.span)?;
                self.apply(object, *id, args, span)
            }
            _ => match self.size_of(ty, name) {
                Some(size) => Ok(Expr { kind: ExprKind::Int(BigInt::from(size)), ty: Type::Integer, span }),
                None => fault(span, format!("{} has no method `{name}`", self.show(ty))),
            },
        }
    }

    fn apply(&mut self, object: Expr, id: usize, args: &[Arg], span: Span) -> Checked<Expr> {
        let block = &self.program.blocks[id];
        if self.context.in_action {
            return fault(span, "actions apply no controls");
        }
        if block.is_parser != self.context.in_parser {
            return fault(span, "parsers are applied in parsers, and controls in controls");
        }
        let params = block.params.clone();
        let args = self.arguments(&params, args, span, &[], &mut Bound::new())?;
        self.directionless(&params, &args)?;
        Ok(Expr { kind: ExprKind::Call { callee: Callee::Block(Box::new(object)), types: Vec::new(), args }, ty: Type::Void, span })
    }

    #[expect(clippy::too_many_arguments, reason = "what a call consists of")]
    fn extern_method(
        &mut self,
        object: Expr,
        id: usize,
        of: &[Type],
        method: &Ident,
        types: &[Ty],
        args: &[Arg],
        span: Span,
    ) -> Checked<Expr> {
        let TypeInfo::Extern { name, params, methods, .. } = &self.program.types[id] else { return fault(span, "no such method") };
        let all: Vec<FnId> = methods.iter().copied().filter(|m| self.program.functions[*m].name == method.name).collect();
        if all.is_empty() {
            let known: Vec<&str> = methods.iter().map(|m| &*self.program.functions[*m].name).filter(|m| **m != **name).collect();
            let fault = Diagnostic::new(method.span, format!("`{name}` has no method `{}`", method.name));
            return Err(super::meant(fault, &known, &method.name));
        }
        let packet = (&**name == "packet_in", &*method.name == "extract");
        let owner: Bound = params.iter().copied().zip(of.iter().cloned()).collect();
        let f = self.overload(&all, args, span)?;
        let (types, args, result) = self.invoke(f, &owner, types, args, span)?;
        if packet == (true, true) {
            let header = types
                .first()
                .is_some_and(|t| matches!(self.program.aggregate(t), Some(Aggregate::Header)) || matches!(t, Type::Param(_) | Type::Any));
            if !header {
                return fault(
                    span,
                    format!("{} is no header, and only those are extracted", self.show(types.first().unwrap_or(&Type::Any))),
                );
            }
        }
        if packet == (true, true) && !types.iter().any(|t| matches!(t, Type::Param(_) | Type::Any)) {
            let ty = types.first().cloned().unwrap_or(Type::Any);
            let varies = self.size_of(&ty, "maxSizeInBits") != self.size_of(&ty, "minSizeInBits");
            let varbits = match &ty {
                Type::Struct(id, of) => self.program.fields(*id, of).iter().filter(|f| matches!(f.ty, Type::Varbit(_))).count(),
                _ => 0,
            };
            match (varies, args.len()) {
                _ if varbits > 1 => {
                    return fault(span, format!("{} has several varbit fields, and one is extracted at most", self.show(&ty)));
                }
                (true, 1) => return fault(span, format!("{} has a varbit field, whose size is the second argument", self.show(&ty))),
                (false, 2) => {
                    return fault(span, format!("{} has no varbit field, whose size the second argument would be", self.show(&ty)));
                }
                _ => {}
            }
        }
        if packet.0
            && &*method.name == "lookahead"
            && types.first().is_some_and(|t| self.size_of(t, "maxSizeInBits") != self.size_of(t, "minSizeInBits"))
        {
            return fault(span, "lookahead is of types of a fixed size");
        }
        Ok(Expr { kind: ExprKind::Call { callee: Callee::Method(Box::new(object), f), types, args }, ty: result, span })
    }

    /// A method that no value of this type has.
    fn no_method(&self, ty: &Type, method: &Ident) -> Box<Diagnostic> {
        let known: &[&str] = match (ty, self.program.aggregate(ty)) {
            (Type::Stack(..), _) => &["push_front", "pop_front"],
            (_, Some(Aggregate::Header)) => &["isValid", "setValid", "setInvalid"],
            (_, Some(Aggregate::Union)) => &["isValid"],
            _ => &[],
        };
        super::meant(Diagnostic::new(method.span, format!("{} has no method `{}`", self.show(ty), method.name)), known, &method.name)
    }

    fn builtin(&mut self, object: Expr, ty: &Type, method: &Ident, args: &[Arg], span: Span) -> Checked<Expr> {
        let what = self.program.aggregate(ty);
        let header = what == Some(Aggregate::Header);
        let count = |c: &mut Self| match args {
            [Arg { value: Some(n), .. }] => match c.constant_int(n)?.to_u32() {
                Some(n) => Ok(n),
                None => fault(span, "this takes a count"),
            },
            _ => fault(span, "this takes a count"),
        };
        let (builtin, result) = match &*method.name {
            "isValid" if header || what == Some(Aggregate::Union) => (Builtin::IsValid, Type::Bool),
            "setValid" if header => (Builtin::SetValid, Type::Void),
            "setInvalid" if header => (Builtin::SetInvalid, Type::Void),
            "push_front" if matches!(ty, Type::Stack(..)) => (Builtin::PushFront(count(self)?), Type::Void),
            "pop_front" if matches!(ty, Type::Stack(..)) => (Builtin::PopFront(count(self)?), Type::Void),
            name => match self.size_of(ty, name) {
                Some(size) => return Ok(Expr { kind: ExprKind::Int(BigInt::from(size)), ty: Type::Integer, span }),
                None => return Err(self.no_method(ty, method)),
            },
        };
        if !args.is_empty() && !matches!(builtin, Builtin::PushFront(_) | Builtin::PopFront(_)) {
            return fault(span, format!("`{}` takes nothing", method.name));
        }
        if builtin != Builtin::IsValid {
            self.lvalue(&object)?;
        }
        Ok(Expr {
            kind: ExprKind::Call { callee: Callee::Builtin(builtin, Box::new(object)), types: Vec::new(), args: Vec::new() },
            ty: result,
            span,
        })
    }

    /// `minSizeInBits` and its kin.
    fn size_of(&self, ty: &Type, name: &str) -> Option<u64> {
        let (least, bits) = match name {
            "minSizeInBits" => (true, true),
            "maxSizeInBits" => (false, true),
            "minSizeInBytes" => (true, false),
            "maxSizeInBytes" => (false, false),
            _ => return None,
        };
        let size = self.bits(ty, least)?;
        Some(if bits { size } else { size.div_ceil(8) })
    }

    fn bits(&self, ty: &Type, least: bool) -> Option<u64> {
        match ty {
            Type::Bit(w) | Type::Int(w) => Some(u64::from(*w)),
            Type::Varbit(w) => Some(if least { 0 } else { u64::from(*w) }),
            Type::Bool => Some(1),
            Type::SerEnum(_) | Type::New(_) => self.bits(&self.program.underlying(ty), least),
            Type::Tuple(items) => items.iter().map(|t| self.bits(t, least)).sum(),
            Type::Stack(of, n) => self.bits(of, least).map(|b| b * u64::from(*n)),
            Type::Struct(id, args) => {
                let sizes = self.program.fields(*id, args).into_iter().map(|f| self.bits(&f.ty, least)).collect::<Option<Vec<_>>>()?;
                Some(match self.program.aggregate(ty) {
                    Some(Aggregate::Union) if least => sizes.into_iter().min().unwrap_or(0),
                    Some(Aggregate::Union) => sizes.into_iter().max().unwrap_or(0),
                    _ => sizes.into_iter().sum(),
                })
            }
            _ => None,
        }
    }
}
