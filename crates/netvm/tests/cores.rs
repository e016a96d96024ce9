//! Applications on several cores give the captures, counts and texts that the interpreter gives on
//! one: whatever the number of replicas, on every engine.

mod graphs;
#[path = "cores/keyed.rs"]
mod keyed;
#[path = "cores/pipeline.rs"]
mod pipeline;
#[path = "cores/ports.rs"]
mod ports;
#[path = "cores/random.rs"]
mod random;
#[path = "cores/readers.rs"]
mod readers;
#[path = "cores/replay.rs"]
mod replay;
#[path = "cores/sums.rs"]
mod sums;
#[path = "cores/verdicts.rs"]
mod verdicts;

use graphs::{CONFIGURATIONS, Found, Kept, capture, engines as unkept, placed, reading, run};
use netvm::application::{Application, Cuts, Placement, Policies, Policy, Settings, Stage};
use netvm::engines;
use runtime::graph::{Common, Share};
use std::path::Path;

/// Configurations that have something for replicas, and what else is to be seen: how many elements
/// those are at least.
const PARALLEL: [(&str, &str, &[&str], usize); 7] = [
    (
        "elements that keep nothing, with queues behind",
        "FromDump(IN, STOP true) -> c :: Classifier(12/0800, 12/86dd, -); c[1] -> Truncate(60) -> q :: Queue -> ToDump(OUT1); c[2] -> d :: Discard;
         c[0] -> Strip(14) -> CheckIPHeader -> DecIPTTL -> rt :: StaticIPLookup(10.0.0.0/8 0, 0.0.0.0/0 1); rt[0] -> Unstrip(14) -> Queue -> ToDump(OUT0); rt[1] -> Unstrip(14) -> q;",
        &["d.count", "q.length"],
        8,
    ),
    (
        "several sources, one of which ends the run",
        "FromDump(IN, STOP true) -> a :: Strip(14) -> q :: Queue -> ToDump(OUT0); FromDump(IN, STOP false) -> b :: Paint(1) -> Strip(4) -> q;
         FromDump(IN, STOP false) -> Queue -> ToDump(OUT1);",
        &["q.drops"],
        3,
    ),
    (
        "annotations that elements behind the replicas look at",
        "FromDump(IN, STOP true) -> h :: HashSwitch(26, 3); h[0] -> Paint(1) -> r :: RoundRobinSwitch; h[1] -> Strip(14) -> Paint(2) -> r; h[2] -> Paint(3) -> r;
         r[0] -> p :: PaintSwitch; p[0] -> Discard; p[1] -> k :: Counter -> Queue -> ToDump(OUT0); p[2] -> Unstrip(14) -> k; p[3] -> Queue -> ToDump(OUT1); r[1] -> Discard; r[2] -> [0]p;",
        &["k.count"],
        5,
    ),
    (
        "copies that meet behind the replicas",
        "FromDump(IN, STOP true) -> t :: Tee(3); t[0] -> Strip(1) -> s :: Tee -> Unstrip(1) -> Paint(1) -> r :: RoundRobinSwitch; s[1] -> [0]r; t[1] -> r; t[2] -> Paint(2) -> r;
         r[0] -> q :: Queue(2) -> ToDump(OUT0); r[1] -> k :: Counter -> Queue -> ToDump(OUT1); r[2] -> p :: PaintSwitch; p[0] -> Discard; p[1] -> k; p[2] -> q;",
        &["k.count", "q.drops"],
        6,
    ),
    (
        "copies of one arrival that meet in a queue with room for one",
        "FromDump(IN, STOP true) -> Strip(2) -> t :: Tee(2); t[0] -> q :: Queue(1) -> Unqueue -> k :: Counter -> Queue -> ToDump(OUT0); t[1] -> Truncate(40) -> q;
         Idle -> Queue -> ToDump(OUT1);",
        &["q.drops", "k.count"],
        3,
    ),
    (
        "a queue that packets leave at once, and one behind it",
        "FromDump(IN, STOP true) -> Strip(2) -> Queue(9) -> Unqueue(BURST 4) -> k :: Counter -> Queue(3) -> ToDump(OUT0); Idle -> Queue -> ToDump(OUT1);",
        &["k.count"],
        1,
    ),
    (
        "text of a driver that looks at elements at times between packets and at the end",
        "FromDump(IN, STOP true) -> Strip(2) -> a :: Counter -> q :: Queue -> ToDump(OUT0); Idle -> Queue -> ToDump(OUT1);
         DriverManager(wait 50ms, print $(a.count), wait_stop, print $(a.count), wait 1ms, print $(q.length), wait_stop, stop);",
        &["a.count"],
        1,
    ),
];

