//! Rules of the repository as tests: which crate may know which, where unsafe code may be, how a
//! file begins and how long it gets, how long ARCHITECTURE.md gets, and that links in Markdown lead
//! somewhere.

use std::fs;
use std::path::{Path, PathBuf};

/// Which crates each crate may depend on; data flows one way (ARCHITECTURE.md).
const EDGES: &[(&str, &[&str])] = &[
    ("crates/netil", &[]),
    ("crates/frontends", &["netil"]),
    ("crates/compiler", &["netil"]),
    ("crates/jit", &["compiler", "netil"]),
    ("crates/aot", &["compiler", "netil"]),
    ("crates/rings", &[]),
    ("crates/runtime", &["netil"]),
    ("crates/p4", &["frontends", "netil"]),
    ("crates/netvm", &["aot", "compiler", "frontends", "jit", "machine", "netil", "p4", "rings", "runtime"]),
    ("crates/machine", &["compiler", "netil"]),
    ("crates/capi", &["netvm"]),
    ("crates/p4runtime", &["netvm"]),
    ("crates/cli", &["machine", "netvm", "p4runtime"]),
    ("tests", &["compiler", "frontends", "jit", "netil", "netvm", "netvm-cli", "p4", "runtime"]),
    ("benches", &["netvm", "rings"]),
    ("xtask", &[]),
];
/// Parts of crates, in the order in which they may know each other: each only those before it in
/// its list.
const PARTS: &[(&str, &[&str])] = &[("crates/compiler/src", &["mir", "analysis", "passes", "vector", "cluster", "backends"])];
/// Words that are no terms of the field, which files and types of these crates are not named after.
const PRIVATE: &[&str] = &[
    "kin", "ways", "twins", "likely", "spared", "lists", "counts", "own", "kept", "sends", "windows", "cells", "echoes", "apart", "usual",
];
/// Where [`PRIVATE`] holds.
const TERMS: &[&str] = &["crates/compiler/src", "crates/jit/src", "crates/aot/src"];
/// Such words, which files and types of no crate are named after.
const PRIVATE_EVERYWHERE: &[&str] =
    &["course", "along", "turns", "merging", "around", "serving", "taker", "board", "whole", "ahead", "native"];
/// Names that say too little for a type: each is the name of one at most.
const VAGUE: &[&str] = &["Place", "Source", "Plan", "Shape", "Way"];
/// The most columns of a line of a comment that is neither a table nor text as it is.
const MOST_COLUMNS: usize = 100;
/// Names of engines.
const ENGINES: &[&str] = &["interp", "jit", "aot"];
/// Crates that depend on nothing at all.
const ALONE: &[&str] = &["crates/netil"];
/// Crates that may contain unsafe code.
const UNSAFE: &[&str] = &["crates/aot", "crates/capi", "crates/jit", "benches"];
/// The parts of other crates that may: their roots deny it, and these alone allow it.
const UNSAFE_PARTS: &[&str] = &["crates/runtime/src/io/sys/"];
/// Files that may be long because they are tables.
const TABLES: &[&str] = &[];
/// The most lines of any other file.
const MAX_LINES: usize = 600;
/// The most places where an error is a text alone: where nobody decides by it, such as options and
/// lines that are read for people.
const MOST_TEXT_ERRORS: usize = 60;
/// The most words of the page that people who change netvm read first, each with a letter or digit.
const MOST_WORDS: usize = 4000;
/// Where the code is.
const CODE: &[&str] = &["crates", "xtask", "tests", "benches", "fuzz"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// All files under a folder with that ending, build products left out.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let hidden = name.to_string_lossy().starts_with('.') || name == "target";
        match path.is_dir() {
            true if !hidden => found.extend(files(&path, ending)),
            false if path.to_string_lossy().ends_with(ending) => found.push(path),
            _ => {}
        }
    }
    found.sort();
    found
}

