//! The filter IR: what a filter asks of a packet, without the language it was asked in.
//!
//! ```text
//! node  ::= test | not node | chain node (and|or node)* | elem | guarded | by length | list
//! test  ::= value (=|>|≥|&) value | field in set | fields in set | scan table | rows of list | captured ≥ n | readable field
//!         | protochain … | assign slot | enter geneve
//!         | true | false
//! value ::= constant | len | slot | load field | value op value | − value
//! field ::= 1..16 bytes at (value + constant), big-endian
//! ```
//!
//! A chain is taken from left to right, `and` and `or` with equal precedence, and stops nowhere
//! that a later term could still change the result. **A load past the captured bytes, or a division
//! by zero, rejects the packet** whatever stands around it; so the order of nodes is part of a
//! filter's meaning. It is the order in which libpcap's unoptimised code evaluates.
//!
//! Values and tests are hash-consed: equal ones have equal ids. Nodes are not, so each stands for
//! one place of the filter.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};

use netil::set::Set;

use super::ast::{Arithop, Join};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $letter:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub(crate) struct $name(pub u32);
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!($letter, "{}"), self.0)
            }
        }
        impl $name {
            pub(crate) fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id!(
    #[doc = "A 32-bit value."]
    ValueId,
    "v"
);
id!(
    #[doc = "A test."]
    TestId,
    "t"
);
id!(
    #[doc = "A node: one place of the filter."]
    IrId,
    "n"
);
id!(
    #[doc = "A variable offset, set when an encapsulation is entered; 0 before."]
    Slot,
    "slot"
);
id!(
    #[doc = "A set of field values."]
    SetId,
    "set"
);
id!(
    #[doc = "An element."]
    ElemId,
    "elem"
);
id!(
    #[doc = "A table of field values under masks."]
    ScanId,
    "scan"
);
id!(
    #[doc = "Several fields that are looked up together."]
    TupleId,
    "tuple"
);
id!(
    #[doc = "A list of terms with several elements each."]
    ListId,
    "list"
);

/// Bytes of the packet, big-endian, at `base + offset` without wrapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Field {
    pub base: Option<ValueId>,
    pub offset: u32,
    pub bytes: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Value {
    Const(u32),
    /// Length on the wire.
    Len,
    Slot(Slot),
    /// The left side of the last test that was evaluated, 0 before the first.
    Last,
    /// At most four bytes.
    Load(Field),
    Neg(ValueId),
    /// Modulo 2³²; shifts by 32 or more give 0; division by zero rejects the packet.
    Bin(Arithop, ValueId, ValueId),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Cmp {
    Eq,
    Gt,
    Ge,
    /// A common bit.
    Bits,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Test {
    Const(bool),
    /// Unsigned comparison; the left side is evaluated first.
    Cmp(ValueId, Cmp, ValueId),
    Within(Field, SetId),
    /// The fields, one behind the other, are a value of the tuple's set.
    Tuple(TupleId),
    Protochain(Protochain),
    /// Some row of the table equals one of its fields.
    Scan(ScanId),
    /// Some term of the list holds; they are evaluated one after the other.
    Rows(ListId),
    /// All of the field was captured; its base is not constant.
    Readable(Field),
    /// That many bytes were captured.
    Captured(u32),
    /// Assigns and holds.
    Assign(Slot, ValueId),
    Geneve(Geneve),
}

/// Walks from an IP header along protocol headers until one has the number `wanted`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Protochain {
    pub v6: bool,
    /// Offset of the IP header.
    pub header: u32,
    pub wanted: u32,
}

/// Finds out what a Geneve header holds, sets the offsets of it, and holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Geneve {
    /// Offset of the Geneve header.
    pub header: ValueId,
    /// Offset of the payload's type field.
    pub linktype: Slot,
    /// Offset of the end of the Geneve header.
    pub linkhdr: Slot,
    /// Offset past an inner Ethernet header, if there is one.
    pub linkpl: Slot,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Node {
    Test(TestId),
    Not(IrId),
    Chain(IrId, Links),
    Elem(ElemId),
    /// `merged` holds, and evaluating `exact` reads nothing past the end. A packet of `reach` bytes
    /// needs no such proof.
    Guarded {
        merged: IrId,
        exact: IrId,
        reach: u32,
    },
    /// `long` for packets of at least `reach` captured bytes, else `short`.
    ByLength {
        reach: u32,
        long: IrId,
        short: IrId,
    },
    /// Some term of the list holds, as [`Test::Rows`] finds it.
    List(ListId),
}

/// The terms of a chain after the first: a stretch of [`Ir::links`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Links {
    start: u32,
    end: u32,
}

/// A field lies in a range: a test that sets can be made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Elem {
    pub field: Field,
    pub low: u128,
    pub high: u128,
    /// The test as libpcap makes it, word by word.
    pub plain: IrId,
    /// The test may come to a verdict before it has read the field's last byte.
    pub stepwise: bool,
}

