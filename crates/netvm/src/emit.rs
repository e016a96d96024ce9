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
    /// MIR after the first pass of that name.
    MirAfter(&'static str),
    /// MIR after the passes.
    MirOpt,
    /// Cranelift's IR.
    Clif,
    /// Machine code.
    Asm,
    /// MIR of a filter as it is run for many packets at once.
    Lanes,
    /// C, of a filter.
    C,
    /// C, of a whole configuration: [`crate::application::Application::standalone_text`].
    Standalone,
    /// What controllers of a P4 program need to know: [`crate::p4::p4info`].
    P4info,
    /// P4, of a program in BMv2's JSON: [`crate::p4::text`].
    P4,
}

impl Stage {
    /// Whether it is a way to code for many packets at once: [`crate::Compiled::many`] then says
    /// more than the program.
    pub fn treats_many(self) -> bool {
        matches!(self, Self::Lanes | Self::C)
    }
}

/// All stages with their names, first to last.
pub const ALL: &[(&str, Stage, &str)] = &[
    ("netil", Stage::Netil, "NetIL source"),
    ("mir", Stage::Mir, "the intermediate representation as translated"),
    ("mir-opt", Stage::MirOpt, "the same after all passes"),
    ("clif", Stage::Clif, "the code generator's input (Cranelift IR)"),
    ("asm", Stage::Asm, "machine code, disassembled"),
    ("mir-lanes", Stage::Lanes, "the same of a filter for many packets at once, as C is made of it"),
    ("c", Stage::C, "C11 for the system's compiler, of a filter"),
    ("standalone", Stage::Standalone, "a configuration of elements as one C program, for a C compiler alone"),
    ("p4info", Stage::P4info, "what P4Runtime controllers need to know of a P4 program, as protobuf text"),
    ("p4", Stage::P4, "of a program in BMv2's JSON, the P4 program that it is read as"),
];

/// What the stage with that name was called before; [`find`] knows it by that as well.
pub fn former(name: &str) -> Option<&'static str> {
    (name == "standalone").then_some("native")
}

/// The stage with that name, or that was called so before; `mir:PASS` is MIR after that pass.
pub fn find(name: &str) -> Option<Stage> {
    if let Some(pass) = name.strip_prefix("mir:") {
        return passes::ALL.iter().find(|p| p.name == pass).map(|p| Stage::MirAfter(p.name));
    }
    ALL.iter().find(|(n, ..)| *n == name || former(n) == Some(name)).map(|(_, stage, _)| *stage)
}

/// The program at a stage: all its handlers, one after the other.
///
/// # Errors
/// The program is too large to compile, or no filter and C is asked for.
pub fn emit(program: &Verified, stage: Stage) -> Result<String, Error> {
    emit_without(program, stage, &[])
}

