//! The types of arguments: what values a parameter has, as far as arguments go.

use crate::c;

/// What values a parameter has, as far as arguments go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// An integer.
    Integer {
        /// Its width.
        bits: u8,
        /// It may be negative.
        signed: bool,
    },
    /// A truth value.
    Bool,
    /// A field in network order, of so many bits.
    Big(u8),
    /// An Ethernet address.
    Mac,
    /// An IPv6 address.
    In6,
    /// An IPv4 address and mask.
    Prefix,
    /// An IPv6 address and mask.
    Prefix6,
    /// A string.
    Text,
}

impl Type {
    /// That of a C type; none if no argument can be of it.
    pub fn of(ctype: &c::Type) -> Option<Self> {
        Some(match ctype {
            c::Type::Bool => Self::Bool,
            c::Type::Int { bits, signed } => Self::Integer { bits: *bits, signed: *signed },
            c::Type::Be(bits) => Self::Big(*bits),
            c::Type::Mac => Self::Mac,
            c::Type::In6 => Self::In6,
            c::Type::Text => Self::Text,
            c::Type::Struct(of) if of.name == "ip_prefix" => Self::Prefix,
            c::Type::Struct(of) if of.name == "ip6_prefix" => Self::Prefix6,
            _ => return None,
        })
    }
}
