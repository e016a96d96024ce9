//! Where a handler accesses memory that stays, as far as constants, sums, choices and branches tell
//! it; and which of those places are counters.

use compiler::mir::{Func, Helper, Op, Order, Value};
use netil::Verified;
use netil::ops::{BinOp, CmpOp};
use netil::table::Space;
use std::collections::HashMap;

/// The operations of a function with their values.
pub(super) fn ops(func: &Func) -> impl Iterator<Item = (Value, &Op)> {
    func.blocks.iter().flat_map(|block| &block.ops).filter_map(|value| Some((*value, func.op(*value)?)))
}

/// Memories that stay when a packet has gone.
pub(super) fn is_kept(space: Space) -> bool {
    match space {
        Space::Data | Space::Shared => true,
        Space::Packet | Space::Info | Space::Initialised => false,
    }
}

/// Places in memory that stays: one, or some of those that follow each other at equal distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MemoryLocation {
    pub space: Space,
    pub order: Order,
    /// Bytes of each.
    pub bytes: u64,
    pub at: Range,
}

/// Numbers from `low` to `high`, each by a multiple of `step` more than `low`; a step of 0 is one
/// number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub low: u64,
    pub high: u64,
    pub step: u64,
}

impl Range {
    fn one(number: u64) -> Self {
        Self { low: number, high: number, step: 0 }
    }

    fn or(self, other: Self) -> Self {
        let (low, high) = (self.low.min(other.low), self.high.max(other.high));
        Self { low, high, step: divisor(divisor(self.step, other.step), self.low.abs_diff(other.low)) }
    }

    fn plus(self, other: Self) -> Option<Self> {
        let (low, high) = (self.low.checked_add(other.low)?, self.high.checked_add(other.high)?);
        Some(Self { low, high, step: divisor(self.step, other.step) })
    }

    /// Those that are within bounds; as before if none is.
    fn within(self, low: u64, high: u64) -> Self {
        let step = self.step.max(1);
        let up = low.saturating_sub(self.low).div_ceil(step) * step;
        let down = self.high.saturating_sub(high).div_ceil(step) * step;
        match (self.low.checked_add(up), self.high.checked_sub(down)) {
            (Some(low), Some(high)) if low < high => Self { low, high, ..self },
            (Some(low), Some(high)) if low == high => Self::one(low),
            _ => self,
        }
    }

    fn times(self, factor: u64) -> Option<Self> {
        Some(Self { low: self.low.checked_mul(factor)?, high: self.high.checked_mul(factor)?, step: self.step.checked_mul(factor)? })
    }
}

/// The greatest common divisor; of 0 and a number, that number.
fn divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { divisor(b, a % b) }
}

/// What branches tell of values.
type Told<'f> = &'f dyn Fn(Value) -> (u64, u64);

/// How far numbers are followed back.
const DEPTH: u32 = 12;
/// Numbers below this are small.
const SMALL: u64 = 1 << 31;

/// Follows values back, as far as constants, sums and choices tell what they may be.
struct Follow<'f> {
    func: &'f Func,
    edges: &'f Edges,
    /// A value that is known to be below a number here.
    below: Option<(Value, u64)>,
    /// The least and the greatest number that a value may be here, as branches tell.
    told: Option<Told<'f>>,
    /// Of an address: the size of the memory. What lies behind does not count, as an access there
    /// is a trap.
    behind: Option<u64>,
}

