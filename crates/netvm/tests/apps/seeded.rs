//! Runs from seeds: an application, its traffic, where and how it runs, and what is done to it
//! meanwhile are all drawn, and the result is that of the interpreter on one thread.
//!
//! Meanwhile threads move, replicas come and go, another flow function is chosen, entries that no
//! packet finds come into tables and go again, and other versions of the configuration take over.
//! The longer a run takes the less is done to it: what it waits for does not make it wait for more.
//! `NETVM_SEEDS` says how many seeds (6), `NETVM_SEED` which is the first (0); a failure names its
//! own.

use super::placed::{APPS, App, compare_flows, counts, traffic};
use super::{apps, folder, remove};
use netvm::application::{
    Application, Cores, Cuts, Described, Flow, Graph, Placement, PlacementError, Policies, Policy, Prepared, Reading, Rearrangement,
    Recipe, Settings, Version,
};
use netvm::engines;
use netvm::scripts::scenarios::run::{self, Job, Packets, Running};
use netvm::scripts::scenarios::{Call, Config, ScenarioError};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::sync::LazyLock;

struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// Where it runs.
#[derive(Clone, Copy, Debug)]
enum PlacementChoice {
    One,
    Total(usize),
    Replicate(usize),
    /// So many replicas, and several stages in order.
    Pipeline(usize, Cutting),
    Flow(usize, Policy),
}

/// Where stages in order are cut.
#[derive(Clone, Copy, Debug)]
enum Cutting {
    Queues,
    Threads(usize),
}

impl PlacementChoice {
    fn drawn(random: &mut Random) -> Self {
        let replicas = 1 + random.below(8);
        match random.below(6) {
            0 => Self::One,
            1 | 2 => Self::Total(replicas),
            3 => Self::Replicate(1 + random.below(3)),
            4 => Self::Pipeline(replicas, if random.below(2) == 0 { Cutting::Queues } else { Cutting::Threads(2 + random.below(7)) }),
            _ => Self::Flow(replicas, random.one_of(&[Policy::Lock, Policy::Transaction, Policy::Copies, Policy::Auto])),
        }
    }

    /// Where elements run; what cannot be placed so is told in the words of a user.
    fn placement(self, application: &Application) -> Result<Placement, PlacementError> {
        let by = |policy| Policies(vec![(None, policy)]);
        match self {
            Self::One | Self::Total(_) => Placement::new(application.application(), &[]),
            Self::Replicate(_) => Placement::total(application.application(), &[], &by(Policy::Replicate)),
            Self::Pipeline(_, cutting) => {
                let cuts = match cutting {
                    Cutting::Queues => Cuts::Queues,
                    Cutting::Threads(threads) => Cuts::Threads(threads),
                };
                Placement::new(application.application(), &[])?.cut_by(application.application(), &cuts)
            }
            Self::Flow(_, policy) => Placement::by_flow(application.application(), &[], &by(policy)),
        }
    }

    /// Begins the run.
    fn begin(self, application: &Application, settings: Settings, host: Box<dyn netvm::application::Host>) -> Result<Running, String> {
        let (jit, none) = (engines::find("jit").unwrap(), engines::Settings::default());
        let (Self::Total(replicas) | Self::Replicate(replicas) | Self::Pipeline(replicas, _) | Self::Flow(replicas, _)) = self else {
            let graph = application.start(jit, none, settings, host).map_err(|error| error.to_string())?;
            return Ok(Running::Graph(Box::new(graph)));
        };
        let placement = self.placement(application).map_err(|why| why.to_string())?;
        let cores = application.start_on(placement, replicas, jit, none, settings, host).map_err(|error| error.to_string())?;
        Ok(Running::Cores(Box::new(cores)))
    }
}

/// After so many turns something is done to a run on several threads at every second one, after
/// twice as many at every third. While it waits a run takes turns, too: as many as it waits for.
const OFTEN: u32 = 64;

