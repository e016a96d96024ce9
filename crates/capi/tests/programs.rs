//! The library as C programs have it: installed by `scripts/install-lib`, found by `pkg-config`
//! where that is there, linked shared and static, by a C compiler that warns of everything.
//! Skipped, and says so, without a C compiler.

#[path = "../../../tests/needs.rs"]
mod needs;

use netvm::application::{Application, Lent, Reading, Settings, Silent};
use netvm::io::{LinkType, synth};
use netvm::{Filter, engines};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// The flags for strict compilation: programs of any age and temper include the header.
const STRICT: [&str; 6] = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wshadow", "-Werror"];
/// The most bytes of a packet in the test's capture: long ones are cut.
const SNAPLEN: usize = 200;

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn has(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|out| out.status.success())
}

/// What a command prints; it must succeed.
fn printed(command: &mut Command) -> String {
    let out = command.output().unwrap();
    assert!(out.status.success(), "{command:?}: {}\n{}", out.status, String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap().trim_end().to_owned()
}

/// Where the library is installed; none without a C compiler.
fn installed() -> Option<&'static Path> {
    static PREFIX: LazyLock<Option<PathBuf>> = LazyLock::new(|| has("cc").then(install));
    if PREFIX.is_none() {
        needs::missing("a C compiler (cc)");
    }
    PREFIX.as_deref()
}

fn install() -> PathBuf {
    let prefix = Path::new(env!("CARGO_TARGET_TMPDIR")).join("capi");
    let _ = std::fs::remove_dir_all(&prefix);
    // The library is built for this test's own use, beside it.
    let built = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    printed(Command::new("sh").arg(here("../../scripts/install-lib")).args([&built, &prefix]).env_remove("DESTDIR").env_remove("LIBDIR"));
    prefix
}

