//! Reads of headers that may be invalid: every way through the parsers and controls of the program
//! is followed, with what is known of headers and scalars on it.
//!
//! A field that is read where its header is invalid on some way is told, with such a way. In an
//! action of a table with keys it is told only if the header is invalid on all ways, as entries may
//! see to it that the action meets the right packets; so it is for headers whose `isValid()` is
//! among the keys.
//!
//! Left out: packets that end in the middle of a header and others that the parser rejects;
//! elements of stacks; clones; what is passed to externs as a whole; writes. Values that two
//! conditions have in common are seen where one compares a variable with a constant. A program with
//! too many ways is not looked at.

mod expr;
mod report;
mod state;
mod stmt;

use crate::ast::{Aggregate, Dir};
use crate::hir::{BlockId, Callee, Expr, ExprKind, InstId, Next, ParamInfo, Program, Target, Type, VarId};
use crate::lower::arch::{self, HEADERS, METADATA, OTHER};
use frontends::diagnostics::Diagnostic;
use report::Reports;
use state::{FieldPath, Passed, Ways, joined};
use std::collections::{HashMap, HashSet};

/// Ways through statements, until it is given up.
const WORK: usize = 1 << 17;
/// The deepest calls.
const DEEP: usize = 64;

struct Walk<'a> {
    program: &'a Program,
    bindings: HashMap<VarId, Option<FieldPath>>,
    /// Arguments of constructors.
    objects: HashMap<VarId, Expr>,
    headers: HashMap<FieldPath, u32>,
    /// Variables that have places of their own; a declaration has the same one each time.
    own: HashMap<VarId, FieldPath>,
    roots: u32,
    /// Those that are 0 at first.
    zero: HashSet<u32>,
    /// Those that parsers fill.
    parsed: HashSet<u32>,
    returns: Vec<Ways>,
    breaks: Vec<Ways>,
    exits: Ways,
    /// Entries decide whether this is reached.
    unsure: bool,
    /// Headers whose validity entries know.
    known_to_keys: HashSet<FieldPath>,
    depth: usize,
    work: usize,
    reports: Reports,
}

pub(super) fn warnings(program: &Program) -> Vec<Diagnostic> {
    let Ok((architecture, parts)) = arch::parts(program) else { return Vec::new() };
    let mut walk = Walk {
        program,
        bindings: HashMap::new(),
        objects: HashMap::new(),
        headers: HashMap::new(),
        own: HashMap::new(),
        roots: 0,
        zero: HashSet::new(),
        parsed: HashSet::new(),
        returns: Vec::new(),
        breaks: Vec::new(),
        exits: Vec::new(),
        unsure: false,
        known_to_keys: HashSet::new(),
        depth: 0,
        work: 0,
        reports: Reports::default(),
    };
    for chain in architecture.flow {
        walk.chain(&parts.blocks, chain);
    }
    if walk.work > WORK { Vec::new() } else { walk.reports.warnings() }
}

