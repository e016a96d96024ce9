//! Patterns against their own meaning: the tree is evaluated on random packets, and the C that is
//! written of it is compiled and run on the same ones.

use super::emit;
use super::formula::Rule;
use super::{classifier, ipfilter, table};
use crate::c::{self, Instance, SourceFile};
use crate::click::processing::Kind;
use crate::click::syntax::request::Generated;
use crate::click::syntax::{ArgumentError, Names};
use netil::Interpreter;
use netil::exec::{Disposition, ExchangeBuffer, Outcome, State};
use netil::module::{Entry, HandlerKind};
use std::process::{Command, Stdio};
use std::sync::Arc;

/// A small random number generator: tests are the same every time.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    pub(super) fn of<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
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
#define htons ntohs
#define htonl ntohl
typedef int32_t i32;
#define TABLE_TERNARY(name, K, V, capacity) static struct { const u8 *rows; u32 count; const K *key; const V *value; } name
#define table_find(t, k) ((const i32 *) find((t).rows, (t).count, 1 ? (k) : (t).key, sizeof *(t).key))
/* Keys, masks and values, by falling priority. */
static const void *find(const u8 *row, u32 count, const void *key, u32 size)
{
    for (; count > 0; count--, row += 2 * size + 4) {
        u32 n = 0;
        while (n < size && ((((const u8 *) key)[n] ^ row[n]) & row[size + n]) == 0) n++;
        if (n == size) return row + 2 * size;
    }
    return 0;
}
"#;

const MAIN: &str = r#"
int main(void)
{
    u32 sizes[2];
    fill();
    while (fread(sizes, 4, 2, stdin) == 2) {
        length = sizes[0]; at = sizes[1];
        if (fread(packet, 1, length, stdin) != length) return 2;
        for (unsigned n = 0; n < sizeof functions / sizeof *functions; n++) printf("%d ", functions[n]());
        puts("");
    }
    return 0;
}
"#;

pub(super) type Packet = (Vec<u8>, usize);

