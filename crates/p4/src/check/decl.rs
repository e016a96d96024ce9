//! Declarations outside of parsers and controls.

use super::consts::is_constant;
use super::{Checked, Checker, Context, Symbol, annotation, fault, public_name};
use crate::ast::{self, Aggregate, Annotation, Decl, DeclKind, Dir, Ident, Param, Signature, Ty};
use crate::hir::{ArchKind, Expr, ExprKind, FieldInfo, FnId, FnKind, Function, Instance, ParamId, ParamInfo, Type, TypeInfo};
use frontends::diagnostics::Diagnostic;
use num_traits::ToPrimitive;

/// Versions of v1model.
const VERSIONS: [u32; 2] = [20_180_101, 20_200_408];

impl Checker {
    pub(super) fn declaration(&mut self, decl: &Decl) {
        let noted = self.annotations(&decl.annotations);
        self.told(noted);
        let before = self.program.types.len();
        let result = self.one(decl);
        if self.program.types.len() == before + 1 && !decl.annotations.is_empty() {
            self.program.type_notes.insert(before, decl.annotations.clone().into());
        }
        if self.told(result).is_none() {
            self.recover(decl);
        }
    }

    /// Declares what a wrong declaration would have, so that its uses are not told, too.
    fn recover(&mut self, decl: &Decl) {
        let (name, symbol) = match &decl.kind {
            DeclKind::Const { name, .. }
            | DeclKind::Var { name, .. }
            | DeclKind::Instance { name, .. }
            | DeclKind::ValueSet { name, .. } => (name, Symbol::Const(Expr { kind: ExprKind::Default, ty: Type::Any, span: name.span })),
            DeclKind::Aggregate { name, .. }
            | DeclKind::Enum { name, .. }
            | DeclKind::SerEnum { name, .. }
            | DeclKind::Typedef { name, .. } => (name, Symbol::Type(Type::Any)),
            _ => return,
        };
        if self.lookup(false, &name.name).is_none() {
            let _ = self.declare(name, symbol);
        }
    }

    pub(super) fn one(&mut self, decl: &Decl) -> Checked<()> {
        match &decl.kind {
            DeclKind::Const { ty, name, value } => self.constant(ty, name, value),
            DeclKind::Var { name, .. } => fault(name.span, "variables are declared in parsers, controls, actions and functions"),
            DeclKind::Action { sig, body } => self.action(sig, body, &decl.annotations),
            DeclKind::Function { result, sig, body } => self.function_decl(result, sig, body, &decl.annotations),
            DeclKind::ExternFunction { result, sig } => self.extern_function(result, sig, &decl.annotations).map(drop),
            DeclKind::Extern { name, type_params, methods } => self.extern_type(name, type_params, methods),
            DeclKind::ControlType(sig) => self.arch(ArchKind::Control, sig),
            DeclKind::ParserType(sig) => self.arch(ArchKind::Parser, sig),
            DeclKind::Package(sig) => self.arch(ArchKind::Package, sig),
            DeclKind::Control { .. } | DeclKind::Parser { .. } => self.block(decl),
            DeclKind::Aggregate { what, name, type_params, fields } => self.aggregate_decl(*what, name, type_params, fields),
            DeclKind::Enum { name, members } => self.enum_decl(name, members),
            DeclKind::SerEnum { ty, name, members } => self.ser_enum(ty, name, members),
            DeclKind::Typedef { ty, name, new } => self.typedef(ty, name, *new),
            DeclKind::Errors(names) => Self::extend(&mut self.program.errors, names),
            DeclKind::MatchKinds(names) => Self::extend(&mut self.program.match_kinds, names),
            DeclKind::Instance { ty, args, name, body } => self.instance(ty, args, name, body.as_deref(), decl),
            DeclKind::Table(table) => fault(table.name.span, "tables are declared in controls"),
            DeclKind::ValueSet { name, .. } => fault(name.span, "value sets are declared in parsers"),
        }
    }

