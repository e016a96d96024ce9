//! Accesses to memories. The packet and info memory are in the packet's context; all others are
//! behind access points.

use super::{Bit, Code, Lower, Op, Val};
use crate::x11::Refused;
use crate::x11::code::{Access, AluOp, Memory, Move, MoveOperand, Offset, Span, Src, Store};
use compiler::mir::{Extent, Func, Op as Mir, Order, Value};
use netil::exec::TrapKind;
use netil::ops::BinOp;
use netil::table::Space;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

const ZERO: Src = Src::Imm(0);

/// What is written anywhere: reads of the rest may be done at any time before they are needed.
#[derive(Debug, Default)]
pub(super) struct Stored {
    /// Ranges of the packet.
    packet: Vec<Range<u64>>,
    /// A store to the packet at a place that is computed.
    anywhere: bool,
    /// The packet's ends move.
    moves: bool,
    /// Info memory.
    info: bool,
    /// Memories behind access points.
    pub(super) memories: HashSet<Memory>,
    /// Updates: stores with the operation and operand, by element and store.
    updates: HashMap<(usize, Value), (AluOp, Value)>,
    /// Reads that are part of one.
    folded: HashSet<(usize, Value)>,
}

impl Stored {
    pub(super) fn of(codes: &[Code<'_>]) -> Self {
        let mut stored = Self::default();
        for (element, code) in codes.iter().enumerate() {
            for value in code.cfg.order.iter().flat_map(|b| &code.func.block(*b).ops) {
                let Some(op) = code.func.op(*value) else { continue };
                stored.note(element, &code.func, op);
            }
            stored.find_updates(element, code);
        }
        stored
    }

    fn note(&mut self, element: usize, func: &Func, op: &Mir) {
        match op {
            Mir::Store(Space::Packet, _, addr, offset, v, _) => match func.constant(*addr) {
                Some(at) => {
                    let from = at + u64::from(*offset);
                    self.packet.push(from..from + u64::from(func.width(*v) / 8));
                }
                None => self.anywhere = true,
            },
            Mir::Store(Space::Info, ..) => self.info = true,
            Mir::Store(space, ..) => {
                self.memories.extend(store(*space).map(|store| Memory { element, store }));
            }
            Mir::Helper(helper, ..) => {
                let moves = super::ends::moves(*helper);
                (self.moves, self.anywhere) = (self.moves | moves, self.anywhere | moves);
                self.memories.extend(super::tables::changed(*helper).map(|table| Memory { element, store: Store::Table(table) }));
            }
            _ => {}
        }
    }

    /// The packet's ends move: accesses to it keep their order.
    pub(super) fn moves(&self) -> bool {
        self.moves
    }

    /// Stores of what was read from the same place and added to, with nothing in between that
    /// touches the memory.
    fn find_updates(&mut self, element: usize, code: &Code<'_>) {
        let func = &code.func;
        let mut uses: HashMap<Value, usize> = HashMap::new();
        for block in &code.cfg.order {
            let data = func.block(*block);
            let mut count = |v: Value| *uses.entry(v).or_default() += 1;
            data.ops.iter().filter_map(|v| func.op(*v)).for_each(|op| op.operands(&mut count));
            data.end.values(&mut count);
        }
        for block in &code.cfg.order {
            let ops = &func.block(*block).ops;
            for (at, v) in ops.iter().enumerate() {
                let Some((load, op, operand)) = update(func, *v, &uses) else { continue };
                let Some(from) = ops.iter().position(|other| *other == load) else { continue };
                let Some(Mir::Store(space, ..)) = func.op(*v) else { continue };
                let between = &ops[from + 1..at];
                if between.iter().any(|other| touches(func, *other, *space)) {
                    continue;
                }
                self.updates.insert((element, *v), (op, operand));
                self.folded.insert((element, load));
            }
        }
    }

    pub(super) fn packet(&self, range: Option<Range<u64>>) -> bool {
        let overlaps = |range: &Range<u64>| self.packet.iter().any(|other| other.start < range.end && range.start < other.end);
        self.anywhere || range.map_or(!self.packet.is_empty(), |range| overlaps(&range))
    }
}

fn store(space: Space) -> Option<Store> {
    match space {
        Space::Data => Some(Store::Data),
        Space::Shared => Some(Store::Shared),
        Space::Initialised => Some(Store::Initialised),
        Space::Packet | Space::Info => None,
    }
}

fn touches(func: &Func, v: Value, space: Space) -> bool {
    matches!(func.op(v), Some(Mir::Load(other, ..) | Mir::Store(other, ..)) if *other == space)
}

/// If a store is one: the load, the operation, and the other operand.
fn update(func: &Func, v: Value, uses: &HashMap<Value, usize>) -> Option<(Value, AluOp, Value)> {
    let Some(Mir::Store(space @ (Space::Data | Space::Shared), order, addr, offset, sum, _)) = func.op(v) else { return None };
    let Some(Mir::Bin(bin, a, b)) = func.op(*sum) else { return None };
    let op = match bin {
        BinOp::Add => AluOp::Add,
        BinOp::Sub => AluOp::Sub,
        BinOp::And => AluOp::And,
        BinOp::Or => AluOp::Or,
        BinOp::Xor => AluOp::Xor,
        _ => return None,
    };
    let once = |v: &Value| uses.get(v) == Some(&1);
    let same = |v: &Value| matches!(func.op(*v), Some(Mir::Load(s, o, at, plus, _)) if (s, o, at, plus) == (space, order, addr, offset));
    if !once(sum) {
        return None;
    }
    match (once(a) && same(a), once(b) && same(b) && bin.commutes()) {
        (true, _) => Some((*a, op, *b)),
        (_, true) => Some((*b, op, *a)),
        _ => None,
    }
}

impl Lower<'_> {
    pub(super) fn load(&mut self, value: Value, space: Space, order: Order, addr: Value, offset: u32, width: u16) -> Result<Val, Refused> {
        let bytes = u32::from(width / 8);
        let words = match (space, self.constant(addr)) {
            _ if self.stored.folded.contains(&(self.element, value)) => Vec::new(),
            (Space::Packet, _) if order != Order::Big && bytes > 1 => {
                return self.refuse("a load of the packet in the order of little-endian machines");
            }
            (Space::Packet, Some(at)) => self.packet_at(at + offset, bytes)?,
            (Space::Packet, None) => self.packet_offset(addr, offset, bytes)?,
            (Space::Info, Some(at)) => self.info_at(at + offset, bytes, order)?,
            (Space::Info, None) => return self.refuse("a place in info memory that is computed: it is in registers"),
            (Space::Initialised, Some(at)) => self.constants(at + offset, bytes, order),
            _ => {
                let span = self.span(space, order, addr, offset, bytes)?;
                let regs: Vec<u16> = (0..bytes.div_ceil(2)).map(|n| self.reg(if n * 2 + 1 < bytes { 0xffff } else { 0xff })).collect();
                let pinned = self.stored.memories.contains(&span.memory);
                self.push(Op::Point(Access::Read(span, regs.clone())), pinned);
                regs.into_iter().map(Src::Reg).collect()
            }
        };
        Ok(Val::Words(words))
    }

