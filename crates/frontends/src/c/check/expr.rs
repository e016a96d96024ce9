//! Expressions: types and conversions (C11, 6.5).

use super::Checker;
use super::convert::{cast, common, promoted, with_article};
use super::place::looks_like_place;
use crate::c::ast::{self, BinaryOp, ExprKind, UnaryOp};
use crate::c::fold::{Nothing, fold};
use crate::c::parse::sign;
use crate::c::tree::{Binary, Compare, Expr, Kind, PlaceExpr, PlaceKind, Update, meaning};
use crate::c::types::{INT, Type, U64};
use crate::diagnostics::Span;

/// What an operator of C is.
enum Class {
    Arithmetic(Binary),
    Compare(Compare),
    Logic(bool),
}

fn class(op: BinaryOp) -> Class {
    match op {
        BinaryOp::Mul => Class::Arithmetic(Binary::Mul),
        BinaryOp::Div => Class::Arithmetic(Binary::Div),
        BinaryOp::Mod => Class::Arithmetic(Binary::Mod),
        BinaryOp::Add => Class::Arithmetic(Binary::Add),
        BinaryOp::Sub => Class::Arithmetic(Binary::Sub),
        BinaryOp::Shl => Class::Arithmetic(Binary::Shl),
        BinaryOp::Shr => Class::Arithmetic(Binary::Shr),
        BinaryOp::And => Class::Arithmetic(Binary::And),
        BinaryOp::Xor => Class::Arithmetic(Binary::Xor),
        BinaryOp::Or => Class::Arithmetic(Binary::Or),
        BinaryOp::Lt => Class::Compare(Compare::Lt),
        BinaryOp::Gt => Class::Compare(Compare::Gt),
        BinaryOp::Le => Class::Compare(Compare::Le),
        BinaryOp::Ge => Class::Compare(Compare::Ge),
        BinaryOp::Eq => Class::Compare(Compare::Eq),
        BinaryOp::Ne => Class::Compare(Compare::Ne),
        BinaryOp::LogicAnd => Class::Logic(true),
        BinaryOp::LogicOr => Class::Logic(false),
    }
}

fn is_bitwise(op: Binary) -> bool {
    matches!(op, Binary::And | Binary::Or | Binary::Xor)
}

