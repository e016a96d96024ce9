//! The parser and the deparser.

use super::action::Statements;
use super::expr::{inner, literal};
use super::field::Kind;
use super::json::{Node, Read};
use super::layout::Layout;
use super::objects::Objects;
use super::text::{Names, Text, named, origin};
use num_bigint::{BigInt, Sign};
use num_traits::One;
use std::collections::HashMap;

/// Values of `instance_type`: recirculated, resubmitted.
const COMES_ROUND: [u32; 2] = [4, 6];

/// Writes the one parser of a file.
pub(super) fn write<'a>(root: &Node<'a>, objects: &Objects<'a>, layout: &Layout, names: &mut Names, text: &mut Text) -> Read<()> {
    let [parser] = root
        .need("parsers")?
        .just()
        .or_else(|wrong| root.need("parsers")?.wrong(wrong.message + "; a program for simple_switch has one parser"))?;
    let params = "packet_in packet, out hdr_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata";
    write_one(&parser, "ParserImpl", params, objects, layout, names, text)
}

/// Writes a parser.
pub(super) fn write_one<'a>(
    parser: &Node<'a>,
    ident: &str,
    params: &str,
    objects: &Objects<'a>,
    layout: &Layout,
    names: &mut Names,
    text: &mut Text,
) -> Read<()> {
    let mut idents = HashMap::new();
    for state in parser.need("parse_states")?.list()? {
        let name = state.need("name")?;
        if idents.insert(name.text()?.to_owned(), names.fresh(name.text()?)).is_some() {
            return name.wrong("two states have this name");
        }
    }
    let states = States { objects, layout, idents };
    let used = states.sets(parser, names)?;
    text.from(origin(parser));
    text.line(&format!("parser {ident}({params}) {{"));
    used.declared.iter().for_each(|line| text.line(line));
    text.line("state start {");
    let first = parser.get("init_state").map_or(Ok("accept".to_owned()), |name| states.ident(&name))?;
    begin(&first, &layout.kept(false), text);
    for state in parser.need("parse_states")?.list()? {
        states.state(&state, &used, text)?;
    }
    text.line("}");
    Ok(())
}

/// The way to the first state, with what is kept for packets that come round.
fn begin(first: &str, kept: &[String], text: &mut Text) {
    if kept.is_empty() {
        text.line(&format!("transition {first};"));
        text.line("}");
        return;
    }
    text.line("transition select(standard_metadata.instance_type) {");
    COMES_ROUND.iter().for_each(|way| text.line(&format!("{way}: again;")));
    text.line(&format!("default: {first};"));
    text.line("}");
    text.line("}");
    text.line("state again {");
    text.lines(kept);
    text.line(&format!("transition {first};"));
    text.line("}");
}

struct States<'s, 'a> {
    objects: &'s Objects<'a>,
    layout: &'s Layout,
    idents: HashMap<String, String>,
}

/// The value sets of a parser.
#[derive(Default)]
struct Sets {
    all: HashMap<String, Set>,
    declared: Vec<String>,
}

struct Set {
    ident: String,
    /// The widths of the parts of its members.
    parts: Vec<u32>,
    /// The bits of its members that count, if not all do.
    mask: Option<BigInt>,
}

impl Sets {
    fn named(&self, transition: &Node<'_>) -> Option<&Set> {
        transition.get("value").and_then(|name| self.all.get(name.text().ok()?))
    }

    /// The bits of a state's keys as one, where it uses a set whose members have other parts than
    /// the keys.
    fn joined(&self, transitions: &[Node<'_>], widths: &[u32]) -> Option<u32> {
        transitions.iter().any(|t| is_set(t) && self.named(t).is_some_and(|set| set.parts != widths)).then(|| widths.iter().sum())
    }
}

/// A transition for the members of a value set.
fn is_set(transition: &Node<'_>) -> bool {
    transition.get("type").is_some_and(|t| t.text().is_ok_and(|t| t == "parse_vset"))
}

impl<'a> States<'_, 'a> {
    fn ident(&self, node: &Node<'_>) -> Read<String> {
        let name = node.text()?;
        self.idents.get(name).cloned().map_or_else(|| node.wrong(format!("no state is called `{name}`")), Ok)
    }