    fn extend(all: &mut Vec<crate::lexer::Name>, names: &[Ident]) -> Checked<()> {
        for name in names {
            if all.contains(&name.name) {
                return fault(name.span, format!("`{}` is declared twice", name.name));
            }
            all.push(name.name.clone());
        }
        Ok(())
    }

    pub(super) fn constant(&mut self, ty: &Ty, name: &Ident, value: &ast::Expr) -> Checked<()> {
        let written = ty.span;
        let ty = self.ty(ty)?;
        if matches!(ty, Type::Extern(..) | Type::Arch(..) | Type::Block(_)) {
            return fault(written, format!("a constant of {} is not possible", self.show(&ty)));
        }
        if self.faults.is_empty() && has_dont_care(&ty) {
            let wrong = Diagnostic::new(written, "the type of a constant has no `_`");
            return Err(Box::new(wrong.help("`_` stands for a type that arguments tell; write the type that is meant")));
        }
        let value = self.expr_as(value, &ty)?;
        self.known_version(name, &value)?;
        if !is_constant(&value) && value.ty != Type::Any {
            return fault(value.span, "the value of a constant is known when the program is compiled");
        }
        self.declare(name, Symbol::Const(value))
    }

    /// The versions of v1model that there are.
    fn known_version(&self, name: &Ident, value: &Expr) -> Checked<()> {
        match &value.kind {
            ExprKind::Int(n) if &*name.name == "__v1model_version" && !VERSIONS.iter().any(|v| *n == (*v).into()) => {
                fault(name.span, format!("v1model has no version {n}; its versions are {VERSIONS:?}"))
            }
            _ => Ok(()),
        }
    }

    fn new_type(&mut self, name: &Ident, info: TypeInfo, generic: bool) -> Checked<usize> {
        self.program.types.push(info);
        let id = self.program.types.len() - 1;
        let symbol = if generic { Symbol::Generic(id) } else { Symbol::Type(self.of_id(id, [].into())) };
        self.declare(name, symbol)?;
        Ok(id)
    }

    /// New type parameters, declared here.
    fn parameters_of_types(&mut self, names: &[Ident]) -> Checked<Vec<ParamId>> {
        let mut all = Vec::new();
        for name in names {
            self.program.type_params.push(name.name.clone());
            let id = self.program.type_params.len() - 1;
            self.declare(name, Symbol::Type(Type::Param(id)))?;
            all.push(id);
        }
        Ok(all)
    }

    fn aggregate_decl(&mut self, what: Aggregate, name: &Ident, type_params: &[Ident], fields: &[ast::Field]) -> Checked<()> {
        let (params, fields) = self.scoped(|c| -> Checked<_> {
            let params = c.parameters_of_types(type_params)?;
            let mut all: Vec<FieldInfo> = Vec::new();
            for field in fields {
                let ty = c.ty(&field.ty)?;
                c.field_fits(what, &ty, field)?;
                c.annotations(&field.annotations)?;
                c.match_annotation(&field.annotations)?;
                if all.iter().any(|f| f.name == field.name.name) {
                    return fault(field.name.span, format!("`{}` is declared twice", field.name.name));
                }
                let lists = annotation(&field.annotations, "field_list").map_or(&[][..], |a| &a.args);
                let lists = lists.iter().filter_map(|a| c.constant_int(a).ok().and_then(|n| n.to_u32())).collect();
                all.push(FieldInfo { name: field.name.name.clone(), ty, lists, notes: field.annotations.clone().into() });
            }
            Ok((params, all))
        })?;
        let generic = !params.is_empty();
        self.new_type(name, TypeInfo::Aggregate { what, name: name.name.clone(), params, fields }, generic).map(drop)
    }

