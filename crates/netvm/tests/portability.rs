//! One corpus on every engine and every target: what leaves and what memory is left is as with the interpreter, or there is a reason why not.
//! `make portability` runs all of it and writes docs/portability.md; without `NETVM_BLESS=1` only a part runs.

#[path = "freestanding/support.rs"]
mod support;

use netvm::engines::{self, EngineInfo};
use netvm::netil::exec::{Packets, Selection, State};
use netvm::netil::{Verified, asm, verify};
use netvm::targets::{self, Options};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use support::{ran, time_of, trace, tried, wanted};

/// Filters of the corpus.
const FILTERS: &[&str] = &[
    "ip",
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
    "ip6 protochain 6",
    "ether broadcast",
];

/// A program and the packets that it is tried with.
struct Case {
    name: String,
    program: Arc<Verified>,
    packets: Vec<Vec<u8>>,
}

/// What a cell says: the cost where one is counted, or a reason.
type Cell = Result<String, String>;

/// A place where programs run: a line here is a column.
enum Column {
    Engine(&'static EngineInfo),
    Core(&'static targets::Target),
    /// Only built: the kernel's runs are compared in `crates/compiler/tests/ebpf.rs`.
    Built(&'static targets::Target),
}

fn columns() -> Vec<Column> {
    let mut all: Vec<_> = engines::ALL[..2].iter().map(Column::Engine).collect();
    all.extend(engines::forms().map(Column::Engine));
    all.extend(tried().into_iter().map(Column::Core));
    all.extend(targets::find("xdp").map(Column::Built));
    all
}

impl Column {
    fn name(&self) -> &'static str {
        match self {
            Self::Engine(engine) => engine.name,
            Self::Core(target) | Self::Built(target) => target.name,
        }
    }

    fn cell(&self, case: &Case, reference: &str) -> Cell {
        let Case { name, program, packets } = case;
        match self {
            Self::Engine(engine) if engine.name.starts_with("aot") => selected(engine, case, reference),
            Self::Engine(engine) => same(self.name(), name, &wanted(engine, program, packets)?, reference),
            Self::Core(target) => {
                let folder: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
                same(self.name(), name, &ran(target, program, packets, &folder)?, reference)
            }
            Self::Built(target) => {
                let files =
                    (target.build)(program, &Options { name: "p".to_owned(), ..Options::default() }).map_err(|why| why.to_string())?;
                Ok(files[0].about.split(',').next().unwrap_or_default().replace(" instructions", " insns"))
            }
        }
    }
}

fn same(column: &str, name: &str, got: &str, reference: &str) -> Cell {
    for (i, (got, wanted)) in got.lines().zip(reference.lines()).enumerate() {
        assert_eq!(got, wanted, "{name} on {column}: packet {i}");
    }
    assert_eq!(got.lines().count(), reference.lines().count(), "{name} on {column}");
    Ok("same".to_owned())
}

/// Compiled C is for filters: verdicts.
fn selected(engine: &EngineInfo, case: &Case, reference: &str) -> Cell {
    if !case.program.is_filter() {
        return Err("compiled C of one program alone is for filters".to_owned());
    }
    let mut made = engine.make(Arc::clone(&case.program), engines::Settings::default()).map_err(|why| why.to_string())?;
    let frames: Vec<&[u8]> = case.packets.iter().map(Vec::as_slice).collect();
    let wire_len: Vec<u32> = frames.iter().map(|frame| frame.len() as u32).collect();
    let packets = Packets { frames: &frames, wire_len: &wire_len, time_ns: &(0..frames.len()).map(time_of).collect::<Vec<_>>() };
    let (mut out, mut state) = (Selection::default(), State::plain(&case.program).map_err(|why| why.to_string())?);
    made.select(&packets, &mut state, &mut out);
    for (i, line) in reference.lines().take(frames.len()).enumerate() {
        assert_eq!(out.get(i), line.starts_with("sent"), "{} on {}: packet {i}", case.name, engine.name);
    }
    Ok("same".to_owned())
}

fn filters() -> impl Iterator<Item = Case> {
    FILTERS.iter().map(|text| {
        let mut filter = netvm::Filter::new(text, &engines::ALL[0]).expect("a filter");
        let program = Arc::clone(&filter.prepare(netvm::io::LinkType::EN10MB).expect("a program").program);
        Case { name: format!("filter `{text}`"), program, packets: trace() }
    })
}

/// NetIL of `tests/filetests/run`, each case with its own packets and a trace behind them.
fn modules() -> Vec<Case> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/filetests/run");
    let mut files: Vec<PathBuf> = std::fs::read_dir(directory).expect("the folder").map(|e| e.expect("a file").path()).collect();
    files.retain(|p| p.extension().is_some_and(|e| e == "netil"));
    files.sort();
    let mut cases = Vec::new();
    for file in files {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&file).expect("text");
        for part in text.split("; case: ").skip(1) {
            let (name, body) = part.split_once('\n').expect("a name");
            let own = body.lines().filter_map(|line| line.strip_prefix("; packet:")).map(bytes);
            let packets = own.chain(trace().into_iter().take(40)).collect();
            let Ok(module) = asm::assemble(body, "case.netil") else { continue };
            let Ok(program) = verify(module) else { continue };
            cases.push(Case { name: format!("{stem}: {}", name.trim()), program: Arc::new(program), packets });
        }
    }
    cases
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(&String::from_utf8_lossy(pair), 16).expect("digits");
    digits.chunks(2).map(byte).collect()
}

