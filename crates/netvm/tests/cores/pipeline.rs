//! Elements that run in order, cut into stages on threads of their own: the result is that of one
//! thread, wherever they are cut.

use super::*;

/// Configurations with state that must see all packets, before queues and in a row; handlers, and
/// where stages may begin.
const ORDERED: [(&str, &str, &[&str], &[&str]); 4] = [
    (
        "state in a row before queues, and replicas before it",
        "FromDump(IN, STOP true) -> Strip(14) -> h :: CheckIPHeader -> f :: FlowCount -> r :: RoundRobinSwitch; r[0] -> p :: PortCount -> s :: RoundRobinSwitch; r[1] -> s; r[2] -> d :: Discard;
         s[0] -> Unstrip(14) -> q :: Queue(7) -> ToDump(OUT0); s[1] -> k :: Counter -> Unstrip(14) -> Queue -> ToDump(OUT1);",
        &["f.flows", "f.uncounted", "f.counts.list", "p.others", "k.count", "d.count", "q.drops"],
        &["p", "s"],
    ),
    (
        "copies that meet behind several stages, with annotations",
        "FromDump(IN, STOP true) -> a :: Counter -> t :: Tee(3); t[0] -> Paint(1) -> r :: RoundRobinSwitch; t[1] -> Paint(2) -> r; t[2] -> Paint(3) -> v :: RoundRobinSwitch; v[0] -> r; v[1] -> r;
         r[0] -> p :: PaintSwitch; r[1] -> p; r[2] -> k :: Counter -> p; p[0] -> Discard; p[1] -> q :: Queue(3) -> ToDump(OUT0); p[2] -> Queue -> ToDump(OUT1); p[3] -> q;",
        &["a.count", "k.count", "q.drops"],
        &["t", "r", "k"],
    ),
    (
        "packets that go past stages, and several sources",
        "FromDump(IN, STOP true) -> a :: Counter -> r :: RoundRobinSwitch; r[0] -> b :: Counter -> q :: Queue -> ToDump(OUT0); r[1] -> q; FromDump(IN, STOP false) -> q;
         FromDump(IN, STOP false) -> Paint(2) -> b; Idle -> Queue -> ToDump(OUT1);",
        &["a.count", "b.count", "q.drops"],
        &["b"],
    ),
    (
        "random numbers behind state",
        "FromDump(IN, STOP true) -> a :: Counter -> r :: RoundRobinSwitch; r[0] -> s :: RandomSwitch; r[1] -> s; s[0] -> c :: Counter -> t :: RandomSwitch; s[1] -> t; t[0] -> Queue(100000) -> ToDump(OUT0); t[1] -> Queue -> ToDump(OUT1);",
        &["a.count", "c.count"],
        &["r", "RandomSwitch"],
    ),
];

fn cuts(names: &[&str]) -> Vec<Cuts> {
    let before = Cuts::Before(names.iter().map(|name| (*name).to_owned()).collect());
    [before, Cuts::Queues].into_iter().chain((2..8).map(Cuts::Threads)).collect()
}

