//! How blocks end: ways to other blocks and elements, and out of the pipeline. What a packet's way
//! out is, is moved to where the end of the pipeline looks for it.

use super::{Bit, DONE, End, Link, Lower, Op, Step, Val};
use crate::x11::Refused;
use crate::x11::code::{Access, If, Move, MoveOperand, Src, Verdict};
use compiler::mir::{Edge, Terminator, Value};
use netil::exec::DropReason;
use std::ops::Range;

impl Lower<'_> {
    /// Two ways; one that only leaves the pipeline is a move under a condition.
    pub(super) fn branch(&mut self, is: If, yes: &Edge, no: &Edge) -> End {
        let not = If { holds: !is.holds, ..is };
        let a = self.way(yes, Some(is), false);
        let b = self.way(no, Some(not), yes.block == no.block);
        if a == b { End::Jump(a) } else { End::Branch(is, a, b) }
    }

    pub(super) fn way(&mut self, edge: &Edge, guard: Option<If>, split: bool) -> usize {
        let data = self.code().func.block(edge.block);
        match (&data.end, data.ops.is_empty() && data.params.is_empty()) {
            (Terminator::Send(port), true) if self.leaves(*port) => {
                let port = *port;
                self.send(port, guard)
            }
            (Terminator::Drop(reason), true) => {
                let reason = *reason;
                self.drop(reason, guard)
            }
            _ if split && !edge.args.is_empty() => self.split(edge),
            _ => self.edge(edge, guard),
        }
    }

    pub(super) fn leaves(&self, port: u32) -> bool {
        !matches!(self.code().ways.iter().find(|(p, _)| *p == port), Some((_, Link::Element(..))))
    }

    pub(super) fn send(&mut self, port: u32, guard: Option<If>) -> usize {
        match self.code().ways.iter().find(|(p, _)| *p == port) {
            Some((_, Link::Port(out))) => {
                let out = *out;
                self.verdict(Verdict::Port(out), guard)
            }
            Some((_, Link::Element(to, input))) => {
                let (to, input) = (self.codes[*to].first, *input);
                let port = Val::Words(vec![Src::Imm(input as u16), Src::Imm((input >> 16) as u16)]);
                self.leads(to);
                self.incoming.entry(to).or_default().push((self.block, vec![port]));
                to
            }
            None => self.silent(),
        }
    }

    /// Out of the pipeline as packets leave it that nothing was said of: they are dropped.
    pub(super) fn silent(&mut self) -> usize {
        self.silent += 1;
        DONE
    }

    pub(super) fn drop(&mut self, reason: DropReason, guard: Option<If>) -> usize {
        match reason {
            DropReason::Program(n) => self.verdict(Verdict::Drop(n.saturating_add(1)), guard),
            _ => self.silent(),
        }
    }

    pub(super) fn verdict(&mut self, verdict: Verdict, guard: Option<If>) -> usize {
        self.push(Op::Move(Move { guard, to: MoveOperand::Out(verdict), from: MoveOperand::Imm(0) }), true);
        DONE
    }

    pub(super) fn edge(&mut self, edge: &Edge, _: Option<If>) -> usize {
        let vals = edge.args.iter().map(|arg| self.val(*arg)).collect();
        let to = self.code().first + edge.block.0 as usize;
        self.leads(to);
        self.incoming.entry(to).or_default().push((self.block, vals));
        to
    }

    /// A block of its own on an edge.
    pub(super) fn split(&mut self, edge: &Edge) -> usize {
        let (here, own) = (self.block, self.new_block());
        self.block = own;
        let to = self.edge(edge, None);
        self.out.ends[own] = End::Jump(to);
        self.block = here;
        own
    }

    /// A block of its own that sends.
    fn send_alone(&mut self, port: u32) -> usize {
        let (here, own) = (self.block, self.new_block());
        self.block = own;
        let to = self.send(port, None);
        self.out.ends[own] = End::Jump(to);
        self.block = here;
        own
    }

    pub(super) fn new_block(&mut self) -> usize {
        self.out.ends.push(End::Jump(DONE));
        self.out.ends.len() - 1
    }

    pub(super) fn switch(&mut self, v: Value, cases: &[(u32, Edge)], default: &Edge) -> Result<End, Refused> {
        let keys: Vec<u32> = cases.iter().map(|(case, _)| *case).collect();
        let key = self.words_of(v);
        self.choose(&key, &keys, |lower, n| lower.split(&cases[n].1), default)
    }

    /// Few cases are compared, more are one lookup; the function makes the block of the n-th case.
    fn choose(&mut self, key: &[Src], cases: &[u32], block: impl Fn(&mut Self, usize) -> usize, default: &Edge) -> Result<End, Refused> {
        if cases.len() > 2 {
            self.fits_tcam(cases.len() as u64, 32)?;
            let targets: Vec<(u32, usize)> = cases.iter().enumerate().map(|(n, case)| (*case, block(self, n))).collect();
            let default = self.split(default);
            let all = targets.iter().map(|(_, to)| *to).chain([default]).collect();
            self.push(Op::Point(Access::Jump { key: key.to_vec(), cases: targets, default }), true);
            return Ok(End::Lookup(all));
        }
        for (n, case) in cases.iter().enumerate() {
            let wanted = [Src::Imm(*case as u16), Src::Imm((*case >> 16) as u16)];
            match self.equal(key, &wanted) {
                Bit::Const(true) => return Ok(End::Jump(block(self, n))),
                Bit::Const(false) => {}
                Bit::Is(is) => {
                    let (to, next) = (block(self, n), self.new_block());
                    let at = self.block;
                    self.out.ends[at] = End::Branch(is, to, next);
                    self.block = next;
                }
            }
        }
        Ok(End::Jump(self.way(default, None, false)))
    }

    /// By a number: where the ports leave the pipeline in their order, it is moved to where ports
    /// are; else they are cases.
    pub(super) fn send_by(&mut self, v: Value, ports: Range<u32>, default: &Edge) -> Result<End, Refused> {
        let key = self.words_of(v);
        if let Some(end) = self.numbered(&key, ports.clone(), default) {
            return Ok(end);
        }
        let (first, cases): (u32, Vec<u32>) = (ports.start, (0..ports.len() as u32).collect());
        self.choose(&key, &cases, |lower, n| lower.send_alone(first + n as u32), default)
    }

    fn numbered(&mut self, key: &[Src], ports: Range<u32>, default: &Edge) -> Option<End> {
        let count = u16::try_from(ports.len()).ok()?;
        let out: Vec<u32> = ports.map(|port| self.out_port(port)).collect::<Option<_>>()?;
        let first = *out.first()?;
        let in_turn = (first..).zip(&out).all(|(next, port)| next == *port);
        let (true, [Src::Reg(low), ..]) = (in_turn, key) else { return None };
        let Bit::Is(is) = self.less(key, &[Src::Imm(count), Src::Imm(0)], false) else { return None };
        self.push(Op::Move(Move { guard: Some(is), to: MoveOperand::OutBy(first), from: MoveOperand::Reg(*low) }), true);
        let other = self.way(default, Some(If { holds: !is.holds, ..is }), false);
        Some(if other == DONE { End::Jump(DONE) } else { End::Branch(is, DONE, other) })
    }

    /// The pipeline's port behind one of the element's, if packets leave there.
    fn out_port(&self, port: u32) -> Option<u32> {
        match self.code().ways.iter().find(|(p, _)| *p == port) {
            Some((_, Link::Port(out))) => Some(*out),
            _ => None,
        }
    }

    /// Where every way out says where to, the most common of these is said once, at the beginning;
    /// among equals the first, from which others take the least time.
    pub(super) fn usual(&mut self) {
        let verdict = |step: &Step| if let Op::Move(Move { to: MoveOperand::Out(verdict), .. }) = step.op { Some(verdict) } else { None };
        let all: Vec<Verdict> = self.out.steps.iter().filter_map(verdict).collect();
        let times = |verdict: &Verdict| all.iter().filter(|other| *other == verdict).count();
        let Some(usual) = all.iter().rev().copied().max_by_key(times).filter(|usual| self.silent == 0 && times(usual) > 1) else { return };
        // A register that nobody reads: what is not needed is removed later.
        let nowhere = Op::Move(Move { guard: None, to: MoveOperand::Reg(self.out.regs), from: MoveOperand::Imm(0) });
        self.out.regs += 1;
        self.out.steps.iter_mut().filter(|step| verdict(step) == Some(usual)).for_each(|step| step.op = nowhere.clone());
        self.out.steps.iter_mut().filter_map(|step| step.after.as_mut()).for_each(|after| *after += 1);
        self.out.usual = Some(self.out.regs);
        self.out.regs += 1;
        let op = Op::Move(Move { guard: None, to: MoveOperand::Out(usual), from: MoveOperand::Imm(0) });
        self.out.steps.insert(0, Step { op, home: self.codes[0].first, pinned: false, after: None, below: None, fixed: false });
    }
}
