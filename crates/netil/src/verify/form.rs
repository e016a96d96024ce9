//! Checks that need no knowledge of paths: declarations, immediates, places, branch targets.

use super::error::type_name;
use super::tables;
use super::{Limits, Reason, VerifyError};
use crate::copro::{MAX_COPROCESSORS, MAX_OPERATIONS, MAX_REGISTERS};
use crate::event::TIMERS;
use crate::limits::EXCEPTIONS;
use crate::module::{Extra, Handler, HandlerKind, Inst, MAX_TABLES, Module, as_entry};
use crate::set::Set;
use crate::table::{HandlerScope, Imm, Op, Sem};
use crate::wide::{self, MAX_WIDTH};
use std::collections::HashSet;

/// The most errors of one kind that are reported: each may take a walk over the labels to name its
/// place.
const MAX_ERRORS: usize = 100;

pub(super) fn check_declarations(module: &Module, limits: &Limits) -> Vec<VerifyError> {
    let ranges: usize = module.sets.iter().map(|s| s.ranges().len()).sum();
    let entries: usize = module.tables.iter().map(|t| t.entries.len()).sum();
    let sizes = [
        ("data memory", u64::from(module.data_size), limits.data),
        ("info memory", module.info_size.into(), limits.info),
        ("shared memory", module.shared_size().into(), limits.shared),
        ("initialised data", module.data.len() as u64, limits.initialised),
        ("number of set ranges", ranges as u64, limits.set_ranges),
        ("number of ports", module.ports.len() as u64, limits.ports),
        ("number of tables", module.tables.len() as u64, MAX_TABLES as u32),
        ("number of controls", module.controls.len() as u64, limits.ports),
        ("number of table entries", entries as u64, limits.set_ranges),
        ("number of coprocessors", module.coprocessors.len() as u64, MAX_COPROCESSORS as u32),
    ];
    let too_large = sizes.into_iter().filter(|(_, size, limit)| *size > u64::from(*limit));
    let mut errors: Vec<Reason> = too_large.map(|(what, size, limit)| Reason::TooLarge(what, size, limit.into())).collect();
    errors.extend(names(module, limits).into_iter().map(Reason::Declaration));
    errors.into_iter().take(MAX_ERRORS).map(VerifyError::declaration).collect()
}

fn names(module: &Module, limits: &Limits) -> Vec<String> {
    let mut wrong = Vec::new();
    for c in module.coprocessors.iter().take(MAX_ERRORS) {
        match limits.coprocessor(&c.name) {
            None => wrong.push(format!("no coprocessor is called '{}'", c.name)),
            Some(d) if d.registers as usize > MAX_REGISTERS || d.operations.len() > MAX_OPERATIONS => {
                wrong.push(format!("the descriptor of coprocessor '{}' is too large", c.name));
            }
            Some(_) => {}
        }
    }
    let field_ends = |f: &crate::module::InfoField| f.offset.checked_add(f.size).is_some_and(|end| end <= module.info_size);
    for f in module.info_fields.iter().filter(|f| !field_ends(f)).take(MAX_ERRORS) {
        wrong.push(format!("info field '{}' lies outside info memory of {} bytes", f.name, module.info_size));
    }
    wrong.extend(duplicate("port", module.ports.iter().map(|p| p.name.as_str())));
    wrong.extend(duplicate("coprocessor", module.coprocessors.iter().map(|c| c.alias.as_str())));
    wrong.extend(duplicate("info field", module.info_fields.iter().map(|f| f.name.as_str())));
    wrong.extend(duplicate("set", module.sets.iter().map(Set::name)));
    wrong.extend(duplicate("table", module.tables.iter().map(|t| t.name.as_str())));
    // One of a name may be for reading and another for writing.
    wrong.extend(duplicate("control", module.controls.iter().filter(|c| c.read).map(|c| c.name.as_str())));
    wrong.extend(duplicate("control", module.controls.iter().filter(|c| c.write).map(|c| c.name.as_str())));
    wrong.extend(tables::declarations(module));
    if module.push.is_none() && module.pull.is_none() {
        wrong.push("the module has neither a push nor a pull handler".to_owned());
    }
    wrong
}