#[test]
fn stages_in_order_give_what_one_graph_gives() {
    let folder = folder("pipeline");
    let input = folder.join("in.pcap");
    for (name, text, reads, names) in ORDERED {
        let wanted = run(text, reads, engines::find("interp").unwrap(), &folder, &input);
        assert!(wanted.captures.iter().flatten().any(|file| file.len() > 1000), "{name}: nothing was written");
        let mut stages = 0;
        for engine in engines_there() {
            let all = cuts(names).into_iter().take(if *engine == "aot" { 2 } else { usize::MAX });
            for (cuts, replicas) in all.flat_map(|cuts| [1, 3].map(|replicas| (cuts.clone(), replicas))) {
                let called = format!("{name}, {cuts:?}, {replicas} replicas, {engine}");
                let (found, _, shown) = run_on(text, reads, (PlacementMode::Pipeline(cuts), replicas), engine, &[], &folder, &input);
                assert_same(&found, &wanted, &called);
                stages = stages.max(shown.lines().filter(|line| line.starts_with("in order ")).count());
            }
        }
        assert!(stages >= 2, "{name}: {stages} stages in order");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// Those of other tests, of which most have something that must be in the last stage.
#[test]
fn what_cannot_be_cut_stays_in_the_last_stage() {
    let folder = folder("uncut");
    let input = folder.join("in.pcap");
    let parallel = PARALLEL.map(|(name, text, reads, _)| (name, text, reads));
    for (name, text, reads) in CONFIGURATIONS.into_iter().chain(parallel) {
        let wanted = run(text, reads, engines::find("interp").unwrap(), &folder, &input);
        for (engine, cuts) in [("interp", Cuts::Queues), ("jit", Cuts::Threads(4)), ("jit", Cuts::Threads(6))] {
            let called = format!("{name}, {engine}, {cuts:?}");
            let (found, _, _) = run_on(text, reads, (PlacementMode::Pipeline(cuts), 2), engine, &[], &folder, &input);
            assert_same(&found, &wanted, &called);
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

fn named(text: &str, cuts: &Cuts) -> Result<Vec<String>, String> {
    let application = Application::read("test.click", text, &reading()).unwrap_or_else(|e| panic!("{e}"));
    let placement = Placement::new(application.application(), &[]).and_then(|all| all.cut_by(application.application(), cuts));
    let placement = placement.map_err(|why| why.to_string())?;
    let names = application.application().instances.iter().map(|instance| instance.name.clone());
    Ok(names.zip(placement.stage_names()).map(|(name, stage)| format!("{name}: {stage}")).collect())
}

#[test]
fn stages_begin_where_they_are_cut() {
    let text = "i :: FromDump(x) -> s :: Strip(14) -> a :: RoundRobinSwitch -> b :: Strip(2) -> c :: Counter -> q :: Queue -> o :: ToDump(y); a[1] -> d :: Discard;";
    let shown = |cuts: &Cuts| named(text, cuts).unwrap().join(", ");
    let before = |names: &[&str]| Cuts::Before(names.iter().map(|name| (*name).to_owned()).collect());
    let ends = "q: in order, o: in order, d: in order";
    assert_eq!(shown(&Cuts::None), format!("i: sources, s: replicas, a: in order, b: in order, c: in order, {ends}"));
    assert_eq!(shown(&Cuts::Queues), format!("i: sources, s: replicas, a: in order 1, b: in order 1, c: in order 1, {ends}"));
    assert_eq!(shown(&before(&["Queue"])), shown(&Cuts::Queues));
    assert_eq!(shown(&before(&["c"])), format!("i: sources, s: replicas, a: in order 1, b: in order 1, c: in order 2, {ends}"));
    assert_eq!(shown(&before(&["b", "c"])), format!("i: sources, s: replicas, a: in order 1, b: in order 2, c: in order 3, {ends}"));
    assert_eq!(shown(&Cuts::Threads(2)), format!("i: sources, s: in order, a: in order, b: in order, c: in order, {ends}"));
    assert_eq!(shown(&Cuts::Threads(3)), shown(&Cuts::None));
    assert_eq!(shown(&Cuts::Threads(4)), shown(&Cuts::Queues));
    assert_eq!(shown(&Cuts::Threads(64)), shown(&before(&["c"])), "c has more work than both before it");
    for (cuts, why) in
        [(before(&["i"]), "nothing before `i`"), (before(&["nobody"]), "no element has that name"), (before(&["o"]), "nothing before `o`")]
    {
        let told = named(text, &cuts).unwrap_err();
        assert!(told.contains(why), "{told}");
    }
    let circle = "i :: FromDump(x) -> a :: RoundRobinSwitch -> b :: Counter -> a; a[1] -> c :: Counter -> Queue -> ToDump(y);";
    let told = named(circle, &before(&["b"])).unwrap_err();
    assert!(told.contains("nothing before `b`"), "{told}");
    let stages = named(circle, &Cuts::Threads(5)).unwrap().join(", ");
    assert!(stages.contains("a: in order, b: in order, c: in order"), "{stages}");
    let circle = "i :: FromDump(x) -> a :: Paint(1) -> b :: PaintSwitch -> a; b[1] -> c :: Strip(2) -> Queue -> ToDump(y);";
    let told = named(circle, &before(&["b"])).unwrap_err();
    assert!(told.contains("on a circle"), "{told}");
    let stages = named(circle, &Cuts::Threads(6)).unwrap().join(", ");
    assert!(stages.contains("a: replicas, b: replicas, c: in order 1"), "{stages}");
}