/// A list of IPv6 addresses and networks, compared word by word: row by row, in each row field by
/// field, each field's words from the first to the first that differs. It exists for packets that
/// end inside an address, where the order decides the verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Scan {
    /// Fields of 16 bytes at constant offsets.
    pub fields: Vec<Field>,
    /// Value and mask.
    pub rows: Vec<(u128, u128)>,
}

/// Fields that are looked up together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tuple {
    /// Each with the number of its highest bits that count; the first field is the highest part of
    /// the value.
    pub fields: Vec<(Field, u16)>,
    /// Its width is the sum of those numbers.
    pub set: Set,
}

/// Terms of a few shapes in which several elements must hold together, such as `host A and port P`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct List {
    pub shapes: Vec<ListShape>,
    /// Of each term its shape and where its ranges begin.
    pub rows: Vec<(u32, u32)>,
    /// Of each term the ranges of its elements, in the order of the shape's elements.
    pub ranges: Vec<(u128, u128)>,
}

/// What terms of a list have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListShape {
    /// The first term; its elements stand for those of all.
    pub template: IrId,
    pub elems: Vec<ElemId>,
    /// The template's operands, joined by `and`, each with what it comes to for all terms together:
    /// it holds where it holds for some term.
    pub operands: Vec<(IrId, IrId)>,
    /// Some term of the shape holds; right where nothing is cut off.
    pub merged: IrId,
}

/// A filter in IR form.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ir {
    values: Pool<Value>,
    tests: Pool<Test>,
    nodes: Vec<Node>,
    links: Vec<(Join, IrId)>,
    elems: Vec<Elem>,
    /// Inclusive ranges of each set, in any order.
    pub sets: Vec<Vec<(u128, u128)>>,
    pub scans: Vec<Scan>,
    pub tuples: Vec<Tuple>,
    pub lists: Vec<List>,
    pub slots: u32,
    /// Some value is [`Value::Last`]: tests must keep their order and number.
    pub uses_last: bool,
    pub root: Option<IrId>,
}

#[derive(Debug, Clone)]
struct Pool<T> {
    items: Vec<T>,
    known: HashMap<T, u32, BuildHasherDefault<Mixer>>,
}

