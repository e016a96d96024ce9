//! MIR to Cranelift's IR.
//!
//! Values of up to 128 bits live in registers: i1 as I8, up to 32 bits as I32, up to 64 as I64, up
//! to 128 as I128, the bits above the width always clear. Wider ones live in stack slots and are
//! computed by the runtime. A handler becomes one function, in one of two shapes: `run` for one
//! packet in the frame, `select` for a burst of a filter's packets, giving a bit for each; or
//! handlers of several elements become one (`fused`).

mod bursts;
mod computed;
mod digests;
mod flow;
pub(crate) mod fused;
mod helpers;
mod lengths;
mod lookups;
mod members;
mod memory;
mod moves;
mod ops;
mod prefetch;
mod set_test;
mod wide;

use crate::JitError;
use crate::frame;
use crate::host::Job;
use compiler::mir::Call;
use compiler::mir::cfg::Cfg;
use compiler::mir::{self, Def, FastPath, Func, Helper, Op, Type};
use cranelift_codegen::ir::{
    self, AbiParam, AliasRegion, AliasRegionData, BlockArg, InstBuilder, MemFlagsData, Signature, StackSlot, StackSlotData, StackSlotKind,
    types,
};
use cranelift_codegen::isa::{CallConv, TargetIsa};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Variable};
use netil::Module;
use netil::table::Space;
use netil::wide::limbs;
use std::collections::HashMap;
use std::rc::Rc;

/// The most operations that are compiled: Cranelift's time and memory grow with them.
const MAX_OPS: usize = 1 << 18;
/// Bytes of stack slots a function may have.
const MAX_SLOTS: u32 = 16 << 10;

/// Which of the two shapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FunctionKind {
    /// One packet, all effects.
    Run,
    /// A burst of a filter's packets.
    Select,
    /// One packet on its way through the handlers of several elements.
    Fused,
}

/// A function in Cranelift's IR with the tables that its code refers to by number.
pub(crate) struct Lowered {
    pub clif: ir::Function,
    pub calls: Vec<Call>,
    pub jobs: Vec<Job>,
    pub tables: Vec<Vec<u64>>,
}

/// Where a MIR value is.
#[derive(Clone, Copy)]
enum ValueStorage {
    /// Nowhere yet, or without a value.
    None,
    Reg(ir::Value),
    Slot(StackSlot),
}

pub(crate) fn lower(func: &Func, module: &Module, shape: FunctionKind, isa: &dyn TargetIsa) -> Result<Lowered, JitError> {
    let cfg = Cfg::new(func);
    check_size(func)?;
    let mut clif = function(isa, shape != FunctionKind::Select);
    let mut context = FunctionBuilderContext::new();
    let builder = FunctionBuilder::new(&mut clif, &mut context);
    let mut lower = Lower::new((func, module, &cfg), shape, builder);
    lower.function()?;
    let Lower { calls, jobs, tables, mut b, .. } = lower;
    b.seal_all_blocks();
    b.finalize(isa.frontend_config());
    Ok(Lowered { clif, calls, jobs, tables })
}

/// Whether a handler is too large to be compiled.
pub(crate) fn check_size(func: &Func) -> Result<(), JitError> {
    let ops = weight(func);
    if ops > MAX_OPS { Err(JitError::TooLarge("operations", ops, MAX_OPS)) } else { Ok(()) }
}

/// An empty function that takes a frame.
fn function(isa: &dyn TargetIsa, gives: bool) -> ir::Function {
    let mut signature = Signature::new(CallConv::triple_default(isa.triple()));
    signature.params.push(AbiParam::new(types::I64));
    if gives {
        signature.returns.push(AbiParam::new(types::I64));
    }
    ir::Function::with_name_signature(ir::UserFuncName::default(), signature)
}

/// Values that all code of the function may use.
struct Shared {
    frame: ir::Value,
    packet: Variable,
    packet_len: Variable,
    regions: Regions,
}

/// Memories that do not overlap: the frame, rows of members and tables, and bytes of packets,
/// elements and tables.
struct Regions {
    frame: AliasRegion,
    rows: AliasRegion,
    bytes: AliasRegion,
}

impl Regions {
    fn new(b: &mut FunctionBuilder<'_>) -> Self {
        let all = &mut b.func.dfg.alias_regions;
        let mut region = |user_id, name: &'static str| all.insert(AliasRegionData { user_id, description: name.into() });
        Self { frame: region(0, "frame"), rows: region(1, "rows"), bytes: region(2, "bytes") }
    }
}

impl Shared {
    fn new(b: &mut FunctionBuilder<'_>) -> Self {
        let entry = b.create_block();
        b.append_block_params_for_function_params(entry);
        b.switch_to_block(entry);
        let (frame, regions) = (b.block_params(entry)[0], Regions::new(b));
        Self { frame, packet: b.declare_var(types::I64), packet_len: b.declare_var(types::I32), regions }
    }
}

