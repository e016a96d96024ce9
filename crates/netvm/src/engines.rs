//! The engines there are.

use crate::Error;
use compiler::Engine;
use jit::{JitEngine, JitError};
use netil::{Interpreter, Verified};
use std::sync::Arc;

type Make = fn(Arc<Verified>) -> Result<Box<dyn Engine>, Error>;

/// A way to run programs.
pub struct EngineInfo {
    /// The name in `--engine`.
    pub name: &'static str,
    /// What it is, in one line.
    pub description: &'static str,
    make: Make,
}

/// All of them, the reference first.
pub const ALL: &[EngineInfo] = &[
    EngineInfo { name: "interp", description: "the reference interpreter: slow, and the meaning of every program", make: interpreter },
    EngineInfo { name: "jit", description: "machine code, made by Cranelift when the program starts", make: machine_code },
];

/// The engine that runs what nobody chose an engine for.
pub static AUTO: EngineInfo = EngineInfo { name: "auto", description: "jit, or interp for programs too large for it", make: automatic };

fn interpreter(program: Arc<Verified>) -> Result<Box<dyn Engine>, Error> {
    Ok(Box::new(Interpreter::new(program)))
}

fn machine_code(program: Arc<Verified>) -> Result<Box<dyn Engine>, Error> {
    let refused = |error: JitError| Error::Engine { engine: "jit", reason: error.to_string() };
    Ok(Box::new(JitEngine::new(program).map_err(refused)?))
}

fn automatic(program: Arc<Verified>) -> Result<Box<dyn Engine>, Error> {
    machine_code(Arc::clone(&program)).or_else(|_| interpreter(program))
}

impl EngineInfo {
    /// Makes a program ready to run.
    ///
    /// # Errors
    /// The program is valid but too large for this engine.
    pub fn make(&self, program: Arc<Verified>) -> Result<Box<dyn Engine>, Error> {
        (self.make)(program)
    }
}

/// The engine with that name, [`AUTO`] included.
pub fn find(name: &str) -> Option<&'static EngineInfo> {
    ALL.iter().chain([&AUTO]).find(|engine| engine.name == name)
}
