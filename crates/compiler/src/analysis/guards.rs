//! Whether each access is guarded: what memory safety of compiled code rests on. For debug builds, after every pass.
//!
//! The token that a load or store takes is that of a check, or of a proof, whose byte ranges together cover those of the access. Addresses are compared as base + offset,
//! as far as sums do not wrap: since their parts are small, or since checks and branches on every way to the access say so ([`super::lengths`]).
//!
//! Left out: that the bytes of a `proved` token do lie inside their memory, which the pass that made it must know.

use super::lengths::Lengths;
use crate::mir::cfg::Cfg;
use crate::mir::{Block, Extent, Func, Op, Value};
use netil::table::Space;

/// Says which access of a function is not guarded, if one is.
///
/// # Errors
/// The access, and its token.
pub(crate) fn check(func: &Func) -> Result<(), String> {
    let cfg = Cfg::new(func);
    let mut guards = Guards { func, fixed: !func.changes_geometry(), lengths: Lengths::default(), wrong: None };
    cfg.walk(&mut guards, |guards, b| guards.enter(&cfg, b), |guards, mark| guards.lengths.back_to(mark));
    guards.wrong.map_or(Ok(()), Err)
}

struct Guards<'a> {
    func: &'a Func,
    /// The packet's length never changes, so that facts about it hold.
    fixed: bool,
    lengths: Lengths,
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
    fn covers(&self, token: Value, (space, addr, offset, bytes): (Space, Value, u32, u32)) -> bool {
        let Some(Op::Check(of, extents) | Op::Proved(of, extents)) = self.func.op(token) else { return false };
        let alike = |e: &Extent| e.addr == addr && e.offset <= offset && u64::from(offset) + u64::from(bytes) <= e.end();
        if *of == space && extents.iter().any(alike) {
            return true;
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
