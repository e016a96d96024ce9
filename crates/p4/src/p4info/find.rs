//! What a program shows to its control plane: the tables that are applied, their actions, objects,
//! digests and value sets, with whole names, found from the parts of the package.

use crate::hir::{Block, Callee, Expr, ExprKind, FnId, FnKind, Function, InstId, Next, Program, TableId, Type, TypeId, TypeInfo, VarId};
use crate::uses::Uses;
use frontends::diagnostics::{Diagnostic, Span};
use std::collections::{BTreeMap, HashMap, HashSet};

/// A table in an instance of its control.
pub(super) struct FoundTable {
    pub id: TableId,
    path: Vec<InstId>,
    pub name: String,
    /// Names of its actions, in their order.
    pub actions: Vec<String>,
    /// Its objects: property, instance, and the name.
    pub objects: Vec<(String, InstId, String)>,
}

/// An instance of an extern.
pub(super) struct FoundObject {
    pub inst: InstId,
    pub name: String,
    /// Its arguments that are numbers, with what constructor parameters stand for.
    pub args: Vec<Expr>,
}

/// All that was found.
#[derive(Default)]
pub(super) struct Found {
    pub tables: Vec<FoundTable>,
    pub actions: BTreeMap<String, FnId>,
    /// Names of actions that tables have; those that are only called have all their arguments.
    pub in_tables: HashSet<String>,
    pub objects: Vec<FoundObject>,
    pub sets: Vec<(VarId, String)>,
    pub digests: Vec<Type>,
    /// A function of the architecture is called.
    pub calls_externs: bool,
    /// Names that would stand for two things.
    pub clashes: Vec<Diagnostic>,
}

/// Names by which the control plane could mean one thing or another. Two actions that take the same
/// may have one name, as in p4c's translations of P4-14 programs, but not in one table.
///
/// Source: P4-16 specification 1.2.5, sections 18.3 and 20.3 (each name refers to one controllable
/// entity). Left out: names of counters, meters and registers.
pub(crate) fn clashes(program: &Program) -> Vec<Diagnostic> {
    let mut all = program.main().map(|main| find(program, main).clashes).unwrap_or_default();
    all.sort_by_key(|clash| clash.span.start);
    all.dedup_by_key(|clash| clash.span);
    all
}

fn clash(what: &str, name: &str, at: Span, other: Span) -> Diagnostic {
    let wrong = Diagnostic::new(at, format!("the control plane would know two {what} as `{name}`"));
    if at == other {
        return wrong.help("a name that begins with a dot is the same in each instance of the control: leave the dot out");
    }
    wrong.note(other, "the other one").help("give one of them another name: `@name(\"...\")`")
}

pub(super) struct Finder<'a> {
    program: &'a Program,
    path: Vec<InstId>,
    bound: HashMap<VarId, Expr>,
    /// Paths of objects that stand for parameters.
    objects: HashMap<VarId, Vec<InstId>>,
    seen: HashSet<Vec<InstId>>,
    found: Found,
}

/// All that the program shows.
pub(super) fn find(program: &Program, main: &crate::hir::Instance) -> Found {
    let mut finder =
        Finder { program, path: Vec::new(), bound: HashMap::new(), objects: HashMap::new(), seen: HashSet::new(), found: Found::default() };
    for arg in &main.args {
        finder.package_part(arg);
    }
    for id in &program.top {
        finder.object(*id);
    }
    finder.found
}

