//! The second step: what operands refer to.

use super::error::{AsmErrors, nearest};
use super::expr::Expr;
use super::lex::{Kind, Token};
use super::parse::{Failed, Parser};
use crate::codec;
use crate::copro;
use crate::module::{Extra, Handler, HandlerKind, Inst, Module, entry_type};
use crate::table::{Imm, Op};
use std::collections::HashMap;

/// An operand that is not known yet.
pub(super) struct Fixup {
    pub kind: HandlerKind,
    pub index: u32,
    pub slot: Slot,
    pub expr: Expr,
}

/// Where the operand goes.
#[derive(Clone, Copy)]
pub(super) enum Slot {
    /// That immediate, of that kind.
    Immediate(usize, Imm),
    /// The target of that case of a switch.
    Case(usize),
    /// The target of the default.
    Default,
}

/// What names of things stand for.
#[derive(Default)]
struct Names {
    ports: HashMap<String, u32>,
    coprocessors: HashMap<String, u32>,
    sets: HashMap<String, u32>,
    tables: HashMap<String, u32>,
    data: HashMap<String, u32>,
}

impl Names {
    fn of(module: &Module) -> Self {
        let number = |(i, name)| (name, i as u32);
        let mut coprocessors: HashMap<_, _> = HashMap::new();
        for (i, c) in module.coprocessors.iter().enumerate().rev() {
            coprocessors.insert(c.name.clone(), i as u32);
        }
        coprocessors.extend(module.coprocessors.iter().map(|c| c.alias.clone()).enumerate().map(number));
        Self {
            ports: module.all_ports().into_iter().map(|(id, p)| (p.name, id)).collect(),
            coprocessors,
            sets: module.sets.iter().map(|s| s.name().to_owned()).enumerate().map(number).collect(),
            tables: module.tables.iter().map(|t| t.name.clone()).enumerate().map(number).collect(),
            data: module.data_labels.iter().map(|l| (l.name.clone(), l.at)).collect(),
        }
    }
}

