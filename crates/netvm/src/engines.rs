//! The engines there are.

use crate::Error;
use crate::auto::Auto;
use aot::code::Options;
use aot::{AotEngine, AotError};
use compiler::cluster::{self, LARGE};
use compiler::passes;
use jit::{JitEngine, JitError};
use netil::Engine;
use netil::{Interpreter, Verified};
use std::sync::Arc;

/// The variable of the environment that keeps compiled C out of the user's cache.
pub const NO_CACHE: &str = "NETVM_NO_CACHE";

/// How engines are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Compiled C is not kept in the user's cache. By default so if [`NO_CACHE`] is set and not
    /// empty.
    pub no_cache: bool,
    /// Bytes of tables from which linked elements fetch ahead what lookups read of them; with 0
    /// they always do, which is for tests.
    pub large: usize,
    /// Optimisations that are not made.
    pub without: Without,
}

/// Optimisations of elements that are left out, to see what they gain; results stay the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Without(u64);

/// Those that are no passes, by name, with what they do: of elements that are linked.
const LINKING: [(&str, &str); 3] = [
    ("slices", "several packets at once: keys of lookups in large tables are computed, and entries fetched, for packets that come next"),
    ("ports", "packets are sent by a port that a value names without a test for each port"),
    ("echoes", "bytes that a packet has already are not stored"),
];

impl Without {
    /// All names, with what the optimisations do.
    pub fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
        LINKING.into_iter().chain(passes::ALL.iter().map(|pass| (pass.name, pass.doc)))
    }

    /// Leaves that optimisation out, too; `None` if nothing has that name.
    #[must_use]
    pub fn and(self, name: &str) -> Option<Self> {
        Self::names().position(|(own, _)| own == name).map(|at| Self(self.0 | 1 << at))
    }

    fn has(self, name: &str) -> bool {
        self.and(name) == Some(self)
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self { no_cache: std::env::var_os(NO_CACHE).is_some_and(|value| !value.is_empty()), large: LARGE, without: Without::default() }
    }
}

impl Settings {
    pub(crate) fn options(self, form: Option<&'static str>) -> Options {
        Options { no_cache: self.no_cache, form }
    }

    pub(crate) fn cluster(self) -> cluster::Options {
        cluster::Options {
            prefetch_above: if self.without.has("slices") { usize::MAX } else { self.large },
            silent_stores: !self.without.has("echoes"),
            ..cluster::Options::default()
        }
    }

    pub(crate) fn passes(self) -> passes::Options {
        let disabled = passes::ALL.iter().map(|pass| pass.name).filter(|name| self.without.has(name)).map(str::to_owned).collect();
        let options = passes::Options { disabled, ..passes::Options::default() };
        let numbered_ports = if self.without.has("ports") { u32::MAX } else { options.target.numbered_ports };
        passes::Options { target: passes::Target { numbered_ports, ..options.target }, ..options }
    }
}

/// How much lighter code for many packets at once must be in an order that was made for one packet
/// after the other. Less may be chance.
const LIGHTER: f64 = 0.95;

/// A program as engines take it. A filter that a profile orders is two: the same verdicts, by terms
/// in the order that suits the engine.
#[derive(Clone)]
pub struct Programs {
    /// For code that treats one packet after the other.
    pub(crate) one: Arc<Verified>,
    /// For code that treats many packets at once; it uses the same of a burst.
    pub(crate) many: Arc<Verified>,
}

impl From<Arc<Verified>> for Programs {
    fn from(program: Arc<Verified>) -> Self {
        Self { one: Arc::clone(&program), many: program }
    }
}

