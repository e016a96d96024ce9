//! Small programs whose cycles can be computed by hand; each test says how.

use netvm_machine::Machine;
use netvm_machine::model::{Options, Report, Scheme, simulate};
use netvm_machine::steps::{Access, Step, Work};

/// A machine of which only what a test is about takes time.
fn machine(cores: u32, threads: u32, schedule: &str, memory: &str, transmit: &str, rest: &str) -> Machine {
    let text = format!(
        "name = \"test\"\ndescription = \"\"\nclock_mhz = 100\n{rest}\n\
         [processor]\ncores = {cores}\nthreads = {threads}\nschedule = \"{schedule}\"\n\
         [instructions]\nstack = 0\nalu = 1\nwide = 1\nbranch = 1\nmemory = 0\ndigest = 1\npacket = 1\nunit = 1\n\
         [memory.m]\nwidth = 4\n{memory}\n\
         [place]\npacket = \"m\"\ninfo = \"register\"\ndata = \"m\"\nshared = \"m\"\ninitialised = \"m\"\ntable = \"m\"\n\
         [lookup]\nexact = {{ instructions = 1, reads = 1, bytes = 4 }}\nprefix = {{ instructions = 1, reads = 1, bytes = 4 }}\n\
         ternary = {{ instructions = 1, reads = 1, bytes = 4 }}\nset = {{ instructions = 1, reads = 1, bytes = 4 }}\n\
         [locks]\nmutexes = 16\ncycles = 0\n\
         [receive]\nslots = 64\ninstructions = 0\n\
         [transmit]\ninstructions = 0\n{transmit}\n"
    );
    Machine::read(&text).unwrap_or_else(|fault| panic!("{fault}\n{text}"))
}

const WIDE_OPEN: &str = "slots = 64";

fn access(write: bool, shared: Option<(u64, u32)>) -> Step {
    Step::Access(Access { memory: 0, write, units: 1, address: 0, shared })
}

fn work(steps: &[Step], bytes: u32) -> Work {
    Work { steps: steps.to_vec(), flow: 0, bytes }
}

fn run(machine: &Machine, work: &[Work], packets: u64, scheme: Scheme) -> Report {
    simulate(machine, work, &Options { scheme, packets, first: 0, interval: None, until_drop: false, until_repeat: false })
}

/// Five instructions and a read that takes 20 cycles: one thread needs 5 + 1 + 20 cycles a packet.
fn hiding(threads: u32) -> Report {
    let machine = machine(1, threads, "swap", "latency = 20\nservice = 0", WIDE_OPEN, "");
    run(&machine, &[work(&[Step::Compute(5), access(false, None)], 0)], 40, Scheme::Locks)
}

#[test]
fn threads_hide_latency() {
    assert_eq!(hiding(1).cycles, 40 * 26);
    // Four threads: each has a packet every 26 cycles, and the last begins 18 cycles late.
    assert_eq!(hiding(4).cycles, 18 + 10 * 26);
    // Five: 5 × 6 > 26, the core always issues; the last read is waited for.
    let five = hiding(5);
    assert_eq!(five.cycles, 40 * 6 + 20);
    assert!((five.cores[0] - 240.0 / 260.0).abs() < 1e-12);
}

#[test]
fn interleaved_threads_share_the_core_evenly() {
    let machine = machine(1, 4, "interleave", "latency = 0\nservice = 0", WIDE_OPEN, "");
    let report = run(&machine, &[work(&[Step::Compute(10)], 0)], 4, Scheme::Locks);
    assert_eq!((report.cycles, report.instructions), (40, 40));
    // Each ends in the last round: at 37, 38, 39 and 40.
    assert!((report.latency - 38.5).abs() < 1e-12, "{}", report.latency);
}

#[test]
fn a_bus_saturates() {
    let machine = machine(6, 1, "swap", "latency = 10\nservice = 0\nbus = \"b\"", WIDE_OPEN, "bus = { b = { service = 4 } }");
    let report = run(&machine, &[work(&[access(false, None)], 0)], 60, Scheme::Locks);
    // Six cores ask every 15 cycles, the bus takes 24 for them: it never rests after the first
    // cycle.
    assert_eq!(report.cycles, 1 + 60 * 4 + 10);
    assert!((report.buses[0].utilisation - 240.0 / 251.0).abs() < 1e-12);
}