    /// A place that is constant, or is here.
    pub(super) fn constant(&self, addr: Value) -> Option<u32> {
        let folded = || match self.val(addr) {
            Val::Words(words) => match words[..] {
                [Src::Imm(low), Src::Imm(high)] => Some(u32::from(high) << 16 | u32::from(low)),
                _ => None,
            },
            _ => None,
        };
        self.code().func.constant(addr).map(|at| at as u32).or_else(folded)
    }

    /// Bytes of initialised data never change.
    fn constants(&self, at: u32, bytes: u32, order: Order) -> Vec<Src> {
        let data = &self.code().program.module().data;
        let mut all: Vec<u8> = (at..at + bytes).map(|n| data.get(n as usize).copied().unwrap_or(0)).collect();
        if order == Order::Big {
            all.reverse();
        }
        all.chunks(2).map(|pair| Src::Imm(u16::from(pair[0]) | u16::from(pair.get(1).copied().unwrap_or(0)) << 8)).collect()
    }

    pub(super) fn far<T>(&self) -> Result<T, Refused> {
        self.refuse("a place behind the first 65,280 bytes of the packet, or more than 256 before it")
    }

    /// Words of the packet at a constant place, from the lowest; two that lie side by side in one
    /// move.
    pub(super) fn packet_at(&mut self, at: u32, bytes: u32) -> Result<Vec<Src>, Refused> {
        let pinned = self.stored.packet(Some(at.into()..u64::from(at) + u64::from(bytes)));
        let at = self.came_at(at, bytes)?;
        let end = at + bytes.cast_signed();
        let (mut words, mut left) = (Vec::new(), end);
        while left > at {
            let have = left - at;
            if left % 2 != 0 && have > 1 {
                let low = self.moved(MoveOperand::Packet(left as u16 - 1, 1), 0xff, pinned);
                let high = self.moved(MoveOperand::Packet(left as u16 - 2, 1), 0xff, pinned);
                words.push(self.joined(high, low));
                left -= 2;
            } else if have >= 4 {
                let (high, low) = (self.reg(0xffff), self.reg(0xffff));
                self.out.pairs.push(high);
                self.push(
                    Op::Move(Move { guard: None, to: MoveOperand::Pair(high), from: MoveOperand::Packet(left as u16 - 4, 4) }),
                    pinned,
                );
                words.extend([Src::Reg(low), Src::Reg(high)]);
                left -= 4;
            } else {
                let n = have.min(2);
                words.push(self.moved(MoveOperand::Packet((left - n) as u16, n as u8), if n == 1 { 0xff } else { 0xffff }, pinned));
                left -= n;
            }
        }
        Ok(words)
    }

