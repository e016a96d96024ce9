//! Tokens → [`Ast`]: the grammar of libpcap 1.10.3, by recursive descent.
//!
//! What makes this language odd is that an identifier may stand alone after `and` or `or` and takes
//! over the qualifiers of the term before (`tcp port 80 or 443`), also inside parentheses
//! (`port (80 or 443)`). So a parenthesis may hold a filter, a list of identifiers, a number or
//! arithmetic, and which of them is seen only later; [`Item`] carries that question upwards, and
//! [`Want`] says which answers the place allows.
//!
//! Accepted is exactly what libpcap's LALR grammar accepts, with two differences: words of ATM
//! cells are refused at once, and nesting is bounded by [`MAX_DEPTH`], so no source text overflows
//! the stack.

use super::ast::{ArithId, Ast, Id, Join, Node, NodeId, Proto, Quals};
use super::error::{Error, ErrorKind, Errors, Span};
use super::lexer;
use super::token::{Tok, Token, Word};

/// Deepest nesting of parentheses, `not` and arithmetic together.
pub(crate) const MAX_DEPTH: u32 = 500;

/// Parses a filter.
///
/// # Errors
/// Where the source leaves the grammar: one error, with what was expected there.
pub fn parse(source: &str) -> Result<Ast, Errors> {
    let (tokens, errors) = lexer::tokens(source);
    let ast = Ast { source: source.to_owned(), root: None, nodes: Vec::new(), ariths: Vec::new() };
    let mut parser = Parser { tokens, errors, at: 0, depth: 0, operators: 0, ast };
    parser.program().map_err(|errors| super::hints::improved(errors, source))?;
    Ok(parser.ast)
}

pub(super) struct Parser {
    tokens: Vec<Token>,
    errors: Vec<Error>,
    at: usize,
    depth: u32,
    /// Arithmetic operators of the comparison being read.
    pub(super) operators: u32,
    pub(super) ast: Ast,
}

pub(super) type Res<T> = Result<T, Error>;

/// Qualifiers that a bare identifier takes over; `None` where the term before has none.
pub(super) type Lent = Option<Quals>;

/// What may stand at a place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Want {
    /// A term with its own keyword.
    Term,
    /// A term, or an identifier with the qualifiers lent to it.
    Either,
    /// An identifier only.
    Id,
}

/// What was found at a place.
pub(super) enum Item {
    /// A complete term, and the qualifiers that it lends.
    Term(NodeId, Lent),
    /// An identifier or a negated one.
    Id(NodeId),
    /// A parenthesised list of identifiers.
    IdList(NodeId),
    /// A number, which is an identifier or arithmetic.
    Number(u32, Span),
    /// Arithmetic that still lacks its comparison.
    Arith(ArithId),
}

impl Parser {
    fn program(&mut self) -> Result<(), Errors> {
        if self.peek() == Tok::End {
            return Ok(());
        }
        let root = match self.sequence(None, Want::Term)? {
            Item::Term(node, _) => node,
            _ => return Err(self.expected("a comparison operator such as `=` or `>`").into()),
        };
        if self.peek() != Tok::End {
            return Err(self.expected_join("`and`, `or` or the end of the filter", ErrorKind::NotJoined).into());
        }
        self.ast.root = Some(root);
        Ok(())
    }

    /// Everything up to a closing parenthesis or the end.
    fn sequence(&mut self, lent: Lent, want: Want) -> Res<Item> {
        match self.operand(lent, want)? {
            Item::Term(first, lends) => self.terms(first, lends),
            Item::Id(first) => self.ids(first, lent),
            Item::Number(value, at) if want != Want::Term && self.at_join() => {
                let first = self.number_id(lent, value, at)?;
                self.ids(first, lent)
            }
            Item::IdList(_) => Err(self.expected_before("a list of identifiers within one pair of parentheses")),
            other => Ok(other),
        }
    }

