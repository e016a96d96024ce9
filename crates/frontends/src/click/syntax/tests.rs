//! What arguments mean in each syntax, at the ends of ranges and beyond.

use super::*;
use crate::click::flatten;
use std::collections::BTreeMap;

const U32: Type = Type::Integer { bits: 32, signed: false };
const U64: Type = Type::Integer { bits: 64, signed: false };

fn read_with(names: &Scope<'_>, syntax: &str, ty: &Type, text: &str) -> Result<Value, String> {
    Syntax::named(syntax).unwrap().read(text, &Reading { ty, names }).map_err(|error| error.to_string())
}

fn read(syntax: &str, ty: &Type, text: &str) -> Result<Value, String> {
    read_with(&Names::default().at("x"), syntax, ty, text)
}

fn int(syntax: &str, ty: &Type, text: &str) -> Result<i64, String> {
    read(syntax, ty, text).map(|value| match value {
        Value::Int(number) => number as i64,
        other => panic!("{other:?}"),
    })
}

fn bytes(syntax: &str, ty: &Type, text: &str) -> Option<Vec<u8>> {
    match read(syntax, ty, text) {
        Ok(Value::Bytes(bytes)) => Some(bytes),
        _ => None,
    }
}

#[test]
fn integers_have_bases_and_ranges() {
    let i8 = Type::Integer { bits: 8, signed: true };
    let all = ["0x1F", "0b101", "017", "1_000", "+5", "0", "0x0"].map(|text| int("integer", &U32, text));
    assert_eq!(all, [Ok(31), Ok(5), Ok(15), Ok(1000), Ok(5), Ok(0), Ok(0)]);
    assert_eq!([int("integer", &i8, "-128"), int("integer", &i8, "127")], [Ok(-128), Ok(127)]);
    assert_eq!(int("integer", &i8, "128"), Err("is out of range, -128 to 127".to_owned()));
    assert_eq!(int("integer", &U64, "18446744073709551615"), Ok(-1));
    for text in ["", "-", "0x", "08", "1__0", "_1", "1_", "a", "1 2", "0b2", "--1", "1.0"] {
        assert_eq!(int("integer", &U32, text), Err("is not an integer".to_owned()), "{text}");
    }
    for text in ["18446744073709551616", "-1", "99999999999999999999999999999999999999999999999999"] {
        assert!(int("integer", &U64, text).unwrap_err().contains("out of range"), "{text}");
    }
    assert_eq!(int("HEX", &U32, "ff"), Ok(255));
    assert_eq!(bytes("ETHERTYPE", &Type::Big(16), "0x0800"), Some(vec![8, 0]));
}

#[test]
fn addresses_and_prefixes() {
    assert_eq!(bytes("ip", &Type::Big(32), "18.26.4.9"), Some(vec![18, 26, 4, 9]));
    for text in ["18.26.4", "18.26.4.9.1", "18.26.4.256", "18..4.9", "", ".", "1.2.3.4x", "+1.2.3.4"] {
        assert_eq!(bytes("ip", &Type::Big(32), text), None, "{text}");
    }
    let prefix = |text| bytes("prefix", &Type::Prefix, text);
    assert_eq!(prefix("10.0.0.1/8"), Some(vec![10, 0, 0, 1, 255, 0, 0, 0]));
    assert_eq!(prefix("10.0.0.1/255.0.255.0"), Some(vec![10, 0, 0, 1, 255, 0, 255, 0]));
    assert_eq!(prefix("18.26/16"), Some(vec![18, 26, 0, 0, 255, 255, 0, 0]));
    assert_eq!(prefix("0.0.0.0/0"), Some(vec![0; 8]));
    assert_eq!(prefix("1.2.3.4"), Some(vec![1, 2, 3, 4, 255, 255, 255, 255]));
    assert_eq!(["18.26/17", "1.2.3.4/33", "1.2.3.4/", "/8", "1.2.3.4/-1", "1.2.3.4/+1"].map(prefix), [const { None }; 6]);
    let mac = |text| bytes("ethernet", &Type::Mac, text);
    assert_eq!(mac("0:1B-2:3:4:5"), None);
    assert_eq!(mac("0:1B:2:3:4:ff"), Some(vec![0, 27, 2, 3, 4, 255]));
    assert_eq!(mac("00-1b-02-03-04-05"), Some(vec![0, 27, 2, 3, 4, 5]));
    assert_eq!(["0:1:2:3:4", "0:1:2:3:4:5:6", "0:1:2:3:4:", "0:1:2:3:4:123", "0:1:2:3:4:g"].map(mac), [const { None }; 5]);
    assert_eq!(bytes("ip6", &Type::In6, "::1").unwrap()[15], 1);
    assert_eq!(bytes("prefix6", &Type::Prefix6, "3ffe:1ce1:2::/48").unwrap()[16..23], [255, 255, 255, 255, 255, 255, 0]);
    assert_eq!(bytes("prefix6", &Type::Prefix6, "::/0").unwrap(), [0; 32]);
}

