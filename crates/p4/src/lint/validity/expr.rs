//! Expressions: what they read, what they call, and which ways a condition lets through.

use super::Walk;
use super::report::Header;
use super::state::{Ways, joined};
use crate::ast::{BinOp, UnOp};
use crate::hir::{Builtin, Callee, Expr, ExprKind, FnId, FnKind, Type};
use crate::lint::cover::Set;
use num_bigint::BigInt;

impl Walk<'_> {
    /// Reads a value.
    pub(super) fn read(&mut self, e: &Expr, ways: &mut Ways) {
        match &e.kind {
            ExprKind::Member(of, _) => {
                if self.is_header(&of.ty) {
                    self.field_is_read(of, e.span, ways);
                }
                self.read(of, ways);
            }
            ExprKind::Slice(a, ..) | ExprKind::Cast(a) | ExprKind::Next(a) | ExprKind::Last(a) | ExprKind::LastIndex(a) => {
                self.read(a, ways)
            }
            ExprKind::Unary(UnOp::Not, _) | ExprKind::Binary(BinOp::And | BinOp::Or, ..) | ExprKind::Hit(..) => {
                let (mut holds, not) = self.condition(e, std::mem::take(ways));
                holds.extend(not);
                *ways = joined(holds);
            }
            ExprKind::Unary(_, a) => self.read(a, ways),
            ExprKind::Ternary(condition, yes, no) => {
                let (mut holds, mut not) = self.condition(condition, std::mem::take(ways));
                self.read(yes, &mut holds);
                self.read(no, &mut not);
                holds.extend(not);
                *ways = joined(holds);
            }
            ExprKind::Index(a, b) | ExprKind::Part(a, b) | ExprKind::Binary(_, a, b) | ExprKind::Mask(a, b) | ExprKind::Range(a, b) => {
                self.read(a, ways);
                self.read(b, ways);
            }
            ExprKind::Fields(all) => all.iter().for_each(|item| self.read(item, ways)),
            ExprKind::Call { callee, args, .. } => self.call(callee, args, ways),
            _ => {}
        }
    }

    /// A field of a header is read: tells it where the header may be invalid, and takes it for
    /// valid behind that.
    fn field_is_read(&mut self, header: &Expr, span: frontends::diagnostics::Span, ways: &mut Ways) {
        let Some(place) = self.place(header) else { return };
        if self.known_to_keys.contains(&place) {
            return;
        }
        let id = self.header(&place);
        let all = ways.len();
        let without: Vec<_> = ways.iter().filter(|way| !way.is_valid(id)).collect();
        let always = without.len() == all;
        if without.is_empty() || self.unsure && !always {
            self.reports.fine(span);
            return;
        }
        let header = Header { id, name: self.name(header), parsed: self.parsed.contains(&place[0]) };
        self.reports.add(span, header, always, without[0].step.as_ref());
        ways.iter_mut().for_each(|way| way.set_valid(id, true));
    }

    /// A place as it is written.
    fn name(&self, e: &Expr) -> String {
        match &e.kind {
            ExprKind::Var(var) => self.program.vars[*var].name.to_string(),
            ExprKind::Member(of, n) => {
                let field = match &of.ty {
                    Type::Struct(id, args) => self.program.fields(*id, args).get(*n).map(|f| f.name.to_string()),
                    _ => None,
                };
                format!("{}.{}", self.name(of), field.unwrap_or_default())
            }
            _ => String::new(),
        }
    }

    fn call(&mut self, callee: &Callee, args: &[Option<Expr>], ways: &mut Ways) {
        match callee {
            Callee::Builtin(Builtin::SetValid, object) => self.set_valid(object, true, ways),
            Callee::Builtin(Builtin::SetInvalid, object) => self.set_valid(object, false, ways),
            Callee::Builtin(..) | Callee::Construct(_) | Callee::Block(_) => {}
            Callee::Table(table) => *ways = self.table(*table, std::mem::take(ways)).all(),
            Callee::Function(f) if self.program.functions[*f].kind == FnKind::Extern => self.extern_function(*f, args, ways),
            Callee::Function(f) => {
                let program = self.program;
                self.bind(&program.functions[*f].params, args, ways);
                *ways = self.body(*f, std::mem::take(ways));
            }
            Callee::Method(_, f) => self.method(*f, args, ways),
        }
    }

    fn extern_function(&mut self, f: FnId, args: &[Option<Expr>], ways: &mut Ways) {
        let name = self.program.functions[f].name.clone();
        let first = args.first().and_then(Option::as_ref);
        match (&*name, first) {
            // What follows is done only if this holds.
            ("verify" | "assert" | "assume", Some(condition)) => *ways = self.condition(condition, std::mem::take(ways)).0,
            (name, Some(condition)) if name.starts_with("verify_checksum") || name.starts_with("update_checksum") => {
                let (mut holds, not) = self.condition(condition, std::mem::take(ways));
                self.arguments(f, &args[1..], 1, &mut holds);
                holds.extend(not);
                *ways = joined(holds);
            }
            _ => self.arguments(f, args, 0, ways),
        }
    }

    /// Reads what an extern is given, and forgets what it writes.
    fn arguments(&mut self, f: FnId, args: &[Option<Expr>], from: usize, ways: &mut Ways) {
        let program = self.program;
        let params = program.functions[f].params.iter().skip(from);
        for (param, arg) in params.zip(args).filter_map(|(param, arg)| Some((param, arg.as_ref()?))) {
            match crate::check::writes(param.dir) {
                false => self.read(arg, ways),
                true => {
                    if let Some(place) = self.place(arg) {
                        ways.iter_mut().for_each(|way| way.forget(&place, &self.zero));
                    }
                }
            }
        }
    }

    fn method(&mut self, f: FnId, args: &[Option<Expr>], ways: &mut Ways) {
        let name = self.program.functions[f].name.clone();
        match (&*name, args.first().and_then(Option::as_ref)) {
            ("extract", Some(header)) => {
                args[1..].iter().flatten().for_each(|size| self.read(size, ways));
                self.set_valid(header, true, ways);
            }
            // Invalid headers are left out.
            ("emit", _) => {}
            _ => self.arguments(f, args, 0, ways),
        }
    }

    /// The ways on which a condition holds, and those on which it does not.
    pub(super) fn condition(&mut self, e: &Expr, mut ways: Ways) -> (Ways, Ways) {
        if !self.goes_on(&ways) {
            return (Vec::new(), Vec::new());
        }
        match &e.kind {
            ExprKind::Bool(true) => (ways, Vec::new()),
            ExprKind::Bool(false) => (Vec::new(), ways),
            ExprKind::Unary(UnOp::Not, of) => {
                let (holds, not) = self.condition(of, ways);
                (not, holds)
            }
            ExprKind::Binary(BinOp::And, a, b) => {
                let (holds, mut not) = self.condition(a, ways);
                let (holds, other) = self.condition(b, holds);
                not.extend(other);
                (holds, joined(not))
            }
            ExprKind::Binary(BinOp::Or, a, b) => {
                let (mut holds, not) = self.condition(a, ways);
                let (other, not) = self.condition(b, not);
                holds.extend(other);
                (joined(holds), not)
            }
            ExprKind::Binary(op @ (BinOp::Eq | BinOp::Ne), a, b) => {
                [a, b].into_iter().for_each(|e| self.read(e, &mut ways));
                let (value, set) = if matches!(a.kind, ExprKind::Int(_) | ExprKind::Bool(_)) { (b, a) } else { (a, b) };
                let (equal, other) = self.matching(std::slice::from_ref(&**value), std::slice::from_ref(&**set), ways);
                if *op == BinOp::Eq { (equal, other) } else { (other, equal) }
            }
            ExprKind::Hit(table, wanted) => {
                let applied = self.table(*table, ways);
                if *wanted { (applied.hit, applied.miss) } else { (applied.miss, applied.hit) }
            }
            ExprKind::Call { callee: Callee::Builtin(Builtin::IsValid, object), .. } => self.by_validity(object, ways),
            _ => {
                self.read(e, &mut ways);
                let yes = Expr { kind: ExprKind::Bool(true), ty: Type::Bool, span: e.span };
                self.matching(std::slice::from_ref(e), &[yes], ways)
            }
        }
    }

    fn by_validity(&mut self, object: &Expr, ways: Ways) -> (Ways, Ways) {
        let Some(place) = self.place(object) else { return (ways.clone(), ways) };
        let mut headers = Vec::new();
        self.headers_in(&object.ty, place, &mut headers);
        let ids: Vec<u32> = headers.iter().map(|place| self.header(place)).collect();
        ways.into_iter().partition(|way| ids.iter().any(|id| way.is_valid(*id)))
    }

    /// The ways on which values may be in sets, and those on which they may not.
    pub(super) fn matching(&mut self, keys: &[Expr], sets: &[Expr], ways: Ways) -> (Ways, Ways) {
        let all = match sets {
            [one] if keys.len() > 1 => matches!(Set::of(one), Some(Set::Any)),
            _ => sets.iter().all(|set| Set::of(set) == Some(Set::Any)),
        };
        if all {
            return (ways, Vec::new());
        }
        let sets = if sets.len() == keys.len() { sets } else { &[] };
        let some = |set: &Expr| Set::of(set) != Some(Set::Any);
        let pairs: Vec<_> = keys.iter().zip(sets).filter(|(_, set)| some(set)).map(|(key, set)| self.plain(key).zip(value(set))).collect();
        let (mut matched, mut rest) = (Vec::new(), Vec::new());
        for way in ways {
            let known: Vec<Option<bool>> =
                pairs.iter().map(|pair| pair.as_ref().and_then(|(place, value)| way.has(place, value, &self.zero))).collect();
            let open: Vec<_> = pairs.iter().zip(&known).filter(|(_, known)| known.is_none()).map(|(pair, _)| pair).collect();
            let fails = known.contains(&Some(false));
            if !fails {
                let mut yes = way.clone();
                open.iter().copied().flatten().for_each(|(place, value)| yes.learn(place, value, true, &self.zero));
                matched.push(yes);
            }
            if fails || !open.is_empty() || sets.is_empty() {
                let mut no = way;
                // One key that is not known is the reason.
                if let ([Some((place, value))], false) = (&open[..], fails) {
                    no.learn(place, value, false, &self.zero);
                }
                rest.push(no);
            }
        }
        (matched, rest)
    }

    /// The place of a scalar of which facts are kept.
    fn plain(&self, e: &Expr) -> Option<super::FieldPath> {
        self.place(e).filter(|_| !matches!(e.ty, Type::Struct(..) | Type::Stack(..) | Type::Tuple(_)))
    }
}

/// The one value of a set, if it has only one.
fn value(set: &Expr) -> Option<BigInt> {
    match Set::of(set)? {
        Set::Range(low, high) if low == high => Some(low),
        _ => None,
    }
}
