//! Random programs in what C and the element language share give the same results when gcc compiles them (`-fwrapv`) and when they are an element on
//! the interpreter.
//!
//! `NETVM_CASES` is the number of programs, `NETVM_SEED` the first seed. Without a C compiler the test says that it is skipped.

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

#[test]
fn random_programs_give_what_gcc_gives() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("c_differential_{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (cases, seed) = (number("NETVM_CASES", 80), number("NETVM_SEED", 1));
    let mut wrong = String::new();
    for start in (0..cases).step_by(AT_ONCE as usize) {
        let programs: Vec<Program> = (start..cases.min(start + AT_ONCE)).map(|n| Program::random(seed + n)).collect();
        let Some(expected) = native(&programs, &folder) else {
            eprintln!("skipped: there is no C compiler to compare with");
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
