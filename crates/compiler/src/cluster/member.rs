//! The plan of one member: where its fast path exits to the slow path, which calls of the runtime
//! the slow path makes, what the fast path may spend, and what it leaves out.
//!
//! All of that is known before code is made of either form, and so does not depend on the order in
//! which forms are printed or lowered.

use super::dead_work::DeadWork;
use super::key_cache::{self, KeyCache};
use super::tables::{Access, access};
use super::{Member, Options, ops, ports};
use crate::analysis::liveness;
use crate::mir::cfg::Cfg;
use crate::mir::states::States;
use crate::mir::{Block, Call, FastPath, Func, Helper, Op, Value};
use netil::exec::DropReason;
use netil::module::Table;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The most that the fast path may spend on one run of bytes: more than a packet has.
const DEAREST: u32 = 258;

/// What code of a member is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Whatever there is to do.
    Slow,
    /// What is done mostly, for packets that have just arrived, a budget that cannot run out, and
    /// tables that lie in memory; else it exits to the slow path.
    Fast,
    /// The prefetch slice: it ends where the element would, and writes nothing that lasts.
    Prefetch,
}

/// In which forms copies are made without the runtime.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Made {
    pub slow: bool,
    pub fast: bool,
}

/// Where a member is among all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemberLayout {
    /// The number of its first table among those of all members.
    pub tables: u32,
    /// The number of its first place in the key cache.
    pub keys: u32,
    /// Its fast path is a function of its own.
    pub outlined: bool,
    pub copies: Made,
}

/// What is decided about a member.
pub(crate) struct MemberPlan {
    pub place: MemberLayout,
    pub keys: KeyCache,
    /// Its first port and how many there are, if what follows is looked up by their numbers: then a
    /// drop can be a number, too, that behind the last.
    pub by_exit: Option<(u32, u32)>,
    /// The port that most packets leave by, if it is known.
    pub hot_port: Option<u32>,
    /// What each operation that may call the runtime, and all behind it, uses.
    pub live: HashMap<Value, Vec<Value>>,
    /// What the fast path need not do.
    pub dead: DeadWork,
    /// It counts branches back, so that the budget may run out.
    pub loops: bool,
    /// Operations before which the fast path may exit, and the slow path is re-entered.
    pub side_exits: BTreeSet<Value>,
    /// Blocks that the fast path comes to, each with the operation before which it exits in any
    /// case, if there is one.
    pub fast: BTreeMap<u32, Option<Value>>,
    /// The slow path's calls, and those of the prefetch slice.
    pub calls: Calls,
    pub slice_calls: Calls,
    /// The budget with which the fast path may run.
    pub budget: u32,
    /// Why packets are dropped to which the fast path gives the number behind its last port.
    pub dropped: Option<DropReason>,
}

impl MemberPlan {
    pub(super) fn of(
        member: &Member<'_>,
        place: MemberLayout,
        (by_exit, hot_port): (Option<(u32, u32)>, Option<u32>),
        slice: Option<&Func>,
        options: Options,
    ) -> Self {
        let (func, tables) = (&member.func, &member.program.module().tables);
        let keys = slice.map_or_else(KeyCache::default, |slice| key_cache::places(slice, tables, options.prefetch_above, place.keys));
        let mut dead = DeadWork::of(func);
        dead.silent_stores.retain(|_| options.silent_stores);
        let calls = |func: &Func, form| Calls::of(func, form, tables);
        let fast = reached(func);
        let dropped = by_exit.and_then(|ports| dropped(func, ports));
        Self {
            place,
            keys,
            by_exit,
            hot_port,
            live: liveness::before_helpers(func),
            dead,
            loops: ops(func).any(|op| matches!(op, Op::Budget(..))),
            side_exits: side_exits(func, &fast, tables),
            fast,
            calls: calls(func, Form::Slow),
            slice_calls: slice.map_or_else(Calls::default, |slice| calls(slice, Form::Prefetch)),
            budget: charges(func, place.copies).saturating_mul(DEAREST),
            dropped,
        }
    }
}