/// Rust files with their path from the root and their text.
fn sources() -> Vec<(String, String)> {
    let root = root();
    let paths = CODE.iter().flat_map(|folder| files(&root.join(folder), ".rs"));
    paths.map(|p| (p.strip_prefix(&root).unwrap().to_string_lossy().into_owned(), fs::read_to_string(&p).unwrap())).collect()
}

fn manifest(folder: &str) -> toml::Table {
    fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap().parse().unwrap()
}

fn dependencies(manifest: &toml::Table) -> Vec<String> {
    let table = |name: &str| manifest.get(name).and_then(toml::Value::as_table).cloned().unwrap_or_default();
    table("dependencies").into_iter().chain(table("build-dependencies")).map(|(name, _)| name).collect()
}

fn none(wrong: Vec<String>) {
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn every_member_is_listed() {
    let root = root();
    let mut members: Vec<_> =
        fs::read_dir(root.join("crates")).unwrap().map(|e| format!("crates/{}", e.unwrap().file_name().display())).collect();
    members.extend(["tests", "benches", "xtask"].map(String::from));
    members.retain(|m| root.join(m).join("Cargo.toml").exists());
    none(members.into_iter().filter(|m| !EDGES.iter().any(|(c, _)| c == m)).map(|m| format!("{m} has no row in EDGES")).collect());
}

#[test]
fn crates_know_only_those_below_them() {
    let ours: Vec<String> = manifest("")["workspace"]["dependencies"]
        .as_table()
        .unwrap()
        .iter()
        .filter(|(_, value)| value.get("path").is_some())
        .map(|(name, _)| name.clone())
        .collect();
    let mut wrong = Vec::new();
    for (folder, allowed) in EDGES.iter().filter(|(f, _)| root().join(f).exists()) {
        let found = dependencies(&manifest(folder));
        let internal = found.iter().filter(|d| ours.contains(d));
        wrong.extend(internal.filter(|d| !allowed.contains(&d.as_str())).map(|d| format!("{folder} must not depend on {d}")));
        if ALONE.contains(folder) && !found.is_empty() {
            wrong.push(format!("{folder} must not depend on anything: {found:?}"));
        }
    }
    none(wrong);
}

#[test]
fn parts_know_only_those_before_them() {
    let mut wrong = Vec::new();
    for (folder, parts) in PARTS {
        for (at, part) in parts.iter().enumerate() {
            let of_part = |path: &str| path.starts_with(&format!("{folder}/{part}/")) || path == format!("{folder}/{part}.rs");
            for (path, text) in sources().iter().filter(|(path, _)| of_part(path)) {
                let code = text.lines().enumerate().map(|(n, line)| (n, line.split("//").next().unwrap_or_default()));
                let knows = |line: &str| parts[at + 1..].iter().find(|later| line.contains(&format!("crate::{later}"))).copied();
                wrong.extend(code.filter_map(|(n, line)| Some(format!("{path}:{}: {part} must not know {}", n + 1, knows(line)?))));
            }
        }
    }
    none(wrong);
}

/// The names of the types that a text defines.
fn types(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let line = line.trim_start();
        let line = match line.strip_prefix("pub(") {
            Some(rest) => rest.split_once(") ")?.1,
            None => line.strip_prefix("pub ").unwrap_or(line),
        };
        let rest = ["struct ", "enum ", "trait ", "type "].iter().find_map(|kind| line.strip_prefix(kind))?;
        rest.split(|c: char| !c.is_alphanumeric()).next()
    })
}

#[test]
fn files_and_types_are_named_in_the_terms_of_the_field() {
    let mut wrong = Vec::new();
    for (path, text) in sources().iter().filter(|(path, _)| path.starts_with("crates/") && path.contains("/src/")) {
        let own = if TERMS.iter().any(|folder| path.starts_with(folder)) { PRIVATE } else { &[] };
        let is_private = |word: &str| own.contains(&word) || PRIVATE_EVERYWHERE.contains(&word);
        let stem = Path::new(path).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if is_private(&stem) {
            wrong.push(format!("{path} is named after no term of the field"));
        }
        wrong.extend(types(text).filter(|name| is_private(&name.to_lowercase())).map(|name| format!("{path}: a type is named {name}")));
    }
    none(wrong);
}

