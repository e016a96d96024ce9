//! BMv2's JSON against a reading of it that is written here: expressions with numbers without
//! bounds, and nodes that name what comes next; by chance, from a seed (`NETVM_SEED`,
//! `NETVM_CASES`). Files of the folder `tests/p4` with their STF files; and what is refused, with
//! its place.

use netvm::p4::{BigInt, Pipeline, Reading, Switch, stf};
use netvm::{Settings, engines};
use serde_json::{Value, json};
use std::path::Path;

fn reading() -> Reading<'static> {
    Reading { folders: &[], defines: &[], load: &|_| None, marks: false, without: &[] }
}

fn compiled(program: &Value) -> Result<Pipeline, String> {
    p4::compile(Path::new("t.json"), &program.to_string(), reading()).map_err(|refused| refused.render(false))
}

/// What leaves, on each quick engine.
fn sent(program: &Value, packets: &[Vec<u8>]) -> Vec<Vec<Vec<u8>>> {
    let pipeline = compiled(program).unwrap_or_else(|why| panic!("{why}\n{program}"));
    let quick = engines::ALL.iter().filter(|e| e.quick);
    let run = |engine| {
        let mut switch = Switch::start(pipeline.clone(), engine, Settings::default()).unwrap();
        packets.iter().map(|p| switch.receive(1, p, 0).into_iter().flat_map(|sent| sent.bytes).collect()).collect()
    };
    quick.map(run).collect()
}

/// A chance from a seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 8) % n.max(1)
    }

    fn number(&mut self, bits: u32) -> BigInt {
        let mut value = BigInt::from(0);
        for _ in 0..bits.div_ceil(8) {
            value = value * 256 + if self.below(3) == 0 { [0, 255, 128, 1][self.below(4) as usize] } else { self.below(256) };
        }
        value % (BigInt::from(1) << bits)
    }
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

/// Fields of the header: name, bits, signed.
const FIELDS: [(&str, u32, bool); 8] = [
    ("a", 8, false),
    ("b", 16, false),
    ("c", 3, false),
    ("d", 13, true),
    ("e", 32, false),
    ("f", 48, false),
    ("g", 64, true),
    ("r", 128, false),
];

/// A program for simple_switch with those actions, that begins there and has those nodes.
fn program(actions: Value, tables: Value, conditions: Value, first: Value) -> Value {
    let fields: Vec<Value> = FIELDS.iter().map(|(name, bits, signed)| json!([name, bits, signed])).collect();
    let key = json!([]);
    json!({
        "header_types": [{"name": "h_t", "id": 0, "fields": fields}, {"name": "standard_metadata", "id": 1, "fields": [["egress_spec", 9, false]]}],
        "headers": [{"name": "h", "id": 0, "header_type": "h_t", "metadata": false},
            {"name": "standard_metadata", "id": 1, "header_type": "standard_metadata", "metadata": true}],
        "parsers": [{"name": "parser", "id": 0, "init_state": "start", "parse_states": [{"name": "start", "id": 0,
            "parser_ops": [{"op": "extract", "parameters": [{"type": "regular", "value": "h"}]}],
            "transitions": [{"type": "default", "value": null, "mask": null, "next_state": null}], "transition_key": key}]}],
        "deparsers": [{"name": "deparser", "id": 0, "order": ["h"]}],
        "actions": actions,
        "pipelines": [
            {"name": "ingress", "id": 0, "init_table": first, "tables": tables, "conditionals": conditions, "action_profiles": []},
            {"name": "egress", "id": 1, "init_table": null, "tables": [], "conditionals": [], "action_profiles": []}],
    })
}

/// A table that stands for a call.
fn call(name: &str, action: u64, next: Value) -> Value {
    json!({"name": format!("tbl_{name}"), "id": action, "key": [], "match_type": "exact", "type": "simple", "max_size": 1, "with_counters": false,
        "action_ids": [action], "actions": ["act"], "base_default_next": next, "next_tables": {"act": next},
        "default_entry": {"action_id": action, "action_const": true, "action_data": [], "action_entry_const": true}})
}

