//! Registers, counters, meters, action profiles, calculations, digests, value sets: instances of
//! v1model's externs, and what names them.

use super::expr::{Param, Registers, Scope, inner, literal};
use super::field::Kind;
use super::json::{Node, Read};
use super::layout::Layout;
use super::psa_externs::{self, Externs};
use super::text::{Names, Text, named, origin};
use num_bigint::BigInt;
use std::collections::HashMap;

/// A direct counter or meter: how it is called.
#[derive(Clone)]
pub(super) struct Direct<'a> {
    pub ident: String,
    /// Where a meter's colour goes.
    pub target: Option<Node<'a>>,
}

/// What tables and actions name.
#[derive(Default)]
pub(super) struct Objects<'a> {
    pub registers: Registers,
    pub counters: HashMap<String, String>,
    pub meters: HashMap<String, String>,
    /// By the table that they are bound to.
    pub direct_counters: HashMap<String, Direct<'a>>,
    /// By their name.
    pub direct_meters: HashMap<String, Direct<'a>>,
    /// Profiles; and what a selector reads.
    pub profiles: HashMap<String, (String, Vec<Node<'a>>)>,
    pub calculations: HashMap<String, Node<'a>>,
    /// By number: the struct, and its fields.
    pub digests: HashMap<u64, (String, Vec<Node<'a>>)>,
    /// Value sets, and their bits.
    pub sets: HashMap<String, (Node<'a>, u32)>,
    pub errors: Vec<(String, BigInt)>,
    /// Numbers of field lists.
    pub lists: Vec<u64>,
    /// Of PSA.
    pub externs: Externs,
}

/// The errors that core.p4 declares.
const CORE_ERRORS: &[&str] =
    &["NoError", "PacketTooShort", "NoMatch", "StackOutOfBounds", "HeaderTooShort", "ParserTimeout", "ParserInvalidArgument"];

impl<'a> Objects<'a> {
    pub fn read(root: &Node<'a>, layout: &Layout, names: &mut Names, text: &mut Text) -> Read<Self> {
        let mut all = Self::default();
        all.errors(root, names, text)?;
        if layout.is_psa && all.errors.is_empty() {
            // p4c leaves them out for psa_switch: they are numbered as core.p4 declares them, and
            // then those of the program.
            all.errors = CORE_ERRORS.iter().zip(0u32..).map(|(name, number)| ((*name).to_owned(), number.into())).collect();
            all.unnamed_errors(root, text)?;
        }
        all.arrays(root, layout, names, text)?;
        all.meters(root, layout, names, text)?;
        all.profiles(root, layout, names, text)?;
        for node in root.each("calculations")? {
            all.calculations.insert(node.need("name")?.text()?.to_owned(), node);
        }
        for node in root.each("parse_vsets")? {
            let width = node.need("compressed_bitwidth")?.small(u32::from(netil::wide::MAX_WIDTH))?.max(1);
            all.sets.insert(node.need("name")?.text()?.to_owned(), (node, width));
        }
        for node in root.each("field_lists")? {
            all.lists.push(node.need("id")?.number()?);
        }
        all.digests(root, layout, names, text)?;
        if layout.is_psa {
            all.externs = Externs::read(root, names, text)?;
        } else if let Some(first) = root.each("extern_instances")?.first() {
            return first.wrong("externs of a program's own are not supported");
        }
        Ok(all)
    }

    fn errors(&mut self, root: &Node<'a>, names: &mut Names, text: &mut Text) -> Read<()> {
        let mut own = names.clone();
        for pair in root.each("errors")? {
            let [name, number] = pair.just()?;
            let name = name.text()?;
            if CORE_ERRORS.contains(&name) {
                self.errors.push((name.to_owned(), number.number()?.into()));
                continue;
            }
            let ident = own.fresh(name);
            text.line(&format!("error {{ {ident} }}"));
            self.errors.push((ident, number.number()?.into()));
        }
        Ok(())
    }

    /// Names for errors of which the parsers only tell the numbers.
    fn unnamed_errors(&mut self, root: &Node<'a>, text: &mut Text) -> Read<()> {
        for parser in root.each("parsers")? {
            for state in parser.each("parse_states")? {
                for op in
                    state.each("parser_ops")?.iter().filter(|op| op.get("op").is_some_and(|op| op.text().is_ok_and(|op| op == "verify")))
                {
                    let number = inner(&op.need("parameters")?.just::<2>()?[1])?.need("value")?.hex()?;
                    if self.error(&number).is_none() {
                        text.line(&format!("error {{ Error_{number} }}"));
                        self.errors.push((format!("Error_{number}"), number));
                    }
                }
            }
        }
        Ok(())
    }

    fn arrays(&mut self, root: &Node<'a>, layout: &Layout, names: &mut Names, text: &mut Text) -> Read<()> {
        let [register, counter, kind] = if layout.is_psa {
            [", bit<32>", "Counter<bit<64>, bit<32>>", "PSA_CounterType_t.PACKETS_AND_BYTES"]
        } else {
            ["", "counter", "CounterType.packets_and_bytes"]
        };
        let [class, direct_counter] = if layout.is_psa { ["Register", "DirectCounter<bit<64>>"] } else { ["register", "direct_counter"] };
        for node in root.each("register_arrays")? {
            let name = node.need("name")?.text()?;
            let (size, width) =
                (node.need("size")?.small(u32::MAX)?, node.need("bitwidth")?.small(u32::from(netil::wide::MAX_WIDTH))?.max(1));
            let ident = names.fresh(name);
            text.from(origin(&node));
            text.line(&format!("{} {class}<bit<{width}>{register}>(32w{size}) {ident};", named(name)));
            self.registers.insert(name.to_owned(), (ident, width));
        }
        for node in root.each("counter_arrays")? {
            let (name, direct) = (node.need("name")?.text()?, node.flag("is_direct", false)?);
            let ident = names.fresh(name);
            text.from(origin(&node));
            if direct {
                text.line(&format!("{} {direct_counter}({kind}) {ident};", named(name)));
                self.direct_counters.insert(node.need("binding")?.text()?.to_owned(), Direct { ident, target: None });
            } else {
                let size = node.need("size")?.small(u32::MAX)?;
                text.line(&format!("{} {counter}(32w{size}, {kind}) {ident};", named(name)));
                self.counters.insert(name.to_owned(), ident);
            }
        }
        Ok(())
    }

    fn meters(&mut self, root: &Node<'a>, layout: &Layout, names: &mut Names, text: &mut Text) -> Read<()> {
        for node in root.each("meter_arrays")? {
            let name = node.need("name")?.text()?;
            let kind = match node.need("type")?.text()? {
                "packets" => "packets",
                "bytes" => "bytes",
                other => return node.need("type")?.wrong(format!("a meter counts packets or bytes, and not `{other}`")),
            };
            let ident = names.fresh(name);
            text.from(origin(&node));
            if !node.flag("is_direct", false)? {
                let size = node.need("size")?.small(u32::MAX)?;
                text.line(&format!("{} meter(32w{size}, MeterType.{kind}) {ident};", named(name)));
                self.meters.insert(name.to_owned(), ident);
                continue;
            }
            let target = node.need("result_target")?;
            let Kind::Bits(width) = layout.field(&target)?.kind else { return target.wrong("the colour of a meter is an unsigned number") };
            if layout.is_psa {
                text.line(&format!("{} DirectMeter(PSA_MeterType_t.{}) {ident};", named(name), kind.to_ascii_uppercase()));
            } else {
                text.line(&format!("{} direct_meter<bit<{width}>>(MeterType.{kind}) {ident};", named(name)));
            }
            self.direct_meters.insert(name.to_owned(), Direct { ident, target: Some(target) });
        }
        Ok(())
    }

    fn profiles(&mut self, root: &Node<'a>, layout: &Layout, names: &mut Names, text: &mut Text) -> Read<()> {
        for pipeline in root.each("pipelines")? {
            for node in pipeline.each("tables")? {
                self.old_profile(&node, names, text)?;
            }
            for node in pipeline.each("action_profiles")? {
                let (name, size) = (node.need("name")?.text()?, node.need("max_size")?.small(u32::MAX)?);
                let ident = names.fresh(name);
                let (class, inputs) = match (node.get("selector"), layout.is_psa) {
                    (None, false) => (format!("action_profile(32w{size})"), Vec::new()),
                    (None, true) => (format!("ActionProfile(32w{size})"), Vec::new()),
                    (Some(selector), false) => {
                        let algorithm = algorithm(&selector.need("algo")?)?;
                        (format!("action_selector({algorithm}, 32w{size}, 32w64)"), selector.need("input")?.list()?)
                    }
                    (Some(selector), true) => {
                        let algorithm = psa_externs::algorithm(&selector.need("algo")?)?;
                        (format!("ActionSelector({algorithm}, 32w{size}, 32w64)"), selector.need("input")?.list()?)
                    }
                };
                text.from(origin(&node));
                text.line(&format!("{} {class} {ident};", named(name)));
                self.profiles.insert(name.to_owned(), (ident, inputs));
            }
        }
        Ok(())
    }

    /// In old files a table has its profile in itself.
    fn old_profile(&mut self, table: &Node<'a>, names: &mut Names, text: &mut Text) -> Read<()> {
        let Some(profile) = table.get("act_prof_name") else { return Ok(()) };
        let name = profile.text()?;
        if self.profiles.contains_key(name) {
            return Ok(());
        }
        let (ident, selector) = (names.fresh(name), table.get("selector"));
        let class = match &selector {
            None => "action_profile(1024)".to_owned(),
            Some(selector) => format!("action_selector({}, 1024, 64)", algorithm(&selector.need("algo")?)?),
        };
        text.line(&format!("{} {class} {ident};", named(name)));
        let inputs = selector.map_or(Ok(Vec::new()), |s| s.need("input")?.list())?;
        self.profiles.insert(name.to_owned(), (ident, inputs));
        Ok(())
    }

    fn digests(&mut self, root: &Node<'a>, layout: &Layout, names: &mut Names, text: &mut Text) -> Read<()> {
        for node in root.each("learn_lists")? {
            let ident = names.fresh(node.need("name")?.text()?);
            let (mut fields, mut own) = (Vec::new(), Names::default());
            text.from(origin(&node));
            text.line(&format!("struct {ident} {{"));
            for element in node.need("elements")?.list()? {
                let (what, value) = element.typed()?;
                if what != "field" {
                    return element.wrong("a digest has fields");
                }
                let [_, name] = value.just()?;
                let kind = layout.field(&value)?.kind;
                let Kind::Bits(width) = kind else { return value.wrong("a digest has fields that are unsigned numbers") };
                text.line(&format!("bit<{width}> {};", own.fresh(name.text()?.rsplit('.').next().unwrap_or_default())));
                fields.push(value);
            }
            text.line("}");
            if layout.is_psa {
                text.line(&format!("{} Digest<{ident}>() {ident}_digest;", named(node.need("name")?.text()?)));
            }
            self.digests.insert(node.need("id")?.number()?, (ident, fields));
        }
        Ok(())
    }

    /// A scope for expressions.
    pub fn scope<'s>(&'s self, layout: &'s Layout, params: &'s [Param]) -> Scope<'s> {
        Scope { layout, registers: &self.registers, errors: &self.errors, params, before: Vec::new(), temps: 0 }
    }

    /// A calculation: its algorithm, its data, and whether the payload belongs to it.
    pub fn calculation(&self, node: &Node<'_>, layout: &Layout) -> Read<(String, String, bool)> {
        let name = node.text()?;
        let Some(found) = self.calculations.get(name) else { return node.wrong(format!("no calculation is called `{name}`")) };
        let (mut data, mut payload) = (Vec::new(), false);
        for input in found.need("input")?.list()? {
            match input.need("type")?.text()? {
                "payload" => payload = true,
                "field" => data.push(layout.field(&input.need("value")?)?.text),
                "header" => data.push(layout.header(&input.need("value")?)?.place.clone()),
                "hexstr" => {
                    let width = input.need("bitwidth")?.small(u32::from(netil::wide::MAX_WIDTH))?.max(1);
                    data.push(literal(&input.need("value")?.hex()?, width.into()));
                }
                other => return input.wrong(format!("`{other}` is nothing that is calculated with")),
            }
        }
        Ok((algorithm(&found.need("algo")?)?, format!("{{ {} }}", data.join(", ")), payload))
    }

    /// The error of a number.
    pub fn error(&self, number: &BigInt) -> Option<&str> {
        self.errors.iter().find(|(_, n)| n == number).map(|(name, _)| name.as_str())
    }
}