    /// Value sets have the type of the keys that they are compared with; where these are several
    /// kinds of keys, they have one part.
    fn sets(&self, parser: &Node<'_>, names: &mut Names) -> Read<Sets> {
        let (mut sets, mut used) = (Sets::default(), Vec::new());
        for state in parser.need("parse_states")?.list()? {
            let widths = self.widths(&state)?;
            for transition in state.each("transitions")?.iter().filter(|t| is_set(t)) {
                let name = transition.need("value")?;
                let Some((set, bits)) = self.objects.sets.get(name.text()?) else { return name.wrong("no value set has this name") };
                if *bits != widths.iter().sum::<u32>() {
                    return name.wrong(format!("the value set has {bits} bits, and the key of the state other ones"));
                }
                let mask = transition.get("mask").map(|mask| set_mask(&mask, *bits)).transpose()?;
                if let Some(known) = sets.all.get_mut(name.text()?) {
                    if known.mask != mask {
                        return transition.wrong("a value set that is used with two masks, or with and without one, is not supported");
                    }
                    if known.parts != widths {
                        known.parts = vec![*bits];
                    }
                    continue;
                }
                sets.all.insert(name.text()?.to_owned(), Set { ident: names.fresh(name.text()?), parts: widths.clone(), mask });
                used.push((name.text()?.to_owned(), set.get("max_size").map_or(Ok(1024), |n| n.small(1 << 20))?));
            }
        }
        for (name, size) in used {
            let Set { ident, parts, mask } = &sets.all[&name];
            let types: Vec<String> = parts.iter().map(|w| format!("bit<{w}>")).collect();
            let ty = if let [one] = types.as_slice() { one.clone() } else { format!("tuple<{}>", types.join(", ")) };
            let counted = mask.as_ref().map(super::counted).unwrap_or_default();
            sets.declared.push(format!("{}{counted} value_set<{ty}>({size}) {ident};", named(&name)));
        }
        Ok(sets)
    }

    fn widths(&self, state: &Node<'_>) -> Read<Vec<u32>> {
        let mut scope = self.objects.scope(self.layout, &[]);
        state.each("transition_key")?.iter().map(|key| scope.range(key).map(|(_, high)| high.bits().max(1) as u32)).collect()
    }

    fn state(&self, state: &Node<'a>, sets: &Sets, text: &mut Text) -> Read<()> {
        text.from(origin(state));
        text.line(&format!("state {} {{", self.ident(&state.need("name")?)?));
        let mut statements = Statements { objects: self.objects, scope: self.objects.scope(self.layout, &[]) };
        for op in state.each("parser_ops")? {
            let lines = self.operation(&op, &mut statements)?;
            text.from(origin(&op));
            text.lines(&std::mem::take(&mut statements.scope.before));
            text.lines(&lines);
        }
        text.from(origin(state));
        self.transition(state, sets, &mut statements, text)?;
        text.line("}");
        Ok(())
    }

