//! The program fails in the middle of a run: a coprocessor panics, which only a program that embeds
//! netvm can have. So this test is such a program: called with a subcommand, it registers the
//! coprocessor and is `netvm`; else it calls itself, and looks at exit statuses, messages and what
//! is left behind.
//!
//! On every engine the coprocessor is called in another way: by the interpreter, from machine code
//! of one handler or of fused ones, from compiled C of fused ones.

#[path = "../../../tests/needs.rs"]
mod needs;

use netvm::coprocessors::{CoproError, Coprocessor, Descriptor, Registers, Views, register};
use netvm::io::between::Between;
use netvm::io::{LinkType, WriteOptions, Writer};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};

/// Panics at the packet that begins so.
const FATAL: u32 = 0x0200_0000;

struct Bomb;

impl Coprocessor for Bomb {
    fn init(&mut self, _: &[u8]) -> u32 {
        0
    }

    fn invoke(&mut self, _: u32, registers: &mut Registers, views: Views<'_>) -> Result<(), CoproError> {
        assert!(registers[0] != FATAL && views.packet.is_some(), "on purpose");
        Ok(())
    }

    fn fingerprint(&self) -> u64 {
        0
    }
}

const CLASS: &str = "#include <netvm.h>
ELEMENT(Bomb, \"1/1\", \"h/h\");
void push(int port)
{
    coprocessor_show(\"bomb\");
    coprocessor_put(\"bomb\", 0, ntohl(*header(be32, 0)));
    coprocessor_run(\"bomb\", \"look\");
    emit(0);
}
";

/// `Paint` is fused with it, and a packet is taken apart before.
const CONFIGURATION: &str = "FromDevice(in) -> Paint(1) -> b :: Bomb -> Paint(2) -> q :: Queue -> ToDevice(out);\n";

/// How runs are placed, and whether another thread than the caller's may be the one that fails.
const PLACES: [&[&str]; 3] = [&[], &["--place", "rtc:2", "--relax", "Bomb"], &["--place", "rtc:2", "--order", "flow", "--relax", "Bomb"]];

fn main() -> ExitCode {
    if std::env::args().nth(1).is_some_and(|word| word == "run" || word == "ctl") {
        let descriptor = Descriptor { name: "bomb", registers: 1, operations: &["look"], cost: 1, prints: false, doc: "panics" };
        register(descriptor, || Box::new(Bomb)).expect("it is registered");
        return netvm_cli::main();
    }
    let folder = std::env::temp_dir().join(format!("netvm-failing-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("elements")).unwrap();
    std::fs::write(folder.join("elements/Bomb.c"), CLASS).unwrap();
    std::fs::write(folder.join("bomb.click"), CONFIGURATION).unwrap();
    write_capture(&folder.join("in.pcap"));
    for engine in engines() {
        for place in PLACES {
            for record in [&["--record"][..], &["--record=0"], &[]] {
                fails(&folder, engine, place, record);
            }
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
    println!("a run that fails says why, and which packet it was: ok");
    ExitCode::SUCCESS
}

/// Those that run here.
fn engines() -> Vec<&'static str> {
    let has_compiler = Command::new("cc").arg("--version").output().is_ok_and(|output| output.status.success());
    if !has_compiler {
        needs::missing("a C compiler");
    }
    ["interp", "jit", "aot"].into_iter().filter(|engine| *engine != "aot" || has_compiler).collect()
}

/// Packets of which the 20,001st is the one.
fn write_capture(file: &Path) {
    let mut writer = Writer::create(file, &WriteOptions::for_output(file, &[])).unwrap();
    let between = Between { ether: Some([2, 0, 0, 0, 0, 1]), ..Between::default() };
    for (n, (time, mut frame)) in between.packets(3).take(30_000).enumerate() {
        frame[..4].copy_from_slice(&(if n == 20_000 { FATAL } else { 0x0400_0000 }).to_be_bytes());
        writer.write_packet(LinkType::EN10MB, time, frame.len() as u32, &frame).unwrap();
    }
    writer.finish().unwrap();
}

fn program(folder: &Path, args: &[&str]) -> Output {
    Command::new(std::env::current_exe().unwrap()).args(args).current_dir(folder).output().unwrap()
}

/// One run: its exit status, what it says, and what is left of it.
fn fails(folder: &Path, engine: &str, place: &[&str], record: &[&str]) {
    let args = [&["run", "bomb.click", "--map", "in=in.pcap", "--map", "out=out.pcap", "--engine", engine][..], place, record].concat();
    let ran = program(folder, &args);
    let told = String::from_utf8_lossy(&ran.stderr);
    let about = format!("{args:?}: {:?}\n{told}", ran.status);
    assert_eq!(ran.status.code(), Some(1), "{about}");
    assert!(told.contains("has failed: on purpose"), "{about}");
    assert!(!folder.join("out.pcap").exists(), "a capture that is not complete has no name: {about}");
    let Some(file) = crash_file(folder) else { return assert_eq!(record, ["--record=0"], "{about}") };
    assert!(told.contains("netvm failed in ") && told.contains("\n  Packet "), "the packet is told: {about}");
    let asked = program(folder, &["ctl", "why", "--file", file.to_str().unwrap(), "ether[0:4] = 0x02000000"]);
    let answer = String::from_utf8_lossy(&asked.stdout);
    assert!(answer.starts_with("1 of the last ") && answer.contains("dropped: netvm failed in "), "{about}{answer}");
    std::fs::remove_file(file).unwrap();
}

fn crash_file(folder: &Path) -> Option<PathBuf> {
    let mut names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    names.find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("netvm-crash-")))
}
