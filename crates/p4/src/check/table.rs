//! Tables.

use super::{Checked, Checker, Symbol, annotation, fault, public_name};
use crate::ast::{self, ActionRef, Annotation, Dir, ExprKind as Ast, Property, PropertyKind, TableDecl};
use crate::hir::{COUNTERS, Callee, Expr, ExprKind, FnKind, Key, METERS, PROFILES, Table, TableAction, TableEntry, Type};
use crate::lexer::Name;
use frontends::diagnostics::Diagnostic;
use num_bigint::{BigInt, Sign};
use num_traits::ToPrimitive;

impl Checker {
    pub(super) fn table(&mut self, decl: &TableDecl, annotations: &[Annotation]) -> Checked<()> {
        let mut table = Table {
            public: public_name(annotations, &decl.name.name),
            span: decl.name.span,
            notes: annotations.to_vec().into(),
            ..Table::default()
        };
        let mut seen: Vec<Name> = Vec::new();
        for property in &decl.properties {
            if seen.contains(&property.name.name) {
                return fault(property.name.span, format!("`{}` is given twice", property.name.name));
            }
            seen.push(property.name.name.clone());
        }
        let place = |name: &str| seen.iter().position(|n| **n == *name);
        if let (Some(default), Some(actions)) = (place("default_action"), place("actions"))
            && default < actions
        {
            let wrong = Diagnostic::new(decl.properties[default].name.span, "the default action stands behind the list of actions");
            return Err(Box::new(wrong.note(decl.properties[actions].name.span, "the list")));
        }
        // Actions are needed by what else refers to them, wherever they stand.
        let order = ["key", "actions", "entries", "default_action"];
        for wanted in order {
            for property in decl.properties.iter().filter(|p| *p.name.name == *wanted) {
                self.property(&mut table, property, &decl.name)?;
            }
        }
        for property in decl.properties.iter().filter(|p| !order.contains(&&*p.name.name)) {
            self.property(&mut table, property, &decl.name)?;
        }
        if !seen.iter().any(|n| &**n == "actions") {
            return fault(decl.name.span, format!("the table `{}` has no actions", decl.name.name));
        }
        if table.default.is_none() {
            self.no_action(&mut table)?;
        }
        self.priorities(&mut table, decl)?;
        self.program.tables.push(table);
        let id = self.program.tables.len() - 1;
        self.block_tables.push(id);
        self.declare(&decl.name, Symbol::Table(id))
    }

    /// Entries that the control plane may change have the priority that they say, or one that is so
    /// much worse than that of the entry before.
    ///
    /// Source: P4-16 specification 1.2.5, section 14.2.1.4.
    fn priorities(&mut self, table: &mut Table, decl: &TableDecl) -> Checked<()> {
        let written = decl.properties.iter().find_map(|p| if let PropertyKind::Entries(entries) = &p.kind { Some(entries) } else { None });
        let Some(written) = written else { return Ok(()) };
        let said = written.iter().find(|entry| entry.priority.is_some());
        let overlap = table.keys.iter().any(|key| !matches!(&*key.kind, "exact" | "lpm"));
        match said {
            Some(entry) if table.const_entries => return fault(entry.span, "constant entries have the priority of their order"),
            Some(entry) if !overlap => return fault(entry.span, "keys of these kinds have no priorities"),
            None if table.const_entries || !overlap => return Ok(()),
            Some(_) if written[0].priority.is_none() => {
                return fault(written[0].span, "the first entry has a priority, as another one has");
            }
            _ => {}
        }
        let delta = match decl.properties.iter().find(|p| &*p.name.name == "priority_delta").map(|p| &p.kind) {
            Some(PropertyKind::Value(value)) => self.constant_int(value)?,
            _ => BigInt::from(1),
        };
        let (count, step) = (BigInt::from(written.len()), if table.smallest_wins { delta.clone() } else { -&delta });
        let mut next = if table.smallest_wins { BigInt::from(1) } else { (count - 1) * delta + 1 };
        for entry in &mut table.entries {
            let own = if said.is_some() { entry.priority.clone().unwrap_or(next) } else { next };
            if own.sign() == Sign::Minus || own.bits() > 31 {
                return fault(entry.span, format!("the priority of this entry would be {own}; priorities have 31 bits"));
            }
            next = &own + &step;
            entry.priority = Some(own);
        }
        Ok(())
    }

