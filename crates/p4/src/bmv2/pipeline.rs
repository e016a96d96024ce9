//! Ingress and egress: actions, tables, and what comes behind what.
//!
//! A table without keys that p4c has made for statements (`tbl_...`, with a constant action) is a
//! call of the action. An action of a table with a direct meter is the table's own, as it begins
//! with the colour.

use super::action::Action;
use super::expr::literal;
use super::field::Kind;
use super::flow::{self, Arms, END, Unwritten};
use super::json::{Node, Read};
use super::layout::Layout;
use super::objects::Objects;
use super::parser::key_value;
use super::text::{Names, Text, named, origin};
use num_bigint::BigInt;
use num_traits::{One, Zero};
use std::collections::{BTreeMap, HashMap, HashSet};

/// What controls for v1model work on.
pub(super) const PARAMETERS: &str = "inout hdr_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata";
/// The control of egress.
pub(super) const EGRESS: &str = "EgressImpl";
/// Values of `instance_type`: clones of what came in, and of what egress made.
const CLONES: [u32; 2] = [1, 2];

pub(super) struct Pipelines<'s, 'a> {
    pub objects: &'s Objects<'a>,
    pub layout: &'s Layout,
    pub actions: &'s HashMap<u64, Action<'a>>,
}

/// The names of one pipeline.
struct Own<'a> {
    tables: Vec<(Node<'a>, String)>,
    conditions: Vec<Node<'a>>,
    calls: Vec<Node<'a>>,
    /// Tables, conditions and calls, in this order, by their names.
    nodes: HashMap<&'a str, usize>,
    /// By the table that has its own, and the action's number.
    actions: BTreeMap<(Option<usize>, u64), String>,
    /// Actions of tables.
    shown: HashSet<String>,
}

