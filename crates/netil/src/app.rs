//! An application: instances of elements, and the wires between their ports.
//!
//! Ports are counted per side, as Click does: a program's input k is its port k, its output k the
//! port behind its inputs with that number. An application is what front ends make and the runtime
//! executes; nothing in it has a name of a source language.
//!
//! Source: NetVM paper, section 3.1 (NetPEs and their connections); NP-Click paper, section 4.

use crate::module::{HandlerKind, InfoField, PortKind, Table};
use crate::table::Op;
use crate::verify::Verified;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// A graph of elements.
#[derive(Clone, Debug, Default)]
pub struct Application {
    /// The elements, in the order of their declaration.
    pub instances: Vec<Instance>,
    /// The connections.
    pub wires: Vec<Wire>,
    /// The fields of info memory, the same for all programs.
    pub info: Vec<InfoField>,
    /// Its size in bytes, which every program declares.
    pub info_size: u32,
    /// Tables that are one: each list has those that several instances have together, made as the
    /// first is declared.
    pub shared: Vec<Vec<TableOf>>,
    /// Pieces of programs' shared memories that are one: each list has those that several instances
    /// have together. All bytes are 0 at first.
    pub pieces: Vec<Vec<PieceOf>>,
    /// What the configuration says of each instance, for people; programs know nothing of it.
    pub arguments: Vec<Vec<String>>,
    /// Variables of each instance's data memory, for people.
    pub variables: Vec<Vec<Variable>>,
    /// What keys and values of each instance's tables are made of, in the order of the tables, for
    /// people; none where that is not known.
    pub layouts: Vec<Vec<Layout>>,
    /// Tables and variables in shared memory with their scopes, for whoever places them in
    /// memories; variables of data memory are local.
    pub data: Vec<Datum>,
    /// Files that what instances print goes to instead of standard error. The configuration names
    /// them: programs cannot.
    pub files: Vec<(u32, String)>,
    /// Instances that find what they keep of packets by keys that have both addresses of a packet's
    /// IP header or, of an ICMP error, of the header that it quotes: their classes say so.
    pub by_flow: Vec<u32>,
    /// Instances that find what they keep of packets by keys that have the port of one of a
    /// packet's ends: their classes say so, too.
    pub by_port: Vec<ByPort>,
    /// Instances whose arguments are patterns: handlers show each of them.
    pub patterned: BTreeSet<u32>,
    /// Instances that are run by themselves only: their state is not one graph's.
    pub apart: BTreeSet<u32>,
    /// Instances whose state is a copy of another's, which may change when a packet has left: a
    /// burst may then end before its last packet.
    pub copies: BTreeSet<u32>,
    /// Packets have numbers ([`crate::number`]) although no program here may draw random numbers:
    /// those of other parts do.
    pub numbered: bool,
}

/// An instance whose state can be divided by ports: what it keeps of a packet is found by a port of
/// the packet, and the ports that it gives out can be restricted to a part of all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByPort {
    /// The instance's number.
    pub instance: u32,
    /// Where in data memory its part stands, two words of 32 bits: its number, and of how many
    /// parts, or 0 and 0 for all.
    pub part: u32,
    /// By input: the end whose port counts. An ICMP error is of the flow that it quotes, which went
    /// the other way.
    pub inputs: Vec<Toward>,
}

/// Who has what an element keeps, in the terms of NP-Click (section 4.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// The instance.
    Local,
    /// All instances of the element.
    Regional,
    /// All elements of the class.
    Global,
    /// All elements that name it.
    Universal,
}

/// A table or variable that an instance has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datum {
    /// The instance's number.
    pub instance: u32,
    /// Its name in the source.
    pub name: String,
    /// Who has it.
    pub scope: Scope,
    /// It is declared by another element, which this one names.
    pub of_other: bool,
    /// Which it is.
    pub kept: Kept,
}

/// Where an instance has something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// The table of that number in its program.
    Table(u32),
    /// Bytes of its shared memory.
    Shared {
        /// Where they begin.
        at: u32,
        /// How many.
        len: u32,
    },
    /// Bytes of its data memory.
    Data {
        /// Where they begin.
        at: u32,
        /// How many.
        len: u32,
    },
}

/// What keys and values of a table are made of; nothing where that has no names.
///
/// Scalars are numbers, addresses too: in keys the most significant byte stands first, in values,
/// which lie in memory, the least significant one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Scalars of the key, counted from its most significant byte.
    pub key: Vec<Field>,
    /// Scalars of the value.
    pub value: Vec<Field>,
}