impl Follow<'_> {
    fn range(&self, value: Value, depth: u32) -> Option<Range> {
        let width = self.func.width(value);
        let all = if width < 64 { (1_u64 << width) - 1 } else { u64::MAX };
        let whole = Some(Range { low: 0, high: all, step: 1 }).filter(|_| width <= 64);
        let found = match self.below {
            Some((known, below)) if known == value => Some(Range { low: 0, high: below - 1, step: 1 }),
            _ => self.operation(value, depth.checked_sub(1)?),
        };
        let found = found.filter(|range| range.high <= all).or(whole)?;
        let (low, high) = self.told.filter(|_| width <= 64).map_or((0, all), |told| told(value));
        Some(found.within(low, high))
    }

    fn operation(&self, value: Value, depth: u32) -> Option<Range> {
        let inside = Self { behind: None, ..*self };
        let of = |value: &Value| inside.range(*value, depth);
        let constant = |value: &Value| self.func.constant(*value);
        // A sum with a number of less than 31 bits does not wrap around where the other is one,
        // too.
        let part =
            |value: &Value, other: &Value| if constant(other).is_some_and(|c| c < SMALL) { self.range(*value, depth) } else { of(value) };
        match self.func.op(value) {
            Some(Op::Const(c)) => Some(Range::one(*c)),
            Some(Op::Zext(a)) => of(a),
            Some(Op::Select(condition, a, b)) => self.choice(*condition, *a, *b, depth),
            Some(Op::Bin(BinOp::Add, a, b)) => part(a, b).zip(part(b, a)).and_then(|(a, b)| a.plus(b)),
            Some(Op::Bin(BinOp::Mul, a, b)) => constant(b).zip(of(a)).and_then(|(factor, a)| a.times(factor)),
            Some(Op::Bin(BinOp::Shl, a, b)) => constant(b).zip(of(a)).and_then(|(by, a)| a.times(1_u64.checked_shl(by as u32)?)),
            Some(Op::Bin(BinOp::UShr, a, b)) => {
                constant(b).filter(|by| *by < 64).zip(of(a)).map(|(by, a)| Range { low: a.low >> by, high: a.high >> by, step: 1 })
            }
            Some(Op::Bin(BinOp::And, _, b)) => constant(b).map(|mask| Range { low: 0, high: mask, step: 1 }),
            Some(Op::Div(BinOp::Mod, _, b, _)) => constant(b).filter(|b| *b > 0).map(|b| Range { low: 0, high: b - 1, step: 1 }),
            Some(Op::Bin(BinOp::Or, a, b)) => of(a).zip(of(b)).map(|(a, b)| Range {
                low: a.low.max(b.low),
                high: (a.high | b.high).checked_add(1).and_then(u64::checked_next_power_of_two).map_or(u64::MAX, |end| end - 1),
                step: 1,
            }),
            Some(_) => None,
            None => inside.passed(value, depth),
        }
    }

    /// What a parameter of a block may be. What is known here need not be known of what was passed
    /// at another time.
    fn passed(&self, parameter: Value, depth: u32) -> Option<Range> {
        let before = Self { below: None, told: None, ..*self };
        let passed = self.edges.get(&parameter)?.iter().map(|value| before.range(*value, depth));
        passed.reduce(|a, b| Some(a?.or(b?))).flatten()
    }

    fn choice(&self, condition: Value, a: Value, b: Value, depth: u32) -> Option<Range> {
        let below = match self.func.op(condition) {
            Some(Op::Cmp(CmpOp::Lt, value, limit)) => self.func.constant(*limit).filter(|limit| *limit > 0).map(|limit| (*value, limit)),
            _ => None,
        };
        let first = Self { behind: None, below: below.or(self.below), ..*self }.range(a, depth);
        let second = Self { behind: None, ..*self }.range(b, depth);
        let is_behind =
            |range: Option<Range>| range.zip(self.behind).is_some_and(|(range, behind)| range.low >= behind && range.high < SMALL);
        match (first, second) {
            (first, second) if is_behind(second) => first,
            (first, second) if is_behind(first) => second,
            (first, second) => first.zip(second).map(|(a, b)| a.or(b)),
        }
    }
}

/// By parameter of a block, the values that it may be.
type Edges = HashMap<Value, Vec<Value>>;

fn edges(func: &Func) -> Edges {
    let mut edges = Edges::new();
    for edge in func.blocks.iter().flat_map(|block| block.end.edges()) {
        for (param, arg) in func.block(edge.block).params.iter().zip(&edge.args) {
            edges.entry(*param).or_default().push(*arg);
        }
    }
    edges
}