impl Parser<'_> {
    /// The module, if nothing was wrong.
    pub fn finish(mut self) -> Result<Module, AsmErrors> {
        for (at, size, expr) in std::mem::take(&mut self.data_fixups) {
            self.patch_data(at, size, &expr);
        }
        let names = Names::of(&self.module);
        for fixup in std::mem::take(&mut self.fixups) {
            if self.overfull {
                break;
            }
            if let Ok(value) = self.resolve(&names, &fixup) {
                self.patch(&fixup, value);
            }
        }
        for (kind, index, name) in std::mem::take(&mut self.entry_locals) {
            let Ok(table) = self.named(name, "table", &names.tables) else { continue };
            let local = self.module.handler_mut(kind).as_mut().and_then(|h| h.locals.get_mut(index as usize));
            if let Some(ty) = local {
                *ty = entry_type(table);
            }
        }
        if let Some(errors) = self.take_errors() {
            return Err(errors);
        }
        if let Some(size) = self.shared_size {
            share(&mut self.module, size);
        }
        for kind in HandlerKind::ALL {
            if let Some(handler) = self.module.handler_mut(kind) {
                codec::relax(handler);
            }
        }
        Ok(self.module)
    }

    fn resolve(&mut self, names: &Names, fixup: &Fixup) -> Result<u32, Failed> {
        let Slot::Immediate(k, imm) = fixup.slot else { return self.target(fixup) };
        let name = fixup.expr.lone_name();
        match (imm, name) {
            (Imm::Label | Imm::ShortLabel, _) => self.target(fixup),
            (Imm::Port, Some(name)) => self.named(name, "port", &names.ports),
            (Imm::Copro, Some(name)) => self.named(name, "coprocessor", &names.coprocessors),
            (Imm::Table, Some(name)) => self.named(name, "table", &names.tables),
            (Imm::Set, Some(name)) => self.named(name, "set", &names.sets),
            (Imm::Offset, Some(name)) => self.named(name, "data label", &names.data),
            (Imm::CoproOp, Some(name)) if self.constant_named(name).is_none() => self.operation(name, fixup, k),
            (Imm::U8, _) => self.evaluate(&fixup.expr, -128..=255).map(|v| u32::from(v as u8)),
            _ => self.evaluate(&fixup.expr, -(1 << 31)..=(1i128 << 32) - 1).map(|v| v as u32),
        }
    }

    fn target(&mut self, fixup: &Fixup) -> Result<u32, Failed> {
        let Some(name) = fixup.expr.lone_name() else {
            return Err(self.error(fixup.expr.first, "a branch goes to a label"));
        };
        let key = self.label_key(name);
        let end = self.module.handler(fixup.kind).map_or(0, |h| h.code.len() as u32);
        match self.labels[fixup.kind as usize].get(&key) {
            Some((at, _)) if *at < end => Ok(*at),
            Some(_) => {
                let failed = self.error(name, format!("no instruction follows the label `{}`", self.text(name)));
                self.help("end the segment with `ret`, or let the label stand before an instruction");
                Err(failed)
            }
            None => Err(self.no_label(name, fixup.kind, &key)),
        }
    }

    fn no_label(&mut self, name: Token, kind: HandlerKind, key: &str) -> Failed {
        let text = self.text(name);
        let elsewhere = HandlerKind::ALL.into_iter().find(|k| *k != kind && self.labels[*k as usize].contains_key(key));
        let failed = self.error(name, format!("there is no label `{text}` in this segment"));
        match elsewhere {
            Some(other) => self.help(&format!("the one of segment .{} is out of reach", other.name())),
            None => {
                let names = self.labels[kind as usize].keys().map(|k| k.trim_start_matches(':'));
                let near = nearest(text, names).map(str::to_owned);
                self.help_near(text, near.as_deref(), "");
            }
        }
        failed
    }

    fn constant_named(&self, name: Token) -> Option<i64> {
        self.constants.get(self.text(name)).copied()
    }

    fn named(&mut self, name: Token, what: &str, map: &HashMap<String, u32>) -> Result<u32, Failed> {
        if let (Some(id), true) = (map.get(&self.name_of(name)), name.kind != Kind::Anonymous) {
            return Ok(*id);
        }
        if let Some(value) = self.constant_named(name) {
            return Ok(value as u32);
        }
        let text = self.text(name);
        let failed = self.error(name, format!("there is no {what} `{text}`"));
        let remedy = match what {
            "port" => "declare it in segment .ports",
            "coprocessor" => "declare it in segment .metadata with .use_coprocessor",
            "set" => "declare it in segment .sets",
            "table" => "declare it in segment .tables",
            _ => "declare it in segment .data",
        };
        self.help_near(text, map.keys().map(String::as_str), remedy);
        Err(failed)
    }

    /// An operation by the name that the coprocessor's descriptor gives it.
    fn operation(&mut self, name: Token, fixup: &Fixup, k: usize) -> Result<u32, Failed> {
        let inst = self.module.handler(fixup.kind).and_then(|h| h.code.get(fixup.index as usize));
        let copro = inst.map_or(0, |i| i.imm[k.saturating_sub(1)]) as usize;
        let descriptor = self.module.coprocessors.get(copro).and_then(|c| copro::find(&c.name));
        let operations = descriptor.map_or(&[][..], |d| d.operations);
        if let Some(n) = operations.iter().position(|o| *o == self.text(name)) {
            return Ok(n as u32);
        }
        let text = self.text(name);
        let failed = self.error(name, format!("the coprocessor has no operation `{text}`"));
        self.help_near(text, operations.iter().copied(), &format!("its operations are {}", operations.join(" ")));
        Err(failed)
    }

    fn patch(&mut self, fixup: &Fixup, value: u32) {
        let code = self.module.handler_mut(fixup.kind).as_mut().map(|h| &mut h.code);
        let Some(inst) = code.and_then(|c| c.get_mut(fixup.index as usize)) else { return };
        match (fixup.slot, &mut inst.extra) {
            (Slot::Immediate(k, _), _) => inst.imm[k] = value,
            (Slot::Case(k), Extra::Switch(s)) => s.cases.get_mut(k).map_or((), |c| c.1 = value),
            (Slot::Default, Extra::Switch(s)) => s.default = value,
            _ => {}
        }
    }
}

/// Puts `set.share` at the start of the init handler, which is made if there is none.
fn share(module: &mut Module, size: u32) {
    let ret = Handler { code: vec![Inst::new(Op::Ret)], lines: vec![0], max_stack: super::DEFAULT_STACK, ..Handler::default() };
    let init = module.init.get_or_insert(ret);
    init.code.iter_mut().for_each(shift);
    init.labels.iter_mut().for_each(|l| l.at += 1);
    init.code.insert(0, Inst::with(Op::SetShare, size));
    init.lines.insert(0, 0);
}

/// Moves an instruction's targets behind one more instruction.
fn shift(inst: &mut Inst) {
    if inst.op.branches() {
        inst.imm[0] += 1;
    }
    if let Extra::Switch(s) = &mut inst.extra {
        s.default += 1;
        s.cases.iter_mut().for_each(|c| c.1 += 1);
    }
}
