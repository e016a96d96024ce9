//! Primitives of PSA's: calls of its externs.

use super::action::Statements;
use super::expr::literal;
use super::field::Kind;
use super::json::{Node, Read};

impl<'a> Statements<'_, 'a> {
    /// Statements for a primitive of PSA's; `None` for others.
    pub(super) fn portable(&mut self, op: &str, args: &[Node<'a>]) -> Read<Option<Vec<String>>> {
        let externs = &self.objects.externs;
        let line = match (op, args) {
            ("_Counter_count", [counter, index]) => {
                let name = counter.need("value")?;
                let Some(ident) = self.objects.counters.get(name.text()?) else { return name.wrong("no counter has this name") };
                format!("{ident}.count({});", self.scope.modulo(index, 32)?)
            }
            ("_Meter_execute", [meter, index, to @ ..]) => {
                let call = format!("{}.execute({})", externs.find(meter, "Meter")?, self.scope.modulo(index, 32)?);
                match to.first() {
                    Some(to) => return self.gets(to, &format!("(bit<32>){call}"), 32).map(Some),
                    None => format!("{call};"),
                }
            }
            ("_Hash_get_hash", [hash, to, data]) => {
                let (ident, data) = (externs.find(hash, "Hash")?, list(self, data)?);
                return self.gets(to, &format!("{ident}.get_hash({data})"), 32).map(Some);
            }
            ("_Hash_get_hash_mod", [hash, to, base, data, most]) => {
                let (ident, data) = (externs.find(hash, "Hash")?, list(self, data)?);
                let (base, most) = (self.scope.modulo(base, 32)?, self.scope.modulo(most, 32)?);
                return self.gets(to, &format!("{ident}.get_hash({base}, {data}, {most})"), 32).map(Some);
            }
            ("_InternetChecksum_clear", [sum]) => format!("{}.clear();", externs.find(sum, "InternetChecksum")?),
            ("_InternetChecksum_add" | "_InternetChecksum_subtract", [sum, data]) => {
                let (ident, data) = (externs.find(sum, "InternetChecksum")?, list(self, data)?);
                format!("{ident}.{}({data});", op.trim_start_matches("_InternetChecksum_"))
            }
            ("_InternetChecksum_get" | "_InternetChecksum_get_state", [sum, to]) => {
                let call = format!("{}.{}()", externs.find(sum, "InternetChecksum")?, op.trim_start_matches("_InternetChecksum_"));
                return self.gets(to, &call, 16).map(Some);
            }
            ("_InternetChecksum_set_state", [sum, value]) => {
                format!("{}.set_state({});", externs.find(sum, "InternetChecksum")?, self.scope.modulo(value, 16)?)
            }
            ("_InternetChecksum_get_verify", [sum, to, value]) => {
                let call = format!("{}.get()", externs.find(sum, "InternetChecksum")?);
                let equal = format!("(bit<1>)({call} == {})", self.scope.modulo(value, 16)?);
                return self.gets(to, &equal, 1).map(Some);
            }
            ("generate_digest", [list]) => {
                let id = list.need("value")?;
                let number = u64::try_from(id.hex()?).ok();
                let Some((ident, fields)) = number.and_then(|n| self.objects.digests.get(&n)) else {
                    return id.wrong("no learn list has this number");
                };
                let values: Vec<String> = fields.iter().map(|field| self.scope.layout.field(field).map(|f| f.text)).collect::<Read<_>>()?;
                format!("{ident}_digest.pack({{ {} }});", values.join(", "))
            }
            _ => return Ok(None),
        };
        Ok(Some(vec![line]))
    }

    /// A field gets a value of that many bits.
    fn gets(&mut self, to: &Node<'_>, value: &str, width: u32) -> Read<Vec<String>> {
        let target = self.target(to)?;
        let (bits, sign) = match target.kind {
            Kind::Bits(bits) => (bits, String::new()),
            Kind::Signed(bits) => (bits, format!("(int<{bits}>)")),
            _ => return to.wrong("this field has no fixed width"),
        };
        let temp = self.scope.temp();
        Ok(vec![format!("bit<{width}> {temp} = {value};"), format!("{} = {sign}(bit<{bits}>){temp};", target.text)])
    }
}

/// The values of a field list, as one.
fn list<'a>(statements: &mut Statements<'_, 'a>, node: &Node<'a>) -> Read<String> {
    let mut all = Vec::new();
    let given = node.need("value")?;
    // One that is alone is no list.
    for value in if given.is_object() { vec![given] } else { given.list()? } {
        all.push(match statements.scope.place(&value)? {
            Some(place) => place.text,
            None if value.need("type")?.text()? == "header" => statements.scope.header(&value)?.0,
            None if value.need("type")?.text()? == "hexstr" => {
                let width = value.need("bitwidth")?.small(u32::from(netil::wide::MAX_WIDTH))?.max(1);
                literal(&value.need("value")?.hex()?, width.into())
            }
            None => statements.scope.exact(&value)?.0,
        });
    }
    Ok(format!("{{ {} }}", all.join(", ")))
}