    /// The default action of a table that names none.
    fn no_action(&mut self, table: &mut Table) -> Checked<()> {
        let found = match self.lookup(true, "NoAction") {
            Some(Symbol::Functions(all)) => all.first().copied(),
            _ => None,
        };
        let suits = |f: &usize| self.program.functions[*f].kind == FnKind::Action && self.program.functions[*f].params.is_empty();
        let Some(action) = found.filter(suits) else {
            return fault(table.span, "a table without default action has NoAction, an action without parameters, which core.p4 declares");
        };
        let at = table.actions.iter().position(|a| a.action == action).unwrap_or_else(|| {
            table.actions.push(TableAction { action, args: Vec::new(), table_only: false, default_only: true, notes: [].into() });
            table.actions.len() - 1
        });
        table.default = Some((at, Vec::new()));
        Ok(())
    }

    fn property(&mut self, table: &mut Table, property: &Property, of: &ast::Ident) -> Checked<()> {
        match (&*property.name.name, &property.kind) {
            ("key", PropertyKind::Key(keys)) => self.keys(table, keys, of),
            ("actions", PropertyKind::Actions(actions)) => actions.iter().try_for_each(|a| self.table_action(table, a)),
            ("entries", PropertyKind::Entries(entries)) => {
                table.const_entries = property.is_const;
                entries.iter().try_for_each(|e| self.entry(table, e))
            }
            ("default_action", PropertyKind::Value(value)) => {
                table.const_default = property.is_const;
                let (action, args) = reference(value)?;
                table.default = Some(self.bound_action(table, &action, args.as_deref(), true)?);
                Ok(())
            }
            ("size", PropertyKind::Value(value)) => {
                let size = self.constant_int(value)?;
                table.size = size.to_u32();
                if table.size.is_none() { fault(value.span, "this is no size") } else { Ok(()) }
            }
            ("largest_priority_wins", PropertyKind::Value(value)) => {
                match self.expr(value)?.kind {
                    ExprKind::Bool(largest) => table.smallest_wins = !largest,
                    _ => return fault(value.span, "this is true or false"),
                }
                Ok(())
            }
            (name, PropertyKind::Value(value)) if [COUNTERS, METERS, PROFILES].iter().any(|names| names.contains(&name)) => {
                let object = self.expr(value)?;
                self.name_in_place(&object, property);
                table.objects.push((property.name.name.clone(), object));
                Ok(())
            }
            ("priority_delta", PropertyKind::Value(value)) => match self.constant_int(value)? {
                delta if delta > num_bigint::BigInt::ZERO => Ok(()),
                _ => fault(value.span, "priorities are a positive number apart"),
            },
            ("key" | "actions" | "entries", _) => fault(property.name.span, "expected a list in braces"),
            ("support_timeout", PropertyKind::Value(value)) => {
                table.support_timeout = matches!(self.expr(value)?.kind, ExprKind::Bool(true));
                Ok(())
            }
            // A member of PSA_IdleTimeout_t, of which the first means none.
            ("psa_idle_timeout", PropertyKind::Value(value)) => {
                table.support_timeout = matches!(self.expr(value)?.kind, ExprKind::Int(n) if n > num_bigint::BigInt::ZERO);
                Ok(())
            }
            // What other targets understand.
            (_, PropertyKind::Value(value)) => self.expr(value).map(drop),
            (name, _) => fault(property.name.span, format!("tables have no list `{name}`")),
        }
    }

    /// An object that is made in a property has the name and the annotations of the property.
    fn name_in_place(&mut self, object: &Expr, property: &Property) {
        let ExprKind::Call { callee: Callee::Construct(inst), .. } = object.kind else { return };
        let made = &mut self.program.instances[inst];
        made.notes = property.annotations.clone().into();
        if annotation(&property.annotations, "name").is_some() {
            made.public = (public_name(&property.annotations, &property.name.name).0, true);
        }
    }

