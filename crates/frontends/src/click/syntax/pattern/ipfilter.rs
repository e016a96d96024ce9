//! The pattern language of IPFilter and IPClassifier.
//!
//! ```text
//! choice ::= any [ "?" choice ":" choice ]
//! any    ::= all { ("or" | "||") all }
//! all    ::= factor { ["and" | "&&"] factor }
//! factor ::= ("not" | "!") factor | "(" choice ")" | "true" | "false" | primitive
//! ```
//!
//! A primitive is qualifiers, perhaps a mask and an operator, and a value; see [`super::primitive`]
//! for what may be left out.
//!
//! Source: Click's manuals of IPFilter and IPClassifier.

use super::emit;
use super::formula::{Area, Formula, Rule};
use super::primitive::{Data, Ends, Mask, Primitive, Relation};
use super::program;
use super::words::{self, Bits, Kind, Named, Protocol};
use crate::click::config::unquote;
use crate::click::syntax::request::{Generated, Request};
use crate::click::syntax::{ArgumentError, Scope, address, ethernet, integer, port, prefix};

/// How deeply patterns may be nested.
const DEPTH: usize = 50;

/// Writes the function of patterns with an output for each.
pub(in crate::click::syntax) fn classifier(request: &Request<'_>) -> Result<Generated, Vec<ArgumentError>> {
    request.one_for_each_output()?;
    let rules = request.each(|n, argument| Ok((pattern(&words_of(&text(argument)), &request.names)?, n as i64)))?;
    Ok(program::with(emit::function(request.name, &rules), request.name, &rules))
}

/// Writes the function of patterns behind actions.
pub(in crate::click::syntax) fn filter(request: &Request<'_>) -> Result<Generated, Vec<ArgumentError>> {
    let rules = request.each(|_, argument| rule(&text(argument), request))?;
    Ok(program::with(emit::function(request.name, &rules), request.name, &rules))
}

fn text(argument: &str) -> String {
    String::from_utf8_lossy(&unquote(argument)).into_owned()
}

/// `ACTION PATTERN`
fn rule(text: &str, request: &Request<'_>) -> Result<Rule, ArgumentError> {
    let words = words_of(text);
    let Some((action, rest)) = words.split_first() else { return Err(ArgumentError::new("an action and a pattern are missing")) };
    let output = match *action {
        "deny" | "drop" => -1,
        "allow" if request.outputs == 0 => return Err(ArgumentError::new("`allow` means output 0, and there is none")),
        "allow" => 0,
        number => {
            let output = integer::parse(number, 0)
                .map_err(|_| ArgumentError::new(format!("`{number}` is not an action: allow, deny, drop or an output's number")))?;
            if !(0..i128::from(request.outputs)).contains(&output) {
                return Err(ArgumentError::new(format!("there is no output {output}")));
            }
            output
        }
    };
    Ok((pattern(rest, &request.names)?, output as i64))
}

/// A whole pattern.
pub(super) fn pattern(words: &[&str], names: &Scope<'_>) -> Result<Formula, ArgumentError> {
    match words {
        [] | ["-" | "any" | "all"] => return Ok(Formula::Is(true)),
        ["none"] => return Ok(Formula::Is(false)),
        _ => {}
    }
    let mut parser = Parser { words, at: 0, depth: 0, before: Primitive::default(), names };
    let formula = parser.choice()?;
    match words.get(parser.at) {
        Some(word) => Err(ArgumentError::new(format!("`{word}` is too much"))),
        None => Ok(formula.simple()),
    }
}

/// Words and signs.
pub(super) fn words_of(text: &str) -> Vec<&str> {
    let (mut words, mut rest) = (Vec::new(), text.trim_start());
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '&' | '|' if rest[1..].starts_with(first) => 2,
            '<' | '>' | '!' | '=' if rest[1..].starts_with('=') => 2,
            _ => {
                let inner = |c: char| c.is_ascii_alphanumeric() || "-./@_:".contains(c);
                let length = rest.find(|c| !inner(c)).unwrap_or(rest.len());
                if length == 0 { first.len_utf8() } else { length }
            }
        };
        words.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    words
}

struct Parser<'a> {
    words: &'a [&'a str],
    at: usize,
    depth: usize,
    /// The primitive before, whose qualifiers go on.
    before: Primitive,
    names: &'a Scope<'a>,
}

