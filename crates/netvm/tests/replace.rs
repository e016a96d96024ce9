//! A configuration is replaced while packets flow: nothing is lost, doubled or out of order, what elements know stays, and a version that is wrong changes nothing.

mod graphs;

use graphs::{Kept, capture, engines as unkept, reading};
use netvm::application::{Application, Graph, Recipe, Settings};
use netvm::engines;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const PLAIN: &str = "FromDump(IN, STOP true) -> t :: Tee(2); t[0] -> Strip(14) -> h :: CheckIPHeader -> f :: FlowCount -> Unstrip(14) -> q :: Queue(4) -> ToDump(OUT0, SNAPLEN 0);
     t[1] -> d :: Queue(100000) -> DelayUnqueue(3ms) -> ToDump(OUT1, SNAPLEN 0);";
const COUNTED: &str = "FromDump(IN, STOP true) -> t :: Tee(2); t[0] -> n :: Counter -> Strip(14) -> h :: CheckIPHeader -> f :: FlowCount -> Unstrip(14) -> q :: Queue(4) -> ToDump(OUT0, SNAPLEN 0);
     t[1] -> d :: Queue(100000) -> DelayUnqueue(3ms) -> ToDump(OUT1, SNAPLEN 0);";

struct Run {
    graph: Graph,
    recipe: Recipe,
    folder: PathBuf,
    input: PathBuf,
}

impl Run {
    fn placed(folder: &Path, input: &Path, text: &str) -> String {
        text.replace("IN,", &format!("{},", input.display())).replace("OUT", &format!("{}/out", folder.display()))
    }

    fn new(name: &str, engine: &str, text: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("netvm-replace-{}-{name}-{engine}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let input = folder.join("in.pcap");
        std::fs::write(&input, capture()).unwrap();
        let engine = engines::find(engine).unwrap();
        let recipe = Recipe { name: "test.click".into(), reading: reading(), engine, engines: unkept(), settings: Settings::default() };
        let application =
            Application::read("test.click", &Self::placed(&folder, &input, text), &recipe.reading).unwrap_or_else(|e| panic!("{e}"));
        let graph = application.start(engine, unkept(), Settings::default(), Box::new(Kept::default())).unwrap_or_else(|e| panic!("{e}"));
        let mut run = Self { graph, recipe, folder, input };
        run.graph.start();
        run
    }

    fn replace(&mut self, text: &str) -> Result<netvm::application::Replaced, String> {
        let text = Self::placed(&self.folder, &self.input, text);
        self.recipe.replace(&mut self.graph, &text, &BTreeMap::new()).map_err(|error| error.to_string())
    }

    fn read(&mut self, handler: &str) -> u64 {
        self.graph.read(handler, "", None).unwrap().trim().parse().unwrap()
    }

    /// Runs to the end; what was written.
    fn end(mut self, reads: &[&str]) -> ([Vec<u8>; 2], Vec<u64>) {
        while self.graph.turn() {}
        let values = reads.iter().map(|handler| self.read(handler)).collect();
        assert_eq!(self.graph.finish(), []);
        let written = ["out0", "out1"].map(|name| std::fs::read(self.folder.join(name)).unwrap());
        std::fs::remove_dir_all(&self.folder).unwrap();
        (written, values)
    }
}

#[test]
fn nothing_is_lost_while_versions_take_turns() {
    let reads = ["f.flows", "f.uncounted", "h.drops", "q.drops", "q.highwater_length"];
    let wanted = Run::new("wanted", "interp", PLAIN).end(&reads);
    assert!(wanted.0.iter().all(|file| file.len() > 100_000) && wanted.1[0] > 100, "{:?}", wanted.1);
    for engine in ["interp", "jit", "auto"] {
        let mut run = Run::new("turns", engine, PLAIN);
        let (mut times, mut counted) = (0, 0);
        'run: loop {
            for _ in 0..if engine == "interp" { 1000 } else { 100 } {
                if !run.graph.turn() {
                    break 'run;
                }
            }
            times += 1;
            let replaced = run.replace(if times % 2 == 1 { COUNTED } else { PLAIN }).unwrap();
            let succession = &replaced.succession;
            counted += u64::from(times % 2 == 0 && succession.gone == ["n"]);
            assert_eq!((succession.packets_lost, succession.entries_lost), (0, 0));
            assert_eq!(succession.made, if times % 2 == 1 { &["n"][..] } else { &[] });
        }
        assert!(times > 4 && counted == times / 2, "{times} {counted}");
        assert!(run.end(&reads) == wanted, "{engine}");
    }
}

#[test]
fn a_version_that_is_wrong_changes_nothing() {
    let wanted = Run::new("right", "interp", PLAIN).end(&["f.flows"]);
    let mut run = Run::new("wrong", "jit", PLAIN);
    for wrong in [
        "FromDump(IN, STOP true) -> Nonsense -> Discard;",
        "FromDump(IN, STOP true) -> q :: Queue(x) -> Discard;",
        // It is written by another element already, and stays open.
        "FromDump(IN, STOP true) -> Discard; Idle -> other :: ToDump(OUT0, SNAPLEN 7);",
        "FromDump(IN, STOP true) -> Discard; FromDump(/nonexistent/file.pcap) -> Discard;",
    ] {
        (0..5).for_each(|_| assert!(run.graph.turn()));
        let why = run.replace(wrong).unwrap_err();
        assert!(why.contains("test.click:1") || why.contains("out0") || why.contains("nonexistent"), "{why}");
    }
    assert!(run.end(&["f.flows"]) == wanted);
}

#[test]
fn entries_that_packets_made_stay_where_an_element_is_made_anew() {
    let mut run = Run::new("entries", "jit", PLAIN);
    while run.read("f.counts.count") <= 20 {
        assert!(run.graph.turn());
    }
    let flows = run.read("f.counts.count");
    let plan = run
        .recipe
        .plan(&run.graph, &Run::placed(&run.folder, &run.input, &PLAIN.replace("FlowCount", "FlowCount(CAPACITY 9000)")), &BTreeMap::new())
        .unwrap();
    assert_eq!((plan.succession.tables.get("f.counts"), plan.succession.made), (Some(&flows), vec!["f".to_owned()]));
    let replaced = run.replace(&PLAIN.replace("FlowCount", "FlowCount(CAPACITY 9000)")).unwrap();
    assert_eq!((replaced.succession.tables.get("f.counts"), replaced.succession.entries_lost), (Some(&flows), 0));
    assert_eq!(run.read("f.counts.count"), flows);
    // Too small for them.
    let replaced = run.replace(&PLAIN.replace("FlowCount", "FlowCount(CAPACITY 16)")).unwrap();
    assert_eq!((replaced.succession.tables.get("f.counts"), replaced.succession.entries_lost), (Some(&16), flows - 16));
    run.end(&[]);
}

#[test]
fn packets_of_queues_that_are_no_more_are_counted() {
    let mut run = Run::new(
        "queues",
        "jit",
        "FromDump(IN, STOP true) -> d :: Queue(100000) -> DelayUnqueue(1s) -> ToDump(OUT0); Idle -> Queue -> ToDump(OUT1);",
    );
    while run.read("d.length") <= 10 {
        assert!(run.graph.turn());
    }
    let waiting = run.read("d.length");
    let replaced = run
        .replace("FromDump(IN, STOP true) -> d :: Queue(99) -> DelayUnqueue(1s) -> ToDump(OUT0); Idle -> Queue -> ToDump(OUT1);")
        .unwrap();
    assert_eq!(replaced.succession.packets_lost, waiting);
    assert_eq!(run.read("d.length"), 0);
    run.end(&[]);
}