impl<'a> Pipelines<'_, 'a> {
    /// Writes a control.
    pub fn write(&self, node: &Node<'a>, ident: &str, params: &str, names: &mut Names, text: &mut Text) -> Read<()> {
        let own = self.own(node, &mut names.clone())?;
        text.from(origin(node));
        let keeps = !self.layout.keep().is_empty();
        let body = if keeps { format!("{ident}Body") } else { ident.to_owned() };
        text.line(&format!("control {body}({params}) {{"));
        let mut written = HashSet::from(["NoAction"]);
        for ((table, id), ident) in own.actions.iter().filter(|(_, ident)| written.insert(ident.as_str())) {
            let action = self.action(*id, node)?;
            let first = table.map_or(Ok(None), |n| self.colour(&own.tables[n].0))?;
            let first: Vec<String> = first.into_iter().collect();
            // What only stands for statements is not for the control plane.
            let hidden = if own.shown.contains(ident) { "" } else { "@hidden " };
            action.write(&format!("{hidden}{} action {ident}", named(action.name)), &first, self.objects, self.layout, text)?;
        }
        for (n, (table, ident)) in own.tables.iter().enumerate() {
            if !is_call(table)? {
                self.table(table, ident, &own.of(n, table, self)?, text)?;
            }
        }
        let nodes = self.nodes(&own)?;
        let start = node.get("init_table").map_or(Ok(END), |name| own.node(&name))?;
        text.line("apply {");
        match flow::write(&nodes, start, text) {
            Ok(()) => {}
            Err(Unwritten::Circle(n)) => return own.place(n).wrong("control comes here again and again"),
            Err(Unwritten::Deep) => return node.wrong("conditions are nested too deep"),
        }
        text.line("}");
        text.line("}");
        if keeps {
            self.keeping(ident, &body, text);
        }
        Ok(())
    }

    /// Writes the control around the one that the file means: clones get the standard metadata of
    /// field lists back where egress begins, and at the end it is kept.
    fn keeping(&self, ident: &str, body: &str, text: &mut Text) {
        text.line(&format!("control {ident}({PARAMETERS}) {{"));
        text.line(&format!("{body}() body;"));
        text.line("apply {");
        let kept = self.layout.kept(true);
        if ident == EGRESS && !kept.is_empty() {
            let clone: Vec<String> = CLONES.iter().map(|way| format!("standard_metadata.instance_type == {way}")).collect();
            text.line(&format!("if ({}) {{", clone.join(" || ")));
            text.lines(&kept);
            text.line("}");
        }
        text.line("body.apply(hdr, meta, standard_metadata);");
        text.lines(&self.layout.keep());
        text.line("}");
        text.line("}");
    }

    fn action(&self, id: u64, node: &Node<'_>) -> Read<&Action<'a>> {
        self.actions.get(&id).map_or_else(|| node.wrong(format!("no action has the number {id}")), Ok)
    }

    fn own(&self, node: &Node<'a>, names: &mut Names) -> Read<Own<'a>> {
        let mut own = Own {
            tables: Vec::new(),
            conditions: node.each("conditionals")?,
            calls: node.each("action_calls")?,
            nodes: HashMap::new(),
            actions: BTreeMap::new(),
            shown: HashSet::new(),
        };
        for table in node.each("tables")? {
            let ident = names.fresh(table.need("name")?.text()?);
            own.tables.push((table, ident));
        }
        for at in 0..own.tables.len() + own.conditions.len() + own.calls.len() {
            let name = own.place(at).need("name")?;
            if own.nodes.insert(name.text()?, at).is_some() {
                return name.wrong("this name is not the only one");
            }
        }
        self.name_actions(&mut own, node, names)?;
        for (n, (table, _)) in own.tables.iter().enumerate() {
            if !is_call(table)? {
                let actions = own.of(n, table, self)?;
                own.shown.extend(actions.into_iter().map(|(_, ident)| ident));
            }
        }
        Ok(own)
    }

    /// Gives names to the actions that tables and calls have: one to those that are the same.
    fn name_actions(&self, own: &mut Own<'a>, node: &Node<'a>, names: &mut Names) -> Read<()> {
        let mut wanted: Vec<(Option<usize>, u64)> = Vec::new();
        for (n, (table, _)) in own.tables.iter().enumerate() {
            let metered = table.get("direct_meters").map(|_| n);
            wanted.extend(self.ids(table)?.into_iter().map(|id| (metered, id)));
            if let Some(default) = table.get("default_entry") {
                wanted.push((metered, default.need("action_id")?.number()?));
            }
        }
        for call in &own.calls {
            wanted.push((None, call.need("action_id")?.number()?));
        }
        for key in wanted {
            let action = self.action(key.1, node)?;
            let alike = |(table, id): &(Option<usize>, u64)| *table == key.0 && self.actions.get(id).is_some_and(|a| a.same(action));
            let known = own.actions.iter().find(|(other, _)| alike(other)).map(|(_, ident)| ident.clone());
            let ident = match known {
                Some(ident) => ident,
                None if key.0.is_none() && action.is_no_action() => "NoAction".to_owned(),
                None => names.fresh(action.name),
            };
            own.actions.insert(key, ident);
        }
        Ok(())
    }

    /// The numbers of a table's actions; old files have only their names.
    fn ids(&self, table: &Node<'a>) -> Read<Vec<u64>> {
        if table.get("action_ids").is_some() {
            return table.each("action_ids")?.iter().map(Node::number).collect();
        }
        let mut ids = Vec::new();
        for node in table.need("actions")?.list()? {
            let name = node.text()?;
            match self.actions.iter().filter(|(_, action)| action.name == name).map(|(id, _)| *id).min() {
                Some(id) => ids.push(id),
                None => return node.wrong(format!("no action is called `{name}`")),
            }
        }
        Ok(ids)
    }

    /// The statement that reads a table's meter.
    fn colour(&self, table: &Node<'_>) -> Read<Option<String>> {
        let Some(name) = table.get("direct_meters") else { return Ok(None) };
        match self.objects.direct_meters.get(name.text()?) {
            Some(meter) => match &meter.target {
                Some(target) => {
                    let place = self.layout.field(target)?;
                    Ok(Some(match place.kind {
                        Kind::Bits(width) if self.layout.is_psa => {
                            format!("{} = (bit<{width}>)(bit<32>){}.execute();", place.text, meter.ident)
                        }
                        _ => format!("{}.read({});", meter.ident, place.text),
                    }))
                }
                None => Ok(None),
            },
            None => name.wrong("no direct meter has this name"),
        }
    }

    fn nodes(&self, own: &Own<'a>) -> Read<Vec<flow::Node>> {
        let mut nodes = Vec::new();
        for (n, (table, ident)) in own.tables.iter().enumerate() {
            let (lines, arms) = if is_call(table)? { self.call(own, n, table)? } else { self.applied(own, n, table, ident)? };
            nodes.push(flow::Node { lines, arms, origin: origin(table) });
        }
        for condition in &own.conditions {
            let mut scope = self.objects.scope(self.layout, &[]);
            let text = scope.condition(&condition.need("expression")?)?;
            let arms = Arms::If(text, own.next(condition, "true_next")?, own.next(condition, "false_next")?);
            nodes.push(flow::Node { lines: scope.before, arms, origin: origin(condition) });
        }
        for call in &own.calls {
            let id = call.need("action_id")?.number()?;
            if !self.action(id, call)?.params.is_empty() {
                return call.wrong("an action that is called has no parameters");
            }
            let lines = vec![format!("{}();", own.actions[&(None, id)])];
            nodes.push(flow::Node { lines, arms: Arms::One(own.next(call, "next_node")?), origin: origin(call) });
        }
        Ok(nodes)
    }

    /// The call that a table is.
    fn call(&self, own: &Own<'a>, n: usize, table: &Node<'a>) -> Read<(Vec<String>, Arms)> {
        let default = table.need("default_entry")?;
        let call = self.reference(&default, "action_id", "action_data", &own.of(n, table, self)?)?;
        let action = self.action(default.need("action_id")?.number()?, table)?;
        let next = table.need("next_tables")?;
        let to = if next.get("__HIT__").is_some() || next.get("__MISS__").is_some() {
            own.next(&next, "__MISS__")?
        } else if next.members()?.iter().any(|(name, _)| *name == action.name) {
            own.next(&next, action.name)?
        } else {
            own.next(table, "base_default_next")?
        };
        Ok((vec![format!("{call};")], Arms::One(to)))
    }

    fn applied(&self, own: &Own<'a>, n: usize, table: &Node<'a>, ident: &str) -> Read<(Vec<String>, Arms)> {
        let next = table.need("next_tables")?;
        let members = next.members()?;
        if members.iter().any(|(name, _)| *name == "__HIT__" || *name == "__MISS__") {
            let (hit, miss) = (own.next(&next, "__HIT__")?, own.next(&next, "__MISS__")?);
            return Ok(if hit == miss {
                (vec![format!("{ident}.apply();")], Arms::One(hit))
            } else {
                (Vec::new(), Arms::If(format!("{ident}.apply().hit"), hit, miss))
            });
        }
        let otherwise = own.next(table, "base_default_next")?;
        let mut arms: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        for (id, action) in own.of(n, table, self)? {
            let name = self.action(id, table)?.name;
            let to = if members.iter().any(|(n, _)| *n == name) { own.next(&next, name)? } else { otherwise };
            let labels = arms.entry(to).or_default();
            if !labels.contains(&action) {
                labels.push(action);
            }
        }
        if arms.len() <= 1 {
            let to = arms.keys().next().copied().unwrap_or(otherwise);
            return Ok((vec![format!("{ident}.apply();")], Arms::One(to)));
        }
        // Where no action runs, as a group is empty, it is as after a table without entries.
        let rest = if arms.contains_key(&otherwise) { otherwise } else { arms.keys().next_back().copied().unwrap_or(END) };
        let mut all: Vec<(Vec<String>, usize)> = arms.into_iter().filter(|(to, _)| *to != rest).map(|(to, labels)| (labels, to)).collect();
        all.push((Vec::new(), rest));
        Ok((Vec::new(), Arms::Switch(format!("{ident}.apply().action_run"), all)))
    }

    /// An action with constant arguments.
    fn reference(&self, node: &Node<'a>, id: &str, data: &str, actions: &[(u64, String)]) -> Read<String> {
        let id = node.need(id)?;
        let Some((number, ident)) = actions.iter().find(|(n, _)| Ok(*n) == id.number().map_err(drop)) else {
            return id.wrong("the table has no such action");
        };
        let (params, values) = (&self.action(*number, node)?.params, node.each(data)?);
        if params.len() != values.len() {
            return node.wrong(format!("the action has {} parameters", params.len()));
        }
        let args: Vec<String> = params.iter().zip(&values).map(|(p, v)| Ok(literal(&v.hex()?, p.width.into()))).collect::<Read<_>>()?;
        Ok(format!("{ident}({})", args.join(", ")))
    }

    fn table(&self, table: &Node<'a>, ident: &str, actions: &[(u64, String)], text: &mut Text) -> Read<()> {
        text.from(origin(table));
        let name = table.need("name")?.text()?;
        text.line(&format!("{} table {ident} {{", named(name)));
        let profile = match table.need("type").map_or(Ok("simple"), |t| t.text())? {
            "simple" => None,
            _ => {
                let profile =
                    table.get("action_profile").or_else(|| table.get("act_prof_name")).map_or_else(|| table.need("action_profile"), Ok)?;
                Some(self.objects.profiles.get(profile.text()?).map_or_else(|| profile.wrong("no action profile has this name"), Ok)?)
            }
        };
        let kinds = self.keys(table, profile.map_or(&[][..], |(_, inputs)| inputs), text)?;
        text.line("actions = {");
        let mut listed = HashSet::new();
        actions.iter().filter(|(_, ident)| listed.insert(ident)).for_each(|(_, ident)| text.line(&format!("{ident};")));
        text.line("}");
        if let Some(default) = table.get("default_entry") {
            let fixed = default.flag("action_const", false)? && default.flag("action_entry_const", false)?;
            let call = self.reference(&default, "action_id", "action_data", actions)?;
            text.line(&format!("{}default_action = {call};", if fixed { "const " } else { "" }));
        } else if let Some((_, ident)) =
            actions.iter().find(|(id, _)| self.actions[id].name == "NoAction" && self.actions[id].params.is_empty())
        {
            text.line(&format!("default_action = {ident}();"));
        }
        if let Some(size) = table.get("max_size") {
            text.line(&format!("size = {};", size.small(u32::MAX)?.max(1)));
        }
        self.properties(table, name, profile.map(|(ident, _)| ident.as_str()), text)?;
        self.entries(table, &kinds, actions, text)?;
        text.line("}");
        Ok(())
    }

    fn properties(&self, table: &Node<'a>, name: &str, profile: Option<&str>, text: &mut Text) -> Read<()> {
        if table.flag("support_timeout", false)? {
            text.line(if self.layout.is_psa { "psa_idle_timeout = PSA_IdleTimeout_t.NOTIFY_CONTROL;" } else { "support_timeout = true;" });
        }
        if table.flag("with_counters", false)?
            && let Some(counter) = self.objects.direct_counters.get(name)
        {
            text.line(&format!("{} = {};", if self.layout.is_psa { "psa_direct_counter" } else { "counters" }, counter.ident));
        }
        if let Some(meter) = table.get("direct_meters") {
            let found = self.objects.direct_meters.get(meter.text()?);
            let found = found.map_or_else(|| meter.wrong("no direct meter has this name"), Ok)?;
            text.line(&format!("{} = {};", if self.layout.is_psa { "psa_direct_meter" } else { "meters" }, found.ident));
        }
        if let Some(profile) = profile {
            text.line(&format!("{} = {profile};", if self.layout.is_psa { "psa_implementation" } else { "implementation" }));
        }
        Ok(())
    }

    /// Writes the keys; what they hold.
    fn keys(&self, table: &Node<'a>, selector: &[Node<'a>], text: &mut Text) -> Read<Vec<Option<Kind>>> {
        let (keys, mut kinds) = (table.each("key")?, Vec::new());
        if keys.is_empty() && selector.is_empty() {
            return Ok(kinds);
        }
        text.line("key = {");
        for key in &keys {
            let (target, what) = (key.need("target")?, key.need("match_type")?);
            let given = key.get("name").map_or(Ok(None), |n| n.text().map(Some))?;
            if what.text()? == "valid" {
                let header = if target.is_text() {
                    target.clone()
                } else {
                    target.list()?.first().cloned().map_or_else(|| target.wrong("expected a header"), Ok)?
                };
                let name = given.map_or_else(|| format!("{}.$valid$", header.text().unwrap_or_default()), str::to_owned);
                text.line(&format!("{}.isValid() : exact @name({});", self.layout.header(&header)?.place, super::text::quoted(&name)));
                kinds.push(None);
                continue;
            }
            let (place, what) = (self.layout.field(&target)?, match_kind(&what)?);
            let parts: Vec<&str> = target.list()?.iter().map(Node::text).collect::<Read<_>>()?;
            let name = given.map_or_else(|| parts.join("."), str::to_owned);
            let (mask, counted) = match (key.get("mask"), place.kind) {
                (Some(mask), Kind::Bits(w)) => {
                    let mask = mask.hex()?;
                    (format!(" & {}", literal(&mask, w.into())), super::counted(&mask))
                }
                (Some(mask), _) => return mask.wrong("this field has no mask"),
                (None, _) => (String::new(), String::new()),
            };
            text.line(&format!("{}{mask} : {what} @name({}){counted};", place.text, super::text::quoted(&name)));
            kinds.push(Some(place.kind));
        }
        for input in selector {
            text.line(&format!("{} : selector;", self.layout.field(&input.need("value")?)?.text));
        }
        text.line("}");
        Ok(kinds)
    }

    fn entries(&self, table: &Node<'a>, kinds: &[Option<Kind>], actions: &[(u64, String)], text: &mut Text) -> Read<()> {
        let mut entries = Vec::new();
        for entry in table.each("entries")? {
            let keys = entry.need("match_key")?.list()?;
            if keys.len() != kinds.len() {
                return entry.need("match_key")?.wrong(format!("the table has {} keys", kinds.len()));
            }
            let keys: Vec<String> = keys.iter().zip(kinds).map(|(key, kind)| self.entry_key(key, *kind)).collect::<Read<_>>()?;
            let keys = if let [one] = keys.as_slice() { one.clone() } else { format!("({})", keys.join(", ")) };
            let call = self.reference(&entry.need("action_entry")?, "action_id", "action_data", actions)?;
            let priority = entry.get("priority").map_or(Ok(0), |p| p.number())?;
            entries.push((priority, format!("{keys} : {call};"), origin(&entry)));
        }
        if table.get("entries").is_none() || kinds.is_empty() {
            return Ok(());
        }
        // The lowest priority wins; in P4 the first one.
        entries.sort_by_key(|(priority, ..)| *priority);
        text.line("const entries = {");
        for (_, line, origin) in entries {
            text.from(origin);
            text.line(&line);
        }
        text.line("}");
        Ok(())
    }

    fn entry_key(&self, key: &Node<'_>, kind: Option<Kind>) -> Read<String> {
        let what = key.need("match_type")?.text()?;
        let Some(kind) = kind else {
            return match key.need("key")?.boolean() {
                Some(value) => Ok(value.to_string()),
                None => key.wrong("expected true or false"),
            };
        };
        let part = |name: &str| -> Read<String> {
            let node = key.need(name)?;
            let value = node.hex()?;
            key_value(kind, &value, self.objects).map_or_else(|| node.wrong("this is no value of the key"), Ok)
        };
        let (Kind::Bits(width) | Kind::Signed(width)) = kind else { return part("key") };
        match what {
            "exact" => part("key"),
            "optional" if key.get("key").is_none() => Ok("_".to_owned()),
            "optional" | "ternary" => match key.get("mask").map_or(Ok(None), |m| m.hex().map(Some))? {
                Some(mask) if mask.is_zero() => Ok("_".to_owned()),
                Some(_) if what == "ternary" => Ok(format!("{} &&& {}", part("key")?, part("mask")?)),
                _ => part("key"),
            },
            "lpm" => {
                let length = key.need("prefix_length")?.small(width)?;
                let mask = ((BigInt::one() << width) - 1) ^ ((BigInt::one() << (width - length)) - 1);
                let mask = key_value(kind, &mask, self.objects).unwrap_or_default();
                Ok(if length == 0 { "_".to_owned() } else { format!("{} &&& {mask}", part("key")?) })
            }
            "range" => Ok(format!("{} .. {}", part("start")?, part("end")?)),
            other => key.wrong(format!("no key is matched as `{other}`")),
        }
    }
}

