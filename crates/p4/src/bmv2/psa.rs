//! Files that p4c-bm2-psa makes for psa_switch: two parsers, controls and deparsers.
//!
//! What the switch tells them and what they tell the switch is in `psa_metadata`, PSA's externs are
//! in `psa_externs` and `psa_primitives`.
//!
//! The text is for `psa.p4` with numbers that are plain bits ([`INCLUDE`]), as the file has no
//! other types. What a block is told has the name that the file gives it.
//!
//! Left out: random numbers, and checksums other than InternetChecksum, of which p4c writes nothing
//! that could be run.
//!
//! Source: p4lang/p4c, backends/bmv2/psa_switch; p4lang/behavioral-model, targets/psa_switch.

use super::action::{self, Action, Statements};
use super::json::{Node, Read};
use super::layout::Layout;
use super::objects::Objects;
use super::pipeline::Pipelines;
use super::text::{Names, Text, origin};
use super::{by_name, parser};
use std::collections::HashMap;

/// The first lines: numbers of the switch are bits here.
pub(super) const INCLUDE: [&str; 2] = ["#define PSA_PLAIN_NUMBERS", "#include <psa.p4>"];

/// A block: what the file calls it, what it is called in the text, and its parameters besides
/// headers and metadata.
struct Block {
    name: &'static str,
    ident: &'static str,
    params: &'static str,
}

const PARSERS: [Block; 2] = [
    Block {
        name: "ingress_parser",
        ident: "IngressParserImpl",
        params: "packet_in packet, out hdr_t hdr, inout meta_t meta, in psa_ingress_parser_input_metadata_t psa_ingress_parser_input_metadata, \
            in none_t resubmitted, in none_t recirculated",
    },
    Block {
        name: "egress_parser",
        ident: "EgressParserImpl",
        params: "packet_in packet, out hdr_t hdr, inout meta_t meta, in psa_egress_parser_input_metadata_t psa_egress_parser_input_metadata, \
            in none_t normal, in none_t ingress_clone, in none_t egress_clone",
    },
];
const CONTROLS: [Block; 2] = [
    Block {
        name: "ingress",
        ident: "IngressImpl",
        params: "inout hdr_t hdr, inout meta_t meta, in psa_ingress_input_metadata_t psa_ingress_input_metadata, \
            inout psa_ingress_output_metadata_t psa_ingress_output_metadata",
    },
    Block {
        name: "egress",
        ident: "EgressImpl",
        params: "inout hdr_t hdr, inout meta_t meta, in psa_egress_input_metadata_t psa_egress_input_metadata, \
            inout psa_egress_output_metadata_t psa_egress_output_metadata",
    },
];
const DEPARSERS: [Block; 2] = [
    Block {
        name: "ingress_deparser",
        ident: "IngressDeparserImpl",
        params: "packet_out packet, out none_t cloned, out none_t resubmitted, out none_t normal, inout hdr_t hdr, in meta_t given, \
            in psa_ingress_output_metadata_t psa_ingress_output_metadata",
    },
    Block {
        name: "egress_deparser",
        ident: "EgressDeparserImpl",
        params: "packet_out packet, out none_t cloned, out none_t recirculated, inout hdr_t hdr, in meta_t given, \
            in psa_egress_output_metadata_t psa_egress_output_metadata, \
            in psa_egress_deparser_input_metadata_t psa_egress_deparser_input_metadata",
    },
];
const MAIN: [&str; 3] = [
    "IngressPipeline(IngressParserImpl(), IngressImpl(), IngressDeparserImpl()) ingress_pipeline;",
    "EgressPipeline(EgressParserImpl(), EgressImpl(), EgressDeparserImpl()) egress_pipeline;",
    "PSA_Switch(ingress_pipeline, PacketReplicationEngine(), egress_pipeline, BufferingQueueingEngine()) main;",
];

/// Writes the blocks of a program and puts them together.
pub(super) fn write<'a>(root: &Node<'a>, objects: &Objects<'a>, layout: &Layout, names: &mut Names, text: &mut Text) -> Read<()> {
    let actions: HashMap<u64, Action<'a>> = action::read(root)?;
    text.line("struct none_t { }");
    for block in &PARSERS {
        let node = by_name(root, "parsers", block.name)?;
        parser::write_one(&node, block.ident, block.params, objects, layout, &mut names.clone(), text)?;
    }
    let pipelines = Pipelines { objects, layout, actions: &actions };
    for block in &CONTROLS {
        pipelines.write(&by_name(root, "pipelines", block.name)?, block.ident, block.params, &mut names.clone(), text)?;
    }
    for block in &DEPARSERS {
        deparser(&by_name(root, "deparsers", block.name)?, block, objects, layout, text)?;
    }
    text.from(None);
    text.lines(&MAIN.map(str::to_owned));
    Ok(())
}

/// A deparser may change headers before it sends them; what it does to metadata nobody sees.
fn deparser<'a>(node: &Node<'a>, block: &Block, objects: &Objects<'a>, layout: &Layout, text: &mut Text) -> Read<()> {
    text.from(origin(node));
    text.line(&format!("control {}({}) {{", block.ident, block.params));
    text.line("apply {");
    text.line("meta_t meta = given;");
    let mut statements = Statements { objects, scope: objects.scope(layout, &[]) };
    for primitive in node.each("primitives")? {
        let lines = statements.primitive(primitive.need("op")?.text()?, &primitive)?;
        text.from(origin(&primitive));
        text.lines(&std::mem::take(&mut statements.scope.before));
        text.lines(&lines);
    }
    text.from(origin(node));
    parser::emitted(node, layout, text)?;
    text.line("}");
    text.line("}");
    Ok(())
}
