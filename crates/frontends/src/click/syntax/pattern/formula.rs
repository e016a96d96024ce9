//! What patterns say of a packet: tests of fields, joined by and, or, not and choice.
//!
//! Invariant: a test of bytes that the packet does not have is false, whichever its operator; `not`
//! in front of it makes that true. Tests of an IP header want all of its 20 bytes, tests behind it
//! likewise.
//!
//! [`Formula::holds`] is the meaning, and what the written code is tested against.

/// A pattern and its output, negative for none.
pub(in crate::click) type Rule = (Formula, i64);
/// Where a field's offset counts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::click) enum Area {
    /// The packet's first byte.
    Packet,
    /// The IP header.
    Ip,
    /// What is behind the IP header.
    Transport,
}

/// Bytes of an IP header without options.
pub(super) const IP_HEADER: u32 = 20;

/// How a masked field is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::click) enum Op {
    Equal,
    Differs,
    Above,
    AtMost,
}

/// A field: one to four bytes as a number, first byte most significant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::click) struct Field {
    pub(in crate::click) area: Area,
    pub(in crate::click) offset: u32,
    pub(in crate::click) bytes: u32,
}

/// `field & mask op value`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::click) struct Test {
    pub(in crate::click) field: Field,
    pub(in crate::click) mask: u32,
    pub(in crate::click) op: Op,
    pub(in crate::click) value: u32,
}

/// A condition on a packet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::click) enum Formula {
    Is(bool),
    Test(Test),
    Not(Box<Formula>),
    All(Vec<Formula>),
    Any(Vec<Formula>),
    /// If the first holds the second, else the third.
    If(Box<[Formula; 3]>),
}

/// What is known of a packet where a formula stands.
#[derive(Clone, Copy)]
pub(super) struct Fact {
    pub(super) field: Field,
    pub(super) mask: u32,
    pub(super) value: u32,
}

impl Field {
    /// A field of a header, which is that area.
    pub(in crate::click) const fn of(area: Area, field: netil::fields::Field) -> Self {
        Self { area, offset: field.offset, bytes: field.bytes }
    }

    /// All of its bits.
    pub(in crate::click) fn all(self) -> u32 {
        u32::MAX >> (32 - 8 * self.bytes.clamp(1, 4))
    }
}

impl Test {
    /// How many bytes the area must have for it.
    pub(super) fn needs(&self) -> u32 {
        let unused = (self.mask.trailing_zeros() / 8).min(self.field.bytes);
        let end = self.field.offset.saturating_add(self.field.bytes - unused);
        if self.field.area == Area::Ip { end.max(IP_HEADER) } else { end }
    }

    /// Whether a field of that value passes.
    pub(super) fn passes(&self, value: u32) -> bool {
        let masked = value & self.mask;
        match self.op {
            Op::Equal => masked == self.value,
            Op::Differs => masked != self.value,
            Op::Above => masked > self.value,
            Op::AtMost => masked <= self.value,
        }
    }
}

/// The bytes of an area.
#[cfg(test)]
fn bytes_of(area: Area, packet: &[u8], network: usize) -> &[u8] {
    let ip = packet.get(network..).filter(|ip| ip.len() >= IP_HEADER as usize);
    match area {
        Area::Packet => packet,
        Area::Ip => ip.unwrap_or(&[]),
        Area::Transport => ip.and_then(|ip| ip.get(4 * (ip[0] as usize & 15)..)).unwrap_or(&[]),
    }
}

impl Formula {
    /// `field & mask == value`
    pub(in crate::click) fn equal(area: Area, offset: u32, bytes: u32, mask: u32, value: u32) -> Self {
        Self::Test(Test { field: Field { area, offset, bytes }, mask, op: Op::Equal, value }).simple()
    }

    pub(in crate::click) fn negated(self) -> Self {
        Self::Not(Box::new(self)).simple()
    }

    /// Whether it holds for a packet whose IP header begins at `network`.
    #[cfg(test)]
    pub(super) fn holds(&self, packet: &[u8], network: usize) -> bool {
        match self {
            Self::Is(is) => *is,
            Self::Not(of) => !of.holds(packet, network),
            Self::All(of) => of.iter().all(|of| of.holds(packet, network)),
            Self::Any(of) => of.iter().any(|of| of.holds(packet, network)),
            Self::If(of) => of[if of[0].holds(packet, network) { 1 } else { 2 }].holds(packet, network),
            Self::Test(test) => {
                let bytes = bytes_of(test.field.area, packet, network);
                let byte = |at: u32| u32::from(bytes.get(at as usize).copied().unwrap_or(0));
                let value = (0..test.field.bytes).fold(0, |value, n| value << 8 | byte(test.field.offset + n));
                bytes.len() >= test.needs() as usize && test.passes(value)
            }
        }
    }

    /// Whether it holds if no test does.
    pub(super) fn without_bytes(&self) -> bool {
        match self {
            Self::Is(is) => *is,
            Self::Test(_) => false,
            Self::Not(of) => !of.without_bytes(),
            Self::All(of) => of.iter().all(Self::without_bytes),
            Self::Any(of) => of.iter().any(Self::without_bytes),
            Self::If(of) => of[if of[0].without_bytes() { 1 } else { 2 }].without_bytes(),
        }
    }