/// Calls of the runtime.
#[derive(Default)]
pub(crate) struct Calls {
    pub all: Vec<Call>,
    numbers: HashMap<Value, usize>,
}

impl Calls {
    fn of(func: &Func, form: Form, tables: &[Table]) -> Self {
        let mut calls = Self::default();
        for (v, helper, args) in by_runtime(func, form, tables) {
            calls.numbers.insert(v, calls.all.len());
            calls.all.push(call_of(func, v, helper, args));
        }
        calls
    }

    /// The number of an operation's call, and the call.
    pub fn of_op(&self, v: Value) -> Option<(usize, Call)> {
        self.numbers.get(&v).map(|number| (*number, self.all[*number]))
    }
}

/// The call for a helper.
fn call_of(func: &Func, v: Value, helper: Helper, args: &[Value]) -> Call {
    if !helper.is_wide() {
        return Call::Helper(helper, args.len());
    }
    let mut widths = [0; 2];
    widths.iter_mut().zip(args).for_each(|(width, a)| *width = func.width(*a));
    Call::Wide(helper, widths, func.width(v))
}

/// Blocks up to operations that the fast path never does. What is behind them is the slow path's: a
/// search often stands before most of a handler.
fn reached(func: &Func) -> BTreeMap<u32, Option<Value>> {
    let exits = |v: &Value| matches!(func.op(*v), Some(Op::Helper(helper, ..)) if helper.row().fast == FastPath::Runtime);
    let (mut reached, mut open) = (BTreeMap::new(), vec![Block(0)]);
    while let Some(block) = open.pop() {
        if reached.contains_key(&block.0) {
            continue;
        }
        let exit = func.block(block).ops.iter().copied().find(exits);
        if exit.is_none() {
            open.extend(func.block(block).end.targets());
        }
        reached.insert(block.0, exit);
    }
    reached
}

/// Operations that the fast path comes to and may leave to the runtime.
fn side_exits(func: &Func, fast: &BTreeMap<u32, Option<Value>>, tables: &[Table]) -> BTreeSet<Value> {
    let ops = |(block, exit): (&u32, &Option<Value>)| {
        let ops = &func.block(Block(*block)).ops;
        let count = exit.and_then(|exit| ops.iter().position(|v| *v == exit)).map_or(ops.len(), |at| at + 1);
        ops.iter().take(count)
    };
    let reached: BTreeSet<&Value> = fast.iter().flat_map(ops).collect();
    by_runtime(func, Form::Fast, tables).map(|(v, ..)| v).filter(|v| reached.contains(v)).collect()
}

/// The helpers of a handler that a form leaves to the runtime, always or sometimes, in the order of
/// blocks.
fn by_runtime<'f>(func: &'f Func, form: Form, tables: &'f [Table]) -> impl Iterator<Item = (Value, Helper, &'f [Value])> {
    let order = Cfg::new(func).order;
    let values = order.into_iter().flat_map(|block| &func.block(block).ops);
    let helper = |v: &Value| if let Op::Helper(helper, args, _) = func.op(*v)? { Some((*v, *helper, &args[..])) } else { None };
    values.filter_map(helper).filter(move |(_, helper, args)| may_call(*helper, args.len(), form, tables))
}

/// Whether a form may leave a helper to the runtime.
fn may_call(helper: Helper, args: usize, form: Form, tables: &[Table]) -> bool {
    let access = |table: u32| tables.get(table as usize).and_then(access);
    match (helper.row().fast, helper) {
        (FastPath::InPlace, Helper::Hash) => args == 0,
        (FastPath::InPlace, _) => false,
        // The slow path tells tables any time.
        (FastPath::MayExit, Helper::SetTime) => form == Form::Fast,
        (FastPath::MayExit, Helper::PushHead) => form != Form::Prefetch,
        (FastPath::MayExit | FastPath::Runtime, _) => true,
        (FastPath::Lookup(table), _) => match form {
            Form::Slow => true,
            Form::Fast => !matches!(access(table), Some(Access::Prefix(_) | Access::LongPrefix(_))),
            Form::Prefetch => false,
        },
        (FastPath::Entry(table), _) => form != Form::Fast || access(table).is_none(),
    }
}

