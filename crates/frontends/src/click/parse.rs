//! Text to syntax tree, by recursive descent over the grammar of click(5). After a fault the parser
//! goes on behind the next semicolon or bracket, so that one run tells all of them.

use super::ast::{Alternative, Class, Compound, Connection, Endpoint, Formal, Name, Ports, Reference, Side, Statement, Text};
use super::require;
use super::token::{Kind, Lexer, Token};
use crate::diagnostics::{Diagnostic, Span};

/// How deeply braces and parentheses may be nested.
const DEPTH: usize = 64;
/// What cannot be a name.
const KEYWORDS: [&str; 5] = ["elementclass", "connectiontunnel", "require", "provide", "define"];
/// Ports of an element, at most.
pub(super) const PORTS: u32 = 1 << 16;

/// Statements of a text from a place on, and what is wrong with it.
pub(super) fn parse(source: &str, at: usize) -> (Vec<Statement>, Vec<Diagnostic>) {
    let mut parser = Parser { lexer: Lexer::new(source, at), ahead: Vec::new(), depth: 0 };
    let mut all = Vec::new();
    loop {
        all.append(&mut parser.statements());
        let left = parser.next();
        if left.kind == Kind::End {
            return (all, parser.lexer.faults);
        }
        parser.fault(Diagnostic::new(left.span, format!("`{}` closes nothing", parser.text(left))));
    }
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    /// Tokens that were looked at, the next one last.
    ahead: Vec<Token>,
    depth: usize,
}

/// What could not be read has been noted.
struct Stuck;
type Parsed<T> = Result<T, Stuck>;

