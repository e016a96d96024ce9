//! Fields of packets as C: how they are read, and under which tests.

use super::formula::{Area, Field, Test};
use netil::fields::ip;

/// How many bytes of each area are known to be there.
pub(super) type Known = [u32; 3];

/// How many of a field's bytes are read: those behind the mask need not be there.
pub(super) fn read_width(test: &Test) -> u32 {
    let unused = (test.mask.trailing_zeros() / 8).min(test.field.bytes - 1);
    test.field.bytes - unused
}

/// A field of the IP header as C has it, in network order.
pub(super) fn member(field: Field) -> Option<String> {
    let known = ip::HEADER.field_at(field.offset, field.bytes).filter(|_| field.area == Area::Ip)?;
    Some(format!("ip->{}", known.name))
}

/// A field of the IP header as C reads it.
pub(super) fn header_field(field: Field) -> Option<String> {
    let member = member(field)?;
    Some(match field.bytes {
        1 => member,
        2 => format!("ntohs({member})"),
        _ => format!("ntohl({member})"),
    })
}

/// A number of the field as one of the bytes that are read.
pub(super) fn shifted(test: &Test, number: u32) -> u32 {
    if header_field(test.field).is_some() { number } else { number >> (8 * (test.field.bytes - read_width(test))) }
}

pub(super) fn has_bytes(test: &Test, known: Known) -> bool {
    known[test.field.area as usize] >= test.needs()
}

pub(super) fn has(area: Area, bytes: u32) -> String {
    format!("{} >= {bytes}", ["length", "header_length", "rest"][area as usize])
}

pub(super) fn output(number: i64) -> i64 {
    number.max(-1)
}

pub(super) fn constant(value: u32) -> String {
    if value < 10 { value.to_string() } else { format!("0x{value:x}") }
}