impl Walk<'_> {
    /// Parts that a packet goes through one after the other.
    fn chain(&mut self, blocks: &[(InstId, BlockId)], chain: &[(usize, &[u8])]) {
        let shared = [HEADERS, METADATA].map(|_| self.new_root());
        self.zero.insert(shared[usize::from(METADATA)][0]);
        self.parsed.insert(shared[usize::from(HEADERS)][0]);
        let mut ways = vec![state::ExecutionPath::default()];
        for (part, roles) in chain {
            let (inst, block) = blocks[*part];
            for (param, role) in self.program.blocks[block].params.iter().zip(*roles) {
                let place = if *role == OTHER { None } else { shared.get(usize::from(*role)).cloned() };
                let place = place.or_else(|| matches!(param.dir, Dir::InOut | Dir::Out).then(|| self.new_root()));
                self.bindings.insert(param.var, place);
            }
            ways = self.block(inst, block, ways);
            ways.append(&mut self.exits);
            ways = joined(ways);
        }
    }

    fn new_root(&mut self) -> FieldPath {
        self.roots += 1;
        vec![self.roots]
    }

    /// The place of a variable that is declared or a parameter that is a copy.
    fn own(&mut self, var: VarId) -> FieldPath {
        if let Some(place) = self.own.get(&var) {
            return place.clone();
        }
        let place = self.new_root();
        self.own.insert(var, place.clone());
        place
    }

    /// Forgets variables of bodies that are left.
    fn drop_locals(&mut self, vars: &[VarId], ways: &mut Ways) {
        let roots: HashSet<u32> = vars.iter().filter_map(|var| self.own.get(var)).map(|place| place[0]).collect();
        let headers: Vec<u32> = self.headers.iter().filter(|(place, _)| roots.contains(&place[0])).map(|(_, id)| *id).collect();
        for way in ways.iter_mut() {
            headers.iter().for_each(|id| way.set_valid(*id, false));
            roots.iter().for_each(|root| way.forget(&vec![*root], &self.zero));
        }
    }

    /// Counts work; false once there was too much.
    fn goes_on(&mut self, ways: &Ways) -> bool {
        self.work += ways.iter().map(|way| 1 + way.known.size() / 8).sum::<usize>();
        self.work <= WORK
    }

    fn is_header(&self, ty: &Type) -> bool {
        self.program.aggregate(ty) == Some(Aggregate::Header)
    }

    fn header(&mut self, place: &FieldPath) -> u32 {
        let next = self.headers.len() as u32;
        *self.headers.entry(place.clone()).or_insert(next)
    }

    /// The place that an expression names, of what is followed.
    fn place(&self, e: &Expr) -> Option<FieldPath> {
        match &e.kind {
            ExprKind::Var(var) => self.bindings.get(var).cloned().flatten(),
            ExprKind::Member(of, n) if matches!(of.ty, Type::Struct(..)) => {
                let mut place = self.place(of)?;
                place.push(*n as u32);
                Some(place)
            }
            _ => None,
        }
    }

    /// All headers of a value of that type, with their places relative to it.
    fn headers_in(&self, ty: &Type, at: FieldPath, out: &mut Vec<FieldPath>) {
        let Type::Struct(id, args) = ty else { return };
        if self.is_header(ty) {
            return out.push(at);
        }
        for (n, field) in (0u32..).zip(self.program.fields(*id, args)) {
            self.headers_in(&field.ty, [&at[..], &[n]].concat(), out);
        }
    }

    /// Makes all headers of a place invalid, and forgets what it holds.
    fn cleared(&mut self, place: &FieldPath, ty: &Type, ways: &mut Ways) {
        let mut all = Vec::new();
        self.headers_in(ty, place.clone(), &mut all);
        let all: Vec<u32> = all.iter().map(|place| self.header(place)).collect();
        for way in ways.iter_mut() {
            all.iter().for_each(|id| way.set_valid(*id, false));
            way.forget(place, &self.zero);
        }
    }

    /// Makes a header valid or invalid; a valid member of a union makes the others invalid.
    fn set_valid(&mut self, object: &Expr, valid: bool, ways: &mut Ways) {
        let Some(place) = self.place(object) else { return };
        let mut others = Vec::new();
        if let ExprKind::Member(of, _) = &object.kind
            && self.program.aggregate(&of.ty) == Some(Aggregate::Union)
            && let Some(union) = self.place(of)
        {
            self.headers_in(&of.ty, union, &mut others);
        }
        let (id, others): (u32, Vec<u32>) = (self.header(&place), others.iter().map(|place| self.header(place)).collect());
        for way in ways.iter_mut() {
            if valid {
                others.iter().for_each(|id| way.set_valid(*id, false));
            }
            if !valid && way.is_valid(id) {
                way.pass(Passed::Gone(object.span, id));
            }
            way.set_valid(id, valid);
            way.forget(&place, &self.zero);
        }
    }

    /// Runs a parser or control whose parameters are bound.
    fn block(&mut self, inst: InstId, id: BlockId, mut ways: Ways) -> Ways {
        let program = self.program;
        let block = &program.blocks[id];
        for (param, arg) in block.ctor.iter().zip(&program.instances[inst].args) {
            self.objects.insert(param.var, arg.clone());
        }
        for param in block.params.iter().filter(|param| param.dir == Dir::Out) {
            if let Some(place) = self.bindings.get(&param.var).cloned().flatten() {
                self.cleared(&place, &param.ty, &mut ways);
            }
        }
        self.returns.push(Vec::new());
        ways = self.stmts(&block.locals, ways);
        ways = if block.is_parser { self.states(id, ways) } else { self.stmts(&block.body, ways) };
        ways.extend(self.returns.pop().unwrap_or_default());
        let mut locals: Vec<VarId> = block.locals.iter().filter_map(declared).collect();
        locals.extend(block.params.iter().map(|param| param.var));
        self.drop_locals(&locals, &mut ways);
        joined(ways)
    }

    /// Runs the states of a parser; the ways that are accepted.
    fn states(&mut self, id: BlockId, ways: Ways) -> Ways {
        let program = self.program;
        let block = &program.blocks[id];
        let mut seen: Vec<HashSet<_>> = block.states.iter().map(|_| HashSet::new()).collect();
        let (mut left, mut accepted) = (vec![(block.start, ways)], Vec::new());
        while let Some((n, mut ways)) = left.pop() {
            ways.retain(|way| seen[n].insert(std::rc::Rc::clone(&way.known)));
            if ways.is_empty() || !self.goes_on(&ways) {
                continue;
            }
            let state = &block.states[n];
            ways.iter_mut().for_each(|way| way.pass(Passed::State(state.name.clone())));
            ways = self.stmts(&state.body, ways);
            for (target, mut ways) in self.next(&state.next, ways) {
                match target {
                    Target::State(n) => left.push((n, ways)),
                    Target::Accept => {
                        ways.iter_mut().for_each(|way| way.pass(Passed::Accepted(state.span)));
                        accepted.extend(ways);
                    }
                    Target::Reject => {}
                }
            }
        }
        joined(accepted)
    }

    fn next(&mut self, next: &Next, mut ways: Ways) -> Vec<(Target, Ways)> {
        match next {
            Next::To(target) => vec![(*target, ways)],
            Next::Select(keys, cases) => {
                keys.iter().for_each(|key| self.read(key, &mut ways));
                let mut out = Vec::new();
                for (sets, target) in cases {
                    let (matched, rest) = self.matching(keys, sets, ways);
                    out.push((*target, matched));
                    ways = rest;
                }
                out
            }
        }
    }

    /// Binds parameters to arguments: places to places, values to variables of their own.
    fn bind(&mut self, params: &[ParamInfo], args: &[Option<Expr>], ways: &mut Ways) {
        let mut bound = Vec::new();
        for (param, arg) in params.iter().zip(args) {
            let Some(arg) = arg else { continue };
            if !crate::check::writes(param.dir) {
                self.read(arg, ways);
            }
            if matches!(param.ty, Type::Extern(..) | Type::Arch(..) | Type::Block(_)) {
                self.objects.insert(param.var, arg.clone());
                continue;
            }
            let place = self.place(arg).unwrap_or_else(|| {
                let own = self.own(param.var);
                if param.dir != Dir::Out {
                    self.assign(&own, arg, ways);
                }
                own
            });
            if param.dir == Dir::Out {
                self.cleared(&place, &param.ty, ways);
            }
            bound.push((param.var, Some(place)));
        }
        self.bindings.extend(bound);
    }

    /// The instance that is applied.
    fn instance(&self, object: &Expr) -> Option<InstId> {
        match &object.kind {
            ExprKind::Instance(inst) | ExprKind::Call { callee: Callee::Construct(inst), .. } => Some(*inst),
            ExprKind::Var(var) => self.objects.get(var).and_then(|object| self.instance(object)),
            _ => None,
        }
    }
}

/// The variable that a statement declares.
fn declared(stmt: &crate::hir::Stmt) -> Option<VarId> {
    if let crate::hir::StmtKind::Var(var, _) = stmt.kind { Some(var) } else { None }
}
