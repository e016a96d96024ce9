//! The engines there are.

use crate::Error;
use crate::auto::Auto;
use aot::code::Options;
use aot::{AotEngine, AotError};
use compiler::Engine;
use jit::{JitEngine, JitError};
use netil::{Interpreter, Verified};
use std::sync::Arc;

/// The variable of the environment that keeps compiled C out of the user's cache.
pub const NO_CACHE: &str = "NETVM_NO_CACHE";

/// How engines are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Compiled C is not kept in the user's cache. By default so if [`NO_CACHE`] is set and not empty.
    pub no_cache: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { no_cache: std::env::var_os(NO_CACHE).is_some_and(|value| !value.is_empty()) }
    }
}

impl Settings {
    fn options(self, form: Option<&'static str>) -> Options {
        Options { no_cache: self.no_cache, form }
    }
}

type Make = fn(Arc<Verified>, Settings) -> Result<Box<dyn Engine>, Error>;

/// A way to run programs.
pub struct EngineInfo {
    /// The name in `--engine`.
    pub name: &'static str,
    /// What it is, in one line.
    pub description: &'static str,
    /// Whether it is ready within milliseconds: tests that make thousands of programs do so with quick engines.
    pub quick: bool,
    make: Make,
}

/// All of them, the reference first.
pub const ALL: &[EngineInfo] = &[
    EngineInfo {
        name: "interp",
        description: "the reference interpreter: slow, and the meaning of every program",
        quick: true,
        make: interpreter,
    },
    EngineInfo { name: "jit", description: "machine code, made by Cranelift when the program starts", quick: true, make: machine_code },
    EngineInfo {
        name: "aot",
        description: "filters compiled by the system's C compiler, kept in a cache",
        quick: false,
        make: |p, s| ahead(p, s, None),
    },
];

/// The forms of code among which `aot` chooses, each by itself: for tests and measurements.
pub const FORMS: &[EngineInfo] = &[
    EngineInfo {
        name: "aot-scalar",
        description: "aot, one packet after the other",
        quick: false,
        make: |p, s| ahead(p, s, Some("scalar")),
    },
    EngineInfo {
        name: "aot-any",
        description: "aot, eight packets at once on any machine",
        quick: false,
        make: |p, s| ahead(p, s, Some("any")),
    },
    EngineInfo {
        name: "aot-avx2",
        description: "aot, eight packets at once with AVX2",
        quick: false,
        make: |p, s| ahead(p, s, Some("avx2")),
    },
    EngineInfo {
        name: "aot-avx512",
        description: "aot, sixteen packets at once with AVX-512",
        quick: false,
        make: |p, s| ahead(p, s, Some("avx512")),
    },
];

/// The engine that runs what nobody chose an engine for.
pub static AUTO: EngineInfo = EngineInfo {
    name: "auto",
    description: "jit (or interp for programs too large for it); for long inputs then aot, if there is a C compiler",
    quick: true,
    make: automatic,
};

fn interpreter(program: Arc<Verified>, _: Settings) -> Result<Box<dyn Engine>, Error> {
    Ok(Box::new(Interpreter::new(program)))
}

fn machine_code(program: Arc<Verified>, _: Settings) -> Result<Box<dyn Engine>, Error> {
    let refused = |error: JitError| Error::Engine { engine: "jit", reason: error.to_string() };
    Ok(Box::new(JitEngine::new(program).map_err(refused)?))
}

/// What is ready at once.
fn at_once(program: Arc<Verified>, settings: Settings) -> Result<Box<dyn Engine>, Error> {
    machine_code(Arc::clone(&program), settings).or_else(|_| interpreter(program, settings))
}

fn automatic(program: Arc<Verified>, settings: Settings) -> Result<Box<dyn Engine>, Error> {
    let filter = program.is_filter();
    let now = at_once(program, settings)?;
    Ok(if filter { Box::new(Auto::new(now, settings.options(None))) } else { now })
}

fn ahead(program: Arc<Verified>, settings: Settings, form: Option<&'static str>) -> Result<Box<dyn Engine>, Error> {
    let refused = |error: AotError| Error::Engine { engine: "aot", reason: error.to_string() };
    Ok(Box::new(AotEngine::new(at_once(program, settings)?, &settings.options(form)).map_err(refused)?))
}

impl EngineInfo {
    /// Makes a program ready to run.
    ///
    /// # Errors
    /// The program is valid but too large for this engine.
    pub fn make(&self, program: Arc<Verified>, settings: Settings) -> Result<Box<dyn Engine>, Error> {
        (self.make)(program, settings)
    }
}

/// Those of [`FORMS`] that this machine can run: none without a C compiler.
pub fn forms() -> impl Iterator<Item = &'static EngineInfo> {
    let compiler = aot::build::Compiler::system().is_ok();
    FORMS.iter().filter(move |form| compiler && aot::code::has(form.name.trim_start_matches("aot-")))
}

/// The engine with that name, [`AUTO`] included.
pub fn find(name: &str) -> Option<&'static EngineInfo> {
    ALL.iter().chain(FORMS).chain([&AUTO]).find(|engine| engine.name == name)
}
