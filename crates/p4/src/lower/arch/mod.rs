//! Architectures: what surrounds the parts of a program, and its externs. Each is a file here and
//! an entry of [`ALL`]; nothing else names it.
//!
//! An architecture makes one module of the parts, with the ports and the places in info memory that
//! [`crate::pipeline`] describes. The replication engine behind it is the same for all: what a
//! packet's path is called in the program is in [`crate::pipeline::Paths`].

mod element;
mod psa;
mod psa_objects;
mod simple_switch;
mod straight;
mod v1model;

pub(super) use element::{Element, Needs};
pub(super) use v1model::Asked;

use super::arguments::{Args, Called};
use super::place::{Leaf, StorageLocation};
use super::{Lower, Lowered, fault};
use crate::hir::{Callee, Expr, ExprKind, InstId, Program, Type, TypeInfo};
use crate::pipeline::{Paths, Pipeline, Saved};
use frontends::diagnostics::Span;
use netil::table::Op;

/// Writes an element of a graph; what it found the program to need.
type WriteElement = fn(&mut Lower<'_>, &Parts) -> Lowered<(Pipeline, Needs)>;

/// What an architecture is.
pub(crate) struct Architecture {
    /// Its name for controllers.
    pub name: &'static str,
    /// The package that `main` is of.
    pub package: &'static str,
    /// Names under which its declarations are included, and their text.
    pub includes: &'static [(&'static str, &'static str)],
    /// How many parsers and controls it has.
    parts: usize,
    /// The port by which packets go to controllers.
    pub cpu_port: u32,
    /// The highest port that packets can leave by.
    pub last_port: u32,
    /// Ways of packets: for each the parts that it goes through in order, and which of their
    /// parameters are the same places.
    pub flow: &'static [&'static [(usize, &'static [u8])]],
    /// Writes the code of both halves.
    pub(super) lower: fn(&mut Lower<'_>, &Parts) -> Lowered<(Saved, Paths)>,
    /// Writes the code of an element of a graph, where programs can be that.
    pub(super) element: Option<WriteElement>,
    /// Calls an extern function by its name.
    pub(super) function: fn(&mut Lower<'_>, &str, Args<'_>, &Expr) -> Lowered<Called>,
    /// Calls a method of an extern object, by the names of both.
    pub(super) method: Method,
}

/// Object, class and name, arguments, call.
type Method = fn(&mut Lower<'_>, &Expr, (&str, &str), Args<'_>, &Expr) -> Lowered<Called>;

/// Parameters in [`Architecture::flow`]: the headers, the program's metadata, which is 0 at first,
/// and all others.
pub(crate) const HEADERS: u8 = 0;
pub(crate) const METADATA: u8 = 1;
pub(crate) const OTHER: u8 = 2;

/// All architectures for which programs can be compiled.
pub(crate) const ALL: [&Architecture; 2] = [&v1model::ARCHITECTURE, &psa::ARCHITECTURE];

/// The parsers and controls of a package, in the order of its arguments; those of packages in it
/// stand in their place.
pub(crate) struct Parts {
    pub blocks: Vec<(InstId, usize)>,
    pub span: Span,
}

/// The architecture whose package that is.
pub(crate) fn named(package: &str) -> Option<&'static Architecture> {
    ALL.into_iter().find(|a| a.package == package)
}

/// The architecture of a program, if it is supported.
pub(crate) fn of(program: &Program) -> Option<&'static Architecture> {
    program.main().and_then(|main| match &main.ty {
        Type::Arch(id, _) => named(program.type_name(*id)),
        _ => None,
    })
}

/// Takes `main` apart.
pub(crate) fn parts(program: &Program) -> Lowered<(&'static Architecture, Parts)> {
    let Some(main) = program.main() else { return fault(Span::default(), "the program has no `main`") };
    if !matches!(main.ty, Type::Arch(..)) {
        return fault(main.span, "`main` is no package");
    }
    let Some(architecture) = of(program) else {
        let known: Vec<String> = ALL.iter().map(|a| format!("{} ({})", a.package, a.name)).collect();
        return fault(main.span, format!("the package {} is not supported; supported are {}", program.show(&main.ty), known.join(" and ")));
    };
    let mut blocks = Vec::new();
    main.args.iter().try_for_each(|arg| blocks_of(program, arg, &mut blocks))?;
    if blocks.len() != architecture.parts {
        let wrong = format!("{} has {} parsers and controls, not {}", architecture.package, architecture.parts, blocks.len());
        return fault(main.span, wrong);
    }
    Ok((architecture, Parts { blocks, span: main.span }))
}

fn blocks_of(program: &Program, arg: &Expr, blocks: &mut Vec<(InstId, usize)>) -> Lowered<()> {
    let (ExprKind::Call { callee: Callee::Construct(inst), .. } | ExprKind::Instance(inst)) = &arg.kind else {
        return fault(arg.span, "this is no parser, control or package");
    };
    match &arg.ty {
        Type::Block(block) => blocks.push((*inst, *block)),
        Type::Arch(..) => program.instances[*inst].args.iter().try_for_each(|arg| blocks_of(program, arg, blocks))?,
        Type::Extern(..) => {}
        _ => return fault(arg.span, "this is no parser, control or package"),
    }
    Ok(())
}

impl Lower<'_> {
    /// The type of a parameter of one of the package's parts.
    fn part_type(&self, parts: &Parts, part: usize, param: usize) -> Lowered<Type> {
        let block = &self.program.blocks[parts.blocks[part].1];
        match block.params.get(param) {
            Some(param) => Ok(param.ty.clone()),
            None => fault(block.span, format!("{} has too few parameters", block.name)),
        }
    }

    /// A field of a struct by its name, if it has one.
    fn field_of(&self, of: &StorageLocation, name: &str) -> Lowered<Option<(StorageLocation, Leaf)>> {
        let Type::Struct(id, args) = &of.ty else { return Ok(None) };
        let Some(at) = self.program.fields(*id, args).iter().position(|f| &*f.name == name) else { return Ok(None) };
        let place = self.member(of, at, Span::default())?;
        let leaf = self.scalar(&place.ty, Span::default())?;
        Ok(Some((place, leaf)))
    }

    /// Takes a value of that width as a field of a struct; one that the struct lacks is dropped.
    pub(super) fn set_field(&mut self, of: &StorageLocation, name: &str, width: u16) -> Lowered<()> {
        match self.field_of(of, name)? {
            Some((place, leaf)) => {
                self.code.resize(width, leaf.width());
                self.store_leaf(&place, 0, leaf);
            }
            None => self.code.op(Op::Pop),
        }
        Ok(())
    }

    /// Pushes a field of a struct; its width.
    pub(super) fn get_field(&mut self, of: &StorageLocation, name: &str) -> Lowered<u16> {
        match self.field_of(of, name)? {
            Some((place, leaf)) => {
                self.load_leaf(&place, 0, leaf);
                Ok(leaf.width())
            }
            None => fault(Span::default(), format!("{} has no `{name}`", self.program.show(&of.ty))),
        }
    }

    /// Takes a number in info memory as a field of a struct.
    pub(super) fn set_from_info(&mut self, of: &StorageLocation, name: &str, at: u32, width: u16) -> Lowered<()> {
        self.code.push(at);
        self.code.w(Op::WiLoad, width);
        self.set_field(of, name, width)
    }

    /// Stores what is on the stack in 32 bits of info memory.
    pub(super) fn put_info(&mut self, width: u16, at: u32) {
        self.code.resize(width, 32);
        self.code.push(at);
        self.code.w(Op::WiStore, 32);
    }

    /// The number of a member of an enumeration, by its name.
    fn member_number(&self, ty: &Type, name: &str) -> Option<u32> {
        let (Type::Enum(id) | Type::SerEnum(id)) = ty else { return None };
        match &self.program.types[*id] {
            TypeInfo::Enum { members, .. } => members.iter().position(|m| &**m == name).map(|n| n as u32),
            TypeInfo::SerEnum { members, .. } => {
                members.iter().find(|(m, _)| &**m == name).and_then(|(_, number)| u32::try_from(number).ok())
            }
            _ => None,
        }
    }

    /// One of the package's parts, its parameters at those places.
    pub(super) fn run_block(&mut self, parts: &Parts, n: usize, places: &[Option<&StorageLocation>]) -> Lowered<()> {
        let (inst, block) = parts.blocks[n];
        let info = &self.program.blocks[block];
        for (param, place) in info.params.iter().zip(places) {
            let binding = place.map_or(super::Binding::Packet, |p| super::Binding::Place(p.clone()));
            self.bindings.insert(param.var, binding);
        }
        self.block_body(vec![inst], block, inst)
    }

    /// Keeps how long the packet is that came in.
    fn note_length(&mut self) {
        self.code.push(crate::pipeline::info::LENGTH);
        self.code.w(Op::WiLoad, 32);
        self.code.set(self.length);
    }

    /// Takes what the parser extracted off the packet's front.
    fn take_parsed(&mut self) {
        self.code.get(self.cursor);
        self.code.op(Op::PktPull);
    }

    /// Puts what the deparser emitted in front of the packet.
    pub(super) fn put_emitted(&mut self) {
        self.code.get(self.out_len);
        self.code.op(Op::PktPush);
        self.code.push(0);
        self.code.push(0);
        self.code.get(self.out_len);
        self.code.op(Op::DpCopy);
    }
}
