//! Sets of values as `select`, entries and masks write them, and whether one holds all of another.
//! What is not known when the program is compiled is no set.

use crate::hir::{Expr, ExprKind};
use num_bigint::BigInt;

/// Values of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Set {
    /// All.
    Any,
    /// From the first to the last.
    Range(BigInt, BigInt),
    /// Those that have the first number under the mask.
    Mask(BigInt, BigInt),
}

impl Set {
    /// What an expression says, if that is known.
    pub fn of(e: &Expr) -> Option<Self> {
        let number = |e: &Expr| match &e.kind {
            ExprKind::Int(n) => Some(n.clone()),
            ExprKind::Bool(b) => Some(BigInt::from(u8::from(*b))),
            _ => None,
        };
        match &e.kind {
            ExprKind::Everything | ExprKind::Default => Some(Self::Any),
            ExprKind::Cast(of) => Self::of(of),
            ExprKind::Range(low, high) => Some(Self::Range(number(low)?, number(high)?)),
            ExprKind::Mask(value, mask) => {
                let (value, mask) = (number(value)?, number(mask)?);
                Some(if mask == BigInt::ZERO { Self::Any } else { Self::Mask(value & &mask, mask) })
            }
            _ => number(e).map(|n| Self::Range(n.clone(), n)),
        }
    }

    /// The lowest and the highest value, of numbers of that width without sign.
    fn bounds(&self, width: u32) -> (BigInt, BigInt) {
        let ones = (BigInt::from(1) << width) - 1;
        match self {
            Self::Any => (BigInt::ZERO, ones),
            Self::Range(low, high) => (low.clone(), high.clone()),
            Self::Mask(value, mask) => (value.clone(), value | (&ones ^ (mask & &ones))),
        }
    }

    /// Whether all values between its bounds are in it.
    fn is_dense(&self, width: u32) -> bool {
        let Self::Mask(_, mask) = self else { return true };
        let free = ((BigInt::from(1) << width) - 1) ^ mask;
        (&free & (&free + 1)) == BigInt::ZERO
    }

    /// Whether it holds all of another, for numbers of that width.
    pub fn covers(&self, other: &Self, width: u32) -> bool {
        match (self, other) {
            (Self::Any, _) => true,
            (Self::Mask(value, mask), Self::Mask(other, under)) => mask & under == *mask && other & mask == *value,
            (Self::Mask(value, mask), Self::Range(low, high)) if low == high => low & mask == *value,
            _ => {
                let ((low, high), (from, to)) = (self.bounds(width), other.bounds(width));
                self.is_dense(width) && low <= from && to <= high
            }
        }
    }
}

/// Whether one list of sets holds all of another, key by key; the widths are those of the keys.
pub(crate) fn all_cover(these: &[Option<Set>], others: &[Option<Set>], widths: &[u32]) -> bool {
    let pair = |((a, b), width): ((&Option<Set>, &Option<Set>), &u32)| match (a, b) {
        (Some(Set::Any), _) => true,
        (Some(a), Some(b)) => a.covers(b, *width),
        _ => false,
    };
    these.len() == others.len() && these.len() == widths.len() && these.iter().zip(others).zip(widths).all(pair)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(low: u32, high: u32) -> Set {
        Set::Range(low.into(), high.into())
    }

    fn mask(value: u32, mask: u32) -> Set {
        Set::Mask(value.into(), mask.into())
    }

    /// Against the definition, for all pairs of some sets of four bits.
    #[test]
    fn covering_is_inclusion() {
        let holds = |set: &Set, n: u32| match set {
            Set::Any => true,
            Set::Range(low, high) => *low <= n.into() && BigInt::from(n) <= *high,
            Set::Mask(value, mask) => BigInt::from(n) & mask == *value,
        };
        let mut all = vec![Set::Any];
        (0..16).for_each(|low| all.extend((low..16).map(|high| range(low, high))));
        (1..16).for_each(|m| all.extend((0..16).filter(|v| v & m == *v).map(|v| mask(v, m))));
        let (mut found, mut missed) = (0, 0);
        for a in &all {
            for b in &all {
                let included = (0..16).all(|n| !holds(b, n) || holds(a, n));
                assert!(included || !a.covers(b, 4), "{a:?} {b:?}");
                found += u32::from(included && a.covers(b, 4));
                missed += u32::from(included && !a.covers(b, 4));
            }
        }
        // What is missed is that a mask with holes covers a range that lies between them.
        assert!(found > 1000 && missed * 20 < found, "{found} {missed}");
    }
}
