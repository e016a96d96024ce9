//! Files that p4c-bm2-psa makes for psa_switch: two parsers, controls and deparsers, what the
//! switch tells them and what they tell the switch, and PSA's externs.
//!
//! The text is for `psa.p4` with numbers that are plain bits ([`INCLUDE`]), as the file has no
//! other types. What a block is told has the name that the file gives it.
//!
//! Left out: random numbers, and checksums other than InternetChecksum, of which p4c writes nothing
//! that could be run.
//!
//! Source: p4lang/p4c, backends/bmv2/psa_switch; p4lang/behavioral-model, targets/psa_switch.

use super::action::{self, Action, Statements};
use super::expr::literal;
use super::json::{Node, Read};
use super::layout::{FieldRef, Kind, Layout};
use super::objects::Objects;
use super::pipeline::Pipelines;
use super::text::{Names, Text, named, origin};
use super::{by_name, parser};
use std::collections::HashMap;

/// The first lines: numbers of the switch are bits here.
pub(super) const INCLUDE: [&str; 2] = ["#define PSA_PLAIN_NUMBERS", "#include <psa.p4>"];

const PORT: Kind = Kind::Bits(32);
const FLAG: Kind = Kind::Bits(1);
const PATH: Kind = Kind::Bits(32);
const SESSION: Kind = Kind::Bits(16);
const CLASS: Kind = Kind::Bits(8);
const TIME: Kind = Kind::Bits(64);

/// What blocks are told and tell: its names in the file, and what its fields hold.
const OWN: &[(&str, &[(&str, Kind)])] = &[
    ("psa_ingress_parser_input_metadata", &[("ingress_port", PORT), ("packet_path", PATH)]),
    ("psa_egress_parser_input_metadata", &[("egress_port", PORT), ("packet_path", PATH)]),
    (
        "psa_ingress_input_metadata",
        &[("ingress_port", PORT), ("packet_path", PATH), ("ingress_timestamp", TIME), ("parser_error", Kind::Error)],
    ),
    (
        "psa_ingress_output_metadata",
        &[
            ("class_of_service", CLASS),
            ("clone", FLAG),
            ("clone_session_id", SESSION),
            ("drop", FLAG),
            ("resubmit", FLAG),
            ("multicast_group", Kind::Bits(32)),
            ("egress_port", PORT),
        ],
    ),
    (
        "psa_egress_input_metadata",
        &[
            ("class_of_service", CLASS),
            ("egress_port", PORT),
            ("packet_path", PATH),
            ("instance", Kind::Bits(16)),
            ("egress_timestamp", TIME),
            ("parser_error", Kind::Error),
        ],
    ),
    ("psa_egress_deparser_input_metadata", &[("egress_port", PORT)]),
    ("psa_egress_output_metadata", &[("clone", FLAG), ("clone_session_id", SESSION), ("drop", FLAG)]),
];

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

/// Whether a file is for psa_switch.
pub(super) fn is_psa(root: &Node<'_>) -> Read<bool> {
    Ok(root.each("headers")?.iter().any(|node| node.get("name").is_some_and(|name| name.text().is_ok_and(|name| name == OWN[0].0))))
}

/// Whether a header is what a block is told or tells.
pub(super) fn is_own(name: &str) -> bool {
    OWN.iter().any(|(own, _)| *own == name)
}

/// A field of what a block is told or tells.
pub(super) fn field(header: &str, field: &str) -> Option<FieldRef> {
    let (_, fields) = OWN.iter().find(|(own, _)| *own == header)?;
    let (name, kind) = fields.iter().find(|(name, _)| *name == field)?;
    let text = format!("{header}.{name}");
    // Paths are an enumeration whose members have those numbers.
    Some(FieldRef { text: if *name == "packet_path" { format!("(bit<32>){text}") } else { text }, kind: *kind })
}

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

