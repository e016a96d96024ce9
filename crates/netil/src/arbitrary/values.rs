//! Operands: constants, locals, loads and what is on the stack; addresses that are mostly good;
//! what becomes of results.

use super::body::Body;
use crate::module::{Extra, Inst};
use crate::table::{HandlerScope, Op, Space};

/// How deep one value may be computed from others.
const DEPTH: u32 = 2;

impl Body<'_, '_> {
    /// Makes the topmost elements have these widths, bottom to top, using what is there already
    /// where it fits.
    pub fn operands(&mut self, widths: &[u16]) {
        let free = self.free();
        let there = (0..=widths.len().min(free.len())).rev().find(|k| free.ends_with(&widths[..*k])).unwrap_or(0);
        let used = if self.b.c.chance(3, 4) { there } else { 0 };
        for width in &widths[used..] {
            self.fresh(*width, 0);
        }
    }

    /// Pushes a value of that width without touching what is below.
    pub fn fresh(&mut self, width: u16, depth: u32) {
        let local = self.readable(width);
        match self.b.c.below(8) {
            1 if self.top() == Some(width) => self.op(Inst::new(Op::Dup), 0, &[width]),
            2 | 3 if local.is_some() => self.op(Inst::with(Op::LocLoad, local.unwrap_or(0)), 0, &[width]),
            4 | 5 if depth < DEPTH => self.loaded(width, depth),
            6 if depth < DEPTH => self.computed(width, depth),
            _ => self.constant(width),
        }
    }

    fn readable(&mut self, width: u16) -> Option<u32> {
        let good: Vec<u32> =
            (0..self.locals.len() as u32).filter(|i| self.written[*i as usize] && self.locals[*i as usize] == width).collect();
        if good.is_empty() { None } else { Some(*self.b.c.pick(&good)) }
    }

    pub fn constant(&mut self, width: u16) {
        if width == 32 && self.b.c.chance(7, 8) {
            return self.word();
        }
        let value = self.b.c.value(width);
        self.wide_constant(width, value);
    }

    pub fn wide_constant(&mut self, width: u16, value: Box<[u64]>) {
        self.op(Inst { op: Op::WPush, imm: [width.into(), 0, 0], extra: Extra::Const(value) }, 0, &[width]);
    }

    fn word(&mut self) {
        let v = self.b.c.word();
        let short = match v {
            0 => Some(Op::PushC0),
            1 => Some(Op::PushC1),
            2 => Some(Op::PushC2),
            u32::MAX => Some(Op::PushCm1),
            _ => None,
        };
        match short.filter(|_| self.b.c.chance(1, 2)) {
            Some(op) => self.op(Inst::new(op), 0, &[32]),
            None => self.number(v),
        }
    }

    pub fn number(&mut self, v: u32) {
        self.op(Inst::with(Op::Push, v), 0, &[32]);
    }

    fn loaded(&mut self, width: u16, depth: u32) {
        let space = self.some_space();
        let bytes = u32::from(width / 8);
        if !width.is_multiple_of(8) || self.size(space) < bytes {
            return self.constant(width);
        }
        self.address(space, bytes, depth + 1);
        let op = match space {
            Space::Packet => Op::WpLoad,
            Space::Info => Op::WiLoad,
            Space::Data => Op::WmLoad,
            Space::Shared => Op::WsLoad,
            Space::Initialised => Op::WcLoad,
        };
        let classic = *self.b.c.pick(&[Op::UpLoad8, Op::UpLoad16, Op::SpLoad32, Op::SpLoad8, Op::SpLoad16, Op::IpLen]);
        match op {
            Op::WpLoad if width == 32 => self.op(Inst::new(classic), 1, &[32]),
            _ => self.op(Inst::with(op, width.into()), 1, &[width]),
        }
    }

    fn computed(&mut self, width: u16, depth: u32) {
        let w = u32::from(width);
        match self.b.c.below(4) {
            0 if width > 1 => {
                let from = 1 + self.b.c.below(w - 1);
                self.fresh(from as u16, depth + 1);
                let op = *self.b.c.pick(&[Op::WZext, Op::WSext]);
                self.op(Inst::with2(op, from, w), 1, &[width]);
            }
            1 if width < self.b.options.widest => {
                let from = (w + 1 + self.b.c.below(70)).min(self.b.options.widest.into());
                self.fresh(from as u16, depth + 1);
                self.op(Inst::with2(Op::WTrunc, from, w), 1, &[width]);
            }
            2 if width > 1 => {
                let high = 1 + self.b.c.below(w - 1);
                self.fresh(high as u16, depth + 1);
                self.fresh((w - high) as u16, depth + 1);
                self.op(Inst::with2(Op::WConcat, high, w - high), 2, &[width]);
            }
            _ => {
                self.fresh(width, depth + 1);
                self.fresh(width, depth + 1);
                let op = *self.b.c.pick(&[Op::WAdd, Op::WSub, Op::WXor, Op::WAnd, Op::WOr, Op::WMul]);
                self.op(Inst::with(op, w), 2, &[width]);
            }
        }
    }