/// How often the fast path takes the price of a run of bytes from the budget.
fn charges(func: &Func, made: Made) -> u32 {
    let order = Cfg::new(func).order;
    let values = order.iter().flat_map(|block| &func.block(*block).ops);
    let charged = |v: &&Value| match func.op(**v) {
        Some(Op::Helper(Helper::SendCopy(_), ..)) => made.fast,
        Some(Op::Helper(helper, ..)) => {
            helper.row().writes.meets(States::BUDGET) && matches!(helper.row().fast, FastPath::InPlace | FastPath::MayExit)
        }
        _ => false,
    };
    values.filter(charged).count() as u32
}

/// Why packets are dropped that may get a number like a port's instead: one reason, the first of
/// the handler.
fn dropped(func: &Func, by_exit: (u32, u32)) -> Option<DropReason> {
    let reason = |block| ports::or_drop(func, block).filter(|of| (of.first, of.count) == by_exit).map(|of| of.reason);
    Cfg::new(func).order.into_iter().find_map(reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::passes;
    use netil::asm::assemble;
    use netil::module::HandlerKind;

    /// The helpers that the fast path exits before.
    fn exits(code: &str) -> Vec<Helper> {
        let head = "segment .metadata .use_coprocessor stringmatching as s ends segment .ports push_input a push_output b ends";
        let program = netil::verify(assemble(&format!("{head} segment .push pop {code} pkt.send b ends"), "").unwrap()).unwrap();
        let (func, _) = crate::optimised(&program, HandlerKind::Push, &passes::Options::default()).unwrap().unwrap();
        let helper = |v: &Value| if let Some(Op::Helper(helper, ..)) = func.op(*v) { Some(*helper) } else { None };
        side_exits(&func, &reached(&func), &[]).iter().filter_map(helper).collect()
    }

    #[test]
    fn the_fast_path_exits_before_what_it_comes_to() {
        let search = "copro.exbuf s, 0 copro.invoke s, 1 copro.in s, 0 j.eq none push 1 copro.out s, 1 none:";
        assert_eq!(exits(search), [Helper::CoproShow(0)]);
        // One of two ways is the fast path's own.
        assert_eq!(exits(&format!("push 0 upload.8 j.eq none {search}")), [Helper::CoproShow(0)]);
        let both = "push 0 upload.8 j.eq other copro.exbuf s, 0 jump on other: copro.invoke s, 0 on: push 2 copro.out s, 1";
        assert_eq!(exits(both), [Helper::CoproShow(0), Helper::CoproInvoke(0, 0)]);
        assert_eq!(exits("push 0 upload.8 j.eq on copro.exbuf s, 0 on: push 2 copro.out s, 1").len(), 2);
    }

    /// A value is put together of one that was put together before the call, and of a field: in C,
    /// of all three fields.
    #[test]
    fn parts_of_what_is_put_together_behind_a_call_are_handed_over() {
        let text = "segment .metadata .use_coprocessor stringmatching as s ends segment .ports push_input a push_output b ends
            segment .push .maxstacksize 8 pop push 0 spload.32 push 4 spload.32 w.concat 32, 32 push 8 spload.32
            copro.exbuf s, 0 copro.invoke s, 0 w.concat 64, 32 push 20 w.pstore 96 pkt.send b ends";
        let program = netil::verify(assemble(text, "").unwrap_or_else(|e| panic!("{e:?}"))).unwrap();
        let (func, _) = crate::optimised(&program, HandlerKind::Push, &passes::Options::default()).unwrap().unwrap();
        let live = liveness::before_helpers(&func);
        let calls = live.iter().filter(|(v, _)| matches!(func.op(**v), Some(Op::Helper(Helper::CoproInvoke(..), ..))));
        let loads = |all: &[Value]| all.iter().filter(|v| matches!(func.op(**v), Some(Op::Load(..)))).count();
        assert_eq!(calls.map(|(_, all)| loads(all)).collect::<Vec<_>>(), [3]);
    }
}