    fn operation(&self, op: &Node<'a>, statements: &mut Statements<'_, 'a>) -> Read<Vec<String>> {
        let args = op.need("parameters")?.list()?;
        let what = op.need("op")?.text()?;
        Ok(match (what, args.as_slice()) {
            ("extract", [header]) => vec![format!("packet.extract({});", self.extracted(header, statements)?)],
            ("extract_VL", [header, length]) => {
                let length = statements.scope.modulo(length, 32)?;
                vec![format!("packet.extract({}, {length});", self.extracted(header, statements)?)]
            }
            ("set", [to, value]) => statements.assign(to, value)?,
            ("verify", [condition, error]) => {
                let condition = statements.scope.condition(condition)?;
                let number = inner(error)?.need("value")?;
                match self.objects.error(&number.hex()?) {
                    Some(name) => vec![format!("verify({condition}, error.{name});")],
                    None => return number.wrong("no error has this number"),
                }
            }
            ("advance", [bits]) => vec![format!("packet.advance({});", statements.scope.modulo(bits, 32)?)],
            // An old one: its parameter is a number of bytes.
            ("shift", [bytes]) => vec![format!("packet.advance({});", bytes.small(1 << 16)? * 8)],
            ("primitive", [primitive]) => statements.primitive(primitive.need("op")?.text()?, primitive)?,
            _ => return op.wrong(format!("the operation `{what}` with {} parameters is not supported", args.len())),
        })
    }

    fn extracted(&self, node: &Node<'_>, statements: &mut Statements<'_, 'a>) -> Read<String> {
        match node.typed()? {
            ("regular", value) => self.layout.header(&value).map(|i| i.place.clone()),
            ("stack", value) => match self.layout.stacks.get(value.text()?) {
                Some(stack) => Ok(format!("{}.next", stack.place)),
                None => value.wrong("no stack has this name"),
            },
            ("union_stack", value) => {
                let [stack, member] = value.just()?;
                Ok(statements.scope.union_member(&stack, &member, "next")?.0)
            }
            (other, _) => node.wrong(format!("`{other}` cannot be extracted")),
        }
    }

    fn transition(&self, state: &Node<'_>, sets: &Sets, statements: &mut Statements<'_, 'a>, text: &mut Text) -> Read<()> {
        let next = |node: &Node<'_>| node.get("next_state").map_or(Ok("accept".to_owned()), |name| self.ident(&name));
        let is_default = |node: &Node<'_>| {
            let text = |name: &str| node.get(name).and_then(|n| n.text().ok());
            text("type").map_or(text("value").is_none_or(|v| v == "default"), |what| what == "default")
        };
        let (transitions, widths) = (state.each("transitions")?, self.widths(state)?);
        if widths.is_empty() {
            let to = transitions.iter().find(|t| is_default(t)).map_or(Ok("accept".to_owned()), next)?;
            text.line(&format!("transition {to};"));
            return Ok(());
        }
        let mut keys = Vec::new();
        for (key, width) in state.each("transition_key")?.iter().zip(&widths) {
            keys.push(statements.scope.modulo(key, *width)?);
        }
        text.lines(&std::mem::take(&mut statements.scope.before));
        let joined = sets.joined(&transitions, &widths);
        text.line(&format!("transition select({}) {{", keys.join(if joined.is_some() { " ++ " } else { ", " })));
        let mut otherwise = "accept".to_owned();
        for transition in &transitions {
            if is_default(transition) {
                otherwise = next(transition)?;
                continue;
            }
            let set = match (is_set(transition), sets.named(transition)) {
                (true, Some(set)) => set.ident.clone(),
                _ => masked(transition, &widths, joined)?,
            };
            text.line(&format!("{set}: {};", next(transition)?));
        }
        text.line(&format!("default: {otherwise};"));
        text.line("}");
        Ok(())
    }
}

/// The mask of a value set, which has the bits of a member in a row.
fn set_mask(mask: &Node<'_>, bits: u32) -> Read<BigInt> {
    let value = mask.hex()?;
    if value.sign() == Sign::Minus || value.bits() > u64::from(bits.next_multiple_of(8)) {
        return mask.wrong(format!("expected a mask of {bits} bits"));
    }
    Ok(value & ((BigInt::one() << bits) - 1))
}

