//! Configurations and programs as an attacker writes them: they end, within bounds, and nothing
//! they say becomes code.

use super::tools::{Dir, ended, run};
use std::fs;

/// A class whose timer sets itself to a time that has passed.
const PAST: &str = "/*\n * E -- sets its timer to the past\n */\n#include <netvm.h>\nELEMENT(E, \"1/1\", \"a/a\");\nstatic u64 c;\n\
    void packet(int port) { timer_set(0, 1); emit(0); }\nvoid timer(int n) { c += 1; timer_set(0, 1); }\nREAD(c, u64, c);\n";

#[test]
fn timers_in_the_past_end_in_a_counted_trap() {
    let dir = Dir::new("past");
    let capture = dir.trace("in.pcap", 1, 50);
    let elements = dir.file("elements");
    fs::create_dir_all(&elements).expect("a folder");
    dir.write("elements/E.c", PAST);
    let file = dir.write("t.click", format!("FromDump({capture}, STOP true) -> e :: E -> count :: Counter -> Discard;"));
    for engine in ["interp", "jit"] {
        let ended = run(&format!("run --engine {engine} --elements {elements} {file} -h count.count -h e.c"));
        assert_eq!(ended.status, 0, "{engine}: {}", ended.err);
        assert!(ended.err.contains("timers ran 4096 times without time going on"), "{engine}: {}", ended.err);
        assert!(ended.out.contains("count.count:\n50\n"), "{engine}: packets go on: {}", ended.out);
    }
}

#[test]
fn text_of_a_configuration_stays_text_in_the_native_build() {
    let dir = Dir::new("inject");
    let capture = dir.trace("in.pcap", 1, 5);
    for out in [
        "a*\\\n/ static int injected; /*",
        "a\" ; static int injected; \"",
        "??/\" ; static int injected; //",
        "a\\\n static int injected;",
    ] {
        let file = dir.write("t.click", format!("FromDump({capture}, STOP true) -> Print(\"{}\") -> Discard;", out.replace('"', "\\\"")));
        let text = run(&format!("compile {file} --emit standalone"));
        assert_eq!(text.status, 0, "{out}: {}", text.err);
        // Behind comments and strings are left out, nothing of it is there.
        assert!(!code_of(&text.out).contains("injected"), "{out}");
    }
}