/// A scalar of a key or a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name in the source.
    pub name: String,
    /// Where it begins, in bytes.
    pub at: u32,
    /// Its bytes, 16 at most.
    pub bytes: u32,
    /// How people write it.
    pub form: Form,
}

/// How people write a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As a number.
    Number {
        /// It may be below 0.
        signed: bool,
    },
    /// As an address of IPv4, or as a number.
    Address,
    /// As an address of Ethernet.
    Mac,
    /// As an address of IPv6.
    Address6,
}

/// A variable in data memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name in the source.
    pub name: String,
    /// Where it begins.
    pub at: u32,
    /// Its bytes.
    pub len: u32,
}

/// One of the two ends of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Toward {
    /// Where it comes from.
    Source,
    /// Where it goes to.
    Destination,
}

/// A piece of an instance's shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PieceOf {
    /// The instance's number.
    pub instance: u32,
    /// Where it begins.
    pub at: u32,
    /// Its bytes.
    pub len: u32,
}

/// A table of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableOf {
    /// The instance's number.
    pub instance: u32,
    /// The table's, in its program.
    pub table: u32,
}

/// One element.
#[derive(Clone, Debug)]
pub struct Instance {
    /// Its name in the application.
    pub name: String,
    /// The name of its class.
    pub class: String,
    /// What it does.
    pub body: Body,
}

/// What an element does.
#[derive(Clone, Debug)]
pub enum Body {
    /// Runs a program.
    Program(Arc<Verified>),
    /// Is a device, queue or scheduler of the runtime, with these arguments.
    BuiltIn(Vec<String>),
}

/// A port of an instance, counted among its inputs or outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct End {
    /// The instance's number.
    pub instance: u32,
    /// The port's.
    pub port: u32,
}

/// A connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Wire {
    /// An output.
    pub from: End,
    /// An input.
    pub to: End,
    /// It leads packets back: they enter again before the next arrival, a limited number of times.
    pub recirculates: bool,
}

/// Why an application cannot run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AppError {
    /// A wire's end is no port of an instance.
    NoPort(End),
    /// A program's info memory is not the application's.
    Info(u32),
    /// That table is not there, is not like those it is one with, or its instance has that one
    /// already.
    Shared(TableOf),
    /// That piece is not there, or not as long as those it is one with, or overlaps another.
    Piece(PieceOf),
}

impl fmt::Display for AppError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPort(End { instance, port }) => write!(f, "a wire ends at port {port} of instance {instance}, which it does not have"),
            Self::Info(instance) => write!(f, "the info memory of instance {instance} differs from the application's"),
            Self::Shared(TableOf { instance, table }) => {
                write!(f, "table {table} of instance {instance} cannot be one with those of others")
            }
            Self::Piece(PieceOf { instance, at, len }) => {
                write!(f, "{len} bytes at {at} of the shared memory of instance {instance} cannot be one with those of others")
            }
        }
    }
}

impl std::error::Error for AppError {}

impl Application {
    /// Whether packets have numbers that go with them: some program draws random numbers.
    pub fn keeps_numbers(&self) -> bool {
        self.numbered || self.instances.iter().filter_map(Instance::program).any(|program| program.uses().random)
    }

    /// Checks that wires end at ports, that all programs see the same info memory, and that tables
    /// and pieces of memory which are one are alike.
    ///
    /// # Errors
    /// The first thing that is not so.
    pub fn check(&self) -> Result<(), AppError> {
        for wire in &self.wires {
            self.check_end(wire.from, false)?;
            self.check_end(wire.to, true)?;
        }
        self.check_shared()?;
        self.check_pieces()?;
        let differs = |(_, i): &(usize, &Instance)| i.program().is_some_and(|p| p.module().info_size != self.info_size);
        self.instances.iter().enumerate().find(differs).map_or(Ok(()), |(n, _)| Err(AppError::Info(n as u32)))
    }

    fn check_shared(&self) -> Result<(), AppError> {
        let (mut seen, mut together) = (BTreeSet::new(), BTreeSet::new());
        for (n, list) in self.shared.iter().enumerate() {
            let first = list.first().and_then(|first| self.table(*first));
            for at in list {
                let alike = self.table(*at).zip(first).is_some_and(|(table, first)| table.is_like(first));
                if !alike || !seen.insert(*at) || !together.insert((n, at.instance)) {
                    return Err(AppError::Shared(*at));
                }
            }
        }
        Ok(())
    }

