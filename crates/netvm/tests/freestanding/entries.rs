//! Commands that fill tables of a VPP plugin: entries of all kinds come and go, and the plugin then
//! does what one does that was built with those entries; what is wrong is refused, and changes
//! nothing.

use super::assembled;
use super::support::{make, pcap, wanted, write};
use netvm::netil::Verified;
use netvm::targets::{self, Options};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Tables of each kind; what is found by the half at 0 and the word at 4 is written from 8 on.
const CODE: &str = "segment .push
.local 0, entry exact
.local 1, entry long
.local 2, entry routes
.local 3, entry rules
.local 4, entry spans
.local 5, entry timed
  pop
  push 0
  w.pload 16
  t.find exact
  locstore 0
  locload 0
  t.valid exact
  j.eq a
  locload 0
  t.load exact, 32, 0
  push 8
  pstore.32
a:
  push 4
  w.pload 32
  w.zext 32, 72
  t.find long
  locstore 1
  locload 1
  t.valid long
  j.eq b
  locload 1
  t.load long, 32, 4
  push 12
  pstore.32
b:
OTHERS
  push 1
  ret
ends
";

/// Looks the word at 4 up.
fn lookup(table: &str, local: u32, to: u32) -> String {
    format!(
        "  push 4\n  w.pload 32\n  t.find {table}\n  locstore {local}\n  locload {local}\n  t.valid {table}\n  j.eq {table}_none\n  \
         locload {local}\n  t.load {table}, 32, 0\n  push {to}\n  pstore.32\n{table}_none:\n"
    )
}

/// A program with these entries, table by table.
fn program(entries: &[Vec<String>]) -> Arc<Verified> {
    let tables = [
        "exact, exact, 16, 4, 24",
        "long, exact, 72, 8, 24",
        "routes, prefix, 32, 4, 24",
        "rules, ternary, 32, 4, 24",
        "spans, range, 32, 4, 24",
        // Packets come 40 ms apart: what would time out is gone when the next one comes.
        "timed, exact, 32, 4, 24, 20000000",
    ];
    let mut text = "segment .tables\n".to_owned();
    for (table, entries) in tables.iter().zip(entries) {
        let _ = writeln!(text, "  .table {table}");
        entries.iter().for_each(|entry| _ = writeln!(text, "    .entry {entry}"));
    }
    let others = lookup("routes", 2, 16) + &lookup("rules", 3, 20) + &lookup("spans", 4, 24) + &lookup("timed", 5, 28);
    assembled(&(text + "ends\n" + &CODE.replace("OTHERS\n", &others)))
}

/// Numbers that look random.
fn numbers(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed;
    move |below| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    }
}

/// Different entries for each table, many of which match the same keys.
fn entries(seed: u64) -> Vec<Vec<String>> {
    let mut random = numbers(seed);
    let mut all = vec![Vec::new(); 6];
    for n in 0..20u64 {
        let (value, word) = (n * 0x0101 + seed, random(256) << 24 | random(4) << 12);
        let mask = u64::from(u32::MAX << (32 - random(33)).min(31));
        let wild = [0xff00_0000, 0xf000_3000, 0x0000_3000, 0x8000_0000][random(4) as usize];
        all[0].push(format!("{}, 0, 0, {value:#010x}", 7 * n));
        all[1].push(format!("{:#x}, 0, 0, {value:#018x}", word + n));
        all[2].push(format!("{:#x}, {mask:#x}, 0, {value:#010x}", word & mask));
        all[3].push(format!("{:#x}, {wild:#x}, {}, {value:#010x}", word & wild, random(4)));
        all[4].push(format!("{word:#x}, {:#x}, {}, {value:#010x}", word + (random(64) << 24), random(4)));
        all[5].push(format!("{word:#x}, 0, 0, {value:#010x}"));
    }
    // Of entries with the same key, mask and priority there is one.
    for table in &mut all {
        let mut seen = std::collections::BTreeSet::new();
        table.retain(|entry| seen.insert(entry.rsplit_once(',').map(|(key, _)| key.to_owned())));
        table.retain(|entry| entry.split(", ").nth(1).is_none_or(|last| last.len() <= 10));
    }
    all
}

