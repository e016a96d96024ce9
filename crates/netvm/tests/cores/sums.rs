//! Tables that packets only add to: each replica has one of its own, and handlers tell the sums.

use super::graphs::{Kept, engines as unkept, placed, reading, run};
use super::{PlacementMode, assert_same, engines_there, folder, run_on};
use netvm::application::{Application, Placement, Policies, Policy, Settings, Sort, Stage};
use netvm::engines;

const LENGTHS: &str = "FromDump(IN, STOP true) -> f :: LengthCount -> q :: Queue -> ToDump(OUT0); Idle -> Queue -> ToDump(OUT1);";
const READS: [&str; 7] = ["f.all", "f.uncounted", "f.packets", "f.sums", "f.counts.count", "f.counts.list", "f.counts.dump"];

fn application(text: &str) -> Application {
    Application::read("test.click", text, &reading()).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn it_is_told_that_each_replica_has_one_and_what_it_costs() {
    let application = application(&LENGTHS.replace("OUT", "out").replace("IN,", "in.pcap,"));
    let policies = Policies(vec![(Some("f".to_owned()), Policy::Shard)]);
    let total = Placement::total(application.application(), &[], &policies);
    let flow = Placement::by_flow(application.application(), &[], &policies);
    for placement in [total, flow] {
        let placement = placement.unwrap_or_else(|why| panic!("{why}"));
        let at = application.application().instances.iter().position(|instance| instance.name == "f").unwrap();
        assert_eq!(placement.stages[at], Stage::Replica);
        let items = placement.items(application.application());
        let table = items.iter().find(|item| item.is_table && item.element == "f").unwrap();
        assert_eq!((&table.sort, &table.cheaper, &table.why), (&Sort::Sum, &None, &None), "{table}");
        assert!(table.line.is_some_and(|line| (28..32).contains(&line)), "{table}");
        assert!(table.shared.contains("they are added when they are read"), "{table}");
    }
}

#[test]
fn handlers_tell_what_one_table_would() {
    let folder = folder("sums");
    let input = folder.join("in.pcap");
    let wanted = run(LENGTHS, &READS, engines::find("interp").unwrap(), &folder, &input);
    assert!(wanted.counts[4].parse::<u32>().unwrap() > 3 && wanted.counts[5].lines().count() > 3, "{:?}", wanted.counts);
    for engine in engines_there() {
        for replicas in if *engine == "aot" { &[2][..] } else { &[1, 2, 3, 5] } {
            let (found, _, shown) = run_on(LENGTHS, &READS, (PlacementMode::Total, *replicas), engine, &[], &folder, &input);
            assert!(shown.contains("packets go to any replica"), "{shown}");
            assert_same(&found, &wanted, &format!("{replicas} replicas, {engine}"));
            for policy in [Policy::Auto, Policy::Shard] {
                let (found, ..) = run_on(LENGTHS, &READS, (PlacementMode::Flow(policy), *replicas), engine, &[], &folder, &input);
                assert_eq!(found.counts, wanted.counts, "{replicas} replicas, order of flows, {engine}");
            }
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// What one thread, and several, say after writes.
fn written(folder: &std::path::Path, text: &str, place: Option<(bool, usize)>, writes: &[(&str, &str)]) -> Vec<String> {
    let out = folder.join(format!("w{place:?}").replace(|c: char| !c.is_alphanumeric(), ""));
    let application = application(&placed(text, &folder.join("in.pcap"), &out));
    let engine = engines::find("jit").unwrap();
    let host = Box::new(Kept::default());
    let told = |graph: &mut netvm::application::Graph| {
        let write = |graph: &mut netvm::application::Graph, (handler, value): &(&str, &str)| match graph.write(handler, value, None) {
            Ok(()) => "done".to_owned(),
            Err(why) => why.to_string(),
        };
        let written: Vec<String> = writes.iter().map(|it| write(graph, it)).collect();
        let read = READS.iter().map(|handler| graph.read(handler, "", None).unwrap_or_else(|why| why.to_string()));
        written.into_iter().chain(read).collect::<Vec<String>>()
    };
    let Some((by_flow, replicas)) = place else {
        let mut graph = application.start(engine, unkept(), Settings::default(), host).unwrap_or_else(|e| panic!("{e}"));
        graph.start();
        while graph.turn() {}
        return told(&mut graph);
    };
    let placement = if by_flow {
        Placement::by_flow(application.application(), &[], &Policies::default())
    } else {
        Placement::new(application.application(), &[])
    };
    let placement = placement.unwrap_or_else(|why| panic!("{why}"));
    let mut cores =
        application.start_on(placement, replicas, engine, unkept(), Settings::default(), host).unwrap_or_else(|e| panic!("{e}"));
    cores.start();
    while cores.turn() {}
    told(cores.graph())
}

/// An entry is entered once and taken out of all, whichever replicas have a part of it; a handler
/// that chooses a key finds the sums of that.
#[test]
fn entries_are_written_as_in_one_table() {
    let folder = folder("written");
    let lengths = run(LENGTHS, &READS, engines::find("interp").unwrap(), &folder, &folder.join("in.pcap")).counts;
    let known = |n: usize| lengths[5].lines().nth(n).unwrap().split_once(' ').unwrap().0.to_owned();
    let length = |n: usize| u16::from_str_radix(&known(n), 16).unwrap().to_string();
    let (chosen, added) = (length(0), format!("{} {}", known(1), "050000000000000007000000"));
    let named = format!("key={} -> packets=3 bytes=9", length(2));
    let writes = [
        ("f.length", &chosen[..]),
        ("f.counts.add", &added),
        ("f.counts.remove", &known(3)),
        ("f.counts.remove", "fffe"),
        ("f.counts.add", "fffd 010000000000000002000000"),
        ("f.counts.add", "nonsense"),
        ("q.counts.remove", "fffd"),
        ("f.counts.add", &named),
    ];
    let wanted = written(&folder, LENGTHS, None, &writes);
    assert!(wanted[0] == "done" && wanted[1] == "done" && wanted[2] == "done" && wanted[4] == "done", "{wanted:?}");
    assert!(wanted[3] != "done" && wanted[5] != "done" && wanted[6] != "done" && wanted[10] != "0", "{wanted:?}");
    for place in [(false, 1), (false, 3), (true, 1), (true, 3)] {
        assert_eq!(written(&folder, LENGTHS, Some(place), &writes), wanted, "{place:?}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}
