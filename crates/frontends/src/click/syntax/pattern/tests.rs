//! Patterns against their own meaning: the tree is evaluated on random packets, and the C that is written of it is compiled and run on the same ones.

use super::emit::{self, Rule};
use super::{classifier, ipfilter};
use crate::c::{self, Instance, Source};
use crate::click::processing::Kind;
use crate::click::syntax::Names;
use crate::click::syntax::whole::{Job, Whole};
use netil::Interpreter;
use netil::exec::{Disposition, ExchangeBuffer, Outcome, State};
use netil::module::HandlerKind;
use std::process::{Command, Stdio};
use std::sync::Arc;

/// A small random number generator: tests are the same every time.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    fn of<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len())]
    }
}

/// What the written text finds around it.
const AROUND: &str = r#"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
typedef uint8_t u8; typedef uint16_t u16; typedef uint32_t u32;
typedef u16 be16 __attribute__((aligned(1))); typedef u32 be32 __attribute__((aligned(1)));
#pragma pack(1)
struct ip { u8 version_ihl; u8 tos; be16 length; be16 id; be16 fragment; u8 ttl; u8 protocol; be16 checksum; be32 src; be32 dst; };
#define ntohs(x) __builtin_bswap16(x)
#define ntohl(x) __builtin_bswap32(x)
static u8 packet[65536]; static u32 length, at;
static u32 packet_length(void) { return length; }
static u32 network_offset(void) { return at; }
static void *view(u32 offset, u32 size) { if (offset > length || size > length - offset) { puts("trap"); exit(1); } return packet + offset; }
#define header(T, offset) ((T *) view(offset, sizeof(T)))
"#;

const MAIN: &str = r#"
int main(void)
{
    u32 sizes[2];
    while (fread(sizes, 4, 2, stdin) == 2) {
        length = sizes[0]; at = sizes[1];
        if (fread(packet, 1, length, stdin) != length) return 2;
        for (unsigned n = 0; n < sizeof functions / sizeof *functions; n++) printf("%d ", functions[n]());
        puts("");
    }
    return 0;
}
"#;

type Packet = (Vec<u8>, usize);

