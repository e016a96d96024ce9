//! Checks MIR's invariants: for tests, fuzzing and debug builds, after translation and after every
//! pass. That tokens cover the accesses which take them is checked by `analysis::guards`.

use super::cfg::{Cfg, DominatorTree};
use super::{Block, Def, Func, Op, Terminator, Type, Value};

/// Says what is wrong with a function, if anything.
pub fn check(func: &Func) -> Result<(), String> {
    let cfg = Cfg::new(func);
    let mut place = vec![None; func.values.len()];
    for b in &cfg.order {
        let data = func.block(*b);
        for (i, v) in data.params.iter().chain(&data.ops).enumerate() {
            if place[v.0 as usize].replace((*b, i)).is_some() {
                return Err(format!("{v:?} is defined twice"));
            }
        }
    }
    let checker = Checker { func, tree: DominatorTree::new(&cfg), place };
    cfg.order.iter().try_for_each(|b| checker.block(*b))
}

struct Checker<'a> {
    func: &'a Func,
    tree: DominatorTree,
    place: Vec<Option<(Block, usize)>>,
}

impl Checker<'_> {
    fn block(&self, b: Block) -> Result<(), String> {
        let data = self.func.block(b);
        for (i, v) in data.ops.iter().enumerate() {
            let Def::Op(op) = &self.func.values[v.0 as usize].def else { return Err(format!("{v:?} in {b:?} is not an operation")) };
            let mut wrong = None;
            op.operands(|u| wrong = wrong.take().or(self.used(u, b, data.params.len() + i)));
            wrong = wrong.or(self.types(*v, op));
            if let Some(wrong) = wrong {
                return Err(format!("{v:?} = {op} in {b:?}: {wrong}"));
            }
        }
        let mut wrong = None;
        data.end.values(|u| wrong = wrong.take().or(self.used(u, b, usize::MAX)));
        wrong = wrong.or_else(|| data.end.edges().iter().find_map(|e| self.edge(e)));
        if let Terminator::Branch(c, ..) = data.end
            && self.func.ty(c) != Type::Int(1)
        {
            wrong = Some(format!("{c:?} is not an i1"));
        }
        wrong.map_or(Ok(()), |w| Err(format!("end of {b:?}: {w}")))
    }

    fn edge(&self, e: &super::Edge) -> Option<String> {
        let params = &self.func.block(e.block).params;
        let types = |vs: &[Value]| vs.iter().map(|v| self.func.ty(*v)).collect::<Vec<_>>();
        (types(params) != types(&e.args)).then(|| format!("arguments {:?} do not fit {:?}", e.args, e.block))
    }

    fn used(&self, u: Value, b: Block, at: usize) -> Option<String> {
        match self.place[u.0 as usize] {
            None => Some(format!("{u:?} is not defined in a reachable block")),
            Some((d, i)) if d == b && i < at => None,
            Some((d, _)) if d != b && self.tree.dominates(d, b) => None,
            Some((d, _)) => Some(format!("{u:?} of {d:?} does not dominate its use")),
        }
    }

    fn types(&self, v: Value, op: &Op) -> Option<String> {
        let width = |v: Value| self.func.width(v);
        let token = |t: Value| self.func.ty(t) == Type::Token;
        let r = width(v);
        let good = match op {
            Op::Bin(op, a, b) if op.is_shift() => width(*a) == r && width(*b) == 32,
            Op::Bin(_, a, b) => width(*a) == r && width(*b) == r,
            Op::Div(_, a, b, t) => {
                width(*a) == r && width(*b) == r && matches!(self.func.op(*t), Some(Op::NonZero(tested, _)) if tested == b)
            }
            Op::Cmp(_, a, b) => r == 1 && width(*a) == width(*b),
            Op::Un(_, a) => width(*a) == r,
            Op::Zext(a) | Op::Sext(a) => width(*a) < r && width(*a) > 0,
            Op::Trunc(a) => width(*a) > r,
            Op::Slice(a, low) => u32::from(*low) + u32::from(r) <= u32::from(width(*a)),
            Op::Concat(a, b) => u32::from(width(*a)) + u32::from(width(*b)) == u32::from(r),
            Op::Select(c, a, b) => width(*c) == 1 && width(*a) == r && width(*b) == r,
            Op::Load(_, _, a, _, t) => width(*a) == 32 && r.is_multiple_of(8) && token(*t),
            Op::Store(_, _, a, _, x, t) => width(*a) == 32 && width(*x).is_multiple_of(8) && token(*t),
            Op::Check(_, extents) => extents.iter().all(|e| width(e.addr) == 32) && self.func.ty(v) == Type::Token,
            _ => true,
        };
        (!good).then(|| "types do not fit".to_owned())
    }
}
