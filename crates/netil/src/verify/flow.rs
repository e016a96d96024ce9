//! All paths through a handler, by abstract execution with types in place of values.
//!
//! A subroutine is checked once for each different state it is called in (types, known constants,
//! written locals), as if it were inlined there; results are remembered. That is exact, needs no
//! signatures, and is what back ends do with calls.

use super::effects::{PathState, apply};
use super::{Facts, Limits, Reason, VerifyError};
use crate::module::{Handler, HandlerKind, Inst, Module};
use crate::table::Op;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Different states in which subroutines are entered, over the whole handler.
const MAX_INSTANCES: usize = 1024;
/// Stack elements looked at over the whole handler: bounds the time that hostile code can ask for.
const MAX_WORK: u64 = 1 << 27;
/// Stack elements kept at a time, at about 12 bytes: bounds the memory.
const MAX_KEPT: u64 = 1 << 23;

pub(super) fn check(module: &Module, kind: HandlerKind, handler: &Handler, limits: &Limits) -> Result<Facts, VerifyError> {
    let n = handler.code.len();
    let facts = Facts { widths: vec![[0; 2]; n], reachable: vec![false; n], inlined_code: 0 };
    let mut leaders = vec![false; n];
    handler.code.iter().flat_map(Inst::targets).for_each(|t| leaders[t as usize] = true);
    let mut flow = Flow {
        module,
        kind,
        handler,
        limits,
        facts,
        leaders,
        shared: module.shared_size(),
        work: 0,
        kept: 0,
        instances: HashMap::new(),
        active: Vec::new(),
    };
    let mut start = PathState { stack: Vec::new(), written: vec![false; handler.locals.len()] };
    if kind != HandlerKind::Init {
        start.push(32);
    }
    let done = flow.routine(0, start)?;
    flow.facts.inlined_code = done.size;
    Ok(flow.facts)
}

/// The result of a subroutine entered in one state.
#[derive(Clone)]
struct Done {
    /// The state after its `ret`; none if it never returns.
    exit: Option<PathState>,
    /// Instructions with calls inlined.
    size: u32,
    /// How deep calls nest in it.
    depth: u32,
}

struct Flow<'a> {
    module: &'a Module,
    kind: HandlerKind,
    handler: &'a Handler,
    limits: &'a Limits,
    facts: Facts,
    /// Instructions where paths may meet: only their states are kept.
    leaders: Vec<bool>,
    /// Bytes of shared memory.
    shared: u32,
    work: u64,
    kept: u64,
    instances: HashMap<(u32, PathState), Done>,
    active: Vec<u32>,
}

/// One subroutine (or the handler itself) being checked.
#[derive(Default)]
struct Walk {
    states: BTreeMap<u32, PathState>,
    seen: HashSet<u32>,
    work: Vec<u32>,
    exit: Option<PathState>,
    calls: BTreeMap<u32, u32>,
    /// How deep calls nest.
    depth: u32,
}

