//! Tokens to the syntax tree: what stands at the outermost level of a file, and what all of the
//! parser shares.
//!
//! The grammar is that of C11, 6.5 to 6.9, as far as the element language has it; what it leaves
//! out is refused by name. A fault ends the statement or declaration that it is in, and reading
//! goes on behind that. Nesting is limited.

mod declare;
mod expr;
mod literal;
mod names;
mod stmt;

pub(super) use expr::sign;
pub(super) use literal::number;

use super::Faults;
use super::ast::{Arg, Declaration, Function, Item, Name, Storage};
use super::token::{Kind, Token};
use crate::diagnostics::{Diagnostic, Span};
use names::Names;
use std::sync::Arc;

/// How deep expressions, statements and types may nest.
const MAX_DEPTH: u32 = 200;
/// How many operators may follow each other without parentheses, and how many `else if`.
const MAX_CHAIN: u32 = 4000;

/// Declarations that netvm.h makes of macros.
pub(super) const CLASS_WORDS: [&str; 25] = [
    "ELEMENT",
    "ELEMENT_FLOW",
    "FLOW_STATE",
    "PARAM",
    "PARAM_AS",
    "PARAM_LIST",
    "PARAM_LIST_AS",
    "INFO",
    "CONFIG",
    "CONFIG_LIST",
    "TABLE_EXACT",
    "TABLE_PREFIX",
    "TABLE_TERNARY",
    "TABLE_RANGE",
    "READ",
    "WRITE",
    "READ_CALL",
    "READ_WITH",
    "WRITE_CALL",
    "SCOPE",
    "EXPIRED",
    "STRINGS",
    "STRINGS_OF",
    "REGEX",
    "REQUIRE",
];

/// A fault was found and told.
#[derive(Debug)]
pub(super) struct Failed;
pub(super) type Parsed<T> = Result<T, Failed>;

/// Reads a whole file.
pub(super) fn parse(tokens: &[Token], faults: &mut Faults) -> Vec<Item> {
    let mut parser = Parser { tokens, at: 0, faults, names: Names::default(), depth: 0, unclosed: None };
    let mut items = Vec::new();
    while parser.peek().kind != Kind::End {
        let start = parser.at;
        if parser.item(&mut items).is_err() {
            parser.recover(start);
            parser.leave_unread(start);
        }
    }
    items
}