    fn field_fits(&self, what: Aggregate, ty: &Type, field: &ast::Field) -> Checked<()> {
        if matches!(field.ty.kind, ast::TyKind::DontCare) {
            return fault(field.ty.span, "`_` is no type of a field");
        }
        if self.is_field(what, ty) {
            return Ok(());
        }
        let wrong = Diagnostic::new(field.ty.span, format!("a field of {} is not possible here", self.show(ty)));
        Err(Box::new(match ty {
            Type::Str => wrong.help("strings are for constants, annotations and parameters without direction"),
            _ => wrong,
        }))
    }

    /// Whether such a field may be in a structure, header or union.
    pub(super) fn is_field(&self, what: Aggregate, ty: &Type) -> bool {
        let under = self.program.underlying(ty);
        match what {
            Aggregate::Union => matches!(self.program.aggregate(ty), Some(Aggregate::Header)) || matches!(ty, Type::Param(_) | Type::Any),
            Aggregate::Header => match &under {
                Type::Bit(_) | Type::Int(_) | Type::Varbit(_) | Type::Bool | Type::Param(_) | Type::Any => true,
                Type::Struct(..) => self.program.aggregate(&under) == Some(Aggregate::Struct) && self.only_bits(&under),
                Type::Stack(of, _) => self.only_bits(of),
                _ => false,
            },
            Aggregate::Struct => !matches!(
                under,
                Type::Void
                    | Type::Extern(..)
                    | Type::Arch(..)
                    | Type::Block(_)
                    | Type::Integer
                    | Type::Str
                    | Type::MatchKind
                    | Type::Set(_)
            ),
        }
    }

    fn only_bits(&self, ty: &Type) -> bool {
        match self.program.underlying(ty) {
            Type::Bit(_) | Type::Int(_) | Type::Bool | Type::Any | Type::Param(_) => true,
            Type::Struct(id, args) => {
                self.program.aggregate(ty) == Some(Aggregate::Struct)
                    && self.program.fields(id, &args).iter().all(|f| self.only_bits(&f.ty))
            }
            Type::Stack(of, _) => self.only_bits(&of),
            _ => false,
        }
    }

    fn enum_decl(&mut self, name: &Ident, members: &[Ident]) -> Checked<()> {
        let mut names = Vec::new();
        Self::extend(&mut names, members)?;
        if names.is_empty() {
            return fault(name.span, "an enumeration has one member at least");
        }
        self.new_type(name, TypeInfo::Enum { name: name.name.clone(), members: names }, false).map(drop)
    }

    fn ser_enum(&mut self, ty: &Ty, name: &Ident, members: &[(Ident, ast::Expr)]) -> Checked<()> {
        let of = self.ty(ty)?;
        if !matches!(of, Type::Bit(_) | Type::Int(_) | Type::Any) {
            return fault(ty.span, format!("{} does not represent an enumeration", self.show(&of)));
        }
        let id = self.new_type(name, TypeInfo::SerEnum { name: name.name.clone(), ty: of.clone(), members: Vec::new() }, false)?;
        for (member, value) in members {
            let checked = self.expr(value)?;
            let checked = self.cast_member(checked, &of)?;
            let ExprKind::Int(n) = checked.kind else { return fault(value.span, "this is not known when the program is compiled") };
            let TypeInfo::SerEnum { members, .. } = &mut self.program.types[id] else { continue };
            if members.iter().any(|(n, _)| *n == member.name) {
                return fault(member.span, format!("`{}` is declared twice", member.name));
            }
            members.push((member.name.clone(), n));
        }
        Ok(())
    }

    fn cast_member(&self, value: Expr, of: &Type) -> Checked<Expr> {
        if matches!(value.ty, Type::SerEnum(_)) || matches!(of, Type::New(_)) { self.cast(value, of) } else { self.coerce(value, of) }
    }

