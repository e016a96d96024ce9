//! Any stage on the way from a program to machine code, as text.

use crate::Error;
use compiler::mir::Func;
use compiler::passes;
use compiler::translate::{TooLarge, translate};
use netil::Verified;
use netil::module::HandlerKind;

/// A stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// NetIL source.
    Netil,
    /// MIR as it is translated.
    Mir,
    /// MIR after the passes.
    MirOpt,
    /// Cranelift's IR.
    Clif,
    /// Machine code.
    Asm,
}

/// All stages with their names, first to last.
pub const ALL: &[(&str, Stage, &str)] = &[
    ("netil", Stage::Netil, "NetIL source"),
    ("mir", Stage::Mir, "the intermediate representation as translated"),
    ("mir-opt", Stage::MirOpt, "the same after all passes"),
    ("clif", Stage::Clif, "the code generator's input (Cranelift IR)"),
    ("asm", Stage::Asm, "machine code, disassembled"),
];

/// The stage with that name.
pub fn find(name: &str) -> Option<Stage> {
    ALL.iter().find(|(n, ..)| *n == name).map(|(_, stage, _)| *stage)
}

/// The program at a stage: all its handlers, one after the other.
///
/// # Errors
/// The program is too large to compile.
pub fn emit(program: &Verified, stage: Stage) -> Result<String, Error> {
    match stage {
        Stage::Netil => Ok(netil::disasm::disassemble(program.module())),
        Stage::Mir => each(|kind| Ok(translate(program, kind).map_err(too_large)?.map(|func| func.to_string()))),
        Stage::MirOpt => each(|kind| Ok(optimised(program, kind)?.map(|(func, _)| func.to_string()))),
        Stage::Clif => each(|kind| code(program, kind, jit::Emit::Clif)),
        Stage::Asm => each(|kind| code(program, kind, jit::Emit::Asm)),
    }
}

/// How large a program is at each stage: the push and pull handlers together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// Instructions of NetIL.
    pub netil: usize,
    /// Operations of MIR as translated.
    pub mir: usize,
    /// Its blocks.
    pub mir_blocks: usize,
    /// Operations of MIR after the passes.
    pub optimised: usize,
    /// Its blocks.
    pub optimised_blocks: usize,
    /// Machine instructions.
    pub machine: usize,
}

/// Measures a program at each stage.
///
/// # Errors
/// The program is too large to compile.
pub fn sizes(program: &Verified) -> Result<Sizes, Error> {
    let mut sizes = Sizes::default();
    let operations = |func: &Func| func.blocks.iter().map(|block| block.ops.len() + 1).sum::<usize>();
    for kind in COMPILED {
        let Some(handler) = program.module().handler(kind) else { continue };
        sizes.netil += handler.code.len();
        if let Some(func) = translate(program, kind).map_err(too_large)? {
            (sizes.mir, sizes.mir_blocks) = (sizes.mir + operations(&func), sizes.mir_blocks + func.blocks.len());
        }
        if let Some((func, _)) = optimised(program, kind)? {
            sizes.optimised += operations(&func);
            sizes.optimised_blocks += func.blocks.len();
        }
        sizes.machine += code(program, kind, jit::Emit::Asm)?.map_or(0, |text| instructions(&text));
    }
    Ok(sizes)
}

/// Lines of a disassembly that are no labels.
fn instructions(text: &str) -> usize {
    text.lines().filter(|line| line.starts_with(' ')).count()
}

/// The passes over all handlers with the time each took, in the order in which they ran.
///
/// # Errors
/// The program is too large to compile.
pub fn time_passes(program: &Verified) -> Result<Vec<passes::Timing>, Error> {
    let mut timings = Vec::new();
    for kind in COMPILED {
        timings.extend(optimised(program, kind)?.into_iter().flat_map(|(_, timings)| timings));
    }
    Ok(timings)
}

/// The handlers that compilers compile; init runs once.
const COMPILED: [HandlerKind; 2] = [HandlerKind::Push, HandlerKind::Pull];

fn each(text: impl Fn(HandlerKind) -> Result<Option<String>, Error>) -> Result<String, Error> {
    let texts = COMPILED.into_iter().map(text).collect::<Result<Vec<_>, _>>()?;
    Ok(texts.into_iter().flatten().collect())
}

fn optimised(program: &Verified, kind: HandlerKind) -> Result<Option<(Func, Vec<passes::Timing>)>, Error> {
    compiler::optimised(program, kind, &passes::Options::default()).map_err(too_large)
}

fn code(program: &Verified, kind: HandlerKind, stage: jit::Emit) -> Result<Option<String>, Error> {
    let Some((func, _)) = optimised(program, kind)? else { return Ok(None) };
    let refused = |error: jit::JitError| Error::Engine { engine: "jit", reason: error.to_string() };
    jit::emit(program, kind, &func, stage).map(Some).map_err(refused)
}

fn too_large(error: TooLarge) -> Error {
    Error::Engine { engine: "compiler", reason: error.to_string() }
}
