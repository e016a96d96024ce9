//! Handlers: directives, labels, instructions and `switch` tables.

use super::expr::Expr;
use super::finish::{Fixup, Slot};
use super::lex::{Kind, Token};
use super::parse::{Failed, Parser};
use super::{DEFAULT_STACK, MAX_LOCALS, RESERVED, literal, mnemonic};
use crate::module::{Extra, Handler, HandlerKind, Inst, Label, Switch};
use crate::table::{Imm, Op, TABLE};
use crate::wide::MAX_WIDTH;

/// A handler under construction.
struct Draft {
    kind: HandlerKind,
    handler: Handler,
    max_stack: Option<u32>,
    /// Source lines given by `.lines`.
    lines: Option<Vec<u32>>,
    counted_locals: bool,
    /// The instruction that the last switch without a default goes on at, and where that switch is.
    open_switch: Option<(u32, Token)>,
}

impl<'s> Parser<'s> {
    /// A code segment from its name on.
    pub fn handler(&mut self, kind: HandlerKind, opening: Token) -> Result<(), Failed> {
        let mut draft = Draft { kind, handler: Handler::default(), max_stack: None, lines: None, counted_locals: false, open_switch: None };
        let result = self.body(opening, |p| p.statement(&mut draft));
        let mut handler = draft.handler;
        if let Some((_, token)) = draft.open_switch.filter(|(at, _)| *at as usize == handler.code.len()) {
            self.error(token, "this switch has no default and no instruction follows it");
        }
        handler.max_stack = draft.max_stack.unwrap_or(DEFAULT_STACK);
        handler.lines = draft.lines.unwrap_or(handler.lines);
        *self.module.handler_mut(kind) = Some(handler);
        result
    }

    fn statement(&mut self, draft: &mut Draft) -> Result<(), Failed> {
        let token = self.peek();
        match token.kind {
            Kind::Directive => self.directive(draft),
            Kind::Word | Kind::Anonymous | Kind::Text if self.ahead(1).kind == Kind::Mark(b':') => self.label(draft),
            Kind::Word if self.text(token) == "set.mem" => {
                self.next();
                self.data_size(token)
            }
            Kind::Word => self.instruction(draft),
            _ if !draft.handler.code.is_empty() && self.previous().line == token.line => {
                Err(self.expected("the next instruction (the operands before are complete)"))
            }
            _ => Err(self.expected("an instruction, a label or a directive")),
        }
    }

    fn directive(&mut self, draft: &mut Draft) -> Result<(), Failed> {
        let token = self.next();
        match self.text(token) {
            ".locals" => self.locals(draft, token),
            ".local" => self.local(draft),
            ".maxstacksize" if draft.max_stack.is_some() => Err(self.error(token, "`.maxstacksize` is declared twice")),
            ".maxstacksize" => {
                draft.max_stack = Some(self.value("a number of stack elements")?);
                Ok(())
            }
            ".lines" => self.source_lines(draft),
            ".datamem_size" | ".datamemsize" => self.data_size(token),
            text => {
                let names = [".locals", ".local", ".maxstacksize", ".lines", ".datamem_size"];
                let failed = self.error(token, format!("`{text}` is not a directive of this segment"));
                self.help_near(text, names, "the directives here are .locals .local .maxstacksize .lines");
                Err(failed)
            }
        }
    }

    fn locals(&mut self, draft: &mut Draft, token: Token) -> Result<(), Failed> {
        let n = self.value("a number of local variables")?;
        match () {
            () if draft.counted_locals => Err(self.error(token, "`.locals` is declared twice")),
            () if n > MAX_LOCALS => Err(self.error(token, format!("there are at most {MAX_LOCALS} local variables"))),
            () => {
                draft.counted_locals = true;
                grow_locals(&mut draft.handler, n as usize);
                Ok(())
            }
        }
    }