/// Runs functions `p0`, `p1`, … on packets; `None` where there is no compiler.
fn run(text: &str, count: usize, packets: &[Packet]) -> Option<Vec<Vec<i64>>> {
    let directory = std::env::temp_dir().join(format!("netvm-patterns-{}-{count}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let names: Vec<String> = (0..count).map(|n| format!("p{n}")).collect();
    let source = format!("{AROUND}{text}\nstatic int (*functions[])(void) = {{ {} }};\n{MAIN}", names.join(", "));
    let (file, program) = (directory.join("patterns.c"), directory.join("patterns"));
    std::fs::write(&file, source).unwrap();
    let compiled = Command::new("cc").args(["-O0", "-w", "-o"]).arg(&program).arg(&file).stderr(Stdio::piped()).output();
    let Ok(compiled) = compiled else {
        println!("skipped: no C compiler");
        return None;
    };
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let mut input = Vec::new();
    for (bytes, at) in packets {
        input.extend([bytes.len() as u32, *at as u32].into_iter().flat_map(u32::to_ne_bytes));
        input.extend(bytes);
    }
    let data = directory.join("packets");
    std::fs::write(&data, input).unwrap();
    let ran = Command::new(&program).stdin(std::fs::File::open(&data).unwrap()).output().unwrap();
    let shown = String::from_utf8(ran.stdout).unwrap();
    assert!(ran.status.success(), "a read beyond the packet: {shown:.200}");
    std::fs::remove_dir_all(&directory).unwrap();
    Some(shown.lines().map(|line| line.split_ascii_whitespace().map(|word| word.parse().unwrap()).collect()).collect())
}

fn expected(rules: &[Rule], (bytes, at): &Packet) -> i64 {
    rules.iter().find(|(formula, _)| formula.holds(bytes, *at)).map_or(-1, |(_, output)| *output)
}

/// Holds lists of patterns against what they are compiled to.
fn agree(lists: &[(String, Vec<Rule>)], packets: &[Packet]) -> [usize; 2] {
    let text: String = lists.iter().enumerate().map(|(n, (_, rules))| emit::function(&format!("p{n}"), rules)).collect();
    let Some(found) = run(&text, lists.len(), packets) else { return [1, 1] };
    let mut matched = [0; 2];
    for (packet, found) in packets.iter().zip(found) {
        for ((source, rules), found) in lists.iter().zip(found) {
            let expected = expected(rules, packet);
            matched[usize::from(expected >= 0)] += 1;
            assert_eq!(found, expected, "{source}\non {packet:x?}\n{}", emit::function("p", rules));
        }
    }
    matched
}

/// A packet whose fields have few values, so that patterns meet them; perhaps cut short.
fn packet(random: &mut Random) -> Packet {
    let at = random.below(4);
    let mut bytes: Vec<u8> = (0..at + 64).map(|_| [0, 1, 2, 8, 16, 80, 255][random.below(7)]).collect();
    let ip = &mut bytes[at..];
    ip[0] = random.of(&[&0x45u8, &0x45, &0x45, &0x46, &0x4f, &0x40, &0x61]).to_owned();
    ip[6..8].copy_from_slice(random.of(&[&[0u8, 0], &[0, 0], &[0, 0], &[0x40, 0], &[0x20, 0], &[0, 1], &[0x20, 7]]));
    ip[9] = *random.of(&[&6u8, &6, &17, &1, &2]);
    for end in [12, 16] {
        ip[end..end + 4].copy_from_slice(random.of(&[&[10u8, 0, 0, 1], &[10, 0, 0, 2], &[10, 1, 0, 1], &[18, 26, 4, 9]]));
    }
    let behind = 4 * (ip[0] as usize & 15);
    for end in [0, 2] {
        if let Some(port) = ip.get_mut(behind + end..behind + end + 2) {
            port.copy_from_slice(random.of(&[&[0u8, 80], &[1, 187], &[4, 0], &[3, 255], &[0, 53]]));
        }
    }
    let cut = if random.below(3) == 0 { random.below(bytes.len() + 1) } else { bytes.len() };
    bytes.truncate(cut);
    (bytes, if random.below(20) == 0 { 0x7fff_ff00 } else { at })
}

const PRIMITIVES: [&str; 64] = [
    "tcp",
    "udp",
    "icmp",
    "ip proto 6",
    "proto != 17",
    "ip proto & 16 == 16",
    "tcpudp",
    "host 10.0.0.1",
    "src 10.0.0.2",
    "dst host 18.26.4.9",
    "src and dst 10.0.0.1",
    "src or dst host != 10.0.0.1",
    "net 10.0.0.0/8",
    "10.1.0.0/16",
    "src net 10.0.0.0 mask 255.255.0.255",
    "dst 18.26/16",
    "src host & 255.0.0.0 == 10.9.9.9",
    "dst host & 0.0.0.3 == 10.0.0.1",
    "port 80",
    "src port https",
    "dst tcp port 80 or 443",
    "udp port dns",
    "dst port > 1023",
    "src or dst port <= 1023",
    "tcp port & 4 == 4",
    "src tcp port != 80",
    "port < 0",
    "port >= 0",
    "port > 65535",
    "port < 90000",
    "ip vers 4",
    "ip hl > 5",
    "ip id 257",
    "ip tos & 3 != 0",
    "ip dscp 4",
    "ip ect",
    "ip ect 2",
    "ip ce",
    "ip ttl <= 16",
    "ip frag",
    "unfrag",
    "ip len >= 256",
    "tcp opt syn",
    "ack",
    "syn fin",
    "tcp opt 18",
    "tcp win > 256",
    "tcp win 0x0101",
    "icmp type 8",
    "icmp type echo",
    "icmp type != 8",
    "timeexceeded",
    "ip[6:2] & 0x1fff == 0",
    "ip[20] 1",
    "ip[24:4] > 16777216",
    "transp[1] & 128 == 0",
    "tcp[1:3] 80",
    "udp[0:2] != 80",
    "tcp[4:2] & 0xff00 == 0",
    "true",
    "false",
    "www",
    "ssh",
    "dst 10.0.0.1 and src port 53 or 80",
];

fn random_pattern(random: &mut Random, depth: usize) -> String {
    let inner = |random: &mut Random| random_pattern(random, depth + 1);
    match random.below(if depth > 3 { 5 } else { 12 }) {
        5 => format!("not ({})", inner(random)),
        6 => format!("! {}", random.of(&PRIMITIVES)),
        7 => format!("({}) ? ({}) : ({})", inner(random), inner(random), inner(random)),
        8 | 9 => format!("({}) or ({})", inner(random), inner(random)),
        10 => format!("{} {}", inner(random), random.of(&PRIMITIVES)),
        11 => format!("({}) && {}", inner(random), inner(random)),
        _ => random.of(&PRIMITIVES).to_owned(),
    }
}

/// Patterns of a kind that is met in practice: rows that share fields.
fn alike(random: &mut Random) -> String {
    let fixed = random.of(&["tcp dst port", "udp src port", "dst port", "src host 10.0.0.1 and tcp dst port"]);
    match random.below(4) {
        0 => random.of(&["src 10.0.0.1", "src 10.0.0.2", "dst 10.1.0.1 and tcp", "src 10.1.0.1 or src 10.0.0.2 and udp"]).to_owned(),
        _ => format!("{fixed} {}", random.of(&["80", "443", "53", "80 or 53", "> 1000", "1023"])),
    }
}

fn rules(patterns: &[String], parse: impl Fn(&str) -> super::formula::Formula) -> Vec<Rule> {
    patterns.iter().enumerate().map(|(n, pattern)| (parse(pattern), n as i64)).collect()
}

fn parsed(pattern: &str) -> Result<super::formula::Formula, String> {
    ipfilter::pattern(&ipfilter::words_of(pattern), &Names::default().at("x"))
}

fn ip(pattern: &str) -> super::formula::Formula {
    parsed(pattern).unwrap_or_else(|fault| panic!("{pattern}: {fault}"))
}

#[test]
fn ip_patterns_are_compiled_to_what_they_mean() {
    let mut random = Random(3);
    let packets: Vec<Packet> = (0..1_500).map(|_| packet(&mut random)).collect();
    let single = PRIMITIVES.iter().map(|pattern| vec![(*pattern).to_owned()]);
    let any = |random: &mut Random| (0..).find_map(|_| Some(random_pattern(random, 0)).filter(|pattern| parsed(pattern).is_ok())).unwrap();
    let mixed: Vec<Vec<String>> = (0..150).map(|_| (0..=random.below(5)).map(|_| any(&mut random)).collect()).collect();
    let rows: Vec<Vec<String>> = (0..100).map(|_| (0..2 + random.below(9)).map(|_| alike(&mut random)).collect()).collect();
    let lists: Vec<_> = single.chain(mixed).chain(rows).map(|all| (format!("{all:#?}"), rules(&all, ip))).collect();
    let [missed, met] = agree(&lists, &packets);
    assert!(missed > 0 && met > 0, "{missed} {met}");
}

/// A class whose packets begin with the place of their IP header, 255 for none.
const CLASS: &str = r#"#include <netvm.h>
#include "click.h"
ELEMENT(Sorted, "1/-", "h/h");
CONFIG(IPFILTER, classify);
struct place { u8 offset; };
enum { NONE };
void push(int port)
{
    u8 offset = header(struct place, 0)->offset;
    packet_pull(1);
    if (offset != 255)
        set_network_header(offset);
    int output = classify();
    if (output < 0)
        drop(NONE);
    emit(output);
}
"#;

/// The outputs that the class gives packets by these rules, run on the interpreter; negative for none.
fn interpreted(rules: &[Rule], packets: &[Packet]) -> Vec<i64> {
    let click = concat!(env!("CARGO_MANIFEST_DIR"), "/../../elements/include/click.h");
    let click = std::fs::read_to_string(click).unwrap();
    let outputs = rules.iter().map(|(_, output)| *output as usize + 1).max().unwrap_or(0);
    let generated = emit::function("classify", rules);
    let instance = Instance { inputs: vec![Kind::Push], outputs: vec![Kind::Push; outputs], generated, ..Instance::default() };
    let mut info = c::InfoLayout::default();
    let compiled = c::compile(Source { name: "Sorted.c", text: CLASS }, &|_| Some(click.clone()), &instance, &mut info);
    let module = compiled.unwrap_or_else(|faults| panic!("{}", faults.render(false))).module;
    let module = netil::module::Module { info_size: info.size(), info_fields: info.fields, ..module };
    let program = Arc::new(netil::verify(module).unwrap_or_else(|wrong| panic!("{wrong:?}")));
    let mut state = State::plain(&program).unwrap();
    let bytes: Vec<Vec<u8>> = packets.iter().map(|(bytes, at)| [&[(*at).min(255) as u8], &bytes[..]].concat()).collect();
    let mut burst: Vec<_> = bytes.iter().map(|bytes| ExchangeBuffer::borrowed(bytes)).collect();
    let mut out = Outcome::default();
    Interpreter::new(program).run(HandlerKind::Push, &mut burst, &mut state, &mut out);
    let output = |disposition: &Disposition| match disposition {
        Disposition::Port(id) => i64::from(*id) - 1,
        Disposition::Drop(_) => -1,
        Disposition::Trap(trap) => panic!("{trap:?}"),
    };
    out.dispositions.iter().map(output).collect()
}

#[test]
fn programs_of_patterns_do_what_they_mean() {
    let mut random = Random(17);
    let packets: Vec<Packet> = (0..400).map(|_| packet(&mut random)).collect();
    let single = PRIMITIVES.iter().map(|pattern| vec![(*pattern).to_owned()]);
    let any = |random: &mut Random| (0..).find_map(|_| Some(random_pattern(random, 2)).filter(|pattern| parsed(pattern).is_ok())).unwrap();
    let mixed: Vec<Vec<String>> = (0..40).map(|_| (0..=random.below(4)).map(|_| any(&mut random)).collect()).collect();
    let rows: Vec<Vec<String>> = (0..30).map(|_| (0..2 + random.below(9)).map(|_| alike(&mut random)).collect()).collect();
    for patterns in single.chain(mixed).chain(rows) {
        let rules = rules(&patterns, ip);
        let expected: Vec<i64> = packets.iter().map(|packet| expected(&rules, packet)).collect();
        assert_eq!(interpreted(&rules, &packets), expected, "{patterns:#?}\n{}", emit::function("p", &rules));
    }
}

fn random_clauses(random: &mut Random) -> String {
    if random.below(10) == 0 {
        return "-".to_owned();
    }
    let clause = |random: &mut Random| {
        let (value, mask) = random.of(&[
            &("08", ""),
            &("00", ""),
            &("50??", ""),
            &("0?", ""),
            &("0800", "%0f00"),
            &("??", ""),
            &("0102", "%ff?0"),
            &("010210ff50", ""),
            &("00010208", ""),
        ]);
        format!("{}{}/{value}{mask}", random.of(&["", "", "", "!", "! "]), random.below(9))
    };
    (0..1 + random.below(3)).map(|_| clause(random)).collect::<Vec<_>>().join(" ")
}

#[test]
fn byte_patterns_are_compiled_to_what_they_mean() {
    let mut random = Random(5);
    let short = |random: &mut Random| (0..random.below(12)).map(|_| [0, 1, 2, 8, 16, 80, 255][random.below(7)]).collect();
    let packets: Vec<Packet> = (0..2_000).map(|_| (short(&mut random), 0)).collect();
    let lists: Vec<Vec<String>> = (0..300).map(|_| (0..1 + random.below(8)).map(|_| random_clauses(&mut random)).collect()).collect();
    let parse = |text: &str| classifier::pattern(text).unwrap_or_else(|fault| panic!("{text}: {fault}"));
    let lists: Vec<_> = lists.into_iter().map(|all| (format!("{all:#?}"), rules(&all, parse))).collect();
    let [missed, met] = agree(&lists, &packets);
    assert!(missed > 0 && met > 0, "{missed} {met}");
}

fn write(syntax: &str, arguments: &[&str], outputs: u32) -> Result<String, Vec<String>> {
    let (names, arguments) = (Names::default(), arguments.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>());
    let job = Job { name: "classify", arguments: &arguments, names: names.at("x"), outputs, inputs: 1, ty: None };
    Whole::named(syntax).unwrap().write(&job).map(|written| written.source)
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

/// Large lists and hostile ones take time linear in them, and blocks are not nested without end.
#[test]
fn large_patterns_are_written_quickly() {
    let start = std::time::Instant::now();
    let hosts: Vec<String> = (0..20_000).map(|n| format!("allow src host 10.{}.{}.{}", n >> 16, n >> 8 & 255, n & 255)).collect();
    let text = write("IPFILTER", &hosts.iter().map(String::as_str).collect::<Vec<_>>(), 1).unwrap();
    assert_eq!(text.matches("case").count(), 20_000);
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
