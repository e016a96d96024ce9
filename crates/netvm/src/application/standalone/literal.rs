//! Values and table entries as C.

use ::compiler::backends::c::quoted::string;
use ::frontends::c::{Mode, Param, Preset, Table, Type, Value};
use netil::module::{Entry, TableKind};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The definition of a parameter by that name, with the value given, or else the one that its
/// declaration names.
pub(super) fn parameter(name: &str, param: &Param, given: Option<&Value>) -> String {
    let ty = type_name(&param.ctype);
    let preset = match &param.mode {
        Mode::Optional(Some(Preset::Const(value))) | Mode::Keyword(Some(Preset::Const(value))) => value,
        _ => &Value::Int(0),
    };
    let value = given.unwrap_or(preset);
    if !param.list {
        return format!("static const {ty} {name} = {};\n", literal(&param.ctype, value));
    }
    if param.ctype == Type::Text {
        return texts(name, param, value);
    }
    // A list that is not given is the number 0.
    let bytes: &[u8] = if let Value::Bytes(bytes) = value { bytes } else { &[] };
    let size = param.ctype.size().max(1) as usize;
    let elements: String = bytes.chunks_exact(size).map(|bytes| format!("    {},\n", of_bytes(&param.ctype, bytes))).collect();
    let elements = if elements.is_empty() { format!("    {},\n", of_bytes(&param.ctype, &vec![0; size])) } else { elements };
    format!("enum {{ {name}_count = {} }};\nstatic const {ty} {name}[] = {{\n{elements}}};\n", bytes.len() / size)
}

/// A list of texts; one without any has an empty one that nobody reads.
fn texts(name: &str, param: &Param, value: &Value) -> String {
    let preset = match &param.mode {
        Mode::Optional(Some(Preset::Text(text))) | Mode::Keyword(Some(Preset::Text(text))) => text.as_str(),
        _ => "",
    };
    let texts: Vec<String> = match value {
        Value::Texts(texts) => texts.clone(),
        Value::Bytes(_) => Vec::new(),
        _ => preset.split_ascii_whitespace().map(str::to_owned).collect(),
    };
    let some = if texts.is_empty() { &[String::new()][..] } else { &texts };
    let elements: String = some.iter().map(|text| format!("    {},\n", string(text.as_bytes()))).collect();
    format!("enum {{ {name}_count = {} }};\nstatic const string {name}[] = {{\n{elements}}};\n", texts.len())
}

fn type_name(ty: &Type) -> String {
    match ty {
        Type::Bool => "bool".to_owned(),
        Type::Int { bits, signed } => format!("{}{bits}", if *signed { 'i' } else { 'u' }),
        Type::Be(bits) => format!("be{bits}"),
        Type::Mac => "mac_t".to_owned(),
        Type::In6 => "in6_t".to_owned(),
        Type::Struct(of) => format!("struct {}", of.name),
        _ => "string".to_owned(),
    }
}

fn literal(ty: &Type, value: &Value) -> String {
    match (ty, value) {
        (_, Value::Text(text)) => string(text.as_bytes()),
        (_, Value::Bytes(bytes)) => of_bytes(ty, bytes),
        (_, Value::Texts(texts)) => string(texts.join(" ").as_bytes()),
        (Type::Bool, Value::Int(n)) => (*n != 0).to_string(),
        (Type::Be(bits), Value::Int(n)) => big(*bits, *n),
        (_, Value::Int(n)) => number(*n),
    }
}

fn number(n: u64) -> String {
    if n <= 0x7fff_ffff { n.to_string() } else { format!("({n:#x}ull)") }
}

fn big(bits: u8, n: u64) -> String {
    let function = match bits {
        16 => "htons",
        32 => "htonl",
        _ => "htonll",
    };
    format!("{function}({n:#x})")
}

/// A value from its bytes as in memory: fields in network order first byte first, integers
/// little-endian.
fn of_bytes(ty: &Type, bytes: &[u8]) -> String {
    let number_of = |bytes: &mut dyn Iterator<Item = &u8>| bytes.fold(0u64, |n, byte| n << 8 | u64::from(*byte));
    match ty {
        Type::Int { .. } => number(number_of(&mut bytes.iter().rev())),
        Type::Bool => (bytes.first() != Some(&0)).to_string(),
        Type::Be(bits) => big(*bits, number_of(&mut bytes.iter())),
        Type::Struct(of) => {
            let member = |m: &::frontends::c::Member| {
                of_bytes(&m.ctype, bytes.get(m.offset as usize..(m.offset + m.ctype.size()) as usize).unwrap_or_default())
            };
            format!("{{ {} }}", of.members.iter().map(member).collect::<Vec<_>>().join(", "))
        }
        Type::Array(of, _) => {
            let elements = bytes.chunks_exact(of.size().max(1) as usize).map(|bytes| of_bytes(of, bytes));
            format!("{{ {} }}", elements.collect::<Vec<_>>().join(", "))
        }
        _ => format!("{{ {{ {} }} }}", bytes.iter().map(|byte| format!("{byte:#04x}")).collect::<Vec<_>>().join(", ")),
    }
}

