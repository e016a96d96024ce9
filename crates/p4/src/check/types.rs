//! Types from their syntax, substitution of type parameters, unification.

use super::{Checked, Checker, Symbol, fault};
use crate::ast::{Aggregate, Dir, Ty, TyKind};
use crate::hir::{ArchKind, FieldInfo, ParamId, Type, TypeId, TypeInfo};
use crate::lexer::Name;
use frontends::diagnostics::Span;
use num_traits::ToPrimitive;
use std::collections::HashMap;
use std::rc::Rc;

/// Types for parameters.
pub(crate) type Bound = HashMap<ParamId, Type>;

/// The widest number, which is NetIL's and p4c's.
pub(super) const MAX_WIDTH: u32 = netil::wide::MAX_WIDTH as u32;
/// The widest field of varying length, and the longest stack.
const MAX_SIZE: u32 = 1 << 16;

impl Checker {
    pub(super) fn ty(&mut self, ty: &Ty) -> Checked<Type> {
        Ok(match &ty.kind {
            TyKind::Bool => Type::Bool,
            TyKind::Error => Type::Error,
            TyKind::MatchKind => Type::MatchKind,
            TyKind::Str => Type::Str,
            TyKind::Void => Type::Void,
            TyKind::Integer => Type::Integer,
            TyKind::DontCare => Type::Any,
            TyKind::Bit(None) => Type::Bit(1),
            TyKind::Bit(Some(width)) => Type::Bit(self.width("bit", width, 0)?),
            TyKind::Int(width) => Type::Int(self.width("int", width, 1)?),
            TyKind::Varbit(width) => Type::Varbit(self.size(width, 0)?),
            TyKind::Named(dot, name) => self.named_type(*dot, name, ty.span)?,
            TyKind::Args(base, args) => self.specialised(base, args)?,
            TyKind::Stack(of, size) => {
                let of_type = self.ty(of)?;
                if matches!(of_type, Type::Void | Type::Extern(..) | Type::Arch(..) | Type::Block(_) | Type::Str | Type::Integer) {
                    return fault(of.span, format!("an array of {} is not possible", self.show(&of_type)));
                }
                Type::Stack(Rc::new(of_type), self.size(size, 1)?)
            }
            TyKind::Tuple(items) => {
                let parts = items;
                let items: Vec<Type> = items.iter().map(|t| self.ty(t)).collect::<Checked<_>>()?;
                let bad =
                    |t: &Type| matches!(t, Type::Void | Type::Str | Type::MatchKind | Type::Extern(..) | Type::Arch(..) | Type::Block(_));
                if let Some((ty, at)) = items.iter().zip(parts).find(|(t, _)| bad(t)) {
                    return fault(at.span, format!("a tuple has no part of {}", self.show(ty)));
                }
                Type::Tuple(items.into())
            }
            TyKind::List(of) => Type::List(Rc::new(self.ty(of)?)),
        })
    }

    fn width(&mut self, of: &str, width: &crate::ast::Expr, least: u32) -> Checked<u32> {
        let value = self.constant_int(width)?;
        match value.to_u32() {
            Some(width) if width >= least && width <= MAX_WIDTH => Ok(width),
            _ => fault(width.span, format!("{of}<{value}> is not possible: {of} has {least} to {MAX_WIDTH} bits")),
        }
    }

    fn size(&mut self, size: &crate::ast::Expr, least: u32) -> Checked<u32> {
        let value = self.constant_int(size)?;
        match value.to_u32() {
            Some(width) if width >= least && width <= MAX_SIZE => Ok(width),
            _ => fault(size.span, format!("`{value}` is no possible size here; sizes are {least} to {MAX_SIZE}")),
        }
    }

    fn named_type(&self, dot: bool, name: &Name, span: Span) -> Checked<Type> {
        match self.lookup(dot, name) {
            Some(Symbol::Type(ty)) => Ok(ty.clone()),
            Some(Symbol::Block(block)) => Ok(Type::Block(*block)),
            Some(Symbol::Generic(id)) => fault(span, format!("`{name}` needs {} type arguments", self.type_params(*id).len())),
            Some(_) => fault(span, format!("`{name}` is not a type")),
            None => Err(self.unknown(span, name)),
        }
    }

