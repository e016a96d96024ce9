//! `netvm elements` and `netvm test`: element classes and their scripts.

use super::tools::{Dir, run};

const ADD: &str = "/*\n * Add(N) -- adds to the first byte\n */\n#include <netvm.h>\nELEMENT(Add, \"1/1\", \"a/a\");\nPARAM(u8, n, \"N\", REQUIRED);\n\
                   void packet(int port)\n{\n    *header(u8, 0) += n;\n    emit(0);\n}\n";

#[test]
fn scripts_are_run_on_every_engine() {
    let dir = Dir::new("scripts");
    dir.write("Add.c", ADD);
    let script = dir.write("Add.txt", "case one\nconfig 1\nin 0 ff02\nout 0 0002\n\ncase empty\nconfig 1\nin 0\ntrap\n");
    let folder = dir.file("");
    for engine in ["interp", "jit", "aot"] {
        let printed = run(&format!("test {script} --elements {folder} --engine {engine}")).good();
        assert_eq!(printed, format!("{script}: 2 cases hold\n"), "{engine}");
    }
    let wrong = dir.write("Add.txt", "case one\nconfig 3\nin 0 01\nout 0 05\nin 0 01\n");
    let told = run(&format!("test {wrong} --elements {folder}")).bad(1);
    assert!(told.contains("Add.txt:3 (one)\n  expected\n    out 0 05\n  but there was\n    out 0 04"), "{told}");
    assert!(told.contains("Add.txt:5 (one)\n  expected\n    nothing\n  but there was\n    out 0 04"), "{told}");
}

#[test]
fn scripts_of_graphs_are_run_on_every_engine() {
    let dir = Dir::new("scripts-graphs");
    let full = "case full\ngraph FromDevice(a) -> q :: Queue(1) -> Idle\nin a data 1\nin a data 2\ndrop q queue full\nread q.length 1\n";
    let script = dir.write("Queues.txt", format!("{full}\ncase refused\ngraph Idle -> Queue(x) -> Idle\nerror CAPACITY\n"));
    for engine in ["interp", "jit", "aot"] {
        assert_eq!(run(&format!("test {script} --engine {engine}")).good(), format!("{script}: 2 cases hold\n"), "{engine}");
    }
}

#[test]
fn what_is_different_in_graphs_is_told() {
    let dir = Dir::new("scripts-graphs-wrong");
    let wrong = |text: &str| run(&format!("test {}", dir.write("Wrong.txt", text))).bad(1);
    let told = wrong("case one\ngraph FromDevice(a) -> ToDevice(b)\nin a data 1\nout b data 2 @ 1\n");
    assert!(told.contains("Wrong.txt: line 2 (one): line 4 (one), b: expected\n  0001 @ 1.0"), "{told}");
    assert!(told.contains("but there was\n  00 @ 0.001000000"), "{told}");
    let told = wrong(
        "graph FromDevice(a) -> q :: Queue -> Idle\nin a data 1\nwrite q.capacity 1\nerror x\nread q.length 7\ntext stdout x\ndrop q full\n\
         error y\n",
    );
    let parts = ["refused with `x`", "is \"1\", not \"7\"", "stdout is nothing, not `x`", "not {(\"q\", \"full\"): 1}", "error with `y`"];
    for part in parts {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(wrong("graph FromDevice(a) -> Idle\nin a eth 1\n").contains("line 2: cannot make a packet of `eth 1`"));
    assert!(wrong("in a data 1\ngraph Idle\n").contains("line 1: expected run or graph first"));
    assert!(wrong("graph Idle -> Idle\nin b data 1\n").contains("nothing reads a device b"));
    assert!(wrong("run nowhere.click\n").contains("nowhere.click"));
}

#[test]
fn what_is_wrong_with_scripts_is_told() {
    let dir = Dir::new("scripts-wrong");
    dir.write("Add.c", ADD);
    let folder = dir.file("");
    let told = |text: &str| run(&format!("test {} --elements {folder}", dir.write("Add.txt", text))).bad(1);
    let line = told("case a\nin x 00\n");
    assert!(line.contains("line 2: in x 00") && line.contains("netvm test --help"), "{line}");
    assert!(told("# nothing yet\n").contains("there is no case in it"));
    assert!(told("case a\nin 0 00*99999999\n").contains("line 2"));
    assert!(told("case a\nin 0 00\nout 0 00\n").contains("line 1: ") && told("case a\nin 0 00\n").contains("N"));
    assert!(told("case a\nconfig 1\nin 7 00\nout 0 00\n").contains("no input 7"));
    assert!(run(&format!("test {}", dir.write("Nonesuch.txt", "case a\nin 0 00\n"))).bad(1).contains("Nonesuch"));
    assert!(run("test nowhere/Add.txt").bad(1).contains("nowhere/Add.txt"));
}

#[test]
fn classes_are_listed_and_copied() {
    let dir = Dir::new("classes");
    let list = run("elements").good();
    assert!(list.lines().any(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") == "Paint sets the paint annotation"), "{list}");
    assert!(list.lines().any(|line| line.starts_with("Queue ")));
    assert!(
        list.lines().any(|line| line.starts_with("IPRewriterPatterns ") && line.ends_with(" names for patterns of rewriters")),
        "{list}"
    );
    assert!(run("elements IPRewriterPatterns").good().starts_with("IPRewriterPatterns(NAME "));
    assert!(run("elements Paint").good().starts_with("Paint(COLOR"));
    assert!(run("elements ToDump").good().starts_with("ToDump(FILENAME"));
    assert!(run("elements Nonesuch").bad(1).contains("no class 'Nonesuch'; `netvm elements` lists"));
    assert!(run("elements decIpTtl").bad(1).contains("did you mean 'DecIPTTL'?"));
    assert!(run(&format!("elements --elements {}", dir.file("nowhere"))).bad(1).contains("no such folder"));
    let copy = dir.file("library");
    run(&format!("elements --copy {copy}")).good();
    assert!(std::fs::read_to_string(format!("{copy}/include/netvm.h")).is_ok_and(|text| text.contains("NETVM_H")));
    assert!(std::fs::read_to_string(format!("{copy}/standalone/table.c")).is_ok());
    assert!(run(&format!("elements --copy {copy}")).bad(1).contains("is there already"));
}

#[test]
fn a_slip_in_a_class_is_seen_through() {
    assert!(run("elements Cuonter").bad(1).contains("did you mean 'Counter'?"));
    assert!(run("elements counter").bad(1).contains("did you mean 'Counter'?"));
    assert!(run("elements Zzyzx").bad(1).contains("`netvm elements` lists"));
}

#[test]
fn handlers_that_are_read_and_written_are_listed_once() {
    let dir = Dir::new("handlers-once");
    let file = dir.write("t.click", "Idle -> e :: VLANEncap(5) -> Discard;");
    let list = run(&format!("run {file} -h e.handlers")).good();
    assert!(list.contains("\nvlan_id\trw\n"), "{list}");
    let names: Vec<&str> = list.lines().filter_map(|line| line.split_once('\t')).map(|(name, _)| name).collect();
    assert_eq!(names.len(), names.iter().collect::<std::collections::BTreeSet<_>>().len(), "{list}");
}
