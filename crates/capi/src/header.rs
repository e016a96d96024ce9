//! `include/netvm.h`, made of the table of the interface (`abi.rs`).
//!
//! The test in `tests/header.rs` compares the result with the file in the repository, and writes
//! that file when the environment says `NETVM_BLESS=1`.

use crate::abi::{Constant, Function, Struct, Variable};
use crate::structures::STRUCTS;
use crate::{CONSTANTS, FUNCTIONS};
use std::fmt::Write;

const BEGIN: &str = r#"#ifndef NETVM_H
#define NETVM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header; that of the library is netvm_version(). */
"#;

const MIDDLE: &str = r"
/* The number of words that hold a bit for each of so many packets. */
#define NETVM_WORDS(count) (((size_t)(count) + 63) / 64)

/* A compiled filter. */
typedef struct netvm_filter netvm_filter;

/* A configuration of elements that runs. */
typedef struct netvm_application netvm_application;

/* Makes a unit of a coprocessor, for one program; null if it cannot. May be called by several threads. */
typedef void *(*netvm_unit_make)(void *context);

/* Takes initialised data, which is not kept; 0 if it is good, else a number that the program gets. */
typedef uint32_t (*netvm_unit_init)(void *unit, const uint8_t *data, size_t len);

/* Runs an operation by its place in the list. There are as many registers as the descriptor says. The packet is null if the program did
 * not show it. Returns 0, or what the program traps with: 1, the packet is needed; 2, a register holds what is of no use; 3, a table is
 * full; 4, the unit was not initialised. Other numbers are as 2. */
typedef int (*netvm_unit_invoke)(void *unit, uint32_t operation, uint32_t *registers, const uint8_t *packet, size_t len);

struct netvm_views;

/* The same of a unit that sees more than the packet; the views are there for the call. */
typedef int (*netvm_unit_invoke_views)(void *unit, uint32_t operation, uint32_t *registers, const struct netvm_views *views);

/* Frees a unit. */
typedef void (*netvm_unit_free)(void *unit);

/* Stages on threads. */
typedef struct netvm_pipeline netvm_pipeline;

/* What a stage or an input sends by, for the time of a call. */
typedef struct netvm_outlets netvm_outlets;

struct netvm_item;

/* Makes the unit of a replica, in the thread of the replica; null if it cannot. */
typedef void *(*netvm_stage_make)(void *context, uint32_t replica);

/* Works on packets, in order, and sends on what is to go on; what it does not forward ends there. The packets are there for the call. */
typedef void (*netvm_stage_run)(void *unit, struct netvm_item *items, size_t count, netvm_outlets *outlets);

/* Tells the flow of a packet; called by the threads that send. */
typedef uint64_t (*netvm_stage_flow)(void *context, const struct netvm_item *item);

/* An input: sends some packets and returns 1 if there are more, 0 if there are none at present (it is called again within about a
 * millisecond), -1 if there are none any more. */
typedef int (*netvm_input_run)(void *context, netvm_outlets *outlets);
";

const END: &str = r"
#ifdef __cplusplus
}
#endif

#endif
";

/// The text of `include/netvm.h`.
pub fn text() -> String {
    let mut out = comment("", &include_str!("netvm.h.txt").lines().collect::<Vec<_>>());
    out += BEGIN;
    let _ = writeln!(out, "#define NETVM_VERSION \"{}\"", env!("CARGO_PKG_VERSION"));
    out += &constants(CONSTANTS);
    out += MIDDLE;
    out.extend(STRUCTS.iter().map(structure));
    out.extend(FUNCTIONS.iter().map(function));
    out + END
}

fn constants(all: &[Constant]) -> String {
    let rows = all.iter().map(|c| format!("{}    {} = {},\n", comment("    ", c.docs), c.name, c.value));
    format!("\n/* What functions return that can fail. */\nenum {{\n{}}};\n", rows.collect::<String>())
}

fn structure(of: &Struct) -> String {
    let fields = of.fields.iter().map(|field| format!("{}    {};\n", comment("    ", field.docs), variable(field)));
    format!("\n{}typedef struct {} {{\n{}}} {};\n", comment("", of.docs), of.name, fields.collect::<String>(), of.name)
}

fn function(of: &Function) -> String {
    let arguments: Vec<_> = of.arguments.iter().map(variable).collect();
    let arguments = if arguments.is_empty() { "void".to_owned() } else { arguments.join(", ") };
    format!("\n{}{}{}({arguments});\n", comment("", of.docs), (of.result)(), of.name)
}

fn variable(of: &Variable) -> String {
    format!("{}{}", (of.of)(), of.name)
}

/// Lines, each of which begins with a space, as a comment; what is code in the documentation of
/// Rust has no marks in C.
fn comment(indent: &str, lines: &[&str]) -> String {
    let lines: Vec<_> = lines.iter().map(|line| line.trim_end().replace('`', "")).collect();
    format!("{indent}/*{} */\n", lines.join(&format!("\n{indent} *")))
}
