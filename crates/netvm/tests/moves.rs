//! Threads that are moved from core to core and replicas that come and go while packets flow:
//! captures, counts and texts stay those of one thread, byte for byte.

mod graphs;

use graphs::{Found, Kept, engines as unkept, placed, reading, run};
use netvm::application::{Application, Cores, Flow, Placement, Policies, Settings};
use netvm::engines;
use netvm::io::synth;
use std::path::Path;
use std::time::Duration;

/// Configurations with elements for replicas, and handlers that say what those counted.
const MOVED: [(&str, &str, &[&str]); 4] = [
    (
        "elements that keep nothing, with queues behind",
        "FromDump(IN, STOP true) -> c :: Classifier(12/0800, 12/86dd, -); c[1] -> Truncate(60) -> q :: Queue -> ToDump(OUT1); c[2] -> d :: Discard;
         c[0] -> Strip(14) -> h :: CheckIPHeader -> DecIPTTL -> rt :: StaticIPLookup(10.0.0.0/8 0, 0.0.0.0/0 1); rt[0] -> Unstrip(14) -> Queue -> ToDump(OUT0); rt[1] -> Unstrip(14) -> q;",
        &["d.count", "q.length", "h.drops"],
    ),
    (
        "annotations that elements behind the replicas look at",
        "FromDump(IN, STOP true) -> h :: HashSwitch(26, 3); h[0] -> Paint(1) -> r :: RoundRobinSwitch; h[1] -> Strip(14) -> Paint(2) -> r; h[2] -> Paint(3) -> r;
         r[0] -> p :: PaintSwitch; p[0] -> Discard; p[1] -> k :: Counter -> Queue -> ToDump(OUT0); p[2] -> Unstrip(14) -> k; p[3] -> Queue -> ToDump(OUT1); r[1] -> Discard; r[2] -> [0]p;",
        &["k.count"],
    ),
    (
        "copies that meet behind the replicas",
        "FromDump(IN, STOP true) -> t :: Tee(3); t[0] -> Strip(1) -> s :: Tee -> Unstrip(1) -> Paint(1) -> r :: RoundRobinSwitch; s[1] -> [0]r; t[1] -> r; t[2] -> Paint(2) -> r;
         r[0] -> q :: Queue(2) -> ToDump(OUT0); r[1] -> k :: Counter -> Queue -> ToDump(OUT1); r[2] -> p :: PaintSwitch; p[0] -> Discard; p[1] -> k; p[2] -> q;",
        &["k.count", "q.drops"],
    ),
    (
        "outputs at random, of packets and their copies",
        "FromDump(IN, STOP true) -> t :: Tee(2); t[0] -> Paint(1) -> [0]r :: RandomSwitch; t[1] -> r; r[0] -> s :: RandomSwitch; r[1] -> d :: Discard;
         s[0] -> q :: Queue(2) -> ToDump(OUT0); s[1] -> k :: Counter -> Queue -> ToDump(OUT1);",
        &["k.count", "d.count", "q.drops"],
    ),
];

/// The most replicas that a run comes to have.
const MOST: usize = 5;

struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below
    }
}

/// What was done to a run.
#[derive(Default)]
struct Done {
    moves: usize,
    /// Numbers of replicas that got packets, each time it changed.
    replicas: Vec<usize>,
    /// Flow functions, in the same way.
    flows: Vec<Flow>,
}

/// Does something to the run, or nothing.
fn disturb(cores: &mut Cores, random: &mut Random, done: &mut Done) {
    let there = std::thread::available_parallelism().map_or(1, usize::from);
    for _ in 0..random.next(6) {
        let threads = cores.threads();
        let name = threads[random.next(threads.len())].name.clone();
        let core = [None, Some(random.next(there))][random.next(2)];
        cores.move_thread(&name, core).expect("it moves");
        done.moves += 1;
    }
    if random.next(2) == 0 {
        cores.set_replicas(1 + random.next(MOST)).expect("their number changes");
    }
    if random.next(2) == 0 {
        cores.set_flow(Flow::NAMED[random.next(Flow::NAMED.len())].1).expect("it changes");
    }
    let flow = cores.flows().expect("there are replicas").active;
    if done.flows.last() != Some(&flow) {
        done.flows.push(flow);
    }
    let active = cores.replicas().expect("there are replicas").active;
    if done.replicas.last() != Some(&active) {
        done.replicas.push(active);
    }
}

