//! Configurations with the elements that netvm itself has: sources, queues, schedulers, shapers,
//! captures.

/// As [`super::CONFIGURATIONS`].
pub const RUNTIMES: [(&str, &str, &[&str]); 27] = [
    (
        "a stretch of a capture, a part of it, its first bytes",
        "a :: FromDump(IN, START_AFTER 0.5, INTERVAL 0.15, SAMPLE 0.3, STOP true) -> Queue(5000) -> o :: ToDump(OUT0);
         b :: FromDump(IN, SNAPLEN 50, END_AFTER 0.7) -> c :: Counter -> Queue(5000) -> ToDump(OUT1, SNAPLEN 48);",
        &["a.count", "b.count", "c.byte_count", "o.count"],
    ),
    (
        "IP packets alone, and the others",
        "f :: FromDump(IN, FORCE_IP true, STOP true) -> d :: DecIPTTL -> Queue(5000) -> ToDump(OUT0); f[1] -> Queue(5000) -> ToDump(OUT1);",
        &["f.count", "d.drops"],
    ),
    (
        "captures that are pulled, IP packets of one",
        "FromDump(IN, STOP true) -> a :: Counter -> Unqueue(3) -> ToDump(OUT0);
         f :: FromDump(IN, FORCE_IP true, SAMPLE 0.5) -> MarkEtherHeader -> b :: Counter -> ToDump(OUT1, ENCAP PPP, NANO false); f[1] -> c :: Counter -> Discard;",
        &["a.count", "b.count", "c.count", "f.count"],
    ),
    (
        "captures that packets pass by, whose lengths are those captured",
        "FromDump(IN, SNAPLEN 60, STOP true) -> ToDump(OUT0, 40, EXTRA_LENGTH false) -> Queue(50) -> ToDump(OUT1, NANO false, SNAPLEN 0) -> a :: Counter -> d :: Discard;",
        &["a.count", "d.count"],
    ),
    (
        "a source that ends the run before the other is at its end",
        "FromDump(IN, END_AFTER 0.3, STOP true) -> q :: Queue(4000) -> Shaper(100) -> ToDump(OUT0); FromDump(IN,) -> p :: Queue(4000) -> ToDump(OUT1);",
        &["q.length", "q.highwater_length", "p.length"],
    ),
    (
        "packets as fast as they are taken, until a queue is full",
        "s :: InfiniteSource(\\<00 01 02 03 04 05>, 500, 7, LENGTH 60) -> q :: Queue(4) -> Unqueue(3) -> ToDump(OUT0);
         InfiniteSource(DATA \"a \\\"quoted\\\" text\", LIMIT 90, TIMESTAMP false) -> r :: SimpleQueue(8) -> ToDump(OUT1); InfiniteSource(LIMIT 9) -> p :: Counter -> Discard;",
        &["s.count", "q.drops", "q.highwater_length", "r.highwater_length", "r.drops", "p.count"],
    ),
    (
        "packets every so often and at a rate, until one asks for the end",
        "t :: TimedSource(0.003, \"every so often, and longer\", LIMIT 400) -> Queue -> ToDump(OUT0); r :: RatedSource(\"at a rate\", RATE 700, LIMIT 900, STOP true) -> Queue -> ToDump(OUT1);
         b :: RatedSource(LENGTH 100, BANDWIDTH 20kBps) -> c :: Counter -> Discard;",
        &["t.count", "r.count", "b.count", "c.byte_count"],
    ),
    (
        "packets at a rate beside a capture, whose first packet makes the time",
        "FromDump(IN, STOP true) -> Paint(1) -> r :: RoundRobinSwitch; s :: RatedSource(RATE 700, LIMIT 900) -> Paint(2) -> r; t :: RatedSource(LENGTH 40, RATE 31) -> Strip(1) -> r;
         r[0] -> ToDump(OUT0); r[1] -> ToDump(OUT1); r[2] -> a :: Counter -> Discard;",
        &["s.count", "t.count", "a.count"],
    ),
    (
        "made packets that are pulled",
        "InfiniteSource(LIMIT 100, STOP true) -> Unqueue -> ToDump(OUT0); RatedSource(RATE 100000, LIMIT 60) -> a :: Counter -> ToDump(OUT1);",
        &["a.count"],
    ),
    (
        "inputs in turn, and the first of them",
        "FromDump(IN, STOP true) -> h :: HashSwitch(26, 4); h[0] -> a :: Queue(20) -> [0]s :: RoundRobinSched; h[1] -> Queue(20) -> [1]s; h[2] -> Queue(20) -> Strip(40) -> MarkIPHeader(100) -> DecIPTTL -> [2]s;
         s -> Shaper(600) -> [0]p :: PrioSched; h[3] -> Queue(9) -> [1]p; p -> t :: PullTee -> ToDump(OUT0); t[1] -> Queue -> ToDump(OUT1);",
        &["a.drops", "a.highwater_length"],
    ),
    (
        "inputs by their tickets",
        "FromDump(IN, STOP true) -> h :: HashSwitch(26, 3); h[0] -> Queue(200) -> a :: Counter -> [0]s :: StrideSched(5, 2, 100000); h[1] -> Queue(200) -> b :: Counter -> [1]s; h[2] -> Queue(200) -> c :: Counter -> [2]s;
         s -> BandwidthShaper(100kBps, BURST_BYTES 3000) -> ToDump(OUT0);",
        &["a.count"],
    ),
    (
        "inputs by packets' times",
        "a :: FromDump(IN, SAMPLE 0.5) -> Strip(14) -> Unstrip(14) -> [0]s :: TimeSortedSched(STOP true, BUFFER 3); b :: FromDump(IN, START_AFTER 1) -> [1]s;
         s -> Unqueue -> ToDump(OUT0);",
        &["a.count", "s.well_ordered"],
    ),
    (
        "the oldest packet goes, or packets enter in front",
        "FromDump(IN, STOP true) -> h :: HashSwitch(26, 3); h[0] -> f :: FrontDropQueue(5) -> RatedUnqueue(100) -> ToDump(OUT0); f[1] -> g :: Counter -> Discard;
         h[1] -> m :: MixedQueue(8) -> Shaper(90, BURST_SIZE 3) -> ToDump(OUT1); h[2] -> [1]m; m[1] -> o :: Counter -> Discard;",
        &["g.count", "o.count", "m.drops", "m.length", "f.length", "f.drops", "f.highwater_length"],
    ),
    (
        "bytes at a rate, pushed",
        "FromDump(IN, STOP true) -> q :: Queue(30) -> BandwidthRatedUnqueue(120kBps) -> a :: Counter -> Queue -> DelayShaper(0) -> ToDump(OUT0);
         q[1] -> Queue -> r :: RatedUnqueue(50) -> Queue -> DelayShaper(0) -> ToDump(OUT1);",
        &["a.count", "a.byte_count", "q.drops", "r.rate"],
    ),
    (
        "what a shaper does not let through",
        "FromDump(IN, STOP true) -> q :: Queue(30) -> s :: Shaper(300) -> ToDump(OUT0); s[1] -> Unqueue -> a :: Counter -> ToDump(OUT1);",
        &["a.count", "q.highwater_length", "s.rate"],
    ),
    (
        "packets some time after their own",
        "FromDump(IN,) -> Queue(5000) -> DelayShaper(0.25) -> a :: Counter -> ToDump(OUT0); FromDump(IN, END_AFTER 0.1) -> Queue -> ToDump(OUT1);",
        &["a.count"],
    ),
    (
        "packets that are dropped early, pushed and pulled",
        "FromDump(IN, STOP true) -> r :: RED(2, 8, 0.2, STABILITY 2) -> q :: Queue(20) -> Shaper(400) -> ToDump(OUT0); r[1] -> a :: Counter -> p :: Queue(40)
           -> s :: RED(1, 4, 0.4, GENTLE false, QUEUES \"p q\") -> Shaper(150) -> ToDump(OUT1); s[1] -> b :: Counter -> Discard;",
        &["r.drops", "s.drops", "a.count", "b.count", "q.drops", "p.highwater_length"],
    ),
    (
        "packets that are pulled and dropped, by bursts and by time",
        "FromDump(IN, STOP true) -> h :: HashSwitch(26, 3); h[0] -> a :: Queue(9) -> d :: Discard(BURST 4); h[1] -> b :: Queue(9) -> ToDump(OUT0); h[2] -> e :: Queue(9) -> n :: Discard(ACTIVE false);",
        &["a.highwater_length", "d.count", "b.drops", "e.length", "n.count"],
    ),
    (
        "a packet that is pulled every so often",
        "t :: TimedSource(0.1, LIMIT 100, STOP true) -> q :: Queue(9) -> c :: Counter -> TimedSink(0.25s); q[1] -> ToDump(OUT0);",
        &["t.count", "q.drops", "c.count"],
    ),
    (
        "what happens every so often beside a capture",
        "FromDump(IN, STOP true) -> q :: Queue(5000) -> c :: Counter -> TimedSink(0.001); t :: TimedSource(0.003, LIMIT 400) -> ToDump(OUT0) -> Queue -> ToDump(OUT1);",
        &["q.length", "c.count", "t.count"],
    ),
    (
        "what still moves when the end is asked for",
        "s :: InfiniteSource(LIMIT 500, BURST 500, STOP true) -> q :: Queue -> ToDump(OUT0);",
        &["s.count", "q.length"],
    ),
    (
        "tasks behind one whose packet traps",
        "FromDump(IN, STOP true) -> t :: Tee(3); t[0] -> Truncate(40) -> a :: Queue; t[1] -> a; t[2] -> b :: Queue; a -> MarkIPHeader(14) -> DecIPTTL -> Unqueue -> m :: Queue -> ToDump(OUT0);
         b -> Strip(14) -> Unqueue -> m;",
        &["m.highwater_length"],
    ),
    (
        "a table of another element, which two look into",
        "t :: ARPTable; b :: ARPQuerier(10.0.0.2, 2:2:2:2:2:2, TABLE t); FromDump(IN, STOP true) -> c :: Classifier(12/0800, -); c[1] -> Discard; c[0] -> Strip(14) -> CheckIPHeader -> GetIPAddress(16) -> h :: HashSwitch(18, 2);
         h[0] -> a :: ARPQuerier(10.0.0.1, 1:1:1:1:1:1, TABLE t); a[0] -> Queue -> ToDump(OUT0); a[1] -> ARPResponder(0.0.0.0/0 3:3:3:3:3:3) -> [1]b;
         h[1] -> b; b[0] -> Queue -> ToDump(OUT1); b[1] -> ARPResponder(0.0.0.0/0 4:4:4:4:4:4) -> [1]a;",
        &["a.queries", "b.queries", "a.responses", "b.responses"],
    ),
    (
        "mappings of another element",
        "FromDump(IN, STOP true) -> Strip(14) -> CheckIPHeader -> i :: IPClassifier(tcp or udp, -); i[1] -> Discard;
         i[0] -> w :: IPRewriter(pattern 1.0.0.1 1024-65535# - - 0 0); w[0] -> t :: Tee; t[0] -> Queue -> ToDump(OUT0, ENCAP IP);
         t[1] -> ICMPError(2.0.0.1, unreachable, host) -> ICMPRewriter(w) -> a :: Counter -> Queue -> ToDump(OUT1, ENCAP IP);",
        &["a.count"],
    ),
    (
        "text into a file, and on the console what traps leave",
        "FromDump(IN, STOP true) -> Strip(14) -> MarkIPHeader -> IPPrint(OUTFILE OUT1) -> Truncate(50) -> Print(seen, 8) -> IPPrint(CONTENTS HEX, OUTFILE OUT2) -> Queue -> ToDump(OUT0, ENCAP IP);",
        &[],
    ),
    (
        "a limit of packets",
        "FromDump(IN, STOP true) -> q :: Queue(100) -> u :: Unqueue(LIMIT 70) -> ToDump(OUT0); q[1] -> a :: Counter -> Discard; FromDump(IN, ACTIVE false) -> b :: Counter -> Discard;",
        &["q.length", "u.count", "a.count", "b.count"],
    ),
    (
        "bursts of packets that trap when they are pulled and when they are pushed",
        "FromDump(IN, STOP true) -> Strip(14) -> MarkIPHeader(40) -> Queue(50) -> RatedUnqueue(2000) -> Queue(500) -> DecIPTTL -> Unqueue(6) -> Strip(20) -> MarkIPHeader(0) -> a :: Counter
           -> d :: DecIPTTL -> ToDump(OUT0, ENCAP IP); Idle -> ToDump(OUT1);",
        &["a.count", "d.drops"],
    ),
];
