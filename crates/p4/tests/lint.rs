//! What is told of programs that are right and cannot mean what they say: each warning with its
//! line, and what is not told.

use netvm_p4::{Reading, check};
use std::path::Path;

/// Warnings as `line: message`.
fn told(text: &str) -> Vec<String> {
    let reading = Reading { folders: &[], defines: &[], load: &|_| None, marks: false, without: &[] };
    let (_, warnings) = check(Path::new("t.p4"), text, reading).unwrap_or_else(|refused| panic!("{}", refused.render(false)));
    let list: Vec<String> = warnings.list().map(|(_, line, _, message)| format!("{line}: {message}")).collect();
    assert_eq!(warnings.render(false).matches("warning: ").count(), list.len());
    list
}

/// A program for v1model: states behind `start` from line 10 on, what is declared in ingress from
/// line 20 on, and what it does from line 40 on.
fn program(states: &str, declared: &str, applied: &str) -> String {
    let lines = |text: &str, n: usize| format!("{text}{}", "\n".repeat(n - text.matches('\n').count()));
    let head = "#include <v1model.p4>
header eth_t { bit<16> type; } header ip_t { bit<8> proto; bit<8> ttl; } header tcp_t { bit<16> port; }
header_union l4_t { tcp_t tcp; ip_t other; }
struct H { eth_t eth; ip_t ip; tcp_t tcp; l4_t l4; ip_t[2] stack; } struct M { bit<8> kind; bool flag; ip_t copy; }
parser P(packet_in p, out H h, inout M m, inout standard_metadata_t s) {
";
    let middle = "} control N(inout H h, inout M m) { apply {} }
control I(inout H h, inout M m, inout standard_metadata_t s) {
";
    let tail = "} }
control E(inout H h, inout M m, inout standard_metadata_t s) { apply {} }
control D(packet_out p, in H h) { apply { p.emit(h); } }
V1Switch(P(), N(), I(), E(), N(), D()) main;
";
    format!("{}{}{}{}apply {{\n{applied}{tail}", lines(head, 9), lines(states, 8), lines(middle, 2), lines(declared, 19))
}

const PARSER: &str = "state start { p.extract(h.eth); transition select(h.eth.type) { 0x800: ip; default: accept; } }
state ip { p.extract(h.ip); transition select(h.ip.proto) { 6: tcp; default: accept; } }
state tcp { p.extract(h.tcp); transition accept; }
";

fn ingress(declared: &str, applied: &str) -> Vec<String> {
    told(&program(PARSER, declared, applied))
}

#[test]
fn states_that_no_transition_leads_to_are_told() {
    let states = "state start { transition select(m.kind) {
0: a; 0xf0 &&& 0xf0: b; 0xff: c; 0..1: a;
0: c; 1: a; default: accept; 7: d; } }
state a { transition accept; }
state b { transition accept; } state c { transition accept; }
state d { transition e; } state e { transition d; }
";
    let wanted = [
        "11: this case never matches",
        "12: this case never matches",
        "12: this case never matches",
        "12: this case never matches",
        "14: the state `c` of parser P is never reached",
        "15: the state `d` of parser P is never reached",
        "15: the state `e` of parser P is never reached",
    ];
    assert_eq!(told(&program(states, "", "")), wanted);
    assert_eq!(ingress("", ""), [""; 0]);
}

#[test]
fn select_over_several_keys_is_compared_key_by_key() {
    let states = "state start { transition select(m.kind, s.ingress_port) {
(0, _): a; (0, 1): b; (1, 1): b; (_, 1): a; (1, 2): b; _: accept; (5, 5): b; } }
state a { transition accept; } state b { transition accept; }
";
    assert_eq!(told(&program(states, "", "")), ["11: this case never matches", "11: this case never matches"]);
}

#[test]
fn entries_behind_others_that_cover_them_are_told() {
    let table = |key: &str, entries: &str| {
        let declared = format!(
            "action a() {{}} table t {{ key = {{ m.kind: {key}; }} actions = {{ a; }} const entries = {{\n{entries} }} default_action = a; }}\n"
        );
        ingress(&declared, "t.apply();")
    };
    let never = |line: u32| format!("{line}: this entry of the table `t` never matches");
    assert_eq!(table("lpm", "0x80 &&& 0x80: a; 0xc0 &&& 0xc0: a;\n0x80 &&& 0x80: a;"), [never(22)]);
    assert_eq!(table("ternary", "0x80 &&& 0x80: a;\n0xc0 &&& 0xc0: a; 0x40 &&& 0x40: a; _: a;\n5: a;"), [never(22), never(23)]);
    assert_eq!(table("range", "1..9: a;\n3..4: a; 9..10: a;\n5: a;"), [never(22), never(23)]);
    assert_eq!(table("optional", "1: a; 2: a;\n2: a; _: a;"), [never(22)]);
    // The higher priority goes first, wherever it stands.
    let declared =
        "action a() {} table t { key = { m.kind: ternary; } actions = { a; } default_action = a; largest_priority_wins = true; entries = {
priority = 1: 5: a;
priority = 9: _: a; } }
";
    assert_eq!(ingress(declared, "t.apply();"), [never(21)]);
}