    fn typedef(&mut self, ty: &Ty, name: &Ident, new: bool) -> Checked<()> {
        let of = self.ty(ty)?;
        if !new {
            return self.declare(name, Symbol::Type(of));
        }
        if !matches!(
            self.program.underlying(&of),
            Type::Bit(_) | Type::Int(_) | Type::Bool | Type::Any | Type::SerEnum(_) | Type::Varbit(_)
        ) {
            return fault(ty.span, format!("no new type is made of {}", self.show(&of)));
        }
        self.new_type(name, TypeInfo::New { name: name.name.clone(), ty: of }, false).map(drop)
    }

    pub(super) fn params(&mut self, params: &[Param], writable_none: bool) -> Checked<Vec<ParamInfo>> {
        let mut all: Vec<ParamInfo> = Vec::new();
        for param in params {
            let ty = self.ty(&param.ty)?;
            if all.iter().any(|p| p.name == param.name.name) {
                return fault(param.name.span, format!("`{}` is declared twice", param.name.name));
            }
            if ty == Type::Void {
                return fault(param.ty.span, format!("a parameter of {} is not possible", self.show(&ty)));
            }
            if matches!(ty, Type::Extern(..) | Type::Block(_) | Type::Arch(..)) && param.dir != Dir::None {
                return fault(param.ty.span, format!("a parameter of {} has no direction", self.show(&ty)));
            }
            if let Type::Block(_) = ty {
                return fault(param.ty.span, format!("a parameter of {} is not possible", self.show(&ty)));
            }
            if matches!(ty, Type::Integer | Type::Str) && param.dir != Dir::None {
                return fault(param.ty.span, format!("a parameter of {} has no direction", self.show(&ty)));
            }
            let default = match &param.default {
                Some(value) if param.dir == Dir::Out || param.dir == Dir::InOut => {
                    return fault(value.span, "a parameter that is written has no default");
                }
                Some(value) => {
                    let checked = self.expr_as(value, &ty)?;
                    if !self.is_compile_time(&checked) {
                        return fault(value.span, "the default of a parameter is known when the program is compiled");
                    }
                    Some(checked)
                }
                None => None,
            };
            let writable = super::writes(param.dir) || (param.dir == Dir::None && writable_none);
            let var = self.declare_var(&param.name, ty.clone(), writable)?;
            if param.dir == Dir::None {
                self.known.insert(var);
            }
            let optional = annotation(&param.annotations, "optional").is_some();
            let notes = param.annotations.clone().into();
            all.push(ParamInfo { name: param.name.name.clone(), dir: param.dir, ty, var, default, optional, notes });
        }
        Ok(all)
    }

    /// What may be left out is for externs and packages.
    pub(super) fn no_optional(&self, params: &[ParamInfo], written: &[Param]) -> Checked<()> {
        match params.iter().zip(written).find(|(p, _)| p.optional) {
            Some((p, at)) => {
                let wrong =
                    Diagnostic::new(at.name.span, format!("`{}` is optional, which parameters of externs and packages may be", p.name));
                Err(Box::new(wrong.help(format!("a parameter `{} = VALUE` has a default", p.name))))
            }
            None => Ok(()),
        }
    }

    fn arch(&mut self, kind: ArchKind, sig: &Signature) -> Checked<()> {
        let (params, list) = self.scoped(|c| -> Checked<_> {
            let params = c.parameters_of_types(&sig.type_params)?;
            Ok((params, c.params(&sig.params, false)?))
        })?;
        let generic = !params.is_empty();
        self.new_type(&sig.name, TypeInfo::Arch { kind, name: sig.name.name.clone(), params, sig: list }, generic).map(drop)
    }

    fn new_function(&mut self, function: Function) -> FnId {
        self.program.functions.push(function);
        self.program.functions.len() - 1
    }

    fn extern_function(&mut self, result: &Ty, sig: &Signature, annotations: &[Annotation]) -> Checked<FnId> {
        let f = self.prototype(Some(result), sig, annotations)?;
        self.declare(&sig.name, Symbol::Functions(vec![f]))?;
        Ok(f)
    }

