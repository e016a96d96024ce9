//! The order in which packets move.

use super::*;
use std::cell::RefCell;

/// Sends a copy by output 1, then the packet by output 0.
const TEE: (&str, &str) = (
    "tee",
    "segment .ports push_input in0 push_output out0 push_output out1 ends
     segment .push pop pkt.senddup out1 pkt.send out0 ends",
);

/// Pulls and passes on packets whose first byte is not 0.
const SIEVE: (&str, &str) = (
    "sieve",
    "segment .ports pull_input in0 pull_output out0 ends
     segment .pull pop pkt.receive in0 push 0 upload.8 j.eq nothing pkt.send out0 nothing: ret ends",
);

/// Passes on every packet.
const PASS: (&str, &str) = ("pass", "segment .ports push_input in0 push_output out0 ends segment .push pop pkt.send out0 ends");

#[test]
fn packets_reach_the_end() {
    let text = "s :: InfiniteSource(LIMIT 5)\n q :: Queue\n u :: Unqueue\n d :: Discard\n s -> q -> u -> d";
    assert_eq!(handlers(text, &["d.count", "q.length", "q.highwater_length", "s.count", "u.count"]), ["5", "0", "1", "5", "5"]);
}

#[test]
fn a_graph_runs_on_another_thread_than_made_it() {
    let text = "s :: InfiniteSource(LIMIT 5)\n p :: pass\n d :: Discard\n s -> p -> d";
    let (mut graph, _) = graph(&application(text, &[PASS]), Settings { simulated: true, ..Settings::default() }).unwrap();
    graph.start();
    let runs = std::thread::spawn(move || {
        while graph.turn() {}
        graph
    });
    assert_eq!(runs.join().unwrap().read("d.count", "", None).unwrap(), "5");
}

#[test]
fn copies_leave_first_and_go_as_far_as_they_can() {
    let text = "s :: InfiniteSource(LIMIT 2)\n t :: tee\n a :: Script(print $input a)\n b :: Script(print b)\n da :: Discard\n db :: Discard\n s -> t -> a -> da\n t [1] -> b -> db";
    let (_, console) = run(&application(&text.replace("print $input a", "print 'a'").replace("print b", "print 'b'"), &[TEE]));
    assert_eq!(console.written().0, "b\na\nb\na\n");
}

#[test]
fn programs_are_pulled_through() {
    let text = "s :: InfiniteSource(DATA \\<01 02> | LIMIT 3)\n z :: InfiniteSource(DATA \\<00> | LIMIT 4)\n q :: Queue\n p :: sieve\n d :: Discard\n s -> q -> p -> d\n z -> q";
    let app = application(text, &[SIEVE]);
    let (mut graph, _) = run(&app);
    assert_eq!(graph.read("d.count", "", None).unwrap(), "3");
    let stats = graph.stats();
    assert_eq!((stats.nodes[3].2.packets, stats.nodes[3].2.drops.values().sum::<u64>()), (7, 4));
}

#[test]
fn what_leads_back_is_dropped_in_the_end() {
    let text = "s :: InfiniteSource(LIMIT 2)\n p :: pass\n q :: pass\n s -> p -> q\n q ~> p";
    let (graph, _) = run(&application(text, &[PASS]));
    let stats = graph.stats();
    assert_eq!(stats.nodes[1].2.packets, 2 * 17);
    assert_eq!(stats.nodes[2].2.drops.get("led back too often"), Some(&2));
}

#[test]
fn a_trap_drops_its_packet_and_says_where() {
    let text = "s :: InfiniteSource(DATA \\<00> | LIMIT 3)\n p :: bad\n d :: Discard\n s -> p -> d";
    let bad = ("bad", "segment .ports push_input in0 push_output out0 ends segment .push pop push 9 upload.8 pop pkt.send out0 ends");
    let (graph, _) = run(&application(text, &[bad]));
    let node = &graph.stats().nodes[1].2;
    assert_eq!((node.packets, node.traps), (3, 3));
    assert!(node.drops.keys().next().unwrap().contains("access outside the packet"), "{node:?}");
}

