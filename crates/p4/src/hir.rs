//! The checked program: names are looked up, every expression has a type, implicit casts are
//! written out, constants are folded.

use crate::ast::{Aggregate, BinOp, Dir, Notes, UnOp};
use crate::lexer::Name;
use frontends::diagnostics::Span;
use num_bigint::BigInt;
use std::rc::Rc;

pub(crate) type VarId = usize;
pub(crate) type TypeId = usize;
pub(crate) type FnId = usize;
pub(crate) type TableId = usize;
pub(crate) type InstId = usize;
pub(crate) type BlockId = usize;
/// A declared type parameter.
pub(crate) type ParamId = usize;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Type {
    /// Of what was wrong already: goes with everything.
    Any,
    Void,
    Bool,
    Bit(u32),
    Int(u32),
    Varbit(u32),
    /// Integers without bounds.
    Integer,
    Error,
    MatchKind,
    Str,
    /// `...`
    Nothing,
    /// `{#}`
    Invalid,
    Param(ParamId),
    Enum(TypeId),
    SerEnum(TypeId),
    New(TypeId),
    /// A struct, header or union.
    Struct(TypeId, Rc<[Type]>),
    Stack(Rc<Type>, u32),
    Tuple(Rc<[Type]>),
    List(Rc<Type>),
    /// A literal with named fields; the flag says that the rest is default.
    Record(Rc<[(Name, Type)]>, bool),
    Set(Rc<Type>),
    Extern(TypeId, Rc<[Type]>),
    /// A type of parsers, controls or packages.
    Arch(TypeId, Rc<[Type]>),
    /// A declared parser or control.
    Block(BlockId),
    Applied(TableId),
    ActionRun(TableId),
}

#[derive(Clone, Debug)]
pub(crate) struct FieldInfo {
    pub name: Name,
    pub ty: Type,
    /// Numbers of `@field_list`.
    pub lists: Vec<u32>,
    pub notes: Notes,
}

#[derive(Clone, Debug)]
pub(crate) struct ParamInfo {
    pub name: Name,
    pub dir: Dir,
    pub ty: Type,
    pub var: VarId,
    pub default: Option<Expr>,
    pub optional: bool,
    pub notes: Notes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArchKind {
    Parser,
    Control,
    Package,
}

#[derive(Clone, Debug)]
pub(crate) enum TypeInfo {
    Aggregate { what: Aggregate, name: Name, params: Vec<ParamId>, fields: Vec<FieldInfo> },
    Enum { name: Name, members: Vec<Name> },
    SerEnum { name: Name, ty: Type, members: Vec<(Name, BigInt)> },
    New { name: Name, ty: Type },
    Extern { name: Name, params: Vec<ParamId>, ctors: Vec<FnId>, methods: Vec<FnId> },
    Arch { kind: ArchKind, name: Name, params: Vec<ParamId>, sig: Vec<ParamInfo> },
}

#[derive(Clone, Debug)]
pub(crate) struct VarInfo {
    pub name: Name,
    pub ty: Type,
    pub writable: bool,
    pub span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FnKind {
    Function,
    Action,
    Extern,
}

#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub name: Name,
    pub kind: FnKind,
    /// The name that the control plane knows it by, and whether it is a whole path.
    pub public: (Name, bool),
    pub type_params: Vec<ParamId>,
    pub params: Vec<ParamInfo>,
    pub result: Type,
    pub body: Vec<Stmt>,
    pub is_abstract: bool,
    /// It is declared in a control or parser.
    pub in_block: bool,
    pub notes: Notes,
    pub span: Span,
}

/// What architectures call the properties of tables that are objects.
pub(crate) const COUNTERS: &[&str] = &["counters", "psa_direct_counter", "pna_direct_counter"];
pub(crate) const METERS: &[&str] = &["meters", "psa_direct_meter", "pna_direct_meter"];
pub(crate) const PROFILES: &[&str] = &["implementation", "psa_implementation", "pna_implementation"];

#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub value: Expr,
    pub kind: Name,
    pub name: Name,
    pub notes: Notes,
}

#[derive(Clone, Debug)]
pub(crate) struct TableAction {
    pub action: FnId,
    /// Arguments of its parameters with directions, in front of those that the control plane gives.
    pub args: Vec<Option<Expr>>,
    pub table_only: bool,
    pub default_only: bool,
    pub notes: Notes,
}