/// Where a function accesses memory.
struct Accesses<'f> {
    func: &'f Func,
    edges: Edges,
    /// Bytes of data and of shared memory.
    sizes: [u64; 2],
}

impl Accesses<'_> {
    fn place(&self, value: Value, op: &Op, told: Told<'_>) -> Option<MemoryLocation> {
        let (Op::Load(space, order, at, offset, _) | Op::Store(space, order, at, offset, ..)) = op else { return None };
        let accessed = if let Op::Store(.., stored, _) = op { *stored } else { value };
        let at = self.follow(self.size(*space)?, told).range(*at, DEPTH)?.plus(Range::one(u64::from(*offset)))?;
        Some(MemoryLocation { space: *space, order: *order, bytes: u64::from(self.func.width(accessed) / 8), at })
    }

    /// So many bytes from an address on, to the end of the memory at most.
    fn range(&self, space: Space, at: Value, length: Value, told: Told<'_>) -> Option<MemoryLocation> {
        let size = self.size(space)?;
        let at = self.follow(size, told).range(at, DEPTH)?;
        let most = self.follow(u64::MAX, told).range(length, DEPTH)?.high.min(size.saturating_sub(at.low));
        Some(MemoryLocation { space, order: Order::Little, bytes: most, at })
    }

    fn follow<'f>(&'f self, size: u64, told: Told<'f>) -> Follow<'f> {
        Follow { func: self.func, edges: &self.edges, below: None, told: Some(told), behind: Some(size) }
    }

    /// Of a memory that stays.
    fn size(&self, space: Space) -> Option<u64> {
        match space {
            Space::Data => Some(self.sizes[0]),
            Space::Shared => Some(self.sizes[1]),
            Space::Packet | Space::Info | Space::Initialised => None,
        }
    }
}

/// Places that are stored to: each is added to, and what was there is for nothing else.
pub(super) struct Counters {
    pub places: Vec<MemoryLocation>,
    /// By load or store, where it may be.
    accessed: HashMap<Value, MemoryLocation>,
    /// By copy, from where and to where.
    copied: HashMap<Value, [Option<MemoryLocation>; 2]>,
    /// How often each value is used.
    uses: Vec<u32>,
}

impl Counters {
    pub fn of(program: &Verified, func: &Func) -> Self {
        let mut uses = vec![0; func.values.len()];
        let mut count = |value: Value| uses[value.0 as usize] += 1;
        ops(func).for_each(|(_, op)| op.operands(&mut count));
        for end in func.blocks.iter().map(|block| &block.end) {
            end.values(&mut count);
        }
        let accesses = Accesses { func, edges: edges(func), sizes: [program.module().data_size, program.shared_size()].map(u64::from) };
        let (mut accessed, mut copied) = (HashMap::new(), HashMap::new());
        compiler::each_block(func, |block, told| {
            for (value, op) in func.block(block).ops.iter().filter_map(|value| Some((*value, func.op(*value)?))) {
                match op {
                    Op::Helper(Helper::Copy(from, to), args, _) => {
                        copied.insert(value, [(from, args[0]), (to, args[1])].map(|(space, at)| accesses.range(*space, at, args[2], told)));
                    }
                    _ => accessed.extend(accesses.place(value, op, told).map(|place| (value, place))),
                }
            }
        });
        let is_store = |(value, op): (Value, &Op)| matches!(op, Op::Store(..)).then(|| accessed.get(&value).copied()).flatten();
        let places = ops(func).filter_map(is_store).collect();
        Self { places, accessed, copied, uses }
    }

    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The places of counters: nothing else is done to them.
    pub fn sums(&self, func: &Func) -> Vec<MemoryLocation> {
        let is_access = |op: &Op| matches!(op, Op::Load(space, ..) | Op::Store(space, ..) if is_kept(*space));
        let others = ops(func).filter(|(value, op)| is_access(op) && !self.may_be(func, *value, op)).map(|(value, _)| self.place(value));
        let ends = |(value, op)| match op {
            &Op::Helper(Helper::Copy(from, to), ..) => [from, to].into_iter().zip(self.copied(value)).collect(),
            _ => Vec::new(),
        };
        let copied = ops(func).flat_map(ends).filter(|(space, _)| is_kept(*space)).map(|(_, place)| place);
        // Of an access to any place, nothing is known.
        let Some(others) = others.chain(copied).collect::<Option<Vec<MemoryLocation>>>() else { return Vec::new() };
        self.places.iter().filter(|place| !others.iter().any(|other| overlap(*other, **place))).copied().collect()
    }