/// A value and its mask, cut into the parts of the key, of whole bytes each; put together again
/// where the keys are.
fn masked(transition: &Node<'_>, widths: &[u32], joined: Option<u32>) -> Read<String> {
    let value = transition.need("value")?.hex()?;
    let mask = transition.get("mask").map_or(Ok(None), |m| m.hex().map(Some))?;
    if value.sign() == Sign::Minus || mask.as_ref().is_some_and(|m| m.sign() == Sign::Minus) {
        return transition.wrong("values and masks are not negative");
    }
    let mut low: u32 = widths.iter().map(|w| w.next_multiple_of(8)).sum();
    let (mut parts, mut whole) = (Vec::new(), [BigInt::ZERO, BigInt::ZERO]);
    let shown = |value: &BigInt, mask: &BigInt, width: u32| {
        let value = literal(value, width.into());
        if *mask == (BigInt::one() << width) - 1 { value } else { format!("{value} &&& {}", literal(mask, width.into())) }
    };
    for width in widths {
        low -= width.next_multiple_of(8);
        let all: BigInt = (BigInt::one() << *width) - 1;
        let (value, mask) = ((&value >> low) & &all, mask.as_ref().map_or_else(|| all.clone(), |m| (m >> low) & &all));
        whole = [(&whole[0] << *width) + &value, (&whole[1] << *width) + &mask];
        parts.push(shown(&value, &mask, *width));
    }
    if let Some(width) = joined {
        return Ok(shown(&whole[0], &whole[1], width));
    }
    Ok(if let [one] = parts.as_slice() { one.clone() } else { format!("({})", parts.join(", ")) })
}

/// Writes the one deparser of a file.
pub(super) fn deparser<'a>(root: &Node<'a>, objects: &Objects<'a>, layout: &Layout, text: &mut Text) -> Read<()> {
    let [deparser] = root.need("deparsers")?.just()?;
    text.from(origin(&deparser));
    text.line("control DeparserImpl(packet_out packet, in hdr_t hdr) {");
    text.line("apply {");
    let mut statements = Statements { objects, scope: objects.scope(layout, &[]) };
    for primitive in deparser.each("primitives")? {
        told(&primitive, &mut statements, text)?;
    }
    text.from(origin(&deparser));
    emitted(&deparser, layout, text)?;
    text.line("}");
    text.line("}");
    Ok(())
}

/// Writes which headers a deparser sends.
pub(super) fn emitted(deparser: &Node<'_>, layout: &Layout, text: &mut Text) -> Read<()> {
    for header in deparser.need("order")?.list()? {
        let instance = layout.header(&header)?;
        if instance.metadata {
            return header.wrong("metadata is not sent");
        }
        text.line(&format!("packet.emit({});", instance.place));
    }
    Ok(())
}

/// Writes a primitive of a deparser. It has headers only, and changes nothing.
fn told<'a>(primitive: &Node<'a>, statements: &mut Statements<'_, 'a>, text: &mut Text) -> Read<()> {
    let op = primitive.need("op")?;
    if !matches!(op.text()?, "log_msg" | "assert" | "assume" | "no_op") {
        return op.wrong(format!("a deparser has log_msg, assert and assume, and not `{}`", op.text()?));
    }
    let lines = statements.primitive(op.text()?, primitive)?;
    let all = [std::mem::take(&mut statements.scope.before), lines].concat();
    if all.iter().any(|line| line.contains("meta.") || line.contains("standard_metadata.")) {
        return primitive.wrong("a deparser sees headers only, and this is about metadata");
    }
    text.from(origin(primitive));
    text.lines(&all);
    Ok(())
}

/// The width of a key, and how a value of it is written.
pub(super) fn key_value(kind: Kind, value: &BigInt, objects: &Objects<'_>) -> Option<String> {
    match kind {
        Kind::Bits(w) => Some(literal(value, w.into())),
        Kind::Signed(w) => Some(format!("(int<{w}>){}", literal(value, w.into()))),
        Kind::Valid => Some(literal(value, 1)),
        Kind::Error => objects.error(value).map(|name| format!("error.{name}")),
        Kind::Varying(_) => None,
    }
}
