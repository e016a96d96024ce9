//! The configurations of [`clicks`](super): in words that Click and netvm both know.

use crate::traffic::{self, PORTS, Packet, Route};

/// One configuration with its packets. COUNT in its text is how many packets come.
#[derive(Clone)]
pub struct Case {
    pub name: &'static str,
    pub text: String,
    pub parameters: Vec<String>,
    /// Captures by name.
    pub inputs: Vec<(String, Vec<Packet>)>,
    pub outputs: Vec<String>,
    /// Whether both run it on two threads, too.
    pub threads: bool,
}

/// Devices of applications are captures here.
const DEVICES: &str = "elementclass FromDevice { $device | FromDump($device, STOP true) -> output }
elementclass ToDevice { $device | input -> ToDump(${device}.out) }
";
const ROUTES: usize = 64_000;
const FLOWS: usize = 56_000;
/// Both know so many flows by default.
const REWRITTEN: usize = 30_000;
const STATIONS: usize = 4_096;

/// All of them.
pub fn all() -> Vec<Case> {
    let mut cases = vec![
        plain("endless source", "InfiniteSource(LIMIT COUNT, STOP true) -> c :: Counter -> Strip(14) -> Discard;"),
        plain(
            "endless source, classified",
            "InfiniteSource(LIMIT COUNT, STOP true) -> c :: Classifier(12/0800, -); c[0] -> Discard; c[1] -> Counter -> Discard;",
        ),
        plain("endless source, router that prints errors", &endless_router()),
        captured("capture, discarded", "FromDump(in, STOP true) -> Discard;", false),
        captured("capture, counted", "FromDump(in, STOP true) -> Counter -> Discard;", false),
        captured("capture, copied", "FromDump(in, STOP true) -> ToDump(out);", true),
        captured(
            "capture, through a queue",
            "FromDump(in, STOP true) -> Queue(100000) -> ToDump(out); DriverManager(wait_stop, wait 1ms);",
            true,
        ),
        filter(19),
        filter(1_000),
        translator(),
        switch(),
        two_captures(),
        behind_a_queue(),
    ];
    cases.extend(VARIANTS.iter().map(|(name, change, more)| router(name, change, more)));
    cases
}

/// The router alone, and with one more element: what stands between its checks and its routes, and
/// beside it.
const VARIANTS: [(&str, &str, &str); 7] = [
    ("router", "", ""),
    ("router, Tee", "tee :: Tee ->", "tee[1] -> Discard;"),
    ("router, Queue and Unqueue", "Queue(1000) -> Unqueue(BURST 16) ->", ""),
    ("router, RED", "RED(500, 1000, 0.02) -> Queue(1000) -> Unqueue(BURST 16) ->", ""),
    ("router, Shaper", "Queue(1000) -> Shaper(100000000) -> Unqueue(BURST 16) ->", ""),
    ("router, RatedSource", "", "RatedSource(RATE 10) -> Discard;"),
    ("router, passive Script", "", "Script(TYPE PASSIVE, return 1);"),
];

fn plain(name: &'static str, text: &str) -> Case {
    Case { name, text: text.to_owned(), parameters: Vec::new(), inputs: Vec::new(), outputs: Vec::new(), threads: false }
}