#[test]
fn times_and_rates_have_units() {
    let seconds = |text| int("SECONDS", &U64, text);
    let second = 1_000_000_000;
    let all = ["1", "0.5", "3 ms", "5us", "7ns", "2m", "2 min", "1h", "1hr", "1d", "1.5sec", ".25", "2.", "0.0000000005"].map(seconds);
    let expected = [second, second / 2, 3_000_000, 5_000, 7, 120 * second, 120 * second, 3600 * second, 3600 * second, 86_400 * second];
    assert_eq!(all[..10], expected.map(Ok));
    assert_eq!(all[10..], [Ok(3 * second / 2), Ok(second / 4), Ok(2 * second), Ok(1)]);
    for text in ["", ".", "s", "1x", "1 2", "1..2", "0x10", "1e3", "five"] {
        assert_eq!(seconds(text), Err("is not a time in seconds".to_owned()), "{text}");
    }
    let rate = |text| int("BANDWIDTH", &U64, text);
    let all = ["1000", "8bps", "1kbps", "1 Mbps", "2.5Gbps", "1kBps", "9.6kbaud", "1MB/s", "1Kb/s"].map(rate);
    assert_eq!(all, [1000, 1, 125, 125_000, 312_500_000, 1000, 1200, 1_000_000, 125].map(Ok));
    assert_eq!(rate("1 parsec"), Err("is not a bandwidth".to_owned()));
    assert_eq!(int("FIXEDPOINT16", &U32, "0.5"), Ok(32_768));
    for text in ["999999999999999999999999999999999999999", "18446744074", "0.0000000000000000000000000001"] {
        assert!(seconds(text).is_err_and(|wrong| wrong.contains("out of range")), "{text}");
    }
}

#[test]
fn ports_and_annotations_have_names() {
    assert_eq!(bytes("IPPORT", &Type::Big(16), "www"), Some(vec![0, 80]));
    assert_eq!(int("IPPORT", &Type::Integer { bits: 16, signed: false }, "65535"), Ok(65_535));
    assert_eq!(int("IPPORT", &U32, "65536"), Err("is out of range, 0 to 65535".to_owned()));
    // Services that are not in Click's own list.
    assert_eq!([int("IPPORT", &U32, "http"), int("IPPORT", &U32, "submission")], [Ok(80), Ok(587)]);
    assert_eq!(int("IPPORT", &U32, "wwww"), Err("is not a port".to_owned()));
    let anno = |text| int("ANNO", &Type::Integer { bits: 32, signed: true }, text);
    assert_eq!([anno("PAINT"), anno("23")], [Ok(16), Ok(23)]);
    assert_eq!(anno("24"), Err("is out of range, 16 to 23".to_owned()));
    assert_eq!(anno("PINT"), Err("is not an annotation".to_owned()));
}

