//! Whether each access is guarded: what memory safety of compiled code rests on. For debug builds,
//! after every pass.
//!
//! The token that a load or store takes is that of a check, or of a proof, whose byte ranges
//! together cover those of the access. Addresses are compared as base + offset, as far as sums do
//! not wrap: since their parts are small, or since checks and branches on every way to the access
//! say so ([`super::lengths`]).
//!
//! Left out: that the bytes of a `proved` token do lie inside their memory, which the pass that
//! made it must know; accesses of checks of more than [`MOST`] ranges whose address is another
//! value than those of the ranges.

use super::lengths::Lengths;
use crate::mir::cfg::Cfg;
use crate::mir::{Block, Extent, Func, Op, Value};
use netil::table::Space;
use std::collections::HashMap;

/// Ranges of a check that are looked through for each access; of more, they are looked up by
/// address.
const FEW: usize = 16;
/// Ranges of a check whose addresses are compared as sums.
const MOST: usize = 4096;

/// Says which access of a function is not guarded, if one is.
///
/// # Errors
/// The access, and its token.
pub(crate) fn check(func: &Func) -> Result<(), String> {
    let cfg = Cfg::new(func);
    let mut guards = Guards { func, fixed: !func.changes_geometry(), lengths: Lengths::default(), large: HashMap::new(), wrong: None };
    cfg.walk(&mut guards, |guards, b| guards.enter(&cfg, b), |guards, mark| guards.lengths.back_to(mark));
    guards.wrong.map_or(Ok(()), Err)
}

struct Guards<'a> {
    func: &'a Func,
    /// The packet's length never changes, so that facts about it hold.
    fixed: bool,
    lengths: Lengths,
    /// By token with many ranges and address, the ranges: sorted, and apart.
    large: HashMap<(Value, Value), Vec<(u64, u64)>>,
    wrong: Option<String>,
}

impl Guards<'_> {
    /// Gives the mark of what was known before.
    fn enter(&mut self, cfg: &Cfg, b: Block) -> usize {
        let mark = self.lengths.mark();
        if self.fixed {
            self.lengths.enter(self.func, cfg, b);
        }
        for v in &self.func.block(b).ops {
            self.op(*v);
        }
        mark
    }

    fn op(&mut self, v: Value) {
        let bytes = |v: Value| u32::from(self.func.width(v) / 8);
        let (access, token) = match self.func.op(v) {
            Some(Op::Load(space, _, addr, offset, token)) => ((*space, *addr, *offset, bytes(v)), *token),
            Some(Op::Store(space, _, addr, offset, value, token)) => ((*space, *addr, *offset, bytes(*value)), *token),
            Some(Op::Check(Space::Packet, extents) | Op::Proved(Space::Packet, extents)) if self.fixed => {
                return self.lengths.checked(self.func, extents);
            }
            _ => return,
        };
        if !self.covers(token, access) {
            let (space, addr, offset, bytes) = access;
            let why = || format!("{v:?}: {token:?} does not cover {space:?} [{addr:?} + {offset}]:{bytes}");
            self.wrong.get_or_insert_with(why);
        }
    }

    /// Whether a token covers all bytes of an access: space, address, offset, bytes.
    fn covers(&mut self, token: Value, (space, addr, offset, bytes): (Space, Value, u32, u32)) -> bool {
        let func = self.func;
        let Some(Op::Check(of, extents) | Op::Proved(of, extents)) = func.op(token) else { return false };
        let range = (u64::from(offset), u64::from(offset) + u64::from(bytes));
        if *of == space && self.has(token, extents, addr, range) {
            return true;
        }
        if extents.len() > MOST {
            return *of == space;
        }
        let place = |addr: Value, offset: u32| {
            let form = self.lengths.linear(self.func, addr);
            (form.base, form.offset + u64::from(offset))
        };
        let (base, first) = place(addr, offset);
        let checked = extents.iter().map(|e| (place(e.addr, e.offset), e.size));
        let mut ranges: Vec<(u64, u64)> =
            checked.filter(|((of, _), _)| *of == base).map(|((_, at), size)| (at, at + u64::from(size))).collect();
        ranges.sort_unstable();
        let end = ranges.iter().fold(first, |end, (from, to)| if *from <= end { end.max(*to) } else { end });
        *of == space && end >= first + u64::from(bytes)
    }
}

