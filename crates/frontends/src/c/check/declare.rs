//! Types as written, and variables.

use super::{Checker, Symbol};
use crate::c::ast::{Base, BaseKind, Declaration, Declarator, Expr, Init, Name, Storage, TypeName};
use crate::c::tree::{Local, Static, normal};
use crate::c::types::{INT, MAX_BYTES, Member, StructType, Type};
use crate::c::{TableScope, similar};
use crate::diagnostics::{Diagnostic, Span};
use std::sync::Arc;

impl Checker<'_> {
    /// The type that a declaration begins with.
    pub(super) fn base(&mut self, base: &Base) -> Type {
        match &base.kind {
            BaseKind::Known(ty) => ty.clone(),
            BaseKind::Named(name) => self.typedef(name),
            BaseKind::Struct(tag, None) => self.tagged(tag.as_ref(), base.span),
            BaseKind::Struct(tag, Some(members)) => self.defined(tag.as_ref(), members, base.span),
            BaseKind::Enum(tag, list) => {
                self.enumeration(tag.as_ref(), list.as_deref());
                INT
            }
        }
    }

    fn typedef(&mut self, name: &Name) -> Type {
        if let Some((Symbol::Typedef(ty), _)) = self.lookup(&name.text) {
            return ty.clone();
        }
        if self.faults.is_unread(&name.text) || self.is_waiting(name) {
            return Type::Error;
        }
        let fault = Diagnostic::new(name.span, format!("`{}` is not a type", name.text));
        let fault = similar(fault, &name.text, Type::names(), "");
        self.faults.add(fault);
        Type::Error
    }

    fn tagged(&mut self, tag: Option<&Name>, span: Span) -> Type {
        let Some(name) = tag else { return Type::Error };
        if let Some((known, _)) = self.structs.get(&name.text) {
            return Type::Struct(Arc::clone(known));
        }
        if let Some(ty) = self.undefined_tag(name, span) {
            return ty;
        }
        let fault = Diagnostic::new(span, format!("there is no `struct {}`", name.text));
        let fault = similar(fault, &name.text, self.structs.keys().map(|tag| &**tag), "struct ");
        self.faults.add(fault);
        Type::Error
    }

    pub(super) fn structure(&mut self, tag: Option<&Name>, members: &[Declaration], span: Span) -> Type {
        let mut found: Vec<Member> = Vec::new();
        let mut size = 0u32;
        for declaration in members {
            let base = self.base(&declaration.base);
            for declarator in &declaration.declarators {
                let ty = self.declared(base.clone(), declarator, None);
                let ctype = self.member_type(ty, declarator.span);
                let Some(name) = &declarator.name else { continue };
                if found.iter().any(|member| member.name == *name.text) {
                    self.fault(name.span, format!("the member `{}` is there twice", name.text));
                }
                let bytes = ctype.size();
                found.push(Member { name: name.text.to_string(), ctype, offset: size, constant: declarator.is_constant() });
                size = size.saturating_add(bytes);
            }
        }
        if found.is_empty() {
            return self.wrong_type(span, "a struct has at least one member");
        }
        if size > MAX_BYTES {
            return self.wrong_type(span, &format!("a struct has at most {MAX_BYTES} bytes"));
        }
        self.new_struct(tag, found, size, span)
    }

    fn new_struct(&mut self, tag: Option<&Name>, members: Vec<Member>, size: u32, span: Span) -> Type {
        self.next_struct += 1;
        let name = tag.map_or_else(String::new, |tag| tag.text.to_string());
        let new = Arc::new(StructType { name, members, size, id: self.next_struct });
        if let Some(tag) = tag
            && let Some((_, before)) = self.structs.insert(Arc::clone(&tag.text), (Arc::clone(&new), tag.span))
        {
            let fault = Diagnostic::new(span, format!("`struct {}` is defined twice", tag.text)).note(before, "defined here already");
            self.faults.add(fault);
        }
        Type::Struct(new)
    }

    fn member_type(&mut self, ty: Type, span: Span) -> Type {
        match ty {
            Type::Pointer(_) => {
                let help = "keep an index, or find the entry again by its key";
                self.fault_help(span, "a struct cannot hold a pointer", help);
                Type::Error
            }
            Type::Text | Type::Void => self.wrong_type(span, "a member cannot have this type"),
            other => other,
        }
    }

    fn enumeration(&mut self, tag: Option<&Name>, list: Option<&[(Name, Option<Expr>)]>) {
        let Some(list) = list else {
            if let Some(name) = tag.filter(|name| !self.enums.contains_key(&name.text)) {
                self.fault(name.span, format!("there is no `enum {}`", name.text));
            }
            return;
        };
        if let Some(tag) = tag {
            self.enums.insert(Arc::clone(&tag.text), tag.span);
        }
        let mut next = 0u128;
        for (name, value) in list {
            if let Some(value) = value {
                let found = self.constant(value, "the value of an enumerator");
                next = found.map_or(next, |(value, ty)| crate::c::fold::convert(&ty, &INT, value));
            }
            self.declare(name, Symbol::Constant(next));
            next = normal(&INT, next.wrapping_add(1));
        }
    }

    /// The type that a declarator makes of its base. `length` is for `[]`.
    pub(super) fn declared(&mut self, base: Type, declarator: &Declarator, length: Option<u32>) -> Type {
        let mut ty = (0..declarator.pointers).fold(base, |ty, _| Type::pointer(ty, declarator.of_constant));
        if let Type::Pointer(to) = &ty
            && matches!(**to, Type::Pointer(_) | Type::Void | Type::Text)
        {
            ty = self.wrong_type(declarator.span, "a pointer points to a value: not to another pointer, and not to void");
        }
        for (n, dimension) in declarator.dimensions.iter().enumerate().rev() {
            let count = match dimension {
                Some(size) => self.dimension(size),
                None => length.filter(|_| n == 0).or_else(|| {
                    self.fault(declarator.span, "the size of this array is missing");
                    None
                }),
            };
            ty = self.array(ty, count, declarator.span);
        }
        ty
    }

    fn dimension(&mut self, size: &Expr) -> Option<u32> {
        let (value, ty) = self.constant(size, "the size of an array")?;
        match crate::c::tree::meaning(&ty, value) {
            n if n > 0 && n <= i128::from(MAX_BYTES) => Some(n as u32),
            n => {
                self.fault(size.span, format!("an array cannot have {n} elements"));
                None
            }
        }
    }

    fn array(&mut self, of: Type, count: Option<u32>, span: Span) -> Type {
        let Some(count) = count.filter(|_| !of.is_error()) else { return Type::Error };
        if matches!(of, Type::Pointer(_) | Type::Text | Type::Void) {
            return self.wrong_type(span, "an array cannot hold this");
        }
        if u64::from(of.size()) * u64::from(count) > u64::from(MAX_BYTES) {
            return self.wrong_type(span, &format!("an array has at most {MAX_BYTES} bytes"));
        }
        Type::Array(Arc::new(of), count)
    }

    pub(super) fn type_name(&mut self, name: &TypeName) -> Type {
        let base = self.base(&name.base);
        self.declared(base, &name.declarator, None)
    }

    /// A declaration outside of functions.
    pub(super) fn declaration(&mut self, declaration: &Declaration) {
        let base = self.base(&declaration.base);
        for declarator in &declaration.declarators {
            let Some(name) = &declarator.name else { continue };
            let ty = self.declared(base.clone(), declarator, length_of(declarator));
            if declaration.storage == Storage::Typedef {
                self.declare(name, Symbol::Typedef(ty));
                continue;
            }
            if declaration.storage == Storage::None {
                self.fault_help(name.span, format!("the variable `{}` is not static", name.text), "write `static`");
            }
            self.static_variable(name, ty, declaration.base.constant, declarator);
        }
    }

    /// A variable that lives as long as the element.
    pub(super) fn static_variable(&mut self, name: &Name, ty: Type, constant: bool, declarator: &Declarator) {
        let ty = self.object_type(ty, declarator.span);
        let init = match &declarator.init {
            Some(init) => self.constant_init(&ty, init),
            None => Vec::new(),
        };
        let id = self.program.statics.len();
        self.declare(name, Symbol::Static(id));
        let (name, span, scope) = (Arc::clone(&name.text), name.span, TableScope::Local);
        self.program.statics.push(Static { name, ty, constant, span, init, scope });
    }

    fn object_type(&mut self, ty: Type, span: Span) -> Type {
        match ty {
            Type::Pointer(_) => {
                let help = "keep an index, or find the entry again by its key";
                self.fault_help(span, "a static variable cannot be a pointer: what it points to ends with the handler", help);
                Type::Error
            }
            Type::Void | Type::Text => self.wrong_type(span, "a variable cannot have this type"),
            other => other,
        }
    }

    /// A new local of the function being checked.
    pub(super) fn new_local(&mut self, name: Arc<str>, ty: Type, span: Span, constant: bool) -> usize {
        let Some(current) = &mut self.current else { return 0 };
        current.function.locals.push(Local { name, ty, span, constant });
        current.function.locals.len() - 1
    }
}

/// The length that an initial value gives to `[]`.
pub(super) fn length_of(declarator: &Declarator) -> Option<u32> {
    match &declarator.init {
        Some(Init::List(list, _)) => u32::try_from(list.len()).ok().filter(|n| *n > 0),
        _ => None,
    }
}