    /// Whether an access is one of a counter, or looks at what is none and not stored to.
    pub fn may_be(&self, func: &Func, value: Value, op: &Op) -> bool {
        match op {
            Op::Store(.., sum, _) => self.place(value).is_some_and(|to| self.is_apart(to) && self.is_sum(func, *sum, op)),
            _ => match self.place(value) {
                Some(from) => !self.places.iter().any(|place| overlap(*place, from)) || self.is_only_added(func, value, op),
                None => self.places.is_empty(),
            },
        }
    }

    /// The places that an access to memory that stays may be at, if that is known.
    pub fn place(&self, access: Value) -> Option<MemoryLocation> {
        self.accessed.get(&access).copied()
    }

    /// Where a copy reads memory that stays, and where it writes such, as far as that is known.
    pub fn copied(&self, copy: Value) -> [Option<MemoryLocation>; 2] {
        self.copied.get(&copy).copied().unwrap_or_default()
    }

    /// Whether no other place reaches into one of those: others are as large, and the same or
    /// beside them.
    fn is_apart(&self, to: MemoryLocation) -> bool {
        let in_line = |place: &MemoryLocation| {
            let apart = divisor(divisor(place.at.step, to.at.step), place.at.low.abs_diff(to.at.low));
            (place.order, place.bytes) == (to.order, to.bytes) && apart.is_multiple_of(to.bytes)
        };
        self.places.iter().all(|place| in_line(place) || !overlap(*place, to))
    }

    /// Whether that is what was at a place and something more, for nothing but to be stored there.
    fn is_sum(&self, func: &Func, sum: Value, store: &Op) -> bool {
        let Some(Op::Bin(BinOp::Add, a, b)) = func.op(sum) else { return false };
        let is_old =
            |value: &Value| func.op(*value).is_some_and(|op| is_same_place(func, op, store) && func.width(*value) == func.width(sum));
        self.uses[sum.0 as usize] == 1 && is_old(a) != is_old(b)
    }

    /// Whether what was loaded from a place is for nothing but such a sum.
    fn is_only_added(&self, func: &Func, loaded: Value, load: &Op) -> bool {
        let adds = |op: &Op| matches!(op, Op::Store(.., sum, _) if is_same_place(func, load, op) && adds_to(func, *sum, loaded));
        self.uses[loaded.0 as usize] == 1 && ops(func).any(|(_, op)| adds(op))
    }
}

fn adds_to(func: &Func, sum: Value, loaded: Value) -> bool {
    matches!(func.op(sum), Some(Op::Bin(BinOp::Add, a, b)) if *a == loaded || *b == loaded)
}

/// Whether a load is from where a store goes to.
fn is_same_place(func: &Func, load: &Op, store: &Op) -> bool {
    let (Op::Load(space, order, at, offset, _), Op::Store(to_space, to_order, to, to_offset, ..)) = (load, store) else { return false };
    let same = match (func.constant(*at), func.constant(*to)) {
        (Some(at), Some(to)) => at + u64::from(*offset) == to + u64::from(*to_offset),
        _ => (at, offset) == (to, to_offset),
    };
    same && (space, order) == (to_space, to_order) && is_kept(*space)
}

fn overlap(a: MemoryLocation, b: MemoryLocation) -> bool {
    a.space == b.space && a.at.low < b.at.high.saturating_add(b.bytes) && b.at.low < a.at.high.saturating_add(a.bytes)
}
