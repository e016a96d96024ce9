//! Random programs in what C and the element language share give the same results when gcc compiles
//! them (`-fwrapv`) and when they are an element on the interpreter.
//!
//! `NETVM_CASES` is the number of programs, `NETVM_SEED` the first seed. Without a C compiler the
//! test says that it is skipped.

#[path = "../../../tests/needs.rs"]
mod needs;

mod c_random;
mod c_support;

use c_random::Program;
use c_support::{Element, class, values};
use std::fmt::Write;
use std::path::PathBuf;
use std::process::Command;

/// Programs for one run of the compiler.
const AT_ONCE: u64 = 40;
const INPUTS: [[u64; 3]; 7] = [
    [0, 0, 0],
    [1, 2, 3],
    [u64::MAX, 1, 0x80],
    [0x8000_0000, 0x7fff_ffff, 0xffff],
    [0x8000_0000_0000_0000, 0x7fff_ffff_ffff_ffff, 0xff],
    [0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210, 0x00ff_00ff_00ff_00ff],
    [77, u64::MAX - 4, 0x1_0000_0001],
];
const TYPES: &str = "#include <stdint.h>\n#include <stdbool.h>\n#include <stdio.h>\n\
    typedef uint8_t u8; typedef uint16_t u16; typedef uint32_t u32; typedef uint64_t u64;\n\
    typedef int8_t i8; typedef int16_t i16; typedef int32_t i32; typedef int64_t i64;\n\
    typedef unsigned __int128 u128;\n#pragma pack(1)\n";

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// What gcc makes of programs: a line of results for each.
fn native(programs: &[Program], folder: &std::path::Path) -> Option<Vec<String>> {
    let mut text = TYPES.to_owned();
    for program in programs {
        text += &program.text;
    }
    text += "int main(void)\n{\n    static const u64 in[][3] = {";
    for [a, b, c] in INPUTS {
        let _ = write!(text, " {{ {a}u, {b}u, {c}u }},");
    }
    text += " };\n";
    for program in programs {
        let _ = writeln!(text, "    for (int i = 0; i < {}; i++)", INPUTS.len());
        let _ = writeln!(
            text,
            "        printf(\"%llx \", (unsigned long long) {}(in[i][0], in[i][1], in[i][2]));\n    puts(\"\");",
            program.entry
        );
    }
    text += "}\n";
    let (source, binary) = (folder.join("t.c"), folder.join("t"));
    std::fs::write(&source, &text).unwrap();
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let output = Command::new(compiler).args(["-std=gnu11", "-O1", "-fwrapv", "-w", "-o"]).arg(&binary).arg(&source).output().ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let run = Command::new(&binary).output().unwrap();
    let lines: Vec<String> = String::from_utf8(run.stdout).unwrap().lines().map(str::to_owned).collect();
    assert!(run.status.success() && lines.len() == programs.len(), "{}: {} of {} programs", run.status, lines.len(), programs.len());
    Some(lines)
}

/// What the program gives as an element.
fn element(program: &Program) -> String {
    let around = format!(
        "{}\nstruct io {{ be64 in[3]; be64 out; }};\nvoid packet(int port)\n{{\n    struct io *io = header(struct io, 0);\n    \
         io->out = htonll({}(ntohll(io->in[0]), ntohll(io->in[1]), ntohll(io->in[2])));\n    emit(0);\n}}\n",
        program.text, program.entry
    );
    let mut element = Element::new(&class("1/1", &around), 1, 1, values(&[]));
    let mut line = String::new();
    for input in INPUTS {
        let mut packet: Vec<u8> = input.iter().flat_map(|n| n.to_be_bytes()).collect();
        packet.extend([0; 8]);
        let (disposition, out) = element.push(&packet);
        assert_eq!(disposition, netil::exec::Disposition::Port(1), "{}", program.text);
        let _ = write!(line, "{:x} ", u64::from_be_bytes(out[24..32].try_into().unwrap()));
    }
    line
}