/// How many cores there are. A thread that has been moved knows of its own only.
static THERE: LazyLock<usize> = LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from));

/// What was done to runs.
#[derive(Debug, Default)]
struct Done {
    moves: usize,
    replicas: usize,
    flows: usize,
    entries: usize,
    swaps: usize,
    /// Swaps in replicas that keep the order of flows.
    flow_swaps: usize,
    /// Other stages in order.
    places: usize,
}

/// Does something to a run on several threads, or nothing. Any core: other processes that are run
/// so may be here.
fn disturb(cores: &mut Cores, random: &mut Random, done: &mut Done) {
    match random.below(6) {
        0 | 1 => {
            // One that is being made does not answer yet.
            let threads: Vec<_> = cores.threads().into_iter().filter(|thread| thread.active).collect();
            let name = threads[random.below(threads.len())].name.clone();
            cores.move_thread(&name, if random.below(2) == 0 { None } else { Some(random.below(*THERE)) }).expect("it moves");
            done.moves += 1;
        }
        2 => done.replicas += usize::from(cores.set_replicas(1 + random.below(6)).is_ok()),
        3 => done.flows += usize::from(cores.set_flow(random.one_of(&Flow::NAMED).1).is_ok()),
        _ => {}
    }
}

/// Cuts what runs in order elsewhere, as it was prepared before packets came. False if that could
/// not be, since nothing more comes, a replica is being made, or elements of replicas would be
/// elsewhere.
fn place_on(cores: &mut Cores, ready: Option<Prepared>) -> bool {
    let Some(ready) = ready else { return false };
    match cores.succeed(ready, false) {
        Ok(replaced) => {
            assert_eq!((replaced.succession.entries_lost, replaced.succession.packets_lost), (0, 0));
            true
        }
        Err(why) => {
            let known = ["have ended", "run ends", "is being made", "nothing is for replicas", "replicas, each of which", "meanwhile"];
            assert!(known.iter().any(|known| why.to_string().contains(known)), "{why}");
            false
        }
    }
}

/// Reads where stages are cut; there are as many replicas as there were.
fn cut(text: &str, replicas: usize) -> Result<Rearrangement, PlacementError> {
    let cutting = match text {
        "nowhere" => None,
        "queues" => Some(Cutting::Queues),
        threads => Some(Cutting::Threads(threads.parse().map_err(|_| PlacementError::Asked(threads.to_owned()))?)),
    };
    let place = cutting.map_or(PlacementChoice::Total(replicas), |cutting| PlacementChoice::Pipeline(replicas, cutting));
    Ok(Rearrangement { place: Box::new(move |application| place.placement(application)), replicas: Some(replicas), pins: Vec::new() })
}

/// The tables of its elements.
fn tables_of(running: &Running) -> Vec<String> {
    let elements = match running {
        Running::Graph(graph) => graph.elements(),
        Running::Cores(cores) => cores.elements(),
    };
    let tables = |it: Described| {
        let lists = it.handlers.iter().filter_map(|handler| handler.name.strip_suffix(".list"));
        lists.map(|table| format!("{}.{table}", it.name)).collect::<Vec<_>>()
    };
    elements.into_iter().flat_map(tables).collect()
}

/// Enters an entry that no packet finds, and takes it out again; both, or neither where there is no
/// such table or no room.
fn enter(graph: &mut Graph, tables: &[String], random: &mut Random, done: &mut Done) {
    if tables.is_empty() {
        return;
    }
    let table = &tables[random.below(tables.len())];
    // A list tells how many digits keys and values have; the highest key is none of the traffic's.
    let Ok(list) = graph.read(&format!("{table}.list"), "", None) else { return };
    let Some((key, value)) = list.lines().next().and_then(|line| line.split_once(' ')) else { return };
    if key.contains(['/', '-']) || list.contains(&"f".repeat(key.len())) {
        return;
    }
    let (key, value) = ("f".repeat(key.len()), "0".repeat(value.len()));
    if graph.write(&format!("{table}.add"), &format!("{key} {value}"), None).is_ok() {
        graph.write(&format!("{table}.remove"), &key, None).expect("it was entered");
        done.entries += 1;
    }
}

