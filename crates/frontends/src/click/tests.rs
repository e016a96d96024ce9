//! What configurations come to: the manual's examples, and those that hold the language's corners.

use super::flatten;
use crate::diagnostics::Span;
use std::collections::BTreeMap;

fn flat(source: &str) -> String {
    let graph = flatten(source, &BTreeMap::new()).unwrap_or_else(|faults| panic!("{}", faults.render("config", source, false)));
    let text = graph.to_string();
    // What is printed means the same, but for the places.
    let again = flatten(&text, &BTreeMap::new()).unwrap_or_else(|faults| panic!("{}", faults.render("printed", &text, false)));
    assert_eq!(again.to_string(), text);
    text
}

/// The connections alone, without blanks at ends.
fn rows(source: &str) -> Vec<String> {
    flat(source)
        .lines()
        .filter(|line| line.contains("->") && !line.contains("::"))
        .map(|line| line.trim_end_matches(';').to_owned())
        .collect()
}

fn faults(source: &str) -> Vec<String> {
    let faults = flatten(source, &BTreeMap::new()).expect_err(source);
    assert!(!faults.render("config", source, false).is_empty());
    faults.0.into_iter().map(|fault| fault.message).collect()
}

#[test]
fn declarations_and_connections() {
    assert_eq!(flat("a :: Idle; b::Queue ( 1000 , ) ; a -> b // end"), "a :: Idle;\nb :: Queue(1000);\na -> b;\n");
    assert_eq!(rows("a, b, c :: Idle; a[1] -> [2]b -> c"), ["a [1] -> [2] b", "b -> c"]);
    assert_eq!(
        flat("Idle -> x :: Paint(\")\", 'a,b') -> Discard"),
        "Idle@1 :: Idle;\nx :: Paint(\")\", 'a,b');\nDiscard@3 :: Discard;\nIdle@1 -> x -> Discard@3;\n"
    );
    assert_eq!(rows("a :: Idle; b :: Idle; a -> b; a -> b; a->b"), ["a -> b"]);
    assert_eq!(flat("require( compact_config, );\n # 3 \"f\"\nx/y::Z"), "require(compact_config);\nx/y :: Z;\n");
    assert_eq!(flat("an/identifier :: Idle//too/many\n;"), "an/identifier :: Idle;\n");
    assert_eq!(rows("input, output :: Idle; input -> { input -> Null -> output } -> output"), ["input -> @3/Null@1 -> output"]);
}

#[test]
fn one_to_many_and_many_to_many() {
    let all = "a, b, c, d :: Idle; p, q :: Null; ";
    assert_eq!(
        rows(&format!("{all} a, a[1] -> b -> p, q; p -> [0]c, [1]c; q -> [2]c;")),
        ["a -> b -> p -> c", "a [1] -> b", "b -> q -> [2] c", "p -> [1] c"]
    );
    assert_eq!(rows(&format!("{all} a => b, c, [0,1] a;")), ["a [1] -> c", "a [2] -> a -> b", "a [3] -> [1] a"]);
    assert_eq!(rows(&format!("{all} a [0-2] => b, c, d")), rows(&format!("{all} a [0,1,2] => b, c, d")));
    assert_eq!(rows(&format!("{all} a [1-] => b, c, d")), ["a [1] -> b", "a [2] -> c", "a [3] -> d"]);
    assert_eq!(rows(&format!("{all} a, b => [] c")), ["a -> c", "b -> [1] c"]);
    assert_eq!(
        rows("c :: Classifier(00/01, 00/02); n :: Null; c => Paint(0), Paint(1) -> n"),
        ["c -> Paint@3 -> n", "c [1] -> Paint@4 -> n"]
    );
    assert_eq!(
        faults(&format!("{all} a [0,1] => [0,1,2] b; c [] => [] d")),
        ["connection mismatch: 2 outputs connected to 3 inputs", "at most one expandable port allowed per connection"]
    );
    assert_eq!(faults(&format!("{all} a [0,1] -> [0,1] b")), ["many-to-many connections require `=>`"]);
}

