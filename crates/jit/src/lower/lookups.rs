//! Lookups of fused handlers in tables whose layout ([`netil::layout`]) is known, and where their
//! entries' values lie: in place, up to where the runtime must be asked.
//!
//! In an exact table two slots are looked at, which is where most keys are; in a prefix table all
//! levels. Long prefixes and ternary tables are left to the runtime.

use super::{Lower, ValueStorage, args, trusted};
use crate::JitError;
use crate::frame;
use crate::frame::parts;
use compiler::cluster::{Access, access};
use compiler::mir::{self, Helper, Order};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, types};
use netil::exec::TrapKind;
use netil::layout::{self, EPOCH, FREE, GROUP, head, trie};
use netil::module::Table;

/// A lookup: its result, what it is, the table, the key, its place in the program.
#[derive(Clone, Copy)]
struct Lookup {
    result: mir::Value,
    helper: Helper,
    table: u32,
    key: mir::Value,
    site: u32,
    /// Takes the number of the entry.
    on: ir::Block,
    /// Asks the runtime.
    away: ir::Block,
}

impl Lower<'_> {
    /// Work with operands of any width: lookups, and a packet's time, in place; the rest by the
    /// runtime.
    pub(super) fn wide_in_line(&mut self, v: mir::Value, helper: Helper, operands: &[mir::Value], site: u32) -> Result<(), JitError> {
        match helper {
            _ if self.fusion.is_none() => self.wide_helper(v, helper, operands, site),
            Helper::SetTime => {
                let time = self.reg(operands[0]);
                self.set_field(frame::TIME_NS, time);
                Ok(())
            }
            Helper::Find(table) | Helper::Peek(table) | Helper::Insert(table) => self.look_up(v, (helper, table), operands, site),
            _ => self.wide_helper(v, helper, operands, site),
        }
    }

    fn look_up(&mut self, v: mir::Value, (helper, table): (Helper, u32), operands: &[mir::Value], site: u32) -> Result<(), JitError> {
        if self.fetch(v, table, operands[0]) {
            return Ok(());
        }
        let declaration = &self.module.tables[table as usize];
        let Some(access @ (Access::Exact | Access::Prefix(_))) = access(declaration) else {
            return self.wide_helper(v, helper, operands, site);
        };
        let (on, away) = (self.b.create_block(), self.b.create_block());
        let result = self.b.append_block_param(on, types::I32);
        let lookup = Lookup { result: v, helper, table, key: operands[0], site, on, away };
        let head = self.part_of(table, parts::HEAD);
        self.unless(head, away);
        match access {
            Access::Prefix(root_bits) if helper_reads(helper) => self.prefix(lookup, head, u32::from(declaration.key_bits) - root_bits),
            Access::Exact => self.exact(lookup, head, declaration),
            _ => _ = self.b.ins().jump(away, &[]),
        }
        self.b.switch_to_block(away);
        self.b.set_cold_block(away);
        self.wide_helper(lookup.result, helper, operands, lookup.site)?;
        let entry = self.reg(v);
        self.b.ins().jump(on, &args(&[entry]));
        self.b.switch_to_block(on);
        self.places[v.0 as usize] = ValueStorage::Reg(result);
        Ok(())
    }

    /// Goes away if a number is 0.
    fn unless(&mut self, number: ir::Value, away: ir::Block) {
        let next = self.b.create_block();
        self.b.ins().brif(number, next, &[], away, &[]);
        self.b.switch_to_block(next);
    }

    pub(super) fn head_word(&mut self, head: ir::Value, word: usize) -> ir::Value {
        let flags = self.bytes();
        self.b.ins().load(types::I64, flags, head, 8 * word as i32)
    }

    /// The table's time, which is never before what it was.
    fn tick(&mut self, head: ir::Value, away: ir::Block) -> ir::Value {
        let now = self.field(frame::TIME_NS, types::I64, trusted());
        let (late, next) = (self.b.ins().icmp_imm_s(IntCC::SignedLessThan, now, 0), self.b.create_block());
        self.b.ins().brif(late, away, &[], next, &[]);
        self.b.switch_to_block(next);
        let (now, before) = (self.b.ins().iadd_imm_s(now, EPOCH as i64), self.head_word(head, head::CLOCK));
        let clock = self.b.ins().umax(now, before);
        let flags = self.bytes();
        self.b.ins().store(flags, clock, head, 8 * head::CLOCK as i32);
        clock
    }

    /// The number of the slot where the search for a key begins.
    pub(super) fn bucket(&mut self, head: ir::Value, key: [ir::Value; 2]) -> ir::Value {
        let [seed0, seed1, mask, buckets] = [head::SEED0, head::SEED1, head::MASK, head::BUCKETS].map(|word| self.head_word(head, word));
        let (a, b) = (self.b.ins().bxor(key[0], seed0), self.b.ins().bxor(key[1], seed1));
        let (high, low) = (self.b.ins().umulhi(a, b), self.b.ins().imul(a, b));
        let hash = self.b.ins().bxor(high, low);
        let (all, half) = (self.b.ins().band(hash, mask), self.b.ins().ushr_imm_u(mask, 1));
        let (folded, beyond) = (self.b.ins().band(all, half), self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, all, buckets));
        self.b.ins().select(beyond, folded, all)
    }

    fn exact(&mut self, lookup: Lookup, head: ir::Value, declaration: &Table) {
        let (x, expires) = (layout::Exact::of(declaration), declaration.timeout_ns > 0);
        let clock = expires.then(|| match self.end_of_slice() {
            Some(_) => self.head_word(head, head::CLOCK),
            None => self.tick(head, lookup.away),
        });
        let key = self.words(lookup.key);
        let (bucket, slots) = (self.bucket(head, key), self.part_of(lookup.table, parts::SLOTS));
        let at = self.b.ins().imul_imm_s(bucket, x.stride as i64);
        let first = self.b.ins().iadd(slots, at);
        let (found, second) = (self.b.create_block(), self.b.create_block());
        let [slot, place] = [types::I64; 2].map(|ty| self.b.append_block_param(found, ty));
        let (state, holds) = self.holds(first, x, key, clock);
        self.b.ins().brif(holds, found, &args(&[bucket, first]), second, &[]);
        self.b.switch_to_block(second);
        self.none(lookup, head, state);
        let (next, place2) = (self.b.ins().iadd_imm_s(bucket, 1), self.b.ins().iadd_imm_s(first, x.stride as i64));
        let (_, holds) = self.holds(place2, x, key, clock);
        self.b.ins().brif(holds, found, &args(&[next, place2]), lookup.away, &[]);
        self.b.switch_to_block(found);
        if let (Some(clock), false) = (clock, self.only_looks(lookup.helper)) {
            self.refresh(head, place, clock);
        }
        let entry = self.b.ins().ireduce(types::I32, slot);
        let entry = self.b.ins().iadd_imm_s(entry, 1);
        self.b.ins().jump(lookup.on, &args(&[entry]));
    }

    /// If the first slot is free, and no entry lies elsewhere, there is none; an insertion is the
    /// runtime's.
    fn none(&mut self, lookup: Lookup, head: ir::Value, state: ir::Value) {
        if matches!(lookup.helper, Helper::Insert(_)) {
            return;
        }
        let (free, on) = (self.b.create_block(), self.b.create_block());
        let is_free = self.b.ins().icmp_imm_u(IntCC::Equal, state, FREE as i64);
        self.b.ins().brif(is_free, free, &[], on, &[]);
        self.b.switch_to_block(free);
        let (stashed, zero) = (self.head_word(head, head::STASHED), self.iconst(types::I32, 0));
        self.b.ins().brif(stashed, lookup.away, &[], lookup.on, &args(&[zero]));
        self.b.switch_to_block(on);
    }

    /// The state of a slot, and whether it holds an entry with a key, which is live.
    fn holds(&mut self, at: ir::Value, x: layout::Exact, key: [ir::Value; 2], clock: Option<ir::Value>) -> (ir::Value, ir::Value) {
        let flags = self.bytes();
        let (state, live) = match clock {
            Some(clock) => {
                let state = self.b.ins().load(types::I64, flags, at, 0);
                (state, self.b.ins().icmp(IntCC::UnsignedGreaterThan, state, clock))
            }
            None => {
                let state = self.b.ins().uload8(types::I32, flags, at, 0);
                (state, self.b.ins().icmp_imm_u(IntCC::Equal, state, i64::from(u8::MAX)))
            }
        };
        let (low, begin) = (x.key_bytes.min(8), x.state_bytes as i32);
        let words = [(low, begin, key[0]), (x.key_bytes - low, begin + 8, key[1])];
        let same = words.into_iter().filter(|(bytes, ..)| *bytes > 0).map(|(bytes, at_word, word)| {
            let there = self.load_at(at, at_word, 8 * bytes as u16, Order::Little);
            let there = self.resize(there, types::I64);
            self.b.ins().icmp(IntCC::Equal, there, word)
        });
        let all: Vec<ir::Value> = same.collect();
        (state, all.into_iter().fold(live, |all, one| self.b.ins().band(all, one)))
    }

    /// An entry that is used lives on.
    fn refresh(&mut self, head: ir::Value, at: ir::Value, clock: ir::Value) {
        let (timeout, flags) = (self.head_word(head, head::TIMEOUT), self.bytes());
        let end = self.b.ins().iadd(clock, timeout);
        let (over, never) = (self.b.ins().icmp(IntCC::UnsignedLessThan, end, clock), self.iconst(types::I64, layout::NEVER));
        let end = self.b.ins().select(over, never, end);
        let state = self.b.ins().load(types::I64, flags, at, 0);
        let end = self.b.ins().umax(end, state);
        self.b.ins().store(flags, end, at, 0);
    }

    /// In a prefix table, whose first level is all but the last `left` bits of a key.
    fn prefix(&mut self, lookup: Lookup, head: ir::Value, left: u32) {
        let key = self.reg(lookup.key);
        let (wide, narrow) = (self.b.create_block(), self.b.create_block());
        let is_wide = self.head_word(head, trie::WIDE);
        self.b.ins().brif(is_wide, wide, &[], narrow, &[]);
        for (block, bytes, deeper) in [(wide, 4, trie::DEEPER_WIDE), (narrow, 2, trie::DEEPER)] {
            self.b.switch_to_block(block);
            self.walk(lookup, (head, key), left, (bytes, deeper));
        }
    }

    fn walk(&mut self, lookup: Lookup, (head, key): (ir::Value, ir::Value), left: u32, (bytes, deeper): (i64, u32)) {
        let (level, step, end, default) = (self.b.create_block(), self.b.create_block(), self.b.create_block(), self.b.create_block());
        let [word, rest] = [types::I32; 2].map(|ty| self.b.append_block_param(level, ty));
        let index = self.part_of(lookup.table, parts::INDEX);
        let (at, all) = (self.b.ins().ushr_imm_u(key, i64::from(left)), self.iconst(types::I32, left.into()));
        let first = self.number(index, at, bytes);
        self.b.ins().jump(level, &args(&[first, all]));
        self.b.switch_to_block(level);
        let goes_on = self.b.ins().band_imm_u(word, i64::from(deeper));
        self.b.ins().brif(goes_on, step, &[], end, &[]);
        self.b.switch_to_block(step);
        let rest = self.b.ins().iadd_imm_s(rest, -8);
        let (group, groups) = (self.b.ins().bxor_imm_u(word, i64::from(deeper)), self.part_of(lookup.table, parts::GROUPS));
        let (byte, begin) = (self.b.ins().ushr(key, rest), self.b.ins().imul_imm_s(group, GROUP as i64));
        let byte = self.b.ins().band_imm_u(byte, GROUP as i64 - 1);
        let at = self.b.ins().iadd(begin, byte);
        let next = self.number(groups, at, bytes);
        self.b.ins().jump(level, &args(&[next, rest]));
        self.b.switch_to_block(end);
        self.b.ins().brif(word, lookup.on, &args(&[word]), default, &[]);
        self.b.switch_to_block(default);
        let entry = self.head_word(head, trie::DEFAULT);
        let entry = self.b.ins().ireduce(types::I32, entry);
        self.b.ins().jump(lookup.on, &args(&[entry]));
    }

    /// A number in an array of numbers of two or four bytes.
    fn number(&mut self, array: ir::Value, at: ir::Value, bytes: i64) -> ir::Value {
        let (at, flags) = (self.b.ins().uextend(types::I64, at), self.bytes());
        let at = self.b.ins().imul_imm_s(at, bytes);
        let at = self.b.ins().iadd(array, at);
        if bytes == 2 { self.b.ins().uload16(types::I32, flags, at, 0) } else { self.b.ins().load(types::I32, flags, at, 0) }
    }

    /// The address of an entry's value in a table that lies in memory, or by the runtime where it
    /// does not now; traps if there is no such entry. `None` for tables that only the runtime looks
    /// into.
    pub(super) fn entry_in_line(&mut self, table: u32, entry: mir::Value, site: u32) -> Option<ir::Value> {
        self.fusion.as_ref()?;
        let declaration = &self.module.tables[table as usize];
        access(declaration)?;
        let ((stride, value_at), number) = (layout::place(declaration), self.reg(entry));
        let none = self.b.ins().icmp_imm_u(IntCC::Equal, number, 0);
        self.trap_if(none, TrapKind::NoEntry, site);
        let (here, away, on) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        let result = self.b.append_block_param(on, types::I64);
        let slots = self.part_of(table, parts::SLOTS);
        self.b.ins().brif(slots, here, &[], away, &[]);
        self.b.switch_to_block(away);
        self.b.set_cold_block(away);
        let at = self.entry_by_runtime(table, entry, site);
        self.b.ins().jump(on, &args(&[at]));
        self.b.switch_to_block(here);
        let number = self.b.ins().uextend(types::I64, number);
        let at = self.b.ins().imul_imm_s(number, stride as i64);
        let at = self.b.ins().iadd(slots, at);
        let at = self.b.ins().iadd_imm_s(at, value_at as i64 - stride as i64);
        self.b.ins().jump(on, &args(&[at]));
        self.b.switch_to_block(on);
        Some(result)
    }
}

/// Whether a helper only looks a key up.
fn helper_reads(helper: Helper) -> bool {
    matches!(helper, Helper::Find(_) | Helper::Peek(_))
}
