//! What the blocks of a program for psa_switch are told and tell.

use super::field::{FieldRef, Kind};
use super::json::{Node, Read};

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
