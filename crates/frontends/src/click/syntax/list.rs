//! Lists of values of one type, as C arrays.

use super::request::{Generated, Request};
use super::{ArgumentError, Reading, Syntax};
use crate::c::Value;
use crate::click::argument_type::Type;
use crate::click::config::unquote;
use std::fmt::Write as _;

/// Writes `static const TYPE NAME[]` and `enum { NAME_count }` of the arguments.
pub(super) fn write(request: &Request<'_>) -> Result<Generated, Vec<ArgumentError>> {
    let ty = request.ty.ok_or_else(|| vec![ArgumentError::new("a list has a type")])?;
    source(request, ty, &values(request, ty)?)
}

/// Writes an array of numbers that rise, one for each output but the last.
pub(super) fn rising(request: &Request<'_>) -> Result<Generated, Vec<ArgumentError>> {
    let ty = Type::Integer { bits: 32, signed: false };
    rises(request, &ty, Syntax::of(&ty))
}

/// Writes an array of bandwidths that rise, in bytes a second, one for each output but the last.
pub(super) fn rising_bandwidths(request: &Request<'_>) -> Result<Generated, Vec<ArgumentError>> {
    let bandwidth = Syntax::named("BANDWIDTH").ok_or_else(|| vec![ArgumentError::new("there are no bandwidths")])?;
    rises(request, &Type::Integer { bits: 64, signed: false }, bandwidth)
}

fn rises(request: &Request<'_>, ty: &Type, syntax: &Syntax) -> Result<Generated, Vec<ArgumentError>> {
    let values = read(request, ty, syntax)?;
    let falls = |pair: &[(&Value, &String)]| matches!((pair[0].0, pair[1].0), (Value::Int(one), Value::Int(next)) if next <= one);
    let all: Vec<_> = values.iter().zip(request.arguments).collect();
    let below = |pair: &[(&Value, &String)]| ArgumentError::new(format!("`{}` is not above `{}` before it", pair[1].1, pair[0].1));
    let mut faults: Vec<ArgumentError> = all.windows(2).filter(|pair| falls(pair)).map(below).collect();
    if values.len() + 1 != request.outputs as usize {
        let what = format!("{} numbers for {} outputs: each but the last needs one", values.len(), request.outputs);
        faults.push(ArgumentError::new(what));
    }
    if faults.is_empty() { source(request, ty, &values) } else { Err(faults) }
}

fn values(request: &Request<'_>, ty: &Type) -> Result<Vec<Value>, Vec<ArgumentError>> {
    read(request, ty, Syntax::of(ty))
}

fn read(request: &Request<'_>, ty: &Type, syntax: &Syntax) -> Result<Vec<Value>, Vec<ArgumentError>> {
    request.each(|_, argument| {
        let bytes = unquote(argument);
        let text = String::from_utf8_lossy(&bytes);
        syntax.read(&text, &Reading { ty, names: &request.names })
    })
}

fn source(request: &Request<'_>, ty: &Type, values: &[Value]) -> Result<Generated, Vec<ArgumentError>> {
    array(request.name, ty, values).map(Generated::source).map_err(|wrong| vec![wrong])
}

/// An array of values; one zero stands in an empty one, since C has none without elements.
pub(in crate::click) fn array(name: &str, ty: &Type, values: &[Value]) -> Result<String, ArgumentError> {
    let (c, zero) = c_type(ty).ok_or("there are no lists of this type")?;
    let mut text = format!("enum {{ {name}_count = {} }};\nstatic const {c} {name}[] = {{\n", values.len());
    for value in values {
        let _ = writeln!(text, "    {},", initialiser(ty, value));
    }
    if values.is_empty() {
        let _ = writeln!(text, "    {zero},");
    }
    Ok(text + "};\n")
}

/// A type's name and a zero of it.
fn c_type(ty: &Type) -> Option<(String, &'static str)> {
    Some(match ty {
        Type::Integer { bits, signed } => (format!("{}{bits}", if *signed { 'i' } else { 'u' }), "0"),
        Type::Bool => ("bool".to_owned(), "false"),
        Type::Big(16) => ("be16".to_owned(), "htons(0)"),
        Type::Big(32) => ("be32".to_owned(), "htonl(0)"),
        Type::Big(bits) => (format!("be{bits}"), "htonll(0)"),
        Type::Mac => ("mac_t".to_owned(), "{ { 0 } }"),
        Type::In6 => ("in6_t".to_owned(), "{ { 0 } }"),
        Type::Prefix => ("struct ip_prefix".to_owned(), "{ htonl(0), htonl(0) }"),
        Type::Prefix6 => ("struct ip6_prefix".to_owned(), "{ { { 0 } }, { { 0 } } }"),
        Type::Text => return None,
    })
}

fn initialiser(ty: &Type, value: &Value) -> String {
    let bytes = |bytes: &[u8]| format!("{{ {{ {} }} }}", bytes.iter().map(|byte| format!("{byte:#04x}")).collect::<Vec<_>>().join(", "));
    let number = |bytes: &[u8]| bytes.iter().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
    match (ty, value) {
        (Type::Integer { signed: true, .. }, Value::Int(value)) => (*value as i64).to_string(),
        (Type::Bool, Value::Int(value)) => (*value != 0).to_string(),
        (_, Value::Int(value)) => value.to_string(),
        (Type::Big(16), Value::Bytes(value)) => format!("htons({:#x})", number(value)),
        (Type::Big(32), Value::Bytes(value)) => format!("htonl({:#x})", number(value)),
        (Type::Big(_), Value::Bytes(value)) => format!("htonll({:#x})", number(value)),
        (Type::Prefix, Value::Bytes(value)) => format!("{{ htonl({:#x}), htonl({:#x}) }}", number(&value[..4]), number(&value[4..])),
        (Type::Prefix6, Value::Bytes(value)) => format!("{{ {}, {} }}", bytes(&value[..16]), bytes(&value[16..])),
        (_, Value::Bytes(value)) => bytes(value),
        (_, Value::Text(text)) => format!("{text:?}"),
        (_, Value::Texts(texts)) => format!("{texts:?}"),
    }
}
