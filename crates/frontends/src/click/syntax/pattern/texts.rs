//! What is written of patterns, word for word: functions, tables, faults; and that large and
//! hostile patterns do no harm.

use super::emit;
use super::formula::Rule;
use super::table;
use super::tests::{PRIMITIVES, Random, ip};
use crate::click::syntax::Names;
use crate::click::syntax::configuration::{ConfigurationSyntax, Generated, Request};

fn write(syntax: &str, arguments: &[&str], outputs: u32) -> Result<String, Vec<String>> {
    let source = |written: Generated| written.source.split("static void classify_program").next().unwrap_or_default().to_owned();
    written(syntax, arguments, outputs).map(source)
}

fn written(syntax: &str, arguments: &[&str], outputs: u32) -> Result<Generated, Vec<String>> {
    let (names, arguments) = (Names::default(), arguments.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>());
    let request = Request { name: "classify", arguments: &arguments, names: names.at("x"), outputs, inputs: 1, ty: None };
    ConfigurationSyntax::named(syntax).unwrap().write(&request).map_err(|all| all.iter().map(ToString::to_string).collect())
}

#[test]
fn what_is_written_can_be_read() {
    let text = write("CLASSIFIER", &["12/0806 20/0001", "12/0806 20/0002", "12/0800", "-"], 4).unwrap();
    assert_eq!(
        text,
        "struct classify_16 { be16 value; };
static u32 classify_half(u32 at) { return ntohs(header(struct classify_16, at)->value); }
static int classify(void)
{
    u32 length = packet_length();
    if (length >= 14) {
        switch (classify_half(12)) {
        case 0x806:
            if (length >= 22) {
                switch (classify_half(20)) {
                case 1:
                    return 0;
                case 2:
                    return 1;
                }
            }
            break;
        case 0x800:
            return 2;
        }
    }
    return 3;
}
"
    );
    let text = write("IPFILTER", &["deny src 10.0.0.0/8", "0 tcp dst port 80 or 443", "0 tcp syn", "1 udp", "drop all"], 2).unwrap();
    assert_eq!(
        text,
        "struct classify_8 { u8 value; };
static u32 classify_byte(u32 at) { return (header(struct classify_8, at)->value); }
struct classify_16 { be16 value; };
static u32 classify_half(u32 at) { return ntohs(header(struct classify_16, at)->value); }
static int classify(void)
{
    u32 length = packet_length();
    u32 network = network_offset();

    if (network > length || length - network < 20)
        return -1;
    const struct ip *ip = header(struct ip, network);
    u32 transport = network + (ip->version_ihl & 15) * 4;
    u32 rest = transport < length ? length - transport : 0;

    if ((ntohl(ip->src) & 0xff000000) == 0xa000000)
        return -1;
    switch (ip->protocol) {
    case 6:
        if ((ntohs(ip->fragment) & 0x1fff) == 0) {
            if (rest >= 4) {
                if (classify_half(transport + 2) == 0x50 || classify_half(transport + 2) == 0x1bb)
                    return 0;
                if (rest >= 14 && (classify_byte(transport + 13) & 2) == 2)
                    return 0;
            }
        }
        break;
    case 0x11:
        return 1;
    }
    return -1;
}
"
    );
    assert_eq!(write("IPCLASSIFIER", &["-"], 1).unwrap(), "static int classify(void)\n{\n    return 0;\n}\n");
    assert_eq!(write("IPFILTER", &["allow false"], 1).unwrap(), "static int classify(void)\n{\n    return -1;\n}\n");
}

