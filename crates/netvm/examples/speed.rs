use netvm::application::{Application, Host, Reading, Replay, Settings, Stream};
use std::sync::Arc;
fn cpu() -> f64 {
    std::fs::read_to_string("/proc/thread-self/schedstat").unwrap().split(' ').next().unwrap().parse().unwrap()
}
struct Quiet;
impl Host for Quiet {
    fn write(&mut self, _: Stream, t: &[u8]) {
        eprint!("{}", String::from_utf8_lossy(t));
    }
}
fn main() {
    let a: Vec<String> = std::env::args().collect();
    // speed FILE.click TRACE(pcap of 60) PASSES ENGINE [N=V...]
    let text = std::fs::read_to_string(&a[1]).unwrap();
    let raw = std::fs::read(&a[2]).unwrap();
    let mut packets = Vec::new();
    let mut at = 24;
    while at + 16 <= raw.len() {
        let n = u32::from_le_bytes(raw[at + 8..at + 12].try_into().unwrap()) as usize;
        packets.push(&raw[at + 16..at + 16 + n]);
        at += 16 + n;
    }
    let passes: u64 = a[3].parse().unwrap();
    let mut reading = Reading::default();
    reading.elements.push("/tmp/mine/sp/router/elements".into());
    for p in &a[5..] {
        if let Some((k, v)) = p.split_once('=') {
            reading.parameters.insert(k.into(), v.into());
        }
    }
    let app = Application::read(&a[1], &text, &reading).unwrap_or_else(|e| panic!("{e}"));
    let engine = netvm::engines::find(&a[4]).unwrap();
    let run = |passes: u64| {
        let replay = Arc::new(Replay::new(packets.iter().copied(), passes, 1000));
        let settings = Settings { replays: [("eth0".to_owned(), replay)].into(), ..Settings::default() };
        let mut graph = app.start(engine, Default::default(), settings, Box::new(Quiet)).unwrap_or_else(|e| panic!("{e}"));
        let t = cpu();
        graph.start();
        while graph.turn() {}
        let t = cpu() - t;
        (t, graph)
    };
    let (_, g) = run(1);
    for (name, class, s) in g.stats().nodes {
        eprintln!("{name} {class} {} {:?}", s.packets, s.drops);
    }
    let (mut a, mut b) = (f64::MAX, f64::MAX);
    for _ in 0..std::env::var("ROUNDS").ok().map_or(10, |v| v.parse().unwrap()) {
        a = a.min(run(passes).0);
        b = b.min(run(3 * passes).0);
    }
    println!("RESULT netvm {} {:.1} ns/packet", engine.name, (b - a) / (2.0 * passes as f64 * packets.len() as f64));
}