/// Instances of externs: those that the file has besides arrays.
#[derive(Default)]
pub(super) struct Externs {
    /// By name: the class, how it is called, and of hashes the width that is wanted where it is
    /// used.
    all: HashMap<String, (String, String)>,
}

fn attribute<'a>(node: &Node<'a>, wanted: &str) -> Read<Node<'a>> {
    for attribute in node.each("attribute_values")? {
        if attribute.need("name")?.text()? == wanted {
            return attribute.need("value");
        }
    }
    node.wrong(format!("it has no `{wanted}`"))
}

pub(super) fn algorithm(node: &Node<'_>) -> Read<&'static str> {
    match node.text()? {
        "crc16" => Ok("PSA_HashAlgorithm_t.CRC16"),
        "crc16_custom" => Ok("PSA_HashAlgorithm_t.CRC16_CUSTOM"),
        "crc32" => Ok("PSA_HashAlgorithm_t.CRC32"),
        "crc32_custom" => Ok("PSA_HashAlgorithm_t.CRC32_CUSTOM"),
        "identity" => Ok("PSA_HashAlgorithm_t.IDENTITY"),
        "csum16" => Ok("PSA_HashAlgorithm_t.ONES_COMPLEMENT16"),
        other => node.wrong(format!("the algorithm `{other}` is not supported")),
    }
}

impl Externs {
    /// Declares them; hashes have results of 32 bits, of which those that are wanted are taken.
    pub fn read(root: &Node<'_>, names: &mut Names, text: &mut Text) -> Read<Self> {
        let mut all = HashMap::new();
        for node in root.each("extern_instances")? {
            let (name, class) = (node.need("name")?.text()?, node.need("type")?);
            let made = match class.text()? {
                // Declared with the arrays.
                "Counter" | "DirectCounter" => continue,
                "Meter" => {
                    let kind = if attribute(&node, "type")?.text()? == "bytes" { "BYTES" } else { "PACKETS" };
                    format!("Meter<bit<32>>(32w{}, PSA_MeterType_t.{kind})", attribute(&node, "n_meters")?.hex()?)
                }
                "InternetChecksum" => "InternetChecksum()".to_owned(),
                "Hash" => format!("Hash<bit<32>>({})", algorithm(&attribute(&node, "algo")?)?),
                other => return class.wrong(format!("`{other}` is no extern of PSA that can be read from a file")),
            };
            let ident = names.fresh(name);
            text.from(origin(&node));
            text.line(&format!("{} {made} {ident};", named(name)));
            all.insert(name.to_owned(), (class.text()?.to_owned(), ident));
        }
        Ok(Self { all })
    }

    fn find(&self, node: &Node<'_>, class: &str) -> Read<&str> {
        let name = node.need("value")?;
        match self.all.get(name.text()?) {
            Some((is, ident)) if is == class => Ok(ident),
            _ => name.wrong(format!("no {class} is called `{}`", name.text()?)),
        }
    }
}

/// The values of a field list, as one.
fn list<'a>(statements: &mut Statements<'_, 'a>, node: &Node<'a>) -> Read<String> {
    let mut all = Vec::new();
    let given = node.need("value")?;
    // One that is alone is no list.
    for value in if given.is_object() { vec![given] } else { given.list()? } {
        all.push(match statements.scope.place(&value)? {
            Some(place) => place.text,
            None if value.need("type")?.text()? == "header" => statements.scope.header(&value)?.0,
            None if value.need("type")?.text()? == "hexstr" => {
                let width = value.need("bitwidth")?.small(u32::from(netil::wide::MAX_WIDTH))?.max(1);
                literal(&value.need("value")?.hex()?, width.into())
            }
            None => statements.scope.exact(&value)?.0,
        });
    }
    Ok(format!("{{ {} }}", all.join(", ")))
}