    pub(super) fn moved(&mut self, from: MoveOperand, mask: u16, pinned: bool) -> Src {
        let reg = self.reg(mask);
        self.push(Op::Move(Move { guard: None, to: MoveOperand::Reg(reg), from }), pinned);
        Src::Reg(reg)
    }

    /// Two bytes in a word.
    fn joined(&mut self, high: Src, low: Src) -> Src {
        let (shifted, word) = (self.reg(0xff00), self.reg(0xffff));
        let alu = |op, dst, a, b| Op::Alu(super::Alu::Words { op, dst: Some(dst), flag: None, a, b, with: None });
        self.push(alu(AluOp::Shl, shifted, high, Src::Imm(8)), false);
        self.push(alu(AluOp::Or, word, Src::Reg(shifted), low), false);
        Src::Reg(word)
    }

    /// Words of the packet at a place that is computed.
    fn packet_offset(&mut self, addr: Value, offset: u32, bytes: u32) -> Result<Vec<Src>, Refused> {
        let base = self.base(addr, offset, bytes)?;
        let pinned = self.stored.packet(None);
        let (mut words, mut left) = (Vec::new(), bytes);
        while left > 0 {
            let n = left.min(2);
            left -= n;
            let reg = self.reg(if n == 1 { 0xff } else { 0xffff });
            let load = Offset { store: false, value: Src::Reg(reg), base, at: self.plus(offset + left)?, bytes: n as u8 };
            self.push(Op::Load(load), pinned);
            words.push(Src::Reg(reg));
        }
        Ok(words)
    }