#[test]
fn names_are_known_where_they_are_declared_and_within() {
    let source = "AddressInfo(a 1.0.0.2/24 00:01:02:03:04:05 ::7, n 10.0.0.0/8); PortInfo(p 99, q 7/udp r, # s 8 none, t 9 # u);
        c :: { AddressInfo(a 9.9.9.9); x :: Idle; d :: { y :: Idle } }; z :: Idle";
    let graph = flatten(source, &BTreeMap::new()).unwrap();
    let (names, faults) = Names::of(&graph);
    assert_eq!(faults, []);
    let ip = |element, name| names.at(element).ip(name).map(|ip| ip.to_be_bytes());
    assert_eq!([ip("z", "a"), ip("c/x", "a"), ip("c/d/y", "a")], [Some([1, 0, 0, 2]), Some([9, 9, 9, 9]), Some([9, 9, 9, 9])]);
    assert_eq!([ip("c/x", "a:bcast"), ip("z", "a:gw"), ip("z", "a:ip")], [Some([1, 0, 0, 255]), Some([1, 0, 0, 1]), Some([1, 0, 0, 2])]);
    assert_eq!([ip("z", "n"), ip("z", "a:eth"), ip("z", "b")], [None; 3]);
    let scope = names.at("c/x");
    assert_eq!(scope.net("n"), Some((0x0a00_0000, 0xff00_0000)));
    assert_eq!(scope.net("a:ipnet"), Some((0x0100_0000, 0xffff_ff00)));
    assert_eq!((scope.ethernet("a"), scope.ip6("a:ip6")), (Some([0, 1, 2, 3, 4, 5]), Some(7)));
    assert_eq!((scope.port("p"), scope.port("q"), scope.port("a")), (Some(99), Some(7), None));
    assert_eq!(["r", "s", "t", "u"].map(|name| scope.port(name)), [Some(7), None, Some(9), None]);
    assert_eq!(read_with(&scope, "prefix", &Type::Prefix, "a"), Ok(Value::Bytes(vec![9, 9, 9, 9, 255, 255, 255, 255])));
    let source =
        "AddressInfo(a eth 1.2.3.4/8, b c:ip e); AddressInfo(eth 00:01:02:03:04:05 9.9.9.9, c 7.7.7.7 1:1:1:1:1:1, e 5.5.5.5); x :: Idle";
    let (names, faults) = Names::of(&flatten(source, &BTreeMap::new()).unwrap());
    assert!(faults.is_empty());
    let known = names.at("x");
    assert_eq!((known.ethernet("a"), known.ip("a"), known.ip("b")), (Some([0, 1, 2, 3, 4, 5]), Some(0x0102_0304), Some(0x0505_0505)));
    let graph = flatten("i :: AddressInfo(a, b nothing)", &BTreeMap::new()).unwrap();
    let faults: Vec<_> = Names::of(&graph).1.into_iter().map(|fault| fault.message).collect();
    assert_eq!(faults, ["`a` of `i`: expected `NAME VALUE`", "`b nothing` of `i`: `nothing` is not an address"]);
}

#[test]
fn nonsense_does_no_harm() {
    let signs = ["0", "1", "255", "x", ".", "/", ":", "-", "m", "s", "bps", " ", "ä", "_", "99999999999999999999", "a:bcast", "\0"];
    let types = [U32, U64, Type::Big(16), Type::Big(32), Type::Bool, Type::Mac, Type::In6, Type::Prefix, Type::Prefix6, Type::Text];
    let mut seed = 7u64;
    for _ in 0..50_000 {
        let mut next = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as usize
        };
        let text: String = (0..next() % 7).map(|_| signs[next() % signs.len()]).collect();
        let syntax = &SYNTAXES[next() % SYNTAXES.len()];
        let _ = read(syntax.name, &types[next() % types.len()], &text);
    }
}

/// What a syntax of whole lists writes for an element with two inputs and three outputs.
fn whole(syntax: &str, ty: Option<&Type>, source: &str) -> Result<configuration::Generated, Vec<String>> {
    let info = "AddressInfo(here 10.0.0.1/8 00:00:00:00:00:07); IPRewriterPatterns(nat 1.0.0.1 1024-65535# - -); ";
    let graph = flatten(&format!("{info} x :: X({source})"), &BTreeMap::new()).unwrap();
    let (names, _) = Names::of(&graph);
    let arguments = &graph.elements.iter().find(|element| element.name == "x").unwrap().arguments;
    let request = configuration::Request { name: "list", arguments, names: names.at("x"), outputs: 3, inputs: 2, ty };
    configuration::ConfigurationSyntax::named(syntax).unwrap().write(&request).map_err(|all| all.iter().map(ToString::to_string).collect())
}

fn rows(syntax: &str, source: &str) -> Vec<String> {
    let written = whole(syntax, None, source).unwrap_or_else(|faults| panic!("{faults:?}"));
    let plain = |value: &Value| match value {
        Value::Int(number) => number.to_string(),
        Value::Bytes(bytes) => format!("{bytes:?}"),
        Value::Text(text) => text.clone(),
        Value::Texts(texts) => texts.join(" "),
    };
    let values =
        |row: &configuration::Row| row.values.iter().map(|(name, value)| format!("{name}={}", plain(value))).collect::<Vec<_>>().join(" ");
    written.rows.iter().map(|row| format!("{:?} {:?} {} {}", row.key, row.mask, row.priority, values(row))).collect()
}