/// The program at a stage, with passes left out, by their names.
///
/// # Errors
/// As [`emit`].
pub fn emit_without(program: &Verified, stage: Stage, disabled: &[String]) -> Result<String, Error> {
    let stop_after = if let Stage::MirAfter(pass) = stage { Some(pass.to_owned()) } else { None };
    let options = passes::Options { stop_after, disabled: disabled.to_vec(), ..passes::Options::default() };
    match stage {
        Stage::Netil => Ok(netil::disasm::disassemble(program.module())),
        Stage::Mir => each(|kind| Ok(translate(program, kind).map_err(too_large)?.map(|func| func.to_string()))),
        Stage::MirOpt | Stage::MirAfter(_) => each(|kind| Ok(optimised(program, kind, &options)?.map(|(func, _)| func.to_string()))),
        Stage::Clif => each(|kind| code(program, kind, &options, jit::Emit::Clif)),
        Stage::Asm => each(|kind| code(program, kind, &options, jit::Emit::Asm)),
        Stage::Lanes => lanes(program, &options),
        Stage::C => c(program, &options),
        Stage::Standalone => Err(refused("only configurations of elements become a standalone program".to_owned())),
        Stage::P4 => Err(refused("only programs in BMv2's JSON (.json) are made to P4".to_owned())),
        Stage::P4info => Err(refused("only P4 programs (.p4) have a P4Info".to_owned())),
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
    let all = passes::Options::default();
    let operations = |func: &Func| func.blocks.iter().map(|block| block.ops.len() + 1).sum::<usize>();
    for kind in COMPILED {
        let Some(handler) = program.module().handler(kind) else { continue };
        sizes.netil += handler.code.len();
        if let Some(func) = translate(program, kind).map_err(too_large)? {
            (sizes.mir, sizes.mir_blocks) = (sizes.mir + operations(&func), sizes.mir_blocks + func.blocks.len());
        }
        if let Some((func, _)) = optimised(program, kind, &all)? {
            sizes.optimised += operations(&func);
            sizes.optimised_blocks += func.blocks.len();
        }
        sizes.machine += code(program, kind, &all, jit::Emit::Asm)?.map_or(0, |text| instructions(&text));
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
        timings.extend(optimised(program, kind, &passes::Options::default())?.into_iter().flat_map(|(_, timings)| timings));
    }
    Ok(timings)
}

/// What the optimiser did with a handler.
pub struct Optimised {
    /// Which handler.
    pub handler: &'static str,
    /// What each pass did, in the order in which they ran.
    pub passes: Vec<passes::Explained>,
    /// How each set and switch that is left is tested, and why.
    pub tests: Vec<String>,
}

/// What the optimiser does with each handler, with passes left out by their names.
///
/// # Errors
/// The program is too large to compile.
pub fn explain(program: &Verified, disabled: &[String]) -> Result<Vec<Optimised>, Error> {
    let options = passes::Options { disabled: disabled.to_vec(), ..passes::Options::default() };
    let mut told = Vec::new();
    for kind in COMPILED {
        if let Some((func, passes)) = compiler::explained(program, kind, &options).map_err(too_large)? {
            told.push(Optimised { handler: kind.name(), passes, tests: passes::tests(&func, program.module()) });
        }
    }
    Ok(told)
}

/// The handlers that compilers compile; init runs once.
const COMPILED: [HandlerKind; 2] = [HandlerKind::Push, HandlerKind::Pull];

fn each(text: impl Fn(HandlerKind) -> Result<Option<String>, Error>) -> Result<String, Error> {
    let texts = COMPILED.into_iter().map(text).collect::<Result<Vec<_>, _>>()?;
    Ok(texts.into_iter().flatten().collect())
}

fn optimised(program: &Verified, kind: HandlerKind, options: &passes::Options) -> Result<Option<(Func, Vec<passes::Timing>)>, Error> {
    compiler::optimised(program, kind, options).map_err(too_large)
}

fn code(program: &Verified, kind: HandlerKind, options: &passes::Options, stage: jit::Emit) -> Result<Option<String>, Error> {
    let Some((func, _)) = optimised(program, kind, options)? else { return Ok(None) };
    let refused = |error: jit::JitError| Error::Engine { engine: "jit", reason: error.to_string() };
    jit::emit(program, kind, &func, stage).map(Some).map_err(refused)
}

fn c(program: &Verified, options: &passes::Options) -> Result<String, Error> {
    compiler::backends::c::emit(program, &filter(program, options)?).map_err(|e| refused(e.to_string()))
}

fn lanes(program: &Verified, options: &passes::Options) -> Result<String, Error> {
    let func = compiler::backends::c::for_lanes(program, &filter(program, options)?).map_err(|e| refused(e.to_string()))?;
    func.map(|func| func.to_string()).ok_or_else(|| refused("its shape is not for many packets at once".to_owned()))
}

/// The one handler that C is made of.
fn filter(program: &Verified, options: &passes::Options) -> Result<Func, Error> {
    let options = passes::Options { target: passes::Target::LANES, ..options.clone() };
    let push = optimised(program, HandlerKind::Push, &options)?;
    push.map(|(func, _)| func).ok_or_else(|| refused("no C for a program without push handler".to_owned()))
}

fn refused(reason: String) -> Error {
    Error::Engine { engine: "aot", reason }
}

fn too_large(error: TooLarge) -> Error {
    Error::Engine { engine: "compiler", reason: error.to_string() }
}