#[test]
fn a_memory_serves_units_one_after_the_other() {
    let machine = machine(1, 1, "swap", "latency = 10\nservice = 3", WIDE_OPEN, "");
    let step = Step::Access(Access { memory: 0, write: false, units: 4, address: 0, shared: None });
    assert_eq!(run(&machine, &[work(&[step], 0)], 1, Scheme::Locks).cycles, 1 + 10 + 3 * 3);
}

#[test]
fn a_full_queue_keeps_requests_back() {
    let one = [work(&[access(false, None)], 0)];
    let queue = |n: u32| machine(2, 1, "swap", &format!("latency = 10\nservice = 0\nqueue = {n}"), WIDE_OPEN, "");
    assert_eq!(run(&queue(2), &one, 2, Scheme::Locks).cycles, 11);
    assert_eq!(run(&queue(1), &one, 2, Scheme::Locks).cycles, 21);
}

fn sections(steps: &[Step], cores: u32, packets: u64, scheme: Scheme) -> Report {
    let transactions = "transactions = { signature_bits = 0, undo_cycles = 5 }";
    let machine = machine(cores, 1, "swap", "latency = 0\nservice = 0", WIDE_OPEN, transactions);
    run(&machine, &[work(steps, 0)], packets, scheme)
}

#[test]
fn a_lock_makes_a_convoy() {
    let steps = [Step::Compute(10), Step::Enter(0), Step::Compute(30), Step::Leave(0)];
    let locks = sections(&steps, 4, 40, Scheme::Locks);
    // After the first ten cycles the lock is always held.
    assert_eq!(locks.cycles, 10 + 40 * 30);
    assert_eq!((locks.sections.count, locks.sections.waited), (40, 39));
    // Transactions that touch nothing in common do not wait.
    let transactions = sections(&steps, 4, 40, Scheme::Transactions);
    assert_eq!((transactions.cycles, transactions.sections.aborts), (10 * 40, 0));
    // Packets of one flow to one core: it does everything, and never waits.
    let affinity = sections(&steps, 4, 40, Scheme::CpuAffinity);
    assert_eq!((affinity.cycles, affinity.sections.waited), (40 * 40, 0));
}

#[test]
fn transactions_that_conflict_run_one_after_the_other() {
    let steps = [Step::Enter(0), access(true, Some((7, 1))), Step::Compute(10), Step::Leave(0)];
    let report = sections(&steps, 2, 4, Scheme::Transactions);
    // The first core wins each time; the second begins again after each commit, and has its turn
    // when no packet is left for the first.
    assert_eq!((report.cycles, report.sections.aborts), (4 * 11, 3));
    assert!((report.sections.commit_rate - 0.75).abs() < 1e-12);
}

#[test]
fn an_abort_undoes_what_was_written() {
    // The first core reads word 7 late; the second has read it, and writes 1 and 2 before it writes
    // 7.
    let first = work(&[Step::Enter(0), access(false, Some((7, 1))), Step::Compute(20), Step::Leave(0)], 0);
    let writes = [access(true, Some((1, 1))), access(true, Some((2, 1))), access(true, Some((7, 1)))];
    let second = work(&[&[Step::Enter(0)], &writes[..], &[Step::Leave(0)]].concat(), 0);
    let transactions = "transactions = { signature_bits = 0, undo_cycles = 5 }";
    let machine = machine(2, 1, "swap", "latency = 0\nservice = 0", WIDE_OPEN, transactions);
    let report = run(&machine, &[first, second], 2, Scheme::Transactions);
    // It begins again when the first commits at 21, after ten cycles for two words.
    assert_eq!((report.cycles, report.sections.aborts), (21 + 10 + 3, 1));
}