fn field(name: &str) -> Value {
    json!({"type": "field", "value": ["h", name]})
}

fn hexadecimal(value: &BigInt) -> Value {
    let digits = value.magnitude().to_str_radix(16);
    json!({"type": "hexstr", "value": format!("{}0x{digits}", if value < &BigInt::from(0) { "-" } else { "" })})
}

fn operation(op: &str, left: Value, right: Value) -> Value {
    json!({"type": "expression", "value": {"op": op, "left": left, "right": right}})
}

/// A packet's fields.
type Fields = Vec<BigInt>;
/// What an expression means.
type Meaning = Box<dyn Fn(&Fields) -> BigInt>;
/// Whether a condition holds.
type Condition = Box<dyn Fn(&Fields) -> bool>;

fn modulo(value: &BigInt, bits: u32, signed: bool) -> BigInt {
    let one = BigInt::from(1);
    let low: BigInt = value & ((&one << bits) - &one);
    if signed && low >= (&one << (bits - 1)) { low - (one << bits) } else { low }
}

/// An expression with numbers without bounds, and what it means.
fn expression(chance: &mut Chance, depth: u32) -> (Value, Meaning) {
    if depth == 0 || chance.below(6) == 0 {
        if chance.below(4) == 0 {
            let bits = [1, 4, 8, 9, 16, 33][chance.below(6) as usize];
            let value = chance.number(bits) * if chance.below(6) == 0 { -1 } else { 1 };
            return (hexadecimal(&value), Box::new(move |_| value.clone()));
        }
        let n = chance.below(FIELDS.len() as u64 - 1) as usize;
        return (field(FIELDS[n].0), Box::new(move |fields| fields[n].clone()));
    }
    match chance.below(10) {
        0..=4 => {
            let ((a, x), (b, y)) = (expression(chance, depth - 1), expression(chance, depth - 1));
            let (op, apply): (&str, fn(BigInt, BigInt) -> BigInt) = match chance.below(6) {
                0 => ("+", |a, b| a + b),
                1 => ("-", |a, b| a - b),
                2 => ("*", |a, b| a * b),
                3 => ("&", |a, b| a & b),
                4 => ("|", |a, b| a | b),
                _ => ("^", |a, b| a ^ b),
            };
            (operation(op, a, b), Box::new(move |f| apply(x(f), y(f))))
        }
        5 => {
            let (a, x) = expression(chance, depth - 1);
            let by = chance.below(20);
            let left = chance.below(2) == 0;
            let text = operation(if left { "<<" } else { ">>" }, a, hexadecimal(&by.into()));
            (text, Box::new(move |f| if left { x(f) << by } else { x(f) >> by }))
        }
        6 => {
            let (a, x) = expression(chance, depth - 1);
            let mask = (BigInt::from(1) << [1, 8, 16, 20, 32][chance.below(5) as usize]) - 1;
            (operation("&", a, hexadecimal(&mask)), Box::new(move |f| x(f) & &mask))
        }
        7 => {
            let (a, x) = expression(chance, depth - 1);
            let bits = [2, 8, 13, 32][chance.below(4) as usize];
            let what = chance.below(3);
            let width = hexadecimal(&bits.into());
            let text = operation(["two_comp_mod", "sat_cast", "usat_cast"][what as usize], a, width);
            let half = BigInt::from(1) << (bits - 1);
            let meaning = move |f: &Fields| match what {
                0 => modulo(&x(f), bits, true),
                1 => x(f).clamp(-half.clone(), &half - 1),
                _ => x(f).clamp(BigInt::from(0), &half * 2 - 1),
            };
            (text, Box::new(meaning))
        }
        8 => {
            let (a, x) = expression(chance, depth - 1);
            (json!({"type": "expression", "value": {"op": "~", "left": null, "right": a}}), Box::new(move |f| -x(f) - 1))
        }
        _ => {
            let ((a, x), (b, y)) = (expression(chance, depth - 1), expression(chance, depth - 1));
            let (condition, holds) = comparison(chance, depth - 1);
            let text = json!({"type": "expression", "value": {"op": "?", "left": a, "right": b, "cond": condition}});
            (text, Box::new(move |f| if holds(f) { x(f) } else { y(f) }))
        }
    }
}