impl Programs {
    /// A filter with its terms as they were written and as they are ordered for one packet after
    /// the other. For many at once, whose branches cost something else and whose fetches serve
    /// several terms, C tells which of both is lighter.
    pub(crate) fn ordered(written: Arc<Verified>, ordered: Arc<Verified>) -> Self {
        let keeps = written.module() != ordered.module() && written.uses() == ordered.uses();
        let lighter = |than: f64| aot::code::weight(&ordered).is_some_and(|weight| weight < LIGHTER * than);
        let keeps = keeps && aot::code::weight(&written).is_some_and(|weight| !lighter(weight));
        Self { many: if keeps { written } else { Arc::clone(&ordered) }, one: ordered }
    }

    /// What C is made of.
    fn ahead(&self, form: Option<&str>) -> &Arc<Verified> {
        if aot::code::treats_many(form) { &self.many } else { &self.one }
    }
}

type Make = fn(Programs, Settings) -> Result<Box<dyn Engine>, Error>;

/// How an engine runs the elements of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elements {
    /// One after the other, each in an engine of its own.
    Apart,
    /// Fused in machine code.
    MachineCode,
    /// Fused in compiled C, before the first packet; in machine code where there are no bursts.
    Fused,
    /// Fused in machine code first, and in compiled C when that is ready.
    FusedLater,
}

/// A way to run programs.
pub struct EngineInfo {
    /// The name in `--engine`.
    pub name: &'static str,
    /// What it is, in one line.
    pub description: &'static str,
    /// Whether it is ready within milliseconds: tests that make thousands of programs do so with
    /// quick engines.
    pub quick: bool,
    /// How it runs the elements of an application.
    pub elements: Elements,
    make: Make,
}

/// All of them, the reference first.
pub const ALL: &[EngineInfo] = &[
    EngineInfo {
        name: "interp",
        description: "the reference interpreter: slow, and the meaning of every program",
        quick: true,
        elements: Elements::Apart,
        make: interpreter,
    },
    EngineInfo {
        name: "jit",
        description: "machine code, made by Cranelift when the program starts",
        quick: true,
        elements: Elements::MachineCode,
        make: machine_code,
    },
    EngineInfo {
        name: "aot",
        description: "filters, and the elements of an application as one, compiled by the system's C compiler; kept in a cache",
        quick: false,
        elements: Elements::Fused,
        make: |p, s| ahead(p, s, None),
    },
];

/// The forms of code among which `aot` chooses, each by itself: for tests and measurements.
pub const FORMS: &[EngineInfo] = &[
    EngineInfo {
        name: "aot-scalar",
        description: "aot, one packet after the other",
        quick: false,
        elements: Elements::Apart,
        make: |p, s| ahead(p, s, Some("scalar")),
    },
    EngineInfo {
        name: "aot-any",
        description: "aot, eight packets at once on any machine",
        quick: false,
        elements: Elements::Apart,
        make: |p, s| ahead(p, s, Some("any")),
    },
    EngineInfo {
        name: "aot-avx2",
        description: "aot, eight packets at once with AVX2",
        quick: false,
        elements: Elements::Apart,
        make: |p, s| ahead(p, s, Some("avx2")),
    },
    EngineInfo {
        name: "aot-avx512",
        description: "aot, sixteen packets at once with AVX-512",
        quick: false,
        elements: Elements::Apart,
        make: |p, s| ahead(p, s, Some("avx512")),
    },
];

/// The engine that runs what nobody chose an engine for.
pub static AUTO: EngineInfo = EngineInfo {
    name: "auto",
    description: "jit (or interp for programs too large for it); for long inputs then aot, if there is a C compiler",
    quick: true,
    elements: Elements::FusedLater,
    make: automatic,
};

fn interpreter(programs: Programs, _: Settings) -> Result<Box<dyn Engine>, Error> {
    Ok(Box::new(Interpreter::new(programs.one)))
}

fn machine_code(programs: Programs, settings: Settings) -> Result<Box<dyn Engine>, Error> {
    let refused = |error: JitError| Error::Engine { engine: "jit", reason: error.to_string() };
    Ok(Box::new(JitEngine::with_options(programs.one, &settings.passes()).map_err(refused)?))
}