#[test]
fn names_that_say_little_are_those_of_one_type_at_most() {
    let all = sources();
    let of = |name: &str| all.iter().filter(|(_, text)| types(text).any(|of| of == name)).map(|(path, _)| path.clone()).collect::<Vec<_>>();
    none(VAGUE.iter().map(|name| (name, of(name))).filter(|(_, of)| of.len() > 1).map(|(name, of)| format!("{name}: {of:?}")).collect());
}

#[test]
fn comments_are_narrow_and_say_their_subject() {
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let mut as_it_is = false;
        for (n, line) in text.lines().enumerate().filter(|(_, line)| line.trim_start().starts_with("//")) {
            let words = line.trim_start().trim_start_matches(['/', '!']).trim_start();
            as_it_is ^= words.starts_with("```");
            if line.chars().count() > MOST_COLUMNS && !as_it_is && !words.starts_with('|') {
                wrong.push(format!("{path}:{}: over {MOST_COLUMNS} columns", n + 1));
            }
            if words.starts_with("The same ") && line.trim_start().starts_with("///") {
                wrong.push(format!("{path}:{}: it does not say what it is about", n + 1));
            }
        }
    }
    none(wrong);
}

/// What an engine does is asked of its row.
#[test]
fn engines_are_not_compared_by_name() {
    let mut wrong = Vec::new();
    let product = |path: &str| path.starts_with("crates/") && path.contains("/src/") && path != "crates/netvm/src/engines.rs";
    for (path, text) in sources().iter().filter(|(path, _)| product(path)) {
        let compares = |line: &str| {
            let named = ENGINES.iter().any(|name| ["==", "!="].iter().any(|op| line.contains(&format!("{op} \"{name}\""))));
            named || ["engine.name ==", "engine.name !=", "engine.name() ==", "engine.name() !="].iter().any(|text| line.contains(text))
        };
        wrong.extend(text.lines().enumerate().filter(|(_, l)| compares(l)).map(|(n, l)| format!("{path}:{}: {}", n + 1, l.trim())));
    }
    none(wrong);
}

/// How often a piece of code has `Result<_, String>`.
fn text_errors(code: &str) -> usize {
    let inner = |rest: &str| {
        let mut depth = 1;
        let end = rest.bytes().zip([b' '].into_iter().chain(rest.bytes())).position(|(byte, before)| {
            depth += i32::from(b"<([{".contains(&byte));
            depth -= i32::from(b")]}".contains(&byte) || byte == b'>' && before != b'-');
            depth == 0
        });
        rest[..end.unwrap_or(0)].to_owned()
    };
    let last = |inner: &String| inner.trim_end().trim_end_matches(',').ends_with(", String");
    code.split("Result<").skip(1).map(inner).filter(last).count()
}

#[test]
fn errors_that_somebody_decides_by_have_kinds() {
    assert_eq!(text_errors("fn a() -> Result<Vec<String>, String>; Result<Map<String, String>, Error>; Result<fn() -> u8, String>"), 2);
    let is_test = |path: &str| path.split('/').nth(2) != Some("src") || path.contains("/tests/") || path.ends_with("/tests.rs");
    let all = sources().into_iter().filter(|(path, _)| path.starts_with("crates/") && !is_test(path));
    let count = |text: String| text_errors(text.split("#[cfg(test)]\nmod ").next().unwrap_or_default());
    let found: Vec<(String, usize)> = all.map(|(path, text)| (path, count(text))).filter(|(_, count)| *count > 0).collect();
    let sum: usize = found.iter().map(|(_, count)| count).sum();
    assert!(sum <= MOST_TEXT_ERRORS, "{sum} errors are text alone, more than {MOST_TEXT_ERRORS}: {found:?}");
}

