//! Tags of structs that are not defined yet: announced by `struct tag;`, or just being defined.

use super::Checker;
use crate::c::ast::{BaseKind, Declaration, Item, Name, Storage};
use crate::c::types::Type;
use crate::diagnostics::{Diagnostic, Span};
use std::sync::Arc;

/// How many typedefs wait for their structs at most.
pub(super) const MAX_WAITING: usize = 100;

impl Checker<'_> {
    /// `typedef struct tag name;` before the struct is defined: its turn comes behind that.
    pub(super) fn waits(&self, item: &Item) -> bool {
        let Item::Declare(Declaration { storage: Storage::Typedef, base, .. }) = item else { return false };
        matches!(&base.kind, BaseKind::Struct(Some(tag), None) if !self.structs.contains_key(&tag.text) && self.later.has_tag(&tag.text))
    }

    /// Its names are known to be types to come.
    pub(super) fn wait(&mut self, item: &Item) {
        let Item::Declare(declaration) = item else { return };
        let names = declaration.declarators.iter().filter_map(|declarator| declarator.name.as_ref());
        self.waiting.extend(names.map(|name| Arc::clone(&name.text)));
    }

    /// A typedef whose turn has not come is used; that is told.
    pub(super) fn is_waiting(&mut self, name: &Name) -> bool {
        let waits = self.waiting.contains(&name.text);
        if waits {
            let message = format!("`{}` is the name of a struct that is not defined yet", name.text);
            self.fault_help(name.span, message, "put the definition of the struct, with its members, before this");
        }
        waits
    }

    /// `struct tag;`, which only says that there will be one.
    pub(super) fn announced(&mut self, declaration: &Declaration) -> bool {
        let (BaseKind::Struct(Some(tag), None), []) = (&declaration.base.kind, &declaration.declarators[..]) else { return false };
        self.announced.entry(Arc::clone(&tag.text)).or_insert(tag.span);
        true
    }

    /// A struct that may name itself among its members.
    pub(super) fn defined(&mut self, tag: Option<&Name>, members: &[Declaration], span: Span) -> Type {
        let Some(tag) = tag else { return self.structure(None, members, span) };
        let itself = |base: &BaseKind| matches!(base, BaseKind::Struct(Some(name), None) if name.text == tag.text);
        for member in members.iter().filter(|member| itself(&member.base.kind)) {
            if member.declarators.iter().any(|declarator| declarator.pointers == 0) {
                self.fault_help(member.base.span, "a struct cannot hold itself", "keep an index into an array of such structs");
            }
        }
        self.open_tags.push(Arc::clone(&tag.text));
        let ty = self.structure(Some(tag), members, span);
        self.open_tags.pop();
        ty
    }

    /// The type of a tag that is known but not defined; what is wrong with that is told.
    pub(super) fn undefined_tag(&mut self, name: &Name, span: Span) -> Option<Type> {
        if self.open_tags.contains(&name.text) || self.faults.is_unread(&name.text) {
            return Some(Type::Error); // as a pointer, which no struct holds, it is told with the member
        }
        let Some(announced) = self.announced.get(&name.text).copied() else {
            let fault = self.defined_later(name, span)?;
            self.faults.add(fault);
            return Some(Type::Error);
        };
        let fault = Diagnostic::new(span, format!("`struct {}` is not defined yet", name.text)).note(announced, "it is only declared here");
        self.faults.add(fault.help("put its definition, with its members, before this"));
        Some(Type::Error)
    }
}