/// Runs on two replicas at first, and disturbs the run between two epochs.
fn disturbed(text: &str, reads: &[&str], engine: &str, seed: u64, folder: &Path, input: &Path) -> (Found, Done) {
    let out = folder.join(format!("moved-{engine}"));
    let application = Application::read("test.click", &placed(text, input, &out), &reading()).unwrap_or_else(|e| panic!("{e}"));
    let placement = Placement::new(application.application(), &[]).unwrap_or_else(|why| panic!("{why}"));
    let (kept, mut random, mut done) = (Kept::default(), Random(seed), Done::default());
    let started = application.start_on(placement, 2, engines::find(engine).unwrap(), unkept(), Settings::default(), Box::new(kept.clone()));
    let mut cores = started.unwrap_or_else(|e| panic!("{e}"));
    cores.start();
    while cores.turn() {
        disturb(&mut cores, &mut random, &mut done);
    }
    (found(cores, reads, kept, &out), done)
}

/// What a run has written, counted and printed.
fn found(mut cores: Cores, reads: &[&str], kept: Kept, out: &Path) -> Found {
    assert!(cores.take_news().is_empty());
    let counts = reads.iter().map(|handler| cores.graph().read(handler, "", None).unwrap()).collect();
    let node = |(name, class, stats): &(String, String, netvm::application::NodeStats)| {
        format!("{name} {class} {} {} {:?}", stats.packets, stats.traps, stats.drops)
    };
    let nodes = cores.stats().nodes.iter().map(node).collect();
    let to: u64 = cores.threads().iter().filter(|thread| thread.name.starts_with("replica")).map(|thread| thread.packets).sum();
    assert!(to >= cores.stats().arrivals, "packets are counted where they come to");
    assert!(cores.finish().is_empty());
    let captures = (0..3).map(|n| std::fs::read(format!("{}{n}", out.display())).ok()).collect();
    Found { captures, counts, nodes, text: kept.take(), in_machine_code: 0 }
}

/// A capture of so many packets.
fn capture(packets: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend([0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0]);
    for (n, (_, frame)) in synth::mixed_trace(9, packets).into_iter().enumerate() {
        let len = (frame.len() as u32).to_le_bytes();
        for field in [(1_700_000_000 + n as u32 / 100_000).to_le_bytes(), (n as u32 % 100_000 * 10).to_le_bytes(), len, len] {
            bytes.extend(field);
        }
        bytes.extend(frame);
    }
    bytes
}