/// What C says of these is easily missed: layout, initial values, enums. Each is
/// `u64 f(u64 a, u64 b, u64 c)`.
const WRITTEN: &[(&str, &str)] = &[
    ("anonymous", "struct s { u8 first; struct { u16 p; struct { u8 q; }; }; u8 last; };
      static u64 anonymous(u64 a, u64 b, u64 c)
      { struct s s = { 1, { 2, { 3 } }, 4 }, t = { .q = 7, .last = 8, .p = (u16) a }; t.q += 1;
        return sizeof s + 100 * s.q + 10000 * s.last + 1000000 * t.p + ((u64) t.q << 40) + ((u64) t.last << 50); }"),
    ("enum_sign", "enum kind { K0, K1 }; enum sign { S0 = -1, S1 };
      static u64 enum_sign(u64 a, u64 b, u64 c)
      { enum kind k = (enum kind) (u32) a; enum sign s = (enum sign) (u32) a; i64 y; k--; s--; y = k;
        return (u64) (k < 0) + 2 * (u64) (s < 0) + (u64) y * 4 + (u64) (k / 2) + (u64) (k >> 1) * 16 + (u64) (s >> 1) + (u64) (s / 2); }"),
    ("enum_constant", "enum { MASK = 0x7fffffff, LEAST = -2147483647 - 1 };
      static u64 enum_constant(u64 a, u64 b, u64 c) { return ((u64) MASK << 1) + (u64) (LEAST < 0) + (u64) LEAST + (a & MASK); }"),
    ("open_length", "static const int same[] = { [0] = 7, [0] = 8, [0] = 9 }; static const u8 back[] = { [5] = 1, [0] = 7, 8 };
      static u64 open_length(u64 a, u64 b, u64 c)
      { int local[] = { [1] = 3, [1] = 4, [0] = (int) a };
        return sizeof same + 100 * sizeof back + 10000 * sizeof local + (u64) same[0] + back[5] * 7 + back[1] * 70 + (u64) local[0] + (u64) local[1]; }"),
    ("overridden", "struct i { u32 x; u32 y; }; struct o { struct i i; u32 z; };
      static const struct o fixed = { .i = { 1, 2 }, .i = { .x = 5 }, .z = 3 };
      static u64 overridden(u64 a, u64 b, u64 c)
      { struct o s = { .i = { (u32) a, (u32) b }, .z = 9, .i = { .y = 6 } }, t = { .i.x = (u32) a, 2, 3 }, u = { .i = { 1, 2 }, .i.y = 4 };
        return fixed.i.x + 10 * fixed.i.y + 100 * fixed.z + 1000 * s.i.x + 10000 * s.i.y + 100000 * s.z + 3 * t.i.x + 5 * t.i.y + 7 * t.z + 11 * u.i.x + 13 * u.i.y; }"),
    ("elided", "struct n { u8 m[2][2]; struct { u16 p; u16 q; } in[2]; u32 end; };
      static const struct n flat = { 1, 2, 3, 4, 5, 6, { 7 }, 9 }; static const u8 part[3][2] = { { 1 }, 2, 3, 4 };
      static const u16 named[2][3] = { [1] = 1, 2, [0][1] = 5, 6, 7 };
      static u64 elided(u64 a, u64 b, u64 c)
      { struct n zero = { 0 }, one = { { (u8) a, (u8) b }, 3 };
        return flat.m[1][1] + 10 * flat.in[0].q + 100 * flat.in[1].p + 1000 * flat.in[1].q + 10000 * flat.end + 100000 * part[1][1] + 1000000 * part[2][0]
            + zero.end + zero.m[0][0] + one.m[0][1] * 3 + one.in[0].p * 5 + one.end + (u64) named[1][0] * 7 + (u64) named[1][1] * 11 + (u64) named[0][1] * 13
            + (u64) named[0][2] * 17 + (u64) named[1][2] * 19; }"),
];

#[test]
fn written_programs_give_what_gcc_gives() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("c_written_{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let programs: Vec<Program> =
        WRITTEN.iter().map(|(entry, text)| Program { text: (*text).to_owned(), entry: (*entry).to_owned() }).collect();
    let Some(expected) = native(&programs, &folder) else { return needs::missing("a C compiler") };
    for (program, expected) in programs.iter().zip(expected) {
        assert_eq!(element(program), expected, "{}", program.text);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn random_programs_give_what_gcc_gives() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("c_differential_{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (cases, seed) = (number("NETVM_CASES", 80), number("NETVM_SEED", 1));
    let mut wrong = String::new();
    for start in (0..cases).step_by(AT_ONCE as usize) {
        let programs: Vec<Program> = (start..cases.min(start + AT_ONCE)).map(|n| Program::random(seed + n)).collect();
        let Some(expected) = native(&programs, &folder) else {
            needs::missing("a C compiler");
            return;
        };
        for (program, expected) in programs.iter().zip(expected) {
            let found = element(program);
            if found != expected && wrong.len() < 20_000 {
                let _ = writeln!(wrong, "{}\nexpected {expected}\nfound    {found}", program.text);
            }
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(wrong.is_empty(), "{wrong}");
}
