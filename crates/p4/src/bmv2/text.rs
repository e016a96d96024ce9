//! The P4 text that is written, with where each of its lines comes from; and names for what it
//! declares.

use super::json::Node;
use frontends::diagnostics::Origin;
use std::collections::HashSet;
use std::sync::Arc;

/// Lines, indented by the braces that are open.
#[derive(Default)]
pub(super) struct Text {
    pub out: String,
    /// From which byte on the text comes from there.
    pub origins: Vec<(u32, Option<Arc<Origin>>)>,
    depth: usize,
}

/// The most bytes that are written.
pub(super) const MAX_TEXT: usize = 32 << 20;

impl Text {
    /// What comes next is from there.
    pub fn from(&mut self, origin: Option<Arc<Origin>>) {
        self.origins.push((self.out.len() as u32, origin));
    }

    pub fn line(&mut self, line: &str) {
        if self.out.len() > MAX_TEXT {
            return;
        }
        self.depth = self.depth.saturating_sub(usize::from(line.starts_with('}')));
        self.out.extend(std::iter::repeat_n("    ", self.depth.min(40)));
        self.out += line;
        self.out.push('\n');
        self.depth += usize::from(line.ends_with('{'));
    }

    pub fn lines<'a>(&mut self, lines: impl IntoIterator<Item = &'a String>) {
        lines.into_iter().for_each(|line| self.line(line));
    }
}

/// Where something stands in the P4 program that the file was made of, if the file says so.
pub(super) fn origin(node: &Node<'_>) -> Option<Arc<Origin>> {
    let info = node.get("source_info")?;
    let number = |name: &str| info.get(name).and_then(|n| n.small(u32::MAX).ok());
    let file = info.get("filename")?.text().ok()?.to_owned();
    Some(Arc::new(Origin { file, line: number("line")?, column: number("column")? + 1 }))
}

/// Words that are no names.
const RESERVED: &str = "abstract action actions apply bit bool break const continue control default else entries enum error exit extern \
    false for header header_union if in inout int key list match_kind out package parser pragma priority return select state string struct \
    switch table this transition true tuple type typedef varbit valueset value_set verify void accept reject start \
    hdr meta standard_metadata packet main NoAction exact ternary lpm range optional selector \
    counter direct_counter meter direct_meter register action_profile action_selector random digest hash mark_to_drop clone clone3 \
    clone_preserving_field_list resubmit recirculate resubmit_preserving_field_list recirculate_preserving_field_list truncate assert assume log_msg \
    Checksum16 verify_checksum update_checksum verify_checksum_with_payload update_checksum_with_payload static_assert packet_in packet_out \
    standard_metadata_t CounterType MeterType HashAlgorithm CloneType Parser VerifyChecksum Ingress Egress ComputeChecksum Deparser V1Switch PortId_t \
    V1MODEL_VERSION V1MODEL_METER_COLOR_GREEN V1MODEL_METER_COLOR_YELLOW V1MODEL_METER_COLOR_RED hdr_t meta_t ParserImpl VerifyImpl ComputeImpl IngressImpl EgressImpl DeparserImpl IngressImplBody EgressImplBody go at again tmp \
    Counter DirectCounter Meter DirectMeter Register Hash Checksum InternetChecksum Random ActionProfile ActionSelector Digest \
    IngressParserImpl EgressParserImpl IngressDeparserImpl EgressDeparserImpl none_t given cloned resubmitted recirculated normal ingress_clone \
    egress_clone ingress_pipeline egress_pipeline IngressParser EgressParser IngressDeparser EgressDeparser IngressPipeline EgressPipeline PSA_Switch \
    PacketReplicationEngine BufferingQueueingEngine send_to_port multicast ingress_drop egress_drop \
    psa_ingress_parser_input_metadata psa_egress_parser_input_metadata psa_ingress_input_metadata psa_ingress_output_metadata \
    psa_egress_input_metadata psa_egress_output_metadata psa_egress_deparser_input_metadata \
    psa_ingress_parser_input_metadata_t psa_egress_parser_input_metadata_t psa_ingress_input_metadata_t \
    psa_ingress_output_metadata_t psa_egress_input_metadata_t \
    psa_egress_output_metadata_t psa_egress_deparser_input_metadata_t";

/// Names that are taken.
#[derive(Clone)]
pub(super) struct Names(HashSet<String>);

impl Default for Names {
    fn default() -> Self {
        Self(RESERVED.split_whitespace().map(str::to_owned).collect())
    }
}

impl Names {
    /// A name like that one, that is not taken.
    pub fn fresh(&mut self, like: &str) -> String {
        let plain: String = like.chars().take(200).map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let plain = if plain.starts_with(|c: char| c.is_ascii_digit()) || plain.is_empty() { format!("_{plain}") } else { plain };
        // A single underscore means that nothing is meant, and two in front are the macros'.
        let plain = if plain.starts_with("__") || plain == "_" { format!("x{plain}") } else { plain };
        let mut name = plain.clone();
        let mut n = 1u32;
        while !self.0.insert(name.clone()) {
            name = format!("{plain}_{n}");
            n += 1;
        }
        name
    }
}

/// A text between quotes.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out += "\\n",
            c => out.push(c),
        }
    }
    out + "\""
}

/// The annotation that gives something its name for the control plane.
pub(super) fn named(name: &str) -> String {
    format!("@name({})", quoted(&format!(".{name}")))
}
