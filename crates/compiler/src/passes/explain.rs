//! What the passes did, in words: sizes before and after, what passes noted, and how each set and
//! switch that is left is tested.

use super::{Context, Options};
use crate::mir::cfg::Cfg;
use crate::mir::{Func, Op, Terminator};
use crate::{sets, switches};
use netil::Module;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::fmt;

/// What one pass did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    /// Its name.
    pub pass: &'static str,
    /// The function's size before.
    pub before: Size,
    /// And after.
    pub after: Size,
    /// True if it changed anything.
    pub changed: bool,
    /// What it did and why, a sentence each.
    pub notes: Vec<String>,
}

/// How much of what a function has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Reachable blocks.
    pub blocks: usize,
    /// Operations in them that cost something: constants and tokens that are known do not.
    pub operations: usize,
    /// Loads among them.
    pub loads: usize,
    /// Bounds checks among them.
    pub checks: usize,
    /// Branches and switches.
    pub branches: usize,
}

impl Size {
    /// Of a function.
    pub fn of(func: &Func) -> Self {
        let cfg = Cfg::new(func);
        let mut size = Self { blocks: cfg.order.len(), ..Self::default() };
        for data in cfg.order.iter().map(|b| func.block(*b)) {
            size.branches += usize::from(matches!(data.end, Terminator::Branch(..) | Terminator::Switch(..) | Terminator::SendBy(..)));
            for op in data.ops.iter().filter_map(|v| func.op(*v)) {
                size.operations += usize::from(!matches!(op, Op::Const(_) | Op::WideConst(_) | Op::Proved(..)));
                size.loads += usize::from(matches!(op, Op::Load(..)));
                size.checks += usize::from(matches!(op, Op::Check(..)));
            }
        }
        size
    }
}

impl fmt::Display for Explained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (a, b) = (self.before, self.after);
        let counts = [
            ("blocks", a.blocks, b.blocks),
            ("branches", a.branches, b.branches),
            ("operations", a.operations, b.operations),
            ("loads", a.loads, b.loads),
            ("checks", a.checks, b.checks),
        ];
        let differ = counts.iter().filter(|(_, a, b)| a != b).map(|(name, a, b)| format!("{name} {a} → {b}"));
        let told = differ.collect::<Vec<_>>().join(", ");
        let told = match (told.is_empty(), self.changed) {
            (false, _) => told,
            (true, true) => "the same, written otherwise".to_owned(),
            (true, false) => "nothing to do".to_owned(),
        };
        write!(f, "{:<12}{told}", self.pass)?;
        self.notes.iter().try_for_each(|note| write!(f, "\n{:<12}- {note}", ""))
    }
}

/// How each set and each switch of a function is tested, and why.
pub fn tests(func: &Func, module: &Module) -> Vec<String> {
    let cfg = Cfg::new(func);
    let ops = || cfg.order.iter().flat_map(|b| &func.block(*b).ops).filter_map(|v| func.op(*v));
    let used: BTreeSet<u32> = ops().filter_map(|op| if let Op::SetHas(set, _) = op { Some(*set) } else { None }).collect();
    let of_set = |set: u32| format!("set{set} '{}': {}", func.set(module, set).name(), sets::why(func.set(module, set)));
    let mut told: Vec<String> = used.into_iter().map(of_set).collect();
    for b in &cfg.order {
        if let Terminator::Switch(key, cases, _) = &func.block(*b).end {
            let mut places = HashMap::new();
            let numbered = cases.iter().map(|(key, e)| {
                let next = places.len();
                (*key, *places.entry(e).or_insert(next))
            });
            let ranges = switches::ranges(numbered);
            told.push(format!("switch of {key:?} in {b:?}: {}", switches::SwitchLowering::choose(&ranges, true).why(&ranges)));
        }
    }
    told
}

/// Runs the pipeline, and says of each pass what it did.
pub fn explain(func: &mut Func, context: &Context<'_>, options: &Options) -> Vec<Explained> {
    let mut told = Vec::new();
    for pass in options.passes() {
        let (before, text) = (Size::of(func), func.to_string());
        let notes = RefCell::default();
        (pass.run)(func, &Context { notes: Some(&notes), ..*context });
        told.push(Explained {
            pass: pass.name,
            before,
            after: Size::of(func),
            changed: func.to_string() != text,
            notes: notes.into_inner(),
        });
    }
    told
}