/// The function that enters what a configuration says into an instance's tables.
pub(super) fn fill(e: &str, tables: &[Table], entries: &BTreeMap<String, Vec<Entry>>) -> String {
    let mut text = String::new();
    if entries.is_empty() {
        return text;
    }
    let _ = write!(text, "static void {e}_nv_fill(void)\n{{\n");
    for (n, table) in tables.iter().enumerate().filter(|(_, table)| entries.contains_key(&table.name)) {
        let rows = &entries[&table.name];
        let _ = writeln!(text, "    static const char nv_rows{n}[] =");
        for entry in rows {
            let _ = writeln!(text, "        {}", string(&row(entry, table.kind, &table.key, &table.value)));
        }
        let _ = write!(text, "        ;\n\n    nv_table_fill({e}_{}.nv_table, nv_rows{n}, {});\n", table.name, rows.len());
    }
    text + "}\n"
}

/// Key, mask, priority, value, as the standalone runtime has them in memory.
fn row(entry: &Entry, kind: TableKind, key: &Type, value: &Type) -> Vec<u8> {
    let mut row = in_memory(key, &of_limbs(&entry.key, key.size()), true);
    let mask = if kind.has_mask() { &*entry.mask } else { &[] };
    row.extend(in_memory(key, &of_limbs(mask, key.size()), true));
    row.extend(entry.priority.to_be_bytes());
    row.extend(in_memory(value, &entry.value, false));
    row
}

/// A number's bytes, the first most significant.
fn of_limbs(limbs: &[u64], size: u32) -> Vec<u8> {
    (0..size as usize).rev().map(|at| limbs.get(at / 8).map_or(0, |limb| (limb >> (8 * (at % 8))) as u8)).collect()
}

/// A value as C has it, from scalars' bytes that are all most significant first, or all last.
fn in_memory(ty: &Type, bytes: &[u8], big: bool) -> Vec<u8> {
    match ty {
        Type::Struct(of) => {
            let part = |m: &::frontends::c::Member| bytes.get(m.offset as usize..(m.offset + m.ctype.size()) as usize).unwrap_or_default();
            of.members.iter().flat_map(|m| in_memory(&m.ctype, part(m), big)).collect()
        }
        Type::Array(of, _) => bytes.chunks_exact(of.size().max(1) as usize).flat_map(|bytes| in_memory(of, bytes, big)).collect(),
        ty => {
            let first = matches!(ty, Type::Be(_) | Type::Mac | Type::In6);
            if first == big { bytes.to_vec() } else { bytes.iter().rev().copied().collect() }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_what_c_reads() {
        assert_eq!(literal(&Type::Int { bits: 64, signed: true }, &Value::Int(u64::MAX)), "(0xffffffffffffffffull)");
        assert_eq!(literal(&Type::Be(32), &Value::Bytes(vec![10, 0, 0, 1])), "htonl(0xa000001)");
        assert_eq!(literal(&Type::Be(16), &Value::Int(0)), "htons(0x0)");
        assert_eq!(literal(&Type::Mac, &Value::Bytes(vec![1, 2, 3, 4, 5, 255])), "{ { 0x01, 0x02, 0x03, 0x04, 0x05, 0xff } }");
        assert_eq!(literal(&Type::Text, &Value::Text("a\"\n1?".to_owned())), "\"a\\042\\0121\\077\"");
    }

    #[test]
    fn entries_have_the_bytes_that_the_standalone_runtime_compares() {
        let entry = Entry { key: [0x0a00_0000].into(), mask: [0xff00_0000].into(), priority: 3, value: [1, 2].into() };
        let row = row(&entry, TableKind::Prefix, &Type::Be(32), &Type::Be(16));
        assert_eq!(row, [10, 0, 0, 0, 255, 0, 0, 0, 0, 0, 0, 3, 2, 1]);
        assert_eq!(in_memory(&Type::Int { bits: 16, signed: false }, &[1, 2], false), [1, 2]);
    }
}