struct Parser<'a> {
    /// The last one is the end.
    tokens: &'a [Token],
    at: usize,
    faults: &'a mut Faults,
    names: Names,
    depth: u32,
    /// A function begins there before the braces of the one before are closed; that is told.
    unclosed: Option<usize>,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> &'a Token {
        self.ahead(0)
    }

    fn ahead(&self, n: usize) -> &'a Token {
        &self.tokens[(self.at + n).min(self.tokens.len() - 1)]
    }

    fn next(&mut self) -> &'a Token {
        let token = self.peek();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    /// The place of the token read last.
    fn last(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].place()
    }

    fn since(&self, start: Span) -> Span {
        let last = self.last();
        if last.end >= start.start { start.to(last) } else { start }
    }

    fn eat(&mut self, sign: &str) -> bool {
        let found = self.peek().is(sign);
        if found {
            self.next();
        }
        found
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.peek().is_name(word);
        if found {
            self.next();
        }
        found
    }

    fn need(&mut self, sign: &str) -> Parsed<()> {
        if self.eat(sign) {
            return Ok(());
        }
        let found = self.peek();
        self.tell_known(found)?;
        // Behind the last token is where the missing one belongs.
        let last = self.last();
        let (span, message) = match sign {
            ";" if self.at > 0 => (Span { start: last.end.saturating_sub(1), end: last.end }, "`;` is missing behind this".to_owned()),
            _ => (found.place(), format!("`{sign}` is missing before {}", shown(found))),
        };
        let fault = Diagnostic::new(span, message);
        if sign == ";" && (found.first || found.is("}")) {
            // The line ends, and all else is there.
            self.faults.add(fault);
            return Ok(());
        }
        self.fail(fault)
    }

    /// The end of what a parenthesis opened, or else that sign. Where a statement or block ends, a
    /// missing one is told and reading goes on.
    fn close(&mut self, otherwise: &str) -> Parsed<()> {
        let found = self.peek();
        if self.eat(")") {
            return Ok(());
        }
        if !found.is(";") && !found.is("{") {
            return self.need(otherwise);
        }
        self.faults.add(Diagnostic::new(found.place(), format!("`)` is missing before {}", shown(found))));
        Ok(())
    }

    fn fail<T>(&mut self, fault: Diagnostic) -> Parsed<T> {
        self.faults.add(fault);
        Err(Failed)
    }

    /// Fails at a token that is wrong in itself, or behind one.
    fn tell_known(&mut self, found: &Token) -> Parsed<()> {
        match declare::absent(found) {
            Some(fault) => self.fail(fault),
            None if found.kind == Kind::Wrong || self.tokens[self.at.saturating_sub(1)].kind == Kind::Wrong => Err(Failed),
            None => Ok(()),
        }
    }

    fn unexpected<T>(&mut self, wanted: &str) -> Parsed<T> {
        let found = self.peek();
        self.tell_known(found)?;
        self.fail(Diagnostic::new(found.place(), format!("{wanted} is missing before {}", shown(found))))
    }

    fn name(&mut self, wanted: &str) -> Parsed<Name> {
        let found = self.peek();
        if found.kind != Kind::Name {
            return self.unexpected(wanted);
        }
        if let Some(fault) = declare::absent(found) {
            return self.fail(fault);
        }
        if names::is_keyword(&found.text) {
            let fault = Diagnostic::new(found.place(), format!("`{}` is a word of C and cannot be a name", found.text));
            return self.fail(fault.help("choose another name"));
        }
        self.next();
        Ok(Name { text: Arc::clone(&found.text), span: found.place() })
    }

    /// Runs a rule one level deeper.
    fn deeper<T>(&mut self, rule: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            let place = self.peek().place();
            return self.fail(Diagnostic::new(place, "this is nested too deeply"));
        }
        self.depth += 1;
        let result = rule(self);
        self.depth -= 1;
        result
    }

    /// Steps to behind the semicolon or the closing brace that ends what is being read.
    fn recover(&mut self, start: usize) {
        let mut depth = self.tokens[start..self.at].iter().fold(0i32, |depth, token| depth + brace(token));
        while self.peek().kind != Kind::End {
            let token = self.next();
            depth += brace(token);
            if depth <= 0 && (token.is("}") || token.is(";")) {
                break;
            }
        }
        self.eat(";");
        if self.at == start {
            self.next();
        }
    }

    /// What is read from `start` to here declares nothing: its names outside of braces, and in
    /// those of an `enum`.
    fn leave_unread(&mut self, start: usize) {
        let (mut depth, mut most) = (0, 0);
        for token in &self.tokens[start..self.at] {
            depth += brace(token);
            most = if token.is_name("enum") { 1 } else { most };
            if token.kind == Kind::Name && depth <= most && !names::is_keyword(&token.text) {
                self.faults.leave_unread(&token.text);
            }
        }
    }

    fn item(&mut self, items: &mut Vec<Item>) -> Parsed<()> {
        let token = self.peek();
        if self.eat(";") {
            return Ok(());
        }
        if token.kind == Kind::Name && self.ahead(1).is("(") {
            if CLASS_WORDS.contains(&&*token.text) {
                items.push(self.class_word()?);
                return Ok(());
            }
            if !token.is_name("_Static_assert") {
                let fault = Diagnostic::new(token.place(), format!("netvm.h has no declaration `{}`", token.text));
                return self.fail(super::similar(fault, &token.text, CLASS_WORDS.into_iter(), ""));
            }
        }
        if self.eat_word("_Static_assert") {
            let (condition, text) = self.assertion()?;
            items.push(Item::Assert(condition, text));
            return Ok(());
        }
        self.external(items)
    }

    /// `PARAM(u8, color, "COLOR", REQUIRED);`
    fn class_word(&mut self) -> Parsed<Item> {
        let word = self.name("a declaration")?;
        self.need("(")?;
        let args = self.arguments()?;
        let span = self.since(word.span);
        self.need(";")?;
        Ok(Item::Class(word, args, span))
    }

    /// Arguments up to the closing parenthesis, which is read.
    fn arguments(&mut self) -> Parsed<Vec<Arg>> {
        let mut args = Vec::new();
        if self.eat(")") {
            return Ok(args);
        }
        loop {
            let arg = if self.begins_type() { Arg::Type(self.type_name()?) } else { Arg::Expr(self.assignment()?) };
            args.push(arg);
            if !self.eat(",") {
                return self.close(",").map(|()| args);
            }
        }
    }

    /// A function, or a declaration of variables and types.
    fn external(&mut self, items: &mut Vec<Item>) -> Parsed<()> {
        let (storage, base) = self.specifiers()?;
        if self.eat(";") || self.forgotten(&base) {
            items.push(Item::Declare(Declaration { storage, base, declarators: Vec::new() }));
            return Ok(());
        }
        let mark = self.at;
        let (pointers, _) = self.pointers();
        if self.peek().kind == Kind::Name && self.ahead(1).is("(") && storage != Storage::Typedef {
            let name = self.name("the name of a function")?;
            let function = self.scoped(|parser| parser.function(storage, base, pointers, name))?;
            items.push(Item::Function(function));
            return Ok(());
        }
        self.at = mark;
        let declaration = self.declarators(storage, base, true)?;
        items.push(Item::Declare(declaration));
        Ok(())
    }

    fn function(&mut self, storage: Storage, result: super::ast::Base, pointers: u32, name: Name) -> Parsed<Function> {
        self.need("(")?;
        let params = self.params()?;
        let is_static = storage == Storage::Static;
        if self.eat(";") {
            return Ok(Function { is_static, result, pointers, name, params, body: None, end: self.last(), is_closed: true });
        }
        if !self.peek().is("{") {
            return self.unexpected("the body of the function");
        }
        let body = self.block()?;
        let is_closed = self.unclosed != Some(self.at);
        Ok(Function { is_static, result, pointers, name, params, body: Some(body), end: self.last(), is_closed })
    }
}

fn brace(token: &Token) -> i32 {
    i32::from(token.is("{")) - i32::from(token.is("}"))
}

/// A token as messages call it.
fn shown(token: &Token) -> String {
    if token.kind == Kind::End { "the end of the file".to_owned() } else { format!("`{}`", token.text) }
}

#[cfg(test)]
mod tests {
    use super::CLASS_WORDS;
    use netil::module::TableKind;

    #[test]
    fn tables_of_every_kind_can_be_declared() {
        for (_, name) in TableKind::ALL {
            assert!(CLASS_WORDS.contains(&&*format!("TABLE_{}", name.to_uppercase())), "{name}");
        }
    }
}