#[test]
fn routes_fill_tables_and_later_ones_count() {
    let routes = rows("IP_ROUTES", "10.1.2.3/8 1, 0.0.0.0/0 1.2.3.4 0, here:gw 2, 10.0.0.0/255.0.0.0 - 2");
    assert_eq!(
        routes,
        [
            "[10, 0, 0, 0] [255, 0, 0, 0] 0 gateway=[0, 0, 0, 0] port=2",
            "[0, 0, 0, 0] [0, 0, 0, 0] 0 gateway=[1, 2, 3, 4] port=0",
            "[10, 0, 0, 1] [255, 255, 255, 255] 0 gateway=[0, 0, 0, 0] port=2",
        ]
    );
    assert_eq!(rows("RANGE_ROUTES", "10.128/9 1"), ["[10, 128, 0, 0] [10, 255, 255, 255] 9 gateway=[0, 0, 0, 0] port=1"]);
    assert_eq!(rows("IP6_ROUTES", "::/0 ::1 1, 1::/16 0").len(), 2);
    assert_eq!(
        rows("ARP_ENTRIES", "here, 1.0.0.0/8 2.2.2.2 0:0:0:0:0:9, here:ipnet here:eth"),
        [
            "[10, 0, 0, 1] [255, 255, 255, 255] 0 =[0, 0, 0, 0, 0, 7]",
            "[1, 0, 0, 0] [255, 0, 0, 0] 0 =[0, 0, 0, 0, 0, 9]",
            "[2, 2, 2, 2] [255, 255, 255, 255] 0 =[0, 0, 0, 0, 0, 9]",
            "[10, 0, 0, 0] [255, 0, 0, 0] 0 =[0, 0, 0, 0, 0, 7]",
        ]
    );
    let faults = |syntax, source| whole(syntax, None, source).unwrap_err();
    assert_eq!(
        faults("IP_ROUTES", "10.0.0.0/8, 10.0.0.0/8 3, 10.0.0.0/255.0.255.0 1, x 1, 10.0.0.0/8 y 1, 10.0.0.0/8 z"),
        [
            "`10.0.0.0/8`: expected `ADDR/MASK [GATEWAY] OUTPUT`",
            "`10.0.0.0/8 3`: there is no output 3",
            "`10.0.0.0/255.0.255.0 1`: the mask of `10.0.0.0/255.0.255.0` is not a prefix",
            "`x 1`: `x` is not an IP prefix",
            "`10.0.0.0/8 y 1`: `y` is not an IP address",
            "`10.0.0.0/8 z`: `z` is not an output's number",
        ]
    );
    assert_eq!(faults("IP6_ROUTES", "::/0 1.2.3.4 1"), ["`::/0 1.2.3.4 1`: `1.2.3.4` is not an IPv6 address"]);
    assert_eq!(
        faults("ARP_ENTRIES", "1.1.1.1, 0:0:0:0:0:1, 1.1.1.1 0:0:0:0:0:1 0:0:0:0:0:2, x"),
        [
            "`1.1.1.1`: an Ethernet address is missing",
            "`0:0:0:0:0:1`: an IP prefix is missing",
            "`1.1.1.1 0:0:0:0:0:1 0:0:0:0:0:2`: more than one Ethernet address",
            "`x`: `x` is neither an IP prefix nor an Ethernet address",
        ]
    );
}

