//! Members with the same code share it as machine code: each finds its own memories, and sends packets its own way.

use super::{BUDGET, Chain, How, INFO, Order, compare_chains, state};
use compiler::cluster::LARGE;
use netil::arbitrary::Options;
use netil::arbitrary::seeded_module;
use netil::asm::assemble;
use netil::cluster::Way;
use netil::{Verified, verify};
use std::sync::Arc;

/// Sends a packet by one of three ports, which its first byte names.
const CHOOSES: &str = "segment .ports push_input in push_output a push_output b push_output c ends
    segment .push pop
    push 0 upload.8 push 3 and push 0 jcmp.eq to_a
    push 0 upload.8 push 3 and push 1 jcmp.eq to_b
    push 0 upload.8 push 3 and push 2 jcmp.eq to_c
    pkt.drop 5
    to_a: pkt.send a
    to_b: pkt.send b
    to_c: pkt.send c
    ends";

fn generated(seed: u64, widest: u16) -> Arc<Verified> {
    let mut module = seeded_module(seed, &Options { statements: 12, pull: false, widest, ..Options::default() });
    module.info_size = INFO;
    Arc::new(verify(module).unwrap())
}

/// A program that chooses one of three members with one program, which send packets on to one of two with another, out, or out at once: each by its own exits.
fn chain(seed: u64, quick: bool) -> Chain {
    let widest = if seed.is_multiple_of(3) { 2048 } else { 64 };
    let mut chooses = assemble(CHOOSES, "").unwrap();
    chooses.info_size = INFO;
    let (one, two) = (generated(2 * seed, widest), generated(2 * seed + 1, widest));
    let programs = vec![Arc::new(verify(chooses).unwrap()), Arc::clone(&one), Arc::clone(&one), one, Arc::clone(&two), two];
    let ways = |n: u32, port: u32| match (n, port % 3) {
        (0, _) => Way::Member(port, 0),
        (1..4, 0) => Way::Member(4 + n % 2, 0),
        (_, 2) => Way::AtOnce,
        _ => Way::Exit(0),
    };
    let outputs = |program: &Verified| program.module().all_ports().into_iter().filter(|(_, port)| !port.kind.is_input()).map(|(id, _)| id);
    let links = (0..).zip(&programs).map(|(n, program)| outputs(program).map(|port| (port, ways(n, port))).collect()).collect();
    let states = programs.iter().map(|program| state(program, BUDGET, quick)).collect();
    let how = How::MachineCode(if seed.is_multiple_of(2) { 0 } else { LARGE });
    let entered = vec![0; programs.len()];
    let mut chain = Chain { programs, links, states, budget: BUDGET, ends: Vec::new(), entered, order: Order::default(), how };
    chain.number_exits();
    chain
}

#[test]
fn members_that_share_code_have_states_and_ways_of_their_own() {
    (0..100).for_each(|seed| compare_chains(seed, chain(seed, true), chain(seed, false)));
}
