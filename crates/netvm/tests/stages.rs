//! Pipelines of an embedding program: nothing is lost or doubled and flows stay in order, whatever
//! moves and however replicas change; elements are stages; what is wrong is told.

use netvm::application::{Application, Lent, Settings, Silent};
use netvm::engines;
use netvm::io::{LinkType, synth};
use netvm::stages::{BURST, Burst, Counts, Injector, Outlets, Packet, Pipeline, ROOM, Stage, StageError, Turn};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

#[allow(dead_code, reason = "the example's own main")]
#[path = "../examples/abc.rs"]
mod abc;

const PATIENCE: Duration = Duration::from_secs(60);

/// A packet of the test: source, flow, number in the flow.
fn put(out: &mut Outlets, output: usize, of: [u32; 3]) {
    let bytes: Vec<u8> = of.iter().flat_map(|word| word.to_le_bytes()).collect();
    assert!(out.send(output, Packet::new(&bytes, u64::from(of[2]))));
}

fn get(packet: &Packet<'_>) -> [u32; 3] {
    let words: Vec<u32> = packet.bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    words.try_into().unwrap()
}

fn flow(packet: &Packet<'_>) -> u64 {
    let [source, flow, _] = get(packet);
    u64::from(source) << 32 | u64::from(flow)
}

/// Numbers for the test, the same every time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) % most
    }
}

/// Whether inputs may end, and how many packets they have sent.
#[derive(Default)]
struct Traffic {
    enough: AtomicBool,
    sent: AtomicU64,
}

/// Sends so many packets in flows chosen at random, and more until it is enough; some turns are
/// bursts, some have nothing.
fn traffic(source: u32, count: u32, traffic: &Arc<Traffic>) -> impl FnMut(&mut Outlets) -> Turn + Send + use<> {
    let traffic = Arc::clone(traffic);
    let (mut numbers, mut next, mut sent) = (Numbers(source.into()), BTreeMap::<u32, u32>::new(), 0);
    move |out| {
        for _ in 0..numbers.below(40) {
            if sent >= count && traffic.enough.load(Ordering::Relaxed) {
                return Turn::End;
            }
            let flow = numbers.below(50) as u32;
            let number = next.entry(flow).or_default();
            put(out, (flow % 2) as usize % out.len(), [source, flow, *number]);
            (*number, sent) = (*number + 1, sent + 1);
            traffic.sent.fetch_add(1, Ordering::Relaxed);
        }
        if numbers.below(500) == 0 { Turn::Idle } else { Turn::More }
    }
}

/// Sends so many packets, and more until it is enough, by calls from a thread of the test's own;
/// now and then all goes on, and sometimes nothing comes for a while.
fn inject(mut injector: Injector, count: u32, traffic: &Arc<Traffic>) -> JoinHandle<()> {
    let traffic = Arc::clone(traffic);
    std::thread::spawn(move || {
        let (mut numbers, mut next, mut sent) = (Numbers(3), [0; 50], 0);
        while sent < count || !traffic.enough.load(Ordering::Relaxed) {
            let flow = numbers.below(50) as u32;
            let bytes: Vec<u8> = [3, flow, next[flow as usize]].map(u32::to_le_bytes).concat();
            assert!(injector.send((flow % 2) as usize, Packet::new(&bytes, 0)));
            next[flow as usize] += 1;
            sent += 1;
            traffic.sent.fetch_add(1, Ordering::Relaxed);
            if numbers.below(200) == 0 {
                injector.flush();
                std::thread::sleep(Duration::from_micros(numbers.below(100)));
            }
        }
        assert!(!injector.send(2, Packet::new(&[], 0)), "there is no such output");
    })
}

/// What came to the last stage: of each flow how many, which were in order.
#[derive(Default)]
struct Seen {
    next: BTreeMap<u64, u32>,
    count: u64,
}

type Checks = Box<dyn FnMut(&mut Burst, &mut Outlets)>;

fn check(seen: &Arc<Mutex<Seen>>) -> impl Fn(usize) -> Checks + Send + Sync + 'static {
    let seen = Arc::clone(seen);
    move |_| {
        let seen = Arc::clone(&seen);
        Box::new(move |burst: &mut Burst, _: &mut Outlets| {
            let mut seen = seen.lock().unwrap();
            for packet in burst.iter() {
                let next = seen.next.entry(flow(&packet)).or_default();
                assert_eq!(*next, get(&packet)[2], "flow {:x}", flow(&packet));
                *next += 1;
                seen.count += 1;
            }
        })
    }
}

