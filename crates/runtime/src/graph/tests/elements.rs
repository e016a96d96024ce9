//! BuiltIn elements, with good and bad arguments.

use super::*;

#[test]
fn queues_drop_what_their_kind_drops() {
    let kinds = [("SimpleQueue", "3", "2"), ("FrontDropQueue", "3", "2"), ("NotifierQueue", "3", "2"), ("Queue", "3", "0")];
    for (kind, length, drops) in kinds {
        let text = format!("s :: InfiniteSource(LIMIT 5)\n q :: {kind}(3)\n i :: Idle\n s -> q -> i");
        assert_eq!(handlers(&text, &["q.length", "q.drops"]), [length, drops], "{kind}");
    }
    assert!(refusal("q :: Queue(many)").contains("CAPACITY"));
    assert!(refusal("q :: Queue(99999999999)").contains("up to"));
}

#[test]
fn a_full_queue_gives_to_output_1() {
    let text = "s :: InfiniteSource(LIMIT 5)\n q :: SimpleQueue(2)\n d :: Discard\n i :: Idle\n s -> q -> i\n q [1] -> d";
    assert_eq!(handlers(text, &["d.count"]), ["3"]);
}

#[test]
fn capacity_can_be_changed() {
    let text = "s :: InfiniteSource\n q :: Queue\n i :: Idle\n s -> q -> i
        m :: DriverManager(wait 0.02s | print s.count | write q.capacity 10 | print q.config | wait 0.02s | write q.capacity 1000 | wait 0.02s | print s.count | stop)";
    assert_eq!(printed(text), "1000\nCAPACITY 10\n1990\n");
}

#[test]
fn strides_are_proportions() {
    let text = "a :: InfiniteSource(\\<11>)\n b :: InfiniteSource(\\<22>)\n c :: InfiniteSource(\\<33>)\n s :: StrideSched(4 | 2 | 1)\n u :: Unqueue(LIMIT 70)\n d :: Discard
        a -> [0] s -> u -> d\n b -> [1] s\n c -> [2] s";
    assert_eq!(handlers(text, &["a.count", "b.count", "c.count"]), ["40", "20", "10"]);
    let text = text.replace("<11>)", "<11> | LIMIT 3)").replace("<22>)", "<22> | LIMIT 1)");
    assert_eq!(handlers(&text, &["a.count", "b.count", "c.count"]), ["3", "1", "66"]);
    assert!(refusal("s :: StrideSched(4)").contains("tickets"));
}

#[test]
fn schedulers_choose() {
    let with = |sched: &str| {
        format!(
            "a :: InfiniteSource(LIMIT 3)\n b :: InfiniteSource(LIMIT 3)\n s :: {sched}\n u :: Unqueue(LIMIT 4)\n d :: Discard\n a -> [0] s -> u -> d\n b -> [1] s"
        )
    };
    assert_eq!(handlers(&with("PrioSched"), &["a.count", "b.count"]), ["3", "1"]);
    assert_eq!(handlers(&with("RoundRobinSched"), &["a.count", "b.count"]), ["2", "2"]);
}

#[test]
fn rates_hold() {
    let text = "s :: InfiniteSource\n q :: Queue(10)\n u :: RatedUnqueue(RATE 2 | BURST_SIZE 50)\n d :: Discard\n s -> q -> u -> d
        r :: RatedSource(RATE 7)\n e :: Discard\n r -> e\n m :: DriverManager(wait 10 | stop)";
    let counts = handlers(text, &["d.count", "e.count"]);
    assert_eq!(counts[0], "69");
    assert!(["70", "71"].contains(&counts[1].as_str()), "{counts:?}");
    assert!(refusal("u :: RatedUnqueue").contains("RATE is missing"));
    assert!(refusal("u :: BandwidthRatedUnqueue(RATE fast)").contains("bandwidth"));
}

#[test]
fn a_shaper_gives_the_rest_to_output_1() {
    let text = "s :: InfiniteSource(LIMIT 100)\n h :: Shaper(1000)\n r :: RoundRobinSched\n t :: TimedSink(1ms)\n s -> h -> [0] r -> t\n h [1] -> [1] r
        m :: DriverManager(wait 150ms | print s.count | write h.rate 0 | write s.reset | wait 150ms | print s.count | stop)";
    assert_eq!(printed(text), "100\n100\n");
}

