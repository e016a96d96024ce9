//! Instructions of eBPF over any number of registers, in blocks.
//!
//! Registers 0 to 10 are the machine's; those from [`FIRST`] on are virtual and become machine
//! registers in `allocate`. A virtual register may be written more than once, as two-address
//! instructions ask for.
//!
//! Source: the kernel's Documentation/bpf/standardization/instruction-set.rst. Only what kernels
//! since 5.2 know is used (`-mcpu=v3`).

/// A register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Reg(pub u32);

/// The number of the first virtual register.
pub(super) const FIRST: u32 = 11;
/// What a function and a program return.
pub(super) const RESULT: Reg = Reg(0);
/// The program's context when it begins.
pub(super) const CONTEXT: Reg = Reg(1);
/// The end of the stack frame.
pub(super) const FRAME: Reg = Reg(10);

/// A block of the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Label(pub u32);

/// The right operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Src {
    Reg(Reg),
    Imm(i32),
}

/// An operation on two numbers; its code is that of the instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Alu {
    Add = 0x0,
    Sub = 0x1,
    Mul = 0x2,
    Div = 0x3,
    Or = 0x4,
    And = 0x5,
    Lsh = 0x6,
    Rsh = 0x7,
    Neg = 0x8,
    Mod = 0x9,
    Xor = 0xa,
    Mov = 0xb,
    Arsh = 0xc,
}

/// A condition; its code is that of the instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Cond {
    Eq = 0x1,
    Gt = 0x2,
    Ge = 0x3,
    /// Some bit of both is 1.
    Set = 0x4,
    Ne = 0x5,
    Sgt = 0x6,
    Sge = 0x7,
    Lt = 0xa,
    Le = 0xb,
    Slt = 0xc,
    Sle = 0xd,
}

/// Bytes of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Size {
    B1 = 0x10,
    B2 = 0x08,
    B4 = 0x00,
    B8 = 0x18,
}

/// An instruction; `wide` ones work on 64 bits, others on 32 and clear the upper half.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Inst {
    /// `dst = dst op src`, or `dst = src` for `Mov`.
    Alu { op: Alu, wide: bool, dst: Reg, src: Src },
    /// The low 16, 32 or 64 bits in the other byte order, the rest cleared.
    Swap { dst: Reg, bits: u8 },
    /// A constant that does not fit into an instruction.
    Const { dst: Reg, value: u64 },
    /// The address of a byte of a map that is one array.
    Address { dst: Reg, map: u32, offset: u32 },
    /// A map, for functions of the kernel.
    Map { dst: Reg, map: u32 },
    /// A load.
    Load { dst: Reg, base: Reg, offset: i16, size: Size },
    /// A store.
    Store { base: Reg, offset: i16, size: Size, src: Src },
    /// A function of the kernel, by its number, with so many arguments in registers 1 and up.
    Call { function: i32, args: u8 },
    /// A function of the program, likewise.
    Own { function: u32, args: u8 },
}

/// How a block ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Jump(Label),
    /// To the first label if the condition holds, else to the second.
    Branch {
        cond: Cond,
        wide: bool,
        a: Reg,
        b: Src,
        yes: Label,
        no: Label,
    },
    /// Backwards to the first label; to the second when the kernel's own limit of such jumps is
    /// reached.
    Again {
        again: Label,
        out: Label,
    },
    /// With the result in register 0.
    Exit,
}

/// A block.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub insts: Vec<Inst>,
    pub end: End,
}

/// A program; it begins with block 0.
#[derive(Clone, Debug, Default)]
pub(super) struct Code {
    pub blocks: Vec<Block>,
    /// One past the last virtual register.
    pub registers: u32,
    /// Registers that are not put on the stack.
    pub kept: std::collections::BTreeSet<Reg>,
}

impl Alu {
    /// Whether the old value of the destination matters.
    pub fn reads(self) -> bool {
        self != Self::Mov
    }
}

impl Cond {
    /// What holds exactly if this does not; a test of bits has no such.
    pub fn negated(self) -> Option<Self> {
        Some(match self {
            Self::Eq => Self::Ne,
            Self::Ne => Self::Eq,
            Self::Gt => Self::Le,
            Self::Le => Self::Gt,
            Self::Ge => Self::Lt,
            Self::Lt => Self::Ge,
            Self::Sgt => Self::Sle,
            Self::Sle => Self::Sgt,
            Self::Sge => Self::Slt,
            Self::Slt => Self::Sge,
            Self::Set => return None,
        })
    }
}

