//! Statements and parser states.

use super::{Parsed, Parser};
use crate::ast::{BinOp, Block, Decl, DeclKind, Expr, ExprKind, Ident, SelectCase, State, Stmt, StmtKind, Transition, Ty};
use crate::lexer::Tok;
use frontends::diagnostics::{Diagnostic, Span};

impl Parser<'_> {
    pub(super) fn block(&mut self) -> Parsed<Block> {
        self.annotations()?;
        self.expect("{")?;
        let mut stmts = Vec::new();
        while !self.eat("}") {
            stmts.push(self.stmt()?);
        }
        Ok(Block { stmts })
    }

    pub(super) fn stmt(&mut self) -> Parsed<Stmt> {
        self.nested(|p| {
            let start = p.span();
            let kind = p.stmt_kind()?;
            Ok(Stmt { kind, span: start.to(p.last()) })
        })
    }

    fn stmt_kind(&mut self) -> Parsed<StmtKind> {
        if self.is("@") {
            let at = self.at;
            self.annotations()?;
            if self.is("{") || self.is_word("if") || self.is_word("switch") || self.is_word("for") {
                return self.stmt_kind();
            }
            self.at = at;
            return self.local_or_expr();
        }
        if self.is("{") {
            return self.block().map(StmtKind::Block);
        }
        if self.eat(";") {
            return Ok(StmtKind::Empty);
        }
        let next_opens = self.is_at(1, "(");
        match self.word_at(0) {
            Some("if") => self.if_stmt(),
            Some("switch") if next_opens => self.switch_stmt(),
            Some("for") if next_opens => self.for_stmt(),
            Some("return") => {
                self.at += 1;
                let value = if self.is(";") { None } else { Some(self.expr()?) };
                self.expect(";")?;
                Ok(StmtKind::Return(value))
            }
            Some(word @ ("exit" | "break" | "continue")) if self.is_at(1, ";") => {
                let kind = match word {
                    "exit" => StmtKind::Exit,
                    "break" => StmtKind::Break,
                    _ => StmtKind::Continue,
                };
                self.at += 2;
                Ok(kind)
            }
            Some("elseif" | "elsif" | "elif") if next_opens => {
                self.local_or_expr().map_err(|fault| Box::new(fault.help("a second condition begins with `else if`")))
            }
            _ => self.local_or_expr(),
        }
    }

    fn if_stmt(&mut self) -> Parsed<StmtKind> {
        self.at += 1;
        self.expect("(")?;
        let condition = self.expr()?;
        if self.is("=") {
            return Err(Box::new(self.expected("`)`").help("`==` compares")));
        }
        self.expect(")")?;
        let yes = Box::new(self.stmt()?);
        let no = if self.eat_word("else") { Some(Box::new(self.stmt()?)) } else { None };
        Ok(StmtKind::If(condition, yes, no))
    }

    fn switch_stmt(&mut self) -> Parsed<StmtKind> {
        self.at += 1;
        self.expect("(")?;
        let value = self.expr()?;
        self.expect(")")?;
        self.expect("{")?;
        let mut cases = Vec::new();
        while !self.eat("}") {
            let label = self.set_expr()?;
            self.expect(":")?;
            let body = if self.is("{") || self.is("@") { Some(self.block()?) } else { None };
            cases.push((label, body));
        }
        Ok(StmtKind::Switch(value, cases))
    }

    fn for_stmt(&mut self) -> Parsed<StmtKind> {
        self.at += 1;
        self.expect("(")?;
        if self.name_at(0) && self.word_at(1) == Some("in") {
            let name = self.ident()?;
            let wrong = Diagnostic::new(name.span, format!("the variable `{}` of this loop has no type", name.name));
            let help = format!("`for (bit<8> {} in ...)` declares a variable of the loop's own", name.name);
            return Err(Box::new(wrong.help(help)));
        }
        if let Some((decl, name)) = self.attempt(Self::for_in_head) {
            let start = self.span();
            let low = self.expr()?;
            let range = if self.eat("..") {
                let high = self.expr()?;
                let span = start.to(high.span);
                Expr { kind: ExprKind::Range(Box::new(low), Box::new(high)), span }
            } else {
                low
            };
            self.expect(")")?;
            let body = Box::new(self.stmt()?);
            return Ok(StmtKind::ForIn { decl, name, range, body });
        }
        let init = self.for_part(";")?;
        let condition = self.expr()?;
        self.expect(";")?;
        let update = self.for_part(")")?;
        let body = Box::new(self.stmt()?);
        Ok(StmtKind::For { init, condition, update, body })
    }

    fn for_in_head(&mut self) -> Parsed<(Ty, Ident)> {
        self.annotations()?;
        let ty = self.ty()?;
        let name = self.ident()?;
        self.expect_word("in")?;
        Ok((ty, name))
    }

    /// Statements separated by commas, without their semicolons.
    fn for_part(&mut self, close: &str) -> Parsed<Vec<Stmt>> {
        self.list(close, |p| {
            let start = p.span();
            let kind = match p.attempt(|p| p.var_head()) {
                Some(decl) => p.var_tail(decl, start)?,
                None => p.assign_or_call()?,
            };
            Ok(Stmt { kind, span: start.to(p.last()) })
        })
    }

    fn local_or_expr(&mut self) -> Parsed<StmtKind> {
        let start = self.span();
        if self.is_word("const") || (self.is("@") && self.word_at(1).is_some()) {
            return self.declaration().map(|d| StmtKind::Decl(Box::new(d)));
        }
        if let Some(head) = self.attempt(|p| p.var_head()) {
            let kind = self.var_tail(head, start)?;
            self.expect(";")?;
            return Ok(kind);
        }
        if self.looks_like_instance() {
            return self.declaration().map(|d| StmtKind::Decl(Box::new(d)));
        }
        let kind = self.assign_or_call()?;
        self.expect(";")?;
        Ok(kind)
    }

    /// `TYPE name` before `=`, `;` and the like.
    fn var_head(&mut self) -> Parsed<(Ty, Ident)> {
        let ty = self.ty()?;
        let name = self.ident()?;
        let ty = self.array_suffix(ty)?;
        if self.is("=") || self.is(";") || self.is(",") || self.is(")") { Ok((ty, name)) } else { Err(self.expected("`=` or `;`")) }
    }

    fn var_tail(&mut self, (ty, name): (Ty, Ident), start: Span) -> Parsed<StmtKind> {
        let value = if self.eat("=") { Some(self.expr()?) } else { None };
        let kind = DeclKind::Var { ty, name, value };
        Ok(StmtKind::Decl(Box::new(Decl { annotations: Vec::new(), span: start.to(self.last()), kind })))
    }

    /// `TYPE(args) name`.
    pub(super) fn looks_like_instance(&mut self) -> bool {
        let at = self.at;
        let found = self.attempt(|p| {
            p.ty()?;
            if !p.is("(") {
                return Err(p.expected("`(`"));
            }
            p.skip_balanced()?;
            p.ident()
        });
        self.at = at;
        found.is_some()
    }

    fn assign_or_call(&mut self) -> Parsed<StmtKind> {
        let left = self.expr()?;
        if let Some((op, tokens)) = self.assignment() {
            self.at += tokens;
            let right = self.expr()?;
            return Ok(StmtKind::Assign(op, left, right));
        }
        match left.kind {
            ExprKind::Call(..) => Ok(StmtKind::Call(left)),
            _ => Err(self.expected("an assignment or a call")),
        }
    }

    fn assignment(&self) -> Option<(Option<BinOp>, usize)> {
        let Tok::Sym(symbol) = self.peek() else { return None };
        let op = match *symbol {
            "=" => return Some((None, 1)),
            "+=" => BinOp::Add,
            "-=" => BinOp::Sub,
            "*=" => BinOp::Mul,
            "/=" => BinOp::Div,
            "%=" => BinOp::Mod,
            "&=" => BinOp::BitAnd,
            "|=" => BinOp::BitOr,
            "^=" => BinOp::BitXor,
            "<<=" => BinOp::Shl,
            "|+|=" => BinOp::AddSat,
            "|-|=" => BinOp::SubSat,
            ">" if self.is_at(1, ">=") => return Some((Some(BinOp::Shr), 2)),
            _ => return None,
        };
        Some((Some(op), 1))
    }

    pub(super) fn state(&mut self) -> Parsed<State> {
        self.annotations()?;
        self.expect_word("state")?;
        let name = self.ident()?;
        self.expect("{")?;
        let (mut body, mut transition) = (Vec::new(), None);
        while !self.eat("}") {
            if self.is_word("transition") {
                transition = Some(self.transition()?);
                self.expect("}")?;
                break;
            }
            body.push(self.stmt()?);
        }
        Ok(State { name, body, transition })
    }

    fn transition(&mut self) -> Parsed<Transition> {
        self.at += 1;
        if !(self.is_word("select") && self.is_at(1, "(")) {
            let to = self.ident()?;
            self.expect(";")?;
            return Ok(Transition::To(to));
        }
        let start = self.span();
        self.at += 1;
        self.expect("(")?;
        let keys = self.list(")", Self::expr)?;
        self.expect("{")?;
        let mut cases = Vec::new();
        while !self.eat("}") {
            let from = self.span();
            let keys = self.keyset()?;
            self.expect(":")?;
            let to = self.ident()?;
            self.expect(";")?;
            cases.push(SelectCase { keys, to, span: from.to(self.last()) });
        }
        // The grammar has no semicolon here, but programs do.
        self.eat(";");
        Ok(Transition::Select { keys, cases, span: start.to(self.last()) })
    }

    /// One set, or several in parentheses.
    pub(super) fn keyset(&mut self) -> Parsed<Vec<Expr>> {
        if self.is("(") {
            let tuple = self.attempt(|p| {
                p.expect("(")?;
                let keys = p.list(")", Self::set_expr)?;
                if p.is(":") { Ok(keys) } else { Err(p.expected("`:`")) }
            });
            if let Some(keys) = tuple {
                return Ok(keys);
            }
        }
        Ok(vec![self.set_expr()?])
    }
}
