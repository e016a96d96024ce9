//! Instances of PSA's externs.

use super::json::{Node, Read};
use super::text::{Names, Text, named, origin};
use std::collections::HashMap;

/// Instances of externs: those that the file has besides arrays.
#[derive(Default)]
pub(super) struct Externs {
    /// By name: the class, how it is called, and of hashes the width that is wanted where it is
    /// used.
    all: HashMap<String, (String, String)>,
}

fn attribute<'a>(node: &Node<'a>, wanted: &str) -> Read<Node<'a>> {
    for attribute in node.each("attribute_values")? {
        if attribute.need("name")?.text()? == wanted {
            return attribute.need("value");
        }
    }
    node.wrong(format!("it has no `{wanted}`"))
}

pub(super) fn algorithm(node: &Node<'_>) -> Read<&'static str> {
    match node.text()? {
        "crc16" => Ok("PSA_HashAlgorithm_t.CRC16"),
        "crc16_custom" => Ok("PSA_HashAlgorithm_t.CRC16_CUSTOM"),
        "crc32" => Ok("PSA_HashAlgorithm_t.CRC32"),
        "crc32_custom" => Ok("PSA_HashAlgorithm_t.CRC32_CUSTOM"),
        "identity" => Ok("PSA_HashAlgorithm_t.IDENTITY"),
        "csum16" => Ok("PSA_HashAlgorithm_t.ONES_COMPLEMENT16"),
        other => node.wrong(format!("the algorithm `{other}` is not supported")),
    }
}

impl Externs {
    /// Declares them; hashes have results of 32 bits, of which those that are wanted are taken.
    pub fn read(root: &Node<'_>, names: &mut Names, text: &mut Text) -> Read<Self> {
        let mut all = HashMap::new();
        for node in root.each("extern_instances")? {
            let (name, class) = (node.need("name")?.text()?, node.need("type")?);
            let made = match class.text()? {
                // Declared with the arrays.
                "Counter" | "DirectCounter" => continue,
                "Meter" => {
                    let kind = if attribute(&node, "type")?.text()? == "bytes" { "BYTES" } else { "PACKETS" };
                    format!("Meter<bit<32>>(32w{}, PSA_MeterType_t.{kind})", attribute(&node, "n_meters")?.hex()?)
                }
                "InternetChecksum" => "InternetChecksum()".to_owned(),
                "Hash" => format!("Hash<bit<32>>({})", algorithm(&attribute(&node, "algo")?)?),
                other => return class.wrong(format!("`{other}` is no extern of PSA that can be read from a file")),
            };
            let ident = names.fresh(name);
            text.from(origin(&node));
            text.line(&format!("{} {made} {ident};", named(name)));
            all.insert(name.to_owned(), (class.text()?.to_owned(), ident));
        }
        Ok(Self { all })
    }

    pub(super) fn find(&self, node: &Node<'_>, class: &str) -> Read<&str> {
        let name = node.need("value")?;
        match self.all.get(name.text()?) {
            Some((is, ident)) if is == class => Ok(ident),
            _ => name.wrong(format!("no {class} is called `{}`", name.text()?)),
        }
    }
}