    pub(super) fn type_params(&self, id: TypeId) -> &[ParamId] {
        match &self.program.types[id] {
            TypeInfo::Aggregate { params, .. } | TypeInfo::Extern { params, .. } | TypeInfo::Arch { params, .. } => params,
            _ => &[],
        }
    }

    fn specialised(&mut self, base: &Ty, args: &[Ty]) -> Checked<Type> {
        let TyKind::Named(dot, name) = &base.kind else { return fault(base.span, "only a name can have type arguments") };
        let id = match self.lookup(*dot, name) {
            Some(Symbol::Generic(id)) => *id,
            Some(_) => return fault(base.span, format!("`{name}` takes no type arguments")),
            None => return Err(self.unknown(base.span, name)),
        };
        let args: Vec<Type> = args.iter().map(|t| self.ty(t)).collect::<Checked<_>>()?;
        let wanted = self.type_params(id).len();
        if wanted != args.len() {
            return fault(base.span, format!("`{name}` takes {wanted} type arguments, not {}", args.len()));
        }
        if args.contains(&Type::Void) {
            return fault(base.span, "`void` is no type argument");
        }
        if let Some(block) = args.iter().find(|a| matches!(a, Type::Block(_) | Type::Arch(..))) {
            return fault(base.span, format!("`{}` is no type argument", self.show(block)));
        }
        let ty = self.of_id(id, args.into());
        self.fields_fit(&ty, base.span)?;
        Ok(ty)
    }

    /// With its type arguments a structure, header or union has fields that may be in one.
    fn fields_fit(&self, ty: &Type, span: Span) -> Checked<()> {
        let (Type::Struct(id, args), Some(what)) = (ty, self.program.aggregate(ty)) else { return Ok(()) };
        match self.program.fields(*id, args).iter().find(|field| !self.is_field(what, &field.ty)) {
            Some(bad) => {
                fault(span, format!("the field `{}` of {} would be {}, which is not possible", bad.name, self.show(ty), self.show(&bad.ty)))
            }
            None => Ok(()),
        }
    }

    /// The type with that number and those arguments.
    pub(super) fn of_id(&self, id: TypeId, args: Rc<[Type]>) -> Type {
        match &self.program.types[id] {
            TypeInfo::Aggregate { .. } => Type::Struct(id, args),
            TypeInfo::Enum { .. } => Type::Enum(id),
            TypeInfo::SerEnum { .. } => Type::SerEnum(id),
            TypeInfo::New { .. } => Type::New(id),
            TypeInfo::Extern { .. } => Type::Extern(id, args),
            TypeInfo::Arch { .. } => Type::Arch(id, args),
        }
    }

    pub(super) fn show(&self, ty: &Type) -> String {
        self.program.show(ty)
    }