#[test]
fn what_is_never_used_is_told() {
    let declared = "action used() {} action called() {} action idle() {} @noWarn(\"unused\") action quiet() {}
table t { actions = { used; } default_action = used; }
table left { actions = { used; } default_action = used; }
table asked { key = { m.kind: exact; } actions = { used; } default_action = used; } table run { actions = { used; } default_action = used; }
";
    let applied = "called(); t.apply(); if (asked.apply().hit) {} switch (run.apply().action_run) { used: {} }";
    assert_eq!(ingress(declared, applied), ["20: the action `idle` is never used", "22: the table `left` is never applied"]);
}

/// The warnings about reads of a program whose ingress does that.
fn reads(applied: &str) -> Vec<String> {
    ingress("action touch() { h.ip.ttl = h.ip.ttl - 1; } table t { actions = { touch; } const default_action = touch; }\n", applied)
        .into_iter()
        .filter(|line| !line.contains("never applied"))
        .collect()
}

#[test]
fn a_read_is_told_where_the_parser_may_leave_the_header_out() {
    assert_eq!(reads("m.kind = h.ip.ttl;"), ["40: `h.ip` may be invalid where it is read"]);
    assert_eq!(reads("m.kind = (bit<8>) h.eth.type;"), [""; 0]);
    assert_eq!(reads("if (h.ip.isValid()) m.kind = h.ip.ttl;"), [""; 0]);
    assert_eq!(reads("if (!h.ip.isValid()) { return; } m.kind = h.ip.ttl;"), [""; 0]);
    assert_eq!(reads("if (!h.ip.isValid()) { exit; } m.kind = h.ip.ttl;"), [""; 0]);
    assert_eq!(reads("if (h.ip.isValid() && h.ip.ttl > 1) {}"), [""; 0]);
    assert_eq!(reads("if (h.ip.isValid() || h.ip.ttl > 1) {}"), ["40: `h.ip` is never valid where it is read"]);
    assert_eq!(reads("m.kind = h.ip.isValid() ? h.ip.ttl : 0;"), [""; 0]);
    assert_eq!(reads("if (h.ip.isValid()) {} else {\nm.kind = h.ip.ttl; }"), ["41: `h.ip` is never valid where it is read"]);
    // The parser makes no packet with tcp and without ip.
    assert_eq!(reads("if (h.tcp.isValid()) m.kind = h.ip.ttl;"), [""; 0]);
}

#[test]
fn conditions_that_say_the_same_are_seen() {
    assert_eq!(reads("if (h.eth.type == 0x800) m.kind = h.ip.ttl;"), [""; 0]);
    assert_eq!(reads("if (h.eth.type != 0x800) { return; } m.kind = h.ip.ttl;"), [""; 0]);
    assert_eq!(reads("if (h.eth.type == 0x801) m.kind = h.ip.ttl;"), ["40: `h.ip` is never valid where it is read"]);
    assert_eq!(reads("m.flag = h.ip.isValid(); if (m.flag) m.kind = h.ip.ttl;"), [""; 0]);
    assert_eq!(reads("if (h.ip.isValid()) m.kind = 1; if (m.kind == 1) { m.kind = h.ip.ttl; }"), [""; 0]);
    assert_eq!(reads("if (h.ip.isValid()) m.kind = 1; m.kind = s.priority ++ 5w0;\nif (m.kind == 1) m.kind = h.ip.ttl;").len(), 1);
    assert_eq!(reads("switch (h.eth.type) { 0x800: { m.kind = h.ip.ttl; } default: {} }"), [""; 0]);
    assert_eq!(reads("h.eth.type = 0x800; if (h.eth.type == 0x800) m.kind = h.ip.ttl;").len(), 1);
}