    /// A function without a body; `None` for the result of a constructor.
    fn prototype(&mut self, result: Option<&Ty>, sig: &Signature, annotations: &[Annotation]) -> Checked<FnId> {
        let (type_params, params, result) = self.scoped(|c| -> Checked<_> {
            let type_params = c.parameters_of_types(&sig.type_params)?;
            let params = c.params(&sig.params, false)?;
            let result = result.map_or(Ok(Type::Void), |r| c.ty(r))?;
            Ok((type_params, params, result))
        })?;
        let name = sig.name.name.clone();
        let public = public_name(annotations, &name);
        let kind = FnKind::Extern;
        Ok(self.new_function(Function {
            name,
            kind,
            public,
            type_params,
            params,
            result,
            body: Vec::new(),
            is_abstract: false,
            in_block: false,
            notes: annotations.to_vec().into(),
            span: sig.name.span,
        }))
    }

    fn extern_type(&mut self, name: &Ident, type_params: &[Ident], methods: &[ast::Method]) -> Checked<()> {
        self.scopes.push(Default::default());
        let result = self.extern_members(name, type_params, methods);
        self.scopes.pop();
        let (id, generic) = result?;
        let symbol = if generic { Symbol::Generic(id) } else { Symbol::Type(self.of_id(id, [].into())) };
        self.declare(name, symbol)
    }

    fn extern_members(&mut self, name: &Ident, type_params: &[Ident], methods: &[ast::Method]) -> Checked<(usize, bool)> {
        let params = self.parameters_of_types(type_params)?;
        let generic = !params.is_empty();
        let empty = TypeInfo::Extern { name: name.name.clone(), params: params.clone(), ctors: Vec::new(), methods: Vec::new() };
        self.program.types.push(empty);
        let id = self.program.types.len() - 1;
        if !self.scopes[0].contains_key(&name.name) {
            let symbol = if generic { Symbol::Generic(id) } else { Symbol::Type(self.of_id(id, [].into())) };
            self.declare(name, symbol)?;
        }
        let mut all: Vec<(Vec<crate::lexer::Name>, crate::lexer::Name)> = Vec::new();
        for method in methods {
            let key = (method.sig.params.iter().map(|p| p.name.name.clone()).collect(), method.sig.name.name.clone());
            if all.contains(&key) {
                return fault(method.sig.name.span, format!("`{}` is declared twice with these parameters", method.sig.name.name));
            }
            all.push(key);
            if method.sig.name.name == name.name && method.result.is_some() {
                return fault(method.sig.name.span, "a constructor has no result");
            }
            let f = self.prototype(method.result.as_ref(), &method.sig, &method.annotations)?;
            if let Some((_, at)) =
                self.program.functions[f].params.iter().zip(&method.sig.params).find(|(p, _)| matches!(p.ty, Type::Arch(..)))
            {
                return fault(at.ty.span, "an extern has no parser, control or package as parameter");
            }
            if self.program.functions[f].result == Type::Integer {
                return fault(method.sig.name.span, "a method has no result of type int");
            }
            self.program.functions[f].is_abstract = method.is_abstract;
            if annotation(&method.annotations, "optional").is_some() {
                self.optional_methods.insert(f);
            }
            let TypeInfo::Extern { ctors, methods, .. } = &mut self.program.types[id] else { continue };
            if method.result.is_some() { methods.push(f) } else { ctors.push(f) }
        }
        Ok((id, generic))
    }

