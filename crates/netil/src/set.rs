//! Read-only sets of values of one width, as sorted disjoint ranges.
//!
//! One form holds single values, prefixes and intervals; how a set is tested (hash, bitmap, binary
//! search) is the compiler's choice, made from its size and density.

use crate::wide;

/// A read-only set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set {
    name: String,
    width: u16,
    ranges: Vec<Range>,
}

/// All values from `low` to `high`, both included; limbs as in [`wide`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// Least value.
    pub low: Box<[u64]>,
    /// Greatest value.
    pub high: Box<[u64]>,
}

/// Why ranges do not make a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetError {
    /// The width is not 1 to 2,048.
    Width(u32),
    /// The range with that index has `low > high` or bits above the width.
    Range(usize),
    /// Ranges are not sorted and disjoint with a gap between them (only asked of ready-made sets).
    Order(usize),
}

impl Set {
    /// The set of all values in the ranges, given in any order and overlapping as they please.
    pub fn new(name: &str, width: u16, ranges: Vec<Range>) -> Result<Self, SetError> {
        check(width, &ranges)?;
        Ok(Self { name: name.to_owned(), width, ranges: merge(width, ranges) })
    }

    /// The set of single values of at most 64 bits.
    pub fn of_values(name: &str, width: u16, values: impl IntoIterator<Item = u64>) -> Result<Self, SetError> {
        Self::of_ranges(name, width, values.into_iter().map(|v| (v, v)))
    }

    /// The set of inclusive ranges of values of at most 64 bits.
    pub fn of_ranges(name: &str, width: u16, ranges: impl IntoIterator<Item = (u64, u64)>) -> Result<Self, SetError> {
        let one = |(low, high)| Range { low: Box::new([low]), high: Box::new([high]) };
        Self::new(name, width, ranges.into_iter().map(one).collect())
    }

    /// The set made of ranges that must be canonical already: sorted, disjoint, not adjacent. For
    /// decoders.
    pub fn canonical(name: &str, width: u16, ranges: Vec<Range>) -> Result<Self, SetError> {
        check(width, &ranges)?;
        let touches = |w: &[Range]| wide::compare(&successor(width, &w[0].high), &w[1].low).is_ge() || is_max(width, &w[0].high);
        match ranges.windows(2).position(touches) {
            Some(at) => Err(SetError::Order(at)),
            None => Ok(Self { name: name.to_owned(), width, ranges }),
        }
    }

    /// The name in source.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The width of its values in bits.
    pub fn width(&self) -> u16 {
        self.width
    }

    /// The ranges, sorted, disjoint and not adjacent.
    pub fn ranges(&self) -> &[Range] {
        &self.ranges
    }

    /// The ranges as numbers, for widths of at most 64.
    pub fn small_ranges(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.ranges.iter().map(|r| (r.low[0], r.high[0]))
    }

    /// True if the set holds the value.
    pub fn contains(&self, value: &[u64]) -> bool {
        let after = self.ranges.partition_point(|r| wide::compare(&r.low, value).is_le());
        after > 0 && wide::compare(value, &self.ranges[after - 1].high).is_le()
    }
}

fn check(width: u16, ranges: &[Range]) -> Result<(), SetError> {
    if !(1..=wide::MAX_WIDTH).contains(&width) {
        return Err(SetError::Width(width.into()));
    }
    let fits = |v: &[u64]| {
        let mut cut = v.to_vec();
        wide::normalise(width, &mut cut);
        v.len() == wide::limbs(width) && cut == v
    };
    let good = |r: &Range| fits(&r.low) && fits(&r.high) && wide::compare(&r.low, &r.high).is_le();
    ranges.iter().position(|r| !good(r)).map_or(Ok(()), |i| Err(SetError::Range(i)))
}

fn merge(width: u16, mut ranges: Vec<Range>) -> Vec<Range> {
    ranges.sort_by(|a, b| wide::compare(&a.low, &b.low));
    let mut out: Vec<Range> = Vec::with_capacity(ranges.len());
    for r in ranges {
        match out.last_mut() {
            Some(last) if is_max(width, &last.high) || wide::compare(&r.low, &successor(width, &last.high)).is_le() => {
                if wide::compare(&r.high, &last.high).is_gt() {
                    last.high = r.high;
                }
            }
            _ => out.push(r),
        }
    }
    out
}

fn is_max(width: u16, v: &[u64]) -> bool {
    successor(width, v).iter().all(|l| *l == 0)
}

/// The value plus 1, modulo 2^width.
fn successor(width: u16, v: &[u64]) -> Vec<u64> {
    let mut r = v.to_vec();
    for limb in &mut r {
        *limb = limb.wrapping_add(1);
        if *limb != 0 {
            break;
        }
    }
    wide::normalise(width, &mut r);
    r
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_and_adjacent_ranges_become_one() {
        let set = Set::of_ranges("s", 16, [(10, 20), (21, 30), (5, 12), (40, 40)]).unwrap();
        assert_eq!(set.small_ranges().collect::<Vec<_>>(), [(5, 30), (40, 40)]);
        for (v, held) in [(4, false), (5, true), (30, true), (31, false), (40, true), (65535, false)] {
            assert_eq!(set.contains(&[v]), held, "{v}");
        }
    }

    #[test]
    fn the_greatest_value_does_not_wrap() {
        let set = Set::of_values("s", 8, [255, 0, 254]).unwrap();
        assert_eq!(set.small_ranges().collect::<Vec<_>>(), [(0, 0), (254, 255)]);
        assert_eq!(Set::of_values("s", 8, [256]), Err(SetError::Range(0)));
    }

    #[test]
    fn canonical_refuses_what_is_not() {
        let range = |a, b| Range { low: Box::new([a]), high: Box::new([b]) };
        assert!(Set::canonical("s", 8, vec![range(1, 2), range(4, 5)]).is_ok());
        assert_eq!(Set::canonical("s", 8, vec![range(1, 2), range(3, 5)]), Err(SetError::Order(0)));
        assert_eq!(Set::canonical("s", 8, vec![range(1, 255), range(0, 0)]), Err(SetError::Order(0)));
        assert_eq!(Set::canonical("s", 8, vec![range(2, 1)]), Err(SetError::Range(0)));
    }

    #[test]
    fn wide_values() {
        let v = |a, b| vec![a, b].into_boxed_slice();
        let set = Set::new("s", 128, vec![Range { low: v(0, 1), high: v(u64::MAX, 1) }, Range { low: v(0, 2), high: v(5, 2) }]).unwrap();
        assert_eq!(set.ranges().len(), 1);
        assert!(set.contains(&[5, 2]) && !set.contains(&[6, 2]) && !set.contains(&[7, 0]));
    }
}