fn duplicate<'a>(what: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut seen = HashSet::new();
    let mut names = names;
    names.find(|n| !seen.insert(*n)).map(|n| format!("{what} '{n}' is declared twice"))
}

pub(super) fn check_handler(module: &Module, kind: HandlerKind, handler: &Handler, limits: &Limits) -> Vec<VerifyError> {
    let sizes = [
        ("code", handler.code.len() as u64, limits.code),
        ("stack", handler.max_stack.into(), limits.stack),
        ("number of locals", handler.locals.len() as u64, limits.locals),
    ];
    for (what, size, limit) in sizes {
        if size > u64::from(limit) {
            return vec![VerifyError::at(module, kind, 0, Reason::TooLarge(what, size, limit.into()))];
        }
    }
    let known = |ty: u16| as_entry(ty).map_or((1..=MAX_WIDTH).contains(&ty), |table| (table as usize) < module.tables.len());
    if let Some(ty) = handler.locals.iter().find(|ty| !known(**ty)) {
        let wrong = format!("a local of type {}; types are i1 to i{MAX_WIDTH} and entries of tables", type_name(*ty));
        let reason = Reason::Declaration(wrong);
        return vec![VerifyError::at(module, kind, 0, reason)];
    }
    let check = Check { module, kind, handler, limits };
    let each = handler.code.iter().enumerate();
    each.filter_map(|(i, inst)| check.inst(inst).err().map(|r| VerifyError::at(module, kind, i as u32, r))).take(MAX_ERRORS).collect()
}

struct Check<'a> {
    module: &'a Module,
    kind: HandlerKind,
    handler: &'a Handler,
    limits: &'a Limits,
}

impl Check<'_> {
    fn inst(&self, inst: &Inst) -> Result<(), Reason> {
        let row = inst.op.row();
        match (row.place, self.kind) {
            (HandlerScope::Any, _) | (HandlerScope::Init, HandlerKind::Init) => {}
            (HandlerScope::Packet, HandlerKind::Push | HandlerKind::Pull) => {}
            _ => return Err(Reason::Place),
        }
        for (k, imm) in row.imms.iter().enumerate() {
            self.immediate(inst, *imm, *inst.imm.get(k).unwrap_or(&0))?;
        }
        self.targets(inst)?;
        relations(inst)
    }

    fn immediate(&self, inst: &Inst, imm: Imm, v: u32) -> Result<(), Reason> {
        let below = |what, n: usize| if (v as usize) < n { Ok(()) } else { Err(Reason::Missing(what, v)) };
        match imm {
            Imm::U8 => below("one-byte number", 256),
            Imm::Width if (1..=u32::from(MAX_WIDTH)).contains(&v) => Ok(()),
            Imm::Width => Err(Reason::Immediate(format!("width {v}; widths are 1 to {MAX_WIDTH} bits"))),
            Imm::Port => self.port(inst.op, v),
            Imm::Copro => below("coprocessor", self.module.coprocessors.len()),
            Imm::Reg => below("coprocessor register", self.copro(inst).map_or(0, |d| d.registers as usize)),
            Imm::CoproOp => below("coprocessor operation", self.copro(inst).map_or(0, |d| d.operations.len())),
            Imm::Offset => below("offset in initialised data", self.module.data.len() + 1),
            Imm::Local => below("local", self.handler.locals.len()),
            Imm::Set => below("set", self.module.sets.len()),
            Imm::Table => below("table", self.module.tables.len()).and_then(|()| tables::instruction(self.module, inst)),
            Imm::Timer => below("timer", TIMERS),
            Imm::Const => constant(inst),
            Imm::Switch => self.switch(inst),
            Imm::U32 if inst.op == Op::PktSendBy => self.outputs(inst.imm[0], v),
            Imm::U32 if matches!(inst.op, Op::LoadE | Op::StoreE) => below("exception table entry", EXCEPTIONS),
            Imm::U32 if inst.op == Op::CoproExbuf && v != 0 => Err(Reason::Immediate("the second operand must be 0".to_owned())),
            Imm::U32 | Imm::Label | Imm::ShortLabel => Ok(()),
        }
    }

    fn copro(&self, inst: &Inst) -> Option<&'static crate::copro::Descriptor> {
        let name = &self.module.coprocessors.get(inst.imm[0] as usize)?.name;
        self.limits.coprocessor(name)
    }

    fn port(&self, op: Op, id: u32) -> Result<(), Reason> {
        let kind = self.module.port_kind(id).ok_or(Reason::Missing("port", id))?;
        let name = || self.module.port(id).map_or_else(String::new, |p| p.name);
        match (matches!(op, Op::PktReceive | Op::PktAsk), kind.is_input()) {
            (true, false) => Err(Reason::Immediate(format!("receives from output port '{}'", name()))),
            (false, true) => Err(Reason::Immediate(format!("sends to input port '{}'", name()))),
            _ => Ok(()),
        }
    }

    /// A run of output ports.
    fn outputs(&self, first: u32, count: u32) -> Result<(), Reason> {
        if count == 0 {
            return Err(Reason::Immediate("sends by none of 0 ports".to_owned()));
        }
        let last = first.checked_add(count - 1).ok_or(Reason::Missing("port", u32::MAX))?;
        self.module.port_kind(last).ok_or(Reason::Missing("port", last))?;
        (first..=last).try_for_each(|id| self.port(Op::PktSendBy, id))
    }

    fn switch(&self, inst: &Inst) -> Result<(), Reason> {
        let Extra::Switch(s) = &inst.extra else { return Err(Reason::Immediate("has no cases".to_owned())) };
        let (n, limit) = (s.cases.len() as u64, u64::from(self.limits.switch_cases));
        if n > limit {
            return Err(Reason::TooLarge("number of switch cases", n, limit));
        }
        let mut seen = HashSet::new();
        match s.cases.iter().find(|c| !seen.insert(c.0)) {
            Some((key, _)) => Err(Reason::Immediate(format!("case {key} stands twice"))),
            None => Ok(()),
        }
    }

    fn targets(&self, inst: &Inst) -> Result<(), Reason> {
        let end = self.handler.code.len();
        inst.targets().into_iter().find(|t| *t as usize >= end).map_or(Ok(()), |t| Err(Reason::Target(t)))
    }
}

