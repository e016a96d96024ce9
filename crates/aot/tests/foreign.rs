//! Generated C on other machines: compiled by Debian's cross compilers, run by QEMU's user
//! emulation, and held against the interpreter. Where they are missing the test says so.

#[path = "../../../tests/needs.rs"]
mod needs;

mod support;

use compiler::backends::c;
use compiler::passes;
use netil::exec::{Packets, Selection, State};
use netil::module::HandlerKind;
use netil::{Interpreter, Verified};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use support::{RandomFilter, number, packets, program};

/// Compilers and emulators.
const MACHINES: [(&str, &str); 2] = [("aarch64-linux-gnu-gcc", "qemu-aarch64"), ("riscv64-linux-gnu-gcc", "qemu-riscv64")];

/// Reads packets (length and bytes), and prints a line of verdicts for each form.
const HARNESS: &str = r#"
#include <stdio.h>
#include <stdlib.h>

extern void netvm_select_any(const struct nv_burst *) __attribute__((weak));

static void show(const struct nv_burst *b, void (*select)(const struct nv_burst *))
{
    for (uint64_t i = 0; select && i < b->count; i += 64)
        b->selected[i / 64] = 0;
    if (select)
        select(b);
    for (uint64_t i = 0; select && i < b->count; i++)
        putchar(b->selected[i / 64] >> i % 64 & 1 ? '1' : '0');
    putchar('\n');
}

int main(void)
{
    static struct nv_packet packets[4096];
    static uint32_t wire_len[4096];
    static uint64_t selected[64], time_ns[4096];
    struct nv_burst b = {packets, 0, selected, wire_len, time_ns, 0, 50};
    uint32_t len;
    for (; fread(&len, 4, 1, stdin) == 1; b.count++) {
        uint8_t *data = malloc(len + 1);
        if (fread(data, 1, len, stdin) != len)
            return 1;
        packets[b.count] = (struct nv_packet){data, len};
        wire_len[b.count] = 3 * (uint32_t)b.count;
    }
    show(&b, netvm_select_scalar);
    show(&b, netvm_select_any);
    return 0;
}
"#;

fn there(tool: &str) -> bool {
    Command::new(tool).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

fn wanted(program: &Arc<Verified>, packets: &[Vec<u8>]) -> String {
    let frames: Vec<&[u8]> = packets.iter().map(Vec::as_slice).collect();
    let wire_len: Vec<u32> = (0..frames.len() as u32).map(|i| i * 3).collect();
    let mut state = State::new(program, &|_| None).unwrap();
    state.budget = 50;
    let mut out = Selection::default();
    let times = vec![0; frames.len()];
    Interpreter::new(Arc::clone(program)).select(&Packets { frames: &frames, wire_len: &wire_len, time_ns: &times }, &mut state, &mut out);
    (0..frames.len()).map(|i| if out.get(i) { '1' } else { '0' }).collect()
}

/// The two lines that the harness prints.
fn run(cc: &str, qemu: &str, text: &str, input: &[u8]) -> Vec<String> {
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("foreign-{qemu}-{}", std::process::id()));
    let mut compiler = Command::new(cc)
        .args(["-std=gnu11", "-O2", "-static", "-fno-strict-aliasing", "-w", "-DNV_PLAIN", "-x", "c", "-", "-o"])
        .arg(&program)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    compiler.stdin.take().unwrap().write_all(format!("{text}{HARNESS}").as_bytes()).unwrap();
    assert!(compiler.wait().unwrap().success(), "{cc}\n{text}");
    let mut child = Command::new(qemu).arg(&program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{qemu}: {}", output.status);
    std::fs::remove_file(program).unwrap();
    String::from_utf8(output.stdout).unwrap().lines().map(String::from).collect()
}

#[test]
fn made_up_filters_on_other_machines() {
    let packets = packets();
    let input: Vec<u8> = packets.iter().flat_map(|p| [&(p.len() as u32).to_le_bytes()[..], p].concat()).collect();
    let (first, count) = (number("NETVM_SEED", 500), number("NETVM_CASES", 6));
    for (cc, qemu) in MACHINES {
        if !there(cc) || !there(qemu) {
            needs::missing(format_args!("{cc} or {qemu}"));
            continue;
        }
        for seed in first..first + count {
            let source = RandomFilter::text(seed);
            let program = program(&source);
            let (func, _) = compiler::optimised(&program, HandlerKind::Push, &passes::Options::lanes()).unwrap().unwrap();
            let text = c::emit(&program, &func).unwrap();
            let (wanted, got) = (wanted(&program, &packets), run(cc, qemu, &text, &input));
            assert_eq!(got[0], wanted, "seed {seed}, {qemu}, one at a time\n{source}");
            assert!(got[1].is_empty() || got[1] == wanted, "seed {seed}, {qemu}, many at once: {}\n{source}", got[1]);
        }
    }
}