/// Which order is kept, and how state in common is shared.
#[derive(Clone, Debug)]
enum PlacementMode {
    Total,
    Replicate,
    /// With several stages in order.
    Pipeline(Cuts),
    Flow(Policy),
}

/// Runs a configuration on several threads; also how many elements are in replicas.
fn run_on(
    text: &str,
    reads: &[&str],
    (place, replicas): (PlacementMode, usize),
    engine: &str,
    relax: &[&str],
    folder: &Path,
    input: &Path,
) -> (Found, usize, String) {
    let engine = engines::find(engine).unwrap();
    let out = folder.join(format!("{}-{replicas}", engine.name));
    let application = Application::read("test.click", &placed(text, input, &out), &reading()).unwrap_or_else(|e| panic!("{e}"));
    let relax: Vec<String> = relax.iter().map(|name| (*name).to_owned()).collect();
    let placement = match place {
        PlacementMode::Total => Placement::new(application.application(), &relax),
        PlacementMode::Replicate => Placement::total(application.application(), &relax, &Policies(vec![(None, Policy::Replicate)])),
        PlacementMode::Pipeline(cuts) => {
            Placement::new(application.application(), &relax).and_then(|all| all.cut_by(application.application(), &cuts))
        }
        PlacementMode::Flow(policy) => Placement::by_flow(application.application(), &relax, &Policies(vec![(None, policy)])),
    };
    let placement = placement.unwrap_or_else(|why| panic!("{why}"));
    let (members, shown) = (placement.of(Stage::Replica).count(), placement.explain(application.application(), Some(replicas)));
    let kept = Kept::default();
    let cores = application.start_on(placement, replicas, engine, unkept(), Settings::default(), Box::new(kept.clone()));
    let mut cores = cores.unwrap_or_else(|e| panic!("{e}"));
    cores.start();
    while cores.turn() {}
    let counts = reads.iter().map(|handler| cores.graph().read(handler, "", None).unwrap()).collect();
    let node = |(name, class, stats): &(String, String, netvm::application::NodeStats)| {
        format!("{name} {class} {} {} {:?}", stats.packets, stats.traps, stats.drops)
    };
    let nodes = cores.stats().nodes.iter().map(node).collect();
    assert!(cores.finish().is_empty());
    let file = |n: u32| std::fs::read(format!("{}{n}", out.display())).ok();
    let captures = (0..3).map(file).collect();
    (Found { captures, counts, nodes, text: kept.take(), in_machine_code: 0 }, members, shown)
}

fn assert_same(found: &Found, wanted: &Found, name: &str) {
    assert_eq!(found.counts, wanted.counts, "{name}");
    assert!(found.captures == wanted.captures, "{name}: captures differ");
    assert_eq!(String::from_utf8_lossy(&found.text), String::from_utf8_lossy(&wanted.text), "{name}");
    assert_eq!(found.nodes, wanted.nodes, "{name}");
}

fn folder(name: &str) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("netvm-cores-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("in.pcap"), capture()).unwrap();
    folder
}

fn engines_there() -> &'static [&'static str] {
    if aot::build::Compiler::system().is_ok() { &["interp", "jit", "aot"] } else { &["interp", "jit"] }
}