/// Sends on all packets, one after the other or together.
fn forward(replica: usize) -> impl FnMut(&mut Burst, &mut Outlets) {
    let mut numbers = Numbers(replica as u64);
    move |burst, out| match numbers.below(2) {
        0 => assert!(out.send_all(0, burst)),
        _ => burst.iter().for_each(|packet| assert!(out.send(0, packet))),
    }
}

fn sum(counts: &[Counts], stage: &str) -> u64 {
    counts.iter().filter(|it| it.stage == stage).map(|it| it.packets).sum()
}

#[test]
fn flows_stay_in_order_through_moves_and_replicas() {
    const EACH: u32 = 150_000;
    let (seen, sent) = (Arc::new(Mutex::new(Seen::default())), Arc::new(Traffic::default()));
    let mut pipeline = Pipeline::default();
    pipeline.stage(Stage::new("last", check(&seen)).replicas(2).flow(flow)).unwrap();
    pipeline.stage(Stage::new("left", forward).to("last").replicas(2).resizable(4).flow(flow)).unwrap();
    pipeline.stage(Stage::new("right", forward).to("last").flow(flow)).unwrap();
    pipeline.input("one", &["left", "right"], traffic(1, EACH, &sent)).unwrap();
    pipeline.input("two", &["left"], traffic(2, EACH, &sent)).unwrap();
    pipeline.injector("three", &["left", "right"]).unwrap();
    let mut running = pipeline.start().unwrap();
    let caller = inject(running.injector("three").unwrap(), EACH, &sent);
    assert!(running.injector("three").is_none() && running.injector("one").is_none());
    let (mut numbers, mut moves, mut changes, mut flows) = (Numbers(7), 0, 0, 0);
    let cores = std::thread::available_parallelism().unwrap().get() as u64;
    let begun = Instant::now();
    while !running.has_ended() && begun.elapsed() < PATIENCE {
        let threads = running.counts();
        let it = &threads[numbers.below(threads.len() as u64) as usize];
        let core = Some(numbers.below(cores + 1) as usize).filter(|core| *core < cores as usize);
        moves += u32::from(running.move_to(&it.stage, it.replica, core).is_ok());
        if numbers.below(3) == 0 {
            changes += u32::from(running.set_replicas("left", 1 + numbers.below(4) as usize).is_ok());
        }
        if numbers.below(3) == 0 {
            let salt = numbers.below(1 << 20);
            flows += u32::from(running.set_flow(["left", "last"][numbers.below(2) as usize], move |packet| flow(packet) ^ salt).is_ok());
        }
        sent.enough.store(moves > 20 && changes > 5 && flows > 5, Ordering::Relaxed);
    }
    sent.enough.store(true, Ordering::Relaxed);
    caller.join().unwrap();
    assert!(running.move_to("three", 0, None).unwrap_err().to_string().contains("the program around"));
    let counts = running.wait().unwrap();
    assert!(moves > 20 && changes > 5 && flows > 5, "{moves} moves, {changes} changes of replicas, {flows} of the flow function");
    let all = sent.sent.load(Ordering::Relaxed);
    let inputs: u64 = counts.iter().filter(|it| it.is_input).map(|it| it.sent).sum();
    assert!(all >= u64::from(3 * EACH) && inputs == all && counts.iter().all(|it| it.lost == 0), "{counts:?}");
    assert_eq!([seen.lock().unwrap().count, sum(&counts, "last"), sum(&counts, "left") + sum(&counts, "right")], [all; 3]);
    assert!(counts.iter().filter(|it| it.stage == "left").filter(|it| it.packets > 0).count() > 2, "{counts:?}");
}

#[test]
fn the_example_adds_up() {
    let sum: u64 = (1..=100_000_u64).map(|n| n * n).sum();
    assert_eq!(abc::run(100_000).unwrap(), format!("b: 100000 packets, c: 100000 packets, sum {sum}, in order"));
}

const ROUTES: &str = "FromDevice(in) -> c :: Counter -> k :: Classifier(12/0800, -);
    k[0] -> Strip(14) -> CheckIPHeader -> DecIPTTL -> Unstrip(14) -> ToDevice(ip); k[1] -> ToDevice(other);";

/// What one graph sends.
fn by_one_graph(packets: &[Vec<u8>]) -> BTreeMap<String, Vec<Vec<u8>>> {
    let application = Application::read("one.click", ROUTES, &Default::default()).unwrap();
    let mut it = application.embed(&engines::ALL[0], Default::default(), Settings::default(), Box::new(Silent)).unwrap();
    for (n, bytes) in packets.iter().enumerate() {
        it.push("in", Lent { bytes, wire_len: bytes.len() as u32, time_ns: n as u64, link: LinkType::EN10MB }).unwrap();
    }
    it.run();
    ["ip", "other"]
        .map(|device| {
            let mut all = Vec::new();
            it.take(device, |packet| {
                all.push(packet.bytes.to_vec());
                true
            })
            .unwrap();
            (device.to_owned(), all)
        })
        .into()
}

