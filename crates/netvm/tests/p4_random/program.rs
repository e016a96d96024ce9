//! Whole programs by chance: headers, a parser whose states go forward, tables with entries,
//! ingress and egress.

use super::Chance;
use super::values::{Effect, Goes, Meaning, Scope, Statement, Var, World, type_of, wrap};
use netvm::p4::{BigInt, KeyMatch};
use std::fmt::Write as _;
use std::rc::Rc;

/// A header: the first of its variables, and their widths.
pub(crate) struct Header {
    pub first: usize,
    pub widths: Vec<u32>,
}

/// Whether a key is meant.
pub(crate) type Holds = Box<dyn Fn(&BigInt) -> bool>;

/// A case of `select`: its text, whether a key is meant, a key that is, and the state behind.
pub(crate) struct Case {
    pub text: String,
    pub holds: Holds,
    pub example: BigInt,
    pub to: usize,
}

/// A state: the header that it extracts and the field that it selects by. States behind the last
/// are `accept` and `reject`.
pub(crate) struct State {
    pub header: usize,
    pub key: usize,
    pub cases: Vec<Case>,
}

/// An action: the variables of its parameters.
pub(crate) struct Action {
    pub name: String,
    pub params: Vec<usize>,
    pub body: Effect,
}

pub(crate) struct Key {
    pub kind: &'static str,
    pub width: u32,
    pub value: Meaning<BigInt>,
}

pub(crate) struct Entry {
    pub keys: Vec<KeyMatch>,
    pub priority: u32,
    pub action: usize,
    pub args: Vec<BigInt>,
}

/// A table: its actions, the default one last, and its entries.
pub(crate) struct Table {
    pub name: String,
    pub keys: Vec<Key>,
    pub entries: Vec<Entry>,
    pub actions: Vec<Action>,
}

pub(crate) struct Program {
    pub text: String,
    pub headers: Vec<Header>,
    pub states: Vec<State>,
    pub tables: Vec<Rc<Table>>,
    pub vars: Vec<Var>,
    pub blocks: [Effect; 2],
}

/// The variable with the port; the first one behind those of headers.
const META: [(&str, u32, bool); 6] =
    [("port", 3, false), ("a", 8, false), ("b", 17, true), ("c", 64, false), ("d", 1, false), ("e", 100, true)];

struct Maker<'c> {
    chance: &'c mut Chance,
    scope: Scope,
    /// Declarations of the control that is made.
    declared: String,
    tables: Vec<Rc<Table>>,
    names: u32,
}

