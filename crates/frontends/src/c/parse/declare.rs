//! Declarations: types, declarators, initial values, parameters.

use super::{CLASS_WORDS, Parsed, Parser};
use crate::c::ast::{Base, BaseKind, Declaration, Declarator, Designator, Expr, Init, Name, Storage, TypeName};
use crate::c::token::{Kind, Token, unquote};
use crate::c::types::{INT, Type, U32};
use crate::diagnostics::Diagnostic;
use std::sync::Arc;

/// Dimensions that an array may have.
const MAX_DIMENSIONS: usize = 16;
/// Words of C that begin a type or say how it is kept.
const WORDS: [&str; 11] = ["struct", "enum", "const", "static", "typedef", "int", "unsigned", "signed", "void", "inline", "extern"];
/// Words of C for how large a number is, with what to write for it without a sign and with one.
const SIZES: [(&str, [&str; 2]); 4] =
    [("char", ["u8", "i8"]), ("short", ["u16", "i16"]), ("long", ["u64", "i64"]), ("__int128", ["u128", "u128, which has no sign"])];
/// Words of C that the language has not, with what to write.
const ABSENT: [(&str, &str); 12] = [
    ("char", "write u8 or i8; strings stand only in print(\"...\")"),
    ("short", "write i16 or u16"),
    ("long", "write i64 or u64"),
    ("__int128", "write u128, which has no sign"),
    ("float", "there are no floating-point numbers"),
    ("double", "there are no floating-point numbers"),
    ("union", "there are no unions: write a struct for each form"),
    ("volatile", "leave it out"),
    ("register", "leave it out"),
    ("restrict", "leave it out"),
    ("__attribute__", "leave it out: netvm finds what it says by itself"),
    ("_Atomic", "leave it out: an element handles one packet at a time"),
];

