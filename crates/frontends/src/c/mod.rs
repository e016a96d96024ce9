//! The element language, restricted C: one class of elements in a file, one [`netil::Module`] for
//! each of its instances.
//!
//! ```text
//! text ──token, preprocess──▶ tokens ──parse──▶ syntax tree (ast) ──check──▶ checked program (tree) ──lower──▶ module
//! ```
//!
//! [`describe`] says what a class declares; [`compile`] makes the module of an instance, for which
//! parameters and the number of ports are constants. Functions are put in where they are called.
//! The names of `netvm.h` are known here (`builtins` has its functions); other headers come from
//! the caller.
//!
//! Invariants: no text makes this panic or take long: nesting, what macros produce and what
//! inlining produces are limited. Faults are told all at once, each with its place, and none
//! because of another.
//!
//! ```
//! use netvm_frontends::c::{self, SourceFile};
//!
//! let text = "#include <netvm.h>\nELEMENT(Pass, \"1/1\", \"a/a\");\nvoid packet(int port) { emit(0); }\n";
//! let class = c::describe(SourceFile { name: "Pass.c", text }, &|_| None).unwrap();
//! assert_eq!((class.name.as_str(), class.ports.as_str()), ("Pass", "1/1"));
//! ```

mod ast;
mod builtins;
mod check;
mod faults;
mod fields;
mod fold;
mod lower;
mod parse;
mod plain;
mod preprocess;
mod token;
mod tree;
mod types;

pub use faults::Diagnostics;
pub use lower::layout::InfoLayout;
pub use plain::{Plain, PlainVariable, plain};
pub use types::{Member, StructType, Type};

use crate::click::processing::Kind;
use crate::diagnostics::{Sources, Span};
use faults::{Faults, similar};
use netil::app::Toward;
use netil::module::{Entry, Module, TableKind};
use std::collections::BTreeMap;
use std::fmt::Write;

/// What a class declares.
#[derive(Clone, Debug, Default)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// Where that stands.
    pub span: Span,
    /// Click's code of how many inputs and outputs there are.
    pub ports: String,
    /// Click's code of what they do.
    pub processing: String,
    /// Click's code of which inputs packets go from to which outputs; empty if not given.
    pub flow: String,
    /// How what it keeps of packets is found, if that is by their flow.
    pub flow_state: Option<FlowState>,
    /// The first line of the manual.
    pub summary: String,
    /// The comment at the beginning of the file, without its stars.
    pub manual: String,
    /// Parameters in order.
    pub params: Vec<Param>,
    /// The syntax of the remaining arguments.
    pub config: Option<Config>,
    /// Tables.
    pub tables: Vec<Table>,
    /// Handlers for people.
    pub handlers: Vec<Handler>,
    /// Info fields with their sizes in bytes, those of included headers too.
    pub info: Vec<(String, u32)>,
}

/// By what of a packet's flow its class finds what it keeps of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FlowState {
    /// Both addresses.
    Addresses,
    /// The port of one end; by input, which one.
    Ports(Vec<Toward>),
}

/// The syntax of a parameter that names the file which the element prints into.
pub(crate) const PRINTS_INTO: &str = "OUTFILE";

impl Class {
    /// The file that an element with these parameters prints into; `None`: standard error.
    pub fn prints_into<'v>(&self, values: &'v BTreeMap<String, Value>) -> Option<&'v str> {
        let named = self.params.iter().find(|param| param.syntax == PRINTS_INTO)?;
        if let Some(Value::Text(name)) = values.get(&named.name) { Some(name.as_str()).filter(|name| !name.is_empty()) } else { None }
    }
}

/// A parameter.
#[derive(Clone, Debug)]
pub struct Param {
    /// The constant that it is.
    pub name: String,
    /// The keyword of its argument.
    pub keyword: String,
    /// Its type.
    pub ctype: Type,
    /// How its argument is written; empty: by its type.
    pub syntax: String,
    /// When it has an argument.
    pub mode: Mode,
    /// Its argument is a list: its value is the bytes of all elements, each of type `ctype`.
    pub list: bool,
    /// Where its name stands.
    pub span: Span,
}

