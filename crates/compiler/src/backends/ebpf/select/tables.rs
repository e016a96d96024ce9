//! Tables, by functions of the kernel on maps. An entry is the address of its value, or 0.
//!
//! An entry that has timed out may be there still: it is not found, and begins anew with zeros when it is inserted. Two processors may do so at once.

use super::super::Refused;
use super::super::lir::{Alu, Cond, End, FRAME, Inst, RESULT, Reg, Size, Src};
use super::super::maps::{self, USED};
use super::Select;
use crate::mir::{Def, Func, Helper, Op, Order, Site, Value};
use netil::module::{Table, TableKind};

/// The kernel's functions, by number.
const LOOK_UP: i32 = 1;
const UPDATE: i32 = 2;
const DELETE: i32 = 3;
/// Only what is not there yet.
const NO_EXIST: u64 = 1;

/// Which values are entries of tables.
pub(super) fn entries(func: &Func) -> Vec<bool> {
    let mut entries: Vec<bool> = func
        .values
        .iter()
        .map(|v| matches!(v.def, Def::Op(Op::Helper(Helper::Find(_) | Helper::Peek(_) | Helper::Insert(_), ..))))
        .collect();
    let mut again = entries.contains(&true);
    while std::mem::take(&mut again) {
        let known = entries.clone();
        let mut mark = |v: Value| again |= !std::mem::replace(&mut entries[v.0 as usize], true);
        for block in &func.blocks {
            for v in &block.ops {
                if let Some(Op::Select(_, a, b)) = func.op(*v)
                    && (known[a.0 as usize] || known[b.0 as usize])
                {
                    mark(*v);
                }
            }
            for e in block.end.edges() {
                let pairs = func.block(e.block).params.iter().zip(&e.args);
                pairs.filter(|(_, arg)| known[arg.0 as usize]).for_each(|(param, _)| mark(*param));
            }
        }
    }
    entries
}

