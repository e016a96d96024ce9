//! Our eBPF against clang's for the same function: instructions of filters, counted.
//!
//! clang gets the C that netvm makes of the filter, written as people write XDP: lengths are compared as pointers with `data_end`, fields are read by
//! aligned types. `cargo test -p netvm-compiler --test ebpf_clang -- --nocapture` prints the table of docs/targets.md.

#[path = "../../../tests/needs.rs"]
mod needs;

use frontends::pcap_filter::{self, LinkType};
use netil::module::HandlerKind;
use netil::verify;
use netvm_compiler::backends::{c, ebpf};
use netvm_compiler::{optimised, passes};
use std::io::Write;
use std::process::{Command, Stdio};

const FILTERS: &[&str] = &[
    "ip",
    "ip src 10.1.1.1",
    "ip and tcp",
    "tcp port 80",
    "udp",
    "host 10.1.2.3 and not port 22",
    "tcp[13] & 7 != 0",
    "icmp or icmp6",
    "src net 10.0.0.0/8 and dst port 53",
    "ip6 host fe80::1",
    "arp or rarp",
    "len > 100 and udp",
    "tcp port 80 or tcp port 443 or udp port 53",
    "vlan and ip",
    "ip[8] < 5",
    "portrange 6000-6010",
];

/// Types, and loads by aligned types.
const HEAD: &str = "
typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned int uint32_t; typedef unsigned long long uint64_t;
typedef signed char int8_t; typedef short int16_t; typedef int int32_t; typedef long long int64_t; typedef unsigned long size_t;
#define UINT32_MAX 0xffffffffu
#define memcpy __builtin_memcpy
#define LE(q, n) ((n) == 1 ? *(const uint8_t *)(q) : (n) == 2 ? *(const uint16_t *)(q) : (n) == 4 ? *(const uint32_t *)(q) : *(const uint64_t *)(q))
#define BE(q, n) ((n) == 1 ? *(const uint8_t *)(q) : (n) == 2 ? __builtin_bswap16(LE(q, 2)) : (n) == 4 ? __builtin_bswap32(LE(q, 4)) : __builtin_bswap64(LE(q, 8)))
struct context { uint32_t data, data_end; };
";

/// `len op x` as a comparison of pointers.
fn length(line: &str) -> String {
    let Some((to, test)) = line.split_once(" = ").filter(|(_, test)| test.trim_end_matches(';').split(' ').any(|word| word == "len"))
    else {
        return line.to_owned();
    };
    let words: Vec<&str> = test.trim_end_matches(';').split(' ').collect();
    let [a, op, b] = words[..] else { return line.replace("len", "(uint32_t)(end - p)") };
    let (x, op) = match (a, op) {
        ("len", "<") | (_, ">") if a == "len" || b == "len" => {
            (if a == "len" { b } else { a }, if a == "len" && op == ">" { "<" } else { ">" })
        }
        ("len", "<=") => (b, ">="),
        ("len", ">=") => (b, "<="),
        (_, "<") => (a, "<"),
        (_, "<=") => (a, "<="),
        (_, ">=") => (a, ">="),
        _ => return line.replace("len", "(uint32_t)(end - p)"),
    };
    format!("{to} = p + {x} {op} end;")
}

/// The C of a filter as a program for XDP.
fn xdp(text: &str) -> Option<String> {
    let text: String = text.lines().filter(|line| !line.starts_with("#include")).map(|line| format!("{line}\n")).collect();
    let (before, rest) = text.split_once("/* The filter for packet i. */")?;
    let (_, rest) = rest.split_once("budget = b->budget;\n")?;
    let (body, _) = rest.split_once("\n}\n")?;
    let body: String = body.lines().map(|line| length(line) + "\n").collect();
    let body = body.replace("nv_le(", "LE(").replace("nv_be(", "BE(").replace("b->wire_len[i]", "(uint32_t)(end - p)");
    let body = body.replace("return 1;", "return 2;").replace("return 0;", "return 1;").replace("(void)p, (void)len, (void)budget;", "");
    let begin = "__attribute__((section(\"xdp\"))) int netvm(struct context *c)\n{\n";
    let pointers = "    const uint8_t *p = (const uint8_t *)(long)c->data, *end = (const uint8_t *)(long)c->data_end;\n";
    Some(format!("{HEAD}{before}{begin}{pointers}{body}}}\n"))
}

/// Instructions of clang's code; none where there is no clang.
fn clang(text: &str) -> Option<usize> {
    let mut command = Command::new("clang");
    command.args(["-target", "bpf", "-mcpu=v3", "-O2", "-w", "-S", "-x", "c", "-", "-o", "-"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
    child.stdin.take()?.write_all(text.as_bytes()).ok()?;
    let out = child.wait_with_output().ok()?;
    assert!(out.status.success(), "clang refuses:\n{text}");
    let assembly = String::from_utf8_lossy(&out.stdout).into_owned();
    let (_, code) = assembly.split_once("\nnetvm:")?;
    let is_one = |line: &&str| line.starts_with('\t') && !line.starts_with("\t.");
    Some(code.lines().filter(is_one).map(|line| if line.ends_with(" ll") { 2 } else { 1 }).sum())
}

#[test]
fn filters_are_as_short_as_clangs() {
    let (mut all, mut theirs) = (0, 0);
    for filter in FILTERS {
        let module = pcap_filter::compile(filter, LinkType::ETHERNET, &pcap_filter::Options::default()).unwrap();
        let program = verify(module).unwrap();
        let (func, _) = optimised(&program, HandlerKind::Push, &passes::Options::default()).unwrap().unwrap();
        let Some(counted) = clang(&xdp(&c::emit(&program, &func).unwrap()).unwrap()) else {
            needs::missing("clang");
            return;
        };
        let ours = ebpf::compile(&program, &ebpf::Options::default()).unwrap().insts.len();
        println!("| `{filter}` | {ours} | {counted} | {:.2} |", ours as f64 / counted as f64);
        assert!(ours <= 4 + counted * 6 / 5, "`{filter}`: {ours} instructions, clang {counted}");
        (all, theirs) = (all + ours, theirs + counted);
    }
    println!("| all | {all} | {theirs} | {:.2} |", all as f64 / theirs as f64);
    assert!(all * 10 <= theirs * 11, "{all} instructions, clang {theirs}");
}