    /// `term and … or …` after its first term.
    fn terms(&mut self, first: NodeId, mut lent: Lent) -> Res<Item> {
        let mut rest = Vec::new();
        while let Some(join) = self.join() {
            let node = match self.operand(lent, Want::Either)? {
                Item::Term(node, lends) => {
                    lent = lends;
                    node
                }
                Item::Id(node) | Item::IdList(node) => node,
                Item::Number(value, at) => self.number_id(lent, value, at)?,
                Item::Arith(_) => return Err(self.expected("a comparison operator such as `=` or `>`")),
            };
            rest.push((join, node));
        }
        Ok(Item::Term(self.chain(first, rest), lent))
    }

    /// `id and … or …` after its first identifier, inside parentheses.
    fn ids(&mut self, first: NodeId, lent: Lent) -> Res<Item> {
        let mut rest = Vec::new();
        while let Some(join) = self.join() {
            rest.push((join, self.identifier(lent)?));
        }
        Ok(Item::Id(self.chain(first, rest)))
    }

    /// One identifier, a negated one, or a parenthesised list.
    pub(super) fn identifier(&mut self, lent: Lent) -> Res<NodeId> {
        match self.operand(lent, Want::Id)? {
            Item::Id(node) | Item::IdList(node) => Ok(node),
            Item::Number(value, at) => self.number_id(lent, value, at),
            Item::Term(..) | Item::Arith(_) => Err(self.expected_before("an address, a port or a name")),
        }
    }

    fn chain(&mut self, first: NodeId, rest: Vec<(Join, NodeId)>) -> NodeId {
        let Some(&(_, last)) = rest.last() else { return first };
        let span = self.ast.span(first).to(self.ast.span(last));
        self.node(Node::Chain { first, rest }, span)
    }

    /// One operand of `and` and `or`.
    fn operand(&mut self, lent: Lent, want: Want) -> Res<Item> {
        self.nested(|p| p.operand_inside(lent, want))
    }

    fn operand_inside(&mut self, lent: Lent, want: Want) -> Res<Item> {
        let ids = want != Want::Term;
        match self.peek() {
            Tok::Not => self.negated(lent, want),
            Tok::Punct(b'(') => {
                let inside = self.parenthesis(lent, want)?;
                self.arithmetic_after(inside, want)
            }
            Tok::Number(value) => {
                let at = self.bump().span;
                self.arithmetic_after(Item::Number(value, at), want)
            }
            Tok::Name | Tok::Dotted | Tok::Ipv6 | Tok::Mac | Tok::Arcnet if ids => self.name_or_address(lent),
            Tok::Name if self.misspelt().is_some() => Err(self.unknown_word()),
            Tok::Name | Tok::Dotted | Tok::Ipv6 | Tok::Mac | Tok::Arcnet => Err(self.unqualified()),
            _ if want == Want::Id => Err(self.expected_id()),
            Tok::Punct(b'-') | Tok::Word(Word::Len) => {
                let left = self.arith_operand()?;
                self.arithmetic_after(Item::Arith(left), want)
            }
            Tok::Word(word) => self.keyword(word, want),
            _ => Err(self.expected("a term such as `host`, `port 80`, `tcp` or `len > 100`")),
        }
    }

    fn negated(&mut self, lent: Lent, want: Want) -> Res<Item> {
        let not = self.bump().span;
        match self.operand(lent, want)? {
            Item::Term(node, lends) => Ok(Item::Term(self.not(not, node), lends)),
            Item::Id(node) | Item::IdList(node) => Ok(Item::Id(self.not(not, node))),
            Item::Number(value, at) if want != Want::Term => {
                let node = self.number_id(lent, value, at)?;
                Ok(Item::Id(self.not(not, node)))
            }
            Item::Number(..) | Item::Arith(_) => Err(self.expected("a comparison operator such as `=` or `>`")),
        }
    }

    fn not(&mut self, not: Span, node: NodeId) -> NodeId {
        let span = not.to(self.ast.span(node));
        self.node(Node::Not(node), span)
    }

