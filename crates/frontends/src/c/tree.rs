//! A checked program: names are resolved, every expression has its type, every conversion is
//! written out.
//!
//! Numbers are kept as they are on NetIL's stack: integers of at most 32 bits are extended to 32 by
//! their own sign, see [`normal`].

use super::builtins;
use super::types::Type;
use crate::diagnostics::Span;
use std::sync::Arc;

#[derive(Clone, Debug)]
pub(super) struct Expr {
    pub(super) kind: Kind,
    pub(super) ty: Type,
    pub(super) span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    And,
    Or,
    Xor,
    Shl,
    Shr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compare {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Number(u128),
    /// A string for `print`.
    Text(Arc<[u8]>),
    /// `NINPUTS`, or `NOUTPUTS` if true.
    Ports(bool),
    Load(Box<PlaceExpr>),
    Address(Box<PlaceExpr>),
    /// The pointer 0.
    Null,
    Negate(Box<Expr>),
    Complement(Box<Expr>),
    /// Both sides have the type of the whole; the right side of a shift has any integer type.
    Binary(Binary, Box<Expr>, Box<Expr>),
    /// Both sides have the same type.
    Compare(Compare, Box<Expr>, Box<Expr>),
    /// A pointer is not 0.
    Valid(Box<Expr>),
    /// 1 if the value is 0.
    Not(Box<Expr>),
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    Choose(Box<Expr>, Box<Expr>, Box<Expr>),
    Comma(Box<Expr>, Box<Expr>),
    /// Between integers.
    Convert(Box<Expr>),
    Assign(Box<PlaceExpr>, Box<Expr>),
    Update(Box<Update>),
    Call(usize, Vec<Expr>),
    Builtin(&'static builtins::Row, Vec<Arg>),
    /// Two values that are no integers are the same.
    Equal(Box<Expr>, Box<Expr>),
    /// A value in braces: the hidden local that holds it.
    Compound(usize, Vec<(u32, Type, Expr)>),
    Error,
}

/// `place = (type of place) ((common) place op with)`
#[derive(Clone, Debug)]
pub(super) struct Update {
    pub(super) place: PlaceExpr,
    pub(super) op: Binary,
    pub(super) with: Expr,
    /// The type in which it is computed.
    pub(super) common: Type,
    /// The value of the expression is that before.
    pub(super) before: bool,
}

/// An argument of a builtin.
#[derive(Clone, Debug)]
pub(super) enum Arg {
    Value(Expr),
    Table(usize),
    Pattern(usize),
    Type(Type),
    /// A table's key.
    Key(PlaceExpr),
}

/// An object.
#[derive(Clone, Debug)]
pub(super) struct PlaceExpr {
    pub(super) kind: PlaceKind,
    pub(super) ty: Type,
    pub(super) span: Span,
}

#[derive(Clone, Debug)]
pub(super) enum PlaceKind {
    Local(usize),
    Static(usize),
    /// A parameter of the class.
    Param(usize),
    Info(usize),
    /// What a pointer points to, or the n-th object from there.
    Deref(Box<Expr>, Option<Box<Expr>>),
    /// A part that begins so many bytes into the whole.
    Member(Box<PlaceExpr>, u32),
    Element(Box<PlaceExpr>, Box<Expr>),
    /// A byte of a `mac_t` or `in6_t`.
    Byte(Box<PlaceExpr>, Box<Expr>),
    /// What an expression gave.
    Value(Box<Expr>),
}

#[derive(Clone, Debug)]
pub(super) struct Stmt {
    pub(super) kind: StmtKind,
    pub(super) span: Span,
}

#[derive(Clone, Debug)]
pub(super) enum StmtKind {
    Expr(Expr),
    Declare(usize, Init),
    Block(Vec<Stmt>),
    If(Expr, Box<Stmt>, Option<Box<Stmt>>),
    While(Expr, Box<Stmt>),
    Do(Box<Stmt>, Expr),
    For(Option<Box<Stmt>>, Option<Expr>, Option<Expr>, Box<Stmt>),
    Switch(Expr, Vec<Case>, Vec<Stmt>),
    /// The place of the n-th label of the switch around.
    Case(usize),
    Break,
    Continue,
    Return(Option<Expr>),
    Emit(Expr),
    Drop(Arc<str>),
    Empty,
}

/// A label of a switch: none is the default.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) value: Option<u128>,
    pub(super) span: Span,
}

#[derive(Clone, Debug)]
pub(super) enum Init {
    None,
    Value(Expr),
    /// Scalars with their offsets; the rest is 0.
    Parts(Vec<(u32, Type, Expr)>),
}

#[derive(Clone, Debug)]
pub(super) struct Local {
    pub(super) name: Arc<str>,
    pub(super) ty: Type,
    pub(super) span: Span,
    pub(super) constant: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Function {
    pub(super) name: Arc<str>,
    pub(super) span: Span,
    pub(super) result: Type,
    /// How many of the locals are parameters.
    pub(super) params: usize,
    pub(super) locals: Vec<Local>,
    pub(super) body: Option<Vec<Stmt>>,
    /// Functions called, and where.
    pub(super) calls: Vec<(usize, Span)>,
    pub(super) end: Span,
}

/// A variable outside of functions, or `static` in one.
#[derive(Clone, Debug)]
pub(super) struct Static {
    pub(super) name: Arc<str>,
    pub(super) ty: Type,
    pub(super) constant: bool,
    pub(super) span: Span,
    /// Scalars with their offsets, as constants; the rest is 0.
    pub(super) init: Vec<(u32, Type, u128)>,
    pub(super) scope: super::TableScope,
}

impl Static {
    /// It lies in shared memory, where it may be one with those of other elements.
    pub(super) fn is_shared(&self) -> bool {
        self.scope != super::TableScope::Local
    }
}

#[derive(Clone, Debug)]
pub(super) struct TableDecl {
    pub(super) name: Arc<str>,
    pub(super) kind: netil::module::TableKind,
    pub(super) key: Type,
    pub(super) value: Type,
    pub(super) capacity: Expr,
    pub(super) timeout: Option<Expr>,
    pub(super) scope: super::TableScope,
    /// The function that EXPIRED names, and where it does.
    pub(super) expired: Option<(usize, Span)>,
    pub(super) span: Span,
}

/// What STRINGS or REGEX declares.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    pub(super) name: Arc<str>,
    pub(super) is_regex: bool,
    pub(super) texts: Vec<PatternText>,
    /// Where the first of them stands.
    pub(super) span: Span,
}

#[derive(Clone, Debug)]
pub(super) enum PatternText {
    Literal(Arc<[u8]>),
    /// A parameter's number.
    Param(usize),
    /// The number of a parameter that is a list of texts.
    List(usize),
}

/// What a handler for people is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ControlBinding {
    Static(usize),
    Call(usize),
}