    fn local(&mut self, draft: &mut Draft) -> Result<(), Failed> {
        let token = self.peek();
        let index = self.value("the number of a local variable")?;
        self.comma()?;
        if self.at_word("entry") {
            return self.entry_local(draft, index, token);
        }
        let width = self.width()?;
        if index >= MAX_LOCALS {
            return Err(self.error(token, format!("there are at most {MAX_LOCALS} local variables")));
        }
        grow_locals(&mut draft.handler, index as usize + 1);
        draft.handler.locals[index as usize] = width;
        Ok(())
    }

    /// `.local N, entry TABLE`: the table's number is resolved at the end.
    fn entry_local(&mut self, draft: &mut Draft, index: u32, token: Token) -> Result<(), Failed> {
        self.next();
        let (_, name) = self.name("the name of a table")?;
        if index >= MAX_LOCALS {
            return Err(self.error(token, format!("there are at most {MAX_LOCALS} local variables")));
        }
        grow_locals(&mut draft.handler, index as usize + 1);
        self.entry_locals.push((draft.kind, index, name));
        Ok(())
    }

    pub(super) fn width(&mut self) -> Result<u16, Failed> {
        let expr = self.expr("a width in bits")?;
        self.evaluate(&expr, 1..=MAX_WIDTH.into()).map(|w| w as u16)
    }

    /// `.lines none`, or a list of `n` (one instruction of line n), `n+k` (k more, each a line
    /// further) and `n*k` (k of line n).
    fn source_lines(&mut self, draft: &mut Draft) -> Result<(), Failed> {
        let mut lines = Vec::new();
        if self.at_word("none") {
            self.next();
        } else {
            self.line_run(&mut lines)?;
            while self.skip_mark(b',') {
                self.line_run(&mut lines)?;
            }
        }
        draft.lines = Some(lines);
        Ok(())
    }

    fn line_run(&mut self, lines: &mut Vec<u32>) -> Result<(), Failed> {
        let first = self.plain_number()?;
        let (step, count) = match () {
            () if self.skip_mark(b'+') => (1, self.plain_number()?.saturating_add(1)),
            () if self.skip_mark(b'*') => (0, self.plain_number()?),
            () => (0, 1),
        };
        if lines.len() + count as usize > self.source.len() {
            // Every instruction takes at least a byte of source, so that more lines than that
            // belong to nothing.
            let token = self.previous();
            return Err(self.error(token, "there are more lines here than instructions"));
        }
        lines.extend((0..count).map(|i| first.wrapping_add(step * i)));
        Ok(())
    }

    fn plain_number(&mut self) -> Result<u32, Failed> {
        if self.peek().kind != Kind::Number {
            return Err(self.expected("a number"));
        }
        let token = self.next();
        self.number(token)
    }

    fn label(&mut self, draft: &mut Draft) -> Result<(), Failed> {
        let token = self.peek();
        let text = self.text(token);
        if RESERVED.contains(&text) {
            let failed = self.error(token, format!("`{text}` is a reserved word"));
            self.help(if text == "default" {
                "a `default:` belongs to the pairs of a `switch`"
            } else {
                "a label of that name must be quoted"
            });
            return Err(failed);
        }
        self.next();
        self.next();
        let at = draft.handler.code.len() as u32;
        let key = self.label_key(token);
        if let Some((_, first)) = self.labels[draft.kind as usize].insert(key, (at, token)) {
            return Err(self.error(token, format!("there is a label `{text}` already, on line {}", first.line)));
        }
        if token.kind != Kind::Anonymous {
            let name = self.name_of(token);
            draft.handler.labels.push(Label { name, at });
        }
        Ok(())
    }

    /// What a label is known by. A quoted name may look like an anonymous label and is another one.
    pub fn label_key(&self, token: Token) -> String {
        match token.kind {
            Kind::Anonymous => self.text(token).to_owned(),
            _ => format!(":{}", self.name_of(token)),
        }
    }

