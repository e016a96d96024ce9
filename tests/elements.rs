//! The element library: every element is plain C11 for gcc and clang, without a warning, has a
//! manual and one class of its name, and does what its script says: compiled by gcc and run as a
//! program of its own, and compiled and run by netvm.

#[path = "elements/constants.rs"]
mod constants;
#[path = "elements/standalone.rs"]
mod standalone;

use netvm::application::Library;
use netvm::engines;
use netvm::netil::fields::{arp, ethernet, icmp, ip, ip_protocol, ip6, tcp, udp};
use netvm::scripts as script;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn elements() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../elements").canonicalize().unwrap()
}

/// The classes' files, in order.
fn files() -> Vec<PathBuf> {
    let mut found: Vec<_> = fs::read_dir(elements()).unwrap().map(|e| e.unwrap().path()).collect();
    found.retain(|p| p.extension().is_some_and(|e| e == "c"));
    found.sort();
    assert!(found.len() >= 20, "the library is not where it was");
    found
}

fn class(file: &Path) -> String {
    file.file_stem().unwrap().to_string_lossy().into_owned()
}

fn is_there(compiler: &str) -> bool {
    Command::new(compiler).arg("--version").output().is_ok_and(|o| o.status.success())
}

#[test]
fn every_element_has_its_manual_its_class_and_its_script() {
    let list = fs::read_to_string(elements().join("README.md")).unwrap();
    for file in files() {
        let (text, class) = (fs::read_to_string(&file).unwrap(), class(&file));
        let title = text.lines().nth(1).unwrap_or_default();
        assert!(title.starts_with(&format!(" * {class}")) && title.contains(" -- "), "{class}: the second line is its title");
        assert!(text.contains(&format!("\nELEMENT({class}, \"")), "{class}: no ELEMENT of that name");
        let told = title.split_once(" -- ").map_or("", |(_, what)| what);
        assert!(list.contains(&format!("| [{class}]({class}.c) | {told} |")), "{class}: no such row in elements/README.md");
        assert!(text.lines().count() <= 600, "{class}: longer than 600 lines");
        assert!(
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("elements/{class}.txt")).exists(),
            "{class}: no script in tests/elements"
        );
    }
}