impl Finder<'_> {
    /// An argument of a package: a part, or another package.
    fn package_part(&mut self, arg: &Expr) {
        let (ExprKind::Call { callee: Callee::Construct(inst), .. } | ExprKind::Instance(inst)) = arg.kind else { return };
        let program = self.program;
        match program.instances[inst].ty {
            Type::Arch(..) => program.instances[inst].args.iter().for_each(|arg| self.package_part(arg)),
            Type::Block(block) => self.block(vec![inst], block, inst),
            _ => {}
        }
    }

    fn name_of(&self, path: &[InstId]) -> String {
        let mut name = String::new();
        for (n, id) in path.iter().enumerate() {
            let public = &self.program.instances[*id].public;
            if public.1 {
                name.clear();
            } else if n > 0 {
                name.push('.');
            }
            name.push_str(&public.0);
        }
        name
    }

    fn whole_name(&self, public: &(crate::lexer::Name, bool)) -> String {
        if public.1 || self.path.is_empty() { public.0.to_string() } else { format!("{}.{}", self.name_of(&self.path), public.0) }
    }

    fn object_path(&self, e: &Expr) -> Option<Vec<InstId>> {
        let (ExprKind::Instance(id) | ExprKind::Call { callee: Callee::Construct(id), .. }) = e.kind else {
            let ExprKind::Var(var) = e.kind else { return None };
            return self.objects.get(&var).cloned();
        };
        let mut path = if self.program.top.contains(&id) { Vec::new() } else { self.path.clone() };
        path.push(id);
        Some(path)
    }

    fn block(&mut self, path: Vec<InstId>, block: usize, inst: InstId) {
        if !self.seen.insert(path.clone()) || path.len() > 64 {
            return;
        }
        let program = self.program;
        let info = &program.blocks[block];
        for (param, arg) in info.ctor.iter().zip(&program.instances[inst].args) {
            match self.object_path(arg) {
                Some(path) => drop(self.objects.insert(param.var, path)),
                None => {
                    let value = self.value(arg);
                    self.bound.insert(param.var, value);
                }
            }
        }
        let before = std::mem::replace(&mut self.path, path);
        self.inside(info);
        self.path = before;
    }

    /// An argument, or what it stands for.
    fn value(&self, arg: &Expr) -> Expr {
        match &arg.kind {
            ExprKind::Var(var) => self.bound.get(var).cloned().unwrap_or_else(|| arg.clone()),
            ExprKind::Cast(of) => Expr { kind: self.value(of).kind, ..arg.clone() },
            _ => arg.clone(),
        }
    }

    fn inside(&mut self, block: &Block) {
        let mut uses = Uses::default();
        uses.stmts(&block.locals);
        uses.stmts(&block.body);
        for state in &block.states {
            uses.stmts(&state.body);
            if let Next::Select(keys, cases) = &state.next {
                keys.iter().chain(cases.iter().flat_map(|(sets, _)| sets)).for_each(|e| uses.expr(e));
            }
        }
        block.instances.iter().for_each(|id| self.object(*id));
        let mut next = 0;
        while let Some(table) = uses.tables.get(next).copied() {
            next += 1;
            // A key may apply another table.
            self.program.tables[table].keys.iter().for_each(|key| uses.expr(&key.value));
            self.table(table);
            uses.functions.extend(self.program.tables[table].actions.iter().map(|a| (a.action, None)));
        }
        self.sets(block);
        let digests = self.calls(&mut uses, block.is_parser);
        for call in &uses.blocks {
            if let Some(path) = self.object_path(call)
                && let Some(inst) = path.last().copied()
                && let Type::Block(block) = self.program.instances[inst].ty
            {
                self.block(path, block, inst);
            }
        }
        for ty in digests {
            if !self.found.digests.contains(&ty) {
                self.found.digests.push(ty);
            }
        }
    }

    /// Follows calls: actions that a control calls become known, those that other actions call are
    /// parts of these. Types of what is told to the controller.
    fn calls(&mut self, uses: &mut Uses, in_parser: bool) -> Vec<Type> {
        let (program, mut done, mut out) = (self.program, HashSet::new(), Vec::new());
        for (f, _) in uses.functions.iter().filter(|(f, _)| program.functions[*f].kind == FnKind::Action) {
            self.action(*f);
        }
        while let Some((f, last)) = uses.functions.pop() {
            let function = &program.functions[f];
            if function.kind == FnKind::Extern {
                self.found.calls_externs |= !in_parser;
                out.extend(last.filter(|_| &*function.name == "digest"));
                continue;
            }
            if done.insert(f) {
                uses.stmts(&function.body);
            }
        }
        out
    }

    fn action_name(&self, f: FnId) -> String {
        let function = &self.program.functions[f];
        if function.in_block { self.whole_name(&function.public) } else { function.public.0.to_string() }
    }

    /// The name of an action, which is known from now on.
    fn action(&mut self, f: FnId) -> String {
        let name = self.action_name(f);
        let known = *self.found.actions.entry(name.clone()).or_insert(f);
        let (one, other) = (&self.program.functions[f], &self.program.functions[known]);
        let takes = |function: &'_ Function| function.params.iter().map(|p| (p.dir, p.ty.clone())).collect::<Vec<_>>();
        if known != f && takes(one) != takes(other) {
            self.found.clashes.push(clash("actions", &name, one.span, other.span));
        }
        name
    }

    fn sets(&mut self, block: &Block) {
        for var in block.sets.iter().copied() {
            let name = self.whole_name(&self.program.sets[&var].0);
            self.found.sets.push((var, name));
        }
    }

    fn object(&mut self, id: InstId) {
        let program = self.program;
        let instance = &program.instances[id];
        if !matches!(instance.ty, Type::Extern(..)) {
            return;
        }
        let name = self.whole_name(&instance.public);
        let args = instance.args.iter().map(|a| self.value(a)).collect();
        self.found.objects.push(FoundObject { inst: id, name, args });
    }

    fn table(&mut self, id: TableId) {
        let program = self.program;
        let table = &program.tables[id];
        let name = self.whole_name(&table.public);
        if let Some(known) = self.found.tables.iter().find(|t| t.name == name) {
            // Parts of a package that nobody named have the names of their controls.
            let twice = known.id != id || table.public.1 && known.path != self.path;
            if twice && super::notes::find(&table.notes, "hidden").is_none() {
                let other = program.tables[known.id].span;
                self.found.clashes.push(clash("tables", &name, table.span, other));
            }
            return;
        }
        let mut actions = Vec::new();
        for action in &table.actions {
            let name = self.action(action.action);
            if let Some(at) = actions.iter().position(|other| *other == name) {
                let (one, other) = (&program.functions[action.action], &program.functions[table.actions[at].action]);
                self.found.clashes.push(clash("actions", &name, one.span, other.span));
            }
            self.found.in_tables.insert(name.clone());
            actions.push(name);
        }
        let mut objects = Vec::new();
        for (property, object) in &table.objects {
            let Some(path) = self.object_path(object) else { continue };
            let Some(inst) = path.last().copied() else { continue };
            let name = self.name_of(&path);
            if matches!(object.kind, ExprKind::Call { .. }) {
                let args = program.instances[inst].args.iter().map(|a| self.value(a)).collect();
                self.found.objects.push(FoundObject { inst, name: name.clone(), args });
            }
            objects.push((property.to_string(), inst, name));
        }
        self.found.tables.push(FoundTable { id, path: self.path.clone(), name, actions, objects });
    }
}

/// The extern's name and its type arguments.
pub(super) fn class(program: &Program, inst: InstId) -> (&str, &[Type]) {
    match &program.instances[inst].ty {
        Type::Extern(id, args) => (program.type_name(*id), args),
        _ => ("", &[]),
    }
}

/// The name of a member of an enumeration.
pub(super) fn member(program: &Program, e: &Expr) -> Option<String> {
    let (Type::Enum(id), ExprKind::Int(n)) = (&e.ty, &e.kind) else { return None };
    let at = usize::try_from(n).ok()?;
    match &program.types[*id] {
        TypeInfo::Enum { members, .. } => members.get(at).map(ToString::to_string),
        _ => None,
    }
}

/// The headers that go to the controller or come from it.
pub(super) fn headers(program: &Program) -> Vec<TypeId> {
    let mut all: Vec<TypeId> = program
        .type_notes
        .iter()
        .filter(|(_, notes)| super::notes::find(notes, "controller_header").is_some())
        .map(|(id, _)| *id)
        .collect();
    all.sort_unstable();
    all
}