/// The text with an element more, or without it.
fn version(text: &str, with: bool) -> Version {
    let more = if with { "\nIdle -> seeded :: Counter -> Discard;\n" } else { "" };
    Version { text: format!("{text}{more}"), ..Version::default() }
}

/// Runs another version on several threads, one that was prepared before packets came if there is
/// one. False if that could not be, since nothing more comes or a replica is being made.
fn swap_on(cores: &mut Cores, ready: Option<Prepared>, place: PlacementChoice, (text, with): (&str, bool)) -> bool {
    let done = match ready {
        Some(ready) => cores.succeed(ready, false),
        None => cores.replace(&version(text, with), false),
    };
    match done {
        Ok(replaced) => {
            assert_eq!((replaced.succession.entries_lost, replaced.succession.packets_lost), (0, 0));
            true
        }
        Err(why) => {
            let known = ["have ended", "run ends", "is being made", "nothing is for replicas", "meanwhile"];
            assert!(known.iter().any(|known| why.to_string().contains(known)), "{place:?}: {why}");
            false
        }
    }
}

/// Another version, with an element more or without it.
fn swap(graph: &mut Graph, recipe: &Recipe, text: &str, with: bool) {
    let replaced = recipe.replace(graph, &version(text, with)).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((replaced.succession.entries_lost, replaced.succession.packets_lost), (0, 0));
}