#[test]
fn a_wrong_pattern_is_told() {
    let fault = |pattern: &str| write("IPCLASSIFIER", &[pattern], 1).unwrap_err().join("; ");
    let faults = [
        ("port", "`port`: a port is missing"),
        ("echo", "`echo` is ambiguous here; try `port echo` or `icmp type echo`"),
        ("tcp opt www", "`www` is meaningless here; try `port www`"),
        ("src src 10.0.0.1", "`src` or `dst` twice"),
        ("tcp udp port 5", "two protocols"),
        ("5", "`5`: a number alone: say of which header field, or `port`"),
        ("port 70000", "`port 70000`: 70000 is out of range, 0 to 65535"),
        ("ip vers & 16 == 1", "`ip vers & 16 == 1`: the mask 0x10 is out of range, 0 to 0xf"),
        ("tcp and", "a pattern is missing at the end"),
        ("tcp or or udp", "a pattern is missing before `or`"),
        ("(tcp", "`)` is missing"),
        ("tcp)", "`)` is too much"),
        ("tcp ? udp", "`:` is missing behind `?`"),
        ("ip[3:2] 5", "`[3:2]` is not within four bytes that begin at a multiple of four"),
        ("ip[x] 5", "`[x]` is not [POS] or [POS:LEN]"),
        ("quux", "`quux` has no meaning"),
        ("host > 10.0.0.1", "`host > 10.0.0.1`: addresses are not greater or less than others"),
        ("host == quux", "`host ==`: an address is missing"),
        ("tcp win > x", "a value is missing before `x`"),
        ("ether host 1:2:3:4:5:6", "`ether`: Ethernet headers are not looked at here, Classifier does that"),
        ("src 1:2:3:4:5:6", "`1:2:3:4:5:6`: Ethernet headers are not looked at here, Classifier does that"),
    ];
    for (pattern, message) in faults {
        assert_eq!(fault(pattern), format!("`{pattern}`: {message}"));
    }
    assert_eq!(fault(&"(".repeat(60)).split(": ").last(), Some("nested more than 50 times"));
    assert_eq!(fault(&"tcp ? udp : ".repeat(60)).split(": ").last(), Some("nested more than 50 times"));
    assert_eq!(write("IPCLASSIFIER", &["tcp", "-"], 1).unwrap_err(), ["2 patterns for 1 outputs: each output needs one"]);
    let action = |rule: &str| write("IPFILTER", &[rule], 1).unwrap_err().remove(0);
    assert_eq!(action("1 tcp"), "`1 tcp`: there is no output 1");
    assert_eq!(action("permit tcp"), "`permit tcp`: `permit` is not an action: allow, deny, drop or an output's number");
    assert_eq!(action(""), "``: an action and a pattern are missing");
    let bytes = |pattern: &str| write("CLASSIFIER", &[pattern], 1).unwrap_err().remove(0);
    assert_eq!(bytes("12/080"), "`12/080`: the value of `12/080` has not an even number of hexadecimal digits");
    assert_eq!(bytes("12/0800%ff"), "`12/0800%ff`: the mask of `12/0800%ff` has 2 digits, its value 4");
    assert_eq!(bytes("12/08g0"), "`12/08g0`: `g` is not a hexadecimal digit");
    assert_eq!(bytes("x/08"), "`x/08`: `x` is not an offset");
    assert_eq!(bytes("12/08 !"), "`12/08 !`: a clause is missing behind `!`");
    assert_eq!(bytes("99999999999/08"), "`99999999999/08`: `99999999999` is not an offset");
}

/// What is asked of all is asked before the table, and a key has no more than the others.
#[test]
fn tables_are_asked_for_what_differs() {
    let rule = |n: usize| format!("{} src net 10.{n}.0.0/16 && udp && dst port {}", ["allow", "deny"][n % 2], 1000 + n);
    let rules: Vec<String> = (0..100).map(rule).chain(["allow src 10.0.0.1 or dst 10.0.0.0/30".to_owned()]).collect();
    let of = |rules: &[String]| written("IPFILTER", &rules.iter().map(String::as_str).collect::<Vec<_>>(), 1).unwrap();
    let Generated { source, entries, .. } = of(&rules[..100]);
    let expected = "
    if (rest >= 4 && ip->protocol == 0x11 && (ntohs(ip->fragment) & 0x1fff) == 0) {
        struct classify_rules1 key1;
        key1.f0 = ip->src;
        key1.f1 = htons(classify_half(transport + 2));
        const i32 *found1 = table_find(classify_rules1, &key1);
        if (found1)
            return *found1;
    }
    return -1;
";
    assert!(source.contains(expected), "{source}");
    let all = &entries["classify_rules1"];
    assert!(source.contains("TABLE_TERNARY(classify_rules1, struct classify_rules1, i32, 100);"), "{source}");
    let [first, last] = [&all[0], &all[99]];
    assert_eq!(
        (&first.key[..], &first.mask[..], first.priority, &first.value[..]),
        (&[0x0a00_0000_03e8][..], &[0xffff_0000_ffff][..], 100, &[0; 4][..])
    );
    assert_eq!((&last.key[..], last.priority, &last.value[..]), (&[0x0a63_0000_044b][..], 1, &[255; 4][..]));
    // One that asks for less: what the others ask is in the key.
    let Generated { source, entries, .. } = of(&rules);
    assert!(
        source.contains("key1.is0 = (ip->protocol == 0x11) | ((ntohs(ip->fragment) & 0x1fff) == 0) << 1 | (rest >= 4) << 2 | "),
        "{source}"
    );
    assert!(source.contains("= htons(rest >= 4 ? classify_half(transport + 2) : 0);"), "{source}");
    assert_eq!(entries["classify_rules1"].len(), 102);
    // One that no table can say ends it, and what follows is the next.
    let mut more = rules.clone();
    more.extend((0..5).map(|n| format!("allow src port {n}")));
    more.push("deny not src port 5 and not dst port 7".to_owned());
    more.extend((0..70).map(|n| format!("allow dst host 11.0.0.{n}")));
    let Generated { source, entries, .. } = of(&more);
    assert!(source.find("!(").unwrap() < source.find("classify_rules2, &key2").unwrap(), "{source}");
    assert_eq!(entries.values().map(Vec::len).collect::<Vec<_>>(), [112, 70]);
}

