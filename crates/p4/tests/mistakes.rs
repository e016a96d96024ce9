//! Mistakes that are made by hand, and what is told of each: one fault, its place, what was wanted,
//! and what may have been meant.

use netvm_p4::{Reading, check};
use std::path::Path;

const PROGRAM: &str = include_str!("../../../benches/p4/forward.p4");

/// What is told of the program with something in the place of something else: a line for each fault
/// or warning, `LINE:COLUMN MESSAGE`, and its help behind an arrow.
fn told(there: &str, instead: &str) -> Vec<String> {
    assert!(PROGRAM.contains(there), "{there}");
    let text = PROGRAM.replacen(there, instead, 1);
    let reading = Reading { folders: &[], defines: &[], load: &|_| None, marks: false, without: &[] };
    let drawn = match check(Path::new("t.p4"), &text, reading) {
        Ok((_, warnings)) => warnings.render(false),
        Err(refused) => refused.render(false),
    };
    let mut all: Vec<String> = Vec::new();
    for line in drawn.lines().map(str::trim) {
        if let Some(message) = line.strip_prefix("error: ").or_else(|| line.strip_prefix("warning: ")) {
            all.push(message.to_owned());
        } else if let (Some(place), Some(last)) = (line.strip_prefix("--> t.p4:"), all.last_mut()) {
            *last = format!("{place} {last}");
        } else if let (Some(help), Some(last)) = (line.strip_prefix("= help: "), all.last_mut()) {
            *last += &format!(" -> {help}");
        }
    }
    all
}

