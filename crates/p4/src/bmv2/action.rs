//! Actions: primitives, one statement or a few for each.

use super::expr::{Param, Scope, inner, literal};
use super::field::{FieldRef, Kind};
use super::flow::{self, Arms, END, Unwritten};
use super::json::{Node, Read};
use super::layout::Layout;
use super::objects::Objects;
use super::text::{Names, Text, origin, quoted};
use num_traits::ToPrimitive;
use std::collections::HashMap;

/// The port that drops.
const DROP_PORT: &str = "511";

/// An action of the file.
pub(super) struct Action<'a> {
    pub name: &'a str,
    pub params: Vec<Param>,
    primitives: Vec<Node<'a>>,
    node: Node<'a>,
}

/// What statements are made of.
pub(super) struct Statements<'s, 'a> {
    pub objects: &'s Objects<'a>,
    pub scope: Scope<'s>,
}

/// All actions by their numbers.
pub(super) fn read<'a>(root: &Node<'a>) -> Read<HashMap<u64, Action<'a>>> {
    let mut all = HashMap::new();
    for node in root.each("actions")? {
        let (name, mut own, mut params) = (node.need("name")?.text()?, Names::default(), Vec::new());
        for param in node.each("runtime_data")? {
            let width = param.need("bitwidth")?.small(u32::from(netil::wide::MAX_WIDTH))?.max(1);
            params.push(Param { ident: own.fresh(param.need("name")?.text()?), width });
        }
        let id = node.need("id")?;
        let primitives = node.each("primitives")?;
        if all.insert(id.number()?, Action { name, params, primitives, node }).is_some() {
            return id.wrong("two actions have this number");
        }
    }
    Ok(all)
}

impl<'a> Action<'a> {
    /// Does nothing, and is called as the one of core.p4 that does nothing.
    pub fn is_no_action(&self) -> bool {
        self.name == "NoAction" && self.params.is_empty() && self.primitives.is_empty()
    }

    /// Whether another one, which has another number, is the same: p4c makes one for each table.
    pub fn same(&self, other: &Self) -> bool {
        let part = |action: &Self, name: &str| action.node.get(name);
        let equal = |name: &str| match (part(self, name), part(other, name)) {
            (Some(a), Some(b)) => a.same(&b),
            (a, b) => a.is_none() && b.is_none(),
        };
        self.name == other.name && equal("runtime_data") && equal("primitives")
    }

    /// Writes the action. The lines stand at its beginning.
    pub fn write(&self, heading: &str, first: &[String], objects: &Objects<'a>, layout: &Layout, text: &mut Text) -> Read<()> {
        let params: Vec<String> = self.params.iter().map(|p| format!("bit<{}> {}", p.width, p.ident)).collect();
        let mut statements = Statements { objects, scope: objects.scope(layout, &self.params) };
        let nodes = self.nodes(&mut statements)?;
        text.from(origin(&self.node));
        text.line(&format!("{heading}({}) {{", params.join(", ")));
        text.lines(first);
        match flow::write_rounds(&nodes, if nodes.is_empty() { END } else { 0 }, text) {
            Ok(()) => {}
            Err(Unwritten::Circle(n)) => return self.primitives[n].wrong("this primitive does nothing but come back to itself"),
            Err(Unwritten::Deep) => return self.node.wrong("conditions in this action are nested too deep"),
        }
        text.line("}");
        Ok(())
    }

    fn nodes(&self, statements: &mut Statements<'_, 'a>) -> Read<Vec<flow::Node>> {
        let mut nodes = Vec::new();
        for (n, primitive) in self.primitives.iter().enumerate() {
            let behind = |n: usize| if n < self.primitives.len() { n } else { END };
            let op = primitive.need("op")?.text()?;
            let (mut lines, mut arms) = (Vec::new(), Arms::One(behind(n + 1)));
            if let "_jump" | "_jump_if_zero" = op {
                let args = primitive.need("parameters")?.list()?;
                let Some(to) = args.last() else { return primitive.wrong("a jump has a target") };
                let target = to.need("value")?;
                let Some(to) = target.hex()?.to_usize().filter(|to| *to <= self.primitives.len()) else {
                    return target.wrong(format!("the action has {} primitives", self.primitives.len()));
                };
                arms = Arms::One(behind(to));
                if let [condition, _] = args.as_slice() {
                    let condition = statements.is_set(condition)?;
                    arms = Arms::If(condition, behind(n + 1), behind(to));
                }
            } else {
                lines = statements.primitive(op, primitive)?;
            }
            let mut all = std::mem::take(&mut statements.scope.before);
            all.append(&mut lines);
            nodes.push(flow::Node { lines: all, arms, origin: origin(primitive) });
        }
        Ok(nodes)
    }
}