    fn function_decl(&mut self, result: &Ty, sig: &Signature, body: &ast::Block, annotations: &[Annotation]) -> Checked<()> {
        let before = self.faults.len();
        let (type_params, params, result, body) = self.scoped(|c| -> Checked<_> {
            let type_params = c.parameters_of_types(&sig.type_params)?;
            let result = c.ty(result)?;
            let params = c.params(&sig.params, false)?;
            c.no_optional(&params, &sig.params)?;
            let context = Context { result: Some(result.clone()), ..Context::default() };
            let body = c.body(body, context);
            Ok((type_params, params, result, body))
        })?;
        // A statement that is wrong may have been the one that returns.
        if result != Type::Void && !ends(&body) && self.faults.len() == before {
            return fault(sig.name.span, format!("`{}` does not return a value on every way", sig.name.name));
        }
        let name = sig.name.name.clone();
        let public = public_name(annotations, &name);
        let f = Function {
            name,
            kind: FnKind::Function,
            public,
            type_params,
            params,
            result,
            body,
            is_abstract: false,
            in_block: false,
            notes: annotations.to_vec().into(),
            span: sig.name.span,
        };
        let f = self.new_function(f);
        self.declare(&sig.name, Symbol::Functions(vec![f]))
    }

    pub(super) fn action(&mut self, sig: &Signature, body: &ast::Block, annotations: &[Annotation]) -> Checked<()> {
        let (params, body) = self.scoped(|c| -> Checked<_> {
            let params = c.params(&sig.params, false)?;
            if let Some(at) = params.iter().position(|p| p.dir == Dir::None)
                && let Some(late) = params[at..].iter().find(|p| p.dir != Dir::None)
            {
                return fault(
                    sig.name.span,
                    format!("`{}` has a direction, and stands behind one that the control plane gives", late.name),
                );
            }
            c.no_optional(&params, &sig.params)?;
            if let Some(bad) = params.iter().zip(&sig.params).find(|(p, _)| matches!(p.ty, Type::Extern(..) | Type::Integer)) {
                return fault(bad.1.ty.span, "an action has no such parameter");
            }
            let context = Context { result: Some(Type::Void), in_action: true, ..Context::default() };
            let body = c.body(body, context);
            Ok((params, body))
        })?;
        let name = sig.name.name.clone();
        let public = public_name(annotations, &name);
        let action = Function {
            name,
            kind: FnKind::Action,
            public,
            type_params: Vec::new(),
            params,
            result: Type::Void,
            body,
            is_abstract: false,
            in_block: self.scopes.len() > 1,
            notes: annotations.to_vec().into(),
            span: sig.name.span,
        };
        let f = self.new_function(action);
        self.declare(&sig.name, Symbol::Functions(vec![f]))
    }

    pub(super) fn instance(&mut self, ty: &Ty, args: &[ast::Arg], name: &Ident, body: Option<&[Decl]>, decl: &Decl) -> Checked<()> {
        let (ty, args) = self.instance_type(ty, args, decl.span)?;
        if self.scopes.len() == 1 && matches!(ty, Type::Block(_)) {
            return fault(decl.span, "parsers and controls have no instances at the top level");
        }
        self.fits_here(&ty, decl)?;
        if body.is_some() && !matches!(ty, Type::Extern(..) | Type::Any) {
            return fault(decl.span, format!("{} has no abstract methods, which externs may have", self.show(&ty)));
        }
        self.scopes.push(Default::default());
        let before = self.program.functions.len();
        for item in body.unwrap_or_default() {
            let result = self.one(item);
            self.told(result);
        }
        self.scopes.pop();
        self.implements(&ty, before, decl)?;
        let public = public_name(&decl.annotations, &name.name);
        self.program.instances.push(Instance {
            name: name.name.clone(),
            public,
            ty: ty.clone(),
            args,
            notes: decl.annotations.clone().into(),
            span: decl.span,
        });
        let id = self.program.instances.len() - 1;
        if self.scopes.len() == 1 {
            self.program.top.push(id);
        }
        self.block_instances.push(id);
        self.declare(name, Symbol::Instance(id))
    }
}

impl Checker {
    /// Parsers are for parsers, and controls for controls.
    fn fits_here(&self, ty: &Type, decl: &Decl) -> Checked<()> {
        let Type::Block(id) = ty else { return Ok(()) };
        let is_parser = self.program.blocks[*id].is_parser;
        if self.context.in_control && is_parser || self.context.in_parser && !is_parser {
            return fault(decl.span, "parsers have instances in parsers, and controls in controls");
        }
        Ok(())
    }

