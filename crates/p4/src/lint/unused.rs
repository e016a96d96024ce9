//! Tables that their control never applies, and actions that no table has and nothing calls.
//! `@noWarn("unused")` keeps an action quiet.
//!
//! Left out: controls and parsers that nothing applies, and what is in them.

use crate::ast::Notes;
use crate::hir::{BlockId, Callee, Expr, ExprKind, FnId, FnKind, InstId, Program, Type};
use crate::uses::Uses;
use frontends::diagnostics::Diagnostic;
use std::collections::HashSet;

pub(super) fn warnings(program: &Program) -> Vec<Diagnostic> {
    let mut all = Vec::new();
    let mut called: HashSet<FnId> = program.tables.iter().flat_map(|t| &t.actions).map(|a| a.action).collect();
    let bodies: Vec<Uses> = (0..program.blocks.len()).map(|block| uses(program, block)).collect();
    for function in &program.functions {
        let mut inner = Uses::default();
        inner.stmts(&function.body);
        called.extend(inner.functions.iter().map(|f| f.0));
    }
    called.extend(bodies.iter().flat_map(|uses| uses.functions.iter().map(|f| f.0)));
    for block in live(program) {
        for table in program.blocks[block].tables.iter().filter(|table| !bodies[block].tables.contains(table)) {
            let table = &program.tables[*table];
            let warning = Diagnostic::new(table.span, format!("the table `{}` is never applied", table.public.0));
            all.push(warning);
        }
    }
    for (n, function) in program.functions.iter().enumerate() {
        if function.kind == FnKind::Action && !called.contains(&n) && !is_quiet(&function.notes) {
            let warning = Diagnostic::new(function.span, format!("the action `{}` is never used", function.name));
            all.push(warning.help("no table has it, and nothing calls it"));
        }
    }
    all
}

fn is_quiet(notes: &Notes) -> bool {
    let unused =
        |note: &crate::ast::Annotation| note.args.iter().any(|arg| matches!(&arg.kind, crate::ast::ExprKind::Str(s) if &**s == "unused"));
    notes.iter().any(|note| &*note.name == "noWarn" && unused(note))
}

fn uses(program: &Program, block: BlockId) -> Uses {
    let (block, mut uses) = (&program.blocks[block], Uses::default());
    uses.stmts(&block.locals);
    uses.stmts(&block.body);
    for state in &block.states {
        uses.stmts(&state.body);
        if let crate::hir::Next::Select(keys, _) = &state.next {
            keys.iter().for_each(|key| uses.expr(key));
        }
    }
    for table in &block.tables {
        program.tables[*table].keys.iter().for_each(|key| uses.expr(&key.value));
    }
    uses
}

/// Parsers and controls that the program is made of.
fn live(program: &Program) -> Vec<BlockId> {
    let (mut found, mut left) = (Vec::new(), program.top.clone());
    let mut seen: HashSet<InstId> = left.iter().copied().collect();
    while let Some(inst) = left.pop() {
        let instance = &program.instances[inst];
        let mut inner: Vec<InstId> = instance.args.iter().filter_map(made).collect();
        if let Type::Block(block) = instance.ty {
            if !found.contains(&block) {
                found.push(block);
            }
            inner.extend(&program.blocks[block].instances);
            inner.extend(uses(program, block).blocks.iter().filter_map(made));
        }
        left.extend(inner.into_iter().filter(|inst| seen.insert(*inst)));
    }
    found.sort_unstable();
    found
}

/// The instance that an expression makes or names.
fn made(e: &Expr) -> Option<InstId> {
    match &e.kind {
        ExprKind::Instance(inst) | ExprKind::Call { callee: Callee::Construct(inst), .. } => Some(*inst),
        _ => None,
    }
}
