//! What a Click configuration says, before names are resolved: the grammar of click(5).

use crate::diagnostics::Span;

/// A word and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The word.
    pub text: String,
    /// Its place.
    pub span: Span,
}

/// A statement.
#[derive(Clone, Debug)]
pub enum Statement {
    /// Declarations of elements, and connections between them.
    Connection(Connection),
    /// `elementclass NAME CLASS`
    Class(Name, Class),
    /// `connectiontunnel FROM -> TO`: what enters the one comes out of the other.
    Tunnel(Name, Name),
    /// `require(…)`
    Require(Text),
    /// `define(…)`
    Define(Text),
}

/// Elements in a row, with an arrow between each two places.
#[derive(Clone, Debug)]
pub struct Connection {
    /// The places: at each, one element or several separated by commas.
    pub places: Vec<Vec<Endpoint>>,
    /// Between a place and the next: whether the arrow is `=>`.
    pub many: Vec<bool>,
    /// All of it.
    pub span: Span,
}

/// An element in a connection, with the ports that are used.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// `[ports]` before it.
    pub inputs: Option<Ports>,
    /// The element.
    pub element: Reference,
    /// `[ports]` behind it.
    pub outputs: Option<Ports>,
    /// All of it.
    pub span: Span,
}

/// What is said to be the element.
#[derive(Clone, Debug)]
pub enum Reference {
    /// A name: of an element, or of the class of a nameless one.
    Name(Name),
    /// `name :: CLASS(configuration)`
    Declared(Name, Class, Option<Text>),
    /// `CLASS(configuration)`
    Nameless(Class, Option<Text>),
    /// Statements in parentheses.
    Group(Vec<Statement>),
    /// Nothing before the first arrow, or behind the last: `input` or `output`.
    Implied(Side),
}

/// The two ends of a compound element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// `input`
    Input,
    /// `output`
    Output,
}

/// Port numbers in brackets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ports {
    /// The numbers, ranges written out.
    pub numbers: Vec<u32>,
    /// Whether as many more follow as the other side needs: `[]`, `[2-]`.
    pub open: bool,
    /// The brackets with what is in them.
    pub span: Span,
}

/// An element class.
#[derive(Clone, Debug)]
pub enum Class {
    /// By its name.
    Name(Name),
    /// Alternatives in braces.
    Compound(Compound),
}

/// A compound element class.
#[derive(Clone, Debug)]
pub struct Compound {
    /// The alternatives, of which the first that fits is taken.
    pub alternatives: Vec<Alternative>,
    /// Whether those of the class that had the name before follow: `|| ...`.
    pub extends: bool,
    /// All of it.
    pub span: Span,
}

/// One alternative of a compound.
#[derive(Clone, Debug)]
pub struct Alternative {
    /// Its parameters.
    pub formals: Vec<Formal>,
    /// What it is made of.
    pub body: Vec<Statement>,
}

/// A parameter: `$name` or `KEYWORD $name`.
#[derive(Clone, Debug)]
pub struct Formal {
    /// The keyword, `__REST__` among them.
    pub keyword: Option<String>,
    /// The name without `$`.
    pub name: String,
    /// Its place.
    pub span: Span,
}

/// A configuration string as it stands in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// Without the parentheses around it.
    pub text: String,
    /// Its place.
    pub span: Span,
}