#[test]
fn sources_make_what_they_are_told() {
    let text = "s :: TimedSource(0.5 | \"abc\" | LIMIT 3 | STOP true)\n d :: Discard\n s -> d";
    assert_eq!(handlers(text, &["d.count", "s.data", "s.interval"]), ["3", "\"abc\"", "0.500000"]);
    assert!(refusal("s :: InfiniteSource(LENGTH 70000)").contains("LENGTH"));
    assert!(refusal("s :: InfiniteSource(a | 1 | 2 | true | more)").contains("too many"));
}

#[test]
fn at_the_limit_a_handler_is_written() {
    let text = "s :: InfiniteSource(LIMIT 4 | END_CALL p.run)\n q :: Queue\n i :: Idle\n s -> q -> i
        p :: Script(TYPE PASSIVE | write s.length 2 | write s.limit 9)\n m :: DriverManager(wait 1s | stop)";
    assert_eq!(handlers(text, &["s.count", "s.length", "q.length"]), ["9", "2", "9"]);
}

#[test]
fn early_drops_keep_a_queue_short() {
    let text =
        "s :: InfiniteSource(LIMIT 3000)\n r :: RED(5 | 50 | 0.5)\n q :: SimpleQueue(1000)\n u :: RatedUnqueue(RATE 100)\n d :: Discard
        s -> r -> q -> u -> d\n m :: DriverManager(wait 1s | stop)";
    let values = handlers(text, &["q.highwater_length", "q.drops", "r.queues"]);
    let most: u32 = values[0].parse().unwrap();
    assert!((50..400).contains(&most) && values[1] == "0" && values[2] == "q", "{values:?}");
    assert!(refusal("r :: RED(9 | 5 | 0.5)").contains("MIN_THRESH"));
    assert!(refusal("r :: RED(1 | 5)").contains("MAX_P is missing"));
}

#[test]
fn pulled_packets_are_copied() {
    let text =
        "s :: InfiniteSource(LIMIT 3)\n t :: PullTee\n a :: Discard\n b :: Discard\n c :: Discard\n s -> t -> a\n t [1] -> b\n t [2] -> c";
    assert_eq!(handlers(text, &["a.count", "b.count", "c.count"]), ["3", "3", "3"]);
    assert!(refusal("t :: PullTee(3)").contains("outputs"));
}

#[test]
fn messages_and_errors() {
    assert_eq!(told("m :: Message(\"a b\" | TYPE WARNING)"), "warning: a b\n");
    assert_eq!(refusal("e :: Error(\"not so\")"), "not so");
    assert_eq!(refusal("x :: Nonesuch"), "no class of elements is called 'Nonesuch'");
}

#[test]
fn captures_go_in_and_out() {
    let file = std::env::temp_dir().join(format!("netvm-graph-{}.pcap", std::process::id()));
    let name = file.display().to_string();
    let text =
        format!("s :: RatedSource(DATA \\<0a0b0c> | RATE 10 | LIMIT 4 | STOP true)\n t :: ToDump({name} | ENCAP IP | SNAPLEN 2)\n s -> t");
    let (mut made, _) = run(&application(&text, &[]));
    assert_eq!(made.finish(), []);
    let text = format!(
        "f :: FromDump({name} | STOP true)\n u :: Queue\n d :: Discard\n f -> u -> d\n m :: DriverManager(pause | print $(f.count) $(f.encap) $(now) | stop)"
    );
    let app = application(&text, &[]);
    let (mut read, console) = graph(&app, Settings::default()).unwrap();
    read.start();
    while read.turn() {}
    assert_eq!(console.written().0, "4 IP 1000000000.300000\n");
    assert_eq!(read.read("d.count", "", None).unwrap(), "4");
    std::fs::remove_file(file).unwrap();
    assert!(refusal("f :: FromDump(/nonesuch)").contains("/nonesuch"));
    assert!(refusal("f :: FromDevice(eth0)").contains("--map eth0=FILE"));
    assert!(refusal("t :: ToDump(/dev/null | ENCAP MARS)").contains("MARS"));
}

#[test]
fn a_sample_is_the_same_whatever_comes_between_its_packets() {
    let file = std::env::temp_dir().join(format!("netvm-sample-{}.pcap", std::process::id()));
    let name = file.display();
    let text = format!("s :: RatedSource(RATE 10 | LIMIT 60 | STOP true)\n t :: ToDump({name} | NANO false)\n s -> t");
    assert_eq!(run(&application(&text, &[])).0.finish(), []);
    let count = |others: &str| {
        let text = format!("f :: FromDump({name} | SAMPLE 0.5)\n d :: Discard\n f -> d\n{others}");
        run(&application(&text, &[])).0.read("d.count", "", None).unwrap()
    };
    let alone = count("");
    assert!((20..40).contains(&alone.parse().unwrap()), "{alone}");
    assert_eq!(count(&format!("g :: FromDump({name})\n h :: FromDump({name})\n e :: Discard\n g -> e\n h -> e")), alone);
    assert_eq!(std::fs::read(&file).unwrap()[..4], 0xa1b2_c3d4_u32.to_ne_bytes(), "times in microseconds");
    std::fs::remove_file(file).unwrap();
}

