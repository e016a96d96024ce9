//! How blocks end: jumps with arguments, branches, switches as searches by halves, and the ends of
//! runs.

use super::super::Refused;
use super::super::lir::{Alu, Cond, End, Label, Reg, Src};
use super::super::proofs::Facts;
use super::{Exit, Select, limbs};
use crate::mir::{Block, Edge, Terminator, Value};
use std::collections::HashMap;

/// Ranges that are compared one after the other where a switch is searched.
const LEAF: usize = 3;

impl Select<'_> {
    pub fn terminator(&mut self, b: Block) -> Result<(), Refused> {
        match &self.func.block(b).end {
            Terminator::Jump(e) => self.go(b, e, &self.facts.clone()),
            Terminator::Branch(c, yes, no) => {
                let (on_yes, on_no) = (self.code.block(), self.code.block());
                let proof = self.jump_if(*c, on_yes, on_no)?;
                for (label, edge, holds) in [(on_yes, yes, true), (on_no, no, false)] {
                    let mut facts = self.facts.clone();
                    proof.iter().filter(|p| p.on == holds).for_each(|p| facts.learn(p.pointer, p.bytes));
                    self.at = label;
                    self.go(b, edge, &facts);
                }
            }
            Terminator::Switch(v, cases, default) => self.switch(b, *v, cases, default),
            Terminator::Send(port) => {
                let to = self.way(Exit::Port(*port));
                self.ends(End::Jump(to));
            }
            // They are tested for, by a pass.
            Terminator::SendBy(..) => return Err(Refused::whole("packets leave by ports that are computed")),
            Terminator::Drop(reason) => {
                let to = self.way(Exit::Drop(*reason));
                self.ends(End::Jump(to));
            }
        }
        Ok(())
    }

    /// Goes along an edge, with its arguments. Round a loop arguments may be parameters.
    pub fn go(&mut self, from: Block, e: &Edge, facts: &Facts) {
        let (to, back) = (e.block.0 as usize, self.position[e.block.0 as usize] <= self.position[from.0 as usize]);
        match &mut self.incoming[to] {
            _ if back => {}
            Some(known) => known.meet(facts),
            none => *none = Some(if self.budget.is_some() && self.func.changes_geometry() { Facts::default() } else { facts.clone() }),
        }
        let mut moves = Vec::new();
        for (param, arg) in self.func.block(e.block).params.iter().zip(&e.args) {
            let width = self.func.width(*param);
            if self.values[param.0 as usize].is_empty() {
                self.values[param.0 as usize] = (0..limbs(width)).map(|_| self.code.register()).collect();
            }
            for (i, dst) in self.values[param.0 as usize].clone().into_iter().enumerate() {
                moves.push((dst, *arg, i));
            }
        }
        if back {
            let kept: Vec<(Reg, Reg)> = moves.iter().map(|(dst, arg, i)| (*dst, self.argument(None, *arg, *i, true))).collect();
            kept.into_iter().for_each(|(dst, src)| self.copy_to(dst, src));
            let out = self.trap();
            return self.ends(End::Again { again: self.labels[to], out });
        }
        for (dst, arg, i) in moves {
            self.argument(Some(dst), arg, i, self.heads[to]);
        }
        self.ends(End::Jump(self.labels[to]));
    }

    /// A limb of an argument, in the register or in a new one.
    fn argument(&mut self, dst: Option<Reg>, arg: Value, limb: usize, of_head: bool) -> Reg {
        let dst = dst.unwrap_or_else(|| self.code.register());
        match self.small(arg) {
            Some(c) => {
                self.set(dst, if limb == 0 { c } else { 0 });
                if of_head && self.budget.is_some() {
                    self.alu(Alu::Or, true, dst, Src::Reg(self.zero));
                }
            }
            None => {
                let src = self.limbs(arg)[limb];
                self.copy_to(dst, src);
            }
        }
        dst
    }

    fn switch(&mut self, b: Block, v: Value, cases: &[(u32, Edge)], default: &Edge) {
        let (mut places, mut numbers): (Vec<&Edge>, HashMap<&Edge, usize>) = (Vec::new(), HashMap::new());
        let mut keys = std::collections::BTreeMap::new();
        for (key, e) in cases {
            let place = *numbers.entry(e).or_insert_with(|| {
                places.push(e);
                places.len() - 1
            });
            keys.entry(*key).or_insert(place);
        }
        let ranges = crate::switches::ranges(keys);
        let labels: Vec<Label> = (0..=places.len()).map(|_| self.code.block()).collect();
        let key = self.reg(v);
        let ranges: Vec<(u64, u64, Label)> = ranges.iter().map(|r| (r.low.into(), r.high.into(), labels[r.place])).collect();
        self.search(key, false, &ranges, labels[places.len()]);
        let facts = self.facts.clone();
        for (label, e) in labels.into_iter().zip(places.into_iter().chain([default])) {
            self.at = label;
            self.go(b, e, &facts);
        }
    }

    /// Goes to the label of the range that a value is in, by halves.
    pub fn search(&mut self, key: Reg, wide: bool, ranges: &[(u64, u64, Label)], default: Label) {
        if ranges.len() > LEAF + 1 {
            let (left, right) = ranges.split_at(ranges.len() / 2);
            let (below, above) = (self.code.block(), self.code.block());
            let pivot = self.immediate(right[0].0, wide);
            self.branch(Cond::Lt, wide, key, pivot, below, above);
            self.at = below;
            self.search(key, wide, left, default);
            self.at = above;
            return self.search(key, wide, right, default);
        }
        for (i, (low, high, to)) in ranges.iter().enumerate() {
            let next = if i + 1 == ranges.len() { default } else { self.code.block() };
            self.in_range(key, wide, *low, *high, *to, next);
            self.at = next;
        }
        if ranges.is_empty() {
            self.ends(End::Jump(default));
        }
    }
}