impl<'a> Statements<'_, 'a> {
    /// Whether a number is not 0.
    fn is_set(&mut self, node: &Node<'_>) -> Read<String> {
        let inside = inner(node)?;
        if inside.get("op").map_or(Ok(""), |op| op.text())? == "b2d" {
            return self.scope.condition(&inside.need("right")?);
        }
        match self.scope.exact(node)? {
            (text, width, false) => Ok(format!("{text} != {width}w0")),
            (text, width, true) => Ok(format!("(bit<{width}>)({text}) != {width}w0")),
        }
    }

    /// A field that can be written to.
    pub fn target(&mut self, node: &Node<'_>) -> Read<FieldRef> {
        let inside = inner(node)?;
        match self.scope.place(&inside)? {
            Some(place) if place.kind != Kind::Error && place.kind != Kind::Valid => Ok(place),
            Some(_) => node.wrong("this field is not to be written to"),
            None => node.wrong("expected a field"),
        }
    }

    /// An assignment.
    pub fn assign(&mut self, to: &Node<'_>, value: &Node<'_>) -> Read<Vec<String>> {
        if let Some(FieldRef { text, kind: Kind::Error }) = self.scope.place(&inner(to)?)? {
            return Ok(vec![format!("{text} = {};", self.scope.error(value)?)]);
        }
        let target = self.target(to)?;
        let text = match target.kind {
            Kind::Bits(w) => self.scope.modulo(value, w)?,
            Kind::Signed(w) => format!("(int<{w}>)({})", self.scope.modulo(value, w)?),
            _ => match self.scope.place(&inner(value)?)? {
                Some(FieldRef { text, kind: Kind::Varying(_) }) => text,
                _ => return value.wrong("a field of varying length gets the value of another one"),
            },
        };
        Ok(vec![format!("{} = {text};", target.text)])
    }

    /// Statements for a primitive.
    pub fn primitive(&mut self, op: &str, node: &Node<'a>) -> Read<Vec<String>> {
        let args = node.need("parameters")?.list()?;
        let line = match (op, args.as_slice()) {
            ("no_op", []) => return Ok(Vec::new()),
            ("assign" | "assign_VL" | "modify_field", [to, value]) => return self.assign(to, value),
            ("mark_to_drop", [metadata]) => return self.dropped(metadata),
            ("drop" | "mark_to_drop", []) => "mark_to_drop(standard_metadata);".to_owned(),
            ("exit", []) => {
                let mut lines = self.scope.layout.keep();
                lines.push("exit;".to_owned());
                return Ok(lines);
            }
            ("add_header", [header]) => {
                let (place, ty) = self.scope.header(header)?;
                return Ok(self.scope.layout.made_valid(&place, ty));
            }
            ("add_header_fast", [header]) => format!("{}.setValid();", self.scope.header(header)?.0),
            ("remove_header", [header]) => format!("{}.setInvalid();", self.scope.header(header)?.0),
            ("assign_header" | "copy_header", [to, from]) => return self.copied(to, from),
            ("assign_union", [to, from]) => format!("{} = {};", self.scope.union(to)?.place, self.scope.union(from)?.place),
            ("assign_header_stack" | "assign_union_stack", [to, from]) => {
                format!("{} = {};", self.scope.stack(to)?.place, self.scope.stack(from)?.place)
            }
            ("push" | "pop", [stack, by]) => {
                let count = inner(by)?.need("value")?.hex()?;
                format!("{}.{op}_front({count});", self.scope.stack(stack)?.place)
            }
            _ => return self.more(op, &args, node),
        };
        Ok(vec![line])
    }

    /// The standard metadata, or a copy of them that the program has, say that the packet is
    /// dropped.
    fn dropped(&mut self, metadata: &Node<'a>) -> Read<Vec<String>> {
        let name = metadata.need("value")?;
        if name.text()? == "standard_metadata" {
            return Ok(vec!["mark_to_drop(standard_metadata);".to_owned()]);
        }
        let (place, ty) = self.scope.header(metadata)?;
        let fields = &self.scope.layout.types[ty].fields;
        let set = |(name, value): (&str, &str)| fields.iter().find(|f| f.name == name).map(|f| format!("{place}.{} = {value};", f.ident));
        Ok([("egress_spec", DROP_PORT), ("mcast_grp", "0")].into_iter().filter_map(set).collect())
    }

    /// Of an invalid header no field is copied.
    fn copied(&mut self, to: &Node<'_>, from: &Node<'_>) -> Read<Vec<String>> {
        let ((to_text, a), (from_text, b)) = (self.scope.header(to)?, self.scope.header(from)?);
        if a != b {
            return from.wrong("the headers are of different types");
        }
        let lines = [
            format!("if ({from_text}.isValid()) {{"),
            format!("{to_text} = {from_text};"),
            "}".to_owned(),
            "else {".to_owned(),
            format!("{to_text}.setInvalid();"),
            "}".to_owned(),
        ];
        Ok(lines.into())
    }

    fn more(&mut self, op: &str, args: &[Node<'a>], node: &Node<'a>) -> Read<Vec<String>> {
        if self.scope.layout.is_psa
            && let Some(lines) = self.portable(op, args)?
        {
            return Ok(lines);
        }
        if let Some(lines) = self.arithmetic(op, args)? {
            return Ok(lines);
        }
        if let Some(line) = self.stateful(op, args)? {
            return Ok(line);
        }
        if let Some(line) = self.replicating(op, args)? {
            return Ok(vec![line]);
        }
        match (op, args) {
            ("log_msg", [format, values]) => {
                let format = quoted(format.need("value")?.text()?);
                let mut all = Vec::new();
                // p4c writes an empty object where there are none.
                let values = values.need("value")?;
                let values = if values.is_object() { Vec::new() } else { values.list()? };
                for value in values {
                    all.push(self.scope.exact(&value)?.0);
                }
                let data = if all.is_empty() { String::new() } else { format!(", {{ {} }}", all.join(", ")) };
                Ok(vec![format!("log_msg({format}{data});")])
            }
            ("assert" | "assume", [condition]) => Ok(vec![format!("{op}({});", self.scope.condition(condition)?)]),
            _ => node.wrong(format!("the primitive `{op}` with {} parameters is not supported", args.len())),
        }
    }

    /// Primitives of old programs.
    fn arithmetic(&mut self, op: &str, args: &[Node<'_>]) -> Read<Option<Vec<String>>> {
        let (to, left, right) = match (op, args) {
            ("add_to_field" | "subtract_from_field", [to, value]) => (to, to, value),
            ("add" | "subtract" | "bit_xor" | "bit_or" | "bit_and" | "shift_left" | "shift_right", [to, a, b]) => (to, a, b),
            ("modify_field_rng_uniform", [to, a, b]) => (to, a, b),
            _ => return Ok(None),
        };
        let target = self.target(to)?;
        let (Kind::Bits(w) | Kind::Signed(w)) = target.kind else { return to.wrong("this field has no fixed width") };
        let text = match op {
            "shift_left" => format!("{} << {}", self.scope.modulo(left, w)?, self.unsigned(right)?),
            "shift_right" => {
                let (text, bits, _) = self.scope.exact(left)?;
                format!("(bit<{w}>)(bit<{bits}>)({text} >> {})", self.unsigned(right)?)
            }
            "modify_field_rng_uniform" => {
                let (low, high, temp) = (self.scope.modulo(left, w)?, self.scope.modulo(right, w)?, self.scope.temp());
                self.scope.before.push(format!("bit<{w}> {temp};"));
                self.scope.before.push(format!("random({temp}, {low}, {high});"));
                temp
            }
            _ => {
                let sign = match op {
                    "add_to_field" | "add" => "+",
                    "subtract_from_field" | "subtract" => "-",
                    "bit_xor" => "^",
                    "bit_or" => "|",
                    _ => "&",
                };
                format!("{} {sign} {}", self.scope.modulo(left, w)?, self.scope.modulo(right, w)?)
            }
        };
        let text = if let Kind::Signed(_) = target.kind { format!("(int<{w}>)({text})") } else { text };
        Ok(Some(vec![format!("{} = {text};", target.text)]))
    }

    fn unsigned(&mut self, node: &Node<'_>) -> Read<String> {
        match self.scope.exact(node)? {
            (text, _, false) => Ok(text),
            _ => node.wrong("expected a number that is not negative"),
        }
    }

    fn named(node: &Node<'_>, all: &HashMap<String, String>) -> Read<String> {
        let value = node.need("value")?;
        let name = value.text()?;
        all.get(name).cloned().map_or_else(|| value.wrong(format!("nothing is called `{name}`")), Ok)
    }

    /// Counters, meters, registers, hashes.
    fn stateful(&mut self, op: &str, args: &[Node<'_>]) -> Read<Option<Vec<String>>> {
        Ok(Some(match (op, args) {
            ("count", [counter, index]) => {
                vec![format!("{}.count({});", Self::named(counter, &self.objects.counters)?, self.scope.modulo(index, 32)?)]
            }
            ("execute_meter", [meter, index, to]) => {
                let (name, index) = (Self::named(meter, &self.objects.meters)?, self.scope.modulo(index, 32)?);
                self.through(to, |to| format!("{name}.execute_meter({index}, {to});"))?
            }
            ("register_read", [to, register, index]) => {
                let (name, width) = self.scope.register(&register.need("value")?)?;
                let (index, temp, target) = (self.scope.modulo(index, 32)?, self.scope.temp(), self.target(to)?);
                let (Kind::Bits(w) | Kind::Signed(w)) = target.kind else { return to.wrong("this field has no fixed width") };
                let cast = if let Kind::Signed(_) = target.kind { format!("(int<{w}>)") } else { String::new() };
                let read = if self.scope.layout.is_psa {
                    format!("{temp} = {name}.read({index});")
                } else {
                    format!("{name}.read({temp}, {index});")
                };
                vec![format!("bit<{width}> {temp};"), read, format!("{} = {cast}(bit<{w}>){temp};", target.text)]
            }
            ("register_write", [register, index, value]) => {
                let (name, width) = self.scope.register(&register.need("value")?)?;
                vec![format!("{name}.write({}, {});", self.scope.modulo(index, 32)?, self.scope.modulo(value, width)?)]
            }
            ("modify_field_with_hash_based_offset", [to, base, calculation, size]) => {
                let (algorithm, data, _) = self.objects.calculation(&calculation.need("value")?, self.scope.layout)?;
                let (base, size) = (self.unsigned(base)?, self.unsigned(size)?);
                self.through(to, |to| format!("hash({to}, {algorithm}, {base}, {data}, {size});"))?
            }
            _ => return Ok(None),
        }))
    }

    /// A call with a result; a signed field gets it by way of a variable.
    fn through(&mut self, to: &Node<'_>, call: impl FnOnce(&str) -> String) -> Read<Vec<String>> {
        let target = self.target(to)?;
        match target.kind {
            Kind::Bits(_) => Ok(vec![call(&target.text)]),
            Kind::Signed(w) => {
                let temp = self.scope.temp();
                Ok(vec![format!("bit<{w}> {temp};"), call(&temp), format!("{} = (int<{w}>){temp};", target.text)])
            }
            _ => to.wrong("this field has no fixed width"),
        }
    }

    /// The field list that is named, if the file has it.
    fn list(&self, given: &[Node<'_>]) -> Read<Option<u64>> {
        let Some(first) = given.first() else { return Ok(None) };
        let number = first.need("value")?.hex()?.to_u64();
        Ok(number.filter(|n| self.objects.lists.contains(n)))
    }

    /// Clones, packets that go round, digests.
    fn replicating(&mut self, op: &str, args: &[Node<'_>]) -> Read<Option<String>> {
        Ok(Some(match (op, args) {
            ("clone_ingress_pkt_to_egress" | "clone_egress_pkt_to_egress", [session, lists @ ..]) => {
                let way = if op.starts_with("clone_i") { "I2E" } else { "E2E" };
                let session = self.scope.modulo(session, 32)?;
                match self.list(lists)? {
                    Some(list) => format!("clone_preserving_field_list(CloneType.{way}, {session}, 8w{list});"),
                    None => format!("clone(CloneType.{way}, {session});"),
                }
            }
            ("resubmit" | "recirculate", lists) => {
                // 0 is no list of any file.
                format!("{op}_preserving_field_list(8w{});", self.list(lists)?.unwrap_or(0))
            }
            ("truncate", [length]) => format!("truncate({});", self.scope.modulo(length, 32)?),
            ("generate_digest", [receiver, list]) => {
                let id = list.need("value")?;
                let Some((ident, fields)) = id.hex()?.to_u64().and_then(|n| self.objects.digests.get(&n)) else {
                    return id.wrong("no learn list has this number");
                };
                let mut all = Vec::new();
                for field in fields {
                    all.push(self.scope.layout.field(field)?.text);
                }
                let receiver = literal(&receiver.need("value")?.hex()?, 32);
                format!("digest<{ident}>({receiver}, {{ {} }});", all.join(", "))
            }
            _ => return Ok(None),
        }))
    }
}