/// A fast hash for small keys that no one can choose freely: collisions cost time, and the keys'
/// number bounds it.
#[derive(Default)]
pub(crate) struct Mixer(u64);

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    fn write_u8(&mut self, n: u8) {
        self.write_u64(n.into());
    }

    fn write_u32(&mut self, n: u32) {
        self.write_u64(n.into());
    }

    fn write_usize(&mut self, n: usize) {
        self.write_u64(n as u64);
    }

    fn write_isize(&mut self, n: isize) {
        self.write_u64(n.cast_unsigned() as u64);
    }

    fn write_u64(&mut self, n: u64) {
        self.0 = (self.0.rotate_left(5) ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

impl<T> Default for Pool<T> {
    fn default() -> Pool<T> {
        Pool { items: Vec::new(), known: HashMap::default() }
    }
}

impl<T: Copy + Eq + Hash> Pool<T> {
    fn intern(&mut self, item: T) -> u32 {
        let next = u32::try_from(self.items.len()).unwrap_or(u32::MAX);
        let id = *self.known.entry(item).or_insert(next);
        if id == next {
            self.items.push(item);
        }
        id
    }
}

impl Ir {
    /// An empty filter; `uses_last` if some value will be [`Value::Last`].
    pub(crate) fn keeping_last(uses_last: bool) -> Ir {
        Ir { uses_last, ..Ir::default() }
    }

    pub(crate) fn value(&self, id: ValueId) -> Value {
        self.values.items[id.index()]
    }

    pub(crate) fn test(&self, id: TestId) -> Test {
        self.tests.items[id.index()]
    }

    pub(crate) fn node(&self, id: IrId) -> Node {
        self.nodes[id.index()]
    }

    pub(crate) fn elem(&self, id: ElemId) -> Elem {
        self.elems[id.index()]
    }

    pub(crate) fn links(&self, links: Links) -> &[(Join, IrId)] {
        &self.links[links.start as usize..links.end as usize]
    }

    /// A value; operations on constants are folded.
    pub(crate) fn make(&mut self, value: Value) -> ValueId {
        let folded = match value {
            Value::Bin(op, a, b) => match (self.value(a), self.value(b)) {
                (Value::Const(a), Value::Const(b)) => apply(op, a, b).map_or(value, Value::Const),
                _ => value,
            },
            Value::Neg(a) => match self.value(a) {
                Value::Const(a) => Value::Const(a.wrapping_neg()),
                _ => value,
            },
            _ => value,
        };
        ValueId(self.values.intern(folded))
    }

    /// The id of a value that was made already.
    pub(crate) fn find(&self, value: Value) -> Option<ValueId> {
        self.values.known.get(&value).map(|&id| ValueId(id))
    }

    pub(crate) fn constant(&mut self, value: u32) -> ValueId {
        self.make(Value::Const(value))
    }

    pub(crate) fn intern_test(&mut self, test: Test) -> TestId {
        TestId(self.tests.intern(test))
    }

    pub(crate) fn push(&mut self, node: Node) -> IrId {
        self.nodes.push(node);
        IrId(last(&self.nodes))
    }

    pub(crate) fn push_chain(&mut self, first: IrId, rest: impl IntoIterator<Item = (Join, IrId)>) -> IrId {
        let at = |links: &Vec<_>| u32::try_from(links.len()).unwrap_or(u32::MAX);
        let start = at(&self.links);
        self.links.extend(rest);
        let end = at(&self.links);
        self.push(Node::Chain(first, Links { start, end }))
    }

    pub(crate) fn push_elem(&mut self, elem: Elem) -> IrId {
        self.elems.push(elem);
        self.push(Node::Elem(ElemId(last(&self.elems))))
    }

    pub(crate) fn push_test(&mut self, test: Test) -> IrId {
        let test = self.intern_test(test);
        self.push(Node::Test(test))
    }

    pub(crate) fn new_slot(&mut self) -> Slot {
        self.slots += 1;
        Slot(self.slots - 1)
    }

    pub(crate) fn new_scan(&mut self, scan: Scan) -> ScanId {
        self.scans.push(scan);
        ScanId(last(&self.scans))
    }

    pub(crate) fn new_tuple(&mut self, tuple: Tuple) -> TupleId {
        self.tuples.push(tuple);
        TupleId(last(&self.tuples))
    }

    pub(crate) fn new_list(&mut self, list: List) -> ListId {
        self.lists.push(list);
        ListId(last(&self.lists))
    }

    pub(crate) fn set_has(&self, set: SetId, value: u128) -> bool {
        self.sets[set.index()].iter().any(|&(low, high)| (low..=high).contains(&value))
    }

    pub(crate) fn new_set(&mut self, ranges: Vec<(u128, u128)>) -> SetId {
        self.sets.push(ranges);
        SetId(last(&self.sets))
    }
}

/// The index of the last item.
fn last<T>(items: &[T]) -> u32 {
    u32::try_from(items.len() - 1).unwrap_or(u32::MAX)
}

impl Elem {
    /// The parts that are compared one after the other, each with the place of its lowest bit in
    /// the whole: as libpcap compares, an IPv6 address from the front and a MAC address from the
    /// back.
    pub(crate) fn pieces(&self) -> Vec<(Field, u32)> {
        let piece = |from: u32, bytes: u8, shift: u32| (Field { offset: self.field.offset.wrapping_add(from), bytes, ..self.field }, shift);
        match self.field.bytes {
            16 => vec![piece(0, 4, 96), piece(4, 4, 64), piece(8, 4, 32), piece(12, 4, 0)],
            6 => vec![piece(2, 4, 0), piece(0, 2, 32)],
            _ => vec![(self.field, 0)],
        }
    }
}

impl List {
    /// The ranges of a term, and its shape.
    pub(crate) fn row(&self, (shape, start): (u32, u32)) -> (&ListShape, &[(u128, u128)]) {
        let shape = &self.shapes[shape as usize];
        (shape, &self.ranges[start as usize..start as usize + shape.elems.len()])
    }
}

impl Scan {
    /// The four words of a 16-byte field.
    pub(crate) fn words(field: Field) -> [Field; 4] {
        [0, 4, 8, 12].map(|offset| Field { offset: field.offset.wrapping_add(offset), bytes: 4, ..field })
    }
}

/// An arithmetic operator; `None` for a division by zero.
pub(crate) fn apply(op: Arithop, a: u32, b: u32) -> Option<u32> {
    Some(match op {
        Arithop::Add => a.wrapping_add(b),
        Arithop::Sub => a.wrapping_sub(b),
        Arithop::Mul => a.wrapping_mul(b),
        Arithop::Div => a.checked_div(b)?,
        Arithop::Mod => a.checked_rem(b)?,
        Arithop::And => a & b,
        Arithop::Or => a | b,
        Arithop::Xor => a ^ b,
        Arithop::Shl => a.checked_shl(b).unwrap_or(0),
        Arithop::Shr => a.checked_shr(b).unwrap_or(0),
    })
}