    /// The register with an offset, which is even if more than a byte is asked for.
    fn base(&mut self, addr: Value, offset: u32, bytes: u32) -> Result<u16, Refused> {
        if offset + bytes > 0xffff {
            return self.far();
        }
        let low = self.words_of(addr).first().copied().unwrap_or(ZERO);
        let odd = self.mask(low) & 1 == 1 || !self.plus(offset)?.is_multiple_of(2) || !bytes.is_multiple_of(2);
        if bytes > 1 && odd {
            return self.refuse("a place in the packet that is computed and may be odd: the machine reads words at even places");
        }
        match low {
            Src::Reg(reg) => Ok(reg),
            Src::Imm(_) => self.refuse("a constant place that is not known to be one"),
        }
    }

    fn info_at(&mut self, at: u32, bytes: u32, order: Order) -> Result<Vec<Src>, Refused> {
        if order != Order::Little && bytes > 1 {
            return self.refuse("a load of info memory in the order of big-endian machines");
        }
        if let Some(words) = self.known(at, bytes) {
            return Ok(words);
        }
        let pinned = self.stored.info;
        let part = |n: u32| (at + n, (bytes - n).min(2));
        let parts: Vec<(u32, u32)> = (0..bytes).step_by(2).map(part).collect();
        Ok(parts
            .into_iter()
            .map(|(at, n)| self.moved(MoveOperand::Info(at as u16, n as u8), if n == 1 { 0xff } else { 0xffff }, pinned))
            .collect())
    }

    /// What an access point is asked for.
    fn span(&mut self, space: Space, order: Order, addr: Value, offset: u32, bytes: u32) -> Result<Span, Refused> {
        let Some(store) = store(space) else { return self.refuse("a memory that is behind no access point") };
        let code = self.code();
        let size = code.program.module().data_size.max(code.program.shared_size()).max(code.program.module().data.len() as u32);
        if size > self.machine.devices.ram_bytes || size > 0xffff {
            return self.refuse(format!("a memory of {size} bytes; {} and 65,535 are the most", self.machine.devices.ram_bytes));
        }
        self.fits_access(bytes)?;
        let (base, at) = match self.constant(addr) {
            Some(at) => (None, at + offset),
            None => (self.words_of(addr).first().copied(), offset),
        };
        Ok(Span { memory: Memory { element: self.element, store }, base, at, bytes, big: order == Order::Big })
    }

    pub(super) fn fits_access(&self, bytes: u32) -> Result<(), Refused> {
        let most = self.machine.devices.access_bits / 8;
        if bytes > most {
            return self.refuse(format!("{bytes} bytes at once; an access point reads or writes {most}"));
        }
        Ok(())
    }

    pub(super) fn store(
        &mut self,
        v: Value,
        space: Space,
        order: Order,
        (addr, offset): (Value, u32),
        value: Value,
    ) -> Result<(), Refused> {
        let bytes = u32::from(self.code().func.width(value) / 8);
        if let Some((op, operand)) = self.stored.updates.get(&(self.element, v)).copied() {
            let span = self.span(space, order, addr, offset, bytes)?;
            let words = self.words_of(operand);
            self.push(Op::Point(Access::Update(span, op, words)), true);
            return Ok(());
        }
        let words = self.words_of(value);
        match (space, self.constant(addr)) {
            (Space::Packet, _) if order != Order::Big && bytes > 1 => {
                self.refuse("a store to the packet in the order of little-endian machines")
            }
            (Space::Packet, Some(at)) => self.store_packet(at + offset, bytes, &words),
            (Space::Packet, None) => {
                let base = self.base(addr, offset, bytes)?;
                let mut left = bytes;
                for word in words {
                    let n = left.min(2);
                    left -= n;
                    let store = Offset { store: true, value: word, base, at: self.plus(offset + left)?, bytes: n as u8 };
                    self.push(Op::Load(store), true);
                }
                Ok(())
            }
            (Space::Info, Some(_)) if order != Order::Little && bytes > 1 => {
                self.refuse("a store to info memory in the order of big-endian machines")
            }
            (Space::Info, Some(at)) => {
                self.told(at + offset, bytes, &words);
                for (n, word) in words.into_iter().enumerate() {
                    let at = at + offset + 2 * n as u32;
                    let to = MoveOperand::Info(at as u16, (bytes - 2 * n as u32).min(2) as u8);
                    self.push(Op::Move(Move { guard: None, to, from: super::place(word) }), true);
                }
                Ok(())
            }
            (Space::Info, None) => self.refuse("a place in info memory that is computed: it is in registers"),
            _ => {
                let span = self.span(space, order, addr, offset, bytes)?;
                self.push(Op::Point(Access::Write(span, words)), true);
                Ok(())
            }
        }
    }