impl Parser<'_> {
    fn next(&mut self) -> Token {
        self.ahead.pop().unwrap_or_else(|| self.lexer.token())
    }

    fn peek(&mut self) -> Kind {
        let token = self.next();
        self.ahead.push(token);
        token.kind
    }

    fn take(&mut self, kind: Kind) -> Option<Span> {
        let token = self.next();
        if token.kind != kind {
            self.ahead.push(token);
        }
        (token.kind == kind).then_some(token.span)
    }

    fn text(&self, token: Token) -> String {
        token.span.text(self.lexer.source).to_owned()
    }

    fn fault(&mut self, fault: Diagnostic) {
        self.lexer.faults.push(fault);
    }

    /// Notes that something else is there.
    fn expected<T>(&mut self, what: &str) -> Parsed<T> {
        let token = self.next();
        self.ahead.push(token);
        let found = if token.kind == Kind::End { "the end".to_owned() } else { format!("`{}`", self.text(token)) };
        self.fault(Diagnostic::new(token.span, format!("expected {what}, found {found}")));
        Err(Stuck)
    }

    fn name(&mut self, what: &str) -> Parsed<Name> {
        let Some(span) = self.take(Kind::Word) else { return self.expected(what) };
        let text = span.text(self.lexer.source).to_owned();
        if KEYWORDS.contains(&text.as_str()) {
            self.fault(Diagnostic::new(span, format!("expected {what}, found the keyword `{text}`")));
            return Err(Stuck);
        }
        Ok(Name { text, span })
    }

    /// A configuration string, if a parenthesis opens one here.
    fn configuration(&mut self) -> Option<Text> {
        let open = self.take(Kind::Sign('('))?;
        self.ahead.clear();
        let span = self.lexer.configuration(open);
        Some(Text { text: span.text(self.lexer.source).to_owned(), span })
    }

    /// Statements up to what none begins with.
    fn statements(&mut self) -> Vec<Statement> {
        let mut all = Vec::new();
        loop {
            match self.peek() {
                Kind::End | Kind::Sign('}' | ')' | '|') | Kind::Bars => return all,
                Kind::Sign(';') => drop(self.next()),
                _ => match self.statement() {
                    Ok(statement) => all.push(statement),
                    Err(Stuck) => self.recover(),
                },
            }
        }
    }

    /// Steps over what is left of a statement.
    fn recover(&mut self) {
        while !matches!(self.peek(), Kind::End | Kind::Sign(';' | '}' | ')') | Kind::Bars) {
            self.next();
        }
    }

    fn statement(&mut self) -> Parsed<Statement> {
        let first = self.next();
        match self.text(first).as_str() {
            "elementclass" => Ok(Statement::Class(self.name("the name of the class")?, self.class()?)),
            "connectiontunnel" => self.tunnel(),
            "require" => self.requirement(),
            "define" => self.configuration().map_or_else(|| self.expected("`(`"), |text| Ok(Statement::Define(text))),
            _ => {
                self.ahead.push(first);
                self.connection(first.span).map(Statement::Connection)
            }
        }
    }

    fn requirement(&mut self) -> Parsed<Statement> {
        let Some(text) = self.configuration() else { return self.expected("`(`") };
        require::faults(&text).into_iter().for_each(|fault| self.fault(fault));
        Ok(Statement::Require(text))
    }

    fn tunnel(&mut self) -> Parsed<Statement> {
        let from = self.name("the name of the tunnel's entrance")?;
        if self.take(Kind::Arrow).is_none() {
            return self.expected("`->`");
        }
        Ok(Statement::Tunnel(from, self.name("the name of the tunnel's exit")?))
    }

    fn connection(&mut self, begin: Span) -> Parsed<Connection> {
        let (mut places, mut many) = (vec![self.place(Side::Input)?], Vec::new());
        while let Some(arrow) = self.arrow() {
            many.push(arrow);
            places.push(self.place(Side::Output)?);
        }
        let end = places.last().and_then(|place| place.last()).map_or(begin, |endpoint| endpoint.span);
        Ok(Connection { places, many, span: begin.to(end) })
    }

    /// An arrow, and whether it is `=>`.
    fn arrow(&mut self) -> Option<bool> {
        let plain = self.take(Kind::Arrow).is_some();
        (plain || self.take(Kind::ManyArrow).is_some()).then_some(!plain)
    }

    /// Elements between arrows; `side` is what nothing stands for here.
    fn place(&mut self, side: Side) -> Parsed<Vec<Endpoint>> {
        let mut all = vec![self.endpoint(side)?];
        while self.take(Kind::Sign(',')).is_some() {
            all.push(self.endpoint(side)?);
        }
        Ok(all)
    }

    fn endpoint(&mut self, side: Side) -> Parsed<Endpoint> {
        let begin = self.next();
        self.ahead.push(begin);
        let inputs = self.ports()?;
        let Some(element) = self.element()? else {
            let end = inputs.as_ref().map_or(Span { end: begin.span.start, ..begin.span }, |ports| ports.span);
            return self.implied(side, inputs, begin.span.to(end));
        };
        let outputs = self.ports()?;
        let end = self.last_end();
        Ok(Endpoint { inputs, element, outputs, span: Span { start: begin.span.start, end } })
    }

    /// Where the last token ended.
    fn last_end(&mut self) -> u32 {
        let next = self.next();
        self.ahead.push(next);
        self.lexer.source.get(..next.span.start as usize).map_or(0, |before| before.trim_end().len() as u32)
    }

    fn implied(&mut self, side: Side, ports: Option<Ports>, span: Span) -> Parsed<Endpoint> {
        let arrow = matches!(self.peek(), Kind::Arrow | Kind::ManyArrow);
        let element = Reference::Implied(side);
        match side {
            Side::Input if arrow || self.peek() == Kind::Sign(',') => Ok(Endpoint { inputs: None, element, outputs: ports, span }),
            Side::Output if !arrow && self.ends_connection() => Ok(Endpoint { inputs: ports, element, outputs: None, span }),
            _ => self.expected("an element"),
        }
    }

    fn ends_connection(&mut self) -> bool {
        matches!(self.peek(), Kind::End | Kind::Sign(';' | '}' | ')' | ',') | Kind::Bars)
    }

    fn element(&mut self) -> Parsed<Option<Reference>> {
        match self.peek() {
            Kind::Word => self.named().map(Some),
            Kind::Sign('{') => {
                let class = self.compound()?;
                Ok(Some(Reference::Nameless(class, self.configuration())))
            }
            Kind::Sign('(') => self.group().map(Some),
            _ => Ok(None),
        }
    }

    fn named(&mut self) -> Parsed<Reference> {
        let name = self.name("an element")?;
        if self.take(Kind::Colons).is_some() {
            let class = self.class()?;
            return Ok(Reference::Declared(name, class, self.configuration()));
        }
        if self.peek() == Kind::Sign('(') {
            return Ok(Reference::Nameless(Class::Name(name), self.configuration()));
        }
        Ok(Reference::Name(name))
    }

    fn class(&mut self) -> Parsed<Class> {
        match self.peek() {
            Kind::Sign('{') => self.compound(),
            _ => self.name("an element class").map(Class::Name),
        }
    }

    fn group(&mut self) -> Parsed<Reference> {
        let open = self.next().span;
        let body = self.nested(open, Self::statements)?;
        self.close(open, ')')?;
        Ok(Reference::Group(body))
    }

    /// Does something one level deeper.
    fn nested<T>(&mut self, open: Span, inside: impl FnOnce(&mut Self) -> T) -> Parsed<T> {
        if self.depth == DEPTH {
            self.fault(Diagnostic::new(open, format!("nested more than {DEPTH} deep")));
            return Err(Stuck);
        }
        self.depth += 1;
        let result = inside(self);
        self.depth -= 1;
        Ok(result)
    }

    fn close(&mut self, open: Span, sign: char) -> Parsed<Span> {
        if let Some(span) = self.take(Kind::Sign(sign)) {
            return Ok(span);
        }
        let token = self.next();
        self.ahead.push(token);
        self.fault(Diagnostic::new(token.span, format!("expected `{sign}`")).note(open, "to close this"));
        Err(Stuck)
    }

    fn compound(&mut self) -> Parsed<Class> {
        let open = self.next().span;
        let (alternatives, extends) = self.nested(open, Self::alternatives)?;
        let end = self.close(open, '}')?;
        Ok(Class::Compound(Compound { alternatives, extends, span: open.to(end) }))
    }

    /// What is in braces, and whether `...` ends it.
    fn alternatives(&mut self) -> (Vec<Alternative>, bool) {
        let mut all = Vec::new();
        loop {
            if !all.is_empty() && self.take(Kind::Dots).is_some() {
                return (all, true);
            }
            let formals = self.formals();
            all.push(Alternative { formals, body: self.statements() });
            if self.take(Kind::Bars).is_none() {
                return (all, false);
            }
        }
    }

    /// Parameters and the bar behind them, if the first token says that there are any.
    fn formals(&mut self) -> Vec<Formal> {
        let mut all = Vec::new();
        while self.formal_begins() {
            all.extend(self.formal());
            if self.take(Kind::Sign(',')).is_none() {
                break;
            }
        }
        if self.take(Kind::Sign('|')).is_none() && !all.is_empty() {
            let _ = self.expected::<()>("`,` or `|`");
        }
        all
    }

    fn formal_begins(&mut self) -> bool {
        let first = self.next();
        let begins = first.kind == Kind::Variable || first.kind == Kind::Word && self.peek() == Kind::Variable;
        self.ahead.push(first);
        begins
    }

    fn formal(&mut self) -> Option<Formal> {
        let keyword = self.take(Kind::Word).map(|span| span.text(self.lexer.source).to_owned());
        let span = self.take(Kind::Variable)?;
        Some(Formal { keyword, name: span.text(self.lexer.source)[1..].to_owned(), span })
    }

    /// `[0, 2-4]`, if there are ports here.
    fn ports(&mut self) -> Parsed<Option<Ports>> {
        let Some(begin) = self.take(Kind::Sign('[')) else { return Ok(None) };
        let (mut numbers, mut open) = (Vec::new(), false);
        while self.peek() != Kind::Sign(']') {
            open = self.range(&mut numbers)?;
            if numbers.len() > PORTS as usize {
                self.fault(Diagnostic::new(begin, "too many ports"));
                return Err(Stuck);
            }
            if open || self.take(Kind::Sign(',')).is_none() {
                break;
            }
        }
        open |= numbers.is_empty();
        let end = self.close(begin, ']')?;
        Ok(Some(Ports { numbers, open, span: begin.to(end) }))
    }

    /// A port or a range of them; true if the range has no end.
    fn range(&mut self, numbers: &mut Vec<u32>) -> Parsed<bool> {
        let first = self.port()?;
        if self.take(Kind::Sign('-')).is_none() {
            numbers.push(first);
            return Ok(false);
        }
        if self.peek() == Kind::Sign(']') {
            numbers.push(first);
            return Ok(true);
        }
        numbers.extend(first..=self.port()?);
        Ok(false)
    }

    fn port(&mut self) -> Parsed<u32> {
        let name = self.name("a port number")?;
        match name.text.parse() {
            Ok(port) if port < PORTS => Ok(port),
            _ => {
                self.fault(
                    Diagnostic::new(name.span, format!("`{}` is no port number", name.text)).help(format!("ports are 0 to {}", PORTS - 1)),
                );
                Err(Stuck)
            }
        }
    }
}
