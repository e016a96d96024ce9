//! Parsers and controls.

use super::{Checked, Checker, Context, Symbol, fault, public_name};
use crate::ast::{self, Decl, DeclKind, ExprKind as Ast, Transition};
use crate::hir::{ArchKind, Block, Expr, Next, State, Target, Type};
use frontends::diagnostics::{Diagnostic, Span};
use num_traits::ToPrimitive;
use std::rc::Rc;

impl Checker {
    pub(super) fn block(&mut self, decl: &Decl) -> Checked<()> {
        let (sig, ctor, locals, is_parser) = match &decl.kind {
            DeclKind::Control { sig, ctor, locals, .. } => (sig, ctor, locals, false),
            DeclKind::Parser { sig, ctor, locals, .. } => (sig, ctor, locals, true),
            _ => return Ok(()),
        };
        if let Some(generic) = sig.type_params.first() {
            let what = if is_parser { "parser" } else { "control" };
            let wrong = Diagnostic::new(generic.span, format!("a {what} that has a body has no type parameters"));
            let help = format!("only {what} types (`{what} {}<{}>(...);`) may be generic: name the type here", sig.name.name, generic.name);
            return Err(Box::new(wrong.help(help)));
        }
        let tables = std::mem::take(&mut self.block_tables);
        let instances = std::mem::take(&mut self.block_instances);
        let context = Context { in_parser: is_parser, in_control: !is_parser, ..Context::default() };
        let before = std::mem::replace(&mut self.context, context);
        self.scopes.push(Default::default());
        let block = self.block_inner(decl, sig, ctor, locals, is_parser);
        self.scopes.pop();
        self.context = before;
        self.block_tables = tables;
        self.block_instances = instances;
        self.program.blocks.push(block?);
        let id = self.program.blocks.len() - 1;
        self.declare(&sig.name, Symbol::Block(id))
    }

    fn block_inner(&mut self, decl: &Decl, sig: &ast::Signature, ctor: &[ast::Param], locals: &[Decl], is_parser: bool) -> Checked<Block> {
        let params = self.params(&sig.params, false)?;
        if let Some((p, at)) = params.iter().zip(&sig.params).find(|(p, _)| matches!(p.ty, Type::Block(_) | Type::Arch(..))) {
            return fault(at.ty.span, format!("a parameter of {} is not possible here", self.show(&p.ty)));
        }
        let written = ctor;
        let ctor = self.params(ctor, false)?;
        self.no_optional(&ctor, written)?;
        for (param, at) in ctor.iter().zip(written) {
            self.suits_block(&param.ty, is_parser, at.ty.span)?;
        }
        self.scopes.push(Default::default());
        let (mut variables, first_var) = (Vec::new(), self.program.vars.len());
        self.will_declare(locals);
        for local in locals {
            let noted = self.annotations(&local.annotations);
            self.told(noted);
            let result = match &local.kind {
                DeclKind::Table(table) => self.table(table, &local.annotations).map(|()| None),
                DeclKind::ValueSet { ty, size, name } => self.value_set(ty, size, name, &local.annotations).map(|()| None),
                _ => self.local(local),
            };
            variables.extend(self.told(result).flatten());
            self.has_declared(local);
        }
        let mut block = Block {
            name: sig.name.name.clone(),
            is_parser,
            params,
            ctor,
            locals: variables,
            instances: Vec::new(),
            tables: Vec::new(),
            sets: (first_var..self.program.vars.len()).filter(|var| self.program.sets.contains_key(var)).collect(),
            body: Vec::new(),
            states: Vec::new(),
            start: 0,
            span: sig.name.span,
        };
        let result = match &decl.kind {
            DeclKind::Control { body, .. } => {
                block.body = self.scoped(|c| c.stmts(&body.stmts));
                Ok(())
            }
            DeclKind::Parser { states, .. } => self.states(states, &mut block, decl.span),
            _ => Ok(()),
        };
        self.scopes.pop();
        self.declared.pop();
        block.tables = std::mem::take(&mut self.block_tables);
        block.instances = std::mem::take(&mut self.block_instances);
        result.map(|()| block)
    }

