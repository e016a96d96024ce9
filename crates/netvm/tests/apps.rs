//! The applications in `apps/` do what their scenarios say, on every engine; what is common to
//! engines is compared byte by byte.

#[path = "../../../tests/needs.rs"]
mod needs;

#[path = "apps/chaos.rs"]
mod chaos;
#[path = "apps/placed.rs"]
mod placed;
#[path = "apps/seeded.rs"]
mod seeded;
#[path = "apps/traffic.rs"]
mod traffic;
use netvm::application::{Account, Application, Graph, Host, Placement, Policies, Policy, Reading, Settings, Stats, Stream};
use netvm::engines::{self, EngineInfo};
use netvm::scripts::scenarios::run::{self, Found, Job};
use netvm::scripts::scenarios::{self, Config, Scenario, drops, judge, packet, shown};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The engines that every scenario runs on; the last only where there is a C compiler.
fn all_engines() -> Vec<&'static EngineInfo> {
    let there = |name: &&str| *name != "aot" || aot::build::Compiler::system().is_ok();
    let wanted = std::env::var("NETVM_ENGINES").unwrap_or_else(|_| "interp jit aot".to_owned());
    wanted.split(' ').filter(|name| there(name)).map(|name| engines::find(name).unwrap()).collect()
}

/// An engine, and how it is set.
struct EngineVariant {
    engine: &'static EngineInfo,
    settings: engines::Settings,
    name: String,
}

/// All engines; elements that are linked also with every table large, so that their slices run.
fn ways() -> Vec<EngineVariant> {
    let usual =
        |engine: &'static EngineInfo| EngineVariant { engine, settings: engines::Settings::default(), name: engine.name.to_owned() };
    let sliced = |engine: &'static EngineInfo| EngineVariant {
        engine,
        settings: engines::Settings { large: 0, ..engines::Settings::default() },
        name: format!("{}-sliced", engine.name),
    };
    all_engines().into_iter().flat_map(|engine| [Some(usual(engine)), (engine.name == "aot").then(|| sliced(engine))]).flatten().collect()
}

/// The folder of applications.
fn apps() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../apps").canonicalize().unwrap()
}

/// The scenarios of an application, each with its file.
fn scenarios(name: &str) -> Vec<(String, Scenario)> {
    // Configurations name files from the repository's folder on.
    std::env::set_current_dir(apps().join("..")).unwrap();
    let folder = apps().join(name).join("tests");
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let wanted = std::env::var("NETVM_SCENARIO").unwrap_or_default();
    files.retain(|file| file.extension().is_some_and(|end| end == "txt") && file.display().to_string().contains(&wanted));
    assert!(!files.is_empty(), "{name} has no scenarios");
    let read = |file: &PathBuf| {
        let (text, shown) = (std::fs::read_to_string(file).unwrap(), file.display().to_string());
        let all = scenarios::parse(file, &text).unwrap_or_else(|wrong| panic!("{shown}: {wrong}"));
        all.into_iter().map(move |scenario| (shown.clone(), scenario))
    };
    files.iter().flat_map(read).collect()
}