    /// The functions from that number on are just the abstract methods of the type.
    fn implements(&self, ty: &Type, from: usize, decl: &Decl) -> Checked<()> {
        let Type::Extern(id, args) = ty else { return Ok(()) };
        let TypeInfo::Extern { name, params, methods, .. } = &self.program.types[*id] else { return Ok(()) };
        let owner = params.iter().copied().zip(args.iter().cloned()).collect();
        let wanted: Vec<&Function> = methods.iter().map(|m| &self.program.functions[*m]).filter(|f| f.is_abstract).collect();
        let given = &self.program.functions[from..];
        for own in given.iter().filter(|f| f.kind == FnKind::Function) {
            if !wanted.iter().any(|w| self.same_shape(w, own, &owner)) {
                return fault(own.span, format!("`{name}` has no abstract method `{}` of these parameters and this result", own.name));
            }
        }
        let needed =
            methods.iter().filter(|m| !self.optional_methods.contains(m)).map(|m| &self.program.functions[*m]).filter(|f| f.is_abstract);
        match needed.into_iter().find(|w| !given.iter().any(|f| f.name == w.name)) {
            Some(missing) => fault(decl.span, format!("the abstract method `{}` of `{name}` is not implemented", missing.name)),
            None => Ok(()),
        }
    }

    fn same_shape(&self, wanted: &Function, own: &Function, owner: &super::types::Bound) -> bool {
        let same = |w: &Type, o: &Type| self.program.substitute(w, owner) == *o || *o == Type::Any;
        wanted.name == own.name
            && own.params.len() <= wanted.params.len()
            && wanted.params[own.params.len()..].iter().all(|p| p.optional)
            && same(&wanted.result, &own.result)
            && wanted.params.iter().zip(&own.params).all(|(w, o)| w.dir == o.dir && same(&w.ty, &o.ty))
    }

    /// What is wrong with the program as a whole.
    pub(super) fn whole(&mut self) {
        if let Some((symbol, span)) = self.scopes[0].get("main") {
            let package = match symbol {
                Symbol::Instance(id) => matches!(self.program.instances[*id].ty, Type::Arch(..) | Type::Any),
                Symbol::Type(_) | Symbol::Generic(_) => false,
                _ => true,
            };
            if !package {
                let wrong = fault::<()>(*span, "`main` is an instance of a package");
                self.told(wrong);
            }
        }
    }
}

/// Whether `_` is a part of the type. Of a program with faults it may also be what a wrong
/// declaration declares.
pub(super) fn has_dont_care(ty: &Type) -> bool {
    match ty {
        Type::Any => true,
        Type::Struct(_, args) | Type::Extern(_, args) | Type::Tuple(args) => args.iter().any(has_dont_care),
        Type::Stack(of, _) | Type::List(of) => has_dont_care(of),
        _ => false,
    }
}

/// True if control never reaches the end.
pub(super) fn ends(body: &[crate::hir::Stmt]) -> bool {
    use crate::hir::StmtKind as S;
    body.iter().any(|s| match &s.kind {
        S::Return(_) | S::Exit => true,
        S::If(condition, yes, no) => match condition.kind {
            ExprKind::Bool(b) => ends(if b { yes } else { no }),
            _ => ends(yes) && ends(no),
        },
        S::Block(inner) => ends(inner),
        S::Switch(_, cases) => cases.iter().any(|(l, _)| l.iter().any(Option::is_none)) && cases.iter().all(|(_, b)| ends(b)),
        S::SwitchAction(_, cases) => cases.iter().any(|(l, _)| l.iter().any(Option::is_none)) && cases.iter().all(|(_, b)| ends(b)),
        _ => false,
    })
}
