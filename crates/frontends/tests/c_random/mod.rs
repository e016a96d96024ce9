//! Random programs in what C and the element language share, without undefined behaviour: shifts
//! are below the width, divisors are positive, indices are inside, loops end, and nothing is
//! changed and read by one expression.
#![allow(dead_code, reason = "each test uses a part")]

use std::fmt::Write;

const TYPES: [&str; 10] = ["u8", "u16", "u32", "u64", "u128", "i8", "i16", "i32", "i64", "bool"];
const NUMBERS: [&str; 24] = [
    "0",
    "1",
    "2",
    "3",
    "7",
    "8",
    "31",
    "127",
    "128",
    "255",
    "256",
    "0x7fff",
    "0x8000",
    "65535",
    "65536",
    "0x7fffffff",
    "0x80000000",
    "4294967295u",
    "0x100000000",
    "0x7fffffffffffffff",
    "0x8000000000000000",
    "-1",
    "-128",
    "'a'",
];

/// A pseudo-random sequence (xorshift64*).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % n
    }

    pub fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

/// A program: a function of three numbers and what it needs.
pub struct Program {
    pub text: String,
    pub entry: String,
}

/// What is being written.
struct Writer {
    random: Random,
    out: String,
    /// The end of all names.
    id: u64,
    /// Scalars that can be read and, if true, assigned.
    names: Vec<(String, bool)>,
    /// Objects of the struct that can be assigned as a whole.
    structs: Vec<String>,
    indent: usize,
    next: u32,
    /// Functions of (struct *, a, b).
    helpers: Vec<String>,
    loops: u32,
    /// How many more calls the function may have: all are inlined.
    calls: u32,
}

impl Program {
    pub fn random(seed: u64) -> Self {
        let mut writer = Writer {
            random: Random::new(seed),
            out: String::new(),
            id: seed,
            names: Vec::new(),
            structs: Vec::new(),
            indent: 0,
            next: 0,
            helpers: Vec::new(),
            loops: 0,
            calls: 0,
        };
        writer.globals();
        for n in 0..1 + writer.random.below(3) {
            writer.helper(n);
        }
        let entry = writer.entry();
        Self { text: writer.out, entry }
    }
}

