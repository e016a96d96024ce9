//! Marks of a program that is compiled for tracing, see [`crate::marks`]. Without tracing nothing
//! here writes code.

use super::place::{Leaf, StorageLocation};
use super::{Binding, Lower, Lowered};
use crate::ast::{Aggregate, Dir};
use crate::hir::{Expr, ExprKind, FnId, Type};
use crate::marks::{Mark, MarkKind, RECORD};
use frontends::diagnostics::Span;
use netil::table::Op;

/// The most scalars that one mark tells.
const MOST: usize = 256;
/// The most marks.
const MARKS: usize = u16::MAX as usize;

/// A scalar that a mark tells: its name, and where it is.
pub(super) type Told = (String, StorageLocation, u32, Leaf);

impl Lower<'_> {
    /// What a span covers, in one line.
    pub(super) fn text(&self, span: Span) -> String {
        self.sources.text(span).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Writes a mark.
    pub(super) fn mark(&mut self, kind: MarkKind, name: impl Into<String>, span: Span, told: &[Told]) {
        let Some(marks) = &mut self.marks else { return };
        if marks.all.len() >= MARKS {
            return;
        }
        let (file, line, column) = self.sources.place(span.start);
        let values: Vec<(String, u32)> = told.iter().map(|(name, _, _, leaf)| (name.clone(), super::sets::bits(*leaf))).collect();
        let bytes = 2 + values.iter().map(|(_, w)| w.div_ceil(8)).sum::<u32>();
        let (number, at) = (marks.all.len(), marks.at);
        marks.all.push(Mark { kind, name: name.into(), file: file.to_owned(), line, column, values });
        let (here, full) = (self.code.temp(32), self.code.label());
        self.code.push(at);
        self.code.w(Op::WmLoad, 32);
        self.code.set(here);
        self.code.get(here);
        self.code.push(RECORD - bytes);
        self.code.branch(Op::JCmpGe, full);
        self.code.constant(&number.into(), 16);
        self.record(here, at + 4, 16);
        let mut offset = at + 4 + 2;
        for (_, place, n, leaf) in told {
            let width = super::sets::bits(*leaf).next_multiple_of(8);
            self.load_leaf(place, *n, *leaf);
            self.code.resize(leaf.width(), width as u16);
            self.record(here, offset, width as u16);
            offset += width / 8;
        }
        self.code.get(here);
        self.code.push(bytes);
        self.code.op(Op::Add);
        self.code.push(at);
        self.code.w(Op::WmStore, 32);
        self.code.bind(full);
        self.code.release(here);
    }

    /// Stores what is on the stack behind what the record has.
    fn record(&mut self, here: u32, at: u32, width: u16) {
        self.code.get(here);
        self.code.push(at);
        self.code.op(Op::Add);
        self.code.w(Op::WmStore, width);
    }

    /// The scalars of a place with their names.
    pub(super) fn scalars(&self, name: &str, place: &StorageLocation, span: Span) -> Lowered<Vec<Told>> {
        let mut names = Vec::new();
        self.leaf_names(&place.ty, name.to_owned(), span, &mut names)?;
        let leaves = self.leaves(&place.ty, span)?;
        let told = (0u32..).zip(names).zip(leaves).map(|((n, name), leaf)| (name, place.clone(), n, leaf));
        Ok(told.filter(|(_, _, _, leaf)| *leaf != Leaf::Next).take(MOST).collect())
    }

    fn leaf_names(&self, ty: &Type, name: String, span: Span, out: &mut Vec<String>) -> Lowered<()> {
        let ty = self.resolve(ty);
        match self.program.underlying(&ty) {
            Type::Struct(id, args) => {
                if self.program.aggregate(&ty) == Some(Aggregate::Header) {
                    out.push(format!("{name}.$valid$"));
                }
                self.program.fields(id, &args).iter().try_for_each(|f| self.leaf_names(&f.ty, format!("{name}.{}", f.name), span, out))
            }
            Type::Stack(of, n) => {
                (0..n).try_for_each(|k| self.leaf_names(&of, format!("{name}[{k}]"), span, out))?;
                out.push(format!("{name}.$next$"));
                Ok(())
            }
            Type::Tuple(items) => {
                (0..).zip(items.iter()).try_for_each(|(n, t): (u32, _)| self.leaf_names(t, format!("{name}.f{n}"), span, out))
            }
            Type::Varbit(_) => {
                out.extend([name.clone(), format!("{name}.$length$")]);
                Ok(())
            }
            _ => {
                out.extend(self.leaves(&ty, span)?.iter().map(|_| name.clone()));
                Ok(())
            }
        }
    }

    /// A header that was extracted.
    pub(super) fn mark_extract(&mut self, to: &StorageLocation, span: Span) -> Lowered<()> {
        if self.marks.is_none() {
            return Ok(());
        }
        let name = self.text(span);
        let mut told = self.scalars(&name, to, span)?;
        told.retain(|(_, _, _, leaf)| *leaf != Leaf::Valid);
        self.mark(MarkKind::Extract, name, span, &told);
        Ok(())
    }

    /// A copy of a place that will be written to, for [`Self::mark_written`].
    pub(super) fn before(&mut self, left: &Expr) -> Lowered<Option<StorageLocation>> {
        if self.marks.is_none() || !plain(left) {
            return Ok(None);
        }
        let place = self.place(left)?;
        let kept = self.new_place(&place.ty, left.span)?;
        self.copy(&kept, &place, left.span)?;
        Ok(Some(kept))
    }

    /// Copies of structures that an extern may change: of these only what changed is told.
    pub(super) fn before_call(&mut self, f: FnId, args: &[Option<Expr>]) -> Lowered<Vec<Option<StorageLocation>>> {
        let program = self.program;
        let params = program.functions[f].params.iter().map(|param| param.dir == Dir::InOut);
        let kept = |(arg, changes): (&Option<Expr>, bool)| match arg {
            Some(arg) if changes && program.aggregate(&self.resolve(&arg.ty)) == Some(Aggregate::Struct) => self.before(arg),
            _ => Ok(None),
        };
        args.iter().zip(params).map(kept).collect()
    }

    /// A place that was written to, with what it was before.
    pub(super) fn mark_written(&mut self, left: &Expr, before: Option<StorageLocation>) -> Lowered<()> {
        let Some(before) = before else { return Ok(()) };
        let (name, place) = (self.text(left.span), self.place(left)?);
        let mut told = self.scalars(&name, &before, left.span)?;
        let after = self.scalars(&name, &place, left.span)?;
        told.truncate(MOST / 2);
        let parts = told.len();
        told.extend(after.into_iter().take(parts));
        self.mark(MarkKind::Assign, name, left.span, &told);
        Ok(())
    }

    /// A call of an extern or of a method: what its arguments are now.
    pub(super) fn mark_call(&mut self, args: &[Option<Expr>], call: &Expr) -> Lowered<()> {
        if self.marks.is_none() {
            return Ok(());
        }
        let mut told = Vec::new();
        for arg in args.iter().flatten().filter(|a| plain(a)) {
            let Ok(place) = self.place(arg) else { continue };
            told.extend(self.scalars(&self.text(arg.span), &place, arg.span).unwrap_or_default());
        }
        told.truncate(16);
        self.mark(MarkKind::Call, self.text(call.span), call.span, &told);
        Ok(())
    }

    /// An action begins; its parameters have their places.
    pub(super) fn mark_action(&mut self, f: FnId, span: Span) -> Lowered<()> {
        if self.marks.is_none() {
            return Ok(());
        }
        let program = self.program;
        let function = &program.functions[f];
        let mut told = Vec::new();
        for param in &function.params {
            if let Some(Binding::Place(place)) = self.bindings.get(&param.var).cloned() {
                told.extend(self.scalars(&param.name, &place, span)?);
            }
        }
        let name = if self.is_local(f) { self.whole_name(&function.public) } else { function.public.0.to_string() };
        self.mark(MarkKind::Action, name, function.span, &told);
        Ok(())
    }

    /// A table is asked.
    pub(super) fn mark_table(&mut self, meta: usize, keys: &[StorageLocation], span: Span) -> Lowered<()> {
        if self.marks.is_none() {
            return Ok(());
        }
        let info = self.metas[meta].clone();
        let mut told = Vec::new();
        for (key, place) in info.keys.iter().zip(keys) {
            told.extend(self.scalars(&key.name, place, span)?);
        }
        self.mark(MarkKind::Table(meta), info.name, span, &told);
        Ok(())
    }
}

/// True for what can be looked at again without doing anything.
fn plain(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Var(_) => true,
        ExprKind::Member(of, _) => plain(of),
        ExprKind::Index(of, index) => plain(of) && matches!(index.kind, ExprKind::Int(_)),
        _ => false,
    }
}