/// Operations with their extents, parameters and edges with their arguments: what code generation
/// costs.
pub(crate) fn weight(func: &Func) -> usize {
    let edges = |b: &mir::BlockData| b.end.edges().iter().map(|e| 1 + e.args.len()).sum::<usize>();
    let op = |v: &mir::Value| match func.op(*v) {
        Some(Op::Check(_, extents)) => extents.len(),
        _ => 1,
    };
    func.blocks.iter().map(|b| 1 + b.params.len() + b.ops.iter().map(op).sum::<usize>() + edges(b)).sum()
}

struct Lower<'a> {
    func: &'a Func,
    module: &'a Module,
    cfg: &'a Cfg,
    shape: FunctionKind,
    shared: Shared,
    places: Vec<ValueStorage>,
    /// Cranelift's block for each of MIR's.
    blocks: Vec<ir::Block>,
    slot_bytes: u32,
    /// Slots for operands and results of wide jobs that are in registers, by number.
    scratch: Vec<StackSlot>,
    arguments: Option<StackSlot>,
    addresses: Option<StackSlot>,
    calls: Vec<Call>,
    jobs: Vec<Job>,
    tables: Vec<Vec<u64>>,
    /// How each set is tested.
    tests: HashMap<u32, Rc<set_test::Test>>,
    /// Bytes of shared memory.
    shared_size: u32,
    /// Bytes of initialised memory.
    initialised_size: u32,
    exits: flow::Exits,
    /// By table the entry whose value was found last, and where: known up to the next work on
    /// tables.
    found: HashMap<u32, (mir::Value, ir::Value)>,
    /// By block, what `found` has at its end.
    found_by: HashMap<mir::Block, HashMap<u32, (mir::Value, ir::Value)>>,
    /// With which handlers this one runs.
    fusion: Option<fused::Fusion<'a>>,
    /// Edges that get a block of their own when the current block ends.
    side_edges: Vec<(ir::Block, mir::Edge)>,
    b: FunctionBuilder<'a>,
}

/// The register type of a value of that width.
fn container(width: u16) -> ir::Type {
    match width {
        1 => types::I8,
        2..=32 => types::I32,
        33..=64 => types::I64,
        _ => types::I128,
    }
}

/// Accesses to memory that has been checked or is ours.
fn trusted() -> MemFlagsData {
    MemFlagsData::new().with_notrap()
}

/// What neither compiled code nor the runtime changes during a call.
fn constant() -> MemFlagsData {
    trusted().with_readonly().with_can_move()
}

impl<'a> Lower<'a> {
    fn new((func, module, cfg): (&'a Func, &'a Module, &'a Cfg), shape: FunctionKind, mut b: FunctionBuilder<'a>) -> Self {
        Self {
            func,
            module,
            cfg,
            shape,
            shared: Shared::new(&mut b),
            places: vec![ValueStorage::None; func.values.len()],
            blocks: Vec::new(),
            slot_bytes: 0,
            scratch: Vec::new(),
            arguments: None,
            addresses: None,
            calls: Vec::new(),
            jobs: Vec::new(),
            tables: Vec::new(),
            tests: HashMap::new(),
            shared_size: module.shared_size(),
            initialised_size: module.data.len() as u32,
            exits: flow::Exits::default(),
            found: HashMap::new(),
            found_by: HashMap::new(),
            fusion: None,
            side_edges: Vec::new(),
            b,
        }
    }
}

impl Lower<'_> {
    fn function(&mut self) -> Result<(), JitError> {
        self.blocks = (0..self.func.blocks.len()).map(|_| self.b.create_block()).collect();
        for block in &self.cfg.order {
            let clif = self.blocks[block.0 as usize];
            for param in self.func.block(*block).params.clone() {
                self.places[param.0 as usize] = match self.func.width(param) {
                    w if w > 128 => ValueStorage::Slot(self.slot(w)?),
                    w => ValueStorage::Reg(self.b.append_block_param(clif, container(w))),
                };
            }
        }
        self.start()?;
        for block in self.cfg.order.clone() {
            self.b.switch_to_block(self.blocks[block.0 as usize]);
            self.found = match self.cfg.predecessors[block.0 as usize][..] {
                [only] => self.found_by.get(&only).cloned().unwrap_or_default(),
                _ => HashMap::new(),
            };
            for v in self.func.block(block).ops.clone() {
                self.op(v)?;
            }
            let found = std::mem::take(&mut self.found);
            if !found.is_empty() {
                self.found_by.insert(block, found);
            }
            self.end(block)?;
        }
        self.found_by.clear();
        self.finish_exits();
        Ok(())
    }

    fn op(&mut self, v: mir::Value) -> Result<(), JitError> {
        let Def::Op(op) = &self.func.values[v.0 as usize].def else { return Ok(()) };
        if self.func.width(v) > 64 && self.wide(v, op)? {
            return Ok(());
        }
        if let Op::Helper(helper, ..) = op
            && !matches!(helper.row().fast, FastPath::InPlace | FastPath::Entry(_))
        {
            self.found.clear();
        }
        if self.without_value(v, op)? {
            return Ok(());
        }
        let value = match op {
            Op::Helper(helper, args, site) => self.helper(v, *helper, args, *site)?,
            _ => match self.narrow_of_wide(v, op)? {
                Some(value) => Some(value),
                None => Some(self.value(v, op)?),
            },
        };
        if let (Some(value), Type::Int(_)) = (value, self.func.ty(v)) {
            self.places[v.0 as usize] = ValueStorage::Reg(value);
        }
        Ok(())
    }

