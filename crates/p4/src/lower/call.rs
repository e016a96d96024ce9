//! Functions, actions, parsers and controls, inlined: arguments in, body, results out.
//!
//! `exit` copies out the parameters of everything that it leaves: each inlined body has a place for
//! it, from which control goes on to that of the body around it.

use super::place::StorageLocation;
use super::{Binding, Frame, Lower, Lowered, fault};
use crate::ast::Dir;
use crate::check::types::Bound;
use crate::hir::{self, Callee, Expr, ExprKind, FnId, FnKind, InstId, Next, ParamInfo, Type};
use crate::marks::MarkKind;
use netil::table::Op;

/// Where a parameter is copied back to.
pub(super) enum Target {
    Place(StorageLocation),
    /// Bits of a number.
    Bits(Expr),
}

/// The deepest calls.
const MAX_CALLS: usize = 64;

impl Lower<'_> {
    /// Binds parameters to copies of arguments; what is to be copied back.
    fn bind(
        &mut self,
        params: &[ParamInfo],
        args: &[Option<Expr>],
        bound: &Bound,
        share: bool,
        call: &Expr,
    ) -> Lowered<Vec<(Target, StorageLocation)>> {
        let mut out = Vec::new();
        let mut bindings = Vec::new();
        let shared: Vec<bool> = (0..params.len()).map(|n| share && self.may_share(params, args, n)).collect();
        for (n, param) in params.iter().enumerate() {
            let arg = args.get(n).and_then(Option::as_ref);
            let ty = self.program.substitute(&param.ty, bound);
            if let Some(binding) = self.object_binding(&ty, arg) {
                bindings.push((param.var, binding));
                continue;
            }
            if let (Type::Integer, Some(arg)) = (&ty, arg) {
                // It is what it is, however large.
                let known = Expr { kind: ExprKind::Int(self.number(arg)?), ..arg.clone() };
                bindings.push((param.var, Binding::Const(known)));
                continue;
            }
            let is_bits = arg.is_some_and(|a| matches!(a.kind, ExprKind::Slice(..) | ExprKind::Part(..)));
            let target = match arg {
                Some(arg) if !is_bits && (crate::check::writes(param.dir) || shared[n]) => Some(self.place(arg)?),
                _ => None,
            };
            if let (true, Some(target)) = (shared[n], &target)
                && target.dims.is_empty()
            {
                if param.dir == Dir::Out {
                    self.clear(target, call.span)?;
                }
                bindings.push((param.var, Binding::Place(target.clone())));
                continue;
            }
            let own = self.new_place(&ty, call.span)?;
            match (param.dir, arg) {
                (Dir::Out, _) | (_, None) => self.clear(&own, call.span)?,
                (Dir::InOut, Some(_)) if target.is_some() => {
                    if let Some(target) = &target {
                        self.copy(&own, target, call.span)?;
                    }
                }
                (_, Some(arg)) => self.eval_into(arg, &own)?,
            }
            match (target, arg) {
                _ if !crate::check::writes(param.dir) => {}
                (Some(target), _) => out.push((Target::Place(target), own.clone())),
                (None, Some(arg)) => out.push((Target::Bits(arg.clone()), own.clone())),
                (None, None) => {}
            }
            bindings.push((param.var, Binding::Place(own)));
        }
        self.bindings.extend(bindings);
        Ok(out)
    }

    /// True where a parameter may be the argument's place itself: no other argument is of the same
    /// variable.
    fn may_share(&self, params: &[ParamInfo], args: &[Option<Expr>], n: usize) -> bool {
        let root = |e: &Option<Expr>| e.as_ref().and_then(root_of);
        let Some(own) = root(&args[n]) else { return false };
        params[n].dir != Dir::None
            && args.iter().enumerate().all(|(m, other)| m == n || root(other) != Some(own) || !overlap(other.as_ref(), args[n].as_ref()))
    }

    fn object_binding(&self, ty: &Type, arg: Option<&Expr>) -> Option<Binding> {
        let Type::Extern(id, _) = ty else {
            return matches!(ty, Type::Arch(..) | Type::Block(_))
                .then(|| arg.and_then(|a| self.object_path(a)).map(Binding::Object))
                .flatten();
        };
        if matches!(&**self.program.type_name(*id), "packet_in" | "packet_out") {
            return Some(Binding::Packet);
        }
        arg.and_then(|a| self.object_path(a)).map(Binding::Object)
    }

    /// Where an instance is in the program.
    pub(super) fn object_path(&self, e: &Expr) -> Option<Vec<InstId>> {
        let inner = |id: InstId| {
            let mut path = if self.program.top.contains(&id) { Vec::new() } else { self.path.clone() };
            path.push(id);
            path
        };
        match &e.kind {
            ExprKind::Instance(id) => Some(inner(*id)),
            ExprKind::Call { callee: Callee::Construct(id), .. } => Some(inner(*id)),
            ExprKind::Var(var) => match self.bindings.get(var) {
                Some(Binding::Object(path)) => Some(path.clone()),
                Some(Binding::Const(value)) => self.object_path(&value.clone()),
                _ => None,
            },
            _ => None,
        }
    }

    fn copy_out(&mut self, out: &[(Target, StorageLocation)], call: &Expr) -> Lowered<()> {
        out.iter().try_for_each(|(to, from)| match to {
            Target::Place(to) => self.copy(to, from, call.span),
            Target::Bits(to) => {
                let leaf = self.scalar(&from.ty, call.span)?;
                self.load_leaf(from, 0, leaf);
                self.store_bits(to)
            }
        })
    }

    /// A body between its parameters: leaves by `return` come out behind it, and so do exits after
    /// they have copied.
    fn around(
        &mut self,
        out: &[(Target, StorageLocation)],
        result: Option<StorageLocation>,
        call: &Expr,
        body: impl FnOnce(&mut Self) -> Lowered<()>,
    ) -> Lowered<()> {
        if self.depth >= MAX_CALLS {
            return fault(call.span, format!("calls are nested more than {MAX_CALLS} deep"));
        }
        let (ret, exit) = (self.code.label(), self.code.label());
        let outer = self.exits.last().copied();
        let own = !out.is_empty() || outer.is_none();
        if own {
            self.exits.push(exit);
        }
        self.frames.push(Frame { ret, result });
        let loops = std::mem::take(&mut self.loops);
        self.depth += 1;
        let done = body(self);
        self.depth -= 1;
        self.loops = loops;
        self.frames.pop();
        if own {
            self.exits.pop();
        }
        done?;
        self.code.bind(ret);
        self.copy_out(out, call)?;
        if own && self.code.is_used(exit) {
            let end = self.code.label();
            self.code.jump(end);
            self.code.bind(exit);
            self.copy_out(out, call)?;
            self.code.jump(outer.unwrap_or(end));
            self.code.bind(end);
        }
        Ok(())
    }

    /// A function or action; where its result is.
    pub(super) fn inline(&mut self, f: FnId, types: &[Type], args: &[Option<Expr>], call: &Expr) -> Lowered<Option<StorageLocation>> {
        let program = self.program;
        let function = &program.functions[f];
        if function.kind == FnKind::Extern {
            let before = self.before_call(f, args)?;
            let value = self.extern_function(f, args, call)?;
            let shown: Vec<Option<Expr>> = args.iter().zip(&before).map(|(arg, kept)| arg.clone().filter(|_| kept.is_none())).collect();
            self.mark_call(&shown, call)?;
            for (arg, kept) in args.iter().zip(before) {
                arg.as_ref().map_or(Ok(()), |arg| self.mark_written(arg, kept))?;
            }
            return Ok(value);
        }
        let types: Vec<Type> = types.iter().map(|t| self.resolve(t)).collect();
        let bound: Bound = function.type_params.iter().copied().zip(types).collect();
        let out = self.bind(&function.params, args, &bound, false, call)?;
        self.inline_bound(f, bound, &out, call)
    }

    /// A function or action with parameters that have their places; where its result is.
    pub(super) fn inline_bound(
        &mut self,
        f: FnId,
        bound: Bound,
        out: &[(Target, StorageLocation)],
        call: &Expr,
    ) -> Lowered<Option<StorageLocation>> {
        let program = self.program;
        let function = &program.functions[f];
        let ty = program.substitute(&function.result, &bound);
        let result = if ty == Type::Void { None } else { Some(self.new_place(&ty, call.span)?) };
        if let Some(result) = &result {
            self.clear(result, call.span)?;
        }
        // Copies back are between places of the caller, whose types are resolved.
        let before = std::mem::replace(&mut self.bound, bound);
        self.inside += usize::from(function.kind == FnKind::Action);
        let done = self.around(out, result.clone(), call, |l| {
            if function.kind == FnKind::Action {
                l.mark_action(f, call.span)?;
            }
            l.stmts(&function.body)
        });
        self.inside -= usize::from(function.kind == FnKind::Action);
        self.bound = before;
        done?;
        Ok(result)
    }

    /// `instance.apply(…)`.
    pub(super) fn apply(&mut self, object: &Expr, args: &[Option<Expr>], call: &Expr) -> Lowered<()> {
        let Some(path) = self.object_path(object) else { return fault(call.span, "it is not known what is applied here") };
        let inst = path[path.len() - 1];
        let Type::Block(block) = self.program.instances[inst].ty else { return fault(call.span, "this cannot be applied") };
        let params = &self.program.blocks[block].params;
        let out = self.bind(params, args, &Bound::new(), true, call)?;
        self.around(&out, None, call, |l| l.block_inner(path, block, inst))
    }

    /// A part of the package: its parameters are bound, and nothing is around it.
    pub(super) fn block_body(&mut self, path: Vec<InstId>, block: usize, inst: InstId) -> Lowered<()> {
        let call = Expr { kind: ExprKind::Default, ty: Type::Void, span: self.program.blocks[block].span };
        self.around(&[], None, &call, |l| l.block_inner(path, block, inst))
    }

    fn block_inner(&mut self, path: Vec<InstId>, id: usize, inst: InstId) -> Lowered<()> {
        let program = self.program;
        let block = &program.blocks[id];
        for (param, arg) in block.ctor.iter().zip(&program.instances[inst].args) {
            let binding = match self.object_path(arg) {
                Some(path) => Binding::Object(path),
                None => match &arg.kind {
                    ExprKind::Var(var) => self.bindings.get(var).cloned().unwrap_or(Binding::Const(arg.clone())),
                    _ => Binding::Const(arg.clone()),
                },
            };
            self.bindings.insert(param.var, binding);
        }
        let before = std::mem::replace(&mut self.path, path);
        let what = if block.is_parser { "parser" } else { "control" };
        self.mark(MarkKind::Enter, format!("{what} {}", block.name), block.span, &[]);
        self.clear_checksums(id)?;
        let done = self.stmts(&block.locals).and_then(|()| if block.is_parser { self.states(id) } else { self.stmts(&block.body) });
        self.path = before;
        done
    }

    fn states(&mut self, id: usize) -> Lowered<()> {
        let block = &self.program.blocks[id];
        let labels: Vec<_> = block.states.iter().map(|_| self.code.label()).collect();
        let (Some(frame), Some(reject)) = (self.frames.last(), self.exits.last()) else { return fault(block.span, "no parser") };
        let (accept, reject) = (frame.ret, *reject);
        let label = |target: hir::Target| match target {
            hir::Target::Accept => accept,
            hir::Target::Reject => reject,
            hir::Target::State(n) => labels[n],
        };
        self.code.jump(labels[block.start]);
        for (n, state) in block.states.iter().enumerate() {
            self.code.bind(labels[n]);
            self.mark(MarkKind::State, &*state.name, state.span, &[]);
            self.stmts(&state.body)?;
            match &state.next {
                Next::To(target) => self.code.jump(label(*target)),
                Next::Select(keys, cases) => {
                    let cases: Vec<_> = cases.iter().map(|(sets, target)| (sets.as_slice(), label(*target))).collect();
                    self.select(keys, &cases)?;
                    self.fail("NoMatch");
                }
            }
        }
        Ok(())
    }

    /// Goes to the first case that holds the keys; on behind it if there is none.
    fn select(&mut self, keys: &[Expr], cases: &[(&[Expr], usize)]) -> Lowered<()> {
        let places: Vec<StorageLocation> = keys.iter().map(|k| self.held(k)).collect::<Lowered<_>>()?;
        for (sets, label) in cases {
            let next = self.code.label();
            if let ([Expr { kind: ExprKind::Var(var), span, .. }], true) = (*sets, places.len() > 1) {
                self.in_value_set(&places.iter().collect::<Vec<_>>(), *var, *span)?;
                self.code.branch(Op::JNe, *label);
                continue;
            }
            for (place, set) in places.iter().zip(*sets) {
                match self.in_set(place, set)? {
                    Some(true) => {}
                    Some(false) => self.code.jump(next),
                    None => self.code.branch(Op::JEq, next),
                }
            }
            self.code.jump(*label);
            self.code.bind(next);
        }
        Ok(())
    }

    /// Pushes whether a place's value is in a set, unless that is known.
    fn in_set(&mut self, place: &StorageLocation, set: &Expr) -> Lowered<Option<bool>> {
        let span = set.span;
        match &set.kind {
            ExprKind::Everything | ExprKind::Default => return Ok(Some(true)),
            ExprKind::Var(var) if matches!(self.program.vars[*var].ty, Type::Set(_)) => {
                self.in_value_set(&[place], *var, span)?;
                return Ok(None);
            }
            ExprKind::Fields(items) => {
                self.code.push(1);
                for (n, item) in items.iter().enumerate() {
                    let member = self.member(place, n, span)?;
                    match self.in_set(&member, item)? {
                        Some(true) => {}
                        Some(false) => {
                            self.code.push(0);
                            self.code.op(Op::And);
                        }
                        None => self.code.op(Op::And),
                    }
                }
                return Ok(None);
            }
            _ => {}
        }
        let leaf = self.scalar(&place.ty, span)?;
        let width = leaf.width();
        let signed = matches!(self.program.underlying(&place.ty), Type::Int(_));
        self.load_leaf(place, 0, leaf);
        match &set.kind {
            ExprKind::Mask(value, mask) => {
                self.value(mask)?;
                self.code.w(Op::WAnd, width);
                self.value(value)?;
                self.value(mask)?;
                self.code.w(Op::WAnd, width);
                self.code.w(Op::WEq, width);
            }
            ExprKind::Range(low, high) => {
                self.value(low)?;
                self.code.w(if signed { Op::WGes } else { Op::WGe }, width);
                self.load_leaf(place, 0, leaf);
                self.value(high)?;
                self.code.w(if signed { Op::WLes } else { Op::WLe }, width);
                self.code.op(Op::And);
            }
            _ => {
                self.value(set)?;
                self.code.w(Op::WEq, width);
            }
        }
        Ok(None)
    }
}

fn root_of(e: &Expr) -> Option<usize> {
    match &e.kind {
        ExprKind::Var(var) => Some(*var),
        ExprKind::Member(of, _) => root_of(of),
        _ => None,
    }
}

/// Whether two members of one variable have something in common.
fn overlap(a: Option<&Expr>, b: Option<&Expr>) -> bool {
    fn path(e: &Expr, out: &mut Vec<usize>) {
        if let ExprKind::Member(of, at) = &e.kind {
            path(of, out);
            out.push(*at);
        }
    }
    let (Some(a), Some(b)) = (a, b) else { return false };
    let (mut x, mut y) = (Vec::new(), Vec::new());
    path(a, &mut x);
    path(b, &mut y);
    x.iter().zip(&y).all(|(x, y)| x == y)
}
