//! The standalone build of a configuration, compiled by the system's compiler of C, gives the
//! captures, counts and text that the interpreter gives.

#[path = "../../../tests/needs.rs"]
mod needs;

mod graphs;

use graphs::runtimes::RUNTIMES;
use graphs::{CONFIGURATIONS, Found, capture, filter, placed, reading, run};
use netvm::application::{Application, Reading};
use netvm::engines;
use std::path::{Path, PathBuf};
use std::process::Command;

/// More of them, with what the standalone build does itself: copies that are led back, outputs of
/// queues, several devices' places.
const MORE: [(&str, &str, &[&str]); 6] = [
    (
        "copies that are led back until they were often enough",
        "FromDump(IN, STOP true) -> a :: Counter -> p :: Paint(2) -> t :: Tee(2); t[0] -> p; t[1] -> b :: Counter -> Queue(20000) -> ToDump(OUT0);",
        &["a.count", "b.count"],
    ),
    (
        "a queue that overflows, and one that is emptied by pushing",
        "FromDump(IN, STOP true) -> t :: Tee(3); t[0] -> q :: Queue(2); t[1] -> q; t[2] -> q; q[1] -> o :: Counter -> Queue -> ToDump(OUT1);
         q -> Unqueue -> a :: Counter -> Queue -> u :: Counter -> ToDump(OUT0);",
        &["o.count", "a.count", "u.count"],
    ),
    (
        "packets that traps end, and those whose copies were sent before",
        "FromDump(IN, STOP true) -> a :: Counter -> Strip(30) -> t :: Tee; t[0] -> MarkIPHeader(40) -> DecIPTTL -> b :: Counter -> Queue -> ToDump(OUT0); t[1] -> Strip(40)
           -> c :: Counter -> Queue -> ToDump(OUT1);",
        &["a.count", "b.count", "c.count"],
    ),
    (
        "where packets have texts of lists and expressions",
        "FromDump(IN, STOP true) -> a :: Finder -> b :: Finder(WANTED nowhere) -> Queue -> ToDump(OUT0);",
        &["a.seen", "a.word_at", "a.word_end", "a.literal_at", "a.expression_at", "a.expression_end", "b.seen", "b.word_at"],
    ),
    (
        "an element's names that the header's members, its macros and C have as well",
        "FromDump(IN, STOP true) -> c :: Clash -> Queue -> ToDump(OUT0);",
        &["c.sport", "c.addr", "c.text", "c.errno", "c.data", "c.byte", "c.first"],
    ),
    (
        "handlers of every type",
        "FromDump(IN, STOP true) -> h :: Typed -> Queue -> ToDump(OUT0);",
        &["h.u8_h", "h.u16_h", "h.u32_h", "h.u64_h", "h.i8_h", "h.i16_h", "h.i32_h", "h.i64_h", "h.bool_h", "h.int_h", "h.unsigned_h", "h.size_t_h", "h.uint8_t_h", "h.uint16_t_h", "h.uint32_t_h", "h.uint64_t_h", "h.int8_t_h", "h.int16_t_h", "h.int32_t_h", "h.int64_t_h", "h.be16_h", "h.be32_h", "h.be64_h", "h.mac_t_h", "h.in6_t_h"],
    ),
];

/// Compiles the configuration and runs the program.
fn run_native(text: &str, reads: &[&str], folder: &Path, input: &Path) -> Found {
    let out = folder.join("native");
    let text = placed(text, input, &out);
    let application = Application::read("test.click", &text, &reading()).unwrap_or_else(|e| panic!("{e}"));
    let (file, program) = (folder.join("native.c"), folder.join("program"));
    std::fs::write(&file, application.standalone_text(&reading().elements).unwrap_or_else(|e| panic!("{e}"))).unwrap();
    let flags = ["-O1", "-fwrapv", "-fno-strict-aliasing", "-o"];
    let made = Command::new("cc").args(flags).args([&program, &file]).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let handlers = reads.iter().flat_map(|handler| ["-h", handler]);
    let ended = Command::new(&program).args(handlers).output().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    let counts = values(&said, reads);
    let captures = (0..3).map(|n| std::fs::read(format!("{}{n}", out.display())).ok()).collect();
    Found { captures, counts, nodes: Vec::new(), text: ended.stderr, in_machine_code: 0 }
}

/// What handlers said, in order, each of which may have several lines.
fn values(said: &str, reads: &[&str]) -> Vec<String> {
    let mut rest = said;
    let mut all = Vec::new();
    for (n, handler) in reads.iter().enumerate() {
        let Some(behind) = rest.strip_prefix(&format!("{handler}: ")) else { return all };
        let end = reads.get(n + 1).and_then(|next| behind.find(&format!("\n{next}: "))).map_or(behind.len(), |at| at + 1);
        all.push(behind[..end].trim_end_matches('\n').to_owned());
        rest = &behind[end..];
    }
    all
}

/// Where two files differ, with what there is.
fn difference(found: Option<&[u8]>, wanted: Option<&[u8]>) -> String {
    let (Some(found), Some(wanted)) = (found, wanted) else { return "one is missing".to_owned() };
    let at = found.iter().zip(wanted).take_while(|(a, b)| a == b).count();
    let shown = |file: &[u8]| format!("{:02x?} of {}", &file[at..file.len().min(at + 16)], file.len());
    format!("at {at}: {} instead of {}", shown(found), shown(wanted))
}

/// Text without the line that tells how many packets trapped, which netvm tells elsewhere.
fn printed(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    text.lines().filter(|line| !line.ends_with(" packets trapped")).map(|line| format!("{line}\n")).collect()
}