#[test]
fn crate_roots_forbid_unsafe_code() {
    let forbids = "#![forbid(unsafe_code)]";
    let denies = "#![deny(unsafe_code)]";
    let is_root = |path: &str| ["src/lib.rs", "src/main.rs", "tests/lib.rs"].iter().any(|r| path.ends_with(r));
    let free = sources().into_iter().filter(|(path, _)| is_root(path) && !UNSAFE.iter().any(|c| path.starts_with(c)));
    let asked = |path: &str| {
        let root = path.trim_end_matches("lib.rs");
        if UNSAFE_PARTS.iter().any(|part| part.starts_with(root)) { denies } else { forbids }
    };
    let wrong = free.filter(|(path, text)| !text.contains(asked(path)));
    none(wrong.map(|(path, _)| format!("{path} lacks {}", asked(&path))).collect());
}

#[test]
fn unsafe_code_is_where_it_may_be() {
    let word = concat!("uns", "afe");
    let mut wrong = Vec::new();
    let may = |path: &str| UNSAFE.iter().chain(UNSAFE_PARTS).any(|part| path.starts_with(part));
    for (path, text) in sources().iter().filter(|(path, _)| !may(path)) {
        let code = text.lines().map(|line| line.split("//").next().unwrap_or_default());
        let hit = |line: &str| {
            ["{", " {", " fn", " impl", " extern", "(no_mangle", "_code,"].iter().any(|then| line.contains(&format!("{word}{then}")))
        };
        wrong.extend(code.enumerate().filter(|(_, line)| hit(line)).map(|(n, _)| format!("{path}:{}: {word} code", n + 1)));
    }
    none(wrong);
}

#[test]
fn files_have_a_header_and_an_end() {
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        if !text.starts_with("//!") {
            wrong.push(format!("{path} does not begin with what it is for (//!)"));
        }
        let lines = text.lines().count();
        if lines > MAX_LINES && !TABLES.contains(&path.as_str()) {
            wrong.push(format!("{path} has {lines} lines; split it, or list it as a table"));
        }
    }
    none(wrong);
}

#[test]
fn nothing_is_left_undone() {
    let words = [
        concat!("to", "do!("),
        concat!("unimpl", "emented!("),
        concat!("d", "bg!("),
        concat!("FIX", "ME"),
        concat!("XX", "X:"),
        concat!("TO", "DO"),
    ];
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        let lines = text.lines().enumerate();
        wrong.extend(lines.filter(|(_, l)| words.iter().any(|w| l.contains(w))).map(|(n, l)| format!("{path}:{}: {}", n + 1, l.trim())));
    }
    none(wrong);
}

#[test]
fn the_page_on_the_architecture_is_short() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let words = text.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count();
    assert!(words < MOST_WORDS, "ARCHITECTURE.md has {words} words; it must have fewer than {MOST_WORDS}");
}

#[test]
fn links_lead_somewhere() {
    let root = root();
    let mut pages =
        fs::read_dir(&root).unwrap().map(|e| e.unwrap().path()).filter(|p| p.extension().is_some_and(|e| e == "md")).collect::<Vec<_>>();
    pages.extend(["docs", "benches", "fuzz", "tests", "crates"].iter().flat_map(|folder| files(&root.join(folder), ".md")));
    let mut wrong = Vec::new();
    for page in pages {
        let text = fs::read_to_string(&page).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let target = link.split('#').next().unwrap_or_default();
            let outside = target.is_empty() || target.contains("://") || target.contains(' ');
            if !outside && !page.parent().unwrap().join(target).exists() {
                wrong.push(format!("{}: {link}", page.display()));
            }
        }
    }
    none(wrong);
}