    /// A word at a time, the lowest first; bytes where words would not be aligned.
    fn store_packet(&mut self, at: u32, bytes: u32, words: &[Src]) -> Result<(), Refused> {
        let at = self.came_at(at, bytes)?;
        let mut left = at + bytes.cast_signed();
        for word in words {
            let n = (left - at).min(2);
            left -= n;
            let put = |l: &mut Self, at: i32, n: u8, from: Src| {
                l.push(Op::Move(Move { guard: None, to: MoveOperand::Packet(at as u16, n), from: super::place(from) }), true);
            };
            if n == 2 && left % 2 != 0 {
                let high = self.shifted(AluOp::Shr, *word, 8);
                put(self, left + 1, 1, *word);
                put(self, left, 1, high);
            } else {
                put(self, left, n as u8, *word);
            }
        }
        Ok(())
    }

    /// Traps unless bytes are inside.
    pub(super) fn check(&mut self, space: Space, extents: &[Extent]) -> Result<(), Refused> {
        let constant: Option<Vec<(u64, u32)>> =
            extents.iter().map(|e| Some((u64::from(self.constant(e.addr)?) + e.end(), e.site))).collect();
        let size = match space {
            Space::Packet => None,
            Space::Info => Some(self.code().program.module().info_size),
            Space::Data => Some(self.code().program.module().data_size),
            Space::Shared => Some(self.code().program.shared_size()),
            Space::Initialised => Some(self.code().program.module().data.len() as u32),
        };
        let kind = TrapKind::OutOfBounds(space);
        match (constant, size) {
            (Some(ends), Some(size)) => {
                let outside = ends.iter().find(|(end, _)| *end > u64::from(size));
                outside.into_iter().for_each(|(_, site)| self.trap_if(Bit::Const(true), kind, *site, Vec::new()));
            }
            (Some(ends), None) => {
                let most = ends.iter().map(|(end, _)| *end).max().unwrap_or(0);
                let len = self.length(MoveOperand::Len);
                let short = if most > 0xffff { Bit::Const(true) } else { self.less(&[len], &[Src::Imm(most as u16)], false) };
                let site = ends.first().map_or(0, |(_, site)| *site);
                self.trap_if(short, kind, site, ends.into_iter().map(|(end, site)| (end.min(u64::from(u32::MAX)) as u32, site)).collect());
            }
            (None, size) => extents.iter().for_each(|extent| self.check_computed(extent, size, kind)),
        }
        Ok(())
    }

    fn check_computed(&mut self, extent: &Extent, size: Option<u32>, kind: TrapKind) {
        let split = |n: u64| [Src::Imm(n as u16), Src::Imm((n >> 16) as u16), Src::Imm((n >> 32) as u16)];
        let mut addr = self.words_of(extent.addr);
        addr.resize(3, ZERO);
        let end = self.sum(&addr, &split(extent.end()), false);
        let limit = match size {
            Some(size) => split(size.into()),
            None => [self.length(MoveOperand::Len), ZERO, ZERO],
        };
        let outside = self.less(&limit, &end, false);
        self.trap_if(outside, kind, extent.site, Vec::new());
    }
}
