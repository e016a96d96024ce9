//! Caches of cores and the work scheduler: small programs whose cycles can be computed by hand;
//! each test says how.

use netvm_machine::Machine;
use netvm_machine::model::{Options, Report, Scheme, simulate};
use netvm_machine::scheduler::{self, Group, GroupAssignment};
use netvm_machine::stages::{self, Parts};
use netvm_machine::steps::{Access, Step, Work};

/// Each core has a cache of two lines of 32 bytes before a shared one, before a memory. Memories
/// are numbered by their names: `dfa`, `l1`, `l2`, `ram`.
fn machine(cores: u32, receive: &str, scheduler: &str, rest: &str) -> Machine {
    let text = format!(
        "name = \"test\"\ndescription = \"\"\nclock_mhz = 100\n{rest}\n\
         [processor]\ncores = {cores}\nthreads = 1\nschedule = \"swap\"\n\
         [instructions]\nstack = 0\nalu = 1\nwide = 1\nbranch = 1\nmemory = 0\ndigest = 1\npacket = 1\nunit = 1\n\
         [memory.dfa]\nwidth = 1\nlatency = 10\nservice = 10\n\
         [memory.l1]\nwidth = 8\nlatency = 1\nservice = 0\nper_core = true\ncache_bytes = 64\nline_bytes = 32\nways = 2\n\
         write_through = true\nposted_stores = true\nbehind = \"l2\"\n\
         [memory.l2]\nwidth = 32\nlatency = 10\nservice = 0\ncache_bytes = 1024\nline_bytes = 32\nways = 4\nbehind = \"ram\"\n\
         [memory.ram]\nwidth = 32\nlatency = 50\nservice = 0\n\
         [place]\npacket = \"l1\"\ninfo = \"register\"\ndata = \"l1\"\nshared = \"l1\"\ninitialised = \"l1\"\ntable = \"l1\"\n\
         [lookup]\nexact = {{ instructions = 1, reads = 1, bytes = 4 }}\nprefix = {{ instructions = 1, reads = 1, bytes = 4 }}\n\
         ternary = {{ instructions = 1, reads = 1, bytes = 4 }}\nset = {{ instructions = 1, reads = 1, bytes = 4 }}\n\
         [locks]\nmutexes = 16\ncycles = 0\n\
         [scheduler]\ngroups = 4\n{scheduler}\n\
         [receive]\nslots = 64\ninstructions = 0\n{receive}\n\
         [transmit]\nslots = 64\ninstructions = 0\n"
    );
    Machine::read(&text).unwrap_or_else(|fault| panic!("{fault}\n{text}"))
}

const FREE: &str = "get_work = 0\nsubmit = 0\nswitch = 0\narrival = \"untagged\"";
const STATE: u64 = 2 << 40;

fn at(address: u64, write: bool) -> Step {
    let shared = (address >= STATE).then_some((address / 4, 1));
    Step::Access(Access { memory: 1, write, units: 1, address, shared })
}

fn run(machine: &Machine, steps: &[&[Step]]) -> Report {
    let work: Vec<Work> = steps.iter().map(|steps| Work { steps: steps.to_vec(), flow: 0, bytes: 60 }).collect();
    let options = Options {
        scheme: Scheme::ThreadAffinity,
        packets: work.len() as u64,
        first: 0,
        interval: None,
        until_drop: false,
        until_repeat: false,
    };
    simulate(machine, &work, &Options { scheme: Scheme::Locks, ..options })
}

fn parts(all: &[&[Step]], flow: u64) -> Parts {
    Parts { parts: all.iter().map(|steps| steps.to_vec()).enumerate().collect(), flow, bytes: 60 }
}

#[test]
fn a_load_goes_down_to_the_memory_that_has_it() {
    let machine = machine(1, "", FREE, "");
    // A cycle to issue, then 1; the line is in neither cache: 10 and 50 more.
    assert_eq!(run(&machine, &[&[at(STATE, false)]]).cycles, 62);
    // A second load of the line finds it in the first cache.
    assert_eq!(run(&machine, &[&[at(STATE, false), at(STATE + 24, false)]]).cycles, 62 + 2);
    // Three lines in turn do not stay in a cache of two, but in the second one.
    let three = [at(STATE, false), at(STATE + 32, false), at(STATE + 64, false)];
    let report = run(&machine, &[&[three, three].concat()]);
    assert_eq!(report.cycles, 3 * 62 + 3 * 12);
    assert_eq!(report.memories.iter().map(|used| used.misses).collect::<Vec<_>>(), [0, 6, 3, 0]);
}

