//! A protobuf message as a tree of fields with numbers and names: from it comes the text format and
//! the wire format.
//!
//! Invariant: fields are written in the order of their numbers, those of one number in the order in
//! which they were added.
//!
//! Source: "Protocol Buffers" language guide (proto3), pages "Encoding" and "Text Format". Packed
//! fields are not written; readers take both forms.

use std::fmt::Write;

/// The value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Any integer or true; signed ones as two's complement.
    Int(i64),
    /// A flag.
    Bool(bool),
    /// A member of an enumeration, by name and number.
    Enum(&'static str, i64),
    /// Text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// Another message.
    Message(Message),
}

/// A message: number, name and value of each field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    fields: Vec<(u32, &'static str, Value)>,
}

impl Message {
    /// Adds a field.
    pub fn add(&mut self, number: u32, name: &'static str, value: Value) {
        self.fields.push((number, name, value));
    }

    /// Adds an integer unless it is 0, which is not written.
    pub fn int(&mut self, number: u32, name: &'static str, value: impl Into<i64>) {
        let value = value.into();
        if value != 0 {
            self.add(number, name, Value::Int(value));
        }
    }

    /// Adds a flag if it is true.
    pub fn flag(&mut self, number: u32, name: &'static str, value: bool) {
        if value {
            self.add(number, name, Value::Bool(true));
        }
    }

    /// Adds text unless it is empty.
    pub fn text(&mut self, number: u32, name: &'static str, value: impl Into<String>) {
        let value = value.into();
        if !value.is_empty() {
            self.add(number, name, Value::Text(value));
        }
    }

    /// Adds a message.
    pub fn message(&mut self, number: u32, name: &'static str, value: Self) {
        self.add(number, name, Value::Message(value));
    }

    /// The message with that one field.
    pub fn of(number: u32, name: &'static str, value: Value) -> Self {
        Self { fields: vec![(number, name, value)] }
    }

    /// Whether it has no fields.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    fn ordered(&self) -> Vec<&(u32, &'static str, Value)> {
        let mut fields: Vec<_> = self.fields.iter().collect();
        fields.sort_by_key(|field| field.0);
        fields
    }

    /// The text format.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        self.write_text(0, &mut out);
        out
    }

    fn write_text(&self, depth: usize, out: &mut String) {
        let indent = "  ".repeat(depth);
        for (_, name, value) in self.ordered() {
            // Writing to a string does not fail.
            let _ = match value {
                Value::Int(n) => writeln!(out, "{indent}{name}: {n}"),
                Value::Bool(b) => writeln!(out, "{indent}{name}: {b}"),
                Value::Enum(member, _) => writeln!(out, "{indent}{name}: {member}"),
                Value::Text(text) => writeln!(out, "{indent}{name}: \"{}\"", escaped(text.as_bytes())),
                Value::Bytes(bytes) => writeln!(out, "{indent}{name}: \"{}\"", escaped(bytes)),
                Value::Message(inner) => {
                    let _ = writeln!(out, "{indent}{name} {{");
                    inner.write_text(depth + 1, out);
                    writeln!(out, "{indent}}}")
                }
            };
        }
    }

    /// The wire format.
    #[must_use]
    pub fn to_wire(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for (number, _, value) in self.ordered() {
            let mut bytes = |content: &[u8]| {
                varint(u64::from(*number) << 3 | 2, &mut out);
                varint(content.len() as u64, &mut out);
                out.extend_from_slice(content);
            };
            match value {
                Value::Text(text) => bytes(text.as_bytes()),
                Value::Bytes(content) => bytes(content),
                Value::Message(inner) => bytes(&inner.to_wire()),
                Value::Int(n) | Value::Enum(_, n) => {
                    varint(u64::from(*number) << 3, &mut out);
                    varint(n.cast_unsigned(), &mut out);
                }
                Value::Bool(b) => {
                    varint(u64::from(*number) << 3, &mut out);
                    varint(u64::from(*b), &mut out);
                }
            }
        }
        out
    }
}

fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Bytes as they stand in a string of the text format.
fn escaped(bytes: &[u8]) -> String {
    let mut out = String::new();
    for byte in bytes {
        match byte {
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            b'"' => out.push_str("\\\""),
            b'\'' => out.push_str("\\'"),
            b'\\' => out.push_str("\\\\"),
            b' '..=b'~' => out.push(char::from(*byte)),
            other => {
                let _ = write!(out, "\\{other:03o}");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_in_the_order_of_their_numbers() {
        let mut message = Message::default();
        message.text(2, "name", "a\"b");
        message.int(1, "id", 300);
        message.int(3, "zero", 0);
        message.add(4, "value", Value::Bytes(vec![0, b'x', 255]));
        message.message(5, "inner", Message::of(1, "flag", Value::Bool(true)));
        assert_eq!(message.to_text(), "id: 300\nname: \"a\\\"b\"\nvalue: \"\\000x\\377\"\ninner {\n  flag: true\n}\n");
        assert_eq!(message.to_wire(), [8, 0xac, 2, 0x12, 3, b'a', b'"', b'b', 0x22, 3, 0, b'x', 255, 0x2a, 2, 8, 1]);
        let negative = Message::of(1, "n", Value::Int(-1)).to_wire();
        assert_eq!(negative, [8, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1]);
    }
}