/// A router of two networks with all that may befall a packet, which a source that never ends sends
/// UDP through: errors are printed, others answered.
fn endless_router() -> String {
    let way = |n: usize| {
        format!(
            "routes[{n}] -> DropBroadcasts -> same{n} :: PaintTee({n}) -> options{n} :: IPGWOptions(10.{n}.0.1) -> FixIPSrc(10.{n}.0.1) -> ttl{n} :: DecIPTTL -> parts{n} :: IPFragmenter(576)
    -> frame{n} :: EtherEncap(0x0800, 02:00:00:00:0{n}:01, 02:00:00:00:0{n}:02) -> queue{n};
same{n}[1] -> ICMPError(10.{n}.0.1, redirect, host) -> routes;
options{n}[1] -> ICMPError(10.{n}.0.1, parameterproblem) -> routes;
ttl{n}[1] -> ICMPError(10.{n}.0.1, timeexceeded) -> routes;
parts{n}[1] -> ICMPError(10.{n}.0.1, unreachable, needfrag) -> routes;
"
        )
    };
    format!(
        "queue1 :: Queue(500) -> Discard;
queue2 :: Queue(500) -> Discard;
InfiniteSource(DATA \\<02 00 00 00 01 01  02 00 00 00 01 09  08 00
    45 00 00 2c 00 00 00 00 40 11 66 af 0a 01 00 09 0a 02 00 07  13 88 13 89 00 18 00 00
    6e 65 74 76 6d 20 61 6e 64 20 43 6c 69 63 6b 2e>, LIMIT COUNT, STOP true) -> kinds :: Classifier(12/0806 20/0001, 12/0800, -);
kinds[0] -> ARPResponder(10.1.0.1 02:00:00:00:01:01) -> queue1;
kinds[1] -> Paint(1) -> Strip(14) -> CheckIPHeader(INTERFACES 10.1.0.1/16 10.2.0.1/16)
    -> routes :: StaticIPLookup(10.1.0.1/32 0, 10.2.0.1/32 0, 10.1.0.0/16 1, 10.2.0.0/16 2, 0.0.0.0/0 10.2.0.254 2);
kinds[2] -> Print(unknown) -> Discard;
routes[0] -> Print(local) -> Discard;
{}{}",
        way(1),
        way(2)
    )
}

fn captured(name: &'static str, text: &str, writes: bool) -> Case {
    let outputs = if writes { vec!["out".to_owned()] } else { Vec::new() };
    Case { inputs: vec![("in".to_owned(), traffic::translated(FLOWS))], outputs, ..plain(name, text) }
}

fn filter(count: usize) -> Case {
    let rules = traffic::rules(count);
    let text = format!(
        "FromDump(in, STOP true) -> Strip(14) -> CheckIPHeader -> IPFilter({}) -> Unstrip(14) -> ToDump(out);",
        traffic::rules_text(&rules)
    );
    let name = if count < 100 { "IPFilter of 19 rules" } else { "IPFilter of 1,000 rules" };
    Case { inputs: vec![("in".to_owned(), traffic::filtered(&rules))], ..captured(name, &text, true) }
}

fn translator() -> Case {
    let text = "rewriter :: IPRewriter(pattern 198.51.100.1 1024-65535# - - 0 1, drop);
FromDump(in, STOP true) -> Classifier(12/0800) -> Strip(14) -> CheckIPHeader -> rewriter;
Idle -> [1] rewriter;
rewriter[0] -> DecIPTTL -> EtherEncap(0x0800, 02:00:00:08:00:01, 02:00:00:09:00:01) -> ToDump(out);
rewriter[1] -> Discard;";
    Case { inputs: vec![("in".to_owned(), traffic::translated(REWRITTEN))], ..captured("IPRewriter, 30,000 flows", text, true) }
}

/// Each packet of the trace at the port that it came by.
fn by_port(packets: &[Packet]) -> (Vec<(String, Vec<Packet>)>, Vec<String>) {
    let at = |port: u32| packets.iter().filter(|packet| packet.port == port).cloned().collect();
    let names = || (0..PORTS).map(|port| format!("eth{port}"));
    ((0..PORTS).map(|port| (format!("eth{port}"), at(port))).collect(), names().map(|name| name + ".out").collect())
}

/// Ends when all sources have ended, and what is in queues has left.
fn until_all_end() -> String {
    format!("DriverManager({}wait 1ms);\n", "wait_stop, ".repeat(PORTS as usize))
}

fn switch() -> Case {
    let port = |n| format!("FromDevice(eth{n}) -> [{n}] switch [{n}] -> Queue(100000) -> ToDevice(eth{n});\n");
    let text = format!("{DEVICES}switch :: EtherSwitch;\n{}{}", (0..PORTS).map(port).collect::<String>(), until_all_end());
    let (inputs, outputs) = by_port(&traffic::switched(STATIONS));
    Case { inputs, outputs, ..plain("EtherSwitch, 4,096 stations", &text) }
}

