//! Verified bytecode to MIR.
//!
//! The stack becomes values: at every place where paths may meet, a block takes the whole stack and
//! the locals as parameters; passes remove those that are not needed. Calls are inlined, each under
//! a context of its own. The interpreter says what an instruction means; this file and its children
//! say the same in operations, with checks apart from accesses and the budget on backward branches
//! and calls; what bulk instructions pay is the runtime's side's, which does their work.

mod inst;
mod memory;

use crate::mir::{Block, Edge, Func, Op, Site, Terminator, Type, Value};
use netil::exec::DropReason;
use netil::module::{Handler, HandlerKind, Inst, as_entry};
use netil::ops::CmpOp;
use netil::{Verified, table};
use std::collections::HashMap;
use std::fmt;

/// The most values a function may have: bounds the memory and time that a hostile program can ask
/// of the compiler.
pub const MAX_VALUES: usize = 1 << 20;
/// The most arguments of edges, which a `switch` with a deep stack has many of.
pub const MAX_ARGUMENTS: usize = 1 << 22;

/// A program that is valid but too large to compile; the interpreter runs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge;

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the program needs more than {MAX_VALUES} values or {MAX_ARGUMENTS} arguments; run it with the interpreter")
    }
}

impl std::error::Error for TooLarge {}

/// The push or pull handler of a program as MIR; `None` if it has no such handler.
pub fn translate(program: &Verified, kind: HandlerKind) -> Result<Option<Func>, TooLarge> {
    let Some((handler, _)) = program.handler(kind) else { return Ok(None) };
    let mut leaders = vec![false; handler.code.len()];
    handler.code.iter().flat_map(Inst::targets).for_each(|t| leaders[t as usize] = true);
    let func = Func { kind, blocks: Vec::new(), values: Vec::new(), module_sets: program.module().sets.len() as u32, sets: Vec::new() };
    let mut t = Translator {
        program,
        handler,
        leaders,
        always_present: kind == HandlerKind::Push && !program.uses().geometry,
        func,
        contexts: vec![Context { back: None }],
        blocks: HashMap::new(),
        work: Vec::new(),
        arguments: 0,
    };
    t.run()?;
    Ok(Some(t.func))
}

/// Where an inlined subroutine returns to: context and instruction; none for the handler itself.
struct Context {
    back: Option<ProgramPoint>,
}

/// An instruction in a context.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct ProgramPoint {
    context: u32,
    at: u32,
}

/// Stack and locals as values.
#[derive(Clone)]
struct Frame {
    stack: Vec<Value>,
    locals: Vec<Option<Value>>,
}

/// A block for a place, with the locals that are its parameters.
struct Target {
    block: Block,
    locals: Vec<bool>,
}

struct Translator<'a> {
    program: &'a Verified,
    handler: &'a Handler,
    leaders: Vec<bool>,
    always_present: bool,
    func: Func,
    contexts: Vec<Context>,
    blocks: HashMap<ProgramPoint, Target>,
    work: Vec<ProgramPoint>,
    /// Arguments of all edges so far.
    arguments: usize,
}

/// Where translation goes on after an instruction.
enum Next {
    /// With the next instruction, in the same block.
    Fall,
    /// Nowhere: the block has ended.
    Ended,
}

/// The block being filled.
struct Cursor {
    place: ProgramPoint,
    block: Block,
    frame: Frame,
}