/// Large lists and hostile ones take time linear in them, and blocks are not nested without end.
#[test]
fn large_patterns_are_written_quickly() {
    let start = std::time::Instant::now();
    let hosts: Vec<String> = (0..20_000).map(|n| format!("allow src host 10.{}.{}.{}", n >> 16, n >> 8 & 255, n & 255)).collect();
    let table = written("IPFILTER", &hosts.iter().map(String::as_str).collect::<Vec<_>>(), 1).unwrap();
    assert_eq!(table.entries.values().map(Vec::len).collect::<Vec<_>>(), [20_000]);
    let rules: Vec<Rule> = hosts.iter().map(|host| (ip(host.trim_start_matches("allow ")), 0)).collect();
    assert_eq!(emit::with_tables("p", &rules, usize::MAX).source.matches("case").count(), 20_000);
    let between: Vec<String> = (0..20_000).map(|n| format!("{} && src port != {n}", ["tcp", "not dst port 7"][n % 2])).collect();
    let between: Vec<Rule> = between.iter().map(|pattern| (ip(pattern), 0)).collect();
    assert!(emit::function("p", &between).entries.len() <= table::TABLES);
    let long = (0..50_000).map(|n| format!("{n}/08")).collect::<Vec<_>>().join(" ");
    let text = write("CLASSIFIER", &[&long, &long, &long], 3).unwrap();
    assert!(text.lines().all(|line| line.len() - line.trim_start().len() < 200));
    let nots = "! ".repeat(100_000) + "tcp";
    write("IPCLASSIFIER", &[&nots], 1).unwrap();
    let stairs: Vec<String> = (1..300).map(|n| (0..n).map(|n| format!("{n}/08")).collect::<Vec<_>>().join(" ")).collect();
    write("CLASSIFIER", &stairs.iter().map(String::as_str).collect::<Vec<_>>(), 299).unwrap();
    let mixed: Vec<String> = (0..20_000).map(|n| format!("allow {} port {}", ["tcp", "tcpudp"][n % 2], n)).collect();
    write("IPFILTER", &mixed.iter().map(String::as_str).collect::<Vec<_>>(), 1).unwrap();
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

#[test]
fn nonsense_does_no_harm() {
    let mut random = Random(11);
    let mut words: Vec<&str> = PRIMITIVES.iter().flat_map(|primitive| primitive.split(' ')).collect();
    words.extend([
        "(",
        ")",
        "?",
        ":",
        "[",
        "]",
        "&",
        "!",
        "or",
        "and",
        "not",
        "mask",
        "-",
        "ä",
        "12/08",
        "%",
        "/",
        "4294967296",
        "\0",
        "\"",
        "\\<",
    ]);
    for _ in 0..30_000 {
        let text: Vec<&str> = (0..random.below(9)).map(|_| random.of(&words)).collect();
        let syntax = ["CLASSIFIER", "IPCLASSIFIER", "IPFILTER"][random.below(3)];
        let _ = write(syntax, &[&text.join(" ")], 1);
    }
}