    /// Makes `given` fit `wanted`, whose parameters among `free` are bound; false if that is not
    /// possible.
    pub(super) fn unify(&self, wanted: &Type, given: &Type, free: &[ParamId], bound: &mut Bound) -> bool {
        match (wanted, given) {
            (Type::Any, _) | (_, Type::Any) => true,
            (Type::Param(p), _) if free.contains(p) => match bound.get(p).cloned() {
                None => {
                    bound.insert(*p, given.clone());
                    true
                }
                Some(Type::Integer) if matches!(given, Type::Bit(_) | Type::Int(_) | Type::Integer) => {
                    bound.insert(*p, given.clone());
                    true
                }
                Some(Type::Tuple(_) | Type::Record(..) | Type::Nothing | Type::Invalid) if matches!(given, Type::Struct(..)) => {
                    bound.insert(*p, given.clone());
                    true
                }
                Some(old) => old == *given || self.converts(given, &old),
            },
            (Type::Struct(a, x), Type::Struct(b, y)) | (Type::Extern(a, x), Type::Extern(b, y)) | (Type::Arch(a, x), Type::Arch(b, y)) => {
                a == b && x.iter().zip(y.iter()).all(|(x, y)| self.unify(x, y, free, bound))
            }
            (Type::Struct(id, args), Type::Tuple(items)) => {
                let fields = self.program.fields(*id, args);
                fields.len() == items.len() && fields.iter().zip(items.iter()).all(|(f, t)| self.unify(&f.ty, t, free, bound))
            }
            (Type::Struct(id, args), Type::Record(items, _)) => {
                let fields = self.program.fields(*id, args);
                items.iter().all(|(name, t)| fields.iter().find(|f| f.name == *name).is_some_and(|f| self.unify(&f.ty, t, free, bound)))
            }
            (Type::Stack(a, n), Type::Stack(b, m)) => n == m && self.unify(a, b, free, bound),
            (Type::Stack(a, n), Type::Tuple(items)) => items.len() <= *n as usize && items.iter().all(|t| self.unify(a, t, free, bound)),
            (Type::Tuple(a), Type::Tuple(b)) => a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| self.unify(a, b, free, bound)),
            (Type::List(a), Type::List(b)) | (Type::Set(a), Type::Set(b)) => self.unify(a, b, free, bound),
            (Type::List(a), Type::Tuple(items)) => items.iter().all(|t| self.unify(a, t, free, bound)),
            (Type::Arch(id, args), Type::Block(block)) => self.unify_block(*id, args, *block, free, bound),
            _ => wanted == given || self.converts(given, wanted),
        }
    }

    /// A parser or control where its type is wanted: parameters go together one by one.
    fn unify_block(&self, id: TypeId, args: &[Type], block: usize, free: &[ParamId], bound: &mut Bound) -> bool {
        let TypeInfo::Arch { kind, params, sig, .. } = &self.program.types[id] else { return false };
        let block = &self.program.blocks[block];
        let own: Bound = params.iter().copied().zip(args.iter().cloned()).collect();
        let required = block.params.iter().filter(|p| !p.optional && p.default.is_none()).count();
        (*kind == ArchKind::Parser) == block.is_parser
            && block.params.len() >= required
            && sig.iter().filter(|s| !s.optional).count() <= block.params.len()
            && block.params.len() <= sig.len()
            && sig
                .iter()
                .zip(&block.params)
                .all(|(s, p)| s.dir == p.dir && self.unify(&self.program.substitute(&s.ty, &own), &p.ty, free, bound))
    }
}

impl Checker {
    /// Why a parser or control is not of a type, in words.
    pub(super) fn other_block(&self, wanted: &Type, given: &Type, bound: &Bound) -> Option<String> {
        let (Type::Arch(id, args), Type::Block(block)) = (wanted, given) else { return None };
        let TypeInfo::Arch { kind, params, sig, .. } = &self.program.types[*id] else { return None };
        let block = &self.program.blocks[*block];
        let is_parser = *kind == ArchKind::Parser;
        if is_parser != block.is_parser {
            return Some(format!("this is a {}", if block.is_parser { "parser, and no control" } else { "control, and no parser" }));
        }
        if sig.len() != block.params.len() {
            return Some(format!("`{}` has {} parameters, and {} are wanted", block.name, block.params.len(), sig.len()));
        }
        let own: Bound = params.iter().copied().zip(args.iter().cloned()).collect();
        let (wanted, given) = sig.iter().zip(&block.params).find(|(s, p)| {
            let ty = self.program.substitute(&s.ty, &own);
            s.dir != p.dir || !self.unify(&ty, &p.ty, &[], &mut bound.clone())
        })?;
        if wanted.dir != given.dir {
            let word = |dir: Dir| match dir {
                Dir::None => "without direction",
                Dir::In => "in",
                Dir::Out => "out",
                Dir::InOut => "inout",
            };
            return Some(format!(
                "the parameter `{}` of `{}` is {}, and {} is wanted",
                given.name,
                block.name,
                word(given.dir),
                word(wanted.dir)
            ));
        }
        let want = self.program.substitute(&wanted.ty, &own);
        Some(format!("the parameter `{}` of `{}` is {}, and {} is wanted", given.name, block.name, self.show(&given.ty), self.show(&want)))
    }
}