#[test]
fn groups() {
    for group in ["( input -> output )", "( [0] -> [0] )", "(->)", "( [0]->[0]; [1]->[1] ) => ( [0]->[0]; [1]->[1] )", "{ -> }"] {
        assert_eq!(rows(&format!("x, y :: Idle; x -> {group} -> y")), ["x -> y"], "{group}");
    }
    assert_eq!(
        rows("x, y :: Idle; x -> c :: Classifier(00/01) => ( input [0] -> output; input [1] -> Paint(1) -> output ) -> y"),
        ["x -> c -> y", "c [1] -> Paint@4 -> y"]
    );
    assert_eq!(rows("a, b, c, d :: Idle; a [0,1,2] => ( -> c ), ( -> b ), d"), ["a -> c", "a [1] -> b", "a [2] -> d"]);
    assert_eq!(rows("a, d :: Idle; a => (-> c :: Idle), (-> b :: Idle), d"), ["a -> c", "a [1] -> b", "a [2] -> d"]);
    let detour = "z, x1, x2 :: Idle; x1 -> z -> x2; c :: Idle => [1] z [1], (-> c2 :: Idle => (->), Paint(1) ->) -> post :: Idle;";
    assert_eq!(rows(detour), ["z [1] -> post", "x1 -> z -> x2", "c -> [1] z", "c [1] -> c2 -> post", "c2 [1] -> Paint@6 -> post"]);
    assert_eq!(faults("x, y :: Idle; x => [0] ( [0]->[0]; [1]->Idle ) -> y"), ["input port 1 of the group is connected on one side only"]);
    assert_eq!(faults("x, y :: Idle; x => ( [0]->[0]; [2]->Idle ) -> y"), ["input port 1 of the group is connected on one side only"]);
}

#[test]
fn compounds() {
    assert_eq!(rows("a, b :: Idle; a -> { input -> X -> output } -> b"), ["a -> @3/X@1 -> b"]);
    let two = "a, b, c, d :: Idle; k :: { input -> x :: X -> output; input [1] -> Y -> [1] output }; a -> k -> b; c -> [1] k [1] -> d";
    assert_eq!(rows(two), ["a -> k/x -> b", "c -> k/Y@2 -> d"]);
    assert_eq!(
        rows("elementclass Queue { input -> Queue -> Shaper(1000) -> output } a :: Idle -> Queue -> b :: Idle"),
        ["a -> Queue@2/Queue@1 -> Queue@2/Shaper@2 -> b"]
    );
    assert_eq!(rows("elementclass M Queue; a :: Idle -> m :: M -> Idle"), ["a -> m -> Idle@3"]);
    assert!(flat("elementclass M Queue; m :: M").contains("m :: Queue;"));
    assert_eq!(
        rows("connectiontunnel in -> out; a :: Idle -> in; out -> b :: Idle; a [1] -> [3] in; out [3] -> [1] b"),
        ["a -> b", "a [1] -> [1] b"]
    );
}