#[test]
fn packets_of_several_inputs_are_ordered_by_time() {
    let text = "a :: TimedSource(0.03 | LIMIT 3)\n b :: TimedSource(0.02 | LIMIT 3)\n qa :: Queue\n qb :: Queue\n t :: TimeSortedSched\n d :: Discard
        a -> qa -> [0] t -> d\n b -> qb -> [1] t";
    assert_eq!(handlers(text, &["d.count", "t.well_ordered"]), ["6", "true"]);
}

#[test]
fn summaries_are_read_and_written() {
    let lines =
        "1.5 1.0.0.1 30 10.0.0.4 40 T 41 'x'!2.000001 1.0.0.2 - 10.0.0.5 53 U - \"ab\\000\"!- - - - - I - -!3 9.9.9.9 - - - 99 100 -"
            .replace('!', "\n")
            .replace('\'', "\"");
    let file = std::env::temp_dir().join(format!("netvm-summary-{}", std::process::id()));
    std::fs::write(&file, format!("!data timestamp src sport dst dport proto ip_len payload\n# a remark\n{lines}\n")).unwrap();
    let text = format!(
        "f :: FromIPSummaryDump({} | CHECKSUM true)\n t :: ToIPSummaryDump(- | HEADER false | FIELDS timestamp src sport dst dport proto ip_len ip_ttl payload_len payload)\n f -> t",
        file.display()
    );
    let printed = printed(&text);
    let expected = [
        "1.500000 1.0.0.1 30 10.0.0.4 40 T 41 100 1 \"x\"",
        "2.000001 1.0.0.2 0 10.0.0.5 53 U 31 100 3 \"ab\\000\"",
        "1000000000.000002 0.0.0.0 - 0.0.0.0 - I 28 100 8 ",
        "3.000000 9.9.9.9 - 0.0.0.0 - 99 100 100 80 ",
    ];
    for (line, begins) in printed.lines().zip(expected) {
        assert!(line.starts_with(begins), "{line}\n{begins}");
    }
    assert_eq!(printed.lines().count(), 4);
    std::fs::remove_file(file).unwrap();
    assert!(refusal("t :: ToIPSummaryDump(- | FIELDS colour)").contains("no field 'colour'"));
    assert!(refusal("f :: FromIPSummaryDump(/nonesuch)").contains("/nonesuch"));
    assert!(told("f :: FromIPSummaryDump(DATA \"!data sport\\n70000\")\n d :: Discard\n f -> d").contains("sport cannot be '70000'"));
}

#[test]
fn counts_call_handlers() {
    let text = "s :: InfiniteSource(LIMIT 9)\n c :: CallingCounter(COUNT_CALL 3 m.step)\n d :: Discard\n s -> c -> d\n m :: Script(pause | print $(c.count))";
    assert_eq!(printed(text), "3\n");
    assert!(refusal("c :: CallingCounter(COUNT_CALL m.step)").contains("COUNT_CALL should be"));
}

#[test]
fn delays_are_kept() {
    let text = "s :: TimedSource(0.1 | LIMIT 2)\n q :: Queue\n h :: DelayShaper(0.25)\n d :: Discard\n s -> q -> h -> d
        m :: DriverManager(wait 0.34 | print d.count | wait 0.02 | print d.count | wait 0.1 | print d.count | stop)";
    assert_eq!(printed(text), "0\n1\n2\n");
    assert!(refusal("h :: DelayShaper").contains("DELAY is missing"));
}

#[test]
fn packets_in_memory_come_as_a_device_gives_them() {
    let app = application("f :: FromDevice(eth0)\n d :: Discard\n f -> d", &[]);
    let packets = [&[1u8, 2, 3][..], &[4]];
    let replays = [("eth0".to_owned(), Arc::new(super::super::Replay::new(packets, 3, 10)))].into();
    let (mut graph, _) = graph(&app, Settings { replays, ..Settings::default() }).unwrap();
    graph.start();
    while graph.turn() {}
    assert_eq!((graph.read("d.count", "", None).unwrap(), graph.stats().arrivals), ("6".to_owned(), 6));
}