/// When a parameter has an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Always, by position or keyword.
    Required,
    /// By position or keyword, if at all.
    Optional(Option<Preset>),
    /// By keyword, if at all.
    Keyword(Option<Preset>),
    /// Always, by keyword.
    KeywordRequired,
    /// By position or keyword; where it is not there, the argument of that other keyword is read
    /// once more.
    SameAs(String),
    /// It says whether an argument of that keyword is there.
    Given,
}

/// A parameter's value where no argument is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Preset {
    /// A number.
    Const(Value),
    /// Text as an argument would be.
    Text(String),
}

/// The remaining arguments as a whole.
#[derive(Clone, Debug)]
pub struct Config {
    /// How they are written; `LIST` for a list of `ctype`.
    pub syntax: String,
    /// What the names that come of them begin with.
    pub name: String,
    /// The type of a list's elements.
    pub ctype: Option<Type>,
    /// Where the name stands.
    pub span: Span,
}

/// A table.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// How keys are matched.
    pub kind: TableKind,
    /// The type of keys: in order, each scalar as a number, the first most significant.
    pub key: Type,
    /// The type of values: packed, numbers little-endian.
    pub value: Type,
}

/// Which elements have a table or a variable together: the scopes of NP-Click.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TableScope {
    /// The instance has it for itself.
    #[default]
    Local,
    /// All instances of the element have it; here an element is one instance.
    Regional,
    /// All elements of the class.
    Global,
    /// All elements that have a universal one of that name.
    Universal,
    /// It is that of another element.
    Of {
        /// That element's name, as it is known at this one.
        element: String,
        /// Its name there.
        table: String,
    },
}

/// A variable with a scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Who has it.
    pub scope: TableScope,
    /// Where it lies in shared memory, with a byte before it that says whether it has had its
    /// initial value.
    pub at: u32,
    /// Bytes, with that one.
    pub size: u32,
    /// Its type, for comparisons: how its scalars lie.
    pub ty: String,
    /// Its initial value: scalars with their offsets.
    pub init: Vec<(u32, u128)>,
}

/// What [`compile`] makes.
#[derive(Clone, Debug, Default)]
pub struct Compiled {
    /// The program.
    pub module: Module,
    /// The scope of each of its tables, in their order.
    pub scopes: Vec<TableScope>,
    /// Variables with scopes.
    pub variables: Vec<Variable>,
    /// Variables in data memory, for people.
    pub statics: Vec<netil::app::Variable>,
    /// What keys and values of its tables are made of, in their order.
    pub layouts: Vec<netil::app::Layout>,
    /// Where in data memory stands which ports are its own, if its class says that.
    pub part: Option<u32>,
    /// What is wrong with the instance's arguments or ports, as its class says by `REQUIRE`.
    pub refused: Vec<String>,
}

/// A handler for people.
#[derive(Clone, Debug)]
pub struct Handler {
    /// Its name.
    pub name: String,
    /// It is written, not read.
    pub write: bool,
    /// What it takes or gives; none for text, and for what takes nothing.
    pub ctype: Option<Type>,
}

/// A file.
#[derive(Clone, Copy, Debug)]
pub struct SourceFile<'a> {
    /// Its name, for messages.
    pub name: &'a str,
    /// What is in it.
    pub text: &'a str,
}

/// One element of a class.
#[derive(Clone, Debug, Default)]
pub struct Instance {
    /// Its name.
    pub name: String,
    /// What its inputs do.
    pub inputs: Vec<Kind>,
    /// What its outputs do.
    pub outputs: Vec<Kind>,
    /// Values of parameters, by name.
    pub values: BTreeMap<String, Value>,
    /// The C text that a CONFIG's syntax made of the arguments; stands where CONFIG does.
    pub generated: String,
    /// Entries that tables have from the start, by name.
    pub entries: BTreeMap<String, Vec<Entry>>,
}

