//! BMv2 JSON: what p4c-bm2-ss and its like make for simple_switch, written as a P4 program for
//! v1model that does the same; and what p4c-bm2-psa makes for psa_switch, for PSA. All that works
//! for P4 works for it.
//!
//! ```text
//! JSON ──json──▶ values with places ──layout, objects, parser, action, pipeline──▶ P4 text ──preprocess──▶ as any P4 program
//! ```
//!
//! - `expr`: numbers without bounds to numbers of a width
//! - `flow`: nodes that name their successors to statements
//!
//! What a file says of the program that it was made of (`source_info`) is told as the place of
//! statements.
//!
//! Left out: other architectures (pna_nic), externs of a program's own, value sets with several
//! masks, indices of stacks' last elements outside of the parser.
//!
//! Source: p4lang/behavioral-model, docs/JSON_format.md, version 2.24.

mod action;
mod expr;
mod field;
mod flow;
mod json;
mod layout;
mod objects;
mod parser;
mod pipeline;
mod psa;
mod psa_externs;
mod psa_metadata;
mod psa_primitives;
mod text;

use crate::ast::Annotation;
use crate::lexer::Tok;
use frontends::diagnostics::{Diagnostic, Origin, Sources, Span};
use json::{Node, Read, Wrong};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use text::{MAX_TEXT, Names, Text};

/// The annotation of keys and value sets in which only some bits of entries count.
pub(crate) const MASK: &str = "bmv2_mask";

/// Those bits, as the text of a program says them.
fn counted(mask: &num_bigint::BigInt) -> String {
    format!(" @{MASK}({mask:#x})")
}

/// Those bits, from the annotations.
pub(crate) fn mask_of(notes: &[Annotation]) -> Option<num_bigint::BigInt> {
    let note = notes.iter().find(|note| &*note.name == MASK)?;
    note.tokens.iter().find_map(|token| if let Tok::Number(number) = &token.tok { Some(number.value.clone()) } else { None })
}

/// The major version of the format.
const VERSION: u64 = 2;

/// A program that was made of a file.
pub(crate) struct Made {
    /// What it is called.
    pub name: PathBuf,
    pub text: String,
    /// Where its parts come from.
    pub origins: Vec<(u32, Option<Arc<Origin>>)>,
}

/// Whether a file is such a program by its name.
pub(crate) fn is_json(name: &Path) -> bool {
    name.extension().is_some_and(|e| e.eq_ignore_ascii_case("json"))
}

/// Makes a P4 program of a file's text.
pub(crate) fn translate(name: &Path, text: &str) -> Result<Made, (Sources, Diagnostic)> {
    let refused = |span: Span, message: String| (Sources::of(name.display().to_string(), text), Diagnostic::new(span, message));
    let value: serde_json::Value =
        serde_json::from_str(text).map_err(|error| refused(at(text, &error), format!("this is no JSON: {error}")))?;
    let made = program(&Node::root(&value)).map_err(|wrong: Box<Wrong>| refused(json::locate(text, &wrong.way), wrong.to_string()))?;
    if made.out.len() > MAX_TEXT {
        return Err(refused(Span::default(), format!("as a P4 program this would have more than {MAX_TEXT} bytes")));
    }
    Ok(Made { name: format!("{} as P4", name.display()).into(), text: made.out, origins: made.origins })
}

/// Where an error of the syntax is.
fn at(text: &str, error: &serde_json::Error) -> Span {
    let before: usize = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let start = (before + error.column().saturating_sub(1)).min(text.len());
    Span { start: start as u32, end: start as u32 + 1 }
}

fn program(root: &Node<'_>) -> Read<Text> {
    if !root.is_object() || root.get("header_types").is_none() && root.get("pipelines").is_none() {
        return root.wrong("this is no program for BMv2: it has no `header_types` and no `pipelines`");
    }
    version(root)?;
    let (mut text, mut names) = (Text::default(), Names::default());
    let layout = layout::Layout::read(root, &mut names)?;
    if layout.is_psa {
        text.lines(&psa::INCLUDE.map(str::to_owned));
    } else {
        text.line("#include <v1model.p4>");
    }
    layout.declare(&mut text);
    let objects = objects::Objects::read(root, &layout, &mut names, &mut text)?;
    if layout.is_psa {
        psa::write(root, &objects, &layout, &mut names, &mut text)?;
        return Ok(text);
    }
    let actions = action::read(root)?;
    parser::write(root, &objects, &layout, &mut names, &mut text)?;
    for (ident, verify) in [("VerifyImpl", true), ("ComputeImpl", false)] {
        text.line(&format!("control {ident}(inout hdr_t hdr, inout meta_t meta) {{"));
        text.line("apply {");
        objects::checksums(root, &objects, &layout, verify, &mut text)?;
        text.line("}");
        text.line("}");
    }
    let pipelines = pipeline::Pipelines { objects: &objects, layout: &layout, actions: &actions };
    for (name, ident) in [("ingress", "IngressImpl"), ("egress", pipeline::EGRESS)] {
        pipelines.write(&by_name(root, "pipelines", name)?, ident, pipeline::PARAMETERS, &mut names, &mut text)?;
    }
    parser::deparser(root, &objects, &layout, &mut text)?;
    text.from(None);
    text.line("V1Switch(ParserImpl(), VerifyImpl(), IngressImpl(), EgressImpl(), ComputeImpl(), DeparserImpl()) main;");
    Ok(text)
}

/// A file of another major version means other things.
fn version(root: &Node<'_>) -> Read<()> {
    let Some(version) = root.get("__meta__").and_then(|meta| meta.get("version")) else { return Ok(()) };
    match version.list()?.first().map_or(Ok(VERSION), |major| major.number())? {
        VERSION => Ok(()),
        other => version.wrong(format!("version {other} of the format is not supported, which is {VERSION} here")),
    }
}

/// A pipeline, a parser or a deparser by its name.
fn by_name<'a>(root: &Node<'a>, kind: &str, wanted: &str) -> Read<Node<'a>> {
    let all = root.need(kind)?;
    for node in all.list()? {
        if node.need("name")?.text()? == wanted {
            return Ok(node);
        }
    }
    let what = kind.trim_end_matches('s');
    all.wrong(format!("there is no {what} `{wanted}`, as programs for simple_switch and psa_switch have it"))
}