impl<'a> Own<'a> {
    fn place(&self, n: usize) -> &Node<'a> {
        let (tables, conditions) = (self.tables.len(), self.conditions.len());
        if n < tables {
            &self.tables[n].0
        } else if n < tables + conditions {
            &self.conditions[n - tables]
        } else {
            &self.calls[n - tables - conditions]
        }
    }

    fn node(&self, name: &Node<'_>) -> Read<usize> {
        let text = name.text()?;
        self.nodes.get(text).copied().map_or_else(|| name.wrong(format!("nothing is called `{text}` in this pipeline")), Ok)
    }

    /// What a member names; the end if it names nothing.
    fn next(&self, node: &Node<'_>, member: &str) -> Read<usize> {
        node.get(member).map_or(Ok(END), |name| self.node(&name))
    }

    /// The actions of a table, that of its default entry among them, each once.
    fn of(&self, n: usize, table: &Node<'a>, all: &Pipelines<'_, 'a>) -> Read<Vec<(u64, String)>> {
        let (mut ids, mut seen) = (all.ids(table)?, HashSet::new());
        if let Some(default) = table.get("default_entry") {
            ids.push(default.need("action_id")?.number()?);
        }
        ids.retain(|id| seen.insert(*id));
        let metered = table.get("direct_meters").map(|_| n);
        ids.into_iter()
            .map(|id| all.action(id, table).map(|_| (id, self.actions.get(&(metered, id)).cloned().unwrap_or_default())))
            .collect()
    }
}

/// A table that p4c has made for statements.
fn is_call(table: &Node<'_>) -> Read<bool> {
    let Some(default) = table.get("default_entry") else { return Ok(false) };
    Ok(table.need("name")?.text()?.starts_with("tbl_")
        && table.each("key")?.is_empty()
        && table.get("direct_meters").is_none()
        && !table.flag("with_counters", false)?
        && default.flag("action_const", false)?
        && default.flag("action_entry_const", false)?)
}

fn match_kind(node: &Node<'_>) -> Read<&'static str> {
    let name = node.text()?;
    ["exact", "lpm", "ternary", "range", "optional"]
        .into_iter()
        .find(|kind| *kind == name)
        .map_or_else(|| node.wrong(format!("no key is matched as `{name}`")), Ok)
}
