//! Tables: declarations with a few entries, lookups of few keys so that some hit, and what is done
//! with the entries found.

use super::Builder;
use super::body::Body;
use crate::module::{Control, ControlType, Entry, Inst, Label, Table, TableKind, entry_type};
use crate::table::Op;
use crate::wide::{self, MAX_WIDTH, limbs};

/// Different keys of one table.
const KEYS: u32 = 5;

impl Builder<'_> {
    pub(super) fn tables(&mut self) {
        for i in 0..self.c.below(4) {
            let table = self.table(i);
            self.module.tables.push(table);
        }
        if self.c.chance(1, 4) {
            let sized = ControlType::PLAIN.map(|(ty, _)| ty).into_iter().chain([ControlType::Unsigned(64), ControlType::Signed(16)]);
            let ty = *self.c.pick(&sized.collect::<Vec<_>>());
            let (read, write) = *self.c.pick(&[(true, false), (false, true), (true, true)]);
            self.module.controls.push(Control { name: "count".to_owned(), read, write, ty, at: self.c.below(8), call: false });
            self.module.reasons.push(Label { name: "bad".to_owned(), at: 1 });
        }
    }

    fn table(&mut self, number: u32) -> Table {
        let widths: Vec<u16> =
            [8, 16, 32, 48, 64, 104, 128, 264].into_iter().filter(|bits| *bits <= 2 * self.options.widest.min(MAX_WIDTH / 2)).collect();
        let c = &mut self.c;
        let (kind, _) = *c.pick(&TableKind::ALL);
        let mut table = Table {
            name: format!("t{number}"),
            kind,
            key_bits: *c.pick(&widths),
            value_bytes: *c.pick(&[1, 4, 8, 13, 40]),
            capacity: *c.pick(&[1, 2, 3, 8, 100]),
            timeout_ns: *c.pick(&[0, 0, 1, 1000, 1 << 40]),
            entries: Vec::new(),
        };
        for _ in 0..c.below(4).min(table.capacity) {
            let entry = self.entry(&table);
            if !table.entries.iter().any(|e| (&e.key, &e.mask, e.priority) == (&entry.key, &entry.mask, entry.priority)) {
                table.entries.push(entry);
            }
        }
        table
    }

    fn entry(&mut self, table: &Table) -> Entry {
        let (a, b) = (self.key(table), self.key(table));
        let length = self.c.below(u32::from(table.key_bits) + 1);
        let value = (0..table.value_bytes).map(|_| self.c.byte()).collect();
        let priority = self.c.below(3);
        let (key, mask) = match table.kind {
            TableKind::Exact => return Entry { key: a, mask: Box::default(), priority: 0, value },
            TableKind::Range if wide::compare(&a, &b).is_gt() => (b, a),
            TableKind::Range => (a, b),
            TableKind::Prefix | TableKind::Ternary => {
                let ones = self.mask(table, length);
                (a.iter().zip(&ones).map(|(k, m)| k & m).collect(), ones)
            }
        };
        Entry { key, mask, priority: if table.kind.has_priority() { priority } else { 0 }, value }
    }

    /// The highest bits set; of a ternary table others as well.
    fn mask(&mut self, table: &Table, length: u32) -> Box<[u64]> {
        if table.kind == TableKind::Ternary && self.c.chance(1, 2) {
            return self.c.value(table.key_bits);
        }
        let bits = u32::from(table.key_bits);
        let mut mask = vec![0; limbs(table.key_bits)];
        (bits - length..bits).for_each(|i| mask[i as usize / 64] |= 1 << (i % 64));
        mask.into()
    }

    /// One of few keys.
    fn key(&mut self, table: &Table) -> Box<[u64]> {
        let n = self.c.below(KEYS);
        let mut key = vec![u64::from(n).wrapping_mul(0x0101_0101_0101_0101); limbs(table.key_bits)];
        wide::normalise(table.key_bits, &mut key);
        key.into()
    }
}

