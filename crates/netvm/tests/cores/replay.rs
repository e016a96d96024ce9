//! Replicated state: each replica does to it what the packets of all do, and the result is that of
//! one graph, whatever flow the packets are of.

use super::*;
use netvm::application::Order;

/// Configurations whose elements must see all packets, and those that are replicated.
const REPLICATED: [(&str, &str, &[&str], &[&str]); 5] = [
    (
        "tables that all flows change, with what is only counted before and behind them",
        "FromDump(IN, STOP true) -> Strip(14) -> h :: CheckIPHeader -> f :: FlowCount -> p :: PortCount -> d :: DecIPTTL -> Unstrip(14) -> Queue(100000) -> ToDump(OUT0);
         Idle -> Queue -> ToDump(OUT1);",
        &["h.drops", "f.flows", "f.uncounted", "f.counts.count", "p.others", "d.drops"],
        &["f", "p"],
    ),
    (
        "outputs in turn, whose packets meet again in another one",
        "FromDump(IN, STOP true) -> r :: RoundRobinSwitch -> Paint(1) -> c :: Counter -> s :: RoundRobinSwitch -> Queue -> ToDump(OUT0); s[1] -> k :: Discard; s[2] -> Queue -> ToDump(OUT1);
         r[1] -> Paint(2) -> c; r[2] -> Truncate(40) -> [0]s;",
        &["c.count", "c.byte_count", "k.count"],
        &["r", "s"],
    ),
    (
        "ports that are chosen at random",
        "FromDump(IN, STOP true) -> Strip(14) -> CheckIPHeader -> c :: IPClassifier(tcp or udp, -) -> r :: IPRewriter(pattern 1.0.0.1 1024-65535 - - 0 0) -> Unstrip(14) -> Queue -> ToDump(OUT0);
         c[1] -> Unstrip(14) -> Queue -> ToDump(OUT1);",
        &["r.size", "r.nmappings"],
        &["r"],
    ),
    (
        "stations that are learnt, and frames that are flooded",
        "FromDump(IN, STOP true) -> h :: HashSwitch(6, 2); h[0] -> [0] s :: EtherSwitch -> Queue -> ToDump(OUT0); h[1] -> [1] s; s[1] -> Queue -> ToDump(OUT1);",
        &["s.stations.count", "s.table"],
        &["s"],
    ),
    (
        "timers and packets that wait, which run in order",
        "FromDump(IN, STOP true) -> r :: RoundRobinSwitch -> q :: Queue -> DelayUnqueue(1ms) -> Queue -> ToDump(OUT0); r[1] -> Queue -> ToDump(OUT1); r[2] -> q;",
        &["q.drops"],
        &["r"],
    ),
];

