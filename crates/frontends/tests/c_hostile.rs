//! No text makes the front end panic or take long: nesting, bombs, soups of tokens, classes with
//! parts changed. What comes out verifies.
//!
//! `NETVM_CASES` is the number of random texts, `NETVM_SEED` the first seed.

mod c_random;

use c_random::{Program, Random};
use netvm_frontends::c::{self, InfoLayout, Instance, SourceFile};
use netvm_frontends::click::processing::Kind;
use std::path::Path;
use std::time::{Duration, Instant};

/// The longest that any text may take in a test that is not optimised, on a machine that does other
/// things.
const LONGEST: Duration = Duration::from_secs(20);

fn include(name: &str) -> Option<String> {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../elements/include").join(name)).ok()
}

/// The faults of a text as drawn, empty if there are none.
fn outcome(text: &str, include: &dyn Fn(&str) -> Option<String>) -> String {
    let start = Instant::now();
    let source = SourceFile { name: "e.c", text };
    let described = c::describe(source, include).map(drop);
    let instance =
        Instance { name: "e".to_owned(), inputs: vec![Kind::Push], outputs: vec![Kind::Push, Kind::Pull], ..Instance::default() };
    let compiled = c::compile(source, include, &instance, &mut InfoLayout::default());
    let took = start.elapsed();
    assert!(took < LONGEST, "{took:?} for {}", text.chars().take(200).collect::<String>());
    match (described, compiled) {
        (Err(faults), _) | (_, Err(faults)) => faults.render(false),
        (Ok(()), Ok(compiled)) => {
            if let Err(errors) = netil::verify(compiled.module) {
                panic!("{}\n{text}", errors[0]);
            }
            String::new()
        }
    }
}

fn class(text: &str) -> String {
    format!("#include <netvm.h>\nELEMENT(E, \"1/2\", \"a/a\");\n{text}\n")
}

fn repeated(text: &str, n: usize) -> String {
    text.repeat(n)
}

fn wrong(text: &str, message: &str) {
    let drawn = outcome(&class(text), &|_| None);
    assert!(drawn.contains(message), "{message}:\n{}", drawn.chars().take(2000).collect::<String>());
}

fn right(text: &str) {
    let drawn = outcome(&class(text), &|_| None);
    assert!(drawn.is_empty(), "{}", drawn.chars().take(2000).collect::<String>());
}

#[test]
fn deep_nesting_is_refused() {
    let deep = "nested too deeply";
    let n = 20_000;
    wrong(&format!("void packet(int port) {{ port = {}1{}; }}", repeated("(", n), repeated(")", n)), deep);
    wrong(&format!("void packet(int port) {{ port = {}1; }}", repeated("-", n)), deep);
    wrong(&format!("void packet(int port) {{ {} }}", repeated("{", n)), deep);
    wrong(&format!("void packet(int port) {{ {}; }}", repeated("if (port) ", n)), deep);
    wrong(&format!("void packet(int port) {{ port = {}; }}", repeated("port ? port : ", n)), deep);
    wrong(&format!("static int x = {}", repeated("{", n)), deep);
    wrong(&repeated("struct s { ", n), deep);
    wrong(&format!("#if {}", repeated("(", n)), deep);
    wrong(&format!("void packet(int port) {{ port = {}; }}", repeated("packet_pull(", n)), deep);
    wrong(&format!("void packet(int port) {{ port {} }}", repeated("[port", n)), deep);
}