fn pkg_config(prefix: &Path, arguments: &[&str]) -> String {
    printed(Command::new("pkg-config").args(arguments).arg("netvm").env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig")))
}

/// The flags that compile and link a program, from `pkg-config` if it is there.
fn flags(prefix: &Path) -> Vec<String> {
    let by_hand = || format!("-I{0}/include -L{0}/lib -lnetvm", prefix.display());
    let text = if has("pkg-config") { pkg_config(prefix, &["--cflags", "--libs"]) } else { by_hand() };
    text.split_whitespace().map(str::to_owned).collect()
}

/// The flags that link the static library, as `netvm.pc` has them.
fn static_flags(prefix: &Path) -> Vec<String> {
    let pc = std::fs::read_to_string(prefix.join("lib/pkgconfig/netvm.pc")).unwrap();
    let private = pc.lines().find_map(|line| line.strip_prefix("Libs.private: ")).unwrap();
    let own = [format!("-I{}/include", prefix.display()), prefix.join("lib/libnetvm.a").display().to_string()];
    own.into_iter().chain(private.split_whitespace().map(str::to_owned)).collect()
}

fn compile(source: &str, program: &Path, flags: &[String]) {
    printed(Command::new("cc").args(STRICT).arg(here(source)).args(flags).arg("-o").arg(program));
}

fn run(prefix: &Path, program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env("LD_LIBRARY_PATH", prefix.join("lib")).env("NETVM_NO_CACHE", "1");
    command
}

/// A capture with packets that were cut short, in this byte order or the other.
fn capture(packets: &[Vec<u8>], swapped: bool) -> Vec<u8> {
    let word = |x: u32| if swapped { x.swap_bytes() } else { x }.to_ne_bytes();
    let version = if swapped { 0x0200_0400_u32.to_be() } else { 0x0004_0002_u32.to_le() };
    let mut file = word(0xa1b2_c3d4).to_vec();
    file.extend(version.to_ne_bytes());
    file.extend([0, 0, SNAPLEN as u32, 1].map(word).concat());
    for packet in packets {
        let kept = packet.len().min(SNAPLEN);
        file.extend([0, 0, kept as u32, packet.len() as u32].map(word).concat());
        file.extend(&packet[..kept]);
    }
    file
}

fn wanted(expression: &str, packets: &[Vec<u8>]) -> u64 {
    let mut filter = Filter::new(expression, &engines::ALL[0]).unwrap();
    let mut matches = |p: &Vec<u8>| filter.matches(LinkType::EN10MB, &p[..p.len().min(SNAPLEN)], p.len() as u32).unwrap();
    packets.iter().map(|p| u64::from(matches(p))).sum()
}

#[test]
fn the_interface_is_what_c_programs_expect() {
    let Some(prefix) = installed() else { return };
    let program = prefix.join("abi");
    compile("tests/abi.c", &program, &flags(prefix));
    assert_eq!(printed(run(prefix, &program).arg(here("tests"))), "");
}

#[test]
fn the_example_counts_what_netvm_counts() {
    let Some(prefix) = installed() else { return };
    let program = prefix.join("count");
    compile("examples/count.c", &program, &flags(prefix));
    let packets: Vec<_> = synth::mixed_trace(7, 5_000).into_iter().map(|(_, frame)| frame).collect();
    for (name, swapped) in [("native.pcap", false), ("swapped.pcap", true)] {
        let file = prefix.join(name);
        std::fs::write(&file, capture(&packets, swapped)).unwrap();
        for expression in ["", "tcp port 443", "greater 1000", "ip6 or net 10.0.0.0/8", "tcp[tcpflags] & tcp-syn != 0"] {
            let wanted = wanted(expression, &packets);
            assert!(wanted > 0, "{expression}");
            for engine in ["auto", "interp", "jit", "aot"] {
                let found = printed(run(prefix, &program).arg(expression).arg(&file).arg(engine));
                assert_eq!(found, wanted.to_string(), "{expression:?} with {engine} in {name}");
            }
        }
    }
}

#[test]
fn the_example_of_an_application_forwards() {
    let Some(prefix) = installed() else { return };
    let program = prefix.join("hops");
    compile("examples/hops.c", &program, &flags(prefix));
    let told = printed(run(prefix, &program).args(["64", "1", "2"]));
    assert_eq!(told, "forwarded with 63\nforwarded with 1\nexpired: 1");
}

#[test]
fn the_example_of_a_coprocessor_counts() {
    let Some(prefix) = installed() else { return };
    let program = prefix.join("tally");
    compile("examples/tally.c", &program, &flags(prefix));
    let told = printed(run(prefix, &program).arg(here("examples/tally.netil")).args(["7", "7", "8", "7", "9", "8", "8", "7"]));
    assert_eq!(told, "passed: 7\npassed: 7\npassed: 8\npassed: 9\npassed: 8");
}

#[test]
fn coprocessors_see_packet_and_annotations() {
    let Some(prefix) = installed() else { return };
    let program = prefix.join("views");
    compile("tests/views.c", &program, &flags(prefix));
    for engine in ["interp", "jit", "aot"] {
        let told = printed(run(prefix, &program).arg(here("tests/views.netil")).arg(engine));
        assert_eq!(told, "0: 255 255\n1: 60 7\n2: 60 7", "{engine}");
    }
}

#[test]
fn the_example_of_stages_adds_up() {
    let Some(prefix) = installed() else { return };
    let program = prefix.join("abc");
    compile("examples/abc.c", &program, &flags(prefix));
    let told = printed(run(prefix, &program).arg("100000"));
    let sum: u64 = (1..=100_000_u64).map(|n| n * n).sum();
    assert_eq!(told, format!("b: 100000 packets, c: 100000 packets, sum {sum}, in order"));
}

/// An Ethernet frame with an IPv4 header and nothing else, as `examples/router.c` makes it.
fn frame(to: &str) -> Vec<u8> {
    let mut ip: Vec<u8> = vec![0x45, 0, 0, 20, 0, 1, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1];
    ip.extend(to.parse::<Ipv4Addr>().unwrap().octets());
    let sum: u32 = ip.chunks(2).map(|two| u32::from(u16::from_be_bytes([two[0], two[1]]))).sum();
    let fold = |sum: u32| (sum & 0xffff) + (sum >> 16);
    ip[10..12].copy_from_slice(&(!fold(fold(sum)) as u16).to_be_bytes());
    [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0x99, 8, 0].into_iter().chain(ip).collect()
}

/// What an application in a file makes of packets to these addresses, as `examples/router.c` prints
/// it.
fn routed(file: &Path, routes: &Path, to: &[&str]) -> String {
    let (name, text) = (file.display().to_string(), std::fs::read_to_string(file).unwrap());
    let parameters = [("ROUTES".to_owned(), routes.display().to_string())].into();
    let reading = Reading { parameters, elements: vec![file.with_file_name("elements")], ..Reading::default() };
    let application = Application::read(&name, &text, &reading).unwrap();
    let mut router = application.embed(&engines::AUTO, engines::Settings::default(), Settings::default(), Box::new(Silent)).unwrap();
    for bytes in to.iter().map(|to| frame(to)) {
        let packet = Lent { bytes: &bytes, wire_len: bytes.len() as u32, time_ns: 0, link: LinkType::EN10MB };
        assert!(router.push("in", packet).unwrap());
    }
    router.run();
    let count = |output: &str| format!("{output}: {}", router.take(output, |_| true).unwrap());
    ["eth0", "eth1", "eth2", "eth3"].map(count).join("\n")
}

#[test]
fn the_example_of_a_router_sends_what_netvm_sends() {
    let Some(prefix) = installed() else { return };
    let program = prefix.join("router");
    compile("examples/router.c", &program, &flags(prefix));
    let (file, routes) = (here("../../apps/router/forward.click"), here("../../apps/router/routes.txt"));
    let to = ["1.2.3.4", "2.2.3.4", "4.5.3.4", "4.4.3.4", "4.4.4.5", "4.4.4.4", "1.9.9.9", "200.2.3.4"];
    let told = printed(run(prefix, &program).args([&file, &routes]).args(to));
    assert_eq!(told, routed(&file, &routes, &to));
    assert_eq!(told, "eth0: 3\neth1: 2\neth2: 1\neth3: 1");
    let out = run(prefix, &program).args([&file.with_file_name("no.click"), &routes]).output().unwrap();
    assert_eq!(out.status.code(), Some(1));
    assert!(String::from_utf8(out.stderr).unwrap().ends_with("/no.click: No such file or directory (os error 2)\n"));
}

#[test]
fn the_example_says_what_is_wrong() {
    let Some(prefix) = installed() else { return };
    let program = prefix.join("count-wrong");
    compile("examples/count.c", &program, &flags(prefix));
    let file = prefix.join("empty.pcap");
    std::fs::write(&file, capture(&[], false)).unwrap();
    let out = run(prefix, &program).arg("prot 80").arg(&file).output().unwrap();
    assert_eq!(out.status.code(), Some(2));
    assert!(String::from_utf8(out.stderr).unwrap().starts_with("error: unknown word `prot`\n"));
    assert_eq!(printed(run(prefix, &program).arg("tcp").arg(&file)), "0");
}

#[test]
fn the_static_library_needs_what_netvm_pc_says() {
    let Some(prefix) = installed() else { return };
    let program = prefix.join("abi-static");
    compile("tests/abi.c", &program, &static_flags(prefix));
    assert_eq!(printed(Command::new(&program).arg(here("tests"))), "");
}

#[test]
fn programs_are_linked_without_any_shared_library() {
    let Some(prefix) = installed() else { return };
    if !has("pkg-config") {
        needs::missing("pkg-config");
        return;
    }
    let program = prefix.join("abi-alone");
    let flags = pkg_config(prefix, &["--cflags", "--libs", "--static"]);
    let all: Vec<String> = ["-static"].into_iter().chain(flags.split_whitespace()).map(str::to_owned).collect();
    compile("tests/abi.c", &program, &all);
    // Compiled C is loaded as shared libraries, which programs without a loader cannot; they go on
    // without.
    assert_eq!(printed(Command::new(&program).arg(here("tests")).env("NETVM_NO_CACHE", "1")), "");
}

#[test]
fn the_shared_library_has_its_name_and_no_other_symbols() {
    let Some(prefix) = installed() else { return };
    if !has("nm") || !has("objdump") {
        needs::missing("nm or objdump");
        return;
    }
    let library = prefix.join("lib/libnetvm.so");
    let symbols = printed(Command::new("nm").args(["-D", "--defined-only", "--format=posix"]).arg(&library));
    let names: Vec<_> = symbols.lines().filter_map(|line| line.split(' ').next()).collect();
    assert!(names.contains(&"netvm_filter_select"));
    assert!(names.iter().all(|name| name.starts_with("netvm_")), "{names:?}");
    let (major, minor) = (env!("CARGO_PKG_VERSION_MAJOR"), env!("CARGO_PKG_VERSION_MINOR"));
    let abi = if major == "0" { format!("0.{minor}") } else { major.to_owned() };
    let headers = printed(Command::new("objdump").arg("-p").arg(&library));
    assert!(headers.lines().any(|line| line.trim_start().starts_with("SONAME") && line.ends_with(&format!(" libnetvm.so.{abi}"))));
    assert!(prefix.join(format!("lib/libnetvm.so.{abi}")).exists());
}

#[test]
fn pkg_config_knows_the_version() {
    let Some(prefix) = installed() else { return };
    if !has("pkg-config") {
        needs::missing("pkg-config");
        return;
    }
    assert_eq!(pkg_config(prefix, &["--modversion"]), env!("CARGO_PKG_VERSION"));
}

#[test]
fn c_plus_plus_takes_the_header() {
    if !has("c++") {
        needs::missing("a C++ compiler (c++)");
        return;
    }
    let strict = ["-std=c++11", "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-xc++"];
    printed(Command::new("c++").args(strict).arg(here("include/netvm.h")));
}
