//! State that is found by flow: what the analysis of keys shows, what it refuses, and that the results are those of one thread either way.

use super::graphs::{reading, run};
use super::{Place, assert_same, engines_there, folder, run_on};
use netvm::application::{Application, Item, Placement, Policies, Policy, Reading, Sort, Stage};
use netvm::engines;
use std::path::Path;

fn application(text: &str) -> Application {
    Application::read("test.click", text, &reading()).unwrap_or_else(|error| panic!("{error}"))
}

/// The stage of the element `f`, what is told of it, and its tables and variables.
fn placed(text: &str) -> (Stage, String, Vec<Item>) {
    let application = application(text);
    let placement = Placement::new(application.application(), &[]).unwrap();
    let at = application.application().instances.iter().position(|instance| instance.name == "f").unwrap();
    let shown = placement.explain(application.application(), Some(2));
    let line = shown.lines().find(|line| line.starts_with("  f ::")).unwrap_or_default().to_owned();
    let items = placement.items(application.application()).into_iter().filter(|item| item.element == "f").collect();
    (placement.stages[at], line, items)
}

const PAIRS: &str = "FromDump(IN, STOP true) -> Strip(14) -> h :: CheckIPHeader -> f :: Pairs -> p :: PaintSwitch; p[0] -> Unstrip(14) -> Queue -> ToDump(OUT0);
    p[1] -> Unstrip(14) -> Queue -> ToDump(OUT1); p[2] -> Discard; p[3] -> d :: Discard;";

