//! Statements (C11, 6.8).

use super::{MAX_CHAIN, Parsed, Parser};
use crate::c::ast::{Expr, Stmt, StmtKind};
use crate::c::token::{Kind, Token};
use crate::diagnostics::{Diagnostic, Span};

/// Statements of C that the language has not.
const ABSENT: [(&str, &str); 3] =
    [("goto", "use loops, `break` and `return`"), ("asm", "an element knows no machine"), ("__asm__", "an element knows no machine")];

/// Tokens of a function's head that are looked at.
const MAX_HEAD: usize = 64;

impl Parser<'_> {
    /// Statements in braces.
    pub(super) fn block(&mut self) -> Parsed<Vec<Stmt>> {
        self.braces(false)
    }

    /// Statements in braces; where they are those of an `if`, an `else` among them shows that the
    /// closing one is missing.
    fn braces(&mut self, of_if: bool) -> Parsed<Vec<Stmt>> {
        let open = self.peek().place();
        self.need("{")?;
        let mut list = Vec::new();
        loop {
            if self.eat("}") {
                return Ok(list);
            }
            if self.peek().kind == Kind::End {
                return self.fail(Diagnostic::new(open, "this brace is not closed").help("close it with `}`"));
            }
            if self.begins_function() {
                self.tell_unclosed(open);
                return Ok(list);
            }
            if of_if && self.peek().is_name("else") {
                let fault = Diagnostic::new(self.peek().place(), "`}` is missing before `else`");
                self.faults.add(fault.note(open, "this brace is not closed"));
                return Ok(list);
            }
            list.extend(self.statement_or_nothing());
        }
    }

    /// The head of a function, with a brace behind it.
    fn begins_function(&self) -> bool {
        if !self.peek().first || !self.begins_type() {
            return false;
        }
        let head = (0..MAX_HEAD).take_while(|n| self.ahead(*n).kind == Kind::Name || self.ahead(*n).is("*")).count();
        if head < 2 || !self.ahead(head).is("(") {
            return false;
        }
        let close = (head..MAX_HEAD).find(|n| self.ahead(*n).is(")") || self.ahead(*n).is(";"));
        close.is_some_and(|n| self.ahead(n).is(")") && self.ahead(n + 1).is("{"))
    }

    fn tell_unclosed(&mut self, open: Span) {
        let place = self.peek().place();
        if self.unclosed.replace(self.at) != Some(self.at) {
            let fault = Diagnostic::new(open, "this brace is not closed").note(place, "a function begins here");
            self.faults.add(fault.help("close it with `}` before that"));
        }
    }

    /// A statement; behind one that a fault is in, reading goes on.
    fn statement_or_nothing(&mut self) -> Option<Stmt> {
        let (start, depth) = (self.at, self.depth);
        let declares = self.begins_type() || self.ahead(0).kind == Kind::Name && self.ahead(1).kind == Kind::Name;
        let statement = self.statement().ok();
        if statement.is_none() {
            self.depth = depth;
            self.recover_in_block(start);
            if declares {
                self.leave_unread(start);
            }
        }
        statement
    }

    /// Steps to behind the statement that a fault is in, but not out of the block.
    fn recover_in_block(&mut self, start: usize) {
        let mut depth = self.tokens[start..self.at].iter().fold(0i32, |depth, token| depth + super::brace(token));
        while self.peek().kind != Kind::End {
            if self.peek().is("}") && depth <= 0 {
                return;
            }
            let token = self.next();
            depth += super::brace(token);
            if depth <= 0 && (token.is(";") || token.is("}")) {
                return;
            }
        }
    }

    pub(super) fn statement(&mut self) -> Parsed<Stmt> {
        self.deeper(Self::any_statement)
    }

    fn any_statement(&mut self) -> Parsed<Stmt> {
        let token = self.peek();
        let start = token.place();
        self.is_there(token)?;
        let kind = match &*token.text {
            "{" => StmtKind::Block(self.scoped(Self::block)?),
            ";" => self.word(StmtKind::Empty)?,
            "if" => return self.condition(),
            "else" => return self.lone_else(),
            "while" => {
                self.next();
                let condition = self.parenthesis()?;
                StmtKind::While(condition, Box::new(self.statement()?))
            }
            "do" => self.do_while()?,
            "for" => self.scoped(Self::for_loop)?,
            "switch" => {
                self.next();
                let value = self.parenthesis()?;
                StmtKind::Switch(value, Box::new(self.labelled()?))
            }
            _ => self.simple()?,
        };
        Ok(Stmt { kind, span: self.since(start) })
    }

    /// Fails at a statement that the language has not.
    fn is_there(&mut self, token: &Token) -> Parsed<()> {
        if let Some((word, remedy)) = ABSENT.iter().find(|(word, _)| token.is_name(word)) {
            return self.fail(Diagnostic::new(token.place(), format!("there is no `{word}` in the element language")).help(*remedy));
        }
        if token.kind == Kind::Name && !token.is_name("default") && self.ahead(1).is(":") {
            let fault = Diagnostic::new(token.place(), "there are no labels in the element language, and no `goto`");
            return self.fail(fault.help("use loops, `break` and `return`"));
        }
        Ok(())
    }

    /// A statement with the labels before it.
    fn labelled(&mut self) -> Parsed<Stmt> {
        let start = self.peek().place();
        let mut list = vec![self.statement()?];
        while let Some(Stmt { kind: StmtKind::Case(_) | StmtKind::Default, .. }) = list.last() {
            list.push(self.statement()?);
        }
        match (list.pop(), list.is_empty()) {
            (Some(only), true) => Ok(only),
            (last, _) => {
                list.extend(last);
                Ok(Stmt { kind: StmtKind::Block(list), span: self.since(start) })
            }
        }
    }

    fn word(&mut self, kind: StmtKind) -> Parsed<StmtKind> {
        self.next();
        Ok(kind)
    }

    /// Statements that hold no other.
    fn simple(&mut self) -> Parsed<StmtKind> {
        match &*self.peek().text {
            "case" => {
                self.next();
                let value = self.conditional()?;
                self.need(":")?;
                Ok(StmtKind::Case(value))
            }
            "default" => {
                self.next();
                self.need(":")?;
                Ok(StmtKind::Default)
            }
            "break" => self.ended(StmtKind::Break),
            "continue" => self.ended(StmtKind::Continue),
            "return" => {
                self.next();
                let value = if self.peek().is(";") { None } else { Some(self.expression()?) };
                self.need(";")?;
                Ok(StmtKind::Return(value))
            }
            "_Static_assert" => {
                self.next();
                let (condition, text) = self.assertion()?;
                Ok(StmtKind::Assert(condition, text))
            }
            _ => self.declaration_or_expression(),
        }
    }

    fn ended(&mut self, kind: StmtKind) -> Parsed<StmtKind> {
        self.next();
        self.need(";")?;
        Ok(kind)
    }

    fn declaration_or_expression(&mut self) -> Parsed<StmtKind> {
        if self.begins_type() {
            let (storage, base) = self.specifiers()?;
            return Ok(StmtKind::Declare(self.declarators(storage, base, true)?));
        }
        if self.peek().kind == Kind::Name && self.ahead(1).kind == Kind::Name {
            // Two names side by side begin with what should be a type.
            let (storage, base) = self.specifiers()?;
            return Ok(StmtKind::Declare(self.declarators(storage, base, true)?));
        }
        let value = self.expression()?;
        self.need(";")?;
        Ok(StmtKind::Expr(value))
    }

    fn parenthesis(&mut self) -> Parsed<Expr> {
        self.need("(")?;
        let inner = self.expression()?;
        if self.peek().is(";") {
            self.need(")")?
        } else {
            self.close(")")?
        }
        Ok(inner)
    }

    /// `if`, with its `else if` in a loop, so that long chains do not nest.
    fn condition(&mut self) -> Parsed<Stmt> {
        let mut arms = Vec::new();
        let last = loop {
            let start = self.peek().place();
            self.next();
            let condition = self.parenthesis()?;
            arms.push((start, condition, self.arm()?));
            if arms.len() > MAX_CHAIN as usize {
                return self.fail(Diagnostic::new(start, "too many `else if`").help("use a switch or a table"));
            }
            if !self.eat_word("else") {
                break None;
            }
            if !self.peek().is_name("if") {
                break Some(self.statement()?);
            }
        };
        let end = self.last();
        let whole = arms.into_iter().rev().fold(last, |otherwise, (start, condition, then)| {
            Some(Stmt { kind: StmtKind::If(condition, Box::new(then), otherwise.map(Box::new)), span: start.to(end) })
        });
        Ok(whole.expect("there is one arm at least"))
    }

    /// What an `if` runs.
    fn arm(&mut self) -> Parsed<Stmt> {
        if !self.peek().is("{") {
            return self.statement();
        }
        let start = self.peek().place();
        let list = self.deeper(|parser| parser.scoped(|parser| parser.braces(true)))?;
        Ok(Stmt { kind: StmtKind::Block(list), span: self.since(start) })
    }

    fn lone_else(&mut self) -> Parsed<Stmt> {
        let fault = Diagnostic::new(self.peek().place(), "no `if` stands right before this `else`");
        self.faults.add(fault.help("put all between `if (...)` and `else` in one pair of braces, with no `;` behind it"));
        self.next();
        self.statement()
    }

    fn do_while(&mut self) -> Parsed<StmtKind> {
        self.next();
        let body = Box::new(self.statement()?);
        if !self.eat_word("while") {
            return self.unexpected("`while`");
        }
        let condition = self.parenthesis()?;
        self.need(";")?;
        Ok(StmtKind::Do(body, condition))
    }

    fn for_loop(&mut self) -> Parsed<StmtKind> {
        self.next();
        self.need("(")?;
        let start = self.peek().place();
        let init = if self.eat(";") { None } else { Some(self.declaration_or_expression()?) };
        let init = init.map(|kind| Box::new(Stmt { kind, span: self.since(start) }));
        let condition = if self.peek().is(";") { None } else { Some(self.expression()?) };
        self.need(";")?;
        let step = if self.peek().is(")") { None } else { Some(self.expression()?) };
        if self.peek().is(";") {
            self.need(")")?
        } else {
            self.close(")")?
        }
        Ok(StmtKind::For(init, condition, step, Box::new(self.statement()?)))
    }
}
