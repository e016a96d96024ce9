//! Elements that run as one give the captures and counts that elements one after the other on the interpreter give.

mod graphs;

use graphs::{CONFIGURATIONS, capture, run};
use netvm::engines;

/// Sources whose packets come at the same times, one of which ends the run.
const SOURCES: [(&str, &str, &[&str]); 2] = [
    (
        "a switch between two sources",
        "FromDump(IN, STOP true) -> Truncate(70) -> s :: EtherSwitch; FromDump(IN, STOP true) -> [1] s;
         s[0] -> a :: Counter -> Queue(3) -> ToDump(OUT0); s[1] -> b :: Counter -> Queue -> ToDump(OUT1);",
        &["a.count", "b.byte_count"],
    ),
    (
        "text from one of three sources",
        "FromDump(IN, STOP true) -> k :: Counter -> q :: Queue(5) -> ToDump(OUT0); FromDump(IN, STOP false) -> Print(x, 4) -> k;
         FromDump(IN, STOP false) -> Paint(1) -> Strip(2) -> k; Idle -> Queue -> ToDump(OUT1);",
        &["k.count", "q.drops"],
    ),
];

#[test]
fn linked_elements_do_what_they_do_one_after_the_other() {
    if aot::build::Compiler::system().is_err() {
        return eprintln!("no C compiler: nothing to compare");
    }
    let folder = std::env::temp_dir().join(format!("netvm-linked-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let input = folder.join("in.pcap");
    std::fs::write(&input, capture()).unwrap();
    let [plain, linked] = ["interp", "aot"].map(|name| engines::find(name).unwrap());
    for (name, text, reads) in CONFIGURATIONS.into_iter().chain(SOURCES) {
        let wanted = run(text, reads, plain, &folder, &input);
        let found = run(text, reads, linked, &folder, &input);
        assert_eq!(found.counts, wanted.counts, "{name}: {reads:?}");
        assert!(found.captures == wanted.captures, "{name}: captures differ");
        assert!(found.text == wanted.text, "{name}: text differs");
        assert_eq!(wanted.text.is_empty(), !name.starts_with("text"), "{name}");
        assert!(wanted.captures.iter().flatten().any(|file| file.len() > 1000), "{name}: nothing was written");
    }
    std::fs::remove_dir_all(folder).unwrap();
}