    /// This formula with less in it: constants are gone, and so are lists in lists of their kind.
    pub(in crate::click) fn simple(self) -> Self {
        match self {
            Self::Test(test) => simple_test(test),
            Self::Not(of) => match *of {
                Self::Is(is) => Self::Is(!is),
                Self::Not(of) => *of,
                of => Self::Not(Box::new(of)),
            },
            Self::All(of) => list(of, true),
            Self::Any(of) => list(of, false),
            Self::If(of) => match *of {
                [Self::Is(is), then, other] => [other, then][usize::from(is)].clone(),
                [_, then, other] if then == other => then,
                of => Self::If(Box::new(of)),
            },
            Self::Is(_) => self,
        }
    }

    /// This formula where a fact is known, which includes that the field's bytes are there.
    pub(super) fn given(&self, fact: &Fact) -> Self {
        match self {
            Self::Test(test) if test.field == fact.field && test.mask & !fact.mask == 0 => Self::Is(test.passes(fact.value)),
            Self::Is(_) | Self::Test(_) => self.clone(),
            Self::Not(of) => of.given(fact).negated(),
            Self::All(of) => Self::All(of.iter().map(|of| of.given(fact)).collect()).simple(),
            Self::Any(of) => Self::Any(of.iter().map(|of| of.given(fact)).collect()).simple(),
            Self::If(of) => Self::If(Box::new([0, 1, 2].map(|n: usize| of[n].given(fact)))).simple(),
        }
    }

    /// What must hold all together.
    pub(super) fn conjuncts(&self) -> &[Self] {
        match self {
            Self::All(of) => of,
            other => std::slice::from_ref(other),
        }
    }
}

/// A test that cannot depend on the field is none.
fn simple_test(test: Test) -> Formula {
    let value = if matches!(test.op, Op::Equal | Op::Differs) { test.value & test.mask } else { test.value };
    match test.op {
        Op::Equal | Op::Differs if test.mask == 0 => Formula::Is(test.op == Op::Equal),
        Op::Above | Op::AtMost if value >= test.mask => Formula::Is(test.op == Op::AtMost),
        _ => Formula::Test(Test { value, ..test }),
    }
}

/// A list of conditions, joined by and (`and`) or by or: without constants, repetitions and lists
/// of the same kind.
fn list(of: Vec<Formula>, and: bool) -> Formula {
    let mut flat = Vec::with_capacity(of.len());
    for one in of {
        match one {
            Formula::Is(is) if is == and => {}
            Formula::Is(is) => return Formula::Is(is),
            Formula::All(inner) if and => flat.extend(inner),
            Formula::Any(inner) if !and => flat.extend(inner),
            other => flat.push(other),
        }
    }
    let mut seen = std::collections::HashSet::new();
    let keep: Vec<bool> = flat.iter().map(|one| seen.insert(one)).collect();
    let mut keep = keep.into_iter();
    flat.retain(|_| keep.next().unwrap_or(true));
    match flat.len() {
        0 => Formula::Is(and),
        1 => flat.remove(0),
        _ if and => Formula::All(flat),
        _ => factored(flat),
    }
}

/// Alternatives, and before them what all of them ask.
fn factored(mut of: Vec<Formula>) -> Formula {
    const CONDITIONS: usize = 12;
    let mut common: Vec<Formula> = of[0].conjuncts().iter().take(CONDITIONS).cloned().collect();
    for one in &of[1..] {
        common.retain(|condition| one.conjuncts().iter().take(CONDITIONS).any(|other| other == condition));
        if common.is_empty() {
            return Formula::Any(of);
        }
    }
    for one in &mut of {
        let rest = one.conjuncts().iter().filter(|condition| !common.contains(condition)).cloned().collect();
        *one = list(rest, true);
    }
    common.push(list(of, false));
    list(common, true)
}

/// Conditions that all hold: what some say of fields is put into the others.
pub(super) fn informed(formula: Formula) -> Formula {
    const FACTS: usize = 8;
    let Formula::All(mut of) = formula else { return formula };
    let facts: Vec<(usize, Fact)> = of.iter().enumerate().filter_map(|(n, one)| Some((n, fact(one)?))).take(FACTS).collect();
    for (from, fact) in facts {
        for (n, one) in of.iter_mut().enumerate().filter(|(n, one)| *n != from && !matches!(one, Formula::Is(_))) {
            // Of two equal tests the later one goes.
            if n > from || !matches!(one, Formula::Test(_)) {
                *one = one.given(&fact);
            }
        }
    }
    Formula::All(of).simple()
}

/// What a condition says of a field.
pub(super) fn fact(formula: &Formula) -> Option<Fact> {
    match formula {
        Formula::Test(Test { field, mask, op: Op::Equal, value }) => Some(Fact { field: *field, mask: *mask, value: *value }),
        _ => None,
    }
}
