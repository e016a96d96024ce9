//! The assembler: NetIL source text to a [`Module`].
//!
//! Source is a sequence of tokens; as in the original, ends of lines only end comments. The one
//! exception is ours: in `ret n`, which stands for `push n` and `ret` (Fig. 2a of the NetVM paper),
//! the operand must be on `ret`'s line.
//!
//! One pass over the tokens builds the module and notes what may be declared later (labels, ports,
//! coprocessors, sets, places in data); a second resolves those notes. Constants (`equ`) are
//! defined before they are used in a declaration, as in the original. Errors are collected, at most
//! [`MAX_ERRORS`], and an error skips to the next line.
//!
//! Hostile text costs memory in proportion to its length and no deep recursion: expressions are
//! parsed with an explicit stack. The module is not verified here. The syntax is described in
//! `docs/netil.md`.

mod code;
mod error;
mod expr;
mod finish;
mod lex;
mod literal;
mod parse;
mod sets;
mod tables;

pub use error::{AsmError, AsmErrors, MAX_ERRORS, nearest};

use crate::module::Module;
use crate::table::{Op, TABLE};
use std::collections::HashMap;
use std::sync::OnceLock;

/// The longest source text, in bytes.
pub const MAX_SOURCE: usize = 32 << 20;
/// Stack elements of a handler that does not say `.maxstacksize`.
pub const DEFAULT_STACK: u32 = 64;
/// The most local variables that source can declare (the verifier allows fewer).
pub const MAX_LOCALS: u32 = 1 << 16;

/// Words that cannot be names unless they are quoted.
const RESERVED: [&str; 11] =
    ["segment", "ends", "equ", "db", "dw", "dd", "default", "push_input", "push_output", "pull_input", "pull_output"];

/// The module that the source describes. `file_name` is for messages and becomes
/// [`Module::source`].
///
/// # Errors
/// Everything that is wrong with the source, in its order.
///
/// ```
/// let module = netil::asm::assemble("segment .push\n pop\n ret 1\nends", "all.netil").unwrap();
/// assert_eq!(module.push.unwrap().code.len(), 3);
/// let errors = netil::asm::assemble("segment .push\n pup\n ret 1\nends", "all.netil").unwrap_err();
/// assert!(errors.to_string().contains("did you mean `pop`?"));
/// ```
pub fn assemble(source: &str, file_name: &str) -> Result<Module, AsmErrors> {
    let mut parser = parse::Parser::new(source, file_name);
    parser.source_text();
    parser.finish()
}

/// True if the name can be written without quotes.
pub(crate) fn is_bare(name: &str) -> bool {
    let mut chars = name.bytes();
    let first = chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == b'_');
    first && chars.all(|c| c.is_ascii_alphanumeric() || c == b'_') && !RESERVED.contains(&name)
}

fn mnemonic(name: &str) -> Option<Op> {
    static NAMES: OnceLock<HashMap<&'static str, Op>> = OnceLock::new();
    NAMES.get_or_init(|| TABLE.iter().map(|row| (row.mnemonic, row.op)).collect()).get(name).copied()
}

#[cfg(test)]
mod tests;