/// From routes to a capture for each port; tasks are on threads of Click's.
fn forwarded(routes: &[Route], threads: &str) -> String {
    let listed = traffic::routes_text(routes, 2, 0).trim_end().replace('\n', ",\n");
    let way = |n: usize| {
        format!(
            "routes[{n}] -> DecIPTTL -> EtherEncap(0x0800, 02:00:00:08:00:0{n}, 02:00:00:09:00:0{n}) -> ThreadSafeQueue(100000) -> to{n} :: ToDump(out{n});\n"
        )
    };
    format!("routes :: RadixIPLookup({listed});\n{}{}StaticThreadSched({threads});\n", way(0), way(1))
}

fn on_threads(name: &'static str, text: &str, ends: &str, inputs: Vec<(String, Vec<Packet>)>) -> Case {
    let outputs = ["out0", "out1"].map(str::to_owned).to_vec();
    Case { inputs, outputs, threads: true, ..plain(name, &format!("{text}DriverManager({ends}, wait 1ms);\n")) }
}

/// Two captures through one table of routes, each source on a thread.
fn two_captures() -> Case {
    let routes = traffic::routes(ROUTES);
    let packets = traffic::routed(&routes, None);
    let (one, other) = packets.split_at(packets.len() / 2);
    let from = |n: usize| format!("from{n} :: FromDump(in{n}, STOP true) -> Strip(14) -> CheckIPHeader -> routes;\n");
    let text = forwarded(&routes, "from0 0, to0 0, from1 1, to1 1") + &from(0) + &from(1);
    let inputs = vec![("in0".to_owned(), one.to_vec()), ("in1".to_owned(), other.to_vec())];
    on_threads("two captures, 64,000 routes", &text, "wait_stop, wait_stop", inputs)
}

/// A filter on one thread, routes behind a queue on another.
fn behind_a_queue() -> Case {
    let routes = traffic::routes(ROUTES);
    let filter = traffic::rules_text(&traffic::rules(19)).replace("deny all", "allow all");
    let text = forwarded(&routes, "from 0, un 1, to0 1, to1 1")
        + &format!(
            "from :: FromDump(in, STOP true) -> Strip(14) -> CheckIPHeader -> IPFilter({filter}) -> queue :: ThreadSafeQueue(5000000) -> un :: Unqueue(BURST 32) -> routes;\n"
        );
    // What is in the queue leaves before the end.
    let ends = "wait_stop, label more, wait 1ms, goto more $(gt $(queue.length) 0)";
    on_threads("19 rules, a queue, 64,000 routes", &text, ends, vec![("in".to_owned(), traffic::routed(&routes, None))])
}

/// apps/router/router.click as it is, with routes in the place of their parameter, which Click does
/// not read from files.
fn router(name: &'static str, change: &str, more: &str) -> Case {
    let routes = traffic::routes(ROUTES);
    let listed = traffic::routes_text(&routes, PORTS, 1).trim_end().replace('\n', ",\n");
    let text = include_str!("../../../apps/router/router.click");
    let text =
        text.replace("$ROUTES);", &format!("{listed});")).replace("-> martians -> routes;", &format!("-> martians -> {change} routes;"));
    let (inputs, outputs) = by_port(&[traffic::answers(PORTS), traffic::routed(&routes, Some(PORTS))].concat());
    let mut parameters: Vec<_> = (0..PORTS).map(|port| format!("NET{port}=10.255.{port}.254/24")).collect();
    parameters.extend((0..PORTS).map(|port| format!("MAC{port}=02:00:00:00:00:01")));
    parameters.push("CAPACITY=100000".to_owned());
    Case { inputs, outputs, parameters, ..plain(name, &format!("{DEVICES}{text}\n{more}\n{}", until_all_end())) }
}