#[test]
fn tables_keyed_by_both_addresses_are_each_replicas_own_without_a_promise() {
    let (stage, told, items) = placed(&PAIRS.replace("IN,", "in.pcap,"));
    assert_eq!(stage, Stage::Replica, "{told}");
    assert!(told.contains("keyed by flow: shown without a promise"), "{told}");
    let table = items.iter().find(|item| item.is_table).unwrap();
    assert_eq!((&table.sort, table.line.is_some(), &table.cheaper), (&Sort::Flow, true, &None), "{table}");
    let folder = folder("pairs");
    let input = folder.join("in.pcap");
    let reads = ["d.count", "f.pairs.count"];
    let wanted = run(PAIRS, &reads, engines::find("interp").unwrap(), &folder, &input);
    assert!(wanted.captures.iter().flatten().all(|file| file.len() > 1000), "both outputs have packets");
    for engine in engines_there() {
        for replicas in if *engine == "aot" { &[2][..] } else { &[1, 2, 3, 5] } {
            let (found, _, shown) = run_on(PAIRS, &reads, (Place::Total, *replicas), engine, &[], &folder, &input);
            assert!(shown.contains("by the two addresses of their own IP header"), "{shown}");
            assert_same(&found, &wanted, &format!("{replicas} replicas, {engine}"));
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_promise_that_does_not_hold_is_refused_and_the_result_is_that_of_one_thread() {
    let text = "FromDump(IN, STOP true) -> Paint(1) -> f :: Lengths -> Queue -> ToDump(OUT0); Idle -> Queue -> ToDump(OUT1);";
    let (stage, told, items) = placed(&text.replace("IN,", "in.pcap,"));
    assert_eq!(stage, Stage::Rest, "{told}");
    assert!(
        told.contains(
            "FLOW_STATE does not hold: the keys of table `lengths` are numbers that are no addresses, not both addresses (line 15)"
        ),
        "{told}"
    );
    assert!(
        matches!(&items[0].sort, Sort::Keyed(key) if key == "numbers that are no addresses") && items[0].cheaper.is_some(),
        "{}",
        items[0]
    );
    let folder = folder("lengths");
    let input = folder.join("in.pcap");
    let wanted = run(text, &[], engines::find("interp").unwrap(), &folder, &input);
    for (engine, replicas) in [("interp", 4), ("jit", 4)] {
        let (found, _, _) = run_on(text, &[], (Place::Total, replicas), engine, &[], &folder, &input);
        assert_same(&found, &wanted, engine);
    }
    // With the order of flows the state is in common.
    let application = application(&text.replace("IN,", "in.pcap,"));
    let placement = Placement::by_flow(application.application(), &[], &Policies::default()).unwrap();
    assert!(placement.explain(application.application(), None).contains("a lock: FLOW_STATE does not hold"));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn keys_that_are_not_of_the_arriving_header_are_not_shown() {
    let behind = |before: &str| format!("FromDump(in.pcap) -> {before} -> f :: Pairs -> Discard;");
    assert_eq!(placed(&behind("Strip(14) -> CheckIPHeader -> DecIPTTL")).0, Stage::Replica);
    assert_eq!(placed(&behind("MarkIPHeader(14) -> EtherRewrite(1:1:1:1:1:1, 2:2:2:2:2:2)")).0, Stage::Replica);
    for before in [
        // Another address, a header of its own, the header within another.
        "Strip(14) -> CheckIPHeader -> SetIPAddress(1.2.3.4) -> StoreIPAddress(1.2.3.4, 16)",
        "Strip(14) -> CheckIPHeader -> IPEncap(4, 1.1.1.1, 2.2.2.2)",
        "Strip(34) -> CheckIPHeader",
        "Strip(14) -> CheckIPHeader -> StripIPHeader -> CheckIPHeader",
    ] {
        let (stage, told, _) = placed(&behind(before));
        assert_eq!(stage, Stage::Rest, "{before}: {told}");
    }
    let (stage, _, items) = placed(&behind("Strip(14) -> CheckIPHeader").replace("Pairs", "Sources"));
    assert_eq!(stage, Stage::Rest, "one address on one way");
    assert!(matches!(&items[0].sort, Sort::Keyed(key) if key.contains("the source address")), "{}", items[0]);
    assert!(items[0].cheaper.as_ref().is_some_and(|cheaper| cheaper.contains("both addresses")), "{}", items[0]);
}

/// An application, with the placement that keeps the order of all packets.
fn of_apps(config: &str) -> (Application, Placement) {
    let apps = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../apps").canonicalize().unwrap();
    let file = apps.join(config);
    let reading = Reading { elements: vec![file.with_file_name("elements")], ..Reading::default() };
    let text = std::fs::read_to_string(&file).unwrap();
    let application = Application::read(&file.display().to_string(), &text, &reading).unwrap_or_else(|e| panic!("{}", e.render(false)));
    let placement = Placement::new(application.application(), &[]).unwrap();
    (application, placement)
}

#[test]
fn promises_of_applications_are_shown() {
    for (config, class) in [("firewall/firewall.click", "Connections"), ("balancer/balancer.click", "Maglev")] {
        let (application, placement) = of_apps(config);
        let shown = placement.explain(application.application(), Some(2));
        let line = shown.lines().find(|line| line.contains(&format!(":: {class}"))).unwrap_or_default();
        assert!(line.contains("FLOW_STATE promised, shown"), "{config}: {line}\n{shown}");
    }
}

/// Words that choose nothing but refuse what is not so.
#[test]
fn affinity_and_shard_are_accepted_where_they_hold() {
    let place = |text: &str, policy: Policy| {
        let application = application(text);
        let policies = Policies(vec![(Some("f".to_owned()), policy)]);
        let total = Placement::total(application.application(), &[], &policies).map(drop);
        assert_eq!(total.is_ok(), Placement::by_flow(application.application(), &[], &policies).is_ok(), "{text}");
        total
    };
    let of = |f: &str| format!("FromDump(in.pcap) -> Strip(14) -> CheckIPHeader -> f :: {f} -> Discard;");
    assert_eq!(place(&of("DecIPTTL"), Policy::Shard), Ok(()), "it counts what it drops");
    let refused = place(&of("Counter"), Policy::Shard).unwrap_err();
    assert!(refused.starts_with("--state shard: `f` (Counter): "), "{refused}");
    assert!(place(&of("Lengths"), Policy::Affinity).unwrap_err().contains("FLOW_STATE does not hold"));
}