    /// A memory that code may use here.
    pub fn some_space(&mut self) -> Space {
        let space = *self.b.c.pick(&[Space::Packet, Space::Packet, Space::Data, Space::Info, Space::Shared, Space::Initialised]);
        let absent = self.is_init() && matches!(space, Space::Packet | Space::Info);
        if absent || self.size(space) == 0 { Space::Data } else { space }
    }

    pub fn is_init(&self) -> bool {
        self.kind == crate::module::HandlerKind::Init
    }

    pub fn allowed(&self, place: HandlerScope) -> bool {
        match place {
            HandlerScope::Any => true,
            HandlerScope::Init => self.is_init(),
            HandlerScope::Packet => !self.is_init(),
        }
    }

    /// Bytes of a memory; a guess for the packet.
    pub fn size(&self, space: Space) -> u32 {
        match space {
            Space::Packet => 34,
            Space::Info => self.b.module.info_size,
            Space::Data => self.b.module.data_size,
            Space::Shared => self.b.shared,
            Space::Initialised => self.b.module.data.len() as u32,
        }
    }

    /// Pushes an address for an access of that many bytes. A constant one must lie inside (the
    /// verifier looks), a computed one mostly does.
    pub fn address(&mut self, space: Space, bytes: u32, depth: u32) {
        let last = self.size(space).checked_sub(bytes);
        match (self.b.c.below(32), last) {
            (0, _) => self.wild(space),
            (1..=8, Some(last)) if depth < DEPTH => self.masked(last, depth),
            (_, Some(last)) => {
                let at = *self.b.c.pick(&[0, 1.min(last), last / 2, last.saturating_sub(1), last, last.min(12), last.min(20), last / 3]);
                self.number(at);
            }
            (_, None) => self.wild(space),
        }
    }

    /// An address that may be anything; not a constant one, which the verifier may refuse.
    fn wild(&mut self, space: Space) {
        if space == Space::Packet && self.b.c.chance(1, 2) {
            self.op(Inst::new(Op::Pbl), 0, &[32]);
        } else {
            self.word();
        }
        let off = *self.b.c.pick(&[0, 1, u32::MAX, 2, 4, 0u32.wrapping_sub(4)]);
        self.number(off);
        self.op(Inst::new(Op::Add), 2, &[32]);
    }

    /// A computed address of at most `last`.
    fn masked(&mut self, last: u32, depth: u32) {
        self.fresh(32, depth + 1);
        self.number((1 << (last + 1).ilog2()) - 1);
        self.op(Inst::new(Op::And), 2, &[32]);
    }

    /// Removes elements down to that number, storing most of them.
    pub fn drain(&mut self, to: usize) {
        while self.stack.len() > to {
            let free = self.stack.len() - to;
            if self.b.c.chance(1, 12) {
                let n = 1 + self.b.c.below((free as u32).min(5));
                self.op(Inst::with(Op::PopI, n), n as usize, &[]);
            } else {
                self.consume();
            }
        }
    }

    /// Removes the top, mostly by storing it.
    pub fn consume(&mut self) {
        let Some(&width) = self.stack.last() else { return };
        let local = (0..self.locals.len()).find(|i| self.locals[*i] == width && !self.counters.contains(i));
        match (self.b.c.below(8), local) {
            (0, _) => self.op(Inst::new(Op::Pop), 1, &[]),
            (1 | 2, Some(local)) => {
                self.op(Inst::with(Op::LocStore, local as u32), 1, &[]);
                self.written[local] = true;
            }
            _ => self.store_top(width),
        }
    }

    /// Stores the top into some memory, widened to whole bytes.
    fn store_top(&mut self, width: u16) {
        let whole = width.next_multiple_of(8);
        if whole != width {
            self.op(Inst::with2(Op::WZext, width.into(), whole.into()), 1, &[whole]);
        }
        let mut space = self.some_space();
        if space == Space::Initialised || self.size(space) < u32::from(whole / 8) {
            space = Space::Data;
        }
        if self.size(space) < u32::from(whole / 8) {
            return self.op(Inst::new(Op::Pop), 1, &[]);
        }
        self.address(space, u32::from(whole / 8), 2);
        let (wide, classic) = match space {
            Space::Packet => (Op::WpStore, [Op::PStore8, Op::PStore16, Op::PStore32]),
            Space::Info => (Op::WiStore, [Op::IStore8, Op::IStore16, Op::IStore32]),
            Space::Shared => (Op::WsStore, [Op::SStore8, Op::SStore16, Op::SStore32]),
            _ => (Op::WmStore, [Op::MStore8, Op::MStore16, Op::MStore32]),
        };
        match whole {
            32 if self.b.c.chance(3, 4) => {
                let op = *self.b.c.pick(&classic);
                self.op(Inst::new(op), 2, &[]);
            }
            _ => self.op(Inst::with(wide, whole.into()), 2, &[]),
        }
    }
}