#[test]
fn rewriting_is_said_for_each_input() {
    let text = whole("REWRITE", None, "pattern 1.0.0.1 1024-65535? - 80 0 1, keep 1 2").unwrap().source;
    let begin = "enum { list_count = 2 };\nstatic const struct rewrite_spec list[] = {\n    \
         { REWRITE_PATTERN, 0, 1, htonl(0x1000001), htonl(0x0), 1024, 65535, htons(80), false, true, 0, htonl(0x0) },\n    \
         { REWRITE_KEEP, 1, 2, htonl(0x0), htonl(0x0), 0, 0, htons(0), false, false, 0, htonl(0x0) },\n};\n";
    assert!(text.starts_with(begin), "{text}");
    let text = whole("REWRITE", None, "pattern nat 0 1, pattern 1.0.0.1 1024-65535# - - 2 1").unwrap().source;
    assert_eq!(text.matches("1024, 65535, htons(0), true, false, 0").count(), 2, "{text}");
    assert!(whole("REWRITE", None, "drop, pass 2").unwrap().source.contains("REWRITE_PASS, 2, 0,"));
    let text = whole("REWRITE_ADDRESSES", None, "pattern 1.0.0.0/29# - 0 1, pattern 1.0.0.1-1.0.0.9 - 0 1").unwrap().source;
    assert!(text.contains("htonl(0x1000001), htonl(0x0), 0, 0, htons(0), true, false, 0, htonl(0x1000006)"), "{text}");
    assert!(text.contains("htonl(0x1000001), htonl(0x0), 0, 0, htons(0), false, false, 1, htonl(0x1000009)"), "{text}");
    let text = whole("REWRITE_ADDRESSES", None, "pattern - - 0 1, pattern here - 0 1").unwrap().source;
    assert!(text.contains("htonl(0x0), htonl(0x0)") && text.contains("htonl(0xa000001), htonl(0x0)"), "{text}");
    let text = whole("REWRITE_PAIRS", None, "pattern 1.0.0.1 2.0.0.2 0 1, pattern nat 0 1").unwrap().source;
    assert!(text.contains("htonl(0x1000001), htonl(0x2000002), 0, 0, htons(0), false, false, 0, htonl(0x1000001)"), "{text}");
    let faults = whole("REWRITE_PAIRS", None, "pattern 1.0.0.1 here2 0 1, pattern 1.0.0.1 2.0.0.2 5 0 1").unwrap_err();
    assert_eq!(faults, ["input spec 0: bad destination address", "input spec 1: a pattern is SADDR DADDR"]);
    let faults = whole("REWRITE_ADDRESSES", None, "pattern 1.0.0.9-1.0.0.1 - 0 1, pattern - 1.0.0.1 0 1").unwrap_err();
    assert_eq!(faults[0], "input spec 0: bad source address");
    assert_eq!(faults[1], "input spec 1: a pattern is SADDR -, or - -");
    let faults = |source: &str| whole("REWRITE", None, source).unwrap_err();
    assert_eq!(faults("drop"), ["1 specifications for 2 inputs: each input needs one"]);
    assert_eq!(faults("keep 1 3, pattern x 1 2 3 0 0"), ["input spec 0: there is no output 3", "input spec 1: bad source address"]);
    assert_eq!(
        faults("pattern - 1 x - 0 0, pattern - 1x - - 0 0"),
        ["input spec 0: bad destination address", "input spec 1: bad source port"]
    );
    assert_eq!(faults("drop, pattern - 1 - 0 0 0"), ["input spec 1: bad destination port"]);
    let text = whole("REWRITE", None, "drop, pattern 1.0.0.1 0-255 - - 0 1").unwrap().source;
    assert!(text.contains("htonl(0x1000001), htonl(0x0), 1, 255, htons(0)"), "{text}");
    let text = whole("REWRITE_PINGS", None, "pattern 1.0.0.1 - 0-65535# 0 1, pattern - 1.0.0.2 7 0 1").unwrap().source;
    assert!(text.contains("REWRITE_PATTERN, 0, 1, htonl(0x1000001), htonl(0x0), 0, 65535, htons(0), true, false, 0"), "{text}");
    assert!(text.contains("REWRITE_PATTERN, 0, 1, htonl(0x0), htonl(0x1000002), 7, 7, htons(0), false, false, 1"), "{text}");
    let wrong = whole("REWRITE_PINGS", None, "pattern 1.0.0.1 - 0 0 1, pattern - - 0 1").unwrap_err();
    assert_eq!(wrong, ["input spec 0: bad identifier", "input spec 1: a pattern is SADDR DADDR IDENT"]);
    let text = whole("REWRITE_ADDRESSES", None, "drop, pattern 1.0.0.1 5 - - 0 1").unwrap().source;
    assert!(text.contains("htonl(0x1000001), htonl(0x0), 0, 0, htons(0)"), "{text}");
    assert_eq!(whole("REWRITE_ADDRESSES", None, "drop, pattern 1.0.0.1 9-5 - - 0 1").unwrap_err(), ["input spec 1: bad source port"]);
    for wrong in [
        "pattern - 5-4 - - 0 1",
        "pattern - 0 - - 0 1",
        "pattern - 65536 - - 0 1",
        "pattern - -# - - 0 1",
        "pattern none 0 1",
        "pattern 0 1",
        "jump",
    ] {
        assert_eq!(faults(&format!("drop, {wrong}")).len(), 1, "{wrong}");
    }
}

