//! Types as written, and variables.

use super::{Checker, Symbol};
use crate::c::ast::{Base, BaseKind, Declaration, Declarator, Designator, Expr, Init, Name, Storage, TypeName};
use crate::c::tree::{Local, Static, normal};
use crate::c::types::{INT, MAX_BYTES, Member, StructType, Type, U32};
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
            BaseKind::Enum(tag, list) => self.enumeration(tag.as_ref(), list.as_deref()),
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
        let mut found = StructType { name: String::new(), members: Vec::new(), size: 0, alignment: 1, id: 0 };
        for declaration in members {
            let base = self.base(&declaration.base);
            // `struct { … };` without a tag and a name: its members are as if they were of this one
            // (C11, 6.7.2.1).
            if declaration.declarators.is_empty() && matches!(declaration.base.kind, BaseKind::Struct(None, _)) {
                self.add_member(&mut found, None, base.clone(), declaration.base.span);
            }
            for declarator in &declaration.declarators {
                let ty = self.declared(base.clone(), declarator, None);
                let ctype = self.member_type(ty, declarator.span);
                if declarator.name.is_some() {
                    self.add_member(&mut found, Some(declarator), ctype, declarator.span);
                }
            }
        }
        if found.members.is_empty() {
            return self.wrong_type(span, "a struct has at least one member");
        }
        if found.size > MAX_BYTES {
            return self.wrong_type(span, &format!("a struct has at most {MAX_BYTES} bytes"));
        }
        self.has_no_gaps(tag, &found, span);
        self.new_struct(tag, found, span)
    }

    fn add_member(&mut self, to: &mut StructType, declarator: Option<&Declarator>, ctype: Type, span: Span) {
        let name = declarator.and_then(|declarator| declarator.name.as_ref());
        let (span, bytes) = (name.map_or(span, |name| name.span), ctype.size());
        let name = name.map_or_else(String::new, |name| name.text.to_string());
        let constant = declarator.is_some_and(Declarator::is_constant);
        let new = Member { name, ctype, offset: to.size, constant };
        let twice = match &new.ctype {
            Type::Struct(inner) if new.name.is_empty() => {
                inner.names().into_iter().find(|name| to.member(name).is_some()).map(str::to_owned)
            }
            _ => to.member(&new.name).map(|_| new.name.clone()),
        };
        if let Some(name) = twice {
            self.fault(span, format!("the member `{name}` is there twice"));
        }
        to.alignment = to.alignment.max(new.ctype.alignment());
        to.members.push(new);
        to.size = to.size.saturating_add(bytes);
    }

    /// Compilers of C pack structs from ELEMENT on; one before it is the same for them only if its
    /// members follow each other anyway.
    fn has_no_gaps(&mut self, tag: Option<&Name>, found: &StructType, span: Span) {
        let last = found
            .members
            .iter()
            .fold(0, |end: u32, member| end.next_multiple_of(member.ctype.alignment()).saturating_add(member.ctype.size()));
        if self.element.is_none() && last.next_multiple_of(found.alignment) != found.size {
            let name = tag.map_or_else(|| "this struct".to_owned(), |tag| format!("`struct {}`", tag.text));
            let message = format!("compilers of C leave gaps in {name}, which stands before ELEMENT and is not packed");
            self.fault_help(span, message, "move it, or the #include that it comes by, behind ELEMENT(...)");
        }
    }

    fn new_struct(&mut self, tag: Option<&Name>, found: StructType, span: Span) -> Type {
        self.next_struct += 1;
        let name = tag.map_or_else(String::new, |tag| tag.text.to_string());
        let new = Arc::new(StructType { name, id: self.next_struct, ..found });
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

    /// An enum's type, which is what gcc and clang make it: without a sign unless an enumerator is
    /// negative.
    fn enumeration(&mut self, tag: Option<&Name>, list: Option<&[(Name, Option<Expr>)]>) -> Type {
        let Some(list) = list else {
            let Some(name) = tag else { return Type::Error };
            let known = self.enums.get(&name.text).cloned();
            return known.unwrap_or_else(|| self.wrong_type(name.span, &format!("there is no `enum {}`", name.text)));
        };
        let (mut next, mut signed) = (0i128, false);
        for (name, value) in list {
            next = value.as_ref().map_or(next, |value| self.enumerator(value).unwrap_or(next));
            if next > i128::from(i32::MAX) {
                self.fault_help(
                    name.span,
                    format!("the enumerator `{}` would be {next}, and is an int", name.text),
                    "write static const u32",
                );
                next = 0;
            }
            signed |= next < 0;
            self.declare(name, Symbol::Constant(normal(&INT, next as u128)));
            next += 1;
        }
        let ty = if signed { INT } else { U32 };
        if let Some(tag) = tag {
            self.enums.insert(Arc::clone(&tag.text), ty.clone());
        }
        ty
    }

    fn enumerator(&mut self, value: &Expr) -> Option<i128> {
        let (number, ty) = self.constant(value, "the value of an enumerator")?;
        match crate::c::tree::meaning(&ty, number) {
            n if i32::try_from(n).is_ok() => Some(n),
            n => {
                let message = format!("the value of an enumerator is an int, and {n} is none");
                self.fault_help(value.span, message, "write static const u32, or u64, instead of the enumerator");
                None
            }
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

    /// The length that an initial value gives to `[]`: one more than its last index.
    pub(super) fn length_of(&mut self, declarator: &Declarator) -> Option<u32> {
        let (Some(Init::List(list, _)), Some(None)) = (&declarator.init, declarator.dimensions.first()) else { return None };
        let (mut next, mut length) = (0u32, 0);
        for (designators, _) in list {
            if let Some(Designator::Index(index)) = designators.first() {
                let (value, _) = self.constant(index, "an index of an initial value")?;
                next = u32::try_from(value).unwrap_or(u32::MAX);
            }
            next = next.saturating_add(1);
            length = length.max(next);
        }
        Some(length).filter(|n| *n > 0)
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
            let length = self.length_of(declarator);
            let ty = self.declared(base.clone(), declarator, length);
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
