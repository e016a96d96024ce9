//! How arguments are written: one file for each syntax, one line for each in [`SYNTAXES`].
//!
//! A syntax reads one argument, quotes taken away, into a value of its parameter's type, or says
//! what is wrong with it in words that follow the argument: "is not an IP address". What a syntax
//! looks like is Click's business; its sources are the manuals of its elements and of its argument
//! parsers.
//!
//! Invariant: text is hostile; reading takes time and memory linear in it.

mod address;
mod annotation;
mod bad_sources;
mod boolean;
pub mod configuration;
mod decimal;
mod declarations;
mod error;
mod ethernet;
mod integer;
pub(super) mod list;
pub mod names;
mod pattern;
mod place;
mod port;
mod prefix;
mod request;
mod rewrite;
mod rewriters;
mod routes;
mod strings;
mod text;
mod words;

pub use error::ArgumentError;
pub use names::{Names, Scope};

use super::argument_type::Type;
use crate::c::Value;

/// What an argument is read for.
pub struct Reading<'a> {
    /// The parameter's type.
    pub ty: &'a Type,
    /// The names that are known at this element.
    pub names: &'a Scope<'a>,
}

/// A way to write a value.
pub struct Syntax {
    /// Its name in `PARAM_AS`; lower case for those that go with a type.
    pub name: &'static str,
    read: fn(&str, &Reading<'_>) -> Result<Value, ArgumentError>,
}

/// All syntaxes of single arguments.
pub const SYNTAXES: &[Syntax] = &[
    Syntax { name: "integer", read: integer::read },
    Syntax { name: "HEX", read: integer::read_hex },
    Syntax { name: "ETHERTYPE", read: integer::read },
    Syntax { name: "bool", read: boolean::read },
    Syntax { name: "ip", read: address::read },
    Syntax { name: "ip6", read: address::read_ip6 },
    Syntax { name: "ethernet", read: ethernet::read },
    Syntax { name: "prefix", read: prefix::read },
    Syntax { name: "prefix6", read: prefix::read_ip6 },
    Syntax { name: "string", read: text::read },
    Syntax { name: "IPPORT", read: port::read },
    Syntax { name: "SECONDS", read: decimal::read_seconds },
    Syntax { name: "BANDWIDTH", read: decimal::read_bandwidth },
    Syntax { name: "FIXEDPOINT16", read: decimal::read_fixed16 },
    Syntax { name: "ANNO", read: annotation::read },
    Syntax { name: "IP_PROTOCOL", read: words::read_protocol },
    Syntax { name: "ICMP_TYPE", read: words::read_icmp_type },
    Syntax { name: "ICMP_CODE", read: words::read_icmp_code },
    Syntax { name: "VLAN_TCI", read: words::read_tag },
    Syntax { name: "IP_OR_ANNO", read: words::read_address },
    Syntax { name: "IP6_OR_ANNO", read: words::read_address6 },
    Syntax { name: "ADDRESS_ANNO", read: annotation::read_address },
    Syntax { name: "PACKET_TYPE", read: words::read_packet_type },
    Syntax { name: "ETHER_PLACE", read: words::read_ether_place },
    Syntax { name: "DSCP", read: words::read_dscp },
    Syntax { name: "ECT", read: words::read_ect },
    Syntax { name: "CONTENTS", read: words::read_contents },
    Syntax { name: crate::c::PRINTS_INTO, read: text::read },
];

impl Syntax {
    /// The one of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        SYNTAXES.iter().find(|syntax| syntax.name == name)
    }

    /// The one that goes with a type.
    pub fn of(ty: &Type) -> &'static Self {
        let name = match ty {
            Type::Bool => "bool",
            Type::Big(32) => "ip",
            Type::Integer { .. } | Type::Big(_) => "integer",
            Type::Mac => "ethernet",
            Type::In6 => "ip6",
            Type::Prefix => "prefix",
            Type::Prefix6 => "prefix6",
            Type::Text => "string",
        };
        Self::named(name).unwrap_or(&SYNTAXES[0])
    }

    /// Reads an argument.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(&self, text: &str, reading: &Reading<'_>) -> Result<Value, ArgumentError> {
        (self.read)(text, reading)
    }
}

/// A number as a value of a type, if it is in range.
pub(super) fn number(value: i128, ty: &Type) -> Result<Value, ArgumentError> {
    let (bits, signed) = match *ty {
        Type::Integer { bits, signed } => (u32::from(bits), signed),
        Type::Big(bits) => (u32::from(bits), false),
        Type::Bool => (1, false),
        _ => return Err(ArgumentError::new("is a number, which the parameter is not")),
    };
    let (least, most) = if signed { (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1) } else { (0, (1i128 << bits) - 1) };
    if !(least..=most).contains(&value) {
        return Err(ArgumentError::new(format!("is out of range, {least} to {most}")));
    }
    Ok(match ty {
        Type::Big(_) => Value::Bytes(value.to_be_bytes()[16 - bits as usize / 8..].to_vec()),
        _ => Value::Int(value as u64),
    })
}

#[cfg(test)]
mod tests;