fn algorithm(node: &Node<'_>) -> Read<String> {
    let name = node.text()?;
    match name {
        "crc16" | "crc16_custom" | "crc32" | "crc32_custom" | "csum16" | "xor16" | "identity" | "random" => {
            Ok(format!("HashAlgorithm.{name}"))
        }
        other => node.wrong(format!("the algorithm `{other}` is not supported")),
    }
}

/// Writes the control that verifies checksums, or the one that computes them.
pub(super) fn checksums(root: &Node<'_>, objects: &Objects<'_>, layout: &Layout, verify: bool, text: &mut Text) -> Read<()> {
    for node in root.each("checksums")? {
        if !node.flag(if verify { "verify" } else { "update" }, true)? {
            continue;
        }
        let (algorithm, data, payload) = objects.calculation(&node.need("calculation")?, layout)?;
        let target = layout.field(&node.need("target")?)?.text;
        let mut scope = objects.scope(layout, &[]);
        let condition = node.get("if_cond").map_or(Ok("true".to_owned()), |c| scope.condition(&c))?;
        let statement = format!(
            "{}_checksum{}({condition}, {data}, {target}, {algorithm});",
            if verify { "verify" } else { "update" },
            if payload { "_with_payload" } else { "" },
        );
        if statement.contains("standard_metadata.") {
            return node.wrong("checksums do not see the standard metadata");
        }
        text.from(origin(&node));
        text.lines(&scope.before);
        text.line(&statement);
    }
    Ok(())
}