#[test]
fn elements_are_stages() {
    let packets: Vec<Vec<u8>> = synth::mixed_trace(3, 5_000).into_iter().map(|(_, bytes)| bytes).collect();
    let wanted = by_one_graph(&packets);
    for engine in engines::ALL {
        let (results, all) = mpsc::channel();
        let mut pipeline = Pipeline::default();
        for name in ["ip", "other"] {
            let results = results.clone();
            let sink = move |_| {
                let results = results.clone();
                move |burst: &mut Burst, _: &mut Outlets| burst.iter().for_each(|it| results.send((name, it.bytes.to_vec())).unwrap())
            };
            pipeline.stage(Stage::new(name, sink)).unwrap();
        }
        drop(results);
        let application = Application::read("stage.click", ROUTES, &Default::default()).unwrap();
        pipeline.stage(Stage::elements("route", application, engine).unwrap()).unwrap();
        let (mut left, goes_on) = (packets.clone().into_iter().enumerate(), Arc::new(AtomicBool::new(true)));
        let waits = Arc::clone(&goes_on);
        let input = move |out: &mut Outlets| match left.next() {
            Some((n, bytes)) => {
                out.send(0, Packet::new(&bytes, n as u64));
                Turn::More
            }
            None if waits.load(Ordering::Relaxed) => Turn::Idle,
            None => Turn::End,
        };
        pipeline.input("in", &["route"], input).unwrap();
        let running = pipeline.start().unwrap();
        let begun = Instant::now();
        // Nothing stays behind while the input has nothing.
        while running.read("route", 0, "c.count", "").unwrap() != "5000" {
            assert!(begun.elapsed() < PATIENCE);
        }
        running.write("route", 0, "c.reset", "").unwrap();
        assert_eq!(running.read("route", 0, "c.count", ""), Ok("0".to_owned()));
        assert!(running.read("route", 0, "d.count", "").is_err() && running.read("in", 0, "c.count", "").is_err());
        goes_on.store(false, Ordering::Relaxed);
        running.wait().unwrap();
        let mut found = BTreeMap::<String, Vec<Vec<u8>>>::new();
        all.iter().for_each(|(name, bytes)| found.entry(name.to_owned()).or_default().push(bytes));
        assert!(found == wanted, "{}", engine.name);
    }
}

#[test]
fn a_slow_stage_holds_up_those_before_it() {
    let (let_go, waits) = mpsc::channel::<()>();
    let waits = Mutex::new(Some(waits));
    let sent = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&sent);
    let mut pipeline = Pipeline::default();
    let slow = move |_| {
        let waits = waits.lock().unwrap().take().unwrap();
        move |_: &mut Burst, _: &mut Outlets| {
            // Then nobody holds it up any more.
            let _ = waits.recv();
        }
    };
    pipeline.stage(Stage::new("slow", slow)).unwrap();
    let fast = move |out: &mut Outlets| {
        out.send(0, Packet::new(&[0; 60], 0));
        counted.fetch_add(1, Ordering::Relaxed);
        Turn::More
    };
    pipeline.input("fast", &["slow"], fast).unwrap();
    let running = pipeline.start().unwrap();
    // What waits in the ring, what is being sent, and what the stage has taken.
    let most = ((ROOM + 2) * BURST) as u64;
    let begun = Instant::now();
    while running.counts()[1].waiting < ROOM {
        assert!(begun.elapsed() < PATIENCE);
    }
    std::thread::sleep(Duration::from_millis(50));
    let held = sent.load(Ordering::Relaxed);
    assert!(held <= most, "{held}");
    // A thread that waits for room moves all the same.
    running.move_to("fast", 0, Some(0)).unwrap();
    assert_eq!(running.counts()[0].core, Some(0));
    running.stop();
    drop(let_go);
    let counts = running.wait().unwrap();
    assert_eq!(counts[1].packets, sent.load(Ordering::Relaxed));
}

/// An input that ends at once.
fn none(_: &mut Outlets) -> Turn {
    Turn::End
}

fn sink(_: usize) -> impl FnMut(&mut Burst, &mut Outlets) {
    |_, _| ()
}