#[test]
fn a_store_passes_through_and_takes_no_line_in() {
    let machine = machine(1, "", FREE, "");
    // The store costs its cycle; the second cache has the line afterwards, the first one does not.
    let report = run(&machine, &[&[at(STATE, true), Step::Compute(100), at(STATE, false)]]);
    assert_eq!(report.cycles, 1 + 100 + 12);
}

#[test]
fn what_another_core_stores_is_no_longer_in_a_cache() {
    // One core loads at 0 and at 102; the other one stores in between, or not.
    let reads = [at(STATE, false), Step::Compute(100), at(STATE, false)];
    let with = |store: &[Step]| run(&machine(2, "", FREE, ""), &[&reads, store]).cycles;
    assert_eq!(with(&[Step::Compute(80)]), 62 + 100 + 2);
    assert_eq!(with(&[Step::Compute(80), at(STATE, true)]), 62 + 100 + 12);
    // A thread's own data are not what others store to.
    let own = |write| Step::Access(Access { memory: 1, write, units: 1, address: STATE, shared: None });
    let private = run(&machine(2, "", FREE, ""), &[&[own(false), Step::Compute(100), own(false)], &[Step::Compute(80), own(true)]]);
    assert_eq!(private.cycles, 62 + 100 + 2);
}

#[test]
fn arriving_packets_are_in_the_cache_for_arrivals() {
    // Both packets have the same buffer, so the second is not what the core's own cache holds of
    // the first.
    let machine = machine(1, "into = \"l2\"\nbuffers = 1", FREE, "");
    let read: &[Step] = &[at(0, false), at(8, false)];
    let mut one = machine.clone();
    one.receive.slots = 1;
    assert_eq!(run(&one, &[read, read]).cycles, 2 * (12 + 2));
    let report = run(&one, &[read, read]);
    assert_eq!(report.memories[2].misses, 0);
}

#[test]
fn one_core_needs_for_elements_what_caches_leave() {
    let machine = machine(1, "", FREE, "");
    let packets = [parts(&[&[Step::Compute(5)], &[at(STATE, false)]], 0), parts(&[&[Step::Compute(5)], &[at(STATE, false)]], 0)];
    assert_eq!(stages::by_element(&packets, 2, &machine), [vec![5, 62], vec![5, 2]]);
}

/// Elements of 10, 60 and 30 cycles.
fn three() -> Parts {
    parts(&[&[Step::Compute(10)], &[Step::Compute(60)], &[Step::Compute(30)]], 0)
}

#[test]
fn the_slowest_group_bounds_a_pipeline() {
    let machine = machine(4, "", "get_work = 3\nsubmit = 2\nswitch = 0\narrival = \"untagged\"", "");
    let simulate = |plan: &GroupAssignment| scheduler::simulate(&machine, &[three()], plan, false, 100).unwrap();
    // The first packet is through after 3 + 10 + 2, 3 + 60 + 2 and 3 + 30; each further one 65
    // later.
    let each = simulate(&GroupAssignment::each(3));
    assert_eq!(each.cycles, 15 + 65 + 33 + 99 * 65);
    assert_eq!(each.taken, [100, 100, 100]);
    // Two cores for the slow group do 65 for two packets, so the last group's 33 bound it.
    let group = |element, cores: &[usize]| Group { elements: vec![element], cores: cores.to_vec() };
    let two = simulate(&GroupAssignment { groups: vec![group(0, &[0]), group(1, &[1, 2]), group(2, &[3])] });
    assert_eq!(two.cycles, 15 + 65 + 33 + 99 * 33);
    // Run to completion: a question for work, and 100 cycles; four cores have 25 packets each.
    assert_eq!(simulate(&GroupAssignment::completion(3, 4)).cycles, 25 * 103);
}