#[test]
fn long_texts_are_read() {
    let backwards: String = (0..40_000).rev().map(|n| format!("[{n}] = {}, ", n % 7)).collect();
    right(&format!("static const u8 table[] = {{ {backwards} }}; void packet(int port) {{ emit(table[7] != 0); }}"));
    right(&format!("void packet(int port) {{ u32 x = 0; x = {}1; emit(x == 3001); }}", repeated("x + ", 3000)));
    right(&format!("void packet(int port) {{ {} emit(0); }}", repeated("if (port == 1) return; else ", 3000)));
    right(&format!(
        "void packet(int port) {{ switch (port) {{ {} default: emit(0); }} }}",
        (0..5000).map(|n| format!("case {n}: ")).collect::<String>()
    ));
    wrong(&format!("void packet(int port) {{ port = {}1; }}", repeated("1 + ", 20_000)), "too long");
    wrong(&format!("void packet(int port) {{ {} ; }}", repeated("if (port) ; else ", 20_000)), "too many `else if`");
    let declared: String = (0..3000).map(|n| format!("int x{n} = port; ")).collect();
    assert!(
        outcome(&class(&format!("void packet(int port) {{ {declared} emit(x7); }}")), &|_| None)
            .contains("3001 variables are alive at once")
    );
}

#[test]
fn bombs_do_not_go_off() {
    let doubling = |first: &str, line: &dyn Fn(usize) -> String, n: usize| first.to_owned() + &(1..n).map(line).collect::<String>();
    let macros = doubling("#define M0 1 +\n", &|n| format!("#define M{n} M{} M{}\n", n - 1, n - 1), 60);
    wrong(&format!("{macros}void packet(int port) {{ port = M59 1; }}"), "too many tokens");
    let arguments = doubling("#define A0(x) x x\n", &|n| format!("#define A{n}(x) A{}(A{}(x x))\n", n - 1, n - 1), 60);
    wrong(&format!("{arguments}void packet(int port) {{ port = A59(1); }}"), "too many tokens");
    let pasted = doubling(
        "#define P0 x\n",
        &|n| format!("#define C{n}(a, b) a##b\n#define D{n}(a, b) C{n}(a, b)\n#define P{n} D{n}(P{}, P{})\n", n - 1, n - 1),
        25,
    );
    outcome(&class(&format!("{pasted}int P24;")), &|_| None);
    let nested = format!("#define F(x) x\nvoid packet(int port) {{ port = {}1{}; }}", repeated("F(", 5000), repeated(")", 5000));
    outcome(&class(&nested), &|_| None);
    let calls = doubling(
        "static void f0(void) { packet_pull(1); }\n",
        &|n| format!("static void f{n}(void) {{ f{}(); f{}(); }}\n", n - 1, n - 1),
        60,
    );
    wrong(&format!("{calls}void packet(int port) {{ f59(); }}"), "once functions are inlined");
    let empty = doubling("static void f0(void) {}\n", &|n| format!("static void f{n}(void) {{ f{}(); f{}(); }}\n", n - 1, n - 1), 60);
    wrong(&format!("{empty}void packet(int port) {{ f59(); }}"), "once functions are inlined");
    let structs = doubling("struct s0 { u8 a; };\n", &|n| format!("struct s{n} {{ struct s{} a, b; }};\n", n - 1), 60);
    wrong(&format!("{structs}static struct s59 x;"), "at most");
    let half = doubling("struct s0 { u8 a; };\n", &|n| format!("struct s{n} {{ struct s{} a, b; }};\n", n - 1), 20);
    wrong(&format!("{half}void packet(int port) {{ struct s19 x, y; x = y; emit(0); }}"), "parts");
    let arrays = "static u8 a[1000][1000][1000][1000];";
    wrong(arrays, "at most");
    let itself = outcome("#include \"a.h\"\n", &|_| Some("#include \"a.h\"\n#include \"a.h\"\n".to_owned()));
    assert!(itself.contains("too deeply"), "{itself}");
}

#[test]
fn macros_that_make_long_tokens_are_refused() {
    for (macros, last) in [
        ("#define P(a,b) a##b\n#define Q(a,b) P(a,b)\n", "#define M{n} Q(M{b},M{b})\n"),
        ("#define S(a) #a\n#define T(a) S(a)\n", "#define M{n} T(M{b} M{b})\n"),
    ] {
        let doubled: String = (1..=30).map(|n| last.replace("{n}", &n.to_string()).replace("{b}", &(n - 1).to_string())).collect();
        wrong(
            &format!("{macros}#define M0 abcdefgh\n{doubled}static u32 M30;\nvoid packet(int port) {{}}\n"),
            "macros produce too many tokens",
        );
    }
    let chain: String = (1..=20_000).map(|n| format!("#define N{n} N{}\n", n - 1)).collect();
    wrong(&format!("#define N0 1\n{chain}static u32 a[N20000];\nvoid packet(int port) {{}}\n"), "macros produce too many tokens");
}

