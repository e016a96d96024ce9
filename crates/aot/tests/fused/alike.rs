//! Members with the same code share it as machine code: each finds its own memories, and sends
//! packets its own way.

use super::{BUDGET, Chain, How, INFO, Order, compare_chains, state};
use compiler::cluster::LARGE;
use netil::arbitrary::Options;
use netil::arbitrary::seeded_module;
use netil::asm::assemble;
use netil::cluster::LinkTarget;
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

/// A program that differs in constants, with which it makes a count and bytes of the packet, and in
/// initialised memory.
fn with_constants(number: u32) -> Arc<Verified> {
    let text = format!(
        "segment .ports push_input in push_output a push_output b ends
        segment .metadata .datamem_size 8 ends
        segment .data own: db {number}, 7 ends
        segment .push pop
        push 0 umload.32 push {} add push 0 mstore.32
        push 1 upload.8 push {} xor push 1 pstore.8
        push 0 push 2 push 1 ipcopy
        push 0 umload.32 push {} jcmp.g more
        pkt.send a
        more: push {} push 3 pstore.16 pkt.send b
        ends",
        number + 1000,
        number + 20,
        3 * number + 3003,
        number + 4000
    );
    let mut module = assemble(&text, "").unwrap();
    module.info_size = INFO;
    Arc::new(verify(module).unwrap())
}

/// A program that chooses one of three members with one program, which send packets on to one of
/// two with another, out, or out at once: each by its own exits.
fn chain(seed: u64, quick: bool) -> Chain {
    let widest = if seed.is_multiple_of(3) { 2048 } else { 64 };
    let (one, two) = (generated(2 * seed, widest), generated(2 * seed + 1, widest));
    chain_of(&|number| Arc::clone(if number < 4 { &one } else { &two }), seed, quick)
}

/// A chain as of [`chain`], whose programs are given by the number of each member.
fn chain_of(program: &dyn Fn(u32) -> Arc<Verified>, seed: u64, quick: bool) -> Chain {
    let mut chooses = assemble(CHOOSES, "").unwrap();
    chooses.info_size = INFO;
    let programs: Vec<_> = std::iter::once(Arc::new(verify(chooses).unwrap())).chain((1..6).map(program)).collect();
    let ways = |n: u32, port: u32| match (n, port % 3) {
        (0, _) => LinkTarget::Member(port, 0),
        (1..4, 0) => LinkTarget::Member(4 + n % 2, 0),
        (_, 2) => LinkTarget::AtOnce,
        _ => LinkTarget::Exit(0),
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

#[test]
fn members_that_share_code_have_constants_of_their_own() {
    for seed in 0..20 {
        compare_chains(seed, chain_of(&with_constants, seed, true), chain_of(&with_constants, seed, false));
    }
}