impl Writer {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{:indent$}{text}", "", indent = self.indent * 4);
    }

    fn ty(&mut self) -> &'static str {
        self.random.pick(&TYPES)
    }

    fn fresh(&mut self, what: &str) -> String {
        self.next += 1;
        format!("{what}{}", self.next)
    }

    fn globals(&mut self) {
        let id = self.id;
        let (a, b, c, d) = (self.ty(), self.ty(), self.ty(), self.ty());
        let inner = format!("struct in{id} {{ {a} x; {b} y; }};");
        self.line(&inner);
        let outer = format!("struct s{id} {{ {c} a; struct in{id} i; {d} b; u64 w; }};");
        self.line(&outer);
        let arrays = format!("struct l{id} {{ {a} n; {b} list[4]; }};");
        self.line(&arrays);
        let (t, u) = (self.ty(), self.ty());
        let numbers: Vec<&str> = (0..4).map(|_| self.random.pick(&NUMBERS)).collect();
        let table = format!(
            "static const {t} table{id}[4] = {{ {} }};",
            numbers.iter().map(|n| format!("({t}) {n}")).collect::<Vec<_>>().join(", ")
        );
        self.line(&table);
        let memory = format!(
            "static {u} memory{id}[8];\nstatic {t} kept{id} = ({t}) {};\nstatic struct s{id} shared{id};",
            self.random.pick(&NUMBERS)
        );
        self.line(&memory);
        self.names.push((format!("kept{id}"), true));
        self.object(&format!("shared{id}"), ".");
        self.structs.push(format!("shared{id}"));
    }

    fn object(&mut self, name: &str, dot: &str) {
        for member in ["a", "i.x", "i.y", "b", "w"] {
            self.names.push((format!("{name}{dot}{member}"), true));
        }
    }

    fn helper(&mut self, n: usize) {
        let (name, result, id) = (format!("helper{n}_{}", self.id), self.ty(), self.id);
        let (a, b) = (self.ty(), self.ty());
        let head = format!("static {result} {name}(struct s{id} *p, {a} a, {b} b)\n{{");
        self.line(&head);
        let (names, structs) = (self.names.len(), self.structs.len());
        self.names.push(("a".to_owned(), true));
        self.names.push(("b".to_owned(), true));
        self.object("p", "->");
        self.structs.push("(*p)".to_owned());
        self.calls = 1;
        self.body(2);
        let value = self.expr(3);
        self.line(&format!("    return {value};\n}}"));
        self.names.truncate(names);
        self.structs.truncate(structs);
        self.helpers.push(name);
    }

    fn entry(&mut self) -> String {
        let name = format!("work{}", self.id);
        let id = self.id;
        self.line(&format!("static u64 {name}(u64 in0, u64 in1, u64 in2)\n{{"));
        for n in 0..3 {
            self.names.push((format!("in{n}"), true));
        }
        self.indent = 1;
        let local = format!("struct s{id} s = {{ .b = 1, .i = {{ 2, 3 }} }};");
        self.line(&local);
        self.object("s", ".");
        self.structs.push("s".to_owned());
        self.line(&format!("struct l{id} l = {{ 1, {{ 2, 3, 4 }} }};"));
        self.names.push(("l.n".to_owned(), true));
        self.indent = 0;
        self.calls = 3;
        (0..4).for_each(|_| self.body(3));
        let value = self.expr(3);
        let sum = format!(
            "(u128) s.a + s.i.x + s.i.y + s.b + s.w + l.n + l.list[0] + l.list[3] + kept{id} + shared{id}.w + shared{id}.i.x + memory{id}[3]"
        );
        self.line(&format!("    u128 value = {value}, sum = {sum};"));
        self.line("    return (u64) value * 3 + (u64) (value >> 64) * 5 + (u64) sum + (u64) (sum >> 64) * 7;\n}");
        name
    }

    fn body(&mut self, depth: u32) {
        self.indent += 1;
        let names = self.names.len();
        for _ in 0..1 + self.random.below(4) {
            self.statement(depth);
        }
        self.names.truncate(names);
        self.indent -= 1;
    }

    fn block(&mut self, head: &str, depth: u32) {
        self.line(&format!("{head} {{"));
        self.body(depth - 1);
        self.line("}");
    }

    fn statement(&mut self, depth: u32) {
        match self.random.below(if depth > 0 { 14 } else { 9 }) {
            0 | 1 => self.declare(),
            2..=4 => self.assign(),
            5 => self.step(),
            6 => self.call(),
            7 => self.copy(),
            8 => self.store(),
            9 | 10 => {
                let condition = self.expr(2);
                self.block(&format!("if ({condition})"), depth);
                if self.random.below(2) == 0 {
                    self.block("else", depth);
                }
            }
            11 => self.for_loop(depth),
            12 => self.while_loop(depth),
            _ => self.switch(depth),
        }
    }

    fn declare(&mut self) {
        let (ty, name, value) = (self.ty(), self.fresh("v"), self.expr(3));
        self.line(&format!("{ty} {name} = {value};"));
        self.names.push((name, true));
    }

    fn target(&mut self) -> String {
        let targets: Vec<usize> = (0..self.names.len()).filter(|n| self.names[*n].1).collect();
        let n = targets[self.random.below(targets.len())];
        self.names[n].0.clone()
    }

    fn assign(&mut self) {
        let (target, value) = (self.target(), self.expr(3));
        let text = match self.random.below(12) {
            0..=5 => format!("{target} = {value};"),
            6 => format!("{target} += {value};"),
            7 => format!("{target} -= {value};"),
            8 => format!("{target} *= {value};"),
            9 => format!("{target} ^= {value};"),
            10 => format!("{target} >>= {};", self.random.below(8)),
            _ => format!("{target} %= ({value} & 63) + 1;"),
        };
        self.line(&text);
    }

    fn step(&mut self) {
        let (target, name) = (self.target(), self.fresh("v"));
        let ty = self.ty();
        let text = match self.random.below(4) {
            0 => format!("{ty} {name} = {target}++;"),
            1 => format!("{ty} {name} = --{target};"),
            2 => format!("{ty} {name} = {target}--;"),
            _ => format!("{ty} {name} = (++{target}, 5);"),
        };
        self.line(&text);
        self.names.push((name, true));
    }

    fn call(&mut self) {
        if self.helpers.is_empty() || self.calls == 0 {
            return self.assign();
        }
        self.calls -= 1;
        let helper = self.helpers[self.random.below(self.helpers.len())].clone();
        let object = self.structs[self.random.below(self.structs.len())].clone();
        let (a, b, name, ty) = (self.expr(2), self.expr(2), self.fresh("v"), self.ty());
        self.line(&format!("{ty} {name} = {helper}(&{object}, {a}, {b});"));
        self.names.push((name, true));
    }

    fn copy(&mut self) {
        let (from, to) = (self.random.below(self.structs.len()), self.random.below(self.structs.len()));
        if from != to {
            let text = format!("{} = {};", self.structs[to], self.structs[from]);
            self.line(&text);
        } else {
            let (x, y, id) = (self.expr(1), self.expr(1), self.id);
            let text = format!("{}.i = (struct in{id}) {{ {x}, .y = {y} }};", self.structs[to]);
            self.line(&text);
        }
    }

    fn store(&mut self) {
        let (index, value, id) = (self.expr(1), self.expr(2), self.id);
        let entry = self.names.iter().any(|(name, _)| name == "in0");
        let text = if entry && self.random.below(2) == 0 {
            format!("l.list[{index} & 3] = {value};")
        } else {
            format!("memory{id}[{index} & 7] += {value};")
        };
        self.line(&text);
    }

    fn for_loop(&mut self, depth: u32) {
        if self.loops >= 2 {
            return self.assign();
        }
        self.loops += 1;
        let (name, ty) = (self.fresh("k"), self.random.pick(&["int", "u8", "u64", "i16"]));
        let rounds = 1 + self.random.below(5);
        self.line(&format!("for ({ty} {name} = 0; {name} < {rounds}; {name}++) {{"));
        self.names.push((name, false));
        let names = self.names.len();
        if self.random.below(3) == 0 {
            let (condition, word) = (self.expr(2), self.random.pick(&["break", "continue"]));
            self.line(&format!("    if ({condition}) {word};"));
        }
        self.body(depth - 1);
        self.line("}");
        self.names.truncate(names - 1);
        self.loops -= 1;
    }

    fn while_loop(&mut self, depth: u32) {
        if self.loops >= 2 {
            return self.assign();
        }
        self.loops += 1;
        let (name, condition) = (self.fresh("n"), self.expr(2));
        let rounds = 1 + self.random.below(4);
        self.line(&format!("u8 {name} = {rounds};"));
        if self.random.below(2) == 0 {
            self.block(&format!("while ({name}-- && ({condition}))"), depth);
        } else {
            self.line("do {");
            self.body(depth - 1);
            self.line(&format!("}} while (--{name} && ({condition}));"));
        }
        self.loops -= 1;
    }

    fn switch(&mut self, depth: u32) {
        let value = self.expr(2);
        let mask = self.random.pick(&["& 3", "% 3", "& 0x103"]);
        self.line(&format!("switch (({value}) {mask}) {{"));
        let names = self.names.len();
        for label in ["case 0:", "case 1: case 3:", "default:", "case 2:"] {
            self.line(label);
            self.indent += 1;
            self.block("", depth);
            if self.random.below(3) > 0 {
                self.line("break;");
            }
            self.indent -= 1;
        }
        self.line("}");
        self.names.truncate(names);
    }

    fn leaf(&mut self) -> String {
        let id = self.id;
        match self.random.below(8) {
            0 | 1 => self.random.pick(&NUMBERS).to_owned(),
            2 => format!("table{id}[{} & 3]", self.name()),
            3 => format!("memory{id}[{} & 7]", self.name()),
            4 => format!("(u32) sizeof({})", self.random.pick(&["u16", "i64", "bool"])),
            _ => self.name(),
        }
    }

    fn name(&mut self) -> String {
        let n = self.random.below(self.names.len());
        self.names[n].0.clone()
    }

    fn expr(&mut self, depth: u32) -> String {
        if depth == 0 || self.random.below(6) == 0 {
            return self.leaf();
        }
        let a = self.expr(depth - 1);
        match self.random.below(20) {
            0 => format!("({})({a})", self.ty()),
            1 => format!("-({a})"),
            2 => format!("~({a})"),
            3 => format!("!({a})"),
            4 => {
                let (b, c) = (self.expr(depth - 1), self.expr(depth - 1));
                format!("(({a}) ? ({b}) : ({c}))")
            }
            5 => format!("(({a}) {} {})", self.random.pick(&["<<", ">>"]), self.random.below(32)),
            6 => {
                let b = self.leaf();
                format!("((u64) ({a}) {} ({b} & 63))", self.random.pick(&["<<", ">>"]))
            }
            7 => {
                let b = self.expr(depth - 1);
                format!("(({a}) {} ((({b}) & 0x7f) + 1))", self.random.pick(&["/", "%"]))
            }
            8 => {
                let b = self.expr(depth - 1);
                format!("(({a}) {} ((u64) ({b}) | 1))", self.random.pick(&["/", "%"]))
            }
            17 => {
                let b = self.leaf();
                format!("((u128) ({a}) {} ({b} & 127))", self.random.pick(&["<<", ">>"]))
            }
            18 => format!("((u128) ({a}) {} {})", self.random.pick(&["<<", ">>"]), self.random.below(128)),
            19 => {
                let b = self.expr(depth - 1);
                format!("((u128) ({a}) * 0x9e3779b97f4a7c15 {} (((u128) ({b}) << 50) | 1))", self.random.pick(&["/", "%"]))
            }
            9 | 10 => {
                let b = self.expr(depth - 1);
                format!("(({a}) {} ({b}))", self.random.pick(&["<", ">", "<=", ">=", "==", "!="]))
            }
            11 => {
                let b = self.expr(depth - 1);
                format!("(({a}) {} ({b}))", self.random.pick(&["&&", "||"]))
            }
            _ => {
                let b = self.expr(depth - 1);
                format!("(({a}) {} ({b}))", self.random.pick(&["+", "-", "*", "&", "|", "^"]))
            }
        }
    }
}
