//! Configurations whose packets are made by an element whenever it has a turn: some go in bursts,
//! in the others that could be told.

/// As [`super::CONFIGURATIONS`].
pub const MADE: [(&str, &str, &[&str]); 26] = [
    (
        "packets whose times are written",
        "s :: InfiniteSource(LIMIT 3000, STOP true) -> a :: Counter -> Strip(1) -> d :: ToDump(OUT0);",
        &["s.count", "a.byte_count", "d.count"],
    ),
    (
        "several packets a turn, which part and meet",
        "s :: InfiniteSource(\\<00 01 02 03 04 05>, 3001, 7, LENGTH 60) -> r :: RoundRobinSwitch; r[0] -> Paint(1) -> k :: Counter -> ToDump(OUT0);
         r[1] -> Strip(1) -> k; r[2] -> Strip(2) -> t :: Tee -> k; t[1] -> ToDump(OUT1);",
        &["s.count", "k.byte_count"],
    ),
    (
        "more packets a turn than go in a burst",
        "s :: InfiniteSource(LIMIT 7100, BURST 2000) -> Strip(3) -> a :: Counter -> ToDump(OUT0); TimedSource(0.000002, made, LIMIT 9) -> ToDump(OUT1);",
        &["s.count", "a.byte_count"],
    ),
    (
        "queues that are emptied on the way",
        "s :: InfiniteSource(LIMIT 3000) -> a :: Counter -> q :: Queue(5) -> Unqueue -> Strip(1) -> b :: Counter -> o :: Queue(3) -> Unqueue(BURST 4) -> Paint(1)
         -> c :: Counter -> p :: Queue -> ToDump(OUT0);",
        &["a.count", "b.count", "c.byte_count", "q.drops", "o.drops", "q.length", "p.length", "q.highwater_length", "o.highwater_length", "p.highwater_length"],
    ),
    (
        "a queue whose task has its turn before the packets come",
        "q :: Queue -> u :: Unqueue -> Strip(1) -> ToDump(OUT0); s :: InfiniteSource(LIMIT 2000) -> a :: Counter -> q;
         Script(TYPE ACTIVE, wait 0.3ms, write s.limit 900, wait 1ms, write s.limit 1000);",
        &["a.count", "q.length", "q.highwater_length", "u.count"],
    ),
    (
        "ways of queues that meet where the order tells",
        "s :: InfiniteSource(LIMIT 2000) -> h :: RoundRobinSwitch; h[0] -> Queue -> Unqueue -> Paint(1) -> r :: RoundRobinSwitch; h[1] -> Strip(1) -> Queue(9) -> Unqueue -> r; h[2] -> r;
         r[0] -> q :: Queue(2) -> ToDump(OUT0); r[1] -> Queue -> Unqueue -> k :: Counter -> Queue -> ToDump(OUT1); r[2] -> Discard;",
        &["k.byte_count", "q.drops", "q.highwater_length"],
    ),
    (
        "copies that fill a queue faster than it is emptied",
        "s :: InfiniteSource(LIMIT 900) -> Strip(1) -> t :: Tee(3); t[0] -> q :: Queue(40) -> u :: Unqueue -> ToDump(OUT0); t[1] -> q; t[2] -> p :: SimpleQueue(50) -> Unqueue -> Discard;",
        &["s.count", "q.drops", "q.length", "p.drops", "u.count"],
    ),
    (
        "queues that get full, one of which is waited for",
        "s :: InfiniteSource(LIMIT 4000, BURST 5) -> r :: RoundRobinSwitch; r[0] -> q :: Queue(100) -> Idle; r[1] -> Strip(1) -> p :: Queue(1000) -> Idle; r[2] -> o :: SimpleQueue(3) -> Idle;
         r[3] -> a :: Counter -> ToDump(OUT0);",
        &["s.count", "q.drops", "p.drops", "o.drops", "a.count"],
    ),
    (
        "copies into queues that get full",
        "s :: InfiniteSource(LIMIT 4000) -> t :: Tee(3); t[0] -> Strip(1) -> q :: Queue(100) -> Idle; t[1] -> q; t[2] -> ToDump(OUT0);",
        &["s.count", "q.drops"],
    ),
    (
        "a queue that is emptied no further than to a limit",
        "s :: InfiniteSource -> a :: Counter -> Strip(1) -> q :: Queue(2000) -> u :: Unqueue(LIMIT 700) -> ToDump(OUT0); DriverManager(wait 5ms, stop);",
        &["s.count", "a.count", "q.length", "q.drops", "u.count", "q.highwater_length"],
    ),
    (
        "text of scripts that look at elements between packets, and change them",
        "s :: InfiniteSource(\\<01 02 03 04>) -> a :: Counter -> Strip(1) -> q :: Queue(400) -> u :: Unqueue -> b :: AverageCounter -> ToDump(OUT0);
         Script(TYPE ACTIVE, wait 0.07ms, print $(a.count) $(b.count) $(q.length) $(b.rate), loop);
         DriverManager(wait 0.5ms, write s.active false, print $(s.count), wait 0.2ms, write s.data 0123456789, write s.active true, wait 0.4ms, write s.burst 3, print $(s.count),
           wait 0.5005ms, write u.active false, wait 0.9ms, print $(s.count) $(q.length) $(q.drops), write u.active true, write s.burst 1, wait 0.3ms, write s.reset, wait 1us, print $(s.count) $(q.length));",
        &["s.count", "a.count", "a.byte_count", "b.count", "q.length", "q.drops"],
    ),
    (
        "text of a script that is called at the end",
        "s :: InfiniteSource(LIMIT 1500, END_CALL t.run) -> a :: Counter -> Strip(1) -> ToDump(OUT0); t :: Script(TYPE PASSIVE, print $(a.count) $(s.count));",
        &["a.count"],
    ),
    (
        "packets that are made at times between those of turns",
        "InfiniteSource(LIMIT 3000, STOP true) -> Paint(1) -> r :: RoundRobinSwitch; TimedSource(0.00013, made) -> Paint(2) -> r; r[0] -> a :: Counter -> ToDump(OUT0);
         r[1] -> Strip(1) -> b :: Counter -> ToDump(OUT1); r[2] -> Discard;",
        &["a.byte_count", "b.byte_count"],
    ),
    (
        "random bytes, some packets of which are taken by chance",
        "s :: RandomSource(61, LIMIT 3000, BURST 2, STOP true) -> Strip(1) -> RandomSample(0.7) -> a :: Counter -> c :: Classifier(0/00%80, -); c[0] -> ToDump(OUT0); c[1] -> ToDump(OUT1);",
        &["s.count", "a.count"],
    ),
    (
        "small queues behind elements that take packets out of bursts",
        "s :: InfiniteSource(LIMIT 2000) -> Strip(2) -> ToDump(OUT2) -> Queue(2) -> Unqueue -> RandomSample(0.9) -> q :: Queue(3) -> Unqueue -> Strip(1) -> RandomSample(0.8) -> a :: Queue(4) -> u :: Unqueue -> ToDump(OUT0) -> b :: Queue(2)
         -> Unqueue -> ToDump(OUT1);",
        &["q.drops", "a.drops", "b.drops", "u.count", "q.highwater_length"],
    ),
    (
        "packets that are longer than what a burst has room for",
        "s :: InfiniteSource(LENGTH 3000, LIMIT 1000) -> Strip(1) -> a :: Counter -> ToDump(OUT0); Idle -> a;",
        &["s.count", "a.byte_count"],
    ),
    (
        "packets without a time",
        "s :: InfiniteSource(LIMIT 1000, TIMESTAMP false) -> Strip(1) -> a :: AverageCounter -> ToDump(OUT0);",
        &["s.count", "a.count", "a.rate"],
    ),
    (
        "several elements that make packets",
        "s :: InfiniteSource(LIMIT 1000, BURST 3) -> Paint(1) -> r :: RoundRobinSwitch; t :: InfiniteSource(LENGTH 9, LIMIT 2000) -> Paint(2) -> r; RatedSource(RATE 100000, LIMIT 50) -> r;
         r[0] -> a :: Counter -> ToDump(OUT0); r[1] -> Strip(1) -> b :: Counter -> ToDump(OUT1);",
        &["s.count", "t.count", "a.byte_count", "b.byte_count"],
    ),
    (
        "text beside captures, and packets that are led back",
        "s :: InfiniteSource(\\<05 04 03 02 01 00>, LIMIT 1000) -> r :: RoundRobinSwitch; r[0] -> Print(x, 4) -> a :: Counter -> ToDump(OUT0);
         r[1] -> Strip(1) -> c :: CheckLength(2) -> b :: Counter -> ToDump(OUT1); c[1] -> r;",
        &["a.count", "a.byte_count", "b.byte_count"],
    ),
    (
        "a router beside which text is printed, and whose copies and fragments are none of most packets",
        "s :: InfiniteSource(\\<02 00 00 00 00 01 02 00 00 00 00 09 08 00 45 00 00 28 00 00 00 00 40 11 66 c1 0a 00 00 02 0a 01 00 02 13 69 13 69 00 14 00 00 61 62 63 64 65 66 67 68 69 6a 6b 6c>, LIMIT 3000, STOP true)
           -> c :: Classifier(12/0806, 12/0800, -);
         c[0] -> Print(arp) -> Discard; c[2] -> Print(other) -> Discard;
         c[1] -> Paint(2) -> Strip(14) -> CheckIPHeader -> rt :: StaticIPLookup(10.0.0.0/16 0, 10.1.0.0/16 1, 0.0.0.0/0 2);
         rt[0] -> Discard; rt[2] -> IPPrint(nowhere) -> Discard;
         rt[1] -> DropBroadcasts -> p :: PaintTee(1) -> t :: DecIPTTL -> f :: IPFragmenter(300) -> e :: EtherEncap(0x0800, 1:1:1:1:1:1, 2:2:2:2:2:2) -> q :: Queue(20) -> d :: Discard;
         p[1] -> ICMPError(10.1.0.1, redirect, host) -> rt; t[1] -> ICMPError(10.1.0.1, timeexceeded) -> rt; f[1] -> ICMPError(10.1.0.1, unreachable, needfrag) -> rt;",
        &["s.count", "d.count", "q.highwater_length", "q.length", "q.drops"],
    ),
    (
        "text of some packets, copies of others, in queues that are emptied one packet a turn",
        "s :: InfiniteSource(\\<01 02 03 04 05 06 07 08>, LIMIT 3000) -> h :: RoundRobinSwitch; h[0] -> k :: Counter -> q :: Queue(7) -> d :: Discard; h[1] -> Strip(1) -> k; h[2] -> i :: RandomSample(0.02);
         i[0] -> Print(few, 4, TIMESTAMP true) -> x :: Queue(3) -> ToDump(OUT0); i[1] -> j :: RandomSample(0.02); j[1] -> o :: Queue(9) -> ToDump(OUT1);
         j[0] -> Strip(2) -> t :: Tee(4); t[0] -> q; t[1] -> q; t[2] -> Paint(1) -> o; t[3] -> q;",
        &["s.count", "k.byte_count", "q.drops", "q.length", "q.highwater_length", "d.count", "o.drops"],
    ),
    (
        "text behind several queues",
        "s :: InfiniteSource(\\<01 02 03 04 05 06 07 08>, LIMIT 1000, STOP true) -> h :: RoundRobinSwitch; h[0] -> Strip(1) -> Queue -> Unqueue -> Print(a, 4) -> Discard;
         h[1] -> Strip(2) -> Queue(2) -> Unqueue -> Print(b, TIMESTAMP true) -> k :: Counter -> ToDump(OUT0); h[2] -> Strip(3) -> c :: Counter -> Queue -> ToDump(OUT1);",
        &["s.count", "k.byte_count", "c.count"],
    ),
    (
        "text of one element behind a queue, and copies into it",
        "s :: InfiniteSource(\\<01 02 03 04 05 06 07 08>, LIMIT 1500) -> h :: RoundRobinSwitch; h[0] -> Strip(1) -> q :: Queue(30) -> u :: Unqueue -> Print(a, 4, TIMESTAMP true) -> ToDump(OUT0);
         h[1] -> RandomSample(0.05) -> t :: Tee; t[0] -> Strip(2) -> q; t[1] -> q;",
        &["s.count", "q.drops", "q.length", "q.highwater_length", "u.count"],
    ),
    (
        "text of a script that stops the task behind copies",
        "s :: InfiniteSource(\\<01 02 03 04 05 06 07 08>, LIMIT 2500) -> h :: RoundRobinSwitch; h[0] -> Strip(1) -> q :: Queue(50) -> u :: Unqueue -> Paint(1) -> o :: Queue -> ToDump(OUT0);
         h[1] -> RandomSample(0.01) -> t :: Tee; t[0] -> Strip(2) -> q; t[1] -> Print(copied, 2) -> q;
         DriverManager(wait 0.4ms, write u.active false, wait 0.2ms, print $(s.count) $(q.length) $(q.drops), write u.active true, wait 0.3ms, print $(s.count) $(q.length), wait 100ms);",
        &["s.count", "q.drops", "u.count", "q.length"],
    ),
    (
        "outputs drawn at random, several packets a turn, and copies that draw again",
        "s :: InfiniteSource(LIMIT 3000, BURST 3, STOP true) -> r :: RandomSwitch; r[0] -> t :: Tee -> a :: Counter -> ToDump(OUT0); t[1] -> m :: RandomSwitch; r[1] -> m; m[0] -> a;
         m[1] -> b :: Counter -> ToDump(OUT1); r[2] -> Queue -> Unqueue -> m;",
        &["s.count", "a.byte_count", "b.byte_count"],
    ),
    (
        "outputs drawn at random, of packets that two elements make",
        "s :: InfiniteSource(LIMIT 1000, BURST 2) -> r :: RandomSwitch; RatedSource(RATE 100000, LIMIT 50) -> r; r[0] -> a :: Counter -> ToDump(OUT0); r[1] -> b :: Counter -> ToDump(OUT1);",
        &["s.count", "a.byte_count", "b.byte_count"],
    ),
];