#[test]
fn packets_leave_in_order() {
    let machine = machine(2, 1, "swap", "latency = 0\nservice = 0", "slots = 2\nin_order = true\nbytes_per_cycle = 1", "");
    let (long, short) = (work(&[Step::Compute(100)], 10), work(&[Step::Compute(10)], 10));
    let report = run(&machine, &[long, short], 4, Scheme::Locks);
    // 0 is sent until 110; 1 was ready at 10 and is sent until 120, 2 until 130; 3 is ready at 110
    // and waits for the entry of 1 until 120.
    assert_eq!(report.cycles, 140);
    assert!(report.threads.output > 0.0);
}

#[test]
fn packets_that_find_the_input_full_are_dropped() {
    let mut machine = machine(1, 1, "swap", "latency = 0\nservice = 0", WIDE_OPEN, "");
    machine.receive.slots = 2;
    let options = Options { scheme: Scheme::Locks, packets: 6, first: 0, interval: Some(10.0), until_drop: false, until_repeat: false };
    let report = simulate(&machine, &[work(&[Step::Compute(30)], 0)], &options);
    // At 0 and 10 they are taken in; at 20 there is no room; at 30 one has left; 40 and 50 find
    // none.
    assert_eq!((report.packets, report.dropped, report.cycles), (3, 3, 90));
}

/// Computing threads take turns whether their turns are events or computed: what wakes a thread in
/// between is seen in its cycle.
#[test]
fn turns_that_are_computed_are_turns() {
    let machine = |threads| machine(1, threads, "interleave", "latency = 10\nservice = 0", WIDE_OPEN, "");
    let (long, short) = (work(&[Step::Compute(100)], 0), work(&[access(false, None), Step::Compute(10)], 0));
    // 0: the long one; 1: the read, which is there at 12, when the long one has issued 11 (0 and 2
    // to 11). Then they take turns: the short one issues at 13, 15 … 31.
    let report = run(&machine(2), &[long, short], 2, Scheme::Locks);
    assert_eq!((report.cycles, report.instructions), (111, 111));
    assert!((report.latency - f64::from(111 + 32) / 2.0).abs() <= 0.5, "{}", report.latency);
}

/// A machine whose state repeats is not run on, and the run that ends so has dropped what the long
/// one drops.
#[test]
fn what_repeats_is_not_run_again() {
    let machine = named_netthreads();
    let steps = [Step::Compute(300), Step::Enter(1), access(true, Some((1, 2))), Step::Compute(30), Step::Leave(1), access(false, None)];
    let all = [work(&steps, 60), work(&steps[..1], 1500), work(&steps[1..], 60)];
    // The wire takes 540 cycles for an average packet.
    for interval in [170.3, 560.7, 900.0] {
        let run = |until_repeat| {
            let options =
                Options { scheme: Scheme::Locks, packets: 60_000, first: 1, interval: Some(interval), until_drop: false, until_repeat };
            simulate(&machine, &all, &options)
        };
        let (short, long) = (run(true), run(false));
        // With more than it can do, what waits need not be the same ever again.
        assert!(interval < 540.0 || short.packets < long.packets, "{interval}: {}", short.packets);
        assert_eq!(short.dropped > 0, long.dropped > 0, "{interval}");
        assert!((short.latency - long.latency).abs() < 0.01 * long.latency, "{interval}: {} {}", short.latency, long.latency);
    }
}

fn named_netthreads() -> Machine {
    netvm_machine::description::named("netthreads").unwrap()
}

#[test]
fn equal_inputs_give_equal_reports() {
    let steps = [Step::Compute(3), Step::Enter(1), access(true, Some((1, 2))), Step::Leave(1), access(false, None)];
    let all = [work(&steps, 60), work(&steps[..1], 1500)];
    for (scheme, _) in Scheme::ALL {
        let machine = netvm_machine::description::named("netthreads").unwrap();
        assert_eq!(run(&machine, &all, 500, scheme), run(&machine, &all, 500, scheme));
    }
}

#[test]
fn signatures_have_a_limit() {
    let text = netvm_machine::description::built_in().find(|(name, _)| *name == "netthreads").unwrap().1;
    let of = |bits: &str| Machine::read(&text.replacen("signature_bits = 512", &format!("signature_bits = {bits}"), 1)).map(|_| ());
    assert!(of("1048576").is_ok());
    assert_eq!(of("4000000000").unwrap_err().to_string(), "transactions.signature_bits is 4000000000; it is at most 1048576");
}