#[derive(Clone, Debug)]
pub(crate) struct TableEntry {
    pub keys: Vec<Expr>,
    pub priority: Option<BigInt>,
    /// Its index among the table's actions.
    pub action: usize,
    pub args: Vec<Expr>,
    pub span: Span,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub public: (Name, bool),
    pub keys: Vec<Key>,
    pub actions: Vec<TableAction>,
    pub entries: Vec<TableEntry>,
    pub const_entries: bool,
    pub smallest_wins: bool,
    pub default: Option<(usize, Vec<Expr>)>,
    pub const_default: bool,
    pub size: Option<u32>,
    /// Properties that are objects: see [`COUNTERS`], [`METERS`] and [`PROFILES`].
    pub objects: Vec<(Name, Expr)>,
    /// The control plane is told of entries that were not used for some time.
    pub support_timeout: bool,
    pub notes: Notes,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub(crate) struct Instance {
    pub name: Name,
    pub public: (Name, bool),
    pub ty: Type,
    pub args: Vec<Expr>,
    pub notes: Notes,
    pub span: Span,
}

/// A declared parser or control.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub name: Name,
    pub is_parser: bool,
    pub params: Vec<ParamInfo>,
    pub ctor: Vec<ParamInfo>,
    /// Variables, in the order of declaration.
    pub locals: Vec<Stmt>,
    pub instances: Vec<InstId>,
    pub tables: Vec<TableId>,
    /// Value sets.
    pub sets: Vec<VarId>,
    pub body: Vec<Stmt>,
    pub states: Vec<State>,
    pub start: usize,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub(crate) struct State {
    pub name: Name,
    pub span: Span,
    pub body: Vec<Stmt>,
    pub next: Next,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Accept,
    Reject,
    State(usize),
}

#[derive(Clone, Debug)]
pub(crate) enum Next {
    To(Target),
    Select(Vec<Expr>, Vec<(Vec<Expr>, Target)>),
}

#[derive(Clone, Debug)]
pub(crate) struct Stmt {
    pub kind: StmtKind,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub(crate) enum StmtKind {
    Var(VarId, Option<Expr>),
    Assign(Expr, Expr),
    /// `left op= right`, the right side as wide as the operator wants it.
    Update(BinOp, Expr, Expr),
    Call(Expr),
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    Block(Vec<Stmt>),
    Return(Option<Expr>),
    Exit,
    /// A table's actions by index, `None` for default.
    SwitchAction(TableId, Vec<(Vec<Option<usize>>, Vec<Stmt>)>),
    Switch(Expr, Vec<(Vec<Option<Expr>>, Vec<Stmt>)>),
    For {
        init: Vec<Stmt>,
        condition: Expr,
        update: Vec<Stmt>,
        body: Vec<Stmt>,
    },
    ForRange {
        var: VarId,
        low: Expr,
        high: Expr,
        body: Vec<Stmt>,
    },
    ForIn {
        var: VarId,
        items: Expr,
        body: Vec<Stmt>,
    },
    Break,
    Continue,
}

#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub kind: ExprKind,
    pub ty: Type,
    pub span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Builtin {
    IsValid,
    SetValid,
    SetInvalid,
    PushFront(u32),
    PopFront(u32),
}

#[derive(Clone, Debug)]
pub(crate) enum Callee {
    Function(FnId),
    /// A method of an object: an instance or a parameter.
    Method(Box<Expr>, FnId),
    Table(TableId),
    Block(Box<Expr>),
    Builtin(Builtin, Box<Expr>),
    /// An instance without a name.
    Construct(InstId),
}

#[derive(Clone, Debug)]
pub(crate) enum ExprKind {
    Bool(bool),
    /// Of any numeric or enumerated type.
    Int(BigInt),
    Str(Name),
    /// The default value of the type.
    Default,
    Var(VarId),
    Instance(InstId),
    Member(Box<Expr>, usize),
    Index(Box<Expr>, Box<Expr>),
    Next(Box<Expr>),
    Last(Box<Expr>),
    LastIndex(Box<Expr>),
    Slice(Box<Expr>, u32, u32),
    /// Low end computed at run time, width in the type.
    Part(Box<Expr>, Box<Expr>),
    Unary(UnOp, Box<Expr>),
    Binary(BinOp, Box<Expr>, Box<Expr>),
    Ternary(Box<Expr>, Box<Expr>, Box<Expr>),
    Cast(Box<Expr>),
    /// Of a struct, header, tuple, list or stack; a header is valid.
    Fields(Vec<Expr>),
    Call {
        callee: Callee,
        types: Vec<Type>,
        args: Vec<Option<Expr>>,
    },
    /// Hit or, if false, miss of a table that is applied.
    Hit(TableId, bool),
    Mask(Box<Expr>, Box<Expr>),
    Range(Box<Expr>, Box<Expr>),
    Everything,
}

/// A checked program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    pub types: Vec<TypeInfo>,
    pub type_params: Vec<Name>,
    pub vars: Vec<VarInfo>,
    pub functions: Vec<Function>,
    pub tables: Vec<Table>,
    pub instances: Vec<Instance>,
    pub blocks: Vec<Block>,
    pub errors: Vec<Name>,
    pub match_kinds: Vec<Name>,
    /// Value sets: their names for the control plane, and how many members they have.
    pub sets: std::collections::HashMap<VarId, ((Name, bool), u32)>,
    pub set_notes: std::collections::HashMap<VarId, Notes>,
    /// Annotations of declared types.
    pub type_notes: std::collections::HashMap<TypeId, Notes>,
    /// Instances at the top level.
    pub top: Vec<InstId>,
    /// What is not wrong, and hardly meant.
    pub warnings: Vec<frontends::diagnostics::Diagnostic>,
}

impl Type {
    /// A value of this type that is part of packets or arithmetic, by its width.
    pub fn width(&self) -> Option<u32> {
        match self {
            Self::Bit(w) | Self::Int(w) => Some(*w),
            Self::Bool => Some(1),
            _ => None,
        }
    }
}

impl Program {
    /// The package that the program is.
    pub fn main(&self) -> Option<&Instance> {
        self.top.iter().map(|id| &self.instances[*id]).find(|i| &*i.name == "main")
    }
}