#[test]
fn alternatives_are_chosen_by_arguments_and_ports() {
    let source = "elementclass Foo { $a, $b | input -> Print(1) -> output || $a, __REST__ $b | input -> Print(2, $b) -> output }
        Idle -> Foo(A) -> f :: Foo(A, TWO B)
        elementclass Foo { $a, $b | input -> Print(4) -> output || ... }
        f -> Foo(A, B) -> Foo(A, B, C) -> Discard";
    let text = flat(source);
    for line in ["Foo@2/Print@1 :: Print(2, );", "f/Print@1 :: Print(1);", "Foo@4/Print@1 :: Print(4);", "Foo@5/Print@1 :: Print(2, B, C);"]
    {
        assert!(text.replace("Print(2)", "Print(2, )").contains(line), "{line}: {text}");
    }
    assert!(
        flat("elementclass Queue { $c, $r | input -> Queue($c) -> Shaper($r) -> output || ... } Idle -> q :: Queue(7) -> Idle")
            .contains("q :: Queue(7);")
    );
    let ports = "elementclass P { input -> A -> output || input -> B -> output; input [1] -> C -> [1] output } a, b :: Idle; a -> p :: P -> b; a [1] -> [1] p [1] -> [1] b";
    assert_eq!(rows(ports), ["a -> p/B@1 -> b", "a [1] -> p/C@2 -> [1] b"]);
    let test = |arguments: &str| faults(&format!("x :: {{ $a, $b | Idle }} ({arguments})"))[0].clone();
    assert_eq!(test("1"), "`x` does not fit its class: too few arguments");
    assert_eq!(test("1, 2, 3"), "`x` does not fit its class: too many arguments");
    assert_eq!(faults("x :: { COUNT $c | Idle } (1)"), ["`x` does not fit its class: missing `COUNT` argument"]);
    assert_eq!(faults("a :: Idle -> x :: { Idle }"), ["`x` does not fit its class: it has 0 input ports, and 1 are connected"]);
    assert_eq!(faults("a :: Idle -> [1] x :: { input [1] -> Idle }"), ["`x` does not fit its class: its input port 0 is not used inside"]);
    assert_eq!(faults("x :: { $a | Idle || ... } (1)").len(), 1);
    assert_eq!(
        faults("elementclass T { $a | Idle } t :: T(1, 2); elementclass T { $a, $b | Idle || ... }"),
        ["`t` does not fit its class: too many arguments"]
    );
}

#[test]
fn parameters() {
    assert!(flat("x :: { $a, COUNT $count, __REST__ $rest | P($a; $count; $rest) } (1, 2, COUNT 3, FOO 4)").contains("P(1; 3; 2, FOO 4)"));
    assert!(flat("define($a 2); m :: Message($a, $b)").contains("m :: Message(2, $b)"));
    assert!(flat("Message($a); define($a 2)").contains("Message(2)"));
    // A class sees the parameters of the place where it is defined.
    let nested =
        "elementclass Foo { $a | elementclass Bar { $b | D($a, $b) } elementclass Baz { $a | Idle; Bar($a) } Baz(inner) } Foo(outer)";
    assert!(flat(nested).contains("Foo@1/Baz@1/Bar@2/D@1 :: D(outer, inner);"));
    let words = "elementclass Bar { $a, $n | P(\"${a[$n]}\") } elementclass Baz { $a | Bar(${a[1]} ${a[0]}, ${a[2]}) } Baz(G H 1)";
    assert!(flat(words).contains("P(\"G\")"));
    let given = BTreeMap::from([("a".to_owned(), "9".to_owned())]);
    assert!(flatten("define($a 2, $b 3); M($a $b)", &given).unwrap().to_string().contains("M(9 3)"));
    assert_eq!(faults("define($a 1, $a 2)"), ["parameter `$a` is defined twice"]);
    assert_eq!(faults("define(a 1)"), ["expected `$name value`, found `a 1`"]);
}

/// As `click -f` does, of version 2.1: values are expanded where they are put in, and what a
/// compound defines when it is used.
#[test]
fn values_have_parameters() {
    assert!(flat("define($a 1, $b x$a); M($b, \"$b\", '$b', ${b}, ${no-$b})").contains("M(x1, \"x1\", '$b', x1, x1)"));
    assert!(flat("define($m ${n[1]} $q, $n 3 4, $q \"'\\\"\"); M($m)").contains("M(4 \"'\\\"\")"));
    assert!(flat("define($n 1, $m $n); elementclass C { $n | M($m) } C(2)").contains("M(2)"));
    assert!(flat("define($n 1, $m $n); elementclass C { M($m) } C").contains("M(1)"));
    let nested = "define($n 9); elementclass A { define($m $n, $n 1); elementclass B { $n | M($m, $n) } B(7) } A";
    assert!(flat(nested).contains("M(9, 7)"));
    assert!(flat("define($a $a, $b $c, $c $b); M($a, $b$no)").contains("M($a, $c$no)"));
    assert!(flat("define($a x$a); M($a)").contains("M(xxxxxxxxxxx$a)"));
    let given = BTreeMap::from([("a".to_owned(), "9".to_owned())]);
    assert!(flatten("define($a 2, $b x$a); M($b)", &given).unwrap().to_string().contains("M(x9)"));
}