impl Translator<'_> {
    fn run(&mut self) -> Result<(), TooLarge> {
        let port = if self.func.kind == HandlerKind::Init { Vec::new() } else { vec![Type::Int(32)] };
        let entry = self.func.new_block(&port);
        let frame = Frame { stack: self.func.block(entry).params.clone(), locals: vec![None; self.handler.locals.len()] };
        let first = self.jump(ProgramPoint { context: 0, at: 0 }, &frame);
        self.func.block_mut(entry).end = Terminator::Jump(first);
        while let Some(place) = self.work.pop() {
            self.fill(place)?;
        }
        self.bounded()
    }

    fn bounded(&self) -> Result<(), TooLarge> {
        if self.func.values.len() > MAX_VALUES || self.arguments > MAX_ARGUMENTS { Err(TooLarge) } else { Ok(()) }
    }

    fn fill(&mut self, place: ProgramPoint) -> Result<(), TooLarge> {
        let mut cursor = self.enter(place);
        loop {
            let handler = self.handler;
            let inst = &handler.code[cursor.place.at as usize];
            self.bounded()?;
            if let Next::Ended = self.inst(&mut cursor, inst) {
                return Ok(());
            }
            cursor.place.at += 1;
            if self.leaders[cursor.place.at as usize] {
                let edge = self.jump(cursor.place, &cursor.frame);
                self.end(&cursor, Terminator::Jump(edge));
                return Ok(());
            }
        }
    }

    fn enter(&mut self, place: ProgramPoint) -> Cursor {
        let target = &self.blocks[&place];
        let params = &self.func.block(target.block).params;
        let carried = target.locals.iter().filter(|l| **l).count();
        let (stack, values) = params.split_at(params.len() - carried);
        let mut values = values.iter().copied();
        let locals = target.locals.iter().map(|l| if *l { values.next() } else { None }).collect();
        Cursor { place, block: target.block, frame: Frame { stack: stack.to_vec(), locals } }
    }

    /// An edge to a place, which gets a block if it has none. Beyond the limit it has no arguments:
    /// the function is given up.
    fn jump(&mut self, place: ProgramPoint, frame: &Frame) -> Edge {
        if !self.blocks.contains_key(&place) {
            let types: Vec<Type> = frame.stack.iter().chain(frame.locals.iter().flatten()).map(|v| self.func.ty(*v)).collect();
            let block = self.func.new_block(&types);
            self.blocks.insert(place, Target { block, locals: frame.locals.iter().map(Option::is_some).collect() });
            self.work.push(place);
        }
        let target = &self.blocks[&place];
        let carried = target.locals.iter().zip(&frame.locals).zip(&self.handler.locals).filter(|((l, _), _)| **l);
        let wanted: Vec<(Option<Value>, u16)> = carried.map(|((_, v), ty)| (*v, width_of(*ty))).collect();
        let block = target.block;
        self.arguments += frame.stack.len() + wanted.len();
        if self.arguments > MAX_ARGUMENTS {
            return Edge::to(block);
        }
        let mut args = frame.stack.clone();
        for (value, width) in wanted {
            args.push(value.unwrap_or_else(|| self.undefined(width)));
        }
        Edge { block, args }
    }

    /// A value for a local that this path has not written and no path reads: any will do. It must
    /// dominate, so it is made in the entry.
    fn undefined(&mut self, width: u16) -> Value {
        let op = if width <= 64 { Op::Const(0) } else { Op::WideConst(vec![0; netil::wide::limbs(width)].into()) };
        self.func.append(Block(0), Type::Int(width), op)
    }

    fn end(&mut self, cursor: &Cursor, end: Terminator) {
        self.func.block_mut(cursor.block).end = end;
    }

    /// An edge to a branch target: a backward one passes a block that takes from the budget.
    fn branch_edge(&mut self, cursor: &Cursor, target: u32) -> Edge {
        let place = ProgramPoint { context: cursor.place.context, at: target };
        let edge = self.jump(place, &cursor.frame);
        if target > cursor.place.at {
            return edge;
        }
        let block = self.func.new_block(&[]);
        self.func.append(block, Type::Void, Op::Budget(cursor.place.at, 1));
        self.func.block_mut(block).end = Terminator::Jump(edge);
        Edge::to(block)
    }

    /// Ends the block with a branch on an i1.
    fn branch(&mut self, cursor: &Cursor, condition: Value, target: u32) -> Next {
        let taken = self.branch_edge(cursor, target);
        let next = self.jump(ProgramPoint { at: cursor.place.at + 1, ..cursor.place }, &cursor.frame);
        self.end(cursor, Terminator::Branch(condition, taken, next));
        Next::Ended
    }

    fn call(&mut self, cursor: &Cursor, target: u32) -> Next {
        self.op(cursor, Type::Void, Op::Budget(cursor.place.at, 1));
        let context = self.contexts.len() as u32;
        self.contexts.push(Context { back: Some(ProgramPoint { at: cursor.place.at + 1, ..cursor.place }) });
        let edge = self.jump(ProgramPoint { context, at: target }, &cursor.frame);
        self.end(cursor, Terminator::Jump(edge));
        Next::Ended
    }

    fn ret(&mut self, cursor: &Cursor) -> Next {
        if let Some(back) = self.contexts[cursor.place.context as usize].back {
            let edge = self.jump(back, &cursor.frame);
            self.end(cursor, Terminator::Jump(edge));
            return Next::Ended;
        }
        let port = self.program.first_output().filter(|_| self.func.kind != HandlerKind::Init);
        match (cursor.frame.stack.last(), port) {
            (Some(verdict), Some(port)) => self.verdict(cursor, *verdict, port),
            _ => self.end(cursor, Terminator::Drop(DropReason::Verdict)),
        }
        Next::Ended
    }

    /// Not 0: sends; 0: drops.
    fn verdict(&mut self, cursor: &Cursor, verdict: Value, port: u32) {
        let (send, drop) = (self.func.new_block(&[]), self.func.new_block(&[]));
        let accepted = self.not_zero(cursor, verdict);
        self.end(cursor, Terminator::Branch(accepted, Edge::to(send), Edge::to(drop)));
        let at = Cursor { place: cursor.place, block: send, frame: cursor.frame.clone() };
        self.send(&at, port);
    }

    fn send(&mut self, cursor: &Cursor, port: u32) -> Next {
        if !self.always_present {
            self.op(cursor, Type::Void, Op::Present(cursor.place.at));
        }
        self.end(cursor, Terminator::Send(port));
        Next::Ended
    }

    fn send_by(&mut self, cursor: &mut Cursor, first: u32, count: u32) -> Next {
        let n = cursor.pop();
        let behind = self.jump(ProgramPoint { at: cursor.place.at + 1, ..cursor.place }, &cursor.frame);
        let mut block = cursor.block;
        if !self.always_present {
            // Only where the packet is sent must there be one.
            block = self.func.new_block(&[]);
            let count = self.constant(cursor, count);
            let sent = self.int(cursor, 1, Op::Cmp(CmpOp::Lt, n, count));
            self.end(cursor, Terminator::Branch(sent, Edge::to(block), behind.clone()));
            self.func.append(block, Type::Void, Op::Present(cursor.place.at));
        }
        self.func.block_mut(block).end = Terminator::SendBy(n, first, count, behind);
        Next::Ended
    }

    fn op(&mut self, cursor: &Cursor, ty: Type, op: Op) -> Value {
        self.func.append(cursor.block, ty, op)
    }

    fn int(&mut self, cursor: &Cursor, width: u16, op: Op) -> Value {
        self.op(cursor, Type::Int(width), op)
    }

    fn constant(&mut self, cursor: &Cursor, v: u32) -> Value {
        self.int(cursor, 32, Op::Const(v.into()))
    }

    /// An i1: the value is not 0.
    fn not_zero(&mut self, cursor: &Cursor, v: Value) -> Value {
        let zero = self.int(cursor, self.func.width(v), Op::Const(0));
        self.int(cursor, 1, Op::Cmp(netil::ops::CmpOp::Ne, v, zero))
    }
}

impl Cursor {
    fn pop(&mut self) -> Value {
        self.frame.stack.pop().expect("the verifier counted the stack")
    }

    fn push(&mut self, v: Value) {
        self.frame.stack.push(v);
    }

    fn site(&self) -> Site {
        self.place.at
    }
}

/// The width of a local's values: a reference to an entry is a number.
fn width_of(ty: u16) -> u16 {
    if as_entry(ty).is_some() { 32 } else { ty }
}

/// True where a memory's bytes are in network order.
fn order(space: table::Space) -> crate::mir::Order {
    match space {
        table::Space::Packet | table::Space::Initialised => crate::mir::Order::Big,
        _ => crate::mir::Order::Little,
    }
}