fn packets() -> Vec<Vec<u8>> {
    let mut random = numbers(3);
    let packet = |_| [&[0, random(160) as u8, 0, 0, random(256) as u8, 0, random(4) as u8 * 16, random(20) as u8][..], &[0; 52]].concat();
    (0..400).map(packet).collect()
}

fn built(program: &Verified, name: &str) -> PathBuf {
    let vpp = targets::find("vpp").expect("a target");
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("entries-{name}-{}", std::process::id()));
    write(&folder, (vpp.build)(program, &Options { name: "fill".to_owned(), ..Options::default() }).expect("files"));
    std::fs::write(folder.join("in.pcap"), pcap(&packets())).expect("a capture");
    folder
}

fn commands(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("entries.cli")).expect("commands")
}

/// What the plugin does after these commands.
fn run(folder: &Path, commands: &str) -> String {
    std::fs::write(folder.join("commands"), commands).expect("a file");
    make(folder, &["run", "PCAP=in.pcap", "VECTOR=1", "TRY=-c commands"])
}

#[test]
fn entries_come_and_go_by_commands() {
    let (first, second) = (program(&entries(1)), program(&entries(2)));
    let half: Vec<Vec<String>> = entries(2).into_iter().map(|table| table.into_iter().step_by(2).collect()).collect();
    let engine = &netvm::engines::ALL[0];
    let [one, two, three] = [&first, &second, &program(&half)].map(|program| wanted(engine, program, &packets()).expect("packets"));
    assert!(one != two && two != three);
    let (plugin, other, left) = (built(&first, "first"), built(&second, "second"), built(&program(&half), "half"));
    let (added, kept) = (commands(&other), commands(&left));
    assert_eq!(run(&plugin, ""), one);
    assert_eq!(run(&plugin, &commands(&plugin)), one);
    assert_eq!(run(&plugin, &added), two);
    // What half of the entries are not is taken out again, one by one.
    let gone = added.lines().filter(|line| !kept.lines().any(|kept| kept == *line));
    let deletions = gone.map(|line| {
        let mut words: Vec<&str> = line.split(' ').collect();
        (words[2], _) = ("del", words.remove(6));
        words.join(" ") + "\n"
    });
    assert_eq!(run(&plugin, &(added.clone() + &deletions.collect::<String>())), three);
    // Other values in the place of those that are there.
    let changed = added.replace("netvm fill clear\n", "") + &added.replace("netvm fill clear\n", "");
    assert_eq!(run(&plugin, &("netvm fill clear\n".to_owned() + &changed)), two);
    [plugin, other, left].iter().for_each(|folder| std::fs::remove_dir_all(folder).expect("the folder"));
}

/// Wrong commands, and a part of what is said of them.
const WRONG: &[(&str, &str)] = &[
    ("netvm other clear", "expected netvm fill"),
    ("netvm fill enter fill exact 0001 00000001", "expected add, del or clear"),
    ("netvm fill add", "expected ELEMENT TABLE KEY VALUE"),
    ("netvm fill add program exact 0001 00000001 1 2", "expected ELEMENT TABLE KEY VALUE"),
    ("netvm fill del program exact", "expected ELEMENT TABLE KEY"),
    ("netvm fill add element exact 0001 00000001", "no element of that name"),
    ("netvm fill add program table 0001 00000001", "no table of that name"),
    ("netvm fill add program exact 001 00000001", "the key is not"),
    ("netvm fill add program exact 00001 00000001", "the key is not"),
    ("netvm fill add program exact 0x01 00000001", "the key is not"),
    ("netvm fill add program exact 0001/ffff 00000001", "the key is not"),
    ("netvm fill add program routes 0a000000-0b000000 00000001", "the key is not"),
    ("netvm fill add program spans 0a000000/ff000000 00000001", "the key is not"),
    ("netvm fill add program routes 0a000000/ff00000 00000001", "the key is not"),
    ("netvm fill add program exact 0001 0000001", "the value is not"),
    ("netvm fill add program exact 0001 0000000001", "the value is not"),
    ("netvm fill add program exact 0001 0000000g", "the value is not"),
    ("netvm fill add program exact 0001 00000001 1", "a priority is"),
    ("netvm fill add program rules 00000001/000000ff 00000001 -1", "a priority is"),
    ("netvm fill add program rules 00000001/000000ff 00000001 4294967296", "a priority is"),
    ("netvm fill add program routes 0a000000/ff00ff00 00000001", "gaps"),
    ("netvm fill add program spans 0b000000-0a000000 00000001", "ends before it begins"),
    ("netvm fill del program exact ffff", "no such entry"),
    ("netvm fill del program rules 00000001/000000fe 77", "no such entry"),
];

