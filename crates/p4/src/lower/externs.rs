//! Extern functions and objects: those of core.p4, and what the objects of architectures have in
//! common. What they are called in each is in [`super::arch`].

use super::arguments::{Args, Called, arg};
use super::code::LabelId;
use super::place::{Leaf, StorageLocation};
use super::{Lower, Lowered, fault};
use crate::hir::{Expr, ExprKind, FnId, InstId, Type};
use crate::pipeline::{ArrayKind, ArrayMeta};
use frontends::diagnostics::{Diagnostic, Span};
use netil::table::Op;
use num_bigint::BigInt;
use num_traits::ToPrimitive;

/// Bits of a part of a value that stands in a row; what is alone has the width of its local.
fn row_size(leaf: Leaf, parts: usize) -> u16 {
    match leaf {
        Leaf::Bool | Leaf::Valid if parts > 1 => 1,
        other => other.width(),
    }
}

impl Lower<'_> {
    /// Calls an extern function; where its value is.
    pub(super) fn extern_function(&mut self, f: FnId, args: Args<'_>, call: &Expr) -> Lowered<Option<StorageLocation>> {
        let name = self.program.functions[f].name.clone();
        self.inside_graph(&name, call)?;
        match &*name {
            "verify" => self.verify(args, call)?,
            "log_msg" => self.log(args, call)?,
            "assert" | "assume" => self.claim(&name, args, call)?,
            other => match (self.architecture.function)(self, other, args, call)? {
                Called::Unknown => {
                    let declared = self.program.functions[f].span;
                    return self.foreign(call.span, format!("the extern function `{other}` is not one of"), declared);
                }
                Called::Done => {}
                Called::Value(place) => return Ok(Some(place)),
            },
        }
        Ok(None)
    }

    /// `log_msg`: what it says is for those who look.
    fn log(&mut self, args: Args<'_>, call: &Expr) -> Lowered<()> {
        let mut told = Vec::new();
        for value in args.iter().flatten().filter(|a| a.ty != Type::Str) {
            let place = self.held(value)?;
            told.extend(self.scalars("", &place, value.span)?);
        }
        if let Some(ExprKind::Str(text)) = args.first().and_then(Option::as_ref).map(|e| &e.kind) {
            self.mark(crate::marks::MarkKind::Log, text.to_string(), call.span, &told);
        }
        Ok(())
    }

    /// `assert` and `assume`: one that does not hold is told to those who look.
    fn claim(&mut self, name: &str, args: Args<'_>, call: &Expr) -> Lowered<()> {
        let holds = self.held(arg(args, 0, call)?)?;
        if self.marks.is_none() {
            return Ok(());
        }
        let fine = self.code.label();
        self.load_leaf(&holds, 0, Leaf::Bool);
        self.code.branch(Op::JNe, fine);
        let text = format!("{name} does not hold: {}", self.text(arg(args, 0, call)?.span));
        self.mark(crate::marks::MarkKind::Log, text, call.span, &[]);
        self.code.bind(fine);
        Ok(())
    }

    fn verify(&mut self, args: Args<'_>, call: &Expr) -> Lowered<()> {
        let fine = self.code.label();
        let (condition, error) = (self.held(arg(args, 0, call)?)?, self.held(arg(args, 1, call)?)?);
        self.load_leaf(&condition, 0, Leaf::Bool);
        self.code.branch(Op::JNe, fine);
        self.load_leaf(&error, 0, Leaf::Number);
        self.code.set(self.error);
        self.mark_error();
        if let Some(reject) = self.exits.last().copied() {
            self.code.jump(reject);
        }
        self.code.bind(fine);
        Ok(())
    }

    /// Pushes a random number between those of two places, both included.
    pub(super) fn random_between(&mut self, low: &StorageLocation, high: &StorageLocation, leaf: Leaf) {
        self.draws = true;
        let width = leaf.width();
        // low + random mod (high - low + 1), where that is no 0
        let wide = 64.max(width) + 1;
        self.code.op(Op::Rnd);
        self.code.op(Op::Rnd);
        self.code.op2(Op::WConcat, 32, 32);
        self.code.resize(64, wide);
        for (place, op) in [(high, None), (low, Some(Op::WSub))] {
            self.load_leaf(place, 0, leaf);
            self.code.resize(width, wide);
            if let Some(op) = op {
                self.code.w(op, wide);
            }
        }
        self.code.constant(&1.into(), wide);
        self.code.w(Op::WAdd, wide);
        self.operate(crate::ast::BinOp::Mod, wide, false);
        self.code.resize(wide, width);
        self.load_leaf(low, 0, leaf);
        self.code.w(Op::WAdd, width);
    }

    /// A method that is called for its value.
    pub(super) fn method_value(&mut self, object: &Expr, f: FnId, args: Args<'_>, e: &Expr) -> Lowered<()> {
        let name = self.program.functions[f].name.clone();
        match (self.class(object).as_str(), &*name) {
            ("packet_in", "lookahead") => {
                let place = self.new_place(&e.ty, e.span)?;
                self.lookahead(&place, e.span)?;
                let leaf = self.scalar(&place.ty, e.span)?;
                self.load_leaf(&place, 0, leaf);
                Ok(())
            }
            ("packet_in", "length") => {
                self.code.op(Op::Pbl);
                Ok(())
            }
            (class, name) => match self.object_method(object, f, (class, name), args, e)? {
                Some(place) => {
                    let leaf = self.scalar(&place.ty, e.span)?;
                    self.load_leaf(&place, 0, leaf);
                    Ok(())
                }
                None => fault(e.span, "this gives no value"),
            },
        }
    }

    /// A method of one of the architecture's objects; where its value is.
    fn object_method(
        &mut self,
        object: &Expr,
        f: FnId,
        (class, name): (&str, &str),
        args: Args<'_>,
        call: &Expr,
    ) -> Lowered<Option<StorageLocation>> {
        match (self.architecture.method)(self, object, (class, name), args, call)? {
            Called::Unknown => {
                let declared = self.program.functions[f].span;
                self.foreign(call.span, format!("the method `{name}` of the extern {class} is not one of"), declared)
            }
            Called::Done => Ok(None),
            Called::Value(place) => Ok(Some(place)),
        }
    }

    /// Something that only the program's own text declares: there is nothing that does it.
    fn foreign<T>(&self, span: Span, what: String, declared: Span) -> Lowered<T> {
        let architecture = self.architecture.name;
        let wrong = Diagnostic::new(span, format!("{what} {architecture}, and nothing is known that does it"));
        let help = format!(
            "externs are those of core.p4 and {architecture}.p4; what the language can say may be a function, an action or a control"
        );
        Err(Box::new(wrong.note(declared, "declared here, without a body").help(help)))
    }

    pub(super) fn class(&self, object: &Expr) -> String {
        match self.resolve(&object.ty) {
            Type::Extern(id, _) => self.program.type_name(id).to_string(),
            other => self.program.show(&other),
        }
    }

    pub(super) fn method(&mut self, object: &Expr, f: FnId, types: &[Type], args: Args<'_>, call: &Expr) -> Lowered<()> {
        let name = self.program.functions[f].name.clone();
        match (self.class(object).as_str(), &*name) {
            ("packet_in", "extract") => match args.first().and_then(Option::as_ref) {
                Some(header) => self.extract(header, args.get(1).and_then(Option::as_ref)),
                None => {
                    // What is extracted is not wanted.
                    let ty = types.first().cloned().unwrap_or(Type::Void);
                    self.skip(&ty, call)
                }
            },
            ("packet_in", "advance") => self.advance(arg(args, 0, call)?),
            ("packet_in", "lookahead") => {
                let place = self.new_place(types.first().unwrap_or(&Type::Void), call.span)?;
                self.lookahead(&place, call.span)
            }
            ("packet_in", "length") => Ok(()),
            ("packet_out", "emit") => {
                let place = self.place(arg(args, 0, call)?)?;
                self.emit(&place, call.span)
            }
            (class, name) => self.object_method(object, f, (class, name), args, call).map(drop),
        }
    }

    fn skip(&mut self, ty: &Type, call: &Expr) -> Lowered<()> {
        let total: u32 = self.leaves(ty, call.span)?.into_iter().map(Leaf::bits).sum();
        let size = Expr { kind: ExprKind::Int(total.into()), ty: Type::Bit(32), span: call.span };
        self.advance(&size)
    }

    /// The array of a register, counter or meter, made when it is first used.
    pub(super) fn array(&mut self, object: &Expr, kind: ArrayKind, call: &Expr) -> Lowered<ArrayMeta> {
        let Some(path) = self.object_path(object) else { return fault(call.span, "it is not known which object this is") };
        if let Some(at) = self.arrays.get(&path) {
            return Ok(self.array_metas[*at].clone());
        }
        let program = self.program;
        let instance = &program.instances[path[path.len() - 1]];
        let width = match &instance.ty {
            Type::Extern(_, args) if kind == ArrayKind::Register => {
                let Some(ty) = args.first() else { return fault(instance.span, "a register of what?") };
                self.row_width(ty, instance.span)?
            }
            _ => 64,
        };
        let count = match instance.args.first() {
            Some(size) => self.known_number(size)?,
            None => 1,
        };
        let stride = match kind {
            ArrayKind::Register => width.div_ceil(8),
            ArrayKind::Counter => 16,
            ArrayKind::Meter => crate::pipeline::meter::BYTES,
        };
        let Some(bytes) = count.max(1).checked_mul(stride) else { return fault(instance.span, "this is too large") };
        let by_bytes = matches!(instance.args.get(1).map(|a| &a.kind), Some(ExprKind::Int(n)) if n.to_u32() == Some(1));
        let name = self.name_of(&path);
        let meta = ArrayMeta { name, kind, at: self.allot(bytes, instance.span)?, stride, count, width, by_bytes };
        if let (ArrayKind::Register, Some(value)) = (kind, instance.args.get(1)) {
            let value = self.number(value)?;
            if value != BigInt::ZERO && count > 0 {
                self.initial.push((meta.at, stride, count, value));
            }
        }
        self.arrays.insert(path, self.array_metas.len());
        self.array_metas.push(meta.clone());
        Ok(meta)
    }

    pub(super) fn name_of(&self, path: &[InstId]) -> String {
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

    /// Goes to `outside` unless the index is one of the array's; else its cell's address is in a
    /// local.
    pub(super) fn cell(&mut self, meta: &ArrayMeta, index: &Expr, outside: usize) -> Lowered<u32> {
        let local = self.code.new_local(32);
        self.amount(index)?;
        self.code.set(local);
        self.code.get(local);
        self.code.push(meta.count);
        self.code.branch(Op::JCmpGe, outside);
        self.code.get(local);
        self.code.push(meta.stride);
        self.code.op(Op::Mul);
        self.code.push(meta.at);
        self.code.op(Op::Add);
        self.code.set(local);
        Ok(local)
    }

    /// Writes the second argument to the cell that the first one says.
    pub(super) fn register_write(&mut self, object: &Expr, args: Args<'_>, call: &Expr) -> Lowered<()> {
        let meta = self.array(object, ArrayKind::Register, call)?;
        let (bits, end) = ((meta.stride * 8) as u16, self.code.label());
        let value = self.held(arg(args, 1, call)?)?;
        let at = self.cell(&meta, arg(args, 0, call)?, end)?;
        self.at(call.span);
        let is_read = self.writes_array(&meta.name);
        let width = self.load_row(&value, call.span)?;
        self.code.resize(width, bits);
        if !is_read && self.element.is_some() {
            return self.write_unread((at, bits), end);
        }
        self.code.get(at);
        self.code.w(Op::WmStore, bits);
        self.code.bind(end);
        Ok(())
    }

    /// Writes the value on the stack to a cell that no packet has read so far, if it is another
    /// one: who places elements on cores sees by that that the memory is looked at, for the control
    /// plane reads what the last packet wrote.
    fn write_unread(&mut self, (at, bits): (u32, u16), end: LabelId) -> Lowered<()> {
        let value = self.code.new_local(bits);
        self.code.set(value);
        self.code.get(value);
        self.code.get(at);
        self.code.w(Op::WmLoad, bits);
        self.code.w(Op::WEq, bits);
        self.code.branch(Op::JNe, end);
        self.code.get(value);
        self.code.get(at);
        self.code.w(Op::WmStore, bits);
        self.code.bind(end);
        Ok(())
    }

    /// Reads a cell into a place; one outside is 0.
    pub(super) fn register_read(&mut self, object: &Expr, index: &Expr, to: &StorageLocation, call: &Expr) -> Lowered<()> {
        let meta = self.array(object, ArrayKind::Register, call)?;
        let (bits, end) = ((meta.stride * 8) as u16, self.code.label());
        let value = self.code.new_local(bits);
        self.code.constant(&BigInt::ZERO, bits);
        self.code.set(value);
        self.at(call.span);
        self.reads_array(&meta.name);
        let at = self.cell(&meta, index, end)?;
        self.code.get(at);
        self.code.w(Op::WmLoad, bits);
        self.code.set(value);
        self.code.bind(end);
        self.store_row(to, (value, bits), call.span)
    }

    /// Bits of a value whose parts stand in a row, the first one highest.
    fn row_width(&self, ty: &Type, span: Span) -> Lowered<u32> {
        let leaves = self.leaves(ty, span)?;
        let total = leaves.iter().map(|leaf| u32::from(row_size(*leaf, leaves.len()))).sum();
        match total {
            0 => fault(span, "a register of nothing"),
            1..=2048 if !leaves.iter().any(|leaf| matches!(leaf, Leaf::Var(_))) => Ok(total),
            _ => fault(span, "a register has cells of 2,048 bits at most, and none of varying length"),
        }
    }

    /// Pushes a value as one number; its width.
    fn load_row(&mut self, of: &StorageLocation, span: Span) -> Lowered<u16> {
        let (leaves, mut width) = (self.leaves(&of.ty, span)?, 0u16);
        for (n, leaf) in leaves.iter().enumerate() {
            let size = row_size(*leaf, leaves.len());
            self.load_leaf(of, n as u32, *leaf);
            self.code.resize(leaf.width(), size);
            if width > 0 {
                self.code.op2(Op::WConcat, u32::from(width), u32::from(size));
            }
            width += size;
        }
        Ok(width)
    }

    /// Takes a number in a local apart.
    fn store_row(&mut self, to: &StorageLocation, (value, bits): (u32, u16), span: Span) -> Lowered<()> {
        let leaves = self.leaves(&to.ty, span)?;
        let mut high = self.row_width(&to.ty, span)?;
        for (n, leaf) in leaves.iter().enumerate() {
            let size = row_size(*leaf, leaves.len());
            self.code.get(value);
            self.code.op3(Op::WSlice, u32::from(bits), high - 1, high - u32::from(size));
            self.code.resize(size, leaf.width());
            if *leaf == Leaf::Valid {
                self.store_valid_at(to, n as u32)
            } else {
                self.store_leaf(to, n as u32, *leaf)
            }
            high -= u32::from(size);
        }
        Ok(())
    }

    fn store_valid_at(&mut self, to: &StorageLocation, n: u32) {
        if n == 0 { self.store_valid(to) } else { self.store_leaf(to, n, Leaf::Valid) }
    }

    pub(super) fn counter(&mut self, object: &Expr, args: Args<'_>, call: &Expr) -> Lowered<()> {
        let meta = self.array(object, ArrayKind::Counter, call)?;
        let end = self.code.label();
        let at = self.cell(&meta, arg(args, 0, call)?, end)?;
        for bytes in [false, true] {
            let address = |l: &mut Self| {
                l.code.get(at);
                l.code.push(if bytes { 8 } else { 0 });
                l.code.op(Op::Add);
            };
            address(self);
            self.code.w(Op::WmLoad, 64);
            if bytes {
                self.code.get(self.length);
                self.code.resize(32, 64);
            } else {
                self.code.constant(&1.into(), 64);
            }
            self.code.w(Op::WAdd, 64);
            address(self);
            self.code.w(Op::WmStore, 64);
        }
        self.code.bind(end);
        Ok(())
    }
}
