//! State that is found by flow: what the analysis of keys shows, what it refuses, and that the
//! results are those of one thread either way.

use super::graphs::{reading, run};
use super::{PlacementMode, assert_same, engines_there, folder, run_on};
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
    assert!(told.contains("keyed by both addresses, in either order: shown without a promise"), "{told}");
    let table = items.iter().find(|item| item.is_table).unwrap();
    assert_eq!((&table.sort, table.line.is_some(), &table.cheaper), (&Sort::Flow, true, &None), "{table}");
    let folder = folder("pairs");
    let input = folder.join("in.pcap");
    let reads = ["d.count", "f.pairs.count", "f.pairs.list", "f.pairs.dump"];
    let wanted = run(PAIRS, &reads, engines::find("interp").unwrap(), &folder, &input);
    assert!(wanted.captures.iter().flatten().all(|file| file.len() > 1000), "both outputs have packets");
    for engine in engines_there() {
        for replicas in if *engine == "aot" { &[2][..] } else { &[1, 2, 3, 5] } {
            let (found, _, shown) = run_on(PAIRS, &reads, (PlacementMode::Total, *replicas), engine, &[], &folder, &input);
            assert!(shown.contains("replicas by both addresses, in either order, which the keys of tables have"), "{shown}");
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
        let (found, _, _) = run_on(text, &[], (PlacementMode::Total, replicas), engine, &[], &folder, &input);
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
}

const SOURCES: &str = "FromDump(IN, STOP true) -> Strip(14) -> h :: CheckIPHeader -> f :: Sources -> p :: PaintSwitch; p[0] -> Unstrip(14) -> Queue -> ToDump(OUT0);
    p[1] -> Unstrip(14) -> Queue -> ToDump(OUT1); p[2] -> Discard; p[3] -> d :: Discard;";

/// One address on one way: packets from one sender go to one replica.
#[test]
fn tables_keyed_by_one_address_are_each_replicas_own() {
    let (stage, told, items) = placed(&SOURCES.replace("IN,", "in.pcap,"));
    assert_eq!(stage, Stage::Replica, "{told}");
    assert!(told.contains("keyed by the source address: shown without a promise"), "{told}");
    assert_eq!(items[0].sort, Sort::Flow, "{}", items[0]);
    let folder = folder("sources");
    let input = folder.join("in.pcap");
    let reads = ["d.count", "f.counts.count"];
    let wanted = run(SOURCES, &reads, engines::find("interp").unwrap(), &folder, &input);
    for (engine, replicas) in [("interp", 3), ("jit", 2), ("jit", 5)] {
        let (found, _, shown) = run_on(SOURCES, &reads, (PlacementMode::Total, replicas), engine, &[], &folder, &input);
        assert!(shown.contains("packets go to replicas by the source address, which"), "{shown}");
        assert_same(&found, &wanted, &format!("{replicas} replicas, {engine}"));
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// One function is for all elements: the one by which most of them are keyed; the others are in
/// order.
#[test]
fn one_function_is_for_all_elements() {
    let of = |elements: &str| {
        let text = format!("FromDump(in.pcap) -> Strip(14) -> CheckIPHeader -> {elements} -> Discard;");
        let application = application(&text);
        let placement = Placement::new(application.application(), &[]).unwrap();
        (placed(&text).0, placement.flow_shown(application.application()))
    };
    let (stage, flow) = of("Pairs -> f :: Sources");
    assert!(stage == Stage::Rest && flow.contains("by both addresses"), "{flow}");
    let (stage, flow) = of("Sources -> Sources -> f :: Pairs");
    assert!(stage == Stage::Rest && flow.contains("by the source address"), "{flow}");
    assert_eq!(of("Sources -> f :: Sources").0, Stage::Replica);
}

/// A key of one address of IPv6 has the bytes that are both addresses in a header of IPv4.
#[test]
fn an_address_of_ipv6_is_not_both_of_ipv4() {
    let folder = folder("ipv6");
    let class = |name: &str, key: &str, fill: &str| {
        let text = format!(
            "/*\n * {name} -- counts packets\n */\n#include <netvm.h>\n#include \"click.h\"\nELEMENT({name}, \"1/1\", \"a/a\");\n{key}\nstatic struct key key;\n\
             TABLE_EXACT(counts, struct key, u32, 1024, 0);\nvoid packet(int port)\n{{\n    const struct ip6 *ip = header(struct ip6, network_offset());\n    u32 *count;\n\n    {fill}\n    \
             count = table_insert(counts, &key);\n    if (count) {{\n        *count += 1;\n        info(paint) = (u8) *count;\n    }}\n    emit(0);\n}}\n"
        );
        std::fs::write(folder.join(format!("{name}.c")), text).unwrap();
    };
    class("Senders6", "struct key { in6_t src; };", "key.src = ip->src;");
    class("Pairs6", "struct key { in6_t src, dst; };", "key.src = ip->src;\n    key.dst = ip->dst;");
    let flow = |class: &str| {
        let text = format!("FromDump(in.pcap) -> Strip(14) -> CheckIP6Header -> f :: {class} -> PaintSwitch -> Discard;");
        let reading = Reading { elements: vec![folder.clone()], ..Reading::default() };
        let application = Application::read("test.click", &text, &reading).unwrap_or_else(|error| panic!("{}", error.render(false)));
        let placement = Placement::new(application.application(), &[]).unwrap();
        let at = application.application().instances.iter().position(|instance| instance.name == "f").unwrap();
        (placement.stages[at], placement.flow_shown(application.application()))
    };
    let (stage, shown) = flow("Senders6");
    assert!(stage == Stage::Replica && shown.contains("by the source address of IPv6"), "{shown}");
    let (stage, shown) = flow("Pairs6");
    assert!(stage == Stage::Replica && shown.contains("bytes 8 to 39 of the IP header"), "{shown}");
    std::fs::remove_dir_all(folder).unwrap();
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

/// Scratch variables and searches are of each replica; a lock behind them is held for runs of its
/// element only, one before them for bursts.
#[test]
fn elements_that_search_run_in_replicas_and_hold_no_lock_of_others() {
    for (config, searching, common, apart) in [
        ("classifier/classifier.click", "apps", &["protocols"][..], "protocols"),
        ("intruder/intruder.click", "search", &["fragments", "alert"], "alert"),
    ] {
        let application = of_apps(config).0;
        let placement = Placement::by_flow(application.application(), &[], &Policies::default()).unwrap();
        let named = |at: usize| application.application().instances[at].name.as_str();
        let shared: Vec<&str> = placement.of(Stage::Shared).map(named).collect();
        assert_eq!(shared, common, "{config}");
        assert!(placement.of(Stage::Replica).any(|at| named(at) == searching), "{config}");
        assert_eq!(placement.apart.iter().map(|at| named(*at as usize)).collect::<Vec<_>>(), [apart], "{config}");
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
    assert!(refused.to_string().starts_with("--state shard: `f` (Counter): "), "{refused}");
    assert!(place(&of("Lengths"), Policy::Affinity).unwrap_err().to_string().contains("FLOW_STATE does not hold"));
}