/// A folder, and in it a capture; nothing where there is no compiler.
fn prepared(name: &str) -> Option<(PathBuf, PathBuf)> {
    if Command::new("cc").arg("--version").output().is_err() {
        needs::missing("a C compiler");
        return None;
    }
    let folder = std::env::temp_dir().join(format!("netvm-native-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let input = folder.join("in.pcap");
    std::fs::write(&input, capture()).unwrap();
    Some((folder, input))
}

#[test]
fn native_builds_do_what_the_interpreter_does() {
    let Some((folder, input)) = prepared("all") else { return };
    let interpreter = engines::find("interp").unwrap();
    let (filter, counts) = filter(400);
    for (name, text, reads) in
        CONFIGURATIONS.into_iter().chain(MORE).chain(RUNTIMES).chain([("a filter of many rules", &filter[..], &counts[..2])])
    {
        // Ports in order: random numbers of standalone builds are others.
        let text = &text.replace("1024-65535 -", "1024-65535# -");
        let wanted = run(text, reads, interpreter, &folder, &input);
        let found = run_native(text, reads, &folder, &input);
        let counts: Vec<&str> = wanted.counts.iter().map(|count| count.trim_end_matches('\n')).collect();
        assert_eq!(found.counts, counts, "{name}: {reads:?}");
        for (n, (found, wanted)) in found.captures.iter().zip(&wanted.captures).enumerate() {
            assert!(found == wanted, "{name}: capture {n} differs, {}", difference(found.as_deref(), wanted.as_deref()));
        }
        assert_eq!(printed(&found.text), printed(&wanted.text), "{name}: text differs");
        assert!(wanted.captures.iter().flatten().any(|file| file.len() > 1000), "{name}: nothing was written");
    }
    let missing = Command::new(folder.join("program")).args(["-h", "nowhere.count", "-h", "c"]).output().unwrap();
    let told = String::from_utf8_lossy(&missing.stderr);
    assert!(missing.status.code() == Some(1) && told.contains("nowhere.count: no such handler\nc: no such handler\n"), "{told}");
    std::fs::remove_dir_all(folder).unwrap();
}

/// The records of a capture.
fn records(file: &[u8]) -> Vec<&[u8]> {
    let (mut rest, mut all) = (&file[24..], Vec::new());
    while let Some(captured) = rest.get(8..12) {
        let (record, behind) = rest.split_at(16 + u32::from_le_bytes(captured.try_into().unwrap()) as usize);
        all.push(record);
        rest = behind;
    }
    all
}

#[test]
fn elements_of_one_device_write_one_capture() {
    let Some((folder, input)) = prepared("device") else { return };
    let output = folder.join("out.pcap");
    let text = "FromDump(IN, STOP true) -> t :: Tee(2); t[0] -> Queue -> ToDevice(out); t[1] -> Queue -> ToDevice(out);";
    run_native(text, &[], &folder, &input);
    let map = format!("out={}", output.display());
    assert!(Command::new(folder.join("program")).arg(map).status().unwrap().success());
    let (wanted, found) = (capture(), std::fs::read(&output).unwrap());
    let (wanted, found) = (records(&wanted), records(&found));
    assert_eq!(found.len(), 2 * wanted.len());
    assert!(found.chunks(2).zip(&wanted).all(|(pair, one)| pair[0] == pair[1] && pair[0][16..] == one[16..]));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn variables_that_native_builds_cannot_share_are_told() {
    let folder = std::env::temp_dir().join(format!("netvm-native-shared-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let told = |declared: &str, arguments: &str| {
        let text = format!("#include <netvm.h>\nELEMENT(E, \"1/1\", \"a/a\");\n{declared}\nvoid packet(int port) {{ emit(0); }}\n");
        std::fs::write(folder.join("E.c"), text).unwrap();
        let text = format!("FromDump(x) -> a :: E{arguments} -> b :: E{arguments} -> Discard;");
        let application = graphs::read(&text, &folder).unwrap_or_else(|e| panic!("{e}"));
        application.standalone_text(std::slice::from_ref(&folder)).err().map_or_else(String::new, |error| error.to_string())
    };
    assert_eq!(told("static u32 n = 4, m;\nstatic u16 all[2] = { 1 };\nSCOPE(all, UNIVERSAL);", ""), "");
    let named = told("static struct two { u32 a, b; } both;\nSCOPE(both, GLOBAL);", "");
    assert!(named.contains("`a :: E`: in the standalone build, what elements have together is a number"), "{named}");
    let beside = told("static u32 n, m;\nSCOPE(m, GLOBAL);", "");
    assert!(beside.contains("declared by itself: `m`"), "{beside}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_native_builds_cannot_have_is_refused_where_it_stands() {
    let refused = |text: &str| {
        let application = Application::read("test.click", text, &Reading::default()).unwrap_or_else(|e| panic!("{e}"));
        application.standalone_text(&[]).expect_err("it is refused").to_string()
    };
    assert!(
        refused("FromDump(x) -> d :: Discard; s :: Script(pause, stop);")
            .contains("`s :: Script`: the standalone build does not have this class")
    );
    assert!(
        refused("f :: FromDump(x, END_CALL d.reset_counts) -> d :: Discard;")
            .contains("`f :: FromDump`: the standalone build does not have END_CALL")
    );
    assert!(refused("FromDump(x) -> Queue(many) -> Discard;").contains("CAPACITY should be a number up to 16777216"));
    assert!(refused("FromDump(x) -> ToDump(out.pcapng);").contains("plain pcap files only"));
}