    fn check_pieces(&self) -> Result<(), AppError> {
        let mut seen: Vec<PieceOf> = Vec::new();
        for list in &self.pieces {
            for piece in list {
                let program = self.instances.get(piece.instance as usize).and_then(Instance::program);
                let inside = program.is_some_and(|program| u64::from(piece.at) + u64::from(piece.len) <= program.shared_size().into());
                let alike = list.first().is_some_and(|first| first.len == piece.len);
                if !inside || !alike {
                    return Err(AppError::Piece(*piece));
                }
                seen.push(*piece);
            }
        }
        seen.sort_unstable();
        let overlap = seen.windows(2).find(|two| two[0].instance == two[1].instance && two[0].at + two[0].len > two[1].at);
        overlap.map_or(Ok(()), |two| Err(AppError::Piece(two[1])))
    }

    fn table(&self, at: TableOf) -> Option<&Table> {
        self.instances.get(at.instance as usize)?.program()?.module().tables.get(at.table as usize)
    }

    /// Whether an instance has a table or memory together with others.
    pub fn shares(&self, instance: u32) -> bool {
        self.shared.iter().flatten().any(|at| at.instance == instance) || self.pieces.iter().flatten().any(|at| at.instance == instance)
    }

    fn check_end(&self, end: End, input: bool) -> Result<(), AppError> {
        let instance = self.instances.get(end.instance as usize).ok_or(AppError::NoPort(end))?;
        let there = instance.program().is_none_or(|p| port_id(p, end.port, input).is_some());
        if there { Ok(()) } else { Err(AppError::NoPort(end)) }
    }
}

impl Instance {
    /// Its program, if it has one.
    pub fn program(&self) -> Option<&Arc<Verified>> {
        match &self.body {
            Body::Program(program) => Some(program),
            Body::BuiltIn(_) => None,
        }
    }

    /// Whether it copies packets.
    pub fn copies(&self) -> bool {
        self.pushes_with(Op::PktSendDup)
    }

    /// Whether packets may come from it though none has come to it: copies, or what it sends by a
    /// timer.
    pub fn sends_by_itself(&self) -> bool {
        self.copies() || self.pushes_with(Op::TimerSet)
    }

    pub(crate) fn pushes_with(&self, op: Op) -> bool {
        let handler = self.program().and_then(|program| program.module().handler(HandlerKind::Push));
        handler.is_some_and(|handler| handler.code.iter().any(|inst| inst.op == op))
    }
}

/// The id of a program's n-th input or output.
pub fn port_id(program: &Verified, n: u32, input: bool) -> Option<u32> {
    let kinds = (0..).map_while(|id| program.module().port_kind(id).map(|kind| (id, kind)));
    kinds.filter(|(_, kind): &(u32, PortKind)| kind.is_input() == input).nth(n as usize).map(|(id, _)| id)
}