impl Flow<'_> {
    fn error(&self, at: u32, reason: Reason) -> VerifyError {
        VerifyError::at(self.module, self.kind, at, reason)
    }

    fn routine(&mut self, entry: u32, start: PathState) -> Result<Done, VerifyError> {
        let (mut walk, kept) = (Walk::default(), self.kept);
        self.meet(&mut walk, entry, entry, start)?;
        while let Some(at) = walk.work.pop() {
            let mut next = Some((at, walk.states[&at].clone()));
            while let Some((at, s)) = next {
                next = self.step(&mut walk, at, s)?;
            }
        }
        self.kept = kept;
        let size = walk.calls.values().fold(walk.seen.len() as u32, |sum, s| sum.saturating_add(*s));
        if size > self.limits.inlined_code {
            return Err(self.error(entry, Reason::TooLarge("code with calls inlined", size.into(), self.limits.inlined_code.into())));
        }
        Ok(Done { exit: walk.exit, size, depth: walk.depth })
    }

    /// Executes one instruction; gives the next one and its state if only this path leads there.
    fn step(&mut self, walk: &mut Walk, at: u32, mut s: PathState) -> Result<Option<(u32, PathState)>, VerifyError> {
        let handler = self.handler;
        let inst = &handler.code[at as usize];
        self.facts.reachable[at as usize] = true;
        walk.seen.insert(at);
        self.spend(at, s.weight())?;
        let widths = apply(self.module, self.shared, handler, inst, &mut s).map_err(|r| self.error(at, r))?;
        self.record(at, widths)?;
        if s.stack.len() > handler.max_stack as usize {
            return Err(self.error(at, Reason::Overflow(handler.max_stack)));
        }
        match inst.op {
            op if op.is_call() => self.call(walk, at, inst, s),
            Op::Ret => self.ret(walk, at, s).map(|()| None),
            _ => self.go_on(walk, at, inst, s),
        }
    }

    fn spend(&mut self, at: u32, weight: u64) -> Result<(), VerifyError> {
        self.work += weight;
        if self.work > MAX_WORK { Err(self.error(at, Reason::TooLarge("work to verify", self.work, MAX_WORK))) } else { Ok(()) }
    }

    fn keep(&mut self, at: u32, weight: u64) -> Result<(), VerifyError> {
        self.kept += weight;
        if self.kept > MAX_KEPT { Err(self.error(at, Reason::TooLarge("stack elements at joins", self.kept, MAX_KEPT))) } else { Ok(()) }
    }

    fn go_on(&mut self, walk: &mut Walk, at: u32, inst: &Inst, s: PathState) -> Result<Option<(u32, PathState)>, VerifyError> {
        for target in inst.targets() {
            self.meet(walk, at, target, s.clone())?;
        }
        if inst.op.ends_block() { Ok(None) } else { self.fall_through(walk, at, s) }
    }

    fn fall_through(&mut self, walk: &mut Walk, at: u32, s: PathState) -> Result<Option<(u32, PathState)>, VerifyError> {
        match self.leaders.get(at as usize + 1) {
            Some(false) => Ok(Some((at + 1, s))),
            _ => self.meet(walk, at, at + 1, s).map(|()| None),
        }
    }

    fn call(&mut self, walk: &mut Walk, at: u32, inst: &Inst, s: PathState) -> Result<Option<(u32, PathState)>, VerifyError> {
        let done = self.instance(at, inst.imm[0], s)?;
        walk.calls.insert(at, done.size);
        walk.depth = walk.depth.max(done.depth + 1);
        match done.exit {
            Some(after) => self.fall_through(walk, at, after),
            None => Ok(None),
        }
    }

    fn instance(&mut self, at: u32, entry: u32, s: PathState) -> Result<Done, VerifyError> {
        if self.active.contains(&entry) {
            return Err(self.error(at, Reason::Recursion));
        }
        if self.active.len() >= self.limits.call_depth as usize {
            return Err(self.error(at, Reason::CallDepth(self.limits.call_depth)));
        }
        let key = (entry, s.clone());
        if let Some(done) = self.instances.get(&key) {
            // What was checked from a shallower place nests from here on.
            return match self.active.len() as u32 + 1 + done.depth > self.limits.call_depth {
                true => Err(self.error(at, Reason::CallDepth(self.limits.call_depth))),
                false => Ok(done.clone()),
            };
        }
        if self.instances.len() >= MAX_INSTANCES {
            return Err(self.error(at, Reason::TooLarge("number of different calls", MAX_INSTANCES as u64 + 1, MAX_INSTANCES as u64)));
        }
        self.active.push(entry);
        let done = self.routine(entry, s)?;
        self.active.pop();
        self.instances.insert(key, done.clone());
        Ok(done)
    }

    /// In a subroutine the state goes back to the caller; in the handler the top of the stack is
    /// the verdict.
    fn ret(&mut self, walk: &mut Walk, at: u32, s: PathState) -> Result<(), VerifyError> {
        if self.active.is_empty() {
            return match s.stack.last() {
                Some(top) if top.width != 32 => Err(self.error(at, Reason::Type(32, top.width, 1))),
                _ => Ok(()),
            };
        }
        let joined = match &walk.exit {
            None => Some(s),
            Some(old) => old.join(&s).map_err(|r| self.error(at, r))?,
        };
        walk.exit = joined.or(walk.exit.take());
        Ok(())
    }

    fn meet(&mut self, walk: &mut Walk, from: u32, to: u32, s: PathState) -> Result<(), VerifyError> {
        if to as usize >= self.handler.code.len() {
            return Err(self.error(from, Reason::FallsOff));
        }
        self.spend(from, s.weight())?;
        let joined = match walk.states.get(&to) {
            None => {
                self.keep(from, s.weight())?;
                Some(s)
            }
            Some(old) => old.join(&s).map_err(|r| self.error(to, r))?,
        };
        if let Some(joined) = joined {
            walk.states.insert(to, joined);
            walk.work.push(to);
        }
        Ok(())
    }

    fn record(&mut self, at: u32, widths: [u16; 2]) -> Result<(), VerifyError> {
        let known = self.facts.widths[at as usize];
        if known != [0; 2] && known != widths {
            return Err(self.error(at, Reason::Polymorphic(known, widths)));
        }
        self.facts.widths[at as usize] = widths;
        Ok(())
    }
}