    fn parenthesis(&mut self, lent: Lent, want: Want) -> Res<Item> {
        let open = self.bump().span;
        let inside = self.sequence(lent, want)?;
        if self.peek() != Tok::Punct(b')') {
            return Err(self.unclosed(&inside, open));
        }
        let span = open.to(self.bump().span);
        Ok(match inside {
            Item::Term(node, _) => Item::Term(self.widen(node, span), lent),
            Item::Id(node) => Item::IdList(self.widen(node, span)),
            Item::Number(value, _) => Item::Number(value, span),
            other => other,
        })
    }

    fn unclosed(&mut self, inside: &Item, open: Span) -> Error {
        let wanted = match inside {
            Item::Arith(_) => "`)` or an operator",
            Item::Number(..) => "`)`, an operator or a comparison",
            Item::Term(..) | Item::Id(_) | Item::IdList(_) => "`)`, `and` or `or`",
        };
        let error = self.expected_join(wanted, ErrorKind::Other);
        if self.peek() == Tok::End { error.help(format!("the `(` at byte {} is not closed", open.start)) } else { error }
    }

    /// A parenthesised chain keeps its parentheses in its span; a single term inside them does too.
    fn widen(&mut self, node: NodeId, span: Span) -> NodeId {
        self.ast.nodes[node.0 as usize].1 = span;
        node
    }

    fn keyword(&mut self, word: Word, want: Want) -> Res<Item> {
        if let Word::Proto(proto) = word
            && self.peek_after() == Tok::Punct(b'[')
        {
            let left = self.load(proto)?;
            return self.arithmetic_after(Item::Arith(left), want);
        }
        let (node, lends) = self.term(word)?;
        Ok(Item::Term(node, lends))
    }

    pub(super) fn number_id(&mut self, lent: Lent, value: u32, at: Span) -> Res<NodeId> {
        self.id(lent, Id::Number(value), at)
    }

    /// An identifier with the qualifiers lent to it.
    pub(super) fn id(&mut self, lent: Lent, id: Id, at: Span) -> Res<NodeId> {
        let Some(quals) = lent else {
            let text = self.ast.text(at);
            let example = match id {
                Id::Number(_) => format!("`host {text}` or `port {text}`"),
                Id::Mac(_) => format!("`ether host {text}`"),
                _ => format!("`host {text}`"),
            };
            return Err(Error::new(at, format!("`{text}` says neither what it is nor takes it over from the term before"))
                .help(format!("write what is meant, as in {example}")));
        };
        Ok(self.node(Node::Id { quals, id, at }, at))
    }
}

/// Reading tokens.
impl Parser {
    pub(super) fn peek(&self) -> Tok {
        self.tokens[self.at].kind
    }

    pub(super) fn peek_after(&self) -> Tok {
        self.tokens.get(self.at + 1).map_or(Tok::End, |t| t.kind)
    }

    pub(super) fn span(&self) -> Span {
        self.tokens[self.at].span
    }

    /// Takes a token; the last one (end or lexical error) stays.
    pub(super) fn bump(&mut self) -> Token {
        let token = self.tokens[self.at];
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    pub(super) fn eat(&mut self, kind: Tok) -> bool {
        let found = self.peek() == kind;
        if found {
            self.bump();
        }
        found
    }

    /// Where the token before the next one ended.
    pub(super) fn previous(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].span
    }

    fn at_join(&self) -> bool {
        matches!(self.peek(), Tok::And | Tok::Or)
    }

    fn join(&mut self) -> Option<Join> {
        let join = match self.peek() {
            Tok::And => Join::And,
            Tok::Or => Join::Or,
            _ => return None,
        };
        self.bump();
        Some(join)
    }

    pub(super) fn node(&mut self, node: Node, span: Span) -> NodeId {
        let id = NodeId(u32::try_from(self.ast.nodes.len()).unwrap_or(u32::MAX));
        self.ast.nodes.push((node, span));
        id
    }

    pub(super) fn nested<T>(&mut self, parse: impl FnOnce(&mut Parser) -> Res<T>) -> Res<T> {
        if self.depth == MAX_DEPTH {
            return Err(Error::new(self.span(), format!("nested more than {MAX_DEPTH} deep"))
                .help("chains of `and` and `or` need no parentheses: terms are taken from left to right"));
        }
        self.depth += 1;
        let result = parse(self);
        self.depth -= 1;
        result
    }
}