fn one(seed: u64, done: &mut Done) {
    let mut random = Random(seed);
    random.below(2);
    let App { config, devices, handlers, by_flow, .. } = &APPS[random.below(APPS.len())];
    let place = PlacementChoice::drawn(&mut random);
    let name = format!("seed {seed}: {config}, {place:?}");
    let read = |handler: &&str| Call { line: 0, write: false, handler: (*handler).to_owned(), value: String::new(), error: None };
    let calls: Vec<Call> = handlers.iter().map(read).collect();
    let salt = 100 + random.below(1000) as u64;
    let inputs: BTreeMap<String, Packets> =
        devices.iter().zip(0..).map(|(name, n)| ((*name).to_owned(), traffic(config, salt + n))).collect();
    let file = apps().join(config);
    let job = Job {
        config: &Config::File(file.clone()),
        parameters: &BTreeMap::new(),
        elements: &[],
        files: &BTreeMap::new(),
        inputs,
        captures: Vec::new(),
        texts: Vec::new(),
        calls: &calls,
    };
    let at = folder("seeded");
    let wanted =
        run::run(&job, engines::find("interp").unwrap(), engines::Settings::default(), &at).unwrap_or_else(|e| panic!("{name}: {e}"));
    remove(&at);
    let (text, at) = (std::fs::read_to_string(&file).unwrap(), folder("seeded"));
    let recipe: RefCell<Option<Recipe>> = RefCell::new(None);
    let [ready, ready_places]: [RefCell<VecDeque<Prepared>>; 2] = Default::default();
    let begin = |application: &Application, settings: Settings, host| {
        let reading = Reading { elements: vec![file.with_file_name("elements")], ..Reading::default() };
        let (engine, engines, settings) = (engines::find("jit").unwrap(), engines::Settings::default(), settings);
        *recipe.borrow_mut() = Some(Recipe::new(file.display().to_string(), reading, engine, engines, settings.clone()));
        let mut running = place.begin(application, settings, host).map_err(ScenarioError::refused)?;
        if let Running::Cores(cores) = &mut running {
            let recipe = recipe.borrow().clone().unwrap();
            cores.renew_by(recipe, Box::new(move |application| place.placement(application)));
            if let PlacementChoice::Total(replicas) | PlacementChoice::Pipeline(replicas, _) = place {
                cores.place_by(application.version(), Box::new(move |text| cut(text, replicas)));
                let cuts = [["queues", "nowhere"], ["3", "5"], ["4", "queues"], ["7", "3"]][replicas % 4];
                let prepared = |cuts| cores.prepare_placement(cuts).unwrap_or_else(|why| panic!("{why}"));
                ready_places.borrow_mut().extend(cuts.map(prepared));
            }
            if matches!(place, PlacementChoice::Total(_) | PlacementChoice::Pipeline(..) | PlacementChoice::Flow(..)) {
                let prepared = |with| cores.prepare(&version(&text, with)).unwrap_or_else(|why| panic!("{why}"));
                ready.borrow_mut().extend([true, false].map(prepared));
            }
        }
        Ok(running)
    };
    let (mut tables, mut turns, mut with) = (None, 0_u32, false);
    let between = |running: &mut Running| {
        turns += 1;
        if !turns.is_multiple_of((1 + turns / OFTEN).max(if matches!(place, PlacementChoice::One) { 40 } else { 1 })) {
            return;
        }
        match running {
            Running::Cores(cores) if matches!(place, PlacementChoice::Total(_) | PlacementChoice::Pipeline(..)) && random.below(4) == 0 => {
                done.places += usize::from(place_on(cores, ready_places.borrow_mut().pop_front()));
            }
            Running::Cores(cores) if matches!(place, PlacementChoice::Total(_) | PlacementChoice::Pipeline(..)) && random.below(6) == 0 => {
                with = !with;
                done.swaps += usize::from(swap_on(cores, ready.borrow_mut().pop_front(), place, (&text, with)));
            }
            Running::Cores(cores) if matches!(place, PlacementChoice::Flow(..)) && !ready.borrow().is_empty() && random.below(3) == 0 => {
                with = !with;
                done.flow_swaps += usize::from(swap_on(cores, ready.borrow_mut().pop_front(), place, (&text, with)));
            }
            Running::Cores(cores) => disturb(cores, &mut random, done),
            Running::Graph(graph) if random.below(8) == 0 => {
                with = !with;
                swap(graph, recipe.borrow().as_ref().unwrap(), &text, with);
                done.swaps += 1;
            }
            Running::Graph(_) => {}
        }
        let tables = tables.get_or_insert_with(|| tables_of(running));
        enter(running.graph(), tables, &mut random, done);
    };
    let found = run::run_while(&job, &at, begin, between);
    remove(&at);
    // No policy that is drawn is refused for any of them.
    let found = found.unwrap_or_else(|why| panic!("{name}: {why}"));
    if let PlacementChoice::Flow(..) = place {
        return compare_flows(*by_flow, &found, &wanted, &name);
    }
    assert!(found.outputs == wanted.outputs, "{name}: packets differ");
    let own = |count: &String| !count.starts_with("seeded") && !count.contains('@');
    let counts_of = |found| counts(found).into_iter().filter(own).collect::<Vec<String>>();
    assert_eq!(counts_of(&found), counts_of(&wanted), "{name}");
    assert_eq!(found.calls, wanted.calls, "{name}");
}

fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().map_or(usual, |text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

#[test]
fn seeded_runs_give_what_one_thread_gives() {
    std::env::set_current_dir(apps().join("..")).unwrap();
    let (first, seeds) = (number("NETVM_SEED", 0), number("NETVM_SEEDS", 6));
    let mut done = Done::default();
    LazyLock::force(&THERE);
    (first..first + seeds).for_each(|seed| one(seed, &mut done));
    eprintln!("{seeds} seeds: {done:?}");
    assert!(
        seeds < 40
            || done.moves > 20
                && done.replicas > 0
                && done.flows > 0
                && done.entries > 20
                && (seeds < 200 || done.swaps > 0 && done.flow_swaps > 0 && done.places > 0),
        "{done:?}"
    );
}