#[test]
fn headers_are_made_valid_and_invalid() {
    assert_eq!(reads("h.ip.setValid(); m.kind = h.ip.ttl;"), [""; 0]);
    assert_eq!(reads("h.eth.setInvalid();\nm.kind = (bit<8>) h.eth.type;"), ["41: `h.eth` is never valid where it is read"]);
    assert_eq!(reads("h.ip = { 1, 2 }; m.kind = h.ip.ttl;"), [""; 0]);
    assert_eq!(reads("m.copy = h.ip; if (m.copy.isValid()) m.kind = h.ip.ttl;"), [""; 0]);
    assert_eq!(reads("m.copy.setValid(); h.ip = m.copy; m.kind = h.ip.ttl;"), [""; 0]);
    assert_eq!(reads("ip_t own;\nm.kind = own.ttl;"), ["41: `own` is never valid where it is read"]);
    assert_eq!(
        reads("h.l4.tcp.setValid(); h.l4.other.setValid();\ns.mcast_grp = h.l4.tcp.port;"),
        ["41: `h.l4.tcp` is never valid where it is read"]
    );
    // Elements of stacks are not followed.
    assert_eq!(reads("m.kind = h.stack[0].ttl;"), [""; 0]);
}

#[test]
fn actions_and_tables_are_followed() {
    assert_eq!(reads("if (h.ip.isValid()) t.apply();"), [""; 0]);
    assert_eq!(reads("t.apply();"), ["20: `h.ip` may be invalid where it is read"]);
    assert_eq!(reads("touch();"), ["20: `h.ip` may be invalid where it is read"]);
    let keyed = |key: &str| {
        format!(
            "action touch() {{ h.ip.ttl = h.ip.ttl - 1; }}\ntable u {{ key = {{ {key} }} actions = {{ touch; NoAction; }} default_action = NoAction; }}\n"
        )
    };
    assert_eq!(ingress(&keyed("m.kind: exact;"), "u.apply();"), [""; 0], "entries may see to it");
    assert_eq!(ingress(&keyed("h.ip.ttl: exact;"), "u.apply();"), ["21: `h.ip` may be invalid where it is read"]);
    assert_eq!(ingress(&keyed("h.ip.isValid(): exact; h.ip.ttl: ternary;"), "u.apply();"), [""; 0]);
    assert_eq!(ingress(&keyed("m.kind: exact;"), "if (!h.ip.isValid()) { u.apply(); }"), ["20: `h.ip` is never valid where it is read"]);
    let marks = "action mark() { m.kind = 1; } table u { key = { s.ingress_port: exact; } actions = { mark; NoAction; } default_action = NoAction; }\n";
    let only = |applied: &str| ingress(marks, applied);
    assert_eq!(
        only("if (!h.ip.isValid()) { return; } switch (u.apply().action_run) { mark: { m.kind = h.ip.ttl; } default: {} }"),
        [""; 0]
    );
    assert_eq!(only("switch (u.apply().action_run) { mark: { h.ip.setValid(); } default: { return; } } m.kind = h.ip.ttl;"), [""; 0]);
}

#[test]
fn a_way_is_told() {
    let reading = Reading { folders: &[], defines: &[], load: &|_| None, marks: false, without: &[] };
    let text = program(PARSER, "", "if (s.ingress_port == 3) {\nm.kind = h.ip.ttl; }");
    let drawn = check(Path::new("t.p4"), &text, reading).unwrap().1.render(false);
    for wanted in
        ["t.p4:41:10", "^^^^^^^^", "this holds", "the parser ends here without `h.ip`", "a packet comes here by the parser states start"]
    {
        assert!(drawn.contains(wanted), "{wanted}: {drawn}");
    }
}

#[test]
fn the_place_where_a_header_goes_is_told() {
    let reading = Reading { folders: &[], defines: &[], load: &|_| None, marks: false, without: &[] };
    let text = program(PARSER, "", "h.eth.setInvalid();\nm.kind = (bit<8>) h.eth.type;");
    let drawn = check(Path::new("t.p4"), &text, reading).unwrap().1.render(false);
    assert!(drawn.contains("`h.eth` is made invalid here") && !drawn.contains("the parser ends here"), "{drawn}");
}

#[test]
fn controls_in_controls_and_functions_are_followed() {
    let inner = "action touch() { h.ip.ttl = 1; }\n";
    let text = program(PARSER, inner, "touch(); C.apply(h.ip, m.kind);").replace(
        "control N(",
        "bit<8> twice(in ip_t x) { return x.ttl + x.ttl; } control C(inout ip_t x, out bit<8> r) { apply { r = twice(x); } } control N(",
    );
    let told = told(&text);
    assert_eq!(told, ["18: `x` may be invalid where it is read"; 1], "once for each place: {told:?}");
}