impl Size {
    /// The size of so many bytes, if there is one.
    pub fn of(bytes: u32) -> Option<Self> {
        [(1, Self::B1), (2, Self::B2), (4, Self::B4), (8, Self::B8)].into_iter().find(|(n, _)| *n == bytes).map(|(_, size)| size)
    }
}

impl Inst {
    /// The register it writes.
    pub fn def(&self) -> Option<Reg> {
        match self {
            Self::Alu { dst, .. } | Self::Swap { dst, .. } | Self::Const { dst, .. } | Self::Load { dst, .. } => Some(*dst),
            Self::Address { dst, .. } | Self::Map { dst, .. } => Some(*dst),
            Self::Call { .. } | Self::Own { .. } => Some(RESULT),
            Self::Store { .. } => None,
        }
    }

    /// Calls `f` with each register it reads.
    pub fn uses(&self, mut f: impl FnMut(Reg)) {
        let mut copy = *self;
        if let Self::Call { args, .. } | Self::Own { args, .. } = self {
            (1..=u32::from(*args)).for_each(|r| f(Reg(r)));
        }
        copy.map(|r, role| {
            if role != Role::Def {
                f(r);
            }
            r
        });
    }

    /// Replaces each register that is written out.
    pub fn map(&mut self, mut f: impl FnMut(Reg, Role) -> Reg) {
        let source = |src: &mut Src, f: &mut dyn FnMut(Reg, Role) -> Reg| {
            if let Src::Reg(r) = src {
                *r = f(*r, Role::Use);
            }
        };
        match self {
            Self::Alu { op, dst, src, .. } => {
                source(src, &mut f);
                *dst = f(*dst, if op.reads() { Role::Both } else { Role::Def });
            }
            Self::Swap { dst, .. } => *dst = f(*dst, Role::Both),
            Self::Const { dst, .. } | Self::Address { dst, .. } | Self::Map { dst, .. } => *dst = f(*dst, Role::Def),
            Self::Load { dst, base, .. } => {
                *base = f(*base, Role::Use);
                *dst = f(*dst, Role::Def);
            }
            Self::Store { base, src, .. } => {
                *base = f(*base, Role::Use);
                source(src, &mut f);
            }
            Self::Call { .. } | Self::Own { .. } => {}
        }
    }

    /// Source and destination of a copy of the whole register.
    pub fn copy(&self) -> Option<(Reg, Reg)> {
        match self {
            Self::Alu { op: Alu::Mov, wide: true, dst, src: Src::Reg(src) } => Some((*src, *dst)),
            _ => None,
        }
    }

    /// Whether it does more than write its register.
    pub fn stays(&self) -> bool {
        matches!(self, Self::Store { .. } | Self::Call { .. } | Self::Own { .. })
    }
}

/// What an instruction does with a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Use,
    Def,
    Both,
}

impl End {
    /// Calls `f` with each register it reads.
    pub fn uses(&self, mut f: impl FnMut(Reg)) {
        match self {
            Self::Jump(_) | Self::Again { .. } => {}
            Self::Branch { a, b, .. } => {
                f(*a);
                if let Src::Reg(b) = b {
                    f(*b);
                }
            }
            Self::Exit => f(RESULT),
        }
    }

    /// Replaces each register.
    pub fn map(&mut self, mut f: impl FnMut(Reg) -> Reg) {
        if let Self::Branch { a, b, .. } = self {
            *a = f(*a);
            if let Src::Reg(b) = b {
                *b = f(*b);
            }
        }
    }

    /// Where it may go.
    pub fn targets(&self) -> impl Iterator<Item = Label> + use<> {
        let pair = match self {
            Self::Jump(to) => [Some(*to), None],
            Self::Branch { yes, no, .. } => [Some(*yes), Some(*no)],
            Self::Again { again, out } => [Some(*again), Some(*out)],
            Self::Exit => [None, None],
        };
        pair.into_iter().flatten()
    }
}

impl Code {
    /// A new virtual register.
    pub fn register(&mut self) -> Reg {
        self.registers = self.registers.max(FIRST) + 1;
        Reg(self.registers - 1)
    }

    /// A new block, which ends the program.
    pub fn block(&mut self) -> Label {
        self.blocks.push(Block { insts: Vec::new(), end: End::Exit });
        Label(self.blocks.len() as u32 - 1)
    }

