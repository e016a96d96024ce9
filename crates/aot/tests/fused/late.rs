//! Packets that the pool leaves to compiled code to copy are where they would be if it had copied
//! them, however many sources take turns, and whichever forms run.

use netil::asm::assemble;
use netil::cluster::{Cluster, Ended, Host, LinkTarget};
use netil::exec::{CloneOut, State};
use netil::pool::{Even, Line, Lines, Pool};
use netil::{Verified, verify};
use netvm_aot::Fused;
use netvm_aot::build::Compiler;
use std::sync::Arc;

/// Each packet's first byte becomes its sum with the next, and others the checksum of the first
/// ones; some end, and some leave with a copy.
const CODE: &str = "segment .ports\npush_output a\npush_output b\nends\nsegment .push\npop\n\
    push 0\nupload.8\npush 1\nupload.8\nadd\npush 0\npstore.8\npush 0\npush 20\nchksum.calc\npush 10\npstore.16\n\
    push 2\nupload.8\npush 0\njcmp.eq drop\npush 2\nupload.8\npush 1\njcmp.eq copy\npkt.send a\ndrop:\npkt.drop 7\ncopy:\npkt.senddup b\npkt.send b\nends\n";

#[derive(Debug)]
struct Trace(Vec<Line>);

impl Lines for Trace {
    fn lines(&self) -> &[Line] {
        &self.0
    }
}

/// What leaves: by which way, and its bytes.
struct Out {
    state: State,
    packets: Vec<(Ended, u32, Vec<u8>)>,
    ends: usize,
}

impl Host for Out {
    fn state(&mut self, _: u32) -> &mut State {
        &mut self.state
    }

    fn exit(&mut self, exit: u32, slots: &[u32], pool: &mut Pool) {
        let ended = Ended { member: exit, disposition: netil::exec::Disposition::Port(exit) };
        slots.iter().for_each(|slot| self.packets.push((ended, *slot, pool.bytes(*slot).to_vec())));
        pool.give_back(slots);
    }

    fn ended(&mut self, _: Ended, slots: &[u32], pool: &mut Pool) {
        self.ends += slots.len();
        pool.give_back(slots);
    }

    fn leave(&mut self, ended: Ended, slot: u32, copies: Vec<CloneOut>, pool: &mut Pool) {
        assert_eq!(copies.len(), 1);
        self.packets.push((ended, slot, copies[0].buffer.bytes().to_vec()));
        self.packets.push((ended, slot, pool.bytes(slot).to_vec()));
        pool.give_back(&[slot]);
    }
}

fn code(program: &Arc<Verified>) -> Fused {
    let outputs: Vec<u32> = program.module().all_ports().into_iter().filter(|(_, port)| !port.kind.is_input()).map(|(id, _)| id).collect();
    let links: Vec<(u32, LinkTarget)> = outputs.into_iter().zip(0..).map(|(id, exit)| (id, LinkTarget::LastExit(exit))).collect();
    let member = super::Member { program, func: super::optimised(program), links };
    let options = netvm_aot::Options { no_cache: true, ..netvm_aot::Options::default() };
    Fused::new(&[(Arc::clone(program), member)], &[(0, 0), (0, 0)], super::ALL_PREFETCHED, &options).unwrap()
}

/// What becomes of so many packets of each source, three times, and how many have come in.
fn run(program: &Arc<Verified>, defers: bool, sources: usize, count: usize, budget: u32) -> (Out, Vec<u64>) {
    let mut code = code(program);
    let line = |n: usize| std::array::from_fn(|at| (n * 31 + at * 7) as u8 ^ if at == 2 { (n * 31 + 14) as u8 ^ (n % 5) as u8 } else { 0 });
    let traces: Vec<Arc<dyn Lines>> = (0..sources)
        .map(|source| Arc::new(Trace((0..count + 9).map(|n| line(n * sources + source)).collect())) as Arc<dyn Lines>)
        .collect();
    let lens = vec![60; count];
    let mut out = Out { state: super::state(program, budget, true), packets: Vec::new(), ends: 0 };
    let mut pool = Pool::new(sources as u32 * count as u32 + 5, 0);
    pool.defer(defers);
    for from in [0, 9, 5] {
        let mut slots = Vec::new();
        let first = pool.take(sources * count, &mut slots);
        for (turn, trace) in traces.iter().enumerate() {
            pool.enter(turn as u32 % 2);
            let kept = Some((trace, from));
            let even = Even { lines: &trace.lines()[from..], kept, lens: &lens, time_ns: 1, interval_ns: 1, tag: 0 };
            pool.put_even(&even, first.map(|first| first + turn as u32), &slots[turn..], sources);
        }
        // The last time only a part of them are run first.
        let (some, others) = slots.split_at(if from == 5 { slots.len() / 3 } else { slots.len() });
        for slots in [some, others].into_iter().filter(|slots| !slots.is_empty()) {
            code.run(slots, budget, &mut pool, &mut out);
        }
        assert_eq!(pool.room(), sources * count + 5);
    }
    (out, code.entered())
}

fn code_of(text: &str) -> Arc<Verified> {
    Arc::new(verify(assemble(text, "").unwrap()).unwrap())
}

#[test]
fn late_packets_are_copied_where_they_are_run() {
    if Compiler::system().is_err() {
        return eprintln!("no C compiler: nothing to compare");
    }
    let program = code_of(CODE);
    for (sources, count) in [(1, 1), (1, 39), (1, 40), (1, 41), (1, 200), (2, 50), (3, 70), (4, 192), (17, 20)] {
        // With enough of a budget, and so little that general forms are run.
        for budget in [10_000, 100] {
            let [(late, entered), (at_once, entered_at_once)] = [true, false].map(|defers| run(&program, defers, sources, count, budget));
            assert!(late.packets == at_once.packets && late.ends == at_once.ends, "{sources} sources, {count} packets, budget {budget}");
            let copies = late.packets.iter().filter(|(.., bytes)| bytes[2] == 1).count() / 2;
            assert_eq!((entered, late.packets.len() + late.ends), (entered_at_once, 3 * sources * count + copies));
        }
    }
}