#[derive(Clone, Debug)]
pub(super) struct ControlDecl {
    pub(super) name: Arc<str>,
    pub(super) write: bool,
    /// None for `text` and `none`.
    pub(super) ty: Option<Type>,
    /// What the text behind the name of a read handler is taken for.
    pub(super) asked: Option<Type>,
    pub(super) source: ControlBinding,
}

/// A whole class.
#[derive(Clone, Debug, Default)]
pub(super) struct Program {
    pub(super) class: super::Class,
    pub(super) infos: Vec<(Arc<str>, Type)>,
    pub(super) tables: Vec<TableDecl>,
    pub(super) patterns: Vec<Pattern>,
    pub(super) statics: Vec<Static>,
    pub(super) functions: Vec<Function>,
    pub(super) controls: Vec<ControlDecl>,
    /// The variable that says which ports are an instance's own.
    pub(super) part: Option<usize>,
    /// What holds of every instance, and what is wrong otherwise.
    pub(super) requirements: Vec<(Expr, String)>,
    /// Of `init`, `packet`, `push`, `timer`, `pull`.
    pub(super) handlers: [Option<usize>; 5],
}

pub(super) const INIT: usize = 0;
pub(super) const PACKET: usize = 1;
pub(super) const PUSH: usize = 2;
pub(super) const TIMER: usize = 3;
pub(super) const PULL: usize = 4;
pub(super) const HANDLERS: [&str; 5] = ["init", "packet", "push", "timer", "pull"];

impl Expr {
    pub(super) fn number(value: u128, ty: Type, span: Span) -> Self {
        let value = normal(&ty, value);
        Self { kind: Kind::Number(value), ty, span }
    }

    pub(super) fn error(span: Span) -> Self {
        Self { kind: Kind::Error, ty: Type::Error, span }
    }
}

/// A number as it is on the stack: cut to its type and extended to [`Type::width`].
pub(super) fn normal(ty: &Type, value: u128) -> u128 {
    let (bits, signed) = match ty {
        Type::Bool => (1, false),
        Type::Int { bits, signed } => (u32::from(*bits), *signed),
        Type::Be(bits) => (u32::from(*bits), false),
        other => (u32::from(other.width()), false),
    };
    let cut = value & (u128::MAX >> (128 - bits));
    let negative = signed && cut >> (bits - 1) & 1 == 1;
    let width = u32::from(ty.width());
    if negative && width > bits { cut | (u128::MAX >> (128 - width)) & !(u128::MAX >> (128 - bits)) } else { cut }
}

/// The number that a value on the stack means.
pub(super) fn meaning(ty: &Type, value: u128) -> i128 {
    let width = u32::from(ty.width());
    let negative = ty.is_signed() && value >> (width - 1) & 1 == 1;
    if negative { value as i128 - (1i128 << width) } else { value as i128 }
}