    /// In a table its name is its own, and no longer that of something around it.
    fn not_itself(&self, value: &ast::Expr, of: &ast::Ident) -> Checked<()> {
        match &value.kind {
            Ast::Name(false, name) if *name == of.name => {
                let wrong = Diagnostic::new(value.span, format!("`{name}` is this table, and no value"));
                Err(Box::new(wrong.note(of.span, "declared here").help("give the table another name")))
            }
            Ast::Member(base, _) | Ast::Index(base, _) | Ast::Slice(base, ..) | Ast::Unary(_, base) | Ast::Cast(_, base) => {
                self.not_itself(base, of)
            }
            Ast::Binary(_, left, right) => self.not_itself(left, of).and_then(|()| self.not_itself(right, of)),
            Ast::Call(callee, _, args) => {
                self.not_itself(callee, of)?;
                args.iter().filter_map(|arg| arg.value.as_ref()).try_for_each(|value| self.not_itself(value, of))
            }
            _ => Ok(()),
        }
    }

    fn keys(&mut self, table: &mut Table, keys: &[ast::KeyElement], of: &ast::Ident) -> Checked<()> {
        for key in keys {
            self.not_itself(&key.value, of)?;
            let before = std::mem::replace(&mut self.context.in_table_key, true);
            let value = self.expr(&key.value);
            self.context.in_table_key = before;
            let value = value?;
            if !self.program.match_kinds.contains(&key.kind.name) {
                let known: Vec<&str> = self.program.match_kinds.iter().map(|kind| &**kind).collect();
                let fault = Diagnostic::new(key.kind.span, format!("no match kind is called `{}`", key.kind.name));
                return Err(super::meant(fault, &known, &key.kind.name));
            }
            let under = self.program.underlying(&value.ty);
            if !matches!(under, Type::Bit(_) | Type::Int(_) | Type::Bool | Type::Varbit(_) | Type::Enum(_) | Type::Error | Type::Any) {
                return fault(key.value.span, format!("a key of {} is not possible", self.show(&value.ty)));
            }
            let named = annotation(&key.annotations, "name").is_some();
            if !named && matches!(key.value.kind, Ast::Binary(op, ..) if op != ast::BinOp::BitAnd) {
                return fault(key.value.span, "a key that is an expression has a name: @name(\"...\") behind its kind");
            }
            let name = match annotation(&key.annotations, "name").and_then(|a| a.args.first()).map(|e| &e.kind) {
                Some(Ast::Str(name)) => name.clone(),
                _ => written(&key.value).into(),
            };
            table.keys.push(Key { value, kind: key.kind.name.clone(), name, notes: key.annotations.clone().into() });
        }
        Ok(())
    }

    fn table_action(&mut self, table: &mut Table, given: &ActionRef) -> Checked<()> {
        let action = match self.lookup(given.dot, &given.name.name) {
            Some(Symbol::Functions(all)) if self.program.functions[all[0]].kind == FnKind::Action => all[0],
            Some(_) => return fault(given.span, format!("`{}` is no action", given.name.name)),
            None => return Err(self.unknown(given.name.span, &given.name.name)),
        };
        if table.actions.iter().any(|a| a.action == action) {
            return fault(given.span, format!("`{}` stands here twice", given.name.name));
        }
        let params: Vec<_> = self.program.functions[action].params.iter().filter(|p| p.dir != Dir::None).cloned().collect();
        let args = given.args.as_deref().unwrap_or_default();
        if args.len() != params.len() {
            let name = &given.name.name;
            return fault(
                given.span,
                format!("`{name}` has {} parameters with a direction, and {} arguments are given", params.len(), args.len()),
            );
        }
        let mut checked = Vec::new();
        for (param, arg) in params.iter().zip(args) {
            let Some(value) = &arg.value else { return fault(arg.span, "an argument is missing") };
            let value = self.expr(value)?;
            if super::writes(param.dir) {
                self.lvalue(&value)?;
            }
            checked.push(Some(self.coerce(value, &param.ty)?));
        }
        let has = |name: &str| annotation(&given.annotations, name).is_some();
        let (table_only, default_only) = (has("tableonly"), has("defaultonly"));
        table.actions.push(TableAction { action, args: checked, table_only, default_only, notes: given.annotations.clone().into() });
        Ok(())
    }

