//! The syntax tree: what was written, names not yet looked up.

use crate::lexer::{Name, Number, Token};
use frontends::diagnostics::Span;
use std::rc::Rc;

/// A name and its place.
#[derive(Clone, Debug)]
pub(crate) struct Ident {
    pub name: Name,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub(crate) struct Annotation {
    pub name: Name,
    /// The text of its argument, if that is one string or one expression; a list of such.
    pub args: Vec<Expr>,
    /// What stands between its brackets.
    pub tokens: Rc<[Token]>,
    /// Its brackets are square.
    pub structured: bool,
    pub span: Span,
}

/// Annotations that are kept for the control plane.
pub(crate) type Notes = Rc<[Annotation]>;

#[derive(Clone, Debug)]
pub(crate) struct Ty {
    pub kind: TyKind,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub(crate) enum TyKind {
    Bool,
    Error,
    MatchKind,
    Str,
    Void,
    Integer,
    DontCare,
    Bit(Option<Box<Expr>>),
    Int(Box<Expr>),
    Varbit(Box<Expr>),
    /// The flag says that a dot stands before it.
    Named(bool, Name),
    Args(Box<Ty>, Vec<Ty>),
    Stack(Box<Ty>, Box<Expr>),
    Tuple(Vec<Ty>),
    List(Box<Ty>),
}

#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub kind: ExprKind,
    pub span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum BinOp {
    Mul,
    Div,
    Mod,
    Add,
    Sub,
    AddSat,
    SubSat,
    Shl,
    Shr,
    Le,
    Ge,
    Lt,
    Gt,
    Eq,
    Ne,
    BitAnd,
    BitXor,
    BitOr,
    Concat,
    And,
    Or,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnOp {
    Not,
    Complement,
    Neg,
    Plus,
}

#[derive(Clone, Debug)]
pub(crate) enum ExprKind {
    Bool(bool),
    Number(Rc<Number>),
    Str(Name),
    DontCare,
    Default,
    /// `...`
    Dots,
    This,
    Name(bool, Name),
    /// A type where a value is expected: `error.X`, `H<T>.a`, constructor calls.
    Type(Ty),
    Member(Box<Expr>, Ident),
    Index(Box<Expr>, Box<Expr>),
    Slice(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `value[low +: width]`
    Part(Box<Expr>, Box<Expr>, Box<Expr>),
    Unary(UnOp, Box<Expr>),
    Binary(BinOp, Box<Expr>, Box<Expr>),
    Ternary(Box<Expr>, Box<Expr>, Box<Expr>),
    Cast(Ty, Box<Expr>),
    List(Vec<Expr>),
    /// Named fields; the flag says that `...` ends the list.
    Record(Vec<(Ident, Expr)>, bool),
    /// `{#}`
    Invalid,
    Call(Box<Expr>, Vec<Ty>, Vec<Arg>),
    Mask(Box<Expr>, Box<Expr>),
    Range(Box<Expr>, Box<Expr>),
}

#[derive(Clone, Debug)]
pub(crate) struct Arg {
    pub name: Option<Ident>,
    /// `None` for `_`.
    pub value: Option<Expr>,
    pub span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum Dir {
    #[default]
    None,
    In,
    Out,
    InOut,
}

#[derive(Clone, Debug)]
pub(crate) struct Param {
    pub annotations: Vec<Annotation>,
    pub dir: Dir,
    pub ty: Ty,
    pub name: Ident,
    pub default: Option<Expr>,
}

#[derive(Clone, Debug)]
pub(crate) struct Decl {
    pub annotations: Vec<Annotation>,
    pub span: Span,
    pub kind: DeclKind,
}

#[derive(Clone, Debug)]
pub(crate) struct Signature {
    pub name: Ident,
    pub type_params: Vec<Ident>,
    pub params: Vec<Param>,
}

#[derive(Clone, Debug)]
pub(crate) struct Method {
    pub sig: Signature,
    /// `None` for a constructor.
    pub result: Option<Ty>,
    pub is_abstract: bool,
    pub annotations: Vec<Annotation>,
}

#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub annotations: Vec<Annotation>,
    pub ty: Ty,
    pub name: Ident,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aggregate {
    Struct,
    Header,
    Union,
}

#[derive(Clone, Debug)]
pub(crate) enum DeclKind {
    Const { ty: Ty, name: Ident, value: Expr },
    Var { ty: Ty, name: Ident, value: Option<Expr> },
    Action { sig: Signature, body: Block },
    Function { result: Ty, sig: Signature, body: Block },
    ExternFunction { result: Ty, sig: Signature },
    Extern { name: Ident, type_params: Vec<Ident>, methods: Vec<Method> },
    Table(TableDecl),
    ControlType(Signature),
    ParserType(Signature),
    Package(Signature),
    Control { sig: Signature, ctor: Vec<Param>, locals: Vec<Decl>, body: Block },
    Parser { sig: Signature, ctor: Vec<Param>, locals: Vec<Decl>, states: Vec<State> },
    Aggregate { what: Aggregate, name: Ident, type_params: Vec<Ident>, fields: Vec<Field> },
    Enum { name: Ident, members: Vec<Ident> },
    SerEnum { ty: Ty, name: Ident, members: Vec<(Ident, Expr)> },
    Typedef { ty: Ty, name: Ident, new: bool },
    Errors(Vec<Ident>),
    MatchKinds(Vec<Ident>),
    Instance { ty: Ty, args: Vec<Arg>, name: Ident, body: Option<Vec<Decl>> },
    ValueSet { ty: Ty, size: Expr, name: Ident },
}

impl DeclKind {
    /// The name that it declares, if it is one.
    pub fn name(&self) -> Option<&Ident> {
        match self {
            Self::Const { name, .. }
            | Self::Var { name, .. }
            | Self::Extern { name, .. }
            | Self::Aggregate { name, .. }
            | Self::Enum { name, .. }
            | Self::SerEnum { name, .. }
            | Self::Typedef { name, .. }
            | Self::Instance { name, .. }
            | Self::ValueSet { name, .. } => Some(name),
            Self::Table(table) => Some(&table.name),
            Self::Action { sig, .. } | Self::Function { sig, .. } | Self::ExternFunction { sig, .. } => Some(&sig.name),
            Self::ControlType(sig) | Self::ParserType(sig) | Self::Package(sig) => Some(&sig.name),
            Self::Control { sig, .. } | Self::Parser { sig, .. } => Some(&sig.name),
            Self::Errors(_) | Self::MatchKinds(_) => None,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct TableDecl {
    pub name: Ident,
    pub properties: Vec<Property>,
}

#[derive(Clone, Debug)]
pub(crate) struct Property {
    pub annotations: Vec<Annotation>,
    pub is_const: bool,
    pub name: Ident,
    pub kind: PropertyKind,
}

#[derive(Clone, Debug)]
pub(crate) enum PropertyKind {
    Key(Vec<KeyElement>),
    Actions(Vec<ActionRef>),
    Entries(Vec<EntryDecl>),
    Value(Expr),
}

#[derive(Clone, Debug)]
pub(crate) struct KeyElement {
    pub value: Expr,
    pub kind: Ident,
    pub annotations: Vec<Annotation>,
}

#[derive(Clone, Debug)]
pub(crate) struct ActionRef {
    pub annotations: Vec<Annotation>,
    pub dot: bool,
    pub name: Ident,
    pub args: Option<Vec<Arg>>,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub(crate) struct EntryDecl {
    pub annotations: Vec<Annotation>,
    pub priority: Option<Expr>,
    pub keys: Vec<Expr>,
    pub action: ActionRef,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub(crate) struct State {
    pub name: Ident,
    pub body: Vec<Stmt>,
    pub transition: Option<Transition>,
}

#[derive(Clone, Debug)]
pub(crate) enum Transition {
    To(Ident),
    Select { keys: Vec<Expr>, cases: Vec<SelectCase>, span: Span },
}

#[derive(Clone, Debug)]
pub(crate) struct SelectCase {
    pub keys: Vec<Expr>,
    pub to: Ident,
    pub span: Span,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Block {
    pub stmts: Vec<Stmt>,
}

#[derive(Clone, Debug)]
pub(crate) struct Stmt {
    pub kind: StmtKind,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub(crate) enum StmtKind {
    Empty,
    Decl(Box<Decl>),
    Assign(Option<BinOp>, Expr, Expr),
    Call(Expr),
    If(Expr, Box<Stmt>, Option<Box<Stmt>>),
    Block(Block),
    Return(Option<Expr>),
    Exit,
    Switch(Expr, Vec<(Expr, Option<Block>)>),
    For { init: Vec<Stmt>, condition: Expr, update: Vec<Stmt>, body: Box<Stmt> },
    ForIn { decl: Ty, name: Ident, range: Expr, body: Box<Stmt> },
    Break,
    Continue,
}