/// Makes a program; a careful one for BMv2, see [`Scope::careful`].
pub(crate) fn make(chance: &mut Chance, careful: bool) -> Program {
    let (mut scope, mut headers, mut types) = (Scope { careful, ..Scope::default() }, Vec::new(), String::new());
    for h in 0..2 + chance.below(3) as usize {
        let (first, mut widths, mut bits) = (scope.vars.len(), Vec::new(), 0);
        let _ = writeln!(types, "header h{h}_t {{");
        while bits % 8 != 0 || bits == 0 || chance.below(3) > 0 && bits < 300 {
            let odd = [1, 3, 4, 7, 8, 9, 12, 16, 32, 48, 65, 128][chance.below(12) as usize];
            let width = if bits % 8 != 0 && chance.below(2) == 0 { 8 - bits % 8 } else { odd };
            // Careful programs select by the first field at the worst, as p4c confuses signed ones
            // with others.
            let signed = chance.below(4) == 0 && width > 1 && !(careful && widths.is_empty());
            let _ = writeln!(types, "{} f{};", type_of(width, signed), widths.len());
            scope.vars.push(Var { text: format!("h.h{h}.f{}", widths.len()), width, signed, header: Some(h) });
            widths.push(width);
            bits += width;
        }
        types += "}\n";
        scope.headers.push(format!("h.h{h}"));
        headers.push(Header { first, widths });
    }
    let members: String = (0..headers.len()).map(|h| format!("h{h}_t h{h}; ")).collect();
    let _ = writeln!(types, "struct H {{ {members}}}\nstruct M {{");
    for (name, width, signed) in META {
        let _ = writeln!(types, "{} {name};", type_of(width, signed));
        scope.vars.push(Var { text: format!("m.{name}"), width, signed, header: None });
    }
    types += "}\n";
    scope.seen = (0..scope.vars.len()).collect();
    let states = parser(chance, &headers, &scope);
    let mut maker = Maker { chance, scope, declared: String::new(), tables: Vec::new(), names: 0 };
    let mut text = format!("#include <v1model.p4>\n{types}{}", parser_text(&states, &maker.scope));
    text += "control N(inout H h, inout M m) { apply {} }\n";
    let mut blocks: Vec<Effect> = Vec::new();
    for name in ["In", "Out"] {
        maker.declared.clear();
        let (body, effect) = maker.block(2, false);
        let port = if name == "In" { "s.egress_spec = (bit<9>)m.port;\n" } else { "" };
        let head = format!("control {name}(inout H h, inout M m, inout standard_metadata_t s)");
        // What the program does may end early; the port is set by another control in front of the
        // end.
        let _ = write!(text, "control {name}Body(inout H h, inout M m) {{\n{}apply {{\n{body}}}\n}}\n", maker.declared);
        let _ = writeln!(text, "{head} {{ {name}Body() body; apply {{ {port}body.apply(h, m);\n{port}}} }}");
        blocks.push(effect);
    }
    let emits: String = (0..headers.len()).map(|h| format!("p.emit(h.h{h}); ")).collect();
    let _ = writeln!(text, "control D(packet_out p, in H h) {{ apply {{ {emits}}} }}\nV1Switch(P(), N(), In(), Out(), N(), D()) main;");
    let (tables, vars) = (maker.tables, maker.scope.vars);
    let blocks = <[Effect; 2]>::try_from(blocks).unwrap_or_else(|_| unreachable!());
    Program { text, headers, states, tables, vars, blocks }
}

fn parser(chance: &mut Chance, headers: &[Header], scope: &Scope) -> Vec<State> {
    let count = headers.len();
    let mut states = Vec::new();
    for (n, header) in headers.iter().enumerate() {
        let key = header.first + chance.below(header.widths.len() as u64) as usize;
        let key = if scope.careful && scope.vars[key].signed { header.first } else { key };
        let Var { width, signed, .. } = scope.vars[key];
        let mut cases = Vec::new();
        let shown = |v: &BigInt| if signed { format!("(int<{width}>){width}w{}", wrap(v, width, false)) } else { format!("{width}w{v}") };
        for _ in 0..chance.below(4) {
            let value = wrap(&chance.number(width), width, signed);
            let to = n + 1 + chance.below((count - n) as u64 + 1) as usize;
            let (a, b) = (value.clone(), wrap(&chance.number(width), width, signed));
            // Of what holds for all keys p4c makes a second default case, and BMv2 takes the last
            // one.
            let b = if scope.careful && b == BigInt::from(0) { BigInt::from(1) } else { b };
            let (text, holds): (String, Holds) = match chance.below(3) {
                0 => (shown(&a), Box::new(move |k| *k == a)),
                1 if !signed => (format!("{} &&& {}", shown(&a), shown(&b)), Box::new(move |k| k & &b == &a & &b)),
                _ => {
                    let (low, high) = (a.clone().min(b.clone()), a.max(b));
                    let all = scope.careful && (&high - &low + 1u32).bits() > u64::from(width);
                    let high = if all { low.clone() } else { high };
                    (format!("{} .. {}", shown(&low), shown(&high)), Box::new(move |k| *k >= low && *k <= high))
                }
            };
            cases.push(Case { text, holds, example: value, to });
        }
        let to = n + 1 + chance.below((count - n) as u64) as usize;
        cases.push(Case { text: "default".to_owned(), holds: Box::new(|_| true), example: wrap(&chance.number(width), width, signed), to });
        states.push(State { header: n, key, cases });
    }
    states
}