    /// An action of the table, with the arguments that the control plane would give.
    fn bound_action(&mut self, table: &Table, given: &ActionRef, args: Option<&[ast::Arg]>, default: bool) -> Checked<(usize, Vec<Expr>)> {
        let name = &given.name;
        let known = |c: &Self, a: &TableAction| c.program.functions[a.action].name == name.name;
        let Some(at) = table.actions.iter().position(|a| known(self, a)) else {
            let known: Vec<&str> = table.actions.iter().map(|a| &*self.program.functions[a.action].name).collect();
            return Err(super::meant(Diagnostic::new(given.span, format!("the table has no action `{}`", name.name)), &known, &name.name));
        };
        let meant = matches!(self.lookup(given.dot, &name.name), Some(Symbol::Functions(all)) if all.contains(&table.actions[at].action));
        if !meant {
            return fault(given.span, format!("`{}` is not the action of that name in the list of actions", name.name));
        }
        let (table_only, default_only) = (table.actions[at].table_only, table.actions[at].default_only);
        if default && table_only || !default && default_only {
            return fault(given.span, format!("`{}` is not for this place", name.name));
        }
        let params = self.program.functions[table.actions[at].action].params.clone();
        let args = args.unwrap_or_default();
        let directed = params.iter().filter(|p| p.dir != Dir::None).count();
        let plain: Vec<_> = params.iter().filter(|p| p.dir == Dir::None).cloned().collect();
        // Those with a direction may be said again.
        let skip = if args.len() == params.len() { directed } else { 0 };
        if args.len() - skip > plain.len() {
            return fault(given.span, format!("`{}` takes {} arguments, not {}", name.name, plain.len(), args.len()));
        }
        let wanted: Vec<Type> = params.iter().filter(|p| p.dir != Dir::None).map(|p| p.ty.clone()).collect();
        for ((listed, arg), ty) in table.actions[at].args.clone().iter().zip(&args[..skip]).zip(&wanted) {
            let Some(value) = &arg.value else { continue };
            let said = self.expr_as(value, ty)?;
            if listed.as_ref().is_some_and(|l| !same(l, &said)) {
                return fault(arg.span, "this is another argument than in the list of actions");
            }
        }
        let mut out = Vec::new();
        for (n, param) in plain.iter().enumerate() {
            let by_name = args.iter().find(|a| a.name.as_ref().is_some_and(|n| n.name == param.name));
            let arg = by_name.or_else(|| args.get(skip + n).filter(|a| a.name.is_none()));
            let value = match (arg.and_then(|a| a.value.as_ref()), &param.default) {
                (Some(value), _) => self.expr_as(value, &param.ty)?,
                (None, Some(value)) => value.clone(),
                (None, None) => return fault(given.span, format!("the argument for `{}` is missing", param.name)),
            };
            if !self.is_compile_time(&value) {
                return fault(value.span, "this argument is known when the program is compiled");
            }
            out.push(value);
        }
        Ok((at, out))
    }

    /// In a table of exact keys only no two entries have the same keys.
    ///
    /// Source: P4-16 specification 1.2.5, section 14.2.1.4 (entry priorities).
    fn new_entry(&self, table: &Table, keys: &[Expr], entry: &ast::EntryDecl) -> Checked<()> {
        if table.keys.iter().any(|key| &*key.kind != "exact") {
            return Ok(());
        }
        let equal = |a: &Expr, b: &Expr| match (&a.kind, &b.kind) {
            (ExprKind::Int(a), ExprKind::Int(b)) => a == b,
            (ExprKind::Bool(a), ExprKind::Bool(b)) => a == b,
            _ => false,
        };
        match table.entries.iter().find(|e| e.keys.iter().zip(keys).all(|(a, b)| equal(a, b))) {
            Some(first) => {
                let wrong = Diagnostic::new(entry.span, "an entry with these keys is there already");
                Err(Box::new(wrong.note(first.span, "the first one").help("exact keys stand once in a table: take one of the two out")))
            }
            None => Ok(()),
        }
    }