fn comparison(chance: &mut Chance, depth: u32) -> (Value, Condition) {
    let ((a, x), (b, y)) = (expression(chance, depth), expression(chance, depth));
    let op = ["==", "!=", "<", "<=", ">", ">="][chance.below(6) as usize];
    let holds = move |f: &Fields| {
        let (x, y) = (x(f), y(f));
        match op {
            "==" => x == y,
            "!=" => x != y,
            "<" => x < y,
            "<=" => x <= y,
            ">" => x > y,
            _ => x >= y,
        }
    };
    (operation(op, a, b), Box::new(holds))
}

/// A packet of chance, and its fields.
fn packet(chance: &mut Chance) -> (Vec<u8>, Fields) {
    let (mut whole, mut fields, mut bits) = (BigInt::from(0), Vec::new(), 0);
    for (_, width, signed) in FIELDS {
        let value = chance.number(width);
        fields.push(modulo(&value, width, signed));
        whole = (whole << width) + value;
        bits += width;
    }
    (bytes(&whole, bits), fields)
}

fn bytes(whole: &BigInt, bits: u32) -> Vec<u8> {
    let mut bytes = whole.to_bytes_be().1;
    while bytes.len() < bits as usize / 8 {
        bytes.insert(0, 0);
    }
    bytes
}

#[test]
fn numbers_have_no_bounds() {
    let (cases, mut chance) = (setting("NETVM_CASES", 40), Chance(setting("NETVM_SEED", 7)));
    let mut wide = 0;
    for case in 0..cases {
        let (text, meaning) = expression(&mut chance, 3);
        let assign = json!({"op": "assign", "parameters": [field("r"), {"type": "expression", "value": text}]});
        let made = program(
            json!([{"name": "act", "id": 0, "runtime_data": [], "primitives": [assign]}]),
            json!([call("x", 0, Value::Null)]),
            json!([]),
            json!("tbl_x"),
        );
        let (packets, fields): (Vec<_>, Vec<_>) = (0..8).map(|_| packet(&mut chance)).unzip();
        match compiled(&made) {
            Err(why) => {
                assert!(why.contains("bits") || why.contains("expected"), "case {case}: {why}\n{text}");
                wide += 1;
            }
            Ok(_) => {
                let wanted: Vec<Vec<u8>> = packets
                    .iter()
                    .zip(&fields)
                    .map(|(packet, fields)| {
                        let result = bytes(&modulo(&meaning(fields), 128, false), 128);
                        [&packet[..packet.len() - 16], &result[..]].concat()
                    })
                    .collect();
                for got in sent(&made, &packets) {
                    assert_eq!(got, wanted, "case {case}: {text}");
                }
            }
        }
    }
    assert!(wide * 4 < cases, "{wide} of {cases} are too wide");
}

/// What a node adds to the record in `r`.
fn record(n: u64) -> Value {
    let shifted = operation("+", operation("*", field("r"), hexadecimal(&31.into())), hexadecimal(&(n + 1).into()));
    json!({"op": "assign", "parameters": [field("r"), shifted]})
}

