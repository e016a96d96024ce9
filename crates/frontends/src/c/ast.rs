//! The syntax tree: what is written, before names and types are looked at.

use super::types::Type;
use crate::diagnostics::Span;
use std::sync::Arc;

/// A name and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Name {
    pub(super) text: Arc<str>,
    pub(super) span: Span,
}

/// A type as written: what a declaration begins with.
#[derive(Debug)]
pub(super) struct Base {
    pub(super) kind: BaseKind,
    pub(super) constant: bool,
    pub(super) span: Span,
}

#[derive(Debug)]
pub(super) enum BaseKind {
    /// Keywords or a name of netvm.h.
    Known(Type),
    /// A typedef.
    Named(Name),
    /// `struct tag`, with members if it is defined here.
    Struct(Option<Name>, Option<Vec<Declaration>>),
    /// `enum tag`, with enumerators if it is defined here.
    Enum(Option<Name>, Option<Vec<(Name, Option<Expr>)>>),
}

/// What follows the base: pointers, the name, dimensions.
#[derive(Debug)]
pub(super) struct Declarator {
    pub(super) pointers: u32,
    /// `*const`: the pointer itself is not assigned to.
    pub(super) constant: bool,
    /// The declaration begins with a const type: what the pointer points to, or the object itself
    /// if there is none.
    pub(super) of_constant: bool,
    /// None in the name of a type.
    pub(super) name: Option<Name>,
    /// Outermost first; none for `[]`.
    pub(super) dimensions: Vec<Option<Expr>>,
    pub(super) init: Option<Init>,
    pub(super) span: Span,
}

impl Declarator {
    /// What it declares is not assigned to.
    pub(super) fn is_constant(&self) -> bool {
        if self.pointers > 0 { self.constant } else { self.of_constant }
    }
}

/// `base declarator, declarator;`
#[derive(Debug)]
pub(super) struct Declaration {
    pub(super) storage: Storage,
    pub(super) base: Base,
    pub(super) declarators: Vec<Declarator>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Storage {
    None,
    Static,
    Typedef,
}

/// The name of a type: `u8`, `struct ip *`.
#[derive(Debug)]
pub(super) struct TypeName {
    pub(super) base: Base,
    pub(super) declarator: Declarator,
}

/// What a variable begins with.
#[derive(Debug)]
pub(super) enum Init {
    Value(Expr),
    List(Vec<(Vec<Designator>, Init)>, Span),
}

#[derive(Debug)]
pub(super) enum Designator {
    Member(Name),
    Index(Expr),
}

#[derive(Debug)]
pub(super) struct Expr {
    pub(super) kind: ExprKind,
    pub(super) span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnaryOp {
    Plus,
    Minus,
    Not,
    Complement,
    Deref,
    Address,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BinaryOp {
    Mul,
    Div,
    Mod,
    Add,
    Sub,
    Shl,
    Shr,
    Lt,
    Gt,
    Le,
    Ge,
    Eq,
    Ne,
    And,
    Xor,
    Or,
    LogicAnd,
    LogicOr,
}

#[derive(Debug)]
pub(super) enum ExprKind {
    Number(u64, Type),
    Text(Vec<u8>),
    Name(Name),
    Unary(UnaryOp, Box<Expr>),
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    Assign(Option<BinaryOp>, Box<Expr>, Box<Expr>),
    /// `++` and `--`; the value before it if true.
    Step {
        up: bool,
        after: bool,
        of: Box<Expr>,
    },
    Choose(Box<Expr>, Box<Expr>, Box<Expr>),
    Comma(Box<Expr>, Box<Expr>),
    Call(Box<Expr>, Vec<Arg>),
    Index(Box<Expr>, Box<Expr>),
    /// `a.b`, or `a->b` if true.
    Member(Box<Expr>, Name, bool),
    Cast(Box<TypeName>, Box<Expr>),
    Compound(Box<TypeName>, Box<Init>),
    SizeofType(Box<TypeName>),
    SizeofExpr(Box<Expr>),
    /// What could not be read; told already.
    Wrong,
}

#[derive(Debug)]
pub(super) enum Arg {
    Expr(Expr),
    Type(TypeName),
}

#[derive(Debug)]
pub(super) struct Stmt {
    pub(super) kind: StmtKind,
    pub(super) span: Span,
}

#[derive(Debug)]
pub(super) enum StmtKind {
    Expr(Expr),
    Declare(Declaration),
    Block(Vec<Stmt>),
    If(Expr, Box<Stmt>, Option<Box<Stmt>>),
    While(Expr, Box<Stmt>),
    Do(Box<Stmt>, Expr),
    For(Option<Box<Stmt>>, Option<Expr>, Option<Expr>, Box<Stmt>),
    Switch(Expr, Box<Stmt>),
    Case(Expr),
    Default,
    Break,
    Continue,
    Return(Option<Expr>),
    Assert(Expr, Option<Vec<u8>>),
    Empty,
}

/// A function.
#[derive(Debug)]
pub(super) struct Function {
    pub(super) is_static: bool,
    pub(super) result: Base,
    pub(super) pointers: u32,
    pub(super) name: Name,
    pub(super) params: Vec<(Base, Declarator)>,
    /// None in a prototype.
    pub(super) body: Option<Vec<Stmt>>,
    /// The closing brace.
    pub(super) end: Span,
    /// It is there.
    pub(super) is_closed: bool,
}

/// What stands in a file.
#[derive(Debug)]
pub(super) enum Item {
    /// A declaration of netvm.h: its word and arguments.
    Class(Name, Vec<Arg>, Span),
    Declare(Declaration),
    Function(Function),
    Assert(Expr, Option<Vec<u8>>),
}

/// `emit` or `drop` is among the statements.
pub(super) fn end_handlers(list: &[Stmt]) -> bool {
    let one = |statement: &Stmt| end_handlers(std::slice::from_ref(statement));
    list.iter().any(|statement| match &statement.kind {
        StmtKind::Expr(Expr { kind: ExprKind::Call(callee, _), .. }) => {
            matches!(&callee.kind, ExprKind::Name(name) if ["emit", "drop"].contains(&&*name.text))
        }
        StmtKind::Block(inner) => end_handlers(inner),
        StmtKind::If(_, then, otherwise) => one(then) || otherwise.as_deref().is_some_and(one),
        StmtKind::While(_, body) | StmtKind::Do(body, _) | StmtKind::For(.., body) | StmtKind::Switch(_, body) => one(body),
        _ => false,
    })
}