#[test]
fn lists_are_arrays() {
    let text =
        |ty: Type, source| whole("LIST", Some(&ty), source).map(|written| written.source.split(" = {\n").nth(1).unwrap_or("").to_owned());
    assert_eq!(text(Type::Integer { bits: 8, signed: true }, "1, -2").unwrap(), "    1,\n    -2,\n};\n");
    assert_eq!(text(Type::Big(32), "here").unwrap(), "    htonl(0xa000001),\n};\n");
    assert_eq!(text(Type::Prefix, "here:ipnet").unwrap(), "    { htonl(0xa000000), htonl(0xff000000) },\n};\n");
    assert_eq!(text(Type::Mac, "here").unwrap(), "    { { 0x00, 0x00, 0x00, 0x00, 0x00, 0x07 } },\n};\n");
    assert_eq!(text(Type::In6, "").unwrap(), "    { { 0 } },\n};\n");
    assert_eq!(text(U32, "x").unwrap_err(), ["`x`: is not an integer"]);
}

#[test]
fn numbers_for_outputs_rise() {
    let bandwidths = whole("RISING_BANDWIDTHS", None, "200 Bps, 80 kbps").unwrap().source;
    assert_eq!(bandwidths, "enum { list_count = 2 };\nstatic const u64 list[] = {\n    200,\n    10000,\n};\n");
    assert_eq!(whole("RISING_BANDWIDTHS", None, "1kBps, 8kbps").unwrap_err(), ["`8kbps` is not above `1kBps` before it"]);
    let written = whole("RISING", None, "5, 0x10").unwrap().source;
    assert_eq!(written, "enum { list_count = 2 };\nstatic const u32 list[] = {\n    5,\n    16,\n};\n");
    let faults = |text| whole("RISING", None, text).unwrap_err();
    assert_eq!(faults("10, 5"), ["`5` is not above `10` before it"]);
    assert_eq!(faults("5, 5"), ["`5` is not above `5` before it"]);
    assert_eq!(
        faults("5, 4, 3"),
        ["`4` is not above `5` before it", "`3` is not above `4` before it", "3 numbers for 3 outputs: each but the last needs one"]
    );
    assert_eq!(faults(""), ["0 numbers for 3 outputs: each but the last needs one"]);
    assert_eq!(faults("1, -1"), ["`-1`: is out of range, 0 to 4294967295"]);
}

#[test]
fn words_stand_for_numbers() {
    let u8 = Type::Integer { bits: 8, signed: false };
    assert_eq!([int("IP_PROTOCOL", &u8, "udp"), int("ICMP_TYPE", &u8, "redirect"), int("ICMP_CODE", &u8, "host")], [Ok(17), Ok(5), Ok(1)]);
    assert_eq!(int("IP_PROTOCOL", &u8, "256"), Err("is out of range, 0 to 255".to_owned()));
    assert_eq!(int("ICMP_TYPE", &u8, "x"), Err("is not an ICMP type".to_owned()));
    let i32 = Type::Integer { bits: 32, signed: true };
    assert_eq!([int("VLAN_TCI", &i32, "ANNO"), int("VLAN_TCI", &i32, "0xffff")], [Ok(-1), Ok(65_535)]);
    assert_eq!(int("VLAN_TCI", &i32, "65536"), Err("is out of range, 0 to 65535".to_owned()));
    assert_eq!(bytes("IP_OR_ANNO", &Type::Big(32), "DST_ANNO"), Some(vec![0; 4]));
}