#[test]
fn control_goes_where_the_nodes_say() {
    let (cases, mut chance) = (setting("NETVM_CASES", 60), Chance(setting("NETVM_SEED", 11)));
    for case in 0..cases {
        let count = 2 + chance.below(14);
        let (mut actions, mut tables, mut conditions, mut nodes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let name = |n: Option<u64>| n.map_or(Value::Null, |n| json!(format!("tbl_n{n}")));
        for n in 0..count {
            let mut behind = || {
                let far = if chance.below(3) == 0 { count } else { 3 };
                Some(n + 1 + chance.below(far)).filter(|m| *m < count)
            };
            let (yes, no) = (behind(), behind());
            let bit = chance.below(16);
            actions.push(json!({"name": "act", "id": n, "runtime_data": [], "primitives": [record(n)]}));
            if chance.below(2) == 0 {
                tables.push(call(&format!("n{n}"), n, name(yes)));
                nodes.push((None, yes, no));
            } else {
                let test = operation("&", field("b"), hexadecimal(&(1u64 << bit).into()));
                let test = operation("!=", test, hexadecimal(&0.into()));
                conditions.push(
                    json!({"name": format!("tbl_n{n}"), "id": n, "expression": test, "true_next": name(yes), "false_next": name(no)}),
                );
                nodes.push((Some(bit), yes, no));
            }
        }
        let made = program(json!(actions), json!(tables), json!(conditions), json!("tbl_n0"));
        let (packets, fields): (Vec<_>, Vec<_>) = (0..16).map(|_| packet(&mut chance)).unzip();
        let walk = |packet: &Vec<u8>, fields: &Fields| {
            let (mut at, mut r) = (Some(0u64), fields[7].clone());
            while let Some(n) = at {
                let (bit, yes, no) = nodes[n as usize];
                match bit {
                    None => {
                        r = r * 31 + n + 1;
                        at = yes;
                    }
                    Some(bit) => at = if (&fields[1] >> bit) & BigInt::from(1) == 1.into() { yes } else { no },
                }
            }
            [&packet[..packet.len() - 16], &bytes(&modulo(&r, 128, false), 128)[..]].concat()
        };
        let wanted: Vec<Vec<u8>> = packets.iter().zip(&fields).map(|(p, f)| walk(p, f)).collect();
        for got in sent(&made, &packets) {
            assert_eq!(got, wanted, "case {case}: {made}");
        }
    }
}

#[test]
fn jumps_in_actions_go_forward() {
    let (cases, mut chance) = (setting("NETVM_CASES", 30), Chance(setting("NETVM_SEED", 13)));
    for case in 0..cases {
        let count = 3 + chance.below(10);
        let (mut primitives, mut jumps) = (Vec::new(), Vec::new());
        for n in 0..count {
            let to = n + 1 + chance.below(count - n);
            let bit = chance.below(8);
            let target = hexadecimal(&to.into());
            match chance.below(4) {
                0 => primitives.push(json!({"op": "_jump", "parameters": [target]})),
                1 => {
                    let test = operation("&", field("a"), hexadecimal(&(1u64 << bit).into()));
                    primitives.push(json!({"op": "_jump_if_zero", "parameters": [test, target]}));
                    jumps.push((Some(bit), to));
                    continue;
                }
                _ => {
                    primitives.push(record(n));
                    jumps.push((None, count + 1));
                    continue;
                }
            }
            jumps.push((None, to));
        }
        let made = program(
            json!([{"name": "act", "id": 0, "runtime_data": [], "primitives": primitives}]),
            json!([call("x", 0, Value::Null)]),
            json!([]),
            json!("tbl_x"),
        );
        let (packets, fields): (Vec<_>, Vec<_>) = (0..8).map(|_| packet(&mut chance)).unzip();
        let walk = |packet: &Vec<u8>, fields: &Fields| {
            let (mut at, mut r) = (0u64, fields[7].clone());
            while at < count {
                match jumps[at as usize] {
                    (None, to) if to > count => {
                        r = r * 31 + at + 1;
                        at += 1;
                    }
                    (Some(bit), _) if (&fields[0] >> bit) & BigInt::from(1) == 1.into() => at += 1,
                    (_, to) => at = to,
                }
            }
            [&packet[..packet.len() - 16], &bytes(&modulo(&r, 128, false), 128)[..]].concat()
        };
        let wanted: Vec<Vec<u8>> = packets.iter().zip(&fields).map(|(p, f)| walk(p, f)).collect();
        for got in sent(&made, &packets) {
            assert_eq!(got, wanted, "case {case}: {made}");
        }
    }
}

#[test]
fn files_do_what_their_tests_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/p4");
    for name in ["bmv2", "bmv2_old", "bmv2_lists", "bmv2_loops", "bmv2_masks", "bmv2_psa"] {
        let test = std::fs::read_to_string(folder.join(format!("{name}.stf"))).unwrap();
        for engine in engines::ALL.iter().filter(|e| e.quick) {
            let pipeline =
                netvm::p4::load(&folder.join(format!("{name}.json")), &[], &[]).unwrap_or_else(|e| panic!("{}", e.render(false)));
            let mut switch = Switch::start(pipeline, engine, Settings::default()).unwrap();
            assert_eq!(stf::run(&mut switch, &test).wrong, Vec::<String>::new(), "{name} on {}", engine.name);
        }
    }
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let fine = program(
        json!([{"name": "act", "id": 0, "runtime_data": [], "primitives": []}]),
        json!([call("x", 0, Value::Null)]),
        json!([]),
        json!("tbl_x"),
    );
    assert_eq!(compiled(&fine).map(drop), Ok(()));
    let with = |place: &str, value: Value| {
        let mut changed = fine.clone();
        *changed.pointer_mut(place).unwrap_or_else(|| panic!("{place}")) = value;
        compiled(&changed).map_or_else(|why| why.lines().next().unwrap_or_default().to_owned(), |_| String::new())
    };
    let cases = [
        ("/pipelines/0/init_table", json!("y"), "error: pipelines[0].init_table: nothing is called `y` in this pipeline"),
        (
            "/pipelines/0/name",
            json!("x"),
            "error: pipelines: there is no pipeline `ingress`, as programs for simple_switch and psa_switch have it",
        ),
        ("/pipelines/0/tables/0/base_default_next", json!(1), ""),
        ("/pipelines/0/tables/0/next_tables/act", json!("tbl_x"), "error: pipelines[0].tables[0]: control comes here again and again"),
        ("/headers/0/header_type", json!("z"), "error: headers[0].header_type: no header type is called `z`"),
        ("/headers/0/id", json!(-1), "error: headers[0].id: expected a number that is not negative"),
        ("/header_types/0/fields/0/1", json!(5000), "error: header_types[0].fields[0][1]: expected a number up to 2048"),
        ("/deparsers/0/order/0", json!("standard_metadata"), "error: deparsers[0].order[0]: metadata is not sent"),
        (
            "/actions/0/primitives",
            json!([{"op": "fly", "parameters": []}]),
            "error: actions[0].primitives[0]: the primitive `fly` with 0 parameters is not supported",
        ),
    ];
    for (place, value, wanted) in cases {
        assert_eq!(with(place, value), wanted, "{place}");
    }
    let text = "{\n  \"header_types\": [],\n  \"pipelines\": [}";
    let refused = p4::compile(Path::new("t.json"), text, reading()).unwrap_err().render(false);
    assert!(refused.contains("this is no JSON") && refused.contains("t.json:3:17"), "{refused}");
}

/// One value set stands for members of one mask.
#[test]
fn a_value_set_has_one_mask() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/p4/bmv2_masks.json");
    let mut program: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(compiled(&program).map(drop), Ok(()));
    let transitions = program.pointer_mut("/parsers/0/parse_states/0/transitions").unwrap().as_array_mut().unwrap();
    let mut second = transitions[0].clone();
    second["mask"] = json!("0xffff");
    transitions.insert(1, second);
    let told = compiled(&program).unwrap_err();
    assert!(told.contains("parsers[0].parse_states[0].transitions[1]: a value set that is used with two masks"), "{told}");
    *program.pointer_mut("/parsers/0/parse_states/0/transitions/0/mask").unwrap() = json!("0x10000");
    let told = compiled(&program).unwrap_err();
    assert!(told.contains("transitions[0].mask: expected a mask of 16 bits"), "{told}");
}
