//! Applications within a program: what comes and goes by calls is what comes and goes by captures,
//! on every engine; queues are bounded; time passes.

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

/// A configuration for calls drawn by lot: its text, devices that packets leave by, handlers that
/// are read and that are written.
struct ByLot {
    text: &'static str,
    devices: [&'static str; 5],
    reads: [&'static str; 6],
    writes: [&'static str; 2],
}

/// Packets go on at once, through queues, late, by a task that can be stopped, and as copies; then
/// as records of flows when timers are due, and with no task but those of devices.
const BY_LOT: [ByLot; 2] = [
    ByLot {
        text: "FromDevice(left) -> c :: Classifier(12/0800, 12/0806, 12/86dd, -);
            r :: FromDevice(right) -> c;
            c[0] -> n :: Counter -> Strip(14) -> CheckIPHeader -> DecIPTTL -> Unstrip(14) -> q :: Queue(5) -> ToDevice(ip);
            c[1] -> late :: Queue -> DelayUnqueue(0.00001) -> ToDevice(late);
            c[2] -> six :: Queue(3) -> u :: Unqueue -> ToDevice(six);
            c[3] -> t :: Tee(2); t[0] -> ToDevice(other); t[1] -> Queue -> ToDevice(copies);",
        devices: ["ip", "late", "six", "other", "copies"],
        reads: ["n.count", "r.count", "q.length", "late.length", "six.length", "u.count"],
        writes: ["u.active", "r.active"],
    },
    ByLot {
        text: "l :: FromDevice(left) -> c :: Classifier(12/0800, 12/0806, 12/86dd, -);
            r :: FromDevice(right) -> c;
            c[0] -> n :: Counter -> Strip(14) -> CheckIPHeader -> f :: FlowRecords(TIMEOUT 0.00002, PRINT false) -> DecIPTTL -> Unstrip(14) -> q :: Queue(5) -> ToDevice(ip);
            f[1] -> k :: Counter -> ToDevice(flows);
            c[1] -> a :: Counter -> Queue(2) -> ToDevice(arp);
            c[2] -> s :: Counter -> ToDevice(six);
            c[3] -> o :: Counter -> Queue -> ToDevice(other);",
        devices: ["ip", "flows", "arp", "six", "other"],
        reads: ["n.count", "r.count", "q.length", "k.count", "a.count", "f.ended"],
        writes: ["l.active", "r.active"],
    },
];

/// Calls drawn by lot; what each of them gave.
fn by_lot(case: &ByLot, seed: u32, engine: &engines::EngineInfo, packets: &[Vec<u8>]) -> Vec<String> {
    let (mut it, mut log, mut now, mut random) = (embedded(case.text, engine), Vec::new(), 1_000_000, seed);
    let mut below = |most: u32| {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (random >> 16) % most
    };
    for _ in 0..6_000 {
        match below(40) {
            0..22 => {
                // Several come at the same time, by one device and by both.
                now += u64::from(below(4)) * 500;
                let packet = &packets[below(packets.len() as u32) as usize];
                log.push(format!("{}", it.push(["left", "right"][below(2) as usize], lent(packet, now)).unwrap()));
            }
            22..32 => it.run(),
            32 => {
                now += u64::from(below(40)) * 500;
                it.run_until(now);
            }
            33..38 => {
                let (device, mut left) = (case.devices[below(5) as usize], below(12));
                let wants = |packet: Lent<'_>| {
                    if left > 0 {
                        log.push(format!("{device} {} {} {:x?}", packet.time_ns, packet.wire_len, packet.bytes));
                    }
                    left = left.saturating_sub(1);
                    left > 0
                };
                it.take(device, wants).unwrap();
            }
            38 => log.push(it.graph().read(case.reads[below(6) as usize], "", None).unwrap()),
            _ => {
                let (handler, value) = (case.writes[below(2) as usize], ["true", "true", "true", "false"][below(4) as usize]);
                it.graph().write(handler, value, None).unwrap();
            }
        }
    }
    it.run_until(now + 1_000_000);
    for device in case.devices {
        log.extend(taken(&mut it, device).into_iter().map(|(time, bytes)| format!("{device} {time} {bytes:x?}")));
    }
    let stats = it.graph().stats();
    log.push(stats.arrivals.to_string());
    log.extend(stats.nodes.iter().map(|(name, _, stats)| format!("{name} {} {:?}", stats.packets, stats.drops)));
    log
}

#[test]
fn calls_in_any_order_give_what_the_interpreter_gives() {
    let mut packets: Vec<Vec<u8>> = synth::mixed_trace(7, 200).into_iter().map(|(_, bytes)| bytes).collect();
    packets.extend([vec![], vec![1, 2, 3], vec![7; 3_000]]);
    for (case, seed) in BY_LOT.iter().flat_map(|case| [1, 2, 3].map(|seed| (case, seed))) {
        let wanted = by_lot(case, seed, &engines::ALL[0], &packets);
        assert!(wanted.len() > 4_000, "{}", wanted.len());
        for engine in engines::ALL.iter().skip(1).chain([&engines::AUTO]) {
            let got = by_lot(case, seed, engine, &packets);
            let apart = wanted.iter().zip(&got).position(|(wanted, got)| wanted != got);
            assert!(got == wanted, "{} {seed} {apart:?}: {:?}", engine.name, apart.map(|n| (&wanted[n], &got[n])));
        }
    }
}

#[test]
fn timers_that_are_due_and_tasks_that_wait_are_not_passed_by() {
    let mut wanted = None;
    for engine in engines::ALL {
        let text = "FromDevice(in) -> c :: Classifier(0/01, -); c[0] -> Queue -> ToDevice(out); c[1] -> Queue -> u :: Unqueue(ACTIVE false) -> ToDevice(out2);
            RatedSource(RATE 1000, DATA z) -> ToDevice(timed);";
        let mut it = embedded(text, engine);
        let count = |it: &mut Embedded, device: &str| taken(it, device).len();
        for n in 1..=50_u64 {
            // A tick is due before each packet.
            assert!(it.push("in", lent(&[(n % 2) as u8], n * 1_000_000)).unwrap());
            it.run();
        }
        assert_eq!([count(&mut it, "out"), count(&mut it, "out2")], [25, 0], "{}", engine.name);
        let timed = count(&mut it, "timed");
        assert_eq!((timed > 10, timed), (true, *wanted.get_or_insert(timed)), "{}", engine.name);
        it.graph().write("u.active", "true", None).unwrap();
        it.run();
        assert_eq!(count(&mut it, "out2"), 25, "{}", engine.name);
        it.push("in", lent(&[0], 51_000_000)).unwrap();
        it.graph().write("u.active", "false", None).unwrap();
        it.run();
        assert_eq!(count(&mut it, "out2"), 0, "{}", engine.name);
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
    for name in ["interp", "jit"] {
        let mut it = embedded("FromDevice(in) -> Counter -> q :: Queue(100000) -> ToDevice(out);", engines::find(name).unwrap());
        for count in [65_500, 65_536] {
            (0..count).for_each(|n| assert!(it.push("in", lent(&[1], n)).unwrap()));
            it.run();
        }
        let first = taken(&mut it, "out").len();
        it.run();
        assert_eq!([first, taken(&mut it, "out").len()], [65_536, 65_500], "{name}: what does not fit waits in the queue");
        assert!(it.graph().stats().nodes.iter().all(|node| node.2.drops.is_empty()), "{name}");
    }
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
    assert_eq!(it.push("on", lent(&[1], 0)).unwrap_err().to_string(), "no device is called `on`; there are in, out");
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
