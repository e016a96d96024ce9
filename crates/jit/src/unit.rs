//! One compiled function with its tables, and the stages on the way for people to look at.

use crate::JitError;
use crate::host::Job;
use crate::lower::fused::{self, Elements};
use crate::lower::{FunctionKind, Lowered, lower, weight};
use crate::memory::Code;
use compiler::mir::Call;
use compiler::mir::Func;
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_codegen::{Context, control::ControlPlane};
use netil::module::HandlerKind;
use netil::{Module, Verified};

/// The most stack that a function may take, whatever a hostile program spills: an eighth of what
/// Rust gives a thread.
const MAX_STACK: u32 = 256 << 10;

/// The most stack of a pull handler: pull handlers run within one another, 128 deep
/// (`MAX_PULL_DEPTH` of the graph), and threads have 1 MiB of stack or more.
const MAX_PULL_STACK: u32 = 2 << 10;

/// Machine code and what it refers to by number.
pub(crate) struct Unit {
    pub code: Code,
    pub calls: Vec<Call>,
    pub jobs: Vec<Job>,
    /// Kept for the pointers in `table_pointers`.
    _tables: Vec<Vec<u64>>,
    pub table_pointers: Vec<*const u64>,
}

// SAFETY: the pointers are to `_tables`, which moves with them and is never written.
unsafe impl Send for Unit {}
// SAFETY: nothing of it is written after `new`: compiled code writes only through the frame it is
// given.
unsafe impl Sync for Unit {}

impl Unit {
    /// Compiles a handler in one of the two shapes.
    pub fn new(func: &Func, module: &Module, shape: FunctionKind) -> Result<Self, JitError> {
        let isa = isa(Effort::of(weight(func)))?;
        let lowered = lower(func, module, shape, &*isa)?;
        Self::of(lowered, &isa, if func.kind == HandlerKind::Pull { MAX_PULL_STACK } else { MAX_STACK })
    }

    /// Compiles the push handlers of some elements out of all as one function, or slices of them.
    pub fn fused(elements: &Elements<'_>, part: &[usize], large: Option<usize>) -> Result<Self, JitError> {
        let isa = isa(Effort::of(part.iter().map(|n| weight(elements.all[*n].func)).sum()))?;
        let lowered = fused::lower(elements, part, large, &*isa)?;
        Self::of(lowered, &isa, MAX_STACK)
    }

    fn of(lowered: Lowered, isa: &OwnedTargetIsa, most: u32) -> Result<Self, JitError> {
        let Lowered { clif, calls, jobs, tables } = lowered;
        let code = compile(clif, isa, most, false)?.0;
        let code = Code::new(&code).map_err(JitError::Memory)?;
        let table_pointers = tables.iter().map(|t| t.as_ptr()).collect();
        Ok(Self { code, calls, jobs, _tables: tables, table_pointers })
    }
}

/// The stages that a person may look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emit {
    /// Cranelift's IR.
    Clif,
    /// Machine code, disassembled.
    Asm,
}

/// A stage of a handler as text: of the shape that a filter's bursts take if the program is a
/// filter.
pub fn emit(program: &Verified, kind: HandlerKind, func: &Func, stage: Emit) -> Result<String, JitError> {
    let shape = if program.is_filter() && kind == HandlerKind::Push { FunctionKind::Select } else { FunctionKind::Run };
    let isa = isa(Effort::of(weight(func)))?;
    let Lowered { clif, .. } = lower(func, program.module(), shape, &*isa)?;
    match stage {
        Emit::Clif => Ok(clif.display().to_string()),
        Emit::Asm => Ok(compile(clif, &isa, MAX_STACK, true)?.1.unwrap_or_default()),
    }
}

/// How hard Cranelift tries. Its optimiser and its good register allocator take time that grows
/// with the square of some functions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effort {
    /// The best code.
    Full,
    /// Code in linear time.
    Quick,
}

/// The weight from which functions are compiled quickly: far above what filters written or
/// generated for people have.
const QUICK: usize = 1 << 13;

impl Effort {
    fn of(weight: usize) -> Self {
        if weight > QUICK { Self::Quick } else { Self::Full }
    }
}

fn isa(effort: Effort) -> Result<OwnedTargetIsa, JitError> {
    let mut flags = settings::builder();
    let set = |flags: &mut settings::Builder, name, value| flags.set(name, value).map_err(|e| JitError::Backend(e.to_string()));
    let (level, allocator) = if effort == Effort::Full { ("speed", "backtracking") } else { ("none", "single_pass") };
    set(&mut flags, "opt_level", level)?;
    set(&mut flags, "regalloc_algorithm", allocator)?;
    set(&mut flags, "enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" })?;
    set(&mut flags, "enable_probestack", "true")?;
    set(&mut flags, "probestack_strategy", "inline")?;
    set(&mut flags, "unwind_info", "false")?;
    let builder = cranelift_native::builder().map_err(|e| JitError::Backend(e.to_owned()))?;
    builder.finish(settings::Flags::new(flags)).map_err(|e| JitError::Backend(e.to_string()))
}

fn compile(
    clif: cranelift_codegen::ir::Function,
    isa: &OwnedTargetIsa,
    most: u32,
    listing: bool,
) -> Result<(Vec<u8>, Option<String>), JitError> {
    let mut context = Context::for_function(clif);
    context.set_disasm(listing);
    let compiled = context.compile(&**isa, &mut ControlPlane::default()).map_err(|e| JitError::Backend(format!("{:?}", e.inner)))?;
    let stack = compiled.buffer.frame_layout().map_or(0, |l| l.frame_to_fp_offset);
    if stack > most {
        return Err(JitError::TooMuchStack(stack, most));
    }
    if !compiled.buffer.relocs().is_empty() {
        return Err(JitError::Backend("code refers to something outside itself".to_owned()));
    }
    Ok((compiled.code_buffer().to_vec(), compiled.vcode.clone()))
}