#[test]
fn an_atomic_tag_makes_a_convoy() {
    let steps = [Step::Compute(10), Step::Enter(0), Step::Compute(30), Step::Leave(0)];
    let machine = |switch: u32| machine(4, "", &format!("get_work = 0\nsubmit = 0\nswitch = {switch}\narrival = \"untagged\""), "");
    let packets = [parts(&[&steps], 0)];
    let four = scheduler::simulate(&machine(0), &packets, &GroupAssignment::completion(1, 4), false, 40).unwrap();
    // After the first ten cycles one entry always has the tag; those that wait leave their cores to
    // others.
    assert_eq!(four.cycles, 10 + 40 * 30);
    assert_eq!((four.switches, four.waited), (80, 39));
    // If the state is kept by flow, only packets of the same flow wait: of two flows two are run at
    // a time.
    let flows = [parts(&[&steps], 0), parts(&[&steps], 1)];
    let by_flow = scheduler::simulate(&machine(0), &flows, &GroupAssignment::completion(1, 4), true, 40).unwrap();
    assert_eq!(by_flow.cycles, 20 * 40);
    // On one core nothing waits: 10, a change of tag, 30, a change back.
    let one = scheduler::simulate(&machine(5), &packets, &GroupAssignment::completion(1, 1), false, 40).unwrap();
    assert_eq!((one.cycles, one.waited), (40 * 50, 0));
}

#[test]
fn tags_decide_which_packets_wait_for_each_other() {
    let with = |arrival: &str, flows: [u64; 2]| {
        let machine = machine(2, "", &format!("get_work = 4\nsubmit = 0\nswitch = 1\narrival = \"{arrival}\""), "");
        let packets = [parts(&[&[Step::Compute(100)]], flows[0]), parts(&[&[Step::Compute(10)]], flows[1])];
        let report = scheduler::simulate(&machine, &packets, &GroupAssignment::completion(1, 2), false, 2).unwrap();
        (report.cycles, report.latency, report.waited)
    };
    // Each is done when it is done: at 104 and 14.
    assert_eq!(with("untagged", [1, 1]), (104, 59.0, 0));
    // The short one is done at 14, and may leave when the long one has given its tag up at 105; a
    // core takes it again for that.
    assert_eq!(with("ordered", [1, 1]), (109, 107.0, 1));
    // It may begin only then: 105 + 4 + 10 + 1.
    assert_eq!(with("atomic", [1, 1]), (120, 112.5, 0));
    // Packets of other flows do not wait: 105 and 15.
    assert_eq!(with("ordered", [1, 2]), (105, 60.0, 0));
}

#[test]
fn a_core_works_while_a_unit_searches() {
    let search = |asynchronous: bool| {
        format!("search = {{ instructions = 0, command = 1, bytes = 1, memory = \"dfa\", asynchronous = {asynchronous} }}")
    };
    let ask = Step::Access(Access { memory: 0, write: false, units: 10, address: 1 << 62, shared: None });
    let packets = [parts(&[&[Step::Compute(20), ask, Step::Compute(20)]], 0)];
    let cycles = |asynchronous| {
        let machine = machine(1, "", FREE, &search(asynchronous));
        scheduler::simulate(&machine, &packets, &GroupAssignment::completion(1, 1), false, 2).unwrap().cycles
    };
    // A core that waits: 20, a cycle to ask, 100 cycles for ten bytes, 20.
    assert_eq!(cycles(false), 2 * 141);
    // Else it begins with the second packet at 21; the unit has done with the first at 121, and
    // with the second at 221.
    assert_eq!(cycles(true), 221 + 20);
}

#[test]
fn what_cannot_be_run_is_told() {
    let machine = machine(2, "", FREE, "");
    let error = |plan: &GroupAssignment| scheduler::simulate(&machine, &[three()], plan, false, 1).unwrap_err();
    assert!(error(&GroupAssignment::completion(2, 2)).to_string().contains("element 2 is in no group"));
    assert!(error(&GroupAssignment::each(3)).to_string().contains("group 2 has no core, or one that is not there: test has 2"));
    assert!(error(&GroupAssignment::each(5)).to_string().contains("5 groups: test has 4"));
    let none = netvm_machine::description::named("netthreads").unwrap();
    assert!(
        scheduler::simulate(&none, &[three()], &GroupAssignment::completion(3, 1), false, 1)
            .unwrap_err()
            .to_string()
            .contains("describes no scheduler")
    );
}

#[test]
fn equal_inputs_give_equal_reports() {
    let machine = netvm_machine::description::named("octeon").unwrap();
    let steps = [Step::Compute(3), Step::Enter(1), at(STATE, true), Step::Leave(1), at(STATE + 400, false)];
    let packets: Vec<Parts> = (0..20).map(|n| parts(&[&steps, &steps[..1], &[at(n * 4096, false)]], n % 3)).collect();
    let once = || scheduler::simulate(&machine, &packets, &GroupAssignment::each(3), false, 500).unwrap();
    assert_eq!(once(), once());
    assert_eq!(once().packets, 500);
}