    fn entry(&mut self, table: &mut Table, entry: &ast::EntryDecl) -> Checked<()> {
        let types: Vec<Type> = table.keys.iter().map(|k| k.value.ty.clone()).collect();
        if types.is_empty() {
            return fault(entry.span, "a table without keys has no entries");
        }
        let keys = self.keyset(&entry.keys, &types, entry.span)?;
        for (key, of) in keys.iter().zip(&table.keys) {
            let exact = matches!(key.kind, ExprKind::Int(_) | ExprKind::Bool(_));
            if &*of.kind == "exact" && !exact {
                return fault(key.span, "an exact key is one value");
            }
            if matches!(key.kind, ExprKind::Mask(..) | ExprKind::Range(..)) && &*of.kind == "optional" {
                return fault(key.span, "an optional key is one value, or `_`");
            }
            if matches!(key.kind, ExprKind::Range(..)) && &*of.kind != "range" {
                return fault(key.span, format!("this key is {}, and no range", of.kind));
            }
            if !super::consts::is_constant(key) {
                return fault(key.span, "keys of entries are known when the program is compiled");
            }
        }
        self.new_entry(table, &keys, entry)?;
        let annotated = annotation(&entry.annotations, "priority").and_then(|a| a.args.first());
        let priority = match (&entry.priority, annotated) {
            (Some(value), _) => Some(self.constant_int(value)?),
            // Of annotated entries the smallest number wins.
            (None, Some(value)) => Some(-self.constant_int(value)?),
            (None, None) => None,
        };
        let (action, args) = self.bound_action(table, &entry.action, entry.action.args.as_deref(), false)?;
        table.entries.push(TableEntry { keys, priority, action, args, span: entry.span });
        Ok(())
    }
}

/// False if two arguments are certainly not the same.
fn same(a: &Expr, b: &Expr) -> bool {
    match (&a.kind, &b.kind) {
        (ExprKind::Int(a), ExprKind::Int(b)) => a == b,
        (ExprKind::Bool(a), ExprKind::Bool(b)) => a == b,
        (ExprKind::Var(a), ExprKind::Var(b)) => a == b,
        (ExprKind::Member(a, n), ExprKind::Member(b, m)) => n == m && same(a, b),
        (ExprKind::Cast(a), ExprKind::Cast(b)) => same(a, b),
        (ExprKind::Fields(a), ExprKind::Fields(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (ExprKind::Var(_), ExprKind::Member(..)) | (ExprKind::Member(..), ExprKind::Var(_)) => false,
        (ExprKind::Call { callee: Callee::Function(f), args: x, .. }, ExprKind::Call { callee: Callee::Function(g), args: y, .. }) => {
            f == g && x.iter().flatten().zip(y.iter().flatten()).all(|(a, b)| same(a, b))
        }
        _ => true,
    }
}

/// The action that an expression names, and its arguments.
fn reference(value: &ast::Expr) -> Checked<(ActionRef, Option<Vec<ast::Arg>>)> {
    let named = |e: &ast::Expr| match &e.kind {
        Ast::Name(dot, name) => Some(ActionRef {
            annotations: Vec::new(),
            dot: *dot,
            name: ast::Ident { name: name.clone(), span: e.span },
            args: None,
            span: value.span,
        }),
        _ => None,
    };
    let found = match &value.kind {
        Ast::Call(callee, _, args) => named(callee).map(|action| (action, Some(args.clone()))),
        _ => named(value).map(|action| (action, None)),
    };
    found.map_or_else(|| fault(value.span, "expected an action"), Ok)
}

/// A key as it is written, for the control plane.
fn written(value: &ast::Expr) -> String {
    match &value.kind {
        Ast::Name(_, name) => name.to_string(),
        Ast::Member(base, member) => format!("{}.{}", written(base), member.name),
        Ast::Index(base, index) => match &index.kind {
            Ast::Number(n) => format!("{}[{}]", written(base), n.value),
            _ => format!("{}[{}]", written(base), written(index)),
        },
        Ast::Call(callee, ..) => match &callee.kind {
            Ast::Member(base, method) if &*method.name == "isValid" => format!("{}.$valid$", written(base)),
            _ => written(callee),
        },
        Ast::Slice(base, high, low) => match (&high.kind, &low.kind) {
            (Ast::Number(h), Ast::Number(l)) => format!("{}[{}:{}]", written(base), h.value, l.value),
            _ => written(base),
        },
        Ast::Binary(crate::ast::BinOp::BitAnd, base, _) => written(base),
        Ast::Cast(_, of) => written(of),
        _ => String::new(),
    }
}