impl<'a> Parser<'a> {
    fn word(&self) -> &'a str {
        self.words.get(self.at).copied().unwrap_or("")
    }

    /// Steps over one of these words.
    fn accept(&mut self, any: &[&str]) -> bool {
        let is = any.contains(&self.word());
        self.at += usize::from(is);
        is
    }

    fn choice(&mut self) -> Result<Formula, ArgumentError> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(ArgumentError::new(format!("nested more than {DEPTH} times")));
        }
        let first = self.any()?;
        let formula = if self.accept(&["?"]) {
            let then = self.choice()?;
            if !self.accept(&[":"]) {
                return Err(ArgumentError::new("`:` is missing behind `?`"));
            }
            let otherwise = self.choice()?;
            Formula::If(Box::new([first, then, otherwise])).simple()
        } else {
            first
        };
        self.depth -= 1;
        Ok(formula)
    }

    fn any(&mut self) -> Result<Formula, ArgumentError> {
        let mut all = vec![self.all()?];
        while self.accept(&["or", "||"]) {
            all.push(self.all()?);
        }
        Ok(Formula::Any(all).simple())
    }

    fn all(&mut self) -> Result<Formula, ArgumentError> {
        let mut all = Vec::new();
        loop {
            match self.factor()? {
                Some(factor) => all.push(factor),
                None => return Err(self.missing()),
            }
            let ends = ["", ")", "or", "||", "?", ":"].contains(&self.word());
            if !self.accept(&["and", "&&"]) && ends {
                return Ok(Formula::All(all).simple());
            }
        }
    }

    fn missing(&self) -> ArgumentError {
        match self.word() {
            "" => ArgumentError::new("a pattern is missing at the end"),
            word => ArgumentError::new(format!("a pattern is missing before `{word}`")),
        }
    }

    fn factor(&mut self) -> Result<Option<Formula>, ArgumentError> {
        let mut negated = false;
        while self.accept(&["not", "!"]) {
            negated = !negated;
        }
        let formula = if self.accept(&["("]) {
            let inner = self.choice()?;
            if !self.accept(&[")"]) {
                return Err(ArgumentError::new("`)` is missing"));
            }
            inner
        } else if self.accept(&["true"]) {
            Formula::Is(true)
        } else if self.accept(&["false"]) {
            Formula::Is(false)
        } else if ["", ")", "or", "||", "and", "&&", "?", ":"].contains(&self.word()) {
            return Ok(None);
        } else {
            self.primitive(&mut negated)?
        };
        Ok(Some(if negated { formula.negated() } else { formula }))
    }

    fn primitive(&mut self, negated: &mut bool) -> Result<Formula, ArgumentError> {
        let start = self.at;
        let mut primitive = self.qualifiers(negated)?;
        if self.at > start {
            self.before = Primitive::default();
        }
        if self.word() == "[" && self.at > start && primitive.kind.is_none() {
            primitive.kind = Some(self.brackets(primitive.protocol)?);
        }
        if self.word() == "&" {
            self.at += 1;
            primitive.mask = Some(self.mask()?);
        }
        primitive.relation = self.relation();
        primitive.data = self.data(&primitive)?;
        if self.at == start {
            // A word that means nothing else is a service.
            let port = port::service(self.word()).ok_or_else(|| ArgumentError::new(format!("`{}` has no meaning", self.word())))?;
            primitive.data = Data::Named(Kind::Port, port.into());
            self.at += 1;
        }
        let text = self.words[start..self.at].join(" ");
        let formula = primitive.formula(&self.before).map_err(|wrong| ArgumentError::new(format!("`{text}`: {wrong}")))?;
        self.before = primitive;
        Ok(formula)
    }

    /// What stands before the value.
    fn qualifiers(&mut self, negated: &mut bool) -> Result<Primitive, ArgumentError> {
        let mut primitive = Primitive::default();
        let mut header = false;
        loop {
            let word = self.word();
            if let Some(kind) = words::kind(word) {
                set(&mut primitive.kind, kind, "two kinds of tests")?;
                if let Kind::Bits(Bits { protocol: Some(protocol), .. }) = kind {
                    set_protocol(&mut primitive, protocol)?;
                }
            } else if let Ok(Some(Named::Protocol(protocol))) = words::value(word, None, None, self.names) {
                set_protocol(&mut primitive, protocol)?;
            } else {
                match word {
                    "src" | "dst" | "dest" => {
                        let ends = self.ends();
                        set(&mut primitive.ends, ends, "`src` or `dst` twice")?;
                    }
                    "ip" if !header => header = true,
                    "ether" => return Err(ArgumentError::new("`ether`: Ethernet headers are not looked at here, Classifier does that")),
                    "not" | "!" => *negated = !*negated,
                    _ => return Ok(primitive),
                }
            }
            self.at += 1;
        }
    }

    /// `src`, `dst`, `src or dst`, `src and dst`; stays at the last word.
    fn ends(&mut self) -> Ends {
        let rest = &self.words[self.at..];
        let (ends, words) = match rest {
            ["src", "and" | "&&", "dst" | "dest", ..] => (Ends::Both, 2),
            ["src", "or" | "||", "dst" | "dest", ..] => (Ends::Either, 2),
            ["src", ..] => (Ends::Source, 0),
            _ => (Ends::Destination, 0),
        };
        self.at += words;
        ends
    }

    /// `[POS]`, `[POS:LEN]` or `[FIRST,LAST]`
    fn brackets(&mut self, protocol: Option<Protocol>) -> Result<Kind, ArgumentError> {
        let inside = &self.words[self.at + 1..];
        let end = inside.iter().position(|word| *word == "]").ok_or("`]` is missing")?;
        let text = inside[..end].concat();
        self.at += end + 2;
        let number =
            |text: &str| integer::parse(text, 0).ok().and_then(|number| u32::try_from(number).ok()).filter(|number| *number < 1 << 13);
        let place = match (text.split_once(':'), text.split_once(',')) {
            (Some((at, length)), _) => number(at).zip(number(length)),
            (None, Some((first, last))) => number(first).zip(number(last)).map(|(first, last)| (first, (last + 1).saturating_sub(first))),
            (None, None) => number(&text).map(|at| (at, 1)),
        };
        let (offset, bytes) = place.ok_or_else(|| ArgumentError::new(format!("`[{text}]` is not [POS] or [POS:LEN]")))?;
        if !(1..=4).contains(&bytes) || offset / 4 != (offset + bytes - 1) / 4 {
            return Err(ArgumentError::new(format!("`[{text}]` is not within four bytes that begin at a multiple of four")));
        }
        let area = if protocol.is_some() { Area::Transport } else { Area::Ip };
        Ok(Kind::Bits(Bits { area, protocol, offset, bytes, shift: 0, width: 8 * bytes }))
    }

    /// What stands behind `&`.
    fn mask(&mut self) -> Result<Mask, ArgumentError> {
        let word = self.word();
        self.at += 1;
        let number = unsigned(word).map(Mask::Number);
        let mask = number
            .or_else(|| address::parse(word, self.names).map(Mask::Address))
            .ok_or_else(|| ArgumentError::new(format!("`{word}` is not a mask")))?;
        if matches!(mask, Mask::Number(0) | Mask::Address(0)) { Err(ArgumentError::new("a mask of 0")) } else { Ok(mask) }
    }

    fn relation(&mut self) -> Relation {
        let relation = match self.word() {
            "=" | "==" => Relation::Equal,
            "!=" => Relation::Differs,
            ">" => Relation::Above,
            "<" => Relation::Below,
            ">=" => Relation::AtLeast,
            "<=" => Relation::AtMost,
            _ => return Relation::Equal,
        };
        self.at += 1;
        relation
    }

    /// The value, if there is one.
    fn data(&mut self, primitive: &Primitive) -> Result<Data, ArgumentError> {
        let word = self.word();
        let data = match words::value(word, primitive.kind, primitive.protocol, self.names)? {
            Some(Named::Protocol(protocol)) => Some(Data::Protocol(protocol)),
            Some(Named::Value(kind, value)) => Some(Data::Named(kind, value)),
            None => unsigned(word).map(Data::Number).or_else(|| self.address(primitive)),
        };
        if data.is_none() && ethernet::parse(word, self.names).is_some() {
            return Err(ArgumentError::new(format!("`{word}`: Ethernet headers are not looked at here, Classifier does that")));
        }
        self.at += usize::from(data.is_some());
        if data.is_none() && primitive.relation != Relation::Equal {
            return Err(ArgumentError::new(format!("a value is missing before `{word}`")));
        }
        Ok(data.unwrap_or_default())
    }

    /// An address or a network; `ADDR mask MASK` is one too. Stays at its last word.
    fn address(&mut self, primitive: &Primitive) -> Option<Data> {
        let word = self.word();
        let net = || prefix::parse(word, false, self.names).map(|(address, mask)| Data::Net(address, mask));
        let Some(address) = address::parse(word, self.names) else { return net() };
        if let ["mask", mask, ..] = self.words[self.at + 1..]
            && let Some(mask) = address::parse(mask, self.names)
        {
            self.at += 2;
            return Some(Data::Net(address, mask));
        }
        let wants_net = primitive.kind == Some(Kind::Net);
        Some(net().filter(|_| wants_net).unwrap_or(Data::Host(address)))
    }
}

fn set<T>(place: &mut Option<T>, value: T, twice: &str) -> Result<(), ArgumentError> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(ArgumentError::new(twice)),
    }
}

fn set_protocol(primitive: &mut Primitive, protocol: Protocol) -> Result<(), ArgumentError> {
    match primitive.protocol.replace(protocol) {
        Some(before) if before != protocol => Err(ArgumentError::new("two protocols")),
        _ => Ok(()),
    }
}

fn unsigned(word: &str) -> Option<u32> {
    integer::parse(word, 0).ok().and_then(|number| u32::try_from(number).ok())
}