#[test]
fn arrays_have_few_dimensions() {
    right(&format!("static u32 a{};\nvoid packet(int port) {{}}\n", repeated("[1]", 16)));
    wrong(&format!("static u32 a{};\nvoid packet(int port) {{}}\n", repeated("[1]", 100_000)), "arrays have at most 16 dimensions");
}

#[test]
fn many_faults_are_told_in_part() {
    let drawn = outcome(&class(&format!("void packet(int port) {{ {} }}", repeated("x = y;\n", 10_000))), &|_| None);
    assert!((40..=60).contains(&drawn.matches("error:").count()));
}

const WORDS: &[&str] = &[
    "int",
    "u8",
    "be32",
    "struct",
    "s",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ";",
    ",",
    "=",
    "+",
    "->",
    ".",
    "*",
    "&",
    "if",
    "else",
    "for",
    "while",
    "do",
    "switch",
    "case",
    "default",
    ":",
    "?",
    "return",
    "emit",
    "drop",
    "header",
    "info",
    "table_find",
    "t",
    "packet",
    "port",
    "void",
    "static",
    "const",
    "x",
    "y",
    "1",
    "0x10",
    "\"text\"",
    "'c'",
    "#define",
    "#if",
    "#endif",
    "\n",
    "M",
    "sizeof",
    "typedef",
    "enum",
    "PARAM",
    "TABLE_EXACT",
    "READ",
    "CONFIG",
    "REQUIRED",
    "INFO",
    "break",
    "continue",
    "++",
    "<<=",
    "##",
    "#",
    "mac_t",
    "byte",
    "in6_t",
    "equal",
    "print",
    "now",
    "clone",
    "init",
    "timer",
    "goto",
    "$",
    "é",
];

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn soups_of_tokens_do_no_harm() {
    for seed in 0..number("NETVM_CASES", 150) {
        let mut random = Random::new(seed + number("NETVM_SEED", 1));
        let soup: Vec<&str> = (0..random.below(200)).map(|_| random.pick(WORDS)).collect();
        outcome(&soup.join(" "), &include);
        outcome(
            &class(&format!(
                "struct s {{ u8 x; be32 y; }}; TABLE_EXACT(t, u8, struct s, 4, 0);\nvoid packet(int port) {{ {} }}",
                soup.join(" ")
            )),
            &include,
        );
    }
}

/// Words and signs of a text, with the space between them.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let ends =
        text.char_indices().zip(text.chars().skip(1)).filter(|((_, a), b)| !(word(*a) && word(*b))).map(|((at, a), _)| at + a.len_utf8());
    for end in ends {
        pieces.push(&text[start..end]);
        start = end;
    }
    pieces.push(&text[start..]);
    pieces
}

#[test]
fn changed_classes_do_no_harm() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../elements");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).filter(|p| p.extension().is_some_and(|e| e == "c")).collect();
    files.sort();
    for seed in 0..number("NETVM_CASES", 150) {
        let mut random = Random::new(seed + number("NETVM_SEED", 1));
        let text = match random.below(3) {
            0 => class(&Program::random(seed).text),
            _ => std::fs::read_to_string(&files[random.below(files.len())]).unwrap(),
        };
        let mut pieces = pieces(&text);
        for _ in 0..1 + random.below(4) {
            let (at, other) = (random.below(pieces.len()), random.below(pieces.len()));
            match random.below(4) {
                0 => drop(pieces.remove(at.min(pieces.len() - 1))),
                1 => pieces.insert(at, pieces[other]),
                2 => pieces.swap(at, other),
                _ => pieces[at] = random.pick(WORDS),
            }
        }
        outcome(&pieces.concat(), &include);
    }
}