    /// Parsers have parsers, and controls have controls, that are made elsewhere.
    fn suits_block(&self, ty: &Type, in_parser: bool, span: Span) -> Checked<()> {
        let kind = match ty {
            Type::Arch(id, _) => match &self.program.types[*id] {
                crate::hir::TypeInfo::Arch { kind, .. } => *kind,
                _ => return Ok(()),
            },
            _ => return Ok(()),
        };
        match (kind, in_parser) {
            (ArchKind::Parser, false) => fault(span, "a control has no parser as parameter"),
            (ArchKind::Control, true) => fault(span, "a parser has no control as parameter"),
            _ => Ok(()),
        }
    }

    fn value_set(&mut self, ty: &ast::Ty, size: &ast::Expr, name: &ast::Ident, annotations: &[ast::Annotation]) -> Checked<()> {
        let written = ty.span;
        let ty = self.ty(ty)?;
        if matches!(ty, Type::Integer | Type::Str | Type::Void) {
            return fault(written, format!("a value set of {} is not possible", self.show(&ty)));
        }
        let count = self.constant_int(size)?.to_u32().unwrap_or(u32::MAX);
        let var = self.declare_var(name, Type::Set(Rc::new(ty)), false)?;
        self.program.set_notes.insert(var, annotations.to_vec().into());
        self.program.sets.insert(var, (public_name(annotations, &name.name), count));
        Ok(())
    }

    fn states(&mut self, states: &[ast::State], block: &mut Block, span: Span) -> Checked<()> {
        let names: Vec<_> = states.iter().map(|s| s.name.clone()).collect();
        for (n, name) in names.iter().enumerate() {
            if matches!(&*name.name, "accept" | "reject") {
                return fault(name.span, format!("the state `{}` is there already", name.name));
            }
            if let Some(first) = names[..n].iter().find(|o| o.name == name.name) {
                let fault = Diagnostic::new(name.span, format!("the state `{}` is declared twice", name.name));
                return Err(Box::new(fault.note(first.span, "the first declaration")));
            }
        }
        let Some(start) = names.iter().position(|n| &*n.name == "start") else { return fault(span, "a parser has a state `start`") };
        block.start = start;
        for state in states {
            self.scopes.push(Default::default());
            let body = self.stmts(&state.body);
            let next = match &state.transition {
                None => {
                    let warning =
                        Diagnostic::new(state.name.span, format!("the state `{}` has no transition, and rejects", state.name.name));
                    self.warnings.borrow_mut().push(warning.help("`transition accept;` ends the parser"));
                    Ok(Next::To(Target::Reject))
                }
                Some(transition) => self.transition(transition, &names),
            };
            self.scopes.pop();
            let next = self.told(next).unwrap_or(Next::To(Target::Reject));
            block.states.push(State { name: state.name.name.clone(), span: state.name.span, body, next });
        }
        Ok(())
    }

    fn target(&self, to: &ast::Ident, names: &[ast::Ident]) -> Checked<Target> {
        match &*to.name {
            "accept" => Ok(Target::Accept),
            "reject" => Ok(Target::Reject),
            name => match names.iter().position(|n| *n.name == *name) {
                Some(at) => Ok(Target::State(at)),
                None => {
                    let known: Vec<&str> = names.iter().map(|state| &*state.name).chain(["accept", "reject"]).collect();
                    Err(super::meant(Diagnostic::new(to.span, format!("there is no state `{name}`")), &known, name))
                }
            },
        }
    }

