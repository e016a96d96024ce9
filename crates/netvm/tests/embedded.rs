//! Applications within a program: what comes and goes by calls is what comes and goes by captures, on every engine; queues are bounded; time passes.

use netvm::application::{Application, Embedded, Lent, Settings, Silent};
use netvm::engines;
use netvm::io::{LinkType, synth};

fn application(text: &str) -> Application {
    Application::read("embedded.click", text, &Default::default()).unwrap_or_else(|error| panic!("{}", error.render(false)))
}

fn embedded(text: &str, engine: &engines::EngineInfo) -> Embedded {
    application(text).embed(engine, Default::default(), Settings::default(), Box::new(Silent)).unwrap()
}

fn lent(bytes: &[u8], time_ns: u64) -> Lent<'_> {
    Lent { bytes, wire_len: bytes.len() as u32, time_ns, link: LinkType::EN10MB }
}

fn taken(embedded: &mut Embedded, device: &str) -> Vec<(u64, Vec<u8>)> {
    let mut all = Vec::new();
    let mut keep = |packet: Lent<'_>| {
        all.push((packet.time_ns, packet.bytes.to_vec()));
        true
    };
    embedded.take(device, &mut keep).unwrap();
    all
}

const SORTED: &str = "
    FromDevice(left) -> c :: Classifier(12/0800, 12/0806, -);
    FromDevice(right) -> c;
    c[0] -> ip :: Counter -> Strip(14) -> CheckIPHeader -> DecIPTTL -> Unstrip(14) -> ToDevice(ip);
    c[1] -> Queue -> ToDevice(arp);
    c[2] -> t :: Tee(2); t[0] -> ToDevice(other); t[1] -> ToDevice(other);";

#[test]
fn bursts_by_calls_are_what_captures_are() {
    let packets: Vec<(u64, Vec<u8>)> =
        synth::mixed_trace(5, 4000).into_iter().enumerate().map(|(n, (_, bytes))| (1_000_000 + 500 * n as u64, bytes)).collect();
    let run = |engine, burst: usize| {
        let mut it = embedded(SORTED, engine);
        let mut sent = [Vec::new(), Vec::new(), Vec::new()];
        for burst in packets.chunks(burst) {
            for (n, (time, bytes)) in burst.iter().enumerate() {
                assert!(it.push(["left", "right"][n % 2], lent(bytes, *time)).unwrap());
            }
            it.run();
            for (sent, device) in sent.iter_mut().zip(["ip", "arp", "other"]) {
                sent.extend(taken(&mut it, device));
            }
        }
        let count = it.graph().read("ip.count", "", None).unwrap();
        (sent, count)
    };
    let wanted = run(&engines::ALL[0], 1);
    assert!(wanted.0.iter().all(|sent| sent.len() > 20), "{:?}", wanted.0.each_ref().map(Vec::len));
    for engine in engines::ALL.iter().chain([&engines::AUTO]) {
        for burst in [1, 7, 256, 4000] {
            assert!(run(engine, burst) == wanted, "{} {burst}", engine.name);
        }
    }
}

#[test]
fn queues_are_bounded_both_ways() {
    let mut it = embedded("FromDevice(in) -> c :: Counter -> ToDevice(out);", &engines::ALL[0]);
    let most = (0..).take_while(|n| it.push("in", lent(&[1, 2, 3], *n)).unwrap()).count();
    assert_eq!(most, 1 << 16);
    it.run();
    assert!(it.push("in", lent(&[4], 1 << 20)).unwrap(), "there is room again");
    it.run();
    let told = it.graph().stats();
    let drops: u64 = told.nodes.iter().flat_map(|node| node.2.drops.values()).sum();
    assert_eq!(drops, 1, "nobody has taken what was sent");
    assert_eq!(taken(&mut it, "out").len(), 1 << 16);
    // A queue before the device keeps what does not fit.
    let mut it = embedded("FromDevice(in) -> q :: Queue(10) -> ToDevice(out);", &engines::ALL[0]);
    for round in 0..2 {
        for n in 0..1_u64 << 16 {
            assert!(it.push("in", lent(&[round], n)).unwrap());
        }
        it.run();
    }
    let first = taken(&mut it, "out").len();
    it.run();
    assert_eq!([first, taken(&mut it, "out").len()], [1 << 16, 10]);
    let long = vec![7; 70_000];
    assert!(it.push("in", lent(&long, 0)).unwrap());
    it.run();
    assert_eq!(taken(&mut it, "out")[0].1.len(), 65_535);
}

#[test]
fn time_is_that_of_packets_and_of_the_caller() {
    let mut it = embedded("FromDevice(in) -> q :: Queue -> DelayUnqueue(1) -> ToDevice(out);", &engines::ALL[0]);
    let second = 1_000_000_000;
    it.push("in", lent(&[1], 5 * second)).unwrap();
    // A packet of the past comes now.
    it.push("in", lent(&[2], second)).unwrap();
    it.run();
    assert!(taken(&mut it, "out").is_empty());
    it.run_until(5 * second + second / 2);
    assert!(taken(&mut it, "out").is_empty());
    it.run_until(7 * second);
    assert_eq!(taken(&mut it, "out").into_iter().map(|(_, bytes)| bytes[0]).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(it.push("on", lent(&[1], 0)).unwrap_err(), "no device is called `on`; there are in, out");
    assert!(it.take("x", |_| true).is_err() && it.ports().eq(["in", "out"]));
}

#[test]
fn devices_that_the_settings_name_are_no_ports() {
    let settings =
        Settings { outputs: [("out".to_owned(), std::env::temp_dir().join("netvm-embedded-none"))].into(), ..Settings::default() };
    let it = application("FromDevice(in) -> ToDevice(out);");
    let it = it.embed(&engines::ALL[0], Default::default(), settings, Box::new(Silent)).unwrap();
    assert!(it.ports().eq(["in"]));
}
