//! `packet_in` and `packet_out`: headers from the packet's bytes to leaves and back.
//!
//! Fields that do not end at a byte's end are loaded with those behind them as one number. Headers
//! are whole bytes, as BMv2 wants it.

use super::arch::Parts;
use super::place::{Leaf, StorageLocation};
use super::{Lower, Lowered, OUT, fault};
use crate::ast::Aggregate;
use crate::hir::{Callee, Expr, ExprKind, Stmt, StmtKind, Type};
use frontends::diagnostics::Span;
use netil::table::Op;
use num_bigint::BigInt;

/// Where values lie whose bytes are needed in a row.
pub(super) const SCRATCH_AT: u32 = OUT;

/// Leaves with their numbers, the bits that they take in a packet together.
type Group = (Vec<(u32, Leaf)>, u32);

/// Where headers go that are emitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Emitting {
    /// Into data memory, one behind the other.
    #[default]
    Memory,
    /// Nowhere: their length is wanted.
    Length,
    /// Into the packet.
    Packet,
}

impl Lower<'_> {
    /// Signals an error to the parser.
    pub(super) fn fail(&mut self, error: &str) {
        let number = self.program.errors.iter().position(|e| **e == *error).unwrap_or(0);
        self.code.push(number as u32);
        self.code.set(self.error);
        self.mark_error();
        if let Some(reject) = self.exits.last() {
            self.code.jump(*reject);
        }
    }

    /// Tells the parser's error.
    pub(super) fn mark_error(&mut self) {
        let place = StorageLocation { base: self.error, dims: Vec::new(), ty: Type::Error, siblings: [].into() };
        self.mark(crate::marks::MarkKind::Error, "error", self.now, &[("error".to_owned(), place, 0, Leaf::Number)]);
    }

    /// Unless the value on the stack is 0, signals that error.
    fn fail_if(&mut self, error: &str) {
        let fine = self.code.label();
        let depth = self.code.depth;
        self.code.branch(Op::JEq, fine);
        self.fail(error);
        self.code.bind(fine);
        self.code.depth = depth - 1;
    }

    /// An index of a stack's element outside of it is an error of the parser.
    pub(super) fn stack_bounds(&mut self, of: &StorageLocation, index: u32) {
        let Type::Stack(_, size) = of.ty else { return };
        self.code.get(index);
        self.code.push(size);
        self.code.w(Op::WGe, 32);
        self.fail_if("StackOutOfBounds");
    }

    /// Checks that so many bytes (on the stack) are there, behind the cursor.
    fn need(&mut self) {
        let temp = self.code.temp(32);
        self.code.set(temp);
        self.code.op(Op::Pbl);
        self.code.get(self.cursor);
        self.code.op(Op::Sub);
        self.code.get(temp);
        self.code.w(Op::WLt, 32);
        self.code.release(temp);
        self.fail_if("PacketTooShort");
    }

    /// Groups of leaves that begin and end with bytes; a `varbit` is a group of its own, of no
    /// bits.
    pub(super) fn groups(&self, ty: &Type, span: Span) -> Lowered<Vec<Group>> {
        let mut groups: Vec<Group> = Vec::new();
        let mut open = false;
        for (n, leaf) in (0u32..).zip(self.leaves(ty, span)?) {
            if matches!(leaf, Leaf::Valid | Leaf::Number | Leaf::Next) {
                continue;
            }
            if !open {
                groups.push((Vec::new(), 0));
            }
            let Some(group) = groups.last_mut() else { continue };
            if matches!(leaf, Leaf::Var(_)) && open {
                return fault(span, "a varbit field begins with a byte");
            }
            group.0.push((n, leaf));
            group.1 += leaf.bits();
            open = !group.1.is_multiple_of(8);
            if group.1 > u32::from(netil::wide::MAX_WIDTH) {
                return fault(span, "fields that do not begin with a byte are too many");
            }
        }
        if open { fault(span, "the size of this header is no multiple of 8 bits") } else { Ok(groups) }
    }

    /// Loads the group's bytes at a position (on the stack).
    fn load_group(&mut self, to: &StorageLocation, group: &Group) {
        let width = group.1 as u16;
        self.code.w(Op::WpLoad, width);
        self.split(to, group);
    }

    /// A number into its parts.
    fn split(&mut self, to: &StorageLocation, group: &Group) {
        let width = group.1 as u16;
        if let [(n, leaf)] = group.0.as_slice() {
            if *leaf == Leaf::Bool {
                self.code.resize(width, 32);
            } else {
                self.code.resize(width, leaf.width());
            }
            return self.store_leaf(to, *n, *leaf);
        }
        let temp = self.code.temp(width);
        self.code.set(temp);
        let mut high = group.1;
        for (n, leaf) in &group.0 {
            let size = leaf.bits();
            self.code.get(temp);
            self.code.op3(Op::WSlice, u32::from(width), high - 1, high - size);
            if *leaf == Leaf::Bool {
                self.code.resize(1, 32);
            }
            self.store_leaf(to, *n, *leaf);
            high -= size;
        }
        self.code.release(temp);
    }

    /// `extract`, with the bits of the `varbit` field if there is one.
    pub(super) fn extract(&mut self, header: &Expr, size: Option<&Expr>) -> Lowered<()> {
        let span = header.span;
        let mut stack = header;
        // A member of the next union of a stack.
        while let crate::hir::ExprKind::Member(of, _) = &stack.kind {
            stack = of;
        }
        let next = match &stack.kind {
            crate::hir::ExprKind::Next(of) => Some(self.place(of)?),
            _ => None,
        };
        let to = self.place(header)?;
        let groups = self.groups(&to.ty, span)?;
        let fixed: u32 = groups.iter().map(|g| g.1 / 8).sum();
        let varying = match size {
            Some(size) => Some(self.varying(&groups, size, span)?),
            None => None,
        };
        self.code.push(fixed);
        if let Some(bytes) = varying {
            self.code.get(bytes);
            self.code.op(Op::Add);
        }
        self.need();
        if let Some(bytes) = varying {
            self.fits(&groups, bytes);
        }
        for group in &groups {
            if let [(n, Leaf::Var(width))] = group.0.as_slice() {
                self.load_varying(&to, *n, *width, varying);
                continue;
            }
            self.code.get(self.cursor);
            self.load_group(&to, group);
            self.advance_by(group.1 / 8);
        }
        self.code.push(1);
        self.store_valid(&to);
        if let Some(stack) = next {
            let at = self.next_index(&stack, span)?;
            self.load_leaf(&stack, at, Leaf::Next);
            self.code.op(Op::Inc1);
            self.store_leaf(&stack, at, Leaf::Next);
        }
        self.mark_extract(&to, span)
    }

    fn advance_by(&mut self, bytes: u32) {
        self.code.get(self.cursor);
        self.code.push(bytes);
        self.code.op(Op::Add);
        self.code.set(self.cursor);
    }

    /// The bytes of a `varbit` field, in a local; half bytes are an error.
    fn varying(&mut self, groups: &[Group], size: &Expr, span: Span) -> Lowered<u32> {
        if most_varying(groups).is_none() {
            return fault(span, "this header has no varbit field");
        }
        let local = self.code.new_local(32);
        self.amount(size)?;
        self.code.set(local);
        self.code.get(local);
        self.code.push(7);
        self.code.op(Op::And);
        self.fail_if("ParserInvalidArgument");
        self.code.get(local);
        self.code.push(3);
        self.code.op(Op::UShr);
        self.code.set(local);
        Ok(local)
    }

    /// More bytes than a `varbit` field has are an error, if the packet has them.
    fn fits(&mut self, groups: &[Group], bytes: u32) {
        self.code.get(bytes);
        self.code.push(most_varying(groups).unwrap_or(0) / 8);
        self.code.w(Op::WGt, 32);
        self.fail_if("HeaderTooShort");
    }

    fn load_varying(&mut self, to: &StorageLocation, n: u32, width: u16, bytes: Option<u32>) {
        let length = |l: &mut Self| match bytes {
            Some(local) => l.code.get(local),
            None => l.code.push(0),
        };
        self.code.constant(&BigInt::ZERO, width);
        self.code.push(SCRATCH_AT);
        self.code.w(Op::WmStore, width);
        self.code.get(self.cursor);
        self.code.push(SCRATCH_AT);
        length(self);
        self.code.op(Op::PdCopy);
        self.code.push(SCRATCH_AT);
        self.code.w(Op::WmLoad, width);
        self.code.w(Op::WBswap, width);
        self.store_leaf(to, n, Leaf::Var(width));
        length(self);
        self.code.push(3);
        self.code.op(Op::Shl);
        self.store_leaf(to, n + 1, Leaf::Number);
        self.code.get(self.cursor);
        length(self);
        self.code.op(Op::Add);
        self.code.set(self.cursor);
    }

    pub(super) fn lookahead(&mut self, to: &StorageLocation, span: Span) -> Lowered<()> {
        let mut leaves: Vec<(u32, Leaf)> = (0..).zip(self.leaves(&to.ty, span)?).collect();
        for (n, leaf) in &leaves {
            // Headers in what is looked at are valid, and stacks begin.
            if let Leaf::Valid | Leaf::Next = leaf {
                self.code.push(u32::from(*leaf == Leaf::Valid));
                self.store_leaf(to, *n, *leaf);
            }
        }
        leaves.retain(|(_, l)| l.bits() > 0);
        let total: u32 = leaves.iter().map(|(_, l)| l.bits()).sum();
        let whole = total.next_multiple_of(8);
        if total == 0 || whole > u32::from(netil::wide::MAX_WIDTH) {
            return fault(span, format!("a lookahead of {total} bits is not supported"));
        }
        self.code.push(whole / 8);
        self.need();
        self.code.get(self.cursor);
        self.code.w(Op::WpLoad, whole as u16);
        if whole > total {
            self.code.op3(Op::WSlice, whole, whole - 1, whole - total);
        }
        self.split(to, &(leaves, total));
        Ok(())
    }

    pub(super) fn advance(&mut self, size: &Expr) -> Lowered<()> {
        let local = self.code.new_local(32);
        self.amount(size)?;
        self.code.set(local);
        self.code.get(local);
        self.code.push(7);
        self.code.op(Op::And);
        self.fail_if("ParserInvalidArgument");
        self.code.get(local);
        self.code.push(3);
        self.code.op(Op::UShr);
        self.code.set(local);
        self.code.get(local);
        self.need();
        self.code.get(self.cursor);
        self.code.get(local);
        self.code.op(Op::Add);
        self.code.set(self.cursor);
        Ok(())
    }

    /// `emit` of a header or of all headers in a value.
    pub(super) fn emit(&mut self, place: &StorageLocation, span: Span) -> Lowered<()> {
        match (self.program.aggregate(&place.ty), place.ty.clone()) {
            (Some(Aggregate::Header), _) => self.emit_header(place, span),
            (_, Type::Struct(id, args)) => {
                for n in 0..self.program.fields(id, &args).len() {
                    let member = self.member(place, n, span)?;
                    if matches!(member.ty, Type::Struct(..) | Type::Stack(..)) {
                        self.emit(&member, span)?;
                    }
                }
                Ok(())
            }
            (_, Type::Tuple(items)) => (0..items.len()).try_for_each(|n| {
                let member = self.member(place, n, span)?;
                self.emit(&member, span)
            }),
            (_, Type::Stack(_, size)) => (0..size).try_for_each(|n| {
                let element = self.element(place, n, span)?;
                self.emit(&element, span)
            }),
            _ => fault(span, format!("{} cannot be emitted", self.program.show(&place.ty))),
        }
    }

    fn emit_header(&mut self, place: &StorageLocation, span: Span) -> Lowered<()> {
        let groups = self.groups(&place.ty, span)?;
        let none = self.code.label();
        self.load_leaf(place, 0, Leaf::Valid);
        self.code.branch(Op::JEq, none);
        if self.marks.is_some() {
            let mut told = self.scalars("", place, span)?;
            told.retain(|(_, _, _, leaf)| *leaf != Leaf::Valid);
            told.iter_mut().for_each(|t| t.0 = t.0.trim_start_matches('.').to_owned());
            self.mark(crate::marks::MarkKind::Emit, self.program.show(&place.ty), span, &told);
        }
        match self.emitting {
            Emitting::Memory => self.emit_to_memory(place, &groups),
            Emitting::Length => self.count_out(groups.iter().map(|group| group.1 / 8).sum()),
            Emitting::Packet => self.emit_to_packet(place, &groups),
        }
        self.code.bind(none);
        Ok(())
    }

    fn emit_to_memory(&mut self, place: &StorageLocation, groups: &[Group]) {
        for group in groups {
            if let [(n, Leaf::Var(width))] = group.0.as_slice() {
                self.load_leaf(place, *n, Leaf::Var(*width));
                self.put_out(*width);
                self.code.get(self.out_len);
                self.load_leaf(place, n + 1, Leaf::Number);
                self.code.push(3);
                self.code.op(Op::UShr);
                self.code.op(Op::Add);
                self.code.set(self.out_len);
                continue;
            }
            let width = self.join(place, group);
            self.put_out(width);
            self.count_out(group.1 / 8);
        }
    }

    /// Stores a header of a constant size behind those that have been stored in the packet.
    fn emit_to_packet(&mut self, place: &StorageLocation, groups: &[Group]) {
        let mut at = 0;
        for group in groups {
            let width = self.join(place, group);
            self.code.get(self.out_len);
            self.code.push(at);
            self.code.op(Op::Add);
            self.code.w(Op::WpStore, width);
            at += group.1 / 8;
        }
        self.count_out(at);
    }

    fn count_out(&mut self, bytes: u32) {
        self.code.get(self.out_len);
        self.code.push(bytes);
        self.code.op(Op::Add);
        self.code.set(self.out_len);
    }

    /// Runs the deparser and puts what it emits in front of the payload.
    ///
    /// A deparser that does nothing but emit headers of constant sizes runs twice: for their
    /// length, and to store them where they go. Others collect headers in data memory, since what
    /// they do may depend on what they did.
    pub(super) fn deparse(&mut self, parts: &Parts, part: usize, places: &[Option<&StorageLocation>]) -> Lowered<()> {
        if self.marks.is_some() || !self.only_emits(parts.blocks[part].1) {
            self.run_block(parts, part, places)?;
            self.put_emitted();
            return Ok(());
        }
        self.emitting = Emitting::Length;
        self.run_block(parts, part, places)?;
        self.code.get(self.out_len);
        self.code.op(Op::PktPush);
        self.code.push(0);
        self.code.set(self.out_len);
        self.emitting = Emitting::Packet;
        self.run_block(parts, part, places)?;
        self.emitting = Emitting::Memory;
        Ok(())
    }

    /// Whether all that a control does is to emit headers without `varbit` fields.
    fn only_emits(&self, block: usize) -> bool {
        let block = &self.program.blocks[block];
        let constant = |arg: &Expr| self.leaves(&arg.ty, arg.span).is_ok_and(|all| all.iter().all(|leaf| !matches!(leaf, Leaf::Var(_))));
        let emits = |stmt: &Stmt| match &stmt.kind {
            StmtKind::Call(Expr { kind: ExprKind::Call { callee: Callee::Method(_, function), args, .. }, .. }) => {
                &*self.program.functions[*function].name == "emit" && args.iter().flatten().all(constant)
            }
            _ => false,
        };
        block.locals.is_empty() && block.body.iter().all(emits)
    }

    /// Stores a number behind what is there to go out.
    fn put_out(&mut self, width: u16) {
        if width > 8 {
            self.code.w(Op::WBswap, width);
        }
        self.code.get(self.out_len);
        self.code.w(Op::WmStore, width);
    }

    /// The parts of a group as one number.
    pub(super) fn join(&mut self, place: &StorageLocation, group: &(Vec<(u32, Leaf)>, u32)) -> u16 {
        let mut width = 0;
        for (n, leaf) in &group.0 {
            self.load_leaf(place, *n, *leaf);
            let size = leaf.bits() as u16;
            if *leaf == Leaf::Bool {
                self.code.resize(32, 1);
            }
            if width > 0 {
                self.code.op2(Op::WConcat, u32::from(width), u32::from(size));
            }
            width += size;
        }
        width
    }
}

/// The bits that the `varbit` field of a header has at most.
fn most_varying(groups: &[Group]) -> Option<u32> {
    groups.iter().find_map(|g| if let [(_, Leaf::Var(w))] = g.0.as_slice() { Some(u32::from(*w)) } else { None })
}