#[test]
fn faults_are_told_all_at_once_with_their_places() {
    assert_eq!(
        faults("a :: ; b -> -> c; d :: Idle }"),
        ["expected an element class, found `;`", "expected an element, found `->`", "`}` closes nothing"]
    );
    assert_eq!(faults("a :: Idle; a :: Queue"), ["element `a` is declared twice"]);
    assert_eq!(faults("elementclass Foo { A -> B; A :: Idle } Foo"), ["class `A` used as element name"]);
    assert_eq!(faults("x :: Idle( y"), ["this parenthesis is not closed"]);
    for (text, at) in [("Print(\"abc)", 6), ("P('a', \"b\\\")", 7), ("P(\"a\", 'b) -> Q(\"c\")", 7), ("P(\"", 2)] {
        let found = flatten(text, &BTreeMap::new()).unwrap_err();
        assert_eq!((found.0[0].message.as_str(), found.0[0].span), ("this quote is not closed", Span { start: at, end: at + 1 }), "{text}");
    }
    assert_eq!(faults("P(\"a\", 'b'"), ["this parenthesis is not closed"]);
    assert_eq!(
        faults("a :: Idle [0]; [1] a -> Idle; input -> a"),
        [
            "output ports ignored at end of chain",
            "input ports ignored at start of chain",
            "an element is missing: `input` has a meaning in compounds and groups only"
        ]
    );
    assert_eq!(
        faults("elementclass Foo { input -> output; output :: Idle } Idle -> Foo -> Idle"),
        ["`output` cannot be an element's name"]
    );
    assert_eq!(faults("7 :: Idle; b/8 :: Idle"), ["`7` cannot be an element's name", "`b/8` cannot be an element's name"]);
    assert_eq!(
        faults("a :: Idle; a [70000] -> a; € ->; $é"),
        ["`70000` is no port number", "`€` has no meaning here", "`$` has no meaning here", "`é` has no meaning here"]
    );
    assert_eq!(faults("{ a :: Idle"), ["expected `}`"]);
    assert_eq!(
        faults("a :: define; Idle -> require"),
        ["expected an element class, found the keyword `define`", "expected an element, found the keyword `require`"]
    );
    let drawn = flatten("a :: Idle;\na :: Queue", &BTreeMap::new()).unwrap_err().render("r.click", "a :: Idle;\na :: Queue", false);
    assert!(drawn.contains("r.click:2:1") && drawn.contains("first here"), "{drawn}");
}

#[test]
fn what_is_required_and_not_there_is_told() {
    assert_eq!(
        faults("require(compact_config, grid, package \"ip6\"); require(library lib.click); require(package); require(a b c)"),
        [
            "there is no package `grid`",
            "there is no package `ip6`",
            "`package` is no requirement",
            "`a b c` is no requirement",
            "the library `lib.click` cannot be read: there are no files here"
        ]
    );
    let text = "require(compact_config,\n  a, /* a */ package a);";
    let drawn = flatten(text, &BTreeMap::new()).unwrap_err().render("r.click", text, false);
    assert!(drawn.contains("r.click:2:3") && drawn.contains("r.click:2:14"), "{drawn}");
    assert_eq!(faults("elementclass A { require(x) } a :: A"), ["there is no package `x`"]);
}

#[test]
fn comments_that_do_not_end_are_told() {
    for (text, place) in [
        ("a :: Idle; /* b :: Idle;\n", "r.click:1:12"),
        ("a :: Idle; // /*\n /* */ /*/", "r.click:2:8"),
        ("a :: Paint(1 /* ); b :: Idle", "r.click:1:14"),
        ("/*", "r.click:1:1"),
    ] {
        let found = flatten(text, &BTreeMap::new()).expect_err(text);
        assert_eq!(found.0[0].message, "this comment is not closed", "{text}");
        let drawn = found.render("r.click", text, false);
        assert!(drawn.contains(place), "{drawn}");
    }
    assert_eq!(flat("a :: Paint(\"/*\", '/*'); /* */ /**/ // /*\n# /*\n"), "a :: Paint(\"/*\", '/*');\n");
    assert_eq!(faults("a :: Paint('1' /* */ "), ["this parenthesis is not closed"]);
}