/// Runs functions `p0`, `p1`, … on packets; `None` where there is no compiler.
fn run((text, fills): (&str, &str), names: &[String], packets: &[Packet]) -> Option<Vec<Vec<i64>>> {
    let directory = std::env::temp_dir().join(format!("netvm-patterns-{}-{}", std::process::id(), names.len()));
    std::fs::create_dir_all(&directory).unwrap();
    let source = format!(
        "{AROUND}{text}\nstatic void fill(void) {{ {fills} }}\nstatic int (*functions[])(void) = {{ {} }};\n{MAIN}",
        names.join(", ")
    );
    let (file, program) = (directory.join("patterns.c"), directory.join("patterns"));
    std::fs::write(&file, source).unwrap();
    let compiled = Command::new("cc").args(["-O0", "-w", "-o"]).arg(&program).arg(&file).stderr(Stdio::piped()).output();
    let Ok(compiled) = compiled else {
        crate::needs::missing("a C compiler");
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

pub(super) fn expected(rules: &[Rule], (bytes, at): &Packet) -> i64 {
    rules.iter().find(|(formula, _)| formula.holds(bytes, *at)).map_or(-1, |(_, output)| *output)
}

/// C that gives tables their entries.
fn filled(written: &Generated) -> String {
    let escaped = |bytes: &[u8]| bytes.iter().map(|byte| format!("\\{byte:03o}")).collect::<String>();
    let mut text = String::new();
    for (table, entries) in &written.entries {
        assert!(entries.windows(2).all(|pair| pair[0].priority >= pair[1].priority));
        let size = key_size(&written.source, table);
        let number = |limbs: &[u64]| (0..size).rev().map(|at| (limbs[at / 8] >> (8 * (at % 8))) as u8).collect::<Vec<u8>>();
        let row = |entry: &Entry| format!("\"{}\"\n", escaped(&[&number(&entry.key), &number(&entry.mask), &entry.value[..]].concat()));
        let rows: String = entries.iter().map(row).collect();
        text += &format!("{table}.rows = (const u8 *) {rows}; {table}.count = {};", entries.len());
    }
    text
}

/// Bytes of a table's key, by its declaration.
fn key_size(source: &str, table: &str) -> usize {
    let members = source.split(&format!("struct {table} {{ ")).nth(1).unwrap().split(" }").next().unwrap();
    members.split("; ").map(|member| [("u8", 1), ("be16", 2), ("be32", 4)].iter().find(|(ty, _)| member.starts_with(ty)).unwrap().1).sum()
}

/// Holds lists of patterns against what they are compiled to, once with as many tables as can be.
/// Gives how many packets met no pattern and one, and tables.
fn agree(lists: &[(String, Vec<Rule>)], packets: &[Packet]) -> [usize; 3] {
    let least = [1, table::LEAST];
    let of = |(n, (_, rules)): (usize, &(String, Vec<Rule>))| {
        least.iter().map(|least| emit::with_tables(&format!("p{n}_{least}"), rules, *least)).collect::<Vec<_>>()
    };
    let all: Vec<Generated> = lists.iter().enumerate().flat_map(of).collect();
    let text: String = all.iter().map(|written| &written.source[..]).collect();
    let names: Vec<String> = (0..lists.len()).flat_map(|n| least.map(|least| format!("p{n}_{least}"))).collect();
    let Some(found) = run((&text, &all.iter().map(filled).collect::<String>()), &names, packets) else { return [1; 3] };
    let mut matched = [0, 0, all.iter().map(|written| written.entries.len()).sum()];
    for (packet, found) in packets.iter().zip(found) {
        for (n, found) in found.into_iter().enumerate() {
            let (source, rules) = &lists[n / least.len()];
            let expected = expected(rules, packet);
            matched[usize::from(expected >= 0)] += 1;
            assert_eq!(found, expected, "{source}\non {packet:x?}\n{}\n{:x?}", all[n].source, all[n].entries);
        }
    }
    matched
}

/// A packet whose fields have few values, so that patterns meet them; perhaps cut short.
pub(super) fn packet(random: &mut Random) -> Packet {
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

pub(super) const PRIMITIVES: [&str; 65] = [
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
    "http",
    "ssh",
    "dst 10.0.0.1 and src port 53 or 80",
];

pub(super) fn random_pattern(random: &mut Random, depth: usize) -> String {
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
pub(super) fn alike(random: &mut Random) -> String {
    let fixed = random.of(&["tcp dst port", "udp src port", "dst port", "src host 10.0.0.1 and tcp dst port"]);
    match random.below(4) {
        0 => random.of(&["src 10.0.0.1", "src 10.0.0.2", "dst 10.1.0.1 and tcp", "src 10.1.0.1 or src 10.0.0.2 and udp"]).to_owned(),
        _ => format!("{fixed} {}", random.of(&["80", "443", "53", "80 or 53", "> 1000", "1023"])),
    }
}

pub(super) fn rules(patterns: &[String], parse: impl Fn(&str) -> super::formula::Formula) -> Vec<Rule> {
    patterns.iter().enumerate().map(|(n, pattern)| (parse(pattern), n as i64)).collect()
}

pub(super) fn parsed(pattern: &str) -> Result<super::formula::Formula, ArgumentError> {
    ipfilter::pattern(&ipfilter::words_of(pattern), &Names::default().at("x"))
}

pub(super) fn ip(pattern: &str) -> super::formula::Formula {
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
    // So many that fields are looked at by more than a few tests.
    let long: Vec<Vec<String>> =
        (0..15).map(|n| (0..40).map(|_| if n % 3 == 0 { any(&mut random) } else { alike(&mut random) }).collect()).collect();
    let lists: Vec<_> = single.chain(mixed).chain(rows).chain(long).map(|all| (format!("{all:#?}"), rules(&all, ip))).collect();
    let [missed, met, tables] = agree(&lists, &packets);
    assert!(missed > 0 && met > 0 && tables > 0, "{missed} {met} {tables}");
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

/// The outputs that the class gives packets by these rules, run on the interpreter; negative for
/// none.
fn interpreted(rules: &[Rule], least: usize, packets: &[Packet]) -> Vec<i64> {
    let click = concat!(env!("CARGO_MANIFEST_DIR"), "/../../elements/include/click.h");
    let click = std::fs::read_to_string(click).unwrap();
    let outputs = rules.iter().map(|(_, output)| *output as usize + 1).max().unwrap_or(0);
    let Generated { source: generated, entries, .. } = emit::with_tables("classify", rules, least);
    let instance = Instance { inputs: vec![Kind::Push], outputs: vec![Kind::Push; outputs], generated, entries, ..Instance::default() };
    let mut info = c::InfoLayout::default();
    let compiled = c::compile(SourceFile { name: "Sorted.c", text: CLASS }, &|_| Some(click.clone()), &instance, &mut info);
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
        for least in [1, table::LEAST] {
            assert_eq!(interpreted(&rules, least, &packets), expected, "{patterns:#?}\n{:?}", emit::with_tables("p", &rules, least));
        }
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
    let mut lists: Vec<Vec<String>> = (0..300).map(|_| (0..1 + random.below(8)).map(|_| random_clauses(&mut random)).collect()).collect();
    // So many that fields are looked at by more than a few tests, some of which want what is not
    // there.
    let long = (0..40).map(|_| (0..30).map(|_| random_clauses(&mut random)).filter(|clauses| clauses != "-").collect());
    lists.extend(long);
    let parse = |text: &str| classifier::pattern(text).unwrap_or_else(|fault| panic!("{text}: {fault}"));
    let lists: Vec<_> = lists.into_iter().map(|all| (format!("{all:#?}"), rules(&all, parse))).collect();
    let [missed, met, tables] = agree(&lists, &packets);
    assert!(missed > 0 && met > 0 && tables > 0, "{missed} {met} {tables}");
}