impl<'a> Statements<'_, 'a> {
    /// Statements for a primitive of PSA's; `None` for others.
    pub(super) fn portable(&mut self, op: &str, args: &[Node<'a>]) -> Read<Option<Vec<String>>> {
        let externs = &self.objects.externs;
        let line = match (op, args) {
            ("_Counter_count", [counter, index]) => {
                let name = counter.need("value")?;
                let Some(ident) = self.objects.counters.get(name.text()?) else { return name.wrong("no counter has this name") };
                format!("{ident}.count({});", self.scope.modulo(index, 32)?)
            }
            ("_Meter_execute", [meter, index, to @ ..]) => {
                let call = format!("{}.execute({})", externs.find(meter, "Meter")?, self.scope.modulo(index, 32)?);
                match to.first() {
                    Some(to) => return self.gets(to, &format!("(bit<32>){call}"), 32).map(Some),
                    None => format!("{call};"),
                }
            }
            ("_Hash_get_hash", [hash, to, data]) => {
                let (ident, data) = (externs.find(hash, "Hash")?, list(self, data)?);
                return self.gets(to, &format!("{ident}.get_hash({data})"), 32).map(Some);
            }
            ("_Hash_get_hash_mod", [hash, to, base, data, most]) => {
                let (ident, data) = (externs.find(hash, "Hash")?, list(self, data)?);
                let (base, most) = (self.scope.modulo(base, 32)?, self.scope.modulo(most, 32)?);
                return self.gets(to, &format!("{ident}.get_hash({base}, {data}, {most})"), 32).map(Some);
            }
            ("_InternetChecksum_clear", [sum]) => format!("{}.clear();", externs.find(sum, "InternetChecksum")?),
            ("_InternetChecksum_add" | "_InternetChecksum_subtract", [sum, data]) => {
                let (ident, data) = (externs.find(sum, "InternetChecksum")?, list(self, data)?);
                format!("{ident}.{}({data});", op.trim_start_matches("_InternetChecksum_"))
            }
            ("_InternetChecksum_get" | "_InternetChecksum_get_state", [sum, to]) => {
                let call = format!("{}.{}()", externs.find(sum, "InternetChecksum")?, op.trim_start_matches("_InternetChecksum_"));
                return self.gets(to, &call, 16).map(Some);
            }
            ("_InternetChecksum_set_state", [sum, value]) => {
                format!("{}.set_state({});", externs.find(sum, "InternetChecksum")?, self.scope.modulo(value, 16)?)
            }
            ("_InternetChecksum_get_verify", [sum, to, value]) => {
                let call = format!("{}.get()", externs.find(sum, "InternetChecksum")?);
                let equal = format!("(bit<1>)({call} == {})", self.scope.modulo(value, 16)?);
                return self.gets(to, &equal, 1).map(Some);
            }
            ("generate_digest", [list]) => {
                let id = list.need("value")?;
                let number = u64::try_from(id.hex()?).ok();
                let Some((ident, fields)) = number.and_then(|n| self.objects.digests.get(&n)) else {
                    return id.wrong("no learn list has this number");
                };
                let values: Vec<String> = fields.iter().map(|field| self.scope.layout.field(field).map(|f| f.text)).collect::<Read<_>>()?;
                format!("{ident}_digest.pack({{ {} }});", values.join(", "))
            }
            _ => return Ok(None),
        };
        Ok(Some(vec![line]))
    }

    /// A field gets a value of that many bits.
    fn gets(&mut self, to: &Node<'_>, value: &str, width: u32) -> Read<Vec<String>> {
        let target = self.target(to)?;
        let (bits, sign) = match target.kind {
            Kind::Bits(bits) => (bits, String::new()),
            Kind::Signed(bits) => (bits, format!("(int<{bits}>)")),
            _ => return to.wrong("this field has no fixed width"),
        };
        let temp = self.scope.temp();
        Ok(vec![format!("bit<{width}> {temp} = {value};"), format!("{} = {sign}(bit<{bits}>){temp};", target.text)])
    }
}
