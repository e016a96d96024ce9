//! What the keys and values of tables are made of, by the names that the class gives, for people.
//!
//! A key is the row of its scalars as numbers, the first most significant; in a value they lie as
//! in C, packed, each the least significant byte first. Types with more than [`MOST`] scalars have
//! no names.

use super::types::Type;
use netil::app::{Field, Form, Layout};

/// The most scalars of a type.
const MOST: usize = 64;

/// Of a table with such keys and values.
pub(super) fn layout(key: &Type, value: &Type) -> Layout {
    Layout { key: fields(key, "key"), value: fields(value, "value") }
}

/// The scalars of a type; none if there are too many. `name`: what a scalar is called that is no
/// member.
fn fields(of: &Type, name: &str) -> Vec<Field> {
    let mut found = Vec::new();
    let all = add(of, "", 0, &mut found) && found.len() <= MOST;
    found.iter_mut().filter(|field| field.name.is_empty() || field.name.starts_with('[')).for_each(|field| field.name.insert_str(0, name));
    if all { found } else { Vec::new() }
}

fn add(of: &Type, name: &str, at: u32, found: &mut Vec<Field>) -> bool {
    let form = match of {
        Type::Bool => Form::Number { signed: false },
        Type::Int { signed, .. } => Form::Number { signed: *signed },
        Type::Be(32) => Form::Address,
        Type::Be(_) => Form::Number { signed: false },
        Type::Mac => Form::Mac,
        Type::In6 => Form::Address6,
        Type::Struct(of) => {
            let named =
                |member: &str| if name.is_empty() || member.is_empty() { format!("{name}{member}") } else { format!("{name}.{member}") };
            let mut each = of.members.iter();
            return each.all(|it| found.len() <= MOST && add(&it.ctype, &named(&it.name), at + it.offset, found));
        }
        Type::Array(of, count) => {
            return (0..*count).all(|n| found.len() <= MOST && add(of, &format!("{name}[{n}]"), at + n * of.size(), found));
        }
        _ => return false,
    };
    found.push(Field { name: name.to_owned(), at, bytes: of.size(), form });
    true
}