fn constant(inst: &Inst) -> Result<(), Reason> {
    let width = inst.imm[0].min(u32::from(MAX_WIDTH)).max(1) as u16;
    let Extra::Const(limbs) = &inst.extra else { return Err(Reason::Immediate("has no constant".to_owned())) };
    let mut cut = limbs.to_vec();
    wide::normalise(width, &mut cut);
    let fits = limbs.len() == wide::limbs(width) && cut[..] == limbs[..];
    if fits { Ok(()) } else { Err(Reason::Immediate(format!("the constant does not fit {width} bits"))) }
}

/// CRC-32, CRC-16/CCITT and CRC-32C.
const CRC_KINDS: u32 = 3;

/// Relations between immediates.
fn relations(inst: &Inst) -> Result<(), Reason> {
    let [a, b, c] = inst.imm;
    let wrong = match inst.op {
        Op::WZext | Op::WSext if b <= a => Some(format!("extends from {a} to {b} bits")),
        Op::WTrunc if b >= a => Some(format!("cuts from {a} to {b} bits")),
        Op::WSlice if b >= a || c > b => Some(format!("slice {b}..={c} of {a} bits")),
        Op::WConcat if a + b > u32::from(MAX_WIDTH) => Some(format!("concatenation of {} bits", a + b)),
        Op::CrcCalc | Op::CrcCalcPkt if a >= CRC_KINDS => Some(format!("CRC {a}; there are {CRC_KINDS}")),
        Op::TLoad | Op::TStore if !b.is_multiple_of(8) => Some(format!("width {b} is not a multiple of 8")),
        op if whole_bytes(op) && !a.is_multiple_of(8) => Some(format!("width {a} is not a multiple of 8")),
        _ => None,
    };
    wrong.map_or(Ok(()), |w| Err(Reason::Immediate(w)))
}

fn whole_bytes(op: Op) -> bool {
    op == Op::WBswap || matches!(op.row().sem, Sem::WideLoad(_) | Sem::WideStore(_))
}