/// Errors.
impl Parser {
    /// The next token is not what the grammar wants here.
    pub(super) fn expected(&mut self, wanted: &str) -> Error {
        let found = match self.peek() {
            Tok::Bad(index) => return self.errors[index as usize].clone(),
            Tok::End => "the end of the filter".to_owned(),
            _ => format!("`{}`", self.ast.text(self.span())),
        };
        let error = Error::new(self.span(), format!("expected {wanted}, found {found}"));
        match self.misspelt() {
            Some(word) => error.help(format!("did you mean `{word}`?")),
            None => error,
        }
    }

    /// A term ends here. If it ended with a misspelt keyword, which was taken for an identifier,
    /// that is the fault.
    fn expected_join(&mut self, wanted: &str, kind: ErrorKind) -> Error {
        let before = self.at.saturating_sub(1);
        let operand = !matches!(self.peek(), Tok::End | Tok::Bad(_) | Tok::Punct(_) | Tok::Not);
        if operand
            && self.at > 0
            && self.tokens[before].kind == Tok::Name
            && super::suggest::word(self.ast.text(self.tokens[before].span)).is_some()
        {
            self.at = before;
            return self.unknown_word();
        }
        self.expected(wanted).kind(kind)
    }

    /// An identifier must stand here.
    fn expected_id(&mut self) -> Error {
        let error = self.expected("an address, a port or a name");
        match self.peek() {
            Tok::Word(_) => {
                let text = self.ast.text(self.span());
                error.help(format!("`{text}` is a reserved word; as a name it is written `\\{text}`"))
            }
            _ => error,
        }
    }

    /// What was just read is not what the grammar wants there.
    fn expected_before(&self, wanted: &str) -> Error {
        Error::new(self.previous(), format!("expected {wanted}"))
    }

    /// The reserved word that the next token nearly is.
    pub(super) fn misspelt(&self) -> Option<&'static str> {
        (self.peek() == Tok::Name).then(|| super::suggest::word(self.ast.text(self.span()))).flatten()
    }

    pub(super) fn unknown_word(&mut self) -> Error {
        let text = self.ast.text(self.span()).to_owned();
        let error = Error::new(self.span(), format!("unknown word `{text}`")).kind(ErrorKind::UnknownWord);
        if let Some((word, rest)) = text.split_once('-').filter(|(word, _)| super::suggest::is_word(word)) {
            return error.help(format!("a `-` inside a word belongs to it; a subtraction is written `{word} - {rest}`"));
        }
        let word = self.misspelt().unwrap_or_default();
        let next = match self.peek_after() {
            Tok::End | Tok::And | Tok::Or | Tok::Bad(_) => String::new(),
            _ => format!(" {}", self.ast.text(self.tokens[self.at + 1].span)),
        };
        error.help(format!("did you mean `{word}{next}`?"))
    }

    /// An identifier at the beginning of a filter or right inside parentheses there.
    fn unqualified(&mut self) -> Error {
        let text = self.ast.text(self.span()).to_owned();
        if self.peek() == Tok::Name {
            return Error::new(self.span(), format!("`{text}` is no word of the filter language"))
                .kind(ErrorKind::UnknownWord)
                .help("a term begins with a word such as `host`, `port`, `tcp` or `not`");
        }
        let word = match self.peek() {
            Tok::Mac => "ether host",
            Tok::Arcnet => "link host",
            _ => "host",
        };
        Error::new(self.span(), format!("`{text}` does not say what it is")).help(format!("an address is written `{word} {text}`"))
    }

    pub(super) fn foreign(&self) -> Error {
        let text = self.ast.text(self.span());
        Error::new(self.span(), format!("`{text}` tests ATM cells, and netvm reads no such link type"))
    }

    pub(super) fn proto_node(&mut self, proto: Proto, span: Span) -> NodeId {
        self.node(Node::Proto(proto), span)
    }
}