#[test]
fn what_is_wrong_is_told() {
    let mut pipeline = Pipeline::default();
    let told = |result: Result<&mut Pipeline, StageError>| result.map(drop).unwrap_err().to_string();
    assert!(told(pipeline.stage(Stage::new("b", sink).to("c"))).starts_with("b sends to c, and no stage of that name is registered"));
    pipeline.stage(Stage::new("c", sink)).unwrap();
    assert!(told(pipeline.stage(Stage::new("c", sink))).contains("'c' is taken"));
    assert!(told(pipeline.input("c", &[], none)).contains("'c' is taken"));
    assert!(told(pipeline.stage(Stage::new("d", sink).replicas(0))).contains("from 1 to 256"));
    assert!(told(pipeline.stage(Stage::new("d", sink).resizable(257))).contains("from 1 to 256"));
    let two = Application::read("two.click", "FromDevice(a) -> Discard; FromDevice(b) -> Discard;", &Default::default()).unwrap();
    assert!(Stage::elements("e", two, &engines::AUTO).map(drop).unwrap_err().to_string().contains("2 devices"));
    pipeline
        .stage(Stage::made_by("f", |replica| if replica == 1 { Err("no second one".into()) } else { Ok(Box::new(sink(0))) }).replicas(2))
        .unwrap();
    assert_eq!(pipeline.start().map(drop).unwrap_err().to_string(), "no second one");
    let mut pipeline = Pipeline::default();
    pipeline.stage(Stage::new("c", sink)).unwrap();
    pipeline.input("a", &["c"], |_| Turn::Idle).unwrap();
    let running = pipeline.start().unwrap();
    assert_eq!(running.move_to("c", 1, None).unwrap_err().to_string(), "no thread is c 1; there are a 0, c 0");
    assert!(running.move_to("c", 0, Some(1 << 20)).unwrap_err().to_string().contains("is not there"));
    assert!(running.set_replicas("c", 2).unwrap_err().to_string().contains("registered for 1 to 1 replicas"));
    assert!(running.set_replicas("a", 1).unwrap_err().to_string().contains("no stage a"));
    assert!(running.set_flow("a", |_| 0).unwrap_err().to_string().contains("no stage a"));
    drop(running);
}

#[test]
fn a_stage_that_fails_ends_the_run_and_is_named() {
    let mut pipeline = Pipeline::default();
    let fails = |_| |_: &mut Burst, _: &mut Outlets| std::panic::resume_unwind(Box::new("on purpose"));
    pipeline.stage(Stage::new("c", fails)).unwrap();
    pipeline.stage(Stage::new("b", forward).to("c")).unwrap();
    // More than there is room for on the way, at once.
    let many = |out: &mut Outlets| {
        (0..4 * ROOM * BURST).for_each(|_| assert!(out.send(0, Packet::new(&[0; 12], 0))));
        Turn::More
    };
    pipeline.input("a", &["b"], many).unwrap();
    let running = pipeline.start().unwrap();
    let begun = Instant::now();
    while !running.has_ended() {
        assert!(begun.elapsed() < PATIENCE);
    }
    assert!(running.move_to("c", 0, None).unwrap_err().to_string().contains("has ended"));
    assert!(running.counts().iter().any(|it| it.lost > 0));
    assert_eq!(running.wait().unwrap_err().to_string(), "c 0 has failed");
}

/// A pipeline that is asked to end takes nothing more, and waits for nobody.
#[test]
fn calls_send_until_the_end_is_asked_for() {
    let count = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&count);
    let sink = move |_| {
        let counted = Arc::clone(&counted);
        move |burst: &mut Burst, _: &mut Outlets| {
            counted.fetch_add(burst.len() as u64, Ordering::Relaxed);
        }
    };
    let mut pipeline = Pipeline::default();
    pipeline.stage(Stage::new("sink", sink)).unwrap();
    pipeline.injector("in", &["sink"]).unwrap().injector("nobody's", &["sink"]).unwrap();
    assert!(pipeline.injector("in", &["sink"]).is_err() && pipeline.injector("x", &["nowhere"]).is_err());
    let mut running = pipeline.start().unwrap();
    let mut injector = running.injector("in").unwrap();
    let mut burst = Burst::default();
    (0..10).for_each(|n| burst.push(Packet::new(&[n], 0)));
    assert!(injector.send_all(0, &mut burst) && burst.is_empty() && injector.send(0, Packet::new(&[1], 0)) && !injector.is_ended());
    injector.flush();
    let begun = Instant::now();
    while count.load(Ordering::Relaxed) < 11 && begun.elapsed() < PATIENCE {
        std::thread::yield_now();
    }
    assert!(running.read("in", 0, "x", "").is_err());
    running.stop();
    assert!(!injector.send(0, Packet::new(&[1], 0)) && injector.is_ended());
    let counts = running.wait().unwrap();
    assert_eq!((sum(&counts, "sink"), count.load(Ordering::Relaxed)), (11, 11));
    drop(injector);
}