/// The number of a port among the inputs or outputs of its program.
pub fn port_number(program: &Verified, id: u32) -> Option<u32> {
    let kind = program.module().port_kind(id)?;
    let before = (0..id).filter_map(|id| program.module().port_kind(id));
    Some(before.filter(|k| k.is_input() == kind.is_input()).count() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asm::assemble;
    use crate::verify;

    fn application(info: u32) -> Application {
        let text =
            "segment .metadata .info_size 4 ends segment .ports push_output a push_input b push_output c ends segment .push ret ends";
        let program = Arc::new(verify(assemble(text, "test").unwrap()).unwrap());
        let instance = |body| Instance { name: "x".to_owned(), class: "X".to_owned(), body };
        let instances = vec![instance(Body::Program(program)), instance(Body::BuiltIn(Vec::new()))];
        Application { instances, info_size: info, ..Application::default() }
    }

    fn wire(from: (u32, u32), to: (u32, u32)) -> Wire {
        let end = |(instance, port)| End { instance, port };
        Wire { from: end(from), to: end(to), recirculates: false }
    }

    #[test]
    fn ports_are_counted_by_side() {
        let app = application(4);
        let program = app.instances[0].program().unwrap();
        assert_eq!([0, 1, 2].map(|n| port_id(program, n, false)), [Some(0), Some(2), None]);
        assert_eq!([0, 1].map(|n| port_id(program, n, true)), [Some(1), None]);
        assert_eq!([0, 1, 2, 3].map(|id| port_number(program, id)), [Some(0), Some(0), Some(1), None]);
    }

    #[test]
    fn wires_end_at_ports() {
        let with = |wires| Application { wires, ..application(4) }.check();
        assert_eq!(with(vec![wire((0, 1), (1, 7)), wire((1, 3), (0, 0))]), Ok(()));
        assert_eq!(with(vec![wire((0, 2), (1, 0))]), Err(AppError::NoPort(End { instance: 0, port: 2 })));
        assert_eq!(with(vec![wire((1, 0), (0, 1))]), Err(AppError::NoPort(End { instance: 0, port: 1 })));
        assert_eq!(with(vec![wire((2, 0), (0, 0))]), Err(AppError::NoPort(End { instance: 2, port: 0 })));
        assert_eq!(application(8).check(), Err(AppError::Info(0)));
    }

    #[test]
    fn tables_that_are_one_are_alike() {
        let text = "segment .metadata .info_size 4 ends segment .tables .table a, exact, 32, 4, 9 .table b, exact, 32, 4, 5, 7 .table c, exact, 16, 4, 9 ends segment .push ret ends";
        let program = Arc::new(verify(assemble(text, "test").unwrap()).unwrap());
        let mut app = application(4);
        app.instances.extend(["x", "y"].map(|name| Instance {
            name: name.to_owned(),
            class: "X".to_owned(),
            body: Body::Program(Arc::clone(&program)),
        }));
        let mut with = |all: &[&[(u32, u32)]]| {
            let of = |(instance, table): &(u32, u32)| TableOf { instance: *instance, table: *table };
            app.shared = all.iter().map(|list| list.iter().map(of).collect()).collect();
            app.check()
        };
        assert_eq!(with(&[&[(2, 0), (3, 1)], &[(2, 1), (3, 0)]]), Ok(()));
        let wrong: [&[&[(u32, u32)]]; 5] =
            [&[&[(2, 0), (3, 2)]], &[&[(2, 0), (3, 3)]], &[&[(2, 0), (2, 1)]], &[&[(2, 0)], &[(3, 0), (2, 0)]], &[&[(1, 0)]]];
        for all in wrong {
            assert_eq!(
                with(all),
                Err(AppError::Shared(all.last().and_then(|list| list.last()).map(|(i, t)| TableOf { instance: *i, table: *t }).unwrap()))
            );
        }
        app.shared = vec![vec![TableOf { instance: 2, table: 0 }, TableOf { instance: 3, table: 0 }]];
        assert_eq!([0, 2, 3].map(|n| app.shares(n)), [false, true, true]);
    }
    #[test]
    fn pieces_that_are_one_are_there_as_long_and_apart() {
        let mut app = application(4);
        let text = "segment .metadata .info_size 4 ends segment .init set.share 8 ret ends segment .push ret ends";
        let program = Arc::new(verify(assemble(text, "test").unwrap()).unwrap());
        let instance = Instance { name: "y".to_owned(), class: "Y".to_owned(), body: Body::Program(program) };
        app.instances.extend([instance.clone(), instance]);
        type Lists<'a> = &'a [&'a [(u32, u32, u32)]];
        let of = |(instance, at, len): &(u32, u32, u32)| PieceOf { instance: *instance, at: *at, len: *len };
        let mut with = |all: Lists<'_>| {
            app.pieces = all.iter().map(|list| list.iter().map(of).collect()).collect();
            app.check()
        };
        assert_eq!(with(&[&[(2, 0, 4), (3, 4, 4)], &[(2, 4, 4), (3, 0, 4)]]), Ok(()));
        let wrong: [Lists<'_>; 5] = [
            &[&[(2, 0, 4), (3, 5, 4)]],
            &[&[(2, 0, 4), (3, 0, 3)]],
            &[&[(2, 0, 4)], &[(3, 0, 4), (2, 3, 4)]],
            &[&[(1, 0, 4)]],
            &[&[(2, u32::MAX, 2)]],
        ];
        for all in wrong {
            assert_eq!(with(all), Err(AppError::Piece(all.last().and_then(|list| list.last()).map(of).unwrap())), "{all:?}");
        }
        app.pieces = vec![vec![PieceOf { instance: 2, at: 0, len: 1 }, PieceOf { instance: 3, at: 0, len: 1 }]];
        assert_eq!([0, 2, 3].map(|n| app.shares(n)), [false, true, true]);
    }
}