/// A parameter's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number; in two's complement if it is negative.
    Int(u64),
    /// The bytes of an address or struct, as in memory: fields in network order first byte first,
    /// integers little-endian.
    Bytes(Vec<u8>),
    /// A text.
    Text(String),
    /// A list of texts.
    Texts(Vec<String>),
}

/// Stack of the thread that reads hostile nesting; only what is used of it takes memory.
const STACK: usize = 256 << 20;

/// Says what the class in a file declares. Functions that CONFIG would make are taken for granted.
pub fn describe(source: SourceFile<'_>, includes: &dyn Fn(&str) -> Option<String>) -> Result<Class, Diagnostics> {
    let mut sources = Sources::default();
    let mut faults = Faults::default();
    let inputs = preprocess::Inputs { includes, generated: None };
    let output = preprocess::preprocess(source.name, source.text, inputs, &mut sources, &mut faults);
    let program = deep(|| {
        let program = front(&output.tokens, None, &mut faults);
        program.class
    });
    let (summary, manual) = manual(source.text);
    faults.result(Class { summary, manual, ..program }, sources, &output.uses)
}

/// Makes the module of an instance. Info fields that it uses are given their places in `info`.
pub fn compile(
    source: SourceFile<'_>,
    includes: &dyn Fn(&str) -> Option<String>,
    instance: &Instance,
    info: &mut InfoLayout,
) -> Result<Compiled, Diagnostics> {
    let mut sources = Sources::default();
    let mut faults = Faults::default();
    let generated = Some((format!("<configuration of {}>", instance.name), instance.generated.as_str()));
    let inputs = preprocess::Inputs { includes, generated };
    let output = preprocess::preprocess(source.name, source.text, inputs, &mut sources, &mut faults);
    let compiled = deep(|| {
        let program = front(&output.tokens, Some(instance), &mut faults);
        let scopes = program.tables.iter().map(|table| table.scope.clone()).collect();
        let layouts = program.tables.iter().map(|table| fields::layout(&table.key, &table.value)).collect();
        let lower::Lowered { module, variables, statics, part } =
            if faults.is_empty() { lower::lower(&program, instance, info, &sources, &mut faults) } else { Default::default() };
        let refused = if faults.is_empty() { lower::refused(&program, instance, &mut faults) } else { Vec::new() };
        Compiled { module, scopes, variables, statics, layouts, part, refused }
    });
    faults.result(compiled, sources, &output.uses)
}

/// Tokens to a checked program.
fn front(tokens: &[token::Token], instance: Option<&Instance>, faults: &mut Faults) -> tree::Program {
    let items = parse::parse(tokens, faults);
    check::check(&items, instance, faults)
}

/// Runs on a thread with a stack that is large enough for all that the limits allow.
fn deep<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
        match thread.expect("a thread can be started").join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// The scalar of a type at an offset of bytes as in memory: fields in network order first byte
/// first, integers little-endian.
fn scalar(bytes: &[u8], offset: u32, ty: &Type) -> Option<u128> {
    let bytes = bytes.get(offset as usize..(offset + ty.size()) as usize)?;
    let big = bytes.iter().fold(0u128, |value, byte| value << 8 | u128::from(*byte));
    let little = bytes.iter().rev().fold(0u128, |value, byte| value << 8 | u128::from(*byte));
    Some(match ty {
        Type::Bool => u128::from(little != 0),
        Type::Int { .. } => tree::normal(ty, little),
        _ => big,
    })
}

/// The first line and the whole of the comment that a file begins with.
fn manual(text: &str) -> (String, String) {
    let Some(inside) = text.trim_start().strip_prefix("/*").and_then(|rest| rest.split_once("*/")) else {
        return (String::new(), String::new());
    };
    let mut manual = String::new();
    for line in inside.0.lines() {
        let line = line.trim_start();
        let line = line.strip_prefix("* ").or_else(|| line.strip_prefix('*')).unwrap_or(line);
        let _ = writeln!(manual, "{}", line.trim_end());
    }
    let manual = manual.trim_matches('\n').to_owned();
    (manual.lines().next().unwrap_or("").to_owned(), manual)
}
