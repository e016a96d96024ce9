//! Configurations of several shapes, traffic for them, and what a run on an engine gives.
#![allow(dead_code, reason = "each test program uses a part")]

pub mod made;
pub mod runtimes;

use netvm::application::{Application, Host, Reading, Settings, Stream};
use netvm::engines::{self, EngineInfo};
use runtime::io::synth;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Keeps what elements print.
#[derive(Clone, Default)]
pub struct Kept(Arc<Mutex<Vec<u8>>>);

impl Kept {
    /// What was printed so far.
    pub fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl Host for Kept {
    fn write(&mut self, _: Stream, text: &[u8]) {
        self.0.lock().unwrap().extend_from_slice(text);
    }
}

/// Configurations with what is read from them after the run. `IN` is a capture, `OUT` begins the
/// names of what they write.
pub const CONFIGURATIONS: [(&str, &str, &[&str]); 9] = [
    (
        "a path without copies, with drops on its way and an output that leads nowhere",
        "FromDump(IN, STOP true) -> c :: Classifier(12/0800, 12/86dd, -); c[1] -> s :: HashSwitch(20, 3); c[2] -> Counter -> k :: Counter;
         c[0] -> Strip(14) -> h :: CheckIPHeader(BADSRC 10.0.0.9) -> t :: DecIPTTL -> rt :: StaticIPLookup(10.0.0.0/8 0, 0.0.0.0/0 1);
         t[1] -> e :: Counter -> Unstrip(14) -> s; rt[0] -> Unstrip(14) -> a :: Counter -> Queue(3) -> ToDump(OUT0); rt[1] -> Unstrip(14) -> a;
         s[0] -> b :: Counter -> q :: Queue(2) -> ToDump(OUT1); s[1] -> Truncate(40) -> b; s[2] -> RoundRobinSwitch -> b; k -> Discard;",
        &["a.count", "b.byte_count", "e.count", "h.drops", "k.count"],
    ),
    (
        "a router with errors that lead back",
        "FromDump(IN, STOP true) -> c :: Classifier(12/0800, -); c[1] -> d :: Discard;
         c[0] -> Paint(1) -> Strip(14) -> ch :: CheckIPHeader(INTERFACES 10.0.0.1/24 10.1.0.1/24) -> GetIPAddress(16)
           -> rt :: RadixIPLookup(10.0.0.1/32 0, 10.0.0.0/8 10.0.0.7 1, 128.0.0.0/1 10.1.0.7 2, 0.0.0.0/0 3);
         rt[0] -> Discard; rt[3] -> ICMPError(10.0.0.1, unreachable, net) -> rt;
         rt[1] -> DropBroadcasts -> p0 :: PaintTee(1) -> g0 :: IPGWOptions(10.0.0.1) -> FixIPSrc(10.0.0.1) -> t0 :: DecIPTTL
           -> f0 :: IPFragmenter(300) -> EtherEncap(0x0800, 1:1:1:1:1:1, 2:2:2:2:2:2) -> n0 :: Counter -> Queue(2) -> ToDump(OUT0);
         rt[2] -> DropBroadcasts -> p1 :: PaintTee(2) -> g1 :: IPGWOptions(10.1.0.1) -> FixIPSrc(10.1.0.1) -> t1 :: DecIPTTL
           -> f1 :: IPFragmenter(1500) -> EtherEncap(0x0800, 1:1:1:1:1:1, 3:3:3:3:3:3) -> n1 :: Counter -> Queue -> ToDump(OUT1);
         p0[1] -> ICMPError(10.0.0.1, redirect, host) -> rt; p1[1] -> Discard; g0[1] -> Discard; g1[1] -> Discard;
         f0[1] -> ICMPError(10.0.0.1, unreachable, needfrag) -> rt; f1[1] -> Discard;
         t0[1] -> ICMPError(10.0.0.1, timeexceeded) -> rt; t1[1] -> ICMPError(10.1.0.1, timeexceeded) -> rt;",
        &["ch.drops", "n0.count", "n1.count", "d.count"],
    ),
    (
        "a switch that learns",
        "FromDump(IN, STOP true) -> r :: RoundRobinSwitch; s :: EtherSwitch; r[0] -> [0]s; r[1] -> [1]s; r[2] -> [2]s;
         s[0] -> a :: Counter -> Queue(1) -> ToDump(OUT0); s[1] -> b :: Counter -> Queue -> ToDump(OUT1); s[2] -> c :: Counter -> Discard;",
        &["a.count", "b.byte_count", "c.count"],
    ),
    (
        "addresses and ports of flows",
        "FromDump(IN, STOP true) -> Strip(14) -> CheckIPHeader -> i :: IPClassifier(tcp or udp, -); i[1] -> Discard;
         i[0] -> w :: IPRewriter(pattern 1.0.0.1 1024-65535 - - 0 1); w[0] -> a :: Counter -> Queue -> ToDump(OUT0, ENCAP IP);
         w[1] -> b :: Counter -> Queue -> ToDump(OUT1, ENCAP IP);",
        &["a.count", "b.count"],
    ),
    (
        "text for people between linked elements",
        "FromDump(IN, STOP true) -> Paint(1) -> c :: CheckIPHeader(14, VERBOSE true) -> Print(good, 20) -> a :: Counter -> Strip(14) -> IPPrint(ip)
           -> Queue -> ToDump(OUT0, ENCAP IP); c[1] -> Print(bad) -> b :: Counter -> Discard;",
        &["a.count", "b.count", "c.drops"],
    ),
    (
        "copies, paint and a pull path with elements",
        "FromDump(IN, STOP true) -> t :: Tee(3); t[0] -> Paint(3) -> k :: CheckPaint(3) -> Queue -> a :: Counter -> Truncate(60) -> ToDump(OUT0);
         k[1] -> Discard; t[1] -> h :: HashSwitch(26, 4); h[0] -> b :: Counter -> m :: Queue -> ToDump(OUT1); h[1] -> Strip(3) -> Unstrip(3) -> m;
         t[2] -> f :: IPFilter(allow tcp, deny all) -> c :: Counter -> Discard;",
        &["a.count", "b.byte_count", "c.count"],
    ),
    (
        "records of flows, which are told when they end",
        "FromDump(IN, STOP true) -> c :: Classifier(12/0800, -); c[1] -> Discard;
         c[0] -> Strip(14) -> CheckIPHeader -> f :: FlowRecords(TIMEOUT 0.002, PRINT false) -> a :: Counter -> Queue -> ToDump(OUT0, ENCAP IP);
         f[1] -> UDPIPEncap(10.0.0.1, 2055, 10.0.0.9, 2055) -> b :: Counter -> Queue(10000) -> ToDump(OUT1, ENCAP IP);",
        &["a.count", "b.count", "f.ended", "f.list"],
    ),
    (
        "numbers of 128 bits",
        "FromDump(IN, STOP true) -> Strip(8) -> w :: Wide -> Unstrip(8) -> s :: HashSwitch(26, 2); s[0] -> a :: Counter -> Queue -> ToDump(OUT0); s[1] -> Queue -> ToDump(OUT1);",
        &["w.high", "w.low", "w.known", "a.count"],
    ),
    (
        "schedulers in C, and counts that elements have together",
        "FromDump(IN, STOP true) -> t :: Tally -> h :: HashSwitch(26, 4); h[0] -> a :: Counter -> Queue(50) -> u :: Tally -> [0]s :: DRRSched(700);
         h[1] -> b :: Counter -> Queue(50) -> [1]s; h[2] -> Queue -> p :: PullSwitch -> [2]s; h[3] -> Queue(3) -> [1]p;
         s -> Truncate(1000) -> c :: CheckLength(800) -> n :: Counter -> ToDump(OUT0); c[1] -> Queue -> v :: Tally -> ToDump(OUT1);",
        &["a.count", "b.count", "n.count", "t.own", "u.own", "v.own", "t.all", "v.all", "t.bytes", "v.bytes"],
    ),
];

/// A filter of so many rules, which packets of [`capture`] come to, with what is read after the
/// run: most are a table's entries. A few are not, and so end the table.
pub fn filter(count: usize) -> (String, [&'static str; 3]) {
    let address = |frame: &[u8], at: usize| frame[at..at + 4].iter().map(u8::to_string).collect::<Vec<_>>().join(".");
    let plain = synth::mixed_trace(11, 3000).into_iter().map(|(_, frame)| frame).filter(|frame| frame[12..15] == [8, 0, 0x45]);
    let rule = |(n, frame): (usize, Vec<u8>)| {
        let (from, to) = (address(&frame, 26), address(&frame, 30));
        let ports = [34, 36].map(|at| u16::from_be_bytes([frame[at], frame[at + 1]]));
        let pattern = match n % 9 {
            0 => format!("src net {from}/24 && tcp && dst port {}", ports[1]),
            1 => format!("dst host {to} && udp"),
            2 => format!("src host {from} and dst host {to}"),
            3 => format!("src net {from}/12 and tcp and src port >= {}", ports[0]),
            4 => format!("dst net {to}/28 and not tcp"),
            5 => format!("src or dst port {} and src {from}", ports[1]),
            6 => format!("icmp type {} and dst {to}", n % 12),
            7 => format!("dst port != {} and src net {from}/16 and ip unfrag", ports[1]),
            _ => format!("(src {from} or dst {to}) and tcp opt {}", ["syn", "ack", "fin"][n % 3]),
        };
        let pattern = if n == count * 3 / 4 { format!("src {from} and not (src port 9 or src port 70)") } else { pattern };
        format!("{} {pattern}", ["0", "deny", "1", "allow"][n % 4])
    };
    let rules: Vec<String> = plain.step_by(7).cycle().take(count).enumerate().map(rule).collect();
    let text = format!(
        "FromDump(IN, STOP true) -> c :: Classifier(12/0800, -); c[1] -> Discard; c[0] -> Strip(14) -> MarkIPHeader -> f :: IPFilter({}, 1 udp);
         f[0] -> a :: Counter -> Queue(10000) -> ToDump(OUT0, ENCAP IP); f[1] -> b :: Counter -> Queue(10000) -> ToDump(OUT1, ENCAP IP);",
        rules.join(", ")
    );
    (text, ["a.count", "b.count", "f.classify_rules1.count"])
}

/// With the element classes that are there for tests.
pub fn reading() -> Reading {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    Reading {
        elements: ["tests/graphs/elements", "../../apps/count/elements", "../../apps/nat/elements"].map(|part| folder.join(part)).into(),
        ..Reading::default()
    }
}

/// What a run writes, counts and prints.
pub struct Found {
    pub captures: Vec<Option<Vec<u8>>>,
    pub counts: Vec<String>,
    /// By element its packets, traps and drops.
    pub nodes: Vec<String>,
    pub text: Vec<u8>,
    /// Whether each element can take a whole burst before the next.
    pub in_machine_code: usize,
}

/// Runs a configuration.
pub fn run(text: &str, reads: &[&str], engine: &EngineInfo, folder: &Path, input: &Path) -> Found {
    run_with(text, reads, engine, engines(), folder, input, Settings::default())
}

/// Settings of engines: compiled code is not kept.
pub fn engines() -> engines::Settings {
    engines::Settings { no_cache: true, ..engines::Settings::default() }
}

/// Runs a configuration with settings of the engine and of the run.
pub fn run_with(
    text: &str,
    reads: &[&str],
    engine: &EngineInfo,
    engines: engines::Settings,
    folder: &Path,
    input: &Path,
    settings: Settings,
) -> Found {
    let out = folder.join(engine.name);
    let text = placed(text, input, &out);
    let application = Application::read("test.click", &text, &reading()).unwrap_or_else(|e| panic!("{e}"));
    let kept = Kept::default();
    let mut graph = application.start(engine, engines, settings, Box::new(kept.clone())).unwrap_or_else(|e| panic!("{e}"));
    graph.start();
    while graph.turn() {}
    let counts = reads.iter().map(|handler| graph.read(handler, "", None).unwrap()).collect();
    let nodes = graph
        .stats()
        .nodes
        .iter()
        .map(|(name, class, stats)| format!("{name} {class} {} {} {:?}", stats.packets, stats.traps, stats.drops))
        .collect();
    assert!(graph.finish().is_empty());
    let file = |n: u32| std::fs::read(format!("{}{n}", out.display())).ok();
    let in_machine_code = application.explain(Some(&graph)).in_machine_code.unwrap_or(0);
    Found { captures: (0..3).map(file).collect(), counts, nodes, text: kept.take(), in_machine_code }
}

/// A configuration with the names of files.
pub fn placed(text: &str, input: &Path, out: &Path) -> String {
    let text = text.replace("IN,", &format!("{},", input.display()));
    (0..3).fold(text, |text, n| text.replace(&format!("OUT{n}"), &format!("{}{n}", out.display())))
}

/// Mixed traffic as a capture, every seventh packet with a byte that is wrong, time to live 1 here
/// and there.
pub fn capture() -> Vec<u8> {
    capture_of(3000)
}

/// Mixed traffic of so many packets as a capture, some of them damaged or with time to live 1.
pub fn capture_of(packets: usize) -> Vec<u8> {
    let mut file = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 1].map(u32::to_le_bytes).concat();
    for (n, (time, mut frame)) in synth::mixed_trace(11, packets).into_iter().enumerate() {
        let at = 14 + n % 40;
        match frame.get_mut(at) {
            Some(byte) if n % 7 == 0 => *byte ^= 1 << (n % 8),
            _ => {}
        }
        if n % 11 == 0 {
            expire(&mut frame);
        }
        let micros = time.as_nanos() / 1000;
        let length = frame.len() as u32;
        let head = [(micros / 1_000_000) as u32, (micros % 1_000_000) as u32, length, length];
        file.extend(head.map(u32::to_le_bytes).concat());
        file.extend(frame);
    }
    file
}

/// Makes the time to live of a plain IPv4 packet 1, with the right checksum.
fn expire(frame: &mut [u8]) {
    if frame[12..15] == [8, 0, 0x45] {
        (frame[22], frame[24], frame[25]) = (1, 0, 0);
        let sum = netil::digest::internet_checksum(&frame[14..34]).to_be_bytes();
        frame[24..26].copy_from_slice(&sum);
    }
}

/// A configuration with classes of a folder.
pub fn read(text: &str, folder: &Path) -> Result<Application, String> {
    let reading = Reading { elements: vec![folder.to_owned()], ..Reading::default() };
    Application::read("test.click", text, &reading).map_err(|error| error.to_string())
}

/// What elements print, and what handlers say after the run, which must be the same on every
/// engine. Linked elements take part where packets come from captures.
pub fn runs(text: &str, folder: &Path, reads: &[&str]) -> (String, Vec<String>) {
    let application = read(text, folder).unwrap_or_else(|error| panic!("{error}"));
    let run = |name: &str| {
        let (engine, kept) = (engines::find(name).unwrap(), Kept::default());
        let graph = application.start(engine, engines(), Settings::default(), Box::new(kept.clone()));
        let mut graph = graph.unwrap_or_else(|error| panic!("{error}"));
        graph.start();
        while graph.turn() {}
        let values = reads.iter().map(|handler| graph.read(handler, "", None).unwrap()).collect::<Vec<_>>();
        assert!(graph.finish().is_empty());
        (String::from_utf8_lossy(&kept.0.lock().unwrap()).into_owned(), values)
    };
    let wanted = run("interp");
    let others = if aot::build::Compiler::system().is_ok() { &["jit", "aot"][..] } else { &["jit"] };
    others.iter().for_each(|name| assert_eq!(run(name), wanted, "{name}: {text}"));
    wanted
}