#[test]
fn every_element_is_plain_c_without_warnings() {
    let compilers = ["gcc", "clang", "clang-14"].into_iter().filter(|c| is_there(c)).collect::<Vec<_>>();
    assert!(!compilers.is_empty(), "no C compiler");
    for (file, compiler) in files().iter().flat_map(|f| compilers.iter().map(move |c| (f, c))) {
        let flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"];
        let output = Command::new(compiler).args(flags).arg("-I").arg(elements().join("include")).arg(file).output().unwrap();
        assert!(output.status.success(), "{compiler}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// Members of a structure of click.h: name and bytes.
fn members(header: &str, name: &str) -> Vec<(String, u32)> {
    let start = format!("struct {name} {{");
    let body = header.split_once(&start).and_then(|(_, rest)| rest.split_once("};")).unwrap_or_else(|| panic!("no {start}")).0;
    let bytes = |kind: &str| match kind {
        "u8" => 1,
        "be16" => 2,
        "be32" => 4,
        "mac_t" => 6,
        "in6_t" => 16,
        other => panic!("{other} in {start}"),
    };
    let member = |line: &str| line.trim().split_once(' ').map(|(kind, name)| (name.to_owned(), bytes(kind)));
    body.split(';').filter_map(member).collect()
}

#[test]
fn the_language_has_the_headers_of_the_table() {
    let header = fs::read_to_string(elements().join("include/click.h")).unwrap();
    for (name, table) in [
        ("ether", ethernet::HEADER),
        ("arp", arp::HEADER),
        ("ip", ip::HEADER),
        ("ip6", ip6::HEADER),
        ("udp", udp::HEADER),
        ("tcp", tcp::HEADER),
        ("icmp", icmp::HEADER),
    ] {
        let fields: Vec<_> = table.fields.iter().map(|field| (field.name.to_owned(), field.bytes)).collect();
        assert_eq!(members(&header, name), fields, "struct {name} of click.h, netil::fields");
    }
    let numbers = [
        ("PROTOCOL_ICMP", ip_protocol::ICMP),
        ("PROTOCOL_TCP", ip_protocol::TCP),
        ("PROTOCOL_UDP", ip_protocol::UDP),
        ("PROTOCOL_ICMP6", ip_protocol::ICMP6),
    ];
    for (name, number) in numbers {
        assert!(header.contains(&format!("{name} = {number}")), "{name} of click.h");
    }
}

#[test]
fn the_list_shows_an_element_as_it_is() {
    let list = fs::read_to_string(elements().join("README.md")).unwrap();
    let text = fs::read_to_string(elements().join("Truncate.c")).unwrap();
    assert!(list.contains(text.split_once("*/\n").unwrap().1));
}

/// A pcap file (this machine's byte order, microseconds) of those packets, one a second.
fn capture(packets: &[&[u8]]) -> Vec<u8> {
    let header = [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65535, 1].into_iter().flat_map(u32::to_ne_bytes);
    let record = |(n, p): (usize, &&[u8])| {
        let fields = [n as u32, 5, p.len() as u32, p.len() as u32].into_iter().flat_map(u32::to_ne_bytes);
        fields.chain(p.to_vec()).collect::<Vec<_>>()
    };
    header.chain(packets.iter().enumerate().flat_map(record)).collect()
}

#[test]
fn the_example_runs_as_a_program_of_its_own() {
    let folder = std::env::temp_dir().join(format!("netvm-elements-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let (input, output) = (folder.join("in.pcap"), folder.join("out.pcap"));
    fs::write(&input, capture(&[b"the first packet", b"2", b""])).unwrap();
    let standalone = elements().join("standalone");
    let make = Command::new("make").arg("-C").arg(&standalone).arg(format!("OUT={}", folder.display())).output().unwrap();
    assert!(make.status.success(), "{}", String::from_utf8_lossy(&make.stderr));
    let run = Command::new(folder.join("paint")).args([&input, &output]).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    assert_eq!(String::from_utf8_lossy(&run.stdout), "count.count: 3\npassed.count: 3\n");
    let written = fs::read(&output).unwrap();
    let nanoseconds: Vec<u8> = [0, 5000, 16, 16].into_iter().flat_map(u32::to_ne_bytes).collect();
    assert_eq!(&written[24..40], nanoseconds);
    assert_eq!(written[40..].split_at(16).0, b"the first packet");
    assert_eq!(written.len(), 24 + 3 * 16 + 17);
    fs::remove_dir_all(&folder).unwrap();
}

/// The scripts, by their classes.
fn scripts() -> Vec<(String, Vec<script::Case>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("elements");
    let mut found: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    found.retain(|p| p.extension().is_some_and(|e| e == "txt"));
    found.sort();
    let cases = |p: &PathBuf| script::parse(&fs::read_to_string(p).unwrap()).unwrap_or_else(|e| panic!("{}: {e}", p.display()));
    found.iter().map(|p| (class(p), cases(p))).collect()
}

/// What happens at each step of each case, or why that cannot be said.
type Happened = Result<Vec<script::Happened>, String>;

/// Runs all scripts of those classes and tells what is different.
fn judge(takes: impl Fn(&str) -> bool, run: impl Fn(&str, &[script::Case]) -> Happened) {
    let mut wrong = Vec::new();
    for (class, cases) in scripts().iter().filter(|(class, _)| takes(class)) {
        match run(class, cases) {
            Ok(all) => wrong
                .extend(cases.iter().zip(&all).flat_map(|(case, happened)| script::differences(&format!("{class}.txt"), case, happened))),
            Err(error) => wrong.push(format!("{class}.txt: {error}")),
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn the_fuzz_target_takes_the_library() {
    files().iter().for_each(|file| netvm_tests::element_text(&fs::read(file).unwrap()));
}

#[test]
fn scripts_hold_standalone() {
    let standalone = standalone::Standalone::new(&elements());
    judge(|class| standalone.reads(class), |class, cases| standalone.run(class, cases));
}

/// What netvm makes of the scripts with that engine.
fn hold_on(engine: &str, most: impl Fn(&str) -> usize) {
    let (library, engine) = (Library::of(&[elements()]), engines::find(engine).unwrap());
    let first = |class: &str, cases: &[script::Case]| cases[..cases.len().min(most(class))].to_vec();
    judge(
        |_| true,
        |class, cases| {
            script::run(&library, class, &first(class, cases), engine, engines::Settings { no_cache: true, ..engines::Settings::default() })
                .map_err(|error| error.to_string())
        },
    );
}

#[test]
fn scripts_hold_on_the_interpreter() {
    hold_on("interp", |_| usize::MAX);
}

#[test]
fn scripts_hold_on_machine_code() {
    hold_on("jit", |_| usize::MAX);
}

/// All cases of a class are one function of C, and C compilers take long for large ones: of large
/// classes only the first cases are linked.
#[test]
fn scripts_hold_linked() {
    hold_on("aot", |class| match class {
        "IPRewriter" | "TCPRewriter" | "UDPRewriter" => 1,
        "ARPQuerier" | "ICMPError" | "IPFragmenter" | "IPGWOptions" | "IPAddrRewriter" => 4,
        _ => 12,
    });
}