impl Select<'_> {
    fn declared(&self, table: u32) -> &Table {
        &self.program.module().tables[table as usize]
    }

    /// Puts a key where the kernel reads it.
    fn key(&mut self, table: u32, key: Value) -> i16 {
        let (kind, bits) = (self.declared(table).kind, self.declared(table).key_bits);
        let size = maps::key_size(self.declared(table)).next_multiple_of(8);
        let end = if self.unit.called { 0 } else { -self.unit.frame.size().cast_signed() };
        let start = end - size.cast_signed();
        let limbs = self.limbs(key);
        if kind != TableKind::Prefix {
            for (i, limb) in (0..).zip(limbs) {
                self.emit(Inst::Store { base: FRAME, offset: (start + 8 * i) as i16, size: Size::B8, src: Src::Reg(limb) });
            }
            return start as i16;
        }
        let bytes = u32::from(bits) / 8;
        self.emit(Inst::Store { base: FRAME, offset: start as i16, size: Size::B4, src: Src::Imm(i32::from(bits)) });
        let most = 1 << bytes.trailing_zeros().min(2);
        for (i, limb) in (0..).zip(limbs) {
            let count = (bytes - 8 * i).min(8);
            let at = start + 4 + (bytes - 8 * i - count).cast_signed();
            self.store_limb((FRAME, at, most), Order::Big, count, limb);
        }
        start as i16
    }

    /// Calls a function on a table and a key.
    fn ask(&mut self, function: i32, map: u32, key: i16) -> Reg {
        self.emit(Inst::Map { dst: Reg(1), map });
        self.copy_to(Reg(2), FRAME);
        self.alu(Alu::Add, true, Reg(2), Src::Imm(key.into()));
        self.emit(Inst::Call { function, args: 2 });
        self.copy(RESULT)
    }

    fn map_of(&self, table: u32, site: Site) -> Result<u32, Refused> {
        let known = self.unit.tables[table as usize].clone();
        known.map_err(|reason| Refused::at(site, reason))
    }

    /// Says how long ago an entry was used, if that is before now.
    fn age(&mut self, used: Reg, now: Reg) -> Reg {
        let (age, some, join) = (self.constant(0), self.code.block(), self.code.block());
        self.branch(Cond::Gt, true, now, Src::Reg(used), some, join);
        self.at = some;
        self.copy_to(age, now);
        self.alu(Alu::Sub, true, age, Src::Reg(used));
        self.ends(End::Jump(join));
        self.at = join;
        age
    }

    /// An entry that is there is used now.
    fn use_now(&mut self, entry: Reg, age: Reg, now: Reg) {
        let (later, join) = (self.code.block(), self.code.block());
        self.branch(Cond::Ne, true, age, Src::Imm(0), later, join);
        self.at = later;
        self.emit(Inst::Store { base: entry, offset: 0, size: Size::B8, src: Src::Reg(now) });
        self.ends(End::Jump(join));
        self.at = join;
    }

    pub fn find(&mut self, table: u32, key: Value, refresh: bool, site: Site) -> Result<Reg, Refused> {
        let map = self.map_of(table, site)?;
        let key = self.key(table, key);
        let found = self.ask(LOOK_UP, map, key);
        let timeout = self.declared(table).timeout_ns;
        if timeout == 0 {
            return Ok(found);
        }
        let (some, live, none, join) = (self.code.block(), self.code.block(), self.code.block(), self.code.block());
        let out = self.code.register();
        self.branch(Cond::Ne, true, found, Src::Imm(0), some, none);
        self.at = some;
        let (used, now) = (self.code.register(), self.time_now());
        self.emit(Inst::Load { dst: used, base: found, offset: 0, size: Size::B8 });
        let age = self.age(used, now);
        let most = self.immediate(timeout, true);
        self.branch(Cond::Lt, true, age, most, live, none);
        self.at = live;
        if refresh {
            self.use_now(found, age, now);
        }
        self.copy_to(out, found);
        self.ends(End::Jump(join));
        self.at = none;
        self.set(out, 0);
        self.ends(End::Jump(join));
        self.at = join;
        Ok(out)
    }

    pub fn insert(&mut self, table: u32, value: Value, site: Site) -> Result<Reg, Refused> {
        let map = self.map_of(table, site)?;
        if self.declared(table).kind != TableKind::Exact {
            return Ok(self.constant(0));
        }
        let key = self.key(table, value);
        let (out, found) = (self.code.register(), self.ask(LOOK_UP, map, key));
        let (some, none, join) = (self.code.block(), self.code.block(), self.code.block());
        self.branch(Cond::Ne, true, found, Src::Imm(0), some, none);
        self.at = some;
        self.renew(table, found);
        self.copy_to(out, found);
        self.ends(End::Jump(join));
        self.at = none;
        self.enter(table, map, key);
        let made = self.ask(LOOK_UP, map, key);
        let made_one = self.code.block();
        self.copy_to(out, made);
        self.branch(Cond::Ne, true, made, Src::Imm(0), made_one, join);
        self.at = made_one;
        if self.declared(table).timeout_ns > 0 {
            let now = self.time_now();
            self.emit(Inst::Store { base: made, offset: 0, size: Size::B8, src: Src::Reg(now) });
        }
        self.ends(End::Jump(join));
        self.at = join;
        Ok(out)
    }

    /// An entry that is inserted again: zeros, if it has timed out.
    fn renew(&mut self, table: u32, entry: Reg) {
        let (timeout, bytes) = (self.declared(table).timeout_ns, self.declared(table).value_bytes);
        if timeout == 0 {
            return;
        }
        let (used, now) = (self.code.register(), self.time_now());
        self.emit(Inst::Load { dst: used, base: entry, offset: 0, size: Size::B8 });
        let age = self.age(used, now);
        let (ended, live) = (self.code.block(), self.code.block());
        let most = self.immediate(timeout, true);
        self.branch(Cond::Ge, true, age, most, ended, live);
        self.at = ended;
        for (size, offset) in super::memory::spread(bytes) {
            self.emit(Inst::Store { base: entry, offset: (USED + offset) as i16, size, src: Src::Imm(0) });
        }
        self.ends(End::Jump(live));
        self.at = live;
        self.use_now(entry, age, now);
    }

    /// Enters a value of zeros, if there is room.
    fn enter(&mut self, table: u32, map: u32, key: i16) {
        let bytes = (self.declared(table).value_bytes.max(1) + USED).next_multiple_of(8);
        let (constants, zeros) = (self.maps.constants(), self.maps.constant(vec![0; bytes as usize]));
        self.emit(Inst::Map { dst: Reg(1), map });
        self.copy_to(Reg(2), FRAME);
        self.alu(Alu::Add, true, Reg(2), Src::Imm(key.into()));
        self.emit(Inst::Address { dst: Reg(3), map: constants, offset: zeros });
        self.set(Reg(4), NO_EXIST);
        self.emit(Inst::Call { function: UPDATE, args: 4 });
    }

    pub fn delete(&mut self, table: u32, value: Value, site: Site) -> Result<Reg, Refused> {
        let map = self.map_of(table, site)?;
        if self.declared(table).kind != TableKind::Exact {
            return Ok(self.constant(0));
        }
        let live = if self.declared(table).timeout_ns > 0 { Some(self.find(table, value, false, site)?) } else { None };
        let was = self.constant(0);
        let (there, gone, join) = (self.code.block(), self.code.block(), self.code.block());
        if let Some(live) = live {
            // Its number is forgotten before the call: the kernel's verifier minds comparisons of what may be gone.
            let yes = self.code.block();
            self.branch(Cond::Ne, true, live, Src::Imm(0), yes, there);
            self.at = yes;
            self.set(was, 1);
            self.ends(End::Jump(there));
        } else {
            self.set(was, 1);
            self.ends(End::Jump(there));
        }
        self.at = there;
        let key = self.key(table, value);
        let failed = self.ask(DELETE, map, key);
        self.branch(Cond::Ne, true, failed, Src::Imm(0), gone, join);
        self.at = gone;
        self.set(was, 0);
        self.ends(End::Jump(join));
        self.at = join;
        Ok(was)
    }

    /// The address of a byte of an entry's value: its register and what is added; traps if there is no entry.
    fn place_in(&mut self, table: u32, at: u32, entry: Value) -> (Reg, i32) {
        let times = u32::from(self.declared(table).timeout_ns > 0) * USED;
        if self.small(entry).is_some() {
            let trap = self.trap();
            self.ends(End::Jump(trap));
            self.at = self.code.block();
            return (self.data, 0);
        }
        let base = self.reg(entry);
        if self.facts.some.insert(base) {
            self.trap_if(Cond::Eq, base, Src::Imm(0));
        }
        (base, (at + times).cast_signed())
    }

    pub fn entry_load(&mut self, table: u32, at: u32, entry: Value, width: u16) -> Vec<Reg> {
        let (base, offset) = self.place_in(table, at, entry);
        let bytes = u32::from(width / 8);
        (0..super::limbs(width) as u32).map(|limb| self.load_limb((base, offset, 8), Order::Little, bytes, limb)).collect()
    }

    pub fn entry_store(&mut self, table: u32, at: u32, value: Value, entry: Value) {
        let (base, offset) = self.place_in(table, at, entry);
        let bytes = u32::from(self.func.width(value) / 8);
        let values = self.limbs(value);
        for (limb, v) in (0..).zip(values) {
            let count = (bytes - 8 * limb).min(8);
            self.store_limb((base, offset + (8 * limb).cast_signed(), 8), Order::Little, count, v);
        }
    }
}