impl Checker<'_> {
    /// The value of an expression; constants are put together.
    pub(super) fn expr(&mut self, e: &ast::Expr) -> Expr {
        let checked = self.unfolded(e);
        match (&checked.kind, checked.ty.is_int() || matches!(checked.ty, Type::Be(_))) {
            (Kind::Number(_) | Kind::Error, _) | (_, false) => checked,
            _ => match fold(&checked, &Nothing) {
                Some(value) => Expr { kind: Kind::Number(value), ..checked },
                None => checked,
            },
        }
    }

    fn unfolded(&mut self, e: &ast::Expr) -> Expr {
        let span = e.span;
        match &e.kind {
            _ if looks_like_place(e) => {
                let place = self.place(e);
                self.load(place)
            }
            ExprKind::Number(value, ty) => Expr::number((*value).into(), ty.clone(), span),
            ExprKind::Text(_) => {
                self.fault_help(span, "a string stands only in print(\"...\")", "write the bytes as an array of u8");
                Expr::error(span)
            }
            ExprKind::Unary(op, of) => self.unary(*op, of, span),
            ExprKind::Binary(op, a, b) => self.binary(*op, a, b, span),
            ExprKind::Assign(op, to, value) => self.assign(*op, to, value, span),
            ExprKind::Step { up, after, of } => self.step(*up, *after, of, span),
            ExprKind::Choose(condition, yes, no) => self.choose(condition, yes, no, span),
            ExprKind::Comma(first, second) => {
                let (first, second) = (self.expr(first), self.expr(second));
                let ty = second.ty.clone();
                Expr { kind: Kind::Comma(Box::new(first), Box::new(second)), ty, span }
            }
            ExprKind::Call(callee, args) => self.call(callee, args, span),
            ExprKind::Cast(to, of) => self.cast_to(to, of, span),
            ExprKind::Compound(of, init) => self.compound(of, init, span),
            ExprKind::SizeofType(of) => {
                let ty = self.type_name(of);
                self.size(&ty, span)
            }
            ExprKind::SizeofExpr(of) => {
                let ty = if looks_like_place(of) { self.place(of).ty } else { self.expr(of).ty };
                self.size(&ty, span)
            }
            _ => Expr::error(span),
        }
    }

    fn size(&mut self, ty: &Type, span: Span) -> Expr {
        match ty {
            Type::Error => Expr::error(span),
            Type::Void | Type::Text => {
                self.fault(span, format!("{ty} has no size"));
                Expr::error(span)
            }
            _ => Expr::number(ty.size().into(), U64, span),
        }
    }

    fn unary(&mut self, op: UnaryOp, of: &ast::Expr, span: Span) -> Expr {
        match op {
            UnaryOp::Address => self.address(of, span),
            UnaryOp::Not => {
                let value = self.expr(of);
                let truth = self.truth(value);
                if truth.ty.is_error() { truth } else { Expr { kind: Kind::Not(Box::new(truth)), ty: INT, span } }
            }
            UnaryOp::Complement => {
                let value = self.expr(of);
                let value = if matches!(value.ty, Type::Be(_)) { value } else { self.arithmetic(value, "~") };
                wrap(value, span, Kind::Complement)
            }
            UnaryOp::Minus => {
                let value = self.expr(of);
                let value = self.arithmetic(value, "-");
                wrap(value, span, Kind::Negate)
            }
            _ => {
                let value = self.expr(of);
                self.arithmetic(value, "+")
            }
        }
    }

    fn address(&mut self, of: &ast::Expr, span: Span) -> Expr {
        let place = self.lvalue(of, "pointed to");
        match (&place.ty, &place.kind) {
            (Type::Error, _) => Expr::error(span),
            (_, PlaceKind::Byte(..)) => {
                self.fault(span, "a byte of an address has no place of its own");
                Expr::error(span)
            }
            (Type::Pointer(_), _) => {
                self.fault(span, "there are no pointers to pointers");
                Expr::error(span)
            }
            (ty, _) => {
                let ty = Type::pointer(ty.clone(), self.read_only(&place).is_some());
                Expr { kind: Kind::Address(Box::new(place)), ty, span }
            }
        }
    }

    fn binary(&mut self, op: BinaryOp, a: &ast::Expr, b: &ast::Expr, span: Span) -> Expr {
        let (left, right) = (self.expr(a), self.expr(b));
        match class(op) {
            Class::Logic(and) => {
                let (left, right) = (self.truth(left), self.truth(right));
                if left.ty.is_error() || right.ty.is_error() {
                    return Expr::error(span);
                }
                let sides = (Box::new(left), Box::new(right));
                let kind = if and { Kind::And(sides.0, sides.1) } else { Kind::Or(sides.0, sides.1) };
                Expr { kind, ty: INT, span }
            }
            Class::Compare(compare) => self.compare(compare, op, left, right, span),
            Class::Arithmetic(binary) => self.compute(binary, op, left, right, span),
        }
    }

    /// Two fields in network byte order, or one and a constant that is the same in every order.
    fn fields(&mut self, a: Expr, b: Expr, what: &str) -> Option<(Expr, Expr)> {
        let ty = if matches!(a.ty, Type::Be(_)) { a.ty.clone() } else { b.ty.clone() };
        let (a, b) = (self.convert(a, &ty, what), self.convert(b, &ty, what));
        (!a.ty.is_error() && !b.ty.is_error()).then_some((a, b))
    }

    fn compare(&mut self, compare: Compare, op: BinaryOp, a: Expr, b: Expr, span: Span) -> Expr {
        if a.ty.is_error() || b.ty.is_error() {
            return Expr::error(span);
        }
        let field = matches!(a.ty, Type::Be(_)) || matches!(b.ty, Type::Be(_));
        let equality = matches!(compare, Compare::Eq | Compare::Ne);
        if field && equality {
            let what = format!("the other side of `{}`", sign(op));
            let Some((a, b)) = self.fields(a, b, &what) else { return Expr::error(span) };
            return Expr { kind: Kind::Compare(compare, Box::new(a), Box::new(b)), ty: INT, span };
        }
        if equality && (matches!(a.ty, Type::Pointer(_)) || matches!(b.ty, Type::Pointer(_))) {
            return self.compare_pointer(compare, a, b, span);
        }
        let Some((a, b)) = self.operands(a, b, sign(op)) else { return Expr::error(span) };
        let ty = common(&a.ty, &b.ty);
        Expr { kind: Kind::Compare(compare, Box::new(cast(a, &ty)), Box::new(cast(b, &ty))), ty: INT, span }
    }

    /// Pointers compare with 0.
    fn compare_pointer(&mut self, compare: Compare, a: Expr, b: Expr, span: Span) -> Expr {
        let zero = |e: &Expr| matches!(e.kind, Kind::Number(0));
        let pointer = match (zero(&a), zero(&b)) {
            (false, true) => a,
            (true, false) => b,
            _ => {
                self.fault_help(span, "pointers can only be compared with 0", "compare what they point to, or indices");
                return Expr::error(span);
            }
        };
        let valid = Expr { kind: Kind::Valid(Box::new(pointer)), ty: INT, span };
        if compare == Compare::Ne { valid } else { Expr { kind: Kind::Not(Box::new(valid)), ty: INT, span } }
    }

    /// Both sides of arithmetic. What is wrong with two of one type is told once.
    fn operands(&mut self, a: Expr, b: Expr, sign: &str) -> Option<(Expr, Expr)> {
        if a.ty == b.ty && !a.ty.is_int() {
            let whole = Expr { span: a.span.to(b.span), ..a };
            self.arithmetic(whole, sign);
            return None;
        }
        let (a, b) = (self.arithmetic(a, sign), self.arithmetic(b, sign));
        (!a.ty.is_error() && !b.ty.is_error()).then_some((a, b))
    }

    fn compute(&mut self, binary: Binary, op: BinaryOp, a: Expr, b: Expr, span: Span) -> Expr {
        if a.ty.is_error() || b.ty.is_error() {
            return Expr::error(span);
        }
        if is_bitwise(binary) && (matches!(a.ty, Type::Be(_)) || matches!(b.ty, Type::Be(_))) {
            let what = format!("the other side of `{}`", sign(op));
            let Some((a, b)) = self.fields(a, b, &what) else { return Expr::error(span) };
            let ty = a.ty.clone();
            return Expr { kind: Kind::Binary(binary, Box::new(a), Box::new(b)), ty, span };
        }
        let Some((a, b)) = self.operands(a, b, sign(op)) else { return Expr::error(span) };
        self.computed(binary, a, b, span)
    }

    /// Arithmetic on two promoted integers.
    fn computed(&mut self, binary: Binary, a: Expr, b: Expr, span: Span) -> Expr {
        let shift = matches!(binary, Binary::Shl | Binary::Shr);
        let ty = if shift { a.ty.clone() } else { common(&a.ty, &b.ty) };
        self.right_side(binary, &ty, &b);
        let b = if shift { b } else { cast(b, &ty) };
        Expr { kind: Kind::Binary(binary, Box::new(cast(a, &ty)), Box::new(b)), ty, span }
    }

    /// Constants on the right that can only be mistakes.
    fn right_side(&mut self, binary: Binary, ty: &Type, b: &Expr) {
        let Some(value) = fold(b, &Nothing) else { return };
        let n = meaning(&b.ty, value);
        match binary {
            Binary::Div | Binary::Mod if n == 0 => self.fault(b.span, "division by zero"),
            Binary::Shl | Binary::Shr if !(0..i128::from(ty.width())).contains(&n) => {
                self.fault(b.span, format!("{} has {} bits and cannot be shifted by {n}", with_article(ty), ty.width()));
            }
            _ => {}
        }
    }

    fn assign(&mut self, op: Option<BinaryOp>, to: &ast::Expr, value: &ast::Expr, span: Span) -> Expr {
        let place = self.target(to);
        let value = self.expr(value);
        let Some(op) = op else {
            let what = "what is assigned to";
            if matches!(place.ty, Type::Array(..)) {
                self.fault_help(span, "an array cannot be assigned to", "assign its elements, or put it into a struct");
                return Expr::error(span);
            }
            let value = self.convert(value, &place.ty, what);
            if value.ty.is_error() {
                return Expr::error(span);
            }
            let ty = place.ty.clone();
            return Expr { kind: Kind::Assign(Box::new(place), Box::new(value)), ty, span };
        };
        match class(op) {
            Class::Arithmetic(binary) => self.update(place, binary, op, value, span),
            _ => Expr::error(span),
        }
    }

    fn update(&mut self, place: PlaceExpr, binary: Binary, op: BinaryOp, with: Expr, span: Span) -> Expr {
        let old = Expr { kind: Kind::Load(Box::new(place.clone())), ty: place.ty.clone(), span: place.span };
        let whole = self.compute(binary, op, old, with, span);
        let (Kind::Binary(_, _, with), common) = (whole.kind, whole.ty) else { return Expr::error(span) };
        let ty = place.ty.clone();
        Expr { kind: Kind::Update(Box::new(Update { place, op: binary, with: *with, common, before: false })), ty, span }
    }

    fn step(&mut self, up: bool, after: bool, of: &ast::Expr, span: Span) -> Expr {
        let place = self.target(of);
        let old = Expr { kind: Kind::Load(Box::new(place.clone())), ty: place.ty.clone(), span: place.span };
        let checked = self.arithmetic(old, if up { "++" } else { "--" });
        if checked.ty.is_error() {
            return Expr::error(span);
        }
        let (ty, common) = (place.ty.clone(), promoted(&place.ty));
        let (op, with) = (if up { Binary::Add } else { Binary::Sub }, Expr::number(1, common.clone(), span));
        Expr { kind: Kind::Update(Box::new(Update { place, op, with, common, before: after })), ty, span }
    }

    fn choose(&mut self, condition: &ast::Expr, yes: &ast::Expr, no: &ast::Expr, span: Span) -> Expr {
        let condition = self.expr(condition);
        let condition = self.truth(condition);
        let (yes, no) = (self.expr(yes), self.expr(no));
        if condition.ty.is_error() || yes.ty.is_error() || no.ty.is_error() {
            return Expr::error(span);
        }
        let ty = match (&yes.ty, &no.ty) {
            (a, b) if a.is_int() && b.is_int() => common(a, b),
            (a, b) if a.is_int() && !b.is_int() => b.clone(),
            (a, b) => a.either_pointer(b).unwrap_or_else(|| a.clone()),
        };
        let (yes, no) = (self.convert(yes, &ty, "the other side of `:`"), self.convert(no, &ty, "the other side of `:`"));
        if yes.ty.is_error() || no.ty.is_error() {
            return Expr::error(span);
        }
        Expr { kind: Kind::Choose(Box::new(condition), Box::new(yes), Box::new(no)), ty, span }
    }

    fn cast_to(&mut self, to: &ast::TypeName, of: &ast::Expr, span: Span) -> Expr {
        let ty = self.type_name(to);
        let value = self.expr(of);
        match (&value.ty, &ty) {
            (_, Type::Error) | (Type::Error, _) => Expr::error(span),
            (_, Type::Void) => Expr { kind: Kind::Comma(Box::new(value), Box::new(Expr::number(0, INT, span))), ty: Type::Void, span },
            (from, to) if from.is_int() && to.is_int() && *to != Type::Bool => Expr { span, ..cast(value, to) },
            (from, to) if from.either_pointer(to).is_some() => Expr { ty, span, ..value },
            (Type::Pointer(_), Type::Pointer(_)) => {
                self.fault_help(span, "a pointer cannot become one to another type", "make a view with header(T, offset)");
                Expr::error(span)
            }
            _ => self.convert(value, &ty, "this cast"),
        }
    }

    /// `(struct key) { a, b }`: a hidden variable.
    fn compound(&mut self, of: &ast::TypeName, init: &ast::Init, span: Span) -> Expr {
        let ty = self.type_name(of);
        if self.current.is_none() {
            self.fault(span, "a value in braces stands only in functions");
            return Expr::error(span);
        }
        match &ty {
            Type::Error => Expr::error(span),
            Type::Struct(_) => {
                let parts = self.parts(&ty, init);
                let local = self.new_local("".into(), ty.clone(), span, false);
                Expr { kind: Kind::Compound(local, parts), ty, span }
            }
            Type::Mac | Type::In6 => self.parts(&ty, init).pop().map_or_else(|| Expr::error(span), |(_, _, value)| value),
            _ => {
                self.fault(span, "only a struct or an address has a value in braces");
                Expr::error(span)
            }
        }
    }
}

fn wrap(value: Expr, span: Span, kind: impl FnOnce(Box<Expr>) -> Kind) -> Expr {
    let ty = value.ty.clone();
    if ty.is_error() { value } else { Expr { kind: kind(Box::new(value)), ty, span } }
}