#[test]
fn replicas_with_the_state_of_all_packets_give_what_one_graph_gives() {
    let folder = folder("replay");
    let input = folder.join("in.pcap");
    for (name, text, reads, replicated) in REPLICATED {
        let wanted = run(text, reads, engines::find("interp").unwrap(), &folder, &input);
        assert!(wanted.captures.iter().flatten().any(|file| file.len() > 1000), "{name}: nothing was written");
        for engine in engines_there() {
            for replicas in if *engine == "aot" { &[2][..] } else { &[1, 2, 3, 5] } {
                let (found, _, shown) = run_on(text, reads, (PlacementMode::Replicate, *replicas), engine, &[], &folder, &input);
                for element in replicated {
                    let line = shown.lines().find(|line| line.starts_with(&format!("  {element} ::"))).unwrap_or_default();
                    assert!(line.ends_with("each replica has the state of all packets"), "{name}: {shown}");
                }
                assert_same(&found, &wanted, &format!("{name}, {replicas} replicas, {engine}"));
            }
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// What does not fit stays where it was, with the reason.
#[test]
fn what_is_replicated_is_asked_for_and_fits() {
    let place = |text: &str, policies: &[(Option<&str>, Policy)], order| {
        let application = Application::read("test.click", text, &reading()).unwrap_or_else(|e| panic!("{e}"));
        let policies = Policies(policies.iter().map(|(of, policy)| (of.map(str::to_owned), *policy)).collect());
        let placed = match order {
            Order::Total => Placement::total(application.application(), &[], &policies),
            Order::Flow => Placement::by_flow(application.application(), &[], &policies),
        };
        placed.map(|placement| placement.explain(application.application(), Some(2)))
    };
    let text = "FromDump(x) -> r :: RoundRobinSwitch -> Strip(14) -> a :: ARPResponder(1.0.0.1 1:1:1:1:1:1) -> f :: FlowCount -> Queue -> Discard; r[1] -> Discard";
    let shown = place(text, &[(None, Policy::Replicate)], Order::Total).unwrap();
    assert!(shown.contains("packets go to all replicas"), "{shown}");
    let shown = place(text, &[(Some("FlowCount"), Policy::Replicate)], Order::Total).unwrap();
    assert!(shown.contains("  f :: FlowCount: behind such elements") && shown.contains("packets go to any replica"), "{shown}");
    let shown = place(text, &[], Order::Total).unwrap();
    assert!(shown.contains("  f :: FlowCount: it"), "{shown}");
    let fault = |policies, order| place(text, policies, order).unwrap_err();
    assert!(fault(&[(Some("x"), Policy::Replicate)], Order::Total).to_string().contains("--state x: no element has that name"));
    assert!(fault(&[(None, Policy::Lock)], Order::Total).to_string().contains("are for --order flow"));
    assert!(fault(&[(None, Policy::Replicate)], Order::Flow).to_string().contains("leave out --order flow"));
}

/// What is written while packets flow, all replicas write between the same two packets: numbers
/// begin again where one of them does.
#[test]
fn replicas_write_at_the_same_place() {
    let folder = folder("agreed");
    let (input, out) = (folder.join("many.pcap"), folder.join("out"));
    std::fs::write(&input, graphs::capture_of(60_000)).unwrap();
    let text = placed("FromDump(IN, STOP true) -> n :: Number -> Queue(100000) -> ToDump(OUT0, SNAPLEN 4)", &input, &out);
    let application = Application::read("test.click", &text, &reading()).unwrap_or_else(|e| panic!("{e}"));
    let placement = Placement::total(application.application(), &[], &Policies(vec![(None, Policy::Replicate)])).unwrap();
    let (jit, settings) = (engines::find("jit").unwrap(), Settings::default());
    let mut cores =
        application.start_on(placement, 3, jit, unkept(), settings, Box::new(Kept::default())).unwrap_or_else(|e| panic!("{e}"));
    cores.start();
    let mut turns = 0;
    while cores.turn() {
        turns += 1;
        if turns % 4 == 0 {
            cores.graph().write("n.reset", "", None).unwrap();
        }
    }
    // The sources' thread first: what it hands to several is one packet.
    assert!(cores.threads().iter().take(4).all(|thread| thread.packets == 60_000), "{:?}", cores.threads());
    assert!(cores.finish().is_empty());
    let mut capture = runtime::io::Capture::from_bytes(std::fs::read(format!("{}0", out.display())).unwrap()).unwrap();
    let mut numbers: Vec<u32> = Vec::new();
    while let Some(burst) = capture.next_burst(64).unwrap() {
        numbers.extend(burst.records().map(|record| u32::from_be_bytes(record.data[..4].try_into().unwrap())));
    }
    assert_eq!(numbers.len(), 60_000);
    let begins = numbers.iter().filter(|number| **number == 0).count();
    assert!(begins > 2 && numbers.windows(2).all(|two| two[1] == two[0] + 1 || two[1] == 0), "{begins} beginnings");
    std::fs::remove_dir_all(folder).unwrap();
}