#[test]
fn each_mistake_is_told_once_with_what_may_be_meant() {
    let cases = [
        ("s.egress_spec = port;", "s.egress_spec = port", "38:29 expected `;`, found `h`"),
        ("p.extract(h.ip);", "p.extract(h.ipv4);", "28:21 headers has no member `ipv4` -> did you mean `ip`?"),
        ("p.extract(h.ip);", "p.extract(hdr.ip);", "28:19 nothing is called `hdr` here"),
        ("h.eth.src = h.eth.dst;", "h.eth.src = h.ip.dst;", "39:21 this is bit<32>, and bit<48> is wanted"),
        ("h.eth.src = h.eth.dst;", "h.eth = h.ip;", "39:17 this is ipv4_t, and ethernet_t is wanted"),
        ("h.ip.ttl = h.ip.ttl - 1;", "h.ip.tttl = 1;", "41:14 ipv4_t has no member `tttl` -> did you mean `ttl`?"),
        ("h.ip.ttl = h.ip.ttl - 1;", "h.ip.ttl = 300;", "41:20 300 does not fit bit<8>, and becomes 44"),
        ("bit<48> dst; bit<48> src;", "mac_t dst; bit<48> src;", "9:21 nothing is called `mac_t` here"),
        ("bit<4> version; bit<4> ihl;", "bit<4> version; bit<4> version;", "11:28 `version` is declared twice"),
        (
            "actions = { to; drop; NoAction; }",
            "actions = { to; dropp; NoAction; }",
            "45:25 nothing is called `dropp` here -> did you mean `drop`?",
        ),
        (
            "actions = { to; drop; NoAction; }",
            "actions = { to; NoAction; }",
            "47:26 the table has no action `drop` -> there is to, NoAction",
        ),
        ("default_action = drop();", "default_action = to();", "47:26 the argument for `mac` is missing"),
        ("h.ip.dst: lpm;", "h.ip.dst: exat;", "44:27 no match kind is called `exat` -> did you mean `exact`?"),
        ("h.ip.dst: lpm; }", "h.ip.dst: lpm }", "44:31 expected `;`, found `}`"),
        ("size = SIZE;", "size = h.ip.ttl;", "46:16 this is no number that is known when the program is compiled"),
        ("0x800: ip;", "0x800: ipv4;", "23:20 there is no state `ipv4` -> did you mean `ip`?"),
        ("transition accept;", "transitoin accept;", "29:9 nothing is called `transitoin` here -> did you mean `transition`?"),
        ("        transition accept;\n", "", "27:11 the state `ip` has no transition, and rejects -> `transition accept;` ends the parser"),
        ("transition accept;\n    }\n}", "transition accept;\n    }\n", "33:1 expected a state or `}`, found `control`"),
        ("if (h.ip.isValid())", "if (h.ip.ttl = 0)", "50:22 expected `)`, found `=` -> `==` compares"),
        ("if (h.ip.isValid())", "if (h.ip.ttl)", "50:13 this is bit<8>, and bool is wanted"),
        ("if (h.ip.isValid())", "if h.ip.isValid()", "50:12 expected `(`, found `h`"),
        ("h.ip.isValid()", "h.ip.valid()", "50:18 ipv4_t has no method `valid` -> there is isValid, setValid, setInvalid"),
        (
            "s.egress_spec = port;",
            "s.egress_spec = port; routes.apply();",
            "38:31 nothing is called `routes` here -> what is declared can be used below its declaration only",
        ),
        (
            "routes.apply();",
            "if (true) { } elseif (false) { }",
            "51:42 expected `;`, found `{` -> a second condition begins with `else if`",
        ),
        ("mark_to_drop(s);", "mark_to_dropp(s);", "36:21 nothing is called `mark_to_dropp` here -> did you mean `mark_to_drop`?"),
        (
            "mark_to_drop(s);",
            "mark_to_drop(s, 1);",
            "36:21 `mark_to_drop` takes other arguments than these 2 -> there is mark_to_drop(), mark_to_drop(standard_metadata)",
        ),
        ("V1Switch(Read(), ", "V1Switch(Read, ", "67:10 `Read` is a type, and a value is wanted -> `Read()` makes one"),
        ("Compute(), Write())", "Write())", "67:1 the argument for `dep` is missing"),
        (
            "control Out(inout headers h,",
            "control Out(in headers h,",
            "67:34 the argument for `eg` is Out, and Egress<headers, metadata> is wanted -> the parameter `h` of `Out` is in, and inout is wanted",
        ),
        (
            "V1Switch(Read(), Verify(), In(), Out(), Compute(), Write()) main;",
            "",
            "65:9 the program has no `main` -> an instance of the architecture's package: `V1Switch(...) main;`",
        ),
        (
            "#include <v1model.p4>",
            "#include <v1mode.p4>",
            "3:2 no file `v1mode.p4` -> built-in files are core.p4, v1model.p4, psa.p4, bmv2/psa.p4; -I DIR names a folder to look into",
        ),
        (
            "control In(inout headers h,",
            "control In<T>(inout headers h,",
            "35:12 a control that has a body has no type parameters -> only control types (`control In<T>(...);`) may be generic: name the type here",
        ),
        ("bit<48> dst;", "bit<2049> dst;", "9:25 bit<2049> is not possible: bit has 0 to 2048 bits"),
        ("bit<48> dst;", "int<0> dst;", "9:25 int<0> is not possible: int has 1 to 2048 bits"),
        (
            "h.eth.src = h.eth.dst;",
            "h.eth.src = ((bit<2048>)h.eth.dst ++ 1w0)[47:0];",
            "39:21 this has 2049 bits, and numbers have 2048 at most",
        ),
        ("h.ip.ttl = h.ip.ttl - 1;", "h.ip.ttl = (bit<8>)(((1 << 3000) - 1) >> 2992) - 1;", ""),
        ("        size = SIZE;\n        default_action = drop();\n", "", ""),
        (
            "        actions = { to; drop; NoAction; }\n        size = SIZE;\n        default_action = drop();",
            "        default_action = drop();\n        actions = { to; drop; NoAction; }",
            "45:9 the default action stands behind the list of actions",
        ),
        (
            "routes.apply();",
            "headers other = { h.eth, h.ip }; tuple<ethernet_t, ipv4_t> t = { h.eth, h.ip }; other = t; routes.apply();",
            "51:101 this is tuple<ethernet_t, ipv4_t>, and headers is wanted",
        ),
        ("routes.apply();", "headers other = h; other = { # }; routes.apply();", "51:40 `{#}` is one word"),
        ("routes.apply();", "bit<8>[2] two = { 1, 2, 3 }; routes.apply();", "51:29 this is tuple<int, int, int>, and bit<8>[2] is wanted"),
        ("routes.apply();", "bit<8>[3] three = { 1, ... }; routes.apply();", ""),
        ("default_action = drop();", "default_action = to(h.eth.dst, 1);", "47:29 this argument is known when the program is compiled"),
        ("transition select(h.eth.type) {", "transition select(h.eth) {", "22:27 there is no select over ethernet_t"),
        ("struct metadata {}", "type bit<9> port_t; struct metadata { port_t p; bit<16> q; }", ""),
        (
            "header ethernet_t {",
            "header one<T> { T t; } typedef one<string> wrong; header ethernet_t {",
            "9:32 the field `t` of one<string> would be string, which is not possible",
        ),
        ("header ethernet_t {", "T same<T>(in tuple<> x) { return x; } header ethernet_t {", "9:34 this is tuple<>, and T is wanted"),
        (
            "header ethernet_t {",
            "bit f(in bit a) { return a; } bit g(in bit a = f(1)) { return a; } header ethernet_t {",
            "9:48 the default of a parameter is known when the program is compiled",
        ),
        ("header ethernet_t {", "type bit<1> t1; t1 f(bit<2> a) { return (t1)a; } header ethernet_t {", "9:45 bit<2> cannot be cast to t1"),
        (
            "header ethernet_t {",
            "extern E { E(); void f(in bit a); void f(in bit b); } void g(E e) { e.f(1); } header ethernet_t {",
            "9:69 this may be one `f` or another",
        ),
        (
            "header ethernet_t {",
            "void f<T>(T t) {} control C() { apply { } } control D() { C() c; apply { f(c); } } header ethernet_t {",
            "9:76 C is no argument of a function",
        ),
        (
            "header ethernet_t {",
            "extern void f<T>(in T t); action a() { f(\"x\"); } header ethernet_t {",
            "9:42 `t` has a direction, and is no string",
        ),
        (
            "header ethernet_t {",
            "parser P(); control C()(P p) { apply { } } header ethernet_t {",
            "9:25 a control has no parser as parameter",
        ),
        (
            "header ethernet_t {",
            "package X(); control C() { X() x = {}; apply { } } header ethernet_t {",
            "9:28 X has no abstract methods, which externs may have",
        ),
        (
            "header ethernet_t {",
            "control C()(bit y) { apply { } } control D(in bit z) { C(z) c; apply { c.apply(); } } header ethernet_t {",
            "9:58 an argument of a constructor is known when the program is compiled",
        ),
        (
            "header ethernet_t {",
            "control C()(bit y) { apply { } } control D()(bit z) { C(z ^ 1) c; apply { c.apply(); } } header ethernet_t {",
            "",
        ),
        (
            "header ethernet_t {",
            "struct P<T> { tuple<T, T> t; } const P<_> x = { t = { 0, 0 } }; header ethernet_t {",
            "9:38 the type of a constant has no `_` -> `_` stands for a type that arguments tell; write the type that is meant",
        ),
        (
            "header ethernet_t {",
            "enum X { b } const bool y = {#} == X.b; header ethernet_t {",
            "9:29 an invalid header and X do not go together -> `{#}` goes where a header or a header union is wanted",
        ),
        (
            "h.ip.ttl = h.ip.ttl - 1;",
            "h.ip.ttl = {#};",
            "41:20 this is an invalid header, and bit<8> is wanted -> `{#}` goes where a header or a header union is wanted",
        ),
        (
            "header ethernet_t {",
            "extern E { E(list<bit<8>> data = ...); } header ethernet_t {",
            "9:34 this is a default value, and list<bit<8>> is wanted -> `...` goes where a type has default values; lists and objects have none",
        ),
        (
            "if (h.ip.isValid())",
            "if (h.ip.ttl == ...)",
            "50:25 `...` is a value for what begins here, and nothing to compare with -> write the value: 0, false, or `{#}` for a header",
        ),
        ("if (h.ip.isValid())", "if (h.ip != {#})", ""),
        (
            "if (h.ip.isValid())",
            "if ({ a = 1 } == { a = 1 })",
            "50:13 the type of these two is not known -> name the type of one of them: `(TYPE){ name = value, ... }`",
        ),
        (
            "header ethernet_t {",
            "extern void f<T>(in T t); void g() { f({ a = 1w1 }); } header ethernet_t {",
            "9:40 the type of this is not known -> name it: `(TYPE){ ... }`",
        ),
        (
            "header ethernet_t {",
            "extern E<T> { E(); void f(in T t); } control C() { E<_>() e; apply { e.f(0); } } header ethernet_t {",
            "9:74 the type `T` of this argument of `f` is `_`, which nothing tells -> write the type where the object is declared",
        ),
        (
            "        size = SIZE;",
            "        const entries = { 1: drop(); 2: NoAction(); 1: NoAction(); }",
            "46:53 this entry of the table `routes` never matches",
        ),
        (
            "h.ip.dst: lpm; }",
            "h.ip.dst: exact; } const entries = { 1: drop(); 2: NoAction(); 1: NoAction(); }",
            "44:80 an entry with these keys is there already -> exact keys stand once in a table: take one of the two out",
        ),
        (
            "key = { h.ip.dst: lpm; }",
            "key = { routes & 1: lpm; }",
            "44:17 `routes` is this table, and no value -> give the table another name",
        ),
        (
            "header ethernet_t {",
            "struct N { string name; } header ethernet_t {",
            "9:12 a field of string is not possible here -> strings are for constants, annotations and parameters without direction",
        ),
        (
            "h.ip.ttl = h.ip.ttl - 1;",
            "for (i in 1..6) { h.ip.ttl = i; }",
            "41:14 the variable `i` of this loop has no type -> `for (bit<8> i in ...)` declares a variable of the loop's own",
        ),
        (
            "header ethernet_t {",
            "control C()(@optional bit y) { apply { } } header ethernet_t {",
            "9:27 `y` is optional, which parameters of externs and packages may be -> a parameter `y = VALUE` has a default",
        ),
        (
            "header ethernet_t {",
            "@a[] @a[1] header ethernet_t {",
            "9:6 `@a[...]` is given twice for one thing -> put all values into one `@a[...]`",
        ),
        ("header ethernet_t {", "@a(1) @a(2) header ethernet_t {", ""),
        (
            "header ethernet_t {",
            "@a(1) @a[2] header ethernet_t {",
            "9:7 `@a` is given with and without square brackets for one thing -> put all values into one `@a[...]`",
        ),
        ("header ethernet_t {", "@a[k=1, k=2] header ethernet_t {", "9:9 `k` is given twice"),
        (
            "header ethernet_t {",
            "@a[k=1, 2] header ethernet_t {",
            "9:9 an annotation in square brackets has values or `name = value`, and not both",
        ),
        ("header ethernet_t {", "@a[1 + 2, \"x\", 1 == 2] @b[k=true] header ethernet_t {", ""),
        (
            "header ethernet_t {",
            "@a[k={ 1, 2 }] header ethernet_t {",
            "9:6 this is tuple<int, int>, and no value of `@a[...]` -> values in square brackets are constant strings, numbers, true and false",
        ),
        ("header ethernet_t {", "@deprecated(\"a\" ++ \"b\") header ethernet_t {", ""),
        ("header ethernet_t {", "\n#define S(x) #x\n@deprecated(S(0x0a b) ++ \"c\") header ethernet_t {", ""),
        (
            "header ethernet_t {",
            "\n#define S(x) #x\nconst bool t = static_assert(S(0x0a  b+1) == \"0x0a b+1\"); const bool u = static_assert(S(a) == \"b\"); header ethernet_t {",
            "11:74 static_assert failed",
        ),
        ("header ethernet_t {", "@name(4) header ethernet_t {", "9:7 `@name` has one string -> write it in quotes: `@name(\"...\")`"),
        (
            "header ethernet_t {",
            "struct V { @match(lmp) bit<8> f; } header ethernet_t {",
            "9:19 no match kind is called `lmp` -> did you mean `lpm`?",
        ),
        (
            "action drop()",
            "@name(\"to\") action drop()",
            "36:24 the control plane would know two actions as `In.to` -> give one of them another name: `@name(\"...\")`",
        ),
        (
            "    table routes {\n        key = { ",
            "    @name(\"routes\") table other { actions = { drop; } default_action = drop; } table routes {\n        key = { other.apply().hit: exact; ",
            "43:27 the control plane would know two tables as `In.routes` -> give one of them another name: `@name(\"...\")`",
        ),
        (
            "header ethernet_t {",
            "bit<8> f(bit<8> a) { return a; } bit<8> g(in bit<8> b, bit<8> c) { return f(c + 1) + f(b); } header ethernet_t {",
            "9:88 `a` has no direction: its argument is known when the program is compiled -> `in` in front of the parameter `a` takes any value",
        ),
        (
            "header ethernet_t {",
            "control C(bit<8> a) { apply { } } control D(in bit<8> z) { C() c; apply { c.apply(1); c.apply(z); } } header ethernet_t {",
            "9:95 `a` has no direction: its argument is known when the program is compiled -> `in` in front of the parameter `a` takes any value",
        ),
        ("h.ip.ttl = h.ip.ttl - 1;", "h.ip.ttl = 8s;", "41:20 digits are missing behind `8s`"),
        ("#ifndef SIZE", "#ifndf SIZE", "5:2 no directive is called #ifndf -> did you mean `ifndef`?"),
    ];
    let mut wrong = Vec::new();
    for (there, instead, wanted) in cases {
        let found = told(there, instead);
        if found.join("; ") != wanted {
            wrong.push(format!("{instead:?}\n  wanted {wanted}\n  found  {}", found.join("\n         ")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// An extern of a program's own, with and without abstract methods: it is read and checked, and
/// what it does is not known.
#[test]
fn externs_of_ones_own_are_refused_by_name() {
    let with = |declared: &str, inside: &str, call: &str| {
        let text = PROGRAM.replacen("control In(", &format!("{declared}\ncontrol In("), 1);
        let text = text.replacen("action drop()", &format!("{inside}\n    action drop()"), 1).replacen("h.eth.src = h.eth.dst;", call, 1);
        let reading = Reading { folders: &[], defines: &[], load: &|_| None, marks: false, without: &[] };
        check(Path::new("t.p4"), &text, reading).map_or_else(|refused| refused.render(false), |_| String::new())
    };
    let sum = "extern Sum { Sum(); abstract bit<8> step(in bit<8> x); bit<8> run(in bit<8> y); }";
    let object = "Sum() sum = { bit<8> step(in bit<8> x) { return x + 1; } };";
    let told = with(sum, object, "h.ip.ttl = sum.run(h.ip.ttl);");
    for part in [
        "the method `run` of the extern Sum is not one of v1model",
        "^^^^^^^",
        "declared here, without a body",
        "= help: externs are those of",
    ] {
        assert!(told.contains(part), "{part}\n{told}");
    }
    let cases = [
        ("Sum() sum;", "the abstract method `step` of `Sum` is not implemented"),
        (
            "Sum() sum = { bit<8> step(in bit<9> x) { return 1; } };",
            "`Sum` has no abstract method `step` of these parameters and this result",
        ),
        (
            "Sum() sum = { bit<8> leap(in bit<8> x) { return 1; } };",
            "`Sum` has no abstract method `leap` of these parameters and this result",
        ),
        ("Sum() sum = { bit<8> step(in bit<8> x) { return true; } };", "this is bool, and bit<8> is wanted"),
    ];
    for (object, wanted) in cases {
        assert!(with(sum, object, "").contains(wanted), "{object}\n{}", with(sum, object, ""));
    }
    let told = with("extern bit<8> twice(in bit<8> x);", "", "h.ip.ttl = twice(h.ip.ttl);");
    assert!(told.contains("the extern function `twice` is not one of v1model, and nothing is known that does it"), "{told}");
}