    fn instruction(&mut self, draft: &mut Draft) -> Result<(), Failed> {
        let token = self.peek();
        let text = self.text(token);
        let Some(op) = mnemonic(text) else {
            let failed = self.error(token, format!("unknown instruction `{text}`"));
            self.help_near(text, TABLE.iter().map(|row| row.mnemonic), "");
            return Err(failed);
        };
        self.next();
        if op == Op::Ret && self.has_verdict(token) {
            let verdict = self.expr("a verdict")?;
            self.emit(draft, Inst::new(Op::Push), token);
            self.operand(draft, 0, Imm::U32, verdict);
        }
        self.emit(draft, Inst::new(op), token);
        let before = self.fixups.len();
        let result = self.operands(draft, op);
        if result.is_err() {
            self.fixups.truncate(before);
        }
        result
    }

    fn emit(&self, draft: &mut Draft, inst: Inst, token: Token) {
        draft.handler.code.push(inst);
        draft.handler.lines.push(token.line);
    }

    /// True where `ret` has an operand on its line.
    fn has_verdict(&self, ret: Token) -> bool {
        let token = self.peek();
        let text = self.text(token);
        let label = self.ahead(1).kind == Kind::Mark(b':') && token.kind != Kind::Pairs;
        let name = || !label && !self.at_equate() && mnemonic(text).is_none() && !RESERVED.contains(&text);
        let starts = match token.kind {
            Kind::Number | Kind::Quad | Kind::Pairs | Kind::Mark(b'(' | b'-') => true,
            Kind::Word => name(),
            _ => false,
        };
        starts && token.line == ret.line
    }

    fn operands(&mut self, draft: &mut Draft, op: Op) -> Result<(), Failed> {
        for (k, imm) in op.row().imms.iter().enumerate() {
            if k > 0 {
                self.comma()?;
            }
            match imm {
                Imm::Switch => self.switch(draft)?,
                Imm::Const => self.constant(draft)?,
                Imm::Width => {
                    let width = self.width()?;
                    last(draft).imm[k] = width.into();
                }
                _ => {
                    let expr = self.expr(&wanted(op, *imm))?;
                    self.operand(draft, k, *imm, expr);
                }
            }
        }
        Ok(())
    }

    /// Notes an operand of the last instruction; a plain number is settled at once.
    fn operand(&mut self, draft: &mut Draft, k: usize, imm: Imm, expr: Expr) {
        let plain = matches!(imm, Imm::U32 | Imm::Local | Imm::Reg | Imm::Timer).then(|| expr.value(|_| None).ok()).flatten();
        match plain.and_then(|v| u32::try_from(v).ok()) {
            Some(v) => last(draft).imm[k] = v,
            None => self.note(draft, Slot::Immediate(k, imm), expr),
        }
    }

    fn note(&mut self, draft: &Draft, slot: Slot, expr: Expr) {
        let index = draft.handler.code.len() as u32 - 1;
        self.fixups.push(Fixup { kind: draft.kind, index, slot, expr });
    }

    fn constant(&mut self, draft: &mut Draft) -> Result<(), Failed> {
        let width = last(draft).imm[0] as u16;
        let limbs = self.wide_value(width)?;
        last(draft).extra = Extra::Const(limbs);
        Ok(())
    }

    /// A value of `width` bits: a literal of any form, or an expression.
    pub(super) fn wide_value(&mut self, width: u16) -> Result<Box<[u64]>, Failed> {
        let first = self.peek();
        let negative = first.kind == Kind::Mark(b'-');
        let word = self.peek_raw();
        if let Some(value) = literal::parse(if negative { word.get(1..).unwrap_or("") } else { word }) {
            let (_, token) = self.raw_word();
            return literal::fit(value, width, negative).ok_or_else(|| self.error(token, format!("this does not fit in {width} bits")));
        }
        let expr = self.expr("a constant")?;
        let value = self.evaluate(&expr, -(1 << 31)..=(1i128 << 32) - 1)?;
        let limbs = literal::fit(vec![value.unsigned_abs()], width, value < 0);
        limbs.ok_or_else(|| self.error(first, format!("{value} does not fit in {width} bits")))
    }