#[test]
fn wrong_commands_change_nothing() {
    let program = program(&entries(1));
    let plugin = built(&program, "wrong");
    let wanted = wanted(&netvm::engines::ALL[0], &program, &packets()).expect("packets");
    let text: String = WRONG.iter().map(|(line, _)| format!("{line}\n")).collect();
    let told = run(&plugin, &text);
    let (said, rest) = (told.lines().take(WRONG.len()), told.lines().skip(WRONG.len()));
    for (n, (said, (line, part))) in said.zip(WRONG).enumerate() {
        assert!(said.starts_with(&format!("line {}: ", n + 1)) && said.contains(part), "{line}: {said}");
    }
    assert!(rest.eq(wanted.lines()));
    // As many as there is room for, and one more; the last one that was there can still be taken
    // out.
    let full: String = (0..24).map(|n| format!("netvm fill add program long {n:018x} {n:016x}\n")).collect();
    let told = run(
        &plugin,
        &format!(
            "netvm fill clear\n{full}netvm fill add program long ffffffffffffffffff 0000000000000000\nnetvm fill del program long 000000000000000017\n"
        ),
    );
    assert!(told.starts_with("line 26: the table is full\nsent"), "{told}");
    std::fs::remove_dir_all(plugin).expect("the folder");
}

/// Commands of the control plane by the names of a P4 program become entries of a plugin that was
/// built without them.
#[test]
fn entries_of_p4_tables() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::env::set_current_dir(&root).expect("the folder");
    let of = |entries: &str| {
        let element = format!("p :: P4(benches/vpp/forward.p4{entries})");
        let text = format!(
            "FromDevice(0) -> [0] {element}; p[0] -> Queue -> ToDevice(0); p[1] -> Queue -> ToDevice(1); p[2] -> Queue -> ToDevice(2); p[3] -> Queue -> ToDevice(3);"
        );
        super::apps::read(&netvm::scripts::scenarios::Config::Text(text), &Default::default())
    };
    let vpp = targets::find("vpp").expect("a target");
    let folders = [("", "bare"), (", ENTRIES benches/vpp/forward.stf", "filled")].map(|(entries, name)| {
        let files = of(entries).build(vpp, &Options { name: "fill".to_owned(), ..Options::default() }).expect("files");
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("entries-p4-{name}-{}", std::process::id()));
        write(&folder, files);
        let packet = |n: u8| [&[2; 12][..], &[8, 0, 0x45, 0, 0, 46, 0, 1, 0, 0, 64, 17, 0, 0, 1, 2, 3, 4, 10, 0, 0, n], &[0; 26]].concat();
        std::fs::write(folder.join("in.pcap"), pcap(&(0..40).map(packet).collect::<Vec<_>>())).expect("a capture");
        folder
    });
    let [bare, filled] = &folders;
    let run = |folder: &Path, commands: &str| {
        std::fs::write(folder.join("commands"), commands).expect("a file");
        make(folder, &["run", "INPUTS=0=in.pcap", "TRY=-c commands"])
    };
    let wanted = run(filled, "");
    assert!(wanted.contains("sent 3 ") && commands(filled).lines().count() > 1000);
    assert!(run(bare, "") != wanted);
    assert_eq!(run(bare, &commands(filled)), wanted);
    folders.iter().for_each(|folder| std::fs::remove_dir_all(folder).expect("the folder"));
}