impl Guards<'_> {
    /// Whether a range behind an address is in one of a token's ranges behind the same.
    fn has(&mut self, token: Value, extents: &[Extent], addr: Value, (from, to): (u64, u64)) -> bool {
        if extents.len() <= FEW {
            return extents.iter().any(|e| e.addr == addr && u64::from(e.offset) <= from && to <= e.end());
        }
        // Once for each token: then there is an entry for the address of its first range.
        if !self.large.contains_key(&(token, extents[0].addr)) {
            let mut by_address: HashMap<Value, Vec<(u64, u64)>> = HashMap::new();
            for e in extents {
                by_address.entry(e.addr).or_default().push((u64::from(e.offset), e.end()));
            }
            by_address.values_mut().for_each(apart);
            self.large.extend(by_address.into_iter().map(|(addr, ranges)| ((token, addr), ranges)));
        }
        let Some(ranges) = self.large.get(&(token, addr)) else { return false };
        let at = ranges.partition_point(|(first, _)| *first <= from);
        at > 0 && to <= ranges[at - 1].1
    }
}

/// Sorts ranges, and makes one of those that touch.
fn apart(ranges: &mut Vec<(u64, u64)>) {
    ranges.sort_unstable();
    ranges.dedup_by(|next, before| {
        let touch = next.0 <= before.1;
        if touch {
            before.1 = before.1.max(next.1);
        }
        touch
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mir::{Order, Terminator, Type};
    use netil::exec::DropReason;
    use netil::module::HandlerKind;

    /// A load of so many bytes from there, with a check of those of the packet.
    fn guarded(checked: &[(u32, u32)], (space, offset, bytes): (Space, u32, u16)) -> Result<(), String> {
        let mut func = Func { kind: HandlerKind::Push, blocks: Vec::new(), values: Vec::new(), module_sets: 0, sets: Vec::new() };
        let b = func.new_block(&[Type::Int(32)]);
        let (ten, twelve) = (func.append(b, Type::Int(32), Op::Const(10)), func.append(b, Type::Int(32), Op::Const(12)));
        let extents = checked.iter().map(|(offset, size)| Extent { addr: ten, offset: *offset, size: *size, site: 0 }).collect();
        let token = func.append(b, Type::Token, Op::Check(Space::Packet, extents));
        func.append(b, Type::Int(8 * bytes), Op::Load(space, Order::Big, twelve, offset, token));
        func.block_mut(b).end = Terminator::Drop(DropReason::Verdict);
        check(&func)
    }

    #[test]
    fn ranges_of_large_checks_are_looked_up() {
        // Behind 12, which is what the load adds to: of each eight bytes the first four, and the
        // last eight whole.
        let check = |(offset, bytes): (u32, u16)| {
            let mut func = Func { kind: HandlerKind::Push, blocks: Vec::new(), values: Vec::new(), module_sets: 0, sets: Vec::new() };
            let b = func.new_block(&[Type::Int(32)]);
            let twelve = func.append(b, Type::Int(32), Op::Const(12));
            let mut extents: Vec<_> = (0..40).map(|k| Extent { addr: twelve, offset: 8 * k, size: 4, site: 0 }).collect();
            extents.push(Extent { addr: twelve, offset: 8 * 39 + 4, size: 4, site: 0 });
            let token = func.append(b, Type::Token, Op::Check(Space::Packet, extents.into()));
            func.append(b, Type::Int(8 * bytes), Op::Load(Space::Packet, Order::Big, twelve, offset, token));
            func.block_mut(b).end = Terminator::Drop(DropReason::Verdict);
            check(&func)
        };
        for covered in [(0, 4), (160, 2), (162, 2), (312, 8), (314, 4)] {
            assert_eq!(check(covered), Ok(()));
        }
        for beyond in [(4, 1), (162, 4), (316, 8), (400, 1)] {
            assert!(check(beyond).is_err(), "{beyond:?}");
        }
    }

    #[test]
    fn a_token_covers_the_bytes_that_its_check_tests() {
        assert_eq!(guarded(&[(2, 4)], (Space::Packet, 0, 4)), Ok(()));
        assert_eq!(guarded(&[(8, 2), (2, 2), (4, 2)], (Space::Packet, 0, 4)), Ok(()));
        for (checked, access) in [
            (&[(2, 4)][..], (Space::Packet, 1, 4)),
            (&[(3, 4)], (Space::Packet, 0, 4)),
            (&[(2, 2), (5, 1)], (Space::Packet, 0, 4)),
            (&[(2, 4)], (Space::Data, 0, 4)),
            (&[], (Space::Packet, 0, 1)),
        ] {
            assert!(guarded(checked, access).is_err_and(|why| why.contains("does not cover")), "{checked:?} {access:?}");
        }
    }
}