impl crate::hir::Program {
    /// Puts types in the place of parameters.
    pub fn substitute(&self, ty: &Type, bound: &Bound) -> Type {
        if bound.is_empty() {
            return ty.clone();
        }
        let all = |items: &Rc<[Type]>| -> Rc<[Type]> { items.iter().map(|t| self.substitute(t, bound)).collect() };
        match ty {
            Type::Param(p) => bound.get(p).cloned().unwrap_or_else(|| ty.clone()),
            Type::Struct(id, args) => Type::Struct(*id, all(args)),
            Type::Extern(id, args) => Type::Extern(*id, all(args)),
            Type::Arch(id, args) => Type::Arch(*id, all(args)),
            Type::Tuple(items) => Type::Tuple(all(items)),
            Type::Stack(of, n) => Type::Stack(Rc::new(self.substitute(of, bound)), *n),
            Type::List(of) => Type::List(Rc::new(self.substitute(of, bound))),
            Type::Set(of) => Type::Set(Rc::new(self.substitute(of, bound))),
            Type::Record(fields, dots) => Type::Record(fields.iter().map(|(n, t)| (n.clone(), self.substitute(t, bound))).collect(), *dots),
            other => other.clone(),
        }
    }

    /// The fields of a struct, header or union.
    pub fn fields(&self, id: TypeId, args: &[Type]) -> Vec<FieldInfo> {
        let TypeInfo::Aggregate { params, fields, .. } = &self.types[id] else { return Vec::new() };
        let bound: Bound = params.iter().copied().zip(args.iter().cloned()).collect();
        fields.iter().map(|f| FieldInfo { ty: self.substitute(&f.ty, &bound), ..f.clone() }).collect()
    }

    /// Which of struct, header and union a type is.
    pub fn aggregate(&self, ty: &Type) -> Option<Aggregate> {
        match ty {
            Type::Struct(id, _) => match &self.types[*id] {
                TypeInfo::Aggregate { what, .. } => Some(*what),
                _ => None,
            },
            _ => None,
        }
    }

    /// The type below `type` declarations and enumerations with a representation.
    pub fn underlying(&self, ty: &Type) -> Type {
        match ty {
            Type::New(id) | Type::SerEnum(id) => match &self.types[*id] {
                TypeInfo::New { ty, .. } | TypeInfo::SerEnum { ty, .. } => self.underlying(ty),
                _ => ty.clone(),
            },
            other => other.clone(),
        }
    }

    pub fn type_name(&self, id: TypeId) -> &Name {
        match &self.types[id] {
            TypeInfo::Aggregate { name, .. }
            | TypeInfo::Enum { name, .. }
            | TypeInfo::SerEnum { name, .. }
            | TypeInfo::New { name, .. }
            | TypeInfo::Extern { name, .. }
            | TypeInfo::Arch { name, .. } => name,
        }
    }

    /// A type as it is written.
    pub fn show(&self, ty: &Type) -> String {
        let list = |items: &[Type]| items.iter().map(|t| self.show(t)).collect::<Vec<_>>().join(", ");
        match ty {
            Type::Any => "_".to_owned(),
            Type::Void => "void".to_owned(),
            Type::Bool => "bool".to_owned(),
            Type::Bit(w) => format!("bit<{w}>"),
            Type::Int(w) => format!("int<{w}>"),
            Type::Varbit(w) => format!("varbit<{w}>"),
            Type::Integer => "int".to_owned(),
            Type::Error => "error".to_owned(),
            Type::MatchKind => "match_kind".to_owned(),
            Type::Str => "string".to_owned(),
            Type::Nothing => "a default value".to_owned(),
            Type::Invalid => "an invalid header".to_owned(),
            Type::Param(p) => self.type_params.get(*p).map_or("?".to_owned(), ToString::to_string),
            Type::Enum(id) | Type::SerEnum(id) | Type::New(id) => self.type_name(*id).to_string(),
            Type::Struct(id, args) | Type::Extern(id, args) | Type::Arch(id, args) => {
                let name = self.type_name(*id);
                if args.is_empty() { name.to_string() } else { format!("{name}<{}>", list(args)) }
            }
            Type::Stack(of, n) => format!("{}[{n}]", self.show(of)),
            Type::Tuple(items) => format!("tuple<{}>", list(items)),
            Type::List(of) => format!("list<{}>", self.show(of)),
            Type::Record(fields, _) => {
                format!("{{{}}}", fields.iter().map(|(n, t)| format!("{n} = {}", self.show(t))).collect::<Vec<_>>().join(", "))
            }
            Type::Set(of) => format!("set<{}>", self.show(of)),
            Type::Block(id) => self.blocks.get(*id).map_or("?".to_owned(), |b| b.name.to_string()),
            Type::Applied(_) => "the result of a table".to_owned(),
            Type::ActionRun(_) => "an action_run".to_owned(),
        }
    }
}