impl Body<'_, '_> {
    /// An instruction on a table, with what comes before and after it. No reference to an entry is
    /// left on the stack.
    pub(super) fn table_op(&mut self, op: Op) {
        if self.b.module.tables.is_empty() {
            return self.operands(&[32]);
        }
        let number = self.b.c.below(self.b.module.tables.len() as u32);
        let table = self.b.module.tables[number as usize].clone();
        let changes = matches!(op, Op::TInsert | Op::TDelete);
        match op {
            Op::TNone => self.op(Inst::with(op, number), 0, &[entry_type(number)]),
            _ => {
                let key = self.b.key(&table);
                self.wide_constant(table.key_bits, key);
                let lookups = [Op::TFind, Op::TPeek, Op::TInsert, Op::TInsert, Op::TDelete];
                let op = if lookups.contains(&op) { op } else { *self.b.c.pick(&lookups) };
                let op = if table.kind.is_of_programs() { op } else { *self.b.c.pick(&lookups[..2]) };
                if op == Op::TDelete {
                    return self.op(Inst::with(op, number), 1, &[32]);
                }
                self.op(Inst::with(op, number), 1, &[entry_type(number)]);
            }
        }
        if !changes && self.b.c.chance(1, 3) {
            self.through_local(number);
        }
        self.use_entry(number, table.value_bytes);
    }

    /// An instruction of a walk over a table that programs change, mostly one that has begun.
    pub(super) fn walk_op(&mut self, op: Op) {
        let theirs = |(_, table): &(usize, &Table)| table.kind.is_of_programs();
        let tables: Vec<(u32, u16)> =
            self.b.module.tables.iter().enumerate().filter(theirs).map(|(n, table)| (n as u32, table.key_bits)).collect();
        if tables.is_empty() {
            return self.operands(&[32]);
        }
        let (table, key_bits) = *self.b.c.pick(&tables);
        let timer = self.b.c.below(crate::event::TIMERS as u32);
        match op {
            Op::TNext | Op::TKey => {
                let before: [&[Op]; 4] = [&[Op::TWalk], &[Op::TWalk, Op::TNext], &[Op::TNext], &[]];
                for before in *self.b.c.pick(&before) {
                    self.op(Inst::with(*before, table), 0, &[32]);
                    self.op(Inst::new(Op::Pop), 1, &[]);
                }
                self.op(Inst::with(op, table), 0, &[if op == Op::TKey { key_bits } else { 32 }]);
            }
            Op::TDeadline => self.op(Inst::with(op, table), 0, &[64]),
            Op::TDue => self.op(Inst::with2(op, table, timer), 0, &[32]),
            _ => self.op(Inst::with(op, table), 0, &[32]),
        }
    }

    /// Puts the entry on top of the stack into a local and back.
    fn through_local(&mut self, table: u32) {
        let local = self.locals.len();
        self.locals.push(entry_type(table));
        self.written.push(false);
        self.counters.push(local);
        self.op(Inst::with(Op::LocStore, local as u32), 1, &[]);
        self.op(Inst::with(Op::LocLoad, local as u32), 0, &[entry_type(table)]);
    }

    /// Stores to and loads from the entry on top of the stack, mostly only if there is one; leaves
    /// whether there is.
    fn use_entry(&mut self, table: u32, value_bytes: u32) {
        let ty = entry_type(table);
        let guarded = self.b.c.chance(7, 8);
        let written = self.written.clone();
        let mut skip = None;
        if guarded {
            self.op(Inst::new(Op::Dup), 0, &[ty]);
            self.op(Inst::with(Op::TValid, table), 1, &[32]);
            self.op(Inst::new(Op::JEq), 1, &[]);
            skip = Some(self.code.len() - 1);
        }
        let width = 8 * (1 + self.b.c.below(value_bytes.min(40))) as u16;
        let at = self.b.c.below(value_bytes - u32::from(width / 8) + 1);
        let place = |op| Inst { imm: [table, width.into(), at], ..Inst::new(op) };
        if self.b.c.chance(1, 2) {
            self.op(Inst::new(Op::Dup), 0, &[ty]);
            self.constant(width);
            self.op(Inst::new(Op::Swap), 2, &[width, ty]);
            self.op(place(Op::TStore), 2, &[]);
        }
        if self.b.c.chance(2, 3) {
            self.op(Inst::new(Op::Dup), 0, &[ty]);
            self.op(place(Op::TLoad), 1, &[width]);
            self.consume();
        }
        if let Some(branch) = skip {
            self.land(branch);
            self.written = written;
        }
        self.op(Inst::with(Op::TValid, table), 1, &[32]);
    }
}