#[test]
fn outputs_that_lead_nowhere_drop() {
    let text = "s :: InfiniteSource(LIMIT 3)\n p :: pass\n s -> p";
    let (graph, _) = run(&application(text, &[PASS]));
    assert_eq!(graph.stats().nodes[1].2.drops.get("output not connected"), Some(&3));
}

#[test]
fn a_long_chain_is_no_recursion() {
    let mut text = String::from("s :: InfiniteSource(LIMIT 1)\n d :: Discard\n");
    let chain: Vec<String> = (0..5000).map(|n| format!("p{n}")).collect();
    chain.iter().for_each(|name| text += &format!("{name} :: pass\n"));
    text += &format!("s -> {} -> d", chain.join(" -> "));
    let (mut graph, _) = run(&application(&text, &[PASS]));
    assert_eq!(graph.read("d.count", "", None).unwrap(), "1");
}

#[test]
fn pulling_through_too_many_elements_is_a_counted_drop() {
    let mut text = String::from("s :: InfiniteSource(LIMIT 1)\n q :: Queue\n d :: Discard\n");
    let chain: Vec<String> = (0..1000).map(|n| format!("p{n}")).collect();
    chain.iter().for_each(|name| text += &format!("{name} :: PrioSched\n"));
    text += &format!("s -> q -> {} -> d", chain.join(" -> "));
    let (graph, _) = run(&application(&text, &[]));
    assert!(graph.stats().nodes.iter().any(|node| node.2.drops.contains_key("pulled through too many elements")));
}

#[test]
fn an_endless_source_does_not_keep_timers_waiting() {
    let text = "s :: InfiniteSource\n d :: Discard\n m :: DriverManager(wait 0.01s | stop)\n s -> d";
    let (graph, _) = run(&application(text, &[]));
    assert!(graph.has_ended());
}

/// Six elements behind one another that send nine copies each: of a million, as many as may be.
#[test]
fn copies_of_copies_are_bounded_and_counted() {
    let source = format!(
        "segment .ports push_input in0 push_output out0 ends segment .push pop {} pkt.send out0 ends",
        "pkt.senddup out0 ".repeat(9)
    );
    let elements: String = (0..6).map(|n| format!("t{n} :: tees\n")).collect();
    let text = format!("s :: InfiniteSource(LIMIT 2)\n{elements} d :: Discard\n s -> t0 -> t1 -> t2 -> t3 -> t4 -> t5 -> d");
    let (mut graph, _) = run(&application(&text, &[("tees", &source)]));
    let limit = u64::from(crate::graph::flow::MAX_WAY_COPIES);
    // Each packet that arrived is counted anew, and goes on itself.
    assert_eq!(graph.read("d.count", "", None).unwrap(), (2 * (limit + 1)).to_string());
    let dropped: u64 = graph.stats().nodes.iter().filter_map(|node| node.2.drops.get("too many copies of one packet")).sum();
    assert!(dropped > 2 * 9, "{dropped}");
}

/// A host that asks for the end from the beginning.
struct Ending;

impl Host for Ending {
    fn write(&mut self, _: Stream, _: &[u8]) {}

    fn stops(&self) -> bool {
        true
    }
}

#[test]
fn elements_are_not_made_once_the_run_is_to_end() {
    let made = RefCell::new(0);
    let engine = |program| {
        *made.borrow_mut() += 1;
        interpreter(program)
    };
    let factories = Factories { engine: &engine, coprocessor: &crate::coproc::make, table: &crate::coproc::tables::make_for };
    let application = application("s :: InfiniteSource(LIMIT 1)\n p :: pass\n s -> p", &[PASS]);
    let refused = Graph::new(&application, &factories, Settings::default(), Box::new(Ending)).map(|_| ()).unwrap_err();
    assert_eq!((refused.len(), made.take()), (1, 0));
}