    /// An operation that gives no value, or says itself where its value is; false for others.
    fn without_value(&mut self, v: mir::Value, op: &Op) -> Result<bool, JitError> {
        match op {
            Op::Check(..) if self.passes(v) => {}
            // Where branches are taken without looking, what was found out about accesses does not
            // hold.
            Op::Proved(..) if self.end_of_slice().is_none() => {}
            Op::Check(space, extents) | Op::Proved(space, extents) => self.check(*space, extents),
            Op::Store(space, order, addr, offset, value, _) => self.store(*space, *order, *addr, *offset, *value)?,
            Op::NonZero(a, site) => self.non_zero(*a, *site)?,
            Op::Budget(site, n) => self.budget(*site, *n),
            Op::Present(site) => self.present(*site),
            Op::ExceptionStore(k, a) => {
                let (a, table) = (self.reg(*a), self.exceptions());
                self.b.ins().store(trusted(), a, table, 4 * *k as i32);
            }
            Op::Helper(Helper::EntryLoad(table, at), args, site) => self.entry_load(v, (*table, *at), args[0], *site)?,
            Op::Helper(Helper::EntryStore(table, at), args, site) => self.entry_store((*table, *at), args, *site)?,
            Op::Helper(helper, args, site) if helper.is_wide() => self.wide_in_line(v, *helper, args, *site)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Whether an operation is known to find the bytes that it asks for.
    fn passes(&self, v: mir::Value) -> bool {
        self.fusion.as_ref().and_then(|fusion| fusion.lengths.get(fusion.element)).is_some_and(|lengths| lengths.passing.contains(&v))
    }

    /// A value that is in a register.
    fn reg(&mut self, v: mir::Value) -> ir::Value {
        match self.places[v.0 as usize] {
            ValueStorage::Reg(value) => value,
            ValueStorage::Slot(slot) => self.b.ins().stack_addr(types::I64, slot, 0),
            ValueStorage::None => unreachable!("{v:?} is used before it is defined"),
        }
    }

    /// A field of the frame.
    fn field(&mut self, offset: i32, ty: ir::Type, flags: MemFlagsData) -> ir::Value {
        let flags = flags.with_alias_region(Some(self.shared.regions.frame));
        self.b.ins().load(ty, flags, self.shared.frame, offset)
    }

    fn set_field(&mut self, offset: i32, v: ir::Value) {
        let flags = trusted().with_alias_region(Some(self.shared.regions.frame));
        self.b.ins().store(flags, v, self.shared.frame, offset);
    }

    /// Accesses to bytes of packets, elements and tables.
    fn bytes(&self) -> MemFlagsData {
        trusted().with_alias_region(Some(self.shared.regions.bytes))
    }

    /// Of the exception table.
    fn exceptions(&mut self) -> ir::Value {
        match &self.fusion {
            Some(_) => self.unit(frame::unit::EXCEPTIONS),
            None => self.field(frame::EXCEPTIONS, types::I64, constant()),
        }
    }

    /// A stack slot for a value of that width.
    fn slot(&mut self, width: u16) -> Result<StackSlot, JitError> {
        let bytes = 8 * limbs(width) as u32;
        self.slot_bytes += bytes;
        if self.slot_bytes > MAX_SLOTS {
            return Err(JitError::TooLarge("bytes of wide values", self.slot_bytes as usize, MAX_SLOTS as usize));
        }
        Ok(self.b.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, bytes, 3)))
    }

    /// The first byte of a memory.
    fn base(&mut self, space: Space) -> ir::Value {
        match space {
            Space::Packet => self.b.use_var(self.shared.packet),
            Space::Info => self.field(frame::INFO, types::I64, trusted()),
            Space::Data if self.fusion.is_some() => self.unit(frame::unit::DATA),
            Space::Shared if self.fusion.is_some() => self.unit(frame::unit::SHARED),
            Space::Initialised if self.fusion.is_some() => self.unit(frame::unit::INITIALISED),
            Space::Data => self.field(frame::DATA, types::I64, constant()),
            Space::Shared => self.field(frame::SHARED, types::I64, constant()),
            Space::Initialised => self.field(frame::INITIALISED, types::I64, constant()),
        }
    }

    fn iconst(&mut self, ty: ir::Type, v: u64) -> ir::Value {
        if ty == types::I128 {
            let (low, high) = (self.b.ins().iconst(types::I64, v as i64), self.b.ins().iconst(types::I64, 0));
            return self.b.ins().iconcat(low, high);
        }
        let masked = if ty.bits() < 64 { v & ((1 << ty.bits()) - 1) } else { v };
        self.b.ins().iconst(ty, masked as i64)
    }
}

fn args(values: &[ir::Value]) -> Vec<BlockArg> {
    values.iter().map(|v| BlockArg::Value(*v)).collect()
}