    fn switch(&mut self, draft: &mut Draft) -> Result<(), Failed> {
        let count_token = self.peek();
        let count = self.value("the number of cases")?;
        if !self.skip_mark(b':') {
            return Err(self.expected("`:` and the cases"));
        }
        last(draft).extra = Extra::Switch(Box::default());
        let (mut keys, mut default) = (Vec::new(), false);
        while let Some(key) = self.case_key(&mut default, keys.len() < count as usize)? {
            let target = self.expr("a label")?;
            match key {
                Some(key) => {
                    self.note(draft, Slot::Case(keys.len()), target);
                    keys.push(key);
                }
                None => self.note(draft, Slot::Default, target),
            }
        }
        self.check_cases(count_token, count, &keys)?;
        // Without a default, as in the original, other keys go on behind the switch.
        let behind = draft.handler.code.len() as u32;
        draft.open_switch = (!default).then_some((behind, count_token));
        let cases = keys.iter().map(|(key, _)| (*key, 0)).collect();
        last(draft).extra = Extra::Switch(Box::new(Switch { default: if default { 0 } else { behind }, cases }));
        Ok(())
    }

    /// The key of the next pair, `Some(None)` for the default, `None` behind the last pair.
    fn case_key(&mut self, default: &mut bool, more: bool) -> Result<Option<Option<(u32, Token)>>, Failed> {
        let token = self.peek();
        if self.at_word("default") && self.ahead(1).kind == Kind::Mark(b':') {
            if std::mem::replace(default, true) {
                return Err(self.error(token, "this switch has a default already"));
            }
            self.next();
            self.next();
            return Ok(Some(None));
        }
        let number = matches!(token.kind, Kind::Number | Kind::Quad | Kind::Pairs | Kind::Mark(b'-' | b'('));
        let constant = more && token.kind == Kind::Word && self.constants.contains_key(self.text(token));
        if !number && !constant {
            return Ok(None);
        }
        let key = self.value("a key")?;
        if !self.skip_mark(b':') {
            return Err(self.expected("`:` and a label"));
        }
        Ok(Some(Some((key, token))))
    }

    fn check_cases(&mut self, count_token: Token, count: u32, keys: &[(u32, Token)]) -> Result<(), Failed> {
        let mut sorted: Vec<_> = keys.iter().collect();
        sorted.sort_by_key(|(key, token)| (*key, token.start));
        if let Some(pair) = sorted.windows(2).find(|w| w[0].0 == w[1].0) {
            return Err(self.error(pair[1].1, format!("there is a case for {} already, on line {}", pair[1].0, pair[0].1.line)));
        }
        match keys.len() {
            n if n == count as usize => Ok(()),
            n => Err(self.error(count_token, format!("the switch announces {count} cases and has {n}"))),
        }
    }
}

fn grow_locals(handler: &mut Handler, n: usize) {
    if handler.locals.len() < n {
        handler.locals.resize(n, 32);
    }
}

/// The instruction that operands belong to. There is one: operands follow an instruction.
fn last(draft: &mut Draft) -> &mut Inst {
    let index = draft.handler.code.len() - 1;
    &mut draft.handler.code[index]
}

fn wanted(op: Op, imm: Imm) -> String {
    let what = match imm {
        Imm::Label | Imm::ShortLabel => "a label",
        Imm::Port => "a port",
        Imm::Copro => "a coprocessor",
        Imm::Reg => "a register",
        Imm::CoproOp => "an operation",
        Imm::Offset => "a data label",
        Imm::Local => "a local variable",
        Imm::Set => "a set",
        Imm::Table => "a table",
        Imm::Timer => "a timer",
        _ => "a number",
    };
    format!("{what} for `{}`", op.row().mnemonic)
}
