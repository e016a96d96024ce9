//! Click's names of link types.

use super::super::ElementError;
use crate::io::LinkType;

/// Click's names of encapsulations and what they are in captures.
const ENCAPSULATIONS: &[(&str, u32)] = &[
    ("ETHER", 1),
    ("IP", 101),
    ("FDDI", 10),
    ("ATM", 100),
    ("802_11", 105),
    ("SLL", 113),
    ("AIRONET", 120),
    ("HDLC", 104),
    ("PPP_HDLC", 50),
    ("PPP", 9),
    ("SUNATM", 123),
    ("PRISM", 119),
    ("NULL", 0),
];

/// The name of a link type.
pub(super) fn name(link: LinkType) -> String {
    ENCAPSULATIONS.iter().find(|(_, number)| *number == link.number()).map_or_else(|| link.to_string(), |(name, _)| (*name).to_owned())
}

/// The link type that ENCAP names.
///
/// # Errors
/// There is none of that name.
pub fn link_type(name: &str) -> Result<LinkType, ElementError> {
    let known = ENCAPSULATIONS.iter().find(|(known, _)| *known == name).map(|(_, number)| LinkType::from_file(*number));
    known.or_else(|| LinkType::from_name(name)).ok_or_else(|| ElementError::argument(format!("ENCAP '{name}' is not known")))
}