/// A folder for captures: a temporary one, or one that stays under the folder that `NETVM_CAPTURES`
/// names.
fn folder(name: &str) -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let base = std::env::var_os("NETVM_CAPTURES").map_or_else(std::env::temp_dir, PathBuf::from);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let folder = base.join(format!("netvm-apps-{}-{number}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn remove(folder: &std::path::Path) {
    if std::env::var_os("NETVM_CAPTURES").is_none() {
        std::fs::remove_dir_all(folder).unwrap();
    }
}

/// Runs the scenarios of an application on all engines.
fn hold(name: &str) {
    let mut wrong = Vec::new();
    for (n, (file, scenario)) in scenarios(name).iter().enumerate() {
        // Sixteen ports are four ports four times; C compilers take minutes for that.
        let sixteen = scenario.file().is_some_and(|config| config.ends_with("router16.click"));
        for way in ways().into_iter().filter(|way| way.engine.quick || !sixteen) {
            let folder = folder(&format!("{name}-{n}-{}", way.name));
            let found = scenario.play(&[], way.engine, way.settings, &folder);
            let frames = found.iter().flat_map(|found| found.outputs.values().flatten()).filter(|(_, frame)| !came_in(scenario, frame));
            wrong.extend(frames.filter_map(|(_, frame)| packet::wrong_checksum(frame)).map(|what| format!("{file}: {what}")));
            wrong.extend(judge(scenario, &found).into_iter().map(|what| format!("{file} on {}: {what}", way.name)));
            remove(&folder);
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// What leaves as it came may be damaged as it was.
fn came_in(scenario: &Scenario, frame: &[u8]) -> bool {
    scenario.inputs.values().flatten().any(|packet| packet.bytes == frame)
}

/// Packets that came to each element.
fn packets(stats: &Stats) -> Vec<(&str, u64)> {
    stats.nodes.iter().map(|(name, _, node)| (name.as_str(), node.packets)).collect()
}

fn assert_same(found: &Found, first: &Found, who: &str) {
    assert!(found.captures == first.captures, "{who} writes other captures");
    assert_eq!(drops(found), drops(first), "{who} drops others");
    assert_eq!(packets(&found.stats), packets(&first.stats), "{who} sends packets elsewhere");
}

/// Random packets: every engine does the same with them. Those that are not damaged take other
/// parameters, which C is not compiled for once more.
fn survive(name: &str, config: &str, more: &[(&str, &str)], damaging: bool) -> (BTreeMap<String, run::Packets>, Found) {
    let all = scenarios(name);
    let config = apps().join(name).join(config);
    let own: Vec<&Scenario> = all.iter().map(|(_, scenario)| scenario).filter(|scenario| scenario.file() == Some(&config)).collect();
    let mut parameters = own.first().map(|scenario| scenario.parameters.clone()).unwrap_or_default();
    // Without smaller MTUs there are no fragments, which nobody counts one by one; a switch without
    // room is no model of one.
    parameters.retain(|name, _| !name.starts_with("MTU") && name != "STATIONS");
    parameters.extend(more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    let inputs = run::inputs_of(&config, &parameters).unwrap();
    let cases = std::env::var("NETVM_CASES").map_or(1500, |n| n.parse().unwrap());
    let seed = std::env::var("NETVM_SEED").map_or(1, |n| n.parse().unwrap());
    let job = Job {
        config: &Config::File(config.clone()),
        parameters: &parameters,
        elements: &[],
        files: &BTreeMap::new(),
        inputs: chaos::packets(&own, &inputs, cases, seed, damaging),
        captures: Vec::new(),
        texts: Vec::new(),
        calls: &[],
    };
    let mut first: Option<Found> = None;
    for way in ways().into_iter().filter(|way| damaging || way.engine.quick) {
        let folder = folder(&format!("{name}-chaos-{}", way.name));
        let found = run::run(&job, way.engine, way.settings, &folder).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(found.errors, [""; 0]);
        remove(&folder);
        assert_eq!(found.stats.arrivals, cases as u64);
        match &first {
            None => first = Some(found),
            Some(first) => assert_same(&found, first, &format!("{}: {}", config.display(), way.name)),
        }
    }
    let first = first.unwrap();
    let replicate = Policies(vec![(None, Policy::Replicate)]);
    for (replicas, policies) in
        if damaging { vec![1, 2, 3] } else { vec![4] }.into_iter().flat_map(|n| [(n, Policies::default()), (n, replicate.clone())])
    {
        let (folder, jit) = (folder(&format!("{name}-cores-{replicas}")), engines::find("jit").unwrap());
        let place = |app: &netil::app::Application| Placement::total(app, &[], &policies);
        let found = run::run_on(&job, jit, engines::Settings::default(), &folder, replicas, place);
        remove(&folder);
        assert_same(
            &found.unwrap_or_else(|error| panic!("{error}")),
            &first,
            &format!("{}: {replicas} replicas, {policies:?}", config.display()),
        );
    }
    (job.inputs, first)
}

/// The sum of handlers of all elements of a class.
fn sum(graph: &mut Graph, stats: &Stats, class: &str, handlers: &[&str]) -> u64 {
    let elements = stats.nodes.iter().filter(|(_, of, _)| of == class);
    let mut value = |name: &str, handler| graph.read(&format!("{name}.{handler}"), "", None).unwrap().trim().parse::<u64>().unwrap();
    elements.flat_map(|(name, ..)| handlers.iter().map(move |handler| (name, handler))).map(|(name, handler)| value(name, handler)).sum()
}

/// Packets that ARP queriers keep, have dropped themselves, and replies in whose place packets left
/// that had waited: others end as `dropped`. The same of messages that wait for echo replies.
fn kept(graph: &mut Graph, stats: &Stats) -> u64 {
    let queriers = stats.nodes.iter().filter(|(_, class, _)| class == "ARPQuerier");
    let ended: u64 = queriers.filter_map(|(.., node)| node.drops.get("dropped")).sum();
    let of_arp = sum(graph, stats, "ARPQuerier", &["drops", "length", "responses"]) - ended;
    of_arp + sum(graph, stats, "DhcpServer", &["waiting", "conflicts"])
}

/// Packets that there are beside those that arrived: copies for redirects, ARP queries, echo
/// requests, and messages of fragments.
fn made(graph: &mut Graph, stats: &Stats) -> u64 {
    let redirects = stats.nodes.iter().filter(|(name, ..)| name.ends_with("/redirects")).map(|(.., node)| node.packets).sum::<u64>();
    redirects
        + sum(graph, stats, "ARPQuerier", &["queries"])
        + sum(graph, stats, "DhcpServer", &["pings"])
        + sum(graph, stats, "Reassembler", &["messages"])
}

/// Every packet that came in or was made has left, was dropped and counted, or waits.
fn account(name: &str, config: &str) {
    let (_, mut found) = survive(name, config, &[], true);
    let graph = found.graph.as_mut().unwrap();
    let (made, kept) = (made(graph, &found.stats), kept(graph, &found.stats));
    let of = |classes: &[&str]| {
        found.stats.nodes.iter().filter(|(_, class, _)| classes.contains(&class.as_str())).map(|(.., node)| node.packets).sum::<u64>()
    };
    let dropped: u64 = found.stats.nodes.iter().flat_map(|(.., node)| node.drops.values()).sum();
    let came = found.stats.arrivals + made;
    let went = of(&["ToDevice", "Discard"]) + dropped + kept;
    assert_eq!(came, went, "{config}: {came} packets came in or were made, {went} went somewhere");
    assert!(of(&["ToDevice"]) > 0, "{config}: nothing came through");
}

#[test]
fn machine_code_of_applications_is_fused() {
    for config in [
        "router/router.click",
        "router/router6.click",
        "nat/nat.click",
        "switch/switch.click",
        "firewall/firewall.click",
        "classifier/classifier.click",
        "intruder/intruder.click",
    ] {
        let account = explained(config);
        let linked = account.ways.iter().filter(|way| way.alone.is_none()).count();
        assert!(account.in_machine_code.is_some_and(|fused| fused >= linked), "{config}: {account}");
    }
}

#[test]
fn elements_that_search_are_fused() {
    for (config, element) in
        [("classifier/classifier.click", "apps :: AppClassifier"), ("intruder/intruder.click", "search :: SignatureSearch")]
    {
        let account = explained(config);
        assert!(account.ways.iter().any(|way| way.element == element && way.alone.is_none()), "{config}: {account}");
    }
}

/// How an application runs whose devices bring nothing.
fn explained(config: &str) -> Account {
    let file = apps().join(config);
    let reading = Reading { elements: vec![file.with_file_name("elements")], ..Reading::default() };
    let application =
        Application::read(config, &std::fs::read_to_string(&file).unwrap(), &reading).unwrap_or_else(|error| panic!("{error}"));
    let devices = run::inputs_of(&file, &reading.parameters).unwrap();
    let settings = Settings { replays: devices.into_iter().map(|device| (device, Arc::default())).collect(), ..Settings::default() };
    let graph = application.start(&engines::AUTO, engines::Settings::default(), settings, Box::new(Quiet));
    application.explain(Some(&graph.unwrap_or_else(|error| panic!("{error}"))))
}

struct Quiet;

impl Host for Quiet {
    fn write(&mut self, _: Stream, _: &[u8]) {}
}

/// Checksums of whole packets that were right are right when they leave: those of errors, fragments
/// and translated packets, too.
fn sum_up(name: &str, config: &str, more: &[(&str, &str)]) {
    let (inputs, found) = survive(name, config, more, false);
    let is_right = |frame: &Vec<u8>| packet::wrong_checksum(frame).is_none();
    let (right, all) = (inputs.values().flatten().filter(|(_, frame)| is_right(frame)).count(), inputs.values().flatten().count());
    assert!(right * 20 > all * 19, "{config}: of {all} packets only {right} are right");
    let damaged: std::collections::HashSet<&Vec<u8>> =
        inputs.values().flatten().map(|(_, frame)| frame).filter(|frame| !is_right(frame)).collect();
    let left = found.outputs.values().flatten().map(|(_, frame)| frame).filter(|frame| !damaged.contains(frame));
    assert!(left.clone().count() > all / 4, "{config}: next to nothing came through");
    let wrong: Vec<String> = left.filter_map(|frame| Some(format!("{}: {}", packet::wrong_checksum(frame)?, shown(frame)))).collect();
    assert!(wrong.is_empty(), "{config}:\n{}", wrong.join("\n"));
}

#[test]
fn checksums_of_the_router() {
    sum_up("router", "router.click", &[("ROUTES", "0.0.0.0/1 10.0.1.9 2"), ("ERRORS", "1000000")]);
}

#[test]
fn checksums_of_the_nat() {
    sum_up("nat", "nat.click", &[]);
}

#[test]
fn router() {
    hold("router");
}

#[test]
fn nat() {
    hold("nat");
}

#[test]
fn damaged_packets_in_the_forward_path() {
    account("router", "forward.click");
}

#[test]
fn damaged_packets_in_the_router() {
    account("router", "router.click");
}

#[test]
fn damaged_packets_in_the_translation_alone() {
    account("nat", "forward.click");
}

#[test]
fn checksums_of_the_translation_alone() {
    sum_up("nat", "forward.click", &[]);
}

#[test]
fn damaged_packets_in_the_nat() {
    account("nat", "nat.click");
}

#[test]
fn switch() {
    hold("switch");
}

#[test]
fn balancer() {
    hold("balancer");
}

#[test]
fn firewall() {
    hold("firewall");
}

#[test]
fn count() {
    hold("count");
}

#[test]
fn classifier() {
    hold("classifier");
}

#[test]
fn damaged_packets_in_the_classifier() {
    account("classifier", "classifier.click");
}

#[test]
fn intruder() {
    hold("intruder");
}

#[test]
fn damaged_packets_in_the_intruder() {
    account("intruder", "intruder.click");
}

#[test]
fn dhcp() {
    hold("dhcp");
}

#[test]
fn damaged_packets_in_the_dhcp_server() {
    account("dhcp", "dhcp.click");
}

#[test]
fn damaged_packets_in_the_firewall() {
    account("firewall", "firewall.click");
}

#[test]
fn damaged_packets_in_the_balancer() {
    account("balancer", "balancer.click");
}

#[test]
fn damaged_packets_in_the_count() {
    account("count", "count.click");
}

#[test]
fn damaged_packets_in_the_ipv6_router() {
    account("router", "router6.click");
}

/// What a learning switch with ports eth0, eth1 ... does, as plain as can be.
fn switched(inputs: &BTreeMap<String, run::Packets>) -> BTreeMap<String, run::Packets> {
    const TIMEOUT: u64 = 300_000_000_000;
    let mut outputs: BTreeMap<String, run::Packets> = inputs.keys().map(|device| (device.clone(), Vec::new())).collect();
    let mut arrivals: Vec<_> =
        inputs.iter().flat_map(|(device, all)| all.iter().map(move |(time, frame)| (*time, device, frame))).collect();
    arrivals.sort_by_key(|(time, ..)| *time);
    let mut known: BTreeMap<&[u8], (&String, u64)> = BTreeMap::new();
    for (time, from, frame) in arrivals {
        let for_bridges = frame.starts_with(&[1, 0x80, 0xc2, 0, 0]) && frame.get(5).is_some_and(|byte| *byte < 16);
        if frame.len() < 14 || for_bridges {
            continue;
        }
        if frame[6] & 1 == 0 {
            known.insert(&frame[6..12], (from, time));
        }
        let to = known.get(&frame[..6]).filter(|(_, used)| time - used < TIMEOUT).map(|(device, _)| *device);
        let leaves = |device: &String| device != from && to.is_none_or(|to| to == device);
        outputs.iter_mut().filter(|(device, _)| leaves(device)).for_each(|(_, all)| all.push((time, frame.clone())));
    }
    outputs
}

#[test]
fn damaged_packets_in_the_switch() {
    for config in ["switch.click", "switch8.click"] {
        let (inputs, found) = survive("switch", config, &[], true);
        assert!(found.outputs == switched(&inputs), "{config} does not switch as the model does");
    }
}

#[test]
fn elements_of_applications_do_what_their_scripts_say() {
    let folders = std::fs::read_dir(apps()).unwrap().map(|entry| entry.unwrap().path().join("elements"));
    let files = folders.filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().map(|entry| entry.unwrap().path());
    let mut count = 0;
    for file in files.filter(|file| file.extension().is_some_and(|end| end == "txt")) {
        let library = netvm::application::Library::of(&[file.parent().unwrap().to_owned()]);
        let cases = netvm::scripts::parse(&std::fs::read_to_string(&file).unwrap()).unwrap();
        let class = file.file_stem().unwrap().to_str().unwrap();
        for engine in all_engines() {
            let happened = netvm::scripts::run(&library, class, &cases, engine, engines::Settings::default()).unwrap();
            let different = cases.iter().zip(&happened).flat_map(|(case, happened)| netvm::scripts::differences(class, case, happened));
            assert_eq!(different.collect::<Vec<_>>(), [""; 0], "{class} on {}", engine.name);
            count += 1;
        }
    }
    assert!(count > 0);
}

#[test]
fn classes_of_applications_are_plain_c_with_a_manual() {
    let folders = std::fs::read_dir(apps()).unwrap().map(|entry| entry.unwrap().path().join("elements"));
    let files = folders.filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().map(|entry| entry.unwrap().path());
    for file in files.filter(|file| file.extension().is_some_and(|end| end == "c")) {
        let (text, class) = (std::fs::read_to_string(&file).unwrap(), file.file_stem().unwrap().to_string_lossy().into_owned());
        let title = text.lines().nth(1).unwrap_or_default();
        assert!(title.starts_with(&format!(" * {class}")) && title.contains(" -- "), "{class}: the second line is its title");
        assert!(text.lines().count() <= 600, "{class}: longer than 600 lines");
        let flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I"];
        let Ok(output) = std::process::Command::new("gcc").args(flags).arg(apps().join("../elements/include")).arg(&file).output() else {
            return needs::missing("gcc");
        };
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}