#[test]
fn moves_and_replicas_that_come_and_go_change_nothing() {
    let folder = std::env::temp_dir().join(format!("netvm-moves-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let input = folder.join("in.pcap");
    std::fs::write(&input, capture(150_000)).unwrap();
    let (mut moves, mut changes, mut numbers, mut flows) = (0, 0, std::collections::BTreeSet::new(), 0);
    for (name, text, reads) in MOVED {
        let wanted = run(text, reads, engines::find("jit").unwrap(), &folder, &input);
        assert!(wanted.captures.iter().flatten().any(|file| file.len() > 100_000), "{name}: nothing was written");
        for seed in 0..4 {
            let (found, done) = disturbed(text, reads, "jit", seed, &folder, &input);
            assert_eq!(found.counts, wanted.counts, "{name}, seed {seed}");
            assert!(found.captures == wanted.captures, "{name}, seed {seed}: captures differ");
            assert_eq!(found.nodes, wanted.nodes, "{name}, seed {seed}");
            moves += done.moves;
            changes += done.replicas.len() - 1;
            numbers.extend(done.replicas);
            flows += done.flows.len() - 1;
        }
    }
    assert!(moves > 500 && changes > 30 && numbers.len() > 3, "{moves} moves, {changes} changes of replicas: {numbers:?}");
    assert!(flows > 100, "{flows} changes of the flow function");
    std::fs::remove_dir_all(folder).unwrap();
}

/// An element that numbers the packets of each flow, with a timeout.
const PAIRS: &str = "FromDump(IN, STOP true) -> Strip(14) -> h :: CheckIPHeader -> f :: Pairs(TIMEOUT T) -> p :: PaintSwitch; p[0] -> Unstrip(14) -> Queue -> ToDump(OUT0);
     p[1] -> Unstrip(14) -> Queue -> ToDump(OUT1); p[2] -> Discard; p[3] -> d :: Discard;";

/// Replicas come and go where elements keep state by flow: flows stay where theirs is.
#[test]
fn flows_keep_their_state_while_replicas_come_and_go() {
    let folder = std::env::temp_dir().join(format!("netvm-moves-flows-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let input = folder.join("in.pcap");
    // No table is full with that.
    std::fs::write(&input, capture(80_000)).unwrap();
    let reads = ["d.count", "f.pairs.count", "f.pairs.list"];
    for (timeout, can_shrink) in [("5ms", true), ("100ms", true), ("0", false)] {
        let text = PAIRS.replace("TIMEOUT T", &format!("TIMEOUT {timeout}"));
        let wanted = run(&text, &reads, engines::find("jit").unwrap(), &folder, &input);
        assert!(wanted.captures.iter().flatten().all(|file| file.len() > 10_000), "{timeout}: both outputs have packets");
        let (mut numbers, mut left) = (std::collections::BTreeSet::new(), 0);
        // How many changes a run sees depends on the machine's speed.
        for seed in 0..40 {
            if seed >= 4 && numbers.len() > 1 && (left > 2 || timeout != "5ms") {
                break;
            }
            let mut random = Random(seed);
            let (mut before, mut most, mut waited) = (2, 2, 0);
            let found = changed(&text, &reads, &folder, &input, |cores| {
                // Replicas are made meanwhile, and leave when their flows have ended: epochs pass.
                let there = cores.replicas().expect("there are replicas");
                left += usize::from(there.active < before);
                before = there.active;
                numbers.insert(before);
                waited = if there.active != there.wanted && waited < 10 { waited + 1 } else { 0 };
                if waited > 0 {
                    return std::thread::sleep(Duration::from_millis(2));
                }
                let asked = if can_shrink { 1 + random.next(MOST) } else { most + random.next(2) * usize::from(most < MOST) };
                most = most.max(asked);
                cores.set_replicas(asked).expect("their number changes");
                if !can_shrink && most > 1 {
                    assert!(cores.set_replicas(1).unwrap_err().to_string().contains("has no timeout"));
                }
            });
            assert_eq!(found.counts, wanted.counts, "{timeout}, seed {seed}");
            assert!(found.captures == wanted.captures, "{timeout}, seed {seed}: captures differ");
            assert_eq!(found.nodes, wanted.nodes, "{timeout}, seed {seed}");
        }
        assert!(numbers.len() > 1 && (left > 2 || timeout != "5ms"), "{timeout}: {numbers:?}, {left} times fewer");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// Runs on two replicas at first; something is done between two epochs.
fn changed(text: &str, reads: &[&str], folder: &Path, input: &Path, mut between: impl FnMut(&mut Cores)) -> Found {
    let out = folder.join("changed");
    let application = Application::read("test.click", &placed(text, input, &out), &reading()).unwrap_or_else(|e| panic!("{e}"));
    let placement = Placement::new(application.application(), &[]).unwrap_or_else(|why| panic!("{why}"));
    let kept = Kept::default();
    let started = application.start_on(placement, 2, engines::find("jit").unwrap(), unkept(), Settings::default(), Box::new(kept.clone()));
    let mut cores = started.unwrap_or_else(|e| panic!("{e}"));
    cores.start();
    while cores.turn() {
        between(&mut cores);
    }
    found(cores, reads, kept, &out)
}

/// Elements that take long, and nothing behind them that does.
const HEAVY: &str = "FromDump(IN, STOP true) -> c :: Classifier(12/0800, -); c[1] -> Discard;
     c[0] -> Strip(14) -> h :: CheckIPHeader -> DecIPTTL -> IPMirror -> SetIPChecksum -> IPMirror -> SetIPChecksum -> IPMirror -> SetIPChecksum -> IPMirror
     -> SetIPChecksum -> s :: IPClassifier(src net 10.0.0.0/8 and tcp, dst host 1.2.3.4 or udp port 53, tcp port 80 and not src net 192.168.0.0/16, -);
     s[0] -> Unstrip(14) -> q :: Queue -> ToDump(OUT0); s[1] -> Unstrip(14) -> q; s[2] -> Unstrip(14) -> q; s[3] -> Unstrip(14) -> Queue -> ToDump(OUT1);";

#[test]
fn the_number_of_replicas_follows_what_packets_cost() {
    let folder = std::env::temp_dir().join(format!("netvm-plans-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let input = folder.join("in.pcap");
    std::fs::write(&input, capture(200_000)).unwrap();
    let wanted = run(HEAVY, &["h.drops"], engines::find("interp").unwrap(), &folder, &input);
    let out = folder.join("planned");
    let application = Application::read("test.click", &placed(HEAVY, &input, &out), &reading()).unwrap_or_else(|e| panic!("{e}"));
    let placement = Placement::new(application.application(), &[]).unwrap_or_else(|why| panic!("{why}"));
    let (engine, host) = (engines::find("interp").unwrap(), Box::new(Kept::default()));
    let mut cores = application.start_on(placement, 1, engine, unkept(), Settings::default(), host).unwrap_or_else(|e| panic!("{e}"));
    cores.plan(Duration::from_millis(10)).unwrap();
    assert_eq!(cores.planned(), Some("not measured yet"));
    cores.start();
    let (mut most, mut plans) = (1, Vec::new());
    while cores.turn() {
        most = most.max(cores.replicas().unwrap().active);
        plans.extend(cores.take_plans());
    }
    let several = std::thread::available_parallelism().map_or(1, usize::from) > 1;
    let measures = Path::new("/proc/self/schedstat").exists();
    assert!(most > 1 || !several || !measures, "{plans:?} {:?}", cores.planned());
    assert!(plans.iter().all(|plan| plan.contains("a packet costs")) && (plans.is_empty() == (most == 1)), "{plans:?}");
    // Who asks for a number has it.
    assert_eq!(cores.set_replicas(1).map(|replicas| replicas.wanted), Ok(1));
    assert_eq!(cores.planned(), None);
    assert!(cores.take_news().is_empty() && cores.finish().is_empty());
    assert!((0..2).all(|n| std::fs::read(format!("{}{n}", out.display())).ok() == wanted.captures[n]), "captures differ");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_cannot_move_or_change_is_told() {
    let apps = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../apps").canonicalize().unwrap();
    // Configurations name files from the repository's folder on.
    std::env::set_current_dir(apps.join("..")).unwrap();
    let (file, mut settings) = (apps.join("firewall/firewall.click"), Settings::default());
    let folder = std::env::temp_dir().join(format!("netvm-moves-told-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("in.pcap"), capture(10)).unwrap();
    for device in ["inside", "outside"] {
        settings.devices.insert(device.to_owned(), folder.join("in.pcap"));
        settings.outputs.insert(device.to_owned(), folder.join(device));
    }
    let reading = netvm::application::Reading { elements: vec![file.with_file_name("elements")], ..Default::default() };
    let text = std::fs::read_to_string(&file).unwrap();
    let application = Application::read("firewall.click", &text, &reading).unwrap_or_else(|e| panic!("{e}"));
    let placement = Placement::new(application.application(), &[]).unwrap_or_else(|why| panic!("{why}"));
    let jit = engines::find("jit").unwrap();
    let mut cores =
        application.start_on(placement, 2, jit, unkept(), settings, Box::new(Kept::default())).unwrap_or_else(|e| panic!("{e}"));
    assert!(cores.set_flow(netvm::application::Flow::Tuple).unwrap_err().to_string().contains("elements keep state by flow"));
    assert_eq!(cores.replicas().map(|it| (it.active, it.wanted)), Some((2, 2)));
    assert!(cores.move_thread("replica 9", Some(0)).unwrap_err().to_string().contains("there are sources, replica 0, replica 1, in order"));
    assert!(cores.pin(&[9999]).unwrap_err().to_string().contains("core 9999 is not there"));
    cores.start();
    while cores.turn() {}
    assert!(cores.finish().is_empty());
    std::fs::remove_dir_all(folder).unwrap();
}

/// The cores that a thread may be on.
fn cores_of(thread: u32) -> String {
    let status = std::fs::read_to_string(format!("/proc/self/task/{thread}/status")).unwrap_or_default();
    status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap_or_default().trim().to_owned()
}

#[test]
fn a_thread_that_is_new_is_not_on_the_core_of_who_begins_it() {
    let folder = std::env::temp_dir().join(format!("netvm-moves-new-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let input = folder.join("in.pcap");
    std::fs::write(&input, capture(20_000)).unwrap();
    let application = Application::read("test.click", &placed(MOVED[0].1, &input, &folder.join("out")), &reading()).unwrap();
    let placement = Placement::new(application.application(), &[]).unwrap();
    let jit = engines::find("jit").unwrap();
    let mut cores = application.start_on(placement, 1, jit, unkept(), Settings::default(), Box::new(Kept::default())).unwrap();
    cores.start();
    let own = cores.threads().last().unwrap().id;
    let anywhere = cores_of(own);
    cores.move_thread("in order", Some(0)).unwrap();
    assert_eq!(cores_of(own), "0");
    cores.set_replicas(2).unwrap();
    let is_new = |cores: &Cores| cores.threads().iter().find(|thread| thread.name == "replica 1" && thread.id > 0).map(|thread| thread.id);
    let mut new = None;
    while cores.turn() {
        new = new.or_else(|| is_new(&cores));
    }
    let new = new.or_else(|| is_new(&cores)).expect("a replica was made");
    assert_eq!((cores_of(new), cores_of(own)), (anywhere.clone(), "0".to_owned()));
    assert!(cores.finish().is_empty());
    drop(cores);
    assert_eq!(cores_of(own), anywhere, "the caller's thread is where it was");
    std::fs::remove_dir_all(folder).unwrap();
}

/// Writes a handler; where the two replicas are then.
fn moved_by(cores: &mut Cores, handler: &str, text: &str) -> [Option<usize>; 2] {
    cores.graph().write(handler, text, None).unwrap_or_else(|why| panic!("{handler} {text}: {why}"));
    let threads = cores.threads();
    ["replica 0", "replica 1"].map(|name| threads.iter().find(|thread| thread.name == name).expect("it is there").core)
}

/// Click's handler `home_thread` is written, too: each of the first replicas of the element moves,
/// or the thread that is the only one with it.
#[test]
fn a_handler_moves_the_threads_of_its_element() {
    let folder = std::env::temp_dir().join(format!("netvm-moves-home-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let input = folder.join("in.pcap");
    std::fs::write(&input, capture(1000)).unwrap();
    let application = Application::read("test.click", &placed(MOVED[0].1, &input, &folder.join("out")), &reading()).unwrap();
    let total = Placement::new(application.application(), &[]).unwrap();
    let flow = Placement::by_flow(application.application(), &[], &Policies::default()).unwrap();
    // The queue is on the caller's thread.
    for (placement, numbers, own) in [(total, "2 3", "in order"), (flow, "0 1", "replica 0")] {
        let jit = engines::find("jit").unwrap();
        let mut cores = application.start_on(placement, 2, jit, unkept(), Settings::default(), Box::new(Kept::default())).unwrap();
        assert_eq!(cores.graph().read("h.home_thread", "", None).unwrap().trim(), numbers);
        assert_eq!(moved_by(&mut cores, "h.home_thread", "0 any"), [Some(0), None]);
        assert_eq!(moved_by(&mut cores, "h.home_thread", "any 0"), [None, Some(0)]);
        assert_eq!(moved_by(&mut cores, "h.home_thread", "0"), [Some(0), Some(0)], "the second one stays");
        assert_eq!(moved_by(&mut cores, "h.home_thread", "any any"), [None, None]);
        for (text, why) in [("x", "'x' is no core"), ("", "expected a core, or any"), ("9999", "core 9999 is not there")] {
            assert!(cores.graph().write("h.home_thread", text, None).unwrap_err().to_string().contains(why), "{text}");
        }
        cores.start();
        cores.graph().write("q.home_thread", "0", None).unwrap();
        let thread = cores.threads().into_iter().find(|thread| thread.name == own).unwrap();
        assert_eq!((thread.core, cores_of(thread.id)), (Some(0), "0".to_owned()));
        while cores.turn() {}
        assert!(cores.finish().is_empty());
    }
    std::fs::remove_dir_all(folder).unwrap();
}
