//! C11 for a filter: readable, one file, for the system's compiler. It has the whole-burst function
//! in several forms, from which the loader takes what the processor can run:
//!
//! - `netvm_select_scalar`: one packet after the other;
//! - `netvm_select_avx512`, `netvm_select_avx2` (x86-64): many packets at once (`lanes.rs`), absent
//!   where the program's shape does not allow it;
//! - `netvm_select_any`: the same with lanes as arrays, slower than one by one; only for tests of
//!   the logic, with [`PLAIN`] defined.
//!
//! All take a `struct nv_burst` (see `prelude.c`) and set the bit of each selected packet. A trap
//! is a packet not selected, as in every engine's `select`. The text holds numbers and names of
//! ours, nothing that a program's author wrote.
//!
//! Fused elements have their own form, see [`fused`]; processors without an operating system
//! theirs, see [`freestanding`].
//!
//! Leaves out: pull handlers, values of more than 128 bits, and what other engines leave to the
//! runtime (checksums, hashes, scans): [`Unsupported`].

mod calls;
mod copies;
mod dispatch;
pub mod freestanding;
pub mod fused;
mod lanes;
mod lookups;
mod member;
pub mod quoted;
mod scalar;
mod sets;

use crate::mir::Func;
use crate::vector;
use netil::{Module, Verified};
use std::borrow::Cow;
use std::fmt;

/// The most operations and branches: compilers' time grows faster than these.
const MAX_SIZE: usize = 1 << 14;

/// What C cannot be made of, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported(pub String);

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no C for {}", self.0)
    }
}

impl std::error::Error for Unsupported {}

/// Defined for the preprocessor: no forms but those that any machine can run.
pub const PLAIN: &str = "NV_PLAIN";

/// The function for one packet after the other.
pub const SCALAR: &str = "netvm_select_scalar";

/// A way to treat many packets at once.
pub struct Lanes {
    /// Name for options and reports.
    pub name: &'static str,
    /// The function.
    pub function: &'static str,
    /// Packets at once.
    pub width: usize,
    /// Begins its names, in small letters and as macro.
    prefix: &'static str,
    attribute: &'static str,
    target: &'static str,
    /// When the preprocessor keeps it.
    condition: &'static str,
    prelude: &'static str,
}

/// All of them, the widest first.
pub const LANES: &[Lanes] = &[
    Lanes {
        name: "avx512",
        function: "netvm_select_avx512",
        width: 16,
        prefix: "nv512_",
        attribute: "NV512",
        target: "__attribute__((target(\"avx512f,avx512bw,avx512dq,avx512vl\"))) ",
        condition: "defined(__x86_64__) && !defined(NV_PLAIN)",
        prelude: include_str!("lanes_avx512.c"),
    },
    Lanes {
        name: "avx2",
        function: "netvm_select_avx2",
        width: 8,
        prefix: "nv256_",
        attribute: "NV256",
        target: "__attribute__((target(\"avx2\"))) ",
        condition: "defined(__x86_64__) && !defined(NV_PLAIN)",
        prelude: include_str!("lanes_avx2.c"),
    },
    Lanes {
        name: "any",
        function: "netvm_select_any",
        width: 8,
        prefix: "nvany_",
        attribute: "NVANY",
        target: "",
        condition: "defined(NV_PLAIN)",
        prelude: include_str!("lanes_any.c"),
    },
];

/// A filter as it is run for many packets at once; `None` where its shape does not allow that.
///
/// # Errors
/// The program does what C is not made for.
pub fn for_lanes(program: &Verified, func: &Func) -> Result<Option<Func>, Unsupported> {
    sets::Sets::new(&with_sets(program.module(), func), func)?;
    Ok(vector::for_lanes(func, program))
}

/// What a filter costs for as many packets as are treated at once, in operations; `None` where its
/// shape does not allow that. To compare forms of one filter with.
///
/// # Errors
/// As [`for_lanes`].
pub fn weight(program: &Verified, func: &Func) -> Result<Option<f64>, Unsupported> {
    sets::Sets::new(&with_sets(program.module(), func), func)?;
    Ok(vector::cost(program, func))
}

/// The module with the sets that passes made after its own, as they are numbered.
fn with_sets<'a>(module: &'a Module, func: &Func) -> Cow<'a, Module> {
    if func.sets.is_empty() {
        return Cow::Borrowed(module);
    }
    let mut module = module.clone();
    module.sets.extend_from_slice(&func.sets);
    Cow::Owned(module)
}

/// The C text of a filter.
///
/// # Errors
/// The program is no filter, or does what C is not made for.
pub fn emit(program: &Verified, func: &Func) -> Result<String, Unsupported> {
    if !program.is_filter() {
        return Err(Unsupported("a program that is no filter".to_owned()));
    }
    let size = func.blocks.iter().map(|b| b.ops.len() + b.end.edges().len()).sum::<usize>();
    if size > MAX_SIZE {
        return Err(Unsupported(format!("a program of {size} operations and branches; {MAX_SIZE} are the most")));
    }
    let module = with_sets(program.module(), func);
    let sets = sets::Sets::new(&module, func)?;
    let mut text = String::from("/* Made by netvm from a verified program. */\n");
    text += include_str!("values.c");
    text += include_str!("prelude.c");
    text += &sets.scalar();
    text += &scalar::emit(func, program.module())?;
    if let Some(body) = vector::for_lanes(func, program).and_then(|func| lanes::emit(&func, &module, &sets)) {
        text += &sets.for_lanes();
        for lanes in LANES {
            text += &format!("\n#if {}\n", lanes.condition);
            text += lanes.prelude;
            text += &body
                .replace("@LANES", lanes.attribute)
                .replace("@TARGET ", lanes.target)
                .replace("@FUNCTION", lanes.function)
                .replace('$', lanes.prefix);
            text += "#endif\n";
        }
    }
    Ok(text)
}