#[test]
fn words_of_few_arguments() {
    let u8 = Type::Integer { bits: 8, signed: false };
    let all = |name, words: &[&str]| words.iter().map(|word| int(name, &u8, word).ok()).collect::<Vec<_>>();
    assert_eq!(all("CONTENTS", &["NONE", "hex", "Ascii", "true", "no", "text"]), [Some(0), Some(1), Some(2), Some(1), Some(0), None]);
    assert_eq!(all("ECT", &["yes", "false", "2", "3", ""]), [Some(1), Some(0), Some(2), None, None]);
    assert_eq!(all("DSCP", &["0", "63", "64", "-1", "x"]), [Some(0), Some(63), None, None, None]);
    assert_eq!(
        all("ADDRESS_ANNO", &["DST_IP", "0", "MISC_IP", "16", "20", "21", "15", "24", "x"]),
        [Some(0), Some(0), Some(20), Some(16), Some(20), None, None, None, None]
    );
}

#[test]
fn nonsense_lists_do_no_harm() {
    let words = [
        "pattern",
        "keep",
        "drop",
        "pass",
        "-",
        "1024-65535#",
        "1.2.3.4",
        "1.2.3.4/8",
        "::/0",
        "here",
        "nat",
        "0",
        "1",
        "9",
        "here:eth",
        "x",
        "0-0?",
        "#",
        "\"",
        "1.0.0.0/31",
        "0.0.0.0/0",
        "255.255.255.255",
        "1.0.0.9-1.0.0.1",
        ",",
        "'",
    ];
    let mut seed = 3u64;
    for _ in 0..20_000 {
        let mut next = |bound: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as usize % bound
        };
        let names = Names::default();
        let arguments: Vec<String> =
            (0..next(4)).map(|_| (0..next(8)).map(|_| words[next(words.len())]).collect::<Vec<_>>().join(" ")).collect();
        let ty = [U32, Type::Mac, Type::Prefix6, Type::Text][next(4)];
        let request =
            configuration::Request { name: "list", arguments: &arguments, names: names.at("x"), outputs: 2, inputs: 2, ty: Some(&ty) };
        let _ = configuration::CONFIGURATIONS[next(configuration::CONFIGURATIONS.len())].write(&request);
    }
}

#[test]
fn texts_and_places_become_c() {
    let text = |syntax: &str, source: &str| whole(syntax, None, source).map(|written| written.source);
    assert_eq!(
        text("STRINGS", "a b, \"c, \\\"d\""),
        Ok("enum { list_count = 2 };\nSTRINGS(list, \"a b\", \"c\\054 \\042d\");\n".to_owned())
    );
    assert_eq!(text("STRINGS", ""), Err(vec!["expected 1 to 4096 texts".to_owned()]));
    assert!(text("STRINGS", "\"\\<00>\"").unwrap_err()[0].ends_with("has bytes, and none of them is 0"));
    let place = |given, offset, address| {
        Ok(format!("enum {{ list_given = {given}, list_offset = {offset} }};\nstatic const be32 list_address = htonl({address});\n"))
    };
    assert_eq!(text("ADDRESS_PLACE", "here, DST"), place(1, -2, "0xa000001"));
    assert_eq!(text("ADDRESS_PLACE", "4"), place(0, 4, "0x0"));
    assert_eq!(text("ADDRESS_PLACE", "x, 4"), Err(vec!["`x` is not an IP address".to_owned()]));
    assert_eq!(text("ADDRESS_PLACE", "-1"), Err(vec!["`-1` is not an offset, and not src or dst".to_owned()]));
    let bad = |source: &str| text("BAD_SOURCES", source);
    let none = |given, offset| {
        Ok(format!(
            "enum {{ list_given = {given}, list_offset = {offset} }};\nenum {{ list_count = 0 }};\nstatic const be32 list[] = {{\n    htonl(0),\n}};\n"
        ))
    };
    assert_eq!([bad(""), bad("0x10")], [none(0, 0), none(1, 16)]);
    let listed = bad("here 1.2.3.4, 14").unwrap();
    assert!(listed.starts_with("enum { list_given = 1, list_offset = 14 };\nenum { list_count = 4 };"), "{listed}");
    assert!(listed.contains("    htonl(0xa000001),\n    htonl(0x1020304),\n    htonl(0x0),\n    htonl(0xffffffff),\n"), "{listed}");
    assert_eq!(bad("-1").unwrap_err(), ["`-1` is neither an offset nor a list of IP addresses"]);
    assert_eq!(bad("here x, y").unwrap_err(), ["`y` is not an offset", "`here x` is neither an offset nor a list of IP addresses"]);
    assert_eq!(bad("here, 1, 2").unwrap_err(), ["too many arguments: `2`"]);
}