#[test]
fn replicas_give_what_one_graph_gives() {
    let folder = folder("parallel");
    let input = folder.join("in.pcap");
    for (name, text, reads, least) in PARALLEL {
        let wanted = run(text, reads, engines::find("interp").unwrap(), &folder, &input);
        assert!(wanted.captures.iter().flatten().any(|file| file.len() > 1000), "{name}: nothing was written");
        for engine in engines_there() {
            // Each replica of compiled C costs a run of the compiler.
            for replicas in if *engine == "aot" { &[2][..] } else { &[1, 2, 3, 5] } {
                let (found, members, shown) = run_on(text, reads, (PlacementMode::Total, *replicas), engine, &[], &folder, &input);
                assert!(members >= least, "{name}: {members} elements in replicas\n{shown}");
                assert_same(&found, &wanted, &format!("{name}, {replicas} replicas, {engine}"));
            }
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_is_for_no_replica_runs_in_order() {
    let folder = folder("any");
    let input = folder.join("in.pcap");
    for (name, text, reads) in CONFIGURATIONS {
        let wanted = run(text, reads, engines::find("interp").unwrap(), &folder, &input);
        for (engine, relax) in [("interp", &[][..]), ("jit", &["Counter"][..])] {
            let (found, _, _) = run_on(text, reads, (PlacementMode::Total, 2), engine, relax, &folder, &input);
            assert_same(&found, &wanted, &format!("{name}, {engine}"));
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// Configurations whose result for a flow does not depend on other flows, and the elements whose
/// state is in common.
const BY_FLOW: [(&str, &str, &[&str], &[&str]); 4] = [
    (
        "counters in common, queues and captures of each replica",
        "FromDump(IN, STOP true) -> a :: Counter -> c :: Classifier(12/0800, -); c[1] -> q :: Queue(100000) -> ToDump(OUT1, SNAPLEN 0);
         c[0] -> Strip(14) -> h :: CheckIPHeader -> DecIPTTL -> Unstrip(14) -> b :: Counter -> Queue(100000) -> ToDump(OUT0, SNAPLEN 0);",
        &["a.count", "h.drops", "b.byte_count", "q.length"],
        &["a", "b"],
    ),
    (
        "tables that all flows change",
        "FromDump(IN, STOP true) -> Strip(14) -> h :: CheckIPHeader -> f :: FlowCount -> p :: PortCount -> Unstrip(14) -> Queue(100000) -> ToDump(OUT0, SNAPLEN 0);
         Idle -> Queue -> ToDump(OUT1);",
        &["h.drops", "f.flows", "f.uncounted", "f.counts.count", "p.others"],
        &["f", "p"],
    ),
    (
        "two sources and a script that looks at the end",
        "FromDump(IN, STOP true) -> a :: Counter -> q :: Queue(100000) -> ToDump(OUT0, SNAPLEN 0); FromDump(IN, STOP false) -> Strip(4) -> b :: Counter -> Discard;
         Idle -> Queue -> ToDump(OUT1); DriverManager(wait_stop, print $(a.count), wait 1s, print $(b.count), stop);",
        &["a.count", "b.count"],
        &[],
    ),
    (
        "packets that are held and let go by a timer",
        "FromDump(IN, STOP false) -> Queue(100000) -> DelayUnqueue(2ms) -> a :: Counter -> Queue(100000) -> ToDump(OUT0, SNAPLEN 0); Idle -> Queue -> ToDump(OUT1);",
        &["a.count"],
        &[],
    ),
];

/// The packets of each of so many replicas, in their order.
fn by_replica(capture: &[u8], replicas: usize) -> Vec<Vec<Vec<u8>>> {
    let common = std::sync::Arc::new(Common::new(replicas, [].into()));
    let share = |index| Share { index, replicas, common: std::sync::Arc::clone(&common) }.own(0);
    let mut shares: Vec<_> = (0..replicas).map(share).collect();
    let mut capture = runtime::io::Capture::from_bytes(capture.to_vec()).unwrap();
    let mut packets = vec![Vec::new(); replicas];
    while let Some(burst) = capture.next_burst(64).unwrap() {
        for record in burst.records() {
            let packet = [&record.timestamp().as_nanos().to_be_bytes()[..], record.data].concat();
            let of = shares.iter_mut().position(|own| own.takes(burst.link_type(), record.data)).unwrap();
            packets[of].push(packet);
        }
    }
    packets
}

#[test]
fn replicas_that_keep_the_order_of_flows_give_each_flow_what_one_graph_gives() {
    let folder = folder("flows");
    let input = folder.join("in.pcap");
    for (name, text, reads, common) in BY_FLOW {
        let wanted = run(text, reads, engines::find("interp").unwrap(), &folder, &input);
        for engine in engines_there() {
            let replicas = if *engine == "aot" { &[2][..] } else { &[1, 2, 3, 8] };
            for (replicas, policy) in replicas.iter().flat_map(|n| [Policy::Lock, Policy::Transaction].map(|policy| (n, policy))) {
                let called = format!("{name}, {replicas} replicas, {policy:?}, {engine}");
                let (found, _, shown) = run_on(text, reads, (PlacementMode::Flow(policy), *replicas), engine, &[], &folder, &input);
                let shared = shown.split("with one state").nth(1).unwrap_or_default();
                for element in common {
                    assert!(shared.lines().any(|line| line.starts_with(&format!("  {element} ::"))), "{shown}");
                }
                if *replicas == 1 {
                    assert_same(&found, &wanted, &called);
                }
                assert_eq!(found.counts, wanted.counts, "{called}");
                assert_eq!(found.nodes, wanted.nodes, "{called}");
                assert_eq!(String::from_utf8_lossy(&found.text), String::from_utf8_lossy(&wanted.text), "{called}");
                for (found, wanted) in found.captures.iter().zip(&wanted.captures) {
                    let flows = |file: &Option<Vec<u8>>| file.as_deref().map(|file| by_replica(file, *replicas));
                    assert!(flows(found) == flows(wanted), "{called}: packets of a flow differ");
                }
            }
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// With one replica all states in common are found under their locks, and nothing else differs.
#[test]
fn one_replica_that_keeps_the_order_of_flows_is_one_graph() {
    let folder = folder("one");
    let input = folder.join("in.pcap");
    for (name, text, reads) in CONFIGURATIONS {
        let wanted = run(text, reads, engines::find("interp").unwrap(), &folder, &input);
        for engine in ["interp", "jit"] {
            let relax = [
                "RED",
                "RatedUnqueue",
                "BandwidthShaper",
                "Shaper",
                "ToIPSummaryDump",
                "AggregateCounter",
                "RatedSource",
                "InfiniteSource",
                "DRRSched",
                "PullSwitch",
            ];
            let relax: Vec<&str> = relax.into_iter().filter(|class| text.contains(class)).collect();
            for policy in [Policy::Lock, Policy::Transaction] {
                let (found, _, _) = run_on(text, reads, (PlacementMode::Flow(policy), 1), engine, &relax, &folder, &input);
                assert_same(&found, &wanted, &format!("{name}, {policy:?}, {engine}"));
            }
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// Every packet is one run that commits, or one with the lock; those of packets of all flows
/// conflict where they change one entry.
#[test]
fn transactions_are_counted_and_conflicts_have_a_place() {
    let folder = folder("transactions");
    let input = folder.join("in.pcap");
    let text = "FromDump(IN, STOP true) -> Strip(14) -> h :: CheckIPHeader -> f :: FlowCount -> Queue(100000) -> ToDump(OUT0); Idle -> Queue -> ToDump(OUT1);";
    let (found, _, shown) =
        run_on(text, &["f.transactions", "h.drops"], (PlacementMode::Flow(Policy::Transaction), 4), "jit", &[], &folder, &input);
    assert!(shown.contains("f :: FlowCount: transactions: "), "{shown}");
    let number = |name: &str| found.counts[0].lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok()).unwrap();
    let dropped: u64 = found.counts[1].trim().parse().unwrap();
    assert_eq!(number("commits") + number("locked"), 3000 - dropped, "{}", found.counts[0]);
    // `conflict TABLE KEY COUNT line LINES`
    let count = |line: &str| line.strip_prefix("conflict ")?.split(" line ").next()?.rsplit(' ').next()?.parse::<u64>().ok();
    assert_eq!(found.counts[0].lines().filter_map(count).sum::<u64>(), number("aborts"), "{}", found.counts[0]);
    std::fs::remove_dir_all(folder).unwrap();
}

/// What runs in replicas and what does not, of the applications: an analysis that knows less would
/// make them slower, and nothing else would tell.
#[test]
fn applications_have_their_work_in_replicas() {
    let apps = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../apps").canonicalize().unwrap();
    for (config, parallel, ordered, by_flow) in [
        ("firewall/firewall.click", &["Connections", "IPFilter", "CheckIPHeader"][..], &["Queue", "ToDevice"][..], true),
        ("balancer/balancer.click", &["Maglev", "IPClassifier", "ARPResponder"], &["Queue"], true),
        ("router/forward.click", &["RadixIPLookup", "EtherHop", "DecIPTTL"], &["Queue"], false),
        ("nat/forward.click", &["CheckIPHeader", "DecIPTTL"], &["Napt", "EtherEncap"], false),
        ("switch/switch.click", &["Classifier"], &["EtherSwitch"], false),
    ] {
        let file = apps.join(config);
        let reading = netvm::application::Reading { elements: vec![file.with_file_name("elements")], ..Default::default() };
        let (name, text) = (file.display().to_string(), std::fs::read_to_string(&file).unwrap());
        let application = Application::read(&name, &text, &reading).unwrap_or_else(|e| panic!("{e}"));
        let placement = Placement::new(application.application(), &[]).unwrap();
        let class = |at: usize| application.application().instances[at].class.clone();
        let of = |stage| placement.of(stage).map(class).collect::<Vec<_>>();
        let (replicas, rest) = (of(Stage::Replica), of(Stage::Rest));
        for wanted in parallel {
            assert!(replicas.iter().any(|class| class == wanted), "{config}: {wanted} is not in replicas but {replicas:?}");
        }
        for wanted in ordered {
            assert!(rest.iter().any(|class| class == wanted) && !replicas.iter().any(|class| class == wanted), "{config}: {wanted}");
        }
        let shown = placement.explain(application.application(), Some(2));
        assert_eq!(shown.contains("by the two addresses of their flow"), by_flow, "{shown}");
    }
}

#[test]
fn what_must_see_all_flows_is_told() {
    let place = |text: &str, relax: &[&str]| {
        let application = Application::read("test.click", text, &reading()).unwrap_or_else(|e| panic!("{e}"));
        let relax: Vec<String> = relax.iter().map(|name| (*name).to_owned()).collect();
        Placement::by_flow(application.application(), &relax, &Policies::default()).map(|placement| placement.of(Stage::Shared).count())
    };
    assert_eq!(place("FromDump(x) -> Paint(1) -> Queue -> d :: Discard", &[]), Ok(0));
    assert_eq!(place("FromDump(x) -> r :: RoundRobinSwitch -> Discard; r[1] -> Discard", &[]), Ok(1));
    let shaped = "FromDump(x) -> Queue -> s :: BandwidthShaper(1000) -> Discard";
    assert!(place(shaped, &[]).unwrap_err().to_string().contains("`s` (BandwidthShaper) must see the packets of all flows"));
    assert_eq!(place(shaped, &["s"]), Ok(0));
    assert!(
        place("FromDump(x) -> Strip(14) -> CheckIPHeader -> IPPrint(OUTFILE f) -> Discard", &[])
            .unwrap_err()
            .to_string()
            .contains("prints into a file")
    );
}

#[test]
fn what_cannot_be_cut_or_relaxed_is_told() {
    let place = |text: &str, relax: &[&str]| {
        let application = Application::read("test.click", text, &reading()).unwrap_or_else(|e| panic!("{e}"));
        let relax: Vec<String> = relax.iter().map(|name| (*name).to_owned()).collect();
        Placement::new(application.application(), &relax).map(|placement| placement.of(Stage::Replica).count())
    };
    let counted = "FromDump(x) -> c :: Counter -> Discard";
    assert_eq!(place(counted, &[]), Ok(0));
    assert_eq!(place(counted, &["Counter"]), Ok(2));
    assert_eq!(place(counted, &["c"]), Ok(2));
    assert!(place(counted, &["d"]).unwrap_err().to_string().contains("no element has that name"));
    assert!(place("InfiniteSource -> Discard", &[]).unwrap_err().to_string().contains("captures or devices"));
    assert!(place("FromDump(x, END_CALL d.reset_counts) -> d :: Discard", &[]).unwrap_err().to_string().contains("at its end"));
    // An endless source beside a capture is in order, with all that is behind it.
    assert_eq!(place("FromDump(x) -> Strip(1) -> d :: Discard; InfiniteSource -> d", &[]), Ok(1));
}