    fn transition(&mut self, transition: &Transition, names: &[ast::Ident]) -> Checked<Next> {
        let (keys, cases, span) = match transition {
            Transition::To(to) => return self.target(to, names).map(Next::To),
            Transition::Select { keys, cases, span } => (keys, cases, *span),
        };
        let keys: Vec<Expr> = keys.iter().map(|k| self.expr(k)).collect::<Checked<_>>()?;
        if let Some(key) = keys.iter().find(|k| !self.selectable(&k.ty)) {
            return fault(key.span, format!("there is no select over {}", self.show(&key.ty)));
        }
        if keys.is_empty() {
            return self.select_nothing(cases, names, span);
        }
        let mut out = Vec::new();
        for case in cases {
            let to = self.target(&case.to, names)?;
            let sets = self.keyset(&case.keys, &keys.iter().map(|k| k.ty.clone()).collect::<Vec<_>>(), case.span)?;
            out.push((sets, to));
        }
        Ok(Next::Select(keys, out))
    }

    /// A select without keys: its first case that holds for all of them.
    fn select_nothing(&mut self, cases: &[ast::SelectCase], names: &[ast::Ident], span: Span) -> Checked<Next> {
        let mut to = None;
        for case in cases {
            let target = self.target(&case.to, names)?;
            if !matches!(case.keys.as_slice(), [] | [ast::Expr { kind: Ast::Default | Ast::DontCare, .. }]) {
                return fault(case.span, "there is nothing to compare this with");
            }
            to.get_or_insert(target);
        }
        to.map_or_else(|| fault(span, "there is nothing to select"), |to| Ok(Next::To(to)))
    }

    fn selectable(&self, ty: &Type) -> bool {
        match self.program.underlying(ty) {
            Type::Bit(_) | Type::Int(_) | Type::Bool | Type::Enum(_) | Type::Error | Type::Any | Type::Integer => true,
            Type::Tuple(items) => items.iter().all(|t| self.selectable(t)),
            _ => false,
        }
    }

    /// The type of the only field of a structure.
    fn only_part(&self, ty: &Type) -> Option<Type> {
        let Type::Struct(id, args) = ty else { return None };
        match self.program.fields(*id, args).as_slice() {
            [only] => Some(only.ty.clone()),
            _ => None,
        }
    }

    /// Sets for keys: as many, or one for all.
    pub(super) fn keyset(&mut self, sets: &[ast::Expr], types: &[Type], span: Span) -> Checked<Vec<Expr>> {
        if let [only] = sets
            && matches!(only.kind, Ast::Default | Ast::DontCare)
        {
            let one = self.expr(only)?;
            return Ok(types.iter().map(|_| one.clone()).collect());
        }
        if let [only] = sets
            && types.len() > 1
        {
            let value = self.expr(only)?;
            if let Type::Set(of) = &value.ty
                && matches!(&**of, Type::Struct(..) | Type::Tuple(_))
            {
                return Ok(vec![value]);
            }
            return fault(span, format!("{} keys need as many sets", types.len()));
        }
        // One key's set in braces.
        let sets = match (sets, types) {
            ([ast::Expr { kind: Ast::List(items), .. }], [ty]) if items.len() == 1 && !matches!(ty, Type::Tuple(_) | Type::Struct(..)) => {
                items
            }
            _ => sets,
        };
        if sets.len() != types.len() {
            return fault(span, format!("{} keys need as many sets, and these are {}", types.len(), sets.len()));
        }
        let mut out = Vec::new();
        for (set, ty) in sets.iter().zip(types) {
            let value = self.expr(set)?;
            let value = match (&value.ty, self.program.underlying(ty)) {
                // Numbers stand for members of enumerations and for new types.
                // A value set of a structure with one part.
                (Type::Set(of), _) if matches!(value.kind, crate::hir::ExprKind::Var(_)) && self.only_part(of).as_ref() == Some(ty) => {
                    value
                }
                (Type::Integer | Type::Bit(_) | Type::Int(_), under) if matches!(ty, Type::SerEnum(_) | Type::New(_)) => {
                    self.coerce(value, &under)?
                }
                (Type::Set(of), under) if matches!(ty, Type::SerEnum(_) | Type::New(_)) && self.numeric(of) => {
                    self.coerce(value, &Type::Set(Rc::new(under)))?
                }
                _ => self.coerce(value, &Type::Set(Rc::new(ty.clone())))?,
            };
            out.push(value);
        }
        Ok(out)
    }
}