impl Parser<'_> {
    /// What comes next begins a type or a declaration.
    pub(super) fn begins_type(&self) -> bool {
        let token = self.peek();
        let word = |text: &str| WORDS.contains(&text) || ABSENT.iter().any(|(word, _)| *word == text);
        token.kind == Kind::Name && (word(&token.text) || self.names.is_type(&token.text))
    }

    /// Storage and base type of a declaration.
    pub(super) fn specifiers(&mut self) -> Parsed<(Storage, Base)> {
        let start = self.peek().place();
        let (mut storage, mut constant, mut kind) = (Storage::None, false, None);
        loop {
            let token = self.peek();
            match &*token.text {
                "static" | "typedef" | "inline" | "extern" if kind.as_ref().is_some_and(defines) => break,
                "static" => storage = Storage::Static,
                "typedef" => storage = Storage::Typedef,
                "const" => constant = true,
                "inline" => {}
                "extern" => return self.fail(Diagnostic::new(token.place(), "an element class is one file").help("leave `extern` out")),
                _ if kind.is_none() && self.begins_type() => {
                    kind = Some(self.base_kind()?);
                    continue;
                }
                _ => break,
            }
            self.next();
        }
        match kind {
            Some(kind) => Ok((storage, Base { kind, constant, span: self.since(start) })),
            None if self.unread_type() => Ok((storage, Base { kind: BaseKind::Known(Type::Error), constant, span: self.since(start) })),
            None => self.no_type(),
        }
    }

    /// The name of a type whose declaration could not be read; it is read.
    fn unread_type(&mut self) -> bool {
        let (token, next) = (self.peek(), self.ahead(1));
        let found = token.kind == Kind::Name && self.faults.is_unread(&token.text) && (next.kind == Kind::Name || next.is("*"));
        if found {
            self.next();
        }
        found
    }

    fn no_type<T>(&mut self) -> Parsed<T> {
        let token = self.peek();
        if token.kind != Kind::Name {
            return self.unexpected("a declaration");
        }
        let fault = Diagnostic::new(token.place(), format!("`{}` is not a type", token.text));
        let mut names: Vec<&str> = Type::names().chain(WORDS).collect();
        names.extend(self.names.typedefs());
        let fault = crate::c::similar(fault, &token.text, names.into_iter(), "");
        self.fail(fault)
    }

    fn base_kind(&mut self) -> Parsed<BaseKind> {
        let token = self.next();
        if let Some(fault) = absent(token) {
            return self.fail(fault);
        }
        match &*token.text {
            "void" => Ok(BaseKind::Known(Type::Void)),
            "int" => Ok(BaseKind::Known(INT)),
            "unsigned" | "signed" => self.signedness(token),
            "struct" => self.deeper(Self::structure),
            "enum" => self.enumeration(),
            _ => Ok(self.named(token)),
        }
    }

    /// What is behind `unsigned` or `signed`: nothing, `int`, or words for what has a name of its
    /// own.
    fn signedness(&mut self, token: &Token) -> Parsed<BaseKind> {
        let (n, known) = if token.is_name("unsigned") { (0, U32) } else { (1, INT) };
        let next = self.peek();
        let Some((word, instead)) = SIZES.iter().find(|(word, _)| next.is_name(word)) else {
            self.eat_word("int");
            return Ok(BaseKind::Known(known));
        };
        let fault = Diagnostic::new(token.place().to(next.place()), format!("there is no `{} {word}` in the element language", token.text));
        self.fail(fault.help(format!("write {}", instead[n])))
    }

    fn named(&self, token: &Token) -> BaseKind {
        match Type::named(&token.text).filter(|_| !self.names.is_typedef(&token.text)) {
            Some(known) => BaseKind::Known(known),
            None => BaseKind::Named(Name { text: Arc::clone(&token.text), span: token.place() }),
        }
    }

    fn tag(&mut self) -> Parsed<Option<Name>> {
        if self.peek().kind == Kind::Name { self.name("a tag").map(Some) } else { Ok(None) }
    }

    fn structure(&mut self) -> Parsed<BaseKind> {
        let tag = self.tag()?;
        if !self.eat("{") {
            return if tag.is_some() { Ok(BaseKind::Struct(tag, None)) } else { self.unexpected("`{`") };
        }
        let mut members = Vec::new();
        while !self.eat("}") {
            let (storage, base) = self.specifiers()?;
            members.push(self.declarators(storage, base, false)?);
        }
        Ok(BaseKind::Struct(tag, Some(members)))
    }

    fn enumeration(&mut self) -> Parsed<BaseKind> {
        let tag = self.tag()?;
        if !self.eat("{") {
            return if tag.is_some() { Ok(BaseKind::Enum(tag, None)) } else { self.unexpected("`{`") };
        }
        let mut list = Vec::new();
        while !self.eat("}") {
            let name = self.name("the name of a constant")?;
            let value = if self.eat("=") { Some(self.conditional()?) } else { None };
            self.names.enter(&name.text, false);
            list.push((name, value));
            if !self.eat(",") && !self.peek().is("}") {
                return self.unexpected("`,` or `}`");
            }
        }
        Ok(BaseKind::Enum(tag, Some(list)))
    }

    /// The semicolon behind the braces of a struct or enum is missing: the next declaration begins.
    /// That is told.
    pub(super) fn forgotten(&mut self, base: &Base) -> bool {
        let declares = self.begins_type() || CLASS_WORDS.contains(&&*self.peek().text) && self.ahead(1).is("(");
        if !declares || !defines(&base.kind) {
            return false;
        }
        let last = self.last();
        self.faults.add(Diagnostic::new(last, "`;` is missing behind this"));
        true
    }

    /// What follows the base of a declaration, up to the semicolon. Names other than those of
    /// members are in scope behind it.
    pub(super) fn declarators(&mut self, storage: Storage, base: Base, enters: bool) -> Parsed<Declaration> {
        let mut declarators = Vec::new();
        if !self.eat(";") && !self.forgotten(&base) {
            loop {
                let declarator = self.declarator(true, base.constant)?;
                if let Some(name) = declarator.name.as_ref().filter(|_| enters) {
                    self.names.enter(&name.text, storage == Storage::Typedef);
                }
                declarators.push(declarator);
                if !self.eat(",") {
                    break;
                }
            }
            self.need(";")?;
        }
        Ok(Declaration { storage, base, declarators })
    }

    /// `*`, and whether the last of them is `*const`.
    pub(super) fn pointers(&mut self) -> (u32, bool) {
        let (mut pointers, mut constant) = (0, false);
        while self.eat("*") {
            constant = self.eat_word("const");
            pointers += 1;
        }
        (pointers, constant)
    }

    fn declarator(&mut self, named: bool, of_constant: bool) -> Parsed<Declarator> {
        let start = self.peek().place();
        let (pointers, constant) = self.pointers();
        if self.peek().is("(") {
            let place = self.peek().place();
            return self.fail(
                Diagnostic::new(place, "there are no function pointers and no parentheses in declarations")
                    .help("call functions by their names; a `switch` chooses between them"),
            );
        }
        let name = if named || self.peek().kind == Kind::Name { Some(self.name("a name")?) } else { None };
        let dimensions = self.dimensions()?;
        if self.peek().is(":") {
            let place = self.peek().place();
            return self.fail(Diagnostic::new(place, "there are no bit-fields").help("use a mask and a shift"));
        }
        let init = if self.eat("=") { Some(self.init()?) } else { None };
        Ok(Declarator { pointers, constant, of_constant, name, dimensions, init, span: self.since(start) })
    }

    fn dimensions(&mut self) -> Parsed<Vec<Option<Expr>>> {
        let mut dimensions = Vec::new();
        while self.eat("[") {
            if dimensions.len() == MAX_DIMENSIONS {
                let place = self.peek().place();
                return self.fail(Diagnostic::new(place, format!("arrays have at most {MAX_DIMENSIONS} dimensions")));
            }
            let size = if self.peek().is("]") { None } else { Some(self.conditional()?) };
            self.need("]")?;
            dimensions.push(size);
        }
        Ok(dimensions)
    }

    /// The name of a type, as in a cast.
    pub(super) fn type_name(&mut self) -> Parsed<TypeName> {
        let (storage, base) = self.specifiers()?;
        if storage != Storage::None {
            return self.fail(Diagnostic::new(base.span, "`static` and `typedef` have no meaning here"));
        }
        let start = self.peek().place();
        let ((pointers, constant), of_constant) = (self.pointers(), base.constant);
        let dimensions = self.dimensions()?;
        let declarator = Declarator { pointers, constant, of_constant, name: None, dimensions, init: None, span: start };
        Ok(TypeName { base, declarator })
    }

    /// An initial value.
    pub(super) fn init(&mut self) -> Parsed<Init> {
        let start = self.peek().place();
        if !self.eat("{") {
            return Ok(Init::Value(self.assignment()?));
        }
        let mut list = Vec::new();
        while !self.eat("}") {
            let designators = self.designators()?;
            list.push((designators, self.deeper(Self::init)?));
            if !self.eat(",") && !self.peek().is("}") {
                let ended = self.peek().is(";");
                let fault = self.unexpected(if ended { "`}`" } else { "`,` or `}`" });
                return if ended { Ok(Init::List(list, self.since(start))) } else { fault };
            }
        }
        Ok(Init::List(list, self.since(start)))
    }

    fn designators(&mut self) -> Parsed<Vec<Designator>> {
        let mut designators = Vec::new();
        loop {
            if self.eat(".") {
                designators.push(Designator::Member(self.name("a member")?));
            } else if self.eat("[") {
                designators.push(Designator::Index(self.conditional()?));
                self.need("]")?;
            } else {
                break;
            }
        }
        if !designators.is_empty() {
            self.need("=")?;
        }
        Ok(designators)
    }

    /// Parameters up to the closing parenthesis, which is read.
    pub(super) fn params(&mut self) -> Parsed<Vec<(Base, Declarator)>> {
        let mut params = Vec::new();
        if self.eat(")") {
            return Ok(params);
        }
        if self.peek().is_name("void") && self.ahead(1).is(")") {
            self.next();
            self.next();
            return Ok(params);
        }
        loop {
            if self.peek().is("...") {
                let place = self.peek().place();
                return self.fail(Diagnostic::new(place, "there are no functions with any number of arguments"));
            }
            let (_, base) = self.specifiers()?;
            let declarator = self.declarator(false, base.constant)?;
            if let Some(name) = &declarator.name {
                self.names.enter(&name.text, false);
            }
            params.push((base, declarator));
            if !self.eat(",") {
                return self.close(",").map(|()| params);
            }
        }
    }

    /// `(condition, "text");` of a static assertion.
    pub(super) fn assertion(&mut self) -> Parsed<(Expr, Option<Vec<u8>>)> {
        self.need("(")?;
        let condition = self.conditional()?;
        let mut text = None;
        if self.eat(",") {
            let token = self.next();
            text = unquote(&token.text).ok().filter(|_| token.kind == Kind::Text);
        }
        self.need(")")?;
        self.need(";")?;
        Ok((condition, text))
    }
}

/// What is wrong with a word of C that the language has not.
pub(super) fn absent(token: &Token) -> Option<Diagnostic> {
    let (word, remedy) = ABSENT.iter().find(|(word, _)| token.is_name(word))?;
    Some(Diagnostic::new(token.place(), format!("there is no `{word}` in the element language")).help(*remedy))
}

/// It has the braces of a struct or enum.
fn defines(kind: &BaseKind) -> bool {
    matches!(kind, BaseKind::Struct(_, Some(_)) | BaseKind::Enum(_, Some(_)))
}