#[test]
fn the_corpus_does_the_same_everywhere() {
    let all = std::env::var_os("NETVM_BLESS").is_some_and(|v| v == "1");
    let columns = columns();
    let (mut rows, mut reasons) = (String::new(), Vec::<String>::new());
    let cases: Vec<Case> = filters().chain(modules()).collect();
    assert!(cases.len() >= 40, "{} programs", cases.len());
    let mut count = 0;
    for case in cases.iter().step_by(if all { 1 } else { 9 }) {
        let Ok(reference) = wanted(&engines::ALL[0], &case.program, &case.packets) else { continue };
        count += 1;
        let _ = write!(rows, "| {} |", case.name.replace('|', "\\|"));
        for column in &columns {
            let _ = match column.cell(case, &reference) {
                Ok(text) => write!(rows, " {text} |"),
                Err(why) => write!(rows, " ({}) |", noted(&mut reasons, column.name(), &why)),
            };
        }
        rows += "\n";
    }
    assert!(!all || count >= 40, "{count} programs ran");
    if all {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/portability.md");
        std::fs::write(file, document(&columns, &rows, &reasons, count)).expect("the document");
    }
}

/// The number of a reason.
fn noted(reasons: &mut Vec<String>, column: &str, why: &str) -> usize {
    // Places differ from program to program: a reason is what comes after them.
    let why = why.rsplit(".push instruction").next().unwrap_or(why).replace('|', "\\|");
    let reason = if why.contains(column) || column.starts_with("aot") { why } else { format!("{column}: {why}") };
    reasons.iter().position(|r| *r == reason).unwrap_or_else(|| {
        reasons.push(reason);
        reasons.len() - 1
    }) + 1
}

fn document(columns: &[Column], rows: &str, reasons: &[String], count: usize) -> String {
    let names: Vec<&str> = columns.iter().map(Column::name).collect();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    let mut text = String::from("# Portability\n\n");
    let _ = writeln!(
        text,
        "{count} programs on every engine and target that the machine had on which `make portability` wrote this page. `same` means: each packet ended as with the interpreter, by the\nsame port with the same bytes, or for the same reason at the same instruction, and data memory was the same afterwards (columns `aot-`: the verdict of each packet). Foreign processors ran in QEMU's\nuser emulation. For `xdp` the cell has the number of eBPF instructions; the kernel's runs are compared in `crates/compiler/tests/ebpf.rs`. Numbers in brackets are reasons, below.\n"
    );
    let _ = writeln!(text, "| program | {} |\n|---{}|", names.join(" | "), "|---".repeat(names.len()));
    text += rows;
    text += "\n## Reasons\n\n";
    for (i, reason) in reasons.iter().enumerate() {
        let _ = writeln!(text, "{}. {reason}", i + 1);
    }
    text
}