    /// Blocks that can be reached, each before those it goes to forwards; what a branch falls
    /// through to comes next where it can.
    pub fn order(&self) -> Vec<Label> {
        let (mut seen, mut order) = (vec![false; self.blocks.len()], Vec::new());
        let mut stack = vec![(Label(0), 0)];
        seen[0] = true;
        while let Some((label, n)) = stack.pop() {
            match self.blocks[label.0 as usize].end.targets().nth(n) {
                None => order.push(label),
                Some(to) => {
                    stack.push((label, n + 1));
                    if !std::mem::replace(&mut seen[to.0 as usize], true) {
                        stack.push((to, 0));
                    }
                }
            }
        }
        order.reverse();
        order
    }

    /// Registers that are live where each block begins; none if more than that are live at once.
    /// Blocks in an order as of [`Self::order`].
    pub fn live(&self, order: &[Label], most: usize) -> Option<Vec<Live>> {
        let mut live: Vec<Live> = vec![Live::default(); self.blocks.len()];
        let circles = order.iter().any(|label| matches!(self.blocks[label.0 as usize].end, End::Again { .. }));
        let mut again = true;
        while std::mem::take(&mut again) {
            for label in order.iter().rev() {
                let now = self.live_in(*label, &live);
                if now.len() > most {
                    return None;
                }
                let before = &mut live[label.0 as usize];
                // Only a jump backwards reads what changes later.
                again |= circles && before.len() != now.len();
                *before = now;
            }
        }
        Some(live)
    }

    fn live_in(&self, label: Label, live: &[Live]) -> Live {
        let block = &self.blocks[label.0 as usize];
        let mut now = self.live_out(label, live);
        block.end.uses(|r| now.insert(r));
        for inst in block.insts.iter().rev() {
            inst.def().into_iter().for_each(|r| now.remove(r));
            inst.uses(|r| now.insert(r));
        }
        now
    }

    /// Registers that are live where a block ends, what its end reads aside.
    pub fn live_out(&self, label: Label, live: &[Live]) -> Live {
        let mut out = Live::default();
        self.blocks[label.0 as usize].end.targets().for_each(|to| live[to.0 as usize].iter().for_each(|r| out.insert(r)));
        out
    }

    /// Removes instructions whose results nobody reads, and blocks that do nothing; false if more
    /// registers than that are live at once.
    pub fn clean(&mut self, most_live: usize) -> bool {
        self.thread();
        let order = self.order();
        let Some(mut live) = self.live(&order, most_live) else { return false };
        for label in order.iter().rev() {
            let mut now = self.live_out(*label, &live);
            let block = &mut self.blocks[label.0 as usize];
            block.end.uses(|r| now.insert(r));
            let mut kept = Vec::with_capacity(block.insts.len());
            for inst in block.insts.drain(..).rev() {
                if !inst.stays() && inst.def().is_some_and(|r| !now.contains(r)) {
                    continue;
                }
                inst.def().into_iter().for_each(|r| now.remove(r));
                inst.uses(|r| now.insert(r));
                kept.push(inst);
                if now.len() > most_live {
                    return false;
                }
            }
            kept.reverse();
            block.insts = kept;
            live[label.0 as usize] = now;
        }
        self.thread();
        true
    }

    /// Goes straight to where an empty block leads.
    fn thread(&mut self) {
        let mut to: Vec<Label> = (0..self.blocks.len() as u32).map(Label).collect();
        for label in self.order().into_iter().rev() {
            let block = &mut self.blocks[label.0 as usize];
            match &mut block.end {
                End::Jump(next) => *next = to[next.0 as usize],
                End::Branch { yes, no, .. } => {
                    (*yes, *no) = (to[yes.0 as usize], to[no.0 as usize]);
                    if yes == no {
                        block.end = End::Jump(*yes);
                    }
                }
                End::Again { again, out } => (*again, *out) = (to[again.0 as usize], to[out.0 as usize]),
                End::Exit => {}
            }
            if let (End::Jump(next), true) = (block.end, block.insts.is_empty()) {
                to[label.0 as usize] = next;
            }
        }
    }
}

/// A set of registers, sorted.
#[derive(Clone, Debug, Default)]
pub(super) struct Live(Vec<Reg>);

impl Live {
    pub fn insert(&mut self, r: Reg) {
        if let Err(at) = self.0.binary_search(&r) {
            self.0.insert(at, r);
        }
    }

    pub fn remove(&mut self, r: Reg) {
        if let Ok(at) = self.0.binary_search(&r) {
            self.0.remove(at);
        }
    }

    pub fn contains(&self, r: Reg) -> bool {
        self.0.binary_search(&r).is_ok()
    }

    pub fn iter(&self) -> impl Iterator<Item = Reg> + '_ {
        self.0.iter().copied()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }
}