#[test]
fn hostile_configurations_end() {
    assert!(faults(&"{".repeat(100_000))[0].contains("nested more than"));
    assert!(faults(&"(".repeat(100_000))[0].contains("nested more than"));
    let doubled = |n: usize, class: &dyn Fn(usize) -> String| (0..n).map(class).collect::<String>();
    let many = doubled(40, &|i| {
        if i == 0 { "elementclass C0 { Idle }".to_owned() } else { format!("elementclass C{i} {{ C{}; C{} }}", i - 1, i - 1) }
    });
    assert!(faults(&format!("{many} C39"))[0].contains("more than 262144 elements"));
    let long = doubled(45, &|i| {
        if i == 0 { "elementclass C0 { $a | Idle($a) }".to_owned() } else { format!("elementclass C{i} {{ $a | C{}($a $a) }}", i - 1) }
    });
    assert!(faults(&format!("{long} C44(xxxx)")).iter().any(|fault| fault.contains("configuration strings of more than")));
    let wide = format!("define($a {}); Idle({})", "x".repeat(1 << 20), "$a".repeat(100_000));
    assert!(faults(&wide)[0].contains("configuration strings of more than"));
    let empty: String = (1..11).map(|i| format!("define($a{i} {}); ", format!("$a{}", i + 1).repeat(100))).collect();
    assert!(faults(&format!("{empty} define($a11); Idle($a1)"))[0].contains("configuration strings of more than"));
    let deep =
        doubled(3000, &|i| if i == 0 { "elementclass C0 { Idle }".to_owned() } else { format!("elementclass C{i} {{ C{} }}", i - 1) });
    assert!(faults(&format!("{deep} C2999"))[0].contains("compounds nested more than"));
    let tunnels: String = (0..3000).map(|i| format!("x{i} :: {{ input -> output; input [1] -> [1] output }}; ")).collect();
    let chain: String = (1..3000).map(|i| format!("x{} -> x{i}; x{} [1] -> [1] x{i}; x{} -> [1] x{i}; ", i - 1, i - 1, i - 1)).collect();
    assert!(!rows(&format!("{tunnels} a :: Idle -> x0; a [1] -> [1] x0; {chain} x2999 -> b :: Idle; x2999 [1] -> b")).is_empty());
    assert!(faults("a :: Idle -> [0-65535,0-65535,0-65535] a")[0].contains("too many ports"));
}

/// What texts are made of.
#[rustfmt::skip]
const PIECES: [&str; 41] = [
    "a", "b", "c ", " :: ", "Idle", "Foo", "(", ")", "{", "}", "[", "]", "0", "1", "-", "->", " -> ", "=>", "|", "||", "...", ";", ";\n", ",", "$a", "${a[0]}", "$", "elementclass Foo ", "elementclass ", "connectiontunnel ", "define($a 1 2)", "require(x)", "input", "output", "\"", "'", "\\", "/*", "*/", "//", "é",
];

/// Words and signs in any order: nothing panics, and what is flat stays as it is.
#[test]
fn any_text_is_flat_or_has_faults() {
    let (mut state, mut flats) = (7u64, 0);
    for _ in 0..60_000 {
        let mut next = |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 33) as usize % below
        };
        let length = 1 + next(14);
        let source: String = (0..length).map(|_| PIECES[next(PIECES.len())]).collect();
        match flatten(&source, &BTreeMap::new()) {
            Ok(_) => {
                flat(&source);
                flats += 1;
            }
            Err(faults) => assert!(!faults.render("r", &source, false).is_empty()),
        }
    }
    assert!(flats > 1000, "{flats}");
}