fn parser_text(states: &[State], scope: &Scope) -> String {
    let name = |n: usize| {
        if n < states.len() {
            format!("s{n}")
        } else if n == states.len() {
            "accept".to_owned()
        } else {
            "reject".to_owned()
        }
    };
    let mut text = "parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) {\nstate start { transition s0; }\n".to_owned();
    for (n, state) in states.iter().enumerate() {
        let _ = writeln!(text, "state s{n} {{ p.extract(h.h{}); transition select({}) {{", state.header, scope.vars[state.key].text);
        for case in &state.cases {
            let _ = writeln!(text, "{}: {};", case.text, name(case.to));
        }
        text += "} }\n";
    }
    text + "}\n"
}

impl Maker<'_> {
    fn name(&mut self, what: &str) -> String {
        self.names += 1;
        format!("{what}{}", self.names)
    }

    /// A new variable that is seen from here on.
    fn var(&mut self, text: String, width: u32, signed: bool) -> usize {
        self.scope.vars.push(Var { text, width, signed, header: None });
        self.scope.seen.push(self.scope.vars.len() - 1);
        self.scope.vars.len() - 1
    }

    /// Some statements.
    fn block(&mut self, depth: u32, in_loop: bool) -> Statement {
        let seen = self.scope.seen.len();
        let (mut text, mut all) = (String::new(), Vec::new());
        for _ in 0..2 + self.chance.below(4) {
            let (line, effect) = self.statement(depth, in_loop);
            text += &line;
            all.push(effect);
        }
        self.scope.seen.truncate(seen);
        let effect = move |w: &mut World| all.iter().map(|one| one(w)).find(|goes| *goes != Goes::On).unwrap_or(Goes::On);
        (text, Box::new(effect))
    }

    fn statement(&mut self, depth: u32, in_loop: bool) -> Statement {
        match self.chance.below(if depth > 0 { 16 } else { 8 }) {
            0 => self.made_valid(),
            1 => {
                let (width, signed) = ([1, 8, 13, 32, 70][self.chance.below(5) as usize], self.chance.below(3) == 0);
                let signed = signed && width > 1;
                let (value, x) = self.scope.number(self.chance, width, signed, 2);
                let name = self.name("v");
                let text = format!("{} {name} = {value};\n", type_of(width, signed));
                let n = self.var(name, width, signed);
                let effect = move |w: &mut World| {
                    w.values[n] = x(w);
                    Goes::On
                };
                (text, Box::new(effect))
            }
            8 | 9 => self.branch(depth, in_loop),
            10 | 11 => self.applied(depth, in_loop),
            12 => self.cases(depth, in_loop),
            // p4c leaves the loop out of a control, and keeps its body.
            13 if !self.scope.careful => self.repeated(depth),
            14 => {
                let (condition, holds) = self.scope.condition(self.chance, 1);
                let (word, goes) = match self.chance.below(4) {
                    0 => ("exit", Goes::Exit),
                    1 if in_loop => ("break", Goes::Break),
                    2 if in_loop => ("continue", Goes::Continue),
                    _ => ("return", Goes::Return),
                };
                (format!("if ({condition}) {{ {word}; }}\n"), Box::new(move |w| if holds(w) { goes } else { Goes::On }))
            }
            13 | 15 => self.called(),
            _ => {
                let to = self.scope.any(self.chance);
                self.scope.assignment(self.chance, to, 3)
            }
        }
    }

    /// A header becomes valid or invalid. Fields of one that was invalid are 0, which the language
    /// leaves open.
    fn made_valid(&mut self) -> Statement {
        let (n, valid) = (self.chance.below(self.scope.headers.len() as u64) as usize, self.chance.below(2) == 0);
        let (name, clears) = (self.scope.headers[n].clone(), valid && self.scope.careful);
        let text = format!("{name}.set{}();\n", if valid { "Valid" } else { "Invalid" });
        let all = self.scope.vars.iter().enumerate().filter(|(_, var)| var.header == Some(n) && valid);
        let (fields, zeros): (Vec<usize>, Vec<String>) = all.map(|(n, var)| (n, format!("{} = 0;\n", var.text))).unzip();
        let effect = move |w: &mut World| {
            if !w.valid[n] {
                fields.iter().for_each(|field| w.values[*field] = BigInt::from(0));
            }
            w.valid[n] = valid;
            Goes::On
        };
        let text = if clears { format!("if (!{name}.isValid()) {{\n{text}{}}}\n", zeros.concat()) } else { text };
        (text, Box::new(effect))
    }

    fn branch(&mut self, depth: u32, in_loop: bool) -> Statement {
        let (condition, holds) = self.scope.condition(self.chance, 2);
        let ((a, yes), (b, no)) = (self.block(depth - 1, in_loop), self.block(depth - 1, in_loop));
        (format!("if ({condition}) {{\n{a}}} else {{\n{b}}}\n"), Box::new(move |w| if holds(w) { yes(w) } else { no(w) }))
    }

    /// `switch` over a value.
    fn cases(&mut self, depth: u32, in_loop: bool) -> Statement {
        let width = [3, 8, 16][self.chance.below(3) as usize];
        let (value, x) = self.scope.number(self.chance, width, false, 1);
        let (mut text, mut all, mut known) = (format!("switch ({value}) {{\n"), Vec::new(), Vec::new());
        for _ in 0..1 + self.chance.below(3) {
            let label = self.chance.number(width);
            if !known.contains(&label) {
                let (body, effect) = self.block(depth - 1, in_loop);
                let _ = write!(text, "{width}w{label}: {{\n{body}}}\n");
                known.push(label.clone());
                all.push((label, effect));
            }
        }
        let (body, otherwise) = self.block(depth - 1, in_loop);
        let _ = write!(text, "default: {{\n{body}}}\n}}\n");
        let effect = move |w: &mut World| {
            let value = x(w);
            match all.iter().find(|(label, _)| *label == value) {
                Some((_, effect)) => effect(w),
                None => otherwise(w),
            }
        };
        (text, Box::new(effect))
    }

    fn repeated(&mut self, depth: u32) -> Statement {
        let (name, count) = (self.name("i"), 1 + self.chance.below(3));
        let seen = self.scope.seen.len();
        // The body does not write to it.
        self.scope.vars.push(Var { text: name.clone(), width: 8, signed: false, header: None });
        let n = self.scope.vars.len() - 1;
        let (body, effect) = self.block(depth - 1, true);
        self.scope.seen.truncate(seen);
        let text = format!("for (bit<8> {name} = 0; {name} < {count}; {name} = {name} + 1) {{\n{body}}}\n");
        let effect = move |w: &mut World| {
            for i in 0..count {
                w.values[n] = i.into();
                match effect(w) {
                    Goes::On | Goes::Continue => {}
                    Goes::Break => break,
                    goes => return goes,
                }
            }
            Goes::On
        };
        (text, Box::new(effect))
    }

    /// An action with parameters of all directions, perhaps with a loop, and a call of it.
    fn called(&mut self) -> Statement {
        let name = self.name("f");
        let (a, mut b) = (self.scope.any(self.chance), self.scope.any(self.chance));
        while self.scope.careful && self.scope.vars[b].header.is_some() {
            b = self.scope.any(self.chance);
        }
        let (from, to) = (self.scope.vars[a].clone(), self.scope.vars[b].clone());
        let (value, x) = self.scope.number(self.chance, from.width, from.signed, 1);
        let outer = std::mem::take(&mut self.scope.seen);
        let (p, q) = (self.var(format!("{name}_p"), from.width, from.signed), self.var(format!("{name}_q"), to.width, to.signed));
        let headers = std::mem::take(&mut self.scope.headers);
        let (first, f) = self.scope.assignment(self.chance, q, 2);
        let (second, g) = self.scope.assignment(self.chance, q, 2);
        (self.scope.seen, self.scope.headers) = (outer, headers);
        let (early, ends) = self.plain_condition(p);
        let rounds = [1, 1, 2, 3][self.chance.below(4) as usize];
        let counted = format!("for (bit<8> {name}_i = 0; {name}_i < {rounds}; {name}_i = {name}_i + 1) {{\n{second}}}\n");
        let second = if rounds > 1 { counted } else { second };
        let types = (type_of(from.width, from.signed), type_of(to.width, to.signed));
        let _ = write!(
            self.declared,
            "action {name}(in {} {name}_p, inout {} {name}_q) {{\n{first}if ({early}) {{ return; }}\n{second}}}\n",
            types.0, types.1
        );
        let effect = move |w: &mut World| {
            (w.values[p], w.values[q]) = (x(w), w.values[b].clone());
            f(w);
            if !ends(w) {
                for _ in 0..rounds {
                    g(w);
                }
            }
            w.values[b] = w.values[q].clone();
            Goes::On
        };
        (format!("{name}({value}, {});\n", to.text), Box::new(effect))
    }

    fn plain_condition(&mut self, var: usize) -> (String, Meaning<bool>) {
        let Var { text, width, .. } = self.scope.vars[var].clone();
        let bit = self.chance.below(u64::from(width)) as u32;
        (format!("{text}[{bit}:{bit}] == 1"), Box::new(move |w| (&w.values[var] >> bit) & BigInt::from(1) == BigInt::from(1)))
    }

    /// A table, and what comes of its application.
    fn applied(&mut self, depth: u32, in_loop: bool) -> Statement {
        let table = self.table();
        let t = table.clone();
        let name = table.name.clone();
        match self.chance.below(3) {
            0 => (format!("{name}.apply();\n"), Box::new(move |w| t.run(w).2)),
            1 => {
                let ((a, yes), (b, no)) = (self.block(depth - 1, in_loop), self.block(depth - 1, in_loop));
                let effect = move |w: &mut World| match t.run(w) {
                    (_, _, goes @ Goes::Exit) => goes,
                    (true, ..) => yes(w),
                    _ => no(w),
                };
                (format!("if ({name}.apply().hit) {{\n{a}}} else {{\n{b}}}\n"), Box::new(effect))
            }
            _ => {
                let ((a, first), (b, rest)) = (self.block(depth - 1, in_loop), self.block(depth - 1, in_loop));
                let text = format!("switch ({name}.apply().action_run) {{\n{}: {{\n{a}}}\ndefault: {{\n{b}}}\n}}\n", table.actions[0].name);
                let effect = move |w: &mut World| match t.run(w) {
                    (_, _, goes @ Goes::Exit) => goes,
                    (_, 0, _) => first(w),
                    _ => rest(w),
                };
                (text, Box::new(effect))
            }
        }
    }

    fn actions(&mut self) -> Vec<Action> {
        let mut actions = Vec::new();
        // Actions see what is declared in front of the control's body.
        let outer = self.scope.seen.clone();
        self.scope.seen.retain(|n| self.scope.vars[*n].text.contains('.'));
        for _ in 0..1 + self.chance.below(3) {
            let (name, seen) = (self.name("act"), self.scope.seen.len());
            let mut params = Vec::new();
            for p in 0..self.chance.below(3) {
                let width = [1, 8, 9, 24, 48][self.chance.below(5) as usize];
                params.push(self.var(format!("{name}_{p}"), width, false));
            }
            let (mut text, mut all) = (String::new(), Vec::new());
            for _ in 0..1 + self.chance.below(2) {
                let to = outer.iter().copied().filter(|n| self.scope.vars[*n].text.contains('.')).collect::<Vec<_>>();
                let to = to[self.chance.below(to.len() as u64) as usize];
                let (line, effect) = self.scope.assignment(self.chance, to, 2);
                text += &line;
                all.push(effect);
            }
            let exits = self.chance.below(8) == 0;
            text += if exits { "exit;\n" } else { "" };
            let shown: Vec<String> =
                params.iter().map(|p| format!("bit<{}> {}", self.scope.vars[*p].width, self.scope.vars[*p].text)).collect();
            let _ = write!(self.declared, "action {name}({}) {{\n{text}}}\n", shown.join(", "));
            self.scope.seen.truncate(seen);
            let body = move |w: &mut World| {
                for one in &all {
                    one(w);
                }
                if exits { Goes::Exit } else { Goes::On }
            };
            actions.push(Action { name, params, body: Box::new(body) });
        }
        self.scope.seen = outer;
        actions
    }

    fn table(&mut self) -> Rc<Table> {
        let (actions, name) = (self.actions(), self.name("t"));
        let (mut keys, mut text, mut has_prefix) = (Vec::new(), String::new(), false);
        let outer = self.scope.seen.clone();
        self.scope.seen.retain(|n| self.scope.vars[*n].text.contains('.'));
        for k in 0..1 + self.chance.below(3) {
            let kind = ["exact", "lpm", "ternary", "range", "optional"][self.chance.below(5) as usize];
            // One prefix, as the language has it, and one range, as several of them are many
            // entries of the table that they become.
            let many = matches!(kind, "lpm" | "range") && std::mem::replace(&mut has_prefix, true);
            let kind = if many { "exact" } else { kind };
            let width = [1, 4, 8, 16, 32, 48][self.chance.below(6) as usize];
            // BMv2 counts bits of a prefix from the first byte's beginning.
            let width = if kind == "lpm" && self.scope.careful { width.max(8) } else { width };
            let (mut key, mut value) = self.scope.number(self.chance, width, false, 1);
            if self.scope.careful && key.contains(" & ") {
                // p4c makes a mask of a constant there, and BMv2 masks what entries ask for as
                // well.
                (key, value) = self.scope.number(self.chance, width, false, 0);
            }
            let _ = writeln!(text, "{key} : {kind} @name(\"k{k}\");");
            keys.push(Key { kind, width, value });
        }
        self.scope.seen = outer;
        let default = actions.len() - 1;
        let names: String = actions.iter().map(|a| format!("{}; ", a.name)).collect();
        let args: Vec<(String, BigInt)> = self.arguments(&actions[default]);
        let shown: Vec<String> = args.iter().map(|(_, v)| v.to_string()).collect();
        let _ = write!(
            self.declared,
            "table {name} {{\nkey = {{\n{text}}}\nactions = {{ {names}}}\ndefault_action = {}({});\nsize = 64;\n}}\n",
            actions[default].name,
            shown.join(", ")
        );
        let mut entries = Vec::new();
        for rank in 0..self.chance.below(7) {
            let keys: Vec<KeyMatch> = keys.iter().map(|key| self.entry_key(key)).collect();
            if entries.iter().any(|e: &Entry| e.keys == keys) {
                continue;
            }
            let action = self.chance.below(actions.len() as u64) as usize;
            let args = self.arguments(&actions[action]).into_iter().map(|(_, v)| v).collect();
            entries.push(Entry { keys, priority: rank as u32 + 1, action, args });
        }
        // What a table without a hit runs.
        entries.insert(0, Entry { keys: Vec::new(), priority: 0, action: default, args: args.into_iter().map(|(_, v)| v).collect() });
        let table = Rc::new(Table { name, keys, entries, actions });
        self.tables.push(table.clone());
        table
    }

    fn arguments(&mut self, action: &Action) -> Vec<(String, BigInt)> {
        let vars = action.params.iter().map(|p| self.scope.vars[*p].clone()).collect::<Vec<_>>();
        vars.into_iter().map(|var| (var.text, self.chance.number(var.width))).collect()
    }

    fn entry_key(&mut self, key: &Key) -> KeyMatch {
        let (a, b) = (self.chance.number(key.width), self.chance.number(key.width));
        match key.kind {
            "lpm" => {
                let length = self.chance.below(u64::from(key.width) + 1) as u32;
                KeyMatch::Prefix((a >> (key.width - length)) << (key.width - length), length)
            }
            "ternary" => KeyMatch::Mask(&a & &b, b),
            "range" => KeyMatch::Range(a.clone().min(b.clone()), a.max(b)),
            "optional" if self.chance.below(2) == 0 => KeyMatch::Any,
            _ => KeyMatch::Value(a),
        }
    }
}