/// C text without comments and strings, as a compiler reads it: trigraphs and spliced lines first.
fn code_of(text: &str) -> String {
    let text = text.replace("??/", "\\").replace("\\\r\n", "").replace("\\\n", "");
    let (mut code, mut rest) = (String::new(), text.as_str());
    while let Some(c) = rest.chars().next() {
        let length = match c {
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '"' | '\'' => string_length(rest, c),
            _ => {
                code.push(c);
                c.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    code
}

fn string_length(text: &str, quote: char) -> usize {
    let mut escaped = true;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[test]
fn texts_of_scripts_are_bounded() {
    let dir = Dir::new("grow");
    let file = dir.write("t.click", "Script(set x abcdefgh, label again, set x $x$x$x$x, goto again $(lt $(length $x) 100000000), stop);");
    let ended = run(&format!("run {file}"));
    assert!(ended.err.contains("a text of more than 1048576 bytes is left out"), "{}", ended.err);
}

#[test]
fn scripts_write_only_within_their_own_folder() {
    let dir = Dir::new("within");
    let outside = dir.file("outside");
    for (line, why) in [
        ("graph Idle -> Discard;\nfile ../../../x hello", "no plain name"),
        ("graph Idle -> Discard;\nbytes /tmp/netvm-y 4142", "no plain name"),
        ("graph Idle -> Discard;\nin ../x.pcap udp", "no plain name"),
        ("graph FromDevice(../../x) -> Discard;", "no plain name"),
        ("graph Idle -> ToDump(PLACE);", "only within its own folder"),
        ("graph Idle -> ToDump($FOLDER/../../../../../../../..PLACE);", "only within its own folder"),
        ("graph Idle -> ToIPSummaryDump(PLACE);", "only within its own folder"),
        ("graph Idle -> IPPrint(OUTFILE PLACE) -> Discard;", "only within its own folder"),
        ("graph Script(print >PLACE x, stop);", "While executing"),
        ("graph i :: Idle -> Discard; Script(save i.class PLACE, stop);", "While executing"),
    ] {
        let script = dir.write("Hostile.txt", format!("case a\n{}\n", line.replace("PLACE", &outside)));
        let ended = run(&format!("test {script}"));
        assert_eq!(ended.status, 1, "{line}: {}{}", ended.out, ended.err);
        assert!(ended.err.contains(why), "{line}: {}", ended.err);
        assert!(!std::path::Path::new(&outside).exists(), "{line}");
    }
}

#[test]
fn long_configurations_are_checked_in_time_linear_in_their_length() {
    const N: usize = 100_000;
    let dir = Dir::new("long");
    let texts = [
        format!("Idle -> {}Discard;", "Null -> ".repeat(N)),
        format!("{}Idle -> Discard;", "/* x */ // y\n".repeat(N)),
        format!("elementclass C {{ input -> {}output }} Idle -> C -> Discard;", "Null -> ".repeat(N)),
        (0..N).map(|n| format!("a{n} :: Null; ")).collect(),
        format!("i :: Idle; d :: Discard; {}", "i -> d; ".repeat(N)),
        format!("Idle -> Discard; {}", "( ".repeat(N)),
        format!("Idle -> {}Discard;", "[0] Null [0] => ".repeat(N)),
        format!("{} i :: Idle -> Discard", "a :: Null; ".repeat(N)),
    ];
    for text in texts {
        let begun = std::time::Instant::now();
        let ended = run(&format!("check {}", dir.write("t.click", &text)));
        let head: String = text.chars().take(40).collect();
        assert!(ended.err.len() < 100_000, "{head}: {} bytes of faults", ended.err.len());
        // It takes one or two seconds where nothing else runs; quadratic time would be minutes.
        assert!(begun.elapsed().as_secs() < 30, "{head}: {:?}", begun.elapsed());
    }
}

/// Machine code of a chain of elements that are alike took time by the cube of its length; up to a
/// number they are compiled as one, more run one after the other.
#[test]
fn long_chains_run_soon() {
    let dir = Dir::new("long-chain");
    let capture = dir.file("one.pcap");
    assert_eq!(run(&format!("synth {capture} -c 1")).status, 0);
    for n in [2000, 20_000] {
        let text = format!("FromDump({capture}, STOP true) -> {}c :: Counter -> Discard;", "Null -> ".repeat(n));
        let file = dir.write("t.click", &text);
        let begun = std::time::Instant::now();
        let ended = run(&format!("run {file} --engine jit -h c.count"));
        assert_eq!((ended.status, ended.out.trim()), (0, "1"), "{n}: {}", ended.err);
        assert!(begun.elapsed().as_secs() < 30, "{n} elements: {:?}", begun.elapsed());
    }
}

/// Elements that differ in nothing but the name have one program, and how a compound is connected
/// is looked up once: what 100,000 of them take is what their names, wires and variables take.
#[test]
fn a_hundred_thousand_elements_that_are_alike_have_one_program() {
    const N: usize = 100_000;
    let dir = Dir::new("alike");
    for (text, wrong) in [
        (format!("Idle -> {}Discard;", "Counter -> ".repeat(N)), false),
        (format!("Idle -> {}Discard;", "CheckIPHeader -> ".repeat(N)), false),
        // Each is an element and two tunnels.
        (format!("elementclass C {{ input -> Null -> output }} Idle -> {}Discard;", "C -> ".repeat(N)), true),
    ] {
        let file = dir.write("t.click", &text);
        let begun = std::time::Instant::now();
        // 2 KB of address space for each element, and what the program itself needs.
        let line = format!("ulimit -v {}; exec {} check {file}", 2 * N + 300_000, env!("CARGO_BIN_EXE_netvm"));
        let ended = ended(std::process::Command::new("sh").args(["-c", &line]).output().expect("a shell"));
        let head: String = text.chars().take(60).collect();
        assert_eq!((ended.status == 0, ended.err.contains("more than 262144 elements")), (!wrong, wrong), "{head}: {}", ended.err);
        assert!(begun.elapsed().as_secs() < 15, "{head}: {:?}", begun.elapsed());
    }
}

/// The names of elements that have one program are told all the same.
#[test]
fn a_trap_is_told_with_the_name_of_its_element() {
    let dir = Dir::new("alike-names");
    let capture = dir.trace("in.pcap", 1, 3);
    let strips = "first :: Strip(40) -> second :: Strip(40)";
    let file = dir.write("t.click", format!("FromDump({capture}, STOP true) -> {strips} -> Strip(40) -> third :: Strip(2000) -> Discard;"));
    for engine in ["interp", "jit", "aot"] {
        let ended = run(&format!("run --engine {engine} {file}"));
        assert!(ended.err.contains("second: ") && !ended.err.contains("first: "), "{engine}: {}", ended.err);
    }
}

/// Tees behind one another: of the million copies of a packet as many as may be are made, the
/// others are counted, and every engine does the same.
#[test]
fn copies_of_one_packet_are_bounded_on_every_engine() {
    let dir = Dir::new("copies");
    let capture = dir.trace("in.pcap", 1, 1);
    let tees: String = (0..6).map(|n| format!("t{n} :: Tee(10); ")).collect();
    let wires: String = (0..5).flat_map(|n| (0..10).map(move |port| format!("t{n}[{port}] -> t{}; ", n + 1))).collect();
    let ends: String = (0..10).map(|port| format!("t5[{port}] -> d; ")).collect();
    let file = dir.write("t.click", format!("{tees}FromDump({capture}, STOP true) -> t0; d :: Counter; d -> Discard; {wires}{ends}"));
    for engine in ["interp", "jit", "aot"] {
        let ended = run(&format!("run --engine {engine} {file} -h d.count"));
        assert_eq!((ended.status, ended.out.trim()), (0, "65537"), "{engine}: {}", ended.err);
    }
}

/// A class whose pull handler keeps 900 values while it asks: too many for the stack of compiled
/// code that runs within other such code.
fn wide() -> String {
    let values = |line: &dyn Fn(usize) -> String| (0..900).map(line).collect::<Vec<_>>().join("\n");
    let reads = values(&|n| format!("    u64 v{n} = m[{n}] % {};", n * 2 + 3));
    let writes = values(&|n| format!("    m[{n}] = v{} + 1;", (n * 7 + 1) % 900));
    let adds = values(&|n| format!("    m[{n}] += v{};", (n * 7 + 3) % 900));
    let handler = format!("{reads}\n{writes}\n    if (!packet_ask(0)) return;\n{adds}\n    emit(0);");
    format!(
        "/*\n * Wide -- asks\n */\n#include <netvm.h>\nELEMENT(Wide, \"1/1\", \"l/l\");\nstatic u64 m[900];\nvoid pull(int port)\n{{\n{handler}\n}}\n"
    )
}

/// Pull handlers run within one another: as many as the graph allows fit into a small stack,
/// whatever they keep there.
#[test]
fn pulling_through_many_large_elements_fits_into_a_small_stack() {
    let dir = Dir::new("pulling");
    let capture = dir.trace("in.pcap", 1, 3);
    fs::create_dir_all(dir.file("elements")).expect("a folder");
    dir.write("elements/Wide.c", wide());
    for (elements, engine, counted) in [(120, "jit", "3"), (120, "aot", "3"), (120, "interp", "3"), (140, "jit", "0")] {
        let chain = "Wide -> ".repeat(elements);
        let file = dir.write("t.click", format!("FromDump({capture}, STOP true) -> Queue -> {chain}Unqueue -> c :: Counter -> Discard;"));
        let line = format!("ulimit -s 1024; exec {} run --engine {engine} {file} -h c.count", env!("CARGO_BIN_EXE_netvm"));
        let ended = ended(std::process::Command::new("sh").args(["-c", &line]).output().expect("a shell"));
        assert_eq!((ended.status, ended.out.trim()), (0, counted), "{engine}, {elements}: {}", ended.err);
        assert_eq!(ended.err.contains("pulled through too many elements"), counted == "0", "{engine}, {elements}: {}", ended.err);
    }
}

/// Runs the program with a compiler of C that may take, in each of its programs, what the size of
/// an input allows; whether it went well, and how often the compiler ran.
fn with_bounded_compiler(dir: &Dir, bytes: usize, line: &str) -> (super::tools::Ended, usize) {
    let (log, compiler) = (dir.file("compiled"), dir.file("cc"));
    let limits = format!("ulimit -t {}; ulimit -v {}", 20 + bytes / 500, 400_000 + 8 * bytes);
    fs::write(&compiler, format!("#!/bin/sh\n{limits}\n[ \"$1\" = --version ] || echo >>{log}\nexec cc \"$@\"\n")).expect("a script");
    fs::set_permissions(&compiler, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a program");
    fs::write(&log, "").expect("a file");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_netvm"));
    command.args(line.split_whitespace()).env("NETVM_CC", &compiler).env("NETVM_NO_CACHE", "1").env("XDG_CACHE_HOME", dir.file("cache"));
    (ended(command.output().expect("the program starts")), fs::read_to_string(&log).expect("a file").lines().count())
}

/// Whatever is written in C of texts that their authors made large, the compiler of C takes time
/// and memory in proportion to the text.
#[test]
fn the_compiler_of_c_takes_what_the_size_of_a_text_allows() {
    let dir = Dir::new("compiler");
    let capture = dir.trace("in.pcap", 1, 100);
    let terms: Vec<String> =
        (0..300).map(|n| format!("(ip[{}] & {} = {} and udp[{}] > {})", n % 60, 1 + n % 254, n % 7, n % 31, n % 200)).collect();
    let filter = terms.join(" or ");
    let pairs: Vec<String> = (0..2000).map(|n| format!("(tcp port {} and host 10.{}.{}.1)", n + 1, n % 250, n / 250)).collect();
    let chain: String = (0..100).map(|n| format!("Strip({}) -> Paint({n}) -> ", 1 + n % 2)).collect();
    for (text, line) in [
        (filter, format!("filter -r {capture} --count --engine aot -F")),
        (pairs.join(" or "), format!("filter -r {capture} --count --engine aot -F")),
        (format!("FromDump({capture}, STOP true) -> {chain}Discard;"), "run --engine aot".to_owned()),
    ] {
        let bytes = text.len();
        let (ended, compiled) = with_bounded_compiler(&dir, bytes, &format!("{line} {}", dir.write("t.click", &text)));
        assert_eq!((ended.status, compiled > 0), (0, true), "{line}, {bytes} bytes, {compiled} times: {}", ended.err);
    }
}

/// The compiler of C takes time and memory in proportion to a configuration for the program that it
/// becomes.
#[test]
fn a_native_program_compiles_within_what_its_configuration_allows() {
    let dir = Dir::new("native-bounded");
    let chain = "CheckIPHeader(14) -> Paint(3) -> Counter -> ".repeat(20);
    let (text, program) = (format!("Idle -> {chain}Discard;"), dir.file("program.c"));
    fs::write(&program, run(&format!("compile {} --emit standalone", dir.write("t.click", &text))).good()).expect("a file");
    let bounds = format!("ulimit -t {}; ulimit -v {}", 10 + text.len() / 100, 400_000 + 8 * text.len());
    let line = format!("{bounds}; exec cc -O1 -w -o {} {program}", dir.file("program"));
    let ended = ended(std::process::Command::new("sh").args(["-c", &line]).output().expect("a shell"));
    assert_eq!(ended.status, 0, "{}", ended.err);
}