/// What is ready at once.
fn at_once(programs: Programs, settings: Settings) -> Result<Box<dyn Engine>, Error> {
    machine_code(programs.clone(), settings).or_else(|_| interpreter(programs, settings))
}

fn automatic(programs: Programs, settings: Settings) -> Result<Box<dyn Engine>, Error> {
    let compiled = Arc::clone(programs.ahead(None));
    let now = at_once(programs, settings)?;
    Ok(if compiled.is_filter() { Box::new(Auto::new(now, compiled, settings.options(None))) } else { now })
}

fn ahead(programs: Programs, settings: Settings, form: Option<&'static str>) -> Result<Box<dyn Engine>, Error> {
    let refused = |error: AotError| Error::Engine { engine: "aot", reason: error.to_string() };
    let compiled = Arc::clone(programs.ahead(form));
    Ok(Box::new(AotEngine::new(at_once(compiled.into(), settings)?, &settings.options(form)).map_err(refused)?))
}

impl EngineInfo {
    /// Makes a program ready to run.
    ///
    /// # Errors
    /// The program is valid but too large for this engine.
    pub fn make(&self, program: impl Into<Programs>, settings: Settings) -> Result<Box<dyn Engine>, Error> {
        (self.make)(program.into(), settings)
    }

    /// Makes the program of an element ready to run by itself in an application: compiled C is for
    /// elements together.
    ///
    /// # Errors
    /// As [`Self::make`].
    pub fn make_element(&self, program: impl Into<Programs>, settings: Settings) -> Result<Box<dyn Engine>, Error> {
        match self.elements {
            Elements::Apart | Elements::MachineCode => self.make(program, settings),
            Elements::Fused | Elements::FusedLater => machine_code(program.into(), settings),
        }
    }

    /// The engine for an application whose packets wait until it is ready: compiled C is then made
    /// beside the work.
    pub(crate) fn at_work(&'static self) -> &'static Self {
        if self.elements == Elements::Fused { &AUTO } else { self }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Filter;
    use runtime::io::LinkType;

    fn program(text: &str) -> Arc<Verified> {
        Filter::compile(text, LinkType::EN10MB, &ALL[0]).unwrap().program
    }

    #[test]
    fn code_for_many_packets_keeps_the_lighter_order() {
        let (particular, general) = ("ip src 10.3.3.3 and not tcp port 443", "not tcp port 443 and ip src 10.3.3.3");
        let keeps = |written: &str, ordered: &str| {
            let programs = Programs::ordered(program(written), program(ordered));
            assert_eq!(programs.one.module(), program(ordered).module());
            programs.many.module() == program(written).module()
        };
        assert!(!keeps(general, particular) && keeps(particular, general));
        // No lighter, only other.
        assert!(keeps("ip src 10.3.3.3", "ip src 10.3.3.4"));
        // A division is not for many at once; bursts for `tcp` have no lengths.
        assert!(!keeps("len / 3 = 100", "len / 3 = 200") && !keeps("tcp and len > 900", "tcp"));
    }

    #[test]
    fn what_is_left_out_has_a_name() {
        let all = Without::names().try_fold(Without::default(), |all, (name, _)| all.and(name)).unwrap();
        assert!(Without::names().all(|(name, _)| all.has(name) && !Without::default().has(name)));
        assert_eq!(Without::default().and("speed"), None);
        let settings = Settings { without: all, ..Settings::default() };
        assert_eq!((settings.passes().disabled.len(), settings.cluster().prefetch_above), (passes::ALL.len(), usize::MAX));
    }

    #[test]
    fn c_is_made_of_the_order_for_its_form() {
        let programs = Programs { one: program("tcp"), many: program("udp") };
        let of = |form| programs.ahead(Some(form));
        assert!(Arc::ptr_eq(of("any"), &programs.many) && Arc::ptr_eq(of("scalar"), &programs.one));
    }
}
